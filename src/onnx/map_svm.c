/* onnx/map_svm.c: support vector machines (ai.onnx.ml), as scikit-learn's are exported. After
 * map_features.c, before map_trees.c.
 *
 * Kernels of each row with each vector are a matrix [rows, vectors]; what a machine decides is that
 * times its coefficients. A classifier of k classes has a machine for each two of them, whose
 * vectors are those of the two: as one matrix [vectors, k (k - 1) / 2] with zeros elsewhere.
 *
 * Probabilities of classes are coupled from those of pairs round by round, as LIBSVM does it: Wu,
 * Lin & Weng 2004, Probability estimates for multi-class classification by pairwise coupling,
 * algorithm 2. Every row goes on until it is near enough. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

enum { DYNC__SVM_CLASSES = 64, DYNC__SVM_ROUNDS = 100 };

static double *dync__svm_wide(int64_t n, const float *at)
{
    double *out = dync__scope_alloc(((size_t)n + 1) * sizeof *out);
    for (int64_t i = 0; out && i < n; i++) out[i] = (double)at[i];
    return out;
}

/* The attribute of floats as a row [n] where it has so many. NULL + error */
static dync_tensor *dync__svm_row(const dync__onnx_call *c, const char *name, int64_t n)
{
    const float *at;
    int got = dync__oi_floats(c, name, &at);
    double *value = dync__svm_wide(got, at);
    if (value && got == n) return dync__oi_tensor_f(DYNC_F32, 1, &n, value);
    if (value) dync__oi_fail(c, DYNC_ERR_FORMAT, "%d numbers in %s", got, name);
    return NULL;
}

/* [rows, n] of rows x and the n support vectors. NULL + error */
static dync_tensor *dync__svm_kernel(const dync__onnx_call *c, dync_tensor *x, int64_t n)
{
    const float *at, *k;
    static const float none[3];
    int64_t wide = dync__oi_number(dync__oi_extent(x, 1));
    int64_t got = dync__oi_floats(c, "support_vectors", &at);
    int n_k = dync__oi_floats(c, "kernel_params", &k);
    if (n < 1 || wide < 1 || got % n || got / n != wide || (n_k && n_k != 3)) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "%lld numbers for %lld vectors of %lld features",
                      (long long)got, (long long)n, (long long)wide);
        return NULL;
    }
    if (!n_k) k = none;
    double *value = dync__svm_wide(got, at);
    dync_tensor *v = value ? dync__oi_tensor_f(DYNC_F32, 2, (int64_t[]){n, wide}, value) : NULL;
    if (!v) return NULL;
    if (dync__oi_is(c, "kernel_type", "RBF")) {
        dync_tensor *d = dync_sub(dync_unsqueeze(x, 1), v);
        d = d ? dync_sum(dync_mul(d, d), dync_shape(-1), false) : NULL;
        return d ? dync_exp(dync_mul(d, -(double)k[0])) : NULL;
    }
    dync_tensor *d = dync_matmul(x, dync_transpose(v, 0, 1));
    if (dync__oi_is(c, "kernel_type", "LINEAR")) return d;
    d = d ? dync_add(dync_mul(d, (double)k[0]), (double)k[1]) : NULL;
    if (dync__oi_is(c, "kernel_type", "SIGMOID")) return d ? dync_tanh(d) : NULL;
    if (dync__oi_is(c, "kernel_type", "POLY")) return d ? dync_pow(d, (double)k[2]) : NULL;
    dync__oi_fail(c, DYNC_ERR_FORMAT, "kernel_type");
    return NULL;
}

/* x as rows of floats. NULL + error */
static dync_tensor *dync__svm_rows(const dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_features(dync__oi_in(c, 0));
    if (x && dync__oi_rank(x) == 2) return dync_to_dtype(x, DYNC_F32);
    if (x) dync__oi_fail(c, DYNC_ERR_SHAPE, "rows of features");
    return NULL;
}

