/* Products of f16 and bf16 with something added are rounded once, as PyTorch does: 256 + (1 +
 * 1/256) is 258 in bf16; with the product rounded first, to 1, it is 257, and so 256. Plain and
 * compiled. */
#include "counter.h"

static dync_tensor *vector(dync_tensor *s, dync_tensor *a, dync_tensor *b)
{
    return dync_addmv(s, dync_select(a, 0, 0), dync_select(dync_select(b, 0, 0), 1, 0));
}
static dync_tensor *matrix(dync_tensor *s, dync_tensor *a, dync_tensor *b)
{
    return dync_addmm(s, dync_select(a, 0, 0), dync_select(b, 0, 0));
}
static dync_tensor *batch(dync_tensor *s, dync_tensor *a, dync_tensor *b)
{
    return dync_baddbmm(s, a, b);
}
static void once(dync_dtype dtype, double big, double small, double expected)
{
    dync_tensor *s = dync_full(dync_shape(1), big, .dtype = dtype);
    dync_tensor *a = dync_full(dync_shape(2, 3, 2), 1, .dtype = dtype);
    dync_tensor *b = dync_full(dync_shape(2, 2, 3), 1, .dtype = dtype);
    dync_fill_(dync_select(b, 1, 1), small);
    dync_tensor *(*const f[])(dync_tensor *, dync_tensor *, dync_tensor *) = {vector, matrix,
                                                                              batch};
    for (int i = 0; i < 3; i++) {
        dync_compiled *c = dync_compile(f[i], .fullgraph = true);
        for (int compiled = 0; compiled < 2; compiled++) {
            dync_tensor *y = compiled ? dync_call(c, s, a, b) : f[i](s, a, b);
            REQUIRE(y != NULL);
            EXPECT_EQ_INT(dync_type(y), dtype);
            EXPECT_EQ_INT(dync_numel(y), i == 0 ? 3 : i == 1 ? 9 : 18);
            EXPECT(dync_item(dync_amin(y, DYNC_ALL, false)) == expected);
            EXPECT(dync_item(dync_amax(y, DYNC_ALL, false)) == expected);
        }
        dync_compiled_free(c);
    }
}
TEST(sums_are_rounded_once)
{
    DYNC_SCOPE {
        once(DYNC_BF16, 256, 1.0 / 256, 258);
        once(DYNC_F16, 2048, 1.0 / 2048, 2050);
    }
}
TEST_MAIN
