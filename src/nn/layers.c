/* nn/layers.c: the modules at hand. After init.c, before optim.c.
 *
 * One row per class: its name in files, its forward. What a layer is configured by stands in ints and floats of the module, so that a
 * file restores it; its weights are found by PyTorch's names. */
#include "../dync.in.h"
#include "nn.h"
#undef DYNC_HERE
#define DYNC_HERE dync__tls.at

static dync_tensor *dync__layer_tensor(dync_module *m, const char *name) { return dync__handle(dync__module_tensor(m, name)); }

/* ---- forward -------------------------------------------------------------------------------------------------------- */

static dync_tensor *dync__layer_linear(dync_module *m, dync_tensor *x)
{
    return dync_linear(x, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"));
}

static dync_tensor *dync__layer_relu(dync_module *m, dync_tensor *x) { return (void)m, dync_relu(x); }
static dync_tensor *dync__layer_sigmoid(dync_module *m, dync_tensor *x) { return (void)m, dync_sigmoid(x); }
static dync_tensor *dync__layer_tanh(dync_module *m, dync_tensor *x) { return (void)m, dync_tanh(x); }
static dync_tensor *dync__layer_gelu(dync_module *m, dync_tensor *x) { return (void)m, dync_gelu(x); }
static dync_tensor *dync__layer_silu(dync_module *m, dync_tensor *x) { return (void)m, dync_silu(x); }
static dync_tensor *dync__layer_softmax(dync_module *m, dync_tensor *x) { return dync_softmax(x, (int)m->ints[0]); }
static dync_tensor *dync__layer_flatten(dync_module *m, dync_tensor *x) { return (void)m, dync_flatten(x, 1, -1); }
static dync_tensor *dync__layer_dropout(dync_module *m, dync_tensor *x) { return dync_dropout(x, m->floats[0], m->training); }
static dync_tensor *dync__layer_embedding(dync_module *m, dync_tensor *x) { return dync_embedding(dync__layer_tensor(m, "weight"), x); }

static dync_tensor *dync__layer_conv2d(dync_module *m, dync_tensor *x)
{
    dync_dims stride = {2, {m->ints[3], m->ints[3]}}, padding = {2, {m->ints[4], m->ints[4]}}, one = {2, {1, 1}};
    return dync_conv2d(x, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"), stride, padding, one, 1);
}

static dync_tensor *dync__layer_batch_norm2d(dync_module *m, dync_tensor *x)
{
    dync_tensor *batches = dync__layer_tensor(m, "num_batches_tracked");
    if (m->training && batches) dync_add_(batches, 1);
    return dync_batch_norm(x, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"), dync__layer_tensor(m, "running_mean"),
                           dync__layer_tensor(m, "running_var"), m->training, m->floats[0], m->floats[1]);
}

static dync_tensor *dync__layer_layer_norm(dync_module *m, dync_tensor *x)
{
    dync_dims shape = {1, {m->ints[0]}};
    return dync_layer_norm(x, shape, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"), m->floats[0]);
}

static dync_dims dync__layer_pair(int64_t n)
{
    dync_dims dims = {2, {n, n}};
    return dims;
}

static dync_tensor *dync__layer_max_pool2d(dync_module *m, dync_tensor *x)
{
    return dync_max_pool2d(x, dync__layer_pair(m->ints[0]), dync__layer_pair(m->ints[1]), dync__layer_pair(m->ints[2]),
                           dync__layer_pair(1), false);
}

static dync_tensor *dync__layer_avg_pool2d(dync_module *m, dync_tensor *x)
{
    return dync_avg_pool2d(x, dync__layer_pair(m->ints[0]), dync__layer_pair(m->ints[1]), dync__layer_pair(m->ints[2]), false, true);
}

static dync_tensor *dync__layer_sequential(dync_module *m, dync_tensor *x)
{
    for (int i = 0; i < m->child.n && x; i++) x = dync_forward_call(m->child.at[i], x);
    return x;
}

/* ---- LSTM: gates in PyTorch's order i, f, g, o; Hochreiter & Schmidhuber 1997, with forget gates ------------------------- */

typedef struct dync__lstm_weights { dync_tensor *ih, *hh, *bih, *bhh; } dync__lstm_weights;

static dync__lstm_weights dync__lstm_layer(dync_module *m, int layer, bool reverse)
{
    static const char *const kinds[4] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    dync_tensor *t[4];
    for (int i = 0; i < 4; i++) {
        char name[40];
        dync__format(name, sizeof name, "%s_l%d%s", kinds[i], layer, reverse ? "_reverse" : "");
        t[i] = dync__layer_tensor(m, name);
    }
    dync__lstm_weights w = {t[0], t[1], t[2], t[3]};
    return w;
}

static dync_tensor *dync__lstm_gate(dync_tensor *gates, int i, int64_t hidden)
{
    return dync_slice(gates, -1, i * hidden, (i + 1) * hidden, 1);
}

/* x [L, N, in], *h and *c [N, H] -> [L, N, H]; *h and *c are the last ones. */
static dync_tensor *dync__lstm_run(dync__lstm_weights w, dync_tensor *x, dync_tensor **h, dync_tensor **c, int64_t hidden, bool reverse)
{
    int64_t steps = dync_size(x, 0);
    dync_tensor *all = dync_linear(x, w.ih, w.bih);      /* of every step at once */
    if (!all || steps < 1 || steps > INT_MAX) return NULL;
    dync_value *out = dync__scope_alloc((size_t)steps * sizeof *out);
    if (!out) return NULL;
    for (int64_t i = 0; i < steps; i++) {
        int64_t t = reverse ? steps - 1 - i : i;
        dync_tensor *gates = dync_add(dync_select(all, 0, t), dync_linear(*h, w.hh, w.bhh));
        dync_tensor *in = dync_sigmoid(dync__lstm_gate(gates, 0, hidden)), *forget = dync_sigmoid(dync__lstm_gate(gates, 1, hidden));
        dync_tensor *cell = dync_tanh(dync__lstm_gate(gates, 2, hidden)), *o = dync_sigmoid(dync__lstm_gate(gates, 3, hidden));
        *c = dync_add(dync_mul(forget, *c), dync_mul(in, cell));
        *h = dync_mul(o, dync_tanh(*c));
        if (!*h) return NULL;
        out[t] = dync_v_tensor(*h);
    }
    return dync_stack(dync_tuple_of((int)steps, out), 0);
}

typedef struct dync__lstm_state { dync_tensor *h, *c; } dync__lstm_state;

/* The given (h0, c0), [layers * directions, N, H], or zeros. */
static dync__lstm_state dync__lstm_start(dync_tensor *x, const dync_value *state, int64_t n, int64_t hidden)
{
    dync__lstm_state s = {NULL, NULL};
    dync_make make = {0};
    make.shape = dync_shape(n, dync_size(x, 1), hidden);
    make.dtype = dync_type(x);
    if (!state || state->kind == DYNC_KIND_NONE) {
        s.h = s.c = dync_zeros_opt(make);
    } else if (state->kind == DYNC_KIND_LIST && dync_len(*state) == 2) {
        s.h = dync_as_tensor(dync_at(*state, 0));
        s.c = dync_as_tensor(dync_at(*state, 1));
    } else {
        dync__fail(DYNC_ERR_VALUE, "LSTM: expected (h0, c0) as the second argument");
    }
    return s;
}

static dync_value dync__lstm_layers(dync_module *m, dync_tensor *x, dync__lstm_state start)
{
    int layers = (int)m->ints[2], directions = m->ints[3] ? 2 : 1;
    int64_t hidden = m->ints[1];
    dync_value *h = dync__scope_alloc((size_t)(layers * directions) * sizeof *h), *c = dync__scope_alloc((size_t)(layers * directions) * sizeof *c);
    if (!h || !c) return DYNC_NONE;
    for (int layer = 0; layer < layers; layer++) {
        dync_tensor *out[2] = {NULL, NULL};
        for (int d = 0; d < directions; d++) {
            int k = layer * directions + d;
            dync_tensor *hk = dync_select(start.h, 0, k), *ck = dync_select(start.c, 0, k);
            out[d] = dync__lstm_run(dync__lstm_layer(m, layer, d == 1), x, &hk, &ck, hidden, d == 1);
            if (!out[d]) return DYNC_NONE;
            h[k] = dync_v_tensor(hk);
            c[k] = dync_v_tensor(ck);
        }
        dync_value both[2] = {dync_v_tensor(out[0]), directions == 2 ? dync_v_tensor(out[1]) : DYNC_NONE};
        x = directions == 2 ? dync_cat(dync_tuple_of(2, both), -1) : out[0];
    }
    dync_value state[2] = {dync_v_tensor(dync_stack(dync_tuple_of(layers * directions, h), 0)),
                           dync_v_tensor(dync_stack(dync_tuple_of(layers * directions, c), 0))};
    dync_value result[2] = {dync_v_tensor(x), dync_tuple_of(2, state)};
    return x && state[0].as.t && state[1].as.t ? dync_tuple_of(2, result) : DYNC_NONE;
}

/* Drops dim 1 of out, h and c: the batch that an input without one was given. */
static dync_value dync__lstm_unbatch(dync_value v)
{
    if (v.kind != DYNC_KIND_LIST) return v;
    dync_value inner = dync_at(v, 1);
    dync_value state[2] = {dync_v_tensor(dync_squeeze(dync_as_tensor(dync_at(inner, 0)), 1)),
                           dync_v_tensor(dync_squeeze(dync_as_tensor(dync_at(inner, 1)), 1))};
    dync_value result[2] = {dync_v_tensor(dync_squeeze(dync_as_tensor(dync_at(v, 0)), 1)), dync_tuple_of(2, state)};
    return dync_tuple_of(2, result);
}

/* x [L, N, in] or [L, in], (h0, c0) optional -> (out, (h, c)) */
static dync_value dync__layer_lstm(dync_module *m, const dync_value *args, int nargs)
{
    dync_tensor *x = nargs >= 1 && nargs <= 2 ? dync_as_tensor(args[0]) : NULL;
    if (nargs < 1 || nargs > 2) dync__fail(DYNC_ERR_VALUE, "LSTM: expected x or x, (h0, c0); got %d arguments", nargs);
    if (!x) return DYNC_NONE;
    int rank = dync_ndim(x), states = (int)(m->ints[2] * (m->ints[3] ? 2 : 1));
    if ((rank != 2 && rank != 3) || dync_size(x, -1) != m->ints[0] || dync_size(x, 0) < 1) {
        dync__fail(DYNC_ERR_SHAPE, "LSTM: expected [length, batch, %lld] or [length, %lld]", (long long)m->ints[0], (long long)m->ints[0]);
        return DYNC_NONE;
    }
    if (rank == 2) x = dync_unsqueeze(x, 1);
    dync__lstm_state start = dync__lstm_start(x, nargs == 2 ? &args[1] : NULL, states, m->ints[1]);
    if (rank == 2 && nargs == 2 && start.h && start.c && dync_ndim(start.h) == 2 && dync_ndim(start.c) == 2) {
        start.h = dync_unsqueeze(start.h, 1);
        start.c = dync_unsqueeze(start.c, 1);
    }
    if (!start.h || !start.c) return DYNC_NONE;
    if (dync_ndim(start.h) != 3 || dync_ndim(start.c) != 3 || dync_size(start.h, 0) != states || dync_size(start.c, 0) != states) {
        dync__fail(DYNC_ERR_SHAPE, "LSTM: expected h0 and c0 of [%d, batch, %lld]", states, (long long)m->ints[1]);
        return DYNC_NONE;
    }
    dync_value result = dync__lstm_layers(m, x, start);
    return rank == 2 ? dync__lstm_unbatch(result) : result;
}

/* ---- classes ------------------------------------------------------------------------------------------------------------------ */

typedef struct dync__layer_class { const char *name; dync_forward forward; dync_forward_values forward_values; } dync__layer_class;
static const dync__layer_class dync__layer_classes[] = {
    {"AvgPool2d", dync__layer_avg_pool2d, NULL},     {"BatchNorm2d", dync__layer_batch_norm2d, NULL},
    {"Conv2d", dync__layer_conv2d, NULL},            {"Dropout", dync__layer_dropout, NULL},
    {"Embedding", dync__layer_embedding, NULL},      {"Flatten", dync__layer_flatten, NULL},
    {"GELU", dync__layer_gelu, NULL},                {"LSTM", NULL, dync__layer_lstm},
    {"LayerNorm", dync__layer_layer_norm, NULL},     {"Linear", dync__layer_linear, NULL},
    {"MaxPool2d", dync__layer_max_pool2d, NULL},     {"ReLU", dync__layer_relu, NULL},
    {"Sequential", dync__layer_sequential, NULL},    {"SiLU", dync__layer_silu, NULL},
    {"Sigmoid", dync__layer_sigmoid, NULL},          {"Softmax", dync__layer_softmax, NULL},
    {"Tanh", dync__layer_tanh, NULL},
};

static const dync__layer_class *dync__layer_find(const char *name)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__layer_classes); i++)
        if (strcmp(dync__layer_classes[i].name, name) == 0) return &dync__layer_classes[i];
    return NULL;
}

