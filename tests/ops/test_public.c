/* tests/ops/test_public.c: makers, reads, random numbers, splitting, in-place rules and error
 * messages, by the public header alone. */
#include "dync.h"
#include "test.h"
#include "tol.h"
#if TEST__FORK
#include <pthread.h>
#endif

static double at(dync_tensor *t, int64_t i)
{
    double x = (double)NAN;
    DYNC_SCOPE {
        x = dync_item(dync_select(dync_reshape(t, dync_shape(-1)), 0, i));
    }
    return x;
}

/* The call failed with this status and a message that has the text; the error is cleared. */
static void expect_error(const char *file, int line, bool failed, dync_status status,
                         const char *text)
{
    test__expect(failed, file, line, "the call fails");
    test__eq_int((long long)dync_error(), (long long)status, file, line, "status");
    test__has_str(dync_error_message(), text, file, line, "message");
    dync_clear_error();
}
static void quiet(dync_status s, const char *m, void *u) { (void)s, (void)m, (void)u; }
#define EXPECT_ERROR(expr, status, text) expect_error(__FILE__, __LINE__, !(expr), status, text)

TEST(makers_fill_what_they_promise)
{
    dync_tensor *z = dync_zeros(dync_shape(2, 3)), *o = dync_ones(dync_shape(4), .dtype = DYNC_I64);
    dync_tensor *f = dync_full(dync_shape(2), 1.5, .dtype = DYNC_F64),
                *i = dync_full(dync_shape(2), 7), *s = dync_zeros(DYNC_SCALAR);
    EXPECT_EQ_INT(dync_numel(z), 6);
    EXPECT_NEAR(at(z, 5), 0, TOL_EXACT);
    EXPECT_NEAR(at(o, 3), 1, TOL_EXACT);
    EXPECT_EQ_INT(dync_type(o), DYNC_I64);
    EXPECT_NEAR(at(f, 1), 1.5, TOL_EXACT);
    EXPECT_EQ_INT(dync_type(i), DYNC_F32);
    EXPECT_NEAR(at(i, 0), 7, TOL_EXACT);
    EXPECT_EQ_INT(dync_ndim(s), 0);
    EXPECT_NEAR(dync_item(s), 0, TOL_EXACT);
    dync_tensor *r = dync_arange(1, 2, 0.25);
    EXPECT_EQ_INT(dync_numel(r), 4);
    EXPECT_NEAR(at(r, 3), 1.75, TOL_EXACT);
    EXPECT_EQ_INT(dync_numel(dync_empty(dync_shape(0, 5))), 0);
    dync_tensor *g = dync_ones(dync_shape(2), .requires_grad = true, .name = "weights");
    EXPECT(dync_requires_grad(g));
    EXPECT_OK(dync_error());
}

TEST(from_copies_and_wrap_borrows)
{
    float data[3] = {1, 2, 3};
    dync_tensor *copy = dync_from(data, dync_shape(3)), *borrowed = dync_wrap(data, dync_shape(3)),
                *baked = dync_constant(data, dync_shape(3));
    data[1] = 9;
    EXPECT_NEAR(at(copy, 1), 2, TOL_EXACT);
    EXPECT_NEAR(at(baked, 1), 2, TOL_EXACT);
    EXPECT_NEAR(at(borrowed, 1), 9, TOL_EXACT);
    EXPECT_EQ_PTR(dync_data(borrowed), data);
    dync_add_(borrowed, 1);
    EXPECT_NEAR(data[2], 4, TOL_EXACT);
    EXPECT(dync_from(NULL, dync_shape(0)) != NULL);
    dync_on_error(quiet, NULL);
    EXPECT_ERROR(dync_from(NULL, dync_shape(2)), DYNC_ERR_VALUE, "NULL");
    EXPECT_ERROR(dync_wrap(data, dync_shape(-3)), DYNC_ERR_SHAPE, "");
}

TEST(reads_see_single_elements)
{
    int64_t whole[2] = {-5, 0};
    dync_tensor *x = dync_from(whole, dync_shape(2), .dtype = DYNC_I64);
    EXPECT_NEAR(dync_item(dync_select(x, 0, 0)), -5, TOL_EXACT);
    EXPECT(dync_bool(dync_select(x, 0, 0)));
    EXPECT(!dync_bool(dync_select(x, 0, 1)));
    EXPECT(dync_bool(dync_full(DYNC_SCALAR, (double)NAN)));
    EXPECT_HAS_STR(dync_str(dync_ones(dync_shape(2))), "[1., 1.]");
    EXPECT(dync_data(dync_empty(dync_shape(0))) == NULL);
    dync_on_error(quiet, NULL);
    double got = dync_item(x);
    EXPECT_ERROR(got == got, DYNC_ERR_VALUE, "2 elements");
    EXPECT_ERROR(dync_bool(x), DYNC_ERR_VALUE, "ambiguous");
    EXPECT_ERROR(dync_data(dync_zeros(dync_shape(2), .device = DYNC_META)), DYNC_ERR_DATA_PTR,
                 "Cannot access data pointer of Tensor (e.g. FakeTensor");
    EXPECT_ERROR(dync_str(NULL), DYNC_ERR_VALUE, "");
}

