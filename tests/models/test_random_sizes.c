/* Plans of all sizes (runtime/plan_sized.c) against steps of all sizes (inductor/sized.c,
 * DYNC_DISABLE=sized_plans) and the same graphs lowered for each set of sizes
 * (DYNC_DISABLE=all_sizes), to the bit, and against eager: random programs over
 * matrices of n by m, whose sizes are 1, primes, powers of two and their neighbours, equal and
 * unequal, below and above what fusion weighs, forward and backward. In test builds every set of
 * steps and every plan is compared with what its sizes give by themselves, too. `--seed N` starts
 * elsewhere, SOAK=N goes on longer. */
#include "sides.h"

enum { MAX_INS = 9, MAX_VALUES = 12, OPS = 33 };
typedef struct {
    int op, a, b;
} ins;
typedef struct {
    int n;
    ins at[MAX_INS];
} program;
typedef struct {
    dync_tensor *v[MAX_VALUES];
    int n;
} pool;

static dync_tensor *attend(dync_tensor *x, dync_tensor *y)
{
    return dync_matmul(dync_softmax(dync_matmul(x, dync_transpose(y, 0, 1)), 1), y);
}

/* Columns or rows in the order that another value has, as indices. */
static dync_tensor *order_of(dync_tensor *x, int dim) { return dync_argsort(x, dim, false); }

static dync_tensor *all_but_first(dync_tensor *x, int dim)
{
    return dync_slice(x, dim, 1, DYNC_END, 1);
}

/* A copy, of which one part is written. */
static dync_tensor *written(dync_tensor *a, dync_tensor *b, int dim, int kind)
{
    dync_tensor *y = dync_clone(a);
    int64_t half = dync_as_dim(dync_sym_floordiv(dync_size_sym(a, dim), DYNC_V(2)));
    if (kind == 0)
        dync_copy_(dync_slice(y, dim, -1, DYNC_END, 1), dync_slice(b, dim, 0, 1, 1));
    else if (kind == 1)
        dync_add_(dync_slice(y, dim, half, DYNC_END, 1), 0.5);
    else
        dync_scatter_(y, dim, order_of(b, dim), dync_mul(b, 0.5));
    return dync_add(y, dync_slice(y, dim, 0, 1, 1));
}

/* Attention of one head, causal or not. */
static dync_tensor *seen(dync_tensor *a, dync_tensor *b, int causal)
{
    dync_tensor *k = dync_unsqueeze(b, 0);
    return dync_select(dync_scaled_dot_product_attention(dync_unsqueeze(a, 0), k, k, NULL, 0.0,
                                                         causal == 1, DYNC_NONE),
                       0, 0);
}

