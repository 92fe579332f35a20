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
    check_gemm(3, 5, 0, false, false, false, false, 0);
    check_gemm(3, 5, 0, false, false, false, true, 0);
    check_gemm(1, 3000, 20, false, false, false, false, 0);
}

TEST(gemm_is_the_same_for_any_number_of_threads)
{
    enum { M = 150, N = 170, K = 300 };
    static float a[M * K], b[K * N], one[M * N], two[M * N];
    fill_f32(a, M * K);
    fill_f32(b, K * N);
    dync__pool_set_threads(1);
    dync__gemm_f32(M, N, K, a, K, 1, b, N, 1, one, N, 1, false);
    dync__pool_set_threads(3);
    dync__gemm_f32(M, N, K, a, K, 1, b, N, 1, two, N, 1, false);
    EXPECT(memcmp(one, two, sizeof one) == 0);
    dync__pool_set_threads(0);
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

TEST_MAIN
