/* onnx/map_trees.c: ensembles of decision trees (ai.onnx.ml), as scikit-learn, XGBoost and LightGBM
 * are exported. After map_features.c.
 *
 * The nodes of all trees are numbered through. Where each row is in each tree is a matrix [rows,
 * trees] of these numbers; one step down is the same few operators on all of it,
 *
 *   at = child[2 at + (x[row, feature[at]] <= value[at])]
 *
 * as many times as the deepest tree has levels: a leaf is its own child. Then the weights of the
 * leaves are summed. Everything of the file is checked here: a node has one parent, so that there
 * is no cycle, and every number lies inside its table. */
#include "../dync.in.h"
#include "maps.h"
#include "trees.h"
DYNC__COLD

DYNC__FN dync_status dync__tree_bad(const dync__trees *t, const char *what)
{
    return dync__oi_fail(t->c, DYNC_ERR_FORMAT, "trees: %s", what);
}

/* Place of a node; -1: there is none */
static int64_t dync__tree_place(const dync__trees *t, int64_t tree, int64_t node)
{
    uint64_t at;
    if (tree < 0 || node < 0 || tree > INT32_MAX || node > INT32_MAX) return -1;
    return dync__map_get(&t->at, (uint64_t)tree << 32 | (uint64_t)node, &at) ? (int64_t)at - 1 : -1;
}

/* Numbers of an attribute of floats, or of the tensor that stands for it; n of them, or *bad. */
static double *dync__tree_reals(dync__trees *t, const char *name, int64_t *n)
{
    char text[64];
    const float *f;
    *n = dync__oi_floats(t->c, name, &f);
    dync__format(text, sizeof text, "%s_as_tensor", name);
    const dync__onnx_attribute *a = *n ? NULL : dync__oi_attribute(t->c, text);
    dync__tensor *x = NULL;
    dync__onnx_files none = {0};
    if (a && a->t && dync__onnx_tensor_make(a->t, &none, &x) != DYNC_OK) return NULL;
    if (x) *n = x->numel;
    double *out = dync__scope_alloc(((size_t)*n + 1) * sizeof *out);
    for (int64_t i = 0; out && i < *n; i++)
        out[i] = x ? dync__load_f64(
                         (char *)x->storage->data + i * dync__dtype_info(x->dtype)->bytes, x->dtype)
                   : (double)f[i];
    if (x && x->dtype == DYNC_F64) t->wide = true;
    dync__unref(x);
    return out;
}

static int dync__tree_mode(dync__pb_bytes b)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++)
        if (strlen(names[i]) == b.n && memcmp(names[i], b.at, b.n) == 0) return i;
    return -1;
}

