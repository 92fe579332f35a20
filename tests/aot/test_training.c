/* Training through compiled functions: gradients, parameters and buffers equal eager's, step by
 * step, on every backend. */
#include "../capture/counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

/* ---- functions of three tensors that require grad -------------------------------------------- */
typedef dync_tensor *(*fn3)(dync_tensor *, dync_tensor *, dync_tensor *);
static dync_tensor *pointwise(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    return dync_mul(dync_tanh(dync_add(dync_mul(x, y), 1)),
                    dync_div(z, dync_add(dync_abs(y), 1.5)));
}
static dync_tensor *reductions(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *s = dync_softmax(dync_add(x, y), -1),
                *m = dync_mean(dync_mul(s, z), dync_shape(0), true);
    return dync_sub(dync_mul(s, m), dync_sum(dync_mul(z, z), dync_shape(1), true));
}
static dync_tensor *views(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *a = dync_permute(x, dync_shape(1, 0)), *b = dync_slice(y, 0, 1, 4, 1),
                *c = dync_reshape(z, dync_shape(6, 4));
    return dync_add(dync_matmul(b, dync_transpose(dync_mul(dync_transpose(a, 0, 1), 2), 0, 1)),
                    dync_sum(dync_select(c, 0, 2), DYNC_ALL, false));
}
static dync_tensor *linears(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *h = dync_relu(dync_linear(x, y, NULL));
    return dync_gelu(
        dync_linear(dync_cat(dync_tuple(h, z), 1), dync_cat(dync_tuple(z, h), 1), NULL));
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
    DYNC_NO_GRAD {
        b = dync_mul(z, 2);
    }
    return dync_add(dync_where(dync_gt(x, 0), a, dync_mul(x, y)), b);
}

