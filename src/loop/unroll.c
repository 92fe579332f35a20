/* loop/unroll.c: kernels over short rows (three channels, two coordinates, four classes) become
 * pointwise over their rows. After fuse.c, before schedule.c.
 *
 * A row at a time, a vector of lanes has three numbers and a sum is made of lanes; so each phase is
 * written out once for each inner index, what is reduced is joined in pairs, and rows lie side by
 * side in the lanes. Not where the order of indices shows (scans, scatters, what is written in
 * place), nor where the text would be long; from 16 elements on lanes are full. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__COLD

typedef struct dync__unroll {
    const dync__kernel *k;
    dync__lb b;      /* of the new kernel */
    int length;      /* of a row */
    int32_t *number; /* [inst * length + inner index]: the new value */
} dync__unroll;

/* Elements of a row; 0: it stays a loop; -1: few in the call at hand, of symbolic extents. Their
 * product may be a number where they are none: of symbols that an earlier kernel pinned. */
static int dync__unroll_length(const dync__kernel *k)
{
    dync__fuse_traits t = dync__fuse_traits_of(k);
    int64_t rows = 1, length = 1;
    bool symbolic = false;
    if (k->failed || t.pointwise || t.tangled || t.scatters || t.empty || k->uses_random) return 0;
    for (int d = 0; d < k->n_dims; d++) {
        int64_t *n = d < k->n_outer ? &rows : &length;
        *n = dync__sz_mul(*n, k->extent[d]);
        symbolic |= d >= k->n_outer && dync__is_token(k->extent[d]);
    }
    if (length < 1 || dync__sz_lt(DYNC__UNROLL_ROW, length) || dync__sz_lt(rows, DYNC__UNROLL_ROWS))
        return 0;
    if (symbolic) return -1;
    for (int i = 0; i < k->buf.n; i++)
        if (k->buf.at[i].mode == (DYNC__BUF_IN | DYNC__BUF_OUT)) return 0;
    return dync__fuse_writes_out(k, length) ? (int)length : 0;
}

/* The access at inner index t, over the rows alone. */
static int dync__unroll_access(dync__unroll *u, const dync__access *a, int t)
{
    const dync__kernel *k = u->k;
    dync__access at = *a;
    for (int d = k->n_dims - 1; d >= k->n_outer; d--) {
        /* extents of a row are at most its length */
        at.offset = dync__sz_add(at.offset, dync__sz_mul(a->stride[d], t % (int)k->extent[d]));
        at.stride[d] = 0;
        t /= (int)k->extent[d];
    }
    return dync__kernel_access_of(u->b.k, &at);
}

/* The first extreme of a row; NaN is one. */
static int dync__unroll_position(dync__unroll *u, const int32_t *x, bool greatest)
{
    int best = x[0], at = dync__lb_i(&u->b, DYNC_I64, 0);
    bool nan = dync__lb_type(&u->b, best) == DYNC_F32 || dync__lb_type(&u->b, best) == DYNC_F64;
    for (int t = 1; t < u->length; t++) {
        int take =
            dync__lb_op(&u->b, DYNC__P_lt, greatest ? best : x[t], greatest ? x[t] : best, -1);
        if (nan) {
            int is = dync__lb_op(&u->b, DYNC__P_ne, x[t], x[t], -1),
                was = dync__lb_op(&u->b, DYNC__P_eq, best, best, -1);
            take = dync__lb_op(&u->b, DYNC__P_and_, dync__lb_op(&u->b, DYNC__P_or_, take, is, -1),
                               was, -1);
        }
        best = dync__lb_op(&u->b, DYNC__P_select, take, x[t], best);
        at = dync__lb_op(&u->b, DYNC__P_select, take, dync__lb_i(&u->b, DYNC_I64, t), at);
    }
    return at;
}

