/* bench/gpu/bench.c: dync on a GPU: eager, compiled (inductor), compiled and recorded (cudagraphs).
 * A line a row and way: microseconds of the device and of the host a call, and what that is of the
 * measured copy rate or of multiplications; the same as JSON into the file that J names, which
 * bench/gpu/peer.py reads to set PyTorch beside it. Every way's result is compared with the eager
 * one's. `make gpu-bench` runs both.
 *
 *   bench [--tiny] [--seconds N] [words]      rows whose name contains a word; --tiny: small sizes,
 *                                             for the emulator */
#include "dync.h"
#include "dync_cuda.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct numbers {
    int64_t a, b, c, d;
} numbers;
static numbers p; /* of the row under way */
static dync_module *net;
static dync_optim *optimizer;
enum { MOST_INPUTS = 3 };

static dync_tensor *as(dync_value v) { return dync_as_tensor(v); }
static dync_tensor *child(dync_module *m, const char *name, dync_tensor *x)
{
    return dync_forward_call(dync_module_child(m, name), x);
}

static double now_ns(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- functions ------------------------------------------------------------------------------- */
#define FUNCTION(name, ...)                                        \
    static dync_value name(const dync_value *v, int n, void *user) \
    {                                                              \
        (void)n, (void)user;                                       \
        dync_tensor *x = as(v[0]);                                 \
        (void)x;                                                   \
        return DYNC_V(__VA_ARGS__);                                \
    }
FUNCTION(fn_add, dync_add(x, v[1]))
FUNCTION(fn_gelu_sigmoid, dync_mul(dync_gelu(x), dync_sigmoid(as(v[1]))))
FUNCTION(fn_sum, dync_sum(x, DYNC_ALL, false))
FUNCTION(fn_sum_rows, dync_sum(x, dync_shape(1), false))
FUNCTION(fn_sum_columns, dync_sum(x, dync_shape(0), false))
FUNCTION(fn_softmax, dync_softmax(x, 1))
FUNCTION(fn_layer_norm, dync_layer_norm(x, dync_shape(dync_size(x, 1)), NULL, NULL, 1e-5))
FUNCTION(fn_transpose, dync_contiguous(dync_transpose(x, 0, 1)))
FUNCTION(fn_cumsum, dync_cumsum(x, 1))
FUNCTION(fn_rows, dync_index_select(x, 0, as(v[1])))
FUNCTION(fn_add_rows, dync_index_add(x, 0, as(v[1]), as(v[2])))
FUNCTION(fn_matmul, dync_matmul(x, as(v[1])))
FUNCTION(fn_linear_gelu, dync_gelu(dync_linear(x, as(v[1]), as(v[2]))))
FUNCTION(fn_attention,
         dync_scaled_dot_product_attention(x, as(v[1]), as(v[2]), NULL, 0, p.d != 0, DYNC_NONE))
FUNCTION(fn_cast_matmul, dync_matmul(dync_to_dtype(x, DYNC_BF16), as(v[1])))
FUNCTION(fn_relu_matmul, dync_matmul(dync_relu(dync_add(x, as(v[2]))), as(v[1])))
FUNCTION(fn_quantised,
         dync_matmul(x,
                     dync_transpose(dync_mul(dync_to_dtype(as(v[1]), DYNC_BF16), as(v[2])), 0, 1)))
static dync_value fn_ten(const dync_value *v, int n, void *user)
{
    dync_tensor *x = as(v[0]);
    (void)n, (void)user;
    for (int i = 0; i < 5; i++) x = dync_softmax(dync_matmul(x, as(v[1])), 1);
    return DYNC_V(x);
}
/* The same twice: what one more kernel costs in a recorded graph is a tenth of the difference. */
static dync_value fn_twenty(const dync_value *v, int n, void *user)
{
    dync_value w[2] = {fn_ten(v, n, user), v[1]};
    return fn_ten(w, 2, user);
}
static dync_value fn_conv(const dync_value *v, int n, void *user)
{
    int64_t stride = p.d / 10, pad = p.d % 10 / 2;
    (void)n, (void)user;
    return DYNC_V(dync_conv2d(as(v[0]), as(v[1]), NULL, dync_shape(stride, stride),
                              dync_shape(pad, pad), dync_shape(1, 1), 1));
}
static dync_value fn_net(const dync_value *v, int n, void *user)
{
    return (void)n, (void)user, dync_module_call_values(net, 1, v);
}
static dync_value fn_step(const dync_value *v, int n, void *user)
{
    dync_value y = dync_module_call_values(net, 1, v);
    (void)n, (void)user;
    dync_tensor *d = dync_sub(as(y), as(v[1])), *loss = dync_mean(dync_mul(d, d), DYNC_ALL, false);
    dync_backward(loss);
    dync_optim_step(optimizer);
    dync_optim_zero_grad(optimizer);
    return DYNC_V(loss);
}

static dync_value fn_gpt_step(const dync_value *v, int n, void *user)
{
    dync_tensor *y = as(dync_module_call_values(net, 1, v));
    (void)n, (void)user;
    dync_tensor *loss =
        dync_cross_entropy(dync_reshape(y, dync_shape(-1, dync_size(y, 2))), as(v[1]));
    dync_backward(loss);
    dync_optim_step(optimizer);
    dync_optim_zero_grad(optimizer);
    return DYNC_V(loss);
}

/* ---- modules: as in bench/peers/rows.c ------------------------------------------------------- */
/* A transformer block that normalises first: p.a features, p.b heads. */
static dync_tensor *head(dync_tensor *y, int i)
{
    dync_tensor *part = dync_slice(y, 2, i * p.a, (i + 1) * p.a, 1);
    return dync_transpose(
        dync_reshape(part, dync_shape(dync_size(y, 0), dync_size(y, 1), p.b, p.a / p.b)), 1, 2);
}
static dync_tensor *block_forward(dync_module *m, dync_tensor *x)
{
    dync_tensor *y = child(m, "qkv", child(m, "norm1", x));
    y = dync_scaled_dot_product_attention(head(y, 0), head(y, 1), head(y, 2), NULL, 0, true,
                                          DYNC_NONE);
    y = dync_reshape(dync_transpose(y, 1, 2), dync_shape(dync_size(x, 0), dync_size(x, 1), p.a));
    x = dync_add(x, child(m, "out", y));
    return dync_add(x, child(m, "down", dync_gelu(child(m, "up", child(m, "norm2", x)))));
}
static dync_module *make_block(void)
{
    dync_module *m = dync_module_new("Block", block_forward, NULL);
    dync_module_add(m, "norm1", dync_nn_layer_norm(p.a));
    dync_module_add(m, "norm2", dync_nn_layer_norm(p.a));
    dync_module_add(m, "qkv", dync_nn_linear(p.a, 3 * p.a, true));
    dync_module_add(m, "out", dync_nn_linear(p.a, p.a, true));
    dync_module_add(m, "up", dync_nn_linear(p.a, 4 * p.a, true));
    dync_module_add(m, "down", dync_nn_linear(4 * p.a, p.a, true));
    return m;
}
/* p.a features, p.b heads, GPT_LAYERS blocks, p.c words. */
enum { GPT_LAYERS = 6 };
static dync_tensor *gpt_forward(dync_module *m, dync_tensor *words)
{
    char name[16];
    dync_tensor *x = child(m, "words", words);
    for (int i = 0; i < GPT_LAYERS; i++) {
        snprintf(name, sizeof name, "block%d", i);
        x = child(m, name, x);
    }
    return child(m, "head", child(m, "norm", x));
}
static dync_module *make_gpt(void)
{
    char name[16];
    dync_module *m = dync_module_new("GPT", gpt_forward, NULL);
    dync_module_add(m, "words", dync_nn_embedding(p.c, p.a));
    for (int i = 0; i < GPT_LAYERS; i++) {
        snprintf(name, sizeof name, "block%d", i);
        dync_module_add(m, name, make_block());
    }
    dync_module_add(m, "norm", dync_nn_layer_norm(p.a));
    dync_module_add(m, "head", dync_nn_linear(p.a, p.c, false));
    return m;
}
typedef struct conv_of {
    int64_t in, out, stride;
} conv_of;
static conv_of convs[16];
static dync_module *conv(int64_t in, int64_t out, int size, int stride)
{
    dync_module *c = dync_nn_conv2d(in, out, size, stride, size / 2, false);
    return dync_sequential(c, dync_nn_batch_norm2d(out));
}
static dync_tensor *basic_forward(dync_module *m, dync_tensor *x)
{
    const conv_of *c = dync_module_user(m);
    dync_tensor *y = child(m, "conv2", dync_relu(child(m, "conv1", x)));
    return dync_relu(dync_add(y, c->in != c->out ? child(m, "short", x) : x));
}
static dync_tensor *resnet_forward(dync_module *m, dync_tensor *x)
{
    char name[16];
    x = dync_max_pool2d(dync_relu(child(m, "stem", x)), dync_shape(3, 3), dync_shape(2, 2),
                        dync_shape(1, 1), dync_shape(1, 1), false);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        x = child(m, name, x);
    }
    return child(m, "head", dync_mean(x, dync_shape(2, 3), false));
}
/* p.a: channels of the first stage, 64 in ResNet-18 */
static dync_module *make_resnet(void)
{
    char name[16];
    dync_module *m = dync_module_new("ResNet", resnet_forward, NULL);
    dync_module_add(m, "stem", conv(3, p.a, 7, 2));
    for (int i = 0; i < 8; i++) {
        int64_t in = i ? p.a << (i - 1) / 2 : p.a, out = p.a << i / 2;
        convs[i] = (conv_of){in, out, in != out ? 2 : 1};
        dync_module *b = dync_module_new("Basic", basic_forward, &convs[i]);
        dync_module_add(b, "conv1", conv(in, out, 3, in != out ? 2 : 1));
        dync_module_add(b, "conv2", conv(out, out, 3, 1));
        if (in != out) dync_module_add(b, "short", conv(in, out, 1, 2));
        snprintf(name, sizeof name, "layer%d", i);
        dync_module_add(m, name, b);
    }
    dync_module_add(m, "head", dync_nn_linear(p.a * 8, 1000, true));
    return m;
}
static dync_value lstm_forward(dync_module *m, const dync_value *a, int n)
{
    (void)n;
    return dync_at(dync_module_call_values(dync_module_child(m, "rnn"), 1, a), 0);
}
/* p.a inputs and states, p.b layers */
static dync_module *make_lstm(void)
{
    dync_module *m = dync_module_new_values("LSTM", lstm_forward, "x", NULL);
    dync_module_add(m, "rnn", dync_nn_lstm(p.a, p.a, (int)p.b, false));
    return m;
}

