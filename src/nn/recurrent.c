/* nn/recurrent.c: RNN, LSTM and GRU over one walk. After layers.c.
 *
 * A cell is a row: its class, how many gates its weights hold, whether it carries a second state.
 * What steps take from the input is computed for all of them at once, the steps are one operator
 * (op/ops.def.h: _rnn_layer; op/decompose_layers.c has the formulas).
 *
 *   one layer, one direction:
 *   x [L, N, in] -- linear by weight_ih, all steps at once --> [L, N, gates H]
 *                -- _rnn_layer by weight_hh, step after step -> [L, N, H]
 *   bidirectional: a second walk from the end, joined to [L, N, 2 H]; the next layer reads that
 *   m->ints: in, H, layers, bidirectional */
#include "../dync.in.h"
#include "nn.h"
DYNC__COLD

/* Of one layer and direction, borrowed: ih [gates H, in], hh [gates H, H], biases [gates H]. */
typedef struct dync__cell_weights {
    dync_tensor *ih, *hh, *bih, *bhh;
} dync__cell_weights;
/* [N, H] each; c NULL but for an LSTM. */
typedef struct dync__cell_state {
    dync_tensor *h, *c;
} dync__cell_state;
typedef struct dync__gated_cell {
    const char *class_name;
    int gates;
    bool two_states;
} dync__gated_cell;

static const dync__gated_cell dync__cells[] = {
    {"GRU", 3, false}, {"LSTM", 4, true}, {"RNN", 1, false}};

static const dync__gated_cell *dync__cell_find(const char *class_name)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__cells); i++)
        if (strcmp(dync__cells[i].class_name, class_name) == 0) return &dync__cells[i];
    return NULL;
}

/* ---- forward --------------------------------------------------------------------------------- */

/* PyTorch's names: weight_ih_l0, weight_ih_l0_reverse, .. */
static const char *const dync__cell_kinds[4] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};

static void dync__cell_weight_name(char *out, size_t cap, int kind, int layer, bool reverse)
{
    dync__format(out, cap, "%s_l%d%s", dync__cell_kinds[kind], layer, reverse ? "_reverse" : "");
}

static dync__cell_weights dync__cell_layer(dync__module *m, int layer, bool reverse)
{
    dync_tensor *t[4];
    for (int i = 0; i < 4; i++) {
        char name[40];
        dync__cell_weight_name(name, sizeof name, i, layer, reverse);
        t[i] = dync__layer_tensor(m, name);
    }
    dync__cell_weights w = {t[0], t[1], t[2], t[3]};
    return w;
}

/* Will the gradient be wanted? Then the layer keeps what it needs. */
static bool dync__cell_trains(int n, dync_tensor *const *t)
{
    bool needed = false;
    for (int i = 0; i < n; i++) needed |= t[i] && dync_requires_grad(t[i]);
    return needed && !dync__grad_is_off();
}

/* x [L, N, in], *s [N, H] -> [L, N, H]; *s is the last one. NULL on failure; everything made
 * belongs to the scope. */
static dync_tensor *dync__cell_run(const dync__gated_cell *cell, dync__cell_weights w,
                                   dync_tensor *x, dync__cell_state *s, bool reverse)
{
    /* of every step at once */
    dync_tensor *from[5] = {dync_linear(x, w.ih, w.bih), w.hh, w.bhh, s->h,
                            cell->two_states ? s->c : NULL};
    dync__arg args[8];
    for (int i = 0; i < 5; i++) args[i] = from[i] ? dync__arg_h(from[i]) : dync__arg_none();
    args[5] = dync__arg_i(cell->gates);
    args[6] = dync__arg_b(reverse);
    args[7] = dync__arg_b(dync__cell_trains(5, from));
    dync_value all = from[0] ? dync__op_call_list(DYNC__OP__rnn_layer, 8, args, dync__tls.at)
                             : DYNC_NONE;
    if (all.kind != DYNC_KIND_LIST) return NULL;
    dync_tensor *out = dync_as_tensor(dync_at(all, 0));
    s->h = dync_select(out, 0, reverse ? 0 : -1);
    s->c = dync_as_tensor(dync_at(all, 1));
    return s->h ? out : NULL;
}

/* The given h0, or (h0, c0), [layers * directions, N, H], or zeros. n = layers * directions. Both
 * NULL: the second argument is none of these. A GRU and an RNN get h in c too, so that the checks
 * that follow need no second form. */
