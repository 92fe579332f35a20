/* tensor/dtype.c and tensor/shape.c. Expected values are PyTorch 2.15's. */
#include "../../src/dync.in.h"
#include "../../src/tensor/tensor.h"
#include "../../src/tensor/sym.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

static void silent(dync_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

TEST(promotion_table)
{
    /* torch.promote_types: row and column in the order of dync_dtype */
    static const char *const table[] = {"0100000000", "1111111111", "0120222222", "0103333333",
                                        "0123444444", "0123455555", "0123456666", "0123456767",
                                        "0123456688", "0123456789"};
    for (int a = 0; a < 10; a++)
        for (int b = 0; b < 10; b++) EXPECT_EQ_INT(dync__promote(a, b), table[a][b] - '0');
}

static int result_type(int dim, int zero, int number)
{
    dync__promoter p = {-1, -1, -1};
    if (dim >= 0) dync__promoter_add(&p, dim, 2);
    if (zero >= 0) dync__promoter_add(&p, zero, 1);
    if (number >= 0) dync__promoter_add(&p, number, 0);
    return dync__promoter_result(&p);
}

TEST(result_types)
{
    EXPECT_EQ_INT(result_type(DYNC_F32, DYNC_F64, -1), DYNC_F32);
    EXPECT_EQ_INT(result_type(DYNC_I32, DYNC_F64, -1), DYNC_F64);
    EXPECT_EQ_INT(result_type(DYNC_I8, DYNC_I64, -1), DYNC_I8);
    EXPECT_EQ_INT(result_type(DYNC_BOOL, DYNC_U8, -1), DYNC_U8);
    EXPECT_EQ_INT(result_type(DYNC_F16, -1, DYNC_F32), DYNC_F16);
    EXPECT_EQ_INT(result_type(DYNC_I64, -1, DYNC_F32), DYNC_F32);
    EXPECT_EQ_INT(result_type(DYNC_BOOL, -1, DYNC_I64), DYNC_I64);
    EXPECT_EQ_INT(result_type(DYNC_U8, -1, DYNC_BOOL), DYNC_U8);
    EXPECT_EQ_INT(result_type(-1, DYNC_I8, DYNC_I64), DYNC_I8);
    EXPECT_EQ_INT(result_type(DYNC_I8, DYNC_F16, DYNC_F32), DYNC_F16);
}

TEST(casts_that_are_allowed)
{
    EXPECT(dync__can_cast(DYNC_F64, DYNC_F16) && dync__can_cast(DYNC_I64, DYNC_I8) &&
           dync__can_cast(DYNC_I64, DYNC_F16) && dync__can_cast(DYNC_BOOL, DYNC_U8));
    EXPECT(!dync__can_cast(DYNC_F16, DYNC_I64) && !dync__can_cast(DYNC_I8, DYNC_BOOL) &&
           !dync__can_cast(DYNC_F32, DYNC_BOOL));
}

TEST(dtype_rows)
{
    EXPECT_EQ_STR(dync__dtype_info(DYNC_BF16)->name, "bfloat16");
    EXPECT_EQ_STR(dync__dtype_info(DYNC_BOOL)->guard, "Bool");
    EXPECT(dync__dtype_info(DYNC_I16)->bytes == 2 &&
           dync__dtype_info(DYNC_I16)->compute == DYNC_I32);
    EXPECT(dync__dtype_valid(DYNC_BOOL) && !dync__dtype_valid(10) && !dync__dtype_valid(-1) &&
           dync__dtype_info(77)->bytes == 4);
}

TEST(elements)
{
    char p[8];
    for (int dtype = 0; dtype < 10; dtype++) {
        dync__store_f64(p, dtype, 1.0);
        EXPECT(dync__load_f64(p, dtype) == 1.0 && dync__load_i64(p, dtype) == 1);
        dync__store_i64(p, dtype, 0);
        EXPECT(dync__load_f64(p, dtype) == 0.0 && dync__load_i64(p, dtype) == 0);
    }
    dync__store_i64(p, DYNC_I64, INT64_C(9007199254740993));
    EXPECT(dync__load_i64(p, DYNC_I64) == INT64_C(9007199254740993));
    dync__store_i64(p, DYNC_I8, 300);
    EXPECT_EQ_INT(dync__load_i64(p, DYNC_I8), 44); /* narrowing wraps */
    dync__store_f64(p, DYNC_I8, 300.7);
    EXPECT_EQ_INT(dync__load_i64(p, DYNC_I8), 127); /* floats saturate */
    dync__store_f64(p, DYNC_U8, -3.0);
    EXPECT_EQ_INT(dync__load_i64(p, DYNC_U8), 0);
    dync__store_f64(p, DYNC_I32, -2.9);
    EXPECT_EQ_INT(dync__load_i64(p, DYNC_I32), -2);
    dync__store_f64(p, DYNC_I64, 1e30);
    EXPECT(dync__load_i64(p, DYNC_I64) == INT64_MAX);
    dync__store_f64(p, DYNC_I64, (double)NAN);
    EXPECT_EQ_INT(dync__load_i64(p, DYNC_I64), 0);
    dync__store_f64(p, DYNC_BOOL, 0.25);
    EXPECT_EQ_INT(dync__load_i64(p, DYNC_BOOL), 1);
    dync__store_f64(p, DYNC_F16, 65504.0);
    EXPECT(dync__load_f64(p, DYNC_F16) == 65504.0 && dync__load_i64(p, DYNC_F16) == 65504);
    /* one rounding: two would give the tie's even neighbour */
    dync__store_f64(p, DYNC_F16, 1.0 + 0.00048828125 + 1e-12);
    EXPECT(dync__load_f64(p, DYNC_F16) == 1.0009765625);
    dync__store_f64(p, DYNC_BF16, -(1.0 + 0.00390625 + 1e-12));
    EXPECT(dync__load_f64(p, DYNC_BF16) == -1.0078125);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static dync__layout strided(int ndim, const int64_t *shape, const int64_t *stride)
{
    dync__layout lay = {ndim, {0}, {0}, 0};
    memcpy(lay.shape, shape, (size_t)ndim * 8);
    memcpy(lay.stride, stride, (size_t)ndim * 8);
    return lay;
}
#define DIMS(...) ((int64_t[]){__VA_ARGS__})
#define STRIDED(n, shape, stride) strided(n, DIMS shape, DIMS stride)

static const char *text_of(int ndim, const int64_t *x)
{
    static char buffers[4][256];
    static int next;
    char *out = buffers[next++ % 4];
    dync__str s = {0};
    dync__shape_text(&s, ndim, x);
    dync__format(out, 256, "%s", dync__str_get(&s));
    dync__str_free(&s);
    return out;
}

TEST(contiguous_layouts)
{
    dync_on_error(silent, NULL);
    dync__layout lay;
    EXPECT_OK(dync__layout_contiguous(&lay, 3, DIMS(2, 3, 4)));
    EXPECT_EQ_STR(text_of(3, lay.stride), "[12, 4, 1]");
    EXPECT_OK(dync__layout_contiguous(&lay, 0, NULL));
    EXPECT_OK(dync__layout_contiguous(&lay, 3, DIMS(2, 0, 4)));
    EXPECT_EQ_STR(text_of(3, lay.stride), "[4, 4, 1]");
    static const struct {
        int ndim;
        int64_t shape[DYNC_MAX_DIMS + 1];
    } bad[] = {{2, {2, -1}},
               {2, {INT64_C(1) << 40, INT64_C(1) << 40}},
               {1, {INT64_MAX / 8}},
               {9, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
               {-1, {0}},
               {3, {0, INT64_C(1) << 40, INT64_C(1) << 40}}};
    for (int i = 0; i < DYNC__COUNT_OF(bad); i++) {
        dync_clear_error();
        EXPECT_STATUS(dync__layout_contiguous(&lay, bad[i].ndim, bad[i].shape), DYNC_ERR_SHAPE);
    }
    dync_clear_error();
    dync__layout_contiguous(&lay, 2, DIMS(2, -1));
    EXPECT_EQ_STR(dync_error_message(), "negative size in shape [2, -1]");
}

TEST(facts_about_layouts)
{
    dync__layout a = STRIDED(2, (3, 4), (4, 1)), turned = STRIDED(2, (4, 3), (1, 4)),
                 gap = STRIDED(2, (3, 4), (8, 1)), expanded = STRIDED(2, (3, 4), (0, 1));
    dync__layout one = STRIDED(3, (1, 3, 4), (77, 4, 1)), empty = STRIDED(2, (0, 4), (9, 9)),
                 scalar = {0};
    EXPECT(dync__layout_is_contiguous(&a) && !dync__layout_is_contiguous(&turned) &&
           !dync__layout_is_contiguous(&gap));
    EXPECT(dync__layout_is_contiguous(&one) && dync__layout_is_contiguous(&empty) &&
           dync__layout_is_contiguous(&scalar));
    EXPECT(dync__layout_is_dense(&a) && dync__layout_is_dense(&turned) &&
           !dync__layout_is_dense(&gap) && !dync__layout_is_dense(&expanded));
    EXPECT(dync__layout_is_dense(&one) && dync__layout_is_dense(&empty) &&
           dync__layout_is_dense(&scalar));
    EXPECT(dync__layout_overlaps_itself(&expanded) && !dync__layout_overlaps_itself(&a) &&
           !dync__layout_overlaps_itself(&gap) && !dync__layout_overlaps_itself(&empty));
}

TEST(dims_wrap)
{
    dync_on_error(silent, NULL);
    int d = 9;
    EXPECT(dync__dim_wrap(-1, 3, &d) == DYNC_OK && d == 2 && dync__dim_wrap(0, 0, &d) == DYNC_OK &&
           d == 0 && dync__dim_wrap(-1, 0, &d) == DYNC_OK && d == 0);
    EXPECT_STATUS(dync__dim_wrap(3, 3, &d), DYNC_ERR_INDEX);
    EXPECT_STATUS(dync__dim_wrap(-4, 3, &d), DYNC_ERR_INDEX);
    EXPECT_STATUS(dync__dim_wrap(1, 0, &d), DYNC_ERR_INDEX);
    EXPECT_EQ_STR(dync_error_message(), "dimension out of range: expected -3 to 2, got 3");
}

/* Sizes that callers made up neither overflow nor become what looks like a symbolic size. */
TEST(arithmetic_on_sizes_is_bounded)
{
    static const int64_t some[] = {0,
                                   1,
                                   -1,
                                   7,
                                   (int64_t)1 << 30,
                                   (int64_t)1 << 40,
                                   ((int64_t)1 << 59) - 1,
                                   (int64_t)1 << 62,
                                   INT64_MAX,
                                   INT64_MIN,
                                   -((int64_t)1 << 40)};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
            int64_t a = some[i], b = some[k];
            int64_t of[3] = {dync__sz_add(a, b), dync__sz_sub(a, b), dync__sz_mul(a, b)};
            double exact[3] = {(double)a + (double)b, (double)a - (double)b, (double)a * (double)b};
            double most = ldexp(1, 59);
            bool sane = fabs((double)a) <= most && fabs((double)b) <= most;
            for (int op = 0; op < 3; op++) {
                double want = exact[op] > most ? most : exact[op] < -most ? -most : exact[op];
                EXPECT(!dync__is_token(of[op]) && fabs((double)of[op]) <= most);
                if (sane) EXPECT_NEAR((double)of[op], want, fabs(want) * 0x1p-50);
            }
        }
}

TEST(broadcasting)
{
    dync_on_error(silent, NULL);
    int64_t out[DYNC_MAX_DIMS];
    int n = 0;
    EXPECT_OK(dync__broadcast(2, DIMS(2, 3), 1, DIMS(3), &n, out));
    EXPECT_EQ_STR(text_of(n, out), "[2, 3]");
    EXPECT_OK(dync__broadcast(3, DIMS(5, 1, 3), 2, DIMS(4, 1), &n, out));
    EXPECT_EQ_STR(text_of(n, out), "[5, 4, 3]");
    EXPECT_OK(dync__broadcast(0, NULL, 2, DIMS(0, 1), &n, out));
    EXPECT_EQ_STR(text_of(n, out), "[0, 1]");
    EXPECT_OK(dync__broadcast(1, DIMS(1), 1, DIMS(0), &n, out));
    EXPECT_EQ_STR(text_of(n, out), "[0]");
    EXPECT_STATUS(dync__broadcast(2, DIMS(2, 3), 1, DIMS(4), &n, out), DYNC_ERR_SHAPE);
    EXPECT_EQ_STR(dync_error_message(), "shapes [2, 3] and [4] do not broadcast");
    dync_clear_error();
    out[0] = out[1] = 0;
    /* the result may stand where an operand stood */
    int64_t own[DYNC_MAX_DIMS] = {3};
    EXPECT_OK(dync__broadcast(1, own, 2, DIMS(2, 1), &n, own));
    EXPECT_EQ_STR(text_of(n, own), "[2, 3]");
}

TEST(expanding)
{
    dync_on_error(silent, NULL);
    dync__layout in = STRIDED(2, (3, 1), (1, 1)), out;
    EXPECT_OK(dync__layout_expand(&in, 3, DIMS(2, -1, 4), &out));
    EXPECT_EQ_STR(text_of(3, out.shape), "[2, 3, 4]");
    EXPECT_EQ_STR(text_of(3, out.stride), "[0, 1, 0]");
    EXPECT_STATUS(dync__layout_expand(&in, 2, DIMS(4, 4), &out), DYNC_ERR_SHAPE);
    EXPECT_STATUS(dync__layout_expand(&in, 1, DIMS(3), &out), DYNC_ERR_SHAPE);
    EXPECT_STATUS(dync__layout_expand(&in, 3, DIMS(-1, 3, 1), &out), DYNC_ERR_SHAPE);
}

TEST(views)
{
    dync_on_error(silent, NULL);
    dync__layout a = STRIDED(3, (2, 3, 4), (12, 4, 1)), turned = STRIDED(2, (4, 3), (1, 4)), out;
    bool possible = false;
    EXPECT_OK(dync__layout_view(&a, 2, DIMS(6, -1), &out, &possible));
    EXPECT(possible);
    EXPECT_EQ_STR(text_of(2, out.shape), "[6, 4]");
    EXPECT_EQ_STR(text_of(2, out.stride), "[4, 1]");
    EXPECT_OK(dync__layout_view(&turned, 1, DIMS(12), &out, &possible));
    EXPECT(!possible);
    EXPECT_OK(dync__layout_view(&turned, 4, DIMS(2, 2, 1, 3), &out, &possible));
    EXPECT(possible);
    EXPECT_EQ_STR(text_of(4, out.stride), "[2, 1, 12, 4]");
    dync__layout expanded = STRIDED(2, (4, 3), (0, 1)), scalar = {0};
    EXPECT_OK(dync__layout_view(&expanded, 3, DIMS(2, 2, 3), &out, &possible));
    EXPECT(possible);
    EXPECT_EQ_STR(text_of(3, out.stride), "[0, 0, 1]");
    EXPECT_OK(dync__layout_view(&scalar, 2, DIMS(1, 1), &out, &possible));
    EXPECT(possible && out.ndim == 2);
    EXPECT_OK(dync__layout_view(&a, 3, DIMS(2, 3, 4), &out, &possible));
    EXPECT(possible && memcmp(out.stride, a.stride, 24) == 0);
    static const struct {
        int n;
        int64_t shape[3];
    } bad[] = {{1, {23}}, {2, {-1, 5}}, {2, {-1, -1}}, {2, {-2, 12}}, {2, {0, -1}}};
    for (int i = 0; i < DYNC__COUNT_OF(bad); i++)
        EXPECT_STATUS(dync__layout_view(&a, bad[i].n, bad[i].shape, &out, &possible),
                      DYNC_ERR_SHAPE);
    EXPECT_EQ_STR(dync_error_message(),
                  "shape [23] does not fit a tensor of shape [2, 3, 4] with 24 elements");
}

TEST_MAIN
