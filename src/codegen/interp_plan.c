/* codegen/interp_plan.c: how a kernel is cut into tiles. Before: interp.c asks; after:
 * interp_emit.c writes steps accordingly.
 *
 * Four ways (dync__interp_mode): pointwise kernels and long rows go in chunks of the inner loops;
 * short rows several at a time (block); reductions along strided loops with contiguous rows
 * beside each other (vertical); transpositions in squares of cache lines (square). Each value
 * gets a level: once per kernel, per row, per index. Values of an earlier phase stay in their
 * tile where a tile holds whole rows; else they are recomputed when cheap, or go through a row
 * buffer.
 * Invariant: what a kernel both reads and writes keeps its place in the order of instructions. */
#include "../dync.in.h"
#include "interp_build.h"
#include "x86_enc.h"

static int dync__ib_args(const dync__inst *in) { return dync__prim_info(in->prim)->n_args; }
DYNC__FN int dync__ib_phase(const dync__ib *b, int i)
{
    return b->sectioned ? dync__ib_inst(b, i)->section / 2 : 0;
}

/* The section list an instruction's steps go to: 0 prologue, 1 + 2p row code before phase p, 2 +
 * 2p phase p. */
DYNC__FN int dync__ib_list(const dync__ib *b, int i)
{
    int p = dync__ib_phase(b, i);
    if (dync__ib_inst(b, i)->prim == DYNC__P_reduce || b->level[i] == 2) return 2 + 2 * p;
    return b->level[i] == 1 ? 1 + 2 * p : 0;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* select(lt(p, q), s, t) with the same two values is one minimum or maximum. */
static int dync__ib_clamp(const dync__ib *b, const dync__inst *in)
{
    if (in->prim != DYNC__P_select || (in->type != DYNC_F32 && in->type != DYNC_F64)) return 0;
    const dync__inst *lt = dync__ib_inst(b, in->arg[0]);
    if (lt->prim != DYNC__P_lt) return 0;
    if (lt->arg[0] == in->arg[2] && lt->arg[1] == in->arg[1]) return 1;
    if (lt->arg[0] == in->arg[1] && lt->arg[1] == in->arg[2]) return 2;
    return 0;
}

/* The instruction's real operands: those of a clamp are its comparison's. */
DYNC__FN int dync__ib_operands(const dync__ib *b, int i, int32_t out[3])
{
    const dync__inst *in = dync__ib_inst(b, i);
    if (b->clamp[i]) {
        const dync__inst *lt = dync__ib_inst(b, in->arg[0]);
        out[0] = lt->arg[b->clamp[i] == 1 ? 0 : 1];
        out[1] = lt->arg[b->clamp[i] == 1 ? 1 : 0];
        return 2;
    }
    int n = dync__ib_args(in);
    for (int a = 0; a < n; a++) out[a] = in->arg[a];
    return n;
}

DYNC__FN int64_t dync__ib_product(const dync__ib *b, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= b->k->extent[d];
    return n;
}

/* From the stores up; what stands in phases without indices stores nothing. */
DYNC__FN void dync__ib_mark_needed(dync__ib *b)
{
    bool no_phases = dync__ib_product(b, b->k->n_outer, b->k->n_dims) == 0;
    for (int i = b->k->inst.n - 1; i >= 0; i--) {
        int32_t arg[3];
        if (!dync__inst_has_value(dync__ib_inst(b, i)))
            b->needed[i] = !(no_phases && (dync__ib_inst(b, i)->section & 1));
        b->clamp[i] = (uint8_t)dync__ib_clamp(b, dync__ib_inst(b, i));
        if (!b->needed[i]) continue;
        b->has_scan |= dync__ib_inst(b, i)->prim == DYNC__P_scan;
        b->has_reduce |= b->has_scan || dync__ib_inst(b, i)->prim == DYNC__P_reduce;
        b->sectioned |= b->has_reduce || (!dync__inst_has_value(dync__ib_inst(b, i)) &&
                                          !(dync__ib_inst(b, i)->section & 1));
        for (int a = dync__ib_operands(b, i, arg) - 1; a >= 0; a--) b->needed[arg[a]] = 1;
    }
}

static int dync__ib_access_level(const dync__ib *b, int access)
{
    const dync__access *acc = &b->k->access.at[access];
    int level = 0;
    for (int d = 0; d < b->k->n_dims; d++)
        if (acc->stride[d] != 0 && b->k->extent[d] > 1)
            level = DYNC__MAX(level, d < b->split ? 1 : 2);
    return level;
}

static int dync__ib_level_of(const dync__ib *b, int i)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int32_t arg[3];
    int level = in->access >= 0 ? dync__ib_access_level(b, in->access) : 0;
    if (in->prim == DYNC__P_reduce || in->prim == DYNC__P_scan)
        return in->prim == DYNC__P_scan ? 2 : 1;
    for (int a = dync__ib_operands(b, i, arg) - 1; a >= 0; a--)
        level = DYNC__MAX(level, (int)b->level[arg[a]]);
    /* what the kernel both reads and writes is read and written where it stands */
    if (!dync__inst_has_value(in))
        return (in->section & 1) && (b->k->buf.at[in->buf].mode & DYNC__BUF_IN)
                   ? 2
                   : DYNC__MAX(level, 1);
    if (in->buf >= 0 && (b->k->buf.at[in->buf].mode & DYNC__BUF_OUT))
        return in->section & 1 ? 2 : DYNC__MAX(level, 1);
    return level;
}

