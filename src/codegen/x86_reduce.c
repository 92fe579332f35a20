/* codegen/x86_reduce.c: accumulators of reductions. Between x86_reg.c and x86_gen.c.
 *
 * Float sums are taken in the order of the tile interpreter, so that the bits agree, but where it
 * folds tiles of few columns or a row spans several loops that do not merge; products are taken in
 * the same way, which the interpreter does one after another. Rows one at a time: grains of 128
 * elements in 32 lanes, the lanes folded in halves, grains combined as a binary counter carries.
 * Rows side by side: sixteen additions into one level, then it goes into the next, four levels.
 * What does not depend on order has one accumulator for each vector in flight. BOOL is accumulated
 * in lanes of 32 bits. */
#include "../dync.in.h"
#include "x86_gen.h"
#if DYNC__JIT_X86

static int dync__xr_bytes(const dync__xred *r) { return dync__xg_type_wide(r->type) ? 8 : 4; }
static dync__xred *dync__xr_of(dync__xg *g, int inst)
{
    int i = 0;
    while (g->red.at[i].inst != inst) i++;
    return &g->red.at[i];
}

/* acc = acc op x, where k says (AVX-512; 0 everywhere) */
static void dync__xr_op(dync__xg *g, const dync__xred *r, int vl, int acc, dync__xrm x, int k)
{
    dync__xasm *a = &g->a;
    bool wide = dync__xg_type_wide(r->type), is_float = dync__xg_type_float(r->type),
         most = r->kind == DYNC__R_MAX;
    int insn = 0;
    switch (r->kind) {
    case DYNC__R_SUM:
        insn = is_float ? (wide ? DYNC__X_ADDPD : DYNC__X_ADDPS)
               : wide   ? DYNC__X_PADDQ
                        : DYNC__X_PADDD;
        break;
    case DYNC__R_PROD:
        insn = is_float ? (wide ? DYNC__X_MULPD : DYNC__X_MULPS)
               : wide   ? DYNC__X_PMULLQ
                        : DYNC__X_PMULLD;
        break;
    case DYNC__R_ANY: insn = DYNC__X_ORPS; break;
    case DYNC__R_ALL: insn = DYNC__X_ANDPS; break;
    default:
        if (is_float)
            insn = most   ? (wide ? DYNC__X_MAXPD : DYNC__X_MAXPS)
                   : wide ? DYNC__X_MINPD
                          : DYNC__X_MINPS;
        else if (!wide)
            insn = most ? DYNC__X_PMAXSD : DYNC__X_PMINSD;
        else
            insn = most ? DYNC__X_PMAXSQ : DYNC__X_PMINSQ;
    }
    bool extreme = r->kind == DYNC__R_MAX || r->kind == DYNC__R_MIN;
    if (extreme && is_float && g->isa == 2) { /* a NaN stays */
        int kept = dync__xg_temp_k(g);
        dync__x_v(a, wide ? DYNC__X_CMPPD : DYNC__X_CMPPS, vl, kept, acc, dync__x_reg(acc),
                  7 /* ordered */, k);
        dync__x_v(a, insn, vl, acc, acc, x, 0, kept);
    } else if (extreme && is_float) {
        int t = dync__xg_temp(g), m = dync__xg_temp(g);
        dync__x_v(a, insn, vl, t, acc, x, 0, 0);
        dync__x_v(a, wide ? DYNC__X_CMPPD : DYNC__X_CMPPS, vl, m, acc, dync__x_reg(acc),
                  3 /* unordered */, 0);
        dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, acc, t, dync__x_reg(acc),
                  m << 4, 0);
    } else if (extreme && wide && g->isa == 1) {
        int m = dync__xg_temp(g), y = x.reg;
        if (x.is_mem) {
            y = dync__xg_temp(g);
            dync__x_v(a, DYNC__X_MOVUPS, vl, y, 0, x, 0, 0);
        }
        dync__x_v(a, DYNC__X_PCMPGTQ, vl, m, most ? acc : y, dync__x_reg(most ? y : acc), 0, 0);
        dync__x_v(a, DYNC__X_BLENDVPD, vl, acc, y, dync__x_reg(acc), m << 4, 0);
    } else {
        dync__x_v(a, insn, vl, acc, acc, x, 0, k);
    }
}

/* ---- argmax, argmin: I64 keys that order as the values do, and where the greatest stands ----- */

static bool dync__xr_is_arg(const dync__xred *r) { return r->kind >= DYNC__R_ARGMAX; }

DYNC__FN bool dync__xg_has_places(const dync__xg *g, int phase)
{
    for (int i = 0; i < g->red.n; i++)
        if (g->red.at[i].phase == phase && dync__xr_is_arg(&g->red.at[i])) return true;
    return false;
}

