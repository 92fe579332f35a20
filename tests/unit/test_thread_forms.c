/* What threads and registers decide by itself (columns of kept panels, running sums beside dear
 * arithmetic, batches of tiny products, the first of a long row, rows in pieces or across cache
 * lines, strided images, weight gradients by groups of images, short rows in strips, rows
 * backwards, places in 32 bits, pictures padded as they lie, rows shared across, rows that repeat
 * themselves, images, products and rows added of sixteen bits), in one expression: drawn chains in
 * which a form meets itself, the others and every user, weights shared, and their backward. At
 * every level: the bits of one thread by two to four, in every run, and what plain calls give.
 * `--seed N` starts elsewhere, SOAK=N goes on longer. */
#include "dync.in.h"
#include "base/system.h"
#include "codegen/jit.h"
#define TEST_AFTER_EACH                                                                   \
    (dync__pool_force(DYNC__POOL_TRIED), dync__pool_set_threads(0), dync__cpu_pretend(0), \
     dync_shutdown(), dync_clear_error())
#include "test.h"

enum { STEPS = 8, KINDS = 22, WEIGHTS = 3 };
typedef struct chain {
    int n, kind[STEPS], from[STEPS], with[STEPS], dim[STEPS];
    dync_tensor *weight[WEIGHTS]; /* the last: a filter */
    dync_tensor *half[2][2]; /* of bf16 and f16: a square and a filter, which are kept packed */
    dync_tensor *places;     /* rows */
    bool wide;               /* what is of sixteen bits is computed in F32 */
} chain;

static dync_tensor *narrow(const chain *c, int i, dync_tensor *x)
{
    dync_tensor *t = dync_tanh(dync_detach(x)); /* gradients of so many would be noise */
    t = dync_to_dtype(t, c->dim[i] ? DYNC_BF16 : DYNC_F16);
    return c->wide ? dync_to_dtype(t, DYNC_F32) : t;
}
static dync_tensor *half_weight(const chain *c, int i, int which)
{
    dync_tensor *t = c->half[c->dim[i]][which];
    return c->wide ? dync_to_dtype(t, DYNC_F32) : t;
}

/* So little of it that another rounding to sixteen bits is within what is allowed. */
static dync_tensor *a_little(dync_tensor *t, dync_tensor *y)
{
    return dync_add(dync_mul(dync_to_dtype(t, DYNC_F32), 0.004), dync_mul(y, 0.5));
}

