/* codegen/gen_gemm.c: the forms of gemm_code.h over verbs (target.h). Before: gemm_code.c keeps the
 * code of each form; under it gen_parts.c and gen_dots.c, and gen_after.c for what follows.
 *
 * A tile holds C in registers, rows x vectors of sums from 0 on, then vectors of B, last one or two
 * elements of A, each in all lanes. Registers: ARGS the arguments, T0 the counter; T1 A1 A2 A0 T2
 * rows of A five apart, LANE their step, A3 three steps; END b, A4 its step.
 * Sources: Goto and van de Geijn 2008; BLIS kernels/skx and haswell (register tiles); LIBXSMM (code
 * by shape). */
#include "../dync.in.h"
#include "fourier_code.h"
#include "gen_gemm.h"
#include "gen_transpose.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- sums ------------------------------------------------------------------------------------ */

DYNC__FN void dync__gen_products(dync__asm *a, const dync__gen_sums *s, int u)
{
    for (int v = 0; s->rows > 1 && v < s->vectors; v++) s->load(s->of, s->b + v, v, u);
    for (int i = 0; i < s->rows; i++) {
        int x = s->a + (i + u) % s->n_a;
        DYNC__A(a, SPREAD, .v = s->v, .to = x, .y = s->element(s->of, i, u));
        for (int v = 0; v < s->vectors; v++) {
            int z = 0;
            dync__place y = s->rows == 1 ? s->fold(s->of, v, u, &z) : dync__a_reg(s->b + v);
            if (s->dot)
                DYNC__A(a, DOT, .v = s->v, .to = i * s->vectors + v, .x = x, .y = y, .n = s->dot,
                        .z = z);
            else
                DYNC__A(a, FMA, .v = s->v, .to = i * s->vectors + v, .x = x, .y = y, .z = z);
        }
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static dync__place dync__gt_element(void *of, int i, int u)
{
    const dync__gtx *g = of;
    int bytes = g->wide ? 8 : 4;
    return g->flags & DYNC__GT_A_ROWS ? dync__gt_line(i, u * bytes)
                                      : dync__a_mem(DYNC__G_T1, i * bytes);
}

static void dync__gt_words_step(dync__gtx *g, int u)
{
    int n = g->rows * g->vectors, a = n + 2 * (g->rows > 1 ? g->vectors : 1);
    for (int i = 0; i < g->rows; i++) {
        DYNC__A(g->a, SPREAD, .v = g->vt, .to = a, .y = dync__gt_element(g, i, u));
        for (int v = 0; v < g->vectors; v++) {
            int even = n + 2 * (g->rows > 1 ? v : 0);
            if (i == 0)
                dync__gt_load_b(g, even + 1, dync__a_mem(DYNC__G_END, v * g->bytes),
                                dync__gt_part(g, v));
            if (i == 0) dync__gt_apart(g, even, even + 1);
            dync__gt_by_pairs(g, i * g->vectors + v, a, even, even + 1, a + 1);
        }
    }
}

/* Vectors of b; where a single row wants one that is converted or a part, it stands in the top
 * register. */
static void dync__gt_vector(void *of, int reg, int v, int u)
{
    dync__gtx *g = of;
    (void)u;
    dync__gt_load_b(g, reg, dync__a_mem(DYNC__G_END, v * dync__gt_wide(g)), dync__gt_part(g, v));
}

static bool dync__gt_mask_is_vector(const dync__gtx *g)
{
    return g->tile.mask && g->a->t->n_masks == 0;
}
static int dync__gt_top(const dync__gtx *g)
{
    return g->a->t->n_vectors - dync__gt_mask_is_vector(g) - 1;
}

/* While there are sums, verbs get the top register. */
static int dync__gt_scratch(dync__asm *a, int class_)
{
    (void)class_;
    return dync__gt_top((const dync__gtx *)(const void *)((const dync__gen *)a->owner)->tile);
}

static dync__place dync__gt_fold(void *of, int v, int u, int *z)
{
    dync__gtx *g = of;
    bool part = dync__gt_part(g, v);
    if (dync__gt_wide(g) != g->bytes || (part && g->a->t->n_masks == 0)) {
        dync__gt_vector(g, dync__gt_top(g), v, u);
        return dync__a_reg(dync__gt_top(g));
    }
    *z = part ? g->tile.mask : 0;
    return dync__a_mem(DYNC__G_END, v * dync__gt_wide(g));
}

static void dync__gt_sum_step(dync__gtx *g, int u)
{
    int n = g->rows * g->vectors, a = n + (g->rows > 1 ? g->vectors : 0);
    dync__gen_sums sums = {.v = g->vt,
                           .rows = g->rows,
                           .vectors = g->vectors,
                           .dot = dync__gt_dot(g->type),
                           .b = n,
                           .a = a,
                           .n_a = dync__gt_top(g) > a ? 2 : 1,
                           .of = g,
                           .element = dync__gt_element,
                           .load = dync__gt_vector,
                           .fold = dync__gt_fold};
    dync__gen_products(g->a, &sums, u);
}

static void dync__gt_step(dync__gtx *g, int u)
{
    if (g->words)
        dync__gt_words_step(g, u);
    else
        dync__gt_sum_step(g, u);
    dync__gt_add(g, DYNC__G_END, DYNC__G_A4);
    if (!(g->flags & DYNC__GT_A_ROWS)) dync__gt_add(g, DYNC__G_T1, DYNC__G_LANE);
}

/* Steps of k: four at a time, then one by one. */
static void dync__gt_steps(dync__gtx *g)
{
    enum { UNROLL = DYNC__GEMM_UNROLL };
    dync__asm *a = g->a;
    dync__place count = dync__a_reg(DYNC__G_T0);
    int body = dync__a_label(a), rest = dync__a_label(a), one = dync__a_label(a),
        done = dync__a_label(a), element = g->wide ? 8 : 4;
    dync__gt_get(g, DYNC__G_T0, DYNC__GT_ARG(k));
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_LT, .y = count, .n = UNROLL, .label = rest);
    dync__gt_bind(g, body);
    for (int u = 0; u < UNROLL; u++) dync__gt_step(g, u);
    if (g->flags & DYNC__GT_A_ROWS) dync__gt_lines_on(g, UNROLL * element);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_GE, .y = count, .n = UNROLL, .label = body);
    dync__gt_bind(g, rest);
    DYNC__A(a, ADD_JUMP, .op = DYNC__IF_EQ, .y = count, .n = UNROLL, .label = done);
    dync__gt_bind(g, one);
    dync__gt_step(g, 0);
    if (g->flags & DYNC__GT_A_ROWS) dync__gt_lines_on(g, element);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = count, .n = 1, .label = one);
    dync__gt_bind(g, done);
}

