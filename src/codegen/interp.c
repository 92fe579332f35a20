/* codegen/interp.c: compiles a kernel of loop IR for the tile interpreter. Before: loop/; after: interp_run.c runs the result.
 *
 * Tiles of a few hundred lanes stay in L1; each instruction is one pass of a tile kernel over them. Three ways to cut the loops
 * into tiles (dync__interp_mode): pointwise kernels and long rows go in chunks of the inner loops; short rows several at a time
 * (block); reductions along strided loops with contiguous rows beside each other (vertical); transpositions in squares of cache
 * lines (square).
 *   loads    dense ones are used where they lie; what is constant along the inner loops becomes a scalar operand or row code;
 *            the rest is copied into a tile by an odometer
 *   stores   the last operation computes straight into dense output memory where nothing can observe it
 *   kept     values of an earlier phase stay in their tile where a tile holds whole rows; else they are recomputed when cheap,
 *            or go through a row buffer
 * Values get scratch by liveness, so that few tiles are in use at once. Invariants: a step's operands are made before it in its
 * section or an earlier one; prologue steps depend on no loop; the result does not depend on the size of tiles, as sums are
 * taken in grains of DYNC__TILE_GRAIN elements combined pairwise (but vertical sums differ from horizontal ones).
 * Sources: Boncz, Zukowski, Nes 2005 (vectorised execution); Higham 1993 (pairwise summation). */
#include "../dync.in.h"
#include "interp.h"

enum { DYNC__INTERP_LANES = 512, DYNC__INTERP_L1_BYTES = 24 * 1024, DYNC__INTERP_KEEP_BYTES = 256 * 1024,
       DYNC__INTERP_CHEAP = 6 /* instructions worth repeating rather than keeping */ };

typedef DYNC__VEC(dync__interp_step) dync__interp_steps;
typedef struct dync__ib {                /* one attempt to compile */
    const dync__kernel *k;
    dync__arena *arena;
    int isa, split, n_phases, mode;      /* loops [0, split) are rows */
    int64_t n_rows, n_inner, rows, inner, lanes;  /* rows x inner: a tile; lanes: its budget */
    bool has_reduce, sectioned, whole, serial, failed; /* sectioned: sections keep their order; whole: a tile holds whole rows */
    int64_t keep_bytes, lane_bytes;      /* of the row buffers per row; of all tiles per lane */
    uint8_t *needed, *level, *keep, *clamp;  /* by instruction; clamp: 1 maxsel, 2 minsel */
    int32_t *direct;                     /* by instruction: the store that it may compute into, -1 none */
    int32_t *val, *val_phase, *wide, *wide_phase; /* value now; phase it was made in; its expansion */
    dync__interp_steps *list;            /* one per section: prologue, row 0, phase 0, ... */
    int section;                         /* where emission goes */
    DYNC__VEC(dync__interp_value) value;
    DYNC__VEC(dync__interp_stream) stream;
    DYNC__VEC(dync__interp_dim) dim;
    DYNC__VEC(dync__interp_reduce) reduce;
    DYNC__VEC(uint64_t) constant;
    int64_t *keep_off;                   /* by instruction: its row buffer, in bytes */
    size_t scratch;
} dync__ib;

DYNC__FN size_t dync__type_bytes(int compute_type) { return dync__dtype_info(compute_type)->bytes; }

static const dync__inst *dync__ib_inst(const dync__ib *b, int i) { return &b->k->inst.at[i]; }
static int dync__ib_args(const dync__inst *in) { return dync__prim_info(in->prim)->n_args; }
static int dync__ib_phase(const dync__ib *b, int i)   /* the phase it stands in, or that its row code precedes */
{
    return b->sectioned ? dync__ib_inst(b, i)->section / 2 : 0;
}

/* The section list an instruction's steps go to: 0 prologue, 1 + 2p row code before phase p, 2 + 2p phase p. */
static int dync__ib_list(const dync__ib *b, int i)
{
    int p = dync__ib_phase(b, i);
    if (dync__ib_inst(b, i)->prim == DYNC__P_reduce || b->level[i] == 2) return 2 + 2 * p;
    return b->level[i] == 1 ? 1 + 2 * p : 0;
}

/* ---- analysis ------------------------------------------------------------------------------------------------------------ */

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
static int dync__ib_operands(const dync__ib *b, int i, int32_t out[3])
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

static int64_t dync__ib_product(const dync__ib *b, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= b->k->extent[d];
    return n;
}

/* From the stores up; what stands in phases without indices stores nothing. */
static void dync__ib_mark_needed(dync__ib *b)
{
    bool no_phases = dync__ib_product(b, b->k->n_outer, b->k->n_dims) == 0;
    for (int i = b->k->inst.n - 1; i >= 0; i--) {
        int32_t arg[3];
        if (!dync__inst_has_value(dync__ib_inst(b, i))) b->needed[i] = !(no_phases && (dync__ib_inst(b, i)->section & 1));
        b->clamp[i] = (uint8_t)dync__ib_clamp(b, dync__ib_inst(b, i));
        if (!b->needed[i]) continue;
        b->has_reduce |= dync__ib_inst(b, i)->prim == DYNC__P_reduce;
        b->sectioned |= b->has_reduce || (!dync__inst_has_value(dync__ib_inst(b, i)) && !(dync__ib_inst(b, i)->section & 1));
        for (int a = dync__ib_operands(b, i, arg) - 1; a >= 0; a--) b->needed[arg[a]] = 1;
    }
}

static int dync__ib_access_level(const dync__ib *b, int access)
{
    const dync__access *acc = &b->k->access.at[access];
    int level = 0;
    for (int d = 0; d < b->k->n_dims; d++)
        if (acc->stride[d] != 0 && b->k->extent[d] > 1) level = DYNC__MAX(level, d < b->split ? 1 : 2);
    return level;
}

static int dync__ib_level_of(const dync__ib *b, int i)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int32_t arg[3];
    int level = in->access >= 0 ? dync__ib_access_level(b, in->access) : 0;
    if (in->prim == DYNC__P_reduce) return 1;
    for (int a = dync__ib_operands(b, i, arg) - 1; a >= 0; a--) level = DYNC__MAX(level, (int)b->level[arg[a]]);
    /* what the kernel both reads and writes is read and written where it stands */
    if (!dync__inst_has_value(in)) return (in->section & 1) && (b->k->buf.at[in->buf].mode & DYNC__BUF_IN) ? 2 : DYNC__MAX(level, 1);
    if (in->buf >= 0 && (b->k->buf.at[in->buf].mode & DYNC__BUF_OUT)) return in->section & 1 ? 2 : DYNC__MAX(level, 1);
    return level;
}

