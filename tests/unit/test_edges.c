/* tests/unit/test_edges.c: operators at their edges, against results and gradients of PyTorch
 * (tests/oracle/edges.py): eager and compiled. */
#include "edge_lines.h"
#include "../ops/edges.c"

static void check_all(const char *backend)
{
    for (int i = 0; i < DYNC__COUNT_OF(edges); i++) DYNC_SCOPE {
        check_edge(edges[i], backend, false);
    }
}

/* ---- what a line cannot say ------------------------------------------------------------------ */

static dync_tensor *norm0(dync_tensor *x) { return dync_norm(x, 0, DYNC_ALL, false); }

TEST(norm_0_has_a_history_and_gradient_zero)
{
    static const char *const backends[] = {NULL, "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) DYNC_SCOPE {
        dync_compiled *f = b ? dync_compile(norm0, .backend = backends[b], .fullgraph = true)
                             : NULL;
        dync_tensor *x =
            dync_from(((float[]){0, 2, -3, (float)NAN}), dync_shape(4), .requires_grad = true);
        dync_tensor *y = f ? dync_call(f, x) : norm0(x);
        EXPECT_NEAR(dync_item(y), 3, TOL_EXACT);
        EXPECT(dync_requires_grad(y));
        EXPECT_OK(dync_backward(y));
        for (int i = 0; i < 4; i++)
            EXPECT_NEAR(dync_item(dync_select(dync_grad(x), 0, i)), 0, TOL_EXACT);
        dync_compiled_free(f);
    }
}

static dync_tensor *elus(dync_tensor *x)
{
    return dync_add(dync_add(dync_elu(x, 1), dync_celu(x, 1)), dync_selu(x));
}
static dync_tensor *sums(dync_tensor *x) { return dync_logaddexp(x, dync_neg(x)); }
static dync_tensor *swish(dync_tensor *x) { return dync_add(dync_hardswish(x), dync_mish(x)); }

/* Where exp of a large x would be infinite and multiplied by zero: by closed forms. */
TEST(second_gradients_are_finite)
{
    static dync_tensor *(*const fns[])(dync_tensor *) = {elus, sums, swish};
    static const double want[3][3] = {{0, 0, 0}, {0, 1, 0}, {0, 1.0 / 3 + 0.64, 0}};
    for (int k = 0; k < 3; k++) DYNC_SCOPE {
        dync_tensor *x = dync_from(((double[]){-200, 0, 200}), dync_shape(3), .dtype = DYNC_F64,
                                   .requires_grad = true);
        dync_tensor *g = dync_as_tensor(dync_at(
            dync_gradients(dync_v_tensor(dync_sum(fns[k](x), DYNC_ALL, false)), dync_v_tensor(x),
                           DYNC_NONE, (dync_grad_options){.create_graph = true}),
            0));
        dync_tensor *h = dync_as_tensor(
            dync_at(dync_gradients(dync_v_tensor(dync_sum(g, DYNC_ALL, false)), dync_v_tensor(x),
                                   DYNC_NONE, (dync_grad_options){0}),
                    0));
        for (int i = 0; i < 3; i++)
            if (k || i != 1)
                EXPECT_NEAR(dync_item(dync_select(h, 0, i)), want[k][i], TOL_F64_CHAIN);
    }
}

/* x plus a tensor that is made by an operator's name. */
typedef struct maker {
    const char *name;
    int nargs;
    dync_value args[5];
    float want[6];
} maker;
static dync_value add_made(const dync_value *x, int n, void *user)
{
    const maker *m = user;
    dync_value shape[2] = {dync_v_int(2), dync_v_int(3)}, args[5];
    (void)n;
    for (int i = 0; i < m->nargs; i++)
        args[i] = m->args[i].kind == DYNC_KIND_NONE ? dync_tuple_of(2, shape) : m->args[i];
    dync_tensor *made = dync_as_tensor(dync_op_call_values(m->name, m->nargs, args));
    return dync_v_tensor(dync_add(x[0], dync_view(made, dync_shape(2, 3))));
}

