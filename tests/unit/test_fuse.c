/* Fusion: the golden files of tests/ir, the options, long programs, and every allocation that can
 * fail. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include "../../tools/opt.h"
#include "test.h"

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    return dync__file_read(path, &text, &n) == DYNC_OK ? text : NULL;
}

/* Runs from the repository's root, as every test does. */
static int each_golden(void (*fn)(const char *path, const char *text))
{
    DIR *dir = opendir("tests/ir");
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        char path[512];
        size_t length = strlen(e->d_name);
        if (length < 5 || strcmp(e->d_name + length - 4, ".txt") != 0) continue;
        snprintf(path, sizeof path, "tests/ir/%s", e->d_name);
        char *text = read_text(path);
        if (!EXPECT(text != NULL)) continue;
        fn(path, text);
        dync__free(text, strlen(text) + 1);
        n++;
    }
    if (dir) closedir(dir);
    return n;
}

static void compare(const char *path, const char *text)
{
    dync__str out = {0};
    const char *wanted = opt_expectation(text);
    EXPECT(wanted != NULL);
    EXPECT_OK(opt_run(text, NULL, &out));
    if (wanted && strcmp(wanted, dync__str_get(&out)) != 0)
        printf("%s differs; if it should: make golden-update\n", path);
    EXPECT_EQ_STR(dync__str_get(&out), wanted);
    dync__str_free(&out);
    if (!wanted) return;
    EXPECT_OK(opt_run(wanted, "", &out)); /* print(parse(t)) == t */
    EXPECT_EQ_STR(dync__str_get(&out), wanted);
    dync__str_free(&out);
}
TEST(golden_files) { EXPECT(each_golden(compare) >= 15); }

/* Every allocation of a run fails once: the status says so, the steps are as they were, nothing
 * leaks. */
static dync_status (*fuse)(dync__arena *, dync__fuse_step *, int *,
                           const dync__fuse_options *) = dync__fuse;
static void fail_everywhere(const char *path, const char *text)
{
    static opt_program p, before;
    int64_t live = dync__mem_read_stats().live_bytes;
    (void)path;
    for (int64_t nth = 1;; nth++) {
        dync_clear_error();
        if (!EXPECT(opt_read(&p, text))) return;
        dync__fuse_options options = {.keep = opt_keep, .user = &p};
        memcpy(&before, &p, sizeof p);
        dync__mem_fail_at(nth);
        dync_status status = fuse(&p.arena, p.step, &p.n_steps, &options);
        dync__mem_fail_at(0);
        if (status != DYNC_OK) {
            EXPECT_STATUS(status, DYNC_ERR_MEMORY);
            EXPECT_STATUS(dync_error(), DYNC_ERR_MEMORY);
            EXPECT(p.n_steps == before.n_steps && memcmp(p.step, before.step, sizeof p.step) == 0);
        }
        dync__arena_free(&p.arena);
        if (!EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, live)) return;
        if (status == DYNC_OK || !EXPECT(nth < 100000)) return;
    }
}
TEST(failing_allocations)
{
    each_golden(fail_everywhere);
    fuse = dync__fuse_brief;
    each_golden(fail_everywhere);
    fuse = dync__fuse;
}

/* What a small program merges: kernels of the same loops, and of their rows; not through other
 * shapes. */
static int brief_steps(const char *path)
{
    static opt_program p;
    char *text = read_text(path);
    if (!EXPECT(text != NULL) || !EXPECT(opt_read(&p, text))) return -1;
    dync__fuse_options options = {.keep = opt_keep, .user = &p};
    EXPECT_OK(dync__fuse_brief(&p.arena, p.step, &p.n_steps, &options));
    for (int i = 0; i < p.n_steps; i++)
        if (p.step[i].k) EXPECT_OK(dync__kernel_check(p.step[i].k));
    dync__arena_free(&p.arena);
    dync__free(text, strlen(text) + 1);
    return p.n_steps;
}
TEST(brief)
{
    EXPECT_EQ_INT(brief_steps("tests/ir/softmax.txt"), 1);
    EXPECT_EQ_INT(brief_steps("tests/ir/layernorm.txt"), 1);
    EXPECT_EQ_INT(brief_steps("tests/ir/transposed.txt"), 3);
}

