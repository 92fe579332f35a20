/* codegen/interp*.c: the tile interpreter against the oracle of loop/eval.c, on random kernels in
 * every mode, and by hand. */
#include "../../src/dync.in.h"
#include "../../src/codegen/interp.h"
#include "../../src/codegen/target.h"
#include "../../tools/ir/ir.h"
#include "codegen_random.h"
#include "../tol.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static dync__code *interpreted(const dync__kernel *k)
{
    return dync__code_new_for(k, dync__target_level(), false);
}

/* Runs k by the interpreter, or as the library does, and by the oracle on equal random data; true
 * where every output agrees. */
static bool agrees(const dync__kernel *k, const int64_t *elements, int wild, bool jit)
{
    void *mine[MAX_BUFS], *theirs[MAX_BUFS];
    bool ok = true;
    for (int i = 0; i < k->buf.n; i++) {
        size_t bytes = (size_t)elements[i] * dync__dtype_info(k->buf.at[i].dtype)->bytes;
        mine[i] = malloc(bytes + 1);
        theirs[i] = malloc(bytes + 1);
        fill(mine[i], k->buf.at[i].dtype, elements[i], wild);
        memcpy(theirs[i], mine[i], bytes);
    }
    dync__code *code = jit ? dync__code_new(k) : interpreted(k);
    ok = EXPECT(code != NULL) && EXPECT_OK(dync__kernel_eval(k, theirs, 7, 100)) &&
         EXPECT_OK(dync__code_run(code, mine, 7, 100));
    for (int i = 0; ok && i < k->buf.n; i++)
        for (int64_t e = 0; ok && e < elements[i]; e++)
            if (!same(mine[i], theirs[i], k->buf.at[i].dtype, e)) {
                printf("  buffer %d element %lld: got %.9g, expected %.9g\n", i, (long long)e,
                       dync__load_f64((char *)mine[i] +
                                          e * dync__dtype_info(k->buf.at[i].dtype)->bytes,
                                      k->buf.at[i].dtype),
                       dync__load_f64((char *)theirs[i] +
                                          e * dync__dtype_info(k->buf.at[i].dtype)->bytes,
                                      k->buf.at[i].dtype));
                ok = false;
            }
    if (!ok) {
        dync__str text = {0};
        dync__kernel_print(&text, k);
        if (code) dync__code_dump(&text, code);
        printf("%s", dync__str_get(&text));
        dync__str_free(&text);
    }
    dync__code_free(code);
    for (int i = 0; i < k->buf.n; i++) {
        free(mine[i]);
        free(theirs[i]);
    }
    return ok;
}

static bool agree(const dync__kernel *k, const int64_t *elements, int wild)
{
    return agrees(k, elements, wild, false) && agrees(k, elements, wild, true);
}

static void random_kernels(int count, bool reductions)
{
    int ran = 0, modes[4] = {0, 0, 0, 0};
    for (int i = 0; i < count; i++) {
        random_kernel g;
        random_build(&g, reductions);
        bool ok = true;
        if (g.stored && !g.k->failed) {
            ok = EXPECT_OK(dync__kernel_check(g.k)) &&
                 agree(g.k, g.elements, test_random() % 2 ? (reductions ? 1 : 2) : 0);
            dync__code *code = interpreted(g.k);
            if (code) modes[code->interp->mode]++;
            dync__code_free(code);
            ran++;
        }
        dync__arena_free(&g.arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            return;
        }
    }
    EXPECT(ran > count / 2);
    EXPECT(modes[0] > ran / 20 && modes[1] > ran / 20);
    if (test__state.verbose)
        printf("  chunk %d, block %d, vertical %d, square %d\n", modes[0], modes[1], modes[2],
               modes[3]);
    EXPECT(reductions || test_met(modes[3], 1));
    EXPECT(!reductions || modes[2] > ran / 200);
    dync_shutdown();
    EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, 0);
}

