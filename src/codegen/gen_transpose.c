/* codegen/gen_transpose.c: transposes in registers. Before: jit_run.c transposes blocks of a loop
 * nest that memory crosses, the forms SWAP, STAGE and WEAVE of gemm_code.h are made of this.
 *
 * 16 bytes of each of P = 16 / element rows, in all pieces of 16 bytes of a vector (row i + P c in
 * piece c), become P rows of one vector by log2 P rounds of the same perfect shuffle: v[k] and v[k
 * + P / 2] interleaved give v[2k] and v[2k + 1] (Stone 1971). Registers: T1 a and A2 its rows, LANE
 * a_step, A3 three of it; END c and T2 its rows, A4 c_step, A0 three of it; A1 counts. */
#include "../dync.in.h"
#include "gemm_code.h"
#include "gen_transpose.h"
DYNC__LEAN
#if DYNC__JIT
#include <stddef.h>

enum { DYNC__TR_SAVED = 1 << DYNC__G_A0 | 1 << DYNC__G_T2 };
static dync__place dync__tr_at(size_t field) { return dync__a_mem(DYNC__G_ARGS, (int32_t)field); }
#define DYNC__TR_ARG(field) dync__tr_at(offsetof(dync__gt_args, field))

/* Vectors of so many pieces of 16 bytes. */
static dync__vt dync__tr_vt(int bytes, int pieces)
{
    return dync__vt_of(dync__tr_type(bytes), pieces * 16 / bytes);
}
static void dync__tr_load(dync__asm *a, dync__vt v, int to, dync__place y)
{
    DYNC__A(a, LOAD, .v = v, .to = to, .y = y);
}
static void dync__tr_store(dync__asm *a, dync__vt v, int x, dync__place y)
{
    DYNC__A(a, STORE, .v = v, .x = x, .y = y);
}

/* Row n of those that start at base: every four rows the base moves on. */
static dync__place dync__tr_row(dync__asm *a, int base, int step, int step3, int n)
{
    if (n > 0 && n % 4 == 0) DYNC__A(a, ADDRESS, .to = base, .y = dync__a_index(base, step, 4, 0));
    return n % 4 == 0   ? dync__a_mem(base, 0)
           : n % 4 == 3 ? dync__a_index(base, step3, 1, 0)
                        : dync__a_index(base, step, n % 4, 0);
}

/* v[0..P): registers, in order; spare is free and another one then. Without one (16 registers and
 * P = 16) memory at b. */
static void dync__tr_shuffle(dync__asm *a, dync__vt vt, int P, int8_t *v, int8_t *free_reg)
{
    int8_t next[16], spare = *free_reg;
    bool spills = P == a->t->n_vectors;
    if (spills) DYNC__A(a, GET, .to = DYNC__G_A2, .y = DYNC__TR_ARG(b));
    for (int round = P; round > 1; round /= 2) {
        for (int k = 0; k < P / 2; k++) {
            int x = v[k], y = v[k + P / 2];
            dync__place second = dync__a_reg(y);
            if (spills) {
                second = dync__a_mem(DYNC__G_A2, 0);
                dync__tr_store(a, vt, y, second);
                spare = (int8_t)y;
            }
            DYNC__A(a, ZIP, .v = vt, .to = spare, .x = x, .y = dync__a_reg(y), .n = 1);
            DYNC__A(a, ZIP, .v = vt, .to = x, .x = x, .y = second, .n = 0);
            next[2 * k] = (int8_t)x;
            next[2 * k + 1] = spare;
            spare = (int8_t)y;
        }
        memcpy(v, next, (size_t)P);
    }
    *free_reg = spare;
}

/* Pieces of v[0], v[n], v[2 n], v[3 n], as a 4 by 4 matrix, transposed. */
static void dync__tr_pieces(dync__asm *a, dync__vt vt, int8_t *v, int n, int8_t *spare)
{
    int8_t p = v[0], q = v[n], r = v[2 * n], s = v[3 * n], t = *spare;
    const int step[8][4] = {{t, p, q, 0xee}, {p, p, q, 0x44}, {q, r, s, 0xee}, {r, r, s, 0x44},
                            {s, p, r, 0xdd}, {p, p, r, 0x88}, {r, t, q, 0xdd}, {t, t, q, 0x88}};
    for (int i = 0; i < 8; i++)
        DYNC__A(a, PIECES, .v = vt, .to = step[i][0], .x = step[i][1], .y = dync__a_reg(step[i][2]),
                .n = step[i][3]);
    v[0] = p, v[n] = s, v[2 * n] = t, v[3 * n] = r;
    *spare = q;
}

