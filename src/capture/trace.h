/* capture/trace.h: the tracer's state, shared by env.c (values), record.c (recording),
 * cut.c (segments) and break.c. */
#ifndef DYNC__TRACE_H
#define DYNC__TRACE_H
#include "capture.h"

/* mark: pending calls at its entry */
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

/* ---- environment (env.c): the values that exist -------------------------------------------- */
/* What a place holds: output `out` of a segment; or a foreign tensor (its index + 1); or the
 * gradient of another place. */
typedef struct dync__origin {
    dync__segment *seg;
    const int *in_env;
    int out, foreign;
    bool is_grad;
    bool plain; /* of a segment that ran operator by operator in this call */
} dync__origin;
typedef struct dync__environment {  /* by place */
    DYNC__VEC(dync__tensor *) real; /* owned; NULL where narrowed away */
    DYNC__VEC(dync__tensor *) fake; /* what traced code sees of it (owned) */
    DYNC__VEC(dync__node *) holder; /* its placeholder in the pending graph, or NULL */
    DYNC__VEC(dync__origin) origin;
} dync__environment;

/* ---- recording (record.c): the pending graph ----------------------------------------------- */
typedef struct dync__trace_frame {
    const char *name;
    dync_loc at;
    int mark; /* pending calls at its entry */
    bool broken;
} dync__trace_frame;
typedef struct dync__recording {
    dync__graph *graph; /* NULL: nothing since the last cut */
    int pending;        /* calls in it */
    bool grad_off;      /* grad mode where it begins: what it is compiled for and runs in */
    DYNC__VEC(dync__tensor *) made;      /* fakes of its nodes (owned) */
    DYNC__VEC(dync__trace_frame) frames; /* open dync_frame calls */
    dync__number *
        *operand; /* of the operator being recorded, by argument; NULL: none is symbolic */
} dync__recording;

/* ---- a cut (cut.c), while it is made ------------------------------------------------------- */
typedef struct dync__cutting {
    const char *reason;       /* the break that ends the pieces being compiled, or NULL */
    int lo, hi;               /* calls of the piece */
    int split;                /* one more end after so many calls; 0: none */
    bool plain;               /* the piece ran operator by operator */
    const dync__effect *then; /* what is done there, to then_to; NULL: nothing */
    dync__tensor *then_to;
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
    dync_status (*branch)(dync__tracer *, dync__tensor *fake, bool as_bool, int64_t *outcome);
    dync__tensor *(*found)(const dync__tracer *,
                           dync__tensor *now);              /* what enters the next place */
    dync_status (*effect)(dync__tracer *, dync__effect);    /* does it, notes it */
    int (*place)(dync__tracer *, const dync__tensor *fake); /* of a value that is read */
    dync_status (*value)(dync__tracer *, int env);          /* of a place that narrowing emptied */
    dync_status (*keep)(dync__tracer *); /* all that was dropped: memory will be written */
    dync_status (*finish)(dync__tracer *, dync_value, dync__outval *); /* the function returned */
    void (*own)(dync__tracer *);   /* somebody changes or reads the trace itself */
    void (*close)(dync__tracer *); /* before anything is freed */
} dync__way;

/* How a trace that its function never returned to (longjmp, a C++ exception) is found and ended:
 * traces stand in a list of their thread, the innermost first, each with the frame that waits for
 * it. A call from a frame outside of that one means that it is gone. They lie on the heap, and what
 * would have to be put back lies in them. */
