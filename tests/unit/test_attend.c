/* aot/attend.c: attention written out in every form becomes the operator, and computes what it did:
 * masks of all kinds, queries that see nothing, NaN and infinities; what is not attention stays. */
#include "../../src/dync.in.h"
#include "../../src/aot/aot.h"
#include "../test.h"
#include "every_operator.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

enum { NONE, FILL, CHOOSE, ADD, BELOW, ABOVE, NOT_BELOW, MASKS };
static struct {
    int mask, factor, spoil;
} now;

static dync_tensor *masked(dync_tensor *s, dync_tensor *m)
{
    int n = dync_ndim(s);
    int64_t L = dync_size(s, n - 2), S = dync_size(s, n - 1);
    switch (now.mask) {
    case FILL: return dync_masked_fill(s, m, -HUGE_VAL);
    case CHOOSE: return dync_where(m, s, -HUGE_VAL);
    case ADD: return dync_add(s, m);
    case BELOW:
        return dync_masked_fill(s, dync_eq(dync_tril(dync_ones(dync_shape(L, S)), 0), 0),
                                -HUGE_VAL);
    case ABOVE:
        return dync_masked_fill(s, dync_triu(dync_ones(dync_shape(L, S), .dtype = DYNC_BOOL), 1),
                                -HUGE_VAL);
    case NOT_BELOW:
        return dync_where(dync_tril(dync_ones(dync_shape(L, S), .dtype = DYNC_BOOL), 0), s,
                          -HUGE_VAL);
    default: return s;
    }
}

static dync_tensor *written(dync_tensor *q, dync_tensor *k, dync_tensor *v, dync_tensor *m)
{
    dync_tensor *s = dync_matmul(q, dync_transpose(k, -2, -1)), *p;
    if (now.factor == 1) s = dync_div(s, 4.0);
    if (now.factor == 2) s = dync_mul(0.125, s);
    s = masked(s, m);
    if (now.factor == 3 && now.mask != ADD) s = dync_mul(s, 0.5);
    p = dync_softmax(s, now.factor == 1 ? -1 : dync_ndim(s) - 1);
    /* another user */
    if (now.spoil == 1) return dync_add(dync_matmul(p, v), dync_sum(p, DYNC_ALL, false));
    if (now.spoil == 2) return dync_matmul(dync_softmax(dync_add(masked(s, m), s), -1), v);
    return dync_matmul(p, v);
}

/* A backend that looks for attention and runs what it got. */
static int found;
static bool training;

static dync_value run_graph(void *state, const dync_value *args, int n)
{
    return dync__graph_run(state, args, n);
}
static void end_graph(void *state) { dync__graph_unref(state); }

static dync_status look(dync_graph *graph, const dync_value *examples, int n, const char *options,
                        dync_callable *out, void *user)
{
    (void)examples, (void)n, (void)options, (void)user;
    dync__graph *g = dync__graph_ref(dync__graph_peek(graph));
    dync_status status = dync__aot_attend(&g, training);
    found = 0;
    for (int i = 0; i < g->node.n; i++)
        found += g->node.at[i]->op == DYNC__OP__scaled_dot_product_flash_attention_for_cpu;
    *out = (dync_callable){.run = run_graph, .destroy = end_graph, .state = g};
    return status;
}
static const dync_backend looker = {.name = "looker", .compile = look};

static dync_tensor *looked(dync_tensor *q, dync_tensor *k, dync_tensor *v, dync_tensor *m)
{
    dync_compiled *c = dync_compile(written, .backend_object = &looker);
    dync_tensor *y = dync_call(c, q, k, v, m);
    dync_compiled_free(c);
    return y;
}

/* Equal to `most` times the greatest, and NaN in the same places. */
static bool agree(dync_tensor *a, dync_tensor *b, double most)
{
    a = dync_contiguous(a);
    b = dync_contiguous(b);
    if (!a || !b || dync_numel(a) != dync_numel(b)) return false;
    const float *x = dync_data(a), *y = dync_data(b);
    for (int64_t i = 0; i < dync_numel(a); i++)
        if ((x[i] != x[i]) != (y[i] != y[i]) || fabs((double)x[i] - (double)y[i]) > most)
            return false;
    return true;
}

