/* Twenty architectures, written in dync, as ONNX models. With ONNX_MODELS=folder/ they stay there
 * with their inputs and results, for tests/interop/onnx_write.py, which runs them in ONNX
 * Runtime. */
#include "dync.h"
#include "test.h"

enum { MODULES = 16 };
static dync_module *net[MODULES];
static dync_tensor *w_in, *w_out;

static dync_dims two(int64_t n) { return dync_shape(n, n); }
static dync_tensor *max_pool(dync_tensor *x)
{
    return dync_max_pool2d(x, two(2), two(2), two(0), two(1), false);
}
static dync_tensor *at(int i, dync_tensor *x) { return dync_forward_call(net[i], x); }

static dync_tensor *plain(dync_tensor *x) { return at(0, x); }
static dync_tensor *residual(dync_tensor *x)
{
    dync_tensor *y = dync_relu(at(0, x));
    return at(2, dync_relu(dync_add(at(1, y), y)));
}
static dync_tensor *depthwise(dync_tensor *x)
{
    dync_tensor *y = dync_hardswish(at(0, x));
    dync_tensor *z = dync_conv2d(y, w_in, NULL, two(2), two(1), two(1), 8);
    dync_tensor *gate = dync_adaptive_avg_pool2d(z, two(1));
    gate = dync_hardsigmoid(at(2, dync_relu(at(1, gate))));
    return at(3, dync_mul(z, gate));
}
static dync_tensor *unet(dync_tensor *x)
{
    dync_tensor *a = dync_relu(at(0, x)), *b = dync_relu(at(1, max_pool(a)));
    dync_tensor *up = dync_upsample_nearest2d(b, two(16));
    return at(2, dync_cat(dync_tuple(a, up), 1));
}
/* [N, C, H, W] as patches, [N, places, C'] */
static dync_tensor *vit(dync_tensor *x)
{
    dync_tensor *p = dync_transpose(dync_flatten(at(0, x), 2, 3), 1, 2);
    p = dync_add(p, w_in);
    dync_tensor *h = at(1, p);
    dync_value qkv = dync_tuple(at(2, h), at(3, h), at(4, h));
    dync_tensor *a = dync_scaled_dot_product_attention(
        dync_as_tensor(dync_at(qkv, 0)), dync_as_tensor(dync_at(qkv, 1)),
        dync_as_tensor(dync_at(qkv, 2)), NULL, 0, false, DYNC_NONE);
    p = dync_add(p, a);
    return dync_mean(dync_add(p, at(5, p)), dync_shape(1), false);
}
static dync_tensor *heads(dync_tensor *x)
{
    return dync_transpose(dync_view(x, dync_shape(2, -1, 4, 4)), 1, 2);
}
/* One more token behind a cache of keys and values. */
static dync_value gpt(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *x = dync_embedding(w_in, dync_as_tensor(args[0]));
    dync_tensor *k = dync_cat(dync_tuple(dync_as_tensor(args[1]), heads(at(0, x))), 2);
    dync_tensor *v = dync_cat(dync_tuple(dync_as_tensor(args[2]), heads(at(1, x))), 2);
    dync_tensor *a =
        dync_scaled_dot_product_attention(heads(at(2, x)), k, v, NULL, 0, false, DYNC_NONE);
    a = dync_reshape(dync_transpose(a, 1, 2), dync_shape(2, 1, 16));
    x = dync_rms_norm(dync_add(x, a), dync_shape(16), w_out, dync_v_float(1e-6));
    return dync_tuple(dync_matmul(dync_add(x, dync_gelu_tanh(at(3, x))), dync_t(w_in)), k, v);
}
static dync_tensor *encoder(dync_tensor *x, dync_tensor *mask)
{
    dync_tensor *scores = dync_matmul(heads(at(0, x)), dync_transpose(heads(at(1, x)), 2, 3));
    scores = dync_masked_fill(dync_mul(scores, 0.5), dync_logical_not(mask), -1e9);
    dync_tensor *a = dync_matmul(dync_softmax(scores, -1), heads(at(2, x)));
    x = at(3, dync_add(x, dync_reshape(dync_transpose(a, 1, 2), dync_shape(2, 5, 16))));
    return dync_tanh(at(4, dync_select(x, 1, 0)));
}
static dync_value recurrent(const dync_value *args, int nargs, void *user)
{
    (void)user;
    return dync_module_call_values_at(net[0], nargs, args, DYNC_HERE);
}
/* messages along edges, summed where they arrive */
static dync_tensor *gnn(dync_tensor *x, dync_tensor *from, dync_tensor *to)
{
    dync_tensor *m = dync_relu(at(0, dync_index_select(x, 0, from)));
    dync_tensor *sum = dync_index_add(dync_zeros_like(x), 0, to, m);
    return dync_log_softmax(at(1, dync_add(x, sum)), -1);
}
static dync_tensor *vae(dync_tensor *x, dync_tensor *noise)
{
    dync_tensor *h = dync_relu(at(0, x)), *mean = at(1, h), *logvar = at(2, h);
    dync_tensor *z = dync_add(mean, dync_mul(noise, dync_exp(dync_mul(logvar, 0.5))));
    return dync_sigmoid(at(3, z));
}
static dync_tensor *super_resolution(dync_tensor *x)
{
    return dync_pixel_shuffle(at(1, dync_tanh(at(0, x))), 2);
}
static dync_tensor *audio(dync_tensor *x)
{
    return dync_mean(dync_leaky_relu(at(1, dync_elu(at(0, x), 1)), 0.2), dync_shape(-1), false);
}
static dync_tensor *mixer(dync_tensor *x)
{
    dync_tensor *t = dync_transpose(at(0, x), 1, 2);
    x = dync_add(x, dync_transpose(at(1, t), 1, 2));
    return dync_add(x, at(3, at(2, x)));
}
static dync_tensor *detector(dync_tensor *x)
{
    dync_tensor *f = dync_silu(at(0, x));
    dync_tensor *box = dync_flatten(at(1, f), 2, 3), *score = dync_flatten(at(2, f), 2, 3);
    dync_value best =
        dync_topk(dync_amax(dync_sigmoid(score), dync_shape(1), false), 5, 1, true, true);
    dync_tensor *place = dync_unsqueeze(dync_as_tensor(dync_at(best, 1)), 1);
    return dync_gather(box, 2, dync_expand(place, dync_shape(2, 4, 5)));
}
/* A loss and its gradient with respect to the weights, written out by hand in the captured
 * function. */