/* A kernel from text on random data; sums of small integers are exact. */
static void text_kernel(const char *text, const int64_t *elements, int mode)
{
    dync__arena arena = {0};
    dync__kernel *k = dync__kernel_parse(&arena, text);
    REQUIRE(k);
    REQUIRE_OK(dync__kernel_check(k));
    dync__code *code = interpreted(k);
    REQUIRE(code);
    EXPECT_EQ_INT(code->interp->mode, mode);
    dync__code_free(code);
    EXPECT(agree(k, elements, 1));
    dync__arena_free(&arena);
}

/* Large enough for threads: rows, inner indices, and phases of few long rows. */
TEST(threads)
{
    dync__pool_set_threads(3);
    text_kernel(
        "kernel pointwise(in x f32[300000] @0, out y f32[300000] @1) inner i0<300000 {\n"
        "  phase 0 {\n    v0 = load x[i0]\n    v1 = add v0, v0\n    v2 = mul v1, v0\n    store "
        "y[i0], v2\n  }\n}\n",
        (int64_t[]){300000, 300000}, DYNC__LP_CHUNK);
    text_kernel(
        "kernel rows(in x i64[300000] @0, out y i64[3000] @1) outer o0<3000 inner i0<100 {\n"
        "  phase 0 {\n    v0 = load x[100*o0 + i0]\n    v1 = reduce.sum v0\n  }\n  row 1 {\n    "
        "store y[o0], v1\n  }\n}\n",
        (int64_t[]){300000, 3000}, DYNC__LP_BLOCK);
    text_kernel(
        "kernel long(in x f32[400002] @0, out y f32[400002] @1, out z i64[2] @2, out w f32[2] "
        "@3) outer o0<2 inner i0<200001 {\n"
        "  phase 0 {\n    v0 = load x[200001*o0 + i0]\n    v1 = reduce.max v0\n    v2 = "
        "reduce.argmin v0\n  }\n"
        "  row 1 {\n    store z[o0], v2\n  }\n"
        "  phase 1 {\n    v3 = sub v0, v1\n    v4 = abs v3\n    v5 = reduce.sum v0\n    v6 = "
        "reduce.max v4\n  }\n"
        "  phase 2 {\n    v7 = add v4, v6\n    store y[200001*o0 + i0], v7\n  }\n"
        "  row 3 {\n    store w[o0], v5\n  }\n}\n",
        (int64_t[]){400002, 400002, 2, 2}, DYNC__LP_CHUNK);
    text_kernel(
        "kernel columns(in x i32[300000] @0, out y i32[5] @1, out z i64[5] @2) outer o0<5 inner "
        "i0<60000 {\n"
        "  phase 0 {\n    v0 = load x[o0 + 5*i0]\n    v1 = reduce.sum v0\n    v2 = reduce.argmax "
        "v0\n  }\n"
        "  row 1 {\n    store y[o0], v1\n    store z[o0], v2\n  }\n}\n",
        (int64_t[]){300000, 5, 5}, DYNC__LP_VERTICAL);
    dync__pool_set_threads(0);
}

TEST(transpositions)
{
    text_kernel("kernel transpose(in x f32[30000] @0, out y f32[30000] @1) inner i0<200, i1<150 {\n"
                "  phase 0 {\n    v0 = load x[i0 + 200*i1]\n    store y[150*i0 + i1], v0\n  }\n}\n",
                (int64_t[]){30000, 30000}, DYNC__LP_SQUARE);
    text_kernel(
        "kernel permute(in x f16[30000] @0, in b f32[20] @1, out y u8[30000] @2, out z "
        "i64[30000] @3) inner i0<3, i1<100, i2<100 {\n"
        "  phase 0 {\n    v0 = load x[10000*i0 + i1 + 100*i2]\n    v1 = cast.i32 v0\n    store "
        "y[10000*i0 + 100*i1 + i2], v1\n"
        "    v2 = index [7*i0 + i1 + 3*i2 + 5]\n    v3 = cast.i64 v0\n    v4 = add v2, v3\n"
        "    store z[10000*i0 + i1 + 100*i2], v4\n  }\n}\n",
        (int64_t[]){30000, 20, 30000, 30000}, DYNC__LP_SQUARE);
}

