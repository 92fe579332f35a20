/* autograd/cell.c: trace_wrapped, and cells: numbers of the user's that a compiled function reads
 * and sets. Before: function_graph.c. */
#include "../dync.in.h"
#include "node.h"
#include "grads.h"
#include "function.h"
DYNC__COLD

DYNC_API dync_tensor *dync_trace_wrapped(dync_tensor *grad, dync_hook fn, void *user)
{
    dync_tensor *result = NULL;
    if (!dync__open(grad)) return NULL;
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "dync_trace_wrapped", NULL);
    if (!fn) return dync__fail(DYNC_ERR_VALUE, "dync_trace_wrapped: the function is NULL"), NULL;
    /* capture goes through the function, as Dynamo does */
    if (dync__tls.compiling) {
        result = fn(grad, user);
        return result ? result : grad;
    }
    dync__arg args[2] = {dync__arg_h(grad), dync__arg_i(dync__hook_number(fn, user))};
    return args[1].as.i < 0 ? NULL : dync__op_call(DYNC__OP_trace_wrapped, 2, args, dync__tls.at);
}

/* The hook sees the gradient as one node of a backward graph, each time that runs; where the
 * history of gradients is kept, as it is. */
DYNC__FN dync_status dync__g_hooked(dync__grad *g)
{
    dync__arg args[2] = {dync__arg_h(g->grad_out[0]), g->call->args[1]};
    dync_hook fn;
    void *user;
    if (dync__grad_is_off() || !dync__hook_of(args[1].as.i, &fn, &user)) {
        dync_tensor *r = dync__op_call(DYNC__OP_trace_wrapped, 2, args, dync__tls.at);
        return r ? dync__grad_set(g, 0, r) : dync__pending_or(DYNC_ERR_RUNTIME);
    }
    uint64_t errors = dync__error_count();
    dync_tensor *r = fn(g->grad_out[0], user);
    if (dync__error_count() != errors) return dync__pending_or(DYNC_ERR_RUNTIME);
    return dync__grad_set(g, 0, r ? r : g->grad_out[0]);
}

static bool dync__cell_holds(dync_value v)
{
    return v.kind == DYNC_KIND_INT || v.kind == DYNC_KIND_FLOAT || v.kind == DYNC_KIND_BOOL;
}

static void dync__cell_free(dync__cell *cell)
{
    dync__object_end(&cell->root.object);
    dync__root_set(&cell->root, NULL);
    dync__free(cell, sizeof *cell);
}
static void dync__cell_end(dync__root *r) { dync__cell_free((dync__cell *)(void *)r); }

DYNC__MEETING(cells)

/* The id is not used again, so a guard on a cell that was freed cannot meet another one. */
DYNC_API dync_cell *dync_cell_new(const char *name, dync_value initial)
{
    static uint64_t last_id;
    DYNC__MEET(cells);
    const char *text = dync__intern(name ? name : "cell");
    if (!dync__cell_holds(initial))
        return dync__fail(DYNC_ERR_VALUE, "dync_cell_new: expected a number"), NULL;
    dync__cell *cell = text ? dync__calloc(sizeof *cell) : NULL;
    if (!cell) return NULL;
    cell->name = text;
    cell->value = initial;
    cell->id = (uint64_t)DYNC__ATOMIC_INC(&last_id);
    dync__root_set(&cell->root, dync__cell_end);
    dync__object_made(&cell->root.object);
    dync_cell *handle = dync__cell_handle(cell);
    if (!handle) dync__cell_free(cell);
    return handle;
}

DYNC_API void dync_cell_free(dync_cell *handle)
{
    dync__cell *cell = handle ? dync__cell_open(handle, "dync_cell_free") : NULL;
    if (cell) dync__cell_free(cell);
}

DYNC_API void dync_cell_set(dync_cell *handle, dync_value value)
{
    const dync__grad_intercept *traced = dync__grad_intercepted();
    dync__cell *cell = dync__cell_open(handle, "dync_cell_set");
    if (!cell) return;
    if (traced && traced->cell_set && traced->cell_set(cell, value)) return;
    if (!dync__cell_holds(value)) {
        dync__fail(DYNC_ERR_VALUE, "dync_cell_set: expected a number");
        return;
    }
    cell->value = value;
}

DYNC_API dync_value dync_cell_get(dync_cell *handle)
{
    const dync__grad_intercept *traced = dync__grad_intercepted();
    dync_value result = DYNC_NONE;
    dync__cell *cell = dync__cell_open(handle, "dync_cell_get");
    if (!cell) return result;
    if (traced && traced->cell_get && traced->cell_get(cell, &result)) return result;
    return cell->value;
}
