/* Random programs of nested control flow over two vectors of four: cond, scan both ways, while_loop
 * with a limit, each inside each. */
#ifndef RANDOM_CONTROL_H
#define RANDOM_CONTROL_H

typedef struct random_program {
    uint64_t seed;
    int depth;
    dync_tensor *w;
} random_program;
static uint64_t random_next(uint64_t *s)
{
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *s >> 33;
}
static dync_tensor *random_value(uint64_t *s, int depth, dync_tensor *x, dync_tensor *w);
static dync_value random_body(const dync_value *a, int n, void *user)
{
    const random_program *p = user;
    uint64_t s = p->seed;
    (void)n;
    return DYNC_V(random_value(&s, p->depth, dync_as_tensor(a[0]), p->w));
}
static dync_value random_step(const dync_value *a, int n, void *user)
{
    const random_program *p = user;
    uint64_t s = p->seed;
    (void)n;
    dync_tensor *h = random_value(
        &s, p->depth, dync_add(dync_mul(dync_as_tensor(a[0]), 0.5), dync_as_tensor(a[1])), p->w);
    return dync_tuple(h, random_value(&s, 0, h, dync_as_tensor(a[1])));
}
static dync_value random_test(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_lt(dync_sum(dync_abs(dync_as_tensor(a[0])), DYNC_ALL, false), 12));
}
static dync_value random_grow(const dync_value *a, int n, void *user)
{
    const random_program *p = user;
    uint64_t s = p->seed;
    (void)n;
    return dync_tuple(
        dync_add(dync_mul(dync_as_tensor(a[0]), 1.3),
                 dync_sigmoid(random_value(&s, p->depth, dync_as_tensor(a[0]), p->w))));
}
/* x and what comes back: [4] */
static dync_tensor *random_value(uint64_t *s, int depth, dync_tensor *x, dync_tensor *w)
{
    random_program a = {random_next(s), depth - 1, w}, b = {random_next(s), depth - 1, x};
    dync_callee fa = dync_bind(random_body, &a, "x"), fb = dync_bind(random_body, &b, "x");
    switch (random_next(s) % (depth > 0 ? 9 : 5)) {
    case 0: return dync_tanh(dync_mul(x, w));
    case 1: return dync_sub(dync_sin(x), dync_mul(w, 0.3));
    case 2: return dync_softmax(dync_add(x, w), 0);
    case 3: return dync_mul(dync_sigmoid(x), dync_sum(w, DYNC_ALL, false));
    case 4: return dync_flip(x, dync_shape(0));
    case 5:
    case 6:
        return dync_as_tensor(dync_cond(
            dync_gt(dync_sum(dync_sin(dync_mul(x, 3)), DYNC_ALL, false), 0), fa, fb, dync_tanh(x)));
    case 7: {
        dync_tensor *xs = dync_stack(dync_tuple(x, dync_cos(w), dync_mul(x, w)), 0);
        dync_value r = random_next(s) % 2
                           ? dync_scan(dync_bind(random_step, &a, "h, x"), x, xs)
                           : dync_scan_reverse(dync_bind(random_step, &a, "h, x"), x, xs);
        return dync_add(dync_as_tensor(dync_at(r, 0)),
                        dync_mean(dync_as_tensor(dync_at(r, 1)), dync_shape(0), false));
    }
    default: {
        dync_value r = dync_while_loop_limit(random_test, dync_bind(random_grow, &a, "x"),
                                             dync_tuple(dync_tanh(x)), 4);
        return dync_as_tensor(dync_at(r, 0));
    }
    }
}
static uint64_t random_seed;
static dync_value random_inputs(int call)
{
    (void)call;
    return dync_tuple(dync_randn(dync_shape(4)), dync_randn(dync_shape(4)));
}
static dync_value random_fn(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    uint64_t s = random_seed;
    dync_tensor *x = random_value(&s, 3, dync_as_tensor(a[0]), dync_as_tensor(a[1]));
    return dync_tuple(random_value(&s, 2, x, dync_as_tensor(a[1])), x);
}
#endif