static dync__cell_state dync__cell_start(const dync__gated_cell *cell, dync_tensor *x,
                                         const dync_value *state, int64_t n, int64_t hidden)
{
    dync__cell_state s = {NULL, NULL};
    dync_make make = {0};
    make.shape = dync_shape(n, dync__open(x)->lay.shape[1], hidden);
    make.dtype = dync_type(x);
    make.device = (dync_device)dync__open(x)->device;
    if (!state || state->kind == DYNC_KIND_NONE) {
        s.h = s.c = DYNC__MAKER(zeros)(make);
    } else if (cell->two_states && state->kind == DYNC_KIND_LIST && dync_len(*state) == 2) {
        s.h = dync_as_tensor(dync_at(*state, 0));
        s.c = dync_as_tensor(dync_at(*state, 1));
    } else if (!cell->two_states && state->kind == DYNC_KIND_TENSOR) {
        s.h = s.c = state->as.t;
    } else {
        dync__fail(DYNC_ERR_VALUE, "%s: expected %s as the second argument", cell->class_name,
                   cell->two_states ? "(h0, c0)" : "h0");
    }
    return s;
}

/* The last states of all layers stacked: h, or (h, c). */
static dync_value dync__cell_states(const dync__gated_cell *cell, int n, const dync_value *h,
                                    const dync_value *c)
{
    dync_value both[2] = {dync_v_tensor(dync_stack(dync_tuple_of(n, h), 0)), DYNC_NONE};
    if (!cell->two_states || !both[0].as.t) return both[0];
    both[1] = dync_v_tensor(dync_stack(dync_tuple_of(n, c), 0));
    return both[1].as.t ? dync_tuple_of(2, both) : DYNC_NONE;
}

/* State number k of layer * directions + direction is where each walk begins and where its last
 * state goes. Returns (out, state); NONE on failure. */
static dync_value dync__cell_layers(const dync__gated_cell *cell, dync__module *m, dync_tensor *x,
                                    dync__cell_state start)
{
    int layers = (int)m->ints[2], directions = m->ints[3] ? 2 : 1, n = layers * directions;
    dync_value *h = dync__scope_alloc((size_t)n * sizeof *h),
               *c = dync__scope_alloc((size_t)n * sizeof *c);
    if (!h || !c) return DYNC_NONE;
    for (int layer = 0; layer < layers; layer++) {
        dync_tensor *out[2] = {NULL, NULL};
        for (int d = 0; d < directions; d++) {
            int k = layer * directions + d;
            dync__cell_state s = {dync_select(start.h, 0, k),
                                  cell->two_states ? dync_select(start.c, 0, k) : NULL};
            out[d] = dync__cell_run(cell, dync__cell_layer(m, layer, d == 1), x, &s, d == 1);
            if (!out[d]) return DYNC_NONE;
            h[k] = dync_v_tensor(s.h);
            c[k] = dync_v_tensor(s.c);
        }
        dync_value both[2] = {dync_v_tensor(out[0]),
                              directions == 2 ? dync_v_tensor(out[1]) : DYNC_NONE};
        x = directions == 2 ? dync_cat(dync_tuple_of(2, both), -1) : out[0];
    }
    dync_value result[2] = {dync_v_tensor(x), dync__cell_states(cell, n, h, c)};
    return x && result[1].kind != DYNC_KIND_NONE && (cell->two_states || result[1].as.t)
               ? dync_tuple_of(2, result)
               : DYNC_NONE;
}

/* Drops dim 1 of every tensor: the batch that an input without one was given. */
static dync_value dync__cell_unbatch(dync_value v)
{
    if (v.kind == DYNC_KIND_TENSOR) return dync_v_tensor(dync_squeeze(v.as.t, 1));
    if (v.kind != DYNC_KIND_LIST) return v;
    dync_value both[2] = {dync__cell_unbatch(dync_at(v, 0)), dync__cell_unbatch(dync_at(v, 1))};
    return dync_tuple_of(2, both);
}

/* states: what dim 0 must be. The batch may be symbolic and is compared by the operator. */
static dync_status dync__cell_check(const dync__gated_cell *cell, const dync__module *m,
                                    dync_tensor *t, int states)
{
    const dync__tensor *in = dync__open(t);
    if (!in) return dync_error();
    if (dync_ndim(t) == 3 && dync__sz_eq(in->lay.shape[0], states) &&
        dync__sz_eq(in->lay.shape[2], m->ints[1]))
        return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "%s: expected %s of [%d, batch, %lld]", cell->class_name,
                      cell->two_states ? "h0 and c0" : "h0", states, (long long)m->ints[1]);
}

/* A state given beside an input without a batch has none either: it gets one of 1. */
static dync_status dync__cell_alone(const dync__gated_cell *cell, dync__cell_state *s)
{
    int h = dync_ndim(s->h), c = dync_ndim(s->c);
    if (cell->two_states && (h != 2 || c != 2))
        return dync__fail(DYNC_ERR_SHAPE,
                          "%s: For unbatched 2-D input, hx and cx should also be 2-D but got "
                          "(%d-D, %d-D) tensors",
                          cell->class_name, h, c);
    if (h != 2)
        return dync__fail(DYNC_ERR_SHAPE,
                          "%s: For unbatched 2-D input, hx should also be 2-D but got %d-D tensor",
                          cell->class_name, h);
    s->h = dync_unsqueeze(s->h, 1);
    s->c = cell->two_states ? dync_unsqueeze(s->c, 1) : s->h;
    return s->h && s->c ? DYNC_OK : dync_error();
}

