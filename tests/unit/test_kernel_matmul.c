/* kernel/gemm.c and matmul.c against plain loops: sizes around every block edge, strides, broadcast
 * batches, dtypes. */
#include "../../src/dync.in.h"
#include "../../src/kernel/gemm_tiles.h"
#include "../../src/codegen/codemem.h"
#include "../test.h"
#include "../tol.h"
#include "kernel_rows.h"
#include "guarded.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static void fill_f32(float *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) p[i] = (float)test_random_real(-1, 1);
}

/* Every operand ends at a page that may not be touched. */
static void check_gemm(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool tc, bool accumulate,
                       int64_t gap)
{
    int64_t ar = ta ? 1 : k + gap, ac = ta ? m + gap : 1, br = tb ? 1 : n + gap,
            bc = tb ? k + gap : 1, cr = tc ? 1 : n + gap, cc = tc ? m + gap : 1;
    size_t na = (size_t)((m - 1) * ar + (k - 1) * ac + 1),
           nb = (size_t)((k - 1) * br + (n - 1) * bc + 1),
           nc = (size_t)((m - 1) * cr + (n - 1) * cc + 1);
    if (k == 0) na = nb = 0;
    guarded own[6] = {guarded_new(na * 4), guarded_new(nb * 4), guarded_new(nc * 4),
                      guarded_new(na * 8), guarded_new(nb * 8), guarded_new(nc * 8)};
    float *a = (void *)own[0].data, *b = (void *)own[1].data, *c = (void *)own[2].data;
    double *a2 = (void *)own[3].data, *b2 = (void *)own[4].data, *c2 = (void *)own[5].data,
           *want = malloc(nc * 8);
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
    if (!ok)
        printf("  m %d n %d k %d transposed %d %d %d accumulate %d gap %d\n", (int)m, (int)n,
               (int)k, ta, tb, tc, accumulate, (int)gap);
    for (int i = 0; i < 6; i++) guarded_free(own[i]);
    free(want);
}

TEST(gemm_sizes_and_strides)
{
    for (int i = 0; i < 400; i++) {
        int64_t m = test_random_int(1, 40), n = test_random_int(1, 70), k = test_random_int(1, 40);
        if (i % 10 == 0)
            m = test_random_int(90, 200), n = test_random_int(90, 200),
            k = test_random_int(200, 300);
        if (i % 13 == 0) m = test_random_int(1, 4), k = test_random_int(100, 600);
        uint64_t r = test_random();
        check_gemm(m, n, k, r & 1, r & 2, r & 4, r & 8, r & 16 ? test_random_int(1, 5) : 0);
    }
    /* few rows of wide and deep products: whole lines, inner products */
    for (int i = 0; i < 60; i++) {
        uint64_t r = test_random();
        check_gemm(test_random_int(1, 5), test_random_int(300, 1200), test_random_int(1, 40), r & 1,
                   r & 2, r & 4, r & 8, r & 16 ? 3 : 0);
        check_gemm(test_random_int(1, 16), test_random_int(1, 50), test_random_int(30, 2200),
                   r & 32, r & 64, r & 128, r & 256, r & 512 ? 3 : 0);
    }
    check_gemm(3, 5, 0, false, false, false, false, 0);
    check_gemm(3, 5, 0, false, false, false, true, 0);
    check_gemm(1, 3000, 20, false, false, false, false, 0);
}

TEST(gemm_is_the_same_for_any_number_of_threads)
{
    static const struct {
        int64_t m, n, k;
        bool turned;
    } sizes[] = {{150, 170, 300, false}, {170, 150, 300, true}, {3, 1100, 700, false},
                 {15, 70, 2100, true},   {12, 900, 203, false}, {2000, 9, 130, false}};
    float *a = malloc(400000 * 4), *b = malloc(800000 * 4), *one = calloc(40000, 4),
          *two = calloc(40000, 4);
    fill_f32(a, 400000);
    fill_f32(b, 800000);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t m = sizes[i].m, n = sizes[i].n, k = sizes[i].k, br = sizes[i].turned ? 1 : n,
                bc = sizes[i].turned ? k : 1;
        for (int threads = 1; threads <= 4; threads++) {
            dync__pool_set_threads(threads);
            dync__gemm_f32(m, n, k, a, k, 1, b, br, bc, threads == 1 ? one : two, n, 1, false);
            EXPECT(threads == 1 || memcmp(one, two, (size_t)(m * n) * sizeof *one) == 0);
        }
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
    dync__gemm_f32(M, N, K, a + M * K - 1, -K, -1, b + (K - 1) * N, -N, 1, c + M * N - 1, -N, -1,
                   false);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int p = 0; p < K; p++)
                sum += (double)a[(M - 1 - i) * K + K - 1 - p] * (double)b[(K - 1 - p) * N + j];
            EXPECT_NEAR(c[(M - 1 - i) * N + N - 1 - j], sum, 1e-5);
        }
    /* one row of a, one of b */
    dync__gemm_f32(M, N, K, a, 0, 1, b, 0, 1, c, N, 1, false);
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
        dync__gemm_add_rows(8, n, K, a, b, 2, c);
        EXPECT_NEAR_F64(c, want, n, 1e-12, 1e-12);
        dync__gemm_products(8, n, K, b, b + 1, N - 3, out);
        for (int i = 0; i < K && n <= N - 3; i++) {
            double sum = 0;
            for (int p = 0; p < n; p++) sum += b[p] * b[1 + i * (N - 3) + p];
            EXPECT_NEAR(out[i], sum, 1e-12);
        }
    }
}

