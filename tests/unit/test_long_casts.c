/* tests/unit/test_long_casts.c: between integers of 64 bits and floats, beside C's casts: values of
 * every magnitude, those around powers of two, halfway between two floats, and outside of what an
 * integer holds (the greatest, the least; NaN is 0). */
#include "../../src/dync.in.h"
#include "../../src/tensor/tensor.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

enum { MANY = 4099 };

static int64_t saturated(double x)
{
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return INT64_MAX;
    return x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

static int64_t random_long(void)
{
    int64_t power = (int64_t)1 << test_random_int(0, 62), odd = 0;
    switch (test_random_int(0, 2)) {
    case 0: return (int64_t)test_random() >> test_random_int(0, 63);
    case 1: odd = test_random_int(-2, 2); break;
    default: /* a float of 24 bits and half of its last one, more or less */
        if (power < (int64_t)1 << 25) break;
        odd = (power >> 24) * (int64_t)test_random_int(0, 3) + test_random_int(-1, 1);
    }
    return test_random_int(0, 1) ? power + odd : -power - odd;
}

static double random_double(void)
{
    static const double odd[] = {0,       -0.0,    NAN,    INFINITY, -INFINITY, 0x1p63, -0x1p63,
                                 0x1p64,  -0x1p64, 0.5,    -0.5,     0x1p32,    1e300,  -1e300,
                                 -0x1p32, 0x1p52,  0x1p53, -0x1p53,  0x1p31,    -9.3e18};
    double x;
    uint64_t bits = test_random();
    switch (test_random_int(0, 3)) {
    case 0: memcpy(&x, &bits, sizeof x); return x;
    case 1: return odd[test_random_int(0, DYNC__COUNT_OF(odd) - 1)];
    case 2: return (double)odd[test_random_int(5, 8)] + test_random_int(-3, 3) * 2048.0;
    default: return (double)random_long() + test_random_int(-7, 7) / 8.0;
    }
}

TEST(from_integers)
{
    static int64_t x[MANY];
    for (int t = 0; t < test_count(30); t++) DYNC_SCOPE {
        for (int i = 0; i < MANY; i++) x[i] = random_long();
        x[0] = INT64_MIN, x[1] = INT64_MAX;
        dync_tensor *from = dync_from(x, dync_shape(MANY), .dtype = DYNC_I64);
        const double *d = dync_data(dync_to_dtype(from, DYNC_F64));
        const float *f = dync_data(dync_to_dtype(from, DYNC_F32));
        for (int i = 0; i < MANY; i++)
            if (!EXPECT(d[i] == (double)x[i] && f[i] == (float)x[i]))
                fprintf(stderr, "%lld: %a, %a\n", (long long)x[i], d[i], (double)f[i]);
    }
}

TEST(to_integers)
{
    static double x[MANY];
    static float y[MANY];
    for (int t = 0; t < test_count(30); t++) DYNC_SCOPE {
        for (int i = 0; i < MANY; i++) {
            x[i] = random_double();
            dync__store_f64(&y[i], DYNC_F32, random_double());
        }
        const int64_t *from_x =
            dync_data(dync_to_dtype(dync_from(x, dync_shape(MANY), .dtype = DYNC_F64), DYNC_I64));
        const int64_t *from_y = dync_data(dync_to_dtype(dync_from(y, dync_shape(MANY)), DYNC_I64));
        for (int i = 0; i < MANY; i++)
            if (!EXPECT(from_x[i] == saturated(x[i]) && from_y[i] == saturated((double)y[i])))
                fprintf(stderr, "%a: %lld, %a: %lld\n", x[i], (long long)from_x[i], (double)y[i],
                        (long long)from_y[i]);
    }
}

/* Integers among floats in one kernel: what stays in registers, tails, masks. */
TEST(in_the_middle_of_a_kernel)
{
    static int64_t x[MANY];
    static float y[MANY];
    for (int i = 0; i < MANY; i++) {
        x[i] = test_random_int(-1000000, 1000000);
        y[i] = (float)test_random_real(-1e6, 1e6);
    }
    DYNC_SCOPE {
        dync_tensor *a = dync_from(x, dync_shape(MANY), .dtype = DYNC_I64),
                    *b = dync_from(y, dync_shape(MANY));
        dync_tensor *c = dync_where(dync_gt(a, b), dync_to_dtype(dync_mul(b, 3), DYNC_I64), a);
        const int64_t *got = dync_data(dync_add(c, dync_to_dtype(dync_clamp(b, -7, 9), DYNC_I64)));
        for (int i = 0; i < MANY; i++) {
            float held = y[i] < -7 ? -7 : y[i] > 9 ? 9 : y[i];
            int64_t want = ((float)x[i] > y[i] ? (int64_t)(y[i] * 3) : x[i]) + (int64_t)held;
            EXPECT_EQ_INT(got[i], want);
        }
    }
}
TEST_MAIN
