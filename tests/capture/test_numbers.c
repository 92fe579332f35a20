/* tests/capture/test_numbers.c: symbolic numbers: arguments named in .symbolic, dync_sym_*,
 * cells. */
#include "counter.h"

static dync_value scaled(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_add(dync_mul(args[0], args[1]), dync_sym_add(args[2], DYNC_V(1))));
}
static dync_tensor *scaled_by_hand(dync_tensor *x, double scale, int64_t d)
{
    return dync_add(dync_mul(x, scale), d + 1);
}

TEST(numbers_are_run_time_inputs)
{
    static const char *const inner[] = {NULL, "inductor", "aot_eager"};
    for (int k = 0; k < 3; k++) {
        counter c = {.inner = inner[k]};
        dync_compiled *f = dync_compile(scaled, .args = "x, scale, d", .symbolic = "d, scale",
                                        .backend_object = &COUNTER(c));
        for (int i = 0; i < 10; i++) DYNC_SCOPE {
            dync_tensor *x = dync_rand(dync_shape(4, 3));
            dync_tensor *r = dync_call(f, x, 0.37 * i, i), *e = scaled_by_hand(x, 0.37 * i, i);
            EXPECT(same(r, e, 1e-6));
        }
        EXPECT_EQ_INT(c.frame_count, 1);
        EXPECT_EQ_INT(c.op_count, 3);
        dync_compiled_free(f);
    }
}

TEST(what_the_graph_says)
{
    counter c = {0};
    dync_compiled *f = dync_compile(scaled, .args = "x, scale, d", .symbolic = "d, scale",
                                    .backend_object = &COUNTER(c));
    EXPECT(dync_call(f, dync_rand(dync_shape(4, 3)), 0.5, 3) != NULL);
    const char *text = dync_graph_readable(c.graphs[0]);
    EXPECT_HAS_STR(text, "L_scale_: \"Sym(s0)\"");
    EXPECT_HAS_STR(text, "L_d_: \"Sym(s1)\"");
    EXPECT_HAS_STR(text, "\"Sym(s1 + 1)\" = l_d_ + 1");
    dync_compiled_free(f);
}

TEST(unnamed_numbers_are_guarded_by_value)
{
    counter c = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(scaled, .args = "x, scale, d", .symbolic = "scale",
                                    .backend_object = &COUNTER(c), .guard_fail = keep_reason,
                                    .guard_fail_user = reason);
    dync_tensor *x = dync_ones(dync_shape(2));
    EXPECT(dync_call(f, x, 0.5, 3) && dync_call(f, x, 0.25, 3));
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT(same(dync_call(f, x, 0.25, 4), dync_full(dync_shape(2), 5.25), 0));
    EXPECT_EQ_INT(c.frame_count, 2);
    EXPECT_EQ_STR(reason, "L['d'] == 3");
    EXPECT(dync_call(f, x, 1, 4) != NULL); /* an int is another kind of number */
    EXPECT_EQ_INT(c.frame_count, 3);
    dync_compiled_free(f);
}

static dync_value reads(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_mul(args[0], (double)dync_as_int(args[1])));
}
TEST(reading_specialises)
{
    counter c = {0};
    char reason[512] = "";
    dync_compiled *f = dync_compile(reads, .args = "x, d", .symbolic = "d",
                                    .backend_object = &COUNTER(c), .guard_fail = keep_reason,
                                    .guard_fail_user = reason);
    dync_tensor *x = dync_ones(dync_shape(2));
    for (int i = 0; i < 3; i++)
        EXPECT(same(dync_call(f, x, i), dync_full(dync_shape(2), (double)i), 0));
    EXPECT(same(dync_call(f, x, 1), dync_ones(dync_shape(2)), 0));
    EXPECT_EQ_INT(c.frame_count, 3);
    EXPECT_EQ_STR(reason, "L['d'] == 0");
    dync_compiled_free(f);
}

