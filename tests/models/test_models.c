/* Whole models: a transformer block, a small CNN, an LSTM: compiled on every backend they equal
 * eager, forward and gradients. */
#include "../capture/counter.h"
#include "passes.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

/* ---- a transformer block over [batch, time, 32], 4 heads ------------------------------------- */
static dync_tensor *heads(dync_tensor *x, dync_module *m, const char *name)
{
    dync_tensor *y = dync_forward_call(dync_module_child(m, name), x);
    return dync_transpose(dync_view(y, dync_shape(dync_size(x, 0), dync_size(x, 1), 4, 8)), 1, 2);
}
static dync_tensor *block_forward(dync_module *m, dync_tensor *x)
{
    dync_tensor *h = dync_forward_call(dync_module_child(m, "norm1"), x);
    dync_tensor *q = heads(h, m, "q"), *k = heads(h, m, "k"), *v = heads(h, m, "v");
    dync_tensor *scores = dync_mul(dync_matmul(q, dync_transpose(k, -2, -1)), 0.35355339);
    dync_tensor *mask = dync_triu(dync_ones(dync_shape(dync_size(x, 1), dync_size(x, 1))), 1);
    scores = dync_masked_fill(scores, dync_gt(mask, 0), -1e9);
    dync_tensor *a = dync_transpose(dync_matmul(dync_softmax(scores, -1), v), 1, 2);
    a = dync_reshape(a, dync_shape(dync_size(x, 0), dync_size(x, 1), 32));
    x = dync_add(x, dync_forward_call(dync_module_child(m, "out"), a));
    h = dync_gelu(dync_forward_call(dync_module_child(m, "up"),
                                    dync_forward_call(dync_module_child(m, "norm2"), x)));
    return dync_add(x, dync_forward_call(dync_module_child(m, "down"), h));
}
static dync_module *block(void)
{
    static const char *const linears[] = {"q", "k", "v", "out"};
    dync_module *m = dync_module_new("Block", block_forward, NULL);
    for (int i = 0; i < 4; i++) dync_module_add(m, linears[i], dync_nn_linear(32, 32, true));
    dync_module_add(m, "up", dync_nn_linear(32, 64, true));
    dync_module_add(m, "down", dync_nn_linear(64, 32, true));
    dync_module_add(m, "norm1", dync_nn_layer_norm(32));
    dync_module_add(m, "norm2", dync_nn_layer_norm(32));
    return m;
}
static dync_module *cnn(void)
{
    return dync_sequential(dync_nn_conv2d(3, 8, 3, 1, 1, true), dync_nn_batch_norm2d(8),
                           dync_nn_relu(), dync_nn_conv2d(8, 8, 3, 2, 1, false), dync_nn_relu(),
                           dync_nn_flatten(), dync_nn_linear(8 * 4 * 4, 5, true));
}

static void equal_with_gradients(dync_module *m, dync_dims shape, double tol)
{
    dync_tensor *p[64];
    int n = dync_module_parameters(m, p, 64);
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(m, .args = "x", .backend = backends[b]);
        for (int step = 0; step < 2; step++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(shape, .requires_grad = true), *want[66], *out[2];
            for (int k = 0; k < 2; k++) {
                out[k] = k ? dync_call(f, x) : dync_forward_call(m, x);
                REQUIRE(out[k] != NULL);
                EXPECT_OK(dync_backward(dync_mean(dync_mul(out[k], out[k]), DYNC_ALL, false)));
                for (int i = 0; i <= n; i++) {
                    dync_tensor *t = i < n ? p[i] : x;
                    if (!k)
                        want[i] = dync_clone(dync_grad(t));
                    else
                        EXPECT(same(want[i], dync_grad(t), tol));
                    dync_set_grad(t, NULL);
                }
            }
            EXPECT(same(dync_detach(out[0]), dync_detach(out[1]), tol));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_module_free(m);
}
TEST(transformer_block) { equal_with_gradients(block(), dync_shape(2, 7, 32), 1e-4); }
TEST(transformer_block_batch_1) { equal_with_gradients(block(), dync_shape(1, 16, 32), 1e-4); }
TEST(convolutions_in_training) { equal_with_gradients(cnn(), dync_shape(4, 3, 8, 8), 1e-3); }
TEST(convolutions_in_eval)
{
    dync_module *m = cnn();
    dync_module_train(m, false);
    equal_with_gradients(m, dync_shape(4, 3, 8, 8), 1e-3);
}

static void lstm_is_eager(void)
{
    for (int b = 0; b < 3; b++) {
        dync_module *m = dync_nn_lstm(6, 5, 2, true);
        dync_tensor *x = dync_transpose(dync_randn(dync_shape(4, 9, 6)), 0, 1);
        dync_compiled *f = dync_compile(m, .args = "x", .backend = backends[b]);
        dync_value want = dync_module_call(m, x), got = dync_call_value(f, x);
        EXPECT(same(dync_as_tensor(dync_at(want, 0)), dync_as_tensor(dync_at(got, 0)), 1e-5));
        EXPECT(same(dync_as_tensor(dync_at(dync_at(want, 1), 1)),
                    dync_as_tensor(dync_at(dync_at(got, 1), 1)), 1e-5));
        EXPECT_EQ_INT(dync_size(dync_as_tensor(dync_at(got, 0)), 2), 10);
        dync_compiled_free(f);
        dync_module_free(m);
    }
}

TEST(lstm) { lstm_is_eager(); }

/* ---- a whole training step with an optimizer, many steps: the same losses -------------------- */
static dync_tensor *loss_of(dync_module *m, dync_tensor *x, dync_tensor *y)
{
    return dync_cross_entropy(dync_forward_call(m, x), y);
}
static void train_with_adamw(void)
{
    double losses[2][20];
    for (int k = 0; k < 2; k++) {
        dync_manual_seed(3);
        dync_module *m = dync_sequential(dync_nn_linear(8, 16, true), dync_nn_relu(),
                                         dync_nn_linear(16, 4, true));
        if (k) dync_module_compile(m);
        dync_optim *opt = dync_adamw(m, .lr = 0.01);
        for (int i = 0; i < 20; i++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(12, 8)),
                        *y = dync_argmax(dync_slice(x, 1, 0, 4, 1), 1, false);
            dync_optim_zero_grad(opt);
            dync_tensor *loss = loss_of(m, x, y);
            EXPECT_OK(dync_backward(loss));
            dync_optim_step(opt);
            losses[k][i] = dync_item(loss);
        }
        dync_optim_free(opt);
        dync_module_free(m);
    }
    for (int i = 0; i < 20; i++) EXPECT_NEAR(losses[1][i], losses[0][i], 1e-4);
    EXPECT(losses[0][19] < losses[0][0]);
}
TEST(training_with_adamw) { train_with_adamw(); }

/* ---- each of them without each pass of the compiler -------------------------------------------
 */
static void train_and_judge(void)
{
    equal_with_gradients(block(), dync_shape(2, 7, 32), 1e-4);
    equal_with_gradients(cnn(), dync_shape(4, 3, 8, 8), 1e-3);
}
static void judge_layers(void)
{
    dync_module *m = cnn();
    dync_module_train(m, false);
    equal_with_gradients(m, dync_shape(4, 3, 8, 8), 1e-3);
    lstm_is_eager();
    train_with_adamw();
}
TEST(training_without_each_pass) { without_each_pass(train_and_judge); }
TEST(layers_without_each_pass) { without_each_pass(judge_layers); }
TEST_MAIN
