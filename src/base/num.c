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
#include "base.h"
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

DYNC__FN bool dync__mul_ok(int64_t a, int64_t b, int64_t *out)
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

/* 10^1107 has 115 limbs; 2^-1076 * (2^55 - 1) has 770 digits */
enum { DYNC__NUM_LIMBS = 128, DYNC__NUM_DIGITS = 800 };
typedef struct dync__num_big {
    int n;
    uint32_t limb[DYNC__NUM_LIMBS];
} dync__num_big;

/* b = b * factor + add; base 10^9 or (base 0) 2^32. Never outgrows the limbs: see
 * DYNC__NUM_LIMBS. */
static void dync__num_mul(dync__num_big *b, uint32_t factor, uint32_t add, uint32_t base)
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

static void dync__num_mul_pow(dync__num_big *b, uint32_t root, uint32_t power_13, int exponent,
                              uint32_t base)
{
    for (; exponent >= 13 && power_13; exponent -= 13) dync__num_mul(b, power_13, 0, base);
    for (; exponent > 0; exponent--) dync__num_mul(b, root, 0, base);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* digit[0].digit[1]... * 10^exponent, as characters; n == 0 means zero. */
typedef struct dync__num_decimal {
    int n, exponent;
    char digit[DYNC__NUM_DIGITS];
} dync__num_decimal;

/* All digits of m * 2^e (m < 2^56, -1076 <= e), without leading zeros; the last one has weight
 * 10^*scale. */
static int dync__num_expand(uint64_t m, int e, char *digit, int *scale)
{
    enum { BASE = 1000000000 };
    dync__num_big b;
    b.n = 0;
    for (uint64_t rest = m; rest; rest /= BASE) b.limb[b.n++] = (uint32_t)(rest % BASE);
    *scale = 0;
    if (e >= 0) {
        dync__num_mul_pow(&b, 2, 8192, e, BASE);
    } else {
        dync__num_mul_pow(&b, 5, 1220703125u, -e, BASE); /* m * 2^e = m * 5^-e * 10^e */
        *scale = e;
    }
    int n = 0;
    for (int i = b.n - 1; i >= 0; i--) {
        char part[9];
        uint32_t limb = b.limb[i];
        for (int k = 8; k >= 0; k--, limb /= 10) part[k] = (char)('0' + limb % 10);
        for (int k = 0; k < 9; k++) {
            if (n || part[k] != '0') digit[n++] = part[k];
        }
    }
    return n;
}

/* Keeps the first `keep` digits, rounding the rest to nearest, ties to even. keep < 0 gives
 * zero. */
static void dync__num_round(dync__num_decimal *d, int keep)
{
    if (keep >= d->n) return;
    if (keep < 0) {
        d->n = 0;
        return;
    }
    bool up = d->digit[keep] > '5';
    if (d->digit[keep] == '5') {
        for (int i = keep + 1; i < d->n && !up; i++) up = d->digit[i] != '0';
        if (!up && keep > 0) up = (d->digit[keep - 1] - '0') % 2 != 0;
    }
    d->n = keep;
    if (!up) return;
    int i = keep - 1;
    while (i >= 0 && d->digit[i] == '9') d->digit[i--] = '0';
    if (i >= 0) {
        d->digit[i]++;
        return;
    }
    /* 99.. became 100..: same number of digits, one power up */
    d->digit[0] = '1';
    d->exponent++;
    if (d->n == 0) d->n = 1;
}

static void dync__num_exact(uint64_t m, int e, dync__num_decimal *d)
{
    int scale;
    d->n = dync__num_expand(m, e, d->digit, &scale);
    d->exponent = d->n - 1 + scale;
}

/* Puts the number on a grid of `width` digits, right aligned. */
static void dync__num_align(char *grid, int width, const char *digit, int n)
{
    memset(grid, '0', (size_t)(width - n));
    memcpy(grid + width - n, digit, (size_t)n);
}

/* The shortest digits that read back as m * 2^e; low_gap: the neighbour below is only half as far
 * (m is a power of two). x and the ends of its interval stand on one grid of digits; candidates are
 * x cut after p digits and that plus one unit. */
static void dync__num_shortest(uint64_t m, int e, bool low_gap, dync__num_decimal *d)
{
    char digits[DYNC__NUM_DIGITS], x[DYNC__NUM_DIGITS], lo[DYNC__NUM_DIGITS], hi[DYNC__NUM_DIGITS],
        up[DYNC__NUM_DIGITS];
    int scale, n, width;
    bool closed = m % 2 == 0; /* the ends themselves round to an even m */
    n = dync__num_expand(4 * m + 2, e - 2, digits, &scale);
    width = n + 1;
    dync__num_align(hi, width, digits, n);
    n = dync__num_expand(4 * m - (low_gap ? 1 : 2), e - 2, digits, &scale);
    dync__num_align(lo, width, digits, n);
    n = dync__num_expand(4 * m, e - 2, digits, &scale);
    dync__num_align(x, width, digits, n);
    int first = width - n;
    size_t size = (size_t)width;
    for (int p = first + 1; p <= width; p++) {
        memcpy(d->digit, x, (size_t)p); /* down: x cut */
        memset(d->digit + p, '0', (size_t)(width - p));
        memcpy(up, d->digit, size);
        int i = p - 1;
        while (up[i] == '9') up[i--] = '0'; /* stops at the zero in front */
        up[i]++;
        int low = memcmp(d->digit, lo, size), high = memcmp(up, hi, size);
        bool down_ok = low > 0 || (low == 0 && closed), up_ok = high < 0 || (high == 0 && closed);
        if (!down_ok && !up_ok) continue;
        if (down_ok && up_ok) { /* both: the nearer, or the even one */
            bool nearer_up = p < width && x[p] > '5';
            if (p < width && x[p] == '5') {
                for (int k = p + 1; k < width && !nearer_up; k++) nearer_up = x[k] != '0';
                if (!nearer_up) nearer_up = (x[p - 1] - '0') % 2 != 0;
            }
            up_ok = nearer_up;
        }
        if (up_ok) memcpy(d->digit, up, size);
        break;
    }
    int start = 0, end = width;
    while (d->digit[start] == '0') start++;
    while (d->digit[end - 1] == '0') end--;
    d->exponent = width - 1 - start + scale;
    d->n = end - start;
    memmove(d->digit, d->digit + start, (size_t)d->n);
}

/* sign, class and m * 2^e of a double. */
typedef struct dync__num_parts {
    bool negative, special, nan;
    uint64_t m;
    int e;
    bool low_gap;
} dync__num_parts;

static dync__num_parts dync__num_split(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    dync__num_parts p = {bits >> 63 != 0,          false, false, bits & ((UINT64_C(1) << 52) - 1),
                         (int)(bits >> 52 & 2047), false};
    p.special = p.e == 2047;
    p.nan = p.special && p.m != 0;
    p.low_gap = p.m == 0 && p.e > 1;
    if (p.e) p.m |= UINT64_C(1) << 52;
    p.e = (p.e ? p.e : 1) - 1075;
    return p;
}

/* A text that is cut to its buffer but counts on, as snprintf does. */
typedef struct dync__num_out {
    char *at;
    size_t cap;
    int n;
} dync__num_out;

static void dync__num_putc(dync__num_out *o, char c)
{
    if ((size_t)o->n + 1 < o->cap) o->at[o->n] = c;
    o->n++;
}

static void dync__num_puts(dync__num_out *o, const char *s)
{
    for (; *s; s++) dync__num_putc(o, *s);
}

static int dync__num_end(dync__num_out *o)
{
    if (o->cap) o->at[(size_t)o->n < o->cap ? (size_t)o->n : o->cap - 1] = 0;
    return o->n;
}

static char dync__num_digit(const dync__num_decimal *d, int i)
{
    return i >= 0 && i < d->n ? d->digit[i] : '0';
}

static void dync__num_put_fixed(dync__num_out *o, const dync__num_decimal *d, int decimals)
{
    int exponent = d->n ? d->exponent : 0;
    for (int i = 0; i <= (exponent > 0 ? exponent : 0); i++)
        dync__num_putc(o, exponent < 0 ? '0' : dync__num_digit(d, i));
    if (decimals > 0) dync__num_putc(o, '.');
    for (int i = 1; i <= decimals; i++) dync__num_putc(o, dync__num_digit(d, exponent + i));
}

static void dync__num_put_scientific(dync__num_out *o, const dync__num_decimal *d, int decimals)
{
    int exponent = d->n ? d->exponent : 0, size = exponent < 0 ? -exponent : exponent;
    dync__num_putc(o, dync__num_digit(d, 0));
    if (decimals > 0) dync__num_putc(o, '.');
    for (int i = 1; i <= decimals; i++) dync__num_putc(o, dync__num_digit(d, i));
    dync__num_putc(o, 'e');
    dync__num_putc(o, exponent < 0 ? '-' : '+');
    if (size >= 100) dync__num_putc(o, (char)('0' + size / 100));
    dync__num_putc(o, (char)('0' + size / 10 % 10));
    dync__num_putc(o, (char)('0' + size % 10));
}

static bool dync__num_put_special(dync__num_out *o, const dync__num_parts *p)
{
    if (p->negative && !p->nan) dync__num_putc(o, '-');
    if (p->special) dync__num_puts(o, p->nan ? "nan" : "inf");
    return p->special;
}

/* Shortest form: plain from 1e-4 to below 1e16, else with an exponent, as Python's repr draws the
 * line. */
static int dync__num_put_shortest(const dync__num_parts *p, char *out, size_t cap)
{
    dync__num_out o = {out, cap, 0};
    dync__num_decimal d;
    d.n = 0;
    if (dync__num_put_special(&o, p)) return dync__num_end(&o);
    if (p->m)
        dync__num_shortest(p->m, p->e, p->low_gap, &d);
    else
        d.exponent = 0;
    if (d.exponent < -4 || d.exponent >= 16)
        dync__num_put_scientific(&o, &d, d.n - 1);
    else
        dync__num_put_fixed(&o, &d, d.n - 1 - d.exponent);
    return dync__num_end(&o);
}

DYNC__FN int dync__double_text(double x, char *out, size_t cap)
{
    dync__num_parts p = dync__num_split(x);
    return dync__num_put_shortest(&p, out, cap);
}

DYNC__FN int dync__float_text(float x, char *out, size_t cap)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    dync__num_parts p = {bits >> 31 != 0,         false, false, bits & 0x7fffffu,
                         (int)(bits >> 23 & 255), false};
    p.special = p.e == 255;
    p.nan = p.special && p.m != 0;
    p.low_gap = p.m == 0 && p.e > 1;
    if (p.e) p.m |= 0x800000u;
    p.e = (p.e ? p.e : 1) - 150;
    return dync__num_put_shortest(&p, out, cap);
}