static dync_value whole(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_value s =
        dync_sym_floordiv(dync_sym_mul(dync_sym_sub(args[1], DYNC_V(2)), DYNC_V(3)), DYNC_V(2));
    return dync_tuple(dync_add(args[0], s), s, dync_sym_add(args[1], DYNC_V(0.5)));
}
TEST(numbers_leave)
{
    static const char *const backends[] = {"eager", "inductor", "aot_eager"};
    for (int k = 0; k < 3; k++) {
        dync_compiled *f =
            dync_compile(whole, .args = "x, d", .symbolic = "d", .backend = backends[k]);
        for (int i = -3; i < 6; i++) DYNC_SCOPE {
            dync_value r = dync_call_value(f, dync_ones(dync_shape(2)), i);
            int64_t s = (int64_t)floor((i - 2) * 3 / 2.0);
            EXPECT_EQ_INT(dync_len(r), 3);
            EXPECT(
                same(dync_as_tensor(dync_at(r, 0)), dync_full(dync_shape(2), 1.0 + (double)s), 0));
            EXPECT_EQ_INT(dync_at(r, 1).kind, DYNC_KIND_INT);
            EXPECT_EQ_INT(dync_at(r, 1).as.i, s);
            EXPECT(dync_at(r, 2).kind == DYNC_KIND_FLOAT && dync_at(r, 2).as.f == i + 0.5);
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* Promotion is that of plain numbers, whatever the tensor. */
static dync_value promoted(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_add(args[0], args[1]), dync_mul(args[2], args[0]),
                      dync_lt(args[0], args[2]), dync_sub(args[1], args[0]));
}
TEST(promotion_is_that_of_numbers)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16,
                                        DYNC_I64, DYNC_I32, DYNC_I8,  DYNC_U8};
    static const char *const backends[] = {"eager", "inductor", "aot_eager"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(promoted, .args = "x, i, f", .symbolic = "i, f",
                                        .backend = backends[b], .recompile_limit = 100);
        for (int k = 0; k < 8; k++)
            for (int rank = 0; rank < 2; rank++) DYNC_SCOPE {
                dync_tensor *x =
                    dync_full(rank ? dync_shape(3) : DYNC_SCALAR, 3, .dtype = dtypes[k]);
                dync_value args[3] = {DYNC_V(x), DYNC_V(7), DYNC_V(0.1)};
                dync_value r = dync_call_values(f, 3, args), e = promoted(args, 3, NULL);
                for (int i = 0; i < 4; i++)
                    EXPECT(same(dync_as_tensor(dync_at(r, i)), dync_as_tensor(dync_at(e, i)), 0));
            }
        dync_compiled_free(f);
    }
}

static dync_value broken(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_value s = dync_sym_add(args[1], DYNC_V(1));
    dync_tensor *y = dync_mul(args[0], s);
    dync_graph_break("here");
    return DYNC_V(dync_add(y, dync_sym_mul(s, DYNC_V(2))));
}
TEST(numbers_cross_breaks)
{
    static const char *const inner[] = {NULL, "inductor"};
    for (int k = 0; k < 2; k++) {
        counter c = {.inner = inner[k]};
        dync_compiled *f =
            dync_compile(broken, .args = "x, d", .symbolic = "d", .backend_object = &COUNTER(c));
        for (int i = 0; i < 6; i++) DYNC_SCOPE {
            dync_tensor *r = dync_call(f, dync_ones(dync_shape(3)), i);
            EXPECT(same(r, dync_full(dync_shape(3), (double)(i + 1) * 3), 0));
        }
        EXPECT_EQ_INT(c.frame_count, 2);
        dync_compiled_free(f);
    }
}

