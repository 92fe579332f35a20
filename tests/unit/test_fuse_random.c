/* Random programs of loop IR run twice by the oracle, as written and fused: every kept buffer must
 * have the same bits. A program that differs is cut down step by step and printed as text for
 * dync-opt, with its seed. */
#include "../../tools/opt.h"
#include "../../src/base/pass.h"
#include "../../src/codegen/codegen.h"
#include "../../src/loop/fuse.h"
#include "test.h"

enum { RND_BUFS = 64, RND_STEPS = 24, RND_BYTES = 16384 };

/* How the fused program is run: by the oracle; the same with scheduled loops; by the tile
 * interpreter. */
typedef enum { RND_ORACLE, RND_SCHEDULED, RND_INTERPRETED } rnd_mode;
typedef struct rnd_buf {
    int dtype, rank;
    int64_t dim[3], size;
    bool keep, is_input;
} rnd_buf;
typedef struct rnd_program {
    dync__arena arena;
    int n_bufs, n_steps;
    int64_t dims[3];
    rnd_buf buf[RND_BUFS];
    dync__fuse_step step[RND_STEPS];
    bool tangles; /* scatters and shifted in-place kernels as well */
} rnd_program;

static uint64_t rnd_state;
static int rnd(int n)
{
    rnd_state = rnd_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((rnd_state >> 33) % (uint64_t)n);
}

/* ---- making programs ------------------------------------------------------------------------- */

static int rnd_dtype(void)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F32, DYNC_F32, DYNC_F64, DYNC_BF16,
                                 DYNC_F16, DYNC_I32, DYNC_U8,  DYNC_I64, DYNC_BOOL};
    return dtypes[rnd(DYNC__COUNT_OF(dtypes))];
}

static int rnd_new_buf(rnd_program *p, int rank, const int64_t *dim, int dtype, bool input)
{
    rnd_buf *b = &p->buf[p->n_bufs];
    memset(b, 0, sizeof *b);
    b->dtype = dtype;
    b->rank = rank;
    b->size = 1;
    b->is_input = input;
    b->keep = input || rnd(4) == 0;
    for (int d = 0; d < rank; d++) b->size *= b->dim[d] = dim[d];
    return p->n_bufs++;
}

static void rnd_strides(const rnd_buf *b, int64_t *stride)
{
    int64_t s = 1;
    for (int d = b->rank - 1; d >= 0; d--) {
        stride[d] = s;
        s *= b->dim[d];
    }
}

/* A way to see buffer b under a shape: the whole, permuted, broadcast, reshaped or sliced. False:
 * none was found. */
static bool rnd_view(const rnd_buf *b, int rank, const int64_t *dim, bool for_store,
                     dync__access *acc)
{
    int64_t own[3] = {0};
    memset(acc, 0, sizeof *acc);
    rnd_strides(b, own);
    int64_t numel = 1;
    for (int d = 0; d < rank; d++) numel *= dim[d];
    int way = rnd(for_store ? 4 : 5);
    if (way == 0 && b->size == numel && rank > 0) { /* reshaped */
        int64_t s = 1;
        for (int d = rank - 1; d >= 0; d--) {
            acc->stride[d] = s;
            s *= dim[d];
        }
        return true;
    }
    if (way == 1 && b->rank == rank && rank > 1) { /* two dimensions exchanged */
        int x = rnd(rank), y = rnd(rank);
        for (int d = 0; d < rank; d++) {
            int from = d == x ? y : d == y ? x : d;
            if (b->dim[from] != dim[d]) return false;
            acc->stride[d] = own[from];
        }
        return true;
    }
    if (way == 2 && b->rank == rank && rank > 0) { /* sliced, sometimes with a step or backwards */
        for (int d = 0; d < rank; d++) {
            int64_t step = rnd(4) == 0 ? 2 : 1, room = b->dim[d] - (dim[d] - 1) * step;
            if (room < 1) return false;
            int64_t start = rnd((int)room);
            acc->stride[d] = own[d] * step;
            acc->offset += own[d] * start;
            if (rnd(8) == 0) {
                acc->offset += acc->stride[d] * (dim[d] - 1);
                acc->stride[d] = -acc->stride[d];
            }
        }
        return true;
    }
    if (b->rank > rank) return false;
    for (int d = 0; d < b->rank; d++) { /* aligned at the end, as in PyTorch */
        int at = rank - b->rank + d;
        if (b->dim[d] == dim[at])
            acc->stride[at] = own[d];
        else if (b->dim[d] != 1 || for_store)
            return false;
        if (b->dim[d] == 1 && dim[at] != 1) acc->stride[at] = 0;
    }
    if (for_store)
        for (int d = 0; d < rank; d++)
            if (dim[d] > 1 && acc->stride[d] == 0) return false;
    return true;
}

