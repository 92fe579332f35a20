/* Programs whose results have sizes that data decide, and numbers read from tensors: exported, run,
 * saved, loaded, run again: each result is the plain function's, with the size of its call. */
#include "dync.h"
#include "test.h"
#include "tol.h"

typedef dync_tensor *(*function)(dync_tensor *);

static dync_tensor *positive(dync_tensor *x) { return dync_gt(x, 0.0); }
static dync_tensor *total(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static dync_tensor *count(dync_tensor *x) { return total(dync_to_dtype(positive(x), DYNC_I64)); }

static dync_tensor *selects(dync_tensor *x)
{
    return dync_exp(dync_mul(dync_masked_select(dync_mul(x, 2.0), positive(x)), 0.1));
}
static dync_tensor *places(dync_tensor *x) { return dync_nonzero(positive(x)); }
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
static dync_tensor *signs(dync_tensor *x)
{
    dync_value n = dync_item_sym(dync_sub(count(x), 4));
    return dync_add(dync_mul(x, n), dync_sym_sub(n, DYNC_V(3)));
}
static dync_tensor *means(dync_tensor *x)
{
    dync_value m = dync_item_sym(dync_mean(x, DYNC_ALL, false));
    return dync_add(dync_mul(x, m), dync_sym_mul(m, DYNC_V(2.0)));
}
static dync_tensor *at_most_four(dync_tensor *x)
{
    dync_value n = dync_item_sym(count(x));
    dync_check(n, 0, 4);
    return dync_add(dync_slice(x, 0, 0, DYNC_END, 1), dync_full(dync_shape(1), n));
}
static dync_tensor *greatest(dync_tensor *x)
{
    return dync_max(dync_masked_select(x, positive(x)));
}
/* An if over what was selected, and a scan over rows that are as many. */
static dync_tensor *doubled(dync_tensor *x) { return dync_mul(x, 2.0); }
static dync_tensor *negated(dync_tensor *x) { return dync_neg(x); }
static dync_tensor *chosen(dync_tensor *x)
{
    dync_tensor *v = dync_masked_select(x, positive(x));
    return dync_as_tensor(dync_cond(dync_gt(total(v), 2.0), doubled, negated, dync_tuple(v)));
}
/* Twice in one graph, the second of what the first selected. */
static dync_tensor *twice(dync_tensor *x)
{
    dync_tensor *y = dync_add(x, 1.0);
    dync_tensor *v = dync_masked_select(y, positive(x));
    dync_tensor *u = dync_masked_select(v, dync_gt(v, 1.5));
    return dync_cat(dync_tuple(dync_reshape(total(y), dync_shape(1)), u, dync_neg(v)), 0);
}
/* Rows behind a nonzero, computed and put back: a mixture of two experts. */
static dync_tensor *experts(dync_tensor *x)
{
    dync_tensor *y = dync_zeros_like(x), *gate = dync_sum(x, dync_shape(1), false);
    for (int e = 0; e < 2; e++) {
        dync_tensor *mask = e ? dync_le(gate, 0.0) : dync_gt(gate, 0.0);
        dync_tensor *at = dync_select(dync_nonzero(mask), 1, 0);
        dync_tensor *rows = dync_index_select(x, 0, at);
        rows = e ? dync_softmax(rows, 1) : dync_tanh(dync_mul(rows, 3.0));
        y = dync_index_add(y, 0, at, rows);
    }
    return y;
}
static const struct {
    const char *name;
    function fn;
} cases[] = {{"selects", selects}, {"places", places}, {"rows_of", rows_of}, {"uniques", uniques},
             {"counts", counts},   {"signs", signs},   {"means", means},     {"twice", twice},
             {"experts", experts}, {"chosen", chosen}};
enum { N_CASES = (int)(sizeof cases / sizeof *cases) };

static dync_tensor *run1(dync_program *p, dync_tensor *x)
{
    dync_value arg = DYNC_V(x), r = dync_program_run(p, 1, &arg);
    return r.kind == DYNC_KIND_TENSOR ? dync_as_tensor(r) : NULL;
}
static dync_program *through_file(dync_program *p)
{
    char path[128];
    snprintf(path, sizeof path, "/tmp/dync_test_data_%d.dync", (int)(test_random() % 1000000));
    EXPECT_OK(dync_program_save(p, path));
    dync_program *q = dync_program_load(path);
    remove(path);
    return q;
}
/* Every third has no positive element, every fourth one alone. */
static dync_tensor *input(int k, int64_t rows)
{
    dync_tensor *x = dync_randn(dync_shape(rows, 3));
    if (k % 3 == 2) x = dync_neg(dync_abs(x));
    if (k % 4 == 3) {
        x = dync_neg(dync_abs(x));
        dync_fill_(dync_select(dync_select(x, 0, 1), 0, 1), 9.0);
    }
    return x;
}
static void compare(int i, dync_program *p, dync_tensor *x, const char *which)
{
    dync_tensor *want = cases[i].fn(x), *got = run1(p, x);
    bool same = got && want && dync_ndim(got) == dync_ndim(want);
    for (int d = 0; same && d < dync_ndim(want); d++)
        same = dync_size(got, d) == dync_size(want, d);
    if (!EXPECT(same && dync_allclose(want, got, TOL_F32_SUM, TOL_F32_CHAIN)))
        printf("    %s, %s: %s\n", cases[i].name, which, dync_error_message());
}

TEST(all_cases)
{
    for (int changing = 0; changing < 2; changing++)
        for (int i = 0; i < N_CASES; i++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(5, 3));
            if (changing) dync_mark_dynamic_range(x, 0, 2, 40);
            dync_program *p = dync_export(dync_args(cases[i].fn, "x"), x),
                         *q = p ? through_file(p) : NULL, *r = q ? through_file(q) : NULL;
            if (!EXPECT(p && q && r)) {
                printf("    %s: %s\n", cases[i].name, dync_error_message());
                dync_clear_error();
                continue;
            }
            for (int k = 0; k < 12; k++) DYNC_SCOPE {
                dync_tensor *y = input(k, changing ? 2 + 3 * k : 5);
                compare(i, p, y, "exported");
                compare(i, q, y, "loaded");
                compare(i, r, y, "loaded twice");
            }
            EXPECT_OK(dync_error());
            dync_program_free(p);
            dync_program_free(q);
            dync_program_free(r);
        }
}

