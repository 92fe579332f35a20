/* Networks that nobody made the exporter for, and their C files with a main that compares: for
 * test_networks.c on the host and tests/embed/networks.c on chips. A row of the table is a network.
 *
 * f32: within a few roundings of what dync gives (contraction and elementary functions differ). Of
 * 8-bit integers: the same bits; where layers stay in floats, within their roundings. */
#ifndef TESTS_PROGRAM_NETWORKS_H
#define TESTS_PROGRAM_NETWORKS_H
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Weights are drawn where a network asks first; each later call meets them in the same order. */
static dync_tensor *weight_of[64];
static int weights_met;
static dync_module *recurrent;

static dync_tensor *weight(double scale, dync_dims shape)
{
    dync_tensor **w = &weight_of[weights_met++];
    if (!*w) *w = dync_retain(dync_mul(dync_randn(shape), scale));
    return *w;
}
#define W(scale, ...) weight(scale, dync_shape(__VA_ARGS__))
#define S(...) dync_shape(__VA_ARGS__)

typedef struct {
    int out, in, window, stride, pad, groups;
} conv_of;
static dync_tensor *conv(dync_tensor *x, conv_of c)
{
    double size = (double)c.in / c.groups * c.window * c.window;
    dync_tensor *w = W(1 / sqrt(size), c.out, c.in / c.groups, c.window, c.window);
    dync_tensor *b = W(0.1, c.out);
    return dync_conv2d(x, w, b, S(c.stride, c.stride), S(c.pad, c.pad), S(1, 1), c.groups);
}
static dync_tensor *fc(dync_tensor *x, double scale, int out, int in)
{
    dync_tensor *w = W(scale, out, in);
    return dync_linear(x, w, W(0.1, out));
}
static dync_tensor *max2(dync_tensor *x)
{
    return dync_max_pool2d(x, S(2, 2), S(2, 2), S(0, 0), S(1, 1), false);
}
static dync_tensor *norm(dync_tensor *x, int n)
{
    dync_tensor *g = W(1, n);
    return dync_layer_norm(x, S(n), g, W(0.1, n), 1e-5);
}

