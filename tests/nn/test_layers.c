/* Layers against PyTorch's numbers (samples.c), plain and compiled, with gradients through both. */
#include "dync.h"
#include "test.h"
#include "tol.h"
#include "samples.c"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
#define QUIET dync_on_error(quiet, NULL)

/* As fill in tests/oracle/nn.py. */
static void fill(dync_tensor *t, int seed)
{
    float *d = dync_data(t);
    for (int64_t i = 0; i < dync_numel(t); i++) d[i] = (float)((37 * i + 11 * seed) % 41 - 20) / 40;
}

static int fill_weights(dync_module *m)
{
    dync_tensor *p[64];
    int n = dync_module_parameters(m, p, 64);
    DYNC_NO_GRAD for (int i = 0; i < n; i++)
        fill(p[i], i);
    return n;
}

static dync_tensor *input(dync_dims shape, int seed)
{
    dync_tensor *t = dync_empty(shape);
    fill(t, seed);
    return t;
}

static int compare(dync_value v, const float *want, int at)
{
    if (v.kind == DYNC_KIND_LIST) {
        for (int i = 0; i < dync_len(v); i++) at = compare(dync_at(v, i), want, at);
        return at;
    }
    dync_tensor *t = dync_as_tensor(v);
    if (!EXPECT(t != NULL)) return at;
    const float *got = dync_data(dync_contiguous(dync_detach(t)));
    for (int64_t i = 0; i < dync_numel(t); i++)
        EXPECT_NEAR((double)got[i], (double)want[at + i], TOL_F32_SUM);
    return at + (int)dync_numel(t);
}

static dync_value first(dync_value v) { return v.kind == DYNC_KIND_LIST ? dync_at(v, 0) : v; }

/* The sum of squares of the first output, and the gradient of the first parameter. */
static double gradient(dync_module *m, int nargs, const dync_value *args)
{
    dync_tensor *p[64], *y = dync_as_tensor(first(dync_module_call_values(m, nargs, args)));
    int n = dync_module_parameters(m, p, 64);
    EXPECT_OK(dync_backward(dync_sum(dync_mul(y, y), DYNC_ALL, false)));
    double total = 0;
    for (int i = 0; i < n; i++) {
        if (!EXPECT(dync_grad(p[i]) != NULL)) continue;
        total += (i + 1) * dync_item(dync_sum(dync_abs(dync_grad(p[i])), DYNC_ALL, false));
        dync_set_grad(p[i], NULL);
    }
    return total;
}

static void check(dync_module *m, const float *want, int n, int nargs, const dync_value *args)
{
    EXPECT_EQ_INT(compare(dync_module_call_values(m, nargs, args), want, 0), n);
    double plain = fill_weights(m) ? gradient(m, nargs, args) : 0;
    dync_module_compile(m);
    EXPECT_EQ_INT(compare(dync_module_call_values(m, nargs, args), want, 0), n);
    if (plain > 0) EXPECT_NEAR(gradient(m, nargs, args), plain, 1e-4 * plain);
    dync_module_free(m);
    EXPECT_OK(dync_error());
    dync_shutdown();
}
#define CHECK(m, want, ...)                                                      \
    check(m, want, (int)(sizeof want / sizeof want[0]), DYNC_COUNT(__VA_ARGS__), \
          (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})

TEST(gru)
{
    dync_module *m = dync_nn_gru(3, 4, 2, true);
    int n = fill_weights(m);
    EXPECT_EQ_INT(n, 16);
    CHECK(m, sample_gru, input(dync_shape(5, 2, 3), n));
}

TEST(gru_without_a_batch)
{
    dync_module *m = dync_nn_gru(3, 2, 1, false);
    int n = fill_weights(m);
    CHECK(m, sample_gru_unbatched, input(dync_shape(4, 3), n), input(dync_shape(1, 2), n + 1));
}

TEST(rnn)
{
    dync_module *m = dync_nn_rnn(3, 4, 1, false);
    int n = fill_weights(m);
    CHECK(m, sample_rnn, input(dync_shape(3, 2, 3), n), input(dync_shape(1, 2, 4), n + 1));
}

TEST(lstm_with_a_state)
{
    dync_module *m = dync_nn_lstm(3, 4, 2, true);
    int n = fill_weights(m);
    dync_value state =
        dync_tuple(input(dync_shape(4, 2, 4), n + 1), input(dync_shape(4, 2, 4), n + 2));
    CHECK(m, sample_lstm, input(dync_shape(5, 2, 3), n), state);
}

