/* autograd/node.h: what the files of autograd/ share: nodes, edges, what a tensor knows about its
 * history. See autograd.h for the contract with the other stages.
 *
 * Ownership, which has no cycles:
 *   tensor -> its meta -> the node that made it -> edges -> earlier nodes -> ... -> accumulation
 *   nodes -> leaf tensors
 * A node never holds the tensor it made, and keeps what it saved as bare aliases of the storage
 * (leaves as they are), so writing in place and rebasing a tensor on a later node ties no knot. A
 * leaf knows its accumulation node weakly. A chain of nodes is freed without recursion: see
 * dync__gnode_unref. */
#ifndef DYNC__NODE_H
#define DYNC__NODE_H
#include "autograd.h"

/* What remains known of a tensor after it is gone. dims: ndim sizes; then, for arguments, ndim
 * strides and the offset. */
typedef struct dync__ginfo {
    uint8_t dtype;
    uint16_t device;
    int32_t ndim;
    const int64_t *dims;
} dync__ginfo;

/* A gradient's way: into the nr-th gradient that node takes. node is an owned reference, NULL where
 * no gradient is wanted. */
typedef struct dync__gedge {
    struct dync__gnode *node;
    int32_t nr;
} dync__gedge;

typedef enum {
    DYNC__HOOK_TENSOR,
    DYNC__HOOK_PRE,
    DYNC__HOOK_POST,
    DYNC__HOOK_RETAIN,
    DYNC__HOOK_AFTER
} dync__hook_kind;
typedef struct dync__hook_entry {
    uint8_t kind;
    int32_t id, nr; /* nr: which gradient of the node */
    dync_hook fn;
    void *user;
    const dync_tensor *retain; /* RETAIN: whose .grad; may be stale by then */
    dync_param_hook after;     /* AFTER: in place of fn */
} dync__hook_entry;
typedef DYNC__VEC(dync__hook_entry) dync__hook_list;

typedef struct dync__gnode {
    int32_t refs;
    /* arguments of the forward operation (edges), its outputs (gradients that come in) */
    int32_t n_in, n_out;
    /* UINT64_MAX for accumulation: it runs as soon as it is ready */
    uint64_t seq;
    int32_t thread; /* that made it */
    dync_loc at;    /* the user's line of the operator */
    const dync__gnode_class *cls;
    const char *name; /* NULL: made from the operator's name */
    void *state;
    dync__gedge *edge; /* n_in */
    dync__ginfo *out;  /* n_out */
    dync__hook_list hook;
    bool released; /* what it saved is gone */
    struct dync__gnode *next_dead;
    /* weak: the only node that runs this one, for a part of its base */
    struct dync__gnode *slices;
    size_t bytes;
} dync__gnode;

typedef enum {
    DYNC__VIEW_NONE,
    DYNC__VIEW_NORMAL,
    DYNC__VIEW_NO_GRAD /* made without grad mode */,
    DYNC__VIEW_MULTI /* one of several */,
    DYNC__VIEW_CUSTOM /* made by a custom function */
} dync__view_kind;
typedef struct dync__grad_meta {
    dync__gnode *node; /* what made it; NULL: a leaf. Owned */
    int32_t nr;        /* as which output */
    uint8_t view_kind;
    /* of the storage, when node was set: a view whose base was written since is given a new one */
    uint32_t view_version;
    dync__tensor *base;      /* of a view: what it views in the end. Owned */
    dync__gnode *accumulate; /* leaf: weak, under dync__accumulate_lock */
    dync__tensor *grad;      /* leaf: the accumulated gradient. Owned */
    dync__hook_list hook;    /* leaf */
} dync__grad_meta;

/* node.c */
/* extra zeroed bytes behind the node become its state; 0: state is set by the caller. One
 * reference; NULL + DYNC_ERR_MEMORY. */
