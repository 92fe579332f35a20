/* kernel/recurrent_rows.c: the rows of the kernel table for recurrent layers. Before: recurrent.c.
 * */
#include "../dync.in.h"
#include "gemm_tiles.h"
#include "operand.h"
#include "recurrent.h"
DYNC__COLD

/* ---- rows ------------------------------------------------------------------------------------ */

/* Scratch in elements of the computing dtype: weights, the gates of one step, two states, and one
 * as it is stored. */
static int64_t dync__rnn_room(const dync__rnn *r)
{
    return r->width * r->hidden + r->n * (r->width + 3 * r->hidden);
}

/* What inference promised of each role: sizes by letter, of the one dtype. */
DYNC__OFTEN static bool dync__rnn_fits(const dync__rnn *r)
{
    static const char form[DYNC__RNN_ROLES][4] = {"LNW", "WH",  "W",   "NH", "NH", "LNH", "NH",
                                                  "LNH", "LNW", "LNH", "NH", "NH", "NH"};
    for (int i = 0; i < DYNC__RNN_ROLES; i++) {
        int place = r->call->attr.rnn.role[i];
        const dync__operand *o = place < r->call->n ? dync__rnn_operand(r->call, i) : NULL;
        if (place >= 0 && (!o || o->dtype != r->dtype || o->lay.ndim != (int)strlen(form[i])))
            return false;
        for (int d = 0; o && d < o->lay.ndim; d++) {
            char c = form[i][d];
            if (o->lay.shape[d] != (c == 'L'   ? r->steps
                                    : c == 'N' ? r->n
                                    : c == 'W' ? r->width
                                               : r->hidden))
                return false;
        }
    }
    return true;
}

/* must: the roles that have to be there, a bit each. */
DYNC__OFTEN static dync_status dync__rnn_prepare(dync__kcall *c, unsigned must,
                                                 dync_status (*piece)(const dync__rnn *,
                                                                      dync__code **))
{
    dync__rnn r;
    int64_t gates = c->attr.rnn.gates;
    bool ok = c->n > 3 && c->attr.rnn.role[DYNC__RNN_OUT] < c->n &&
              dync__rnn_operand(c, DYNC__RNN_OUT) &&
              dync__rnn_operand(c, DYNC__RNN_OUT)->lay.ndim == 3;
    DYNC__TRY(dync__kcall_expect(
        c, ok && (gates == DYNC__RNN_ONE || gates == DYNC__RNN_GRU || gates == DYNC__RNN_LSTM),
        "1, 3 or 4 gates and an output [L, N, H]"));
    dync__rnn_open(&r, c, NULL);
    ok = dync__rnn_fits(&r);
    for (int i = 0; i < DYNC__RNN_ROLES; i++)
        ok = ok && (!(must >> i & 1) || dync__rnn_operand(c, i));
    DYNC__TRY(dync__kcall_expect(c, ok,
                                 "input [L, N, G], weights [G, H] and states [N, H] that "
                                 "belong together"));
    c->scratch_bytes = (size_t)(dync__rnn_room(&r) * r.type_bytes);
    return c->piece[0] ? DYNC_OK : piece(&r, &c->piece[0]);
}

DYNC__FN dync_status dync__k_rnn_layer_prepare(dync__kcall *c)
{
    unsigned must = 1u << DYNC__RNN_IN | 1u << DYNC__RNN_W | 1u << DYNC__RNN_H0;
    return dync__rnn_prepare(c,
                             must | (c->attr.rnn.gates == DYNC__RNN_LSTM ? 1u << DYNC__RNN_C0 : 0),
                             dync__rnn_forward_piece);
}
DYNC__FN dync_status dync__k_rnn_layer_grad_prepare(dync__kcall *c)
{
    unsigned must = 1u << DYNC__RNN_IN | 1u << DYNC__RNN_W | 1u << DYNC__RNN_H0;
    if (c->attr.rnn.gates == DYNC__RNN_LSTM) must |= 1u << DYNC__RNN_C0;
    if (c->attr.rnn.gates != DYNC__RNN_ONE) must |= 1u << DYNC__RNN_CELLS | 1u << DYNC__RNN_GATES;
    return dync__rnn_prepare(c, must, dync__rnn_backward_piece);
}

