/* cuda/ptx*.c: random kernels of loop IR as PTX, run by the emulator, against the oracle of
 * loop/eval.c; sums; random numbers. */
#include "agree.h"
extern int setenv(const char *, const char *, int);
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static void random_kernels(int count, bool reductions)
{
    int made = 0;
    for (int i = 0; i < count; i++) {
        random_kernel g;
        random_build(&g, reductions);
        bool ok = true;
        if (g.stored && !g.k->failed) {
            dync__error_guard guard;
            dync__error_guard_begin(&guard);
            dync__kernel_schedule(g.k);
            ok = agree(g.k, g.elements, test_random() % 2 ? 1 : 0, test_random() % 4 == 0 ? 1 : 0,
                       0);
            (void)dync__error_guard_end(&guard);
            made++;
        }
        dync__arena_free(&g.arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            return;
        }
    }
    EXPECT(made > count / 3 && unsupported <= count / 50 + (random_long != 0));
    dync_shutdown();
    EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, 0);
    EXPECT_EQ_INT(cuemu_live_bytes(), 0);
}
TEST(random_pointwise) { random_kernels(250, false); }
TEST(random_reductions) { random_kernels(300, true); }

/* Rows that are split over blocks, phase by phase, in rows and in columns, in place too. */
#if !defined(LONG_KERNELS)
#define LONG_KERNELS 14
#endif
TEST(random_long_rows)
{
    setenv("CUEMU_UNITS", "64", 1);
    random_long = 66000;
    random_kernels(LONG_KERNELS, true);
}

/* Shapes of every way to lay a reduction over threads: sums and extremes along rows and columns,
 * few long rows, many short ones. */
TEST(reductions_of_every_shape)
{
    static const int64_t sizes[][2] = {{1, 1},    {1, 5},    {1, 32},   {1, 100000}, {3, 40000},
                                       {7, 1024}, {5, 1030}, {64, 33},  {300, 4},    {1000, 1},
                                       {33, 257}, {2, 9000}, {40, 2500}};
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_I64, DYNC_F64, DYNC_U8};
    for (int s = 0; s < DYNC__COUNT_OF(sizes); s++)
        for (int way = 0; way < 3; way++)
            for (int t = 0; t < (sizes[s][0] * sizes[s][1] > 20000 ? 2 : DYNC__COUNT_OF(dtypes));
                 t++) {
                dync__arena arena = {0};
                int64_t rows = sizes[s][0], inner = sizes[s][1], extent[2] = {rows, inner},
                        elements[4] = {rows * inner, rows, rows, rows};
                int64_t by_row[2] = {inner, 1}, by_column[2] = {1, rows}, out[2] = {1, 0};
                dync__kernel *k = dync__kernel_new(&arena, "reduce", 1, 2, extent);
                dync__lb b = {.k = k, .section = 1};
                int x = dync__kernel_buf(k, 0, dtypes[t], DYNC__BUF_IN, elements[0], NULL),
                    type = dync__dtype_info(dtypes[t])->compute;
                int v =
                    dync__lb_load(&b, x, dync__kernel_access(k, 0, way == 1 ? by_column : by_row));
                int sum = dync__lb_reduce(&b, DYNC__R_SUM, v),
                    most = dync__lb_reduce(&b, DYNC__R_MAX, v),
                    place = dync__lb_reduce(&b, DYNC__R_ARGMIN, v);
                b.section = 2;
                int at = dync__kernel_access(k, 0, out);
                dync__lb_store(&b, dync__kernel_buf(k, 1, type, DYNC__BUF_OUT, rows, NULL), at,
                               sum);
                dync__lb_store(&b, dync__kernel_buf(k, 2, type, DYNC__BUF_OUT, rows, NULL), at,
                               most);
                dync__lb_store(&b, dync__kernel_buf(k, 3, DYNC_I64, DYNC__BUF_OUT, rows, NULL), at,
                               place);
                bool ok = agree(k, elements, way == 2, way == 2, 0);
                if (!ok)
                    printf("  rows %lld inner %lld way %d dtype %d\n", (long long)rows,
                           (long long)inner, way, dtypes[t]);
                dync__arena_free(&arena);
                if (!EXPECT(ok)) return;
            }
}

/* Chains of rounded operators on halves, in pairs: every way to mix them with constants, numbers
 * for all lanes and f32. */
