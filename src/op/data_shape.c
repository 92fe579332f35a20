/* op/data_shape.c: the types of results whose size data decide, given that size. Before
 * graph/types.c and capture/data.c, which know it as a symbol. */
#include "../dync.in.h"
#include "op.h"
DYNC__COLD

DYNC__FN bool dync__op_is_counted(int op)
{
    return op == DYNC__OP_nonzero || op == DYNC__OP_masked_select || op == DYNC__OP_unique ||
           dync__op_is_nms(op) || dync__op_is_item(op);
}

static dync_status dync__data_selected(const dync__opcall *c, int64_t *most)
{
    const dync__tensor *x = c->args[0].as.t, *mask = c->args[1].as.t;
    int64_t shape[DYNC_MAX_DIMS];
    int n;
    if (mask->dtype != DYNC_BOOL)
        return dync__fail(DYNC_ERR_DTYPE, "expected mask to be a bool tensor, got dtype %s",
                          dync__dtype_info(mask->dtype)->name);
    DYNC__TRY(
        dync__broadcast(x->lay.ndim, x->lay.shape, mask->lay.ndim, mask->lay.shape, &n, shape));
    *most = 1;
    for (int d = 0; d < n; d++) *most = dync__sz_mul(*most, shape[d]);
    return DYNC_OK;
}

/* *most may be symbolic. Of at least one element there is at least one that differs. */
DYNC__FN dync_status dync__data_range(const dync__opcall *c, int64_t *least, int64_t *most)
{
    const dync__tensor *x = c->args[0].as.t;
    bool item = dync__op_is_item(c->op);
    *least = item ? -DYNC__ITEM_MOST
                  : c->op == DYNC__OP_unique && !dync__is_token(x->numel) && x->numel > 0;
    *most = item ? DYNC__ITEM_MOST : x->numel;
    if (dync__op_is_nms(c->op)) *most = c->args[1].as.t->numel;
    return c->op == DYNC__OP_masked_select ? dync__data_selected(c, most) : DYNC_OK;
}

/* size: of the result; of an element as a number, the number itself */
DYNC__FN dync_status dync__data_type(const dync__opcall *c, int64_t size, dync__info *out)
{
    const dync__tensor *x = c->args[0].as.t;
    int64_t shape[2] = {size, x->lay.ndim};
    *out = (dync__info){.dtype = x->dtype, .device = x->device, .alias = -1};
    if (dync__op_is_item(c->op)) {
        out->lay.ndim = 1;
        out->lay.shape[0] = dync__sz_add(size, DYNC__ITEM_BASE);
        out->dtype = DYNC_U8;
        out->device = DYNC_CPU;
        return DYNC_OK;
    }
    if (c->op == DYNC__OP__nms_each) {
        out->dtype = DYNC_I64;
        shape[1] = 3;
        return dync__layout_contiguous(&out->lay, 2, shape);
    }
    DYNC__TRY(dync__layout_contiguous(&out->lay, c->op == DYNC__OP_nonzero ? 2 : 1, shape));
    if (c->op == DYNC__OP_nms) out->dtype = DYNC_I64;
    if (c->op != DYNC__OP_nonzero) return DYNC_OK;
    out->dtype = DYNC_I64;
    out->lay.stride[0] = 1; /* as d_nonzero lays them */
    out->lay.stride[1] = size;
    return DYNC_OK;
}
