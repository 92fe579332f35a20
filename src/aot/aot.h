/* aot/aot.h: ahead-of-time autograd. After capture/, before inductor/.
 *
 * graph with operators as the user wrote them  ->  functional forward graph (no mutation, composites expanded), and for training a backward
 * graph: traced together through the tape, then cut. What was mutated, aliased or passed through is put right again at run time. */
#ifndef DYNC__AOT_H
#define DYNC__AOT_H
#include "../capture/capture.h"

/* A compiled functional graph: tensors in, owned tensors out (each as the graph's output says, aliasing allowed). */
typedef struct dync__inner {
    dync_status (*run)(void *state, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out);
    void (*destroy)(void *state);
    dync_status (*narrow)(void *state, const bool *used);      /* may be NULL */
    void *state;
    dync__run_into run_into;                                   /* may be NULL */
} dync__inner;
/* Compiles a functional graph; keeps a reference on it if it needs it. */
typedef struct dync__inner_compiler {
    dync_status (*compile)(void *user, dync_graph *, bool is_backward, const char *options, dync__inner *out);
    void *user;
} dync__inner_compiler;

typedef enum { DYNC__AOT_VALUE, DYNC__AOT_INPUT, DYNC__AOT_INPUT_VIEW } dync__aot_out_kind;
typedef struct dync__aot_out {
    dync__aot_out_kind kind;
    int index;                           /* VALUE: output of the forward graph; else the input */
    dync__layout lay;                    /* INPUT_VIEW: relative to the input's first element */
    bool requires_grad;
} dync__aot_out;
/* The forward graph's outputs are: n_mutated new values of inputs, n_values user values, n_saved for backward. The backward graph takes the
 * saved values, then one tangent per user value with tangent_of >= 0, and gives a gradient per entry of grad_of. */
typedef struct dync__aot_graphs {
    dync_graph *fw, *bw;                 /* bw NULL: inference */
    int n_inputs, n_lifted;              /* inputs of the user's graph, then tensors lifted out of it */
    DYNC__VEC(dync__tensor *) lifted;    /* owned */
    DYNC__VEC(dync_node *) lifted_node;  /* during the trace */
    DYNC__VEC(int) mutated;              /* inputs */
    DYNC__VEC(dync__aot_out) out;        /* of the user's graph */
    int n_values, n_saved, n_tangents;
    DYNC__VEC(int) tangent_value;        /* user value (among VALUE outputs' indices) of each tangent */
    DYNC__VEC(int) grad_of;              /* input of each gradient */
} dync__aot_graphs;

/* functionalize.c: the recording bottom handler */
typedef struct dync__functional {
    dync__handler handler;
    dync_graph *graph;
    uint64_t id;
    dync__arena arena;
    dync__aot_graphs *into;              /* lifted tensors go here */
    DYNC__VEC(dync__tensor *) held;      /* every fake, until the trace ends (owned) */
    dync_status status;
    const char *why;                     /* what was refused */
} dync__functional;
DYNC__FN dync_status dync__functional_refuse(dync__functional *, const char *why);
DYNC__FN void dync__functional_begin(dync__functional *, dync_graph *, dync__aot_graphs *into);
DYNC__FN void dync__functional_end(dync__functional *);
DYNC__FN dync__tensor *dync__functional_input(dync__functional *, const char *name, const dync__info *, bool requires_grad, int input); /* borrowed */
DYNC__FN dync_node *dync__functional_node(dync__functional *, dync__tensor *);       /* the value of a fake now; NULL + error */
DYNC__FN bool dync__functional_mutated(const dync__tensor *input);
/* The input whose storage a fake lies on, or -1. */
DYNC__FN int dync__functional_base_input(const dync__functional *, const dync__tensor *);

/* joint.c */
/* training: grad mode was on and some input requires grad. DYNC_ERR_UNSUPPORTED (not recorded as an error): a program that this first form does not
 * functionalise soundly; *why tells, the caller runs the graph plainly. */
DYNC__FN dync_status dync__aot_trace(dync_graph *, bool training, dync__aot_graphs *out, const char **why);
DYNC__FN void dync__aot_graphs_free(dync__aot_graphs *);
DYNC__FN int dync__arg_count_tensors(const dync__arg *);                       /* tensors or nodes in a nested argument */
/* partition.c: joint graph (values of the forward part and gradients) -> fw and bw */
DYNC__FN dync_status dync__aot_partition(dync_graph *joint, int n_fw_out, dync_node *const *fw_out, int n_tangents, dync_node *const *tangents,
                                         int n_grads, dync_node *const *grads, dync__aot_graphs *out);

/* runtime.c: the whole as a callable for capture */
DYNC__FN dync_status dync__aot_compile(dync_graph *, const dync_value *examples, int n, const char *options, const dync__inner_compiler *,
                                       dync_callable *out);
/* For whoever captures a backward pass (compiled autograd): nodes of compiled forwards have this class. Their backward graph is replayed
 * through dispatch by backward_inline (state: the node's), with `saved` (as many as backward_saved says, in its order: the real tensors) in
 * place of the saved tensors; grad_in: owned results. The node's own backward does the same with the real saved tensors when it gets fakes. */
DYNC__FN const dync__gnode_class *dync__aot_node_class(void);
DYNC__FN int dync__aot_backward_saved(void *state, dync__tensor *const **out);
DYNC__FN dync_status dync__aot_backward_inline(void *state, dync__tensor *const *saved, int n_out, dync__tensor *const *grad_out, int n_in,
                                               const bool *needed, dync__tensor **grad_in);
/* The graph interpreter as an inner compiler (aot_eager). */
DYNC__FN dync_status dync__inner_interpret(void *user, dync_graph *, bool is_backward, const char *options, dync__inner *out);
#endif
