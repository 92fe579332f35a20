/* codegen/x86_gen.c: the loops of a kernel in x86-64 code. Before: jit.c has made streams and
 * lists; after: x86_enc.c finishes the bytes.
 *
 *   rows one at a time             rows side by side (vertical)
 *     list 0                         list 0
 *     for each row                   for each value of the other row loops
 *       list 1, phase 0, list 3...     for U vectors of rows, the last ones masked
 *                                        list 1, phase 0, list 3...
 *   ph ase: for the outer of the inner loops: for U vectors of the last one, then the rest masked 
 *     phase: for all inner loops
 *
 * A phase's addresses stand in registers as far as they go, else in the frame; so do its
 * accumulators and most used constants. Registers: rdi argument block, rsp frame, rcx lane, rdx
 * limit, rax rsi rbp scratch, rbx r8..r15 addresses. */
#include "../dync.in.h"
#include "gemm_code.h"
#include "x86_gen.h"
#if DYNC__JIT_X86

static const int8_t dync__xg_bases[] = {DYNC__RBX, DYNC__R8,  DYNC__R9,  DYNC__R10, DYNC__R11,
                                        DYNC__R12, DYNC__R13, DYNC__R14, DYNC__R15};
static const int8_t dync__xg_saved[] = {DYNC__RBX, DYNC__RBP, DYNC__R12,
                                        DYNC__R13, DYNC__R14, DYNC__R15};

/* ---- a list ---------------------------------------------------------------------------------- */

static void dync__xg_emit_inst(dync__xg *g, int i)
{
    const dync__loop_plan *b = g->b;
    const dync__inst *in = dync__xg_inst(g, i);
    bool back = b->keep[i] && dync__lp_list(b, i) != g->cur;
    if (back) {
        dync__xg_keep(g, i, true);
        dync__xg_end(g);
        return;
    }
    switch (in->prim) {
    case DYNC__P_load: dync__xg_load(g, i); break;
    case DYNC__P_loadx: dync__xg_gather(g, i); break;
    case DYNC__P_store: dync__xg_store(g, i); break;
    case DYNC__P_index: dync__xg_index(g, i); break;
    case DYNC__P_reduce: dync__xg_reduce(g, i); break;
    case DYNC__P_scan: dync__xg_scan(g, i); break;
    default:
        /* made with its cone */
        if (g->val[i * DYNC__XG_UNROLL + g->u].reg >= 0 ||
            g->val[i * DYNC__XG_UNROLL + g->u].spill >= 0)
            dync__xg_src(g, i);
        else
            dync__xg_prim(g, i);
        break;
    }
    if (dync__inst_has_value(in) && in->prim != DYNC__P_reduce) {
        if (g->slot[i] >= 0) dync__xg_slot_store(g, i);
        if (b->keep[i]) dync__xg_keep(g, i, false);
    }
    dync__xg_end(g);
}

static void dync__xg_emit_list(dync__xg *g)
{
    const dync__xlist *l = &g->list[g->cur];
    dync__xg_reset(g);
    for (g->pos = 0; g->pos < l->n && !g->a.failed; g->pos++) {
        int i = l->at[g->pos];
        if (g->a.listing) {
            const dync__inst *in = dync__xg_inst(g, i);
            dync__str_addf(g->a.listing, "  ; v%d %s%s%s\n", i, dync__prim_info(in->prim)->name,
                           in->origin ? " of " : "", in->origin ? in->origin : "");
        }
        int cone = g->cone_of[i];
        if (cone >= 0 && g->val[i * DYNC__XG_UNROLL].reg < 0 &&
            g->val[i * DYNC__XG_UNROLL].spill < 0)
            dync__xg_seldom(g, i);
        for (g->u = 0; g->u < (g->leads[i] ? 1 : g->U); g->u++) dync__xg_emit_inst(g, i);
    }
    g->u = 0;
}

