/* codegen/jit.c, x86_*.c: machine code against the tile interpreter and the oracle of loop/eval.c:
 * random kernels, large expressions that spill, by hand; for AVX2 and AVX-512; code memory. */
#include "codegen_agree.h"

static void random_kernels(int count, bool reductions)
{
    int best = dync__target_level();
    n_jitted = n_declined = n_strips = 0;
    for (int i = 0; i < count; i++) {
        random_kernel g;
        random_build(&g, reductions);
        bool ok = true;
        for (int isa = 1; isa <= best && g.stored && !g.k->failed && ok; isa++)
            ok = agree(g.k, g.elements, test_random() % 2 ? (reductions ? 1 : 2) : 0, isa, true);
        dync__arena_free(&g.arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            return;
        }
    }
    if (test__state.verbose)
        printf("  machine code %lld, of it in strips %lld, interpreted %lld\n", (long long)n_jitted,
               (long long)n_strips, (long long)n_declined);
    EXPECT(best == 0 || random_lanes || n_jitted > count / 3);
    dync_shutdown();
    EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, 0);
    EXPECT_EQ_INT(dync__codemem_read_stats().chunks, 0);
}

TEST(random_pointwise) { random_kernels(test_count(1200), false); }
TEST(random_reductions)
{
    random_kernels(test_count(1200), true);
    EXPECT(dync__target_level() == 0 || n_strips > 20);
}

/* Rows, and rows side by side, of every length around a few vectors: whole vectors at once, whole
 * ones behind them, a part of one. */
static void random_lengths(bool reductions)
{
    for (random_lanes = 1; random_lanes <= 200; random_lanes++) {
        random_draws = random_lanes % 8 == 0;
        random_kernels(4, reductions);
    }
    random_lanes = random_draws = 0;
}
TEST(lengths_pointwise) { random_lengths(false); }
TEST(lengths_reductions) { random_lengths(true); }

/* With random numbers: from pools and lane by lane, in phases and in rows, with other readers of
 * their indices. */
TEST(random_draws_pointwise)
{
    random_draws = true;
    random_kernels(test_count(600), false);
    random_draws = false;
}
TEST(random_draws_reductions)
{
    random_draws = random_short = true;
    random_kernels(test_count(300), true);
    random_short = false;
    random_kernels(test_count(300), true);
    random_draws = false;
}

/* Running sums that round: machine code adds in the interpreter's order, and stays near the exact
 * sums. Along rows of any length and across them, with what comes before and after in the same
 * loops, in one phase or two, fast and from the frame (many sums at once). */
static int scan_kernel(dync__lb *b, int64_t *elements, bool across, int sums, int dtype)
{
    dync__kernel *k = b->k;
    int64_t rows = k->extent[0], length = k->extent[1], n = rows * length,
            stride[2] = {across ? 1 : length, across ? rows : 1}, back[2] = {stride[0], -stride[1]};
    int access = dync__kernel_access(k, 0, stride),
        reversed = dync__kernel_access(k, (length - 1) * stride[1], back), last = -1, buf = 0;
    int x = dync__lb_load(b, dync__kernel_buf(k, buf, dtype, DYNC__BUF_IN, n, NULL),
                          test_random() % 4 ? access : reversed);
    int type = dync__lb_type(b, x) == DYNC_I32 || dync__lb_type(b, x) == DYNC_I64 ? DYNC_I64
               : test_random() % 4 ? dync__lb_type(b, x)
                                   : DYNC_F64;
    x = dync__lb_cast(b, x, type);
    elements[buf++] = n;
    for (int s = 0; s < sums; s++) {
        int factor = type != DYNC_I64 ? dync__lb_f(b, type, 1 + s * 0.37)
                                      : dync__lb_i(b, type, 1 + s),
            v = dync__lb_scan(b, dync__lb_op(b, DYNC__P_mul, x, factor, -1));
        last = last < 0 ? v : dync__lb_op(b, s % 3 == 2 ? DYNC__P_max : DYNC__P_sub, v, last, -1);
    }
    if (test_random() % 3 == 0) { /* divided by its sum: a second phase */
        int sum = dync__lb_reduce(b, DYNC__R_MAX, last);
        b->section = 3;
        last = dync__lb_op(b, DYNC__P_sub, last, sum, -1);
    }
    int out = dync__lb_cast(b, last, dync__dtype_info(dtype)->compute);
    dync__lb_store(b, dync__kernel_buf(k, buf, dtype, DYNC__BUF_OUT, n, NULL), access,
                   dync__lb_wrap(b, out, dtype));
    elements[buf++] = n;
    return type;
}

