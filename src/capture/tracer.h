/* capture/tracer.h: the state of a trace: environment (env.h), recording (record.h), script
 * (script.h), and what has no header of its own: the cut being made, effects, symbols, backward,
 * the way. Before trace.h, which says what is done with it. */
#ifndef DYNC__TRACER_H
#define DYNC__TRACER_H
#include "capture.h"
#include "env.h"
#include "record.h"

enum { DYNC__MAX_SYMBOLS = 64 };
/* A symbolic number (symbol.c). */
typedef struct dync__number {
    dync__tensor *fake;         /* owned while the trace is open */
    dync_value plain;           /* what it is in this call */
    const char *text;           /* "s1 + 1" */
    const char *source;         /* of an input */
    bool sum;                   /* its text needs brackets in a product */
    struct dync__number *of[2]; /* what it was computed from */
    /* an argument: which; a cell: -1; computed: -2; read from data in the graph: -3 */
    int arg;
    dync_cell *cell;
} dync__number;
enum { DYNC__NUMBER_DATA = -3 };
#define DYNC__NUMBER_HINT 1.5 /* what one read from data counts as while it is traced */
typedef struct dync__tracer dync__tracer;

/* ---- a cut (cut.c), while it is made ------------------------------------------------------- */
typedef struct dync__cutting {
    const char *reason;       /* the break that ends the pieces being compiled, or NULL */
    int lo, hi;               /* calls of the piece */
    int split;                /* one more end after so many calls; 0: none */
    bool plain;               /* the piece ran operator by operator */
    const dync__effect *then; /* what is done there, to then_to; NULL: nothing */
    dync__tensor *then_to;
    uint64_t taken; /* the way that the last branch went, until the next cut; 0: none */
    int taken_depth;
} dync__cutting;

/* ---- what is done besides computing (effects.c) -------------------------------------------- */
/* The .grad of a fake during the trace is its value now; before: what the real tensor's was when it
 * was read, or at the last cut. Owned references to both. */
typedef struct dync__grad_record {
    dync__tensor *of, *before;
    bool read;
    /* of is no leaf: backward goes on there, outside; keep: what it walks stays */
    bool outside, keep;
    bool summed; /* a backward gave it */
    bool kept;   /* dync_gradients did, to a value that keeps its gradient */
} dync__grad_record;
typedef struct dync__effect_wait {
    dync__effect effect;
    dync__tensor *of;
} dync__effect_wait; /* of: a fake, owned */
/* A hook on a value of the graph: a node behind that which makes it (hooked.c). */
typedef struct dync__hooked {
    dync__tensor *of; /* owned */
    dync__node *node;
    int id;
} dync__hooked;
typedef struct dync__effects {
    DYNC__VEC(dync__grad_record) grads; /* read or set */
    DYNC__VEC(dync__effect_wait)
    before, after;  /* the others, by whether they are done before or after what is pending */
    int hooks_seen; /* places whose tensors' hooks the trace has */
    DYNC__VEC(dync__hooked) hooked;
} dync__effects;

/* ---- symbols (sizes.c, symbol.c) ----------------------------------------------------------- */
typedef struct dync__cell_now {
    dync_cell *cell;
    dync_value value;
} dync__cell_now; /* at this point of the trace */
typedef struct dync__symbols {
    DYNC__VEC(dync__number *) number; /* arguments first; in scratch */
    DYNC__VEC(dync__cell_now) cell;
    int n_inputs;                   /* numbers that are inputs of graphs */
    int n_data;                     /* symbols that data decide, so far */
    DYNC__VEC(dync__tensor *) data; /* fakes that tell them (owned) */
    dync__symtab *sizes,
        *outer; /* symbolic sizes of this trace, or NULL; those of the trace around it */
} dync__symbols;

/* ---- backward inside the trace (step.c) ---------------------------------------------------- */
typedef struct dync__taping {
    bool on, restart;       /* restart: backward was met, the trace begins again under the tape */
    bool walking, walked;   /* inside backward, which runs over fakes; it ran */
    const char *inner;      /* what would be lost where the result's history goes on outside */
    dync__handler recorder; /* at the bottom, under the tape; the tracer's handler then only takes
                               arguments into the trace */
    dync__handler *bottom_before;
    bool keep; /* the walk's retain_graph */
} dync__taping;

