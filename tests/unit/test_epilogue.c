/* runtime/epilogue.c, kernel/matmul.c: loops after a matrix product: they are its epilogue where
 * that is possible, and the results are eager's for all shapes, layouts and thread counts. */
#include "../../src/dync.in.h"
#include "../../src/inductor/inductor.h"
#include "../../src/codegen/gemm_code.h"
#include "../test.h"
#include "../tol.h"
static const dync__options plain_options = DYNC__OPTIONS_DEFAULT;
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

/* x [m, k], w [k, n], b [n], r [m, n] */
typedef dync_tensor *(*program)(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r);
static dync_tensor *relu(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)b, (void)r, dync_relu(dync_matmul(x, w));
}
static dync_tensor *biased(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r, dync_gelu(dync_addmm(b, x, w));
}
static dync_tensor *residual(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return dync_add(r, dync_mul(dync_addmm(b, x, w), 0.5));
}
static dync_tensor *narrowed(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r, dync_to_dtype(dync_silu(dync_addmm(b, x, w)), DYNC_BF16);
}
static dync_tensor *softened(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)b, dync_softmax(dync_add(dync_matmul(x, w), r), 1);
}
static dync_tensor *normed(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r, dync_layer_norm(dync_matmul(x, w), dync_shape(dync_size(w, 1)), b, b, 1e-5);
}
static dync_tensor *summed(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)b, dync_sum(dync_mul(dync_matmul(x, w), r), dync_shape(1), false);
}
static dync_tensor *by_column(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)b, (void)r, dync_sum(dync_tanh(dync_matmul(x, w)), dync_shape(0), false);
}
static dync_tensor *turned(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)b, (void)r, dync_contiguous(dync_transpose(dync_tanh(dync_matmul(x, w)), 0, 1));
}
static dync_tensor *chained(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    dync_tensor *y = dync_sigmoid(dync_addmm(b, x, w));
    return dync_add(dync_tanh(dync_matmul(y, dync_transpose(r, 0, 1))),
                    dync_sum(y, DYNC_ALL, false));
}
static dync_tensor *twice(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    dync_tensor *y = dync_matmul(x, w);
    return dync_cat(dync_tuple(y, dync_relu(dync_add(y, b)), dync_mul(y, r)), 0);
}
static dync_tensor *left(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)b,
           dync_mul(dync_tanh(dync_matmul(dync_transpose(w, 0, 1), dync_transpose(x, 0, 1))),
                    dync_transpose(r, 0, 1));
}
static dync_tensor *batched(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    dync_tensor *three = dync_stack(dync_tuple(x, dync_mul(x, 2), dync_neg(x)), 0),
                *ws = dync_stack(dync_tuple(w, dync_neg(w), w), 0);
    return dync_add(dync_relu(dync_bmm(three, ws)), dync_add(r, b));
}

/* each row times a number of its own, then a vector of columns */
static dync_tensor *scaled(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    dync_tensor *each = dync_unsqueeze(dync_select(r, 1, 0), 1);
    return dync_add(dync_mul(dync_addmm(b, x, w), each), b);
}
static dync_tensor *leaky(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)b, dync_leaky_relu(dync_sub(r, dync_matmul(x, w)), 0.1);
}
static dync_tensor *clamped(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r, dync_clamp(dync_add(dync_mul(dync_matmul(x, w), b), b), -1, 1);
}

/* fuses: there is an epilogue; in_tiles: as a list in the product's tiles, ROOMY: where tiles leave
 * more than two registers */
enum { NO, IN_TILES, ROOMY };
static const struct {
    program fn;
    bool fuses;
    int in_tiles;
} programs[] = {{relu, true, IN_TILES},   {biased, true, NO},       {residual, true, IN_TILES},
                {narrowed, true, NO},     {softened, true, NO},     {normed, true, NO},
                {summed, true, NO},       {by_column, false, NO},   {turned, false, NO},
                {chained, true, NO},      {twice, true, NO},        {left, true, NO},
                {batched, true, NO},      {scaled, true, IN_TILES}, {leaky, true, ROOMY},
                {clamped, true, IN_TILES}};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static void compare(program fn, dync_tensor **in, int step)
{
    dync_compiled *f = dync_compile(fn, .args = "x, w, b, r");
    dync_tensor *want = fn(in[0], in[1], in[2], in[3]);
    for (int i = 0; i < 2; i++) {
        dync_tensor *got = dync_call(f, in[0], in[1], in[2], in[3]);
        double tol = got && dync_type(got) == DYNC_BF16  ? TOL_BF16_1ULP
                     : got && dync_type(got) == DYNC_F64 ? TOL_F64_CHAIN
                                                         : 2e-5;
        if (!EXPECT(got && want && dync_allclose(got, want, tol, tol)))
            printf("  program %d: %d x %d x %d\n", step, (int)dync_size(in[0], 0),
                   (int)dync_size(in[1], 1), (int)dync_size(in[0], 1));
    }
    dync_compiled_free(f);
}

