/* Programs in I8: every layer against the float program; sums, biases and ends of layers against
 * integers computed here by the papers' formulas; compiled, interpreted, saved and exported to C,
 * all to the bit. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include <math.h>
#include <sys/stat.h>

enum { BATCHES = 24 };

/* ---- models: of x [N, C, H, W], [N, C, L] or [N, K] ------------------------------------------ */
static dync_tensor *weight[12], *bias[12], *table, *numbers;

static dync_tensor *fc(dync_tensor *x, int i) { return dync_linear(x, weight[i], bias[i]); }
static dync_tensor *conv(dync_tensor *x, int i, int stride, int pad, int groups)
{
    return dync_conv2d(x, weight[i], bias[i], dync_shape(stride, stride), dync_shape(pad, pad),
                       dync_shape(1, 1), groups);
}
static dync_tensor *mlp(dync_tensor *x) { return fc(dync_relu(fc(x, 0)), 1); }
static dync_tensor *no_bias(dync_tensor *x)
{
    return dync_matmul(dync_relu(dync_mm(x, dync_t(weight[0]))), numbers);
}
static dync_tensor *with_bias(dync_tensor *x) { return dync_addmm(bias[1], fc(x, 0), numbers); }
static dync_tensor *three_dims(dync_tensor *x)
{
    return dync_linear(dync_reshape(fc(x, 0), dync_shape(2, -1, 16)), weight[1], NULL);
}
static dync_tensor *cnn(dync_tensor *x)
{
    dync_tensor *y = conv(x, 2, 2, 1, 1);
    y = dync_batch_norm(y, bias[6], bias[7], bias[8], bias[9], false, 0.1, 1e-5);
    y = dync_max_pool2d(dync_relu(y), dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0),
                        dync_shape(1, 1), false);
    return fc(dync_flatten(y, 1, -1), 3);
}
static dync_tensor *separable(dync_tensor *x)
{
    dync_tensor *y = dync_relu6(conv(x, 4, 1, 1, 2));
    y = dync_add(conv(y, 5, 1, 0, 1), x);
    return dync_mean(dync_hardtanh(y, -0.75, 0.75), dync_shape(2, 3), false);
}
static dync_tensor *line(dync_tensor *x)
{
    dync_tensor *y =
        dync_conv1d(x, weight[6], bias[2], dync_shape(2), dync_shape(3), dync_shape(1), 1);
    y = dync_avg_pool2d(dync_relu(y), dync_shape(1, 2), dync_shape(1, 2), dync_shape(0, 0), false,
                        true);
    return dync_amax(y, dync_shape(2), false);
}
static dync_tensor *gates(dync_tensor *x)
{
    dync_tensor *a = dync_sigmoid(fc(x, 0)), *b = dync_tanh(fc(x, 0));
    return dync_sub(dync_mul(a, b), dync_gelu(dync_mul(b, 2)));
}
static dync_tensor *chances(dync_tensor *x) { return dync_softmax(mlp(x), 1); }
static dync_tensor *joined(dync_tensor *x)
{
    dync_tensor *y =
        dync_cat(dync_tuple(conv(x, 2, 1, 1, 1), dync_relu(conv(x, 4, 1, 1, 2)), x), 1);
    return dync_adaptive_avg_pool2d(dync_upsample_nearest2d(y, dync_shape(12, 12)),
                                    dync_shape(3, 2));
}
static dync_tensor *padded_means(dync_tensor *x)
{
    dync_tensor *y = conv(x, 2, 1, 0, 1);
    return dync_avg_pool2d(y, dync_shape(3, 3), dync_shape(2, 2), dync_shape(1, 1), false, true);
}
/* ceil_mode: the windows of the first pool are what they are without it, one of the second reaches
 * beyond the picture and counts less. */
