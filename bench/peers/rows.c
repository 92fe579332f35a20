/* bench/peers/rows.c: dync's side of `make bench-peers`: a shared library that bench/peers/peers.py
 * drives, so that samples of dync and of its peers are taken in turn in one process, on the same
 * inputs and weights.
 *
 * A row is a kind (a function of this file) with numbers p[] that only it knows. peer_open compiles
 * it for arrays that the driver owns: the inputs, and the parameters and buffers of its module by
 * name. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct peer_array {
    const char *name;
    void *data;
    int64_t ndim, shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS], dtype;
} peer_array;
enum { MOST_INPUTS = 16, MOST_RESULTS = 8 };

static const int64_t *p; /* the row's numbers */
static dync_module *net;
static dync_optim *optimizer;
static dync_tensor *tensor(dync_value v) { return dync_as_tensor(v); }
static dync_tensor *child(dync_module *m, const char *name, dync_tensor *x)
{
    return dync_forward_call(dync_module_child(m, name), x);
}

/* ---- calls and chains ------------------------------------------------------------------------ */
static dync_value fn_small(const dync_value *a, int n, void *user)
{
    return (void)n, (void)user, DYNC_V(dync_relu(dync_add(a[0], 1)));
}
static dync_value fn_total(const dync_value *a, int n, void *user)
{
    dync_tensor *sum = tensor(a[0]);
    (void)user;
    for (int i = 1; i < n; i++) sum = dync_add(sum, a[i]);
    return DYNC_V(sum);
}
static dync_tensor *short_chain(const dync_value *a)
{
    return dync_sub(dync_div(a[0], dync_add(dync_abs(tensor(a[1])), 1)), dync_div(a[1], 2));
}
static dync_value fn_chain(const dync_value *v, int n, void *user)
{
    dync_tensor *a = tensor(v[0]), *b = tensor(v[1]);
    (void)n, (void)user;
    switch (p[0]) {
    case 0: return DYNC_V(short_chain(v));
    case 1: return DYNC_V(dync_add(dync_mul(dync_relu(short_chain(v)), a), b));
    case 2: return DYNC_V(dync_mul(dync_gelu_tanh(a), dync_sigmoid(b)));
    case 3:
        return DYNC_V(
            dync_where(dync_gt(a, b), dync_exp(dync_neg(dync_abs(a))), dync_log1p(dync_abs(b))));
    default:
        return DYNC_V(dync_add(dync_mul(dync_sin(a), dync_cos(b)),
                               dync_mul(dync_tanh(dync_sub(a, b)), dync_sqrt(dync_abs(b)))));
    }
}

/* ---- rows of a matrix ------------------------------------------------------------------------ */
enum {
    SOFTMAX,
    LOG_SOFTMAX,
    LAYER_NORM,
    RMS_NORM,
    SUM,
    SUM_ALL,
    MEAN,
    AMAX,
    ARGMAX,
    VAR,
    LOGSUMEXP,
    CUMSUM
};
static dync_value fn_reduce(const dync_value *v, int n, void *user)
{
    dync_tensor *x = tensor(v[0]);
    dync_dims d = dync_shape(p[1]);
    int dim = (int)p[1];
    (void)n, (void)user;
    switch (p[0]) {
    case SOFTMAX: return DYNC_V(dync_softmax(x, dim));
    case LOG_SOFTMAX: return DYNC_V(dync_log_softmax(x, dim));
    case LAYER_NORM:
        return DYNC_V(
            dync_layer_norm(x, dync_shape(dync_size(x, -1)), tensor(v[1]), tensor(v[2]), 1e-5));
    case RMS_NORM:
        return DYNC_V(dync_rms_norm(x, dync_shape(dync_size(x, -1)), tensor(v[1]), 1e-6));
    case SUM: return DYNC_V(dync_sum(x, d, false));
    case SUM_ALL: return DYNC_V(dync_sum(x, DYNC_ALL, false));
    case MEAN: return DYNC_V(dync_mean(x, d, false));
    case AMAX: return DYNC_V(dync_amax(x, d, false));
    case ARGMAX: return DYNC_V(dync_argmax(x, dim, false));
    case VAR: return DYNC_V(dync_var(x, d, 1, false));
    case LOGSUMEXP: return DYNC_V(dync_logsumexp(x, d, false));
    case CUMSUM: return DYNC_V(dync_cumsum(x, dim));
    default: return DYNC_V(dync_mul(dync_cumsum(dync_exp(x), dim), tensor(v[1])));
    }
}