static dync_value grads_of(dync_tensor *out, dync_tensor **in)
{
    dync_backward(dync_sum(dync_mul(out, out), DYNC_ALL, false));
    dync_value v = dync_tuple(out, dync_grad(in[0]) ? DYNC_V(dync_grad(in[0])) : DYNC_NONE,
                              dync_grad(in[1]) ? DYNC_V(dync_grad(in[1])) : DYNC_NONE,
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
            dync_value want = grads_of(fn(in[0], in[1], in[2]), in),
                       got = grads_of(dync_call(f, in[0], in[1], in[2]), in);
            for (int i = 0; i < 4; i++) {
                EXPECT_EQ_INT(dync_at(want, i).kind, dync_at(got, i).kind);
                if (dync_at(want, i).kind == DYNC_KIND_TENSOR)
                    EXPECT(same(dync_as_tensor(dync_at(want, i)), dync_as_tensor(dync_at(got, i)),
                                1e-4));
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

/* ---- two losses of one graph ----------------------------------------------------------------- */
static dync_value two_results(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *y = dync_as_tensor(v[1]);
    (void)n, (void)user;
    return dync_tuple(dync_sum(dync_mul(dync_sin(x), dync_detach(y)), DYNC_ALL, false),
                      dync_sum(dync_exp(y), DYNC_ALL, false),
                      dync_sum(dync_mul(x, x), DYNC_ALL, false));
}
/* Results whose gradients have nothing in common are differentiated one after the other, none
 * twice. */
TEST(results_with_gradients_of_their_own)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(two_results, .backend = backends[b]);
        dync_tensor *x = dync_randn(dync_shape(5), .requires_grad = true),
                    *y = dync_randn(dync_shape(5), .requires_grad = true);
        dync_value r = dync_call_value(f, x, y);
        EXPECT_STATUS(dync_backward(dync_as_tensor(dync_at(r, 1))), DYNC_OK);
        EXPECT(!dync_grad(x));
        EXPECT(dync_equal(dync_grad(y), dync_exp(y)));
        EXPECT_STATUS(dync_backward_opt(dync_tuple(dync_at(r, 0), dync_at(r, 2)), DYNC_NONE,
                                        (dync_grad_options){0}),
                      DYNC_OK);
        EXPECT(dync_allclose(dync_grad(x),
                             dync_add(dync_mul(dync_cos(x), dync_detach(y)), dync_mul(x, 2)), 1e-5,
                             1e-6));
        /* detached: nothing came from the first */
        EXPECT(dync_equal(dync_grad(y), dync_exp(y)));
        dync_compiled_free(f);
    }
}

static dync_module *gan_g, *gan_d;
static dync_optim *gan_opt_g, *gan_opt_d;
static bool gan_breaks;
static dync_tensor *gan_step(dync_tensor *z, dync_tensor *real)
{
    dync_tensor *fake = dync_forward_call(gan_g, z), *one = dync_ones(dync_shape(8, 1)),
                *zero = dync_zeros(dync_shape(8, 1));
    if (gan_breaks) dync_graph_break("generator");
    dync_tensor *loss_d = dync_add(
        dync_binary_cross_entropy_with_logits(dync_forward_call(gan_d, real), one),
        dync_binary_cross_entropy_with_logits(dync_forward_call(gan_d, dync_detach(fake)), zero));
    dync_optim_zero_grad(gan_opt_d);
    dync_backward(loss_d);
    dync_optim_step(gan_opt_d);
    dync_tensor *loss_g =
        dync_binary_cross_entropy_with_logits(dync_forward_call(gan_d, fake), one);
    dync_optim_zero_grad(gan_opt_g);
    dync_backward(loss_g);
    dync_optim_step(gan_opt_g);
    return dync_add(dync_detach(loss_d), dync_mul(dync_detach(loss_g), 10));
}
static void gan_train(const char *backend, bool fullgraph, double *loss)
{
    dync_manual_seed(5);
    gan_g =
        dync_sequential(dync_nn_linear(4, 16, true), dync_nn_relu(), dync_nn_linear(16, 6, true));
    gan_d = dync_sequential(dync_nn_linear(6, 16, true), dync_nn_leaky_relu(0.2),
                            dync_nn_linear(16, 1, true));
    gan_opt_g = dync_adam(gan_g, .lr = 0.01);
    gan_opt_d = dync_sgd(gan_d, .lr = 0.05, .momentum = 0.9);
    dync_compiled *f = backend ? dync_compile(gan_step, .backend = backend, .fullgraph = fullgraph)
                               : NULL;
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        dync_tensor *z = dync_randn(dync_shape(8, 4)), *real = dync_randn(dync_shape(8, 6));
        loss[i] = dync_item(f ? dync_call(f, z, real) : gan_step(z, real));
    }
    dync_compiled_free(f);
    dync_optim_free(gan_opt_g);
    dync_optim_free(gan_opt_d);
    dync_module_free(gan_g);
    dync_module_free(gan_d);
}
/* Two models, two losses, one step: the generator's history is there after the discriminator's
 * backward. */
