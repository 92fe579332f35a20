/* Backend tvm where Apache TVM is found (DYNC_TVM), else skipped: the module of the source tests
 * with their options, 30 graphs forward, 10 training steps; what it says where it is absent. */
#include "dync.h"
#include <stdlib.h>
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"
extern int setenv(const char *, const char *, int);

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static dync_tensor *plus_one(dync_tensor *x) { return dync_add(x, 1); }

/* "" where it is there, else what it says */
static const char *absent(void)
{
    static char text[1024];
    text[0] = 0;
    dync_on_error(quiet, NULL);
    dync_compiled *f = dync_compile(plus_one, .backend = "tvm");
    if (!dync_call(f, dync_ones(dync_shape(2))))
        snprintf(text, sizeof text, "%s", dync_error_message());
    dync_clear_error();
    dync_compiled_free(f);
    dync_on_error(NULL, NULL);
    return text;
}
#define NEED_TVM                                                                  \
    do {                                                                          \
        if (*absent()) SKIP("there is no Apache TVM: DYNC_TVM names its folder"); \
    } while (0)

/* Without the library: what is missing, where it is looked for, who has it. */
TEST(absent)
{
    const char *text = absent();
    if (!*text) SKIP("Apache TVM is there");
    EXPECT_HAS_STR(text, "backend 'tvm' is not available: Apache TVM is not part of this program");
    EXPECT_HAS_STR(text, "libtvm_ffi.so");
    EXPECT_HAS_STR(text, "DYNC_TVM");
    EXPECT_HAS_STR(text, "pip install apache-tvm");
}

TEST(options)
{
    static const char *const bad[] = {"nonsense=1", "scheduler=meta_schedule", "opt_level=4",
                                      "opt_level=-1", "threads=2"};
    dync_on_error(quiet, NULL);
    for (int i = 0; i < 5; i++) {
        dync_compiled *f = dync_compile(plus_one, .backend = "tvm", .options = bad[i]);
        EXPECT(!dync_call(f, dync_ones(dync_shape(2))));
        EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
        dync_clear_error();
        dync_compiled_free(f);
    }
}

static dync_module *seq(void)
{
    return dync_sequential(dync_nn_linear(10, 10, true), dync_nn_relu(),
                           dync_nn_linear(10, 10, true), dync_nn_sigmoid());
}
static dync_module *net;
static dync_tensor *run_net(dync_tensor *x) { return dync_forward_call(net, x); }

TEST(source_tests)
{
    static const char *const options[] = {"", "scheduler=none", "opt_level=0"};
    NEED_TVM;
    for (int i = 0; i < 3; i++) {
        net = seq();
        dync_module_train(net, false);
        dync_tensor *x = dync_randn(dync_shape(2, 10)), *want = run_net(x);
        dync_compiled *f = dync_compile(run_net, .backend = "tvm", .options = options[i]);
        dync_tensor *got = dync_call(f, x);
        REQUIRE(got != NULL);
        EXPECT(dync_allclose(got, want, 0.01, 0.01));
        EXPECT(dync_allclose(got, want, 1e-5, 1e-6)); /* and well within */
        dync_compiled_free(f);
        dync_module_free(net);
    }
}

/* ---- 30 graphs ------------------------------------------------------------------------------- */

#define G(name, expr)                                        \
    static dync_tensor *name(dync_tensor *x, dync_tensor *y) \
    {                                                        \
        (void)y;                                             \
        return expr;                                         \
    }
G(g_arith, dync_div(dync_sub(dync_mul(x, 3), y), dync_add(dync_abs(y), 1)))
G(g_unary, dync_exp(dync_neg(dync_square(dync_sin(dync_cos(x))))))
G(g_more_unary, dync_tanh(dync_sinh(dync_atan(dync_log(dync_add(dync_abs(x), 1))))))
G(g_roots,
  dync_rsqrt(dync_add(dync_sqrt(dync_abs(x)), dync_reciprocal(dync_add(dync_square(y), 1)))))