/* Loops [from, to) of an access after merging neighbours and dropping loops of one; returns how many are left. */
static int dync__ib_merge(const dync__ib *b, int access, int from, int to, dync__interp_dim *out)
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

/* Pointwise: as many loops as stay linear for every access go inside; short ones are taken several rows at a time. */
static void dync__ib_split_pointwise(dync__ib *b)
{
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    b->split = b->k->n_dims;
    for (int s = b->k->n_dims - 1; s >= 0; s--) {
        for (int i = 0; i < b->k->inst.n; i++) {
            int access = dync__ib_inst(b, i)->access;
            if (b->needed[i] && access >= 0 && dync__ib_merge(b, access, s, b->k->n_dims, dims) > 1) return;
        }
        b->split = s;
    }
}

/* Would the rows of most loads lie side by side in memory, while each row is strided? */
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
        votes += dense_inner ? -1 : n > 0 && dims[n - 1].stride == 1 ? 1 : 0;
    }
    return votes > 0 && b->n_rows >= 4;
}

/* Does some buffer run along the last row loop while others run along the inner ones? Then both sides waste cache lines. */
static bool dync__ib_wants_square(const dync__ib *b)
{
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    bool across = false, along = false;
    if (b->sectioned || b->split == 0 || b->k->extent[b->split - 1] < 8 || b->n_inner < 8) return false;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__ib_inst(b, i);
        if (!b->needed[i] || in->access < 0 || b->level[i] != 2) continue;
        int n = dync__ib_merge(b, in->access, b->split, b->k->n_dims, dims);
        if (n > 1) return false;
        int64_t inner = n ? dims[0].stride : 0;
        if (in->buf < 0) continue;
        across |= n == 1 && b->k->access.at[in->access].stride[b->split - 1] == 1 && (inner > 8 || inner < -8);
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
    if (b->has_reduce && b->n_inner > 1 && dync__ib_wants_vertical(b)) {
        b->mode = DYNC__INTERP_VERTICAL;
        lanes *= 4;                     /* rows of a few pages: less paging about */
        b->rows = DYNC__MIN(b->n_rows, lanes);
        b->inner = b->rows < b->n_rows ? 1 : DYNC__MAX(1, DYNC__MIN(lanes / b->rows, b->n_inner));
    } else if (b->n_inner > 0 && b->n_inner <= lanes / 2 && b->n_rows > 1 && (b->has_reduce || b->n_inner < 96)) {
        b->mode = DYNC__INTERP_BLOCK;
        b->rows = DYNC__MIN(b->n_rows, lanes / b->n_inner);
        b->inner = b->n_inner;
    }
    if (b->mode == DYNC__INTERP_CHUNK && dync__ib_wants_square(b)) {
        b->mode = DYNC__INTERP_SQUARE;
        b->rows = 64;
        b->inner = DYNC__MIN(b->n_inner, DYNC__MAX(lanes / 32, 8));     /* a cache line of floats */
    }
    b->whole = b->inner >= b->n_inner;
}

/* Is buffer buf written by an instruction between from and to? */
static bool dync__ib_stored_between(const dync__ib *b, int buf, int from, int to)
{
    for (int j = from + 1; j < to; j++)
        if (b->needed[j] && !dync__inst_has_value(dync__ib_inst(b, j)) && dync__ib_inst(b, j)->buf == buf) return true;
    return false;
}

/* Cost in instructions of computing i again for `user` in a later phase; large where that is not possible. */
static int dync__ib_repeat_cost(const dync__ib *b, int i, int user)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int32_t arg[3];
    int cost = 1, too_much = 1000;
    if (b->level[i] < 2) return 0;
    if (b->keep[i]) return 1;
    if (in->prim == DYNC__P_random || in->prim == DYNC__P_loadx) return too_much;
    if (in->buf >= 0 && dync__ib_stored_between(b, in->buf, i, user)) return too_much;
    for (int a = dync__ib_operands(b, i, arg) - 1; a >= 0 && cost <= DYNC__INTERP_CHEAP; a--)
        cost += dync__ib_repeat_cost(b, arg[a], user);
    return cost;
}

/* Decides which values of earlier phases need a row buffer. */
static void dync__ib_mark_kept(dync__ib *b)
{
    b->keep_bytes = 0;
    memset(b->keep, 0, (size_t)b->k->inst.n);
    if (b->whole || !b->sectioned) return;
    for (int i = 0; i < b->k->inst.n; i++) {
        int32_t arg[3];
        if (!b->needed[i] || (b->level[i] < 2 && dync__ib_inst(b, i)->prim != DYNC__P_reduce)) continue;
        for (int a = dync__ib_operands(b, i, arg) - 1; a >= 0; a--) {
            int v = arg[a], phase = dync__ib_phase(b, i);
            if (b->level[v] < 2 || dync__ib_phase(b, v) == phase || b->keep[v]) continue;
            if (dync__ib_repeat_cost(b, v, i) <= DYNC__INTERP_CHEAP) continue;
            b->keep[v] = 1;
            b->keep_off[v] = b->keep_bytes;
            b->keep_bytes += (int64_t)dync__type_bytes(dync__ib_inst(b, v)->type) * b->n_inner;
        }
    }
}

/* Do the lanes of a level lie side by side in memory? */
static bool dync__ib_is_dense(const dync__ib *b, int access, int level)
{
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    int from = b->mode == DYNC__INTERP_CHUNK && level == 2 ? b->split : 0;
    int to = level == 2 && b->mode != DYNC__INTERP_VERTICAL ? b->k->n_dims : b->split;
    if (level == 2 && (b->mode == DYNC__INTERP_SQUARE || (b->mode == DYNC__INTERP_VERTICAL && b->inner > 1))) return false;
    if (level == 1 && b->rows == 1) return true;
    int n = dync__ib_merge(b, access, from, to, dims);
    return n == 0 ? dync__ib_product(b, from, to) == 1 : n == 1 && dims[0].stride == 1;
}

/* Is i a load of the buffer, or its bits under another type? */
static bool dync__ib_reads(const dync__ib *b, int i, int buf)
{
    while (dync__ib_inst(b, i)->prim == DYNC__P_bitcast) i = dync__ib_inst(b, i)->arg[0];
    return dync__ib_inst(b, i)->buf == buf;
}

