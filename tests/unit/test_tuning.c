/* runtime/perf.c, runtime/tune.c, base/pool.c: the table of DYNC_LOG=perf, options "autotune" and
 * "threads", loops whose workers are late. */
#include "../../src/dync.in.h"
#include "../../src/runtime/plan.h"
#include "../test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_set_log(""))

static dync_tensor *chain(dync_tensor *x, dync_tensor *y)
{
    return dync_sum(dync_mul(dync_gelu(x), y), dync_shape(1), false);
}
static void read_file(const char *path, char *text, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, room - 1, f) : 0;
    text[n] = '\0';
    if (f) fclose(f);
}
static void run_with(const char *options, int runs)
{
    DYNC_SCOPE {
        dync_compiled *f = dync_compile(chain, .options = options), *plain = dync_compile(chain);
        dync_tensor *x = dync_randn(dync_shape(64, 300)), *y = dync_randn(dync_shape(64, 300)),
                    *want = dync_call(plain, x, y);
        for (int i = 0; i < runs; i++) DYNC_SCOPE {
            EXPECT(dync_allclose(dync_call(f, x, y), want, 1e-5, 1e-5));
        }
        dync_compiled_free(f);
        dync_compiled_free(plain);
    }
    EXPECT_OK(dync_error());
}

TEST(perf_prints_a_table_after_runs_1_and_10)
{
    char text[16384];
    if (!EXPECT(freopen("test_tuning.log", "wb", stderr) != NULL)) return;
    dync_set_log("perf");
    run_with("", 12);
    dync_set_log("");
    fflush(stderr);
    read_file("test_tuning.log", text, sizeof text);
    remove("test_tuning.log");
    const char *first = strstr(text, "run 1, best times; peak "),
               *tenth = strstr(text, "run 10, best times");
    EXPECT(first != NULL && tenth != NULL && first < tenth && strstr(text, "run 11,") == NULL);
    EXPECT(strstr(text, "GFLOP/s") != NULL && strstr(text, "GB/s") != NULL &&
           strstr(text, " us ") != NULL);
}

/* Steps of the plan that was run once. */
static int steps_with(const char *options)
{
    char text[16384];
    int n = 0;
    if (!EXPECT(freopen("test_tuning.log", "wb", stderr) != NULL)) return -1;
    dync_set_log("perf");
    run_with(options, 1);
    dync_set_log("");
    fflush(stderr);
    read_file("test_tuning.log", text, sizeof text);
    remove("test_tuning.log");
    const char *plain = strstr(text, "GraphModule"),
               *table = plain ? strstr(plain + 1, "GraphModule") : NULL;
    for (const char *p = table; p && (p = strstr(p, " GFLOP/s ")); p++) n++;
    return n;
}
/* An option is what stands there, not what a value contains. */
TEST(options_are_not_searched_for)
{
    int fused = steps_with(""), apart = steps_with("no_fuse");
    EXPECT(fused > 0 && apart > fused);
    EXPECT_EQ_INT(steps_with("autotune=test_no_fuse.txt"), fused);
    EXPECT_EQ_INT(steps_with("no_fuse=false"), fused);
    EXPECT_EQ_INT(steps_with("no_fuse=off, fast_math"), fused);
    EXPECT_EQ_INT(steps_with("opt_level=0"), apart);
    EXPECT_EQ_INT(steps_with("opt_level=1, no_fuse=on"), apart);
    remove("test_no_fuse.txt");
}
TEST(autotune_remembers_in_a_file)
{
    char text[4096], again[4096];
    remove("test_tuning.txt");
    run_with("autotune=test_tuning.txt", 2);
    read_file("test_tuning.txt", text, sizeof text);
    EXPECT(strlen(text) > 8 && strchr(text, '\n') != NULL);
    run_with("autotune=test_tuning.txt, threads=1", 2);
    read_file("test_tuning.txt", again, sizeof again);
    EXPECT_EQ_STR(again, text);
    remove("test_tuning.txt");
    run_with("autotune", 1);
    run_with("autotune=/nowhere/at/all", 1);
}
TEST(a_damaged_file_of_autotune_does_no_harm)
{
    FILE *f = fopen("test_damaged.txt", "wb");
    if (!EXPECT(f != NULL)) return;
    fputs("zzz\n\n12 99\n1 2 3 4 5\nffffffffffffffffffffffff 1f\nan exceedingly long line that is "
          "longer than the buffer which reads the lines of this file\n",
          f);
    fclose(f);
    run_with("autotune=test_damaged.txt", 1);
    remove("test_damaged.txt");
}