/* ---- inputs ---------------------------------------------------------------------------------- */
static dync_tensor *random_of(int dtype, int n, const int64_t *shape)
{
    dync_dims d = {.n = n};
    memcpy(d.d, shape, (size_t)n * sizeof *shape);
    return dync_to_dtype(dync_randn(d, .device = DYNC_CUDA), (dync_dtype)dtype);
}
#define RANDOM(dtype, ...) \
    random_of(dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})
static void in_two(int t, dync_tensor **x)
{
    x[0] = RANDOM(t, p.a, p.b), x[1] = RANDOM(t, p.a, p.b);
}
static void in_one(int t, dync_tensor **x) { x[0] = RANDOM(t, p.a, p.b); }
static void in_rows(int t, dync_tensor **x)
{
    x[0] = RANDOM(t, p.a, p.b);
    x[1] = dync_to_dtype(dync_mul(dync_rand(dync_shape(p.c), .device = DYNC_CUDA), p.a), DYNC_I64);
    if (p.d) x[2] = RANDOM(t, p.c, p.b);
}
static void in_product(int t, dync_tensor **x)
{
    if (p.d)
        x[0] = RANDOM(t, p.d, p.a, p.b), x[1] = RANDOM(t, p.d, p.b, p.c);
    else
        x[0] = RANDOM(t, p.a, p.b), x[1] = RANDOM(t, p.b, p.c);
}
static void in_linear(int t, dync_tensor **x)
{
    x[0] = RANDOM(t, p.a, p.b), x[1] = RANDOM(t, p.c, p.b), x[2] = RANDOM(t, p.c);
}
static void in_cast(int t, dync_tensor **x)
{
    x[0] = RANDOM(DYNC_F32, p.a, p.b), x[1] = RANDOM(t, p.b, p.c);
}
static void in_shifted(int t, dync_tensor **x)
{
    x[0] = RANDOM(t, p.a, p.b), x[1] = RANDOM(t, p.b, p.c), x[2] = RANDOM(t, p.b);
}
static void in_quantised(int t, dync_tensor **x)
{
    x[0] = RANDOM(t, p.a, p.b), x[2] = RANDOM(t, p.c, 1);
    x[1] =
        dync_to_dtype(dync_mul(dync_rand(dync_shape(p.c, p.b), .device = DYNC_CUDA), 100), DYNC_I8);
}
static void in_decode(int t, dync_tensor **x)
{
    for (int i = 0; i < 3; i++) x[i] = RANDOM(t, p.a, p.b, i ? p.c : 1, 128);
}
static void in_attention(int t, dync_tensor **x)
{
    for (int i = 0; i < 3; i++) x[i] = RANDOM(t, p.a, p.b, p.c, 128);
}
static void in_block(int t, dync_tensor **x)
{
    x[0] = RANDOM(t, p.c, p.d, p.a), x[1] = RANDOM(t, p.c, p.d, p.a);
}
/* p.a channels to p.b, images of p.c squared, p.d: ten times the stride and the window; 32 images
 * (2 in the small size). */
