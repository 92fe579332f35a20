/* graph/run.c: the interpreter: a graph run node by node through dispatch. Before it graph.c; after
 * it every backend that runs a graph as it is.
 *
 * One environment slot per node holds its value with a reference; the slot is emptied after the
 * node's last use, so memory peaks where eager execution's would. Operators go through
 * dync__op_run, from the top of the handler stack: the tape and tracers see each call as if user
 * code had made it. It is also the oracle that compiled code is compared with. */
#include "../dync.in.h"
#include "graph.h"
#include "run.h"
DYNC__COLD

/* One more reference on every tensor in it. */
DYNC__FN void dync__arg_retain(const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) dync__ref(a->as.t);
    if (a->kind == DYNC__A_LIST)
        for (int i = 0; i < a->n; i++) dync__arg_retain(&a->as.list[i]);
}

/* Lists may be shared between slots, so what they hold is given up but not erased. */
static void dync__arg_drop(const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) dync__unref(a->as.t);
    if (a->kind == DYNC__A_LIST)
        for (int i = 0; i < a->n; i++) dync__arg_drop(&a->as.list[i]);
}

DYNC__FN void dync__arg_release(dync__arg *a)
{
    dync__arg_drop(a);
    *a = dync__arg_none();
}

/* ---- public values to arguments and back ----------------------------------------------------- */

/* Tensors are borrowed from their handles, lists lie in the arena, strings and pointers are
 * shared with v. The handle of a freed tensor is an error. */
DYNC__FN dync_status dync__value_to_arg(dync__arena *arena, dync_value v, dync__arg *out)
{
    switch (v.kind) {
    case DYNC_KIND_NONE: *out = dync__arg_none(); return DYNC_OK;
    case DYNC_KIND_BOOL: *out = dync__arg_b(v.as.b); return DYNC_OK;
    case DYNC_KIND_INT: *out = dync__arg_i(v.as.i); return DYNC_OK;
    case DYNC_KIND_FLOAT: *out = dync__arg_f(v.as.f); return DYNC_OK;
    case DYNC_KIND_STR: *out = dync__arg_s(v.as.s); return DYNC_OK;
    case DYNC_KIND_TENSOR: {
        dync__tensor *t = dync__open(v.as.t);
        *out = dync__arg_t(t);
        return t ? DYNC_OK : DYNC_ERR_VALUE;
    }
    case DYNC_KIND_LIST: {
        const dync__list *l = dync__value_list(v);
        if (!l && v.as.l) return DYNC_ERR_VALUE;
        int n = l ? l->n : 0;
        *out = (dync__arg){.kind = DYNC__A_LIST, .n = n};
        out->as.list = dync__arena_alloc(arena, (size_t)n * sizeof(dync__arg));
        if (!out->as.list) return DYNC_ERR_MEMORY;
        for (int i = 0; i < n; i++)
            DYNC__TRY(dync__value_to_arg(arena, l->items[i], &out->as.list[i]));
        return DYNC_OK;
    }
    case DYNC_KIND_PTR:
        *out = (dync__arg){.kind = DYNC__A_PTR};
        out->as.p = v.as.p;
        return DYNC_OK;
    default: break;
    }
    return dync__fail(DYNC_ERR_VALUE,
                      "expected a tensor, a number or a list, got a value of kind %d", (int)v.kind);
}

/* Takes the argument's references over: tensors go to the innermost scope. */
DYNC__FN dync_value dync__arg_to_value(const dync__arg *a)
{
    switch (a->kind) {
    case DYNC__A_TENSOR: return dync_v_tensor(dync__give(a->as.t));
    case DYNC__A_INT: return dync_v_int(a->as.i);
    case DYNC__A_FLOAT: return dync_v_float(a->as.f);
    case DYNC__A_BOOL: return dync_v_bool(a->as.i != 0);
    case DYNC__A_STR: return dync_v_str(a->as.s);
    case DYNC__A_LIST: {
        dync_value list = dync__list_new(a->n);
        /* without memory for the list the tensors go to the scope all the same */
        for (int i = 0; i < a->n; i++) dync__list_set(list, i, dync__arg_to_value(&a->as.list[i]));
        return list;
    }
    default: return DYNC_NONE;
    }
}
