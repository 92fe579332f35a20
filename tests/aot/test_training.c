/* Training through compiled functions: gradients, parameters and buffers equal eager's, step by step, on every backend. */
#include "../capture/counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

/* ---- functions of three tensors that require grad ------------------------------------------------------------------------ */
typedef dync_tensor *(*fn3)(dync_tensor *, dync_tensor *, dync_tensor *);
static dync_tensor *pointwise(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    return dync_mul(dync_tanh(dync_add(dync_mul(x, y), 1)), dync_div(z, dync_add(dync_abs(y), 1.5)));
}
static dync_tensor *reductions(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *s = dync_softmax(dync_add(x, y), -1), *m = dync_mean(dync_mul(s, z), dync_shape(0), true);
    return dync_sub(dync_mul(s, m), dync_sum(dync_mul(z, z), dync_shape(1), true));
}
static dync_tensor *views(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *a = dync_permute(x, dync_shape(1, 0)), *b = dync_slice(y, 0, 1, 4, 1), *c = dync_reshape(z, dync_shape(6, 4));
    return dync_add(dync_matmul(b, dync_transpose(dync_mul(dync_transpose(a, 0, 1), 2), 0, 1)), dync_sum(dync_select(c, 0, 2), DYNC_ALL, false));
}
static dync_tensor *linears(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *h = dync_relu(dync_linear(x, y, NULL));
    return dync_gelu(dync_linear(dync_cat(dync_tuple(h, z), 1), dync_cat(dync_tuple(z, h), 1), NULL));
}
static dync_tensor *inplace(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *a = dync_mul(x, y);
    dync_mul_(dync_select(a, 0, 1), 3);
    dync_add_(a, dync_sigmoid(z));
    dync_tensor *b = dync_slice(a, 1, 0, 3, 1);
    dync_exp_(b);
    return dync_mul(a, x);
}
static dync_tensor *detached(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *a = dync_mul(dync_detach(x), y), *b;
    DYNC_NO_GRAD { b = dync_mul(z, 2); }
    return dync_add(dync_where(dync_gt(x, 0), a, dync_mul(x, y)), b);
}

static dync_value grads_of(dync_tensor *out, dync_tensor **in)
{
    dync_backward(dync_sum(dync_mul(out, out), DYNC_ALL, false));
    dync_value v = dync_tuple(out, dync_grad(in[0]) ? DYNC_V(dync_grad(in[0])) : DYNC_NONE, dync_grad(in[1]) ? DYNC_V(dync_grad(in[1])) : DYNC_NONE,
                              dync_grad(in[2]) ? DYNC_V(dync_grad(in[2])) : DYNC_NONE);
    for (int i = 0; i < 3; i++) dync_set_grad(in[i], NULL);
    return v;
}
static void same_gradients(fn3 fn)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(fn, .args = "x, y, z", .backend = backends[b]);
        for (int step = 0; step < 3; step++) {
            dync_tensor *in[3];
            for (int i = 0; i < 3; i++) in[i] = dync_randn(dync_shape(4, 6), .requires_grad = true);
            dync_value want = grads_of(fn(in[0], in[1], in[2]), in), got = grads_of(dync_call(f, in[0], in[1], in[2]), in);
            for (int i = 0; i < 4; i++) {
                EXPECT_EQ_INT(dync_at(want, i).kind, dync_at(got, i).kind);
                if (dync_at(want, i).kind == DYNC_KIND_TENSOR)
                    EXPECT(same(dync_as_tensor(dync_at(want, i)), dync_as_tensor(dync_at(got, i)), 1e-4));
            }
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
        }
        dync_compiled_free(f);
    }
}
TEST(pointwise_gradients) { same_gradients(pointwise); }
TEST(reduction_gradients) { same_gradients(reductions); }
TEST(view_gradients) { same_gradients(views); }
TEST(linear_gradients) { same_gradients(linears); }
TEST(inplace_gradients) { same_gradients(inplace); }
TEST(detached_gradients) { same_gradients(detached); }

/* ---- whole modules, several steps --------------------------------------------------------------------------------------------- */
static dync_module *mlp(void)
{
    return dync_sequential(dync_nn_linear(6, 8, true), dync_nn_relu(), dync_nn_linear(8, 3, true), dync_nn_sigmoid());
}
static dync_module *cnn(void)
{
    return dync_sequential(dync_nn_conv2d(1, 4, 3, 1, 1, true), dync_nn_batch_norm2d(4), dync_nn_relu(), dync_nn_conv2d(4, 2, 3, 2, 0, false));
}
static void copy_state(dync_module *to, dync_module *from)
{
    dync_module_save(from, "build/test_training.safetensors");
    dync_module_load(to, "build/test_training.safetensors");
}
static void train_equal(dync_module *(*make)(void), dync_dims shape, const char *backend)
{
    dync_module *a = make(), *b = make();
    copy_state(b, a);
    dync_module_compile(b, .backend = backend);
    for (int step = 0; step < 5; step++)
        DYNC_SCOPE {
            dync_tensor *x = dync_randn(shape), *loss[2];
            dync_module *m[2] = {a, b};
            for (int k = 0; k < 2; k++) {
                dync_tensor *y = dync_forward_call(m[k], x), *p[16];
                loss[k] = dync_mean(dync_mul(y, y), DYNC_ALL, false);
                dync_backward(loss[k]);
                int n = dync_module_parameters(m[k], p, 16);
                for (int i = 0; i < n; i++) {
                    EXPECT(dync_grad(p[i]) != NULL);
                    DYNC_NO_GRAD { dync_add_(p[i], dync_mul(dync_grad(p[i]), -0.3)); }
                    dync_set_grad(p[i], NULL);
                }
            }
            EXPECT(same(dync_detach(loss[0]), dync_detach(loss[1]), 1e-4));
        }
    dync_tensor *p[16], *q[16];
    int n = dync_module_parameters(a, p, 16);
    dync_module_parameters(b, q, 16);
    for (int i = 0; i < n; i++) EXPECT(same(dync_detach(p[i]), dync_detach(q[i]), 1e-4));
    dync_tensor *mean = make == cnn ? dync_module_buffer(a, "1.running_mean") : NULL;
    if (mean) EXPECT(same(mean, dync_module_buffer(b, "1.running_mean"), 1e-4));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_module_free(a);
    dync_module_free(b);
}
TEST(train_mlp) { for (int i = 0; i < 3; i++) train_equal(mlp, dync_shape(5, 6), backends[i]); }
TEST(train_cnn) { for (int i = 0; i < 3; i++) train_equal(cnn, dync_shape(3, 1, 7, 7), backends[i]); }
TEST_MAIN
