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
    return dync_flatten(
        dync_avg_pool2d(y, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0), false, true), 1,
        -1);
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
             "-std=c99 -pedantic -Wall -Wextra -Werror -Os -c %s.c -o %s",
             cc ? cc : "cc", macro, path, path, path, cc ? cc : "cc", path, path);
    int rc = system(command);
    EXPECT_EQ_INT(rc, 0);
    if (rc == 0) {
        remove(path);
        snprintf(command, sizeof command, "%s.c", path);
        remove(command);
        snprintf(command, sizeof command, "%s.h", path);
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
        REQUIRE(want_ && p_);                                                                      \
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
TEST(empty_program) { CHECK(sines, "SINES", dync_zeros(dync_shape(0, 4))); }

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

/* The arguments of a program are those of the function, in their order, used or not; used here from
 * the last to the first. */
static dync_tensor *backwards(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    (void)b;
    return dync_sub(dync_mul(c, 2), a);
}

TEST(arguments_in_order)
{
    float x[2] = {1, 2}, y[2] = {10, 20};
    dync_tensor *a = dync_from(x, dync_shape(2)), *b = dync_zeros(dync_shape(5)),
                *c = dync_from(y, dync_shape(2));
    dync_program *p = dync_export(backwards, a, b, c);
    REQUIRE(p != NULL);
    dync_value args[3] = {DYNC_V(a), DYNC_V(b), DYNC_V(c)};
    for (int round = 0; round < 2; round++) {
        dync_tensor *out = dync_as_tensor(dync_program_run(p, 3, args));
        REQUIRE(out != NULL);
        EXPECT_NEAR(((const float *)dync_data(out))[0], 19, 0);
        EXPECT_NEAR(((const float *)dync_data(out))[1], 38, 0);
        REQUIRE(dync_equal(through_file(&p, 3, args), out));
    }
    args[1] = args[0]; /* an unused argument has its shape too */
    dync_on_error(NULL, NULL);
    EXPECT(dync_program_run(p, 3, args).kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    dync_clear_error();
    char text[1024], at[128];
    snprintf(at, sizeof at, "/tmp/dync_test_order_%d.c", (int)(test_random() % 1000000));
    REQUIRE_OK(dync_program_save_c(p, at));
    snprintf(strrchr(at, '.'), 3, ".h");
    FILE *f = fopen(at, "r");
    REQUIRE(f != NULL);
    bool first = false, unused = false, last = false, four = false;
    while (fgets(text, sizeof text, f)) {
        first = first || strstr(text, "BACKWARDS_ARG0_SIZE 2");
        unused = unused || strstr(text, "BACKWARDS_ARG1_SIZE 5");
        last = last || strstr(text, "BACKWARDS_ARG2_SIZE 2");
        four = four ||
               strstr(text,
                      "void backwards_run(const float arg0[2], const float arg1[5], const float "
                      "arg2[2], float out[2])");
    }
    fclose(f);
    remove(at);
    snprintf(strrchr(at, '.'), 3, ".c");
    remove(at);
    EXPECT(first && unused && last && four);
    check_c(p, "backwards", "BACKWARDS");
    dync_program_free(p);
}

static dync_tensor *column_sums(dync_tensor *x)
{
    return dync_sum(dync_mul(x, 2), dync_shape(0), false);
}
static dync_tensor *first_row(dync_tensor *x) { return dync_select(x, 0, 0); }
static dync_tensor *bump(dync_tensor *x) { return dync_sum(dync_add_(x, 1), DYNC_ALL, false); }

/* Arguments may lie in any strides, whichever the export saw; views and writes still reach them. */
static dync_value named(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(dync_add(dync_as_tensor(args[0]), dync_as_tensor(dync_at(args[2], 1))));
}

/* Inputs have the names of the function's arguments, used or not, before and after a file. */
TEST(inputs_by_the_names_of_arguments)
{
    static const char *const names[] = {"x", "unused", "pair_0", "pair_1"};
    dync_tensor *t = dync_ones(dync_shape(2, 3));
    dync_program *p = dync_export(dync_args(named, "x, unused, pair"), t, dync_ones(dync_shape(4)),
                                  dync_tuple(t, t));
    EXPECT(p && dync_program_save(p, "build/test_names.dync") == DYNC_OK);
    dync_program *read = dync_program_load("build/test_names.dync");
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 4; i++) {
            dync_port port = dync_program_input(k ? read : p, i);
            if (EXPECT(port.name)) EXPECT_EQ_STR(port.name, names[i]);
            EXPECT(port.shape.n == (i == 1 ? 1 : 2));
        }
        EXPECT(!dync_program_input(k ? read : p, 4).name);
        EXPECT(strstr(dync_program_info(k ? read : p), "input unused: float32[4]\n"));
    }
    dync_program_free(p);
    dync_program_free(read);
}

