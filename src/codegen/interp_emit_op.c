/* codegen/interp_emit_op.c: steps of reductions, scans and operations, and what is skipped where a
 * selection needs it not. After interp_emit.c. */
#include "../dync.in.h"
#include "interp_build.h"
DYNC__LEAN

static void dync__ib_identity(dync__interp_reduce *r)
{
    bool least = r->kind == DYNC__R_MAX, greatest = r->kind == DYNC__R_MIN,
         one = r->kind == DYNC__R_PROD || r->kind == DYNC__R_ALL;
    double x = least ? -HUGE_VAL : greatest ? HUGE_VAL : one ? 1.0 : 0.0;
    memset(&r->identity, 0, sizeof r->identity);
    if (r->type == DYNC_F32)
        r->identity.f = (float)x;
    else if (r->type == DYNC_F64)
        r->identity.d = x;
    else if (r->type == DYNC_I32) {
        int32_t i = least ? INT32_MIN : greatest ? INT32_MAX : one ? 1 : 0;
        memcpy(&r->identity, &i, sizeof i);
    } else if (r->type == DYNC_I64)
        r->identity.i = least ? INT64_MIN : greatest ? INT64_MAX : one ? 1 : 0;
    else
        memset(&r->identity, one ? 1 : 0, 1);
}

static int dync__ib_emit_reduce(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i);
    dync__ib_operand o = dync__ib_fetch(b, in->arg[0], 2, phase);
    dync__ib_make_vector(b, &o, 2, phase);
    dync__interp_reduce r;
    memset(&r, 0, sizeof r);
    r.kind = (uint8_t)in->imm.i;
    r.type = dync__lp_inst(&b->p, in->arg[0])->type;
    r.bytes = (uint8_t)dync__type_bytes(r.type);
    r.phase = phase;
    r.dst = dync__ib_value(b, DYNC__HOME_SCRATCH, in->type, 1);
    if (r.kind < DYNC__R_ARGMAX)
        r.combine = dync__tile_find(b->isa, dync__reduce_prim(r.kind), r.type);
    dync__ib_identity(&r);
    if (!dync__avec_push(b->p.arena, &b->reduce, r)) b->failed = true;
    dync__interp_step s = dync__ib_step(DYNC__STEP_REDUCE, 2, r.type, -1, o.value);
    s.reduce = b->reduce.n - 1;
    dync__ib_emit(b, s);
    return r.dst;
}

/* The sums before a tile, one a row, begin as zeros in the row code before the phase. */
static int dync__ib_emit_scan(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i),
                     zero = dync__inst_make(DYNC__P_const_,
                                            in->type == DYNC_F32 ? (int)DYNC__REAL : in->type, -1,
                                            -1, -1);
    dync__ib_operand o = dync__ib_fetch(b, in->arg[0], 2, phase);
    dync__ib_make_vector(b, &o, 2, phase);
    int carry = dync__ib_value(b, DYNC__HOME_SCRATCH, zero.type, 1), list = b->section;
    b->section = 1 + 2 * phase;
    dync__ib_emit(b,
                  dync__ib_step(DYNC__STEP_FILL, 1, zero.type, carry, dync__ib_constant(b, &zero)));
    b->section = list;
    dync__interp_step s =
        dync__ib_step(DYNC__STEP_SCAN, 2, in->type, dync__ib_result(b, i, 2, phase), o.value);
    s.b = carry;
    dync__ib_emit(b, s);
    return s.dst;
}

/* Linked by who builds such instructions. */
typedef int (*dync__ib_by)(dync__ib *, int i, int phase);
static dync__ib_by DYNC__BY_NEED dync__ib_by_reduce = DYNC__AT_FIRST(dync__ib_emit_reduce),
                                 dync__ib_by_scan = DYNC__AT_FIRST(dync__ib_emit_scan);
DYNC__FN void dync__ib_reduces(void) { DYNC__PUT(dync__ib_by_reduce, dync__ib_emit_reduce); }
DYNC__FN void dync__ib_scans(void) { DYNC__PUT(dync__ib_by_scan, dync__ib_emit_scan); }

static int dync__ib_emit_rows(dync__ib *b, int i, int phase)
{
    bool scan = dync__lp_inst(&b->p, i)->prim == DYNC__P_scan;
    dync__ib_by by = scan ? dync__ib_by_scan : dync__ib_by_reduce;
    if (by) return by(b, i, phase);
    b->failed = true;
    return 0;
}

static int dync__ib_emit_op(dync__ib *b, int i, int phase)
{
    const dync__inst *in = dync__lp_inst(&b->p, i);
    int level = b->p.level[i];
    int32_t arg[3];
    dync__ib_operand o[3] = {{0, -1, false}, {0, -1, false}, {0, -1, false}};
    int n = dync__lp_operands(&b->p, i, arg);
    for (int a = 0; a < n; a++) o[a] = dync__ib_fetch(b, arg[a], level, phase);
    if (in->prim == DYNC__P_bitcast) return o[0].value; /* the same bits: the same value */
    dync__tile tile = dync__ib_tile(b, i, n, o, level, phase);
    if (!tile.fn) {
        if (!b->failed)
            dync__fail(DYNC_ERR_INTERNAL, "kernel %s: %s of %s has no tile kernel", b->p.k->name,
                       dync__prim_info(in->prim)->name, dync__dtype_info(in->type)->name);
        b->failed = true;
    }
    int dst = dync__ib_result(b, i, level, phase);
    dync__interp_step s =
        dync__ib_step(in->prim == DYNC__P_random ? DYNC__STEP_RANDOM : DYNC__STEP_OP, level,
                      in->type, dst, o[0].value);
    s.b = o[1].value;
    s.c = o[2].value;
    s.imm = in->imm.i;
    s.tile = tile;
    for (int a = 0; a < n; a++) s.scalars |= (uint8_t)(o[a].scalar << a);
    dync__ib_emit(b, s);
    return dst;
}