TEST(running_sums)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64,  DYNC_I64, DYNC_I32,
                                 DYNC_F16, DYNC_BF16, DYNC_U8};
    int best = dync__target_level();
    n_jitted = n_declined = 0;
    for (int i = 0; i < test_count(400); i++) {
        dync__arena arena = {0};
        bool across = test_random() % 2;
        int64_t elements[MAX_BUFS],
            extent[2] = {test_random_int(1, across ? 150 : 9), test_random_int(2, i % 10   ? 70
                                                                                  : across ? 300
                                                                                           : 3000)};
        dync__kernel *k = dync__kernel_new(&arena, "scan", 1, 2, extent);
        dync__lb b = {.k = k, .section = 1};
        scan_kernel(&b, elements, across, test_random() % 4 ? 1 : test_random_int(2, 9),
                    dtypes[i % 7]);
        bool ok = EXPECT_OK(dync__kernel_check(k));
        for (int isa = 1; isa <= best && ok; isa++)
            ok = agree(k, elements, test_random() % 4 ? 2 : 0, isa, false);
        dync__arena_free(&arena);
        if (!EXPECT(ok)) return;
    }
    EXPECT(best == 0 || n_declined == 0);
}

/* Expressions of up to 500 values, each used again at random: far more than there are registers. */
static int seldom(dync__lb *b, int condition, int x, int y)
{
    dync__inst in = dync__inst_make(DYNC__P_select, dync__lb_type(b, x), condition, x, y);
    in.imm.i = 1;
    return dync__lb_add(b, &in);
}

/* A cone over x: values that only seldom-taken choices want, with wider types inside; some reach
 * out of it, which undoes it. */
static int cone(dync__lb *b, int condition, int x, const int *live, int count, int *more)
{
    int type = dync__lb_type(b, x), inside[40], n = 1, last = -1;
    bool wider = type == DYNC_F32 && test_random() % 2;
    inside[0] = wider ? dync__lb_cast(b, x, DYNC_F64) : dync__lb_op(b, DYNC__P_add, x, x, -1);
    while (n < 16) {
        int p = inside[test_random_int(0, n - 1)], q = inside[test_random_int(0, n - 1)],
            of = dync__lb_type(b, p);
        inside[n] =
            test_random() % 3 == 0 ? dync__lb_op(b, DYNC__P_max, p, q, -1)
            : test_random() % 2
                ? dync__lb_op(b, DYNC__P_sub, p,
                              of == DYNC_I32 ? dync__lb_i(b, of, 3) : dync__lb_f(b, of, 0.75), -1)
                : dync__lb_op(b, DYNC__P_mul, p, q, -1);
        n++;
    }
    for (int m = 0, members = test_random_int(1, 3); m < members; m++) {
        int far = dync__lb_cast(b, inside[n - 1 - m], type),
            at = live[test_random_int(0, count - 1)];
        if (test_random() % 8 == 0) at = far;
        if (test_random() % 3 == 0) at = dync__lb_op(b, DYNC__P_add, at, x, -1);
        int y = seldom(b, condition, far, at);
        last = last < 0 ? y : dync__lb_op(b, DYNC__P_sub, last, y, -1);
    }
    *more = test_random() % 6 ? -1 : dync__lb_cast(b, inside[5], type);
    return last;
}

TEST(random_expressions_spill)
{
    static const int prims[] = {DYNC__P_add, DYNC__P_sub, DYNC__P_mul, DYNC__P_max,    DYNC__P_min,
                                DYNC__P_fma, DYNC__P_abs, DYNC__P_neg, DYNC__P_select, DYNC__P_lt};
    int best = dync__target_level();
    n_jitted = n_declined = 0;
    for (int i = 0; i < 60; i++) {
        dync__arena arena = {0};
        int64_t n = test_random_int(1, 300), stride = 1, elements[MAX_BUFS];
        int type = test_random() % 3   ? DYNC_F32
                   : test_random() % 2 ? DYNC_F64
                                       : DYNC_I32,
            nodes = test_random_int(20, 500), live[600], count = 0;
        dync__kernel *k = dync__kernel_new(&arena, "expression", 0, 1, &n);
        dync__lb b = {.k = k, .section = 1};
        int access = dync__kernel_access(k, 0, &stride);
        for (int l = 0; l < 4; l++) {
            elements[l] = n;
            live[count++] =
                dync__lb_load(&b, dync__kernel_buf(k, l, type, DYNC__BUF_IN, n, NULL), access);
        }
        int condition = dync__lb_op(&b, DYNC__P_lt, live[0], live[1], -1);
        while (count < nodes) {
            int prim = prims[test_random() % (sizeof prims / sizeof prims[0])],
                far = test_random() % 4 ? DYNC__MIN(count, 40) : count;
            int x = live[count - 1 - test_random_int(0, far - 1)],
                y = live[count - 1 - test_random_int(0, far - 1)],
                z = live[count - 1 - test_random_int(0, far - 1)];
            if (prim == DYNC__P_fma && type == DYNC_I32) continue;
            if (i % 2 && test_random() % 16 == 0) {
                int more = -1;
                live[count] = cone(&b, condition, x, live, count, &more);
                count++;
                if (more >= 0) live[count++] = more;
                continue;
            }
            if (prim == DYNC__P_lt)
                condition = dync__lb_op(&b, prim, x, y, -1);
            else if (prim == DYNC__P_select)
                live[count++] = dync__lb_op(&b, prim, condition, y, z);
            else
                live[count++] = dync__lb_op(&b, prim, x, dync__prim_info(prim)->n_args > 1 ? y : -1,
                                            dync__prim_info(prim)->n_args > 2 ? z : -1);
        }
        int sum = live[0]; /* every value is used */
        for (int v = 1; v < count; v++) sum = dync__lb_op(&b, DYNC__P_max, sum, live[v], -1);
        elements[4] = n;
        dync__lb_store(&b, dync__kernel_buf(k, 4, type, DYNC__BUF_OUT, n, NULL), access, sum);
        bool ok = !k->failed;
        for (int isa = 1; isa <= best && ok; isa++)
            ok = agree(k, elements, type == DYNC_F64 ? 0 : 2, isa, true);
        dync__arena_free(&arena);
        if (!EXPECT(ok)) {
            printf("  expression number %d\n", i);
            return;
        }
    }
    EXPECT(best == 0 || (n_jitted == 60 * best && n_declined == 0));
}

