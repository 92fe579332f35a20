/* codegen/x86_gemm.c: x86-64 code for the forms of gemm_code.h. Before: kernel/gemm.c asks; under
 * it: x86_enc.c, asm.c.
 *
 * A tile holds C in registers: 14 x 2 vectors under AVX-512, 6 x 2 under AVX2, and two vectors of
 * B, one or two broadcast elements of A. Forms are kept in a table that readers search without a
 * lock: a slot's key is written before its code, and neither changes until shutdown. Registers: rdi
 * the arguments, rax the counter, rsi r8 r9 rbx rbp lines five apart, rcx their step, r10 three
 * steps, rdx b, r11 its step. Sources: Goto and van de Geijn 2008; BLIS kernels/skx and haswell
 * (register tiles); LIBXSMM (code by shape). */
#include "../dync.in.h"
#include "gemm_code.h"
#include "codemem.h"
#include "x86_enc.h"
#include "gen.h"
#include "gen_transpose.h"
#include "x86_tile.h"

#if DYNC__JIT_X86
#include <stddef.h>

typedef struct dync__gtx {
    dync__gen_tile tile; /* first */
    dync__asm *x;
    dync__gen *after;
    int v; /* vector of the row at hand */
    int type, rows, vectors, flags, vl, bytes, n_regs;
    bool wide, words; /* elements of 8 bytes; fours of bytes as pairs of words */
} dync__gtx;
typedef struct dync__gt_form {
    uint32_t key;
    bool refused; /* what follows is too much for its registers: no code */
    dync__gt_fn fn;
    dync__codeblock block;
} dync__gt_form;
enum { DYNC__GT_FORMS = 1024 };
static struct {
    dync__mutex lock;
    int n;
    uint32_t epoch;
    int32_t refused;
    dync__gt_form form[DYNC__GT_FORMS];
} dync__gts;

static const struct {
    int mul, add, broadcast; /* add: of DOTS */
} dync__gt_insn[] = {{DYNC__X_FMA231PS, DYNC__X_ADDPS, DYNC__X_BROADCASTD},
                     {DYNC__X_FMA231PD, DYNC__X_ADDPD, DYNC__X_BROADCASTQ},
                     {DYNC__X_DPBF16PS, DYNC__X_ADDPS, DYNC__X_BROADCASTD},
                     {DYNC__X_DPBUSD, DYNC__X_PADDD, DYNC__X_BROADCASTD},
                     {DYNC__X_FMA231PS, DYNC__X_ADDPS, DYNC__X_BROADCASTD},
                     {DYNC__X_FMA231PS, DYNC__X_ADDPS, DYNC__X_BROADCASTD}};
static const int8_t dync__gt_base[5] = {DYNC__RSI, DYNC__R8, DYNC__R9, DYNC__RBX, DYNC__RBP};

static dync__place dync__gt_arg(size_t at) { return dync__a_mem(DYNC__RDI, (int32_t)at); }
#define DYNC__GT_ARG(field) dync__gt_arg(offsetof(dync__gt_args, field))
static void dync__gt_get(dync__gtx *g, int reg, dync__place from)
{
    dync__x_i(g->x, DYNC__X_MOV, reg, from, 0);
}
static void dync__gt_add(dync__gtx *g, int reg, int with)
{
    dync__x_i(g->x, DYNC__X_ADD, reg, dync__a_reg(with), 0);
}
static void dync__gt_addi(dync__gtx *g, int reg, int n)
{
    dync__x_i(g->x, DYNC__X_ADDI, 0, dync__a_reg(reg), n);
}
static void dync__gt_move(dync__gtx *g, int insn, int reg, dync__place rm, int k)
{
    dync__x_v(g->x, insn, g->vl, reg, 0, rm, 0, k);
}

/* ---- vectors, the last one perhaps a part ---------------------------------------------------- */

static bool dync__gt_part(const dync__gtx *g, int v)
{
    return (g->flags & DYNC__GT_TAIL) && v == g->vectors - 1;
}