static void in_conv(int t, dync_tensor **x)
{
    x[0] = RANDOM(t, p.c > 10 ? 32 : 2, p.a, p.c, p.c),
    x[1] = RANDOM(t, p.b, p.a, p.d % 10, p.d % 10);
}
/* p.d words of a text in 8 texts, and those that follow. */
static void in_words(int t, dync_tensor **x)
{
    (void)t;
    for (int i = 0; i < 2; i++)
        x[i] = dync_to_dtype(dync_mul(dync_rand(dync_shape(8, p.d), .device = DYNC_CUDA), p.c),
                             DYNC_I64);
    x[1] = dync_reshape(x[1], dync_shape(-1));
}
static void in_picture(int t, dync_tensor **x) { x[0] = RANDOM(t, p.c, 3, p.d, p.d); }

/* ---- rows ------------------------------------------------------------------------------------ */
#define K4 4096
typedef struct row {
    const char *name;
    int dtype;
    dync_function fn;
    void (*inputs)(int dtype, dync_tensor **);
    dync_module *(*make)(void);
    bool trains;
    numbers full, tiny;
    double bytes, flops; /* of the full size */
} row;
#define GB4 (65536.0 * 4096)
static const row rows[] = {
    {"x + y, f32, 1 GB each",
     DYNC_F32,
     fn_add,
     in_two,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     12 * GB4,
     0},
    {"gelu(x) * sigmoid(y), f32, 1 GB each",
     DYNC_F32,
     fn_gelu_sigmoid,
     in_two,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     12 * GB4,
     0},
    {"gelu(x) * sigmoid(y), bf16, 0.5 GB each",
     DYNC_BF16,
     fn_gelu_sigmoid,
     in_two,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     6 * GB4,
     0},
    {"sum, f32, 1 GB",
     DYNC_F32,
     fn_sum,
     in_one,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     4 * GB4,
     0},
    {"sum, f32, 64 MB",
     DYNC_F32,
     fn_sum,
     in_one,
     NULL,
     false,
     {K4, K4, 0, 0},
     {8, 32, 0, 0},
     4.0 * K4 *K4,
     0},
    {"sum of rows, f32, 65536 x 4096",
     DYNC_F32,
     fn_sum_rows,
     in_one,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     4 * GB4,
     0},
    {"sum of columns, f32, 65536 x 4096",
     DYNC_F32,
     fn_sum_columns,
     in_one,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     4 * GB4,
     0},
    {"softmax, f32, 65536 x 4096",
     DYNC_F32,
     fn_softmax,
     in_one,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     8 * GB4,
     0},
    {"softmax, bf16, 65536 x 4096",
     DYNC_BF16,
     fn_softmax,
     in_one,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     4 * GB4,
     0},
    {"softmax, f32, 64 x 1048576",
     DYNC_F32,
     fn_softmax,
     in_one,
     NULL,
     false,
     {64, 1048576, 0, 0},
     {2, 256, 0, 0},
     8.0 * 64 * 1048576,
     0},
    {"layer_norm, f32, 65536 x 4096",
     DYNC_F32,
     fn_layer_norm,
     in_one,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     8 * GB4,
     0},
    {"layer_norm, bf16, 65536 x 4096",
     DYNC_BF16,
     fn_layer_norm,
     in_one,
     NULL,
     false,
     {65536, K4, 0, 0},
     {8, 32, 0, 0},
     4 * GB4,
     0},
    {"transpose, f32, 16384 x 16384",
     DYNC_F32,
     fn_transpose,
     in_one,
     NULL,
     false,
     {16384, 16384, 0, 0},
     {8, 32, 0, 0},
     8 * GB4,
     0},
    {"cumsum, f32, 4096 x 4096",
     DYNC_F32,
     fn_cumsum,
     in_one,
     NULL,
     false,
     {K4, K4, 0, 0},
     {2, 300, 0, 0},
     8.0 * K4 *K4,
     0},
    {"cumsum, f32, 1 x 16777216",
     DYNC_F32,
     fn_cumsum,
     in_one,
     NULL,
     false,
     {1, K4 *K4, 0, 0},
     {1, 700, 0, 0},
     8.0 * K4 *K4,
     0},
    {"index_select, f32, 65536 of 50000 rows of 768",
     DYNC_F32,
     fn_rows,
     in_rows,
     NULL,
     false,
     {50000, 768, 65536, 0},
     {9, 8, 20, 0},
     8.0 * 65536 * 768,
     0},
    {"index_add, f32, 8192 to 50000 rows of 768",
     DYNC_F32,
     fn_add_rows,
     in_rows,
     NULL,
     false,
     {50000, 768, 8192, 1},
     {9, 8, 20, 1},
     8.0 * 50000 * 768,
     0},
    {"matmul f32, 4096",
     DYNC_F32,
     fn_matmul,
     in_product,
     NULL,
     false,
     {K4, K4, K4, 0},
     {17, 9, 20, 0},
     0,
     2.0 * K4 *K4 *K4},
    {"matmul bf16, 4096",
     DYNC_BF16,
     fn_matmul,
     in_product,
     NULL,
     false,
     {K4, K4, K4, 0},
     {17, 24, 20, 0},
     0,
     2.0 * K4 *K4 *K4},
    {"matmul bf16, 8192",
     DYNC_BF16,
     fn_matmul,
     in_product,
     NULL,
     false,
     {8192, 8192, 8192, 0},
     {16, 32, 16, 0},
     0,
     2.0 * 8192 * 8192 * 8192},
    {"matmul bf16, 4095 x 4097 x 4093",
     DYNC_BF16,
     fn_matmul,
     in_product,
     NULL,
     false,
     {4095, 4097, 4093, 0},
     {7, 9, 11, 0},
     0,
     2.0 * 4095 * 4097 * 4093},
    {"matmul bf16, 1000 x 3000 x 500",
     DYNC_BF16,
     fn_matmul,
     in_product,
     NULL,
     false,
     {1000, 3000, 500, 0},
     {10, 30, 5, 0},
     0,
     2.0 * 1000 * 3000 * 500},
    {"matmul f16, 4096",
     DYNC_F16,
     fn_matmul,
     in_product,
     NULL,
     false,
     {K4, K4, K4, 0},
     {17, 24, 20, 0},
     0,
     2.0 * K4 *K4 *K4},
    {"matmul bf16, 64 x 1024 x 1024 x 1024",
     DYNC_BF16,
     fn_matmul,
     in_product,
     NULL,
     false,
     {1024, 1024, 1024, 64},
     {8, 8, 8, 2},
     0,
     128.0 * 1024 * 1024 * 1024},
    {"gelu(linear), bf16, 8192 x 4096 x 4096",
     DYNC_BF16,
     fn_linear_gelu,
     in_linear,
     NULL,
     false,
     {8192, K4, K4, 0},
     {8, 16, 8, 0},
     0,
     2.0 * 8192 * K4 *K4},
    {"matmul of f32 as bf16, 512 x 1024 x 1024",
     DYNC_BF16,
     fn_cast_matmul,
     in_cast,
     NULL,
     false,
     {512, 1024, 1024, 0},
     {17, 24, 20, 0},
     0,
     2.0 * 512 * 1024 * 1024},
    {"matmul of relu(x + b), f32, 1024",
     DYNC_F32,
     fn_relu_matmul,
     in_shifted,
     NULL,
     false,
     {1024, 1024, 1024, 0},
     {17, 24, 20, 0},
     0,
     2.0 * 1024 * 1024 * 1024},
    {"x @ (int8 weights * scale), bf16, 1 x 8192 x 8192",
     DYNC_BF16,
     fn_quantised,
     in_quantised,
     NULL,
     false,
     {1, 8192, 8192, 0},
     {1, 128, 64, 0},
     8192.0 * 8192,
     0},
    {"x @ (int8 weights * scale), bf16, 128 x 4096 x 4096",
     DYNC_BF16,
     fn_quantised,
     in_quantised,
     NULL,
     false,
     {128, K4, K4, 0},
     {9, 32, 24, 0},
     0,
     256.0 * K4 *K4},
    {"attention bf16, 1 query, 1 x 32 x 16384 x 128",
     DYNC_BF16,
     fn_attention,
     in_decode,
     NULL,
     false,
     {1, 32, 16384, 0},
     {1, 1, 600, 0},
     4.0 * 32 * 16384 * 128,
     0},
    {"attention bf16, 2 x 16 x 8192 x 128",
     DYNC_BF16,
     fn_attention,
     in_attention,
     NULL,
     false,
     {2, 16, 8192, 0},
     {1, 1, 32, 0},
     0,
     4.0 * 32 * 8192 * 8192 * 128},
    {"attention bf16, causal, 2 x 16 x 8192 x 128",
     DYNC_BF16,
     fn_attention,
     in_attention,
     NULL,
     false,
     {2, 16, 8192, 1},
     {1, 1, 32, 1},
     0,
     2.0 * 32 * 8192 * 8192 * 128},
    {"ten kernels, f32, 64 x 64",
     DYNC_F32,
     fn_ten,
     in_two,
     NULL,
     false,
     {64, 64, 0, 0},
     {16, 16, 0, 0},
     0,
     0},
    {"conv bf16, 3 to 64, 7 x 7 by 2, 32 x 224 x 224",
     DYNC_BF16,
     fn_conv,
     in_conv,
     NULL,
     false,
     {3, 64, 224, 27},
     {3, 8, 8, 27},
     0,
     98.0 * 32 * 112 * 112 * 3 * 64},
    {"conv bf16, 64 to 64, 3 x 3, 32 x 56 x 56",
     DYNC_BF16,
     fn_conv,
     in_conv,
     NULL,
     false,
     {64, 64, 56, 13},
     {3, 8, 8, 13},
     0,
     18.0 * 32 * 56 * 56 * 64 * 64},
    {"conv bf16, 64 to 256, 1 x 1, 32 x 56 x 56",
     DYNC_BF16,
     fn_conv,
     in_conv,
     NULL,
     false,
     {64, 256, 56, 11},
     {3, 8, 8, 11},
     0,
     2.0 * 32 * 56 * 56 * 64 * 256},
    {"conv bf16, 128 to 128, 3 x 3, 32 x 28 x 28",
     DYNC_BF16,
     fn_conv,
     in_conv,
     NULL,
     false,
     {128, 128, 28, 13},
     {3, 8, 8, 13},
     0,
     18.0 * 32 * 28 * 28 * 128 * 128},
    {"conv bf16, 256 to 256, 3 x 3, 32 x 14 x 14",
     DYNC_BF16,
     fn_conv,
     in_conv,
     NULL,
     false,
     {256, 256, 14, 13},
     {3, 8, 8, 13},
     0,
     18.0 * 32 * 14 * 14 * 256 * 256},
    {"conv bf16, 1024 to 256, 1 x 1, 32 x 14 x 14",
     DYNC_BF16,
     fn_conv,
     in_conv,
     NULL,
     false,
     {1024, 256, 14, 11},
     {3, 8, 8, 11},
     0,
     2.0 * 32 * 14 * 14 * 1024 * 256},
    {"conv bf16, 512 to 512, 3 x 3, 32 x 7 x 7",
     DYNC_BF16,
     fn_conv,
     in_conv,
     NULL,
     false,
     {512, 512, 7, 13},
     {3, 8, 8, 13},
     0,
     18.0 * 32 * 7 * 7 * 512 * 512},
    {"twenty kernels, f32, 64 x 64",
     DYNC_F32,
     fn_twenty,
     in_two,
     NULL,
     false,
     {64, 64, 0, 0},
     {16, 16, 0, 0},
     0,
     0},
    {"transformer block bf16, 8 x 1024 x 1024, 16 heads",
     DYNC_BF16,
     fn_net,
     in_block,
     make_block,
     false,
     {1024, 16, 8, 1024},
     {16, 2, 1, 8},
     0,
     0},
    {"transformer block f32, 8 x 1024 x 1024, 16 heads",
     DYNC_F32,
     fn_net,
     in_block,
     make_block,
     false,
     {1024, 16, 8, 1024},
     {16, 2, 1, 8},
     0,
     0},
    {"its training step bf16, AdamW",
     DYNC_BF16,
     fn_step,
     in_block,
     make_block,
     true,
     {1024, 16, 8, 1024},
     {16, 2, 1, 8},
     0,
     0},
    {"its training step f32, AdamW",
     DYNC_F32,
     fn_step,
     in_block,
     make_block,
     true,
     {1024, 16, 8, 1024},
     {16, 2, 1, 8},
     0,
     0},
    {"GPT training step bf16, 6 layers of 768, 8 x 1024, AdamW",
     DYNC_BF16,
     fn_gpt_step,
     in_words,
     make_gpt,
     true,
     {768, 12, 50304, 1024},
     {16, 2, 32, 8},
     0,
     0},
    {"ResNet-18 f32, 32 x 224 x 224",
     DYNC_F32,
     fn_net,
     in_picture,
     make_resnet,
     false,
     {64, 0, 32, 224},
     {2, 0, 1, 32},
     0,
     0},
    {"LSTM f32, 2 layers of 512, 128 steps of 32",
     DYNC_F32,
     fn_net,
     in_block,
     make_lstm,
     false,
     {512, 2, 128, 32},
     {4, 1, 3, 2},
     0,
     0},
};

