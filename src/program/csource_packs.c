/* program/csource_packs.c: weights of an exported C file in the order in which its products read
 * them: [k][n], so that the weights of several outputs lie beside each other. After
 * csource_conv_forms.c, whose choices it follows; csource_steps.c asks before functions are made.
 *
 * A packed weight is a slot of its own, an input numbered behind those of the graph, and a tensor
 * that dync__csource keeps. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* The weight that a slot is, of those that the file holds; or NULL. */
static const dync__tensor *dync__packs_weight(const dync__csource *c, const dync__csource_unit *u,
                                              int32_t slot)
{
    return u->pb.slot.at[slot].index < u->n_in ? NULL : dync__csource_constant(c, u, slot);
}

static bool dync__packs_same(const dync__layout *a, const dync__layout *b)
{
    bool same = a->ndim == b->ndim && a->offset == b->offset;
    for (int d = 0; d < a->ndim; d++)
        same = same && a->shape[d] == b->shape[d] && a->stride[d] == b->stride[d];
    return same;
}

/* The number of the weight whose elements stand in the order of `lay`; -1: no memory. */
static int dync__packs_find(dync__csource *c, const dync__tensor *of, const dync__layout *lay)
{
    for (int i = 0; i < c->packed.n; i++)
        if (c->packed.at[i].of == of && dync__packs_same(&c->packed.at[i].lay, lay)) return i;
    dync__csource_packed packed = {.of = of, .lay = *lay};
    dync__layout in_storage = *lay;
    in_storage.offset += of->lay.offset;
    dync__tensor *view = dync__tensor_alias(of, of->dtype, &in_storage);
    if (view) packed.dense = dync__contiguous_copy(view);
    dync__unref(view);
    if (!packed.dense) return -1;
    if (dync__avec_push(&c->names, &c->packed, packed)) return c->packed.n - 1;
    dync__unref(packed.dense);
    return -1;
}

/* Operand o of a call in the order of `lay`, a permutation of its dimensions; *status. */
static void dync__packs_operand(dync__csource *c, dync__csource_unit *u, dync__operand *o,
                                const int *order, dync_status *status)
{
    const dync__tensor *of = dync__packs_weight(c, u, o->slot);
    dync__layout lay = o->lay;
    if (!of || *status != DYNC_OK) return;
    for (int d = 0; d < lay.ndim; d++) {
        lay.shape[d] = o->lay.shape[order[d]];
        lay.stride[d] = o->lay.stride[order[d]];
        if (lay.shape[d] <= 0 || lay.stride[d] < 0) return;
    }
    int at = dync__packs_find(c, of, &lay),
        slot = at < 0 ? -1 : dync__pb_slot(&u->pb, DYNC__SLOT_INPUT, o->dtype, -1, NULL);
    if (slot < 0) {
        *status = DYNC_ERR_MEMORY;
        return;
    }
    u->pb.slot.at[slot].index = c->aot.actual.n + at;
    o->slot = slot;
    o->lay.offset = 0;
    int64_t stride = 1;
    for (int d = lay.ndim - 1; d >= 0; d--) {
        o->lay.stride[order[d]] = stride;
        stride *= lay.shape[d];
    }
}

/* b of a product, one matrix: [k][n] */
static void dync__packs_product(dync__csource *c, dync__csource_unit *u, dync__kcall *call,
                                dync_status *status)
{
    dync__operand *b = &call->operand[1];
    int order[DYNC_MAX_DIMS], n = b->lay.ndim;
    bool one = n >= 2 && b->lay.stride[n - 1] != 1;
    for (int d = 0; d < n; d++) {
        order[d] = d;
        one = one && (d >= n - 2 || b->lay.shape[d] == 1);
    }
    if (one && dync__csource_blocks_are(call)) dync__packs_operand(c, u, b, order, status);
}

