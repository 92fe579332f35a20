/* Products and convolutions as exported C has them (program/csource_blocks.c, _convs.c), with what
 * follows them, beside the functions themselves and beside the plain forms: random sizes, strides,
 * padding, dilation, groups, pooling, batches, transposed operands. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"
#include <sys/stat.h>

/* ---- random layers --------------------------------------------------------------------------- */

typedef struct layer {
    int conv, bias, tail, pool, transpose, batch, in, out, height, width, kernel[2], stride[2],
        pad[2], dilation[2], groups, index;
} layer;
static layer now;
static dync_tensor *weight, *bias, *other;

static int below(int n) { return (int)(test_random() % (uint64_t)n); }

static dync_tensor *tail(dync_tensor *y)
{
    switch (now.tail) {
    case 1: return dync_relu(y);
    case 2: return dync_tanh(dync_mul(y, 0.5));
    case 3: return dync_add(y, other);
    case 4: return dync_gt(y, 0);
    case 5: return dync_relu(dync_add(dync_mul(y, 2), dync_abs(y)));
    case 6: return dync_softmax(y, -1);
    case 7: return dync_add(dync_relu(y), dync_sigmoid(y));
    case 8: return dync_mul(y, dync_arange(0, now.width, 1));
    default: return y;
    }
}

static dync_value layer_fn(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]), *y;
    (void)n, (void)user;
    if (now.conv) {
        y = dync_conv2d(x, weight, bias, dync_shape(now.stride[0], now.stride[1]),
                        dync_shape(now.pad[0], now.pad[1]),
                        dync_shape(now.dilation[0], now.dilation[1]), now.groups);
        if (now.tail == 3) other = dync_ones(dync_shape(1, dync_size(y, 1), 1, 1));
    } else {
        y = dync_matmul(now.transpose & 1 ? dync_transpose(x, -1, -2) : x,
                        now.transpose & 2 ? dync_transpose(weight, -1, -2) : weight);
        if (bias) y = dync_add(y, bias);
        if (now.tail == 3) other = dync_ones(dync_shape(dync_size(y, -2), 1));
    }
    if (now.tail == 8) now.width = (int)dync_size(y, -1);
    y = tail(y);
    if (!now.conv || !now.pool || now.tail == 4) return DYNC_V(y);
    int a = 1 + now.pool % 3, b = 1 + now.pool / 3 % 3;
    if (dync_size(y, 2) < a || dync_size(y, 3) < b) return DYNC_V(y);
    dync_value both =
        dync_max_pool2d_with_indices(y, dync_shape(a, b), dync_shape(a + now.pool % 2, b),
                                     dync_shape(0, 0), dync_shape(1, 1), now.pool % 5 == 0);
    return now.index ? both : dync_at(both, 0);
}

static void choose_conv(void)
{
    for (int d = 0; d < 2; d++) {
        now.kernel[d] = 1 + below(4);
        now.stride[d] = 1 + below(3);
        now.pad[d] = below(4);
        now.dilation[d] = 1 + (below(3) == 0);
    }
    if (below(4) == 0)
        for (int d = 0; d < 2; d++)
            now.kernel[d] = now.stride[d] = now.dilation[d] = 1, now.pad[d] = 0;
    now.groups = below(3) ? 1 : 1 + below(3);
    now.in = now.groups * (1 + below(4));
    now.out = now.groups * (1 + below(5));
    for (int d = 0; d < 2; d++) {
        int least = (now.kernel[d] - 1) * now.dilation[d] + 1 - 2 * now.pad[d];
        *(d ? &now.width : &now.height) = (least > 1 ? least : 1) + below(12);
    }
    now.pool = below(10);
    now.index = below(4) == 0;
}

