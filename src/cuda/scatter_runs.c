/* cuda/scatter_runs.c: sums of floats in order: runs of the sorted index, and the calls that
 * scatter on a GPU. After scatter.c, before calls.c. */
#include "../dync.in.h"
#include "tile.h"
#include "scatter.h"
DYNC__COLD

/* ---- floats: runs of the sorted index -------------------------------------------------------- */

/* The numbers as sort.c takes them: i32, `size` for those that are no place; dense, the dim
 * innermost. */
static bool dync__sca_keys(dync__cuda_code *code, const dync__sca *s, const dync__operand *key,
                           int32_t to)
{
    dync__kernel *k = dync__kernel_new(&code->arena, "places", 0, key->lay.ndim, key->lay.shape);
    dync__lb b = {.k = k, .section = 1, .origin = "scatter"};
    if (!k) return false;
    int v = dync__lb_load(&b, dync__kernel_buf(k, s->buf[0], DYNC_I64, DYNC__BUF_IN, -1, NULL),
                          dync__kernel_access(k, s->index->lay.offset, s->index->lay.stride));
    int size = dync__lb_i(&b, DYNC_I64, s->size),
        low = dync__lb_op(&b, DYNC__P_le, dync__lb_i(&b, DYNC_I64, 0), v, -1);
    v = dync__lb_op(
        &b, DYNC__P_select,
        dync__lb_op(&b, DYNC__P_and_, low, dync__lb_op(&b, DYNC__P_lt, v, size, -1), -1), v, size);
    dync__lb_store(&b, dync__kernel_buf(k, to, DYNC_I32, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, key->lay.stride), dync__lb_cast(&b, v, DYNC_I32));
    return dync__cuda_add_loop(code, k);
}

/* Of a thread: %line, %c its chunk, %pk the chunk's first key, %pp its place before sorting, %pf,
 * %pt, %carry what the chunk leaves. */
static void dync__sca_chunk(dync__sca *s, int64_t chunk, int64_t threads)
{
    dync__ptx *p = &s->t.p;
    int bytes = dync__dtype_info(s->compute)->bytes;
    static const char *const b64[] = {"%c", "%pk", "%pp", "%carry"},
                             *const u32[] = {"%key", "%other"},
                             *const preds[] = {"%cont", "%own", "%put", "%is"};
    dync__sca_thread(s, threads);
    for (int i = 0; i < DYNC__COUNT_OF(b64); i++) dync__ptx_reg(p, "b64", b64[i]);
    for (int i = 0; i < DYNC__COUNT_OF(u32); i++) dync__ptx_reg(p, "u32", u32[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    dync__ptx_reg(p, s->type, "%acc");
    dync__ptx_reg(p, s->type, "%old");
    dync__cuda_tile_scratch(&s->t);
    dync__ptx_line(p, "rem.u64 %%line, %%n, %lld", (long long)s->lines);
    dync__ptx_line(p, "div.u64 %%c, %%n, %lld", (long long)s->lines);
    dync__ptx_line(p, "mad.lo.s64 %%carry, %%n, %d, %%scratch", bytes);
    dync__ptx_line(p, "mul.lo.s64 %%i, %%c, %lld", (long long)chunk);
    if (!s->shared) dync__ptx_line(p, "mad.lo.s64 %%i, %%line, %lld, %%i", (long long)s->count);
    dync__ptx_line(p, "mad.lo.s64 %%pk, %%i, 4, %%b0");
    dync__ptx_line(p, "mad.lo.s64 %%pp, %%i, 8, %%b1");
    dync__sca_lines(s, 2);
    dync__ptx_line(p, "mov.b%d %%acc, 0", bytes * 8);
    /* does the first run go on from the chunk before? */
    dync__ptx_line(p, "setp.gt.s64 %%cont, %%c, 0");
    dync__ptx_line(p, "ld.global.u32 %%key, [%%pk]");
    dync__ptx_line(p, "mov.b32 %%other, 0");
    dync__ptx_line(p, "@%%cont ld.global.u32 %%other, [%%pk+-4]");
    dync__ptx_line(p, "setp.eq.and.u32 %%cont, %%key, %%other, %%cont");
    dync__ptx_line(p, "not.pred %%own, %%cont");
}

/* The place of %key += %acc where %own holds and it is one. */
static void dync__sca_put(dync__sca *s)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "setp.lt.and.u32 %%put, %%key, %lld, %%own", (long long)s->size);
    dync__ptx_line(p, "cvt.u64.u32 %%place, %%key");
    dync__ptx_line(p, "mad.lo.s64 %%at, %%place, %lld, %%pt", dync__sca_step(s, s->to));
    dync__cuda_tile_load(&s->t, s->to->dtype, "%old", "%at", "@%put ");
    dync__ptx_line(p, "add.rn.%s %%old, %%old, %%acc", s->type);
    dync__cuda_tile_store(&s->t, s->to->dtype, "%at", "%old", "@%put ");
}

