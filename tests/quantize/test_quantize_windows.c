/* Average pools and transposed convolutions in 8-bit integers, of random geometry, beside floats:
 * what a window counts and which tap meets which place. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include <math.h>

/* What is being exported. */
static struct {
    int kind; /* 0: average pool, 1: adaptive, 2: transposed convolution */
    dync_dims size, kernel, stride, pad, more, dilation;
    bool ceil, counted;
    int groups;
    dync_tensor *same, *weight, *bias;
} w;

static int draw(int low, int high)
{
    return low + (int)(test_random() % (unsigned)(high - low + 1));
}
static dync_dims two(int low, int high) { return dync_shape(draw(low, high), draw(low, high)); }

/* A convolution by ones first, as pools take values that are I8 already. */
static dync_tensor *windows(dync_tensor *x)
{
    x = dync_conv2d(x, w.same, NULL, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1),
                    (int)dync_size(x, -3));
    if (w.kind == 0) return dync_avg_pool2d(x, w.kernel, w.stride, w.pad, w.ceil, w.counted);
    if (w.kind == 1) return dync_adaptive_avg_pool2d(x, w.size);
    return dync_conv_transpose2d(x, w.weight, w.bias, w.stride, w.pad, w.more, w.groups,
                                 w.dilation);
}

static void draw_windows(int channels)
{
    w.size = two(1, 6);
    w.kernel = two(1, 4), w.stride = two(1, 3), w.dilation = two(1, 3);
    for (int i = 0; i < 2; i++) {
        w.pad.d[i] = draw(0, (int)w.kernel.d[i] / 2);
        int most = (int)(w.stride.d[i] > w.dilation.d[i] ? w.stride.d[i] : w.dilation.d[i]);
        w.more.d[i] = draw(0, most - 1);
    }
    w.pad.n = w.more.n = 2;
    w.ceil = draw(0, 1), w.counted = draw(0, 1);
    w.groups = draw(0, 1) ? channels : 1;
    w.same = dync_ones(dync_shape(channels, 1, 1, 1));
    w.weight = dync_randn(dync_shape(channels, draw(1, 3), w.kernel.d[0], w.kernel.d[1]));
    w.bias = draw(0, 1) ? dync_randn(dync_shape(dync_size(w.weight, 1) * w.groups)) : NULL;
}

static float largest(dync_tensor *t)
{
    return (float)dync_item(
        dync_amax(dync_abs(dync_reshape(t, dync_shape(-1))), dync_shape(0), false));
}

/* A wrong count or tap is an error of a tenth and more; roundings are steps of 1/255 of the range,
 * those of weights spread over a window. */
static void check(int kind)
{
    int channels = draw(1, 3), h = draw(4, 9), wide = draw(4, 9);
    w.kind = kind;
    draw_windows(channels);
    dync_dims shape = draw(0, 3) ? dync_shape(2, channels, h, wide) : dync_shape(channels, h, wide);
    dync_tensor *x = dync_add(dync_randn(shape), draw(0, 1) ? 2 : 0), *want = windows(x);
    if (!want) { /* no such geometry */
        dync_clear_error();
        return;
    }
    dync_program *p = dync_export(windows, x);
    dync_quantize_report r = {0};
    dync_program *q =
        dync_quantize_program(p, dync_tuple(x), &(dync_quantize_options){.report = &r});
    REQUIRE(q != NULL);
    dync_value in = DYNC_V(x);
    dync_tensor *got = dync_as_tensor(dync_program_run(q, 1, &in)),
                *plain = dync_as_tensor(dync_graph_run(dync_program_graph(q), &in, 1));
    float off = largest(dync_sub(got, want)), range = largest(x) + largest(want);
    bool good = r.layers == 2 && r.float_layers == 0 && off <= range / (kind == 2 ? 40 : 110);
    if (!EXPECT(good && dync_equal(got, plain)))
        printf("    kind %d: off by %g of %g; %d layers, %d in floats\n", kind, (double)off,
               (double)range, r.layers, r.float_layers);
    dync_program_free(p);
    dync_program_free(q);
}

TEST(average_pools)
{
    for (int i = 0; i < 60; i++) DYNC_SCOPE
        check(0);
}
TEST(adaptive_pools)
{
    for (int i = 0; i < 30; i++) DYNC_SCOPE
        check(1);
}
TEST(transposed_convolutions)
{
    for (int i = 0; i < 60; i++) DYNC_SCOPE
        check(2);
}

/* By the formula: (sum of the centred bytes) factor / count, in integers, places at the edges. */
static dync_tensor *edges(dync_tensor *x)
{
    x = dync_conv2d(x, w.same, NULL, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1);
    return dync_avg_pool2d(x, dync_shape(3, 3), dync_shape(2, 2), dync_shape(1, 1), true, false);
}
TEST(counts_at_the_edges)
{
    /* 4x4 of 0 .. 255: windows of 2x2, 2x3, 2x1 ...: ceil_mode adds a third row and column */
    float v[16];
    for (int i = 0; i < 16; i++) v[i] = (float)(i * 17);
    w.same = dync_ones(dync_shape(1, 1, 1, 1));
    dync_tensor *x = dync_from(v, dync_shape(1, 1, 4, 4));
    dync_program *p = dync_export(edges, x), *q = dync_quantize_program(p, dync_tuple(x), NULL);
    REQUIRE(q != NULL);
    dync_value in = DYNC_V(x);
    dync_tensor *y = dync_contiguous(dync_as_tensor(dync_program_run(q, 1, &in)));
    REQUIRE(dync_numel(y) == 9);
    const float *at = dync_data(y);
    for (int i = 0; i < 9; i++) {
        int sum = 0, n = 0;
        for (int a = i / 3 * 2 - 1; a < i / 3 * 2 + 2; a++)
            for (int b = i % 3 * 2 - 1; b < i % 3 * 2 + 2; b++)
                if (a >= 0 && b >= 0 && a < 4 && b < 4) sum += (a * 4 + b) * 17, n++;
        EXPECT(fabs((double)at[i] - (double)sum / n) <= 1.0);
    }
    dync_program_free(p);
    dync_program_free(q);
}
TEST_MAIN