/* ---- what moves data ------------------------------------------------------------------------- */
static dync_value fn_move(const dync_value *v, int n, void *user)
{
    dync_tensor *x = tensor(v[0]);
    dync_dims order = {.n = (int)dync_ndim(x)};
    (void)n, (void)user;
    for (int i = 0; i < order.n; i++) order.d[i] = p[1 + i];
    switch (p[0]) {
    case 0: return DYNC_V(dync_add(v[1], dync_transpose(x, 0, 1)));
    case 1: return DYNC_V(dync_contiguous(dync_transpose(x, 0, 1)));
    case 2: return DYNC_V(dync_contiguous(dync_permute(x, dync_shape(0, 2, 3, 1))));
    case 3: return DYNC_V(dync_mul(dync_index_select(x, 0, tensor(v[1])), 2));
    case 4: return DYNC_V(dync_gather(x, 1, tensor(v[1])));
    case 5:
        return DYNC_V(dync_scatter_add(dync_zeros(dync_shape(dync_size(x, 0), dync_size(x, 1))), 1,
                                       tensor(v[1]), x));
    case 6: return DYNC_V(dync_relu(dync_cat(dync_tuple(v[0], v[1]), 1)));
    case 7: return DYNC_V(dync_contiguous(dync_permute(x, order)));
    case 8:
        return DYNC_V(dync_div(dync_to_dtype(dync_permute(x, dync_shape(2, 0, 1)), DYNC_F32), 255));
    case 9: return DYNC_V(dync_pixel_shuffle(x, 2));
    case 10: return DYNC_V(dync_flip(x, dync_shape(p[1])));
    case 11: return DYNC_V(dync_mul(dync_slice(x, 1, 0, DYNC_END, 2), 2));
    case 12:
        return DYNC_V(dync_add(dync_slice(x, 1, 0, DYNC_END, 2), dync_slice(x, 1, 1, DYNC_END, 2)));
    case 13: return DYNC_V(dync_stack(dync_tuple(v[0], v[1]), -1));
    case 14: return DYNC_V(dync_cat(dync_tuple(v[0], v[1], v[2]), 0));
    case 15: return DYNC_V(dync_add(dync_silu(dync_cat(dync_tuple(v[0], v[1]), 1)), 1));
    case 16: return DYNC_V(dync_gather(x, 0, tensor(v[1])));
    case 17: return DYNC_V(dync_matmul(dync_contiguous(dync_transpose(x, 1, 2)), tensor(v[1])));
    case 18: return DYNC_V(dync_softmax(dync_transpose(x, 0, 1), 1));
    case 20: return DYNC_V(dync_sum(dync_embedding(x, tensor(v[1])), dync_shape(1), false));
    case 21:
        return DYNC_V(dync_layer_norm(dync_add(dync_embedding(x, tensor(v[1])), v[2]),
                                      dync_shape(dync_size(x, 1)), tensor(v[3]), tensor(v[4]),
                                      1e-5));
    case 22: return DYNC_V(dync_index_select(x, (int)p[1], tensor(v[1])));
    case 23: return DYNC_V(dync_index_add(x, (int)p[1], tensor(v[1]), tensor(v[2])));
    case 24: return DYNC_V(dync_scatter_add(x, (int)p[1], tensor(v[1]), tensor(v[2])));
    default: return DYNC_V(dync_roll(x, dync_shape(3), dync_shape(1)));
    }
}

/* ---- sorting --------------------------------------------------------------------------------- */
static dync_value fn_sort(const dync_value *v, int n, void *user)
{
    dync_tensor *x = tensor(v[0]);
    int dim = (int)p[1];
    (void)n, (void)user;
    return dync_at(p[0] == 0 ? dync_sort(x, dim, false) : dync_topk(x, p[2], dim, true, true), 0);
}

