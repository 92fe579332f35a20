/* aot/aot.h: ahead-of-time autograd. After capture/, before inductor/.
 *
 * graph with operators as the user wrote them -> functional forward graph (no mutation, composites
 * expanded), and for training a backward graph: traced together through the tape, then cut. What
 * was mutated, aliased or passed through is put right again at run time. */
#ifndef DYNC__AOT_H
#define DYNC__AOT_H
#include "options.h"

/* A compiled functional graph: tensors in, owned tensors out (each as the graph's output says,
 * aliasing allowed). */
typedef struct dync__inner {
    dync_status (*run)(void *state, int n_in, dync__tensor *const *in, int n_out,
                       dync__tensor **out);
    void (*destroy)(void *state);
    dync_status (*narrow)(void *state, const bool *used); /* may be NULL */
    void *state;
    /* may be NULL; where it is not, run gives tensors that never were views */
    dync__run_into run_into;
    void (*measure)(const void *state, dync__code_size *); /* adds to it; may be NULL */
} dync__inner;
/* A functional graph of symbolic sizes, as something that makes the code of any set of them: value,
 * by the graph's symbols. DYNC_ERR_UNSUPPORTED, not recorded: these are compiled with numbers. It
 * outlives what it makes. Thread safe. */
typedef struct dync__inner_sized {
    dync_status (*at)(void *state, const int64_t *value, dync__inner *out);
    void (*destroy)(void *state);
    void *state;
} dync__inner_sized;
/* Compiles a functional graph; keeps a reference on it if it needs it. */
typedef struct dync__inner_compiler {
    dync_status (*compile)(void *user, dync__graph *, bool is_backward,
                           const dync__options *options, dync__inner *out);
    void *user;
    bool save_all;      /* the default partitioner instead of a minimum cut */
    bool decompose_all; /* every operator that has a decomposition */
    bool patterns;      /* operators written out may become one (attend.c) */
    bool variants;      /* backward again for gradients that come in other forms (variant.c) */
    /* which calls that have a decomposition stay whole; NULL: as `decompose_all` says */
    bool (*keeps)(const dync__opcall *);
    /* takes graphs of symbolic sizes: called once for all of them */
    bool symbolic;
    /* may be NULL, and may say DYNC_ERR_UNSUPPORTED, not recorded */
    dync_status (*sized)(void *user, dync__graph *, const dync__options *options,
                         dync__inner_sized *out);
} dync__inner_compiler;
/* Hook of minify/: has the compiler compile g. NULL: nobody looks on. */
DYNC__DATA_DECL dync_status (*dync__aot_inner_hook)(const dync__inner_compiler *, dync__graph *g,
                                                    bool is_backward, const dync__options *options,
                                                    dync__inner *out);

/* Does it look on in this thread now? Or NULL. */
DYNC__DATA_DECL bool (*dync__aot_watched)(void);

/* The tensors that compiled code works on: the user's inputs in order, then tensors of the graph
 * (parameters, constants), then what stands for several inputs on one memory. */
typedef enum {
    DYNC__AOT_USER,
    DYNC__AOT_ATTR, /* a tensor of the graph */
    /* the tensor that input `from` is a view of: written views share it */
    /* all of input from's memory that is reached, as one row: written inputs without a common
     * base */
    DYNC__AOT_BASE,
    DYNC__AOT_FLAT
} dync__aot_actual_kind;
typedef struct dync__aot_actual {
    uint8_t kind;
    bool passed; /* the forward graph has an input for it */
    /* USER in a group with a BASE: on its memory, no view of it (detached) */
    bool apart;
    /* USER: on one storage with others that are beside it, too: none in another's elements */
    bool beside;
    int from;
    /* USER: earlier input that was the very same tensor, or -1 */
    int same_as;
    int group;            /* USER: actual of the memory it lies on, or -1 */
    dync__layout lay;     /* USER in a group, BASE, FLAT */
    dync__tensor *tensor; /* ATTR; owned */
} dync__aot_actual;
typedef struct dync__aot_mutation {
    int input;
    bool with_grad; /* the epilogue's copy is differentiated */
} dync__aot_mutation;
/* A value that the forward graph gives: to the user, or for outputs that are views of it. over: it
 * lies on the memory of something else. */
