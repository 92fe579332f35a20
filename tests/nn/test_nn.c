/* Modules, layers, optimizers. Expected values are by hand or follow from PyTorch's formulas
 * written out here. */
#include "dync.h"
#include "test.h"
#include "tol.h"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
#define QUIET dync_on_error(quiet, NULL)
static void expect_error(dync_status status, const char *text)
{
    EXPECT_STATUS(dync_error(), status);
    EXPECT_HAS_STR(dync_error_message(), text);
    dync_clear_error();
}
static const float *data(dync_tensor *t) { return dync_data(dync_contiguous(dync_detach(t))); }
static dync_tensor *total(dync_tensor *t) { return dync_sum(t, DYNC_ALL, false); }
#define SET(m, name, shape_, ...) \
    dync_module_set_param(m, name, dync_from(((float[]){__VA_ARGS__}), shape_))

/* ---- the tree -------------------------------------------------------------------------------- */

TEST(paths_and_parameters)
{
    QUIET;
    dync_module *inner = dync_sequential(dync_nn_linear(3, 2, true), dync_nn_relu());
    dync_module *net = dync_sequential(inner, dync_nn_linear(2, 1, false));
    dync_tensor *out[8];
    EXPECT_EQ_INT(dync_module_parameters(net, NULL, 0), 3);
    EXPECT_EQ_INT(dync_module_parameters(net, out, 2), 3);
    EXPECT_EQ_PTR(out[0], dync_module_param(net, "0.0.weight"));
    EXPECT_EQ_PTR(out[1], dync_module_param(net, "0.0.bias"));
    EXPECT_EQ_PTR(dync_module_child(net, "0"), inner);
    EXPECT_EQ_PTR(dync_module_child(net, "0.1"), dync_module_child(inner, "1"));
    EXPECT_EQ_PTR(dync_module_param(inner, "0.weight"), out[0]);
    EXPECT(dync_requires_grad(out[0]) && dync_is_leaf(out[0]));
    EXPECT_EQ_INT(dync_size(out[0], 0), 2);
    EXPECT(dync_module_param(net, "0.7.weight") == NULL);
    expect_error(DYNC_ERR_VALUE, "no module \"0.7\"");
    EXPECT(dync_module_param(net, "0.0.nothing") == NULL);
    expect_error(DYNC_ERR_VALUE, "has no parameter \"0.0.nothing\"");
    EXPECT(dync_module_buffer(net, "0.0.weight") == NULL);
    expect_error(DYNC_ERR_VALUE, "has no buffer");
    EXPECT(dync_module_child(net, "5") == NULL);
    expect_error(DYNC_ERR_VALUE, "no module \"5\"");
    dync_module_free(net);
    dync_shutdown();
}

static dync_tensor *twice(dync_module *m, dync_tensor *x)
{
    return dync_mul(x, *(double *)dync_module_user(m));
}
static dync_value weighted(dync_module *m, const dync_value *args, int nargs)
{
    (void)nargs;
    dync_tensor *y = dync_mul(dync_add(dync_as_tensor(args[0]), dync_as_tensor(args[1])),
                              dync_module_param(m, "w"));
    return dync_tuple(dync_mul(y, args[2]), dync_as_int(args[2]));
}

TEST(modules_of_ones_own)
{
    QUIET;
    double factor = 2;
    dync_module *m = dync_module_new("Twice", twice, &factor),
                *n = dync_module_new_values("Weighted", weighted, "a, b, e", NULL);
    dync_tensor *x = dync_ones(dync_shape(2));
    EXPECT_NEAR(data(dync_forward_call(m, x))[1], 2, TOL_EXACT);
    EXPECT_EQ_PTR(dync_module_user(m), &factor);
    SET(n, "w", dync_shape(2), 1, 10);
    dync_value v = dync_module_call(n, x, x, 3);
    EXPECT_NEAR(data(dync_as_tensor(dync_at(v, 0)))[1], 60, TOL_EXACT);
    EXPECT_EQ_INT(dync_as_int(dync_at(v, 1)), 3);
    EXPECT(dync_requires_grad(dync_module_param(n, "w")));
    dync_module_call(m, x, x);
    expect_error(DYNC_ERR_VALUE, "Twice: expected one tensor, got 2 arguments");
    dync_module_add(n, "inner", m);
    EXPECT_EQ_PTR(dync_module_child(n, "inner"), m);
    dync_module_add(m, "loop", n);
    expect_error(DYNC_ERR_VALUE, "would contain itself");
    dync_module_add(n, "again", m);
    expect_error(DYNC_ERR_VALUE, "belongs to another module");
    dync_module_add(n, "a.b", dync_nn_relu());
    expect_error(DYNC_ERR_VALUE, "has no dots");
    dync_module_add(n, "inner", dync_nn_relu()); /* takes the place of the first */
    EXPECT(dync_module_child(n, "inner") != m);
    dync_module_free(n);
    dync_shutdown();
}

TEST(results_leave_the_scope_of_the_call)
{
    dync_module *net =
        dync_sequential(dync_nn_linear(4, 4, true), dync_nn_relu(), dync_nn_linear(4, 4, true));
    dync_tensor *x = dync_ones(dync_shape(2, 4));
    DYNC_NO_GRAD {
        dync_forward_call(net, x);
    }
    int64_t before = dync_memory_stats().live_tensors;
    DYNC_NO_GRAD {
        dync_forward_call(net, x);
    }
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, before + 1);
    dync_module_free(net);
    dync_shutdown();
}

TEST(a_child_is_replaced_in_its_place)
{
    dync_module *net =
        dync_sequential(dync_nn_linear(3, 4, true), dync_nn_tanh(), dync_nn_linear(4, 2, true));
    dync_compiled *f = dync_compile(net);
    dync_tensor *x = dync_randn(dync_shape(5, 3)), *params[8];
    EXPECT(dync_call(f, x) != NULL);
    dync_module_add(net, "0", dync_nn_linear(3, 4, false));
    dync_module_add(net, "1", dync_nn_relu());
    EXPECT(dync_equal(dync_call(f, x), dync_forward_call(net, x)));
    EXPECT_EQ_INT(dync_module_parameters(net, params, 8), 3);
    EXPECT_EQ_INT(dync_size(params[0], 1), 3);
    dync_compiled_free(f);
    dync_module_free(net);
}