DYNC__FN dync__gnode *dync__gnode_new(const dync__gnode_class *, int n_in, int n_out, size_t extra);
DYNC__FN void dync__gnode_ref(dync__gnode *);
DYNC__FN void dync__gnode_unref(dync__gnode *);   /* NULL allowed */
DYNC__FN void dync__gnode_release(dync__gnode *); /* saved tensors go */
DYNC__FN void dync__gnode_set_out(dync__gnode *, int i, const dync__tensor *);
DYNC__FN const char *dync__gnode_name(const dync__gnode *, char *buf, size_t cap);
DYNC__FN dync_status dync__gnode_freed_error(void);
/* What there is; NULL. Another thread that shares the leaf may be making it. */
DYNC__INLINE dync__grad_meta *dync__grad_meta_peek(const dync__tensor *t)
{
    return DYNC__ATOMIC_LOAD(&t->grad);
}
/* made where there is none; NULL + DYNC_ERR_MEMORY */
DYNC__FN dync__grad_meta *dync__grad_meta_of(dync__tensor *);
/* meta exists; takes a reference of its own */
DYNC__FN void dync__grad_meta_set_node(dync__tensor *, dync__gnode *, int nr);
/* made by something that does not show its inside */
DYNC__FN void dync__grad_meta_no_view(dync__tensor *);
DYNC__FN bool dync__is_float_dtype(int dtype);
DYNC__FN dync__gnode *dync__accumulate_node(dync__tensor *leaf); /* owned; NULL + error */
DYNC__FN dync_status dync__accumulate_into(dync__tensor *leaf, dync__tensor *taken_grad);
DYNC__FN bool dync__gnode_is_accumulate(const dync__gnode *);
DYNC__FN dync__tensor *dync__gnode_leaf(const dync__gnode *); /* of an accumulation node */
/* The node being evaluated in this thread, NULL outside backward; sets it and returns the one
 * before. */
DYNC__FN const dync__gnode *dync__gnode_running(void);
DYNC__FN const dync__gnode *dync__gnode_set_running(const dync__gnode *);
/* the same for dync_trace_meta_get: around hooks too */
DYNC__FN const dync__gnode *dync__gnode_set_visited(const dync__gnode *);

/* view.c */
/* recursion: where t's gradient goes, owned; a hook is set on it, and a view's is made by nodes
 * that have hooks */
DYNC__FN dync_status dync__grad_edge(dync__tensor *, dync__gedge *out);
DYNC__FN dync_status dync__view_track(dync__tensor *source, dync__tensor *view, int kind);
/* may it be written in place, with grad mode on? */
DYNC__FN dync_status dync__inplace_quiet(void); /* the error of a view made without grad mode */
DYNC__FN dync_status dync__inplace_check(dync__tensor *self, bool viewed);
DYNC__FN bool dync__view_is_quiet(const dync__tensor *t); /* whatever is written into it: no */
DYNC__FN dync_tensor *dync__grad_zeros(dync_dims shape, int dtype, int device);
/* The history of a tensor after node's operation wrote it: prepare makes what is needed (may fail),
 * commit cannot fail. A view's write becomes one of its base. drop: not written after all. */
typedef struct dync__rebasing {
    dync__gnode *self_node, *base_node;
} dync__rebasing;
DYNC__FN dync_status dync__rebase_prepare(dync__tensor *self, dync__gnode *node, dync__rebasing *);
DYNC__FN void dync__rebase_commit(dync__tensor *self, dync__rebasing *);
DYNC__FN void dync__rebase_drop(dync__rebasing *);
/* the node of the part that was written; owned */
DYNC__FN dync__gnode *dync__slices_part(dync__gnode *slices, const dync__tensor *part);
/* buffer with grad added at part's places, which may be one place several times: by one scatter,
 * and by windows (in place) */
DYNC__FN dync_tensor *dync__strided_scatter(dync_tensor *buffer, dync_tensor *grad,
                                            const dync__layout *part, int64_t low, int device);
