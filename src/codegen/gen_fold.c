/* codegen/gen_fold.c: how accumulators take vectors: rows one at a time, rows side by side, running
 * sums. After gen_reduce.c, which says where accumulators are; before gen_loops.c. */
#include "../dync.in.h"
#include "gen_reduce.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- rows one at a time ---------------------------------------------------------------------- */

/* All accumulators into lane 0 of one, halves onto each other. */
static int dync__acc_fold(dync__gen *g, const dync__gen_red *r)
{
    dync__asm *a = &g->a;
    int size = dync__acc_size(g, r), acc, lanes = g->V, least = 16 / dync__acc_bytes(r);
    dync__vt v = dync__gen_vt(g, dync__acc_type(r)), one = dync__vt_of(dync__acc_type(r), least);
    for (int m = r->n_acc / 2; m >= 1; m /= 2)
        for (int k = 0; k < m; k++) {
            if (r->in_regs) {
                dync__acc_op(g, r, g->V, r->reg[k], dync__a_reg(r->reg[k + m]));
            } else {
                int t = dync__gen_temp(g);
                DYNC__A(a, LOAD, .v = v, .to = t, .y = dync__gen_at(r->acc + k * size));
                dync__acc_op(g, r, g->V, t, dync__gen_at(r->acc + (k + m) * size));
                DYNC__A(a, STORE, .v = v, .x = t, .y = dync__gen_at(r->acc + k * size));
            }
            dync__gen_drop_temps(g);
        }
    acc = r->in_regs ? r->reg[0] : dync__gen_temp(g);
    if (!r->in_regs) DYNC__A(a, LOAD, .v = v, .to = acc, .y = dync__gen_at(r->acc));
    int t = dync__gen_temp(g);
    for (; lanes > least; lanes /= 2) {
        DYNC__A(a, HALF, .v = dync__vt_of(v.type, lanes), .to = t, .x = acc);
        dync__acc_op(g, r, lanes / 2, acc, dync__a_reg(t));
    }
    if (lanes == least) {
        DYNC__A(a, DOWN, .v = one, .to = t, .x = acc, .n = least / 2);
        dync__acc_op(g, r, least, acc, dync__a_reg(t));
    }
    if (dync__gen_type_wide(r->type)) return acc;
    DYNC__A(a, DOWN, .v = one, .to = t, .x = acc, .n = 1);
    dync__acc_op(g, r, least, acc, dync__a_reg(t));
    return acc;
}

DYNC__FN void dync__gen_grain_end(dync__gen *g, int phase, int32_t count)
{
    dync__asm *a = &g->a;
    for (int i = 0; i < g->red.n; i++) {
        const dync__gen_red *r = &g->red.at[i];
        if (r->phase != phase || !r->ordered) continue;
        dync__vt one = dync__vt_of(dync__acc_type(r), 16 / dync__acc_bytes(r));
        int x = dync__acc_fold(g, r), t = dync__gen_temp(g), next = dync__a_label(a),
            done = dync__a_label(a);
        DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__gen_at(count));
        DYNC__A(a, ADDRESS, .to = DYNC__G_T1, .y = dync__gen_at(r->level));
        DYNC__A(a, LABEL, .label = next);
        DYNC__A(a, TEST_JUMP, .op = DYNC__IF_EQ, .x = DYNC__G_T0, .n = 1, .label = done);
        DYNC__A(a, FIRST, .v = one, .to = t, .y = dync__a_mem(DYNC__G_T1, 0));
        dync__acc_op(g, r, one.lanes, x, dync__a_reg(t));
        DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T1), .n = 8);
        DYNC__A(a, SHR_N, .y = dync__a_reg(DYNC__G_T0), .n = 1);
        DYNC__A(a, JUMP, .label = next);
        DYNC__A(a, LABEL, .label = done);
        DYNC__A(a, FIRST_TO, .v = one, .x = x, .y = dync__a_mem(DYNC__G_T1, 0));
        dync__gen_drop_temps(g);
    }
    DYNC__A(a, ADD_N, .y = dync__gen_at(count), .n = 1);
}