/* ---- Fourier transforms ---------------------------------------------------------------------- */
/* p[1]: the length of what comes back, of real numbers */
static dync_value fn_fft(const dync_value *v, int n, void *user)
{
    dync_tensor *x = tensor(v[0]);
    (void)n, (void)user;
    return DYNC_V(p[0] == 0   ? dync_fft_rfft(x, DYNC_NONE, 1)
                  : p[0] == 1 ? dync_fft_fft(x, DYNC_NONE, 1)
                              : dync_fft_irfft(x, p[1], 1));
}

/* ---- products -------------------------------------------------------------------------------- */
static dync_value fn_matmul(const dync_value *v, int n, void *user)
{
    dync_tensor *a = tensor(v[0]), *b = tensor(v[1]);
    (void)n, (void)user;
    if (p[0]) a = dync_transpose(a, -2, -1);
    if (p[1]) b = dync_transpose(b, -2, -1);
    return DYNC_V(p[2] ? dync_int_mm(a, b) : dync_matmul(a, b));
}

/* ---- modules --------------------------------------------------------------------------------- */
static dync_tensor *activation(dync_tensor *x, int64_t kind)
{
    return kind == 1   ? dync_relu(x)
           : kind == 2 ? dync_gelu(x)
           : kind == 3 ? dync_relu6(x)
           : kind == 4 ? dync_silu(x)
           : kind == 5 ? dync_hardswish(x)
                       : x;
}
static dync_tensor *linear_act_forward(dync_module *m, dync_tensor *x)
{
    return activation(child(m, "linear", x), p[2]);
}
static dync_module *make_linear(void)
{
    dync_module *m = dync_module_new("LinearAct", linear_act_forward, NULL);
    dync_module_add(m, "linear", dync_nn_linear(p[0], p[1], true));
    return m;
}

/* Convolution without bias, batch norm, activation; a module that knows its numbers. */
typedef struct conv_of {
    int64_t in, out, kernel, stride, groups, act;
} conv_of;
static conv_of convs[64];
static int n_convs;
static dync_tensor *conv_forward(dync_module *m, dync_tensor *x)
{
    const conv_of *c = dync_module_user(m);
    dync_tensor *y =
        dync_conv2d(x, dync_module_param(m, "weight"), NULL, dync_shape(c->stride, c->stride),
                    dync_shape(c->kernel / 2, c->kernel / 2), dync_shape(1, 1), (int)c->groups);
    return activation(child(m, "bn", y), c->act);
}
static dync_module *conv_module(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                                int64_t groups, int64_t act)
{
    conv_of *c = &convs[n_convs++ % 64];
    *c = (conv_of){in, out, kernel, stride, groups, act};
    dync_module *m = dync_module_new("ConvBn", conv_forward, c);
    dync_module_set_param(m, "weight", dync_zeros(dync_shape(out, in / groups, kernel, kernel)));
    dync_module_add(m, "bn", dync_nn_batch_norm2d(out));
    return m;
}
static dync_module *make_conv(void) { return conv_module(p[0], p[1], p[2], p[3], p[4], p[5]); }

static dync_module *make_mlp(void)
{
    return dync_sequential(dync_nn_linear(p[0], p[1], true), dync_nn_relu(),
                           dync_nn_linear(p[1], p[2], true));
}
static dync_module *make_tiny(void)
{
    return dync_sequential(dync_nn_linear(10, 10, true), dync_nn_relu(),
                           dync_nn_linear(10, 10, true), dync_nn_sigmoid());
}
static dync_value first_forward(dync_module *m, const dync_value *a, int n)
{
    (void)n;
    return dync_at(dync_module_call_values(dync_module_child(m, "rnn"), 1, a), 0);
}
static dync_module *make_lstm(void)
{
    dync_module *m = dync_module_new_values("LSTM", first_forward, "x", NULL);
    dync_module_add(m, "rnn", dync_nn_lstm(p[0], p[1], (int)p[2], p[3] != 0));
    return m;
}
static dync_module *make_gru(void)
{
    dync_module *m = dync_module_new_values("GRU", first_forward, "x", NULL);
    dync_module_add(m, "rnn", dync_nn_gru(p[0], p[1], (int)p[2], p[3] != 0));
    return m;
}