static void rnd_shape(const rnd_program *p, int *rank, int64_t *dim)
{
    *rank = 1 + rnd(3);
    for (int d = 0; d < *rank; d++) dim[d] = p->dims[*rank == 3 ? d : rnd(3)];
    if (rnd(6) == 0) dim[rnd(*rank)] = 1;
    if (rnd(10) == 0) {
        *rank = 1;
        dim[0] = p->dims[0] * p->dims[1];
    }
}

static int rnd_load(rnd_program *p, dync__lb *b, int rank, const int64_t *dim, const int *loop_of)
{
    dync__access acc;
    int which = -1;
    for (int tries = 0; tries < 30 && which < 0; tries++) {
        int back = rnd(1 + rnd(p->n_bufs)), i = p->n_bufs - 1 - back; /* recent ones more often */
        if (rnd_view(&p->buf[i], rank, dim, false, &acc)) which = i;
    }
    if (which < 0 || rnd(12) == 0) {
        which = rnd_new_buf(p, rank, dim, rnd_dtype(), true);
        do {
        } while (!rnd_view(&p->buf[which], rank, dim, false, &acc));
    }
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    for (int d = 0; d < rank; d++) stride[loop_of[d]] = acc.stride[d];
    const rnd_buf *buf = &p->buf[which];
    int at = dync__kernel_buf(b->k, which, buf->dtype, DYNC__BUF_IN, buf->size, NULL);
    if (rnd(25) == 0) { /* a gather of what the index says, modulo the size */
        int index = dync__lb_index(b, dync__kernel_access(b->k, rnd(3), stride));
        if (rnd(2)) {
            index = dync__lb_op(b, DYNC__P_sub, index, dync__lb_i(b, DYNC_I64, 2), -1);
            return dync__lb_loadx(b, at, dync__kernel_rows(b->k, 0, NULL, buf->size, 1), index);
        }
        index = dync__lb_op(b, DYNC__P_rem, dync__lb_op(b, DYNC__P_abs, index, -1, -1),
                            dync__lb_i(b, DYNC_I64, buf->size), -1);
        return dync__lb_loadx(b, at, dync__kernel_access(b->k, 0, NULL), index);
    }
    return dync__lb_load(b, at, dync__kernel_access(b->k, acc.offset, stride));
}

/* An expression of type over what is at hand. */
static int rnd_expr(rnd_program *p, dync__lb *b, int type, int depth, int rank, const int64_t *dim,
                    const int *loop_of)
{
    static const int binary[] = {DYNC__P_add, DYNC__P_sub, DYNC__P_mul, DYNC__P_max, DYNC__P_min};
    static const int integer[] = {DYNC__P_and_, DYNC__P_or_, DYNC__P_xor_};
    if (depth == 0) {
        int what = rnd(8);
        if (what == 0)
            return type == DYNC_F32 || type == DYNC_F64 ? dync__lb_f(b, type, (rnd(9) - 4) * 0.375)
                                                        : dync__lb_i(b, type, rnd(4));
        if (what == 1 && rnd(6) == 0) {
            int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
            for (int d = 0; d < rank; d++) stride[loop_of[d]] = d ? 1 : 7;
            int index = dync__lb_index(b, dync__kernel_access(b->k, rnd(100), stride));
            if (rnd(2)) return dync__lb_cast(b, index, type);
            return dync__lb_cast(b, dync__lb_random(b, index, DYNC_F32, rnd(2)), type);
        }
        return dync__lb_cast(b, rnd_load(p, b, rank, dim, loop_of), type);
    }
    int x = rnd_expr(p, b, type, depth - 1, rank, dim, loop_of);
    if (rnd(3) == 0)
        return type == DYNC_BOOL ? dync__lb_op(b, DYNC__P_not_, x, -1, -1)
                                 : dync__lb_op(b, rnd(2) ? DYNC__P_neg : DYNC__P_abs, x, -1, -1);
    int y = rnd_expr(p, b, type, rnd(depth), rank, dim, loop_of);
    if (type == DYNC_BOOL) return dync__lb_op(b, integer[rnd(3)], x, y, -1);
    if (rnd(6) == 0)
        return dync__lb_op(b, DYNC__P_select, dync__lb_op(b, DYNC__P_lt, x, y, -1), y, x);
    return dync__lb_op(b, binary[rnd(5)], x, y, -1);
}

