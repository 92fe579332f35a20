/* ---- explain, counters, logs ---------------------------------------------------------- */
typedef struct dync_explain_output {
    int graph_count, graph_break_count, op_count, nbreaks, nguards;
    const struct { const char *reason, *stack /* "file:line in fn" lines, outermost first */; } *breaks;
    const char *const *guards;
} dync_explain_output;
#define dync_explain(fn, ...) dync_explain_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
dync_explain_output dync_explain_values(dync_callee, const char *name, int nargs, const dync_value *args);
char               *dync_explain_str(const dync_explain_output *);
dync_status         dync_explain_html(const dync_explain_output *, const char *path);
typedef struct { int64_t frames, ops, graphs, graph_breaks, recompiles, cache_hits, cache_misses, autograd_captures, autograd_compiles; } dync_counters;
dync_counters       dync_get_counters(void);
void                dync_set_log(const char *what);   /* as DYNC_LOG: "graph,guards,recompiles,aot,ir,code,perf" */

dync_status         dync_config_set(const char *key, const char *value);  /* "repro_after", "repro_level", "debug_dir", ... */
void                dync_profile_start(void), dync_profile_stop(void);
dync_status         dync_profile_save(const char *path);                 /* Chrome trace; events through dync_profile_event */
typedef struct { const char *name; int64_t seq_nr, thread, fwd_thread, start_ns, time_ns; } dync_profile_event_info;
bool                dync_profile_event(int i, dync_profile_event_info *out);
typedef struct { int64_t live_bytes, peak_bytes, live_tensors, mallocs; } dync_memory;
dync_memory         dync_memory_stats(void);