TEST(comparisons_of_whole_tensors)
{
    dync_tensor *a = dync_from(((float[]){1, 2, 3, 4}), dync_shape(2, 2)),
                *t = dync_transpose(a, 0, 1);
    dync_tensor *n = dync_full(dync_shape(1), (double)NAN);
    EXPECT(dync_equal(a, dync_transpose(t, 0, 1)));
    EXPECT(!dync_equal(a, t));
    EXPECT(!dync_equal(a, dync_reshape(a, dync_shape(4))));
    EXPECT(!dync_equal(n, n));
    EXPECT(dync_equal(a, dync_to_dtype(a, DYNC_I64)));
    EXPECT(dync_allclose(a, dync_add(a, 1e-7), 1e-5, 1e-8));
    EXPECT(!dync_allclose(a, dync_add(a, 0.1), 1e-5, 1e-8));
    EXPECT(!dync_allclose(n, n, 1e-5, 1e-8));
    dync_on_error(quiet, NULL);
    EXPECT_ERROR(dync_allclose(a, dync_to_dtype(a, DYNC_F64), 1e-5, 1e-8), DYNC_ERR_DTYPE,
                 "did not match");
    EXPECT_ERROR(dync_allclose(a, dync_ones(dync_shape(3)), 1e-5, 1e-8), DYNC_ERR_SHAPE, "");
}

TEST(random_numbers_repeat_and_spread)
{
    dync_manual_seed(3);
    dync_tensor *a = dync_randn(dync_shape(2000)), *b = dync_randn(dync_shape(2000)),
                *u = dync_rand(dync_shape(2000));
    dync_manual_seed(3);
    dync_tensor *again = dync_randn(dync_shape(2000));
    EXPECT(dync_equal(a, again));
    EXPECT(!dync_equal(a, b));
    /* 4.5 standard errors */
    EXPECT_NEAR(dync_item(dync_mean(a, DYNC_ALL, false)), 0, 0.1);
    EXPECT_NEAR(dync_item(dync_std(a, DYNC_ALL, 1, false)), 1, 0.08); /* 5 standard errors */
    /* 4.6 standard errors */
    EXPECT_NEAR(dync_item(dync_mean(u, DYNC_ALL, false)), 0.5, 0.03);
    EXPECT(dync_item(dync_amin(u, DYNC_ALL, false)) >= 0);
    EXPECT(dync_item(dync_amax(u, DYNC_ALL, false)) < 1);
    dync_tensor *w = dync_uniform_(dync_zeros(dync_shape(500)), 2, 4),
                *n = dync_normal_(dync_zeros(dync_shape(2000)), 5, 2);
    EXPECT(dync_item(dync_amin(w, DYNC_ALL, false)) >= 2 &&
           dync_item(dync_amax(w, DYNC_ALL, false)) <= 4);
    /* 4.5 standard errors */
    EXPECT_NEAR(dync_item(dync_mean(n, DYNC_ALL, false)), 5, 0.2);
    dync_tensor *d = dync_dropout(dync_ones(dync_shape(2000)), 0.25, true);
    /* 4.6 standard errors */
    EXPECT_NEAR(dync_item(dync_mean(d, DYNC_ALL, false)), 1, 0.06);
    EXPECT_NEAR(dync_item(dync_amax(d, DYNC_ALL, false)), 1 / 0.75, TOL_F32_CHAIN);
}

TEST(views_share_and_writes_show)
{
    dync_tensor *x = dync_zeros(dync_shape(2, 3)), *row = dync_select(x, 0, 1),
                *copy = dync_shallow_copy(x);
    dync_fill_(row, 4);
    EXPECT_NEAR(at(x, 4), 4, TOL_EXACT);
    EXPECT_NEAR(at(copy, 4), 4, TOL_EXACT);
    dync_add_(dync_transpose(x, 0, 1), dync_from(((float[]){10, 20, 30}), dync_shape(3, 1)));
    EXPECT_NEAR(at(x, 0), 10, TOL_EXACT);
    EXPECT_NEAR(at(x, 5), 34, TOL_EXACT);
    dync_copy_(dync_slice(x, 1, 0, 2, 1), 7);
    EXPECT_NEAR(at(x, 3), 7, TOL_EXACT);
    dync_mul_(x, x);
    EXPECT_NEAR(at(x, 2), 900, TOL_EXACT);
    dync_tensor *other = dync_ones(dync_shape(5));
    EXPECT_EQ_PTR(dync_set_(copy, other), copy);
    EXPECT_EQ_INT(dync_numel(copy), 5);
    EXPECT_OK(dync_error());
}

TEST(overlapping_writes_are_refused)
{
    dync_tensor *x = dync_zeros(dync_shape(4)),
                *wide = dync_expand(dync_zeros(dync_shape(1)), dync_shape(3));
    dync_on_error(quiet, NULL);
    EXPECT_ERROR(
        dync_add_(wide, 1), DYNC_ERR_VALUE,
        "unsupported operation: more than one element of the written-to tensor refers to a "
        "single memory "
        "location. Please clone() the tensor before performing the operation.");
    EXPECT_ERROR(dync_copy_(dync_slice(x, 0, 1, DYNC_END, 1), dync_slice(x, 0, 0, 3, 1)),
                 DYNC_ERR_RUNTIME, "some elements of the input tensor");
    /* by index, the same elements, too: one may be written before it is read */
    dync_tensor *all = dync_zeros(dync_shape(4), .dtype = DYNC_I64);
    EXPECT_ERROR(dync_scatter_(all, 0, dync_arange(0, 4, 1), DYNC_V(all)), DYNC_ERR_RUNTIME,
                 "some elements of the input tensor");
    EXPECT_ERROR(dync_scatter_add_(all, 0, all, dync_arange(0, 4, 1)), DYNC_ERR_RUNTIME,
                 "some elements of the input tensor");
    EXPECT_ERROR(dync_index_add_(all, 0, dync_arange(0, 4, 1), all), DYNC_ERR_RUNTIME,
                 "some elements of the input tensor");
    EXPECT(dync_fill_(wide, 2) != NULL);
    EXPECT_NEAR(at(wide, 2), 2, TOL_EXACT);
}

