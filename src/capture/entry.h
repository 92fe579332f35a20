/* capture/entry.h: an entry of a compiled function: what it guards, its segments, its tree. Before
 * capture.h, which says how they belong together. */
#ifndef DYNC__CAPTURE_ENTRY_H
#define DYNC__CAPTURE_ENTRY_H
#include "../graph/graph.h"

/* ---- guards ---------------------------------------------------------------------------------- */
typedef struct dync__tensor_guard {
    uint8_t dtype, ndim, requires_grad;
    /* 1 + is it a leaf? where the function asked; 0 */
    uint8_t leaf;
    uint16_t device;
    /* earlier tensor of the call that is the same one, or -1 */
    int32_t same_as;
    /* earliest tensor of the call on the same storage, or -1; guarded where the entry writes */
    int32_t shares_storage;
    /* ndim sizes, then ndim strides, then the storage offset */
    const int64_t *dims;
    const char *source; /* "L['x']" */
} dync__tensor_guard;
typedef struct dync__guard_item { /* one value of the arguments in preorder */
    uint8_t kind;
    /* number passed on as a run-time value: its value is not guarded */
    bool free_value;
    int32_t n; /* items of a list; index of a tensor */
    union {
        int64_t i;
        double f;
        const char *s;
        void *p;
    } as;
    uint64_t version; /* modules */
    const char *source;
} dync__guard_item;
/* guard.same_as: the argument that is this very tensor; guard.shares_storage: one on the same
 * storage; or -1. By handle and id, or read again from its variable (address), or the gradient of
 * another tensor (owner): of argument owner - 1, or of foreign tensor -owner - 1; 0: of none. */
typedef struct dync__foreign {
    dync_tensor *handle;
    uint64_t id;
    int32_t owner;
    bool absent; /* the owner had no gradient */
    /* not its gradient is meant, but its hooks, which the graph has inlined */
    bool is_hooks;
    uint64_t hooks;
    int32_t shares_foreign; /* earliest foreign tensor on the same storage, or -1 */
    dync__tensor_guard guard;
    dync_tensor **address;
} dync__foreign;
typedef struct dync__int_guard {
    const char *name;
    const int64_t *address;
    int64_t value;
} dync__int_guard;
/* text: its variable, or NULL */
typedef struct dync__module_guard {
    dync__module *module;
    uint64_t id, version;
    const char *text;
} dync__module_guard;

/* ---- segments -------------------------------------------------------------------------------- */
/* A plain number of a graph: argument arg of node, which is its call'th call. Such places are
 * run-time inputs of a segment (lift.c), the last ones, in this order. */
typedef struct dync__lift_place {
    int node, arg, call;
} dync__lift_place;
#if defined(DYNC_SMALL)
enum { DYNC__LIFT_PLACES = 8 };
#else
enum { DYNC__LIFT_PLACES = 64 };
#endif
/* form: with numbers in the places */
typedef struct dync__lift {
    dync__graph *form;
    dync__lift_place place[DYNC__LIFT_PLACES];
    int n;
} dync__lift;
/* What counts as pending: calls and constants. */
DYNC__INLINE bool dync__node_pends(const dync__node *n)
{
    return dync__node_is_call(n) || n->kind == DYNC__N_GET_ATTR;
}
/* Code of the same graph in parts, so that values leave it before it uses them: hooks on them then
 * see every gradient. */