/* 2^22 uniform numbers: a plain float sum would be off by 1e-4. */
TEST(sums_are_accurate)
{
    enum { N = 1 << 22 };
    static float x[N], y[2048];
    static const struct {
        const char *text;
        int n;
    } forms[] = {
        {"kernel all(in x f32[4194304] @0, out y f32[1] @1) inner i0<4194304 {\n  phase 0 {\n    "
         "v0 = load x[i0]\n    v1 = reduce.sum v0\n  }\n"
         "  row 1 {\n    store y[0], v1\n  }\n}\n",
         1},
        {"kernel columns(in x f32[4194304] @0, out y f32[16] @1) outer o0<16 inner i0<262144 {\n "
         " phase 0 {\n    v0 = load x[o0 + 16*i0]\n"
         "    v1 = reduce.sum v0\n  }\n  row 1 {\n    store y[o0], v1\n  }\n}\n",
         16},
        {"kernel rows(in x f32[4194304] @0, out y f32[16] @1) outer o0<16 inner i0<262144 {\n  "
         "phase 0 {\n    v0 = load x[262144*o0 + i0]\n"
         "    v1 = reduce.sum v0\n  }\n  row 1 {\n    store y[o0], v1\n  }\n}\n",
         16}};
    double exact = 0;
    for (int i = 0; i < N; i++) exact += (double)(x[i] = (float)test_random_real(0, 1));
    for (int f = 0; f < 3; f++)
        for (int threads = 1; threads <= 2; threads++) {
            dync__arena arena = {0};
            dync__code *code = interpreted(dync__kernel_parse(&arena, forms[f].text));
            void *buffers[] = {x, y};
            double sum = 0;
            dync__pool_set_threads(threads);
            REQUIRE(code);
            REQUIRE_OK(dync__code_run(code, buffers, 0, 0));
            for (int i = 0; i < forms[f].n; i++) sum += (double)y[i];
            EXPECT_NEAR(sum / exact, 1, TOL_F32_CHAIN);
            dync__code_free(code);
            dync__arena_free(&arena);
        }
    dync__pool_set_threads(0);
}

