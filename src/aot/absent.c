/* aot/absent.c: a backward of which some gradients do not arrive. The compiled graph takes zeros
 * for them, and what they meet is zeros, too, but where a saved value is infinite or NaN: 0 * inf
 * is NaN, which would stand in gradients that other results gave. Values that nobody uses after a
 * graph break are such results. The graph without them is interpreted then. After parts.c, before
 * backward.c. */
#include "../dync.in.h"
#include "code.h"
DYNC__COLD

/* Its elements row by row, a reference. A small program has one way to such a copy. */
DYNC__FN dync__tensor *dync__aot_rows(dync__tensor *t)
{
    dync__arg arg = dync__arg_t(t);
    dync__tensor *rows = NULL;
    if (!DYNC__SMALLER(true, false)) return dync__contiguous_copy(t);
    return dync__op_run(DYNC__OP__clone_contiguous, 1, &arg, &rows) == DYNC_OK ? rows : NULL;
}

/* Is a NaN in one of them? Of those that are traced nobody knows; those of other devices are not
 * read. */
DYNC__FN bool dync__aot_any_nan(int n, dync__tensor *const *grad)
{
    bool nan = false;
    for (int i = 0; i < n && !nan; i++) {
        if (grad[i] && (grad[i]->flags & DYNC__T_FAKE)) return true;
        if (!grad[i] || !dync__device_is(grad[i]->device, DYNC__DEV_HOST)) continue;
        dync__tensor *dense = dync__layout_is_contiguous(&grad[i]->lay) ? NULL
                                                                        : dync__aot_rows(grad[i]);
        const dync__tensor *t = dense ? dense : grad[i];
        nan = dync__any_nan(t->dtype, dync__tensor_data(t), t->numel);
        dync__unref(dense);
    }
    return nan;
}

/* What a node has to do with tangents, by its index: of none, of those that arrived, too, or of
 * absent ones alone. */
enum { DYNC__ABSENT_FREE, DYNC__ABSENT_ZERO, DYNC__ABSENT_SOME };
static void dync__absent_join(void *user, dync__arg *a)
{
    dync__absent *x = user;
    x->here = DYNC__MAX(x->here, x->what[a->as.node->index]);
}

/* Zeros of that shape. */
DYNC__FN dync__node *dync__absent_zeros(dync__rewrite *r, const dync__info *of)
{
    dync__info info = *of;
    info.alias = -1;
    info.view = false;
    if (dync__layout_contiguous(&info.lay, info.lay.ndim, of->lay.shape) != DYNC_OK) return NULL;
    dync__arg args[3] = {dync__arg_dims(info.lay.ndim, info.lay.shape), dync__arg_dtype(info.dtype),
                         dync__arg_device(info.device)};
    return dync__graph_call(r->to, DYNC__USED(DYNC__OP_zeros), 3, args, 1, &info, NULL);
}

/* Gradients are linear in tangents: what depends on absent ones alone is zeros. */
DYNC__FN dync__node *dync__absent_node(dync__rewrite *r, dync__node *old)
{
    const dync__absent *x = r->user;
    if (!dync__node_is_call(old) || x->what[old->index] != DYNC__ABSENT_ZERO || old->nout != 1 ||
        !old->has_info)
        return dync__rewrite_copy(r, old);
    return dync__absent_zeros(r, &old->info[0]);
}

/* What each node of the part's graph has to do with tangents. absent: by tangent.
 *   ->  by the node's index, of n + 1 bytes; NULL: no memory */
DYNC__FN char *dync__absent_marks(const dync__graph *from, const dync__aot_part *p,
                                  const bool *absent)
{
    dync__absent x = {dync__calloc((size_t)from->node.n + 1), 0};
    for (int i = 0, k = -p->n_saved; i < from->node.n && x.what; i++) {
        dync__node *n = from->node.at[i];
        x.here = DYNC__ABSENT_FREE;
        if (n->kind == DYNC__N_PLACEHOLDER) {
            if (k >= 0) x.here = absent[k] ? DYNC__ABSENT_ZERO : DYNC__ABSENT_SOME;
            k++;
        } else {
            dync__node_each_input(n, dync__absent_join, &x);
        }
        x.what[n->index] = x.here;
    }
    return x.what;
}

/* absent: by tangent. value: of the symbols of the part's graph, or NULL. */
DYNC__FN dync_status dync__aot_without(const dync__aot_part *p, const int64_t *value,
                                       const bool *absent, dync__graph **out)
{
    dync__graph *numbers = NULL;
    *out = NULL;
    if (!DYNC__SYM_NONE && p->bw->syms) DYNC__TRY(dync__graph_concrete(p->bw, value, &numbers));
    dync__graph *from = numbers ? numbers : p->bw;
    dync__absent x = {dync__absent_marks(from, p, absent), 0};
    dync_status status = x.what ? dync__graph_rewrite(from, dync__absent_node, &x, out)
                                : DYNC_ERR_MEMORY;
    dync__free(x.what, (size_t)from->node.n + 1);
    dync__graph_unref(numbers);
    return status;
}

/* ---- what only absent ones ask for ----------------------------------------------------------- */
enum {
    DYNC__ABSENT_READ = 4
}; /* beside what a node is: a gradient that is more than zeros needs it */
static void dync__absent_read(void *user, dync__arg *a)
{
    char *what = (char *)user + a->as.node->index;
    if (*what != DYNC__ABSENT_ZERO) *what |= DYNC__ABSENT_READ;
}

/* What was saved for gradients that did not arrive may have been written since: with zeros for
 * them it is multiplied by zeros. Those are values that nobody uses after a graph break, which a
 * plain run would not have asked for. Is it so for all that was written? */
DYNC__FN bool dync__aot_spared(const dync__aot_part *p, const bool *absent, const bool *written)
{
    char *what = dync__absent_marks(p->bw, p, absent);
    bool spared = what != NULL;
    for (int i = p->bw->node.n; what && i-- > 0;) {
        dync__node *n = p->bw->node.at[i];
        if (n->kind == DYNC__N_OUTPUT || (what[n->index] & DYNC__ABSENT_READ))
            dync__node_each_input(n, dync__absent_read, what);
    }
    for (int i = 0, k = 0; what && k < p->n_saved && i < p->bw->node.n; i++) {
        const dync__node *n = p->bw->node.at[i];
        if (n->kind != DYNC__N_PLACEHOLDER) continue;
        if (written[k++] && (what[n->index] & DYNC__ABSENT_READ)) spared = false;
    }
    dync__free(what, (size_t)p->bw->node.n + 1);
    return spared;
}
