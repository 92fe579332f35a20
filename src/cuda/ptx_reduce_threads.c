/* cuda/ptx_reduce_threads.c: reductions between threads and between blocks. Before: ptx_reduce.c.
 * */
#include "../dync.in.h"
#include "ptx.h"
#include "ptx_reduce.h"
DYNC__COLD

/* ---- between threads ------------------------------------------------------------------------- */

static const char *dync__ptx_shuffle_word(dync__ptx *p, const char *word, int distance)
{
    const char *other = dync__ptx_temp(p, "b32");
    dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %s, %d, 0x1f, 0xffffffff", other, word, distance);
    return other;
}

/* to = from of the thread `distance` away */
static void dync__ptx_shuffle(dync__ptx *p, int type, const char *to, const char *from,
                              int distance)
{
    if (type == DYNC_BOOL) {
        const char *word = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "selp.b32 %s, 1, 0, %s", word, from);
        dync__ptx_line(p, "setp.ne.u32 %s, %s, 0", to, dync__ptx_shuffle_word(p, word, distance));
    } else if (type == DYNC_F32 || type == DYNC_I32) {
        dync__ptx_line(p, "mov.b32 %s, %s", to, dync__ptx_shuffle_word(p, from, distance));
    } else {
        const char *low = dync__ptx_temp(p, "b32"), *high = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low, high, from);
        low = dync__ptx_shuffle_word(p, low, distance);
        high = dync__ptx_shuffle_word(p, high, distance);
        dync__ptx_line(p, "mov.b64 %s, {%s, %s}", to, low, high);
    }
}

static void dync__ptx_butterfly(dync__ptx *p, int kind, int type, const dync__ptx_pair *a,
                                int threads)
{
    for (int distance = threads / 2; distance > 0; distance /= 2) {
        dync__ptx_pair b = dync__ptx_new_pair(p, kind, type);
        dync__ptx_shuffle(p, type, b.value, a->value, distance);
        if (dync__ptx_is_arg(kind)) dync__ptx_shuffle(p, DYNC_I64, b.place, a->place, distance);
        dync__ptx_join(p, kind, type, a, &b);
    }
}

/* A value to or from 8 bytes of memory. */
static void dync__ptx_put(dync__ptx *p, const char *guard, const char *space, int type,
                          const char *at, const char *value)
{
    const char *v = value;
    if (type == DYNC_BOOL) {
        v = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "selp.b32 %s, 1, 0, %s", v, value);
    }
    dync__ptx_line(p, "%sst.%s.%s [%s], %s", guard, space, dync__ptx_bits(type), at, v);
}
static void dync__ptx_get(dync__ptx *p, const char *guard, const char *space, int type,
                          const char *to, const char *at)
{
    const char *v = type == DYNC_BOOL ? dync__ptx_temp(p, "b32") : to;
    dync__ptx_unloaded(p, guard, dync__ptx_bits(type), v);
    dync__ptx_line(p, "%sld.%s.%s %s, [%s]", guard, space, dync__ptx_bits(type), v, at);
    if (type == DYNC_BOOL) dync__ptx_line(p, "setp.ne.u32 %s, %s, 0", to, v);
}

/* Address of place `index` (u32) of a fresh array of 8-byte places in shared memory. */
static const char *dync__ptx_shared(dync__ptx *p, const char *index, int at)
{
    const char *base = dync__ptx_temp(p, "u32"), *address = dync__ptx_temp(p, "u32");
    dync__ptx_line(p, "mov.u32 %s, smem", base);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", address, index, base);
    dync__ptx_line(p, "add.u32 %s, %s, %d", address, address, at);
    return address;
}