/* AVX2 has its mask in the last register. */
static void dync__gt_mask(dync__gtx *g)
{
    if (!(g->flags & DYNC__GT_TAIL)) return;
    if (dync__x_evex_of(g->x))
        dync__x_k(g->x, DYNC__X_KMOVW, 1, 0, DYNC__GT_ARG(mask), 0);
    else {
        dync__gt_get(g, DYNC__RAX, DYNC__GT_ARG(lanes));
        dync__gt_move(g, DYNC__X_MOVUPS, 15, dync__a_mem(DYNC__RAX, 0), 0);
    }
}

static void dync__gt_load(dync__gtx *g, int reg, dync__place from, bool part)
{
    if (part && !dync__x_evex_of(g->x))
        dync__x_v(g->x, g->wide ? DYNC__X_MASKMOVPD : DYNC__X_MASKMOVPS, g->vl, reg, 15, from, 0,
                  0);
    else
        dync__gt_move(g, g->wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, reg, from,
                      part ? 1 | DYNC__X_ZERO : 0);
}

/* A vector of b; f16 and bf16 become f32. */
static void dync__gt_load_b(dync__gtx *g, int reg, dync__place from, bool part)
{
    if (g->type < DYNC__GT_AS_F16)
        dync__gt_load(g, reg, from, part);
    else
        dync__gt_move(g, g->type == DYNC__GT_AS_F16 ? DYNC__X_CVTPH2PS : DYNC__X_PMOVZXWD, reg,
                      from, part ? 1 | DYNC__X_ZERO : 0);
    if (g->type == DYNC__GT_AS_BF16)
        dync__x_v(g->x, DYNC__X_PSLLD, g->vl, 0, reg, dync__a_reg(reg), 16, 0);
}

