/* Whole training steps inside one function compiled with fullgraph: forward, loss, backward, the
 * optimizer's step and zero_grad are one graph. Losses, parameters and buffers equal eager's over
 * many steps, on every backend; steady steps allocate nothing. */
#include "../capture/counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
typedef struct {
    dync_module *net;
    dync_optim *opt;
} trainer;
typedef enum { ZERO_FIRST, ZERO_LAST, ZERO_NEVER } order;

/* One step in each order that programs use; the function is what a user would write. */
static dync_tensor *loss_of(trainer *t, const dync_value *args)
{
    dync_tensor *y = dync_as_tensor(dync_module_call(t->net, args[0]));
    dync_tensor *d = dync_sub(y, dync_as_tensor(args[1]));
    return dync_mean(dync_mul(d, d), DYNC_ALL, false);
}
static dync_value zero_first(const dync_value *args, int n, void *user)
{
    trainer *t = user;
    (void)n;
    dync_optim_zero_grad(t->opt);
    dync_tensor *loss = loss_of(t, args);
    dync_backward(loss);
    dync_optim_step(t->opt);
    return DYNC_V(loss);
}
static dync_value zero_last(const dync_value *args, int n, void *user)
{
    trainer *t = user;
    (void)n;
    dync_tensor *loss = loss_of(t, args);
    dync_backward(loss);
    dync_optim_step(t->opt);
    dync_optim_zero_grad(t->opt);
    return DYNC_V(loss);
}
static dync_value zero_never(const dync_value *args, int n, void *user)
{
    trainer *t = user;
    (void)n;
    dync_tensor *loss = loss_of(t, args);
    dync_backward(loss);
    dync_optim_step(t->opt);
    return DYNC_V(loss);
}
static const dync_function steps[] = {zero_first, zero_last, zero_never};

static dync_module *mlp(void)
{
    return dync_sequential(dync_nn_linear(6, 8, true), dync_nn_relu(), dync_nn_linear(8, 3, true),
                           dync_nn_sigmoid());
}
static void copy_state(dync_module *to, dync_module *from)
{
    dync_tensor *p[64], *q[64];
    int n = dync_module_parameters(from, p, 64);
    dync_module_parameters(to, q, 64);
    for (int i = 0; i < n; i++) DYNC_NO_GRAD {
        dync_copy_(q[i], p[i]);
    }
}
static void compare(const char *what, dync_module *a, dync_module *b, double tol)
{
    dync_tensor *p[64], *q[64];
    int n = dync_module_parameters(a, p, 64);
    dync_module_parameters(b, q, 64);
    for (int i = 0; i < n; i++) {
        if (!EXPECT(same(dync_detach(p[i]), dync_detach(q[i]), tol)))
            printf("    %s: parameter %d\n", what, i);
        if (!EXPECT((dync_grad(p[i]) != NULL) == (dync_grad(q[i]) != NULL)))
            printf("    %s: gradient %d\n", what, i);
        else if (dync_grad(p[i]) && !EXPECT(same(dync_grad(p[i]), dync_grad(q[i]), tol)))
            printf("    %s: gradient %d\n", what, i);
    }
}