/* A value may be computed straight into output memory when no load of that buffer is used after it was made. */
static bool dync__ib_may_direct(const dync__ib *b, int store)
{
    const dync__inst *st = dync__ib_inst(b, store), *in = dync__ib_inst(b, st->arg[0]);
    const dync__buf *buf = &b->k->buf.at[st->buf];
    int v = st->arg[0];
    if (st->prim != DYNC__P_store || buf->dtype != in->type || b->level[v] != b->level[store] || b->keep[v]) return false;
    if (in->prim == DYNC__P_const_ || in->prim == DYNC__P_reduce || in->prim == DYNC__P_load || in->prim == DYNC__P_bitcast) return false;
    if (dync__ib_list(b, v) != dync__ib_list(b, store) || !dync__ib_is_dense(b, st->access, b->level[v])) return false;
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

/* ---- emission --------------------------------------------------------------------------------------------------------------- */

static int dync__ib_value(dync__ib *b, int home, int type, int level)
{
    dync__interp_value v;
    memset(&v, 0, sizeof v);
    v.home = (uint8_t)home;
    v.bytes = (uint8_t)dync__type_bytes(type);
    v.level = (uint8_t)level;
    v.first = v.last = -1;
    if (!dync__avec_push(b->arena, &b->value, v)) {
        b->failed = true;
        return 0;
    }
    return b->value.n - 1;
}

static void dync__ib_emit(dync__ib *b, dync__interp_step s)
{
    if (!dync__avec_push(b->arena, &b->list[b->section], s)) b->failed = true;
}

static dync__interp_step dync__ib_step(int kind, int level, int type, int dst, int a)
{
    dync__interp_step s;
    memset(&s, 0, sizeof s);
    s.kind = (uint8_t)kind;
    s.level = (uint8_t)level;
    s.type = (uint8_t)type;
    s.bytes = (uint8_t)dync__type_bytes(type);
    s.dst = dst;
    s.a = a;
    s.b = s.c = s.stream = s.buf = s.reduce = -1;
    return s;
}

static dync__interp_nest dync__ib_nest(dync__ib *b, const dync__interp_dim *dims, int n)
{
    dync__interp_nest nest = {b->dim.n, n};
    for (int d = 0; d < n; d++)
        if (!dync__avec_push(b->arena, &b->dim, dims[d])) b->failed = true;
    return nest;
}

/* The access as lanes of a level walk it; equal ones are shared. */
static int dync__ib_stream(dync__ib *b, int access, int level)
{
    for (int i = 0; i < b->stream.n; i++)
        if (b->stream.at[i].access == access && b->stream.at[i].level == level) return i;
    dync__interp_dim dims[2 * DYNC__LOOP_MAX_DIMS];
    dync__interp_stream s;
    int n = b->k->n_dims, split = b->split, count;
    memset(&s, 0, sizeof s);
    s.access = access;
    s.level = (uint8_t)level;
    s.offset = b->k->access.at[access].offset;
    if (level == 1) {
        s.lanes = dync__ib_nest(b, dims, dync__ib_merge(b, access, 0, split, dims));
        s.lanes_from = DYNC__FROM_ROW;
    } else if (level == 2 && b->mode == DYNC__INTERP_CHUNK) {
        s.fixed = dync__ib_nest(b, dims, dync__ib_merge(b, access, 0, split, dims));
        s.fixed_from = DYNC__FROM_ROW;
        s.lanes = dync__ib_nest(b, dims, dync__ib_merge(b, access, split, n, dims));
        s.lanes_from = DYNC__FROM_INNER;
    } else if (level == 2 && b->mode == DYNC__INTERP_SQUARE) {         /* two loops: the last of the rows, the inner ones */
        s.fixed = dync__ib_nest(b, dims, dync__ib_merge(b, access, 0, split, dims));
        s.fixed_from = DYNC__FROM_ROW;
        int64_t step = dync__ib_merge(b, access, split, n, dims) ? dims[0].stride : 0;
        dims[0] = (dync__interp_dim){b->rows, b->k->access.at[access].stride[split - 1]};
        dims[1] = (dync__interp_dim){b->n_inner, step};
        s.lanes = dync__ib_nest(b, dims, 2);
        s.lanes_from = DYNC__FROM_INNER;
    } else if (level == 2 && b->mode == DYNC__INTERP_BLOCK) {
        s.lanes = dync__ib_nest(b, dims, dync__ib_merge(b, access, 0, n, dims));
        s.lanes_from = DYNC__FROM_ROW_INNER;
    } else if (level == 2 && b->inner == 1) {
        s.fixed = dync__ib_nest(b, dims, dync__ib_merge(b, access, split, n, dims));
        s.fixed_from = DYNC__FROM_INNER;
        s.lanes = dync__ib_nest(b, dims, dync__ib_merge(b, access, 0, split, dims));
        s.lanes_from = DYNC__FROM_ROW;
    } else if (level == 2) {               /* vertical, all rows: inner loops outside; each side keeps its loops, 0 strides too */
        count = dync__ib_merge(b, access, split, n, dims);
        if (count == 0) dims[count++] = (dync__interp_dim){b->n_inner, 0};
        int more = dync__ib_merge(b, access, 0, split, dims + count);
        if (more == 0) dims[count + more++] = (dync__interp_dim){b->n_rows, 0};
        if (count == 1 && more == 1 && dims[0].stride == dims[1].stride * b->n_rows) {
            dims[0] = dims[1];
            more = 0;
        }
        s.lanes = dync__ib_nest(b, dims, count + more);
        s.lanes_from = DYNC__FROM_INNER_ROW;
    }
    if (!dync__avec_push(b->arena, &b->stream, s)) b->failed = true;
    return b->stream.n - 1;
}

static int dync__ib_constant(dync__ib *b, const dync__inst *in)
{
    int v = dync__ib_value(b, DYNC__HOME_CONST, in->type, 0);
    dync__scalar x = dync__const_scalar(in);
    uint64_t bits = 0;
    int32_t i = (int32_t)x.i;
    uint8_t byte = (uint8_t)x.i;
    switch (in->type) {
    case DYNC_F32: memcpy(&bits, &x.f, sizeof x.f); break;
    case DYNC_I32: memcpy(&bits, &i, sizeof i); break;
    case DYNC_BOOL: memcpy(&bits, &byte, sizeof byte); break;
    default: memcpy(&bits, &x, sizeof x); break;
    }
    if (b->failed) return v;
    b->value.at[v].at = (size_t)b->constant.n;
    if (!dync__avec_push(b->arena, &b->constant, bits)) b->failed = true;
    return v;
}

static int dync__ib_value_at(dync__ib *b, int i, int phase);

/* The expansion of a scalar or row value to a whole tile, made once per phase. */
static int dync__ib_widen(dync__ib *b, int i, int phase)
{
    if (b->wide[i] >= 0 && b->wide_phase[i] == phase) return b->wide[i];
    const dync__inst *in = dync__ib_inst(b, i);
    int from = b->val[i], dst = dync__ib_value(b, DYNC__HOME_SCRATCH, in->type, 2);
    bool scalar = b->level[i] == 0 || b->rows == 1;
    dync__ib_emit(b, dync__ib_step(scalar ? DYNC__STEP_FILL : DYNC__STEP_EXPAND, 2, in->type, dst, from));
    b->wide[i] = dst;
    b->wide_phase[i] = phase;
    return dst;
}

typedef struct dync__ib_operand { int32_t inst, value; bool scalar; } dync__ib_operand;

/* Instruction i as an operand at a level: a vector, or a scalar where it is one for the whole tile. */
static dync__ib_operand dync__ib_fetch(dync__ib *b, int i, int level, int phase)
{
    dync__ib_operand o = {i, 0, false};
    o.value = dync__ib_value_at(b, i, phase);
    if (level == 2 && b->level[i] < 2) {
        bool tile_is_row = b->level[i] == 1 && b->mode == DYNC__INTERP_VERTICAL && b->inner == 1;
        o.scalar = !tile_is_row && (b->level[i] == 0 || b->rows == 1);
        if (!tile_is_row && !o.scalar) o.value = dync__ib_widen(b, i, phase);
    } else if (level == 1 && b->level[i] == 0) {
        o.scalar = b->rows > 1;            /* one lane: a scalar is a vector */
    }
    return o;
}

/* At row level a scalar is filled into a row vector. */
static void dync__ib_make_vector(dync__ib *b, dync__ib_operand *o, int level, int phase)
{
    if (!o->scalar) return;
    o->scalar = false;
    if (level == 2) {
        o->value = dync__ib_widen(b, o->inst, phase);
        return;
    }
    int type = dync__ib_inst(b, o->inst)->type, dst = dync__ib_value(b, DYNC__HOME_SCRATCH, type, 1);
    dync__ib_emit(b, dync__ib_step(DYNC__STEP_FILL, 1, type, dst, o->value));
    o->value = dst;
}

static bool dync__ib_commutes(int prim, int type)
{
    switch (prim) {
    case DYNC__P_add: case DYNC__P_mul: case DYNC__P_eq: case DYNC__P_ne:
    case DYNC__P_and_: case DYNC__P_or_: case DYNC__P_xor_: return true;
    case DYNC__P_min: case DYNC__P_max: return type != DYNC_F32 && type != DYNC_F64;
    default: return false;
    }
}

static void dync__ib_swap(dync__ib_operand *a, dync__ib_operand *b)
{
    dync__ib_operand t = *a;
    *a = *b;
    *b = t;
}

/* Picks the tile kernel for the operands at hand; scalars that no form takes are widened. */
static dync__tile_fn dync__ib_pick(dync__ib *b, int prim, int type, int n, dync__ib_operand *o, int level, int phase)
{
    int form = 0;
    if (n == 3) {
        if (prim == DYNC__P_fma && o[0].scalar && !o[1].scalar) dync__ib_swap(&o[0], &o[1]);
        dync__ib_make_vector(b, &o[0], level, phase);
        form = (o[1].scalar ? DYNC__FORM_B : 0) | (o[2].scalar ? DYNC__FORM_C : 0);
        if (!dync__tile_find(b->isa, prim, type, form)) {
            for (int a = 1; a < 3; a++) dync__ib_make_vector(b, &o[a], level, phase);
            form = 0;
        }
    } else if (n == 2) {
        if (o[0].scalar && dync__ib_commutes(prim, type)) dync__ib_swap(&o[0], &o[1]);
        if (o[0].scalar && o[1].scalar) dync__ib_make_vector(b, &o[0], level, phase);
        form = o[0].scalar ? DYNC__FORM_A : o[1].scalar ? DYNC__FORM_B : 0;
        if (!dync__tile_find(b->isa, prim, type, form)) {
            for (int a = 0; a < 2; a++) dync__ib_make_vector(b, &o[a], level, phase);
            form = 0;
        }
    } else {
        dync__ib_make_vector(b, &o[0], level, phase);
    }
    return dync__tile_find(b->isa, prim, type, form);
}

static dync__tile_fn dync__ib_kernel(dync__ib *b, int i, int n, dync__ib_operand *o, int level, int phase)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int type = dync__ib_inst(b, in->arg[in->prim == DYNC__P_select ? 1 : 0])->type;
    switch (in->prim) {
    case DYNC__P_cast: dync__ib_make_vector(b, &o[0], level, phase); return dync__tile_cast(b->isa, type, in->type);
    case DYNC__P_wrap: dync__ib_make_vector(b, &o[0], level, phase); return dync__tile_wrap(b->isa, (int)in->imm.i);
    default:
        return dync__ib_pick(b, b->clamp[i] == 1 ? (int)DYNC__TILE_MAXSEL : b->clamp[i] == 2 ? (int)DYNC__TILE_MINSEL : in->prim, type, n, o,
                             level, phase);
    }
}

