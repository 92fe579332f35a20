/* cuda/scatter.c: writes and additions to places given by an index, in every way that it has,
 * against the CPU; the same bits every time. */
#include "dync.h"
#include "dync_cuda.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
#include "../cuda_emulator/emulator.h"

#if !defined(RANDOM_SCATTERS)
#define RANDOM_SCATTERS 30
#endif

static dync_tensor *gpu(dync_tensor *x) { return dync_to_device(x, DYNC_CUDA); }

/* Whole numbers from low on, below high. */
static dync_tensor *whole(int64_t low, int64_t high, dync_dims shape)
{
    return dync_to_dtype(
        dync_floor(dync_add(dync_mul(dync_rand(shape, .dtype = DYNC_F64), (double)(high - low)),
                            (double)low)),
        DYNC_I64);
}

/* Places below n: anywhere, few, all the same, in order. */
static dync_tensor *places(dync_dims shape, int64_t n, int way)
{
    dync_tensor *any = whole(0, way == 1 && n > 3 ? 3 : n, shape);
    if (way == 2) return dync_full(shape, (double)(n / 2), .dtype = DYNC_I64);
    return way == 3 ? dync_as_tensor(dync_at(dync_sort(any, 0, false), 0)) : any;
}

static dync_tensor *call(int op, dync_tensor *base, int dim, dync_tensor *index,
                         dync_tensor *source)
{
    return op == 0   ? dync_scatter(base, dim, index, source)
           : op == 1 ? dync_scatter_add(base, dim, index, source)
                     : dync_index_add(base, dim, index, source);
}

TEST(random_scatters)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F32, DYNC_BF16, DYNC_F16, DYNC_F64,
                                        DYNC_I64, DYNC_I32, DYNC_I16,  DYNC_U8,  DYNC_BOOL};
    for (int i = 0; i < RANDOM_SCATTERS; i++) DYNC_SCOPE {
        int op = test_random_int(0, 2), dim = test_random_int(0, 1), way = test_random_int(0, 3);
        dync_dtype dtype = dtypes[test_random_int(0, op ? 8 : 9)];
        int64_t count = test_random() % 3 ? test_random_int(500, 2500) : test_random_int(1, 100),
                lines = test_random_int(1, 6),
                n = test_random() % 3 ? test_random_int(1, 40) : 3000;
        dync_tensor *base = whole(-3, 4, dim ? dync_shape(lines, n) : dync_shape(n, lines)),
                    *source =
                        whole(-3, 4, dim ? dync_shape(lines, count) : dync_shape(count, lines));
        dync_tensor *index =
            op == 2 ? places(dync_shape(count), n, way)
                    : places(dim ? dync_shape(lines, count) : dync_shape(count, lines), n, way);
        /* fewer lines than there are */
        if (op != 2 && test_random() % 4 == 0)
            index = dync_contiguous(dync_slice(index, 1 - dim, 0, (lines + 1) / 2, 1));
        if (test_random() % 3 == 0)
            source = dync_transpose(dync_contiguous(dync_transpose(source, 0, 1)), 0, 1);
        base = dync_to_dtype(base, dtype);
        source = dync_to_dtype(source, dtype);
        dync_tensor *want = call(op, base, dim, index, source),
                    *got = call(op, gpu(base), dim, gpu(index), gpu(source)),
                    *again = call(op, gpu(base), dim, gpu(index), gpu(source));
        got = got ? dync_to_device(got, DYNC_CPU) : NULL;
        bool half = dtype == DYNC_BF16 || dtype == DYNC_F16,
             ok = got && dync_type(got) == dtype &&
                  dync_equal(got, dync_to_device(again, DYNC_CPU));
        /* whole numbers: exact */
        ok = ok && (half ? dync_allclose(dync_to_dtype(got, DYNC_F32),
                                         dync_to_dtype(want, DYNC_F32), 0.01, 0.01)
                         : dync_equal(got, want));
        if (!EXPECT(ok)) {
            printf("  number %d: op %d dim %d way %d dtype %d count %d lines %d places %d: %s "
                   "%s\n",
                   i, op, dim, way, dtype, (int)count, (int)lines, (int)n, dync_error_message(),
                   cuemu_detail());
            return;
        }
    }
}

/* Sums that round: near the CPU's, and the same in every run, however the threads were timed. */
TEST(sums_that_round)
{
    for (int way = 0; way < 4; way++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(5000, 3)), *i = places(dync_shape(5000), 700, way),
                    *zero = dync_zeros(dync_shape(700, 3));
        dync_tensor *got = dync_to_device(dync_index_add(gpu(zero), 0, gpu(i), gpu(x)), DYNC_CPU),
                    *want = dync_to_dtype(dync_index_add(dync_to_dtype(zero, DYNC_F64), 0, i,
                                                         dync_to_dtype(x, DYNC_F64)),
                                          DYNC_F32);
        EXPECT(dync_allclose(got, want, 1e-5, 1e-4));
        EXPECT(dync_equal(got,
                          dync_to_device(dync_index_add(gpu(zero), 0, gpu(i), gpu(x)), DYNC_CPU)));
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* Embeddings with one line that most of the tokens have, and their gradient. */
TEST(embeddings)
{
    dync_tensor *w = dync_requires_grad_(dync_randn(dync_shape(50, 16)), true),
                *v = dync_requires_grad_(gpu(dync_detach(w)), true);
    dync_tensor *tokens =
        dync_mul(whole(0, 50, dync_shape(4, 600)), whole(0, 2, dync_shape(4, 600)));
    EXPECT_OK(dync_backward(dync_sum(dync_square(dync_embedding(w, tokens)), DYNC_ALL, false)));
    EXPECT_OK(
        dync_backward(dync_sum(dync_square(dync_embedding(v, gpu(tokens))), DYNC_ALL, false)));
    EXPECT(dync_allclose(dync_to_device(dync_grad(v), DYNC_CPU), dync_grad(w), 1e-4, 1e-4));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST_MAIN