/* rdx lanes are left: what masks need. */
static void dync__xg_tail_masks(dync__xg *g)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl_bytes(g->V * 4);
    dync__x_i(a, DYNC__X_MOV_M, DYNC__RDX, dync__xg_at(g->tail_count), 0);
    if (g->isa == 2) {
        dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RAX), -1);
        dync__x_k(a, DYNC__X_BZHI, DYNC__RAX, DYNC__RDX, dync__x_reg(DYNC__RAX), 0);
        for (int u = 0; u < g->U; u++) {
            dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__x_reg(DYNC__RAX), 0);
            if (u) dync__x_i(a, DYNC__X_SHRI, 0, dync__x_reg(DYNC__RSI), u * g->V);
            dync__x_i(a, DYNC__X_ANDI, 0, dync__x_reg(DYNC__RSI), (1 << g->V) - 1);
            dync__x_i(a, DYNC__X_MOV16_M, DYNC__RSI, dync__xg_at(g->tail_mask + 64 * u), 0);
        }
        return;
    }
    g->pos = 0;
    dync__xg_reset(g);
    int left = dync__xg_temp(g), m = dync__xg_temp(g);
    dync__x_v(a, DYNC__X_BROADCASTD, vl, left, 0, dync__xg_at(g->tail_count), 0, 0);
    for (int u = 0; u < g->U; u++) {
        int32_t lane[16];
        for (int l = 0; l < 16; l++) lane[l] = u * g->V + l;
        dync__x_v(a, DYNC__X_PCMPGTD, vl, m, left, dync__x_constant64(a, lane), 0, 0);
        dync__x_v(a, DYNC__X_MOVUPS_M, vl, m, 0, dync__xg_at(g->tail_mask + 64 * u), 0, 0);
        if (!g->wide) continue;
        dync__x_v(a, DYNC__X_PMOVSXDQ, 1, m, 0, dync__x_reg(m), 0, 0);
        dync__x_v(a, DYNC__X_MOVUPS_M, 1, m, 0, dync__xg_at(g->tail_mask64 + 64 * u), 0, 0);
    }
}

