/* capture/sizes.c: the symbolic sizes of a trace. After record.c, before symbol.c.
 *
 * Equal sizes share a symbol, as in PyTorch ("duck shaping"); marked ones have one of their own. A
 * stride that is the product of another dimension's size and stride says so.
 *
 * Each trace has a table of its own (tensor/sym.h). What it learnt becomes the entry's: symbols are
 * bound from the call's sizes, then ranges and relations are checked. Published tables are never
 * written: a trace that extends the entry begins with a copy. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- the table of a trace -------------------------------------------------------------------- */
DYNC__RARE static int64_t dync__shape_symbol(dync__tracer *t, int k, int d)
{
    const dync__tensor *x = t->call->tensor[k];
    bool marked = (x->marked_dims & 1u << d) != 0;
    int64_t size = x->lay.shape[d];
    dync__symtab *s = t->symbols.sizes;
    for (int i = 0; i < s->symbol.n && !marked; i++)
        if (!s->symbol.at[i].marked && dync__symtab_find(s, s->symbol.at[i].token)->hint == size)
            return s->symbol.at[i].token;
    if (s->symbol.n == DYNC__MAX_SYMBOLS) return size;
    const char *source =
        dync__arena_printf(&s->arena, "%s.size()[%d]", t->entry->tensor[k].source, d);
    int64_t token = source ? dync__symtab_symbol(s, size, source, false) : -1;
    if (token < 0) return -1;
    dync__sz_symbol *symbol = &s->symbol.at[s->symbol.n - 1];
    symbol->marked = marked;
    if (marked && x->ranges && x->ranges[d].high) {
        symbol->ranged = true;
        symbol->low = DYNC__MAX(x->ranges[d].low, 2);
        symbol->high = x->ranges[d].high;
        dync__symtab_learnt(s);
    }
    symbol->tensor = k;
    symbol->dim = d;
    return token;
}

/* Strides from the smallest on: each that is another dimension's size times its stride is written
 * so. */
DYNC__RARE static void dync__shape_strides(const dync__layout *real, dync__layout *lay)
{
    bool done[DYNC_MAX_DIMS] = {false};
    for (int n = 0; n < lay->ndim; n++) {
        int at = -1;
        for (int d = lay->ndim - 1; d >= 0; d--)
            if (!done[d] && (at < 0 || real->stride[d] < real->stride[at])) at = d;
        for (int j = 0; j < lay->ndim && real->stride[at] > 1; j++)
            if (done[j] && real->stride[j] > 0 &&
                real->stride[at] == real->shape[j] * real->stride[j]) {
                lay->stride[at] = dync__sz_mul(lay->shape[j], lay->stride[j]);
                if (dync__is_token(lay->stride[at])) break;
            }
        done[at] = true;
    }
}

static dync_status dync__shape_leaf(dync__tracer *t, int k)
{
    dync__cache_entry *e = t->entry;
    const dync__layout *real = &t->call->tensor[k]->lay;
    dync__layout *lay = &e->leaf[k];
    *lay = *real;
    for (int d = 0; d < real->ndim; d++) {
        if (!(e->dynamic[k] & 1u << d)) continue;
        lay->shape[d] = dync__shape_symbol(t, k, d);
        if (lay->shape[d] < 0) return DYNC_ERR_MEMORY;
    }
    if (e->dynamic[k]) dync__shape_strides(real, lay);
    /* in the entry's arena: the guard of this leaf */
    int64_t *dims = (int64_t *)(uintptr_t)e->tensor[k].dims;
    memcpy(dims, lay->shape, (size_t)lay->ndim * sizeof *dims);
    memcpy(dims + lay->ndim, lay->stride, (size_t)lay->ndim * sizeof *dims);
    return DYNC_OK;
}

/* What symbols were found to be is found again where it was: the pieces before that are those of
 * the first trace, not others. */
DYNC__RARE static void dync__shapes_unknown(dync__symtab *s)
{
    for (int i = 0; i < s->symbol.n; i++) s->symbol.at[i].is = 0;
    dync__symtab_learnt(s);
}