static int dync__ib_emit_index(dync__ib *b, int i, int phase)
{
    int level = b->p.level[i], dst = dync__ib_result(b, i, level, phase);
    dync__interp_step s = dync__ib_step(DYNC__STEP_INDEX, level, DYNC_I64, dst, -1);
    s.stream = dync__ib_stream(b, dync__lp_inst(&b->p, i)->access, level);
    dync__ib_emit(b, s);
    return dst;
}

/* Emits instruction i in the current section; phase: where its varying operands are wanted. */
static void dync__ib_emit_inst(dync__ib *b, int i, int phase)
{
    int v = 0;
    switch (dync__lp_inst(&b->p, i)->prim) {
    case DYNC__P_const_: v = dync__ib_constant(b, dync__lp_inst(&b->p, i)); break;
    case DYNC__P_index: v = dync__ib_emit_index(b, i, phase); break;
    case DYNC__P_load: v = dync__ib_emit_load(b, i, phase); break;
    case DYNC__P_loadx:
    case DYNC__P_storex: v = dync__ib_emit_indexed(b, i, phase); break;
    case DYNC__P_store: dync__ib_emit_store(b, i, phase); break;
    case DYNC__P_reduce:
    case DYNC__P_scan: v = dync__ib_emit_rows(b, i, phase); break;
    default: v = dync__ib_emit_op(b, i, phase); break;
    }
    b->val[i] = v;
    b->val_phase[i] = phase;
}

/* The value of i for a user in this phase: that of an earlier phase is read back or computed
 * again. */
DYNC__FN int dync__ib_value_at(dync__ib *b, int i, int phase)
{
    if (b->p.level[i] < 2 || b->p.whole || b->val_phase[i] == phase || !b->p.sectioned)
        return b->val[i];
    if (!b->p.keep[i]) {
        dync__ib_emit_inst(b, i, phase);
        return b->val[i];
    }
    b->val[i] = dync__ib_result(b, i, 2, phase);
    b->val_phase[i] = phase;
    return b->val[i];
}

/* ---- what is skipped ------------------------------------------------------------------------- */

typedef struct dync__ib_skip {
    int first, select,
        at;          /* instructions [first, select); the skip's place in its section's list */
    int32_t *before; /* val, val_phase, wide, wide_phase as they were, one after another */
} dync__ib_skip;

static void dync__ib_skip_begin(dync__ib *b, dync__ib_skip *skip, int first)
{
    int n = b->p.k->inst.n, select = b->cold[first], phase = dync__lp_phase(&b->p, select);
    const int32_t *state[] = {b->val, b->val_phase, b->wide, b->wide_phase};
    dync__ib_operand o = dync__ib_fetch(b, dync__lp_inst(&b->p, select)->arg[0], 2, phase);
    if (o.scalar) return; /* one value for all lanes: nothing is skipped */
    skip->before = dync__arena_alloc(b->p.arena, (size_t)n * 4 * sizeof(int32_t));
    if (!skip->before) {
        b->failed = true;
        return;
    }
    skip->first = first;
    skip->select = select;
    skip->at = b->list[b->section].n;
    for (int k = 0; k < 4; k++)
        memcpy(skip->before + (size_t)k * (size_t)n, state[k], (size_t)n * sizeof(int32_t));
    dync__ib_emit(b, dync__ib_step(DYNC__STEP_SKIP, 2, DYNC_BOOL, -1, o.value));
}

/* What else was made on the way (values of earlier phases, expansions of scalars) may not have
 * been: it is made again by who needs it. */
static void dync__ib_skip_end(dync__ib *b, dync__ib_skip *skip)
{
    int n = b->p.k->inst.n;
    int32_t *state[] = {b->val, b->val_phase, b->wide, b->wide_phase};
    if (b->list[b->section].n > skip->at)
        b->list[b->section].at[skip->at].imm = b->list[b->section].n - skip->at - 1;
    for (int i = 0; i < n; i++) {
        bool own = i >= skip->first && i < skip->select;
        for (int k = own ? 2 : 0; k < 4; k++) state[k][i] = skip->before[k * n + i];
    }
    skip->before = NULL;
}

DYNC__FN void dync__ib_emit_all(dync__ib *b)
{
    dync__ib_skip skip = {0, 0, 0, NULL};
    size_t n = (size_t)b->p.k->inst.n * sizeof(int32_t);
    memset(b->direct, 0xff, n); /* -1 */
    memset(b->wide, 0xff, n);
    memset(b->val_phase, 0xff, n);
    for (int l = 0; l < 2 * b->p.n_phases + 2; l++) b->list[l].n = 0;
    b->value.n = b->stream.n = b->dim.n = b->reduce.n = b->constant.n = 0;
    b->scratch = 0;
    b->lane_bytes = 0;
    for (int i = 0; i < b->p.k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(&b->p, i);
        if (b->p.needed[i] && in->prim == DYNC__P_store && b->direct[in->arg[0]] < 0 &&
            dync__ib_may_direct(b, i))
            b->direct[in->arg[0]] = i;
    }
    for (int i = 0; i < b->p.k->inst.n && !b->failed; i++) {
        if (!b->p.needed[i]) continue;
        b->section = dync__lp_list(&b->p, i);
        if (b->cold[i] >= 0 && !skip.before) dync__ib_skip_begin(b, &skip, i);
        if (skip.before && i == skip.select) dync__ib_skip_end(b, &skip);
        dync__ib_emit_inst(b, i, dync__lp_phase(&b->p, i));
    }
}
