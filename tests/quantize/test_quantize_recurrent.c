/* Recurrent layers in I8: every cell against the float program; LSTM and GRU against integers
 * computed here, a plain loop over the steps; compiled, interpreted, from a file and as C: the same
 * bits. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "../program/exported.h"
#include <math.h>

enum { BATCHES = 16, CELLS = 3 };
typedef struct net {
    int cell, layers, directions, steps, batch, in, hidden, state, result;
} net;
static net now;
static dync_module *module;
static dync_tensor *head;
static int below(int n) { return (int)(test_random() % (uint64_t)n); }

/* ---- networks -------------------------------------------------------------------------------- */

static dync_value net_fn(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]);
    dync_value h = now.state ? args[1] : DYNC_NONE;
    (void)n, (void)user;
    if (now.state && now.cell == 2) h = dync_tuple(args[1], args[2]);
    dync_value both = now.state ? dync_module_call(module, x, h) : dync_module_call(module, x);
    dync_tensor *y = dync_as_tensor(dync_at(both, 0));
    switch (now.result) {
    case 0: return both;
    case 1: return DYNC_V(dync_select(y, 0, -1));
    case 2: return DYNC_V(dync_linear(dync_select(y, 0, -1), head, NULL));
    default: return DYNC_V(y);
    }
}

static void make(void)
{
    module = (now.cell == 0   ? dync_nn_rnn
              : now.cell == 1 ? dync_nn_gru
                              : dync_nn_lstm)(now.in, now.hidden, now.layers, now.directions == 2);
    head = dync_mul(dync_randn(dync_shape(3, now.hidden * now.directions)), 0.5);
}

static int inputs(dync_value *in)
{
    int n = 1;
    in[0] = DYNC_V(dync_randn(dync_shape(now.steps, now.batch, now.in)));
    while (now.state && n < 2 + (now.cell == 2))
        in[n++] = DYNC_V(dync_mul(
            dync_randn(dync_shape(now.layers * now.directions, now.batch, now.hidden)), 0.4));
    return n;
}

static dync_program *quantized(const char *name, dync_quantize_report *r, bool float_scale)
{
    dync_value in[3], batch[BATCHES];
    int n = inputs(in);
    dync_program *p = dync_export_values(DYNC_FN(net_fn), name, n, in);
    for (int i = 0; i < BATCHES; i++) {
        (void)inputs(in);
        batch[i] = dync_tuple_of(n, in);
    }
    dync_quantize_options options = {.report = r, .float_scale = float_scale};
    dync_program *q = p ? dync_quantize_program(p, dync_tuple_of(BATCHES, batch), &options) : NULL;
    dync_program_free(p);
    return q;
}

/* Nothing stays in floats, and noise is that of 8 bits. */
TEST(every_cell)
{
    dync_manual_seed(5);
    for (int i = 0; i < 4 * CELLS; i++) DYNC_SCOPE {
        dync_quantize_report r = {0};
        now = (net){
            i % CELLS, 1 + (i / CELLS == 1), 1 + (i / CELLS == 2), 12, 2, 7, 10, i / CELLS == 3,
            i % 4};
        make();
        dync_program *q = quantized("net", &r, i == 2);
        bool good = EXPECT(q != NULL) && r.snr_db >= 26 && r.float_layers == 0;
        if (!EXPECT(good))
            printf("    cell %d, case %d: %g dB, floats: %s\n", now.cell, i, r.snr_db,
                   r.kept_float);
        dync_program_free(q);
        dync_module_free(module);
    }
}

/* ---- every way of running -------------------------------------------------------------------- */

/* Are two results the same to the bit? */
static bool same(dync_value a, dync_value b)
{
    if (a.kind == DYNC_KIND_TENSOR) return dync_equal(dync_as_tensor(a), dync_as_tensor(b));
    bool all = dync_len(a) == dync_len(b);
    for (int i = 0; all && i < dync_len(a); i++) all = same(dync_at(a, i), dync_at(b, i));
    return all;
}

static void choose(int i)
{
    now = (net){i % CELLS,    1 + (below(4) == 0), 1 + (below(4) == 0), 1 + below(5),
                1 + below(3), 1 + below(20),       1 + below(12),       below(2),
                below(4)};
    make();
}

TEST(compiled_interpreted_and_from_a_file)
{
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        dync_value in[3];
        choose(i);
        dync_program *q = quantized("net", NULL, false);
        REQUIRE(q != NULL);
        EXPECT_OK(dync_program_save(q, "build/quantized_recurrent.dync"));
        dync_program *again = dync_program_load("build/quantized_recurrent.dync");
        REQUIRE(again != NULL);
        int n = inputs(in);
        dync_value want = dync_program_run(q, n, in);
        EXPECT(same(want, dync_graph_run(dync_program_graph(q), in, n)));
        EXPECT(same(want, dync_program_run(again, n, in)));
        dync_program_free(q);
        dync_program_free(again);
        dync_module_free(module);
    }
    remove("build/quantized_recurrent.dync");
}

