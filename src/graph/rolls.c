/* graph/rolls.c: a value that is read rolled in many ways is put between its borders once, and each
 * roll is a slice of that. A roll is a concatenation of two slices, one along each dim: a stencil
 * of 25 rolls would make 48 arrays, each of which ends the loop of whoever reads it. After cse.c.
 *
 *   cat(x[n-1:], x[:n-1])  +  cat(x[2:], x[:2])          e = cat(x[n-1:], x, x[:2])
 *                                                        e[0:n]  +  e[3:n+3]
 *
 * Only rolls that pointwise operators alone read, of rows in order: their results do not depend on
 * how an operand lies. What a gradient is multiplied with before it is rolled is multiplied after,
 * so that the rolls of a backward are those of one value: roll(g * 3, 1) is roll(g, 1) * 3. */
#include "../dync.in.h"
#include "slices.h"
DYNC__COLD
#if defined(DYNC_SMALL)
/* A small program has concatenation where it calls it: as with DYNC_DISABLE=rolls. */
DYNC__FN dync_status dync__graph_rolls(dync__graph *g) { return (void)g, DYNC_OK; }
#else

enum { DYNC__ROLL_CHAIN = 8 }; /* pointwise nodes between a value and a roll, at most */

/* What is put between borders, and how many places of them each dim has. */
typedef struct dync__roll_base {
    dync__node *base, *wide; /* wide: with its borders; made with the first roll */
    int64_t low[DYNC_MAX_DIMS], high[DYNC_MAX_DIMS];
    int n;    /* rolls of it */
    bool has; /* they are slices of it */
} dync__roll_base;
/* A concatenation that is base rolled, and then put through pointwise nodes, each the operand of
 * the next, up to `to` (NULL: none). */
typedef struct dync__roll {
    dync__node *base, *to;
    int64_t shift[DYNC_MAX_DIMS]; /* base[i - shift]: towards the end */
    dync__roll_base *of;          /* NULL: it stays as it is */
} dync__roll;
typedef struct dync__rolls {
    dync__graph *g;
    dync__arena arena;
    dync__roll **at;        /* by node */
    dync__roll_base **base; /* by node */
    bool *live, *seen;      /* by node: somebody reads it; and is no pointwise operator */
} dync__rolls;

/* ---- which nodes are rolls ------------------------------------------------------------------- */
static const dync__node *dync__roll_part(const dync__arg *a, int64_t dim)
{
    const dync__node *n = a->kind == DYNC__A_NODE ? a->as.node : NULL;
    if (!n || n->op < 0 || n->op != DYNC__OP_slice || n->args[0].kind != DYNC__A_NODE) return NULL;
    for (int i = 1; i < n->nargs; i++)
        if (n->args[i].kind != DYNC__A_INT) return NULL;
    const dync__info *in = &n->args[0].as.node->info[0];
    int64_t along = n->args[1].as.i + (n->args[1].as.i < 0 ? in->lay.ndim : 0);
    return along == dim && n->args[4].as.i == 1 ? n : NULL;
}

/* How far n = cat(x[start:], x[:start]) is rolled: the smaller of the two ways; 0: it is no roll
 * of a few places. */
static int64_t dync__roll_shift(const dync__node *n, dync__node **x, int64_t *dim)
{
    if (n->op < 0 || n->op != DYNC__OP_cat || n->args[0].n != 2) return 0;
    *dim = n->args[1].as.i + (n->args[1].as.i < 0 ? n->info[0].lay.ndim : 0);
    const dync__node *tail = dync__roll_part(&n->args[0].as.list[0], *dim),
                     *head = dync__roll_part(&n->args[0].as.list[1], *dim);
    if (!tail || !head || tail->args[0].as.node != head->args[0].as.node) return 0;
    *x = tail->args[0].as.node;
    int64_t size = (*x)->info[0].lay.shape[*dim], start = head->info[0].lay.shape[*dim],
            rest = dync__sz_sub(size, start);
    if (head->args[2].as.i != 0 || tail->info[0].lay.shape[*dim] != rest ||
        n->info[0].lay.shape[*dim] != size || (*x)->info[0].dtype != n->info[0].dtype)
        return 0;
    /* where the tail begins: layouts tell, whatever way the slice says it */
    if (tail->info[0].lay.offset !=
        dync__sz_add((*x)->info[0].lay.offset, dync__sz_mul(start, (*x)->info[0].lay.stride[*dim])))
        return 0;
    bool back = !dync__is_token(start) && (dync__is_token(rest) || start < rest);
    int64_t shift = back ? -start : rest;
    return dync__is_token(shift) || shift > DYNC__ROLL_NEAR || shift < -DYNC__ROLL_NEAR ? 0 : shift;
}