TEST(a_gan)
{
    double want[6], got[6];
    gan_train(NULL, false, want);
    for (int k = 0; k < 9; k++) {
        gan_breaks = k / 3 == 1;
        gan_train(backends[k % 3], k / 3 == 2, got);
        for (int i = 0; i < 6; i++) EXPECT_NEAR(got[i], want[i], 1e-4);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

/* ---- seeds and other memory in the middle ---------------------------------------------------- */
static dync_tensor *seeded(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_manual_seed(7);
    dync_tensor *a = dync_mul(dync_dropout(x, 0.5, true), y), *b = dync_rand_like(z);
    dync_manual_seed(11);
    return dync_add(a, dync_mul(b, z));
}
static dync_tensor *seeded_between(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *a = dync_mul(dync_dropout(x, 0.5, true), y);
    dync_manual_seed(5);
    return dync_add(a, dync_mul(dync_rand_like(z), z));
}
/* Numbers that nobody reads are drawn all the same. */
static dync_tensor *draws_for_nobody(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_mul(dync_bernoulli(dync_sigmoid(x)), y);
    dync_tensor *a = dync_mul(dync_dropout(x, 0.5, true), y);
    dync_normal_(dync_clone(dync_detach(z)), 0, 1);
    return dync_add(a, dync_mul(dync_rand_like(z), z));
}
static dync_tensor *other_memory(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *a = dync_detach(dync_mul(x, 2)), *b = dync_slice(a, 0, 0, 2, 1);
    dync_set_(a, dync_transpose(dync_detach(dync_sin(y)), 0, 1));
    dync_mul_(b, 3); /* still the memory that a had */
    return dync_add(dync_matmul(z, a),
                    dync_sum(dync_mul(b, dync_slice(x, 0, 0, 2, 1)), DYNC_ALL, false));
}
static void same_with_seeds(fn3 fn)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f =
            dync_compile(fn, .args = "x, y, z", .backend = backends[b], .fullgraph = true);
        for (uint64_t step = 0; step < 3; step++) DYNC_SCOPE {
            dync_tensor *in[3], *after[2];
            for (int i = 0; i < 3; i++) in[i] = dync_randn(dync_shape(4, 6), .requires_grad = true);
            dync_manual_seed(step);
            dync_value want = grads_of(fn(in[0], in[1], in[2]), in);
            after[0] = dync_rand(dync_shape(3));
            dync_manual_seed(step);
            dync_value got = grads_of(dync_call(f, in[0], in[1], in[2]), in);
            after[1] = dync_rand(dync_shape(3));
            for (int i = 0; i < 4; i++) {
                EXPECT_EQ_INT(dync_at(want, i).kind, dync_at(got, i).kind);
                if (dync_at(want, i).kind == DYNC_KIND_TENSOR)
                    EXPECT(same(dync_as_tensor(dync_at(want, i)), dync_as_tensor(dync_at(got, i)),
                                1e-4));
            }
            EXPECT(same(after[0], after[1], 0));
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
        }
        dync_compiled_free(f);
    }
}
TEST(a_seed_inside) { same_with_seeds(seeded); }
TEST(a_seed_between_random_numbers) { same_with_seeds(seeded_between); }
TEST(random_numbers_that_nobody_reads) { same_with_seeds(draws_for_nobody); }
TEST(another_memory_inside) { same_with_seeds(other_memory); }

/* ---- custom functions of several outputs ----------------------------------------------------- */
static int two_backwards;
static dync_value two_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_as_tensor(a[1]);
    (void)n;
    dync_save_for_backward(c, x);
    dync_save_for_backward(c, y);
    return dync_tuple(dync_mul(x, y), dync_argmax(x, 0, false),
                      dync_sum(dync_sin(x), DYNC_ALL, false));
}
/* no plain derivative: the first gradient is clipped */
static dync_value two_backward(dync_autograd_ctx *c, const dync_value *g, int n)
{
    dync_tensor *x = dync_saved(c, 0), *y = dync_saved(c, 1),
                *g0 = dync_clamp(dync_as_tensor(g[0]), -0.5, 0.5);
    two_backwards += n == 3;
    return dync_tuple(dync_add(dync_mul(g0, y), dync_mul(dync_cos(x), dync_as_tensor(g[2]))),
                      dync_mul(g0, x));
}
static const dync_autograd_function two_function = {
    .name = "Two", .forward = two_forward, .backward = two_backward};
