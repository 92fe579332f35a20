/* aot/alias.c: what the inputs and outputs of a graph share: memory, history, each other. Inputs on
 * one memory of which one is written become views of a base, or of one row of elements; outputs
 * that lie on the memory of an input or of each other are made anew as views of the right thing at
 * every call. After functionalize.c, before joint.c.
 *
 * Idea: PyTorch's synthetic bases and output alias info (torch/_functorch/_aot_autograd/), with
 * fakes that really share storages. */
#include "../dync.in.h"
#include "aot.h"
#include "../autograd/node.h"
DYNC__LEAN

/* ---- inputs: what the user's graph sees ------------------------------------------------------ */
static dync_status dync__aot_entry_run(void *state, int n_out, dync__tensor *const *grad_out,
                                       int n_in, const bool *needed, dync__tensor **grad_in,
                                       bool create_graph)
{
    (void)state, (void)n_out, (void)n_in, (void)create_graph;
    if (grad_out[0] && needed[0]) dync__ref(grad_in[0] = grad_out[0]);
    return DYNC_OK;
}
static dync_status dync__aot_entry_visit(void *state, dync__gvisitor *v)
{
    (void)state, (void)v;
    return DYNC_OK;
}
static const dync__gnode_class dync__aot_entry_class = {DYNC__TEXT("Entry"), dync__aot_entry_run,
                                                        NULL, NULL, dync__aot_entry_visit};
DYNC__FN bool dync__aot_is_entry(const struct dync__gnode *node)
{
    return node->cls == &dync__aot_entry_class;
}

DYNC__FN dync__tensor *dync__aot_entry(dync__tensor *t)
{
    dync__tensor *child = dync__tensor_alias(t, t->dtype, &t->lay);
    if (!child ||
        dync__tape_attach(&dync__aot_entry_class, NULL, 1, &t, 1, &child, NULL) == DYNC_OK)
        return child;
    dync__unref(child);
    return NULL;
}

/* A leaf cannot be written; the real input may be none. In graphs that write the program works on a
 * child of the leaf on the same memory. */
DYNC__FN dync__tensor *dync__joint_entry(dync__joint *j, dync__tensor *leaf)
{
    if (!j->writes) return leaf;
    dync__tensor *t = dync__functional_alias(&j->f, leaf, &leaf->lay);
    bool off = dync__grad_off(false);
    dync_status status = t ? dync__tape_attach(&dync__aot_entry_class, NULL, 1, &leaf, 1, &t, NULL)
                           : DYNC_ERR_MEMORY;
    dync__grad_off(off);
    return status == DYNC_OK ? t : NULL;
}