DYNC__FN int dync__double_format(double x, char conversion, int precision, char *out, size_t cap)
{
    dync__num_parts p = dync__num_split(x);
    dync__num_out o = {out, cap, 0};
    dync__num_decimal d;
    if (dync__num_put_special(&o, &p)) return dync__num_end(&o);
    d.n = d.exponent = 0;
    if (p.m) dync__num_exact(p.m, p.e, &d);
    if (precision < 0) precision = 6;
    if (conversion == 'f') {
        dync__num_round(&d, d.exponent + 1 + precision);
        dync__num_put_fixed(&o, &d, precision);
    } else if (conversion == 'e') {
        dync__num_round(&d, precision + 1);
        dync__num_put_scientific(&o, &d, precision);
    } else {
        if (precision == 0) precision = 1;
        dync__num_round(&d, precision);
        while (d.n > 1 && d.digit[d.n - 1] == '0') d.n--;
        int after = d.n ? d.n - 1 : 0;
        if (d.exponent < -4 || d.exponent >= precision)
            dync__num_put_scientific(&o, &d, after);
        else
            dync__num_put_fixed(&o, &d, after - d.exponent);
    }
    return dync__num_end(&o);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int dync__num_bits(const dync__num_big *b)
{
    return b->n ? 32 * (b->n - 1) + DYNC__BIT_LENGTH(b->limb[b->n - 1]) : 0;
}

static void dync__num_shift(dync__num_big *b, int bits)
{
    int words = bits / 32, rest = bits % 32;
    if (rest) dync__num_mul(b, 1u << rest, 0, 0);
    if (!words || !b->n) return;
    memmove(b->limb + words, b->limb, (size_t)b->n * 4);
    memset(b->limb, 0, (size_t)words * 4);
    b->n += words;
}

static int dync__num_compare(const dync__num_big *a, const dync__num_big *b)
{
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--) {
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    }
    return 0;
}