/* Arguments of sin near and far by chance, in chains, sums along and across rows, and numbers that
 * go through phases. */
TEST(seldom_choices)
{
    int (*const functions[])(dync__lb *, int) = {dync__vm_sin, dync__vm_cos, dync__vm_tan};
    int best = dync__target_level();
    n_jitted = n_declined = 0;
    dync__pool_set_threads(1);
    for (int i = 0; i < 60; i++) {
        dync__arena arena = {0};
        int64_t extent[2] = {test_random_int(1, 40), test_random_int(1, 150)}, elements[MAX_BUFS];
        bool columns = test_random() % 3 == 0, sums = test_random() % 2;
        int64_t across[2] = {columns ? 1 : extent[1], columns ? extent[0] : 1}, row[2] = {1, 0};
        int type = test_random() % 3 ? DYNC_F32 : DYNC_F64;
        dync__kernel *k = dync__kernel_new(&arena, "seldom", 1, 2, extent);
        dync__lb b = {.k = k, .section = 1};
        int access = dync__kernel_access(k, 0, across);
        elements[0] = elements[1] = elements[2] = extent[0] * extent[1];
        int x =
            dync__lb_load(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_IN, elements[0], "x"), access);
        int big = dync__lb_op(
            &b, DYNC__P_mul, x,
            dync__lb_load(&b, dync__kernel_buf(k, 1, type, DYNC__BUF_IN, elements[1], "s"), access),
            -1);
        int y = functions[test_random() % 3](&b, test_random() % 2 ? x : big);
        y = dync__lb_op(&b, DYNC__P_add, y, functions[test_random() % 3](&b, big), -1);
        if (sums) {
            int sum = dync__lb_reduce(&b, DYNC__R_MAX, y);
            b.section = 3;
            y = dync__lb_op(&b, DYNC__P_sub, y, functions[test_random() % 3](&b, sum), -1);
        }
        dync__lb_store(&b, dync__kernel_buf(k, 2, type, DYNC__BUF_OUT, elements[2], "y"), access,
                       y);
        if (sums && test_random() % 2) {
            int total = dync__lb_reduce(&b, DYNC__R_MIN, y);
            b.section = 4;
            elements[3] = extent[0];
            dync__lb_store(&b, dync__kernel_buf(k, 3, type, DYNC__BUF_OUT, extent[0], "z"),
                           dync__kernel_access(k, 0, row), functions[0](&b, total));
        }
        bool ok = !k->failed && EXPECT_OK(dync__kernel_check(k));
        for (int isa = 1; isa <= best && ok; isa++)
            ok = agree(k, elements, 2 * (int)(test_random() % 2), isa, true);
        dync__arena_free(&arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            return;
        }
    }
    EXPECT(best == 0 || (n_jitted == 60 * best && n_declined == 0));
}

/* Uniform and normal numbers, two streams of each in one kernel, some used again after a reduction;
 * normal ones are those of base/rng.c. */
