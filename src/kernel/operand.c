/* kernel/operand.c: operands of kernel calls as dense arrays, and the table of kernels. Before:
 * runtime/ calls the rows; beside: matmul.c conv.c pooling.c sort.c scatter.c, which compute.
 *
 * Most kernels are written for row-major arrays of f32, f64 or integers. Anything else (strided
 * views, f16 and bf16) is copied in and out here, so that every kernel takes every layout. Copies
 * come from the thread's cache. */
#include "../dync.in.h"
#include "operand.h"
#include "../codegen/convert.h"
#include "../codegen/target.h"
DYNC__BESIDE_JIT

DYNC__FN int64_t dync__operand_numel(const dync__operand *o)
{
    int64_t n = 1;
    for (int d = 0; d < o->lay.ndim; d++) n = dync__sz_mul(n, o->lay.shape[d]);
    return n;
}

DYNC__FN void *dync__operand_at(const dync__operand *o, void *slot)
{
    /* an empty one may have no memory */
    return o->lay.offset ? (char *)slot + o->lay.offset * dync__dtype_info(o->dtype)->bytes : slot;
}

DYNC__FN int dync__operand_working(int dtype)
{
    return dtype == DYNC_F16 || dtype == DYNC_BF16 ? DYNC_F32 : dtype;
}

/* ---- copying --------------------------------------------------------------------------------- */