static void dync__xg_row_list(dync__xg *g, int list)
{
    g->in_phase = false;
    g->pinned = 0;
    dync__xg_begin_list(g, list);
    if (g->list[list].n > 0) dync__xg_emit_list(g);
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Vectors at once: as many as registers allow. */
static int dync__xg_unroll(dync__xg *g, int list, int most)
{
    dync__xg_begin_list(g, list);
    int each = dync__xg_pressure(g, list), u = most;
    while (u > 1 && u * each + (g->b->has_scan && g->isa == 1 ? 7 : 2) > g->n_regs) u /= 2;
    return u;
}

static bool dync__xg_uses_stream(const dync__xg *g, int s)
{
    const dync__xlist *l = &g->list[g->cur];
    for (int p = 0; p < l->n; p++)
        if (g->stream_of[l->at[p]] == s || g->keep_stream[l->at[p]] == s) return true;
    return false;
}

/* Addresses at the start of a phase: registers, then the frame if inner loops move them. */
static void dync__xg_phase_streams(dync__xg *g)
{
    int next = 0;
    for (int s = 0; s < g->stream.n; s++) {
        dync__xstream *st = &g->stream.at[s];
        st->gpr = -1;
        st->pointer = -1;
        if (!dync__xg_uses_stream(g, s) || (g->square && st->turned)) continue;
        dync__xrm at = dync__xg_arg(dync__xg_record(g, s, DYNC__XA_AT));
        if (next < DYNC__COUNT_OF(dync__xg_bases)) {
            st->gpr = dync__xg_bases[next++];
            dync__x_i(&g->a, DYNC__X_MOV, st->gpr, at, 0);
        } else if (g->n_inner_dims > 0) {
            st->pointer = dync__xg_frame(g, 8);
            dync__x_i(&g->a, DYNC__X_MOV, DYNC__RAX, at, 0);
            dync__x_i(&g->a, DYNC__X_MOV_M, DYNC__RAX, dync__xg_at(st->pointer), 0);
        }
    }
}

static int32_t dync__xg_inner_extent(const dync__xg *g, int d)
{
    return 8 * (DYNC__XA_FIXED + 2 * g->n_row_dims + d);
}

static void dync__xg_step_streams(dync__xg *g, int d)
{
    for (int s = 0; s < g->stream.n; s++) {
        const dync__xstream *st = &g->stream.at[s];
        dync__xrm step = dync__xg_arg(dync__xg_record(g, s, DYNC__XA_STEP + g->n_row_dims + d));
        if (st->gpr >= 0) {
            dync__x_i(&g->a, DYNC__X_ADD, st->gpr, step, 0);
        } else if (st->pointer >= 0) {
            dync__x_i(&g->a, DYNC__X_MOV, DYNC__RAX, step, 0);
            dync__x_i(&g->a, DYNC__X_ADD_M, DYNC__RAX, dync__xg_at(st->pointer), 0);
        }
    }
}

/* The inner loops that are no lane loop: an odometer. */
static int dync__xg_inner_begin(dync__xg *g, int32_t counts)
{
    for (int d = 0; d < g->n_inner_dims; d++) {
        dync__x_i(&g->a, DYNC__X_MOV, DYNC__RAX, dync__xg_arg(dync__xg_inner_extent(g, d)), 0);
        dync__x_i(&g->a, DYNC__X_MOV_M, DYNC__RAX, dync__xg_at(counts + 8 * d), 0);
    }
    int top = dync__x_label(&g->a);
    dync__x_bind(&g->a, top);
    return top;
}

static void dync__xg_inner_end(dync__xg *g, int32_t counts, int top)
{
    for (int d = g->n_inner_dims - 1; d >= 0; d--) {
        dync__xg_step_streams(g, d);
        dync__x_i(&g->a, DYNC__X_SUBI, 0, dync__xg_at(counts + 8 * d), 1);
        dync__x_jump(&g->a, DYNC__CC_NE, top);
        if (d == 0) break;
        dync__x_i(&g->a, DYNC__X_MOV, DYNC__RAX, dync__xg_arg(dync__xg_inner_extent(g, d)), 0);
        dync__x_i(&g->a, DYNC__X_MOV_M, DYNC__RAX, dync__xg_at(counts + 8 * d), 0);
    }
}

/* The most used constants and row values into the registers that are left. */
static void dync__xg_hoist(dync__xg *g)
{
    const dync__xlist *l = &g->list[g->cur];
    const dync__loop_plan *b = g->b;
    DYNC__VEC(int32_t) seen = {NULL, 0, 0};
    int32_t arg[3], *count = dync__arena_alloc(b->arena, (size_t)b->k->inst.n * sizeof *count);
    int left = g->n_regs - __builtin_popcount(g->pinned) - g->U * dync__xg_pressure(g, g->cur) -
               (g->b->has_scan ? 7 : 2);
    if (!count) {
        g->a.failed = true;
        return;
    }
    for (int p = 0; p < l->n && left > 0; p++) {
        if (b->keep[l->at[p]] && dync__lp_list(b, l->at[p]) != g->cur) continue;
        for (int n = dync__xg_args(g, l->at[p], arg) - 1; n >= 0; n--) {
            int v = dync__xg_root(g, arg[n]), type = dync__xg_inst(g, v)->type;
            bool constant = dync__xg_inst(g, v)->prim == DYNC__P_const_;
            /* from memory */
            bool leads = dync__xg_inst(g, l->at[p])->prim == DYNC__P_loadx &&
                         dync__xg_is_even(g, v, 0);
            if ((g->in_list[v] == g->cur && !constant) || type == DYNC_BOOL ||
                (g->vertical && b->level[v] == 1) || leads)
                continue;
            if (count[v]++ == 0 && !dync__avec_push(b->arena, &seen, v)) g->a.failed = true;
        }
    }
    for (; left > 0 && seen.n > 0 && !g->a.failed; left--) {
        int best = 0;
        for (int s = 1; s < seen.n; s++)
            if (count[seen.at[s]] > count[seen.at[best]]) best = s;
        int v = seen.at[best], r = dync__xg_src(g, v); /* read into any register, */
        int home = dync__xg_pin(g);                    /* kept in one from the top */
        dync__x_v(&g->a, DYNC__X_MOVAPS, dync__xg_vl(g, dync__xg_inst(g, v)->type), home, 0,
                  dync__x_reg(r), 0, 0);
        g->hoist[v] = (int8_t)home;
        dync__xg_drop_temps(g);
        g->free_regs &= ~g->pinned;
        seen.at[best] = seen.at[--seen.n];
    }
}

static void dync__xg_unhoist(dync__xg *g) { memset(g->hoist, 0xff, (size_t)g->b->k->inst.n); }

static bool dync__xg_has_ordered(const dync__xg *g, int phase)
{
    for (int i = 0; i < g->red.n; i++)
        if (g->red.at[i].phase == phase && g->red.at[i].ordered) return true;
    return false;
}

/* Lanes rcx to the limit in rdx (or memory): U vectors at a time, then what is left. `end`: where
 * the limit stands. */
static void dync__xg_lanes(dync__xg *g, dync__xrm end)
{
    dync__xasm *a = &g->a;
    int body = dync__x_label(a), tail = dync__x_label(a), done = dync__x_label(a),
        step = g->U * g->V;
    dync__x_i(a, DYNC__X_MOV, DYNC__RDX, end, 0);
    dync__x_i(a, DYNC__X_SUBI, 0, dync__x_reg(DYNC__RDX), step);
    dync__x_i(a, DYNC__X_CMP, DYNC__RCX, dync__x_reg(DYNC__RDX), 0);
    dync__x_jump(a, DYNC__CC_G, tail);
    dync__x_bind(a, body);
    g->masked = false;
    dync__xg_emit_list(g);
    dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RCX), step);
    dync__x_i(a, DYNC__X_CMP, DYNC__RCX, dync__x_reg(DYNC__RDX), 0);
    dync__x_jump(a, DYNC__CC_LE, body);
    dync__x_bind(a, tail);
    dync__x_i(a, DYNC__X_MOV, DYNC__RDX, end, 0);
    dync__x_i(a, DYNC__X_SUB, DYNC__RDX, dync__x_reg(DYNC__RCX), 0);
    dync__x_jump(a, DYNC__CC_LE, done);
    g->masked = true;
    dync__xg_tail_masks(g);
    dync__xg_emit_list(g);
    g->masked = false;
    dync__x_bind(a, done);
}

