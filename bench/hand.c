/* bench/hand.c: see hand.h. Plain C that compilers vectorise: sums go through 16 partial sums, exp
 * is a polynomial. No fast-math. */
#include "hand.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* exp for |x| <= 87, about 1 ulp: 2^n * p(r), r = x - n ln 2 */
static inline float hand_exp(float x)
{
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    float magic = x * 1.44269504f + 12582912.0f, n = magic - 12582912.0f, p, scale;
    float r = x - n * 0.693145751953125f - n * 1.42860677e-6f;
    uint32_t bits;
    memcpy(&bits, &magic, 4);
    bits = (bits + 127) << 23;
    memcpy(&scale, &bits, 4);
    p = 1.3888889e-3f;
    p = p * r + 8.3333333e-3f;
    p = p * r + 4.1666667e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * scale;
}

void hand_add(const float *restrict a, const float *restrict b, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

void hand_chain(const float *restrict a, const float *restrict b, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float t = a[i] / (fabsf(b[i]) + 1.0f) - b[i] / 2.0f;
        y[i] = (t > 0.0f ? t : 0.0f) * a[i] + b[i];
    }
}

void hand_short(const float *restrict a, const float *restrict b, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] / (fabsf(b[i]) + 1.0f) - b[i] / 2.0f;
}

void hand_gate(const float *restrict a, const float *restrict b, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float u = 0.7978845608f * (a[i] + 0.044715f * a[i] * a[i] * a[i]);
        float t = 1.0f - 2.0f / (hand_exp(2.0f * u) + 1.0f);
        y[i] = 0.5f * a[i] * (1.0f + t) / (1.0f + hand_exp(-b[i]));
    }
}

enum { LANES = 16 };

void hand_softmax(const float *restrict x, float *restrict y, size_t rows, size_t n)
{
    for (size_t row = 0; row < rows; row++, x += n, y += n) {
        float most[LANES], sum[LANES] = {0}, m, s = 0;
        size_t i = 0;
        for (int l = 0; l < LANES; l++) most[l] = -INFINITY;
        for (; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++) most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        m = most[0];
        for (int l = 1; l < LANES; l++) m = most[l] > m ? most[l] : m;
        for (; i < n; i++) m = x[i] > m ? x[i] : m;
        for (i = 0; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++) {
                float e = hand_exp(x[i + l] - m);
                y[i + l] = e;
                sum[l] += e;
            }
        for (int l = 0; l < LANES; l++) s += sum[l];
        for (; i < n; i++) s += y[i] = hand_exp(x[i] - m);
        s = 1.0f / s;
        for (i = 0; i < n; i++) y[i] *= s;
    }
}

void hand_layernorm(const float *restrict x, const float *restrict w, const float *restrict b,
                    float *restrict y, size_t rows, size_t n)
{
    for (size_t row = 0; row < rows; row++, x += n, y += n) {
        float sum[LANES] = {0}, square[LANES] = {0}, mean = 0, var = 0;
        size_t i = 0;
        for (; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++) sum[l] += x[i + l];
        for (int l = 0; l < LANES; l++) mean += sum[l];
        for (; i < n; i++) mean += x[i];
        mean /= (float)n;
        for (i = 0; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++) square[l] += (x[i + l] - mean) * (x[i + l] - mean);
        for (int l = 0; l < LANES; l++) var += square[l];
        for (; i < n; i++) var += (x[i] - mean) * (x[i] - mean);
        var = 1.0f / sqrtf(var / (float)n + 1e-5f);
        for (i = 0; i < n; i++) y[i] = (x[i] - mean) * var * w[i] + b[i];
    }
}

void hand_sum(const float *restrict x, float *restrict y, size_t n)
{
    float sum[4 * LANES] = {0}, s = 0;
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int l = 0; l < 4 * LANES; l++) sum[l] += x[i + (size_t)l];
    for (int l = 0; l < 4 * LANES; l++) s += sum[l];
    for (; i < n; i++) s += x[i];
    *y = s;
}

void hand_transpose_add(const float *restrict a, const float *restrict b, float *restrict y,
                        size_t n)
{
    enum { TILE = 16 };
    for (size_t i0 = 0; i0 < n; i0 += TILE)
        for (size_t j0 = 0; j0 < n; j0 += TILE)
            for (size_t i = i0; i < i0 + TILE && i < n; i++)
                for (size_t j = j0; j < j0 + TILE && j < n; j++)
                    y[i * n + j] = a[j * n + i] + b[i * n + j];
}

/* Four rows of c at a time, so that each row of b is loaded once for four; columns in panels that
 * stay in L1. */
void hand_sgemm(const float *restrict a, const float *restrict b, float *restrict c, size_t n)
{
    enum { PANEL = 256, DEEP = 128 };
    memset(c, 0, n * n * sizeof *c);
    for (size_t j0 = 0; j0 < n; j0 += PANEL)
        for (size_t k0 = 0; k0 < n; k0 += DEEP)
            for (size_t i = 0; i < n; i += 4) {
                size_t rows = n - i < 4 ? n - i : 4, j1 = j0 + PANEL < n ? j0 + PANEL : n,
                       k1 = k0 + DEEP < n ? k0 + DEEP : n;
                for (size_t k = k0; k < k1; k++) {
                    const float *row = b + k * n;
                    if (rows == 4) {
                        float a0 = a[i * n + k], a1 = a[(i + 1) * n + k], a2 = a[(i + 2) * n + k],
                              a3 = a[(i + 3) * n + k];
                        float *c0 = c + i * n, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
                        for (size_t j = j0; j < j1; j++) {
                            c0[j] += a0 * row[j];
                            c1[j] += a1 * row[j];
                            c2[j] += a2 * row[j];
                            c3[j] += a3 * row[j];
                        }
                    } else {
                        for (size_t r = 0; r < rows; r++)
                            for (size_t j = j0; j < j1; j++)
                                c[(i + r) * n + j] += a[(i + r) * n + k] * row[j];
                    }
                }
            }
}