static bool dync__roll_pointwise(const dync__node *n)
{
    const dync__op_row *row = n->op >= 0 ? dync__op_info(n->op) : NULL;
    return row && row->cls == DYNC__POINTWISE && !row->lower && n->nout == 1 &&
           !(row->flags & (DYNC__OP_RANDOM | DYNC__OP_OPAQUE));
}

/* The one tensor that a pointwise n is computed of, of its shape, in rows. NULL: it has others. */
static dync__node *dync__roll_operand(const dync__node *n)
{
    dync__node *x = NULL;
    if (!dync__roll_pointwise(n) || n->apart) return NULL;
    for (int i = 0; i < n->nargs; i++) {
        if (n->args[i].kind == DYNC__A_LIST || (n->args[i].kind == DYNC__A_NODE && x)) return NULL;
        if (n->args[i].kind == DYNC__A_NODE) x = n->args[i].as.node;
    }
    const dync__layout *lay = &n->info[0].lay;
    return x && x->has_info && x->nout == 1 && x->info[0].lay.ndim == lay->ndim &&
                   memcmp(x->info[0].lay.shape, lay->shape, (size_t)lay->ndim * sizeof(int64_t)) ==
                       0
               ? x
               : NULL;
}

/* Node n as a roll. Rolled twice, it is a roll of what is below. Where slices of its operand are
 * read by it alone, it is one of what that is computed of. False: no memory. */
static bool dync__rolls_note(dync__rolls *r, const dync__node *n)
{
    dync__node *x = NULL;
    int64_t dim = 0, shift = dync__roll_shift(n, &x, &dim);
    if (!shift || n->apart || !dync__pass_in_rows(&n->info[0].lay)) return true;
    dync__roll *roll = dync__arena_alloc(&r->arena, sizeof *roll);
    if (!roll) return false;
    *roll = (dync__roll){.base = x};
    if (r->at[x->index]) *roll = *r->at[x->index];
    roll->shift[dim] += shift;
    const dync__arg *part = n->args[0].as.list;
    bool alone = roll->base == x && x->n_users == 2 && part[0].as.node->n_users == 1 &&
                 part[1].as.node->n_users == 1;
    dync__node *in;
    for (int i = 0; i < DYNC__ROLL_CHAIN && alone && (in = dync__roll_operand(roll->base)); i++) {
        if (!roll->to) roll->to = roll->base;
        roll->base = in;
        alone = in->n_users == 1;
    }
    if (dync__pass_in_rows(&roll->base->info[0].lay)) r->at[n->index] = roll;
    return true;
}

/* ---- which are worth it ---------------------------------------------------------------------- */
typedef struct dync__roll_reader {
    dync__rolls *r;
    bool pointwise;
} dync__roll_reader;

static void dync__rolls_read(void *user, dync__arg *a)
{
    dync__roll_reader *by = user;
    by->r->live[a->as.node->index] = true;
    if (!by->pointwise) by->r->seen[a->as.node->index] = true;
}

/* Is dim long enough for its borders? Of a symbolic size that is a guard. */
static bool dync__roll_fits(int64_t size, int64_t border)
{
    return border == 0 ||
           (border <= DYNC__ROLL_NEAR && !dync__sz_by_data(size) && dync__sz_lt(border, size));
}