static dync_tensor *heads(dync_tensor *qkv, int from)
{
    dync_tensor *t = dync_contiguous(dync_slice(qkv, -1, from, from + 16, 1));
    return dync_transpose(dync_view(t, S(-1, 10, 2, 8)), 1, 2);
}
static dync_tensor *transformer(dync_tensor *x)
{
    dync_tensor *qkv = fc(norm(x, 16), 0.25, 48, 16);
    dync_tensor *a = dync_scaled_dot_product_attention(heads(qkv, 0), heads(qkv, 16),
                                                       heads(qkv, 32), NULL, 0, true, DYNC_NONE);
    x = dync_add(x, fc(dync_reshape(dync_transpose(a, 1, 2), S(-1, 10, 16)), 0.25, 16, 16));
    return dync_add(x, fc(dync_gelu(fc(norm(x, 16), 0.25, 32, 16)), 0.2, 16, 32));
}
static dync_tensor *attention(dync_tensor *x)
{
    dync_tensor *q = fc(x, 0.3, 12, 12), *k = fc(x, 0.3, 12, 12), *v = fc(x, 0.3, 12, 12);
    dync_tensor *s = dync_div(dync_matmul(q, dync_transpose(k, 1, 2)), sqrt(12.0));
    return dync_matmul(dync_softmax(s, -1), v);
}
static dync_tensor *through(dync_tensor *x)
{
    dync_value r = dync_module_call(recurrent, x);
    return dync_as_tensor(r.kind == DYNC_KIND_LIST ? dync_at(r, 0) : r);
}
static dync_tensor *conv_lstm(dync_tensor *x)
{
    dync_tensor *w = W(0.3, 6, 3, 5);
    x = dync_relu(dync_conv1d(x, w, W(0.1, 6), S(2), S(2), S(1), 1));
    return dync_softmax(fc(dync_select(through(dync_transpose(x, 1, 2)), 1, -1), 0.3, 4, 8), 1);
}
static dync_tensor *unet(dync_tensor *x)
{
    dync_tensor *a = dync_relu(conv(x, (conv_of){4, 1, 3, 1, 1, 1}));
    dync_tensor *b = dync_relu(conv(max2(a), (conv_of){8, 4, 3, 1, 1, 1}));
    dync_tensor *c = dync_relu(conv(max2(b), (conv_of){8, 8, 3, 1, 1, 1}));
    dync_tensor *w = W(0.2, 8, 8, 2, 2);
    c = dync_conv_transpose2d(c, w, W(0.1, 8), S(2, 2), S(0, 0), S(0, 0), 1, S(1, 1));
    c = dync_relu(conv(dync_cat(dync_tuple(c, b), 1), (conv_of){4, 16, 3, 1, 1, 1}));
    c = dync_cat(dync_tuple(dync_upsample_nearest2d(c, S(12, 12)), a), 1);
    c = dync_relu(conv(c, (conv_of){4, 8, 3, 1, 1, 1}));
    return dync_sigmoid(conv(c, (conv_of){1, 4, 1, 1, 0, 1}));
}
static dync_tensor *separable(dync_tensor *x)
{
    dync_tensor *w = W(0.3, 3, 1, 3, 5);
    x = dync_conv2d(x, w, W(0.1, 3), S(2, 1), S(1, 3), S(1, 2), 3);
    x = dync_hardswish(conv(x, (conv_of){7, 3, 1, 1, 0, 1}));
    x = dync_conv2d(x, W(0.3, 7, 1, 5, 3), NULL, S(1, 3), S(2, 0), S(1, 1), 7);
    return dync_mean(dync_relu6(conv(x, (conv_of){5, 7, 1, 2, 1, 1})), S(2, 3), false);
}
static dync_tensor *dilated(dync_tensor *x)
{
    for (int d = 1; d < 8; d *= 2) {
        dync_tensor *w = W(0.35, 4, 4, 3), *past = dync_pad(x, S(2 * d, 0), DYNC_V(0));
        x = dync_add(x, dync_tanh(dync_conv1d(past, w, W(0.1, 4), S(1), S(0), S(d), 1)));
    }
    return dync_mean(x, S(2), false);
}
static dync_tensor *transposed(dync_tensor *x)
{
    dync_tensor *w = W(0.3, 4, 3, 3, 3);
    x = dync_conv_transpose2d(x, w, W(0.1, 6), S(2, 2), S(1, 1), S(1, 1), 2, S(1, 1));
    x = dync_leaky_relu(x, 0.1);
    w = W(0.3, 6, 2, 4, 3);
    return dync_tanh(dync_conv_transpose2d(x, w, NULL, S(1, 2), S(2, 0), S(0, 1), 1, S(1, 2)));
}
static dync_tensor *grouped(dync_tensor *x)
{
    x = dync_silu(conv(x, (conv_of){12, 6, 3, 1, 1, 3}));
    dync_tensor *g = W(1, 12);
    x = dync_group_norm(x, 4, g, W(0.1, 12), 1e-5);
    x = dync_permute(dync_reshape(x, S(-1, 3, 4, 7, 9)), S(0, 2, 1, 3, 4));
    x = conv(dync_reshape(x, S(-1, 12, 7, 9)), (conv_of){8, 12, 3, 2, 1, 4});
    return dync_amax(x, S(2, 3), false);
}
static dync_tensor *pools(dync_tensor *x)
{
    dync_tensor *y = conv(x, (conv_of){3, 3, 1, 1, 0, 1});
    dync_tensor *all[5] = {dync_avg_pool2d(y, S(3, 2), S(2, 2), S(1, 1), true, false),
                           dync_max_pool2d(y, S(3, 3), S(2, 2), S(1, 1), S(1, 1), true),
                           dync_avg_pool2d(y, S(3, 3), S(3, 3), S(1, 1), true, true),
                           dync_adaptive_avg_pool2d(y, S(4, 7)),
                           dync_avg_pool2d(x, S(4, 4), S(3, 3), S(2, 1), true, false)};
    dync_value flat[5];
    for (int i = 0; i < 5; i++) flat[i] = DYNC_V(dync_flatten(all[i], 1, -1));
    return dync_cat(dync_tuple_of(5, flat), 1);
}
static dync_tensor *branches(dync_tensor *x)
{
    dync_tensor *a = dync_relu(conv(x, (conv_of){3, 4, 1, 1, 0, 1}));
    dync_tensor *b = dync_relu(conv(x, (conv_of){3, 4, 3, 1, 1, 1}));
    dync_tensor *c = dync_relu(conv(x, (conv_of){2, 4, 5, 1, 2, 1}));
    dync_tensor *d = dync_max_pool2d(x, S(3, 3), S(1, 1), S(1, 1), S(1, 1), false);
    x = dync_cat(dync_tuple(a, b, c, conv(d, (conv_of){2, 4, 1, 1, 0, 1})), 1);
    x = dync_add(x, conv(x, (conv_of){10, 10, 3, 1, 1, 1}));
    return dync_log_softmax(fc(dync_mean(x, S(2, 3), false), 0.3, 5, 10), 1);
}
static dync_tensor *words(dync_tensor *at)
{
    dync_tensor *x = through(dync_embedding(W(1, 20, 6), at));
    return dync_softmax(fc(dync_amax(x, S(1), false), 0.3, 3, 8), -1);
}
static dync_value four_results(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_tanh(fc(x, 0.3, 6, 5));
    dync_tensor *b = dync_relu(dync_linear(y, W(0.3, 6, 7), NULL)), *m = dync_mul(a, b);
    return dync_tuple(dync_sub(a, b), dync_sum(m, S(1), true), dync_argmax(m, 1, false), m);
}
static dync_tensor *residual(dync_tensor *x)
{
    for (int i = 0; i < 2; i++) {
        dync_tensor *t = conv(x, (conv_of){5, 5, 3, 1, 1, 1});
        dync_tensor *mean = W(0.2, 5), *var = dync_add(dync_abs(W(0.1, 5)), 0.5), *g = W(1, 5);
        t = dync_relu(dync_batch_norm(t, g, W(0.1, 5), mean, var, false, 0.1, 1e-5));
        x = dync_relu(dync_add(x, conv(t, (conv_of){5, 5, 3, 1, 1, 1})));
    }
    return fc(dync_flatten(dync_adaptive_avg_pool2d(x, S(2, 2)), 1, -1), 0.2, 4, 20);
}
static dync_tensor *mixer(dync_tensor *x)
{
    dync_tensor *y = dync_gelu(fc(dync_transpose(norm(x, 8), 1, 2), 0.3, 10, 6));
    x = dync_add(x, dync_transpose(fc(y, 0.3, 6, 10), 1, 2));
    return dync_mean(dync_mul(x, dync_sigmoid(fc(x, 0.3, 8, 8))), S(1), false);
}
static dync_tensor *patches(dync_tensor *x)
{
    x = dync_transpose(dync_flatten(conv(x, (conv_of){8, 1, 4, 4, 0, 1}), 2, -1), 1, 2);
    x = dync_cat(dync_tuple(dync_expand(W(0.5, 1, 1, 8), S(2, 1, 8)), x), 1);
    return fc(dync_select(dync_add(x, W(0.2, 1, 10, 8)), 1, 0), 0.3, 3, 8);
}
static dync_tensor *bilinear(dync_tensor *x)
{
    dync_tensor *y = dync_relu(conv(x, (conv_of){3, 2, 3, 2, 1, 1}));
    y = dync_upsample_bilinear2d(y, S(9, 7), true);
    dync_tensor *z = dync_upsample_bilinear2d(x, S(9, 7), false);
    return dync_instance_norm(dync_cat(dync_tuple(y, z), 1), NULL, NULL, 1e-5);
}
static dync_tensor *excited(dync_tensor *x)
{
    x = dync_hardswish(conv(x, (conv_of){8, 4, 3, 1, 1, 4}));
    dync_tensor *s = dync_relu(conv(dync_mean(x, S(2, 3), true), (conv_of){2, 8, 1, 1, 0, 1}));
    s = dync_hardsigmoid(conv(s, (conv_of){8, 2, 1, 1, 0, 1}));
    return conv(dync_mul(x, s), (conv_of){4, 8, 1, 1, 0, 1});
}

