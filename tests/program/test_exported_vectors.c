/* Products and convolutions as exported C has them in vectors (program/csource_vectors.c) beside
 * the plain loops of the same files: the same bits whatever DYNC_VECTOR is. Random layers
 * (layers.h). */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "exported.h"
#include "layers.h"

static const int widths[] = {0, 4, 8, 16};
enum { WIDTHS = sizeof widths / sizeof widths[0], MOST_OUT = 2 };

/* All layers of a width: their functions have its number behind their names. */
static void write_unit(int count, int width)
{
    char name[32];
    snprintf(name, sizeof name, "unit%d.c", width);
    FILE *f = open_file(name, "w");
    if (!EXPECT(f != NULL)) return;
    for (int i = 0; i < count; i++)
        fprintf(f,
                "#define layer%d_run layer%d_run_%d\n#define layer%d_run_in layer%d_run_in_%d\n"
                "#include \"layer%d.c\"\n",
                i, i, width, i, i, width, i);
    fclose(f);
}

/* What main does with layer i: its input, then a run of each width. */
static void write_check(FILE *f, int i, dync_tensor *x, dync_value out)
{
    int outs = out.kind == DYNC_KIND_TENSOR ? 1 : MOST_OUT;
    for (int w = 0; w < WIDTHS; w++)
        fprintf(f, "void layer%d_run_%d(const void *, void *%s);\n", i, widths[w],
                outs > 1 ? ", void *" : "");
    fprintf(f, "static void check%d(void)\n{\n    static float x[%d];\n    fill(x, %d);\n", i,
            (int)dync_numel(x), (int)dync_numel(x));
    for (int k = 0; k < outs; k++)
        fprintf(f, "    static double y%d[%d][%d];\n", k, WIDTHS,
                (int)dync_numel(dync_as_tensor(outs > 1 ? dync_at(out, k) : out)) + 1);
    for (int w = 0; w < WIDTHS; w++)
        fprintf(f, "    layer%d_run_%d(x, y0[%d]%s);\n", i, widths[w], w,
                outs > 1 ? (const char *[]){", y1[0]", ", y1[1]", ", y1[2]", ", y1[3]"}[w] : "");
    for (int k = 0; k < outs; k++)
        fprintf(f,
                "    for (int w = 1; w < %d; w++)\n        if (memcmp(y%d[0], y%d[w], sizeof "
                "y%d[0])) bad = 1, printf(\"layer%d, number %%d of the widths\\n\", w);\n",
                WIDTHS, k, k, k, i);
    fprintf(f, "}\n");
}

static bool write_layers(int count)
{
    char name[32];
    bool all = true;
    FILE *f = open_file("main.c", "w");
    if (!EXPECT(f != NULL)) return false;
    fprintf(f, "#include <stdio.h>\n#include <string.h>\nstatic int bad;\n"
               "static void fill(float *to, int n)\n{\n    static unsigned seed = 1;\n"
               "    for (int i = 0; i < n; i++) {\n        seed = seed * 1664525u + 1013904223u;\n"
               "        to[i] = (float)(seed >> 8) / 4194304 - 2;\n    }\n}\n");
    for (int i = 0; i < count; i++) DYNC_SCOPE {
        dync_value x = DYNC_V(choose());
        snprintf(name, sizeof name, "layer%d", i);
        dync_program *p = dync_export_values(DYNC_FN(layer_fn), name, 1, &x);
        all = save(p, name) && all;
        dync_program_free(p);
        write_check(f, i, dync_as_tensor(x), layer_fn(&x, 1, NULL));
    }
    fprintf(f, "int main(void)\n{\n");
    for (int i = 0; i < count; i++) fprintf(f, "    check%d();\n", i);
    fprintf(f, "    return bad;\n}\n");
    fclose(f);
    for (int w = 0; w < WIDTHS; w++) write_unit(count, widths[w]);
    return all;
}