static dync_tensor *sine(dync_tensor *x) { return dync_sin(x); }
TEST(shutdown_frees_what_the_user_did_not)
{
    for (int again = 0; again < 2; again++) {
        dync_module *net = dync_sequential(
                        dync_nn_linear(3, 4, true),
                        dync_sequential(dync_nn_tanh(), dync_nn_linear(4, 2, true))),
                    *freed = dync_nn_linear(2, 2, true);
        dync_tensor *x = dync_retain(dync_randn(dync_shape(5, 3)));
        dync_optim *o = dync_adam(net);
        dync_compiled *f = dync_compile(net);
        dync_program *p = dync_export(sine, x);
        EXPECT(p && freed && dync_backward(dync_sum(dync_call(f, x), DYNC_ALL, false)) == DYNC_OK);
        EXPECT_OK(dync_optim_step(o));
        if (again) dync_program_free(p);
        dync_module_free(freed);
        dync_shutdown();
        EXPECT_EQ_INT(dync_memory_stats().live_bytes, 0);
        EXPECT_EQ_INT(dync_memory_stats().live_tensors, 0);
    }
}

TEST(setting_tensors)
{
    QUIET;
    dync_module *m = dync_nn_linear(2, 2, true);
    dync_tensor *x = dync_ones(dync_shape(2), .requires_grad = true);
    dync_module_set_param(m, "bias", dync_mul(x, 2));
    expect_error(DYNC_ERR_AUTOGRAD, "a parameter must be a leaf");
    dync_module_set_param(m, "bias", dync_zeros(dync_shape(2), .dtype = DYNC_I64));
    expect_error(DYNC_ERR_DTYPE, "only Tensors of floating point dtype can require gradients");
    dync_module_set_param(m, "bias", NULL);
    expect_error(DYNC_ERR_VALUE, "");
    dync_module_set_param(m, "", x);
    expect_error(DYNC_ERR_VALUE, "the name is empty");
    dync_module_set_buffer(m, "count", dync_zeros(dync_shape(1), .dtype = DYNC_I64));
    EXPECT_EQ_INT(dync_type(dync_module_buffer(m, "count")), DYNC_I64);
    EXPECT_EQ_INT(dync_module_parameters(m, NULL, 0), 2);
    dync_module_free(m);
    dync_shutdown();
}

