/* inductor/reinplace.c: a new value of something whose old value nobody reads any more is written
 * where the old one lies, so that a row written into a cache costs a row. After parts.c, before
 * lower.c.
 *
 * A functional graph says that with operators which copy: as_strided_scatter(base, value, part),
 * scatter(base, index, source). Such a node goes to the memory of its base where
 *   - every other reader of the base, through any view, comes before it, and
 *   - that memory is the plan's own, or an input's whose new value at the end of the graph this
 *     chain of writes is (graph->over).
 * A scatter into a view of the base, put back by as_strided_scatter, is one write: the scatter
 * works in the view's place of the base.
 *
 * Idea: the reinplacing pass of TorchInductor (torch/_inductor/fx_passes/reinplace.py). */
#include "../dync.in.h"
#include "lower.h"
DYNC__COLD

/* dync__layout_span, which may be symbolic. */
DYNC__FN int64_t dync__lower_span(const dync__layout *lay)
{
    int64_t last = lay->offset;
    for (int d = 0; d < lay->ndim; d++) {
        if (lay->shape[d] == 0) return 0;
        last = dync__sz_add(last, dync__sz_mul(dync__sz_sub(lay->shape[d], 1), lay->stride[d]));
    }
    return dync__sz_add(last, 1);
}

DYNC__FN const dync__node *dync__lower_viewed(const dync__node *n)
{
    bool view = n->op >= 0 && dync__op_info(n->op)->cls == DYNC__VIEW;
    return view && n->args[0].kind == DYNC__A_NODE ? n->args[0].as.node : NULL;
}

/* by node; last two: the positions of the last readers of a root's memory, different ones */
typedef struct dync__reinplace {
    dync__lowerer *w;
    int *root;         /* where its chain of views begins */
    int *last, *last2; /* of roots; -1: none */
    int *results;      /* of roots: how many results of the graph lie on them */
    bool *over;        /* writes that lead to the new value of an input */
    bool *ends;        /* those that are it */
} dync__reinplace;

static dync__node *dync__reinplace_node(const dync__arg *a)
{
    return a->kind == DYNC__A_NODE ? a->as.node : NULL;
}

/* Equal but for the place where they begin. */
static bool dync__reinplace_same_steps(const dync__layout *a, const dync__layout *b)
{
    return a->ndim == b->ndim && dync__sz_same(a->ndim, a->shape, b->shape) &&
           dync__sz_same(a->ndim, a->stride, b->stride);
}
static bool dync__reinplace_same_form(const dync__info *a, const dync__info *b)
{
    return a->dtype == b->dtype && a->device == b->device &&
           dync__reinplace_same_steps(&a->lay, &b->lay);
}

/* The node whose memory a write may take over: its base, of the same form. NULL: n is no write. */
static dync__node *dync__reinplace_base(const dync__reinplace *r, const dync__node *n)
{
    const dync__lowerer *w = r->w;
    bool scatters = dync__node_has(n, DYNC__OP_SCATTERS);
    if (!scatters && (n->op < 0 || n->op != DYNC__OP_as_strided_scatter)) return NULL;
    if (scatters && !dync__device_is(w->pb.device, DYNC__DEV_HOST)) return NULL;
    dync__node *base = dync__reinplace_node(&n->args[0]);
    if (!base || r->root[base->index] != base->index || n->nout != 1 || w->joined[n->index] >= 0 ||
        w->joined[base->index] >= 0 || !dync__reinplace_same_form(&n->info[0], &base->info[0]))
        return NULL;
    for (int i = 1; i < n->nargs && scatters; i++) {
        const dync__node *arg = dync__reinplace_node(&n->args[i]);
        if (arg && r->root[arg->index] == base->index) return NULL;
    }
    return base;
}

/* ---- readers --------------------------------------------------------------------------------- */
static void dync__reinplace_read(dync__reinplace *r, const dync__arg *a, int at)
{
    if (a->kind == DYNC__A_NODE) {
        int *last = &r->last[r->root[a->as.node->index]],
            *last2 = &r->last2[r->root[a->as.node->index]];
        if (at > *last)
            *last2 = *last, *last = at;
        else if (at < *last)
            *last2 = DYNC__MAX(*last2, at);
    }
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        dync__reinplace_read(r, &a->as.list[i], at);
}

/* What lies on what, who reads it last. */
static void dync__reinplace_facts(dync__reinplace *r)
{
    const dync__graph *g = r->w->g;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i], *of = dync__lower_viewed(n);
        r->root[i] = of ? r->root[of->index] : i;
        r->last[i] = r->last2[i] = -1;
        for (int a = 0; a < n->nargs; a++)
            dync__reinplace_read(r, &n->args[a], DYNC__MAX(i, r->w->joined[i]));
    }
    const dync__arg *out = &g->node.at[g->node.n - 1]->args[0];
    for (int i = 0; i < out->n; i++)
        if (dync__reinplace_node(&out->as.list[i]))
            r->results[r->root[out->as.list[i].as.node->index]]++;
}