TEST(draws)
{
    int best = dync__target_level();
    n_jitted = n_declined = 0;
    dync__pool_set_threads(1);
    for (int i = 0; i < 32; i++) {
        dync__arena arena = {0};
        int64_t extent[2] = {test_random_int(1, 5), test_random_int(1, 90)},
                both[2] = {extent[1], 1},
                elements[] = {extent[0] * extent[1], extent[0] * extent[1]};
        int type = i % 2 ? DYNC_F32 : DYNC_F64, phases = i / 2 % 2;
        dync__kernel *k = dync__kernel_new(&arena, "draws", phases, 2, extent);
        dync__lb b = {.k = k, .section = 1};
        int at = dync__kernel_access(k, 0, both),
            from = dync__lb_index(&b, dync__kernel_access(k, test_random_int(0, 1000), both)),
            sum = -1;
        int x = dync__lb_random(&b, from, type, true),
            y = dync__lb_random(&b, dync__lb_op(&b, DYNC__P_add, from, from, -1), type, i / 4 % 2);
        int z = dync__lb_op(&b, DYNC__P_mul, y, dync__lb_random(&b, from, type, false), -1);
        if (phases) {
            sum = dync__lb_reduce(&b, DYNC__R_MAX, z);
            b.section = 3;
            z = dync__lb_op(&b, DYNC__P_sub, z, sum, -1);
        }
        dync__lb_store(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_OUT, elements[0], "x"), at, x);
        dync__lb_store(&b, dync__kernel_buf(k, 1, type, DYNC__BUF_OUT, elements[1], "z"), at, z);
        bool ok = !k->failed && EXPECT_OK(dync__kernel_check(k));
        for (int isa = 1; isa <= best && ok; isa++) ok = agree(k, elements, 0, isa, true);
        dync__arena_free(&arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            return;
        }
    }
    EXPECT(best == 0 || (n_jitted >= 32 && n_declined == 0));
    static double drawn[1000];
    dync__arena arena = {0};
    int64_t n = 1000, one = 1;
    dync__kernel *k = dync__kernel_new(&arena, "draws", 0, 1, &n);
    dync__lb b = {.k = k, .section = 1};
    int at = dync__kernel_access(k, 0, &one);
    dync__lb_store(&b, dync__kernel_buf(k, 0, DYNC_F64, DYNC__BUF_OUT, n, "x"), at,
                   dync__lb_random(&b, dync__lb_index(&b, at), DYNC_F64, true));
    dync__code *code = dync__code_new(k);
    void *to[] = {drawn};
    EXPECT_OK(dync__code_run(code, to, 99, 12345));
    for (int i = 0; i < 1000; i++)
        EXPECT(fabs(drawn[i] - dync__rng_normal(99, (uint64_t)(12345 + i))) <=
               1e-15 * (1 + 4 * fabs(drawn[i])));
    dync__code_free(code);
    dync__arena_free(&arena);
}

/* Few long rows over threads: each phase in parts, whose results are combined. */
TEST(long_rows_over_threads)
{
    static const int kinds[] = {DYNC__R_MAX,    DYNC__R_ARGMAX, DYNC__R_SUM, DYNC__R_MIN,
                                DYNC__R_ARGMIN, DYNC__R_ANY,    DYNC__R_ALL};
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64};
    int best = dync__target_level();
    for (int threads = 2; threads <= 3; threads++)
        for (int i = 0; i < 28; i += threads - 1) {
            dync__arena arena = {0};
            int64_t extent[2] = {threads == 3 ? 2 : 1, 50000 + test_random_int(0, 9999)},
                    both[2] = {extent[1], 1}, row[2] = {1, 0};
            int64_t elements[] = {extent[0] * extent[1], extent[0], extent[0] * extent[1],
                                  extent[0]};
            int kind = kinds[i % 7], type = types[i / 7];
            dync__pool_set_threads(threads);
            dync__kernel *k = dync__kernel_new(&arena, "long", 1, 2, extent);
            dync__lb b = {.k = k, .section = 1};
            int x = dync__lb_load(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_IN, elements[0], "x"),
                                  dync__kernel_access(k, 0, both));
            bool logical = kind == DYNC__R_ANY || kind == DYNC__R_ALL;
            int of =
                logical ? dync__lb_op(
                              &b, DYNC__P_lt, x,
                              dync__lb_cast(
                                  &b, dync__lb_i(&b, DYNC_I32, kind == DYNC__R_ANY ? -8 : 9), type),
                              -1)
                        : x;
            int first = dync__lb_reduce(&b, kind, of), total = dync__lb_reduce(&b, DYNC__R_MAX, x);
            b.section = 2;
            int dtype = dync__lb_type(&b, first);
            dync__lb_store(&b, dync__kernel_buf(k, 1, dtype, DYNC__BUF_OUT, elements[1], "a"),
                           dync__kernel_access(k, 0, row), first);
            int shift = dync__lb_op(&b, DYNC__P_sub, total, dync__lb_cast(&b, first, type), -1);
            b.section = 3;
            int y = dync__lb_op(&b, DYNC__P_mul, dync__lb_op(&b, DYNC__P_sub, x, shift, -1), x, -1),
                least = dync__lb_reduce(&b, DYNC__R_MIN, y);
            dync__lb_store(&b, dync__kernel_buf(k, 2, type, DYNC__BUF_OUT, elements[2], "y"),
                           dync__kernel_access(k, 0, both), y);
            b.section = 4;
            dync__lb_store(&b, dync__kernel_buf(k, 3, type, DYNC__BUF_OUT, elements[3], "z"),
                           dync__kernel_access(k, 0, row),
                           dync__lb_op(&b, DYNC__P_add, least, total, -1));
            bool ok = !k->failed && EXPECT_OK(dync__kernel_check(k));
            for (int isa = 1; isa <= best && ok; isa++) ok = agree(k, elements, i % 2, isa, true);
            dync__arena_free(&arena);
            if (!EXPECT(ok)) {
                printf("  kernel number %d, %d threads\n", i, threads);
                return;
            }
        }
}

