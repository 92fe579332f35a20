/* tests/ops/test_scan.c: running sums against a plain C loop: every dtype, dim, size and layout;
 * fused with what stands around them; gradients; the same bits with any number of threads. */
#include "dync.h"
#include "test.h"
#include "tol.h"

static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64,
                                    DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8,   DYNC_BOOL};

static bool is_float(dync_dtype t)
{
    return t == DYNC_F32 || t == DYNC_F64 || t == DYNC_F16 || t == DYNC_BF16;
}

static dync_tensor *random_tensor(const dync_dims *shape, dync_dtype dtype)
{
    dync_tensor *t = dync_mul(dync_randn(*shape), 3);
    return dtype == DYNC_BOOL ? dync_gt(t, 0)
                              : dync_to_dtype(dtype == DYNC_U8 ? dync_abs(t) : t, dtype);
}

/* Another view of as many elements: dense, two dims exchanged, every other one of a wider tensor,
 * backwards. */
static dync_tensor *random_view(dync_dims shape, dync_dtype dtype)
{
    int way = test_random_int(0, 3), d = shape.n ? test_random_int(0, shape.n - 1) : 0,
        e = shape.n ? test_random_int(0, shape.n - 1) : 0;
    if (way == 0 || shape.n == 0) return random_tensor(&shape, dtype);
    int64_t size = shape.d[d];
    if (way == 1) {
        shape.d[d] = shape.d[e];
        shape.d[e] = size;
        return dync_transpose(random_tensor(&shape, dtype), d, e);
    }
    if (way == 2) {
        shape.d[d] = 2 * size;
        return dync_slice(random_tensor(&shape, dtype), d, 0, DYNC_END, 2);
    }
    return dync_flip(random_tensor(&shape, dtype), dync_shape(d));
}

/* By the definition, in F64 (integers: in I64). */
static void expect_sums(dync_tensor *x, dync_tensor *y, int dim, double tol)
{
    bool whole = !is_float(dync_type(x));
    dync_dtype wide = whole ? DYNC_I64 : DYNC_F64;
    dync_tensor *from = dync_contiguous(dync_to_dtype(x, wide)),
                *to = dync_contiguous(dync_to_dtype(y, wide));
    int64_t outer = 1, inner = 1, length = dync_ndim(x) ? dync_size(x, dim) : 1;
    REQUIRE(from && to && dync_numel(x) == dync_numel(y));
    for (int d = 0; d < dync_ndim(x); d++)
        *(d < dim ? &outer : d > dim ? &inner : &length) *= d == dim ? 1 : dync_size(x, d);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double sum = 0;
            int64_t total = 0;
            for (int64_t j = 0, at = o * length * inner + i; j < length; j++, at += inner) {
                if (whole) {
                    total += ((int64_t *)dync_data(from))[at];
                    if (!EXPECT_EQ_INT(((int64_t *)dync_data(to))[at], total)) return;
                } else {
                    sum += ((double *)dync_data(from))[at];
                    if (!EXPECT_NEAR(((double *)dync_data(to))[at], sum, tol * (fabs(sum) + 1)))
                        return;
                }
            }
        }
}

static double tolerance(dync_dtype dtype)
{
    return dtype == DYNC_F16    ? TOL_F16_1ULP
           : dtype == DYNC_BF16 ? TOL_BF16_1ULP
           : dtype == DYNC_F64  ? TOL_F64_CHAIN
                                : TOL_F32_1ULP;
}

TEST(every_dtype_dim_size_and_layout)
{
    for (int i = 0; i < 600; i++) DYNC_SCOPE {
        dync_dims shape = {.n = test_random_int(0, 4)};
        dync_dtype dtype = dtypes[i % 10];
        for (int d = 0; d < shape.n; d++)
            shape.d[d] = test_random() % 12 ? test_random_int(1, shape.n < 3 ? 70 : 9)
                                            : test_random_int(0, 1);
        int dim = shape.n ? test_random_int(0, shape.n - 1) : 0;
        dync_tensor *x = random_view(shape, dtype),
                    *y = dync_cumsum(x, test_random() % 2 && shape.n ? dim - shape.n : dim);
        REQUIRE(y);
        EXPECT_EQ_INT(dync_type(y), is_float(dtype) ? dtype : DYNC_I64);
        expect_sums(x, y, dim, tolerance(dtype));
    }
}