/* ---- the way of a call ------------------------------------------------------------------- */
/* A traced call passes the dispatcher as operators (handler.call) and these doors for all else that
 * it does. Recording makes nodes and segments (dync__recording_way); following an earlier call
 * compares and, where this one does something else, becomes recording (replay.c). */
typedef struct dync__way {
    /* A tensor from elsewhere: its place in the environment, -1: no memory. */
    int (*foreign)(dync__tracer *, dync__tensor *real, dync_tensor **address, const char *source);
    void (*frame)(dync__tracer *, const char *name, dync_loc); /* NULL: its end */
    dync_status (*cut)(dync__tracer *, const char *reason);    /* the pending graph ends here */
    /* The segment that a piece is (taken over), and what it made. */
    dync_status (*piece)(dync__tracer *, dync__graph *, uint64_t hash, uint64_t site,
                         dync__segref *, dync__tensor **out);
    /* NULL: dync__record_branch */
    dync_status (*branch)(dync__tracer *, dync__tensor *fake, bool as_bool, int64_t *outcome);
    dync__tensor *(*found)(const dync__tracer *,
                           dync__tensor *now);                     /* what enters the next place */
    dync_status (*effects)(dync__tracer *, dync__effect *, int n); /* does them, notes them */
    int (*place)(dync__tracer *, const dync__tensor *fake);        /* of a value that is read */
    dync_status (*value)(dync__tracer *, int env); /* of a place that narrowing emptied */
    dync_status (*keep)(dync__tracer *); /* all that was dropped: memory will be written */
    dync_status (*finish)(dync__tracer *, dync_value, dync__outval *); /* the function returned */
    void (*own)(dync__tracer *);   /* somebody changes or reads the trace itself */
    void (*close)(dync__tracer *); /* before anything is freed */
} dync__way;

/* What a trace that its function never returned to (longjmp, a C++ exception) is found by, and what
 * ending it takes. */
typedef struct dync__trace_life {
    dync__wait wait; /* first */
    dync_scope scope;
    bool guarded, owns_entry, extends;
    dync__error_guard guard; /* while guarded */
} dync__trace_life;
typedef struct dync__trace_pause {
    dync__handler *top;
    bool compiling;
} dync__trace_pause;
struct dync__tracer {
    dync__handler handler;
    bool stopped, fresh; /* fresh: something is compiled for the first time: callbacks fire */
    bool on_tree;        /* false once the trace left the entry's tree (opaque) */
    bool script_is_new, noting; /* of script; noting: what it does is added */
    bool inferring_inside; /* of inferring: one inside an operator (control_trace.c), named so */
    bool grad_mode_before;
    dync_status status; /* first failure inside the trace */
    dync__compiled *fn;
    dync__cache_entry *entry;
    const dync__callargs *call;
    const dync__way *way; /* what stands behind its doors */
    dync__tnode *at;      /* where the tree grows; NULL: nowhere, or not yet */
    dync__tracer *outer;
    struct dync__script *script; /* what this call follows or adds to, or NULL (script.h) */
    const char *inferring;  /* an allowed function runs for its shapes: it may not read values */
    const char *own_reason; /* of a break that the user asks for, in his words; or NULL */
    uint64_t id;
    dync__environment env;
    dync__recording rec;
    dync__cutting cut;
    dync__effects effects;
    dync__symbols symbols;
    dync__taping tape;
    int frames_before;                    /* compiles of the function when the call began */
    DYNC__VEC(dync__segment *) transient; /* segments of this call alone (owned) */
    int n_constants;                      /* calls of constant functions so far */
    dync__path path;           /* an entry's tree grows: the way there, which is followed first */
    dync__arena scratch;       /* of a trace that left the tree */
    dync_loc last_at;          /* user line of the last operator or break */
    dync__trace_pause resting; /* while an opaque function of another layer works */
    /* dync__tracer_open leaves alone what follows */
    dync__trace_life life;
    int leaf[DYNC__MAX_LEAVES]; /* place of each tensor argument */
};
#endif
