/* Programs through the public half: exported, run, saved, loaded; and as C that a compiler takes
 * without a warning. */
#include "dync.h"
#include "test.h"
#include "tol.h"

static dync_tensor *mlp(dync_tensor *x, dync_tensor *w1, dync_tensor *b1, dync_tensor *w2,
                        dync_tensor *b2)
{
    return dync_sigmoid(dync_linear(dync_relu(dync_linear(x, w1, b1)), w2, b2));
}

static dync_tensor *pointwise(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *t = dync_mul(dync_exp(dync_neg(dync_square(a))), dync_add(dync_sin(b), 0.5));
    return dync_where(dync_gt(a, b), t, dync_tanh(dync_div(a, dync_add(dync_abs(b), 1))));
}

static dync_tensor *softmax(dync_tensor *x) { return dync_softmax(dync_mul(x, 3), -1); }

static dync_tensor *norm(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *centred = dync_sub(x, dync_mean(x, dync_shape(-1), true));
    dync_tensor *var = dync_mean(dync_square(centred), dync_shape(-1), true);
    return dync_mul(dync_mul(centred, dync_rsqrt(dync_add(var, 1e-5))), w);
}

static dync_tensor *views(dync_tensor *x)
{
    dync_tensor *t = dync_permute(dync_view(x, dync_shape(2, 3, 4)), dync_shape(2, 0, 1));
    return dync_transpose(dync_select(dync_slice(t, 0, 1, DYNC_END, 2), 1, 1), 0, 1);
}

static dync_value several(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *x = dync_as_tensor(args[0]), *y = dync_as_tensor(dync_at(args[1], 0));
    dync_tensor *s = dync_sum(x, dync_shape(0), false);
    return dync_tuple(dync_argmax(x, 1, false), dync_tuple(dync_add(s, y), 3),
                      dync_amax(x, DYNC_ALL, false));
}

static dync_tensor *conv(dync_tensor *x, dync_tensor *w, dync_tensor *b)
{
    dync_tensor *y =
        dync_relu(dync_conv2d(x, w, b, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1));
    y = dync_max_pool2d(y, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0), dync_shape(1, 1),
                        false);
    return dync_flatten(dync_avg_pool2d(y, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0),
                                        false, true),
                        1, -1);
}

static dync_tensor *attention(dync_tensor *q, dync_tensor *k, dync_tensor *v)
{
    return dync_matmul(dync_softmax(dync_mul(dync_matmul(q, dync_transpose(k, 1, 2)), 0.5), -1), v);
}

static dync_module *net;
static dync_tensor *by_module(dync_tensor *x) { return dync_forward_call(net, x); }

/* Compiles file.c as a stranger would and runs its self-test. */
static void check_c(dync_program *p, const char *name, const char *macro)
{
    char path[128], command[1200];
    const char *cc = getenv("CC"), *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/dync_test_%s_%d", dir ? dir : "/tmp", name,
             (int)(test_random() % 1000000));
    snprintf(command, sizeof command, "%s.c", path);
    REQUIRE_OK(dync_program_save_c(p, command));
    snprintf(command, sizeof command,
             "%s -std=c11 -pedantic -Wall -Wextra -Werror -O1 -D%s_MAIN %s.c -lm -o %s && %s && %s "
             "-std=c11 -pedantic -Wall -Wextra -Werror -Os -c %s.c -o %s",
             cc ? cc : "cc", macro, path, path, path, cc ? cc : "cc", path, path);
    int rc = system(command);
    EXPECT_EQ_INT(rc, 0);
    if (rc == 0) {
        remove(path);
        snprintf(command, sizeof command, "%s.c", path);
        remove(command);
    } else {
        printf("    kept: %s.c\n", path);
    }
}

/* Runs a program before and after a trip through a file. */
static dync_tensor *through_file(dync_program **p, int nargs, const dync_value *args)
{
    char path[128];
    snprintf(path, sizeof path, "/tmp/dync_test_%d.dync", (int)(test_random() % 1000000));
    EXPECT_OK(dync_program_save(*p, path));
    dync_program_free(*p);
    *p = dync_program_load(path);
    remove(path);
    return *p ? dync_as_tensor(dync_program_run(*p, nargs, args)) : NULL;
}