typedef dync_tensor *(*network_fn)(dync_tensor *);
typedef struct {
    const char *name;
    network_fn fn; /* NULL: four_results, of two arguments */
    dync_dims in[2];
    int vocabulary, integers, floats, snr_db; /* layers, as dync_quantize_report tells */
    dync_module *(*recurrent)(void);
} network;
static dync_module *an_lstm(void) { return dync_nn_lstm(6, 8, 1, false); }
static dync_module *a_gru(void) { return dync_nn_gru(6, 4, 2, true); }
static const network networks[] = {
    {"transformer", transformer, {{3, {2, 10, 16}}}, 0, 19, 3, 30, NULL},
    {"attention", attention, {{3, {2, 7, 12}}}, 0, 4, 4, 30, NULL},
    {"conv_lstm", conv_lstm, {{3, {2, 3, 20}}}, 0, 8, 0, 35, an_lstm},
    {"unet", unet, {{4, {1, 1, 12, 12}}}, 0, 13, 0, 35, NULL},
    {"separable", separable, {{4, {2, 3, 13, 17}}}, 0, 6, 0, 30, NULL},
    {"dilated", dilated, {{3, {2, 4, 19}}}, 0, 12, 1, 30, NULL},
    {"transposed", transposed, {{4, {2, 4, 5, 6}}}, 0, 4, 0, 30, NULL},
    {"grouped", grouped, {{4, {2, 6, 7, 9}}}, 0, 4, 1, 30, NULL},
    {"pools", pools, {{4, {2, 3, 10, 9}}}, 0, 12, 0, 30, NULL},
    {"branches", branches, {{4, {2, 4, 9, 7}}}, 0, 10, 1, 35, NULL},
    {"words", words, {{2, {2, 9}}}, 20, 15, 0, 35, a_gru},
    {"four_results", NULL, {{2, {3, 5}}, {2, {3, 7}}}, 0, 7, 0, 30, NULL},
    {"residual", residual, {{4, {2, 5, 8, 8}}}, 0, 9, 0, 35, NULL},
    {"mixer", mixer, {{3, {2, 6, 8}}}, 0, 9, 1, 30, NULL},
    {"patches", patches, {{4, {2, 1, 12, 12}}}, 0, 4, 1, 35, NULL},
    {"bilinear", bilinear, {{4, {2, 2, 9, 7}}}, 0, 1, 3, 30, NULL},
    {"excited", excited, {{4, {2, 4, 6, 5}}}, 0, 8, 0, 30, NULL},
};
enum { NETWORKS = sizeof networks / sizeof *networks };

