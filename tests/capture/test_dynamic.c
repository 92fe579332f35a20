/* tests/capture/test_dynamic.c: symbolic sizes: when a size becomes symbolic, what is guarded, what
 * a backend sees, and that one capture serves all sizes. */
#include "counter.h"

static dync_tensor *twice(dync_tensor *x) { return dync_mul(dync_sin(x), 2); }
static dync_tensor *rows(int64_t n) { return dync_rand(dync_shape(n, 3)); }

static bool calls(dync_compiled *f, dync_tensor *(*fn)(dync_tensor *), dync_tensor *x)
{
    dync_tensor *r = dync_call(f, x), *e = fn(x);
    return same(r, e, 1e-5);
}

TEST(automatic_after_the_first_change)
{
    counter c = {0};
    dync_compiled *f = dync_compile(twice, .args = "x", .backend_object = &COUNTER(c));
    for (int64_t n = 2; n < 40; n++) DYNC_SCOPE {
        EXPECT(calls(f, twice, rows(n)));
    }
    EXPECT_EQ_INT(c.frame_count, 2);
    const char *text = dync_graph_readable(c.graphs[1]);
    EXPECT(strstr(text, "L_x_: \"f32[s0, 3]\"") && strstr(text, "sin: \"f32[s0, 3]\""));
    EXPECT(strstr(dync_graph_readable(c.graphs[0]), "\"f32[2, 3]\""));
    dync_compiled_free(f);
}

TEST(off_never_on_at_once)
{
    counter off = {0}, on = {0};
    dync_compiled *f =
        dync_compile(twice, .backend_object = &COUNTER(off), .dynamic = DYNC_DYNAMIC_OFF);
    dync_compiled *g =
        dync_compile(twice, .backend_object = &COUNTER(on), .dynamic = DYNC_DYNAMIC_ON);
    for (int64_t n = 2; n < 7; n++) DYNC_SCOPE {
        EXPECT(calls(f, twice, rows(n)) && calls(g, twice, rows(n)));
    }
    EXPECT_EQ_INT(off.frame_count, 5);
    EXPECT_EQ_INT(on.frame_count, 1);
    EXPECT(strstr(dync_graph_readable(on.graphs[0]), "\"f32[s0, s1]\""));
    dync_compiled_free(f);
    dync_compiled_free(g);
}

TEST(zero_and_one_are_specialised)
{
    counter c = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(twice, .args = "x", .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_ON, .guard_fail = keep_reason,
                                    .guard_fail_user = reason);
    EXPECT(calls(f, twice, rows(5)) && calls(f, twice, rows(1)));
    EXPECT_EQ_INT(c.frame_count, 2);
    EXPECT_EQ_STR(reason, "2 <= L['x'].size()[0]");
    EXPECT(calls(f, twice, rows(0)));
    EXPECT_EQ_INT(c.frame_count, 3);
    EXPECT(calls(f, twice, rows(9)) && calls(f, twice, rows(1)) && calls(f, twice, rows(0)));
    EXPECT_EQ_INT(c.frame_count, 3);
    EXPECT(strstr(dync_graph_readable(c.graphs[1]), "\"f32[1, s0]\""));
    dync_compiled_free(f);
}

static dync_tensor *add(dync_tensor *x, dync_tensor *y) { return dync_add(x, y); }
/* A computed size that is 1 in the traced call is 1, and not one that may be 2. */
static dync_tensor *pixels_without_ones(dync_tensor *x, dync_tensor *y)
{
    return dync_mul(dync_squeeze_all(dync_pixel_shuffle(x, 2)), y);
}
TEST(computed_sizes_of_one_are_specialised)
{
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(pixels_without_ones, .args = "x, y", .backend = on[b],
                                        .dynamic = DYNC_DYNAMIC_ON);
        for (int channels = 4; channels <= 8; channels += 4) {
            dync_tensor *x = dync_randn(dync_shape(1, channels, 2, 6)),
                        *y = dync_randn(dync_shape(4, 12)), *z = dync_call(f, x, y);
            REQUIRE(z != NULL);
            EXPECT_EQ_INT(dync_ndim(z), channels == 4 ? 2 : 3);
            EXPECT(dync_equal(z, pixels_without_ones(x, y)));
        }
        dync_compiled_free(f);
    }
}

/* The form that inference gives batch_norm's result is the one that it has. */
static dync_tensor *normed(dync_tensor *x)
{
    return dync_batch_norm(x, NULL, NULL, NULL, NULL, true, 0.1, 1e-3);
}
TEST(batch_norm_of_transposed_inputs)
{
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 6; b++) {
        dync_compiled *f = dync_compile(normed, .args = "x", .backend = on[b % 3],
                                        .dynamic = b < 3 ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
        dync_tensor *x = dync_transpose(dync_randn(dync_shape(6, 4, 5)), 0, 2), *want = normed(x),
                    *got = dync_call(f, x);
        REQUIRE(got != NULL);
        EXPECT(same(got, want, 1e-5));
        for (int d = 0; d < 3; d++) EXPECT_EQ_INT(dync_stride(got, d), dync_stride(want, d));
        dync_compiled_free(f);
    }
}