/* Classes of the user, process-wide. */
typedef struct dync__user_class { const char *name; dync_forward_values forward; } dync__user_class;
static struct { dync__mutex lock; DYNC__VEC(dync__user_class) at; } dync__user_classes;

static void dync__user_classes_free(void) { dync__vec_free(&dync__user_classes.at); }

DYNC_API dync_status dync_module_register_class(const char *class_name, dync_forward_values forward)
{
    if (!class_name || !*class_name || !forward) return dync__fail(DYNC_ERR_VALUE, "dync_module_register_class: expected a name and a forward");
    if (dync__layer_find(class_name)) return dync__fail(DYNC_ERR_VALUE, "duplicate name: %s", class_name);
    dync__user_class c = {dync__intern(class_name), forward};
    if (!c.name) return DYNC_ERR_MEMORY;
    dync__at_shutdown(dync__user_classes_free);
    dync__lock(&dync__user_classes.lock);
    bool done = false;
    for (int i = 0; i < dync__user_classes.at.n; i++)
        if (strcmp(dync__user_classes.at.at[i].name, class_name) == 0) {
            dync__user_classes.at.at[i].forward = forward;
            done = true;
        }
    if (!done) done = dync__vec_push(&dync__user_classes.at, c);
    dync__unlock(&dync__user_classes.lock);
    return done ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__module_find_class(dync_module *m)
{
    const dync__layer_class *c = dync__layer_find(m->class_name);
    if (c) {
        m->forward = c->forward;
        m->forward_values = c->forward_values;
        return DYNC_OK;
    }
    dync__lock(&dync__user_classes.lock);
    for (int i = 0; i < dync__user_classes.at.n; i++)
        if (strcmp(dync__user_classes.at.at[i].name, m->class_name) == 0) m->forward_values = dync__user_classes.at.at[i].forward;
    dync__unlock(&dync__user_classes.lock);
    if (m->forward_values) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "module class \"%s\" is not known: dync_module_register_class comes first", m->class_name);
}