static void dync__gt_store(dync__gtx *g, int reg, dync__place to, bool part)
{
    if (part && !dync__x_evex_of(g->x))
        dync__x_v(g->x, g->wide ? DYNC__X_MASKMOVPD_M : DYNC__X_MASKMOVPS_M, g->vl, reg, 15, to, 0,
                  0);
    else
        dync__gt_move(g, g->wide ? DYNC__X_MOVUPD_M : DYNC__X_MOVUPS_M, reg, to, part ? 1 : 0);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* `rows` rows of a, a_step apart: every fifth has a register. */
static void dync__gt_lines(dync__gtx *g, dync__place from)
{
    dync__gt_get(g, DYNC__RCX, DYNC__GT_ARG(a_step));
    dync__x_i(g->x, DYNC__X_LEA, DYNC__R10, dync__a_index(DYNC__RCX, DYNC__RCX, 2, 0), 0);
    dync__gt_get(g, dync__gt_base[0], from);
    for (int i = 5; i < g->rows; i += 5) {
        dync__x_i(g->x, DYNC__X_LEA, dync__gt_base[i / 5],
                  dync__a_index(dync__gt_base[i / 5 - 1], DYNC__RCX, 4, 0), 0);
        dync__gt_add(g, dync__gt_base[i / 5], DYNC__RCX);
    }
}

static dync__place dync__gt_line(int i, int32_t disp)
{
    static const int8_t scale[5] = {0, 1, 2, 1, 4};
    int base = dync__gt_base[i / 5], n = i % 5;
    return n == 0 ? dync__a_mem(base, disp)
                  : dync__a_index(base, n == 3 ? DYNC__R10 : DYNC__RCX, scale[n], disp);
}

static void dync__gt_lines_on(dync__gtx *g, int bytes)
{
    for (int i = 0; i < g->rows; i += 5) dync__gt_addi(g, dync__gt_base[i / 5], bytes);
}

static void dync__gt_saved(dync__gtx *g, bool push)
{
    static const int8_t saved[2] = {DYNC__RBX, DYNC__RBP};
    for (int i = 0; i < 2; i++) {
        if (push)
            dync__x_push(g->x, saved[i]);
        else
            dync__x_pop(g->x, saved[1 - i]);
    }
}

/* ---- fours of bytes without VNNI ------------------------------------------------------------- */
/* Bytes of b become words, the even and the odd ones apart; so do those of a, and pairs of words
 * are multiplied and added: vpmaddwd is exact where vpmaddubsw saturates. */

/* b is in odd. */
static void dync__gt_apart(dync__gtx *g, int even, int odd)
{
    dync__x_v(g->x, DYNC__X_PSLLW, g->vl, 0, even, dync__a_reg(odd), 8, 0);
    dync__x_v(g->x, DYNC__X_PSRAW, g->vl, 0, even, dync__a_reg(even), 8, 0);
    dync__x_v(g->x, DYNC__X_PSRAW, g->vl, 0, odd, dync__a_reg(odd), 8, 0);
}

static void dync__gt_by_pairs(dync__gtx *g, int acc, int a, int even, int odd, int t)
{
    dync__x_v(g->x, DYNC__X_ANDPS, g->vl, t, a, dync__a_constant(g->x, 0x00ff00ff, 4), 0, 0);
    dync__x_v(g->x, DYNC__X_PMADDWD, g->vl, t, t, dync__a_reg(even), 0, 0);
    dync__x_v(g->x, DYNC__X_PADDD, g->vl, acc, acc, dync__a_reg(t), 0, 0);
    dync__x_v(g->x, DYNC__X_PSRLW, g->vl, 0, t, dync__a_reg(a), 8, 0);
    dync__x_v(g->x, DYNC__X_PMADDWD, g->vl, t, t, dync__a_reg(odd), 0, 0);
    dync__x_v(g->x, DYNC__X_PADDD, g->vl, acc, acc, dync__a_reg(t), 0, 0);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static dync__place dync__gt_element(void *of, int i, int u)
{
    const dync__gtx *g = of;
    int bytes = g->wide ? 8 : 4;
    return g->flags & DYNC__GT_A_ROWS ? dync__gt_line(i, u * bytes)
                                      : dync__a_mem(DYNC__RSI, i * bytes);
}

/* Bytes of a vector of b in memory. */
static int dync__gt_wide(const dync__gtx *g) { return g->bytes >> (g->type >= DYNC__GT_AS_F16); }

static void dync__gt_words_step(dync__gtx *g, int u)
{
    int n = g->rows * g->vectors, a = n + 2 * (g->rows > 1 ? g->vectors : 1);
    for (int i = 0; i < g->rows; i++) {
        dync__x_v(g->x, DYNC__X_BROADCASTD, g->vl, a, 0, dync__gt_element(g, i, u), 0, 0);
        for (int v = 0; v < g->vectors; v++) {
            int even = n + 2 * (g->rows > 1 ? v : 0);
            if (i == 0)
                dync__gt_load_b(g, even + 1, dync__a_mem(DYNC__RDX, v * g->bytes),
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
    dync__gt_load_b(g, reg, dync__a_mem(DYNC__RDX, v * dync__gt_wide(g)), dync__gt_part(g, v));
}

static int dync__gt_top(const dync__gtx *g)
{
    return g->n_regs - (!dync__x_evex_of(g->x) && (g->flags & DYNC__GT_TAIL) ? 1 : 0);
}

static dync__place dync__gt_fold(void *of, int v, int u, int *k)
{
    dync__gtx *g = of;
    bool part = dync__gt_part(g, v);
    if (dync__gt_wide(g) != g->bytes || (part && !dync__x_evex_of(g->x))) {
        dync__gt_vector(g, dync__gt_top(g) - 1, v, u);
        return dync__a_reg(dync__gt_top(g) - 1);
    }
    *k = part ? 1 : 0;
    return dync__a_mem(DYNC__RDX, v * dync__gt_wide(g));
}

static void dync__gt_fma_step(dync__gtx *g, int u)
{
    int n = g->rows * g->vectors, a = n + (g->rows > 1 ? g->vectors : 0);
    dync__xsum sum = {.vl = g->vl,
                      .rows = g->rows,
                      .vectors = g->vectors,
                      .mul = dync__gt_insn[g->type].mul,
                      .spread = dync__gt_insn[g->type].broadcast,
                      .b = n,
                      .a = a,
                      .n_a = dync__gt_top(g) - a > 1 ? 2 : 1,
                      .of = g,
                      .element = dync__gt_element,
                      .load = dync__gt_vector,
                      .fold = dync__gt_fold};
    dync__xsum_step(g->x, &sum, u);
}

static void dync__gt_step(dync__gtx *g, int u)
{
    if (g->words)
        dync__gt_words_step(g, u);
    else
        dync__gt_fma_step(g, u);
    dync__gt_add(g, DYNC__RDX, DYNC__R11);
    if (!(g->flags & DYNC__GT_A_ROWS)) dync__gt_add(g, DYNC__RSI, DYNC__RCX);
}

/* Steps of k: four at a time, then one by one. */
static void dync__gt_steps(dync__gtx *g)
{
    enum { UNROLL = 4 };
    dync__asm *x = g->x;
    int body = dync__a_label(x), rest = dync__a_label(x), one = dync__a_label(x),
        done = dync__a_label(x), element = g->wide ? 8 : 4;
    dync__gt_get(g, DYNC__RAX, DYNC__GT_ARG(k));
    dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__RAX), UNROLL);
    dync__x_jump(x, DYNC__CC_L, rest);
    dync__x_bind(x, body);
    for (int u = 0; u < UNROLL; u++) dync__gt_step(g, u);
    if (g->flags & DYNC__GT_A_ROWS) dync__gt_lines_on(g, UNROLL * element);
    dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__RAX), UNROLL);
    dync__x_jump(x, DYNC__CC_GE, body);
    dync__x_bind(x, rest);
    dync__gt_addi(g, DYNC__RAX, UNROLL);
    dync__x_jump(x, DYNC__CC_E, done);
    dync__x_bind(x, one);
    dync__gt_step(g, 0);
    if (g->flags & DYNC__GT_A_ROWS) dync__gt_lines_on(g, element);
    dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__RAX), 1);
    dync__x_jump(x, DYNC__CC_NE, one);
    dync__x_bind(x, done);
}

