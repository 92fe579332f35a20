/* onnx/map_ensemble.c: TreeEnsemble (ai.onnx.ml 5), whose nodes and leaves are lists of their own,
 * as the numbered nodes of trees.h. After map_trees.c.
 *
 * A node that asks whether a feature is one of a set becomes a chain of nodes that ask for each of
 * its members; so nodes may have several parents, but every one of the file has one, and a leaf any
 * number. Leaves stand behind the nodes. */
#include "../dync.in.h"
#include "maps.h"
#include "trees.h"
DYNC__COLD

enum { DYNC__TREE_MEMBER = DYNC__TREE_LEAF };

/* The lists of the file; m nodes, leaves of weights, sets in a row, a NaN behind each */
typedef struct dync__ensemble {
    const dync__onnx_call *c;
    int64_t m, leaves, n_sets, n_roots;
    const int64_t *yes, *no, *yes_leaf, *no_leaf, *feature, *missing, *root, *target;
    double *mode, *split, *weight, *set;
    int64_t *first, *members; /* by node: its first of trees.h, and how many it becomes */
    int64_t *from;            /* by node: where its set begins */
} dync__ensemble;

/* The numbers of a tensor that is an attribute; *n 0: it is not there. NULL + error */
static double *dync__ensemble_reals(dync__trees *t, const char *name, int64_t *n)
{
    const dync__onnx_attribute *a = dync__oi_attribute(t->c, name);
    dync__onnx_files none = {0};
    dync__tensor *x = NULL;
    *n = 0;
    if (a && a->t && dync__onnx_tensor_make(a->t, &none, &x) != DYNC_OK) return NULL;
    if (x) *n = x->numel;
    double *out = dync__scope_alloc(((size_t)*n + 1) * sizeof *out);
    int bytes = x ? dync__dtype_info(x->dtype)->bytes : 0;
    for (int64_t i = 0; out && i < *n; i++)
        out[i] = dync__load_f64((char *)x->storage->data + i * bytes, x->dtype);
    if (x && x->dtype == DYNC_F64) t->wide = true;
    dync__unref(x);
    return out;
}

/* Reads the lists; all those of nodes have one length. */
static dync_status dync__ensemble_read(dync__ensemble *e, dync__trees *t)
{
    const struct {
        const char *name;
        const int64_t **at;
    } lists[] = {{"nodes_truenodeids", &e->yes},
                 {"nodes_falsenodeids", &e->no},
                 {"nodes_trueleafs", &e->yes_leaf},
                 {"nodes_falseleafs", &e->no_leaf}};
    int64_t n_modes, n_splits;
    e->m = dync__oi_ints(t->c, "nodes_featureids", &e->feature);
    for (int i = 0; i < DYNC__COUNT_OF(lists); i++)
        if (dync__oi_ints(t->c, lists[i].name, lists[i].at) != e->m)
            return dync__tree_bad(t, "lists of other lengths");
    int n_missing = dync__oi_ints(t->c, "nodes_missing_value_tracks_true", &e->missing);
    if (!n_missing) e->missing = NULL;
    e->n_roots = dync__oi_ints(t->c, "tree_roots", &e->root);
    e->mode = dync__ensemble_reals(t, "nodes_modes", &n_modes);
    e->split = dync__ensemble_reals(t, "nodes_splits", &n_splits);
    e->weight = dync__ensemble_reals(t, "leaf_weights", &e->leaves);
    e->set = dync__ensemble_reals(t, "membership_values", &e->n_sets);
    if (!e->mode || !e->split || !e->weight || !e->set)
        return dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    if (e->m < 1 || n_modes != e->m || n_splits != e->m || (n_missing && n_missing != e->m) ||
        e->n_roots < 1 || e->leaves < 1 ||
        dync__oi_ints(t->c, "leaf_targetids", &e->target) != e->leaves)
        return dync__tree_bad(t, "lists of other lengths");
    return DYNC_OK;
}

/* Numbers the nodes: a set's as many as it has members, one for each other. */
static dync_status dync__ensemble_number(dync__ensemble *e, dync__trees *t, int64_t features)
{
    size_t bytes = (size_t)e->m * sizeof(int64_t);
    int64_t at = 0;
    e->first = dync__scope_alloc(bytes);
    e->members = dync__scope_alloc(bytes);
    e->from = dync__scope_alloc(bytes);
    if (!e->first || !e->members || !e->from) return DYNC_ERR_MEMORY;
    for (int64_t i = 0; i < e->m; i++) {
        if (!(e->mode[i] >= 0 && e->mode[i] <= DYNC__TREE_MEMBER))
            return dync__tree_bad(t, "a mode that is not known");
        if (e->feature[i] < 0 || e->feature[i] >= features)
            return dync__tree_bad(t, "a feature that is not there");
        e->first[i] = t->n;
        e->members[i] = 1;
        e->from[i] = at;
        if (e->mode[i] == DYNC__TREE_MEMBER) {
            while (at < e->n_sets && !isnan(e->set[at])) at++;
            e->members[i] = at - e->from[i];
            at++; /* the NaN */
            if (!e->members[i]) return dync__tree_bad(t, "a set without members");
        }
        t->n += e->members[i];
    }
    t->n += e->leaves;
    return dync__tree_room(t);
}

/* Node or leaf `to` as a number of trees.h; -1: it is not there. */
static int64_t dync__ensemble_place(const dync__ensemble *e, const dync__trees *t, int64_t to,
                                    bool leaf)
{
    if (to < 0 || to >= (leaf ? e->leaves : e->m)) return -1;
    return leaf ? t->n - e->leaves + to : e->first[to];
}

