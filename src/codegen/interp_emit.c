/* codegen/interp_emit.c: the steps of a kernel for the tile interpreter. Before: interp_plan.c
 * cut the loops; after: interp.c gives the values scratch.
 *
 *   loads    dense ones are used where they lie; what is constant along the inner loops becomes a
 *            scalar operand or row code; the rest is copied into a tile by an odometer
 *   stores   the last operation computes straight into dense output memory where nothing can
 *            observe it
 *   scalars  what is one for the kernel, or for the row where tiles have one, is kept
 *            DYNC__TILE_LANES times: tiles of two and three operands take it so, for others it is
 *            filled into a tile, once a phase
 * Invariant: emission is sticky: after a failure (b->failed) numbers of values are meaningless
 * but in range. */
#include "../dync.in.h"
#include "interp_build.h"
DYNC__LEAN

DYNC__FN int dync__ib_value(dync__ib *b, int home, int type, int level)
{
    dync__interp_value v;
    memset(&v, 0, sizeof v);
    v.home = (uint8_t)home;
    v.bytes = (uint8_t)dync__type_bytes(type);
    v.level = (uint8_t)level;
    v.first = v.last = -1;
    if (!dync__avec_push(b->p.arena, &b->value, v)) {
        b->failed = true;
        return 0;
    }
    return b->value.n - 1;
}

DYNC__FN void dync__ib_emit(dync__ib *b, dync__interp_step s)
{
    if (!dync__avec_push(b->p.arena, &b->list[b->section], s)) b->failed = true;
}

DYNC__FN dync__interp_step dync__ib_step(int kind, int level, int type, int dst, int a)
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

static dync__interp_nest dync__ib_nest(dync__ib *b, const dync__lp_dim *dims, int n)
{
    dync__interp_nest nest = {b->dim.n, n};
    for (int d = 0; d < n; d++)
        if (!dync__avec_push(b->p.arena, &b->dim, dims[d])) b->failed = true;
    return nest;
}

/* The access as lanes of a level walk it; equal ones are shared. */
DYNC__FN int dync__ib_stream(dync__ib *b, int access, int level)
{
    for (int i = 0; i < b->stream.n; i++)
        if (b->stream.at[i].access == access && b->stream.at[i].level == level) return i;
    dync__lp_dim dims[2 * DYNC__LOOP_MAX_DIMS];
    dync__interp_stream s;
    int n = b->p.k->n_dims, split = b->p.split, count;
    memset(&s, 0, sizeof s);
    s.access = access;
    s.level = (uint8_t)level;
    s.offset = (dync__size)b->p.k->access.at[access].offset;
    if (level == 1) {
        s.lanes = dync__ib_nest(b, dims, dync__lp_merge(&b->p, access, 0, split, dims));
        s.lanes_from = DYNC__FROM_ROW;
    } else if (level == 2 && b->p.mode == DYNC__LP_CHUNK) {
        s.fixed = dync__ib_nest(b, dims, dync__lp_merge(&b->p, access, 0, split, dims));
        s.fixed_from = DYNC__FROM_ROW;
        s.lanes = dync__ib_nest(b, dims, dync__lp_merge(&b->p, access, split, n, dims));
        s.lanes_from = DYNC__FROM_INNER;
    } else if (level == 2 && DYNC__LP_IS_SQUARE(b->p.mode)) {
        /* two loops: the last of the rows, the inner ones */
        s.fixed = dync__ib_nest(b, dims, dync__lp_merge(&b->p, access, 0, split, dims));
        s.fixed_from = DYNC__FROM_ROW;
        dync__size step = dync__lp_merge(&b->p, access, split, n, dims) ? dims[0].stride : 0;
        dims[0] =
            (dync__lp_dim){b->p.rows, (dync__size)b->p.k->access.at[access].stride[split - 1]};
        dims[1] = (dync__lp_dim){b->p.n_inner, step};
        s.lanes = dync__ib_nest(b, dims, 2);
        s.lanes_from = DYNC__FROM_INNER;
    } else if (level == 2 && b->p.mode == DYNC__LP_BLOCK) {
        s.lanes = dync__ib_nest(b, dims, dync__lp_merge(&b->p, access, 0, n, dims));
        s.lanes_from = DYNC__FROM_ROW_INNER;
    } else if (level == 2 && b->p.inner == 1) {
        s.fixed = dync__ib_nest(b, dims, dync__lp_merge(&b->p, access, split, n, dims));
        s.fixed_from = DYNC__FROM_INNER;
        s.lanes = dync__ib_nest(b, dims, dync__lp_merge(&b->p, access, 0, split, dims));
        s.lanes_from = DYNC__FROM_ROW;
    } else if (level == 2) { /* vertical, all rows: inner loops outside; each side keeps its loops,
                                0 strides too */
        count = dync__lp_merge(&b->p, access, split, n, dims);
        if (count == 0) dims[count++] = (dync__lp_dim){b->p.n_inner, 0};
        int more = dync__lp_merge(&b->p, access, 0, split, dims + count);
        if (more == 0) dims[count + more++] = (dync__lp_dim){b->p.n_rows, 0};
        if (count == 1 && more == 1 && dims[0].stride == dims[1].stride * b->p.n_rows) {
            dims[0] = dims[1];
            more = 0;
        }
        s.lanes = dync__ib_nest(b, dims, count + more);
        s.lanes_from = DYNC__FROM_INNER_ROW;
    }
    if (!dync__avec_push(b->p.arena, &b->stream, s)) b->failed = true;
    return b->stream.n - 1;
}

