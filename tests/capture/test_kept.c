/* What no argument reaches is computed once, when a plan is made (runtime/kept.c): compiled calls
 * give what the function gives, with the pass and without it; so are small tables, by their own
 * (runtime/tables.c). */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"

static dync_tensor *table(double scale)
{
    return dync_to_dtype(dync_sin(dync_mul(dync_arange(0, 24, 1), scale)), DYNC_F32);
}
static dync_tensor *grid(void) { return dync_cos(dync_outer(table(0.3), dync_exp(table(0.1)))); }
static dync_tensor *twice(dync_tensor *x)
{
    return dync_add(dync_mul(x, table(0.5)),
                    dync_sub(table(0.5), dync_flip(table(0.5), dync_shape(0))));
}
static dync_tensor *summed(dync_tensor *x)
{
    dync_tensor *g = grid(), *s = dync_softmax(g, 1);
    return dync_add(dync_mul(x, dync_sum(s, dync_shape(0), false)),
                    dync_amax(g, dync_shape(1), false));
}
static dync_tensor *product(dync_tensor *x)
{
    return dync_relu(dync_add(dync_mv(grid(), x), table(0.2)));
}
static dync_tensor *written(dync_tensor *x)
{
    dync_tensor *t = table(0.7);
    dync_tensor *y = dync_mul(t, x);
    dync_mul_(t, 2);
    dync_add_(dync_slice(t, 0, 0, DYNC_END, 2), dync_slice(x, 0, 0, 12, 1));
    return dync_add(y, t);
}
static dync_tensor *scattered(dync_tensor *x)
{
    dync_tensor *i =
        dync_to_dtype(dync_remainder(dync_floor(dync_mul(dync_abs(table(3)), 50)), 24), DYNC_I64);
    return dync_index_add(table(0.4), 0, i, dync_mul(x, dync_gather(table(0.9), 0, i)));
}
static dync_tensor *itself(dync_tensor *x) { return (void)x, dync_tanh(grid()); }
static dync_tensor *view_of_it(dync_tensor *x)
{
    return (void)x, dync_select(dync_tanh(grid()), 1, 3);
}
static dync_tensor *drawn(dync_tensor *x)
{
    return dync_mul(x, dync_sin(dync_mul(dync_rand(dync_shape(24)), table(0.5))));
}
static dync_tensor *stencil(dync_tensor *x)
{
    dync_tensor *w =
        dync_reshape(dync_softmax(dync_narrow(table(1), 0, 0, 3), 0), dync_shape(1, 1, 3));
    return dync_flatten(dync_conv1d(dync_reshape(x, dync_shape(1, 1, -1)), w, NULL, dync_shape(1),
                                    dync_shape(1), dync_shape(1), 1),
                        0, -1);
}
static dync_tensor *triangle(dync_tensor *x)
{
    dync_tensor *m = dync_tril(dync_exp(grid()), 0);
    return dync_sum(dync_masked_fill(dync_mul(m, x), dync_eq(m, 0), -1), dync_shape(1), false);
}
/* places and weights of rows, in several dtypes and from parts; numbers that are no table */
static dync_tensor *resized(dync_tensor *x)
{
    dync_tensor *p = dync_reshape(x, dync_shape(1, 1, 4, 6));
    return dync_flatten(dync_upsample_bicubic2d(p, dync_shape(7, 9), false), 0, -1);
}
static dync_tensor *from_parts(dync_tensor *x)
{
    dync_tensor *i = dync_to_dtype(dync_floor(dync_mul(dync_arange(0, 12, 1), 1.7)), DYNC_I64),
                *even = dync_eq(dync_remainder(i, 2), 0),
                *part = dync_to_dtype(dync_where(even, i, dync_neg(i)), DYNC_BF16),
                *all = dync_cat(dync_tuple(part, dync_exp(part)), 0);
    return dync_add(dync_mul(dync_index_select(x, 0, i), dync_narrow(all, 0, 3, 12)),
                    dync_add(dync_arange(0, 12, 1), 2));
}
/* What looks at indices runs every time, and what comes of it. */
static dync_tensor *picked(dync_tensor *x)
{
    dync_tensor *i = dync_to_dtype(dync_floor(dync_mul(dync_arange(0, 12, 1), 1.9)), DYNC_I64),
                *t = dync_tanh(dync_index_select(table(0.8), 0, i));
    return dync_mul(x, dync_sum(dync_mul(t, 0.1), DYNC_ALL, false));
}
static dync_tensor *(*const fns[])(dync_tensor *) = {
    twice,   summed,   product,    written, scattered,  itself, drawn,
    stencil, triangle, view_of_it, resized, from_parts, picked};
enum { N_FNS = sizeof fns / sizeof fns[0] };

static bool equal(dync_tensor *a, dync_tensor *b)
{
    return a && b && dync_allclose(a, b, 1e-6, 1e-6);
}

/* Results and gradients, thrice; what was returned is the caller's to write. */
static void agrees(int k, dync_dynamic dynamic)
{
    dync_compiled *f =
        dync_compile_opt(DYNC_FN(fns[k]), "f", (dync_compile_options){.dynamic = dynamic});
    for (int call = 0; call < 3; call++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(24)), *gradient[2] = {NULL, NULL}, *y[2];
        dync_requires_grad_(x, true);
        for (int compiled = 0; compiled < 2; compiled++) {
            dync_manual_seed(7);
            y[compiled] = compiled ? dync_call(f, x) : fns[k](x);
            if (!y[compiled] || !dync_requires_grad(y[compiled])) continue;
            dync_backward(dync_sum(dync_square(y[compiled]), DYNC_ALL, false));
            gradient[compiled] = dync_clone(dync_grad(x));
            dync_set_grad(x, NULL);
        }
        if (!EXPECT(equal(y[1], y[0])) ||
            !EXPECT(gradient[0] ? equal(gradient[1], gradient[0]) : !gradient[1]))
            printf("    function %d, call %d\n", k, call);
        DYNC_NO_GRAD dync_mul_(dync_detach(y[1]), 3);
    }
    dync_compiled_free(f);
}

TEST(compiled_as_plain)
{
    static const char *const off[] = {"", "kept", "tables", "kept,tables"};
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(dync_config_set("disable", off[i]));
        for (int k = 0; k < N_FNS; k++)
            for (int dynamic = 0; dynamic < 3; dynamic++) agrees(k, (dync_dynamic)dynamic);
    }
    EXPECT_OK(dync_config_set("disable", ""));
}
TEST_MAIN