typedef struct dync__trace_life {
    dync__tracer *below;
    const void *frame;
    void (*unwind)(dync__tracer *);
    dync_scope scope;
    dync__error_guard guard;
    bool guarded, owns_entry, extends;
} dync__trace_life;
typedef struct dync__trace_pause {
    dync__handler *top;
    bool compiling;
} dync__trace_pause;
struct dync__tracer {
    dync__handler handler;
    dync__compiled *fn;
    dync__cache_entry *entry;
    const dync__callargs *call;
    uint64_t id;
    dync__environment env;
    int leaf[DYNC__MAX_LEAVES]; /* place of each tensor argument */
    dync__recording rec;
    dync__cutting cut;
    dync__effects effects;
    dync__symbols symbols;
    dync__taping tape;
    int frames_before;                    /* compiles of the function when the call began */
    DYNC__VEC(dync__segment *) transient; /* segments of this call alone (owned) */
    int n_constants;                      /* calls of constant functions so far */
    const char *inferring; /* an allowed function runs for its shapes: it may not read values */
    bool inferring_inside; /* it is one inside an operator (control_trace.c), named so */
    const dync__way *way;  /* what stands behind its doors */
    dync__path path;       /* an entry's tree grows: the way there, which is followed first */
    struct dync__script *script; /* what this call follows or adds to, or NULL (script.h) */
    bool script_is_new, noting;  /* noting: what it does is added */
    bool on_tree;                /* false once the trace left the entry's tree (opaque) */
    dync__tnode *at;             /* where the tree grows; NULL: nowhere, or not yet */
    dync__arena scratch;         /* of a trace that left the tree */
    dync_status status;          /* first failure inside the trace */
    const char *own_reason;      /* of a break that the user asks for, in his words; or NULL */
    dync_loc last_at;            /* user line of the last operator or break */
    bool stopped, fresh; /* fresh: something is compiled for the first time: callbacks fire */
    bool grad_mode_before;
    dync__trace_pause resting; /* while an opaque function of another layer works */
    dync__tracer *outer;
    dync__trace_life life; /* tracer_open leaves it alone */
};
/* Ends the traces that were left, and says so. True: there was one. */
DYNC__FN bool dync__traces_left(void);
DYNC__FN void dync__trace_live(dync__tracer *, const void *frame);
DYNC__FN void dync__trace_ends(dync__tracer *);
DYNC__FN void dync__trace_unwind(dync__tracer *); /* call.c: of one that was left */
#if defined(__GNUC__)
#define DYNC__FRAME() __builtin_frame_address(0)
#else
#define DYNC__FRAME() ((const void *)&(char){0})
#endif

/* number.c */
DYNC__FN const char *dync__number_text(const dync__tracer *, const dync__tensor *fake,
                                       dync_value *plain, const char **source, bool *cell);
/* NULL: none of this trace */
DYNC__FN dync__tensor *dync__number_fake_of(const dync__tracer *, const void *symbol);
/* -1: none of this trace's */
DYNC__FN int dync__number_index(const dync__tracer *, const void *symbol);
DYNC__FN dync_value dync__number_plain(const dync__number *);
DYNC__FN dync__number *dync__number_find(const dync__tracer *t, const void *p);
/* symbol.c: an element of a tensor of this trace as a number; none + error */
DYNC__FN dync_value dync__number_item(dync__tracer *t, dync__tensor *x);
/* effects.c */
DYNC__FN dync_status dync__trace_grad_sum(dync__tracer *, dync__tensor *fake, bool outside,
                                          bool keep);
DYNC__FN bool dync__trace_grad_is_outside(const dync__tracer *, const dync__tensor *fake);
/* hooked.c */
DYNC__FN dync_status dync__hooked_add(dync__tracer *, dync__tensor *x, dync_hook, void *user,
                                      int id);
/* false: it is none of them */
DYNC__FN bool dync__hooked_remove(dync__tracer *, int id);
/* an error where a write would pass a hook by */
DYNC__FN dync_status dync__hooked_written(const dync__tracer *, const dync__opcall *);
/* data.c */
DYNC__FN bool dync__data_stays(const dync__tracer *t, const dync__opcall *c);
/* an error where an element that may be negative is a size */
DYNC__FN dync_status dync__data_sizes(dync__opcall *c);
DYNC__FN dync_status dync__data_record(dync__tracer *t, dync__opcall *c);
DYNC__FN void dync__data_close(dync__tracer *t);
/* shape_guard.c */
DYNC__FN bool dync__shapes_values(const dync__symtab *s, const dync__callargs *c, int64_t *value);
DYNC__FN bool dync__shapes_guards(const dync__symtab *s, const int64_t *value);
/* lint.c: what a trace reports; nothing happens while there is no lint */
DYNC__FN void dync__lint_op(const dync__tracer *, const dync__opcall *);
DYNC__FN void dync__lint_constant(const dync__tracer *, const dync__tensor *real,
                                  const dync__tensor *fake);
DYNC__FN void dync__lint_branch(const dync__tracer *, int64_t outcome);
/* true: in the second trace, the outcome to take */
DYNC__FN bool dync__lint_answers(const dync__tracer *, int64_t *outcome);
DYNC__FN uint64_t dync__lint_salt(const dync__tracer *); /* of a second trace's tokens; else 0 */
DYNC__FN void dync__lint_restart(const dync__tracer *);
DYNC__FN void dync__lint_result(const dync__tracer *, const dync_value *result);
/* true: a break in the second trace */
DYNC__FN bool dync__lint_stops(const dync__tracer *, const char *reason);
/* trace.c */
/* For whoever changes or reads the trace itself: one that followed a script goes on as a trace, and
 * what it does from here is not recorded. */
