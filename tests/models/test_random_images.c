/* Plans of all sizes with convolutions and pooling against plans of each set of sizes and eager, as
 * test_random_sizes.c does for matrices: random programs over images [n, C, h, w] in four dtypes,
 * whose batch and sides change from call to call (0, 1, odd, tails of a vector, a tile and more),
 * forward and backward, weights being arguments. In test builds every plan is compared with what
 * its sizes give by themselves, too. `--seed N` starts elsewhere, SOAK=N goes on longer. */
#include "sides.h"

enum { MAX_INS = 6, MAX_VALUES = 10, OPS = 18, WEIGHTS = 4, IN = 1 + WEIGHTS, OUT = 3 };
typedef struct {
    int op, a, b;
} ins;
typedef struct {
    int n, tail;
    int64_t channels;
    dync_dtype dtype;
    bool all; /* sizes are symbolic from the first call on, channels too */
    ins at[MAX_INS];
} program;
typedef struct {
    dync_tensor *v[MAX_VALUES], *const *w;
    int n;
} pool;

static dync_tensor *conv(dync_tensor *x, dync_tensor *w, dync_tensor *bias, int64_t stride,
                         int64_t pad, int64_t dilation, int groups)
{
    return dync_conv2d(x, w, bias, dync_shape(stride), dync_shape(pad), dync_shape(dilation),
                       groups);
}
static dync_tensor *greatest(dync_tensor *x, int64_t window, int64_t stride, int64_t pad)
{
    return dync_max_pool2d(x, dync_shape(window), dync_shape(stride), dync_shape(pad),
                           dync_shape(1), false);
}
static dync_tensor *average(dync_tensor *x, int64_t window, int64_t stride, int64_t pad)
{
    return dync_avg_pool2d(x, dync_shape(window), dync_shape(stride), dync_shape(pad), false, true);
}
static dync_tensor *by_channel(dync_tensor *x) { return dync_reshape(x, dync_shape(-1, 1, 1)); }
static dync_tensor *mirrored(dync_tensor *x) { return dync_transpose(x, 2, 3); }

/* Each image's channels less their mean, by their variance; over the whole batch. */
static dync_tensor *normed(dync_tensor *x)
{
    dync_tensor *y = dync_sub(x, dync_mean(x, dync_shape(0, 2, 3), true));
    return dync_mul(y, dync_rsqrt(dync_add(dync_var(x, dync_shape(0, 2, 3), 0, true), 0.1)));
}

static dync_tensor *placed(dync_tensor *x)
{
    dync_value v = dync_max_pool2d_with_indices(x, dync_shape(3), dync_shape(1), dync_shape(1),
                                                dync_shape(1), false);
    dync_tensor *at = dync_to_dtype(dync_as_tensor(dync_at(v, 1)), dync_type(x));
    return dync_add(dync_as_tensor(dync_at(v, 0)), dync_mul(at, 0.0078125));
}

/* Every value is [n, C, h, w]. Weights: [C, C, 3, 3], [C, C, 1, 1], [C, 1, 3, 3], [C]. */
static dync_tensor *apply(const pool *q, const program *p, const ins *i)
{
    dync_tensor *a = q->v[i->a % q->n], *b = q->v[i->b % q->n], *const *w = q->w;
    int channels = (int)p->channels;
    switch (i->op) {
    case 0: return conv(a, w[0], NULL, 1, 1, 1, 1);
    case 1: return dync_relu(conv(a, w[0], w[3], 1, 1, 1, 1));
    case 2: return conv(a, w[1], w[3], 1, 0, 1, 1);
    case 3: return conv(a, w[2], w[3], 1, 1, 1, channels);
    case 4: return conv(a, w[0], NULL, 1, 2, 2, 1);
    case 5: return greatest(a, 3, 1, 1);
    case 6: return average(a, 3, 1, 1);
    case 7: return dync_relu(dync_add(dync_mul(a, by_channel(w[3])), 0.25));
    case 8: return normed(a);
    case 9: return dync_add(a, b);
    case 10: return dync_mul(dync_sigmoid(a), b);
    case 11: return dync_mul(a, dync_mean(b, dync_shape(2, 3), true));
    case 12: return mirrored(conv(mirrored(a), w[0], NULL, 1, 1, 1, 1));
    case 13: return placed(a);
    case 14: return dync_relu(dync_add(conv(a, w[0], NULL, 1, 1, 1, 1), b));
    case 15: return dync_tanh(dync_add(conv(a, w[1], NULL, 1, 0, 1, 1), by_channel(w[3])));
    case 16: return dync_flip(dync_mul(a, 0.5), dync_shape(3));
    default: return dync_softmax(a, 1);
    }
}