/* NaN is the greatest key; -0 and 0 are one; of argmin the order is turned round. */
static int dync__xr_key(dync__xg *g, const dync__xred *r, int value)
{
    dync__xasm *a = &g->a;
    int type = dync__xg_inst(g, value)->type, vl = dync__xg_vl(g, type), x = dync__xg_src(g, value),
        t = dync__xg_temp(g), m;
    bool wide = dync__xg_type_wide(type), least = r->kind == DYNC__R_ARGMIN;
    if (dync__xg_type_float(type)) {
        dync__xrm sign = dync__xg_const(g, type, -0.0, 0),
                  greatest = dync__xg_const(g, wide ? DYNC_I64 : DYNC_I32, 0,
                                            wide ? INT64_MAX : INT32_MAX);
        if (least) dync__x_v(a, DYNC__X_XORPS, vl, t, x, sign, 0, 0);
        dync__x_v(a, wide ? DYNC__X_ADDPD : DYNC__X_ADDPS, vl, t, least ? t : x,
                  dync__xg_const(g, type, 0.0, 0), 0, 0);
        m = dync__xg_temp(g);
        if (!wide) {
            dync__x_v(a, DYNC__X_PSRAD, vl, 0, m, dync__x_reg(t), 31, 0);
            dync__x_v(a, DYNC__X_PSRLD, vl, 0, m, dync__x_reg(m), 1, 0);
        } else {
            if (g->isa == 2) {
                dync__x_v(a, DYNC__X_PSRAVQ, vl, m, t, dync__x_constant(a, 63, 8), 0, 0);
            } else {
                dync__x_v(a, DYNC__X_XORPS, vl, m, m, dync__x_reg(m), 0, 0);
                dync__x_v(a, DYNC__X_PCMPGTQ, vl, m, m, dync__x_reg(t), 0, 0);
            }
            dync__x_v(a, DYNC__X_PSRLQ, vl, 0, m, dync__x_reg(m), 1, 0);
        }
        dync__x_v(a, DYNC__X_XORPS, vl, t, t, dync__x_reg(m), 0, 0);
        if (g->isa == 2) {
            int k = dync__xg_temp_k(g);
            dync__x_v(a, wide ? DYNC__X_CMPPD : DYNC__X_CMPPS, vl, k, x, dync__x_reg(x),
                      3 /* unordered */, 0);
            dync__x_v(a, wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, vl, t, 0, greatest, 0, k);
        } else {
            dync__x_v(a, wide ? DYNC__X_CMPPD : DYNC__X_CMPPS, vl, m, x, dync__x_reg(x), 3, 0);
            dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, t, t, greatest, m << 4, 0);
        }
    } else if (least) {
        dync__x_v(a, DYNC__X_XORPS, vl, t, x, dync__x_constant(a, 0xff, 1), 0, 0);
    } else {
        t = x;
    }
    if (wide) return t;
    m = dync__xg_temp(g);
    dync__x_v(a, DYNC__X_PMOVSXDQ, dync__xg_vl(g, DYNC_I64), m, 0, dync__x_reg(t), 0, 0);
    return m;
}

static int dync__xr_places(dync__xg *g)
{
    dync__xasm *a = &g->a;
    int t = dync__xg_temp(g), vl = dync__xg_vl(g, DYNC_I64);
    int64_t lane[8] = {0};
    if (!g->vertical) {
        for (int l = 0; l < 8; l++) lane[l] = l;
        dync__x_i(a, DYNC__X_LEA, DYNC__RAX, dync__x_mem(DYNC__RCX, g->u * g->V), 0);
        dync__x_i(a, DYNC__X_ADD, DYNC__RAX, dync__xg_at(g->place), 0);
        dync__x_i(a, DYNC__X_MOV_M, DYNC__RAX, dync__xg_at(g->stage), 0);
    }
    dync__x_v(a, DYNC__X_BROADCASTQ, vl, t, 0, dync__xg_at(g->vertical ? g->place : g->stage), 0,
              0);
    if (!g->vertical) dync__x_v(a, DYNC__X_PADDQ, vl, t, t, dync__x_constant64(a, lane), 0, 0);
    return t;
}

static void dync__xr_take_place(dync__xg *g, const dync__xred *r, int value)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, DYNC_I64), u = g->u % r->n_acc, key = dync__xr_key(g, r, value),
        at = dync__xr_places(g);
    int acc = r->in_regs ? r->reg[u] : dync__xg_temp(g);
    dync__xrm home = dync__xg_at(r->acc + 64 * u), where = dync__xg_at(r->where + 64 * u);
    if (!r->in_regs) dync__x_v(a, DYNC__X_MOVUPS, vl, acc, 0, home, 0, 0);
    if (g->isa == 2) {
        int k = dync__xg_temp_k(g);
        dync__x_v(a, DYNC__X_PCMPQ, vl, k, key, dync__x_reg(acc), 6 /* greater */,
                  g->masked ? dync__xg_tail_k(g) : 0);
        dync__x_v(a, DYNC__X_MOVUPD, vl, acc, 0, dync__x_reg(key), 0, k);
        dync__x_v(a, DYNC__X_MOVUPD_M, vl, at, 0, where, 0, k);
    } else {
        int m = dync__xg_temp(g);
        dync__x_v(a, DYNC__X_PCMPGTQ, vl, m, key, dync__x_reg(acc), 0, 0);
        if (g->masked)
            dync__x_v(a, DYNC__X_ANDPS, vl, m, m, dync__xg_at(g->tail_mask64 + 64 * g->u), 0, 0);
        dync__x_v(a, DYNC__X_BLENDVPD, vl, acc, acc, dync__x_reg(key), m << 4, 0);
        dync__x_v(a, DYNC__X_MASKMOVPD_M, vl, at, m, where, 0, 0);
    }
    if (!r->in_regs) dync__x_v(a, DYNC__X_MOVUPS_M, vl, acc, 0, home, 0, 0);
}