/* Operands of what follows: where each has its address and its step from row to row. */
static const struct {
    int8_t at, step;
    int32_t arg, arg_step;
} dync__gt_sources[] = {
    {DYNC__R8, DYNC__R9, offsetof(dync__gt_args, d), offsetof(dync__gt_args, d_step)},
    {DYNC__R10, DYNC__R11, offsetof(dync__gt_args, more[0]), offsetof(dync__gt_args, more_step[0])},
    {DYNC__RBX, DYNC__RBP, offsetof(dync__gt_args, more[1]),
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
    dync__asm *x = g->x;
    int n = g->rows * g->vectors, sources = g->after->stream.n;
    uint32_t taken = (uint32_t)((UINT64_C(1) << n) - 1);
    if (g->tile.mask && !dync__x_evex_of(x)) taken |= 1u << g->tile.mask;
    dync__gt_get(g, DYNC__RSI, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__RCX, DYNC__GT_ARG(c_step));
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
            dync__gt_store(g, c, dync__a_mem(DYNC__RSI, g->v * g->bytes), part);
        }
        if (i + 1 == g->rows) break;
        dync__gt_add(g, DYNC__RSI, DYNC__RCX);
        for (int s = 0; s < sources; s++)
            if (dync__gt_reads(g, s))
                dync__gt_add(g, dync__gt_sources[s].at, dync__gt_sources[s].step);
    }
}