/* Every value is n by m. */
static dync_tensor *apply(const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a % q->n], *b = q->v[i->b % q->n], *x = q->v[0];
    int64_t n = dync_dim(x, 0), m = dync_dim(x, 1);
    int dim = i->b % 2;
    switch (i->op) {
    case 0: return dync_tanh(a);
    case 1: return dync_add(a, b);
    case 2: return dync_mul(dync_sigmoid(a), b);
    case 3: return dync_sub(a, dync_mean(b, dync_shape(dim), true));
    case 4: return dync_softmax(dync_add(a, b), dim);
    case 5: return dync_mul(a, dync_var(b, dync_shape(dim), 0, true));
    case 6: return dync_transpose(dync_relu(dync_transpose(a, 0, 1)), 0, 1);
    case 7: return dync_add(a, dync_mean(dync_mul(a, b), DYNC_ALL, false));
    case 8: return attend(a, b);
    case 9: return dync_flip(dync_mul(a, 0.5), dync_shape(dim));
    case 10: return dync_reshape(dync_add(dync_reshape(a, dync_shape(-1)), 1.0), dync_shape(n, m));
    case 11: return dync_slice(dync_cat(dync_tuple(a, dync_neg(b)), dim), dim, 0, dim ? m : n, 1);
    case 12: return dync_roll(a, dync_shape(1), dync_shape(dim));
    case 13: return dync_layer_norm(a, dync_shape(m), NULL, NULL, 1e-5);
    case 14: return dync_where(dync_lt(x, q->v[1]), a, dync_mul(b, 0.5));
    case 15: return dync_add(a, dync_amax(b, dync_shape(dim), true));
    case 16: return dync_index_select(a, dim, dync_argsort(dync_select(x, 1 - dim, 0), 0, false));
    case 17: return dync_mul(a, dync_cumsum(dync_mul(b, 0.01), dim));
    case 18: return dync_sum(dync_stack(dync_tuple(a, b, a), dim), dync_shape(dim), false);
    case 19:
        return dync_reshape(dync_transpose(dync_add(dync_reshape(a, dync_shape(m, n)), 0.25), 0, 1),
                            dync_shape(n, m));
    case 20:
        return dync_div(a,
                        dync_add(dync_abs(b), dync_std(dync_add(a, b), dync_shape(dim), 0, true)));
    case 21: return dync_sub(a, dync_unsqueeze(dync_select(b, dim, 0), dim));
    case 22: return dync_mul(a, dync_dim_gt(x, 0, 16) ? dync_sin(b) : dync_cos(b));
    case 23: return dync_mul(dync_gather(a, dim, order_of(b, dim)), 0.5);
    case 24: return dync_embedding(dync_add(a, 0.25), dync_argsort(dync_select(b, 1, 0), 0, false));
    case 25: return dync_index_add(a, dim, order_of(dync_select(x, 1 - dim, 0), 0), b);
    case 26: return written(a, b, dim, 0);
    case 27: return written(a, b, dim, 1);
    case 28: return written(a, b, dim, 2);
    case 29:
        return dync_add(dync_mul(a, 0.5),
                        dync_index_select(all_but_first(dync_cat(dync_tuple(b, a), dim), dim), dim,
                                          order_of(dync_select(x, 1 - dim, 0), 0)));
    case 30: return seen(a, b, dim);
    case 31:
        return dync_relu(dync_add(dync_matmul(a, dync_matmul(dync_transpose(a, 0, 1), b)),
                                  dync_select(b, 0, 0)));
    default: return dync_gelu(dync_add(a, dync_full(dync_shape(1, m), 0.5)));
    }
}

static dync_value run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    pool q = {.n = 0};
    for (int i = 0; i < n; i++) q.v[q.n++] = args[i].as.t;
    for (int i = 0; i < p->n && q.n < MAX_VALUES; i++) {
        dync_tensor *r = apply(&q, &p->at[i]);
        if (dync_error()) return DYNC_NONE;
        if (r) q.v[q.n++] = r;
    }
    return dync_tuple(q.v[q.n - 1], dync_mul(q.v[q.n - 2], 1),
                      dync_mean(q.v[q.n - 1], DYNC_ALL, false));
}

/* One call on every side, by equal arguments. */
static bool once(dync_compiled *const *f, const program *p, int64_t n, int64_t m, bool train)
{
    dync_tensor *in[SIDES][2], *got[SIDES][5];
    bool good = true;
    for (int k = 0; k < 2; k++) {
        dync_tensor *x = dync_sub(dync_rand(dync_shape(n, m)), 0.5);
        for (int s = 0; s < SIDES; s++)
            in[s][k] = train ? dync_requires_grad_(dync_clone(x), true) : x;
    }
    for (int s = 0; s < SIDES; s++) {
        dync_value args[2] = {DYNC_V(in[s][0]), DYNC_V(in[s][1])}, out;
        dync_config_set("disable", off[s]);
        out = s == EAGER ? run(args, 2, (void *)(uintptr_t)p) : dync_call_values(f[s], 2, args);
        if (out.kind != DYNC_KIND_LIST) return false;
        for (int k = 0; k < 3; k++) got[s][k] = dync_as_tensor(dync_at(out, k));
        if (train) dync_backward(dync_add(got[s][2], dync_mean(got[s][1], DYNC_ALL, false)));
        for (int k = 0; k < 2; k++) got[s][3 + k] = train ? dync_grad(in[s][k]) : NULL;
    }
    for (int k = 0; k < 5 && good; k++)
        good = alike(got[PLANS][k], got[PLAIN][k], 0) && alike(got[STEPS][k], got[PLAIN][k], 0) &&
               alike(got[PLANS][k], got[EAGER][k], 2e-3);
    return good && dync_error() == DYNC_OK;
}