/* Strides that only may meet: the source is read before anything is written. */
TEST(interleaved_writes_read_first)
{
    dync_tensor *x = dync_arange(0, 12, 1), *m = dync_view(x, dync_shape(3, 4));
    dync_copy_(dync_slice(m, 1, 0, 3, 1), dync_slice(m, 1, 1, 4, 1));
    double want[12] = {1, 2, 3, 3, 5, 6, 7, 7, 9, 10, 11, 11};
    for (int i = 0; i < 12; i++) EXPECT_NEAR(at(x, i), want[i], TOL_EXACT);
}

TEST(splitting_gives_views)
{
    dync_tensor *x = dync_arange(0, 10, 1);
    dync_value parts = dync_split(x, 4, 0), chunks = dync_chunk(x, 4, 0),
               sizes = dync_split_sizes(x, dync_shape(7, 0, 3), 0);
    EXPECT_EQ_INT(dync_len(parts), 3);
    EXPECT_EQ_INT(dync_numel(dync_as_tensor(dync_at(parts, 2))), 2);
    EXPECT_EQ_INT(dync_len(chunks), 4);
    EXPECT_EQ_INT(dync_numel(dync_as_tensor(dync_at(chunks, 3))), 1);
    EXPECT_EQ_INT(dync_len(sizes), 3);
    EXPECT_NEAR(at(dync_as_tensor(dync_at(sizes, 2)), 0), 7, TOL_EXACT);
    dync_zero_(dync_as_tensor(dync_at(parts, 1)));
    EXPECT_NEAR(at(x, 5), 0, TOL_EXACT);
    dync_value rows = dync_unbind(dync_view(x, dync_shape(2, 5)), 0);
    EXPECT_EQ_INT(dync_len(rows), 2);
    EXPECT_EQ_INT(dync_ndim(dync_as_tensor(dync_at(rows, 1))), 1);
    dync_on_error(quiet, NULL);
    EXPECT_ERROR(dync_split(x, 0, 0).kind, DYNC_ERR_VALUE, "");
    EXPECT_ERROR(dync_split(x, 2, 1).kind, DYNC_ERR_INDEX, "");
    EXPECT_ERROR(dync_split_sizes(x, dync_shape(7, 2), 0).kind, DYNC_ERR_VALUE,
                 "sum exactly to 10");
    EXPECT_ERROR(dync_chunk(x, 0, 0).kind, DYNC_ERR_VALUE, "");
    EXPECT_ERROR(dync_unbind(dync_zeros(DYNC_SCALAR), 0).kind, DYNC_ERR_SHAPE, "");
}

TEST(lists_go_in_and_out)
{
    dync_tensor *x = dync_ones(dync_shape(2, 2));
    EXPECT_EQ_INT(dync_size(dync_cat(dync_tuple(x, x, x), 0), 0), 6);
    EXPECT_EQ_INT(dync_ndim(dync_stack(dync_tuple(x, x), 0)), 3);
    dync_value best = dync_max_dim(dync_from(((float[]){1, 5, 3}), dync_shape(3)), 0, false);
    EXPECT_EQ_INT(dync_len(best), 2);
    EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(best, 1))), 1, TOL_EXACT);
    dync_value many[200];
    for (int i = 0; i < 200; i++) many[i] = dync_v_tensor(dync_full(dync_shape(2), (double)i));
    dync_tensor *joined = dync_cat(dync_tuple_of(40, many), 0),
                *long_one = dync_cat(dync_tuple_of(200, many), 0);
    EXPECT_EQ_INT(dync_size(joined, 0), 80);
    EXPECT_EQ_INT(dync_size(long_one, 0), 400);
    for (int i = 0; i < 400; i += 7) EXPECT_NEAR(at(long_one, i), i / 2, TOL_EXACT);
    EXPECT_EQ_INT(dync_size(dync_stack(dync_tuple_of(200, many), 1), 1), 200);
    dync_on_error(quiet, NULL);
    EXPECT_ERROR(dync_cat(dync_tuple_of(0, NULL), 0), DYNC_ERR_VALUE, "non-empty list");
    EXPECT_ERROR(dync_cat(x, 0), DYNC_ERR_VALUE, "list");
    EXPECT_ERROR(dync_cat(dync_tuple(x, 3), 0), DYNC_ERR_VALUE, "item 1");
    EXPECT_ERROR(dync_cat(dync_tuple(x, x), 2), DYNC_ERR_INDEX, "");
}