/* Marks the writes between each input and its new value. */
static void dync__reinplace_chains(dync__reinplace *r)
{
    const dync__graph *g = r->w->g;
    const dync__arg *out = &g->node.at[g->node.n - 1]->args[0];
    for (int i = 0; i < out->n && i < g->over.n && dync__pass_on(DYNC__PASS_over); i++) {
        const dync__node *to = g->over.at[i] >= 0 ? g->node.at[g->over.at[i]] : NULL,
                         *value = dync__reinplace_node(&out->as.list[i]), *n;
        if (!to || !value || r->root[value->index] != value->index ||
            !dync__layout_is_dense(&to->info[0].lay) ||
            !dync__reinplace_same_form(&value->info[0], &to->info[0]))
            continue;
        for (n = value; n && n != to; n = dync__reinplace_base(r, n)) {}
        for (const dync__node *k = value; n && k != to; k = dync__reinplace_base(r, k))
            r->over[k->index] = true;
        r->ends[value->index] = n && value != to;
    }
}

/* ---- which writes ---------------------------------------------------------------------------- */
/* The memory that a chain of writes began with. */
static const dync__node *dync__reinplace_owner(const dync__reinplace *r, const dync__node *n)
{
    while (r->w->place[n->index] >= 0) n = r->w->g->node.at[r->w->place[n->index]];
    return n;
}

static bool dync__reinplace_may(const dync__reinplace *r, const dync__node *n,
                                const dync__node *base)
{
    const dync__node *owner = dync__reinplace_owner(r, base);
    if (r->last[base->index] != n->index) return false; /* somebody reads the old value later */
    /* no result has the memory of an input, but for the new value of that input */
    if (owner->kind == DYNC__N_PLACEHOLDER)
        return r->over[n->index] && r->results[n->index] == r->ends[n->index];
    return dync__node_is_call(owner) && owner->op >= 0 && owner->nout == 1 &&
           !(dync__op_info(owner->op)->flags & DYNC__OP_OPAQUE);
}

/* Is view, of base, what as_strided_scatter n replaces? */
static bool dync__reinplace_is_part(const dync__node *view, const dync__node *base,
                                    const dync__node *n)
{
    const dync__layout *lay = &view->info[0].lay;
    dync__layout part = {.ndim = n->args[2].n};
    memcpy(part.shape, n->args[2].as.dims, (size_t)part.ndim * sizeof *part.shape);
    memcpy(part.stride, n->args[3].as.dims, (size_t)part.ndim * sizeof *part.stride);
    return view->info[0].dtype == base->info[0].dtype && dync__reinplace_same_steps(lay, &part) &&
           dync__sz_eq(dync__sz_sub(lay->offset, base->info[0].lay.offset), n->args[4].as.i);
}

/* A scatter into a view of base whose result as_strided_scatter n puts back there: it may work in
 * base itself. Others may read its result, but by no view, which would count on its layout. */
static dync__node *dync__reinplace_inner(const dync__reinplace *r, const dync__node *n,
                                         const dync__node *base)
{
    dync__node *in = n->op == DYNC__OP_as_strided_scatter ? dync__reinplace_node(&n->args[1])
                                                          : NULL;
    if (!in || !dync__node_has(in, DYNC__OP_SCATTERS) || in->nout != 1 ||
        !dync__device_is(r->w->pb.device, DYNC__DEV_HOST) || r->w->place[in->index] >= 0 ||
        r->results[in->index] || r->last2[base->index] > in->index)
        return NULL;
    const dync__node *view = dync__reinplace_node(&in->args[0]);
    if (!view || view == base || r->root[view->index] != base->index ||
        !dync__reinplace_is_part(view, base, n))
        return NULL;
    for (int i = 1; i < in->nargs; i++) {
        const dync__node *arg = dync__reinplace_node(&in->args[i]);
        if (arg && r->root[arg->index] == base->index) return NULL;
    }
    return in;
}

static void dync__reinplace_decide(dync__reinplace *r)
{
    const dync__graph *g = r->w->g;
    bool *viewed = dync__arena_alloc(&r->w->arena, (size_t)g->node.n + 1);
    for (int i = 0; i < g->node.n && viewed; i++) {
        const dync__node *of = dync__lower_viewed(g->node.at[i]);
        if (of) viewed[of->index] = true;
    }
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i], *base = dync__reinplace_base(r, n);
        if (!base || !dync__reinplace_may(r, n, base)) continue;
        r->w->place[i] = base->index;
        dync__node *in = viewed ? dync__reinplace_inner(r, n, base) : NULL;
        if (!in || viewed[in->index]) continue;
        r->w->place[in->index] = in->args[0].as.node->index;
        r->w->written[i] = true;
        r->last[i] = DYNC__MAX(r->last[i], r->last[in->index]);
    }
}

