/* State that a compiled function writes in place: caches, rings, statistics. What is written costs
 * what is written: no memory of the size of the whole is taken. Results and state as plain calls
 * give them, in programs and in random sequences of writes and reads through views. */
#include "dync.h"
#include "test.h"
#include <string.h>

/* ---- what a write costs ---------------------------------------------------------------------- */
typedef dync_tensor *(*fn3)(dync_tensor *, dync_tensor *, dync_tensor *);

static dync_tensor *rows_by_scatter(dync_tensor *cache, dync_tensor *row, dync_tensor *at)
{
    for (int l = 0; l < 8; l++) dync_scatter_(dync_select(cache, 0, l), 0, at, row);
    return dync_sum(row, DYNC_ALL, false);
}
static dync_tensor *rows_by_slice(dync_tensor *cache, dync_tensor *row, dync_tensor *at)
{
    (void)at;
    for (int l = 0; l < 8; l++)
        dync_copy_(dync_slice(dync_select(cache, 0, l), 0, 5, 6, 1), dync_mul(row, l + 1));
    return dync_sum(dync_slice(dync_select(cache, 0, 3), 0, 4, 7, 1), DYNC_ALL, false);
}
static dync_tensor *columns_by_scatter(dync_tensor *cache, dync_tensor *row, dync_tensor *at)
{
    for (int l = 0; l < 8; l++)
        dync_scatter_(dync_transpose(dync_select(cache, 0, l), 0, 1), 1, dync_transpose(at, 0, 1),
                      dync_transpose(row, 0, 1));
    return dync_mul(row, 2);
}
static dync_tensor *flat_index_add(dync_tensor *cache, dync_tensor *row, dync_tensor *at)
{
    dync_index_add_(dync_reshape(cache, dync_shape(8 * 256, 64)), 0,
                    dync_select(dync_transpose(at, 0, 1), 0, 0), row);
    return dync_mul(row, 2);
}
static dync_tensor *add_and_fill(dync_tensor *cache, dync_tensor *row, dync_tensor *at)
{
    dync_add_(dync_slice(cache, 1, 7, 8, 1), row);
    dync_fill_(dync_select(dync_select(cache, 0, 2), 0, 9), 3);
    dync_scatter_add_(dync_select(cache, 0, 7), 0, at, row);
    return dync_select(dync_sum(dync_slice(cache, 1, 7, 9, 1), dync_shape(1), false), 0, 1);
}