/* The nodes of trees.h of node i. */
static dync_status dync__ensemble_node(const dync__ensemble *e, dync__trees *t, int64_t i)
{
    int64_t yes = dync__ensemble_place(e, t, e->yes[i], e->yes_leaf[i] != 0),
            no = dync__ensemble_place(e, t, e->no[i], e->no_leaf[i] != 0);
    bool is_set = e->mode[i] == DYNC__TREE_MEMBER;
    if (yes < 0 || no < 0) return dync__tree_bad(t, "a node or leaf that is not there");
    for (int64_t k = 0; k < e->members[i]; k++) {
        int64_t at = e->first[i] + k;
        t->feature[at] = e->feature[i];
        t->mode[at] = is_set ? DYNC__TREE_EQ : (int64_t)e->mode[i];
        t->modes[t->mode[at]] = true;
        t->value[at] = is_set ? e->set[e->from[i] + k] : e->split[i];
        t->missing[at] = e->missing && e->missing[i] != 0;
        t->any_missing = t->any_missing || t->missing[at] != 0;
        t->child[2 * at] = k + 1 < e->members[i] ? at + 1 : no;
        t->child[2 * at + 1] = yes;
    }
    return DYNC_OK;
}

/* From the roots down: each node of the file is met once at most, so that there is no cycle. */
static dync_status dync__ensemble_levels(const dync__ensemble *e, dync__trees *t)
{
    int64_t *order = dync__scope_alloc(2 * (size_t)e->m * sizeof *order), met = 0;
    int64_t *level = order ? order + e->m : NULL;
    unsigned char *seen = dync__scope_alloc((size_t)e->m);
    if (!order || !seen) return DYNC_ERR_MEMORY;
    memset(seen, 0, (size_t)e->m);
    if (e->n_roots > e->m) return dync__tree_bad(t, "more roots than nodes");
    for (int64_t i = 0; i < e->n_roots; i++) {
        int64_t r = e->root[i];
        if (r < 0 || r >= e->m || seen[r]) return dync__tree_bad(t, "a root");
        seen[r] = 1;
        t->root[i] = e->first[r];
        level[met] = 0;
        order[met++] = r;
    }
    for (int64_t i = 0; i < met; i++) {
        int64_t at = order[i], below = level[i] + e->members[at];
        t->levels = DYNC__MAX(t->levels, below);
        for (int side = 0; side < 2; side++) {
            int64_t to = side ? e->yes[at] : e->no[at];
            if ((side ? e->yes_leaf : e->no_leaf)[at]) continue;
            if (seen[to]) return dync__tree_bad(t, "a node of two parents");
            seen[to] = 1;
            level[met] = below;
            order[met++] = to;
        }
    }
    t->n_roots = e->n_roots;
    return t->levels <= DYNC__TREE_LEVELS
               ? DYNC_OK
               : dync__oi_fail(t->c, DYNC_ERR_UNSUPPORTED, "trees of more than %d levels",
                               DYNC__TREE_LEVELS);
}

/* Leaves are their own children; the weights [n, k] of all nodes. */
static dync_status dync__ensemble_leaves(const dync__ensemble *e, dync__trees *t)
{
    t->k = dync__oi_int(t->c, "n_targets");
    if (t->k < 1 || t->k > DYNC__TREE_CELLS / t->n)
        return dync__tree_bad(t, "the number of results");
    size_t cells = (size_t)(t->n * t->k);
    t->weight = dync__scope_alloc(cells * sizeof *t->weight);
    if (!t->weight) return DYNC_ERR_MEMORY;
    for (size_t i = 0; i < cells; i++) t->weight[i] = dync__tree_empty(t);
    for (int64_t i = 0; i < e->leaves; i++) {
        int64_t at = t->n - e->leaves + i;
        if (e->target[i] < 0 || e->target[i] >= t->k)
            return dync__tree_bad(t, "a weight of no result");
        t->mode[at] = DYNC__TREE_LEAF;
        t->feature[at] = 0;
        t->value[at] = t->missing[at] = 0;
        t->child[2 * at] = t->child[2 * at + 1] = at;
        t->weight[at * t->k + e->target[i]] = e->weight[i];
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__oi_tree_ensemble(dync__onnx_call *c)
{
    dync__ensemble e = {.c = c};
    dync__trees t = {.c = c, .aggregate = (int)dync__oi_int(c, "aggregate_function")};
    dync_tensor *x = dync__oi_in(c, 0), *y = NULL;
    if (dync__oi_rank(x) != 2 || !dync__oi_is_float(x))
        return dync__tree_bad(&t, "rows of features");
    int dtype = dync__oi_type(x);
    if (t.aggregate < DYNC__TREES_MEAN || t.aggregate > DYNC__TREES_MAX)
        return dync__tree_bad(&t, "aggregate_function");
    DYNC__TRY(dync__ensemble_read(&e, &t));
    DYNC__TRY(dync__ensemble_number(&e, &t, dync__oi_number(dync__oi_extent(x, 1))));
    t.value = dync__scope_alloc((size_t)t.n * sizeof *t.value);
    if (!t.value) return DYNC_ERR_MEMORY;
    for (int64_t i = 0; i < e.m; i++) DYNC__TRY(dync__ensemble_node(&e, &t, i));
    DYNC__TRY(dync__ensemble_levels(&e, &t));
    DYNC__TRY(dync__ensemble_leaves(&e, &t));
    if (dtype != DYNC_F64) x = dync_to_dtype(x, t.wide ? DYNC_F64 : DYNC_F32);
    dync_tensor *leaf = x ? dync__tree_leaves(&t, x) : NULL;
    if (leaf) y = dync__tree_sum(&t, leaf, dync__oi_type(x));
    y = y ? dync__oi_post(c, dync__oi_int(c, "post_transform"), y) : NULL;
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dtype) : NULL);
}
