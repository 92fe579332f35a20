/* codegen/x86_conv.c: emits the tiles of x86_conv.h. Before: x86_enc.c encodes; after:
 * kernel/conv_tiles.c calls them.
 *
 * Registers: accumulators from 0, then the B vectors of weights, last the broadcast. Code is found
 * by its description in a table; a form that no layer holds any more goes when there are more than
 * IDLE. */
#include "../dync.in.h"
#include "x86_conv.h"
#include "interp_tile.h"
#include "gen.h"
#include "x86_tile.h"
#if DYNC__JIT_X86

typedef struct dync__ct_entry {
    struct dync__ct_entry *next;
    int users;
    dync__ctile key;
    dync__codeblock block;
} dync__ct_entry;
static struct {
    dync__mutex lock;
    dync__ct_entry *entry[128];
    int n;
    uint32_t epoch; /* another one after dync_shutdown */
} dync__cts;

DYNC__FN int dync__conv_isa(void) { return dync__target_level(); }

/* ---- a tile ---------------------------------------------------------------------------------- */

typedef struct dync__ct {
    dync__gen_tile tile; /* first */
    dync__asm *a;
    dync__gen *g;
    const dync__ctile *t;
    int wreg, breg, block; /* block: of the accumulator at hand */
} dync__ct;

static dync__place dync__ct_arg(int word) { return dync__a_mem(DYNC__RDI, 8 * word); }
static void dync__ct_rvm(dync__ct *c, int insn, int to, int left, dync__place right)
{
    dync__x_v(c->a, insn, c->t->vl, to, left, right, 0, 0);
}

static void dync__ct_start(dync__ct *c)
{
    const dync__ctile *t = c->t;
    if (t->flags & DYNC__CT_BIAS)
        dync__x_i(c->a, DYNC__X_MOV, DYNC__RAX, dync__ct_arg(DYNC__CA_BIAS), 0);
    if (t->flags & DYNC__CT_ADD)
        dync__x_i(c->a, DYNC__X_MOV, DYNC__RAX, dync__ct_arg(DYNC__CA_OUT), 0);
    for (int p = 0; p < t->P; p++)
        for (int b = 0; b < t->B; b++) {
            int r = p * t->B + b;
            if (t->flags & DYNC__CT_ADD)
                dync__ct_rvm(c, DYNC__X_MOVUPS, r, 0,
                             dync__a_mem(DYNC__RAX, t->out_at[p] + b * t->out_b));
            else if (t->flags & DYNC__CT_BIAS)
                dync__ct_rvm(c, DYNC__X_MOVUPS, r, 0,
                             p ? dync__a_reg(b) : dync__a_mem(DYNC__RAX, (16 << t->vl) * b));
            else if (t->op == DYNC__CT_MAX || t->op == DYNC__CT_WHERE)
                dync__ct_rvm(c, DYNC__X_MOVUPS, r, 0, dync__a_constant(c->a, 0xff800000u, 4));
            else
                dync__ct_rvm(c, DYNC__X_XORPS, r, r, dync__a_reg(r));
        }
    for (int p = 0; t->op == DYNC__CT_WHERE && p < t->P; p++)
        dync__ct_rvm(c, DYNC__X_MOVUPS, t->P + p, 0, dync__a_constant(c->a, 0xc0000000u, 4));
}

/* The greater; a NaN stays. */
static void dync__ct_max(dync__ct *c, int acc, dync__place x)
{
    if (dync__x_evex_of(c->a)) {
        /* ordered: no NaN so far */
        dync__x_v(c->a, DYNC__X_CMPPS, c->t->vl, 1, acc, dync__a_reg(acc), 7, 0);
        /* takes x where x is NaN */
        dync__x_v(c->a, DYNC__X_MAXPS, c->t->vl, acc, acc, x, 0, 1);
        return;
    }
    dync__ct_rvm(c, DYNC__X_MAXPS, c->breg, acc, x);
    dync__x_v(c->a, DYNC__X_CMPPS, c->t->vl, c->wreg, acc, dync__a_reg(acc), 3, 0);
    dync__x_v(c->a, DYNC__X_BLENDVPS, c->t->vl, acc, c->breg, dync__a_reg(acc), c->wreg << 4, 0);
}