static const int64_t sizes[] = {2,  3,  4,  5,  7,  8,  13,  15,  16,  17,  31,  32,
                                33, 47, 63, 64, 65, 97, 127, 128, 129, 255, 256, 257};
static int64_t some_size(bool small)
{
    return rnd(40) == 0 && small ? (int64_t)rnd(2) : sizes[rnd(small ? 12 : 24)];
}

/* *n, *m: sizes where it does not hold. */
static bool holds(const program *p, uint64_t seed, int64_t *n, int64_t *m)
{
    dync_compiled *f[EAGER];
    bool good = true;
    for (int s = 0; s < EAGER; s++)
        f[s] = dync_compile(run, .args = "x, y", .user = (void *)(uintptr_t)p,
                            .dynamic = DYNC_DYNAMIC_ON, .recompile_limit = 64);
    state = seed;
    for (int i = 0; i < 10 && good; i++) DYNC_SCOPE {
        bool small = i % 3 != 2;
        *n = some_size(small), *m = rnd(5) == 0 ? *n : some_size(small);
        /* what a reduction of nothing is may be an error */
        if (*n == 0 || *m == 0) *n = *m = 1;
        good = once(f, p, *n, *m, i % 2);
    }
    for (int s = 0; s < EAGER; s++) dync_compiled_free(f[s]);
    dync_config_set("disable", "");
    return good;
}

static void shrink(program *p, uint64_t seed)
{
    int64_t n, m;
    for (bool less = true; less;) {
        less = false;
        for (int i = p->n - 1; i >= 0; i--) {
            program q = *p;
            memmove(&q.at[i], &q.at[i + 1], (size_t)(q.n - i - 1) * sizeof *q.at);
            q.n--;
            dync_clear_error();
            if (!holds(&q, seed, &n, &m)) *p = q, less = true;
        }
    }
}

/* ---- what went wrong once -------------------------------------------------------------------- */
static void expect_at(dync_value (*f)(const dync_value *, int, void *), int64_t n, int64_t m)
{
    dync_compiled *c = dync_compile(f, .args = "x", .dynamic = DYNC_DYNAMIC_ON);
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        dync_tensor *x = dync_sub(dync_rand(dync_shape(n + i, m + 2 * i)), 0.5);
        dync_value arg = DYNC_V(x), got = dync_call_values(c, 1, &arg), want = f(&arg, 1, NULL);
        EXPECT(dync_error() == DYNC_OK && got.kind == DYNC_KIND_LIST);
        for (int k = 0; k < dync_len(want) && dync_error() == DYNC_OK; k++)
            EXPECT(alike(dync_as_tensor(dync_at(got, k)), dync_as_tensor(dync_at(want, k)), 1e-5));
    }
    dync_compiled_free(c);
}

/* Stores side by side, s0*3 apart: whether they meet is for the factor of all sizes to say. */
static dync_value stacked(const dync_value *args, int n, void *user)
{
    dync_tensor *x = args[0].as.t, *y = dync_mul(x, 3.0);
    (void)n, (void)user;
    return dync_tuple(dync_stack(dync_tuple(x, y, y), 2),
                      dync_cat(dync_tuple(dync_cumsum(x, 1), dync_cumsum(y, 1)), 0));
}
TEST(stacked_columns) { expect_at(stacked, 8, 19); }

/* One tensor by two accesses that are equal once the loop of 1 has gone. */
static dync_value lifted(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_select(args[0].as.t, 0, 0);
    (void)n, (void)user;
    return dync_tuple(dync_atan2(x, dync_unsqueeze(x, 0)),
                      dync_matmul(args[0].as.t, dync_transpose(args[0].as.t, 0, 1)));
}
TEST(lifted_beside_itself) { expect_at(lifted, 8, 3); }

/* A remainder of a sum of products by itself. */
static dync_value viewed(const dync_value *args, int n, void *user)
{
    dync_tensor *x = args[0].as.t, *y = dync_slice(x, 0, 1, dync_dim(x, 0), 1);
    (void)n, (void)user;
    y = dync_slice(y, 1, 1, dync_dim(x, 1), 1);
    return dync_tuple(dync_view(dync_contiguous(y), dync_shape(-1, dync_dim(y, 0), dync_dim(y, 1))),
                      dync_neg(y));
}
TEST(all_but_one_size_given) { expect_at(viewed, 5, 4); }

