/* backend/registry.c: backends by name. Process-wide; the built-in ones come from the table in backend.h. */
#include "../dync.in.h"
#include "backend.h"

static const dync_backend dync__backend_builtin[] = {
#define DYNC__X(name, tags, fn) {#name, tags, fn, NULL},
    DYNC__BACKENDS(DYNC__X)
    DYNC__MINIFIER_BACKENDS(DYNC__X)
#undef DYNC__X
};
DYNC__FN bool dync__backend_is_builtin(const char *name)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__backend_builtin); i++)
        if (strcmp(dync__backend_builtin[i].name, name) == 0) return true;
    return false;
}

typedef struct dync__backend_entry { dync_backend backend; struct dync__backend_entry *next; } dync__backend_entry;
static struct { dync__mutex lock; dync__backend_entry *first; } dync__backends;

static void dync__backends_free(void)
{
    while (dync__backends.first) {
        dync__backend_entry *e = dync__backends.first;
        dync__backends.first = e->next;
        dync__strfree((char *)(uintptr_t)e->backend.name);
        dync__strfree((char *)(uintptr_t)e->backend.tags);
        dync__free(e, sizeof *e);
    }
}

static const dync_backend *dync__backend_find(const char *name)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__backend_builtin); i++)
        if (strcmp(dync__backend_builtin[i].name, name) == 0) return &dync__backend_builtin[i];
    const dync_backend *found = NULL;
    dync__lock(&dync__backends.lock);
    for (dync__backend_entry *e = dync__backends.first; e && !found; e = e->next)
        if (strcmp(e->backend.name, name) == 0) found = &e->backend;
    dync__unlock(&dync__backends.lock);
    return found;
}

DYNC_API dync_status dync_register_backend(const dync_backend *b)
{
    if (!b || !b->name || !*b->name || !b->compile)
        return dync__fail(DYNC_ERR_VALUE, "dync_register_backend: expected a name and a compile function, got %s", b ? "none" : "NULL");
    if (dync__backend_find(b->name)) return dync__fail_class(DYNC_ERR_VALUE, "AssertionError", "duplicate name: %s", b->name);
    dync__backend_entry *e = dync__calloc(sizeof *e);
    if (!e) return DYNC_ERR_MEMORY;
    e->backend = *b;
    e->backend.name = dync__strdup(b->name);
    e->backend.tags = b->tags ? dync__strdup(b->tags) : NULL;
    if (!e->backend.name || (b->tags && !e->backend.tags)) {
        dync__strfree((char *)(uintptr_t)e->backend.name);
        dync__strfree((char *)(uintptr_t)e->backend.tags);
        dync__free(e, sizeof *e);
        return DYNC_ERR_MEMORY;
    }
    dync__at_shutdown(dync__backends_free);
    dync__lock(&dync__backends.lock);
    e->next = dync__backends.first;
    dync__backends.first = e;
    dync__unlock(&dync__backends.lock);
    return DYNC_OK;
}

/* ---- lists ---------------------------------------------------------------------------------------------------------------------- */
/* Is one of the comma-separated words of `words` among those of `list`? */
static bool dync__words_meet(const char *list, const char *words)
{
    for (const char *w = words; w && *w;) {
        size_t n = strcspn(w, ", ");
        for (const char *l = list; n && l && *l;) {
            size_t m = strcspn(l, ", ");
            if (m == n && memcmp(l, w, n) == 0) return true;
            l += m;
            l += strspn(l, ", ");
        }
        w += n;
        w += strspn(w, ", ");
    }
    return false;
}

static int dync__names_insert(const char **names, int n, int capacity, const char *name)
{
    int at = DYNC__MIN(n, capacity);
    while (at > 0 && strcmp(names[at - 1], name) > 0) {
        if (at < capacity) names[at] = names[at - 1];
        at--;
    }
    if (at < capacity) names[at] = name;
    return n + 1;
}

