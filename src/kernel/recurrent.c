/* kernel/recurrent.c: a layer of RNN, LSTM or GRU in one direction, all steps in one call, and back
 * through them. After gemm.c.
 *
 * A step is one product with the recurrent weights, which are brought into its order once a call
 * and stay in the cache, and one piece: the gates, compiled as a loop nest over [N, H]. Backward is
 * the same with the transposed product; it needs c of every step and the gates as forward left
 * them. Gradients of the weights are products over all steps at once and stand in autograd/. States
 * live in scratch in the computing dtype, dense. Formulas: op/decompose_layers.c has them as
 * operators. */
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"
#include "recurrent.h"
DYNC__COLD

DYNC__OFTEN DYNC__FN const dync__operand *dync__rnn_operand(const dync__kcall *c, int role)
{
    int place = c->attr.rnn.role[role];
    return place >= 0 ? &c->operand[place] : NULL;
}

/* Sizes from the result [steps, n, hidden]; data NULL (in prepare): `at` stays NULL. */
DYNC__OFTEN DYNC__FN void dync__rnn_open(dync__rnn *r, const dync__kcall *c, void *const *data)
{
    const dync__layout *out = &dync__rnn_operand(c, DYNC__RNN_OUT)->lay;
    memset(r, 0, sizeof *r);
    r->call = c;
    r->gates = (int)c->attr.rnn.gates;
    r->reverse = c->attr.rnn.reverse;
    r->dtype = c->operand[0].dtype;
    r->type = dync__operand_working(r->dtype);
    r->bytes = dync__dtype_info(r->dtype)->bytes;
    r->type_bytes = dync__dtype_info(r->type)->bytes;
    r->steps = out->shape[0];
    r->n = out->shape[1];
    r->hidden = out->shape[2];
    r->width = dync__sz_mul(r->gates, r->hidden);
    for (int i = 0; i < DYNC__RNN_ROLES; i++) {
        const dync__operand *o = dync__rnn_operand(c, i);
        if (o && data) r->at[i] = dync__operand_at(o, data[c->attr.rnn.role[i]]);
    }
}

/* The operand's data of step t. */
DYNC__FN char *dync__rnn_step(const dync__rnn *r, int role, int64_t t)
{
    return r->at[role]
               ? r->at[role] + t * dync__rnn_operand(r->call, role)->lay.stride[0] * r->bytes
               : NULL;
}

/* A matrix [rows, columns], or its transpose, into dense memory of some dtype, or (out) back. */
DYNC__FN void dync__rnn_copy(const dync__rnn *r, int role, bool out, void *dense, int dense_dtype,
                             bool transposed)
{
    const dync__operand *o = dync__rnn_operand(r->call, role);
    int64_t shape[2] = {o->lay.shape[transposed], o->lay.shape[!transposed]},
            mine[2] = {o->lay.stride[transposed], o->lay.stride[!transposed]};
    int64_t stride[2] = {shape[1], 1};
    if (out)
        dync__copy_elements(2, shape, r->at[role], r->dtype, mine, dense, dense_dtype, stride);
    else
        dync__copy_elements(2, shape, dense, dense_dtype, stride, r->at[role], r->dtype, mine);
}

/* ---- the pieces ------------------------------------------------------------------------------ */

typedef struct dync__rnn_piece {
    dync__piece p;
    const dync__rnn *r;
    int type;
} dync__rnn_piece;

static int dync__rp(dync__rnn_piece *x, int prim, int a, int b)
{
    return dync__lb_op(&x->p.b, prim, a, b, -1);
}
static int dync__rp_fma(dync__rnn_piece *x, int a, int b, int c)
{
    return dync__lb_op(&x->p.b, DYNC__P_fma, a, b, c);
}
static int dync__rp_one_minus(dync__rnn_piece *x, int a)
{
    return dync__rp(x, DYNC__P_sub, dync__lb_f(&x->p.b, x->type, 1), a);
}