TEST(errors_say_what_and_where)
{
    dync_tensor *a = dync_ones(dync_shape(3, 4)), *b = dync_ones(dync_shape(5, 6)),
                *i = dync_ones(dync_shape(2), .dtype = DYNC_I64);
    dync_on_error(quiet, NULL);
    EXPECT_ERROR(dync_matmul(a, b), DYNC_ERR_SHAPE,
                 "matmul: f32[3, 4] x f32[5, 6]: inner sizes 4 and 5 differ");
    EXPECT_ERROR(dync_add(a, b), DYNC_ERR_SHAPE, "test_public.c");
    EXPECT_ERROR(dync_add(a, DYNC_NONE), DYNC_ERR_VALUE,
                 "argument 2: expected a tensor or a number, got none");
    EXPECT_ERROR(dync_add(a, "text"), DYNC_ERR_VALUE, "string");
    EXPECT_ERROR(dync_neg(NULL), DYNC_ERR_VALUE, "neg");
    EXPECT_ERROR(dync_softmax(a, 2), DYNC_ERR_INDEX, "");
    EXPECT_ERROR(dync_gelu(i), DYNC_ERR_DTYPE, "gelu: not implemented for 'Long'");
    EXPECT_ERROR(dync_view(a, dync_shape(5)), DYNC_ERR_SHAPE, "view");
    EXPECT_ERROR(dync_zeros(dync_shape(INT64_MAX, 4)), DYNC_ERR_SHAPE, "zeros");
    EXPECT_ERROR(dync_zeros(dync_shape(2), .dtype = (dync_dtype)77), DYNC_ERR_DTYPE, "");
    EXPECT_ERROR(dync_zeros(dync_shape(2), .device = DYNC_CUDA), DYNC_ERR_DEVICE, "cuda:0");
    EXPECT_ERROR(dync_expand(a, dync_shape(2, 3, 5)), DYNC_ERR_SHAPE, "");
    EXPECT_ERROR(dync_index_select(a, 0, dync_full(dync_shape(1), 3, .dtype = DYNC_I64)),
                 DYNC_ERR_INDEX, "index 3 is out of bounds for dimension with size 3");
    EXPECT_ERROR(dync_embedding(a, dync_full(dync_shape(1), -1, .dtype = DYNC_I64)), DYNC_ERR_INDEX,
                 "index -1");
    EXPECT_ERROR(dync_floor_divide(i, 0), DYNC_ERR_VALUE, "ZeroDivisionError");
    EXPECT_ERROR(dync_add(a, dync_ones(dync_shape(3, 4), .device = DYNC_META)), DYNC_ERR_DEVICE,
                 "same device");
    EXPECT_ERROR(dync_add_(i, 0.5), DYNC_ERR_DTYPE,
                 "result type Float can't be cast to the desired output type Long");
    EXPECT_ERROR(dync_to_device(dync_ones(dync_shape(1), .device = DYNC_META), DYNC_CPU),
                 DYNC_ERR_DEVICE, "no data");
}

/* NULL from a failed call passes silently: one error for a chain. */
TEST(a_chain_reports_its_first_error)
{
    dync_on_error(quiet, NULL);
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_tensor *y = dync_sum(dync_exp(dync_view(x, dync_shape(7))), DYNC_ALL, false);
    EXPECT_ERROR(y, DYNC_ERR_SHAPE, "view");
    EXPECT(dync_exp(x) != NULL);
}

TEST(a_failed_write_leaves_self_alone)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_on_error(quiet, NULL);
    EXPECT_ERROR(dync_add_(x, dync_ones(dync_shape(3, 2))), DYNC_ERR_SHAPE,
                 "doesn't match the broadcast shape");
    EXPECT_EQ_INT(dync_ndim(x), 1);
    EXPECT_NEAR(at(x, 0), 1, TOL_EXACT);
}

TEST(meta_tensors_have_shapes_only)
{
    dync_tensor *x = dync_zeros(dync_shape(8, 4), .device = DYNC_META),
                *w = dync_zeros(dync_shape(3, 4), .device = DYNC_META);
    dync_tensor *y = dync_relu(dync_linear(x, w, NULL));
    EXPECT_EQ_INT(dync_size(y, 1), 3);
    EXPECT(dync_add_(y, 1) == y);
    EXPECT_EQ_INT(dync_numel(dync_sum(y, DYNC_ALL, false)), 1);
    EXPECT_EQ_INT(dync_len(dync_sort(y, 0, false)), 2);
    EXPECT_OK(dync_error());
}

TEST(conversion_returns_the_same_tensor_where_nothing_changes)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    EXPECT_EQ_PTR(dync_to_dtype(x, DYNC_F32), x);
    EXPECT_EQ_PTR(dync_to_device(x, DYNC_CPU), x);
    EXPECT_EQ_PTR(dync_contiguous(x), x);
    EXPECT_EQ_INT(dync_type(dync_to_dtype(x, DYNC_BF16)), DYNC_BF16);
}

TEST(batch_norm_moves_its_statistics)
{
    dync_tensor *x = dync_from(((float[]){1, 2, 3, 4, 5, 6}), dync_shape(3, 2)),
                *mean = dync_zeros(dync_shape(2)), *var = dync_ones(dync_shape(2));
    EXPECT(dync_batch_norm(x, NULL, NULL, mean, var, true, 0.5, 1e-5) != NULL);
    EXPECT_NEAR(at(mean, 0), 1.5, TOL_F32_SUM);
    EXPECT_NEAR(at(mean, 1), 2, TOL_F32_SUM);
    EXPECT_NEAR(at(var, 0), 0.5 + 0.5 * 4, TOL_F32_SUM);
    EXPECT(dync_batch_norm(x, NULL, NULL, mean, var, false, 0.5, 1e-5) != NULL);
    EXPECT_NEAR(at(mean, 0), 1.5, TOL_F32_SUM);
}

TEST(pow_of_changing_exponents)
{
    dync_tensor *x = dync_full(dync_shape(3), 3.0);
    for (int i = -3; i < 4; i++) EXPECT_NEAR(at(dync_pow(x, i), 0), pow(3, i), 1e-6 * pow(3, i));
    EXPECT_NEAR(at(dync_pow_(x, 2), 1), 9, TOL_EXACT);
}
/* Every thread has plans of its own; they go with it. */
static void *work(void *arg)
{
    int *bad = arg;
    DYNC_SCOPE {
        dync_tensor *x = dync_arange(0, 64, 1);
        for (int i = 0; i < 200; i++) {
            DYNC_SCOPE {
                dync_tensor *y = dync_sum(dync_mul(dync_add(x, (double)i), 2), DYNC_ALL, false);
                if (!(fabs(dync_item(y) - (64 * 63 + 128.0 * i)) < 1e-3)) ++*bad;
            }
        }
    }
    return NULL;
}

