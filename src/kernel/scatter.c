/* kernel/scatter.c: writes and additions to places given by an index. Before: runtime/run.c.
 *
 *   scatter, scatter_add   out = base; out[.., index[p], ..] = or += source[p] for every place p of index; attr: dim
 *   index_add              out = base; slice index[i] of out along dim += alpha * slice i of source; attr: dim, fattr: alpha
 * In order of places, by one thread: of two writes to one element the later wins, and sums do not depend on threads. An index
 * outside the dim is DYNC_ERR_INDEX; what was written before stays written. Dense arrays as in operand.c; base and out may be one. */
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"

static dync_status dync__scatter_bad_index(const dync__kcall *c, int64_t index, int64_t size)
{
    return dync__fail(DYNC_ERR_INDEX, "%s: index %lld is out of bounds for dimension %lld with size %lld", c->row->name, (long long)index,
                      (long long)c->attr[0], (long long)size);
}

/* to += scale * from, one element of a working dtype; the scale of integers is an integer. */
static void dync__scatter_accumulate(char *to, const char *from, int dtype, double scale)
{
    if (dtype == DYNC_F32) {
        float x, y;
        memcpy(&x, to, sizeof x);
        memcpy(&y, from, sizeof y);
        x += (float)scale * y;
        memcpy(to, &x, sizeof x);
    } else if (dtype == DYNC_F64) {
        double x, y;
        memcpy(&x, to, sizeof x);
        memcpy(&y, from, sizeof y);
        x += scale * y;
        memcpy(to, &x, sizeof x);
    } else {
        uint64_t sum = (uint64_t)dync__load_i64(to, dtype) + (uint64_t)(int64_t)scale * (uint64_t)dync__load_i64(from, dtype);
        dync__store_i64(to, dtype, (int64_t)sum);
    }
}

typedef struct dync__scatter {
    const dync__kcall *call;
    dync__dense index, source, out;
    const dync__operand *places;        /* the operand whose shape is walked */
    int dtype;
    int64_t dim;
} dync__scatter;

static int64_t dync__scatter_stride(const dync__operand *o, int dim)
{
    int64_t stride = 1;
    for (int d = o->lay.ndim - 1; d > dim; d--) stride *= o->lay.shape[d];
    return stride;
}

/* Along the last dim of `places`: n indices, elements of source, and of out where that is not the dim. Returns the place of a bad index, or n. */
static int64_t dync__scatter_line(const dync__scatter *s, int kind, const int64_t *index, int64_t n, const char *from, char *to, int64_t step)
{
    int64_t bytes = dync__dtype_info(s->dtype)->bytes, size = s->call->operand[3].lay.shape[s->dim], i = 0;
    int64_t along = s->dim == s->call->operand[3].lay.ndim - 1 ? 0 : 1, every = kind == 2 && along ? 0 : 1;
    double scale = kind == 2 ? s->call->fattr[0] : 1.0;
    if (kind == 1 && s->dtype == DYNC_F32) {
        const float *x = (const float *)(const void *)from;
        float *y = (float *)(void *)to;
        for (; i < n && (uint64_t)index[i] < (uint64_t)size; i++) y[index[i] * step + i * along] += x[i];
        return i;
    }
    for (; i < n && (uint64_t)index[i * every] < (uint64_t)size; i++) {
        char *at = to + (index[i * every] * step + i * along) * bytes;
        if (kind == 0) memcpy(at, from + i * bytes, (size_t)bytes);
        else dync__scatter_accumulate(at, from + i * bytes, s->dtype, scale);
    }
    return i;
}

/* Walks every place of `places`: kind 0 sets, 1 adds, 2 adds whole slices (the index is one-dimensional). */
static dync_status dync__scatter_walk(const dync__scatter *s, int kind)
{
    const dync__operand *source = &s->call->operand[2], *out = &s->call->operand[3];
    int last = out->lay.ndim - 1;
    int64_t bytes = dync__dtype_info(s->dtype)->bytes, at[DYNC_MAX_DIMS] = {0}, from[DYNC_MAX_DIMS], to[DYNC_MAX_DIMS];
    int64_t n = dync__operand_numel(s->places), size = out->lay.shape[s->dim], line = s->places->lay.shape[last];
    for (int d = 0; d <= last; d++) {
        from[d] = dync__scatter_stride(source, d);
        to[d] = d == s->dim ? 0 : dync__scatter_stride(out, d);
    }
    for (int64_t place = 0; place < n; place += line) {
        int64_t source_at = 0, out_at = 0;
        const int64_t *index = (const int64_t *)s->index.data + (kind != 2 ? place : s->dim == last ? 0 : at[s->dim]);
        for (int d = 0; d < last; d++) {
            source_at += at[d] * from[d];
            out_at += at[d] * to[d];
        }
        int64_t bad = dync__scatter_line(s, kind, index, line, (const char *)s->source.data + source_at * bytes, (char *)s->out.data + out_at * bytes,
                                         dync__scatter_stride(out, (int)s->dim));
        if (bad < line) return dync__scatter_bad_index(s->call, index[kind == 2 && s->dim != last ? 0 : bad], size);
        for (int i = last - 1; i >= 0 && ++at[i] == s->places->lay.shape[i]; i--) at[i] = 0;
    }
    return DYNC_OK;
}

