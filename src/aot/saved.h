/* aot/saved.h: what a compiled forward keeps for its backward. */
#ifndef DYNC__AOT_SAVED_H
#define DYNC__AOT_SAVED_H
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"

/* The state of one autograd node, one block of memory: the struct, then values, again, watches,
 * tensors and versions. It holds the code and the saved tensors. */
typedef struct dync__aot_saved {
    dync__aot_code *code;
    const dync__aot_part *part;
    bool lost; /* released */
    int n, n_again, n_watched;
    size_t bytes; /* of this block */
    dync__aot_random random;
    dync__saved *again;    /* inputs of the forward graph, for double backward */
    dync__tensor **tensor; /* n */
    uint32_t *version;     /* of their storages */
    dync__watch *watch;    /* over those that the operators' own rules would not save */
    int64_t *value;        /* of the form's symbols; a tracer puts its own there */
} dync__aot_saved;

/* tangent.c */
DYNC__FN dync_status dync__aot_tangent_info(const dync__aot_saved *s, int i, dync__info *out);
DYNC__FN dync__tensor *dync__aot_tangent(const dync__aot_saved *s, int i, dync__tensor *grad);
DYNC__FN bool dync__aot_saved_written(const dync__aot_saved *s);
/* variant.c: *status, grad: where it says true; false: the dense backward is to run */
DYNC__FN bool dync__aot_variant_run(const dync__aot_saved *s, int n_out,
                                    dync__tensor *const *grad_out, dync__tensor **grad,
                                    dync_status *status);
/* backward.c */
DYNC__FN void dync__aot_saved_release(void *state);
DYNC__FN void dync__aot_saved_destroy(void *state);
DYNC__FN dync_status dync__aot_saved_check(const dync__aot_saved *s);
DYNC__FN dync_status dync__aot_saved_check_for(const dync__aot_saved *s, int n_out,
                                               dync__tensor *const *grad_out);
DYNC__FN void dync__aot_give_grads(const dync__aot_part *p, dync__tensor **grad, int n_out,
                                   dync__tensor *const *grad_out, int n_in, const bool *needed,
                                   dync__tensor **grad_in);
DYNC__FN dync_status dync__aot_backward_run(dync__aot_saved *s, int n_out,
                                            dync__tensor *const *grad_out, int n_in,
                                            const bool *needed, dync__tensor **grad_in);
DYNC__FN dync_status dync__aot_broken(const dync__aot_graphs *g, int n_out,
                                      dync__tensor *const *grad_out, int n_in, const bool *needed);
DYNC__FN bool dync__any_fake(int n, dync__tensor *const *t);

/* backward_twice.c */
DYNC__RARE DYNC__FN dync_status dync__aot_refuse_twice(int n_in, dync__tensor *const *grad_in);
DYNC__RARE DYNC__FN dync_status dync__aot_backward_again(dync__aot_saved *s, int n_out,
                                                         dync__tensor *const *grad_out, int n_in,
                                                         const bool *needed,
                                                         dync__tensor **grad_in);
#endif