/* Long enough for threads, along rows and across them. */
TEST(the_same_with_any_number_of_threads)
{
    static const dync_dims shapes[] = {{.n = 2, .d = {700, 1000}},
                                       {.n = 2, .d = {3, 70001}},
                                       {.n = 1, .d = {300001}},
                                       {.n = 3, .d = {5, 400, 130}}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int dim = 0; dim < shapes[s].n; dim++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(shapes[s]), *want = NULL;
            for (int threads = 1; threads <= 3; threads++) {
                dync_config_set("threads", (const char *[]){"", "1", "2", "3"}[threads]);
                dync_tensor *y = dync_cumsum(dync_exp(x), dim);
                if (threads == 1)
                    expect_sums(dync_exp(x), want = y, dim, TOL_F32_1ULP);
                else
                    EXPECT(dync_equal(want, y));
            }
        }
    dync_config_set("threads", "1");
}

/* ---- with what stands around them ------------------------------------------------------------ */

static dync_tensor *exponentials(dync_tensor *x, dync_tensor *y)
{
    return dync_mul(dync_cumsum(dync_exp(x), 1), y);
}
static dync_tensor *down(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_mul(dync_cumsum(dync_sub(x, y), 0), 2), y);
}
static dync_tensor *share(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *c = dync_cumsum(dync_abs(x), 1);
    return dync_sub(dync_div(c, dync_add(dync_amax(c, dync_shape(1), true), 1)), y);
}
static dync_tensor *backwards(dync_tensor *x, dync_tensor *y)
{
    return dync_mul(dync_flip(dync_cumsum(dync_flip(x, dync_shape(1)), 1), dync_shape(1)), y);
}
static dync_tensor *of_sums(dync_tensor *x, dync_tensor *y)
{
    return dync_cumsum(dync_cumsum(dync_mul(x, y), 1), 1);
}
static dync_tensor *both_ways(dync_tensor *x, dync_tensor *y)
{
    return dync_cumsum(dync_cumsum(dync_mul(x, y), 0), 1);
}
static dync_tensor *softly(dync_tensor *x, dync_tensor *y)
{
    return dync_mul(dync_cumsum(dync_softmax(x, 1), 1),
                    dync_add(dync_sum(y, dync_shape(1), true), 0));
}
static dync_tensor *counted(dync_tensor *x, dync_tensor *y)
{
    return dync_where(dync_lt(dync_cumsum(dync_gt(x, 0), 1), 9), x, y);
}
static dync_tensor *rounded(dync_tensor *x, dync_tensor *y)
{
    return dync_to_dtype(
        dync_add(dync_cumsum(dync_to_dtype(x, DYNC_BF16), 1), dync_to_dtype(y, DYNC_BF16)),
        DYNC_F32);
}
static dync_tensor *turned(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_transpose(dync_cumsum(dync_transpose(x, 0, 1), 0), 0, 1), y);
}
static dync_tensor *in_parts(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *c = dync_cumsum(x, 1), *w = dync_arange(0, (double)(dync_size(x, 1) / 2), 1);
    return dync_add(dync_reshape(dync_mul(dync_reshape(c, dync_shape(dync_size(x, 0), 2, -1)), w),
                                 dync_shape(dync_size(x, 0), -1)),
                    y);
}
/* A kernel that computes in F64 too, a norm's powers: its vectors are half as long. */
static dync_tensor *beside_f64(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *c = dync_cumsum(x, 1);
    return dync_add(
        dync_cat(dync_tuple(dync_mul(c, dync_cumsum(c, 1)), dync_normalize(x, 2.5, -1, 1e-6)), 0),
        dync_cat(dync_tuple(y, y), 0));
}

typedef dync_tensor *(*fn2)(dync_tensor *, dync_tensor *);
static const fn2 fns[] = {exponentials, down,    share,   backwards, of_sums,  both_ways,
                          softly,       counted, rounded, turned,    in_parts, beside_f64};

