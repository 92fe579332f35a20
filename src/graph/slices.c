/* graph/slices.c: the gradient of a tensor that is read slice by slice is a sum of arrays of zeros
 * with the gradient of a slice in each. Here the sum is made part by part: where the edges of the
 * slices cut the result, each part is the sum of what the slices that reach it have there, in the
 * same order, and the parts are concatenated. T slices that do not overlap cost one array instead
 * of T, and nothing is added. After cse.c and dce.c.
 *
 *   select_backward(g0, 0) + select_backward(g1, 1)      cat(g0, g1)
 *   slice_backward(a, 0, n - 1) + slice_backward(b, 1, n)
 *                                        cat(a[0:1], a[1:n-1] + b[0:n-2], b[n-2:n-1])
 *
 * A tree of additions is taken whole: those inside have no other reader. Its leaves are terms: a
 * box of the result with a value for it; slices of slices are one box, and those of step k are
 * boxes of the result seen as rows of k. Of a term that is the whole result every part has its
 * part. */
#include "../dync.in.h"
#include "slices.h"
DYNC__COLD
#if defined(DYNC_SMALL)
/* A small program has concatenation where it calls it: as with DYNC_DISABLE=slices. */
DYNC__FN dync_status dync__graph_slices(dync__graph *g) { return (void)g, DYNC_OK; }
#else

typedef struct dync__sum_region {
    int64_t start[DYNC_MAX_DIMS], size[DYNC_MAX_DIMS];
} dync__sum_region;

static dync__node *dync__sum_root(const dync__sum *s) { return s->add.at[s->add.n - 1].node; }

/* ---- new nodes ------------------------------------------------------------------------------- */
/* A call whose first argument is `in`, or a list of several; the others follow it. */
static dync__node *dync__sum_call(dync__sum *s, int op, int n_in, dync__node *const *in, int nargs,
                                  dync__arg *args)
{
    return dync__pass_call(s->g, s->arena, op, n_in, in, nargs, args, dync__sum_root(s));
}

static dync__node *dync__sum_zeros(dync__sum *s, const dync__sum_region *r)
{
    const dync__info *info = &dync__sum_root(s)->info[0];
    dync__arg args[3] = {dync__arg_dims(s->ndim, r->size), dync__arg_dtype(info->dtype),
                         dync__arg_device(info->device)};
    return dync__sum_call(s, DYNC__USED(DYNC__OP_zeros), 0, NULL, 3, args);
}

/* What term t has in a region, which lies in its box. */
static dync__node *dync__sum_part(dync__sum *s, const dync__sum_term *t, const dync__sum_region *r)
{
    dync__node *n = t->value->mark ? t->value->mark : t->value;
    dync__arg view[2] = {{0}, dync__arg_dims(t->rank, t->view)};
    if (t->viewed) n = dync__sum_call(s, DYNC__USED(DYNC__OP_view), 1, &n, 2, view);
    for (int d = 0; d < t->rank && n; d++) {
        int axis = t->axis[d];
        int64_t start = r->start[axis] - t->start[axis];
        dync__arg args[5] = {{0},
                             dync__arg_i(d),
                             dync__arg_i(start),
                             dync__arg_i(start + r->size[axis]),
                             dync__arg_i(1)};
        if (r->size[axis] != t->size[axis])
            n = dync__sum_call(s, DYNC__USED(DYNC__OP_slice), 1, &n, 5, args);
    }
    for (int axis = 0, d = 0; axis < s->ndim && n; axis++) {
        dync__arg args[2] = {{0}, dync__arg_i(axis)};
        if (d < t->rank && t->axis[d] == axis)
            d++;
        else
            n = dync__sum_call(s, DYNC__USED(DYNC__OP_unsqueeze), 1, &n, 2, args);
    }
    return n;
}

/* ---- regions --------------------------------------------------------------------------------- */
static bool dync__sum_reaches(const dync__sum *s, const dync__sum_term *t,
                              const dync__sum_region *r)
{
    for (int d = 0; d < s->ndim; d++) {
        int64_t from = t->start[d], to = from + t->size[d], end = r->start[d] + r->size[d];
        if (!dync__is_token(t->size[d]) && (from == to || to <= r->start[d] || from >= end))
            return false;
    }
    return true;
}