/* A transformer block that normalises first: p[0] features, p[1] heads, p[2] causal. */
static dync_tensor *head(dync_tensor *y, int i)
{
    dync_tensor *part = dync_slice(y, 2, i * p[0], (i + 1) * p[0], 1);
    return dync_transpose(
        dync_reshape(part, dync_shape(dync_size(y, 0), dync_size(y, 1), p[1], p[0] / p[1])), 1, 2);
}
static dync_tensor *block_forward(dync_module *m, dync_tensor *x)
{
    dync_tensor *y = child(m, "qkv", child(m, "norm1", x));
    y = dync_scaled_dot_product_attention(head(y, 0), head(y, 1), head(y, 2), NULL, 0, p[2] != 0,
                                          DYNC_NONE);
    y = dync_reshape(dync_transpose(y, 1, 2), dync_shape(dync_size(x, 0), dync_size(x, 1), p[0]));
    x = dync_add(x, child(m, "out", y));
    return dync_add(x, child(m, "down", dync_gelu(child(m, "up", child(m, "norm2", x)))));
}
static dync_module *make_block(void)
{
    dync_module *m = dync_module_new("Block", block_forward, NULL);
    dync_module_add(m, "norm1", dync_nn_layer_norm(p[0]));
    dync_module_add(m, "norm2", dync_nn_layer_norm(p[0]));
    dync_module_add(m, "qkv", dync_nn_linear(p[0], 3 * p[0], true));
    dync_module_add(m, "out", dync_nn_linear(p[0], p[0], true));
    dync_module_add(m, "up", dync_nn_linear(p[0], 4 * p[0], true));
    dync_module_add(m, "down", dync_nn_linear(4 * p[0], p[0], true));
    return m;
}
/* p[3] layers, p[4] words, p[5] places */
static dync_tensor *gpt_forward(dync_module *m, dync_tensor *ids)
{
    char name[16];
    dync_tensor *x = dync_add(child(m, "words", ids), dync_slice(dync_module_param(m, "places"), 0,
                                                                 0, dync_size(ids, 1), 1));
    for (int i = 0; i < (int)p[3]; i++) {
        snprintf(name, sizeof name, "block%d", i);
        x = child(m, name, x);
    }
    return child(m, "head", child(m, "norm", x));
}
static dync_module *make_gpt(void)
{
    char name[16];
    dync_module *m = dync_module_new("GPT", gpt_forward, NULL);
    dync_module_set_param(m, "places", dync_zeros(dync_shape(p[5], p[0])));
    dync_module_add(m, "words", dync_nn_embedding(p[4], p[0]));
    for (int i = 0; i < (int)p[3]; i++) {
        snprintf(name, sizeof name, "block%d", i);
        dync_module_add(m, name, make_block());
    }
    dync_module_add(m, "norm", dync_nn_layer_norm(p[0]));
    dync_module_add(m, "head", dync_nn_linear(p[0], p[4], false));
    return m;
}