/* ---- measuring ------------------------------------------------------------------------------- */
typedef struct figures {
    double device_us, host_us;
    bool wrong, failed;
} figures;
static const char *const ways[] = {"eager", "inductor", "cudagraphs"};
static double copy_rate; /* bytes a second, read and written */
static FILE *json;
static int n_json;

static dync_value call(dync_compiled *f, const row *r, const dync_value *v, int n)
{
    return f ? dync_call_values(f, n, v) : r->fn(v, n, NULL);
}

/* Least times of five batches. The device's by events; the host's of putting calls into an empty
 * queue. */
static figures measure(dync_compiled *f, const row *r, const dync_value *v, int n, double budget_s)
{
    figures out = {HUGE_VAL, HUGE_VAL, false, false};
    dync_cuda_event *a = dync_cuda_event_new(0), *b = dync_cuda_event_new(0);
    double first = 0;
    /* the last of these is as fast as any */
    for (int i = 0; i < 4; i++) {
        double start = now_ns();
        DYNC_SCOPE {
            (void)call(f, r, v, n);
        }
        dync_cuda_synchronize(0);
        first = (now_ns() - start) * 1e-9;
        if (first > budget_s / 4) break;
    }
    int calls = (int)(budget_s / 10 / (first > 1e-7 ? first : 1e-7));
    calls = calls < 1 ? 1 : calls > 300 ? 300 : calls;
    for (int batch = 0; batch < 5 && dync_error() == DYNC_OK; batch++) {
        double start = now_ns();
        dync_cuda_event_record(a);
        for (int i = 0; i < calls; i++) DYNC_SCOPE {
            (void)call(f, r, v, n);
        }
        dync_cuda_event_record(b);
        double host = (now_ns() - start) * 1e-3 / calls;
        dync_cuda_event_synchronize(b);
        double device = dync_cuda_event_ms(a, b) * 1e3 / calls;
        out.host_us = host < out.host_us ? host : out.host_us;
        out.device_us = device < out.device_us ? device : out.device_us;
        if (first > budget_s) break;
    }
    dync_cuda_event_free(a);
    dync_cuda_event_free(b);
    return out;
}