static void check(int64_t units, int64_t L, int64_t S, bool fours)
{
    int64_t E = test_random_int(1, 40), V = test_random_int(1, 40);
    DYNC_SCOPE {
        dync_tensor *q = dync_randn(fours ? dync_shape(1, units, L, E) : dync_shape(units, L, E)),
                    *k = dync_randn(fours ? dync_shape(1, units, S, E) : dync_shape(units, S, E));
        dync_tensor *v = dync_randn(fours ? dync_shape(1, units, S, V) : dync_shape(units, S, V)),
                    *m = dync_lt(dync_rand(dync_shape(L, S)), 0.3);
        if (now.mask == CHOOSE) m = dync_logical_not(m);
        uint8_t *hidden = dync_data(m);
        /* this query sees nothing */
        for (int64_t j = 0; j < S; j++) hidden[L / 3 * S + j] = now.mask != CHOOSE;
        if (now.mask == ADD) m = dync_where(m, -HUGE_VAL, dync_randn(dync_shape(L, S)));
        if (test_random() % 4 == 0)
            ((float *)dync_data(q))[test_random() % (uint64_t)(units * L * E)] =
                test_random() % 2 ? NAN : INFINITY;
        if (test_random() % 4 == 0)
            ((float *)dync_data(v))[test_random() % (uint64_t)(units * S * V)] = NAN;
        dync_tensor *got = looked(q, k, v, m), *want = written(q, k, v, m);
        EXPECT_EQ_INT(found, now.spoil == 0);
        if (!EXPECT(agree(got, want, 1e-4)))
            printf("  mask %d factor %d: %d x %d x %d\n", now.mask, now.factor, (int)units, (int)L,
                   (int)S);
    }
}

TEST(attention_written_out_becomes_the_operator)
{
    for (int i = 0; i < 4 * MASKS; i++) {
        now.mask = i % MASKS;
        now.factor = i / MASKS;
        now.spoil = 0;
        if (now.mask >= BELOW)
            check(test_random_int(1, 3), test_random_int(80, 150), test_random_int(80, 150), i % 2);
        else
            check(3, 1000, 1000, i % 2);
    }
}

TEST(other_things_stay)
{
    for (now.spoil = 1; now.spoil < 3; now.spoil++) {
        now.mask = FILL;
        check(3, 1000, 1000, false);
    }
    now.spoil = 0;
    DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(2, 8, 8)), *m = dync_lt(dync_select(x, 0, 0), 0);
        now.mask = FILL;
        EXPECT(looked(x, x, x, m)); /* small */
        EXPECT_EQ_INT(found, 0);
        training = true;
        x = dync_randn(dync_shape(3, 1000, 8)); /* a query may see nothing */
        EXPECT(looked(x, x, x, dync_lt(dync_rand(dync_shape(1000, 1000)), 0.5)));
        EXPECT_EQ_INT(found, 0);
        now.mask = BELOW;
        EXPECT(looked(x, x, x, m));
        EXPECT_EQ_INT(found, 1);
        training = false;
    }
}

/* A compiled training step: the gradients of the written form. */
TEST(gradients_through_it)
{
    now.spoil = 0;
    for (int i = 0; i < 6; i++) {
        now.mask = BELOW + i % 3;
        now.factor = i % 4;
        DYNC_SCOPE {
            dync_tensor *x[3], *grad[3] = {NULL};
            for (int e = 0; e < 3; e++)
                x[e] = dync_randn(i % 2 ? dync_shape(1, 2, 140, 16) : dync_shape(2, 140, 16),
                                  .requires_grad = true);
            dync_compiled *c = dync_compile(written);
            for (int way = 0; way < 2; way++) {
                dync_tensor *y = way ? dync_call(c, x[0], x[1], x[2], x[0])
                                     : written(x[0], x[1], x[2], x[0]);
                REQUIRE(y);
                dync_backward(dync_sum(dync_square(y), DYNC_ALL, false));
                for (int e = 0; e < 3; e++) {
                    if (way) EXPECT(agree(dync_grad(x[e]), grad[e], 2e-3));
                    grad[e] = dync_clone(dync_grad(x[e]));
                    dync_set_grad(x[e], NULL);
                }
            }
            dync_compiled_free(c);
        }
    }
}

TEST_MAIN