/* ---- constructors ----------------------------------------------------------------------------------------------------------------- */

static dync_module *dync__layer_new(const char *class_name)
{
    dync_module *m = dync__module_alloc(class_name);
    if (m && dync__module_find_class(m) == DYNC_OK) return m;
    dync_module_free(m);
    return NULL;
}

/* m, or NULL where its making failed. */
static dync_module *dync__layer_done(dync_module *m, bool ok)
{
    if (ok) return m;
    dync_module_free(m);
    return NULL;
}

static bool dync__layer_sizes(const char *what, int n, const int64_t *sizes)
{
    for (int i = 0; i < n; i++)
        if (sizes[i] < 1) return dync__fail(DYNC_ERR_VALUE, "%s: expected sizes >= 1, got %lld", what, (long long)sizes[i]), false;
    return true;
}

DYNC_API dync_module *dync_nn_relu(void) { return dync__layer_new("ReLU"); }
DYNC_API dync_module *dync_nn_sigmoid(void) { return dync__layer_new("Sigmoid"); }
DYNC_API dync_module *dync_nn_tanh(void) { return dync__layer_new("Tanh"); }
DYNC_API dync_module *dync_nn_gelu(void) { return dync__layer_new("GELU"); }
DYNC_API dync_module *dync_nn_silu(void) { return dync__layer_new("SiLU"); }
DYNC_API dync_module *dync_nn_flatten(void) { return dync__layer_new("Flatten"); }