DYNC__FN dync_tensor *dync__strided_windows(dync_tensor *buffer, dync_tensor *grad,
                                            const dync__layout *part, int64_t low, int dtype,
                                            int device);
/* What lies at view's places as base has it; and the gradient of a tensor of geometry `base` from
 * that of a strided view of it, which shares it out where elements of the base are at one place. */
DYNC__FN dync_tensor *dync__strided_transfer(dync_tensor *grad, const dync__layout *base,
                                             const dync__layout *view, int dtype, int device);
DYNC__FN dync_tensor *dync__as_strided_backward(dync_tensor *grad, const dync__layout *base,
                                                const dync__layout *view, int dtype, int device);

/* tape.c */
/* recursion: the tape records nodes; it begins with the first tensor that requires a gradient */
DYNC__FN void dync__tape_start(void);
/* recursion: the engine runs nodes of operators, whose class is the tape's */
DYNC__FN const dync__gnode_class *dync__opnode_class(void);
/* A saved tensor: a bare alias, the version of its storage then, and the edge its gradient would
 * take (that of the node's argument). */
typedef struct dync__saved {
    dync__tensor *t; /* owned; NULL: nothing saved */
    uint32_t version;
    bool direct; /* the tensor itself (a leaf), not an alias */
} dync__saved;
DYNC__FN dync_status dync__save(dync__saved *, dync__tensor *, bool is_output);
/* The tensor again, an owned reference; with its history (that edge) where it has one and grad mode
 * is on. */
DYNC__FN dync_status dync__unsave(const dync__saved *, dync__gnode *edge_node, int edge_nr,
                                  bool history, dync__tensor **out);
DYNC__FN void dync__saved_free(dync__saved *);
/* not written since; none is right too */
DYNC__FN dync_status dync__saved_check(const dync__saved *, const dync__gnode *maker, int nr);

/* engine.c */
/* Runs one node alone: owned gradients into grad_in. */
DYNC__FN dync_status dync__gnode_run(dync__gnode *, dync__tensor *const *grad_out,
                                     const bool *needed, dync__tensor **grad_in, bool create_graph);
typedef struct dync__walk { /* one walk of the tape */
    int n_roots;
    const dync__gedge *root;   /* borrowed */
    dync__tensor *const *seed; /* borrowed */
    int n_captures;            /* 0: accumulate into the leaves */
    const dync__gedge *capture;
    dync__tensor **captured; /* owned results, NULL where none arrived */
    bool retain_graph, create_graph;
    /* root, seed and capture are arrays of the heap, of n (at least 1), with references: where the
     * walk is left for good they are given up with it */
    bool heap;
} dync__walk;
#define DYNC__WALK_BYTES(n, array) ((size_t)(n) * sizeof *(array) + 1)
DYNC__FN dync_status dync__walk_run(const dync__walk *);
DYNC__FN void dync__walk_drop(const dync__walk *); /* what it has on the heap */
/* A walk over stand-ins, that compiled autograd records: what would be done to leaves is told to it
 * instead. */
typedef struct dync__walk_record {
    dync_status (*accumulate)(struct dync__walk_record *, dync__gnode *, dync__tensor *taken);
    dync_status (*retain)(struct dync__walk_record *, dync__gnode *, int hook, dync__tensor *grad);
    /* around each hook; result: what it gave, where done */
    void (*hook)(struct dync__walk_record *, dync__tensor *result, bool done);
} dync__walk_record;
DYNC__FN dync__walk_record *dync__walk_record_now(void);
/* of this thread; NULL: a real walk. Gives the one before */
DYNC__FN dync__walk_record *dync__walk_record_set(dync__walk_record *);
/* Takes over whole walks of a thread in which compiled autograd is on; true: handled. */
DYNC__DATA_DECL bool (*dync__walk_intercept)(const dync__walk *, dync_status *);

/* visit.c: every node of a walk once, in an order that only its form decides. Nodes owned by the
 * list. */