typedef enum { DYNC__AOT_OWN, DYNC__AOT_OVER_INPUT, DYNC__AOT_OVER_VALUE } dync__aot_memory;
typedef struct dync__aot_value {
    uint8_t over;
    bool requires_grad;
    int index;        /* over what */
    dync__layout lay; /* over: relative to the first element of that */
} dync__aot_value;
/* What an output of the user's graph is. Views are made anew at every call: by the tape, by the
 * tape without grad mode (as the function made them), or without history (detach). */
typedef enum {
    DYNC__AOT_VALUE,
    DYNC__AOT_INPUT,
    DYNC__AOT_VIEW_OF_INPUT,
    DYNC__AOT_VIEW_OF_VALUE
} dync__aot_out_kind;
typedef enum { DYNC__AOT_TRACKED, DYNC__AOT_NO_GRAD, DYNC__AOT_DETACHED } dync__aot_view_mode;
typedef struct dync__aot_out {
    uint8_t kind, mode;
    int index;        /* of the value or actual input */
    int same_as;      /* earlier output that is the very same tensor, or -1 */
    dync__layout lay; /* views: relative to the first element of that */
} dync__aot_out;
/* A gradient that is an error: from an output, numbered as in tangent_of, to an actual input. */
typedef struct dync__aot_pair {
    int out, input;
} dync__aot_pair;
/* The forward graph takes the passed actual inputs in order; its outputs are: new values of mutated
 * inputs, values, saved tensors. The backward graph takes the saved tensors, then one tangent per
 * entry of tangent_of (a mutation or value, counted together), and gives a gradient per entry of
 * grad_of. */
typedef struct dync__aot_graphs {
    dync__graph *fw, *bw;           /* bw NULL: inference, or nothing to differentiate */
    dync__graph *joint;             /* in place of both, where it was asked for */
    int n_inputs;                   /* of the user's graph */
    bool plain_inputs;              /* the actual inputs are the user's inputs, all passed */
    bool training;                  /* some output has history */
    bool random;                    /* forward draws random numbers */
    bool seeds_before, seeds_after; /* dync_manual_seed: done around the forward graph */
    int64_t seed_before, seed_after;
    DYNC__VEC(dync__aot_actual) actual;
    /* during the trace: nodes of the actual inputs, by index; NULL where not passed */
    DYNC__VEC(dync__node *) lifted;
    DYNC__VEC(dync__aot_mutation) mutated;
    DYNC__VEC(dync__aot_value) value;
    DYNC__VEC(dync__aot_out) out; /* of the user's graph */
    DYNC__VEC(int) tangent_of;
    DYNC__VEC(int) grad_of; /* actual input of each gradient */
    int n_saved;
    /* by saved value: is it read only to compute again what the operators' own rules save? */
    DYNC__VEC(bool) again;
    const dync__node *last_forward; /* of the joint graph */
    char *backward_error;           /* why some gradients are an error; owned */
    dync_status backward_status;
    DYNC__VEC(dync__aot_pair) broken;
    int64_t saved_bytes, saved_input_bytes, recomputed_bytes;
    int n_recomputed;
    const dync__node *refused; /* of a graph that is not functional: at which node of the user's */
} dync__aot_graphs;
/* Which operators are replaced by their decompositions: those that cannot be lowered; all that have
 * one; those that are only a way to write several others (linear, but not batch norm's own
 * operator), as torch.export shows graphs; and kernels that are there for speed (attention,
 * recurrent layers) too, for C source. */
typedef enum {
    DYNC__DECOMPOSE_NEEDED,
    DYNC__DECOMPOSE_ALL,
    DYNC__DECOMPOSE_IMPLICIT,
    DYNC__DECOMPOSE_PLAIN
} dync__aot_decompositions;
/* How to make them. */
typedef struct dync__aot_how {
    dync__aot_decompositions decompose;
    bool (*keeps)(const dync__opcall *); /* in place of that; NULL: none */
    bool save_all;                       /* partition: save everything instead of a minimum cut */
    double budget;                       /* of activation memory, 0 to 1 */
    /* the joint graph itself is wanted: recorded, not tidied, not cut */
    bool joint;
    /* the gradient of the first output, a number, in place of tangents */
    bool no_tangents;
    bool data; /* calls whose sizes data decide stay; their checks are the caller's */
} dync__aot_how;