static void rnd_order(int n, int *loop_of)
{
    for (int d = 0; d < n; d++) loop_of[d] = d;
    for (int d = n - 1; d > 0 && rnd(3) == 0; d--) {
        int other = rnd(d + 1), swap = loop_of[d];
        loop_of[d] = loop_of[other];
        loop_of[other] = swap;
    }
}

static void rnd_store(rnd_program *p, dync__lb *b, int buf, const dync__access *acc, int rank,
                      const int *loop_of, int value)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    for (int d = 0; d < rank; d++) stride[loop_of[d]] = acc->stride[d];
    int at = dync__kernel_buf(b->k, buf, p->buf[buf].dtype, DYNC__BUF_OUT, p->buf[buf].size, NULL);
    dync__lb_store(b, at, dync__kernel_access(b->k, acc->offset, stride), value);
}

static dync__kernel *rnd_pointwise(rnd_program *p)
{
    int rank, loop_of[3], out = -1;
    int64_t dim[3], extent[3];
    dync__access acc;
    rnd_shape(p, &rank, dim);
    rnd_order(rank, loop_of);
    for (int d = 0; d < rank; d++) extent[loop_of[d]] = dim[d];
    dync__kernel *k = dync__kernel_new(&p->arena, "pw", 0, rank, extent);
    dync__lb b = {k, 1, NULL, false};
    if (rnd(4) == 0) { /* into a buffer that exists: in place, a slice, a column */
        int i = rnd(p->n_bufs);
        if (rnd_view(&p->buf[i], rank, dim, true, &acc)) out = i;
    }
    int type = out >= 0 ? dync__dtype_info(p->buf[out].dtype)->compute
                        : dync__dtype_info(rnd_dtype())->compute,
        value = 0;
    value = rnd_expr(p, &b, type, 1 + rnd(3), rank, dim, loop_of);
    if (out >= 0 && rnd(2)) { /* it reads what it writes, at the same place */
        int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
        for (int d = 0; d < rank; d++) stride[loop_of[d]] = acc.stride[d];
        int at = dync__kernel_buf(k, out, p->buf[out].dtype, DYNC__BUF_IN, p->buf[out].size, NULL);
        int old = dync__lb_load(&b, at, dync__kernel_access(k, acc.offset, stride));
        value = dync__lb_op(&b, type == DYNC_BOOL ? DYNC__P_xor_ : DYNC__P_add, value, old, -1);
    }
    if (out >= 0 && !p->tangles) {
        for (int i = 0; i < k->inst.n; i++) { /* not at another one */
            const dync__inst *in = &k->inst.at[i];
            if (in->buf < 0 || k->buf.at[in->buf].id != out) continue;
            bool same = k->access.at[in->access].offset == acc.offset;
            for (int d = 0; d < rank; d++)
                same &= k->access.at[in->access].stride[loop_of[d]] == acc.stride[d] || dim[d] == 1;
            if (!same || in->prim == DYNC__P_loadx) return NULL;
        }
    }
    if (out < 0) {
        static const int narrow[] = {DYNC_F32, DYNC_BF16, DYNC_F16},
                         ints[] = {DYNC_I32, DYNC_U8, DYNC_I16};
        int dtype = type == DYNC_F32 ? narrow[rnd(3)] : type == DYNC_I32 ? ints[rnd(3)] : type;
        out = rnd_new_buf(p, rank, dim, dtype, false);
        do {
        } while (!rnd_view(&p->buf[out], rank, dim, true, &acc));
        if (rnd(3)) { /* most results are contiguous */
            memset(&acc, 0, sizeof acc);
            rnd_strides(&p->buf[out], acc.stride);
        }
    }
    rnd_store(p, &b, out, &acc, rank, loop_of, value);
    if (rnd(10) == 0) {
        int second = rnd_new_buf(p, rank, dim, type, false);
        memset(&acc, 0, sizeof acc);
        rnd_strides(&p->buf[second], acc.stride);
        rnd_store(p, &b, second, &acc, rank, loop_of,
                  type == DYNC_BOOL ? value : dync__lb_op(&b, DYNC__P_neg, value, -1, -1));
    }
    return k;
}

