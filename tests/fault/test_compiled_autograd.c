/* Compiled autograd, make_graph and operators of the user's when memory runs out: each allocation
 * fails once; the call says so, the next one works, and nothing is left at the end. */
#include "dync.in.h"
#include "base/base.h"
#include "test.h"

static dync_tensor *square_hook(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, g);
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static dync_value twice_impl(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_mul(a[0].as.t, 2.0));
}
static dync_value twice_meta(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_clone(a[0].as.t));
}
static dync_tensor *with_operator(dync_tensor *x)
{
    return dync_add(
        dync_as_tensor(dync_op_call_values("fault::twice", 1, (dync_value[]){DYNC_V(x)})), 1.0);
}

static bool backward_case(void)
{
    dync_tensor *x = dync_ones(dync_shape(3, 2), .requires_grad = true),
                *w = dync_ones(dync_shape(2, 2), .requires_grad = true);
    if (!x || !w || dync_register_hook(x, square_hook, NULL) < 0) return false;
    dync_tensor *y = dync_sum(dync_relu(dync_mm(x, w)), DYNC_ALL, false);
    dync_status status = DYNC_ERR_MEMORY;
    if (!y) return false;
    DYNC_COMPILED_AUTOGRAD("inductor") status = dync_backward(y);
    return status == DYNC_OK && dync_grad(x) && dync_grad(w);
}
static bool graph_case(void)
{
    dync_tensor *x = dync_ones(dync_shape(4));
    if (!x) return false;
    dync_make_graph_mode(DYNC_TRACE_SYMBOLIC);
    dync_graph *g = dync_make_graph(with_operator, x);
    return g && dync_graph_run(g, (dync_value[]){DYNC_V(x)}, 1).kind == DYNC_KIND_TENSOR;
}
static bool compiled_case(void)
{
    dync_tensor *x = dync_ones(dync_shape(4));
    dync_compiled *f = x ? dync_compile(with_operator) : NULL;
    bool ok = f && dync_call(f, x);
    dync_compiled_free(f);
    return ok;
}

static void every_allocation(bool (*one)(void), int most)
{
    dync_on_error(quiet, NULL);
    for (int nth = 1, good = 0; good < 3 && nth < most; nth++) {
        dync_reset();
        dync_scope scope = dync_scope_begin();
        dync__mem_fail_at(nth);
        bool ok = one();
        dync__mem_fail_at(0);
        if (!ok) EXPECT(dync_error() == DYNC_ERR_MEMORY || dync_error() == DYNC_ERR_BACKEND);
        dync_scope_end(&scope);
        good = ok ? good + 1 : 0;
        dync_clear_error();
        dync_compiled_autograd_end();
    }
    dync_on_error(NULL, NULL);
    dync_scope scope = dync_scope_begin();
    EXPECT(one());
    dync_scope_end(&scope);
    dync_shutdown();
    EXPECT(!dync__mem_in_use());
}

TEST(backward) { every_allocation(backward_case, 4000); }
TEST(graphs)
{
    EXPECT_OK(
        dync_op_register("fault::twice", "(Tensor x) -> Tensor", twice_impl, twice_meta, NULL));
    every_allocation(graph_case, 2000);
}
TEST(operators)
{
    EXPECT_OK(
        dync_op_register("fault::twice", "(Tensor x) -> Tensor", twice_impl, twice_meta, NULL));
    every_allocation(compiled_case, 4000);
}
TEST_MAIN