/* A packed b, d of every kind, and rows told as they end: the bits of the plain call where the sums
 * run the same way. */
typedef struct told {
    int64_t rows, calls;
} told;
static void tell(void *user, int64_t begin, int64_t end)
{
    (void)DYNC__ATOMIC_ADD(&((told *)user)->rows, end - begin);
    (void)DYNC__ATOMIC_ADD(&((told *)user)->calls, 1);
}

TEST(gemm_with_packed_b_and_addends)
{
    for (int i = 0; i < 60; i++) {
        int64_t m = test_random_int(1, i % 5 ? 60 : 400), n = test_random_int(1, 150),
                k = test_random_int(1, i % 3 ? 80 : 600);
        /* column: an element for each row */
        bool turned = test_random() % 2, bias = test_random() % 2, column = test_random() % 3 == 0;
        float *a = malloc((size_t)(m * k) * 4), *b = malloc((size_t)(n * k) * 4),
              *d = malloc((size_t)(m * n) * 4), *c = malloc((size_t)(m * n) * 4);
        double *want = malloc((size_t)(m * n) * 8);
        char *packed = malloc((size_t)dync__gemm_packed_bytes(DYNC__GT_F32, n, k));
        fill_f32(a, m * k);
        fill_f32(b, n * k);
        fill_f32(d, m * n);
        dync__pool_set_threads(test_random_int(1, 3));
        int64_t br = turned ? 1 : n, bc = turned ? k : 1;
        dync__gemm_pack_b(DYNC__GT_F32, n, k, b, br, bc, packed);
        for (int64_t r = 0; r < m; r++)
            for (int64_t j = 0; j < n; j++) {
                want[r * n + j] = (double)d[column ? r : (bias ? 0 : r * n) + j];
                for (int64_t p = 0; p < k; p++)
                    want[r * n + j] += (double)a[r * k + p] * (double)b[p * br + j * bc];
            }
        for (int with = 0; with < 2; with++) {
            told t = {0, 0};
            memset(c, 0xff, (size_t)(m * n) * 4);
            dync__gemm g = {.type = DYNC__GT_F32,
                            .m = m,
                            .n = n,
                            .k = k,
                            .a = (char *)a,
                            .b = (char *)b,
                            .d = (char *)d,
                            .c = (char *)c,
                            .a_row = k,
                            .a_col = 1,
                            .b_row = br,
                            .b_col = bc,
                            .c_row = n,
                            .c_col = 1,
                            .d_row = column ? 1
                                     : bias ? 0
                                            : n,
                            .bias = column,
                            .packed = with ? packed : NULL,
                            .done = tell,
                            .user = &t};
            bool told_all = dync__gemm_run(&g);
            EXPECT_EQ_INT(t.rows, told_all ? m : 0);
            EXPECT_F32_NEAR_F64(c, want, m * n, TOL_F32_SUM, 1e-6 * (double)(k + 1));
        }
        free(a), free(b), free(c), free(d), free(want), free(packed);
    }
    dync__pool_set_threads(0);
}

/* Threads take rows or columns of a packed b, a block of k after the other: the bits of one thread,
 * and nothing beside c is written. */
TEST(threads_share_a_packed_b)
{
    for (int i = 0; i < test_count(40); i++) {
        int type = i % 4 ? DYNC__GT_F32 : DYNC__GT_F64, bytes = dync__gt_bytes(type);
        int64_t m = test_random_int(15, 90), n = test_random_int(15, 700),
                k = test_random_int(1, i % 2 ? 130 : 600), row = n + test_random_int(0, 3);
        char *a = malloc((size_t)(m * k * bytes)), *b = malloc((size_t)(n * k * bytes)),
             *packed = malloc((size_t)dync__gemm_packed_bytes(type, n, k)), *c[2];
        int dtype = type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32;
        for (int64_t j = 0; j < m * k; j++)
            dync__store_f64(a + j * bytes, dtype, test_random_real(-1, 1));
        for (int64_t j = 0; j < n * k; j++)
            dync__store_f64(b + j * bytes, dtype, test_random_real(-1, 1));
        dync__gemm_pack_b(type, n, k, b, 1, k, packed);
        for (int threads = 1; threads <= 4; threads++) {
            int at = threads > 1;
            c[at] = malloc((size_t)(m * row * bytes));
            memset(c[at], 0x5a, (size_t)(m * row * bytes));
            dync__pool_set_threads(threads);
            dync__pool_force(DYNC__POOL_SHARED);
            dync__gemm_run(&(dync__gemm){.type = type,
                                         .m = m,
                                         .n = n,
                                         .k = k,
                                         .a = a,
                                         .b = b,
                                         .c = c[at],
                                         .a_row = k,
                                         .a_col = 1,
                                         .b_row = 1,
                                         .b_col = k,
                                         .c_row = row,
                                         .c_col = 1,
                                         .packed = packed});
            if (at && !EXPECT(memcmp(c[0], c[1], (size_t)(m * row * bytes)) == 0))
                printf("    type %d, m %d n %d k %d, %d threads\n", type, (int)m, (int)n, (int)k,
                       threads);
            if (at) free(c[1]);
        }
        free(a), free(b), free(packed), free(c[0]);
    }
    dync__pool_force(DYNC__POOL_TRIED);
    dync__pool_set_threads(0);
}

