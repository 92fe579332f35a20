/* capture/dynamic.c: which sizes of the arguments are symbolic, and the guards that follow. After
 * guard.c, before trace.c.
 *
 * A size is static at first. One that differed between two captures of a function is symbolic from
 * then on, one that the user marked from the first; sizes 0 and 1 never are. Equal sizes share a
 * symbol, as in PyTorch ("duck shaping"); marked ones have one of their own. A stride that is the
 * product of another dimension's size and stride says so.
 *
 * Each trace has a table of its own (tensor/sym.h). What it learnt becomes the entry's: symbols are
 * bound from the call's sizes, then ranges and relations are checked. Published tables are never
 * written: a trace that extends the entry begins with a copy. */
#include "../dync.in.h"
#include "trace.h"

enum { DYNC__MAX_SYMBOLS = 64 };

/* ---- choosing -------------------------------------------------------------------------------- */
DYNC__RARE static uint32_t dync__seen_changes(dync__seen *seen, const dync__layout *lay)
{
    bool before = seen->known && seen->ndim == lay->ndim;
    if (!before) seen->dynamic = 0;
    for (int d = 0; d < lay->ndim; d++) {
        if (before && seen->size[d] != lay->shape[d]) seen->dynamic |= 1u << d;
        seen->size[d] = lay->shape[d];
    }
    seen->known = true;
    seen->ndim = lay->ndim;
    return seen->dynamic;
}

/* Before a fresh entry is traced: the dimensions of each tensor argument that are to be
 * symbolic. */
DYNC__RARE DYNC__FN dync_status dync__shapes_choose(dync__compiled *f, dync__cache_entry *e,
                                                    const dync__callargs *call)
{
    uint32_t any = 0, *dynamic = dync__arena_alloc(&e->arena,
                                                   (size_t)(call->n_tensors + 1) * sizeof *dynamic);
    if (!dynamic) return DYNC_ERR_MEMORY;
    dync__lock(&f->lock);
    bool room = dync__vec_reserve(&f->seen, call->n_tensors);
    for (int k = 0; k < call->n_tensors && room; k++) {
        const dync__tensor *t = call->tensor[k];
        if (k == f->seen.n) f->seen.at[f->seen.n++] = (dync__seen){.known = false};
        dynamic[k] = dync__seen_changes(&f->seen.at[k], &t->lay);
        if (f->opt.dynamic == DYNC_DYNAMIC_ON) dynamic[k] = ~0u;
        if (f->opt.dynamic == DYNC_DYNAMIC_OFF) dynamic[k] = 0;
        dynamic[k] |= t->marked_dims;
        for (int d = 0; d < 32; d++)
            if (d >= t->lay.ndim || t->lay.shape[d] < 2) dynamic[k] &= ~(1u << d);
        any |= dynamic[k];
    }
    dync__unlock(&f->lock);
    if (!room) return DYNC_ERR_MEMORY;
    e->dynamic = any ? dynamic : NULL;
    return DYNC_OK;
}

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

/* ---- one trace ------------------------------------------------------------------------------- */
/* Of a call: what each symbol is. False: not in its range. */
static bool dync__shapes_values(const dync__symtab *s, const dync__callargs *c, int64_t *value)
{
    bool fit = true;
    for (int i = 0; i < s->symbol.n; i++) {
        const dync__sz_symbol *symbol = &s->symbol.at[i];
        value[i] = c->tensor[symbol->tensor]->lay.shape[symbol->dim];
        fit = fit && value[i] >= symbol->low && value[i] <= symbol->high;
    }
    return fit;
}

static bool dync__shapes_guards(const dync__symtab *s, const int64_t *value)
{
    for (int i = 0; i < s->guard.n; i++)
        if (!dync__guard_holds(s, &s->guard.at[i], value)) return false;
    return true;
}

/* What symbols were found to be is found again where it was: the pieces before that are those of
 * the first trace, not others. */
DYNC__RARE static void dync__shapes_unknown(dync__symtab *s)
{
    for (int i = 0; i < s->symbol.n; i++) s->symbol.at[i].is = 0;
}

