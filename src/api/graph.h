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

/* dync_node_schema: "(Value self, Value other)", the operator's parameters; "-> Tensor" where
 * nothing else stands behind them. "" for nodes that call no operator of the table.
 *   ->      borrowed from the library
 *   thread  any */
DYNC_API const char *dync_node_schema(const dync_node *node);

/* dync_node_nargs, dync_node_arg: the arguments as values. The output node has one: what the graph
 * returns. dync_node_param: the name of the parameter, "" where there is none.
 *   ->      of kind NODE (dync_as_node) for what another node gives, GRAPH (dync_as_graph) for a
 *           function inside an operator, LIST for sizes, dims and lists of tensors, SYM for a size
 *           that is symbolic (dync_as_dim), INT for a dtype's or a device's number, else the
 *           plain number, text or none. Lists and names: owned by the scope; texts, nodes and
 *           graphs: borrowed from the graph
 *   errors  DYNC_ERR_INDEX, DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API int dync_node_nargs(const dync_node *node);
DYNC_API dync_value dync_node_arg(const dync_node *node, int i);
DYNC_API char *dync_node_param(const dync_node *node, int i);

/* dync_as_node, dync_as_graph: out of a value.
 *   ->      NULL and an error if it is none
 *   errors  DYNC_ERR_VALUE
 *   thread  any */
DYNC_API dync_node *dync_as_node(dync_value v);
DYNC_API dync_graph *dync_as_graph(dync_value v);

/* dync_node_nresults, dync_node_result: what a node gives; 0 for numbers, lists and the output.
 *   shape, strides, offset   in elements; symbolic ones are tokens, see dync_graph_size_text
 *   ->                       false on failure
 *   errors                   DYNC_ERR_INDEX
 *   thread                   any */
typedef struct {
    dync_dtype dtype;
    dync_device device;
    dync_dims shape, strides;
    int64_t offset;
    bool requires_grad;
} dync_result_info;
DYNC_API int dync_node_nresults(const dync_node *node);
DYNC_API bool dync_node_result(const dync_node *node, int i, dync_result_info *out);

/* dync_graph_size_text: "3", or "2*s0 + 1" where a size is symbolic. dync_graph_size_hint: the
 * number it has in the call at hand.
 *   ->      owned by the scope, NULL on failure; a plain size as it is, -1 on failure
 *   errors  DYNC_ERR_VALUE (a size of another graph), DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API char *dync_graph_size_text(const dync_graph *graph, int64_t size);
DYNC_API int64_t dync_graph_size_hint(const dync_graph *graph, int64_t size);

/* dync_node_source: of an input "L['x']"; of a call the module whose forward made it.
 * dync_node_stack: the user's lines, "file:line in fn", outermost first. "" where there is none.
 *   ->      borrowed from the graph
 *   thread  any */
DYNC_API const char *dync_node_source(const dync_node *node);
DYNC_API const char *dync_node_stack(const dync_node *node);

/* dync_node_value: the tensor of a get_attr: a parameter, a constant.
 *   ->      borrowed from the graph; NULL on failure
 *   errors  DYNC_ERR_VALUE (another kind of node)
 *   thread  any */
DYNC_API dync_tensor *dync_node_value(const dync_node *node);

/* dync_node_users: the nodes that read what a node gives, in order, each once.
 *   ->      how many there are; only `capacity` are written
 *   thread  any */
DYNC_API int dync_node_users(const dync_node *node, dync_node **out, int capacity);

/* ---- changing graphs: each change is made whole or not at all. What it changes is inferred again
 * (shapes, strides, dtypes, as far as they come out otherwise), and the graph is checked: an error
 * says why a change cannot be, and the graph is as it was. Handles of nodes stay good, those of
 * erased ones are stale. A graph that a backend was given, or that was compiled, changes no more: a
 * backend changes a dync_graph_copy and hands that on. */

/* dync_graph_copy: the same graph again.
 *   ->      owned by the scope (dync_graph_retain keeps it longer); NULL on failure
 *   errors  DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_graph *dync_graph_copy(dync_graph *graph);

/* dync_graph_insert(graph, before, "addmm", bias, x, w, 1, 1): a new call of any operator of
 * dync_op_call_values, or "getitem" of a node and a number.
 *   before  the node that it stands before; NULL: at the end, before the output
 *   ...     nodes, numbers, texts, lists (dync_tuple) of those, as the schema asks
 *   ->      borrowed from the graph; NULL on failure
 *   errors  DYNC_ERR_VALUE (no such operator, arguments that it does not take, a fixed graph, a
 *           node that stands later), what the operator says of shapes and dtypes, DYNC_ERR_MEMORY
 *   thread  not while running */