TEST(threads_share_nothing)
{
#if TEST__FORK
    pthread_t threads[4];
    int bad[4] = {0};
    for (int i = 0; i < 4; i++) REQUIRE(pthread_create(&threads[i], NULL, work, &bad[i]) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) EXPECT_EQ_INT(bad[i], 0);
#else
    SKIP("no threads");
#endif
}

TEST(shutdown_leaves_nothing)
{
    int bad = 0;
    work(&bad);
    dync_batch_norm(dync_ones(dync_shape(4, 2)), NULL, NULL, NULL, NULL, true, 0.1, 1e-5);
    dync_topk(dync_randn(dync_shape(4, 9)), 2, 1, true, true);
    dync_shutdown();
    EXPECT_EQ_INT(dync_memory_stats().live_bytes, 0);
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, 0);
    work(&bad);
    EXPECT_EQ_INT(bad, 0);
    dync_shutdown();
    EXPECT_EQ_INT(dync_memory_stats().live_bytes, 0);
}
/* The first k of topk are the first k of sort, equal elements and NaN included; and so are the
 * gradients. */
static struct {
    int64_t k;
    int dim;
    bool largest;
} best;
static dync_value best_of(const dync_value *args, int n, void *user)
{
    (void)user, (void)n;
    return dync_topk(dync_as_tensor(args[0]), best.k, best.dim, best.largest, true);
}
static dync_tensor *comparable(dync_value of, int i)
{
    return dync_nan_to_num(dync_to_dtype(dync_as_tensor(dync_at(of, i)), DYNC_F64), DYNC_V(77.0),
                           DYNC_NONE, DYNC_NONE);
}
static dync_tensor *floored(dync_tensor *x, dync_tensor *y) { return dync_floor_divide(x, y); }
/* Integers of every width and their bounds, compiled: rounded down, the least by -1 wraps. */
TEST(integers_are_divided_rounding_down)
{
    enum { N = 600 };
    static const dync_dtype types[] = {DYNC_I64, DYNC_I32, DYNC_I16, DYNC_I8};
    for (int t = 0; t < 4; t++) {
        int64_t x[N], y[N], least = INT64_MIN >> (t == 0 ? 0 : 64 - (64 >> t));
        for (int i = 0; i < N; i++) {
            x[i] = i % 11 ? (int64_t)(test_random() << 32 ^ test_random()) >>
                                (test_random_int(0, 63) | (64 - (64 >> t)))
                   : i % 2 ? least
                           : -(least + 1);
            y[i] = i % 7 ? (int64_t)(test_random() << 32 ^ test_random()) >>
                               (test_random_int(0, 63) | (64 - (64 >> t)))
                   : i % 2 ? -1
                           : least;
            if (y[i] == 0) y[i] = i % 2 ? 1 : -3;
        }
        dync_compiled *f = dync_compile(floored);
        dync_tensor *a = dync_to_dtype(dync_wrap(x, dync_shape(N), .dtype = DYNC_I64), types[t]),
                    *b = dync_to_dtype(dync_wrap(y, dync_shape(N), .dtype = DYNC_I64), types[t]);
        dync_tensor *got = dync_to_dtype(dync_call(f, a, b), DYNC_I64);
        REQUIRE(got);
        for (int i = 0; i < N; i++) {
            int64_t want = y[i] == -1
                               ? (x[i] == least ? least : -x[i])
                               : x[i] / y[i] - (x[i] % y[i] != 0 && (x[i] < 0) != (y[i] < 0));
            EXPECT_EQ_INT(((const int64_t *)dync_data(got))[i], want);
        }
        dync_compiled_free(f);
    }
}

TEST(topk_is_the_beginning_of_sort)
{
    static const int64_t lengths[] = {1, 7, 255, 256, 300, 1000};
    for (int round = 0; round < 48; round++) DYNC_SCOPE {
        int64_t n = lengths[round % 6];
        best.k = round % 5 == 4 ? n : 1 + (round * 7) % (n < 40 ? n : 40);
        best.dim = round / 6 % 2;
        best.largest = round / 12 % 2 == 0;
        dync_tensor *x = dync_randn(best.dim ? dync_shape(5, n, 2) : dync_shape(n, 3));
        if (round % 3 == 0) x = dync_round(dync_mul(x, 3));
        if (round % 4 == 1) x = dync_sqrt(x); /* NaN below zero */
        if (round % 7 == 2) x = dync_to_dtype(dync_round(dync_mul(x, 9)), DYNC_I32);
        dync_compiled *f = dync_compile(best_of, .args = "x");
        dync_value given = DYNC_V(x), sorted = dync_sort(x, best.dim, best.largest),
                   whole = best_of(&given, 1, NULL), compiled = dync_call_values(f, 1, &given);
        for (int i = 0; i < 2; i++) {
            dync_tensor *want = dync_slice(comparable(sorted, i), best.dim, 0, best.k, 1);
            EXPECT(dync_equal(comparable(whole, i), want));
            EXPECT(dync_equal(comparable(compiled, i), want));
        }
        dync_compiled_free(f);
        EXPECT_OK(dync_error());
    }
    dync_tensor *x = dync_reshape(dync_arange(0, 300, 1), dync_shape(1, 300)),
                *want = dync_zeros(dync_shape(1, 300));
    dync_requires_grad_(x, true);
    EXPECT_OK(dync_backward(
        dync_sum(dync_as_tensor(dync_at(dync_topk(x, 3, -1, true, true), 0)), DYNC_ALL, false)));
    dync_fill_(dync_slice(want, 1, 297, 300, 1), 1);
    EXPECT(dync_equal(dync_grad(x), want));
}