/* Everything that a script's call took for granted holds in this one: its table is this call's. */
DYNC__RARE DYNC__FN bool dync__shapes_again(dync__tracer *t, dync__symtab *s)
{
    int64_t value[DYNC__MAX_SYMBOLS];
    bool ok = true;
    if (!dync__shapes_values(s, t->call, value) || !dync__shapes_guards(s, value)) return false;
    for (int i = 0; i < s->expr.n; i++)
        s->expr.at[i].hint = dync__symtab_value(s, s->expr.at[i].token, value, &ok);
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
    if (!e->dynamic) return DYNC_OK;
    const dync__shapes *known = DYNC__ATOMIC_LOAD(&e->shapes);
    if (known)
        DYNC__TRY(dync__shapes_reopen(t, known->syms));
    else if (!(t->symbols.sizes = dync__symtab_new()))
        return DYNC_ERR_MEMORY;
    else
        t->symbols.sizes->salt = dync__lint_salt(t);
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
    bool grew = old->guard.n != now->guard.n;
    for (int i = 0; i < now->symbol.n && !grew; i++)
        grew = old->symbol.at[i].low != now->symbol.at[i].low ||
               old->symbol.at[i].high != now->symbol.at[i].high;
    return grew;
}

/* The trace went well: what it took for granted guards the entry from now on. */
DYNC__RARE DYNC__FN dync_status dync__shapes_publish(dync__tracer *t)
{
    dync__cache_entry *e = t->entry;
    dync__symtab *s = t->symbols.sizes;
    if (!s) return DYNC_OK;
    if (s->violated >= 0) {
        const char *source = s->symbol.at[s->violated].source;
        dync_loc at = dync__tls.at;
        dync__tls.at = s->violated_at;
        dync_status status =
            dync__fail_class(DYNC_ERR_VALUE, "ConstraintViolationError",
                             "Constraints violated (%s)! For more information, run with "
                             "DYNC_LOG=\"guards\".\n"
                             "  - Not all values of RelaxedUnspecConstraint(%s) are valid "
                             "because %s was inferred to be a constant (%lld).\n"
                             "A dimension marked with dync_mark_dynamic may not become a "
                             "number: dync_size does that, and a test that only one size "
                             "passes; dync_dim in shapes and dync_dim_lt, dync_dim_gt in "
                             "tests leave it open",
                             source, source, source, (long long)s->violated_value);
        dync__tls.at = at;
        return status;
    }
    dync__shapes *before = DYNC__ATOMIC_LOAD(&e->shapes);
    if (before && (DYNC__ATOMIC_LOAD(&e->open) || !dync__shapes_grew(before->syms, s)))
        return DYNC_OK;
    dync__shapes *now = s->failed ? NULL : dync__arena_alloc(&e->arena, sizeof *now);
    if (!now) return DYNC_ERR_MEMORY;
    now->syms = dync__symtab_retain(s);
    now->before = before;
    DYNC__ATOMIC_STORE(&e->shapes, now);
    return DYNC_OK;
}

/* The table that is left behind is what the entry's texts are in. */
DYNC__RARE DYNC__FN void dync__shapes_free(dync__cache_entry *e)
{
    for (dync__shapes *s = e->shapes; s; s = s->before) dync__symtab_free(s->syms);
    e->shapes = NULL;
}

/* A trace that begins again with plain sizes. */
DYNC__RARE DYNC__FN void dync__shapes_give_up(dync__cache_entry *e, const dync__callargs *call)
{
    for (int k = 0; e->dynamic && k < call->n_tensors; k++) {
        const dync__layout *real = &call->tensor[k]->lay;
        int64_t *dims = (int64_t *)(uintptr_t)e->tensor[k].dims;
        memcpy(dims, real->shape, (size_t)real->ndim * sizeof *dims);
        memcpy(dims + real->ndim, real->stride, (size_t)real->ndim * sizeof *dims);
    }
    e->dynamic = NULL;
}

/* ---- graphs that leave the trace ------------------------------------------------------------- */
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

