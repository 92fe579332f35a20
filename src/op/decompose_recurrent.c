/* op/decompose_recurrent.c: recurrent layers step by step. After decompose_attention.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* State of a layer after a step: h and c [N, H], share: what the backward needs beside the gates
 * (LSTM c, GRU the state's share of n before the reset gate), gate: values behind their
 * nonlinearity. */
typedef struct dync__dn_cell {
    dync__dt *h, *c, *share, *gate[4];
} dync__dn_cell;

/* One step: in [N, gates H] the input's share, hidden the state's, both with their biases. Gates
 * stand in PyTorch's order: LSTM i, f, g, o (Hochreiter & Schmidhuber 1997, with forget gates); GRU
 * r, z, n (Cho et al. 2014, with the reset gate on the product). */
static void dync__dn_step(dync__chain *c, int gates, dync__dt *in, dync__dt *hidden, int64_t size,
                          dync__dn_cell *s)
{
    dync__dt *x[4], *y[4], **g = s->gate;
    for (int i = 0; i < gates; i++) {
        x[i] = gates == 1 ? in : dync__chain_slice(c, in, -1, i * size, (i + 1) * size);
        y[i] = gates == 1 ? hidden : dync__chain_slice(c, hidden, -1, i * size, (i + 1) * size);
        if (gates == 3 && i == 2) y[i] = dync__chain_tt(c, DYNC__OP_mul, g[0], s->share = y[i]);
        x[i] = dync__chain_tt(c, DYNC__OP_add, x[i], y[i]);
        g[i] = gates == 1 || i == 2 ? dync__chain1(c, DYNC__OP_tanh, x[i])
                                    : dync__chain1(c, DYNC__OP_sigmoid, x[i]);
    }
    if (gates == 4) {
        s->c = dync__chain_tt(c, DYNC__OP_add, dync__chain_tt(c, DYNC__OP_mul, g[1], s->c),
                              dync__chain_tt(c, DYNC__OP_mul, g[0], g[2]));
        s->h = dync__chain_tt(c, DYNC__OP_mul, g[3], dync__chain1(c, DYNC__OP_tanh, s->c));
        s->share = s->c;
    } else if (gates == 3) {
        s->h = dync__chain_tt(
            c, DYNC__OP_add, g[2],
            dync__chain_tt(c, DYNC__OP_mul, g[1], dync__chain_tt(c, DYNC__OP_sub, s->h, g[2])));
    } else {
        s->h = g[0];
    }
}

/* [n, ..] of equal tensors; list holds n arguments. */
static dync__dt *dync__dn_stack(dync__chain *c, int n, dync__arg *list)
{
    dync__dt *y = NULL;
    dync__arg args[2] = {{.kind = DYNC__A_LIST, .n = n, .as.list = list}, dync__arg_i(0)};
    dync__chain_call(c, DYNC__OP_stack, 2, args, &y);
    return y;
}

/* The plain form: a step at a time. list: three rows of `steps` arguments: h, share and gates of
 * each step, at the place of the step in the sequence (a reversed layer walks from the last to the
 * first). `empty` is cut from the weight, so that it has a history and its device. */
DYNC__FN dync_status dync__d_rnn_layer(dync__opcall *call)
{
    dync__chain c = {0};
    dync__arena arena = {0};
    dync__info info[4];
    dync__dt *x = dync__dt_arg(call, 0), *w = dync__dt_arg(call, 1),
             *out[4] = {NULL, NULL, NULL, NULL};
    DYNC__TRY(dync__i_rnn_layer(call, info));
    int64_t steps = dync__sz_number(x->lay.shape[0]), size = dync__sz_number(w->lay.shape[1]),
            none = 0;
    int gates = (int)call->args[5].as.i;
    bool saves = call->args[7].as.i && gates > 1;
    dync__arg *list = steps < INT_MAX ? dync__arena_alloc(&arena, (size_t)steps * 3 * sizeof *list)
                                      : NULL;
    if (!list) dync__chain_fail(&c, DYNC_ERR_MEMORY);
    dync__dn_cell s = {.h = dync__dt_arg(call, 3), .c = dync__dt_arg(call, 4)};
    dync__dt *empty = dync__chain_shape(
        &c, DYNC__OP_view,
        dync__chain_slice(&c, dync__chain_shape(&c, DYNC__OP_reshape, w, 1, (const int64_t[]){-1}),
                          0, 0, 0),
        1, &none);
    for (int64_t i = 0; list && i < steps; i++) {
        int64_t t = call->args[6].as.i ? steps - 1 - i : i;
        dync__dt *hidden = NULL, *in = dync__chain3(&c, DYNC__OP_select, dync__arg_t(x),
                                                    dync__arg_i(0), dync__arg_i(t));
        dync__arg linear[3] = {dync__arg_t(s.h), dync__arg_t(w), call->args[2]}, joined[4];
        dync__chain_call(&c, DYNC__OP_linear, 3, linear, &hidden);
        dync__dn_step(&c, gates, in, hidden, size, &s);
        for (int k = 0; k < gates; k++) joined[k] = dync__arg_t(s.gate[k]);
        list[t] = dync__arg_t(s.h);
        list[steps + t] = dync__arg_t(s.share);
        list[2 * steps + t] = saves ? dync__arg_t(dync__chain_cat(&c, gates, joined, -1))
                                    : dync__arg_none();
    }
    for (int k = 0; list && k < 4; k++) {
        bool given = k == 0 || (k == 1 ? gates == 4 : saves);
        out[k] = !given   ? empty
                 : k == 1 ? s.c
                          : dync__dn_stack(&c, (int)steps, list + (k ? k - 1 : 0) * steps);
    }
    dync_status status = dync__chain_end_n(&c, call, 4, out);
    dync__arena_free(&arena);
    return status;
}
