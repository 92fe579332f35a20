/* tests/unit/test_kept_truths.c: truths of one pass over a row that a later one needs, at every
 * level: masks of dropout behind softmax and norms, kept for backward; comparisons of dear values,
 * alone and joined. Results are those of plain runs, and no such kernel is left to the
 * interpreter. */
#include "../../src/dync.in.h"
#include "../../src/codegen/jit.h"
#define TEST_AFTER_EACH \
    (dync__cpu_pretend(0), dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

static dync_tensor *rows_of(dync_tensor *x, int kind)
{
    dync_tensor *mean = dync_mean(x, dync_shape(1), true);
    switch (kind) {
    case 0: return dync_softmax(x, 1);
    case 1:
        return dync_div(dync_sub(x, mean),
                        dync_sqrt(dync_mean(dync_mul(x, x), dync_shape(1), true)));
    case 2: return dync_sub(x, dync_logsumexp(x, dync_shape(1), true));
    default: return dync_mul(dync_tanh(x), dync_amax(x, dync_shape(1), true));
    }
}

/* A truth that is dear to compute and needs no row. */
static dync_tensor *truth_of(dync_tensor *x, int kind)
{
    dync_tensor *low = dync_gt(dync_tanh(dync_mul(x, 3.0)), 0.3),
                *wave = dync_lt(dync_sin(dync_exp(x)), 0.5);
    switch (kind) {
    case 0: return low;
    case 1: return dync_logical_and(low, wave);
    case 2: return dync_logical_or(wave, dync_logical_not(low));
    default: return dync_ne(low, wave);
    }
}

static int row_kind, truth_kind, use;
static dync_value masked(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *truth = truth_of(x, truth_kind),
                *y = rows_of(x, row_kind);
    (void)n, (void)user;
    y = use == 0   ? dync_where(truth, y, dync_mul(x, 0.5))
        : use == 1 ? dync_mul(y, truth)
                   : dync_masked_fill(y, truth, -1.0);
    return dync_tuple(dync_relu(y), truth);
}

/* What of a tuple compares: truths as numbers. */
static double distance(dync_value a, dync_value b)
{
    double worst = 0;
    for (int i = 0; i < 2; i++) {
        dync_tensor *d = dync_sub(dync_to_dtype(dync_as_tensor(dync_at(a, i)), DYNC_F64),
                                  dync_to_dtype(dync_as_tensor(dync_at(b, i)), DYNC_F64));
        worst = fmax(worst, (double)dync_item(dync_amax(dync_abs(d), DYNC_ALL, false)));
    }
    return worst;
}

/* 0: the interpreter */
static const unsigned levels[] = {
    0,
    DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C,
    DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C | DYNC__CPU_AVX512,
};

/* The function compiled and plain, of so many random programs at every level that there is. */
static void at_every_level(dync_value (*fn)(const dync_value *, int, void *), int programs)
{
    unsigned has = dync__cpu_features();
    for (int level = 0; level < DYNC__COUNT_OF(levels); level++) {
        if ((has & levels[level]) != levels[level]) continue;
        dync__cpu_pretend(levels[level] | DYNC__CPU_KNOWN);
        for (int t = 0; t < test_count(programs); t++) DYNC_SCOPE {
            row_kind = t % 4, truth_kind = t / 4 % 4, use = test_random_int(0, 2);
            dync_dims shape = dync_shape(test_random_int(2, 40), test_random_int(20, 700));
            dync_value arg = DYNC_V(dync_randn(shape));
            dync_compiled *f = dync_compile(fn, .args = "x", .fullgraph = true);
            int64_t before = dync__jit_read_stats().declined;
            double far = distance(dync_call_values(f, 1, &arg), fn(&arg, 1, NULL));
            bool coded = !levels[level] || dync__jit_read_stats().declined == before;
            if (!EXPECT(far < 1e-5) || !EXPECT(coded))
                fprintf(stderr, "level %d, row %d, truth %d, use %d: %g, %s\n", level, row_kind,
                        truth_kind, use, far, dync__jit_read_stats().why);
            dync_compiled_free(f);
        }
        dync__cpu_pretend(0);
    }
}

TEST(comparisons) { at_every_level(masked, 48); }

/* Two truths, each under the other's user. */
static dync_value masked_twice(const dync_value *v, int n, void *user)
{
    dync_value one = masked(v, n, user), of_one = dync_at(one, 0);
    truth_kind = (truth_kind + 1) % 4;
    dync_value two = masked(&of_one, 1, user);
    truth_kind = (truth_kind + 3) % 4;
    dync_tensor *both =
        dync_logical_and(dync_as_tensor(dync_at(one, 1)), dync_as_tensor(dync_at(two, 1)));
    return dync_tuple(
        dync_where(both, dync_as_tensor(dync_at(one, 0)), dync_as_tensor(dync_at(two, 0))), both);
}
TEST(one_behind_another) { at_every_level(masked_twice, 16); }

/* What has 64 bits beside dear arithmetic of 32, twice in one expression: places, variances and
 * comparisons of indices. */
static dync_value halved(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *y = rows_of(dync_tanh(x), row_kind);
    dync_tensor *p = dync_argmax(dync_tanh(y), 1, true), *q = dync_argmin(dync_sin(x), 1, true),
                *spread = dync_var(dync_exp(dync_tanh(y)), dync_shape(1), 1, true);
    (void)n, (void)user;
    y = dync_add(dync_tril(dync_exp(dync_tanh(x)), truth_kind), dync_mul(y, spread));
    y = use == 0 ? y : dync_add(y, dync_gather(dync_sigmoid(x), 1, use == 1 ? p : q));
    return dync_tuple(y, dync_add(p, dync_mul(q, 3)));
}
TEST(beside_sixty_four_bits) { at_every_level(halved, 32); }

/* ---- dropout --------------------------------------------------------------------------------- */
static dync_tensor *dropped(dync_tensor *x)
{
    return dync_dropout(dync_add(rows_of(x, row_kind), 2.0), 0.25, true);
}

/* y is 0 or what it is without dropout over 0.75; the gradient of its sum is that of the rows
 * where y is not 0. */
TEST(dropout_behind_rows)
{
    for (int t = 0; t < test_count(24); t++) DYNC_SCOPE {
        row_kind = t % 4;
        dync_dims shape = dync_shape(test_random_int(2, 40), test_random_int(20, 700));
        dync_tensor *x = dync_randn(shape, .requires_grad = true), *w = dync_randn(shape),
                    *plain = dync_requires_grad_(dync_clone(dync_detach(x)), true);
        dync_compiled *f = dync_compile(dropped, .fullgraph = true);
        int64_t before = dync__jit_read_stats().declined;
        dync_tensor *y = dync_call(f, x), *stays = dync_detach(dync_ne(y, 0.0));
        dync_tensor *want =
            dync_mul(dync_add(rows_of(plain, row_kind), 2.0), dync_div(stays, 0.75));
        dync_real share = dync_item(dync_mean(dync_to_dtype(stays, DYNC_F32), DYNC_ALL, false));
        EXPECT(dync_allclose(y, want, 1e-4, 1e-5) && share > 0.3 && share < 1);
        EXPECT_STATUS(dync_backward(dync_sum(dync_mul(y, w), DYNC_ALL, false)), DYNC_OK);
        EXPECT_STATUS(dync_backward(dync_sum(dync_mul(want, w), DYNC_ALL, false)), DYNC_OK);
        EXPECT(dync_allclose(dync_grad(x), dync_grad(plain), 1e-3, 1e-4));
        if (!EXPECT(dync__jit_read_stats().declined == before))
            fprintf(stderr, "row %d: %s\n", row_kind, dync__jit_read_stats().why);
        dync_compiled_free(f);
    }
}
TEST_MAIN
