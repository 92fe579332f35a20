/* base/format.c: formatted text. No stdio and no locale. After str.c, before intern.c.
 *
 * One formatter serves the builder, fixed buffers and (measured first) arenas; it writes through
 * dync__str_sink. */
#include "../dync.in.h"
#include "base.h"
DYNC__COLD

/* Where formatted text goes: a builder, or a buffer that is cut but counted on. */
typedef struct dync__str_sink {
    dync__str *str;
    char *at;
    size_t cap, n;
} dync__str_sink;

static void dync__str_put(dync__str_sink *o, const char *text, size_t n)
{
    if (o->str) {
        dync__str_addn(o->str, text, n);
    } else if (o->n + 1 < o->cap) {
        size_t room = o->cap - 1 - o->n;
        memcpy(o->at + o->n, text, n < room ? n : room);
    }
    o->n += n;
}

static void dync__str_pad(dync__str_sink *o, char c, int n)
{
    for (; n > 0; n--) dync__str_put(o, &c, 1);
}

typedef struct dync__str_spec {
    bool left, zero, plus, blank, alternate;
    int width, precision;
    int size;
} dync__str_spec;

/* text has its sign in front; zeros go between the sign and the rest. */
static void dync__str_field(dync__str_sink *o, const dync__str_spec *f, const char *text, size_t n,
                            bool number)
{
    int pad = f->width > 0 && (size_t)f->width > n ? f->width - (int)n : 0;
    if (number && f->zero && !f->left && pad) {
        size_t sign = n && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
        dync__str_put(o, text, sign);
        dync__str_pad(o, '0', pad);
        dync__str_put(o, text + sign, n - sign);
        return;
    }
    if (!f->left) dync__str_pad(o, ' ', pad);
    dync__str_put(o, text, n);
    if (f->left) dync__str_pad(o, ' ', pad);
}

static void dync__str_integer(dync__str_sink *o, dync__str_spec *f, uint64_t x, bool negative,
                              unsigned base, bool upper)
{
    char text[96];
    size_t at = sizeof text, digits;
    const char *digit = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    int least = f->precision < 0 ? 1 : f->precision > 64 ? 64 : f->precision;
    uint64_t rest = x;
    for (digits = 0; rest || digits < (size_t)least; rest /= base, digits++)
        text[--at] = digit[rest % base];
    if (f->alternate && base == 16 && x) {
        text[--at] = upper ? 'X' : 'x';
        text[--at] = '0';
    }
    if (negative)
        text[--at] = '-';
    else if (f->plus)
        text[--at] = '+';
    else if (f->blank)
        text[--at] = ' ';
    if (f->precision >= 0) f->zero = false;
    dync__str_field(o, f, text + at, sizeof text - at, true);
}

static void dync__str_number(dync__str_sink *o, dync__str_spec *f, double x, char conversion)
{
    /* 1e308 with 100 decimals has 410 characters */
    char text[512];
    size_t sign = f->plus || f->blank;
    int precision = f->precision > 100 ? 100 : f->precision;
    int n = conversion == 'g' && precision < 0
                ? dync__double_text(x, text + sign, sizeof text - sign)
                : dync__double_format(x, conversion, precision, text + sign, sizeof text - sign);
    bool finite = text[sign + (text[sign] == '-')] <= '9';
    if (sign && text[sign] != '-') {
        text[0] = f->plus ? '+' : ' ';
        n++;
        sign = 0;
    }
    f->zero = f->zero && finite;
    dync__str_field(o, f, text + sign, (size_t)n, true);
}

/* By need. */
static void (*DYNC__BY_NEED dync__str_number_used)(dync__str_sink *, dync__str_spec *, double x,
                                                   char conversion) =
    DYNC__AT_FIRST(dync__str_number);
static void dync__str_float(dync__str_sink *o, dync__str_spec *f, double x, char conversion)
{
    if (dync__str_number_used)
        dync__str_number_used(o, f, x, conversion);
    else
        dync__str_put(o, "?", 1);
}
#if defined(DYNC_SMALL)
DYNC__FN double dync__float_shown(double x)
{
    DYNC__PUT(dync__str_number_used, dync__str_number);
    return x;
}