static int dync__unroll_reduce(dync__unroll *u, int kind, const int32_t *x)
{
    if (kind == DYNC__R_ARGMAX || kind == DYNC__R_ARGMIN)
        return dync__unroll_position(u, x, kind == DYNC__R_ARGMAX);
    int v[DYNC__UNROLL_ROW] = {x[0]}, n = u->length, type = dync__lb_type(&u->b, x[0]);
    for (int t = 1; t < n; t++) v[t] = x[t];
    /* -0 becomes 0 */
    if (kind == DYNC__R_SUM && (type == DYNC_F32 || type == DYNC_F64))
        v[0] = dync__lb_op(&u->b, DYNC__P_add, dync__lb_f(&u->b, type, 0), v[0], -1);
    for (; n > 1; n = (n + 1) / 2) /* of two zeros the first */
        for (int t = 0; t < n; t += 2)
            v[t / 2] = t + 1 < n ? dync__lb_op(&u->b, dync__reduce_prim(kind), v[t + 1], v[t], -1)
                                 : v[t];
    return v[0];
}

/* Instruction i at inner index t. */
static int dync__unroll_one(dync__unroll *u, int i, int t)
{
    dync__inst in = u->k->inst.at[i];
    for (int a = 0; a < 3; a++)
        if (in.arg[a] >= 0) in.arg[a] = u->number[in.arg[a] * u->length + t];
    in.section = 1;
    if (in.access >= 0) in.access = dync__unroll_access(u, &u->k->access.at[in.access], t);
    return dync__lb_add(&u->b, &in);
}

static void dync__unroll_all(dync__unroll *u)
{
    for (int i = 0; i < u->k->inst.n && !u->b.k->failed; i++) {
        const dync__inst *in = &u->k->inst.at[i];
        int32_t *to = &u->number[i * u->length],
                *x = in->arg[0] < 0 ? NULL : &u->number[in->arg[0] * u->length];
        bool phase = in->section & 1 && in->prim != DYNC__P_reduce;
        u->b.origin = in->origin;
        to[0] = in->prim == DYNC__P_reduce ? dync__unroll_reduce(u, (int)in->imm.i, x)
                                           : dync__unroll_one(u, i, 0);
        for (int t = 1; t < u->length; t++) to[t] = phase ? dync__unroll_one(u, i, t) : to[0];
    }
}

/* Rows are written out for the sizes that they have, which is a guard. */
static void dync__unroll_number(dync__kernel *k)
{
    for (int d = k->n_outer; d < k->n_dims; d++) k->extent[d] = dync__sz_number(k->extent[d]);
}

static void dync__unroll_kernel(dync__kernel *k)
{
    dync__unroll u = {.k = k, .length = dync__unroll_length(k)};
    if (u.length < 0) dync__unroll_number(k);
    if (u.length < 0) u.length = dync__unroll_length(k);
    if (u.length <= 0) return;
    dync__kernel_schedule(k); /* who stores a row's elements one by one has no other order */
    dync__kernel *out = dync__kernel_new(k->arena, k->name, 0, k->n_outer, k->extent);
    u.number = dync__arena_alloc(k->arena, (size_t)(k->inst.n * u.length) * sizeof *u.number);
    k->failed = !out || !u.number;
    for (int i = 0; i < k->buf.n && !k->failed; i++)
        k->failed = !dync__avec_push(k->arena, &out->buf, k->buf.at[i]);
    k->failed = k->failed || !dync__kernel_bounds_of(out, k);
    if (k->failed) return;
    u.b = (dync__lb){.k = out, .section = 1};
    dync__unroll_all(&u);
    *k = *out;
    dync__kernel_simplify(k);
}

/* By need: of who compiles and builds reductions. */
static void (*DYNC__BY_NEED dync__unroll_used)(dync__kernel *) =
    DYNC__AT_FIRST(dync__unroll_kernel);
DYNC__FN void dync__unroll_rows(void) { DYNC__PUT(dync__unroll_used, dync__unroll_kernel); }
DYNC__FN void dync__kernel_unroll(dync__kernel *k)
{
    if (dync__unroll_used) dync__unroll_used(k);
}