static dync_value gradients(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *x = dync_as_tensor(args[0]), *w = dync_as_tensor(args[1]);
    dync_tensor *target = dync_as_tensor(args[2]);
    dync_tensor *y = dync_softmax(dync_matmul(dync_tanh(x), w), -1);
    dync_tensor *g = dync_div(dync_sub(y, target), (double)4);
    dync_tensor *loss = dync_mean(dync_square(dync_sub(y, target)), DYNC_ALL, false);
    return dync_tuple(loss, dync_matmul(dync_t(dync_tanh(x)), g));
}

/* Branches and loops that data decide: If, Loop, Scan. */
static dync_value up(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_tuple(dync_mul(dync_as_tensor(args[0]), 2), dync_as_tensor(args[0]));
}
static dync_value down(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_tuple(dync_matmul(dync_as_tensor(args[0]), w_in),
                      dync_neg(dync_as_tensor(args[0])));
}
static dync_value branch(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *x = dync_tanh(dync_as_tensor(args[0]));
    dync_tensor *pred = dync_gt(dync_sum(dync_as_tensor(args[1]), DYNC_ALL, false), 0);
    return dync_cond(pred, up, down, dync_tuple(x));
}
static dync_value small(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_v_tensor(dync_lt(dync_sum(dync_as_tensor(args[1]), DYNC_ALL, false), 50));
}
static dync_value larger(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *x = dync_as_tensor(args[1]);
    return dync_tuple(dync_add(dync_as_tensor(args[0]), 1), dync_add(dync_mul(x, 1.5), w_out));
}
static dync_value loop(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_while_loop(small, larger,
                           dync_tuple(dync_as_tensor(args[0]), dync_as_tensor(args[1])));
}
static dync_value limited(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_while_loop_limit(small, larger,
                                 dync_tuple(dync_as_tensor(args[0]), dync_as_tensor(args[1])), 3);
}
static dync_value cell(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *h =
        dync_tanh(dync_add(dync_matmul(dync_as_tensor(args[0]), w_in), dync_as_tensor(args[1])));
    return dync_tuple(h, dync_mul(h, 2));
}
static dync_value scanned(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_scan(cell, dync_as_tensor(args[0]), dync_as_tensor(args[1]));
}
static dync_value scanned_back(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_scan_reverse(cell, dync_as_tensor(args[0]), dync_as_tensor(args[1]));
}