#if DYNC__JIT
/* Arrays larger than caches are stored past them where lines are whole, in part and not at all: the
 * interpreter's bits all the same. */
TEST(large_arrays_are_stored_past_the_caches)
{
    static const char *const forms[] = {
        "kernel flat(in x f32[%d] @0, out y f32[%d] @1) inner i0<%d {\n  phase 0 {\n    v0 = "
        "load x[i0]\n    v1 = add v0, v0\n    store y[i0 + %d], v1\n  }\n}\n",
        "kernel flat(in x f32[%d] @0, out y f16[%d] @1) inner i0<%d {\n  phase 0 {\n"
        "    v0 = load x[i0]\n    v1 = add v0, v0\n    store y[i0 + %d], v1\n  }\n}\n"};
    enum { BIG = 6000000 };
    int best = dync__target_level();
    for (int i = 0; i < 4 && best > 0; i++) {
        char text[512];
        int n = BIG - 7 * i, shift = i / 2 * 16 + i % 2;
        dync__format(text, sizeof text, forms[i / 2], n, n + shift, n, shift);
        dync__arena arena = {0};
        dync__kernel *k = dync__kernel_parse(&arena, text);
        dync__code *code = dync__code_new_for(k, best, true),
                   *plain = dync__code_new_for(k, best, false);
        float *x = dync__alloc_data(sizeof(float) * (size_t)n),
              *y = dync__alloc_data(sizeof(float) * (size_t)(n + 32)),
              *z = dync__alloc_data(sizeof(float) * (size_t)(n + 32));
        void *to[] = {x, y}, *want[] = {x, z};
        for (int e = 0; e < n; e++) x[e] = (float)(e % 1000);
        memset(y, 0, sizeof(float) * (size_t)(n + 32));
        memset(z, 0, sizeof(float) * (size_t)(n + 32));
        EXPECT(code->jit != NULL && code->jit->nontemporal != NULL);
        EXPECT_OK(dync__code_run(code, to, 0, 0));
        EXPECT_OK(dync__code_run(plain, want, 0, 0));
        EXPECT(memcmp(y, z, sizeof(float) * (size_t)(n + 32)) == 0);
        dync__free_data(x, sizeof(float) * (size_t)n);
        dync__free_data(y, sizeof(float) * (size_t)(n + 32));
        dync__free_data(z, sizeof(float) * (size_t)(n + 32));
        dync__code_free(code);
        dync__code_free(plain);
        dync__arena_free(&arena);
    }
}
#endif

/* Sums that round: the bits of the interpreter, rows one at a time, side by side, and in parts over
 * threads. */
