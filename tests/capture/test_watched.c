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
/* w's gradient, `times` one after another, x written before each and after. */
static dync_tensor *gradient_after(dync_tensor *loss, dync_tensor *x, dync_tensor *w, int how,
                                   int times)
{
    write_(x, how);
    dync_status status = DYNC_OK;
    for (int i = 0; i < times && status == DYNC_OK; i++) {
        status = dync_backward_opt(DYNC_V(loss), DYNC_NONE,
                                   (dync_grad_options){.retain_graph = i + 1 < times});
        write_(x, how);
    }
    return status == DYNC_OK ? dync_grad(w) : NULL;
}
static dync_tensor *gradient(function *f, dync_compiled *c, int how, int times)
{
    dync_tensor *x = dync_arange(0, 4, 1), *w = weights();
    dync_tensor *y = c ? dync_call(c, x, w) : f(x, w);
    dync_tensor *loss = dync_sum(y, DYNC_ALL, false);
    return gradient_after(loss, x, w, how, times);
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
/* Two results: the product's rule keeps x, the sigmoid's does not. of: which of them is
 * differentiated, 2 for both. */
static dync_value both(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_mul(dync_sigmoid(a[0].as.t), a[1]), dync_mul(a[0], a[1]));
}
static dync_value both_viewed(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *view = dync_select(dync_reshape(a[0].as.t, dync_shape(1, 4)), 0, 0);
    return dync_tuple(dync_mul(dync_sigmoid(a[0].as.t), a[1]), dync_mul(view, a[1]));
}
static dync_value both_through_more(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *y = dync_mul(dync_tanh(dync_mul(a[0], 2)), a[1]);
    dync_tensor *z = dync_mul(dync_mul(a[0], a[1]), dync_add(dync_mul(a[0], a[0]), 1));
    return dync_tuple(dync_exp(dync_mul(dync_sigmoid(a[0].as.t), y)), z);
}
typedef dync_value function2(const dync_value *, int, void *);
static function2 *const pairs[] = {both, both_viewed, both_through_more};
static dync_tensor *gradient_of(function2 *f, dync_compiled *c, int of, int how, int times)
{
    dync_tensor *x = dync_arange(0, 4, 1), *w = weights();
    dync_value args[2] = {DYNC_V(x), DYNC_V(w)};
    dync_value y = c ? dync_call_values(c, 2, args) : f(args, 2, NULL);
    dync_tensor *loss = dync_sum(dync_at(y, of % 2).as.t, DYNC_ALL, false);
    if (of == 2) loss = dync_add(loss, dync_sum(dync_at(y, 1).as.t, DYNC_ALL, false));
    return gradient_after(loss, x, w, how, times);
}
TEST(a_rule_that_is_not_asked_needs_nothing)
{
    DYNC_SCOPE {
        for (int i = 0; i < 3 * 3 * 5; i++) {
            int of = i / 3 % 3, how = i / 9;
            dync_compiled *c = dync_compile(pairs[i % 3], .fullgraph = true);
            for (int times = 1; times < 3; times++) {
                dync_tensor *plain = gradient_of(pairs[i % 3], NULL, of, how, times);
                EXPECT(!plain == (how > 0 && of > 0));
                if (!plain) EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
                dync_clear_error();
                dync_tensor *compiled = gradient_of(pairs[i % 3], c, of, how, times);
                if (!compiled) EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
                REQUIRE(!plain == !compiled);
                dync_clear_error();
                EXPECT(!plain || dync_allclose(compiled, plain, 1e-6, 1e-6));
            }
            dync_compiled_free(c);
        }
    }
}
/* repeated by sample before it is saved */
static dync_tensor *instances(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *in = dync_mul(dync_reshape(w, dync_shape(1, 4, 1)),
                               dync_reshape(dync_arange(0, 12, 1), dync_shape(1, 4, 3)));
    return dync_instance_norm(dync_mul(in, in), x, NULL, 1e-5);
}
TEST(a_weight_of_instance_norm)
{
    DYNC_SCOPE {
        dync_compiled *c = dync_compile(instances, .fullgraph = true);
        for (int how = 0; how < 5; how++) {
            dync_tensor *plain = gradient(instances, NULL, how, 2);
            REQUIRE(plain);
            dync_tensor *compiled = gradient(instances, c, how, 2);
            REQUIRE(compiled);
            EXPECT(dync_allclose(compiled, plain, 1e-6, 1e-6));
            EXPECT(dync_allclose(plain, gradient(instances, NULL, 0, 2), 1e-6, 1e-6));
        }
        dync_compiled_free(c);
    }
}
/* ---- what has a history ---------------------------------------------------------------------- */
/* Of a tensor that is read for its sizes alone nothing comes: w requires grad. */
static dync_tensor *of_sizes(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *wide = dync_expand_as(x, w);
    dync_graph_break("between");
    dync_tensor *rows = dync_contiguous(dync_view_as(wide, w));
    dync_tensor *used = dync_mul(rows, w);
    EXPECT(!dync_requires_grad(rows) && dync_requires_grad(used));
    return dync_slice(rows, 0, 0, 2, 1);
}
TEST(sizes_give_no_history)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    DYNC_SCOPE {
        dync_tensor *x = dync_ones(dync_shape(1, 4)), *w = weights();
        w = dync_mul(dync_reshape(w, dync_shape(1, 4)), 2);
        EXPECT(!dync_requires_grad(of_sizes(x, w)));
        for (int b = 0; b < 3; b++)
            for (int calls = 0; calls < 2; calls++) {
                dync_compiled *c = dync_compile(of_sizes, .backend = backends[b], .dynamic = calls);
                dync_tensor *y = dync_call(c, x, w);
                REQUIRE(y);
                EXPECT(!dync_requires_grad(y));
                dync_compiled_free(c);
            }
    }
}
TEST(unique_keeps_it_in_every_call)
{
    DYNC_SCOPE {
        for (int n = 0; n < 4; n++)
            for (int call = 0; call < 3; call++) {
                dync_tensor *x = dync_full(dync_shape(n), 2, .requires_grad = true);
                EXPECT(dync_requires_grad(dync_unique(x)));
                EXPECT(dync_requires_grad(dync_unique(dync_mul(x, 3))));
                EXPECT(!dync_requires_grad(dync_unique(dync_detach(x))));
            }
    }
}
TEST_MAIN