static dync_tensor *uses_two(dync_tensor *x, dync_tensor *y)
{
    dync_value v = dync_apply(&two_function, dync_mul(x, 2), y);
    return dync_add(dync_mul(dync_as_tensor(dync_at(v, 0)), dync_as_tensor(dync_at(v, 2))),
                    dync_as_tensor(dync_at(v, 1)));
}
TEST(a_custom_function_of_several_outputs)
{
    for (int k = 0; k < 6; k++) {
        dync_compiled *f =
            dync_compile(uses_two, .backend = backends[k % 3], .fullgraph = k / 3 == 1);
        /* sizes are symbolic from the second on */
        for (int rows = 3; rows < 7; rows++) DYNC_SCOPE {
            dync_tensor *x[2], *y[2], *r[2];
            for (int i = 0; i < 2; i++) {
                x[i] = i ? dync_requires_grad_(dync_detach(dync_clone(x[0])), true)
                         : dync_randn(dync_shape(rows, 2), .requires_grad = true);
                y[i] = i ? dync_requires_grad_(dync_detach(dync_clone(y[0])), true)
                         : dync_randn(dync_shape(rows, 2), .requires_grad = true);
                r[i] = i ? dync_call(f, x[i], y[i]) : uses_two(x[i], y[i]);
                two_backwards = 0;
                dync_backward(dync_sum(dync_mul(r[i], dync_arange(0, 2, 1)), DYNC_ALL, false));
                if (!i) EXPECT(two_backwards == 1);
            }
            EXPECT(dync_allclose(r[1], r[0], 1e-5, 1e-6) &&
                   dync_allclose(dync_grad(x[1]), dync_grad(x[0]), 1e-5, 1e-6) &&
                   dync_allclose(dync_grad(y[1]), dync_grad(y[0]), 1e-5, 1e-6));
        }
        dync_compiled_free(f);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

/* ---- whole modules, several steps ------------------------------------------------------------ */
static dync_module *mlp(void)
{
    return dync_sequential(dync_nn_linear(6, 8, true), dync_nn_relu(), dync_nn_linear(8, 3, true),
                           dync_nn_sigmoid());
}
static dync_module *cnn(void)
{
    return dync_sequential(dync_nn_conv2d(1, 4, 3, 1, 1, true), dync_nn_batch_norm2d(4),
                           dync_nn_relu(), dync_nn_conv2d(4, 2, 3, 2, 0, false));
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
    for (int step = 0; step < 5; step++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(shape), *loss[2];
        dync_module *m[2] = {a, b};
        for (int k = 0; k < 2; k++) {
            dync_tensor *y = dync_forward_call(m[k], x), *p[16];
            loss[k] = dync_mean(dync_mul(y, y), DYNC_ALL, false);
            dync_backward(loss[k]);
            int n = dync_module_parameters(m[k], p, 16);
            for (int i = 0; i < n; i++) {
                EXPECT(dync_grad(p[i]) != NULL);
                DYNC_NO_GRAD {
                    dync_add_(p[i], dync_mul(dync_grad(p[i]), -0.3));
                }
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
TEST(train_mlp)
{
    for (int i = 0; i < 3; i++) train_equal(mlp, dync_shape(5, 6), backends[i]);
}
TEST(train_cnn)
{
    for (int i = 0; i < 3; i++) train_equal(cnn, dync_shape(3, 1, 7, 7), backends[i]);
}

/* ---- what backward computes again decides as forward did ------------------------------------- */
/* The largest of windows scaled by their own short means: the gradient of amax asks which elements
 * equal the largest. Sums of four in another order differ in their last bits now and then, so many
 * inputs are tried; a mask that fits none gives 0 / 0. */
static dync_value scaled_windows(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_slice(dync_as_tensor(args[0]), 2, 0, 2, 1);
    dync_tensor *y = dync_rms_norm(x, dync_shape(dync_dim(x, 2), dync_dim(x, 3)), NULL, 1e-4);
    dync_tensor *shown = dync_sum(dync_selu(dync_pad(y, dync_shape(3, 2), 4)), DYNC_ALL, false);
    return DYNC_V(dync_add(dync_amax(y, DYNC_ALL, false), shown));
}
/* A mask of forward that backward reads, from a value beside its mean. */
static dync_value above_their_mean(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_slice(dync_as_tensor(args[0]), 2, 1, 3, 1);
    dync_tensor *m = dync_mean(x, dync_shape(2, 3), true), *far = dync_abs(dync_sub(x, m));
    dync_tensor *most = dync_amax(far, dync_shape(2, 3), true);
    return DYNC_V(
        dync_sum(dync_where(dync_eq(far, most), dync_exp(x), dync_sin(x)), DYNC_ALL, false));
}
TEST(what_is_computed_again_decides_alike)
{
    dync_value (*const fns[])(const dync_value *, int, void *) = {scaled_windows, above_their_mean};
    static const char *const options[] = {NULL, "memory_budget=0", "memory_budget=0.5"};
    for (int f = 0; f < 2; f++)
        for (int o = 0; o < 3; o++) DYNC_SCOPE {
            dync_compiled *compiled = dync_compile(fns[f], .args = "x", .options = options[o]);
            int wrong = 0;
            for (int k = 0; k < 60; k++) DYNC_SCOPE {
                dync_tensor *x = dync_randn(dync_shape(4, 4, 3, 2)), *grad[2];
                for (int c = 0; c < 2; c++) {
                    dync_tensor *leaf = dync_requires_grad_(dync_clone(x), true);
                    dync_value in = DYNC_V(leaf);
                    dync_backward(dync_as_tensor(c ? dync_call_values(compiled, 1, &in)
                                                   : fns[f](&in, 1, NULL)));
                    grad[c] = dync_grad(leaf);
                }
                wrong += !same(grad[0], grad[1], 1e-4);
            }
            EXPECT_EQ_INT(wrong, 0);
            dync_compiled_free(compiled);
        }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* What is dear is saved, what a result holds costs nothing to save, the cheap is computed again. */
static dync_tensor *dear(dync_tensor *x) { return dync_sum(dync_exp(x), dync_shape(1), false); }
static dync_tensor *crossed(dync_tensor *x) { return dync_transpose(dync_tanh(x), 0, 1); }
static dync_tensor *cheap(dync_tensor *x)
{
    return dync_mul(dync_mul(dync_sub(x, 1), 2), dync_mul(dync_sub(x, 3), 4));
}
TEST(what_is_dear_is_not_computed_again)
{
    dync_tensor *x = dync_randn(dync_shape(64, 32), .requires_grad = true);
    EXPECT(strstr(dync_explain(dear, x).memory[0], " 0 operators computed again"));
    EXPECT(strstr(dync_explain(crossed, x).memory[0], " 0 operators computed again"));
    EXPECT(!strstr(dync_explain(cheap, x).memory[0], " 0 operators computed again"));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* What has no elements weighs nothing, but is not saved for that: it may be written afterwards. */
static dync_value empty_and_written(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(args[0]);
    dync_tensor *empty = dync_randn(dync_shape(3, 1, 0));
    dync_tensor *y = dync_unique(dync_sin(x)); /* a break: what is before it is a graph */
    dync_sin_(empty);
    return DYNC_V(dync_sum(dync_mul(dync_select(y, 0, 0), x), DYNC_ALL, false));
}
TEST(nothing_is_saved_of_empty_values)
{
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        dync_compiled *compiled =
            dync_compile(empty_and_written, .args = "x", .backend = backends[i]);
        dync_tensor *x = dync_randn(dync_shape(4, 7)), *grad[2];
        for (int c = 0; c < 2; c++) {
            dync_tensor *leaf = dync_requires_grad_(dync_clone(x), true);
            dync_value in = DYNC_V(leaf);
            dync_backward(dync_as_tensor(c ? dync_call_values(compiled, 1, &in)
                                           : empty_and_written(&in, 1, NULL)));
            grad[c] = dync_grad(leaf);
        }
        EXPECT(same(grad[0], grad[1], 1e-5));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(compiled);
    }
}

/* A gradient that does not arrive is zeros that lie as its result does, once backward is made again
 * without it. */
static dync_value crossed_and_summed(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *y = dync_exp(dync_add(dync_as_tensor(args[0]), 1));
    return dync_tuple(y, dync_sum(dync_mul(y, y), DYNC_ALL, false));
}
TEST(what_does_not_arrive_lies_as_its_result)
{
    dync_compiled *compiled = dync_compile(crossed_and_summed, .args = "x");
    for (int call = 0; call < 60; call++) DYNC_SCOPE {
        dync_tensor *x = dync_transpose(dync_randn(dync_shape(200, 150)), 0, 1), *grad[2];
        for (int c = 0; c < 2; c++) {
            dync_tensor *leaf = dync_requires_grad_(dync_detach(x), true);
            dync_value in = DYNC_V(leaf), out = c ? dync_call_values(compiled, 1, &in)
                                                  : crossed_and_summed(&in, 1, NULL);
            dync_backward(dync_as_tensor(dync_at(out, 1)));
            grad[c] = dync_grad(leaf);
        }
        EXPECT(same(grad[0], grad[1], 1e-5));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
    }
    dync_compiled_free(compiled);
}
TEST_MAIN
