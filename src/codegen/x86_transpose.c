/* codegen/x86_transpose.c: transpositions in registers. Before: jit_run.c transposes blocks of a
 * loop nest that memory crosses; with x86_gemm.c, whose table keeps the code.
 *
 * 16 bytes of each of P = 16 / element lines, in all lanes of 128 bits at once (line i + P c in
 * lane c), become P lines of one vector by log2 P rounds of the same perfect shuffle: v[k] and v[k
 * + P / 2] interleaved give v[2k] and v[2k + 1] (Stone 1971). Registers: rsi a and r9 its lines,
 * rcx a_step, r10 three of it; rdx c and rbp its lines, r11 c_step, rbx three of it; r8 counts. */
#include "../dync.in.h"
#include "gemm_code.h"
#include "x86_enc.h"
#if DYNC__JIT_X86
#include <stddef.h>

#define DYNC__XT_ARG(field) dync__a_mem(DYNC__RDI, (int32_t)offsetof(dync__gt_args, field))

/* Line n of those that start at base: every four lines the base moves on. */
static dync__place dync__xt_line(dync__asm *x, int base, int step, int step3, int n)
{
    if (n > 0 && n % 4 == 0) dync__x_i(x, DYNC__X_LEA, base, dync__a_index(base, step, 4, 0), 0);
    return n % 4 == 0   ? dync__a_mem(base, 0)
           : n % 4 == 3 ? dync__a_index(base, step3, 1, 0)
                        : dync__a_index(base, step, n % 4, 0);
}

/* v[0..P): registers, in order; spare is free and another one then. Without one (AVX2 and P = 16)
 * memory at b. */
static void dync__xt_shuffle(dync__asm *x, int vl, int P, int8_t *v, int8_t *free_reg)
{
    static const int low[] = {0, DYNC__X_PUNPCKLBW, DYNC__X_PUNPCKLWD, 0, DYNC__X_PUNPCKLDQ, 0, 0,
                              0, DYNC__X_PUNPCKLQDQ};
    static const int high[] = {0, DYNC__X_PUNPCKHBW, DYNC__X_PUNPCKHWD, 0, DYNC__X_PUNPCKHDQ, 0, 0,
                               0, DYNC__X_PUNPCKHQDQ};
    int8_t next[16], spare = *free_reg;
    bool spills = P == 16 && !dync__x_evex_of(x);
    if (spills) dync__x_i(x, DYNC__X_MOV, DYNC__R9, DYNC__XT_ARG(b), 0);
    for (int round = P; round > 1; round /= 2) {
        for (int k = 0; k < P / 2; k++) {
            int a = v[k], b = v[k + P / 2];
            dync__place second = dync__a_reg(b);
            if (spills) {
                second = dync__a_mem(DYNC__R9, 0);
                dync__x_v(x, DYNC__X_MOVUPS_M, vl, b, 0, second, 0, 0);
                spare = (int8_t)b;
            }
            dync__x_v(x, high[16 / P], vl, spare, a, dync__a_reg(b), 0, 0);
            dync__x_v(x, low[16 / P], vl, a, a, second, 0, 0);
            next[2 * k] = (int8_t)a;
            next[2 * k + 1] = spare;
            spare = (int8_t)b;
        }
        memcpy(v, next, (size_t)P);
    }
    *free_reg = spare;
}

/* Lanes of 128 bits of v[0], v[n], v[2 n], v[3 n], as a 4 by 4 matrix, transposed. */
static void dync__xt_lanes(dync__asm *x, int8_t *v, int n, int8_t *spare)
{
    int8_t a = v[0], b = v[n], c = v[2 * n], d = v[3 * n], t = *spare;
    const int step[8][4] = {{t, a, b, 0xee}, {a, a, b, 0x44}, {b, c, d, 0xee}, {c, c, d, 0x44},
                            {d, a, c, 0xdd}, {a, a, c, 0x88}, {c, t, b, 0xdd}, {t, t, b, 0x88}};
    for (int i = 0; i < 8; i++)
        dync__x_v(x, DYNC__X_SHUF128, 2, step[i][0], step[i][1], dync__a_reg(step[i][2]),
                  step[i][3], 0);
    v[0] = a, v[n] = d, v[2 * n] = t, v[3 * n] = c;
    *spare = b;
}