static void dync__xg_clear(dync__xg *g, int32_t at)
{
    dync__x_i(&g->a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RAX), 0);
    dync__x_i(&g->a, DYNC__X_MOV_M, DYNC__RAX, dync__xg_at(at), 0);
}

/* Are pages worth asking for? Where a phase reduces its rows, or the kernel stores past the caches,
 * but not rows of a few lanes, nor for long chains of operators, which hide what they wait for. */
static bool dync__xg_far(const dync__xg *g, int phase, int most)
{
    bool far = false;
    for (int i = 0; i < g->red.n; i++) far |= g->red.at[i].phase == phase;
    for (int i = 0; i < g->stream.n; i++) far |= g->stream.at[i].past;
    return far && most > 2 && g->list[2 + 2 * phase].n < 64;
}

/* A row: the last inner loop in lanes; sums grain by grain, what is read from memory page by
 * page. */
static void dync__xg_row_phase(dync__xg *g, int phase, int most)
{
    dync__xasm *a = &g->a;
    int list = 2 + 2 * phase;
    if (g->list[list].n == 0) return;
    bool sums = dync__xg_has_ordered(g, phase), ordered = sums && !g->brief,
         far = dync__xg_far(g, phase, most) && !g->brief;
    int32_t counts = dync__xg_frame(g, 8 * DYNC__XG_DIMS), grains = dync__xg_frame(g, 16);
    g->single = false;
    /* a scan takes eight lanes at once */
    g->U =
        DYNC__MAX(dync__xg_unroll(g, list, most), g->V == 4 && g->b->has_scan && most > 1 ? 2 : 1);
    g->in_phase = true;
    g->pinned = 0;
    g->pos = 0;
    dync__xg_reduce_pin(g, phase);
    dync__xg_reset(g);
    dync__xg_scan_begin(g);
    dync__xg_hoist(g);
    if (g->late) dync__x_bind(a, g->top);
    dync__xg_phase_streams(g);
    dync__xg_reset(g);
    dync__xg_reduce_init(g, phase, false, false);
    if (sums && !ordered) dync__xg_reduce_init(g, phase, true, false);
    if (ordered) dync__xg_clear(g, grains);
    bool places = dync__xg_has_places(g, phase);
    if (places) dync__xg_clear(g, g->place);
    int top = dync__xg_inner_begin(g, counts);
    dync__xrm lanes = dync__xg_arg(8 * DYNC__XA_LANES), end = dync__xg_at(grains + 8);
    dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RCX), 0);
    if (!ordered && !far) {
        dync__xg_lanes(g, lanes);
    } else {
        int grain = dync__x_label(a), whole = dync__x_label(a);
        dync__x_bind(a, grain);
        dync__x_i(a, DYNC__X_LEA, DYNC__RDX,
                  dync__x_mem(DYNC__RCX, ordered ? DYNC__XG_GRAIN : 1024), 0);
        dync__x_i(a, DYNC__X_CMP, DYNC__RDX, lanes, 0);
        dync__x_jump(a, DYNC__CC_LE, whole);
        dync__x_i(a, DYNC__X_MOV, DYNC__RDX, lanes, 0);
        dync__x_bind(a, whole);
        dync__x_i(a, DYNC__X_MOV_M, DYNC__RDX, end, 0);
        dync__xg_reset(g);
        if (far) dync__xg_fetch_page(g, list);
        if (ordered) dync__xg_reduce_init(g, phase, true, false);
        dync__xg_lanes(g, end);
        dync__xg_reset(g);
        if (ordered) dync__xg_grain_end(g, phase, grains);
        dync__x_i(a, DYNC__X_MOV, DYNC__RCX, end, 0);
        dync__x_i(a, DYNC__X_CMP, DYNC__RCX, lanes, 0);
        dync__x_jump(a, DYNC__CC_L, grain);
    }
    if (places) {
        dync__x_i(a, DYNC__X_MOV, DYNC__RAX, lanes, 0);
        dync__x_i(a, DYNC__X_ADD_M, DYNC__RAX, dync__xg_at(g->place), 0);
    }
    dync__xg_inner_end(g, counts, top);
    dync__xg_reset(g);
    dync__xg_reduce_end(g, phase, grains);
    dync__xg_unhoist(g);
    g->in_phase = false;
}

