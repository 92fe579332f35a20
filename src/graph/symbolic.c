/* graph/symbolic.c: graphs whose sizes are tokens (tensor/sym.h): finding every size in them, the
 * values of their symbols from actual inputs, and the graph of one set of sizes. Before split.c. */
#include "../dync.in.h"
#include "graph.h"
DYNC__LEAN

/* Sizes, strides and the offset: all may be tokens. */
static bool dync__layout_each_size(dync__layout *lay, bool (*fn)(void *, int64_t *), void *user)
{
    for (int d = 0; d < lay->ndim; d++)
        if (!fn(user, &lay->shape[d]) || !fn(user, &lay->stride[d])) return false;
    return fn(user, &lay->offset);
}

/* fn may change what it is given; else nothing is written: others may read the graph meanwhile. */
DYNC__FN bool dync__arg_each_size(dync__arg *a, bool (*fn)(void *, int64_t *), void *user)
{
    /* they stand in the graph's own arena */
    int64_t *dims = (int64_t *)(uintptr_t)a->as.dims;
    if (a->kind == DYNC__A_INT) return fn(user, &a->as.i);
    if (a->kind == DYNC__A_FLOAT) {
        int64_t bits = dync__sf_bits(a->as.f);
        bool went = !dync__is_sf(bits) || fn(user, &bits);
        if (bits != dync__sf_bits(a->as.f)) a->as.f = dync__sf_double(bits);
        return went;
    }
    for (int i = 0; a->kind == DYNC__A_DIMS && i < a->n; i++)
        if (!fn(user, &dims[i])) return false;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        if (!dync__arg_each_size(&a->as.list[i], fn, user)) return false;
    return true;
}

DYNC__FN bool dync__graph_each_size(dync__graph *g, bool (*fn)(void *user, int64_t *size),
                                    void *user)
{
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        for (int k = 0; k < n->nargs; k++)
            if (!dync__arg_each_size(&n->args[k], fn, user)) return false;
        for (int k = 0; n->has_info && k < n->nout; k++)
            if (!dync__layout_each_size(&n->info[k].lay, fn, user)) return false;
    }
    return true;
}

DYNC__FN bool dync__graph_name_size(dync__graph *g, int64_t size)
{
    bool number = dync__is_sf(size) && dync__symtab_find(g->syms, size);
    if ((!dync__is_token(size) && !number) || dync__graph_symbol_text(g, size)) return true;
    dync__str s = {0};
    dync__symtab_text(g->syms, size, false, &s);
    bool named = dync__graph_symbol(g, size, dync__str_get(&s));
    dync__str_free(&s);
    return named;
}

/* A callback: the simplest form of one size, in place. */
static bool dync__graph_settle_size(void *user, int64_t *size)
{
    dync__graph *g = user;
    if (!dync__is_token(*size) && !dync__is_sf(*size)) return true;
    *size = dync__symtab_simple(g->syms, *size);
    return dync__graph_name_size(g, *size);
}

/* Sizes of functions inside operators are of the same table. */
DYNC__FN bool dync__graph_settle_sizes(dync__graph *g, dync__symtab *t)
{
    for (int i = 0; i < g->sub.n; i++)
        if (g->sub.at[i]->syms != t && !dync__graph_settle_sizes(g->sub.at[i], t)) return false;
    dync__symtab_free(g->syms);
    g->syms = dync__symtab_retain(t);
    bool settled = dync__graph_each_size(g, dync__graph_settle_size, g) && !t->failed;
    if (g->symbol.n) return settled;
    dync__symtab_free(g->syms);
    g->syms = NULL;
    return settled;
}

/* Which symbols of the table are used, by their numbers. */
typedef struct dync__size_use {
    const dync__symtab *syms;
    bool *used;
} dync__size_use;
static bool dync__graph_size_used(void *user, int64_t *size)
{
    const dync__size_use *u = user;
    return dync__symtab_uses(u->syms, *size, u->used);
}

static bool dync__graph_sizes_used(dync__graph *g, dync__size_use *use)
{
    for (int i = 0; i < g->sub.n; i++)
        if (!dync__graph_sizes_used(g->sub.at[i], use)) return false;
    return dync__graph_each_size(g, dync__graph_size_used, use);
}

/* Solves without values: a symbol is known once a size holds no other unknown one. False: no
 * memory, too. */
static bool dync__graph_tells(dync__graph *g, bool data)
{
    int n = g->syms ? g->syms->symbol.n : 0;
    bool *used = dync__calloc(2 * (size_t)n + 1), *known = used ? used + n : NULL;
    int64_t *value = dync__calloc((size_t)(n + 1) * sizeof *value);
    dync__size_use use = {g->syms, used};
    bool told = used && value && (!n || dync__graph_sizes_used(g, &use));
    for (bool more = n > 0; more && told;) {
        more = false;
        for (int i = 0; i < g->node.n; i++) {
            const dync__node *in = g->node.at[i];
            bool tells = in->kind == DYNC__N_PLACEHOLDER ||
                         (data && dync__node_has(in, DYNC__OP_DATA_SHAPE) && in->nout);
            for (int d = 0; tells && in->has_info && d < in->info[0].lay.ndim; d++)
                if (dync__symtab_solve(g->syms, in->info[0].lay.shape[d], 0, value, known))
                    more = true;
        }
    }
    for (int i = 0; i < n && told; i++) told = known[i] || !used[i];
    dync__free(used, 2 * (size_t)n + 1);
    dync__free(value, (size_t)(n + 1) * sizeof *value);
    return told;
}

