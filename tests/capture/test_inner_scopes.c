/* Scopes inside a function: a value whose scope has ended is refused with plain code's words, also
 * where the trace itself still holds it; one that something keeps is not. */
#include "dync.h"
#include "test.h"
#include "tol.h"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* y is used after its scope */
#define MADE_INSIDE(name, value, after)      \
    static dync_tensor *name(dync_tensor *x) \
    {                                        \
        dync_tensor *y = NULL, *z = x;       \
        DYNC_SCOPE y = (value);              \
        after;                               \
        return dync_mul(y, z);               \
    }
MADE_INSIDE(gone, dync_sin(x), (void)0)
MADE_INSIDE(gone_view, dync_flip(dync_transpose(x, 0, 1), dync_shape(0)), (void)0)
MADE_INSIDE(gone_broken, dync_exp(x), dync_graph_break("here"))
MADE_INSIDE(gone_read, dync_exp(x), z = dync_add(x, dync_item(dync_sum(x, DYNC_ALL, false))))
MADE_INSIDE(gone_later, dync_exp(x), z = dync_tanh(dync_exp(x)))
static dync_tensor *gone_written(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_cos(x);
    dync_add_(y, 1);
    return dync_neg(x);
}
/* kept: by a reference, by a view's base, as a gradient */
static dync_tensor *retained(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_retain(dync_sin(x));
    dync_tensor *r = dync_mul(y, 2);
    dync_release(y);
    return r;
}
static dync_tensor *used_inside(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    for (int i = 0; i < 3; i++) DYNC_SCOPE
        dync_add_(y, dync_sin(dync_mul(y, dync_cos(x))));
    return y;
}
static dync_tensor *as_gradient(dync_tensor *x)
{
    DYNC_SCOPE dync_set_grad(x, dync_sin(dync_detach(x)));
    dync_tensor *g = dync_grad(x);
    return dync_mul(g ? g : x, 2);
}

TEST(as_in_plain_code)
{
    typedef dync_tensor *(*fn)(dync_tensor *);
    static const fn fns[] = {gone,         gone_view, gone_broken, gone_read,  gone_later,
                             gone_written, retained,  used_inside, as_gradient};
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    dync_on_error(quiet, NULL);
    for (int k = 0; k < (int)(sizeof fns / sizeof *fns); k++) {
        for (int b = 0; b < 6; b++) {
            dync_compiled *f = dync_compile(fns[k], .backend = on[b % 3]);
            for (int call = 0; call < 4; call++) {
                dync_tensor *x = dync_add(dync_rand(dync_shape(3, 3)), call), *want, *got;
                dync_requires_grad_(x, b > 2);
                char text[256];
                want = fns[k](x);
                snprintf(text, sizeof text, "%s", dync_error_message());
                dync_status plain = dync_error();
                dync_clear_error();
                EXPECT((plain == DYNC_ERR_VALUE) == (k < 6));
                got = dync_call(f, x);
                EXPECT_STATUS(dync_error(), plain);
                if (plain != DYNC_OK) EXPECT_EQ_STR(dync_error_message(), text);
                if (plain == DYNC_OK)
                    EXPECT(got && dync_allclose(got, want, TOL_F32_SUM, TOL_F32_SUM));
                dync_clear_error();
            }
            dync_compiled_free(f);
        }
    }
}
TEST_MAIN