/* The digits of the counter, from the last. */
static int dync__acc_popped(dync__gen *g, const dync__gen_red *r, int32_t count)
{
    dync__asm *a = &g->a;
    dync__vt one = dync__vt_of(dync__acc_type(r), 16 / dync__acc_bytes(r));
    int x = dync__gen_temp(g), t = dync__gen_temp(g), next = dync__a_label(a),
        skip = dync__a_label(a), done = dync__a_label(a);
    DYNC__A(a, LOAD, .v = one, .to = x, .y = r->identity);
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__gen_at(count));
    DYNC__A(a, ADDRESS, .to = DYNC__G_T1, .y = dync__gen_at(r->level));
    DYNC__A(a, LABEL, .label = next);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_EQ, .y = dync__a_reg(DYNC__G_T0), .n = 0, .label = done);
    DYNC__A(a, TEST_JUMP, .op = DYNC__IF_EQ, .x = DYNC__G_T0, .n = 1, .label = skip);
    DYNC__A(a, FIRST, .v = one, .to = t, .y = dync__a_mem(DYNC__G_T1, 0));
    dync__acc_op(g, r, one.lanes, x, dync__a_reg(t));
    DYNC__A(a, LABEL, .label = skip);
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T1), .n = 8);
    DYNC__A(a, SHR_N, .y = dync__a_reg(DYNC__G_T0), .n = 1);
    DYNC__A(a, JUMP, .label = next);
    DYNC__A(a, LABEL, .label = done);
    return x;
}

static void dync__acc_to_slot(dync__gen *g, const dync__gen_red *r, int x, int u)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, dync__acc_type(r));
    dync__place slot = dync__gen_slot(g, r->inst, u);
    if (dync__gen_in_k(g, r->type)) {
        int k = dync__gen_temp_k(g);
        DYNC__A(a, MASK_OF, .v = v, .to = k, .x = x);
        DYNC__A(a, STORE, .v = dync__gen_vt(g, DYNC_BOOL), .x = k, .y = slot);
    } else {
        DYNC__A(a, STORE, .v = v, .x = x, .y = slot);
    }
}

/* ---- rows side by side ----------------------------------------------------------------------- */

/* Level l into the one above it; level 0 is the accumulators. */
static void dync__acc_up(dync__gen *g, const dync__gen_red *r, int l, bool clear)
{
    dync__asm *a = &g->a;
    int size = dync__acc_size(g, r);
    dync__vt v = dync__gen_vt(g, dync__acc_type(r));
    if (g->tall) DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__gen_at(g->state));
    for (int u = 0; u < g->U; u++) {
        dync__place below = l > 0        ? dync__acc_level(g, r, l - 1, u)
                            : r->in_regs ? dync__a_reg(r->reg[u])
                                         : dync__gen_at(r->acc + u * size);
        dync__place above = dync__acc_level(g, r, l, u);
        int t = dync__gen_temp(g);
        if (l == 0 && !r->in_regs && !r->ordered) { /* not every operation reads memory */
            int x = dync__gen_temp(g);
            DYNC__A(a, LOAD, .v = v, .to = x, .y = below);
            below = dync__a_reg(x);
        }
        DYNC__A(a, LOAD, .v = v, .to = t, .y = above);
        dync__acc_op(g, r, g->V, t, below);
        DYNC__A(a, STORE, .v = v, .x = t, .y = above);
        if (clear && l > 0) {
            DYNC__A(a, LOAD, .v = v, .to = t, .y = r->identity);
            DYNC__A(a, STORE, .v = v, .x = t, .y = below);
        }
        dync__gen_drop_temps(g);
    }
    if (clear && l == 0) dync__acc_set(g, r, v);
    dync__gen_drop_temps(g);
}

