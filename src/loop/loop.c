/* loop/loop.c: builds kernels of loop IR. Before it: op/lower.c and vecmath_*.c call it; after it:
 * check, simplify, fuse.
 *
 * A kernel and all its vectors live in one arena. Building is sticky: when memory runs out
 * k->failed is set, every later call gives -1 and passes -1 operands on, so lowering code is
 * written straight and tested once at its end. Invariants: operands stand before their users;
 * sections never decrease; an equal pure value that may legally be used in the builder's section is
 * returned instead of a second copy (value numbering: Cocke & Schwartz 1970). */
#include "../dync.in.h"
#include "loop.h"
DYNC__LEAN

/* "const_" is stored with its underscore (a C keyword otherwise) and shown without. */
#define DYNC__X(name, args, types, result) {DYNC__TEXT(#name), args, DYNC__TEXT(types), result},
static const dync__prim_row dync__prim_raw[DYNC__N_PRIMS] = {DYNC__PRIMS(DYNC__X)};
#undef DYNC__X
static const dync__prim_row dync__prim_keywords[] = {
    {DYNC__TEXT("const"), 0, DYNC__TEXT("fdilb"), 'T'},
    {DYNC__TEXT("and"), 2, DYNC__TEXT("ilb"), 'S'},
    {DYNC__TEXT("or"), 2, DYNC__TEXT("ilb"), 'S'},
    {DYNC__TEXT("xor"), 2, DYNC__TEXT("ilb"), 'S'},
    {DYNC__TEXT("not"), 1, DYNC__TEXT("ilb"), 'S'}};

DYNC__BUSY DYNC__FN const dync__prim_row *dync__prim_info(int prim)
{
    switch (prim) {
    case DYNC__P_const_: return &dync__prim_keywords[0];
    case DYNC__P_and_: return &dync__prim_keywords[1];
    case DYNC__P_or_: return &dync__prim_keywords[2];
    case DYNC__P_xor_: return &dync__prim_keywords[3];
    case DYNC__P_not_: return &dync__prim_keywords[4];
    default: return &dync__prim_raw[prim >= 0 && prim < DYNC__N_PRIMS ? prim : 0];
    }
}

DYNC__FN dync__inst dync__inst_make(int prim, int type, int a, int b, int c)
{
    dync__inst in;
    memset(&in, 0, sizeof in);
    in.prim = (uint8_t)prim;
    in.type = (uint8_t)type;
    in.arg[0] = a;
    in.arg[1] = b;
    in.arg[2] = c;
    in.buf = in.access = -1;
    return in;
}

DYNC__FN bool dync__inst_has_value(const dync__inst *in)
{
    return in->prim != DYNC__P_store && in->prim != DYNC__P_storex;
}

DYNC__FN bool dync__inst_is_sized(const dync__inst *in)
{
    int64_t x = in->imm.i;
    bool real = in->type == DYNC_F32 || in->type == DYNC_F64;
    return DYNC__UNLIKELY(dync__tls.syms != NULL) && in->prim == DYNC__P_const_ &&
           (real ? dync__is_sf(x) : dync__is_token(x)) && dync__symtab_find(dync__tls.syms, x);
}

DYNC__FN bool dync__kernel_has_sizes(const dync__kernel *k)
{
    bool any = false;
    for (int d = 0; d < k->n_dims; d++) any |= dync__is_token(k->extent[d]);
    for (int i = 0; i < k->access.n; i++) {
        const dync__access *a = &k->access.at[i];
        any |= dync__any_token(a->offset, a->rows) || dync__is_token(a->row_stride);
        for (int d = 0; d < k->n_dims; d++) any |= dync__is_token(a->stride[d]);
    }
    return any;
}

DYNC__FN int dync__reduce_prim(int kind)
{
    static const uint8_t prims[] = {DYNC__P_add, DYNC__P_mul, DYNC__P_max,
                                    DYNC__P_min, DYNC__P_or_, DYNC__P_and_};
    return prims[kind];
}

