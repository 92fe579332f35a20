/* base/num_print.c: numbers as text: the shortest digits that read back as the same number, and
 * formats of fixed digits. After num.c. */
#include "../dync.in.h"
#include "num.h"
DYNC__COLD

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