static void show(const row *r, const char *way, figures t, bool tiny)
{
    printf("%-50s %-10s", r->name, way);
    if (t.failed)
        printf(" failed: %s", dync_error_message());
    else
        printf(" %10.1f us  host %8.1f us", t.device_us, t.host_us);
    if (!t.failed && !tiny && r->bytes > 0)
        printf("  %6.0f GB/s, %.2f of copy", r->bytes / t.device_us * 1e-3,
               r->bytes / t.device_us * 1e6 / copy_rate);
    if (!t.failed && !tiny && r->flops > 0)
        printf("  %6.1f TFLOP/s", r->flops / t.device_us * 1e-6);
    printf("%s\n", t.wrong ? "  WRONG" : "");
    fflush(stdout);
    if (!json || t.failed) return;
    fprintf(json,
            "%s\n  {\"row\": \"%s\", \"way\": \"%s\", \"device_us\": %.3f, \"host_us\": %.3f, "
            "\"bytes\": %.0f, \"flops\": %.0f, \"wrong\": %s}",
            n_json++ ? "," : "", r->name, way, t.device_us, t.host_us, r->bytes, r->flops,
            t.wrong ? "true" : "false");
}

/* On the device: arrays are large. */
static bool agrees(dync_value got, dync_tensor *want, int dtype)
{
    double tol = dtype == DYNC_F32 ? 2e-3 : 5e-2;
    dync_tensor *y = dync_to_dtype(as(got), DYNC_F32), *w = dync_to_dtype(want, DYNC_F32);
    dync_tensor *bound = dync_add(dync_mul(dync_abs(w), tol), tol);
    dync_tensor *far = dync_gt(dync_abs(dync_sub(y, w)), bound), *none = dync_ne(y, y);
    bool same = !dync_bool(dync_any(dync_logical_or(far, none), DYNC_ALL, false));
    return same && dync_error() == DYNC_OK;
}

