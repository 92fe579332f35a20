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

/* Numbers of one step, 0-dim: made once for all parameters. */
typedef struct dync__optim_numbers {
    dync_tensor *lr, *step_size, *root2;
} dync__optim_numbers;

/* What a kind of optimizer does: an object that its constructor names, and so links. */
typedef struct dync__optim_way {
    /* Moves s->param and returns it, or NULL + error. g is the gradient, borrowed; results are the
     * scope's. */
    dync_tensor *(*step)(dync_optim_kind, const dync_optim_options *, const dync__optim_slot *s,
                         dync_tensor *g, const dync__optim_numbers *);
    /* Counts a step of the group and makes the numbers that it adds to lr; NULL: none. */
    dync_status (*begin)(dync__optim *, dync__optim_group *, dync__optim_numbers *);
    /* The numbers of parameter `at` of the group, which a step has left out. */
    dync_status (*own)(const dync__optim_group *, int at, dync__optim_numbers *);
} dync__optim_way;

struct dync__optim {
    dync__root root;
    dync_optim_kind kind;
    const dync__optim_way *way;
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
/* way: of the kind */
DYNC__RARE DYNC__FN dync_optim *dync__optim_make(dync_optim_kind, const dync__optim_way *, int n,
                                                 dync_tensor *const *params, dync_optim_options);
/* of every parameter of a module */
DYNC__RARE DYNC__FN dync_optim *dync__optim_make_of(dync_optim_kind, const dync__optim_way *,
                                                    dync_module *, dync_optim_options);
DYNC__FN dync__optim_place dync__optim_find(const dync__tensor *);
DYNC__RARE DYNC__FN int dync__optim_params(const dync__module *m, dync_tensor ***out, size_t *room);
#endif