TEST(an_index_out_of_range_is_an_error)
{
    static const char text[] =
        "kernel gather(in x f32[10] @0, in i i64[4] @1, out y f32[4] @2) inner i0<4 {\n"
        "  phase 0 {\n    v0 = load i[i0]\n    v1 = loadx x[0], v0\n    store y[i0], v1\n  }\n}\n";
    dync__arena arena = {0};
    dync__code *code = interpreted(dync__kernel_parse(&arena, text));
    float x[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, y[4];
    int64_t index[4] = {3, 9, 0, 5};
    void *buffers[] = {x, index, y};
    REQUIRE(code);
    EXPECT_OK(dync__code_run(code, buffers, 0, 0));
    EXPECT(y[0] == 3 && y[1] == 9 && y[2] == 0 && y[3] == 5);
    index[2] = 10;
    EXPECT_STATUS(dync__code_run(code, buffers, 0, 0), DYNC_ERR_INDEX);
    dync_clear_error();
    index[2] = -1;
    EXPECT_STATUS(dync__code_run(code, buffers, 0, 0), DYNC_ERR_INDEX);
    dync__code_free(code);
    dync__arena_free(&arena);
}

/* Every allocation of compiling and running may fail: a clean error, nothing lost. */
static void fail_each_allocation(const dync__kernel *k, void *const *buffers)
{
    for (int nth = 1;; nth++) {
        dync__mem_fail_at(nth);
        dync__code *code = interpreted(k);
        dync_status status = code ? dync__code_run(code, buffers, 0, 0) : DYNC_ERR_MEMORY;
        dync__code_free(code);
        dync__mem_fail_at(0);
        if (status == DYNC_OK) break;
        EXPECT_STATUS(status, DYNC_ERR_MEMORY);
        EXPECT_STATUS(dync_error(), DYNC_ERR_MEMORY);
        dync_clear_error();
        REQUIRE(nth < 1000);
    }
}

TEST(memory_runs_out)
{
    static const char text[] =
        "kernel softmax(in x f32[4096] @0, out y f32[4096] @1) outer o0<2 inner i0<2048 {\n"
        "  phase 0 {\n    v0 = load x[2048*o0 + i0]\n    v1 = reduce.max v0\n  }\n"
        "  phase 1 {\n    v2 = sub v0, v1\n    v3 = abs v2\n    v4 = reduce.sum v3\n  }\n"
        "  phase 2 {\n    v5 = div v3, v4\n    store y[2048*o0 + i0], v5\n  }\n}\n";
    static float x[4096], y[4096];
    void *buffers[] = {x, y};
    dync__arena arena = {0};
    dync__kernel *k = dync__kernel_parse(&arena, text);
    REQUIRE(k);
    fail_each_allocation(k, buffers);
    dync__arena_free(&arena);
}

/* fmod of doubles, whose large quotients stand apart, among values that both sides of the skip use,
 * in one phase and across two; tiles with large quotients and without. */
static void seldom_kernel(bool reduces)
{
    enum { ROWS = 6, COLS = 700 };
    static double x[ROWS * COLS], w[ROWS * COLS], mine[2][ROWS * COLS], theirs[2][ROWS * COLS];
    dync__arena arena = {0};
    int64_t extent[] = {ROWS, COLS}, stride[] = {COLS, 1};
    dync__kernel *k = dync__kernel_new(&arena, "seldom", reduces ? 1 : 0, 2, extent);
    dync__lb b = {k, 1, NULL, false};
    int access = dync__kernel_access(k, 0, stride);
    int a =
        dync__lb_load(&b, dync__kernel_buf(k, 0, DYNC_F64, DYNC__BUF_IN, ROWS * COLS, "x"), access);
    int d =
        dync__lb_load(&b, dync__kernel_buf(k, 1, DYNC_F64, DYNC__BUF_IN, ROWS * COLS, "w"), access);
    int r = dync__vm_fmod(&b, a, d),
        again = dync__vm_fmod(
            &b, r, dync__lb_op(&b, DYNC__P_mul, d, dync__lb_f(&b, DYNC_F64, 0x1p-300), -1));
    if (reduces) {
        int sum = dync__lb_reduce(&b, DYNC__R_MAX, r);
        b.section = 3;
        r = dync__lb_op(&b, DYNC__P_sub, r, sum, -1);
    }
    dync__lb_store(&b, dync__kernel_buf(k, 2, DYNC_F64, DYNC__BUF_OUT, ROWS * COLS, "r"), access,
                   r);
    dync__lb_store(&b, dync__kernel_buf(k, 3, DYNC_F64, DYNC__BUF_OUT, ROWS * COLS, "again"),
                   access, again);
    for (int i = 0; i < ROWS * COLS; i++) {
        x[i] = i / COLS == 2 && i % 50 == 0 ? ldexp(test_random_real(1, 2), 900)
                                            : test_random_real(-9, 9);
        w[i] = i / COLS == 3 && i % 7 == 0 ? 0x1p-1060 : test_random_real(0.1, 2);
    }
    REQUIRE_OK(dync__kernel_check(k));
    void *run[] = {x, w, mine[0], mine[1]}, *oracle[] = {x, w, theirs[0], theirs[1]};
    dync__code *code = interpreted(k);
    REQUIRE(code != NULL);
    EXPECT_OK(dync__code_run(code, run, 0, 0));
    EXPECT_OK(dync__kernel_eval(k, oracle, 0, 0));
    EXPECT(memcmp(mine, theirs, sizeof mine) == 0);
    dync__str text = {0};
    dync__code_dump(&text, code);
    EXPECT_HAS_STR(dync__str_get(&text), "skip");
    dync__str_free(&text);
    dync__code_free(code);
    fail_each_allocation(k, run);
    dync__arena_free(&arena);
}
TEST(what_is_seldom_needed_is_skipped)
{
    seldom_kernel(false);
    seldom_kernel(true);
}

TEST(random_pointwise) { random_kernels(test_count(1500), false); }
TEST(random_reductions) { random_kernels(test_count(3000), true); }

TEST_MAIN