TEST(sums_have_the_interpreters_bits)
{
    static const char *const forms[] = {
        "kernel rows(in x %s[%d] @0, out y %s[%d] @1) outer o0<%d inner i0<%d {\n  phase 0 {\n   "
        " v0 = load x[%d*o0 + %d*i0]\n    v1 = reduce.sum v0\n  }\n"
        "  row 1 {\n    store y[o0], v1\n  }\n}\n",
        "kernel rows(in x %s[%d] @0, out y %s[%d] @1) outer o0<%d inner i0<%d {\n  phase 0 {\n   "
        " v0 = load x[%d*o0 + %d*i0]\n    v1 = reduce.prod v0\n  }\n"
        "  row 1 {\n    store y[o0], v1\n  }\n}\n",
        "kernel rows(in x %s[%d] @0, out y %s[%d] @1) outer o0<%d inner i0<%d {\n  phase 0 {\n   "
        " v0 = load x[%d*o0 + %d*i0]\n    v1 = reduce.sum v0\n    v2 = mul v0, v0\n"
        "    v3 = reduce.sum v2\n    v4 = reduce.max v0\n  }\n"
        "  row 1 {\n    v5 = sub v3, v1\n    v6 = add v5, v4\n    store y[o0], v6\n  }\n}\n"};
    for (int i = 0; i < test_count(300); i++) {
        /* tall: sixteen rows at a time */
        bool tall = i % 12 == 8, product = i % 8 == 0 && !tall,
             wide = test_random() % 3 == 0 && i != 8, columns = tall || test_random() % 3 == 0;
        int rows = columns ? test_random_int(2048, 2100) : test_random_int(1, 5),
            n = test_random_int(1, product || columns  ? 40
                                   : test_random() % 2 ? 2000
                                                       : 140);
        if (i % 10 == 9)
            product = columns = false, rows = test_random_int(1, 2),
            n = i % 20 == 9 ? 16384 * test_random_int(1, 8) + test_random_int(-140, 140)
                            : test_random_int(16384, 300000);
        if (tall) n = i == 8 ? 4200 : test_random_int(257, 600);
        dync__pool_set_threads(i % 3 + 1);
        char text[512];
        dync__format(text, sizeof text,
                     forms[product ? 1
                           : i % 3 ? 0
                                   : 2],
                     wide ? "f64" : "f32", rows * n, wide ? "f64" : "f32", rows, rows, n,
                     columns ? 1 : n, columns ? rows : 1);
        dync__arena arena = {0};
        dync__kernel *k = dync__kernel_parse(&arena, text);
        REQUIRE(k);
        bool ok = true;
        for (int isa = 1; isa <= dync__target_level() && ok; isa++) {
            double *x = malloc((size_t)(rows * n) * 8), *y = malloc((size_t)rows * 16),
                   *z = y + rows;
            for (int e = 0; e < rows * n; e++) {
                if (wide)
                    x[e] = test_random_real(product ? 0.5 : -1, 2);
                else
                    ((float *)x)[e] = (float)test_random_real(product ? 0.5 : -1, 2);
            }
            dync__code *code = dync__code_new_for(k, isa, true),
                       *plain = dync__code_new_for(k, isa, false);
            REQUIRE(code && plain && code->jit);
            EXPECT(!tall || code->jit->state_bytes > 0);
            code->ns = 1e6;
            void *mine[] = {x, y}, *theirs[] = {x, z};
            ok = EXPECT_OK(dync__code_run(code, mine, 0, 0)) &&
                 EXPECT_OK(dync__code_run(plain, theirs, 0, 0)) &&
                 (product || EXPECT(memcmp(y, z, (size_t)rows * (wide ? 8 : 4)) == 0));
            /* the interpreter multiplies one after another */
            for (int e = 0; e < rows && product && ok; e++)
                ok = wide ? EXPECT_NEAR(y[e] / z[e], 1, TOL_F32_CHAIN)
                          : ((float *)z)[e] == 0 ||
                                EXPECT_NEAR((double)((float *)y)[e] / (double)((float *)z)[e], 1,
                                            TOL_F32_CHAIN);
            if (!ok) printf("  isa %d %s: %s", isa, wide ? "f64" : "f32", text);
            dync__code_free(code);
            dync__code_free(plain);
            free(x);
            free(y);
        }
        dync__arena_free(&arena);
        if (!ok) return;
    }
    dync__pool_set_threads(0);
}

/* Uniform numbers: the bits of base/rng.c, at any offset. */
TEST(random_numbers)
{
    for (int i = 0; i < 30; i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int64_t n = test_random_int(1, 200), stride = 1, elements[] = {n};
            int type = isa == 2 && test_random() % 2 ? DYNC_F64 : DYNC_F32;
            dync__kernel *k = dync__kernel_new(&arena, "draws", 0, 1, &n);
            dync__lb b = {.k = k, .section = 1};
            int at = dync__lb_index(&b, dync__kernel_access(k, test_random_int(0, 1000), &stride));
            dync__lb_store(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_OUT, n, NULL),
                           dync__kernel_access(k, 0, &stride),
                           dync__lb_random(&b, at, type, false));
            n_jitted = 0;
            EXPECT(agree(k, elements, 0, isa, true));
            EXPECT_EQ_INT(n_jitted, 1);
            dync__arena_free(&arena);
        }
}

/* argmax and argmin: few different values, so that there are ties, with NaN, infinities and -0
 * among them; rows one at a time and side by side. */
TEST(places_of_extremes)
{
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BF16, DYNC_U8};
    n_jitted = n_declined = 0;
    for (int i = 0; i < test_count(200); i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int64_t rows = test_random_int(1, 70), columns = test_random_int(1, i % 5 ? 90 : 700),
                    extent[] = {rows, columns}, stride[] = {0, 0}, out[] = {1, 0};
            int64_t elements[] = {rows * columns, rows};
            bool across = i % 3 == 0;
            stride[0] = across ? 1 : columns;
            stride[1] = across ? rows : 1;
            dync__kernel *k = dync__kernel_new(&arena, "places", 1, 2, extent);
            dync__lb b = {.k = k, .section = 1};
            int x = dync__lb_load(
                &b, dync__kernel_buf(k, 0, types[test_random_int(0, 5)], DYNC__BUF_IN, -1, NULL),
                dync__kernel_access(k, 0, stride));
            int at = dync__lb_reduce(&b, test_random() % 2 ? DYNC__R_ARGMAX : DYNC__R_ARGMIN, x);
            b.section = 2;
            dync__lb_store(&b, dync__kernel_buf(k, 1, DYNC_I64, DYNC__BUF_OUT, -1, NULL),
                           dync__kernel_access(k, 0, out), at);
            EXPECT(agree(k, elements, (int)(i % 4 == 0) * 2, isa, true));
            dync__arena_free(&arena);
        }
    EXPECT_EQ_INT(n_declined, 0);
}

