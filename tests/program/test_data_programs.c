/* Programs whose results have sizes that data decide, and numbers read from tensors: exported, run,
 * saved, loaded, run again: each result is the plain function's, with the size of its call. */
#include "dync.h"
#include "test.h"
#include "tol.h"

#include "data_cases.h"

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
static void compare(function fn, const char *name, dync_program *p, dync_tensor *x,
                    const char *which)
{
    dync_tensor *want = fn(x), *got = run1(p, x);
    bool same = got && want && dync_ndim(got) == dync_ndim(want);
    for (int d = 0; same && d < dync_ndim(want); d++)
        same = dync_size(got, d) == dync_size(want, d);
    if (!EXPECT(same && dync_allclose(want, got, TOL_F32_SUM, TOL_F32_CHAIN)))
        printf("    %s, %s: %s\n", name, which, dync_error_message());
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
                compare(cases[i].fn, cases[i].name, p, y, "exported");
                compare(cases[i].fn, cases[i].name, q, y, "loaded");
                compare(cases[i].fn, cases[i].name, r, y, "loaded twice");
            }
            EXPECT_OK(dync_error());
            dync_program_free(p);
            dync_program_free(q);
            dync_program_free(r);
        }
}

/* Random programs: compiled, exported and loaded like plain. */
TEST(random_programs)
{
    for (int i = 0; i < test_count(40); i++) DYNC_SCOPE {
        char name[32];
        random_seed = (unsigned)test_random();
        snprintf(name, sizeof name, "random %u", random_seed);
        dync_tensor *x = dync_randn(dync_shape(4, 3));
        dync_mark_dynamic_range(x, 0, 2, 12);
        dync_program *p = dync_export(dync_args(random_program, "x"), x),
                     *q = p ? through_file(p) : NULL;
        if (!EXPECT(p && q)) {
            printf("    %s: %s\n", name, dync_error_message());
            dync_clear_error();
            continue;
        }
        for (int k = 0; k < 6; k++) DYNC_SCOPE {
            dync_tensor *y = input(k, 2 + 2 * k);
            compare(random_program, name, p, y, "exported");
            compare(random_program, name, q, y, "loaded");
        }
        dync_program_free(p);
        dync_program_free(q);
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