/* ---- saving ---------------------------------------------------------------------------------- */

static void keep(const char *name, const char *what, int i, dync_tensor *t)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s.%s%d.npy", getenv("ONNX_MODELS"), name, what, i);
    EXPECT_STATUS(dync_npy_save(t, path), DYNC_OK);
}

static int flat(dync_value v, dync_tensor **out, int n)
{
    if (v.kind == DYNC_KIND_TENSOR) out[n++] = v.as.t;
    for (int i = 0; v.kind == DYNC_KIND_LIST && i < dync_len(v); i++)
        n = flat(dync_at(v, i), out, n);
    return n;
}

/* The user's lines stand in the file. */
static bool tells_lines(const char *path)
{
    static char bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t n = fread(bytes, 1, sizeof bytes, f), k = strlen("test_onnx_models.c:");
    fclose(f);
    for (size_t i = 0; i + k < n; i++)
        if (memcmp(bytes + i, "test_onnx_models.c:", k) == 0) return true;
    return false;
}

/* dync's own reader makes a program of it that gives the same. */
static void read_back(const char *path, dync_program *p, int n, const dync_value *args)
{
    dync_tensor *want[16], *got[16];
    dync_program *q = dync_program_load_onnx(path);
    if (!EXPECT(q != NULL)) return;
    int m = flat(dync_program_run(p, n, args), want, 0);
    if (!EXPECT_EQ_INT(flat(dync_program_run(q, n, args), got, 0), m)) printf("%s\n", path);
    for (int i = 0; i < m && dync_error() == DYNC_OK; i++)
        if (!EXPECT(dync_type(want[i]) == dync_type(got[i]) &&
                    dync_allclose(want[i], got[i], 1e-4, 1e-5)))
            printf("%s: output %d\n", path, i);
    dync_program_free(q);
}

/* run: what it is run with, sizes that were marked may be others. */
static void saved(const char *name, dync_callee fn, int n, const dync_value *args,
                  const dync_value *run)
{
    char path[512];
    dync_tensor *t[16];
    const char *folder = getenv("ONNX_MODELS");
    for (int i = 0; i < MODULES; i++)
        if (net[i]) dync_module_train(net[i], false);
    dync_program *p = dync_export_values(fn, name, n, args);
    if (!EXPECT(p != NULL)) return;
    snprintf(path, sizeof path, "%s%s.onnx", folder ? folder : "/tmp/dync_test_", name);
    EXPECT_STATUS(dync_program_save_onnx(p, path), DYNC_OK);
    EXPECT(tells_lines(path));
    if (folder) {
        dync_value result = dync_program_run(p, n, run);
        int in = 0;
        for (int i = 0; i < n; i++)
            for (int k = 0, m = flat(run[i], t, 0); k < m; k++) keep(name, "in", in++, t[k]);
        for (int k = 0, m = flat(result, t, 0); k < m; k++) keep(name, "out", k, t[k]);
    }
    read_back(path, p, n, args);
    if (!folder) EXPECT(remove(path) == 0);
    dync_program_free(p);
    for (int i = 0; i < MODULES; i++) {
        dync_module_free(net[i]);
        net[i] = NULL;
    }
    EXPECT_OK(dync_error());
}
#define SAVED(name, fn, ...)                                             \
    do {                                                                 \
        const dync_value args_[] = {DYNC_MAP_V(__VA_ARGS__)};            \
        saved(name, DYNC_FN(fn), DYNC_COUNT(__VA_ARGS__), args_, args_); \
    } while (0)
#define LINEAR(a, b) dync_nn_linear(a, b, true)
#define CONV(a, b, k, s, p) dync_nn_conv2d(a, b, k, s, p, true)