/* A square of whole cache lines, of elements of 4 or 8 bytes: P lines each in their lanes, then the
 * lanes of every P-th line. The 4 P lines from base on, by steps, come to v; fetch: their next
 * lines but one go to the second cache, as nothing else sees that they will be wanted. */
DYNC__FN void dync__xt_square(dync__asm *x, int P, int base, int step, int step3, bool fetch,
                              int8_t v[16])
{
    int8_t spare = 16;
    for (int i = 0; i < 4 * P; i++) {
        dync__place line = dync__xt_line(x, base, step, step3, i);
        dync__x_v(x, DYNC__X_MOVUPS, 2, v[i] = (int8_t)i, 0, line, 0, 0);
        line.disp += 128;
        if (fetch) dync__x_i(x, DYNC__X_PREFETCHT1, 0, line, 0);
    }
    for (int i = 0; i < 4 * P; i += P) dync__xt_shuffle(x, 2, P, v + i, &spare);
    for (int i = 0; i < P; i++) dync__xt_lanes(x, v + i, P, &spare);
}

/* For k groups of columns: `blocks` times P << vl lines. b_step: bytes of c from one group to the
 * next. square: a group is a cache line, not 16 bytes. */
DYNC__FN void dync__xt_emit(dync__asm *x, int bytes, int vl, bool square, bool fetch)
{
    int P = 16 / bytes, T = P << vl, group = dync__a_label(x), block = dync__a_label(x);
    dync__x_push(x, DYNC__RBX);
    dync__x_push(x, DYNC__RBP);
    dync__x_i(x, DYNC__X_MOV, DYNC__RCX, DYNC__XT_ARG(a_step), 0);
    dync__x_i(x, DYNC__X_LEA, DYNC__R10, dync__a_index(DYNC__RCX, DYNC__RCX, 2, 0), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__R11, DYNC__XT_ARG(c_step), 0);
    dync__x_i(x, DYNC__X_LEA, DYNC__RBX, dync__a_index(DYNC__R11, DYNC__R11, 2, 0), 0);
    dync__x_bind(x, group);
    dync__x_i(x, DYNC__X_MOV, DYNC__RSI, DYNC__XT_ARG(a), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__RDX, DYNC__XT_ARG(c), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__R8, DYNC__XT_ARG(blocks), 0);
    dync__x_bind(x, block);
    dync__x_i(x, DYNC__X_MOV, DYNC__RBP, dync__a_reg(DYNC__RDX), 0);
    if (square) {
        int8_t v[16];
        dync__xt_square(x, P, DYNC__RSI, DYNC__RCX, DYNC__R10, fetch, v);
        for (int i = 0; i < 4 * P; i++)
            dync__x_v(x, DYNC__X_MOVUPS_M, 2, v[i], 0,
                      dync__xt_line(x, DYNC__RBP, DYNC__R11, DYNC__RBX, i), 0, 0);
        dync__x_i(x, DYNC__X_LEA, DYNC__RSI, dync__a_index(DYNC__RSI, DYNC__RCX, 4, 0), 0);
    } else {
        int8_t v[16], spare = (int8_t)P;
        for (int i = 0; i < T; i++) {
            dync__place from = dync__xt_line(x, DYNC__RSI, DYNC__RCX, DYNC__R10, i);
            if (i < P)
                dync__x_v(x, DYNC__X_MOVUPS, 0, v[i] = (int8_t)i, 0, from, 0, 0);
            else
                dync__x_v(x, DYNC__X_INSERT128, vl, i % P, i % P, from, i / P, 0);
        }
        dync__x_i(x, DYNC__X_LEA, DYNC__RSI, dync__a_index(DYNC__RSI, DYNC__RCX, T < 4 ? T : 4, 0),
                  0);
        dync__xt_shuffle(x, vl, P, v, &spare);
        for (int i = 0; i < P; i++)
            dync__x_v(x, DYNC__X_MOVUPS_M, vl, v[i], 0,
                      dync__xt_line(x, DYNC__RBP, DYNC__R11, DYNC__RBX, i), 0, 0);
    }
    dync__x_i(x, DYNC__X_ADDI, 0, dync__a_reg(DYNC__RDX), 16 << vl);
    dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__R8), 1);
    dync__x_jump(x, DYNC__CC_NE, block);
    dync__x_i(x, DYNC__X_MOV, DYNC__RAX, DYNC__XT_ARG(b_step), 0);
    dync__x_i(x, DYNC__X_ADD_M, DYNC__RAX, DYNC__XT_ARG(c), 0);
    dync__x_i(x, DYNC__X_ADDI, 0, DYNC__XT_ARG(a), square ? 64 : 16);
    dync__x_i(x, DYNC__X_SUBI, 0, DYNC__XT_ARG(k), 1);
    dync__x_jump(x, DYNC__CC_NE, group);
    dync__x_pop(x, DYNC__RBP);
    dync__x_pop(x, DYNC__RBX);
    dync__x_ret(x);
}