/* A buffer that is an operand of [L, N, ..], at one step; -1 where it is not given. */
static int dync__rp_operand(dync__rnn_piece *x, int role, int mode)
{
    return dync__rnn_operand(x->r->call, role) ? dync__piece_buf(&x->p, x->r->dtype, mode) : -1;
}
static int dync__rp_load(dync__rnn_piece *x, int buf, int role, int gate)
{
    const dync__layout *l = &dync__rnn_operand(x->r->call, role)->lay;
    return dync__piece_load(&x->p, buf,
                            dync__sz_mul(dync__sz_mul(gate, x->r->hidden), l->stride[2]),
                            l->stride[1], l->stride[2]);
}
static void dync__rp_store(dync__rnn_piece *x, int buf, int role, int gate, int value)
{
    if (buf < 0) return;
    const dync__layout *l = &dync__rnn_operand(x->r->call, role)->lay;
    dync__piece_store(&x->p, buf, dync__sz_mul(dync__sz_mul(gate, x->r->hidden), l->stride[2]),
                      l->stride[1], l->stride[2], value);
}

/* Gates in PyTorch's order: LSTM input, forget, cell, output; GRU reset, update, new. Buffers: in,
 * the state's share [N, gates H], bias, h, c, out, c of the step, gates; those that the call does
 * not have are left out, as dync__rnn_push does. `c of the step` of a GRU is the state's share of
 * the new gate, which backward needs. */
static bool dync__rnn_forward_loops(const dync__rnn *r, bool fast, dync__piece *out)
{
    dync__rnn_piece x = {.r = r, .type = r->type};
    int64_t H = r->hidden, W = r->width;
    if (!dync__piece_begin(&x.p, "rnn_step", 0, r->n, H)) return false;
    dync__lb *b = &x.p.b;
    b->fast_math = fast;
    int in = dync__rp_operand(&x, DYNC__RNN_IN, DYNC__BUF_IN),
        hid = dync__piece_buf(&x.p, r->type, DYNC__BUF_IN);
    int bias = dync__rp_operand(&x, DYNC__RNN_BIAS, DYNC__BUF_IN),
        h = dync__piece_buf(&x.p, r->type, DYNC__BUF_IN | DYNC__BUF_OUT);
    int c = r->gates == DYNC__RNN_LSTM
                ? dync__piece_buf(&x.p, r->type, DYNC__BUF_IN | DYNC__BUF_OUT)
                : -1;
    int y = dync__rp_operand(&x, DYNC__RNN_OUT, DYNC__BUF_OUT),
        cells = dync__rp_operand(&x, DYNC__RNN_CELLS, DYNC__BUF_OUT);
    int saved = dync__rp_operand(&x, DYNC__RNN_GATES, DYNC__BUF_OUT), gate[4], mine[4], value,
        cell = -1;
    for (int i = 0; i < r->gates; i++) {
        gate[i] = dync__rp_load(&x, in, DYNC__RNN_IN, i);
        mine[i] = dync__piece_load(&x.p, hid, dync__sz_mul(i, H), W, 1);
        if (bias >= 0)
            mine[i] = dync__rp(&x, DYNC__P_add, mine[i],
                               dync__piece_load(&x.p, bias, dync__sz_mul(i, H), 0, 1));
        if (r->gates != DYNC__RNN_GRU || i < 2)
            gate[i] = dync__rp(&x, DYNC__P_add, gate[i], mine[i]);
    }
    if (r->gates == DYNC__RNN_LSTM) {
        for (int i = 0; i < 4; i++)
            gate[i] = i == 2 ? dync__vm_tanh(b, gate[i]) : dync__vm_sigmoid(b, gate[i]);
        cell = dync__rp_fma(&x, gate[1], dync__piece_load(&x.p, c, 0, H, 1),
                            dync__rp(&x, DYNC__P_mul, gate[0], gate[2]));
        value = dync__rp(&x, DYNC__P_mul, gate[3], dync__vm_tanh(b, cell));
        dync__piece_store(&x.p, c, 0, H, 1, cell);
    } else if (r->gates == DYNC__RNN_GRU) {
        gate[0] = dync__vm_sigmoid(b, gate[0]);
        gate[1] = dync__vm_sigmoid(b, gate[1]);
        gate[2] = dync__vm_tanh(b, dync__rp_fma(&x, gate[0], mine[2], gate[2]));
        value = dync__rp(&x, DYNC__P_sub, dync__piece_load(&x.p, h, 0, H, 1), gate[2]);
        value = dync__rp_fma(&x, gate[1], value, gate[2]);
        cell = mine[2];
    } else {
        value = dync__vm_tanh(b, gate[0]);
    }
    dync__piece_store(&x.p, h, 0, H, 1, value);
    dync__rp_store(&x, y, DYNC__RNN_OUT, 0, value);
    dync__rp_store(&x, cells, DYNC__RNN_CELLS, 0, cell);
    for (int i = 0; i < r->gates; i++) dync__rp_store(&x, saved, DYNC__RNN_GATES, i, gate[i]);
    *out = x.p;
    out->b.k->arena = &out->arena; /* where it grows */
    return true;
}

