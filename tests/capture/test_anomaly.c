/* Anomaly mode: the first NaN or infinity of a compiled function, by operator and line. */
#define TEST_AFTER_EACH dync_set_anomaly(false)
#include "counter.h"

enum { LOG_LINE = __LINE__ + 4 };
static dync_tensor *makes_a_nan(dync_tensor *x)
{
    dync_tensor *y = dync_sub(x, 2);
    dync_tensor *z = dync_log(y); /* of a negative number */
    return dync_add(dync_exp(z), z);
}
enum { EXP_LINE = __LINE__ + 3 };
static dync_tensor *makes_an_infinity(dync_tensor *x)
{
    return dync_mul(dync_exp(dync_mul(x, 200)), 0);
}
/* forward is finite: sqrt(0); its gradient is 0.5 / 0 */
enum { SQRT_LINE = __LINE__ + 4 };
static dync_tensor *infinite_gradient(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 0);
    y = dync_sqrt(y);
    return dync_sum(y, DYNC_ALL, false);
}
static dync_tensor *masked(dync_tensor *x)
{
    dync_tensor *m = dync_masked_fill(x, dync_gt(x, 0.5), -(double)INFINITY);
    return dync_softmax(m, -1);
}

static void names(const char *op, int line, const char *what)
{
    char place[256];
    snprintf(place, sizeof place, "%s:%d", __FILE__, line);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_RUNTIME);
    EXPECT_HAS_STR(dync_error_message(), op);
    EXPECT_HAS_STR(dync_error_message(), what);
    EXPECT_HAS_STR(dync_error_message(), place);
    dync_clear_error();
}
static void forward_is_named(dync_tensor *(*fn)(dync_tensor *), const char *op, int line,
                             const char *what)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < 3; k++)
        for (int full = 0; full < 2; full++) {
            counter c = {.inner = backends[k]};
            dync_compiled *f = dync_compile(fn, .backend_object = &COUNTER(c), .fullgraph = full);
            dync_tensor *x = dync_ones(dync_shape(3)), *r = dync_call(f, x);
            EXPECT(r != NULL); /* not asked: a NaN goes its way */
            int compiles = c.frame_count;
            dync_set_anomaly(true);
            EXPECT(dync_call(f, x) == NULL);
            names(op, line, what);
            EXPECT(dync_call(f, dync_full(dync_shape(3), NAN)) != NULL); /* nobody's fault */
            dync_set_anomaly(false);
            EXPECT(dync_call(f, x) != NULL);
            EXPECT_EQ_INT(c.frame_count, compiles);
            dync_compiled_free(f);
        }
}
TEST(a_nan_of_forward) { forward_is_named(makes_a_nan, "log", LOG_LINE, "the first NaN"); }
TEST(an_infinity_of_forward)
{
    forward_is_named(makes_an_infinity, "exp", EXP_LINE, "the first infinity");
}
TEST(backward)
{
    dync_compiled *f = dync_compile(infinite_gradient);
    dync_tensor *x = dync_requires_grad_(dync_ones(dync_shape(3)), true);
    EXPECT_OK(dync_backward(dync_call(f, x)));
    dync_set_anomaly(true);
    dync_tensor *loss = dync_call(f, x);
    EXPECT(loss && dync_item(loss) == 0.0);
    EXPECT(dync_backward(loss) != DYNC_OK);
    EXPECT_HAS_STR(dync_error_message(), "in the backward 'SqrtBackward0' of the operator there");
    names("div", SQRT_LINE, "the first infinity");
    dync_set_anomaly(false);
    EXPECT_OK(dync_backward(dync_call(f, x)));
    dync_compiled_free(f);
}
TEST(no_false_alarm)
{
    dync_compiled *f = dync_compile(masked);
    dync_tensor *x = dync_div(dync_arange(0, 20, 1), 22);
    x = dync_reshape(x, dync_shape(5, 4));
    x = dync_transpose(x, 0, 1); /* each row has a small one */
    dync_tensor *want = dync_call(f, x);
    dync_set_anomaly(true);
    dync_tensor *got = dync_call(f, x);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    EXPECT(same(got, want, 1e-6));
    EXPECT(dync_empty(dync_shape(100)) != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}
/* Strided, half, in place, in lists. */
TEST(every_kind_of_operand)
{
    dync_set_anomaly(true);
    dync_tensor *x = dync_transpose(dync_ones(dync_shape(3, 2)), 0, 1);
    EXPECT(dync_log(dync_neg(x)) == NULL);
    dync_clear_error();
    EXPECT(dync_mul(dync_full(dync_shape(2), 60000, .dtype = DYNC_F16), 4) == NULL);
    EXPECT_HAS_STR(dync_error_message(), "mul");
    dync_clear_error();
    EXPECT(dync_div_(dync_ones(dync_shape(2)), 0) == NULL);
    EXPECT_HAS_STR(dync_error_message(), "the first infinity");
    dync_clear_error();
    dync_set_anomaly(false);
    dync_tensor *nan = dync_log(dync_full(dync_shape(2), -1.0));
    dync_set_anomaly(true);
    EXPECT(dync_cat(dync_tuple(nan, nan), 0) != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST_MAIN
