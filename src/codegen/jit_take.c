/* codegen/jit_take.c: rows and elements by an index, without the kernel's own code. Before:
 * jit_part.c, which finds such kernels; after: jit_run.c. */
#include "../dync.in.h"
#include "jit.h"
DYNC__WARM
#if DYNC__JIT

/* The elements at[0, lanes) of `rows` rows (1, or a multiple of 4) that share their indices: four
 * loads before four stores, so that they wait together. */
#define DYNC__JIT_TAKE(T)                                                           \
    for (int64_t l = 0; l < lanes && rows == 1; l++)                                \
        memcpy(y + l * (int)sizeof(T), from + at[l], sizeof(T));                    \
    for (int64_t l = 0; l < lanes && rows > 1; l++) {                               \
        const char *p = from + at[l];                                               \
        char *q = y + l * (int)sizeof(T);                                           \
        for (int64_t r = 0; r < rows; r += 4, p += 4 * step[1], q += 4 * step[2]) { \
            T e[4];                                                                 \
            memcpy(&e[0], p, sizeof(T)), memcpy(&e[1], p + step[1], sizeof(T)),     \
                memcpy(&e[2], p + 2 * step[1], sizeof(T)),                          \
                memcpy(&e[3], p + 3 * step[1], sizeof(T));                          \
            memcpy(q, &e[0], sizeof(T)), memcpy(q + step[2], &e[1], sizeof(T)),     \
                memcpy(q + 2 * step[2], &e[2], sizeof(T)),                          \
                memcpy(q + 3 * step[2], &e[3], sizeof(T));                          \
        }                                                                           \
    }                                                                               \
    break
/* Rows of large tables are prefetched DYNC__JIT_AHEAD rows before. An index outside is clamped, so
 * that what is read stays within the table until the caller reports the error. */
DYNC__BUSY DYNC__FN bool dync__jit_take_rows(const dync__jit *jit, int64_t *words)
{
    const dync__jit_take *t = &jit->take;
    int last = DYNC__MAX(jit->n_row_dims - 1, 0),
        bytes = dync__jit_stream_at(jit, t->stream[2])->bytes;
    int64_t *count = words + DYNC__GW_FIXED, *of[3], step[3], at[DYNC__JIT_PICKED],
            left = words[DYNC__GW_ROWS], lanes = words[DYNC__GW_LANES],
            lane = dync__jit_stream_at(jit, t->stream[1])->lane;
    const int64_t size = t->size, stride = t->stride,
                  row = dync__jit_stream_at(jit, t->stream[0])->lane ? 0 : lanes * bytes;
    bool wide = dync__jit_stream_at(jit, t->stream[0])->bytes == 8, inside = true;
    /* where the indices stood that `at` holds, as bytes from the row's begin */
    const char *picked = NULL;
    for (int s = 0; s < 3; s++) {
        of[s] = words + jit->n_words - (jit->n_streams - t->stream[s]) * jit->record;
        step[s] = jit->n_row_dims ? of[s][DYNC__GW_STEP + last] : 0;
    }
    while (left > 0) {
        int64_t n = last ? DYNC__MIN(left, count[2 * last]) : left,
                soon = row && size * stride > DYNC__JIT_TABLE ? n - DYNC__JIT_AHEAD : 0;
        const char *x = (const char *)(uintptr_t)of[0][DYNC__GW_AT],
                   *line = (const char *)(uintptr_t)of[1][DYNC__GW_AT], *from = line;
        char *y = (char *)(uintptr_t)of[2][DYNC__GW_AT];
        left -= n;
        for (int s = 0; s < 3; s++) of[s][DYNC__GW_AT] += n * step[s];
        for (int64_t rows = 1; n > 0; n -= rows, soon--, x += rows * step[0],
                     from = line += rows * step[1], y += rows * step[2]) {
            rows = !row && !step[0] && n >= 4 ? DYNC__MIN(n, DYNC__JIT_SHARE) & -4 : 1;
            for (int64_t l = 0; !row && x != picked && l < lanes; l++) {
                int64_t i = wide ? ((const int64_t *)(const void *)x)[l]
                                 : ((const int32_t *)(const void *)x)[l];
                if (DYNC__UNLIKELY((uint64_t)i >= (uint64_t)size))
                    inside = false, i = i < 0 ? 0 : size - 1;
                at[l] = l * lane + i * stride;
            }
            picked = x;
            switch (row ? 0 : bytes) {
            case 1: DYNC__JIT_TAKE(uint8_t);
            case 2: DYNC__JIT_TAKE(uint16_t);
            case 4: DYNC__JIT_TAKE(uint32_t);
            case 8: DYNC__JIT_TAKE(uint64_t);
            default: break;
            }
            if (!row) continue;
            int64_t i = wide ? *(const int64_t *)(const void *)x
                             : *(const int32_t *)(const void *)x,
                    b = 0;
            if (DYNC__UNLIKELY((uint64_t)i >= (uint64_t)size))
                inside = false, i = i < 0 ? 0 : size - 1;
            if (soon > 0) {
                const void *next = x + DYNC__JIT_AHEAD * step[0];
                uintptr_t to = (uintptr_t)from +
                               (uintptr_t)(wide ? *(const int64_t *)next : *(const int32_t *)next) *
                                   (uintptr_t)stride;
                for (int64_t ahead = 0; ahead < row; ahead += 64)
                    __builtin_prefetch((const void *)(to + (uintptr_t)ahead));
            }
            from += i * stride;
            if (row > DYNC__JIT_COPY) memcpy(y, from, (size_t)row), b = row;
            for (; b + 64 <= row; b += 64) memcpy(y + b, from + b, 64);
            for (; b + 16 <= row; b += 16) memcpy(y + b, from + b, 16);
            if (b < row && row > 16) memcpy(y + row - 16, from + row - 16, 16), b = row;
            for (; b + 4 <= row; b += 4) memcpy(y + b, from + b, 4);
            for (; b < row; b++) y[b] = from[b];
        }
        for (int d = last; d > 0 && (d == last || --count[2 * d] == 0);) {
            count[2 * d] = count[2 * d + 1];
            d--;
            for (int s = 0; s < 3; s++) of[s][DYNC__GW_AT] += of[s][DYNC__GW_STEP + d];
        }
    }
    return inside;
}
#endif
