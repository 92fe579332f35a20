/* White box: likeness of error texts, the accuracy rule of conformance 8.5 at its limits, graph
 * edits, allocation failure. */
#include "dync.in.h"
#include "minify/minify.h"
#include "test.h"
#include "every_operator.h"

/* Expectations: difflib.SequenceMatcher(None, a, b, autojunk=False).ratio(). */
TEST(likeness_of_texts)
{
    EXPECT_NEAR(dync__text_ratio("", ""), 1.0, 0);
    EXPECT_NEAR(dync__text_ratio("abc", ""), 0.0, 0);
    EXPECT_NEAR(dync__text_ratio("abcd", "bcde"), 0.75, 1e-15);
    EXPECT_NEAR(dync__text_ratio("tide", "diet"), 0.25, 1e-15);
    EXPECT_NEAR(
        dync__text_ratio("private Thread currentThread;", "private volatile Thread currentThread;"),
        0.8656716417910447, 1e-15);
    EXPECT_NEAR(
        dync__text_ratio("matmul: inner sizes 3 and 2 differ", "add: shapes cannot be broadcast"),
        0.3076923076923077, 1e-15);
    EXPECT_NEAR(dync__text_ratio("Failed running call_function relu(x_1): shape mismatch [2, 3]",
                                 "Failed running call_function relu(x_19): shape mismatch [4, 5]"),
                0.959349593495935, 1e-15);
}

static dync__verdict verdict(int kind, int number, const char *class_name, const char *text)
{
    dync__verdict v = {.kind = kind, .signal = number};
    snprintf(v.error.class_name, sizeof v.error.class_name, "%s", class_name);
    snprintf(v.error.message, sizeof v.error.message, "%s", text);
    return v;
}
TEST(failing_the_same_way)
{
    dync__verdict a = verdict(DYNC__RAISES, 0, "ReluCompileError", ""),
                  b = verdict(DYNC__RAISES, 0, "ValueError", "");
    dync__verdict c = verdict(DYNC__RAISES, 0, "ValueError", "a text"),
                  d = verdict(DYNC__RAISES, 0, "ValueError", "a test");
    dync__verdict crash = verdict(DYNC__CRASHES, 11, "", ""),
                  other = verdict(DYNC__CRASHES, 6, "", ""), hang = verdict(DYNC__HANGS, 0, "", "");
    EXPECT(dync__judge_similar(&a, &a) && !dync__judge_similar(&a, &b));
    EXPECT(dync__judge_similar(&c, &d) && !dync__judge_similar(&b, &c));
    EXPECT(dync__judge_similar(&crash, &crash) && !dync__judge_similar(&crash, &other) &&
           !dync__judge_similar(&crash, &hang));
    EXPECT(dync__judge_similar(&hang, &hang) && !dync__judge_similar(&hang, &a));
}

/* n zeros and, beside them, ref and res that are off by constants. */
static bool passes(dync_dims shape, dync_dtype dtype, double ref, double res, bool wide)
{
    dync__run_item items[3] = {{dync_v_tensor(dync_full(shape, ref, .dtype = dtype)), false},
                               {dync_v_tensor(dync_full(shape, res, .dtype = dtype)), false},
                               {dync_v_tensor(dync_full(shape, 0.0, .dtype = DYNC_F64)), false}};
    dync__run_items a = {&items[0], 1, 1}, b = {&items[1], 1, 1}, c = {&items[2], 1, 1};
    dync__str why = {0};
    bool same = dync__accuracy_same(&a, &b, wide ? &c : NULL, &why);
    EXPECT(same == (why.n == 0));
    dync__str_free(&why);
    return same;
}

