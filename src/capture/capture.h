/* capture/capture.h: from a C function to compiled segments behind guards. After graph/, before
 * aot/.
 *
 * A call flattens its arguments, looks for an entry whose guards hold and runs the entry's tree; a
 * miss traces the function with fake tensors. The trace is cut into segments at breaks; each
 * segment is a graph that a backend compiled.
 *
 *   entry ── root tnode ── segments ... ── RETURN value
 *                        └ segments ... ── BRANCH on env value ── outcome 0: tnode ...
 *                                                              └─ outcome 1: tnode ...
 *
 * The environment of one call is an array of real tensors: arguments, foreign tensors, segment
 * outputs. An entry with an opaque break is open: its C function runs every call, is traced anew
 * and finds its segments interned. */
#ifndef DYNC__CAPTURE_H
#define DYNC__CAPTURE_H
#include "../graph/graph.h"
#include "segment.h"

/* ---- what happened to a compiled function ---------------------------------------------------- */
/* Why no entry served a call, in the order in which guards are checked: fields of dync_misses. */
#define DYNC__MISSES(X) \
    X(first)            \
    X(gone)             \
    X(arguments)        \
    X(numbers)          \
    X(settings)         \
    X(types)            \
    X(requires_grad)    \
    X(sizes)            \
    X(layouts)          \
    X(aliases)          \
    X(outside)          \
    X(modules)          \
    X(branches)         \
    X(limit)
typedef enum {
#define DYNC__X(name) DYNC__MISS_##name,
    DYNC__MISSES(DYNC__X)
#undef DYNC__X
        DYNC__N_MISSES
} dync__miss_kind;
typedef struct dync__guard_failure {
    dync__miss_kind kind;
    const char *remedy; /* what keeps it from failing again */
} dync__guard_failure;
/* hits: of the thread that made the function, of the others. stretch_*: at the last time that
 * misses were rare (dync__history_stretch). */
typedef struct dync__history {
    int64_t hits, other_hits, misses, by[DYNC__N_MISSES], eager;
    int64_t stretch_hits, stretch_misses;
    uint64_t trace_ns, compile_ns, run_ns; /* run: of segments inside traces */
    bool told;
} dync__history;

/* ---- a compiled function --------------------------------------------------------------------- */
struct dync__compiled {
    dync__object object; /* its handle */
    dync_callee callee;  /* strings owned */
    char *name, *args, *symbolic, *options_text, *backend_name;
    dync_backend backend;
    dync_compile_options opt;
    uint64_t id;
    dync__mutex lock; /* insertion only */
    /* newest first; grave: dead ones, freed when no call is in flight */
    dync__cache_entry *entries, *grave;
    dync__cache_entry *last_hit;
    int n_entries;
    const void *owner; /* the thread that made it */
    int depth;         /* its calls in flight */
    int32_t shared;    /* another thread called it */
    dync__segment *segments;
    DYNC__VEC(dync__seen) seen; /* under the lock */
    int n_frames;               /* backend compiles */
    bool undone;                /* what it writes is taken back: the capture of an exported step */
    bool gave_up, warned;       /* recompile limit reached: runs eagerly */
    dync__history history;
    const char *file; /* where the first operator stands that a trace met */
    int32_t line;
    dync__compiled *next; /* process-wide list, for dync_reset */
};

/* Where it stands, for messages: its first operator that a trace met, before that where it was
 * compiled. */
DYNC__INLINE dync_loc dync__compiled_place(const dync__compiled *f)
{
    dync_loc at = {DYNC__ATOMIC_LOAD(&f->file), DYNC__ATOMIC_LOAD(&f->line), NULL};
    if (!at.file) at = f->opt.at_;
    static const char unknown[] = "an unknown file";
    if (!at.file) at = (dync_loc){unknown, 0, NULL};
    return at;
}

