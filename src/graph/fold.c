/* graph/fold.c: operators whose tensors are all constants of the graph run once, now. Before dce.c,
 * which drops what they read.
 *
 * Only constants (dync__node_is_constant) of graphs without writes: parameters and buffers change
 * between calls. A result that would be much larger than what it comes from stays an operator. */
#include "../dync.in.h"
#include "graph.h"

enum { DYNC__FOLD_ELEMENTS = 4096 };

typedef struct dync__fold_inputs {
    int tensors;
    bool constant;
} dync__fold_inputs;
static void dync__fold_input(void *user, dync__arg *arg)
{
    dync__fold_inputs *f = user;
    f->tensors++;
    f->constant = f->constant && dync__node_is_constant(arg->as.node) && arg->as.node->value;
}

static bool dync__fold_wanted(dync_node *node)
{
    dync__fold_inputs f = {0, true};
    int64_t numel;
    if (node->op < 0 || node->nout != 1 || !node->has_info || node->requires_grad[0] ||
        !dync__node_is_pure(node))
        return false;
    dync__node_each_input(node, dync__fold_input, &f);
    if (f.tensors == 0 || !f.constant) return false;
    return dync__numel(node->info[0].lay.ndim, node->info[0].lay.shape, &numel) == DYNC_OK &&
           numel <= DYNC__FOLD_ELEMENTS;
}

/* Runs a node of constants without tape or tracer. */
static dync_status dync__fold_run(dync_node *node, dync__tensor **out)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync__arena arena = {0};
    dync_status status = node->nargs <= DYNC__MAX_ARGS ? DYNC_OK : DYNC_ERR_INTERNAL;
    for (int i = 0; i < node->nargs && status == DYNC_OK; i++) {
        if (!dync__arg_copy(&arena, &node->args[i], &args[i])) status = DYNC_ERR_MEMORY;
        if (args[i].kind == DYNC__A_NODE) args[i] = dync__arg_t(args[i].as.node->value);
        for (int k = 0; args[i].kind == DYNC__A_LIST && k < args[i].n; k++)
            if (args[i].as.list[k].kind == DYNC__A_NODE)
                args[i].as.list[k] = dync__arg_t(args[i].as.list[k].as.node->value);
    }
    if (status == DYNC_OK) {
        dync__handler *stack = dync__handler_swap(NULL);
        bool grad = dync_grad_mode_push(false);
        dync_scope scope = dync_scope_begin();
        status = dync__op_run(node->op, node->nargs, args, out);
        dync_scope_end(&scope);
        dync_grad_mode_pop(grad);
        (void)dync__handler_swap(stack);
    }
    dync__arena_free(&arena);
    return status;
}

DYNC__FN dync_status dync__graph_fold(dync_graph *g)
{
    if (dync__graph_has_writes(g)) return DYNC_OK;
    int n = g->node.n; /* new constants are put behind, then moved to their node's place */
    for (int i = 0; i < n; i++) {
        dync_node *node = g->node.at[i];
        dync__tensor *value = NULL;
        if (!dync__fold_wanted(node)) continue;
        DYNC__TRY(dync__fold_run(node, &value));
        dync_node *constant = dync__graph_constant(g, value);
        dync__unref(value);
        if (!constant) return DYNC_ERR_MEMORY;
        g->node.n--;
        g->node.at[i] = constant;
        dync__node_replace_all(g, node, constant);
    }
    return DYNC_OK;
}
