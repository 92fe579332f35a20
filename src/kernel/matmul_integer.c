/* kernel/matmul_integer.c: pairs of bf16 and fours of bytes lifted into words, and integer
 * products. After matmul_open.c. */
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"
#include "packed.h"
#include "matmul.h"
DYNC__BESIDE_JIT

/* ---- pairs of bf16, fours of bytes ----------------------------------------------------------- */

/* Signed bytes to unsigned ones, x + 128: the highest bit changes. */
DYNC__OFTEN DYNC__FN void dync__mm_lift(char *p, int64_t bytes)
{
    uint64_t word[2];
    for (; bytes >= 16; bytes -= 16, p += 16) {
        memcpy(word, p, 16);
        word[0] ^= UINT64_C(0x8080808080808080);
        word[1] ^= UINT64_C(0x8080808080808080);
        memcpy(p, word, 16);
    }
    for (; bytes > 0; bytes--) *p++ ^= (char)-128;
}

/* `lines` vectors along k (rows of a, or columns of b), `line` elements apart, their own elements
 * `step` apart, as dense words of 4 bytes, the last word filled up with zeros. Gives `from` itself
 * where they lie so, else the copy in `to`; *words: from one vector to the next, in words. lift:
 * bytes -128 .. 127 become 0 .. 255. */
DYNC__FN const char *dync__mm_words(char *to, const char *from, int64_t lines, int64_t line,
                                    int64_t k, int64_t step, int64_t bytes, bool lift,
                                    int64_t *words)
{
    int64_t group = 4 / bytes, all = (k + group - 1) / group * group;
    if (step == 1 && k % group == 0 && line % group == 0 && !lift) {
        *words = line / group;
        return from;
    }
    /* dense the other way; bytes would want scratch memory */
    bool across = step != 1 && line == 1 && bytes == 2;
    if (across)
        dync__gt_swap(to, all * bytes, from, step * bytes, k, lines, (int)bytes, false, NULL);
    for (int64_t i = 0; i < lines; i++) {
        char *out = to + i * all * bytes;
        const char *in = from + i * line * bytes;
        if (step == 1) memcpy(out, in, (size_t)(k * bytes));
        for (int64_t p = 0; p < k && step != 1 && !across; p++)
            memcpy(out + p * bytes, in + p * step * bytes, (size_t)bytes);
        memset(out + k * bytes, 0, (size_t)((all - k) * bytes));
    }
    if (lift) dync__mm_lift(to, lines * all);
    *words = all / group;
    return to;
}

/* b [k, n] with dense rows as words [ceil(k / group), n]: word (p, j) holds elements b[group p ..,
 * j], zeros beyond k. What is left of k, by way of `rest`, is a group filled up with zeros. */
