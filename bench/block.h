/* bench/block.h: a transformer block over rows [n, 64], as programs whose sizes change call it. */
#ifndef BENCH_BLOCK_H
#define BENCH_BLOCK_H

enum { WIDTH = 64, HEADS = 4 };
typedef struct block_weights {
    dync_tensor *ones, *zeros, *qkv, *proj, *up, *down;
} block_weights;

/* One of the three of an attention, by heads. */
static dync_tensor *block_heads(dync_tensor *x, dync_tensor *all, int part)
{
    dync_tensor *y = dync_slice(all, 1, part * WIDTH, (part + 1) * WIDTH, 1);
    return dync_transpose(dync_reshape(y, dync_shape(dync_dim(x, 0), HEADS, WIDTH / HEADS)), 0, 1);
}

static dync_tensor *block_norm(dync_tensor *x, const block_weights *w)
{
    return dync_layer_norm(x, dync_shape(WIDTH), w->ones, w->zeros, 1e-5);
}

static dync_tensor *block_of(dync_tensor *x, const block_weights *w)
{
    dync_tensor *all = dync_matmul(block_norm(x, w), w->qkv);
    dync_tensor *y =
        dync_scaled_dot_product_attention(block_heads(x, all, 0), block_heads(x, all, 1),
                                          block_heads(x, all, 2), NULL, 0.0, true, DYNC_NONE);
    y = dync_reshape(dync_transpose(y, 0, 1), dync_shape(dync_dim(x, 0), WIDTH));
    x = dync_add(x, dync_matmul(y, w->proj));
    y = dync_gelu(dync_matmul(block_norm(x, w), w->up));
    return dync_add(x, dync_matmul(y, w->down));
}
#endif
