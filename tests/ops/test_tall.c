/* tests/ops/test_tall.c: reductions of columns too many to go down all rows at once, bit by bit
 * against plain C loops (greatest, least) and against sums in double. */
#include "dync.h"
#include "test.h"
#include "tol.h"

static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64};

static dync_tensor *fn_max(dync_tensor *x) { return dync_amax(x, dync_shape(0), false); }
static dync_tensor *fn_min(dync_tensor *x) { return dync_amin(x, dync_shape(0), false); }
static dync_tensor *fn_scaled(dync_tensor *x)
{
    return dync_add(dync_amax(dync_mul(x, 2), dync_shape(0), false), 1);
}
/* two reductions of one pass */
static dync_tensor *fn_both(dync_tensor *x)
{
    return dync_add(dync_sum(x, dync_shape(0), false), dync_amin(x, dync_shape(0), false));
}

static double at(dync_tensor *t, int64_t i)
{
    const void *p = dync_data(t);
    switch (dync_type(t)) {
    case DYNC_F32: return (double)((const float *)p)[i];
    case DYNC_F64: return ((const double *)p)[i];
    case DYNC_I32: return ((const int32_t *)p)[i];
    default: return (double)((const int64_t *)p)[i];
    }
}

static void check(dync_dtype dtype, int64_t rows, int64_t columns, int which)
{
    DYNC_SCOPE {
        dync_tensor *x =
            dync_to_dtype(dync_mul(dync_randn(dync_shape(rows, columns)), 1000), dtype);
        if (dtype == DYNC_F32 && test_random() % 2)
            for (int i = 0; i < 20; i++)
                ((float *)dync_data(x))[test_random_int(0, rows * columns - 1)] = i % 3 ? NAN
                                                                                        : -INFINITY;
        dync_compiled *f = which == 0   ? dync_compile(fn_max, .args = "x")
                           : which == 1 ? dync_compile(fn_min, .args = "x")
                           : which == 2 ? dync_compile(fn_scaled, .args = "x")
                                        : dync_compile(fn_both, .args = "x");
        dync_tensor *y = dync_call(f, x);
        REQUIRE(y && dync_numel(y) == columns);
        for (int64_t c = 0; c < columns; c++) {
            double best = at(x, c), sum = 0, size = 0, got = at(y, c);
            for (int64_t r = 0; r < rows; r++) {
                double e = at(x, r * columns + c);
                bool nan = best != best, better = which % 2 ? e < best : e > best;
                if (!nan && (better || e != e)) best = e;
                sum += e;
                size += fabs(e);
            }
            double want = which == 2   ? 2 * best + 1
                          : which == 3 ? sum + best
                                       : best,
                   off = which == 3   ? (dtype == DYNC_F32 ? 1e-5 : 1e-12) * size
                         : which == 2 ? 1e-6 * fabs(best)
                                      : 0;
            bool same = want != want ? got != got : want == got || fabs(got - want) <= off;
            if (!EXPECT(same)) {
                printf("    dtype %d, %d of %d x %d, column %d: %g, not %g\n", (int)dtype, which,
                       (int)rows, (int)columns, (int)c, got, want);
                break;
            }
        }
        dync_compiled_free(f);
    }
}

TEST(greatest_and_least_of_tall_columns)
{
    for (int round = 0; round < test_count(24); round++) {
        int64_t columns = test_random_int(512, 2600);
        dync_config_set("threads", (const char *[]){"1", "2", "3"}[test_random_int(0, 2)]);
        check(dtypes[round % 4], (1 << 18) / columns + test_random_int(1, 70), columns,
              round / 4 % 4);
    }
    dync_config_set("threads", "1");
}

/* few rows and few columns: not by some rows at a time */
TEST(the_same_of_short_columns)
{
    for (int round = 0; round < 16; round++)
        check(dtypes[round % 4], test_random_int(1, 70), test_random_int(1, 600), round / 4);
}

TEST_MAIN