/* The value an instruction's result goes to: scratch, a place in its row buffer, or output memory. */
static int dync__ib_result(dync__ib *b, int i, int level, int phase)
{
    const dync__inst *in = dync__ib_inst(b, i);
    if (b->keep[i]) {
        int dst = dync__ib_value(b, DYNC__HOME_FLOATING, in->type, level);
        dync__interp_step s = dync__ib_step(DYNC__STEP_KEEP, level, in->type, dst, -1);
        s.imm = b->keep_off[i];
        dync__ib_emit(b, s);
        return dst;
    }
    if (b->direct[i] >= 0 && (level < 2 || dync__ib_phase(b, b->direct[i]) == phase)) {
        const dync__inst *st = dync__ib_inst(b, b->direct[i]);
        int dst = dync__ib_value(b, DYNC__HOME_FLOATING, in->type, level);
        dync__interp_step s = dync__ib_step(DYNC__STEP_DIRECT, level, in->type, dst, -1);
        s.buf = st->buf;
        s.stream = dync__ib_stream(b, st->access, level);
        dync__ib_emit(b, s);
        return dst;
    }
    return dync__ib_value(b, DYNC__HOME_SCRATCH, in->type, level);
}

static bool dync__ib_is_view(const dync__ib *b, const dync__interp_stream *s, dync__interp_nest lanes, int level)
{
    if (level == 0 || (level == 1 && b->rows == 1)) return true;      /* one lane */
    if (b->mode == DYNC__INTERP_SQUARE && level == 2) return false;
    if (lanes.n == 0) return b->n_rows * b->n_inner == 1;
    return s->lanes.n == 1 && b->dim.at[lanes.at].stride == 1;
}