static const char *two_steps =
    "kernel a(in x f32[8] @0, out y f32[8] @1) inner i0<8 {\n  phase 0 {\n    v0 = load x[i0]\n  "
    "  v1 = sqrt v0\n    store y[i0], v1\n  }\n}\n"
    "kernel b(in y f32[8] @1, out z f32[8] @2) inner i0<8 {\n  phase 0 {\n    v0 = load y[i0]\n  "
    "  v1 = neg v0\n    store z[i0], v1\n  }\n}\n";

static int fused_steps(dync__fuse_options options, bool keep_all)
{
    static opt_program p;
    EXPECT(opt_read(&p, two_steps));
    p.keep_all = keep_all;
    p.keep[p.n_keep++] = 2;
    options.user = &p;
    EXPECT_OK(dync__fuse(&p.arena, p.step, &p.n_steps, &options));
    int stores = 0;
    for (int i = 0; i < p.n_steps; i++) {
        EXPECT_OK(dync__kernel_check(p.step[i].k));
        for (int j = 0; j < p.step[i].k->inst.n; j++)
            stores += !dync__inst_has_value(&p.step[i].k->inst.at[j]);
    }
    dync__arena_free(&p.arena);
    return p.n_steps * 10 + stores;
}

TEST(options)
{
    EXPECT_EQ_INT(fused_steps((dync__fuse_options){.keep = opt_keep}, false), 11);
    EXPECT_EQ_INT(fused_steps((dync__fuse_options){.keep = opt_keep}, true), 12);
    /* nobody to ask: all are kept */
    EXPECT_EQ_INT(fused_steps((dync__fuse_options){0}, false), 12);
    EXPECT_EQ_INT(fused_steps((dync__fuse_options){.off = true, .keep = opt_keep}, false), 22);
    /* five instructions are too many */
    EXPECT_EQ_INT(fused_steps((dync__fuse_options){.max_insts = 4, .keep = opt_keep}, true), 22);
}

/* Six kernels of 26 instructions, each of what the one before gives: how many are left. */
static int long_ones(int max_insts)
{
    enum { N = 6, SIZE = 8, LONG = 24 };
    dync__arena arena = {0};
    dync__fuse_step step[N];
    static opt_program p;
    int64_t extent = SIZE, one = 1;
    int n = N;
    memset(&p, 0, sizeof p);
    for (int i = 0; i < N; i++) {
        dync__kernel *k = dync__kernel_new(&arena, "long", 0, 1, &extent);
        dync__lb b = {k, 1, NULL, false};
        int x = dync__lb_load(&b, dync__kernel_buf(k, i, DYNC_F32, DYNC__BUF_IN, SIZE, NULL),
                              dync__kernel_access(k, 0, &one));
        for (int j = 0; j < LONG; j++) x = dync__lb_op(&b, DYNC__P_sqrt, x, -1, -1);
        dync__lb_store(&b, dync__kernel_buf(k, i + 1, DYNC_F32, DYNC__BUF_OUT, SIZE, NULL),
                       dync__kernel_access(k, 0, &one), x);
        step[i] = (dync__fuse_step){k, 0, 0, NULL, NULL, NULL};
    }
    p.keep[p.n_keep++] = N;
    dync__fuse_options options = {.max_insts = max_insts, .keep = opt_keep, .user = &p};
    EXPECT_OK(dync__fuse(&arena, step, &n, &options));
    for (int i = 0; i < n; i++) EXPECT_OK(dync__kernel_check(step[i].k));
    dync__arena_free(&arena);
    return n;
}

/* Straight kernels end where one turn of their loop fills a processor; who says how long they may
 * be has them as long. */
TEST(straight_kernels)
{
    EXPECT_EQ_INT(long_ones(0), 3);
    EXPECT_EQ_INT(long_ones(400), 1);
}