/* Everything that a script's call took for granted holds in this one: its table is this call's. */
DYNC__RARE DYNC__FN bool dync__shapes_again(dync__tracer *t, dync__symtab *s)
{
    int64_t value[DYNC__MAX_SYMBOLS];
    if (DYNC__SYM_NONE || !dync__shapes_values(s, t->call, value) || !dync__symtab_holds(s, value))
        return false;
    dync__symtab_hints(s, value);
    dync__shapes_unknown(s);
    t->symbols.sizes = dync__tls.syms = dync__symtab_retain(s);
    return true;
}

DYNC__RARE static dync_status dync__shapes_reopen(dync__tracer *t, const dync__symtab *old)
{
    int64_t value[DYNC__MAX_SYMBOLS];
    (void)dync__shapes_values(old, t->call, value);
    t->symbols.sizes = dync__symtab_copy(old, value);
    if (t->symbols.sizes) dync__shapes_unknown(t->symbols.sizes);
    return t->symbols.sizes ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The table of this trace, and the forms that its tensor arguments have in it. NULL: every size is
 * plain. */
DYNC__RARE DYNC__FN dync_status dync__shapes_open(dync__tracer *t)
{
    dync__cache_entry *e = t->entry;
    if (!dync__entry_is_dynamic(e)) return DYNC_OK;
    const dync__shapes *known = DYNC__ATOMIC_LOAD(&e->shapes);
    if (known)
        DYNC__TRY(dync__shapes_reopen(t, known->syms));
    else if (!(t->symbols.sizes = dync__symtab_new()))
        return DYNC_ERR_MEMORY;
    else
        t->symbols.sizes->salt = dync__lints() ? dync__lints()->salt(t) : 0;
    dync__tls.syms = t->symbols.sizes;
    if (known) return DYNC_OK;
    e->leaf = dync__arena_alloc(&e->arena, (size_t)(t->call->n_tensors + 1) * sizeof *e->leaf);
    if (!e->leaf) return DYNC_ERR_MEMORY;
    for (int k = 0; k < t->call->n_tensors; k++) DYNC__TRY(dync__shape_leaf(t, k));
    return t->symbols.sizes->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

DYNC__FN void dync__shapes_close(dync__tracer *t)
{
    dync__tls.syms = t->symbols.outer;
    dync__symtab_free(t->symbols.sizes);
    t->symbols.sizes = NULL;
}

DYNC__RARE static bool dync__shapes_grew(const dync__symtab *old, const dync__symtab *now)
{
    bool grew = old->guard.n != now->guard.n || old->symbol.n != now->symbol.n;
    for (int i = 0; i < now->symbol.n && !grew; i++)
        grew = old->symbol.at[i].low != now->symbol.at[i].low ||
               old->symbol.at[i].high != now->symbol.at[i].high;
    return grew;
}

/* The user's promise about a size was broken, at his line. */
DYNC__RARE static dync_status dync__shapes_violated(const dync__symtab *s)
{
    const char *source = s->symbol.at[s->violated].source;
    dync_status status;
    dync_loc at = dync__tls.at;
    dync__tls.at = s->violated_at;
    if (s->violated_by)
        status = dync__fail_class(
            DYNC_ERR_VALUE, "ConstraintViolationError",
            "Constraints violated (%s)! For more information, run with DYNC_LOG=\"guards\".\n"
            "  - Not all values of %s in the specified range %lld <= %s <= %lld satisfy the "
            "generated guard %s.\n"
            "Mark the range that the function is for (dync_mark_dynamic_range), or let it go one "
            "way for all of it",
            source, source, (long long)s->violated_range.low, source,
            (long long)s->violated_range.high, s->violated_by);
    else
        status = dync__fail_class(
            DYNC_ERR_VALUE, "ConstraintViolationError",
            "Constraints violated (%s)! For more information, run with DYNC_LOG=\"guards\".\n"
            "  - Not all values of RelaxedUnspecConstraint(%s) are valid because %s was inferred "
            "to be a constant (%lld).\n"
            "A dimension marked with dync_mark_dynamic may not become a number: dync_size does "
            "that, and a test that only one size passes; dync_dim in shapes and dync_dim_lt, "
            "dync_dim_gt in tests leave it open",
            source, source, source, (long long)s->violated_value);
    dync__tls.at = at;
    return status;
}

/* Has an entry of the function been given this advice? It names the line: once for each. */
DYNC__RARE static bool dync__remedy_told(dync__compiled *f, const char *remedy)
{
    for (dync__cache_entry *e = DYNC__ATOMIC_LOAD(&f->entries); e; e = e->next) {
        const dync__shapes *shapes = DYNC__ATOMIC_LOAD(&e->shapes);
        for (int i = 0; shapes && i < shapes->syms->symbol.n; i++) {
            const char *told = shapes->syms->symbol.at[i].remedy;
            if (told && strcmp(told, remedy) == 0) return true;
        }
    }
    return false;
}

/* The trace went well: what it took for granted guards the entry from now on. */
DYNC__RARE DYNC__FN dync_status dync__shapes_publish(dync__tracer *t)
{
    dync__cache_entry *e = t->entry;
    dync__symtab *s = t->symbols.sizes;
    if (DYNC__SYM_NONE || !s) return DYNC_OK;
    if (s->violated >= 0) return dync__shapes_violated(s);
    dync__shapes *before = DYNC__ATOMIC_LOAD(&e->shapes);
    for (int i = 0; i < s->symbol.n && dync__log_on(DYNC__LOG_recompiles); i++) {
        const char *remedy = s->symbol.at[i].remedy;
        if (remedy && !(before && before->syms->symbol.at[i].remedy) &&
            !dync__remedy_told(t->fn, remedy))
            dync__log(DYNC__LOG_recompiles, "%s: to keep it from being compiled for each size, %s",
                      t->fn->name, remedy);
    }
    if (before && (DYNC__ATOMIC_LOAD(&e->open) || !dync__shapes_grew(before->syms, s)))
        return DYNC_OK;
    dync__shapes *now = s->failed ? NULL : dync__arena_alloc(&e->arena, sizeof *now);
    if (!now || !dync__symtab_settle(s)) return DYNC_ERR_MEMORY;
    now->syms = dync__symtab_retain(s);
    now->before = before;
    DYNC__ATOMIC_STORE(&e->shapes, now);
    return DYNC_OK;
}

/* ---- in graphs ------------------------------------------------------------------------------- */
typedef struct dync__shape_pass {
    dync__tracer *t;
    bool uses[DYNC__MAX_SYMBOLS], any;
} dync__shape_pass;

DYNC__RARE static bool dync__shape_simplify(void *user, int64_t *size)
{
    dync__shape_pass *p = user;
    if (!dync__is_token(*size) &&
        !(dync__is_sf(*size) && dync__symtab_find(p->t->symbols.sizes, *size)))
        return true;
    *size = dync__symtab_simple(p->t->symbols.sizes, *size);
    p->any = p->any || dync__is_token(*size) || dync__is_sf(*size);
    return dync__symtab_uses(p->t->symbols.sizes, *size, p->uses);
}

DYNC__RARE static bool dync__shape_name(void *user, int64_t *size)
{
    return dync__graph_name_size(user, *size);
}

/* Which symbols the nodes of a graph tell. */
DYNC__RARE static void dync__data_known(const dync__symtab *s, const dync__graph *g, int64_t *value,
                                        bool *known)
{
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        for (int d = 0; dync__node_has(n, DYNC__OP_DATA_SHAPE) && n->has_info && n->nout &&
                        d < n->info[0].lay.ndim;
             d++)
            (void)dync__symtab_solve(s, n->info[0].lay.shape[d], 0, value, known);
    }
}

/* The tensor of this trace that tells a symbol; NULL: none. */
DYNC__RARE static dync__tensor *dync__data_teller(const dync__tracer *t, int symbol)
{
    for (int i = 0; i < t->symbols.data.n; i++) {
        bool uses[DYNC__MAX_SYMBOLS] = {false};
        const dync__tensor *x = t->symbols.data.at[i];
        if (x->lay.ndim && dync__symtab_uses(t->symbols.sizes, x->lay.shape[0], uses) &&
            uses[symbol])
            return t->symbols.data.at[i];
    }
    return NULL;
}

/* Which of the symbols of s the inputs tell. */
DYNC__RARE static void dync__shape_known(const dync__symtab *s, const dync__graph *g, bool *known)
{
    int64_t value[DYNC__MAX_SYMBOLS];
    memset(known, 0, DYNC__MAX_SYMBOLS);
    dync__data_known(s, g, value, known);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < g->n_inputs; i++)
            for (int d = 0; g->node.at[i]->has_info && d < g->node.at[i]->info[0].lay.ndim; d++)
                if (dync__symtab_solve(s, g->node.at[i]->info[0].lay.shape[d], 0, value, known))
                    more = true;
    }
}

