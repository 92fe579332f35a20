/* kernel/gemm_brief.c, the products of a small program, beside those of gemm.c and beside sums of
 * single elements: random sizes, strides, dtypes and addends; and a sum does not depend on where in
 * the product it stands. */
#include "../../src/dync.in.h"
#include "../../src/kernel/gemm.h"
#include "../test.h"
#include "../tol.h"

enum { MOST = 1 << 12 };
static _Alignas(64) char a_room[MOST * 8], b_room[MOST * 8], c_room[MOST * 8], d_room[MOST * 8],
    other[MOST * 8];
static const int dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16,
                             DYNC_I64, DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8};

static void fill(char *at, int dtype)
{
    int bytes = dync__dtype_info(dtype)->bytes;
    for (int i = 0; i < MOST; i++, at += bytes)
        if (dync__dtype_info(dtype)->kind == 'f')
            dync__store_f64(at, dtype, test_random_real(-1, 1));
        else
            dync__store_i64(at, dtype, (int64_t)test_random());
}

/* Strides of a matrix: rows or columns dense, with a gap or none, or columns apart. */
static void strides(int64_t rows, int64_t columns, int64_t *row, int64_t *col)
{
    int64_t gap = test_random_int(0, 2) == 0 ? test_random_int(1, 5) : 0;
    bool turned = test_random_int(0, 1);
    int64_t step = test_random_int(0, 5) == 0 ? 2 : 1;
    *row = turned ? step : columns * step + gap;
    *col = turned ? rows * step + gap : step;
}

static dync__gemm random_product(int dtype, bool dense_c)
{
    dync__gemm g = {.m = test_random_int(1, 24),
                    .n = test_random_int(1, 24),
                    .k = test_random_int(0, 30),
                    .a = a_room,
                    .b = b_room,
                    .c = c_room};
    if (test_random_int(0, 5) == 0) g.n = 1;
    if (test_random_int(0, 5) == 0) g.m = 1;
    g.type = dtype == DYNC_F64 ? DYNC__GT_F64 : DYNC__GT_F32;
    strides(g.m, g.k, &g.a_row, &g.a_col);
    strides(g.k, g.n, &g.b_row, &g.b_col);
    strides(g.m, g.n, &g.c_row, &g.c_col);
    if (dense_c) g.c_row = g.n, g.c_col = 1;
    switch (test_random_int(0, 3)) {
    case 0: g.d = g.c, g.d_row = g.c_row; break;
    case 1: g.d = d_room, g.d_row = test_random_int(0, 1) ? g.n + 3 : 0; break;
    case 2: g.d = d_room, g.d_row = 1, g.bias = true; break;
    default: break;
    }
    return g;
}

/* Element (i, j) by itself, from c as it was. */
static void one(const dync__gemm *g, int dtype, const char *was, int64_t i, int64_t j, char *to)
{
    int64_t bytes = dync__dtype_info(dtype)->bytes, d_col = g->d == g->c ? g->c_col : !g->bias;
    const char *d = !g->d ? NULL : (g->d == g->c ? was : g->d) + (i * g->d_row + j * d_col) * bytes;
    bool real = dync__dtype_info(dtype)->kind == 'f';
    double sum = 0, start = real && d ? dync__load_f64(d, dtype) : 0;
    uint64_t count = !real && d ? (uint64_t)dync__load_i64(d, dtype) : 0;
    for (int64_t p = 0; p < g->k; p++) {
        const char *x = g->a + (i * g->a_row + p * g->a_col) * bytes,
                   *y = g->b + (p * g->b_row + j * g->b_col) * bytes;
        if (real)
            sum += dync__load_f64(x, dtype) * dync__load_f64(y, dtype);
        else
            count += (uint64_t)dync__load_i64(x, dtype) * (uint64_t)dync__load_i64(y, dtype);
    }
    if (real)
        dync__store_f64(to, dtype, start + sum);
    else
        dync__store_i64(to, dtype, (int64_t)count);
}

/* of a sum, relative to 1 */
static double tolerance(int dtype)
{
    return dtype == DYNC_F64   ? TOL_F64_CHAIN
           : dtype == DYNC_F32 ? TOL_F32_SUM
           : dtype == DYNC_F16 ? TOL_F16_1ULP
                               : TOL_BF16_1ULP;
}

