/* What data decide inside one graph: sizes of results (.capture_dynamic_shapes) and elements as
 * numbers (.capture_scalars): forward, backward, training steps, behind breaks, and what is
 * refused. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor", "ts", "aot_ts"};
enum { N_BACKENDS = 5 };
typedef dync_tensor *(*function)(dync_tensor *);

static dync_tensor *positive(dync_tensor *x) { return dync_gt(x, 0.0); }
static dync_tensor *total(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static dync_tensor *count(dync_tensor *x) { return total(dync_to_dtype(positive(x), DYNC_I64)); }

/* ---- functions ------------------------------------------------------------------------------- */
static dync_tensor *selects(dync_tensor *x)
{
    dync_tensor *v = dync_masked_select(dync_mul(x, 2.0), positive(x));
    return total(dync_exp(dync_mul(v, 0.1)));
}
static dync_tensor *rows_of(dync_tensor *x)
{
    dync_tensor *nz = dync_nonzero(positive(dync_sum(x, dync_shape(1), false)));
    dync_value n = dync_size_sym(nz, 0);
    dync_tensor *rows = dync_index_select(dync_tanh(x), 0, dync_select(nz, 1, 0));
    dync_tensor *y = dync_matmul(rows, dync_transpose(rows, 0, 1));
    y = dync_add(dync_mul(y, n), dync_full(dync_shape(dync_as_dim(n), 1), 0.5));
    return dync_reshape(y, dync_shape(dync_as_dim(dync_sym_mul(n, n))));
}
static dync_tensor *uniques(dync_tensor *x)
{
    dync_tensor *u = dync_unique(dync_round(x));
    return dync_cat(dync_tuple(u, dync_mul(u, 2), dync_slice(u, 0, 1, DYNC_END, 1)), 0);
}
static dync_tensor *counts(dync_tensor *x)
{
    dync_value n = dync_item_sym(count(x));
    dync_check(n, 0, 1000);
    dync_tensor *z = dync_zeros(dync_shape(dync_as_dim(n), 3));
    return dync_add(total(dync_add(z, 1.0)), dync_mul(x, dync_sym_add(n, DYNC_V(1))));
}
/* Of any sign: no size. */
static dync_tensor *signs(dync_tensor *x)
{
    dync_value n = dync_item_sym(dync_sub(count(x), 4));
    return dync_add(dync_mul(x, n), dync_sym_sub(n, DYNC_V(3)));
}
static dync_tensor *means(dync_tensor *x)
{
    dync_value m = dync_item_sym(dync_mean(dync_detach(x), DYNC_ALL, false));
    return dync_add(dync_mul(x, m), dync_sym_mul(m, DYNC_V(2.0)));
}
/* Twice in one graph, the second of what the first selected; written in place between. */
static dync_tensor *twice(dync_tensor *x)
{
    dync_tensor *y = dync_add(x, 1.0);
    dync_tensor *v = dync_masked_select(y, positive(x));
    dync_mul_(y, 3.0);
    dync_tensor *u = dync_masked_select(v, dync_gt(v, 1.5));
    return dync_add(total(y), dync_add(total(u), total(v)));
}
static dync_tensor *no_grad_between(dync_tensor *x)
{
    dync_tensor *v = NULL, *w;
    DYNC_NO_GRAD {
        v = dync_masked_select(x, positive(x));
    }
    w = dync_masked_select(x, dync_lt(x, 0.0));
    return dync_add(total(dync_mul(w, w)), total(v));
}
static const struct {
    const char *name;
    function fn;
    bool grad;
} cases[] = {{"selects", selects, true},  {"rows_of", rows_of, true},
             {"uniques", uniques, false}, {"counts", counts, true},
             {"signs", signs, true},      {"means", means, true},
             {"twice", twice, true},      {"no_grad_between", no_grad_between, true}};
enum { N_CASES = (int)(sizeof cases / sizeof *cases) };