static dync__kernel *rnd_reduction(rnd_program *p)
{
    int rank, n_outer = 0, loop_of[3], n = 0, kept_loop[3];
    int64_t dim[3], extent[3], kept[3];
    bool reduced[3], keepdim = rnd(2), any = false;
    rnd_shape(p, &rank, dim);
    for (int d = 0; d < rank; d++) any |= reduced[d] = rnd(2);
    if (!any) reduced[rank - 1] = true;
    for (int d = 0; d < rank; d++) n_outer += !reduced[d];
    int o = 0, i = n_outer;
    for (int d = 0; d < rank; d++) loop_of[d] = reduced[d] ? i++ : o++;
    for (int d = 0; d < rank; d++) extent[loop_of[d]] = dim[d];
    dync__kernel *k = dync__kernel_new(&p->arena, "red", n_outer, rank, extent);
    dync__lb b = {k, 1, NULL, false};
    int type = dync__dtype_info(rnd_dtype())->compute;
    int value = rnd_expr(p, &b, type, rnd(2), rank, dim, loop_of);
    int kind = type == DYNC_BOOL ? (rnd(2) ? DYNC__R_ANY : DYNC__R_ALL)
               : rnd(8) == 0     ? DYNC__R_ARGMAX
               : rnd(4) == 0     ? DYNC__R_MAX
                                 : DYNC__R_SUM;
    int result = dync__lb_reduce(&b, kind, value);
    b.section = 2;
    if (rnd(3) == 0 && kind == DYNC__R_SUM && type == DYNC_F32)
        result = dync__lb_op(&b, DYNC__P_mul, result, dync__lb_f(&b, type, 0.125), -1);
    for (int d = 0; d < rank; d++) {
        if (reduced[d] && !keepdim) continue;
        kept_loop[n] = loop_of[d];
        kept[n++] = reduced[d] ? 1 : dim[d];
    }
    int out = rnd_new_buf(p, n, kept, dync__reduce_type(kind, type), false);
    dync__access acc;
    memset(&acc, 0, sizeof acc);
    rnd_strides(&p->buf[out], acc.stride);
    for (int d = 0; d < n; d++)
        if (kept[d] == 1) acc.stride[d] = 0;
    rnd_store(p, &b, out, &acc, n, kept_loop, result);
    return k;
}

/* Running sums along one dim of some values, sometimes with more done to them in the same loops. */
static dync__kernel *rnd_scan(rnd_program *p)
{
    int rank, loop_of[3], along, type = rnd(3) ? (rnd(2) ? DYNC_F32 : DYNC_F64) : DYNC_I64;
    int64_t dim[3], extent[3];
    dync__access acc;
    rnd_shape(p, &rank, dim);
    along = rnd(rank);
    for (int d = 0, o = 0; d < rank; d++) loop_of[d] = d == along ? rank - 1 : o++;
    for (int d = 0; d < rank; d++) extent[loop_of[d]] = dim[d];
    dync__kernel *k = dync__kernel_new(&p->arena, "scan", rank - 1, rank, extent);
    dync__lb b = {k, 1, NULL, false};
    int result = dync__lb_scan(&b, rnd_expr(p, &b, type, rnd(2), rank, dim, loop_of));
    if (rnd(3) == 0) result = dync__lb_op(&b, DYNC__P_mul, result, result, -1);
    if (rnd(2)) result = dync__lb_cast(&b, result, type = type == DYNC_I64 ? DYNC_I32 : DYNC_F32);
    int out = rnd_new_buf(p, rank, dim, type, false);
    memset(&acc, 0, sizeof acc);
    rnd_strides(&p->buf[out], acc.stride);
    rnd_store(p, &b, out, &acc, rank, loop_of, result);
    return k;
}