/* d.ddddde+xx without zeros behind; of 0.0001 to 999999 without the exponent. */
static void dync__str_number_brief(dync__str_sink *o, dync__str_spec *f, double x, char conversion)
{
    char text[24];
    int n = 0, exponent = 0, digits = 6;
    (void)conversion;
    if (x < 0) text[n++] = '-', x = -x;
    if (!(x <= DBL_MAX)) {
        memcpy(text + n, x > 0 ? "inf" : "nan", 3);
        dync__str_field(o, f, text, (size_t)n + 3, true);
        return;
    }
    for (; x >= 10; exponent++) x /= 10;
    for (; x > 0 && x < 1; exponent--) x *= 10;
    uint32_t all = (uint32_t)(x * 1e5 + 0.25);
    if (all >= 1000000) all /= 10, exponent++;
    for (; digits > 1 && all % 10 == 0; digits--) all /= 10;
    bool plain = exponent >= -4 && exponent < 6;
    int point = plain ? exponent : 0;
    for (int k = -1; plain && k >= exponent; k--) {
        text[n++] = '0';
        if (k == -1) text[n++] = '.';
    }
    uint32_t unit = 1;
    for (int k = 1; k < digits; k++) unit *= 10;
    for (int k = 0; k < digits || k <= point; k++) {
        text[n++] = (char)(k < digits ? '0' + all / unit % 10 : '0');
        unit = unit > 1 ? unit / 10 : 1;
        if (k == point && k + 1 < digits) text[n++] = '.';
    }
    if (!plain) {
        int size = exponent < 0 ? -exponent : exponent;
        text[n++] = 'e';
        text[n++] = exponent < 0 ? '-' : '+';
        if (size >= 100) text[n++] = (char)('0' + size / 100);
        text[n++] = (char)('0' + size / 10 % 10);
        text[n++] = (char)('0' + size % 10);
    }
    dync__str_field(o, f, text, (size_t)n, true);
}
DYNC__FN double dync__float_told(double x)
{
    if (!dync__str_number_used) DYNC__PUT(dync__str_number_used, dync__str_number_brief);
    return x;
}
#endif

enum {
    DYNC__STR_INT,
    DYNC__STR_LONG,
    DYNC__STR_LONG_LONG,
    DYNC__STR_SIZE,
    DYNC__STR_SHORT,
    DYNC__STR_CHAR
};

/* Reads flags, width, precision and length; the result points at the conversion letter. Numbers
 * from * are in star[]. */
static const char *dync__str_parse(const char *p, dync__str_spec *f, const int star[2])
{
    int used = 0;
    memset(f, 0, sizeof *f);
    f->precision = -1;
    for (;; p++) {
        if (*p == '-')
            f->left = true;
        else if (*p == '0')
            f->zero = true;
        else if (*p == '+')
            f->plus = true;
        else if (*p == ' ')
            f->blank = true;
        else if (*p == '#')
            f->alternate = true;
        else
            break;
    }
    if (*p == '*') {
        f->width = star[used++];
        p++;
        if (f->width < 0) {
            f->left = true;
            f->width = f->width == INT_MIN ? INT_MAX : -f->width;
        }
    }
    for (; *p >= '0' && *p <= '9'; p++)
        f->width = f->width < 100000 ? f->width * 10 + (*p - '0') : f->width;
    if (*p == '.') {
        p++;
        f->precision = 0;
        if (*p == '*') {
            f->precision = star[used] < 0 ? -1 : star[used];
            p++;
        }
        for (; *p >= '0' && *p <= '9'; p++)
            f->precision = f->precision < 100000 ? f->precision * 10 + (*p - '0') : f->precision;
    }
    for (;; p++) {
        if (*p == 'l')
            f->size = f->size == DYNC__STR_LONG ? DYNC__STR_LONG_LONG : DYNC__STR_LONG;
        else if (*p == 'z' || *p == 't')
            f->size = DYNC__STR_SIZE;
        else if (*p == 'j')
            f->size = DYNC__STR_LONG_LONG;
        else if (*p == 'h')
            f->size = f->size == DYNC__STR_SHORT ? DYNC__STR_CHAR : DYNC__STR_SHORT;
        else
            return p;
    }
}

/* How many * stand between p and the conversion letter. */
static int dync__str_stars(const char *p)
{
    int n = 0;
    for (; *p && strchr("-0+ #*.123456789", *p); p++) n += *p == '*';
    return n;
}

