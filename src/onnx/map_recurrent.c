/* onnx/map_recurrent.c: ONNX's LSTM, GRU and RNN, and com.microsoft's LSTM of bytes. After
 * map_quant.c.
 *
 * Cells as PyTorch has them are dync's layer, for sequences of any length (_rnn_layer). All others
 * are walked step by step, or by dync_scan where the steps are too many or of a symbolic number.
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

/* Number i of this direction's activations in those of the node; its name in small letters. */
static int dync__oi_cell_name(const dync__oi_cell *k, int i, const char *without, char name[24])
{
    const dync__onnx_attribute *a = dync__oi_attribute(k->c, "activations");
    int each = k->kind == DYNC__OI_LSTM ? 3 : k->kind == DYNC__OI_GRU ? 2 : 1;
    i += k->direction * each;
    dync__format(name, 24, "%s", without);
    if (a && i < a->strings.n)
        dync__format(name, 24, "%.*s", (int)DYNC__MIN(a->strings.at[i].n, 20), a->strings.at[i].at);
    for (char *s = name; *s; s++) *s = *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;
    return i;
}

/* Activation number i of the node, by name; NULL + error. */
static dync_tensor *dync__oi_cell_act(const dync__oi_cell *k, int i, const char *without,
                                      dync_tensor *x)
{
    char name[24];
    const float *alpha, *beta;
    int na = dync__oi_floats(k->c, "activation_alpha", &alpha),
        nb = dync__oi_floats(k->c, "activation_beta", &beta);
    i = dync__oi_cell_name(k, i, without, name);
    double p = i < na ? (double)alpha[i] : -1, q = i < nb ? (double)beta[i] : -1;
    if (k->clip > 0) x = dync_clamp(x, dync_v_float(-k->clip), dync_v_float(k->clip));
    if (!x) return NULL;
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
    if (!k->bytes || !x) return dync_matmul(x, w);
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
    dync_tensor *g = dync_add(dync__oi_narrow(x, -1, 0, 2 * n), dync_add(dync_matmul(*h, rz), bz));
    dync_tensor *z = dync__oi_cell_act(k, 0, "sigmoid", dync__oi_gate(k, g, 0));
    dync_tensor *r = dync__oi_cell_act(k, 0, "sigmoid", dync__oi_gate(k, g, 1));
    if (!z || !r) return false;
    dync_tensor *inner = k->after ? dync_mul(r, dync_add(dync_matmul(*h, rh), bh))
                                  : dync_add(dync_matmul(dync_mul(r, *h), rh), bh);
    dync_tensor *new_h = dync__oi_cell_act(k, 1, "tanh", dync_add(dync__oi_gate(k, x, 2), inner));
    *h = new_h ? dync_add(dync_mul(dync_sub(1, z), new_h), dync_mul(z, *h)) : NULL;
    return *h != NULL;
}

/* h' = f(x + R h + Rb) */
static bool dync__oi_step_rnn(const dync__oi_cell *k, dync_tensor *x, dync_tensor **h)
{
    dync_tensor *g = dync_add(x, dync_add(dync_matmul(*h, k->r), k->bias_r));
    *h = dync__oi_cell_act(k, 0, "tanh", g);
    return *h != NULL;
}

/* Step t on x [N, gates * H]: what it gives; NULL + error. lengths [N] or NULL: behind its end a
 * sequence stays as it is and gives zeros. */
static dync_tensor *dync__oi_step_at(const dync__oi_cell *k, dync_tensor *x, dync_tensor *lengths,
                                     dync_value t, dync_tensor **h, dync_tensor **s)
{
    dync_tensor *before = *h, *s_before = *s;
    bool ok = x && (k->kind == DYNC__OI_LSTM  ? dync__oi_step_lstm(k, x, h, s)
                    : k->kind == DYNC__OI_GRU ? dync__oi_step_gru(k, x, h)
                                              : dync__oi_step_rnn(k, x, h));
    if (!ok || !lengths) return ok ? *h : NULL;
    dync_tensor *in = dync_unsqueeze(dync_gt(lengths, t), 1), *out = *h;
    *h = dync_where(in, *h, before);
    if (s_before) *s = dync_where(in, *s, s_before);
    return *h ? dync_where(in, out, 0.0) : NULL;
}

/* steps that a graph has one after another */
enum { DYNC__OI_STEPS = 128 };