static void prepare(const row *r)
{
    net = r->make ? r->make() : NULL;
    optimizer = NULL;
    if (!net) return;
    dync_module_to_device(net, DYNC_CUDA);
    dync_module_to_dtype(net, (dync_dtype)r->dtype);
    dync_module_train(net, r->trains);
    if (r->trains)
        optimizer = dync_optim_of(DYNC_OPTIM_ADAMW, net, (dync_optim_options){.lr = 1e-4});
}

static int run(const row *r, bool tiny, double budget_s)
{
    int wrong = 0, n = 0;
    p = tiny ? r->tiny : r->full;
    DYNC_SCOPE {
        dync_tensor *x[MOST_INPUTS] = {NULL}, *want = NULL;
        dync_value v[MOST_INPUTS];
        dync_manual_seed(1);
        r->inputs(r->dtype, x);
        while (n < MOST_INPUTS && x[n]) v[n] = DYNC_V(x[n]), n++;
        for (int way = 0; way < 3; way++) {
            dync_manual_seed(2);
            prepare(r);
            bool before = dync_grad_mode_push(r->trains);
            dync_compiled *f = way ? dync_compile(r->fn, .args = "x, y, z", .fullgraph = r->trains,
                                                  .backend = ways[way])
                                   : NULL;
            dync_value y = call(f, r, v, n);
            figures t = {0, 0, false, dync_error() != DYNC_OK};
            if (!t.failed && way == 0) want = as(y);
            bool same = t.failed || !want || agrees(y, want, r->dtype);
            if (!t.failed) t = measure(f, r, v, n, budget_s);
            t.wrong = !same;
            wrong += t.wrong || t.failed;
            show(r, ways[way], t, tiny);
            dync_clear_error();
            dync_compiled_free(f);
            dync_optim_free(optimizer);
            dync_module_free(net);
            dync_grad_mode_pop(before);
        }
    }
    dync_cuda_empty_cache(0);
    return wrong;
}