/* What prepare compiles, for all sizes. */
DYNC__FN dync_status dync__k_rnn_layer_pieces(dync__kcall *c)
{
    dync__rnn r;
    dync__rnn_open(&r, c, NULL);
    return dync__rnn_forward_piece(&r, &c->piece[0]);
}
DYNC__FN dync_status dync__k_rnn_layer_grad_pieces(dync__kcall *c)
{
    dync__rnn r;
    dync__rnn_open(&r, c, NULL);
    return dync__rnn_backward_piece(&r, &c->piece[0]);
}

#if !defined(DYNC_SMALL)
/* Of all steps: the products, and for each gate what its function is worth. */
DYNC__FN double dync__k_rnn_layer_alone(const dync__kcall *c)
{
    const dync__layout *out = &dync__rnn_operand(c, DYNC__RNN_OUT)->lay;
    double hidden = (double)out->shape[2];
    return (double)out->shape[0] * (double)out->shape[1] * (double)c->attr.rnn.gates * hidden *
           (hidden + DYNC__RNN_GATE);
}
DYNC__FN double dync__k_rnn_layer_grad_alone(const dync__kcall *c)
{
    return dync__k_rnn_layer_alone(c);
}
#endif

/* Appends what the piece takes: nothing where it is not given. */
DYNC__FN void dync__rnn_push(void **to, int *n, void *p)
{
    if (p) to[(*n)++] = p;
}

/* The product of every step, c = (c +) a b of dense matrices: a small one has its tiles looked up
 * once a call. */
typedef struct dync__rnn_product {
    dync__gemm g;
    dync__gemm_fixed tiles;
    bool small;
} dync__rnn_product;

static void dync__rnn_product_begin(dync__rnn_product *p, const dync__rnn *r, int64_t n, int64_t k,
                                    const char *a, const char *b, char *c, bool adds)
{
    p->g = (dync__gemm){.type = r->type == DYNC_F64 ? DYNC__GT_F64 : DYNC__GT_F32,
                        .m = r->n,
                        .n = n,
                        .k = k,
                        .a = a,
                        .b = b,
                        .c = c,
                        .d = adds ? c : NULL,
                        .a_row = k,
                        .a_col = 1,
                        .b_row = n,
                        .b_col = 1,
                        .c_row = n,
                        .c_col = 1,
                        .d_row = n};
    p->small = DYNC__JIT && r->steps > 1 && dync__gemm_fix_in(&p->tiles, &p->g, false);
}

static void dync__rnn_product_run(const dync__rnn_product *p)
{
    dync__gemm g = p->g;
    if (!DYNC__JIT || !p->small || !dync__gemm_fixed_run(&p->tiles, g.a, g.b, g.c, g.d, NULL, NULL))
        dync__gemm_run(&g);
}

/* Scratch: weights [H, W] (transposed), the state's share [N, W], h and c [N, H]. */
DYNC__FN dync_status dync__k_rnn_layer(const dync__kcall *call, void *const *data, void *scratch)
{
    dync__rnn r;
    dync__rnn_product product;
    dync__rnn_open(&r, call, data);
    int64_t H = r.hidden, W = r.width, N = r.n, e = r.type_bytes;
    char *weight = scratch, *hid = weight + W * H * e, *h = hid + N * W * e, *c = h + N * H * e;
    if (r.dtype == r.type) {
        const int64_t *stride = dync__rnn_operand(call, DYNC__RNN_W)->lay.stride;
        dync__gemm_pack_rows(e == 8 ? DYNC__GT_F64 : DYNC__GT_F32, weight, W * e, r.at[DYNC__RNN_W],
                             W, stride[0] * e, H, stride[1] * e);
    } else {
        dync__rnn_copy(&r, DYNC__RNN_W, false, weight, r.type, true);
    }
    dync__rnn_copy(&r, DYNC__RNN_H0, false, h, r.type, false);
    if (r.at[DYNC__RNN_C0]) dync__rnn_copy(&r, DYNC__RNN_C0, false, c, r.type, false);
    dync__rnn_product_begin(&product, &r, W, H, h, weight, hid, false);
    for (int64_t i = 0; i < r.steps; i++) {
        int64_t t = r.reverse ? r.steps - 1 - i : i;
        void *buffer[8] = {dync__rnn_step(&r, DYNC__RNN_IN, t), hid};
        int n = 2;
        dync__rnn_product_run(&product);
        dync__rnn_push(buffer, &n, r.at[DYNC__RNN_BIAS]);
        dync__rnn_push(buffer, &n, h);
        if (r.gates == DYNC__RNN_LSTM) dync__rnn_push(buffer, &n, c);
        dync__rnn_push(buffer, &n, dync__rnn_step(&r, DYNC__RNN_OUT, t));
        dync__rnn_push(buffer, &n, dync__rnn_step(&r, DYNC__RNN_CELLS, t));
        dync__rnn_push(buffer, &n, dync__rnn_step(&r, DYNC__RNN_GATES, t));
        DYNC__TRY(dync__code_run(call->piece[0], buffer, 0, 0));
    }
    if (r.at[DYNC__RNN_CN]) dync__rnn_copy(&r, DYNC__RNN_CN, true, c, r.type, false);
    return DYNC_OK;
}

