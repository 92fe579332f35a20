/* Backward inside a function compiled with fullgraph that reaches values with a history outside:
 * what leaves get is the sum of both, from all of them at once. */
#include "counter.h"

static dync_tensor *loss(dync_tensor *p, dync_tensor *q, dync_tensor *x)
{
    return dync_sum(dync_mul(dync_mul(dync_sin(p), q), x), DYNC_ALL, false);
}
static dync_tensor *lost(dync_tensor *p, dync_tensor *q, dync_tensor *x)
{
    dync_tensor *l = loss(p, q, x);
    dync_backward(l);
    return dync_detach(l);
}
static dync_tensor *lives_on(dync_tensor *p, dync_tensor *q, dync_tensor *x)
{
    dync_backward(loss(p, q, x));
    return dync_mul(p, x);
}
static dync_tensor *kept(dync_tensor *p, dync_tensor *q, dync_tensor *x)
{
    dync_tensor *l = loss(p, q, x);
    dync_backward_opt(DYNC_V(l), DYNC_NONE, (dync_grad_options){.retain_graph = true});
    return dync_mul(dync_mul(q, x), 2);
}
static dync_tensor *twice(dync_tensor *p, dync_tensor *q, dync_tensor *x)
{
    dync_tensor *l = loss(p, q, x), *m = loss(q, p, x);
    dync_backward_opt(DYNC_V(l), DYNC_NONE, (dync_grad_options){.retain_graph = true});
    dync_backward(dync_mul(m, 3));
    return dync_detach(l);
}
typedef dync_tensor *(*fn3)(dync_tensor *, dync_tensor *, dync_tensor *);

/* outside: 0: p and q of one history, 1: of two, 2: p is the leaf itself, 3: leaves both */
static void once(fn3 fn, dync_compiled *f, int outside, bool again)
{
    float data[] = {.1f, .5f, 2, -1};
    dync_tensor *grad[2], *result[2];
    for (int m = 0; m < 2; m++) {
        dync_tensor *x = dync_requires_grad_(dync_from(data, dync_shape(4)), true);
        dync_tensor *u = dync_exp(x), *p = outside ? dync_sin(x) : dync_sin(u), *q = dync_cos(u);
        if (outside >= 2) p = x;
        if (outside == 3) q = dync_requires_grad_(dync_clone(dync_detach(q)), true);
        result[m] = m ? dync_call(f, p, q, x) : fn(p, q, x);
        if (again && result[m]) dync_backward(dync_sum(result[m], DYNC_ALL, false));
        grad[m] = dync_grad(x);
    }
    EXPECT(same(result[0], result[1], 1e-5));
    EXPECT(same(grad[0], grad[1], 1e-5));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
static void program(fn3 fn, bool again)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_backend counting = COUNTER(c);
        dync_compiled *f = dync_compile(fn, .fullgraph = true, .backend_object = &counting);
        for (int i = 0; i < 8; i++) DYNC_SCOPE
            once(fn, f, i % 4, again && i % 4 == 0);
        dync_compiled_free(f);
    }
}
TEST(a_backward_that_goes_on_outside)
{
    program(lost, false);
    program(twice, false);
}
TEST(a_backward_that_goes_on_outside_and_a_result_that_lives) { program(kept, true); }
TEST(a_result_that_lives_and_is_dropped) { program(lives_on, false); }
/* A gradient that is not there yet is not said to be none. */
static dync_tensor *reads(dync_tensor *q, dync_tensor *x)
{
    dync_tensor *l = dync_sum(dync_mul(dync_sin(q), x), DYNC_ALL, false);
    dync_backward(l);
    dync_tensor *g = dync_grad(q);
    return g ? dync_mul(g, 2) : dync_detach(l);
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(the_gradient_of_a_value_from_outside)
{
    for (int full = 0; full < 2; full++) {
        dync_compiled *f = dync_compile(reads, .fullgraph = full);
        for (int kept = 0; kept < 2; kept++) DYNC_SCOPE {
            dync_tensor *x = dync_requires_grad_(dync_ones(dync_shape(3)), true), *q = dync_exp(x),
                        *p = dync_exp(x);
            if (kept) dync_retain_grad(q), dync_retain_grad(p);
            dync_tensor *want = reads(p, x);
            dync_on_error(quiet, NULL);
            dync_tensor *got = dync_call(f, q, x);
            dync_on_error(NULL, NULL);
            EXPECT_STATUS(dync_error(), full && kept ? DYNC_ERR_UNSUPPORTED : DYNC_OK);
            if (!full || !kept) EXPECT(same(got, want, 1e-5));
            dync_clear_error();
            if (full) dync_reset();
        }
        dync_compiled_free(f);
    }
}
TEST_MAIN