DYNC__FN int dync__ib_constant(dync__ib *b, const dync__inst *in)
{
    int v = dync__ib_value(b, DYNC__HOME_CONST, in->type, 0);
    dync__scalar x = dync__const_scalar(in);
    uint64_t bits = 0, lanes[DYNC__TILE_LANES];
    int32_t i = (int32_t)x.i;
    uint8_t byte = (uint8_t)x.i;
    int bytes = (int)dync__type_bytes(in->type);
    switch (in->type) {
    case DYNC_F32: memcpy(&bits, &x.f, sizeof x.f); break;
    case DYNC_I32: memcpy(&bits, &i, sizeof i); break;
    case DYNC_BOOL: memcpy(&bits, &byte, sizeof byte); break;
    default: memcpy(&bits, &x, sizeof x); break;
    }
    dync__tile_spread(&bits, bytes, lanes);
    if (b->failed) return v;
    b->value.at[v].at = (size_t)b->constant.n;
    for (int k = 0; k < DYNC__TILE_LANES * bytes / 8; k++)
        if (!dync__avec_push(b->p.arena, &b->constant, lanes[k])) b->failed = true;
    return v;
}

/* The expansion of a scalar or row value to a whole tile, made once per phase. */
static int dync__ib_widen(dync__ib *b, int i, int phase)
{
    if (b->wide[i] >= 0 && b->wide_phase[i] == phase) return b->wide[i];
    const dync__inst *in = dync__lp_inst(&b->p, i);
    int from = b->val[i], dst = dync__ib_value(b, DYNC__HOME_SCRATCH, in->type, 2);
    bool scalar = b->p.level[i] == 0 || b->p.rows == 1;
    dync__ib_emit(
        b, dync__ib_step(scalar ? DYNC__STEP_FILL : DYNC__STEP_EXPAND, 2, in->type, dst, from));
    b->wide[i] = dst;
    b->wide_phase[i] = phase;
    return dst;
}

/* Instruction i as an operand at a level: a vector, or a scalar where it is one for the whole
 * tile. */
DYNC__FN dync__ib_operand dync__ib_fetch(dync__ib *b, int i, int level, int phase)
{
    dync__ib_operand o = {i, 0, false};
    o.value = dync__ib_value_at(b, i, phase);
    if (level == 2 && b->p.level[i] < 2) {
        bool tile_is_row = b->p.level[i] == 1 && b->p.mode == DYNC__LP_VERTICAL && b->p.inner == 1;
        o.scalar = !tile_is_row && (b->p.level[i] == 0 || b->p.rows == 1);
        if (!tile_is_row && !o.scalar) o.value = dync__ib_widen(b, i, phase);
    } else if (level == 1 && b->p.level[i] == 0) {
        o.scalar = b->p.rows > 1; /* one lane: a scalar is a vector */
    }
    return o;
}