/* x and its place become y and its own where y is greater, or equal and before it. k, tie: two
 * masks' worth of scratch. */
static void dync__xr_better(dync__xg *g, int vl, int x, int x_at, int y, int y_at, int k, int tie)
{
    dync__xasm *a = &g->a;
    int m = k;
    if (g->isa == 2) {
        dync__x_v(a, DYNC__X_PCMPQ, vl, k, y, dync__x_reg(x), 6, 0);
        dync__x_v(a, DYNC__X_PCMPQ, vl, tie, y, dync__x_reg(x), 0, 0);
        dync__x_v(a, DYNC__X_PCMPQ, vl, tie, y_at, dync__x_reg(x_at), 1, tie);
        dync__x_k(a, DYNC__X_KORW, k, k, dync__x_reg(tie), 0);
        dync__x_v(a, DYNC__X_MOVUPD, vl, x, 0, dync__x_reg(y), 0, k);
        dync__x_v(a, DYNC__X_MOVUPD, vl, x_at, 0, dync__x_reg(y_at), 0, k);
        return;
    }
    dync__x_v(a, DYNC__X_PCMPEQQ, vl, tie, y, dync__x_reg(x), 0, 0);
    dync__x_v(a, DYNC__X_PCMPGTQ, vl, m, x_at, dync__x_reg(y_at), 0, 0);
    dync__x_v(a, DYNC__X_ANDPS, vl, tie, tie, dync__x_reg(m), 0, 0);
    dync__x_v(a, DYNC__X_PCMPGTQ, vl, m, y, dync__x_reg(x), 0, 0);
    dync__x_v(a, DYNC__X_ORPS, vl, m, m, dync__x_reg(tie), 0, 0);
    dync__x_v(a, DYNC__X_BLENDVPD, vl, x, x, dync__x_reg(y), m << 4, 0);
    dync__x_v(a, DYNC__X_BLENDVPD, vl, x_at, x_at, dync__x_reg(y_at), m << 4, 0);
}

/* The place of the first extreme in lane 0 (rows side by side: of accumulator u, in each lane). */
static int dync__xr_found(dync__xg *g, const dync__xred *r, int u)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, DYNC_I64), x = dync__xg_temp(g), at = dync__xg_temp(g),
        y = dync__xg_temp(g), y_at = dync__xg_temp(g);
    int m = g->isa == 2 ? dync__xg_temp_k(g) : dync__xg_temp(g),
        tie = g->isa == 2 ? dync__xg_temp_k(g) : dync__xg_temp(g);
    for (int k = u; k < (g->vertical ? u + 1 : r->n_acc); k++) {
        int to = k == u ? x : y, to_at = k == u ? at : y_at;
        dync__x_v(a, DYNC__X_MOVUPS, vl, to, 0, dync__xg_at(r->acc + 64 * k), 0, 0);
        dync__x_v(a, DYNC__X_MOVUPS, vl, to_at, 0, dync__xg_at(r->where + 64 * k), 0, 0);
        if (k > u) dync__xr_better(g, vl, x, at, y, y_at, m, tie);
    }
    for (; !g->vertical && vl >= 0; vl--) {
        int insn = vl == 2 ? DYNC__X_EXTRACT256 : DYNC__X_EXTRACT128;
        if (vl > 0) {
            dync__x_v(a, insn, vl, x, 0, dync__x_reg(y), 1, 0);
            dync__x_v(a, insn, vl, at, 0, dync__x_reg(y_at), 1, 0);
        } else {
            dync__x_v(a, DYNC__X_MOVHLPS, 0, y, x, dync__x_reg(x), 0, 0);
            dync__x_v(a, DYNC__X_MOVHLPS, 0, y_at, at, dync__x_reg(at), 0, 0);
        }
        dync__xr_better(g, DYNC__MAX(vl - 1, 0), x, at, y, y_at, m, tie);
    }
    /* the key, for the other parts */
    if (g->split) dync__x_v(a, DYNC__X_MOVQ_M, 0, x, 0, dync__xg_at(g->slot[r->inst] + 64), 0, 0);
    /* never taken: every value is the least integer */
    vl = dync__xg_vl(g, DYNC_I64);
    dync__x_v(a, DYNC__X_MOVUPS, vl, y, 0, dync__x_constant(a, INT64_MAX, 8), 0, 0);
    dync__x_v(a, DYNC__X_XORPS, vl, x, x, dync__x_reg(x), 0, 0);
    if (g->isa == 2) {
        dync__x_v(a, DYNC__X_PCMPQ, vl, m, at, dync__x_reg(y), 0, 0);
        dync__x_v(a, DYNC__X_MOVUPD, vl, at, 0, dync__x_reg(x), 0, m);
    } else {
        dync__x_v(a, DYNC__X_PCMPEQQ, vl, y, at, dync__x_reg(y), 0, 0);
        dync__x_v(a, DYNC__X_BLENDVPD, vl, at, at, dync__x_reg(x), y << 4, 0);
    }
    return at;
}

/* ---- where they are -------------------------------------------------------------------------- */