/* functionalize.c: the recording bottom handler */
typedef struct dync__functional {
    dync__handler handler;
    dync__graph *graph;
    uint64_t id;
    dync__arena arena;
    dync__aot_graphs *into;         /* tensors met in the trace go to its actual inputs */
    DYNC__VEC(dync__tensor *) held; /* every fake, until the trace ends (owned) */
    int decompose;                  /* dync__aot_decompositions */
    bool (*keeps)(const dync__opcall *);
    bool data; /* of dync__aot_how */
    dync_status status;
    const char *why;           /* what was refused */
    const dync__node *refused; /* the node that was interpreted then */
    /* refused for a part of a strided input: again, with such inputs as rows */
    bool strided_write;
} dync__functional;
typedef dync_status (*dync__functional_recorded)(dync__functional *, dync__opcall *);
/* recursion: a call with functions inside (control.c): they become functional, too, over dense
 * operands, which runs their graphs; then it is recorded */
DYNC__FN dync_status dync__functional_control(dync__functional *, dync__opcall *,
                                              dync__functional_recorded);
DYNC__FN void dync__aot_use_inside(void);
/* A graph being made of operators over fakes, with this thread's handlers put aside: the tape and a
 * functional recorder are what calls reach. */
typedef struct dync__aside {
    dync__functional f;
    dync__aot_graphs into;
    dync__handler *top, *bottom;
    bool grad_off;
} dync__aside;
DYNC__FN dync_status dync__aside_begin(dync__aside *, const char *name, int decompose);
/* A dense input like this value; borrowed. */
DYNC__FN dync__tensor *dync__aside_input(dync__aside *, const char *name, int dtype, int device,
                                         int ndim, const int64_t *shape, bool requires_grad);
/* Its results, whose references are taken: each dense and new memory. */
DYNC__FN dync_status dync__aside_output(dync__aside *, int n, dync__tensor **t);
/* *out: the graph, a reference; NULL where status is an error. *why: what was refused, or NULL */
DYNC__FN dync_status dync__aside_end(dync__aside *, dync_status, dync__graph **out,
                                     const char **why);
/* Not functionalised: the graph runs plainly instead. Not an error of the user's. */
DYNC__FN dync_status dync__functional_refuse(dync__functional *, const char *why);
/* dync__aot_use_views was not called */
static const char dync__functional_unviewed[] DYNC__UNUSED =
    "views are written, and no file makes one by the macro of an operator";
DYNC__FN void dync__functional_begin(dync__functional *, dync__graph *, dync__aot_graphs *into);
DYNC__FN void dync__functional_end(dync__functional *);
/* A placeholder and the fake that stands for it (borrowed: held until the end); input: its actual
 * input, -1 for tangents. */
DYNC__FN dync__tensor *dync__functional_input(dync__functional *, const char *name,
                                              const dync__info *, bool requires_grad, int input);
/* Another tensor on the memory of a fake, without history (borrowed). */
DYNC__FN dync__tensor *dync__functional_alias(dync__functional *, dync__tensor *on,
                                              const dync__layout *);
/* the value of a fake now; NULL + error */
DYNC__FN dync__node *dync__functional_node(dync__functional *, dync__tensor *);
/* the same to be copied: strides of dimensions of size 1 may be others */
DYNC__FN dync__node *dync__functional_content(dync__functional *, dync__tensor *);
DYNC__FN bool dync__functional_mutated(const dync__tensor *input);
/* The actual input whose memory a fake lies on, or -1; the fake that is the whole of that
 * memory. */
DYNC__FN int dync__functional_base_input(const dync__functional *, const dync__tensor *);
DYNC__FN dync__tensor *dync__functional_whole(dync__tensor *);

/* joint.c. training: gradients are wanted and some input requires grad. DYNC_ERR_UNSUPPORTED (not
 * recorded as an error): a program that is not functionalised; *why tells, the caller runs the
 * graph plainly. examples (may be NULL): which inputs share memory. */
