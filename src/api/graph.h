/* ---- graphs and backends: a graph handed to compile() lives until the callable it gave has been destroyed ---- */
typedef struct {
    dync_value (*run)(void *state, const dync_value *args, int nargs);
    void (*destroy)(void *state);
    dync_status (*narrow)(void *state, const bool *output_used);  /* optional: the outputs really needed are known now; wrappers forward it */
    void *state;
} dync_callable;
typedef struct dync_backend {
    const char *name, *tags;   /* tags: "debug", "experimental": hidden from dync_list_backends by default */
    dync_status (*compile)(dync_graph *graph, const dync_value *example_inputs, int n, const char *options, dync_callable *out, void *user);
    void *user;
} dync_backend;
dync_status         dync_register_backend(const dync_backend *);
const dync_backend *dync_lookup_backend(const char *name);                  /* NULL and an error naming those that exist */
#define DYNC_EXCLUDE_DEFAULT "debug,experimental"
int                 dync_list_backends(const char *exclude_tags, const char **names, int capacity); /* sorted; NULL excludes nothing; returns how many there are */
dync_status         dync_compile_graph(const char *backend, dync_graph *, const dync_value *example_inputs, int n, dync_callable *out);
dync_backend        dync_aot_autograd(const dync_backend *fw_compiler, const dync_backend *bw_compiler_or_null);
int                 dync_graph_len(const dync_graph *);
dync_node          *dync_graph_node(const dync_graph *, int i);
const char         *dync_node_op(const dync_node *);      /* placeholder | get_attr | call_function | call_method | call_module | output */
const char         *dync_node_target(const dync_node *);  /* "relu" */
const char         *dync_node_name(const dync_node *);
char               *dync_graph_str(const dync_graph *);   /* C that compiles against dync.h, types as comments; owned by the scope */
char               *dync_graph_readable(const dync_graph *); /* torch.fx print_readable text, and Python that PyTorch can run */
#define DYNC_LET(name, expr) dync_tensor *name = dync_named(#name, expr)   /* names the value in printed graphs; expr must not mention name */
#define DYNC_SET(name, expr) (name = dync_named(#name, expr))              /* reassignment: x, x_1, x_2, ... */
dync_tensor        *dync_named(const char *name, dync_tensor *);
dync_value          dync_graph_run(dync_graph *, const dync_value *args, int nargs);  /* the graph interpreted: gm.forward */
#define dync_make_graph(fn, ...) dync_make_graph_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
dync_graph         *dync_graph_retain(dync_graph *);
void                dync_graph_free(dync_graph *);
dync_status         dync_graph_split(dync_graph *, bool (*pick)(const dync_node *, void *user), void *user, dync_graph **parts, int *nparts);
dync_status         dync_aot_export(dync_graph *, const dync_value *inputs, int n, bool joint, dync_graph **out);
char               *dync_graph_seq_table(const dync_graph *);              /* conformance.md A-21 */
dync_backend        dync_explain_backend(const char *inner, struct dync_explain_output *out);
dync_status         dync_op_register(const char *name, const char *schema, dync_function impl, dync_function meta_or_null, void *user);
dync_value          dync_op_call_values(const char *name, int nargs, const dync_value *args);
typedef enum { DYNC_TRACE_REAL, DYNC_TRACE_FAKE, DYNC_TRACE_SYMBOLIC } dync_trace_mode;
void                dync_make_graph_mode(dync_trace_mode);                 /* for this thread's next dync_make_graph */
dync_graph         *dync_make_graph_values(dync_callee, const char *name, int nargs, const dync_value *args); /* make_fx */