/* Kernels of one structure share code; other sizes are other words of the argument block. */
static const char chain[] =
    "kernel chain(in x f32[%d] @0, out y f32[%d] @1) inner i0<%d {\n  phase 0 {\n    v0 = load "
    "x[i0]\n    v1 = mul v0, v0\n"
    "    v2 = add v1, v0\n    store y[i0], v2\n  }\n}\n";
static dync__code *make_chain(dync__arena *arena, int n)
{
    char text[512];
    dync__format(text, sizeof text, chain, n, n, n);
    dync__kernel *k = dync__kernel_parse(arena, text);
    return k ? dync__code_new(k) : NULL;
}
static bool run_chain(const dync__code *code, int n)
{
    float *x = malloc((size_t)n * 4), *y = malloc((size_t)n * 4);
    bool ok = true;
    for (int i = 0; i < n; i++) x[i] = (float)(i % 100);
    void *buffers[] = {x, y};
    ok = dync__code_run(code, buffers, 0, 0) == DYNC_OK;
    for (int i = 0; ok && i < n; i++) ok = y[i] == x[i] * x[i] + x[i];
    free(x);
    free(y);
    return ok;
}

TEST(equal_structures_share_code)
{
    dync__arena arena = {0};
    dync__jit_stats before = dync__jit_read_stats();
    dync__code *a = make_chain(&arena, 1000), *b = make_chain(&arena, 5001),
               *c = make_chain(&arena, 10);
    REQUIRE(a && b && c);
    EXPECT(run_chain(a, 1000) && run_chain(b, 5001) && run_chain(c, 10));
    dync__jit_stats after = dync__jit_read_stats();
    if (dync__target_level() > 0) {
        /* ten elements take one vector at once */
        EXPECT_EQ_INT(after.kernels - before.kernels, 2);
        EXPECT_EQ_INT(after.shared - before.shared, 1);
    }
    dync__code_free(a);
    dync__code_free(b);
    dync__code_free(c);
    dync__arena_free(&arena);
}

/* Of all sizes: one loop's extent is a symbol; `turned`: x is walked across. Where memory is
 * crossed in blocks sizes decide more than expressions say. */
static dync__code *make_sized(dync__arena *arena, int64_t n, bool turned)
{
    const char *text = turned
                           ? "kernel turned(in x f32[?] @0, out y f32[?] @1) inner i0<64, "
                             "i1<512 {\n  phase 0 {\n    v0 = load x[i0 + 64*i1]\n    v1 = mul v0, "
                             "v0\n    store y[512*i0 + i1], v1\n  }\n}\n"
                           : "kernel along(in x f32[?] @0, out y f32[?] @1) inner i0<64, "
                             "i1<512 {\n  phase 0 {\n    v0 = load x[600*i0 + i1]\n    v1 = mul "
                             "v0, v0\n    store y[512*i0 + i1], v1\n  }\n}\n";
    dync__kernel *k = dync__kernel_parse(arena, text);
    if (!k) return NULL;
    k->extent[0] = n;
    for (int i = 0; turned && i < k->access.n; i++)
        if (k->access.at[i].stride[1] == 64) k->access.at[i].stride[1] = n;
    return dync__is_token(n) ? dync__code_sized(k) : dync__code_new(k);
}

static bool run_turned(const dync__code *c, int n)
{
    static float x[600 * 512], y[600 * 512];
    void *const at[2] = {x, y};
    for (int i = 0; i < n * 512; i++) x[i] = (float)(i % 97) - 40, y[i] = -1;
    if (dync__code_run(c, at, 0, 0) != DYNC_OK) return false;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 512; j++) {
            float v = x[i + n * j];
            if (y[512 * i + j] != v * v) return printf("    %d, %d of %d\n", i, j, n), false;
        }
    return true;
}

