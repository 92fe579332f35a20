/* Operators that return their argument (dropout outside of training, a cast to the same dtype, ...)
 * before, between and behind places where graphs end, on values of every kind, in every way to
 * compile: what comes out is what the plain call gives, in the first call and later. */
#include "counter.h"

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
TEST_MAIN
