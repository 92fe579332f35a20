/* tests/unit/test_places.c: nonzero and masked_select of every dtype and rank, dense and strided,
 * beside a walk that reads each element as a double. NaN is not 0, -0 is. */
#include "../../src/dync.in.h"
#include "../../src/tensor/tensor.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64,
                             DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8,   DYNC_BOOL};

/* Dense, of up to four dims, some of them empty; mostly zeros, or hardly any. */
static dync_tensor *random_tensor(int dtype)
{
    dync_dims shape = {test_random_int(0, 4), {0}};
    for (int d = 0; d < shape.n; d++)
        shape.d[d] = test_random_int(test_random_int(0, 9) ? 1 : 0, 9);
    if (shape.n == 1) shape.d[0] *= 50;
    dync_tensor *x = dync_empty(shape, .dtype = (dync_dtype)dtype);
    char *data = dync_data(x);
    bool floats = dync__dtype_info(dtype)->kind == 'f', few = test_random_int(0, 1);
    for (int64_t i = 0; i < dync_numel(x); i++) {
        double v = test_random_int(0, few ? 9 : 1) ? 0 : test_random_int(1, 3);
        if (floats && test_random_int(0, 9) == 0) v = test_random_int(0, 1) ? NAN : -0.0;
        dync__store_f64(data + i * dync__dtype_info(dtype)->bytes, dtype, v);
    }
    return x;
}

/* Compares with nonzero's result [count, rank] and with what a mask picks. */
static void expect_places(dync_tensor *x, dync_tensor *places, dync_tensor *picked)
{
    dync_tensor *dense = dync_contiguous(x), *of = dync_contiguous(places);
    int n = (int)dync_ndim(x), dtype = (int)dync_type(x), bytes = dync__dtype_info(dtype)->bytes;
    const char *data = dync_data(dense), *got = dync_data(dync_contiguous(picked));
    const int64_t *row = dync_data(of);
    int64_t count = 0;
    for (int64_t i = 0; i < dync_numel(x); i++) {
        double v = dync__load_f64(data + i * bytes, dtype);
        if (v == 0) continue;
        REQUIRE(count < dync_size(places, 0) && count < dync_numel(picked));
        int64_t at = 0;
        for (int d = 0; d < n; d++) at = at * dync_size(x, d) + row[count * n + d];
        EXPECT_EQ_INT(at, i);
        EXPECT(memcmp(got + count * bytes, data + i * bytes, (size_t)bytes) == 0);
        count++;
    }
    EXPECT_EQ_INT(count, dync_size(places, 0));
    EXPECT_EQ_INT(count, dync_numel(picked));
}

TEST(every_dtype_and_rank)
{
    for (int t = 0; t < test_count(400); t++) DYNC_SCOPE {
        dync_tensor *x = random_tensor(dtypes[t % 10]);
        if (dync_ndim(x) > 1 && test_random_int(0, 1)) x = dync_transpose(x, 0, 1);
        if (dync_ndim(x) > 0 && test_random_int(0, 1)) x = dync_slice(x, 0, 0, DYNC_END, 2);
        expect_places(x, dync_nonzero(x), dync_masked_select(x, dync_ne(x, 0)));
    }
}
TEST_MAIN