/* How large blocks are is decided once sizes are numbers, and as for those numbers alone. */
TEST(blocks_of_all_sizes)
{
    dync__arena arena = {0};
    if (dync__target_level() == 0) SKIP("no machine code here");
    dync__code *plain = make_sized(&arena, 64, true);
    REQUIRE(plain && plain->jit && plain->jit->blocks);
    EXPECT(run_turned(plain, 64));
    dync__symtab *t = dync__tls.syms = dync__symtab_new();
    int64_t n = dync__symtab_symbol(t, 64, "n", false);
    dync__code *along = make_sized(&arena, n, false), *turned = make_sized(&arena, n, true);
    EXPECT(along && along->jit && !along->jit->blocks);
    REQUIRE(turned && turned->jit && turned->jit->blocks);
    EXPECT(dync_error() == DYNC_OK && !t->failed);
    dync__sz_list list = {0};
    REQUIRE(dync__sz_list_begin(&list, t, &arena));
    dync__code_map(turned, &(dync__sz_map){&list, NULL});
    dync__sz_image image = {0};
    dync__code *laid = NULL;
    for (int i = 0; i < 2; i++) {
        dync__sz_image_begin(&image, &arena);
        laid = dync__code_lay(turned, &image);
        REQUIRE(laid && !image.failed);
    }
    static const int64_t sizes[] = {64, 1, 2, 65, 500, 600};
    dync__jit_stats before = dync__jit_read_stats();
    for (int i = 0; i < 6; i++) {
        int64_t at[64];
        REQUIRE(list.step.n <= 64 && dync__sz_list_run(&list, &sizes[i], at));
        dync__arena own = {0};
        char *copy = dync__sz_image_at(&image, at, NULL, &own);
        REQUIRE(copy != NULL);
        dync__code *one = dync__sz_image_of(&image, copy, laid);
        dync__code_settle(one, &turned, at);
        EXPECT(run_turned(one, (int)sizes[i]));
        if (sizes[i] == 64) EXPECT(dync__code_same(one, plain));
        dync__code_free(one);
        dync__arena_free(&own);
    }
    dync__arena_free(&image.block);
    EXPECT_EQ_INT(dync__jit_read_stats().kernels - before.kernels, 0);
    dync__code_free(plain);
    dync__code_free(along);
    dync__code_free(turned);
    dync__tls.syms = NULL;
    dync__symtab_free(t);
    dync__arena_free(&arena);
}

/* After fork parent and child make code of their own and keep running what they had. */
#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
TEST(fork_keeps_code_apart)
{
    dync__arena arena = {0};
    dync__code *a = make_chain(&arena, 1000);
    REQUIRE(a && run_chain(a, 1000));
    pid_t child = fork();
    bool ok = true;
    dync__code *more[20];
    for (int i = 0; i < 20; i++) { /* forms that differ in a constant */
        int64_t n = 100, stride = 1;
        dync__kernel *k = dync__kernel_new(&arena, "own", 0, 1, &n);
        dync__lb b = {.k = k, .section = 1};
        int access = dync__kernel_access(k, 0, &stride),
            x = dync__lb_load(&b, dync__kernel_buf(k, 0, DYNC_F32, DYNC__BUF_IN, n, NULL), access);
        int sum =
            dync__lb_op(&b, DYNC__P_add, x, dync__lb_f(&b, DYNC_F32, child ? i : 100 + i), -1);
        dync__lb_store(&b, dync__kernel_buf(k, 1, DYNC_F32, DYNC__BUF_OUT, n, NULL), access, sum);
        more[i] = dync__code_new(k);
        ok = ok && more[i];
    }
    for (int i = 0; i < 20 && ok; i++) {
        float x[100] = {0}, y[100];
        void *buffers[] = {x, y};
        ok = dync__code_run(more[i], buffers, 0, 0) == DYNC_OK &&
             y[0] == (float)(child ? i : 100 + i) && y[99] == y[0] && run_chain(a, 1000);
    }
    if (child == 0) _exit(!ok);
    int status = 1;
    EXPECT(ok && waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < 20; i++) dync__code_free(more[i]);
    dync__code_free(a);
    dync__arena_free(&arena);
}
#endif

TEST(code_memory_in_every_way)
{
    static const int ways[] = {DYNC__CODEMEM_TWICE, DYNC__CODEMEM_PAGES, DYNC__CODEMEM_REFUSED};
    for (int w = 0; w < 3; w++) {
        dync__arena arena = {0};
        dync__codemem_force(ways[w]);
        int64_t refused = dync__codemem_read_stats().refused;
        dync__code *code = make_chain(&arena, 3000);
        REQUIRE(code);
        if (dync__target_level() > 0)
            EXPECT_EQ_INT(code->jit != NULL, ways[w] != DYNC__CODEMEM_REFUSED);
        if (dync__target_level() > 0 && ways[w] == DYNC__CODEMEM_REFUSED)
            EXPECT_EQ_INT(dync__codemem_read_stats().refused - refused, 1);
        EXPECT(run_chain(code, 3000));
        EXPECT_OK(dync_error());
        dync__code_free(code);
        dync__arena_free(&arena);
    }
    dync__codemem_force(DYNC__CODEMEM_TWICE);
}

TEST_MAIN
