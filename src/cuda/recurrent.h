/* cuda/recurrent.h: what the kernels of recurrent layers (recurrent.c) are put together from. After
 * tile.h. */
#ifndef DYNC__CUDA_RECURRENT_H
#define DYNC__CUDA_RECURRENT_H
#include "tile.h"

typedef struct dync__ru {
    dync__cuda_tile t;
    const dync__kcall *call;
    const dync__operand *at[DYNC__RNN_ROLES];
    /* pack: gates side by side in the weights; type of the arithmetic, bytes of it */
    int gates, pack, type, bytes;
    const char *ty;
    int64_t L, N, H;
    bool reverse, grad, step;
    /* of a block: units side by side, groups of rb rows; row: elements of one in what is shared */
    int units, groups, rb, row;
    bool near;             /* weights in shared memory */
    int state, weights, n; /* offsets in shared memory; values so far */
    /* buffers: weights; in step form what is shared (two copies), GRU's dh, c or dc */
    int temp[4];
} dync__ru;
/* ---- recurrent.c ----------------------------------------------------------------------------- */
DYNC__FN int dync__ru_number(dync__ru *u, double x);
/* of the step; of an operand without steps: its own */
DYNC__FN char *dync__ru_base(int role, char *name);
DYNC__FN int dync__ru_get(dync__ru *u, int role, int r, int g);
DYNC__FN void dync__ru_put(dync__ru *u, int role, int r, int g, int v);
DYNC__FN void dync__ru_product(dync__ru *u);
/* Row r of a step: %h<r> and %c<r> are the unit's states. */
DYNC__FN int dync__ru_state(dync__ru *u, char what, int r);
DYNC__FN void dync__ru_set_state(dync__ru *u, char what, int r, int v);
DYNC__FN void dync__ru_cell(dync__ru *u, int r);
/* Gradients of the gates of row r, to the operand and, as `pack` neighbours, to %share + r rows. */
DYNC__FN void dync__ru_cell_grad(dync__ru *u, int r);
/* dh of row r: the product, and what GRU hands on. */
DYNC__FN void dync__ru_add_product(dync__ru *u, int r);
/* ---- recurrent_text.c ------------------------------------------------------------------------ */
/* All steps of some rows. */
DYNC__FN void dync__ru_block_text(dync__ru *u);
/* One step of some units of some rows: the launch has its number in the parameter behind the
 * others. Backward there is one more, for the last product. */
DYNC__FN void dync__ru_step_text(dync__ru *u);
#endif
