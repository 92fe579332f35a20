/* tensor/shape.c: sizes, strides, broadcasting, views. Sizes and strides count elements; nothing
 * here touches data.
 *
 * Products of user sizes are checked: a layout that exists has numel * 16 bytes and all its offsets
 * within int64, of a small program of 32 bits within dync__size. Sources: pytorch/pytorch
 * aten/src/ATen/TensorUtils.cpp (strides of a view), TensorIterator.cpp (order of dims of an
 * output). */
#include "../dync.in.h"
#include "sym.h"
DYNC__WARM

/* As [2, 3]; symbolic sizes as expressions while a table is in force. */
DYNC__RARE DYNC__FN void dync__shape_text(dync__str *s, int ndim, const int64_t *shape)
{
    dync__str_addc(s, '[');
    for (int i = 0; i < ndim; i++) {
        if (i) dync__str_add(s, ", ");
        if (dync__sz_by_data(shape[i]))
            dync__symtab_text(dync__tls.syms, shape[i], false, s);
        else
            dync__str_addf(s, "%lld", (long long)dync__sz_hint(shape[i]));
    }
    dync__str_addc(s, ']');
}

/* For messages: a buffer that holds any shape. */
typedef struct dync__shape_buffer {
    char at[24 * DYNC_MAX_DIMS + 8];
} dync__shape_buffer;

/* Symbolic sizes by their values in this trace. */
DYNC__RARE static const char *dync__shape_show(dync__shape_buffer *b, int ndim,
                                               const int64_t *shape)
{
    size_t n = 1;
    if (ndim > DYNC_MAX_DIMS) return "(too many)";
    memcpy(b->at, "[", 2);
    for (int i = 0; i < ndim; i++)
        n += (size_t)dync__format(b->at + n, sizeof b->at - n, "%s%lld", i ? ", " : "",
                                  (long long)dync__sz_hint(shape[i]));
    memcpy(b->at + n, "]", 2);
    return b->at;
}

DYNC__FN dync_status dync__check_rank(int ndim)
{
    if (ndim >= 0 && ndim <= DYNC_MAX_DIMS) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "expected at most %d dimensions, got %d", DYNC_MAX_DIMS,
                      ndim);
}

/* A size that no memory has: a symbolic one, or a mistake. */
DYNC__RARE static dync_status dync__size_is_known(int ndim, const int64_t *shape, int64_t size)
{
    dync__shape_buffer text;
    if (dync__is_token(size) && dync__symtab_find(dync__tls.syms, size)) return DYNC_OK;
    if (dync__tls.compiling)
        return dync__fail(DYNC_ERR_SHAPE,
                          "%lld is too large for a size; what dync_dim gives may "
                          "only be passed on whole, as an element of a "
                          "shape, inside the traced function",
                          (long long)size);
    if (!dync__is_token(size)) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "too many elements in shape %s",
                      dync__shape_show(&text, ndim, shape));
}

/* The product of the sizes, symbolic where one of them is; 0 where a size is 0, even if the others
 * overflow. */
DYNC__FN dync_status dync__numel(int ndim, const int64_t *shape, int64_t *out)
{
    dync__shape_buffer text;
    int64_t n = 1;
    bool fits = true, empty = false;
    for (int i = 0; i < ndim; i++) {
        if (DYNC__UNLIKELY(shape[i] >= (int64_t)1 << 40))
            DYNC__TRY(dync__size_is_known(ndim, shape, shape[i]));
        if (shape[i] < 0)
            return dync__fail(DYNC_ERR_SHAPE, "negative size in shape %s",
                              dync__shape_show(&text, ndim, shape));
        empty = empty || shape[i] == 0;
    }
    for (int i = 0; i < ndim && !empty; i++) fits = fits && dync__sz_mul_ok(n, shape[i], &n);
    if (DYNC__SIZE_MAX < INT64_MAX) fits = fits && n <= DYNC__SIZE_MAX / 16;
    if (!fits)
        return dync__fail(DYNC_ERR_SHAPE, "too many elements in shape %s",
                          dync__shape_show(&text, ndim, shape));
    *out = empty ? 0 : n;
    return DYNC_OK;
}

/* Row-major strides: shape [2, 3, 4] gives [12, 4, 1]. A size of 0 counts as 1 in strides, as in
 * PyTorch. shape may be lay->shape itself. lay is left as it was on failure. */