/* Rows side by side: all inner loops, one index at a time. */
static void dync__xg_column_phase(dync__xg *g, int phase)
{
    int list = 2 + 2 * phase;
    bool masked = g->masked, ordered = dync__xg_has_ordered(g, phase);
    if (g->list[list].n == 0) return;
    int32_t counts = dync__xg_frame(g, 8 * DYNC__XG_DIMS), added = dync__xg_frame(g, 8);
    dync__xg_begin_list(g, list);
    g->in_phase = true;
    g->pinned = 0;
    g->pos = 0;
    dync__xg_reduce_pin(g, phase);
    dync__xg_reset(g);
    dync__xg_scan_begin(g);
    dync__xg_hoist(g);
    dync__xg_phase_streams(g);
    dync__xg_reset(g);
    dync__xg_reduce_init(g, phase, false, false);
    dync__xg_reduce_init(g, phase, true, !g->tall && !g->brief);
    if (ordered && !g->brief) dync__xg_clear(g, added);
    dync__xg_clear(g, g->place);
    int top = dync__xg_inner_begin(g, counts);
    g->masked = masked;
    dync__xg_emit_list(g);
    dync__xg_reset(g);
    if (ordered && !g->tall && !g->brief) dync__xg_vertical_carry(g, phase, added);
    if (dync__xg_has_places(g, phase)) dync__x_i(&g->a, DYNC__X_ADDI, 0, dync__xg_at(g->place), 1);
    dync__xg_inner_end(g, counts, top);
    dync__xg_reset(g);
    if (g->tall)
        dync__xg_vertical_carry(g, phase, added);
    else
        dync__xg_reduce_end(g, phase, 0);
    dync__xg_unhoist(g);
    g->in_phase = false;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void dync__xg_columns(dync__xg *g, bool masked)
{
    int phases = g->b->n_phases;
    g->single = false;
    for (int p = 0; p < phases && !g->ends; p++) {
        g->masked = masked;
        dync__xg_row_list(g, 1 + 2 * p);
        dync__xg_column_phase(g, p);
    }
    if (g->ends) {
        dync__xg_begin_list(g, 2);
        g->pinned = 0;
        g->pos = 0;
        dync__xg_reduce_pin(g, 0);
        dync__xg_reset(g);
        dync__xg_reduce_end(g, 0, 0);
        g->masked = masked;
    }
    if (!g->tall || g->ends) dync__xg_row_list(g, 1 + 2 * phases);
    if (g->tall) dync__x_i(&g->a, DYNC__X_ADDI, 0, dync__xg_at(g->state), 3 * 64 * g->U * g->red.n);
    g->masked = false;
}

static void dync__xg_vertical(dync__xg *g)
{
    dync__xasm *a = &g->a;
    int body = dync__x_label(a), tail = dync__x_label(a), done = dync__x_label(a),
        step = g->U * g->V;
    dync__xrm lanes = dync__xg_arg(8 * DYNC__XA_LANES);
    if (g->tall) {
        dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__xg_arg(8 * DYNC__XA_IN), 0);
        dync__x_i(a, DYNC__X_MOV_M, DYNC__RAX, dync__xg_at(g->state), 0);
    }
    dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RCX), 0);
    dync__x_bind(a, body);
    dync__x_i(a, DYNC__X_LEA, DYNC__RAX, dync__x_mem(DYNC__RCX, step), 0);
    dync__x_i(a, DYNC__X_CMP, DYNC__RAX, lanes, 0);
    dync__x_jump(a, DYNC__CC_G, tail);
    dync__xg_columns(g, false);
    dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RCX), step);
    dync__x_jump(a, DYNC__CC_JMP, body);
    dync__x_bind(a, tail);
    dync__x_i(a, DYNC__X_MOV, DYNC__RDX, lanes, 0);
    dync__x_i(a, DYNC__X_SUB, DYNC__RDX, dync__x_reg(DYNC__RCX), 0);
    dync__x_jump(a, DYNC__CC_LE, done);
    dync__xg_tail_masks(g);
    dync__xg_columns(g, true);
    dync__x_bind(a, done);
}

