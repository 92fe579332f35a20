/* nets.c: the networks of this folder, by dync: for each, NET.c and NET.h as exported, and
 * NET_data.c with its weights, an input and the result. nets folder [net ...]; with -int8 before
 * the nets, the same in 8-bit integers beside: NET_int8.c. */
#include "dync.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64 };
static dync_tensor *weight[MOST];
static int n_weights, at;
static dync_module *module;

/* ---- layers over weights in a row ------------------------------------------------------------ */

static dync_tensor *next(void) { return weight[at++]; }

static void need(int64_t out, int64_t in, int64_t kh, int64_t kw)
{
    dync_tensor *w = kw ? dync_randn(dync_shape(out, in, kh, kw)) : dync_randn(dync_shape(out, in));
    if (kh && !kw) w = dync_randn(dync_shape(out, in, kh));
    double fan = (double)(in * (kh ? kh : 1) * (kw ? kw : 1));
    weight[n_weights++] = dync_mul(w, sqrt(2 / fan));
    weight[n_weights++] = dync_mul(dync_randn(dync_shape(out)), 0.1);
}

static dync_tensor *linear(dync_tensor *x)
{
    dync_tensor *w = next();
    return dync_linear(x, w, next());
}

static dync_tensor *conv2(dync_tensor *x, int stride, int pad, int groups)
{
    dync_tensor *w = next();
    return dync_relu(dync_conv2d(x, w, next(), dync_shape(stride, stride), dync_shape(pad, pad),
                                 dync_shape(1, 1), groups));
}

static dync_tensor *conv1(dync_tensor *x, int stride, int pad)
{
    dync_tensor *w = next();
    return dync_relu(
        dync_conv1d(x, w, next(), dync_shape(stride), dync_shape(pad), dync_shape(1), 1));
}

static dync_tensor *pool(dync_tensor *x)
{
    return dync_max_pool2d(x, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0),
                           dync_shape(1, 1), false);
}

/* ---- networks -------------------------------------------------------------------------------- */

static dync_tensor *mlp(dync_tensor *x)
{
    at = 0;
    return linear(dync_relu(linear(dync_relu(linear(x)))));
}

static dync_tensor *autoencoder(dync_tensor *x)
{
    at = 0;
    for (int i = 0; i < 5; i++) x = dync_relu(linear(x));
    return linear(x);
}

static dync_tensor *cnn(dync_tensor *x)
{
    at = 0;
    x = pool(conv2(x, 1, 1, 1));
    x = pool(conv2(x, 1, 1, 1));
    return linear(dync_reshape(x, dync_shape(1, -1)));
}

static const int blocks[13][3] = {{8, 16, 1},    {16, 32, 2},   {32, 32, 1},   {32, 64, 2},
                                  {64, 64, 1},   {64, 128, 2},  {128, 128, 1}, {128, 128, 1},
                                  {128, 128, 1}, {128, 128, 1}, {128, 128, 1}, {128, 256, 2},
                                  {256, 256, 1}};
static dync_tensor *mobilenet(dync_tensor *x)
{
    at = 0;
    x = conv2(x, 2, 1, 1);
    for (int i = 0; i < 13; i++) x = conv2(conv2(x, blocks[i][2], 1, blocks[i][0]), 1, 0, 1);
    return linear(dync_mean(x, dync_shape(2, 3), false));
}

static dync_tensor *gru(dync_tensor *x)
{
    dync_tensor *h = dync_as_tensor(dync_at(dync_module_call(module, x), 1));
    at = 4;
    return linear(dync_reshape(h, dync_shape(1, 32)));
}

static dync_tensor *keywords(dync_tensor *x)
{
    at = 0;
    x = conv1(conv1(conv1(x, 1, 2), 2, 1), 1, 1);
    return linear(dync_mean(x, dync_shape(2), false));
}

/* ---- their weights and inputs ---------------------------------------------------------------- */

static dync_dims make_mlp(void)
{
    need(64, 32, 0, 0), need(32, 64, 0, 0), need(10, 32, 0, 0);
    return dync_shape(1, 32);
}

static dync_dims make_autoencoder(void)
{
    static const int sizes[] = {640, 128, 128, 8, 128, 128, 640};
    for (int i = 0; i < 6; i++) need(sizes[i + 1], sizes[i], 0, 0);
    return dync_shape(1, 640);
}

static dync_dims make_cnn(void)
{
    need(8, 1, 3, 3), need(16, 8, 3, 3), need(10, 784, 0, 0);
    return dync_shape(1, 1, 28, 28);
}