/* frame.c */
DYNC__FN void dync__constants_free(dync__cache_entry *);
/* effects_run.c: what is for gradients alone (base/limits.h) */
typedef struct dync__capture_gradients {
    const dync__grad_intercept *intercept;
    dync_status (*effect)(const dync__effect *, dync__tensor *const *env);
    dync_status (*backward)(const dync__effect *, int n, dync__tensor *const *env);
    dync_status (*write)(dync__tensor *self, bool viewed); /* may it be written in place? */
    dync_status (*quiet_write)(void); /* the error of a view that was made without grad mode */
    bool (*quiet)(const dync__tensor *self); /* is it one of what requires a gradient? */
} dync__capture_gradients;
/* recursion: in grads.c, which records effects */
DYNC__DATA_DECL const dync__grad_intercept dync__trace_grads;
DYNC__DATA_DECL const dync__capture_gradients *dync__capture_gradients_used;
DYNC__FN void dync__capture_use_gradients(void);
/* grads.c: what of it is there by need */
DYNC__FN void dync__capture_use_hooks(void);
DYNC__FN void dync__capture_use_asks(void);
DYNC__FN void dync__capture_use_late(void);
DYNC__FN void dync__capture_use_flags(void);
DYNC__FN void dync__effects_use_rare(void); /* effects_run.c */
DYNC__FN void dync__capture_use_cells(void);
DYNC__FN void dync__capture_use_constants(void); /* reads.c */
DYNC__FN void dync__capture_use_shows(void);
DYNC__FN void dync__capture_use_makes(void);
DYNC__FN void dync__capture_use_reasons(void); /* miss.c */
DYNC__FN void dync__capture_use_numbers(void); /* symbol.c */
DYNC__FN dync_status dync__effects_run(const dync__effect *, int n, dync__tensor *const *env);

/* Tensor arguments; a graph has more inputs where modules are deep. */
#if defined(DYNC_SMALL)
enum { DYNC__MAX_LEAVES = 64 };
#else
enum { DYNC__MAX_LEAVES = 512 };
#endif
/* One call in flight. */
typedef struct dync__callargs {
    int nargs;
    const dync_value *args;
    int n_tensors;
    dync__tensor *tensor[DYNC__MAX_LEAVES]; /* flattened, borrowed */
} dync__callargs;

/* Room for n items of a call: few, an array of cap items, where they fit; else memory, NULL + error
 * where there is none. */
enum { DYNC__FEW = 32 };
DYNC__INLINE void *dync__room(void *few, int cap, int n, size_t item)
{
    return n <= cap ? few : dync__alloc((size_t)n * item);
}
DYNC__INLINE void dync__room_end(void *room, const void *few, int n, size_t item)
{
    if (room && room != few) dync__free(room, (size_t)n * item);
}

/* Hook of minify/: has f's backend compile g. NULL: nobody looks on. */
DYNC__DATA_DECL dync_status (*dync__backend_compile_hook)(const dync__compiled *f, dync__graph *g,
                                                          const dync_value *examples, int n,
                                                          dync_callable *out);

/* value.c */
enum { DYNC__CALLEE_DISABLED = 1, DYNC__CALLEE_ALLOWED = 2, DYNC__CALLEE_CONSTANT = 4 };
DYNC__FN int dync__callee_arity(const dync_callee *); /* -1: any */
DYNC__FN bool dync__callee_valid(const dync_callee *);
/* the same, and says what is wrong */
DYNC__FN dync_status dync__callee_check(const dync_callee *, const char *who);
DYNC__FN const char *dync__callee_text(const dync_callee *); /* "a module", for messages */
/* NULL where it is none, or is gone */
DYNC__FN dync__module *dync__callee_module(const dync_callee *);
DYNC__FN dync__compiled *dync__callee_compiled(const dync_callee *);
/* program/ is above */
DYNC__DATA_DECL dync_value (*dync__program_run_hook)(dync__program *, int nargs,
                                                     const dync_value *args);
/* v with what fn gives in place of each tensor, in preorder (NULL: none); lists are made anew, in
 * the scope. */
typedef dync_tensor *(*dync__tensor_map)(void *user, dync_tensor *);
DYNC__FN dync_value dync__value_map(dync_value v, dync__tensor_map fn, void *user);
DYNC__FN bool dync__too_many(const char *what, int nargs);
DYNC__FN dync_status dync__callargs_flatten(dync__callargs *, int nargs, const dync_value *args);
/* i-th of "x, y" or "arg<i>" */
DYNC__FN const char *dync__arg_name(dync__arena *, const char *names, int i);
/* guard.c */
struct dync__alias_table;
DYNC__FN const dync__guard_item *dync__items_differ(const dync__guard_item **item,
                                                    const dync_value *v, int n,
                                                    const dync_value **bad);