static void dync__gt_tile(dync__gtx *g)
{
    dync__asm *x = g->x;
    int block = dync__a_label(x), width = g->vectors * g->bytes;
    dync__gt_saved(g, true);
    dync__gt_mask(g);
    dync__x_bind(x, block);
    /* packed: long enough for C to arrive meanwhile */
    if (!(g->flags & DYNC__GT_A_ROWS) && g->rows > 4) {
        dync__gt_get(g, DYNC__RAX, DYNC__GT_ARG(c));
        dync__gt_get(g, DYNC__RCX, DYNC__GT_ARG(c_step));
        for (int i = 0; i < g->rows; i++) {
            for (int b = 0; b < width; b += 64)
                dync__x_i(x, DYNC__X_PREFETCHT0, 0, dync__a_mem(DYNC__RAX, b), 0);
            dync__gt_add(g, DYNC__RAX, DYNC__RCX);
        }
    }
    if (g->flags & DYNC__GT_A_ROWS)
        dync__gt_lines(g, DYNC__GT_ARG(a));
    else {
        dync__gt_get(g, DYNC__RSI, DYNC__GT_ARG(a));
        dync__gt_get(g, DYNC__RCX, DYNC__GT_ARG(a_step));
    }
    dync__gt_get(g, DYNC__RDX, DYNC__GT_ARG(b));
    dync__gt_get(g, DYNC__R11, DYNC__GT_ARG(b_step));
    for (int c = 0; c < g->rows * g->vectors; c++)
        dync__x_v(x, DYNC__X_XORPS, g->vl, c, c, dync__a_reg(c), 0, 0);
    dync__gt_steps(g);
    dync__gt_tile_end(g);
    dync__gt_get(g, DYNC__RAX, DYNC__GT_ARG(b_next));
    dync__x_i(x, DYNC__X_ADD_M, DYNC__RAX, DYNC__GT_ARG(b), 0);
    dync__x_i(x, DYNC__X_ADDI, 0, DYNC__GT_ARG(c), width);
    for (int i = 0; i < g->after->stream.n; i++)
        if (dync__gt_reads(g, i) && !dync__gt_same(g, i))
            dync__x_i(x, DYNC__X_ADDI, 0, dync__gt_arg((size_t)dync__gt_sources[i].arg), width);
    dync__x_i(x, DYNC__X_SUBI, 0, DYNC__GT_ARG(blocks), 1);
    dync__x_jump(x, DYNC__CC_NE, block);
    dync__gt_saved(g, false);
    dync__x_ret(x);
}

/* ---- inner products -------------------------------------------------------------------------- */

static const int8_t dync__gt_dot_a[4] = {DYNC__RSI, DYNC__R8, DYNC__R9, DYNC__R10};
static const int8_t dync__gt_dot_b[4] = {DYNC__RDX, DYNC__RCX, DYNC__R11, DYNC__RBX};

/* One vector of k at byte rax of b. A sum's order does not depend on which tile it stands in. */
static void dync__gt_dot_step(dync__gtx *g, bool part)
{
    int a = g->rows * g->vectors, b = a + g->rows;
    for (int i = 0; i < g->rows; i++)
        dync__gt_load(
            g, a + i,
            dync__a_index(dync__gt_dot_a[i], DYNC__RAX, g->type >= DYNC__GT_AS_F16 ? 2 : 1, 0),
            part);
    for (int j = 0; j < g->vectors; j++) {
        dync__gt_load_b(g, b, dync__a_index(dync__gt_dot_b[j], DYNC__RAX, 1, 0), part);
        if (g->words) dync__gt_apart(g, b + 1, b);
        for (int i = 0; i < g->rows; i++)
            if (g->words)
                dync__gt_by_pairs(g, i * g->vectors + j, a + i, b + 1, b, b + 2);
            else
                dync__x_v(g->x, dync__gt_insn[g->type].mul, g->vl, i * g->vectors + j, a + i,
                          dync__a_reg(b), 0, 0);
    }
}

static void dync__gt_dot_end(dync__gtx *g)
{
    dync__asm *x = g->x;
    int n = g->rows * g->vectors, t = n, add = dync__gt_insn[g->type].add;
    dync__gt_get(g, DYNC__RSI, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__RCX, DYNC__GT_ARG(d_step));
    dync__x_i(x, DYNC__X_LEA, DYNC__R10, dync__a_index(DYNC__RCX, DYNC__RCX, 2, 0), 0);
    for (int c = 0; c < n; c++) {
        dync__place to = dync__gt_line(c % g->vectors, 0);
        if (g->vl == 2) {
            dync__x_v(x, DYNC__X_EXTRACT256, 2, c, 0, dync__a_reg(t), 1, 0);
            dync__x_v(x, add, 1, c, c, dync__a_reg(t), 0, 0);
        }
        dync__x_v(x, DYNC__X_EXTRACT128, 1, c, 0, dync__a_reg(t), 1, 0);
        dync__x_v(x, add, 0, c, c, dync__a_reg(t), 0, 0);
        dync__x_v(x, DYNC__X_MOVHLPS, 0, t, c, dync__a_reg(c), 0, 0);
        dync__x_v(x, add, 0, c, c, dync__a_reg(t), 0, 0);
        if (!g->wide) {
            dync__x_v(x, DYNC__X_SHUFPS, 0, t, c, dync__a_reg(c), 1, 0);
            dync__x_v(x, add, 0, c, c, dync__a_reg(t), 0, 0);
        }
        if (g->flags >> DYNC__GT_AFTER) {
            dync__x_v(x, g->wide ? DYNC__X_MOVQ : DYNC__X_MOVD, 0, t, 0, to, 0, 0);
            dync__x_v(x, add, 0, c, c, dync__a_reg(t), 0, 0);
        }
        dync__x_v(x, g->wide ? DYNC__X_MOVQ_M : DYNC__X_MOVD_M, 0, c, 0, to, 0, 0);
        if (c % g->vectors == g->vectors - 1)
            dync__x_i(x, DYNC__X_ADD, DYNC__RSI, DYNC__GT_ARG(c_step), 0);
    }
}