TEST(null_is_an_error_everywhere)
{
    QUIET;
    dync_tensor *x = dync_ones(dync_shape(2));
    EXPECT(dync_forward_call(NULL, x) == NULL);
    expect_error(DYNC_ERR_VALUE, "NULL");
    dync_module *m = dync_nn_relu();
    EXPECT(dync_forward_call(m, NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT_EQ_INT(dync_module_call_values(NULL, 0, NULL).kind, DYNC_KIND_NONE);
    expect_error(DYNC_ERR_VALUE, "dync_module_call");
    EXPECT(dync_module_new("A", NULL, NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "forward is NULL");
    EXPECT(dync_module_new_values("A", NULL, NULL, NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "forward is NULL");
    EXPECT(dync_module_user(NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "NULL");
    EXPECT(dync_module_param(NULL, "w") == NULL);
    expect_error(DYNC_ERR_VALUE, "the module is NULL");
    EXPECT(dync_module_param(m, NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "the name is NULL");
    dync_module_add(NULL, "a", dync_nn_relu());
    expect_error(DYNC_ERR_VALUE, "the module is NULL");
    dync_module_add(m, "a", NULL);
    expect_error(DYNC_ERR_VALUE, "the child is NULL");
    dync_module_train(NULL, true);
    expect_error(DYNC_ERR_VALUE, "NULL");
    EXPECT(!dync_module_is_training(NULL));
    expect_error(DYNC_ERR_VALUE, "NULL");
    EXPECT(!dync_module_is_compiled(NULL) && !dync_module_is_compiled(m));
    EXPECT_EQ_INT(dync_module_parameters(NULL, NULL, 0), 0);
    expect_error(DYNC_ERR_VALUE, "dync_module_parameters");
    EXPECT(dync_sequential_of(2, (dync_module *[]){dync_nn_relu(), NULL}) == NULL);
    expect_error(DYNC_ERR_VALUE, "module 1 is NULL");
    EXPECT(dync_nn_linear(0, 3, true) == NULL);
    expect_error(DYNC_ERR_VALUE, "expected sizes >= 1, got 0");
    EXPECT(dync_nn_conv2d(1, 1, 3, 1, -1, true) == NULL);
    expect_error(DYNC_ERR_VALUE, "padding");
    EXPECT(dync_nn_dropout(1.5) == NULL);
    expect_error(DYNC_ERR_VALUE, "between 0 and 1");
    EXPECT_STATUS(dync_module_register_class(NULL, NULL), DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT_STATUS(dync_module_register_class("Linear", weighted), DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "duplicate name: Linear");
    dync_module_free(NULL);
    dync_module_free(m);
    dync_shutdown();
}

/* ---- layers ---------------------------------------------------------------------------------- */

TEST(initial_values_lie_within_pytorchs_bounds)
{
    dync_module *m = dync_nn_linear(16, 64, true), *c = dync_nn_conv2d(4, 8, 3, 1, 1, true);
    const struct {
        dync_tensor *t;
        double bound;
    } t[] = {{dync_module_param(m, "weight"), 0.25},
             {dync_module_param(m, "bias"), 0.25},
             {dync_module_param(c, "weight"), 1.0 / 6}};
    for (int k = 0; k < 3; k++) {
        const float *v = data(t[k].t);
        double low = 1, high = -1;
        for (int i = 0; i < dync_numel(t[k].t); i++) {
            if (v[i] < low) low = v[i];
            if (v[i] > high) high = v[i];
        }
        EXPECT(low >= -t[k].bound && high <= t[k].bound);
        EXPECT(low < -0.7 * t[k].bound && high > 0.7 * t[k].bound);
    }
    dync_module_free(m);
    dync_module_free(c);
    dync_shutdown();
}

TEST(linear_and_activations)
{
    dync_module *net = dync_sequential(dync_nn_linear(2, 2, true), dync_nn_relu());
    SET(net, "0.weight", dync_shape(2, 2), 1, 2, -3, 4);
    SET(net, "0.bias", dync_shape(2), 0.5f, -10);
    const float *y = data(dync_forward_call(net, dync_from(((float[]){1, 1}), dync_shape(1, 2))));
    EXPECT_NEAR_F32(y, ((float[]){3.5f, 0}), 2, TOL_F32_CHAIN, TOL_ABS_F32);
    dync_tensor *x = dync_from(((float[]){-1, 0, 2}), dync_shape(1, 3));
    dync_module *all[] = {dync_nn_sigmoid(), dync_nn_tanh(),      dync_nn_gelu(),
                          dync_nn_silu(),    dync_nn_softmax(-1), dync_nn_flatten()};
    const double e = exp(-1), s = exp(-1) + 1 + exp(2);
    const double want[6][3] = {{1 / (1 + 1 / e), 0.5, 1 / (1 + exp(-2))},
                               {tanh(-1), 0, tanh(2)},
                               {-0.5 * erfc(1 / sqrt(2)), 0, 2 - erfc(2 / sqrt(2))},
                               {-1 / (1 + 1 / e), 0, 2 / (1 + exp(-2))},
                               {e / s, 1 / s, exp(2) / s},
                               {-1, 0, 2}};
    for (int i = 0; i < 6; i++) {
        EXPECT_F32_NEAR_F64(data(dync_forward_call(all[i], x)), want[i], 3, TOL_F32_CHAIN,
                            TOL_ABS_F32);
        dync_module_free(all[i]);
    }
    dync_module_free(net);
    dync_shutdown();
}

TEST(convolution_and_pooling)
{
    dync_module *c = dync_nn_conv2d(1, 1, 2, 1, 0, true), *p = dync_nn_max_pool2d(2, 2, 0),
                *a = dync_nn_avg_pool2d(2, 2, 0);
    SET(c, "weight", dync_shape(1, 1, 2, 2), 1, 2, 3, 4);
    SET(c, "bias", dync_shape(1), 100);
    dync_tensor *x = dync_from(((float[]){1, 2, 3, 4, 5, 6, 7, 8, 9}), dync_shape(1, 1, 3, 3));
    EXPECT_NEAR_F32(data(dync_forward_call(c, x)), ((float[]){137, 147, 167, 177}), 4,
                    TOL_F32_CHAIN, TOL_ABS_F32);
    dync_tensor *y = dync_from(((float[]){1, 2, 3, 4, 5, 6, 7, 8}), dync_shape(1, 1, 2, 4));
    EXPECT_NEAR_F32(data(dync_forward_call(p, y)), ((float[]){6, 8}), 2, TOL_F32_CHAIN,
                    TOL_ABS_F32);
    EXPECT_NEAR_F32(data(dync_forward_call(a, y)), ((float[]){3.5f, 5.5f}), 2, TOL_F32_CHAIN,
                    TOL_ABS_F32);
    /* without a batch */
    EXPECT_EQ_INT(dync_ndim(dync_forward_call(c, dync_select(x, 0, 0))), 3);
    dync_module_free(c);
    dync_module_free(p);
    dync_module_free(a);
    dync_shutdown();
}

TEST(batch_norm_tracks_and_uses)
{
    dync_module *m = dync_nn_batch_norm2d(2);
    dync_tensor *x = dync_from(((float[]){1, 3, 10, 30}), dync_shape(1, 2, 1, 2));
    EXPECT(dync_module_is_training(m));
    const double r = 1 / sqrt(1 + 1e-5), r2 = 10 / sqrt(100 + 1e-5);
    EXPECT_F32_NEAR_F64(data(dync_forward_call(m, x)), ((double[]){-r, r, -r2, r2}), 4, TOL_F32_SUM,
                        TOL_ABS_F32);
    EXPECT_NEAR_F32(data(dync_module_buffer(m, "running_mean")), ((float[]){0.2f, 2}), 2,
                    TOL_F32_CHAIN, TOL_ABS_F32);
    EXPECT_NEAR_F32(data(dync_module_buffer(m, "running_var")), ((float[]){1.1f, 20.9f}), 2,
                    TOL_F32_CHAIN, TOL_ABS_F32);
    EXPECT_EQ_INT(dync_item(dync_module_buffer(m, "num_batches_tracked")), 1);
    dync_module_train(m, false);
    EXPECT(!dync_module_is_training(m));
    EXPECT_NEAR(data(dync_forward_call(m, x))[0], 0.8 / sqrt(1.1 + 1e-5), TOL_F32_SUM);
    EXPECT_EQ_INT(dync_item(dync_module_buffer(m, "num_batches_tracked")), 1);
    EXPECT_OK(dync_backward(total(dync_mul(dync_forward_call(m, x), x))));
    EXPECT(dync_grad(dync_module_param(m, "weight")) != NULL);
    dync_module_train(m, true);
    /* backward reads nothing that training wrote */
    dync_tensor *y = dync_forward_call(m, x);
    EXPECT_OK(dync_backward(total(dync_mul(y, x))));
    EXPECT(!dync_requires_grad(dync_module_buffer(m, "running_mean")));
    dync_module_free(m);
    dync_shutdown();
}

TEST(norm_embedding_dropout)
{
    dync_module *n = dync_nn_layer_norm(2), *e = dync_nn_embedding(3, 2), *d = dync_nn_dropout(0.5);
    const double r = 1 / sqrt(1 + 1e-5);
    EXPECT_F32_NEAR_F64(data(dync_forward_call(n, dync_from(((float[]){1, 3}), dync_shape(1, 2)))),
                        ((double[]){-r, r}), 2, TOL_F32_SUM, TOL_ABS_F32);
    SET(e, "weight", dync_shape(3, 2), 1, 2, 3, 4, 5, 6);
    dync_tensor *i = dync_from(((int64_t[]){2, 0, 2}), dync_shape(3), .dtype = DYNC_I64);
    dync_tensor *y = dync_forward_call(e, i);
    EXPECT_NEAR_F32(data(y), ((float[]){5, 6, 1, 2, 5, 6}), 6, TOL_EXACT, TOL_EXACT);
    EXPECT_OK(dync_backward(total(y)));
    EXPECT_NEAR_F32(data(dync_grad(dync_module_param(e, "weight"))), ((float[]){1, 1, 0, 0, 2, 2}),
                    6, TOL_EXACT, TOL_EXACT);
    dync_tensor *ones = dync_ones(dync_shape(1000));
    const float *v = data(dync_forward_call(d, ones));
    int zeros = 0;
    for (int k = 0; k < 1000; k++) {
        zeros += !(v[k] > 0);
        EXPECT(!(v[k] > 0) || (v[k] > 1.99f && v[k] < 2.01f));
    }
    EXPECT(zeros > 400 && zeros < 600);
    dync_module_train(d, false);
    EXPECT_NEAR(data(total(dync_forward_call(d, ones)))[0], 1000, TOL_EXACT);
    dync_module_free(n);
    dync_module_free(e);
    dync_module_free(d);
    dync_shutdown();
}

/* One step of one cell by PyTorch's formulas, in double. */
static void lstm_step(const float *wih, const float *whh, const float *bih, const float *bhh,
                      const double *x, int n_in, double *h, double *c, int n)
{
    double gate[64];
    for (int g = 0; g < 4 * n; g++) {
        gate[g] = (double)bih[g] + (double)bhh[g];
        for (int k = 0; k < n_in; k++) gate[g] += (double)wih[g * n_in + k] * x[k];
        for (int k = 0; k < n; k++) gate[g] += (double)whh[g * n + k] * h[k];
    }
    for (int j = 0; j < n; j++) {
        c[j] = c[j] / (1 + exp(-gate[n + j])) + tanh(gate[2 * n + j]) / (1 + exp(-gate[j]));
        h[j] = tanh(c[j]) / (1 + exp(-gate[3 * n + j]));
    }
}

TEST(lstm_of_one_layer)
{
    enum { L = 4, IN = 3, H = 2 };
    dync_module *m = dync_nn_lstm(IN, H, 1, false);
    dync_tensor *x = dync_randn(dync_shape(L, 1, IN)), *out;
    double h[H] = {0}, c[H] = {0}, want[L * H];
    const float *xs = data(x), *w[4];
    const char *names[4] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
    for (int i = 0; i < 4; i++) w[i] = data(dync_module_param(m, names[i]));
    for (int t = 0; t < L; t++) {
        double in[IN];
        for (int k = 0; k < IN; k++) in[k] = (double)xs[t * IN + k];
        lstm_step(w[0], w[1], w[2], w[3], in, IN, h, c, H);
        memcpy(want + t * H, h, sizeof h);
    }
    dync_value v = dync_module_call(m, x);
    out = dync_as_tensor(dync_at(v, 0));
    EXPECT_F32_NEAR_F64(data(out), want, L * H, TOL_F32_SUM, TOL_ABS_F32);
    EXPECT_F32_NEAR_F64(data(dync_as_tensor(dync_at(dync_at(v, 1), 0))), h, H, TOL_F32_SUM,
                        TOL_ABS_F32);
    EXPECT_F32_NEAR_F64(data(dync_as_tensor(dync_at(dync_at(v, 1), 1))), c, H, TOL_F32_SUM,
                        TOL_ABS_F32);
    EXPECT_OK(dync_backward(total(out)));
    EXPECT(dync_grad(dync_module_param(m, "weight_hh_l0")) != NULL);
    dync_tensor *flat = dync_as_tensor(dync_at(dync_module_call(m, dync_squeeze(x, 1)), 0));
    EXPECT_EQ_INT(dync_ndim(flat), 2);
    EXPECT_F32_NEAR_F64(data(flat), want, L * H, TOL_F32_SUM, TOL_ABS_F32);
    dync_module_free(m);
    dync_shutdown();
}

TEST(lstm_of_a_01)
{
    QUIET;
    dync_module *m = dync_nn_lstm(8, 8, 2, true);
    dync_tensor *x = dync_as_strided(dync_randn(dync_shape(5 * 4 * 8)), dync_shape(5, 4, 8),
                                     dync_shape(1, 40, 5), 0);
    dync_value v = dync_module_call(m, x),
               with = dync_module_call(
                   m, x,
                   dync_tuple(dync_zeros(dync_shape(4, 4, 8)), dync_zeros(dync_shape(4, 4, 8))));
    dync_tensor *out = dync_as_tensor(dync_at(v, 0)),
                *h = dync_as_tensor(dync_at(dync_at(v, 1), 0));
    EXPECT_EQ_INT(dync_size(out, 0), 5);
    EXPECT_EQ_INT(dync_size(out, 2), 16);
    EXPECT_EQ_INT(dync_size(h, 0), 4);
    EXPECT_EQ_INT(dync_size(dync_module_param(m, "weight_ih_l1_reverse"), 1), 16);
    EXPECT(dync_allclose(out, dync_as_tensor(dync_at(with, 0)), 0, 0));
    /* forward ends at the last step */
    EXPECT(
        dync_allclose(dync_slice(dync_select(out, 0, 4), 1, 0, 8, 1), dync_select(h, 0, 2), 0, 0));
    /* backward at the first */
    EXPECT(
        dync_allclose(dync_slice(dync_select(out, 0, 0), 1, 8, 16, 1), dync_select(h, 0, 3), 0, 0));
    EXPECT_EQ_INT(dync_module_call(m, dync_ones(dync_shape(5, 4, 7))).kind, DYNC_KIND_NONE);
    expect_error(DYNC_ERR_SHAPE, "LSTM: expected [length, batch, 8]");
    EXPECT_EQ_INT(dync_module_call(m, x, 3).kind, DYNC_KIND_NONE);
    expect_error(DYNC_ERR_VALUE, "expected (h0, c0)");
    dync_module_free(m);
    dync_shutdown();
}

/* ---- optimizers ------------------------------------------------------------------------------ */

/* Three steps on loss = sum(w * x) + sum(w^2) / 2 from w = (1, -2): the gradient is x + w. */
static void run_optim(dync_optim *o, dync_tensor *w, double *out)
{
    dync_tensor *x = dync_from(((double[]){0.5, 3}), dync_shape(2), .dtype = DYNC_F64);
    for (int i = 0; i < 3; i++) {
        DYNC_SCOPE {
            EXPECT_OK(dync_backward(
                dync_add(total(dync_mul(w, x)), dync_mul(total(dync_mul(w, w)), 0.5))));
            EXPECT_OK(dync_optim_step(o));
            dync_optim_zero_grad(o);
            EXPECT(dync_grad(w) == NULL);
        }
    }
    memcpy(out, dync_data(dync_detach(w)), 2 * sizeof *out);
}

static void want_sgd(double lr, double mu, bool nesterov, double decay, double *w)
{
    for (int k = 0; k < 2; k++) {
        double x = k ? 3 : 0.5, m = 0, p = k ? -2 : 1;
        for (int i = 0; i < 3; i++) {
            double g = x + p + decay * p;
            m = mu * m + g;
            p -= lr * (mu > 0 ? nesterov ? g + mu * m : m : g);
        }
        w[k] = p;
    }
}

static void want_adam(bool decoupled, double lr, double decay, double *w)
{
    for (int k = 0; k < 2; k++) {
        double x = k ? 3 : 0.5, m = 0, v = 0, p = k ? -2 : 1;
        for (int i = 1; i <= 3; i++) {
            double g = x + p;
            if (decoupled)
                p -= lr * decay * p;
            else
                g += decay * p;
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            p -= lr / (1 - pow(0.9, i)) * m / (sqrt(v) / sqrt(1 - pow(0.999, i)) + 1e-8);
        }
        w[k] = p;
    }
}

TEST(optimizers_follow_their_formulas)
{
    const struct {
        dync_optim_kind kind;
        dync_optim_options opt;
    } cases[] = {
        {DYNC_OPTIM_SGD, {.lr = 0.1}},
        {DYNC_OPTIM_SGD, {.lr = 0.1, .momentum = 0.9}},
        {DYNC_OPTIM_SGD, {.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.2}},
        {DYNC_OPTIM_ADAM, {.lr = 0.1, .weight_decay = 0.2}},
        {DYNC_OPTIM_ADAMW, {.lr = 0.1, .weight_decay = 0.2}},
        {DYNC_OPTIM_ADAMW, {.lr = 0.1, .weight_decay = -1}},
        {DYNC_OPTIM_ADAMW, {.lr = 0.1}}};
    for (int i = 0; i < 7; i++) {
        dync_tensor *w =
            dync_from(((double[]){1, -2}), dync_shape(2), .dtype = DYNC_F64, .requires_grad = true);
        double got[2], want[2];
        dync_optim_options opt = cases[i].opt;
        dync_optim *o = dync_optim_new(cases[i].kind, 1, &w, opt);
        REQUIRE(o != NULL);
        run_optim(o, w, got);
        double decay = i == 5 ? 0 : i == 6 ? 0.01 : opt.weight_decay;
        if (cases[i].kind == DYNC_OPTIM_SGD)
            want_sgd(opt.lr, opt.momentum, opt.nesterov, decay, want);
        else
            want_adam(cases[i].kind == DYNC_OPTIM_ADAMW, opt.lr, decay, want);
        EXPECT_NEAR_F64(got, want, 2, TOL_F64_CHAIN, TOL_ABS_F64);
        EXPECT(dync_is_leaf(w));
        dync_optim_free(o);
    }
    dync_shutdown();
}

TEST(training_a_small_net)
{
    dync_manual_seed(3);
    dync_module *net =
        dync_sequential(dync_nn_linear(2, 8, true), dync_nn_tanh(), dync_nn_linear(8, 1, true));
    dync_optim *o = dync_adam(net, .lr = 0.05);
    dync_tensor *x = dync_from(((float[]){0, 0, 0, 1, 1, 0, 1, 1}), dync_shape(4, 2)),
                *y = dync_from(((float[]){0, 1, 1, 0}), dync_shape(4, 1));
    double loss_value = 1;
    int64_t live = 0;
    for (int step = 0; step < 200; step++) {
        DYNC_SCOPE {
            dync_tensor *loss = dync_mse_loss(dync_forward_call(net, x), y);
            dync_backward(loss);
            dync_optim_step(o);
            dync_optim_zero_grad(o);
            loss_value = dync_item(loss);
        }
        if (step == 10) live = dync_memory_stats().live_tensors;
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    EXPECT(loss_value < 0.01);
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, live);
    EXPECT_OK(dync_optim_set_lr(o, 0));
    dync_tensor *w = dync_module_param(net, "0.weight"), *before = dync_clone(dync_detach(w));
    dync_backward(dync_mse_loss(dync_forward_call(net, x), y));
    EXPECT_OK(dync_optim_step(o));
    EXPECT(dync_equal(dync_detach(w), before));
    dync_optim_free(o);
    dync_module_free(net);
    dync_shutdown();
}

/* ---- steps that pass parameters by ----------------------------------------------------------- */
/* Adam of one number by PyTorch's formulas: each counts the steps in which it had a gradient. */
typedef struct adam_number {
    double p, m, v;
    int t;
} adam_number;
static void adam_number_step(adam_number *x, double g, double lr)
{
    x->t++;
    x->m = 0.9 * x->m + 0.1 * g;
    x->v = 0.999 * x->v + 0.001 * g * g;
    x->p -= lr / (1 - pow(0.9, x->t)) * x->m / (sqrt(x->v / (1 - pow(0.999, x->t))) + 1e-8);
}

static dync_optim *passing;
static dync_tensor *passing_p[2];
/* p0^2 + both * p1^2: without `both` the second has no gradient at all */
static dync_value passing_step(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_optim_zero_grad(passing);
    dync_tensor *loss = dync_square(passing_p[0]);
    if (dync_as_bool(args[0])) loss = dync_add(loss, dync_square(passing_p[1]));
    dync_backward(loss);
    dync_optim_step(passing);
    return dync_v_tensor(dync_detach(loss));
}

static void passes_by(bool compiled)
{
    static const bool both[] = {true, true, false, true, false, false, true, true};
    adam_number want[2] = {{.p = 1}, {.p = -2}};
    for (int i = 0; i < 2; i++) {
        float value = (float)want[i].p;
        passing_p[i] = dync_parameter(dync_from(&value, DYNC_SCALAR));
    }
    passing = dync_optim_new(DYNC_OPTIM_ADAM, 2, passing_p, (dync_optim_options){.lr = 0.1});
    dync_compiled *f = compiled ? dync_compile(passing_step, .fullgraph = true) : NULL;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 8; i++) DYNC_SCOPE {
            dync_value flag = dync_v_bool(both[i]);
            if (f)
                EXPECT(dync_call_value(f, flag).kind == DYNC_KIND_TENSOR);
            else
                passing_step(&flag, 1, NULL);
            adam_number_step(&want[0], 2 * want[0].p, 0.1);
            if (both[i]) adam_number_step(&want[1], 2 * want[1].p, 0.1);
            for (int k = 0; k < 2; k++)
                EXPECT_NEAR(dync_item(dync_detach(passing_p[k])), want[k].p, 1e-4);
        }
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
    dync_optim_free(passing);
}
TEST(adam_counts_the_steps_of_each_parameter) { passes_by(false); }
TEST(adam_counts_the_steps_of_each_parameter_compiled) { passes_by(true); }

TEST(errors_of_optimizers)
{
    QUIET;
    dync_tensor *w = dync_ones(dync_shape(2), .requires_grad = true), *y = dync_mul(w, 2);
    EXPECT(dync_optim_new(DYNC_OPTIM_SGD, 0, NULL, (dync_optim_options){0}) == NULL);
    expect_error(DYNC_ERR_VALUE, "optimizer got an empty parameter list");
    EXPECT(dync_optim_new(DYNC_OPTIM_SGD, 1, &y, (dync_optim_options){0}) == NULL);
    expect_error(DYNC_ERR_VALUE, "can't optimize a non-leaf Tensor");
    EXPECT(dync_optim_new(DYNC_OPTIM_SGD, 1, &w, (dync_optim_options){.lr = -1}) == NULL);
    expect_error(DYNC_ERR_VALUE, "invalid learning rate: -1");
    EXPECT(dync_optim_new(DYNC_OPTIM_SGD, 1, &w, (dync_optim_options){.lr = NAN}) == NULL);
    expect_error(DYNC_ERR_VALUE, "invalid learning rate: nan");
    EXPECT(dync_optim_new(DYNC_OPTIM_SGD, 1, &w, (dync_optim_options){.nesterov = true}) == NULL);
    expect_error(DYNC_ERR_VALUE, "nesterov momentum requires a momentum");
    EXPECT(dync_optim_new(DYNC_OPTIM_ADAM, 1, &w, (dync_optim_options){.beta1 = 1}) == NULL);
    expect_error(DYNC_ERR_VALUE, "invalid betas");
    for (int k = 0; k < 3; k++) {
        dync_optim_options nan = {.weight_decay = NAN};
        EXPECT(dync_optim_new((dync_optim_kind)k, 1, &w, nan) == NULL);
        expect_error(DYNC_ERR_VALUE, "invalid weight_decay value: nan");
    }
    EXPECT(dync_sgd(NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "the module is NULL");
    EXPECT_STATUS(dync_optim_step(NULL), DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "NULL");
    dync_optim_zero_grad(NULL);
    expect_error(DYNC_ERR_VALUE, "NULL");
    EXPECT_STATUS(dync_optim_set_lr(NULL, 1), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), "test_nn.c:");
    dync_clear_error();
    dync_optim_free(NULL);
    dync_optim *o = dync_optim_new(DYNC_OPTIM_SGD, 1, &w, (dync_optim_options){0});
    EXPECT_OK(dync_optim_step(o)); /* no gradient: left alone */
    EXPECT_NEAR(data(w)[0], 1, TOL_EXACT);
    dync_optim_free(o);
    dync_shutdown();
}

/* ---- files ----------------------------------------------------------------------------------- */

#define FILE_NAME "build/test_nn.safetensors"
static void write_file(const char *header, const char *bytes, size_t n)
{
    FILE *f = fopen(FILE_NAME, "wb");
    uint64_t size = strlen(header);
    for (int i = 0; i < 8; i++) fputc((int)(size >> (8 * i) & 255), f);
    fwrite(header, 1, strlen(header), f);
    fwrite(bytes, 1, n, f);
    fclose(f);
}

TEST(save_and_load_state) /* C-04 */
{
    QUIET;
    dync_module *a = dync_sequential(dync_nn_linear(3, 2, true), dync_nn_batch_norm2d(2)),
                *b = dync_sequential(dync_nn_linear(3, 2, true), dync_nn_batch_norm2d(2));
    EXPECT_OK(dync_module_save(a, FILE_NAME));
    EXPECT_OK(dync_module_load(b, FILE_NAME));
    EXPECT(dync_equal(dync_module_param(a, "0.weight"), dync_module_param(b, "0.weight")));
    EXPECT(
        dync_equal(dync_module_buffer(a, "1.running_var"), dync_module_buffer(b, "1.running_var")));
    dync_module *c = dync_sequential(dync_nn_linear(4, 2, true), dync_nn_batch_norm2d(2)),
                *d = dync_sequential(dync_nn_linear(3, 2, true));
    dync_tensor *before = dync_clone(dync_detach(dync_module_param(c, "0.bias")));
    EXPECT_STATUS(dync_module_load(c, FILE_NAME), DYNC_ERR_SHAPE);
    expect_error(DYNC_ERR_SHAPE, "\"0.weight\" is [2, 3] in the file, expected [2, 4]");
    EXPECT(dync_equal(dync_detach(dync_module_param(c, "0.bias")), before));
    EXPECT_STATUS(dync_module_load(d, FILE_NAME), DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "the module has no \"1.bias\"");
    EXPECT_OK(dync_module_save(d, FILE_NAME));
    EXPECT_STATUS(dync_module_load(a, FILE_NAME), DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "the file has no \"1.weight\"");
    EXPECT_STATUS(dync_module_load(a, "build/not there"), DYNC_ERR_IO);
    dync_clear_error();
    EXPECT_STATUS(dync_module_save(a, "build/not/there"), DYNC_ERR_IO);
    dync_clear_error();
    EXPECT_STATUS(dync_module_save(NULL, FILE_NAME), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_STATUS(dync_module_load(a, NULL), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_module_free(a);
    dync_module_free(b);
    dync_module_free(c);
    dync_module_free(d);
    remove(FILE_NAME);
    dync_shutdown();
}

TEST(save_and_open_a_whole_module) /* C-03 */
{
    QUIET;
    dync_module *net = dync_sequential(dync_nn_conv2d(1, 2, 2, 1, 1, true), dync_nn_batch_norm2d(2),
                                       dync_nn_relu(), dync_nn_max_pool2d(2, 2, 0),
                                       dync_nn_flatten(), dync_nn_linear(8, 3, false),
                                       dync_nn_softmax(1), dync_nn_dropout(0.25));
    dync_module_train(net, false);
    dync_tensor *x = dync_randn(dync_shape(1, 1, 3, 3));
    EXPECT_OK(dync_module_save(net, FILE_NAME));
    dync_module *again = dync_module_open(FILE_NAME);
    REQUIRE(again != NULL);
    EXPECT(dync_equal(dync_forward_call(net, x), dync_forward_call(again, x)));
    EXPECT(!dync_module_is_training(again) &&
           dync_requires_grad(dync_module_param(again, "0.weight")));
    EXPECT_EQ_INT(dync_module_parameters(again, NULL, 0), dync_module_parameters(net, NULL, 0));
    dync_module_free(again);
    dync_module_free(net);
    dync_module *own = dync_module_new_values("Weighted", weighted, "a, b, e", NULL);
    SET(own, "w", dync_shape(2), 1, 10);
    EXPECT_OK(dync_module_save(own, FILE_NAME));
    EXPECT(dync_module_open(FILE_NAME) == NULL);
    expect_error(DYNC_ERR_VALUE, "module class \"Weighted\" is not known");
    EXPECT_OK(dync_module_register_class("Weighted", weighted));
    again = dync_module_open(FILE_NAME);
    REQUIRE(again != NULL);
    dync_tensor *ones = dync_ones(dync_shape(2));
    EXPECT_NEAR(data(dync_as_tensor(dync_at(dync_module_call(again, ones, ones, 3), 0)))[1], 60,
                TOL_EXACT);
    dync_module_free(again);
    dync_module_free(own);
    EXPECT(dync_module_open(NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "the path is NULL");
    EXPECT(dync_module_open("build/not there") == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_IO);
    remove(FILE_NAME);
    dync_shutdown();
}

TEST(lstm_survives_a_file)
{
    dync_module *m = dync_nn_lstm(3, 2, 2, true), *again;
    dync_tensor *x = dync_randn(dync_shape(4, 1, 3));
    EXPECT_OK(dync_module_save(m, FILE_NAME));
    again = dync_module_open(FILE_NAME);
    REQUIRE(again != NULL);
    EXPECT(dync_equal(dync_as_tensor(dync_at(dync_module_call(m, x), 0)),
                      dync_as_tensor(dync_at(dync_module_call(again, x), 0))));
    dync_module_free(m);
    dync_module_free(again);
    remove(FILE_NAME);
    dync_shutdown();
}

TEST(bad_files)
{
    QUIET;
    static const char zeros[64] = {0};
    static const struct {
        const char *header;
        size_t n;
        const char *text;
    } cases[] = {
        {"", 0, "the header is no JSON object"},
        {"[1]", 0, "the header is no JSON object"},
        {"{\"a\":", 0, ""},
        {"{\"a\":1}", 0, "no object"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no dtype"},
        {"{\"a\":{\"dtype\":\"F8\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "dtype F8 of \"a\" is not supported"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
         "a size is not a count"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4,
         "a size is not a count"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8,
         "data_offsets do not fit the shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4,
         "data_offsets leave the file"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}", 8,
         "data_offsets leave the file"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
         "data with gaps or overlaps"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
         "data that belong to no tensor"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807,9],\"data_offsets\":[0,4]}}", 4,
         "the shape is too large"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0,
         "the shape is too large"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
         "has 9 dimensions"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         4, "gaps or overlaps"},
        {"{\"__metadata__\":{\"x\":1}}", 0, "metadata that is no text"},
        {"{\"__metadata__\":[]}", 0, "metadata that is no object"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "tensors but no structure"},
        {"{\"__metadata__\":{\"dync.module\":\"{}\"}}", 0, "no class"},
        {"{\"__metadata__\":{\"dync.module\":\"{\\\"class\\\":\\\"Linear\\\"}\"}}", 0,
         "no numbers"},
        {"{\"__metadata__\":{\"dync.module\":\"{\\\"class\\\":\\\"ReLU\\\",\\\"ints\\\":[],"
         "\\\"floats\\\":[],\\\"params\\\":[\\\"w\\\"]}\"}}",
         0, "a tensor that the file lacks"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"__metadata__\":{\"dync.module\":\"{\\\"class\\\":\\\"ReLU\\\",\\\"ints\\\":[],"
         "\\\"floats\\\":[]}\"}}",
         4, "not all of the file's tensors"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(cases[i].header, zeros, cases[i].n);
        EXPECT(dync_module_open(FILE_NAME) == NULL);
        EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
        EXPECT_HAS_STR(dync_error_message(), cases[i].text);
        dync_clear_error();
    }
    /* a length that lies, a file that is too short */
    FILE *f = fopen(FILE_NAME, "wb");
    fwrite("\xff\xff\xff\xff\xff\xff\xff\xff{}", 1, 10, f);
    fclose(f);
    EXPECT(dync_module_open(FILE_NAME) == NULL);
    expect_error(DYNC_ERR_FORMAT, "the header's length is wrong");
    f = fopen(FILE_NAME, "wb");
    fwrite("\1\2", 1, 2, f);
    fclose(f);
    EXPECT(dync_module_open(FILE_NAME) == NULL);
    expect_error(DYNC_ERR_FORMAT, "too short");
    remove(FILE_NAME);
    dync_shutdown();
}

/* A forward over tensors that a file has not given fails, and does not crash. */
TEST(a_layer_without_its_weights)
{
    QUIET;
    static const char zeros[4] = {0};
    write_file(
        "{\"__metadata__\":{\"dync.module\":\"{\\\"class\\\":\\\"Linear\\\",\\\"ints\\\":[1,1],"
        "\\\"floats\\\":[]}\"}}",
        zeros, 0);
    dync_module *m = dync_module_open(FILE_NAME);
    REQUIRE(m != NULL);
    EXPECT(dync_forward_call(m, dync_ones(dync_shape(1, 1))) == NULL);
    expect_error(DYNC_ERR_VALUE, "");
    dync_module_free(m);
    static const char *const classes[] = {"LSTM",      "Conv2d",    "BatchNorm2d", "Embedding",
                                          "LayerNorm", "MaxPool2d", "Sequential"};
    for (int i = 0; i < 7; i++) {
        char header[300];
        snprintf(
            header, sizeof header,
            "{\"__metadata__\":{\"dync.module\":\"{\\\"class\\\":\\\"%s\\\",\\\"ints\\\":[-1,1,"
            "2147483647,1],\\\"floats\\\":[]}\"}}",
            classes[i]);
        write_file(header, zeros, 0);
        m = dync_module_open(FILE_NAME);
        REQUIRE(m != NULL);
        DYNC_SCOPE {
            dync_forward_call(m, dync_ones(dync_shape(1, 1, 2, 2)));
            dync_forward_call(m, dync_ones(dync_shape(2, 1)));
        }
        dync_clear_error();
        dync_module_free(m);
    }
    remove(FILE_NAME);
    dync_shutdown();
}

/* A forward that gives one of what its child gives: the item outlives the child's list. */
static dync_value first_of(dync_module *m, const dync_value *a, int n)
{
    (void)n;
    return dync_at(dync_module_call_values(dync_module_child(m, "rnn"), 1, a), 0);
}
TEST(an_item_of_a_list_outlives_it)
{
    dync_module *m = dync_module_new_values("First", first_of, "x", NULL);
    dync_module_add(m, "rnn", dync_nn_lstm(3, 4, 1, false));
    dync_value x = DYNC_V(dync_randn(dync_shape(5, 2, 3)));
    dync_tensor *kept = NULL;
    DYNC_SCOPE {
        dync_tensor *y = dync_as_tensor(dync_module_call_values(m, 1, &x));
        EXPECT(y && dync_size(y, 2) == 4);
        kept = dync_escape(
            dync_as_tensor(dync_at(dync_tuple(dync_add(y, 1), dync_tuple(y, dync_mul(y, 2))), 0)));
    }
    EXPECT(kept && dync_size(kept, 0) == 5);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_module_free(m);
}

/* Parameters, buffers and gradients become the new dtype; the tensors stay who they are, and an
 * optimizer made before goes on with them. */
TEST(modules_are_converted_in_place)
{
    dync_module *m = dync_sequential(dync_nn_linear(3, 4, true),
                                     dync_nn_conv1d(4, 4, 1, 1, 0, false)),
                *b = dync_nn_batch_norm2d(2);
    dync_tensor *w = dync_module_param(m, "0.weight"),
                *before = dync_to_dtype(dync_detach(w), DYNC_F64);
    dync_optim *o = dync_optim_of(DYNC_OPTIM_SGD, m, (dync_optim_options){.lr = 0.5});
    dync_backward(dync_sum(w, DYNC_ALL, false));
    EXPECT_OK(dync_module_to_dtype(m, DYNC_F64));
    EXPECT(dync_module_param(m, "0.weight") == w && dync_type(w) == DYNC_F64 &&
           dync_type(dync_grad(w)) == DYNC_F64);
    EXPECT(dync_requires_grad(w) && dync_is_leaf(w) && dync_equal(dync_detach(w), before));
    EXPECT_OK(dync_optim_step(o));
    EXPECT(dync_allclose(dync_detach(w), dync_sub(before, 0.5), 0, 0));
    EXPECT_OK(dync_module_to_dtype(b, DYNC_BF16));
    EXPECT(dync_type(dync_module_buffer(b, "running_mean")) == DYNC_BF16 &&
           dync_type(dync_module_buffer(b, "num_batches_tracked")) == DYNC_I64);
    EXPECT_OK(dync_module_to_device(m, DYNC_CPU));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    QUIET;
    EXPECT_EQ_INT(dync_module_to_dtype(m, DYNC_I32), DYNC_ERR_DTYPE);
    dync_clear_error();
    EXPECT_EQ_INT(dync_module_to_device(NULL, DYNC_CPU), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_optim_free(o);
    dync_module_free(m);
    dync_module_free(b);
}
TEST_MAIN