static dync_tensor *ceiled(dync_tensor *x)
{
    dync_tensor *y = conv(x, 2, 1, 1, 1);
    y = dync_avg_pool2d(y, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0), true, true);
    return dync_avg_pool2d(y, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0), true, true);
}
static dync_tensor *uncounted(dync_tensor *x)
{
    dync_tensor *y = conv(x, 2, 1, 0, 1);
    y = dync_avg_pool2d(y, dync_shape(2, 3), dync_shape(1, 2), dync_shape(1, 1), true, false);
    return dync_adaptive_avg_pool2d(y, dync_shape(4, 2));
}
static dync_tensor *enlarged(dync_tensor *x)
{
    dync_tensor *y = dync_conv_transpose2d(x, weight[7], bias[5], dync_shape(2, 1),
                                           dync_shape(1, 0), dync_shape(1, 0), 2, dync_shape(1, 2));
    y = dync_batch_norm(y, bias[10], bias[5], bias[5], bias[10], false, 0.1, 1e-5);
    y = dync_pad(dync_relu(y), dync_shape(1, 0, 0, 2), DYNC_V(0));
    return dync_sum(y, dync_shape(3), false);
}
static dync_tensor *words(dync_tensor *at)
{
    return fc(dync_mean(dync_embedding(table, at), dync_shape(1), false), 0);
}
static dync_tensor *island(dync_tensor *x)
{
    return fc(dync_layer_norm(fc(x, 0), dync_shape(16), NULL, NULL, 1e-5), 1);
}

/* What is written in place is what later readers see, and nobody before. */
static dync_tensor *in_place(dync_tensor *x)
{
    dync_tensor *y = fc(x, 0), *early = dync_mul(y, 2);
    dync_relu_(y);
    dync_add_(y, early);
    return fc(y, 1);
}
static dync_tensor *in_place_through_a_view(dync_tensor *x)
{
    dync_tensor *y = fc(x, 0), *early = dync_mul(y, 2);
    dync_relu_(dync_narrow(y, 1, 0, 8));
    dync_add_(y, early);
    return fc(y, 1);
}

typedef dync_tensor *(*model_fn)(dync_tensor *);
static const struct model {
    const char *name;
    model_fn fn;
    int rank, layers, floats;
    double snr_db, agreement;
} models[] = {
    {"mlp", mlp, 2, 2, 0, 30, 0.9},
    {"no_bias", no_bias, 2, 2, 0, 30, 0.9},
    {"with_bias", with_bias, 2, 2, 0, 30, 0.9},
    {"three_dims", three_dims, 2, 3, 0, 30, 0.9},
    {"cnn", cnn, 4, 4, 0, 30, 0.9},
    {"separable", separable, 4, 4, 0, 28, 0.9},
    {"line", line, 3, 3, 0, 30, 0.9},
    {"gates", gates, 2, 8, 0, 28, 0.7},
    {"chances", chances, 2, 3, 0, 20, 0.9},
    {"joined", joined, 4, 5, 0, 30, 0.9},
    {"padded_means", padded_means, 4, 2, 0, 30, 0.9},
    {"ceiled", ceiled, 4, 3, 0, 30, 0.9},
    {"uncounted", uncounted, 4, 3, 0, 30, 0.9},
    {"enlarged", enlarged, 4, 3, 0, 30, 0.9},
    {"words", words, 1, 3, 0, 30, 0.9},
    {"in_place", in_place, 2, 5, 0, 30, 0.9},
    {"island", island, 2, 2, 1, 28, 0.9},
};
enum { MODELS = sizeof models / sizeof *models };

static dync_tensor *scaled(dync_dims shape, double by) { return dync_mul(dync_randn(shape), by); }

