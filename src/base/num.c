/* base/num.c: f16 and bf16, checked size arithmetic, and exact conversion between numbers and
 * decimal text.
 *
 * Conversions work on big integers, so they are exact for every value and need neither libc's
 * locale nor floating point arithmetic (compiler flags cannot change them). Printing expands the
 * value to all its decimal digits; the shortest text is the shortest decimal inside the interval
 * that rounds to the value, the nearest of those. Reading divides two big integers bit by bit.
 * Sources: Steele and White 1990 (shortest digits), Clinger 1990 (reading), IEEE 754-2019 for
 * rounding. */
#include "../dync.in.h"
#include "num.h"
DYNC__COLD

/* ---- f16 and bf16 ---------------------------------------------------------------------------- */

DYNC__FN float dync__f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 0x3ffu, bits;
    if (e == 31) {
        bits = sign | 0x7f800000u | m << 13;
    } else if (e) {
        bits = sign | (e + 112) << 23 | m << 13;
    } else if (m) {
        /* subnormal: make the leading bit implicit */
        int shift = 11 - DYNC__BIT_LENGTH(m);
        bits = sign | (uint32_t)(113 - shift) << 23 | (m << shift & 0x3ffu) << 13;
    } else {
        bits = sign;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

DYNC__FN uint16_t dync__f32_to_f16(float f)
{
    uint32_t bits, sign, m;
    memcpy(&bits, &f, 4);
    sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
    /* rounds to 65536 or more */
    if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
    /* below half of the least subnormal */
    if (bits < 0x33000000u) return (uint16_t)sign;
    int e = (int)(bits >> 23) - 112, shift = 13;
    m = bits & 0x7fffffu;
    if (e <= 0) {
        m |= 0x800000u;
        shift = 14 - e; /* at most 24 */
        e = 0;
    }
    uint32_t q = ((uint32_t)e << 10) + (m >> shift), rest = m & ((1u << shift) - 1),
             half = 1u << (shift - 1);
    /* a carry runs into the exponent, as it should */
    if (rest > half || (rest == half && q & 1)) q++;
    return (uint16_t)(sign | q);
}

DYNC__FN uint16_t dync__f32_to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* ---- checked arithmetic ---------------------------------------------------------------------- */

DYNC__OFTEN DYNC__FN bool dync__mul_ok(int64_t a, int64_t b, int64_t *out)
{
    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)
              : (b > 0 ? a < INT64_MIN / b : a != 0 && b < INT64_MAX / a))
        return false;
    *out = a * b;
    return true;
}

DYNC__FN bool dync__add_ok(int64_t a, int64_t b, int64_t *out)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
    *out = a + b;
    return true;
}

/* ---- big naturals: little-endian limbs of the given base ------------------------------------- */

/* b = b * factor + add; base 10^9 or (base 0) 2^32. Never outgrows the limbs: see
 * DYNC__NUM_LIMBS. */
DYNC__FN void dync__num_mul(dync__num_big *b, uint32_t factor, uint32_t add, uint32_t base)
{
    uint64_t carry = add;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = base ? (uint32_t)(carry % base) : (uint32_t)carry;
        carry = base ? carry / base : carry >> 32;
    }
    while (carry && b->n < DYNC__NUM_LIMBS) {
        b->limb[b->n++] = base ? (uint32_t)(carry % base) : (uint32_t)carry;
        carry = base ? carry / base : carry >> 32;
    }
}

DYNC__FN void dync__num_mul_pow(dync__num_big *b, uint32_t root, uint32_t power_13, int exponent,
                                uint32_t base)
{
    for (; exponent >= 13 && power_13; exponent -= 13) dync__num_mul(b, power_13, 0, base);
    for (; exponent > 0; exponent--) dync__num_mul(b, root, 0, base);
}