/* A graph that is complete but for its output: sizes in their simplest form, their names and table,
 * and the arguments that tell them. */
DYNC__RARE static bool dync__shapes_simplify(dync__graph *g, dync__shape_pass *pass)
{
    for (int i = 0; i < g->sub.n; i++)
        if (!dync__shapes_simplify(g->sub.at[i], pass)) return false;
    return dync__graph_each_size(g, dync__shape_simplify, pass);
}

/* What no node of the graph gives is told by an input: a size as any other. */
DYNC__RARE static void dync__shape_told(dync__graph *g)
{
    int64_t value[DYNC__MAX_SYMBOLS];
    bool given[DYNC__MAX_SYMBOLS] = {false};
    dync__data_known(g->syms, g, value, given);
    for (int i = 0; i < g->syms->symbol.n; i++)
        if (!given[i]) g->syms->symbol.at[i].unbacked = false;
}

/* The place of a tensor whose size tells the symbol; -1: none. */
DYNC__RARE static int dync__shape_teller(const dync__tracer *t, int symbol)
{
    const dync__sz_symbol *s = &t->symbols.sizes->symbol.at[symbol];
    if (!s->data) return t->leaf[s->tensor];
    const dync__tensor *x = dync__data_teller(t, symbol);
    return x && !x->node ? x->node_output : -1;
}

