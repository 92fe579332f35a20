/* kernel/gemm.c and matmul.c against plain loops: sizes around every block edge, strides, broadcast batches, dtypes. */
#include "../../src/dync.in.h"
#include "../../src/kernel/kernel.h"
#include "../test.h"
#include "../tol.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static void fill_f32(float *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) p[i] = (float)test_random_real(-1, 1);
}

static void check_gemm(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool tc, bool accumulate, int64_t gap)
{
    int64_t ar = ta ? 1 : k + gap, ac = ta ? m + gap : 1, br = tb ? 1 : n + gap, bc = tb ? k + gap : 1, cr = tc ? 1 : n + gap, cc = tc ? m + gap : 1;
    size_t na = (size_t)((m + gap) * (k + gap) + 1), nb = (size_t)((n + gap) * (k + gap) + 1), nc = (size_t)((m + gap) * (n + gap) + 1);
    float *a = malloc(na * 4), *b = malloc(nb * 4), *c = malloc(nc * 4);
    double *a2 = malloc(na * 8), *b2 = malloc(nb * 8), *c2 = malloc(nc * 8), *want = malloc(nc * 8);
    fill_f32(a, (int64_t)na);
    fill_f32(b, (int64_t)nb);
    fill_f32(c, (int64_t)nc);
    for (size_t i = 0; i < na; i++) a2[i] = (double)a[i];
    for (size_t i = 0; i < nb; i++) b2[i] = (double)b[i];
    for (size_t i = 0; i < nc; i++) want[i] = c2[i] = (double)c[i];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = accumulate ? want[i * cr + j * cc] : 0;
            for (int64_t p = 0; p < k; p++) sum += a2[i * ar + p * ac] * b2[p * br + j * bc];
            want[i * cr + j * cc] = sum;
        }
    dync__gemm_f32(m, n, k, a, ar, ac, b, br, bc, c, cr, cc, accumulate);
    dync__gemm_f64(m, n, k, a2, ar, ac, b2, br, bc, c2, cr, cc, accumulate);
    int ok = EXPECT_F32_NEAR_F64(c, want, (int64_t)nc, TOL_F32_SUM, 1e-6 * (double)(k + 1)) &
             EXPECT_NEAR_F64(c2, want, (int64_t)nc, TOL_F64_CHAIN, 1e-13);
    if (!ok) printf("  m %d n %d k %d transposed %d %d %d accumulate %d gap %d\n", (int)m, (int)n, (int)k, ta, tb, tc, accumulate, (int)gap);
    free(a), free(b), free(c), free(a2), free(b2), free(c2), free(want);
}

TEST(gemm_sizes_and_strides)
{
    for (int i = 0; i < 400; i++) {
        int64_t m = test_random_int(1, 40), n = test_random_int(1, 70), k = test_random_int(1, 40);
        if (i % 10 == 0) m = test_random_int(90, 200), n = test_random_int(90, 200), k = test_random_int(200, 300);
        if (i % 13 == 0) m = test_random_int(1, 4), k = test_random_int(100, 600);
        uint64_t r = test_random();
        check_gemm(m, n, k, r & 1, r & 2, r & 4, r & 8, r & 16 ? test_random_int(1, 5) : 0);
    }
    for (int i = 0; i < 60; i++) {                /* few rows of wide and deep products: whole lines, inner products */
        uint64_t r = test_random();
        check_gemm(test_random_int(1, 5), test_random_int(300, 1200), test_random_int(1, 40), r & 1, r & 2, r & 4, r & 8, r & 16 ? 3 : 0);
        check_gemm(test_random_int(1, 16), test_random_int(1, 50), test_random_int(30, 2200), r & 32, r & 64, r & 128, r & 256, r & 512 ? 3 : 0);
    }
    check_gemm(3, 5, 0, false, false, false, false, 0);
    check_gemm(3, 5, 0, false, false, false, true, 0);
    check_gemm(1, 3000, 20, false, false, false, false, 0);
}

