/* Random networks of many kinds of layers as C, in floats and in 8-bit integers, beside what dync
 * gives: integers to the bit (networks.h). --seed draws others. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "../program/exported.h"
#include "../program/networks.h"

static uint64_t network_seed, drawn;
static int below(int n)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (int)((drawn >> 33) % (uint64_t)n);
}
static int size(const dync_tensor *x, int dim) { return (int)dync_size(x, dim); }

/* Windows that fit, by each of their numbers. */
typedef struct {
    int window[2], stride[2], pad[2], dilation[2];
} windows;
static windows windows_in(const dync_tensor *x, bool dilated)
{
    windows w;
    for (int d = 0; d < 2; d++) {
        int n = size(x, 2 + d);
        w.dilation[d] = dilated ? 1 + below(2) : 1;
        w.window[d] = 1 + below(4);
        w.pad[d] = below(w.window[d] / 2 + 1);
        w.stride[d] = 1 + below(3);
        while (w.dilation[d] * (w.window[d] - 1) + 1 > n + 2 * w.pad[d]) {
            w.window[d]--;
            w.pad[d] = w.window[d] / 2 < w.pad[d] ? w.window[d] / 2 : w.pad[d];
        }
    }
    return w;
}
#define BOTH(v) S((v)[0], (v)[1])

static dync_tensor *random_conv(dync_tensor *x)
{
    int in = size(x, 1), groups = below(3) == 0 ? in : 1;
    int out = groups * (1 + below(groups > 1 ? 2 : 7));
    if (below(3) == 0) x = dync_pad(x, S(below(3), below(2), below(2), below(3)), DYNC_V(0));
    windows w = windows_in(x, true);
    double scale = 1 / sqrt((double)in / groups * w.window[0] * w.window[1]);
    dync_tensor *k = W(scale, out, in / groups, w.window[0], w.window[1]);
    dync_tensor *b = below(4) ? W(0.1, out) : NULL;
    return dync_conv2d(x, k, b, BOTH(w.stride), BOTH(w.pad), BOTH(w.dilation), groups);
}
static dync_tensor *random_transposed(dync_tensor *x)
{
    int in = size(x, 1), out = 1 + below(5), s = 1 + below(2), k = s + below(3);
    dync_tensor *w = W(1 / sqrt(in * 2.0), in, out, k, k + 1), *b = W(0.1, out);
    if (size(x, 2) > 8 || size(x, 3) > 8) s = 1;
    int p = below((k + 1) / 2), more = s > 1 ? below(s) : 0;
    return dync_conv_transpose2d(x, w, b, S(s, s), S(p, p), S(more, more), 1, S(1, 1));
}
static dync_tensor *random_activation(dync_tensor *x)
{
    switch (below(12)) {
    case 0: return dync_relu6(x);
    case 1: return dync_leaky_relu(x, 0.1);
    case 2: return dync_hardswish(x);
    case 3: return dync_silu(x);
    case 4: return dync_gelu(x);
    case 5: return dync_tanh(x);
    case 6: return dync_sigmoid(x);
    case 7: return dync_elu(x, 1);
    case 8: return dync_clamp(x, DYNC_V(-0.5), DYNC_V(0.75));
    case 9: return dync_neg(x);
    case 10: return dync_abs(x);
    default: return dync_relu(x);
    }
}
static dync_tensor *random_pool(dync_tensor *x)
{
    windows w = windows_in(x, false);
    bool up = below(2);
    switch (below(4)) {
    case 0: return dync_avg_pool2d(x, BOTH(w.window), BOTH(w.stride), BOTH(w.pad), up, below(2));
    case 1: return dync_adaptive_avg_pool2d(x, S(1 + below(4), 1 + below(4)));
    case 2: return dync_mean(x, S(2 + below(2)), true);
    default: return dync_max_pool2d(x, BOTH(w.window), BOTH(w.stride), BOTH(w.pad), S(1, 1), up);
    }
}
static dync_tensor *same_conv(dync_tensor *x, int out)
{
    int in = size(x, 1), k = 1 + 2 * below(2);
    dync_tensor *w = W(1 / sqrt((double)in * k * k), out, in, k, k);
    return dync_conv2d(x, w, W(0.1, out), S(1, 1), S(k / 2, k / 2), S(1, 1), 1);
}
static dync_tensor *random_joined(dync_tensor *x)
{
    int n = size(x, 1);
    switch (below(6)) {
    case 0: return dync_add(x, same_conv(x, n));
    case 1: return dync_sub(random_activation(x), x);
    case 2: return dync_mul(x, dync_sigmoid(same_conv(dync_mean(x, S(2, 3), true), n)));
    case 3: return dync_cat(dync_tuple(x, same_conv(x, 1 + below(3))), 1);
    case 4: return dync_mul(x, W(1, 1, n, 1, 1));
    default: return dync_cat(dync_tuple(x, random_activation(x), x), 2 + below(2));
    }
}
static dync_tensor *random_move(dync_tensor *x)
{
    int dim = 1 + below(3), n = size(x, dim);
    switch (below(6)) {
    case 0: return dync_transpose(x, 2, 3);
    case 1: return dync_slice(x, dim, n > 2 ? 1 : 0, n, 1);
    case 2: return dync_flip(x, S(dim));
    case 3: return dync_pad(x, S(below(2), 1, 1, below(2)), DYNC_V(0));
    case 4: return dync_transpose(x, 1, dim);
    default:
        return n < 8 ? dync_upsample_nearest2d(x, S(size(x, 2) + 1, size(x, 3) * 2)) : dync_relu(x);
    }
}
static dync_tensor *random_norm(dync_tensor *x)
{
    x = random_conv(x);
    int n = size(x, 1);
    dync_tensor *mean = W(0.2, n), *var = dync_add(dync_abs(W(0.3, n)), 0.5), *g = W(1, n);
    return dync_batch_norm(x, g, W(0.1, n), mean, var, false, 0.1, 1e-5);
}
static dync_tensor *random_layer(dync_tensor *x)
{
    switch (below(10)) {
    case 0:
    case 1: return random_conv(x);
    case 2: return random_transposed(x);
    case 3:
    case 4: return random_activation(x);
    case 5: return random_pool(x);
    case 6: return random_joined(x);
    case 7: return random_move(x);
    case 8: return random_norm(x);
    default: return random_conv(random_activation(x));
    }
}
static dync_tensor *random_end(dync_tensor *x)
{
    int n;
    switch (below(7)) {
    case 0: return x;
    case 1: return dync_softmax(x, 1 + below(3));
    case 2: return dync_argmax(x, 1, false);
    case 3: return dync_sum(x, S(1 + below(3)), false);
    case 4:
        x = dync_transpose(dync_flatten(x, 2, -1), 1, 2); /* attention over the picture's points */
        n = size(x, 2);
        dync_tensor *q = fc(x, 0.5, n, n), *k = fc(x, 0.5, n, n);
        return dync_matmul(dync_softmax(dync_matmul(q, dync_transpose(k, 1, 2)), -1), x);
    case 5: return dync_log_softmax(x, 1);
    default:
        x = dync_flatten(x, 1, -1);
        return dync_softmax(fc(x, 1 / sqrt(size(x, 1)), 3, size(x, 1)), 1);
    }
}
static dync_tensor *random_network(dync_tensor *x)
{
    drawn = network_seed * 0x9e3779b97f4a7c15u;
    for (int i = 2 + below(5); i > 0 && x && dync_numel(x) < 4000; i--) x = random_layer(x);
    return x ? random_end(x) : x;
}