/* Two 3x3 convolutions and a shortcut, as in ResNet-18. */
static dync_tensor *basic_forward(dync_module *m, dync_tensor *x)
{
    const conv_of *c = dync_module_user(m);
    dync_tensor *y = child(m, "conv2", child(m, "conv1", x));
    return dync_relu(dync_add(y, c->in != c->out ? child(m, "short", x) : x));
}
static dync_module *basic(int64_t in, int64_t out)
{
    conv_of *c = &convs[n_convs++ % 64];
    *c = (conv_of){.in = in, .out = out};
    dync_module *m = dync_module_new("Basic", basic_forward, c);
    dync_module_add(m, "conv1", conv_module(in, out, 3, in != out ? 2 : 1, 1, 1));
    dync_module_add(m, "conv2", conv_module(out, out, 3, 1, 1, 0));
    if (in != out) dync_module_add(m, "short", conv_module(in, out, 1, 2, 1, 0));
    return m;
}
static dync_tensor *resnet_forward(dync_module *m, dync_tensor *x)
{
    char name[16];
    x = dync_max_pool2d(child(m, "stem", x), dync_shape(3, 3), dync_shape(2, 2), dync_shape(1, 1),
                        dync_shape(1, 1), false);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        x = child(m, name, x);
    }
    return child(m, "head", dync_mean(x, dync_shape(2, 3), false));
}
static dync_module *make_resnet(void)
{
    static const int64_t width[9] = {64, 64, 64, 128, 128, 256, 256, 512, 512};
    char name[16];
    dync_module *m = dync_module_new("ResNet", resnet_forward, NULL);
    dync_module_add(m, "stem", conv_module(3, 64, 7, 2, 1, 1));
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        dync_module_add(m, name, basic(width[i], width[i + 1]));
    }
    dync_module_add(m, "head", dync_nn_linear(512, p[0], true));
    return m;
}
static dync_module *make_cnn(void)
{
    return dync_sequential(dync_nn_conv2d(1, 16, 3, 1, 1, true), dync_nn_relu(),
                           dync_nn_max_pool2d(2, 2, 0), dync_nn_conv2d(16, 32, 3, 1, 1, true),
                           dync_nn_relu(), dync_nn_max_pool2d(2, 2, 0), dync_nn_flatten(),
                           dync_nn_linear(32 * 7 * 7, 10, true));
}

/* ---- runs: a module alone, and whole training steps ------------------------------------------ */
static dync_value fn_forward(const dync_value *v, int n, void *user)
{
    return (void)user, dync_module_call_values(net, n, v);
}
static dync_tensor *square_error(dync_tensor *y, dync_tensor *want)
{
    dync_tensor *d = dync_sub(y, want);
    return dync_mean(dync_mul(d, d), DYNC_ALL, false);
}
static dync_tensor *class_error(dync_tensor *y, dync_tensor *want)
{
    if (dync_ndim(y) == 3) {
        y = dync_reshape(y, dync_shape(dync_size(y, 0) * dync_size(y, 1), dync_size(y, 2)));
        want = dync_reshape(want, dync_shape(dync_size(want, 0) * dync_size(want, 1)));
    }
    return dync_cross_entropy(y, want);
}
static dync_value step(const dync_value *v, dync_tensor *(*error)(dync_tensor *, dync_tensor *))
{
    dync_tensor *loss = error(tensor(dync_module_call_values(net, 1, v)), tensor(v[1]));
    dync_backward(loss);
    dync_optim_step(optimizer);
    dync_optim_zero_grad(optimizer);
    return DYNC_V(loss);
}
static dync_value fn_step_square(const dync_value *v, int n, void *user)
{
    return (void)n, (void)user, step(v, square_error);
}
static dync_value fn_step_class(const dync_value *v, int n, void *user)
{
    return (void)n, (void)user, step(v, class_error);
}

#include "living.h"

/* program: calls fn's compiled form as often as it likes; NULL: the row is one call of it */
typedef struct row_kind {
    const char *name;
    dync_function fn;
    dync_module *(*make)(void);
    bool trains;
    dync_function program;
} row_kind;
static const row_kind kinds[] = {
    {"small", fn_small, NULL, false, NULL},
    {"total", fn_total, NULL, false, NULL},
    {"chain", fn_chain, NULL, false, NULL},
    {"reduce", fn_reduce, NULL, false, NULL},
    {"move", fn_move, NULL, false, NULL},
    {"sort", fn_sort, NULL, false, NULL},
    {"fft", fn_fft, NULL, false, NULL},
    {"matmul", fn_matmul, NULL, false, NULL},
    {"linear", fn_forward, make_linear, false, NULL},
    {"conv", fn_forward, make_conv, false, NULL},
    {"tiny", fn_forward, make_tiny, false, NULL},
    {"mlp", fn_forward, make_mlp, false, NULL},
    {"lstm", fn_forward, make_lstm, false, NULL},
    {"gru", fn_forward, make_gru, false, NULL},
    {"block", fn_forward, make_block, false, NULL},
    {"gpt", fn_forward, make_gpt, false, NULL},
    {"resnet", fn_forward, make_resnet, false, NULL},
    {"train_tiny", fn_step_square, make_tiny, true, NULL},
    {"train_mlp", fn_step_class, make_mlp, true, NULL},
    {"train_cnn", fn_step_class, make_cnn, true, NULL},
    {"train_lstm", fn_step_square, make_lstm, true, NULL},
    {"train_block", fn_step_square, make_block, true, NULL},
    {"train_gpt", fn_step_class, make_gpt, true, NULL},
    {"gpt_grow", fn_gpt_grow, make_gpt, false, sample_grow},
    {"gpt_fixed", fn_gpt_fixed, make_gpt, false, sample_fixed},
    {"grow_cache", fn_attend, NULL, false, grow_cache},
    {"lengths", fn_forward, make_mlp, false, lengths_forward},
    {"train_lengths", fn_step_class, make_mlp, true, lengths_training},
    {"epoch", fn_mode, make_mlp, true, epoch},
    {"roots", fn_roots, NULL, false, call_part},
    {"rows_in", fn_rows_in, NULL, false, call_part},
};