/* Tall: what these rows gave into the state, whose levels are key and place. */
static void dync__acc_place_up(dync__gen *g, const dync__gen_red *r)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__gen_at(g->state));
    for (int u = 0; u < g->U; u++) {
        int x[2], y[2], m[2] = {dync__gen_temp_k(g), dync__gen_temp_k(g)};
        for (int k = 0; k < 2; k++) {
            x[k] = dync__gen_temp(g), y[k] = dync__gen_temp(g);
            DYNC__A(a, LOAD, .v = v, .to = x[k], .y = dync__acc_level(g, r, k, u));
            DYNC__A(a, LOAD, .v = v, .to = y[k],
                    .y = k            ? dync__gen_at(r->where + 64 * u)
                         : r->in_regs ? dync__a_reg(r->reg[u])
                                      : dync__gen_at(r->acc + 64 * u));
        }
        dync__acc_better(g, g->V, x, y, m);
        for (int k = 0; k < 2; k++)
            DYNC__A(a, STORE, .v = v, .x = x[k], .y = dync__acc_level(g, r, k, u));
        dync__gen_drop_temps(g);
    }
}

DYNC__FN void dync__gen_vertical_carry(dync__gen *g, int phase, int32_t count)
{
    dync__asm *a = &g->a;
    int done = dync__a_label(a), span = 16;
    DYNC__A(a, GET, .to = DYNC__G_T0,
            .y = g->tall ? dync__gen_arg(8 * DYNC__GW_OUT) : dync__gen_at(count));
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T0), .n = g->tall ? span : 1);
    if (!g->tall) DYNC__A(a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(count));
    for (int l = 0; l < 3; l++, span *= 16) {
        DYNC__A(a, TEST_JUMP, .op = DYNC__IF_NE, .x = DYNC__G_T0, .n = span - 1, .label = done);
        for (int i = 0; i < g->red.n; i++)
            if (g->red.at[i].phase == phase && g->red.at[i].ordered)
                dync__acc_up(g, &g->red.at[i], l, true);
    }
    DYNC__A(a, LABEL, .label = done);
}

DYNC__FN void dync__gen_vertical_rest(dync__gen *g, int phase)
{
    for (int i = 0; i < g->red.n; i++)
        if (g->red.at[i].phase == phase && !g->red.at[i].ordered) {
            if (dync__acc_is_arg(&g->red.at[i]))
                dync__acc_place_up(g, &g->red.at[i]);
            else
                dync__acc_up(g, &g->red.at[i], 0, false);
        }
}

DYNC__FN void dync__gen_reduce_end(dync__gen *g, int phase, int32_t count)
{
    dync__asm *a = &g->a;
    for (int i = 0; i < g->red.n; i++) {
        const dync__gen_red *r = &g->red.at[i];
        dync__vt v = dync__gen_vt(g, dync__acc_type(r));
        if (r->phase != phase || g->slot[r->inst] < 0) continue;
        for (int k = 0; dync__acc_is_arg(r) && r->in_regs && !g->tall && k < r->n_acc; k++)
            DYNC__A(a, STORE, .v = v, .x = r->reg[k], .y = dync__gen_at(r->acc + 64 * k));
        if (!g->vertical) {
            int x = dync__acc_is_arg(r)       ? dync__acc_found(g, r, 0)
                    : r->ordered && !g->brief ? dync__acc_popped(g, r, count)
                                              : dync__acc_fold(g, r);
            DYNC__A(a, SPREAD, .v = dync__gen_vt(g, dync__acc_type(r)), .to = x,
                    .y = dync__a_reg(x));
            dync__acc_to_slot(g, r, x, 0);
            dync__gen_drop_temps(g);
            continue;
        }
        for (int l = g->tall; r->ordered && !g->brief && l < 3; l++) dync__acc_up(g, r, l, false);
        for (int u = 0; dync__acc_is_arg(r) && u < g->U; u++) {
            dync__acc_to_slot(g, r, dync__acc_found(g, r, u), u);
            dync__gen_drop_temps(g);
        }
        if (g->tall) DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__gen_at(g->state));
        for (int u = 0; !dync__acc_is_arg(r) && u < g->U; u++) {
            bool levels = g->tall || (r->ordered && !g->brief);
            int x = r->in_regs && !levels ? r->reg[u] : dync__gen_temp(g);
            if (levels)
                DYNC__A(a, LOAD, .v = v, .to = x,
                        .y = dync__acc_level(g, r, r->ordered ? 2 : 0, u));
            else if (!r->in_regs)
                DYNC__A(a, LOAD, .v = v, .to = x,
                        .y = dync__gen_at(r->acc + u * dync__acc_size(g, r)));
            dync__acc_to_slot(g, r, x, u);
            dync__gen_drop_temps(g);
        }
    }
}

