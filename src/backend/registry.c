/* backend/registry.c: backends by name, and their options. Process-wide; the built-in ones come
 * from the table in backend.h. Registered ones are added at the front of a list, are never removed
 * before shutdown and never move, so a found one may be used without the lock. */
#include "../dync.in.h"
#include "backend.h"
DYNC__COLD

/* A row of the table: the backend, and whose options it takes. */
typedef struct dync__backend_row {
    dync_backend backend;
    unsigned takes;
} dync__backend_row;
static const dync__backend_row dync__backend_rows[] = {
#define DYNC__X(name, tags, of, fn) {{#name, tags, fn, NULL}, of},
    DYNC__BACKENDS(DYNC__X) DYNC__MINIFIER_BACKENDS(DYNC__X)
#undef DYNC__X
};
/* What dync_compile takes where nothing is named. */
static const dync__backend_row dync__backend_usual = {
    {DYNC__TEXT("inductor"), NULL, dync__backend_inductor, NULL}, DYNC__OF_INDUCTORS};

/* The rows in use: all, but in a small program only the usual one until a backend is asked for by
 * its name. */
#if defined(DYNC_SMALL)
static const dync__backend_row *dync__backend_used = &dync__backend_usual;
static int dync__n_backends_used = 1;
static void dync__backend_use_all(void)
{
    dync__backend_options_use();
    dync__backend_used = dync__backend_rows;
    dync__n_backends_used = DYNC__COUNT_OF(dync__backend_rows);
}
#else
static const dync__backend_row *const dync__backend_used = dync__backend_rows;
enum { dync__n_backends_used = DYNC__COUNT_OF(dync__backend_rows) };
static void dync__backend_use_all(void) {}
#endif

DYNC__FN const dync_backend *dync__backend_default(void) { return &dync__backend_usual.backend; }
DYNC__FN bool dync__backend_is_builtin(const char *name)
{
    dync__backend_use_all();
    for (int i = 0; i < dync__n_backends_used; i++)
        if (strcmp(dync__backend_used[i].backend.name, name) == 0) return true;
    return false;
}

/* A registered backend; its texts are copies. */
typedef struct dync__backend_entry {
    dync_backend backend;
    struct dync__backend_entry *next;
} dync__backend_entry;
static struct {
    dync__mutex lock;
    dync__backend_entry *first;
} dync__backends;

static void dync__backend_entry_free(dync__backend_entry *e)
{
    dync__strfree((char *)(uintptr_t)e->backend.name);
    dync__strfree((char *)(uintptr_t)e->backend.tags);
    dync__free(e, sizeof *e);
}
static void dync__backends_free(void)
{
    while (dync__backends.first) {
        dync__backend_entry *e = dync__backends.first;
        dync__backends.first = e->next;
        dync__backend_entry_free(e);
    }
}
/* Under the lock. */
static const dync_backend *dync__backend_named(const char *name)
{
    for (dync__backend_entry *e = dync__backends.first; e; e = e->next)
        if (strcmp(e->backend.name, name) == 0) return &e->backend;
    return NULL;
}

/* Built-in names first: nobody can register one of those. */
static const dync_backend *dync__backend_find(const char *name)
{
    dync__raw_calls();
    dync__callable_boxes();
    dync__backend_use_all();
    for (int i = 0; i < dync__n_backends_used; i++)
        if (strcmp(dync__backend_used[i].backend.name, name) == 0)
            return &dync__backend_used[i].backend;
    dync__lock(&dync__backends.lock);
    const dync_backend *found = dync__backend_named(name);
    dync__unlock(&dync__backends.lock);
    return found;
}

DYNC_API dync_status dync_register_backend(const dync_backend *b)
{
    if (!b || !b->name || !*b->name || !b->compile)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_register_backend: expected a name and a compile function, got %s",
                          b ? "none" : "NULL");
    /* it is printed into programs, pages and commands */
    for (const char *p = b->name; *p; p++)
        if (*p < 33 || *p > 126 || strchr("\"'\\*/?<>&,;%", *p))
            return dync__fail(
                DYNC_ERR_VALUE,
                "dync_register_backend: expected a name of letters, digits and _ - . :, got '%s'",
                b->name);
    if (dync__backend_find(b->name))
        return dync__fail_class(DYNC_ERR_VALUE, "AssertionError", "duplicate name: %s", b->name);
    dync__backend_entry *e = dync__calloc(sizeof *e);
    if (!e) return DYNC_ERR_MEMORY;
    e->backend = *b;
    e->backend.name = dync__strdup(b->name);
    e->backend.tags = b->tags ? dync__strdup(b->tags) : NULL;
    if (!e->backend.name || (b->tags && !e->backend.tags)) {
        dync__backend_entry_free(e);
        return DYNC_ERR_MEMORY;
    }
    dync__at_shutdown(dync__backends_free);
    dync__lock(&dync__backends.lock);
    /* another thread may have added it meanwhile */
    bool taken = dync__backend_named(b->name) != NULL;
    if (!taken) {
        e->next = dync__backends.first;
        dync__backends.first = e;
    }
    dync__unlock(&dync__backends.lock);
    if (!taken) return DYNC_OK;
    dync__backend_entry_free(e);
    return dync__fail_class(DYNC_ERR_VALUE, "AssertionError", "duplicate name: %s", b->name);
}

