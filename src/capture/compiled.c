/* capture/compiled.c: the life of compiled functions and their entries. After tree.c, before
 * miss.c.
 *
 * Entries are published by a release store at the head of a list and freed only when no call is in
 * flight. */
#include "../dync.in.h"
#include "trace.h"
DYNC__WARM

static struct {
    dync__mutex lock;
    dync__compiled *first;
    uint64_t ids;
} dync__all_compiled;

DYNC__RARE static void dync__entries_free(dync__cache_entry *e)
{
    while (e) {
        dync__cache_entry *next = e->next;
        dync__entry_free(e);
        e = next;
    }
}

DYNC__RARE static char *dync__compiled_text(const char *s) { return s ? dync__strdup(s) : NULL; }

DYNC__RARE DYNC__FN dync__compiled *dync__compiled_new(dync_callee callee, const char *name,
                                                       const dync_compile_options *opt,
                                                       const dync_backend *backend)
{
    dync__compiled *f = dync__calloc(sizeof *f);
    if (!f) return NULL;
    f->callee = callee;
    f->opt = *opt;
    f->backend = *backend;
    f->name = dync__compiled_text(opt->name     ? opt->name
                                  : callee.name ? callee.name
                                  : name        ? name
                                                : "fn");
    f->args = dync__compiled_text(opt->args ? opt->args : callee.args);
    f->options_text = dync__compiled_text(opt->options);
    f->symbolic = dync__compiled_text(opt->symbolic);
    f->backend_name = dync__compiled_text(backend->name ? backend->name : "custom");
    f->opt.options = f->options_text;
    f->backend.name = f->backend_name;
    f->callee.name = f->name;
    if (opt->user) f->callee.user = opt->user;
    f->owner = &dync__tls;
    dync__object_made(&f->object);
    if (!f->name || !f->backend_name || (opt->options && !f->options_text) ||
        (opt->symbolic && !f->symbolic) || ((opt->args || callee.args) && !f->args)) {
        dync__compiled_free(f);
        return NULL;
    }
    dync__lock(&dync__all_compiled.lock);
    f->id = ++dync__all_compiled.ids;
    f->next = dync__all_compiled.first;
    dync__all_compiled.first = f;
    dync__unlock(&dync__all_compiled.lock);
    return f;
}

/* Forgets every entry and segment of f. */
DYNC__RARE static void dync__compiled_forget(dync__compiled *f)
{
    dync__entries_free(f->entries);
    dync__entries_free(f->grave);
    f->entries = f->grave = f->last_hit = NULL;
    f->n_entries = 0;
    f->gave_up = f->warned = false;
    memset(&f->history, 0, sizeof f->history);
    f->seen.n = 0;
    while (f->segments) {
        dync__segment *next = f->segments->next;
        dync__segment_free(f->segments);
        f->segments = next;
    }
}

DYNC__RARE DYNC__FN void dync__compiled_free(dync__compiled *f)
{
    if (!f) return;
    (void)dync__waits_left();
    dync__object_end(&f->object);
    dync__lock(&dync__all_compiled.lock);
    for (dync__compiled **p = &dync__all_compiled.first; *p; p = &(*p)->next)
        if (*p == f) {
            *p = f->next;
            break;
        }
    dync__unlock(&dync__all_compiled.lock);
    dync__compiled_forget(f);
    dync__vec_free(&f->seen);
    dync__strfree(f->name);
    dync__strfree(f->args);
    dync__strfree(f->options_text);
    dync__strfree(f->symbolic);
    dync__strfree(f->backend_name);
    dync__free(f, sizeof *f);
}

/* A call of it is in flight in this thread, which uses what would be freed: an error. */
static bool dync__compiled_runs(const dync__compiled *f)
{
    return f->owner == &dync__tls && f->depth > 0;
}
DYNC__RARE static void dync__compiled_refuse(const dync__compiled *f, const char *op)
{
    dync__fail(DYNC_ERR_VALUE, "%s: called inside a call of function '%s'", op, f->name);
}

DYNC__RARE DYNC_API void(dync_compiled_free)(dync_compiled *handle)
{
    (void)dync__waits_left();
    dync__compiled *f = handle ? dync__compiled_open(handle, "dync_compiled_free") : NULL;
    if (f && dync__compiled_runs(f))
        dync__compiled_refuse(f, "dync_compiled_free");
    else
        dync__compiled_free(f);
}

DYNC__RARE DYNC__FN void dync__compiled_free_all(void)
{
    while (dync__all_compiled.first) dync__compiled_free(dync__all_compiled.first);
}

DYNC__RARE DYNC_API void dync_reset(void)
{
    const dync__compiled *runs = NULL;
    (void)dync__waits_left();
    dync__lock(&dync__all_compiled.lock);
    for (const dync__compiled *f = dync__all_compiled.first; f && !runs; f = f->next)
        if (dync__compiled_runs(f)) runs = f;
    for (dync__compiled *f = dync__all_compiled.first; f && !runs; f = f->next)
        dync__compiled_forget(f);
    dync__unlock(&dync__all_compiled.lock);
    if (runs) dync__compiled_refuse(runs, "dync_reset");
    if (runs) return;
    dync__reset_backwards();
    dync__callbacks_clear();
}

/* A module is gone: no entry may look at it again, and what was made of the module itself has
 * nothing to run. */
DYNC__RARE DYNC__FN void dync__capture_forget_module(const dync__module *m)
{
    dync__lock(&dync__all_compiled.lock);
    for (dync__compiled *f = dync__all_compiled.first; f; f = f->next) {
        dync__lock(&f->lock); /* others may call it */
        for (dync__cache_entry *e = f->entries; e; e = e->next)
            for (int i = 0; i < dync__entry_count(&e->modules); i++)
                if (dync__entry_item(&e->modules, i)->module == m)
                    DYNC__ATOMIC_STORE(&e->dead, true);
        dync__unlock(&f->lock);
    }
    dync__unlock(&dync__all_compiled.lock);
}

/* Dead entries leave the list. They are freed at once where only the thread that made f ever called
 * it and this is its only call in flight; else with f. */
DYNC__RARE DYNC__FN void dync__compiled_bury(dync__compiled *f)
{
    dync__lock(&f->lock);
    for (dync__cache_entry **p = &f->entries; *p;) {
        dync__cache_entry *e = *p;
        if (!DYNC__ATOMIC_LOAD(&e->dead)) {
            p = &e->next;
            continue;
        }
        *p = e->next;
        if (f->last_hit == e) f->last_hit = NULL;
        DYNC__ATOMIC_STORE(&f->n_entries, f->n_entries - 1);
        e->next = f->grave;
        f->grave = e;
    }
    dync__cache_entry *grave = NULL;
    if (f->owner == &dync__tls && f->depth == 1 && !DYNC__ATOMIC_LOAD(&f->shared)) {
        grave = f->grave;
        f->grave = NULL;
    }
    dync__unlock(&f->lock);
    dync__entries_free(grave);
}