/* Rows of several warps: each warp's result goes through shared memory. */
static void dync__ptx_join_warps(dync__ptx *p, int kind, int type, const dync__ptx_pair *a)
{
    int warps = (int)(p->shape.threads / 32), arrays = dync__ptx_is_arg(kind) ? 2 : 1;
    char put[40], get[40];
    const char *warp = dync__ptx_temp(p, "u32"), *lead = dync__ptx_temp(p, "pred"),
               *mine = dync__ptx_temp(p, "u32"), *lane = dync__ptx_temp(p, "u32");
    dync__ptx_line(p, "shr.u32 %s, %%thr, 5", warp);
    dync__ptx_line(p, "and.b32 %s, %%thr, 31", lane);
    dync__ptx_line(p, "setp.eq.u32 %s, %s, 0", lead, lane);
    dync__ptx_line(p, "and.b32 %s, %s, %d", mine, lane, warps - 1);
    char guard[48];
    dync__format(guard, sizeof guard, "@%s ", lead);
    for (int k = 0; k < arrays; k++) {
        dync__format(put, sizeof put, "%s",
                     dync__ptx_shared(p, warp, p->shared_bytes + k * 8 * warps));
        dync__ptx_put(p, guard, "shared", k ? DYNC_I64 : type, put, k ? a->place : a->value);
    }
    dync__ptx_line(p, "bar.sync 0");
    for (int k = 0; k < arrays; k++) {
        dync__format(get, sizeof get, "%s",
                     dync__ptx_shared(p, mine, p->shared_bytes + k * 8 * warps));
        dync__ptx_get(p, "", "shared", k ? DYNC_I64 : type, k ? a->place : a->value, get);
    }
    p->shared_bytes += 8 * warps * arrays;
    dync__ptx_butterfly(p, kind, type, a, warps);
}

/* Columns: warp t has a part of 32 rows. */
static void dync__ptx_join_columns(dync__ptx *p, int kind, int type, const dync__ptx_pair *a)
{
    int n = (int)p->shape.threads, arrays = dync__ptx_is_arg(kind) ? 2 : 1, bytes = 8 * 32 * n;
    char at[2][40];
    if (n == 1) return;
    for (int k = 0; k < arrays; k++)
        dync__ptx_put(p, "", "shared", k ? DYNC_I64 : type,
                      dync__ptx_shared(p, "%thr", p->shared_bytes + k * bytes),
                      k ? a->place : a->value);
    dync__ptx_line(p, "bar.sync 0");
    for (int k = 0; k < arrays; k++)
        dync__format(at[k], sizeof at[k], "%s",
                     dync__ptx_shared(p, "%lane", p->shared_bytes + k * bytes));
    for (int t = 0; t < n; t++) {
        dync__ptx_pair b = t == 0 ? *a : dync__ptx_new_pair(p, kind, type);
        char place[60];
        for (int k = 0; k < arrays; k++) {
            dync__format(place, sizeof place, "%s+%d", at[k], 8 * 32 * t);
            dync__ptx_get(p, "", "shared", k ? DYNC_I64 : type, k ? b.place : b.value, place);
        }
        if (t) dync__ptx_join(p, kind, type, a, &b);
    }
    p->shared_bytes += bytes * arrays;
}

/* The result of reduction i in every thread of the row, in the register that its users name. */
static void dync__ptx_reduce_result(dync__ptx *p, int i, const dync__ptx_pair *a)
{
    int kind = (int)dync__ptx_reduce_inst(p, i)->imm.i, type = dync__ptx_reduce_type(p, i);
    if (p->shape.mode == DYNC__PTX_COLUMNS)
        dync__ptx_join_columns(p, kind, type, a);
    else {
        dync__ptx_butterfly(p, kind, type, a, (int)DYNC__MIN(p->shape.threads, 32));
        if (p->shape.threads > 32) dync__ptx_join_warps(p, kind, type, a);
    }
    if (p->stage == 1) return;
    char to[40];
    dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, 0));
    if (dync__ptx_is_arg(kind))
        dync__ptx_line(p, "mov.b64 %s, %s", to, a->place);
    else
        dync__ptx_move(p, type, to, a->value);
}

DYNC__FN void dync__ptx_reduce_end(dync__ptx *p, int phase)
{
    for (int i = 0; i < p->k->inst.n; i++) {
        const dync__inst *in = dync__ptx_reduce_inst(p, i);
        if (!p->needed[i] || in->prim != DYNC__P_reduce || in->section != 2 * phase + 1) continue;
        dync__str_addf(&p->body, "    // result of reduction %d\n", i);
        for (int n = p->groups * p->vec, half; n > 1; n = half) {
            half = (n + 1) / 2;
            for (int lane = 0; lane + half < n; lane++) {
                dync__ptx_pair a = dync__ptx_accumulator(i, lane),
                               b = dync__ptx_accumulator(i, lane + half);
                dync__ptx_join(p, (int)in->imm.i, dync__ptx_reduce_type(p, i), &a, &b);
            }
        }
        dync__ptx_pair a = dync__ptx_accumulator(i, 0);
        dync__ptx_reduce_result(p, i, &a);
    }
}