static void dync__sca_runs(dync__sca *s, int64_t chunk, int64_t chunks, const char *name)
{
    dync__cuda_tile *t = &s->t;
    dync__ptx *p = &t->p;
    char v[16], guard[16];
    int ahead = DYNC__SCA_AHEAD;
    dync__sca_chunk(s, chunk, s->lines * chunks);
    dync__cuda_tile_regs(t, "u32", "%k", ahead);
    dync__cuda_tile_regs(t, "b64", "%w", ahead);
    dync__cuda_tile_regs(t, "pred", "%in", ahead);
    dync__cuda_tile_regs(t, s->type, "%v", ahead);
    dync__cuda_tile_wide(t, "%left", NULL);
    dync__ptx_line(p, "mul.lo.s64 %%left, %%c, %lld", (long long)-chunk);
    dync__ptx_line(p, "add.s64 %%left, %%left, %lld", (long long)s->count);
    dync__ptx_line(p, "min.s64 %%left, %%left, %lld", (long long)chunk);
    dync__cuda_tile_label(t, "NEXT");
    for (int u = 0; u < ahead; u++) {
        dync__ptx_line(p, "setp.gt.s64 %%in%d, %%left, %d", u, u);
        dync__ptx_line(p, "mov.b32 %%k%d, 0", u);
        dync__ptx_line(p, "mov.b64 %%w%d, 0", u);
        dync__ptx_line(p, "@%%in%d ld.global.u32 %%k%d, [%%pk+%d]", u, u, 4 * u);
        dync__ptx_line(p, "@%%in%d ld.global.b64 %%w%d, [%%pp+%d]", u, u, 8 * u);
    }
    for (int u = 0; u < ahead; u++) {
        dync__format(v, sizeof v, "%%v%d", u);
        dync__format(guard, sizeof guard, "@%%in%d ", u);
        dync__ptx_line(p, "mad.lo.s64 %%at, %%w%d, %lld, %%pf", u, dync__sca_step(s, s->from));
        dync__cuda_tile_load(t, s->from->dtype, v, "%at", guard);
    }
    for (int u = 0; u < ahead; u++) {
        dync__format(v, sizeof v, "%%v%d", u);
        dync__ptx_line(p, "not.pred %%is, %%in%d", u);
        dync__ptx_line(p, "@%%is bra END");
        dync__ptx_line(p, "setp.eq.u32 %%is, %%k%d, %%key", u);
        dync__ptx_line(p, "@%%is bra SAME%d", u);
        dync__ptx_line(p, "@%%cont st.global.%s [%%carry], %%acc", s->type);
        dync__sca_put(s);
        dync__ptx_line(p, "mov.b32 %%key, %%k%d", u);
        dync__ptx_line(p, "mov.b%d %%acc, 0", dync__dtype_info(s->compute)->bytes * 8);
        dync__ptx_line(p, "setp.ne.u32 %%cont, 0, 0");
        dync__ptx_line(p, "not.pred %%own, %%cont");
        dync__cuda_tile_label(t, "SAME%d", u);
        dync__sca_scale(s, v);
        dync__ptx_line(p, "add.rn.%s %%acc, %%acc, %s", s->type, v);
    }
    dync__ptx_line(p, "add.s64 %%pk, %%pk, %d", 4 * ahead);
    dync__ptx_line(p, "add.s64 %%pp, %%pp, %d", 8 * ahead);
    dync__ptx_line(p, "sub.s64 %%left, %%left, %d", ahead);
    dync__ptx_line(p, "bra NEXT");
    dync__cuda_tile_label(t, "END");
    dync__ptx_line(p, "@%%cont st.global.%s [%%carry], %%acc", s->type);
    dync__sca_put(s);
    dync__sca_entry(s, name, s->lines * chunks);
}

