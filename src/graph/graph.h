/* graph/graph.h: FX-like graphs. After nn/, before capture/. A graph lives in its own arena;
 * reference counted. */
#ifndef DYNC__GRAPH_H
#define DYNC__GRAPH_H
#include "../autograd/autograd.h"
#include "../base/pass.h"
#include "../nn/nn.h"

typedef enum {
    DYNC__N_PLACEHOLDER,
    DYNC__N_GET_ATTR,
    DYNC__N_CALL_FUNCTION,
    DYNC__N_CALL_METHOD,
    DYNC__N_CALL_MODULE,
    DYNC__N_OUTPUT
} dync__node_kind;
struct dync__node {
    dync__object object; /* its handle */
    dync__node_kind kind;
    /* row of the operator table; DYNC__NODE_GETITEM: item i of a node of several outputs; -1
     * none */
    int op;
    const char *name; /* unique in the graph: relu, relu_1, x_19 */
    /* "relu"; attribute path for get_attr ("0.weight"); source name for placeholders ("L_x_") */
    const char *target;
    dync__arg *args;
    int nargs;     /* tensors are A_NODE; output: one arg, nested A_LIST */
    int nout;      /* outputs of a call; 1 for placeholders */
    bool apart;    /* what it gives leaves before anything uses it: hooks stand there */
    bool has_info; /* false for scalars and lists */
    bool no_grad;  /* capture: recorded without grad mode */
    bool view;     /* capture: what it gives lies on its first argument's memory */
    bool handed;   /* capture: it is its first argument */
    bool backward; /* AOT: the walk backward made it */
    bool is_read;  /* AOT: forward's, and what the walk backward made reads it: so do rules */
    /* get_attr: the parameter or constant; the graph holds a reference */
    dync__tensor *value;
    bool fresh; /* get_attr, capture: of dync_constant, whose tensor is a new one in every call */
    /* placeholder: "L['x']"; call: the module whose forward made it, "L['self'].fc1", or NULL */
    const char *source;
    dync__arg scalar; /* placeholder of a number (symbolic or cell) */
    /* a number's text for annotations, "s1 + 1"; NULL: no symbolic number */
    const char *sym;
    dync_loc at;       /* user line */
    const char *stack; /* "file:line in fn" lines, outermost first; may be NULL */
    /* AOT: the operator of the user's graph that it is a part of; a row's name, or NULL */
    const char *user_op;
    int64_t seq_nr;            /* autograd sequence number, -1 none */
    int index;                 /* position; kept current by the graph functions */
    int n_users;               /* uses, output included; dync__graph_renumber sets it */
    void *mark;                /* scratch of passes */
    int env;                   /* capture: place in the environment, -1 none */
    struct dync__node *before; /* capture: the node of the argument that it returned, or NULL */
    const dync_callee *callee; /* a user's function that is one node (op -1) */
    struct dync__graph *graph;
    bool requires_grad[DYNC__MAX_OUT];
    dync__info info[DYNC__MAX_OUT]; /* of each output; last, as tensor.h's layout */
};
enum { DYNC__NODE_GETITEM = -2 };
/* A symbolic size: the token that stands for it in layouts and shape arguments, and its text,
 * "s0". */