TEST(beside_single_elements)
{
    for (int round = 0; round < 900; round++) {
        int dtype = dtypes[round % (int)(sizeof dtypes / sizeof *dtypes)],
            bytes = dync__dtype_info(dtype)->bytes;
        dync__gemm g = random_product(dtype, false);
        char want[8];
        fill(a_room, dtype), fill(b_room, dtype), fill(c_room, dtype), fill(d_room, dtype);
        memcpy(other, c_room, sizeof other);
        dync__gemm_brief(&g, dtype);
        for (int64_t i = 0; i < g.m; i++)
            for (int64_t j = 0; j < g.n; j++) {
                const char *got = g.c + (i * g.c_row + j * g.c_col) * bytes;
                one(&g, dtype, other, i, j, want);
                if (dync__dtype_info(dtype)->kind != 'f')
                    EXPECT(memcmp(want, got, (size_t)bytes) == 0);
                else
                    EXPECT(fabs(dync__load_f64(want, dtype) - dync__load_f64(got, dtype)) <=
                           tolerance(dtype) * (1 + fabs(dync__load_f64(want, dtype))));
                memcpy(other + (got - g.c), got, (size_t)bytes);
            }
        EXPECT(memcmp(other, c_room, sizeof other) == 0); /* nothing else was written */
    }
}

TEST(beside_the_ways_of_gemm)
{
    for (int round = 0; round < 300; round++) {
        int dtype = round % 2 ? DYNC_F32 : DYNC_F64;
        dync__gemm g = random_product(dtype, round % 3 != 0), h = g;
        fill(a_room, dtype), fill(b_room, dtype), fill(c_room, dtype), fill(d_room, dtype);
        memcpy(other, c_room, sizeof other);
        h.c = other;
        if (g.d == g.c) h.d = other;
        dync__gemm_brief(&g, dtype);
        dync__gemm_run(&h);
        for (int i = 0; i < MOST; i++) {
            int at = i * dync__dtype_info(dtype)->bytes;
            EXPECT(fabs(dync__load_f64(c_room + at, dtype) - dync__load_f64(other + at, dtype)) <=
                   tolerance(dtype));
        }
    }
}

/* Rows and columns by themselves have the bits of the whole. */
TEST(sums_do_not_depend_on_their_place)
{
    for (int round = 0; round < 200; round++) {
        int dtype = round % 4 ? DYNC_F32 : DYNC_F64, bytes = dync__dtype_info(dtype)->bytes;
        dync__gemm g = random_product(dtype, false);
        g.d = NULL;
        fill(a_room, dtype), fill(b_room, dtype);
        dync__gemm_brief(&g, dtype);
        int64_t i = test_random_int(0, (int)g.m - 1), j = test_random_int(0, (int)g.n - 1);
        dync__gemm row = g, column = g;
        row.m = 1, row.a = g.a + i * g.a_row * bytes, row.c = other;
        dync__gemm_brief(&row, dtype);
        for (int64_t l = 0; l < g.n; l++)
            EXPECT(memcmp(other + l * g.c_col * bytes, g.c + (i * g.c_row + l * g.c_col) * bytes,
                          (size_t)bytes) == 0);
        column.n = 1, column.b = g.b + j * g.b_col * bytes, column.c = other;
        dync__gemm_brief(&column, dtype);
        for (int64_t l = 0; l < g.m; l++)
            EXPECT(memcmp(other + l * g.c_row * bytes, g.c + (l * g.c_row + j * g.c_col) * bytes,
                          (size_t)bytes) == 0);
    }
}

static int64_t told[2];
static void tell(void *user, int64_t begin, int64_t end)
{
    EXPECT(user == told);
    told[0] += end - begin, told[1]++;
}

TEST(rows_are_told_once)
{
    for (int round = 0; round < 50; round++) {
        dync__gemm g = random_product(DYNC_F32, false);
        fill(a_room, DYNC_F32), fill(b_room, DYNC_F32), fill(c_room, DYNC_F32);
        g.done = tell, g.user = told, told[0] = told[1] = 0;
        dync__gemm_brief(&g, DYNC_F32);
        EXPECT(told[0] == g.m && told[1] == 1);
    }
}
TEST_MAIN