TEST(perceptron_and_convolutions)
{
    dync_manual_seed(1);
    net[0] = dync_sequential(LINEAR(8, 16), dync_nn_relu(), LINEAR(16, 4), dync_nn_softmax(-1));
    SAVED("mlp", plain, dync_randn(dync_shape(3, 8)));
    net[0] = dync_sequential(CONV(3, 8, 3, 1, 1), dync_nn_batch_norm2d(8), dync_nn_relu(),
                             dync_nn_max_pool2d(2, 2, 0), CONV(8, 8, 3, 2, 1),
                             dync_nn_group_norm(4, 8), dync_nn_gelu(), dync_nn_avg_pool2d(2, 2, 0),
                             dync_nn_flatten(), LINEAR(32, 5));
    SAVED("cnn", plain, dync_randn(dync_shape(2, 3, 16, 16)));
    net[0] = dync_sequential(CONV(3, 8, 3, 1, 1), dync_nn_batch_norm2d(8));
    net[1] = dync_sequential(CONV(8, 8, 3, 1, 1), dync_nn_batch_norm2d(8));
    net[2] = dync_sequential(dync_nn_avg_pool2d(8, 8, 0), dync_nn_flatten(), LINEAR(8, 4));
    SAVED("resnet", residual, dync_randn(dync_shape(2, 3, 8, 8)));
    net[0] = dync_sequential(CONV(3, 8, 1, 1, 0), dync_nn_batch_norm2d(8));
    net[1] = CONV(8, 4, 1, 1, 0);
    net[2] = CONV(4, 8, 1, 1, 0);
    net[3] = CONV(8, 6, 1, 1, 0);
    w_in = dync_randn(dync_shape(8, 1, 3, 3));
    SAVED("mobilenet", depthwise, dync_randn(dync_shape(2, 3, 8, 8)));
    net[0] = CONV(3, 4, 3, 1, 1);
    net[1] = CONV(4, 8, 3, 1, 1);
    net[2] = CONV(12, 2, 1, 1, 0);
    SAVED("unet", unet, dync_randn(dync_shape(1, 3, 16, 16)));
}

TEST(attention)
{
    dync_manual_seed(2);
    net[0] = CONV(3, 16, 4, 4, 0);
    net[1] = dync_nn_layer_norm(16);
    for (int i = 2; i < 5; i++) net[i] = LINEAR(16, 16);
    net[5] =
        dync_sequential(dync_nn_layer_norm(16), LINEAR(16, 32), dync_nn_gelu(), LINEAR(32, 16));
    w_in = dync_randn(dync_shape(1, 4, 16));
    SAVED("vit", vit, dync_randn(dync_shape(2, 3, 8, 8)));
    for (int i = 0; i < 4; i++) net[i] = LINEAR(16, 16);
    w_in = dync_randn(dync_shape(20, 16));
    w_out = dync_rand(dync_shape(16));
    dync_tensor *token = dync_from(((int64_t[]){3, 17}), dync_shape(2, 1), .dtype = DYNC_I64);
    SAVED("gpt", gpt, token, dync_randn(dync_shape(2, 4, 3, 4)),
          dync_randn(dync_shape(2, 4, 3, 4)));
    for (int i = 0; i < 3; i++) net[i] = LINEAR(16, 16);
    net[3] = dync_nn_layer_norm(16);
    net[4] = LINEAR(16, 3);
    dync_tensor *mask = dync_lt(dync_rand(dync_shape(2, 1, 1, 5)), 0.7);
    SAVED("encoder", encoder, dync_randn(dync_shape(2, 5, 16)), mask);
}

TEST(recurrent_layers_and_graphs)
{
    dync_manual_seed(3);
    net[0] = dync_nn_lstm(6, 5, 2, true);
    SAVED("lstm", recurrent, dync_randn(dync_shape(4, 2, 6)));
    net[0] = dync_nn_gru(6, 5, 1, false);
    SAVED("gru", recurrent, dync_randn(dync_shape(4, 2, 6)));
    net[0] = LINEAR(6, 6);
    net[1] = LINEAR(6, 3);
    dync_tensor *from = dync_from(((int64_t[]){0, 1, 2, 3, 0}), dync_shape(5), .dtype = DYNC_I64),
                *to = dync_from(((int64_t[]){1, 2, 3, 0, 2}), dync_shape(5), .dtype = DYNC_I64);
    SAVED("gnn", gnn, dync_randn(dync_shape(4, 6)), from, to);
}

