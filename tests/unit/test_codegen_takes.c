/* codegen/gen_mem.c, jit_take.c: rows and elements that an index leads to, by machine code against
 * the tile interpreter and the oracle. */
#include "codegen_agree.h"

/* Lines and elements that an index picks. */
TEST(indexed_loads)
{
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BF16, DYNC_I8};
    n_jitted = n_declined = 0;
    for (int i = 0; i < test_count(300); i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int64_t rows = test_random_int(1, 40), columns = test_random_int(1, 130),
                    lines = test_random_int(1, 9), extent[] = {rows, columns};
            int64_t elements[] = {lines * columns, rows * columns}, along[] = {0, 1},
                    none[] = {0, 0}, every[] = {columns, 1}, by_row[] = {1, 0}, skewed[] = {3, 7};
            int type = types[test_random_int(0, 5)];
            dync__kernel *k = dync__kernel_new(&arena, "picked", 0, 2, extent);
            dync__lb b = {.k = k, .section = 1};
            int at = dync__lb_index(&b, dync__kernel_access(k, 0, i % 2 ? by_row : skewed));
            at = dync__lb_op(&b, DYNC__P_mul,
                             dync__lb_op(&b, DYNC__P_rem, at, dync__lb_i(&b, DYNC_I64, lines), -1),
                             dync__lb_i(&b, DYNC_I64, columns), -1);
            int x = dync__lb_loadx(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_IN, -1, NULL),
                                   dync__kernel_access(k, 0, i % 3 ? along : none), at);
            if (i % 5 == 0) x = dync__lb_op(&b, DYNC__P_add, x, x, -1);
            dync__lb_store(&b, dync__kernel_buf(k, 1, type, DYNC__BUF_OUT, -1, NULL),
                           dync__kernel_access(k, 0, every), x);
            EXPECT(agree(k, elements, 0, isa, true));
            dync__arena_free(&arena);
        }
    /* reduced along the index, columns side by side: the index of all lanes at once, or of each */
    for (int i = 0; i < test_count(300); i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int64_t rows = test_random_int(2, 40), columns = test_random_int(4, 150),
                    lines = test_random_int(1, 9), bags = test_random_int(1, 3),
                    extent[] = {bags, columns, rows};
            int64_t elements[] = {lines * columns, bags * columns}, along[] = {0, 1, 0},
                    by_row[] = {5, 0, 1}, skewed[] = {2, 7, 3}, out[] = {columns, 1, 0};
            int type = types[test_random_int(0, 5)];
            dync__kernel *k = dync__kernel_new(&arena, "bags", 2, 3, extent);
            dync__lb b = {.k = k, .section = 1};
            int at = dync__lb_index(&b, dync__kernel_access(k, 0, i % 3 ? by_row : skewed));
            at = dync__lb_op(&b, DYNC__P_mul,
                             dync__lb_op(&b, DYNC__P_rem, at, dync__lb_i(&b, DYNC_I64, lines), -1),
                             dync__lb_i(&b, DYNC_I64, columns), -1);
            int x = dync__lb_loadx(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_IN, -1, NULL),
                                   dync__kernel_access(k, 0, along), at);
            int most = dync__lb_reduce(&b, i % 2 ? DYNC__R_MAX : DYNC__R_MIN,
                                       i % 5 ? x : dync__lb_op(&b, DYNC__P_add, x, x, -1));
            b.section = 2;
            dync__lb_store(&b, dync__kernel_buf(k, 1, type, DYNC__BUF_OUT, -1, NULL),
                           dync__kernel_access(k, 0, out), most);
            EXPECT(agree(k, elements, 0, isa, true));
            dync__arena_free(&arena);
        }
    EXPECT(n_declined <= n_jitted / 100);
}

/* What an index held inside a dim leads to, stored as it is: rows and elements of every dtype, by
 * either kind of index, some of them outside. */
