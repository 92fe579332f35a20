/* tests/capture/test_numbers.c: symbolic numbers: arguments named in .symbolic, dync_sym_*, cells. */
#include "counter.h"

static dync_value scaled(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_add(dync_mul(args[0], args[1]), dync_sym_add(args[2], DYNC_V(1))));
}
static dync_tensor *scaled_by_hand(dync_tensor *x, double scale, int64_t d) { return dync_add(dync_mul(x, scale), d + 1); }

TEST(numbers_are_run_time_inputs)
{
    static const char *const inner[] = {NULL, "inductor", "aot_eager"};
    for (int k = 0; k < 3; k++) {
        counter c = {.inner = inner[k]};
        dync_compiled *f = dync_compile(scaled, .args = "x, scale, d", .symbolic = "d, scale", .backend_object = &COUNTER(c));
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
    dync_compiled *f = dync_compile(scaled, .args = "x, scale, d", .symbolic = "d, scale", .backend_object = &COUNTER(c));
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
    dync_compiled *f = dync_compile(scaled, .args = "x, scale, d", .symbolic = "scale", .backend_object = &COUNTER(c), .guard_fail = keep_reason,
                                    .guard_fail_user = reason);
    dync_tensor *x = dync_ones(dync_shape(2));
    EXPECT(dync_call(f, x, 0.5, 3) && dync_call(f, x, 0.25, 3));
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT(same(dync_call(f, x, 0.25, 4), dync_full(dync_shape(2), 5.25), 0));
    EXPECT_EQ_INT(c.frame_count, 2);
    EXPECT_EQ_STR(reason, "L['d'] == 3");
    EXPECT(dync_call(f, x, 1, 4) != NULL);               /* an int is another kind of number */
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
    dync_compiled *f = dync_compile(reads, .args = "x, d", .symbolic = "d", .backend_object = &COUNTER(c), .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_tensor *x = dync_ones(dync_shape(2));
    for (int i = 0; i < 3; i++) EXPECT(same(dync_call(f, x, i), dync_full(dync_shape(2), (double)i), 0));
    EXPECT(same(dync_call(f, x, 1), dync_ones(dync_shape(2)), 0));
    EXPECT_EQ_INT(c.frame_count, 3);
    EXPECT_EQ_STR(reason, "L['d'] == 0");
    dync_compiled_free(f);
}

static dync_value whole(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_value s = dync_sym_floordiv(dync_sym_mul(dync_sym_sub(args[1], DYNC_V(2)), DYNC_V(3)), DYNC_V(2));
    return dync_tuple(dync_add(args[0], s), s, dync_sym_add(args[1], DYNC_V(0.5)));
}
TEST(numbers_leave)
{
    static const char *const backends[] = {"eager", "inductor", "aot_eager"};
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = dync_compile(whole, .args = "x, d", .symbolic = "d", .backend = backends[k]);
        for (int i = -3; i < 6; i++) DYNC_SCOPE {
            dync_value r = dync_call_value(f, dync_ones(dync_shape(2)), i);
            int64_t s = (int64_t)floor((i - 2) * 3 / 2.0);
            EXPECT_EQ_INT(dync_len(r), 3);
            EXPECT(same(dync_as_tensor(dync_at(r, 0)), dync_full(dync_shape(2), 1.0 + (double)s), 0));
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
    return dync_tuple(dync_add(args[0], args[1]), dync_mul(args[2], args[0]), dync_lt(args[0], args[2]), dync_sub(args[1], args[0]));
}
TEST(promotion_is_that_of_numbers)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64, DYNC_I32, DYNC_I8, DYNC_U8};
    static const char *const backends[] = {"eager", "inductor", "aot_eager"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(promoted, .args = "x, i, f", .symbolic = "i, f", .backend = backends[b], .recompile_limit = 100);
        for (int k = 0; k < 8; k++)
            for (int rank = 0; rank < 2; rank++) DYNC_SCOPE {
                dync_tensor *x = dync_full(rank ? dync_shape(3) : DYNC_SCALAR, 3, .dtype = dtypes[k]);
                dync_value args[3] = {DYNC_V(x), DYNC_V(7), DYNC_V(0.1)};
                dync_value r = dync_call_values(f, 3, args), e = promoted(args, 3, NULL);
                for (int i = 0; i < 4; i++) EXPECT(same(dync_as_tensor(dync_at(r, i)), dync_as_tensor(dync_at(e, i)), 0));
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
        dync_compiled *f = dync_compile(broken, .args = "x, d", .symbolic = "d", .backend_object = &COUNTER(c));
        for (int i = 0; i < 6; i++) DYNC_SCOPE {
            dync_tensor *r = dync_call(f, dync_ones(dync_shape(3)), i);
            EXPECT(same(r, dync_full(dync_shape(3), (double)(i + 1) * 3), 0));
        }
        EXPECT_EQ_INT(c.frame_count, 2);
        dync_compiled_free(f);
    }
}

/* ---- cells ---- */
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
        dync_compiled *f = dync_compile(counts, .args = "x", .backend_object = &COUNTER(c), .fullgraph = true);
        for (int i = 1; i < 8; i++) {
            EXPECT(same(dync_call(f, dync_ones(dync_shape(2))), dync_full(dync_shape(2), (double)i), 0));
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
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0))) dync_cell_set(count, DYNC_V(1));
    else dync_cell_set(count, dync_sym_sub(dync_cell_get(count), DYNC_V(2.5)));
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

TEST_MAIN