/* ---- compared with plain --------------------------------------------------------------------- */
/* Every third has no positive element, every fourth one alone. */
static dync_tensor *input(int k, int64_t columns, bool grad)
{
    dync_tensor *x = dync_randn(dync_shape(4, columns));
    if (k % 3 == 2) x = dync_neg(dync_abs(x));
    if (k % 4 == 3) {
        x = dync_neg(dync_abs(x));
        dync_fill_(dync_select(dync_select(x, 0, 1), 0, 1), 9.0);
    }
    return grad ? dync_requires_grad_(dync_detach(x), true) : x;
}
static bool close_to(dync_tensor *a, dync_tensor *b) { return a && b && same(a, b, 1e-5); }
static void compare(int i, dync_compiled *f, int k, int64_t columns, bool grad)
{
    dync_tensor *x = input(k, columns, grad), *copy = dync_detach(dync_clone(x));
    if (grad) dync_requires_grad_(copy, true);
    dync_tensor *got = dync_call(f, x), *want = cases[i].fn(copy);
    if (!EXPECT(close_to(got, want)))
        printf("    %s, call %d: %s\n", cases[i].name, k, dync_error_message());
    if (!grad || !got) return;
    dync_backward(total(dync_sin(got)));
    dync_backward(total(dync_sin(want)));
    EXPECT(close_to(dync_grad(x), dync_grad(copy)));
}
static void all_calls(int i, dync_dynamic dynamic, bool grad)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f = dync_compile(cases[i].fn, .args = "x", .backend_object = &COUNTER(c),
                                        .fullgraph = true, .capture_scalars = true,
                                        .capture_dynamic_shapes = true, .dynamic = dynamic);
        for (int k = 0; k < 12; k++) DYNC_SCOPE
            compare(i, f, k, 2 + k / 6, grad);
        EXPECT(c.frame_count <= (dynamic == DYNC_DYNAMIC_ON ? 1 : 2));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    EXPECT_EQ_INT(dync_get_counters().graph_breaks, 0);
}
TEST(forward)
{
    for (int i = 0; i < N_CASES; i++) all_calls(i, DYNC_DYNAMIC_AUTO, false);
}
TEST(forward_dynamic)
{
    for (int i = 0; i < N_CASES; i++) all_calls(i, DYNC_DYNAMIC_ON, false);
}
TEST(backward)
{
    for (int i = 0; i < N_CASES; i++)
        if (cases[i].grad) all_calls(i, DYNC_DYNAMIC_AUTO, true);
}
TEST(backward_dynamic)
{
    for (int i = 0; i < N_CASES; i++)
        if (cases[i].grad) all_calls(i, DYNC_DYNAMIC_ON, true);
}

/* What is printed asks about sizes, too: nothing comes of it. */
TEST(logged)
{
    REQUIRE(freopen("build/test_data_log.txt", "w", stderr) != NULL);
    dync_set_log("graph,guards,recompiles,aot,ir,code,perf,joint,forward,backward");
    for (int i = 0; i < N_CASES; i++) all_calls(i, DYNC_DYNAMIC_ON, cases[i].grad);
    dync_set_log("");
}

/* A size that data give compiles nothing anew. */
TEST(no_code_for_each_size)
{
    dync_compiled *f = dync_compile(rows_of, .args = "x", .capture_dynamic_shapes = true);
    for (int k = 0; k < 40; k++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(32, 4));
        EXPECT(close_to(dync_call(f, x), rows_of(x)));
    }
    dync_compiled_information info = dync_compiled_info(f);
    EXPECT_EQ_INT(info.entries, 1);
    EXPECT_EQ_INT(info.misses, 1);
    dync_compiled_free(f);
}

/* ---- training steps -------------------------------------------------------------------------- */
static dync_tensor *weight;
static dync_tensor *step(dync_tensor *x)
{
    dync_tensor *y = dync_matmul(x, weight);
    dync_tensor *v = dync_masked_select(y, positive(y));
    dync_tensor *loss = total(dync_mul(v, v));
    dync_backward(loss);
    return dync_detach(loss);
}
TEST(training_step)
{
    weight = dync_parameter(dync_randn(dync_shape(3, 5)));
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f = dync_compile(step, .args = "x", .backend = backends[b],
                                        .fullgraph = true, .capture_dynamic_shapes = true);
        for (int k = 0; k < 6; k++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(4, 3));
            dync_set_grad(weight, NULL);
            dync_tensor *loss = dync_call(f, x), *grad = dync_clone(dync_grad(weight));
            dync_set_grad(weight, NULL);
            EXPECT(close_to(loss, step(x)));
            EXPECT(close_to(grad, dync_grad(weight)));
        }
        dync_compiled_free(f);
    }
}

