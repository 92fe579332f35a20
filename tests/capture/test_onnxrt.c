/* Backend onnxrt with the real library: 30 functions forward, training, options, operators that it
 * lacks. Skipped, with the reason, where ONNX Runtime is not to be had: name its library in
 * DYNC_ONNXRUNTIME (tests/interop/onnxrt.sh does). */
#include "counter.h"

static dync_tensor *f_pointwise(dync_tensor *a, dync_tensor *b)
{
    return dync_div(a, dync_add(dync_abs(b), 1));
}
static dync_tensor *f_gelu(dync_tensor *a, dync_tensor *b)
{
    return dync_mul(dync_gelu(a), dync_sigmoid(b));
}
static dync_tensor *f_gelu_tanh(dync_tensor *a, dync_tensor *b)
{
    return dync_sub(dync_gelu_tanh(a), dync_silu(b));
}
static dync_tensor *f_exp(dync_tensor *a, dync_tensor *b)
{
    return dync_log1p(dync_exp(dync_minimum(a, b)));
}
static dync_tensor *f_trig(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_mul(dync_sin(a), dync_cos(b)), dync_tanh(a));
}
static dync_tensor *f_compare(dync_tensor *a, dync_tensor *b)
{
    return dync_where(dync_gt(a, b), a, dync_neg(b));
}
static dync_tensor *f_clamp(dync_tensor *a, dync_tensor *b)
{
    return dync_clamp(dync_add(a, b), -0.5, 0.75);
}
static dync_tensor *f_sum(dync_tensor *a, dync_tensor *b)
{
    return dync_sum(dync_mul(a, b), dync_shape(1), true);
}
static dync_tensor *f_mean(dync_tensor *a, dync_tensor *b)
{
    return dync_mean(dync_sub(a, b), DYNC_ALL, false);
}
static dync_tensor *f_var(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_var(a, dync_shape(0), 1, false), dync_std(b, dync_shape(0), 0, false));
}
static dync_tensor *f_amax(dync_tensor *a, dync_tensor *b)
{
    return dync_sub(dync_amax(a, dync_shape(1), true), dync_amin(b, dync_shape(1), true));
}
static dync_tensor *f_softmax(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_softmax(a, 1), dync_log_softmax(b, 0));
}
static dync_tensor *f_logsumexp(dync_tensor *a, dync_tensor *b)
{
    return dync_logsumexp(dync_sub(a, b), dync_shape(1), false);
}
static dync_tensor *f_matmul(dync_tensor *a, dync_tensor *b) { return dync_matmul(a, dync_t(b)); }
static dync_tensor *f_linear(dync_tensor *a, dync_tensor *b)
{
    return dync_relu(dync_linear(a, b, dync_select(b, 1, 0)));
}
static dync_tensor *f_batched(dync_tensor *a, dync_tensor *b)
{
    return dync_bmm(dync_unsqueeze(a, 0), dync_unsqueeze(dync_transpose(b, 0, 1), 0));
}
static dync_tensor *f_views(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_reshape(dync_permute(a, dync_shape(1, 0)), dync_shape(4, 6)), b);
}
static dync_tensor *f_slices(dync_tensor *a, dync_tensor *b)
{
    return dync_mul(dync_slice(a, 1, 1, 6, 2), dync_select(b, 0, -1));
}
static dync_tensor *f_cat(dync_tensor *a, dync_tensor *b)
{
    return dync_cat(dync_tuple(a, dync_flip(b, dync_shape(1)), a), 1);
}
static dync_tensor *f_stack(dync_tensor *a, dync_tensor *b)
{
    return dync_stack(dync_tuple(dync_roll(a, dync_shape(1), dync_shape(0)), b), 1);
}
static dync_tensor *f_sort(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_as_tensor(dync_at(dync_sort(a, 1, true), 0)), b);
}
static dync_tensor *f_cumsum(dync_tensor *a, dync_tensor *b)
{
    return dync_mul(dync_cumsum(a, 1), b);
}
static dync_tensor *f_gather(dync_tensor *a, dync_tensor *b)
{
    return dync_gather(a, 1, dync_argsort(b, 1, false));
}
static dync_tensor *f_scatter(dync_tensor *a, dync_tensor *b)
{
    return dync_scatter_add(a, 1, dync_argsort(b, 1, false), b);
}
static dync_tensor *f_norm(dync_tensor *a, dync_tensor *b)
{
    return dync_layer_norm(dync_add(a, b), dync_shape(6), dync_select(b, 0, 0),
                           dync_select(a, 0, 1), 1e-5);
}
static dync_tensor *f_tril(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_tril(a, 1), dync_triu(b, 0));
}
static dync_tensor *f_inplace(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *c = dync_clone(a);
    dync_mul_(dync_slice(c, 1, 0, 3, 1), 2);
    return dync_add_(c, b);
}
static dync_tensor *f_attention(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *q = dync_unsqueeze(a, 0), *k = dync_unsqueeze(b, 0);
    return dync_scaled_dot_product_attention(q, k, k, NULL, 0, true, DYNC_NONE);
}
static dync_tensor *f_halves(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *h = dync_to_dtype(a, DYNC_F16);
    return dync_to_dtype(dync_mul(h, dync_to_dtype(b, DYNC_F16)), DYNC_F32);
}
static dync_tensor *f_integers(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *i = dync_to_dtype(dync_mul(a, 10), DYNC_I32);
    return dync_remainder(i, dync_add(dync_to_dtype(dync_abs(b), DYNC_I32), 3));
}