/* An a that is dense along its rows is packed where its steps fall into few sets of the cache: the
 * bits are those of the same a with steps a little further apart, which is read where it lies. */
static void crowded(int type, int64_t m, int64_t n, int64_t k)
{
    int64_t bytes = dync__gt_bytes(type), step[2] = {DYNC__GEMM_A_SET / bytes, 0};
    while (step[0] < m) step[0] += DYNC__GEMM_A_SET / bytes;
    step[1] = step[0] + test_random_int(1, 3);
    int dtype = type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32;
    char *b = malloc((size_t)(k * n * bytes)), *c[2];
    guarded a[2];
    for (int i = 0; i < 2; i++) {
        a[i] = guarded_new((size_t)(((k - 1) * step[i] + m) * bytes));
        c[i] = malloc((size_t)(m * n * bytes));
    }
    for (int64_t i = 0; i < k * n; i++)
        dync__store_f64(b + i * bytes, dtype, test_random_real(-1, 1));
    for (int64_t p = 0; p < k; p++)
        for (int64_t r = 0; r < m; r++) {
            double x = test_random_real(-1, 1);
            for (int i = 0; i < 2; i++)
                dync__store_f64((char *)a[i].data + (p * step[i] + r) * bytes, dtype, x);
        }
    for (int i = 0; i < 2; i++)
        dync__gemm_run(&(dync__gemm){.type = type,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .a = (char *)a[i].data,
                                     .b = b,
                                     .c = c[i],
                                     .a_row = 1,
                                     .a_col = step[i],
                                     .b_row = n,
                                     .b_col = 1,
                                     .c_row = n,
                                     .c_col = 1});
    if (!EXPECT(memcmp(c[0], c[1], (size_t)(m * n * bytes)) == 0))
        printf("    type %d, m %d n %d k %d\n", type, (int)m, (int)n, (int)k);
    for (int i = 0; i < 2; i++) guarded_free(a[i]), free(c[i]);
    free(b);
}
TEST(crowded_steps_are_packed_to_the_same_bits)
{
    for (int i = 0; i < test_count(60); i++)
        crowded(i % 3 ? DYNC__GT_F32 : DYNC__GT_F64, test_random_int(8, 60),
                test_random_int(17, 70), test_random_int(DYNC__GEMM_A_LIES - 3, 300));
}

/* ---- what follows the sums ------------------------------------------------------------------- */

/* The sums of few rows are those of panels, bit by bit, whether b is read where it lies or packed.
 * True: it was read where it lies. */
static bool same_as_packed(int type, int64_t m, int64_t n, int64_t k)
{
    int64_t bytes = dync__gt_bytes(type), a_row = k + test_random_int(0, 2),
            b_col = k + test_random_int(0, 2), c_row = n + test_random_int(0, 2);
    int adds = test_random_int(0, 4), dtype = type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32;
    size_t of[4] = {(size_t)((m - 1) * a_row + k), (size_t)((n - 1) * b_col + k),
                    (size_t)((m - 1) * c_row + n), (size_t)(m * n)};
    guarded own[4];
    for (int i = 0; i < 4; i++) {
        own[i] = guarded_new(of[i] * (size_t)bytes);
        for (size_t e = 0; e < of[i]; e++)
            dync__store_f64((char *)own[i].data + e * (size_t)bytes, dtype,
                            test_random_real(-1, 1));
    }
    size_t c_bytes = of[2] * (size_t)bytes;
    char *before = malloc(c_bytes), *one = malloc(c_bytes),
         *packed = malloc((size_t)dync__gemm_packed_bytes(type, n, k));
    memcpy(before, own[2].data, c_bytes);
    dync__gemm_pack_b(type, n, k, own[1].data, 1, b_col, packed);
    uint8_t path = 0;
    for (int with = 2; with >= 0; with--) { /* 2: a panel at a time */
        dync__gemm g = {.type = type,
                        .m = m,
                        .n = n,
                        .k = k,
                        .a = (char *)own[0].data,
                        .b = (char *)own[1].data,
                        .c = (char *)own[2].data,
                        .a_row = a_row,
                        .a_col = 1,
                        .b_row = 1,
                        .b_col = b_col,
                        .c_row = c_row,
                        .c_col = 1,
                        .panels = true,
                        .packed = with ? packed : NULL};
        if (adds) g.d = adds == 4 ? g.c : (char *)own[3].data;
        g.d_row = adds == 1 ? n : adds == 2 ? 0 : adds == 3 ? 1 : c_row;
        g.bias = adds == 3; /* an element for each row */
        memcpy(own[2].data, before, c_bytes);
        dync__pool_force(test_random_int(0, 2));
        dync__pool_set_threads(test_random_int(1, 3));
        if (with < 2)
            dync__gemm_run(&g);
        else
            EXPECT(dync__gemm_blocks(&g));
        if (with == 2) memcpy(one, own[2].data, c_bytes);
        if (!EXPECT(memcmp(one, own[2].data, c_bytes) == 0))
            printf("    type %d, m %d n %d k %d, addend %d, packed %d\n", type, (int)m, (int)n,
                   (int)k, adds, with);
        path = g.path;
    }
    dync__pool_force(DYNC__POOL_TRIED);
    dync__pool_set_threads(0);
    for (int i = 0; i < 4; i++) guarded_free(own[i]);
    free(before), free(one), free(packed);
    return path == DYNC__GEMM_TRANSPOSED;
}
/* made dense along its rows, or packed in panels */
TEST(short_sums_are_the_same_packed_or_not)
{
    for (int i = 0; i < test_count(60); i++)
        same_as_packed(i % 3 ? DYNC__GT_F32 : DYNC__GT_F64, test_random_int(33, 90),
                       test_random_int(28, 160), test_random_int(1, DYNC__GEMM_A_LIES + 9));
}