static dync_tensor *tail(const pool *q, const program *p)
{
    dync_tensor *x = q->v[q->n - 1];
    switch (p->tail) {
    case 0: return greatest(x, 2, 2, 1);
    case 1: return conv(x, q->w[0], q->w[3], 2, 1, 1, 1);
    case 2: return average(x, 2, 2, 1);
    case 3: return dync_relu(greatest(conv(x, q->w[0], NULL, 1, 1, 1, 1), 3, 2, 1));
    default: return dync_mul(x, 1);
    }
}

static dync_value run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    dync_tensor *w[WEIGHTS];
    for (int i = 0; i < WEIGHTS; i++) w[i] = args[1 + i].as.t;
    pool q = {.v = {args[0].as.t}, .w = w, .n = 1};
    (void)n;
    for (int i = 0; i < p->n && q.n < MAX_VALUES; i++) {
        dync_tensor *r = apply(&q, p, &p->at[i]);
        if (dync_error()) return DYNC_NONE;
        q.v[q.n++] = r;
    }
    dync_tensor *y = tail(&q, p);
    return dync_tuple(y, dync_mul(q.v[q.n - 1], 0.5), dync_mean(y, DYNC_ALL, false));
}

/* ---- comparing ------------------------------------------------------------------------------- */
static dync_tensor *drawn(const program *p, dync_dims shape)
{
    return dync_to_dtype(dync_sub(dync_rand(shape), 0.5), p->dtype);
}

/* One call on every side, by equal arguments. */
static bool once(dync_compiled *const *f, const program *p, const int64_t *size, bool train)
{
    dync_tensor *in[SIDES][IN], *got[SIDES][OUT + IN];
    int64_t c = p->channels;
    bool good = true;
    double tol = p->dtype == DYNC_BF16 ? 6e-2 : p->dtype == DYNC_F16 ? 1e-2 : 2e-3;
    for (int k = 0; k < IN; k++) {
        dync_tensor *x = drawn(p, k == 0   ? dync_shape(size[0], c, size[1], size[2])
                                  : k == 1 ? dync_shape(c, c, 3, 3)
                                  : k == 2 ? dync_shape(c, c, 1, 1)
                                  : k == 3 ? dync_shape(c, 1, 3, 3)
                                           : dync_shape(c));
        if (k == 1 || k == 2) x = dync_mul(x, 4.0 / (double)c);
        for (int s = 0; s < SIDES; s++)
            in[s][k] = train ? dync_requires_grad_(dync_clone(x), true) : x;
    }
    for (int s = 0; s < SIDES; s++) {
        dync_value args[IN], out;
        for (int k = 0; k < IN; k++) args[k] = DYNC_V(in[s][k]);
        dync_config_set("disable", off[s]);
        out = s == EAGER ? run(args, IN, (void *)(uintptr_t)p) : dync_call_values(f[s], IN, args);
        if (out.kind != DYNC_KIND_LIST) return false;
        for (int k = 0; k < OUT; k++) got[s][k] = dync_as_tensor(dync_at(out, k));
        if (train) dync_backward(dync_add(got[s][2], dync_mean(got[s][1], DYNC_ALL, false)));
        for (int k = 0; k < IN; k++) got[s][OUT + k] = train ? dync_grad(in[s][k]) : NULL;
    }
    for (int k = 0; k < OUT + IN && good; k++) {
        good = alike(got[PLANS][k], got[PLAIN][k], 0) && alike(got[STEPS][k], got[PLAIN][k], 0) &&
               alike(got[PLANS][k], got[EAGER][k], tol);
        if (!good && test__state.verbose) printf("value %d of dtype %d\n", k, (int)p->dtype);
    }
    return good && dync_error() == DYNC_OK;
}