DYNC__FN int dync__reduce_type(int kind, int operand_type)
{
    return kind == DYNC__R_ARGMAX || kind == DYNC__R_ARGMIN ? DYNC_I64 : operand_type;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

DYNC__FN dync__kernel *dync__kernel_new(dync__arena *arena, const char *name, int n_outer,
                                        int n_dims, const dync__size *extent)
{
    if (n_outer < 0 || n_dims < n_outer || n_dims > DYNC__LOOP_MAX_DIMS) {
        dync__fail(DYNC_ERR_INTERNAL,
                   "kernel %s: expected 0 <= outer <= loops <= %d, got %d and %d", name ? name : "",
                   (int)DYNC__LOOP_MAX_DIMS, n_outer, n_dims);
        return NULL;
    }
    dync__kernel *k = dync__arena_alloc(arena, sizeof *k);
    if (!k) return NULL;
    k->arena = arena;
    static const char own[] = "kernel";
    k->name = dync__arena_strdup(arena, name && *name ? name : own);
    if (!k->name) return NULL;
    k->n_outer = n_outer;
    k->n_dims = n_dims;
    for (int d = 0; d < n_dims; d++) k->extent[d] = extent[d];
    return k;
}

DYNC__FN int dync__kernel_buf(dync__kernel *k, int32_t id, int dtype, int mode, int64_t size,
                              const char *name)
{
    for (int i = 0; id >= 0 && i < k->buf.n; i++) {
        if (k->buf.at[i].id != id) continue;
        k->buf.at[i].mode = (uint8_t)(k->buf.at[i].mode | mode);
        return i;
    }
    dync__buf b;
    memset(&b, 0, sizeof b);
    b.id = id;
    b.dtype = (uint8_t)dtype;
    b.mode = (uint8_t)mode;
    b.size = size;
    b.name = name ? dync__arena_strdup(k->arena, name) : NULL;
    if ((name && !b.name) || !dync__avec_push(k->arena, &k->buf, b)) {
        k->failed = true;
        return -1;
    }
    return k->buf.n - 1;
}

DYNC__FN bool dync__kernel_writes(const dync__kernel *k)
{
    for (int i = 0; i < k->buf.n; i++)
        if (k->buf.at[i].mode & DYNC__BUF_OUT) return true;
    return false;
}

DYNC__FN int dync__kernel_access_of(dync__kernel *k, const dync__access *acc)
{
    for (int i = 0; i < k->access.n; i++)
        if (memcmp(&k->access.at[i], acc, sizeof *acc) == 0) return i;
    if (!dync__avec_push(k->arena, &k->access, *acc)) {
        k->failed = true;
        return -1;
    }
    return k->access.n - 1;
}

DYNC__FN int dync__kernel_rows(dync__kernel *k, int64_t offset, const int64_t *stride, int64_t rows,
                               int64_t row_stride)
{
    dync__access acc;
    memset(&acc, 0, sizeof acc);
    acc.offset = (dync__size)offset;
    acc.rows = (dync__size)rows;
    acc.row_stride = (dync__size)row_stride;
    bool fits = acc.offset == offset && acc.rows == rows && acc.row_stride == row_stride;
    for (int d = 0; stride && d < k->n_dims; d++) {
        acc.stride[d] = (dync__size)stride[d];
        if (acc.stride[d] != stride[d]) acc.stride[d] = 0, fits = fits && k->extent[d] <= 1;
    }
    if (!fits) dync__fail(DYNC_ERR_SHAPE, "kernel %s: too many indices", k->name);
    k->failed = k->failed || !fits;
    return dync__kernel_access_of(k, &acc);
}

DYNC__FN int dync__kernel_access(dync__kernel *k, int64_t offset, const int64_t *stride)
{
    return dync__kernel_rows(k, offset, stride, 0, 0);
}

DYNC__FN bool dync__bound_equal(const dync__bound *a, const dync__bound *b)
{
    bool same = a->size == b->size && a->lay.offset == b->lay.offset && a->lay.ndim == b->lay.ndim;
    for (int d = 0; same && d < a->lay.ndim; d++)
        same = a->lay.shape[d] == b->lay.shape[d] && a->lay.stride[d] == b->lay.stride[d];
    return same;
}

DYNC__FN bool dync__kernel_bound(dync__kernel *k, const dync__bound *bound)
{
    int i = 0;
    while (i < k->bound.n &&
           (k->bound.at[i].buf != bound->buf || !dync__bound_equal(&k->bound.at[i], bound)))
        i++;
    if (bound->buf < 0 || (i == k->bound.n && !dync__avec_push(k->arena, &k->bound, *bound)))
        k->failed = true;
    if (k->failed) return false;
    dync__bound first = bound->order < k->bound.at[i].order ? *bound : k->bound.at[i];
    for (; i > 0 && k->bound.at[i - 1].order > first.order; i--)
        k->bound.at[i] = k->bound.at[i - 1];
    k->bound.at[i] = first;
    return true;
}

DYNC__FN bool dync__kernel_bounds_of(dync__kernel *k, const dync__kernel *from)
{
    for (int i = 0; i < from->bound.n && !k->failed; i++) {
        dync__bound bound = from->bound.at[i];
        const dync__buf *b = &from->buf.at[bound.buf];
        bound.buf = dync__kernel_buf(k, b->id, b->dtype, DYNC__BUF_IN, b->size, b->name);
        dync__kernel_bound(k, &bound);
    }
    return !k->failed;
}