static void dync__gt_dot_lines(dync__gtx *g, const int8_t *reg, int n, dync__place from,
                               dync__place step)
{
    dync__gt_get(g, reg[0], from);
    for (int i = 1; i < n; i++) {
        dync__gt_get(g, reg[i], dync__a_reg(reg[i - 1]));
        dync__x_i(g->x, DYNC__X_ADD, reg[i], step, 0);
    }
}

static void dync__gt_dots(dync__gtx *g)
{
    dync__asm *x = g->x;
    int block = dync__a_label(x), body = dync__a_label(x), part = dync__a_label(x);
    dync__gt_saved(g, true);
    dync__gt_mask(g);
    dync__x_bind(x, block);
    dync__gt_dot_lines(g, dync__gt_dot_a, g->rows, DYNC__GT_ARG(a), DYNC__GT_ARG(a_step));
    dync__gt_dot_lines(g, dync__gt_dot_b, g->vectors, DYNC__GT_ARG(b), DYNC__GT_ARG(b_step));
    dync__gt_get(g, DYNC__RBP, DYNC__GT_ARG(k));
    dync__x_i(x, DYNC__X_SHLI, 0, dync__a_reg(DYNC__RBP), g->wide ? 3 : 2);
    dync__x_i(x, DYNC__X_MOVI, 0, dync__a_reg(DYNC__RAX), 0);
    for (int c = 0; c < g->rows * g->vectors; c++)
        dync__x_v(x, DYNC__X_XORPS, g->vl, c, c, dync__a_reg(c), 0, 0);
    dync__gt_addi(g, DYNC__RBP, -g->bytes); /* bytes left after the next step */
    dync__x_jump(x, DYNC__CC_L, part);
    dync__x_bind(x, body);
    dync__gt_dot_step(g, false);
    dync__gt_addi(g, DYNC__RAX, g->bytes >> (g->type >= DYNC__GT_AS_F16));
    dync__gt_addi(g, DYNC__RBP, -g->bytes);
    dync__x_jump(x, DYNC__CC_GE, body);
    dync__x_bind(x, part);
    if (g->flags & DYNC__GT_TAIL) dync__gt_dot_step(g, true);
    dync__gt_dot_end(g);
    dync__gt_get(g, DYNC__RAX, DYNC__GT_ARG(b_step));
    dync__gt_get(g, DYNC__RCX, DYNC__GT_ARG(d_step));
    for (int j = 0; j < g->vectors; j++) {
        dync__x_i(x, DYNC__X_ADD_M, DYNC__RAX, DYNC__GT_ARG(b), 0);
        dync__x_i(x, DYNC__X_ADD_M, DYNC__RCX, DYNC__GT_ARG(c), 0);
    }
    dync__x_i(x, DYNC__X_SUBI, 0, DYNC__GT_ARG(blocks), 1);
    dync__x_jump(x, DYNC__CC_NE, block);
    dync__gt_saved(g, false);
    dync__x_ret(x);
}

/* ---- packing --------------------------------------------------------------------------------- */

