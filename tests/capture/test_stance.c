/* dync_set_stance and dync_compiled_info: who compiles when, and what is counted. */
#define TEST_AFTER_EACH dync_set_stance(NULL)
#include "counter.h"

static int runs; /* of the C function */
static dync_tensor *line(dync_tensor *x)
{
    runs++;
    return dync_add(dync_mul(x, 2), 1);
}
static bool is_line(dync_tensor *x, dync_tensor *y)
{
    runs--;
    return same(line(x), y, 0);
}
static dync_tensor *ones(int n) { return dync_ones(dync_shape(n)); }

/* ---- stances --------------------------------------------------------------------------------- */
TEST(force_eager_runs_the_function)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(line, .backend_object = &b);
    runs = 0;
    EXPECT(is_line(ones(3), dync_call(f, ones(3))));
    EXPECT_EQ_INT(runs, 1);
    EXPECT_EQ_INT(dync_set_stance("force_eager"), DYNC_OK);
    for (int n = 3; n < 6; n++) EXPECT(is_line(ones(n), dync_call(f, ones(n))));
    EXPECT_EQ_INT(runs, 4); /* the entry for 3 was not asked */
    EXPECT_EQ_INT(c.frame_count, 1);
    dync_set_stance("default");
    EXPECT(is_line(ones(3), dync_call(f, ones(3))));
    EXPECT_EQ_INT(runs, 4);
    dync_compiled_information i = dync_compiled_info(f);
    EXPECT_EQ_INT(i.eager, 3);
    EXPECT_EQ_INT(i.hits, 1);
    EXPECT_EQ_INT(i.misses, 1);
    dync_compiled_free(f);
}
TEST(eager_on_recompile_keeps_entries)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(line, .backend_object = &b);
    EXPECT_EQ_INT(dync_set_stance("eager_on_recompile"), DYNC_OK);
    runs = 0;
    EXPECT(is_line(ones(3), dync_call(f, ones(3)))); /* the first compile is one too */
    EXPECT_EQ_INT(c.frame_count, 0);
    dync_set_stance("default");
    EXPECT(is_line(ones(3), dync_call(f, ones(3))));
    dync_set_stance("eager_on_recompile");
    for (int n = 3; n < 6; n++) EXPECT(is_line(ones(n), dync_call(f, ones(n))));
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT_EQ_INT(runs, 4); /* eager at first, traced, eager for 4 and 5 */
    dync_compiled_free(f);
}
/* A function of which no operator has been met stands where it was compiled. */
TEST(messages_name_a_place_before_the_first_trace)
{
    char place[512];
    dync_module *m = dync_nn_linear(3, 2, true);
    dync_compiled *f = dync_compile(line, .args = "x");
    const int line_of_f = __LINE__ - 1;
    dync_set_stance("fail_on_recompile");
    EXPECT(dync_call(f, ones(3)) == NULL);
    snprintf(place, sizeof place, "(%s:%d)", __FILE__, line_of_f);
    EXPECT_HAS_STR(dync_error_message(), place);
    dync_clear_error();
    dync_compiled *g = dync_compile(m, .args = "x", .dynamic = DYNC_DYNAMIC_OFF);
    const int line_of_g = __LINE__ - 1;
    dync_set_stance(NULL);
    EXPECT(dync_call(g, dync_ones(dync_shape(1, 3))) != NULL);
    dync_set_stance("fail_on_recompile"); /* operators inside the library have no line */
    EXPECT(dync_call(g, dync_ones(dync_shape(4, 3))) == NULL);
    snprintf(place, sizeof place, "(%s:%d)", __FILE__, line_of_g);
    EXPECT_HAS_STR(dync_error_message(), place);
    dync_clear_error();
    dync_set_stance(NULL);
    dync_compiled_free(f);
    dync_compiled_free(g);
    dync_module_free(m);
}
TEST(fail_on_recompile_says_why)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(line, .args = "x", .backend_object = &b);
    dync_set_stance("fail_on_recompile");
    EXPECT(dync_call(f, ones(3)) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_RECOMPILE_LIMIT);
    dync_clear_error();
    dync_set_stance(NULL);
    EXPECT(dync_call(f, ones(3)) != NULL);
    dync_set_stance("fail_on_recompile");
    EXPECT(is_line(ones(3), dync_call(f, ones(3))));
    EXPECT(dync_call(f, ones(4)) == NULL);
    EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
    EXPECT_HAS_STR(dync_error_message(), "Detected recompile when torch.compile stance is "
                                         "'fail_on_recompile'");
    EXPECT_HAS_STR(dync_error_message(),
                   "tensor 'L['x']' size mismatch at index 0. expected 3, actual 4");
    dync_clear_error();
    EXPECT(is_line(ones(3), dync_call(f, ones(3))));
    EXPECT_EQ_INT(c.frame_count, 1);
    dync_set_stance(NULL);
    EXPECT(is_line(ones(4), dync_call(f, ones(4))));
    EXPECT_EQ_INT(c.frame_count, 2);
    dync_compiled_free(f);
}
TEST(unknown_stance)
{
    EXPECT_EQ_INT(dync_set_stance("forced"), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), "\"default\", \"force_eager\", \"eager_on_recompile\", "
                                         "\"fail_on_recompile\"");
    dync_clear_error();
}

