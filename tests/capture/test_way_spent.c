/* A call that comes to a branch's other side is traced from its beginning, behind what its pieces
 * have done. A C variable that changed makes other operators of a piece: what computes only is
 * computed again; what wrote in place or drew random numbers is not, and the call says why. */
#include "counter.h"

static double factor;
static dync_tensor *computes(dync_tensor *x, dync_tensor *kept)
{
    (void)kept;
    dync_tensor *y = dync_mul(x, factor);
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0))) return dync_add(y, 1);
    return dync_sub(y, 1);
}
static dync_tensor *writes(dync_tensor *x, dync_tensor *kept)
{
    dync_add_(kept, dync_mul(x, factor));
    return computes(x, kept);
}
static dync_tensor *draws(dync_tensor *x, dync_tensor *kept)
{
    return computes(dync_mul(x, dync_add(dync_rand_like(x), factor)), kept);
}
static dync_tensor *called(dync_compiled *c, double sign, dync_tensor *kept)
{
    return dync_call(c, dync_full(dync_shape(3), sign), kept);
}
static void refused(dync_tensor *(*f)(dync_tensor *, dync_tensor *))
{
    dync_tensor *kept = dync_zeros(dync_shape(3));
    dync_compiled *c = dync_compile(f);
    factor = 1;
    REQUIRE(called(c, 1, kept) && called(c, 1, kept));
    factor = 2;
    EXPECT(!called(c, -1, kept));
    EXPECT_STATUS(dync_error(), DYNC_ERR_COMPILE);
    EXPECT_HAS_STR(dync_error_message(), "a C variable that it reads has changed");
    /* once, with the variable as it was */
    EXPECT(dync_item(dync_amax(kept, DYNC_ALL, false)) == (f == writes ? 1 : 0));
    REQUIRE(called(c, -1, kept)); /* as it is now */
    EXPECT(dync_item(dync_amax(kept, DYNC_ALL, false)) == (f == writes ? -1 : 0));
    dync_compiled_free(c);
}
TEST(what_wrote_is_not_done_twice)
{
    DYNC_SCOPE {
        refused(writes);
    }
}
TEST(what_drew_is_not_done_twice)
{
    DYNC_SCOPE {
        refused(draws);
    }
}
TEST(what_computes_is_computed_again)
{
    DYNC_SCOPE {
        dync_compiled *c = dync_compile(computes);
        dync_tensor *kept = dync_zeros(dync_shape(3));
        factor = 1;
        REQUIRE(called(c, 1, kept) && called(c, 1, kept));
        factor = 2;
        dync_tensor *y = called(c, -1, kept);
        REQUIRE(y != NULL);
        EXPECT(dync_item(dync_amax(y, DYNC_ALL, false)) == -3);
        dync_compiled_free(c);
    }
}
TEST_MAIN