/* Strides of what has no elements are nobody's business. */
static dync_tensor *padded_and_cut(dync_tensor *x)
{
    return dync_pad(x, dync_shape(2, 3, -1, 0), 0.5);
}
TEST(empty_results_in_any_strides)
{
    dync_compiled *f =
        dync_compile(padded_and_cut, .args = "x", .backend = "eager", .dynamic = DYNC_DYNAMIC_ON);
    for (int n = 3; n >= 0; n -= 3) {
        dync_tensor *x = dync_randn(dync_shape(4, n, 2, 2)), *got = dync_call(f, x);
        EXPECT(got && dync_equal(got, padded_and_cut(x)));
    }
    dync_compiled_free(f);
}

TEST(equal_sizes_share_a_symbol)
{
    counter c = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(add, .args = "x, y", .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_ON, .guard_fail = keep_reason,
                                    .guard_fail_user = reason);
    for (int64_t n = 4; n < 8; n++)
        EXPECT(same(dync_call(f, dync_ones(dync_shape(n)), dync_ones(dync_shape(n))),
                    dync_full(dync_shape(n), 2.0), 0));
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT(strstr(dync_graph_readable(c.graphs[0]), "L_x_: \"f32[s0]\", L_y_: \"f32[s0]\""));
    EXPECT(dync_call(f, dync_ones(dync_shape(5)), dync_ones(dync_shape(1))) != NULL);
    EXPECT_EQ_STR(reason, "L['y'].size()[0] == L['x'].size()[0]");
    dync_compiled_free(f);
}

/* ---- marks ----------------------------------------------------------------------------------- */
TEST(marked_at_the_first_capture)
{
    counter c = {0};
    dync_compiled *f = dync_compile(twice, .args = "x", .backend_object = &COUNTER(c));
    dync_tensor *x = rows(5);
    dync_mark_dynamic(x, 0);
    EXPECT(calls(f, twice, x) && calls(f, twice, rows(7)));
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT(strstr(dync_graph_readable(c.graphs[0]), "\"f32[s0, 3]\""));
    dync_compiled_free(f);
}

static dync_tensor *reads_size(dync_tensor *x) { return dync_mul(x, (double)dync_size(x, 0)); }
TEST(marked_and_specialised_is_an_error)
{
    counter c = {0};
    dync_compiled *f = dync_compile(reads_size, .args = "x", .backend_object = &COUNTER(c));
    dync_tensor *x = rows(5);
    dync_mark_dynamic(x, 0);
    EXPECT(!dync_call(f, x));
    EXPECT_EQ_STR(dync_error_class(), "ConstraintViolationError");
    EXPECT(strstr(dync_error_message(), "Constraints violated (L['x'].size()[0])!"));
    EXPECT(strstr(dync_error_message(),
                  "because L['x'].size()[0] was inferred to be a constant (5)."));
    dync_clear_error();
    dync_compiled_free(f);
}

static dync_tensor *neither(dync_tensor *x)
{
    return !dync_dim_gt(x, 0, 5) && !dync_dim_lt(x, 0, 5) ? dync_sin(x) : dync_cos(x);
}
TEST(marked_and_left_one_value_is_an_error)
{
    counter c = {0}, on = {0};
    dync_compiled *f = dync_compile(neither, .args = "x", .backend_object = &COUNTER(c));
    dync_tensor *x = rows(5);
    dync_mark_dynamic(x, 0);
    EXPECT(!dync_call(f, x));
    EXPECT_EQ_STR(dync_error_class(), "ConstraintViolationError");
    EXPECT_HAS_STR(dync_error_message(),
                   "because L['x'].size()[0] was inferred to be a constant (5).");
    dync_clear_error();
    dync_compiled_free(f);
    /* nobody promised */
    f = dync_compile(neither, .args = "x", .backend_object = &COUNTER(on),
                     .dynamic = DYNC_DYNAMIC_ON);
    for (int64_t n = 4; n < 8; n++) EXPECT(calls(f, neither, rows(n)));
    EXPECT_HAS_STR(dync_graph_readable(on.graphs[1]), "\"f32[5, s1]\"");
    dync_compiled_free(f);
}

static int dim_line;
static dync_tensor *as_double(dync_tensor *x)
{
    dim_line = __LINE__ + 1;
    return dync_mul(x, (double)dync_dim(x, 0));
}
static dync_tensor *as_float(dync_tensor *x)
{
    dim_line = __LINE__ + 1;
    return dync_add(x, (float)dync_dim(x, 0));
}
static dync_tensor *negative(dync_tensor *x)
{
    dim_line = __LINE__ + 1;
    return dync_sub(-(double)dync_dim(x, 0), x);
}
static dync_tensor *end_of_range(dync_tensor *x)
{
    dim_line = __LINE__ + 1;
    return dync_arange(0, (double)dync_dim(x, 0), 1);
}
static dync_tensor *as_it_is(dync_tensor *x)
{
    return dync_mul(dync_mul(x, dync_dim(x, 0)), 1.5e9);
}

