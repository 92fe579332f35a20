/* ---- explain, counters, logs --------------------------------------------------------------------------------------------------- */

/* A graph break: why, and "file:line in fn" lines, outermost first. */
typedef struct dync_explain_break { const char *reason, *stack; } dync_explain_break;

/* What happened to one function: how many graphs, where it broke and why, what is guarded. Owned by the scope. */
typedef struct dync_explain_output {
    int graph_count, graph_break_count, op_count, nbreaks, nguards;
    const dync_explain_break *breaks;
    const char *const *guards;
    const char *const *ops;          /* graph_count texts: the operators of each graph, one a line */
    const char *const *graphs;       /* graph_count texts: each graph as C */
    double compile_ms;
    int nrecompiles;
    const char *const *recompiles;   /* explaining a compiled function: why each of its entries was made, the oldest first */
} dync_explain_output;

/* dync_explain(fn, x, y): compiles and runs fn once on these arguments and tells what was captured.
 *   ->      zeros on failure
 *   notes   compiled entries that exist are not touched */
#define dync_explain(fn, ...) dync_explain_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__))
DYNC_API dync_explain_output dync_explain_values(dync_callee callee, const char *name, int nargs, const dync_value *args);

/* dync_explain_str: the same as text: Graph Count, Graph Break Count, Op Count, Break Reasons.
 *   ->      owned by the scope
 * dync_explain_html: as a page that needs nothing else: the graphs drawn, breaks with their source lines where the files can be read, guards,
 * and why a compiled function was compiled again.
 *   errors  DYNC_ERR_VALUE (NULL), DYNC_ERR_IO, DYNC_ERR_MEMORY */
DYNC_API char *dync_explain_str(const dync_explain_output *output);
DYNC_API dync_status dync_explain_html(const dync_explain_output *output, const char *path);

/* dync_get_counters: process-wide, since the start. */
typedef struct { int64_t frames, ops, graphs, graph_breaks, recompiles, cache_hits, cache_misses, autograd_captures, autograd_compiles, lint_warnings; } dync_counters;
DYNC_API dync_counters dync_get_counters(void);

/* dync_set_log: prints stages to stderr, as DYNC_LOG in the environment does.
 *   what    "graph,guards,recompiles,aot,ir,code,perf"; NULL or "": nothing
 *   notes   an unknown name is reported once, with those that exist */
DYNC_API void dync_set_log(const char *what);

/* dync_config_set: "repro_after", "repro_level", "debug_dir", ...
 *   errors  DYNC_ERR_VALUE, naming the keys that exist */
DYNC_API dync_status dync_config_set(const char *key, const char *value);

/* dync_profile_start, dync_profile_stop: what runs in between, in all threads, is recorded: operators ("aten::add"), nodes of backward
 * ("AddBackward0"), calls of compiled functions. Starting forgets the record before.
 *   notes   off it costs next to nothing; what is only traced is not recorded
 *   thread  any */
DYNC_API void dync_profile_start(void);
DYNC_API void dync_profile_stop(void);

/* dync_profile_event: event i since the start, in the order in which they began.
 *   seq_nr      an operator: of the autograd node that it made; a backward node: its own, that of its operator; -1: none
 *   thread      a small number; fwd_thread: the thread that made a backward node, -1 for others
 *   start_ns    since dync_profile_start; time_ns: how long
 *   shapes      sizes of an operator's arguments, "[[2, 3], []]"; "" for others. Texts stay until the next start
 *   ->          false past the last
 *   thread      any */
typedef struct { const char *name; int64_t seq_nr, thread, fwd_thread, start_ns, time_ns; const char *shapes; } dync_profile_event_info;
DYNC_API bool dync_profile_event(int i, dync_profile_event_info *out);

/* dync_profile_save: the record as a Chrome trace, which Perfetto opens. dync_profile_table: as a table by name, the longest first.
 *   ->      dync_profile_table: owned by the scope; NULL on failure
 *   errors  DYNC_ERR_VALUE (no path), DYNC_ERR_IO, DYNC_ERR_MEMORY */
DYNC_API dync_status dync_profile_save(const char *path);
DYNC_API char *dync_profile_table(void);

/* dync_memory_stats: bytes that dync holds now and held at most, tensors alive, and calls that reached DYNC_MALLOC or the buffer. */
typedef struct { int64_t live_bytes, peak_bytes, live_tensors, mallocs; } dync_memory;
DYNC_API dync_memory dync_memory_stats(void);