DYNC__FN const dync__tensor *dync__foreign_now(const dync__cache_entry *e, const dync__callargs *c,
                                               const dync__foreign *f);
DYNC__FN dync_status dync__guards_make(dync__cache_entry *, const dync__compiled *,
                                       const dync__callargs *);
/* A call where the tensor at env, the foreign one of that index or -1, is no leaf where it was
 * one, or the other way round, is compiled for itself. */
DYNC__FN void dync__guard_leaf(dync__cache_entry *, int env, int foreign, bool leaf);
/* A tensor from elsewhere that the trace met; t is what f stands for. */
DYNC__FN void dync__foreign_aliases(const dync__cache_entry *, const dync__callargs *,
                                    dync__foreign *f, const dync__tensor *t);
DYNC__FN bool dync__guards_hold(const dync__cache_entry *, const dync__callargs *);
/* the first failing check */
DYNC__FN dync__guard_failure dync__guards_reason(const dync__compiled *, const dync__cache_entry *,
                                                 const dync__callargs *, dync__str *out);
/* one per line */
DYNC__FN void dync__guards_print(const dync__cache_entry *, dync__str *out);
DYNC__FN dync_status dync__tensor_guard_make(dync__arena *, dync__tensor_guard *,
                                             const dync__tensor *, const char *source);
DYNC__FN bool dync__tensor_guard_holds(const dync__tensor_guard *, const dync__tensor *);
/* number.c */
/* may a number there be one of run time? */
DYNC__FN bool dync__number_place(int op, int arg);
/* in .symbolic */
DYNC__FN bool dync__number_named(const dync__compiled *, int arg);
/* a number as it stands in the environment; owned */
DYNC__FN dync__tensor *dync__number_tensor(dync_value);
DYNC__FN dync_value dync__number_value(const dync__tensor *);
DYNC__FN void dync__cells_use(void);
DYNC__FN bool dync__cells_hold(const dync__cache_entry *);
DYNC__FN dync_status dync__cells_enter(const dync__cache_entry *, const dync__tnode *,
                                       dync__tensor **env);
DYNC__FN bool dync__number_apply(int op, dync_value a, dync_value b,
                                 dync_value (*compute)(int op, dync_value, dync_value),
                                 dync_value *result);
/* shape_guard.c, sizes.c */
DYNC__FN dync_status dync__shapes_choose(dync__compiled *, dync__cache_entry *,
                                         const dync__callargs *);
DYNC__FN bool dync__shapes_hold(const dync__cache_entry *, const dync__callargs *);
/* NULL: all; else the first that fails: true */
DYNC__FN bool dync__shapes_text(const dync__cache_entry *, const dync__callargs *call_or_null,
                                dync__str *out);
/* of a symbol that a line of the user's has made another number than this call's; or NULL */
DYNC__FN const char *dync__shapes_remedy(const dync__cache_entry *, const dync__callargs *);
DYNC__FN void dync__shapes_free(dync__cache_entry *);
/* what the user said of sizes holds of another handle too; false: no memory */
DYNC__FN bool dync__marks_copy(dync__tensor *to, const dync__tensor *from);
DYNC__FN void dync__shapes_give_up(dync__cache_entry *, const dync__callargs *);
/* quick.c: small programs have the long way alone */
enum { DYNC__QUICK_CALLS = DYNC__SMALLER(0, 1) };
/* if the entry is of the kind; else nothing */
DYNC__FN void dync__quick_make(dync__cache_entry *);
/* False: refused, nothing happened. True: the call was made; *result none where it failed. into:
 * where the caller wants the result, or NULL. */
DYNC__FN bool dync__quick_call(const dync__cache_entry *, int nargs, const dync_value *args,
                               const dync_value *into, dync_value *result);
DYNC__FN bool dync__memory_meets(const dync__tensor *, const dync__tensor *);

/* ---- traced calls ---------------------------------------------------------------------------- */
typedef struct dync__break_record {
    const char *reason, *stack;
} dync__break_record;
/* What an explaining call collects: graphs in order and breaks. One per thread while open. It
 * brings along what adds to it, which a program that explains nothing does not link. */