/* Attention written out as the operator: *graph is another graph then. */
DYNC__FN dync_status dync__aot_attend(dync__graph **graph, bool training);
DYNC__FN dync_status dync__aot_trace(dync__graph *, const dync_value *examples, bool training,
                                     const dync__aot_how *, dync__aot_graphs *out,
                                     const char **why);
/* A graph as a functional one without gradients, its tensors attributes; its results must be new
 * values. data: as in dync__aot_how. DYNC_ERR_UNSUPPORTED: inputs are written. *out: a
 * reference. */
DYNC__FN dync_status dync__aot_functional(dync__graph *, bool (*keeps)(const dync__opcall *),
                                          bool data, dync__graph **out);
/* Does an input (or a tensor of the graph) require grad? examples may be NULL. */
DYNC__FN bool dync__aot_wants_grad(const dync__graph *, const dync_value *examples);
DYNC__FN void dync__aot_graphs_free(dync__aot_graphs *);
/* tensors or nodes in a nested argument */
DYNC__FN int dync__arg_count_tensors(const dync__arg *);

/* alias.c: what outputs and inputs share */
typedef struct dync__joint {
    dync__functional f;
    dync__aot_graphs *into;
    const dync__aot_how *how;
    dync__arena arena;
    const dync_value *examples;
    bool training, writes, as_rows;
    int n_actual, n_attr;
    /* tensors of the graph, the inputs after the user's; borrowed */
    dync__tensor **attr;
    /* by actual input: what gradients are taken of; NULL none. Fakes, borrowed */
    dync__tensor **leaf;
    dync__tensor **seen; /* by actual input: what the user's graph works on */
    dync__arg result;    /* output tree of the user's graph: fakes, owned */
    dync__tensor **out;  /* flat outputs, borrowed */
    int n_out;
    dync__tensor **value;   /* fakes behind into->value */
    dync__tensor **written; /* fakes behind into->mutated */
} dync__joint;
/* A child of t on its memory, through a node that passes gradients (owned). */
DYNC__FN dync__tensor *dync__aot_entry(dync__tensor *t);
/* with the history of base */
DYNC__FN bool dync__aot_views(const dync__tensor *x, const dync__tensor *base);
/* on one storage: surely no element of one in the other */
DYNC__FN bool dync__aot_apart(const dync__tensor *x, const dync__tensor *y);
DYNC__FN dync__tensor *dync__joint_entry(dync__joint *, dync__tensor *leaf);
DYNC__FN dync_status dync__joint_inputs(dync__joint *, const dync__graph *);
DYNC__FN dync_status dync__joint_outputs(dync__joint *);
DYNC__FN dync_status dync__joint_mutations(dync__joint *);

/* partition.c: joint graph (values of the forward part and gradients) -> fw and bw */
typedef struct dync__joint_graph {
    dync__graph *graph;
    int n_fw_out, n_tangents, n_grads, n_mutated;
    /* mutated: placeholders that the epilogue overwrites */
    dync__node **fw_out, **tangent, **grad, **mutated;
} dync__joint_graph;
DYNC__FN dync_status dync__aot_partition(const dync__joint_graph *, const dync__aot_how *,
                                         dync__aot_graphs *out);

/* backward_node.c: what is for gradients alone, behind pointers (base/limits.h) */
struct dync__cutter;
struct dync__aot_code;
struct dync__aot_part;
/* Where the generator stood when forward ran. */
typedef struct dync__aot_random {
    uint64_t seed, offset;
} dync__aot_random;
typedef struct dync__aot_gradients {
    void (*start)(void); /* the tape */
    /* what the program works on in place of a leaf */
    dync__tensor *(*entry)(dync__joint *, dync__tensor *leaf);
    /* the trace goes on through the tape */
    dync_status (*backward)(dync__joint *, dync__joint_graph *);
    /* what forward saves; the graph of backward */
    dync_status (*choose_saved)(struct dync__cutter *, const dync__aot_how *);
    dync_status (*backward_graph)(struct dync__cutter *, int n_grads, dync__node *const *grads,
                                  dync__aot_graphs *into);
    /* backward in parts */
    dync_status (*parts)(const dync__aot_graphs *, int *n, struct dync__aot_part **out);
    /* results of a call get their history */
    dync_status (*attach)(struct dync__aot_code *, int n_actual, dync__tensor *const *actual,
                          dync__tensor *const *outputs, dync__tensor *const *saved,
                          dync__aot_random);
} dync__aot_gradients;
/* recursion: stages before it go on through it, where it is linked */
DYNC__DATA_DECL const dync__aot_gradients *dync__aot_gradients_used;
DYNC__FN void dync__aot_use_gradients(void);

