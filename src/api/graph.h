/* ---- graphs and backends: a graph handed to compile() lives until the callable it gave has been
 * destroyed */

/* What a backend makes of a graph.
 *   run       values in the order of the placeholders; returns what the graph returns, owned by the
 *             scope
 *   destroy   may be NULL
 *   narrow    may be NULL: the outputs really needed are known now; wrappers forward it */
typedef struct {
    dync_value (*run)(void *state, const dync_value *args, int nargs);
    void (*destroy)(void *state);
    dync_status (*narrow)(void *state, const bool *output_used);
    void *state;
} dync_callable;

/* A backend: compile() makes a callable of a graph.
 *   tags            "debug", "experimental": hidden from dync_list_backends by default
 *   example_inputs  one value per placeholder, tensors with their real metadata
 *   options         the user's .options, "" where none were given */
typedef struct dync_backend {
    const char *name, *tags;
    dync_status (*compile)(dync_graph *graph, const dync_value *example_inputs, int n,
                           const char *options, dync_callable *out, void *user);
    void *user;
} dync_backend;

/* dync_register_backend: process-wide; the struct and its texts are copied.
 *   errors  DYNC_ERR_VALUE (no name, no compile, the name is taken), DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_status dync_register_backend(const dync_backend *backend);

/* dync_lookup_backend: a backend by its name.
 *   ->      borrowed from the registry; NULL and an error naming those that exist
 *   errors  DYNC_ERR_VALUE
 *   thread  any */
DYNC_API const dync_backend *dync_lookup_backend(const char *name);

/* dync_list_backends: their names, sorted.
 *   exclude_tags   DYNC_EXCLUDE_DEFAULT; NULL excludes nothing
 *   names          borrowed texts, at most capacity of them
 *   ->             how many there are
 *   thread         any */
#define DYNC_EXCLUDE_DEFAULT "debug,experimental"
DYNC_API int dync_list_backends(const char *exclude_tags, const char **names, int capacity);

/* dync_compile_graph: has a backend compile a graph.
 *   out     the caller calls out->destroy(out->state)
 *   errors  DYNC_ERR_VALUE, and those of the backend
 *   thread  not while running */
DYNC_API dync_status dync_compile_graph(const char *backend, dync_graph *graph,
                                        const dync_value *example_inputs, int n,
                                        dync_callable *out);

/* dync_aot_autograd: a backend that traces forward and backward jointly and gives each to a
 * compiler of its own.
 *   fw_compiler, bw_compiler_or_null   borrowed while the backend is used; NULL: fw_compiler does
 *                                      both
 *   thread  any */
DYNC_API dync_backend dync_aot_autograd(const dync_backend *fw_compiler,
                                        const dync_backend *bw_compiler_or_null);

/* dync_graph_len, dync_graph_node: the nodes in the order of execution; placeholders first, output
 * last.
 *   ->      borrowed from the graph; NULL on failure
 *   errors  DYNC_ERR_INDEX
 *   thread  any */
DYNC_API int dync_graph_len(const dync_graph *graph);
DYNC_API dync_node *dync_graph_node(const dync_graph *graph, int i);

/* dync_node_op: placeholder | get_attr | call_function | call_method | call_module | output.
 * dync_node_target: "relu". dync_node_name: its name in the graph.
 *   ->      borrowed from the graph
 *   thread  any */
DYNC_API const char *dync_node_op(const dync_node *node);
DYNC_API const char *dync_node_target(const dync_node *node);
DYNC_API const char *dync_node_name(const dync_node *node);

/* dync_node_inputs: the values a node reads, in the order of its arguments; an argument given twice
 * is there twice.
 *   ->      how many there are; only `capacity` are written
 *   thread  any */
DYNC_API int dync_node_inputs(const dync_node *node, dync_node **out, int capacity);

/* dync_graph_str: C that compiles against dync.h, types as comments. dync_graph_readable: torch.fx
 * print_readable text, which is Python that PyTorch can run.
 *   ->      owned by the scope; "" on failure
 *   thread  any */
DYNC_API char *dync_graph_str(const dync_graph *graph);
DYNC_API char *dync_graph_readable(const dync_graph *graph);

/* dync_graph_dot: the graph as Graphviz text; `dot -Tsvg` draws it.
 *   ->      owned by the scope; NULL on failure
 *   thread  any */
DYNC_API char *dync_graph_dot(const dync_graph *graph);

/* DYNC_LET(y, dync_add(x, 1)): declares y and names the value in printed graphs; expr must not
 * mention the name. DYNC_SET(x, expr): reassignment: x, x_1, x_2, ...
 *   thread  any */
#define DYNC_LET(name, expr) dync_tensor *name = dync_named(#name, expr)
#define DYNC_SET(name, expr) (name = dync_named(#name, expr))
DYNC_API dync_tensor *dync_named(const char *name, dync_tensor *t);