static void weights(void)
{
    dync_manual_seed(7);
    weight[0] = scaled(dync_shape(16, 12), 0.3), bias[0] = scaled(dync_shape(16), 0.3);
    weight[1] = scaled(dync_shape(5, 16), 0.3), bias[1] = scaled(dync_shape(5), 0.3);
    weight[2] = scaled(dync_shape(6, 2, 3, 3), 0.3), bias[2] = scaled(dync_shape(6), 0.3);
    weight[3] = scaled(dync_shape(4, 6), 0.3), bias[3] = scaled(dync_shape(4), 0.3);
    weight[4] = scaled(dync_shape(4, 1, 3, 3), 0.4), bias[4] = scaled(dync_shape(4), 0.4);
    weight[5] = scaled(dync_shape(2, 4, 1, 1), 0.4), bias[5] = scaled(dync_shape(2), 0.4);
    weight[6] = scaled(dync_shape(6, 2, 5), 0.3);
    bias[6] = dync_add(dync_rand(dync_shape(6)), 0.5), bias[7] = scaled(dync_shape(6), 0.2);
    bias[8] = scaled(dync_shape(6), 0.2), bias[9] = dync_add(dync_rand(dync_shape(6)), 0.5);
    weight[7] = scaled(dync_shape(2, 1, 3, 3), 0.4),
    bias[10] = dync_add(dync_rand(dync_shape(2)), 1);
    table = scaled(dync_shape(20, 12), 1);
    numbers = dync_contiguous(dync_t(weight[1]));
}

static dync_tensor *input(int rank)
{
    switch (rank) {
    case 1: return dync_to_dtype(dync_mul(dync_rand(dync_shape(4, 7)), 19.99), DYNC_I64);
    case 2: return dync_randn(dync_shape(4, 12));
    case 3: return dync_randn(dync_shape(2, 2, 20));
    default: return dync_randn(dync_shape(2, 2, 6, 6));
    }
}

static dync_value calibration(int rank)
{
    dync_value b[BATCHES];
    for (int i = 0; i < BATCHES; i++) b[i] = DYNC_V(input(rank));
    return dync_tuple_of(BATCHES, b);
}

static dync_program *quantized(const struct model *m, bool float_scale, dync_quantize_report *r)
{
    dync_value x = DYNC_V(input(m->rank));
    dync_program *p = dync_export_values(DYNC_FN(m->fn), m->name, 1, &x);
    if (!EXPECT(p != NULL)) return NULL;
    dync_program *q = dync_quantize_program(
        p, calibration(m->rank), &(dync_quantize_options){.float_scale = float_scale, .report = r});
    dync_program_free(p);
    return q;
}

static void check_report(const struct model *m, const dync_quantize_report *r)
{
    bool good = r->layers == m->layers && r->float_layers == m->floats && r->snr_db >= m->snr_db &&
                r->agreement >= m->agreement;
    if (!good)
        printf("    %s: %d layers, %d in floats (%s), %g dB, agreement %g\n", m->name, r->layers,
               r->float_layers, r->kept_float, r->snr_db, r->agreement);
    EXPECT(good);
}

TEST(every_layer)
{
    weights();
    for (int i = 0; i < MODELS; i++)
        for (int k = 0; k < 2; k++) DYNC_SCOPE {
            dync_quantize_report r;
            dync_program *q = quantized(&models[i], k, &r);
            if (!EXPECT(q != NULL)) continue;
            check_report(&models[i], &r);
            dync_program_free(q);
        }
}

TEST(parts_written_in_place)
{
    static const struct model m = {
        "in_place_through_a_view", in_place_through_a_view, 2, 6, 1, 30, 0.9};
    dync_quantize_report r;
    weights();
    dync_program *q = quantized(&m, false, &r);
    REQUIRE(q != NULL);
    check_report(&m, &r);
    dync_value x = DYNC_V(input(2));
    EXPECT(dync_equal(dync_as_tensor(dync_program_run(q, 1, &x)),
                      dync_as_tensor(dync_graph_run(dync_program_graph(q), &x, 1))));
    dync_program_free(q);
}

