/* codegen/jit_blocks.c, gen_transpose.c: memory crossed in blocks, by machine code against the tile
 * interpreter and the oracle. */
#include "codegen_agree.h"

/* Loads and stores of any order of dims, offsets and steps back and forth: blocks turned in
 * registers, steps of -1, 2 and more. */
TEST(crossed_loops)
{
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BF16,
                                DYNC_F16, DYNC_I16, DYNC_I8,  DYNC_U8,  DYNC_BOOL};
    n_jitted = n_declined = 0;
    int64_t blocks = 0;
    for (int i = 0; i < test_count(150); i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int rank = test_random_int(1, 4), loads = test_random_int(1, 3), sum = -1,
                long_dim = test_random_int(0, rank - 1);
            int64_t extent[4], elements[4];
            for (int d = 0; d < rank; d++)
                extent[d] = d == long_dim ? test_random_int(1, 150)
                                          : test_random_int(1, rank < 3 ? 150 : 25);
            /* steps of whole pages, by way of a stage */
            if (i % 10 == 1 && rank > 1) {
                rank = 2;
                extent[0] = test_random() % 2 ? 1024 : test_random_int(20, 90);
                extent[1] = extent[0] == 1024 ? test_random_int(20, 160) : 1024;
            }
            /* a few channels beside a long loop, in either order */
            if (i % 5 == 0 && rank > 1) {
                extent[long_dim] = test_random_int(20, 700);
                extent[(long_dim + 1) % rank] = test_random_int(2, 14);
            }
            dync__kernel *k = dync__kernel_new(&arena, "crossed", 0, rank, extent);
            dync__lb b = {.k = k, .section = 1};
            int type = types[test_random_int(0, 9)], steps = i % 3 == 0;
            for (int n = 0; n <= loads; n++) { /* the last one is the store's */
                int64_t stride[4] = {0},
                        step = steps && test_random() % 2 ? test_random_int(2, 4) : 1, offset = 0;
                int order[4] = {0, 1, 2, 3};
                for (int d = rank - 1; d > 0; d--) {
                    int other = test_random_int(0, d), was = order[d];
                    order[d] = order[other];
                    order[other] = was;
                }
                for (int d = 0; d < rank && i % 4; d++) order[d] = n % 2 ? d : rank - 1 - d;
                for (int d = rank - 1; d >= 0; d--) {
                    bool back = steps && test_random() % 3 == 0,
                         still = n < loads && test_random() % 12 == 0;
                    stride[order[d]] = still ? 0 : back ? -step : step;
                    if (back && !still) offset += step * (extent[order[d]] - 1);
                    if (!still) step *= extent[order[d]];
                }
                int buf = dync__kernel_buf(
                    k, n, n < loads && test_random() % 4 == 0 ? types[test_random_int(0, 9)] : type,
                    n < loads ? DYNC__BUF_IN : DYNC__BUF_OUT, -1, NULL);
                int access = dync__kernel_access(k, offset, stride);
                elements[n] = step;
                if (n < loads) {
                    int x = dync__lb_cast(&b, dync__lb_load(&b, buf, access),
                                          dync__dtype_info(type)->compute);
                    sum = sum < 0 ? x
                                  : dync__lb_op(&b, type == DYNC_BOOL ? DYNC__P_xor_ : DYNC__P_max,
                                                sum, x, -1);
                } else {
                    dync__lb_store(&b, buf, access, sum);
                }
            }
            dync__code *code = dync__code_new_for(k, isa, true);
            blocks += code && code->jit && code->jit->blocks;
            dync__code_free(code);
            bool ok = EXPECT(agree(k, elements, type == DYNC_F32 ? 2 : 0, isa, true));
            dync__arena_free(&arena);
            if (!ok) return;
        }
    if (test__state.verbose)
        printf("  machine code %lld, in blocks %lld, interpreted %lld\n", (long long)n_jitted,
               (long long)blocks, (long long)n_declined);
    EXPECT(dync__target_level() == 0 || test_met(blocks, 30));
#if defined(__linux__)
    /* once more where transpositions are AVX2's, and where there is no such code */
    char path[400], command[500];
    extern int setenv(const char *, const char *, int), unsetenv(const char *);
    extern long readlink(const char *, char *, size_t);
    long n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (getenv("DYNC_CPU") || n <= 0) return;
    path[n] = 0;
    setenv("DYNC_CPU", "avx2", 1);
    dync__format(command, sizeof command, "'%s' -t crossed_ > /dev/null", path);
    EXPECT_EQ_INT(system(command), 0);
    unsetenv("DYNC_CPU");