/* P rows each in their pieces, then the pieces of every P-th row. Nothing else sees that the next
 * lines will be wanted. */
DYNC__FN void dync__tr_square(dync__asm *a, int bytes, int base, int step, int step3, bool fetch,
                              int8_t to[16])
{
    int P = 16 / bytes;
    int8_t spare = DYNC__TR_SQUARE - 1;
    dync__vt vt = dync__tr_vt(bytes, 4);
    for (int i = 0; i < 4 * P; i++) {
        dync__place row = dync__tr_row(a, base, step, step3, i);
        dync__tr_load(a, vt, to[i] = (int8_t)i, row);
        row.disp += 128;
        if (fetch) DYNC__A(a, PREFETCH, .y = row, .n = 2);
    }
    for (int i = 0; i < 4 * P; i += P) dync__tr_shuffle(a, vt, P, to + i, &spare);
    for (int i = 0; i < P; i++) dync__tr_pieces(a, vt, to + i, P, &spare);
}

/* What stands in v to n rows of c from T2 on. */
static void dync__tr_store_rows(dync__asm *a, dync__vt vt, const int8_t *v, int n)
{
    for (int i = 0; i < n; i++)
        dync__tr_store(a, vt, v[i], dync__tr_row(a, DYNC__G_T2, DYNC__G_A4, DYNC__G_A0, i));
}

static void dync__tr_block(dync__asm *a, int bytes, int pieces)
{
    int P = 16 / bytes, rows = P * pieces;
    int8_t v[16], spare = (int8_t)P;
    dync__vt vt = dync__tr_vt(bytes, pieces);
    for (int i = 0; i < rows; i++) {
        dync__place from = dync__tr_row(a, DYNC__G_T1, DYNC__G_LANE, DYNC__G_A3, i);
        if (i < P)
            dync__tr_load(a, dync__tr_vt(bytes, 1), v[i] = (int8_t)i, from);
        else
            DYNC__A(a, JOIN, .v = vt, .to = i % P, .x = i % P, .y = from, .n = i / P);
    }
    DYNC__A(a, ADDRESS, .to = DYNC__G_T1,
            .y = dync__a_index(DYNC__G_T1, DYNC__G_LANE, rows < 4 ? rows : 4, 0));
    dync__tr_shuffle(a, vt, P, v, &spare);
    dync__tr_store_rows(a, vt, v, P);
}

DYNC__FN void dync__tr_blocks(dync__asm *a, int bytes, int pieces, bool square, bool fetch)
{
    int group = dync__a_label(a), block = dync__a_label(a);
    int8_t v[16];
    DYNC__A(a, ENTER, .n = DYNC__TR_SAVED);
    DYNC__A(a, GET, .to = DYNC__G_LANE, .y = DYNC__TR_ARG(a_step));
    DYNC__A(a, ADDRESS, .to = DYNC__G_A3, .y = dync__a_index(DYNC__G_LANE, DYNC__G_LANE, 2, 0));
    DYNC__A(a, GET, .to = DYNC__G_A4, .y = DYNC__TR_ARG(c_step));
    DYNC__A(a, ADDRESS, .to = DYNC__G_A0, .y = dync__a_index(DYNC__G_A4, DYNC__G_A4, 2, 0));
    DYNC__A(a, LABEL, .label = group);
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = DYNC__TR_ARG(a));
    DYNC__A(a, GET, .to = DYNC__G_END, .y = DYNC__TR_ARG(c));
    DYNC__A(a, GET, .to = DYNC__G_A1, .y = DYNC__TR_ARG(blocks));
    DYNC__A(a, LABEL, .label = block);
    DYNC__A(a, GET, .to = DYNC__G_T2, .y = dync__a_reg(DYNC__G_END));
    if (square) {
        dync__tr_square(a, bytes, DYNC__G_T1, DYNC__G_LANE, DYNC__G_A3, fetch, v);
        dync__tr_store_rows(a, dync__tr_vt(bytes, 4), v, 64 / bytes);
        DYNC__A(a, ADDRESS, .to = DYNC__G_T1, .y = dync__a_index(DYNC__G_T1, DYNC__G_LANE, 4, 0));
    } else {
        dync__tr_block(a, bytes, pieces);
    }
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_END), .n = 16 * pieces);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A1), .n = 1, .label = block);
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = DYNC__TR_ARG(b_step));
    DYNC__A(a, ADD_TO, .x = DYNC__G_T0, .y = DYNC__TR_ARG(c));
    DYNC__A(a, ADD_N, .y = DYNC__TR_ARG(a), .n = square ? 64 : 16);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = DYNC__TR_ARG(k), .n = 1, .label = group);
    DYNC__A(a, LEAVE, .n = DYNC__TR_SAVED);
}