static dync_tensor *step(const chain *c, int i, dync_tensor *x, dync_tensor *y)
{
    int64_t rows = dync_size(x, 0), columns = dync_size(x, 1);
    dync_tensor *t;
    switch (c->kind[i]) {
    case 0: return dync_tanh(dync_linear(x, c->weight[c->dim[i]], NULL));
    case 1: return dync_mul(dync_cumsum(dync_tanh(x), c->dim[i]), 0.02);
    case 2: return dync_sub(dync_exp(dync_mul(dync_cumsum(y, c->dim[i]), 0.001)), 1.0);
    case 3:
        t = dync_reshape(x, dync_shape(rows * columns / 16, 4, 4));
        return dync_reshape(dync_mul(dync_tanh(dync_matmul(t, t)), 0.5), dync_shape(rows, columns));
    case 4:
        t = dync_reshape(x, dync_shape(-1));
        t = dync_as_tensor(dync_at(dync_topk(t, columns, 0, true, true), 0));
        return dync_mul(dync_add(y, t), 0.5);
    case 5: return dync_mul(dync_sigmoid(x), y);
    case 6: /* pieces of a row, transposed */
        t = dync_transpose(dync_reshape(x, dync_shape(rows, columns / 16, 16)), 1, 2);
        t = dync_softmax(dync_reshape(t, dync_shape(rows, columns)), 1);
        return c->dim[i] ? dync_add(t, y) : dync_mul(t, 4.0);
    case 7: /* heads beside each other, as they lie */
        t = dync_transpose(dync_reshape(x, dync_shape(rows, columns / 16, 2, 8)), 1, 2);
        t = dync_reshape(t, dync_shape(rows, columns));
        return dync_mul(dync_layer_norm(t, dync_shape(columns), NULL, NULL, 1e-3), 0.5);
    case 8: /* rows are images */
        t = dync_reshape(x, dync_shape(rows, 8, 2, columns / 16));
        t = dync_conv2d(t, c->weight[2], NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1),
                        1);
        return dync_tanh(dync_reshape(t, dync_shape(rows, columns)));
    case 9: /* groups of channels that lie inside */
        t = dync_permute(dync_reshape(x, dync_shape(rows, columns / 16, 1, 16)),
                         dync_shape(0, 3, 1, 2));
        t = dync_group_norm(t, c->dim[i] ? 2 : 8, NULL, NULL, 1e-3);
        t = dync_reshape(dync_permute(t, dync_shape(0, 2, 3, 1)), dync_shape(rows, columns));
        return dync_mul(c->dim[i] ? dync_add(t, y) : t, 0.5);
    case 10: /* columns put together in pieces */
        t = dync_transpose(dync_reshape(x, dync_shape(rows, columns / 16, 16)), 1, 2);
        t = dync_cumsum(dync_reshape(t, dync_shape(rows, columns)), 0);
        return dync_mul(c->dim[i] ? dync_sub(t, y) : t, 0.02);
    case 11: /* rows are images whose channels lie inside */
        t = dync_permute(dync_reshape(x, dync_shape(rows, columns / 16, 2, 8)),
                         dync_shape(0, 3, 1, 2));
        t = dync_conv2d(t, c->weight[2], NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1),
                        1);
        t = dync_permute(t, dync_shape(0, 2, 3, 1));
        return dync_tanh(dync_reshape(t, dync_shape(rows, columns)));
    case 12: /* short rows, some at a time */
        t = dync_softmax(dync_layer_norm(x, dync_shape(columns), NULL, NULL, 1e-3), 1);
        return c->dim[i] ? dync_add(t, y) : dync_mul(t, 8.0);
    case 13: /* rows that end in a part of a vector, backwards */
        t = dync_flip(dync_slice(x, 1, 0, columns - 3, 1), dync_shape(1));
        return dync_pad(dync_mul(t, dync_slice(y, 1, 3, columns, 1)), dync_shape(1, 2), 0.25);
    case 14: /* places compared */
        t = c->dim[i] ? dync_tril(x, 3) : dync_triu(x, -2);
        return dync_add(t, dync_mul(y, 0.5));
    case 15: /* channels that lie inside, padded, cut on the other side */
        t = dync_permute(dync_reshape(x, dync_shape(rows, columns / 16, 2, 8)),
                         dync_shape(0, 3, 1, 2));
        t = dync_slice(dync_pad(t, dync_shape(1, 0, 2, 1), 0.5), 3, 0, 2, 1);
        t = dync_permute(dync_slice(t, 2, 0, columns / 16, 1), dync_shape(0, 2, 3, 1));
        return dync_sub(dync_reshape(t, dync_shape(rows, columns)), dync_mul(y, 0.5));
    case 16: /* transposed, and what all its rows share */
        t = dync_transpose(dync_reshape(x, dync_shape(columns, rows)), 0, 1);
        t = dync_add(dync_unsqueeze(dync_select(t, 0, rows - 1), 0), t);
        if (c->dim[i]) return dync_mul(dync_softmax(t, 1), 4.0);
        return dync_mul(dync_add(t, y), 0.25);
    case 17: /* short rows, and one for all of them, or for those of an image */
        t = dync_reshape(x, c->dim[i] ? dync_shape(rows, columns / 4, 4) : dync_shape(-1, 8));
        t = dync_sub(t, dync_mean(t, dync_shape(c->dim[i]), true));
        t = dync_mul(dync_tanh(t), dync_mul(dync_slice(t, c->dim[i], 0, 1, 1), 0.5));
        return dync_add(dync_reshape(t, dync_shape(rows, columns)), dync_mul(y, 0.5));
    case 18: /* images of sixteen bits */
        t = narrow(c, i, x);
        t = dync_conv2d(dync_reshape(t, dync_shape(rows, 8, 2, columns / 16)), half_weight(c, i, 1),
                        NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
        return a_little(dync_reshape(t, dync_shape(rows, columns)), y);
    case 19: /* transposed products of them */
        t = narrow(c, i, x);
        t = dync_transpose(dync_reshape(t, dync_shape(columns, rows)), 0, 1);
        return a_little(dync_matmul(t, half_weight(c, i, 0)), y);
    case 20: /* their rows, added by index */
        t = narrow(c, i, x);
        return a_little(dync_index_add(t, 0, c->places, t), y);
    default: return dync_mul(dync_sub(x, dync_roll(y, dync_shape(1), dync_shape(1))), 0.5);
    }
}

static dync_value run(const dync_value *v, int n, void *user)
{
    const chain *c = user;
    dync_tensor *value[STEPS + 1] = {v[0].as.t};
    (void)n;
    for (int i = 0; i < c->n; i++) value[i + 1] = step(c, i, value[c->from[i]], value[c->with[i]]);
    return DYNC_V(dync_add(value[c->n], dync_sin(value[c->n - 1])));
}