static void train(const char *what, dync_module *(*make)(void), dync_dims in, dync_dims out,
                  dync_optim_kind kind, dync_optim_options opt, double tol)
{
    for (int o = 0; o < 3; o++)
        for (int b = 0; b < 3; b++) {
            trainer a = {make(), NULL}, c = {make(), NULL};
            counter count = {.inner = backends[b]};
            dync_backend counting = COUNTER(count);
            copy_state(c.net, a.net);
            a.opt = dync_optim_of(kind, a.net, opt);
            c.opt = dync_optim_of(kind, c.net, opt);
            dync_compiled *f = dync_compile(steps[o], .args = "x, y", .user = &c, .fullgraph = true,
                                            .backend_object = &counting);
            char text[128];
            snprintf(text, sizeof text, "%s, order %d, %s", what, o, backends[b]);
            for (int i = 0; i < 12; i++) DYNC_SCOPE {
                dync_value args[2] = {DYNC_V(dync_randn(in)), DYNC_V(dync_randn(out))};
                dync_manual_seed((uint64_t)i);
                dync_tensor *want = dync_as_tensor(steps[o](args, 2, &a));
                dync_manual_seed((uint64_t)i);
                dync_tensor *got = dync_call(f, args[0], args[1]);
                if (!EXPECT(same(dync_detach(want), got, tol)))
                    printf("    %s: loss of step %d\n", text, i);
            }
            compare(text, a.net, c.net, tol);
            if (!EXPECT(count.frame_count <= 2))
                printf("    %s: %d graphs\n", text, count.frame_count);
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
            dync_compiled_free(f);
            dync_optim_free(a.opt);
            dync_optim_free(c.opt);
            dync_module_free(a.net);
            dync_module_free(c.net);
        }
}
TEST(mlp_sgd)
{
    train("sgd", mlp, dync_shape(5, 6), dync_shape(5, 3), DYNC_OPTIM_SGD,
          (dync_optim_options){.lr = 0.1}, 1e-4);
}
TEST(mlp_momentum)
{
    train("momentum", mlp, dync_shape(5, 6), dync_shape(5, 3), DYNC_OPTIM_SGD,
          (dync_optim_options){.lr = 0.1, .momentum = 0.9}, 1e-4);
}
TEST(mlp_adam)
{
    train("adam", mlp, dync_shape(5, 6), dync_shape(5, 3), DYNC_OPTIM_ADAM,
          (dync_optim_options){.lr = 0.01}, 1e-4);
}
TEST(mlp_adamw)
{
    train("adamw", mlp, dync_shape(5, 6), dync_shape(5, 3), DYNC_OPTIM_ADAMW,
          (dync_optim_options){.lr = 0.01}, 1e-4);
}

/* ---- larger models --------------------------------------------------------------------------- */
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
                           dync_nn_relu(), dync_nn_max_pool2d(2, 2, 0),
                           dync_nn_conv2d(8, 8, 3, 2, 1, false), dync_nn_batch_norm2d(8),
                           dync_nn_silu(), dync_nn_flatten(), dync_nn_dropout(0.3),
                           dync_nn_linear(8 * 2 * 2, 5, true));
}
static dync_value lstm_forward(dync_module *m, const dync_value *args, int n)
{
    (void)n;
    dync_value r = dync_module_call(dync_module_child(m, "lstm"), args[0]);
    dync_tensor *y = dync_as_tensor(dync_at(r, 0));
    return DYNC_V(dync_forward_call(dync_module_child(m, "head"), dync_select(y, 0, -1)));
}
static dync_module *lstm(void)
{
    dync_module *m = dync_module_new_values("Net", lstm_forward, "x", NULL);
    dync_module_add(m, "lstm", dync_nn_lstm(6, 5, 2, true));
    dync_module_add(m, "head", dync_nn_linear(10, 4, true));
    return m;
}
#define ALL_OPTIMIZERS(make, in, out, tol)                                              \
    train("sgd", make, in, out, DYNC_OPTIM_SGD, (dync_optim_options){.lr = 0.05}, tol); \
    train("momentum", make, in, out, DYNC_OPTIM_SGD,                                    \
          (dync_optim_options){.lr = 0.05, .momentum = 0.9}, tol);                      \
    train("adam", make, in, out, DYNC_OPTIM_ADAM,                                       \
          (dync_optim_options){.lr = 0.003, .eps = 1e-3, .weight_decay = 0.01}, tol);   \
    train("adamw", make, in, out, DYNC_OPTIM_ADAMW,                                     \
          (dync_optim_options){.lr = 0.003, .eps = 1e-3}, tol)