/* The same, and the tap's number (in wreg) where it was taken: where x is greater, or NaN. */
static void dync__ct_where(dync__ct *c, int p, dync__place in)
{
    enum { LESS = 17, UNORDERED = 3 };
    int vl = c->t->vl, x = c->breg, at = c->t->P + p,
        mask = dync__x_evex_of(c->a) ? 1 : c->breg + 1;
    dync__ct_rvm(c, DYNC__X_MOVUPS, x, 0, in);
    dync__x_v(c->a, DYNC__X_CMPPS, vl, mask, p, dync__a_reg(x), LESS, 0);
    dync__x_v(c->a, DYNC__X_CMPPS, vl, mask + 1, x, dync__a_reg(x), UNORDERED, 0);
    if (dync__x_evex_of(c->a)) {
        dync__x_k(c->a, DYNC__X_KORW, mask, mask, dync__a_reg(mask + 1), 0);
        dync__x_v(c->a, DYNC__X_MOVUPS, vl, p, 0, dync__a_reg(x), 0, mask);
        dync__x_v(c->a, DYNC__X_MOVUPS, vl, at, 0, dync__a_reg(c->wreg), 0, mask);
        return;
    }
    dync__ct_rvm(c, DYNC__X_ORPS, mask, mask, dync__a_reg(mask + 1));
    dync__x_v(c->a, DYNC__X_BLENDVPS, vl, p, p, dync__a_reg(x), mask << 4, 0);
    dync__x_v(c->a, DYNC__X_BLENDVPS, vl, at, at, dync__a_reg(c->wreg), mask << 4, 0);
}

/* The input of place p and the weights of block b for step k of a tap. */
static dync__place dync__ct_element(void *of, int p, int k)
{
    const dync__ct *c = of;
    return dync__a_mem(DYNC__R10, k * c->t->in_k + c->t->in_at[p]);
}

static dync__place dync__ct_fold(void *of, int b, int k, int *mask)
{
    const dync__ct *c = of;
    *mask = 0;
    return dync__a_mem(DYNC__R11, k * c->t->w_k + b * c->t->w_b);
}

static void dync__ct_weights(void *of, int reg, int b, int k)
{
    int mask;
    dync__ct_rvm(of, DYNC__X_MOVUPS, reg, 0, dync__ct_fold(of, b, k, &mask));
}

/* Products k of a tap: in at r10, weights at r11. */
static void dync__ct_products(dync__ct *c, int k)
{
    const dync__ctile *t = c->t;
    if (t->op == DYNC__CT_WHERE) {
        dync__x_v(c->a, DYNC__X_MOVD, 0, c->wreg, 0, dync__a_reg(DYNC__R11), 0, 0);
        dync__ct_rvm(c, DYNC__X_BROADCASTD, c->wreg, 0, dync__a_reg(c->wreg));
    }
    if (t->op == DYNC__CT_BROADCAST) {
        dync__xsum sum = {.vl = t->vl,
                          .rows = t->P,
                          .vectors = t->B,
                          .mul = DYNC__X_FMA231PS,
                          .spread = DYNC__X_BROADCASTD,
                          .b = c->wreg,
                          .a = c->breg,
                          .n_a = 1,
                          .of = c,
                          .element = dync__ct_element,
                          .load = dync__ct_weights,
                          .fold = dync__ct_fold};
        dync__xsum_step(c->a, &sum, k);
        return;
    }
    if (t->op == DYNC__CT_VECTOR) dync__ct_weights(c, c->wreg, 0, k);
    for (int p = 0; p < t->P; p++) {
        dync__place in = dync__ct_element(c, p, k);
        if (t->op == DYNC__CT_WHERE)
            dync__ct_where(c, p, in);
        else if (t->op == DYNC__CT_MAX)
            dync__ct_max(c, p, in);
        else if (t->op == DYNC__CT_SUM)
            dync__ct_rvm(c, DYNC__X_ADDPS, p, p, in);
        else
            dync__ct_rvm(c, DYNC__X_FMA231PS, p, c->wreg, in);
    }
}