DYNC__FN dync_status dync__oi_svm_regressor(dync__onnx_call *c)
{
    dync_tensor *x = dync__svm_rows(c), *y;
    int64_t n = dync__oi_int(c, "n_supports");
    int64_t wide = x ? dync__oi_number(dync__oi_extent(x, 1)) : 0;
    if (!x) return dync_error();
    y = n > 0 ? dync__svm_kernel(c, x, n) : x; /* no vectors: a linear model */
    dync_tensor *w = y ? dync__svm_row(c, "coefficients", n > 0 ? n : wide) : NULL;
    y = w ? dync_add(dync_matmul(y, dync_unsqueeze(w, 1)), dync__svm_row(c, "rho", 1)) : NULL;
    if (y && dync__oi_int(c, "one_class"))
        y = dync_sub(dync_mul(dync_to_dtype(dync_gt(y, 0), DYNC_F32), 2), 1);
    return dync__oi_out(c, 0, y);
}

/* ---- classes --------------------------------------------------------------------------------- */

typedef struct dync__svm {
    const dync__onnx_call *c;
    int64_t k, n, pairs, start[DYNC__SVM_CLASSES + 1];
} dync__svm;

/* vectors_per_class: how many there are and where each class's begin */
static dync_status dync__svm_counts(dync__svm *s)
{
    const int64_t *per, *label;
    s->k = dync__oi_ints(s->c, "vectors_per_class", &per);
    if (!s->k) return dync__oi_fail(s->c, DYNC_ERR_UNSUPPORTED, "no vectors: LinearClassifier");
    if (s->k < 2 || s->k > DYNC__SVM_CLASSES)
        return dync__oi_fail(s->c, DYNC_ERR_UNSUPPORTED, "%lld classes", (long long)s->k);
    if (dync__oi_ints(s->c, "classlabels_ints", &label) != s->k)
        return dync__oi_fail(s->c, DYNC_ERR_UNSUPPORTED, "labels that are texts, or not there");
    for (int64_t i = 0; i < s->k; i++) {
        if (per[i] < 0 || per[i] > INT32_MAX)
            return dync__oi_fail(s->c, DYNC_ERR_FORMAT, "vectors_per_class");
        s->start[i + 1] = s->start[i] + per[i];
    }
    s->n = s->start[s->k];
    s->pairs = s->k * (s->k - 1) / 2;
    return DYNC_OK;
}

/* What each pair's machine decides: [rows, pairs]. NULL + error */
static dync_tensor *dync__svm_decide(const dync__svm *s, dync_tensor *x)
{
    const float *at;
    int64_t got = dync__oi_floats(s->c, "coefficients", &at), p = 0;
    dync_tensor *kernel = dync__svm_kernel(s->c, x, s->n); /* checks n against the file's numbers */
    if (!kernel) return NULL;
    if (got != (s->k - 1) * s->n) {
        dync__oi_fail(s->c, DYNC_ERR_FORMAT, "%lld coefficients", (long long)got);
        return NULL;
    }
    size_t cells = (size_t)(s->n * s->pairs);
    double *w = dync__scope_alloc(cells * sizeof *w);
    if (!w) return NULL;
    memset(w, 0, cells * sizeof *w);
    for (int64_t i = 0; i < s->k; i++)
        for (int64_t j = i + 1; j < s->k; j++, p++) {
            for (int64_t v = s->start[i]; v < s->start[i + 1]; v++)
                w[v * s->pairs + p] = (double)at[(j - 1) * s->n + v];
            for (int64_t v = s->start[j]; v < s->start[j + 1]; v++)
                w[v * s->pairs + p] = (double)at[i * s->n + v];
        }
    dync_tensor *m = dync__oi_tensor_f(DYNC_F32, 2, (int64_t[]){s->n, s->pairs}, w);
    dync_tensor *rho = m ? dync__svm_row(s->c, "rho", s->pairs) : NULL;
    return rho ? dync_add(dync_matmul(kernel, m), rho) : NULL;
}

/* What each pair's first class has against the second, and the second against the first, [rows,
 * pairs] each, as [rows, k, k]: i against j at i, j; 0 on the diagonal. */
