/* Rolls of pictures in channels-last order, by all shifts, also those at which nothing moves:
 * PyTorch gives them row major then. The part behind a break reads what the first gives in the
 * strides that the trace told, of symbolic sizes too. */
#include "counter.h"

static int64_t shift, dim;
static dync_tensor *rolled(dync_tensor *x)
{
    dync_tensor *y = dync_roll(x, dync_shape(shift, 1), dync_shape(dim, 0));
    dync_graph_break("read by another part");
    return dync_mul(y, 2);
}
static dync_tensor *picture(int64_t n, int64_t size)
{
    dync_tensor *x = dync_rand(dync_shape(n, size, 4, 3));
    return dync_permute(x, dync_shape(0, 3, 1, 2));
}
static void all_sizes(dync_dynamic dynamic)
{
    dync_compiled *c = dync_compile(rolled, .dynamic = dynamic, .recompile_limit = 64);
    for (int64_t size = 2; size < 9; size++) DYNC_SCOPE {
        dync_tensor *x = picture(size % 3 + 2, size), *y = dync_call(c, x), *e = rolled(x);
        REQUIRE(y != NULL);
        EXPECT(same(y, e, 0));
        for (int d = 0; d < 4; d++) EXPECT_EQ_INT(dync_stride(y, d), dync_stride(e, d));
    }
    dync_compiled_free(c);
}
TEST(by_every_shift)
{
    for (dim = 1; dim < 4; dim++)
        for (shift = -8; shift < 9; shift += dim == 2 ? 1 : 4) DYNC_SCOPE {
            all_sizes(DYNC_DYNAMIC_OFF);
            all_sizes(DYNC_DYNAMIC_ON);
            all_sizes(DYNC_DYNAMIC_AUTO);
        }
}
TEST_MAIN