#endif
}

/* More than the caches hold: what comes next is fetched ahead. */
TEST(crossed_and_large)
{
    enum { R = 1411, C = 2048 };
    int64_t extent[] = {R, C}, along[] = {C, 1}, across[] = {1, R};
    float *x = malloc(R * C * 4), *y = malloc(R * C * 4), *z = malloc(R * C * 4);
    for (int64_t i = 0; i < R * C; i++) x[i] = (float)(i % 8191), y[i] = (float)(i % 127);
    for (int store_across = 0; store_across < 2; store_across++) {
        dync__arena arena = {0};
        dync__kernel *k = dync__kernel_new(&arena, "large", 0, 2, extent);
        dync__lb b = {.k = k, .section = 1};
        int p = dync__lb_load(&b, dync__kernel_buf(k, 0, DYNC_F32, DYNC__BUF_IN, -1, NULL),
                              dync__kernel_access(k, 0, across));
        int q = dync__lb_load(&b, dync__kernel_buf(k, 1, DYNC_F32, DYNC__BUF_IN, -1, NULL),
                              dync__kernel_access(k, 0, along));
        dync__lb_store(&b, dync__kernel_buf(k, 2, DYNC_F32, DYNC__BUF_OUT, -1, NULL),
                       dync__kernel_access(k, 0, store_across ? across : along),
                       dync__lb_op(&b, DYNC__P_add, p, q, -1));
        dync__code *code = dync__code_new(k);
        void *data[] = {x, y, z};
        bool ok = EXPECT_OK(dync__code_run(code, data, 0, 0));
        for (int64_t r = 0; r < R && ok; r++)
            for (int64_t c = 0; c < C && ok; c++)
                ok = EXPECT(z[store_across ? r + c * R : r * C + c] == x[r + c * R] + y[r * C + c]);
        dync__code_free(code);
        dync__arena_free(&arena);
    }
    free(x);
    free(y);
    free(z);
}

/* Rows that are strided, reduced and stored densely, or the other way round: blocks of them are
 * turned. */
TEST(crossed_rows)
{
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F16, DYNC_I32, DYNC_I8};
    n_jitted = n_declined = 0;
    int64_t blocks = 0, collected = 0;
    for (int i = 0; i < 42; i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int64_t outer = test_random_int(1, 3), rows = test_random_int(10, 90),
                    lanes = i % 3 ? test_random_int(128, 400) : test_random_int(1, 128),
                    m = rows * lanes, apart = i % 6 > 3 ? test_random_int(2, 40) : 1;
            int64_t extent[] = {outer, rows, lanes}, across[] = {m, 1, rows},
                    along[] = {m, lanes, 1}, by_row[] = {rows, 1, 0}, by_lane[] = {i % 7, 0, apart},
                    back[] = {m, -1, rows};
            int64_t elements[] = {outer * m, outer * m, lanes * apart + outer * 7, outer * m,
                                  outer * rows};
            int type = types[i % 6], other = types[test_random_int(0, 5)];
            dync__kernel *k = dync__kernel_new(&arena, "rows", 2, 3, extent);
            dync__lb b = {.k = k, .section = 1};
            bool back_too = i % 7 == 0 && i % 5, store_across = i % 4 == 0;
            int compute = dync__dtype_info(type)->compute;
            int in = dync__kernel_buf(k, 0, type, DYNC__BUF_IN, -1, NULL),
                more = dync__kernel_buf(k, 1, other, DYNC__BUF_IN, -1, NULL);
            int scale = dync__kernel_buf(k, 2, type, DYNC__BUF_IN, -1, NULL),
                out = dync__kernel_buf(k, 3, type, DYNC__BUF_OUT, -1, NULL),
                sums = dync__kernel_buf(k, 4, type, DYNC__BUF_OUT, -1, NULL);
            int first = dync__kernel_access(k, 0, across),
                second = dync__kernel_access(k, back_too ? rows - 1 : 0,
                                             i % 5 ? back_too ? back : across : along);
            int x = dync__lb_load(&b, in, first), greatest = dync__lb_reduce(&b, DYNC__R_MAX, x);
            b.section = 3;
            int y = dync__lb_op(&b, DYNC__P_sub, dync__lb_load(&b, in, first), greatest, -1),
                z = dync__lb_cast(&b, dync__lb_load(&b, more, second), compute);
            int w = dync__lb_op(&b, DYNC__P_max, y, z, -1),
                sum = dync__lb_reduce(&b, i % 2 ? DYNC__R_MIN : DYNC__R_SUM, w);
            b.section = 4;
            dync__lb_store(&b, sums, dync__kernel_access(k, 0, by_row), sum);
            b.section = 5;
            int v = dync__lb_op(&b, DYNC__P_sub, w, sum, -1);
            v = dync__lb_op(&b, DYNC__P_max, v,
                            dync__lb_load(&b, scale, dync__kernel_access(k, 0, by_lane)), -1);
            dync__lb_store(&b, out, dync__kernel_access(k, 0, store_across ? across : along), v);
            dync__code *code = dync__code_new_for(k, isa, true);
            bool in_blocks = code && code->jit && code->jit->blocks;
            blocks += in_blocks;
            for (int s = 0; in_blocks && s < code->jit->n_streams; s++)
                collected += dync__jit_stream_at(code->jit, s)->transposed == DYNC__JIT_COLLECT;
            dync__code_free(code);
            bool ok = EXPECT(agree(k, elements, 0, isa, true));
            dync__arena_free(&arena);
            if (!ok) return;
        }
    if (test__state.verbose)
        printf("  machine code %lld, in blocks %lld, lanes collected %lld, interpreted %lld\n",
               (long long)n_jitted, (long long)blocks, (long long)collected, (long long)n_declined);
    EXPECT(dync__target_level() == 0 || (test_met(blocks, 12) && test_met(collected, 6)));
}