/* Compiled, interpreted, from its file: the same bits. */
TEST(every_way_of_running)
{
    weights();
    for (int i = 0; i < MODELS; i++)
        for (int k = 0; k < 2; k++) DYNC_SCOPE {
            dync_program *q = quantized(&models[i], k, NULL);
            REQUIRE(q != NULL);
            EXPECT_OK(dync_program_save(q, "build/quantized.dync"));
            dync_program *again = dync_program_load("build/quantized.dync");
            REQUIRE(again != NULL);
            dync_value x = DYNC_V(dync_mul(input(models[i].rank), models[i].rank == 1 ? 1 : 3));
            dync_tensor *compiled = dync_as_tensor(dync_program_run(q, 1, &x)),
                        *plain = dync_as_tensor(dync_graph_run(dync_program_graph(q), &x, 1)),
                        *loaded = dync_as_tensor(dync_program_run(again, 1, &x));
            EXPECT(dync_equal(compiled, plain));
            EXPECT(dync_equal(compiled, loaded));
            dync_program_free(q);
            dync_program_free(again);
        }
    remove("build/quantized.dync");
}

/* ---- C source -------------------------------------------------------------------------------- */

static char folder[128];
static FILE *open_file(const char *name, const char *mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, mode);
}

/* A main that calls every model with the same numbers and prints all bits of the results. */
static void write_main(dync_tensor *const *x, const int *out)
{
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include <stdio.h>\n#include <stdint.h>\n");
    for (int i = 0; i < MODELS; i++) fprintf(f, "#include \"%s.h\"\n", models[i].name);
    fprintf(f, "static float out[4096];\n");
    for (int i = 0; i < MODELS; i++) {
        bool whole = models[i].rank == 1;
        fprintf(f, "static %s x%d[] = {", whole ? "int64_t" : "float", i);
        for (int64_t k = 0; k < dync_numel(x[i]); k++)
            fprintf(f, "%s%a", k ? ", " : "",
                    whole ? (double)((int64_t *)dync_data(x[i]))[k]
                          : (double)((float *)dync_data(x[i]))[k]);
        fprintf(f, "};\n");
    }
    fprintf(f, "int main(void)\n{\n");
    for (int i = 0; i < MODELS; i++)
        fprintf(f,
                "    %s_int8_run((void *)x%d, (void *)out);\n"
                "    for (int i = 0; i < %d; i++) printf(\"%%a \", (double)out[i]);\n",
                models[i].name, i, out[i]);
    fprintf(f, "    return 0;\n}\n");
    fclose(f);
}

static void compare_output(dync_tensor *const *want)
{
    FILE *f = open_file("out.txt", "r");
    REQUIRE(f != NULL);
    for (int i = 0; i < MODELS; i++) {
        int bad = 0;
        const float *at = dync_data(want[i]);
        for (int64_t k = 0; k < dync_numel(want[i]); k++) {
            float got = NAN;
            bad += fscanf(f, "%f", &got) != 1 || got != at[k];
        }
        if (bad) printf("    %s: %d values\n", models[i].name, bad);
        EXPECT_EQ_INT(bad, 0);
    }
    fclose(f);
}

TEST(c_source_to_the_bit)
{
    static const char *const flags[] = {
        "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all", "-std=c11 -O3"};
    static dync_tensor *x[MODELS], *want[MODELS];
    static int n[MODELS];
    const char *cc = getenv("CC"), *dir = getenv("TMPDIR");
    weights();
    snprintf(folder, sizeof folder, "%s/dync_quantized_%d", dir ? dir : "/tmp", (int)getpid());
    mkdir(folder, 0700);
    for (int i = 0; i < MODELS; i++) {
        char path[256];
        dync_program *q = quantized(&models[i], false, NULL);
        REQUIRE(q != NULL);
        x[i] = input(models[i].rank);
        dync_value arg = DYNC_V(x[i]);
        want[i] = dync_contiguous(dync_as_tensor(dync_program_run(q, 1, &arg)));
        n[i] = (int)dync_numel(want[i]);
        snprintf(path, sizeof path, "%s/%s.c", folder, models[i].name);
        EXPECT_OK(dync_program_save_c(q, path));
        dync_program_free(q);
    }
    write_main(x, n);
    for (int i = 0; i < 2; i++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "cd %s && %s %s -ffp-contract=off -pedantic -Wall -Wextra -Werror *.c -lm -o run "
                 "&& ./run > out.txt",
                 folder, cc ? cc : "cc", flags[i]);
        EXPECT_EQ_INT(system(command), 0);
        compare_output(want);
    }
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", folder);
    EXPECT_EQ_INT(system(command), 0);
}