TEST(few_rows_are_the_same_packed_or_not)
{
    int rounds = test_count(150), turned = 0;
    for (int i = 0; i < rounds; i++) {
        int64_t k = i % 4 == 0 ? 256 * test_random_int(1, 4) : test_random_int(1, 900);
        turned += same_as_packed(i % 3 ? DYNC__GT_F32 : DYNC__GT_F64, test_random_int(2, 34),
                                 test_random_int(28, 160), k);
    }
    EXPECT(turned > rounds / 2);
}

/* A few random primitives over the sum and at most two operands, the last one over all that is
 * left. */
static dync__after random_list(int dtype, const bool *same)
{
    static const uint8_t prims[] = {DYNC__P_add, DYNC__P_sub, DYNC__P_mul, DYNC__P_max,
                                    DYNC__P_min, DYNC__P_neg, DYNC__P_abs, DYNC__P_fma,
                                    DYNC__P_lt,  DYNC__P_rint};
    dync__after list;
    int picks[4] = {0}, n = test_random_int(1, 5);
    memset(&list, 0, sizeof list);
    list.n_sources = 3;
    list.op[list.n++] =
        (dync__after_op){.prim = DYNC__P_load, .type = (uint8_t)dtype, .arg = {-1, -1, -1}};
    for (int i = 0; i < n; i++) {
        dync__after_op op = {.prim = prims[test_random_int(0, 9)],
                             .type = (uint8_t)dtype,
                             .arg = {(int8_t)picks[test_random_int(0, 3)], -1, -1}};
        int args = dync__prim_info(op.prim)->n_args, other = test_random_int(0, 3);
        op.arg[0] = (int8_t)(list.n - 1);
        if (other < 2) {
            int source = test_random_int(1, 2);
            list.op[list.n] = list.op[0];
            list.op[list.n].source = (int8_t)source;
            list.op[list.n++].same = same[source - 1];
        } else if (other == 2) {
            list.op[list.n] = list.op[0];
            list.op[list.n].prim = DYNC__P_const_;
            list.op[list.n++].imm.f = test_random_int(-2, 2) / 2.0;
        }
        for (int a = 1; a < args; a++)
            op.arg[a] = (int8_t)(other < 3 && a == 1 ? list.n - 1 : picks[test_random_int(0, 3)]);
        if (test_random_int(0, 1) && args == 2) {
            int8_t first = op.arg[0];
            op.arg[0] = op.arg[1], op.arg[1] = first;
        }
        if (op.prim == DYNC__P_lt) { /* the smaller one, by select */
            op.type = DYNC_BOOL;
            list.op[list.n++] = op;
            op = (dync__after_op){.prim = DYNC__P_select,
                                  .type = (uint8_t)dtype,
                                  .arg = {(int8_t)(list.n - 1), op.arg[0], op.arg[1]}};
        }
        picks[test_random_int(0, 3)] = list.n;
        list.op[list.n++] = op;
    }
    return list;
}

