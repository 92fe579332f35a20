/* ---- explain, counters, logs ----------------------------------------------------------------- */

/* A graph break: why, and "file:line in fn" lines, outermost first. */
typedef struct dync_explain_break {
    const char *reason, *stack;
} dync_explain_break;

/* What happened to one function: how many graphs, where it broke and why, what is guarded. Owned by
 * the scope. */
typedef struct dync_explain_output {
    int graph_count, graph_break_count, op_count, nbreaks, nguards;
    const dync_explain_break *breaks;
    const char *const *guards;
    /* graph_count texts: the operators of each graph, one a line */
    const char *const *ops;
    const char *const *graphs; /* graph_count texts: each graph as C */
    dync_real compile_ms;
    /* graph_count texts: what training saves of each graph for backward; "" where nothing is
     * differentiated */
    const char *const *memory;
    int nrecompiles;
    /* explaining a compiled function: why each of its entries was made, the oldest first */
    const char *const *recompiles;
    /* dync_explain_backend, and dync_explain of a function compiled by onnxrt or tvm: graph_count
     * texts: what the backend said of each graph, such as which operators it left to dync; "" for
     * nothing. NULL: it was not asked */
    const char *const *notes;
} dync_explain_output;

/* dync_explain(fn, x, y): compiles and runs fn once on these arguments and tells what was captured.
 *   ->      zeros on failure
 *   notes   a compiled function, dync_fnc(f), is explained anew: its entries are not touched. Of
 *           the backends onnxrt and tvm it has each graph compiled, to ask what they leave to dync
 *   thread  any */
#define dync_explain(fn, ...) \
    DYNC__TELLS(              \
        dync_explain_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__)))
DYNC_API dync_explain_output dync_explain_values(dync_callee callee, const char *name, int nargs,
                                                 const dync_value *args);

/* dync_explain_str: the same as text: Graph Count, Graph Break Count, Op Count, Break Reasons.
 *   ->      owned by the scope
 * dync_explain_html: as a page that needs nothing else: the graphs drawn, breaks with their source
 * lines where the files can be read, guards, and why a compiled function was compiled again.
 *   errors  DYNC_ERR_VALUE (NULL), DYNC_ERR_IO, DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API char *dync_explain_str(const dync_explain_output *output);
DYNC_API dync_status dync_explain_html(const dync_explain_output *output, const char *path);

/* dync_get_counters: process-wide, since the start.
 *   thread  any */
typedef struct {
    int64_t frames, ops, graphs, graph_breaks, recompiles, cache_hits, cache_misses,
        autograd_captures, autograd_compiles, lint_warnings;
} dync_counters;
DYNC_API dync_counters dync_get_counters(void);

/* Why no entry served a call: each miss is counted once, for the entry that
 * came closest to serving the call. */
typedef struct dync_misses {
    int64_t first;         /* there was none yet */
    int64_t arguments;     /* their number, kind or text */
    int64_t numbers;       /* a number, of an argument or a cell, by value */
    int64_t types;         /* dtype, device or rank of a tensor */
    int64_t sizes;         /* sizes of tensors, or what was asked about them */
    int64_t layouts;       /* strides, storage offset */
    int64_t requires_grad; /* of an argument */
    int64_t aliases;       /* which arguments are one tensor, or share memory */
    int64_t settings;      /* grad mode, default dtype, threads */
    int64_t outside;       /* a tensor or variable that is no argument */
    int64_t modules;       /* a module was changed */
    int64_t branches;      /* a branch on data went a way that no call went before */
    int64_t gone;          /* something that was captured has been freed */
    int64_t limit;         /* .recompile_limit is reached: nobody asks any more */
} dync_misses;

/* What happened to a compiled function since it was made or dync_reset. */
typedef struct dync_compiled_information {
    int entries;    /* that may serve calls */
    int graphs;     /* that a backend compiled for it */
    int64_t hits;   /* calls that an entry served */
    int64_t misses; /* all of by */
    int64_t eager; /* calls that ran as written: over the limit, by dync_set_stance, or as graphs of
                      one operator each gain nothing */
    dync_misses by;
    int64_t code_bytes;   /* machine code of its loops, forward and backward */
    int64_t arena_bytes;  /* temporaries of the graph that has most */
    dync_real capture_ms; /* tracing, without what follows and without running */
    dync_real compile_ms; /* backends, at the first call of a graph */
} dync_compiled_information;

/* dync_compiled_info: counts, bytes and times of one compiled function.
 *   ->       zeros on failure
 *   errors   DYNC_ERR_VALUE (NULL, freed)
 *   notes    code and arenas are known of inductor's graphs; loops of one structure share code,
 *            which each counts. Where 16 calls missed and no more hit, a warning says so once, with
 *            the last reason and what to do
 *   thread   any */