/* Operands of what follows: where each has its address and its step from row to row. */
static const struct {
    int8_t at, step;
    int32_t arg, arg_step;
} dync__gt_sources[] = {
    {DYNC__G_A1, DYNC__G_A2, offsetof(dync__gt_args, d), offsetof(dync__gt_args, d_step)},
    {DYNC__G_A3, DYNC__G_A4, offsetof(dync__gt_args, more[0]),
     offsetof(dync__gt_args, more_step[0])},
    {DYNC__G_A0, DYNC__G_T2, offsetof(dync__gt_args, more[1]),
     offsetof(dync__gt_args, more_step[1])}};

static bool dync__gt_same(const dync__gtx *g, int source)
{
    return g->after->stream.at[source].lane == DYNC__GL_SAME;
}

static dync__place dync__gt_source(const dync__gen_tile *tile, int source)
{
    const dync__gtx *g = (const dync__gtx *)(const void *)tile;
    return dync__a_mem(dync__gt_sources[source].at, dync__gt_same(g, source) ? 0 : g->v * g->bytes);
}

static bool dync__gt_reads(const dync__gtx *g, int source)
{
    for (int i = 1; i < g->after->b->k->inst.n; i++)
        if (g->after->stream_of[i] == source) return true;
    return false;
}

/* Every accumulator through what follows, and stored. */
static void dync__gt_tile_end(dync__gtx *g)
{
    int n = g->rows * g->vectors, sources = g->after->stream.n;
    uint32_t taken = (uint32_t)((UINT64_C(1) << n) - 1);
    if (dync__gt_mask_is_vector(g)) taken |= 1u << g->tile.mask;
    dync__gt_get(g, DYNC__G_T1, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__G_LANE, DYNC__GT_ARG(c_step));
    for (int s = 0; s < sources; s++) {
        if (!dync__gt_reads(g, s)) continue;
        dync__gt_get(g, dync__gt_sources[s].at, dync__gt_arg((size_t)dync__gt_sources[s].arg));
        dync__gt_get(g, dync__gt_sources[s].step,
                     dync__gt_arg((size_t)dync__gt_sources[s].arg_step));
    }
    for (int i = 0; i < g->rows; i++) {
        uint32_t held = dync__gen_after_row(g->after, taken);
        for (g->v = 0; g->v < g->vectors; g->v++) {
            bool part = g->after->masked = dync__gt_part(g, g->v);
            int c = dync__gen_after(g->after, i * g->vectors + g->v, taken | held);
            dync__gt_store(g, c, dync__a_mem(DYNC__G_T1, g->v * g->bytes), part);
        }
        if (i + 1 == g->rows) break;
        dync__gt_add(g, DYNC__G_T1, DYNC__G_LANE);
        for (int s = 0; s < sources; s++)
            if (dync__gt_reads(g, s))
                dync__gt_add(g, dync__gt_sources[s].at, dync__gt_sources[s].step);
    }
}