/* ---- the driver's calls ---------------------------------------------------------------------- */
static const row_kind *kind;
static dync_compiled *compiled;
static dync_value args[MOST_INPUTS];
static int n_args, n_results;
static dync_tensor *results[MOST_RESULTS];
static int64_t numbers[16];
static char options[64];

static double now_ns(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A tensor over the driver's memory; strides that are not row major are a view of the same
 * memory. */
static dync_tensor *wrap(const peer_array *a)
{
    dync_dims shape = {.n = (int)a->ndim}, stride = {.n = (int)a->ndim};
    int64_t count = 1;
    bool dense = true;
    for (int d = shape.n - 1; d >= 0; d--) {
        shape.d[d] = a->shape[d];
        stride.d[d] = a->stride[d];
        dense = dense && (a->shape[d] == 1 || a->stride[d] == count);
        count *= a->shape[d];
    }
    if (dense) return dync_wrap(a->data, shape, .dtype = (dync_dtype)a->dtype);
    return dync_as_strided(dync_wrap(a->data, dync_shape(count), .dtype = (dync_dtype)a->dtype),
                           shape, stride, 0);
}

static dync_program *model; /* an ONNX file's, in the place of a row of this file */
static dync_value call(void)
{
    if (model) return dync_program_run(model, n_args, args);
    return kind->program ? kind->program(args, n_args, NULL)
                         : dync_call_values(compiled, n_args, args);
}
static void compile(void)
{
    compiled = dync_compile(kind->fn, .name = kind->name, .options = options,
                            .dynamic = kind->program ? DYNC_DYNAMIC_AUTO : DYNC_DYNAMIC_OFF,
                            .fullgraph = true);
    part = compiled;
}
void peer_close(void);
double peer_onnx(const char *path, const peer_array *in, int n_in, int threads);
int peer_open(const char *name, const int64_t *row_numbers, int n_numbers, const peer_array *in,
              int n_in, const peer_array *state, int n_state, int threads);
double peer_time(long n);
double peer_compile(void);
int peer_call(void);
int peer_result(int i, peer_array *out);
int peer_param(const char *path, peer_array *out);
const char *peer_error(void);
void peer_log(const char *what);

/* Compiles a row and calls it never. 0, or the status of the error. */
int peer_open(const char *name, const int64_t *row_numbers, int n_numbers, const peer_array *in,
              int n_in, const peer_array *state, int n_state, int threads)
{
    dync_clear_error();
    dync_init((dync_init_options){.threads = threads, .seed = 1});
    kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) kind = &kinds[i];
    if (!kind || n_in > MOST_INPUTS || n_numbers > 16) return DYNC_ERR_VALUE;
    memset(numbers, 0, sizeof numbers);
    p = memcpy(numbers, row_numbers, (size_t)n_numbers * sizeof *numbers);
    n_convs = 0;
    net = NULL;
    optimizer = NULL;
    snprintf(options, sizeof options, "threads=%d", threads);
    DYNC_SCOPE {
        for (int i = 0; i < n_in; i++) args[i] = DYNC_V(dync_retain(wrap(&in[i])));
        n_args = n_in;
        if (kind->make) net = kind->make();
        if (n_state) dync_module_to_dtype(net, (dync_dtype)state[0].dtype);
        for (int i = 0; i < n_state; i++) {
            const char *dot = strrchr(state[i].name, '.');
            bool buffer = strncmp(dot ? dot + 1 : state[i].name, "running_", 8) == 0;
            dync_tensor *t = buffer ? dync_module_buffer(net, state[i].name)
                                    : dync_module_param(net, state[i].name);
            DYNC_NO_GRAD {
                dync_copy_(t, wrap(&state[i]));
            }
        }
        if (net) dync_module_train(net, kind->trains);
        if (kind->trains) optimizer = dync_adamw(net, .lr = 1e-3);
    }
    dync_set_grad_enabled(kind->trains);
    compile();
    return (int)dync_error();
}

