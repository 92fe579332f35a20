/* Every allocation of autograd and modules fails once: the call says DYNC_ERR_MEMORY, nothing
 * leaks, the next try works. */
#include "dync.in.h"
#include "base/base.h"
#include "tensor/tensor.h"
#include "test.h"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* fn gives true when all went well. Caches are warm after the first runs, so the counts compared
 * are those of tensors. */
static void fail_each(bool (*fn)(void))
{
    dync_on_error(quiet, NULL);
    DYNC_SCOPE {
        EXPECT(fn());
    }
    DYNC_SCOPE {
        EXPECT(fn());
    }
    int64_t before = dync__live_tensors();
    for (int64_t n = 1;; n++) {
        bool ok;
        dync_scope scope = dync_scope_begin();
        dync__mem_fail_at(n);
        ok = fn();
        bool reached = dync__tls.fail_at == 0;
        dync__mem_fail_at(0);
        dync_scope_end(&scope);
        if (!ok && !EXPECT_STATUS(dync_error(), DYNC_ERR_MEMORY))
            printf("  allocation %d: %s\n", (int)n, dync_error_message());
        if (!ok) EXPECT(reached);
        dync_clear_error();
        if (!EXPECT_EQ_INT(dync__live_tensors(), before)) printf("  allocation %d\n", (int)n);
        EXPECT(dync_is_grad_enabled());
        before = dync__live_tensors();
        if (!reached || n > 3000) break;
    }
    DYNC_SCOPE {
        EXPECT(fn());
    }
    dync_shutdown();
}

static bool backward(void)
{
    dync_tensor *x = dync_ones(dync_shape(2, 3), .requires_grad = true),
                *w = dync_ones(dync_shape(4, 3), .requires_grad = true);
    dync_tensor *y = dync_tanh(dync_linear(x, w, NULL)),
                *loss = dync_sum(dync_mul(y, y), DYNC_ALL, false);
    return loss && dync_backward(loss) == DYNC_OK && dync_grad(x) && dync_grad(w);
}
TEST(backward) { fail_each(backward); }

static bool in_place(void)
{
    dync_tensor *x = dync_ones(dync_shape(4), .requires_grad = true), *y = dync_mul(x, 2),
                *v = dync_slice(y, 0, 1, 3, 1);
    if (!v || !dync_mul_(v, dync_slice(x, 0, 0, 2, 1)) || !dync_exp_(y)) return false;
    dync_tensor *loss = dync_sum(dync_mul(y, dync_view(y, dync_shape(4))), DYNC_ALL, false);
    return loss && dync_backward(loss) == DYNC_OK;
}
TEST(in_place) { fail_each(in_place); }

static bool second_order(void)
{
    dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true),
                *y = dync_sum(dync_sigmoid(dync_mul(x, x)), DYNC_ALL, false);
    dync_value g = dync_gradients(dync_v_tensor(y), dync_v_tensor(x), DYNC_NONE,
                                  (dync_grad_options){.create_graph = true});
    if (g.kind != DYNC_KIND_LIST) return false;
    dync_tensor *s = dync_sum(dync_as_tensor(dync_at(g, 0)), DYNC_ALL, false);
    return s && dync_backward(s) == DYNC_OK;
}
TEST(second_order) { fail_each(second_order); }

static dync_tensor *hook(dync_tensor *g, void *user) { return (void)user, dync_mul(g, 2); }
static dync_value twice_forward(dync_autograd_ctx *ctx, const dync_value *args, int nargs)
{
    (void)nargs;
    dync_save_for_backward(ctx, dync_as_tensor(args[0]));
    return dync_tuple(dync_mul(dync_as_tensor(args[0]), 2), args[0]);
}
static dync_value twice_backward(dync_autograd_ctx *ctx, const dync_value *grads, int ngrads)
{
    (void)ngrads;
    return dync_v_tensor(dync_add(dync_mul(dync_saved(ctx, 0), grads[0]), grads[1]));
}
static const dync_autograd_function twice = {"Twice", twice_forward, twice_backward};
static bool functions_and_hooks(void)
{
    dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true);
    dync_value v = dync_apply(&twice, x);
    if (v.kind != DYNC_KIND_LIST || dync_error() != DYNC_OK) return false;
    dync_tensor *y = dync_mul(dync_as_tensor(dync_at(v, 0)), dync_as_tensor(dync_at(v, 1)));
    if (!y || dync_register_hook(y, hook, NULL) < 0 || dync_register_hook(x, hook, NULL) < 0 ||
        dync_retain_grad(y) != DYNC_OK)
        return false;
    dync_tensor *loss = dync_sum(y, DYNC_ALL, false);
    return loss && dync_backward(loss) == DYNC_OK;
}
TEST(functions_and_hooks) { fail_each(functions_and_hooks); }

static bool modules(void)
{
    bool ok = false;
    dync_module *net =
        dync_sequential(dync_nn_linear(3, 2, true), dync_nn_batch_norm2d(2), dync_nn_relu());
    dync_optim *o = net ? dync_adam(net, .lr = 0.1) : NULL;
    dync_tensor *x = dync_ones(dync_shape(4, 3));
    if (o && x) {
        dync_tensor *y = dync_forward_call(net, x),
                    *loss = y ? dync_mean(dync_mul(y, y), DYNC_ALL, false) : NULL;
        ok = loss && dync_backward(loss) == DYNC_OK && dync_optim_step(o) == DYNC_OK;
        dync_optim_zero_grad(o);
        ok = ok && dync_error() == DYNC_OK;
    }
    dync_optim_free(o);
    dync_module_free(net);
    return ok;
}
TEST(modules) { fail_each(modules); }

static bool files(void)
{
    static const char path[] = "build/test_fault.safetensors";
    dync_module *net = dync_sequential(dync_nn_linear(3, 2, true), dync_nn_lstm(2, 1, 1, false)),
                *again = NULL;
    bool ok = net && dync_module_save(net, path) == DYNC_OK &&
              (again = dync_module_open(path)) != NULL && dync_module_load(again, path) == DYNC_OK;
    dync_module_free(net);
    dync_module_free(again);
    remove(path);
    return ok;
}
TEST(files) { fail_each(files); }

TEST_MAIN