/* Is load i used after its buffer was written? Then its elements are copied while they are there. */
static bool dync__ib_outlives_store(const dync__ib *b, int i)
{
    int buf = dync__ib_inst(b, i)->buf, last = i;
    int32_t arg[3];
    if (!(b->k->buf.at[buf].mode & DYNC__BUF_OUT)) return false;
    for (int u = i + 1; u < b->k->inst.n; u++)
        for (int a = b->needed[u] ? dync__ib_operands(b, u, arg) - 1 : -1; a >= 0; a--)
            if (arg[a] >= i && dync__ib_reads(b, arg[a], buf)) last = u;
    return dync__ib_stored_between(b, buf, i, last);
}

static int dync__ib_emit_load(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int dtype = b->k->buf.at[in->buf].dtype, level = b->level[i];
    dync__tile_fn widen = dync__tile_widen(b->isa, dtype);
    int stream = dync__ib_stream(b, in->access, level);
    if (b->failed) return 0;
    const dync__interp_stream *st = &b->stream.at[stream];
    bool view = !widen && !b->keep[i] && dync__ib_is_view(b, st, st->lanes, level) && !dync__ib_outlives_store(b, i);
    int dst = view ? dync__ib_value(b, DYNC__HOME_FLOATING, in->type, level) : dync__ib_result(b, i, level, phase);
    dync__interp_step s = dync__ib_step(view ? DYNC__STEP_VIEW : DYNC__STEP_GATHER, level, in->type, dst, -1);
    s.bytes = dync__dtype_info(dtype)->bytes;
    s.buf = in->buf;
    s.stream = stream;
    s.fn = widen;
    dync__ib_emit(b, s);
    return dst;
}

/* One index for a whole line of lanes (a row of an embedding): a load with something added to its address. */
static int dync__ib_emit_line_load(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int index = dync__ib_value_at(b, in->arg[0], phase), dst = dync__ib_emit_load(b, i, phase);
    dync__interp_steps *list = &b->list[b->section];
    if (b->failed) return dst;
    list->at[list->n - 1].a = index;
    list->at[list->n - 1].imm = b->k->buf.at[in->buf].size;
    return dst;
}

/* loadx: a is the index, c the offsets of the access. */
static int dync__ib_emit_indexed(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__ib_inst(b, i);
    bool load = in->prim == DYNC__P_loadx;
    int dtype = b->k->buf.at[in->buf].dtype, level = b->level[i];
    dync__interp_dim dims[DYNC__LOOP_MAX_DIMS];
    if (load && level == 2 && b->mode == DYNC__INTERP_CHUNK && b->level[in->arg[0]] < 2 && !(b->k->buf.at[in->buf].mode & DYNC__BUF_OUT) &&
        dync__ib_merge(b, in->access, b->split, b->k->n_dims, dims) <= 1)
        return dync__ib_emit_line_load(b, i, phase);
    dync__ib_operand value = {0, -1, false}, index = dync__ib_fetch(b, in->arg[load ? 0 : 1], level, phase);
    dync__ib_make_vector(b, &index, level, phase);
    if (!load) {
        value = dync__ib_fetch(b, in->arg[0], level, phase);
        dync__ib_make_vector(b, &value, level, phase);
        b->serial = true;
    }
    int stream = dync__ib_stream(b, in->access, level);
    int offsets = dync__ib_value(b, DYNC__HOME_SCRATCH, DYNC_I64, level);
    dync__interp_step s = dync__ib_step(DYNC__STEP_INDEX, level, DYNC_I64, offsets, -1);
    s.stream = stream;
    dync__ib_emit(b, s);
    int dst = load ? dync__ib_result(b, i, level, phase) : -1;
    s = dync__ib_step(load ? DYNC__STEP_LOADX : DYNC__STEP_STOREX, level, in->type, dst, load ? index.value : value.value);
    s.b = load ? -1 : index.value;
    s.c = offsets;
    s.bytes = dync__dtype_info(dtype)->bytes;
    s.buf = in->buf;
    s.imm = b->k->buf.at[in->buf].size;
    s.fn = load ? dync__tile_widen(b->isa, dtype) : dync__tile_narrow(b->isa, dtype);
    dync__ib_emit(b, s);
    return dst;
}

static void dync__ib_emit_store(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int level = b->level[i], dtype = b->k->buf.at[in->buf].dtype;
    if (b->direct[in->arg[0]] == i) return;               /* the value was computed in place */
    dync__ib_operand o = dync__ib_fetch(b, in->arg[0], level, phase);
    if (o.scalar && dtype == in->type && dync__ib_is_dense(b, in->access, level)) {     /* filled where it belongs */
        int dst = dync__ib_value(b, DYNC__HOME_FLOATING, in->type, level);
        dync__interp_step at = dync__ib_step(DYNC__STEP_DIRECT, level, in->type, dst, -1);
        at.buf = in->buf;
        at.stream = dync__ib_stream(b, in->access, level);
        dync__ib_emit(b, at);
        dync__ib_emit(b, dync__ib_step(DYNC__STEP_FILL, level, in->type, dst, o.value));
        return;
    }
    dync__ib_make_vector(b, &o, level, phase);
    dync__interp_step s = dync__ib_step(DYNC__STEP_SCATTER, level, in->type, -1, o.value);
    s.bytes = dync__dtype_info(dtype)->bytes;
    s.buf = in->buf;
    s.stream = dync__ib_stream(b, in->access, level);
    s.fn = dync__tile_narrow(b->isa, dtype);
    dync__ib_emit(b, s);
}

static void dync__ib_identity(dync__interp_reduce *r)
{
    bool least = r->kind == DYNC__R_MAX, greatest = r->kind == DYNC__R_MIN, one = r->kind == DYNC__R_PROD || r->kind == DYNC__R_ALL;
    double x = least ? -HUGE_VAL : greatest ? HUGE_VAL : one ? 1.0 : 0.0;
    memset(&r->identity, 0, sizeof r->identity);
    if (r->type == DYNC_F32) r->identity.f = (float)x;
    else if (r->type == DYNC_F64) r->identity.d = x;
    else if (r->type == DYNC_I32) {
        int32_t i = least ? INT32_MIN : greatest ? INT32_MAX : one ? 1 : 0;
        memcpy(&r->identity, &i, sizeof i);
    } else if (r->type == DYNC_I64) r->identity.i = least ? INT64_MIN : greatest ? INT64_MAX : one ? 1 : 0;
    else memset(&r->identity, one ? 1 : 0, 1);
}