/* ---- integers by the formulas ---------------------------------------------------------------- */

/* Ranges are those of all calibration data: the reference is given the same data. */
typedef struct {
    float low, high;
    double scale;
    int zero;
} params;
static params params_of(const float *x, int n)
{
    params p = {0};
    for (int i = 0; i < n; i++) {
        p.low = x[i] < p.low ? x[i] : p.low;
        p.high = x[i] > p.high ? x[i] : p.high;
    }
    p.scale = ((double)p.high - (double)p.low) / 255;
    p.zero = (int)lrint(-128 - (double)p.low / p.scale);
    return p;
}
static int clamp8(long long v) { return v < -128 ? -128 : v > 127 ? 127 : (int)v; }
/* TFLite: round(m 2^31) times the sum, by a rounded shift of 31 - e bits, factor = m 2^e. */
static long long scaled_sum(long long sum, double factor)
{
    int e;
    long long m = llrint(frexp(factor, &e) * 2147483648.0);
    if (m == 2147483648ll) m /= 2, e++;
    int shift = 31 - e;
    long long v = sum * m + (1ll << (shift - 1));
    return v >= 0 ? v >> shift : -((-v + (1ll << shift) - 1) >> shift);
}

enum { IMAGES = 3, IN = 3, OUT = 4, SIDE = 7, WINDOW = 3 };
static int conv_stride, conv_pad, conv_groups;
static dync_tensor *filter, *offset;
static dync_tensor *rectified(dync_tensor *x)
{
    return dync_relu(dync_conv2d(x, filter, offset, dync_shape(conv_stride, conv_stride),
                                 dync_shape(conv_pad, conv_pad), dync_shape(1, 1), conv_groups));
}

/* One output of the quantized convolution, from the float weights and the input on. */
static double expected_place(const float *x, const float *w, double b, const params *in,
                             const params *out, int o, int i, int j)
{
    int per = IN / conv_groups, first = o / (OUT / conv_groups) * per;
    double most = 0;
    for (int k = 0; k < per * WINDOW * WINDOW; k++) most = fmax(most, fabs((double)w[k]));
    double sw = most / 127;
    long long sum = llrint(b / (in->scale * sw));
    for (int c = 0; c < per; c++)
        for (int u = 0; u < WINDOW; u++)
            for (int v = 0; v < WINDOW; v++) {
                int p = i * conv_stride - conv_pad + u, q = j * conv_stride - conv_pad + v;
                if (p < 0 || q < 0 || p >= SIDE || q >= SIDE) continue; /* the real 0 */
                float at = x[((first + c) * SIDE + p) * SIDE + q];
                /* as the program divides: in floats */
                int qx = clamp8(lrint((double)rintf(at / (float)in->scale)) + in->zero);
                sum += (long long)(qx - in->zero) *
                       lrint((double)w[(c * WINDOW + u) * WINDOW + v] / sw);
            }
    int y = clamp8(scaled_sum(sum, in->scale * sw / out->scale) + out->zero);
    return (double)((float)(y - out->zero) * (float)out->scale);
}

