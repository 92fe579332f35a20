/* Operators that return their argument (dropout outside of training, a cast to the same dtype, ...)
 * before, between and behind places where graphs end, on values of every kind, in every way to
 * compile: what comes out is what the plain call gives, in the first call and later. */
#include "counter.h"
#include "tol.h"

enum { RETURNS = 5, VALUES = 4, ENDS = 4, USES = 4 };
static int value_kind, first, second, end, use;

static dync_tensor *returned(int which, dync_tensor *y)
{
    switch (which) {
    case 0: return dync_dropout(y, 0.3, false);
    case 1: return dync_to_dtype(y, DYNC_F32);
    case 2: return dync_contiguous(y);
    case 3: return dync_expand(y, dync_shape(-1, -1, -1));
    default: return y;
    }
}
static dync_tensor *value(dync_tensor *x)
{
    switch (value_kind) {
    case 0: return dync_sin(x);
    case 1: return dync_slice(dync_sin(x), 1, 0, 4, 1);
    case 2: return dync_slice(x, 1, 0, 4, 1);
    default: return x;
    }
}
static dync_tensor *f(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = value(x), *a = dync_abs(w), *m = dync_mul(w, 2);
    dync_tensor *d = returned(first, y);
    if (end == 0) dync_graph_break("here");
    if (end == 1)
        dync_gradients(DYNC_V(dync_sum(a, DYNC_ALL, false)), DYNC_V(m), DYNC_NONE,
                       (dync_grad_options){.create_graph = true, .allow_unused = true});
    if (end == 2 && dync_bool(dync_gt(dync_sum(a, DYNC_ALL, false), 1e9))) d = dync_neg(d);
    dync_tensor *e = returned(second, use & 1 ? d : y);
    if (end == 0) dync_graph_break("there");
    return dync_add(dync_hardswish(use & 2 ? e : y), dync_mul(d, 0.5));
}

TEST(values_that_operators_return)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    dync_tensor *w = dync_randn(dync_shape(5, 3), .requires_grad = true);
    dync_tensor *x = dync_randn(dync_shape(3, 5, 2));
    for (int b = 0; b < 3; b++)
        for (int k = 0; k < RETURNS * RETURNS * VALUES * ENDS * USES; k += test_every())
            DYNC_SCOPE {
            first = k % RETURNS;
            second = k / RETURNS % RETURNS;
            value_kind = k / (RETURNS * RETURNS) % VALUES;
            end = k / (RETURNS * RETURNS * VALUES);
            use = (int)(test_random() % 4);
            dync_compiled *c = dync_compile(f, .args = "x, w", .backend = backends[b]);
            dync_tensor *want = f(x, w);
            bool right = true;
            for (int call = 0; call < 2; call++) {
                dync_tensor *got = dync_call(c, x, w);
                right = right && got && dync_size(got, 1) == dync_size(want, 1) &&
                        dync_allclose(got, want, 1e-6, 1e-6);
            }
            EXPECT(right);
            if (!right)
                printf("    %s: value %d, first %d, second %d, end %d, use %d\n", backends[b],
                       value_kind, first, second, end, use);
            dync_compiled_free(c);
        }
}
/* A compiler of the user's for one half of AOT, inductor's code for the other: what it gives is
 * what the other half and the rest of the program are compiled for. */
typedef struct {
    dync_graph *graph;
    int which, how;
} giver;
static int give_which, give_how;
static dync_value given(void *state, const dync_value *args, int n)
{
    const giver *g = state;
    dync_value r = dync_graph_run(g->graph, args, n), out[8];
    int k = dync_len(r);
    for (int i = 0; i < k && i < 8; i++) {
        dync_tensor *t = dync_as_tensor(out[i] = dync_at(r, i));
        if (i != g->which) continue;
        if (g->how == 0) out[i] = DYNC_V(dync_ones(dync_shape(1)));
        if (g->how == 1) out[i] = DYNC_V(dync_to_dtype(t, DYNC_F64));
        if (g->how == 2)
            out[i] = DYNC_V(dync_transpose(dync_contiguous(dync_transpose(t, 0, -1)), 0, -1));
    }
    return dync_tuple_of(k, out);
}
static dync_status give(dync_graph *graph, const dync_value *examples, int n, const char *options,
                        dync_callable *out, void *user)
{
    giver *g = malloc(sizeof *g);
    (void)examples, (void)n, (void)options, (void)user;
    if (!g) return DYNC_ERR_MEMORY;
    *g = (giver){graph, give_which, give_how};
    *out = (dync_callable){.run = given, .destroy = free, .state = g};
    return DYNC_OK;
}
static dync_tensor *rows(dync_tensor *x, dync_tensor *w)
{
    return dync_sum(dync_tanh(dync_matmul(dync_sin(x), w)), dync_shape(1), false);
}
static void unheard(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(half_by_the_user)
{
    dync_backend mine = {.name = "mine", .compile = give};
    const dync_backend *inductor = dync_lookup_backend("inductor");
    dync_on_error(unheard, NULL);
    for (int half = 0; half < 2; half++) {
        dync_backend b = half ? dync_aot_autograd(inductor, &mine)
                              : dync_aot_autograd(&mine, inductor);
        for (int k = 0; k < 9; k++) {
            give_which = k / 3;
            give_how = k % 3;
            dync_tensor *x = dync_parameter(dync_randn(dync_shape(20, 30))),
                        *w = dync_parameter(dync_randn(dync_shape(30, 10)));
            dync_backward(dync_sum(rows(x, w), DYNC_ALL, false));
            dync_tensor *want = dync_clone(dync_grad(w));
            dync_set_grad(w, NULL);
            dync_compiled *f = dync_compile(rows, .backend_object = &b);
            dync_tensor *y = dync_call(f, x, w);
            if (y) dync_backward(dync_sum(y, DYNC_ALL, false));
            if (give_how == 2 || (half && give_which == 2)) {
                EXPECT_OK(dync_error());
                EXPECT(dync_allclose(dync_grad(w), want, TOL_F32_SUM, TOL_F32_SUM));
            } else {
                EXPECT_STATUS(dync_error(), DYNC_ERR_BACKEND);
                EXPECT_HAS_STR(dync_error_message(), "of a compiled graph: expected float32");
            }
            dync_clear_error();
            dync_compiled_free(f);
        }
    }
}

TEST_MAIN