/* The self-test of each file compares with what this library computed. Its tolerance is far below a
 * step of I8, so that the integers must be the same. One product at a time, and the instructions
 * for pairs of 16 bits, in C. */
TEST(c_source)
{
    enum { NETS = 4 };
    char flags[512];
    open_folder("quantized_recurrent");
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    for (int i = 0; i < NETS; i++) fprintf(f, "int net%d_int8_self_test(void);\n", i);
    fprintf(f, "int main(void)\n{\n    int bad = 0;\n");
    for (int i = 0; i < NETS; i++) DYNC_SCOPE {
        char name[16];
        choose(i);
        snprintf(name, sizeof name, "net%d", i);
        dync_program *q = quantized(name, NULL, false);
        REQUIRE(save(q, name));
        fprintf(f, "    bad += net%d_int8_self_test();\n", i);
        dync_program_free(q);
        dync_module_free(module);
    }
    fprintf(f, "    return bad;\n}\n");
    fclose(f);
    static const char tests[] = "-DNET0_INT8_SELF_TEST -DNET1_INT8_SELF_TEST "
                                "-DNET2_INT8_SELF_TEST -DNET3_INT8_SELF_TEST";
    snprintf(flags, sizeof flags,
             "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all %s", tests);
    bool ok = EXPECT(compile_and_run(flags, "out.txt"));
    snprintf(flags, sizeof flags, "-std=c11 -O2 -DDYNC_SMLAD=2 %s", tests);
    ok = ok && EXPECT(compile_and_run(flags, "out.txt"));
    if (ok) close_folder();
}

/* ---- integers by the formulas ---------------------------------------------------------------- */

/* A layer of one direction, one sequence: STEPS of IN numbers, HIDDEN states. */
enum { STEPS = 9, IN = 5, HIDDEN = 6, MOST = 4 * HIDDEN };

typedef struct {
    double scale;
    int zero;
} params;
static params params_of(double low, double high)
{
    params p;
    p.scale = (high - low) / 255;
    p.zero = (int)lrint(-128 - low / p.scale);
    return p;
}
static long long held(long long x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}
static long long rounded(long long x, int bits) /* x / 2^bits, halves up */
{
    if (bits <= 0) return x * (1ll << -bits);
    x += 1ll << (bits - 1);
    return x >= 0 ? x >> bits : -((-x + (1ll << bits) - 1) >> bits);
}
static long long scaled(long long x, double factor) /* TFLite: a multiplier of 31 bits, a shift */
{
    int e;
    long long m = llrint(frexp(factor, &e) * 2147483648.0);
    if (m == 2147483648ll) m /= 2, e++;
    return rounded(x * m, 31 - e);
}
static int short_of(long long x) { return (int)held(x, -32768, 32767); }

/* Sums of a row in 16 bits with 12 behind the point. x: 8 bits. */
static int row(const float *w, float bias, const int *x, int n, params of)
{
    double most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, fabs((double)w[k]));
    double step = most / 127 * of.scale;
    long long sum = llrint((double)bias / step);
    for (int k = 0; k < n; k++) sum += lrint((double)w[k] / (most / 127)) * (x[k] - of.zero);
    return short_of(scaled(sum, step * 4096));
}

static double curve_at(int k, bool hyperbolic) /* k: of 1024 halves of pieces */
{
    double x = -8 + 16.0 * k / 1024;
    return rint(32768 * (hyperbolic ? tanh(x) : 1 / (1 + exp(-x))));
}
static int entry(int i, bool hyperbolic)
{
    double y = curve_at(2 * i, hyperbolic), off = 0;
    if (i < 512)
        off = rint((y + curve_at(2 * i + 2, hyperbolic)) / 2) - curve_at(2 * i + 1, hyperbolic);
    return short_of((long long)(y - rint(off / 2)));
}
static int curve(int x, bool hyperbolic)
{
    int i = (x + 32768) / 128, rest = (x + 32768) % 128, y = entry(i, hyperbolic);
    return y + (int)rounded((long long)(entry(i + 1, hyperbolic) - y) * rest, 7);
}
static int gate(const int *x, const int *h, int i, bool hyperbolic)
{
    return curve(short_of(x[i] + h[i]), hyperbolic);
}

/* A step of cell k: *fine 16 bits with `bits` behind the point. -> h before its scale, 15 or 30
 * bits behind the point in *point */