TEST(a_converted_size_is_an_error)
{
    dync_tensor *(*fns[])(dync_tensor *) = {as_double, as_float, negative, end_of_range};
    for (int k = 0; k < 4; k++) {
        char place[64];
        dync_compiled *f = dync_compile(fns[k], .dynamic = DYNC_DYNAMIC_ON);
        EXPECT(!dync_call(f, rows(5)));
        EXPECT(dync_error() == DYNC_ERR_VALUE);
        EXPECT_HAS_STR(dync_error_message(),
                       "is no number: what dync_dim gives may only be passed on whole");
        snprintf(place, sizeof place, "test_dynamic.c:%d)", dim_line);
        EXPECT_HAS_STR(dync_error_message(), place);
        dync_clear_error();
        dync_make_graph_mode(DYNC_TRACE_SYMBOLIC);
        EXPECT(!dync_make_graph(fns[k], rows(5)));
        EXPECT_HAS_STR(dync_error_message(), "is no number");
        dync_clear_error();
        dync_compiled_free(f);
    }
    dync_compiled *f = dync_compile(as_it_is, .dynamic = DYNC_DYNAMIC_ON);
    for (int64_t n = 3; n < 6; n++) EXPECT(calls(f, as_it_is, rows(n)));
    dync_compiled_free(f);
}

static dync_tensor *needs_three(dync_tensor *x) { return dync_add(x, dync_ones(dync_shape(5, 3))); }
TEST(marked_and_forced_by_an_operator_is_an_error)
{
    dync_compiled *f = dync_compile(needs_three, .args = "x", .backend = "eager");
    dync_tensor *x = rows(5);
    dync_mark_dynamic(x, 0);
    EXPECT(!dync_call(f, x));
    EXPECT_EQ_STR(dync_error_class(), "ConstraintViolationError");
    dync_clear_error();
    dync_compiled_free(f);
}

/* ---- ranges ---------------------------------------------------------------------------------- */
static dync_tensor *marked_rows(int64_t n, int64_t min, int64_t max)
{
    dync_tensor *x = rows(n);
    dync_mark_dynamic_range(x, 0, min, max);
    return x;
}

static dync_tensor *within(dync_tensor *x)
{
    return dync_dim_lt(x, 0, 21) && dync_dim_gt(x, 0, 3) && !dync_dim_eq(x, 0, 30) ? dync_sin(x)
                                                                                   : dync_cos(x);
}
TEST(a_range_decides_what_is_alike_within)
{
    counter c = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(within, .args = "x", .backend_object = &COUNTER(c),
                                    .guard_fail = keep_reason, .guard_fail_user = reason);
    EXPECT(calls(f, within, marked_rows(7, 4, 20)));
    for (int64_t n = 4; n <= 20; n++) EXPECT(calls(f, within, rows(n)));
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT(calls(f, within, rows(21))); /* outside: compiled for itself */
    EXPECT_EQ_INT(c.frame_count, 2);
    EXPECT_EQ_STR(reason, "4 <= L['x'].size()[0] <= 20");
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
}

static dync_tensor *from_third(dync_tensor *x) { return dync_slice(x, 0, 3, DYNC_END, 1); }
static int range_line;
static dync_tensor *two_ways(dync_tensor *x)
{
    range_line = __LINE__ + 1;
    return dync_dim_lt(x, 0, 10) ? dync_sin(x) : dync_cos(x);
}
static dync_tensor *not_nine(dync_tensor *x)
{
    range_line = __LINE__ + 1;
    return dync_dim_eq(x, 0, 9) ? dync_sin(x) : dync_cos(x);
}
static dync_tensor *by_size(dync_tensor *x)
{
    range_line = __LINE__ + 1;
    return dync_mul(x, (double)dync_size(x, 0));
}

TEST(a_range_that_is_divided_is_an_error)
{
    static const struct {
        dync_tensor *(*fn)(dync_tensor *);
        const char *says;
    } rows_of[] = {
        {two_ways, "in the specified range 4 <= L['x'].size()[0] <= 20 satisfy the generated guard "
                   "L['x'].size()[0] < 10."},
        {not_nine, "satisfy the generated guard L['x'].size()[0] != 9."},
        {by_size, "L['x'].size()[0] was inferred to be a constant (7)"},
    };
    dync_on_error(NULL, NULL);
    for (int i = 0; i < 3; i++) {
        char place[64];
        dync_compiled *f = dync_compile(rows_of[i].fn, .args = "x", .backend = "eager");
        EXPECT(!dync_call(f, marked_rows(7, 4, 20)));
        EXPECT_EQ_STR(dync_error_class(), "ConstraintViolationError");
        EXPECT_HAS_STR(dync_error_message(), rows_of[i].says);
        snprintf(place, sizeof place, "test_dynamic.c:%d)", range_line);
        EXPECT_HAS_STR(dync_error_message(), place);
        dync_clear_error();
        dync_compiled_free(f);
    }
    dync_compiled *f = dync_compile(from_third, .args = "x", .backend = "eager");
    EXPECT(!dync_call(f, marked_rows(7, 4, 20))); /* one row is left of 4, none of 3 */
    EXPECT_HAS_STR(dync_error_message(), "satisfy the generated guard 1 < L['x'].size()[0] - 3.");
    dync_clear_error();
    EXPECT(calls(f, from_third, marked_rows(7, 5, 20)));
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
}