DYNC__FN dync__tracer *dync__tracer_current(void);
DYNC__FN dync__tracer *dync__tracer_peek(void); /* as it is */
DYNC__FN bool dync__tracer_owns(const dync__tracer *, const dync__tensor *);
/* stops the trace; the first status stays */
DYNC__FN dync_status dync__tracer_fail(dync__tracer *, dync_status);
DYNC__FN dync__trace_pause dync__trace_pause_begin(dync__tracer *);
DYNC__FN void dync__trace_pause_end(dync__tracer *, dync__trace_pause);
/* the one that records now, or NULL; see dync__tracer_current */
DYNC__FN dync__tracer *dync__tracing(void);
/* also one that follows a script: for what scripts know */
DYNC__FN dync__tracer *dync__tracing_or_replay(void);
/* script.c */
DYNC__FN void dync__script_stop(dync__tracer *);
DYNC__FN bool dync__script_takes(dync__tracer *, dync__tensor *fake);
DYNC__FN void dync__script_op(dync__tracer *, const dync__opcall *,
                              dync__number *const *operand_or_null);
DYNC__FN void dync__script_foreign(dync__tracer *, int env);
DYNC__FN void dync__script_frame(dync__tracer *, const char *name_or_null, dync_loc);
DYNC__FN bool dync__script_fits(const dync__tensor *fake, const dync__tensor *real);
/* foreign code reads it */
DYNC__FN void dync__script_wants(dync__tracer *, const dync__tensor *fake);
/* foreign code may write what it can reach */
DYNC__FN void dync__script_may_write(dync__tracer *);
/* env.c */
/* -1: no memory */
DYNC__FN int dync__tracer_env_add(dync__tracer *, dync__tensor *real, dync__tensor *fake_taken);
DYNC__FN int dync__tracer_env_real(dync__tracer *, dync__tensor *real);
DYNC__FN dync__tensor *dync__tracer_adopt(dync__tracer *, dync__tensor *);
DYNC__FN int dync__record_foreign(dync__tracer *, dync__tensor *real, dync_tensor **, const char *);
DYNC__FN dync_status dync__record_value(dync__tracer *, int env);
DYNC__FN dync_status dync__record_keep(dync__tracer *);
/* what it dropped, too */
DYNC__FN dync_status dync__cut_complete(dync__tracer *, dync__segment *, const int *in_env,
                                        dync__tensor **out);
/* everything that was dropped and is still held */
DYNC__FN dync_status dync__env_complete(dync__tracer *);
/* computed again where narrowing dropped it; NULL + error */
DYNC__FN dync__tensor *dync__env_real(dync__tracer *, int env);
DYNC__FN bool dync__tracer_same_memory(const dync__tracer *, const dync__tensor *,
                                       const dync__tensor *);
/* after a cut: the real tensor (borrowed), or NULL + error */
DYNC__FN dync__tensor *dync__trace_real(dync__tracer *, dync__tensor *fake);
DYNC__FN dync__tensor *dync__fake_of(const dync__tensor *real, const dync__layout *lay);
/* record.c */
DYNC__FN dync_status dync__tracer_record(dync__tracer *, dync__opcall *);
/* there is a pending graph; false: no memory */
DYNC__FN bool dync__tracer_graph(dync__tracer *);
DYNC__FN dync__node *dync__tracer_node(dync__tracer *, dync__tensor *fake);
/* tensors become nodes */
DYNC__FN dync_status dync__tracer_args(dync__tracer *, int n, const dync__arg *in, dync__arg *out);
DYNC__FN bool dync__args_require_grad(int n, const dync__arg *args);
DYNC__FN dync_status dync__record_grad_mode(dync__tracer *,
                                            const dync__opcall *); /* _set_grad_enabled */
DYNC__FN dync_tensor *dync__trace_bake(dync__tracer *, dync__tensor *real);
DYNC__FN dync__node *dync__number_node(dync__tracer *, dync__number *);
/* the placeholder of a place in the environment */
DYNC__FN dync__node *dync__tracer_input(dync__tracer *, dync__graph *, int env);
DYNC__FN dync_status dync__tracer_adopt_args(dync__tracer *t, int n, dync__arg *args);
/* effects.c */
/* borrowed */
DYNC__FN dync_status dync__trace_grad_of(dync__tracer *, dync__tensor *fake,
                                         dync__tensor **grad_or_null);
DYNC__FN dync_status dync__trace_grad_set(dync__tracer *, dync__tensor *fake,
                                          dync__tensor *grad_or_null);
