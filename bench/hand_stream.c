/* bench/hand_stream.c: see hand.h. Loops that wait for memory, as they are written by hand for one
 * kind of processor: prefetches some cache lines ahead, non-temporal stores of whole lines. Without
 * AVX2 they are plain C. */
#include "hand.h"
#if defined(__AVX2__)
#include <immintrin.h>

enum { AHEAD = 1024 }; /* floats */

void hand_stream_scale(const float *restrict x, float *restrict y, size_t n)
{
    const __m256 two = _mm256_set1_ps(2.0f);
    size_t i = 0;
    for (; ((size_t)(y + i) & 31) != 0 && i < n; i++) y[i] = 2.0f * x[i];
    for (; i + 16 <= n; i += 16) {
        _mm_prefetch((const char *)(x + i + AHEAD), _MM_HINT_T0);
        _mm256_stream_ps(y + i, _mm256_mul_ps(two, _mm256_loadu_ps(x + i)));
        _mm256_stream_ps(y + i + 8, _mm256_mul_ps(two, _mm256_loadu_ps(x + i + 8)));
    }
    for (; i < n; i++) y[i] = 2.0f * x[i];
    _mm_sfence();
}

void hand_stream_add(const float *restrict a, const float *restrict b, float *restrict y, size_t n)
{
    size_t i = 0;
    for (; ((size_t)(y + i) & 31) != 0 && i < n; i++) y[i] = a[i] + b[i];
    for (; i + 16 <= n; i += 16) {
        _mm_prefetch((const char *)(a + i + AHEAD), _MM_HINT_T0);
        _mm_prefetch((const char *)(b + i + AHEAD), _MM_HINT_T0);
        _mm256_stream_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
        _mm256_stream_ps(y + i + 8,
                         _mm256_add_ps(_mm256_loadu_ps(a + i + 8), _mm256_loadu_ps(b + i + 8)));
    }
    for (; i < n; i++) y[i] = a[i] + b[i];
    _mm_sfence();
}

void hand_stream_sum(const float *restrict x, float *restrict y, size_t n)
{
    __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                     _mm256_setzero_ps()};
    size_t i = 0;
    float part[8], s = 0;
    for (; i + 32 <= n; i += 32) {
        _mm_prefetch((const char *)(x + i + AHEAD), _MM_HINT_T0);
        _mm_prefetch((const char *)(x + i + AHEAD + 16), _MM_HINT_T0);
        for (size_t k = 0; k < 4; k++)
            sum[k] = _mm256_add_ps(sum[k], _mm256_loadu_ps(x + i + 8 * k));
    }
    _mm256_storeu_ps(part,
                     _mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
    for (size_t k = 0; k < 8; k++) s += part[k];
    for (; i < n; i++) s += x[i];
    *y = s;
}
#else
void hand_stream_scale(const float *restrict x, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = 2.0f * x[i];
}
void hand_stream_add(const float *restrict a, const float *restrict b, float *restrict y, size_t n)
{
    hand_add(a, b, y, n);
}
void hand_stream_sum(const float *restrict x, float *restrict y, size_t n) { hand_sum(x, y, n); }
#endif

/* Columns of n floats, `rows` of them above each other: one row after the other is added. */
void hand_stream_columns(const float *restrict x, float *restrict y, size_t rows, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = 0;
    for (size_t r = 0; r < rows; r += 4, x += 4 * n)
        for (size_t i = 0; i < n; i++) y[i] += (x[i] + x[n + i]) + (x[2 * n + i] + x[3 * n + i]);
}
