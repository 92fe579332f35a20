/* tests/ops/test_halves.c: rounding to bfloat16 of every kind of float (subnormal ones, infinities,
 * NaN, ties, overflow) against the definition by integers, alone, between operators and where one
 * vector has subnormal numbers and others. */
#include "dync.h"
#include "test.h"
#include <string.h>

enum { LOWS = 6, N = 65536 * LOWS };
static const uint32_t low[LOWS] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

/* to nearest, ties to even; NaN stays NaN, quiet */
static uint16_t rounded(uint32_t bits)
{
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static float float_of(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
static bool is_nan(uint16_t h) { return (h & 0x7fff) > 0x7f80; }

/* All upper halves of a word in an order that mixes exponents, or not. */
static dync_tensor *all_floats(bool mixed)
{
    dync_tensor *t = dync_empty(dync_shape(N));
    uint32_t *to = dync_data(t);
    for (uint32_t i = 0; i < N; i++)
        to[i] = (mixed ? i * 40503u & 0xffff : i / LOWS) << 16 | low[i % LOWS];
    return t;
}

static dync_tensor *cast(dync_tensor *x) { return dync_to_dtype(x, DYNC_BF16); }
static dync_tensor *chain(dync_tensor *h) { return dync_mul(dync_add(h, h), 0.25); }
static dync_tensor *read_twice(dync_tensor *h)
{
    dync_tensor *t = dync_mul(h, 1.0625);
    return dync_sub(dync_mul(t, 3), t);
}

static void expect_bits(dync_tensor *y, dync_tensor *x, uint16_t (*f)(const void *, int64_t))
{
    const uint16_t *got = dync_data(y);
    const void *from = dync_data(x);
    int64_t wrong = 0;
    for (int64_t i = 0; i < N; i++) {
        uint16_t want = f(from, i);
        wrong += got[i] != want && !(is_nan(got[i]) && is_nan(want));
    }
    EXPECT_EQ_INT(wrong, 0);
}
static uint16_t of_cast(const void *x, int64_t i) { return rounded(((const uint32_t *)x)[i]); }
static uint16_t of_chain(const void *x, int64_t i)
{
    float h = float_of(((const uint16_t *)x)[i]), sum = float_of(rounded(bits_of(h + h)));
    return rounded(bits_of(sum * 0.25f));
}
static uint16_t of_twice(const void *x, int64_t i)
{
    float h = float_of(((const uint16_t *)x)[i]), t = float_of(rounded(bits_of(h * 1.0625f))),
          three = float_of(rounded(bits_of(t * 3)));
    return rounded(bits_of(three - t));
}

TEST(bfloat16_of_all_floats)
{
    for (int mixed = 0; mixed < 2; mixed++) DYNC_SCOPE {
        dync_tensor *x = all_floats(mixed), *h = cast(x);
        dync_compiled *f[3] = {dync_compile(cast), dync_compile(chain), dync_compile(read_twice)};
        expect_bits(h, x, of_cast);
        expect_bits(dync_call(f[0], x), x, of_cast);
        expect_bits(chain(h), h, of_chain);
        expect_bits(dync_call(f[1], h), h, of_chain);
        expect_bits(read_twice(h), h, of_twice);
        expect_bits(dync_call(f[2], h), h, of_twice);
        for (int i = 0; i < 3; i++) dync_compiled_free(f[i]);
    }
}
TEST_MAIN
