/* onnx/map_recurrent.c: ONNX's LSTM, GRU and RNN, step by step, and com.microsoft's LSTM of bytes.
 * After map_quant.c.
 *
 * Shapes: x [L, N, in], W [gates * H, in], R [gates * H, H], states [N, H]; of bytes W [in, gates
 * * H], R [H, gates * H], and x and each state are quantized as a whole. Gates are in ONNX's order:
 * LSTM i o f c, GRU z r h. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

typedef struct dync__oi_cell {
    int kind, direction;
    int64_t hidden;
    dync_tensor *r, *bias_w, *bias_r, *peep; /* R transposed, [gates * H] each, [3 * H] or NULL */
    bool after;                              /* GRU: the reset after the product */
    bool bytes;                              /* W and R are bytes, with scales and zero points */
    double clip;                             /* 0: none */
    const dync__onnx_call *c;
} dync__oi_cell;

/* Activation number i of the node, by name; NULL + error. */
static dync_tensor *dync__oi_cell_act(const dync__oi_cell *k, int i, const char *without,
                                      dync_tensor *x)
{
    const dync__onnx_attribute *a = dync__oi_attribute(k->c, "activations");
    char name[24];
    const float *alpha, *beta;
    int na = dync__oi_floats(k->c, "activation_alpha", &alpha),
        nb = dync__oi_floats(k->c, "activation_beta", &beta);
    int each = k->kind == DYNC__OI_LSTM ? 3 : k->kind == DYNC__OI_GRU ? 2 : 1;
    i += k->direction * each;
    dync__format(name, sizeof name, "%s", without);
    if (a && i < a->strings.n)
        dync__format(name, sizeof name, "%.*s", (int)DYNC__MIN(a->strings.at[i].n, 20),
                     a->strings.at[i].at);
    double p = i < na ? (double)alpha[i] : -1, q = i < nb ? (double)beta[i] : -1;
    if (k->clip > 0) x = dync_clamp(x, dync_v_float(-k->clip), dync_v_float(k->clip));
    if (!x) return NULL;
    for (char *s = name; *s; s++) *s = *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;
    if (strcmp(name, "sigmoid") == 0) return dync_sigmoid(x);
    if (strcmp(name, "tanh") == 0) return dync_tanh(x);
    if (strcmp(name, "relu") == 0) return dync_relu(x);
    if (strcmp(name, "affine") == 0) return dync_add(dync_mul(x, i < na ? p : 1), i < nb ? q : 0);
    if (strcmp(name, "leakyrelu") == 0) return dync_leaky_relu(x, i < na ? p : 0.01);
    if (strcmp(name, "elu") == 0) return dync_elu(x, i < na ? p : 1);
    if (strcmp(name, "softsign") == 0) return dync_softsign(x);
    if (strcmp(name, "softplus") == 0) return dync_softplus(x);
    if (strcmp(name, "hardsigmoid") == 0)
        return dync_clamp(dync_add(dync_mul(x, i < na ? p : 0.2), i < nb ? q : 0.5),
                          dync_v_float(0), dync_v_float(1));
    dync__oi_fail(k->c, DYNC_ERR_UNSUPPORTED, "activation %s", name);
    return NULL;
}

static dync_tensor *dync__oi_of_direction(dync_tensor *t, int d)
{
    return t ? dync_select(t, 0, d) : NULL;
}

/* x [.., n] by w [n, gates * H] of floats, or of bytes whose scale is input `scale`: a number of a
 * direction, or one a column */
static dync_tensor *dync__oi_cell_product(const dync__oi_cell *k, dync_tensor *x, dync_tensor *w,
                                          int scale)
{
    if (!k->bytes || !x) return dync_mm(x, w);
    dync_tensor *by, *zero, *q = dync__oi_quantized(x, &by, &zero);
    dync_tensor *of = dync__oi_of_direction(dync__oi_in(k->c, scale), k->direction),
                *from = dync__oi_of_direction(dync__oi_in(k->c, scale + 1), k->direction);
    dync_tensor *y = q && of ? dync__oi_byte_product(q, zero, w, from) : NULL;
    return y ? dync_mul(dync_to_dtype(y, DYNC_F32), dync_mul(by, of)) : NULL;
}

/* One gate's share of all [N, gates * H], by its place in ONNX's order. */
static dync_tensor *dync__oi_gate(const dync__oi_cell *k, dync_tensor *all, int gate)
{
    return all ? dync__oi_narrow(all, -1, gate * k->hidden, k->hidden) : NULL;
}
/* g + P * state, where the cell has peepholes. P is i o f, whose number i is. */
static dync_tensor *dync__oi_peep(const dync__oi_cell *k, dync_tensor *g, dync_tensor *state, int i)
{
    if (!k->peep || !g) return g;
    return dync_add(g, dync_mul(state, dync__oi_narrow(k->peep, 0, i * k->hidden, k->hidden)));
}