TEST(taken_rows)
{
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64,
                                DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8,   DYNC_BOOL};
    int64_t taken = 0, checked = 0;
    n_jitted = n_declined = 0;
    for (int i = 0; i < test_count(600); i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            int rank = test_random_int(1, 4), type = types[test_random_int(0, 9)],
                indices = i % 3 ? DYNC_I64 : DYNC_I32, shape = i % 4;
            int64_t extent[4], which[4] = {0}, from[4] = {0}, to[4],
                               size = test_random_int(2, i % 7 ? 9 : 900), n = 1, reach = 0,
                               most = 0, offset = test_random_int(0, 3);
            for (int d = rank - 1; d >= 0; d--) {
                extent[d] = test_random() % 6 == 0
                                ? 1
                                : test_random_int(1, d == rank - 1 ? i % 9 && i % 15 ? 40 : 300
                                                     : rank > 2    ? 6
                                                                   : 60);
                to[d] = n;
                n *= extent[d];
            }
            int64_t lines = 1, row = shape == 0 ? 1 : extent[rank - 1],
                    next = test_random() % 4 ? 1 : 2;
            /* the last dim is read along, or each element has its index; gaps and repeats
             * between */
            for (int d = rank - 1; d >= 0; d--) {
                bool of_row = d == rank - 1 && shape != 0;
                if (of_row)
                    from[d] = 1;
                else if (i % 5 == 0 ? d == rank - 1 : test_random() % 8 != 0)
                    which[d] = next * lines, lines *= extent[d];
                if (!of_row && test_random() % 3 == 0) from[d] = test_random_int(0, 5);
                reach += which[d] * (extent[d] - 1);
                most += from[d] * (extent[d] - 1);
            }
            int64_t stride = test_random() % 4 ? row : row + 3,
                    elements[] = {reach + 1 + offset, most + (size - 1) * stride + 1, n};
            dync__kernel *k =
                dync__kernel_new(&arena, "taken", test_random_int(0, rank), rank, extent);
            dync__lb b = {.k = k, .section = 1};
            int at = dync__lb_load(&b, dync__kernel_buf(k, 0, indices, DYNC__BUF_IN, -1, NULL),
                                   dync__kernel_access(k, offset, which));
            int x = dync__lb_loadx(&b, dync__kernel_buf(k, 1, type, DYNC__BUF_IN, -1, NULL),
                                   dync__kernel_rows(k, 0, from, size, stride), at);
            dync__lb_store(&b, dync__kernel_buf(k, 2, type, DYNC__BUF_OUT, -1, NULL),
                           dync__kernel_access(k, 0, to), x);
            EXPECT(agree(k, elements, 0, isa, true));
            dync__code *code = dync__code_new_for(k, isa, true);
            taken += code && code->jit && code->jit->take.size;
            checked += code && dync__code_looks(code, 0, offset, lines, size);
            EXPECT(!code || (!dync__code_looks(code, 1, offset, lines, size) &&
                             !dync__code_looks(code, 0, offset, lines, size + 1) &&
                             !dync__code_looks(code, 0, offset, lines + 1, size)));
            dync__code_free(code);
            dync__arena_free(&arena);
        }
    printf("  taken %lld, with their check %lld, code %lld, interpreted %lld\n", (long long)taken,
           (long long)checked, (long long)n_jitted, (long long)n_declined);
    EXPECT(dync__target_level() == 0 || (test_met(taken, 200) && test_met(checked, 100)));
}

/* Lines of one or two tables by indices in memory, some outside, with what is computed of them:
 * rows with up to three phases, sums of a few and of many lines (one level and all of them), means
 * and products; an index used for more than that; indices side by side or with gaps. */
#define LED_BUF(type, mode, count) \
    (elements[k->buf.n] = (count), dync__kernel_buf(k, k->buf.n, type, mode, -1, NULL))