/* Tiles do to their sums what C does to them afterwards, to the bit. */
TEST(lists_in_tiles)
{
    int lists = 0;
    for (int round = 0; round < 1500; round++) {
        bool wide = round % 4 == 3, adds = test_random_int(0, 1), aside = test_random_int(0, 1);
        int64_t m = test_random_int(1, round % 5 ? 40 : 150), n = test_random_int(1, 90),
                k = test_random_int(1, round % 7 ? 40 : 600);
        bool same[2] = {test_random_int(0, 1), test_random_int(0, 1)};
        int type = wide ? DYNC__GT_F64 : DYNC__GT_F32, dtype = wide ? DYNC_F64 : DYNC_F32;
        size_t w = wide ? 8 : 4;
        int64_t row[2] = {test_random_int(0, 1) ? n : 0, test_random_int(0, 1) ? n + 3 : 0};
        char *a = malloc((size_t)(m * k) * w), *b = malloc((size_t)(k * n) * w),
             *c[2] = {malloc((size_t)(m * n) * w), malloc((size_t)(m * n) * w)},
             *d = malloc((size_t)(m * n) * w), *more = malloc((size_t)((m + 1) * (n + 3)) * w);
        for (int64_t i = 0; i < m * k; i++)
            dync__store_f64(a + i * (int64_t)w, dtype, test_random_real(-1, 1));
        for (int64_t i = 0; i < k * n; i++)
            dync__store_f64(b + i * (int64_t)w, dtype, test_random_real(-1, 1));
        for (int64_t i = 0; i < m * n; i++)
            dync__store_f64(d + i * (int64_t)w, dtype, test_random_real(-1, 1));
        for (int64_t i = 0; i < (m + 1) * (n + 3); i++)
            dync__store_f64(more + i * (int64_t)w, dtype,
                            i % 11  ? test_random_real(-1, 1)
                            : i % 2 ? (double)NAN
                                    : -0.0);
        dync__after list = random_list(dtype, same), with = list;
        with.n += 2;
        memmove(with.op + 3, list.op + 1, (size_t)(list.n - 1) * sizeof *list.op);
        with.op[1] = list.op[0];
        with.op[2] =
            (dync__after_op){.prim = DYNC__P_add, .type = (uint8_t)dtype, .arg = {0, 1, -1}};
        for (int i = 3; i < with.n; i++)
            for (int e = 0; e < 3; e++) with.op[i].arg[e] += with.op[i].arg[e] >= 0 ? 2 : 0;
        dync__gemm g[2];
        dync__pool_set_threads(test_random_int(1, 3));
        for (int i = 0; i < 2; i++)
            g[i] = (dync__gemm){.type = type,
                                .m = m,
                                .n = n,
                                .k = k,
                                .a = a,
                                .b = b,
                                .c = c[i],
                                .d = adds ? d : NULL,
                                .d_row = n,
                                .a_row = k,
                                .a_col = 1,
                                .b_row = aside ? 1 : n,
                                .b_col = aside ? k : 1,
                                .c_row = n,
                                .c_col = 1};
        g[1].after = (dync__gemm_after){
            .flags = {with.n <= DYNC__AFTER_OPS ? dync__gt_after(type, &list) : 0,
                      with.n <= DYNC__AFTER_OPS ? dync__gt_after(type, &with) : 0},
            .more = {more, more},
            .row = {row[0], row[1]},
            .same = {same[0], same[1]}};
        if (!g[1].after.flags[0] || !g[1].after.flags[1]) memset(&g[1].after, 0, sizeof g[1].after);
        int flags = g[1].after.flags[0];
        for (int i = 0; i < 2; i++) dync__gemm_run(&g[i]);
        lists += g[1].followed;
        if (g[1].followed) {
            dync__gt_args x = {.c = c[0],
                               .c_step = n * (int64_t)w,
                               .more = {more, more},
                               .more_step = {row[0] * (int64_t)w, row[1] * (int64_t)w}};
            dync__gt_follow(flags, type, m, n, &x);
        }
        for (int64_t i = 0; i < m * n; i++) {
            double x = dync__load_f64(c[0] + i * (int64_t)w, dtype),
                   y = dync__load_f64(c[1] + i * (int64_t)w, dtype);
            if (x != x && y != y) continue;
            if (!EXPECT(memcmp(&x, &y, sizeof x) == 0)) break;
        }
        free(a), free(b), free(c[0]), free(c[1]), free(d), free(more);
    }
    dync__pool_set_threads(0);
    if (dync__gt_can(DYNC__GT_F32)) EXPECT(lists > 0);
}

TEST(gemm_passes_nan_and_infinity)
{
    enum { M = 17, N = 35, K = 9 };
    static float a[M * K], b[K * N], c[M * N];
    for (int i = 0; i < M * K; i++) a[i] = 1;
    for (int i = 0; i < K * N; i++) b[i] = 0;
    a[3 * K + 2] = INFINITY; /* inf * 0: a row of NaN */
    b[4 * N + N - 1] = NAN;  /* a column */
    b[0] = INFINITY;
    for (int turned = 0; turned < 2; turned++) {
        dync__gemm_f32(M, N, K, a, K, 1, b, N, 1, c, turned ? 1 : N, turned ? M : 1, false);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float x = c[turned ? j * M + i : i * N + j];
                if (i == 3 || j == N - 1)
                    EXPECT(isnan(x));
                else
                    EXPECT(j == 0 ? isinf(x) : x == 0.0f);
            }
    }
}

/* Forms that gemm does not choose yet, and packing of narrow elements. */
TEST(narrow_forms)
{
    enum { K = 23, N = 37, M = 6 };
    static uint8_t a8[M * 4 * K];
    static uint32_t packed[K * N], c[M * N];
    static uint16_t a16[M * 2 * K];
    guarded own[2] = {guarded_new(4 * K * N), guarded_new(4 * K * N)};
    uint8_t *b8 = (void *)own[0].data;
    uint16_t *b16 = (void *)own[1].data;
    static float f[M * N];
    for (int i = 0; i < M * 4 * K; i++) a8[i] = (uint8_t)test_random();
    for (int i = 0; i < 4 * K * N; i++) b8[i] = (uint8_t)test_random();
    for (int n = 1; n <= N; n++) {
        int width = n > 2 * dync__gt_lanes(DYNC__GT_U8, 0) ? 2 * dync__gt_lanes(DYNC__GT_U8, 0) : n,
            rows = M;
        while (rows > 1 && !dync__gt_fits(DYNC__GT_TILE, DYNC__GT_U8, DYNC__GT_A_ROWS, rows, width))
            rows--;
        dync__gt_args p = {.a = b8, .c = packed, .k = K, .a_step = N, .c_step = N * 4, .blocks = 1};
        dync__gt_do(DYNC__GT_PAIR, DYNC__GT_U8, 0, 1, width, &p);
        dync__gt_args t = {.a = a8,
                           .b = packed,
                           .c = c,
                           .k = K,
                           .a_step = 4 * K,
                           .b_step = 4 * N,
                           .c_step = 4 * N,
                           .blocks = 1};
        dync__gt_do(DYNC__GT_TILE, DYNC__GT_U8, DYNC__GT_A_ROWS, rows, width, &t);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < width; j++) {
                int32_t sum = 0;
                for (int q = 0; q < 4 * K; q++) sum += a8[i * 4 * K + q] * (int8_t)b8[q * N + j];
                EXPECT_EQ_INT((int32_t)c[i * N + j], sum);
            }
    }
    for (int i = 0; i < M * 2 * K; i++)
        dync__store_f64(&a16[i], DYNC_BF16, test_random_real(-1, 1));
    for (int i = 0; i < 2 * K * N; i++)
        dync__store_f64(&b16[i], DYNC_BF16, test_random_real(-1, 1));
    for (int n = 1; n <= 2 * dync__gt_lanes(DYNC__GT_BF16, 0); n++) {
        dync__gt_args p = {
            .a = b16, .c = packed, .k = K, .a_step = N * 2, .c_step = N * 4, .blocks = 1};
        dync__gt_do(DYNC__GT_PAIR, DYNC__GT_BF16, 0, 1, n, &p);
        dync__gt_args t = {.a = a16,
                           .b = packed,
                           .c = f,
                           .k = K,
                           .a_step = 4 * K,
                           .b_step = 4 * N,
                           .c_step = 4 * N,
                           .blocks = 1};
        dync__gt_do(DYNC__GT_TILE, DYNC__GT_BF16, DYNC__GT_A_ROWS, M, n, &t);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int q = 0; q < 2 * K; q++)
                    sum += dync__load_f64(&a16[i * 2 * K + q], DYNC_BF16) *
                           dync__load_f64(&b16[q * N + j], DYNC_BF16);
                EXPECT_NEAR(f[i * N + j], sum, 1e-4);
            }
    }
    guarded_free(own[0]), guarded_free(own[1]);
}