/* y[(7 * i) mod size] = value: several indices may meet, the last one wins */
static dync__kernel *rnd_scatter(rnd_program *p)
{
    int64_t extent = 4 + rnd(8), size = 5 + rnd(6), along[1] = {1};
    int loop_of[1] = {0}, out = rnd_new_buf(p, 1, &size, DYNC_F32, true);
    dync__kernel *k = dync__kernel_new(&p->arena, "scatter", 0, 1, &extent);
    dync__lb b = {k, 1, NULL, false};
    int value = rnd_expr(p, &b, DYNC_F32, 1, 1, &extent, loop_of);
    int index = dync__lb_op(&b, DYNC__P_mul, dync__lb_index(&b, dync__kernel_access(k, 0, along)),
                            dync__lb_i(&b, DYNC_I64, 7), -1);
    index = dync__lb_op(&b, DYNC__P_rem, index, dync__lb_i(&b, DYNC_I64, size), -1);
    int at = dync__kernel_buf(k, out, DYNC_F32, DYNC__BUF_OUT, size, NULL);
    dync__lb_storex(&b, at, dync__kernel_access(k, 0, NULL), value, index);
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_load && k->inst.at[i].buf == at) return NULL;
    return k;
}

/* An opaque call: second buffer = bytes of the first, each plus one. */
static bool rnd_call(rnd_program *p, dync__fuse_step *s)
{
    int32_t ids[2] = {rnd(p->n_bufs), 0};
    const rnd_buf *from = &p->buf[ids[0]];
    if (from->dtype != DYNC_I32 && from->dtype != DYNC_U8) return false;
    ids[1] = rnd_new_buf(p, from->rank, from->dim, from->dtype, false);
    const int32_t *copy = dync__arena_copy(&p->arena, ids, sizeof ids);
    *s = (dync__fuse_step){NULL, 1, 1, copy, copy + 1, dync__arena_strdup(&p->arena, "opaque")};
    return true;
}

static void rnd_make(rnd_program *p, uint64_t seed, bool tangles)
{
    memset(p, 0, sizeof *p);
    rnd_state = seed * 0x9e3779b97f4a7c15u + 12345;
    p->tangles = tangles;
    for (int d = 0; d < 3; d++) p->dims[d] = 2 + rnd(rnd(4) ? 4 : 7);
    for (int i = 0; i < 3; i++) {
        int rank;
        int64_t dim[3];
        rnd_shape(p, &rank, dim);
        rnd_new_buf(p, rank, dim, rnd_dtype(), true);
    }
    int n = 2 + rnd(RND_STEPS - 3);
    for (int tries = 0; tries < 100 && p->n_steps < n && p->n_bufs < RND_BUFS - 24; tries++) {
        dync__fuse_step s = {0};
        int what = rnd(12);
        if (what == 0 && rnd_call(p, &s)) {
        } else if (what == 1 && tangles) {
            s.k = rnd_scatter(p);
        } else {
            s.k = what < 5 ? rnd_reduction(p) : what == 5 ? rnd_scan(p) : rnd_pointwise(p);
        }
        if (!s.k && !s.call) continue;
        if (s.k && s.k->failed) continue;
        if (s.k && rnd(3) == 0) dync__kernel_collapse(s.k);
        p->step[p->n_steps++] = s;
    }
    for (int i = DYNC__MAX(0, p->n_bufs - 2); i < p->n_bufs; i++) p->buf[i].keep = true;
}

/* ---- running them ---------------------------------------------------------------------------- */