/* What is turned, V lines from lane rcx on of a stream, to registers, or to the frame. */
static void dync__xg_turn(dync__xg *g, int stream)
{
    dync__xasm *a = &g->a;
    dync__xstream *st = &g->stream.at[stream];
    dync__xrm step = dync__xg_arg(dync__xg_record(g, stream, DYNC__XA_LANE));
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX, step, 0);
    dync__x_i(a, DYNC__X_LEA, DYNC__RBP, dync__x_index(DYNC__RAX, DYNC__RAX, 2, 0), 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__x_reg(DYNC__RCX), 0);
    dync__x_i(a, DYNC__X_IMUL, DYNC__RSI, step, 0);
    dync__x_i(a, DYNC__X_ADD, DYNC__RSI, dync__xg_arg(dync__xg_record(g, stream, DYNC__XA_AT)), 0);
    dync__xt_square(a, g->V / 4, DYNC__RSI, DYNC__RAX, DYNC__RBP, true, g->turned);
    if (!g->turned_once && st->pointer < 0) st->pointer = dync__xg_frame(g, 64 * g->V);
    for (int i = 0; i < g->V && !g->turned_once; i++)
        dync__x_v(a, DYNC__X_MOVUPS_M, 2, g->turned[i], 0, dync__xg_at(st->pointer + 64 * i), 0, 0);
}

/* Kernels that turn loads only and are short: V rows at a time, for V lanes at a time turned in
 * registers, row after row. ROWS counts V rows, LANES is a multiple of V. Each line is read whole
 * and once, and what is read, turned and stored is in flight together: whatever goes by way of
 * memory waits. */
static void dync__xg_squares(dync__xg *g)
{
    enum { TURNING = 17 }; /* registers that dync__xt_square takes, the first ones */
    dync__xasm *a = &g->a;
    int rows = dync__x_label(a), lanes = dync__x_label(a), turned = 0;
    g->U = 1;
    g->single = g->masked = false;
    g->in_phase = true;
    dync__xg_begin_list(g, 2);
    for (int p = 0; p < g->list[2].n; p++)
        turned += g->stream_of[g->list[2].at[p]] >= 0 &&
                  g->stream.at[g->stream_of[g->list[2].at[p]]].turned;
    g->turned_once = turned == 1;
    g->pinned = (1u << TURNING) - 1;
    g->pos = 0;
    dync__xg_reset(g);
    dync__xg_hoist(g);
    uint32_t hoisted = g->pinned & ~((1u << TURNING) - 1);
    dync__x_bind(a, rows);
    dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RCX), 0);
    dync__x_bind(a, lanes);
    dync__xg_phase_streams(g);
    for (int s = 0; s < g->stream.n; s++)
        if (g->stream.at[s].turned) dync__xg_turn(g, s);
    for (g->row = 0; g->row < g->V; g->row++) {
        g->pinned = hoisted;
        for (int i = g->row; i < g->V && g->turned_once; i++) g->pinned |= 1u << g->turned[i];
        dync__xg_emit_list(g);
        for (int s = 0; s < g->stream.n && g->row + 1 < g->V; s++)
            if (g->stream.at[s].gpr >= 0)
                dync__x_i(a, DYNC__X_ADD, g->stream.at[s].gpr,
                          dync__xg_arg(dync__xg_record(g, s, DYNC__XA_STEP)), 0);
    }
    dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RCX), g->V);
    dync__x_i(a, DYNC__X_CMP, DYNC__RCX, dync__xg_arg(8 * DYNC__XA_LANES), 0);
    dync__x_jump(a, DYNC__CC_L, lanes);
    for (int s = 0; s < g->stream.n; s++) {
        dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__xg_arg(dync__xg_record(g, s, DYNC__XA_STEP)), 0);
        dync__x_i(a, DYNC__X_SHLI, 0, dync__x_reg(DYNC__RAX), g->V == 16 ? 4 : 3);
        dync__x_i(a, DYNC__X_ADD_M, DYNC__RAX, dync__xg_arg(dync__xg_record(g, s, DYNC__XA_AT)), 0);
    }
    dync__x_i(a, DYNC__X_SUBI, 0, dync__xg_arg(8 * DYNC__XA_ROWS), 1);
    dync__x_jump(a, DYNC__CC_NE, rows);
}

