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
    int64_t step = select ? 1 : a[5].as.i;
    if (!g || dim < 0 || dim >= ndim || step < 1) return NULL;
    int axis = t->axis[dim];
    int64_t all = n->info[0].lay.shape[dim], size = select ? 1 : g->info[0].lay.shape[dim];
    if (dync__is_token(all) || dync__is_token(size)) return NULL;
    start = DYNC__MIN(start < 0 ? start + all : start, all);
    if (start < 0) start = 0;
    if (size && (start >= all || size - 1 > (all - 1 - start) / step)) return NULL;
    t->start[axis] += start * t->step[axis];
    t->step[axis] = size > 1 ? step * t->step[axis] : 1;
    t->size[axis] = size;
    for (int d = (int)dim; select && d < ndim - 1; d++) t->axis[d] = t->axis[d + 1];
    return g;
}

/* inside: as the box that it is; else as a whole */
static dync__sum_term dync__sum_term_of(dync__node *n, bool inside)
{
    const dync__layout *lay = &n->info[0].lay;
    dync__sum_term t = {.value = n, .leaf = n};
    for (int d = 0; d < lay->ndim; d++) t.size[d] = lay->shape[d], t.axis[d] = d, t.step[d] = 1;
    for (dync__node *in; inside && (in = dync__sum_inside(&t, t.value));) t.value = in;
    t.rank = t.value->info[0].lay.ndim;
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
        if (s->term.at[i].leaf == n) return *out = ~i, true;
    dync__sum_term t = dync__sum_term_of(n, true);
    *out = ~s->term.n;
    return dync__avec_push(s->arena, &s->term, t);
}

/* ---- axes ------------------------------------------------------------------------------------ */
/* The step of the slices along dim d; 1: none has one. 0: they do not fit: terms have different
 * ones, or begin and end between them. */
static int64_t dync__sum_step(const dync__sum *s, int d)
{
    int64_t step = 1;
    for (int i = 0; i < s->term.n; i++) {
        int64_t its = s->term.at[i].step[d];
        if (its > 1 && step > 1 && its != step) return 0;
        step = DYNC__MAX(step, its);
    }
    if (step == 1) return 1;
    for (int k = 0; k < s->ndim; k++)
        if (dync__is_token(s->shape[k])) return 0;
    for (int i = 0; i < s->term.n; i++) {
        const dync__sum_term *t = &s->term.at[i];
        if (t->step[d] == 1 && t->size[d] > 1 && (t->start[d] % step || t->size[d] % step))
            return 0;
    }
    return s->shape[d] % step ? 0 : step;
}

/* Term t, whose axes were dims, after dims of a step became two. */
static void dync__sum_refine(dync__sum_term *t, int ndim, const int64_t *step)
{
    dync__sum_term old = *t;
    t->rank = 0;
    for (int d = 0, a = 0, v = 0; d < ndim; d++, a++) {
        bool has = v < old.rank && old.axis[v] == d,
             rows = step[d] > 1 && old.step[d] == 1 && old.size[d] > 1;
        v += has;
        t->start[a] = old.start[d] / step[d];
        t->size[a] = rows ? old.size[d] / step[d] : old.size[d];
        t->axis[t->rank] = a;
        t->view[t->rank] = t->size[a];
        t->rank += has;
        if (step[d] == 1) continue;
        t->start[++a] = rows ? 0 : old.start[d] % step[d];
        t->size[a] = rows ? step[d] : 1;
        t->axis[t->rank] = a;
        t->view[t->rank] = step[d];
        t->rank += rows;
        t->viewed |= rows;
    }
}

/* Slices of a step are boxes where every step is a row. Those that cannot be are whole terms. */
static void dync__sum_axes(dync__sum *s)
{
    int64_t step[DYNC_MAX_DIMS], shape[DYNC_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < s->ndim; d++) {
        int64_t k = dync__sum_step(s, d);
        if (k > 1 && s->ndim + n + 1 > DYNC_MAX_DIMS) k = 0;
        for (int i = 0; k == 0 && i < s->term.n; i++)
            if (s->term.at[i].step[d] > 1)
                s->term.at[i] = dync__sum_term_of(s->term.at[i].leaf, false);
        step[d] = DYNC__MAX(k, 1);
        n += step[d] > 1;
    }
    if (!(s->stepped = n > 0)) return;
    for (int i = 0; i < s->term.n; i++) dync__sum_refine(&s->term.at[i], s->ndim, step);
    n = 0;
    for (int d = 0; d < s->ndim; d++) {
        shape[n++] = s->shape[d] / step[d];
        if (step[d] > 1) shape[n++] = step[d];
    }
    memcpy(s->shape, shape, (size_t)n * sizeof *shape);
    s->ndim = n;
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
    const dync__layout *lay = &root->info[0].lay;
    memcpy(s->shape, lay->shape, sizeof s->shape);
    s->ndim = lay->ndim;
    dync__sum_axes(s);
    for (int i = 0; i < s->term.n; i++) s->n_whole += s->term.at[i].value == s->term.at[i].leaf;
    return ok;
}
#endif
