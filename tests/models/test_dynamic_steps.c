/* Whole training steps under fullgraph whose batch changes from step to step: one capture with
 * plain sizes and one with symbolic ones serve all of them. Numbers that rules and composites
 * compute from sizes (a mean's 1/n, a variance's n - correction, attention's scale, a batch norm's
 * n/(n-1)) are computed anew in every step. 60 steps, losses and parameters as eager's, on every
 * backend and optimizer. */
#include "../capture/counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
typedef struct {
    dync_module *net;
    dync_optim *opt;
    int loss;
} trainer;
enum { MSE, CROSS_ENTROPY, STATISTICS, SMOOTH };

static dync_tensor *loss_of(int kind, dync_tensor *y, dync_tensor *target)
{
    switch (kind) {
    case MSE: return dync_mse_loss(y, target);
    case CROSS_ENTROPY: return dync_cross_entropy(y, target);
    case SMOOTH:
        return dync_add(dync_smooth_l1_loss(y, target, 1.0),
                        dync_l1_loss(dync_log_softmax(y, -1), target));
    default: {
        dync_tensor *d = dync_sub(y, target);
        d = dync_add(dync_var(d, dync_shape(0), 1, false), dync_std(d, dync_shape(0), 1, false));
        return dync_add(dync_mean(d, DYNC_ALL, false),
                        dync_mul(dync_mean(dync_softmax(dync_mul(y, y), 0), DYNC_ALL, false),
                                 dync_var(y, DYNC_ALL, 0, false)));
    }
    }
}
static dync_value step(const dync_value *args, int n, void *user)
{
    trainer *t = user;
    (void)n;
    dync_optim_zero_grad(t->opt);
    dync_tensor *loss = loss_of(t->loss, dync_as_tensor(dync_module_call(t->net, args[0])),
                                dync_as_tensor(args[1]));
    dync_backward(loss);
    dync_optim_step(t->opt);
    return DYNC_V(loss);
}