DYNC__FN dync_status dync__layout_contiguous(dync__layout *lay, int ndim, const int64_t *shape)
{
    int64_t n, span = 1;
    DYNC__TRY(dync__check_rank(ndim));
    DYNC__TRY(dync__numel(ndim, shape, &n));
    int64_t strides[DYNC_MAX_DIMS];
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = span;
        if (!dync__sz_mul_ok(span, shape[i] > 1 ? shape[i] : 1, &span)) span = INT64_MAX;
    }
    if (!dync__is_token(span) &&
        (span > DYNC__SIZE_MAX / 16 || (uint64_t)span > (uint64_t)PTRDIFF_MAX / 16)) {
        dync__shape_buffer text;
        return dync__fail(DYNC_ERR_SHAPE, "too many bytes in shape %s",
                          dync__shape_show(&text, ndim, shape));
    }
    lay->ndim = ndim;
    lay->offset = 0;
    for (int i = 0; i < ndim; i++) {
        lay->shape[i] = shape[i];
        lay->stride[i] = strides[i];
    }
    return DYNC_OK;
}

static bool dync__layout_is_empty(const dync__layout *lay)
{
    for (int i = 0; i < lay->ndim; i++) {
        if (lay->shape[i] == 0) return true;
    }
    return false;
}

/* For layouts from outside (files, DLPack): no negative stride, numel and the last address within
 * int64 / 16, so that bytes can be counted afterwards without checks. */
DYNC__FN bool dync__layout_is_countable(const dync__layout *lay)
{
    int64_t n = 1, reach = lay->offset, step;
    for (int i = 0; i < lay->ndim; i++) {
        int64_t size = DYNC__MAX(lay->shape[i], 1);
        if (lay->shape[i] < 0 || lay->stride[i] < 0 || lay->stride[i] > INT64_MAX / 16 ||
            !dync__mul_ok(n, size, &n) || !dync__mul_ok(size - 1, lay->stride[i], &step) ||
            !dync__add_ok(reach, step, &reach))
            return false;
    }
    return lay->ndim >= 0 && lay->ndim <= DYNC_MAX_DIMS && lay->offset >= 0 &&
           n <= INT64_MAX / 16 && reach <= INT64_MAX / 16;
}

DYNC__FN bool dync__layout_equal(const dync__layout *a, const dync__layout *b)
{
    /* what lies beyond the rank was never written */
    size_t bytes = (size_t)a->ndim * sizeof *a->shape;
    return a->ndim == b->ndim && a->offset == b->offset && memcmp(a->shape, b->shape, bytes) == 0 &&
           memcmp(a->stride, b->stride, bytes) == 0;
}

/* The same strides but for dims of size 1, whose strides mean nothing. The shapes are the same. */
DYNC__FN bool dync__layout_lies_like(const dync__layout *a, const dync__layout *b)
{
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != 1 && a->stride[d] != b->stride[d]) return false;
    return true;
}

/* Row major; strides of dims of size 1 may be anything, as nothing is reached by them. */
DYNC__FN bool dync__layout_is_contiguous(const dync__layout *lay)
{
    int64_t span = 1;
    bool matches = true;
    for (int i = lay->ndim - 1; i >= 0 && matches; i--) {
        if (lay->shape[i] == 1) continue;
        matches = dync__sz_eq(lay->stride[i], span);
        span = dync__sz_mul(span, lay->shape[i]);
    }
    return matches || dync__layout_is_empty(lay);
}

/* Is it a permutation of a row-major tensor, without gaps and overlaps? Dims of more than one
 * element, by stride: each must begin where the faster ones end. [3, 2] with strides [1, 3] is,
 * with [4, 1] is not. */
DYNC__FN bool dync__layout_is_dense(const dync__layout *lay)
{
    int64_t span = 1;
    bool used[DYNC_MAX_DIMS] = {false};
    if (dync__layout_is_empty(lay)) return true;
    for (;;) {
        int next = -1;
        bool left = false;
        for (int i = 0; i < lay->ndim; i++) {
            if (used[i] || lay->shape[i] == 1) continue;
            left = true;
            if (dync__sz_eq(lay->stride[i], span)) next = i;
        }
        if (!left) return true;
        if (next < 0) return false;
        used[next] = true;
        span = dync__sz_mul(span, lay->shape[next]);
    }
}

