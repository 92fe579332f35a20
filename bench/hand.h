/* bench/hand.h: the loops that a careful person would write instead. Compiled alone with -O3
 * -march=native. */
#ifndef BENCH_HAND_H
#define BENCH_HAND_H
#include <stddef.h>
void hand_add(const float *a, const float *b, float *y, size_t n);
/* a / (|b| + 1) - b / 2 */
void hand_short(const float *a, const float *b, float *y, size_t n);
/* relu(a / (|b| + 1) - b / 2) * a + b */
void hand_chain(const float *a, const float *b, float *y, size_t n);
/* gelu_tanh(a) * sigmoid(b) */
void hand_gate(const float *a, const float *b, float *y, size_t n);
void hand_softmax(const float *x, float *y, size_t rows, size_t n);
void hand_layernorm(const float *x, const float *w, const float *b, float *y, size_t rows,
                    size_t n);
void hand_sum(const float *x, float *y, size_t n);
/* with prefetches and non-temporal stores (hand_stream.c) */
void hand_stream_scale(const float *x, float *y, size_t n);
void hand_stream_add(const float *a, const float *b, float *y, size_t n);
void hand_stream_sum(const float *x, float *y, size_t n);
void hand_stream_columns(const float *x, float *y, size_t rows, size_t n);
/* y = a^T + b, n x n */
void hand_transpose_add(const float *a, const float *b, float *y, size_t n);
/* blocked, no packing, no intrinsics */
void hand_sgemm(const float *a, const float *b, float *c, size_t n);
#endif