TEST(ranges_that_are_none)
{
    static const int64_t bad[][2] = {
        {5, 4}, {-1, 9}, {8, 9}, {2, 6}, {7, 7}, {0, 1}, {INT64_MIN, INT64_MAX}};
    dync_tensor *x = rows(7);
    dync_on_error(NULL, NULL);
    for (int i = 0; i < 7; i++) {
        dync_mark_dynamic_range(x, 0, bad[i][0], bad[i][1]);
        EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
        dync_clear_error();
    }
    dync_mark_dynamic_range(x, 2, 2, 9);
    EXPECT_STATUS(dync_error(), DYNC_ERR_INDEX);
    dync_clear_error();
    dync_mark_dynamic_range(NULL, 0, 2, 9);
    dync_clear_error();
}

static dync_tensor *together(dync_tensor *x, dync_tensor *y) { return dync_add(x, y); }
TEST(two_ranges_that_must_be_equal)
{
    counter c = {0};
    dync_on_error(NULL, NULL);
    dync_compiled *f = dync_compile(together, .args = "x, y", .backend_object = &COUNTER(c));
    EXPECT(!dync_call(f, marked_rows(7, 4, 20), marked_rows(7, 4, 30)));
    EXPECT_HAS_STR(dync_error_message(),
                   "satisfy the generated guard L['x'].size()[0] == L['y'].size()[0].");
    dync_clear_error();
    EXPECT(dync_call(f, marked_rows(7, 4, 20), marked_rows(7, 4, 20)) != NULL);
    EXPECT(dync_call(f, rows(9), rows(9)) != NULL);
    EXPECT_EQ_INT(c.frame_count, 1);
    dync_compiled_free(f);
}

TEST(marks_of_size_one_specialise_quietly)
{
    counter c = {0};
    dync_compiled *f = dync_compile(twice, .args = "x", .backend_object = &COUNTER(c));
    dync_tensor *x = rows(1);
    dync_mark_dynamic(x, 0);
    EXPECT(calls(f, twice, x));
    dync_compiled_free(f);
}

/* ---- reads ----------------------------------------------------------------------------------- */
TEST(size_guards_on_equality)
{
    counter c = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(reads_size, .args = "x", .backend_object = &COUNTER(c),
                                    .guard_fail = keep_reason, .guard_fail_user = reason);
    for (int64_t n = 2; n < 6; n++) DYNC_SCOPE {
        EXPECT(calls(f, reads_size, rows(n)));
    }
    EXPECT_EQ_INT(c.frame_count, 4);
    /* the oldest is asked last */
    EXPECT_EQ_STR(reason, "tensor 'L['x']' size mismatch at index 0. expected 2, actual 5");
    dync_compiled_free(f);
}

static dync_tensor *shaped(dync_tensor *x)
{
    dync_tensor *z = dync_zeros(dync_shape(dync_dim(x, 0), 2));
    return dync_cat(dync_tuple(x, dync_add(z, 1)), 1);
}
TEST(dim_stays_symbolic_in_shapes)
{
    counter c = {0};
    dync_compiled *f = dync_compile(shaped, .args = "x", .backend_object = &COUNTER(c));
    for (int64_t n = 2; n < 9; n++) DYNC_SCOPE {
        EXPECT(calls(f, shaped, rows(n)));
    }
    EXPECT_EQ_INT(c.frame_count, 2);
    EXPECT(strstr(dync_graph_readable(c.graphs[1]), "cat: \"f32[s0, 5]\""));
    dync_compiled_free(f);
}

static dync_tensor *made_alone(dync_tensor *x) { return dync_ones(dync_shape(dync_dim(x, 0))); }
TEST(a_size_may_be_all_that_is_used)
{
    counter c = {0};
    dync_compiled *f = dync_compile(made_alone, .args = "x", .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_ON);
    for (int64_t n = 2; n < 9; n++) DYNC_SCOPE {
        EXPECT(calls(f, made_alone, rows(n)));
    }
    EXPECT_EQ_INT(c.frame_count, 1);
    dync_compiled_free(f);
}

static dync_tensor *arithmetic(dync_tensor *x)
{
    return dync_zeros(dync_shape(dync_dim(x, 0) * 2));
}
TEST(a_dim_is_no_number)
{
    dync_compiled *f =
        dync_compile(arithmetic, .args = "x", .backend = "eager", .dynamic = DYNC_DYNAMIC_ON);
    EXPECT(!dync_call(f, rows(3)));
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_SHAPE);
    EXPECT(strstr(dync_error_message(), "dync_dim"));
    dync_clear_error();
    dync_compiled_free(f);
}