static chain drawn(int64_t rows, int64_t columns)
{
    chain c = {.n = test_random_int(2, STEPS)};
    bool narrows = test_random() % 2; /* what is rounded may change places in an order */
    for (int i = 0; i < c.n; i++) {
        do c.kind[i] = test_random_int(0, KINDS - 1);
        while (narrows ? c.kind[i] == 4 : c.kind[i] >= 18 && c.kind[i] <= 20);
        c.from[i] = test_random() % 3 ? i : test_random_int(0, i);
        c.with[i] = test_random_int(0, i);
        c.dim[i] = test_random_int(0, 1);
    }
    for (int i = 0; i < WEIGHTS; i++) {
        dync_dims shape = i < 2 ? dync_shape(columns, columns) : dync_shape(8, 8, 3, 3);
        c.weight[i] = dync_requires_grad_(dync_mul(dync_randn(shape), 0.05), true);
        for (int k = 0; k < 2 && i > 0; k++)
            c.half[k][i - 1] = dync_to_dtype(dync_detach(c.weight[i]), k ? DYNC_BF16 : DYNC_F16);
    }
    c.places = dync_to_dtype(dync_mul(dync_rand(dync_shape(rows)), (double)rows - 0.5), DYNC_I64);
    return c;
}

/* The result, and the gradients of the weights (the result where there is none). */
static void kept(const chain *c, dync_tensor *result, dync_tensor **out)
{
    for (int i = 0; i < WEIGHTS; i++) dync_set_grad(c->weight[i], NULL);
    out[0] = dync_detach(result);
    dync_tensor *loss = dync_sum(dync_mul(result, dync_cos(out[0])), DYNC_ALL, false);
    if (dync_requires_grad(loss)) dync_backward(loss);
    for (int i = 0; i < WEIGHTS; i++) {
        dync_tensor *grad = dync_grad(c->weight[i]);
        out[1 + i] = grad ? dync_clone(grad) : out[0];
    }
}

static bool holds(const chain *c, dync_tensor *x)
{
    bool good = true;
    dync_tensor *first[1 + WEIGHTS] = {NULL}, *plain[1 + WEIGHTS], *got[1 + WEIGHTS];
    dync_value arg = DYNC_V(x);
    chain wide = *c;
    wide.wide = true;
    kept(&wide, dync_as_tensor(run(&arg, 1, &wide)), plain);
    for (int threads = 1; threads <= 4 && good; threads++) {
        dync__pool_set_threads(threads);
        dync__pool_force(threads > 1 ? DYNC__POOL_SHARED : DYNC__POOL_ALONE);
        dync_compiled *f =
            dync_compile(run, .args = "x", .user = (void *)(uintptr_t)c,
                         .dynamic = threads % 2 ? DYNC_DYNAMIC_OFF : DYNC_DYNAMIC_ON);
        for (int again = 0; again < 3 && good; again++) { /* weights are kept from the second on */
            kept(c, dync_as_tensor(dync_call_values(f, 1, &arg)), got);
            for (int i = 0; i < 1 + WEIGHTS && good; i++) {
                if (!first[i]) first[i] = got[i];
                good = got[i] && dync_equal(got[i], first[i]);
            }
        }
        dync_compiled_free(f);
    }
    for (int i = 0; i < 1 + WEIGHTS && good; i++) {
        double most = dync_item(dync_amax(dync_abs(plain[i]), DYNC_ALL, false));
        good = dync_allclose(first[i], plain[i], 1e-3, 1e-4 + 1e-4 * most);
    }
    return good && dync_error() == DYNC_OK;
}

TEST(chains_at_every_level)
{
    unsigned has = dync__cpu_features();
    const unsigned levels[] = {
        0, DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C,
        DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C | DYNC__CPU_AVX512,
        has, /* pairs of bf16, where there are */
    };
    for (int l = 0; l < DYNC__COUNT_OF(levels); l++) {
        if ((has & levels[l]) != levels[l]) continue;
        dync_shutdown();
        dync__cpu_pretend(levels[l] | DYNC__CPU_KNOWN);
        for (int k = 0; k < test_count(16); k++) DYNC_SCOPE {
            int64_t rows = test_random_int(15, 90), columns = 16 * test_random_int(4, 32);
            chain c = drawn(rows, columns);
            if (EXPECT(holds(&c, dync_randn(dync_shape(rows, columns))))) continue;
            printf("    level %d, chain %d of seed %llu, %d x %d: %s\n   ", l, k,
                   (unsigned long long)test__state.seed, (int)rows, (int)columns,
                   dync_error_message());
            for (int i = 0; i < c.n; i++)
                printf(" %d(%d, %d; %d)", c.kind[i], c.from[i], c.with[i], c.dim[i]);
            printf("\n");
            dync_clear_error();
        }
    }
}
TEST_MAIN