static dync_dims make_mobilenet(void)
{
    need(8, 3, 3, 3);
    for (int i = 0; i < 13; i++)
        need(blocks[i][0], 1, 3, 3), need(blocks[i][1], blocks[i][0], 1, 1);
    need(10, 256, 0, 0);
    return dync_shape(1, 3, 96, 96);
}

static dync_dims make_gru(void)
{
    static const char *const names[4] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0",
                                         "bias_hh_l0"};
    module = dync_nn_gru(16, 32, 1, false);
    for (int i = 0; i < 4; i++) weight[n_weights++] = dync_module_param(module, names[i]);
    need(4, 32, 0, 0);
    return dync_shape(20, 1, 16);
}

static dync_dims make_keywords(void)
{
    need(32, 40, 5, 0), need(32, 32, 3, 0), need(32, 32, 3, 0), need(12, 32, 0, 0);
    return dync_shape(1, 40, 49);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void numbers(FILE *f, const char *name, dync_tensor *t)
{
    t = dync_contiguous(dync_detach(t));
    const float *x = dync_data(t);
    fprintf(f, "%s[] = {", name);
    for (int64_t i = 0; i < dync_numel(t); i++)
        fprintf(f, "%s%.8ef,", i % 8 ? " " : "\n    ", (double)x[i]);
    fprintf(f, "\n};\n");
}

static void data(const char *path, dync_tensor *x, dync_tensor *y)
{
    char name[32];
    FILE *f = fopen(path, "w");
    if (!f) return;
    fprintf(f, "#include \"peers.h\"\n");
    for (int i = 0; i < n_weights; i++) {
        snprintf(name, sizeof name, "static const float w%d", i);
        numbers(f, name, weight[i]);
    }
    fprintf(f, "const float *const data_weight[] = {");
    for (int i = 0; i < n_weights; i++) fprintf(f, "w%d, ", i);
    fprintf(f, "};\n");
    numbers(f, "const float data_in", x);
    numbers(f, "const float data_out", y);
    fprintf(f, "const int data_n_in = %lld, data_n_out = %lld;\n", (long long)dync_numel(x),
            (long long)dync_numel(y));
    fclose(f);
}

#define NET(name) {#name, name, make_##name}
static const struct {
    const char *name;
    dync_tensor *(*run)(dync_tensor *);
    dync_dims (*make)(void);
} nets[] = {NET(mlp), NET(cnn), NET(mobilenet), NET(gru), NET(keywords), NET(autoencoder)};

static bool wanted(int argc, char **argv, const char *name)
{
    bool any = argc == 2;
    for (int i = 2; i < argc; i++) any = any || strcmp(argv[i], name) == 0;
    return any;
}

/* The program in 8-bit integers, calibrated with inputs like x. */
static bool save_int8(const char *folder, const char *name, dync_program *p, dync_tensor *x)
{
    enum { BATCHES = 24 };
    char path[512];
    dync_quantize_report report;
    dync_value batch[BATCHES];
    batch[0] = DYNC_V(x);
    for (int i = 1; i < BATCHES; i++) batch[i] = DYNC_V(dync_randn_like(x));
    dync_quantize_options options = {.report = &report};
    dync_program *q = dync_quantize_program(p, dync_tuple_of(BATCHES, batch), &options);
    snprintf(path, sizeof path, "%s/%s_int8.c", folder, name);
    bool saved = q && dync_program_save_c(q, path) == DYNC_OK;
    if (q)
        fprintf(stderr, "%s: %.1f dB, %d operators in floats %s\n", name, report.snr_db,
                report.float_layers, report.kept_float);
    dync_program_free(q);
    return saved;
}

int main(int argc, char **argv)
{
    char path[512];
    bool int8 = argc > 2 && strcmp(argv[2], "-int8") == 0;
    if (int8) argv[2] = argv[1], argv++, argc--;
    for (size_t i = 0; argc > 1 && i < sizeof nets / sizeof nets[0]; i++) {
        if (!wanted(argc, argv, nets[i].name)) continue;
        dync_manual_seed(20);
        n_weights = 0;
        dync_tensor *x = dync_randn(nets[i].make());
        dync_value in = DYNC_V(x);
        dync_program *p = dync_export_values(DYNC_FN(nets[i].run), nets[i].name, 1, &in);
        snprintf(path, sizeof path, "%s/%s.c", argv[1], nets[i].name);
        if (!p || dync_program_save_c(p, path) != DYNC_OK) break;
        snprintf(path, sizeof path, "%s/%s_data.c", argv[1], nets[i].name);
        data(path, x, nets[i].run(x));
        if (int8 && !save_int8(argv[1], nets[i].name, p, x)) break;
        dync_program_free(p);
    }
    return dync_error();
}