/* ---- by a stage ------------------------------------------------------------------------------ */
/* 256 bytes of P rows at a time are shuffled as above and stored so that the vectors of the same
 * columns stand in a row (the first half: `blocks` times P rows); then their pieces are transposed
 * (the second: k times the columns of a vector, `blocks` times the rows that fill one). */

/* Bytes from the vectors of one column to the next: on the stage. */
static int dync__tr_pitch(const dync__asm *a, int P)
{
    return (DYNC__GT_STAGED / P + 1) * a->t->vector_bytes;
}

static void dync__tr_to_stage(dync__asm *a, int bytes, bool fetch)
{
    int P = 16 / bytes, W = a->t->vector_bytes, pitch = dync__tr_pitch(a, P);
    dync__vt vt = dync__tr_vt(bytes, W / 16);
    for (int q = 0; q < 256 / W; q++) {
        int8_t v[16], spare = (int8_t)P;
        DYNC__A(a, ADDRESS, .to = DYNC__G_A2, .y = dync__a_mem(DYNC__G_T1, W * q));
        for (int i = 0; i < P; i++) {
            dync__place row = dync__tr_row(a, DYNC__G_A2, DYNC__G_LANE, DYNC__G_A3, i);
            dync__tr_load(a, vt, v[i] = (int8_t)i, row);
            row.disp += 256;
            if (fetch && W * q % 64 == 0) DYNC__A(a, PREFETCH, .y = row, .n = 2);
        }
        dync__tr_shuffle(a, vt, P, v, &spare);
        for (int i = 0; i < P; i++)
            dync__tr_store(a, vt, v[i], dync__a_mem(DYNC__G_END, (q * P + i) * pitch));
    }
    for (int i = 0; i < P; i += 4)
        DYNC__A(a, ADDRESS, .to = DYNC__G_T1,
                .y = dync__a_index(DYNC__G_T1, DYNC__G_LANE, P < 4 ? P : 4, 0));
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_END), .n = W);
}

/* A vector's rows of c, from A2, where their pieces stand side by side. */
static void dync__tr_piece(dync__asm *a, int bytes, int L)
{
    int8_t v[] = {0, 1, 2, 3}, spare = 4;
    int W = 16 * L;
    dync__vt vt = dync__tr_vt(bytes, L);
    for (int i = 0; i < L; i++) {
        dync__tr_load(a, dync__tr_vt(bytes, L == 4 ? 4 : 1), i,
                      dync__a_mem(DYNC__G_A2, L == 4 ? 64 * i : 16 * i));
        if (L == 2)
            DYNC__A(a, JOIN, .v = vt, .to = i, .x = i, .y = dync__a_mem(DYNC__G_A2, 32 + 16 * i),
                    .n = 1);
    }
    if (L == 4) dync__tr_pieces(a, vt, v, 1, &spare);
    dync__tr_store_rows(a, vt, v, L);
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_A2), .n = L * W);
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T2), .n = W);
}