static void check_conv(int stride, int pad, int groups)
{
    conv_stride = stride, conv_pad = pad, conv_groups = groups;
    filter = scaled(dync_shape(groups == 3 ? 6 : OUT, IN / groups, WINDOW, WINDOW), 0.4);
    if (groups == 3) filter = dync_narrow(filter, 0, 0, 3);
    filter = dync_contiguous(filter);
    int outs = (int)dync_size(filter, 0);
    offset = scaled(dync_shape(outs), 0.5);
    dync_tensor *x = dync_randn(dync_shape(IMAGES, IN, SIDE, SIDE)), *y = rectified(x);
    dync_program *p = dync_export(rectified, x), *q = dync_quantize_program(p, dync_tuple(x), NULL);
    REQUIRE(q != NULL);
    params in = params_of(dync_data(x), (int)dync_numel(x)),
           out = params_of(dync_data(dync_contiguous(y)), (int)dync_numel(y));
    dync_value arg = DYNC_V(x);
    dync_tensor *got = dync_contiguous(dync_as_tensor(dync_program_run(q, 1, &arg)));
    const float *at = dync_data(got), *w = dync_data(filter), *b = dync_data(offset);
    int side = (int)dync_size(got, 2), bad = 0, per = IN / groups * WINDOW * WINDOW;
    for (int n = 0; n < IMAGES; n++)
        for (int o = 0; o < outs; o++)
            for (int k = 0; k < side * side; k++) {
                const float *image = (float *)dync_data(x) + n * IN * SIDE * SIDE;
                int first = groups == 3 ? o * (OUT / groups) : o; /* one channel a group */
                double want = expected_place(image, w + o * per, (double)b[o], &in, &out, first,
                                             k / side, k % side);
                bad += fabs(want - (double)at[(n * outs + o) * side * side + k]) > 1e-6;
            }
    EXPECT_EQ_INT(bad, 0);
    dync_program_free(p);
    dync_program_free(q);
}

TEST(convolutions_by_the_formulas)
{
    dync_manual_seed(11);
    for (int stride = 1; stride < 3; stride++)
        for (int pad = 0; pad < 3; pad++) {
            DYNC_SCOPE check_conv(stride, pad, 1);
            DYNC_SCOPE check_conv(stride, pad, 3);
        }
}

/* The largest products, in as many places as f32 can sum exactly, one more, and many more. */
TEST(sums_of_bytes_are_exact)
{
    static const int places[] = {1, 1023, 1024, 1025, 4096, 70000};
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        int k = places[i];
        dync_tensor *x = dync_to_dtype(dync_mul(dync_rand(dync_shape(3, k)), -128.99), DYNC_I8),
                    *w = dync_full(dync_shape(2, k), -128, .dtype = DYNC_I8);
        dync_tensor *y = dync_int_conv2d(dync_reshape(x, dync_shape(3, k, 1, 1)),
                                         dync_reshape(w, dync_shape(2, k, 1, 1)), NULL,
                                         dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1);
        y = dync_contiguous(y);
        const int8_t *at = dync_data(x);
        const int32_t *got = dync_data(y);
        for (int n = 0; n < 3; n++) {
            int64_t sum = 0;
            for (int c = 0; c < k; c++) sum += at[n * k + c] * -128;
            EXPECT_EQ_INT(got[2 * n], sum);
            EXPECT_EQ_INT(got[2 * n + 1], sum);
        }
    }
}

/* ---- options and mistakes -------------------------------------------------------------------- */

/* One value of 1000 outside, which min-max spends its steps on. */
TEST(percentile_leaves_outliers_out)
{
    weights();
    dync_value b[BATCHES], rest[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        float x[48];
        for (int k = 0; k < 48; k++) x[k] = (float)test_random_real(-1, 1);
        rest[i] = DYNC_V(dync_from(x, dync_shape(4, 12)));
        if (i == 3) x[5] = 400;
        b[i] = DYNC_V(dync_from(x, dync_shape(4, 12)));
    }
    dync_program *p = dync_export(mlp, dync_randn(dync_shape(4, 12)));
    dync_quantize_options all = {0}, most = {.percentile = 97};
    dync_program *wide = dync_quantize_program(p, dync_tuple_of(BATCHES, b), &all),
                 *narrow = dync_quantize_program(p, dync_tuple_of(BATCHES, b), &most);
    REQUIRE(wide && narrow);
    double off[2] = {0, 0};
    for (int i = 0; i < BATCHES; i++) {
        dync_tensor *want = dync_as_tensor(dync_program_run(p, 1, &rest[i]));
        for (int k = 0; k < 2; k++) {
            dync_tensor *got = dync_as_tensor(dync_program_run(k ? narrow : wide, 1, &rest[i]));
            off[k] += dync_item(dync_sum(dync_abs(dync_sub(want, got)), DYNC_ALL, false));
        }
    }
    if (!EXPECT(off[1] < off[0] / 4)) printf("    %g, %g\n", off[0], off[1]);
    dync_program_free(p), dync_program_free(wide), dync_program_free(narrow);
}