TEST(gemm_is_the_same_for_any_number_of_threads)
{
    static const struct { int64_t m, n, k; bool turned; } sizes[] = {
        {150, 170, 300, false}, {170, 150, 300, true}, {3, 1100, 700, false}, {15, 70, 2100, true}, {12, 900, 203, false}, {2000, 9, 130, false}};
    float *a = malloc(400000 * 4), *b = malloc(800000 * 4), *one = calloc(40000, 4), *two = calloc(40000, 4);
    fill_f32(a, 400000);
    fill_f32(b, 800000);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t m = sizes[i].m, n = sizes[i].n, k = sizes[i].k, br = sizes[i].turned ? 1 : n, bc = sizes[i].turned ? k : 1;
        dync__pool_set_threads(1);
        dync__gemm_f32(m, n, k, a, k, 1, b, br, bc, one, n, 1, false);
        dync__pool_set_threads(3);
        dync__gemm_f32(m, n, k, a, k, 1, b, br, bc, two, n, 1, false);
        EXPECT(memcmp(one, two, (size_t)(m * n) * sizeof *one) == 0);
    }
    dync__pool_set_threads(0);
    free(a), free(b), free(one), free(two);
}

TEST(gemm_with_negative_and_zero_strides)
{
    enum { M = 9, N = 21, K = 13 };
    float a[M * K], b[K * N], c[M * N];
    fill_f32(a, M * K);
    fill_f32(b, K * N);
    dync__gemm_f32(M, N, K, a + M * K - 1, -K, -1, b + (K - 1) * N, -N, 1, c + M * N - 1, -N, -1, false);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int p = 0; p < K; p++) sum += (double)a[(M - 1 - i) * K + K - 1 - p] * (double)b[(K - 1 - p) * N + j];
            EXPECT_NEAR(c[(M - 1 - i) * N + N - 1 - j], sum, 1e-5);
        }
    dync__gemm_f32(M, N, K, a, 0, 1, b, 0, 1, c, N, 1, false);           /* one row of a, one of b */
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int p = 0; p < K; p++) sum += (double)a[p] * (double)b[i % N];
        EXPECT_NEAR(c[i], sum, 1e-5);
    }
}

TEST(gemm_without_memory_is_slow_and_right)
{
    enum { S = 110 };
    static float a[S * S], b[S * S], c[S * S];
    fill_f32(a, S * S);
    fill_f32(b, S * S);
    dync__pool_set_threads(1);
    dync__mem_fail_at(1);
    dync__gemm_f32(S, S, S, a, S, 1, b, S, 1, c, S, 1, false);
    dync__mem_fail_at(0);
    EXPECT_STATUS(dync_error(), DYNC_OK);
    for (int i = 0; i < S * S; i++) {
        double sum = 0;
        for (int p = 0; p < S; p++) sum += (double)a[i / S * S + p] * (double)b[p * S + i % S];
        if (!EXPECT_NEAR(c[i], sum, 1e-4)) break;
    }
}

TEST(pieces_of_gemm)
{
    enum { N = 37, K = 7 };
    double a[K], b[(K + 1) * (N + 1)], c[N], want[N], out[K];
    for (int n = 0; n <= N; n++) {
        for (int i = 0; i < K; i++) a[i] = test_random_real(-1, 1);
        for (int i = 0; i < (K + 1) * (N + 1); i++) b[i] = test_random_real(-1, 1);
        for (int i = 0; i < n; i++) {
            want[i] = c[i] = i;
            for (int p = 0; p < K; p++) want[i] += a[p] * b[2 * p + i];
        }
        dync__gemm_add_lines(8, n, K, a, b, 2, c);
        EXPECT_NEAR_F64(c, want, n, 1e-12, 1e-12);
        dync__gemm_products(8, n, K, b, b + 1, N - 3, out);
        for (int i = 0; i < K && n <= N - 3; i++) {
            double sum = 0;
            for (int p = 0; p < n; p++) sum += b[p] * b[1 + i * (N - 3) + p];
            EXPECT_NEAR(out[i], sum, 1e-12);
        }
    }
}