TEST(factories_by_name_in_a_compiled_function)
{
    const dync_value f32 = dync_v_int(DYNC_F32), cpu = dync_v_int(DYNC_CPU);
    maker makers[] = {
        {"ones", 3, {DYNC_NONE, f32, cpu}, {1, 1, 1, 1, 1, 1}},
        {"zeros", 3, {DYNC_NONE, f32, cpu}, {0}},
        {"full", 4, {DYNC_NONE, dync_v_float(2.5), f32, cpu}, {2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f}},
        {"eye", 4, {dync_v_int(2), dync_v_int(3), f32, cpu}, {1, 0, 0, 0, 1, 0}},
        {"arange", 5, {dync_v_int(0), dync_v_int(6), dync_v_int(1), f32, cpu}, {0, 1, 2, 3, 4, 5}},
        {"randn", 3, {DYNC_NONE, f32, cpu}, {0}},
        {"rand", 3, {DYNC_NONE, f32, cpu}, {0}}};
    static const char *const backends[] = {NULL, "eager", "aot_eager", "inductor"};
    dync_manual_seed(3);
    memcpy(makers[5].want, dync_data(dync_randn(dync_shape(2, 3))), sizeof makers[5].want);
    dync_manual_seed(3);
    memcpy(makers[6].want, dync_data(dync_rand(dync_shape(2, 3))), sizeof makers[6].want);
    for (int i = 0; i < 7 * 4; i++) DYNC_SCOPE {
        maker *m = &makers[i / 4];
        dync_value x = dync_v_tensor(dync_zeros(dync_shape(2, 3)));
        dync_compiled *f = i % 4 ? dync_compile(dync_bind(add_made, m, "x"),
                                                .backend = backends[i % 4], .fullgraph = true)
                                 : NULL;
        dync_manual_seed(3);
        dync_tensor *y = dync_as_tensor(f ? dync_call_values(f, 1, &x) : add_made(&x, 1, m));
        if (EXPECT(y != NULL))
            EXPECT_NEAR_F32((const float *)dync_data(y), m->want, 6, TOL_EXACT, TOL_EXACT);
        dync_compiled_free(f);
    }
    dync_value wrong[3] = {dync_v_int(2), dync_v_int(INT64_C(1) << 40), cpu};
    EXPECT(dync_op_call_values("ones", 3, wrong).kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_DTYPE);
}

static dync_tensor *transposed_convolution(dync_tensor *x, dync_tensor *w)
{
    return dync_conv_transpose2d(x, w, NULL, DYNC_ALL, DYNC_ALL, DYNC_ALL, 1, DYNC_ALL);
}

TEST(conv_transpose2d_of_integers_is_a_dtype_error)
{
    static const char *const backends[] = {NULL, "eager", "aot_eager", "inductor"};
    for (int b = 0; b < 4; b++) DYNC_SCOPE {
        dync_tensor *x = dync_ones(dync_shape(1, 2, 4, 4), .dtype = DYNC_I64),
                    *w = dync_ones(dync_shape(2, 2, 2, 2), .dtype = DYNC_I64);
        dync_compiled *f =
            b ? dync_compile(transposed_convolution, .backend = backends[b], .fullgraph = true)
              : NULL;
        EXPECT(!(f ? dync_call(f, x, w) : transposed_convolution(x, w)));
        EXPECT_STATUS(dync_error(), DYNC_ERR_DTYPE);
        EXPECT_HAS_STR(dync_error_message(), "conv_transpose2d");
        dync_clear_error();
        dync_compiled_free(f);
    }
}

TEST(eager) { check_all(NULL); }
TEST(aot_eager) { check_all("aot_eager"); }
TEST(inductor) { check_all("inductor"); }
TEST_MAIN