/* a -= b, a >= b */
static void dync__num_subtract(dync__num_big *a, const dync__num_big *b)
{
    int64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        borrow += (int64_t)a->limb[i] - (i < b->n ? (int64_t)b->limb[i] : 0);
        a->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->n && !a->limb[a->n - 1]) a->n--;
}

/* num / den, both positive, correctly rounded: 53 bits (fewer below 2^-1022) of quotient by long
 * division, then the rest decides. */
static uint64_t dync__num_divide(dync__num_big *num, dync__num_big *den)
{
    int k = dync__num_bits(num) - dync__num_bits(den);
    if (k > 0)
        dync__num_shift(den, k);
    else
        dync__num_shift(num, -k);
    if (dync__num_compare(num, den) < 0) {
        dync__num_mul(num, 2, 0, 0);
        k--;
    }
    /* now 1 <= num / den < 2 and the value is that times 2^k */
    if (k > 1023) return UINT64_C(2047) << 52;
    int bits = k < -1022 ? 53 - (-1022 - k) : 53;
    if (bits < 0) return 0;
    uint64_t q = 0;
    for (int i = 0; i < bits; i++) {
        q *= 2;
        if (dync__num_compare(num, den) >= 0) {
            dync__num_subtract(num, den);
            q++;
        }
        dync__num_mul(num, 2, 0, 0);
    }
    int rest = dync__num_compare(num, den); /* against half a unit */
    if (rest > 0 || (rest == 0 && q & 1)) q++;
    /* subnormal; 2^52 is the least normal number's own pattern */
    if (bits < 53) return q;
    /* the leading bit adds one to the exponent, a carry another */
    return ((uint64_t)(k + 1022) << 52) + q;
}

