/* quantize/call.c: a node called as it is, over the values of the walk. After scheme.c. */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

/* recursion: lists in lists Nodes become their values of this walk as floats; lists are copied into
 * the arena. */
static dync_status dync__quant_arg(dync__quantizer *z, const dync__arg *in, dync__arg *out)
{
    *out = *in;
    if (in->kind == DYNC__A_NODE) *out = dync__quant_plain(z, in->as.node);
    if (in->kind == DYNC__A_NODE && out->kind == DYNC__A_NONE)
        return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    if (in->kind != DYNC__A_LIST) return DYNC_OK;
    out->as.list = dync__arena_alloc(&z->arena, (size_t)(in->n + 1) * sizeof *out);
    if (!out->as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < in->n; i++)
        DYNC__TRY(dync__quant_arg(z, &in->as.list[i], &out->as.list[i]));
    return DYNC_OK;
}

/* args: room for n->nargs. */
DYNC__FN dync_status dync__quant_args(dync__quantizer *z, const dync__node *n, dync__arg *args)
{
    for (int i = 0; i < n->nargs; i++) DYNC__TRY(dync__quant_arg(z, &n->args[i], &args[i]));
    return DYNC_OK;
}

/* Results belong to the scope. *out: the tensor, or for several outputs a list of the arena. */
DYNC__FN dync_status dync__quant_call(dync__quantizer *z, const dync__node *n, dync__arg *args,
                                      dync__arg *out)
{
    dync__tensor *t[DYNC__MAX_OUT] = {0};
    DYNC__TRY((dync__op_run)(n->op, n->nargs, args, t));
    dync__arg *item = dync__arena_alloc(&z->arena, (size_t)(n->nout + 1) * sizeof *item);
    for (int i = 0; i < n->nout; i++) {
        dync_tensor *given = dync__give(t[i]);
        if (item) item[i] = dync__arg_t(t[i]);
        if (t[i] && !given) item = NULL;
    }
    if (!item) return DYNC_ERR_MEMORY;
    *out = item[0];
    if (n->nout != 1) *out = (dync__arg){.kind = DYNC__A_LIST, .n = n->nout, .as.list = item};
    return DYNC_OK;
}
