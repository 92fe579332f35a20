/* base/str.c: text: the sticky builder. Before format.c.
 *
 * A builder that ran out of memory stays failed: later additions do nothing and dync__str_get gives
 * "". */
#include "../dync.in.h"
#include "base.h"
DYNC__LEAN

static bool dync__str_reserve(dync__str *s, size_t more)
{
    if (s->failed) return false;
    if (more < s->cap - s->n) return true; /* one place stays for the NUL */
    size_t cap = s->cap ? s->cap : 64;
    while (cap - s->n <= more && cap <= SIZE_MAX / 2) cap *= 2;
    char *at = cap - s->n > more ? dync__realloc(s->at, s->cap, cap)
                                 : (dync__fail_memory(more), NULL);
    if (!at) {
        s->failed = true;
        return false;
    }
    s->at = at;
    s->cap = cap;
    return true;
}

DYNC__FN void dync__str_addn(dync__str *s, const char *text, size_t n)
{
    if (!dync__str_reserve(s, n)) return;
    if (n) memcpy(s->at + s->n, text, n);
    s->n += n;
    s->at[s->n] = 0;
}

DYNC__FN bool dync__is_name(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!dync__is_letter(text[i]) && (i == 0 || !dync__is_digit(text[i]))) return false;
    }
    return n > 0;
}

DYNC__FN void dync__str_add(dync__str *s, const char *text)
{
    dync__str_addn(s, text ? text : "(null)", text ? strlen(text) : 6);
}
DYNC__FN void dync__str_addc(dync__str *s, char c) { dync__str_addn(s, &c, 1); }
DYNC__FN const char *dync__str_get(const dync__str *s) { return s->at && !s->failed ? s->at : ""; }

DYNC__FN void dync__str_free(dync__str *s)
{
    dync__free(s->at, s->cap);
    memset(s, 0, sizeof *s);
}

DYNC__FN const char *dync__find(const char *s, const char *what)
{
    size_t n = strlen(what);
    for (; *s; s++)
        if (strncmp(s, what, n) == 0) return s;
    return n ? NULL : s;
}