/* x: W x + Wb of this step, [N, 4 * H]; all are (f, g, h) = activations 0, 1, 2 of the node:
 *   i = f(x + R h + Rb + Pi c)   f = f(.. + Pf c), or 1 - i by input_forget   n = g(..)
 *   c' = f c + i n               o = f(.. + Po c')                             h' = o h(c') */
static bool dync__oi_step_lstm(const dync__oi_cell *k, dync_tensor *x, dync_tensor **h,
                               dync_tensor **s)
{
    dync_tensor *g = dync_add(x, dync_add(dync__oi_cell_product(k, *h, k->r, 10), k->bias_r));
    dync_tensor *i =
        dync__oi_cell_act(k, 0, "sigmoid", dync__oi_peep(k, dync__oi_gate(k, g, 0), *s, 0));
    dync_tensor *f =
        dync__oi_cell_act(k, 0, "sigmoid", dync__oi_peep(k, dync__oi_gate(k, g, 2), *s, 2));
    dync_tensor *n = dync__oi_cell_act(k, 1, "tanh", dync__oi_gate(k, g, 3));
    if (!i || !f || !n) return false;
    if (dync__oi_int(k->c, "input_forget")) f = dync_sub(1, i);
    *s = dync_add(dync_mul(f, *s), dync_mul(i, n));
    dync_tensor *o =
        dync__oi_cell_act(k, 0, "sigmoid", dync__oi_peep(k, dync__oi_gate(k, g, 1), *s, 1));
    dync_tensor *t = dync__oi_cell_act(k, 2, "tanh", *s);
    *h = o && t ? dync_mul(o, t) : NULL;
    return *h != NULL;
}

/* z and r = f(x + R h + Rb);  h' = (1 - z) n + z h
 *   n = g(x + R (r h) + Rb), or by linear_before_reset g(x + r (R h + Rb)), as PyTorch's */
static bool dync__oi_step_gru(const dync__oi_cell *k, dync_tensor *x, dync_tensor **h)
{
    int64_t n = k->hidden;
    dync_tensor *rz = dync__oi_narrow(k->r, 1, 0, 2 * n), *rh = dync__oi_narrow(k->r, 1, 2 * n, n);
    dync_tensor *bz = dync__oi_narrow(k->bias_r, 0, 0, 2 * n),
                *bh = dync__oi_narrow(k->bias_r, 0, 2 * n, n);
    dync_tensor *g = dync_add(dync__oi_narrow(x, -1, 0, 2 * n), dync_add(dync_mm(*h, rz), bz));
    dync_tensor *z = dync__oi_cell_act(k, 0, "sigmoid", dync__oi_gate(k, g, 0));
    dync_tensor *r = dync__oi_cell_act(k, 0, "sigmoid", dync__oi_gate(k, g, 1));
    if (!z || !r) return false;
    dync_tensor *inner = k->after ? dync_mul(r, dync_add(dync_mm(*h, rh), bh))
                                  : dync_add(dync_mm(dync_mul(r, *h), rh), bh);
    dync_tensor *new_h = dync__oi_cell_act(k, 1, "tanh", dync_add(dync__oi_gate(k, x, 2), inner));
    *h = new_h ? dync_add(dync_mul(dync_sub(1, z), new_h), dync_mul(z, *h)) : NULL;
    return *h != NULL;
}

/* h' = f(x + R h + Rb) */
static bool dync__oi_step_rnn(const dync__oi_cell *k, dync_tensor *x, dync_tensor **h)
{
    dync_tensor *g = dync_add(x, dync_add(dync_mm(*h, k->r), k->bias_r));
    *h = dync__oi_cell_act(k, 0, "tanh", g);
    return *h != NULL;
}

/* One direction: y [L, N, H], *h and *s the states at the end. lengths [N] or NULL. */
static dync_tensor *dync__oi_steps(const dync__oi_cell *k, dync_tensor *x, dync_tensor *lengths,
                                   bool reverse, dync_tensor **h, dync_tensor **s)
{
    int64_t n = dync__oi_size(x, 0);
    dync_value list = dync__list_new((int)n);
    if (list.kind != DYNC_KIND_LIST) return NULL;
    for (int64_t i = 0; i < n; i++) {
        int64_t t = reverse ? n - 1 - i : i;
        dync_tensor *xt = dync_select(x, 0, t), *before = *h, *s_before = *s, *out;
        bool ok = xt && (k->kind == DYNC__OI_LSTM  ? dync__oi_step_lstm(k, xt, h, s)
                         : k->kind == DYNC__OI_GRU ? dync__oi_step_gru(k, xt, h)
                                                   : dync__oi_step_rnn(k, xt, h));
        if (!ok) return NULL;
        out = *h;
        if (lengths) { /* behind its end a sequence stays as it is and gives zeros */
            dync_tensor *in = dync_unsqueeze(dync_gt(lengths, t), 1);
            *h = dync_where(in, *h, before);
            if (s_before) *s = dync_where(in, *s, s_before);
            out = dync_where(in, out, 0.0);
        }
        if (!out) return NULL;
        dync__list_set(list, (int)t, dync_v_tensor(out));
    }
    return dync_stack(list, 0);
}

