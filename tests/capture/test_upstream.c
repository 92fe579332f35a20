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
TEST_MAIN
