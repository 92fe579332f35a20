/* aot/attend.c: softmax(q k^T * scale + mask) v written out becomes the attention operator. Before:
 * the user's graph; after: runtime.c traces it, so that gradients are the operator's, too. For
 * inductor only.
 *
 * Looked for from the last product backwards: softmax over the last dim; factors; masked_fill or
 * where with -inf, or a mask that is added; the first product. Each value between has no other
 * user, and nothing in the graph writes. A query that sees nothing is NaN, as softmax gives it: put
 * back behind the operator, which gives zeros. Its gradients would not be the written ones, so
 * where gradients are wanted only masks known to hide no query are taken: none, and the triangles
 * of tril and triu. Small ones stay as they are. */
#include "../dync.in.h"
#include "aot.h"
DYNC__COLD
#if defined(DYNC_SMALL)
/* A small program has the operator where it calls it: what is written out stays so, as with
 * DYNC_DISABLE=attention. */
DYNC__FN dync_status dync__aot_attend(dync__graph **graph, bool training)
{
    return (void)graph, (void)training, DYNC_OK;
}
#else

/* A match: the operands as they stand before any transpose is undone (kt is the second factor of
 * the first product), the mask, and the product of all scale factors. */
typedef struct dync__attend {
    bool training;
    dync__node *q, *kt, *v, *mask; /* in the old graph; mask NULL: none, or a triangle */
    bool hides, causal;            /* mask: bools of what is hidden */
    double scale;
} dync__attend;

/* Argument i where it is a node with a type; else NULL. */
static dync__node *dync__attend_arg(const dync__node *n, int i)
{
    dync__node *in = n && i < n->nargs && n->args[i].kind == DYNC__A_NODE ? n->args[i].as.node
                                                                          : NULL;
    return in && in->has_info ? in : NULL;
}

static bool dync__attend_is(const dync__node *n, int op)
{
    return n && dync__node_is_call(n) && n->op == op && n->nout == 1 && n->has_info;
}
static bool dync__attend_product(const dync__node *n)
{
    return dync__attend_is(n, DYNC__OP_matmul) || dync__attend_is(n, DYNC__OP_bmm);
}

static bool dync__attend_number(const dync__node *n, int i, double *x)
{
    bool ok = i < n->nargs && dync__arg_is_number(&n->args[i]);
    if (ok) *x = dync__arg_number(&n->args[i]);
    return ok;
}

/* tril(ones) (upper false) or triu(ones, 1) (upper): rows by columns of scores [L, S]. */
static bool dync__attend_triangle(const dync__node *n, bool upper, const dync__layout *scores)
{
    double one = 1, diagonal = -1;
    dync__node *ones = dync__attend_arg(n, 0);
    if (!dync__attend_is(n, upper ? DYNC__OP_triu : DYNC__OP_tril) || n->info[0].lay.ndim != 2 ||
        !ones)
        return false;
    if (!dync__attend_is(ones, DYNC__OP_ones) &&
        !(dync__attend_is(ones, DYNC__OP_full) && dync__attend_number(ones, 1, &one)))
        return false;
    return one == 1 && dync__attend_number(n, 1, &diagonal) && diagonal == (upper ? 1 : 0) &&
           memcmp(n->info[0].lay.shape, &scores->shape[scores->ndim - 2], 2 * sizeof(int64_t)) == 0;
}

/* Is the mask the causal one? */
static bool dync__attend_causal(const dync__node *n, bool hides, const dync__layout *scores)
{
    double zero = 1;
    if (dync__attend_triangle(n, hides, scores)) return true;
    if (dync__attend_is(n, DYNC__OP_logical_not))
        return dync__attend_causal(dync__attend_arg(n, 0), !hides, scores);
    bool same = dync__attend_is(n, DYNC__OP_eq);
    return (same || dync__attend_is(n, DYNC__OP_ne)) && dync__attend_number(n, 1, &zero) &&
           zero == 0 &&
           dync__attend_triangle(dync__attend_arg(n, 0), same ? !hides : hides, scores);
}

/* The value that n masks, and the mask into a. NULL: it is none. */
static dync__node *dync__attend_masked(dync__attend *a, const dync__node *n)
{
    bool fills = dync__attend_is(n, DYNC__OP_masked_fill),
         chooses = dync__attend_is(n, DYNC__OP_where);
    double x = 0;
    if ((fills || chooses) && dync__attend_number(n, 2, &x) && x < 0 && isinf(x)) {
        a->mask = dync__attend_arg(n, fills ? 1 : 0);
        a->hides = fills;
        return a->mask && a->mask->info[0].dtype == DYNC_BOOL ? dync__attend_arg(n, fills ? 0 : 1)
                                                              : NULL;
    }
    dync__node *left = dync__attend_arg(n, 0), *right = dync__attend_arg(n, 1);
    if (!dync__attend_is(n, DYNC__OP_add) || n->nargs != 2 || !left || !right ||
        left->info[0].dtype != right->info[0].dtype)
        return NULL;
    a->mask = right;
    return left;
}