static void dync__gt_copy(dync__gtx *g, bool pair)
{
    dync__asm *x = g->x;
    int body = dync__a_label(x), n = !pair ? 1 : g->type == DYNC__GT_BF16 ? 2 : 4;
    dync__gt_saved(g, true);
    dync__gt_mask(g);
    g->rows = n;
    dync__gt_lines(g, DYNC__GT_ARG(a));
    dync__x_i(x, DYNC__X_LEA, DYNC__R9,
              n == 1 ? dync__a_mem(DYNC__RCX, 0) : dync__a_index(DYNC__RCX, DYNC__RCX, 1, 0), 0);
    if (n == 4) dync__gt_add(g, DYNC__R9, DYNC__R9);
    dync__gt_get(g, DYNC__RDX, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__R11, DYNC__GT_ARG(c_step));
    dync__gt_get(g, DYNC__RAX, DYNC__GT_ARG(k));
    dync__x_bind(x, body);
    for (int v = 0; v < g->vectors; v++) {
        bool part = dync__gt_part(g, v);
        if (!pair) dync__gt_load(g, v, dync__gt_line(0, v * g->bytes), part);
        for (int i = 0; pair && i < n; i++) { /* line i in the i-th part of every lane */
            int to = i ? 8 + v : v;
            dync__gt_move(g, n == 2 ? DYNC__X_PMOVZXWD : DYNC__X_PMOVZXBD, to,
                          dync__gt_line(i, v * g->bytes / n), part ? 1 | DYNC__X_ZERO : 0);
            if (i) dync__x_v(x, DYNC__X_PSLLD, g->vl, 0, to, dync__a_reg(to), 32 / n * i, 0);
            if (i) dync__x_v(x, DYNC__X_ORPS, g->vl, v, v, dync__a_reg(to), 0, 0);
        }
        dync__gt_store(g, v, dync__a_mem(DYNC__RDX, v * g->bytes), part);
    }
    dync__gt_add(g, DYNC__RSI, DYNC__R9);
    dync__gt_add(g, DYNC__RDX, DYNC__R11);
    dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__RAX), 1);
    dync__x_jump(x, DYNC__CC_NE, body);
    dync__gt_saved(g, false);
    dync__x_ret(x);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void dync__gt_emit(dync__gtx *g, int kind)
{
    switch (kind) {
    case DYNC__GT_TILE: dync__gt_tile(g); break;
    case DYNC__GT_DOTS: dync__gt_dots(g); break;
    case DYNC__GT_SWAP:
        dync__tr_blocks(g->x, g->rows, 1 << g->vectors % 4, g->vectors > 3, g->flags);
        break;
    case DYNC__GT_STAGE: dync__tr_stage(g->x, g->rows, g->flags & 1, g->flags & 2); break;
    case DYNC__GT_WEAVE: dync__tr_weave(g->x, g->rows, g->vectors, g->flags); break;
    default: dync__gt_copy(g, kind == DYNC__GT_PAIR);
    }
}

static bool dync__gt_make(dync__gt_form *f, int kind, int type, int rows, int vectors, int flags)
{
    dync__arena arena = {0};
    static const char *const kinds[] = {"tile", "dots", "copy", "pair", "swap", "stage", "weave"},
                             *const types[] = {"f32", "f64", "bf16", "u8", "as f16", "as bf16"};
    dync__gtx g;
    dync__str listing = {0};
    bool ok = false, evex = dync__cpu_features() & DYNC__CPU_AVX512;
    memset(&g, 0, sizeof g);
    g.type = type;
    g.rows = rows;
    g.vectors = vectors;
    g.flags = flags;
    g.wide = type == DYNC__GT_F64;
    g.words = dync__gt_by_words(type);
    g.vl = evex && !(flags & DYNC__GT_HALF) ? 2 : 1;
    g.bytes = 16 << g.vl;
    g.n_regs = evex ? 32 : 16;
    g.tile = (dync__gen_tile){dync__gt_source, !(flags & DYNC__GT_TAIL) ? 0 : evex ? 1 : 15};
    dync__after list = dync__gt_after_list(kind == DYNC__GT_TILE ? flags : 0, type);
    g.after = dync__gen_after_new(&arena, &g.tile, evex ? 2 : 1, g.bytes / (g.wide ? 8 : 4), &list);
    if (!g.after) return dync__arena_free(&arena), false;
    g.x = &g.after->a;
    if (dync__a_listed()) g.x->listing = &listing;
    if (dync__avec_reserve(&arena, &g.x->code, 4096)) {
        dync__gt_emit(&g, kind);
        f->refused = g.x->failed && list.n > 1;
        ok = dync__a_install(g.x, &f->block);
        if (ok) memcpy(&f->fn, &f->block.exec, sizeof f->fn);
    }
    if (ok && g.x->listing) {
        char name[80];
        dync__format(name, sizeof name, "gemm_%s_%s rows %d vectors %d flags %d", kinds[kind],
                     types[type], rows, vectors, flags);
        dync__log_text(DYNC__LOG_code, name, dync__str_get(&listing));
    }
    dync__str_free(&listing);
    dync__arena_free(&arena);
    return ok;
}