/* Lines whose steps fall into few sets of the cache, in two halves with a stage between them, so
 * that both sides are runs of cache lines: 256 bytes of P lines at a time are shuffled as above and
 * stored so that the vectors of the same columns stand in a row; then their lanes are transposed.
 * The first half: `blocks` times P lines; the second: k times the columns of a vector, `blocks`
 * times the lines that fill one. */
DYNC__FN void dync__xt_stage(dync__asm *x, int bytes, bool second, bool fetch)
{
    int P = 16 / bytes, L = dync__x_evex_of(x) ? 4 : 2, W = 16 * L, vl = L / 2,
        pitch = (DYNC__GT_STAGED / P + 1) * W, top = dync__a_label(x), row = dync__a_label(x),
        piece = dync__a_label(x);
    int base = second ? DYNC__R11 : DYNC__RCX, three = second ? DYNC__RBX : DYNC__R10;
    if (second) dync__x_push(x, DYNC__RBX), dync__x_push(x, DYNC__RBP);
    dync__x_i(x, DYNC__X_MOV, DYNC__RSI, DYNC__XT_ARG(a), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__RDX, DYNC__XT_ARG(c), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__RCX, second ? DYNC__XT_ARG(c_step) : DYNC__XT_ARG(a_step), 0);
    if (second) dync__x_i(x, DYNC__X_MOV, DYNC__R11, dync__a_reg(DYNC__RCX), 0);
    if (second)
        dync__x_i(x, DYNC__X_SHLI, 0, dync__a_reg(DYNC__R11),
                  P == 2   ? 1
                  : P == 4 ? 2
                  : P == 8 ? 3
                           : 4);
    dync__x_i(x, DYNC__X_LEA, three, dync__a_index(base, base, 2, 0), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__R8, DYNC__XT_ARG(blocks), 0);
    dync__x_bind(x, top);
    for (int q = 0; q < 256 / W && !second; q++) {
        int8_t v[16], spare = (int8_t)P;
        dync__x_i(x, DYNC__X_LEA, DYNC__R9, dync__a_mem(DYNC__RSI, W * q), 0);
        for (int i = 0; i < P; i++) {
            dync__place line = dync__xt_line(x, DYNC__R9, DYNC__RCX, DYNC__R10, i);
            dync__x_v(x, DYNC__X_MOVUPS, vl, v[i] = (int8_t)i, 0, line, 0, 0);
            line.disp += 256;
            if (fetch && W * q % 64 == 0) dync__x_i(x, DYNC__X_PREFETCHT1, 0, line, 0);
        }
        dync__xt_shuffle(x, vl, P, v, &spare);
        for (int i = 0; i < P; i++)
            dync__x_v(x, DYNC__X_MOVUPS_M, vl, v[i], 0, dync__a_mem(DYNC__RDX, (q * P + i) * pitch),
                      0, 0);
    }
    if (second) {
        int8_t v[] = {0, 1, 2, 3}, spare = 4;
        dync__x_i(x, DYNC__X_MOVI, 0, dync__a_reg(DYNC__R10), P);
        dync__x_bind(x, row);
        dync__x_i(x, DYNC__X_MOV, DYNC__R9, dync__a_reg(DYNC__RSI), 0);
        dync__x_i(x, DYNC__X_MOV, DYNC__RBP, dync__a_reg(DYNC__RDX), 0);
        dync__x_i(x, DYNC__X_MOV, DYNC__R8, DYNC__XT_ARG(blocks), 0);
        dync__x_bind(x, piece);
        for (int i = 0; i < L; i++) {
            dync__x_v(x, DYNC__X_MOVUPS, L == 4 ? 2 : 0, i, 0,
                      dync__a_mem(DYNC__R9, L == 4 ? 64 * i : 16 * i), 0, 0);
            if (L == 2)
                dync__x_v(x, DYNC__X_INSERT128, 1, i, i, dync__a_mem(DYNC__R9, 32 + 16 * i), 1, 0);
        }
        if (L == 4) dync__xt_lanes(x, v, 1, &spare);
        for (int i = 0; i < L; i++)
            dync__x_v(x, DYNC__X_MOVUPS_M, vl, v[i], 0,
                      dync__xt_line(x, DYNC__RBP, DYNC__R11, DYNC__RBX, i), 0, 0);
        dync__x_i(x, DYNC__X_ADDI, 0, dync__a_reg(DYNC__R9), L * W);
        dync__x_i(x, DYNC__X_ADDI, 0, dync__a_reg(DYNC__RBP), W);
        dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__R8), 1);
        dync__x_jump(x, DYNC__CC_NE, piece);
        dync__x_i(x, DYNC__X_ADDI, 0, dync__a_reg(DYNC__RSI), pitch);
        dync__x_i(x, DYNC__X_ADD, DYNC__RDX, dync__a_reg(DYNC__RCX), 0);
        dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__R10), 1);
        dync__x_jump(x, DYNC__CC_NE, row);
        dync__x_i(x, DYNC__X_ADD, DYNC__RDX, dync__a_reg(L == 4 ? DYNC__RBX : DYNC__R11), 0);
        dync__x_i(x, DYNC__X_SUBI, 0, DYNC__XT_ARG(k), 1);
        dync__x_jump(x, DYNC__CC_NE, top);
        dync__x_pop(x, DYNC__RBP);
        dync__x_pop(x, DYNC__RBX);
    } else {
        for (int i = 0; i < P; i += 4)
            dync__x_i(x, DYNC__X_LEA, DYNC__RSI,
                      dync__a_index(DYNC__RSI, DYNC__RCX, P < 4 ? P : 4, 0), 0);
        dync__x_i(x, DYNC__X_ADDI, 0, dync__a_reg(DYNC__RDX), W);
        dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__R8), 1);
        dync__x_jump(x, DYNC__CC_NE, top);
    }
    dync__x_ret(x);
}