static int dync__ib_emit_reduce(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__ib_inst(b, i);
    dync__ib_operand o = dync__ib_fetch(b, in->arg[0], 2, phase);
    dync__ib_make_vector(b, &o, 2, phase);
    dync__interp_reduce r;
    memset(&r, 0, sizeof r);
    r.kind = (uint8_t)in->imm.i;
    r.type = dync__ib_inst(b, in->arg[0])->type;
    r.bytes = (uint8_t)dync__type_bytes(r.type);
    r.phase = phase;
    r.dst = dync__ib_value(b, DYNC__HOME_SCRATCH, in->type, 1);
    r.partials = dync__tile_reduce(b->isa, r.kind, r.type);
    static const uint8_t combine[] = {DYNC__P_add, DYNC__P_mul, DYNC__P_max, DYNC__P_min, DYNC__P_or_, DYNC__P_and_};
    if (r.kind < DYNC__R_ARGMAX) r.combine = dync__tile_find(b->isa, combine[r.kind], r.type, 0);
    dync__ib_identity(&r);
    if (!dync__avec_push(b->arena, &b->reduce, r)) b->failed = true;
    dync__interp_step s = dync__ib_step(DYNC__STEP_REDUCE, 2, r.type, -1, o.value);
    s.reduce = b->reduce.n - 1;
    dync__ib_emit(b, s);
    return r.dst;
}

static int dync__ib_emit_op(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__ib_inst(b, i);
    int level = b->level[i];
    int32_t arg[3];
    dync__ib_operand o[3] = {{0, -1, false}, {0, -1, false}, {0, -1, false}};
    int n = dync__ib_operands(b, i, arg);
    for (int a = 0; a < n; a++) o[a] = dync__ib_fetch(b, arg[a], level, phase);
    if (in->prim == DYNC__P_bitcast) return o[0].value;   /* the same bits: the same value */
    dync__tile_fn fn;
    if (in->prim != DYNC__P_random) fn = dync__ib_kernel(b, i, n, o, level, phase);
    else {
        dync__ib_make_vector(b, &o[0], level, phase);
        fn = in->imm.i ? NULL : dync__tile_uniform(b->isa, in->type);
    }
    if (!fn && in->prim != DYNC__P_random) {
        if (!b->failed)
            dync__fail(DYNC_ERR_INTERNAL, "kernel %s: %s of %s has no tile kernel", b->k->name, dync__prim_info(in->prim)->name,
                       dync__dtype_info(in->type)->name);
        b->failed = true;
    }
    int dst = dync__ib_result(b, i, level, phase);
    dync__interp_step s = dync__ib_step(in->prim == DYNC__P_random ? DYNC__STEP_RANDOM : DYNC__STEP_OP, level, in->type, dst, o[0].value);
    s.b = o[1].value;
    s.c = o[2].value;
    s.imm = in->imm.i;
    s.fn = fn;
    dync__ib_emit(b, s);
    return dst;
}

static int dync__ib_emit_index(dync__ib *b, int i, int phase)
{
    int level = b->level[i], dst = dync__ib_result(b, i, level, phase);
    dync__interp_step s = dync__ib_step(DYNC__STEP_INDEX, level, DYNC_I64, dst, -1);
    s.stream = dync__ib_stream(b, dync__ib_inst(b, i)->access, level);
    dync__ib_emit(b, s);
    return dst;
}

/* Emits instruction i in the current section; phase: where its varying operands are wanted. */
static void dync__ib_emit_inst(dync__ib *b, int i, int phase)
{
    int v = 0;
    switch (dync__ib_inst(b, i)->prim) {
    case DYNC__P_const_: v = dync__ib_constant(b, dync__ib_inst(b, i)); break;
    case DYNC__P_index: v = dync__ib_emit_index(b, i, phase); break;
    case DYNC__P_load: v = dync__ib_emit_load(b, i, phase); break;
    case DYNC__P_loadx:
    case DYNC__P_storex: v = dync__ib_emit_indexed(b, i, phase); break;
    case DYNC__P_store: dync__ib_emit_store(b, i, phase); break;
    case DYNC__P_reduce: v = dync__ib_emit_reduce(b, i, phase); break;
    default: v = dync__ib_emit_op(b, i, phase); break;
    }
    b->val[i] = v;
    b->val_phase[i] = phase;
}

/* The value of i for a user in this phase: that of an earlier phase is read back or computed again. */
static int dync__ib_value_at(dync__ib *b, int i, int phase)
{
    if (b->level[i] < 2 || b->whole || b->val_phase[i] == phase || !b->sectioned) return b->val[i];
    if (!b->keep[i]) {
        dync__ib_emit_inst(b, i, phase);
        return b->val[i];
    }
    b->val[i] = dync__ib_result(b, i, 2, phase);
    b->val_phase[i] = phase;
    return b->val[i];
}

/* ---- scratch -------------------------------------------------------------------------------------------------------------------- */

static size_t dync__ib_take(dync__ib *b, size_t bytes)
{
    size_t at = b->scratch;
    b->scratch += (bytes + 63) & ~(size_t)63;
    return at;
}

static size_t dync__ib_value_bytes(const dync__ib *b, const dync__interp_value *v)
{
    return v->bytes * (size_t)(v->level == 0 ? 1 : v->level == 1 ? b->rows : b->rows * b->inner);
}

static void dync__ib_use(dync__ib *b, int v, int at, int section_end, bool is_phase)
{
    if (v < 0) return;
    dync__interp_value *x = &b->value.at[v];
    if (x->first < 0) x->first = at;
    x->last = DYNC__MAX(x->last, is_phase && x->level < 2 ? section_end : at);
}

/* Live ranges in step order. What a row makes and a phase uses lives to the end of that phase: the phase loops. */
static void dync__ib_liveness(dync__ib *b)
{
    int at = 0;
    for (int l = 0; l < 2 * b->n_phases + 2; l++) {
        bool is_phase = l >= 2 && l % 2 == 0;
        int end = at + b->list[l].n;
        for (int i = 0; is_phase && i < b->reduce.n; i++)           /* written while the phase runs */
            if (b->reduce.at[i].phase == (l - 2) / 2) dync__ib_use(b, b->reduce.at[i].dst, at, end, true);
        for (int i = 0; i < b->list[l].n; i++, at++) {
            const dync__interp_step *s = &b->list[l].at[i];
            dync__ib_use(b, s->dst, at, end, is_phase);
            dync__ib_use(b, s->a, at, end, is_phase);
            dync__ib_use(b, s->b, at, end, is_phase);
            dync__ib_use(b, s->c, at, end, is_phase);
        }
    }
}

/* First fit over buffers of one size, in order of birth: a value takes one whose last tenant is dead, possibly its own operand's
 * (tile kernels run in place). What the prologue makes stays. */