/* ---- models ---------------------------------------------------------------------------------- */
static dync_tensor *leaf_of(int64_t n, int64_t m)
{
    return dync_requires_grad_(dync_randn(dync_shape(n, m)), true);
}
static dync_module *mlp(void)
{
    return dync_sequential(dync_nn_linear(6, 8, true), dync_nn_relu(), dync_nn_linear(8, 3, true));
}
static dync_module *normed(void)
{
    return dync_sequential(dync_nn_linear(6, 8, true), dync_nn_layer_norm(8), dync_nn_gelu(),
                           dync_nn_linear(8, 3, true));
}
static dync_module *cnn(void)
{
    return dync_sequential(dync_nn_conv2d(2, 4, 3, 1, 1, true), dync_nn_batch_norm2d(4),
                           dync_nn_relu(), dync_nn_max_pool2d(2, 2, 0),
                           dync_nn_conv2d(4, 4, 3, 2, 1, false), dync_nn_batch_norm2d(4),
                           dync_nn_silu(), dync_nn_flatten(), dync_nn_linear(4 * 2 * 2, 3, true));
}
static dync_tensor *attend(dync_module *m, dync_tensor *x)
{
    dync_tensor *p[3];
    static const char *const names[] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++) {
        p[i] = dync_forward_call(dync_module_child(m, names[i]), x);
        p[i] =
            dync_transpose(dync_view(p[i], dync_shape(dync_dim(x, 0), dync_dim(x, 1), 2, 4)), 1, 2);
    }
    dync_tensor *a = dync_scaled_dot_product_attention(p[0], p[1], p[2], NULL, 0, true, DYNC_NONE);
    a = dync_reshape(dync_transpose(a, 1, 2), dync_shape(dync_dim(x, 0), dync_dim(x, 1), 8));
    return dync_forward_call(
        dync_module_child(m, "out"),
        dync_forward_call(dync_module_child(m, "norm"),
                          dync_add(a, dync_forward_call(dync_module_child(m, "v"), x))));
}
static dync_module *attention(void)
{
    dync_module *m = dync_module_new("Attend", attend, NULL);
    dync_module_add(m, "q", dync_nn_linear(6, 8, true));
    dync_module_add(m, "k", dync_nn_linear(6, 8, true));
    dync_module_add(m, "v", dync_nn_linear(6, 8, true));
    dync_module_add(m, "norm", dync_nn_layer_norm(8));
    dync_module_add(m, "out", dync_nn_linear(8, 3, true));
    return m;
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

typedef struct {
    const char *name;
    dync_module *(*make)(void);
    int loss, ndim;
    int64_t in[4], out[3];
    double tol;
    bool sequence;
} model;
static const model models[] = {
    {"mlp, mse", mlp, MSE, 2, {0, 6}, {0, 3}, 2e-4, false},
    {"mlp, cross entropy", mlp, CROSS_ENTROPY, 2, {0, 6}, {0}, 2e-4, false},
    {"mlp, statistics", mlp, STATISTICS, 2, {0, 6}, {0, 3}, 2e-3, false},
    {"mlp, l1", mlp, SMOOTH, 2, {0, 6}, {0, 3}, 2e-3, false},
    {"layer norm", normed, MSE, 2, {0, 6}, {0, 3}, 2e-3, false},
    {"cnn", cnn, CROSS_ENTROPY, 4, {0, 2, 8, 8}, {0}, 4e-3, false},
    {"attention", attention, MSE, 3, {0, 0, 6}, {0, 0, 3}, 2e-3, true},
};

static void train(const model *m, const char *backend, dync_optim_kind kind)
{
    trainer a = {m->make(), NULL, m->loss}, c = {m->make(), NULL, m->loss};
    counter count = {.inner = backend};
    dync_backend counting = COUNTER(count);
    dync_optim_options opt = {.lr = kind == DYNC_OPTIM_SGD ? 0.05 : 0.01};
    copy_state(c.net, a.net);
    a.opt = dync_optim_of(kind, a.net, opt);
    c.opt = dync_optim_of(kind, c.net, opt);
    dync_compiled *f = dync_compile(step, .args = "x, y", .user = &c, .fullgraph = true,
                                    .backend_object = &counting);
    int64_t before = dync_get_counters().frames;
    for (int i = 0; i < 60; i++) DYNC_SCOPE {
        dync_dims in = {m->ndim, {0}}, out = {m->ndim, {0}};
        int64_t n = 2 + (i * 5 + i / 7) % 9, len = 2 + i * 3 % 5;
        memcpy(in.d, m->in, sizeof m->in);
        memcpy(out.d, m->out, sizeof m->out);
        in.d[0] = out.d[0] = n;
        if (m->sequence) in.d[1] = out.d[1] = len;
        if (m->loss == CROSS_ENTROPY) out.n = 1;
        dync_tensor *x = dync_randn(in), *y = m->loss == CROSS_ENTROPY
                                                  ? dync_remainder(dync_arange(0, (double)n, 1), 3)
                                                  : dync_randn(out);
        if (m->loss == CROSS_ENTROPY) y = dync_to_dtype(y, DYNC_I64);
        dync_value args[2] = {DYNC_V(x), DYNC_V(y)};
        dync_tensor *want = dync_as_tensor(step(args, 2, &a));
        dync_tensor *got = dync_call(f, args[0], args[1]);
        if (!EXPECT(same(dync_detach(want), got, m->tol)))
            printf("    %s, %s: loss of step %d\n", m->name, backend, i);
    }
    dync_tensor *p[64], *q[64];
    int n = dync_module_parameters(a.net, p, 64);
    dync_module_parameters(c.net, q, 64);
    for (int i = 0; i < n; i++)
        if (!EXPECT(same(dync_detach(p[i]), dync_detach(q[i]), 10 * m->tol)))
            printf("    %s, %s: parameter %d\n", m->name, backend, i);
    if (!EXPECT_EQ_INT(dync_get_counters().frames - before, 2))
        printf("    %s, %s\n", m->name, backend);
    EXPECT_EQ_INT(count.frame_count, 2);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_optim_free(a.opt);
    dync_optim_free(c.opt);
    dync_module_free(a.net);
    dync_module_free(c.net);
}
static void all(const model *m)
{
    static const dync_optim_kind kinds[] = {DYNC_OPTIM_SGD, DYNC_OPTIM_ADAM, DYNC_OPTIM_ADAMW};
    for (int b = 0; b < 3; b++)
        for (int k = 0; k < 3; k++)
            if (b == 2 || k == b) train(m, backends[b], kinds[k]);
}
TEST(mlp_mse) { all(&models[0]); }
TEST(mlp_cross_entropy) { all(&models[1]); }
TEST(mlp_statistics) { all(&models[2]); }
TEST(mlp_l1) { all(&models[3]); }
TEST(layer_norm) { all(&models[4]); }
TEST(convolutions) { all(&models[5]); }
TEST(attention_over_sequences) { all(&models[6]); }

/* ---- numbers that change from step to step --------------------------------------------------- */
typedef struct {
    dync_tensor *w, *b;
    dync_cell *lr, *count;
    double rate;
} by_hand;
/* in eager calls the rate is a plain number */
static dync_tensor *rated(by_hand *t, dync_tensor *grad, dync_value scale)
{
    grad = dync_div(grad, scale);
    return t->lr ? dync_mul(grad, dync_cell_get(t->lr)) : dync_mul(grad, t->rate);
}
static dync_value descend(const dync_value *args, int n, void *user)
{
    by_hand *t = user;
    (void)n;
    dync_set_grad(t->w, NULL), dync_set_grad(t->b, NULL);
    dync_tensor *d = dync_sub(dync_add(dync_matmul(dync_as_tensor(args[0]), t->w), t->b),
                              dync_as_tensor(args[1]));
    dync_tensor *loss = dync_mean(dync_square(d), DYNC_ALL, false);
    dync_backward(dync_mul(loss, args[2]));
    DYNC_NO_GRAD {
        dync_sub_(t->w, rated(t, dync_grad(t->w), args[2]));
        dync_sub_(t->b, rated(t, dync_grad(t->b), args[2]));
    }
    if (t->count) dync_cell_set(t->count, dync_sym_add(dync_cell_get(t->count), DYNC_V(1)));
    return DYNC_V(loss);
}
TEST(rates_in_cells_and_symbolic_scales)
{
    for (int b = 0; b < 3; b++) {
        by_hand a = {.w = dync_retain(leaf_of(4, 2))},
                c = {.w = dync_retain(dync_requires_grad_(dync_clone(dync_detach(a.w)), true))};
        a.b = dync_retain(dync_requires_grad_(dync_zeros(dync_shape(2)), true));
        c.b = dync_retain(dync_requires_grad_(dync_zeros(dync_shape(2)), true));
        c.lr = dync_cell_new("lr", DYNC_V(0.5));
        c.count = dync_cell_new("count", DYNC_V(0));
        counter count = {.inner = backends[b]};
        dync_backend counting = COUNTER(count);
        dync_compiled *f = dync_compile(descend, .args = "x, y, scale", .symbolic = "scale",
                                        .user = &c, .fullgraph = true, .backend_object = &counting);
        for (int i = 0; i < 60; i++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(3 + i * 5 % 7, 4)),
                        *y = dync_sum(x, dync_shape(1), true);
            dync_value args[3] = {DYNC_V(x), DYNC_V(y), DYNC_V(1.0 + i % 5)};
            a.rate = 0.1 / (1 + i);
            dync_cell_set(c.lr, DYNC_V(a.rate));
            dync_tensor *want = dync_as_tensor(descend(args, 3, &a)),
                        *got = dync_call(f, args[0], args[1], args[2]);
            if (!EXPECT(same(dync_detach(want), got, 1e-4)))
                printf("    %s: loss of step %d\n", backends[b], i);
            EXPECT_EQ_INT(dync_as_int(dync_cell_get(c.count)), i + 1);
        }
        EXPECT(same(dync_detach(a.w), dync_detach(c.w), 1e-4) &&
               same(dync_detach(a.b), dync_detach(c.b), 1e-4));
        EXPECT_EQ_INT(count.frame_count, 2);
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
        dync_cell_free(c.lr), dync_cell_free(c.count);
        dync_release(a.w), dync_release(a.b), dync_release(c.w), dync_release(c.b);
    }
}

TEST_MAIN