TEST(results_are_eager_s)
{
    for (int round = 0; round < 150; round++) DYNC_SCOPE {
        int p = round % PROGRAMS, m = test_random_int(1, round % 4 ? 50 : 300),
            n = test_random_int(1, round % 3 ? 40 : 200), k = test_random_int(1, 90);
        dync__pool_set_threads(test_random_int(1, 4));
        dync_dtype type = round % 7 == 0 ? DYNC_F64 : DYNC_F32;
        dync_tensor *in[4] = {dync_randn(dync_shape(m, k), .dtype = type),
                              dync_randn(dync_shape(k, n), .dtype = type),
                              dync_randn(dync_shape(n), .dtype = type),
                              dync_randn(dync_shape(m, n), .dtype = type)};
        if (round % 5 == 1)
            in[1] = dync_transpose(dync_contiguous(dync_transpose(in[1], 0, 1)), 0, 1);
        if (round % 5 == 2)
            in[0] = dync_transpose(dync_contiguous(dync_transpose(in[0], 0, 1)), 0, 1);
        compare(programs[p].fn, in, p);
    }
    dync__pool_set_threads(0);
}

static program traced;
static dync_value as_list(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(traced(args[0].as.t, args[1].as.t, args[2].as.t, args[3].as.t));
}

/* With machine code each of these has an epilogue. */
TEST(epilogues_are_found)
{
    if (!dync__gt_can(DYNC__GT_F32)) SKIP("no machine code here");
    for (int p = 0; p < PROGRAMS; p++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(40, 30)), *w = dync_randn(dync_shape(30, 50)),
                    *b = dync_randn(dync_shape(50)), *r = dync_randn(dync_shape(40, 50));
        traced = programs[p].fn;
        dync_graph *g = dync_make_graph(as_list, x, w, b, r);
        dync__lowered l;
        dync__str s = {0};
        if (!EXPECT(g != NULL) ||
            !EXPECT_OK(dync__inductor_lower(dync__graph_peek(g), NULL, &plain_options, &l)))
            continue;
        dync__plan_dump(&s, l.plan);
        if (!EXPECT((strstr(dync__str_get(&s), "with epilogue") != NULL) == programs[p].fuses))
            printf("  program %d\n%s", p, dync__str_get(&s));
        bool roomy = dync__cpu_features() & DYNC__CPU_AVX512;
        int want = programs[p].in_tiles == ROOMY ? roomy : programs[p].in_tiles == IN_TILES;
        if (!EXPECT((strstr(dync__str_get(&s), "in its tiles") != NULL) == want))
            printf("  program %d\n%s", p, dync__str_get(&s));
        dync__str_free(&s);
        dync__lowered_free(&l);
    }
}

/* ---- what is scattered into ------------------------------------------------------------------ */

static dync_tensor *places(int size, dync_dims shape)
{
    return dync_to_dtype(dync_mul(dync_rand(shape), size), DYNC_I64);
}

/* Random programs: results and written inputs are those of eager, bit by bit, whether a base is the
 * result's memory or not. */
enum { STEPS = 7 };
static struct {
    int op, a, b;
} random_step[STEPS];
static dync_tensor *scattered(dync_tensor *x, dync_tensor *y, dync_tensor *index, dync_tensor *rows)
{
    dync_tensor *t[STEPS + 2] = {x, y};
    for (int i = 0; i < STEPS; i++) {
        dync_tensor *a = t[random_step[i].a % (i + 2)], *b = t[random_step[i].b % (i + 2)],
                    *c = dync_mul(b, 2);
        switch (random_step[i].op) {
        case 0: a = dync_scatter_add(a, 1, index, b); break;
        case 1: a = dync_scatter(a, 1, index, b); break;
        case 2: a = dync_index_add(a, 0, rows, b); break;
        case 3: a = dync_scatter_add(dync_zeros_like(a), 1, index, b); break;
        case 4: a = dync_index_add(dync_exp(a), 0, rows, b); break;
        case 5: a = dync_scatter_add_(a, 1, index, c); break;
        case 6: a = dync_index_add_(a, 0, rows, c); break;
        case 7: a = dync_scatter_(a, 1, index, c); break;
        default: a = dync_add(a, b); break;
        }
        t[i + 2] = a;
    }
    return dync_cat(dync_tuple(t[STEPS + 1], dync_mul(t[STEPS], t[STEPS - 1])), 0);
}

