/* graph/eval.c: graphs run node by node. Before: run.c. */
#include "../dync.in.h"
#include "graph.h"
#include "run.h"
#include "../loop/whole.h"
DYNC__COLD

/* ---- running --------------------------------------------------------------------------------- */

/* Symbolic sizes become those of this run. */
static dync_status dync__env_sizes(dync__frame_env *env, const dync__arg *in, dync__arg *out)
{
    const dync__symtab *t = env->graph->syms;
    bool ok = true;
    if (in->kind == DYNC__A_INT) {
        out->as.i = dync__symtab_value(t, in->as.i, env->value, &ok);
    } else if (in->kind == DYNC__A_FLOAT) {
        out->as.f =
            dync__sf_double(dync__symtab_value(t, dync__sf_bits(in->as.f), env->value, &ok));
    } else {
        int64_t *dims = dync__arena_alloc(env->arena, (size_t)(in->n + 1) * sizeof *dims);
        if (!dims) return DYNC_ERR_MEMORY;
        for (int i = 0; i < in->n; i++)
            dims[i] = dync__symtab_value(t, in->as.dims[i], env->value, &ok);
        out->as.dims = dims;
    }
    return ok ? DYNC_OK
              : dync__fail(DYNC_ERR_INTERNAL, "graph %s: a symbolic size has no value",
                           env->graph->name);
}

/* Symbols in the items of lists that the graph takes. True: one more is known. */
static bool dync__env_bind_items(const dync__graph *g, const dync__arg *args, int64_t *value,
                                 bool *known)
{
    bool more = false;
    for (int i = g->n_inputs; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        const dync__node *list = n->op == DYNC__NODE_GETITEM ? n->args[0].as.node : NULL;
        if (!list || list->kind != DYNC__N_PLACEHOLDER || !n->has_info) continue;
        const dync__arg *a = &args[list->index];
        int64_t item = n->args[1].as.i;
        if (a->kind != DYNC__A_LIST || item >= a->n || a->as.list[item].kind != DYNC__A_TENSOR)
            continue;
        const dync__layout *lay = &a->as.list[item].as.t->lay;
        for (int d = 0; d < n->info[0].lay.ndim && d < lay->ndim; d++)
            if (dync__symtab_solve(g->syms, n->info[0].lay.shape[d], lay->shape[d], value, known))
                more = true;
    }
    return more;
}

/* Solves the graph's symbols from the shapes of the arguments. Items of list inputs may need
 * symbols that others of them give, hence the loop until nothing new is known. */
static dync_status dync__env_bind(dync__frame_env *env, const dync__arg *args, int nargs)
{
    const dync__graph *g = env->graph;
    size_t n = (size_t)g->syms->symbol.n + 1;
    dync__tensor **in = dync__arena_alloc(env->arena, (size_t)(nargs + 1) * sizeof *in);
    bool *known = dync__arena_alloc(env->arena, n * sizeof *known);
    int64_t *value = dync__arena_alloc(env->arena, n * sizeof *value);
    env->value = value;
    env->known = known;
    if (!in || !known || !value) return DYNC_ERR_MEMORY;
    for (int i = 0; i < nargs; i++) in[i] = args[i].kind == DYNC__A_TENSOR ? args[i].as.t : NULL;
    dync__graph_bind(g, in, value, known);
    for (bool more = true; more;) more = dync__env_bind_items(g, args, value, known);
    return DYNC_OK;
}

/* Node references of an argument become the values they stand for; tensors stay borrowed from the
 * environment. */
static dync_status dync__env_read(dync__frame_env *env, const dync__arg *in, dync__arg *out)
{
    const bool sized = !DYNC__SYM_NONE && env->value;
    *out = *in;
    if (in->kind == DYNC__A_NODE) {
        *out = env->slot[in->as.node->index];
        return DYNC_OK;
    }
    if (sized && (in->kind == DYNC__A_INT || in->kind == DYNC__A_FLOAT || in->kind == DYNC__A_DIMS))
        return dync__env_sizes(env, in, out);
    if (sized && in->kind == DYNC__A_GRAPH) {
        DYNC__TRY(
            dync__graph_concrete_in(in->as.graph, env->graph->syms, env->value, &out->as.graph));
        if (dync__avec_push(env->arena, &env->inside, out->as.graph)) return DYNC_OK;
        dync__graph_unref(out->as.graph);
        return DYNC_ERR_MEMORY;
    }
    if (in->kind != DYNC__A_LIST) return DYNC_OK;
    out->as.list = dync__arena_alloc(env->arena, (size_t)in->n * sizeof(dync__arg));
    if (!out->as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < in->n; i++)
        DYNC__TRY(dync__env_read(env, &in->as.list[i], &out->as.list[i]));
    return DYNC_OK;
}