DYNC_API dync_module *dync_nn_softmax(int dim)
{
    dync_module *m = dync__layer_new("Softmax");
    if (m) m->ints[0] = dim;
    return m;
}

DYNC_API dync_module *dync_nn_dropout(double p)
{
    if (!(p >= 0 && p <= 1)) return dync__fail(DYNC_ERR_VALUE, "dropout probability has to be between 0 and 1, but got %g", p), NULL;
    dync_module *m = dync__layer_new("Dropout");
    if (m) m->floats[0] = p;
    return m;
}

DYNC_API dync_module *dync_nn_linear(int64_t in, int64_t out, bool bias)
{
    const int64_t sizes[2] = {in, out};
    dync_module *m = dync__layer_sizes("dync_nn_linear", 2, sizes) ? dync__layer_new("Linear") : NULL;
    if (!m) return NULL;
    m->ints[0] = in;
    m->ints[1] = out;
    double bound = 1 / sqrt((double)in);
    bool ok = dync__init_uniform(m, "weight", dync_shape(out, in), bound) && (!bias || dync__init_uniform(m, "bias", dync_shape(out), bound));
    return dync__layer_done(m, ok);
}

DYNC_API dync_module *dync_nn_conv2d(int64_t in, int64_t out, int kernel, int stride, int padding, bool bias)
{
    const int64_t sizes[4] = {in, out, kernel, stride};
    if (padding < 0) return dync__fail(DYNC_ERR_VALUE, "dync_nn_conv2d: expected padding >= 0, got %d", padding), NULL;
    dync_module *m = dync__layer_sizes("dync_nn_conv2d", 4, sizes) ? dync__layer_new("Conv2d") : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    m->ints[4] = padding;
    double bound = 1 / sqrt((double)in * kernel * kernel);
    bool ok = dync__init_uniform(m, "weight", dync_shape(out, in, kernel, kernel), bound) &&
              (!bias || dync__init_uniform(m, "bias", dync_shape(out), bound));
    return dync__layer_done(m, ok);
}