static dync_tensor *only_one(dync_tensor *x) { return fc(x, 1); }

/* What 8 bits give of one row of this weight, all of one value, and bias: its mean, over inputs
 * whose step is much larger than the bias. */
static double mean_of_row(float w, float b, bool float_scale, dync_quantize_report *r)
{
    float row[2][12], offset_of[2] = {b, 0.25f};
    for (int i = 0; i < 12; i++) row[0][i] = w, row[1][i] = 0.5f;
    weight[0] = dync_from(row, dync_shape(2, 12));
    bias[0] = dync_from(offset_of, dync_shape(2));
    weight[1] = dync_from(row[0], dync_shape(1, 12));
    bias[1] = dync_from(&b, dync_shape(1));
    dync_tensor *x = scaled(dync_shape(16, 12), 40);
    dync_quantize_options o = {.float_scale = float_scale, .report = r};
    dync_program *p = dync_export(only_one, x), *q = dync_quantize_program(p, dync_tuple(x), &o);
    dync_value in = DYNC_V(x);
    double mean =
        q ? dync_item(dync_mean(dync_as_tensor(dync_program_run(q, 1, &in)), DYNC_ALL, false)) : -1;
    dync_program_free(p), dync_program_free(q);
    return mean;
}

/* Weights that were pruned, or are so small that the bias alone counts: it keeps its value. */
TEST(biases_of_dead_channels)
{
    static const float w[] = {0, 1e-12f, 1e-30f, -1e-9f}, b[] = {0.03f, 1, -4, 100};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 8; k++) {
            dync_quantize_report r;
            double got = mean_of_row(w[i], b[k & 3], k > 3, &r);
            if (!EXPECT(fabs(got - (double)b[k & 3]) <= 0.004 * fabs((double)b[k & 3])))
                printf("    weights %g, bias %g: %g\n", (double)w[i], (double)b[k & 3], got);
            if (i == 0) EXPECT_HAS_STR(r.constant, "weights of channel 0 of linear are 0");
        }
}

/* Inputs, values and channels that calibration data never change are named. */
TEST(constants_are_named)
{
    weights();
    float x[96];
    for (int i = 0; i < 96; i++) x[i] = (float)test_random_real(-1, 1);
    dync_value b[2];
    for (int i = 0; i < 2; i++) b[i] = DYNC_V(dync_from(x + 48 * i, dync_shape(4, 12)));
    dync_quantize_report r;
    dync_quantize_options o = {.report = &r};
    dync_program *p = dync_export(mlp, dync_randn(dync_shape(4, 12)));
    dync_program *q = dync_quantize_program(p, dync_tuple_of(2, b), &o);
    EXPECT(q && r.constants == 0 && !*r.constant);
    dync_program_free(q);
    for (int i = 0; i < 8; i++) x[12 * i + 3] = 0.5f, x[12 * i + 11] = -2;
    x[95] = 1; /* the last value of all: this channel changes */
    for (int i = 0; i < 2; i++) b[i] = DYNC_V(dync_from(x + 48 * i, dync_shape(4, 12)));
    q = dync_quantize_program(p, dync_tuple_of(2, b), &o);
    EXPECT(q && r.constants == 1);
    EXPECT_HAS_STR(r.constant, "arg0[:, 3] is always 0.5");
    dync_program_free(q);
    for (int i = 0; i < 2; i++) b[i] = DYNC_V(dync_full(dync_shape(4, 12), 0.75));
    q = dync_quantize_program(p, dync_tuple_of(2, b), &o);
    EXPECT(q != NULL);
    EXPECT_HAS_STR(r.constant, "arg0 is always 0.75");
    dync_program_free(q), dync_program_free(p);
}