/* Scratch: weights [W, H], the gates' gradient [N, W], dh and dc [N, H], the first state as the
 * others lie. Steps run against forward's order; the product gives dh of the step before. */
DYNC__FN dync_status dync__k_rnn_layer_grad(const dync__kcall *call, void *const *data,
                                            void *scratch)
{
    dync__rnn r;
    dync__rnn_product product;
    dync__rnn_open(&r, call, data);
    int64_t H = r.hidden, W = r.width, N = r.n, e = r.type_bytes;
    char *weight = scratch, *hid = weight + W * H * e, *dh = hid + N * W * e, *dc = dh + N * H * e,
         *start = dc + N * H * e;
    int states = r.gates == DYNC__RNN_LSTM ? DYNC__RNN_CELLS : DYNC__RNN_OUT;
    const dync__operand *before = dync__rnn_operand(call, states);
    dync__rnn_copy(&r, DYNC__RNN_W, false, weight, r.type, false);
    memset(dh, 0, (size_t)(2 * N * H * e));
    if (r.at[DYNC__RNN_GC]) dync__rnn_copy(&r, DYNC__RNN_GC, false, dc, r.type, false);
    if (r.gates > 1) { /* the state at the start as the others lie */
        const dync__operand *o =
            dync__rnn_operand(call, r.gates == DYNC__RNN_LSTM ? DYNC__RNN_C0 : DYNC__RNN_H0);
        dync__copy_elements(2, o->lay.shape, start, r.dtype, before->lay.stride + 1,
                            r.at[r.gates == DYNC__RNN_LSTM ? DYNC__RNN_C0 : DYNC__RNN_H0], r.dtype,
                            o->lay.stride);
    }
    dync__rnn_product_begin(&product, &r, H, W, hid, weight, dh, r.gates == DYNC__RNN_GRU);
    for (int64_t i = r.steps - 1; i >= 0; i--) {
        int64_t t = r.reverse ? r.steps - 1 - i : i;
        void *buffer[9] = {dh};
        int n = 1;
        if (r.gates == DYNC__RNN_LSTM) dync__rnn_push(buffer, &n, dc);
        dync__rnn_push(buffer, &n, dync__rnn_step(&r, DYNC__RNN_GOUT, t));
        dync__rnn_push(buffer, &n, dync__rnn_step(&r, DYNC__RNN_GATES, t));
        dync__rnn_push(buffer, &n, dync__rnn_step(&r, DYNC__RNN_CELLS, t));
        if (r.gates > 1)
            dync__rnn_push(buffer, &n,
                           i == 0 ? start : dync__rnn_step(&r, states, r.reverse ? t + 1 : t - 1));
        dync__rnn_push(buffer, &n, dync__rnn_step(&r, DYNC__RNN_OUT, t));
        dync__rnn_push(buffer, &n, dync__rnn_step(&r, DYNC__RNN_IN, t));
        dync__rnn_push(buffer, &n, hid);
        DYNC__TRY(dync__code_run(call->piece[0], buffer, 0, 0));
        dync__rnn_product_run(&product);
    }
    dync__rnn_copy(&r, DYNC__RNN_GH0, true, dh, r.type, false);
    if (r.at[DYNC__RNN_GC0]) dync__rnn_copy(&r, DYNC__RNN_GC0, true, dc, r.type, false);
    return DYNC_OK;
}