/* ---- lists ----------------------------------------------------------------------------------- */
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

/* Keeps the names sorted; n counts on past the capacity, and what does not fit falls off the
 * end. */
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
    dync__backend_use_all();
    for (int i = 0; i < dync__n_backends_used; i++)
        if (!dync__words_meet(exclude_tags, dync__backend_used[i].backend.tags))
            n = dync__names_insert(names, n, capacity, dync__backend_used[i].backend.name);
    dync__lock(&dync__backends.lock);
    for (dync__backend_entry *e = dync__backends.first; e; e = e->next)
        if (!dync__words_meet(exclude_tags, e->backend.tags))
            n = dync__names_insert(names, n, capacity, e->backend.name);
    dync__unlock(&dync__backends.lock);
    return n;
}

/* How many letters must be put in, taken out or changed to make b of a; names are short.
 * Levenshtein's distance, with one row of the table kept. */
static int dync__names_apart(const char *a, const char *b)
{
    int row[64], n = (int)strlen(b);
    if (n >= DYNC__COUNT_OF(row)) return n;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            row[j] = DYNC__MIN(DYNC__MIN(row[j], row[j - 1]) + 1, change);
        }
    }
    return row[n];
}

/* Those for use, those for debugging, none of those that are there to fail; and the one that may be
 * meant. */
static void dync__backends_describe(const char *wanted, dync__str *s)
{
    const char *use[32], *all[32], *near = NULL;
    int n = DYNC__MIN(dync_list_backends(DYNC_EXCLUDE_DEFAULT, use, DYNC__COUNT_OF(use)),
                      DYNC__COUNT_OF(use)),
        least = 4;
    int m = DYNC__MIN(dync_list_backends("testing", all, DYNC__COUNT_OF(all)), DYNC__COUNT_OF(all)),
        shown = 0;
    for (int i = 0; i < m; i++) {
        int apart = wanted ? dync__names_apart(wanted, all[i]) : least;
        if (apart < least && 2 * apart < (int)strlen(wanted)) least = apart, near = all[i];
    }
    if (near) dync__str_addf(s, " Is '%s' meant?", near);
    for (int i = 0; i < n; i++) dync__str_addf(s, "%s%s", i ? ", " : " There are ", use[i]);
    for (int i = 0; i < m; i++) {
        bool known = false;
        for (int k = 0; k < n; k++) known |= strcmp(use[k], all[i]) == 0;
        if (!known) dync__str_addf(s, "%s%s", shown++ ? ", " : "; for debugging ", all[i]);
    }
    dync__str_add(s, "; or give a dync_backend of your own as .backend_object");
}

DYNC_API const dync_backend *dync_lookup_backend(const char *name)
{
    const dync_backend *b = name ? dync__backend_find(name) : NULL;
    dync__inductor_use_all();
    if (b) return b;
    dync__str s = {0};
    dync__backends_describe(name, &s);
    dync__fail_class(
        DYNC_ERR_VALUE, "InvalidBackend",
        "Invalid backend: '%s', see `torch._dynamo.list_backends()` for available backends.%s",
        name ? name : "NULL", dync__str_get(&s));
    dync__str_free(&s);
    return NULL;
}

/* The graph is fixed from now on: edits of it would not be seen by the callable. */
DYNC_API dync_status dync_compile_graph(const char *backend, dync_graph *graph,
                                        const dync_value *example_inputs, int n, dync_callable *out)
{
    dync__graph *g = dync__graph_open(graph, "dync_compile_graph");
    if (!g) return DYNC_ERR_VALUE;
    if (!out) return dync__fail(DYNC_ERR_VALUE, "dync_compile_graph: the result is NULL");
    if (n != g->n_inputs || (n && !example_inputs))
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_compile_graph: expected %d example inputs, got %s%d", g->n_inputs,
                          example_inputs ? "" : "NULL and ", n);
    const dync_backend *b = backend ? dync_lookup_backend(backend) : dync__backend_default();
    if (!b) return DYNC_ERR_VALUE;
    dync__inductor_use_all();
    dync__raw_calls();
    memset(out, 0, sizeof *out);
    DYNC__ATOMIC_STORE(&g->fixed, 1);
    return b->compile(graph, example_inputs, n, NULL, out, b->user);
}