static bool dync__attend_here(const dync__info *x)
{
    return dync__device_is(x->device, DYNC__DEV_ATTENDS);
}

static bool dync__attend_shapes(const dync__attend *a, const dync__layout *scores)
{
    const dync__info *q = &a->q->info[0], *kt = &a->kt->info[0], *v = &a->v->info[0];
    int n = q->lay.ndim;
    if (n < 2 || kt->lay.ndim != n || v->lay.ndim != n || scores->ndim != n ||
        dync__dtype_info(q->dtype)->kind != 'f' || kt->dtype != q->dtype || v->dtype != q->dtype ||
        !dync__attend_here(q) || !dync__attend_here(kt) || !dync__attend_here(v))
        return false;
    for (int d = 0; d < n; d++) {
        if (q->lay.shape[d] <= 0 || kt->lay.shape[d] <= 0 || v->lay.shape[d] <= 0) return false;
        if (d < n - 2 &&
            (q->lay.shape[d] != kt->lay.shape[d] || q->lay.shape[d] != v->lay.shape[d]))
            return false;
    }
    const dync__layout *m = a->mask ? &a->mask->info[0].lay : NULL;
    if (m && (m->ndim > n ||
              (a->mask->info[0].dtype != DYNC_BOOL && a->mask->info[0].dtype != q->dtype) ||
              !dync__attend_here(&a->mask->info[0])))
        return false;
    for (int d = 0; m && d < m->ndim; d++)
        if (m->shape[d] != 1 && m->shape[d] != scores->shape[n - m->ndim + d]) return false;
    return true;
}

/* By what was measured: products with a softmax between them are as fast while scores stay in the
 * caches, and backward computes scores again. A triangle saves half of the work. */
static bool dync__attend_pays(const dync__attend *a, const dync__layout *scores)
{
    double area = (double)scores->shape[scores->ndim - 2] * (double)scores->shape[scores->ndim - 1],
           all = area;
    if (a->causal) return area >= (a->training ? 128 * 128 : 64 * 64);
    for (int d = 0; d < scores->ndim - 2; d++) all *= (double)scores->shape[d];
    return all >= (a->training ? 1 << 24 : 1 << 21);
}

/* Is y the last product of an attention? */
static bool dync__attend_match(dync__attend *a, const dync__node *y)
{
    const dync__node *soft = dync__attend_arg(y, 0), *n;
    double dim = 0, factor;
    a->v = dync__attend_arg(y, 1);
    a->mask = NULL;
    a->scale = 1;
    a->causal = false;
    if (!dync__attend_product(y) || !a->v || !dync__attend_is(soft, DYNC__OP_softmax) ||
        soft->n_users != 1 || !dync__attend_number(soft, 1, &dim))
        return false;
    const dync__layout *scores = &soft->info[0].lay;
    if (dim != -1 && dim != scores->ndim - 1) return false;
    for (n = dync__attend_arg(soft, 0); n && n->n_users == 1 && !dync__attend_product(n);) {
        bool times = dync__attend_is(n, DYNC__OP_mul), over = dync__attend_is(n, DYNC__OP_div);
        if ((times || over) && dync__attend_number(n, 1, &factor)) {
            a->scale *= over ? 1 / factor : factor;
            n = dync__attend_arg(n, 0);
        } else if (times && dync__attend_number(n, 0, &factor)) {
            a->scale *= factor;
            n = dync__attend_arg(n, 1);
        } else {
            dync__node *inner = a->mask ? NULL : dync__attend_masked(a, n);
            /* the factor is the mask's, too */
            if (!inner ||
                (a->scale != 1 && (a->mask->info[0].dtype != DYNC_BOOL || !(a->scale > 0))))
                return false;
            n = inner;
        }
    }
    if (!n || n->n_users != 1 || n->info[0].dtype != soft->info[0].dtype) return false;
    a->q = dync__attend_arg(n, 0);
    a->kt = dync__attend_arg(n, 1);
    if (!a->q || !a->kt || !(fabs(a->scale) < HUGE_VAL) || !dync__attend_shapes(a, scores))
        return false;
    if (a->mask && a->mask->info[0].dtype == DYNC_BOOL &&
        dync__attend_causal(a->mask, a->hides, scores)) {
        a->causal = true;
        a->mask = NULL;
    }
    return (!a->training || !a->mask) && dync__attend_pays(a, scores);
}