DYNC__FN dync_status dync__rnn_forward_piece(const dync__rnn *r, dync__code **out)
{
    dync__piece p;
    /* 3.5 ULP behind a sum of H products in F32 */
    bool fast = r->call->attr.rnn.fast || r->type == DYNC_F32;
    return dync__rnn_forward_loops(r, fast, &p) ? dync__piece_end(&p, out) : DYNC_ERR_MEMORY;
}

/* a (1 - a) d, and (1 - a a) d */
static int dync__rp_sigmoid_grad(dync__rnn_piece *x, int a, int d)
{
    return dync__rp(x, DYNC__P_mul, dync__rp(x, DYNC__P_mul, a, dync__rp_one_minus(x, a)), d);
}
static int dync__rp_tanh_grad(dync__rnn_piece *x, int a, int d)
{
    return dync__rp(x, DYNC__P_mul, dync__rp_one_minus(x, dync__rp(x, DYNC__P_mul, a, a)), d);
}

/* Buffers: dh, dc, gradient of the output, gates, c of the step, the state before it, output, the
 * gates' gradient, that of the state's share (dense, for the product). dh of GRU goes on to the
 * step before as a summand. */
static bool dync__rnn_backward_loops(const dync__rnn *r, dync__piece *out)
{
    dync__rnn_piece x = {.r = r, .type = r->type};
    int64_t H = r->hidden, W = r->width;
    if (!dync__piece_begin(&x.p, "rnn_step_grad", 0, r->n, H)) return false;
    int dh = dync__piece_buf(&x.p, r->type, DYNC__BUF_IN | DYNC__BUF_OUT),
        lstm = r->gates == DYNC__RNN_LSTM;
    int dc = lstm ? dync__piece_buf(&x.p, r->type, DYNC__BUF_IN | DYNC__BUF_OUT) : -1;
    int gy = dync__rp_operand(&x, DYNC__RNN_GOUT, DYNC__BUF_IN),
        saved = dync__rp_operand(&x, DYNC__RNN_GATES, DYNC__BUF_IN);
    int cells = dync__rp_operand(&x, DYNC__RNN_CELLS, DYNC__BUF_IN);
    int before = r->gates > 1 ? dync__piece_buf(&x.p, r->dtype, DYNC__BUF_IN) : -1;
    int y = dync__rp_operand(&x, DYNC__RNN_OUT, DYNC__BUF_IN),
        to = dync__rp_operand(&x, DYNC__RNN_IN, DYNC__BUF_OUT);
    int hid = dync__piece_buf(&x.p, r->type, DYNC__BUF_OUT), gate[4], g[4];
    int d = dync__piece_load(&x.p, dh, 0, H, 1);
    if (gy >= 0) d = dync__rp(&x, DYNC__P_add, d, dync__rp_load(&x, gy, DYNC__RNN_GOUT, 0));
    for (int i = 0; i < r->gates && r->gates > 1; i++)
        gate[i] = dync__rp_load(&x, saved, DYNC__RNN_GATES, i);
    if (lstm) {
        int t = dync__vm_tanh(&x.p.b, dync__rp_load(&x, cells, DYNC__RNN_CELLS, 0));
        int e = dync__rp(&x, DYNC__P_add, dync__piece_load(&x.p, dc, 0, H, 1),
                         dync__rp_tanh_grad(&x, t, dync__rp(&x, DYNC__P_mul, d, gate[3])));
        const dync__layout *l = &dync__rnn_operand(r->call, DYNC__RNN_CELLS)->lay;
        g[0] = dync__rp_sigmoid_grad(&x, gate[0], dync__rp(&x, DYNC__P_mul, e, gate[2]));
        g[1] = dync__rp_sigmoid_grad(
            &x, gate[1],
            dync__rp(&x, DYNC__P_mul, e,
                     dync__piece_load(&x.p, before, 0, l->stride[1], l->stride[2])));
        g[2] = dync__rp_tanh_grad(&x, gate[2], dync__rp(&x, DYNC__P_mul, e, gate[0]));
        g[3] = dync__rp_sigmoid_grad(&x, gate[3], dync__rp(&x, DYNC__P_mul, d, t));
        dync__piece_store(&x.p, dc, 0, H, 1, dync__rp(&x, DYNC__P_mul, e, gate[1]));
    } else if (r->gates == DYNC__RNN_GRU) {
        const dync__layout *l = &dync__rnn_operand(r->call, DYNC__RNN_OUT)->lay;
        int last = dync__piece_load(&x.p, before, 0, l->stride[1], l->stride[2]);
        g[2] = dync__rp_tanh_grad(&x, gate[2],
                                  dync__rp(&x, DYNC__P_mul, d, dync__rp_one_minus(&x, gate[1])));
        g[1] = dync__rp_sigmoid_grad(
            &x, gate[1], dync__rp(&x, DYNC__P_mul, d, dync__rp(&x, DYNC__P_sub, last, gate[2])));
        g[0] = dync__rp_sigmoid_grad(
            &x, gate[0],
            dync__rp(&x, DYNC__P_mul, g[2], dync__rp_load(&x, cells, DYNC__RNN_CELLS, 0)));
        dync__piece_store(&x.p, dh, 0, H, 1, dync__rp(&x, DYNC__P_mul, d, gate[1]));
    } else {
        g[0] = dync__rp_tanh_grad(&x, dync__rp_load(&x, y, DYNC__RNN_OUT, 0), d);
    }
    for (int i = 0; i < r->gates; i++) {
        dync__rp_store(&x, to, DYNC__RNN_IN, i, g[i]);
        dync__piece_store(
            &x.p, hid, dync__sz_mul(i, H), W, 1,
            r->gates == DYNC__RNN_GRU && i == 2 ? dync__rp(&x, DYNC__P_mul, g[2], gate[0]) : g[i]);
    }
    *out = x.p;
    out->b.k->arena = &out->arena; /* where it grows */
    return true;
}

DYNC__FN dync_status dync__rnn_backward_piece(const dync__rnn *r, dync__code **out)
{
    dync__piece p;
    return dync__rnn_backward_loops(r, &p) ? dync__piece_end(&p, out) : DYNC_ERR_MEMORY;
}

DYNC__FN bool dync__rnn_gates(const dync__kcall *c, int64_t n, int64_t hidden, dync__piece *out)
{
    dync__rnn r = {.call = c, .n = n, .hidden = hidden};
    r.gates = (int)c->attr.rnn.gates;
    r.dtype = c->operand[0].dtype;
    r.type = dync__operand_working(r.dtype);
    r.width = dync__sz_mul(r.gates, hidden);
    return dync__kcall_is(c, DYNC__K_rnn_layer_grad)
               ? dync__rnn_backward_loops(&r, out)
               : dync__rnn_forward_loops(&r, c->attr.rnn.fast, out);
}
