/* base/json.c: JSON (RFC 8259): a strict reader into an arena, and quoting for writers over
 * dync__str.
 *
 * Strict: no comments, trailing commas, control characters in strings, leading zeros, or text after
 * the value; depth <= 64; \u0000 is refused, for strings are NUL-terminated. An error names the
 * line and column. */
#include "../dync.in.h"
#include "base.h"
DYNC__COLD

enum { DYNC__JSON_DEPTH = 64 };
typedef struct dync__json_reader {
    dync__arena *arena;
    const char *text, *p, *end;
    int depth;
} dync__json_reader;

static bool dync__json_fail(dync__json_reader *r, const char *what)
{
    int line = 1, column = 1;
    for (const char *q = r->text; q < r->p; q++, column++) {
        if (*q == '\n') {
            line++;
            column = 0;
        }
    }
    dync__fail(DYNC_ERR_FORMAT, "JSON, line %d, column %d: %s", line, column, what);
    return false;
}

static void dync__json_space(dync__json_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
}

static bool dync__json_next_is(dync__json_reader *r, char c)
{
    dync__json_space(r);
    if (r->p >= r->end || *r->p != c) return false;
    r->p++;
    return true;
}

static bool dync__json_word(dync__json_reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return dync__json_fail(r, "expected a value");
    r->p += n;
    return true;
}

/* ---- strings --------------------------------------------------------------------------------- */

static bool dync__json_hex4(dync__json_reader *r, uint32_t *out)
{
    uint32_t x = 0;
    if (r->end - r->p < 4) return dync__json_fail(r, "\\u needs four hexadecimal digits");
    for (int i = 0; i < 4; i++, r->p++) {
        char c = *r->p;
        int digit = c >= '0' && c <= '9'                 ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;
        if (digit < 0) return dync__json_fail(r, "\\u needs four hexadecimal digits");
        x = x << 4 | (uint32_t)digit;
    }
    *out = x;
    return true;
}

static char *dync__json_utf8(char *out, uint32_t x)
{
    if (x < 0x80) {
        *out++ = (char)x;
    } else if (x < 0x800) {
        *out++ = (char)(0xc0 | x >> 6);
        *out++ = (char)(0x80 | (x & 63));
    } else if (x < 0x10000) {
        *out++ = (char)(0xe0 | x >> 12);
        *out++ = (char)(0x80 | (x >> 6 & 63));
        *out++ = (char)(0x80 | (x & 63));
    } else {
        *out++ = (char)(0xf0 | x >> 18);
        *out++ = (char)(0x80 | (x >> 12 & 63));
        *out++ = (char)(0x80 | (x >> 6 & 63));
        *out++ = (char)(0x80 | (x & 63));
    }
    return out;
}

/* After a backslash; writes at most 4 bytes where the text had at least 6, or 1 for 2. */
static char *dync__json_escape(dync__json_reader *r, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = r->p < r->end ? *r->p : 0;
    const char *known = c ? strchr(names, c) : NULL;
    if (known) {
        r->p++;
        *out++ = values[known - names];
        return out;
    }
    uint32_t x, low;
    if (c != 'u') return dync__json_fail(r, "unknown escape"), NULL;
    r->p++;
    if (!dync__json_hex4(r, &x)) return NULL;
    if (x >= 0xd800 && x < 0xdc00) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
            return dync__json_fail(r, "half of a surrogate pair"), NULL;
        r->p += 2;
        if (!dync__json_hex4(r, &low)) return NULL;
        if (low < 0xdc00 || low > 0xdfff)
            return dync__json_fail(r, "half of a surrogate pair"), NULL;
        x = 0x10000 + ((x - 0xd800) << 10) + (low - 0xdc00);
    } else if (x >= 0xdc00 && x <= 0xdfff) {
        return dync__json_fail(r, "half of a surrogate pair"), NULL;
    }
    if (x == 0) return dync__json_fail(r, "\\u0000 is not supported"), NULL;
    return dync__json_utf8(out, x);
}

/* The reader stands on the opening quote. NULL on error. */
static const char *dync__json_string(dync__json_reader *r)
{
    const char *q = r->p + 1;
    while (q < r->end && *q != '"') q += *q == '\\' ? 2 : 1;
    if (q >= r->end) return dync__json_fail(r, "a string has no end"), NULL;
    char *text = dync__arena_alloc(r->arena, (size_t)(q - r->p)), *out = text;
    if (!text) return NULL;
    for (r->p++; *r->p != '"';) {
        unsigned char c = (unsigned char)*r->p;
        if (c < 0x20) return dync__json_fail(r, "a control character in a string"), NULL;
        r->p++;
        if (c != '\\')
            *out++ = (char)c;
        else if (!(out = dync__json_escape(r, out)))
            return NULL;
    }
    r->p++;
    return text;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const char *dync__json_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p;
}

/* Integers that fit are kept exactly; "-0" is no integer, so that its sign stays. */
static void dync__json_integer(dync__json *v, const char *p, const char *end)
{
    bool negative = *p == '-';
    int64_t x = 0;
    for (p += negative; p < end; p++) {
        if (!dync__mul_ok(x, 10, &x) || !dync__add_ok(x, negative ? -(*p - '0') : *p - '0', &x))
            return;
    }
    v->is_int = !(negative && x == 0);
    v->i = v->is_int ? x : 0;
}

