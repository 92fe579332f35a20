/* Programs whose results have sizes that data decide, or that read numbers, as ONNX models. With
 * ONNX_MODELS=folder/ they stay there with inputs and results, which tests/interop/onnx_write.py
 * compares with ONNX Runtime's: the same model for inputs that select all, some, one or nothing. */
#include "dync.h"
#include "test.h"
#include "tol.h"

#include "data_cases.h"

static void path_of(char *path, size_t n, const char *name, int k, const char *end)
{
    const char *kept = getenv("ONNX_MODELS"), *dir = getenv("TMPDIR");
    if (kept)
        snprintf(path, n, "%sdata_%s_%d%s", kept, name, k, end);
    else
        snprintf(path, n, "%s/dync_%d_%s_%d%s", dir ? dir : "/tmp", (int)getpid(), name, k, end);
}

/* A NaN where there is one, too. */
static bool near(dync_tensor *a, dync_tensor *b)
{
    if (dync_type(a) != dync_type(b)) return false;
    return dync_item(
               dync_all(dync_isclose(a, b, TOL_F32_SUM, TOL_F32_CHAIN, true), DYNC_ALL, false)) > 0;
}
static void model(const char *name, function fn, dync_program *p, int k, dync_tensor *x)
{
    char path[512];
    path_of(path, sizeof path, name, k, ".onnx");
    dync_tensor *want = fn(x);
    if (!EXPECT_STATUS(dync_program_save_onnx(p, path), DYNC_OK) || !EXPECT(want != NULL)) {
        printf("    %s: %s\n", name, dync_error_message());
        dync_clear_error();
        return;
    }
    dync_program *q = dync_program_load_onnx(path);
    dync_value arg = DYNC_V(x), r = q ? dync_program_run(q, 1, &arg) : (dync_value){0};
    if (r.kind == DYNC_KIND_LIST) r = dync_at(r, 0);
    dync_tensor *got = r.kind == DYNC_KIND_TENSOR ? dync_as_tensor(r) : NULL;
    bool same = got && dync_ndim(got) == dync_ndim(want);
    for (int d = 0; same && d < dync_ndim(want); d++)
        same = dync_size(got, d) == dync_size(want, d);
    if (!EXPECT(same && near(want, got)))
        printf("    %s, input %d: %s\n", name, k, dync_error_message());
    dync_clear_error();
    dync_program_free(q);
    if (!getenv("ONNX_MODELS")) {
        EXPECT(remove(path) == 0);
        return;
    }
    path_of(path, sizeof path, name, k, ".in0.npy");
    EXPECT_STATUS(dync_npy_save(x, path), DYNC_OK);
    path_of(path, sizeof path, name, k, ".out0.npy");
    EXPECT_STATUS(dync_npy_save(want, path), DYNC_OK);
}

static void models(const char *name, function fn, bool changing, int n)
{
    dync_tensor *x = dync_randn(dync_shape(5, 3));
    if (changing) dync_mark_dynamic_range(x, 0, 2, 40);
    dync_program *p = dync_export(dync_args(fn, "x"), x);
    if (!EXPECT(p != NULL)) {
        printf("    %s: %s\n", name, dync_error_message());
        dync_clear_error();
        return;
    }
    for (int k = 0; k < n; k++) DYNC_SCOPE
        model(name, fn, p, k, input(k, changing ? 2 + 3 * k : 5));
    dync_program_free(p);
}

TEST(each_case)
{
    for (int changing = 0; changing < 2; changing++)
        for (int i = 0; i < N_CASES; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s", cases[i].name, changing ? "_sized" : "");
            models(name, cases[i].fn, changing, 4);
        }
}

TEST(random_programs)
{
    for (int i = 0; i < test_count(20); i++) {
        char name[32];
        random_seed = (unsigned)test_random();
        snprintf(name, sizeof name, "random_%u", random_seed);
        models(name, random_program, i % 2 != 0, 3);
    }
}

