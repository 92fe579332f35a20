/* kernel/attention.h: an attention call opened, and the pieces that attention.c makes for
 * attention_run.c. */
#ifndef DYNC__KERNEL_ATTENTION_H
#define DYNC__KERNEL_ATTENTION_H
#include "../dync.in.h"
#include "operand.h"

typedef struct dync__att {
    const dync__kcall *call;
    const dync__operand *q, *k, *v, *mask;
    int n_batch, dtype, type;
    bool causal, fast;
    double scale;
    /* units: matrices of the batch; L queries and S keys of E elements, S values of V; a block is
     * qb queries by kb keys */
    int64_t units, L, S, E, V, qb, kb, bytes, type_bytes, q_blocks;
    void *const *data;
} dync__att;

/* attention.c */
DYNC__FN void dync__att_open(dync__att *a, const dync__kcall *c, int first, void *const *data);
DYNC__FN char *dync__att_at(const dync__att *a, const dync__operand *o, int64_t unit, int64_t row);
DYNC__FN int dync__att_piece(const dync__att *a, int64_t rows, int64_t columns, bool masked);

/* attention_run.c */
DYNC__FN int64_t dync__att_room(const dync__att *a, bool grad);
#endif
