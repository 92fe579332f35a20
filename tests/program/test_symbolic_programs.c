/* Programs that keep symbols: exported with marked sizes, run with many others, saved, loaded, run
 * again: each result is the plain function's; sizes outside are refused by name. */
#include "dync.h"
#include "test.h"
#include "tol.h"
#include "sized.h"

static dync_tensor *convolved(dync_tensor *x)
{
    dync_tensor *y = dync_reshape(x, dync_shape(1, 1, dync_dim(x, 0), 8));
    return dync_relu(
        dync_conv2d(y, kernel, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1));
}
static dync_tensor *scanned(dync_tensor *x)
{
    return dync_add(dync_cumsum(x, 0), dync_arange(0, 8, 1));
}
static dync_tensor *picked(dync_tensor *x)
{
    return dync_index_select(x, 0, dync_argsort(dync_select(x, 1, 0), 0, false));
}

/* real numbers that sizes decide, between plain ones */
static dync_tensor *counted(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0);
    dync_tensor *at = dync_arange(0, dync_as_real(n), 1);
    dync_tensor *y = dync_mul(dync_add(x, 0.25), dync_sym_float(n));
    return dync_div(dync_add(y, dync_unsqueeze(dync_mul(at, 1.5), 1)), 2.5);
}

typedef dync_tensor *(*row_fn)(dync_tensor *);
static const struct {
    const char *name;
    row_fn fn;
} rows[] = {{"mlp", mlp},         {"norm", norm},      {"attend", attend},
            {"moved", moved},     {"picked", picked},  {"convolved", convolved},
            {"scanned", scanned}, {"counted", counted}};
static int row;
static dync_tensor *any_row(dync_tensor *x) { return rows[row].fn(x); }

static dync_tensor *run1(dync_program *p, dync_tensor *x)
{
    dync_value arg = DYNC_V(x), r = dync_program_run(p, 1, &arg);
    return r.kind == DYNC_KIND_TENSOR ? dync_as_tensor(r) : NULL;
}

/* The program before and after a file, which is written the same again. */
static dync_program *through_file(dync_program *p)
{
    char path[128];
    snprintf(path, sizeof path, "/tmp/dync_test_sym_%d.dync", (int)(test_random() % 1000000));
    EXPECT_OK(dync_program_save(p, path));
    dync_program *q = dync_program_load(path);
    remove(path);
    return q;
}

TEST(all_sizes)
{
    weights();
    for (row = 0; row < (int)(sizeof rows / sizeof rows[0]); row++) {
        dync_tensor *x = dync_randn(dync_shape(7, 8));
        dync_mark_dynamic_range(x, 0, 2, 64);
        dync_program *p = dync_export(any_row, x), *q = p ? through_file(p) : NULL;
        if (!p || !q) printf("    %s\n", rows[row].name);
        REQUIRE(p && q);
        for (int n = 2; n <= 64; n += n < 10 ? 1 : 9) {
            dync_tensor *y = dync_randn(dync_shape(n, 8)), *want = rows[row].fn(y);
            dync_tensor *turned = dync_t(dync_clone(dync_t(y)));
            EXPECT(dync_allclose(want, run1(p, y), TOL_F32_SUM, TOL_F32_CHAIN));
            EXPECT(dync_allclose(want, run1(q, y), TOL_F32_SUM, TOL_F32_CHAIN));
            EXPECT(dync_allclose(want, run1(q, turned), TOL_F32_SUM, TOL_F32_CHAIN));
        }
        dync_program_free(p);
        dync_program_free(q);
        EXPECT_OK(dync_error());
    }
}

/* One of the rows with its first sizes, by default compiled as numbers, and then others, some of
 * them again; `off`: passes left out. */
enum { TURNS = 7 };
static void in_turn(int which, const int *n, const char *off, dync_tensor **out)
{
    dync_tensor *x = dync_randn(dync_shape(7, 8));
    dync_mark_dynamic_range(x, 0, 2, 64);
    row = which;
    EXPECT_OK(dync_config_set("disable", off));
    dync_program *p = dync_export(any_row, x);
    for (int i = 0; p && i < TURNS; i++) {
        dync_manual_seed((uint64_t)n[i]);
        out[i] = run1(p, dync_randn(dync_shape(n[i], 8)));
    }
    EXPECT(p);
    dync_program_free(p);
    EXPECT_OK(dync_config_set("disable", ""));
}
TEST(first_sizes_alone)
{
    weights();
    for (int k = 0; k < (int)(sizeof rows / sizeof rows[0]); k++) {
        int n[TURNS];
        for (int i = 0; i < TURNS; i++) n[i] = 2 + (int)(test_random() % 60);
        n[2] = n[4] = n[0];
        dync_tensor *alone[TURNS] = {0}, *all[TURNS] = {0}, *each[TURNS] = {0};
        in_turn(k, n, "", alone);
        in_turn(k, n, "first_alone", all);
        in_turn(k, n, "all_sizes,first_alone", each);
        for (int i = 0; i < TURNS; i++) {
            dync_manual_seed((uint64_t)n[i]);
            dync_tensor *want = rows[k].fn(dync_randn(dync_shape(n[i], 8)));
            EXPECT(dync_allclose(want, alone[i], TOL_F32_SUM, TOL_F32_CHAIN));
            EXPECT(dync_equal(alone[i], all[i]));
            EXPECT(dync_equal(alone[i], each[i]));
        }
        EXPECT_OK(dync_error());
    }
}