static void dync__copy_row(int64_t n, char *to, int to_dtype, int64_t to_step, const char *from,
                           int from_dtype, int64_t from_step)
{
    int64_t to_bytes = dync__dtype_info(to_dtype)->bytes,
            from_bytes = dync__dtype_info(from_dtype)->bytes;
    if (to_dtype == from_dtype) {
        if (to_step == 1 && from_step == 1) {
            memcpy(to, from, (size_t)(n * to_bytes));
            return;
        }
#define DYNC__COPY_STEPS(T)         \
    for (int64_t i = 0; i < n; i++) \
    ((T *)(void *)to)[i * to_step] = ((const T *)(const void *)from)[i * from_step]
        if (to_bytes == 1)
            DYNC__COPY_STEPS(uint8_t);
        else if (to_bytes == 2)
            DYNC__COPY_STEPS(uint16_t);
        else if (to_bytes == 4)
            DYNC__COPY_STEPS(uint32_t);
        else
            DYNC__COPY_STEPS(uint64_t);
        return;
    }
    if (to_step == 1 && from_step == 1 && (to_dtype == DYNC_F32 || from_dtype == DYNC_F32)) {
        dync__convert convert = dync__convert_open(to_dtype, from_dtype);
        dync__convert_run(&convert, to, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        dync__store_f64(to + i * to_step * to_bytes, to_dtype,
                        dync__load_f64(from + i * from_step * from_bytes, from_dtype));
}

DYNC__FN void dync__copy_elements(int ndim, const int64_t *shape, void *to_, int to_dtype,
                                  const int64_t *to_stride, const void *from_, int from_dtype,
                                  const int64_t *from_stride)
{
    int64_t index[DYNC_MAX_DIMS] = {0}, to_bytes = dync__dtype_info(to_dtype)->bytes,
            from_bytes = dync__dtype_info(from_dtype)->bytes;
    char *to = to_;
    const char *from = from_;
    int last = ndim - 1;
    for (int d = 0; d < ndim; d++)
        if (shape[d] == 0) return;
    while (last > 0 && shape[last] == 1) last--;
    int64_t n = ndim ? shape[last] : 1, to_step = ndim ? to_stride[last] : 1,
            from_step = ndim ? from_stride[last] : 1;
    while (last > 0 && to_stride[last - 1] == n * to_step && from_stride[last - 1] == n * from_step)
        n *= shape[--last];
    for (;;) {
        dync__copy_row(n, to, to_dtype, to_step, from, from_dtype, from_step);
        int d = last - 1;
        for (; d >= 0; d--) {
            to += to_stride[d] * to_bytes;
            from += from_stride[d] * from_bytes;
            if (++index[d] < shape[d]) break;
            to -= shape[d] * to_stride[d] * to_bytes;
            from -= shape[d] * from_stride[d] * from_bytes;
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

DYNC__FN void dync__dense_strides(const dync__operand *o, int64_t *stride)
{
    int64_t next = 1;
    for (int d = o->lay.ndim - 1; d >= 0; d--) {
        stride[d] = next;
        next *= o->lay.shape[d];
    }
}

DYNC__FN dync_status dync__dense_out(const dync__operand *o, void *slot, int dtype,
                                     dync__dense *out)
{
    memset(out, 0, sizeof *out);
    out->dtype = dtype;
    if (o->dtype == dtype && dync__layout_is_contiguous(&o->lay)) {
        out->data = dync__operand_at(o, slot);
        return DYNC_OK;
    }
    out->bytes = (size_t)dync__operand_numel(o) * dync__dtype_info(dtype)->bytes;
    out->data = out->copy = dync__alloc_data(out->bytes);
    return out->data ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__dense_in(const dync__operand *o, void *slot, int dtype, dync__dense *out)
{
    int64_t stride[DYNC_MAX_DIMS];
    DYNC__TRY(dync__dense_out(o, slot, dtype, out));
    if (!out->copy) return DYNC_OK;
    dync__dense_strides(o, stride);
    dync__copy_elements(o->lay.ndim, o->lay.shape, out->copy, dtype, stride,
                        dync__operand_at(o, slot), o->dtype, o->lay.stride);
    return DYNC_OK;
}

DYNC__FN void dync__dense_drop(dync__dense *d)
{
    if (d->copy) dync__free_data(d->copy, d->bytes);
    d->data = d->copy = NULL;
}

DYNC__FN void dync__dense_finish(const dync__operand *o, void *slot, dync__dense *d)
{
    int64_t stride[DYNC_MAX_DIMS];
    if (d->copy) {
        dync__dense_strides(o, stride);
        dync__copy_elements(o->lay.ndim, o->lay.shape, dync__operand_at(o, slot), o->dtype,
                            o->lay.stride, d->copy, d->dtype, stride);
    }
    dync__dense_drop(d);
}

DYNC__FN dync_status dync__dense_all(const dync__kcall *c, int n, int ins, void *const *data,
                                     dync__dense *d)
{
    dync_status status = DYNC_OK;
    memset(d, 0, (size_t)n * sizeof *d);
    for (int i = 0; i < n && status == DYNC_OK; i++)
        status = (i < ins ? dync__dense_in
                          : dync__dense_out)(&c->operand[i], data[i],
                                             dync__dtype_info(c->operand[i].dtype)->kind == 'i'
                                                 ? DYNC_I64
                                                 : dync__operand_working(c->operand[i].dtype),
                                             &d[i]);
    return status;
}

DYNC__FN dync_status dync__dense_end(const dync__kcall *c, int n, int ins, void *const *data,
                                     dync__dense *d, dync_status status)
{
    for (int i = 0; i < n; i++) {
        if (i >= ins && status == DYNC_OK) dync__dense_finish(&c->operand[i], data[i], &d[i]);
        dync__dense_drop(&d[i]);
    }
    return status;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

DYNC__FN bool dync__piece_begin(dync__piece *p, const char *name, int n_outer, int64_t rows,
                                int64_t lanes)
{
    const dync__size extent[2] = {(dync__size)rows, (dync__size)lanes};
    memset(p, 0, sizeof *p);
    p->b.k = dync__kernel_new(&p->arena, name, n_outer, 2, extent);
    p->b.section = 1;
    p->b.origin = name;
    return p->b.k != NULL;
}

DYNC__FN int dync__piece_buf(dync__piece *p, int dtype, int mode)
{
    return dync__kernel_buf(p->b.k, p->b.k->buf.n, dtype, mode, -1, NULL);
}

static int dync__piece_access(dync__piece *p, int64_t offset, int64_t row, int64_t lane)
{
    const int64_t stride[2] = {row, lane};
    return dync__kernel_access(p->b.k, offset, stride);
}

DYNC__FN int dync__piece_load(dync__piece *p, int buf, int64_t offset, int64_t row, int64_t lane)
{
    return dync__lb_load(&p->b, buf, dync__piece_access(p, offset, row, lane));
}

DYNC__FN void dync__piece_store(dync__piece *p, int buf, int64_t offset, int64_t row, int64_t lane,
                                int value)
{
    dync__lb_store(&p->b, buf, dync__piece_access(p, offset, row, lane), value);
}

DYNC__FN dync_status dync__piece_end(dync__piece *p, dync__code **out)
{
    p->b.k->in_parts = true;
    bool failed = p->b.k->failed, sized = !failed && dync__kernel_has_sizes(p->b.k);
    *out = failed ? NULL : sized ? dync__code_sized(p->b.k) : dync__code_new(p->b.k);
    if (failed) dync__fail_memory(0);
    dync__arena_free(&p->arena);
    if (sized) return DYNC_OK; /* there need not be any */
    return *out ? DYNC_OK : dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
}

DYNC__FN void dync__gemm_of(int dtype, int64_t m, int64_t n, int64_t k, const void *a,
                            int64_t a_row, int64_t a_col, const void *b, int64_t b_row,
                            int64_t b_col, void *c, int64_t c_row, int64_t c_col, bool accumulate)
{
    if (dtype == DYNC_F32)
        dync__gemm_f32(m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, c_col, accumulate);
    else
        dync__gemm_f64(m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, c_col, accumulate);
}

/* ---- the table ------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__kcall_expect(const dync__kcall *c, bool ok, const char *what)
{
    return ok ? DYNC_OK
              : dync__fail(DYNC_ERR_INTERNAL, "kernel %s: expected %s",
                           c->row ? c->row->name : "call", what);
}

#define DYNC__NAMED(form, type, name) \
    {DYNC__TEXT(#name), DYNC__ATTR_##type, offsetof(dync__attr_##form, name)},
#define DYNC__X(form)                                           \
    static const dync__attr_field dync__kcall_attr_##form[] = { \
        DYNC__ATTR_##form(DYNC__NAMED, form){0}};
DYNC__ATTRS(DYNC__X)
#undef DYNC__X
static const dync__attr_field dync__kcall_attr_none[] = {{0}};

#define DYNC__PIECES_(name) NULL
#define DYNC__PIECES_pieces(name) dync__k_##name##_pieces
#define DYNC__ALONE_(name) NULL
#define DYNC__ALONE_alone(name) DYNC__SMALLER(NULL, dync__k_##name##_alone)
#define DYNC__DENSE_ false
#define DYNC__DENSE_dense true
#define DYNC__X(name, form, pieces, alone, dense)                                       \
    DYNC__DATA const dync__kcall_row dync__kcall_##name = {DYNC__TEXT(#name),           \
                                                           dync__k_##name##_prepare,    \
                                                           dync__k_##name,              \
                                                           dync__kcall_attr_##form,     \
                                                           DYNC__K_##name,              \
                                                           false,                       \
                                                           DYNC__PIECES_##pieces(name), \
                                                           false,                       \
                                                           false,                       \
                                                           DYNC__ALONE_##alone(name),   \
                                                           DYNC__DENSE_##dense};
DYNC__KERNELS(DYNC__X)
#undef DYNC__X
#undef DYNC__PIECES_
#undef DYNC__PIECES_pieces
#undef DYNC__ALONE_
#undef DYNC__ALONE_alone
#undef DYNC__DENSE_
#undef DYNC__DENSE_dense