/* Memory is crossed in blocks with loops around them, and gathered from by a plain number of
 * indices out of a symbolic number of rows. */
static dync_value crossed(const dync_value *args, int n, void *user)
{
    dync_tensor *x = args[0].as.t, *by = dync_to_dtype(dync_arange(0, 3, 1), DYNC_I64);
    (void)n, (void)user;
    dync_tensor *y = dync_stack(dync_tuple(x, dync_neg(x), dync_mul(x, 2.0)), 0);
    dync_tensor *z = dync_stack(dync_tuple(y, dync_mul(y, 0.5)), 0);
    return dync_tuple(dync_contiguous(dync_transpose(z, 2, 3)),
                      dync_contiguous(dync_transpose(z, 0, 3)),
                      dync_contiguous(dync_permute(z, dync_shape(1, 3, 0, 2))),
                      dync_gather(dync_select(x, 1, 0), 0, dync_remainder(by, 2)),
                      dync_index_select(x, 0, dync_remainder(by, 2)));
}
TEST(blocks_with_loops_around)
{
    expect_at(crossed, 7, 9);
    expect_at(crossed, 40, 33);
}

/* A mean's divisor is a power of two: a product, which fusion weighs otherwise. */
TEST(divisors_of_two)
{
    program p = {
        .n = 6,
        .at = {{1, 6, 42}, {8, 31, 34}, {7, 24, 21}, {2, 5, 23}, {3, 23, 40}, {22, 17, 34}}};
    int64_t n, m;
    for (uint64_t seed = 1; seed < 40; seed += 2)
        EXPECT(holds(&p, seed * 0x9e3779b97f4a7c15u | 1, &n, &m));
}

/* ---- state that grows ------------------------------------------------------------------------ */
/* A step of a decoder: its row goes into the last place of two caches, by a slice and by a scatter,
 * and attends to all of them. The caches are slices of larger ones, which get longer. */
static dync_value decoder(const dync_value *args, int n, void *user)
{
    dync_tensor *x = args[0].as.t, *k = args[1].as.t, *v = args[2].as.t, *at = args[3].as.t;
    dync_value before = dync_sym_sub(dync_size_sym(k, 0), DYNC_V(1));
    (void)n, (void)user;
    dync_copy_(dync_slice(k, 0, dync_as_dim(before), DYNC_END, 1), dync_tanh(x));
    dync_scatter_(v, 0, at, dync_mul(x, 0.5));
    dync_tensor *y = attend(dync_softmax(x, 1), dync_add(k, v));
    return dync_tuple(dync_add(y, dync_select(v, 0, 0)), dync_mul(dync_select(k, 0, -1), 2));
}
TEST(caches_that_grow)
{
    enum { MOST = 40, WIDTH = 8 };
    dync_compiled *f[EAGER];
    dync_tensor *whole[SIDES][2];
    for (int s = 0; s < EAGER; s++)
        f[s] = dync_compile(decoder, .args = "x, k, v, at", .dynamic = DYNC_DYNAMIC_ON,
                            .fullgraph = true);
    for (int c = 0; c < 2; c++)
        for (int s = 0; s < SIDES; s++)
            whole[s][c] = s ? dync_clone(whole[0][c]) : dync_randn(dync_shape(MOST, WIDTH));
    for (int64_t len = 2; len < MOST; len++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(1, WIDTH)),
                    *at =
                        dync_to_dtype(dync_full(dync_shape(1, WIDTH), (double)(len - 1)), DYNC_I64);
        dync_value got[SIDES];
        for (int s = 0; s < SIDES; s++) {
            dync_value args[4] = {DYNC_V(x), DYNC_V(dync_slice(whole[s][0], 0, 0, len, 1)),
                                  DYNC_V(dync_slice(whole[s][1], 0, 0, len, 1)), DYNC_V(at)};
            dync_config_set("disable", off[s]);
            got[s] = s == EAGER ? decoder(args, 4, NULL) : dync_call_values(f[s], 4, args);
        }
        for (int s = 1; s < SIDES; s++)
            for (int k = 0; k < 2 && dync_error() == DYNC_OK; k++) {
                double tol = s == EAGER ? 1e-5 : 0;
                EXPECT(alike(dync_as_tensor(dync_at(got[0], k)), dync_as_tensor(dync_at(got[s], k)),
                             tol));
                EXPECT(alike(whole[0][k], whole[s][k], tol));
            }
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    for (int s = 0; s < EAGER; s++) dync_compiled_free(f[s]);
    dync_config_set("disable", "");
}