static void dync__str_text(dync__str_sink *o, const dync__str_spec *f, const char *text)
{
    size_t n = 0;
    if (!text) text = "(null)";
    while ((f->precision < 0 || n < (size_t)f->precision) && text[n]) n++;
    dync__str_field(o, f, text, n, false);
}

static void dync__str_format(dync__str_sink *o, const char *fmt, va_list args)
{
    while (*fmt) {
        size_t plain = strcspn(fmt, "%");
        if (plain) dync__str_put(o, fmt, plain);
        fmt += plain;
        if (!*fmt) return;
        dync__str_spec f;
        int star[2] = {0, 0}, n_stars = dync__str_stars(++fmt);
        for (int i = 0; i < n_stars && i < 2; i++) star[i] = va_arg(args, int);
        fmt = dync__str_parse(fmt, &f, star);
        if (!*fmt) return;
        char conversion = *fmt++;
        switch (conversion) {
        case 'd':
        case 'i': {
            int64_t x = f.size == DYNC__STR_LONG        ? va_arg(args, long)
                        : f.size == DYNC__STR_LONG_LONG ? va_arg(args, long long)
                        : f.size == DYNC__STR_SIZE      ? va_arg(args, ptrdiff_t)
                                                        : va_arg(args, int);
            dync__str_integer(o, &f, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, x < 0, 10, false);
            break;
        }
        case 'u':
        case 'x':
        case 'X': {
            uint64_t x = f.size == DYNC__STR_LONG        ? va_arg(args, unsigned long)
                         : f.size == DYNC__STR_LONG_LONG ? va_arg(args, unsigned long long)
                         : f.size == DYNC__STR_SIZE      ? va_arg(args, size_t)
                                                         : va_arg(args, unsigned);
            if (f.size == DYNC__STR_SHORT) x &= 0xffff;
            if (f.size == DYNC__STR_CHAR) x &= 0xff;
            f.plus = f.blank = false;
            dync__str_integer(o, &f, x, false, conversion == 'u' ? 10 : 16, conversion == 'X');
            break;
        }
        case 'p':
            f.alternate = true;
            dync__str_integer(o, &f, (uint64_t)(uintptr_t)va_arg(args, void *), false, 16, false);
            break;
        case 'c': {
            char c = (char)va_arg(args, int);
            dync__str_field(o, &f, &c, 1, false);
            break;
        }
        case 's': dync__str_text(o, &f, va_arg(args, const char *)); break;
        case 'g':
        case 'f':
        case 'e': dync__str_float(o, &f, va_arg(args, double), conversion); break;
        case '%': dync__str_put(o, "%", 1); break;
        /* unknown: shown as it stands, takes no argument */
        default: dync__str_put(o, "%", 1); dync__str_put(o, &conversion, 1);
        }
    }
}

DYNC__FN void dync__str_addv(dync__str *s, const char *fmt, va_list args)
{
    dync__str_sink o = {s, NULL, 0, 0};
    dync__str_format(&o, fmt, args);
}

DYNC__FN void dync__str_addf(dync__str *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__str_addv(s, fmt, args);
    va_end(args);
}

DYNC__FN int dync__formatv(char *out, size_t cap, const char *fmt, va_list args)
{
    dync__str_sink o = {NULL, out, cap, 0};
    dync__str_format(&o, fmt, args);
    if (cap) out[o.n < cap ? o.n : cap - 1] = 0;
    return o.n > INT_MAX ? -1 : (int)o.n;
}

DYNC__FN int dync__format(char *out, size_t cap, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = dync__formatv(out, cap, fmt, args);
    va_end(args);
    return n;
}

/* Of two question marks the second is escaped: C11 has trigraphs, one of which is a backslash. */
DYNC__FN void dync__str_quote_c(dync__str *s, const char *text)
{
    dync__str_addc(s, '"');
    for (char last = 0; *text; last = *text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || (c == '?' && last == '?'))
            dync__str_addf(s, "\\%c", c);
        else if (c < 32 || c > 126)
            dync__str_addf(s, "\\%c%c%c", '0' + (c >> 6), '0' + (c >> 3 & 7), '0' + (c & 7));
        else
            dync__str_addc(s, (char)c);
    }
    dync__str_addc(s, '"');
}
