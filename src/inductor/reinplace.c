/* inductor/reinplace.c: lowers the writes that go where their base lies (aot/reinplace.c). After
 * parts.c, before lower.c. */
#include "../dync.in.h"
#include "lower.h"
DYNC__COLD

/* dync__layout_span, which may be symbolic. */
DYNC__FN int64_t dync__lower_span(const dync__layout *lay)
{
    int64_t last = lay->offset;
    for (int d = 0; d < lay->ndim; d++) {
        if (lay->shape[d] == 0) return 0;
        last = dync__sz_add(last, dync__sz_mul(dync__sz_sub(lay->shape[d], 1), lay->stride[d]));
    }
    return dync__sz_add(last, 1);
}

DYNC__FN dync_status dync__lower_places(dync__lowerer *w)
{
    return dync__reinplace_find(w->g, &w->arena, w->joined,
                                dync__device_is(w->pb.device, DYNC__DEV_HOST), w->place,
                                w->written);
}

static dync_status dync__reinplace_copy(dync__lowerer *w, const dync__node *src,
                                        const dync__operand *in, dync__operand *out)
{
    dync__arg arg = dync__arg_t(w->fake[src->index]);
    dync__opcall copy = {.row = dync__op_info(DYNC__USED(DYNC__OP_clone)),
                         .op = DYNC__OP_clone,
                         .nargs = 1,
                         .args = &arg,
                         .nout = 1};
    out->written = true;
    return dync__op_lower(&w->pb, &copy, in, 1, out);
}

/* Surely no place of one in the other. */
static bool dync__reinplace_apart(const dync__operand *a, const dync__operand *b)
{
    return a->slot != b->slot || a->dtype != b->dtype ||
           !dync__sz_lt(b->lay.offset, dync__lower_span(&a->lay)) ||
           !dync__sz_lt(a->lay.offset, dync__lower_span(&b->lay));
}

/* The value of as_strided_scatter n into its part of the base; by way of a copy where it is read
 * from the same memory. */
static dync_status dync__reinplace_put(dync__lowerer *w, const dync__node *n,
                                       const dync__operand *value)
{
    dync__operand part = w->value[n->index][0], from = *value;
    const dync__node *src = n->args[1].as.node;
    part.lay.ndim = n->args[2].n;
    memcpy(part.lay.shape, n->args[2].as.dims, (size_t)part.lay.ndim * sizeof *part.lay.shape);
    memcpy(part.lay.stride, n->args[3].as.dims, (size_t)part.lay.ndim * sizeof *part.lay.stride);
    part.lay.offset = dync__sz_add(part.lay.offset, n->args[4].as.i);
    if (!dync__reinplace_apart(&part, &from)) {
        DYNC__TRY(dync__layout_contiguous(&from.lay, part.lay.ndim, part.lay.shape));
        from.slot = dync__pb_slot(&w->pb, DYNC__SLOT_TEMP, from.dtype, dync__lower_span(&from.lay),
                                  src->name);
        if (from.slot < 0) return DYNC_ERR_MEMORY;
        w->pb.slot.at[from.slot].host = w->pb.slot.at[value->slot].host;
        DYNC__TRY(dync__reinplace_copy(w, src, value, &from));
        from.written = false;
    }
    int before = w->pb.step.n;
    DYNC__TRY(dync__reinplace_copy(w, src, &from, &part));
    if (w->pb.step.n > before && w->pb.step.at[before].kernel)
        w->pb.step.at[before].kernel->ordered = dync__layout_overlaps_itself(&part.lay);
    return DYNC_OK;
}

/* A write in place: its result is where its base is. */
DYNC__FN dync_status dync__reinplace_lower(dync__lowerer *w, const dync__opcall *c,
                                           const dync__node *n, const dync__operand *in, int n_in)
{
    int i = n->index, at = w->place[i];
    dync__info info = w->g->node.at[at]->info[0];
    w->value[i] = dync__arena_copy(&w->arena, w->value[at], sizeof **w->value);
    if (!w->value[i]) return DYNC_ERR_MEMORY;
    w->bias[i] = dync__sz_sub(n->info[0].lay.offset, w->value[i][0].lay.offset);
    if (!(w->fake[i] = dync__tensor_fake(info.dtype, info.device, &info.lay)))
        return DYNC_ERR_MEMORY;
    if (w->written[i]) return DYNC_OK;
    if (n->op == DYNC__OP_as_strided_scatter) return dync__reinplace_put(w, n, &in[1]);
    return dync__op_lower(&w->pb, c, in, n_in, w->value[i]);
}