DYNC_API dync_compiled_information dync_compiled_info(const dync_compiled *f);
#if DYNC__LINKS_BY_USE
#define dync_compiled_info(f) DYNC__TELLS(dync_compiled_info(f))
#endif

/* dync_set_anomaly: anomaly mode: the first operator that makes a NaN of values without one, or an
 * infinity of finite ones, is DYNC_ERR_RUNTIME, which names it and the user's line; in backward
 * also the node and the line of the operator that it belongs to. Process-wide, off at first.
 *   notes   compiled functions run as they are written meanwhile, operator by operator, and nothing
 *           is compiled anew; what was differentiated through compiled code before is not looked
 *           into. Each operator's operands and results are read: for finding faults. Tensors of
 *           other devices are not looked into. An infinity that is passed in (a mask's) is none
 *           that an operator makes
 *   thread  any */
DYNC_API void dync_set_anomaly(bool on);

/* dync_set_log: prints stages to stderr, as DYNC_LOG in the environment does.
 *   what    "graph,guards,recompiles,aot,ir,passes,code,perf", and in detail trace, joint, forward,
 *           backward, loops, fused, tiled, memory, asm; NULL or "": nothing
 *   notes   an unknown name is reported once, with those that exist
 *   thread  any */
DYNC_API void dync_set_log(const char *what);

/* dync_config_set: "activation_memory_budget" (0 to 1: how much of what training saves for backward
 * may be kept), "check_ir" (is what each pass of the compiler leaves behind checked? a fault is an
 * error of the call that compiles, DYNC_ERR_INTERNAL), "disable" (passes left out of what is
 * compiled from now on: "fuse,cse"; "": none), "lint", "log", "threads", "verify"; of the minifier
 * "repro_after", "repro_level", "repro_tolerance", "repro_forward_only", "repro_ignore_non_fp",
 * "same_two_models_use_fp64", "repro_cosine", "repro_isolate", "repro_timeout" (seconds),
 * "debug_dir".
 *   errors  DYNC_ERR_VALUE, naming the keys that exist; disable: the passes
 *   thread  any */
DYNC_API dync_status dync_config_set(const char *key, const char *value);

/* ---- minifier: a graph that fails, shrunk to the few operators that fail
 * With "repro_after" set ("dynamo": what was captured; "aot": what AOT autograd made of it; by
 * dync_config_set, DYNC_REPRO_AFTER or the compile option) a backend that fails leaves
 * <debug_dir>/run_DATE-pid_PID/minifier/minifier_launcher.c, a program that needs only dync.h: run
 * it with `minify` and repro.c is the smallest graph that fails the same way. docs/minifier.md
 * takes a case from symptom to repro. "repro_level": 1 writes the graph as it is, 2 a launcher (the
 * default), 3 a launcher always, 4 a launcher where results are wrong. */

/* Does this graph on these inputs still show what is looked for? An error that it records counts as
 * "no" unless it returns true. */
typedef bool (*dync_minify_predicate)(dync_graph *graph, const dync_value *inputs, int n,
                                      void *user);
typedef struct dync_minified {
    dync_graph *graph;
    dync_value inputs;
    int queries;
} dync_minified;

/* dync_minify(graph, dync_tuple(x, y), fails, user): the smallest graph found for which the
 * predicate is true, by delta debugging.
 *   inputs  one value per placeholder: a list, or a single tensor
 *   ->      graph and its inputs (a list), owned by the scope; queries: how often the predicate was
 *           asked. graph is NULL on failure
 *   errors  DYNC_ERR_VALUE "Input graph did not fail the tester", or the error that the predicate
 *           recorded there; DYNC_ERR_MEMORY
 *   notes   reports its steps on stderr. The predicate runs in this process: dync_fails and
 *           dync_fails_accuracy use a child of their own.
 *   source  torch/_functorch/fx_minifier.py
 *   thread  not while running */
DYNC_API dync_minified dync_minify(dync_graph *graph, dync_value inputs,
                                   dync_minify_predicate fails, void *user);

/* Predicates; user is the name of a backend. dync_fails: eager runs the graph, the backend does
 * not: it raises, crashes or hangs (in a child process where there is fork). dync_fails_accuracy:
 * its results or gradients are wrong, as judged by a float64 run.
 *   thread  not while running */
DYNC_API bool dync_fails(dync_graph *graph, const dync_value *inputs, int n, void *backend);
DYNC_API bool dync_fails_accuracy(dync_graph *graph, const dync_value *inputs, int n,
                                  void *backend);