static dync_tensor *dync__svm_square(const dync__svm *s, dync_tensor *first, dync_tensor *second)
{
    int64_t k = s->k, cells = k * k, p = 0, *at = dync__scope_alloc((size_t)cells * sizeof *at);
    dync_tensor *all[3] = {first, second, first ? dync_mul(dync_narrow(first, 1, 0, 1), 0) : NULL};
    if (!at || !second || !all[2]) return NULL;
    for (int64_t i = 0; i < k; i++) {
        at[i * k + i] = 2 * s->pairs;
        for (int64_t j = i + 1; j < k; j++, p++) {
            at[i * k + j] = p;
            at[j * k + i] = s->pairs + p;
        }
    }
    dync_tensor *list = dync__oi_list(3, all, 1, false);
    dync_tensor *index = dync__oi_tensor_i(DYNC_I64, 1, &cells, at);
    list = list && index ? dync_index_select(list, 1, index) : NULL;
    dync_dims to = {3, {list ? dync__oi_extent(list, 0) : 0, k, k}};
    return list ? dync_reshape(list, to) : NULL;
}

/* Rows from..from + n of the unit matrix [k, k]. NULL + error */
static dync_tensor *dync__svm_units(int64_t k, int64_t from, int64_t n)
{
    double *unit = dync__scope_alloc((size_t)(n * k) * sizeof *unit);
    for (int64_t i = 0; unit && i < n * k; i++) unit[i] = i % k == from + i / k;
    return unit ? dync__oi_tensor_f(DYNC_F32, 2, (int64_t[]){n, k}, unit) : NULL;
}

typedef struct dync__svm_coupled {
    dync_tensor *q; /* [rows, k, k] */
    int64_t k;
} dync__svm_coupled;

/* q p [rows, k], their product with p [rows, 1], and which rows are near enough [rows, 1] */
static dync_tensor *dync__svm_near(const dync__svm_coupled *s, dync_tensor *p, dync_tensor **qp,
                                   dync_tensor **pqp)
{
    dync_dims last = dync_shape(-1);
    *qp = dync_sum(dync_mul(s->q, dync_unsqueeze(p, 1)), last, false);
    *pqp = dync_sum(dync_mul(*qp, p), last, true);
    dync_tensor *most = dync_amax(dync_abs(dync_sub(*qp, *pqp)), last, true);
    return most ? dync_lt(most, 0.005 / (double)s->k) : NULL;
}

static dync_value dync__svm_goes_on(const dync_value *args, int nargs, void *user)
{
    dync_tensor *qp, *pqp, *near = dync__svm_near(user, dync_as_tensor(args[0]), &qp, &pqp);
    (void)nargs;
    return near ? dync_v_tensor(dync_logical_not(dync_all(near, DYNC_ALL, false))) : DYNC_NONE;
}

/* One round: each class's probability in turn, then all of them by their sum. */
static dync_value dync__svm_round(const dync_value *args, int nargs, void *user)
{
    const dync__svm_coupled *s = user;
    dync_tensor *before = dync_as_tensor(args[0]), *p = before, *qp, *pqp;
    dync_tensor *near = dync__svm_near(s, p, &qp, &pqp);
    (void)nargs;
    for (int64_t t = 0; t < s->k && near && p; t++) {
        dync_tensor *column = dync_select(s->q, 2, t), *own = dync_narrow(column, 1, t, 1);
        dync_tensor *at = dync_narrow(qp, 1, t, 1), *by = dync_div(dync_sub(pqp, at), own);
        dync_tensor *one = dync_add(by, 1);
        dync_tensor *here = dync__svm_units(s->k, t, 1);
        pqp = dync_add(pqp, dync_mul(by, dync_add(dync_mul(by, own), dync_mul(at, 2))));
        pqp = dync_div(dync_div(pqp, one), one);
        qp = dync_div(dync_add(qp, dync_mul(by, column)), one);
        p = here ? dync_div(dync_add(p, dync_mul(by, here)), one) : NULL;
    }
    return p ? dync_v_tensor(dync_where(near, before, p)) : DYNC_NONE;
}