TEST(scatters_where_the_result_is)
{
    for (int round = 0; round < 150; round++) DYNC_SCOPE {
        int n = test_random_int(1, 20), m = test_random_int(1, 40);
        dync_dtype type = round % 4 ? DYNC_F32 : DYNC_BF16;
        dync_tensor *in[4] = {dync_randn(dync_shape(n, m), .dtype = type),
                              dync_randn(dync_shape(n, m), .dtype = type),
                              places(m, dync_shape(n, m)), places(n, dync_shape(n))};
        for (int i = 0; i < STEPS; i++)
            random_step[i].op = test_random_int(0, 9), random_step[i].a = test_random_int(0, 9),
            random_step[i].b = test_random_int(0, 9);
        dync_compiled *f = dync_compile(scattered, .args = "x, y, index, rows");
        for (int call = 0; call < 2; call++) {
            dync_tensor *x = dync_clone(in[0]), *y = dync_clone(in[1]),
                        *want = scattered(x, y, in[2], in[3]),
                        *got = dync_call(f, in[0], in[1], in[2], in[3]);
            bool same = got && want && dync_allclose(got, want, 1e-5, 1e-5);
            if (!EXPECT(same) || !EXPECT(dync_allclose(in[0], x, 1e-5, 1e-5)) ||
                !EXPECT(dync_allclose(in[1], y, 1e-5, 1e-5)))
                printf("  round %d\n", round);
        }
        dync_compiled_free(f);
    }
}

/* An input that all of the result is copied to is written at once; an index outside is an error
 * that is told. */
static dync_value added(const dync_value *args, int n, void *user)
{
    return (void)n, (void)user,
           DYNC_V(dync_index_add_(args[0].as.t, 0, args[1].as.t, args[2].as.t));
}
TEST(rows_are_added_in_place)
{
    DYNC_SCOPE {
        dync_tensor *x = dync_zeros(dync_shape(5, 20)), *rows = places(5, dync_shape(3)),
                    *y = dync_ones(dync_shape(3, 20));
        dync_compiled *f = dync_compile(added, .fullgraph = true);
        dync_call(f, x, rows, y);
        EXPECT_NEAR(dync_item(dync_sum(x, DYNC_ALL, false)), 60, TOL_EXACT);
        dync_graph *g = dync_make_graph(added, x, rows, y);
        dync__lowered l;
        REQUIRE_OK(dync__inductor_lower(dync__graph_peek(g), NULL, &plain_options, &l));
        EXPECT_EQ_INT(dync__plan_arena_bytes(l.plan), 0);
        dync__lowered_free(&l);
        dync_on_error(NULL, NULL);
        dync_call(f, x, dync_add(rows, 5), y);
        EXPECT_STATUS(dync_error(), DYNC_ERR_INDEX);
        dync_clear_error();
        dync_compiled_free(f);
    }
}

/* ---- after convolutions ---------------------------------------------------------------------- */