DYNC__FN void dync__xg_reduce_pin(dync__xg *g, int phase)
{
    for (int i = 0; i < g->red.n; i++) {
        dync__xred *r = &g->red.at[i];
        if (r->phase != phase) continue;
        bool grains = r->ordered && !g->vertical;
        r->n_acc = (uint8_t)(grains ? DYNC__XG_LANES / g->V : g->U);
        r->in_regs = __builtin_popcount(g->pinned) + r->n_acc <= g->n_regs / 2 &&
                     !(grains && g->U * g->V % DYNC__XG_LANES);
        r->acc = dync__xg_frame(g, r->n_acc * 64);
        if (dync__xr_is_arg(r)) r->where = dync__xg_frame(g, r->n_acc * 64);
        if (g->tall)
            r->level = 3 * 64 * g->U * i;
        else if (r->ordered)
            r->level = dync__xg_frame(g, g->vertical ? 3 * g->U * 64 : 64 * 8 + 64);
        for (int k = 0; r->in_regs && k < r->n_acc; k++) r->reg[k] = (int8_t)dync__xg_pin(g);
        int kind = r->kind, type = r->type == DYNC_BOOL ? DYNC_I32 : r->type;
        double x = kind == DYNC__R_MAX    ? -HUGE_VAL
                   : kind == DYNC__R_MIN  ? HUGE_VAL
                   : kind == DYNC__R_PROD ? 1
                                          : 0;
        int64_t n = kind == DYNC__R_MAX || dync__xr_is_arg(r)
                        ? (type == DYNC_I64 ? INT64_MIN : INT32_MIN)
                    : kind == DYNC__R_MIN ? (type == DYNC_I64 ? INT64_MAX : INT32_MAX)
                    : kind == DYNC__R_ALL ? -1
                                          : kind == DYNC__R_PROD;
        r->identity = dync__xg_const(g, type, x, n);
    }
}

/* Accumulators in the frame lie side by side, one vector after another. */
static int dync__xr_size(const dync__xg *g, const dync__xred *r)
{
    return dync__xr_is_arg(r) ? 64 : g->V * dync__xr_bytes(r);
}

static void dync__xr_set(dync__xg *g, const dync__xred *r, int vl)
{
    int t = r->in_regs ? 0 : dync__xg_temp(g);
    if (!r->in_regs) dync__x_v(&g->a, DYNC__X_MOVUPS, vl, t, 0, r->identity, 0, 0);
    for (int k = 0; k < r->n_acc; k++) {
        if (r->in_regs)
            dync__x_v(&g->a, DYNC__X_MOVUPS, vl, r->reg[k], 0, r->identity, 0, 0);
        else
            dync__x_v(&g->a, DYNC__X_MOVUPS_M, vl, t, 0,
                      dync__xg_at(r->acc + k * dync__xr_size(g, r)), 0, 0);
    }
}

DYNC__FN void dync__xg_reduce_init(dync__xg *g, int phase, bool ordered, bool levels)
{
    for (int i = 0; i < g->red.n; i++) {
        dync__xred *r = &g->red.at[i];
        int vl = dync__xg_vl(g, r->type);
        if (r->phase != phase || r->ordered != ordered) continue;
        dync__xr_set(g, r, vl);
        if (dync__xr_is_arg(r)) {
            int t = dync__xg_temp(g);
            dync__x_v(&g->a, DYNC__X_MOVUPS, vl, t, 0, dync__x_constant(&g->a, INT64_MAX, 8), 0, 0);
            for (int k = 0; k < r->n_acc; k++)
                dync__x_v(&g->a, DYNC__X_MOVUPS_M, vl, t, 0, dync__xg_at(r->where + 64 * k), 0, 0);
        }
        if (levels && r->ordered) {
            int t = dync__xg_temp(g);
            dync__x_v(&g->a, DYNC__X_MOVUPS, vl, t, 0, r->identity, 0, 0);
            for (int k = 0; k < 3 * g->U; k++)
                dync__x_v(&g->a, DYNC__X_MOVUPS_M, vl, t, 0, dync__xg_at(r->level + 64 * k), 0, 0);
        }
        dync__xg_drop_temps(g);
    }
}

/* ---- taking a vector ------------------------------------------------------------------------- */

static void dync__xr_take_mask(dync__xg *g, const dync__xred *r, int acc, int value)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, DYNC_BOOL), k = dync__xg_src_k(g, value);
    bool any = r->kind == DYNC__R_ANY;
    if (!any || g->masked) {
        int t = dync__xg_temp_k(g);
        if (any)
            dync__x_k(a, DYNC__X_KANDW, t, k, dync__x_reg(dync__xg_tail_k(g)), 0);
        else
            dync__x_k(a, DYNC__X_KNOTW, t, 0, dync__x_reg(k), 0);
        if (!any && g->masked)
            dync__x_k(a, DYNC__X_KANDW, t, t, dync__x_reg(dync__xg_tail_k(g)), 0);
        k = t;
    }
    if (any)
        dync__x_v(a, DYNC__X_MOVUPS, vl, acc, 0, dync__x_constant(a, 0xff, 1), 0, k);
    else
        dync__x_v(a, DYNC__X_XORPS, vl, acc, acc, dync__x_reg(acc), 0, k);
}

