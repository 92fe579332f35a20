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
DYNC__COLD

enum { DYNC__RNN_ONE = 1, DYNC__RNN_GRU = 3, DYNC__RNN_LSTM = 4 }; /* gates name the cell */
typedef struct dync__rnn {
    const dync__kcall *call;
    int gates, dtype, type; /* of elements, of scratch */
    int64_t steps, n, hidden, width, bytes, type_bytes;
    bool reverse;
    char *at[DYNC__RNN_ROLES]; /* element 0 of each operand; NULL: not given */
} dync__rnn;

static const dync__operand *dync__rnn_operand(const dync__kcall *c, int role)
{
    int place = c->attr.rnn.role[role];
    return place >= 0 ? &c->operand[place] : NULL;
}

/* Sizes from the result [steps, n, hidden]; data NULL (in prepare): `at` stays NULL. */
static void dync__rnn_open(dync__rnn *r, const dync__kcall *c, void *const *data)
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
static char *dync__rnn_step(const dync__rnn *r, int role, int64_t t)
{
    return r->at[role]
               ? r->at[role] + t * dync__rnn_operand(r->call, role)->lay.stride[0] * r->bytes
               : NULL;
}

/* A matrix [rows, columns], or its transpose, into dense memory of some dtype, or (out) back. */
static void dync__rnn_copy(const dync__rnn *r, int role, bool out, void *dense, int dense_dtype,
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

static dync_status dync__rnn_forward_piece(const dync__rnn *r, dync__code **out)
{
    dync__piece p;
    /* 3.5 ULP behind a sum of H products in F32 */
    bool fast = r->call->attr.rnn.fast || r->type == DYNC_F32;
    return dync__rnn_forward_loops(r, fast, &p) ? dync__piece_end(&p, out) : DYNC_ERR_MEMORY;
}

DYNC__FN bool dync__rnn_gates(const dync__kcall *c, int64_t n, int64_t hidden, dync__piece *out)
{
    dync__rnn r = {.call = c, .n = n, .hidden = hidden};
    r.gates = (int)c->attr.rnn.gates;
    r.dtype = c->operand[0].dtype;
    r.type = dync__operand_working(r.dtype);
    r.width = dync__sz_mul(r.gates, hidden);
    return dync__rnn_forward_loops(&r, c->attr.rnn.fast, out);
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
static dync_status dync__rnn_backward_piece(const dync__rnn *r, dync__code **out)
{
    dync__rnn_piece x = {.r = r, .type = r->type};
    int64_t H = r->hidden, W = r->width;
    if (!dync__piece_begin(&x.p, "rnn_step_grad", 0, r->n, H)) return DYNC_ERR_MEMORY;
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
    return dync__piece_end(&x.p, out);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Scratch in elements of the computing dtype: weights, the gates of one step, two states, and one
 * as it is stored. */
static int64_t dync__rnn_room(const dync__rnn *r)
{
    return r->width * r->hidden + r->n * (r->width + 3 * r->hidden);
}

/* What inference promised of each role: sizes by letter, of the one dtype. */
static bool dync__rnn_fits(const dync__rnn *r)
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
static dync_status dync__rnn_prepare(dync__kcall *c, unsigned must,
                                     dync_status (*piece)(const dync__rnn *, dync__code **))
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

/* Appends what the piece takes: nothing where it is not given. */
static void dync__rnn_push(void **to, int *n, void *p)
{
    if (p) to[(*n)++] = p;
}

/* Scratch: weights [H, W] (transposed), the state's share [N, W], h and c [N, H]. */
DYNC__FN dync_status dync__k_rnn_layer(const dync__kcall *call, void *const *data, void *scratch)
{
    dync__rnn r;
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
    for (int64_t i = 0; i < r.steps; i++) {
        int64_t t = r.reverse ? r.steps - 1 - i : i;
        void *buffer[8] = {dync__rnn_step(&r, DYNC__RNN_IN, t), hid};
        int n = 2;
        dync__gemm_of(r.type, N, W, H, h, H, 1, weight, W, 1, hid, W, 1, false);
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
        dync__gemm_of(r.type, N, H, W, hid, W, 1, weight, H, 1, dh, H, 1, r.gates == DYNC__RNN_GRU);
    }
    dync__rnn_copy(&r, DYNC__RNN_GH0, true, dh, r.type, false);
    if (r.at[DYNC__RNN_GC0]) dync__rnn_copy(&r, DYNC__RNN_GC0, true, dc, r.type, false);
    return DYNC_OK;
}