TEST(the_accuracy_rule)
{
    dync_dims many = dync_shape(10, 100), few = dync_shape(999);
    /* allclose: 1e-3 + 1e-3 * 0.0109 */
    EXPECT(passes(many, DYNC_F32, 0.010, 0.0109, false));
    EXPECT(!passes(many, DYNC_F32, 0.010, 0.0111, false));
    EXPECT(passes(many, DYNC_F32, 0.010, 0.02008, true)); /* RMSE: 2 * 0.01 + 1e-4 */
    EXPECT(!passes(many, DYNC_F32, 0.010, 0.02015, true));
    /* 3: fewer than 1000 elements */
    EXPECT(passes(few, DYNC_F32, 0.010, 0.03008, true));
    EXPECT(!passes(few, DYNC_F32, 0.010, 0.03015, true));
    /* 3: 1x1 images */
    EXPECT(passes(dync_shape(50, 50, 1, 1), DYNC_F32, 0.010, 0.03008, true));
    EXPECT(!passes(dync_shape(50, 50, 1, 1), DYNC_F32, 0.010, 0.03015, true));
    EXPECT(!passes(dync_shape(50, 50, 1), DYNC_F32, 0.010, 0.02015, true));
    EXPECT(passes(many, DYNC_BF16, 0.0625, 0.1875, true)); /* 3: bfloat16 */
    EXPECT(!passes(many, DYNC_F32, 0.0625, 0.1875, true));
    EXPECT_OK(dync_config_set("repro_tolerance", "0.02"));
    /* 3: tol >= 0.02; 3 * 0.0625 + 0.002 */
    EXPECT(passes(many, DYNC_F32, 0.0625, 0.1894, true));
    EXPECT(!passes(many, DYNC_F32, 0.0625, 0.1897, true));
    EXPECT_OK(dync_config_set("repro_tolerance", "0.001"));
    EXPECT(passes(few, DYNC_F32, (double)NAN, (double)NAN, false));
    EXPECT(!passes(few, DYNC_F32, 1, (double)NAN, false));
    EXPECT(!passes(few, DYNC_F32, 1, (double)NAN, true));
    EXPECT(passes(few, DYNC_F32, (double)INFINITY, (double)INFINITY, false));
    EXPECT(!passes(few, DYNC_F32, (double)INFINITY, (double)-INFINITY, false));
    EXPECT(!passes(few, DYNC_F32, 1, (double)INFINITY, true));
    /* integers by the same rule, as torch.allclose has it */
    EXPECT(passes(few, DYNC_I64, 10000, 10001, false));
    EXPECT(!passes(few, DYNC_I64, 100, 101, false));
    EXPECT_OK(dync_config_set("repro_ignore_non_fp", "1"));
    EXPECT(passes(few, DYNC_BOOL, 0, 1, false));
    EXPECT_OK(dync_config_set("repro_ignore_non_fp", "0"));
    EXPECT(!passes(few, DYNC_BOOL, 0, 1, false));
}

