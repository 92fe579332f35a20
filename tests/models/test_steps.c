/* Whole training steps inside one function compiled with fullgraph: forward, loss, backward, the optimizer's step and zero_grad are one
 * graph. Losses, parameters and buffers equal eager's over many steps, on every backend; steady steps allocate nothing. */
#include "../capture/counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
typedef struct { dync_module *net; dync_optim *opt; } trainer;
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

static dync_module *mlp(void) { return dync_sequential(dync_nn_linear(6, 8, true), dync_nn_relu(), dync_nn_linear(8, 3, true), dync_nn_sigmoid()); }
static void copy_state(dync_module *to, dync_module *from)
{
    dync_tensor *p[64], *q[64];
    int n = dync_module_parameters(from, p, 64);
    dync_module_parameters(to, q, 64);
    for (int i = 0; i < n; i++) DYNC_NO_GRAD { dync_copy_(q[i], p[i]); }
}
static void compare(const char *what, dync_module *a, dync_module *b, double tol)
{
    dync_tensor *p[64], *q[64];
    int n = dync_module_parameters(a, p, 64);
    dync_module_parameters(b, q, 64);
    for (int i = 0; i < n; i++) {
        if (!EXPECT(same(dync_detach(p[i]), dync_detach(q[i]), tol))) printf("    %s: parameter %d\n", what, i);
        if (!EXPECT((dync_grad(p[i]) != NULL) == (dync_grad(q[i]) != NULL))) printf("    %s: gradient %d\n", what, i);
        else if (dync_grad(p[i]) && !EXPECT(same(dync_grad(p[i]), dync_grad(q[i]), tol))) printf("    %s: gradient %d\n", what, i);
    }
}

static void train(const char *what, dync_module *(*make)(void), dync_dims in, dync_dims out, dync_optim_kind kind, dync_optim_options opt, double tol)
{
    for (int o = 0; o < 3; o++)
        for (int b = 0; b < 3; b++) {
            trainer a = {make(), NULL}, c = {make(), NULL};
            counter count = {.inner = backends[b]};
            dync_backend counting = COUNTER(count);
            copy_state(c.net, a.net);
            a.opt = dync_optim_of(kind, a.net, opt);
            c.opt = dync_optim_of(kind, c.net, opt);
            dync_compiled *f = dync_compile(steps[o], .args = "x, y", .user = &c, .fullgraph = true, .backend_object = &counting);
            char text[128];
            snprintf(text, sizeof text, "%s, order %d, %s", what, o, backends[b]);
            for (int i = 0; i < 12; i++)
                DYNC_SCOPE {
                    dync_value args[2] = {DYNC_V(dync_randn(in)), DYNC_V(dync_randn(out))};
                    dync_tensor *want = dync_as_tensor(steps[o](args, 2, &a)), *got = dync_call(f, args[0], args[1]);
                    if (!EXPECT(same(dync_detach(want), got, tol))) printf("    %s: loss of step %d\n", text, i);
                }
            compare(text, a.net, c.net, tol);
            if (!EXPECT(count.frame_count <= 2)) printf("    %s: %d graphs\n", text, count.frame_count);
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
            dync_compiled_free(f);
            dync_optim_free(a.opt);
            dync_optim_free(c.opt);
            dync_module_free(a.net);
            dync_module_free(c.net);
        }
}
TEST(mlp_sgd) { train("sgd", mlp, dync_shape(5, 6), dync_shape(5, 3), DYNC_OPTIM_SGD, (dync_optim_options){.lr = 0.1}, 1e-4); }
TEST(mlp_momentum) { train("momentum", mlp, dync_shape(5, 6), dync_shape(5, 3), DYNC_OPTIM_SGD, (dync_optim_options){.lr = 0.1, .momentum = 0.9}, 1e-4); }
TEST(mlp_adam) { train("adam", mlp, dync_shape(5, 6), dync_shape(5, 3), DYNC_OPTIM_ADAM, (dync_optim_options){.lr = 0.01}, 1e-4); }
TEST(mlp_adamw) { train("adamw", mlp, dync_shape(5, 6), dync_shape(5, 3), DYNC_OPTIM_ADAMW, (dync_optim_options){.lr = 0.01}, 1e-4); }
TEST_MAIN