/* A few f32 rows by halves where they lie, each way; pairs of bf16 along k. */
static void check_halves(int type, int64_t m, int64_t n, int64_t k, bool turned, bool accumulate)
{
    int dtype = type == DYNC__GT_AS_F16 ? DYNC_F16 : DYNC_BF16;
    int64_t pair = type == DYNC__GT_BF16 ? 2 : 1, all = k * pair;
    guarded own[3] = {guarded_new((size_t)(4 * m * k)), guarded_new((size_t)(2 * n * all)),
                      guarded_new((size_t)(4 * m * n))};
    float *c = (void *)own[2].data;
    double *want = malloc((size_t)(m * n) * sizeof *want);
    for (int64_t i = 0; i < m * all; i++)
        dync__store_f64((char *)own[0].data + i * 4 / pair, pair == 2 ? dtype : DYNC_F32,
                        test_random_real(-1, 1));
    for (int64_t i = 0; i < n * all; i++)
        dync__store_f64((char *)own[1].data + 2 * i, dtype, test_random_real(-1, 1));
    fill_f32(c, m * n);
    int64_t row = turned ? 1 : n, col = turned ? all : 1;
    for (int64_t i = 0; i < m * n; i++) {
        want[i] = accumulate ? (double)c[i] : 0;
        for (int64_t p = 0; p < all; p++)
            want[i] += dync__load_f64((char *)own[0].data + (i / n * all + p) * 4 / pair,
                                      pair == 2 ? dtype : DYNC_F32) *
                       dync__load_f64((char *)own[1].data + 2 * (p * row + i % n * col), dtype);
    }
    dync__gemm g = {.type = type,
                    .m = m,
                    .n = n,
                    .k = k,
                    .a = (char *)own[0].data,
                    .b = (char *)own[1].data,
                    .c = (char *)c,
                    .d = accumulate ? (char *)c : NULL,
                    .a_row = k,
                    .a_col = 1,
                    .b_row = row,
                    .b_col = col / pair,
                    .c_row = n,
                    .c_col = 1,
                    .d_row = n};
    dync__gemm_run(&g);
    if (!EXPECT_F32_NEAR_F64(c, want, m * n, 1e-5, 1e-5 * (double)(all + 1)))
        printf("  type %d m %d n %d k %d turned %d\n", type, (int)m, (int)n, (int)k, turned);
    for (int i = 0; i < 3; i++) guarded_free(own[i]);
    free(want);
}

TEST(few_rows_by_halves)
{
    for (int i = 0; i < 300; i++) {
        int type = i % 3 == 2 ? DYNC__GT_BF16 : i % 3 ? DYNC__GT_AS_F16 : DYNC__GT_AS_BF16;
        dync__pool_set_threads(test_random_int(1, 3));
        check_halves(type, test_random_int(1, 9), test_random_int(1, i % 7 ? 70 : 600),
                     test_random_int(1, i % 5 ? 50 : 400),
                     type == DYNC__GT_BF16 || test_random() % 2, test_random() % 2);
    }
    for (int m = 1; m <= 8 && !getenv("DYNC_CPU"); m += 2 + m % 3)
        check_halves(DYNC__GT_AS_F16 + m % 2, m, 1030, 2100, false, m == 4);
    dync__pool_set_threads(0);
}