static dync__operand operand(int dtype, int ndim, const int64_t *shape, bool permuted)
{
    dync__operand o;
    memset(&o, 0, sizeof o);
    o.dtype = (uint8_t)dtype;
    o.lay.ndim = ndim;
    int64_t next = 1;
    for (int d = 0; d < ndim; d++) o.lay.shape[d] = shape[d];
    for (int i = ndim - 1; i >= 0; i--) {
        int d = permuted && ndim >= 2 && i >= ndim - 2 ? 2 * ndim - 3 - i : i;   /* swaps the last two dims */
        o.lay.stride[d] = next;
        next *= shape[d];
    }
    o.lay.offset = permuted ? 3 : 0;
    return o;
}

static double value(const dync__operand *o, const void *data, const int64_t *at)
{
    int64_t off = o->lay.offset;
    for (int d = 0; d < o->lay.ndim; d++) off += (o->lay.shape[d] == 1 ? 0 : at[d]) * o->lay.stride[d];
    return dync__load_f64((const char *)data + off * dync__dtype_info(o->dtype)->bytes, o->dtype);
}

static void check_matmul(int dtype, int kernel)
{
    int64_t B = test_random_int(1, 4), C = test_random_int(1, 3), m = test_random_int(1, 9), n = test_random_int(1, 20), k = test_random_int(1, 12);
    int rank = kernel == DYNC__K_addmm ? 2 : test_random_int(2, 4);
    int64_t as[4] = {B, C, m, k}, bs[4] = {B, C, k, n}, ys[4] = {B, C, m, n};
    if (test_random() % 3 == 0) bs[0] = bs[1] = 1;
    if (test_random() % 3 == 0) as[0] = 1;
    dync__kcall c;
    memset(&c, 0, sizeof c);
    c.row = dync__kernel_row(kernel);
    c.operand[c.n++] = operand(dtype, rank, as + 4 - rank, test_random() % 2);
    c.operand[c.n++] = operand(dtype, rank, bs + 4 - rank, test_random() % 2);
    if (kernel == DYNC__K_addmm) {
        c.operand[c.n] = operand(dtype, rank, ys + 4 - rank, false);
        c.operand[c.n].lay.stride[0] = 0;
        c.n++;
    }
    c.operand[c.n++] = operand(dtype, rank, ys + 4 - rank, test_random() % 2);
    REQUIRE_OK(c.row->prepare(&c));
    static double memory[4][4096];
    void *data[4] = {memory[0], memory[1], memory[2], memory[3]}, *scratch = malloc(c.scratch_bytes + 1);
    for (int i = 0; i < 4; i++)
        for (int e = 0; e < 4096; e++) dync__store_f64((char *)data[i] + e * dync__dtype_info(dtype)->bytes, dtype, test_random_int(-4, 4));
    REQUIRE_OK(c.row->run(&c, data, scratch));
    int64_t at[4] = {0}, ia[4], ib[4];
    const dync__operand *y = &c.operand[c.n - 1];
    for (int64_t e = B * (rank == 4 ? C : 1) * m * n; e > 0; e--) {
        if (rank == 2 && e > m * n) continue;
        double sum = kernel == DYNC__K_addmm ? value(&c.operand[2], data[2], at) : 0;
        for (int64_t p = 0; p < k; p++) {
            memcpy(ia, at, sizeof at);
            memcpy(ib, at, sizeof at);
            ia[rank - 1] = p;
            ib[rank - 2] = p;
            sum += value(&c.operand[0], data[0], ia) * value(&c.operand[1], data[1], ib);
        }
        if (dtype == DYNC_I8) sum = (double)(int8_t)(int64_t)sum;
        if (dtype == DYNC_U8) continue;
        if (!EXPECT_NEAR(value(y, data[c.n - 1], at), sum, dtype == DYNC_BF16 ? 2 : 0.25)) break;
        for (int d = rank - 1; d >= 0 && ++at[d] == y->lay.shape[d]; d--) at[d] = 0;
    }
    free(scratch);
}