/* Loops [from, to) of an access after merging neighbours and dropping loops of one; returns how
 * many are left. */
DYNC__FN int dync__ib_merge(const dync__ib *b, int access, int from, int to, dync__interp_dim *out)
{
    const dync__access *acc = &b->k->access.at[access];
    int n = 0;
    for (int d = from; d < to; d++) {
        int64_t extent = b->k->extent[d], stride = acc->stride[d];
        if (extent == 1) continue;
        if (n > 0 && out[n - 1].stride == stride * extent) {
            out[n - 1].extent *= extent;
            out[n - 1].stride = stride;
            continue;
        }
        out[n].extent = extent;
        out[n++].stride = stride;
    }
    if (n == 1 && out[0].stride == 0) n = 0;
    return n;
}

/* Pointwise: as many loops as stay linear for every access go inside; short ones are taken
 * several rows at a time. */
static void dync__ib_split_pointwise(dync__ib *b)
{
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    b->split = b->k->n_dims;
    for (int s = b->k->n_dims - 1; s >= 0; s--) {
        for (int i = 0; i < b->k->inst.n; i++) {
            int access = dync__ib_inst(b, i)->access;
            if (b->needed[i] && access >= 0 && dync__ib_merge(b, access, s, b->k->n_dims, dims) > 1)
                return;
        }
        b->split = s;
    }
}

/* Would the rows of most loads lie side by side in memory, while each row is strided? What is the
 * same for neighbouring rows does not care. */
static bool dync__ib_wants_vertical(const dync__ib *b)
{
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    int votes = 0;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__ib_inst(b, i);
        if (!b->needed[i] || in->buf < 0 || b->level[i] != 2) continue;
        int n = dync__ib_merge(b, in->access, b->split, b->k->n_dims, dims);
        bool dense_inner = n > 0 && dims[n - 1].stride == 1;
        n = dync__ib_merge(b, in->access, 0, b->split, dims);
        bool shared = b->split > 0 && b->k->access.at[in->access].stride[b->split - 1] == 0;
        votes += dense_inner ? -!shared : n > 0 && dims[n - 1].stride == 1 ? 1 : 0;
    }
    return votes > 0 && b->n_rows >= 4;
}

/* Are strided rows stored densely again? Machine code turns the loads of some rows at once (jit.c),
 * one row after the other then. */
static bool dync__ib_wants_turned(const dync__ib *b)
{
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    bool stores = false, turned = false;
    if (!DYNC__JIT_X86 || b->isa == 0 || b->split == 0 || b->k->extent[b->split - 1] < 16 ||
        b->n_inner < 128 || b->n_inner > 8192)
        return false;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__ib_inst(b, i);
        if (!b->needed[i] || in->access < 0 || b->level[i] != 2) continue;
        int n = dync__ib_merge(b, in->access, b->split, b->k->n_dims, dims);
        int64_t inner = n ? dims[0].stride : 0,
                row = b->k->access.at[in->access].stride[b->split - 1];
        if (n > 1) return false;
        if (in->buf < 0 || inner == 0 || inner == 1) {
            stores |= inner == 1 && !dync__inst_has_value(in);
            continue;
        }
        if (row != 1 || in->prim != DYNC__P_load || b->k->buf.at[in->buf].mode & DYNC__BUF_OUT)
            return false;
        turned = true;
    }
    return stores && turned;
}

/* Does some buffer run along the last row loop while others run along the inner ones? Then both
 * sides waste cache lines. */