static void dync__tr_from_stage(dync__asm *a, int bytes)
{
    int P = 16 / bytes, L = a->t->vector_bytes / 16, row = dync__a_label(a),
        piece = dync__a_label(a);
    DYNC__A(a, SET, .to = DYNC__G_A3, .n = P);
    DYNC__A(a, LABEL, .label = row);
    DYNC__A(a, GET, .to = DYNC__G_A2, .y = dync__a_reg(DYNC__G_T1));
    DYNC__A(a, GET, .to = DYNC__G_T2, .y = dync__a_reg(DYNC__G_END));
    DYNC__A(a, GET, .to = DYNC__G_A1, .y = DYNC__TR_ARG(blocks));
    DYNC__A(a, LABEL, .label = piece);
    dync__tr_piece(a, bytes, L);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A1), .n = 1, .label = piece);
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T1), .n = dync__tr_pitch(a, P));
    DYNC__A(a, ADD, .to = DYNC__G_END, .y = dync__a_reg(DYNC__G_LANE));
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A3), .n = 1, .label = row);
    if (L > 1)
        DYNC__A(a, ADD, .to = DYNC__G_END, .y = dync__a_reg(L == 4 ? DYNC__G_A0 : DYNC__G_A4));
}

DYNC__FN void dync__tr_stage(dync__asm *a, int bytes, bool second, bool fetch)
{
    static const int8_t log2_of[] = {0, 4, 3, 0, 2, 0, 0, 0, 1}; /* of 16 / bytes */
    int top = dync__a_label(a), base = second ? DYNC__G_A4 : DYNC__G_LANE,
        three = second ? DYNC__G_A0 : DYNC__G_A3;
    if (second) DYNC__A(a, ENTER, .n = DYNC__TR_SAVED);
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = DYNC__TR_ARG(a));
    DYNC__A(a, GET, .to = DYNC__G_END, .y = DYNC__TR_ARG(c));
    DYNC__A(a, GET, .to = DYNC__G_LANE, .y = second ? DYNC__TR_ARG(c_step) : DYNC__TR_ARG(a_step));
    if (second) DYNC__A(a, GET, .to = DYNC__G_A4, .y = dync__a_reg(DYNC__G_LANE));
    if (second) DYNC__A(a, SHL_N, .y = dync__a_reg(DYNC__G_A4), .n = log2_of[bytes]);
    DYNC__A(a, ADDRESS, .to = three, .y = dync__a_index(base, base, 2, 0));
    DYNC__A(a, GET, .to = DYNC__G_A1, .y = DYNC__TR_ARG(blocks));
    DYNC__A(a, LABEL, .label = top);
    if (second) {
        dync__tr_from_stage(a, bytes);
        DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = DYNC__TR_ARG(k), .n = 1, .label = top);
        DYNC__A(a, LEAVE, .n = DYNC__TR_SAVED);
        return;
    }
    dync__tr_to_stage(a, bytes, fetch);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A1), .n = 1, .label = top);
    DYNC__A(a, LEAVE, .n = 0);
}

/* ---- woven rows ------------------------------------------------------------------------------ */
/* A vector of each of n rows, and n vectors in which their elements stand in turn: one side from
 * the other. Either is pieces of 16 bytes (of vectors of 32: piece p and n + p in one register);
 * every piece is put together by byte shuffles from those of the other side it has elements of. */

typedef struct dync__weave {
    dync__asm *a;
    int bytes, n, L; /* L: pieces of a vector */
    bool woven;
    int apart, beside; /* addresses of the rows, of what they are woven to */
    int kept;          /* numbers of bytes in registers, from the last one down */
    uint8_t keep[32][64];
} dync__weave;

/* Which bytes of piece o come from piece s of the other side, in all pieces; false: none. */
static bool dync__tr_pick(const dync__weave *w, uint8_t pick[64], int o, int s)
{
    int bytes = w->bytes, n = w->n, P = 16 / bytes;
    bool any = false;
    for (int i = 0; i < 64; i++) {
        int e = w->woven ? o * P + i % 16 / bytes : i % 16 / bytes * n + o,
            from = w->woven ? e % n : e / P, at = w->woven ? e / n : e % P;
        pick[i] = (uint8_t)(from == s ? at * bytes + i % bytes : 0x80);
        any |= from == s;
    }
    return any;
}

static dync__vt dync__tr_woven_vt(const dync__weave *w) { return dync__tr_vt(w->bytes, w->L); }

/* What registers are left for. */
static void dync__tr_keep(dync__weave *w)
{
    int n = w->n, last = w->a->t->n_vectors - 1, most = last >= 31 ? last - 3 - n : 0;
    for (int i = 0; i < n * n; i++) {
        bool fresh = w->kept < most && dync__tr_pick(w, w->keep[w->kept], i / n, i % n);
        for (int l = 0; l < w->kept && fresh; l++)
            fresh = memcmp(w->keep[l], w->keep[w->kept], 64) != 0;
        if (!fresh) continue;
        dync__tr_load(w->a, dync__tr_woven_vt(w), last - w->kept,
                      dync__a_constant64(w->a, w->keep[w->kept]));
        w->kept++;
    }
}