/* The roll joins those of its base. False: no memory. */
static bool dync__rolls_join(dync__rolls *r, dync__roll *roll)
{
    dync__roll_base **at = &r->base[roll->base->index], *of = *at;
    const dync__layout *lay = &roll->base->info[0].lay;
    for (int d = 0; d < lay->ndim; d++)
        if (!dync__roll_fits(lay->shape[d], DYNC__MAX(roll->shift[d], -roll->shift[d])))
            return true;
    if (!of && !(of = *at = dync__arena_alloc(&r->arena, sizeof *of))) return false;
    if (!of->n++) *of = (dync__roll_base){.base = roll->base, .n = 1};
    roll->of = of;
    for (int d = 0; d < lay->ndim; d++) {
        of->low[d] = DYNC__MAX(of->low[d], roll->shift[d]);
        of->high[d] = DYNC__MAX(of->high[d], -roll->shift[d]);
    }
    return true;
}

/* One more array, not much larger than the value, in place of one for each roll. One dim's two that
 * one operator reads are its parts (inductor/parts.c). */
static bool dync__roll_pays(const dync__roll_base *of)
{
    const dync__layout *lay = &of->base->info[0].lay;
    double larger = 1;
    for (int d = 0; d < lay->ndim; d++) {
        double size = (double)dync__sz_usual(lay->shape[d]);
        larger *= (size + (double)of->low[d] + (double)of->high[d]) / size;
    }
    return of->n >= DYNC__ROLL_FEW && larger <= of->n;
}

/* From the last node on, so that who reads a node is known before it: rolls that pointwise
 * operators alone read. What is a part of such a roll nobody reads. */
static bool dync__rolls_choose(dync__rolls *r)
{
    bool any = false;
    for (int i = r->g->node.n - 1; i >= 0; i--) {
        dync__node *n = r->g->node.at[i];
        dync__roll *roll = r->at[i];
        if (!r->live[i] && n->kind != DYNC__N_OUTPUT) continue;
        if (roll && !r->seen[i] && !dync__rolls_join(r, roll)) return false;
        if (roll && roll->of) {
            r->live[roll->base->index] = r->seen[roll->base->index] = true;
            continue;
        }
        dync__roll_reader by = {r, dync__roll_pointwise(n)};
        dync__node_each_input(n, dync__rolls_read, &by);
    }
    for (int i = 0; i < r->g->node.n; i++) {
        dync__roll_base *of = r->base[i];
        if (of) any |= of->has = dync__roll_pays(of);
    }
    return any;
}

/* ---- new nodes ------------------------------------------------------------------------------- */
static dync__node *dync__rolls_slice(dync__rolls *r, dync__node *x, int d, int64_t start,
                                     int64_t end, const dync__node *like)
{
    dync__arg args[5] = {{0}, dync__arg_i(d), dync__arg_i(start), dync__arg_i(end), dync__arg_i(1)};
    return dync__pass_call(r->g, &r->arena, DYNC__USED(DYNC__OP_slice), 1, &x, 5, args, like);
}

/* x between its borders along dims from d on; recursion: by dim. NULL: no memory. */
static dync__node *dync__rolls_widen(dync__rolls *r, const dync__roll_base *of, dync__node *x,
                                     int d, const dync__node *like)
{
    const dync__layout *lay = &of->base->info[0].lay;
    while (d < lay->ndim && !of->low[d] && !of->high[d]) d++;
    if (d == lay->ndim || !x) return x;
    int64_t size = lay->shape[d];
    dync__node *part[3];
    dync__arg args[2] = {{0}, dync__arg_i(d)};
    int n = 0;
    if (of->low[d])
        part[n++] = dync__rolls_slice(r, x, d, dync__sz_sub(size, of->low[d]), size, like);
    part[n++] = x;
    if (of->high[d]) part[n++] = dync__rolls_slice(r, x, d, 0, of->high[d], like);
    for (int i = 0; i < n; i++) part[i] = dync__rolls_widen(r, of, part[i], d + 1, like);
    return dync__pass_call(r->g, &r->arena, DYNC__USED(DYNC__OP_cat), n, part, 2, args, like);
}