static dync__node *dync__attend_call(dync__rewrite *r, const dync__node *y, int op, int nargs,
                                     const dync__arg *args, int nout, const dync__info *info)
{
    for (int i = 0; i < nargs; i++)
        if (args[i].kind == DYNC__A_NODE && !args[i].as.node) return NULL;
    dync__node *n = dync__graph_call(r->to, op, nargs, args, nout, info, NULL);
    if (n) n->at = y->at;
    for (int i = 0; n && i < nout; i++) n->requires_grad[i] = y->requires_grad[0];
    return n;
}

/* The operator in y's place. */
static dync__node *dync__attend_put(dync__rewrite *r, const dync__node *y)
{
    const dync__attend *a = r->user;
    int n = y->info[0].lay.ndim;
    dync__info k = a->kt->info[0], out[2] = {y->info[0], a->q->info[0]}, blind, column;
    dync__arg turn[3] = {dync__arg_node(dync__rewrite_at(r, a->kt)), dync__arg_i(-2),
                         dync__arg_i(-1)};
    for (int d = n - 2; d < n; d++) {
        k.lay.shape[d] = a->kt->info[0].lay.shape[2 * n - 3 - d];
        k.lay.stride[d] = a->kt->info[0].lay.stride[2 * n - 3 - d];
    }
    dync__node *key = dync__attend_call(r, y, DYNC__USED(DYNC__OP_transpose), 3, turn, 1, &k),
               *mask = a->mask ? dync__rewrite_at(r, a->mask) : NULL;
    if (mask && a->mask->info[0].dtype == DYNC_BOOL && a->hides)
        mask = dync__attend_call(r, y, DYNC__USED(DYNC__OP_logical_not), 1,
                                 (dync__arg[]){dync__arg_node(mask)}, 1, &a->mask->info[0]);
    if (a->mask && !mask) return NULL;
    (void)dync__layout_contiguous(&out[1].lay, n - 1, a->q->info[0].lay.shape);
    out[1].dtype = out[0].dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    dync__arg args[6] = {dync__arg_node(dync__rewrite_at(r, a->q)),
                         dync__arg_node(key),
                         dync__arg_node(dync__rewrite_at(r, a->v)),
                         mask ? dync__arg_node(mask) : dync__arg_none(),
                         dync__arg_b(a->causal),
                         dync__arg_f(a->scale)};
    dync__node *both = dync__attend_call(
        r, y, DYNC__USED(DYNC__OP__scaled_dot_product_flash_attention_for_cpu), 6, args, 2, out);
    dync__node *result = dync__graph_getitem(r->to, both, 0),
               *sum = dync__graph_getitem(r->to, both, 1);
    blind = out[1];
    blind.dtype = DYNC_BOOL;
    dync__arg same[2] = {dync__arg_node(sum), dync__arg_f(-HUGE_VAL)};
    dync__node *none = dync__attend_call(r, y, DYNC__USED(DYNC__OP_eq), 2, same, 1, &blind);
    column = blind;
    blind.lay.shape[n - 1] = 1;
    (void)dync__layout_contiguous(&column.lay, n, blind.lay.shape);
    dync__arg lift[2] = {dync__arg_node(none), dync__arg_i(-1)};
    none = dync__attend_call(r, y, DYNC__USED(DYNC__OP_unsqueeze), 2, lift, 1, &column);
    dync__arg fill[3] = {dync__arg_node(result), dync__arg_node(none), dync__arg_f((double)NAN)};
    result = dync__attend_call(r, y, DYNC__USED(DYNC__OP_masked_fill), 3, fill, 1, out);
    dync__arg whole[1] = {dync__arg_node(result)};
    return n == 4 ? dync__attend_call(r, y, DYNC__USED(DYNC__OP_contiguous), 1, whole, 1, out)
                  : result;
}

static dync__node *dync__attend_node(dync__rewrite *r, dync__node *old)
{
    return dync__attend_match(r->user, old) ? dync__attend_put(r, old) : dync__rewrite_copy(r, old);
}

DYNC__FN dync_status dync__aot_attend(dync__graph **graph, bool training)
{
    dync__graph *g = *graph, *to;
    dync__attend a = {.training = training};
    int found = 0;
    for (int i = 0; i < g->node.n; i++) found += dync__attend_match(&a, g->node.at[i]);
    if (!found || g->syms || dync__graph_has_writes(g)) return DYNC_OK;
    DYNC__TRY(dync__graph_rewrite(g, dync__attend_node, &a, &to));
    (void)dync__graph_dce(to);
    dync__graph_unref(g);
    *graph = to;
    return DYNC_OK;
}
#endif