static void dync__ct_tap(dync__ct *c)
{
    const dync__ctile *t = c->t;
    int whole = t->K > DYNC__CT_UNROLL ? DYNC__CT_UNROLL / 2 : t->K, rounds = t->K / whole;
    if (rounds > 1) {
        int again = dync__a_label(c->a);
        dync__x_i(c->a, DYNC__X_MOVI, 0, dync__a_reg(DYNC__RBX), rounds);
        dync__x_bind(c->a, again);
        for (int k = 0; k < whole; k++) dync__ct_products(c, k);
        dync__x_i(c->a, DYNC__X_ADDI, 0, dync__a_reg(DYNC__R10), whole * t->in_k);
        dync__x_i(c->a, DYNC__X_ADDI, 0, dync__a_reg(DYNC__R11), whole * t->w_k);
        dync__x_i(c->a, DYNC__X_SUBI, 0, dync__a_reg(DYNC__RBX), 1);
        dync__x_jump(c->a, DYNC__CC_NE, again);
    }
    for (int k = 0; k < (rounds > 1 ? t->K % whole : t->K); k++) dync__ct_products(c, k);
}

static void dync__ct_sum(dync__ct *c)
{
    dync__asm *a = c->a;
    int blocks = dync__a_label(a), taps = dync__a_label(a), next = dync__a_label(a),
        done = dync__a_label(a);
    dync__x_i(a, DYNC__X_MOV, DYNC__RBP, dync__a_reg(DYNC__RSI), 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__RDX, dync__ct_arg(DYNC__CA_W), 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__R9, dync__ct_arg(DYNC__CA_NA), 0);
    dync__x_bind(a, blocks);
    dync__x_i(a, DYNC__X_SUBI, 0, dync__a_reg(DYNC__R9), 1);
    dync__x_jump(a, DYNC__CC_L, done);
    dync__x_i(a, DYNC__X_MOV, DYNC__RCX, dync__ct_arg(DYNC__CA_TAPS), 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__R8, dync__ct_arg(DYNC__CA_NTAPS), 0);
    dync__x_bind(a, taps);
    dync__x_i(a, DYNC__X_SUBI, 0, dync__a_reg(DYNC__R8), 1);
    dync__x_jump(a, DYNC__CC_L, next);
    dync__x_i(a, DYNC__X_MOV, DYNC__R10, dync__a_mem(DYNC__RCX, 0), 0);
    dync__x_i(a, DYNC__X_ADD, DYNC__R10, dync__a_reg(DYNC__RBP), 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__R11, dync__a_mem(DYNC__RCX, 8), 0);
    dync__x_i(a, DYNC__X_ADD, DYNC__R11, dync__a_reg(DYNC__RDX), 0);
    dync__ct_tap(c);
    dync__x_i(a, DYNC__X_ADDI, 0, dync__a_reg(DYNC__RCX), 16);
    dync__x_jump(a, DYNC__CC_JMP, taps);
    dync__x_bind(a, next);
    dync__x_i(a, DYNC__X_ADD, DYNC__RBP, dync__ct_arg(DYNC__CA_A_IN), 0);
    dync__x_i(a, DYNC__X_ADD, DYNC__RDX, dync__ct_arg(DYNC__CA_A_W), 0);
    dync__x_jump(a, DYNC__CC_JMP, blocks);
    dync__x_bind(a, done);
}

/* ---- the end of a tile ----------------------------------------------------------------------- */

/* Operands are vectors of channels. */
static dync__place dync__ct_source(const dync__gen_tile *tile, int source)
{
    const dync__ct *c = (const dync__ct *)(const void *)tile;
    dync__x_i(c->a, DYNC__X_MOV, DYNC__RCX, dync__ct_arg(DYNC__CA_POST + source), 0);
    return dync__a_mem(DYNC__RCX, c->block * (16 << c->t->vl));
}

static void dync__ct_store(dync__ct *c)
{
    const dync__ctile *t = c->t;
    dync__asm *a = c->a;
    if (t->flags & DYNC__CT_DIVIDE) {
        dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__ct_arg(DYNC__CA_BIAS), 0);
        dync__ct_rvm(c, DYNC__X_BROADCASTD, c->breg, 0, dync__a_mem(DYNC__RAX, 0));
    }
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__ct_arg(DYNC__CA_OUT), 0);
    uint32_t taken = (uint32_t)((UINT64_C(1) << c->wreg) - 1) | 1u << c->breg;
    for (c->block = 0; c->block < t->B; c->block++)
        for (int p = 0; p < t->P; p++) {
            int r = p * t->B + c->block, at = t->out_at[p] + c->block * t->out_b;
            if (t->flags & DYNC__CT_DIVIDE)
                dync__ct_rvm(c, DYNC__X_DIVPS, r, r, dync__a_reg(c->breg));
            dync__ct_rvm(c, DYNC__X_MOVUPS_M, dync__gen_after(c->g, r, taken), 0,
                         dync__a_mem(DYNC__RAX, at));
            taken &= ~(1u << r);
        }
}