#define dync_graph_insert(graph, before, op, ...) \
    dync_graph_insert_values(graph, before, op, DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__))
DYNC_API dync_node *dync_graph_insert_values(dync_graph *graph, dync_node *before, const char *op,
                                             int nargs, const dync_value *args);

/* dync_graph_insert_tensor: a get_attr of a tensor, behind the inputs. The graph holds a reference.
 *   name    "scale", "0.weight"; NULL: one of a constant
 *   ->      borrowed from the graph; NULL on failure
 *   errors  DYNC_ERR_VALUE (a fixed graph), DYNC_ERR_MEMORY
 *   thread  not while running */
DYNC_API dync_node *dync_graph_insert_tensor(dync_graph *graph, const char *name,
                                             dync_tensor *value);

/* dync_node_set_arg: another argument i; of the output node: what the graph returns.
 *   errors  as dync_graph_insert, DYNC_ERR_INDEX, DYNC_ERR_UNSUPPORTED (a function of the user's
 *           behind it that was traced for other types)
 *   thread  not while running */
DYNC_API dync_status dync_node_set_arg(dync_node *node, int i, dync_value v);

/* dync_node_replace: all who read node read `with` from then on, but `with` itself. Node stays.
 *   errors  DYNC_ERR_VALUE (another dtype, device or shape; nodes of two graphs; a fixed graph; a
 *           reader that stands before `with`), DYNC_ERR_MEMORY
 *   thread  not while running */
DYNC_API dync_status dync_node_replace(dync_node *node, dync_node *with);

/* dync_node_erase: takes a node out whose value nobody reads, whatever it does.
 *   errors  DYNC_ERR_VALUE (it is read; an input; the output; a fixed graph), DYNC_ERR_MEMORY
 *   thread  not while running */
DYNC_API dync_status dync_node_erase(dync_node *node);

/* dync_graph_eliminate_dead: takes out what nobody reads and what does nothing else: no writes, no
 * random numbers.
 *   ->      how many nodes; -1 on failure
 *   errors  DYNC_ERR_VALUE (a fixed graph), DYNC_ERR_MEMORY
 *   thread  not while running */
DYNC_API int dync_graph_eliminate_dead(dync_graph *graph);

/* A place where a pattern fits.
 *   inputs   what stands for the pattern's inputs, in their order; NULL where one is not used
 *   nodes    what stands for its other nodes, in their order, output left out */
typedef struct {
    int ninputs, nnodes;
    dync_node *const *inputs, *const *nodes;
} dync_match;
typedef bool (*dync_match_filter)(const dync_match *match, void *user);

/* dync_graph_match: where a pattern fits, in the order of the graph; places may overlap.
 *   pattern   a graph, such as dync_make_graph makes of a C function (which takes losses and norms
 *             apart, as AOT does): inputs stand for any tensor, the rest for itself: operators with
 *             equal numbers, texts and dtypes. What it computes on the way to its results must be
 *             used by nobody else, and nothing else may write between. Other results than the first
 *             must be parts of the first
 *   out       may be NULL; lists in it are owned by the scope
 *   ->        how many there are; only `capacity` are written
 *   errors    DYNC_ERR_VALUE (a pattern that writes, computes nothing or has symbolic sizes),
 *             DYNC_ERR_MEMORY
 *   thread    not while running */
DYNC_API int dync_graph_match(dync_graph *graph, dync_graph *pattern, dync_match *out,
                              int capacity);

/* dync_graph_replace_pattern: torch.fx's: every place where pattern fits becomes replacement, the
 * first ones first; what was put is not looked at again. All of them or none.
 *   replacement      of the same inputs, as many results, each of the same dtype and shape
 *   filter_or_null   true: this place; called before anything there changes
 *   ->               how many; -1 on failure
 *   errors           DYNC_ERR_VALUE, those of dync_graph_match and dync_graph_insert
 *   thread           not while running */
DYNC_API int dync_graph_replace_pattern(dync_graph *graph, dync_graph *pattern,
                                        dync_graph *replacement, dync_match_filter filter_or_null,
                                        void *user);

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
#define dync_aot_export(...) DYNC__DIFFERENTIATES(dync_aot_export(__VA_ARGS__))

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