typedef struct dync__capture_log {
    void (*entry)(struct dync__capture_log *, const dync__cache_entry *);
    void (*segment)(struct dync__capture_log *, dync__graph *, uint64_t ns);
    void (*cut)(struct dync__capture_log *, const char *reason, const char *stack);
    DYNC__VEC(dync__graph *) graphs;
    DYNC__VEC(dync__break_record) breaks;
    DYNC__VEC(const char *) guards;
    dync__arena arena;
    uint64_t compile_ns;
    DYNC__VEC(const char *) memory, notes; /* of each graph that explain compiled */
} dync__capture_log;

/* call.c: a traced call; see trace.h for the tracer */
typedef struct dync__path_step {
    dync__tnode *node;
    int64_t outcome;
} dync__path_step;
/* path.c: calls that come to breaks and branches are followed, not traced again, from here on */
DYNC__FN void dync__scripts_install(void);
DYNC__FN void dync__breaks_install(void); /* break.c: breaks and branches themselves */
DYNC__FN void dync__paths_narrow(void);   /* result.c: what ways that are known need not compute */
DYNC__FN void dync__tree_branches(void);  /* tree.c: running them */
DYNC__FN void dync__tree_targets(void);   /* results where the caller wants them */
/* The way of a run through the tree, with what it computed: the script of a trace that goes on from
 * its end. */
typedef struct dync__path {
    const dync__path_step *step;
    int n, at, seg;       /* at: the step whose segment seg comes next */
    dync__tensor **found; /* by place */
    int n_found;
} dync__path;
/* the plain C call */
DYNC__FN dync_value dync__callee_invoke(const dync_callee *, int nargs, const dync_value *args);
/* Traces and runs one call: fills a fresh entry, or extends one whose tree ended at an unknown
 * outcome: path holds the outcomes met by the run so far, env (n_env) the tensors it computed. */
DYNC__FN dync_status dync__trace_call(dync__compiled *, dync__cache_entry *, const dync__callargs *,
                                      const dync__path *path_or_null, dync_value *result);
/* real values, in the scope */
DYNC__FN dync_value dync__outval_build(const dync__outval *, dync__tensor *const *env);
/* intercepts; idempotent */
DYNC__FN void dync__capture_install(void);

/* verify.c: begin runs the reference and gives NULL where there is nothing to compare; end takes it
 * over and gives the status of the call */
typedef struct dync__verify dync__verify;
DYNC__FN bool dync__verify_on(void);
DYNC__FN bool dync__verify_inside(void);
/* in the reference run */
DYNC__FN const dync__grad_intercept *dync__verify_intercept(void);
/* linked by those who can turn it on: NULL, and it is off */
typedef struct dync__verify_calls {
    dync__verify *(*begin)(const dync__compiled *, const dync__cache_entry *,
                           const dync__callargs *);
    dync_status (*end)(dync__verify *, dync_status, dync_value *result);
    dync__verify *(*segment_begin)(const dync__compiled *, const dync__segment *,
                                   dync__tensor *const *in);
    dync_status (*segment_end)(dync__verify *, dync_status, dync__tensor **out, int n_out);
} dync__verify_calls;
DYNC__DATA_DECL const dync__verify_calls *dync__verify_used;
/* lint.c, lint_trace.c: NULL where the environment cannot ask for lint and dync_set_lint was not
 * called, which links it. */
typedef struct dync__lint dync__lint;
struct dync__tracer;
typedef struct dync__lint_calls {
    /* around the first trace of a function; begin gives NULL while lint is off */
    dync__lint *(*begin)(const dync__cache_entry *);
    void (*end)(dync__lint *taken, dync__compiled *, dync__cache_entry *, const dync__callargs *,
                dync_status);
    dync__lint *(*resume)(dync__cache_entry *);
    void (*resumed)(dync__lint *);
    void (*watch)(dync__compiled *, dync__cache_entry *, const dync__callargs *);
    void (*free)(dync__lint *);
    void (*abandon)(void); /* its rows are of a trace that is no more */
    /* what a trace reports; nothing happens while there is no lint */
    void (*op)(const struct dync__tracer *, const dync__opcall *);
    void (*constant)(const struct dync__tracer *, const dync__tensor *real,
                     const dync__tensor *fake);
    void (*branch)(const struct dync__tracer *, int64_t outcome);
    /* true: in the second trace, the outcome to take */
    bool (*answers)(const struct dync__tracer *, int64_t *outcome);
    uint64_t (*salt)(const struct dync__tracer *); /* of a second trace's tokens; else 0 */
    void (*restart)(const struct dync__tracer *);
    void (*result)(const struct dync__tracer *, const dync_value *result);
    /* true: a break in the second trace */
    bool (*stops)(const struct dync__tracer *, const char *reason);
} dync__lint_calls;
DYNC__DATA_DECL const dync__lint_calls *dync__lint_used;
DYNC__INLINE const dync__lint_calls *dync__lints(void)
{
    return DYNC__ATOMIC_PEEK(&dync__lint_used);
}