DYNC_API dync_module *dync_nn_batch_norm2d(int64_t features)
{
    dync_module *m = dync__layer_sizes("dync_nn_batch_norm2d", 1, &features) ? dync__layer_new("BatchNorm2d") : NULL;
    if (!m) return NULL;
    m->ints[0] = features;
    m->floats[0] = 0.1;                /* momentum */
    m->floats[1] = 1e-5;               /* eps */
    dync_dims n = dync_shape(features);
    bool ok = dync__init_full(m, "weight", n, DYNC_F32, 1, false) && dync__init_full(m, "bias", n, DYNC_F32, 0, false) &&
              dync__init_full(m, "running_mean", n, DYNC_F32, 0, true) && dync__init_full(m, "running_var", n, DYNC_F32, 1, true) &&
              dync__init_full(m, "num_batches_tracked", DYNC_SCALAR, DYNC_I64, 0, true);
    return dync__layer_done(m, ok);
}

DYNC_API dync_module *dync_nn_layer_norm(int64_t features)
{
    dync_module *m = dync__layer_sizes("dync_nn_layer_norm", 1, &features) ? dync__layer_new("LayerNorm") : NULL;
    if (!m) return NULL;
    m->ints[0] = features;
    m->floats[0] = 1e-5;
    dync_dims n = dync_shape(features);
    return dync__layer_done(m, dync__init_full(m, "weight", n, DYNC_F32, 1, false) && dync__init_full(m, "bias", n, DYNC_F32, 0, false));
}