/* x [L, N, in] or [L, in], a state optional -> (out, state); the state is h, or (h, c) of an
 * LSTM */
DYNC__FN dync_value dync__layer_recurrent(dync__module *m, const dync_value *args, int nargs)
{
    const dync__gated_cell *cell = dync__cell_find(m->class_name);
    dync_tensor *x = nargs >= 1 && nargs <= 2 ? dync_as_tensor(args[0]) : NULL;
    if (nargs < 1 || nargs > 2)
        dync__fail(DYNC_ERR_VALUE, "%s: expected x or x, %s; got %d arguments", cell->class_name,
                   cell->two_states ? "(h0, c0)" : "h0", nargs);
    const dync__tensor *in = x ? dync__open(x) : NULL;
    if (!in) return DYNC_NONE;
    int rank = dync_ndim(x), states = (int)(m->ints[2] * (m->ints[3] ? 2 : 1));
    const int64_t *size = in->lay.shape; /* any length and batch: neither is made a number */
    if ((rank != 2 && rank != 3) || !dync__sz_eq(size[rank - 1], m->ints[0]) ||
        dync__sz_lt(size[0], 1)) {
        dync__fail(DYNC_ERR_SHAPE, "%s: expected [length, batch, %lld] or [length, %lld]",
                   cell->class_name, (long long)m->ints[0], (long long)m->ints[0]);
        return DYNC_NONE;
    }
    if (rank == 2) x = dync_unsqueeze(x, 1);
    dync__cell_state start =
        dync__cell_start(cell, x, nargs == 2 ? &args[1] : NULL, states, m->ints[1]);
    if (!start.h || !start.c) return DYNC_NONE;
    bool given = nargs == 2 && args[1].kind != DYNC_KIND_NONE;
    if (rank == 2 && given && dync__cell_alone(cell, &start) != DYNC_OK) return DYNC_NONE;
    if (dync__cell_check(cell, m, start.h, states) != DYNC_OK ||
        dync__cell_check(cell, m, start.c, states) != DYNC_OK)
        return DYNC_NONE;
    dync_value result = dync__cell_layers(cell, m, x, start);
    return rank == 2 ? dync__cell_unbatch(result) : result;
}

/* ---- constructors ---------------------------------------------------------------------------- */

/* All within 1 / sqrt(H), as in PyTorch. Layers above the first read the outputs of all
 * directions. */
static bool dync__cell_init(const dync__gated_cell *cell, dync__module *m, int layer, bool reverse)
{
    int64_t hidden = m->ints[1], in = layer == 0 ? m->ints[0] : hidden * (m->ints[3] ? 2 : 1),
            rows = cell->gates * hidden;
    for (int i = 0; i < 4; i++) {
        char name[40];
        dync__cell_weight_name(name, sizeof name, i, layer, reverse);
        dync_dims shape = i >= 2 ? dync_shape(rows) : dync_shape(rows, i == 0 ? in : hidden);
        if (!dync__init_uniform(m, name, shape, 1 / sqrt((double)hidden))) return false;
    }
    return true;
}

/* The constructors' common part; layers are limited as each has up to eight named tensors. */
static dync__module *dync__cell_new(const char *what, const dync__layer_class *c, int64_t input,
                                    int64_t hidden, int layers, bool bidirectional)
{
    const int64_t sizes[3] = {input, hidden, layers};
    if (layers > 1024)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected at most 1024 layers, got %d", what, layers),
               NULL;
    dync__module *m = dync__layer_sizes(what, 3, sizes) ? dync__layer_new(c) : NULL;
    if (!m) return NULL;
    m->args = "x, state";
    memcpy(m->ints, sizes, sizeof sizes);
    m->ints[3] = bidirectional;
    const dync__gated_cell *cell = dync__cell_find(c->name);
    bool ok = true;
    for (int layer = 0; ok && layer < layers; layer++)
        ok = dync__cell_init(cell, m, layer, false) &&
             (!bidirectional || dync__cell_init(cell, m, layer, true));
    return dync__layer_done(m, ok);
}

DYNC_API dync_module *dync_nn_gru(int64_t input, int64_t hidden, int layers, bool bidirectional)
{
    return dync__module_give(
        dync__cell_new("dync_nn_gru", &dync__class_GRU, input, hidden, layers, bidirectional));
}

DYNC_API dync_module *dync_nn_lstm(int64_t input, int64_t hidden, int layers, bool bidirectional)
{
    return dync__module_give(
        dync__cell_new("dync_nn_lstm", &dync__class_LSTM, input, hidden, layers, bidirectional));
}

DYNC_API dync_module *dync_nn_rnn(int64_t input, int64_t hidden, int layers, bool bidirectional)
{
    return dync__module_give(
        dync__cell_new("dync_nn_rnn", &dync__class_RNN, input, hidden, layers, bidirectional));
}