/* Lines whole pages apart: squares are turned in registers (AVX-512) or tiles by way of a stage.
 * Several loads that are turned, of one size or not, with steps back, others as they lie, one that
 * the result replaces, the store's kind, reductions, more values than registers, and more rows,
 * lanes than squares. */
TEST(crossed_pages)
{
    static const int types[] = {DYNC_F32, DYNC_I32, DYNC_F64, DYNC_I64, DYNC_BF16};
    int64_t squares = 0;
    for (int i = 0; i < 48; i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int type = types[i % 8 == 7 ? 4 : i % 4], loads = test_random_int(1, 3), sum = -1;
            int64_t rows = test_random_int(12, i % 7 ? 200 : 500),
                    lanes = test_random_int(12, i % 6 ? 300 : 900), extent[] = {rows, lanes},
                    elements[] = {1024 * lanes, 1024 * lanes, 1024 * lanes, 1024 * lanes};
            int64_t steps[][2] = {{1, 1024}, {lanes, 1}, {1, rows}, {-1, 1024}, {0, 1}, {0, 3}};
            bool reduces = i % 5 == 0, replaces = i % 4 == 1;
            dync__kernel *k = dync__kernel_new(&arena, "pages", reduces, 2, extent);
            dync__lb b = {.k = k, .section = 1};
            for (int n = 0; n < loads; n++) {
                int way = n ? test_random_int(0, 5) : 0,
                    of = n && test_random() % 4 == 0 ? types[test_random_int(0, 4)] : type;
                int load =
                    dync__lb_load(&b, dync__kernel_buf(k, n, of, DYNC__BUF_IN, -1, NULL),
                                  dync__kernel_access(k, way == 3 ? rows - 1 : 0, steps[way]));
                int x = dync__lb_cast(&b, load, dync__dtype_info(type)->compute);
                sum = sum < 0 ? x : dync__lb_op(&b, DYNC__P_max, sum, x, -1);
            }
            if (reduces) {
                int greatest = dync__lb_reduce(&b, DYNC__R_MAX, sum);
                b.section = 3;
                sum = dync__lb_op(&b, DYNC__P_sub, dync__lb_load(&b, 0, 0), greatest, -1);
            }
            int out = dync__kernel_buf(
                k, loads, type, replaces ? DYNC__BUF_IN | DYNC__BUF_OUT : DYNC__BUF_OUT, -1, NULL);
            if (replaces)
                sum = dync__lb_op(&b, DYNC__P_add, sum,
                                  dync__lb_load(&b, out, dync__kernel_access(k, 0, steps[1])), -1);
            for (int n = i % 9 == 1 ? 20 : 0; n > 0; n--)
                sum = dync__lb_op(&b, n % 2 ? DYNC__P_max : DYNC__P_sub, sum,
                                  n % 5 ? sum : dync__lb_load(&b, 0, 0), -1);
            dync__lb_store(&b, out, dync__kernel_access(k, 0, steps[i % 8 == 4 ? 2 : 1]), sum);
            dync__code *code = dync__code_new_for(k, isa, true);
            squares += code && code->jit && code->jit->squares;
            dync__code_free(code);
            bool ok = EXPECT(agree(k, elements, 0, isa, true));
            dync__arena_free(&arena);
            if (!ok) return;
        }
    if (test__state.verbose) printf("  by squares %lld\n", (long long)squares);
    EXPECT(dync__target_level() < 2 || test_met(squares, 4));
}