TEST(attention_to_itself)
{
    dync_module *m = dync_nn_multihead_attention(6, 2);
    int n = fill_weights(m);
    EXPECT(dync_module_param(m, "out_proj.weight") != NULL);
    CHECK(m, sample_mha_self, input(dync_shape(2, 4, 6), n));
}

TEST(attention_with_a_mask)
{
    dync_module *m = dync_nn_multihead_attention(6, 3);
    int n = fill_weights(m);
    CHECK(m, sample_mha_masked, input(dync_shape(2, 3, 6), n), input(dync_shape(2, 5, 6), n + 1),
          input(dync_shape(2, 5, 6), n + 2), input(dync_shape(3, 5), n + 3));
}

TEST(attention_without_a_batch)
{
    dync_module *m = dync_nn_multihead_attention(6, 2);
    int n = fill_weights(m);
    CHECK(m, sample_mha_unbatched, input(dync_shape(4, 6), n));
    m = dync_nn_multihead_attention(6, 3);
    n = fill_weights(m);
    CHECK(m, sample_mha_unbatched_masked, input(dync_shape(3, 6), n),
          input(dync_shape(5, 6), n + 1), input(dync_shape(5, 6), n + 2),
          input(dync_shape(3, 3, 5), n + 3));
}

TEST(attention_takes_inputs_of_one_rank)
{
    QUIET;
    dync_module *m = dync_nn_multihead_attention(6, 2);
    dync_tensor *batch = dync_ones(dync_shape(1, 4, 6)), *plain = dync_ones(dync_shape(4, 6)),
                *wrong[4] = {dync_ones(dync_shape(6)), dync_ones(dync_shape(4, 5)),
                             dync_ones(dync_shape(1, 4, 5)), dync_ones(dync_shape(1, 1, 4, 6))};
    for (int i = 0; i < 6; i++) {
        dync_value v = i < 4    ? dync_module_call(m, wrong[i])
                       : i == 4 ? dync_module_call(m, batch, plain)
                                : dync_module_call(m, plain, plain, batch);
        EXPECT(v.kind == DYNC_KIND_NONE);
        EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
        EXPECT_HAS_STR(dync_error_message(), "expected [batch, length, 6], or all of [length, 6]");
        dync_clear_error();
    }
    dync_module_free(m);
    dync_shutdown();
}

TEST(convolutions)
{
    dync_module *m = dync_nn_conv_transpose2d(2, 3, 3, 2, 1, true);
    int n = fill_weights(m);
    CHECK(m, sample_conv_transpose2d, input(dync_shape(1, 2, 3, 2), n));
    m = dync_nn_conv1d(2, 3, 3, 2, 1, true);
    n = fill_weights(m);
    CHECK(m, sample_conv1d, input(dync_shape(2, 2, 7), n));
}

TEST(norms_and_activations)
{
    dync_module *m = dync_nn_group_norm(2, 4);
    int n = fill_weights(m);
    CHECK(m, sample_group_norm, input(dync_shape(2, 4, 3), n));
    m = dync_nn_rms_norm(4);
    n = fill_weights(m);
    CHECK(m, sample_rms_norm, input(dync_shape(2, 3, 4), n));
    m = dync_nn_leaky_relu(0.1);
    CHECK(m, sample_leaky_relu, input(dync_shape(7), 0));
}

TEST(an_identity_gives_what_it_got)
{
    dync_module *m = dync_nn_identity();
    dync_tensor *x = dync_ones(dync_shape(2));
    EXPECT_EQ_PTR(dync_forward_call(m, x), x);
    dync_module_free(m);
    dync_shutdown();
}

static void refused(dync_module *m, dync_status status, const char *text)
{
    EXPECT(m == NULL);
    EXPECT_STATUS(dync_error(), status);
    EXPECT_HAS_STR(dync_error_message(), text);
    dync_clear_error();
}

