/* tests/api/misuse_inside.h: calls of test_every_function.c from inside of what runs functions of
 * the user's: traces, frames, branches, operators, hooks, recordings. */
#ifndef DYNC_TESTS_MISUSE_INSIDE_H
#define DYNC_TESTS_MISUSE_INSIDE_H

enum { ROUNDS_INSIDE = 3 };
static void (*called)(int);
static int called_round;
static void call_some(void)
{
    for (int i = 0; i < ROUNDS_INSIDE; i++) {
        called(called_round + i);
        dync_clear_error();
    }
}
static dync_tensor *calls(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    call_some();
    return dync_add(y, x);
}
static dync_tensor *calls_in_a_frame(dync_tensor *x) { return dync_frame(calls, dync_sin(x)); }
static dync_tensor *calls_in_a_branch(dync_tensor *x)
{
    dync_tensor *positive = dync_gt(dync_sum(x, DYNC_ALL, false), 0);
    return dync_as_tensor(dync_cond(positive, calls, twice, x));
}
static dync_value calling_impl(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(calls(dync_as_tensor(args[0])));
}
static dync_value calling_meta(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(dync_empty_like(dync_as_tensor(args[0])));
}
static dync_tensor *calls_in_an_operator(dync_tensor *x)
{
    dync_value arg = DYNC_V(dync_mul(x, 3));
    return dync_sin(dync_as_tensor(dync_op_call_values("every::calling", 1, &arg)));
}
static dync_tensor *calls_in_a_composite(dync_tensor *x)
{
    dync_value arg = DYNC_V(dync_mul(x, 3));
    return dync_sin(dync_as_tensor(dync_op_call_values("every::composite", 1, &arg)));
}
static dync_tensor *calling_hook(dync_tensor *grad, void *user)
{
    (void)user;
    return calls(grad);
}
static dync_tensor *calls_in_a_hook(dync_tensor *x)
{
    dync_tensor *w = dync_requires_grad_(dync_clone(dync_detach(x)), true);
    dync_register_hook(w, calling_hook, NULL);
    (void)dync_backward(dync_sum(dync_mul(w, w), DYNC_ALL, false));
    return w;
}
static void misuse_inside(void)
{
    static dync_tensor *(*const place[])(dync_tensor *) = {calls,
                                                           calls_in_a_frame,
                                                           calls_in_a_branch,
                                                           calls_in_an_operator,
                                                           calls_in_a_composite,
                                                           calls_in_a_hook};
    static const char schema[] = "(Tensor x) -> Tensor";
    (void)dync_op_register("every::calling", schema, calling_impl, calling_meta, NULL);
    (void)dync_op_register("every::composite", schema, calling_impl, NULL, NULL);
    for (int k = 0; k < 6; k++)
        for (int way = 0; way < 5; way++) DYNC_SCOPE {
            if (pick(k, way, 6) != 0) continue; /* each function in some of the places */
            called_round = 1 + ROUNDS_INSIDE * (5 * k + way);
            if (way == 0) (void)place[k](tensors[0]);
            if (way == 1) (void)dync_make_graph(place[k], tensors[0]);
            if (way > 1) {
                dync_compiled *f = dync_compile(
                    place[k], .backend = way == 2 ? "inductor" : "eager", .fullgraph = way == 4);
                for (int i = 0; i < 2; i++) (void)dync_call(f, tensors[0]);
            }
            dync_clear_error();
        }
}
#endif