/* What chunks left, by the thread of the chunk in which the run begins. */
static void dync__sca_carries(dync__sca *s, int64_t chunk, int64_t chunks, const char *name)
{
    dync__ptx *p = &s->t.p;
    dync__sca_chunk(s, chunk, s->lines * (chunks - 1));
    dync__ptx_reg(p, "u32", "%first");
    dync__ptx_line(p, "mov.b32 %%first, %%key");
    dync__ptx_line(p, "ld.global.u32 %%key, [%%pk+%lld]", (long long)(4 * (chunk - 1)));
    /* the whole chunk goes on */
    dync__ptx_line(p, "setp.eq.and.u32 %%out, %%first, %%key, %%cont");
    dync__ptx_line(p, "@%%out ret");
    dync__ptx_line(p, "setp.eq.u32 %%own, 0, 0");
    dync__ptx_line(p, "mov.b64 %%i, %%c");
    dync__cuda_tile_label(&s->t, "NEXT");
    dync__ptx_line(p, "add.s64 %%pk, %%pk, %lld", (long long)(4 * chunk));
    dync__ptx_line(p, "ld.global.u32 %%other, [%%pk]");
    dync__ptx_line(p, "setp.ne.u32 %%is, %%other, %%key");
    dync__ptx_line(p, "@%%is bra END");
    dync__ptx_line(p, "add.s64 %%carry, %%carry, %lld",
                   (long long)(s->lines * dync__dtype_info(s->compute)->bytes));
    dync__ptx_line(p, "ld.global.%s %%old, [%%carry]", s->type);
    dync__ptx_line(p, "add.rn.%s %%acc, %%acc, %%old", s->type);
    dync__ptx_line(p, "add.s64 %%i, %%i, 1");
    dync__ptx_line(p, "setp.lt.s64 %%more, %%i, %lld", (long long)(chunks - 1));
    dync__ptx_line(p, "@%%more bra NEXT");
    dync__cuda_tile_label(&s->t, "END");
    dync__ptx_line(p, "setp.gt.and.s64 %%own, %%i, %%c, %%own");
    dync__sca_put(s);
    dync__sca_entry(s, name, s->lines * (chunks - 1));
}

