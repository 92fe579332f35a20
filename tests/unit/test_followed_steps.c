/* capture/grads.c: training steps that are cut at backward. What an optimizer reads and clears of
 * gradients is compared as operators are: after the first calls nothing is traced any more, and
 * each call does what a plain one does. */
#include "../../src/dync.in.h"
#include "../../src/capture/script.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"
#include "tol.h"

enum { CALLS = 24 };
static dync_module *net;
static dync_optim *optim;
static dync_tensor *spare; /* a leaf that some steps give no gradient */
static int call;

static dync_tensor *loss_of(dync_tensor *x, dync_tensor *y)
{
    return dync_mse_loss(dync_forward_call(net, x), y);
}
static dync_tensor *cleared_last(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss = loss_of(x, y);
    dync_backward(loss);
    dync_optim_step(optim);
    dync_optim_zero_grad(optim);
    return dync_detach(loss);
}
static dync_tensor *cleared_first(dync_tensor *x, dync_tensor *y)
{
    dync_optim_zero_grad(optim);
    dync_tensor *loss = loss_of(x, y);
    dync_backward(loss);
    dync_clip_grad_norm(net, 0.1);
    dync_optim_step(optim);
    return dync_detach(loss);
}
/* Gradients of two calls, and of a leaf that has one in every third call. */
static dync_tensor *accumulated(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss = loss_of(x, y);
    dync_graph_break("a C variable is read");
    if (call % 3 == 0) loss = dync_add(loss, dync_sum(dync_mul(spare, spare), DYNC_ALL, false));
    dync_backward(loss);
    if (call % 2) {
        dync_optim_step(optim);
        dync_optim_zero_grad(optim);
    }
    return dync_detach(loss);
}
/* Set by hand, then read by the optimizer: an effect of the trace, before and after which gradients
 * are read. */
static dync_tensor *replaced(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss = loss_of(x, y);
    dync_backward(loss);
    dync_clip_grad_norm(net, 0.5);
    dync_set_grad(spare, dync_mul(dync_detach(loss), dync_ones(dync_shape(3))));
    dync_optim_step(optim);
    dync_set_grad(spare, NULL);
    dync_optim_zero_grad(optim);
    return dync_detach(loss);
}

/* The mode is switched, a gradient is asked for, leaves are told from values. */
static dync_tensor *asked(dync_tensor *x, dync_tensor *y)
{
    dync_module_train(net, call % 2 == 0);
    dync_tensor *loss = loss_of(x, y), *weight = dync_module_param(net, "0.weight");
    dync_value g = dync_gradients(DYNC_V(loss), DYNC_V(weight), DYNC_NONE,
                                  (dync_grad_options){.retain_graph = true});
    dync_tensor *size = dync_norm(dync_as_tensor(dync_at(g, 0)), 2, DYNC_ALL, false);
    if (dync_is_leaf(weight)) loss = dync_div(loss, dync_add(size, 0.5));
    if (!dync_is_leaf(loss)) dync_backward(loss);
    dync_optim_step(optim);
    dync_optim_zero_grad(optim);
    return dync_detach(loss);
}

typedef dync_tensor *(*step)(dync_tensor *, dync_tensor *);
static const step steps[] = {cleared_last, cleared_first, accumulated, replaced, asked};

static double run(int s, const char *backend, double *note, bool *followed)
{
    dync_tensor *param[8];
    double sum = 0;
    EXPECT_OK(dync_init((dync_init_options){.threads = 1, .seed = 5}));
    net = dync_sequential(dync_nn_linear(3, 8, true), dync_nn_tanh(), dync_nn_linear(8, 3, true));
    optim = dync_optim_of(s % 2 ? DYNC_OPTIM_SGD : DYNC_OPTIM_ADAM, net,
                          (dync_optim_options){.lr = 0.05});
    spare = dync_retain(dync_randn(dync_shape(3), .requires_grad = true));
    EXPECT_OK(dync_optim_add_group(optim, 1, &spare, (dync_optim_options){.lr = 0.1}));
    dync_compiled *f = backend ? dync_compile(steps[s], .backend = backend) : NULL;
    int events = 0;
    for (call = 0; call < CALLS; call++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(5, 3)), *y = dync_randn(dync_shape(5, 3));
        dync_tensor *loss = f ? dync_call(f, x, y) : steps[s](x, y);
        EXPECT_STATUS(dync_error(), DYNC_OK);
        note[call] = dync_item(loss);
        int now = 0;
        for (dync__cache_entry *e = f ? dync__compiled_open(f, "test")->entries : NULL; e;
             e = e->next)
            for (dync__script *of = e->scripts; of; of = of->next) now += of->event.n;
        *followed = call > 12 ? *followed && now == events && now > 20 : true;
        events = now;
    }
    int n = dync_module_parameters(net, param, 8);
    param[n++] = spare;
    for (int i = 0; i < n; i++) DYNC_NO_GRAD {
        sum += dync_item(dync_sum(dync_mul(param[i], param[i]), DYNC_ALL, false));
        if (dync_grad(param[i]))
            sum += dync_item(dync_sum(dync_abs(dync_grad(param[i])), DYNC_ALL, false));
    }
    if (f) dync_compiled_free(f);
    dync_release(spare);
    dync_optim_free(optim);
    dync_module_free(net);
    dync_shutdown();
    return sum;
}

TEST(steps_cut_at_backward)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int s = 0; s < 5; s++) {
        double want[CALLS], got[CALLS];
        bool followed;
        double sum = run(s, NULL, want, &followed);
        for (int b = 0; b < 3; b++) {
            EXPECT_NEAR(run(s, backends[b], got, &followed), sum, 100 * TOL_F32_SUM * sum);
            for (int i = 0; i < CALLS; i++) EXPECT_NEAR(got[i], want[i], 100 * TOL_F32_SUM);
            EXPECT(followed || s == 3); /* what a value is set to is done at the cut, as before */
        }
    }
}
TEST_MAIN
