/* Random products and convolutions, with what follows them: sizes, strides, padding, dilation,
 * groups, pooling, batches, transposed operands. */
#ifndef TESTS_PROGRAM_LAYERS_H
#define TESTS_PROGRAM_LAYERS_H

typedef struct layer {
    int conv, bias, tail, pool, transpose, batch, in, out, height, width, kernel[2], stride[2],
        pad[2], dilation[2], groups, index;
} layer;
static layer now;
static int wider; /* channels and columns of several vectors, and few of them */
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
    if (wider) { /* as many channels as groups now and then */
        now.groups = below(3) ? 1 : 1 + below(5);
        now.in = now.groups * (below(2) ? 1 : 1 + below(9));
        now.out = now.groups * (below(2) && now.groups > 1 ? 1 : 1 + below(40));
    }
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
    if (wider) n += below(90);
    now.transpose = below(4);
    weight = dync_randn(now.transpose & 2 ? dync_shape(n, k) : dync_shape(k, n));
    if (now.batch > 1) weight = dync_mul(weight, dync_randn(dync_shape(below(2) ? 2 : 1, 1, 1)));
    bias = below(2) ? dync_randn(below(2) ? dync_shape(n) : dync_shape(m, n)) : NULL;
    return dync_randn(now.transpose & 1 ? dync_shape(now.batch, k, m)
                                        : dync_shape(now.batch, m, k));
}
#endif
