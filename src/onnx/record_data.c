/* onnx/record_data.c: values whose size data decide, while a model becomes a graph: what NonZero,
 * Compress and NonMaxSuppression give. Before record.c.
 *
 * The size is a symbol that nothing tells before a run (tensor/sym_data.c). Exporters write one
 * mask's NonZero before each tensor that it chooses from; of two sizes nothing says that they are
 * equal, so the same call on the same values is the same value. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

enum { DYNC__ONNX_ALIKE = 8 }; /* operators above one another that are compared */

static bool dync__onnx_same_node(const dync__node *a, const dync__node *b, int depth);

/* recursion: lists, and the values that went in */
static bool dync__onnx_same_args(int n, const dync__arg *a, const dync__arg *b, int depth)
{
    for (int i = 0; i < n; i++) {
        bool same = a[i].kind == b[i].kind && a[i].n == b[i].n;
        switch (same ? a[i].kind : DYNC__A_NONE) {
        case DYNC__A_NONE: break;
        case DYNC__A_NODE:
            same = dync__onnx_same_node(a[i].as.node, b[i].as.node, depth - 1);
            break;
        case DYNC__A_LIST:
            same = dync__onnx_same_args(a[i].n, a[i].as.list, b[i].as.list, depth);
            break;
        case DYNC__A_DIMS:
            same = memcmp(a[i].as.dims, b[i].as.dims, (size_t)a[i].n * sizeof(int64_t)) == 0;
            break;
        case DYNC__A_STR: same = strcmp(a[i].as.s, b[i].as.s) == 0; break;
        case DYNC__A_FLOAT: same = memcmp(&a[i].as.f, &b[i].as.f, sizeof a[i].as.f) == 0; break;
        default: same = a[i].as.i == b[i].as.i;
        }
        if (!same) return false;
    }
    return true;
}

/* Do both give the same? false also where that was not found out. */
static bool dync__onnx_same_node(const dync__node *a, const dync__node *b, int depth)
{
    if (a == b) return true;
    return depth > 0 && dync__node_is_call(a) && a->kind == b->kind && a->op == b->op &&
           !dync__node_has(a, DYNC__OP_RANDOM) && a->nargs == b->nargs && a->nout == b->nout &&
           dync__onnx_same_args(a->nargs, a->args, b->args, depth);
}

/* An earlier call of the operator on the same. */
static const dync__node *dync__onnx_data_before(const dync__onnx_recorder *r, const dync__opcall *c,
                                                const dync__arg *node)
{
    for (int i = r->graph->n_inputs; i < r->graph->node.n; i++) {
        const dync__node *n = r->graph->node.at[i];
        if (dync__node_is_call(n) && n->op == c->op && n->nargs == c->nargs &&
            dync__onnx_same_args(c->nargs, n->args, node, DYNC__ONNX_ALIKE))
            return n;
    }
    return NULL;
}

/* The type of the result, whose size is a symbol that a run tells. */
static dync_status dync__onnx_data_info(dync__onnx_recorder *r, const dync__opcall *c,
                                        dync__info *out)
{
    int64_t least, most;
    if (!dync__tls.syms || !dync__op_is_counted(c->op) ||
        dync__tls.syms->symbol.n >= DYNC__PROGRAM_SYMBOLS)
        return dync__fail(DYNC_ERR_DATA_PTR, "%s: its shape depends on data", c->row->name);
    DYNC__TRY(dync__data_range(c, &least, &most));
    int64_t size = dync__symtab_data(dync__tls.syms, r->n_data++, least,
                                     dync__is_token(most) ? DYNC__SZ_MOST : most);
    return size < 0 ? dync__fail_memory(0) : dync__data_type(c, size, out);
}

DYNC__FN dync_status dync__onnx_data_fake(dync__onnx_recorder *r, dync__opcall *c,
                                          const dync__arg *node, const dync__node **before)
{
    dync__info info;
    *before = dync__onnx_data_before(r, c, node);
    if (*before)
        info = (*before)->info[0];
    else
        DYNC__TRY(dync__onnx_data_info(r, c, &info));
    c->out[0] = dync__tensor_fake(info.dtype, info.device, &info.lay);
    c->nout = c->out[0] != NULL;
    bool made = c->nout &&
                (!*before || dync__map_put(&r->node, c->out[0]->id, (uint64_t)(uintptr_t)*before));
    return made ? DYNC_OK : DYNC_ERR_MEMORY;
}