DYNC__FN void dync__xg_reduce(dync__xg *g, int i)
{
    dync__xasm *a = &g->a;
    const dync__xred *r = dync__xr_of(g, i);
    int value = dync__xg_inst(g, i)->arg[0], vl = dync__xg_vl(g, r->type);
    bool indexed = r->ordered && !g->vertical && !r->in_regs, blend = g->masked && g->isa == 1;
    if (dync__xr_is_arg(r)) {
        dync__xr_take_place(g, r, value);
        return;
    }
    int x = dync__xg_in_k(g, r->type) ? 0 : dync__xg_src(g, value);
    int acc = r->in_regs ? r->reg[g->u % r->n_acc] : dync__xg_temp(g), size = dync__xr_size(g, r);
    dync__xrm at = dync__xg_at(r->acc + g->u % r->n_acc * size);
    if (indexed) { /* element j of a row belongs to lane j modulo 32 */
        dync__x_i(a, DYNC__X_LEA, DYNC__RAX, dync__x_mem(DYNC__RCX, g->u * g->V), 0);
        dync__x_i(a, DYNC__X_ANDI, 0, dync__x_reg(DYNC__RAX), DYNC__XG_LANES - 1);
        at = dync__x_index(DYNC__RSP, DYNC__RAX, dync__xr_bytes(r), r->acc);
    }
    if (!r->in_regs) dync__x_v(a, DYNC__X_MOVUPS, vl, acc, 0, at, 0, 0);
    if (dync__xg_in_k(g, r->type)) {
        dync__xr_take_mask(g, r, acc, value);
    } else {
        if (blend) {
            int m = dync__xg_tail_v(g, dync__xg_type_wide(r->type)), t = dync__xg_temp(g);
            dync__x_v(a, DYNC__X_MOVUPS, vl, t, 0, r->identity, 0, 0);
            dync__x_v(a, dync__xg_type_wide(r->type) ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, t,
                      t, dync__x_reg(x), m << 4, 0);
            x = t;
        }
        dync__xr_op(g, r, vl, acc, dync__x_reg(x), g->masked && !blend ? dync__xg_tail_k(g) : 0);
    }
    if (!r->in_regs) dync__x_v(a, DYNC__X_MOVUPS_M, vl, acc, 0, at, 0, 0);
}

/* ---- rows one at a time ---------------------------------------------------------------------- */

/* All accumulators into lane 0 of one, halves onto each other. */
static int dync__xr_fold(dync__xg *g, const dync__xred *r)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, r->type), size = dync__xr_size(g, r), acc;
    for (int m = r->n_acc / 2; m >= 1; m /= 2)
        for (int k = 0; k < m; k++) {
            if (r->in_regs) {
                dync__xr_op(g, r, vl, r->reg[k], dync__x_reg(r->reg[k + m]), 0);
            } else {
                int t = dync__xg_temp(g);
                dync__x_v(a, DYNC__X_MOVUPS, vl, t, 0, dync__xg_at(r->acc + k * size), 0, 0);
                dync__xr_op(g, r, vl, t, dync__xg_at(r->acc + (k + m) * size), 0);
                dync__x_v(a, DYNC__X_MOVUPS_M, vl, t, 0, dync__xg_at(r->acc + k * size), 0, 0);
            }
            dync__xg_drop_temps(g);
        }
    acc = r->in_regs ? r->reg[0] : dync__xg_temp(g);
    if (!r->in_regs) dync__x_v(a, DYNC__X_MOVUPS, vl, acc, 0, dync__xg_at(r->acc), 0, 0);
    int t = dync__xg_temp(g);
    for (; vl > 0; vl--) {
        dync__x_v(a, vl == 2 ? DYNC__X_EXTRACT256 : DYNC__X_EXTRACT128, vl, acc, 0, dync__x_reg(t),
                  1, 0);
        dync__xr_op(g, r, vl - 1, acc, dync__x_reg(t), 0);
    }
    dync__x_v(a, DYNC__X_MOVHLPS, 0, t, acc, dync__x_reg(acc), 0, 0);
    dync__xr_op(g, r, 0, acc, dync__x_reg(t), 0);
    if (dync__xg_type_wide(r->type)) return acc;
    dync__x_v(a, DYNC__X_PSHUFD, 0, t, 0, dync__x_reg(acc), 1, 0);
    dync__xr_op(g, r, 0, acc, dync__x_reg(t), 0);
    return acc;
}