static void dync__ct_store_where(dync__ct *c)
{
    const dync__ctile *t = c->t;
    dync__x_i(c->a, DYNC__X_ADD, DYNC__RAX, dync__ct_arg(DYNC__CA_BIAS), 0);
    dync__ct_rvm(c, DYNC__X_BROADCASTD, c->breg, 0, dync__ct_arg(DYNC__CA_POST));
    for (int p = 0; p < t->P; p++) {
        int own = p / t->across * t->w_k + p % t->across * t->w_b;
        dync__ct_rvm(c, DYNC__X_PADDD, t->P + p, t->P + p, dync__a_reg(c->breg));
        if (own)
            dync__ct_rvm(c, DYNC__X_PADDD, t->P + p, t->P + p,
                         dync__a_constant(c->a, (uint64_t)own, 4));
        dync__ct_rvm(c, DYNC__X_MOVUPS_M, t->P + p, 0, dync__a_mem(DYNC__RAX, t->out_at[p]));
    }
}

static void dync__ct_advance(dync__ct *c, int word, int step, int through)
{
    dync__x_i(c->a, DYNC__X_MOV, through, dync__ct_arg(word), 0);
    dync__x_i(c->a, DYNC__X_ADD, through, dync__ct_arg(step), 0);
    dync__x_i(c->a, DYNC__X_MOV_M, through, dync__ct_arg(word), 0);
}

/* ---- Winograd -------------------------------------------------------------------------------- */

/* Lavin and Gray 2016: F(2x2, 3x3) at the points 0, 1, -1 and F(4x4, 3x3) at 0, 1, -1, 2, -2 (and
 * infinity). */
typedef struct dync__cw_matrix {
    int8_t rows, columns;
    float at[6][6];
} dync__cw_matrix;
static const dync__cw_matrix dync__cw_matrices[2][3] = {
    {{4, 4, {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}},
     {4, 3, {{1, 0, 0}, {.5f, .5f, .5f}, {.5f, -.5f, .5f}, {0, 0, 1}}},
     {2, 4, {{1, 1, 1, 0}, {0, 1, -1, -1}}}},
    {{6,
      6,
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}}},
     {6,
      3,
      {{1 / 4.f, 0, 0},
       {-1 / 6.f, -1 / 6.f, -1 / 6.f},
       {-1 / 6.f, 1 / 6.f, -1 / 6.f},
       {1 / 24.f, 1 / 12.f, 1 / 6.f},
       {1 / 24.f, -1 / 12.f, 1 / 6.f},
       {0, 0, 1}}},
     {4, 6, {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}}}};
/* registers: results from 6, what is asked for from 0 */
enum { DYNC__CW_RESULT = 6, DYNC__CW_SPARE = 12 };

/* Register to = the sum of f times the registers at: those columns of the given parity, or all
 * (-1). */
static void dync__cw_sum(dync__ct *c, int to, const float *f, const int *at, int n, int parity)
{
    int first = -1;
    for (int j = 0; j < n; j++) /* one that has to be multiplied goes first */
        if (f[j] != 0 && (parity < 0 || j % 2 == parity) &&
            (first < 0 || (f[first] * f[first] == 1 && f[j] * f[j] != 1)))
            first = j;
    for (int i = -1; i < n && first >= 0; i++) {
        int j = i < 0 ? first : i;
        uint32_t bits;
        if (f[j] == 0 || i == first || (parity >= 0 && j % 2 != parity)) continue;
        memcpy(&bits, &f[j], sizeof bits);
        dync__place times = dync__a_constant(c->a, bits, 4);
        if (i < 0 && f[j] == 1)
            dync__ct_rvm(c, DYNC__X_MOVUPS, to, 0, dync__a_reg(at[j]));
        else if (i < 0)
            dync__ct_rvm(c, DYNC__X_MULPS, to, at[j], times);
        else if (f[j] == 1 || f[j] == -1)
            dync__ct_rvm(c, f[j] == 1 ? DYNC__X_ADDPS : DYNC__X_SUBPS, to, to, dync__a_reg(at[j]));
        else
            dync__ct_rvm(c, DYNC__X_FMA231PS, to, at[j], times);
    }
}