static bool dync__sca_floats(dync__cuda_code *code, dync__sca *s, const char *name)
{
    dync__operand key = *s->index, sorted, place;
    int dim = s->shared ? 0 : s->dim;
    int64_t step = s->count, items = (s->shared ? 1 : s->lines) * s->count, chunk = DYNC__SCA_CHUNK;
    key.dtype = DYNC_I32;
    key.lay.offset = 0;
    for (int d = key.lay.ndim - 1; d >= 0; d--) {
        key.lay.stride[d] = d == dim ? 1 : step;
        if (d != dim) step *= key.lay.shape[d];
    }
    sorted = place = key;
    place.dtype = DYNC_I64;
    int32_t buf[3] = {dync__cuda_add_temp(code, items * 4), dync__cuda_add_temp(code, items * 4),
                      dync__cuda_add_temp(code, items * 8)};
    if (buf[0] < 0 || buf[1] < 0 || buf[2] < 0 || !dync__sca_keys(code, s, &key, buf[0]))
        return false;
    if (dync__cuda_add_sort(code, &key, &sorted, &place, dim, false, buf) != DYNC_OK) return false;
    /* as long as the carries of one run are worth waiting for */
    while (16 * chunk * chunk < s->count) chunk *= 2;
    int64_t chunks = (s->count + chunk - 1) / chunk;
    int32_t used[4] = {buf[1], buf[2], s->buf[1], s->buf[2]};
    dync__cuda_tile_begin(&s->t, 4);
    s->t.out.scratch_bytes = s->lines * chunks * dync__dtype_info(s->compute)->bytes;
    dync__sca_runs(s, chunk, chunks, name);
    if (chunks > 1) {
        dync__cuda_tile_next(&s->t);
        dync__sca_carries(s, chunk, chunks, name);
    }
    return dync__cuda_tile_end(&s->t, code, used);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool dync__sca_new(dync__cuda_code *code, dync__sca *s, const char *name)
{
    int64_t units = dync__cuda_unit_of(code->device >> 8)->units,
            few = s->add ? DYNC__SCA_FEW : DYNC__SCA_FEW_SET;
    s->compute = dync__dtype_info(s->to->dtype)->compute;
    s->type = dync__ptx_type(s->compute);
    s->size = s->to->lay.shape[s->dim];
    s->lines = 1;
    for (int d = 0; d < s->to->lay.ndim; d++)
        if (d != s->dim) s->lines *= s->walked[d];
    if (s->lines * s->count == 0) return true;
    /* whose walks together fill the device */
    if (s->lines >= 1024 && s->add) few *= 8;
    bool atomic = s->add && (s->to->dtype == DYNC_I32 || s->to->dtype == DYNC_I64),
         real = dync__sca_is_float(s);
    if (atomic) return dync__sca_integers(code, s, name);
    if (s->count > few && !s->add && s->count < INT32_MAX)
        return dync__sca_last_write(code, s, name);
    if (s->count > few && real && s->size < INT32_MAX && s->lines * s->count < INT32_MAX)
        return dync__sca_floats(code, s, name);
    return dync__sca_few(code, s, name, units);
}

/* to = from, element by element; NULL from: zeros. */
static bool dync__sca_copy(dync__cuda_code *code, const dync__operand *from, int32_t from_buf,
                           const dync__operand *to, int32_t to_buf)
{
    dync__kernel *k =
        dync__kernel_new(&code->arena, from ? "copy" : "zero", 0, to->lay.ndim, to->lay.shape);
    dync__lb b = {.k = k, .section = 1, .origin = "scatter"};
    int type = dync__dtype_info(to->dtype)->compute;
    if (!k) return false;
    int v;
    if (from) {
        int32_t buf = dync__kernel_buf(k, from_buf, from->dtype, DYNC__BUF_IN, -1, NULL);
        v = dync__lb_load(&b, buf, dync__kernel_access(k, from->lay.offset, from->lay.stride));
    } else if (type == DYNC_F32 || type == DYNC_F64) {
        v = dync__lb_f(&b, type, 0);
    } else {
        v = dync__lb_i(&b, type, 0);
    }
    dync__lb_store(&b, dync__kernel_buf(k, to_buf, to->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, to->lay.offset, to->lay.stride),
                   dync__lb_wrap(&b, dync__lb_cast(&b, v, type), to->dtype));
    return dync__cuda_add_loop(code, k);
}

/* base, index, source, out: half floats by way of f32 where they are added up, narrow integers of
 * i32. */
static dync_status dync__sca_call(dync__cuda_code *code, const dync__kcall *call, bool add,
                                  bool slices)
{
    const dync__operand *base = &call->operand[0], *index = &call->operand[1],
                        *source = &call->operand[2], *out = &call->operand[3];
    dync__operand wide = *out;
    int32_t to = 3;
    int dim = (int)call->attr.scatter.dim, compute = dync__dtype_info(out->dtype)->compute;
    bool widen = add && compute != out->dtype && compute != DYNC_BOOL;
    if (dync__cuda_numel(out, -1) == 0) return DYNC_OK;
    if (widen) {
        wide.dtype = (uint8_t)compute;
        DYNC__TRY(dync__layout_contiguous(&wide.lay, out->lay.ndim, out->lay.shape));
        to = dync__cuda_add_temp(code, dync__cuda_numel(out, -1) * 4);
        if (to < 0) return DYNC_ERR_MEMORY;
    }
    bool in_place =
        base->slot == out->slot && base->lay.offset == out->lay.offset && !widen &&
        memcmp(base->lay.stride, out->lay.stride, (size_t)out->lay.ndim * sizeof(int64_t)) == 0;
    if (!in_place && !dync__sca_copy(code, base, 0, &wide, to)) return DYNC_ERR_MEMORY;
    dync__sca s = {.index = index,
                   .from = source,
                   .to = &wide,
                   .buf = {1, 2, to},
                   .dim = dim,
                   .add = add,
                   .shared = slices,
                   .walked = slices ? source->lay.shape : index->lay.shape,
                   .count = slices ? index->lay.shape[0] : index->lay.shape[dim],
                   .scale = slices ? call->attr.scatter.alpha : 1.0};
    if (!dync__sca_new(code, &s, call->row->name)) return DYNC_ERR_MEMORY;
    return widen && !dync__sca_copy(code, &wide, to, out, 3) ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* gy, index, gx: planes are lines, H * W places each. */
static dync_status dync__sca_max_pool_grad(dync__cuda_code *code, const dync__kcall *call)
{
    const dync__operand *gy = &call->operand[0], *index = &call->operand[1],
                        *gx = &call->operand[2];
    int rank = gx->lay.ndim;
    int64_t area = gx->lay.shape[rank - 2] * gx->lay.shape[rank - 1],
            windows = gy->lay.shape[rank - 2] * gy->lay.shape[rank - 1];
    dync__operand dense[3] = {*gy, *index, *gx};
    int32_t buf[3];
    if (dync__cuda_numel(gx, -1) == 0) return DYNC_OK;
    dense[2].dtype = dync__dtype_info(gx->dtype)->compute;
    /* row major, so that a plane is one line */
    for (int i = 0; i < 3; i++) {
        const dync__operand *o = &call->operand[i];
        DYNC__TRY(dync__layout_contiguous(&dense[i].lay, rank, o->lay.shape));
        if ((buf[i] = dync__cuda_add_temp(code, DYNC__MAX(dync__cuda_numel(o, -1), 1) * 8)) < 0)
            return DYNC_ERR_MEMORY;
        if (!dync__sca_copy(code, i < 2 ? o : NULL, i, &dense[i], buf[i])) return DYNC_ERR_MEMORY;
    }
    dync__operand line[3];
    for (int i = 0; i < 3; i++) {
        int64_t shape[2] = {dync__cuda_numel(gx, -1) / area, i < 2 ? windows : area};
        line[i] = dense[i];
        DYNC__TRY(dync__layout_contiguous(&line[i].lay, 2, shape));
    }
    dync__sca s = {.index = &line[1],
                   .from = &line[0],
                   .to = &line[2],
                   .buf = {buf[1], buf[0], buf[2]},
                   .dim = 1,
                   .add = true,
                   .walked = line[1].lay.shape,
                   .count = windows,
                   .scale = 1.0};
    if (!dync__sca_new(code, &s, call->row->name)) return DYNC_ERR_MEMORY;
    return dync__sca_copy(code, &dense[2], buf[2], gx, 2) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__cuda_call_scatter(dync__cuda_code *code, const dync__kcall *call,
                                             bool *done)
{
    *done = true;
    if (dync__kcall_is(call, DYNC__K_scatter)) return dync__sca_call(code, call, false, false);
    if (dync__kcall_is(call, DYNC__K_scatter_add)) return dync__sca_call(code, call, true, false);
    if (dync__kcall_is(call, DYNC__K_index_add)) return dync__sca_call(code, call, true, true);
    if (dync__kcall_is(call, DYNC__K_max_pool2d_grad)) return dync__sca_max_pool_grad(code, call);
    *done = false;
    return DYNC_OK;
}