/* At row level a scalar is filled into a row vector. */
DYNC__FN void dync__ib_make_vector(dync__ib *b, dync__ib_operand *o, int level, int phase)
{
    if (!o->scalar) return;
    o->scalar = false;
    if (level == 2) {
        o->value = dync__ib_widen(b, o->inst, phase);
        return;
    }
    int type = dync__lp_inst(&b->p, o->inst)->type,
        dst = dync__ib_value(b, DYNC__HOME_SCRATCH, type, 1);
    dync__ib_emit(b, dync__ib_step(DYNC__STEP_FILL, 1, type, dst, o->value));
    o->value = dst;
}

DYNC__FN dync__tile dync__ib_tile(dync__ib *b, int i, int n, dync__ib_operand *o, int level,
                                  int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i);
    int type = dync__lp_inst(&b->p, in->arg[in->prim == DYNC__P_select ? 1 : 0])->type;
    if (n == 1 || in->prim == DYNC__P_select) dync__ib_make_vector(b, &o[0], level, phase);
    switch (in->prim) {
    case DYNC__P_random: return dync__tile_random(in->type, (int)in->imm.i);
    case DYNC__P_cast: return dync__tile_cast(b->isa, type, in->type);
    case DYNC__P_wrap: return dync__tile_wrap(b->isa, (int)in->imm.i);
    default:
        return dync__tile_find(b->isa,
                               b->p.clamp[i] == 1   ? (int)DYNC__TILE_MAXSEL
                               : b->p.clamp[i] == 2 ? (int)DYNC__TILE_MINSEL
                                                    : in->prim,
                               type);
    }
}

/* The value an instruction's result goes to: scratch, a place in its row buffer, or output
 * memory. */
DYNC__FN int dync__ib_result(dync__ib *b, int i, int level, int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i);
    if (b->p.keep[i]) {
        int dst = dync__ib_value(b, DYNC__HOME_FLOATING, in->type, level);
        dync__interp_step s = dync__ib_step(DYNC__STEP_KEEP, level, in->type, dst, -1);
        s.imm = b->p.keep_off[i];
        dync__ib_emit(b, s);
        return dst;
    }
    if (b->direct[i] >= 0 && (level < 2 || dync__lp_phase(&b->p, b->direct[i]) == phase)) {
        const dync__inst *st = dync__lp_inst(&b->p, b->direct[i]);
        int dst = dync__ib_value(b, DYNC__HOME_FLOATING, in->type, level);
        dync__interp_step s = dync__ib_step(DYNC__STEP_DIRECT, level, in->type, dst, -1);
        s.buf = st->buf;
        s.stream = dync__ib_stream(b, st->access, level);
        dync__ib_emit(b, s);
        return dst;
    }
    return dync__ib_value(b, DYNC__HOME_SCRATCH, in->type, level);
}

static bool dync__ib_is_view(const dync__ib *b, const dync__interp_stream *s,
                             dync__interp_nest lanes, int level)
{
    if (level == 0 || (level == 1 && b->p.rows == 1)) return false; /* a scalar */
    if (DYNC__LP_IS_SQUARE(b->p.mode) && level == 2) return false;
    if (lanes.n == 0) return b->p.n_rows * b->p.n_inner == 1;
    return s->lanes.n == 1 && b->dim.at[lanes.at].stride == 1;
}

/* Is load i used after its buffer was written? Then its elements are copied while they are
 * there. */
static bool dync__ib_outlives_store(const dync__ib *b, int i)
{
    int buf = dync__lp_inst(&b->p, i)->buf, last = i;
    int32_t arg[3];
    if (!(b->p.k->buf.at[buf].mode & DYNC__BUF_OUT)) return false;
    for (int u = i + 1; u < b->p.k->inst.n; u++)
        for (int a = b->p.needed[u] ? dync__lp_operands(&b->p, u, arg) - 1 : -1; a >= 0; a--)
            if (arg[a] >= i && dync__lp_reads(&b->p, arg[a], buf)) last = u;
    return dync__lp_stored_between(&b->p, buf, i, last);
}