TEST(pairs_of_halves)
{
    static const double constants[] = {1.5, -0.0, 0.1, 65504, 3e38, 1e-7};
    int pairs = 0;
    for (int i = 0; i < 80; i++) {
        dync__arena arena = {0};
        int dtype = i % 2 ? DYNC_F16 : DYNC_BF16, value[24], n = 0;
        int64_t extent[2] = {test_random_int(1, 5),
                             i % 3 == 0 ? test_random_int(1, 90) : 8 * test_random_int(1, 12)},
                elements[5];
        int64_t dense[2] = {extent[1], 1}, row[2] = {1, 0}, column[2] = {0, 1};
        bool sums = i % 5 == 0;
        dync__kernel *k = dync__kernel_new(&arena, "halves", sums, 2, extent);
        dync__lb b = {.k = k, .section = 1};
        for (int x = 0; x < 3; x++)
            elements[x] = x == 0 ? extent[0] * extent[1] : x == 1 ? extent[0] : extent[1];
        for (int x = 0; x < 3; x++)
            value[n++] =
                dync__lb_load(&b, dync__kernel_buf(k, x, dtype, DYNC__BUF_IN, elements[x], NULL),
                              dync__kernel_access(k, 0,
                                                  x == 0   ? dense
                                                  : x == 1 ? row
                                                           : column));
        value[n++] = dync__lb_f(&b, DYNC_F32, constants[test_random_int(0, 5)]);
        while (n < 20) {
            static const int prims[] = {DYNC__P_add, DYNC__P_sub, DYNC__P_mul, DYNC__P_neg,
                                        DYNC__P_abs, DYNC__P_max, DYNC__P_div};
            int prim = prims[test_random_int(0, 6)], a = value[test_random_int(0, n - 1)],
                c = value[test_random_int(0, n - 1)];
            int v =
                dync__lb_op(&b, prim, a, prim == DYNC__P_neg || prim == DYNC__P_abs ? -1 : c, -1);
            value[n++] = test_random() % 5 ? dync__lb_wrap(&b, v, dtype) : v;
        }
        elements[3] = elements[4] = elements[0];
        for (int x = 0; x < 2 && !sums; x++)
            dync__lb_store(
                &b,
                dync__kernel_buf(k, 3 + x, x ? DYNC_F32 : dtype, DYNC__BUF_OUT, elements[3], NULL),
                dync__kernel_access(k, 0, dense), value[n - 1 - x]);
        if (sums) {
            int most = dync__lb_reduce(&b, DYNC__R_MAX, value[n - 1]);
            b.section = 2;
            dync__lb_store(&b, dync__kernel_buf(k, 3, DYNC_F32, DYNC__BUF_OUT, elements[3], NULL),
                           dync__kernel_access(k, 0, row), most);
        }
        dync__kernel_schedule(k);
        bool host[MAX_BUFS] = {false};
        dync__ptx_text text;
        if (dync__ptx_kernel(k, host, 8, false, &text) == DYNC_OK)
            pairs += strstr(dync__str_get(&text.text), "of pairs") != NULL;
        dync__str_free(&text.text);
        bool ok = agree(k, elements, i % 2, i % 7 == 0, 0);
        dync__arena_free(&arena);
        if (!EXPECT(ok)) {
            printf("  kernel %d\n", i);
            return;
        }
    }
    EXPECT(pairs > 25);
}

/* Rounding the sum, difference or product of two halves to f32 and then to the half is rounding it
 * once: all of f16's products and sums with some numbers, random ones of bf16, and the halves about
 * its least ones. */
TEST(rounding_twice_is_rounding_once)
{
    for (int dtype = DYNC_F16; dtype <= DYNC_BF16; dtype++)
        for (int i = 0; i < 150000; i++) {
            uint16_t h[2] = {(uint16_t)i, (uint16_t)test_random()}, once, twice;
            /* small: products below the least normal */
            if (i % 3 == 1) h[0] &= 0x83ff, h[1] &= 0xbfff;
            double x = dync__load_f64(&h[0], dtype), y = dync__load_f64(&h[1], dtype);
            if (!(x - x + (y - y) >= 0)) continue;
            /* exact, or far enough apart to be so in all that matters */
            double exact[3] = {x * y, x + y, x - y};
            for (int k = 0; k < 3; k++) {
                dync__store_f64(&once, dtype, exact[k]);
                float f = (float)exact[k];
                dync__store_f64(&twice, dtype, (double)f);
                if (once != twice) {
                    EXPECT_EQ_INT(once, twice);
                    printf("  %g %g\n", x, y);
                    return;
                }
            }
        }
}

/* Numbers drawn are the CPU's: to the bit, where it has fused multiply-add, as every GPU; uniform
 * ones everywhere. */
TEST(random_numbers)
{
    for (int normal = 0; normal < 2; normal++)
        for (int type = DYNC_F32; type <= DYNC_F64; type++) {
            dync__arena arena = {0};
            int64_t n = 1000, stride = 1, elements[] = {n};
            dync__kernel *k = dync__kernel_new(&arena, "draws", 0, 1, &n);
            dync__lb b = {.k = k, .section = 1};
            int at = dync__lb_index(&b, dync__kernel_access(k, 12345, &stride));
            dync__lb_store(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_OUT, n, NULL),
                           dync__kernel_access(k, 0, &stride),
                           dync__lb_random(&b, at, type, normal));
            k->uses_random = true;
            double tol = !normal || dync__has_fma() ? 0
                         : type == DYNC_F64         ? TOL_F64_CHAIN
                                                    : TOL_F32_CHAIN;
            EXPECT(agree(k, elements, 0, 0, tol));
            dync__arena_free(&arena);
        }
}
TEST_MAIN