/* dync_repro_save: the graph with its inputs as a C program that needs only dync.h; inputs of more
 * than 64 elements go to a folder "storages" beside it.
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_IO, DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_status dync_repro_save(dync_graph *graph, dync_value inputs, const char *backend,
                                     bool accuracy, const char *path);

/* What such a program is made of. dync_run_repro understands `run`, `minify`, --accuracy,
 * --no-accuracy, --save-dir DIR, --no-save-dir, --isolate, --no-isolate, --autocast, --backend
 * NAME, --only-fwd and returns the exit status: 0; 1 where the failure is reproduced or minifying
 * failed; 2 for arguments that it does not know.
 *   thread  any */
typedef struct dync_repro_reader dync_repro_reader;
typedef struct dync_repro_buffer {
    size_t nbytes DYNC__ZERO;
    const char *hash DYNC__ZERO; /* file in save_dir/storages */
    const void *data DYNC__ZERO; /* or the bytes themselves */
    dync_device device DYNC__ZERO;
    dync_dtype dtype_hint DYNC__ZERO; /* of random data, where the file is missing */
} dync_repro_buffer;
typedef struct dync_repro_input {
    dync_dims shape DYNC__ZERO, stride DYNC__ZERO; /* stride: row major where not given */
    dync_dtype dtype DYNC__ZERO;
    int64_t storage_offset DYNC__ZERO;
    bool requires_grad DYNC__ZERO, is_leaf DYNC__ZERO;
} dync_repro_input;
#define dync_repro_storage(reader, ...) \
    dync_repro_storage_opt(reader, DYNC_LITERAL(dync_repro_buffer){.nbytes = __VA_ARGS__})
#define dync_repro_tensor(reader, storage, ...) \
    dync_repro_tensor_opt(reader, storage, DYNC_LITERAL(dync_repro_input){.shape = __VA_ARGS__})
DYNC_API int dync_repro_storage_opt(dync_repro_reader *reader, dync_repro_buffer buffer);
DYNC_API void dync_repro_tensor_opt(dync_repro_reader *reader, int storage, dync_repro_input input);
DYNC_API void dync_repro_number(dync_repro_reader *reader, dync_value number);
typedef struct dync_repro {
    dync_function mod DYNC__ZERO;
    void (*load_args)(dync_repro_reader *reader) DYNC__ZERO;
    int load_args_version DYNC__ZERO;
    const char *names DYNC__ZERO; /* of the inputs: "x, y" */
    bool accuracy DYNC__ZERO;
    const char *command DYNC__ZERO; /* where the command line names none; default "run" */
    const char *save_dir DYNC__ZERO;
    bool autocast DYNC__ZERO, only_fwd DYNC__ZERO, no_grad DYNC__ZERO;
    const char *backend DYNC__ZERO, *options DYNC__ZERO;
} dync_repro;
DYNC_API int dync_run_repro(int argc, char **argv, dync_repro repro);

/* dync_profile_start, dync_profile_stop: what runs in between, in all threads, is recorded:
 * operators ("aten::add"), nodes of backward ("AddBackward0"), calls of compiled functions.
 * Starting forgets the record before.
 *   notes   off it costs next to nothing; what is only traced is not recorded
 *   thread  any */
DYNC_API void dync_profile_start(void);
DYNC_API void dync_profile_stop(void);

/* dync_profile_event: event i since the start, in the order in which they began.
 *   seq_nr      an operator: of the autograd node that it made; a backward node: its own, that of
 *               its operator; -1: none
 *   thread      a small number; fwd_thread: the thread that made a backward node, -1 for others
 *   start_ns    since dync_profile_start; time_ns: how long
 *   shapes      sizes of an operator's arguments, "[[2, 3], []]"; "" for others. Texts stay until
 *               the next start
 *   ->          false past the last
 *   thread      any */
typedef struct {
    const char *name;
    int64_t seq_nr, thread, fwd_thread, start_ns, time_ns;
    const char *shapes;
} dync_profile_event_info;
DYNC_API bool dync_profile_event(int i, dync_profile_event_info *out);

/* dync_profile_save: the record as a Chrome trace, which Perfetto opens. dync_profile_table: as a
 * table by name, the longest first.
 *   ->      dync_profile_table: owned by the scope; NULL on failure
 *   errors  DYNC_ERR_VALUE (no path), DYNC_ERR_IO, DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_status dync_profile_save(const char *path);
DYNC_API char *dync_profile_table(void);

/* dync_memory_stats: bytes that dync holds now and held at most, tensors alive, and calls that
 * reached DYNC_MALLOC or the buffer.
 *   thread  any */
typedef struct {
    int64_t live_bytes, peak_bytes, live_tensors, mallocs;
} dync_memory;
DYNC_API dync_memory dync_memory_stats(void);
