/* Training steps: optimizers, batch norm, clipping, learning rates. */
#include "upstream.h"
#include "training.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
#define S dync_shape

static dync_tensor *loss_of(dync_module *self, dync_tensor *x)
{
    dync_tensor *y = dync_forward_call(dync_module_child(self, "layer"), x);
    return total(dync_mul(y, y));
}
typedef struct {
    dync_optim_kind kind;
    dync_optim_options o;
    double clip;
    bool falling;
} recipe;

/* One step written out, or as one graph with its backward and the optimizer inside. */
typedef struct {
    dync_module *m;
    dync_optim *opt;
    double clip;
} trainer;
static dync_value step(const dync_value *args, int n, void *user)
{
    trainer *t = user;
    (void)n;
    dync_tensor *loss = dync_forward_call(t->m, dync_as_tensor(args[0])), *norm = loss;
    dync_backward(loss);
    if (t->clip > 0) norm = dync_clip_grad_norm(dync_module_child(t->m, "layer"), t->clip);
    dync_optim_step(t->opt);
    dync_optim_zero_grad(t->opt);
    return DYNC_V(norm);
}
static void trained(recipe r)
{
    for (int b = -1; b < 6; b++) {
        counter c = {.inner = b < 0 ? NULL : backends[b % 3]};
        dync_backend backend = COUNTER(c);
        trainer t = {dync_module_new("Loss", loss_of, NULL), NULL, r.clip};
        dync_module_add(t.m, "layer", dync_nn_linear(3, 2, true));
        dync_module *layer = dync_module_child(t.m, "layer");
        dync_tensor *w = dync_module_param(layer, "weight"),
                    *bias = dync_module_param(layer, "bias");
        DYNC_NO_GRAD {
            dync_copy_(w, ramp_at(S(2, 3), 0, false));
            dync_copy_(bias, ramp(2, 1));
        }
        t.opt = dync_optim_of(r.kind, layer, r.o);
        bool whole = b > 2; /* the step as one graph */
        dync_compiled *f = whole ? dync_compile(dync_bind(step, &t, "x"), .fullgraph = true,
                                                .backend_object = &backend)
                                 : NULL;
        if (b >= 0 && !whole) dync_module_compile(t.m, .backend_object = &backend);
        for (int i = 0; i < 4; i++) {
            dync_value x = DYNC_V(ramp_at(S(4, 3), i, false));
            if (r.falling) EXPECT_OK(dync_optim_set_lr(t.opt, 0.05 / (i + 1)));
            dync_value norm = whole ? dync_call_values(f, 1, &x) : step(&x, 1, &t);
            char name[16];
            snprintf(name, sizeof name, "norm%d", i);
            if (r.clip > 0) TELL_TENSOR(name, dync_as_tensor(norm));
        }
        TELL_TENSOR("weight", w);
        TELL_TENSOR("bias", bias);
        if (b >= 0) TELL("frames", c.frame_count);
        dync_compiled_free(f);
        dync_optim_free(t.opt);
        dync_module_free(t.m);
    }
}
SCENARIO(sgd) { trained((recipe){DYNC_OPTIM_SGD, {.lr = 0.01}, 0, false}); }
SCENARIO(sgd_with_momentum)
{
    trained((recipe){DYNC_OPTIM_SGD, {.lr = 0.01, .momentum = 0.9}, 0, false});
}
SCENARIO(sgd_nesterov_with_decay)
{
    trained((recipe){DYNC_OPTIM_SGD,
                     {.lr = 0.01, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1},
                     0,
                     false});
}
SCENARIO(adam) { trained((recipe){DYNC_OPTIM_ADAM, {.lr = 0.05}, 0, false}); }
SCENARIO(adam_with_decay)
{
    trained((recipe){DYNC_OPTIM_ADAM,
                     {.lr = 0.05, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-6},
                     0,
                     false});
}
SCENARIO(adamw)
{
    trained((recipe){DYNC_OPTIM_ADAMW, {.lr = 0.05, .weight_decay = 0.1}, 0, false});
}
SCENARIO(clipped_gradients) { trained((recipe){DYNC_OPTIM_SGD, {.lr = 0.1}, 1, false}); }
SCENARIO(learning_rate_changes) { trained((recipe){DYNC_OPTIM_ADAM, {.lr = 0.05}, 0, true}); }