/* Only expanded dims (stride 0) are looked for: writing into such a tensor is an error. */
DYNC__RARE DYNC__FN bool dync__layout_overlaps_itself(const dync__layout *lay)
{
    if (dync__layout_is_empty(lay)) return false;
    for (int i = 0; i < lay->ndim; i++) {
        if (lay->shape[i] > 1 && lay->stride[i] == 0) return true;
    }
    return false;
}

/* Has each element a place of its own? By growing stride: each step leaves all that the smaller
 * ones reach. false may be wrong for odd layouts, true never is. */
DYNC__FN bool dync__layout_is_apart(const dync__layout *lay)
{
    int64_t shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS], reach = 0, last = 0;
    if (dync__layout_is_empty(lay)) return true;
    for (int d = 0; d < lay->ndim; d++) {
        shape[d] = dync__sz_hint(lay->shape[d]);
        stride[d] = dync__sz_hint(lay->stride[d]);
        if (shape[d] > 1 && stride[d] <= 0) return false;
    }
    for (;;) {
        int next = -1, equal = 0;
        for (int d = 0; d < lay->ndim; d++)
            if (shape[d] > 1 && stride[d] > last && (next < 0 || stride[d] < stride[next]))
                next = d;
        if (next < 0) return true;
        for (int d = 0; d < lay->ndim; d++) equal += shape[d] > 1 && stride[d] == stride[next];
        if (equal > 1 || stride[next] <= reach) return false;
        last = stride[next];
        reach += (shape[next] - 1) * last;
    }
}

/* Negative dims count from the end; a 0-dim tensor takes 0 and -1. */
DYNC__FN dync_status dync__dim_wrap(int dim, int ndim, int *out)
{
    int n = ndim > 0 ? ndim : 1;
    if (dim < -n || dim >= n)
        return dync__fail(DYNC_ERR_INDEX, "dimension out of range: expected %d to %d, got %d", -n,
                          n - 1, dim);
    *out = dim < 0 ? dim + n : dim;
    return DYNC_OK;
}

/* NumPy's rule, from the last dim on: equal, or one of them 1; a missing dim is 1. [4, 1, 3] and
 * [5, 3] give [4, 5, 3]. out may be a or b. */
DYNC__FN dync_status dync__broadcast(int na, const int64_t *a, int nb, const int64_t *b, int *n_out,
                                     int64_t *out)
{
    int n = na > nb ? na : nb;
    int64_t result[DYNC_MAX_DIMS];
    DYNC__TRY(dync__check_rank(n));
    for (int i = 0; i < n; i++) {
        int64_t x = i >= n - na ? a[i - (n - na)] : 1, y = i >= n - nb ? b[i - (n - nb)] : 1;
        if (x != 1 && y != 1 && !dync__sz_eq(x, y)) {
            dync__shape_buffer ta, tb;
            return dync__fail(DYNC_ERR_SHAPE, "shapes %s and %s do not broadcast",
                              dync__shape_show(&ta, na, a), dync__shape_show(&tb, nb, b));
        }
        result[i] = x == 1 ? y : x;
    }
    memcpy(out, result, (size_t)n * sizeof *out);
    *n_out = n;
    return DYNC_OK;
}

/* Dims of size 1 grow by stride 0, new ones stand in front; -1 keeps a size. in and out may be the
 * same. */
DYNC__FN dync_status dync__layout_expand(const dync__layout *in, int ndim, const int64_t *shape,
                                         dync__layout *out)
{
    dync__shape_buffer from, to;
    dync__layout result;
    int lead = ndim - in->ndim;
    DYNC__TRY(dync__check_rank(ndim));
    bool ok = lead >= 0;
    for (int i = ndim - 1; i >= 0 && ok; i--) {
        int64_t have = i >= lead ? in->shape[i - lead] : 1,
                want = shape[i] == -1 && i >= lead ? have : shape[i];
        bool same = want == have || (have != 1 && want > 0 && dync__sz_eq(want, have));
        ok = want >= 0 && (same || have == 1);
        result.shape[i] = want;
        result.stride[i] = !same       ? 0
                           : i >= lead ? in->stride[i - lead]
                           : in->ndim  ? dync__sz_mul(result.shape[i + 1], result.stride[i + 1])
                                       : 0;
    }
    if (!ok) {
        return dync__fail(DYNC_ERR_SHAPE, "a tensor of shape %s cannot be expanded to %s",
                          dync__shape_show(&from, in->ndim, in->shape),
                          dync__shape_show(&to, ndim, shape));
    }
    int64_t n;
    DYNC__TRY(dync__numel(ndim, result.shape, &n));
    result.ndim = ndim;
    result.offset = in->offset;
    *out = result;
    return DYNC_OK;
}