DYNC__FN void dync__xg_grain_end(dync__xg *g, int phase, int32_t count)
{
    dync__xasm *a = &g->a;
    for (int i = 0; i < g->red.n; i++) {
        const dync__xred *r = &g->red.at[i];
        if (r->phase != phase || !r->ordered) continue;
        bool wide = dync__xg_type_wide(r->type);
        int x = dync__xr_fold(g, r), t = dync__xg_temp(g), next = dync__x_label(a),
            done = dync__x_label(a);
        dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__xg_at(count), 0);
        dync__x_i(a, DYNC__X_LEA, DYNC__RSI, dync__xg_at(r->level), 0);
        dync__x_bind(a, next);
        dync__x_i(a, DYNC__X_TESTI, 0, dync__x_reg(DYNC__RAX), 1);
        dync__x_jump(a, DYNC__CC_E, done);
        dync__x_v(a, wide ? DYNC__X_MOVQ : DYNC__X_MOVD, 0, t, 0, dync__x_mem(DYNC__RSI, 0), 0, 0);
        dync__xr_op(g, r, 0, x, dync__x_reg(t), 0);
        dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RSI), 8);
        dync__x_i(a, DYNC__X_SHRI, 0, dync__x_reg(DYNC__RAX), 1);
        dync__x_jump(a, DYNC__CC_JMP, next);
        dync__x_bind(a, done);
        dync__x_v(a, wide ? DYNC__X_MOVQ_M : DYNC__X_MOVD_M, 0, x, 0, dync__x_mem(DYNC__RSI, 0), 0,
                  0);
        dync__xg_drop_temps(g);
    }
    dync__x_i(a, DYNC__X_ADDI, 0, dync__xg_at(count), 1);
}

/* The digits of the counter, from the last. */
static int dync__xr_popped(dync__xg *g, const dync__xred *r, int32_t count)
{
    dync__xasm *a = &g->a;
    bool wide = dync__xg_type_wide(r->type);
    int x = dync__xg_temp(g), t = dync__xg_temp(g), next = dync__x_label(a),
        skip = dync__x_label(a), done = dync__x_label(a);
    dync__x_v(a, DYNC__X_MOVUPS, 0, x, 0, r->identity, 0, 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__xg_at(count), 0);
    dync__x_i(a, DYNC__X_LEA, DYNC__RSI, dync__xg_at(r->level), 0);
    dync__x_bind(a, next);
    dync__x_i(a, DYNC__X_CMPI, 0, dync__x_reg(DYNC__RAX), 0);
    dync__x_jump(a, DYNC__CC_E, done);
    dync__x_i(a, DYNC__X_TESTI, 0, dync__x_reg(DYNC__RAX), 1);
    dync__x_jump(a, DYNC__CC_E, skip);
    dync__x_v(a, wide ? DYNC__X_MOVQ : DYNC__X_MOVD, 0, t, 0, dync__x_mem(DYNC__RSI, 0), 0, 0);
    dync__xr_op(g, r, 0, x, dync__x_reg(t), 0);
    dync__x_bind(a, skip);
    dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RSI), 8);
    dync__x_i(a, DYNC__X_SHRI, 0, dync__x_reg(DYNC__RAX), 1);
    dync__x_jump(a, DYNC__CC_JMP, next);
    dync__x_bind(a, done);
    return x;
}

static void dync__xr_to_slot(dync__xg *g, const dync__xred *r, int x, int32_t slot)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, r->type);
    if (dync__xg_in_k(g, r->type)) {
        int k = dync__xg_temp_k(g);
        dync__x_v(a, DYNC__X_PMOVD2M, vl, k, 0, dync__x_reg(x), 0, 0);
        dync__x_k(a, DYNC__X_KMOVW_M, k, 0, dync__xg_at(slot), 0);
    } else {
        dync__x_v(a, DYNC__X_MOVUPS_M, vl, x, 0, dync__xg_at(slot), 0, 0);
    }
}

/* ---- rows side by side ----------------------------------------------------------------------- */

/* Of vector u, in the frame or (tall) where rsi leads. */
static dync__xrm dync__xr_level(const dync__xg *g, const dync__xred *r, int l, int u)
{
    return dync__x_mem(g->tall ? DYNC__RSI : DYNC__RSP, r->level + 64 * (l * g->U + u));
}

/* Level l into the one above it; level 0 is the accumulators. */
static void dync__xr_up(dync__xg *g, const dync__xred *r, int l, bool clear)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, r->type), size = dync__xr_size(g, r);
    if (g->tall) dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__xg_at(g->state), 0);
    for (int u = 0; u < g->U; u++) {
        dync__xrm below = l > 0        ? dync__xr_level(g, r, l - 1, u)
                          : r->in_regs ? dync__x_reg(r->reg[u])
                                       : dync__xg_at(r->acc + u * size);
        dync__xrm above = dync__xr_level(g, r, l, u);
        int t = dync__xg_temp(g);
        dync__x_v(a, DYNC__X_MOVUPS, vl, t, 0, above, 0, 0);
        dync__xr_op(g, r, vl, t, below, 0);
        dync__x_v(a, DYNC__X_MOVUPS_M, vl, t, 0, above, 0, 0);
        if (clear && l > 0) {
            dync__x_v(a, DYNC__X_MOVUPS, vl, t, 0, r->identity, 0, 0);
            dync__x_v(a, DYNC__X_MOVUPS_M, vl, t, 0, below, 0, 0);
        }
        dync__xg_drop_temps(g);
    }
    if (clear && l == 0) dync__xr_set(g, r, vl);
    dync__xg_drop_temps(g);
}