TEST(dtypes_shapes_and_missing_gradients)
{
    dync_tensor *x = dync_zeros(dync_shape(3)),
                *wide = dync_zeros(dync_shape(3), .dtype = DYNC_F64),
                *y = dync_zeros(dync_shape(4)), *one = dync_ones(dync_shape(3));
    struct {
        dync_value a, b;
        bool gradient, same;
    } rows[] = {
        {DYNC_V(x), DYNC_V(wide), false, false},    {DYNC_V(x), DYNC_V(y), false, false},
        {DYNC_V(x), DYNC_NONE, false, false},       {DYNC_V(x), DYNC_NONE, true, true},
        {DYNC_NONE, DYNC_V(x), true, true},         {DYNC_NONE, DYNC_V(one), true, false},
        {DYNC_V(one), DYNC_NONE, true, false},      {DYNC_NONE, DYNC_NONE, true, true},
        {DYNC_V(2), DYNC_V(2), false, true},        {DYNC_V(2), DYNC_V(3), false, false},
        {DYNC_V(2.0), DYNC_V(2.0005), false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dync__run_item a = {rows[i].a, rows[i].gradient}, b = {rows[i].b, rows[i].gradient};
        dync__run_items p = {&a, 1, 1}, q = {&b, 1, 1}, none = {0};
        dync__str why = {0};
        if (dync__accuracy_same(&p, &q, NULL, &why) != rows[i].same)
            printf("row %d: %s\n", (int)i, dync__str_get(&why));
        EXPECT(dync__accuracy_same(&p, &q, NULL, &why) == rows[i].same);
        EXPECT(!dync__accuracy_same(&p, &none, NULL, &why));
        dync__str_free(&why);
    }
}

static dync_tensor *chain(dync_tensor *x, dync_tensor *y)
{
    dync_value most = dync_max_dim(dync_add(x, y), 1, false);
    return dync_relu(dync_mul(dync_as_tensor(dync_at(most, 0)),
                              dync_sin(dync_to_dtype(dync_as_tensor(dync_at(most, 1)), DYNC_F32))));
}

TEST(edits)
{
    dync_tensor *x = dync_randn(dync_shape(2, 3)), *y = dync_randn(dync_shape(2, 3));
    dync__graph *g = dync__graph_peek(dync_make_graph(dync_args(chain, "x, y"), x, y)),
                *copy = dync__graph_clone(g);
    dync__str a = {0}, b = {0};
    dync__graph_print_c(&a, g);
    dync__graph_print_c(&b, copy);
    EXPECT_EQ_STR(dync__str_get(&b), dync__str_get(&a));
    bool drop[32] = {false};
    for (int i = 0; i < g->node.n; i++) drop[i] = strcmp(g->node.at[i]->target, "max_dim") == 0;
    dync__edit edit = {.drop = drop, .dead_code = true, .unused_inputs = true};
    dync__graph *h = dync__graph_edit(g, &edit);
    REQUIRE(h != NULL);
    EXPECT_OK(dync__graph_check(h));
    EXPECT_OK(dync__graph_check_types(h, NULL));
    /* the two items: what they were of and its inputs are gone */
    EXPECT_EQ_INT(h->n_inputs, 2);
    EXPECT_EQ_INT(h->node.n, 7);
    dync__graph_unref(h);
    dync__graph_unref(copy);
    dync__str_free(&a);
    dync__str_free(&b);
}

TEST(float64_graphs)
{
    dync_tensor *x = dync_rand(dync_shape(2, 3)), *y = dync_rand(dync_shape(2, 3));
    dync__graph *g = dync__graph_to_f64(dync__graph_peek(dync_make_graph(chain, x, y)));
    dync_value in[2] = {DYNC_V(x), DYNC_V(y)}, wide[2];
    EXPECT_OK(dync__run_copy_inputs(2, in, wide, true));
    dync_value r = dync__graph_run(g, wide, 2);
    EXPECT_EQ_INT(dync_type(dync_as_tensor(r)), DYNC_F64);
    dync__graph_unref(g);
}

/* Every allocation may fail: no crash, nothing leaks, and with enough memory it works. */
static bool relu_stays(dync_graph *graph, const dync_value *in, int n, void *user)
{
    const dync__graph *g = dync__graph_peek(graph);
    (void)in, (void)n, (void)user;
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]->op == DYNC__OP_relu) return true;
    return false;
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(allocations_that_fail)
{
    dync_tensor *x = dync_randn(dync_shape(2, 3)), *y = dync_randn(dync_shape(2, 3));
    dync__graph *g = dync__graph_peek(dync_make_graph(chain, x, y));
    static char backend[] = "relu_accuracy_error_TESTING_ONLY";
    dync_value in[2] = {DYNC_V(x), DYNC_V(y)};
    dync_on_error(quiet, NULL);
    dync_config_set("repro_isolate", "0");
    EXPECT(dync_fails_accuracy(dync__graph_handle(g), in, 2, backend));
    EXPECT(freopen("/dev/null", "w", stderr) != NULL);
    char path[1000];
    snprintf(path, sizeof path, "%s_repro.c", test__state.program);
    for (int what = 0; what < 3; what++)
        for (int64_t nth = 1, step = 1;; nth += step, step = nth / 16 + 1) {
            bool done = false;
            dync__mem_trim();
            int64_t before = dync__mem_read_stats().live_bytes;
            DYNC_SCOPE {
                dync__mem_fail_at(nth);
                if (what == 0)
                    done = dync_minify(dync__graph_handle(g), dync_tuple(x, y), relu_stays, NULL)
                               .graph != NULL;
                else if (what == 1)
                    done = dync_fails_accuracy(dync__graph_handle(g), in, 2, backend);
                else
                    done = dync_repro_save(dync__graph_handle(g), dync_tuple(x, y), backend, true,
                                           path) == DYNC_OK;
                bool unfired = dync__tls.fail_at > 0;
                dync__mem_fail_at(0);
                EXPECT(!unfired || done);
                done = unfired;
            }
            dync_clear_error();
            dync__mem_trim();
            EXPECT(dync__mem_read_stats().live_bytes <= before + 65536);
            if (done || test__state.failures > 5) break;
        }
}
TEST_MAIN