static void rnd_fill(const rnd_buf *b, char *data, int number)
{
    for (int64_t i = 0; i < b->size; i++) {
        int x = (int)((i * 7 + number * 13) % 23) - 11;
        switch (b->dtype) {
        case DYNC_F32: ((float *)(void *)data)[i] = (float)x * 0.3f; break;
        case DYNC_F64: ((double *)(void *)data)[i] = x * 0.3; break;
        case DYNC_F16: ((uint16_t *)(void *)data)[i] = dync__f32_to_f16((float)x * 0.3f); break;
        case DYNC_BF16: ((uint16_t *)(void *)data)[i] = dync__f32_to_bf16((float)x * 0.3f); break;
        case DYNC_I64: ((int64_t *)(void *)data)[i] = x; break;
        case DYNC_I32: ((int32_t *)(void *)data)[i] = x; break;
        case DYNC_I16: ((int16_t *)(void *)data)[i] = (int16_t)x; break;
        case DYNC_BOOL: data[i] = x > 0; break;
        default: data[i] = (char)x;
        }
    }
}

static size_t rnd_bytes(const rnd_buf *b)
{
    return (size_t)b->size * dync__dtype_info(b->dtype)->bytes;
}

/* Another order of additions would round a sum otherwise. */
static bool rnd_sums(const dync__kernel *k)
{
    for (int i = 0; i < k->inst.n; i++)
        if ((k->inst.at[i].prim == DYNC__P_reduce || k->inst.at[i].prim == DYNC__P_scan) &&
            (k->inst.at[i].type == DYNC_F32 || k->inst.at[i].type == DYNC_F64))
            return true;
    return false;
}

static bool rnd_run(const dync__kernel *k, void **buffers, rnd_mode mode)
{
    if (dync__kernel_check(k) != DYNC_OK) return false;
    if (mode != RND_INTERPRETED || rnd_sums(k))
        return dync__kernel_eval(k, buffers, 99, 0) == DYNC_OK;
    dync__code *code = dync__code_new(k);
    dync_status status = code ? dync__code_run(code, buffers, 99, 0) : DYNC_ERR_INTERNAL;
    dync__code_free(code);
    return status == DYNC_OK;
}

static bool rnd_execute(const rnd_program *p, const dync__fuse_step *step, int n, rnd_mode mode,
                        char *(*data))
{
    for (int i = 0; i < p->n_bufs; i++) rnd_fill(&p->buf[i], data[i], i);
    for (int i = 0; i < n; i++) {
        const dync__fuse_step *s = &step[i];
        if (!s->k) {
            for (size_t x = 0; x < rnd_bytes(&p->buf[s->reads[0]]); x++)
                data[s->writes[0]][x] = (char)(data[s->reads[0]][x] + 1);
            continue;
        }
        void *buffers[RND_BUFS];
        for (int b = 0; b < s->k->buf.n; b++) buffers[b] = data[s->k->buf.at[b].id];
        if (!rnd_run(s->k, buffers, mode)) return false;
    }
    return true;
}

static bool rnd_is_nan(const rnd_buf *b, const char *at)
{
    uint16_t h;
    float f;
    double d;
    memcpy(&h, at, 2);
    switch (b->dtype) {
    case DYNC_F16: return (h & 0x7fff) > 0x7c00;
    case DYNC_BF16: return (h & 0x7fff) > 0x7f80;
    case DYNC_F32: memcpy(&f, at, 4); return f != f;
    case DYNC_F64: memcpy(&d, at, 8); return d != d;
    default: return false;
    }
}

/* The first kept buffer that differs, -1 none. */
static int rnd_differs(const rnd_program *p, char *(*a), char *(*b))
{
    for (int i = 0; i < p->n_bufs; i++) {
        size_t size = dync__dtype_info(p->buf[i].dtype)->bytes;
        for (size_t at = 0; p->buf[i].keep && at < rnd_bytes(&p->buf[i]); at += size)
            if (memcmp(a[i] + at, b[i] + at, size) != 0 &&
                !(rnd_is_nan(&p->buf[i], a[i] + at) && rnd_is_nan(&p->buf[i], b[i] + at)))
                return i;
    }
    return -1;
}

/* What is tried: fusion, or that of a small program. */
static dync_status (*rnd_fuse)(dync__arena *, dync__fuse_step *, int *,
                               const dync__fuse_options *) = dync__fuse;

static bool rnd_keep(void *user, int32_t id) { return ((const rnd_program *)user)->buf[id].keep; }

typedef struct rnd_counts {
    int programs, steps_before, steps_after;
} rnd_counts;

