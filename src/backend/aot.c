/* backend/aot.c: the backends on AOT autograd: by operators, through the portable program form, by
 * inductor, and dync_aot_autograd, made of the user's compilers for the forward and backward
 * graph. */
#include "../dync.in.h"
#include "backend.h"
DYNC__COLD

/* Of one dync_aot_autograd: copies of the user's two backends, and the compiler made of them. Kept
 * until shutdown, as compiled functions refer to it. */
typedef struct dync__aot_user {
    dync_backend fw, bw;
    dync__inner_compiler inner;
    struct dync__aot_user *next;
} dync__aot_user;
static struct {
    dync__mutex lock;
    dync__aot_user *first;
} dync__aot_users;

static void dync__aot_users_free(void)
{
    while (dync__aot_users.first) {
        dync__aot_user *u = dync__aot_users.first;
        dync__aot_users.first = u->next;
        dync__free(u, sizeof *u);
    }
}

/* A user's callable as an inner one. The graph lives as long as the callable. */
typedef struct dync__boxed {
    dync_callable code;
    dync__graph *graph;
} dync__boxed;
/* The same elements as the graph says that they lie. */
static dync_status dync__boxed_lay(const dync__layout *want, dync__tensor **t)
{
    dync__layout lay = *want;
    lay.offset = 0;
    dync__tensor *made = dync__tensor_empty((*t)->dtype, (*t)->device, &lay), *same = NULL;
    if (!made) return DYNC_ERR_MEMORY;
    dync__arg args[2] = {dync__arg_t(made), dync__arg_t(*t)};
    dync_status status = dync__op_run(DYNC__OP_copy_, 2, args, &same);
    dync__unref(same);
    dync__unref(status == DYNC_OK ? *t : made);
    if (status == DYNC_OK) *t = made;
    return status;
}

/* The other graph, and what runs around both, is compiled for what this one says that it gives:
 * dtypes and sizes that are others are the user's error, other strides are put right. */
static dync_status dync__boxed_outputs(const dync__graph *g, int n_out, dync__tensor **out)
{
    const dync__arg *form = &g->node.at[g->node.n - 1]->args[0];
    for (int i = 0; i < n_out; i++) {
        const dync__arg *a = form->kind == DYNC__A_LIST ? i < form->n ? &form->as.list[i] : NULL
                                                        : form;
        if (!a || a->kind != DYNC__A_NODE || !out[i] || !a->as.node->has_info) continue;
        const dync__layout *want = &a->as.node->info[0].lay;
        DYNC__TRY(dync__output_check(a->as.node, out[i], i, false));
        if (!dync__layout_fits(want, &out[i]->lay, true) && !dync__layout_has_tokens(want) &&
            dync__layout_is_apart(want))
            DYNC__TRY(dync__boxed_lay(want, &out[i]));
    }
    return DYNC_OK;
}

/* Values in and out are plain tensors; what the user's code does is not recorded for gradients. */
static dync_status dync__boxed_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                   dync__tensor **out)
{
    const dync__boxed *b = state;
    bool grad_off = dync__grad_off(true);
    dync_status status = dync__callable_run(&b->code, false, n_in, in, n_out, out);
    if (status == DYNC_OK && b->code.run != dync__raw_run) {
        status = dync__boxed_outputs(b->graph, n_out, out);
        for (int i = 0; i < n_out && status != DYNC_OK; i++) {
            dync__unref(out[i]);
            out[i] = NULL;
        }
    }
    dync__grad_off(grad_off);
    return status;
}
static void dync__boxed_destroy(void *state)
{
    dync__boxed *b = state;
    if (b->code.destroy) b->code.destroy(b->code.state);
    dync__graph_unref(b->graph);
    dync__free(b, sizeof *b);
}

/* Examples for the user's compiler: tensors of the right form, zeros; symbolic sizes as those of
 * the call that is compiled. */
static dync_status dync__boxed_examples(const dync__graph *g, dync_value *out)
{
    int k = 0;
    int64_t *value = g->syms ? dync__scope_alloc((size_t)g->syms->symbol.n * sizeof *value) : NULL;
    if (g->syms && !value) return DYNC_ERR_MEMORY;
    for (int i = 0; g->syms && i < g->syms->symbol.n; i++)
        value[i] = dync__symtab_find(g->syms, g->syms->symbol.at[i].token)->hint;
    for (int i = 0; i < g->node.n && k < g->n_inputs; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind != DYNC__N_PLACEHOLDER) continue;
        dync__layout lay = n->info[0].lay;
        if (g->syms && !dync__layout_values(g->syms, value, &lay)) return DYNC_ERR_INTERNAL;
        dync__tensor *t = dync__tensor_empty(n->info[0].dtype, n->info[0].device, &lay);
        if (!t) return DYNC_ERR_MEMORY;
        out[k++] = dync_v_tensor(dync__give(t));
        DYNC__TRY(dync__tensor_zero(t));
    }
    return DYNC_OK;
}