/* Arithmetic on plain numbers: nodes of symbolic integers and cells. */
static dync_status dync__run_number(const dync__node *node, const dync__arg *a, dync__arg *out)
{
    if (node->nargs == 2 && dync__arg_is_number(&a[0]) && dync__arg_is_number(&a[1])) {
        bool is_float = a[0].kind == DYNC__A_FLOAT || a[1].kind == DYNC__A_FLOAT;
        double x = dync__arg_number(&a[0]), y = dync__arg_number(&a[1]);
        uint64_t i = (uint64_t)a[0].as.i, j = (uint64_t)a[1].as.i; /* integers wrap */
        switch (node->op) {
        case DYNC__OP_add:
            *out = is_float ? dync__arg_f(x + y) : dync__arg_i((int64_t)(i + j));
            return DYNC_OK;
        case DYNC__OP_sub:
            *out = is_float ? dync__arg_f(x - y) : dync__arg_i((int64_t)(i - j));
            return DYNC_OK;
        case DYNC__OP_mul:
            *out = is_float ? dync__arg_f(x * y) : dync__arg_i((int64_t)(i * j));
            return DYNC_OK;
        case DYNC__OP_floor_divide:
            if (is_float) {
                *out = dync__arg_f(dync__floor(x / y));
            } else {
                if (j == 0)
                    return dync__fail(DYNC_ERR_VALUE, "%s: integer division by zero", node->name);
                int64_t p = a[0].as.i, q = a[1].as.i;
                int64_t d = q == -1 ? (int64_t)(0 - i) : p / q;
                *out = dync__arg_i(q != -1 && p % q != 0 && (p < 0) != (q < 0) ? d - 1 : d);
            }
            return DYNC_OK;
        default: break;
        }
    }
    return dync__fail(DYNC_ERR_INTERNAL, "graph node %s: %s of numbers cannot be run", node->name,
                      node->target);
}

/* At least one, and no tensor. */
static bool dync__all_numbers(const dync__arg *a, int n)
{
    for (int i = 0; i < n; i++)
        if (!dync__arg_is_number(&a[i])) return false;
    return n > 0;
}

/* *out gets a reference of its own: the list and the item may be released in any order. */
static dync_status dync__run_getitem(const dync__node *node, const dync__arg *args, dync__arg *out)
{
    int64_t i = args[1].as.i;
    if (args[0].kind != DYNC__A_LIST || i < 0 || i >= args[0].n)
        return dync__fail(DYNC_ERR_VALUE, "graph node %s: expected a list of more than %lld values",
                          node->name, (long long)i);
    *out = args[0].as.list[i];
    dync__arg_retain(out);
    return DYNC_OK;
}

/* One operator; *out takes the references. */
static dync_status dync__run_operator(dync__frame_env *env, dync__node *node, dync__arg *args,
                                      dync__arg *out)
{
    static const char own[] = "graph node %s: no operator named %s";
    dync__tensor *t[DYNC__MAX_OUT] = {0};
    dync_loc outer = dync__tls.at;
    const dync__node *around = dync__tls.interpreted;
    dync__tls.at = node->at;
    dync__tls.interpreted = node;
    dync_status status;
    /* What a decomposition makes belongs to the innermost scope: one of its own, so that
     * temporaries die with the node. */
    dync_scope scope = dync_scope_begin();
    /* registered later? the table's own were found when the node was made */
    int op = node->op >= 0 || node->callee ? node->op : dync__custom_find(node->target);
    dync_status (*custom_call)(dync__node *, int nargs, dync__arg *args, dync__tensor **out) =
        node->callee ? DYNC__ATOMIC_LOAD(&dync__graph_custom_call) : NULL;
    if (custom_call)
        status = custom_call(node, node->nargs, args, t);
    else if (op >= 0)
        status = (dync__op_run)(op, node->nargs, args, t);
    else
        status = dync__fail(DYNC_ERR_VALUE, own, node->name, node->target);
    dync_scope_end(&scope);
    dync__tls.at = outer;
    dync__tls.interpreted = around;
    if (status != DYNC_OK) return status;
    if (node->nout == 1) {
        *out = dync__arg_t(t[0]);
    } else if (node->nout > 1) {
        *out = (dync__arg){.kind = DYNC__A_LIST, .n = node->nout};
        out->as.list = dync__arena_alloc(env->arena, (size_t)node->nout * sizeof(dync__arg));
        for (int i = 0; i < node->nout; i++) {
            if (out->as.list)
                out->as.list[i] = dync__arg_t(t[i]);
            else
                dync__unref(t[i]);
        }
        if (!out->as.list) {
            *out = dync__arg_none();
            return DYNC_ERR_MEMORY;
        }
    }
    return DYNC_OK;
}