typedef struct dync__num_scan {
    dync__num_big digits;
    int n_digits, exponent;
    bool any, sticky;
} dync__num_scan;

/* Digits up to the first that is none; those after `point` lower the exponent. Past 780 only
 * whether one is not 0 counts. */
static const char *dync__num_scan_digits(dync__num_scan *s, const char *p, bool point)
{
    for (; *p >= '0' && *p <= '9'; p++) {
        s->any = true;
        if (s->n_digits == 0 && *p == '0') {
            s->exponent -= point && s->exponent > -100000;
        } else if (s->n_digits < 780) {
            dync__num_mul(&s->digits, 10, (uint32_t)(*p - '0'), 0);
            s->n_digits++;
            s->exponent -= point;
        } else {
            s->sticky = s->sticky || *p != '0';
            s->exponent += !point && s->exponent < 100000;
        }
    }
    return p;
}

static bool dync__num_word(const char **p, const char *word)
{
    size_t i = 0;
    for (; word[i]; i++) {
        if (((*p)[i] | 32) != word[i]) return false;
    }
    *p += i;
    return true;
}

static const char *dync__num_scan_exponent(dync__num_scan *s, const char *p)
{
    const char *q = p + 1;
    bool negative = *q == '-';
    int e = 0;
    if (*q == '-' || *q == '+') q++;
    if (*q < '0' || *q > '9') return p; /* "2em" is the number 2 and a rest */
    for (; *q >= '0' && *q <= '9'; q++) {
        if (e < 100000) e = e * 10 + (*q - '0');
    }
    s->exponent += negative ? -e : e;
    return q;
}

static uint64_t dync__num_scan_value(dync__num_scan *s)
{
    if (s->n_digits == 0 || s->exponent + s->n_digits < -326) return 0;
    if (s->exponent + s->n_digits > 310) return UINT64_C(2047) << 52;
    if (s->sticky) {
        dync__num_mul(&s->digits, 10, 1, 0);
        s->exponent--;
    }
    dync__num_big den;
    den.n = 1;
    den.limb[0] = 1;
    if (s->exponent >= 0)
        dync__num_mul_pow(&s->digits, 10, 0, s->exponent, 0);
    else
        dync__num_mul_pow(&den, 10, 0, -s->exponent, 0);
    return dync__num_divide(&s->digits, &den);
}

DYNC__FN bool dync__text_double(const char *s, const char **end, double *out)
{
    const char *p = s;
    bool negative = *p == '-';
    uint64_t bits;
    if (*p == '-' || *p == '+') p++;
    if (dync__num_word(&p, "inf")) {
        dync__num_word(&p, "inity");
        bits = UINT64_C(2047) << 52;
    } else if (dync__num_word(&p, "nan")) {
        bits = UINT64_C(4095) << 51;
    } else {
        dync__num_scan scan;
        scan.digits.n = scan.n_digits = scan.exponent = 0;
        scan.any = scan.sticky = false;
        p = dync__num_scan_digits(&scan, p, false);
        if (*p == '.') p = dync__num_scan_digits(&scan, p + 1, true);
        if (!scan.any) return false;
        if (*p == 'e' || *p == 'E') p = dync__num_scan_exponent(&scan, p);
        bits = dync__num_scan_value(&scan);
    }
    if (end)
        *end = p;
    else if (*p)
        return false;
    bits |= (uint64_t)negative << 63;
    memcpy(out, &bits, 8);
    return true;
}
