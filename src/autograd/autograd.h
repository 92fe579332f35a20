/* autograd/autograd.h: the tape. After op/, before nn/. */
#ifndef DYNC__AUTOGRAD_H
#define DYNC__AUTOGRAD_H
#include "../op/op.h"

/* ---- one gradient rule (grads.c), written as operator calls on handles; temporaries die with the
 * caller's scope */
typedef struct dync__grad {
    /* the forward call: arguments as they were (saved), outputs */
    const dync__opcall *call;
    int n_in;                             /* tensor arguments in order, lists flattened */
    dync_tensor *grad_out[DYNC__MAX_OUT]; /* NULL: none */
    dync_tensor **grad_in;                /* n_in results; NULL: none */
    const bool *needed;                   /* n_in */
    struct dync__gnode *node;             /* node.h: private to the tape */
} dync__grad;
/* i-th tensor argument as it was in forward (borrowed) */
DYNC__FN dync_tensor *dync__grad_arg(dync__grad *, int i);
DYNC__FN dync_tensor *dync__grad_output(dync__grad *, int i); /* i-th output of forward */
/* which tensor argument stands at this place of the call (a list: its first), -1 none */
DYNC__FN int dync__grad_index(const dync__grad *, int position);
/* of the i-th tensor argument, kept even where the tensor is not */
DYNC__FN dync_dims dync__grad_shape(const dync__grad *, int i);
DYNC__FN int dync__grad_dtype(const dync__grad *, int i);
DYNC__FN int dync__grad_device(const dync__grad *, int i);
DYNC__FN dync__layout dync__grad_layout(const dync__grad *, int i);
/* reduces over broadcast dims and casts to the argument's dtype; NULL g with an error pending
 * passes the status up */
DYNC__FN dync_status dync__grad_set(dync__grad *, int i, dync_tensor *g);
typedef dync_status (*dync__grad_fn)(dync__grad *);
DYNC__FN bool dync__op_differentiable(int op); /* has a rule, or decomposes */

/* ---- nodes ----------------------------------------------------------------------------------- */
/* What compiled autograd does with everything that a backward depends on: reads it, or puts other
 * tensors and sizes in its place. */
typedef struct dync__gvisitor {
    /* something that must be the same */
    void (*word)(struct dync__gvisitor *, uint64_t);
    /* sizes; strides behind them */
    void (*layout)(struct dync__gvisitor *, int ndim, int64_t *shape, int64_t *stride_or_null);
    /* a saved tensor; *slot NULL: none */
    void (*saved)(struct dync__gvisitor *, dync__tensor **slot, uint32_t *version);
    /* set before saved by who can tell: where the tensor's gradient goes (node NULL: nowhere), so
     * that a backward that is differentiated again can be captured */
    bool has_edge;
    struct dync__gnode *edge_node;
    int edge_nr;
    bool opaque; /* set: it cannot be captured */
} dync__gvisitor;
/* A node of one's own: what a compiled function's backward, a custom function and LSTM cells
 * use. */
typedef struct dync__gnode_class {
    const char *name; /* "CompiledFunctionBackward" */
    /* grad_out[i] NULL: none arrived. grad_in[j]: owned result or NULL; only where needed[j].
     * create_graph: results must be differentiable again. */
    dync_status (*backward)(void *state, int n_out, dync__tensor *const *grad_out, int n_in,
                            const bool *needed, dync__tensor **grad_in, bool create_graph);
    /* saved tensors may go: after backward without retain_graph; may be NULL */
    void (*release)(void *state);
    void (*destroy)(void *state);
    /* Tells all that backward depends on, for compiled autograd; NULL: a backward with such a node
     * is not captured. */
    dync_status (*visit)(void *state, struct dync__gvisitor *);
} dync__gnode_class;
/* Makes outputs (no grad meta yet, or views of nothing) children of a new node over inputs. Takes
 * `state` over (destroyed on failure too). Without grad mode or without an input that requires
 * grad: state is destroyed, outputs stay plain, DYNC_OK. out_requires[i] false: output i stays
 * detached (NULL: all float outputs). */
DYNC__FN dync_status dync__tape_attach(const dync__gnode_class *, void *state, int n_in,
                                       dync__tensor *const *inputs, int n_out,
                                       dync__tensor *const *outputs, const bool *out_requires);
/* unused.c: results (owned, each memory of its own) of an operator with functions inside that ran
 * as what they do; since: dync__tls.seq before. Inputs that none comes from get zeros. */
DYNC__FN dync_status dync__tape_unused(uint64_t since, int n_in, dync__tensor *const *in, int n_out,
                                       dync__tensor **out);
DYNC__FN bool dync__tensor_requires_grad(const dync__tensor *);
DYNC__FN bool dync__tensor_is_leaf(const dync__tensor *);
/* borrowed, or NULL */
DYNC__FN dync__tensor *dync__tensor_grad(const dync__tensor *);
DYNC__FN void dync__tensor_set_requires_grad(dync__tensor *, bool); /* leaf flag */
/* The same of one that stands for another, which requires a gradient: the tape has begun. */
DYNC__INLINE void dync__tensor_requires_too(dync__tensor *t) { t->flags |= DYNC__T_REQUIRES_GRAD; }
/* nothing is checked */
DYNC__FN dync_status dync__tensor_set_grad(dync__tensor *, dync__tensor *grad_or_null);
/* dync_grad; captured: in a trace no break */
DYNC__FN dync_tensor *dync__grad_read(const dync_tensor *, bool captured);
/* Hooks of a tensor: registered under an id reserved before (0: a new one); those that a leaf has,
 * as one number (0: none), and copied. */