static const network *current;
static dync_value network_call(const dync_value *x, int n, void *user)
{
    (void)user;
    weights_met = 0;
    return n == 2 ? four_results(dync_as_tensor(x[0]), dync_as_tensor(x[1]))
                  : DYNC_V(current->fn(dync_as_tensor(x[0])));
}

static int network_inputs(const network *net, dync_value *x)
{
    int n = net->fn ? 1 : 2;
    for (int k = 0; k < n; k++) {
        dync_tensor *t = net->vocabulary ? dync_rand(net->in[k]) : dync_randn(net->in[k]);
        if (net->vocabulary) t = dync_to_dtype(dync_mul(t, net->vocabulary - 0.1), DYNC_I64);
        x[k] = DYNC_V(t);
    }
    return n;
}

/* ---- their C, and a main that compares ------------------------------------------------------- */

static void print_numbers(FILE *f, const char *name, int number, dync_tensor *t)
{
    bool whole = dync_type(t) == DYNC_I64;
    dync_tensor *d = dync_contiguous(dync_to_dtype(t, DYNC_F64));
    const double *at = dync_data(d);
    fprintf(f, "    static %s %s%d[] = {", whole ? "int64_t" : "float", name, number);
    for (int64_t i = 0; i < dync_numel(t); i++) fprintf(f, whole ? "%.0f," : "%af,", at[i]);
    fprintf(f, "};\n");
}

/* With these inputs name_run gives these results: check_name counts what differs. tolerance 0:
 * bits. */
static void print_check(FILE *f, const char *name, int n, const dync_value *x, dync_value y,
                        double tolerance)
{
    bool several = y.kind == DYNC_KIND_LIST;
    int results = several ? dync_len(y) : 1;
    fprintf(f, "#include \"%s.h\"\nstatic int check_%s(void)\n{\n    int bad = 0;\n", name, name);
    for (int k = 0; k < n; k++) print_numbers(f, "x", k, dync_as_tensor(x[k]));
    for (int k = 0; k < results; k++) {
        dync_tensor *t = dync_as_tensor(several ? dync_at(y, k) : y);
        print_numbers(f, "want", k, t);
        fprintf(f, "    static %s got%d[sizeof want%d / sizeof *want%d];\n",
                dync_type(t) == DYNC_I64 ? "int64_t" : "float", k, k, k);
    }
    fprintf(f, "    %s_run(", name);
    for (int k = 0; k < n; k++) fprintf(f, "(void *)x%d, ", k);
    for (int k = 0; k < results; k++) fprintf(f, "%s(void *)got%d", k ? ", " : "", k);
    fprintf(f, ");\n");
    for (int k = 0; k < results; k++)
        fprintf(f,
                "    for (unsigned i = 0; i < sizeof got%d / sizeof *got%d; i++)\n"
                "        bad += !(fabs((double)got%d[i] - (double)want%d[i]) <= %g);\n",
                k, k, k, k, tolerance);
    fprintf(f, "    return bad;\n}\n");
}