static void expect_error(dync_program *q, dync_status status, const char *text)
{
    EXPECT(q == NULL);
    EXPECT_STATUS(dync_error(), status);
    EXPECT_HAS_STR(dync_error_message(), text);
    dync_clear_error();
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static dync_tensor *gone(dync_tensor *x) { return fc(dync_div(x, 0), 0); }
static dync_tensor *roots(dync_tensor *x) { return fc(dync_sqrt(x), 0); }

TEST(mistakes)
{
    weights();
    dync_on_error(quiet, NULL);
    dync_tensor *x = input(2);
    dync_program *p = dync_export(mlp, x), *r = dync_export(roots, x);
    dync_value good = dync_tuple(x, x);
    expect_error(dync_quantize_program(NULL, good, NULL), DYNC_ERR_VALUE, "dync_quantize_program");
    expect_error(dync_quantize_program(p, DYNC_NONE, NULL), DYNC_ERR_VALUE, "list of batches");
    expect_error(dync_quantize_program(p, DYNC_V(x), NULL), DYNC_ERR_VALUE, "got a tensor");
    expect_error(dync_quantize_program(p, dync_tuple_of(0, NULL), NULL), DYNC_ERR_VALUE, "empty");
    expect_error(dync_quantize_program(p, dync_tuple(x, dync_randn(dync_shape(4, 11))), NULL),
                 DYNC_ERR_SHAPE, "batch 1: ");
    expect_error(dync_quantize_program(p, dync_tuple(dync_tuple(x, x)), NULL), DYNC_ERR_VALUE,
                 "batch 0: ");
    expect_error(dync_quantize_program(p, dync_tuple(dync_to_dtype(x, DYNC_F64)), NULL),
                 DYNC_ERR_DTYPE, "batch 0: ");
    dync_program *named = dync_export(dync_args(mlp, "frame"), x);
    expect_error(dync_quantize_program(named, dync_tuple(dync_randn(dync_shape(4, 11))), NULL),
                 DYNC_ERR_SHAPE, "batch 0: program mlp: argument frame is f32[4, 11]");
    dync_program_free(named);
    dync_quantize_options low = {.percentile = 30};
    expect_error(dync_quantize_program(p, good, &low), DYNC_ERR_VALUE, "percentile 30");
    expect_error(dync_quantize_program(r, good, NULL), DYNC_ERR_VALUE, "gives NaN");
    dync_program *g = dync_export(gone, x);
    expect_error(dync_quantize_program(g, good, NULL), DYNC_ERR_VALUE, "gives infinity");
    float bad[48] = {0};
    bad[7] = NAN;
    expect_error(dync_quantize_program(p, dync_tuple(x, dync_from(bad, dync_shape(4, 12))), NULL),
                 DYNC_ERR_VALUE, "batch 1: arg0 holds NaN");
    weights();
    dync_fill_(dync_select(weight[0], 0, 2), NAN);
    dync_program *n = dync_export(mlp, x);
    expect_error(dync_quantize_program(n, good, NULL), DYNC_ERR_VALUE, "gives NaN");
    dync_program_free(g), dync_program_free(n);
    dync_tensor *open = input(2);
    dync_mark_dynamic(open, 0);
    dync_program *s = dync_export(mlp, open);
    expect_error(dync_quantize_program(s, good, NULL), DYNC_ERR_UNSUPPORTED, "symbolic sizes");
    dync_program_free(p), dync_program_free(r), dync_program_free(s);
}
TEST_MAIN
