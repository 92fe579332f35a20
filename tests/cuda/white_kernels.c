/* cuda/ptx*.c: random kernels of loop IR as PTX, run by the emulator, against the oracle of loop/eval.c; sums; random numbers. */
#include "cuda_white.h"
#include "../unit/codegen_random.h"
#include "../tol.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static int unsupported;

static bool near(const void *a, const void *b, int dtype, int64_t i, double tol)
{
    int bytes = dync__dtype_info(dtype)->bytes;
    double u = dync__load_f64((const char *)a + i * bytes, dtype), v = dync__load_f64((const char *)b + i * bytes, dtype);
    return same(a, b, dtype, i) || fabs(u - v) <= tol * (fabs(v) > 1 ? fabs(v) : 1);
}

/* Runs k on the device and by the oracle on equal random data; shift: bytes by which its memory is off the usual boundary, in elements. */
static bool agree(const dync__kernel *k, const int64_t *elements, int wild, int shift, double tol)
{
    char *host[2][MAX_BUFS];
    void *device[MAX_BUFS], *at[MAX_BUFS];
    bool on_host[MAX_BUFS] = {false}, ok = true;
    size_t size[MAX_BUFS];
    for (int i = 0; i < k->buf.n; i++) {
        int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
        size[i] = (size_t)(elements[i] + shift) * (size_t)bytes;
        for (int w = 0; w < 2; w++) host[w][i] = calloc(size[i] + 1, 1);
        fill(host[0][i], k->buf.at[i].dtype, elements[i] + shift, wild);
        memcpy(host[1][i], host[0][i], size[i]);
        device[i] = dync__cuda_alloc(DYNC_CUDA, size[i]);
        if (!EXPECT(device[i] != NULL)) return false;
        at[i] = (char *)device[i] + (size_t)shift * (size_t)bytes;
        if (size[i]) EXPECT_OK(dync__cuda_copy(DYNC_CUDA, device[i], DYNC_CPU, host[0][i], size[i]));
    }
    void *code = dync__cuda_kernel_new(DYNC_CUDA, k, on_host);
    if (!code && dync_error() == DYNC_ERR_UNSUPPORTED) unsupported++;
    else ok = EXPECT(code != NULL) && EXPECT_OK(dync__cuda_run(code, at, 7, 100));
    for (int i = 0; ok && code && i < k->buf.n; i++) {
        int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
        if (size[i]) ok = EXPECT_OK(dync__cuda_copy(DYNC_CPU, host[0][i], DYNC_CUDA, device[i], size[i]));
        at[i] = host[1][i] + (size_t)shift * (size_t)bytes;
    }
    if (ok && code) ok = EXPECT_OK(dync__kernel_eval(k, at, 7, 100));
    for (int i = 0; ok && code && i < k->buf.n; i++)
        for (int64_t e = 0; ok && e < elements[i] + shift; e++)
            if (!near(host[0][i], host[1][i], k->buf.at[i].dtype, e, tol)) {
                int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
                printf("  buffer %d element %lld: got %.9g, oracle %.9g\n", i, (long long)e - shift, dync__load_f64(host[0][i] + e * bytes, k->buf.at[i].dtype),
                       dync__load_f64(host[1][i] + e * bytes, k->buf.at[i].dtype));
                ok = false;
            }
    if (!ok) {
        dync__str text = {0};
        dync__kernel_print(&text, k);
        if (code) dync__cuda_code_dump(&text, code);
        printf("%s%s\n", dync__str_get(&text), cuemu_detail());
        dync__str_free(&text);
    }
    dync__cuda_code_free(code);
    for (int i = 0; i < k->buf.n; i++) {
        dync__cuda_free(DYNC_CUDA, device[i], size[i]);
        free(host[0][i]);
        free(host[1][i]);
    }
    return ok;
}

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
            ok = agree(g.k, g.elements, test_random() % 2 ? 1 : 0, test_random() % 4 == 0 ? 1 : 0, 0);
            (void)dync__error_guard_end(&guard);
            made++;
        }
        dync__arena_free(&g.arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            return;
        }
    }
    EXPECT(made > count / 3 && unsupported <= count / 50);
    dync_shutdown();
    EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, 0);
    EXPECT_EQ_INT(cuemu_live_bytes(), 0);
}
TEST(random_pointwise) { random_kernels(250, false); }
TEST(random_reductions) { random_kernels(300, true); }