static dync_tensor *two(dync_tensor *x, dync_tensor *y)
{
    return dync_matmul(dync_add(x, 1), dync_transpose(y, 0, 1));
}

TEST(two_symbols)
{
    dync_tensor *x = dync_randn(dync_shape(4, 6)), *y = dync_randn(dync_shape(5, 6));
    dync_mark_dynamic(x, 0);
    dync_mark_dynamic_range(y, 0, 2, 100);
    dync_mark_dynamic(x, 1);
    dync_mark_dynamic(y, 1);
    dync_program *p = dync_export(dync_args(two, "x, y"), x, y), *q = p ? through_file(p) : NULL;
    REQUIRE(p && q);
    for (int n = 2; n < 40; n += 7) {
        dync_tensor *a = dync_randn(dync_shape(n, n + 1)),
                    *b = dync_randn(dync_shape(60 - n, n + 1));
        dync_value args[2] = {DYNC_V(a), DYNC_V(b)};
        EXPECT(dync_allclose(two(a, b), dync_as_tensor(dync_program_run(p, 2, args)), TOL_F32_SUM,
                             TOL_F32_CHAIN));
        EXPECT(dync_allclose(two(a, b), dync_as_tensor(dync_program_run(q, 2, args)), TOL_F32_SUM,
                             TOL_F32_CHAIN));
    }
    dync_program_free(p);
    dync_program_free(q);
}

static void refused(dync_program *p, dync_tensor *x, dync_tensor *y, const char *why)
{
    dync_value args[2] = {DYNC_V(x), DYNC_V(y)};
    EXPECT(dync_program_run(p, 2, args).kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    EXPECT_HAS_STR(dync_error_message(), why);
    dync_clear_error();
}

/* Sizes that the program is not for are named: argument, dimension, range. */
TEST(other_sizes)
{
    dync_tensor *x = dync_randn(dync_shape(4, 6)), *y = dync_randn(dync_shape(5, 6));
    dync_mark_dynamic_range(x, 0, 3, 8);
    dync_mark_dynamic(y, 0);
    dync_program *p = dync_export(dync_args(two, "x, y"), x, y), *q = p ? through_file(p) : NULL;
    REQUIRE(p && q);
    dync_on_error(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        dync_program *it = i ? q : p;
        refused(it, dync_ones(dync_shape(9, 6)), y,
                "argument x: dimension 0 is 9, expected 3 to 8");
        refused(it, dync_ones(dync_shape(2, 6)), y,
                "argument x: dimension 0 is 2, expected 3 to 8");
        refused(it, x, dync_ones(dync_shape(1, 6)),
                "argument y: dimension 0 is 1, expected at least 2");
        refused(
            it, x, dync_ones(dync_shape(5, 7)),
            "argument y is f32[5, 7], expected f32[s1, 6], with s0 (dimension 0 of x) from 3 to 8, "
            "s1 (dimension 0 of y) of at least 2");
        refused(it, dync_ones(dync_shape(4, 6, 1)), y, "expected f32[s0, 6]");
    }
    dync_program_free(p);
    dync_program_free(q);
}

static dync_tensor *halves(dync_tensor *x)
{
    return dync_sum(dync_reshape(x, dync_shape(2, -1)), dync_shape(1), false);
}

/* What the trace took for granted is checked by every call, before and after a file. */
TEST(guards)
{
    dync_tensor *x = dync_randn(dync_shape(4, 3));
    dync_mark_dynamic(x, 0);
    dync_program *p = dync_export(dync_args(halves, "x"), x), *q = p ? through_file(p) : NULL;
    REQUIRE(p && q);
    dync_on_error(NULL, NULL);
    for (int n = 2; n < 12; n++) {
        dync_tensor *y = dync_randn(dync_shape(n, 3));
        for (int i = 0; i < 2; i++) {
            dync_tensor *got = run1(i ? q : p, y);
            if (n % 2 == 0) {
                EXPECT(dync_allclose(halves(y), got, TOL_F32_SUM, TOL_F32_CHAIN));
            } else {
                EXPECT(got == NULL);
                EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
                EXPECT_HAS_STR(dync_error_message(), ", 2) == 0, with s0 (dimension 0 of x)");
                dync_clear_error();
            }
        }
    }
    dync_program_free(p);
    dync_program_free(q);
}

static dync_tensor *specialised(dync_tensor *x) { return dync_add(x, (double)dync_size(x, 0)); }

/* What cannot be kept symbolic is told at export. */
TEST(promises)
{
    dync_tensor *x = dync_ones(dync_shape(4, 3)), *one = dync_ones(dync_shape(1, 3));
    dync_on_error(NULL, NULL);
    dync_mark_dynamic(x, 0);
    EXPECT(dync_export(specialised, x) == NULL);
    EXPECT_HAS_STR(dync_error_message(), "Constraints violated");
    dync_clear_error();
    dync_mark_dynamic(one, 0);
    EXPECT(dync_export(mlp, one) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), "sizes 0 and 1 are never symbolic");
    dync_clear_error();
}

