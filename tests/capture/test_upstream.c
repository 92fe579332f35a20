/* tests/capture/test_upstream.c: what torch.compile does in corners of capture, done here too: sizes that a slice leaves, inputs that nothing
 * alive needs, tensors without data, hooks that are not there, grad mode, symbolic tests, breaks under fullgraph. */
#include "counter.h"

/* ---- slices whose size is 0 or 1 in the traced call -------------------------------------------------------------------------- */
static dync_tensor *every_second(dync_tensor *x) { return dync_slice(dync_sin(x), 1, 0, INT64_MAX, 2); }
static dync_tensor *from_the_third(dync_tensor *x) { return dync_slice(dync_sin(x), 1, 2, INT64_MAX, 1); }
static dync_tensor *all_but_two(dync_tensor *x) { return dync_slice(dync_sin(x), 1, 0, -2, 1); }

TEST(slices_of_size_0_or_1_guard_what_they_were)
{
    static const char *const backends[] = {"counter", "eager", "ts", "aot_eager", "aot_ts", "inductor"};
    dync_tensor *(*fns[])(dync_tensor *) = {every_second, from_the_third, all_but_two};
    for (int b = 0; b < 6; b++)
        for (int k = 0; k < 3; k++)
            for (int mode = 0; mode < 2; mode++) {
                counter c = {.inner = b ? backends[b] : NULL};
                dync_dynamic dynamic = mode ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO;
                dync_compiled *f = dync_compile(fns[k], .backend_object = &COUNTER(c), .dynamic = dynamic);
                for (int again = 0; again < 2; again++) {
                    static const int width[] = {3, 2, 4, 5, 2, 3, 9, 4};
                    int before = c.frame_count;
                    for (int i = 0; i < 8; i++) DYNC_SCOPE {
                        dync_tensor *x = dync_rand(dync_shape(2, width[i])), *want = fns[k](x);
                        EXPECT(same(dync_call(f, x), want, 1e-6));
                    }
                    if (again) EXPECT_EQ_INT(c.frame_count, before);
                }
                dync_compiled_free(f);
            }
}

/* ---- what only dead values need ------------------------------------------------------------------------------------------------- */
static dync_tensor *dead_product(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x), *b = dync_mul(y, x);
    (void)b;
    dync_graph_break("here");
    return dync_cos(a);
}
static dync_tensor *read_only(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x), *b = dync_mul(y, x);
    return dync_bool(dync_gt(dync_sum(b, DYNC_ALL, false), -100)) ? dync_cos(a) : b;
}
static dync_tensor *written_away(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x);
    dync_add_(dync_clone(x), dync_mul(a, y));
    dync_graph_break("here");
    return dync_cos(a);
}
static dync_tensor *both_live(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x), *b = dync_mul(y, x);
    dync_graph_break("here");
    return dync_add(dync_cos(a), dync_mul(b, 0.0));
}

/* As plain: an optimizer steps over a parameter without gradient, and moves one whose gradient is zeros. */
TEST(inputs_of_dead_values_get_no_gradient)
{
    static const char *const backends[] = {"eager", "aot_eager", "aot_ts", "inductor"};
    dync_tensor *(*fns[])(dync_tensor *, dync_tensor *) = {dead_product, read_only, written_away, both_live};
    for (int b = 0; b < 4; b++)
        for (int k = 0; k < 4; k++)
            for (int mode = 0; mode < 2; mode++) {
                dync_compiled *f = dync_compile(fns[k], .backend = backends[b], .dynamic = mode ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
                for (int i = 0; i < 3; i++) DYNC_SCOPE {
                    dync_tensor *x = dync_rand(dync_shape(3 + i), .requires_grad = true), *y = dync_rand(dync_shape(3 + i), .requires_grad = true);
                    dync_tensor *r = dync_call(f, x, y), *g;
                    EXPECT(r && dync_backward(dync_sum(r, DYNC_ALL, false)) == DYNC_OK);
                    g = dync_grad(x);
                    EXPECT(g && same(g, dync_neg(dync_mul(dync_sin(dync_sin(x)), dync_cos(x))), 1e-5));
                    EXPECT_EQ_INT(dync_grad(y) != NULL, k == 3);
                }
                dync_compiled_free(f);
            }
}
TEST_MAIN