/* ---- split rows: partial results [reduction, value or place][part][row], 8 bytes each -------- */

static bool dync__ptx_is_reduction(const dync__ptx *p, int i)
{
    return dync__ptx_reduce_inst(p, i)->prim == DYNC__P_reduce;
}

DYNC__FN int64_t dync__ptx_partial_bytes(const dync__ptx *p)
{
    int64_t n = 0;
    for (int i = 0; i < p->k->inst.n; i++) n += dync__ptx_is_reduction(p, i);
    return n * 2 * p->shape.splits * p->shape.rows * 8;
}

/* Address of place [number][part][row]. */
static const char *dync__ptx_partial_at(dync__ptx *p, int number, const char *part)
{
    const char *at = dync__ptx_temp(p, "s64"), *row = dync__ptx_temp(p, "s64"),
               *wide = dync__ptx_temp(p, "s64");
    dync__ptx_line(p, p->shape.wide ? "mov.b64 %s, %s" : "cvt.u64.u32 %s, %s", row, "%row");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, part);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", at, wide, (long long)p->shape.rows, row);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, 8, %%scratch", at, at);
    dync__ptx_line(p, "add.s64 %s, %s, %lld", at, at,
                   (long long)(number * p->shape.splits * p->shape.rows * 8));
    return at;
}

DYNC__FN void dync__ptx_partials_store(dync__ptx *p)
{
    for (int i = 0, number = 0; i < p->k->inst.n; i++) {
        const dync__inst *in = dync__ptx_reduce_inst(p, i);
        if (!dync__ptx_is_reduction(p, i)) continue;
        dync__ptx_pair a = dync__ptx_accumulator(i, 0);
        for (int k = 0; k < (dync__ptx_is_arg((int)in->imm.i) ? 2 : 1) && p->needed[i] &&
                        in->section == 2 * p->phase + 1;
             k++) {
            char at[40];
            dync__format(at, sizeof at, "%s", dync__ptx_partial_at(p, number + k, "%part"));
            dync__ptx_put(p, "@%first ", "global", k ? DYNC_I64 : dync__ptx_reduce_type(p, i), at,
                          k ? a.place : a.value);
        }
        number += 2;
    }
}

DYNC__FN void dync__ptx_partials_load(dync__ptx *p)
{
    int label = 0, stage = p->stage;
    dync__ptx_reg(p, "u32", "%from");
    dync__ptx_reg(p, "pred", "%left");
    p->block = 1;
    p->stage = 2;
    for (int i = 0, number = -2; i < p->k->inst.n; i++) {
        const dync__inst *in = dync__ptx_reduce_inst(p, i);
        number += 2 * dync__ptx_is_reduction(p, i);
        if (!dync__ptx_is_reduction(p, i) || !p->needed[i] || in->section > 2 * p->phase) continue;
        int kind = (int)in->imm.i, type = dync__ptx_reduce_type(p, i);
        dync__ptx_pair a = dync__ptx_accumulator(i, 0), b = dync__ptx_new_pair(p, kind, type);
        dync__ptx_accumulators(p, i, 1);
        dync__ptx_line(p, p->shape.wide ? "cvt.u32.u64 %%from, %%t" : "mov.u32 %%from, %%t");
        dync__str_addf(&p->body, "PART%d:\n", ++label);
        dync__ptx_line(p, "setp.ge.u32 %%left, %%from, %lld", (long long)p->shape.splits);
        dync__ptx_line(p, "@%%left bra JOIN%d", label);
        for (int k = 0; k < (dync__ptx_is_arg(kind) ? 2 : 1); k++) {
            char at[40];
            dync__format(at, sizeof at, "%s", dync__ptx_partial_at(p, number + k, "%from"));
            dync__ptx_get(p, "", "global", k ? DYNC_I64 : type, k ? b.place : b.value, at);
        }
        dync__ptx_join(p, kind, type, &a, &b);
        dync__ptx_line(p, "add.u32 %%from, %%from, %lld", (long long)p->shape.threads);
        dync__ptx_line(p, "bra PART%d", label);
        dync__str_addf(&p->body, "JOIN%d:\n", label);
        p->where[i] = 1;
        dync__ptx_reduce_result(p, i, &a);
    }
    p->stage = stage;
}