/* ---- branches and breaks --------------------------------------------------------------------- */
static dync_tensor *forked(dync_tensor *x)
{
    runs++;
    dync_add_(x, 1); /* written before the branch: once in every call */
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0))) return dync_mul(x, 2);
    return dync_mul(x, -3);
}
TEST(new_outcome_runs_what_is_new)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(forked, .backend_object = &b);
    dync_tensor *up = dync_ones(dync_shape(2));
    EXPECT(same(dync_call(f, up), dync_full(dync_shape(2), 4.0), 0));
    int graphs = c.frame_count;
    dync_set_stance("eager_on_recompile");
    for (int i = 0; i < 3; i++) {
        dync_tensor *down = dync_full(dync_shape(2), -5.0);
        EXPECT(same(dync_call(f, down), dync_full(dync_shape(2), 12.0), 0));
        EXPECT(same(down, dync_full(dync_shape(2), -4.0), 0));
        EXPECT(same(dync_call(f, dync_ones(dync_shape(2))), dync_full(dync_shape(2), 4.0), 0));
    }
    EXPECT_EQ_INT(c.frame_count, graphs);
    EXPECT_EQ_INT(dync_compiled_info(f).by.branches, 3);
    dync_set_stance("fail_on_recompile");
    EXPECT(dync_call(f, dync_full(dync_shape(2), -5.0)) == NULL);
    EXPECT_HAS_STR(dync_error_message(), "a branch on data went another way");
    dync_clear_error();
    EXPECT(same(dync_call(f, dync_ones(dync_shape(2))), dync_full(dync_shape(2), 4.0), 0));
    dync_set_stance(NULL);
    for (int i = 0; i < 2; i++)
        EXPECT(
            same(dync_call(f, dync_full(dync_shape(2), -5.0)), dync_full(dync_shape(2), 12.0), 0));
    EXPECT_EQ_INT(c.frame_count, graphs + 1);
    dync_compiled_free(f);
}
static double step = 1;
static dync_tensor *broken(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    dync_graph_break("between");
    return step > 1 ? dync_exp(dync_add(y, step)) : dync_add(y, step);
}
TEST(opaque_break_meets_another_graph)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(broken, .backend_object = &b);
    dync_tensor *x = dync_randn(dync_shape(4));
    step = 1;
    EXPECT(same(dync_call(f, x), broken(x), 1e-6));
    EXPECT_EQ_INT(c.frame_count, 2);
    dync_set_stance("eager_on_recompile");
    for (step = 0; step < 4; step++) EXPECT(same(dync_call(f, x), broken(x), 1e-6));
    EXPECT_EQ_INT(c.frame_count, 2);
    dync_set_stance("fail_on_recompile");
    step = 1;
    EXPECT(same(dync_call(f, x), broken(x), 1e-6));
    step = 2;
    EXPECT(dync_call(f, x) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_RECOMPILE_LIMIT);
    dync_clear_error();
    dync_set_stance(NULL);
    EXPECT(same(dync_call(f, x), broken(x), 1e-6));
    EXPECT_EQ_INT(c.frame_count, 3);
    dync_compiled_free(f);
}