DYNC__FN void dync__xg_vertical_carry(dync__xg *g, int phase, int32_t count)
{
    dync__xasm *a = &g->a;
    int done = dync__x_label(a), span = 16;
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX,
              g->tall ? dync__xg_arg(8 * DYNC__XA_OUT) : dync__xg_at(count), 0);
    dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RAX), g->tall ? span : 1);
    if (!g->tall) dync__x_i(a, DYNC__X_MOV_M, DYNC__RAX, dync__xg_at(count), 0);
    for (int l = 0; l < 3; l++, span *= 16) {
        dync__x_i(a, DYNC__X_TESTI, 0, dync__x_reg(DYNC__RAX), span - 1);
        dync__x_jump(a, DYNC__CC_NE, done);
        for (int i = 0; i < g->red.n; i++)
            if (g->red.at[i].phase == phase && g->red.at[i].ordered)
                dync__xr_up(g, &g->red.at[i], l, true);
    }
    dync__x_bind(a, done);
}

DYNC__FN void dync__xg_reduce_end(dync__xg *g, int phase, int32_t count)
{
    dync__xasm *a = &g->a;
    for (int i = 0; i < g->red.n; i++) {
        const dync__xred *r = &g->red.at[i];
        int vl = dync__xg_vl(g, r->type), slot = g->slot[r->inst];
        if (r->phase != phase || slot < 0) continue;
        for (int k = 0; dync__xr_is_arg(r) && r->in_regs && k < r->n_acc; k++)
            dync__x_v(a, DYNC__X_MOVUPS_M, vl, r->reg[k], 0, dync__xg_at(r->acc + 64 * k), 0, 0);
        if (!g->vertical) {
            int x = dync__xr_is_arg(r)        ? dync__xr_found(g, r, 0)
                    : r->ordered && !g->brief ? dync__xr_popped(g, r, count)
                                              : dync__xr_fold(g, r);
            dync__x_v(a, dync__xg_type_wide(r->type) ? DYNC__X_BROADCASTQ : DYNC__X_BROADCASTD, vl,
                      x, 0, dync__x_reg(x), 0, 0);
            dync__xr_to_slot(g, r, x, slot);
            dync__xg_drop_temps(g);
            continue;
        }
        for (int l = g->tall; r->ordered && !g->brief && l < 3; l++) dync__xr_up(g, r, l, false);
        for (int u = 0; dync__xr_is_arg(r) && u < g->U; u++) {
            dync__xr_to_slot(g, r, dync__xr_found(g, r, u), slot + 64 * u);
            dync__xg_drop_temps(g);
        }
        for (int u = 0; !dync__xr_is_arg(r) && u < g->U; u++) {
            bool levels = r->ordered && !g->brief;
            int x = r->in_regs && !levels ? r->reg[u] : dync__xg_temp(g);
            if (levels)
                dync__x_v(a, DYNC__X_MOVUPS, vl, x, 0, dync__xr_level(g, r, 2, u), 0, 0);
            else if (!r->in_regs)
                dync__x_v(a, DYNC__X_MOVUPS, vl, x, 0,
                          dync__xg_at(r->acc + u * dync__xr_size(g, r)), 0, 0);
            dync__xr_to_slot(g, r, x, slot + 64 * u);
            dync__xg_drop_temps(g);
        }
    }
}

/* ---- running sums ---------------------------------------------------------------------------- */

DYNC__FN void dync__xg_scan_begin(dync__xg *g)
{
    dync__xasm *a = &g->a;
    for (int p = 0, vl = g->isa; p < g->list[g->cur].n; p++) {
        int i = g->list[g->cur].at[p],
            n = g->vertical ? g->U << (dync__xg_inst(g, i)->type == DYNC_F32) : 1;
        if (dync__xg_inst(g, i)->prim != DYNC__P_scan ||
            (g->b->keep[i] && dync__lp_list(g->b, i) != g->cur))
            continue;
        bool in_regs = __builtin_popcount(g->pinned) + n <= g->n_regs / 2 - 2;
        g->scan[i] = (dync__xscan){-1, dync__xg_frame(g, 64 * DYNC__MAX(n, 4))};
        for (int k = 0; k < n; k++) {
            int r = in_regs ? dync__xg_pin(g) : dync__xg_temp(g);
            dync__x_v(a, DYNC__X_XORPS, vl, r, r, dync__x_reg(r), 0, 0);
            if (!in_regs)
                dync__x_v(a, DYNC__X_MOVUPS_M, vl, r, 0, dync__xg_at(g->scan[i].at + 64 * k), 0, 0);
            else if (k == 0)
                g->scan[i].reg = (int8_t)r; /* the next ones lie below it */
            dync__xg_drop_temps(g);
        }
        g->free_regs &= ~g->pinned;
    }
}

/* x with its lanes moved up by `by`, below them those of `low`, the vector before, or zero (-1);
 * AVX2: by 1 or 2. */
static void dync__xr_scan_shift(dync__xg *g, int to, int x, int low, int by)
{
    dync__xasm *a = &g->a;
    if (g->isa == 2) {
        dync__x_v(a, DYNC__X_XORPS, 2, to, to, dync__x_reg(to), 0, 0);
        dync__x_v(a, DYNC__X_ALIGNQ, 2, to, x, dync__x_reg(to), 8 - by, 0);
        return;
    }
    dync__x_v(a, DYNC__X_PERM128, 1, to, low < 0 ? x : low, dync__x_reg(x), low < 0 ? 0x08 : 0x21,
              0);
    if (by == 1) dync__x_v(a, DYNC__X_SHUFPD, 1, to, to, dync__x_reg(x), 5, 0);
}