static const int64_t sides[] = {1, 2, 3, 4, 5, 7, 8, 12, 14, 16, 17, 28, 31, 33};
/* *size: n, h, w where it does not hold. */
static bool holds(const program *p, uint64_t seed, int64_t *size)
{
    dync_compiled *f[EAGER];
    bool good = true;
    for (int s = 0; s < EAGER; s++)
        f[s] = dync_compile(run, .args = "x, w0, w1, w2, w3", .user = (void *)(uintptr_t)p,
                            .dynamic = p->all ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO,
                            .recompile_limit = 64);
    state = seed;
    for (int i = 0; i < 8 && good; i++) DYNC_SCOPE {
        size[0] = rnd(12) ? 1 + (int64_t)rnd(i % 3 == 2 ? 9 : 4) : (int64_t)rnd(2);
        size[1] = sides[rnd(i % 3 == 2 ? 14 : 8)];
        size[2] = rnd(3) == 0 ? size[1] : sides[rnd(i % 3 == 2 ? 14 : 8)];
        good = once(f, p, size, i % 2);
    }
    for (int s = 0; s < EAGER; s++) dync_compiled_free(f[s]);
    dync_config_set("disable", "");
    return good;
}

static void shrink(program *p, uint64_t seed)
{
    int64_t size[3];
    for (bool less = true; less;) {
        less = false;
        for (int i = p->n - 1; i >= 0; i--) {
            program q = *p;
            memmove(&q.at[i], &q.at[i + 1], (size_t)(q.n - i - 1) * sizeof *q.at);
            q.n--;
            dync_clear_error();
            if (!holds(&q, seed, size)) *p = q, less = true;
        }
    }
}

TEST(of_all_sizes_as_of_each)
{
    static const int64_t channels[] = {1, 3, 4, 8, 16, 17, 32};
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F32, DYNC_F64,
                                        DYNC_F32, DYNC_F16, DYNC_BF16};
    for (int k = 0; k < test_count(20); k++) {
        uint64_t seed = state = 0x9e3779b97f4a7c15u * (test__state.seed + (uint64_t)k + 1) | 1;
        program p = {.n = 1 + (int)rnd(MAX_INS), .tail = (int)rnd(5)};
        int64_t size[3];
        p.channels = channels[rnd(7)];
        p.dtype = dtypes[rnd(7)];
        p.all = rnd(3) == 0;
        for (int i = 0; i < p.n; i++) p.at[i] = (ins){(int)rnd(OPS), (int)rnd(64), (int)rnd(64)};
        if (holds(&p, seed, size)) continue;
        printf("program %d of seed %llu: %s\n", k, (unsigned long long)test__state.seed,
               dync_error_message());
        shrink(&p, seed);
        holds(&p, seed, size);
        for (int i = 0; i < p.n; i++)
            printf("  op %d of %d, %d\n", p.at[i].op, p.at[i].a, p.at[i].b);
        printf("  tail %d, %d channels, dtype %d%s, at %d, %d by %d\n", p.tail, (int)p.channels,
               (int)p.dtype, p.all ? ", all symbolic" : "", (int)size[0], (int)size[1],
               (int)size[2]);
        EXPECT(!"a graph of all sizes does what its sizes do");
        dync_clear_error();
        return;
    }
}

TEST_MAIN