/* runtime.c: the whole as a callable for capture */
DYNC__FN dync_status dync__aot_compile(dync__graph *, const dync_value *examples, int n,
                                       const dync__options *options, const dync__inner_compiler *,
                                       dync_callable *out);
DYNC__FN void dync__aot_set_budget(double);
DYNC__FN void dync__aot_use_mincut(void); /* partition.c */
/* For whoever captures a backward pass (compiled autograd): the backward graph of a compiled
 * forward's node is replayed through dispatch by backward_inline (state: the node's), with `saved`
 * (as many as the node saved, in its order: the real tensors) in place of the saved tensors;
 * grad_in: owned results. The node's own backward does the same with the real saved tensors when it
 * gets fakes. */
DYNC__FN void dync__aot_use_inline(void); /* backward_node.c */
DYNC__FN dync_status dync__aot_backward_inline(void *state, dync__tensor *const *saved, int n_out,
                                               dync__tensor *const *grad_out, int n_in,
                                               const bool *needed, dync__tensor **grad_in);
/* number.c: symbolic numbers as 0-dim tensors */
DYNC__FN bool dync__graph_has_numbers(const dync__graph *);
DYNC__FN dync_status dync__graph_numbers(dync__graph *, dync__graph **out);
DYNC__FN void dync__aot_use_numbers(void); /* what follows has */
/* the same graph where it has none */
DYNC__FN dync_status dync__graph_of_tensors(dync__graph *, dync__graph **out);
enum { DYNC__SIZED_SYMBOLS = 64 };
/* sized.c: a graph of symbolic sizes through a compiler of plain ones, an instance for each set of
 * sizes */
typedef dync_status (*dync__graph_compiler)(dync__graph *, const dync_value *examples, int n,
                                            const dync__options *options, dync_callable *out,
                                            void *user);
/* unlist.c: a graph that takes lists of tensors, compiled as one that takes those of their items
 * that it uses */
DYNC__FN bool dync__graph_takes_lists(const dync__graph *);
DYNC__FN void dync__aot_use_lists(void);
DYNC__FN void dync__aot_use_twice(void); /* .double_backward */
DYNC__FN dync_status dync__unlist_compile(dync__graph *, const dync_value *examples, int n,
                                          const dync__options *options, dync__graph_compiler,
                                          void *user, dync_callable *out);
/* staged.c: graphs in which data decide */
DYNC__FN bool dync__graph_is_staged(const dync__graph *);
DYNC__FN void dync__aot_use_stages(void);
/* functionalize_write.c and, with it, runtime.c: what compiled code has for operators that write
 * (api/link.h) */
DYNC__FN void dync__functional_use_writes(void);
DYNC__FN void dync__functional_use_parts(void);
DYNC__FN void dync__joint_use_none(void);
DYNC__FN void dync__joint_use_sharing(void);
DYNC__FN void dync__aot_use_views(void);
DYNC__FN void dync__aot_use_narrow(void); /* make.c */
DYNC__FN void dync__aot_use_measure(void);
DYNC__FN void dync__aot_use_writes(void);
DYNC__FN dync_status dync__staged_compile(dync__graph *, const dync__options *options,
                                          dync__graph_compiler, void *user, dync_callable *out);
DYNC__FN dync_status dync__sized_compile(
    dync__graph *, const dync_value *examples, int n, const dync__options *options,
    dync__graph_compiler, void *user,
    const dync__inner_compiler *or_null /* whose: it is traced once, with symbolic sizes */,
    dync_callable *out);
/* The graph interpreter as an inner compiler (aot_eager). */
DYNC__FN dync_status dync__inner_interpret(void *user, dync__graph *, bool is_backward,
                                           const dync__options *options, dync__inner *out);
/* Does the node stand for an input as the user's graph sees it? */
DYNC__FN bool dync__aot_is_entry(const struct dync__gnode *node);
#endif
