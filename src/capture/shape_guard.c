/* capture/shape_guard.c: which sizes of the arguments are symbolic, and the guards that follow.
 * After number.c, before guard.c; sizes.c has those of a trace.
 *
 * A size is static at first. One that differed between two captures of a function is symbolic from
 * then on, one that the user marked from the first; sizes 0 and 1 never are. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

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
    if (DYNC__SYM_NONE) return DYNC_OK;
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
    /* what data decide is a symbol, too */
    e->data_sizes = f->opt.capture_scalars || f->opt.capture_dynamic_shapes;
    e->dynamic = any || e->data_sizes ? dynamic : NULL;
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
        ((uint32_t *)(uintptr_t)e->dynamic)[k] = 0;
    }
    if (!e->data_sizes) e->dynamic = NULL;
}

/* ---- guards ---------------------------------------------------------------------------------- */
/* Of a call: what each symbol is. False: not in its range. */
DYNC__FN bool dync__shapes_values(const dync__symtab *s, const dync__callargs *c, int64_t *value)
{
    bool fit = true;
    for (int i = 0; i < s->symbol.n; i++) {
        const dync__sz_symbol *symbol = &s->symbol.at[i];
        value[i] = symbol->data ? 0 : c->tensor[symbol->tensor]->lay.shape[symbol->dim];
        if (symbol->data) continue; /* no argument tells it */
        fit = fit && value[i] >= symbol->low && value[i] <= symbol->high;
    }
    return fit;
}

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
    return dync__symtab_holds(s, value);
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
    static const char names[][5] = {" == ", " < ", " != ", " <= "};
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
        value[i] = s->symbol.at[i].data
                       ? s->symbol.at[i].least
                       : c->tensor[s->symbol.at[i].tensor]->lay.shape[s->symbol.at[i].dim];
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
        if (symbol->data) continue;
        if (c ? value[i] >= symbol->low && value[i] <= symbol->high : symbol->is != 0) continue;
        dync__shape_range_text(symbol, out);
        if (c) return true;
        dync__str_add(out, "\n");
    }
    return false;
}

DYNC__RARE DYNC__FN const char *dync__shapes_remedy(const dync__cache_entry *e,
                                                    const dync__callargs *c)
{
    const dync__shapes *shapes = DYNC__ATOMIC_LOAD(&e->shapes);
    int64_t value[DYNC__MAX_SYMBOLS];
    if (!shapes || !dync__shapes_values(shapes->syms, c, value)) return NULL;
    for (int i = 0; i < shapes->syms->symbol.n; i++) {
        const dync__sz_symbol *s = &shapes->syms->symbol.at[i];
        if (s->remedy && s->is && s->is != value[i]) return s->remedy;
    }
    return NULL;
}

/* ---- what the user says ---------------------------------------------------------------------- */
static void dync__mark(dync__tensor *t, int d, dync__range range)
{
    t->marked_dims |= 1u << d;
    if (!t->ranges && !range.high) return;
    if (!t->ranges) t->ranges = dync__calloc(DYNC_MAX_DIMS * sizeof *t->ranges);
    if (t->ranges) t->ranges[d] = range;
}

DYNC__FN bool dync__marks_copy(dync__tensor *to, const dync__tensor *from)
{
    static const dync__range open = {0, 0};
    for (int d = 0; d < from->lay.ndim; d++)
        if (from->marked_dims & 1u << d) dync__mark(to, d, from->ranges ? from->ranges[d] : open);
    return !from->ranges || to->ranges;
}

/* dim as an index; false: an error is recorded, or there is none. */
static bool dync__mark_of(dync_tensor *x, int dim, dync__tensor **t, int *d)
{
    if (DYNC__SYM_NONE) return (dync__left_out("dync_mark_dynamic", "DYNC_NO_SYMBOLIC"), false);
    *t = dync__open(x);
    return *t && dync__dim_wrap(dim, (*t)->lay.ndim, d) == DYNC_OK && (*t)->lay.ndim;
}

DYNC__RARE DYNC_API void dync_mark_dynamic(dync_tensor *x, int dim)
{
    dync__tensor *t;
    int d;
    if (dync__mark_of(x, dim, &t, &d)) dync__mark(t, d, (dync__range){0, 0});
}

DYNC__RARE DYNC_API void dync_mark_dynamic_range(dync_tensor *x, int dim, int64_t min, int64_t max)
{
    dync__tensor *t;
    int d;
    if (!dync__mark_of(x, dim, &t, &d)) return;
    int64_t size = t->lay.shape[d];
    if (min < 0 || max < 2 || min >= max || max > DYNC__SZ_MOST)
        dync__fail(
            DYNC_ERR_VALUE,
            "dync_mark_dynamic_range: expected 0 <= min < max, at least 2, got %lld and %lld",
            (long long)min, (long long)max);
    else if (size < min || size > max)
        dync__fail(
            DYNC_ERR_VALUE,
            "dync_mark_dynamic_range: dimension %d is %lld, which is outside of %lld to %lld", d,
            (long long)size, (long long)min, (long long)max);
    else
        dync__mark(t, d, (dync__range){min, max});
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

DYNC__RARE DYNC_API bool(dync_dim_lt)(const dync_tensor *x, int dim, int64_t n)
{
    int64_t size;
    return dync__dim_of(x, dim, &size) && dync__sz_ask(DYNC__SZ_LT, size, n);
}

DYNC__RARE DYNC_API bool(dync_dim_eq)(const dync_tensor *x, int dim, int64_t n)
{
    int64_t size;
    return dync__dim_of(x, dim, &size) && dync__sz_ask(DYNC__SZ_EQ, size, n);
}

DYNC__RARE DYNC_API bool(dync_dim_gt)(const dync_tensor *x, int dim, int64_t n)
{
    int64_t size;
    return dync__dim_of(x, dim, &size) && dync__sz_ask(DYNC__SZ_LT, n, size);
}