TEST(fused_as_in_eager)
{
    static const int64_t sizes[][2] = {{7, 20}, {33, 64}, {1, 300}, {130, 2}, {64, 1030}};
    for (size_t i = 0; i < sizeof fns / sizeof fns[0]; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) DYNC_SCOPE {
            dync_compiled *f = dync_compile(fns[i], .args = "x, y", .fullgraph = true);
            dync_tensor *x = dync_randn(dync_shape(sizes[s][0], sizes[s][1])),
                        *y = dync_randn(dync_shape(sizes[s][0], sizes[s][1]));
            if (!EXPECT(dync_allclose(fns[i](x, y), dync_call(f, x, y), TOL_F32_SUM, TOL_F32_SUM)))
                printf("  function %d, size %d\n", (int)i, (int)s);
            dync_compiled_free(f);
        }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

TEST(gradients_as_in_eager)
{
    for (size_t i = 0; i < sizeof fns / sizeof fns[0]; i++) DYNC_SCOPE {
        dync_compiled *f = dync_compile(fns[i], .args = "x, y", .fullgraph = true);
        dync_tensor *x = dync_requires_grad_(dync_randn(dync_shape(6, 40)), true),
                    *y = dync_requires_grad_(dync_randn(dync_shape(6, 40)), true), *grad[2][2];
        for (int k = 0; k < 2; k++) {
            dync_backward(
                dync_sum(dync_square(k ? dync_call(f, x, y) : fns[i](x, y)), DYNC_ALL, false));
            grad[k][0] = dync_clone(dync_grad(x));
            grad[k][1] = dync_clone(dync_grad(y));
            dync_set_grad(x, NULL);
            dync_set_grad(y, NULL);
        }
        for (int k = 0; k < 2; k++)
            if (!EXPECT(dync_allclose(grad[0][k], grad[1][k], TOL_F32_MODEL, TOL_F32_MODEL)))
                printf("  function %d, gradient %d\n", (int)i, k);
        dync_compiled_free(f);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

/* Sums across rows that an index leads to: the index is found once a row, for all vectors of it. */
static dync_value rows_by_index(const dync_value *a, int n, void *user)
{
    dync_tensor *y = dync_index_select(dync_as_tensor(a[0]), 0, dync_as_tensor(a[1])),
                *c = dync_cumsum(y, -2);
    dync_tensor *z = dync_maximum(dync_lt(dync_add(c, c), 0), dync_lt(y, 0));
    (void)n, (void)user;
    return dync_tuple(z, dync_floor_divide(dync_add(c, c), dync_as_tensor(a[2])),
                      dync_sum(dync_mul(y, y), dync_shape(-2), false));
}
TEST(sums_across_rows_by_index)
{
    static const int64_t columns[] = {5, 12, 16, 40, 100};
    for (int dtype = DYNC_I64; dtype <= DYNC_I32; dtype++)
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) DYNC_SCOPE {
            const int64_t which[] = {2, 0, 3};
            dync_compiled *f =
                dync_compile(rows_by_index, .args = "x, index, by", .fullgraph = true);
            dync_tensor *index = dync_to_dtype(dync_from(which, dync_shape(3), .dtype = DYNC_I64),
                                               (dync_dtype)dtype);
            dync_value in[] = {DYNC_V(dync_randn(dync_shape(4, 7, columns[i]))), DYNC_V(index),
                               DYNC_V(dync_full((dync_dims){0}, 1.5))};
            dync_value plain = rows_by_index(in, 3, NULL), fast = dync_call_values(f, 3, in);
            for (int k = 0; k < 3; k++)
                if (!EXPECT(
                        dync_allclose(dync_to_dtype(dync_as_tensor(dync_at(plain, k)), DYNC_F32),
                                      dync_to_dtype(dync_as_tensor(dync_at(fast, k)), DYNC_F32),
                                      TOL_F32_SUM, TOL_F32_SUM)))
                    printf("  result %d, %d columns\n", k, (int)columns[i]);
            dync_compiled_free(f);
        }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

TEST_MAIN