TEST(without_executable_memory)
{
    dync_shutdown(); /* no form is left */
    dync__codemem_force(DYNC__CODEMEM_REFUSED);
    for (int i = 0; i < 20; i++)
        check_gemm(test_random_int(1, 40), test_random_int(1, 70), test_random_int(1, 300), i & 1,
                   i & 2, i & 4, i & 8, i & 1);
    test__body_narrow_forms();
    test__body_few_rows_by_halves();
    dync_shutdown();
    dync__codemem_force(DYNC__CODEMEM_TWICE);
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
        /* swaps the last two dims */
        int d = permuted && ndim >= 2 && i >= ndim - 2 ? 2 * ndim - 3 - i : i;
        o.lay.stride[d] = next;
        next *= shape[d];
    }
    o.lay.offset = permuted ? 3 : 0;
    return o;
}

static double value(const dync__operand *o, const void *data, const int64_t *at)
{
    int64_t off = o->lay.offset;
    for (int d = 0; d < o->lay.ndim; d++)
        off += (o->lay.shape[d] == 1 ? 0 : at[d]) * o->lay.stride[d];
    return dync__load_f64((const char *)data + off * dync__dtype_info(o->dtype)->bytes, o->dtype);
}

static void check_matmul(int in, int dtype, int kernel)
{
    int64_t B = test_random_int(1, 4), C = test_random_int(1, 3), m = test_random_int(1, 9),
            n = test_random_int(1, 20), k = test_random_int(1, 12);
    int rank = kernel == DYNC__K_addmm ? 2 : test_random_int(2, 4);
    if (rank == 2 && test_random() % 2)
        m = test_random_int(1, 40), n = test_random_int(1, 70), k = test_random_int(1, 50);
    /* runs of rows */
    if (rank == 2 && test_random() % 8 == 0)
        m = test_random_int(169, 400), n = test_random_int(1, 12), k = test_random_int(1, 16);
    int64_t as[4] = {B, C, m, k}, bs[4] = {B, C, k, n}, ys[4] = {B, C, m, n};
    if (test_random() % 3 == 0) bs[0] = bs[1] = 1;
    if (test_random() % 3 == 0) as[0] = 1;
    dync__kcall_full room;
    dync__kcall *c = &room.call;
    memset(&room, 0, sizeof room);
    c->row = kernel_row(kernel);
    c->operand[c->n++] = operand(in, rank, as + 4 - rank, test_random() % 2);
    c->operand[c->n++] = operand(in, rank, bs + 4 - rank, test_random() % 2);
    if (kernel == DYNC__K_addmm) {
        c->operand[c->n] = operand(dtype, rank, ys + 4 - rank, false);
        c->operand[c->n].lay.stride[0] = 0;
        c->n++;
    }
    c->operand[c->n++] = operand(dtype, rank, ys + 4 - rank, test_random() % 2);
    REQUIRE_OK(c->row->prepare(c));
    static double memory[4][8192];
    void *data[4] = {memory[0], memory[1], memory[2], memory[3]},
         *scratch = malloc(c->scratch_bytes + 1);
    for (int i = 0; i < 4; i++)
        for (int e = 0; e < 8192; e++)
            dync__store_f64((char *)data[i] + e * dync__dtype_info(in)->bytes, in,
                            in == dtype ? test_random_int(-4, 4) : test_random_int(-128, 127));
    /* what prepare found is gone: the run finds its own */
    if (test_random() % 50 == 0) dync_shutdown();
    REQUIRE_OK(c->row->run(c, data, scratch));
    if (c->drop) c->drop(c->state);
    int64_t at[4] = {0}, ia[4], ib[4];
    const dync__operand *y = &c->operand[c->n - 1];
    for (int64_t e = B * (rank == 4 ? C : 1) * m * n; e > 0; e--) {
        if (rank == 2 && e > m * n) continue;
        double sum = kernel == DYNC__K_addmm ? value(&c->operand[2], data[2], at) : 0;
        for (int64_t p = 0; p < k; p++) {
            memcpy(ia, at, sizeof at);
            memcpy(ib, at, sizeof at);
            ia[rank - 1] = p;
            ib[rank - 2] = p;
            sum += value(&c->operand[0], data[0], ia) * value(&c->operand[1], data[1], ib);
        }
        if (dtype == DYNC_I8) sum = (double)(int8_t)(int64_t)sum;
        if (dtype == DYNC_U8) sum = (double)(uint8_t)(int64_t)sum;
        if (!EXPECT_NEAR(value(y, data[c->n - 1], at), sum,
                         (dtype == DYNC_BF16  ? TOL_BF16_1ULP
                          : dtype == DYNC_F16 ? TOL_F16_1ULP
                                              : TOL_F32_1ULP) *
                             fabs(sum)))
            break;
        for (int d = rank - 1; d >= 0 && ++at[d] == y->lay.shape[d]; d--) at[d] = 0;
    }
    free(scratch);
}

TEST(matmul_layouts_and_dtypes)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16,
                                 DYNC_I64, DYNC_I32, DYNC_I8,  DYNC_U8};
    for (int i = 0; i < 1600; i++)
        check_matmul(dtypes[i % 8], dtypes[i % 8], i % 3 ? DYNC__K_matmul : DYNC__K_addmm);
    for (int i = 0; i < 300; i++) check_matmul(DYNC_I8, DYNC_I32, DYNC__K_matmul);
    EXPECT_EQ_INT(test__state.failures, 0);
}

/* Fewer rows than the few columns that are converted: scratch is for the columns, and ends at a
 * page that may not be touched. */