/* On to the next row. */
static void dync__xg_next_row(dync__xg *g, int top)
{
    dync__xasm *a = &g->a;
    int end = dync__x_label(a);
    dync__x_i(a, DYNC__X_SUBI, 0, dync__xg_arg(8 * DYNC__XA_ROWS), 1);
    dync__x_jump(a, DYNC__CC_E, end);
    for (int d = g->n_row_dims - 1; d >= 0; d--) {
        for (int s = 0; s < g->stream.n; s++) {
            if (g->stream.at[s].kind == DYNC__XS_KEEP) continue;
            dync__x_i(a, DYNC__X_MOV, DYNC__RAX,
                      dync__xg_arg(dync__xg_record(g, s, DYNC__XA_STEP + d)), 0);
            dync__x_i(a, DYNC__X_ADD_M, DYNC__RAX, dync__xg_arg(dync__xg_record(g, s, DYNC__XA_AT)),
                      0);
        }
        if (d == 0) break;
        dync__xrm left = dync__xg_arg(8 * (DYNC__XA_FIXED + 2 * d)),
                  extent = dync__xg_arg(8 * (DYNC__XA_FIXED + 2 * d + 1));
        dync__x_i(a, DYNC__X_SUBI, 0, left, 1);
        dync__x_jump(a, DYNC__CC_NE, top);
        dync__x_i(a, DYNC__X_MOV, DYNC__RAX, extent, 0);
        dync__x_i(a, DYNC__X_MOV_M, DYNC__RAX, left, 0);
    }
    dync__x_jump(a, DYNC__CC_JMP, top);
    dync__x_bind(a, end);
}

static void dync__xg_enter(dync__xg *g)
{
    dync__xasm *a = &g->a;
    for (int i = 0; i < DYNC__COUNT_OF(dync__xg_saved); i++) dync__x_push(a, dync__xg_saved[i]);
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__x_reg(DYNC__RSP), 0);
    dync__x_i(a, DYNC__X_SUB, DYNC__RSP, dync__xg_arg(8 * DYNC__XA_FRAME), 0);
    dync__x_i(a, DYNC__X_ANDI, 0, dync__x_reg(DYNC__RSP), -64);
    dync__x_i(a, DYNC__X_MOV_M, DYNC__RAX, dync__xg_at(g->saved_sp), 0);
}

static void dync__xg_leave(dync__xg *g)
{
    dync__x_i(&g->a, DYNC__X_MOV, DYNC__RSP, dync__xg_at(g->saved_sp), 0);
    for (int i = DYNC__COUNT_OF(dync__xg_saved) - 1; i >= 0; i--)
        dync__x_pop(&g->a, dync__xg_saved[i]);
    dync__x_ret(&g->a);
}

/* Jumps if the segment to run is less than (equal to, ...) s. */
static void dync__xg_if_segment(dync__xg *g, int cc, int s, int label)
{
    dync__x_i(&g->a, DYNC__X_MOV, DYNC__RAX, dync__xg_arg(8 * DYNC__XA_SEGMENT), 0);
    dync__x_i(&g->a, DYNC__X_CMPI, 0, dync__x_reg(DYNC__RAX), s);
    dync__x_jump(&g->a, cc, label);
}

static void dync__xg_copy_slots(dync__xg *g, bool in)
{
    dync__x_i(&g->a, DYNC__X_MOV, DYNC__RSI, dync__xg_arg(8 * (in ? DYNC__XA_IN : DYNC__XA_OUT)),
              0);
    for (int at = 0; at < g->slot_bytes; at += 32) {
        dync__x_v(&g->a, DYNC__X_MOVUPS, 1, 0, 0,
                  in ? dync__x_mem(DYNC__RSI, at) : dync__xg_at(g->slots + at), 0, 0);
        dync__x_v(&g->a, DYNC__X_MOVUPS_M, 1, 0, 0,
                  in ? dync__xg_at(g->slots + at) : dync__x_mem(DYNC__RSI, at), 0, 0);
    }
}

