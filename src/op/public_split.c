/* op/public_split.c: lists of views: split, chunk, unbind. After public_read.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- splitting: lists of views --------------------------------------------------------------- */

/* n pieces of one size, or of sizes; the last one of a symbolic dim goes up to its end, total.
 * select: places instead of slices. sizes, or NULL and then `size` for all. Each piece is an
 * operator call of its own, a view. NONE on failure; pieces made before it belong to the scope. */
static dync_value dync__public_pieces(dync_tensor *h, int dim, int n, int64_t size,
                                      const int64_t *sizes, bool select, int64_t total)
{
    dync_value none = {DYNC_KIND_NONE, 0, {0}}, list = dync__list_new(n);
    int64_t start = 0;
    if (list.kind != DYNC_KIND_LIST) return none;
    for (int i = 0; i < n; i++) {
        int64_t length = sizes ? sizes[i] : size;
        int64_t end = i == n - 1 && dync__is_token(total) ? total : dync__sz_add(start, length);
        dync__arg args[5] = {dync__arg_h(h), dync__arg_i(dim), dync__arg_i(start), dync__arg_i(end),
                             dync__arg_i(1)};
        dync_value item = {DYNC_KIND_TENSOR, 0, {0}};
        item.as.t =
            (dync__op_call)(select ? DYNC__USED(DYNC__OP_select) : DYNC__USED(DYNC__OP_slice),
                            select ? 3 : 5, args, dync__tls.at);
        if (!item.as.t) return none;
        dync__list_set(list, i, item);
        start = end;
    }
    return list;
}

/* Opens h for splitting along *dim, which is wrapped; the size of that dim, or -1 on failure. any:
 * a symbolic one stays. DYNC_ERR_SHAPE for 0-dim tensors and for more places than an int counts. */
static int64_t dync__public_splittable(dync_tensor *h, int *dim, bool any)
{
    const dync__tensor *t = dync__open(h);
    if (!t) return -1;
    if (t->lay.ndim == 0)
        return dync__fail(DYNC_ERR_SHAPE, "expects at least a 1-dimensional tensor"), -1;
    if (dync__dim_wrap(*dim, t->lay.ndim, dim) != DYNC_OK) return -1;
    /* how many pieces there are depends on it */
    int64_t size = any ? t->lay.shape[*dim] : dync__sz_number(t->lay.shape[*dim]);
    if (dync__sz_hint(size) > INT_MAX)
        return dync__fail(DYNC_ERR_SHAPE, "too many pieces: %lld", (long long)dync__sz_hint(size)),
               -1;
    return size;
}

/* How many pieces of size make up total: a guard where that is symbolic. The two comparisons are
 * asked for their guards alone: (n - 1) size < total <= n size is what makes the answer hold for
 * other sizes too. */
static int dync__public_count(int64_t total, int64_t size)
{
    int64_t n = (dync__sz_hint(total) - 1) / dync__sz_hint(size) + 1;
    if (dync__any_token(total, size))
        (void)(dync__sz_lt(dync__sz_mul(n - 1, size), total) &&
               dync__sz_lt(dync__sz_mul(n, size), total));
    return (int)n;
}

/* A dim of size 0 is one empty piece. */
DYNC_API dync_value(dync_split)(dync_tensor *t, int64_t size, int dim)
{
    dync__public_frame f = dync__public_begin("split", dync__tls.at);
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    int64_t total = dync__public_splittable(t, &dim, true);
    if (total >= 0 && (size < 0 || (size == 0 && total)))
        dync__fail(DYNC_ERR_VALUE, "expects split_size be positive, but got %lld",
                   (long long)dync__sz_hint(size));
    else if (total >= 0)
        list = dync__public_pieces(t, dim, total ? dync__public_count(total, size) : 1, size, NULL,
                                   false, total);
    dync__public_end(&f);
    return list;
}

DYNC_API dync_value(dync_split_sizes)(dync_tensor *t, dync_dims sizes, int dim)
{
    dync__public_frame f = dync__public_begin("split_sizes", dync__tls.at);
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    bool open = false, ok = sizes.n >= 0 && sizes.n <= DYNC_MAX_DIMS;
    for (int i = 0; ok && i < sizes.n; i++) open = open || dync__is_token(sizes.d[i]);
    int64_t total = dync__public_splittable(t, &dim, open), sum = 0;
    for (int i = 0; ok && total >= 0 && i < sizes.n; i++) {
        ok = !dync__sz_lt(sizes.d[i], 0);
        if (dync__any_token(sum, sizes.d[i]))
            sum = dync__sz_add(sum, sizes.d[i]);
        else
            ok = ok && dync__add_ok(sum, sizes.d[i], &sum);
    }
    if (total >= 0 && (!ok || !dync__sz_eq(sum, total)))
        dync__fail(DYNC_ERR_VALUE,
                   "expects sizes >= 0 that sum exactly to %lld (input tensor's size at "
                   "dimension %d)",
                   (long long)dync__sz_hint(total), dim);
    else if (total >= 0)
        list = dync__public_pieces(t, dim, sizes.n, 0, sizes.d, false, total);
    dync__public_end(&f);
    return list;
}

/* Pieces of ceil(total / chunks), so there may be fewer than asked for, as in PyTorch; of an empty
 * dim as many empty ones as asked for. */
DYNC_API dync_value(dync_chunk)(dync_tensor *t, int chunks, int dim)
{
    dync__public_frame f = dync__public_begin("chunk", dync__tls.at);
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    int64_t total = dync__public_splittable(t, &dim, true);
    if (total >= 0 && chunks < 1)
        dync__fail(DYNC_ERR_VALUE, "expects `chunks` to be greater than 0, got: %d", chunks);
    else if (total >= 0) {
        int64_t size = dync__sz_size(dync__sz_div(dync__sz_add(total, chunks - 1), chunks));
        list = dync__public_pieces(t, dim, size ? dync__public_count(total, size) : chunks, size,
                                   NULL, false, total);
    }
    dync__public_end(&f);
    return list;
}

DYNC_API dync_value(dync_unbind)(dync_tensor *t, int dim)
{
    dync__public_frame f = dync__public_begin("unbind", dync__tls.at);
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    int64_t total = dync__public_splittable(t, &dim, false);
    if (total >= 0) list = dync__public_pieces(t, dim, (int)total, 1, NULL, true, total);
    dync__public_end(&f);
    return list;
}
