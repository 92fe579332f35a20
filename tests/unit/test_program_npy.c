/* .npy files: round trips of every dtype, NumPy's own bytes, bad files. */
#include "dync.in.h"
#include "program/program.h"
#include "test.h"

static void path_of(char *out, size_t cap)
{
    snprintf(out, cap, "/tmp/dync_test_%d.npy", (int)(test_random() % 1000000));
}

TEST(round_trip)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_I64, DYNC_I32,
                                        DYNC_I16, DYNC_I8,  DYNC_U8,  DYNC_BOOL};
    char path[64];
    path_of(path, sizeof path);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        dync_tensor *t = dync_transpose(dync_to_dtype(dync_arange(0, 6, 1), dtypes[i]), 0, 0);
        t = dync_transpose(dync_view(t, dync_shape(2, 3)), 0, 1); /* strided */
        REQUIRE_OK(dync_npy_save(t, path));
        dync_tensor *u = dync_npy_load(path);
        REQUIRE(u != NULL);
        EXPECT_EQ_INT(dync_type(u), dtypes[i]);
        EXPECT(dync_equal(t, u));
    }
    REQUIRE_OK(dync_npy_save(dync_full(DYNC_SCALAR, 3), path));
    EXPECT_NEAR(dync_item(dync_npy_load(path)), 3, 0);
    REQUIRE_OK(dync_npy_save(dync_empty(dync_shape(0, 4)), path));
    EXPECT_EQ_INT(dync_size(dync_npy_load(path), 1), 4);
    remove(path);
    dync_on_error(NULL, NULL);
    EXPECT_STATUS(dync_npy_save(dync_ones(dync_shape(2), .dtype = DYNC_BF16), path),
                  DYNC_ERR_DTYPE);
    dync_clear_error();
    EXPECT(dync_npy_load("/nonexistent.npy") == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_IO);
    dync_clear_error();
}

/* np.save(np.array([[1, 2], [3, 4]], dtype='>i2', order='F')) */
static const char foreign[] =
    "\x93NUMPY\1\0\x46\0{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }           \n"
    "\0\1\0\3\0\2\0\4";

TEST(foreign_order)
{
    dync__tensor *t = dync__npy_read(foreign, sizeof foreign - 1);
    REQUIRE(t != NULL);
    EXPECT_EQ_INT(t->dtype, DYNC_I16);
    dync_tensor *h = dync__give(t);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            EXPECT_NEAR(dync_item(dync_select(dync_select(h, 0, i), 0, j)), 1 + 2 * i + j, 0);
}

TEST(bad_files)
{
    char copy[sizeof foreign];
    dync_on_error(NULL, NULL);
    for (size_t n = 0; n < sizeof foreign - 1; n++) {
        dync_clear_error();
        EXPECT(dync__npy_read(foreign, n) == NULL);
        EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
    }
    for (int round = 0; round < 5000; round++) {
        memcpy(copy, foreign, sizeof foreign);
        for (int k = test_random_int(1, 3); k > 0; k--)
            copy[test_random_int(0, (int)sizeof foreign - 2)] = (char)test_random_int(0, 255);
        dync_clear_error();
        dync__unref(dync__npy_read(copy, sizeof foreign - 1));
    }
    dync_clear_error();
}

TEST_MAIN