TEST(misuse_is_refused)
{
    QUIET;
    refused(dync_nn_gru(0, 2, 1, false), DYNC_ERR_VALUE, "dync_nn_gru: expected sizes >= 1, got 0");
    refused(dync_nn_rnn(1, 2, 5000, false), DYNC_ERR_VALUE, "at most 1024 layers");
    refused(dync_nn_group_norm(3, 4), DYNC_ERR_VALUE, "must be divisible by num_groups");
    refused(dync_nn_multihead_attention(5, 2), DYNC_ERR_VALUE, "must be divisible by num_heads");
    refused(dync_nn_conv1d(1, 1, 3, 1, -1, true), DYNC_ERR_VALUE, "expected padding >= 0, got -1");
    dync_module *m = dync_nn_gru(3, 2, 1, false);
    dync_tensor *x = dync_ones(dync_shape(4, 1, 3));
    EXPECT(dync_module_call(m, dync_ones(dync_shape(4, 1, 2))).kind == DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(), "GRU: expected [length, batch, 3] or [length, 3]");
    dync_clear_error();
    EXPECT(dync_module_call(m, x, dync_tuple(x, x)).kind == DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(), "GRU: expected h0 as the second argument");
    dync_clear_error();
    EXPECT(dync_module_call(m, x, dync_ones(dync_shape(1, 1, 3))).kind == DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(), "GRU: expected h0 of [1, batch, 2]");
    dync_clear_error();
    EXPECT(dync_module_call(m, x).kind == DYNC_KIND_LIST);
    dync_tensor *alone = dync_ones(dync_shape(4, 3)), *state = dync_ones(dync_shape(1, 1, 2));
    EXPECT(dync_module_call(m, alone, state).kind == DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(),
                   "GRU: For unbatched 2-D input, hx should also be 2-D but got 3-D tensor");
    dync_clear_error();
    EXPECT(dync_module_call(m, alone, DYNC_NONE).kind == DYNC_KIND_LIST);
    EXPECT(dync_module_call(m, alone, dync_ones(dync_shape(1, 2))).kind == DYNC_KIND_LIST);
    dync_module_free(m);
    m = dync_nn_lstm(3, 2, 1, false);
    EXPECT(dync_module_call(m, alone, dync_tuple(state, state)).kind == DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(), "hx and cx should also be 2-D but got (3-D, 3-D) tensors");
    dync_clear_error();
    dync_module_free(m);
    dync_shutdown();
}

/* torch: F.batch_norm(torch.zeros(0, 2), torch.zeros(2), torch.ones(2), training=True) leaves the
 * statistics alone */
static dync_tensor *running[2];
static dync_tensor *normed(dync_tensor *x)
{
    return dync_batch_norm(x, NULL, NULL, running[0], running[1], true, 0.1, 1e-5);
}
TEST(batch_norm_of_an_empty_batch)
{
    dync_compiled *f = dync_compile(normed, .args = "x");
    for (int k = 0; k < 4; k++) {
        int64_t c = 1 + k / 2;
        running[0] = dync_zeros(dync_shape(c)), running[1] = dync_ones(dync_shape(c));
        dync_tensor *x = dync_zeros(dync_shape(0, c), .requires_grad = true),
                    *y = k % 2 ? dync_call(f, x) : normed(x);
        EXPECT_EQ_INT(dync_numel(y), 0);
        EXPECT_EQ_INT(dync_backward(dync_sum(y, DYNC_ALL, false)), DYNC_OK);
        EXPECT(dync_equal(running[0], dync_zeros(dync_shape(c))) &&
               dync_equal(running[1], dync_ones(dync_shape(c))));
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_shutdown();
}

/* torch: Sequential(Linear, LSTM) gives (out, (h, c)); a Linear behind them is given that tuple and
 * refuses it */
TEST(a_sequence_hands_on_whatever_a_module_gives)
{
    dync_module *linear = dync_nn_linear(4, 6, true), *lstm = dync_nn_lstm(6, 5, 1, false),
                *m = dync_sequential(linear, lstm);
    dync_tensor *x = dync_rand(dync_shape(7, 2, 4));
    dync_value want = dync_module_call(lstm, dync_forward_call(linear, x));
    dync_compiled *f = dync_compile(m);
    for (int k = 0; k < 2; k++) {
        dync_value r = k ? dync_call_value(f, x) : dync_module_call(m, x);
        REQUIRE(dync_len(r) == 2 && dync_len(dync_at(r, 1)) == 2);
        EXPECT(dync_allclose(dync_at(r, 0).as.t, dync_at(want, 0).as.t, 1e-5, 1e-6));
        for (int i = 0; i < 2; i++)
            EXPECT(dync_allclose(dync_at(dync_at(r, 1), i).as.t, dync_at(dync_at(want, 1), i).as.t,
                                 1e-5, 1e-6));
    }
    dync_compiled_free(f);
    dync_module_free(m);
    m = dync_sequential(dync_nn_lstm(4, 5, 1, false), dync_nn_linear(5, 1, true));
    EXPECT(dync_module_call(m, x).kind == DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(), "Linear: expected one tensor");
    dync_clear_error();
    EXPECT(dync_module_call(m, x, x).kind == DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(), "Sequential: expected one argument, got 2");
    dync_clear_error();
    dync_module_free(m);
    dync_shutdown();
}

TEST_MAIN