/* Short rows beside loads that have one for all of them: forwards, backwards and strided, of
 * another dtype, along more loops than one, the same for all or different along the outermost loop;
 * beside them what is transposed, one number a row (then it stays short rows), what the result
 * replaces and numbers of loops. */
TEST(crossed_rounds)
{
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BF16,
                                DYNC_F16, DYNC_I16, DYNC_U8,  DYNC_BOOL};
    int64_t rounds = 0;
    for (int i = 0; i < test_count(120); i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int type = types[test_random_int(0, 8)], loads = test_random_int(1, 3), sum = -1;
            int64_t outer = test_random_int(1, 4), rows = test_random_int(8, i % 5 ? 300 : 3000),
                    a = i % 3 ? 1 : test_random_int(2, 3), e = test_random_int(1, 14), c = a * e,
                    all = rows * c, extent[] = {outer, rows, a, e}, elements[6];
            dync__kernel *k = dync__kernel_new(&arena, "rounds", 0, 4, extent);
            dync__lb b = {.k = k, .section = 1};
            int compute = dync__dtype_info(type)->compute;
            for (int n = 0; n < loads; n++) {
                int64_t step = test_random_int(1, 3), each = test_random() % 2 ? c * step : 0;
                bool back = test_random() % 4 == 0;
                int64_t way[][4] = {{each, 0, e * step, back ? -step : step},
                                    {all, c, e, 1},
                                    {all, 1, rows * e, rows},
                                    {rows, 1, 0, 0}};
                int pick = n == 0 ? 0 : (int)(test_random() % (i % 4 ? 2 : 4)),
                    of = test_random() % 4 ? type : types[test_random_int(0, 8)];
                int64_t offset = pick == 0 && back ? step * (e - 1) : 0;
                elements[n] = pick == 0 ? 4 * c * step : outer * all;
                int x = dync__lb_load(&b, dync__kernel_buf(k, n, of, DYNC__BUF_IN, -1, NULL),
                                      dync__kernel_access(k, offset, way[pick]));
                x = dync__lb_cast(&b, x, compute);
                sum = sum < 0 ? x
                              : dync__lb_op(&b, type == DYNC_BOOL ? DYNC__P_xor_ : DYNC__P_max, sum,
                                            x, -1);
            }
            int64_t along[] = {all, c, e, 1};
            bool replaces = i % 6 == 1, counts = i % 7 == 2 && type != DYNC_BOOL;
            int out = dync__kernel_buf(
                k, loads, type, replaces ? DYNC__BUF_IN | DYNC__BUF_OUT : DYNC__BUF_OUT, -1, NULL);
            int at = dync__kernel_access(k, 0, along);
            elements[loads] = outer * all;
            if (replaces)
                sum = dync__lb_op(&b, type == DYNC_BOOL ? DYNC__P_or_ : DYNC__P_min, sum,
                                  dync__lb_load(&b, out, at), -1);
            if (counts)
                sum = dync__lb_op(&b, DYNC__P_max, sum,
                                  dync__lb_cast(&b, dync__lb_index(&b, at), compute), -1);
            dync__lb_store(&b, out, at, sum);
            dync__code *code = dync__code_new_for(k, isa, true);
            for (int s = 0; code && code->jit && s < code->jit->n_streams; s++)
                rounds += dync__jit_stream_at(code->jit, s)->period > 0;
            dync__code_free(code);
            bool ok = EXPECT(agree(k, elements, type == DYNC_F32 ? 2 : 0, isa, true));
            dync__arena_free(&arena);
            if (!ok) return;
        }
    if (test__state.verbose) printf("  loads in rounds %lld\n", (long long)rounds);
    EXPECT(dync__target_level() == 0 || test_met(rounds, 40));
}

TEST_MAIN
