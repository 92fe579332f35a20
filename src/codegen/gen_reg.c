/* codegen/gen_reg.c: registers of a list of instructions. Before: gen_loops.c begins a list;
 * gen_prim.c and its kin ask for operands and results.
 *
 * A list is straight code, so one pass forward allocates: a value takes a register when it is made
 * and gives it back at its last use; where none is free, the value whose next use is furthest away
 * goes to the frame (Belady 1966). Constants and values of other lists are read from memory where
 * they stand, the most used ones from registers that gen_loops.c pins for the whole loop. Loads
 * from buffers that the kernel does not write wait for their first use, which often takes them as
 * its memory operand. Invariant: registers read by the instruction in hand are locked until
 * dync__gen_end. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

DYNC__FN int dync__gen_frame(dync__gen *g, int bytes)
{
    int at = g->frame;
    g->frame += (bytes + 63) & ~63;
    return at;
}

DYNC__FN bool dync__gen_alloc_values(dync__gen *g, dync__arena *arena, int count)
{
    size_t n = (size_t)count;
    int32_t *ints = dync__arena_alloc(arena, 10 * n * sizeof *ints);
    g->scan = dync__arena_alloc(arena, n * sizeof *g->scan);
    g->val = dync__arena_alloc(arena, n * DYNC__GEN_UNROLL * sizeof *g->val);
    g->hoist = dync__arena_alloc(arena, n);
    g->leads = dync__arena_alloc(arena, n);
    g->pooled = dync__arena_alloc(arena, n);
    g->list = dync__arena_alloc(arena, (size_t)(g->n_lists + DYNC__GEN_CONES) * sizeof *g->list);
    if (!ints || !g->scan || !g->val || !g->hoist || !g->leads || !g->pooled || !g->list)
        return false;
    memset(g->pooled, 0, n);
    g->stream_of = ints;
    g->keep_stream = ints + n;
    g->slot = ints + 2 * n;
    g->in_list = ints + 3 * n;
    g->n_uses = ints + 4 * n;
    g->next_use = ints + 5 * n;
    g->last_use = ints + 6 * n;
    g->first_use = ints + 7 * n;
    g->pool_at = ints + 8 * n;
    g->cone_of = ints + 9 * n;
    memset(g->cone_of, 0xff, n * sizeof *ints);
    memset(g->pool_at, 0xff, n * sizeof *ints);
    memset(g->slot, 0xff, n * sizeof *ints);
    memset(g->in_list, 0xff, n * sizeof *ints);
    return true;
}

/* Operands in this list: a value read back from its row buffer has none. */
DYNC__FN int dync__gen_operands(const dync__gen *g, int list, int i, int32_t out[DYNC__GEN_ARGS])
{
    const dync__loop_plan *b = g->b;
    if (b->keep[i] && dync__lp_list(b, i) != list) return 0;
    int n = dync__gen_args(g, i, out);
    for (int a = 0; a < n; a++) out[a] = dync__gen_root(g, out[a]);
    return n;
}

DYNC__FN void dync__gen_begin_list(dync__gen *g, int list)
{
    const dync__gen_list *l = &g->list[list];
    int32_t arg[DYNC__GEN_ARGS];
    g->cur = list;
    g->uses.n = 0;
    for (int p = 0; p < l->n; p++) {
        g->in_list[l->at[p]] = list;
        g->n_uses[l->at[p]] = 0;
        g->last_use[l->at[p]] = -1;
    }
    for (int p = 0; p < l->n; p++)
        for (int a = dync__gen_operands(g, list, l->at[p], arg) - 1; a >= 0; a--)
            if (g->in_list[arg[a]] == list) g->n_uses[arg[a]]++;
    for (int p = 0, at = 0; p < l->n; p++) {
        g->first_use[l->at[p]] = g->next_use[l->at[p]] = at;
        at += g->n_uses[l->at[p]];
        for (int k = 0; k < g->n_uses[l->at[p]]; k++)
            if (!dync__avec_push(g->b->arena, &g->uses, 0)) g->a.failed = true;
    }
    if (g->a.failed) return;
    for (int p = 0; p < l->n; p++)
        for (int a = dync__gen_operands(g, list, l->at[p], arg) - 1; a >= 0; a--) {
            if (g->in_list[arg[a]] != list) continue;
            g->uses.at[g->next_use[arg[a]]++] = p;
            g->last_use[arg[a]] = p;
        }
}

DYNC__FN int dync__gen_pressure(dync__gen *g, int list)
{
    const dync__gen_list *l = &g->list[list];
    int live = 0, most = 0;
    int32_t arg[DYNC__GEN_ARGS];
    for (int p = 0; p < l->n; p++) {
        int i = l->at[p], n = dync__gen_operands(g, list, i, arg);
        bool small_load = dync__gen_inst(g, i)->prim == DYNC__P_load && g->n_uses[i] <= 1;
        for (int a = 0; a < n; a++) {
            int v = arg[a];
            bool again = false;
            for (int c = 0; c < a; c++) again |= arg[c] == v;
            if (!again && g->in_list[v] == list && g->last_use[v] == p &&
                !(dync__gen_inst(g, v)->prim == DYNC__P_load && g->n_uses[v] <= 1) &&
                !dync__gen_in_k(g, dync__gen_inst(g, v)->type))
                live--;
        }
        if (g->n_uses[i] > 0 && !small_load && !dync__gen_in_k(g, dync__gen_inst(g, i)->type))
            live++;
        most = DYNC__MAX(most, live + (small_load ? 1 : 0));
    }
    return most + 1;
}

