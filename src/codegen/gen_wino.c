/* codegen/gen_wino.c: Winograd's transforms, tiles TURN of conv_code.h, over the verbs of target.h.
 * Asked by gen_conv.c; kernel/conv_wino.c lays them out.
 *
 * Lavin and Gray 2016: F(2x2, 3x3) at the points 0, 1, -1 and F(4x4, 3x3) at 0, 1, -1, 2, -2 (and
 * infinity). */
#include "../dync.in.h"
#include "gen_conv.h"
DYNC__LEAN
#if DYNC__JIT

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
            dync__ct_load(c, to, dync__a_reg(at[j]));
        else if (i < 0)
            dync__ct_op2(c, DYNC__P_mul, to, at[j], times);
        else if (f[j] == 1 || f[j] == -1)
            dync__ct_op2(c, f[j] == 1 ? DYNC__P_add : DYNC__P_sub, to, to, dync__a_reg(at[j]));
        else
            DYNC__A(c->a, FMA, .v = c->v, .to = to, .x = at[j], .y = times);
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
                    dync__ct_op2(c, DYNC__P_add, at[j], j, dync__a_reg(j + 1));
                    dync__ct_op2(c, DYNC__P_sub, at[j + 1], j, dync__a_reg(j + 1));
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
        dync__ct_op2(c, DYNC__P_add, to, DYNC__CW_SPARE, dync__a_reg(to + 1));
        dync__ct_op2(c, DYNC__P_sub, to + 1, DYNC__CW_SPARE, dync__a_reg(to + 1));
        r++;
    }
}

/* Column after column of X to memory, then row after row of that. */
static void dync__cw_columns(dync__ct *c, const dync__cw_matrix *m, bool out)
{
    const dync__ctile *t = c->t;
    int line = m->columns;
    DYNC__A(c->a, GET, .to = DYNC__G_END, .y = dync__ct_arg(DYNC__CA_TAPS));
    for (int j = 0; j < line; j++) {
        for (int i = 0; i < line; i++)
            dync__ct_load(c, i, dync__a_mem(DYNC__G_T1, i * t->in_at[0] + j * t->in_at[1]));
        dync__cw_line(c, m, out);
        for (int r = 0; r < m->rows; r++)
            dync__ct_put(c, DYNC__CW_RESULT + r,
                         dync__a_mem(DYNC__G_END, (r * line + j) * dync__ct_bytes(c)));
    }
}

DYNC__FN void dync__cw_emit(dync__ct *c)
{
    const dync__ctile *t = c->t;
    const dync__cw_matrix *m = &dync__cw_matrices[t->w_b / 4 == 4][t->w_b % 4];
    bool out = t->w_b % 4 == DYNC__CW_OUT, bias = out && t->flags & DYNC__CT_BIAS;
    int line = m->columns;
    c->wreg = DYNC__CW_SPARE;
    dync__ct_spare(c, DYNC__CW_SPARE + 1, DYNC__CW_SPARE + 1);
    dync__cw_columns(c, m, out);
    DYNC__A(c->a, GET, .to = DYNC__G_T0, .y = dync__ct_arg(DYNC__CA_OUT));
    if (bias) DYNC__A(c->a, GET, .to = DYNC__G_A1, .y = dync__ct_arg(DYNC__CA_BIAS));
    for (int i = 0; i < (out ? t->K : m->rows); i++) {
        for (int j = 0; j < line; j++)
            dync__ct_load(c, j, dync__a_mem(DYNC__G_END, (i * line + j) * dync__ct_bytes(c)));
        dync__cw_line(c, m, out);
        uint32_t taken = ((1u << m->rows) - 1) << DYNC__CW_RESULT;
        for (int r = 0; r < (out ? t->across : m->rows); r++) {
            int reg = DYNC__CW_RESULT + r, p = i * m->rows + r,
                at = out ? t->out_at[p] : i * t->out_at[0] + r * t->out_at[1];
            if (bias) dync__ct_op2(c, DYNC__P_add, reg, reg, dync__a_mem(DYNC__G_A1, 0));
            dync__ct_put(c, out ? dync__ct_follow(c, reg, taken) : reg,
                         dync__a_mem(DYNC__G_T0, at));
            taken &= ~(1u << reg);
        }
    }
}
#endif