static dync_status dync__joint_add_actual(dync__joint *j, const dync__aot_actual *a,
                                          dync__node *node)
{
    if (!dync__vec_push(&j->into->actual, *a)) return DYNC_ERR_MEMORY;
    return dync__vec_push(&j->into->lifted, node) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* One input of the forward graph; it is leaf and seen of actual input i. */
static dync_status dync__joint_placeholder(dync__joint *j, int i, const char *name,
                                           const dync__info *info, bool requires_grad)
{
    dync__tensor *t = dync__functional_input(&j->f, name, info, requires_grad, i);
    if (!t) return DYNC_ERR_MEMORY;
    j->into->lifted.at[i] = t->node;
    j->into->actual.at[i].passed = true;
    j->leaf[i] = requires_grad ? t : NULL;
    const dync__aot_gradients *used = dync__aot_gradients_used;
    j->seen[i] = requires_grad && used ? used->entry(j, t) : t;
    return j->seen[i] ? DYNC_OK : DYNC_ERR_MEMORY;
}

static const dync__tensor *dync__joint_example(const dync__joint *j, int i)
{
    if (!j->examples || i >= j->into->n_inputs || j->examples[i].kind != DYNC_KIND_TENSOR)
        return NULL;
    return dync__peek(j->examples[i].as.t);
}

/* Surely no element of one in the other: the one ends before the other begins. */
DYNC__FN bool dync__aot_apart(const dync__tensor *x, const dync__tensor *y)
{
    if (!x->numel || !y->numel) return true;
    return x->dtype == y->dtype && !dync__layout_has_tokens(&x->lay) &&
           !dync__layout_has_tokens(&y->lay) &&
           (dync__layout_span(&x->lay) <= y->lay.offset ||
            dync__layout_span(&y->lay) <= x->lay.offset);
}

/* Inputs on one storage that lie beside each other stay inputs of their own, all of them or none;
 * not where a write may change the history of what they are views of. */
static void dync__joint_beside(dync__joint *j)
{
    dync__aot_actual *a = j->into->actual.at;
    int n = j->into->n_inputs;
    for (int i = 0; i < n && !j->training; i++) {
        const dync__tensor *x = dync__joint_example(j, i);
        int others = 0;
        bool apart = x != NULL;
        for (int k = 0; k < n && apart; k++) {
            const dync__tensor *y = dync__joint_example(j, k);
            if (!y || y->storage != x->storage) continue;
            others += x != y;
            for (int m = 0; m < k && apart; m++) {
                const dync__tensor *z = dync__joint_example(j, m);
                apart = !z || z == y || z->storage != x->storage || dync__aot_apart(y, z);
            }
        }
        a[i].beside = apart && others;
    }
}

/* Who shares memory: group is the first input on the same one (marked -2 - first), same_as the
 * first that is the same tensor. */
static void dync__joint_share(dync__joint *j)
{
    dync__aot_actual *a = j->into->actual.at;
    dync__joint_beside(j);
    for (int i = 0; i < j->into->n_inputs; i++) {
        const dync__tensor *x = dync__joint_example(j, i);
        for (int k = 0; k < i && x && a[i].same_as < 0; k++) {
            const dync__tensor *y = dync__joint_example(j, k);
            if (x == y) {
                a[i].same_as = k;
                a[i].group = -1;
            } else if (y && a[k].same_as < 0 && x->storage == y->storage && !a[i].beside &&
                       a[i].group == -1) {
                if (a[k].group == -1) a[k].group = -2 - k;
                a[i].group = a[k].group;
            }
        }
        if (x && j->as_rows && a[i].same_as < 0 && a[i].group == -1 &&
            !dync__layout_is_dense(&x->lay))
            a[i].group = -2 - i;
    }
}

/* The tensor that every input of a group with a history is a view of, or is; NULL where there is
 * none. Others only lie on its memory. */
static dync__tensor *dync__group_base(const dync__joint *j, int mark)
{
    dync__tensor *base = NULL;
    for (int i = 0; i < j->into->n_inputs && j->training; i++) {
        if (j->into->actual.at[i].group != mark) continue;
        const dync__tensor *x = dync__joint_example(j, i);
        if (x->grad && x->grad->base && x->grad->view_kind != DYNC__VIEW_NO_GRAD) {
            if (x->grad->view_kind != DYNC__VIEW_NORMAL || (base && base != x->grad->base))
                return NULL;
            base = x->grad->base;
        }
    }
    return base;
}

DYNC__FN bool dync__aot_views(const dync__tensor *x, const dync__tensor *base)
{
    return x->grad && x->grad->base == base && x->grad->view_kind == DYNC__VIEW_NORMAL;
}

/* An input on the memory of another one, with a history of its own or none. */
static dync__tensor *dync__group_alias(dync__joint *j, int i, dync__tensor *on)
{
    dync__tensor *t = dync__functional_alias(&j->f, on, &j->into->actual.at[i].lay);
    if (!t || !j->training || !dync__tensor_requires_grad(dync__joint_example(j, i))) return t;
    dync__tensor_requires_too(t);
    j->leaf[i] = t;
    return dync__aot_gradients_used ? dync__aot_gradients_used->entry(j, t) : t;
}

static dync_status dync__group_on_base(dync__joint *j, int mark, dync__tensor *base)
{
    dync__aot_graphs *g = j->into;
    int b = -1;
    for (int i = 0; i < g->n_inputs; i++)
        if (dync__joint_example(j, i) == base && g->actual.at[i].same_as < 0) b = i;
    if (b < 0) {
        dync__aot_actual a = {.kind = DYNC__AOT_BASE,
                              .from = -2 - mark,
                              .same_as = -1,
                              .group = -1,
                              .lay = base->lay};
        dync__info info = {
            .dtype = base->dtype, .device = base->device, .lay = base->lay, .alias = -1};
        b = g->actual.n;
        DYNC__TRY(dync__joint_add_actual(j, &a, NULL));
        DYNC__TRY(dync__joint_placeholder(j, b, "base", &info, dync__tensor_requires_grad(base)));
    }
    bool off = dync__grad_off(false);
    for (int i = 0; i < g->n_inputs; i++) {
        if (g->actual.at[i].group != mark) continue;
        g->actual.at[i].group = b;
        if (i == b) continue;
        if ((g->actual.at[i].apart = dync__joint_example(j, i) != base &&
                                     !dync__aot_views(dync__joint_example(j, i), base))) {
            if (!(j->seen[i] = dync__group_alias(j, i, j->seen[b]))) return DYNC_ERR_MEMORY;
            continue;
        }
        const dync__layout *lay = &g->actual.at[i].lay;
        dync_dims size = {.n = lay->ndim}, stride = {.n = lay->ndim};
        memcpy(size.d, lay->shape, (size_t)lay->ndim * sizeof *lay->shape);
        memcpy(stride.d, lay->stride, (size_t)lay->ndim * sizeof *lay->stride);
        j->seen[i] =
            dync__open(dync_as_strided(dync__handle(j->seen[b]), size, stride, lay->offset));
    }
    dync__grad_off(off);
    return DYNC_OK;
}

/* Two members with one history cannot be parts of a row, which has none. */
static bool dync__group_torn(const dync__joint *j, int mark)
{
    for (int i = 0; i < j->into->n_inputs && j->training; i++)
        for (int k = 0; k < i && j->into->actual.at[i].group == mark; k++)
            if (j->into->actual.at[k].group == mark &&
                dync__tensor_shares_history(dync__joint_example(j, i), dync__joint_example(j, k)))
                return true;
    return false;
}

static dync_status dync__group_as_row(dync__joint *j, int mark)
{
    if (dync__group_torn(j, mark))
        return dync__functional_refuse(&j->f, "inputs on one memory "
                                              "with histories of "
                                              "several kinds, one of "
                                              "them written");
    dync__aot_graphs *g = j->into;
    dync__aot_actual a = {.kind = DYNC__AOT_FLAT, .from = -2 - mark, .same_as = -1, .group = -1};
    const dync__tensor *first = dync__joint_example(j, a.from);
    int64_t low = INT64_MAX, high = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        if (g->actual.at[i].group != mark) continue;
        const dync__tensor *x = dync__joint_example(j, i);
        if (x->dtype != first->dtype)
            return dync__functional_refuse(&j->f, "inputs of several "
                                                  "dtypes on one "
                                                  "memory, one of them "
                                                  "written");
        low = DYNC__MIN(low, x->lay.offset);
        high = DYNC__MAX(high, dync__layout_span(&x->lay));
    }
    int64_t n = DYNC__MAX(high - low, 0);
    DYNC__TRY(dync__layout_contiguous(&a.lay, 1, &n));
    a.lay.offset = low;
    dync__info info = {.dtype = first->dtype, .device = first->device, .lay = a.lay, .alias = -1};
    int b = g->actual.n;
    DYNC__TRY(dync__joint_add_actual(j, &a, NULL));
    DYNC__TRY(dync__joint_placeholder(j, b, "base", &info, false));
    for (int i = 0; i < g->n_inputs; i++) {
        if (g->actual.at[i].group != mark) continue;
        g->actual.at[i].group = b;
        if (!(j->seen[i] = dync__group_alias(j, i, j->seen[b]))) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

static dync_status dync__joint_groups(dync__joint *j)
{
    for (int i = 0; i < j->into->n_inputs; i++) {
        int mark = j->into->actual.at[i].group;
        if (mark > -2) continue;
        dync__tensor *base = dync__group_base(j, mark);
        DYNC__TRY(base ? dync__group_on_base(j, mark, base) : dync__group_as_row(j, mark));
    }
    for (int i = 0; i < j->into->n_inputs; i++)
        if (j->into->actual.at[i].same_as >= 0) j->seen[i] = j->seen[j->into->actual.at[i].same_as];
    return DYNC_OK;
}

/* An input that is passed as it is: alone on its memory, or the base of its group. */
static bool dync__group_passed(const dync__joint *j, int i)
{
    const dync__aot_actual *a = &j->into->actual.at[i];
    if (a->same_as >= 0) return false;
    return a->group == -1 || dync__group_base(j, a->group) == dync__joint_example(j, i);
}

/* By need: of graphs that write, in programs that make views (functionalize_write.c). */
typedef struct dync__joint_sharing {
    void (*share)(dync__joint *);
    bool (*passed)(const dync__joint *, int i);
    dync_status (*groups)(dync__joint *);
} dync__joint_sharing;
static const dync__joint_sharing dync__joint_sharing_all = {dync__joint_share, dync__group_passed,
                                                            dync__joint_groups};
static const dync__joint_sharing *DYNC__BY_NEED dync__joint_shares =
    DYNC__AT_FIRST(&dync__joint_sharing_all);
DYNC__FN void dync__joint_use_sharing(void)
{
    DYNC__PUT(dync__joint_shares, &dync__joint_sharing_all);
}

/* By need: of graphs that write, in programs that make no views by name. */
DYNC__UNUSED static dync_status dync__joint_unshared(dync__joint *j)
{
    for (int i = 0; i < j->into->n_inputs; i++)
        for (int k = 0; k < i; k++) {
            const dync__tensor *x = dync__joint_example(j, i), *y = dync__joint_example(j, k);
            if (x && y && x->storage == y->storage)
                return dync__functional_refuse(&j->f, dync__functional_unviewed);
        }
    return DYNC_OK;
}
static dync_status (*DYNC__BY_NEED dync__joint_shares_none)(dync__joint *) = NULL;
DYNC__FN void dync__joint_use_none(void)
{
    DYNC__PUT(dync__joint_shares_none, dync__joint_unshared);
}

DYNC__FN dync_status dync__joint_inputs(dync__joint *j, const dync__graph *g)
{
    dync__aot_graphs *into = j->into;
    size_t room = (size_t)(2 * g->n_inputs + 1); /* every input may need a base */
    j->leaf = dync__arena_alloc(&j->arena, room * sizeof *j->leaf);
    j->seen = dync__arena_alloc(&j->arena, room * sizeof *j->seen);
    if (!j->leaf || !j->seen) return DYNC_ERR_MEMORY;
    for (int i = 0; i < into->n_inputs; i++) {
        const dync__tensor *x = dync__joint_example(j, i);
        dync__aot_actual a = {.kind = DYNC__AOT_USER, .from = i, .same_as = -1, .group = -1};
        if (x) a.lay = x->lay;
        DYNC__TRY(dync__joint_add_actual(j, &a, NULL));
    }
    for (int i = 0; i < j->n_attr; i++) {
        dync__aot_actual a = {
            .kind = DYNC__AOT_ATTR, .from = -1, .same_as = -1, .group = -1, .tensor = j->attr[i]};
        DYNC__TRY(dync__joint_add_actual(j, &a, NULL));
        dync__ref(j->attr[i]);
    }
    const dync__joint_sharing *shares = j->writes ? dync__joint_shares : NULL;
    if (shares) shares->share(j);
    if (j->writes && !shares && dync__joint_shares_none) DYNC__TRY(dync__joint_shares_none(j));
    int k = 0;
    for (int i = 0; i < g->node.n && k < g->n_inputs; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind != DYNC__N_PLACEHOLDER) continue;
        if (!n->has_info) return dync__functional_refuse(&j->f, "an input that is no tensor");
        const dync__tensor *x = dync__joint_example(j, k);
        bool
            requires
        = j->training && (n->requires_grad[0] || (x && dync__tensor_requires_grad(x)));
        if (k >= into->n_inputs || !shares || shares->passed(j, k))
            DYNC__TRY(dync__joint_placeholder(j, k, n->name, &n->info[0], requires));
        k++;
    }
    if (shares) DYNC__TRY(shares->groups(j));
    j->n_actual = into->actual.n;
    return DYNC_OK;
}
