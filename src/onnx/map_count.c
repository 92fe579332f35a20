/* onnx/map_count.c: TfIdfVectorizer: how often sequences of numbers occur. After map_sample.c.
 *
 *   pool_int64s 2 3 5 4 5 6 7 8, ngram_counts 0 4: 1-grams 2, 3, 5, 4; 2-grams (5 6), (7 8)
 *   ngram_indexes 0 .. 5: which column of the result [N, columns] counts each of them
 *
 * A sequence may skip: its numbers stand s + 1 apart, for every s up to max_skip_count. mode: TF
 * the count; IDF 1 where it occurs; both of IDF and TFIDF times the weight. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* The sequences of a node: those of n numbers lie from ngram_counts[n - 1] on in the pool. */
typedef struct dync__oi_grams {
    const int64_t *start, *pool, *index;
    const float *weight; /* NULL: 1 each */
    int n_start, n_pool, n_index;
} dync__oi_grams;

/* Reads and checks the attributes: counts ascend and cut the pool into whole sequences, each of
 * which has an index (and a weight). false: recorded. The lists are borrowed from the node. */
static bool dync__oi_grams_of(const dync__onnx_call *c, dync__oi_grams *g)
{
    const dync__onnx_attribute *text = dync__oi_attribute(c, "pool_strings");
    g->n_start = dync__oi_ints(c, "ngram_counts", &g->start);
    g->n_pool = dync__oi_ints(c, "pool_int64s", &g->pool);
    g->n_index = dync__oi_ints(c, "ngram_indexes", &g->index);
    int n = dync__oi_floats(c, "weights", &g->weight), grams = 0;
    bool ok = g->n_index > 0 && (!n || n == g->n_index);
    if (!n) g->weight = NULL;
    if (text && !g->n_pool) {
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a pool of strings");
        return false;
    }
    for (int i = 0; ok && i < g->n_start; i++) {
        int64_t from = g->start[i], to = i + 1 < g->n_start ? g->start[i + 1] : g->n_pool;
        ok = from >= 0 && from <= to && to <= g->n_pool && (to - from) % (i + 1) == 0;
        if (ok) grams += (int)((to - from) / (i + 1));
    }
    for (int i = 0; ok && i < g->n_index; i++) ok = g->index[i] >= 0 && g->index[i] < 1 << 24;
    ok = ok && grams == g->n_index;
    if (!ok) dync__oi_fail(c, DYNC_ERR_FORMAT, "the pool, its counts or its indexes");
    return ok;
}

/* How often each of `count` sequences of n numbers occurs in x [N, L], whose numbers are skip + 1
 * apart: [N, count] */
static dync_tensor *dync__oi_grams_found(dync_tensor *x, const int64_t *pool, int64_t count, int n,
                                         int64_t skip)
{
    const int64_t shape[2] = {count, n};
    int64_t length = dync__oi_size(x, 1) - (n - 1) * (skip + 1);
    dync_tensor *grams = dync__oi_tensor_i(DYNC_I64, 2, shape, pool), *same = NULL;
    if (length < 1) return dync__oi_full(dync_shape(dync__oi_size(x, 0), count), 0, DYNC_F32);
    for (int i = 0; i < n && grams; i++) {
        dync_tensor *at = dync_unsqueeze(dync__oi_narrow(x, 1, i * (skip + 1), length), 2);
        at = at ? dync_eq(at, dync_select(grams, 1, i)) : NULL;
        same = same && at ? dync_logical_and(same, at) : at;
        if (!same) return NULL;
    }
    same = same ? dync_sum(same, dync_shape(1), false) : NULL;
    return same ? dync_to_dtype(same, DYNC_F32) : NULL;
}

/* All sequences of n numbers, at every distance: [N, count], NULL + error. */
static dync_tensor *dync__oi_grams_of_length(const dync__onnx_call *c, dync_tensor *x,
                                             const dync__oi_grams *g, int n, int64_t count)
{
    int64_t skips = n == 1 ? 0 : dync__oi_int(c, "max_skip_count");
    dync_tensor *sum = NULL;
    for (int64_t s = 0; s <= skips; s++) {
        dync_tensor *one = dync__oi_grams_found(x, g->pool + g->start[n - 1], count, n, s);
        sum = sum && one ? dync_add(sum, one) : one;
        if (!sum) return NULL;
    }
    return sum;
}

DYNC__FN dync_status dync__oi_tf_idf(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *part[16], *y, *index;
    dync__oi_grams g;
    bool flat = dync__oi_rank(x) == 1;
    int64_t low = dync__oi_int(c, "min_gram_length"), high = dync__oi_int(c, "max_gram_length"),
            skips = dync__oi_int(c, "max_skip_count"), most = 0;
    if (dync__oi_is_float(x) || dync__oi_rank(x) < 1 || dync__oi_rank(x) > 2)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected numbers [C] or [N, C]");
    if (!dync__oi_grams_of(c, &g)) return dync_error();
    if (low < 1 || high < low || g.n_start > 16 || skips < 0 || skips > 1024)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "lengths of sequences, distances");
    x = dync_to_dtype(flat ? dync_unsqueeze(x, 0) : x, DYNC_I64);
    int64_t rows = dync__oi_size(x, 0);
    for (int n = 1; n <= g.n_start; n++) {
        int64_t to = n < g.n_start ? g.start[n] : g.n_pool, count = (to - g.start[n - 1]) / n;
        part[n - 1] = n < low || n > high || !count
                          ? dync__oi_full(dync_shape(rows, count), 0, DYNC_F32)
                          : dync__oi_grams_of_length(c, x, &g, n, count);
        if (!part[n - 1]) return dync_error();
    }
    y = dync__oi_list(g.n_start, part, 1, false); /* [N, sequences] */
    const int64_t n = g.n_index;
    index = dync__oi_tensor_i(DYNC_I64, 1, &n, g.index);
    for (int64_t i = 0; i < n; i++) most = DYNC__MAX(most, g.index[i]);
    y = y && index
            ? dync_index_add(dync__oi_full(dync_shape(rows, most + 1), 0, DYNC_F32), 1, index, y)
            : NULL;
    if (!dync__oi_is(c, "mode", "TF") && y) {
        double *w = dync__scope_alloc((size_t)(most + 1) * sizeof *w);
        const int64_t width = most + 1;
        if (!w) return DYNC_ERR_MEMORY;
        for (int64_t i = 0; i <= most; i++) w[i] = 1;
        for (int64_t i = 0; i < n; i++)
            if (g.weight) w[g.index[i]] = (double)g.weight[i];
        if (dync__oi_is(c, "mode", "IDF")) y = dync_to_dtype(dync_gt(y, 0.0), DYNC_F32);
        y = y ? dync_mul(y, dync__oi_tensor_f(DYNC_F32, 1, &width, w)) : NULL;
    }
    return dync__oi_out(c, 0, y && flat ? dync_select(y, 0, 0) : y);
}