/* What data decide is known from here on. */
static void dync__env_tell(dync__frame_env *env, const dync__node *node, const dync__arg *out)
{
    const dync__tensor *t = out->kind == DYNC__A_TENSOR ? out->as.t : NULL;
    if (!env->known || !t || !node->has_info || !dync__node_has(node, DYNC__OP_DATA_SHAPE)) return;
    for (int d = 0; d < node->info[0].lay.ndim && d < t->lay.ndim; d++)
        (void)dync__symtab_solve(env->graph->syms, node->info[0].lay.shape[d], t->lay.shape[d],
                                 env->value, env->known);
}

/* An element as a number. */
static dync_status dync__run_element(const dync__arg *args, dync__arg *out)
{
    dync__tensor *t = args[0].kind == DYNC__A_TENSOR ? args[0].as.t : NULL;
    uint64_t errors = dync__error_count();
    *out = dync__arg_f(t ? (dync_item)(dync__handle(t)) : 0);
    return dync__error_count() == errors ? DYNC_OK : dync_error();
}

/* *out takes the references of the node's value. Arguments stay borrowed from the slots, which
 * outlive the call. */
static dync_status dync__run_node(dync__frame_env *env, dync__node *node, dync__arg *out)
{
    dync__arg few[DYNC__MAX_ARGS], *args = few;
    dync_status status = DYNC_OK;
    if (node->nargs > DYNC__MAX_ARGS) {
        args = dync__arena_alloc(env->arena, (size_t)node->nargs * sizeof *args);
        if (!args) return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < node->nargs; i++) DYNC__TRY(dync__env_read(env, &node->args[i], &args[i]));
    switch (node->kind) {
    case DYNC__N_GET_ATTR:
        if (!node->value)
            return dync__fail(DYNC_ERR_VALUE, "graph: attribute %s has no value", node->target);
        *out = dync__arg_t(node->value);
        dync__ref(node->value);
        return DYNC_OK;
    case DYNC__N_OUTPUT:
        *out = args[0];
        dync__arg_retain(out);
        return DYNC_OK;
    case DYNC__N_CALL_FUNCTION:
    case DYNC__N_CALL_METHOD:
        if (node->op == DYNC__NODE_GETITEM) return dync__run_getitem(node, args, out);
        if (dync__all_numbers(args, node->nargs) && !node->has_info && node->nout == 1)
            return dync__run_number(node, args, out);
        if (dync__op_is_item(node->op) && !node->has_info) return dync__run_element(args, out);
        if (env->writes && env->writes->run(env->writes, env, node, args, &status, out))
            return status;
        DYNC__TRY(dync__node_within(env->graph, node, env->value));
        DYNC__TRY(dync__run_operator(env, node, args, out));
        dync__env_tell(env, node, out);
        return DYNC_OK;
    default:
        return dync__fail(DYNC_ERR_INTERNAL,
                          "graph node %s: a call of module %s cannot be interpreted", node->name,
                          node->target);
    }
}

/* In execution order, so the last one stays. */
static void dync__note_use(void *user, dync__arg *arg)
{
    dync__frame_env *env = user;
    env->last_use[arg->as.node->index] = env->reader;
}

/* An argument that names the same node twice releases it once: the slot is NONE afterwards. */
static void dync__release_if_last(void *user, dync__arg *arg)
{
    dync__frame_env *env = user;
    int i = arg->as.node->index;
    if (env->last_use[i] == env->reader) dync__arg_release(&env->slot[i]);
}