/* Does fusing the steps of p that are still there change a result? Gives a message, or NULL. */
static const char *rnd_fails(const rnd_program *p, const dync__fuse_step *step, int n,
                             rnd_mode mode, rnd_counts *counts)
{
    static char memory[2][RND_BUFS][RND_BYTES];
    static char message[1400];
    char *plain[RND_BUFS], *fused[RND_BUFS];
    dync__fuse_step copy[RND_STEPS];
    int n_fused = n;
    dync__arena arena = {0};
    int most = p->n_bufs % 3 ? 0 : 16; /* some stay apart that could be one */
    dync__fuse_options options = {.few_registers = p->n_bufs % 2,
                                  .max_insts = most,
                                  .keep = rnd_keep,
                                  .user = (void *)(uintptr_t)p};
    const char *result = NULL;
    for (int i = 0; i < p->n_bufs; i++) {
        if (rnd_bytes(&p->buf[i]) > sizeof memory[0][0]) return NULL;
        plain[i] = memory[0][i];
        fused[i] = memory[1][i];
    }
    memcpy(copy, step, sizeof *step * (size_t)n);
    dync_clear_error();
    if (!rnd_execute(p, step, n, RND_ORACLE, plain)) {
        dync__format(message, sizeof message, "the program itself: %s", dync_error_message());
        return message;
    }
    if (rnd_fuse(&arena, copy, &n_fused, &options) != DYNC_OK) {
        dync__format(message, sizeof message, "fuse: %s", dync_error_message());
        result = message;
    }
    for (int i = 0; i < n_fused && mode != RND_ORACLE && !result; i++)
        if (copy[i].k && !rnd_sums(copy[i].k)) dync__kernel_schedule(copy[i].k);
    if (!result && !rnd_execute(p, copy, n_fused, mode, fused)) {
        dync__format(message, sizeof message, "fused: %s", dync_error_message());
        result = message;
    }
    int bad = result ? -1 : rnd_differs(p, plain, fused);
    if (bad >= 0) {
        dync__format(message, sizeof message, "buffer %d differs", bad);
        result = message;
    }
    if (counts) {
        counts->programs++;
        counts->steps_before += n;
        counts->steps_after += n_fused;
    }
    dync__arena_free(&arena);
    return result;
}

static void rnd_show(const rnd_program *p, const dync__fuse_step *step, int n)
{
    opt_program *text = calloc(1, sizeof *text);
    dync__str out = {0};
    if (!text) return;
    memcpy(text->step, step, sizeof *step * (size_t)n);
    text->n_steps = n;
    dync__str_addf(&out, "# passes: %s\n# keep:", rnd_fuse == dync__fuse ? "fuse" : "fuse_brief");
    for (int i = 0; i < p->n_bufs; i++)
        if (p->buf[i].keep) dync__str_addf(&out, " %d", i);
    dync__str_add(&out, "\n");
    opt_print(&out, text);
    puts(dync__str_get(&out));
    dync__str_free(&out);
    free(text);
}

static void rnd_shrink(const rnd_program *p, uint64_t seed, rnd_mode mode)
{
    dync__fuse_step step[RND_STEPS], less[RND_STEPS];
    int n = p->n_steps;
    memcpy(step, p->step, sizeof step);
    for (bool again = true; again;) {
        again = false;
        for (int drop = n - 1; drop >= 0 && !again; drop--) {
            memcpy(less, step, sizeof step);
            memmove(&less[drop], &less[drop + 1], sizeof *less * (size_t)(n - drop - 1));
            if (!rnd_fails(p, less, n - 1, mode, NULL)) continue;
            memcpy(step, less, sizeof step);
            n--;
            again = true;
        }
    }
    printf("program of seed %llu (%s): %s\n", (unsigned long long)seed,
           p->tangles ? "with tangles" : "plain", rnd_fails(p, step, n, mode, NULL));
    rnd_show(p, step, n);
}

