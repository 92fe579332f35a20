/* codegen/gen_after.c: the list of after.h as code inside a tile. gen_gemm.c and gen_conv.c ask for
 * it, accumulator by accumulator; under it gen_reg.c (registers) and gen_prim.c (primitives), as
 * for the list of a kernel.
 *
 * To those the list is a kernel of one list whose value 0 stands in a register already and whose
 * loads lie where the tile says. The registers are those that the tile does not hold at that
 * moment. A list that would need memory of its own is refused: tiles have no frame. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

/* Entries as instructions; constants stand in the pool and are in no list. */
static bool dync__gen_after_kernel(dync__gen *g, dync__arena *arena, dync__kernel *k,
                                   const dync__after *list)
{
    bool ok = true;
    for (int s = 0; ok && s < list->n_sources; s++) {
        dync__gen_stream stream = {.access = -1,
                                   .buf = s,
                                   .inst = -1,
                                   .kind = DYNC__GS_MEM,
                                   .lane = DYNC__GL_DENSE,
                                   .gpr = -1,
                                   .led = -1,
                                   .pointer = -1};
        dync__buf buf = {.id = s, .mode = DYNC__BUF_IN, .size = -1};
        ok = dync__avec_push(arena, &g->stream, stream) && dync__avec_push(arena, &k->buf, buf);
    }
    for (int32_t i = 0; ok && i < list->n; i++) {
        const dync__after_op *op = &list->op[i];
        dync__inst in = dync__inst_make(op->prim, op->type, op->arg[0], op->arg[1], op->arg[2]);
        bool load = i > 0 && op->prim == DYNC__P_load;
        memcpy(&in.imm, &op->imm, sizeof in.imm);
        in.buf = load ? op->source : -1;
        g->stream_of[i] = in.buf;
        if (load) {
            if (op->same) g->stream.at[op->source].lane = DYNC__GL_SAME;
            g->stream.at[op->source].bytes = dync__dtype_info(op->type)->bytes;
            k->buf.at[op->source].dtype = op->type;
        }
        ok = dync__avec_push(arena, &k->inst, in);
        if (ok && op->prim != DYNC__P_const_ && op->prim != DYNC__P_bitcast)
            ok = dync__avec_push(arena, &g->list[0], i);
    }
    return ok;
}

DYNC__FN dync__gen *dync__gen_after_new(dync__arena *arena, const dync__gen_tile *tile,
                                        const dync__target *t, int lanes, const dync__after *list)
{
    size_t n = (size_t)list->n + 1;
    dync__gen *g = dync__arena_alloc(arena, sizeof *g);
    dync__loop_plan *b = dync__arena_alloc(arena, sizeof *b);
    dync__kernel *k = dync__arena_alloc(arena, sizeof *k);
    uint8_t *none = dync__arena_alloc(arena, n); /* what a kernel may have and a list has not */
    if (!g || !b || !k || !none) return NULL;
    *b = (dync__loop_plan){.k = k, .arena = arena, .keep = none, .level = none, .clamp = none};
    g->b = b;
    g->n_lists = 1;
    if (!dync__gen_alloc_values(g, arena, (int)n)) return NULL;
    g->V = lanes;
    g->U = 1;
    dync__a_begin(&g->a, t, arena);
    g->a.owner = g;
    g->a.scratch = dync__gen_scratch;
    g->n_regs = g->a.t->n_vectors;
    g->cone_now = -1;
    g->in_phase = true;
    g->tile = tile;
    memset(g->hoist, 0xff, n);
    memset(g->keep_stream, 0xff, n * sizeof *g->keep_stream);
    if (!dync__gen_after_kernel(g, arena, k, list)) return NULL;
    dync__gen_begin_list(g, 0);
    return g;
}

DYNC__FN uint32_t dync__gen_after_row(dync__gen *g, uint32_t taken)
{
    const dync__gen_list *list = &g->list[0];
    uint32_t held = 0;
    for (int p = 1; p < list->n && !g->a.failed; p++) {
        int i = list->at[p], s = g->stream_of[i];
        uint32_t could = dync__gen_all(g) & ~(taken | held);
        if (s < 0 || g->stream.at[s].lane != DYNC__GL_SAME) continue;
        if (!could) g->a.failed = true;
        if (!could) break;
        g->hoist[i] = (int8_t)__builtin_ctz(could);
        held |= 1u << g->hoist[i];
        dync__gen_load_now(g, i, g->hoist[i]);
    }
    return held;
}

DYNC__FN int dync__gen_after(dync__gen *g, int reg, uint32_t taken)
{
    const dync__gen_list *list = &g->list[0];
    if (list->n < 2 || g->a.failed) return reg;
    g->pinned = taken | 1u << reg;
    dync__gen_reset(g);
    if (g->a.t->n_masks) g->free_k &= ~(1u << g->tile->mask);
    dync__gen_set(g, 0, reg);
    for (g->pos = 0;; g->pos++) {
        int i = list->at[g->pos];
        if (g->pos > 0 && dync__gen_refuses(g, i))
            g->a.failed = true;
        else if (g->pos > 0 && dync__gen_inst(g, i)->prim != DYNC__P_load)
            dync__gen_prim(g, i);
        else if (g->pos > 0 && g->hoist[i] < 0)
            dync__gen_load(g, i);
        if (g->a.failed || g->pos + 1 == list->n) break;
        dync__gen_end(g);
    }
    if (g->frame > 0) g->a.failed = true;
    return g->a.failed ? reg : dync__gen_src(g, g->b->k->inst.n - 1);
}
#endif