DYNC__FN void dync__mm_interleave(char *to, const char *b, int64_t row, int64_t n, int64_t k,
                                  int64_t bytes, int type)
{
    char rest[4][256];
    int64_t group = 4 / bytes, whole = k / group, lanes = 4 * (int64_t)dync__gt_lanes(type, 0);
    for (int64_t j = 0, some; whole && j < n; j += some) {
        some = DYNC__MIN(lanes, n - j);
        dync__gt_args x = {.a = b + j * bytes,
                           .c = to + 4 * j,
                           .k = whole,
                           .a_step = row * bytes,
                           .c_step = 4 * n,
                           .blocks = 1};
        dync__gt_do(DYNC__GT_PAIR, type, 0, 1, (int)some, &x);
    }
    if (whole * group == k) return;
    memset(rest, 0, sizeof rest);
    to += whole * 4 * n;
    b += whole * group * row * bytes;
    for (int64_t j = 0, some; j < n; j += some) {
        some = DYNC__MIN(lanes, n - j);
        for (int64_t p = 0; p < k % group; p++)
            memcpy(rest[p], b + (p * row + j) * bytes, (size_t)(some * bytes));
        dync__gt_args x = {
            .a = rest, .c = to + 4 * j, .k = 1, .a_step = (int64_t)sizeof rest[0], .blocks = 1};
        dync__gt_do(DYNC__GT_PAIR, type, 0, 1, (int)some, &x);
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Unsigned arithmetic of the element's own width: the low bits of a product depend on low bits
 * alone. */
#define DYNC__MM_INTEGERS(T, name)                                                        \
    static void dync__mm_integers_##name(const dync__mm *g, const T *a, const T *b, T *c) \
    {                                                                                     \
        for (int64_t i = 0; i < g->m; i++, a += g->a_row, c += g->c_row) {                \
            for (int64_t j = 0; j < g->n && !g->accumulate; j++) c[j * g->c_col] = 0;     \
            for (int64_t p = 0; p < g->k; p++) {                                          \
                const T *line = b + p * g->b_row;                                         \
                uint64_t x = (uint64_t)a[p * g->a_col];                                   \
                for (int64_t j = 0; j < g->n; j++)                                        \
                    c[j * g->c_col] = (T)(c[j * g->c_col] + x * line[j * g->b_col]);      \
            }                                                                             \
        }                                                                                 \
    }
DYNC__MM_INTEGERS(uint64_t, 8)
DYNC__MM_INTEGERS(uint32_t, 4)
DYNC__MM_INTEGERS(uint16_t, 2)
DYNC__MM_INTEGERS(uint8_t, 1)

static void dync__mm_sums_add(uint32_t *c, const int8_t *b, int x, int64_t n)
{
    for (int64_t j = 0; j < n; j++) c[j] += (uint32_t)(x * b[j]);
}

static uint32_t dync__mm_sums_dot(const int8_t *a, const int8_t *b, int64_t n)
{
    uint32_t sum = 0;
    for (int64_t p = 0; p < n; p++) sum += (uint32_t)(a[p] * b[p]);
    return sum;
}

/* i8 with sums in i32, where the machine has nothing for it. */
static void dync__mm_sums(const dync__mm *g, const int8_t *a, const int8_t *b, uint32_t *c)
{
    bool brief = DYNC__GEMM_BRIEF, lines = !brief && g->b_col == 1 && g->c_col == 1,
         dots = !brief && g->b_row == 1 && g->a_col == 1;
    for (int64_t i = 0; i < g->m; i++, a += g->a_row, c += g->c_row) {
        for (int64_t j = 0; j < g->n; j++)
            c[j * g->c_col] = dots && !lines ? dync__mm_sums_dot(a, b + j * g->b_col, g->k) : 0;
        for (int64_t p = 0; p < g->k && lines; p++)
            dync__mm_sums_add(c, b + p * g->b_row, a[p * g->a_col], g->n);
        for (int64_t p = 0; p < g->k && !lines && !dots; p++)
            for (int64_t j = 0; j < g->n; j++)
                c[j * g->c_col] += (uint32_t)(a[p * g->a_col] * b[p * g->b_row + j * g->b_col]);
    }
}

DYNC__FN void dync__mm_integers(const dync__mm *g, const void *a, const void *b, void *c)
{
    if (g->sums || DYNC__GEMM_BRIEF) { /* there the others are floats' */
        dync__mm_sums(g, a, b, c);
        return;
    }
    switch (dync__dtype_info(g->dtype)->bytes) {
    case 8: dync__mm_integers_8(g, a, b, c); break;
    case 4: dync__mm_integers_4(g, a, b, c); break;
    case 2: dync__mm_integers_2(g, a, b, c); break;
    default: dync__mm_integers_1(g, a, b, c);
    }
}

DYNC__FN void dync__mm_done(void *user, int64_t begin, int64_t end)
{
    const dync__mm_rows *r = user;
    const dync__kcall *c = r->g->call;
    dync_status status = dync__code_run_part(c->epilogue, r->g->data + c->n, r->first + begin,
                                             r->first + end, c->epilogue_rows);
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&r->g->status, status);
}