/* g->U on entry: the most vectors at once. */
DYNC__FN void dync__xg_emit(dync__xg *g)
{
    int most = g->U, phases = g->b->n_phases;
    g->saved_sp = dync__xg_frame(g, 8);
    g->stage = dync__xg_frame(g, 64);
    g->stage2 = dync__xg_frame(g, 64 + 8);
    g->tail_count = dync__xg_frame(g, 8);
    g->place = dync__xg_frame(g, 8);
    g->state = dync__xg_frame(g, 8);
    g->lead = dync__xg_frame(g, 8);
    g->cone_input = -1;
    g->tail_mask = dync__xg_frame(g, 64 * DYNC__XG_UNROLL);
    g->tail_mask64 = dync__xg_frame(g, 64 * DYNC__XG_UNROLL);
    dync__xg_unhoist(g);
    g->slots = g->frame;
    if (g->vertical)
        for (int l = 1; l < g->n_lists; l++) most = DYNC__MIN(most, dync__xg_unroll(g, l, most));
    for (int i = 0; i < g->b->k->inst.n; i++) {
        if (g->slot[i] >= 0)
            g->slot[i] = dync__xg_frame(g, 64 * (g->vertical && g->b->level[i] == 1 ? most
                                                 : g->split                         ? 2
                                                                                    : 1));
    }
    g->slot_bytes = g->frame - g->slots;
    int labels[2 * DYNC__XG_PHASES + 2], in = 0;
    dync__xg_enter(g);
    /* the last one: out */
    for (int s = 0; g->split && s < 2 * phases + 2; s++) labels[s] = dync__x_label(&g->a);
    if (g->split) {
        in = dync__x_label(&g->a);
        dync__xg_if_segment(g, DYNC__CC_L, 0, in);
        dync__xg_copy_slots(g, true);
        dync__x_bind(&g->a, in);
    }
    if (g->b->k->uses_random) dync__xg_random_keys(g);
    g->single = true;
    g->U = 1;
    dync__xg_row_list(g, 0);
    if (g->square) {
        dync__xg_squares(g);
        dync__xg_leave(g);
        return;
    }
    g->top = dync__x_label(&g->a);
    g->late = phases == 1 && !g->vertical && !g->split && !g->tall && !g->b->has_scan &&
              g->red.n == 0 && g->list[1].n == 0 && g->list[2].n > 0 && g->list[3].n == 0;
    if (!g->late) dync__x_bind(&g->a, g->top);
    g->U = most;
    int end = dync__x_label(&g->a), out = dync__x_label(&g->a);
    if (g->tall) dync__xg_if_segment(g, DYNC__CC_E, 1, end);
    if (g->vertical) dync__xg_vertical(g);
    if (g->tall) dync__x_jump(&g->a, DYNC__CC_JMP, out);
    dync__x_bind(&g->a, end);
    g->ends = g->tall;
    if (g->tall) dync__xg_vertical(g);
    dync__x_bind(&g->a, out);
    for (int s = 1; g->split && s <= 2 * phases; s++)
        dync__xg_if_segment(g, DYNC__CC_E, s, labels[s]);
    for (int p = 0; !g->vertical && p <= phases; p++) {
        g->single = true;
        g->U = 1;
        if (g->split) dync__x_bind(&g->a, labels[2 * p]);
        dync__xg_row_list(g, 1 + 2 * p);
        if (g->split) dync__xg_if_segment(g, DYNC__CC_GE, 0, labels[2 * phases + 1]);
        if (p == phases) break;
        if (g->split) dync__x_bind(&g->a, labels[2 * p + 1]);
        dync__xg_row_phase(g, p, most);
        if (g->split) dync__xg_if_segment(g, DYNC__CC_GE, 0, labels[2 * phases + 1]);
    }
    dync__xg_next_row(g, g->top);
    dync__xg_leave(g);
    if (g->split) {
        dync__x_bind(&g->a, labels[2 * phases + 1]);
        dync__xg_copy_slots(g, false);
        dync__xg_leave(g);
    }
    g->U = most;
}
#endif