static void rnd_many(int count, bool tangles, rnd_mode mode)
{
    rnd_counts counts = {0};
    static rnd_program p;
    uint64_t base = test_random() % 1000000007u;
    int bad = 0;
    for (int i = 0; i < count && bad < 3; i++) {
        uint64_t seed = getenv("FUSE_SEED") ? strtoull(getenv("FUSE_SEED"), NULL, 0)
                                            : base + (uint64_t)i;
        rnd_make(&p, seed, tangles);
        if (rnd_fails(&p, p.step, p.n_steps, mode, &counts)) {
            rnd_shrink(&p, seed, mode);
            bad++;
        }
        dync__arena_free(&p.arena);
        dync_clear_error();
    }
    EXPECT_EQ_INT(bad, 0);
    if (test__state.verbose)
        printf("%d programs, %d steps became %d\n", counts.programs, counts.steps_before,
               counts.steps_after);
    EXPECT(counts.steps_after < counts.steps_before);
}

/* The program's fused kernels as text, checks on (every instruction is folded at every merge) or
 * off (those that are settled are not). */
static void rnd_text(dync__str *out, uint64_t seed, bool checked)
{
    static rnd_program p;
    static opt_program text;
    dync__arena arena = {0};
    dync__fuse_options options = {.keep = rnd_keep, .user = &p};
    rnd_make(&p, seed, false);
    memcpy(text.step, p.step, sizeof *p.step * (size_t)p.n_steps);
    text.n_steps = p.n_steps;
    dync__check_set(checked);
    EXPECT_OK(dync__fuse(&arena, text.step, &text.n_steps, &options));
    opt_print(out, &text);
    dync__check_set(true);
    dync__arena_free(&arena);
    dync__arena_free(&p.arena);
}
TEST(settled)
{
    uint64_t base = test_random() % 1000000007u;
    for (uint64_t i = 0; i < 1000; i++) {
        dync__str all = {0}, some = {0};
        rnd_text(&all, base + i, true);
        rnd_text(&some, base + i, false);
        if (!EXPECT_EQ_STR(dync__str_get(&some), dync__str_get(&all)))
            printf("seed %llu\n", (unsigned long long)(base + i));
        dync__str_free(&all);
        dync__str_free(&some);
    }
}
/* Two accesses of few loops, element by element. */
TEST(accesses_that_meet)
{
    int apart = 0, unknown = 0, n = test_count(20000);
    for (int i = 0; i < n; i++) {
        dync__access acc[2];
        dync__size extent[2][3];
        bool equal = rnd(2), meet = false;
        char seen[4000] = {0};
        for (int k = 0; k < 2; k++) {
            memset(&acc[k], 0, sizeof acc[k]);
            acc[k].offset = 1500 + rnd(40);
            for (int d = 0; d < 3; d++) {
                extent[k][d] = k && equal ? extent[0][d] : 1 + rnd(6);
                acc[k].stride[d] = k && equal ? acc[0].stride[d] : rnd(60) - 20;
            }
            for (int e = 0; e < 216; e++) {
                int64_t at[3] = {e / 36, e / 6 % 6, e % 6}, to = acc[k].offset;
                bool in = true;
                for (int d = 0; d < 3; d++) {
                    in &= at[d] < extent[k][d];
                    to += at[d] * acc[k].stride[d];
                }
                if (in && k) meet |= seen[to];
                if (in && !k) seen[to] = 1;
            }
        }
        bool may = dync__access_overlap(&acc[0], 3, extent[0], &acc[1], 3, extent[1]);
        apart += !may;
        if (!EXPECT(may || !meet)) return;
        unknown += may && !meet; /* not all steps are tried */
    }
    EXPECT(apart > n / 8);
    EXPECT(unknown < n / 50);
}

TEST(random_programs) { rnd_many(2000, false, RND_ORACLE); }
TEST(random_programs_with_tangles) { rnd_many(1000, true, RND_ORACLE); }
TEST(random_programs_scheduled) { rnd_many(1000, true, RND_SCHEDULED); }
TEST(random_programs_interpreted) { rnd_many(1000, false, RND_INTERPRETED); }
TEST(random_programs_brief)
{
    rnd_fuse = dync__fuse_brief;
    rnd_many(2000, false, RND_ORACLE);
    rnd_many(1000, true, RND_ORACLE);
    rnd_many(1000, true, RND_SCHEDULED);
    rnd_many(1000, false, RND_INTERPRETED);
    rnd_fuse = dync__fuse;
}
TEST_MAIN
