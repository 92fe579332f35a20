/* dync_set_verify and dync_set_lint: programs whose compiled form and C function disagree, and
 * those that do not. */
#include "counter.h"

/* ---- verify ---------------------------------------------------------------------------------- */
static dync_tensor *poly(dync_tensor *x) { return dync_add(dync_mul(x, x), 1); }
static double scale = 2;
static dync_tensor *impure(dync_tensor *x) { return dync_mul(x, scale); }
static dync_tensor *impure_size(dync_tensor *x)
{
    return scale > 2 ? dync_sum(x, DYNC_ALL, false) : dync_mul(x, 2);
}

static void expect_incorrect(const char *backend, const char *part)
{
    char begin[128];
    snprintf(begin, sizeof begin, "incorrect results of backend %s", backend);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_ACCURACY);
    EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
    EXPECT(strncmp(dync_error_message(), begin, strlen(begin)) == 0);
    EXPECT_HAS_STR(dync_error_message(), part);
    dync_clear_error();
}

TEST(agreeing_calls_pass)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    dync_set_verify(true);
    for (int i = 0; i < 3; i++) {
        dync_compiled *f = dync_compile(poly, .args = "x", .backend = backends[i]);
        dync_tensor *x = dync_randn(dync_shape(3, 5));
        for (int k = 0; k < 3; k++) EXPECT(same(poly(x), dync_call(f, x), 1e-6));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

TEST(an_impure_read_is_reported)
{
    dync_compiled *f = dync_compile(impure, .args = "x");
    dync_tensor *x = dync_ones(dync_shape(2, 3));
    scale = 2;
    dync_call(f, x);
    dync_set_verify(true);
    EXPECT(dync_call(f, x) != NULL);
    scale = 3;
    EXPECT(dync_call(f, x) == NULL);
    expect_incorrect(
        "inductor",
        "impure: the result differs at [0, 0]: 2, expected 3 (f32, tolerance 0.0001; 6 of 6 "
        "elements differ)");
    dync_set_verify(false);
    EXPECT(dync_call(f, x) != NULL); /* off: as before */
    dync_compiled_free(f);
    f = dync_compile(impure_size, .args = "x");
    scale = 2;
    dync_call(f, x);
    scale = 3;
    dync_set_verify(true);
    EXPECT(dync_call(f, x) == NULL);
    expect_incorrect("inductor", "the result is f32[2, 3], expected f32[]");
    dync_compiled_free(f);
}

/* A backend that computes something else: relu is lost. */
static dync_value wrong_run(void *state, const dync_value *args, int n)
{
    dync_value out = dync_graph_run(state, args, n);
    return dync_tuple(dync_add(dync_as_tensor(dync_at(out, 0)), 1));
}
static dync_status wrong_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                 dync_callable *out, void *user)
{
    (void)ex, (void)n, (void)options, (void)user;
    memset(out, 0, sizeof *out);
    out->run = wrong_run;
    out->state = g;
    return DYNC_OK;
}
TEST(a_wrong_backend_is_reported_by_the_first_call)
{
    dync_backend wrong = {.name = "wrong", .compile = wrong_compile};
    dync_compiled *f = dync_compile(poly, .args = "x", .backend_object = &wrong);
    dync_set_verify(true);
    EXPECT(dync_call(f, dync_zeros(dync_shape(2))) == NULL);
    expect_incorrect("wrong", "the result[0] differs at [0]: 2, expected 1");
    dync_compiled_free(f);
}

static dync_value tells(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_exp(dync_as_tensor(args[0])), "a text", dync_tuple(1, "another"));
}
TEST(texts_of_a_verified_result_stay)
{
    dync_compiled *f = dync_compile(tells, .args = "x");
    dync_tensor *x = dync_randn(dync_shape(3));
    dync_set_verify(true);
    for (int i = 0; i < 3; i++) {
        dync_value r = dync_call_value(f, x);
        dync_randn(dync_shape(64));
        EXPECT_EQ_STR(dync_as_str(dync_at(r, 1)), "a text");
        EXPECT_EQ_STR(dync_as_str(dync_at(dync_at(r, 2), 1)), "another");
    }
    dync_compiled_free(f);
}