TEST(generators)
{
    dync_manual_seed(4);
    net[0] = LINEAR(12, 8);
    net[1] = LINEAR(8, 3);
    net[2] = LINEAR(8, 3);
    net[3] = dync_sequential(LINEAR(3, 8), dync_nn_tanh(), LINEAR(8, 12));
    SAVED("vae", vae, dync_randn(dync_shape(5, 12)), dync_randn(dync_shape(5, 3)));
    net[0] = CONV(3, 8, 3, 1, 1);
    net[1] = CONV(8, 12, 3, 1, 1);
    SAVED("super_resolution", super_resolution, dync_rand(dync_shape(1, 3, 8, 8)));
    net[0] = dync_sequential(dync_nn_conv_transpose2d(4, 8, 4, 1, 0, true), dync_nn_batch_norm2d(8),
                             dync_nn_relu(), dync_nn_conv_transpose2d(8, 3, 4, 2, 1, true),
                             dync_nn_tanh());
    SAVED("gan", plain, dync_randn(dync_shape(2, 4, 1, 1)));
    net[0] = dync_sequential(CONV(1, 4, 3, 2, 1), dync_nn_relu(), CONV(4, 8, 3, 2, 1),
                             dync_nn_conv_transpose2d(8, 4, 2, 2, 0, true), dync_nn_silu(),
                             dync_nn_conv_transpose2d(4, 1, 2, 2, 0, true), dync_nn_sigmoid());
    SAVED("autoencoder", plain, dync_rand(dync_shape(2, 1, 12, 12)));
}

TEST(others)
{
    dync_manual_seed(5);
    net[0] = dync_nn_conv1d(1, 8, 5, 2, 2, true);
    net[1] = dync_nn_conv1d(8, 4, 3, 1, 1, true);
    SAVED("audio", audio, dync_randn(dync_shape(2, 1, 64)));
    net[0] = dync_nn_layer_norm(8);
    net[1] = dync_sequential(LINEAR(6, 12), dync_nn_gelu(), LINEAR(12, 6));
    net[2] = dync_nn_rms_norm(8);
    net[3] = dync_sequential(LINEAR(8, 16), dync_nn_silu(), LINEAR(16, 8));
    SAVED("mixer", mixer, dync_randn(dync_shape(2, 6, 8)));
    net[0] = CONV(3, 8, 3, 2, 1);
    net[1] = CONV(8, 4, 1, 1, 0);
    net[2] = CONV(8, 3, 1, 1, 0);
    SAVED("detector", detector, dync_randn(dync_shape(2, 3, 12, 12)));
    net[0] = dync_sequential(LINEAR(8, 16), dync_nn_layer_norm(16), dync_nn_gelu(), LINEAR(16, 4));
    dync_tensor *x = dync_randn(dync_shape(3, 8));
    dync_mark_dynamic(x, 0);
    const dync_value marked[] = {dync_v_tensor(x)},
                     other[] = {dync_v_tensor(dync_randn(dync_shape(7, 8)))};
    saved("dynamic_batch", DYNC_FN(plain), 1, marked, other);
    dync_tensor *target = dync_softmax(dync_randn(dync_shape(4, 3)), -1);
    SAVED("gradients", gradients, dync_randn(dync_shape(4, 5)), dync_randn(dync_shape(5, 3)),
          target);
}

TEST(control_flow)
{
    dync_manual_seed(6);
    w_in = dync_randn(dync_shape(3, 3));
    w_out = dync_ones(dync_shape(3));
    dync_tensor *x = dync_rand(dync_shape(2, 3)), *minus = dync_neg(dync_ones(dync_shape(2)));
    SAVED("if_true", branch, x, dync_ones(dync_shape(2)));
    SAVED("if_false", branch, x, minus);
    dync_tensor *zero = dync_zeros(DYNC_SCALAR, .dtype = DYNC_I64);
    SAVED("loop", loop, zero, x);
    SAVED("loop_limited", limited, zero, x);
    SAVED("loop_never", loop, zero, dync_mul(dync_ones(dync_shape(2, 3)), 100));
    SAVED("scan", scanned, dync_zeros(dync_shape(2, 3)), dync_randn(dync_shape(5, 2, 3)));
    SAVED("scan_reverse", scanned_back, dync_zeros(dync_shape(2, 3)),
          dync_randn(dync_shape(5, 2, 3)));
}

TEST_MAIN