/* The largest magnitude of the results. */
static double largest(dync_value y)
{
    double most = 0;
    for (int k = 0; k < (y.kind == DYNC_KIND_LIST ? dync_len(y) : 1); k++) {
        dync_tensor *t = dync_as_tensor(y.kind == DYNC_KIND_LIST ? dync_at(y, k) : y);
        t = dync_amax(dync_abs(dync_to_dtype(dync_reshape(t, S(-1)), DYNC_F64)), S(0), false);
        most = fmax(most, dync_item(t));
    }
    return most;
}

/* Files of both forms of the network, and their checks in the main. *r: of the second. False:
 * dync_error tells. */
static bool write_network(const char *folder, FILE *f, const network *net, dync_quantize_report *r)
{
    dync_value x[2], data[6], want;
    char path[512], name[64];
    int n = 0;
    memset(weight_of, 0, sizeof weight_of);
    recurrent = net->recurrent ? net->recurrent() : NULL;
    for (int b = 5; b >= 0; b--) {
        n = network_inputs(net, x);
        data[b] = n == 1 ? x[0] : dync_tuple_of(n, x);
    }
    current = net;
    want = network_call(x, n, NULL);
    dync_program *of[2] = {dync_export_values(DYNC_FN(network_call), net->name, n, x), NULL};
    if (of[0])
        of[1] = dync_quantize_program(of[0], dync_tuple_of(6, data),
                                      &(dync_quantize_options){.report = r});
    bool good = of[0] && of[1];
    for (int k = 0; good && k < 2; k++) {
        snprintf(name, sizeof name, "%s%s", net->name, k ? "_int8" : "");
        snprintf(path, sizeof path, "%s/%s.c", folder, name);
        dync_value y = k ? dync_program_run(of[1], n, x) : want;
        double tolerance = k && r->float_layers == 0 ? 0 : 1e-5 * (1 + largest(want));
        good = dync_program_save_c(of[k], path) == DYNC_OK;
        if (good) print_check(f, name, n, x, y, tolerance);
    }
    for (int k = 0; k < 2; k++) dync_program_free(of[k]);
    dync_module_free(recurrent);
    return good;
}

/* All of them, and main.c, which fails where one differs. reports: of the 8-bit forms. The number
 * that was written: fewer than NETWORKS where dync_error tells. */
static inline int write_networks(const char *folder, dync_quantize_report *reports)
{
    char path[512];
    snprintf(path, sizeof path, "%s/main.c", folder);
    FILE *f = fopen(path, "w");
    int n = 0;
    bool good = f != NULL;
    if (!f) return 0;
    fprintf(f, "#include <math.h>\n#include <stdint.h>\n"
               "#ifdef BOARD\n#include \"board.h\"\n#else\n#include <stdio.h>\n"
               "static void board_print(const char *text) { fputs(text, stdout); }\n#endif\n");
    dync_set_grad_enabled(false);
    for (; good && n < NETWORKS; n += good) DYNC_SCOPE {
        dync_manual_seed(7 + (uint64_t)n);
        good = write_network(folder, f, &networks[n], &reports[n]);
    }
    fprintf(f, "int main(void)\n{\n    int bad = 0;\n");
    for (int i = 0; i < 2 * n; i++) {
        const char *name = networks[i / 2].name, *end = i % 2 ? "_int8" : "";
        fprintf(f, "    if (check_%s%s()) bad++, board_print(\"%s%s differs\\n\");\n", name, end,
                name, end);
    }
    fprintf(f,
            "    if (!bad) board_print(\"%d exported networks: same\\n\");\n    return bad;\n}\n",
            2 * n);
    fclose(f);
    return n;
}
#endif