/* One direction: y [L, N, H], *h and *s the states at the end. */
static dync_tensor *dync__oi_steps(const dync__oi_cell *k, dync_tensor *x, dync_tensor *lengths,
                                   bool reverse, dync_tensor **h, dync_tensor **s)
{
    int64_t n = dync__oi_size(x, 0);
    dync_value list = dync__list_new((int)n);
    if (list.kind != DYNC_KIND_LIST) return NULL;
    for (int64_t i = 0; i < n; i++) {
        int64_t t = reverse ? n - 1 - i : i;
        dync_tensor *out = dync__oi_step_at(k, dync_select(x, 0, t), lengths, dync_v_int(t), h, s);
        if (!out) return NULL;
        dync__list_set(list, (int)t, dync_v_tensor(out));
    }
    return dync_stack(list, 0);
}

/* ---- many steps ------------------------------------------------------------------------------ */

typedef struct dync__oi_scan_cell {
    const dync__oi_cell *k;
    dync_tensor *lengths;
} dync__oi_scan_cell;

/* A step of dync_scan: carry (h, s of an LSTM), slices (x, t where there are lengths). */
static dync_value dync__oi_scan_step(const dync_value *args, int nargs, void *user)
{
    const dync__oi_scan_cell *w = user;
    bool two = w->k->kind == DYNC__OI_LSTM;
    dync_tensor *h = dync_as_tensor(dync_at(args[0], 0)),
                *s = two ? dync_as_tensor(dync_at(args[0], 1)) : NULL;
    (void)nargs;
    dync_tensor *out = dync__oi_step_at(w->k, dync_as_tensor(dync_at(args[1], 0)), w->lengths,
                                        w->lengths ? dync_at(args[1], 1) : DYNC_NONE, &h, &s);
    if (!out) return DYNC_NONE;
    dync_value carry = two ? dync_tuple(h, s) : dync_tuple(h);
    return dync_tuple(carry, dync_tuple(out));
}

/* dync__oi_steps as one operator. */
static dync_tensor *dync__oi_scan_steps(const dync__oi_cell *k, dync_tensor *x,
                                        dync_tensor *lengths, bool reverse, dync_tensor **h,
                                        dync_tensor **s)
{
    dync__oi_scan_cell w = {k, lengths};
    dync_callee step = dync_fnv(dync__oi_scan_step);
    step.user = &w;
    dync_tensor *t = lengths ? dync__oi_arange(0, dync__oi_extent(x, 0), 1, DYNC_I64) : NULL;
    dync_value init = *s ? dync_tuple(*h, *s) : dync_tuple(*h),
               xs = t ? dync_tuple(x, t) : dync_tuple(x);
    dync_value r = dync_scan_values(step, init, xs, reverse, dync__tls.at);
    if (dync_len(r) != 2) return NULL;
    *h = dync_as_tensor(dync_at(dync_at(r, 0), 0));
    if (*s) *s = dync_as_tensor(dync_at(dync_at(r, 0), 1));
    return dync_as_tensor(dync_at(dync_at(r, 1), 0));
}

/* ---- as dync's layer ------------------------------------------------------------------------- */

static bool dync__oi_is_known(const dync_tensor *t)
{
    const dync__tensor *x = dync__peek(t);
    return !x || !(x->flags & DYNC__T_FAKE);
}

/* Is the cell one of PyTorch's, of floats? Weights that a call gives would be put in another order
 * at each call: they are, where there is no other way (open). */
static bool dync__oi_is_layer(const dync__oi_cell *k, dync_tensor *x, bool open)
{
    static const char *const names[3] = {"sigmoid", "tanh", "tanh"};
    const dync__onnx_call *c = k->c;
    int n = k->kind == DYNC__OI_LSTM ? 3 : k->kind == DYNC__OI_GRU ? 2 : 1;
    bool is = !k->bytes && !(k->clip > 0) && !k->peep && !dync__oi_in(c, 4) &&
              (dync__oi_type(x) == DYNC_F32 || dync__oi_type(x) == DYNC_F64);
    if (k->kind == DYNC__OI_LSTM) is = is && !dync__oi_int(c, "input_forget");
    if (k->kind == DYNC__OI_GRU) is = is && k->after;
    for (int i = 0; i < n && is; i++) {
        char name[24];
        const char *want = n == 1 ? "tanh" : names[i];
        (void)dync__oi_cell_name(k, i, want, name);
        is = strcmp(name, want) == 0;
    }
    for (int i = 1; i < 4 && is && !open; i++) is = dync__oi_is_known(dync__oi_in(c, i));
    return is;
}