SCENARIO(batch_norm_trains_and_does_not)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_module *m = dync_nn_batch_norm2d(2);
        dync_compiled *f = dync_compile(m, .backend_object = &COUNTER(c));
        dync_tensor *x = ramp_at(S(2, 2, 1, 2), 0, false), *out = NULL;
        dync_module_train(m, true);
        for (int i = 0; i < 3; i++) out = dync_call(f, x);
        TELL_TENSOR("train", out);
        TELL_TENSOR("mean", dync_module_buffer(m, "running_mean"));
        TELL_TENSOR("var", dync_module_buffer(m, "running_var"));
        dync_module_train(m, false);
        TELL_TENSOR("eval", dync_call(f, x));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
        dync_module_free(m);
    }
}

static dync_tensor *two_layers(dync_module *self, dync_tensor *x)
{
    x = dync_tanh(dync_forward_call(dync_module_child(self, "a"), x));
    return total(dync_forward_call(dync_module_child(self, "b"), x));
}
static dync_dims shape_of(dync_tensor *t)
{
    dync_dims s = {.n = dync_ndim(t)};
    for (int i = 0; i < s.n; i++) s.d[i] = dync_size(t, i);
    return s;
}
SCENARIO(frozen_layer)
{
    static const char *const names[] = {"a.weight", "a.bias", "b.weight", "b.bias"};
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_module *m = dync_module_new("Net", two_layers, NULL);
        dync_module_add(m, "a", dync_nn_linear(3, 3, true));
        dync_module_add(m, "b", dync_nn_linear(3, 1, true));
        for (int i = 0; i < 4; i++) {
            dync_tensor *p = dync_module_param(m, names[i]);
            DYNC_NO_GRAD dync_copy_(p, ramp_at(shape_of(p), i, false));
            if (i < 2) dync_requires_grad_(p, false);
        }
        dync_compiled *f = dync_compile(m, .backend_object = &COUNTER(c));
        EXPECT_OK(dync_backward(dync_call(f, ramp_at(S(2, 3), 0, false))));
        TELL("frozen", dync_grad(dync_module_param(m, "a.weight")) == NULL);
        TELL_TENSOR("grad", dync_grad(dync_module_param(m, "b.weight")));
        for (int i = 0; i < 2; i++) dync_requires_grad_(dync_module_param(m, names[i]), true);
        EXPECT_OK(dync_backward(dync_call(f, ramp_at(S(2, 3), 0, false))));
        TELL_TENSOR("thawed", dync_grad(dync_module_param(m, "a.weight")));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
        dync_module_free(m);
    }
}

static dync_tensor *tied(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *h = dync_tanh(dync_matmul(x, w));
    return total(dync_tanh(dync_matmul(h, dync_t(w))));
}
SCENARIO(tied_weights)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(tied, .backend = backends[b]);
        dync_tensor *w = ramp_at(S(3, 3), 0, true);
        EXPECT_OK(dync_backward(dync_call(f, ramp_at(S(2, 3), 0, false), w)));
        TELL_TENSOR("grad", dync_grad(w));
        dync_compiled_free(f);
    }
}

static dync_tensor *weighted(dync_tensor *a, dync_tensor *x) { return total(dync_mul(a, x)); }
SCENARIO(parameter_without_gradient_stays)
{
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = dync_compile(weighted, .backend = backends[k]);
        dync_tensor *p[2] = {ramp_at(S(3), 0, true), ramp_at(S(3), 1, true)};
        dync_optim *opt = dync_optim_new(DYNC_OPTIM_ADAM, 2, p, (dync_optim_options){.lr = 0.1});
        for (int i = 0; i < 2; i++) {
            dync_optim_zero_grad(opt);
            EXPECT_OK(dync_backward(dync_call(f, p[0], ramp(3, i))));
            EXPECT_OK(dync_optim_step(opt));
        }
        TELL_TENSOR("a", p[0]);
        TELL_TENSOR("b", p[1]);
        dync_optim_free(opt);
        dync_compiled_free(f);
    }
}
TEST_MAIN