G(g_relu, dync_relu(dync_sub(x, y)))
G(g_leaky, dync_leaky_relu(x, 0.1))
G(g_silu, dync_silu(dync_mul(x, y)))
G(g_gelu, dync_gelu(x))
G(g_gelu_tanh, dync_gelu_tanh(x))
G(g_extremes, dync_add(dync_maximum(x, y), dync_minimum(x, 0.5)))
G(g_where, dync_where(dync_gt(x, y), dync_mul(x, 2), y))
G(g_mask, dync_masked_fill(x, dync_logical_not(dync_le(x, y)), -1))
G(g_sum, dync_sum(x, dync_shape(0), false))
G(g_sum_all, dync_sum(dync_mul(x, y), DYNC_ALL, false))
G(g_mean, dync_mean(x, dync_shape(-1), true))
G(g_extreme_dims, dync_sub(dync_amax(x, dync_shape(1), true), dync_amin(x, dync_shape(1), true)))
G(g_var, dync_var(x, dync_shape(1), 1, false))
G(g_std, dync_std(x, dync_shape(0, 1), 0, true))
G(g_softmax, dync_softmax(x, 0))
G(g_log_softmax, dync_log_softmax(x, -1))
G(g_matmul, dync_matmul(x, dync_transpose(y, 0, 1)))
G(g_batched, dync_matmul(dync_unsqueeze(x, 0), dync_unsqueeze(dync_t(y), 0)))
G(g_norm, dync_layer_norm(x, dync_shape(6), dync_select(y, 0, 0), dync_select(y, 0, 1), 1e-5))
G(g_views,
  dync_add(dync_permute(dync_view(x, dync_shape(2, 2, 6)), dync_shape(2, 0, 1)),
           dync_expand(dync_view(dync_select(y, 0, 2), dync_shape(6, 1, 1)), dync_shape(6, 2, 2))))
G(g_slices, dync_cat(dync_tuple(dync_slice(x, 1, 0, 6, 2), dync_slice(y, 1, 3, 6, 1)), 1))
G(g_transposed_result, dync_t(dync_mul(x, 2)))
G(g_broadcast, dync_add(dync_sum(x, dync_shape(1), true), dync_mean(y, dync_shape(0), false)))
G(g_double, dync_mul(dync_to_dtype(x, DYNC_F64), 1.0 / 3))
G(g_sorted, dync_add(dync_cumsum(dync_mul(x, 2), 1), dync_exp(y))) /* a part is dync's */
G(g_conv, dync_conv2d(dync_view(dync_cat(dync_tuple(x, y), 0), dync_shape(1, 2, 4, 6)),
                      dync_view(dync_slice(x, 0, 0, 3, 1), dync_shape(1, 2, 3, 3)), NULL,
                      dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1))

static const struct {
    const char *name;
    dync_tensor *(*fn)(dync_tensor *, dync_tensor *);
} graphs[] = {
    {"g_arith", g_arith},
    {"g_unary", g_unary},
    {"g_more_unary", g_more_unary},
    {"g_roots", g_roots},
    {"g_relu", g_relu},
    {"g_leaky", g_leaky},
    {"g_silu", g_silu},
    {"g_gelu", g_gelu},
    {"g_gelu_tanh", g_gelu_tanh},
    {"g_extremes", g_extremes},
    {"g_where", g_where},
    {"g_mask", g_mask},
    {"g_sum", g_sum},
    {"g_sum_all", g_sum_all},
    {"g_mean", g_mean},
    {"g_extreme_dims", g_extreme_dims},
    {"g_var", g_var},
    {"g_std", g_std},
    {"g_softmax", g_softmax},
    {"g_log_softmax", g_log_softmax},
    {"g_matmul", g_matmul},
    {"g_batched", g_batched},
    {"g_norm", g_norm},
    {"g_views", g_views},
    {"g_slices", g_slices},
    {"g_transposed_result", g_transposed_result},
    {"g_broadcast", g_broadcast},
    {"g_double", g_double},
    {"g_sorted", g_sorted},
    {"g_conv", g_conv},
};
static int now; /* the graph being run */
static dync_tensor *run_graph(dync_tensor *x, dync_tensor *y) { return graphs[now].fn(x, y); }