typedef struct dync__symbol {
    int64_t token;
    const char *text;
} dync__symbol;
struct dync__graph {
    dync__object object; /* its handle */
    dync__arena arena;
    int32_t refs;
    int32_t retains;              /* of refs, those the user holds */
    DYNC__VEC(dync__node *) seen; /* those with a handle */
    const char *name;             /* class name in torch.fx text: "GraphModule" */
    DYNC__VEC(dync__node *) node; /* in execution order; placeholders first, output last */
    int n_inputs;
    dync__map names;                     /* taken names, and the last number of each base name */
    DYNC__VEC(dync__tensor *) attr;      /* the references held for get_attr nodes */
    DYNC__VEC(struct dync__graph *) sub; /* and for the functions inside operators */
    DYNC__VEC(dync__symbol) symbol;      /* symbolic sizes; empty where all are plain numbers */
    /* what they are made of; NULL in graphs of plain sizes and in parsed ones */
    struct dync__symtab *syms;
    /* AOT: output i is the new value of that input, and goes there: whoever compiles may write it
     * there and give none */
    DYNC__VEC(int32_t) over;
    bool failed; /* sticky: no memory */
    /* a backend has it, or a compiled function: it changes no more (an atomic flag) */
    int32_t fixed;
    /* a program's: the sizes that come first are compiled as numbers (aot/sized.c; atomic) */
    int32_t first_alone;
    /* torch.fx text without blank lines where the user's line changes: make_fx keeps no lines */
    bool unbroken;
    void *user; /* capture: owner */
};
DYNC__FN dync__graph *dync__graph_new(const char *name); /* one reference */
/* gives it back; NULL passes */
DYNC__FN dync__graph *dync__graph_ref(dync__graph *);
DYNC__FN void dync__graph_unref(dync__graph *); /* NULL allowed */
/* the reference is the user's now; NULL: no memory, given up */
DYNC__FN dync_graph *dync__graph_give(dync__graph *owned);
/* its handle, borrowed from its graph; NULL: no memory */
DYNC__FN dync_node *dync__node_show(const dync__node *);
/* Has a backend compile it. */
DYNC__FN dync_status dync__graph_ask(const dync_backend *, dync__graph *,
                                     const dync_value *examples, int n, const char *options,
                                     dync_callable *out);
/* what dync_graph_run does */
DYNC__FN dync_value dync__graph_run(dync__graph *, const dync_value *args, int nargs);
DYNC__FN dync__node *dync__graph_placeholder(dync__graph *, const char *name, const char *source,
                                             const dync__info *info_or_null);
DYNC__FN dync__node *dync__graph_attr(dync__graph *, const char *name, const char *path,
                                      dync__tensor *value_or_null);
/* the graph holds a reference on a function inside one of its operators; false: no memory */
DYNC__FN bool dync__graph_keep(dync__graph *, dync__graph *sub);
/* gives an attribute without a value (a parsed one) its tensor */
DYNC__FN bool dync__graph_attr_bind(dync__node *, dync__tensor *value);
DYNC__INLINE dync__arg dync__arg_node(dync__node *node)
{
    dync__arg a = {0};
    a.kind = DYNC__A_NODE;
    a.as.node = node;
    return a;
}
/* A constant baked into the graph: an attribute named _tensor_constant0, 1, ...: never written, so
 * it may be printed inline. */
DYNC__FN dync__node *dync__graph_constant(dync__graph *, dync__tensor *value);
DYNC__FN bool dync__node_is_constant(const dync__node *);
/* names a symbolic size; the same token again: the last text counts */
DYNC__FN bool dync__graph_symbol(dync__graph *, int64_t token, const char *text);
/* a symbolic size or number gets its text; false: no memory */
DYNC__FN bool dync__graph_name_size(dync__graph *, int64_t size);
/* NULL: a plain size */
DYNC__FN const char *dync__graph_symbol_text(const dync__graph *, int64_t token);
/* deep; false: no memory */
DYNC__FN bool dync__arg_copy(dync__arena *, const dync__arg *in, dync__arg *out);
/* Arguments are copied deep into the arena. name_hint NULL: the operator's name. */
DYNC__FN dync__node *dync__graph_call(dync__graph *, int op, int nargs, const dync__arg *args,
                                      int nout, const dync__info *info, const char *name_hint);
