/* graph/change_end.c: the end of a series of changes: judged, kept or undone. Before: change.c. */
#include "../dync.in.h"
#include "change.h"
DYNC__COLD

/* ---- the end --------------------------------------------------------------------------------- */
/* Each replaced value is followed by one of the same dtype, device and sizes; strides may
 * differ. */
static dync_status dync__change_kept(const dync__change *e)
{
    for (int i = 0; i < e->promise.n; i++) {
        const dync__change_promise *p = &e->promise.at[i];
        const dync__info *a = &p->info, *b = &p->with->info[0];
        if (a->dtype == b->dtype && a->device == b->device && a->lay.ndim == b->lay.ndim &&
            memcmp(a->lay.shape, b->lay.shape, (size_t)a->lay.ndim * sizeof *a->lay.shape) == 0)
            continue;
        dync__str text = {0};
        dync__text_info(&text, e->graph, a, false);
        dync__str_add(&text, ", got ");
        dync__text_info(&text, e->graph, b, false);
        dync_status status = dync__fail(DYNC_ERR_VALUE, "%s: in place of %s: expected %s of %s",
                                        e->who, p->name, dync__str_get(&text), p->with->name);
        dync__str_free(&text);
        return status;
    }
    return DYNC_OK;
}

/* Types, then promises, then the verifier. Symbols in force are the graph's copy. */
static dync_status dync__change_check(dync__change *e)
{
    dync__graph *g = e->graph;
    dync__symtab *before = dync__tls.syms;
    int guards = g->syms ? g->syms->guard.n : 0;
    uint32_t epoch = g->syms ? g->syms->epoch : 0;
    dync_status status = g->failed ? DYNC_ERR_MEMORY : DYNC_OK;
    dync__tls.syms = g->syms;
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++)
        status = dync__change_retype(e, g->node.at[i]);
    dync__tls.syms = before;
    DYNC__TRY(status);
    if (g->syms && (g->syms->guard.n != guards || g->syms->epoch != epoch))
        return dync__fail(DYNC_ERR_VALUE,
                          "%s: it would hold for some of the sizes only that the graph is for",
                          e->who);
    DYNC__TRY(dync__change_kept(e));
    return dync__graph_check(g);
}

/* Errors of the checks name the change; the verifier's are the user's fault here. */
static dync_status dync__change_judge(dync__change *e)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status = dync__change_check(e);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (status == DYNC_OK) return DYNC_OK;
    if (status == DYNC_ERR_MEMORY) return dync__fail_memory(0);
    const char *text = inner->status != DYNC_OK ? inner->message : dync__status_name(status);
    bool named = strncmp(text, e->who, strlen(e->who)) == 0;
    return dync__fail(status == DYNC_ERR_INTERNAL ? DYNC_ERR_VALUE : status, "%s%s%s%s%s",
                      named ? "" : e->who, named ? "" : ": ", e->op ? e->op : "", e->op ? ": " : "",
                      text);
}

/* Everything back: structs, order, attributes, functions, names, symbols. */
static void dync__change_undo(dync__change *e)
{
    dync__graph *g = e->graph;
    for (int i = e->was.n - 1; i >= 0; i--) *e->was.at[i].node = e->was.at[i].was;
    g->node.n = e->order.n; /* it never had less room */
    for (int i = 0; i < e->order.n; i++) g->node.at[i] = e->order.at[i];
    for (; g->attr.n > e->n_attr; g->attr.n--) dync__unref(g->attr.at[g->attr.n - 1]);
    for (; g->sub.n > e->n_sub; g->sub.n--) dync__graph_unref(g->sub.at[g->sub.n - 1]);
    dync__map names = g->names;
    g->names = e->names;
    e->names = names;
    dync__symtab *syms = g->syms;
    g->syms = e->syms;
    e->syms = syms;
    g->n_inputs = e->n_inputs;
    g->symbol.n = e->n_symbol;
    g->failed = false;
}

/* Returns status, or what the checks found; the change is over in any case. */
DYNC__FN dync_status dync__change_end(dync__change *e, dync_status status)
{
    dync__graph *g = e->graph;
    if (status == DYNC_OK) {
        dync__graph_renumber(g);
        status = dync__change_judge(e);
    } else if (status == DYNC_ERR_MEMORY) {
        status = dync__fail_memory(0);
    }
    if (status != DYNC_OK) {
        dync__change_undo(e);
    } else { /* handles of what is gone are stale */
        for (int i = 0; i < e->order.n; i++) {
            dync__node *n = e->order.at[i];
            bool gone = n->index >= g->node.n || g->node.at[n->index] != n;
            if (gone) dync__object_end(&n->object);
        }
    }
    dync__graph_renumber(g);
    DYNC__ATOMIC_STORE(&g->fixed, 0);
    dync__map_free(&e->names);
    dync__symtab_free(e->syms);
    dync__change_free(e);
    return status;
}