/* Files of one network; false: what is wrong has been said. */
static bool write_random(FILE *f, uint64_t seed, const char *name)
{
    dync_quantize_report r;
    network net = {.name = name, .fn = random_network};
    network_seed = drawn = seed;
    net.in[0] = S(2, 1 + below(7), 3 + below(9), 3 + below(9));
    dync_manual_seed(seed);
    bool good = write_network(folder, f, &net, &r);
    if (!good)
        printf("    network %llu: %s\n", (unsigned long long)seed, dync_error_message());
    else if (r.snr_db < 12)
        printf("    network %llu: %g dB, %d of %d layers in floats (%s)\n",
               (unsigned long long)seed, r.snr_db, r.float_layers, r.float_layers + r.layers,
               r.kept_float);
    return good && r.snr_db >= 12;
}

static bool random_networks(int count, const char *flags)
{
    uint64_t seed = test_random() % 1000000;
    char name[16], command[400];
    bool good = true;
    open_folder("quantized");
    FILE *f = open_file("main.c", "w");
    if (!EXPECT(f != NULL)) return false;
    fprintf(f, "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n");
    dync_set_grad_enabled(false);
    for (int i = 0; i < count && good; i++) DYNC_SCOPE {
        snprintf(name, sizeof name, "n%d", i);
        good = write_random(f, seed + (uint64_t)i, name);
    }
    fprintf(f, "int main(void)\n{\n    int bad = 0;\n");
    for (int i = 0; i < 2 * count; i++)
        fprintf(f, "    if (check_n%d%s()) bad++, puts(\"network %llu%s differs\");\n", i / 2,
                i % 2 ? "_int8" : "", (unsigned long long)seed + (unsigned)i / 2,
                i % 2 ? ", int8," : "");
    fprintf(f, "    return bad;\n}\n");
    fclose(f);
    snprintf(command, sizeof command, "$cc %s *.c -lm -o run && ./run", flags);
    good = good && in_folder(command);
    if (good) close_folder();
    return good;
}

TEST(beside_the_interpreter) { EXPECT(random_networks(8, "-std=c99 -O0")); }

/* Checked, with vectors, and with sums of pairs in plain C. */
TEST_LONG(by_other_compilers)
{
    EXPECT(
        random_networks(12, "-std=c99 -O0 -fsanitize=address,undefined -fno-sanitize-recover=all"));
    EXPECT(random_networks(12, "-std=c11 -O3"));
    EXPECT(random_networks(12, "-std=c11 -O1 -DDYNC_VECTOR=0 -DDYNC_SMLAD=2"));
}
TEST_MAIN