DYNC__FN dync_status dync__tree_room(dync__trees *t)
{
    size_t n = (size_t)t->n + 1;
    t->feature = dync__scope_alloc(n * sizeof *t->feature);
    t->child = dync__scope_alloc(2 * n * sizeof *t->child);
    t->root = dync__scope_alloc(n * sizeof *t->root);
    t->mode = dync__scope_alloc(n * sizeof *t->mode);
    t->missing = dync__scope_alloc(n * sizeof *t->missing);
    return t->feature && t->child && t->root && t->mode && t->missing ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* nodes_*: names and modes. */
static dync_status dync__tree_nodes(dync__trees *t, int64_t features)
{
    const int64_t *tree, *node, *feature, *missing;
    const dync__onnx_attribute *mode = dync__oi_attribute(t->c, "nodes_modes");
    int64_t n_values;
    t->n = dync__oi_ints(t->c, "nodes_nodeids", &node);
    t->value = dync__tree_reals(t, "nodes_values", &n_values);
    if (!t->value) return dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    int n_missing = dync__oi_ints(t->c, "nodes_missing_value_tracks_true", &missing);
    if (t->n < 1 || !mode || mode->strings.n != t->n || n_values != t->n ||
        dync__oi_ints(t->c, "nodes_treeids", &tree) != t->n ||
        dync__oi_ints(t->c, "nodes_featureids", &feature) != t->n ||
        (n_missing && n_missing != t->n))
        return dync__tree_bad(t, "lists of other lengths");
    DYNC__TRY(dync__tree_room(t));
    for (int64_t i = 0; i < t->n; i++) {
        int kind = dync__tree_mode(mode->strings.at[i]);
        if (kind < 0) return dync__tree_bad(t, "a mode that is not known");
        if (dync__tree_place(t, tree[i], node[i]) >= 0 || tree[i] < 0 || node[i] < 0 ||
            tree[i] > INT32_MAX || node[i] > INT32_MAX)
            return dync__tree_bad(t, "a node that is there twice");
        if (!dync__map_put(&t->at, (uint64_t)tree[i] << 32 | (uint64_t)node[i], (uint64_t)i + 1))
            return DYNC_ERR_MEMORY;
        bool leaf = kind == DYNC__TREE_LEAF;
        if (!leaf && (feature[i] < 0 || feature[i] >= features))
            return dync__tree_bad(t, "a feature that is not there");
        t->mode[i] = kind;
        t->feature[i] = leaf ? 0 : feature[i];
        t->missing[i] = !leaf && n_missing && missing[i] != 0;
        t->any_missing = t->any_missing || t->missing[i] != 0;
        if (!leaf) t->modes[kind] = true;
    }
    return DYNC_OK;
}

/* Children, roots, and how deep it goes: nodes in the order of their levels, each met once. */
static dync_status dync__tree_levels(dync__trees *t)
{
    const int64_t *yes, *no, *tree;
    size_t bytes = (size_t)t->n * sizeof(int64_t);
    int64_t *order = dync__scope_alloc(2 * bytes), *level = order ? order + t->n : NULL, met = 0;
    unsigned char *has_parent = dync__scope_alloc((size_t)t->n);
    if (!order || !has_parent) return DYNC_ERR_MEMORY;
    memset(has_parent, 0, (size_t)t->n);
    if (dync__oi_ints(t->c, "nodes_truenodeids", &yes) != t->n ||
        dync__oi_ints(t->c, "nodes_falsenodeids", &no) != t->n)
        return dync__tree_bad(t, "lists of other lengths");
    (void)dync__oi_ints(t->c, "nodes_treeids", &tree);
    for (int64_t i = 0; i < t->n; i++)
        for (int side = 0; side < 2; side++) {
            int64_t to = i;
            if (t->mode[i] != DYNC__TREE_LEAF) {
                to = dync__tree_place(t, tree[i], side ? yes[i] : no[i]);
                if (to < 0 || has_parent[to]) return dync__tree_bad(t, "a node of two parents");
                has_parent[to] = 1;
            }
            t->child[2 * i + side] = to;
        }
    for (int64_t i = 0; i < t->n; i++)
        if (!has_parent[i]) {
            t->root[t->n_roots++] = i;
            level[met] = 0;
            order[met++] = i;
        }
    for (int64_t i = 0; i < met; i++) {
        t->levels = DYNC__MAX(t->levels, level[i]);
        for (int side = 0; side < 2 && t->mode[order[i]] != DYNC__TREE_LEAF; side++) {
            level[met] = level[i] + 1;
            order[met++] = t->child[2 * order[i] + side];
        }
    }
    if (met < t->n) return dync__tree_bad(t, "a cycle");
    return t->levels <= DYNC__TREE_LEVELS
               ? DYNC_OK
               : dync__oi_fail(t->c, DYNC_ERR_UNSUPPORTED, "trees of more than %d levels",
                               DYNC__TREE_LEVELS);
}

/* Weights of the leaves: target_* or class_*. empty: what a leaf has without one. one_class: all
 * are of one class, which is that of the only result then. */
static dync_status dync__tree_weights(dync__trees *t, const char *what, int64_t results,
                                      double empty, bool one_class)
{
    char name[4][32];
    static const char *const of[] = {"treeids", "nodeids", "ids", "weights"};
    const int64_t *tree, *node, *id;
    int64_t n;
    for (int i = 0; i < 4; i++) dync__format(name[i], sizeof name[i], "%s_%s", what, of[i]);
    double *w = dync__tree_reals(t, name[3], &n);
    if (!w) return dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    if (dync__oi_ints(t->c, name[0], &tree) != n || dync__oi_ints(t->c, name[1], &node) != n ||
        dync__oi_ints(t->c, name[2], &id) != n)
        return dync__tree_bad(t, "lists of other lengths");
    t->k = results;
    if (results < 1 || results > DYNC__TREE_CELLS / t->n)
        return dync__tree_bad(t, "the number of results");
    size_t cells = (size_t)(t->n * results);
    t->weight = dync__scope_alloc(cells * sizeof *t->weight);
    unsigned char *is_there = dync__scope_alloc(cells);
    if (!t->weight || !is_there) return DYNC_ERR_MEMORY;
    memset(is_there, 0, cells);
    for (size_t i = 0; i < cells; i++) t->weight[i] = empty;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = dync__tree_place(t, tree[i], node[i]);
        if (at < 0 || (!one_class && (id[i] < 0 || id[i] >= results)))
            return dync__tree_bad(t, "a weight of no node or result");
        at = at * results + (one_class ? 0 : id[i]);
        t->weight[at] = is_there[at] ? t->weight[at] + w[i] : w[i];
        is_there[at] = 1;
    }
    return DYNC_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* table[at], in the shape of `to` */
static dync_tensor *dync__tree_take(dync_tensor *table, dync_tensor *at, dync_dims to)
{
    at = at ? dync_reshape(at, dync_shape(-1)) : NULL;
    at = at && table ? dync_index_select(table, 0, at) : NULL;
    return at ? dync_reshape(at, to) : NULL;
}

static dync_tensor *dync__tree_compare(int mode, dync_tensor *x, dync_tensor *v)
{
    return mode == DYNC__TREE_LEQ   ? dync_le(x, v)
           : mode == DYNC__TREE_LT  ? dync_lt(x, v)
           : mode == DYNC__TREE_GTE ? dync_ge(x, v)
           : mode == DYNC__TREE_GT  ? dync_gt(x, v)
           : mode == DYNC__TREE_EQ  ? dync_eq(x, v)
                                    : dync_ne(x, v);
}

typedef struct dync__tree_tables {
    dync_tensor *feature, *child, *value, *mode, *missing;
} dync__tree_tables;

/* Which way each row goes in each tree: [rows, trees] of bool */
static dync_tensor *dync__tree_way(const dync__trees *t, const dync__tree_tables *b, dync_tensor *x,
                                   dync_tensor *at, dync_dims to)
{
    dync_tensor *v = dync__tree_take(b->value, at, to), *yes = NULL, *is;
    x = dync_gather(x, 1, dync__tree_take(b->feature, at, to));
    dync_tensor *mode = b->mode ? dync__tree_take(b->mode, at, to) : NULL;
    for (int m = 0; m < DYNC__TREE_LEAF && x; m++) {
        if (!t->modes[m]) continue;
        is = dync__tree_compare(m, x, v);
        yes = yes ? dync_where(dync_eq(mode, m), is, yes) : is;
    }
    if (!t->any_missing || !yes) return yes;
    is = dync_logical_and(dync_isnan(x), dync__tree_take(b->missing, at, to));
    return dync_logical_or(yes, is);
}

/* The leaves that rows of x come to: [rows, trees]. NULL + error */
DYNC__FN dync_tensor *dync__tree_leaves(const dync__trees *t, dync_tensor *x)
{
    int dtype = dync__oi_type(x), branches = 0;
    for (int m = 0; m < DYNC__TREE_LEAF; m++) branches += t->modes[m];
    int64_t n = t->n, both = 2 * n;
    dync__tree_tables b = {.feature = dync__oi_tensor_i(DYNC_I64, 1, &n, t->feature),
                           .child = dync__oi_tensor_i(DYNC_I64, 1, &both, t->child),
                           .value = dync__oi_tensor_f(dtype, 1, &n, t->value)};
    if (branches > 1) b.mode = dync__oi_tensor_i(DYNC_I32, 1, &n, t->mode);
    if (t->any_missing) b.missing = dync__oi_tensor_f(DYNC_BOOL, 1, &n, t->missing);
    dync_dims to = {2, {dync__oi_extent(x, 0), t->n_roots}};
    dync_tensor *at = dync__oi_tensor_i(DYNC_I64, 2, (int64_t[]){1, t->n_roots}, t->root);
    at = at ? dync_expand(at, to) : NULL;
    for (int64_t i = 0; i < t->levels && at; i++) {
        dync_tensor *yes = dync__tree_way(t, &b, x, at, to);
        yes = yes ? dync_to_dtype(yes, DYNC_I64) : NULL;
        at = yes ? dync__tree_take(b.child, dync_add(dync_mul(at, 2), yes), to) : NULL;
    }
    return at;
}

DYNC__FN double dync__tree_empty(const dync__trees *t)
{
    return t->aggregate == DYNC__TREES_MIN   ? (double)INFINITY
           : t->aggregate == DYNC__TREES_MAX ? -(double)INFINITY
                                             : 0;
}

/* Of the weights of the leaves [rows, k]: their sum, mean, least or greatest. */
DYNC__FN dync_tensor *dync__tree_sum(const dync__trees *t, dync_tensor *leaf, int dtype)
{
    dync_dims to = {3, {dync__oi_extent(leaf, 0), t->n_roots, t->k}}, trees = dync_shape(1);
    dync_tensor *w = dync__oi_tensor_f(dtype, 2, (int64_t[]){t->n, t->k}, t->weight);
    w = w ? dync__tree_take(w, leaf, to) : NULL;
    if (!w) return NULL;
    dync_tensor *s = t->aggregate == DYNC__TREES_MIN   ? dync_amin(w, trees, false)
                     : t->aggregate == DYNC__TREES_MAX ? dync_amax(w, trees, false)
                                                       : dync_sum(w, trees, false);
    return t->aggregate == DYNC__TREES_MEAN ? dync_div(s, t->n_roots) : s;
}

/* The results s [rows, k] with base values. NULL + error */
static dync_tensor *dync__tree_based(dync__trees *t, dync_tensor *s)
{
    int64_t n_base;
    double *base = dync__tree_reals(t, "base_values", &n_base);
    if (!base || !n_base || !s) return base ? s : NULL;
    if (n_base == t->k) return dync_add(s, dync__oi_tensor_f(dync__oi_type(s), 1, &n_base, base));
    dync__tree_bad(t, "base values for other results");
    return NULL;
}

/* Reads the trees; *x: the rows, in the dtype that thresholds are compared in. */
static dync_status dync__tree_read(dync__trees *t, dync_tensor **x)
{
    *x = dync__oi_features(dync__oi_in(t->c, 0));
    if (!*x || dync__oi_rank(*x) != 2) return dync__tree_bad(t, "rows of features");
    DYNC__TRY(dync__tree_nodes(t, dync__oi_number(dync__oi_extent(*x, 1))));
    if (dync__oi_type(*x) != DYNC_F64) *x = dync_to_dtype(*x, t->wide ? DYNC_F64 : DYNC_F32);
    return dync__tree_levels(t);
}

DYNC__FN dync_status dync__oi_tree_regressor(dync__onnx_call *c)
{
    dync__trees t = {.c = c};
    dync_tensor *x = NULL, *y = NULL;
    t.aggregate = dync__oi_is(c, "aggregate_function", "AVERAGE") ? DYNC__TREES_MEAN
                  : dync__oi_is(c, "aggregate_function", "MIN")   ? DYNC__TREES_MIN
                  : dync__oi_is(c, "aggregate_function", "MAX")   ? DYNC__TREES_MAX
                                                                  : DYNC__TREES_SUM;
    dync_status status = dync__tree_read(&t, &x);
    if (status == DYNC_OK)
        status = dync__tree_weights(&t, "target", dync__oi_int(c, "n_targets"),
                                    dync__tree_empty(&t), false);
    dync__map_free(&t.at);
    if (status != DYNC_OK) return status;
    dync_tensor *leaf = dync__tree_leaves(&t, x);
    if (leaf) y = dync__tree_based(&t, dync__tree_sum(&t, leaf, dync__oi_type(x)));
    y = y ? dync__oi_scores(c, y) : NULL;
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, DYNC_F32) : NULL);
}