/* ---- running sums ---------------------------------------------------------------------------- */

/* Sums run in whole vectors of 8-byte lanes. */
static dync__vt dync__acc_scan_vt(const dync__gen *g, int type)
{
    return dync__vt_of(type == DYNC_I64 ? DYNC_I64 : DYNC_F64, g->a.t->vector_bytes / 8);
}

DYNC__FN void dync__gen_scan_begin(dync__gen *g)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__acc_scan_vt(g, DYNC_F64);
    for (int p = 0; p < g->list[g->cur].n; p++) {
        int i = g->list[g->cur].at[p],
            n = g->vertical ? g->U << (dync__gen_inst(g, i)->type == DYNC_F32) : 1;
        if (dync__gen_inst(g, i)->prim != DYNC__P_scan ||
            (g->b->keep[i] && dync__lp_list(g->b, i) != g->cur))
            continue;
        bool in_regs = __builtin_popcount(g->pinned) + n <= g->n_regs / 2 - 2;
        g->scan[i] = (dync__gen_sum){-1, dync__gen_frame(g, 64 * DYNC__MAX(n, 4))};
        for (int k = 0; k < n; k++) {
            int r = in_regs ? dync__gen_pin(g) : dync__gen_temp(g);
            DYNC__A(a, ZERO, .v = v, .to = r);
            if (!in_regs)
                DYNC__A(a, STORE, .v = v, .x = r, .y = dync__gen_at(g->scan[i].at + 64 * k));
            else if (k == 0)
                g->scan[i].reg = (int8_t)r; /* the next ones lie below it */
            dync__gen_drop_temps(g);
        }
        g->free_regs &= ~g->pinned;
    }
}

/* What a part of a scan is computed in: registers for sums and what is shifted, for a value of the
 * first half, for the carry; those of the first half by level, whose last one is its sums, -1: it
 * leaves them in the frame. */
typedef struct dync__acc_scan_regs {
    int sum, up, low, carry, first[3];
} dync__acc_scan_regs;

/* The sums of x within a group of eight lanes (interp_tile.c), in the register that it gives;
 * vectors of four take halves, the second after what the first left. */
static int dync__acc_scan_group(dync__gen *g, dync__vt v, int32_t at, int x, int half,
                                const dync__acc_scan_regs *t)
{
    dync__asm *a = &g->a;
    bool kept = t->first[0] >= 0, whole = v.lanes >= 8 || half, second = v.lanes < 8 && half;
    for (int by = 1, l = 0; by <= 4 && (by < 4 || whole); by *= 2, l++, at += 64) {
        int sum = kept && !whole ? t->first[l + 1] : t->sum, up = t->up,
            low = !second   ? -1
                  : kept    ? t->first[l]
                  : by == 4 ? up
                            : t->low;
        if (!whole && !kept) DYNC__A(a, STORE, .v = v, .x = x, .y = dync__gen_at(at + 64));
        if (second && !kept) DYNC__A(a, LOAD, .v = v, .to = low, .y = dync__gen_at(at + 64));
        if (by < v.lanes)
            DYNC__A(a, UP, .v = v, .to = up, .x = x, .z = low, .n = by);
        else
            up = low;
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = sum, .x = x, .y = dync__a_reg(up));
        x = sum;
    }
    if (!whole && !kept) DYNC__A(a, STORE, .v = v, .x = x, .y = dync__gen_at(at + 64));
    return x;
}

/* One part: x becomes the sums, in `to`. k: which carry; half: of a group, where there are halves.
 */