/* ---- as PyTorch 2.15 was found to do it ------------------------------------------------------ */

TEST(a_number_that_does_not_fit_does_not_fill)
{
    static const struct {
        dync_dtype dtype;
        dync_value fits, does_not;
        const char *type;
    } row[] = {
        {DYNC_F32,
         {DYNC_KIND_FLOAT, 0, {.f = 3.4e38}},
         {DYNC_KIND_FLOAT, 0, {.f = 3.5e38}},
         "float"},
        {DYNC_F16,
         {DYNC_KIND_FLOAT, 0, {.f = 65504}},
         {DYNC_KIND_FLOAT, 0, {.f = 70000}},
         "c10::Half"},
        {DYNC_I64,
         {DYNC_KIND_INT, 0, {.i = INT64_MAX}},
         {DYNC_KIND_FLOAT, 0, {.f = 9.3e18}},
         "int64_t"},
        {DYNC_I32,
         {DYNC_KIND_INT, 0, {.i = INT32_MIN}},
         {DYNC_KIND_INT, 0, {.i = INT64_C(1) << 31}},
         "int"},
        {DYNC_I8, {DYNC_KIND_FLOAT, 0, {.f = 127.9}}, {DYNC_KIND_INT, 0, {.i = -129}}, "int8_t"},
        {DYNC_U8, {DYNC_KIND_INT, 0, {.i = -255}}, {DYNC_KIND_FLOAT, 0, {.f = -0.5}}, "uint8_t"},
        {DYNC_I16,
         {DYNC_KIND_INT, 0, {.i = -32768}},
         {DYNC_KIND_FLOAT, 0, {.f = (double)NAN}},
         "int16_t"},
    };
    for (int i = 0; i < (int)(sizeof row / sizeof row[0]); i++) DYNC_SCOPE {
        char text[96];
        snprintf(text, sizeof text, "value cannot be converted to type %s without overflow",
                 row[i].type);
        dync_tensor *x = dync_zeros(dync_shape(3), .dtype = row[i].dtype),
                    *mask = dync_ones(dync_shape(3), .dtype = DYNC_BOOL);
        /* the plan of the one that fits is there by then */
        for (int again = 0; again < 2; again++) {
            EXPECT(dync_fill_(x, row[i].fits) && dync_masked_fill(x, mask, row[i].fits) &&
                   dync_full_like(x, row[i].fits));
            EXPECT_ERROR(dync_fill_(x, row[i].does_not), DYNC_ERR_VALUE, text);
            EXPECT_ERROR(dync_masked_fill(x, mask, row[i].does_not), DYNC_ERR_VALUE, text);
            EXPECT_ERROR(dync_full_like(x, row[i].does_not), DYNC_ERR_VALUE, text);
        }
    }
    EXPECT(isinf(at(dync_full(dync_shape(1), 70000.0, .dtype = DYNC_F16), 0)));
    EXPECT(isinf(at(dync_fill_(dync_zeros(dync_shape(1)), DYNC_V(-HUGE_VAL)), 0)));
    EXPECT_ERROR(dync_full(dync_shape(1), 300, .dtype = DYNC_I8), DYNC_ERR_VALUE, "int8_t");
}

static dync_tensor *classes_of(dync_tensor *x)
{
    return dync_mul(dync_one_hot(dync_add(x, 0), -1), 2);
}
TEST(one_hot_counts_its_classes)
{
    dync_compiled *f = dync_compile(classes_of, .args = "x");
    for (int64_t most = 2; most < 5; most++) {
        dync_tensor *x = dync_from(((int64_t[]){1, most, 0}), dync_shape(3), .dtype = DYNC_I64),
                    *y = dync_call(f, x);
        EXPECT(dync_equal(y, classes_of(x)));
        EXPECT_EQ_INT(dync_size(y, 1), most + 1);
        EXPECT_NEAR(dync_item(dync_select(dync_select(y, 0, 1), 0, most)), 2, TOL_EXACT);
    }
    dync_compiled_free(f);
    EXPECT_ERROR(dync_one_hot(dync_zeros(dync_shape(0), .dtype = DYNC_I64), -1), DYNC_ERR_VALUE,
                 "Can not infer total number of classes from empty tensor.");
    EXPECT_ERROR(
        dync_one_hot(dync_from(((int64_t[]){-1, 2}), dync_shape(2), .dtype = DYNC_I64), -1),
        DYNC_ERR_INDEX, "out of bounds");
}

static dync_tensor *quotient_of(dync_tensor *x, dync_tensor *y)
{
    return dync_floor_divide(dync_add(x, 1), dync_mul(y, 1));
}
static dync_tensor *remainder_of(dync_tensor *x, dync_tensor *y) { return dync_remainder(x, y); }
static dync_tensor *by_nothing(dync_tensor *x) { return dync_fmod(x, 0); }
TEST(integers_are_not_divided_by_zero)
{
    dync_compiled *f[2] = {dync_compile(quotient_of, .args = "x, y"),
                           dync_compile(remainder_of, .args = "x, y")},
                  *g = dync_compile(by_nothing, .args = "x");
    for (int dtype = DYNC_I64; dtype <= DYNC_U8; dtype++) DYNC_SCOPE {
        dync_tensor *x = dync_full(dync_shape(2, 3), 5, .dtype = (dync_dtype)dtype),
                    *y = dync_full(dync_shape(3), 2, .dtype = (dync_dtype)dtype);
        dync_tensor *zero = dync_zeros(dync_shape(3), .dtype = (dync_dtype)dtype);
        for (int i = 0; i < 2; i++) {
            EXPECT_NEAR(at(dync_call(f[i], x, y), 5), i ? 1 : 3, TOL_EXACT);
            EXPECT_ERROR(dync_call(f[i], x, zero), DYNC_ERR_VALUE, "ZeroDivisionError");
            EXPECT_ERROR(
                dync_call(f[i], x, dync_expand(dync_slice(zero, 0, 0, 1, 1), dync_shape(3))),
                DYNC_ERR_VALUE, "ZeroDivisionError");
            EXPECT_NEAR(at(dync_call(f[i], x, y), 0), i ? 1 : 3, TOL_EXACT);
        }
        EXPECT_ERROR(dync_fmod(x, zero), DYNC_ERR_VALUE, "ZeroDivisionError");
        EXPECT_ERROR(dync_call(g, x), DYNC_ERR_VALUE, "fmod: ZeroDivisionError");
    }
    EXPECT(isinf(at(dync_call(f[0], dync_ones(dync_shape(1)), dync_zeros(dync_shape(1))), 0)));
    for (int i = 0; i < 2; i++) dync_compiled_free(f[i]);
    dync_compiled_free(g);
}