/* Registers 0 .. columns to RESULT .. + rows. Two rows that differ in the signs of odd columns
 * share their two halves; columns that differ so (OUT) become their sum and difference first. */
static void dync__cw_line(dync__ct *c, const dync__cw_matrix *m, bool by_columns)
{
    static const int plain[6] = {0, 1, 2, 3, 4, 5}, paired[6] = {0, DYNC__CW_SPARE, 1, 2, 3, 5};
    const int *at = by_columns && m->columns == 6 ? paired : plain;
    for (int r = 0; r < m->rows; r++) {
        float f[6];
        bool twins = !by_columns && r > 0 && r + 1 < m->rows;
        memcpy(f, m->at[r], sizeof f);
        for (int j = 0; j < m->columns; j++)
            twins = twins && m->at[r + 1][j] == (j % 2 ? -f[j] : f[j]);
        if (at == paired) {
            if (r == 0)
                for (int j = 1; j < 5; j += 2) {
                    dync__ct_rvm(c, DYNC__X_ADDPS, at[j], j, dync__a_reg(j + 1));
                    dync__ct_rvm(c, DYNC__X_SUBPS, at[j + 1], j, dync__a_reg(j + 1));
                }
            for (int j = 1; j < 5; j += 2) {
                f[j] = (m->at[r][j] + m->at[r][j + 1]) / 2;
                f[j + 1] = (m->at[r][j] - m->at[r][j + 1]) / 2;
            }
        }
        int to = DYNC__CW_RESULT + r;
        if (!twins) {
            dync__cw_sum(c, to, f, at, m->columns, -1);
            continue;
        }
        dync__cw_sum(c, DYNC__CW_SPARE, f, at, m->columns, 0);
        dync__cw_sum(c, to + 1, f, at, m->columns, 1);
        dync__ct_rvm(c, DYNC__X_ADDPS, to, DYNC__CW_SPARE, dync__a_reg(to + 1));
        dync__ct_rvm(c, DYNC__X_SUBPS, to + 1, DYNC__CW_SPARE, dync__a_reg(to + 1));
        r++;
    }
}

static void dync__cw_emit(dync__ct *c)
{
    const dync__ctile *t = c->t;
    const dync__cw_matrix *m = &dync__cw_matrices[t->w_b / 4 == 4][t->w_b % 4];
    bool out = t->w_b % 4 == DYNC__CW_OUT;
    int line = m->columns, bytes = 16 << t->vl;
    c->wreg = DYNC__CW_SPARE;
    dync__x_i(c->a, DYNC__X_MOV, DYNC__RDX, dync__ct_arg(DYNC__CA_TAPS), 0);
    for (int j = 0; j < line; j++) {
        for (int i = 0; i < line; i++)
            dync__ct_rvm(c, DYNC__X_MOVUPS, i, 0,
                         dync__a_mem(DYNC__RSI, i * t->in_at[0] + j * t->in_at[1]));
        dync__cw_line(c, m, out);
        for (int r = 0; r < m->rows; r++)
            dync__ct_rvm(c, DYNC__X_MOVUPS_M, DYNC__CW_RESULT + r, 0,
                         dync__a_mem(DYNC__RDX, (r * line + j) * bytes));
    }
    dync__x_i(c->a, DYNC__X_MOV, DYNC__RAX, dync__ct_arg(DYNC__CA_OUT), 0);
    if (out && t->flags & DYNC__CT_BIAS)
        dync__x_i(c->a, DYNC__X_MOV, DYNC__R8, dync__ct_arg(DYNC__CA_BIAS), 0);
    for (int i = 0; i < (out ? t->K : m->rows); i++) {
        for (int j = 0; j < line; j++)
            dync__ct_rvm(c, DYNC__X_MOVUPS, j, 0, dync__a_mem(DYNC__RDX, (i * line + j) * bytes));
        dync__cw_line(c, m, out);
        uint32_t taken = ((1u << m->rows) - 1) << DYNC__CW_RESULT;
        for (int r = 0; r < (out ? t->across : m->rows); r++) {
            int reg = DYNC__CW_RESULT + r, p = i * m->rows + r;
            if (out && t->flags & DYNC__CT_BIAS)
                dync__ct_rvm(c, DYNC__X_ADDPS, reg, reg, dync__a_mem(DYNC__R8, 0));
            int from = out ? dync__gen_after(c->g, reg, taken) : reg;
            dync__ct_rvm(
                c, DYNC__X_MOVUPS_M, from, 0,
                dync__a_mem(DYNC__RAX, out ? t->out_at[p] : i * t->out_at[0] + r * t->out_at[1]));
            taken &= ~(1u << reg);
        }
    }
}