/* wide: sizes of which there are several vectors */
static void check(int count, int wide, const char *flags)
{
    char command[1024];
    wider = wide;
    open_folder("vectors");
    bool ok = write_layers(count);
    snprintf(command, sizeof command,
             "for w in 0 4 8 16; do $cc %s -DDYNC_VECTOR=$w -c unit$w.c || exit 1; done && $cc %s "
             "main.c unit*.o -lm -o run && ./run",
             flags, flags);
    ok = ok && EXPECT(in_folder(command));
    wider = 0;
    if (ok) close_folder();
}

static const char checked[] = "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all";

TEST(random_layers) { check(5, 0, "-std=c99 -O1"); }
TEST(random_wide_layers) { check(5, 1, "-std=c99 -O1"); }
TEST_LONG(many_random_layers)
{
    check(test_share(60), 0, checked);
    check(test_share(60), 1, checked);
    check(test_share(100), 1, "-std=c11 -O3");
    check(test_share(60), 1, "-std=gnu11 -O2 -march=native");
}

/* ---- maxima of sums -------------------------------------------------------------------------- */

/* A maximum of windows of relu6(sum + bias) is taken of the sums where bias and what follows keep
 * order: what is no number, or infinite, must come through as it does value by value. */
static dync_tensor *pooled_weight, *pooled_bias;
static dync_tensor *pooled(dync_tensor *x)
{
    dync_tensor *y = dync_conv2d(x, pooled_weight, pooled_bias, dync_shape(1, 1), dync_shape(1, 1),
                                 dync_shape(1, 1), 1);
    return dync_max_pool2d(dync_relu6(y), dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0),
                           dync_shape(1, 1), false);
}

static void write_pooled(FILE *f, int number, dync_tensor *x)
{
    char name[32];
    dync_value v = DYNC_V(x);
    snprintf(name, sizeof name, "pooled%d", number);
    dync_program *p = dync_export_values(DYNC_FN(pooled), name, 1, &v);
    EXPECT(p && save(p, name));
    dync_program_free(p);
    const float *in = dync_data(x), *out = dync_data(pooled(x));
    fprintf(f, "#include \"%s.h\"\nstatic void check%d(void)\n{\n    static float y[1][8][3][3];\n",
            name, number);
    fprintf(f, "    static float x[36] = {");
    for (int i = 0; i < 36; i++)
        fprintf(f, in[i] - in[i] == 0 ? "%af, " : in[i] > 0 ? "INFINITY, " : "-INFINITY, ", in[i]);
    fprintf(f, "};\n    static const float want[72] = {");
    for (int i = 0; i < 72; i++) fprintf(f, out[i] == out[i] ? "%af, " : "NAN, ", out[i]);
    fprintf(
        f,
        "};\n    %s_run((void *)x, y);\n    for (int i = 0; i < 72; i++) {\n"
        "        const float got = (&y[0][0][0][0])[i];\n"
        "        if (want[i] != want[i] ? got == got : !(fabsf(got - want[i]) < 1e-5f)) bad++;\n"
        "    }\n}\n",
        name);
}

TEST(maxima_of_sums)
{
    open_folder("maxima");
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include <math.h>\nstatic int bad;\n");
    pooled_weight = dync_randn(dync_shape(8, 1, 3, 3));
    for (int i = 0; i < 4; i++) {
        float bias[8] = {0.5f, -1, 0, 2, -0.25f, 1, 0, 3}, in[36];
        for (int k = 0; k < 36; k++) in[k] = (float)((k * 7) % 11) / 4 - 1;
        if (i > 0) in[7] = INFINITY, in[20] = -INFINITY; /* both in a window: NaN */
        if (i == 2) bias[1] = INFINITY, bias[4] = -INFINITY;
        pooled_bias = i == 3 ? NULL : dync_from(bias, dync_shape(8));
        write_pooled(f, i, dync_from(in, dync_shape(1, 1, 6, 6)));
    }
    fprintf(f,
            "int main(void)\n{\n    check0(), check1(), check2(), check3();\n    return bad;\n}\n");
    fclose(f);
    bool same = true;
    for (int k = 0; k < WIDTHS; k++) {
        char flags[64];
        snprintf(flags, sizeof flags, "-std=c99 -O1 -DDYNC_VECTOR=%d", widths[k]);
        same = EXPECT(compile_and_run(flags, "out.txt")) && same;
    }
    if (same) close_folder();
}
TEST_MAIN