DYNC__FN dync_status dync__effect_add(dync__tracer *, bool before, dync__effect,
                                      dync__tensor *fake);
/* of a hook not registered yet */
DYNC__FN bool dync__effect_cancel(dync__tracer *, int id);
DYNC__FN dync_status dync__effect_hook_absent(dync__tracer *, const dync__tensor *fake, int id,
                                              bool *absent); /* then it is guarded */
/* its place, -1 where it is a pending value */
DYNC__FN int dync__effect_env(const dync__tracer *, const dync__tensor *fake);
/* the hooks of real leaves, for a backward over fakes */
DYNC__FN dync_status dync__effect_hooks(dync__tracer *);
/* at a cut, before its segments */
DYNC__FN dync_status dync__effects_begin(dync__tracer *);
/* what effects need leaves the graph */
DYNC__FN void dync__effects_mark(const dync__tracer *, bool *live);
DYNC__FN dync_status dync__effects_flush(dync__tracer *); /* after a cut */
/* foreign code may have set gradients */
DYNC__FN void dync__effects_forget(dync__tracer *);
DYNC__FN void dync__effects_free(dync__tracer *);
DYNC__FN dync_status dync__record_effect(dync__tracer *, dync__effect);
/* sizes.c */
DYNC__FN dync_status dync__shapes_open(dync__tracer *);
DYNC__FN void dync__shapes_close(dync__tracer *);
DYNC__FN bool dync__shapes_again(dync__tracer *, dync__symtab *);
DYNC__FN dync_status dync__shapes_publish(dync__tracer *);
/* before the graph gets its output */
DYNC__FN dync_status dync__shapes_settle(dync__tracer *, dync__graph *);
/* symbol.c */
DYNC__FN dync_status dync__numbers_open(dync__tracer *);
DYNC__FN void dync__numbers_close(dync__tracer *);
/* true: it is a symbol */
DYNC__FN bool dync__number_argument(dync__tracer *, int arg, dync_value *);
/* symbolic argument k, as it is in this call */
DYNC__FN bool dync__number_again(dync__tracer *, int k, dync__tensor *fake);
DYNC__FN void dync__number_operands(dync__tracer *, dync__opcall *, dync__number **number);
/* its place in the environment; -1: no memory */
DYNC__FN int dync__number_enter(dync__tracer *, dync_value plain);
DYNC__FN bool dync__trace_cell_get(struct dync__cell *, dync_value *result);
DYNC__FN bool dync__trace_cell_set(struct dync__cell *, dync_value);
DYNC__FN void dync__numbers_install(void);
/* lift.c */
DYNC__FN dync_status dync__lift_segment(dync__tracer *, dync__graph *, uint64_t site,
                                        dync__tensor *const *in, const int **in_env,
                                        dync__segment **);
/* script_cut.c */
DYNC__FN void dync__script_cut_begin(dync__tracer *, const char *reason);
DYNC__FN void dync__script_piece(dync__tracer *, const dync__segref *, int n_out,
                                 dync__tensor *const *fakes);
DYNC__FN void dync__script_cut_end(dync__tracer *, bool returns);
DYNC__FN void dync__script_returns(dync__tracer *, const dync_value *result);
DYNC__FN void dync__script_begin(dync__tracer *);
DYNC__FN void dync__script_end(dync__tracer *, bool failed);
/* piece.c */
DYNC__FN dync_status dync__record_piece(dync__tracer *, dync__graph *, uint64_t hash, uint64_t site,
                                        dync__segref *, dync__tensor **out);
DYNC__FN dync_status dync__cut_run(dync__tracer *, dync__segment *, const int *in_env,
                                   dync__tensor **out);
DYNC__FN dync__graph *dync__piece_graph(dync__tracer *t, int from, int to);
DYNC__FN uint64_t dync__piece_site(const dync__tracer *t, const char *frame, const char *reason);
DYNC__FN dync_status dync__cut_piece(dync__tracer *t, dync__graph *g, uint64_t site, int n_out,
                                     dync__tensor **fakes, dync__node **nodes);
/* cut.c */
DYNC__FN dync_status dync__record_cut(dync__tracer *, const char *reason);
DYNC__FN dync_status dync__tracer_cut(dync__tracer *, const char *reason_or_null);
/* cuts there (and does that) and here; no break */
DYNC__FN dync_status dync__tracer_split(dync__tracer *, dync__tensor *made,
                                        const dync__effect *then_or_null);
