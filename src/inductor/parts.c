/* inductor/parts.c: concatenations that only a pointwise operator reads are not made: the operator
 * is computed part by part, each straight from what is put together. Several concatenations along
 * one dim meet part by part of the union of their cuts: roll(u, 1) + roll(u, -1) is three parts.
 * Operands that are no such concatenations are sliced. Concatenations, and arrays put among zeros
 * (padding, gradients of slices), inside of each other are written where they end up. After
 * lower.h, before lower.c. */
#include "../dync.in.h"
#include "../op/rows.h"
#include "lower.h"
DYNC__COLD

/* Computed element by element from tensors that are arguments of their own, so that a slice of the
 * result needs slices of those alone. */
static bool dync__parts_can(const dync__node *n)
{
    const dync__op_row *row = n->op >= 0 ? dync__op_info(n->op) : NULL;
    if (!row || row->cls != DYNC__POINTWISE || row->lower ||
        row->flags & (DYNC__OP_RANDOM | DYNC__OP_OPAQUE) || n->nout != 1)
        return false;
    for (int a = 0; a < n->nargs; a++)
        if (n->args[a].kind == DYNC__A_LIST) return false;
    return true;
}

/* A concatenation of tensors of its own dtype and rank that nobody but n reads. */
static bool dync__parts_joins(const dync__node *cat, const dync__node *n)
{
    int uses = 0;
    for (int a = 0; a < n->nargs; a++)
        uses += n->args[a].kind == DYNC__A_NODE && n->args[a].as.node == cat;
    if (cat->op != DYNC__OP_cat || cat->n_users != uses) return false;
    for (int i = 0; i < cat->args[0].n; i++) {
        const dync__arg *part = &cat->args[0].as.list[i];
        if (part->kind != DYNC__A_NODE) return false;
        const dync__info *info = &part->as.node->info[0];
        if (info->dtype != cat->info[0].dtype || info->lay.ndim != cat->info[0].lay.ndim)
            return false;
    }
    return true;
}

static bool dync__parts_cut(dync__parts *p, int64_t at)
{
    int i = p->n;
    while (dync__sz_lt(at, p->cut[i])) i--;
    if (dync__sz_eq(p->cut[i], at)) return true;
    if (p->n == DYNC__PARTS_MOST) return false;
    for (int k = p->n++; k > i; k--) p->cut[k + 1] = p->cut[k];
    p->cut[i + 1] = at;
    return true;
}

/* The cuts of cat join those in p. False: it lies along another dim of the result, is broadcast
 * along its own, or cuts too often. */
static bool dync__parts_add(dync__parts *p, const dync__node *cat, const dync__layout *result)
{
    const dync__layout *all = &cat->info[0].lay;
    int dim = (int)(cat->args[1].as.i + (cat->args[1].as.i < 0 ? all->ndim : 0)),
        of_result = dim + result->ndim - all->ndim;
    dync__parts more = *p;
    if (!dync__sz_eq(all->shape[dim], result->shape[of_result]) ||
        (p->dim >= 0 && p->dim != of_result))
        return false;
    more.dim = of_result;
    int64_t end = 0;
    for (int i = 0; i < cat->args[0].n; i++) {
        end = dync__sz_add(end, cat->args[0].as.list[i].as.node->info[0].lay.shape[dim]);
        if (!dync__parts_cut(&more, end)) return false;
    }
    *p = more;
    return true;
}

/* An array among zeros, without steps: slice_backward's, and padding's. */
static bool dync__parts_is_inside(const dync__node *n)
{
    return n->op == DYNC__OP_slice_backward && n->args[0].kind == DYNC__A_NODE &&
           n->args[5].as.i == 1;
}
static bool dync__parts_holds(const dync__node *n)
{
    return n->op == DYNC__OP_cat || dync__parts_is_inside(n);
}
/* What n, which holds others, has at i; *n_parts of them. */
static const dync__arg *dync__parts_of(const dync__node *n, int *n_parts)
{
    bool cat = n->op == DYNC__OP_cat;
    *n_parts = cat ? n->args[0].n : 1;
    return cat ? n->args[0].as.list : n->args;
}

/* What a result's element costs, in additions. */
static int dync__parts_cost(const dync__node *n, dync__arena *arena)
{
    dync__tensor *given = dync__arena_alloc(arena, (size_t)(n->nargs + 1) * sizeof *given);
    dync__arg *args = dync__arena_alloc(arena, (size_t)(n->nargs + 1) * sizeof *args);
    dync__opcall call = {.op = n->op, .row = dync__op_info(n->op), .nargs = n->nargs, .args = args};
    if (!given || !args) return 0;
    for (int a = 0; a < n->nargs; a++) {
        const dync__node *x = n->args[a].kind == DYNC__A_NODE ? n->args[a].as.node : NULL;
        args[a] = n->args[a];
        if (!x) continue;
        given[a] = (dync__tensor){.dtype = (uint8_t)x->info[0].dtype, .lay = x->info[0].lay};
        args[a] = dync__arg_t(&given[a]);
    }
    return dync__op_cost(&call, arena);
}