static long long step_of(int cell, int k, const int *x, const int *h, int *fine, int bits,
                         int *point)
{
    if (cell == 2) {
        int i = gate(x, h, k, false), f = gate(x, h, HIDDEN + k, false),
            g = gate(x, h, 2 * HIDDEN + k, true), o = gate(x, h, 3 * HIDDEN + k, false);
        *fine = short_of(short_of(rounded((long long)f * *fine, 15)) +
                         short_of(rounded((long long)i * g, 30 - bits)));
        *point = 30;
        return (long long)o * curve(short_of(rounded(*fine, bits - 12)), true);
    }
    int r = gate(x, h, k, false), u = gate(x, h, HIDDEN + k, false), at = 2 * HIDDEN + k;
    int n = curve(short_of(x[at] + short_of(rounded((long long)r * h[at], 15))), true);
    n = short_of(rounded(n, 15 - bits));
    *fine = short_of(n + short_of(rounded((long long)u * (*fine - n), 15)));
    *point = bits;
    return *fine;
}

static int bits_of(double most)
{
    int e;
    (void)frexp(most * 32768 / 32767, &e);
    return e < 0 ? 15 : e > 15 ? 0 : 15 - e;
}

static void check_cell(int cell)
{
    static const char *const names[4] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0",
                                         "bias_hh_l0"};
    const float *w[4];
    int gates = cell == 2 ? 4 : 3, x8[IN], h8[HIDDEN], fine[HIDDEN] = {0}, xs[MOST], hs[MOST];
    double low = 0, high = 0, most = 0, in_low = 0, in_high = 0, c[HIDDEN] = {0}, h[HIDDEN] = {0};
    now = (net){cell, 1, 1, STEPS, 1, IN, HIDDEN, 0, 3};
    make();
    for (int i = 0; i < 4; i++) {
        dync_tensor *t = dync_module_param(module, names[i]);
        REQUIRE(t && dync_requires_grad_(t, false));
        w[i] = dync_data(dync_mul_(t, 2));
    }
    dync_value arg = DYNC_V(dync_randn(dync_shape(STEPS, 1, IN)));
    dync_program *p = dync_export_values(DYNC_FN(net_fn), "net", 1, &arg),
                 *q = dync_quantize_program(p, dync_tuple_of(1, &arg), NULL);
    REQUIRE(q != NULL);
    const float *x = dync_data(dync_as_tensor(arg)),
                *y = dync_data(dync_contiguous(dync_as_tensor(dync_program_run(p, 1, &arg)))),
                *got = dync_data(dync_contiguous(dync_as_tensor(dync_program_run(q, 1, &arg))));
    for (int i = 0; i < STEPS * IN; i++)
        in_low = fmin(in_low, (double)x[i]), in_high = fmax(in_high, (double)x[i]);
    for (int i = 0; i < STEPS * HIDDEN; i++)
        low = fmin(low, (double)y[i]), high = fmax(high, (double)y[i]);
    for (int t = 0; cell == 2 && t < STEPS; t++) { /* the largest cell, in floats */
        double pre[MOST];
        for (int i = 0; i < MOST; i++) {
            pre[i] = (double)w[2][i] + (double)w[3][i];
            for (int k = 0; k < IN; k++) pre[i] += (double)w[0][i * IN + k] * (double)x[t * IN + k];
            for (int k = 0; k < HIDDEN; k++) pre[i] += (double)w[1][i * HIDDEN + k] * h[k];
        }
        for (int k = 0; k < HIDDEN; k++) {
            c[k] = c[k] / (1 + exp(-pre[HIDDEN + k])) +
                   tanh(pre[2 * HIDDEN + k]) / (1 + exp(-pre[k]));
            h[k] = tanh(c[k]) / (1 + exp(-pre[3 * HIDDEN + k]));
            most = fmax(most, fabs(c[k]));
        }
    }
    params in = params_of(in_low, in_high), out = params_of(low, high);
    int bits = bits_of(cell == 2 ? most : fmax(-low, high)), bad = 0, point;
    for (int k = 0; k < HIDDEN; k++) h8[k] = out.zero;
    for (int t = 0; t < STEPS; t++) {
        for (int k = 0; k < IN; k++) /* as the program divides: in floats */
            x8[k] = (int)held(lrint((double)rintf(x[t * IN + k] / (float)in.scale)) + in.zero, -128,
                              127);
        for (int i = 0; i < gates * HIDDEN; i++) {
            xs[i] = row(w[0] + i * IN, w[2][i], x8, IN, in);
            hs[i] = row(w[1] + i * HIDDEN, w[3][i], h8, HIDDEN, out);
        }
        for (int k = 0; k < HIDDEN; k++) {
            long long v = step_of(cell, k, xs, hs, &fine[k], bits, &point);
            h8[k] = (int)held(scaled(v, ldexp(1 / out.scale, -point)) + out.zero, -128, 127);
            double want = (double)((float)(h8[k] - out.zero) * (float)out.scale);
            bad += fabs(want - (double)got[t * HIDDEN + k]) > 1e-6;
        }
    }
    if (!EXPECT_EQ_INT(bad, 0)) printf("    cell %d, %d bits\n", cell, bits);
    dync_program_free(p);
    dync_program_free(q);
    dync_module_free(module);
}

TEST(lstm_by_the_formulas) { check_cell(2); }
TEST(gru_by_the_formulas) { check_cell(1); }

TEST_MAIN