static void dync__ct_emit(dync__ct *c)
{
    const dync__ctile *t = c->t;
    dync__asm *a = c->a;
    int again = dync__a_label(a);
    c->wreg = t->op == DYNC__CT_WHERE ? 2 * t->P : t->P * t->B;
    c->breg = c->wreg + t->B;
    dync__x_push(a, DYNC__RBX);
    dync__x_push(a, DYNC__RBP);
    dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__ct_arg(DYNC__CA_IN), 0);
    dync__x_bind(a, again);
    if (t->op == DYNC__CT_TURN)
        dync__cw_emit(c);
    else {
        dync__ct_start(c);
        dync__ct_sum(c);
        dync__ct_store(c);
    }
    if (t->op == DYNC__CT_WHERE) dync__ct_store_where(c);
    dync__x_i(a, DYNC__X_ADD, DYNC__RSI, dync__ct_arg(DYNC__CA_T_IN), 0);
    dync__ct_advance(c, DYNC__CA_OUT, DYNC__CA_T_OUT, DYNC__RAX);
    if (t->op == DYNC__CT_WHERE) dync__ct_advance(c, DYNC__CA_POST, DYNC__CA_POST + 1, DYNC__RAX);
    dync__x_i(a, DYNC__X_SUBI, 0, dync__ct_arg(DYNC__CA_TILES), 1);
    dync__x_jump(a, DYNC__CC_NE, again);
    dync__x_pop(a, DYNC__RBP);
    dync__x_pop(a, DYNC__RBX);
    dync__x_ret(a);
}

/* ---- planes and blocks ----------------------------------------------------------------------- */

/* Registers 0 .. 3, each 4 x 4 in every 128 bits, transposed, into 8 .. 11. */
static void dync__cb_transpose(dync__asm *a, int vl)
{
    static const struct {
        int insn, to, x, y;
    } step[8] = {{DYNC__X_PUNPCKLDQ, 4, 0, 1},   {DYNC__X_PUNPCKHDQ, 5, 0, 1},
                 {DYNC__X_PUNPCKLDQ, 6, 2, 3},   {DYNC__X_PUNPCKHDQ, 7, 2, 3},
                 {DYNC__X_PUNPCKLQDQ, 8, 4, 6},  {DYNC__X_PUNPCKHQDQ, 9, 4, 6},
                 {DYNC__X_PUNPCKLQDQ, 10, 5, 7}, {DYNC__X_PUNPCKHQDQ, 11, 5, 7}};
    for (int i = 0; i < 8; i++)
        dync__x_v(a, step[i].insn, vl, step[i].to, step[i].x, dync__a_reg(step[i].y), 0, 0);
}

/* One group of 4 << vl pixels of four channels: planes at rsi (and its multiples of rcx, rdx = 3
 * rcx), blocks at r8. */