/* What a copy by the driver moves, read and written, of 1 GB. */
static void measure_copy(bool tiny)
{
    int64_t n = tiny ? 4096 : (int64_t)1 << 28;
    double least = HUGE_VAL;
    DYNC_SCOPE {
        dync_tensor *x = dync_zeros(dync_shape(n), .device = DYNC_CUDA),
                    *y = dync_zeros(dync_shape(n), .device = DYNC_CUDA);
        dync_cuda_event *a = dync_cuda_event_new(0), *b = dync_cuda_event_new(0);
        extern int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
        for (int i = 0; i < 12; i++) {
            dync_cuda_event_record(a);
            for (int k = 0; k < 4; k++)
                cudaMemcpyAsync(dync_cuda_data(y), dync_cuda_data(x), (size_t)n * 4, 3, NULL);
            dync_cuda_event_record(b);
            dync_cuda_event_synchronize(b);
            double us = dync_cuda_event_ms(a, b) * 1e3 / 4;
            if (i > 1 && us < least) least = us;
        }
        dync_cuda_event_free(a);
        dync_cuda_event_free(b);
    }
    copy_rate = 8.0 * (double)n / least * 1e6;
    printf("%-50s %-10s %10.1f us                    %6.0f GB/s\n", "copy, 1 GB", "driver", least,
           copy_rate * 1e-9);
    if (json) fprintf(json, "{\"copy_rate\": %.0f, \"rows\": [", copy_rate);
}

