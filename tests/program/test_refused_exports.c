/* What C source cannot express is refused by operator and line, with what would help
 * (dync_program_save_c); and what once was refused and is written now. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "exported.h"

/* The line behind the last HERE, in what is exported. */
static int line;
#define HERE (line = __LINE__ + 1)

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* p is freed. place: the message names this file and the line of HERE. */
static void refused(dync_program *p, bool place, const char *what, const char *help)
{
    char where[300];
    dync_on_error(quiet, NULL);
    REQUIRE(p != NULL);
    EXPECT_STATUS(dync_program_save_c(p, "/tmp/dync_refused.c"), DYNC_ERR_UNSUPPORTED);
    dync_program_free(p);
    snprintf(where, sizeof where, "%s at %s:%d", what, __FILE__, line);
    EXPECT_HAS_STR(dync_error_message(), place ? where : what);
    EXPECT_HAS_STR(dync_error_message(), help);
    dync_clear_error();
    dync_on_error(NULL, NULL);
}

/* ---- operators ------------------------------------------------------------------------------- */

static dync_value twice(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(dync_mul(dync_as_tensor(args[0]), 2));
}
static dync_value like(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(dync_empty_like(dync_as_tensor(args[0])));
}
static dync_tensor *uses_own(dync_tensor *x)
{
    dync_value in = DYNC_V(dync_neg(x));
    dync_value out = dync_op_call_values("mine::twice", 1, &in);
    return dync_as_tensor(out);
}
static dync_tensor *uses_composite(dync_tensor *x)
{
    dync_value in = DYNC_V(dync_neg(x));
    return dync_as_tensor(dync_op_call_values("mine::plain", 1, &in));
}
TEST(operators_of_ones_own)
{
    dync_tensor *x = dync_randn(dync_shape(3));
    REQUIRE_OK(dync_op_register("mine::twice", "(Tensor x) -> Tensor", twice, like, NULL));
    REQUIRE_OK(dync_op_register("mine::plain", "(Tensor x) -> Tensor", twice, NULL, NULL));
    refused(dync_export(uses_own, x), false, "mine::twice", "without a meta function");
    dync_program *p = dync_export(uses_composite, x); /* what the message tells to do */
    open_folder("composite");
    EXPECT(p && save(p, "composite"));
    dync_program_free(p);
    close_folder();
}

#define CONV(x, w) dync_conv2d(x, w, NULL, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1)
static dync_tensor *weight;
static dync_tensor *conv_step(dync_tensor *x)
{
    HERE;
    dync_tensor *y = CONV(x, weight);
    dync_tensor *loss = dync_sum(y, DYNC_ALL, false);
    return dync_backward(loss) == DYNC_OK ? dync_grad(weight) : NULL;
}
TEST(gradients_of_convolutions)
{
    weight = dync_randn(dync_shape(2, 2, 3, 3), .dtype = DYNC_F16, .requires_grad = true);
    dync_tensor *x = dync_randn(dync_shape(4, 2, 5, 5));
    refused(dync_export_step(conv_step, dync_to_dtype(x, DYNC_F16)), true, "convolution_backward",
            "has one for F32");
    weight = dync_randn(dync_shape(2, 2, 3, 3), .requires_grad = true);
    dync_mark_dynamic_range(x, 0, 2, 8);
    refused(dync_export_step(conv_step, x), true, "convolution_backward", "sizes that are numbers");
}

static dync_tensor *sets_seed(dync_tensor *x)
{
    dync_manual_seed(3);
    return dync_mul(x, dync_rand(dync_shape(3)));
}
TEST(a_seed_inside)
{
    refused(dync_export(sets_seed, dync_ones(dync_shape(3))), false, "dync_manual_seed",
            "call it before the export");
}

/* ---- results and state ----------------------------------------------------------------------- */

static dync_value a_number(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_tuple(dync_neg(dync_as_tensor(args[0])), 3);
}
TEST(results_that_are_numbers)
{
    refused(dync_export(a_number, dync_ones(dync_shape(3))), false, "result 1 is no tensor",
            "dync_full");
}

static dync_tensor *pair[2];
static dync_tensor *writes_shared(dync_tensor *x)
{
    dync_add_(pair[0], x);
    return dync_neg(pair[1]);
}
TEST(memory_that_is_shared)
{
    pair[0] = dync_randn(dync_shape(4));
    pair[1] = dync_narrow(pair[0], 0, 1, 3);
    refused(dync_export(writes_shared, dync_ones(dync_shape(4))), false, "share", "dync_clone");
}

/* ---- once refused: means over windows that reach beyond the picture -------------------------- */

static const struct window {
    int kernel[2], stride[2], pad[2];
    bool ceil, include_pad;
} *window, windows[] = {{{2, 2}, {2, 2}, {0, 0}, true, true},
                        {{3, 2}, {2, 3}, {1, 1}, true, true},
                        {{3, 2}, {2, 3}, {1, 0}, true, false},
                        {{3, 3}, {3, 2}, {1, 1}, false, true},
                        {{3, 3}, {2, 2}, {1, 1}, false, false}};

static dync_tensor *means(dync_tensor *x)
{
    return dync_avg_pool2d(x, dync_shape(window->kernel[0], window->kernel[1]),
                           dync_shape(window->stride[0], window->stride[1]),
                           dync_shape(window->pad[0], window->pad[1]), window->ceil,
                           window->include_pad);
}
static dync_tensor *factor;
static dync_tensor *means_step(dync_tensor *x)
{
    dync_tensor *y = means(dync_mul(x, factor)), *loss = dync_sum(dync_mul(y, y), DYNC_ALL, false);
    return dync_backward(loss) == DYNC_OK ? dync_grad(factor) : NULL;
}

static bool self_test(dync_program *p, const char *name, const char *flag)
{
    open_folder(name);
    bool ok = EXPECT(p && save(p, name));
    FILE *f = ok ? open_file("main.c", "w") : NULL;
    if (f) {
        fprintf(f, "#include \"%s.h\"\nint main(void) { return %s_self_test(); }\n", name, name);
        fclose(f);
        ok = EXPECT(compile_and_run(flag, "out.txt"));
    }
    dync_program_free(p);
    if (ok) close_folder();
    return ok;
}

TEST(means_over_windows)
{
    for (int i = 0; i < (int)(sizeof windows / sizeof *windows); i++) DYNC_SCOPE {
        window = &windows[i];
        dync_tensor *x = dync_randn(dync_shape(2, 3, 8, 7));
        factor = dync_randn(dync_shape(3, 8, 7), .requires_grad = true);
        bool ok = self_test(dync_export(means, x), "means", "-std=c99 -DMEANS_SELF_TEST");
        ok &= self_test(dync_export_step(means_step, x), "means_step",
                        "-std=c99 -DMEANS_STEP_SELF_TEST");
        if (!ok) printf("    windows[%d]\n", i);
    }
}
TEST_MAIN