TEST(led_lines)
{
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16,
                                DYNC_I64, DYNC_I32, DYNC_I16, DYNC_F32};
    n_jitted = n_declined = n_led = 0;
    for (int i = 0; i < test_count(500); i++)
        for (int isa = 1; isa <= dync__target_level(); isa++) {
            dync__arena arena = {0};
            bool bag = i % 2;
            int64_t rows = test_random_int(1, 20), more = test_random_int(1, 4),
                    columns = test_random_int(1, i % 8 ? 140 : 300),
                    many = test_random_int(1, i % 3 ? 16 : 90), size = test_random_int(1, 9);
            int64_t gap = i % 5 ? 1 : 2,
                    extent[] = {more, rows, bag ? columns : 1, bag ? many : columns},
                    per = bag ? many : 1;
            int64_t which[] = {rows * per * gap, per * gap, 0, bag ? gap : 0},
                    from[] = {0, 0, bag, !bag}, to[] = {rows * columns, columns, bag, !bag};
            int64_t elements[MAX_BUFS], n_indices = more * rows * per * gap;
            int type = types[test_random_int(0, 7)], work = dync__dtype_info(type)->compute;
            dync__kernel *k = dync__kernel_new(&arena, "led", 3, 4, extent);
            dync__lb b = {.k = k, .section = 1};
            int load = dync__lb_load(&b,
                                     LED_BUF(i % 4 ? DYNC_I64 : DYNC_I32, DYNC__BUF_IN, n_indices),
                                     dync__kernel_access(k, 0, which));
            int at = dync__lb_cast(&b, load, DYNC_I64), by = i % 2 ? at : load;
            int x = dync__lb_loadx(&b, LED_BUF(type, DYNC__BUF_IN, size * columns),
                                   dync__kernel_rows(k, 0, from, size, columns), by);
            if (i % 3 == 0)
                x = dync__lb_op(&b, DYNC__P_max, x,
                                dync__lb_loadx(&b, LED_BUF(type, DYNC__BUF_IN, size * columns),
                                               dync__kernel_rows(k, 0, from, size, columns), by),
                                -1);
            if (i % 7 < 3)
                x = dync__lb_op(&b, DYNC__P_add, x,
                                dync__lb_load(&b, LED_BUF(type, DYNC__BUF_IN, columns),
                                              dync__kernel_access(k, 0, from)),
                                -1);
            /* no longer a leader alone */
            if (i % 11 == 0) x = dync__lb_op(&b, DYNC__P_add, x, dync__lb_cast(&b, at, work), -1);
            if (i % 13 == 0)
                dync__lb_store(&b, LED_BUF(DYNC_I64, DYNC__BUF_OUT, n_indices),
                               dync__kernel_access(k, 0, which), at);
            int kinds[] = {DYNC__R_SUM, DYNC__R_SUM, DYNC__R_MAX, DYNC__R_MIN},
                out = LED_BUF(type, DYNC__BUF_OUT, more * rows * columns),
                access = dync__kernel_access(k, 0, to), phases = i % 4;
            for (int p = 0; p < (bag ? 1 : phases); p++) {
                int sum = dync__lb_reduce(&b, kinds[(i + p) % 4], x);
                b.section += 2;
                if (!bag)
                    x = dync__lb_op(&b, DYNC__P_sub, x, sum, -1);
                else
                    b.section = 2, x = sum;
            }
            dync__lb_store(&b, out, access, x);
            bool ok = EXPECT(agree(k, elements, 0, isa,
                                   type != DYNC_F16 && type != DYNC_BF16 && type != DYNC_F32 &&
                                       type != DYNC_F64));
            dync__arena_free(&arena);
            if (!ok) return;
        }
    if (test__state.verbose)
        printf("  machine code %lld, led %lld, interpreted %lld\n", (long long)n_jitted,
               (long long)n_led, (long long)n_declined);
    EXPECT(dync__target_level() == 0 || test_met(n_led, 100));
}

TEST_MAIN
