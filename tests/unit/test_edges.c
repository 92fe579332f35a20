/* tests/unit/test_edges.c: operators at their edges, against results and gradients of PyTorch (tests/oracle/edges.py): eager and compiled. */
#include "edge_lines.h"
#include "../ops/edges.c"

static void check_all(const char *backend)
{
    for (int i = 0; i < DYNC__COUNT_OF(edges); i++)
        DYNC_SCOPE { check_edge(edges[i], backend, false); }
}

/* ---- what a line cannot say ------------------------------------------------------------------------------------------------- */

static dync_tensor *norm0(dync_tensor *x) { return dync_norm(x, 0, DYNC_ALL, false); }

TEST(norm_0_has_a_history_and_gradient_zero)
{
    static const char *const backends[] = {NULL, "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++)
        DYNC_SCOPE {
            dync_compiled *f = b ? dync_compile(norm0, .backend = backends[b], .fullgraph = true) : NULL;
            dync_tensor *x = dync_from(((float[]){0, 2, -3, (float)NAN}), dync_shape(4), .requires_grad = true);
            dync_tensor *y = f ? dync_call(f, x) : norm0(x);
            EXPECT_NEAR(dync_item(y), 3, TOL_EXACT);
            EXPECT(dync_requires_grad(y));
            EXPECT_OK(dync_backward(y));
            for (int i = 0; i < 4; i++) EXPECT_NEAR(dync_item(dync_select(dync_grad(x), 0, i)), 0, TOL_EXACT);
            dync_compiled_free(f);
        }
}

static dync_tensor *elus(dync_tensor *x) { return dync_add(dync_add(dync_elu(x, 1), dync_celu(x, 1)), dync_selu(x)); }
static dync_tensor *sums(dync_tensor *x) { return dync_logaddexp(x, dync_neg(x)); }
static dync_tensor *swish(dync_tensor *x) { return dync_add(dync_hardswish(x), dync_mish(x)); }

/* Where exp of a large x would be infinite and multiplied by zero: by closed forms. */
TEST(second_gradients_are_finite)
{
    static dync_tensor *(*const fns[])(dync_tensor *) = {elus, sums, swish};
    static const double want[3][3] = {{0, 0, 0}, {0, 1, 0}, {0, 1.0 / 3 + 0.64, 0}};
    for (int k = 0; k < 3; k++)
        DYNC_SCOPE {
            dync_tensor *x = dync_from(((double[]){-200, 0, 200}), dync_shape(3), .dtype = DYNC_F64, .requires_grad = true);
            dync_tensor *g = dync_as_tensor(dync_at(dync_gradients(dync_v_tensor(dync_sum(fns[k](x), DYNC_ALL, false)), dync_v_tensor(x), DYNC_NONE,
                                                                   (dync_grad_options){.create_graph = true}), 0));
            dync_tensor *h = dync_as_tensor(dync_at(dync_gradients(dync_v_tensor(dync_sum(g, DYNC_ALL, false)), dync_v_tensor(x), DYNC_NONE,
                                                                   (dync_grad_options){0}), 0));
            for (int i = 0; i < 3; i++)
                if (k || i != 1) EXPECT_NEAR(dync_item(dync_select(h, 0, i)), want[k][i], TOL_F64_CHAIN);
        }
}

TEST(eager) { check_all(NULL); }
TEST(aot_eager) { check_all("aot_eager"); }
TEST(inductor) { check_all("inductor"); }
TEST_MAIN