static dync_tensor *same(dync_tensor *x, dync_tensor *y) { return dync_add(x, y); }

/* A tensor given twice is two arguments; both are marked. */
TEST(one_tensor_twice)
{
    dync_tensor *x = dync_ones(dync_shape(4, 3));
    dync_mark_dynamic_range(x, 0, 2, 9);
    dync_program *p = dync_export(dync_args(same, "x, y"), x, x);
    REQUIRE(p != NULL);
    dync_tensor *a = dync_randn(dync_shape(9, 3)), *b = dync_randn(dync_shape(9, 3));
    dync_value args[2] = {DYNC_V(a), DYNC_V(b)};
    EXPECT(dync_equal(dync_add(a, b), dync_as_tensor(dync_program_run(p, 2, args))));
    dync_program_free(p);
}

static dync_tensor *twice(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *less(dync_tensor *x) { return dync_sub(x, 1); }
static dync_tensor *chooses(dync_tensor *x)
{
    return dync_as_tensor(
        dync_cond(dync_gt(dync_sum(x, DYNC_ALL, false), 0), twice, less, dync_tuple(x)));
}

/* Functions inside operators have the symbols of the program around them. */
TEST(with_functions_inside)
{
    dync_tensor *x = dync_ones(dync_shape(4, 3));
    dync_mark_dynamic(x, 0);
    dync_program *p = dync_export(dync_args(chooses, "x"), x), *q = p ? through_file(p) : NULL;
    REQUIRE(p && q);
    for (int n = 2; n < 12; n++) {
        dync_tensor *y = dync_full(dync_shape(n, 3), n % 3 - 1.0);
        EXPECT(dync_equal(chooses(y), run1(p, y)));
        EXPECT(dync_equal(chooses(y), run1(q, y)));
    }
    dync_program_free(p);
    dync_program_free(q);
}

/* ---- inside compiled functions, whose own sizes become symbols ------------------------------- */

static dync_program *inner;
static dync_tensor *around(dync_tensor *x)
{
    dync_tensor *y = run1(inner, dync_mul(x, 2));
    return y ? dync_sub(y, 1) : NULL;
}
static dync_tensor *plainly(dync_tensor *x) { return dync_sub(rows[row].fn(dync_mul(x, 2)), 1); }

/* Of one size, then of symbols that the program's range and guards hold in; other sizes are refused
 * as ever. */
static void check_inside(const char *backend)
{
    dync_compiled *f = dync_compile(around, .backend = backend),
                  *g = dync_compile(inner, .backend = backend);
    for (int n = 3; n < 13; n++) DYNC_SCOPE {
        dync_tensor *y = dync_randn(dync_shape(n, 8));
        dync_tensor *got = dync_call(f, y), *alone = dync_call(g, y);
        if (n <= 10) {
            EXPECT(dync_allclose(plainly(y), got, TOL_F32_SUM, TOL_F32_CHAIN));
            EXPECT(dync_allclose(rows[row].fn(y), alone, TOL_F32_SUM, TOL_F32_CHAIN));
            continue;
        }
        EXPECT(!got && !alone);
        EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
        char want[64];
        snprintf(want, sizeof want, "dimension 0 is %d, expected 2 to 10", n);
        EXPECT_HAS_STR(dync_error_message(), want);
        dync_clear_error();
    }
    EXPECT_EQ_INT(dync_compiled_info(f).entries, 2);
    dync_compiled_free(f);
    dync_compiled_free(g);
}

TEST(inside_compiled_functions)
{
    weights();
    dync_on_error(NULL, NULL);
    for (row = 0; row < (int)(sizeof rows / sizeof rows[0]); row++) {
        dync_tensor *x = dync_randn(dync_shape(7, 8));
        dync_mark_dynamic_range(x, 0, 2, 10);
        dync_program *p = dync_export(any_row, x), *q = p ? through_file(p) : NULL;
        REQUIRE(p && q);
        for (int loaded = 0; loaded < 2; loaded++) {
            inner = loaded ? q : p;
            check_inside("eager");
            check_inside("inductor");
        }
        dync_program_free(p);
        dync_program_free(q);
    }
}
TEST_MAIN