DYNC_API int dync_list_backends(const char *exclude_tags, const char **names, int capacity)
{
    int n = 0;
    if (!names || capacity < 0) capacity = 0;
    for (int i = 0; i < DYNC__COUNT_OF(dync__backend_builtin); i++)
        if (!dync__words_meet(exclude_tags, dync__backend_builtin[i].tags))
            n = dync__names_insert(names, n, capacity, dync__backend_builtin[i].name);
    dync__lock(&dync__backends.lock);
    for (dync__backend_entry *e = dync__backends.first; e; e = e->next)
        if (!dync__words_meet(exclude_tags, e->backend.tags)) n = dync__names_insert(names, n, capacity, e->backend.name);
    dync__unlock(&dync__backends.lock);
    return n;
}

DYNC_API const dync_backend *dync_lookup_backend(const char *name)
{
    const dync_backend *b = name ? dync__backend_find(name) : NULL;
    if (b) return b;
    const char *names[32];
    int n = DYNC__MIN(dync_list_backends(NULL, names, DYNC__COUNT_OF(names)), DYNC__COUNT_OF(names));
    dync__str s = {0};
    for (int i = 0; i < n; i++) dync__str_addf(&s, "%s%s", i ? ", " : "", names[i]);
    dync__fail_class(DYNC_ERR_VALUE, "InvalidBackend",
                     "Invalid backend: '%s', see `torch._dynamo.list_backends()` for available backends. Those are: %s",
                     name ? name : "NULL", dync__str_get(&s));
    dync__str_free(&s);
    return NULL;
}

DYNC_API dync_status dync_compile_graph(const char *backend, dync_graph *g, const dync_value *example_inputs, int n, dync_callable *out)
{
    if (!g || !out) return dync__fail(DYNC_ERR_VALUE, "dync_compile_graph: %s is NULL", g ? "the result" : "the graph");
    if (n != g->n_inputs || (n && !example_inputs))
        return dync__fail(DYNC_ERR_VALUE, "dync_compile_graph: expected %d example inputs, got %s%d", g->n_inputs, example_inputs ? "" : "NULL and ", n);
    const dync_backend *b = dync_lookup_backend(backend ? backend : "inductor");
    if (!b) return DYNC_ERR_VALUE;
    memset(out, 0, sizeof *out);
    return b->compile(g, example_inputs, n, NULL, out, b->user);
}

/* Options whose value is a number. */
static const struct { const char *key; int low, high, step; } dync__option_numbers[] = {{"opt_level", 0, 3, 1}, {"threads", 0, 1 << 20, 1}, {"winograd", 2, 4, 2}};

/* value: what follows the equals sign, up to a comma. */
static dync_status dync__option_check_number(const char *key, const char *value)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__option_numbers); i++) {
        int low = dync__option_numbers[i].low, high = dync__option_numbers[i].high, step = dync__option_numbers[i].step, n = 0, digits = 0;
        if (strcmp(key, dync__option_numbers[i].key) != 0) continue;
        for (; digits < 8 && value[digits] >= '0' && value[digits] <= '9'; digits++) n = n * 10 + value[digits] - '0';
        if (digits && strcspn(value + digits, ", ") == 0 && n >= low && n <= high && (n - low) % step == 0) continue;
        return dync__fail(DYNC_ERR_VALUE, "option '%s': expected a number from %d to %d%s, got '%.*s'", key, low, high, step == 2 ? " in steps of 2" : "",
                          (int)strcspn(value, ","), value);
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__options_check(const char *options, const char *backend, const char *keys)
{
    for (const char *p = options; p && *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, "=, ");
        char word[64];
        if (n == 0) break;
        dync__format(word, sizeof word, "%.*s", (int)DYNC__MIN(n, sizeof word - 1), p);
        if (!dync__words_meet(keys, word))
            return dync__fail(DYNC_ERR_VALUE, "backend '%s' has no option '%s'; it has: %s", backend, word, keys);
        if (p[n] == '=') DYNC__TRY(dync__option_check_number(word, p + n + 1));
        p += strcspn(p, ",");
    }
    return DYNC_OK;
}