/* A chain longer than two windows: x -> x + 1 a thousand times. */
TEST(long_programs)
{
    enum { N = 1000, SIZE = 5 };
    dync__arena arena = {0};
    static dync__fuse_step step[N];
    static opt_program p;
    static float data[N + 1][SIZE];
    int64_t extent = SIZE, one = 1;
    int n = N;
    for (int i = 0; i < N; i++) {
        dync__kernel *k = dync__kernel_new(&arena, "next", 0, 1, &extent);
        dync__lb b = {k, 1, NULL, false};
        int x = dync__lb_load(&b, dync__kernel_buf(k, i, DYNC_F32, DYNC__BUF_IN, SIZE, NULL),
                              dync__kernel_access(k, 0, &one));
        x = dync__lb_op(&b, DYNC__P_add, x, dync__lb_f(&b, DYNC_F32, 1), -1);
        dync__lb_store(&b, dync__kernel_buf(k, i + 1, DYNC_F32, DYNC__BUF_OUT, SIZE, NULL),
                       dync__kernel_access(k, 0, &one), x);
        step[i] = (dync__fuse_step){k, 0, 0, NULL, NULL, NULL};
    }
    p.keep[p.n_keep++] = N;
    dync__fuse_options options = {.keep = opt_keep, .user = &p};
    EXPECT_OK(dync__fuse(&arena, step, &n, &options));
    EXPECT(n <= 4);
    for (int i = 0; i < n; i++) {
        void *buffers[DYNC__LOOP_MAX_DIMS];
        for (int b = 0; b < step[i].k->buf.n; b++) buffers[b] = data[step[i].k->buf.at[b].id];
        EXPECT_OK(dync__kernel_check(step[i].k));
        EXPECT_OK(dync__kernel_eval(step[i].k, buffers, 0, 0));
    }
    for (int i = 0; i < SIZE; i++) EXPECT_NEAR(data[N][i], N, 0);
    dync__arena_free(&arena);
}

/* One slot seen as two dtypes: bits pass through memory. */
TEST(reinterpreted)
{
    dync__str out = {0};
    EXPECT_OK(opt_run(
        "# passes: fuse\n# keep: 2\n"
        "kernel a(in x f32[8] @0, out y bf16[8] @1) inner i0<8 {\n  phase 0 {\n    v0 = load "
        "x[i0]\n    store y[i0], v0\n  }\n}\n"
        "kernel b(in y f16[8] @1, out z f32[8] @2) inner i0<8 {\n  phase 0 {\n    v0 = load "
        "y[i0]\n    store z[i0], v0\n  }\n}\n",
        NULL, &out));
    EXPECT_HAS_STR(dync__str_get(&out), "kernel a(");
    EXPECT_HAS_STR(dync__str_get(&out), "kernel b(");
    dync__str_free(&out);
    EXPECT_OK(opt_run(
        "# passes: fuse\n"
        "kernel a(in x f32[8] @0, out y f32[8] @1) inner i0<8 {\n  phase 0 {\n    v0 = load "
        "x[i0]\n    store y[i0], v0\n  }\n}\n"
        "kernel b(in x i32[8] @0, out z i32[8] @2) inner i0<8 {\n  phase 0 {\n    v0 = load "
        "x[i0]\n    store z[i0], v0\n  }\n}\n",
        NULL, &out));
    EXPECT_HAS_STR(dync__str_get(&out), "kernel b(in x i32[8] @0");
    dync__str_free(&out);
}

TEST(nothing_to_do)
{
    dync__arena arena = {0};
    int n = 0;
    dync__fuse_options options = {0};
    EXPECT_OK(dync__fuse(&arena, NULL, &n, &options));
    EXPECT_EQ_INT(n, 0);
}

/* Kernels that run over nothing pass unchanged; so do rank-0 kernels, which fuse. */
TEST(empty_and_scalar)
{
    dync__str out = {0};
    EXPECT_OK(opt_run(
        "# passes: fuse schedule\n# keep: 2\n"
        "kernel a(in x f32[0] @0, out y f32[0] @1) inner i0<0 {\n  phase 0 {\n    v0 = load "
        "x[i0]\n    store y[i0], v0\n  }\n}\n"
        "kernel b(in y f32[0] @1, out z f32[0] @2) inner i0<0 {\n  phase 0 {\n    v0 = load "
        "y[i0]\n    store z[i0], v0\n  }\n}\n",
        NULL, &out));
    EXPECT_HAS_STR(dync__str_get(&out), "kernel b(");
    dync__str_free(&out);
    EXPECT_OK(opt_run(
        "# passes: fuse schedule\n# keep: 2\n"
        "kernel a(in x f32[1] @0, out y f32[1] @1) {\n  phase 0 {\n    v0 = load x[0]\n    store "
        "y[0], v0\n  }\n}\n"
        "kernel b(in y f32[1] @1, out z f32[1] @2) inner i0<1 {\n  row 0 {\n    v0 = load y[0]\n "
        "   v1 = neg v0\n    store z[0], v1\n  }\n}\n",
        NULL, &out));
    EXPECT_HAS_STR(dync__str_get(&out), "kernel a_b(in x f32[1] @0, out z f32[1] @2)");
    dync__str_free(&out);
}
TEST_MAIN