/* Fills w->place, w->written. */
DYNC__FN dync_status dync__reinplace_find(dync__lowerer *w)
{
    size_t n = (size_t)w->g->node.n + 1;
    dync__reinplace r = {.w = w};
    memset(w->place, 0xff, n * sizeof *w->place);
    if (!dync__pass_on(DYNC__PASS_reinplace)) return DYNC_OK;
    r.root = dync__arena_alloc(&w->arena, n * sizeof *r.root);
    r.last = dync__arena_alloc(&w->arena, n * sizeof *r.last);
    r.last2 = dync__arena_alloc(&w->arena, n * sizeof *r.last2);
    r.results = dync__arena_alloc(&w->arena, n * sizeof *r.results);
    r.over = dync__arena_alloc(&w->arena, n * sizeof *r.over);
    r.ends = dync__arena_alloc(&w->arena, n * sizeof *r.ends);
    if (!r.root || !r.last || !r.last2 || !r.results || !r.over || !r.ends) return DYNC_ERR_MEMORY;
    dync__reinplace_facts(&r);
    dync__reinplace_chains(&r);
    dync__reinplace_decide(&r);
    return DYNC_OK;
}

/* ---- lowering -------------------------------------------------------------------------------- */
static dync_status dync__reinplace_copy(dync__lowerer *w, const dync__node *src,
                                        const dync__operand *in, dync__operand *out)
{
    dync__arg arg = dync__arg_t(w->fake[src->index]);
    dync__opcall copy = {.row = dync__op_info(DYNC__USED(DYNC__OP_clone)),
                         .op = DYNC__OP_clone,
                         .nargs = 1,
                         .args = &arg,
                         .nout = 1};
    out->written = true;
    return dync__op_lower(&w->pb, &copy, in, 1, out);
}

/* Surely no place of one in the other. */
static bool dync__reinplace_apart(const dync__operand *a, const dync__operand *b)
{
    return a->slot != b->slot || a->dtype != b->dtype ||
           !dync__sz_lt(b->lay.offset, dync__lower_span(&a->lay)) ||
           !dync__sz_lt(a->lay.offset, dync__lower_span(&b->lay));
}

/* The value of as_strided_scatter n into its part of the base; by way of a copy where it is read
 * from the same memory. */
static dync_status dync__reinplace_put(dync__lowerer *w, const dync__node *n,
                                       const dync__operand *value)
{
    dync__operand part = w->value[n->index][0], from = *value;
    const dync__node *src = n->args[1].as.node;
    part.lay.ndim = n->args[2].n;
    memcpy(part.lay.shape, n->args[2].as.dims, (size_t)part.lay.ndim * sizeof *part.lay.shape);
    memcpy(part.lay.stride, n->args[3].as.dims, (size_t)part.lay.ndim * sizeof *part.lay.stride);
    part.lay.offset = dync__sz_add(part.lay.offset, n->args[4].as.i);
    if (!dync__reinplace_apart(&part, &from)) {
        DYNC__TRY(dync__layout_contiguous(&from.lay, part.lay.ndim, part.lay.shape));
        from.slot = dync__pb_slot(&w->pb, DYNC__SLOT_TEMP, from.dtype, dync__lower_span(&from.lay),
                                  src->name);
        if (from.slot < 0) return DYNC_ERR_MEMORY;
        w->pb.slot.at[from.slot].host = w->pb.slot.at[value->slot].host;
        DYNC__TRY(dync__reinplace_copy(w, src, value, &from));
        from.written = false;
    }
    int before = w->pb.step.n;
    DYNC__TRY(dync__reinplace_copy(w, src, &from, &part));
    if (w->pb.step.n > before && w->pb.step.at[before].kernel)
        w->pb.step.at[before].kernel->ordered = dync__layout_overlaps_itself(&part.lay);
    return DYNC_OK;
}

/* A write in place: its result is where its base is. */
DYNC__FN dync_status dync__reinplace_lower(dync__lowerer *w, const dync__opcall *c,
                                           const dync__node *n, const dync__operand *in, int n_in)
{
    int i = n->index, at = w->place[i];
    dync__info info = w->g->node.at[at]->info[0];
    w->value[i] = dync__arena_copy(&w->arena, w->value[at], sizeof **w->value);
    if (!w->value[i]) return DYNC_ERR_MEMORY;
    w->bias[i] = dync__sz_sub(n->info[0].lay.offset, w->value[i][0].lay.offset);
    if (!(w->fake[i] = dync__tensor_fake(info.dtype, info.device, &info.lay)))
        return DYNC_ERR_MEMORY;
    if (w->written[i]) return DYNC_OK;
    if (n->op == DYNC__OP_as_strided_scatter) return dync__reinplace_put(w, n, &in[1]);
    return dync__op_lower(&w->pb, c, in, n_in, w->value[i]);
}