/* Shapes of every way to lay a reduction over threads: sums and extremes along rows and columns, few long rows, many short ones. */
TEST(reductions_of_every_shape)
{
    static const int64_t sizes[][2] = {{1, 1}, {1, 5}, {1, 32}, {1, 100000}, {3, 40000}, {7, 1024}, {5, 1030}, {64, 33}, {300, 4}, {1000, 1}, {33, 257}, {2, 9000}, {40, 2500}};
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_I64, DYNC_F64, DYNC_U8};
    for (int s = 0; s < DYNC__COUNT_OF(sizes); s++)
        for (int way = 0; way < 3; way++)
            for (int t = 0; t < (sizes[s][0] * sizes[s][1] > 20000 ? 2 : DYNC__COUNT_OF(dtypes)); t++) {
                dync__arena arena = {0};
                int64_t rows = sizes[s][0], inner = sizes[s][1], extent[2] = {rows, inner}, elements[4] = {rows * inner, rows, rows, rows};
                int64_t by_row[2] = {inner, 1}, by_column[2] = {1, rows}, out[2] = {1, 0};
                dync__kernel *k = dync__kernel_new(&arena, "reduce", 1, 2, extent);
                dync__lb b = {.k = k, .section = 1};
                int x = dync__kernel_buf(k, 0, dtypes[t], DYNC__BUF_IN, elements[0], NULL), type = dync__dtype_info(dtypes[t])->compute;
                int v = dync__lb_load(&b, x, dync__kernel_access(k, 0, way == 1 ? by_column : by_row));
                int sum = dync__lb_reduce(&b, DYNC__R_SUM, v), most = dync__lb_reduce(&b, DYNC__R_MAX, v), place = dync__lb_reduce(&b, DYNC__R_ARGMIN, v);
                b.section = 2;
                int at = dync__kernel_access(k, 0, out);
                dync__lb_store(&b, dync__kernel_buf(k, 1, type, DYNC__BUF_OUT, rows, NULL), at, sum);
                dync__lb_store(&b, dync__kernel_buf(k, 2, type, DYNC__BUF_OUT, rows, NULL), at, most);
                dync__lb_store(&b, dync__kernel_buf(k, 3, DYNC_I64, DYNC__BUF_OUT, rows, NULL), at, place);
                bool ok = agree(k, elements, way == 2, way == 2, 0);
                if (!ok) printf("  rows %lld inner %lld way %d dtype %d\n", (long long)rows, (long long)inner, way, dtypes[t]);
                dync__arena_free(&arena);
                if (!EXPECT(ok)) return;
            }
}

/* Numbers drawn are the CPU's: uniform ones to the bit, normal ones to the last place of the double they are computed in. */
TEST(random_numbers)
{
    for (int normal = 0; normal < 2; normal++)
        for (int type = DYNC_F32; type <= DYNC_F64; type++) {
            dync__arena arena = {0};
            int64_t n = 1000, stride = 1, elements[] = {n};
            dync__kernel *k = dync__kernel_new(&arena, "draws", 0, 1, &n);
            dync__lb b = {.k = k, .section = 1};
            int at = dync__lb_index(&b, dync__kernel_access(k, 12345, &stride));
            dync__lb_store(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_OUT, n, NULL), dync__kernel_access(k, 0, &stride), dync__lb_random(&b, at, type, normal));
            k->uses_random = true;
            EXPECT(agree(k, elements, 0, 0, !normal ? 0 : type == DYNC_F32 ? 1e-7 : 1e-14));
            dync__arena_free(&arena);
        }
}
TEST_MAIN