/* The sum there: additions in their order, without the terms that are zero. */
static dync__node *dync__sum_here(dync__sum *s, const dync__sum_region *r)
{
    for (int i = 0; i < s->term.n; i++) {
        dync__sum_term *t = &s->term.at[i];
        t->here = NULL;
        if (!dync__sum_reaches(s, t, r)) continue;
        s->parts++;
        if (!s->counting && !(t->here = dync__sum_part(s, t, r))) return NULL;
    }
    for (int i = 0; i < s->add.n && !s->counting; i++) {
        dync__sum_add *a = &s->add.at[i];
        dync__node *in[2];
        for (int k = 0; k < 2; k++)
            in[k] = a->operand[k] < 0 ? s->term.at[~a->operand[k]].here
                                      : s->add.at[a->operand[k]].here;
        dync__arg args[2] = {{0}};
        a->here = !in[0]   ? in[1]
                  : !in[1] ? in[0]
                           : dync__sum_call(s, DYNC__USED(DYNC__OP_add), 2, in, 2, args);
        if (in[0] && in[1] && !a->here) return NULL;
    }
    dync__node *sum = s->counting ? NULL : s->add.at[s->add.n - 1].here;
    return s->counting || sum ? sum : dync__sum_zeros(s, r);
}

static int dync__sum_nearer(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Where edges of terms cut the region along dim d, with its own ends. Returns how many, -1: no
 * memory. */
static int dync__sum_cuts(dync__sum *s, const dync__sum_region *r, int d, int64_t **out)
{
    int64_t *cut = dync__arena_alloc(s->arena, (size_t)(2 * s->term.n + 2) * sizeof *cut);
    int64_t end = r->start[d] + r->size[d];
    int n = 0, kept = 0;
    if (!cut) return -1;
    cut[n++] = r->start[d];
    cut[n++] = end;
    for (int i = 0; i < s->term.n; i++) {
        const dync__sum_term *t = &s->term.at[i];
        int64_t from = t->start[d], to = from + t->size[d];
        if (!dync__sum_reaches(s, t, r)) continue;
        if (from > r->start[d]) cut[n++] = from;
        if (to < end) cut[n++] = to;
    }
    qsort(cut, (size_t)n, sizeof *cut, dync__sum_nearer);
    for (int i = 0; i < n; i++)
        if (!kept || cut[kept - 1] != cut[i]) cut[kept++] = cut[i];
    *out = cut;
    return kept;
}

/* The sum over a region, by dims from d on; recursion: by dim. NULL: no memory, or only counted. */
static dync__node *dync__sum_region_of(dync__sum *s, const dync__sum_region *r, int d)
{
    int64_t *cut = NULL;
    int n = 1;
    for (; d < s->ndim && n <= 2; d++) {
        if (dync__is_token(s->shape[d])) continue;
        n = dync__sum_cuts(s, r, d, &cut);
        if (n < 0) return NULL;
        if (n > 2) break;
    }
    if (n <= 2) return dync__sum_here(s, r);
    dync__node **part = dync__arena_alloc(s->arena, (size_t)n * sizeof *part);
    for (int i = 0; part && i < n - 1; i++) {
        dync__sum_region inner = *r;
        inner.start[d] = cut[i];
        inner.size[d] = cut[i + 1] - cut[i];
        part[i] = dync__sum_region_of(s, &inner, d + 1);
        if (!part[i] && !s->counting) return NULL;
        if (s->parts > (int64_t)DYNC__SLICE_PARTS * s->term.n) return NULL;
    }
    dync__arg args[2] = {{0}, dync__arg_i(d)};
    return !part || s->counting ? NULL
                                : dync__sum_call(s, DYNC__USED(DYNC__OP_cat), n - 1, part, 2, args);
}

/* ---- which sums ------------------------------------------------------------------------------ */
/* Slices among few whole terms, of an array that has elements, in not too many parts. */
static bool dync__sum_pays(dync__sum *s)
{
    const dync__layout *lay = &dync__sum_root(s)->info[0].lay;
    dync__sum_region all = {{0}, {0}};
    if (s->n_whole == s->term.n || s->n_whole > DYNC__SLICE_WHOLE || !dync__pass_in_rows(lay))
        return false;
    for (int d = 0; d < s->ndim; d++)
        if (!(all.size[d] = s->shape[d])) return false;
    s->counting = true;
    s->parts = 0;
    (void)dync__sum_region_of(s, &all, 0);
    s->counting = false;
    return s->parts <= (int64_t)DYNC__SLICE_PARTS * s->term.n;
}

/* The result, of more axes than dims, in its own shape. */
static dync__node *dync__sum_flat(dync__sum *s, dync__node *n)
{
    const dync__layout *lay = &dync__sum_root(s)->info[0].lay;
    dync__arg whole[1] = {{0}}, args[2] = {{0}, dync__arg_dims(lay->ndim, lay->shape)};
    if (!dync__layout_is_contiguous(&n->info[0].lay))
        n = dync__sum_call(s, DYNC__USED(DYNC__OP__clone_contiguous), 1, &n, 1, whole);
    return n ? dync__sum_call(s, DYNC__USED(DYNC__OP_view), 1, &n, 2, args) : NULL;
}

/* What stands for the sum: of its type, and memory of its own. */
static dync__node *dync__sum_make(dync__sum *s)
{
    const dync__node *root = dync__sum_root(s);
    const dync__info *want = &root->info[0];
    dync__sum_region all = {{0}, {0}};
    dync__arg args[1] = {{0}};
    memcpy(all.size, s->shape, sizeof all.size);
    s->parts = INT64_MIN;
    dync__node *n = dync__sum_region_of(s, &all, 0);
    if (!n || n->op != DYNC__OP_cat) return NULL;
    if (s->stepped) n = dync__sum_flat(s, n);
    if (n && !dync__layout_equal(&n->info[0].lay, &want->lay))
        n = dync__sum_call(s, DYNC__USED(DYNC__OP__clone_contiguous), 1, &n, 1, args);
    if (!n || !dync__layout_equal(&n->info[0].lay, &want->lay)) return NULL;
    n->apart = root->apart;
    n->requires_grad[0] = root->requires_grad[0];
    return n;
}

/* The sums of the graph, in order. */
typedef struct dync__sums {
    dync__arena arena;
    DYNC__VEC(dync__sum *) at;
} dync__sums;

static bool dync__sums_find(dync__sums *all, dync__graph *g)
{
    int *place = dync__arena_alloc(&all->arena, (size_t)(g->node.n + 1) * sizeof *place);
    if (!place) return false;
    memset(place, 0xff, (size_t)(g->node.n + 1) * sizeof *place);
    bool *inside = dync__arena_alloc(&all->arena, (size_t)g->node.n + 1);
    if (!inside) return false;
    for (int i = g->node.n - 1; i >= 0; i--) {
        dync__node *n = g->node.at[i];
        if (!dync__sum_adds(n)) continue;
        for (int k = 0; k < 2; k++)
            if (dync__sum_is_inside(n->args[k].as.node)) inside[n->args[k].as.node->index] = true;
    }
    for (int i = 0; i < g->node.n; i++) {
        if (inside[i] || !dync__sum_adds(g->node.at[i])) continue;
        dync__sum *s = dync__arena_alloc(&all->arena, sizeof *s);
        if (!s) return false;
        s->g = g;
        s->arena = &all->arena;
        if (!dync__sum_collect(s, g->node.at[i], place)) return false;
        if (dync__sum_pays(s) && !dync__avec_push(&all->arena, &all->at, s)) return false;
    }
    return true;
}

static void dync__sums_follow(void *user, dync__arg *a)
{
    (void)user;
    if (a->as.node->mark) a->as.node = a->as.node->mark;
}

/* The nodes again, in order, those of a sum in its place. mark: what stands for a node. */
static dync_status dync__sums_put(dync__sums *all, dync__graph *g)
{
    int n = g->node.n;
    dync__node **old = dync__arena_copy(&all->arena, g->node.at, (size_t)n * sizeof *old);
    if (!old) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) old[i]->mark = NULL;
    g->node.n = 0;
    for (int i = 0, k = 0; i < n; i++) {
        dync__node_each_input(old[i], dync__sums_follow, NULL);
        if (!dync__avec_push(&g->arena, &g->node, old[i])) return DYNC_ERR_MEMORY;
        if (k == all->at.n) continue;
        const dync__sum *s = all->at.at[k];
        if (s->add.at[s->add.n - 1].node == old[i]) old[i]->mark = dync__sum_make(all->at.at[k++]);
    }
    return g->failed ? DYNC_ERR_MEMORY : dync__graph_dce(g);
}

DYNC__FN dync_status dync__graph_slices(dync__graph *g)
{
    dync__sums all = {{0}, {0}};
    if (dync__graph_has_writes(g)) return DYNC_OK;
    dync__graph_renumber(g);
    dync_status status = dync__sums_find(&all, g) ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK && all.at.n) status = dync__sums_put(&all, g);
    dync__arena_free(&all.arena);
    return status;
}
#endif