/* x [1, 32, 20, 20], w [32, 32, 3, 3], b [32], r [1, 32, 20, 20] */
static dync_tensor *conv(dync_tensor *x, dync_tensor *w, dync_tensor *b)
{
    return dync_conv2d(x, w, b, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
}
static dync_tensor *conv_silu(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r, dync_silu(conv(x, w, b));
}
static dync_tensor *conv_by_hand(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    dync_tensor *y = conv(x, w, NULL);
    return (void)b, (void)r, dync_mul(y, dync_sigmoid(y));
}
static dync_tensor *conv_norm(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r,
           dync_silu(dync_batch_norm(conv(x, w, NULL), b, b, b, dync_abs(b), false, 0.1, 1e-5));
}
static dync_tensor *conv_relu(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r, dync_hardswish(conv(x, w, b));
}
static dync_tensor *conv_shortcut(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return dync_gelu(dync_add(conv(x, w, b), dync_softmax(r, 3)));
}
static dync_tensor *conv_pointwise(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r, dync_gelu(dync_conv2d(x, dync_narrow(dync_narrow(w, 2, 1, 1), 3, 1, 1), b,
                                          dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1));
}
static dync_tensor *conv_transposed(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return (void)r, dync_silu(dync_conv_transpose2d(x, w, b, dync_shape(2, 2), dync_shape(1, 1),
                                                    dync_shape(0, 0), 1, dync_shape(1, 1)));
}
static dync_tensor *conv_chain(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    return conv_silu(conv_silu(x, w, b, r), w, b, r);
}
static dync_tensor *conv_double(dync_tensor *x, dync_tensor *w, dync_tensor *b, dync_tensor *r)
{
    dync_tensor *in[4] = {x, w, b, r};
    for (int i = 0; i < 4; i++) in[i] = dync_to_dtype(in[i], DYNC_F64);
    return conv_silu(in[0], in[1], in[2], in[3]);
}

/* Steps of the plan beside what makes the operands, and whether one of them is a call with loops
 * inside. Of the shortcut, whose softmax has short rows, gelu is apart; the pointwise convolution's
 * weight, a part of a larger one, is copied. */
TEST(loops_after_a_convolution_are_its_epilogue)
{
    static const struct {
        program fn;
        int steps;
        bool epilogue;
    } convs[] = {{conv_silu, 1, true},       {conv_by_hand, 1, true},  {conv_norm, 2, true},
                 {conv_relu, 1, false},      {conv_shortcut, 2, true}, {conv_pointwise, 2, true},
                 {conv_transposed, 1, true}, {conv_chain, 2, true},    {conv_double, 4, true}};
    if (!dync__gt_can(DYNC__GT_F32)) SKIP("no machine code here");
    for (int p = 0; p < (int)(sizeof convs / sizeof convs[0]); p++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(1, 32, 20, 20)),
                    *w = dync_randn(dync_shape(32, 32, 3, 3)), *b = dync_randn(dync_shape(32)),
                    *r = dync_randn(dync_shape(1, 32, 20, 20));
        traced = convs[p].fn;
        dync_graph *g = dync_make_graph(as_list, x, w, b, r);
        dync__lowered l;
        dync__str s = {0};
        if (!EXPECT(g != NULL) ||
            !EXPECT_OK(dync__inductor_lower(dync__graph_peek(g), NULL, &plain_options, &l)))
            continue;
        dync__plan_dump(&s, l.plan);
        if (!EXPECT(dync__plan_step_count(l.plan) == convs[p].steps &&
                    (strstr(dync__str_get(&s), "with epilogue") != NULL) == convs[p].epilogue))
            printf("  program %d\n%s", p, dync__str_get(&s));
        dync__str_free(&s);
        dync__lowered_free(&l);
    }
}

/* ---- b packed once --------------------------------------------------------------------------- */

/* What only a pointwise operator takes of a concatenation is computed part by part: as eager does,
 * in as many kernels as parts. */