/* ---- cells ----------------------------------------------------------------------------------- */
static dync_cell *count;
static dync_tensor *counts(dync_tensor *x)
{
    dync_value n = dync_cell_get(count);
    dync_cell_set(count, dync_sym_add(n, DYNC_V(1)));
    return dync_mul(x, dync_cell_get(count));
}
TEST(cells_are_read_and_written_by_every_call)
{
    static const char *const inner[] = {NULL, "inductor", "aot_eager"};
    for (int k = 0; k < 3; k++) {
        counter c = {.inner = inner[k]};
        count = dync_cell_new("counter", DYNC_V(0));
        dync_compiled *f =
            dync_compile(counts, .args = "x", .backend_object = &COUNTER(c), .fullgraph = true);
        for (int i = 1; i < 8; i++) {
            EXPECT(same(dync_call(f, dync_ones(dync_shape(2))), dync_full(dync_shape(2), (double)i),
                        0));
            EXPECT_EQ_INT(dync_as_int(dync_cell_get(count)), i);
        }
        dync_cell_set(count, DYNC_V(40));
        EXPECT(same(dync_call(f, dync_ones(dync_shape(2))), dync_full(dync_shape(2), 41.0), 0));
        EXPECT_EQ_INT(c.frame_count, 1);
        const char *text = dync_graph_readable(c.graphs[0]);
        EXPECT_HAS_STR(text, "counter: \"Sym(s0)\"");
        EXPECT_HAS_STR(text, "\"Sym(s0 + 1)\"");
        dync_compiled_free(f);
        dync_cell_free(count);
    }
}

static dync_tensor *sets(dync_tensor *x)
{
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0)))
        dync_cell_set(count, DYNC_V(1));
    else
        dync_cell_set(count, dync_sym_sub(dync_cell_get(count), DYNC_V(2.5)));
    return dync_neg(x);
}
TEST(cells_in_branches)
{
    count = dync_cell_new("counter", DYNC_V(10));
    dync_compiled *f = dync_compile(sets, .args = "x");
    double now = 10;
    for (int i = 0; i < 12; i++) DYNC_SCOPE {
        bool up = i % 3 == 2;
        EXPECT(dync_call(f, dync_full(dync_shape(2), up ? 1.0 : -1.0)) != NULL);
        now = up ? 1 : now - 2.5;
        EXPECT(dync_as_float(dync_cell_get(count)) == now);
    }
    dync_compiled_free(f);
    dync_cell_free(count);
}

/* ---- numbers that data decide ---------------------------------------------------------------- */
static dync_tensor *by_item(dync_tensor *x)
{
    return dync_add(dync_mul(x, dync_item(dync_sum(x, DYNC_ALL, false))), 1.5);
}
static dync_tensor *by_item_by_hand(dync_tensor *x, double s)
{
    return dync_add(dync_mul(x, s), 1.5);
}
static double item_of(dync_tensor *x) { return dync_item(dync_sum(x, DYNC_ALL, false)); }