/* dync_graph_run: the graph interpreted, node by node.
 *   args    one value per placeholder
 *   ->      what the graph returns, owned by the scope
 *   thread  any */
DYNC_API dync_value dync_graph_run(dync_graph *graph, const dync_value *args, int nargs);

/* dync_make_graph(fn, x, y): the graph of one run of fn on these arguments (make_fx): no guards, no
 * breaks.
 *   ->      owned by the scope; NULL on failure
 *   errors  DYNC_ERR_UNSUPPORTED (dync_item, dync_bool, dync_equal, dync_allclose of what the graph
 *           computes), DYNC_ERR_DATA_PTR
 *   thread  any */
#define dync_make_graph(fn, ...) \
    dync_make_graph_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__))
DYNC_API dync_graph *dync_make_graph_values(dync_callee callee, const char *name, int nargs,
                                            const dync_value *args);

/* dync_make_graph_mode: for this thread's next dync_make_graph: run on the real tensors, on fake
 * ones, or with symbolic sizes.
 *   thread  any */
typedef enum { DYNC_TRACE_REAL, DYNC_TRACE_FAKE, DYNC_TRACE_SYMBOLIC } dync_trace_mode;
DYNC_API void dync_make_graph_mode(dync_trace_mode mode);

/* dync_graph_retain, dync_graph_free: one reference more, or one less.
 *   thread  any */
DYNC_API dync_graph *dync_graph_retain(dync_graph *graph);
DYNC_API void dync_graph_free(dync_graph *graph);

/* dync_graph_split: cuts a graph into parts such that each holds only nodes picked, or only nodes
 * not picked.
 *   parts   *nparts is the capacity, then the count; each to be freed. They run one after the other
 *           and connect by names: a placeholder's dync_node_name is that of an input of the graph,
 *           or of a value that an earlier part returned. Each part but the last returns a tuple, in
 *           the order and under the names of its output node's inputs (dync_node_inputs); the last
 *           one what the graph returns
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   thread  not while running */
DYNC_API dync_status dync_graph_split(dync_graph *graph,
                                      bool (*pick)(const dync_node *, void *user), void *user,
                                      dync_graph **parts, int *nparts);

/* dync_aot_export: the functional graph that AOT autograd makes: writes are values, composite
 * operators their parts, each node with its autograd sequence number.
 *   joint   false: the forward graph: as graph, but inputs must not be written and outputs must not
 *           be views of inputs or of each other true: forward and backward in one: inputs, then a
 *           tangent for each output that has a gradient (none where the result is one number, the
 *           loss); gives the new values of written inputs, the outputs, and for each input its
 *           gradient or none
 *   inputs  example inputs
 *   out     to be freed
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_RUNTIME, DYNC_ERR_UNSUPPORTED (a program that is not
 *           functionalised), DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_status dync_aot_export(dync_graph *graph, const dync_value *inputs, int n, bool joint,
                                     dync_graph **out);

/* dync_graph_seq_table: which forward node each backward node belongs to: "SeqNr|OrigAten|SrcFn",
 * then one line a node: the autograd sequence number counted from the first node's, the operator as
 * aten names it, and the module or operator of the user's that it comes from (backward nodes:
 * none).
 *   ->      owned by the scope; NULL and an error for NULL
 *   thread  any */
DYNC_API char *dync_graph_seq_table(const dync_graph *graph);

/* dync_explain_backend: a backend that compiles with inner and tells out of each graph it is given:
 * counts, breaks and graphs; the fields for guards, operators and time stay empty.
 *   inner   the name of a backend; NULL: "inductor"
 *   out     borrowed; zeroed here and filled by compiles until the scope ends in which this is
 *           called; that scope owns the texts
 *   errors  DYNC_ERR_VALUE (out is NULL), DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_backend dync_explain_backend(const char *inner, struct dync_explain_output *out);

/* dync_op_register: an operator of one's own, "mylib::scale", called through dync_op_call_values.
 *   schema         "(Tensor x, float s) -> Tensor"; several outputs "-> (Tensor, Tensor)"; one that
 *                  is written "(Tensor(a!) x) -> ()"
 *   impl           the body, on tensors with data
 *   meta_or_null   the same on tensors without data: gives the results' shapes and dtypes
 *                  (dync_empty). With it the operator is one node in graphs, never looked into, and
 *                  has no gradient: a dync_autograd_function around it gives it one. NULL: a
 *                  composite: traced code runs through the body
 *   user           passed to both
 *   errors         DYNC_ERR_VALUE (name taken, bad schema), DYNC_ERR_MEMORY
 *   thread         any */
DYNC_API dync_status dync_op_register(const char *name, const char *schema, dync_function impl,
                                      dync_function meta_or_null, void *user);

/* dync_op_call_values: calls any operator, built in or registered, by its name.
 *   ->      owned by the scope
 *   thread  any */
DYNC_API dync_value dync_op_call_values(const char *name, int nargs, const dync_value *args);
