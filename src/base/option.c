/* base/option.c: values out of text by a table: one row a name, with its kind, the field it goes
 * to, its range and what it is for. What options of backends, settings of the library and of the
 * minifier have in common. After log.c, before process.c. */
#include "../dync.in.h"
#include "base.h"
DYNC__COLD

static const char dync__option_switch[][6] = {"0",   "1",  "false", "true",
                                              "off", "on", "False", "True"};

/* On is 1, off 0; -1: neither. */
static int dync__option_on(const char *text, size_t n)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__option_switch); i++)
        if (strlen(dync__option_switch[i]) == n && memcmp(dync__option_switch[i], text, n) == 0)
            return i % 2;
    return -1;
}

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
    bool whole = *out >= floor(*out) && *out <= floor(*out);
    return whole && (o->step <= 1 || (int64_t)(*out - o->least) % o->step == 0);
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
    bool is_switch = o->kind == DYNC__OPTION_BOOL || o->kind == DYNC__OPTION_PATH;
    int on = is_switch ? 1 : o->kind == DYNC__OPTION_INT ? o->alone : 0;
    if (on == 0) return false;
    if (o->kind == DYNC__OPTION_PATH) ((dync__option_path *)field)->path[0] = 0;
    memcpy(field, &on, sizeof on); /* a path begins with its switch */
    return true;
}

/* A switch, or a path that switches on. */
static bool dync__option_set_path(dync__option_path *p, const char *value, size_t n)
{
    int on = dync__option_on(value, n);
    if (on < 0 && n == 0) return false;
    if (!dync__option_text(p->path, sizeof p->path, value, on < 0 ? n : 0)) return false;
    p->on = on != 0;
    return true;
}

DYNC__FN bool dync__option_store(const dync__option *o, const char *value, size_t n, void *into)
{
    char *field = (char *)into + o->at;
    double x = 0;
    int i = -1;
    if (!value) return dync__option_alone(o, field);
    switch (o->kind) {
    case DYNC__OPTION_TEXT: return dync__option_text(field, o->size, value, n);
    case DYNC__OPTION_PATH:
        return dync__option_set_path((dync__option_path *)(void *)field, value, n);
    case DYNC__OPTION_FLOAT:
        if (!dync__option_number(o, value, n, &x)) return false;
        memcpy(field, &x, sizeof x);
        return true;
    case DYNC__OPTION_INT: i = dync__option_number(o, value, n, &x) ? (int)x : -1; break;
    case DYNC__OPTION_WORD: i = dync__option_word(o->words, value, n); break;
    case DYNC__OPTION_BOOL: i = dync__option_on(value, n); break;
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
    int path = (int)sizeof((dync__option_path *)NULL)->path;
    switch (o->kind) {
    case DYNC__OPTION_BOOL: dync__str_add(s, "true or false"); return;
    case DYNC__OPTION_WORD: dync__option_words(s, o->words); return;
    case DYNC__OPTION_TEXT:
        dync__str_addf(s, "a text of less than %d characters", (int)o->size);
        return;
    case DYNC__OPTION_PATH:
        dync__str_addf(s, "true, false or a path of less than %d characters", path);
        return;
    case DYNC__OPTION_INT:
    case DYNC__OPTION_FLOAT: break;
    }
    if (o->most >= 1e30)
        dync__str_addf(s, "a number of at least %.10g", dync__float_shown(o->least));
    else
        dync__str_addf(s, "a number from %.10g to %.10g", dync__float_shown(o->least),
                       dync__float_shown(o->most));
    if (o->step > 1) dync__str_addf(s, " in steps of %d", o->step);
}

DYNC__FN dync_status dync__option_fail(const dync__option *o, const char *what, const char *value,
                                       size_t n)
{
    dync__str expects = {0}, got = {0};
    dync__option_expects(o, &expects);
    if (value) dync__str_addf(&got, "'%.*s'", (int)DYNC__MIN(n, 200), value);
    dync_status status = dync__fail(DYNC_ERR_VALUE, "%s: expected %s, got %s", what,
                                    dync__str_get(&expects),
                                    value ? dync__str_get(&got) : "no value");
    dync__str_free(&expects);
    dync__str_free(&got);
    return status;
}

DYNC__FN const char *dync__option_next(const char *p, dync__option_item *out)
{
    p += strspn(p, ", ");
    size_t n = strcspn(p, ","), key = strcspn(p, "=,");
    if (n == 0) return NULL;
    const char *end = p + n, *value = p[key] == '=' ? p + key + 1 : NULL;
    const char *stop = value ? p + key : end, *last = end;
    while (stop > p && stop[-1] == ' ') stop--;
    while (value && *value == ' ') value++;
    while (value && last > value && last[-1] == ' ') last--;
    size_t value_n = value && last > value ? (size_t)(last - value) : 0;
    *out = (dync__option_item){p, value, (int)(stop - p), value_n};
    return end;
}