static void dync__cb_group(dync__asm *a, int vl, int V, bool to_blocks)
{
    dync__place plane[4] = {dync__a_mem(DYNC__RSI, 0), dync__a_index(DYNC__RSI, DYNC__RCX, 1, 0),
                            dync__a_index(DYNC__RSI, DYNC__RCX, 2, 0),
                            dync__a_index(DYNC__RSI, DYNC__RDX, 1, 0)};
    int lanes = 1 << vl, pixel = 4 * V;
    if (to_blocks)
        for (int i = 0; i < 4; i++) dync__x_v(a, DYNC__X_MOVUPS, vl, i, 0, plane[i], 0, 0);
    for (int i = 0; !to_blocks && i < 4; i++)
        for (int l = 0; l < lanes; l++) {
            dync__place from = dync__a_mem(DYNC__R8, (4 * l + i) * pixel);
            if (l == 0)
                dync__x_v(a, DYNC__X_MOVUPS, 0, i, 0, from, 0, 0);
            else
                dync__x_v(a, DYNC__X_INSERT128, vl, i, i, from, l, 0);
        }
    dync__cb_transpose(a, vl);
    for (int i = 0; i < 4; i++) {
        if (!to_blocks) dync__x_v(a, DYNC__X_MOVUPS_M, vl, 8 + i, 0, plane[i], 0, 0);
        for (int l = 0; to_blocks && l < lanes; l++) {
            dync__place to = dync__a_mem(DYNC__R8, (4 * l + i) * pixel);
            if (l == 0)
                dync__x_v(a, DYNC__X_MOVUPS_M, 0, 8 + i, 0, to, 0, 0);
            else
                dync__x_v(a, DYNC__X_EXTRACT128, vl, 8 + i, 0, to, l, 0);
        }
    }
}

/* Quads of channels; in each groups of pixels, the last one overlapping the one before where it
 * would not fit. */
static void dync__cb_emit(dync__asm *a, int vl, int V, bool to_blocks)
{
    int quads = dync__a_label(a), groups = dync__a_label(a), fits = dync__a_label(a),
        done = dync__a_label(a);
    int planes = to_blocks ? DYNC__CB_FROM : DYNC__CB_TO,
        blocks = to_blocks ? DYNC__CB_TO : DYNC__CB_FROM, width = 4 << vl;
    dync__x_i(a, DYNC__X_MOV, DYNC__RCX, dync__ct_arg(DYNC__CB_PLANE), 0);
    dync__x_i(a, DYNC__X_LEA, DYNC__RDX, dync__a_index(DYNC__RCX, DYNC__RCX, 2, 0), 0);
    dync__x_bind(a, quads);
    dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__ct_arg(planes), 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__R8, dync__ct_arg(blocks), 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__R9, dync__ct_arg(DYNC__CB_N), 0);
    dync__x_bind(a, groups);
    dync__cb_group(a, vl, V, to_blocks);
    dync__x_i(a, DYNC__X_SUBI, 0, dync__a_reg(DYNC__R9), width);
    dync__x_jump(a, DYNC__CC_LE, done);
    dync__x_i(a, DYNC__X_MOVI, 0, dync__a_reg(DYNC__RAX), width);
    dync__x_i(a, DYNC__X_CMPI, 0, dync__a_reg(DYNC__R9), width);
    dync__x_jump(a, DYNC__CC_GE, fits);
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__a_reg(DYNC__R9), 0);
    dync__x_i(a, DYNC__X_MOVI, 0, dync__a_reg(DYNC__R9), width);
    dync__x_bind(a, fits);
    dync__x_i(a, DYNC__X_LEA, DYNC__RSI, dync__a_index(DYNC__RSI, DYNC__RAX, 4, 0), 0);
    dync__x_i(a, DYNC__X_SHLI, 0, dync__a_reg(DYNC__RAX), V == 16 ? 6 : V == 8 ? 5 : 4);
    dync__x_i(a, DYNC__X_ADD, DYNC__R8, dync__a_reg(DYNC__RAX), 0);
    dync__x_jump(a, DYNC__CC_JMP, groups);
    dync__x_bind(a, done);
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__ct_arg(planes), 0);
    dync__x_i(a, DYNC__X_LEA, DYNC__RAX, dync__a_index(DYNC__RAX, DYNC__RCX, 4, 0), 0);
    dync__x_i(a, DYNC__X_MOV_M, DYNC__RAX, dync__ct_arg(planes), 0);
    dync__x_i(a, DYNC__X_ADDI, 0, dync__ct_arg(blocks), 16);
    dync__x_i(a, DYNC__X_SUBI, 0, dync__ct_arg(DYNC__CB_QUADS), 1);
    dync__x_jump(a, DYNC__CC_NE, quads);
    dync__x_ret(a);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void dync__cts_shutdown(void)
{
    dync__lock(&dync__cts.lock);
    for (int i = 0; i < DYNC__COUNT_OF(dync__cts.entry); i++)
        while (dync__cts.entry[i]) {
            dync__ct_entry *e = dync__cts.entry[i];
            dync__cts.entry[i] = e->next;
            dync__codemem_free(&e->block);
            dync__free(e, sizeof *e);
        }
    dync__cts.n = 0;
    dync__cts.epoch++;
    dync__unlock(&dync__cts.lock);
}