static int joined;
static dync_value join(const dync_value *v, int n, void *user)
{
    dync_tensor *a = dync_as_tensor(v[0]), *b = dync_as_tensor(v[1]), *row = dync_as_tensor(v[2]),
                *column = dync_as_tensor(v[3]), *all;
    (void)n, (void)user;
    switch (joined) {
    case 0: return DYNC_V(dync_relu(dync_cat(dync_tuple(a, b), 1)));
    case 1: return DYNC_V(dync_add(dync_cat(dync_tuple(a, b), 1), row));
    case 2: return DYNC_V(dync_mul(column, dync_cat(dync_tuple(a, b), -1)));
    case 3:
        return DYNC_V(dync_sub(dync_cat(dync_tuple(a, dync_slice(b, 1, 0, 7, 1)), 0),
                               dync_slice(row, 0, 5, 12, 1)));
    case 4: return DYNC_V(dync_lt(dync_cat(dync_tuple(b, a, b), 1), 0.25));
    case 5:
        return DYNC_V(dync_where(dync_gt(dync_transpose(dync_cat(dync_tuple(a, b), 1), 0, 1), 0), 1,
                                 dync_transpose(column, 0, 1)));
    case 6: return DYNC_V(dync_mul(dync_cat(dync_tuple(a, dync_to_dtype(b, DYNC_F64)), 1), 2));
    case 7:
        return DYNC_V(
            dync_add(dync_silu(dync_cat(
                         dync_tuple(a, dync_slice(b, 1, 3, 3, 1),
                                    dync_transpose(dync_contiguous(dync_transpose(b, 0, 1)), 0, 1)),
                         1)),
                     1));
    case 8: all = dync_cat(dync_tuple(a, b), 1); return DYNC_V(dync_add(dync_relu(all), all));
    default: all = dync_cat(dync_tuple(a, b), 1); return dync_tuple(dync_relu(all), all);
    }
}
static dync_value join_list(const dync_value *v, int n, void *user)
{
    return dync_tuple(join(v, n, user));
}
TEST(concatenations_go_into_their_user)
{
    for (joined = 0; joined < 10; joined++) DYNC_SCOPE {
        dync_tensor *a = dync_randn(dync_shape(5, 7)), *b = dync_randn(dync_shape(5, 12)),
                    *row = dync_randn(dync_shape(19)), *column = dync_randn(dync_shape(5, 1));
        dync_value in[] = {DYNC_V(a), DYNC_V(b), DYNC_V(row), DYNC_V(column)},
                   want = join(in, 4, NULL);
        dync_compiled *f = dync_compile(join, .fullgraph = true);
        dync_value got = dync_call_values(f, 4, in);
        dync_tensor *x = got.kind == DYNC_KIND_LIST ? dync_as_tensor(dync_at(got, 0))
                                                    : dync_as_tensor(got);
        dync_tensor *y = want.kind == DYNC_KIND_LIST ? dync_as_tensor(dync_at(want, 0))
                                                     : dync_as_tensor(want);
        if (!EXPECT(x && y) || !EXPECT(dync_type(x) == dync_type(y) &&
                                       dync_allclose(dync_to_dtype(x, DYNC_F64),
                                                     dync_to_dtype(y, DYNC_F64), 1e-6, 1e-6)))
            printf("  function %d\n", joined);
        dync_compiled_free(f);
        if (joined > 0) continue;
        dync_graph *g = dync_make_graph(join_list, a, b, row, column);
        dync__lowered l;
        dync__str s = {0};
        if (!EXPECT(g != NULL) ||
            !EXPECT_OK(dync__inductor_lower(dync__graph_peek(g), NULL, &plain_options, &l)))
            continue;
        dync__plan_dump(&s, l.plan);
        EXPECT_HAS_STR(dync__str_get(&s), ": 2 steps, 0 bytes of arena");
        dync__str_free(&s);
        dync__lowered_free(&l);
    }
}

static dync_tensor *linear(dync_tensor *x, dync_tensor *w)
{
    return dync_relu(dync_linear(x, w, NULL));
}

static void as_eager(dync_compiled *f, dync_tensor *x, dync_tensor *w)
{
    for (int i = 0; i < 3; i++) /* seen, packed, used */
        DYNC_SCOPE {
        dync_tensor *want = linear(x, w), *got = dync_call(f, x, w);
        EXPECT(want && got && dync_allclose(got, want, 1e-5, 1e-5));
    }
}

TEST(packed_weights_follow_their_tensor)
{
    static float lent[96 * 64];
    DYNC_SCOPE {
        dync_set_grad_enabled(false);
        dync_tensor *x = dync_randn(dync_shape(20, 64)), *w = dync_randn(dync_shape(96, 64)),
                    *v = dync_randn(dync_shape(96, 64));
        dync_compiled *f = dync_compile(linear, .args = "x, w");
        as_eager(f, x, w);
        as_eager(f, x, v);
        as_eager(f, x, w);
        dync_mul_(w, 2);
        as_eager(f, x, w);
        dync_copy_(dync_select(w, 0, 3), dync_select(v, 0, 5));
        as_eager(f, x, w);
        dync_compiled *into = dync_compile(linear, .args = "x, w");
        EXPECT_OK(dync_call_into(into, w, dync_randn(dync_shape(96, 10)),
                                 dync_randn(dync_shape(64, 10))));
        as_eager(f, x, w);
        float *p = dync_data(w);
        as_eager(f, x, w);
        p[77] += 3;
        as_eager(f, x, w);
        for (int i = 0; i < 96 * 64; i++) lent[i] = (float)(i % 7);
        dync_tensor *b = dync_wrap(lent, dync_shape(96, 64));
        as_eager(f, x, b);
        lent[100] = -9;
        as_eager(f, x, b);
        for (int i = 0; i < 6; i++) /* new tensors in old memory */
            DYNC_SCOPE
            as_eager(f, x, dync_randn(dync_shape(96, 64)));
        dync_compiled_free(f);
        dync_compiled_free(into);
        dync_set_grad_enabled(true);
    }
}