/* Long enough before they are stored for C's lines to arrive. */
static void dync__gt_prefetch(dync__gtx *g)
{
    dync__gt_get(g, DYNC__G_T0, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__G_LANE, DYNC__GT_ARG(c_step));
    for (int i = 0; i < g->rows; i++) {
        for (int b = 0; b < g->vectors * g->bytes; b += 64)
            DYNC__A(g->a, PREFETCH, .y = dync__a_mem(DYNC__G_T0, b), .n = 1);
        dync__gt_add(g, DYNC__G_T0, DYNC__G_LANE);
    }
}

/* An argument moves by another one. */
static void dync__gt_emit_on(dync__gtx *g, size_t arg, size_t by)
{
    dync__gt_get(g, DYNC__G_T0, dync__gt_arg(by));
    DYNC__A(g->a, ADD_TO, .x = DYNC__G_T0, .y = dync__gt_arg(arg));
}

/* To the next columns of one product. */
static void dync__gt_emit_columns(dync__gtx *g)
{
    int width = g->vectors * g->bytes;
    DYNC__A(g->a, ADD_N, .y = DYNC__GT_ARG(c), .n = width);
    for (int i = 0; i < g->after->stream.n; i++)
        if (dync__gt_reads(g, i) && !dync__gt_same(g, i))
            DYNC__A(g->a, ADD_N, .y = dync__gt_arg((size_t)dync__gt_sources[i].arg), .n = width);
}

/* To the next product. */
static void dync__gt_emit_next(dync__gtx *g)
{
    dync__gt_emit_on(g, offsetof(dync__gt_args, a), offsetof(dync__gt_args, a_next));
    dync__gt_emit_on(g, offsetof(dync__gt_args, c), offsetof(dync__gt_args, c_next));
    for (int i = 1; i < g->after->stream.n; i++)
        if (dync__gt_reads(g, i))
            dync__gt_emit_on(g, (size_t)dync__gt_sources[i].arg,
                             offsetof(dync__gt_args, more_next) +
                                 (size_t)(i - 1) * sizeof(int64_t));
}

static void dync__gt_tile(dync__gtx *g)
{
    dync__asm *a = g->a;
    int block = dync__a_label(a);
    DYNC__A(a, ENTER, .n = dync__gt_saved(g));
    dync__gt_mask(g);
    dync__gt_bind(g, block);
    if (!(g->flags & DYNC__GT_A_ROWS) && g->rows >= DYNC__GEMM_TOLD_C) dync__gt_prefetch(g);
    if (g->flags & DYNC__GT_A_ROWS)
        dync__gt_lines(g, DYNC__GT_ARG(a));
    else {
        dync__gt_get(g, DYNC__G_T1, DYNC__GT_ARG(a));
        dync__gt_get(g, DYNC__G_LANE, DYNC__GT_ARG(a_step));
    }
    dync__gt_get(g, DYNC__G_END, DYNC__GT_ARG(b));
    dync__gt_get(g, DYNC__G_A4, DYNC__GT_ARG(b_step));
    for (int c = 0; c < g->rows * g->vectors; c++) DYNC__A(a, ZERO, .v = g->vt, .to = c);
    a->scratch = dync__gt_scratch;
    dync__gt_steps(g);
    a->scratch = dync__gen_scratch;
    dync__gt_tile_end(g);
    dync__gt_emit_on(g, offsetof(dync__gt_args, b), offsetof(dync__gt_args, b_next));
    if (g->flags & DYNC__GT_MANY)
        dync__gt_emit_next(g);
    else
        dync__gt_emit_columns(g);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = DYNC__GT_ARG(blocks), .n = 1, .label = block);
    DYNC__A(a, LEAVE, .n = dync__gt_saved(g));
}