static void count(void *user, int part, int n_parts)
{
    (void)n_parts;
    DYNC__ATOMIC_STORE(&((int32_t *)user)[part], ((int32_t *)user)[part] + 1);
}
TEST(threads_option_limits_loops)
{
    dync__pool_set_threads(4);
    run_with("threads=2", 3);
    EXPECT_EQ_INT(dync__tls.most_threads, 0);
    dync__tls.most_threads = 2;
    EXPECT_EQ_INT(dync__pool_threads(), 2);
    dync__tls.most_threads = 9;
    EXPECT_EQ_INT(dync__pool_threads(), 4);
    dync__tls.most_threads = 0;
}
/* dync__pool_worth answers by whether workers are awake: what asks it must give the same bits
 * either way. */
static void same_bits(dync_tensor *(*run)(uint64_t), uint64_t seed)
{
    DYNC_SCOPE {
        dync_tensor *want = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            dync__pool_set_threads(threads);
            for (uint64_t until = dync__now_ns() + 400000; dync__now_ns() < until && threads == 3;)
                dync__pause(40);
            dync_manual_seed(seed);
            dync_tensor *y = run(seed);
            if (threads == 1)
                want = y;
            else
                EXPECT(dync_equal(y, want));
        }
    }
    EXPECT_OK(dync_error());
}
static int64_t size(uint64_t *seed, int64_t most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 1 + (int64_t)((*seed >> 33) % (uint64_t)most);
}
static dync_tensor *any_product(uint64_t seed)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F32};
    dync_dtype dtype = dtypes[seed % 4];
    int64_t m = size(&seed, 200), n = size(&seed, 200), k = size(&seed, 400), b = size(&seed, 9);
    bool left = size(&seed, 2) == 1, right = size(&seed, 2) == 1;
    dync_tensor *x = dync_randn(left ? dync_shape(b, m, k) : dync_shape(b, k, m), .dtype = dtype),
                *y = dync_randn(right ? dync_shape(k, n) : dync_shape(n, k), .dtype = dtype);
    return dync_matmul(left ? x : dync_transpose(x, 1, 2), right ? y : dync_transpose(y, 0, 1));
}
static dync_tensor *any_convolution(uint64_t seed)
{
    int64_t groups = size(&seed, 2), c = groups * size(&seed, 20), o = groups * size(&seed, 40),
            h = 3 + size(&seed, 20), w = 3 + size(&seed, 20), kernel = size(&seed, 3);
    dync_tensor *x = dync_randn(dync_shape(size(&seed, 3), c, h, w)),
                *weight = dync_randn(dync_shape(o, c / groups, kernel, kernel));
    dync_requires_grad_(x, true);
    dync_requires_grad_(weight, true);
    dync_tensor *y = dync_conv2d(x, weight, NULL, dync_shape(size(&seed, 2), 1), dync_shape(1, 0),
                                 dync_shape(1, 1), (int)groups);
    dync_backward(dync_sum(dync_mul(y, y), DYNC_ALL, false));
    return dync_cat(dync_tuple(dync_reshape(y, dync_shape(-1)),
                               dync_reshape(dync_grad(x), dync_shape(-1)),
                               dync_reshape(dync_grad(weight), dync_shape(-1))),
                    0);
}
static dync_tensor *any_attention(uint64_t seed)
{
    int64_t b = size(&seed, 3), h = size(&seed, 4), e = 8 * size(&seed, 8), l = size(&seed, 90),
            s = size(&seed, 90);
    dync_tensor *q = dync_randn(dync_shape(b, h, l, e)), *k = dync_randn(dync_shape(b, h, s, e)),
                *v = dync_randn(dync_shape(b, h, s, e));
    dync_requires_grad_(q, true);
    dync_requires_grad_(k, true);
    dync_tensor *y = dync_scaled_dot_product_attention(q, k, v, NULL, 0, false, DYNC_NONE);
    dync_backward(dync_sum(dync_mul(y, y), DYNC_ALL, false));
    return dync_cat(dync_tuple(dync_reshape(y, dync_shape(-1)),
                               dync_reshape(dync_grad(q), dync_shape(-1)),
                               dync_reshape(dync_grad(k), dync_shape(-1))),
                    0);
}
TEST(awake_or_asleep_the_bits_are_the_same)
{
    for (uint64_t seed = 1; seed <= 24; seed++) {
        same_bits(any_product, seed);
        same_bits(any_convolution, seed);
        same_bits(any_attention, seed);
    }
    dync__pool_set_threads(0);
}
TEST(every_part_runs_once_whoever_is_late)
{
    dync__pool_set_threads(7);
    for (int round = 0; round < 3000; round++) {
        int32_t times[40] = {0};
        int n = 2 + round % 38;
        /* they sleep */
        if (round % 500 == 499)
            for (uint64_t until = dync__now_ns() + 2000000; dync__now_ns() < until;)
                dync__pause(40);
        dync__pool_run(count, times, n);
        for (int i = 0; i < n; i++)
            if (!EXPECT(times[i] == 1)) return;
    }
}
TEST_MAIN