DYNC__RARE DYNC__FN dync_status dync__shapes_settle(dync__tracer *t, dync__graph *g)
{
    dync__shape_pass pass = {.t = t};
    bool known[DYNC__MAX_SYMBOLS];
    if (DYNC__SYM_NONE || !t->symbols.sizes) return DYNC_OK;
    if (!dync__shapes_simplify(g, &pass) || t->symbols.sizes->failed)
        return dync_error() != DYNC_OK ? dync_error()
               : t->symbols.sizes->failed
                   ? DYNC_ERR_MEMORY
                   : dync__fail(DYNC_ERR_VALUE,
                                "what dync_dim gives may only be passed on whole, as an "
                                "element of a shape");
    if (!pass.any) return DYNC_OK;
    dync__shape_known(t->symbols.sizes, g, known);
    for (int i = 0; i < t->symbols.sizes->symbol.n; i++) {
        if (!pass.uses[i] || known[i]) continue;
        int env = dync__shape_teller(t, i);
        if (env < 0)
            return dync__fail(DYNC_ERR_INTERNAL, "a size that data decide did not leave its graph");
        dync__node *n = dync__tracer_input(t, g, env);
        if (!n) return DYNC_ERR_MEMORY;
        dync__layout *lay = &n->info[0].lay;
        for (int d = 0; d < lay->ndim; d++)
            if (!dync__shape_simplify(&pass, &lay->shape[d]) ||
                !dync__shape_simplify(&pass, &lay->stride[d]))
                return DYNC_ERR_MEMORY;
        dync__shape_known(t->symbols.sizes, g, known);
    }
    /* at the end: what is simplified may be a size that the table did not have before */
    if (t->symbols.sizes->failed || !(g->syms = dync__symtab_copy(t->symbols.sizes, NULL)))
        return DYNC_ERR_MEMORY;
    dync__shape_told(g);
    for (int i = 0; i < g->sub.n; i++)
        if (!dync__graph_settle_sizes(g->sub.at[i], g->syms)) return DYNC_ERR_MEMORY;
    return dync__graph_each_size(g, dync__shape_name, g) ? DYNC_OK : DYNC_ERR_MEMORY;
}
