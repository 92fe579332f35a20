/* codegen/transpose_run.c: a transpose in memory by the forms SWAP, STAGE and WEAVE of gemm_code.h,
 * or element by element where there is no code. Before: gen_transpose.c makes the forms; after:
 * jit_run.c transposes blocks of a loop nest, kernel/ whole matrices. */
#include "../dync.in.h"
#include "gemm_code.h"
DYNC__BESIDE_JIT

/* Elements have 1, 2, 4 or 8 bytes and vectors 16, 32 or 64: what is divided by them is shifted, as
 * a block of a loop nest is done in the time of a few divisions. */
static const int8_t dync__gt_log2[9] = {0, 0, 1, 0, 2, 0, 0, 0, 3};

/* Few rows whose elements are interleaved without gaps on the other side (woven), or the reverse:
 * few columns into as many rows. What is left at the end is done together with some elements before
 * it once more. False: not of this form, or no code. */
static bool dync__gt_weave(char *to, int64_t to_step, const char *from, int64_t from_step,
                           int64_t lines, int64_t columns, int bytes, const dync__target *t)
{
    bool woven = to_step == lines * bytes && lines <= DYNC__GT_FEW && lines > 1;
    int64_t n = woven ? lines : columns, length = woven ? columns : lines;
    int shift = (t->vector_bytes < 32 ? 4 : 5) - dync__gt_log2[bytes]; /* dync__tr_woven */
    int64_t per = (int64_t)1 << shift;
    /* Squares take fewer shuffles where a line fills a vector of 32 bytes. */
    if (n * bytes == 32 && n <= 8 && (woven ? columns : lines) >= 4) return false;
    if ((!woven && (from_step != columns * bytes || n > DYNC__GT_FEW || n < 2)) || length < per)
        return false;
    dync__gt_fn fn = dync__gt_code(t, DYNC__GT_WEAVE, DYNC__GT_F32, woven, bytes, (int)n);
    for (int part = 0; fn && part < 2; part++) {
        int64_t at = part ? length - per : 0;
        dync__gt_args x; /* only what the code reads: clearing all of it costs as much as a call */
        x.a = from + at * (woven ? bytes : from_step);
        x.a_step = from_step;
        x.c = to + at * (woven ? to_step : bytes);
        x.c_step = to_step;
        x.blocks = part ? (length & (per - 1)) > 0 : length >> shift;
        if (x.blocks) fn(&x);
    }
    return fn != NULL;
}

/* Transposes by way of scratch memory, 256 bytes of up to DYNC__GT_STAGED rows at a time, so that
 * both sides are read and written in whole cache lines. The last block is moved back to be whole,
 * so some elements are done twice. False: no need, too small, no scratch or no code. */
static bool dync__gt_by_stage(char *to, int64_t to_step, const char *from, int64_t from_step,
                              int64_t lines, int64_t columns, int bytes, bool fetch, char *scratch,
                              const dync__target *t)
{
    int64_t run = 256 / bytes, wide = t->vector_bytes, least = wide >> dync__gt_log2[bytes], n;
    dync__gt_fn half[2];
    if (!scratch || !(dync__gt_crowds(from_step, bytes) || dync__gt_crowds(to_step, bytes)) ||
        columns < run || lines < least)
        return false;
    for (int i = 0; i < 2; i++)
        if (!(half[i] = dync__gt_code(t, DYNC__GT_STAGE, DYNC__GT_F32,
                                      i       ? 1
                                      : fetch ? 2
                                              : 0,
                                      bytes, 0)))
            return false;
    for (int64_t column = 0, at; column < columns; column += run)
        for (int64_t line = 0; line < lines; line += n) {
            at = DYNC__MIN(column, columns - run);
            n = DYNC__MIN(lines - line, DYNC__GT_STAGED) & -least;
            if (n == 0) line = lines - (n = least);
            dync__gt_args in = {.a = from + line * from_step + at * bytes,
                                .a_step = from_step,
                                .b = scratch,
                                .c = scratch + 64,
                                .blocks = n * bytes / 16};
            dync__gt_args out = {.a = scratch + 64,
                                 .c = to + at * to_step + line * bytes,
                                 .c_step = to_step,
                                 .k = 256 / wide,
                                 .blocks = n * bytes / wide};
            half[0](&in);
            half[1](&out);
        }
    return true;
}

DYNC__FN bool dync__gt_squares(int bytes)
{
    const dync__target *t = dync__target_now();
    return bytes >= 4 && t && t->vector_bytes == 64; /* dync__tr_has_squares */
}

/* Squares of P << vl rows by a vector's or a cache line's columns; what is left of rows and columns
 * is done by squares moved back, which do some elements once more: `to` must not overlap `from`. */
DYNC__FN void dync__gt_swap(void *to, int64_t to_step, const void *from, int64_t from_step,
                            int64_t lines, int64_t columns, int bytes, bool fetch, void *scratch)
{
    const dync__target *t = dync__target_now();
    if (t &&
        (dync__gt_weave(to, to_step, from, from_step, lines, columns, bytes, t) ||
         dync__gt_by_stage(to, to_step, from, from_step, lines, columns, bytes, fetch, scratch, t)))
        return;
    int element = dync__gt_log2[bytes], P = 16 >> element, vl = t ? t->vector_bytes / 32 : 0;
    while (vl > 0 && lines < P << vl) vl--;
    bool whole = vl == 2 && bytes >= 4 && columns * bytes >= 64;
    int shift[2] = {4 - element + vl, (whole ? 6 : 4) - element};
    int64_t step[2] = {P << vl, (int64_t)1 << shift[1]},
            start[2][2] = {{0, lines - step[0]}, {0, columns - step[1]}};
    int64_t count[2][2] = {{lines >> shift[0], (lines & (step[0] - 1)) > 0},
                           {columns >> shift[1], (columns & (step[1] - 1)) > 0}};
    dync__gt_fn fn = lines < P || columns < P ? NULL
                                              : dync__gt_code(t, DYNC__GT_SWAP, DYNC__GT_F32, fetch,
                                                              bytes, vl | whole << 2);
    /* a few rows of a matrix product's epilogue */
    for (int64_t i = 0; !fn && i < lines; i++)
        for (int64_t k = 0; k < columns; k++)
            memcpy((char *)to + k * to_step + i * bytes,
                   (const char *)from + i * from_step + k * bytes, (size_t)bytes);
    for (int n = 0; fn && n < 4; n++) {
        int64_t line = start[0][n / 2], column = start[1][n % 2];
        dync__gt_args x; /* only what the code reads */
        x.a = (const char *)from + line * from_step + column * bytes;
        x.a_step = from_step;
        x.c = (char *)to + column * to_step + line * bytes;
        x.c_step = to_step;
        x.b = scratch;
        x.b_step = step[1] * to_step;
        x.k = count[1][n % 2];
        x.blocks = count[0][n / 2];
        if (x.k && x.blocks) fn(&x);
    }
}