TEST(integers_are_pooled)
{
    static const int64_t large[4] = {INT64_C(1) << 62, (INT64_C(1) << 62) + 1, 3, INT64_MIN},
                         odd[4] = {-3, -4, 2, -2};
    dync_dims two = dync_shape(2), none = {0, {0}}, one = dync_shape(1), zero = dync_shape(0);
    dync_tensor *x = dync_from(large, dync_shape(1, 2, 2), .dtype = DYNC_I64),
                *y = dync_max_pool2d(x, two, none, zero, one, false);
    EXPECT(y && *(int64_t *)dync_data(y) == large[1]);
    y = dync_max_pool2d(dync_slice(x, 2, 0, 1, 1), one, none, zero, one, false);
    EXPECT(y && ((int64_t *)dync_data(y))[0] == large[0]);
    y = dync_avg_pool2d(dync_from(odd, dync_shape(1, 2, 2), .dtype = DYNC_I64), two, none, zero,
                        false, true);
    /* -7 / 4 is rounded towards zero */
    EXPECT(y && *(int64_t *)dync_data(y) == -1);
    for (int dtype = DYNC_I32; dtype <= DYNC_U8; dtype++) DYNC_SCOPE {
        dync_tensor *small = dync_to_dtype(dync_reshape(dync_arange(0, 60, 1), dync_shape(3, 4, 5)),
                                           (dync_dtype)dtype);
        dync_tensor *same = dync_to_dtype(
            dync_max_pool2d(dync_to_dtype(small, DYNC_F32), two, one, one, one, false),
            (dync_dtype)dtype);
        /* padding is no zero */
        if (dtype != DYNC_U8)
            EXPECT_NEAR(at(dync_max_pool2d(dync_sub(small, 60), two, one, one, one, false), 0), -60,
                        TOL_EXACT);
        EXPECT(dync_equal(dync_max_pool2d(small, two, one, one, one, false), same));
    }
    EXPECT_ERROR(dync_max_pool2d(dync_ones(dync_shape(1, 2, 2), .dtype = DYNC_BOOL), two, none,
                                 zero, one, false),
                 DYNC_ERR_DTYPE, "'Bool'");
}

TEST(norms_of_halves_do_not_overflow)
{
    dync_tensor *x = dync_full(dync_shape(4), 300, .dtype = DYNC_F16),
                *small = dync_full(dync_shape(4), 1e-4, .dtype = DYNC_F16);
    EXPECT_NEAR(dync_item(dync_norm(x, 2, DYNC_ALL, false)), 600, TOL_EXACT);
    EXPECT_NEAR(dync_item(dync_norm(x, 3, DYNC_ALL, false)), 476.25, 0.25);
    EXPECT_NEAR(dync_item(dync_norm(small, 2, DYNC_ALL, false)), 2e-4, 1e-6);
    EXPECT_NEAR(at(dync_normalize(x, 2, 0, 1e-12), 3), 0.5, TOL_EXACT);
    EXPECT_NEAR(dync_item(dync_cosine_similarity(x, x, 0, 1e-8)), 1, 1e-3);
    EXPECT_EQ_INT(dync_type(dync_norm(x, 0, DYNC_ALL, false)), DYNC_F16);
}

TEST(xlogy_promotes_before_its_logarithm)
{
    dync_tensor *half = dync_full(dync_shape(1), 0.3, .dtype = DYNC_F16),
                *two = dync_full(dync_shape(1), 2, .dtype = DYNC_I64);
    EXPECT_EQ_INT(dync_type(dync_xlogy(half, two)), DYNC_F16);
    EXPECT_NEAR(at(dync_xlogy(dync_ones(dync_shape(1)), half), 0), log(0.300048828125), 1e-6);
    EXPECT_NEAR(
        dync_item(dync_cosine_similarity(dync_ones(dync_shape(3)),
                                         dync_full(dync_shape(3), 2, .dtype = DYNC_I32), 0, 1e-8)),
        1, 1e-6);
}