static dync_tensor *loss_of(dync_module *m, dync_tensor *x)
{
    return dync_mean(dync_mul(dync_forward_call(m, x), dync_forward_call(m, x)), DYNC_ALL, false);
}
static dync_optim *optimizer;
static dync_module *trained;
static dync_tensor *train_step(dync_tensor *x)
{
    dync_optim_zero_grad(optimizer);
    dync_tensor *loss = loss_of(trained, x);
    dync_backward(loss);
    dync_optim_step(optimizer);
    return loss;
}

/* The same parameters in compiled training steps and compiled inference. */
TEST(packed_weights_follow_training)
{
    for (int whole = 0; whole < 2; whole++) DYNC_SCOPE {
        trained = dync_sequential(dync_nn_linear(40, 64, true), dync_nn_relu(),
                                  dync_nn_linear(64, 33, true));
        optimizer = dync_sgd(trained, .lr = 0.1);
        dync_tensor *x = dync_randn(dync_shape(24, 40));
        dync_compiled *infer = dync_compile(trained),
                      *step = dync_compile(train_step, .args = "x", .fullgraph = whole);
        float first = 0, last = 0;
        for (int i = 0; i < 12; i++) DYNC_SCOPE {
            dync_tensor *loss = dync_call(step, x);
            last = (float)dync_item(loss);
            if (i == 0) first = last;
            for (int k = 0; k < 1 + i % 4; k++) DYNC_NO_GRAD {
                dync_tensor *want = dync_forward_call(trained, x), *got = dync_call(infer, x);
                EXPECT(want && got && dync_allclose(got, want, 1e-5, 1e-5));
            }
        }
        EXPECT(last < first);
        dync_compiled_free(infer);
        dync_compiled_free(step);
        dync_optim_free(optimizer);
        dync_module_free(trained);
    }
}

/* Without executable memory tiles get no code: what follows a product is then done in C, and so is
 * the addend, which may stand where the result goes. */
static dync_tensor *twice_biased(dync_tensor *x, dync_tensor *w, dync_tensor *b)
{
    return dync_add(dync_linear(x, w, b), b);
}
static bool bias_is_right(int m, int n)
{
    dync_tensor *x = dync_randn(m ? dync_shape(m, 4) : dync_shape(4)),
                *w = dync_randn(dync_shape(n, 4)), *b = dync_randn(dync_shape(n));
    dync_compiled *f = dync_compile(twice_biased);
    dync_tensor *y = dync_call(f, x, w, b);
    bool right = dync_allclose(y, dync_add(dync_add(dync_matmul(x, dync_t(w)), b), b), 1e-5, 1e-5);
    dync_compiled_free(f);
    return right;
}
TEST(lists_where_tiles_have_no_code)
{
    for (int n = 1; n < 8; n++) EXPECT(bias_is_right(4, n));
    dync__codemem_force(DYNC__CODEMEM_REFUSED);
    for (int m = 0; m < 20; m++)
        for (int n = 1; n < 40; n += 3) EXPECT(bias_is_right(m, n));
    dync__codemem_force(DYNC__CODEMEM_TWICE);
}

/* A process that has made many tiles gets code for all others, too, whose bits differ from C's. */
TEST(tiles_have_code_however_many)
{
    int made = 0, missing = 0;
    const dync__target *t = dync__target_now();
    for (int rows = 1; rows < 26; rows++)
        for (int type = 0; type < 6; type++)
            for (int vectors = 1; vectors < 9; vectors++)
                for (int flags = 0; flags < 8; flags++) {
                    int columns = vectors * dync__gt_lanes(type, flags);
                    if (!dync__gt_can(type)) continue;
                    if (!dync__gt_fits(DYNC__GT_TILE, type, flags, rows, columns)) continue;
                    bool is = dync__gt_code(t, DYNC__GT_TILE, type, flags, rows, vectors) != NULL;
                    made += is, missing += !is;
                }
    EXPECT(t ? made > 500 && !missing : !made);
}
TEST_MAIN