/* Each dtype; NaN and both zeros among the elements. */
static dync_tensor *as_f32(dync_tensor *x) { return dync_to_dtype(x, DYNC_F32); }
static dync_dtype dtype_now;
static dync_tensor *typed(dync_tensor *x)
{
    dync_tensor *y = dync_to_dtype(dync_round(dync_mul(x, 2.0)), dtype_now);
    dync_tensor *places = dync_to_dtype(dync_nonzero(y), DYNC_F32);
    return dync_cat(dync_tuple(as_f32(dync_unique(y)),
                               as_f32(dync_masked_select(y, dync_gt(x, dync_transpose(x, 0, 1)))),
                               dync_reshape(places, dync_shape(-1))),
                    0);
}
static dync_tensor *typed_square(dync_tensor *x)
{
    return typed(dync_matmul(x, dync_transpose(x, 0, 1)));
}
static dync_tensor *nans(dync_tensor *x)
{
    dync_tensor *y = dync_sqrt(dync_round(x));
    return dync_cat(
        dync_tuple(dync_unique(y),
                   dync_reshape(dync_to_dtype(dync_nonzero(y), DYNC_F32), dync_shape(-1))),
        0);
}
static dync_tensor *scalar_places(dync_tensor *x) { return dync_nonzero(dync_gt(total(x), 0.0)); }
/* a mask of fewer dims, and one of more */
static dync_tensor *broadcast(dync_tensor *x)
{
    dync_tensor *row = dync_select(x, 0, 0);
    return dync_cat(
        dync_tuple(dync_masked_select(x, positive(row)), dync_masked_select(row, positive(x))), 0);
}

TEST(dtypes_and_shapes)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64,
                                        DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_BOOL};
    static const char *const names[] = {"f32", "f64", "f16", "bf16", "i64",
                                        "i32", "i16", "i8",  "bool"};
    for (int i = 0; i < (int)(sizeof dtypes / sizeof *dtypes); i++) {
        char name[32];
        dtype_now = dtypes[i];
        snprintf(name, sizeof name, "typed_%s", names[i]);
        models(name, typed_square, i % 2 != 0, 3);
    }
    models("nans", nans, true, 4);
    models("scalar_places", scalar_places, false, 4);
    models("broadcast", broadcast, true, 4);
}

/* Numbers among the results are tensors of rank 0, in their places. */
static dync_value with_numbers(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(a[0]);
    (void)n, (void)user;
    return dync_tuple(dync_mul(x, 2), 7, -3, dync_tuple(0.25, true), dync_neg(x));
}
TEST(numbers_are_results)
{
    for (int changing = 0; changing < 2; changing++) {
        dync_tensor *x = dync_randn(dync_shape(5, 3));
        dync_value arg = DYNC_V(x);
        char path[512];
        if (changing) dync_mark_dynamic_range(x, 0, 2, 40);
        dync_program *p = dync_export_values(dync_fnv(with_numbers), "numbers", 1, &arg), *q;
        path_of(path, sizeof path, "numbers", changing, ".onnx");
        REQUIRE(p != NULL);
        EXPECT_OK(dync_program_save_onnx(p, path));
        REQUIRE((q = dync_program_load_onnx(path)) != NULL);
        remove(path);
        arg = DYNC_V(x = dync_randn(dync_shape(changing ? 9 : 5, 3)));
        dync_value r = dync_program_run(q, 1, &arg);
        if (EXPECT_EQ_INT(dync_len(r), 6)) {
            EXPECT(near(dync_as_tensor(dync_at(r, 0)), dync_mul(x, 2)));
            EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(r, 1))), 7, 0);
            EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(r, 2))), -3, 0);
            EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(r, 3))), 0.25, 0);
            EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(r, 4))), 1, 0);
            EXPECT(near(dync_as_tensor(dync_at(r, 5)), dync_neg(x)));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_program_free(p);
        dync_program_free(q);
    }
}

TEST_MAIN