typedef struct dync__apart {
    struct dync__apart *next;
    dync__graph *graph; /* with the nodes marked */
    dync_callable code;
} dync__apart;
typedef struct dync__segment {
    struct dync__segment *next; /* in the compiled function's table */
    /* site: the place in the program; likeness: of the form, where numbers are inputs, else of the
     * graph */
    uint64_t hash, site, likeness;
    dync__graph *graph; /* as handed to the backend, all live values as outputs */
    dync_callable code;
    int n_in, n_out;
    bool grad_mode;    /* when it was compiled; part of its identity */
    bool *used;        /* outputs really needed; NULL: not narrowed */
    int32_t narrowing; /* a thread changes used and the code */
    /* of a graph that writes: earliest input on the same storage, or -1, by input */
    int *alias;
    bool gives_numbers; /* some output may be a symbolic number */
    /* something in place: what others were computed from may be gone */
    bool writes;
    bool narrowable;    /* no random ancestor, nothing written */
    bool used_inside;   /* an output that can have a hook is used by the graph itself */
    dync__apart *apart; /* NULL: none; the newest, which is the one that runs */
    int n_ops;          /* call_function nodes, for explain */
    int frame;          /* compiles of the function before it */
    dync__lift *lift;   /* or NULL; owned */
} dync__segment;
typedef struct dync__segref {
    dync__segment *seg;
    int *in_env, *out_env;
} dync__segref;

/* fixed: by value */
typedef struct dync__cell_guard {
    dync_cell *cell;
    uint64_t id;
    uint8_t kind;
    bool fixed;
    dync_value value;
} dync__cell_guard;
typedef struct dync__cell_use {
    int env, index;
} dync__cell_use;
/* owner_env: where the tensor stands whose gradient it is */
typedef struct dync__foreign_use {
    int env, index, owner_env;
} dync__foreign_use;
/* What a call does besides its segments. env: the tensor it is done to; value: its new gradient, or
 * -1. */
typedef enum {
    DYNC__DO_SET_GRAD,
    DYNC__DO_HOOK,
    DYNC__DO_RETAIN_GRAD,
    DYNC__DO_REQUIRES_GRAD,
    DYNC__DO_CELL,
    DYNC__DO_MODE,    /* of a module: training or not */
    DYNC__DO_BACKWARD /* value arrives at env: its history is outside */
} dync__effect_kind;
typedef struct dync__effect {
    uint8_t kind;
    /* REQUIRES_GRAD, MODE; SET_GRAD: value is what a backward gave, which for a tensor that is no
     * leaf in this call arrives there as in BACKWARD */
    bool on;
    int after; /* segments of the node that run before it */
    /* id: of a hook, when it is registered the first time; of BACKWARD and SET_GRAD 1 where the
     * history is kept */
    int env, value, id;
    dync_hook fn;
    dync_param_hook after_grad; /* HOOK of a leaf whose gradient was added to; fn NULL */
    /* MODE: the module. CELL: the cell; its new value is the number env, or the plain one */
    void *user;
    dync_value number;
} dync__effect;
typedef enum {
    DYNC__TN_OPEN /* being traced */,
    DYNC__TN_RETURN,
    DYNC__TN_BRANCH,
    DYNC__TN_OPAQUE
} dync__tnode_kind;
enum { DYNC__MAX_OUTCOMES = 8 };
typedef struct dync__outval { /* returned value, a tree */
    uint8_t kind;             /* dync_kind */
    int32_t n;                /* list: items; tensor: place in the environment */
    union {
        dync_value value;
        struct dync__outval *items;
    } as;
} dync__outval;
typedef struct dync__tnode {
    dync__tnode_kind kind;
    DYNC__VEC(dync__segref) seg;
    DYNC__VEC(dync__foreign_use) foreign; /* foreign tensors that enter the environment here */
    DYNC__VEC(dync__cell_use) cell;       /* cells likewise */
    DYNC__VEC(dync__effect) effect;       /* by what runs before them */
    int branch_env;                       /* tensor branched on */
    bool branch_bool;                     /* by truth; else by its integer */
    int n_outcomes;
    struct {
        int64_t value;
        struct dync__tnode *next;
    } outcome[DYNC__MAX_OUTCOMES];
    dync__outval result;
    int8_t grad_mode_after; /* -1 untouched, else the mode to leave behind */
} dync__tnode;