/* index_add of floats whose slices are dense along the last dim: line by line. */
static dync_status dync__scatter_lines(const dync__scatter *s)
{
    const dync__operand *source = &s->call->operand[2], *out = &s->call->operand[3];
    int bytes = dync__dtype_info(s->dtype)->bytes, rank = out->lay.ndim;
    int64_t inner = dync__scatter_stride(out, (int)s->dim), size = out->lay.shape[s->dim], n = source->lay.shape[s->dim], outer = 1;
    float narrow = (float)s->call->fattr[0];
    const void *scale = bytes == 4 ? (const void *)&narrow : (const void *)&s->call->fattr[0];
    for (int d = 0; d < rank && d < s->dim; d++) outer *= out->lay.shape[d];
    dync__gemm line = {.type = bytes == 8 ? DYNC__GT_F64 : DYNC__GT_F32, .m = 1, .n = inner, .k = 1, .d = s->out.data, .a_col = 1, .b_col = 1, .c_col = 1};
    dync__gemm_fixed *f = outer * n >= 64 ? dync__gemm_fix(&line) : NULL;
    dync_status status = DYNC_OK;
    for (int64_t i = 0; i < outer * n && status == DYNC_OK; i++) {
        int64_t index = ((const int64_t *)s->index.data)[i % n];
        const char *from = (const char *)s->source.data + i * inner * bytes;
        char *to = (char *)s->out.data + (i / n * size + index) * inner * bytes;
        if (index < 0 || index >= size) status = dync__scatter_bad_index(s->call, index, size);
        else if (!f || !dync__gemm_fixed_run(f, scale, from, to, to)) dync__gemm_add_lines(bytes, inner, 1, scale, from, 0, to);
    }
    if (f) dync__gemm_fixed_free(f);
    return status;
}

static dync_status dync__scatter_run(const dync__kcall *c, void *const *data, int kind)
{
    const dync__operand *op = c->operand;
    int64_t stride[DYNC_MAX_DIMS];
    dync__scatter s;
    memset(&s, 0, sizeof s);
    s.call = c;
    s.dtype = dync__operand_working(op[3].dtype);
    s.dim = c->attr[0];
    s.places = kind == 2 ? &op[2] : &op[1];
    if (dync__operand_numel(&op[3]) == 0 && dync__operand_numel(s.places) == 0) return DYNC_OK;
    dync_status status = dync__dense_in(&op[1], data[1], DYNC_I64, &s.index);
    if (status == DYNC_OK) status = dync__dense_in(&op[2], data[2], s.dtype, &s.source);
    if (status == DYNC_OK) status = dync__dense_out(&op[3], data[3], s.dtype, &s.out);
    if (status == DYNC_OK) {
        for (int d = 0; d < op[3].lay.ndim; d++) stride[d] = dync__scatter_stride(&op[3], d);
        bool in_place = !s.out.copy && dync__operand_at(&op[0], data[0]) == s.out.data && dync__layout_is_contiguous(&op[0].lay);
        if (!in_place)
            dync__copy_elements(op[0].lay.ndim, op[0].lay.shape, s.out.data, s.dtype, stride, dync__operand_at(&op[0], data[0]), op[0].dtype,
                                op[0].lay.stride);
        bool lines = kind == 2 && dync__dtype_info(s.dtype)->kind == 'f' && dync__scatter_stride(&op[3], (int)s.dim) >= 8;
        status = lines ? dync__scatter_lines(&s) : dync__scatter_walk(&s, kind);
    }
    if (status == DYNC_OK) dync__dense_finish(&op[3], data[3], &s.out);
    dync__dense_drop(&s.index);
    dync__dense_drop(&s.source);
    dync__dense_drop(&s.out);
    return status;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------------------- */

static dync_status dync__scatter_check(dync__kcall *c, bool slices)
{
    const dync__operand *base = &c->operand[0], *index = &c->operand[1], *source = &c->operand[2], *out = &c->operand[3];
    DYNC__TRY(dync__kcall_expect(c, c->n == 4 && base->lay.ndim >= 1 && out->lay.ndim == base->lay.ndim && source->lay.ndim == base->lay.ndim,
                                 "4 operands, base, source and result of one rank"));
    DYNC__TRY(dync__kcall_expect(c, c->attr[0] >= 0 && c->attr[0] < base->lay.ndim, "a dim of the operand"));
    DYNC__TRY(dync__kcall_expect(c, base->dtype == out->dtype && source->dtype == out->dtype && index->dtype == DYNC_I64,
                                 "one dtype, and an I64 index"));
    DYNC__TRY(dync__kcall_expect(c, slices ? index->lay.ndim == 1 && index->lay.shape[0] == source->lay.shape[c->attr[0]]
                                           : index->lay.ndim == base->lay.ndim, "an index that fits the source"));
    for (int d = 0; d < base->lay.ndim; d++) {
        DYNC__TRY(dync__kcall_expect(c, base->lay.shape[d] == out->lay.shape[d], "base and result of one shape"));
        const int64_t *walked = slices ? source->lay.shape : index->lay.shape;
        DYNC__TRY(dync__kcall_expect(c, (d == c->attr[0] || walked[d] <= out->lay.shape[d]) && walked[d] <= source->lay.shape[d],
                                     "an index no larger than source and result"));
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__k_index_add_prepare(dync__kcall *c) { return dync__scatter_check(c, true); }
DYNC__FN dync_status dync__k_scatter_add_prepare(dync__kcall *c) { return dync__scatter_check(c, false); }
DYNC__FN dync_status dync__k_scatter_prepare(dync__kcall *c) { return dync__scatter_check(c, false); }

DYNC__FN dync_status dync__k_scatter(const dync__kcall *c, void *const *data, void *scratch)
{
    (void)scratch;
    return dync__scatter_run(c, data, 0);
}

DYNC__FN dync_status dync__k_scatter_add(const dync__kcall *c, void *const *data, void *scratch)
{
    (void)scratch;
    return dync__scatter_run(c, data, 1);
}

DYNC__FN dync_status dync__k_index_add(const dync__kcall *c, void *const *data, void *scratch)
{
    (void)scratch;
    return dync__scatter_run(c, data, 2);
}