/* ---- breaks ---------------------------------------------------------------------------------- */
static dync_tensor *breaks(dync_tensor *x)
{
    dync_tensor *nz = dync_nonzero(positive(x));
    dync_value n = dync_size_sym(nz, 0);
    dync_graph_break("here");
    dync_tensor *z = dync_ones(dync_shape(dync_as_dim(n), 2));
    if (dync_bool(dync_gt(total(x), 0.0))) z = dync_mul(z, 2);
    return dync_add(total(z), dync_mul(x, n));
}
static dync_tensor *branches(dync_tensor *x)
{
    dync_value n = dync_size_sym(dync_nonzero(positive(x)), 0);
    dync_tensor *z = dync_ones(dync_shape(dync_as_dim(n), 2));
    if (dync_bool(dync_gt(total(x), 0.0))) z = dync_mul(z, 2);
    return dync_add(total(z), dync_mul(x, n));
}
TEST(behind_breaks)
{
    const function fns[] = {breaks, branches};
    for (int i = 0; i < 2; i++)
        for (int b = 0; b < N_BACKENDS; b++) {
            counter c = {.inner = backends[b]};
            dync_compiled *f = dync_compile(fns[i], .args = "x", .backend_object = &COUNTER(c),
                                            .capture_dynamic_shapes = true);
            for (int k = 0; k < 24; k++) DYNC_SCOPE {
                dync_tensor *x = input(k, 3, k % 2);
                EXPECT(close_to(dync_call(f, x), fns[i](x)));
            }
            EXPECT(c.frame_count <= 16);
            dync_compiled_free(f);
        }
}

/* Without the options they break, and under fullgraph are refused. */
TEST(without_the_options)
{
    const function fns[] = {selects, rows_of, uniques, counts, means};
    for (int i = 0; i < 5; i++) {
        counter c = {0};
        dync_compiled *f = dync_compile(fns[i], .args = "x", .backend_object = &COUNTER(c));
        dync_tensor *x = input(0, 3, false);
        EXPECT(close_to(dync_call(f, x), fns[i](x)));
        EXPECT_EQ_INT(c.frame_count, 2);
        dync_compiled_free(f);
        f = dync_compile(fns[i], .args = "x", .fullgraph = true);
        EXPECT(!dync_call(f, x));
        EXPECT_EQ_INT(dync_error(), DYNC_ERR_UNSUPPORTED);
        dync_clear_error();
        dync_compiled_free(f);
    }
}