/* ---- options --------------------------------------------------------------------------------- */
static const dync__option dync__backend_option_rows[] = {
#define DYNC__X(name, kind, least, most, step, alone, words, of, help) \
    {DYNC__TEXT(#name),                                                \
     DYNC__OPTION_##kind,                                              \
     offsetof(dync__options, name),                                    \
     sizeof((dync__options *)NULL)->name,                              \
     least,                                                            \
     most,                                                             \
     step,                                                             \
     alone,                                                            \
     words,                                                            \
     DYNC__TEXT(help),                                                 \
     of},
    DYNC__BACKEND_OPTIONS(DYNC__X)
#undef DYNC__X
};

/* Which they are, with what each takes and is for. */
static dync_status dync__options_unknown(const dync__option_item *item, const char *backend,
                                         unsigned of)
{
    dync__str names = {0}, lines = {0};
    for (int i = 0; i < DYNC__COUNT_OF(dync__backend_option_rows); i++) {
        const dync__option *row = &dync__backend_option_rows[i];
        if (!(row->of & of)) continue;
        dync__str_addf(&names, "%s%s", names.n ? ", " : "", row->key);
        dync__str_addf(&lines, "\n  %s: ", row->key);
        dync__option_expects(row, &lines);
        dync__str_addf(&lines, " (%s)", row->help);
    }
    dync_status status =
        dync__fail(DYNC_ERR_VALUE, "backend '%s' has no option '%.*s'; it has%s%s%s", backend,
                   DYNC__MIN(item->key_n, 100), item->key, names.n ? ": " : " none",
                   dync__str_get(&names), dync__str_get(&lines));
    dync__str_free(&names);
    dync__str_free(&lines);
    return status;
}

/* The row of the option's key, if it is one of those that `of` takes. */
static const dync__option *dync__options_row(const dync__option_item *item, unsigned of)
{
    size_t n = (size_t)item->key_n;
    for (int i = 0; i < DYNC__COUNT_OF(dync__backend_option_rows); i++) {
        const dync__option *o = &dync__backend_option_rows[i];
        if ((o->of & of) && strlen(o->key) == n && memcmp(o->key, item->key, n) == 0) return o;
    }
    return NULL;
}

/* Fields that the text does not name have their defaults. */
DYNC__FN dync_status dync__options_parse(const char *options, const char *backend, unsigned of,
                                         bool others, dync__options *out)
{
    dync__option_item item;
    uint64_t seen = 0;
    dync__aot_use_mincut();
    *out = (dync__options)DYNC__OPTIONS_DEFAULT;
    out->text = options ? options : "";
    for (const char *p = out->text; (p = dync__option_next(p, &item));) {
        const dync__option *row = dync__options_row(&item, of);
        if (!row && others) continue;
        if (!row) return dync__options_unknown(&item, backend, of);
        char what[128];
        dync__format(what, sizeof what, "backend '%.64s': option '%s'", backend, row->key);
        uint64_t bit = UINT64_C(1) << (row - dync__backend_option_rows);
        if (seen & bit)
            return dync__fail(DYNC_ERR_VALUE, "%s stands there twice: '%.200s'", what, out->text);
        if (!dync__option_store(row, item.value, item.value_n, out))
            return dync__option_fail(row, what, item.value, item.value_n);
        seen |= bit;
    }
    return DYNC_OK;
}

static dync_status dync__backend_options_read(dync__backend_fn compile, const char *options,
                                              dync__options *out)
{
    for (int i = 0; i < dync__n_backends_used; i++) {
        const dync__backend_row *row = &dync__backend_used[i];
        if (row->backend.compile == compile && row->takes != DYNC__OF_ANY)
            return dync__options_parse(options, row->backend.name, row->takes, false, out);
    }
    *out = (dync__options)DYNC__OPTIONS_DEFAULT;
    return DYNC_OK;
}

/* A small program reads options from the first call on that may have some. */
#if defined(DYNC_SMALL)
static dync_status (*dync__backend_options_used)(dync__backend_fn, const char *, dync__options *);
DYNC__FN void dync__backend_options_use(void)
{
    dync__backend_options_used = dync__backend_options_read;
}
#else
#define dync__backend_options_used dync__backend_options_read
DYNC__FN void dync__backend_options_use(void) {}
#endif
DYNC__FN dync_status dync__backend_options(dync__backend_fn compile, const char *options,
                                           dync__options *out)
{
#if defined(DYNC_SMALL)
    if (!dync__backend_options_used) {
        *out = (dync__options)DYNC__OPTIONS_DEFAULT;
        out->text = "";
        return DYNC_OK;
    }
#endif
    return dync__backend_options_used(compile, options, out);
}