/* Which of the symbols used the inputs tell. */
DYNC__RARE static void dync__shape_known(const dync__graph *g, bool *known)
{
    int64_t value[DYNC__MAX_SYMBOLS];
    const dync__symtab *s = g->syms;
    memset(known, 0, DYNC__MAX_SYMBOLS);
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
DYNC__RARE DYNC__FN dync_status dync__shapes_settle(dync__tracer *t, dync__graph *g)
{
    dync__shape_pass pass = {.t = t};
    bool known[DYNC__MAX_SYMBOLS];
    if (!t->symbols.sizes) return DYNC_OK;
    if (!dync__graph_each_size(g, dync__shape_simplify, &pass) || t->symbols.sizes->failed)
        return dync_error() != DYNC_OK ? dync_error()
               : t->symbols.sizes->failed
                   ? DYNC_ERR_MEMORY
                   : dync__fail(DYNC_ERR_VALUE,
                                "what dync_dim gives may only be passed on whole, as an "
                                "element of a shape");
    if (!pass.any) return DYNC_OK;
    if (!(g->syms = dync__symtab_copy(t->symbols.sizes, NULL))) return DYNC_ERR_MEMORY;
    dync__shape_known(g, known);
    for (int i = 0; i < t->symbols.sizes->symbol.n; i++) {
        if (!pass.uses[i] || known[i]) continue;
        dync__node *n =
            dync__tracer_input(t, g, t->env.leaf[t->symbols.sizes->symbol.at[i].tensor]);
        if (!n) return DYNC_ERR_MEMORY;
        dync__layout *lay = &n->info[0].lay;
        for (int d = 0; d < lay->ndim; d++)
            if (!dync__shape_simplify(&pass, &lay->shape[d]) ||
                !dync__shape_simplify(&pass, &lay->stride[d]))
                return DYNC_ERR_MEMORY;
        dync__shape_known(g, known);
    }
    return dync__graph_each_size(g, dync__shape_name, g) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ---- checking -------------------------------------------------------------------------------- */
static bool dync__shape_fits(const dync__symtab *s, const dync__tensor_guard *g,
                             const dync__tensor *x, const int64_t *value)
{
    bool ok = true;
    for (int i = 0; i < 2 * g->ndim && ok; i++) {
        int64_t actual = i < g->ndim ? x->lay.shape[i] : x->lay.stride[i - g->ndim];
        ok = !dync__is_token(g->dims[i]) ||
             (dync__symtab_value(s, g->dims[i], value, &ok) == actual && ok);
    }
    return ok;
}

DYNC__FN bool dync__shapes_hold(const dync__cache_entry *e, const dync__callargs *c)
{
    const dync__symtab *s = DYNC__ATOMIC_LOAD(&e->shapes)->syms;
    int64_t value[DYNC__MAX_SYMBOLS];
    if (!dync__shapes_values(s, c, value)) return false;
    for (int k = 0; k < e->n_tensors; k++)
        if (e->dynamic[k] && !dync__shape_fits(s, &e->tensor[k], c->tensor[k], value)) return false;
    return dync__shapes_guards(s, value);
}

DYNC__RARE static void dync__shape_range_text(const dync__sz_symbol *s, dync__str *out)
{
    dync__str_addf(out, "%lld <= %s", (long long)s->low, s->source);
    if (s->high != INT64_MAX) dync__str_addf(out, " <= %lld", (long long)s->high);
}

DYNC__RARE static void dync__shape_dim_text(const dync__symtab *s, const dync__tensor_guard *g,
                                            int i, dync__str *out)
{
    dync__str_addf(out, "%s.%s()[%d] == ", g->source, i < g->ndim ? "size" : "stride",
                   i < g->ndim ? i : i - g->ndim);
    dync__symtab_text(s, g->dims[i], true, out);
}

DYNC__RARE static void dync__shape_relation_text(const dync__symtab *s, const dync__sz_guard *g,
                                                 dync__str *out)
{
    static const char *const names[] = {" == ", " < ", " != ", " <= "};
    dync__symtab_text(s, g->a, true, out);
    dync__str_add(out, names[g->rel]);
    dync__symtab_text(s, g->b, true, out);
}

/* Does this size of a guarded tensor bind a symbol, so that there is nothing to compare? */
DYNC__RARE static bool dync__shape_binds(const dync__symtab *s, int k, int d, int64_t token)
{
    const dync__sz_expr *x = dync__symtab_find(s, token);
    return x && x->kind == -1 && s->symbol.at[x->symbol].tensor == k &&
           s->symbol.at[x->symbol].dim == d;
}

/* Every shape guard (c NULL, one per line), or the first that fails. */
DYNC__RARE DYNC__FN bool dync__shapes_text(const dync__cache_entry *e, const dync__callargs *c,
                                           dync__str *out)
{
    const dync__symtab *s = DYNC__ATOMIC_LOAD(&e->shapes)->syms;
    int64_t value[DYNC__MAX_SYMBOLS] = {0};
    for (int i = 0; i < s->symbol.n && c; i++)
        value[i] = c->tensor[s->symbol.at[i].tensor]->lay.shape[s->symbol.at[i].dim];
    for (int k = 0; k < e->n_tensors; k++)
        for (int i = 0; e->dynamic[k] && i < 2 * e->tensor[k].ndim; i++) {
            const dync__tensor_guard *g = &e->tensor[k];
            bool ok = true;
            if (!dync__is_token(g->dims[i]) ||
                (i < g->ndim && dync__shape_binds(s, k, i, g->dims[i])))
                continue;
            if (c && dync__symtab_value(s, g->dims[i], value, &ok) ==
                         (i < g->ndim ? c->tensor[k]->lay.shape[i]
                                      : c->tensor[k]->lay.stride[i - g->ndim]))
                continue;
            dync__shape_dim_text(s, g, i, out);
            if (c) return true;
            dync__str_add(out, "\n");
        }
    for (int i = 0; i < s->guard.n; i++) {
        if (c && dync__guard_holds(s, &s->guard.at[i], value)) continue;
        dync__shape_relation_text(s, &s->guard.at[i], out);
        if (c) return true;
        dync__str_add(out, "\n");
    }
    for (int i = 0; i < s->symbol.n; i++) {
        const dync__sz_symbol *symbol = &s->symbol.at[i];
        if (c ? value[i] >= symbol->low && value[i] <= symbol->high : symbol->is != 0) continue;
        dync__shape_range_text(symbol, out);
        if (c) return true;
        dync__str_add(out, "\n");
    }
    return false;
}

/* ---- public ---------------------------------------------------------------------------------- */
DYNC__RARE DYNC_API void dync_mark_dynamic(dync_tensor *x, int dim)
{
    dync__tensor *t = dync__open(x);
    int d;
    if (t && dync__dim_wrap(dim, t->lay.ndim, &d) == DYNC_OK && t->lay.ndim)
        t->marked_dims |= 1u << d;
}

/* The size as it is, symbolic or not; false: an error is recorded. */
static bool dync__dim_of(const dync_tensor *x, int dim, int64_t *size)
{
    const dync__tensor *t = dync__open(x);
    *size = -1;
    if (!t) return false;
    if (t->lay.ndim == 0)
        return dync__fail(DYNC_ERR_INDEX, "dimension out of range: a 0-dim tensor has none, got %d",
                          dim),
               false;
    if (dync__dim_wrap(dim, t->lay.ndim, &dim) != DYNC_OK) return false;
    *size = t->lay.shape[dim];
    return true;
}

DYNC__RARE DYNC_API int64_t dync_dim(const dync_tensor *x, int dim)
{
    int64_t size;
    (void)dync__dim_of(x, dim, &size);
    return size;
}
DYNC__RARE DYNC_API bool dync_dim_lt(const dync_tensor *x, int dim, int64_t n)
{
    int64_t size;
    return dync__dim_of(x, dim, &size) && dync__sz_lt(size, n);
}
DYNC__RARE DYNC_API bool dync_dim_eq(const dync_tensor *x, int dim, int64_t n)
{
    int64_t size;
    return dync__dim_of(x, dim, &size) && dync__sz_eq(size, n);
}
DYNC__RARE DYNC_API bool dync_dim_gt(const dync_tensor *x, int dim, int64_t n)
{
    int64_t size;
    return dync__dim_of(x, dim, &size) && dync__sz_lt(n, size);
}