static void forward(const char *options)
{
    EXPECT(sizeof graphs / sizeof *graphs >= 30);
    for (now = 0; now < (int)(sizeof graphs / sizeof *graphs); now++) {
        dync_manual_seed(17 + (uint64_t)now);
        dync_tensor *x = dync_randn(dync_shape(4, 6)), *y = dync_randn(dync_shape(4, 6));
        dync_tensor *want = run_graph(x, y);
        dync_compiled *f = dync_compile(run_graph, .backend = "tvm", .options = options);
        for (int again = 0; again < 2; again++) {
            dync_tensor *got = dync_call(f, x, y);
            if (!got || !want) printf("  %s: %s\n", graphs[now].name, dync_error_message());
            REQUIRE(got != NULL && want != NULL);
            bool same = dync_allclose(got, want, 1e-4, 1e-5) && dync_type(got) == dync_type(want);
            for (int d = 0; d < dync_ndim(want); d++)
                same = same && dync_stride(got, d) == dync_stride(want, d);
            if (!same) printf("  %s differs\n", graphs[now].name);
            EXPECT(same);
        }
        dync_compiled_free(f);
    }
}
TEST(forward_graphs)
{
    NEED_TVM;
    forward("");
}
TEST(forward_graphs_unoptimised)
{
    NEED_TVM;
    forward("opt_level=0");
}

/* NaN, zeros and infinities as dync has them. */
TEST(special_values)
{
    NEED_TVM;
    static float odd[24];
    const float some[8] = {(float)NAN, 0.f, -0.f, (float)INFINITY, -(float)INFINITY, 1, -1, 0.5f};
    for (int i = 0; i < 24; i++) odd[i] = some[(i * 5 + i / 8) % 8];
    static const int which[] = {0, 4, 5, 9, 10, 11, 15};
    for (int k = 0; k < 7; k++) {
        now = which[k];
        dync_tensor *x = dync_from(odd, dync_shape(4, 6)), *y = dync_flip(x, dync_shape(1));
        dync_compiled *f = dync_compile(run_graph, .backend = "tvm");
        dync_tensor *want = run_graph(x, y), *got = dync_call(f, x, y);
        REQUIRE(got != NULL);
        bool same = dync_bool(dync_all(dync_isclose(got, want, 1e-5, 1e-6, true), DYNC_ALL, false));
        if (!same) {
            printf("  %s differs\n", graphs[now].name);
            dync_print(want);
            dync_print(got);
        }
        EXPECT(same);
        dync_compiled_free(f);
    }
}

/* ---- training -------------------------------------------------------------------------------- */

static dync_tensor *loss_of(dync_tensor *x, dync_tensor *y)
{
    return dync_mse_loss(dync_forward_call(net, x), y);
}
static void train(dync_module *(*make)(void), dync_dims in, dync_dims out)
{
    dync_tensor *loss[2][10];
    for (int way = 0; way < 2; way++) {
        dync_manual_seed(5);
        net = make();
        dync_optim *o = dync_sgd(net, .lr = 0.05, .momentum = 0.9);
        dync_compiled *f = dync_compile(loss_of, .backend = way ? "tvm" : "eager");
        dync_tensor *x = dync_randn(((dync_make){.shape = in}).shape),
                    *y = dync_rand(((dync_make){.shape = out}).shape);
        for (int i = 0; i < 10; i++) {
            loss[way][i] = dync_call(f, x, y);
            REQUIRE(loss[way][i] != NULL);
            dync_backward(loss[way][i]);
            REQUIRE_OK(dync_error());
            dync_optim_step(o);
            dync_optim_zero_grad(o);
        }
        dync_compiled_free(f);
        dync_optim_free(o);
        dync_module_free(net);
    }
    for (int i = 0; i < 10; i++) EXPECT_NEAR(dync_item(loss[1][i]), dync_item(loss[0][i]), 1e-4);
    EXPECT(dync_item(loss[1][9]) < dync_item(loss[1][0]));
}
static dync_module *cnn(void)
{
    return dync_sequential(dync_nn_conv2d(2, 4, 3, 1, 1, true), dync_nn_batch_norm2d(4),
                           dync_nn_gelu(), dync_nn_max_pool2d(2, 2, 0), dync_nn_flatten(),
                           dync_nn_linear(36, 10, true), dync_nn_layer_norm(10),
                           dync_nn_softmax(1));
}
TEST(training_steps)
{
    NEED_TVM;
    train(seq, dync_shape(2, 10), dync_shape(2, 10));
}
/* With parts that dync runs: pooling, convolution's gradients, the batch counter. */
TEST(training_steps_in_parts)
{
    NEED_TVM;
    train(cnn, dync_shape(3, 2, 6, 6), dync_shape(3, 10));
}

TEST_MAIN