/* Which bytes of piece o come from piece s of the other side, in all lanes; false: none. */
static bool dync__xt_pick(uint8_t pick[64], int bytes, int n, bool woven, int o, int s)
{
    int P = 16 / bytes;
    bool any = false;
    for (int i = 0; i < 64; i++) {
        int e = woven ? o * P + i % 16 / bytes : i % 16 / bytes * n + o,
            from = woven ? e % n : e / P, at = woven ? e / n : e % P;
        pick[i] = (uint8_t)(from == s ? at * bytes + i % bytes : 0x80);
        any |= from == s;
    }
    return any;
}

/* 32 bytes of each of n lines, and 32 n bytes in which their elements stand in turn: one side from
 * the other. Either is 2 n pieces of 16 bytes, in lanes of n vectors (piece p and n + p of one);
 * every piece is put together by byte shuffles from those of the other side it has elements of. */
DYNC__FN void dync__xt_weave(dync__asm *x, int bytes, int n, bool woven)
{
    int block = dync__a_label(x), apart = woven ? DYNC__RSI : DYNC__RDX,
        beside = woven ? DYNC__RDX : DYNC__RSI, kept = 0, most = dync__x_evex_of(x) ? 28 - n : 0;
    uint8_t keep[32][64], pick[64];
    for (int i = 0; i < n * n; i++) { /* what registers are left for */
        bool fresh = kept < most && dync__xt_pick(keep[kept], bytes, n, woven, i / n, i % n);
        for (int l = 0; l < kept && fresh; l++) fresh = memcmp(keep[l], keep[kept], 64) != 0;
        if (fresh)
            dync__x_v(x, DYNC__X_MOVUPS, 1, 31 - kept, 0, dync__a_constant64(x, keep[kept]), 0, 0),
                kept++;
    }
    dync__x_i(x, DYNC__X_MOV, DYNC__RSI, DYNC__XT_ARG(a), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__RDX, DYNC__XT_ARG(c), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__RCX, woven ? DYNC__XT_ARG(a_step) : DYNC__XT_ARG(c_step), 0);
    dync__x_i(x, DYNC__X_LEA, DYNC__R10, dync__a_index(DYNC__RCX, DYNC__RCX, 2, 0), 0);
    dync__x_i(x, DYNC__X_MOV, DYNC__R8, DYNC__XT_ARG(blocks), 0);
    dync__x_bind(x, block);
    dync__x_i(x, DYNC__X_MOV, DYNC__R9, dync__a_reg(apart), 0);
    for (int i = 0; i < n; i++) {
        dync__x_v(x, DYNC__X_MOVUPS, woven, i, 0,
                  woven ? dync__xt_line(x, DYNC__R9, DYNC__RCX, DYNC__R10, i)
                        : dync__a_mem(beside, 16 * i),
                  0, 0);
        if (!woven)
            dync__x_v(x, DYNC__X_INSERT128, 1, i, i, dync__a_mem(beside, 16 * (n + i)), 1, 0);
    }
    for (int o = 0; o < n; o++) {
        int sum = -1;
        for (int s = 0; s < n; s++) {
            int to = n + (sum < 0 ? o % 2 : 2), l = 0;
            if (!dync__xt_pick(pick, bytes, n, woven, o, s)) continue;
            while (l < kept && memcmp(keep[l], pick, 64) != 0) l++;
            dync__x_v(x, DYNC__X_PSHUFB, 1, to, s,
                      l < kept ? dync__a_reg(31 - l) : dync__a_constant64(x, pick), 0, 0);
            if (sum >= 0)
                dync__x_v(x, DYNC__X_ORPS, 1, sum, sum, dync__a_reg(to), 0, 0);
            else
                sum = to;
        }
        dync__x_v(x, DYNC__X_MOVUPS_M, !woven, sum, 0,
                  woven ? dync__a_mem(beside, 16 * o)
                        : dync__xt_line(x, DYNC__R9, DYNC__RCX, DYNC__R10, o),
                  0, 0);
        if (woven)
            dync__x_v(x, DYNC__X_EXTRACT128, 1, sum, 0, dync__a_mem(beside, 16 * (n + o)), 1, 0);
    }
    dync__x_i(x, DYNC__X_ADDI, 0, dync__a_reg(apart), 32);
    dync__x_i(x, DYNC__X_ADDI, 0, dync__a_reg(beside), 32 * n);
    dync__x_i(x, DYNC__X_SUBI, 0, dync__a_reg(DYNC__R8), 1);
    dync__x_jump(x, DYNC__CC_NE, block);
    dync__x_ret(x);
}
#endif
