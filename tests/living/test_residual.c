/* A residual network: batch norm in both modes, validation after each epoch, a last batch that
 * is smaller, a rate that falls. */
#include "users.h"

static dync_module *net;
static dync_optim *opt;
static T res(dync_module *m, T x)
{
    T y = dync_relu(dync_forward_call(dync_module_child(m, "bn1"),
                                      dync_forward_call(dync_module_child(m, "conv1"), x)));
    y = dync_forward_call(dync_module_child(m, "bn2"),
                          dync_forward_call(dync_module_child(m, "conv2"), y));
    return dync_relu_(dync_add(y, x));
}
static dync_module *block(void)
{
    dync_module *m = dync_module_new("Res", res, NULL);
    dync_module_add(m, "conv1", dync_nn_conv2d(6, 6, 3, 1, 1, false)),
        dync_module_add(m, "bn1", dync_nn_batch_norm2d(6));
    dync_module_add(m, "conv2", dync_nn_conv2d(6, 6, 3, 1, 1, false)),
        dync_module_add(m, "bn2", dync_nn_batch_norm2d(6));
    return m;
}
static dync_compiled *f, *g;
static T train_step(T x, T y)
{
    dync_optim_zero_grad(opt);
    T l = dync_cross_entropy(dync_forward_call(net, x), y);
    dync_backward(l);
    dync_optim_step(opt);
    return dync_detach(l);
}
static dync_value eval_step(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    T lg = dync_forward_call(net, dync_as_tensor(a[0])), y = dync_as_tensor(a[1]);
    return dync_tuple(dync_cross_entropy(lg, y),
                      dync_sum(dync_eq(dync_argmax(lg, 1, false), y), DYNC_ALL, false));
}
static void one_epoch(int e)
{
    dync_module_train(net, true);
    dync_optim_set_lr(opt, e < 2 ? 0.1 : 0.02);
    for (int i = 0; i < 4; i++) DYNC_SCOPE {
        int b = i == 3 ? 3 : 5;
        say(dync_call(f, det(S(b, 3, 8, 8), i, 1), ids(S(b), 3, i, 4)));
    }
    dync_module_train(net, false);
    DYNC_NO_GRAD for (int i = 0; i < 3; i++) DYNC_SCOPE {
        int b = i == 2 ? 2 : 7;
        dync_value r = dync_call_value(g, det(S(b, 3, 8, 8), i + 30, 1), ids(S(b), 3, i, 4));
        say(dync_as_tensor(dync_at(r, 0))), say(dync_as_tensor(dync_at(r, 1)));
    }
}
static void make_net(bool whole)
{
    net = dync_sequential(dync_nn_conv2d(3, 6, 3, 1, 1, false), dync_nn_batch_norm2d(6),
                          dync_nn_relu(), block(), dync_nn_max_pool2d(2, 2, 0), block(),
                          dync_nn_flatten(), dync_nn_linear(6 * 16, 4, true));
    set_weights(net, 1);
    opt = dync_sgd(net, .lr = .1, .momentum = .9, .weight_decay = 1e-3);
    f = whole ? dync_compile(train_step, .fullgraph = true) : dync_compile(train_step),
    g = dync_compile((dync_function)eval_step);
}
static void end(void)
{
    say(dync_module_buffer(net, "3.bn1.running_mean")),
        say(dync_module_buffer(net, "5.bn2.running_var")),
        say(dync_module_buffer(net, "1.num_batches_tracked")),
        say(dync_module_param(net, "7.weight"));
}
static void whole(void) { make_net(true); }
static void cut(void) { make_net(false); }
static void epoch(void)
{
    one_epoch(0), one_epoch(1), one_epoch(2);
    end();
}

/* Two modes, each in one size and then in any. */
static void in_one_graph(living *p) { lives_for_two_epochs(p, whole, epoch); }
static void cut_at_backward(living *p) { lives_for_two_epochs(p, cut, epoch); }
TEST(a_step_in_one_graph) { lives(in_one_graph, 4, 4, 1e-4); }
TEST(a_step_cut_at_backward) { lives(cut_at_backward, -1, 4, 1e-4); }
TEST_MAIN
