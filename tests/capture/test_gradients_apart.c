/* Gradients that are errors, as a saved value was written: only those are. The others, through the
 * same value or beside it, are as plain. */
#include "counter.h"
#include "tol.h"

typedef dync_tensor *function(dync_tensor *, dync_tensor *, dync_tensor *);

static dync_value of(dync_tensor *y, dync_tensor *x)
{
    return dync_gradients(DYNC_V(dync_sum(y, DYNC_ALL, false)), DYNC_V(x), DYNC_NONE,
                          (dync_grad_options){.allow_unused = true, .retain_graph = true});
}
static dync_tensor *gradient(dync_tensor *y, dync_tensor *x)
{
    dync_value g = of(y, x);
    if (dync_error()) return NULL;
    dync_value first = dync_len(g) ? dync_at(g, 0) : DYNC_NONE;
    return first.kind == DYNC_KIND_TENSOR ? first.as.t : dync_full(dync_shape(4), 7);
}
/* Nothing leads from the sum to the other. */
static dync_tensor *apart(dync_tensor *x, dync_tensor *v, dync_tensor *w)
{
    dync_tensor *other = dync_abs(x), *beside = dync_add(other, 0.5);
    dync_tensor *product = dync_mul(v, w), *both = dync_add(beside, product);
    dync_tanh_(v); /* the product's rule needs it as it was */
    (void)both;
    return gradient(product, other);
}
/* The way to x does not meet the product's rule. */
static dync_tensor *past(dync_tensor *x, dync_tensor *v, dync_tensor *w)
{
    dync_tensor *y = dync_add(dync_mul(x, 3), dync_mul(v, w));
    dync_tanh_(v);
    return gradient(y, x);
}
static dync_tensor *through(dync_tensor *x, dync_tensor *v, dync_tensor *w)
{
    dync_tensor *y = dync_add(dync_mul(x, 3), dync_mul(v, w));
    dync_tanh_(v);
    return gradient(y, w);
}
static dync_tensor *apart_through(dync_tensor *x, dync_tensor *v, dync_tensor *w)
{
    dync_tensor *other = dync_abs(x), *product = dync_mul(v, w), *both = dync_add(other, product);
    dync_tanh_(v);
    (void)both;
    return gradient(product, w);
}
/* Both given back: the caller takes gradients. */
static dync_tensor *sum_returned(dync_tensor *x, dync_tensor *v, dync_tensor *w)
{
    dync_tensor *y = dync_add(dync_mul(x, 3), dync_mul(v, w));
    dync_tanh_(v);
    return y;
}

static dync_tensor *inputs(dync_tensor *in[3])
{
    in[0] = dync_mul(dync_full(dync_shape(4), -2, .requires_grad = true), 1);
    in[1] = dync_full(dync_shape(4), 0.5);
    in[2] = dync_mul(dync_full(dync_shape(4), 3, .requires_grad = true), 1);
    return in[0];
}
static const char *const backends[] = {NULL, "eager", "aot_eager", "inductor"};
static void check(function *fn, bool refused, double value)
{
    for (int b = 0; b < 4; b++) {
        dync_compiled *c = backends[b] ? dync_compile(fn, .backend = backends[b]) : NULL;
        for (int call = 0; call < 3; call++) DYNC_SCOPE {
            dync_tensor *in[3];
            inputs(in);
            dync_tensor *y = c ? dync_call(c, in[0], in[1], in[2]) : fn(in[0], in[1], in[2]);
            EXPECT_STATUS(dync_error(), refused ? DYNC_ERR_AUTOGRAD : DYNC_OK);
            dync_clear_error();
            if (!refused && EXPECT(y != NULL))
                EXPECT_NEAR(dync_item(dync_select(y, 0, 1)), value, 0);
        }
        dync_compiled_free(c);
    }
}
TEST(nothing_leads_there) { check(apart, false, 7); }
TEST(the_way_past_it) { check(past, false, 3); }
TEST(the_way_through_it) { check(through, true, 0); }
TEST(the_way_through_it_beside_another) { check(apart_through, true, 0); }
TEST(results)
{
    for (int b = 0; b < 4; b++) DYNC_SCOPE {
        dync_compiled *c = backends[b] ? dync_compile(sum_returned, .backend = backends[b]) : NULL;
        dync_tensor *in[3], *x = inputs(in);
        dync_tensor *y = c ? dync_call(c, x, in[1], in[2]) : sum_returned(x, in[1], in[2]);
        dync_tensor *g = gradient(y, x);
        if (EXPECT(g != NULL)) EXPECT_NEAR(dync_item(dync_select(g, 0, 1)), 3, 0);
        EXPECT(!gradient(y, in[2]));
        EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
        dync_clear_error();
        EXPECT_STATUS(dync_backward(dync_sum(y, DYNC_ALL, false)), DYNC_ERR_AUTOGRAD);
        dync_clear_error();
        dync_compiled_free(c);
    }
}
/* A value without a gradient rule is written with the result: the result does not depend on it. */
static dync_tensor *beside_no_rule(dync_tensor *x, dync_tensor *v, dync_tensor *w)
{
    dync_tensor *halves = dync_add(dync_abs(x), 0.5), *floors = dync_floor_divide(x, halves);
    (void)v, (void)w;
    dync_graph_break("between");
    dync_tensor *y = dync_mul(halves, 3);
    dync_add_(floors, y);
    return y;
}
TEST(no_rule_beside)
{
    for (int b = 0; b < 4; b++) {
        dync_compiled *c = backends[b] ? dync_compile(beside_no_rule, .backend = backends[b])
                                       : NULL;
        for (int call = 0; call < 3; call++) DYNC_SCOPE {
            dync_tensor *in[3], *x = inputs(in);
            dync_tensor *y = c ? dync_call(c, x, in[1], in[2]) : beside_no_rule(x, in[1], in[2]);
            EXPECT_OK(dync_backward(dync_sum(y, DYNC_ALL, false)));
            dync_clear_error();
        }
        dync_compiled_free(c);
    }
}
/* A penalty on gradients in a function that is cut there: double backward works through what is
 * compiled before the cut, where it is asked for (else it is row A-10's error). */
static dync_tensor *penalty(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_sum(dync_tanh(dync_matmul(x, w)), DYNC_ALL, false);
    dync_value g =
        dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE, (dync_grad_options){.create_graph = true});
    dync_tensor *norm = dync_norm(dync_as_tensor(dync_at(g, 0)), 2, dync_shape(1), false);
    return dync_add(dync_mean(dync_square(dync_sub(norm, 1)), DYNC_ALL, false), dync_mul(y, 0.1));
}
TEST(a_penalty_that_is_cut)
{
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(penalty, .backend = on[b], .double_backward = true);
        for (int call = 0; call < 3; call++) {
            dync_tensor *grad[2];
            for (int k = 0; k < 2; k++) {
                dync_manual_seed((uint64_t)call);
                dync_tensor *x = dync_randn(dync_shape(5, 4), .requires_grad = true),
                            *w = dync_randn(dync_shape(4, 3), .requires_grad = true);
                EXPECT_OK(dync_backward(k ? dync_call(f, x, w) : penalty(x, w)));
                grad[k] = dync_grad(w);
            }
            EXPECT(dync_allclose(grad[0], grad[1], TOL_F32_SUM, TOL_F32_SUM));
        }
        dync_compiled_free(f);
    }
}

TEST_MAIN
