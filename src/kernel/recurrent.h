/* kernel/recurrent.h: a recurrent call opened, and the pieces of a step. */
#ifndef DYNC__KERNEL_RECURRENT_H
#define DYNC__KERNEL_RECURRENT_H
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"

enum { DYNC__RNN_ONE = 1, DYNC__RNN_GRU = 3, DYNC__RNN_LSTM = 4 }; /* gates name the cell */

typedef struct dync__rnn {
    const dync__kcall *call;
    int gates, dtype, type; /* of elements, of scratch */
    int64_t steps, n, hidden, width, bytes, type_bytes;
    bool reverse;
    char *at[DYNC__RNN_ROLES]; /* element 0 of each operand; NULL: not given */
} dync__rnn;

/* recurrent.c */
DYNC__FN const dync__operand *dync__rnn_operand(const dync__kcall *c, int role);
DYNC__FN void dync__rnn_open(dync__rnn *r, const dync__kcall *c, void *const *data);
DYNC__FN char *dync__rnn_step(const dync__rnn *r, int role, int64_t t);
DYNC__FN void dync__rnn_copy(const dync__rnn *r, int role, bool out, void *dense, int dense_dtype,
                             bool transposed);
DYNC__FN dync_status dync__rnn_forward_piece(const dync__rnn *r, dync__code **out);
DYNC__FN dync_status dync__rnn_backward_piece(const dync__rnn *r, dync__code **out);

/* recurrent_rows.c */
DYNC__FN void dync__rnn_push(void **to, int *n, void *p);
#endif