/* What it computes of x; its weights are random. */
static dync_tensor *choose(void)
{
    memset(&now, 0, sizeof now);
    now.conv = below(3) > 0;
    now.tail = below(9);
    now.batch = 1 + (below(3) == 0);
    if (now.conv) {
        choose_conv();
        weight = dync_randn(dync_shape(now.out, now.in / now.groups, now.kernel[0], now.kernel[1]));
        bias = below(2) ? dync_randn(dync_shape(now.out)) : NULL;
        return dync_randn(dync_shape(now.batch, now.in, now.height, now.width));
    }
    int m = 1 + below(9), k = 1 + below(9), n = 1 + below(12);
    now.transpose = below(4);
    weight = dync_randn(now.transpose & 2 ? dync_shape(n, k) : dync_shape(k, n));
    if (now.batch > 1) weight = dync_mul(weight, dync_randn(dync_shape(below(2) ? 2 : 1, 1, 1)));
    bias = below(2) ? dync_randn(below(2) ? dync_shape(n) : dync_shape(m, n)) : NULL;
    return dync_randn(now.transpose & 1 ? dync_shape(now.batch, k, m)
                                        : dync_shape(now.batch, m, k));
}

/* ---- their C --------------------------------------------------------------------------------- */

static char folder[128];

/* C files of COUNT layers, each as dync makes it now; false: one is none. */
static bool write_layers(int count)
{
    char path[256], name[32];
    bool all = true;
    for (int i = 0; i < count; i++) DYNC_SCOPE {
        dync_value x = DYNC_V(choose());
        snprintf(name, sizeof name, "layer%d", i);
        snprintf(path, sizeof path, "%s/layer%d.c", folder, i);
        dync_program *p = dync_export_values(DYNC_FN(layer_fn), name, 1, &x);
        all = EXPECT(p != NULL) && EXPECT_OK(dync_program_save_c(p, path)) && all;
        dync_program_free(p);
    }
    snprintf(path, sizeof path, "%s/main.c", folder);
    FILE *f = fopen(path, "w");
    if (!EXPECT(f != NULL)) return false;
    fprintf(f, "#include <stdio.h>\n");
    for (int i = 0; i < count; i++) fprintf(f, "int layer%d_self_test(void);\n", i);
    fprintf(f, "int main(void)\n{\n    int bad = 0, n;\n");
    for (int i = 0; i < count; i++)
        fprintf(f,
                "    if ((n = layer%d_self_test()) != 0) bad = 1, printf(\"layer%d: %%d\\n\", "
                "n);\n",
                i, i);
    fprintf(f, "    return bad;\n}\n");
    fclose(f);
    return all;
}

/* Each layer with its self-test, by these flags. */
static bool compile_and_run(int count, const char *flags)
{
    char command[1024];
    const char *cc = getenv("CC");
    snprintf(command, sizeof command,
             "cd %s && for i in $(seq 0 %d); do %s %s -pedantic -Wall -Wextra -Werror "
             "-DLAYER${i}_SELF_TEST -c layer$i.c || exit 1; done && %s %s main.c layer*.o -lm -o "
             "run && ./run",
             folder, count - 1, cc ? cc : "cc", flags, cc ? cc : "cc", flags);
    int rc = system(command);
    if (rc != 0) printf("    kept: %s (%s)\n", folder, flags);
    return EXPECT(rc == 0);
}

static void check(int count, const char *disable, const char *flags)
{
    char command[256];
    const char *dir = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/dync_blocks_%d", dir ? dir : "/tmp",
             (int)(test_random() % 100000000));
    mkdir(folder, 0700);
    EXPECT_OK(dync_config_set("disable", disable));
    bool ok = write_layers(count) && compile_and_run(count, flags);
    EXPECT_OK(dync_config_set("disable", ""));
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (ok) EXPECT_EQ_INT(system(command), 0);
}

static const char checked[] = "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all";

TEST(random_layers) { check(12, "", checked); }
TEST(random_layers_plain) { check(4, "unroll,epilogue,convs", "-std=c99 -O0"); }
TEST_LONG(many_random_layers)
{
    check(150, "", checked);
    check(60, "", "-std=c11 -O3");
    check(40, "convs", checked);
    check(40, "epilogue", checked);
    check(40, "unroll,epilogue,convs", checked);
}
TEST_MAIN
