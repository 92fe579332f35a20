/* Plans of all sizes with recurrent layers (kernel/recurrent.c) against plans of each set of sizes
 * and eager, as test_random_sizes.c does without: RNN, GRU and LSTM of random widths, layers and
 * directions over sequences whose length and batch change from call to call (1, odd, powers of two
 * and more), in four dtypes, forward and backward. `--seed N` starts elsewhere, SOAK=N goes on
 * longer. */
#include "sides.h"

enum { OUT = 2, GRADS = 3 };
typedef struct {
    dync_module *m;
    int kind;
    int64_t width, hidden;
    dync_dtype dtype;
    bool first; /* batch first: a view goes in */
} layer;

static dync_value run(const dync_value *v, int n, void *user)
{
    const layer *l = user;
    dync_tensor *x = v[0].as.t;
    (void)n;
    if (l->first) x = dync_transpose(x, 0, 1);
    dync_value y = dync_module_call(l->m, dync_mul(x, 2.0));
    dync_tensor *all = dync_as_tensor(dync_at(y, 0));
    return dync_tuple(dync_add(all, 0.125), dync_mean(dync_mul(all, all), DYNC_ALL, false));
}

static bool once(dync_compiled *const *f, const layer *l, int64_t steps, int64_t n, bool train)
{
    static const char *const names[] = {"weight_ih_l0", "weight_hh_l0"};
    dync_tensor *got[SIDES][OUT + GRADS] = {{NULL}};
    double tol = l->dtype == DYNC_BF16 ? 6e-2 : l->dtype == DYNC_F16 ? 1e-2 : 1e-3;
    dync_tensor *x = dync_to_dtype(
        dync_sub(dync_rand(dync_shape(l->first ? n : steps, l->first ? steps : n, l->width)), 0.5),
        l->dtype);
    bool good = true;
    for (int s = 0; s < SIDES; s++) {
        dync_tensor *in = train ? dync_requires_grad_(dync_clone(x), true) : x;
        dync_value arg = DYNC_V(in), out;
        dync_config_set("disable", off[s]);
        out = s == EAGER ? run(&arg, 1, (void *)(uintptr_t)l) : dync_call_values(f[s], 1, &arg);
        if (out.kind != DYNC_KIND_LIST) return false;
        for (int k = 0; k < OUT; k++) got[s][k] = dync_as_tensor(dync_at(out, k));
        if (!train) continue;
        dync_backward(got[s][1]);
        got[s][OUT] = dync_grad(in);
        for (int k = 0; k < 2; k++)
            got[s][OUT + 1 + k] = dync_clone(dync_grad(dync_module_param(l->m, names[k])));
        for (int k = 0; k < 2; k++) dync_set_grad(dync_module_param(l->m, names[k]), NULL);
    }
    for (int k = 0; k < OUT + GRADS && good; k++)
        good = alike(got[PLANS][k], got[PLAIN][k], 0) && alike(got[STEPS][k], got[PLAIN][k], 0) &&
               alike(got[PLANS][k], got[EAGER][k], tol);
    return good && dync_error() == DYNC_OK;
}

static bool holds(const layer *l, int64_t *steps, int64_t *n)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33};
    dync_compiled *f[EAGER];
    bool good = true;
    for (int s = 0; s < EAGER; s++)
        f[s] = dync_compile(run, .args = "x", .user = (void *)(uintptr_t)l,
                            .dynamic = DYNC_DYNAMIC_ON, .recompile_limit = 64);
    for (int i = 0; i < 8 && good; i++) DYNC_SCOPE {
        *steps = sizes[rnd(12)], *n = rnd(5) == 0 ? *steps : sizes[rnd(12)];
        good = once(f, l, *steps, *n, i % 2);
    }
    for (int s = 0; s < EAGER; s++) dync_compiled_free(f[s]);
    dync_config_set("disable", "");
    return good;
}

TEST(of_all_sizes_as_of_each)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16};
    static const int64_t widths[] = {1, 3, 4, 8, 16, 17, 32};
    for (int k = 0; k < test_count(16); k++) {
        state = 0x9e3779b97f4a7c15u * (test__state.seed + (uint64_t)k + 1) | 1;
        layer l = {.kind = (int)rnd(3), .width = widths[rnd(7)], .hidden = widths[rnd(7)]};
        int layers = 1 + (int)rnd(2);
        bool both = rnd(2);
        int64_t steps, n;
        l.dtype = dtypes[rnd(5)];
        l.first = rnd(3) == 0;
        l.m = (l.kind == 0   ? dync_nn_rnn
               : l.kind == 1 ? dync_nn_gru
                             : dync_nn_lstm)(l.width, l.hidden, layers, both);
        dync_module_to_dtype(l.m, l.dtype);
        bool good = holds(&l, &steps, &n);
        dync_module_free(l.m);
        if (good) continue;
        printf("layer %d of seed %llu: kind %d, %d to %d, %d layers%s, dtype %d%s, at %d by %d: "
               "%s\n",
               k, (unsigned long long)test__state.seed, l.kind, (int)l.width, (int)l.hidden, layers,
               both ? " in both directions" : "", (int)l.dtype, l.first ? ", batch first" : "",
               (int)steps, (int)n, dync_error_message());
        EXPECT(!"a graph of all sizes does what its sizes do");
        dync_clear_error();
        return;
    }
}

TEST_MAIN