static void dync__gt_shutdown(void)
{
    dync__lock(&dync__gts.lock);
    for (int i = 0; i < DYNC__GT_FORMS; i++)
        if (dync__gts.form[i].fn) dync__codemem_free(&dync__gts.form[i].block);
    memset(dync__gts.form, 0, sizeof dync__gts.form);
    dync__gts.n = 0;
    dync__gts.epoch++;
    DYNC__ATOMIC_STORE(&dync__gts.refused, 0);
    dync__unlock(&dync__gts.lock);
}

static dync__gt_fn dync__gt_new(uint32_t key, uint32_t at, int kind, int type, int rows,
                                int vectors, int flags)
{
    dync__error_guard guard;
    dync__gt_fn fn = NULL;
    dync__error_guard_begin(&guard); /* a failed allocation costs speed only */
    dync__lock(&dync__gts.lock);
    while (dync__gts.form[at].key && dync__gts.form[at].key != key) at = (at + 1) % DYNC__GT_FORMS;
    dync__gt_form *f = &dync__gts.form[at];
    if (f->key)
        fn = f->fn;
    else if (!dync__gts.refused && dync__gts.n < DYNC__GT_FORMS / 2) {
        dync__gt_form made = {0};
        if (dync__gt_make(&made, kind, type, rows, vectors, flags) || made.refused) {
            f->block = made.block;
            f->fn = fn = made.fn;
            DYNC__ATOMIC_STORE(&f->key, key);
            dync__gts.n++;
        } else {
            DYNC__ATOMIC_STORE(&dync__gts.refused, 1);
        }
    }
    dync__unlock(&dync__gts.lock);
    (void)dync__error_guard_end(&guard);
    if (fn) dync__at_shutdown(dync__gt_shutdown);
    return fn;
}

DYNC__FN dync__gt_fn dync__gt_code(int kind, int type, int flags, int rows, int vectors)
{
    uint32_t key = 1u << 31 | (uint32_t)kind << 28 | (uint32_t)type << 25 |
                   ((uint32_t)flags & 15) << 20 | (uint32_t)flags >> DYNC__GT_AFTER << 12 |
                   (uint32_t)rows << 6 | (uint32_t)vectors;
    uint32_t at = (key * 2654435761u) >> 22, found;
    for (; (found = DYNC__ATOMIC_LOAD(&dync__gts.form[at].key)); at = (at + 1) % DYNC__GT_FORMS)
        if (found == key) return dync__gts.form[at].fn;
    if (DYNC__ATOMIC_PEEK(&dync__gts.refused) || !dync__gt_can(type)) return NULL;
    return dync__gt_new(key, at, kind, type, rows, vectors, flags);
}

DYNC__FN uint32_t dync__gt_epoch(void) { return DYNC__ATOMIC_PEEK(&dync__gts.epoch); }

#else
DYNC__FN uint32_t dync__gt_epoch(void) { return 0; }
DYNC__FN dync__gt_fn dync__gt_code(int kind, int type, int flags, int rows, int vectors)
{
    (void)kind, (void)type, (void)rows, (void)vectors, (void)flags;
    return NULL;
}
#endif
