/* Plans of all sizes with functions inside (inductor/control.c) against plans of each set of sizes
 * and eager, as test_random_sizes.c does without: random programs of branches and loops over
 * matrices of n by m, nested ones too, whose sizes change from call to call (1, odd, powers of two
 * and more), in four dtypes, forward and backward. `--seed N` starts elsewhere, SOAK=N goes on
 * longer. */
#include "sides.h"

enum { MAX_INS = 4, OPS = 11, IN = 2, OUT = 2 };
typedef struct {
    int n, at[MAX_INS];
    bool written[MAX_INS]; /* the operand is written when the operator has read it */
    dync_dtype dtype;
} program;

/* ---- functions ------------------------------------------------------------------------------- */
static dync_value doubled(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_tanh(dync_mul(v[0].as.t, 2.0)));
}
/* Less the mean of its columns: a number that sizes decide stands inside. */
static dync_value centred(const dync_value *v, int n, void *user)
{
    dync_tensor *x = v[0].as.t;
    (void)n, (void)user;
    return dync_v_tensor(dync_sub(x, dync_mean(x, dync_shape(0), true)));
}
static dync_value either(dync_tensor *x)
{
    return dync_cond(dync_gt(dync_sum(x, DYNC_ALL, false), 0.0), doubled, centred, x);
}
static dync_value chosen(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return either(dync_add(v[0].as.t, 0.25));
}

static dync_value is_below(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_lt(v[0].as.t, 3.0));
}
static dync_value counted(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_add(v[0].as.t, 1.0), dync_sin(dync_add(v[1].as.t, v[0].as.t)));
}
static dync_tensor *looped(dync_tensor *x, int64_t limit)
{
    dync_tensor *i = dync_to_dtype(dync_zeros((dync_dims){0}), dync_type(x));
    dync_value y = dync_while_loop_limit(is_below, counted, dync_tuple(i, x), limit);
    return dync_as_tensor(dync_at(y, 1));
}

/* A row into a carried row; what is stacked is twice as wide. */
static dync_value folded(const dync_value *v, int n, void *user)
{
    dync_tensor *c = dync_tanh(dync_add(dync_mul(v[0].as.t, 0.5), v[1].as.t));
    (void)n, (void)user;
    return dync_tuple(c, dync_cat(dync_tuple(c, v[1].as.t), 0));
}
static dync_value row_either(const dync_value *v, int n, void *user)
{
    dync_value y = dync_cond(dync_gt(dync_sum(v[1].as.t, DYNC_ALL, false), 0.0), doubled, chosen,
                             dync_add(v[0].as.t, v[1].as.t));
    (void)n, (void)user;
    return dync_tuple(y, dync_mul(dync_as_tensor(y), 2.0));
}
static dync_tensor *scanned(dync_tensor *x, int kind)
{
    dync_tensor *row = dync_sum(dync_mul(x, 0.125), dync_shape(0), false);
    dync_value y = kind == 0   ? dync_scan(folded, row, x)
                   : kind == 1 ? dync_scan_reverse(folded, row, x)
                               : dync_scan(row_either, row, x);
    dync_tensor *all = dync_as_tensor(dync_at(y, 1));
    if (kind < 2) all = dync_slice(all, 1, 0, dync_dim(x, 1), 1);
    return dync_add(all, dync_as_tensor(dync_at(y, 0)));
}

static dync_value row_of(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_softmax(v[0].as.t, 0));
}
static dync_value joined(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_maximum(v[0].as.t, v[1].as.t));
}

/* Every value is n by m. */
static dync_tensor *apply(int op, dync_tensor *x, dync_tensor *y)
{
    switch (op) {
    case 0: return dync_as_tensor(either(x));
    case 1: return dync_as_tensor(either(dync_mul(x, y)));
    case 2: return looped(x, 4);
    case 3: return scanned(x, 0);
    case 4: return scanned(x, 1);
    case 5: return scanned(x, 2);
    case 6: return dync_as_tensor(dync_map(row_of, x));
    case 7: return dync_as_tensor(dync_associative_scan(joined, x, 0));
    case 8: return dync_add(dync_relu(x), dync_mean(y, dync_shape(1), true));
    case 9: return dync_transpose(looped(dync_transpose(x, 0, 1), 2), 0, 1);
    default: return dync_softmax(dync_add(x, y), 1);
    }
}

static dync_tensor *apply_written(int op, dync_tensor *x, dync_tensor *y)
{
    dync_tensor *operand = dync_mul(x, 1.5), *r = apply(op, operand, y);
    dync_tanh_(operand);
    return r ? dync_add(r, dync_mul(operand, 0.25)) : NULL;
}
static dync_value run(const dync_value *v, int n, void *user)
{
    const program *p = user;
    dync_tensor *x = v[0].as.t;
    (void)n;
    for (int i = 0; i < p->n && x; i++)
        x = (p->written[i] ? apply_written : apply)(p->at[i], x, v[1].as.t);
    return x ? dync_tuple(x, dync_mean(dync_mul(x, x), DYNC_ALL, false)) : DYNC_NONE;
}