/* Hooks: of aot/: a line about what forward of this graph saves for backward; of backend/: what the
 * backend says of it, false: none that says anything; of compile/: forgets captured backwards. */
DYNC__DATA_DECL void (*dync__explain_memory)(dync__graph *, const dync_value *examples,
                                             dync__str *out);
DYNC__DATA_DECL bool (*dync__explain_notes)(const dync_backend *, const char *options, dync_graph *,
                                            const dync_value *examples, int n, dync__str *out);
DYNC__DATA_DECL void (*dync__reset_backwards)(void);
/* compiled.c, explain.c, callback.c */
DYNC__FN const char *dync__stack_line_parts(const char *line, size_t n, const char **in);
DYNC__FN void dync__compiled_free(dync__compiled *); /* NULL allowed */
DYNC__FN dync__compiled *dync__compiled_new(dync_callee, const char *name,
                                            const dync_compile_options *, const dync_backend *);
DYNC__FN void dync__capture_forget_module(const dync__module *);
DYNC__FN void dync__compiled_free_all(void); /* shutdown */
DYNC__FN void dync__callbacks_start(void);
DYNC__FN void dync__callbacks_end(void);
DYNC__FN void dync__callbacks_clear(void);
DYNC__DATA_DECL DYNC__TLS dync__capture_log *dync__capture_log_now;
/* named after "L['x']": l_x_, for L_x_ */
DYNC__FN dync__node *dync__graph_input_of(dync__graph *, const char *source,
                                          const dync__info *info_or_null);
/* stance.c */
#define DYNC__STANCES(X) X(default) X(force_eager) X(eager_on_recompile) X(fail_on_recompile)
typedef enum {
#define DYNC__X(name) DYNC__STANCE_##name,
    DYNC__STANCES(DYNC__X)
#undef DYNC__X
        DYNC__N_STANCES
} dync__stance_kind;
DYNC__DATA_DECL int32_t dync__stance_now;
DYNC__INLINE int32_t dync__stance(void) { return DYNC__ATOMIC_PEEK(&dync__stance_now); }
DYNC__INLINE bool dync__runs_as_written(void)
{
    return DYNC__UNLIKELY(dync__stance() == DYNC__STANCE_force_eager) || dync__anomaly_on();
}
DYNC__DATA_DECL dync_status (*DYNC__BY_NEED dync__stance_refuses)(const dync__compiled *,
                                                                  const char *reason);
/* history.c */
DYNC__FN int64_t dync__history_hits(const dync__history *);
DYNC__FN void dync__history_miss(dync__compiled *, dync__miss_kind);
DYNC__FN void dync__history_stretch(dync__compiled *, const char *reason, const char *remedy);
/* tree.c */
DYNC__FN dync_status dync__call_entry(dync__compiled *f, dync__cache_entry *e,
                                      const dync__callargs *call, const dync_value *into,
                                      dync_value *result);
/* miss.c */
DYNC__FN dync_status dync__call_eagerly(dync__compiled *f, int nargs, const dync_value *args,
                                        dync_value *result);
DYNC__FN dync_status dync__call_miss(dync__compiled *f, const dync__callargs *call,
                                     dync_value *result);
/* compiled.c */
DYNC__FN void dync__entry_free(dync__cache_entry *e);
DYNC__FN void dync__compiled_bury(dync__compiled *f);
/* guard.c */
DYNC__FN bool dync__foreign_aliases_hold(const dync__cache_entry *e, const dync__callargs *c, int k,
                                         const dync__tensor *t, struct dync__alias_table *table);
#endif