/* Is it dear arithmetic that would be done in pieces of which much of the last vector is empty,
 * where a copy lets it go through all at once? */
static bool dync__parts_are_short(const dync__node *n, const dync__parts *p, dync__arena *arena)
{
    const dync__layout *lay = &n->info[0].lay;
    int64_t lanes = dync__code_few_registers() ? 8 : 16, step = 1, all = 1, full = 0;
    for (int d = 0; d < lay->ndim; d++) {
        int64_t size = dync__loop_at_hand(lay->shape[d]);
        if (dync__loop_at_hand(lay->stride[d]) < dync__loop_at_hand(lay->stride[p->dim]))
            step *= size;
        all *= size;
    }
    for (int i = 0; i < p->n; i++) {
        int64_t run = (dync__loop_at_hand(p->cut[i + 1]) - dync__loop_at_hand(p->cut[i])) * step;
        full += (run + lanes - 1) / lanes * lanes;
    }
    int64_t row = dync__loop_at_hand(lay->shape[p->dim]) * step;
    return (full - row) * DYNC__FUSE_EMPTY >= full && all > DYNC__FUSE_SMALL &&
           (full > 2 * row || all <= DYNC__FUSE_STAYS) &&
           dync__parts_cost(n, arena) > DYNC__FUSE_FAIR;
}

/* What holds others and is read by what holds it alone is put into its memory, which is made
 * where the outermost stands. before: the last node before each that writes. */
static void dync__parts_nest(dync__lowerer *w, const dync__node *n, const int *before)
{
    int n_parts, outer = w->joined[n->index] < 0 ? n->index : w->joined[n->index];
    if (!dync__parts_holds(n) || !dync__parts_holds(w->g->node.at[outer])) return;
    const dync__arg *a = dync__parts_of(n, &n_parts);
    for (int i = 0; i < n_parts; i++) {
        const dync__node *part = a[i].kind == DYNC__A_NODE ? a[i].as.node : NULL;
        if (part && dync__parts_holds(part) && part->n_users == 1 && w->joined[part->index] < 0 &&
            part->index > before[outer] && part->info[0].dtype == n->info[0].dtype &&
            part->info[0].lay.ndim == n->info[0].lay.ndim)
            w->joined[part->index] = outer;
    }
}

DYNC__FN dync_status dync__parts_find(dync__lowerer *w)
{
    /* the last node that writes what is there: a part must be read before it */
    int written = -1;
    if (!dync__device_is(w->pb.device, DYNC__DEV_HOST) || !dync__pass_on(DYNC__PASS_parts))
        return DYNC_OK;
    int *before = dync__arena_alloc(&w->arena, (size_t)(w->g->node.n + 1) * sizeof *before);
    if (!before) return DYNC_ERR_MEMORY;
    for (int i = 0; i < w->g->node.n; i++) {
        const dync__node *n = w->g->node.at[i];
        dync__parts found = {.dim = -1};
        before[i] = written;
        if (n->op >= 0 && (dync__op_info(n->op)->cls == DYNC__INPLACE ||
                           dync__op_info(n->op)->flags & DYNC__OP_OPAQUE))
            written = i;
        for (int a = 0; a < n->nargs && dync__parts_can(n); a++) {
            const dync__node *cat = n->args[a].kind == DYNC__A_NODE ? n->args[a].as.node : NULL;
            if (cat && cat->index > written && dync__parts_joins(cat, n) &&
                dync__parts_add(&found, cat, &n->info[0].lay))
                w->joined[cat->index] = i;
        }
        if (found.dim >= 0 && dync__parts_are_short(n, &found, &w->arena)) {
            for (int a = 0; a < n->nargs; a++) {
                const dync__node *x = n->args[a].kind == DYNC__A_NODE ? n->args[a].as.node : NULL;
                if (x && w->joined[x->index] == i) w->joined[x->index] = -1;
            }
            continue;
        }
        if (found.dim < 0) continue;
        w->parts[i] = dync__arena_copy(&w->arena, &found, sizeof found);
        if (!w->parts[i]) return DYNC_ERR_MEMORY;
        dync__pass_log(DYNC__PASS_parts, w->g->name, "%s by %d parts", n->name, found.n);
    }
    for (int i = w->g->node.n - 1; i >= 0; i--) dync__parts_nest(w, w->g->node.at[i], before);
    return DYNC_OK;
}