DYNC__FN int dync__hook_reserve(void);
DYNC__FN dync_status dync__hook_register(dync__tensor *, dync_hook, void *user, int id);
/* of a leaf, after its gradient was added to */
DYNC__FN dync_status dync__hook_register_after(dync__tensor *, dync_param_hook, void *user, int id);
DYNC__FN uint64_t dync__hooks_mark(const dync__tensor *leaf);
DYNC__FN bool dync__hook_retains(const dync__tensor *);
DYNC__FN bool dync__hook_is_on(const dync__tensor *, int id); /* would dync_remove_hook find it? */
DYNC__FN dync_status dync__hooks_copy(dync__tensor *to, const dync__tensor *from);
DYNC__FN void dync__hooks_truncate(dync__tensor *leaf, int n);
DYNC__FN bool dync__tensor_has_history(const dync__tensor *); /* a node made it */
/* one is a view of the other, or both of a third */
DYNC__FN bool dync__tensor_shares_history(const dync__tensor *, const dync__tensor *);
/* backward went through a part of it and freed what that had saved */
DYNC__FN bool dync__tensor_history_spent(const dync__tensor *);
/* of the node being evaluated (backward), else of the last one made; -1 none */
DYNC__FN int64_t dync__seq_now(void);
/* Gradients of outputs with respect to inputs by walking the tape (fake tensors too: AOT's joint
 * trace uses it). grads[i] owned or NULL. */
DYNC__FN dync_status dync__tape_gradients(int n_out, dync__tensor *const *outputs,
                                          dync__tensor *const *grad_outputs, int n_in,
                                          dync__tensor *const *inputs, dync__tensor **grads,
                                          bool retain_graph, bool create_graph, bool allow_unused);
/* The error of a walk from what has no history, told in the grad mode of who asks. */
DYNC__FN dync_status dync__grad_asked(dync_value outputs);
/* A custom function that nobody traces; dync_apply (capture/grads.c) asks who does. */
DYNC__FN dync_value dync__apply_run(const dync_autograd_function *, int nargs,
                                    const dync_value *args);
/* A custom function in traced code: its forward is traced without grad mode, its gradient is that
 * of one node (custom_gradient). false: it does not return one tensor; nothing is recorded as an
 * error then. */
DYNC__FN bool dync__apply_traceable(const dync_autograd_function *, int nargs,
                                    const dync_value *args);
DYNC__FN bool dync__apply_traced(const dync_autograd_function *, int nargs, const dync_value *args,
                                 dync_value *result);
DYNC__FN dync_status dync__retain_grad(dync__tensor *);
/* Interception for capture/: when set and it returns true, the call was handled (recorded as an
 * effect or refused) and *status is the answer. */
typedef struct dync__grad_intercept {
    bool (*backward)(dync_value outputs, dync_value grad_outputs, dync_grad_options,
                     dync_status *status);
    bool (*gradients)(dync_value outputs, dync_value inputs, dync_value grad_outputs,
                      dync_grad_options, dync_value *result);
    /* dync_grad; captured: never a break (an optimizer's step) */
    bool (*grad)(const dync_tensor *, bool captured, dync_tensor **result);
    /* the gradient of a fake leaf is about to be read and set; false: go on */
    bool (*accumulate)(dync__tensor *leaf, dync_status *status);
    /* a fake leaf is about to be written; true: *status says why it may not be */
    bool (*written)(const dync__tensor *leaf, dync_status *status);
    bool (*set_grad)(dync_tensor *, dync_tensor *grad);
    bool (*hook)(dync_tensor *, dync_hook, void *user, int *id);
    bool (*after_hook)(dync_tensor *, dync_param_hook, void *user, int *id);
    /* its node alone is wanted; false: refused */
    bool (*expose)(const dync_tensor *);
    bool (*remove_hook)(dync_tensor *, int id);
    bool (*retain_grad)(dync_tensor *, dync_status *status);
    bool (*is_leaf)(const dync_tensor *, bool *result);
    bool (*requires_grad_)(dync_tensor *, bool, dync_tensor **result);
    bool (*cell_get)(struct dync__cell *, dync_value *result);
    bool (*cell_set)(struct dync__cell *, dync_value);
    bool not_linked; /* gradients in traced code are wanted and were not linked (api/link.h) */
} dync__grad_intercept;
/* A number that captured code reads and writes; value is an int, float or bool. */
struct dync__cell {
    dync__root root;
    const char *name;
    dync_value value;
    uint64_t id;
};
/* NULL until capture/ installs it; it returns NULL when nothing is traced */
DYNC__DATA_DECL const dync__grad_intercept *(*dync__grad_intercept_get)(void);
DYNC__INLINE const dync__grad_intercept *dync__grad_intercepted(void)
{
    /* another thread may install it now */
    const dync__grad_intercept *(*get)(void) = DYNC__ATOMIC_PEEK(&dync__grad_intercept_get);
    return get ? get() : NULL;
}
#endif