static bool dync__ib_wants_square(const dync__ib *b)
{
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    bool across = false, along = false;
    if (b->sectioned || b->split == 0 || b->k->extent[b->split - 1] < 8 || b->n_inner < 8)
        return false;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__ib_inst(b, i);
        if (!b->needed[i] || in->access < 0 || b->level[i] != 2) continue;
        int n = dync__ib_merge(b, in->access, b->split, b->k->n_dims, dims);
        if (n > 1) return false;
        int64_t inner = n ? dims[0].stride : 0;
        if (in->buf < 0) continue;
        across |= n == 1 && b->k->access.at[in->access].stride[b->split - 1] == 1 &&
                  (inner > 8 || inner < -8);
        along |= n == 1 && (inner == 1 || inner == -1);
    }
    return across && along;
}

static void dync__ib_set_tile(dync__ib *b)
{
    int64_t lanes = b->lanes;
    b->mode = DYNC__INTERP_CHUNK;
    b->rows = 1;
    b->inner = DYNC__MIN(b->n_inner, lanes);
    if (b->has_reduce && b->n_inner > 1 && dync__ib_wants_vertical(b) &&
        !dync__ib_wants_turned(b)) {
        b->mode = DYNC__INTERP_VERTICAL;
        lanes *= 4; /* rows of a few pages: less paging about */
        b->rows = DYNC__MIN(b->n_rows, lanes);
        b->inner = b->rows < b->n_rows ? 1 : DYNC__MAX(1, DYNC__MIN(lanes / b->rows, b->n_inner));
    } else if (b->n_inner > 0 && b->n_inner <= lanes / 2 && b->n_rows > 1 &&
               (b->has_reduce || b->n_inner < 96)) {
        b->mode = DYNC__INTERP_BLOCK;
        b->rows = DYNC__MIN(b->n_rows, lanes / b->n_inner);
        b->inner = b->n_inner;
    }
    if (b->mode == DYNC__INTERP_CHUNK && dync__ib_wants_square(b)) {
        b->mode = DYNC__INTERP_SQUARE;
        b->rows = 64;
        b->inner = DYNC__MIN(b->n_inner, DYNC__MAX(lanes / 32, 8)); /* a cache line of floats */
    }
    b->whole = b->inner >= b->n_inner;
}

/* Is buffer buf written by an instruction between from and to? */
DYNC__FN bool dync__ib_stored_between(const dync__ib *b, int buf, int from, int to)
{
    for (int j = from + 1; j < to; j++)
        if (b->needed[j] && !dync__inst_has_value(dync__ib_inst(b, j)) &&
            dync__ib_inst(b, j)->buf == buf)
            return true;
    return false;
}

/* Cost in instructions of computing i again for `user` in a later phase; large where that is not
 * possible. */
static int dync__ib_repeat_cost(const dync__ib *b, int i, int user)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int32_t arg[3];
    int cost = in->prim == DYNC__P_scan ? 1 + DYNC__INTERP_CHEAP : 1,
        too_much = 2 * DYNC__INTERP_DEAR;
    if (b->level[i] < 2) return 0;
    if (b->keep[i]) return 1;
    if (in->prim == DYNC__P_random || in->prim == DYNC__P_loadx) return too_much;
    if (in->buf >= 0 && dync__ib_stored_between(b, in->buf, i, user)) return too_much;
    for (int a = dync__ib_operands(b, i, arg) - 1; a >= 0 && cost <= b->cheap; a--)
        cost += dync__ib_repeat_cost(b, arg[a], user);
    return cost;
}

/* Decides which values of earlier phases need a row buffer. */
DYNC__FN void dync__ib_mark_kept(dync__ib *b)
{
    b->keep_bytes = 0;
    memset(b->keep, 0, (size_t)b->k->inst.n);
    if (b->whole || !b->sectioned) return;
    for (int i = 0; i < b->k->inst.n; i++) {
        int32_t arg[3];
        if (!b->needed[i] || (b->level[i] < 2 && dync__ib_inst(b, i)->prim != DYNC__P_reduce))
            continue;
        for (int a = dync__ib_operands(b, i, arg) - 1; a >= 0; a--) {
            int v = arg[a], phase = dync__ib_phase(b, i);
            /* the same bits */
            while (dync__ib_inst(b, v)->prim == DYNC__P_bitcast) v = dync__ib_inst(b, v)->arg[0];
            if (b->level[v] < 2 || dync__ib_phase(b, v) == phase || b->keep[v]) continue;
            if (dync__ib_repeat_cost(b, v, i) <= b->cheap) continue;
            b->keep[v] = 1;
            b->keep_off[v] = b->keep_bytes;
            b->keep_bytes += (int64_t)dync__type_bytes(dync__ib_inst(b, v)->type) * b->n_inner;
        }
    }
}