/* sum = sums of x within a group of eight lanes (interp_tile.c); AVX2 takes halves, the second (low
 * >= 0: a free register) after what the first left in the frame. */
static void dync__xr_scan_group(dync__xg *g, int32_t at, int x, int add, int sum, int t, int low,
                                bool whole)
{
    dync__xasm *a = &g->a;
    for (int by = 1; by <= 4 && (by < 4 || whole); by *= 2, at += 64) {
        int from = by == 1 ? x : sum;
        if (!whole) dync__x_v(a, DYNC__X_MOVUPS_M, 1, from, 0, dync__xg_at(at + 64), 0, 0);
        if (low >= 0)
            dync__x_v(a, DYNC__X_MOVUPS, 1, by == 4 ? t : low, 0, dync__xg_at(at + 64), 0, 0);
        if (by < 4 || g->isa == 2) dync__xr_scan_shift(g, t, from, low, by);
        dync__x_v(a, add, g->isa, sum, from, dync__x_reg(t), 0, 0);
    }
    if (!whole) dync__x_v(a, DYNC__X_MOVUPS_M, 1, sum, 0, dync__xg_at(at + 64), 0, 0);
}

/* One part: x becomes the sums, in `to`. k: which carry; q: which half of a group, under AVX2. */
static void dync__xr_scan_part(dync__xg *g, int i, int x, int to, int k, int q, const int *t)
{
    dync__xasm *a = &g->a;
    int vl = g->isa, reg = g->scan[i].reg, carry = reg >= 0 ? reg - k : t[3],
        add = dync__xg_inst(g, i)->type == DYNC_I64 ? DYNC__X_PADDQ : DYNC__X_ADDPD;
    int32_t at = g->scan[i].at;
    bool whole = g->isa == 2 || q;
    if (reg < 0) dync__x_v(a, DYNC__X_MOVUPS, vl, carry, 0, dync__xg_at(at + 64 * k), 0, 0);
    if (g->vertical) {
        dync__x_v(a, add, vl, carry, carry, dync__x_reg(x), 0, 0);
        dync__x_v(a, DYNC__X_MOVAPS, vl, to, 0, dync__x_reg(carry), 0, 0);
    } else {
        dync__xr_scan_group(g, at, x, add, t[0], t[1], g->isa == 1 && q ? t[2] : -1, whole);
        dync__x_v(a, add, vl, to, carry, dync__x_reg(t[0]), 0, 0);
        if (!whole) return;
        /* all lanes of the carry get the last lane's sum */
        dync__x_v(a, DYNC__X_MOVUPS_M, vl, t[0], 0, dync__xg_at(at + 64), 0, 0);
        dync__x_v(a, DYNC__X_BROADCASTQ, vl, t[0], 0, dync__xg_at(at + 64 + 8 * (4 * g->isa - 1)),
                  0, 0);
        dync__x_v(a, add, vl, carry, carry, dync__x_reg(t[0]), 0, 0);
    }
    if (reg < 0) dync__x_v(a, DYNC__X_MOVUPS_M, vl, carry, 0, dync__xg_at(at + 64 * k), 0, 0);
}

/* A vector of F32 is two parts of F64, or one where the phase computes in F64 too: then the lanes
 * above hold nothing. */
DYNC__FN void dync__xg_scan(dync__xg *g, int i)
{
    dync__xasm *a = &g->a;
    int vl = g->isa, x = dync__xg_src(g, dync__xg_inst(g, i)->arg[0]), r = dync__xg_def(g, i),
        t[4] = {0};
    for (int n = 0; n < 4; n++)
        if (n == 3 ? g->scan[i].reg < 0 : !g->vertical && (n < 2 || g->isa == 1))
            t[n] = dync__xg_temp(g);
    if (dync__xg_inst(g, i)->type != DYNC_F32) {
        dync__xr_scan_part(g, i, x, r, g->vertical ? g->u : 0, g->u % 2, t);
        return;
    }
    int part = dync__xg_temp(g);
    if (g->V <= 4 * g->isa) {
        dync__x_v(a, DYNC__X_CVTPS2PD, vl, part, 0, dync__x_reg(x), 0, 0);
        dync__xr_scan_part(g, i, part, part, g->vertical ? g->u : 0, g->u % 2, t);
        dync__x_v(a, DYNC__X_CVTPD2PS, vl, r, 0, dync__x_reg(part), 0, 0);
        return;
    }
    for (int h = 0; h < 2; h++) {
        if (h)
            dync__x_v(a, g->isa == 2 ? DYNC__X_EXTRACT256 : DYNC__X_EXTRACT128, vl, x, 0,
                      dync__x_reg(part), 1, 0);
        dync__x_v(a, DYNC__X_CVTPS2PD, vl, part, 0, dync__x_reg(h ? part : x), 0, 0);
        dync__xr_scan_part(g, i, part, part, g->vertical ? 2 * g->u + h : 0, h, t);
        dync__x_v(a, DYNC__X_CVTPD2PS, vl, h ? part : r, 0, dync__x_reg(part), 0, 0);
    }
    dync__x_v(a, g->isa == 2 ? DYNC__X_INSERT256 : DYNC__X_INSERT128, vl, r, r, dync__x_reg(part),
              1, 0);
}
#endif