/* ---- comparing ------------------------------------------------------------------------------- */
static bool once(dync_compiled *const *f, const program *p, int64_t n, int64_t m, bool train)
{
    dync_tensor *in[SIDES][IN], *got[SIDES][OUT + IN];
    double tol = p->dtype == DYNC_BF16 ? 6e-2 : p->dtype == DYNC_F16 ? 1e-2 : 1e-3;
    bool good = true;
    for (int k = 0; k < IN; k++) {
        dync_tensor *x = dync_to_dtype(dync_sub(dync_rand(dync_shape(n, m)), 0.5), p->dtype);
        for (int s = 0; s < SIDES; s++)
            in[s][k] = train ? dync_requires_grad_(dync_clone(x), true) : x;
    }
    for (int s = 0; s < SIDES; s++) {
        dync_value args[IN] = {DYNC_V(in[s][0]), DYNC_V(in[s][1])}, out;
        dync_config_set("disable", off[s]);
        out = s == EAGER ? run(args, IN, (void *)(uintptr_t)p) : dync_call_values(f[s], IN, args);
        if (out.kind != DYNC_KIND_LIST) return false;
        for (int k = 0; k < OUT; k++) got[s][k] = dync_as_tensor(dync_at(out, k));
        if (train) dync_backward(got[s][1]);
        for (int k = 0; k < IN; k++) got[s][OUT + k] = train ? dync_grad(in[s][k]) : NULL;
    }
    for (int k = 0; k < OUT + IN && good; k++)
        good = alike(got[PLANS][k], got[PLAIN][k], 0) && alike(got[STEPS][k], got[PLAIN][k], 0) &&
               alike(got[PLANS][k], got[EAGER][k], tol);
    return good && dync_error() == DYNC_OK;
}

static bool holds(const program *p, uint64_t seed, int64_t *n, int64_t *m)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 64, 65};
    dync_compiled *f[EAGER];
    bool good = true;
    for (int s = 0; s < EAGER; s++)
        f[s] = dync_compile(run, .args = "x, y", .user = (void *)(uintptr_t)p,
                            .dynamic = DYNC_DYNAMIC_ON, .recompile_limit = 64);
    state = seed;
    for (int i = 0; i < 8 && good; i++) DYNC_SCOPE {
        *n = sizes[rnd(14)], *m = rnd(5) == 0 ? *n : sizes[rnd(14)];
        good = once(f, p, *n, *m, i % 2);
    }
    for (int s = 0; s < EAGER; s++) dync_compiled_free(f[s]);
    dync_config_set("disable", "");
    return good;
}

TEST(of_all_sizes_as_of_each)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16};
    for (int k = 0; k < test_count(16); k++) {
        uint64_t seed = state = 0x9e3779b97f4a7c15u * (test__state.seed + (uint64_t)k + 1) | 1;
        program p = {.n = 1 + (int)rnd(MAX_INS), .dtype = dtypes[rnd(5)]};
        int64_t n, m;
        for (int i = 0; i < p.n; i++) {
            p.at[i] = (int)rnd(OPS);
            /* none whose plain rules save the operand itself */
            p.written[i] = rnd(3) == 0 && p.at[i] < 7 && p.at[i] != 1;
        }
        if (holds(&p, seed, &n, &m)) continue;
        printf("program %d of seed %llu: %s\n", k, (unsigned long long)test__state.seed,
               dync_error_message());
        for (int i = 0; i < p.n; i++)
            printf("  op %d%s\n", p.at[i], p.written[i] ? ", written" : "");
        printf("  dtype %d at %d by %d\n", (int)p.dtype, (int)n, (int)m);
        EXPECT(!"a graph of all sizes does what its sizes do");
        dync_clear_error();
        return;
    }
}

/* Functions without a size of their own beside such, and plans made once: no new ones for new
 * sizes. */
static dync_value mixed(const dync_value *v, int n, void *user)
{
    dync_tensor *x = v[0].as.t, *one = dync_mean(x, DYNC_ALL, false);
    (void)n, (void)user;
    dync_tensor *y = dync_as_tensor(dync_cond(dync_gt(one, 0.0), doubled, doubled, one));
    return dync_tuple(dync_add(looped(x, 5), y), dync_mul(y, 2.0));
}
TEST(functions_without_sizes)
{
    dync_compiled *f[EAGER];
    for (int s = 0; s < EAGER; s++)
        f[s] = dync_compile(mixed, .args = "x", .dynamic = DYNC_DYNAMIC_ON, .fullgraph = true);
    for (int64_t n = 2; n < 40; n += 3) DYNC_SCOPE {
        dync_tensor *x = dync_sub(dync_rand(dync_shape(n, 2 * n + 1)), 0.4);
        dync_value arg = DYNC_V(x), got[SIDES];
        for (int s = 0; s < SIDES; s++) {
            dync_config_set("disable", off[s]);
            got[s] = s == EAGER ? mixed(&arg, 1, NULL) : dync_call_values(f[s], 1, &arg);
        }
        for (int s = 1; s < SIDES; s++)
            for (int k = 0; k < 2 && dync_error() == DYNC_OK; k++)
                EXPECT(alike(dync_as_tensor(dync_at(got[0], k)), dync_as_tensor(dync_at(got[s], k)),
                             s == EAGER ? 1e-5 : 0));
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    for (int s = 0; s < EAGER; s++) dync_compiled_free(f[s]);
    dync_config_set("disable", "");
}

TEST_MAIN