/* Rows of gates in PyTorch's order: LSTM i f g o of ONNX's i o f c, GRU r z n of z r h. Known zeros
 * of a bias are none. */
static dync_tensor *dync__oi_reordered(const dync__oi_cell *k, dync_tensor *t, bool bias)
{
    static const int order[2][4] = {{0, 2, 3, 1}, {1, 0, 2, 0}};
    dync_tensor *part[4];
    int n = k->kind == DYNC__OI_LSTM ? 4 : k->kind == DYNC__OI_GRU ? 3 : 1;
    if (!t || (bias && dync__oi_is_all(t, 0))) return NULL;
    for (int i = 0; i < n && n > 1; i++)
        part[i] = dync__oi_narrow(t, 0, order[n == 3][i] * k->hidden, k->hidden);
    return n > 1 ? dync__oi_list(n, part, 0, false) : t;
}

/* A known identity, as the writer makes a layer's share of the input. */
static bool dync__oi_is_identity(dync_tensor *t)
{
    const dync__tensor *x = dync__peek(t);
    if (!x || !dync__oi_is_known(t) || x->lay.ndim != 2 || x->lay.shape[0] != x->lay.shape[1])
        return false;
    t = dync_contiguous(t);
    x = t ? dync__open(t) : NULL;
    const char *at = x ? dync__tensor_data(x) : NULL;
    int64_t n = x ? x->lay.shape[0] : 0;
    bool is = at != NULL;
    for (int64_t i = 0; i < n * n && is; i++)
        is = dync__load_f64(at + i * dync__dtype_info(x->dtype)->bytes, x->dtype) ==
             (i / n == i % n ? 1 : 0);
    return is;
}

/* x [L, N, in], w [gates * H, in], r and the biases of one direction, in ONNX's order. */
static dync_tensor *dync__oi_layer(const dync__oi_cell *k, dync_tensor *x, dync_tensor *w,
                                   dync_tensor *r, bool reverse, dync_tensor **h, dync_tensor **s)
{
    int gates = k->kind == DYNC__OI_LSTM ? 4 : k->kind == DYNC__OI_GRU ? 3 : 1;
    dync_tensor *bias = dync__oi_reordered(k, k->bias_w, true);
    w = dync__oi_reordered(k, w, false);
    r = dync__oi_reordered(k, r, false);
    if (!w || !r) return NULL;
    if (bias || !dync__oi_is_identity(w)) x = dync_linear(x, w, bias);
    dync_tensor *from[5] = {x, r, dync__oi_reordered(k, k->bias_r, true), *h, *s};
    dync__arg args[8];
    for (int i = 0; i < 5; i++) args[i] = from[i] ? dync__arg_h(from[i]) : dync__arg_none();
    args[5] = dync__arg_i(gates);
    args[6] = dync__arg_b(reverse);
    args[7] = dync__arg_b(false);
    dync_value all = x ? dync__op_call_list(DYNC__OP__rnn_layer, 8, args, dync__tls.at) : DYNC_NONE;
    if (all.kind != DYNC_KIND_LIST) return NULL;
    dync_tensor *out = dync_as_tensor(dync_at(all, 0));
    *h = out ? dync_select(out, 0, reverse ? 0 : -1) : NULL;
    if (*s) *s = dync_as_tensor(dync_at(all, 1));
    return *h ? out : NULL;
}

/* ---- a node ---------------------------------------------------------------------------------- */

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
    dync_tensor *r = k->r = dync__oi_of_direction(dync__oi_in(c, 2), d);
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
    bool open = dync__is_token(dync__oi_extent(x, 0));
    if (!w || !r || !k->bias_r || !*h) return NULL;
    if (dync__oi_is_layer(k, x, open)) return dync__oi_layer(k, x, w, r, reverse, h, s);
    /* of every step at once */
    if (k->bytes) {
        x = dync__oi_cell_product(k, x, w, 8);
        if (x && k->bias_w) x = dync_add(x, k->bias_w);
    } else {
        x = dync_linear(x, w, k->bias_w);
    }
    if (!x || !k->r) return NULL;
    bool many = open || dync__oi_extent(x, 0) > DYNC__OI_STEPS;
    return (many ? dync__oi_scan_steps : dync__oi_steps)(k, x, lengths, reverse, h, s);
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