static bool dync__json_number(dync__json_reader *r, dync__json *v)
{
    const char *start = r->p, *p = start + (*start == '-'), *digits = p;
    p = dync__json_digits(p, r->end);
    if (p == digits) return dync__json_fail(r, "expected a value");
    if (*digits == '0' && p - digits > 1) return dync__json_fail(r, "a number with a leading zero");
    bool whole = true;
    if (p < r->end && *p == '.') {
        digits = ++p;
        p = dync__json_digits(p, r->end);
        whole = false;
        if (p == digits) return dync__json_fail(r, "a point needs digits after it");
    }
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < r->end && (*p == '+' || *p == '-')) p++;
        digits = p;
        p = dync__json_digits(p, r->end);
        whole = false;
        if (p == digits) return dync__json_fail(r, "an exponent needs digits");
    }
    /* the text itself may end without a NUL */
    char *text = dync__arena_alloc(r->arena, (size_t)(p - start) + 1);
    if (!text) return false;
    memcpy(text, start, (size_t)(p - start));
    v->kind = DYNC__JSON_NUM;
    dync__text_double(text, NULL, &v->num);
    if (whole) dync__json_integer(v, start, p);
    r->p = p;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool dync__json_value(dync__json_reader *r, dync__json *v);

static bool dync__json_array(dync__json_reader *r, dync__json *v)
{
    DYNC__VEC(dync__json) items = {0};
    v->kind = DYNC__JSON_ARR;
    r->p++;
    if (dync__json_next_is(r, ']')) return true;
    do {
        dync__json item;
        if (!dync__json_value(r, &item) || !dync__avec_push(r->arena, &items, item)) return false;
    } while (dync__json_next_is(r, ','));
    v->n = items.n;
    v->item = items.at;
    return dync__json_next_is(r, ']') || dync__json_fail(r, "expected , or ]");
}

static bool dync__json_object(dync__json_reader *r, dync__json *v)
{
    DYNC__VEC(dync__json) items = {0};
    DYNC__VEC(const char *) keys = {0};
    v->kind = DYNC__JSON_OBJ;
    r->p++;
    if (dync__json_next_is(r, '}')) return true;
    do {
        dync__json item;
        dync__json_space(r);
        if (r->p >= r->end || *r->p != '"') return dync__json_fail(r, "expected a name in quotes");
        const char *key = dync__json_string(r);
        if (!key) return false;
        if (!dync__json_next_is(r, ':')) return dync__json_fail(r, "expected :");
        if (!dync__json_value(r, &item)) return false;
        if (!dync__avec_push(r->arena, &items, item) || !dync__avec_push(r->arena, &keys, key))
            return false;
    } while (dync__json_next_is(r, ','));
    v->n = items.n;
    v->item = items.at;
    v->key = keys.at;
    return dync__json_next_is(r, '}') || dync__json_fail(r, "expected , or }");
}

static bool dync__json_value(dync__json_reader *r, dync__json *v)
{
    memset(v, 0, sizeof *v);
    dync__json_space(r);
    if (r->p == r->end) return dync__json_fail(r, "expected a value");
    switch (*r->p) {
    case '{':
    case '[': {
        if (r->depth == DYNC__JSON_DEPTH) return dync__json_fail(r, "nested too deeply");
        r->depth++;
        bool ok = *r->p == '{' ? dync__json_object(r, v) : dync__json_array(r, v);
        r->depth--;
        return ok;
    }
    case '"':
        v->kind = DYNC__JSON_STR;
        v->str = dync__json_string(r);
        return v->str != NULL;
    case 't':
    case 'f':
        v->kind = DYNC__JSON_BOOL;
        v->b = *r->p == 't';
        return dync__json_word(r, v->b ? "true" : "false");
    case 'n': return dync__json_word(r, "null");
    default: return dync__json_number(r, v);
    }
}

DYNC__FN dync__json *dync__json_parse(dync__arena *arena, const char *text, size_t n)
{
    dync__json_reader r = {arena, text, text, text + n, 0};
    dync__json *v = dync__arena_alloc(arena, sizeof *v);
    if (!v) return NULL;
    if (!dync__json_value(&r, v)) return NULL;
    dync__json_space(&r);
    if (r.p != r.end) return dync__json_fail(&r, "text after the value"), NULL;
    return v;
}

DYNC__FN const dync__json *dync__json_get(const dync__json *obj, const char *key)
{
    if (!obj || obj->kind != DYNC__JSON_OBJ) return NULL;
    for (int i = 0; i < obj->n; i++) {
        if (strcmp(obj->key[i], key) == 0) return &obj->item[i];
    }
    return NULL;
}

DYNC__FN void dync__json_quote(dync__str *s, const char *text)
{
    dync__str_addc(s, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') dync__str_addc(s, '\\');
        if (c >= 0x20)
            dync__str_addc(s, (char)c);
        else if (c == '\n')
            dync__str_add(s, "\\n");
        else if (c == '\t')
            dync__str_add(s, "\\t");
        else
            dync__str_addf(s, "\\u%04x", c);
    }
    dync__str_addc(s, '"');
}