static dync_tensor *small_or_large(dync_tensor *x)
{
    return dync_dim_lt(x, 0, 10) ? dync_sin(x) : dync_cos(x);
}
static dync_tensor *seven(dync_tensor *x)
{
    return dync_dim_eq(x, 0, 7) ? dync_sin(x) : dync_dim_gt(x, 0, 20) ? dync_exp(x) : dync_cos(x);
}
TEST(tests_guard_on_their_outcome)
{
    counter c = {0}, d = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(small_or_large, .args = "x", .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_ON, .guard_fail = keep_reason,
                                    .guard_fail_user = reason);
    dync_compiled *g =
        dync_compile(seven, .args = "x", .backend_object = &COUNTER(d), .dynamic = DYNC_DYNAMIC_ON);
    for (int64_t n = 2; n < 10; n++) DYNC_SCOPE {
        EXPECT(calls(f, small_or_large, rows(n)));
    }
    EXPECT_EQ_INT(c.frame_count, 1);
    for (int64_t n = 10; n < 30; n++) DYNC_SCOPE {
        EXPECT(calls(f, small_or_large, rows(n)));
    }
    EXPECT_EQ_INT(c.frame_count, 2);
    EXPECT_EQ_STR(reason, "2 <= L['x'].size()[0] <= 9");
    for (int64_t n = 2; n < 30; n++) DYNC_SCOPE {
        EXPECT(calls(g, seven, rows(n)));
    }
    EXPECT_EQ_INT(d.frame_count, 3);
    dync_compiled_free(f);
    dync_compiled_free(g);
}

/* ---- relations ------------------------------------------------------------------------------- */
static dync_tensor *halves(dync_tensor *x)
{
    return dync_sum(dync_view(x, dync_shape(16, -1)), dync_shape(0), false);
}
TEST(divisibility_is_a_guard)
{
    counter c = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(halves, .args = "x", .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_ON, .guard_fail = keep_reason,
                                    .guard_fail_user = reason);
    for (int64_t n = 32; n < 200; n += 16) DYNC_SCOPE {
        EXPECT(calls(f, halves, dync_rand(dync_shape(n))));
    }
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT(!dync_call(f, dync_rand(dync_shape(33))));
    EXPECT_EQ_STR(reason, "L['x'].size()[0] % 16 == 0");
    dync_clear_error();
    dync_compiled_free(f);
}

static dync_tensor *product(dync_tensor *x, dync_tensor *y) { return dync_matmul(x, y); }
TEST(marked_sizes_that_must_agree)
{
    counter c = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(product, .args = "x, y", .backend_object = &COUNTER(c),
                                    .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_tensor *x = dync_rand(dync_shape(4, 6)), *y = dync_rand(dync_shape(6, 5));
    dync_mark_dynamic(x, 1);
    dync_mark_dynamic(y, 0);
    EXPECT(dync_call(f, x, y) != NULL && dync_error() == DYNC_OK);
    EXPECT(same(dync_call(f, dync_ones(dync_shape(4, 9)), dync_ones(dync_shape(9, 5))),
                dync_full(dync_shape(4, 5), 9.0), 0));
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT(strstr(dync_graph_readable(c.graphs[0]), "L_x_: \"f32[4, s0]\", L_y_: \"f32[s0, 5]\""));
    EXPECT(!dync_call(f, dync_ones(dync_shape(4, 9)), dync_ones(dync_shape(8, 5))));
    EXPECT_EQ_STR(reason, "L['x'].size()[1] == L['y'].size()[0]");
    dync_clear_error();
    dync_compiled_free(f);
}

/* ---- whole programs on every backend --------------------------------------------------------- */
static dync_tensor *layers(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *h = dync_gelu(dync_linear(x, w, NULL));
    h = dync_add(h, dync_mean(h, dync_shape(0), true));
    dync_tensor *a = dync_slice(h, 0, 1, DYNC_END, 1), *b = dync_slice(h, 0, 0, -1, 1);
    h = dync_softmax(dync_matmul(a, dync_transpose(b, 0, 1)), -1);
    return dync_mean(dync_mul(h, h), DYNC_ALL, false);
}
TEST(training_with_changing_batches)
{
    static const char *const backends[] = {"eager", "aot_eager",      "inductor",
                                           "ts",    "eager_noexcept", "cudagraphs"};
    dync_tensor *w = dync_retain(dync_rand(dync_shape(8, 3), .requires_grad = true));
    for (int k = 0; k < (int)(sizeof backends / sizeof *backends); k++) {
        dync_compiled *f = dync_compile(layers, .args = "x, w", .backend = backends[k]);
        int64_t frames = dync_get_counters().frames;
        for (int64_t n = 4; n < 12; n++) DYNC_SCOPE {
            dync_tensor *x = rows(n), *r = dync_call(f, x, w);
            dync_backward(r);
            dync_tensor *g = dync_clone(dync_grad(w));
            dync_set_grad(w, NULL);
            dync_tensor *e = layers(x, w);
            dync_backward(e);
            EXPECT(same(r, e, 1e-5) && dync_allclose(g, dync_grad(w), 1e-4, 1e-5));
            dync_set_grad(w, NULL);
        }
        EXPECT_EQ_INT(dync_get_counters().frames - frames, 2);
        dync_compiled_free(f);
    }
    dync_release(w);
}

static dync_tensor *branches(dync_tensor *x)
{
    dync_tensor *y = dync_add(x, 1);
    if (dync_bool(dync_gt(dync_sum(y, DYNC_ALL, false), 0)))
        y = dync_mul(y, 3);
    else
        y = dync_sub(y, dync_mean(y, dync_shape(0), true));
    return dync_view(y, dync_shape(-1));
}
TEST(branches_with_changing_sizes)
{
    counter c = {.inner = "inductor"};
    dync_compiled *f = dync_compile(branches, .args = "x", .backend_object = &COUNTER(c));
    for (int i = 0; i < 24; i++) DYNC_SCOPE {
        dync_tensor *x = dync_sub(rows(2 + i % 7), i % 3 == 0 ? 8.0 : 0.0);
        EXPECT(calls(f, branches, x));
    }
    EXPECT(c.frame_count <= 6);
    EXPECT_EQ_INT(dync_get_counters().recompiles > 0, 1);
    dync_compiled_free(f);
}

static dync_tensor *breaks(dync_tensor *x)
{
    dync_tensor *y = dync_cat(dync_tuple(x, x), 0);
    dync_graph_break("here");
    return dync_mul(dync_view(y, dync_shape(dync_dim(x, 0), -1)), 2);
}
/* What the first graph made is used by the other way alone, which comes when there are several
 * sizes of it: each of them computes it from then on. */
static dync_tensor *used_by_one_way(dync_tensor *x)
{
    dync_tensor *u = dync_exp(x), *z = dync_mul(x, 2);
    return dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0)) ? dync_add(z, 1) : dync_add(z, u);
}
TEST(sizes_of_a_branch_that_uses_more)
{
    dync_compiled *f = dync_compile(used_by_one_way, .dynamic = DYNC_DYNAMIC_ON);
    for (int round = 0; round < 3; round++)
        for (int64_t n = 2; n < 9; n++) DYNC_SCOPE {
            dync_tensor *x = dync_full(dync_shape(n), round == 1 ? -0.5 : 0.5);
            EXPECT(calls(f, used_by_one_way, x));
        }
    dync_compiled_free(f);
}