/* A model, loaded and run once: nanoseconds, below 0 on failure. */
double peer_onnx(const char *path, const peer_array *in, int n_in, int threads)
{
    dync_clear_error();
    dync_init((dync_init_options){.threads = threads, .seed = 1});
    if (n_in > MOST_INPUTS) return -1;
    DYNC_SCOPE {
        for (int i = 0; i < n_in; i++) args[i] = DYNC_V(dync_retain(wrap(&in[i])));
    }
    n_args = n_in;
    dync_set_grad_enabled(false);
    double start = now_ns();
    model = dync_program_load_onnx(path);
    if (!model) return -1;
    DYNC_SCOPE {
        call();
    }
    return dync_error() == DYNC_OK ? now_ns() - start : -1;
}

/* The nanoseconds of n calls. */
double peer_time(long n)
{
    double start = now_ns();
    for (long i = 0; i < n; i++) DYNC_SCOPE {
        call();
    }
    return now_ns() - start;
}

/* From a function never compiled to the end of its first call. */
double peer_compile(void)
{
    dync_compiled_free(compiled);
    double start = now_ns();
    compile();
    DYNC_SCOPE {
        call();
    }
    return now_ns() - start;
}

int peer_call(void)
{
    for (int i = 0; i < n_results; i++) dync_release(results[i]);
    n_results = 0;
    DYNC_SCOPE {
        dync_value v = call();
        if (v.kind == DYNC_KIND_TENSOR) results[n_results++] = dync_retain(dync_contiguous(v.as.t));
        for (int i = 0; v.kind == DYNC_KIND_LIST && i < dync_len(v) && i < MOST_RESULTS; i++)
            results[n_results++] = dync_retain(dync_contiguous(tensor(dync_at(v, i))));
    }
    return dync_error() == DYNC_OK ? n_results : -1;
}

static int describe(dync_tensor *t, peer_array *out)
{
    if (!t) return 0;
    *out = (peer_array){.data = dync_data(t), .ndim = dync_ndim(t), .dtype = dync_type(t)};
    for (int d = 0; d < (int)out->ndim; d++) out->shape[d] = dync_size(t, d);
    return 1;
}
/* Result i of peer_call; a parameter of the module as it is now. */
int peer_result(int i, peer_array *out) { return i < n_results ? describe(results[i], out) : 0; }
int peer_param(const char *path, peer_array *out)
{
    return describe(dync_module_param(net, path), out);
}

const char *peer_error(void) { return dync_error_message(); }
void peer_log(const char *what) { dync_set_log(what); }
void peer_close(void)
{
    for (int i = 0; i < n_results; i++) dync_release(results[i]);
    n_results = 0;
    for (int i = 0; i < MOST_INPUTS; i++) keep(i, NULL);
    if (compiled) dync_compiled_free(compiled);
    compiled = NULL;
    if (model) dync_program_free(model);
    model = NULL;
    if (optimizer) dync_optim_free(optimizer);
    optimizer = NULL;
    if (net) dync_module_free(net);
    net = NULL;
    for (int i = 0; i < n_args; i++) dync_release(args[i].as.t);
    dync_shutdown();
}