/* ---- around it ------------------------------------------------------------------------------- */

/* A number that a check refuses, by name of the program that runs. */
TEST(checked)
{
    dync_tensor *few = dync_ones(dync_shape(5, 3)), *x = dync_mul(few, -1.0);
    dync_program *p = dync_export(dync_args(at_most_four, "x"), x), *q = p ? through_file(p) : NULL;
    REQUIRE(p && q);
    EXPECT(dync_allclose(at_most_four(x), run1(p, x), 0, 0));
    EXPECT(dync_allclose(at_most_four(x), run1(q, x), 0, 0));
    dync_on_error(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        EXPECT(run1(i ? q : p, few) == NULL);
        EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
        EXPECT_HAS_STR(dync_error_message(), "expected a number from 0 to 4, got 15");
        if (!i) EXPECT_HAS_STR(dync_error_message(), "test_data_programs.c:");
        dync_clear_error();
    }
    dync_program_free(p);
    dync_program_free(q);
}

/* Of nothing there is no greatest: as plain, though the program was made without knowing. */
TEST(nothing_selected)
{
    dync_tensor *x = dync_ones(dync_shape(4, 3)), *none = dync_zeros(dync_shape(4, 3));
    dync_program *p = dync_export(dync_args(greatest, "x"), x), *q = p ? through_file(p) : NULL;
    REQUIRE(p && q);
    EXPECT(dync_allclose(greatest(x), run1(q, x), 0, 0));
    dync_on_error(NULL, NULL);
    EXPECT(run1(p, none) == NULL && dync_error() != DYNC_OK);
    dync_clear_error();
    EXPECT(run1(q, none) == NULL && dync_error() != DYNC_OK);
    dync_clear_error();
    dync_program_free(p);
    dync_program_free(q);
}
TEST_MAIN
