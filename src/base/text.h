/* base/text.h: text: strings as they are built, numbers to and from it, values by name, JSON.
 * Implementations: str.c format.c intern.c num*.c option.c json.c */
#ifndef DYNC__BASE_TEXT_H
#define DYNC__BASE_TEXT_H
#include "memory.h"

/* ---- strings (str.c): a sticky builder. Own formatter (format.c): no stdio, no locale. ------- */
/* zero = empty; at is NUL-terminated or NULL */
typedef struct dync__str {
    char *at;
    size_t n, cap;
    bool failed;
} dync__str;
DYNC__FN void dync__str_add(dync__str *, const char *text);
DYNC__FN void dync__str_addn(dync__str *, const char *text, size_t n);
DYNC__FN void dync__str_addc(dync__str *, char c);
/* A float that is shown: in a small program the text of floats is linked by who shows one (make
 * links asks for it beside every %g, %f, %e). */
#if defined(DYNC_SMALL)
DYNC__FN double dync__float_shown(double x);
#else
#define dync__float_shown(x) (x)
#endif
/* One that an error tells: a small program that shows none has six of its digits, cut off. */
#if defined(DYNC_SMALL)
DYNC__FN double dync__float_told(double x);
#else
#define dync__float_told(x) (x)
#endif
/* %s %.*s %c %d %i %u %x %p %ld %lld %lu %llu %lx %llx %zu %g(shortest round trip double) %.Ng %f
 * %.Nf %e %%, width, - and 0 */
DYNC__FN void dync__str_addf(dync__str *, const char *fmt, ...) DYNC__PRINTF(2, 3);
DYNC__FN void dync__str_addv(dync__str *, const char *fmt, va_list);
/* as a C string literal, with its quotes */
DYNC__FN void dync__str_quote_c(dync__str *, const char *text);
DYNC__INLINE bool dync__is_digit(char c) { return c >= '0' && c <= '9'; }
/* of a name's first character: _, too */
DYNC__INLINE bool dync__is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
DYNC__INLINE bool dync__is_word(char c) { return dync__is_letter(c) || dync__is_digit(c); }
/* letters, digits and _, no digit first */
DYNC__FN bool dync__is_name(const char *text, size_t n);
/* "" when empty or failed */
DYNC__FN const char *dync__str_get(const dync__str *);
DYNC__FN void dync__str_free(dync__str *);
/* recursion: snprintf's contract; errors are formatted, and builders of text report errors */
DYNC__FN int dync__format(char *out, size_t cap, const char *fmt, ...) DYNC__PRINTF(3, 4);
/* recursion: likewise */
DYNC__FN int dync__formatv(char *out, size_t cap, const char *fmt, va_list);
/* one copy per text, process-wide; NULL on no memory */
DYNC__FN const char *dync__intern(const char *s);
/* dync_shutdown: every interned text is gone */
DYNC__FN void dync__intern_clear(void);

/* ---- numbers (num.c) ------------------------------------------------------------------------- */
DYNC__FN float dync__f16_to_f32(uint16_t);
DYNC__FN uint16_t dync__f32_to_f16(float); /* round to nearest even */
DYNC__INLINE float dync__bf16_to_f32(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
DYNC__FN uint16_t dync__f32_to_bf16(float);
/* false on overflow; a, b any sign */
DYNC__FN bool dync__mul_ok(int64_t a, int64_t b, int64_t *out);
DYNC__FN bool dync__add_ok(int64_t a, int64_t b, int64_t *out);
/* shortest text that reads back as x; "1", "0.5", "1e-07", "inf", "nan" */
DYNC__FN int dync__double_text(double x, char *out, size_t cap);
/* the same for a float */
DYNC__FN int dync__float_text(float x, char *out, size_t cap);
/* As printf's %f, %e or %g with this precision (-1: 6); snprintf's contract for out and cap. Exact,
 * ties to even. */
DYNC__FN int dync__double_format(double x, char conversion, int precision, char *out, size_t cap);
/* Correctly rounded, locale-free; false if s begins with no number, or if end is NULL and something
 * follows it. */
DYNC__FN bool dync__text_double(const char *s, const char **end, double *out);

/* ---- values by name (option.c) --------------------------------------------------------------- */
typedef enum {
    DYNC__OPTION_BOOL,
    DYNC__OPTION_INT,
    DYNC__OPTION_FLOAT,
    DYNC__OPTION_WORD,
    DYNC__OPTION_TEXT,
    DYNC__OPTION_PATH
} dync__option_kind;
/* a switch, or the path of a file as well */
typedef struct dync__option_path {
    int on;
    char path[512];
} dync__option_path;
typedef struct dync__option {
    const char *key;
    dync__option_kind kind;
    /* of the field: int (BOOL, INT; WORD: which), double, char[size], dync__option_path */
    size_t at, size;
    double least, most;
    /* INT: from the least on; what the name without a value means (0: it needs one) */
    int step, alone;
    const char *words, *help; /* WORD: "needed, all" */
    unsigned of;              /* whose option it is, for tables of several owners */
} dync__option;
/* value of n characters; NULL: the name stood alone. False: it is none of this kind and range, and
 * nothing was stored. */
DYNC__FN bool dync__option_store(const dync__option *, const char *value, size_t n, void *into);
/* "true or false", "a number from 0 to 3" */
DYNC__FN void dync__option_expects(const dync__option *, dync__str *);
/* "WHAT: expected ..., got 'VALUE'" */
DYNC__FN dync_status dync__option_fail(const dync__option *, const char *what,
                                       const char *value_or_null, size_t n);
/* Where `what` begins in s; NULL: nowhere. As strstr, which is 1.4 kB of some C libraries. */
DYNC__FN const char *dync__find(const char *s, const char *what);
/* The items of "key=value, key": returns where the next one begins, NULL where there is none.
 * Blanks around key and value do not count. */
typedef struct dync__option_item {
    const char *key, *value;
    int key_n;
    size_t value_n;
} dync__option_item;
DYNC__FN const char *dync__option_next(const char *text, dync__option_item *out);

/* ---- JSON (json.c): strict reader over a text, sticky writer over dync__str ------------------ */
typedef enum {
    DYNC__JSON_NULL,
    DYNC__JSON_BOOL,
    DYNC__JSON_NUM,
    DYNC__JSON_STR,
    DYNC__JSON_ARR,
    DYNC__JSON_OBJ
} dync__json_kind;
typedef struct dync__json {
    dync__json_kind kind;
    bool b;
    double num;
    int64_t i; /* exact where the text was an integer that fits */
    bool is_int;
    const char *str;         /* NUL-terminated, unescaped */
    int n;                   /* items or members */
    struct dync__json *item; /* n values */
    const char **key;        /* n keys of an object */
} dync__json;
/* NULL + DYNC_ERR_FORMAT; depth <= 64 */
DYNC__FN dync__json *dync__json_parse(dync__arena *, const char *text, size_t n);
/* NULL if absent or no object */
DYNC__FN const dync__json *dync__json_get(const dync__json *obj, const char *key);
/* with the quotes */
DYNC__FN void dync__json_quote(dync__str *, const char *text);
#endif