/* Do the lanes of a level lie side by side in memory? */
DYNC__FN bool dync__ib_is_dense(const dync__ib *b, int access, int level)
{
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    int from = b->mode == DYNC__INTERP_CHUNK && level == 2 ? b->split : 0;
    int to = level == 2 && b->mode != DYNC__INTERP_VERTICAL ? b->k->n_dims : b->split;
    if (level == 2 &&
        (b->mode == DYNC__INTERP_SQUARE || (b->mode == DYNC__INTERP_VERTICAL && b->inner > 1)))
        return false;
    if (level == 1 && b->rows == 1) return true;
    int n = dync__ib_merge(b, access, from, to, dims);
    return n == 0 ? dync__ib_product(b, from, to) == 1 : n == 1 && dims[0].stride == 1;
}

/* Is i a load of the buffer, or its bits under another type? */
DYNC__FN bool dync__ib_reads(const dync__ib *b, int i, int buf)
{
    while (dync__ib_inst(b, i)->prim == DYNC__P_bitcast) i = dync__ib_inst(b, i)->arg[0];
    return dync__ib_inst(b, i)->buf == buf;
}

/* A value may be computed straight into output memory when no load of that buffer is used after
 * it was made. */
DYNC__FN bool dync__ib_may_direct(const dync__ib *b, int store)
{
    const dync__inst *st = dync__ib_inst(b, store), *in = dync__ib_inst(b, st->arg[0]);
    const dync__buf *buf = &b->k->buf.at[st->buf];
    int v = st->arg[0];
    if (st->prim != DYNC__P_store || buf->dtype != in->type || b->level[v] != b->level[store] ||
        b->keep[v])
        return false;
    if (in->prim == DYNC__P_const_ || in->prim == DYNC__P_reduce || in->prim == DYNC__P_load ||
        in->prim == DYNC__P_loadx || in->prim == DYNC__P_bitcast)
        return false;
    if (dync__ib_list(b, v) != dync__ib_list(b, store) ||
        !dync__ib_is_dense(b, st->access, b->level[v]))
        return false;
    for (int i = 0; i < b->k->inst.n; i++) {
        int32_t arg[3];
        const dync__inst *other = dync__ib_inst(b, i);
        if (!b->needed[i] || i == store) continue;
        if (!dync__inst_has_value(other) && other->buf == st->buf) return false;
        for (int a = i > v ? dync__ib_operands(b, i, arg) - 1 : -1; a >= 0; a--)
            if (dync__ib_reads(b, arg[a], st->buf)) return false;
    }
    return true;
}

/* Cuts the loops and decides what is kept: vertical tiles get narrower, then horizontal, rather
 * than a huge row buffer. */
DYNC__FN void dync__ib_plan(dync__ib *b)
{
    b->split = b->k->n_outer;
    b->cheap = DYNC__INTERP_CHEAP;
    if (!b->sectioned && dync__ib_product(b, 0, b->k->n_dims) > 0) dync__ib_split_pointwise(b);
    b->n_rows = dync__ib_product(b, 0, b->split);
    b->n_inner = dync__ib_product(b, b->split, b->k->n_dims);
    for (int i = 0; i < b->k->inst.n; i++)
        if (b->needed[i]) b->level[i] = (uint8_t)dync__ib_level_of(b, i);
    dync__ib_set_tile(b);
    dync__ib_mark_kept(b);
    while (b->mode == DYNC__INTERP_VERTICAL && b->keep_bytes * b->rows > DYNC__INTERP_KEEP_BYTES) {
        b->inner = 1;
        b->rows /= 2;
        if (b->rows < 32 && b->cheap < DYNC__INTERP_DEAR) { /* rather twice than along columns */
            b->cheap = DYNC__INTERP_DEAR;
            dync__ib_set_tile(b);
        } else if (b->rows < 32) {
            b->mode = DYNC__INTERP_CHUNK;
            b->rows = 1;
            b->inner = DYNC__MIN(b->n_inner, b->lanes);
        }
        b->whole = b->inner >= b->n_inner;
        dync__ib_mark_kept(b);
    }
}
