/* base/option.c: values out of text by a table: one row a name, with its kind, the field it goes to, its range and what it is for. What
 * options of backends, settings of the library and of the minifier have in common. After log.c, before process.c. */
#include "../dync.in.h"
#include "base.h"

static const char *const dync__option_switch[] = {"0", "1", "false", "true", "off", "on", "False", "True"};

/* Which of the words "one, two" is text? -1: none. */
static int dync__option_word(const char *words, const char *text, size_t n)
{
    int i = 0;
    for (const char *w = words; *w; w += strspn(w, ", "), i++) {
        size_t k = strcspn(w, ", ");
        if (k == n && memcmp(w, text, n) == 0) return i;
        w += k;
    }
    return -1;
}

static bool dync__option_number(const dync__option *o, const char *text, size_t n, double *out)
{
    char copy[64];
    if (n == 0 || n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    if (!dync__text_double(copy, NULL, out) || !(*out >= o->least && *out <= o->most)) return false;
    if (o->kind == DYNC__OPTION_FLOAT) return true;
    return *out >= floor(*out) && *out <= floor(*out) && (o->step <= 1 || (int64_t)(*out - o->least) % o->step == 0);
}

static bool dync__option_text(char *field, size_t cap, const char *text, size_t n)
{
    if (n >= cap) return false;
    memcpy(field, text, n);
    field[n] = 0;
    return true;
}

/* The name alone: a switch is on, a number takes what its row says. */
static bool dync__option_alone(const dync__option *o, void *field)
{
    int on = o->kind == DYNC__OPTION_INT ? o->alone : 1;
    if (o->kind == DYNC__OPTION_PATH) ((dync__option_path *)field)->path[0] = 0;
    if (on < 1 || o->kind == DYNC__OPTION_FLOAT || o->kind == DYNC__OPTION_WORD || o->kind == DYNC__OPTION_TEXT) return false;
    memcpy(field, &on, sizeof on);         /* a path begins with its switch */
    return true;
}

DYNC__FN bool dync__option_store(const dync__option *o, const char *value, size_t n, void *into)
{
    char *field = (char *)into + o->at;
    double x = 0;
    int i = -1;
    if (!value) return dync__option_alone(o, field);
    for (int k = 0; k < DYNC__COUNT_OF(dync__option_switch); k++)
        if (strlen(dync__option_switch[k]) == n && memcmp(dync__option_switch[k], value, n) == 0) i = k % 2;
    switch (o->kind) {
    case DYNC__OPTION_TEXT: return dync__option_text(field, o->size, value, n);
    case DYNC__OPTION_PATH: {
        dync__option_path *p = (dync__option_path *)(void *)field;
        if (i >= 0 ? !dync__option_text(p->path, sizeof p->path, "", 0) : n == 0 || !dync__option_text(p->path, sizeof p->path, value, n)) return false;
        p->on = i != 0;
        return true;
    }
    case DYNC__OPTION_FLOAT:
        if (!dync__option_number(o, value, n, &x)) return false;
        memcpy(field, &x, sizeof x);
        return true;
    case DYNC__OPTION_INT: i = dync__option_number(o, value, n, &x) ? (int)x : -1; break;
    case DYNC__OPTION_WORD: i = dync__option_word(o->words, value, n); break;
    case DYNC__OPTION_BOOL: break;
    }
    if (i < 0) return false;
    memcpy(field, &i, sizeof i);
    return true;
}

/* "none, dynamo, aot" as "none, dynamo or aot". */
static void dync__option_words(dync__str *s, const char *words)
{
    for (const char *w = words, *next; *w; w = next) {
        size_t k = strcspn(w, ", ");
        next = w + k + strspn(w + k, ", ");
        dync__str_addn(s, w, k);
        if (*next) dync__str_add(s, next[strcspn(next, ", ")] ? ", " : " or ");
    }
}

DYNC__FN void dync__option_expects(const dync__option *o, dync__str *s)
{
    switch (o->kind) {
    case DYNC__OPTION_BOOL: dync__str_add(s, "true or false"); return;
    case DYNC__OPTION_WORD: dync__option_words(s, o->words); return;
    case DYNC__OPTION_TEXT: dync__str_addf(s, "a text of less than %d characters", (int)o->size); return;
    case DYNC__OPTION_PATH: dync__str_addf(s, "true, false or a path of less than %d characters", (int)sizeof((dync__option_path *)NULL)->path); return;
    case DYNC__OPTION_INT:
    case DYNC__OPTION_FLOAT: break;
    }
    dync__str_addf(s, o->most >= 1e30 ? "a number of at least %.10g" : "a number from %.10g to %.10g", o->least, o->most);
    if (o->step > 1) dync__str_addf(s, " in steps of %d", o->step);
}

DYNC__FN dync_status dync__option_fail(const dync__option *o, const char *what, const char *value, size_t n)
{
    dync__str expects = {0};
    dync__option_expects(o, &expects);
    dync_status status = dync__fail(DYNC_ERR_VALUE, "%s: expected %s, got %s%.*s%s", what, dync__str_get(&expects), value ? "'" : "no value",
                                    value ? (int)DYNC__MIN(n, 200) : 0, value ? value : "", value ? "'" : "");
    dync__str_free(&expects);
    return status;
}

DYNC__FN const char *dync__option_next(const char *p, dync__option_item *out)
{
    p += strspn(p, ", ");
    size_t n = strcspn(p, ","), key = strcspn(p, "=,");
    if (n == 0) return NULL;
    const char *end = p + n, *value = p[key] == '=' ? p + key + 1 : NULL, *stop = value ? p + key : end, *last = end;
    while (stop > p && stop[-1] == ' ') stop--;
    while (value && *value == ' ') value++;
    while (value && last > value && last[-1] == ' ') last--;
    *out = (dync__option_item){p, value, (int)(stop - p), value && last > value ? (size_t)(last - value) : 0};
    return end;
}
