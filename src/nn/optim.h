/* nn/optim.h: an optimizer. */
#ifndef DYNC__NN_OPTIM_H
#define DYNC__NN_OPTIM_H
#include "../dync.in.h"
#include "nn.h"

/* owned; moments NULL where not used */
typedef struct dync__optim_slot {
    dync__tensor *param, *first, *second;
    bool passed; /* a step has left it out: it counts for itself */
} dync__optim_slot;

/* Parameters with options of their own: slots [begin, end). */
typedef struct dync__optim_group {
    dync_optim_options opt;
    int begin, end;
    dync__tensor *lr, *steps; /* 0-dim, F64 */
    /* of Adam and its kin: by parameter, how many steps passed it by; F64. NULL: nobody asks */
    dync__tensor *late;
} dync__optim_group;

struct dync__optim {
    dync__root root;
    dync_optim_kind kind;
    DYNC__VEC(dync__optim_slot) slot;
    DYNC__VEC(dync__optim_group) group;
};

/* optim.c */
DYNC__RARE DYNC__FN int dync__optim_params(const dync__module *m, dync_tensor ***out, size_t *room);
#endif