/* The state's weights of a recurrent layer, [outputs, hidden]. */
static void dync__packs_state(dync__csource *c, dync__csource_unit *u, dync__kcall *call,
                              dync_status *status)
{
    static const int order[2] = {1, 0};
    dync__operand *w = &call->operand[call->attr.rnn.role[DYNC__RNN_W]];
    if (w->lay.ndim == 2 && dync__csource_has_numbers(call) && w->lay.stride[0] != 1)
        dync__packs_operand(c, u, w, order, status);
}

/* A convolution's weights where its output channels are computed in vectors: [c][u][v][o] */
static void dync__packs_conv(dync__csource *c, dync__csource_unit *u, dync__kcall *call,
                             dync_status *status)
{
    static const int order[4] = {1, 2, 3, 0};
    dync__packs_operand(c, u, &call->operand[1], order, status);
}

/* Is the operand a constant, and none of it infinite or NaN? */
static bool dync__packs_finite(const dync__csource *c, const dync__csource_unit *u,
                               const dync__kcall *call, int operand)
{
    const dync__tensor *t = dync__packs_weight(c, u, call->operand[operand].slot);
    bool finite = t && t->dtype == DYNC_F32;
    const float *x = finite ? dync__tensor_data(t) : NULL;
    int64_t n = finite ? dync__csource_span(&t->lay) : 0;
    for (int64_t i = 0; i < n; i++) finite = finite && x[i] - x[i] == 0;
    return finite;
}

static bool dync__packs_has_f32(const dync__kcall *call, int operand)
{
    return call->operand[operand].dtype == DYNC_F32;
}

static dync__kcall *dync__packs_copy(dync__csource_unit *u, const dync__kcall *call)
{
    dync__kcall *copy = dync__arena_alloc(&u->arena, sizeof(dync__kcall_full));
    if (copy) dync__kcall_copy(copy, call);
    return copy;
}

/* The call, or a copy of it that reads packed weights. */
static dync_status dync__packs_call(dync__csource *c, dync__csource_unit *u,
                                    const dync__csource_after *after, const dync__kcall **call)
{
    static const struct {
        int kernel;
        void (*pack)(dync__csource *, dync__csource_unit *, dync__kcall *, dync_status *);
    } rows[] = {{DYNC__K_matmul, dync__packs_product},
                {DYNC__K_addmm, dync__packs_product},
                {DYNC__K_conv2d, dync__packs_conv},
                {DYNC__K_rnn_layer, dync__packs_state}};
    dync_status status = DYNC_OK;
    for (int i = 0; i < DYNC__COUNT_OF(rows) && *call; i++) {
        bool conv = rows[i].kernel == DYNC__K_conv2d;
        if (!dync__kcall_is(*call, rows[i].kernel) || !dync__packs_has_f32(*call, 0)) continue;
        if (conv && (!dync__csource_blocks_are(*call) ||
                     dync__csource_conv_form(*call, after) != DYNC__CCONV_CHANNELS))
            break;
        dync__kcall *copy = dync__packs_copy(u, *call);
        if (!copy) return DYNC_ERR_MEMORY;
        rows[i].pack(c, u, copy, &status);
        *call = copy;
        break;
    }
    return status;
}

DYNC__FN dync_status dync__csource_pack(dync__csource *c, dync__csource_unit *u)
{
    for (int i = 0; i < u->n_steps; i++) {
        const dync__kcall *call = u->step[i].at.k ? NULL : u->step[i].at.call;
        const dync__csource_after none = {0};
        if (call && dync__kcall_is(call, DYNC__K_conv2d))
            u->step[i].after.finite = dync__packs_finite(c, u, call, 1),
            u->step[i].after.finite_bias = call->n < 4 || dync__packs_finite(c, u, call, 2);
        DYNC__TRY(dync__packs_call(c, u, &u->step[i].after, &call));
        if (call)
            u->step[i].at.call = (dync__kcall *)(uintptr_t)call; /* the builder's, or a copy */
        if (u->step[i].input) DYNC__TRY(dync__packs_call(c, u, &none, &u->step[i].input));
    }
    return DYNC_OK;
}

DYNC__FN void dync__csource_packs_free(dync__csource *c)
{
    for (int i = 0; i < c->packed.n; i++) dync__unref(c->packed.at[i].dense);
}