/* Two classes may have weights for one of them alone. The label is the second then where the score
 * is above 0 or, where no weight is below 0, above a half; a score of the first class's is that of
 * the second, and all there is. */
DYNC__FN dync_status dync__oi_tree_classifier(dync__onnx_call *c)
{
    dync__trees t = {.c = c, .aggregate = DYNC__TREES_SUM};
    const int64_t *labels, *id;
    dync_tensor *x = NULL, *s = NULL;
    int n = dync__oi_ints(c, "classlabels_int64s", &labels);
    int n_ids = dync__oi_ints(c, "class_ids", &id);
    bool one = n == 2 && n_ids > 0, positive = true;
    for (int i = 0; i < n_ids; i++) one = one && id[i] == id[0];
    if (!n) return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "labels that are texts");
    bool only = one && id[0] == 0;
    dync_status status = dync__tree_read(&t, &x);
    if (status == DYNC_OK) status = dync__tree_weights(&t, "class", only ? 1 : n, 0, only);
    dync__map_free(&t.at);
    if (status != DYNC_OK) return status;
    for (int64_t i = 0; i < t.n * t.k; i++) positive = positive && t.weight[i] >= 0;
    dync_tensor *leaf = dync__tree_leaves(&t, x);
    if (leaf) s = dync__tree_based(&t, dync__tree_sum(&t, leaf, dync__oi_type(x)));
    if (!s) return dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    dync_tensor *second = one ? dync_select(s, 1, -1) : NULL;
    dync_tensor *which = !one       ? dync_argmax(s, 1, false)
                         : positive ? dync_gt(second, 0.5)
                                    : dync_gt(second, 0);
    return dync__oi_classes(c, s, which, "classlabels_int64s", positive);
}