TEST(convolutions) { ALL_OPTIMIZERS(cnn, dync_shape(4, 3, 8, 8), dync_shape(4, 5), 2e-3); }
TEST(transformer_block) { ALL_OPTIMIZERS(block, dync_shape(2, 5, 32), dync_shape(2, 5, 32), 2e-3); }
TEST(recurrent) { ALL_OPTIMIZERS(lstm, dync_shape(3, 4, 6), dync_shape(4, 4), 2e-3); }

/* The rate is a tensor of the optimizer: another one is no other graph. Frozen parameters, replaced
 * ones and hooks are. */
TEST(changes_between_steps)
{
    trainer a = {mlp(), NULL}, c = {mlp(), NULL};
    counter count = {.inner = "inductor"};
    dync_backend counting = COUNTER(count);
    copy_state(c.net, a.net);
    trainer *both[2] = {&a, &c};
    for (int k = 0; k < 2; k++)
        both[k]->opt =
            dync_optim_of(DYNC_OPTIM_ADAM, both[k]->net, (dync_optim_options){.lr = 0.01});
    dync_compiled *f = dync_compile(zero_last, .args = "x, y", .user = &c, .fullgraph = true,
                                    .backend_object = &counting);
    for (int i = 0; i < 12; i++) DYNC_SCOPE {
        for (int k = 0; k < 2; k++) {
            if (i == 3) EXPECT_OK(dync_optim_set_lr(both[k]->opt, 0.002));
            if (i == 6) dync_requires_grad_(dync_module_param(both[k]->net, "0.weight"), false);
            if (i == 9) dync_module_train(both[k]->net, false);
        }
        EXPECT_EQ_INT(count.frame_count, i == 0 ? 0 : i <= 6 ? 1 : 2);
        dync_value args[2] = {DYNC_V(dync_randn(dync_shape(5, 6))),
                              DYNC_V(dync_randn(dync_shape(5, 3)))};
        dync_tensor *want = dync_as_tensor(zero_last(args, 2, &a)),
                    *got = dync_call(f, args[0], args[1]);
        EXPECT(same(dync_detach(want), got, 1e-4));
    }
    compare("changes", a.net, c.net, 1e-4);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    for (int k = 0; k < 2; k++) {
        dync_optim_free(both[k]->opt);
        dync_module_free(both[k]->net);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */
static void steady(dync_module *(*make)(void), dync_dims in, dync_dims out)
{
    for (int o = 0; o < 3; o++)
        for (int b = 0; b < 3; b++) {
            trainer t = {make(), NULL};
            t.opt = dync_optim_of(DYNC_OPTIM_ADAMW, t.net, (dync_optim_options){.lr = 1e-3});
            dync_compiled *f =
                dync_compile(steps[o], .user = &t, .fullgraph = true, .backend = backends[b]);
            dync_tensor *x = dync_randn(in), *y = dync_randn(out);
            for (int i = 0; i < 10; i++) DYNC_SCOPE {
                EXPECT(dync_call(f, x, y) != NULL);
            }
            dync_memory before = dync_memory_stats();
            for (int i = 0; i < 50; i++) DYNC_SCOPE {
                dync_call(f, x, y);
            }
            dync_memory after = dync_memory_stats();
            if (!EXPECT_EQ_INT(after.mallocs, before.mallocs) ||
                !EXPECT(after.live_bytes <= before.live_bytes + 256))
                printf("    order %d on %s\n", o, backends[b]);
            dync_compiled_free(f);
            dync_optim_free(t.opt);
            dync_module_free(t.net);
        }
}
TEST(steady_steps_allocate_nothing)
{
    /* another thread allocates when it first gets a share, which may be late */
    dync_config_set("threads", "1");
    steady(mlp, dync_shape(5, 6), dync_shape(5, 3));
    steady(block, dync_shape(2, 5, 32), dync_shape(2, 5, 32));
}
TEST_MAIN