DYNC__FN uint32_t dync__gen_all(const dync__gen *g)
{
    return g->n_regs == 32 ? 0xffffffffu : (1u << g->n_regs) - 1;
}

DYNC__FN void dync__gen_reset(dync__gen *g)
{
    const dync__gen_list *l = &g->list[g->cur];
    g->free_regs = dync__gen_all(g) & ~g->pinned;
    g->free_k = ((1u << g->a.t->n_masks) - 1) << 1;
    g->locked = g->temps = g->locked_k = g->temps_k = 0;
    for (int r = 0; r < 32; r++) g->owner[r] = -1;
    for (int r = 0; r < 8; r++) g->owner_k[r] = -1;
    for (int p = 0; p < l->n; p++) {
        g->next_use[l->at[p]] = g->first_use[l->at[p]];
        for (int u = 0; u < DYNC__GEN_UNROLL; u++)
            g->val[l->at[p] * DYNC__GEN_UNROLL + u] = (dync__gen_val){-1, false, -1};
    }
}

/* ---- spilling -------------------------------------------------------------------------------- */

static int dync__gen_spill_slot(dync__gen *g)
{
    if (g->free_spill.n > 0) return g->free_spill.at[--g->free_spill.n];
    return dync__gen_frame(g, 64);
}

DYNC__FN void dync__gen_free_spill(dync__gen *g, int slot)
{
    if (slot >= 0 && !dync__avec_push(g->b->arena, &g->free_spill, slot)) g->a.failed = true;
}

/* Where in the list a value is wanted next; the vectors after u still need what this instruction
 * reads. */
static int dync__gen_next(dync__gen *g, int owner)
{
    int v = owner / DYNC__GEN_UNROLL, u = owner % DYNC__GEN_UNROLL,
        end = g->first_use[v] + g->n_uses[v];
    while (g->next_use[v] < end && g->uses.at[g->next_use[v]] < g->pos) g->next_use[v]++;
    int at = g->next_use[v];
    while (u <= g->u && at < end && g->uses.at[at] == g->pos) at++;
    return at < end ? g->uses.at[at] : 1 << 30;
}

static int dync__gen_evict(dync__gen *g, int n_regs, const int32_t *owner, uint32_t locked)
{
    int best = -1, far = -1;
    for (int r = 0; r < n_regs; r++) {
        if (owner[r] < 0 || locked >> r & 1) continue;
        int next = dync__gen_next(g, owner[r]);
        if (next > far) {
            far = next;
            best = r;
        }
    }
    if (best < 0) g->a.failed = true;
    return best < 0 ? 1 : best;
}

DYNC__FN dync__vt dync__gen_vt_of(const dync__gen *g, int v)
{
    return dync__gen_vt(g, dync__gen_inst(g, v)->type);
}

DYNC__FN int dync__gen_alloc(dync__gen *g)
{
    uint32_t could = g->free_regs & ~g->locked;
    int r = could ? __builtin_ctz(could) : -1;
    if (r < 0) {
        r = dync__gen_evict(g, g->n_regs, g->owner, g->locked | g->pinned);
        if (g->owner[r] >= 0) {
            dync__gen_val *x = &g->val[g->owner[r]];
            if (x->spill < 0) {
                x->spill = dync__gen_spill_slot(g);
                DYNC__A(&g->a, STORE, .v = dync__gen_vt_of(g, g->owner[r] / DYNC__GEN_UNROLL),
                        .x = r, .y = dync__gen_at(x->spill));
            }
            x->reg = -1;
            g->owner[r] = -1;
        }
    }
    g->free_regs &= ~(1u << r);
    g->locked |= 1u << r;
    return r;
}

DYNC__FN int dync__gen_alloc_k(dync__gen *g)
{
    uint32_t could = g->free_k & ~g->locked_k;
    int r = could ? __builtin_ctz(could) : -1;
    if (r < 0) {
        r = dync__gen_evict(g, 8, g->owner_k, g->locked_k);
        if (g->owner_k[r] >= 0) {
            dync__gen_val *x = &g->val[g->owner_k[r]];
            if (x->spill < 0) {
                x->spill = dync__gen_spill_slot(g);
                DYNC__A(&g->a, STORE, .v = dync__gen_vt(g, DYNC_BOOL), .x = r,
                        .y = dync__gen_at(x->spill));
            }
            x->reg = -1;
            g->owner_k[r] = -1;
        }
    }
    g->free_k &= ~(1u << r);
    g->locked_k |= 1u << r;
    return r;
}

DYNC__FN int dync__gen_pin(dync__gen *g)
{
    uint32_t could = dync__gen_all(g) & ~g->pinned;
    if (!could) {
        g->a.failed = true;
        return 0;
    }
    int r = 31 - __builtin_clz(could);
    g->pinned |= 1u << r;
    return r;
}

DYNC__FN int dync__gen_temp(dync__gen *g)
{
    int r = dync__gen_alloc(g);
    g->temps |= 1u << r;
    return r;
}

DYNC__FN int dync__gen_temp_k(dync__gen *g)
{
    if (!g->a.t->n_masks) return dync__gen_temp(g);
    int r = dync__gen_alloc_k(g);
    g->temps_k |= 1u << r;
    return r;
}

DYNC__FN int dync__gen_scratch(dync__asm *a, int class_)
{
    return class_ == DYNC__CLASS_MASK ? dync__gen_temp_k(a->owner) : dync__gen_temp(a->owner);
}

#endif
