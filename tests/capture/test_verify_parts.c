/* dync_set_verify: arguments with a history that are parts of larger memory, or lie in another
 * order, lie so in the reference too: what a function does by strides and offsets agrees. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
static dync_tensor *turned(dync_tensor *x)
{
    dync_dims stride = dync_shape(dync_stride(x, 1), dync_stride(x, 0));
    return dync_sin(dync_as_strided(x, dync_shape(3, 3), stride, 7));
}
static dync_tensor *written(dync_tensor *x)
{
    DYNC_NO_GRAD {
        dync_mul_(dync_select(dync_detach(x), 0, 1), 0.5);
    }
    return dync_tanh(dync_transpose(x, 0, 1));
}
/* The argument's memory, whole, afterwards. */
static dync_tensor *part(dync_tensor *leaf, int kind, dync_tensor **whole)
{
    *whole = dync_mul(leaf, 1.0);
    dync_tensor *x = dync_slice(dync_slice(*whole, 0, 1, 4, 1), 1, 1, 4, 1);
    return kind == 0 ? x : kind == 1 ? dync_transpose(x, 0, 1) : dync_flip(x, dync_shape(0));
}
static void agrees(dync_tensor *(*fn)(dync_tensor *), const char *backend, int kind)
{
    dync_compiled *f = dync_compile(fn, .args = "x", .backend = backend);
    for (int call = 0; call < 4; call++) DYNC_SCOPE {
        dync_tensor *start = dync_randn(dync_shape(6, 6)), *leaf[2], *whole[2], *y[2];
        for (int k = 0; k < 2; k++) {
            leaf[k] = dync_requires_grad_(dync_clone(start), true);
            dync_tensor *x = part(leaf[k], kind, &whole[k]);
            y[k] = k ? dync_call(f, x) : fn(x);
            REQUIRE(y[k] != NULL);
            EXPECT_OK(dync_backward(dync_sum(dync_mul(y[k], y[k]), DYNC_ALL, false)));
        }
        EXPECT(same(dync_detach(y[0]), dync_detach(y[1]), 1e-5));
        EXPECT(same(dync_detach(whole[0]), dync_detach(whole[1]), 1e-5));
        EXPECT(same(dync_grad(leaf[0]), dync_grad(leaf[1]), 1e-5));
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}
TEST(parts_with_a_history)
{
    dync_set_verify(true);
    for (int b = 0; b < 3; b++)
        for (int kind = 0; kind < 3; kind++) {
            if (kind < 2) agrees(turned, backends[b], kind);
            agrees(written, backends[b], kind);
        }
    dync_set_verify(false);
}

/* Sizes that differ at first are equal in the second call: no constant has changed. */
static dync_tensor *shifted(dync_tensor *x)
{
    dync_tensor *one = dync_ones(dync_shape(dync_dim(x, 0), dync_dim(x, 1)));
    return dync_add(one, x);
}
TEST(lint_of_sizes_that_meet)
{
    dync_set_lint(true);
    dync_compiled *f = dync_compile(shifted, .args = "x", .dynamic = DYNC_DYNAMIC_ON);
    for (int call = 0; call < 12; call++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(2 + call % 2, 3));
        EXPECT(same(dync_call(f, x), shifted(x), 0));
    }
    EXPECT_EQ_INT(dync_get_counters().lint_warnings, 0);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_set_lint(false);
}
TEST_MAIN
