/* codegen/interp_cold.c: the cold path: what only a select that rarely holds needs, such as fmod of
 * a quotient beyond 2^250, is skipped by the tile interpreter where no lane of the tile wants it,
 * as machine code goes round it (gen_cold.c). Before: plan_loops.c (levels, what is needed);
 * after: interp_emit.c, which emits the skip. Instructions that stand one after another before
 * their select are looked for, and no others. */
#include "../dync.in.h"
#include "interp_build.h"
DYNC__LEAN

static void dync__ib_cold_escape(const dync__ib *b, uint8_t *escapes, int i)
{
    int32_t arg[3];
    int n = dync__lp_operands(&b->p, i, arg);
    for (int a = 0; a < n; a++) escapes[arg[a]] = 1;
}

/* The first instruction of those before `select` that it alone needs for its second operand; select
 * itself where they are too few. What makes no step here (constants, values of rows) may stand
 * among them. escapes: by instruction, scratch. */
static int dync__ib_cold_first(const dync__ib *b, int select, uint8_t *escapes)
{
    const dync__inst *s = dync__lp_inst(&b->p, select);
    int first = select, worth = 0, list = dync__lp_list(&b->p, select);
    memset(escapes, 0, (size_t)b->p.k->inst.n);
    for (int i = select + 1; i < b->p.k->inst.n; i++)
        if (b->p.needed[i]) dync__ib_cold_escape(b, escapes, i);
    escapes[s->arg[0]] = escapes[s->arg[2]] = 1;
    for (int i = select - 1; i >= 0; i--) {
        const dync__inst *in = dync__lp_inst(&b->p, i);
        if (!b->p.needed[i] || in->prim == DYNC__P_const_) continue;
        if (b->p.level[i] < 2) {
            dync__ib_cold_escape(b, escapes, i);
            continue;
        }
        bool plain = in->buf < 0 && in->prim != DYNC__P_reduce && in->prim != DYNC__P_scan &&
                     in->prim != DYNC__P_random;
        if (escapes[i] || !plain || dync__lp_list(&b->p, i) != list) break;
        first = i;
        worth++;
    }
    return worth < DYNC__COLD_WORTH || s->arg[0] >= first ? select : first;
}

DYNC__FN void dync__ib_find_cold(dync__ib *b)
{
    int n = b->p.k->inst.n;
    uint8_t *escapes = dync__arena_alloc(b->p.arena, (size_t)n);
    if (!escapes) {
        b->failed = true;
        return;
    }
    for (int i = 0; i < n; i++) b->cold[i] = -1;
    for (int i = 0; i < n; i++) {
        const dync__inst *in = dync__lp_inst(&b->p, i);
        if (!b->p.needed[i] || in->prim != DYNC__P_select || in->imm.i != 1 || b->p.level[i] < 2 ||
            b->p.clamp[i])
            continue;
        int first = dync__ib_cold_first(b, i, escapes);
        if (first < i) b->cold[first] = i;
    }
}