static void dync__ib_assign(dync__ib *b)
{
    typedef struct dync__ib_home { uint8_t bytes, level; int32_t free_at; size_t at; } dync__ib_home;
    DYNC__VEC(dync__ib_home) homes = {NULL, 0, 0};
    DYNC__VEC(int32_t) order = {NULL, 0, 0};
    for (int i = 0; i < b->value.n; i++) {
        if (b->value.at[i].home != DYNC__HOME_SCRATCH || b->value.at[i].first < 0) continue;
        if (!dync__avec_push(b->arena, &order, i)) goto no_memory;
        for (int j = order.n - 1; j > 0 && b->value.at[order.at[j - 1]].first > b->value.at[i].first; j--) {
            order.at[j] = order.at[j - 1];
            order.at[j - 1] = i;
        }
    }
    for (int i = 0; i < order.n; i++) {
        dync__interp_value *v = &b->value.at[order.at[i]];
        int found = -1;
        for (int h = 0; v->level > 0 && h < homes.n && found < 0; h++)
            if (homes.at[h].bytes == v->bytes && homes.at[h].level == v->level && homes.at[h].free_at <= v->first) found = h;
        if (found < 0) {
            dync__ib_home home = {v->bytes, v->level, 0, dync__ib_take(b, dync__ib_value_bytes(b, v))};
            if (!dync__avec_push(b->arena, &homes, home)) goto no_memory;
            found = homes.n - 1;
            if (v->level == 2) b->lane_bytes += v->bytes;
        }
        homes.at[found].free_at = v->last;
        v->at = homes.at[found].at;
    }
    return;
no_memory:
    b->failed = true;
}

static void dync__ib_reduce_scratch(dync__ib *b)
{
    for (int i = 0; i < b->reduce.n; i++) {
        dync__interp_reduce *r = &b->reduce.at[i];
        size_t rows = (size_t)b->rows, inner = (size_t)b->inner;
        bool vertical = b->mode == DYNC__INTERP_VERTICAL;
        if (r->kind >= DYNC__R_ARGMAX) {
            r->acc = dync__ib_take(b, rows * (sizeof(int64_t) + sizeof(double)));
            continue;
        }
        r->acc = dync__ib_take(b, vertical ? DYNC__REDUCE_LEVELS * (sizeof(int64_t) + rows * r->bytes) : 65 * sizeof(int64_t));
        r->partial = dync__ib_take(b, vertical ? (inner + 1) / 2 * rows * r->bytes
                                               : rows * ((inner + DYNC__TILE_GRAIN - 1) / DYNC__TILE_GRAIN) * r->bytes);
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------------------------------- */

static bool dync__ib_alloc(dync__ib *b)
{
    size_t n = (size_t)b->k->inst.n + 1;
    b->needed = dync__arena_alloc(b->arena, 4 * n);
    b->direct = dync__arena_alloc(b->arena, 5 * n * sizeof(int32_t));
    b->keep_off = dync__arena_alloc(b->arena, n * sizeof(int64_t));
    if (!b->needed || !b->direct || !b->keep_off) return false;
    b->level = b->needed + n;
    b->keep = b->level + n;
    b->clamp = b->keep + n;
    b->val = b->direct + n;
    b->val_phase = b->val + n;
    b->wide = b->val_phase + n;
    b->wide_phase = b->wide + n;
    dync__ib_mark_needed(b);
    b->n_phases = 1;
    for (int i = 0; b->sectioned && i < b->k->inst.n; i++)
        b->n_phases = DYNC__MAX(b->n_phases, (dync__ib_inst(b, i)->section + 1) / 2);
    b->list = dync__arena_alloc(b->arena, (size_t)(2 * b->n_phases + 2) * sizeof *b->list);
    return b->list != NULL;
}

/* Cuts the loops and decides what is kept: vertical tiles get narrower, then horizontal, rather than a huge row buffer. */
static void dync__ib_plan(dync__ib *b)
{
    b->split = b->k->n_outer;
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
        if (b->rows < 32) {
            b->mode = DYNC__INTERP_CHUNK;
            b->rows = 1;
            b->inner = DYNC__MIN(b->n_inner, b->lanes);
        }
        b->whole = b->inner >= b->n_inner;
        dync__ib_mark_kept(b);
    }
}

static void dync__ib_emit_all(dync__ib *b)
{
    size_t n = (size_t)b->k->inst.n * sizeof(int32_t);
    memset(b->direct, 0xff, n);                           /* -1 */
    memset(b->wide, 0xff, n);
    memset(b->val_phase, 0xff, n);
    for (int l = 0; l < 2 * b->n_phases + 2; l++) b->list[l].n = 0;
    b->value.n = b->stream.n = b->dim.n = b->reduce.n = b->constant.n = 0;
    b->scratch = 0;
    b->lane_bytes = 0;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__ib_inst(b, i);
        if (b->needed[i] && in->prim == DYNC__P_store && b->direct[in->arg[0]] < 0 && dync__ib_may_direct(b, i)) b->direct[in->arg[0]] = i;
    }
    for (int i = 0; i < b->k->inst.n && !b->failed; i++) {
        if (!b->needed[i]) continue;
        b->section = dync__ib_list(b, i);
        dync__ib_emit_inst(b, i, dync__ib_phase(b, i));
    }
    if (b->failed) return;
    dync__ib_liveness(b);
    dync__ib_assign(b);
    dync__ib_reduce_scratch(b);
}

/* One block holds the struct and all arrays: `at` runs over it twice, first to measure. */
static void *dync__ib_place(char *block, size_t *at, const void *from, size_t bytes)
{
    size_t here = *at;
    *at = (here + bytes + 15) & ~(size_t)15;
    if (!block) return NULL;
    if (bytes > 0) memcpy(block + here, from, bytes);
    return block + here;
}

static size_t dync__ib_layout(const dync__ib *b, char *block, const dync__interp_steps *all, const int32_t *section,
                              const int64_t *sizes)
{
    dync__code none, *c = block ? (dync__code *)(void *)block : &none;
    size_t at = (sizeof(dync__code) + 15) & ~(size_t)15;
#define DYNC__IB_PLACE(vec) dync__ib_place(block, &at, (vec).at, (size_t)(vec).n * sizeof *(vec).at)
    c->steps = dync__ib_place(block, &at, all->at, (size_t)all->n * sizeof *all->at);
    c->values = DYNC__IB_PLACE(b->value);
    c->streams = DYNC__IB_PLACE(b->stream);
    c->dims = DYNC__IB_PLACE(b->dim);
    c->reduces = DYNC__IB_PLACE(b->reduce);
    c->consts = DYNC__IB_PLACE(b->constant);
#undef DYNC__IB_PLACE
    c->section = dync__ib_place(block, &at, section, (size_t)(2 * b->n_phases + 3) * sizeof *section);
    c->buf_size = dync__ib_place(block, &at, sizes, (size_t)b->k->buf.n * sizeof *sizes);
    c->name = dync__ib_place(block, &at, b->k->name, strlen(b->k->name) + 1);
    return at;
}