static dync_tensor *(*const functions[])(dync_tensor *, dync_tensor *) = {
    f_pointwise, f_gelu,   f_gelu_tanh, f_exp,       f_trig,      f_compare, f_clamp,  f_sum,
    f_mean,      f_var,    f_amax,      f_softmax,   f_logsumexp, f_matmul,  f_linear, f_batched,
    f_views,     f_slices, f_cat,       f_stack,     f_sort,      f_cumsum,  f_gather, f_scatter,
    f_norm,      f_tril,   f_inplace,   f_attention, f_halves,    f_integers};

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* Compiles something small; false: the library is not there, and compiling said so. */
static bool there(void)
{
    dync_on_error(quiet, NULL);
    dync_compiled *f = dync_compile(f_pointwise, .args = "a, b", .backend = "onnxrt");
    bool ok = dync_call(f, dync_ones(dync_shape(2)), dync_ones(dync_shape(2))) != NULL;
    if (!ok) {
        EXPECT_EQ_INT(dync_error(), DYNC_ERR_BACKEND);
        EXPECT_HAS_STR(dync_error_message(), "is not available");
        EXPECT_HAS_STR(dync_error_message(), "DYNC_ONNXRUNTIME");
        EXPECT_HAS_STR(dync_error_message(), "pip's package onnxruntime");
    }
    dync_clear_error();
    dync_compiled_free(f);
    dync_on_error(NULL, NULL);
    return ok;
}
#define NEEDS_IT() \
    if (!there()) SKIP("no ONNX Runtime: DYNC_ONNXRUNTIME names no library that opens")

TEST(thirty_functions)
{
    NEEDS_IT();
    dync_manual_seed(3);
    EXPECT_EQ_INT(sizeof functions / sizeof *functions, 30);
    for (int i = 0; i < 30; i++) {
        for (int rows = 4; rows < 6; rows++) { /* the second: another set of sizes */
            if (rows == 5 && functions[i] == f_views) continue;
            dync_tensor *a = dync_randn(dync_shape(rows, 6)), *b = dync_randn(dync_shape(rows, 6));
            if (functions[i] == f_views) a = dync_randn(dync_shape(6, 4));
            if (functions[i] == f_slices) b = dync_randn(dync_shape(2, 3));
            if (functions[i] == f_linear) b = dync_randn(dync_shape(5, 6));
            dync_tensor *want = functions[i](a, b);
            dync_compiled *f = dync_compile(functions[i], .args = "a, b", .backend = "onnxrt");
            for (int k = 0; k < 2; k++) {
                dync_tensor *got = dync_call(f, a, b);
                if (!EXPECT(got && dync_type(got) == dync_type(want) && same(want, got, 1e-5)))
                    printf("function %d of %d rows: %s\n", i, rows, dync_error_message());
            }
            dync_clear_error();
            dync_compiled_free(f);
        }
    }
}

/* A transposed view in, a transposed result out: strides are the graph's, not ONNX's. */
static dync_tensor *turned(dync_tensor *a, dync_tensor *b)
{
    return dync_mul(dync_transpose(a, 0, 1), b);
}
TEST(strides_stay)
{
    NEEDS_IT();
    dync_tensor *a = dync_transpose(dync_randn(dync_shape(3, 4)), 0, 1),
                *b = dync_transpose(dync_randn(dync_shape(4, 3)), 0, 1);
    dync_compiled *f = dync_compile(turned, .args = "a, b", .backend = "onnxrt");
    dync_tensor *want = turned(a, b), *got = dync_call(f, a, b);
    EXPECT(same(want, got, 1e-6));
    EXPECT_EQ_INT(dync_stride(got, 0), dync_stride(want, 0));
    EXPECT_EQ_INT(dync_stride(got, 1), dync_stride(want, 1));
    dync_compiled_free(f);
}

/* ---- training -------------------------------------------------------------------------------- */

static dync_module *mlp(void)
{
    dync_manual_seed(11);
    return dync_sequential(dync_nn_linear(10, 16, true), dync_nn_relu(),
                           dync_nn_linear(16, 4, true), dync_nn_sigmoid());
}

