/* graph/slices_find.c: the additions and terms of a sum of gradients of slices. Before slices.c,
 * which see. */
#include "../dync.in.h"
#include "slices.h"
DYNC__COLD
#if !defined(DYNC_SMALL)

/* ---- terms ----------------------------------------------------------------------------------- */
static bool dync__sum_is_plain(const dync__arg *a)
{
    return a->kind == DYNC__A_INT && !dync__is_token(a->as.i);
}

/* The gradient that n, which is dim by dim of the result, puts into zeros, and where. NULL: it is
 * no slice, or one whose place is not known. */
static dync__node *dync__sum_inside(dync__sum_term *t, const dync__node *n)
{
    bool select = n->op >= 0 && n->op == DYNC__OP_select_backward;
    if (!select && (n->op < 0 || n->op != DYNC__OP_slice_backward)) return NULL;
    const dync__arg *a = n->args;
    dync__node *g = a[0].kind == DYNC__A_NODE ? a[0].as.node : NULL;
    int ndim = n->info[0].lay.ndim;
    for (int i = 2; i < n->nargs; i++)
        if (!dync__sum_is_plain(&a[i])) return NULL;
    int64_t dim = a[2].as.i + (a[2].as.i < 0 ? ndim : 0), start = a[3].as.i;
    if (!g || dim < 0 || dim >= ndim || (!select && a[5].as.i != 1)) return NULL;
    int axis = t->axis[dim];
    int64_t all = n->info[0].lay.shape[dim], size = select ? 1 : g->info[0].lay.shape[dim];
    if (dync__is_token(all) || dync__is_token(size)) return NULL;
    start = DYNC__MIN(start < 0 ? start + all : start, all);
    if (start < 0) start = 0;
    if (start + size > all) return NULL;
    t->start[axis] += start;
    t->size[axis] = size;
    for (int d = (int)dim; select && d < ndim - 1; d++) t->axis[d] = t->axis[d + 1];
    return g;
}

static dync__sum_term dync__sum_term_of(dync__node *n)
{
    const dync__layout *lay = &n->info[0].lay;
    dync__sum_term t = {.value = n};
    for (int d = 0; d < lay->ndim; d++) t.size[d] = lay->shape[d], t.axis[d] = d;
    for (dync__node *in; (in = dync__sum_inside(&t, t.value));) t.value = in;
    return t;
}

/* ---- the tree -------------------------------------------------------------------------------- */
DYNC__FN bool dync__sum_adds(const dync__node *n)
{
    if (n->op < 0 || n->op != DYNC__OP_add || n->nargs != 2 || !n->has_info) return false;
    const dync__info *out = &n->info[0];
    for (int i = 0; i < 2; i++) {
        const dync__node *in = n->args[i].kind == DYNC__A_NODE ? n->args[i].as.node : NULL;
        if (!in || !in->has_info || in->nout != 1 || in->info[0].dtype != out->dtype ||
            in->info[0].device != out->device || in->info[0].lay.ndim != out->lay.ndim ||
            memcmp(in->info[0].lay.shape, out->lay.shape,
                   (size_t)out->lay.ndim * sizeof *out->lay.shape) != 0)
            return false;
    }
    return true;
}

DYNC__FN bool dync__sum_is_inside(const dync__node *n)
{
    return n->n_users == 1 && !n->apart && dync__sum_adds(n);
}

static int dync__sum_earlier(const void *a, const void *b)
{
    const dync__sum_add *x = a, *y = b;
    return x->node->index - y->node->index;
}

/* place: by node, what an operand has for it; of terms those noted already. */
static bool dync__sum_operand(dync__sum *s, int *place, dync__node *n, int *out)
{
    if (place[n->index] >= 0) {
        *out = place[n->index];
        return true;
    }
    for (int i = s->term.n - 1; i >= 0 && n->n_users > 1; i--)
        if (s->term.at[i].here == n) return *out = ~i, true;
    dync__sum_term t = dync__sum_term_of(n);
    t.here = n;
    s->n_whole += t.value == n;
    *out = ~s->term.n;
    return dync__avec_push(s->arena, &s->term, t);
}

DYNC__FN bool dync__sum_collect(dync__sum *s, dync__node *root, int *place)
{
    bool ok = dync__avec_push(s->arena, &s->add, (dync__sum_add){.node = root});
    for (int i = 0; i < s->add.n && ok; i++)
        for (int k = 0; k < 2 && ok; k++) {
            dync__node *in = s->add.at[i].node->args[k].as.node;
            if (dync__sum_is_inside(in))
                ok = dync__avec_push(s->arena, &s->add, (dync__sum_add){.node = in});
        }
    if (!ok) return false;
    qsort(s->add.at, (size_t)s->add.n, sizeof *s->add.at, dync__sum_earlier);
    for (int i = 0; i < s->add.n; i++) place[s->add.at[i].node->index] = i;
    for (int i = 0; i < s->add.n && ok; i++)
        for (int k = 0; k < 2 && ok; k++)
            ok = dync__sum_operand(s, place, s->add.at[i].node->args[k].as.node,
                                   &s->add.at[i].operand[k]);
    for (int i = 0; i < s->add.n; i++) place[s->add.at[i].node->index] = -1;
    return ok;
}
#endif