/* ---- what nobody can know -------------------------------------------------------------------- */
static int seen;
static dync_tensor *asks(dync_tensor *x)
{
    dync_value n = dync_size_sym(dync_nonzero(x), 0);
    seen = dync_sym_lt(n, DYNC_V(1)) ? 1 : 2;
    return dync_mul(x, n);
}
static dync_tensor *asks_checked(dync_tensor *x)
{
    dync_value n = dync_size_sym(dync_nonzero(x), 0);
    dync_check(n, 1, 100);
    return dync_sym_lt(n, DYNC_V(1)) ? x : dync_mul(x, n);
}
static dync_tensor *reads(dync_tensor *x) { return dync_mul(x, dync_size(dync_nonzero(x), 0)); }
static dync_tensor *adds(dync_tensor *x)
{
    dync_tensor *v = dync_masked_select(x, positive(x));
    return dync_add(v, dync_ones(dync_shape(5)));
}
static dync_tensor *sizes_unchecked(dync_tensor *x)
{
    return dync_ones(dync_shape(dync_as_dim(dync_item_sym(count(x)))));
}
static dync_tensor *floats(dync_tensor *x)
{
    return dync_mul(x, dync_as_float(dync_item_sym(total(x))) > 0 ? 1.0 : 2.0);
}
TEST(refused)
{
    const struct {
        function fn;
        const char *says;
    } rows[] = {{asks, "u0 < 1"},
                {reads, "dync_size_sym"},
                {adds, "u0 == 5"},
                {sizes_unchecked, "dync_check(n, 0, most)"},
                {floats, "zuf0"}};
    dync_tensor *x = input(0, 3, false);
    for (int i = 0; i < 5; i++) {
        dync_compiled *f = dync_compile(rows[i].fn, .args = "x", .fullgraph = true,
                                        .capture_scalars = true, .capture_dynamic_shapes = true);
        EXPECT(!dync_call(f, x));
        EXPECT_EQ_INT(dync_error(), DYNC_ERR_UNSUPPORTED);
        EXPECT_EQ_STR(dync_error_class(), "UserError");
        if (!EXPECT(strstr(dync_error_message(), rows[i].says) != NULL))
            printf("    %s\n", dync_error_message());
        dync_clear_error();
        dync_compiled_free(f);
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */
TEST(a_check_is_part_of_the_graph)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f = dync_compile(asks_checked, .args = "x", .backend = backends[b],
                                        .fullgraph = true, .capture_dynamic_shapes = true);
        dync_tensor *x = dync_ones(dync_shape(3)), *none = dync_zeros(dync_shape(3));
        EXPECT(close_to(dync_call(f, x), asks_checked(x)));
        EXPECT(!dync_call(f, none));
        EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
        EXPECT(strstr(dync_error_message(), "from 1 to 100, got 0") != NULL);
        dync_clear_error();
        EXPECT(close_to(dync_call(f, x), asks_checked(x)));
        dync_compiled_free(f);
    }
}
static dync_tensor *checks_size(dync_tensor *x)
{
    dync_check(dync_size_sym(x, 0), 2, 5);
    return dync_mul(x, 2);
}
TEST(checks_of_plain_numbers_and_sizes)
{
    EXPECT_EQ_INT(dync_check(DYNC_V(3), 3, 4), DYNC_OK);
    EXPECT_EQ_INT(dync_check(DYNC_V(2.5), 2, 3), DYNC_OK);
    EXPECT_EQ_INT(dync_check(DYNC_V(5), 3, 4), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_EQ_INT(dync_check(DYNC_V(3), 4, 3), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_EQ_INT(dync_check(DYNC_NONE, 0, 3), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_compiled *f = dync_compile(checks_size, .args = "x", .dynamic = DYNC_DYNAMIC_ON);
    EXPECT(dync_call(f, dync_ones(dync_shape(3))) != NULL);
    EXPECT(dync_call(f, dync_ones(dync_shape(5))) != NULL);
    EXPECT(!dync_call(f, dync_ones(dync_shape(6))));
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_compiled_free(f);
}
TEST(items_as_written)
{
    dync_value i = dync_item_sym(dync_full(DYNC_SCALAR, 7, .dtype = DYNC_I64));
    dync_value x = dync_item_sym(dync_full(DYNC_SCALAR, 1.5));
    EXPECT(i.kind == DYNC_KIND_INT && i.as.i == 7);
    EXPECT(x.kind == DYNC_KIND_FLOAT && x.as.f == 1.5);
    EXPECT(dync_item_sym(dync_ones(dync_shape(2))).kind == DYNC_KIND_FLOAT);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
}
static dync_tensor *item_of(dync_tensor *x)
{
    return dync_mul(x, dync_item_sym(dync_select(x, 0, 0)));
}
TEST(items_too_large)
{
    dync_compiled *f =
        dync_compile(item_of, .args = "x", .fullgraph = true, .capture_scalars = true);
    dync_tensor *x = dync_from((int64_t[]){7, 2}, dync_shape(2), .dtype = DYNC_I64);
    EXPECT(close_to(dync_call(f, x), item_of(x)));
    x = dync_from((int64_t[]){INT64_C(1) << 40, 2}, dync_shape(2), .dtype = DYNC_I64);
    EXPECT(!dync_call(f, x));
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_compiled_free(f);
}

/* ---- seen ------------------------------------------------------------------------------------ */
TEST(printed)
{
    counter c = {0};
    dync_compiled *f = dync_compile(counts, .args = "x", .backend_object = &COUNTER(c),
                                    .fullgraph = true, .capture_scalars = true);
    EXPECT(dync_call(f, input(0, 3, false)) != NULL);
    const char *text = dync_graph_readable(c.graphs[0]);
    EXPECT(strstr(text, "f32[u0, 3]") != NULL);
    EXPECT(strstr(text, ".item()") != NULL);
    dync_compiled_free(f);
}
TEST(verified_and_linted)
{
    dync_set_verify(true);
    dync_set_lint(true);
    for (int i = 0; i < N_CASES; i++) all_calls(i, DYNC_DYNAMIC_AUTO, cases[i].grad);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST_MAIN