typedef struct dync__gnode_list {
    DYNC__VEC(dync__gnode *) at;
    dync__map index;
} dync__gnode_list;
DYNC__FN dync_status dync__walk_nodes(const dync__walk *, dync__gnode_list *);
DYNC__FN void dync__gnode_list_free(dync__gnode_list *);
DYNC__FN dync_status dync__gnode_visit(dync__gnode *, dync__gvisitor *);
DYNC__FN void dync__opnode_use_visits(void); /* tape.c */
/* a leaf's where it accumulates */
DYNC__FN const dync__hook_list *dync__gnode_hooks(const dync__gnode *);

/* hooks_run.c */
DYNC__FN void dync__hooks_use(void); /* a hook is registered */
/* replaces owned gradients */
DYNC__FN dync_status dync__hooks_before(dync__gnode *, dync__tensor **grad_out);
DYNC__FN dync_status dync__hooks_after(dync__gnode *, dync__tensor **grad_in);
/* of the leaf, after its gradient was added */
DYNC__FN dync_status dync__hooks_accumulated(const dync__gnode *);

/* grads.c */
typedef struct dync__grad_rule {
#if DYNC__RULES_BY_USE
    const dync__grad_fn *const *at; /* a weak name: NULL where no backward was linked */
#else
    dync__grad_fn fn;
#endif
    /* outputs that have a gradient: the first n_diff, where they are floating */
    int n_diff;
    /* what the gradient of argument 0, 1, 2, later ones needs: DYNC__KEEP_ARG(position) |
     * DYNC__KEEP_OUT(i) */
    uint32_t keep[4];
    const struct dync__grad_inside *inside; /* NULL: the operator has no functions inside */
} dync__grad_rule;
/* Operators with functions inside, whose gradients aot/control_grad.c makes. The tape finds it by
 * the rule alone: a program without such operators links none of it. */
typedef struct dync__grad_inside {
    dync_status (*rule)(dync__grad *);
    /* a node's reference on a function; false: it is given up */
    void (*hold)(struct dync__graph *, bool hold);
    /* a call that is recorded (record) so that the rule finds what it needs */
    dync_status (*record)(dync__opcall *, dync_status (*record)(dync__opcall *));
    dync_status (*really)(dync__opcall *); /* a call that runs (dync__tape_control_really) */
} dync__grad_inside;
DYNC__FN dync_status dync__tape_control_really(dync__opcall *); /* tape_record.c */
DYNC__DATA_DECL const dync__grad_inside dync__control_inside;
/* Were rules linked (api/link.h)? Without them no gradient can be asked for. */
DYNC__FN bool dync__grad_rules_linked(void);
/* recursion: the tape runs rules, which call operators */
DYNC__FN dync_status dync__grad_rule_run(const dync__grad_rule *, dync__grad *);
#define DYNC__KEEP_ARG(i) (1u << (i))
#define DYNC__KEEP_OUT(i) (1u << (DYNC__MAX_ARGS + (i)))
/* recursion: the tape runs rules, which ask it for their arguments; NULL: none */
DYNC__FN const dync__grad_rule *dync__grad_rule_of(int op);
/* recursion: of what forgets its argument: zero_, uniform_ */
DYNC__FN const dync__grad_rule *dync__grad_rule_zero(void);

/* ---- what autograd.c and own.c share --------------------------------------------------------- */

/* borrowed tensors; NULL for none */
typedef struct dync__tensor_list {
    dync__tensor **at;
    int n;
} dync__tensor_list;
/* recursion: hooks.c asks it too */
DYNC__FN const dync__grad_intercept *dync__grad_traced(void);
DYNC__FN dync_status dync__tensor_list_of(dync__tensor_list *l, dync_value v, const char *what,
                                          bool none_ok, int n);
DYNC__FN void dync__tensor_list_drop(dync__tensor_list *l);
DYNC__FN dync_value dync__grad_give_list(int n, dync__tensor **tensors);
#endif
