/* autograd/tape_rules.c: what the rules of gradients read of a call and how they answer. Before:
 * tape.c. */
#include "../dync.in.h"
#include "node.h"
#include "tape.h"
DYNC__WARM

/* ---- what rules read ------------------------------------------------------------------------- */

static const dync__opsave *dync__grad_save(const dync__grad *g) { return g->node->state; }

DYNC__FN dync_tensor *dync__grad_arg(dync__grad *g, int i)
{
    const dync__opsave *save = dync__grad_save(g);
    dync__tensor *t = NULL;
    if (i < 0 || i >= save->n_in) return NULL;
    if (dync__unsave(&save->in[i], g->node->edge[i].node, g->node->edge[i].nr, true, &t) != DYNC_OK)
        return NULL;
    return dync__give(t);
}

DYNC__FN dync_tensor *dync__grad_output(dync__grad *g, int i)
{
    const dync__opsave *save = dync__grad_save(g);
    dync__tensor *t = NULL;
    bool history = i < save->rule->n_diff && dync__is_float_dtype(g->node->out[i].dtype);
    dync__gnode *slices = history && !dync__grad_is_off() && save->out[i].t ? g->node->slices
                                                                            : NULL;
    /* else it would run here and within slices */
    dync__gnode *node = slices ? dync__slices_part(slices, save->out[i].t) : g->node;
    dync_status status = node ? dync__unsave(&save->out[i], node, i, history, &t) : DYNC_ERR_MEMORY;
    if (slices) dync__gnode_unref(node);
    return status == DYNC_OK ? dync__give(t) : NULL;
}

/* recursion: lists. How many tensors an argument has, lists flattened. */
DYNC__FN int dync__arg_tensors(const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) return 1;
    int n = 0;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        n += dync__arg_tensors(&a->as.list[i]);
    return n;
}

DYNC__FN int dync__grad_index(const dync__grad *g, int position)
{
    int i = 0;
    for (int p = 0; p < position; p++) i += dync__arg_tensors(&g->call->args[p]);
    return position < g->call->nargs && dync__arg_tensors(&g->call->args[position]) ? i : -1;
}

DYNC__FN dync_dims dync__grad_shape(const dync__grad *g, int i)
{
    const dync__ginfo *info = &dync__grad_save(g)->info[i];
    dync_dims dims = {0};
    dims.n = info->ndim;
    memcpy(dims.d, info->dims, (size_t)info->ndim * sizeof *info->dims);
    return dims;
}

DYNC__RARE DYNC__FN int dync__grad_dtype(const dync__grad *g, int i)
{
    return dync__grad_save(g)->info[i].dtype;
}
DYNC__RARE DYNC__FN int dync__grad_device(const dync__grad *g, int i)
{
    return dync__grad_save(g)->info[i].device;
}

DYNC__FN dync__layout dync__grad_layout(const dync__grad *g, int i)
{
    const dync__ginfo *info = &dync__grad_save(g)->info[i];
    dync__layout lay = {0};
    lay.ndim = info->ndim;
    memcpy(lay.shape, info->dims, (size_t)info->ndim * sizeof *info->dims);
    memcpy(lay.stride, info->dims + info->ndim, (size_t)info->ndim * sizeof *info->dims);
    lay.offset = info->dims[2 * info->ndim];
    return lay;
}

/* The sum over what broadcasting repeated, in the argument's shape. */
static dync_tensor *dync__grad_reduce(dync_tensor *h, const dync__tensor *t,
                                      const dync__ginfo *info)
{
    dync_dims dims = {0}, shape = {0};
    int lead = t->lay.ndim - info->ndim;
    shape.n = info->ndim;
    memcpy(shape.d, info->dims, (size_t)info->ndim * sizeof *info->dims);
    if (lead < 0) {
        dync__fail(DYNC_ERR_SHAPE, "a gradient has %d dimensions, its tensor %d", t->lay.ndim,
                   (int)info->ndim);
        return NULL;
    }
    for (int d = 0; d < lead; d++) dims.d[dims.n++] = d;
    for (int d = lead; d < t->lay.ndim; d++) {
        if (dync__sz_eq(info->dims[d - lead], t->lay.shape[d])) continue;
        if (info->dims[d - lead] != 1) {
            dync__fail(DYNC_ERR_SHAPE, "a gradient has size %lld in dimension %d, its tensor %lld",
                       (long long)dync__sz_hint(t->lay.shape[d]), d,
                       (long long)info->dims[d - lead]);
            return NULL;
        }
        dims.d[dims.n++] = d;
    }
    if (dims.n) h = dync_sum(h, dims, true);
    return lead ? dync_reshape(h, shape) : h;
}

DYNC__FN dync_status dync__grad_set(dync__grad *g, int i, dync_tensor *h)
{
    if (i < 0 || i >= g->n_in || !g->needed[i]) return DYNC_OK;
    const dync__ginfo *info = &dync__grad_save(g)->info[i];
    const dync__tensor *t = h ? dync__open(h) : NULL;
    if (t) h = dync__grad_reduce(h, t, info);
    if (h && t && t->dtype != info->dtype) h = dync_to_dtype(h, (dync_dtype)info->dtype);
    if (!t || !h) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    g->grad_in[i] = h;
    return DYNC_OK;
}