DYNC__FN bool dync__graph_tells_sizes(dync__graph *g) { return dync__graph_tells(g, false); }
DYNC__FN bool dync__graph_tells_all(dync__graph *g) { return dync__graph_tells(g, true); }

/* A size may hold several symbols: the inputs are gone through again as long as one more becomes
 * known. */
DYNC__FN void dync__graph_bind(const dync__graph *g, dync__tensor *const *in, int64_t *value,
                               bool *known)
{
    const dync__symtab *t = g->syms;
    memset(known, 0, (size_t)t->symbol.n * sizeof *known);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0, k = 0; i < g->node.n && k < g->n_inputs; i++) {
            const dync__node *n = g->node.at[i];
            if (n->kind != DYNC__N_PLACEHOLDER) continue;
            const dync__tensor *x = in[k++];
            for (int d = 0; x && n->has_info && d < n->info[0].lay.ndim && d < x->lay.ndim; d++)
                if (dync__symtab_solve(t, n->info[0].lay.shape[d], x->lay.shape[d], value, known))
                    more = true;
        }
    }
    for (int i = 0; i < t->symbol.n; i++)
        if (!known[i]) value[i] = 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */
DYNC__FN dync_status dync__node_within(const dync__graph *g, const dync__node *n,
                                       const int64_t *value)
{
    int64_t most = g->syms ? g->syms->most_elements : 0;
    bool counts = most && n->op >= 0 && n->has_info && !dync__op_is_item(n->op);
    for (int k = 0; counts && k < n->nout; k++) { /* an item is a number, of which a size tells */
        const dync__layout *lay = &n->info[k].lay;
        int64_t all = 1;
        bool ok = true;
        for (int d = 0; d < lay->ndim && ok; d++) {
            int64_t size = dync__symtab_value(g->syms, lay->shape[d], value, &ok);
            ok = ok && !dync__is_token(size); /* of a trace around */
            if (ok) all = dync__sz_times(all, size);
        }
        if (ok && all > most)
            return dync__fail(DYNC_ERR_FORMAT,
                              "%s gives %lld elements, more than the limit of %lld "
                              "(dync_set_limits)",
                              n->target, (long long)all, (long long)most);
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__graph_within(const dync__graph *g, const int64_t *value)
{
    bool limited = g->syms && g->syms->most_elements;
    for (int i = 0; limited && i < g->node.n; i++)
        DYNC__TRY(dync__node_within(g, g->node.at[i], value));
    return DYNC_OK;
}

/* ---- one set of sizes ------------------------------------------------------------------------ */
/* value[i]: the number of symbol i; at: values kept, or NULL; ok false: a size had none. */
typedef struct dync__concrete {
    const dync__symtab *syms;
    const int64_t *value;
    int64_t *at;
    bool ok;
} dync__concrete;

static bool dync__concrete_size(void *user, int64_t *size)
{
    dync__concrete *c = user;
    *size = dync__symtab_value_kept(c->syms, *size, c->value, c->at, &c->ok);
    return c->ok;
}

/* Its functions inside, each once: they are shared with the graph that it is a copy of. */
static dync_status dync__concrete_inside(dync__graph *g, const dync__concrete *c)
{
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        for (int k = 0; k < n->nargs; k++) {
            dync__graph *sub = NULL;
            if (n->args[k].kind != DYNC__A_GRAPH) continue;
            DYNC__TRY(dync__graph_concrete_in(n->args[k].as.graph, c->syms, c->value, &sub));
            bool kept = dync__graph_keep(g, sub);
            dync__graph_unref(sub);
            if (!kept) return DYNC_ERR_MEMORY;
            n->args[k].as.graph = sub;
        }
    }
    return DYNC_OK;
}

/* to: a copy of g, which loses its table of sizes. */
static dync_status dync__concrete_of(const dync__graph *g, dync__graph *to, dync__concrete *c)
{
    dync__symtab_free(to->syms);
    to->syms = NULL;
    to->symbol.n = 0;
    DYNC__TRY(dync__concrete_inside(to, c));
    if (!dync__graph_each_size(to, dync__concrete_size, c))
        return dync__fail(DYNC_ERR_INTERNAL, "graph %s: a symbolic size has no value", g->name);
    /* an element that is a number in sizes has a type as any tensor */
    for (int i = 0; i < to->node.n; i++)
        if (dync__op_is_item(to->node.at[i]->op) && to->node.at[i]->has_info)
            to->node.at[i]->sym = NULL;
    return DYNC_OK;
}

/* *out: a copy without a table of sizes, one reference; NULL on failure. */
DYNC__FN dync_status dync__graph_concrete_in(dync__graph *g, const dync__symtab *syms,
                                             const int64_t *value, dync__graph **out)
{
    size_t bytes = syms ? (size_t)syms->expr.n * sizeof(int64_t) : 0;
    dync__concrete c = {syms, value, bytes ? dync__calloc(bytes) : NULL, true};
    dync__graph *to = NULL;
    *out = NULL;
    dync_status status = bytes && !c.at ? DYNC_ERR_MEMORY : DYNC_OK;
    if (status == DYNC_OK) status = dync__graph_rewrite(g, dync__rewrite_copy, NULL, &to);
    if (status == DYNC_OK) status = dync__concrete_of(g, to, &c);
    if (c.at) dync__free(c.at, bytes);
    if (status == DYNC_OK)
        *out = to;
    else
        dync__graph_unref(to);
    return status;
}

DYNC__FN dync_status dync__graph_concrete(dync__graph *g, const int64_t *value, dync__graph **out)
{
    return dync__graph_concrete_in(g, g->syms, value, out);
}