#define CHECK(fn, macro, ...)                                                                      \
    do {                                                                                           \
        dync_value args_[] = {DYNC_MAP_V(__VA_ARGS__)};                                            \
        dync_tensor *want_ = fn(__VA_ARGS__);                                                      \
        dync_program *p_ = dync_export(fn, __VA_ARGS__);                                           \
        REQUIRE(want_ &&p_);                                                                       \
        EXPECT(dync_allclose(want_,                                                                \
                             dync_as_tensor(dync_program_run(p_, DYNC_COUNT(__VA_ARGS__), args_)), \
                             TOL_F32_SUM, TOL_F32_CHAIN));                                         \
        EXPECT(dync_allclose(want_, through_file(&p_, DYNC_COUNT(__VA_ARGS__), args_),             \
                             TOL_F32_SUM, TOL_F32_CHAIN));                                         \
        if (p_) check_c(p_, #fn, macro);                                                           \
        dync_program_free(p_);                                                                     \
        EXPECT_OK(dync_error());                                                                   \
    } while (0)

TEST(mlp_program)
{
    dync_manual_seed(1);
    dync_tensor *x = dync_randn(dync_shape(2, 16)), *w1 = dync_randn(dync_shape(8, 16)),
                *b1 = dync_randn(dync_shape(8));
    dync_tensor *w2 = dync_randn(dync_shape(4, 8)), *b2 = dync_randn(dync_shape(4));
    CHECK(mlp, "MLP", x, w1, b1, w2, b2);
}

TEST(pointwise_program)
{
    dync_tensor *a = dync_randn(dync_shape(3, 5)), *b = dync_randn(dync_shape(5));
    CHECK(pointwise, "POINTWISE", a, b);
}

static dync_tensor *sines(dync_tensor *a) { return dync_sin(a); }
TEST(empty_program)
{
    CHECK(sines, "SINES", dync_zeros(dync_shape(0, 4)));
}

TEST(softmax_program)
{
    dync_tensor *x = dync_randn(dync_shape(4, 7));
    CHECK(softmax, "SOFTMAX", x);
}

TEST(norm_program)
{
    dync_tensor *x = dync_randn(dync_shape(3, 32)), *w = dync_randn(dync_shape(32));
    CHECK(norm, "NORM", x, w);
}

TEST(views_program)
{
    dync_tensor *x = dync_randn(dync_shape(24));
    CHECK(views, "VIEWS", x);
}

TEST(conv_program)
{
    dync_tensor *x = dync_randn(dync_shape(2, 3, 8, 8)), *w = dync_randn(dync_shape(4, 3, 3, 3)),
                *b = dync_randn(dync_shape(4));
    CHECK(conv, "CONV", x, w, b);
}

TEST(attention_program)
{
    dync_tensor *q = dync_randn(dync_shape(2, 3, 4)), *k = dync_randn(dync_shape(2, 5, 4)),
                *v = dync_randn(dync_shape(2, 5, 4));
    CHECK(attention, "ATTENTION", q, k, v);
}

/* Weights of a module are inside the program. */
TEST(module_program)
{
    dync_manual_seed(2);
    net = dync_sequential(dync_nn_linear(16, 8, true), dync_nn_relu(), dync_nn_linear(8, 4, true));
    dync_tensor *x = dync_randn(dync_shape(1, 16));
    CHECK(by_module, "BY_MODULE", x);
    dync_module_free(net);
}

TEST(nested_values)
{
    dync_tensor *x = dync_randn(dync_shape(3, 4)), *y = dync_randn(dync_shape(4));
    dync_program *p = dync_export(several, x, dync_tuple(y, 2.5));
    REQUIRE(p != NULL);
    dync_value args[2] = {DYNC_V(x), dync_tuple(y, 2.5)}, got = dync_program_run(p, 2, args),
               want = several(args, 2, NULL);
    EXPECT_EQ_INT(dync_len(got), 3);
    EXPECT(dync_equal(dync_as_tensor(dync_at(got, 0)), dync_as_tensor(dync_at(want, 0))));
    EXPECT(dync_allclose(dync_as_tensor(dync_at(dync_at(got, 1), 0)),
                         dync_as_tensor(dync_at(dync_at(want, 1), 0)), TOL_F32_SUM, TOL_F32_CHAIN));
    EXPECT_EQ_INT(dync_as_int(dync_at(dync_at(got, 1), 1)), 3);
    EXPECT(dync_equal(dync_as_tensor(dync_at(got, 2)), dync_as_tensor(dync_at(want, 2))));
    dync_program_free(p);
}

/* A program differentiates with respect to what it is given, not to its weights. */
TEST(gradients)
{
    net = dync_sequential(dync_nn_linear(4, 3, true), dync_nn_relu());
    dync_tensor *x = dync_randn(dync_shape(2, 4));
    dync_program *p = dync_export(by_module, x);
    REQUIRE(p != NULL);
    dync_value args[1] = {DYNC_V(x)};
    EXPECT(!dync_requires_grad(dync_as_tensor(dync_program_run(p, 1, args))));
    dync_tensor *leaf = dync_requires_grad_(dync_clone(x), true),
                *same = dync_requires_grad_(dync_clone(x), true);
    args[0] = DYNC_V(leaf);
    EXPECT_OK(
        dync_backward(dync_sum(dync_as_tensor(dync_program_run(p, 1, args)), DYNC_ALL, false)));
    EXPECT_OK(dync_backward(dync_sum(by_module(same), DYNC_ALL, false)));
    EXPECT(dync_allclose(dync_grad(leaf), dync_grad(same), TOL_F32_SUM, TOL_F32_CHAIN));
    dync_program_free(p);
    dync_module_free(net);
}

TEST(refusals)
{
    dync_on_error(NULL, NULL);
    EXPECT(dync_export(mlp, NULL, NULL, NULL, NULL, NULL) == NULL);
    dync_clear_error();
    dync_program *p = dync_export(softmax, dync_randn(dync_shape(2, 2)));
    REQUIRE(p != NULL);
    EXPECT_STATUS(dync_program_save(p, NULL), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_STATUS(dync_program_save(p, "/nonexistent/dir/x"), DYNC_ERR_IO);
    dync_clear_error();
    EXPECT_STATUS(dync_program_save_onnx(p, "x.onnx"), DYNC_ERR_UNSUPPORTED);
    dync_clear_error();
    EXPECT_STATUS(dync_program_save(NULL, "x"), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_program_free(p);
    dync_program_free(NULL);
}

TEST_MAIN