static const char *const every[] = {NULL, "aot_eager", "inductor"};
TEST(a_number_that_data_decide_is_an_input_from_its_second_value_on)
{
    for (int k = 0; k < 3; k++) {
        counter c = {.inner = every[k]};
        dync_compiled *f = dync_compile(by_item, .args = "x", .backend_object = &COUNTER(c));
        for (int i = 0; i < 200; i++) DYNC_SCOPE {
            dync_tensor *x = dync_add(dync_rand(dync_shape(4, 3)), 0.01 * i);
            dync_tensor *r = dync_call(f, x);
            EXPECT(same(r, by_item_by_hand(x, item_of(x)), 1e-6));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        /* the sum; with the first number, with any */
        EXPECT_EQ_INT(c.frame_count, 3);
        EXPECT_HAS_STR(dync_graph_readable(c.graphs[2]), "Sym(s0)");
        dync_compiled_free(f);
    }
}

TEST(special_values_are_numbers_like_others)
{
    enum { N_VALUES = 13 };
    static const double value[N_VALUES] = {0.25, NAN,  INFINITY, -INFINITY, 0.0, -0.0, 1.0,
                                           -1.0, 3e38, 1e-300,   NAN,       7.5, 0.25};
    for (int k = 0; k < 3; k++) {
        counter c = {.inner = every[k]};
        dync_compiled *f = dync_compile(by_item, .args = "x", .backend_object = &COUNTER(c));
        for (int i = 0; i < 3 * N_VALUES; i++) DYNC_SCOPE {
            dync_tensor *x = dync_full(dync_shape(1), value[i % N_VALUES]);
            dync_tensor *r = dync_call(f, x), *e = by_item_by_hand(x, item_of(x));
            EXPECT(r && memcmp(dync_data(r), dync_data(e), sizeof(float)) == 0);
        }
        EXPECT_EQ_INT(c.frame_count, 3);
        dync_compiled_free(f);
    }
}

/* Gradients flow through what the number scales, on every backend and over many calls. */
static dync_tensor *scales_twice(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_mul(x, w);
    double s = dync_item(dync_sum(dync_detach(y), DYNC_ALL, false));
    int64_t n = (int64_t)(s * 3);
    y = dync_div(dync_sub(dync_mul(dync_tanh(y), s), 0.25), (double)n * n + 1.5);
    return dync_maximum(dync_mul(y, n), dync_mul(dync_add(s, w), 0.125));
}
TEST(gradients_with_several_numbers)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < 3; k++) {
        counter c = {.inner = k ? backends[k] : NULL};
        dync_compiled *f =
            dync_compile(scales_twice, .args = "x, w", .backend_object = &COUNTER(c));
        for (int i = 0; i < 60; i++) DYNC_SCOPE {
            dync_tensor *x = dync_sub(dync_rand(dync_shape(5)), 0.5);
            dync_tensor *a = dync_clone(x), *b = dync_clone(x), *v = dync_rand(dync_shape(5)),
                        *w = dync_clone(v);
            dync_requires_grad_(a, true), dync_requires_grad_(b, true);
            dync_requires_grad_(v, true), dync_requires_grad_(w, true);
            dync_tensor *r = dync_call(f, a, v), *e = scales_twice(b, w);
            EXPECT(same(r, e, 1e-5));
            EXPECT_OK(dync_backward(dync_sum(r, DYNC_ALL, false)));
            EXPECT_OK(dync_backward(dync_sum(e, DYNC_ALL, false)));
            EXPECT(same(dync_grad(a), dync_grad(b), 1e-5));
            EXPECT(same(dync_grad(v), dync_grad(w), 1e-5));
        }
        EXPECT(c.frame_count <= 8);
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* Places change one by one, ways branch off in between, and a kind of number is a segment of its
 * own. */
static dync_tensor *wanders(dync_tensor *x)
{
    double s = dync_item(dync_amax(x, DYNC_ALL, false));
    int64_t k = (int64_t)floor(s * 8);
    dync_tensor *y = dync_mul(x, k % 3 ? 0.5 : s);
    y = k % 2 ? dync_add(y, k) : dync_add(y, s);
    if (k % 5 == 0) y = dync_relu(dync_sub(y, s));
    dync_tensor *z = dync_masked_fill(dync_clamp(y, -s, s), dync_gt(x, s / 2), s);
    s += dync_item(dync_amin(z, DYNC_ALL, false));
    if (k % 4 == 1) z = dync_add_(z, s);
    return dync_where(dync_lt(z, s), dync_mul(z, s), dync_lerp(z, x, s));
}
TEST(ways_with_numbers_of_their_own)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_BF16};
    for (int b = 0; b < 3; b++)
        for (int d = 0; d < 3; d++)
            for (int rank = 0; rank < 2; rank++) {
                counter c = {.inner = every[b]};
                dync_compiled *f =
                    dync_compile(wanders, .args = "x", .backend_object = &COUNTER(c));
                for (int i = 0; i < 80; i++) DYNC_SCOPE {
                    dync_tensor *x =
                        dync_to_dtype(dync_sub(dync_rand(rank ? dync_shape(6) : DYNC_SCALAR), 0.25),
                                      (dync_dtype)dtypes[d]);
                    dync_tensor *r = dync_call(f, x), *e = wanders(x);
                    EXPECT(same(r, e, dtypes[d] == DYNC_BF16 ? 0.02 : 1e-5));
                }
                EXPECT(c.frame_count < 60);
                EXPECT_EQ_INT(dync_error(), DYNC_OK);
                dync_compiled_free(f);
            }
}