/* user: the dync__aot_user. The graph is a functional one, forward or backward. */
static dync_status dync__boxed_compile(void *user, dync__graph *g, bool is_backward,
                                       const dync__options *options, dync__inner *out)
{
    const dync__aot_user *u = user;
    const dync_backend *b = is_backward ? &u->bw : &u->fw;
    dync__boxed *box = dync__calloc(sizeof *box);
    dync_value *examples = dync__calloc((size_t)(g->n_inputs + 1) * sizeof *examples);
    dync_status status = box && examples ? DYNC_OK : DYNC_ERR_MEMORY;
    dync_scope scope = dync_scope_begin();
    if (status == DYNC_OK) status = dync__boxed_examples(g, examples);
    if (status == DYNC_OK)
        status = dync__graph_ask(b, g, examples, g->n_inputs, options->text, &box->code);
    dync_scope_end(&scope);
    dync__free(examples, (size_t)(g->n_inputs + 1) * sizeof *examples);
    if (status == DYNC_OK && !box->code.run)
        status =
            dync__fail(DYNC_ERR_BACKEND, "backend '%s' gave no callable", b->name ? b->name : "?");
    if (status != DYNC_OK) {
        dync__free(box, sizeof *box);
        return status;
    }
    box->graph = dync__graph_ref(g);
    memset(out, 0, sizeof *out);
    out->run = dync__boxed_run;
    out->destroy = dync__boxed_destroy;
    out->state = box;
    return DYNC_OK;
}

/* The compile function of the backend: options of the partitioner are read here, the text goes on
 * to the user's compilers whole. */
static dync_status dync__aot_user_compile(dync_graph *graph, const dync_value *ex, int n,
                                          const char *options, dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "dync_aot_autograd");
    if (!g) return DYNC_ERR_VALUE;
    if (!user) return dync__fail(DYNC_ERR_VALUE, "dync_aot_autograd: the forward compiler is NULL");
    /* the partitioner's; the rest is for the user's compilers */
    dync__options o;
    DYNC__TRY(dync__options_parse(options, "aot_autograd", DYNC__OF_AOT, true, &o));
    return dync__aot_compile(g, ex, n, &o, &((dync__aot_user *)user)->inner, out);
}

/* On failure the backend has no user and refuses every graph. */
DYNC_API dync_backend dync_aot_autograd(const dync_backend *fw_compiler,
                                        const dync_backend *bw_compiler_or_null)
{
    dync_backend b;
    memset(&b, 0, sizeof b);
    b.name = "aot_autograd";
    b.compile = dync__aot_user_compile;
    if (!fw_compiler || !fw_compiler->compile) {
        dync__fail(DYNC_ERR_VALUE, "dync_aot_autograd: expected a forward compiler, got NULL");
        return b;
    }
    dync__raw_calls();
    dync__callable_boxes();
    dync__aot_user *u = dync__calloc(sizeof *u);
    if (!u) return b;
    u->inner = (dync__inner_compiler){.compile = dync__boxed_compile, .user = u, .symbolic = true};
    u->fw = *fw_compiler;
    u->bw = bw_compiler_or_null ? *bw_compiler_or_null : *fw_compiler;
    dync__at_shutdown(dync__aot_users_free);
    dync__lock(&dync__aot_users.lock);
    u->next = dync__aot_users.first;
    dync__aot_users.first = u;
    dync__unlock(&dync__aot_users.lock);
    b.user = u;
    return b;
}

/* ---- the library's own ----------------------------------------------------------------------- */
/* Each graph through the portable program form and back. */
static dync_status dync__aot_ts_graph(dync_graph *graph, const dync_value *ex, int n,
                                      const char *options, dync_callable *out, void *user)
{
    (void)options;
    return dync__backend_ts(graph, ex, n, NULL, out, user);
}
static dync__aot_user dync__aot_ts = {.fw = {.name = "aot_ts", .compile = dync__aot_ts_graph},
                                      .bw = {.name = "aot_ts", .compile = dync__aot_ts_graph}};

/* compile function, what compiles the functional graphs */
/* clang-format off */
#define DYNC__AOT_BACKENDS(X)                                                                                       \
    X(dync__backend_aot_eager, .compile = dync__inner_interpret)                                                    \
    X(dync__backend_aot_eager_default, .compile = dync__inner_interpret, .save_all = true)                          \
    X(dync__backend_aot_eager_decomp, .compile = dync__inner_interpret, .decompose_all = true)                      \
    X(dync__backend_aot_ts, .compile = dync__boxed_compile, .user = &dync__aot_ts, .save_all = true)                \
    X(dync__backend_cudagraphs, .compile = dync__inductor_compile, .user = &dync__aot_ts) /* not NULL: record */    \
    X(dync__backend_inductor, .compile = dync__inductor_compile, .sized = dync__inductor_all_sizes,                 \
      .patterns = true, .variants = true)
/* clang-format on */
#define DYNC__X(fn, ...)                                                                         \
    DYNC__FN dync_status fn(dync_graph *graph, const dync_value *ex, int n, const char *options, \
                            dync_callable *out, void *user)                                      \
    {                                                                                            \
        static const dync__inner_compiler inner = {__VA_ARGS__};                                 \
        static const char own[] = "the backend";                                                 \
        dync__options o;                                                                         \
        dync__graph *g = dync__graph_open(graph, own);                                           \
        if (!g) return DYNC_ERR_VALUE;                                                           \
        (void)user;                                                                              \
        DYNC__TRY(dync__backend_options(fn, options, &o));                                       \
        return dync__aot_compile(g, ex, n, &o, &inner, out);                                     \
    }
DYNC__AOT_BACKENDS(DYNC__X)
#undef DYNC__X