DYNC__FN dync__node *dync__graph_getitem(dync__graph *, dync__node *list, int i);
/* finishes the graph */
DYNC__FN dync__node *dync__graph_output(dync__graph *, const dync__arg *value);
/* x, x_1, x_2 ... a legal C and Python identifier */
DYNC__FN const char *dync__graph_unique(dync__graph *, const char *hint);
DYNC__FN void dync__names_shown(void); /* no words of C or Python among them: by need */
DYNC__FN bool dync__graph_rename(dync__graph *, dync__node *, const char *name); /* dync_named */
/* index and n_users */
DYNC__FN void dync__graph_renumber(dync__graph *);
/* verifier: DYNC_ERR_INTERNAL naming the node */
DYNC__FN dync_status dync__graph_check(const dync__graph *);
/* The types of every call again from those of the inputs: DYNC_ERR_FORMAT where a node claims
 * others, or where they go beyond the limits (NULL: none). For graphs from strangers and tests. */
DYNC__FN dync_status dync__graph_check_types(dync__graph *, const dync_limits *);
/* The same of sizes that a file shows for what data decide; and types of symbolic sizes, some of
 * which data decide, as inference gives them (those of the nodes are not believed): a size that no
 * node before tells is refused. */
DYNC__FN dync_status dync__graph_check_shown(dync__graph *, const dync_limits *);
DYNC__FN dync_status dync__graph_infer_sizes(dync__graph *);
/* types_work.c: scalar operations of a call, roughly */
DYNC__FN double dync__types_work(const dync__opcall *);
/* May an output be a view of an input? */
DYNC__FN bool dync__graph_shows_inputs(dync__graph *);
/* the C form: what dync_graph_str gives */
DYNC__FN void dync__graph_print_c(dync__str *, const dync__graph *);
/* The same as statements of a dync_function: args[0], args[1], ... are the inputs, then the
 * attributes that are not printed; every tensor by DYNC_LET. */
DYNC__FN void dync__graph_print_c_body(dync__str *, const dync__graph *, const char *name,
                                       const char *args);
/* Are texts of graphs part of this program? If not, s gets a word in their place. */
DYNC__FN bool dync__graph_prints(dync__str *s);
/* The functions inside its operators, before that: static ones whose names begin with its name. */
DYNC__FN void dync__graph_print_c_inside(dync__str *, const dync__graph *, const char *name);
/* an attribute whose elements stand in the C form */
DYNC__FN bool dync__graph_prints_inline(const dync__node *);
/* torch.fx print_readable: what dync_graph_readable gives. A blank line stands where the user's
 * line (stack, or else at) changes */
DYNC__FN void dync__graph_print_fx(dync__str *, const dync__graph *);
/* the C form back; NULL + DYNC_ERR_FORMAT */
DYNC__FN dync__graph *dync__graph_parse(const char *text);
/* of no more nodes */
DYNC__FN dync__graph *dync__graph_parse_most(const char *text, int64_t nodes);
/* nodes whose kind is a call, getitem not counted as an op by explain: see flag */
DYNC__FN int dync__graph_op_count(const dync__graph *);
/* Is it a call of an operator of which that fact (DYNC__OP_RANDOM, ...) holds? */
DYNC__INLINE bool dync__node_has(const dync__node *n, uint32_t fact)
{
    return n->op >= 0 && (dync__op_info(n->op)->flags & fact) != 0;
}
DYNC__INLINE bool dync__node_sets_grad_mode(const dync__node *n)
{
    return dync__op_sets_grad_mode(n->op);
}
DYNC__INLINE bool dync__node_is_call(const dync__node *n)
{
    return n->kind == DYNC__N_CALL_FUNCTION || n->kind == DYNC__N_CALL_METHOD ||
           n->kind == DYNC__N_CALL_MODULE;
}
/* May it go where nobody uses it? And would running it twice give the same? */
DYNC__FN bool dync__node_is_pure(const dync__node *);
/* in-place operators, effects, calls of unknown operators */
DYNC__FN bool dync__graph_has_writes(const dync__graph *);
/* may it write memory of an input? */
DYNC__FN bool dync__graph_writes_inputs(dync__graph *);
/* fn(user, arg*) for every A_NODE argument of a node, lists included. */
DYNC__FN void dync__node_each_input(dync__node *, void (*fn)(void *user, dync__arg *), void *user);
/* Interpreter: one environment slot per node; runs every node through dispatch (so the tape and
 * tracers see it), releasing values after their last use. args: values of the placeholders in
 * order, tensors borrowed (as A_TENSOR). *out owned nested arg in arena: tensors carry
 * references. */