static void dync__acc_scan_part(dync__gen *g, int i, int x, int to, int k, int half,
                                const dync__acc_scan_regs *t)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__acc_scan_vt(g, dync__gen_inst(g, i)->type);
    int reg = g->scan[i].reg, carry = reg >= 0 ? reg - k : t->carry;
    int32_t at = g->scan[i].at;
    if (reg < 0) DYNC__A(a, LOAD, .v = v, .to = carry, .y = dync__gen_at(at + 64 * k));
    if (g->vertical) {
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = carry, .x = carry, .y = dync__a_reg(x));
        DYNC__A(a, LOAD, .v = v, .to = to, .y = dync__a_reg(carry));
    } else {
        int sum = dync__acc_scan_group(g, v, at, x, half, t);
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = to, .x = carry, .y = dync__a_reg(sum));
        if (v.lanes < 8 && !half) return;
        /* all lanes of the carry get the last lane's sum */
        DYNC__A(a, STORE, .v = v, .x = sum, .y = dync__gen_at(at + 64));
        DYNC__A(a, SPREAD, .v = v, .to = sum, .y = dync__gen_at(at + 64 + 8 * (v.lanes - 1)));
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = carry, .x = carry, .y = dync__a_reg(sum));
    }
    if (reg < 0) DYNC__A(a, STORE, .v = v, .x = carry, .y = dync__gen_at(at + 64 * k));
}

/* halves: both of a group are done by one instruction; then the first stays in registers where
 * there are as many. */
static dync__acc_scan_regs dync__acc_scan_take(dync__gen *g, int i, dync__vt v, bool halves)
{
    dync__acc_scan_regs t = {.first = {-1, -1, -1}};
    bool carry = g->scan[i].reg < 0, across = !g->vertical;
    int free_regs = __builtin_popcount(g->free_regs & ~g->locked);
    if (carry) t.carry = dync__gen_temp(g);
    if (across) t.sum = dync__gen_temp(g), t.up = dync__gen_temp(g);
    halves = halves && across && v.lanes < 8;
    if (halves && free_regs >= 6 + carry)
        for (int l = 0; l < 3; l++) t.first[l] = dync__gen_temp(g);
    else if (across && v.lanes < 8)
        t.low = dync__gen_temp(g);
    return t;
}

/* A vector of F32 is two parts of F64, or one where the phase computes in F64 too: then the lanes
 * above hold nothing. */
DYNC__FN void dync__gen_scan(dync__gen *g, int i)
{
    dync__asm *a = &g->a;
    dync__vt d = dync__acc_scan_vt(g, DYNC_F64), f = dync__vt_of(DYNC_F32, d.lanes),
             all = dync__gen_vt(g, DYNC_F32);
    int x = dync__gen_src(g, dync__gen_inst(g, i)->arg[0]), r = dync__gen_def(g, i);
    bool narrow = dync__gen_inst(g, i)->type == DYNC_F32, halves = narrow && g->V > d.lanes;
    dync__acc_scan_regs t = dync__acc_scan_take(g, i, d, halves);
    if (!narrow) {
        dync__acc_scan_part(g, i, x, r, g->vertical ? g->u : 0, g->u % 2, &t);
        return;
    }
    int part = dync__gen_temp(g);
    if (!halves) {
        DYNC__A(a, CONVERT, .v = d, .to = part, .y = dync__a_reg(x), .n = DYNC_F32);
        dync__acc_scan_part(g, i, part, part, g->vertical ? g->u : 0, g->u % 2, &t);
        DYNC__A(a, CONVERT, .v = f, .to = r, .y = dync__a_reg(part), .n = DYNC_F64);
        return;
    }
    for (int h = 0; h < 2; h++) {
        int in = !h && t.first[0] >= 0 ? t.first[0] : part;
        if (h) DYNC__A(a, HALF, .v = all, .to = part, .x = x);
        DYNC__A(a, CONVERT, .v = d, .to = in, .y = dync__a_reg(h ? part : x), .n = DYNC_F32);
        dync__acc_scan_part(g, i, in, part, g->vertical ? 2 * g->u + h : 0, h, &t);
        DYNC__A(a, CONVERT, .v = f, .to = h ? part : r, .y = dync__a_reg(part), .n = DYNC_F64);
    }
    DYNC__A(a, JOIN, .v = all, .to = r, .x = r, .y = dync__a_reg(part), .n = 1,
            .m = g->a.t->vector_bytes / 2);
}
#endif
