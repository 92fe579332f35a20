/* Arguments of dync_scan, dync_map, dync_cond and dync_while_loop that the function writes
 * afterwards: what their functions do saves none of them, so plainly it may. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

static dync_value running(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *carry = dync_add(a[0], dync_tanh(a[1].as.t));
    return dync_tuple(carry, dync_mul(carry, 2));
}
static dync_tensor *squash(dync_tensor *t) { return dync_sigmoid(t); }
static dync_tensor *grow(dync_tensor *t) { return dync_exp(t); }
static dync_tensor *small(dync_tensor *t) { return dync_lt(dync_sum(t, DYNC_ALL, false), 40); }

static dync_tensor *total(dync_value v) { return dync_sum(dync_as_tensor(v), DYNC_ALL, false); }
static dync_tensor *by_scan(dync_tensor *xs)
{
    dync_tensor *carry = dync_select(xs, 0, 1);
    dync_value r = dync_scan(running, carry, xs);
    dync_mul_(carry, 3); /* a view of xs */
    return dync_add(total(dync_at(r, 0)), total(dync_at(r, 1)));
}
static dync_tensor *by_map(dync_tensor *xs) { return total(dync_map(squash, xs)); }
static dync_tensor *by_cond(dync_tensor *xs)
{
    return total(dync_cond(small(xs), squash, grow, dync_tuple(xs)));
}
static dync_tensor *by_loop(dync_tensor *xs)
{
    return total(dync_at(dync_while_loop_limit(small, grow, dync_tuple(xs), 3), 0));
}
typedef dync_tensor *user(dync_tensor *xs);
static user *const users[] = {by_scan, by_map, by_cond, by_loop};
static user *by;

static dync_tensor *written(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *xs = dync_mul(x, w), *used = by(xs);
    dync_add_(xs, 1);
    dync_fill_(dync_select(xs, 0, 0), 5);
    return dync_add(used, dync_sum(xs, DYNC_ALL, false));
}
/* an argument of the compiled function, which has no history */
static dync_tensor *written_input(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *used = by(dync_add(x, w)), *plain = by(x);
    dync_add_(x, 1);
    return dync_add(dync_mul(used, plain), dync_sum(dync_mul(x, w), DYNC_ALL, false));
}
/* Gradients of w on each backend are those of the plain run. */
static void check(dync_tensor *(*fn)(dync_tensor *, dync_tensor *))
{
    for (int i = 0; i < 4; i++) {
        float plain[3] = {0};
        by = users[i];
        for (int b = -1; b < 3; b++) DYNC_SCOPE {
            dync_compiled *f = b < 0 ? NULL : dync_compile(fn, .backend = backends[b]);
            dync_tensor *x = dync_reshape(dync_mul(dync_arange(1, 13, 1), 0.1), dync_shape(4, 3));
            dync_tensor *w = dync_full(dync_shape(3), 0.5, .requires_grad = true);
            dync_tensor *loss = f ? dync_call(f, x, w) : fn(x, w);
            REQUIRE_OK(dync_backward(loss));
            const float *grad = dync_data(dync_grad(w));
            for (int k = 0; k < 3; k++) {
                if (b < 0) plain[k] = grad[k];
                EXPECT_NEAR(grad[k], plain[k], 1e-4);
            }
            dync_compiled_free(f);
        }
    }
}
TEST(values) { check(written); }
TEST(inputs) { check(written_input); }
TEST_MAIN