/* The turns of a loop have numbers of their own, which are no inputs as long as they are the same
 * in every call. */
static dync_tensor *turns(dync_tensor *x)
{
    for (int i = 2; i < 6; i++) {
        x = dync_mul(x, (double)i);
        dync_graph_break("turn");
    }
    return x;
}
TEST(numbers_of_a_loop_stay_constants)
{
    counter c = {0};
    dync_compiled *f = dync_compile(turns, .args = "x", .backend_object = &COUNTER(c));
    for (int i = 0; i < 10; i++) DYNC_SCOPE
        EXPECT(same(dync_call(f, dync_ones(dync_shape(2))), dync_full(dync_shape(2), 120), 0));
    EXPECT_EQ_INT(c.frame_count, 4);
    dync_compiled_free(f);
}

/* Sizes and dimensions stay what they are. */
static dync_tensor *reshapes(dync_tensor *x)
{
    int64_t n = (int64_t)dync_item(dync_amax(x, DYNC_ALL, false));
    return dync_sum(dync_mul(dync_reshape(x, n % 2 ? dync_shape(2, 6) : dync_shape(3, 4)), n),
                    dync_shape(n % 2), false);
}
TEST(sizes_and_dimensions_stay_constants)
{
    counter c = {0};
    dync_compiled *f = dync_compile(reshapes, .args = "x", .backend_object = &COUNTER(c));
    for (int i = 0; i < 40; i++) DYNC_SCOPE {
        dync_tensor *x = dync_full(dync_shape(12), i + 0.5);
        EXPECT(same(dync_call(f, x), reshapes(x), 0));
    }
    EXPECT_EQ_INT(c.frame_count, 5);
    dync_compiled_free(f);
}

/* The check of every call against eager knows such inputs, of results without dimensions too. */
TEST(verify_agrees)
{
    for (int k = 0; k < 3; k++)
        for (int rank = 0; rank < 2; rank++) {
            counter c = {.inner = every[k]};
            dync_compiled *f = dync_compile(wanders, .args = "x", .backend_object = &COUNTER(c));
            dync_set_verify(true);
            for (int i = 0; i < 40; i++) DYNC_SCOPE {
                dync_tensor *x = dync_rand(rank ? dync_shape(6) : DYNC_SCALAR);
                EXPECT(same(dync_call(f, x), wanders(x), 1e-5));
            }
            dync_set_verify(false);
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
            dync_compiled_free(f);
        }
}

/* A cell's number that the function fixed is compared by every call, the short way of calls too. */
static dync_cell *fixed_cell;
static dync_tensor *adds_fixed(dync_tensor *x)
{
    return dync_add(x, dync_as_int(dync_cell_get(fixed_cell)));
}
TEST(a_fixed_cell_is_compared_by_every_call)
{
    fixed_cell = dync_cell_new("fixed", DYNC_V(1));
    dync_compiled *f = dync_compile(adds_fixed);
    dync_tensor *x = dync_zeros(dync_shape(2));
    for (int to = 1; to < 4; to++) {
        dync_cell_set(fixed_cell, DYNC_V(to));
        for (int i = 0; i < 4; i++) EXPECT(dync_item(dync_select(dync_call(f, x), 0, 0)) == to);
    }
    dync_compiled_free(f);
}
TEST_MAIN