/* The short way of a call (quick.c). */
enum { DYNC__QUICK_TENSORS = 32 };
typedef struct dync__quick {
    /* guards, argument by argument: fixed fields, sizes, strides */
    const int64_t *words;
    const struct dync__raw_callable *raw;
    bool grad_mode, straight; /* straight: input i is argument i */
    int n_in;
    uint8_t in[DYNC__QUICK_TENSORS]; /* argument of each input */
} dync__quick;
/* The result of a function that is assumed constant; the entry holds a reference. */
typedef struct dync__constant {
    void (*fn)(void);
    void *object, *user;
    dync_value value;
} dync__constant;

/* Sizes that a function was captured with, by tensor argument: what differs the next time is
 * symbolic. */
typedef struct dync__seen {
    bool known;
    int ndim;
    uint32_t dynamic;
    int64_t size[DYNC_MAX_DIMS];
} dync__seen;
/* before: other threads may still read it */
typedef struct dync__shapes {
    dync__symtab *syms;
    struct dync__shapes *before;
} dync__shapes;

typedef struct dync__cache_entry {
    dync__arena arena;
    int n_args, n_items, n_tensors, n_env;
    /* flat: arguments are tensors only; mutates: something is written in place; offsets: storage
     * offsets count */
    bool flat, mutates, offsets;
    dync__guard_item *item;
    dync__tensor_guard *tensor;
    /* by tensor: its symbolic dimensions; NULL: all sizes are plain */
    uint32_t *dynamic;
    bool data_sizes; /* what data decide may be a symbol, too: dynamic is there */
    /* by tensor: sizes and strides as the trace sees them; their tokens stand in tensor[].dims
     * too */
    dync__layout *leaf;
    dync__shapes *shapes; /* symbols, ranges and relations that are guarded */
    bool grad_mode;
    uint8_t default_dtype;
    int threads;
    DYNC__VEC(dync__foreign) foreign;
    DYNC__VEC(dync__int_guard) ints;
    DYNC__VEC(dync__cell_guard) cells;
    /* arguments that are symbolic numbers: which, and their items */
    int n_numbers, *number_arg, *number_item;
    DYNC__VEC(dync__module_guard) modules;
    struct dync__lint *lint; /* the tape of its first trace, for later ones; owned */
    /* it sets gradients, hooks or requires_grad: a second trace would see them */
    bool effects;
    int32_t lint_busy;                   /* it has been compared, or is */
    DYNC__VEC(dync__constant) constants; /* in the order of the calls */
    dync__tnode *root;
    /* open: has an opaque break; dead: something it captured is gone */
    bool open, dead;
    struct dync__cache_entry *next;
    /* place of each tensor argument in the environment: the first n_leaf_env */
    int *leaf_env, n_leaf_env;
    int32_t extending; /* a thread grows the tree */
    int64_t hits;
    const char *why;              /* the guard whose failure made it; NULL: the first */
    const dync__quick *quick;     /* or NULL; made before the entry is published */
    struct dync__script *scripts; /* of an open one: what its calls did (script.h) */
    /* of an open one: particular: it may do something else where it is not traced; lean: calls that
     * ended a script of pieces that gain nothing; written: from now on calls run as written */
    bool particular, written;
    int32_t lean;
} dync__cache_entry;

DYNC__INLINE bool dync__entry_is_dynamic(const dync__cache_entry *e)
{
    return !DYNC__SYM_NONE && e->dynamic;
}

/* What an entry guards grows while other threads check it: the items are published before their
 * count, and old arrays stay in the arena. */
#define dync__entry_push(e, v, x)                                                               \
    (((v)->n < (v)->cap ||                                                                      \
      (DYNC__ATOMIC_STORE(&(v)->at, dync__vec_grow(&(e)->arena, (v)->at, &(v)->cap, (v)->n + 1, \
                                                   sizeof *(v)->at)),                           \
       (v)->n < (v)->cap)) &&                                                                   \
     ((v)->at[(v)->n] = (x), DYNC__ATOMIC_STORE(&(v)->n, (v)->n + 1), true))
#define dync__entry_count(v) DYNC__ATOMIC_LOAD(&(v)->n)
#define dync__entry_item(v, i) (&DYNC__ATOMIC_LOAD(&(v)->at)[i])
#endif