TEST(few_columns_of_fewer_rows)
{
    enum { M = 2, N = 8, K = 40 };
    int64_t as[2] = {M, K}, bs[2] = {K, N}, ys[2] = {M, N};
    static uint16_t a[M * K], b[2 * K * N], y[M * N];
    void *data[3] = {a, b, y};
    dync__kcall_full room;
    dync__kcall *c = &room.call;
    memset(&room, 0, sizeof room);
    c->row = &dync__kcall_matmul;
    c->n = 3;
    c->operand[0] = operand(DYNC_BF16, 2, as, false);
    c->operand[1] = operand(DYNC_BF16, 2, bs, false);
    c->operand[1].lay.stride[0] = 2 * N, c->operand[1].lay.stride[1] = 2;
    c->operand[2] = operand(DYNC_BF16, 2, ys, false);
    for (int i = 0; i < M * K; i++) dync__store_f64(&a[i], DYNC_BF16, i % 3);
    for (int i = 0; i < K * N; i++) dync__store_f64(&b[2 * i], DYNC_BF16, i % 5);
    REQUIRE_OK(c->row->prepare(c));
    guarded scratch = guarded_new(c->scratch_bytes);
    REQUIRE_OK(c->row->run(c, data, scratch.data));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += (i * K + k) % 3 * ((k * N + j) % 5);
            EXPECT_NEAR(dync__load_f64(&y[i * N + j], DYNC_BF16), sum, TOL_BF16_1ULP * sum);
        }
    guarded_free(scratch);
}

TEST(matmul_rejects)
{
    int64_t as[2] = {3, 4}, bs[2] = {5, 6}, ys[2] = {3, 6};
    dync__kcall_full room;
    dync__kcall *c = &room.call;
    memset(&room, 0, sizeof room);
    c->row = &dync__kcall_matmul;
    c->n = 3;
    c->operand[0] = operand(DYNC_F32, 2, as, false);
    c->operand[1] = operand(DYNC_F32, 2, bs, false);
    c->operand[2] = operand(DYNC_F32, 2, ys, false);
    EXPECT_STATUS(c->row->prepare(c), DYNC_ERR_INTERNAL);
}

TEST(matmul_of_nothing)
{
    int64_t as[3] = {2, 3, 0}, bs[3] = {2, 0, 4}, ys[3] = {2, 3, 4}, none[3] = {2, 0, 4},
            nothing[3] = {2, 0, 3}, square[3] = {2, 3, 4};
    float y[24], x[24] = {0};
    void *data[3] = {x, x, y};
    dync__kcall_full room;
    dync__kcall *c = &room.call;
    memset(&room, 0, sizeof room);
    c->row = &dync__kcall_matmul;
    c->n = 3;
    for (int i = 0; i < 24; i++) y[i] = 7;
    c->operand[0] = operand(DYNC_F32, 3, as, false);
    c->operand[1] = operand(DYNC_F32, 3, bs, false);
    c->operand[2] = operand(DYNC_F32, 3, ys, false);
    REQUIRE_OK(c->row->prepare(c));
    REQUIRE_OK(c->row->run(c, data, NULL));
    for (int i = 0; i < 24; i++) EXPECT(y[i] == 0); /* a sum of nothing */
    c->operand[0] = operand(DYNC_F32, 3, nothing, false);
    c->operand[1] = operand(DYNC_F32, 3, square, false);
    c->operand[2] = operand(DYNC_F32, 3, none, false);
    REQUIRE_OK(c->row->prepare(c));
    EXPECT_OK(c->row->run(c, data, NULL));
}

TEST(batches_of_one_row_become_rows)
{
    int64_t as[3] = {5, 1, 6}, bs[3] = {1, 6, 4}, ys[3] = {5, 1, 4};
    float a[30], b[24], y[20];
    void *data[3] = {a, b, y};
    dync__kcall_full room;
    dync__kcall *c = &room.call;
    memset(&room, 0, sizeof room);
    fill_f32(a, 30);
    fill_f32(b, 24);
    c->row = &dync__kcall_matmul;
    c->n = 3;
    c->operand[0] = operand(DYNC_F32, 3, as, false);
    c->operand[1] = operand(DYNC_F32, 3, bs, false);
    c->operand[2] = operand(DYNC_F32, 3, ys, false);
    /* of a dim of size 1: never used */
    c->operand[0].lay.stride[1] = 1000;
    REQUIRE_OK(c->row->prepare(c));
    REQUIRE_OK(c->row->run(c, data, NULL));
    if (c->drop) c->drop(c->state);
    for (int i = 0; i < 20; i++) {
        double sum = 0;
        for (int p = 0; p < 6; p++) sum += (double)a[i / 4 * 6 + p] * (double)b[p * 4 + i % 4];
        EXPECT_NEAR(y[i], sum, 1e-6);
    }
}

/* The same for the other instruction sets: this program again, with DYNC_CPU. */
#if defined(__linux__)
extern int setenv(const char *, const char *, int), unsetenv(const char *);
extern long readlink(const char *, char *, size_t);
TEST(every_instruction_set)
{
    char path[400], command[500];
    long n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (getenv("DYNC_CPU") || n <= 0) return;
    path[n] = 0;
    static const char *const cpus[] = {"avx2", "none"};
    for (int i = 0; i < 2; i++) {
        setenv("DYNC_CPU", cpus[i], 1);
        snprintf(command, sizeof command, "'%s' > /dev/null", path);
        EXPECT_EQ_INT(system(command), 0);
    }
    unsetenv("DYNC_CPU");
}
#endif

TEST_MAIN