/* ---- a form ---------------------------------------------------------------------------------- */

static void dync__gt_emit(dync__gtx *g, int kind)
{
    switch (kind) {
    case DYNC__GT_TILE: dync__gt_tile(g); break;
    case DYNC__GT_DOTS: dync__gt_dots(g); break;
    case DYNC__GT_SWAP:
        dync__tr_blocks(g->a, g->rows, 1 << g->vectors % 4, g->vectors > 3, g->flags);
        break;
    case DYNC__GT_STAGE: dync__tr_stage(g->a, g->rows, g->flags & 1, g->flags & 2); break;
    case DYNC__GT_WEAVE: dync__tr_weave(g->a, g->rows, g->vectors, g->flags); break;
    case DYNC__GT_FOURIER: dync__gf_emit(g); break;
    default: dync__gt_copy(g, kind == DYNC__GT_PAIR);
    }
}

/* What stands for the lanes of the part: a mask, or their number. */
static void dync__gt_tile_of(dync__gtx *g, const dync__target *t, int kind)
{
    g->tile.at = dync__gt_source;
    if (!(g->flags & DYNC__GT_TAIL)) return;
    if (!t->part(t, g->wide ? 8 : 4))
        g->tile.left = DYNC__G_A5;
    else
        g->tile.mask = (int8_t)(t->n_masks ? 1 : t->n_vectors - 1);
    if (kind == DYNC__GT_TILE && g->tile.mask && t->n_masks == 0) g->tile.count = DYNC__G_A5;
}

DYNC__FN bool dync__gt_generate(const dync__target *t, int kind, int type, int rows, int vectors,
                                int flags, dync__codeblock *block, bool *refused)
{
    static const char *const kinds[] = {"tile", "dots",  "copy",  "pair",
                                        "swap", "stage", "weave", "fourier"},
                             *const types[] = {"f32", "f64", "bf16", "u8", "as f16", "as bf16"};
    bool ok = false, wide = type == DYNC__GT_F64;
    dync__arena arena = {0};
    dync__str listing = {0};
    dync__gtx g = {.type = type,
                   .rows = rows,
                   .vectors = vectors,
                   .flags = kind == DYNC__GT_FOURIER ? 0 : flags,
                   .wide = wide,
                   .words = type == DYNC__GT_U8 && t->dot(t, DYNC_U8) == DYNC__DOT_PAIRS};
    g.bytes = g.flags & DYNC__GT_HALF ? DYNC__MIN(32, t->vector_bytes) : t->vector_bytes;
    g.vt = dync__vt_of(wide                  ? DYNC_F64
                       : type == DYNC__GT_U8 ? DYNC_I32
                                             : DYNC_F32,
                       g.bytes / (wide ? 8 : 4));
    dync__gt_tile_of(&g, t, kind);
    g.flags = flags;
    dync__after list = dync__gt_after_list(kind == DYNC__GT_TILE ? flags : 0, type);
    g.after = dync__gen_after_new(&arena, &g.tile, t, g.vt.lanes, &list);
    if (!g.after) return dync__arena_free(&arena), false;
    g.a = &g.after->a;
    if (dync__a_listed()) g.a->listing = &listing;
    if (dync__avec_reserve(&arena, &g.a->code, 4096)) {
        dync__gt_emit(&g, kind);
        *refused = g.a->failed && list.n > 1;
        ok = dync__a_install(g.a, block) > 0;
    }
    if (ok && g.a->listing) {
        char name[80];
        dync__format(name, sizeof name, "gemm_%s_%s rows %d vectors %d flags %d", kinds[kind],
                     types[type], rows, vectors, flags);
        dync__log_text(DYNC__LOG_code, name, dync__str_get(&listing));
    }
    dync__str_free(&listing);
    dync__arena_free(&arena);
    return ok;
}
#endif