/* A second derivative goes through the form's own graphs. */
static dync_value cubes(const dync_value *args, int n, void *user)
{
    dync_tensor *x = args[0].as.t, *y = dync_mul(dync_sin(x), dync_mean(x, dync_shape(0), true));
    (void)n, (void)user;
    return dync_tuple(dync_mul(y, dync_matmul(x, dync_matmul(dync_transpose(x, 0, 1), x))),
                      dync_exp(x));
}
TEST(backward_twice)
{
    dync_compiled *f[EAGER];
    for (int s = 0; s < EAGER; s++)
        f[s] = dync_compile(cubes, .args = "x", .dynamic = DYNC_DYNAMIC_ON, .fullgraph = true,
                            .double_backward = true);
    for (int64_t len = 3; len < 20; len++) DYNC_SCOPE {
        dync_tensor *x = dync_rand(dync_shape(len, 5)), *grad[SIDES], *twice[SIDES];
        for (int s = 0; s < SIDES; s++) {
            dync_tensor *leaf = dync_requires_grad_(dync_clone(x), true);
            dync_value arg = DYNC_V(leaf);
            dync_config_set("disable", off[s]);
            dync_value y = s == EAGER ? cubes(&arg, 1, NULL) : dync_call_values(f[s], 1, &arg);
            /* every third call without a gradient for the second result: its tangent is zeros */
            dync_tensor *loss = dync_sum(dync_as_tensor(dync_at(y, 0)), DYNC_ALL, false);
            if (len % 3)
                loss = dync_add(loss, dync_sum(dync_as_tensor(dync_at(y, 1)), DYNC_ALL, false));
            dync_value first = dync_gradients(DYNC_V(loss), DYNC_V(leaf), DYNC_NONE,
                                              (dync_grad_options){.create_graph = true});
            grad[s] = dync_as_tensor(dync_at(first, 0));
            loss = dync_sum(dync_mul(grad[s], grad[s]), DYNC_ALL, false);
            twice[s] = dync_as_tensor(dync_at(
                dync_gradients(DYNC_V(loss), DYNC_V(leaf), DYNC_NONE, (dync_grad_options){0}), 0));
        }
        for (int s = 1; s < SIDES; s++) {
            EXPECT(grad[0] && alike(grad[0], grad[s], s == EAGER ? 1e-5 : 0));
            EXPECT(twice[0] && alike(twice[0], twice[s], s == EAGER ? 1e-4 : 0));
        }
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    for (int s = 0; s < EAGER; s++) dync_compiled_free(f[s]);
    dync_config_set("disable", "");
}

TEST(of_all_sizes_as_of_each)
{
    for (int k = 0; k < test_count(40); k++) {
        uint64_t seed = state = 0x9e3779b97f4a7c15u * (test__state.seed + (uint64_t)k + 1) | 1;
        program p = {.n = 1 + (int)rnd(MAX_INS)};
        int64_t n, m;
        for (int i = 0; i < p.n; i++) p.at[i] = (ins){(int)rnd(OPS), (int)rnd(64), (int)rnd(64)};
        if (holds(&p, seed, &n, &m)) continue;
        printf("program %d of seed %llu: %s\n", k, (unsigned long long)test__state.seed,
               dync_error_message());
        shrink(&p, seed);
        holds(&p, seed, &n, &m);
        for (int i = 0; i < p.n; i++)
            printf("  op %d of %d, %d\n", p.at[i].op, p.at[i].a, p.at[i].b);
        printf("  at %d by %d\n", (int)n, (int)m);
        EXPECT(!"a graph of all sizes does what its sizes do");
        dync_clear_error();
        return;
    }
}

TEST_MAIN
