/* aot/reinplace.c: a new value of something whose old value nobody reads any more is written
 * where the old one lies, so that a row written into a cache costs a row. inductor/reinplace.c
 * lowers such a write, interpret.c runs it.
 *
 * A functional graph says that with operators which copy: as_strided_scatter(base, value, part),
 * scatter(base, index, source). Such a node goes to the memory of its base where
 *   - every other reader of the base, through any view, comes before it, and
 *   - that memory is the graph's own, or an input's whose new value at the end of the graph this
 *     chain of writes is (graph->over).
 * A scatter into a view of the base, put back by as_strided_scatter, is one write: the scatter
 * works in the view's place of the base.
 *
 * Idea: the reinplacing pass of TorchInductor (torch/_inductor/fx_passes/reinplace.py). */
#include "../dync.in.h"
#include "reinplace.h"
DYNC__COLD

DYNC__FN const dync__node *dync__node_viewed(const dync__node *n)
{
    bool view = n->op >= 0 && dync__op_info(n->op)->cls == DYNC__VIEW;
    return view && n->args[0].kind == DYNC__A_NODE ? n->args[0].as.node : NULL;
}

/* by node; last two: the positions of the last readers of a root's memory, different ones */
typedef struct dync__reinplace {
    const dync__graph *g;
    const int *joined; /* as dync__lowerer has it; NULL: none */
    bool host;         /* scatters write in place there */
    int *place;
    bool *written;
    int *root;         /* where its chain of views begins */
    int *owner;        /* where its chain of writes begins: whose memory it has */
    int *last, *last2; /* of roots; -1: none */
    int *results;      /* of roots: how many results of the graph lie on them */
    bool *over;        /* writes that lead to the new value of an input */
    bool *ends;        /* those that are it */
} dync__reinplace;

static int dync__reinplace_joined(const dync__reinplace *r, const dync__node *n)
{
    return r->joined ? r->joined[n->index] : -1;
}

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
    bool scatters = dync__node_has(n, DYNC__OP_SCATTERS);
    if (!scatters && (n->op < 0 || n->op != DYNC__OP_as_strided_scatter)) return NULL;
    if (scatters && !r->host) return NULL;
    dync__node *base = dync__reinplace_node(&n->args[0]);
    if (!base || r->root[base->index] != base->index || n->nout != 1 ||
        dync__reinplace_joined(r, n) >= 0 || dync__reinplace_joined(r, base) >= 0 ||
        !dync__reinplace_same_form(&n->info[0], &base->info[0]))
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
    const dync__graph *g = r->g;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i], *of = dync__node_viewed(n);
        r->root[i] = of ? r->root[of->index] : i;
        r->owner[i] = i;
        r->last[i] = r->last2[i] = -1;
        for (int a = 0; a < n->nargs; a++)
            dync__reinplace_read(r, &n->args[a], DYNC__MAX(i, dync__reinplace_joined(r, n)));
    }
    const dync__arg *out = &g->node.at[g->node.n - 1]->args[0];
    for (int i = 0; i < out->n; i++)
        if (dync__reinplace_node(&out->as.list[i]))
            r->results[r->root[out->as.list[i].as.node->index]]++;
}

/* Marks the writes between each input and its new value. */
static void dync__reinplace_chains(dync__reinplace *r)
{
    const dync__graph *g = r->g;
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
static bool dync__reinplace_may(const dync__reinplace *r, const dync__node *n,
                                const dync__node *base)
{
    const dync__node *owner = r->g->node.at[r->owner[base->index]];
    int view = r->place[base->index];
    if (r->last[base->index] != n->index) return false;   /* somebody reads the old value later */
    if (view >= 0 && r->root[view] != view) return false; /* so is what it was put back into */
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
    if (!in || !dync__node_has(in, DYNC__OP_SCATTERS) || in->nout != 1 || !r->host ||
        r->place[in->index] >= 0 || r->results[in->index] || r->last2[base->index] > in->index)
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

/* Node i is written where node `at` lies. */
static void dync__reinplace_put_at(dync__reinplace *r, int i, int at)
{
    r->place[i] = at;
    r->owner[i] = r->owner[at];
}

static void dync__reinplace_decide(dync__reinplace *r, bool *viewed)
{
    const dync__graph *g = r->g;
    int found = 0;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *of = dync__node_viewed(g->node.at[i]);
        if (of) viewed[of->index] = true;
    }
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i], *base = dync__reinplace_base(r, n);
        if (!base || !dync__reinplace_may(r, n, base)) continue;
        dync__reinplace_put_at(r, i, base->index);
        found++;
        dync__node *in = dync__reinplace_inner(r, n, base);
        if (!in || viewed[in->index]) continue;
        dync__reinplace_put_at(r, in->index, in->args[0].as.node->index);
        r->written[i] = true;
        r->last[i] = DYNC__MAX(r->last[i], r->last[in->index]);
    }
    if (found) dync__pass_log(DYNC__PASS_reinplace, g->name, "%d writes", found);
}

DYNC__FN dync_status dync__reinplace_find(const dync__graph *g, dync__arena *arena,
                                          const int *joined, bool host, int *place, bool *written)
{
    size_t n = (size_t)g->node.n + 1;
    dync__reinplace r = {.g = g, .joined = joined, .host = host, .place = place};
    if (!dync__pass_on(DYNC__PASS_reinplace)) return DYNC_OK;
    r.written = written;
    r.root = dync__arena_alloc(arena, n * sizeof *r.root);
    r.owner = dync__arena_alloc(arena, n * sizeof *r.owner);
    r.last = dync__arena_alloc(arena, n * sizeof *r.last);
    r.last2 = dync__arena_alloc(arena, n * sizeof *r.last2);
    r.results = dync__arena_alloc(arena, n * sizeof *r.results);
    r.over = dync__arena_alloc(arena, n * sizeof *r.over);
    r.ends = dync__arena_alloc(arena, n * sizeof *r.ends);
    bool *viewed = dync__arena_alloc(arena, n * sizeof *viewed);
    if (!r.root || !r.owner || !r.last || !r.last2 || !r.results || !r.over || !r.ends || !viewed)
        return DYNC_ERR_MEMORY;
    dync__reinplace_facts(&r);
    dync__reinplace_chains(&r);
    dync__reinplace_decide(&r, viewed);
    return DYNC_OK;
}
