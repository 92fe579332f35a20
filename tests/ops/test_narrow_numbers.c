/* tests/ops/test_narrow_numbers.c: numbers beside tensors of a narrower dtype: in comparisons and
 * remainders they round to f16 and bf16 as whole tensors do, bounds of clamp may lie anywhere,
 * whole powers are exact beyond 2^53. Plain and compiled. */
#include "dync.h"
#include "test.h"
#include <math.h>

typedef dync_tensor *(*binary)(dync_value, dync_value);
static const binary ops[] = {(dync_lt), (dync_le), (dync_gt),   (dync_ge),
                             (dync_eq), (dync_ne), (dync_fmod), (dync_remainder)};
static const double numbers[] = {0.1, -0.3, 1.7, 1e-8, 1e5, 65520, 65519};

/* Argument 0: a tensor; of it, the operator and the number of this call. */
static binary op;
static double number;
static dync_dtype other; /* of the 0-dim tensor that stands for the number */

static dync_tensor *on_the_right(dync_tensor *x) { return op(DYNC_V(x), DYNC_V(number)); }
static dync_tensor *on_the_left(dync_tensor *x) { return op(DYNC_V(number), DYNC_V(x)); }
static dync_tensor *of_no_dims(dync_tensor *x)
{
    return op(DYNC_V(x), DYNC_V(dync_full(DYNC_SCALAR, number, .dtype = other)));
}

/* The number in the dtype, its neighbours, what is far away, and no number. */
static dync_tensor *around(dync_dtype dtype, int n)
{
    float at[] = {1, 1.01f, 0.99f, 0, -1, 3, 1000, INFINITY, -INFINITY, NAN};
    dync_tensor *factor = dync_from(at, dync_shape(10));
    dync_tensor *x = dync_to_dtype(dync_mul(factor, number), dtype);
    return dync_repeat(x, dync_shape(n));
}

static void expect_both(dync_tensor *(*form)(dync_tensor *), dync_tensor *x, dync_tensor *want)
{
    dync_compiled *f = dync_compile(form);
    dync_tensor *plain = form(x), *y = dync_call(f, x);
    want = dync_nan_to_num(want, 7.0, 8.0, 9.0);
    EXPECT(dync_equal(dync_nan_to_num(plain, 7.0, 8.0, 9.0), want));
    EXPECT(dync_equal(dync_nan_to_num(y, 7.0, 8.0, 9.0), want));
    dync_compiled_free(f);
}

static void expect_rounded(dync_dtype dtype, int n)
{
    dync_tensor *x = around(dtype, n);
    dync_tensor *as_wide = dync_full(dync_shape(10 * n), number);
    dync_tensor *y = dync_to_dtype(as_wide, dtype);
    dync_tensor *right = op(DYNC_V(x), DYNC_V(y)), *left = op(DYNC_V(y), DYNC_V(x));
    expect_both(on_the_right, x, right);
    expect_both(on_the_left, x, left);
    other = DYNC_F32;
    expect_both(of_no_dims, x, right);
    other = DYNC_F64;
    expect_both(of_no_dims, x, right);
}

TEST(numbers_round_where_they_are_compared)
{
    for (int half = 0; half < 2; half++)
        for (int k = 0; k < (int)(sizeof ops / sizeof *ops); k++)
            for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++) DYNC_SCOPE {
                op = ops[k];
                number = numbers[i];
                expect_rounded(half ? DYNC_F16 : DYNC_BF16, 1);
                expect_rounded(half ? DYNC_F16 : DYNC_BF16, 5);
            }
}

/* lambd rounds as well: hardshrink and softshrink of numbers and their neighbours. */
static dync_tensor *hard(dync_tensor *x) { return dync_hardshrink(x, number); }
static dync_tensor *soft(dync_tensor *x) { return dync_softshrink(x, number); }
TEST(shrinking_by_a_number_of_the_dtype)
{
    for (int half = 0; half < 2; half++)
        for (number = 0.1; number < 2; number += 0.2) DYNC_SCOPE {
            dync_dtype dtype = half ? DYNC_F16 : DYNC_BF16;
            dync_tensor *x = around(dtype, 5);
            dync_tensor *y = dync_to_dtype(dync_full(dync_shape(50), number), dtype);
            dync_tensor *inside = dync_le(dync_abs(x), y), *zero = dync_zeros_like(x);
            dync_tensor *nearer = dync_where(dync_gt(x, zero), dync_sub(x, y), dync_add(x, y));
            expect_both(hard, x, dync_where(inside, zero, x));
            expect_both(soft, x, dync_where(inside, zero, nearer));
        }
}

/* A bound that the dtype does not hold bounds nothing. */
static dync_tensor *below(dync_tensor *x) { return dync_clamp(x, DYNC_NONE, (int64_t)1 << 31); }
static dync_tensor *above(dync_tensor *x) { return dync_clamp(x, INT64_MIN, DYNC_NONE); }
static dync_tensor *between(dync_tensor *x) { return dync_clamp(x, -(int64_t)1e15, INT64_MAX); }
TEST(bounds_lie_anywhere)
{
    static const dync_dtype dtypes[] = {DYNC_I64, DYNC_I32, DYNC_I16, DYNC_I8, DYNC_U8};
    int64_t all[40];
    for (int i = 0; i < 40; i++) all[i] = i * 3;
    for (int k = 0; k < 5; k++) DYNC_SCOPE {
        dync_tensor *x = dync_from(all, dync_shape(40), .dtype = DYNC_I64);
        x = dync_to_dtype(dtypes[k] == DYNC_U8 ? x : dync_sub(x, 60), dtypes[k]);
        expect_both(below, x, x);
        expect_both(above, x, x);
        expect_both(between, x, x);
    }
}

static dync_tensor *power(dync_tensor *x) { return dync_pow(x, (int64_t)9007199254740993); }
TEST(whole_powers_beyond_f64)
{
    int64_t x[5] = {2, 3, -1, 1, 7}, want[5];
    for (int i = 0; i < 5; i++) {
        uint64_t y = 1, square = (uint64_t)x[i];
        for (uint64_t n = 9007199254740993; n; n >>= 1, square *= square)
            if (n & 1) y *= square;
        want[i] = (int64_t)y;
    }
    expect_both(power, dync_from(x, dync_shape(5), .dtype = DYNC_I64),
                dync_from(want, dync_shape(5), .dtype = DYNC_I64));
}
TEST_MAIN