DYNC__FN dync_status dync__graph_eval(dync__graph *, const dync__arg *args, int nargs,
                                      dync__arena *, dync__arg *out);
/* The same where the symbols are known to be value[i], sizes or tokens. NULL: the inputs tell. */
struct dync__eval_writes;
DYNC__FN dync_status dync__graph_eval_sized(dync__graph *, const int64_t *value,
                                            const dync__arg *args, int nargs, dync__arena *,
                                            dync__arg *out);
/* run.h: some nodes in another way; NULL: none. */
DYNC__FN dync_status dync__graph_eval_all(dync__graph *, const struct dync__eval_writes *,
                                          const int64_t *value, const dync__arg *args, int nargs,
                                          dync__arena *, dync__arg *out);
/* draw.c: pictures: Graphviz text, and an <svg> element. html_text escapes text for both. */
DYNC__FN void dync__graph_draw_dot(dync__str *, const dync__graph *);
DYNC__FN void dync__graph_draw_svg(dync__str *, const dync__graph *);
DYNC__FN void dync__html_text(dync__str *, const char *text);
/* Hook of the layer that knows the user's functions in graphs (op -1, callee): runs one for the
 * interpreter. NULL: none. */
DYNC__DATA_DECL dync_status (*dync__graph_custom_call)(dync__node *, int nargs, dync__arg *args,
                                                       dync__tensor **out);
/* Values and args: a dync_value tree to args (tensors opened, borrowed; lists into the arena) and
 * back (tensors given to the scope). */
DYNC__FN dync_status dync__value_to_arg(dync__arena *, dync_value, dync__arg *out);
DYNC__FN dync_value
dync__arg_to_value(const dync__arg *); /* takes the references of tensors over */
DYNC__FN void dync__arg_release(
    dync__arg *); /* gives up the references of a nested argument: NONE then */
/* copy.c: a graph made again. A function gives what stands in the new graph for a node of the old
 * one: the old node itself says that nothing does; NULL: an argument is missing, or no memory. */
typedef struct dync__rewrite dync__rewrite;
typedef dync__node *(*dync__rewrite_fn)(dync__rewrite *, dync__node *old);
struct dync__rewrite {
    dync__graph *from, *to;   /* from is only read */
    dync__node **copy;        /* what stands for a node, by the index of the old one */
    dync__rewrite_fn missing; /* makes what an argument asks for and nobody put; NULL: fails */
    void *user;
};
/* The whole graph through fn. *out: the new one, of the same name and symbols. */
DYNC__FN dync_status dync__graph_rewrite(dync__graph *from, dync__rewrite_fn fn, void *user,
                                         dync__graph **out);
/* The same as it is: what a function gives for a node that it does not change. Arguments are looked
 * up. */
DYNC__FN dync__node *dync__rewrite_copy(dync__rewrite *, dync__node *old);
DYNC__FN dync__node *dync__rewrite_input(dync__rewrite *, const dync__node *old,
                                         const char *name); /* any value as an input */
DYNC__FN dync__node *dync__rewrite_at(dync__rewrite *,
                                      dync__node *old); /* what stands for it; NULL: nothing */
DYNC__FN bool dync__rewrite_arg(dync__rewrite *, const dync__arg *in, dync__arg *out);
/* By hand: an empty graph (from NULL: nothing to be looked up), nodes in any order, the end (frees
 * the map; *out NULL where status or the graph failed). */