TEST(breaks_with_changing_sizes)
{
    counter c = {0};
    dync_compiled *f = dync_compile(breaks, .args = "x", .backend_object = &COUNTER(c));
    for (int64_t n = 2; n < 12; n++) DYNC_SCOPE {
        EXPECT(calls(f, breaks, rows(n)));
    }
    EXPECT_EQ_INT(c.frame_count, 4); /* two pieces, static and symbolic */
    dync_compiled_free(f);
}

/* Composites whose decomposition computes with sizes: kept symbolic where it knows how, else
 * specialised, never wrong. */
static dync_tensor *norm(dync_tensor *x) { return dync_group_norm(x, 2, NULL, NULL, 1e-5); }
static dync_tensor *shuffled(dync_tensor *x) { return dync_pixel_shuffle(x, 2); }
static dync_tensor *reshaped(dync_tensor *x, dync_tensor *y)
{
    x = dync_reshape(x, dync_shape(dync_dim(x, 0), 2, -1));
    return dync_mul(dync_mean(x, DYNC_ALL, false), y);
}
/* As PyTorch prints it: sizes are inputs before the tensors that have them, and released after
 * their last use. */
TEST(a_readable_graph_takes_its_sizes)
{
    counter c = {0};
    dync_compiled *f = dync_compile(reshaped, .args = "x, y", .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_ON);
    EXPECT(dync_call(f, dync_ones(dync_shape(5, 4)), dync_ones(dync_shape(3))) != NULL);
    const char *text = dync_graph_readable(c.graphs[0]);
    EXPECT_HAS_STR(text,
                   "def forward(self, s0: \"Sym(s0)\", s1: \"Sym(s1)\", L_x_: \"f32[s0, s1]\", s2: "
                   "\"Sym(s2)\", L_y_: \"f32[s2]\"):\n");
    EXPECT_HAS_STR(text, "l_x_.reshape(s0, 2, -1);  l_x_ = s0 = None\n");
    dync_compiled_free(f);
}