TEST(any_strides)
{
    dync_tensor *dense = dync_reshape(dync_arange(0, 12, 1), dync_shape(4, 3)),
                *turned = dync_t(dync_clone(dync_t(dense)));
    dync_tensor *row = dync_reshape(dync_arange(0, 3, 1), dync_shape(1, 3)),
                *spread = dync_expand(row, dync_shape(4, 3));
    dync_tensor *in[3] = {dense, turned, spread};
    for (int i = 0; i < 3; i++) {
        dync_program *p = dync_export(column_sums, in[i]), *v = dync_export(first_row, in[i]);
        REQUIRE(p && v);
        for (int k = 0; k < 6; k++) {
            dync_value arg = DYNC_V(in[k % 3]);
            dync_tensor *out = dync_as_tensor(dync_program_run(p, 1, &arg));
            REQUIRE(out != NULL);
            EXPECT(dync_equal(out, column_sums(in[k % 3])));
            dync_tensor *view = dync_as_tensor(dync_program_run(v, 1, &arg));
            REQUIRE(view != NULL);
            EXPECT(dync_data(view) == dync_data(dync_select(in[k % 3], 0, 0)));
        }
        dync_program_free(p);
        dync_program_free(v);
    }
    dync_program *b = dync_export(bump, dense);
    REQUIRE(b != NULL);
    dync_value arg = DYNC_V(turned);
    EXPECT_NEAR(dync_item(dync_as_tensor(dync_program_run(b, 1, &arg))), 78, 0);
    EXPECT_NEAR(dync_item(dync_sum(turned, DYNC_ALL, false)), 78, 0);
    dync_program_free(b);
    EXPECT_OK(dync_error());
}

/* One text, two modules: each keeps its own weights. */
static dync_module *pair[2];
static dync_tensor *part(int i, dync_tensor *x) { return dync_forward_call(pair[i], x); }
static dync_tensor *both(dync_tensor *x) { return part(1, dync_relu(part(0, x))); }
TEST(modules_of_one_name)
{
    for (int i = 0; i < 2; i++) pair[i] = dync_nn_linear(3, 3, true);
    dync_tensor *x = dync_randn(dync_shape(2, 3)), *want = both(x);
    dync_program *p = dync_export(both, x);
    REQUIRE(p != NULL);
    dync_value args[1] = {dync_v_tensor(x)};
    dync_tensor *got = dync_as_tensor(dync_program_run(p, 1, args));
    EXPECT(got && dync_allclose(got, want, 1e-6, 1e-6));
    dync_program_free(p);
    for (int i = 0; i < 2; i++) dync_module_free(pair[i]);
    EXPECT_OK(dync_error());
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
    EXPECT_STATUS(dync_program_save_onnx(p, NULL), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_STATUS(dync_program_save_onnx(p, "/nonexistent/dir/x.onnx"), DYNC_ERR_IO);
    dync_clear_error();
    EXPECT_STATUS(dync_program_save(NULL, "x"), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_program_free(p);
    dync_program_free(NULL);
}

/* What comes in goes out: no operator is called, or an argument is not used by any. */
static dync_tensor *identity_of(dync_tensor *x) { return x; }
static dync_value turned_around(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(a[1], a[0]);
}
static dync_value one_beside(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(a[1], dync_mul(a[0].as.t, 2));
}
static dync_value nothing(const dync_value *a, int n, void *user)
{
    (void)a, (void)n, (void)user;
    return DYNC_NONE;
}

TEST(the_identity_is_a_program)
{
    dync_tensor *x = dync_rand(dync_shape(2)), *y = dync_rand(dync_shape(3));
    dync_module *m = dync_nn_identity();
    dync_program *p[4] = {dync_export(identity_of, x), dync_export(m, x),
                          dync_export(turned_around, x, y), dync_export(one_beside, x, y)};
    for (int k = 0; k < 4; k++) {
        dync_value args[2] = {DYNC_V(x), DYNC_V(y)};
        for (int again = 0; again < 3; again++) {
            REQUIRE(p[k]);
            dync_value r = dync_program_run(p[k], k < 2 ? 1 : 2, args);
            dync_tensor *first = k < 2 ? dync_as_tensor(r) : dync_as_tensor(dync_at(r, 0));
            EXPECT(first && dync_equal(first, k < 2 ? x : y));
            if (again) continue;
            EXPECT_OK(dync_program_save(p[k], "identity.dync"));
            EXPECT_OK(dync_program_save_c(p[k], "identity.c"));
            dync_program_free(p[k]);
            p[k] = dync_program_load("identity.dync");
        }
        dync_program_free(p[k]);
    }
    remove("identity.dync");
    remove("identity.c");
    remove("identity.h");
    EXPECT(!dync_export(nothing, x));
    EXPECT_HAS_STR(dync_error_message(), "makes no operator call");
    dync_clear_error();
    dync_module_free(m);
}

TEST_MAIN
