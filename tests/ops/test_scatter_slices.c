/* Scatters by an index that names whole slices, which is expanded along the other dims, against
 * the same index written out, where each place has its own. */
#include "dync.h"
#include "test.h"

static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I32,
                                    DYNC_I64, DYNC_I16, DYNC_I8,  DYNC_U8,   DYNC_BOOL};

static dync_tensor *some(dync_dims shape, dync_dtype dtype)
{
    dync_tensor *x = dync_randn(shape);
    if (dtype == DYNC_BOOL) return dync_gt(x, 0);
    return dync_to_dtype(dtype < DYNC_F16 || dtype > DYNC_F64 ? dync_mul(x, 7) : x, dtype);
}
/* The bits are the same: both add in the order of places. */
static bool same(dync_tensor *a, dync_tensor *b) { return dync_equal(a, b); }
static dync_tensor *put(int kind, dync_tensor *base, int dim, dync_tensor *index, dync_tensor *from)
{
    return kind ? dync_scatter_add(base, dim, index, from) : dync_scatter(base, dim, index, from);
}

static void one_case(unsigned *state, int round)
{
    int64_t n[3], m, width[] = {1, 3, 8, 9, 31, 32, 33, 70};
#define DRAW(k) (int)((*state = *state * 1103515245u + 12345u) >> 16 & 0x7fff) % (k)
    for (int d = 0; d < 3; d++) n[d] = 1 + DRAW(5);
    n[2] = width[DRAW(8)];
    int dim = DRAW(3), kind = DRAW(2), turned = DRAW(3), layout = DRAW(3);
    dync_dtype dtype = dtypes[DRAW(10)];
    m = 1 + DRAW(9);
    int64_t at[10], one[3] = {1, 1, 1}, all[3] = {n[0], n[1], n[2]};
    for (int i = 0; i < m; i++) at[i] = DRAW((int)n[dim]);
    one[dim] = all[dim] = m;
    dync_tensor *base = some(dync_shape(n[0], n[1], n[2]), dtype),
                *from = some(dync_shape(all[0], all[1], all[2]), dtype),
                *index = dync_expand(dync_reshape(dync_from(at, dync_shape(m), .dtype = DYNC_I64),
                                                  dync_shape(one[0], one[1], one[2])),
                                     dync_shape(all[0], all[1], all[2])),
                *dense = dync_clone(dync_add(
                    index, dync_zeros(dync_shape(all[0], all[1], all[2]), .dtype = DYNC_I64)));
    if (turned == 1) /* a base and a source in another order */
        base = dync_transpose(dync_contiguous(dync_transpose(base, 0, 2)), 0, 2);
    if (turned == 2) from = dync_transpose(dync_contiguous(dync_transpose(from, 1, 2)), 1, 2);
    dync_tensor *want = put(kind, base, dim, dense, from), *got = put(kind, base, dim, index, from);
    if (layout == 1) { /* where it lies: a part of another tensor */
        dync_tensor *whole = dync_zeros(dync_shape(n[0], n[1], n[2] + 2), .dtype = dtype);
        dync_tensor *part = dync_slice(whole, 2, 1, n[2] + 1, 1);
        dync_copy_(part, base);
        got = kind ? dync_scatter_add_(part, dim, index, from)
                   : dync_scatter_(part, dim, index, from);
    }
    EXPECT(same(got, want));
    if (!same(got, want)) fprintf(stderr, "round %d\n", round);
#undef DRAW
}
TEST(slices_named_by_an_index)
{
    unsigned state = 77;
    for (int i = 0; i < test_count(2000); i++) DYNC_SCOPE
        one_case(&state, i);
    EXPECT_OK(dync_error());
}
TEST(slices_named_by_a_wrong_index)
{
    dync_clear_error();
    DYNC_SCOPE {
        int64_t at[] = {0, 7};
        dync_tensor *base = dync_zeros(dync_shape(4, 8)), *from = dync_ones(dync_shape(2, 8));
        dync_tensor *index = dync_expand(
            dync_reshape(dync_from(at, dync_shape(2), .dtype = DYNC_I64), dync_shape(2, 1)),
            dync_shape(2, 8));
        (void)dync_scatter_add(base, 0, index, from);
        EXPECT_STATUS(dync_error(), DYNC_ERR_INDEX);
    }
    dync_clear_error();
}
TEST_MAIN