static dync__code *dync__ib_finish(dync__ib *b)
{
    dync__interp_steps all = {NULL, 0, 0};
    int lists = 2 * b->n_phases + 2, phase_steps = 0;
    int32_t *section = dync__arena_alloc(b->arena, (size_t)(lists + 1) * sizeof *section);
    int64_t *sizes = dync__arena_alloc(b->arena, ((size_t)b->k->buf.n + 1) * sizeof *sizes);
    if (!section || !sizes) return NULL;
    for (int l = 0; l < lists; l++) {
        section[l] = all.n;
        if (l >= 2 && l % 2 == 0) phase_steps += b->list[l].n;
        for (int i = 0; i < b->list[l].n; i++)
            if (!dync__avec_push(b->arena, &all, b->list[l].at[i])) return NULL;
    }
    section[lists] = all.n;
    for (int i = 0; i < b->k->buf.n; i++) sizes[i] = b->k->buf.at[i].size;
    size_t bytes = dync__ib_layout(b, NULL, &all, section, sizes);
    char *block = dync__calloc(bytes);
    if (!block) return NULL;
    dync__ib_layout(b, block, &all, section, sizes);
    dync__code *c = (dync__code *)(void *)block;
    c->isa = b->isa;
    c->mode = b->mode;
    c->n_phases = b->n_phases;
    c->n_bufs = b->k->buf.n;
    c->n_rows = b->n_rows;
    c->n_inner = b->n_inner;
    c->tile_rows = b->rows;
    c->tile_inner = DYNC__MAX(b->inner, 1);
    c->row_group = b->mode == DYNC__INTERP_SQUARE ? b->k->extent[b->split - 1] : b->n_rows;
    c->empty = b->n_rows == 0;
    c->has_reduce = b->has_reduce;
    c->serial = b->serial;
    for (int l = 1; l < lists; l += 2)
        for (int i = 0; i < b->list[l].n; i++)
            c->stores_rows |= b->list[l].at[i].kind == DYNC__STEP_SCATTER || b->list[l].at[i].kind == DYNC__STEP_DIRECT;
    c->n_steps = all.n;
    c->n_values = b->value.n;
    c->n_streams = b->stream.n;
    c->n_dims = b->dim.n;
    c->n_reduces = b->reduce.n;
    c->n_consts = b->constant.n;
    c->raw_at = dync__ib_take(b, 2 * (size_t)(b->rows * c->tile_inner));
    c->scratch_bytes = b->scratch;
    c->keep_bytes = (size_t)(b->keep_bytes * b->rows);
    c->work = b->n_rows * b->n_inner * (phase_steps + 1);
    c->block_bytes = bytes;
    return c;
}

static dync__code *dync__ib_compile(dync__ib *b)
{
    int64_t total;
    const dync__kernel *k = b->k;
    if (k->failed) {
        dync__fail_memory(0);
        return NULL;
    }
    total = 1;
    for (int d = 0; d < k->n_dims; d++)
        if (!dync__mul_ok(total, DYNC__MAX(k->extent[d], 1), &total)) {
            dync__fail(DYNC_ERR_SHAPE, "kernel %s: too many indices", k->name);
            return NULL;
        }
    if (!dync__ib_alloc(b)) return NULL;
    for (b->lanes = DYNC__INTERP_LANES;; b->lanes /= 2) {
        dync__ib_plan(b);
        dync__ib_emit_all(b);
        if (b->failed) return NULL;
        if (b->lanes <= DYNC__TILE_GRAIN || b->lane_bytes * b->rows * b->inner <= DYNC__INTERP_L1_BYTES) break;
    }
    return dync__ib_finish(b);
}

DYNC__FN dync__code *dync__code_new(const dync__kernel *k)
{
    dync__arena arena;
    dync__ib b;
    memset(&arena, 0, sizeof arena);
    memset(&b, 0, sizeof b);
    b.k = k;
    b.arena = &arena;
    b.isa = dync__tile_isa();
    dync__code *code = dync__ib_compile(&b);
    dync__arena_free(&arena);
    return code;
}

DYNC__FN void dync__code_free(dync__code *c)
{
    if (c) dync__free(c, c->block_bytes);
}

/* ---- listing ------------------------------------------------------------------------------------------------------------------------ */

static void dync__code_dump_step(dync__str *out, const dync__code *c, const dync__interp_step *s)
{
    static const char *const kinds[] = {"op", "view", "gather", "direct", "scatter", "fill", "expand", "index", "loadx", "storex",
                                        "random", "reduce", "keep"};
    dync__str_addf(out, "    %-8s %s.%d", kinds[s->kind], dync__dtype_info(s->type)->guard, (int)s->level);
    if (s->dst >= 0) dync__str_addf(out, " v%d", (int)s->dst);
    if (s->a >= 0) dync__str_addf(out, " <- v%d", (int)s->a);
    if (s->b >= 0) dync__str_addf(out, " v%d", (int)s->b);
    if (s->c >= 0) dync__str_addf(out, " v%d", (int)s->c);
    if (s->buf >= 0) dync__str_addf(out, " buf%d", (int)s->buf);
    if (s->stream >= 0) {
        const dync__interp_stream *st = &c->streams[s->stream];
        dync__str_addf(out, " [%lld", (long long)st->offset);
        for (int d = 0; d < st->fixed.n; d++) dync__str_addf(out, " + %lld*f%d", (long long)c->dims[st->fixed.at + d].stride, d);
        for (int d = 0; d < st->lanes.n; d++) dync__str_addf(out, " + %lld*i%d", (long long)c->dims[st->lanes.at + d].stride, d);
        dync__str_add(out, "]");
    }
    if (s->reduce >= 0) dync__str_addf(out, " into v%d", (int)c->reduces[s->reduce].dst);
    dync__str_add(out, "\n");
}

DYNC__FN void dync__code_dump(dync__str *out, const dync__code *c)
{
    static const char *const modes[] = {"chunk", "block", "vertical", "square"};
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    dync__str_addf(out, "code %s: %s, %lld rows x %lld, tile %lld x %lld, %s, scratch %zu + %zu bytes\n", c->name, modes[c->mode],
                   (long long)c->n_rows, (long long)c->n_inner, (long long)c->tile_rows, (long long)c->tile_inner, isas[c->isa],
                   c->scratch_bytes, c->keep_bytes);
    for (int l = 0; l < 2 * c->n_phases + 2; l++) {
        if (c->section[l] == c->section[l + 1]) continue;
        if (l == 0) dync__str_add(out, "  once\n");
        else dync__str_addf(out, l % 2 ? "  row %d\n" : "  phase %d\n", (l - 1) / 2);
        for (int i = c->section[l]; i < c->section[l + 1]; i++) dync__code_dump_step(out, c, &c->steps[i]);
    }
}