/* Statistics of rows of no elements are written: PyTorch's. */
static dync_value norm_of_nothing(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return dync_op_call_values(
        "native_layer_norm", 5,
        (dync_value[]){args[0], dync_tuple(0, 4), DYNC_NONE, DYNC_NONE, DYNC_V(1e-3)});
}
TEST(layer_norm_of_empty_rows)
{
    dync_compiled *f = dync_compile(norm_of_nothing);
    for (int compiled = 0; compiled < 2; compiled++) {
        dync_value x = DYNC_V(dync_zeros(dync_shape(40, 0, 4))),
                   out = compiled ? dync_call_value(f, x) : norm_of_nothing(&x, 1, NULL);
        REQUIRE(dync_len(out) == 3);
        EXPECT_EQ_INT(dync_numel(dync_as_tensor(dync_at(out, 0))), 0);
        for (int i = 0; i < 40; i++) {
            EXPECT_NEAR(at(dync_as_tensor(dync_at(out, 1)), i), 0, TOL_EXACT);
            EXPECT_NEAR(at(dync_as_tensor(dync_at(out, 2)), i), (double)NAN, TOL_EXACT);
        }
    }
    dync_compiled_free(f);
}

/* Two stores of constants, one of them across the loops: no copy of one into the other. */
static dync_value constants_across(const dync_value *args, int n, void *user)
{
    dync_tensor *one = dync_full_like(dync_as_tensor(args[0]), 1),
                *other = dync_full_like(dync_as_tensor(args[1]), 3);
    (void)n, (void)user;
    return dync_tuple(dync_add(one, other), other);
}
TEST(constants_in_two_orders)
{
    for (int dtype = DYNC_F32; dtype <= DYNC_U8; dtype++) DYNC_SCOPE {
        dync_compiled *f = dync_compile(constants_across);
        dync_tensor *x = dync_zeros(dync_shape(33, 2, 2), .dtype = (dync_dtype)dtype),
                    *y = dync_zeros(dync_shape(2, 2, 33), .dtype = (dync_dtype)dtype);
        dync_value out = dync_call_value(f, dync_transpose(x, 0, 2), y);
        REQUIRE(dync_len(out) == 2);
        for (int i = 0; i < 132; i++)
            EXPECT(at(dync_as_tensor(dync_at(out, 0)), i) > 3.5 &&
                   at(dync_as_tensor(dync_at(out, 1)), i) < 3.5);
        dync_compiled_free(f);
    }
}

/* A bf16 number beside f32: lengths and quotients in f32, against the formula in double. */
TEST(cosine_similarity_promotes_first)
{
    const float v[6] = {0.5f, -1.25f, 2.0f, 3.0f, 0.125f, -0.75f};
    double s = 1.234375, dot = 0, squares = 0; /* s is a bf16 */
    for (int i = 0; i < 6; i++) dot += s * (double)v[i], squares += (double)v[i] * (double)v[i];
    double want = dot / sqrt(6 * s * s) / sqrt(squares);
    for (int side = 0; side < 2; side++) {
        dync_tensor *x = dync_full((dync_dims){0}, s, .dtype = DYNC_BF16),
                    *y = dync_from(v, dync_shape(6));
        dync_tensor *c = dync_cosine_similarity(side ? y : x, side ? x : y, 0, 1e-8);
        EXPECT_EQ_INT(dync_type(c), DYNC_F32);
        EXPECT_NEAR(dync_item(c), want, 1e-6);
    }
}
/* What gives its operand back unchanged is a tensor of its own all the same, as in PyTorch: writing
 * into it leaves the operand alone. */
TEST(results_that_change_nothing_are_no_views)
{
    dync_tensor *x = dync_ones(dync_shape(1, 4, 1, 1)), *w = dync_ones(dync_shape(2, 4, 3, 3));
    const struct {
        dync_tensor *from, *to;
    } pair[] = {
        {x, dync_pixel_shuffle(x, 2)},
        {w, dync_pixel_shuffle(w, 1)},
        {w, dync_roll(w, dync_shape(0), dync_shape(1))},
        {w, dync_flip(w, dync_shape(2))},
        {x, dync_flip(x, dync_shape(0))},
        {w, dync_repeat(w, dync_shape(1, 1, 1, 1))},
        {w, dync_pad(w, dync_shape(0, 0), DYNC_NONE)},
        {w, dync_cat(dync_tuple(w), 0)},
        {w, dync_stack(dync_tuple(w), 0)},
        {w, dync_upsample_nearest2d(w, dync_shape(3, 3))},
        {w, dync_upsample_bilinear2d(w, dync_shape(3, 3), true)},
        {w, dync_adaptive_avg_pool2d(w, dync_shape(3, 3))},
        {w, dync_tril(w, 5)},
        {w, dync_im2col(w, dync_shape(1, 1), dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1))},
        {w, dync_index_select(w, 0, dync_to_dtype(dync_arange(0, 2, 1), DYNC_I64))},
    };
    EXPECT_OK(dync_error());
    for (int i = 0; i < (int)(sizeof pair / sizeof *pair); i++) {
        EXPECT(pair[i].to != NULL);
        dync_zero_(pair[i].to);
        EXPECT_NEAR(at(pair[i].from, 0), 1, TOL_EXACT);
        if (at(pair[i].from, 0) < 1) printf("    pair %d\n", i);
        dync_fill_(pair[i].from, 1);
    }
    EXPECT_OK(dync_error());
}

/* As PyTorch's: one dim as one is the tensor itself, whatever the grad mode. */
TEST(flatten_of_one_dim)
{
    dync_tensor *x = dync_full(dync_shape(3, 4), 1, .requires_grad = true), *y = NULL;
    EXPECT(dync_flatten(x, 1, 1) == x);
    EXPECT(dync_flatten(x, -1, -1) == x);
    EXPECT(dync_flatten(x, 0, 1) != x);
    DYNC_NO_GRAD {
        y = dync_flatten(x, 0, 0);
    }
    EXPECT(dync_requires_grad(y) && dync_is_leaf(y));
    EXPECT_EQ_INT(dync_ndim(dync_flatten(dync_full((dync_dims){0}, 2), 0, 0)), 1);
}
TEST_MAIN