/* A tile of no accumulators (P 0) stands for a block move: vl its vectors, B log2 V, op the
 * direction. */
static dync__ct_entry *dync__ct_make(const dync__ctile *t)
{
    dync__arena arena = {0};
    dync__ct c = {.tile = {.at = dync__ct_source}, .t = t};
    dync__ct_entry *e = NULL;
    dync__str listing = {0};
    if (!(c.g =
              dync__gen_after_new(&arena, &c.tile, dync__target_at(t->isa), 4 << t->vl, &t->after)))
        return dync__arena_free(&arena), NULL;
    c.a = &c.g->a;
    if (dync__a_listed()) c.a->listing = &listing;
    if (t->P)
        dync__ct_emit(&c);
    else
        dync__cb_emit(c.a, t->vl, 1 << t->B, t->op != 0);
    if ((e = dync__calloc(sizeof *e)) && !dync__a_install(c.a, &e->block)) {
        dync__free(e, sizeof *e);
        e = NULL;
    }
    if (e) memcpy(&e->key, t, sizeof *t);
    if (e && c.a->listing)
        dync__log_text(DYNC__LOG_code, t->P ? "conv tile" : "blocks of channels",
                       dync__str_get(&listing));
    dync__str_free(&listing);
    dync__arena_free(&arena);
    return e;
}

static uint64_t dync__ct_at(const dync__ctile *t)
{
    return dync__hash_bytes(t, sizeof *t, 0) % (uint64_t)DYNC__COUNT_OF(dync__cts.entry);
}

DYNC__FN dync__ccode dync__ctile_code(dync__cheld *held, const dync__ctile *t)
{
    dync__error_guard guard;
    dync__ccode code = NULL;
    uint64_t at = dync__ct_at(t);
    dync__lock(&dync__cts.lock);
    dync__ct_entry *e = dync__cts.entry[at];
    while (e && memcmp(&e->key, t, sizeof *t) != 0) e = e->next;
    bool make = !e;
    if (make) {
        dync__error_guard_begin(&guard); /* without memory the portable form serves */
        e = dync__ct_make(t);
        dync__error_guard_end(&guard);
    }
    if (make && e) {
        e->next = dync__cts.entry[at];
        dync__cts.entry[at] = e;
        dync__cts.n++;
    }
    void *form = e;
    if (e && !dync__avec_push(held->arena, &held->form, form)) e = NULL;
    if (e) e->users++;
    held->epoch = dync__cts.epoch;
    dync__unlock(&dync__cts.lock);
    if (make && form) dync__at_shutdown(dync__cts_shutdown);
    if (e) memcpy(&code, &e->block.exec, sizeof code);
    return code;
}

DYNC__FN void dync__ctile_drop(dync__cheld *held)
{
    dync__lock(&dync__cts.lock);
    for (int i = 0; i < held->form.n && held->epoch == dync__cts.epoch; i++) {
        dync__ct_entry *e = held->form.at[i], **from = &dync__cts.entry[dync__ct_at(&e->key)];
        if (--e->users > 0 || dync__cts.n <= DYNC__CT_IDLE) continue;
        while (*from != e) from = &(*from)->next;
        *from = e->next;
        dync__codemem_free(&e->block);
        dync__free(e, sizeof *e);
        dync__cts.n--;
    }
    held->form.n = 0;
    dync__unlock(&dync__cts.lock);
}

DYNC__FN dync__ccode dync__cblock_code(dync__cheld *held, int isa, int V, int64_t n, bool to_blocks)
{
    dync__ctile t;
    memset(&t, 0, sizeof t);
    t.isa = (int8_t)isa;
    t.vl = (int8_t)(isa == 2 && n >= 16 ? 2 : n >= 8 ? 1 : 0);
    t.B = (int8_t)(V == 16 ? 4 : V == 8 ? 3 : 2);
    t.op = to_blocks;
    return dync__ctile_code(held, &t);
}
#endif