static double train(dync_module *m, dync_compiled *f, int steps)
{
    dync_optim *o = dync_sgd(m, .lr = 0.1);
    double loss = 0;
    for (int i = 0; i < steps; i++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(8, 10)), *y = dync_rand(dync_shape(8, 4));
        dync_tensor *l = dync_mse_loss(f ? dync_call(f, x) : dync_forward_call(m, x), y);
        dync_optim_zero_grad(o);
        dync_backward(l);
        dync_optim_step(o);
        loss = dync_item(l);
    }
    dync_optim_free(o);
    return loss;
}

TEST(ten_steps_of_training)
{
    NEEDS_IT();
    dync_module *a = mlp(), *b = mlp();
    dync_compiled *f = dync_compile(b, .args = "x", .backend = "onnxrt");
    dync_manual_seed(5);
    double want = train(a, NULL, 10);
    dync_manual_seed(5);
    double got = train(b, f, 10);
    EXPECT_NEAR(got, want, 1e-5);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "2.weight" : "0.weight";
        EXPECT(same(dync_module_param(a, name), dync_module_param(b, name), 1e-5));
    }
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
    dync_module_free(a);
    dync_module_free(b);
}

/* ---- options, and what it lacks -------------------------------------------------------------- */

TEST(options)
{
    static const char *const good[] = {"threads=1", "opt_level=0", "opt_level=3, threads=2",
                                       "providers=CPU"};
    NEEDS_IT();
    for (int i = 0; i < 4; i++) {
        dync_tensor *a = dync_randn(dync_shape(4, 6)), *b = dync_randn(dync_shape(4, 6));
        dync_compiled *f =
            dync_compile(f_gelu, .args = "a, b", .backend = "onnxrt", .options = good[i]);
        EXPECT(same(f_gelu(a, b), dync_call(f, a, b), 1e-5));
        dync_compiled_free(f);
    }
    dync_compiled *f =
        dync_compile(f_gelu, .args = "a, b", .backend = "onnxrt", .options = "providers=Nonsense");
    EXPECT(dync_call(f, dync_ones(dync_shape(2)), dync_ones(dync_shape(2))) == NULL);
    EXPECT_HAS_STR(dync_error_message(), "provider 'Nonsense'");
    EXPECT_HAS_STR(dync_error_message(), "CPUExecutionProvider");
    dync_clear_error();
    dync_compiled_free(f);
}

/* No kernel of the inverse sine in float64, no random numbers of dync's: parts of dync's own. */
static dync_tensor *lacking(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *c = dync_asin(dync_mul(dync_tanh(a), 0.5));
    return dync_mul(dync_add(c, dync_rand_like(b)), dync_exp(b));
}
TEST(what_it_lacks_dync_runs)
{
    NEEDS_IT();
    dync_explain_output out;
    dync_backend explained = dync_explain_backend("onnxrt", &out);
    dync_tensor *a = dync_randn(dync_shape(4, 6), .dtype = DYNC_F64),
                *b = dync_randn(dync_shape(4, 6), .dtype = DYNC_F64);
    dync_compiled *f = dync_compile(lacking, .args = "a, b", .backend_object = &explained);
    for (int k = 0; k < 2; k++) {
        dync_manual_seed(9);
        dync_tensor *got = dync_call(f, a, b);
        dync_manual_seed(9);
        EXPECT(same(lacking(a, b), got, 1e-9));
    }
    EXPECT_EQ_INT(out.graph_count, 1);
    EXPECT(out.notes != NULL);
    EXPECT_HAS_STR(out.notes[0], "dync runs asin");
    EXPECT_HAS_STR(out.notes[0], "rand_like");
    EXPECT_HAS_STR(out.notes[0], "test_onnxrt.c:");
    EXPECT_HAS_STR(dync_explain_str(&out), "Backend of Graph 1: onnxrt: ");
    dync_compiled_free(f);
}

/* dync_explain asks the backend of a compiled function, which stays as it is. */
TEST(explain_asks_the_backend)
{
    NEEDS_IT();
    dync_tensor *a = dync_randn(dync_shape(4, 6), .dtype = DYNC_F64),
                *b = dync_randn(dync_shape(4, 6), .dtype = DYNC_F64);
    dync_compiled *f = dync_compile(lacking, .args = "a, b", .backend = "onnxrt"),
                  *ours = dync_compile(lacking, .args = "a, b");
    for (int k = 0; k < 2; k++) {
        dync_explain_output out = dync_explain(f, a, b);
        EXPECT_EQ_INT(out.graph_count, 1);
        REQUIRE(out.notes != NULL);
        EXPECT_HAS_STR(out.notes[0], "dync runs asin");
        EXPECT_HAS_STR(dync_explain_str(&out), "Backend of Graph 1: onnxrt: ");
        EXPECT_EQ_INT(out.nrecompiles, k);
        dync_call(f, a, b);
        EXPECT_OK(dync_error());
    }
    EXPECT(!dync_explain(ours, a, b).notes && !dync_explain(lacking, a, b).notes);
    dync_compiled_free(ours);
    dync_compiled_free(f);
}

TEST_MAIN
