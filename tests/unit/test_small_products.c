/* kernel/gemm_fix.c, kernel/matmul.c: batches of small products by one call for each tile are the
 * products alone, bit for bit, for all sizes, strides and types; with what follows them, too; at
 * every level. */
#include "../../src/dync.in.h"
#include "../../src/kernel/gemm.h"
#include "../test.h"
#include "../tol.h"
#include "guarded.h"
#define TEST_AFTER_EACH \
    (dync__cpu_pretend(0), dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static void at_every_level(void (*body)(void))
{
    static const unsigned levels[] = {
        0, /* plain C */
        DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C,
        DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C | DYNC__CPU_AVX512,
    };
    unsigned has = dync__cpu_features();
    for (int l = 0; l < DYNC__COUNT_OF(levels); l++) {
        if ((has & levels[l]) != levels[l]) continue;
        dync_shutdown();
        dync__cpu_pretend(levels[l] | DYNC__CPU_KNOWN);
        int failures = test__state.failures;
        body();
        if (test__state.failures > failures) printf("  at level %d\n", l);
    }
}

/* An operand of n matrices [rows, columns] in memory that ends with it. */
typedef struct operand {
    guarded own;
    int64_t row, col, step; /* in elements */
} operand;

static operand operand_new(int dtype, int64_t n, int64_t rows, int64_t columns)
{
    int64_t bytes = dync__dtype_info(dtype)->bytes, gap = test_random() % 3 ? 0 : 3, all;
    bool transposed = test_random() % 2;
    operand o = {.row = transposed ? 1 : columns + gap, .col = transposed ? rows + gap : 1};
    int64_t one = (rows - 1) * o.row + (columns - 1) * o.col + 1;
    o.step = test_random() % 4 ? one + (test_random() % 2 ? 0 : 5) : 0;
    all = (n - 1) * o.step + one;
    o.own = guarded_new((size_t)(all * bytes));
    for (int64_t i = 0; i < all; i++)
        dync__store_f64((char *)o.own.data + i * bytes, dtype, test_random_real(-1, 1));
    return o;
}

static void check_many(int type)
{
    int dtype = type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32;
    int64_t bytes = dync__gt_bytes(type), m = test_random_int(1, 20), n = test_random_int(1, 20),
            k = test_random_int(1, 40), batches = test_random_int(1, 30), one = m * n;
    if (test_random() % 3 == 0) n = 1, one = m;
    if (test_random() % 5 == 0) n = test_random_int(60, 200), one = m * n;
    operand a = operand_new(dtype, batches, m, k), b = operand_new(dtype, batches, k, n);
    guarded c[2] = {guarded_new((size_t)(batches * one * bytes)),
                    guarded_new((size_t)(batches * one * bytes))};
    dync__gemm g = {.type = type,
                    .m = m,
                    .n = n,
                    .k = k,
                    .a_row = a.row,
                    .a_col = a.col,
                    .b_row = b.row,
                    .b_col = b.col,
                    .c_row = n,
                    .c_col = 1};
    dync__gemm_many many = {batches, a.step * bytes, b.step * bytes, one * bytes, {0, 0}};
    dync__gemm_fixed *fixed = dync__gemm_fix(&g, test_random() % 4 != 0);
    for (int64_t i = 0; fixed && i < batches; i++) {
        dync__gemm alone = g;
        alone.a = (char *)a.own.data + i * many.a;
        alone.b = (char *)b.own.data + i * many.b;
        alone.c = (char *)c[0].data + i * many.c;
        dync__gemm_run(&alone);
    }
    if (fixed) {
        EXPECT(dync__gemm_fixed_run(fixed, (char *)a.own.data, (char *)b.own.data,
                                    (char *)c[1].data, NULL, NULL, &many));
        if (!EXPECT(memcmp(c[0].data, c[1].data, (size_t)(batches * one * bytes)) == 0))
            printf("  type %d m %d n %d k %d batches %d\n", type, (int)m, (int)n, (int)k,
                   (int)batches);
    }
    dync__gemm_fixed_free(fixed);
    guarded_free(a.own), guarded_free(b.own), guarded_free(c[0]), guarded_free(c[1]);
}
static void many_products(void)
{
    for (int i = 0; i < 1000; i++) check_many(i % 2 ? DYNC__GT_F64 : DYNC__GT_F32);
}
TEST(many_small_products_are_products_alone)
{
    at_every_level(many_products);
    EXPECT_EQ_INT(test__state.failures, 0);
}

/* ---- with what follows ----------------------------------------------------------------------- */

typedef dync_tensor *(*program)(dync_tensor *x, dync_tensor *w, dync_tensor *r);
static dync_tensor *alone(dync_tensor *x, dync_tensor *w, dync_tensor *r)
{
    return (void)r, dync_matmul(x, w);
}
static dync_tensor *followed(dync_tensor *x, dync_tensor *w, dync_tensor *r)
{
    return dync_relu(dync_add(dync_matmul(x, w), r));
}
static dync_tensor *scaled(dync_tensor *x, dync_tensor *w, dync_tensor *r)
{
    return (void)r, dync_tanh(dync_mul(dync_matmul(x, w), 0.5));
}
static dync_tensor *softened(dync_tensor *x, dync_tensor *w, dync_tensor *r)
{
    return (void)r, dync_softmax(dync_matmul(x, w), -1);
}
static dync_tensor *gated(dync_tensor *x, dync_tensor *w, dync_tensor *r)
{
    return dync_mul(dync_sigmoid(dync_matmul(x, w)), dync_add(r, 1.0));
}
static const program programs[] = {alone, followed, scaled, softened, gated};

static dync_tensor *operand_of(int dtype, int64_t n, int64_t heads, int64_t rows, int64_t columns)
{
    int one = test_random() % 4 == 0;
    bool transposed = test_random() % 3 == 0;
    dync_tensor *t = transposed ? dync_randn(dync_shape(one ? 1 : n, heads, columns, rows))
                                : dync_randn(dync_shape(one ? 1 : n, heads, rows, columns));
    return dync_to_dtype(transposed ? dync_transpose(t, -1, -2) : t, (dync_dtype)dtype);
}

/* Rounded sums: in the inputs' own numbers, whose double is exact. */
static void check_program(int i)
{
    int64_t n = test_random_int(1, 40), heads = test_random_int(1, 3), m = test_random_int(1, 12),
            k = test_random_int(1, 20), columns = test_random() % 3 ? test_random_int(1, 20) : 1;
    int dtype = test_random() % 3 ? DYNC_F32 : DYNC_F64;
    program p = programs[i % DYNC__COUNT_OF(programs)];
    dync_tensor *x = operand_of(dtype, n, heads, m, k),
                *w = operand_of(dtype, n, heads, k, columns),
                *r = test_random() % 2 ? operand_of(dtype, n, heads, m, columns)
                                       : operand_of(dtype, 1, heads, 1, columns);
    dync_compiled *f = dync_compile(p, .args = "x w r", .fullgraph = true);
    dync_tensor *y = dync_call(f, x, w, r),
                *want = p(dync_to_dtype(x, DYNC_F64), dync_to_dtype(w, DYNC_F64),
                          dync_to_dtype(r, DYNC_F64));
    if (!EXPECT(dync_allclose(dync_to_dtype(y, DYNC_F64), want, TOL_F32_SUM, TOL_F32_SUM)))
        printf("  program %d: n %d heads %d m %d k %d columns %d\n", i % DYNC__COUNT_OF(programs),
               (int)n, (int)heads, (int)m, (int)k, (int)columns);
    dync_compiled_free(f);
}
static void many_programs(void)
{
    for (int i = 0; i < 200; i++) DYNC_SCOPE {
        check_program(i);
    }
}
TEST(what_follows_small_products)
{
    at_every_level(many_programs);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

TEST_MAIN