int main(int argc, char **argv)
{
    bool tiny = false;
    double seconds = 200;
    const char *path = getenv("J");
    int wrong = 0, words = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tiny") == 0)
            tiny = true, argv[i] = NULL;
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = atof(argv[i + 1]), argv[i] = argv[i + 1] = NULL, i++;
        else
            words++;
    }
    if (dync_cuda_device_count() == 0) {
        printf("no GPU: %s\n", dync_cuda_reason());
        return 0;
    }
    json = path && *path ? fopen(path, "wb") : NULL;
    measure_copy(tiny);
    double start = now_ns(), each = tiny ? 0.001 : 0.4;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool picked = words == 0;
        for (int k = 1; k < argc; k++) picked |= argv[k] && strstr(rows[i].name, argv[k]);
        if (!picked) continue;
        if ((now_ns() - start) * 1e-9 > seconds) {
            printf("%-50s left out: %.0f seconds are over\n", rows[i].name, seconds);
            continue;
        }
        wrong += run(&rows[i], tiny, each);
    }
    dync_cuda_counters c = dync_cuda_get_counters();
    printf("%lld kernels launched, %lld texts, %lld graphs recorded, %lld replayed, %lld steps on "
           "the CPU\n",
           (long long)c.launches, (long long)c.loads, (long long)c.recordings, (long long)c.replays,
           (long long)c.host_steps);
    if (json) {
        fprintf(json, "\n]}\n");
        fclose(json);
    }
    dync_shutdown();
    return wrong != 0;
}