static dync_value around_a_break(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]), *y = dync_relu(x);
    (void)user;
    for (int i = 0; i < 3; i++) y = dync_add(dync_mul(y, n > 1 ? args[1] : DYNC_V(0.5)), x);
    dync_graph_break("mine");
    dync_tensor *z = dync_reshape(dync_add(y, dync_ones(dync_shape(dync_dim(x, 0), 1))),
                                  dync_shape(dync_dim(x, 0), -1));
    if (dync_dim_gt(x, 0, 10)) z = dync_cos(z);
    z = dync_mul(z, dync_mean(y, DYNC_ALL, false));
    return DYNC_V(n > 1 ? dync_sub(z, args[1]) : z);
}
/* A trace counts its breaks; a call that follows a script does not. */
TEST(calls_with_symbolic_sizes_and_numbers_follow_scripts)
{
    for (int number = 0; number < 2; number++) {
        dync_compiled *f = dync_compile(around_a_break, .args = number ? "x, s" : "x",
                                        .symbolic = number ? "s" : NULL);
        int64_t breaks = 0;
        for (int k = 0; k < 100; k++) DYNC_SCOPE {
            dync_value args[2] = {DYNC_V(dync_randn(dync_shape(2 + k * 5 % 17, 3))),
                                  DYNC_V(0.3 + k % 7 * 0.1)};
            if (k == 40) breaks = dync_get_counters().graph_breaks;
            dync_value got = dync_call_values(f, 1 + number, args),
                       want = around_a_break(args, 1 + number, NULL);
            EXPECT(same(dync_as_tensor(got), dync_as_tensor(want), 1e-5));
        }
        EXPECT_EQ_INT(dync_get_counters().graph_breaks, breaks);
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}

/* chunk keeps the size symbolic; split too, for as many pieces; unbind cannot, as upstream. */
static dync_tensor *two_chunks(dync_tensor *x)
{
    dync_value p = dync_chunk(x, 2, 0);
    return dync_sub(dync_sum(dync_as_tensor(dync_at(p, 0)), dync_shape(0), false),
                    dync_sum(dync_as_tensor(dync_at(p, 1)), dync_shape(0), false));
}
static dync_tensor *fours(dync_tensor *x)
{
    dync_tensor *sum = NULL;
    dync_value p = dync_split(x, 4, 0);
    for (int i = 0; i < dync_len(p); i++) {
        dync_tensor *y =
            dync_mul(dync_sum(dync_as_tensor(dync_at(p, i)), dync_shape(0), false), i + 1);
        sum = sum ? dync_add(sum, y) : y;
    }
    return sum;
}
static dync_tensor *second(dync_tensor *x)
{
    return dync_neg(dync_as_tensor(dync_at(dync_unbind(x, 0), 1)));
}
static dync_tensor *transposed_convolution(dync_tensor *x)
{
    return dync_conv_transpose2d(dync_reshape(x, dync_shape(1, 1, -1, 3)),
                                 dync_ones(dync_shape(1, 1, 2, 2)), NULL, dync_shape(2),
                                 dync_shape(0), dync_shape(0), 1, dync_shape(1));
}
TEST(pieces_of_changing_sizes)
{
    static const struct {
        dync_tensor *(*fn)(dync_tensor *);
        int captures;
    } cases[] = {{two_chunks, 2},
                 {fours, 6 /* 7; 2 pieces; 9, 13: a last piece of 1; 3; 4 */},
                 {second, 10},
                 {transposed_convolution, 2}};
    for (int k = 0; k < 4; k++) {
        counter c = {.inner = "inductor"};
        dync_compiled *f = dync_compile_opt(
            dync_fn1(cases[k].fn), "f",
            (dync_compile_options){.backend_object = &COUNTER(c), .recompile_limit = 64});
        for (int64_t n = 7; n < 17; n++) DYNC_SCOPE {
            EXPECT(calls(f, cases[k].fn, rows(n)));
        }
        if (!EXPECT(c.frame_count <= cases[k].captures))
            printf("    case %d: %d captures\n", k, c.frame_count);
        dync_compiled_free(f);
    }
}

/* A size that becomes a number while the strides of an input are products of it and of others. */
static dync_tensor *spread_over(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *first = dync_as_tensor(dync_at(dync_unbind(y, -1), 0));
    return dync_add(dync_expand(dync_sin(x), dync_shape(dync_dim(z, 0), dync_dim(z, 1),
                                                        dync_dim(z, 2), dync_dim(z, 3))),
                    first);
}
TEST(strides_of_a_size_that_became_a_number)
{
    static const char *const names[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < 3; k++) DYNC_SCOPE {
        dync_compiled *f = dync_compile(spread_over, .args = "x, y, z", .backend = names[k],
                                        .dynamic = DYNC_DYNAMIC_ON);
        for (int64_t n = 6; n < 8; n++)
            for (int64_t m = 16; m < 19; m++) {
                dync_tensor *x = dync_rand(DYNC_ALL), *y = dync_rand(dync_shape(n)),
                            *z = dync_rand(dync_shape(2, n, m, n));
                EXPECT(dync_allclose(dync_call(f, x, y, z), spread_over(x, y, z), 1e-6, 1e-6));
            }
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}

TEST(composites_with_changing_sizes)
{
    dync_tensor *(*const fns[])(dync_tensor *) = {norm, shuffled};
    for (int k = 0; k < 2; k++) {
        counter c = {.inner = "inductor"};
        dync_compiled *f = dync_compile(fns[k], .args = "x", .backend_object = &COUNTER(c));
        for (int64_t n = 2; n < 8; n++) DYNC_SCOPE {
            EXPECT(calls(f, fns[k], dync_rand(dync_shape(n, 8, 4, n + 1))));
        }
        EXPECT(c.frame_count <= 6);
        if (k == 0) EXPECT_EQ_INT(c.frame_count, 2);
        dync_compiled_free(f);
    }
}

/* Rows 0 to 4 from rows 2 to 6, apart only where they are shifted by five and more. */
static dync_tensor *rows_onto_rows(dync_tensor *x, dync_value shift)
{
    dync_tensor *y = dync_clone(x);
    int64_t s = dync_as_int(shift);
    return dync_add_(dync_slice(y, 0, 0, 5, 1), dync_slice(y, 0, s, s + 5, 1)) ? y : NULL;
}
static dync_value shifted_rows(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(rows_onto_rows(dync_as_tensor(v[0]), v[1]));
}
static bool refused(const dync_tensor *t)
{
    bool said = !t && dync_error() == DYNC_ERR_RUNTIME &&
                strstr(dync_error_message(), "Please clone() the tensor");
    dync_clear_error();
    return said;
}
TEST(rows_that_overlap_are_refused_at_every_size)
{
    dync_tensor *x = dync_rand(dync_shape(12, 3));
    EXPECT(refused(rows_onto_rows(x, dync_v_int(2))));
    const char *backends[] = {"aot_eager", "inductor"};
    for (int k = 0; k < 2; k++) {
        dync_compiled *f =
            dync_compile(shifted_rows, .backend = backends[k], .dynamic = DYNC_DYNAMIC_ON);
        EXPECT(refused(dync_call(f, x, 2)));
        for (int s = 5; s < 8; s++)
            EXPECT(dync_equal(dync_call(f, x, s), rows_onto_rows(x, dync_v_int(s))));
        dync_compiled_free(f);
    }
}

TEST(churning_sizes_leak_nothing)
{
    dync_compiled *f = dync_compile(layers, .args = "x, w");
    dync_tensor *w = dync_retain(dync_rand(dync_shape(4, 3)));
    int64_t before = 0;
    for (int i = 0; i < 3000; i++) DYNC_SCOPE {
        if (i == 1500) before = dync_memory_stats().live_bytes;
        EXPECT(dync_call(f, rows(3 + i * 7 % 200), w) != NULL);
    }
    EXPECT(dync_memory_stats().live_bytes <= before + before / 10);
    dync_compiled_free(f);
    dync_release(w);
}

/* Short rows of two loops are written out for the lengths that they have, which makes a number of
 * the symbolic one; then others of which nothing is known but that number. w has no part in one
 * loop. */
static dync_tensor *short_rows(dync_tensor *x, dync_tensor *w)
{
    return dync_cumsum(dync_sum(dync_div(x, dync_add(w, 3)), dync_shape(1, 2), true), 0);
}
static dync_tensor *short_rows_twice(dync_tensor *x, dync_tensor *w)
{
    return short_rows(x, dync_mul(w, dync_cos(short_rows(x, w))));
}
TEST(short_rows_of_two_loops)
{
    dync_compiled *f = dync_compile(short_rows_twice, .dynamic = DYNC_DYNAMIC_ON);
    for (int n = 2; n < 5; n++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(300, 4, n)), *w = dync_rand(dync_shape(300, 1, n));
        EXPECT(same(dync_call(f, x, w), short_rows_twice(x, w), 1e-3));
    }
    dync_compiled_free(f);
}

static dync_tensor *slice_from_anywhere(dync_tensor *x)
{
    return dync_cat(dync_tuple(dync_slice(x, 0, INT64_MIN, DYNC_END, 1),
                               dync_slice(x, 0, -3, INT64_MIN + 5, 2),
                               dync_slice(x, 0, -2, DYNC_END, 1)),
                    0);
}
TEST(slices_begin_anywhere)
{
    dync_compiled *f = dync_compile(slice_from_anywhere, .dynamic = DYNC_DYNAMIC_ON);
    for (int64_t n = 4; n < 7; n++)
        EXPECT_EQ_INT(dync_size(dync_call(f, dync_ones(dync_shape(n, 2))), 0), n + 2);
    dync_compiled_free(f);
}

/* Attention runs over blocks of queries: the last may have one, which for other lengths it has not.
 * Forward and backward, to the bit. */
static dync_tensor *attends(dync_tensor *x)
{
    return dync_scaled_dot_product_attention(x, x, dync_sin(x), NULL, 0.0, true, DYNC_NONE);
}
TEST(blocks_that_end_in_one_row)
{
    static const int lengths[] = {30, 70, 65, 97, 129, 33, 257, 64, 66, 17, 49, 193};
    dync_compiled *f = dync_compile(attends);
    for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(2, lengths[i], 8)), *y = dync_clone(x);
        dync_requires_grad_(x, true);
        dync_requires_grad_(y, true);
        dync_tensor *is = dync_call(f, x), *want = attends(y);
        dync_backward(dync_sum(dync_cos(is), DYNC_ALL, false));
        dync_backward(dync_sum(dync_cos(want), DYNC_ALL, false));
        EXPECT(dync_equal(is, want) && dync_equal(dync_grad(x), dync_grad(y)));
    }
    EXPECT_EQ_INT(dync_compiled_info(f).graphs, 2);
    dync_compiled_free(f);
}

TEST_MAIN
