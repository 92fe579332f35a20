/* A compiled backward computes again, from inputs and from results that the function gave, what the
 * operators' own rules save. Those inputs and results may be written between forward and backward
 * where they may be plainly, and the gradients are those of then; where a rule itself needs them it
 * is the error that it is plainly. */
#include "counter.h"

typedef dync_tensor *function(dync_tensor *x, dync_tensor *w);
/* plainly sigmoid(x) is saved, not x */
static dync_tensor *gate(dync_tensor *x, dync_tensor *w) { return dync_mul(dync_sigmoid(x), w); }
static dync_tensor *chain(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_add(dync_sigmoid(dync_mul(x, 2)), 1), dync_exp(w));
}
/* a view of it */
static dync_tensor *row(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_tanh(dync_select(dync_reshape(x, dync_shape(1, 4)), 0, 0)), w);
}
static function *const spared[] = {gate, chain, row};
/* x itself is saved */
static dync_tensor *product(dync_tensor *x, dync_tensor *w) { return dync_mul(x, w); }
static dync_tensor *viewed(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_select(dync_reshape(x, dync_shape(1, 4)), 0, 0), w);
}
static function *const needed[] = {product, viewed};

static dync_tensor *weights(void) { return dync_full(dync_shape(4), 0.5, .requires_grad = true); }
/* how: 0 not at all, 1 in place, 2 by a compiled function, 3 through a view, 4 as its result */
static dync_tensor *writes(dync_tensor *x) { return dync_mul_(x, 3); }
static dync_tensor *tripled(dync_tensor *x) { return dync_mul(x, 3); }
static void write_(dync_tensor *x, int how)
{
    dync_compiled *c = how == 2 ? dync_compile(writes) : how == 4 ? dync_compile(tripled) : NULL;
    if (how == 1) dync_mul_(x, 3);
    if (how == 2) dync_call(c, x);
    if (how == 3) dync_fill_(dync_slice(x, 0, 1, 3, 1), 9);
    if (how == 4) EXPECT_OK(dync_call_into(c, x, dync_ones(dync_shape(4))));
    dync_compiled_free(c);
}
static dync_tensor *gradient(function *f, dync_compiled *c, int how, int times)
{
    dync_tensor *x = dync_arange(0, 4, 1), *w = weights();
    dync_tensor *y = c ? dync_call(c, x, w) : f(x, w);
    dync_tensor *loss = dync_sum(y, DYNC_ALL, false);
    write_(x, how);
    dync_status status = DYNC_OK;
    for (int i = 0; i < times && status == DYNC_OK; i++) {
        status = dync_backward_opt(DYNC_V(loss), DYNC_NONE,
                                   (dync_grad_options){.retain_graph = i + 1 < times});
        write_(x, how);
    }
    return status == DYNC_OK ? dync_grad(w) : NULL;
}
TEST(what_is_computed_again_is_as_it_was)
{
    DYNC_SCOPE {
        for (int i = 0; i < 3; i++) {
            dync_compiled *c = dync_compile(spared[i], .fullgraph = true);
            for (int how = 0; how < 5; how++)
                for (int times = 1; times < 3; times++) {
                    dync_tensor *plain = gradient(spared[i], NULL, how, times),
                                *compiled = gradient(spared[i], c, how, times);
                    REQUIRE(plain && compiled);
                    EXPECT(dync_allclose(compiled, plain, 1e-6, 1e-6));
                }
            dync_compiled_free(c);
        }
    }
}
TEST(what_a_rule_saves_must_not_be_written)
{
    DYNC_SCOPE {
        for (int i = 0; i < 2; i++) {
            dync_compiled *c = dync_compile(needed[i], .fullgraph = true);
            for (int how = 1; how < 5; how++) {
                EXPECT(!gradient(needed[i], NULL, how, 1));
                EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
                EXPECT(!gradient(needed[i], c, how, 1));
                EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
            }
            dync_compiled_free(c);
        }
    }
}
/* a result of a part of the function, written by the next */
static dync_tensor *in_parts(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *m = dync_logsumexp(x, dync_shape(0), true);
    dync_tensor *y = dync_sum(dync_mul(dync_sigmoid(m), w), DYNC_ALL, false);
    if (dync_item(m) > 0) dync_fill_(m, 0.5);
    return dync_add(y, m);
}
TEST(results_too)
{
    DYNC_SCOPE {
        dync_compiled *c = dync_compile(in_parts);
        for (int times = 1; times < 3; times++) {
            dync_tensor *plain = gradient(in_parts, NULL, 0, times),
                        *compiled = gradient(in_parts, c, 0, times);
            REQUIRE(plain && compiled);
            EXPECT(dync_allclose(compiled, plain, 1e-6, 1e-6));
        }
        dync_compiled_free(c);
    }
}
/* Random expressions that are computed again, of x and of views of it, several times each; three
 * calls hold the same memory when it is written. */
static int step[12], n_steps;
static dync_tensor *random_gate(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *v[14] = {dync_sigmoid(x),
                          dync_tanh(dync_select(dync_reshape(x, dync_shape(1, 4)), 0, 0))};
    int n = 2;
    for (int i = 0; i < n_steps; i++) {
        dync_tensor *a = v[step[i] / 4 % n], *b = v[step[i] / 64 % n];
        switch (step[i] % 4) {
        case 0: v[n++] = dync_mul(a, b); break;
        case 1: v[n++] = dync_sigmoid(dync_add(a, x)); break;
        case 2: v[n++] = dync_sub(dync_exp(dync_neg(dync_abs(a))), b); break;
        default: v[n++] = dync_add(dync_tanh(a), dync_mul(b, w)); break;
        }
    }
    return dync_mul(v[n - 1], w);
}
static dync_tensor *random_gradient(dync_compiled *c, int how)
{
    dync_tensor *x = dync_arange(0, 4, 1), *w = weights(), *sum = NULL;
    for (int i = 0; i < 3; i++) {
        dync_tensor *y = c ? dync_call(c, x, w) : random_gate(x, w);
        sum = sum ? dync_add(sum, y) : y;
        if (i) write_(x, how);
    }
    return dync_backward(dync_sum(sum, DYNC_ALL, false)) == DYNC_OK ? dync_grad(w) : NULL;
}
TEST(random_expressions)
{
    int compared = 0;
    for (int k = 0; k < 40; k++) DYNC_SCOPE {
        n_steps = 1 + (int)(test_random() % 8);
        for (int i = 0; i < n_steps; i++) step[i] = (int)(test_random() % 4096);
        dync_compiled *c = dync_compile(random_gate, .fullgraph = true);
        for (int how = 0; how < 4; how++) {
            dync_tensor *plain = random_gradient(NULL, how);
            if (!plain) continue;
            dync_tensor *compiled = random_gradient(c, how);
            REQUIRE(compiled != NULL);
            EXPECT(dync_allclose(compiled, plain, 1e-5, 1e-5));
            compared++;
        }
        dync_compiled_free(c);
    }
    EXPECT(compared > 100);
}
TEST_MAIN