/* Fills in the size given as -1. */
static dync_status dync__view_sizes(const dync__layout *in, int ndim, const int64_t *shape,
                                    int64_t *out)
{
    dync__shape_buffer from, to;
    int64_t have, known = 1;
    int unknown = -1, free_dims = 0;
    bool ok = true;
    DYNC__TRY(dync__check_rank(ndim));
    for (int i = 0; i < ndim; i++) free_dims += shape[i] == -1;
    if (free_dims > 1)
        return dync__fail(DYNC_ERR_SHAPE,
                          "shape %s: only one dimension can be -1, which is what the others leave",
                          dync__shape_show(&to, ndim, shape));
    DYNC__TRY(dync__numel(in->ndim, in->shape, &have));
    for (int i = 0; i < ndim; i++) {
        out[i] = shape[i];
        if (shape[i] == -1 && unknown < 0)
            unknown = i;
        else
            ok = ok && shape[i] >= 0 && dync__sz_mul_ok(known, shape[i], &known);
    }
    if (ok && unknown >= 0) {
        ok = known != 0 && dync__sz_eq(dync__sz_mod(have, known), 0);
        if (ok) out[unknown] = dync__sz_size(dync__sz_div(have, known));
    } else {
        ok = ok && dync__sz_eq(known, have);
    }
    if (ok) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE,
                      "shape %s does not fit a tensor of shape %s with %lld elements",
                      dync__shape_show(&to, ndim, shape),
                      dync__shape_show(&from, in->ndim, in->shape), (long long)dync__sz_hint(have));
}

/* Dims of in, from the last, are gathered into chunks that are contiguous inside; each new dim must
 * fall into one chunk. *possible: false where only a copy has that shape.
 *
 *   in [2, 3, 4], strides [20, 4, 1]      chunks {2} and {3, 4}: 12 elements, 1 apart
 *   to [2, 12], [2, 6, 2]                 possible
 *   to [6, 4]                             not: 6 spans both chunks */
DYNC__FN dync_status dync__layout_view(const dync__layout *in, int ndim, const int64_t *shape,
                                       dync__layout *out, bool *possible)
{
    dync__layout result;
    DYNC__TRY(dync__view_sizes(in, ndim, shape, result.shape));
    *possible = true;
    if (dync__layout_is_empty(in)) {
        bool same = ndim == in->ndim && dync__sz_same(ndim, result.shape, in->shape);
        if (same) *out = *in;
        return same ? DYNC_OK : dync__layout_contiguous(out, ndim, result.shape);
    }
    result.ndim = ndim;
    result.offset = in->offset;
    int d = ndim - 1;
    int64_t base = in->ndim ? in->stride[in->ndim - 1] : 1, chunk = 1, made = 1;
    for (int i = in->ndim - 1; i >= 0; i--) {
        chunk = dync__sz_mul(chunk, in->shape[i]);
        if (i > 0 &&
            (in->shape[i - 1] == 1 || dync__sz_eq(in->stride[i - 1], dync__sz_mul(chunk, base))))
            continue;
        while (d >= 0 && (result.shape[d] == 1 || dync__sz_lt(made, chunk))) {
            result.stride[d] = dync__sz_mul(made, base);
            made = dync__sz_mul(made, result.shape[d--]);
        }
        if (!dync__sz_eq(made, chunk)) {
            *possible = false;
            return DYNC_OK;
        }
        if (i > 0) {
            base = in->stride[i - 1];
            chunk = made = 1;
        }
    }
    /* rank 0 seen as sizes of 1 */
    for (; d >= 0; d--) result.stride[d] = dync__sz_mul(made, base);
    *out = result;
    return DYNC_OK;
}