DYNC_API dync_module *dync_nn_embedding(int64_t count, int64_t features)
{
    const int64_t sizes[2] = {count, features};
    dync_module *m = dync__layer_sizes("dync_nn_embedding", 2, sizes) ? dync__layer_new("Embedding") : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    return dync__layer_done(m, dync__init_normal(m, "weight", dync_shape(count, features)));
}

static dync_module *dync__layer_pool(const char *class_name, int kernel, int stride, int padding)
{
    const int64_t sizes[2] = {kernel, stride};
    if (padding < 0) return dync__fail(DYNC_ERR_VALUE, "%s: expected padding >= 0, got %d", class_name, padding), NULL;
    dync_module *m = dync__layer_sizes(class_name, 2, sizes) ? dync__layer_new(class_name) : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    m->ints[2] = padding;
    return m;
}

DYNC_API dync_module *dync_nn_max_pool2d(int kernel, int stride, int padding) { return dync__layer_pool("MaxPool2d", kernel, stride, padding); }
DYNC_API dync_module *dync_nn_avg_pool2d(int kernel, int stride, int padding) { return dync__layer_pool("AvgPool2d", kernel, stride, padding); }

static bool dync__lstm_init(dync_module *m, int layer, bool reverse)
{
    static const char *const kinds[4] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    int64_t hidden = m->ints[1], in = layer == 0 ? m->ints[0] : hidden * (m->ints[3] ? 2 : 1);
    for (int i = 0; i < 4; i++) {
        char name[40];
        dync__format(name, sizeof name, "%s_l%d%s", kinds[i], layer, reverse ? "_reverse" : "");
        dync_dims shape = i >= 2 ? dync_shape(4 * hidden) : dync_shape(4 * hidden, i == 0 ? in : hidden);
        if (!dync__init_uniform(m, name, shape, 1 / sqrt((double)hidden))) return false;
    }
    return true;
}

DYNC_API dync_module *dync_nn_lstm(int64_t input, int64_t hidden, int layers, bool bidirectional)
{
    const int64_t sizes[3] = {input, hidden, layers};
    if (layers > 1024) return dync__fail(DYNC_ERR_VALUE, "dync_nn_lstm: expected at most 1024 layers, got %d", layers), NULL;
    dync_module *m = dync__layer_sizes("dync_nn_lstm", 3, sizes) ? dync__layer_new("LSTM") : NULL;
    if (!m) return NULL;
    m->args = "x, state";
    memcpy(m->ints, sizes, sizeof sizes);
    m->ints[3] = bidirectional;
    bool ok = true;
    for (int layer = 0; ok && layer < layers; layer++)
        ok = dync__lstm_init(m, layer, false) && (!bidirectional || dync__lstm_init(m, layer, true));
    return dync__layer_done(m, ok);
}

DYNC_API dync_module *dync_sequential_of(int n, dync_module **children)
{
    bool ok = n >= 0 && (n == 0 || children);
    dync_module *m = ok ? dync__layer_new("Sequential") : NULL;
    if (!ok) dync__fail(DYNC_ERR_VALUE, "dync_sequential: expected modules");
    for (int i = 0; ok && i < n; i++) {
        char name[16];
        dync__format(name, sizeof name, "%d", i);
        if (m && children[i]) dync_module_add(m, name, children[i]);
        else if (m) dync__fail(DYNC_ERR_VALUE, "dync_sequential: module %d is NULL", i);
        else if (children[i] && !children[i]->parent) dync_module_free(children[i]);
    }
    if (m && m->child.n == n) return m;
    dync_module_free(m);
    return NULL;
}
#undef DYNC_HERE
#define DYNC_HERE DYNC__HERE