static void dync__tr_load_woven(dync__weave *w)
{
    dync__asm *a = w->a;
    for (int i = 0; i < w->n; i++) {
        dync__place from = w->woven ? dync__tr_row(a, DYNC__G_A2, DYNC__G_LANE, DYNC__G_A3, i)
                                    : dync__a_mem(w->beside, 16 * i);
        dync__tr_load(a, dync__tr_vt(w->bytes, w->woven ? w->L : 1), i, from);
        if (!w->woven && w->L == 2)
            DYNC__A(a, JOIN, .v = dync__tr_woven_vt(w), .to = i, .x = i,
                    .y = dync__a_mem(w->beside, 16 * (w->n + i)), .n = 1);
    }
}

/* Piece o, put together: its register. */
static int dync__tr_weave_piece(dync__weave *w, int o)
{
    dync__asm *a = w->a;
    int sum = -1, last = a->t->n_vectors - 1;
    uint8_t pick[64];
    for (int s = 0; s < w->n; s++) {
        int to = w->n + (sum < 0 ? o % 2 : 2), l = 0;
        if (!dync__tr_pick(w, pick, o, s)) continue;
        while (l < w->kept && memcmp(w->keep[l], pick, 64) != 0) l++;
        DYNC__A(a, BYTES, .v = dync__tr_woven_vt(w), .to = to, .x = s,
                .y = l < w->kept ? dync__a_reg(last - l) : dync__a_constant64(a, pick));
        if (sum >= 0)
            DYNC__A(a, OP2, .op = DYNC__P_or_, .v = dync__vt_of(DYNC_I32, 4 * w->L), .to = sum,
                    .x = sum, .y = dync__a_reg(to));
        else
            sum = to;
    }
    return sum;
}

DYNC__FN void dync__tr_weave(dync__asm *a, int bytes, int n, bool woven)
{
    dync__weave w = {.a = a,
                     .bytes = bytes,
                     .n = n,
                     .L = dync__tr_woven(a->t) / 16,
                     .woven = woven,
                     .apart = woven ? DYNC__G_T1 : DYNC__G_END,
                     .beside = woven ? DYNC__G_END : DYNC__G_T1};
    int block = dync__a_label(a);
    dync__tr_keep(&w);
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = DYNC__TR_ARG(a));
    DYNC__A(a, GET, .to = DYNC__G_END, .y = DYNC__TR_ARG(c));
    DYNC__A(a, GET, .to = DYNC__G_LANE, .y = woven ? DYNC__TR_ARG(a_step) : DYNC__TR_ARG(c_step));
    DYNC__A(a, ADDRESS, .to = DYNC__G_A3, .y = dync__a_index(DYNC__G_LANE, DYNC__G_LANE, 2, 0));
    DYNC__A(a, GET, .to = DYNC__G_A1, .y = DYNC__TR_ARG(blocks));
    DYNC__A(a, LABEL, .label = block);
    DYNC__A(a, GET, .to = DYNC__G_A2, .y = dync__a_reg(w.apart));
    dync__tr_load_woven(&w);
    for (int o = 0; o < n; o++) {
        int sum = dync__tr_weave_piece(&w, o);
        dync__place to = woven ? dync__a_mem(w.beside, 16 * o)
                               : dync__tr_row(a, DYNC__G_A2, DYNC__G_LANE, DYNC__G_A3, o);
        dync__tr_store(a, dync__tr_vt(bytes, woven ? 1 : w.L), sum, to);
        if (woven && w.L == 2)
            DYNC__A(a, PIECE_TO, .v = dync__tr_woven_vt(&w), .x = sum,
                    .y = dync__a_mem(w.beside, 16 * (n + o)), .n = 1);
    }
    DYNC__A(a, ADD_N, .y = dync__a_reg(w.apart), .n = 16 * w.L);
    DYNC__A(a, ADD_N, .y = dync__a_reg(w.beside), .n = 16 * w.L * n);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A1), .n = 1, .label = block);
    DYNC__A(a, LEAVE, .n = 0);
}
#endif
