/* Graphs of one operator each gain nothing from being compiled: calls of such a function run as
 * written after a while, with the same bits. Nothing else does. */
#include "counter.h"

enum { CALLS = 100 };
static int64_t as_written(dync_compiled *f) { return dync_compiled_info(f).eager; }

static dync_tensor *thin(dync_tensor *x)
{
    x = dync_mul(x, 2);
    dync_graph_break("here");
    return dync_add(x, 1);
}
static dync_tensor *thick(dync_tensor *x)
{
    x = dync_sin(dync_mul(x, 2));
    dync_graph_break("here");
    return dync_add(x, 1);
}
static dync_tensor *asks(dync_tensor *x)
{
    x = dync_mul(x, 2);
    dync_graph_break("here");
    return dync_is_compiling() ? dync_add(x, 1) : dync_sub(x, 1);
}
static dync_compiled *inner;
static dync_tensor *calls(dync_tensor *x)
{
    x = dync_mul(x, 2);
    dync_graph_break("here");
    return dync_call(inner, x);
}
static dync_tensor *turns(dync_tensor *x)
{
    double v = dync_item(dync_sum(x, DYNC_ALL, false));
    return v > 0 ? dync_mul(x, 3) : dync_sub(x, 3);
}
static dync_tensor *composite(dync_tensor *x)
{
    x = dync_layer_norm(x, dync_shape(4), NULL, NULL, 1e-5);
    dync_graph_break("here");
    return dync_add(x, 1);
}
/* How many calls of CALLS ran as written; every one gave what the function gives. */
static int64_t counted(dync_tensor *(*fn)(dync_tensor *), bool grad, double shift)
{
    dync_compiled *f = dync_compile(fn);
    dync_tensor *first = NULL;
    for (int i = 0; i < CALLS; i++) DYNC_SCOPE {
        dync_tensor *x = dync_add(dync_arange(0, 4, 1), i % 2 ? shift : 0);
        if (grad) dync_requires_grad_(x, true);
        dync_tensor *y = dync_call(f, x);
        if (i == 0) first = dync_retain(dync_detach(y));
        if (i % 2 == 0) EXPECT(dync_equal(first, dync_detach(y)));
        if (fn != asks) EXPECT(same(dync_detach(y), dync_detach(fn(x)), 1e-6));
    }
    dync_release(first);
    int64_t n = as_written(f);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    return n;
}
TEST(graphs_of_one_operator)
{
    int64_t n = counted(thin, false, 1);
    EXPECT(n > CALLS / 2 && n < CALLS - 30);
}
TEST(what_stays_compiled)
{
    EXPECT_EQ_INT(counted(thick, false, 1), 0);
    EXPECT_EQ_INT(counted(thin, true, 1), 0);
    EXPECT_EQ_INT(counted(asks, false, 1), 0);
    EXPECT_EQ_INT(counted(composite, false, 1), 0);
    EXPECT_EQ_INT(counted(turns, false, -100), 0);
    inner = dync_compile(thin);
    EXPECT_EQ_INT(counted(calls, false, 1), 0);
    dync_compiled_free(inner);
}
/* The guards are asked as ever. */
TEST(another_entry_is_found)
{
    dync_compiled *f = dync_compile(thin, .dynamic = DYNC_DYNAMIC_OFF);
    for (int i = 0; i < CALLS; i++) DYNC_SCOPE
        (void)dync_call(f, dync_ones(dync_shape(3)));
    DYNC_SCOPE {
        dync_tensor *y = dync_call(f, dync_ones(dync_shape(5)));
        EXPECT(dync_equal(y, dync_full(dync_shape(5), 3)));
        EXPECT_EQ_INT(dync_compiled_info(f).misses, 2);
    }
    dync_compiled_free(f);
}
TEST_MAIN