TEST(matmul_layouts_and_dtypes)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64, DYNC_I32, DYNC_I8};
    for (int i = 0; i < 700; i++) check_matmul(dtypes[i % 7], i % 3 ? DYNC__K_matmul : DYNC__K_addmm);
    EXPECT_EQ_INT(test__state.failures, 0);
}

TEST(matmul_rejects)
{
    int64_t as[2] = {3, 4}, bs[2] = {5, 6}, ys[2] = {3, 6};
    dync__kcall c;
    memset(&c, 0, sizeof c);
    c.row = dync__kernel_row(DYNC__K_matmul);
    c.n = 3;
    c.operand[0] = operand(DYNC_F32, 2, as, false);
    c.operand[1] = operand(DYNC_F32, 2, bs, false);
    c.operand[2] = operand(DYNC_F32, 2, ys, false);
    EXPECT_STATUS(c.row->prepare(&c), DYNC_ERR_INTERNAL);
}

TEST(matmul_of_nothing)
{
    int64_t as[3] = {2, 3, 0}, bs[3] = {2, 0, 4}, ys[3] = {2, 3, 4}, none[3] = {2, 0, 4}, nothing[3] = {2, 0, 3}, square[3] = {2, 3, 4};
    float y[24], x[24] = {0};
    void *data[3] = {x, x, y};
    dync__kcall c;
    memset(&c, 0, sizeof c);
    c.row = dync__kernel_row(DYNC__K_matmul);
    c.n = 3;
    for (int i = 0; i < 24; i++) y[i] = 7;
    c.operand[0] = operand(DYNC_F32, 3, as, false);
    c.operand[1] = operand(DYNC_F32, 3, bs, false);
    c.operand[2] = operand(DYNC_F32, 3, ys, false);
    REQUIRE_OK(c.row->prepare(&c));
    REQUIRE_OK(c.row->run(&c, data, NULL));
    for (int i = 0; i < 24; i++) EXPECT(y[i] == 0);                      /* a sum of nothing */
    c.operand[0] = operand(DYNC_F32, 3, nothing, false);
    c.operand[1] = operand(DYNC_F32, 3, square, false);
    c.operand[2] = operand(DYNC_F32, 3, none, false);
    REQUIRE_OK(c.row->prepare(&c));
    EXPECT_OK(c.row->run(&c, data, NULL));
}

TEST(batches_of_one_row_become_rows)
{
    int64_t as[3] = {5, 1, 6}, bs[3] = {1, 6, 4}, ys[3] = {5, 1, 4};
    float a[30], b[24], y[20];
    void *data[3] = {a, b, y};
    dync__kcall c;
    memset(&c, 0, sizeof c);
    fill_f32(a, 30);
    fill_f32(b, 24);
    c.row = dync__kernel_row(DYNC__K_matmul);
    c.n = 3;
    c.operand[0] = operand(DYNC_F32, 3, as, false);
    c.operand[1] = operand(DYNC_F32, 3, bs, false);
    c.operand[2] = operand(DYNC_F32, 3, ys, false);
    c.operand[0].lay.stride[1] = 1000;                                   /* of a dim of size 1: never used */
    REQUIRE_OK(c.row->prepare(&c));
    REQUIRE_OK(c.row->run(&c, data, NULL));
    for (int i = 0; i < 20; i++) {
        double sum = 0;
        for (int p = 0; p < 6; p++) sum += (double)a[i / 4 * 6 + p] * (double)b[p * 4 + i % 4];
        EXPECT_NEAR(y[i], sum, 1e-6);
    }
}

TEST_MAIN
