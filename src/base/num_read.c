/* base/num_read.c: text as numbers, rounded correctly. After num_print.c. */
#include "../dync.in.h"
#include "num.h"
DYNC__COLD

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