DYNC__FN int dync__ib_emit_load(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i);
    int dtype = b->p.k->buf.at[in->buf].dtype, level = b->p.level[i];
    dync__tile widen = dync__tile_widen(b->isa, dtype);
    int stream = dync__ib_stream(b, in->access, level);
    if (b->failed) return 0;
    const dync__interp_stream *st = &b->stream.at[stream];
    bool view = !widen.fn && !b->p.keep[i] && dync__ib_is_view(b, st, st->lanes, level) &&
                !dync__ib_outlives_store(b, i);
    int dst = view ? dync__ib_value(b, DYNC__HOME_FLOATING, in->type, level)
                   : dync__ib_result(b, i, level, phase);
    dync__interp_step s =
        dync__ib_step(view ? DYNC__STEP_VIEW : DYNC__STEP_GATHER, level, in->type, dst, -1);
    s.bytes = dync__dtype_info(dtype)->bytes;
    s.buf = in->buf;
    s.stream = stream;
    s.tile = widen;
    dync__ib_emit(b, s);
    return dst;
}

/* One index for a whole line of lanes (a row of an embedding): a load with something added to
 * its address. */
static int dync__ib_emit_line_load(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i);
    int index = dync__ib_value_at(b, in->arg[0], phase), dst = dync__ib_emit_load(b, i, phase);
    dync__interp_steps *list = &b->list[b->section];
    if (b->failed) return dst;
    list->at[list->n - 1].a = index;
    list->at[list->n - 1].imm = b->p.k->buf.at[in->buf].size;
    return dst;
}

/* loadx: a is the index, c the offsets of the access. */
static int dync__ib_indexed(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i);
    bool load = in->prim == DYNC__P_loadx;
    int dtype = b->p.k->buf.at[in->buf].dtype, level = b->p.level[i];
    dync__lp_dim dims[DYNC__LOOP_MAX_DIMS];
    if (load && level == 2 && b->p.mode == DYNC__LP_CHUNK && b->p.level[in->arg[0]] == 1 &&
        !(b->p.k->buf.at[in->buf].mode & DYNC__BUF_OUT) &&
        dync__lp_merge(&b->p, in->access, b->p.split, b->p.k->n_dims, dims) <= 1)
        return dync__ib_emit_line_load(b, i, phase);
    dync__ib_operand value = {0, -1, false},
                     index = dync__ib_fetch(b, in->arg[load ? 0 : 1], level, phase);
    dync__ib_make_vector(b, &index, level, phase);
    if (!load) {
        value = dync__ib_fetch(b, in->arg[0], level, phase);
        dync__ib_make_vector(b, &value, level, phase);
    }
    int stream = dync__ib_stream(b, in->access, level);
    int offsets = dync__ib_value(b, DYNC__HOME_SCRATCH, DYNC_I64, level);
    dync__interp_step s = dync__ib_step(DYNC__STEP_INDEX, level, DYNC_I64, offsets, -1);
    s.stream = stream;
    dync__ib_emit(b, s);
    int dst = load ? dync__ib_result(b, i, level, phase) : -1;
    s = dync__ib_step(load ? DYNC__STEP_LOADX : DYNC__STEP_STOREX, level, in->type, dst,
                      load ? index.value : value.value);
    s.b = load ? -1 : index.value;
    s.c = offsets;
    s.bytes = dync__dtype_info(dtype)->bytes;
    s.buf = in->buf;
    s.imm = b->p.k->buf.at[in->buf].size;
    s.tile = load ? dync__tile_widen(b->isa, dtype) : dync__tile_narrow(b->isa, dtype);
    dync__ib_emit(b, s);
    return dst;
}
static int (*DYNC__BY_NEED dync__ib_by_index)(dync__ib *b, int i,
                                              int phase) = DYNC__AT_FIRST(dync__ib_indexed);
DYNC__FN void dync__ib_gathers(void) { DYNC__PUT(dync__ib_by_index, dync__ib_indexed); }

DYNC__FN int dync__ib_emit_indexed(dync__ib *b, int i, int phase)
{
    if (dync__ib_by_index) return dync__ib_by_index(b, i, phase);
    b->failed = true;
    return 0;
}

DYNC__FN void dync__ib_emit_store(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i);
    int level = b->p.level[i], dtype = b->p.k->buf.at[in->buf].dtype;
    if (b->direct[in->arg[0]] == i) return; /* the value was computed in place */
    dync__ib_operand o = dync__ib_fetch(b, in->arg[0], level, phase);
    if (o.scalar && dtype == in->type &&
        dync__ib_is_dense(b, in->access, level)) { /* filled where it belongs */
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
    s.tile = dync__tile_narrow(b->isa, dtype);
    dync__ib_emit(b, s);
}