DYNC__FN dync_status dync__rewrite_begin(dync__rewrite *, dync__graph *from, const char *name);
DYNC__FN dync_status dync__rewrite_put(dync__rewrite *, dync__node *old, dync__rewrite_fn fn);
DYNC__FN dync_status dync__rewrite_end(dync__rewrite *, dync_status, dync__graph **out);
DYNC__FN dync_status dync__graph_output_list(dync__graph *, int n, dync__node *const *nodes);
/* split.c: dync_graph_split over nodes; parts have a reference each */
DYNC__FN dync_status dync__graph_parts(dync__graph *, bool (*pick)(const dync__node *, void *user),
                                       void *user, dync__graph **parts, int *nparts);
/* symbolic.c: graphs whose sizes are tokens */
DYNC__INLINE bool dync__graph_is_sized(const dync__graph *g) { return !DYNC__SYM_NONE && g->syms; }
/* Sizes in their simplest form and their names, from a table that the graph keeps. */
DYNC__FN bool dync__graph_settle_sizes(dync__graph *, dync__symtab *);
/* Do the inputs tell every symbol that the graph uses? */
DYNC__FN bool dync__graph_tells_sizes(dync__graph *);
/* do they, or nodes whose results data decide? */
DYNC__FN bool dync__graph_tells_all(dync__graph *);
DYNC__FN bool dync__arg_each_size(dync__arg *, bool (*fn)(void *user, int64_t *size), void *user);
/* in types, shape arguments, integers; false: fn gave up */
DYNC__FN bool dync__graph_each_size(dync__graph *, bool (*fn)(void *user, int64_t *size),
                                    void *user);
/* values of the symbols from actual inputs; 0 where they do not tell */
DYNC__FN void dync__graph_bind(const dync__graph *, dync__tensor *const *in, int64_t *value,
                               bool *known);
/* No value has more elements than its file may ask for (dync_set_limits): sizes that data decide
 * are known as it runs. value: of the symbols, 0 where they are not told yet. */
DYNC__FN dync_status dync__node_within(const dync__graph *, const dync__node *,
                                       const int64_t *value);
DYNC__FN dync_status dync__graph_within(const dync__graph *, const int64_t *value);
/* a copy with numbers for sizes */
DYNC__FN dync_status dync__graph_concrete(dync__graph *, const int64_t *value, dync__graph **out);
/* recursion: of a function inside an operator, which may have some inside: the symbols are those of
 * the graph around it */
DYNC__FN dync_status dync__graph_concrete_in(dync__graph *, const dync__symtab *,
                                             const int64_t *value, dync__graph **out);
/* names and table of another graph; false: no memory */
DYNC__FN bool dync__graph_takes_symbols(dync__graph *, const dync__graph *from);
/* Passes: cse.c dce.c rolls.c slices.c. Each keeps meaning; effects, in-place writes and random
 * nodes stay. dync__graph_pass runs one by its row (pass.c), over functional graphs. */
DYNC__FN dync_status dync__graph_pass(int pass, dync__graph *);
/* links checks: before dync__check_set, where no environment variable can turn them on */
DYNC__FN void dync__graph_checks_use(void);
/* the check after a pass; functional: nothing writes, and types are inferred again */
DYNC__FN dync_status dync__graph_check_after(int pass, dync__graph *, bool functional);
/* behind a stage that made a graph: its log, then that check */
DYNC__FN dync_status dync__graph_border(int pass, dync__graph *, bool functional);
DYNC__FN dync_status dync__graph_dce(dync__graph *);
DYNC__FN dync_status dync__graph_cse(dync__graph *);
/* rolls.c, slices.c; they leave no dead node */
DYNC__FN dync_status dync__graph_rolls(dync__graph *);
DYNC__FN dync_status dync__graph_slices(dync__graph *);
/* name.c */
DYNC__FN char *dync__name_clean(dync__arena *arena, const char *hint);
/* graph.c */
DYNC__FN void dync__arg_each_node(dync__arg *arg, void (*fn)(void *user, dync__arg *), void *user);

/* check.c */
DYNC__FN dync_status dync__node_fail(const dync__node *node, const char *what);
#endif