DYNC__FN dync_status dync__graph_eval(dync__graph *g, const dync__arg *args, int nargs,
                                      dync__arena *arena, dync__arg *out)
{
    return dync__graph_eval_sized(g, NULL, args, nargs, arena, out);
}

/* value: the numbers of the graph's symbols, or NULL to solve them from the arguments. *out owns
 * its references (dync__arg_release); its lists lie in the arena. On failure *out is NONE and
 * all slots are released. */
DYNC__FN dync_status dync__graph_eval_sized(dync__graph *g, const int64_t *value,
                                            const dync__arg *args, int nargs, dync__arena *arena,
                                            dync__arg *out)
{
    return dync__graph_eval_all(g, NULL, value, args, nargs, arena, out);
}

DYNC__FN dync_status dync__graph_eval_all(dync__graph *g, const dync__eval_writes *writes,
                                          const int64_t *value, const dync__arg *args, int nargs,
                                          dync__arena *arena, dync__arg *out)
{
    *out = dync__arg_none();
    if (!g || g->failed || g->node.n == 0 || g->node.at[g->node.n - 1]->kind != DYNC__N_OUTPUT)
        return dync__fail(DYNC_ERR_VALUE, "graph: expected a finished graph");
    if (nargs != g->n_inputs)
        return dync__fail(DYNC_ERR_VALUE, "graph %s: expected %d inputs, got %d", g->name,
                          g->n_inputs, nargs);
    dync__frame_env env = {.graph = g, .arena = arena, .writes = writes};
    env.slot = dync__arena_alloc(arena, (size_t)g->node.n * sizeof *env.slot);
    env.last_use = dync__arena_alloc(arena, (size_t)g->node.n * sizeof *env.last_use);
    if (!env.slot || !env.last_use) return DYNC_ERR_MEMORY;
    env.value = (int64_t *)(uintptr_t)value; /* written only where it is env's */
    if (g->syms && !value) DYNC__TRY(dync__env_bind(&env, args, nargs));
    for (int i = 0; i < g->node.n; i++) {
        env.reader = env.last_use[i] = i;
        dync__node_each_input(g->node.at[i], dync__note_use, &env);
    }
    dync_status status = DYNC_OK;
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++) {
        dync__node *node = g->node.at[i];
        env.reader = i;
        if (node->kind == DYNC__N_PLACEHOLDER) {
            env.slot[i] = args[i];
            dync__arg_retain(&env.slot[i]);
        } else {
            status = dync__run_node(&env, node, node->kind == DYNC__N_OUTPUT ? out : &env.slot[i]);
            dync__node_each_input(node, dync__release_if_last, &env);
        }
        if (env.last_use[i] == i) dync__arg_release(&env.slot[i]);
    }
    for (int i = 0; i < g->node.n; i++) dync__arg_release(&env.slot[i]);
    for (int i = 0; i < env.inside.n; i++) dync__graph_unref(env.inside.at[i]);
    return status;
}

DYNC_API dync_value dync_graph_run(dync_graph *graph, const dync_value *args, int nargs)
{
    dync__graph *g = dync__graph_open(graph, "dync_graph_run");
    return g ? dync__graph_run(g, args, nargs) : DYNC_NONE;
}

DYNC__FN dync_value dync__graph_run(dync__graph *g, const dync_value *args, int nargs)
{
    dync__arena arena = {0};
    dync__arg out = {0}, *in = NULL;
    dync_value result = DYNC_NONE;
    if (nargs < 0 || (nargs > 0 && !args)) {
        dync__fail(DYNC_ERR_VALUE, "dync_graph_run: expected a graph and its arguments, got no "
                                   "arguments");
        return result;
    }
    in = dync__arena_alloc(&arena, (size_t)nargs * sizeof *in);
    dync_status status = in ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < nargs && status == DYNC_OK; i++)
        status = dync__value_to_arg(&arena, args[i], &in[i]);
    if (status == DYNC_OK) status = dync__graph_eval(g, in, nargs, &arena, &out);
    if (status == DYNC_OK) result = dync__arg_to_value(&out);
    dync__arena_free(&arena);
    return result;
}