/* Probabilities [rows, k] of those of pairs [rows, pairs]. NULL + error */
static dync_tensor *dync__svm_couple(const dync__svm *s, dync_tensor *pair)
{
    dync_dims rows = {2, {dync__oi_extent(pair, 0), s->k}};
    dync_tensor *r = dync__svm_square(s, pair, dync_sub(1, pair)); /* r[i][j]: i, of i and j */
    dync_tensor *other = r ? dync_transpose(r, 1, 2) : NULL;
    dync_tensor *own = other ? dync_sum(dync_mul(other, other), dync_shape(-1), false) : NULL;
    dync__svm_coupled w = {NULL, s->k};
    dync_tensor *eye = own ? dync__svm_units(s->k, 0, s->k) : NULL;
    if (eye) w.q = dync_sub(dync_mul(dync_unsqueeze(own, -1), eye), dync_mul(r, other));
    dync_tensor *p = w.q ? dync__oi_full(rows, 1 / (double)s->k, DYNC_F32) : NULL;
    if (!p) return NULL;
    dync_callee on = dync_fnv(dync__svm_goes_on), round = dync_fnv(dync__svm_round);
    on.user = round.user = &w;
    dync_value list = dync__list_new(1);
    if (list.kind != DYNC_KIND_LIST) return NULL;
    dync__list_set(list, 0, dync_v_tensor(p));
    dync_value last = dync_while_loop_values(on, round, list, DYNC__SVM_ROUNDS, dync__tls.at);
    return dync_as_tensor(dync_at(last, 0));
}

/* prob_a, prob_b: the probability of a pair's first class. NULL + error */
static dync_tensor *dync__svm_pairs(const dync__svm *s, dync_tensor *d)
{
    dync_tensor *a = dync__svm_row(s->c, "prob_a", s->pairs);
    dync_tensor *b = a ? dync__svm_row(s->c, "prob_b", s->pairs) : NULL;
    if (!b) return NULL;
    d = dync_sigmoid(dync_neg(dync_add(dync_mul(d, a), b)));
    return d ? dync_clamp(d, 1e-7, 1 - 1e-7) : NULL;
}

/* Each row is of the class with most votes, whatever is most probable, as LIBSVM and ONNX Runtime
 * have it. Of two classes without probabilities the scores are those of either. */
DYNC__FN dync_status dync__oi_svm_classifier(dync__onnx_call *c)
{
    dync__svm s = {.c = c};
    const float *a;
    const int64_t *label;
    dync_tensor *x = dync__svm_rows(c);
    if (!x) return dync_error();
    DYNC__TRY(dync__svm_counts(&s));
    dync_tensor *d = dync__svm_decide(&s, x), *votes, *z = d;
    dync_tensor *yes = d ? dync_to_dtype(dync_gt(d, 0), DYNC_F32) : NULL;
    votes = yes ? dync__svm_square(&s, yes, dync_sub(1, yes)) : NULL;
    votes = votes ? dync_sum(votes, dync_shape(-1), false) : NULL;
    if (votes && dync__oi_floats(c, "prob_a", &a)) {
        z = dync__svm_pairs(&s, d);
        z = z ? dync__svm_couple(&s, z) : NULL;
        z = z ? dync__oi_scores(c, z) : NULL;
    } else if (votes) {
        z = s.k > 2 ? dync__oi_scores(c, d)
                    : dync__oi_both(c, d, !dync__oi_is(c, "post_transform", "NONE"));
    }
    if (!votes || !z) return dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    dync_tensor *which = dync_argmax(votes, 1, false);
    (void)dync__oi_ints(c, "classlabels_ints", &label);
    dync_tensor *of = dync__oi_tensor_i(DYNC_I64, 1, &s.k, label);
    DYNC__TRY(dync__oi_out(c, 0, which && of ? dync_index_select(of, 0, which) : NULL));
    return dync__oi_out(c, 1, z);
}