TEST(a_write_costs_what_is_written)
{
    static const fn3 fns[] = {rows_by_scatter, rows_by_slice, columns_by_scatter, flat_index_add,
                              add_and_fill};
    enum { BYTES = 8 * 256 * 64 * 4 };
    dync_init((dync_init_options){.threads = 2, .seed = 5});
    for (int i = 0, n = (int)(sizeof fns / sizeof fns[0]); i < 2 * n; i++) DYNC_SCOPE {
        fn3 fn = fns[i % n];
        dync_compiled *f =
            dync_compile(fn, .fullgraph = true, .backend = i < n ? "inductor" : "aot_eager");
        dync_tensor *c[2] = {dync_randn(dync_shape(8, 256, 64)), NULL};
        c[1] = dync_clone(c[0]);
        for (int call = 0; call < 4; call++) DYNC_SCOPE {
            dync_tensor *row = dync_randn(dync_shape(1, 64)),
                        *at = dync_to_dtype(dync_full(dync_shape(1, 64), call * 7), DYNC_I64),
                        *want = fn(c[0], row, at);
            int64_t live = dync_memory_stats().live_bytes;
            dync_tensor *got = dync_call(f, c[1], row, at);
            EXPECT(got && dync_allclose(got, want, 1e-5, 1e-5));
            bool same = EXPECT(dync_equal(c[0], c[1]));
            /* the state is not taken a second time: what is live grows by less than half of it */
            bool small = call == 0 || EXPECT(dync_memory_stats().live_bytes - live < BYTES / 2);
            if (!same || !small) printf("  function %d, call %d\n", i, call);
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_shutdown();
}

/* The largest block that a call takes, by the allocator's own peak: in a program of its own, so
 * that nothing before it was larger. */
TEST(no_second_cache)
{
    enum { BYTES = 64 * 1024 * 64 * 4 };
    dync_init((dync_init_options){.threads = 1, .seed = 5});
    DYNC_SCOPE {
        dync_compiled *f = dync_compile(rows_by_scatter, .fullgraph = true),
                      *g = dync_compile(rows_by_slice, .fullgraph = true),
                      *h = dync_compile(columns_by_scatter, .fullgraph = true),
                      *e = dync_compile(rows_by_scatter, .fullgraph = true, .backend = "aot_eager"),
                      *o = dync_compile(rows_by_slice, .fullgraph = true, .backend = "aot_eager");
        dync_tensor *cache = dync_zeros(dync_shape(64, 1024, 64)),
                    *row = dync_randn(dync_shape(1, 64)),
                    *at = dync_to_dtype(dync_full(dync_shape(1, 64), 3), DYNC_I64);
        for (int call = 0; call < 3; call++) {
            dync_call(f, cache, row, at);
            dync_call(g, cache, row, at);
            dync_call(h, cache, row, at);
            dync_call(e, cache, row, at);
            dync_call(o, cache, row, at);
        }
        EXPECT(dync_memory_stats().peak_bytes < BYTES + BYTES / 4);
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
        dync_compiled_free(g);
        dync_compiled_free(h);
        dync_compiled_free(e);
        dync_compiled_free(o);
    }
    dync_shutdown();
}

/* ---- what must not be written too early ------------------------------------------------------ */
static dync_tensor *old_read_later(dync_tensor *c, dync_tensor *row, dync_tensor *at)
{
    dync_tensor *before = dync_clone(c), *y = dync_exp(c);
    dync_copy_(dync_slice(c, 0, 1, 2, 1), row);
    dync_tensor *middle = dync_clone(dync_select(c, 0, 1));
    dync_scatter_(c, 0, at, dync_mul(row, 3));
    return dync_add(dync_add(dync_mul(before, 2), y), dync_add(c, middle));
}
static dync_tensor *shifted(dync_tensor *c, dync_tensor *row, dync_tensor *at)
{
    (void)at;
    dync_copy_(dync_slice(c, 0, 0, 7, 1), dync_clone(dync_slice(c, 0, 1, 8, 1)));
    dync_copy_(dync_slice(c, 0, 7, 8, 1), row);
    return dync_mul(c, 2);
}
static dync_tensor *doubled(dync_tensor *c, dync_tensor *row, dync_tensor *at)
{
    (void)at;
    dync_copy_(dync_slice(c, 0, 0, 7, 1), dync_add(dync_slice(c, 0, 1, 8, 1), row));
    dync_copy_(dync_slice(c, 1, 0, 4, 1), dync_flip(dync_slice(c, 1, 2, 6, 1), dync_shape(0)));
    return dync_sum(c, dync_shape(0), false);
}
static dync_tensor *swapped(dync_tensor *c, dync_tensor *row, dync_tensor *at)
{
    (void)at;
    dync_tensor *first = dync_clone(dync_select(c, 0, 0));
    dync_copy_(dync_select(c, 0, 0), dync_select(c, 0, 5));
    dync_copy_(dync_select(c, 0, 5), first);
    return dync_add(c, row);
}
static dync_tensor *result_is_state(dync_tensor *c, dync_tensor *row, dync_tensor *at)
{
    dync_scatter_(c, 0, at, row);
    dync_tensor *copy = dync_clone(c);
    dync_zero_(dync_select(c, 0, 2));
    return copy;
}
static dync_tensor *own_memory(dync_tensor *c, dync_tensor *row, dync_tensor *at)
{
    dync_tensor *t = dync_matmul(c, dync_transpose(c, 0, 1)), *old = dync_relu(t);
    dync_zero_(dync_select(t, 0, 1));
    dync_copy_(dync_select(t, 1, 2), dync_select(t, 0, 3));
    dync_scatter_(c, 0, at, row);
    return dync_add(t, old);
}
static dync_tensor *matmul_between(dync_tensor *c, dync_tensor *row, dync_tensor *at)
{
    dync_tensor *a = dync_matmul(row, c);
    dync_scatter_(c, 0, at, row);
    dync_tensor *b = dync_matmul(row, c);
    dync_copy_(dync_select(c, 0, 4), dync_select(a, 0, 0));
    return dync_add(dync_matmul(b, c), a);
}

TEST(the_old_value_where_it_is_read)
{
    static const fn3 fns[] = {old_read_later,  shifted,    doubled,       swapped,
                              result_is_state, own_memory, matmul_between};
    static const char *const on[] = {"inductor", "aot_eager"};
    dync_init((dync_init_options){.threads = 2, .seed = 8});
    for (int i = 0; i < 2 * (int)(sizeof fns / sizeof fns[0]); i++) DYNC_SCOPE {
        fn3 fn = fns[i / 2];
        dync_compiled *f = dync_compile(fn, .fullgraph = true, .backend = on[i % 2]);
        dync_tensor *c[2] = {dync_randn(dync_shape(8, 8)), NULL};
        c[1] = dync_clone(c[0]);
        for (int call = 0; call < 4; call++) DYNC_SCOPE {
            dync_tensor *row = dync_randn(dync_shape(1, 8)),
                        *at = dync_to_dtype(dync_full(dync_shape(1, 8), call + 2), DYNC_I64),
                        *want = fn(c[0], row, at), *got = dync_call(f, c[1], row, at);
            bool same = EXPECT(got && dync_allclose(got, want, 1e-4, 1e-4)) &
                        EXPECT(dync_allclose(c[0], c[1], 1e-4, 1e-4));
            if (!same) printf("  function %d, %s, call %d\n", i / 2, on[i % 2], call);
            if (got) { /* a result is no view of the state */
                dync_zero_(got);
                EXPECT(dync_allclose(c[0], c[1], 1e-4, 1e-4));
            }
            dync_div_(c[0], dync_add(dync_abs(c[0]), 1));
            dync_copy_(c[1], c[0]);
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_shutdown();
}

/* ---- an index that is wrong ------------------------------------------------------------------ */
/* What was written before stays written, as in plain calls, and the next product does not take
 * weights from before. */
static dync_tensor *product_of_cache(dync_tensor *c, dync_tensor *row, dync_tensor *at)
{
    dync_add_(dync_select(c, 0, 0), 1);
    dync_scatter_(c, 0, at, row);
    return dync_matmul(row, c);
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(a_write_that_fails)
{
    dync_init((dync_init_options){.threads = 1, .seed = 8});
    DYNC_SCOPE {
        dync_compiled *f = dync_compile(product_of_cache, .fullgraph = true);
        dync_tensor *c = dync_randn(dync_shape(64, 64)), *row = dync_randn(dync_shape(1, 64)),
                    *good = dync_to_dtype(dync_full(dync_shape(1, 64), 3), DYNC_I64),
                    *bad = dync_to_dtype(dync_full(dync_shape(1, 64), 64), DYNC_I64);
        EXPECT(dync_call(f, c, row, good));
        dync_on_error(quiet, NULL);
        EXPECT(!dync_call(f, c, row, bad));
        EXPECT_STATUS(dync_error(), DYNC_ERR_INDEX);
        dync_clear_error();
        dync_on_error(NULL, NULL);
        dync_tensor *d = dync_clone(c), *want = product_of_cache(d, row, good),
                    *got = dync_call(f, c, row, good);
        EXPECT(got && dync_allclose(got, want, 1e-4, 1e-4));
        EXPECT(dync_equal(c, d));
        dync_compiled_free(f);
    }
    dync_shutdown();
}

/* ---- random writes --------------------------------------------------------------------------- */
typedef struct step {
    int view[2], to, from, op, number;
} step;
static step program[12];
static int program_n;

static int draw(int n) { return test_random_int(0, n - 1); }

/* Some [rows, 4] of a state [6, 4, 8] or a part of one. */
static dync_tensor *look(dync_tensor *t, int how)
{
    int k = how / 8;
    switch (how % 8) {
    case 0: return dync_select(dync_slice(t, 2, k % 2, k % 2 + 4, 1), 0, k % 6);
    case 1: return dync_select(dync_slice(t, 2, 0, 8, 2), 0, k % 6);
    case 2:
        return dync_transpose(dync_select(dync_slice(t, 2, k % 5, k % 5 + 4, 1), 0, k % 6), 0, 1);
    case 3: return dync_slice(dync_select(t, 2, k % 8), 0, k % 3, k % 3 + 4, 1);
    case 4: return dync_slice(dync_reshape(t, dync_shape(48, 4)), 0, k % 44, k % 44 + 4, 1);
    case 5: return dync_slice(dync_select(dync_transpose(t, 0, 1), 2, k % 8), 1, 0, 4, 1);
    case 6:
        return dync_reshape(
            dync_slice(dync_reshape(t, dync_shape(192)), 0, 3 * (k % 40), 3 * (k % 40) + 16, 1),
            dync_shape(4, 4));
    default:
        return dync_slice(dync_slice(dync_select(t, 1, k % 4), 1, k % 5, k % 5 + 4, 1), 0, 1, 5, 1);
    }
}

static dync_tensor *run_with(dync_tensor *a, dync_tensor *b, dync_tensor *at, dync_tensor *w)
{
    dync_tensor *state[2] = {a, b}, *sum = dync_zeros(dync_shape(4, 4)), *old[12];
    int n_old = 0;
    for (int i = 0; i < program_n; i++) {
        const step *s = &program[i];
        dync_tensor *to = look(state[s->to], s->view[0]), *from = look(state[s->from], s->view[1]);
        from = s->number % 2 ? dync_clone(from) : dync_mul(from, 2);
        switch (s->op) {
        case 0: dync_copy_(to, from); break;
        case 1: dync_add_(to, from); break;
        case 2: dync_scatter_(to, s->number % 2, at, from); break;
        case 3: dync_scatter_add_(to, s->number % 2, at, from); break;
        case 4: dync_index_add_(to, s->number % 2, dync_select(at, 0, 1), from); break;
        case 5: dync_fill_(to, s->number); break;
        case 6: dync_copy_(to, dync_select(at, 0, s->number % 4)); break;
        case 7:
            sum = dync_add(sum, dync_mul(w ? dync_clone(to) : to,
                                         w ? w : dync_full(dync_shape(1), s->number)));
            break;
        case 8: sum = dync_sub(sum, dync_transpose(from, 0, 1)); break;
        case 9: dync_neg_(to); break;
        case 10: /* what gives its argument back as it is */
            old[n_old++] = dync_to_dtype(s->number % 2 ? to : dync_contiguous(from), DYNC_F32);
            break;
        default: old[n_old++] = s->number % 2 ? to : from; break;
        }
    }
    for (int i = 0; i < n_old; i++) {
        if (w && i % 2) old[i] = dync_mul(w, dync_mul(old[i], w));
        sum = dync_add(sum, dync_mul(old[i], i + 1));
    }
    return sum;
}

static dync_tensor *run_program(dync_tensor *a, dync_tensor *b, dync_tensor *at)
{
    return run_with(a, b, at, NULL);
}

static void draw_program(void)
{
    program_n = 2 + draw(10);
    for (int i = 0; i < program_n; i++)
        program[i] = (step){{draw(8 * 48), draw(8 * 48)}, draw(2), draw(2), draw(12), draw(7)};
}

/* inputs: two of their own; one twice; two views of one memory. */
TEST(random_writes)
{
    int rounds = test_count(150);
    dync_init((dync_init_options){.threads = 2, .seed = 9});
    for (int round = 0; round < rounds; round++) DYNC_SCOPE {
        draw_program();
        dync_compiled *f = dync_compile(run_program, .fullgraph = true,
                                        .backend = round % 2 ? "aot_eager" : "inductor");
        for (int call = 0; call < 4; call++) {
            int share = draw(4);
            dync_tensor *all[2], *a[2], *b[2], *out[2],
                *at = dync_to_dtype(dync_floor(dync_mul(dync_rand(dync_shape(4, 4)), 4)), DYNC_I64);
            all[0] = dync_floor(dync_mul(dync_randn(dync_shape(2, 6, 4, 8)), 4));
            all[1] = dync_clone(all[0]);
            for (int k = 0; k < 2; k++) {
                a[k] = dync_select(all[k], 0, 0);
                b[k] = share == 1 ? a[k] : dync_select(all[k], 0, 1);
                if (share == 0) a[k] = dync_clone(a[k]), b[k] = dync_clone(b[k]);
                if (share == 3) /* one in the other's memory */
                    a[k] = dync_slice(dync_reshape(all[k], dync_shape(12, 4, 8)), 0, 0, 6, 1),
                    b[k] = dync_slice(dync_reshape(all[k], dync_shape(12, 4, 8)), 0, 3, 9, 1);
            }
            out[0] = run_program(a[0], b[0], at);
            out[1] = dync_call(f, a[1], b[1], at);
            bool same = EXPECT(out[1] && dync_equal(out[0], out[1])) &
                        EXPECT(dync_equal(a[0], a[1])) & EXPECT(dync_equal(b[0], b[1])) &
                        EXPECT(dync_equal(all[0], all[1]));
            if (!same) {
                printf("  round %d, call %d, inputs %d\n", round, call, share);
                break;
            }
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_shutdown();
}

/* Two parts of one memory that lie beside each other are two inputs, two products and a sum, no
 * base with scatters; where a later call has them meet, the result is that of plain calls. */
static dync_tensor *two_parts(dync_tensor *a, dync_tensor *b)
{
    dync_mul_(a, 2);
    dync_mul_(b, 3);
    return dync_add(a, b);
}
TEST(parts_beside_each_other)
{
    char text[4096] = "";
    FILE *file = freopen("build/test_beside.txt", "w", stderr);
    REQUIRE(file != NULL);
    dync_init((dync_init_options){.threads = 1});
    DYNC_SCOPE {
        dync_compiled *f = dync_compile(two_parts, .fullgraph = true);
        dync_set_log("forward");
        for (int call = 0; call < 6; call++) {
            dync_tensor *all[2], *out[2];
            for (int k = 0; k < 2; k++) {
                int from = call % 3 == 2 ? 2 : 4; /* they meet */
                all[k] = dync_arange(0, 8, 1);
                dync_tensor *a = dync_slice(all[k], 0, 0, 4, 1),
                            *b = dync_slice(all[k], 0, from, from + 4, 1);
                out[k] = k ? dync_call(f, a, b) : two_parts(a, b);
            }
            EXPECT(out[1] && dync_equal(out[0], out[1]) && dync_equal(all[0], all[1]));
            if (call == 0) dync_set_log("");
        }
        EXPECT_EQ_INT(dync_get_counters().graphs, 1);
        dync_compiled_free(f);
    }
    dync_shutdown();
    fflush(stderr);
    file = fopen("build/test_beside.txt", "r");
    REQUIRE(file != NULL);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    fclose(file);
    EXPECT_HAS_STR(text, "dync_mul(");
    EXPECT_HAS_STR(text, "dync_add(");
    EXPECT(!strstr(text, "scatter") && !strstr(text, "base"));
}

/* State beside what is learned: backward reads what was there when forward did. */
TEST(random_writes_beside_gradients)
{
    int rounds = test_count(100);
    dync_init((dync_init_options){.threads = 2, .seed = 10});
    for (int round = 0; round < rounds; round++) DYNC_SCOPE {
        draw_program();
        dync_compiled *f = dync_compile(run_with, .fullgraph = true,
                                        .backend = round % 3 ? "inductor" : "aot_eager");
        for (int call = 0; call < 3; call++) {
            dync_tensor *a[2], *b[2], *w[2], *out[2],
                *at = dync_to_dtype(dync_floor(dync_mul(dync_rand(dync_shape(4, 4)), 4)), DYNC_I64);
            a[0] = dync_floor(dync_mul(dync_randn(dync_shape(6, 4, 8)), 4));
            b[0] = dync_floor(dync_mul(dync_randn(dync_shape(6, 4, 8)), 4));
            w[0] = dync_floor(dync_mul(dync_randn(dync_shape(4, 4)), 4));
            a[1] = dync_clone(a[0]), b[1] = dync_clone(b[0]), w[1] = dync_clone(w[0]);
            for (int k = 0; k < 2; k++) {
                dync_requires_grad_(w[k], true);
                out[k] = k ? dync_call(f, a[1], b[1], at, w[1]) : run_with(a[0], b[0], at, w[0]);
                if (out[k] && dync_requires_grad(out[k]))
                    dync_backward(dync_sum(out[k], DYNC_ALL, false));
            }
            dync_tensor *g = dync_grad(w[0]), *h = dync_grad(w[1]);
            bool same = EXPECT(out[1] && dync_equal(out[0], out[1])) &
                        EXPECT(!g == !h && (!g || dync_equal(g, h))) &
                        EXPECT(dync_equal(a[0], a[1])) & EXPECT(dync_equal(b[0], b[1]));
            if (!same) {
                printf("  round %d, call %d\n", round, call);
                break;
            }
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_shutdown();
}
TEST_MAIN