/* The operand of n that comes from x, for the part [start, start + length) of the result. */
static dync__operand dync__parts_operand(const dync__lowerer *w, const dync__node *n,
                                         const dync__node *x, int64_t start, int64_t length)
{
    int from_end = n->info[0].lay.ndim - w->parts[n->index]->dim;
    if (w->joined[x->index] == n->index) {
        const dync__arg *part = x->args[0].as.list;
        int dim = x->info[0].lay.ndim - from_end;
        for (; !dync__sz_lt(start, part->as.node->info[0].lay.shape[dim]); part++)
            start = dync__sz_sub(start, part->as.node->info[0].lay.shape[dim]);
        x = part->as.node;
    }
    dync__operand o = w->value[x->index][0];
    int dim = o.lay.ndim - from_end;
    if (dim < 0 || o.lay.shape[dim] == 1) return o;
    o.lay.shape[dim] = length;
    o.lay.offset = dync__sz_add(o.lay.offset, dync__sz_mul(start, o.lay.stride[dim]));
    return o;
}

DYNC__FN dync_status dync__parts_lower(dync__lowerer *w, const dync__opcall *c, const dync__node *n)
{
    const dync__parts *p = w->parts[n->index];
    for (int i = 0; i < p->n; i++) {
        dync__operand in[DYNC__MAX_ARGS], out = w->value[n->index][0];
        int64_t start = p->cut[i], length = dync__sz_size(dync__sz_sub(p->cut[i + 1], start));
        int n_in = 0;
        for (int a = 0; a < n->nargs; a++)
            if (n->args[a].kind == DYNC__A_NODE)
                in[n_in++] = dync__parts_operand(w, n, n->args[a].as.node, start, length);
        out.lay.shape[p->dim] = length;
        out.lay.offset = dync__sz_add(out.lay.offset, dync__sz_mul(start, out.lay.stride[p->dim]));
        DYNC__TRY(dync__op_lower(&w->pb, c, in, n_in, &out));
    }
    return DYNC_OK;
}

/* n, which is inside of another or holds such, in its place. */
static dync_status dync__parts_put(dync__lowerer *w, const dync__node *n,
                                   const dync__operand *place)
{
    const dync__operand *in = &w->value[n->index][0];
    if (w->joined[n->index] >= 0) return dync__parts_cat(w, n, place);
    return dync__lower_empty(in) ? DYNC_OK : dync__lower_copy(&w->pb, in, place);
}

/* Zeros around the innermost of what is inside of each other. */
static dync_status dync__parts_inside(dync__lowerer *w, const dync__node *n,
                                      const dync__operand *out)
{
    dync__operand view = *out;
    dync__opcall call = {.row = dync__op_info(n->op), .op = n->op};
    do {
        const dync__arg *a = n->args;
        dync__layout whole = view.lay;
        DYNC__TRY(dync__view_slice(&whole, a[2].as.i, a[3].as.i, a[4].as.i, a[5].as.i, &view.lay));
        n = a[0].as.node;
    } while (dync__parts_is_inside(n) && w->joined[n->index] >= 0);
    if (dync__lower_empty(out)) return DYNC_OK;
    DYNC__TRY(dync__lower_around(&w->pb, &call, &view, out));
    return dync__parts_put(w, n, &view);
}

DYNC__FN dync_status dync__parts_cat(dync__lowerer *w, const dync__node *n,
                                     const dync__operand *out)
{
    dync__operand place = *out;
    if (n->op != DYNC__OP_cat) return dync__parts_inside(w, n, out);
    int dim = (int)(n->args[1].as.i + (n->args[1].as.i < 0 ? out->lay.ndim : 0));
    for (int i = 0; i < n->args[0].n; i++) {
        const dync__node *part = n->args[0].as.list[i].as.node;
        const dync__operand *in = &w->value[part->index][0];
        if (in->lay.ndim != out->lay.ndim) continue; /* an empty vector */
        place.lay.shape[dim] = in->lay.shape[dim];
        DYNC__TRY(dync__parts_put(w, part, &place));
        place.lay.offset = dync__sz_add(place.lay.offset,
                                        dync__sz_mul(place.lay.shape[dim], place.lay.stride[dim]));
    }
    return DYNC_OK;
}

DYNC__FN bool dync__parts_nests(const dync__lowerer *w, const dync__node *n)
{
    int n_parts;
    if (!dync__parts_holds(n)) return false;
    const dync__arg *a = dync__parts_of(n, &n_parts);
    for (int i = 0; i < n_parts; i++)
        if (a[i].kind == DYNC__A_NODE && w->joined[a[i].as.node->index] == n->index) return true;
    return false;
}