/* ---- counts ---------------------------------------------------------------------------------- */
static dync_value scaled(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_mul(dync_as_tensor(a[0]), dync_as_float(a[1])));
}
TEST(info_counts_misses_by_reason)
{
    dync_compiled *f = dync_compile(scaled, .args = "x, alpha", .backend = "eager",
                                    .dynamic = DYNC_DYNAMIC_OFF, .recompile_limit = 7);
    dync_tensor *x = ones(3);
    dync_call(f, x, 0.5), dync_call(f, x, 0.5), dync_call(f, x, 0.5);
    dync_call(f, x, 1.5);
    dync_call(f, ones(4), 1.5);
    dync_call(f, dync_to_dtype(x, DYNC_F64), 1.5);
    dync_call(f, dync_slice(ones(6), 0, 0, 6, 2), 1.5);
    dync_call(f, dync_requires_grad_(ones(3), true), 1.5);
    DYNC_NO_GRAD dync_call(f, x, 1.5);
    for (int i = 0; i < 3; i++) EXPECT(dync_call(f, x, 7.0 + i) != NULL); /* over the limit */
    dync_compiled_information i = dync_compiled_info(f);
    EXPECT_EQ_INT(i.entries, 7);
    EXPECT_EQ_INT(i.graphs, 7);
    EXPECT_EQ_INT(i.hits, 2);
    EXPECT_EQ_INT(i.misses, 10);
    EXPECT_EQ_INT(i.eager, 3);
    EXPECT_EQ_INT(i.by.first, 1);
    EXPECT_EQ_INT(i.by.numbers, 2); /* 1.5, and the one that met the limit */
    EXPECT_EQ_INT(i.by.sizes, 1);
    EXPECT_EQ_INT(i.by.types, 1);
    EXPECT_EQ_INT(i.by.layouts, 1);
    EXPECT_EQ_INT(i.by.requires_grad, 1);
    EXPECT_EQ_INT(i.by.settings, 1);
    EXPECT_EQ_INT(i.by.limit, 2);
    dync_reset();
    i = dync_compiled_info(f);
    EXPECT(i.entries == 0 && i.misses == 0 && i.hits == 0);
    dync_compiled_free(f);
    EXPECT_EQ_INT(dync_compiled_info(f).entries, 0);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
}
static dync_tensor *cube(dync_tensor *x)
{
    return dync_matmul(dync_exp(dync_matmul(x, x)), dync_sin(x));
}
TEST(info_measures_code_and_time)
{
    dync_compiled *f = dync_compile(cube);
    dync_tensor *x = dync_randn(dync_shape(64, 64), .requires_grad = true);
    dync_compiled_information none = dync_compiled_info(f);
    EXPECT(none.code_bytes == 0 && none.compile_ms == 0 && none.graphs == 0);
    dync_backward(dync_sum(dync_call(f, x), DYNC_ALL, false));
    dync_compiled_information i = dync_compiled_info(f);
    EXPECT_EQ_INT(i.graphs, 1);
    EXPECT(i.compile_ms > 0 && i.capture_ms > 0);
    EXPECT(i.arena_bytes > 0);
    const char *level = getenv("DYNC_CPU");
    if (level && strcmp(level, "none") == 0) {
        EXPECT_EQ_INT(i.code_bytes, 0); /* interpreted */
    } else {
#if defined(__x86_64__)
        EXPECT(i.code_bytes > 0);
#endif
    }
    dync_compiled_free(f);
}
static int shrunk(const char *path, char *said, size_t room)
{
    FILE *log = fopen(path, "rb");
    size_t n = log ? fread(said, 1, room - 1, log) : 0;
    said[n] = 0;
    if (log) fclose(log);
    remove(path);
    return (int)n;
}
TEST(a_stretch_of_misses_is_told_once)
{
    char said[8192] = "";
    REQUIRE(freopen("test_stance.log", "wb", stderr) != NULL);
    dync_compiled *f =
        dync_compile(scaled, .args = "x, alpha", .backend = "eager", .recompile_limit = 1000);
    dync_tensor *x = ones(3);
    for (int i = 0; i < 60; i++) EXPECT(dync_call(f, x, i + 0.5) != NULL);
    dync_compiled_free(f);
    /* as many misses, but each among hits */
    f = dync_compile(scaled, .args = "x, beta", .backend = "eager", .recompile_limit = 1000);
    for (int i = 0; i < 60; i++) EXPECT(dync_call(f, x, i / 4 + 0.5) != NULL);
    dync_compiled_free(f);
    fflush(stderr);
    REQUIRE(shrunk("test_stance.log", said, sizeof said) > 0);
    EXPECT_HAS_STR(said, "function 'scaled' (");
    EXPECT_HAS_STR(said,
                   "was compiled in 16 of its last 16 calls\n   last reason: L['alpha'] == 15.5");
    EXPECT_HAS_STR(said, "To compile it less often, name the number in .symbolic");
    const char *first = strstr(said, "was compiled in");
    EXPECT(first && !strstr(first + 1, "was compiled in"));
}
TEST_MAIN