/* What `to` is of x instead of base; recursion: at most DYNC__ROLL_CHAIN nodes. */
static dync__node *dync__rolls_through(dync__rolls *r, const dync__node *to, const dync__node *base,
                                       dync__node *x, const dync__node *like)
{
    dync__arg args[DYNC__MAX_ARGS];
    if (to == base) return x;
    x = dync__rolls_through(r, dync__roll_operand(to), base, x, like);
    if (!x) return NULL;
    for (int i = 0; i < to->nargs; i++)
        args[i] = to->args[i].kind == DYNC__A_NODE ? dync__arg_node(x) : to->args[i];
    return dync__pass_node(r->g, &r->arena, to->op, to->nargs, args, to);
}

/* The slice that stands for a roll, and what is computed of it. NULL: no memory. */
static dync__node *dync__rolls_make(dync__rolls *r, const dync__roll *roll, const dync__node *n)
{
    dync__roll_base *of = roll->of;
    const dync__layout *lay = &of->base->info[0].lay;
    if (!of->wide) of->wide = dync__rolls_widen(r, of, of->base, 0, n);
    dync__node *x = of->wide;
    if (!x) return NULL;
    of->wide->is_read |= n->is_read;
    for (int d = 0; d < lay->ndim && x; d++) {
        int64_t start = of->low[d] - roll->shift[d];
        if (of->low[d] || of->high[d])
            x = dync__rolls_slice(r, x, d, start, dync__sz_add(lay->shape[d], start), n);
    }
    return roll->to && x ? dync__rolls_through(r, roll->to, roll->base, x, n) : x;
}

static void dync__rolls_follow(void *user, dync__arg *a)
{
    (void)user;
    if (a->as.node->mark) a->as.node = a->as.node->mark;
}

/* The nodes again, in order, and in place of rolls what stands for them. */
static dync_status dync__rolls_put(dync__rolls *r)
{
    dync__graph *g = r->g;
    int n = g->node.n;
    dync__node **old = dync__arena_copy(&r->arena, g->node.at, (size_t)n * sizeof *old);
    if (!old) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) old[i]->mark = NULL;
    g->node.n = 0;
    for (int i = 0; i < n; i++) {
        dync__node_each_input(old[i], dync__rolls_follow, NULL);
        if (!dync__avec_push(&g->arena, &g->node, old[i])) return DYNC_ERR_MEMORY;
        if (!r->at[i] || !r->at[i]->of || !r->at[i]->of->has) continue;
        int from = g->node.n;
        dync__node *made = dync__rolls_make(r, r->at[i], old[i]);
        if (!made) continue;
        for (int k = from; k < g->node.n; k++) g->node.at[k]->backward = old[i]->backward;
        made->is_read = old[i]->is_read;
        made->requires_grad[0] = old[i]->requires_grad[0];
        old[i]->mark = made;
    }
    return g->failed ? DYNC_ERR_MEMORY : dync__graph_dce(g);
}

static bool dync__rolls_find(dync__rolls *r)
{
    size_t n = (size_t)r->g->node.n + 1;
    r->at = dync__arena_alloc(&r->arena, n * sizeof *r->at);
    r->base = dync__arena_alloc(&r->arena, n * sizeof *r->base);
    r->live = dync__arena_alloc(&r->arena, n);
    r->seen = dync__arena_alloc(&r->arena, n);
    if (!r->at || !r->base || !r->live || !r->seen) return false;
    bool any = false;
    for (int i = 0; i < r->g->node.n; i++) {
        if (!dync__rolls_note(r, r->g->node.at[i])) return false;
        any |= r->at[i] != NULL;
    }
    return any;
}

DYNC__FN dync_status dync__graph_rolls(dync__graph *g)
{
    dync__rolls r = {.g = g};
    if (dync__graph_has_writes(g)) return DYNC_OK;
    dync__graph_renumber(g);
    dync_status status = DYNC_OK;
    if (dync__rolls_find(&r) && dync__rolls_choose(&r)) status = dync__rolls_put(&r);
    dync__arena_free(&r.arena);
    return status;
}
#endif