/* direction d of the node; x [L, N, in] */
static dync_tensor *dync__oi_recur(dync__oi_cell *k, dync_tensor *x, int d, bool reverse,
                                   dync_tensor **h, dync_tensor **s)
{
    const dync__onnx_call *c = k->c;
    int gates = k->kind == DYNC__OI_LSTM ? 4 : k->kind == DYNC__OI_GRU ? 3 : 1;
    int64_t wide = gates * k->hidden;
    bool time_second = dync__oi_int(c, "layout") != 0;
    dync_tensor *w = dync__oi_of_direction(dync__oi_in(c, 1), d), *lengths = dync__oi_in(c, 4);
    dync_tensor *b = dync__oi_of_direction(dync__oi_in(c, 3), d);
    k->direction = d;
    k->r = dync__oi_of_direction(dync__oi_in(c, 2), d);
    if (!k->bytes) k->r = dync_t(k->r);
    k->bias_w = b ? dync__oi_narrow(b, 0, 0, wide) : NULL;
    k->bias_r = b ? dync__oi_narrow(b, 0, wide, wide)
                  : dync__oi_full(dync_shape(wide), 0, dync__oi_type(x));
    k->peep = k->kind == DYNC__OI_LSTM ? dync__oi_of_direction(dync__oi_in(c, 7), d) : NULL;
    dync_tensor **state[2] = {h, s};
    for (int i = 0; i < 2; i++) {
        dync_tensor *first = dync__oi_in(c, 5 + i);
        if (i == 1 && k->kind != DYNC__OI_LSTM) break;
        *state[i] = first ? dync_select(first, time_second ? 1 : 0, d)
                          : dync__oi_full(dync_shape(dync__oi_extent(x, 1), k->hidden), 0,
                                          dync__oi_type(x));
    }
    /* of every step at once */
    if (k->bytes) {
        x = w ? dync__oi_cell_product(k, x, w, 8) : NULL;
        if (x && k->bias_w) x = dync_add(x, k->bias_w);
    } else {
        x = w ? dync_linear(x, w, k->bias_w) : NULL;
    }
    if (!x || !k->r || !k->bias_r || !*h) return NULL;
    return dync__oi_steps(k, x, lengths, reverse, h, s);
}

DYNC__FN dync_status dync__oi_recurrent(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y[2] = {NULL, NULL}, *h[2] = {NULL, NULL},
                *s[2] = {NULL, NULL};
    bool both = dync__oi_is(c, "direction", "bidirectional"),
         reverse = dync__oi_is(c, "direction", "reverse");
    bool layout = dync__oi_int(c, "layout") != 0;
    int n = both ? 2 : 1;
    dync__oi_cell k = {.kind = c->row->detail, .c = c, .clip = dync__oi_float(c, "clip")};
    k.bytes = *c->row->domain != 0;
    k.hidden = dync__oi_size(dync__oi_in(c, 2), k.bytes ? 1 : 2);
    k.after = dync__oi_int(c, "linear_before_reset") != 0;
    if (dync__oi_rank(x) != 3 || dync__oi_rank(dync__oi_in(c, 1)) != 3 ||
        dync__oi_rank(dync__oi_in(c, 2)) != 3 || dync__oi_size(dync__oi_in(c, 1), 0) != n)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected X, W and R of three dimensions");
    if (layout) x = dync_transpose(x, 0, 1);
    if (dync__oi_size(x, 0) > 4096)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "more than 4096 steps");
    for (int d = 0; d < n; d++) {
        y[d] = dync__oi_recur(&k, x, d, reverse || d == 1, &h[d], &s[d]);
        if (!y[d]) return dync_error();
    }
    dync_tensor *all = dync__oi_list(n, y, 1, true); /* [L, directions, N, H] */
    if (layout && all) all = dync_permute(all, dync_shape(2, 0, 1, 3));
    DYNC__TRY(dync__oi_out(c, 0, all));
    if (c->n_out > 1) DYNC__TRY(dync__oi_out(c, 1, dync__oi_list(n, h, layout ? 1 : 0, true)));
    return c->n_out > 2 ? dync__oi_out(c, 2, dync__oi_list(n, s, layout ? 1 : 0, true)) : DYNC_OK;
}
