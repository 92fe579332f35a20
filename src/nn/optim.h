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

/* What a tensor is to the optimizer that holds it: "lr", "steps", "late" of group `group`, or of a
 * parameter "momentum", "exp_avg", "exp_avg_sq", as PyTorch calls them. role NULL: of none. */
typedef struct dync__optim_place {
    const char *role;
    int group;
    const dync__tensor *param; /* NULL: of the group */
} dync__optim_place;

/* optim.c */
DYNC__FN dync__optim_place dync__optim_find(const dync__tensor *);
DYNC__RARE DYNC__FN int dync__optim_params(const dync__module *m, dync_tensor ***out, size_t *room);
#endif