/* the last pending write to its memory; NULL: none */
DYNC__FN const dync__node *dync__tracer_written(const dync__tracer *, const dync__tensor *fake);
/* "file:line in fn" lines, outermost first */
DYNC__FN void dync__trace_stack(const dync__tracer *, dync__str *);
DYNC__FN void dync__stack_line(dync__str *s, dync_loc at, const char *fn);
DYNC__FN dync_status dync__cut_live(dync__tracer *t, const char *reason, const bool *live_or_null);
/* break.c */
DYNC__FN dync_status dync__record_branch(dync__tracer *, dync__tensor *fake, bool as_bool,
                                         int64_t *outcome);
DYNC__FN dync_status dync__record_outcome(dync__tracer *, dync__tensor *fake, bool as_bool,
                                          int64_t outcome);
DYNC__FN dync_status dync__trace_break(dync__tracer *, const char *reason,
                                       const char *fullgraph_text);
DYNC__FN dync_status dync__trace_branch(dync__tracer *, dync__tensor *fake, bool as_bool,
                                        int64_t *outcome);
DYNC__FN void dync__tracer_publish_env(dync__tracer *t);
/* handler.c */
DYNC__FN dync_status dync__tracer_call(dync__handler *, dync__opcall *);
DYNC__FN dync_status dync__tracer_leaf_written(const dync__opcall *);
DYNC__FN dync_status dync__tracer_enter(dync__tracer *, dync__opcall *);
DYNC__FN dync_status dync__tracer_answer(dync__tracer *, dync__opcall *);
DYNC__FN void dync__tracer_guard_more(dync__tracer *, bool *kind);
/* step.c */
DYNC__FN void dync__taped_open(dync__tracer *);
DYNC__FN void dync__taped_close(dync__tracer *);
/* the recorded tensor that an alias of the tape stands for */
DYNC__FN dync__tensor *dync__taped_value(dync__tracer *, dync__tensor *);
DYNC__FN bool dync__taped_backward(dync__tracer *, dync_value outputs, dync_value grads,
                                   dync_grad_options, dync_status *status);
DYNC__FN dync_value dync__taped_gradients(dync__tracer *, dync_value outputs, dync_value inputs,
                                          dync_value grads, dync_grad_options);
DYNC__FN bool dync__taped_apply(dync__tracer *, const dync_autograd_function *, int nargs,
                                const dync_value *args, dync_value *result);
DYNC__FN dync_status dync__taped_finish(dync__tracer *, const dync_value *result);
/* result.c */
/* the functions of the recording way, by their doors */
DYNC__FN const dync__way *dync__recording_way(void);
DYNC__FN dync__tensor *dync__record_found(const dync__tracer *, dync__tensor *now);
DYNC__FN int dync__record_place(dync__tracer *, const dync__tensor *fake);
DYNC__FN dync_status dync__record_finish(dync__tracer *, dync_value, dync__outval *);
DYNC__FN void dync__record_own(dync__tracer *);
DYNC__FN dync_status dync__result_tree(dync__tracer *, const dync_value *, dync__outval *);
/* replay_cut.c */
DYNC__FN bool dync__replay_begin(dync__tracer *); /* true: the call follows a script */
/* path.c */
DYNC__FN void dync__path_begin(dync__tracer *,
                               const dync__path *); /* path.c: it goes that way first */
/* reads.c */
DYNC__FN const dync__read_intercept *dync__capture_reads(void);
/* after a cut: with real tensors */
DYNC__FN dync_value dync__real_value(dync__tracer *, dync_value);
DYNC__FN dync_tensor *dync__opaque_read(dync__tracer *t, const dync_tensor *h, const char *reason,
                                        const char *fullgraph_text);
/* allowed.c */
DYNC__FN dync_status dync__allowed_run(dync__node *, int nargs, dync__arg *args,
                                       dync__tensor **out);
DYNC__FN bool dync__allowed_fits(const dync_value *v, int n);
DYNC__FN dync_value dync__frame_allowed(dync__tracer *t, const dync_callee *c, const char *name,
                                        int nargs, const dync_value *args);
/* frame.c */
DYNC__FN dync_value dync__frame_body(dync__tracer *, const dync_callee *, const char *name,
                                     int nargs, const dync_value *args);
/* grads.c */
DYNC__FN const dync__grad_intercept *dync__capture_grads(void);
/* call.c */
DYNC__FN dync_status dync__tracer_open(dync__tracer *, dync__compiled *, dync__cache_entry *,
                                       const dync__callargs *, const dync__path *path_or_null);
DYNC__FN void dync__tracer_close(dync__tracer *);
/* fakes in place of the call's tensors */
DYNC__FN dync_status dync__trace_arguments(dync__tracer *, dync_value *out);
#endif
