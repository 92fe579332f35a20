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
/* inside a list, as a result, read, after the last reference was given back */
static dync_tensor *gone_listed(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_sin(x);
    return dync_cat(dync_tuple(x, y), 0);
}
static dync_tensor *gone_item(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_as_tensor(dync_at(dync_chunk(dync_sin(x), 3, 0), 1));
    return dync_add(x, y);
}
static dync_tensor *gone_summed(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_sin(x);
    return dync_mul(x, dync_item(dync_sum(y, DYNC_ALL, false)));
}
static dync_tensor *gone_measured(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_sin(x);
    return dync_mul(x, (double)dync_size(y, 0));
}
static dync_tensor *gone_released(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_retain(dync_sin(x));
    dync_release(y);
    return dync_mul(x, y);
}
static dync_tensor *gone_returned(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_sin(x);
    return y;
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

/* by a list outside, by being taken out of the scope */
static dync_tensor *kept_listed(dync_tensor *x)
{
    dync_value parts = dync_chunk(dync_sin(x), 3, 0);
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_as_tensor(dync_at(parts, 1));
    return dync_add(x, y);
}
static dync_tensor *escaped(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_escape(dync_sin(x));
    return dync_mul(x, y);
}

TEST(as_in_plain_code)
{
    typedef dync_tensor *(*fn)(dync_tensor *);
    static const fn fns[] = {gone,          gone_view,     gone_broken, gone_read,   gone_later,
                             gone_written,  gone_listed,   gone_item,   gone_summed, gone_measured,
                             gone_released, gone_returned, retained,    used_inside, as_gradient,
                             kept_listed,   escaped};
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
                (void)dync_ndim(want); /* a result is first opened here */
                snprintf(text, sizeof text, "%s", dync_error_message());
                dync_status plain = dync_error();
                dync_clear_error();
                EXPECT((plain == DYNC_ERR_VALUE) == (k < 12));
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

/* The way that calls take first does not use y; a later one follows it, then does. */
static int use;
static dync_tensor *used_on_another_way(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE y = dync_sin(x);
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0))) return dync_add(x, 1);
    dync_tensor *z = dync_exp(x), *w = NULL;
    DYNC_SCOPE w = dync_cos(x);
    if (dync_bool(dync_lt(dync_sum(z, DYNC_ALL, false), 1))) return dync_mul(z, x);
    if (use == 0) return dync_cat(dync_tuple(x, y), 0);
    if (use == 1) return y;
    if (use == 2) return dync_mul(x, dync_item(dync_sum(y, DYNC_ALL, false)));
    if (use == 3) return dync_mul(x, (double)dync_size(w, 0));
    if (use == 4) return dync_cat(dync_tuple(w, z), 0);
    return use == 5 ? dync_add(x, y) : z;
}
TEST(on_another_way)
{
    static const char *const on[] = {"eager", "inductor"};
    static const double of[] = {1, 1, -9, -1, 1, -9, -1, -1};
    dync_on_error(quiet, NULL);
    for (use = 0; use < 7; use++)
        for (int b = 0; b < 2; b++) {
            dync_compiled *f = dync_compile(used_on_another_way, .backend = on[b]);
            for (int call = 0; call < 8; call++) DYNC_SCOPE {
                dync_tensor *x = dync_full(dync_shape(3), of[call]), *got = dync_call(f, x);
                dync_status status = dync_error();
                dync_clear_error();
                EXPECT_STATUS(status, of[call] == -1 && use < 6 ? DYNC_ERR_VALUE : DYNC_OK);
                if (status != DYNC_OK) continue;
                dync_tensor *want = used_on_another_way(x);
                EXPECT(got && dync_allclose(got, want, TOL_F32_SUM, TOL_F32_SUM));
            }
            dync_compiled_free(f);
        }
}
TEST_MAIN