/* What the function writes is written once, and compared. */
static dync_tensor *writes(dync_tensor *x, dync_tensor *view)
{
    dync_add_(x, 1);
    return dync_mul(view, 2);
}
static double step = 1;
static dync_tensor *writes_impure(dync_tensor *x)
{
    dync_add_(x, step);
    return dync_mul(dync_zeros(dync_shape(1)), 1);
}
TEST(writes_happen_once)
{
    dync_tensor *x = dync_zeros(dync_shape(4)), *view = dync_slice(x, 0, 0, 2, 1);
    dync_compiled *f = dync_compile(writes, .args = "x, view");
    dync_set_verify(true);
    for (int i = 1; i <= 3; i++) {
        dync_tensor *y = dync_call(f, x, view);
        EXPECT_NEAR(dync_item(dync_select(y, 0, 1)), 2 * i, 0);
        EXPECT_NEAR(dync_item(dync_select(x, 0, 3)), i, 0);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    f = dync_compile(writes_impure, .args = "x");
    step = 1;
    dync_call(f, x);
    step = 2;
    EXPECT(dync_call(f, x) == NULL);
    expect_incorrect("inductor", "L['x'] differs at [0]: 5, expected 6");
    dync_compiled_free(f);
}

static dync_tensor *noisy(dync_tensor *x) { return dync_dropout(dync_add(x, 1), 0.5, true); }
TEST(random_numbers_are_the_same_both_ways)
{
    dync_manual_seed(3);
    dync_compiled *f = dync_compile(noisy, .args = "x");
    dync_tensor *x = dync_randn(dync_shape(64));
    dync_set_verify(true);
    dync_manual_seed(5);
    dync_call(f, x);
    dync_tensor *a = dync_call(f, x);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_set_verify(false);
    dync_manual_seed(5);
    dync_call(f, x);
    /* verifying drew no numbers of its own */
    EXPECT(a && same(a, dync_call(f, x), 0));
    dync_compiled_free(f);
}

TEST(buffers_of_modules_move_once)
{
    dync_module *m = dync_sequential(dync_nn_conv2d(2, 4, 1, 1, 0, true), dync_nn_batch_norm2d(4)),
                *plain;
    dync_tensor *x = dync_randn(dync_shape(8, 2, 3, 3));
    EXPECT_OK(dync_module_save(m, "build/test_verify.safetensors"));
    plain = dync_module_open("build/test_verify.safetensors");
    REQUIRE(plain != NULL);
    dync_compiled *f = dync_compile(m, .args = "x");
    dync_set_verify(true);
    for (int i = 0; i < 3; i++) EXPECT(same(dync_forward_call(plain, x), dync_call(f, x), 1e-4));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_set_verify(false);
    EXPECT(same(dync_module_buffer(plain, "1.running_mean"),
                dync_module_buffer(m, "1.running_mean"), 1e-5));
    dync_compiled_free(f);
    dync_module_free(m);
    dync_module_free(plain);
}

static int prints;
static dync_tensor *broken(dync_tensor *x)
{
    x = dync_sin(x);
    dync_graph_break("effect");
    if (!dync_is_compiling()) prints += 100;
    prints++;
    return dync_mul(x, 3);
}
TEST(opaque_code_runs_once)
{
    dync_compiled *f = dync_compile(broken, .args = "x");
    dync_tensor *x = dync_randn(dync_shape(4));
    dync_set_verify(true);
    for (int i = 0; i < 3; i++) EXPECT(same(dync_mul(dync_sin(x), 3), dync_call(f, x), 1e-5));
    EXPECT_EQ_INT(prints, 3);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}

TEST(training_under_verify)
{
    dync_manual_seed(11);
    dync_module *m =
        dync_sequential(dync_nn_linear(6, 6, true), dync_nn_relu(), dync_nn_linear(6, 1, true));
    dync_compiled *f = dync_compile(m, .args = "x");
    dync_set_verify(true);
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        /* no leaf */
        dync_tensor *x = dync_mul(dync_randn(dync_shape(2, 6), .requires_grad = true), 1);
        dync_tensor *y = dync_call(f, x);
        REQUIRE(y != NULL);
        EXPECT_OK(dync_backward(dync_sum(y, DYNC_ALL, false)));
    }
    EXPECT(dync_grad(dync_module_param(m, "0.weight")) != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_module_free(m);
}

/* A compiled function that another calls is part of the reference as it is written. */
static dync_compiled *inner_compiled;
static dync_tensor *outer(dync_tensor *x) { return dync_add(dync_call(inner_compiled, x), 1); }
TEST(inner_compiled_functions_run_plainly_in_the_reference)
{
    scale = 2;
    inner_compiled = dync_compile(impure, .args = "x");
    dync_compiled *f = dync_compile(outer, .args = "x");
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_call(inner_compiled, x), dync_call(f, x);
    scale = 3;
    dync_set_verify(true);
    EXPECT(dync_call(f, x) == NULL);
    expect_incorrect("inductor", "outer: the result differs at [0]: 3, expected 4");
    dync_compiled_free(f);
    dync_compiled_free(inner_compiled);
}
TEST(verify_is_a_setting)
{
    EXPECT_OK(dync_config_set("verify", "true"));
    EXPECT_OK(dync_config_set("verify", "off"));
    EXPECT_EQ_INT(dync_config_set("verify", "maybe"), DYNC_ERR_VALUE);
    dync_clear_error();
}

/* ---- lint ------------------------------------------------------------------------------------ */
static double drift;
static int drift_line;
static dync_tensor *drifting(dync_tensor *x)
{
    drift += 0.37, drift_line = __LINE__ + 1;
    return dync_add(dync_mul(x, 2), drift);
}
static int flip;
static dync_tensor *flipping(dync_tensor *x) { return flip++ % 2 ? dync_relu(x) : dync_sigmoid(x); }
static dync_tensor *growing(dync_tensor *x)
{
    flip++;
    for (int i = 0; i < flip; i++) x = dync_sin(x);
    return x;
}
static dync_tensor *branching(dync_tensor *x)
{
    dync_tensor *y = dync_cos(x);
    if (dync_bool(dync_gt(dync_sum(y, DYNC_ALL, false), 0)))
        y = dync_add(y, 1);
    else
        y = dync_sub(y, 1);
    return dync_mul(y, x);
}
static dync_tensor *baked(dync_tensor *x)
{
    float data[2] = {1, 2};
    data[1] += (float)flip++;
    return dync_add(x, dync_constant(data, dync_shape(2)));
}

static dync_tensor *computes_with_dim(dync_tensor *x)
{
    return dync_mul(x, 1.0 / (double)dync_dim(x, 0));
}
static dync_tensor *truncates_dim(dync_tensor *x) { return dync_mul(x, (int)dync_dim(x, 0)); }
static dync_tensor *passes_dim_on(dync_tensor *x)
{
    dync_tensor *z = dync_zeros(dync_shape(dync_dim(x, 0), 2));
    return dync_add(dync_mean(dync_sum(z, dync_shape(1), false), DYNC_ALL, false),
                    dync_var(x, DYNC_ALL, 1, false));
}

static int64_t lints(void) { return dync_get_counters().lint_warnings; }
static int64_t lints_of(dync_tensor *(*fn)(dync_tensor *), dync_tensor *x)
{
    int64_t before = lints();
    dync_compiled *f = dync_compile(fn, .args = "x");
    dync_call(f, x);
    dync_call(f, x);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    return lints() - before;
}

TEST(lint_counts_impure_functions)
{
    dync_tensor *x = dync_randn(dync_shape(2));
    EXPECT_EQ_INT(lints_of(drifting, x), 0); /* off at first */
    dync_set_lint(true);
    dync_tensor *wide = dync_ones(dync_shape(5));
    dync_mark_dynamic(wide, 0);
    EXPECT_EQ_INT(lints_of(computes_with_dim, wide), 1);
    EXPECT_EQ_INT(lints_of(truncates_dim, wide), 1);
    EXPECT_EQ_INT(lints_of(passes_dim_on, wide), 0);
    EXPECT_EQ_INT(lints_of(poly, x), 0);
    EXPECT_EQ_INT(lints_of(branching, x), 0);
    EXPECT_EQ_INT(lints_of(noisy, x), 0);
    EXPECT_EQ_INT(lints_of(broken, x), 0);
    EXPECT_EQ_INT(lints_of(drifting, x), 1);
    EXPECT_EQ_INT(lints_of(flipping, x), 1);
    EXPECT_EQ_INT(lints_of(growing, x), 1);
    EXPECT_EQ_INT(lints_of(baked, x), 1);
    EXPECT_OK(dync_config_set("lint", "0"));
    EXPECT_EQ_INT(lints_of(drifting, x), 0);
}

/* The text, read back from standard error. */
TEST(lint_names_the_constant_and_the_line)
{
    char text[2048] = "", want[128];
    FILE *file = freopen("build/test_lint.txt", "w", stderr);
    REQUIRE(file != NULL);
    drift = 0;
    dync_set_lint(true);
    lints_of(drifting, dync_randn(dync_shape(2)));
    fflush(stderr);
    file = fopen("build/test_lint.txt", "r");
    REQUIRE(file != NULL);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    fclose(file);
    EXPECT_HAS_STR(text, "constant 0.37 changed between two traces at ");
    snprintf(want, sizeof want, "test_verify.c:%d (add: now 0.74)", drift_line);
    EXPECT_HAS_STR(text, want);
}

TEST(lint_leaves_state_alone)
{
    dync_set_lint(true);
    dync_manual_seed(9);
    dync_compiled *f = dync_compile(noisy, .args = "x");
    dync_tensor *x = dync_ones(dync_shape(32)), *a = dync_call(f, x);
    dync_set_lint(false);
    dync_reset();
    dync_manual_seed(9);
    EXPECT(same(a, dync_call(f, x), 0));
    EXPECT(dync_is_grad_enabled());
    dync_compiled_free(f);
}

/* A number that is returned, a function with an opaque break, a whole training step. */
static dync_value number_out(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    drift += 1;
    return dync_tuple(dync_mul(dync_as_tensor(args[0]), 2), drift);
}
static dync_tensor *opaque_drift(dync_tensor *x)
{
    drift += 0.5;
    x = dync_add(x, drift);
    dync_graph_break("here");
    return dync_mul(x, 2);
}
static dync_tensor *opaque_steady(dync_tensor *x)
{
    x = dync_add(x, 1);
    return dync_mul(x, dync_item(dync_sum(x, DYNC_ALL, false)));
}
static dync_tensor *branch_then_item(dync_tensor *x)
{
    x = dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0)) ? dync_add(x, 1) : dync_mul(x, 2);
    return dync_mul(x, dync_item(dync_mean(x, DYNC_ALL, false)));
}
static dync_tensor *weight;
static dync_tensor *training_step(dync_tensor *x)
{
    dync_tensor *loss = dync_mean(dync_silu(dync_mul(x, weight)), DYNC_ALL, false);
    dync_backward(loss);
    DYNC_NO_GRAD {
        dync_sub_(weight, dync_mul(dync_grad(weight), 0.1));
    }
    dync_set_grad(weight, NULL);
    return loss;
}
TEST(lint_of_results_and_opaque_functions)
{
    dync_set_lint(true);
    dync_tensor *x = dync_ones(dync_shape(2));
    int64_t before = lints();
    dync_compiled *f = dync_compile(number_out, .args = "x");
    EXPECT(dync_call_value(f, x).kind == DYNC_KIND_LIST);
    EXPECT_EQ_INT(lints() - before, 1);
    f = dync_compile(opaque_drift, .args = "x", .backend = "eager");
    for (int i = 0; i < 3; i++) dync_call(f, x);
    EXPECT_EQ_INT(lints() - before, 2);
    f = dync_compile(opaque_steady, .args = "x", .backend = "eager");
    for (int i = 0; i < 3; i++) dync_call(f, dync_mul(x, i));
    f = dync_compile(branch_then_item, .args = "x", .backend = "eager");
    for (int i = 0; i < 4; i++) {
        dync_tensor *y = dync_mul(x, i % 2 ? -i : i + 1);
        EXPECT(same(dync_call(f, y), branch_then_item(y), 1e-6));
    }
    weight = dync_ones(dync_shape(2), .requires_grad = true);
    f = dync_compile(training_step, .args = "x", .fullgraph = true);
    for (int i = 0; i < 3; i++) dync_call(f, x);
    EXPECT_EQ_INT(lints() - before, 2);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
static dync_cell *tally;
static dync_tensor *counts(dync_tensor *x)
{
    dync_cell_set(tally, dync_sym_add(dync_cell_get(tally), DYNC_V(1)));
    return dync_mul(x, dync_cell_get(tally));
}
TEST(verify_leaves_cells_to_the_call)
{
    tally = dync_cell_new("tally", DYNC_V(0));
    dync_compiled *f = dync_compile(counts, .args = "x");
    dync_tensor *x = dync_ones(dync_shape(2));
    for (int i = 1; i <= 6; i++) {
        if (i == 3) dync_set_verify(true);
        EXPECT(same(dync_call(f, x), dync_mul(x, i), 0));
        EXPECT_EQ_INT(dync_as_int(dync_cell_get(tally)), i);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_cell_free(tally);
}
TEST(verify_of_training_steps)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    dync_set_verify(true);
    for (int b = 0; b < 3; b++) {
        weight = dync_randn(dync_shape(2), .requires_grad = true);
        dync_tensor *x = dync_randn(dync_shape(5, 2)),
                    *mirror = dync_requires_grad_(dync_clone(dync_detach(weight)), true),
                    *kept = weight;
        dync_compiled *f =
            dync_compile(training_step, .args = "x", .fullgraph = true, .backend = backends[b]);
        for (int i = 0; i < 4; i++) {
            dync_tensor *loss = dync_call(f, x);
            weight = mirror;
            EXPECT(loss && same(loss, dync_detach(training_step(x)), 1e-5));
            weight = kept;
            EXPECT(same(dync_detach(weight), dync_detach(mirror), 1e-5) &&
                   dync_grad(weight) == NULL);
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
    }
    scale = 2;
}

/* Gradients that a step adds to are inputs of its graph: their copies are those of the leaves that
 * have them. */
static dync_tensor *accumulating(dync_tensor *x)
{
    dync_tensor *loss = dync_mean(dync_square(dync_mul(x, weight)), DYNC_ALL, false);
    dync_backward(loss);
    return loss;
}
TEST(verify_of_accumulated_gradients)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    dync_set_verify(true);
    for (int b = 0; b < 3; b++) {
        weight = dync_randn(dync_shape(2), .requires_grad = true);
        dync_tensor *kept = weight,
                    *mirror = dync_requires_grad_(dync_clone(dync_detach(weight)), true),
                    *x = dync_randn(dync_shape(5, 2));
        dync_compiled *f =
            dync_compile(accumulating, .args = "x", .fullgraph = true, .backend = backends[b]);
        for (int i = 0; i < 4; i++) {
            EXPECT(dync_call(f, x) != NULL);
            weight = mirror;
            accumulating(x);
            weight = kept;
            EXPECT(dync_grad(weight) && same(dync_grad(weight), dync_grad(mirror), 1e-5));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* Inputs with a history that lie in one memory lie in one in the copies too, whatever the grad mode
 * of the call. */
static dync_tensor *through_another(dync_tensor *a, dync_tensor *b)
{
    dync_mul_(a, 3);
    return dync_add(dync_sin(b), dync_sum(a, DYNC_ALL, false));
}
TEST(verify_of_inputs_that_share_memory_and_history)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    dync_set_verify(true);
    for (int k = 0; k < 6; k++) {
        dync_compiled *f =
            dync_compile(through_another, .args = "a, b", .backend = backends[k % 3]);
        for (int i = 0; i < 3; i++) {
            dync_tensor *leaf = dync_randn(dync_shape(3, 4), .requires_grad = true),
                        *a = dync_mul(leaf, 2), *b = dync_select(a, 0, 1), *got = NULL;
            dync_tensor *a2 = dync_mul(leaf, 2), *want = through_another(a2, dync_select(a2, 0, 1));
            if (k < 3)
                got = dync_call(f, a, b);
            else DYNC_NO_GRAD
                got = dync_call(f, a, b);
            EXPECT(got && same(dync_detach(got), dync_detach(want), 1e-5) &&
                   same(dync_detach(a), dync_detach(a2), 1e-5));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* The environment's form. Read once for a process: each of these needs one of its own. */
#if TEST__FORK
extern int setenv(const char *, const char *, int);
static void says(const char *value, int set, bool reported)
{
    if (test__state.no_fork) SKIP("needs a process of its own");
    setenv("DYNC_VERIFY", value, 1);
    if (set >= 0) dync_set_verify(set);
    dync_compiled *f = dync_compile(impure, .args = "x");
    dync_tensor *x = dync_ones(dync_shape(2, 3));
    scale = 2;
    EXPECT(dync_call(f, x) != NULL);
    scale = 3;
    EXPECT((dync_call(f, x) == NULL) == reported);
    if (reported)
        expect_incorrect("inductor", "impure: the result differs at [0, 0]: 2, expected 3");
    dync_compiled_free(f);
}
TEST(the_environment_turns_verify_on) { says("1", -1, true); }
TEST(the_environment_says_0) { says("0", -1, false); }
TEST(the_environment_says_nothing) { says("", -1, false); }
TEST(the_program_wins_over_the_environment) { says("1", 0, false); }
TEST(the_program_turns_verify_on_all_the_same) { says("0", 1, true); }
#endif
TEST_MAIN
