/* Functions of [n, 8] that are exported with n as a symbol, and their weights. */
#ifndef DYNC_TESTS_PROGRAM_SIZED_H
#define DYNC_TESTS_PROGRAM_SIZED_H

static dync_tensor *w1, *w2, *kernel;
static void weights(void)
{
    dync_manual_seed(3);
    w1 = dync_randn(dync_shape(16, 8));
    w2 = dync_randn(dync_shape(5, 16));
    kernel = dync_randn(dync_shape(2, 1, 3, 3));
}

static dync_tensor *mlp(dync_tensor *x)
{
    return dync_linear(dync_relu(dync_linear(x, w1, NULL)), w2, NULL);
}
static dync_tensor *norm(dync_tensor *x)
{
    dync_tensor *y = dync_layer_norm(x, dync_shape(8), NULL, NULL, 1e-5);
    return dync_add(dync_mul(y, dync_mean(x, dync_shape(0), true)),
                    dync_var(x, DYNC_ALL, 0, false));
}
static dync_tensor *attend(dync_tensor *x)
{
    return dync_matmul(dync_softmax(dync_matmul(x, dync_t(x)), -1), x);
}
static dync_tensor *moved(dync_tensor *x)
{
    dync_tensor *y = dync_cat(dync_tuple(x, dync_flip(x, dync_shape(0))), 0);
    return dync_add(dync_reshape(y, dync_shape(2, dync_dim(x, 0), 8)),
                    dync_slice(dync_roll(x, dync_shape(1), dync_shape(0)), 0, 0, DYNC_END, 1));
}
#endif
