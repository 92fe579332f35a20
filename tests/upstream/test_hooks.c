/* Hooks: on arguments and values of the graph, their order, removed ones, around compiled code. */
#include "upstream.h"
#include "hooks.h"

static dync_tensor *twice(dync_tensor *g, void *user) { return (void)user, dync_mul(g, 2); }
static dync_tensor *plus_1(dync_tensor *g, void *user) { return (void)user, dync_add(g, 1); }
static dync_tensor *times_3(dync_tensor *g, void *user) { return (void)user, dync_mul(g, 3); }
static dync_tensor *nothing(dync_tensor *g, void *user) { return (void)user, (void)g, NULL; }

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
typedef dync_tensor *(*one_arg)(dync_tensor *);
static dync_tensor *seed(void) { return dync_from((float[]){1, 2, 3}, dync_shape(3)); }
static void backward(dync_tensor *out)
{
    EXPECT_OK(dync_ndim(out) ? dync_backward_with(out, seed()) : dync_backward(out));
}

/* x.grad after the backward of fn(x) from 1, 2, 3; plain and by each backend. */
static void gradient_of(one_arg fn, bool fullgraph, int calls)
{
    for (int b = -1; b < 3; b++) {
        counter c = {.inner = b < 0 ? NULL : backends[b]};
        dync_compiled *f =
            dync_compile(fn, .args = "x", .backend_object = &COUNTER(c), .fullgraph = fullgraph);
        dync_tensor *x = ramp_at(dync_shape(3), 0, true);
        for (int i = 0; i < calls; i++) backward(b < 0 ? fn(x) : dync_call(f, x));
        TELL_TENSOR("grad", dync_grad(x));
        if (b >= 0) TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}

static dync_value hooked(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]);
    (void)n, (void)user;
    dync_register_hook(x, twice, NULL);
    return dync_tuple(x, dync_mul(x, x));
}
SCENARIO(hook_on_an_argument)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f = dync_compile(hooked, .args = "x", .backend_object = &COUNTER(c));
        dync_tensor *x = ramp_at(dync_shape(3), 0, true);
        dync_value r = dync_call_value(f, x);
        EXPECT(dync_as_tensor(dync_at(r, 0)) == x);
        backward(dync_as_tensor(dync_at(r, 0)));
        TELL_TENSOR("grad", dync_grad(x));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}

static dync_tensor *both_hooked(dync_tensor *x)
{
    dync_tensor *z = dync_mul(x, x);
    dync_register_hook(x, twice, NULL);
    dync_register_hook(z, plus_1, NULL);
    return z;
}
SCENARIO(hook_on_an_argument_and_its_product) { gradient_of(both_hooked, false, 1); }

static dync_tensor *three_hooks(dync_tensor *x)
{
    dync_register_hook(x, twice, NULL);
    dync_register_hook(x, plus_1, NULL);
    dync_register_hook(x, times_3, NULL);
    return dync_mul(x, x);
}
SCENARIO(hooks_run_in_order) { gradient_of(three_hooks, false, 1); }

static dync_tensor *removed_and_added(dync_tensor *x)
{
    int id = dync_register_hook(x, twice, NULL);
    dync_tensor *z = dync_mul(x, x);
    dync_remove_hook(x, id);
    dync_register_hook(x, times_3, NULL);
    return z;
}
SCENARIO(hook_removed_and_another_added) { gradient_of(removed_and_added, false, 1); }

static dync_tensor *removed_twice(dync_tensor *x)
{
    int id = dync_register_hook(x, twice, NULL);
    dync_tensor *z = dync_mul(x, x);
    dync_remove_hook(x, id);
    dync_remove_hook(x, id);
    return z;
}
SCENARIO(hook_removed_twice) { gradient_of(removed_twice, true, 1); }

static dync_tensor *value_hooked(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    dync_register_hook(y, plus_1, NULL);
    return total(y);
}
SCENARIO(hook_on_a_value) { gradient_of(value_hooked, true, 1); }

static dync_tensor *before_and_after(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2), *z = dync_add(y, 1), *w;
    dync_register_hook(y, twice, NULL);
    w = dync_mul(y, 3);
    return total(dync_add(z, w));
}
SCENARIO(hook_on_a_value_used_before_and_after) { gradient_of(before_and_after, true, 1); }

static dync_tensor *idle_hook(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    dync_register_hook(y, nothing, NULL);
    return total(y);
}
SCENARIO(hook_that_gives_nothing) { gradient_of(idle_hook, true, 1); }

static dync_tensor *add_1(dync_tensor *t) { return dync_add(t, 1); }
static dync_tensor *mul_5(dync_tensor *t) { return dync_mul(t, 5); }
static dync_tensor *into_cond(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    dync_register_hook(y, twice, NULL);
    return total(dync_as_tensor(dync_cond(dync_gt(total(x), 100), add_1, mul_5, dync_tuple(y))));
}
SCENARIO(hook_on_a_value_that_goes_into_cond) { gradient_of(into_cond, true, 1); }

static dync_tensor *hook_each_call(dync_tensor *x)
{
    dync_register_hook(x, twice, NULL);
    return dync_mul(x, x);
}
SCENARIO(hooks_add_up_from_call_to_call) { gradient_of(hook_each_call, false, 3); }

static dync_tensor *squared(dync_tensor *x) { return dync_mul(x, x); }
SCENARIO(hook_from_outside_on_an_argument)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f = dync_compile(squared, .backend_object = &COUNTER(c));
        dync_tensor *x = ramp_at(dync_shape(3), 0, true);
        dync_register_hook(x, plus_1, NULL);
        backward(dync_call(f, x));
        TELL_TENSOR(b ? "grad_aot_eager" : "grad_eager", dync_grad(x));
        TELL(b ? "frames_aot_eager" : "frames_eager", c.frame_count);
        dync_compiled_free(f);
    }
}
SCENARIO(hook_on_a_result)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(squared, .backend = backends[b]);
        dync_tensor *x = ramp_at(dync_shape(3), 0, true), *out = dync_call(f, x);
        dync_register_hook(out, plus_1, NULL);
        backward(out);
        TELL_TENSOR(b ? "grad_aot_eager" : "grad_eager", dync_grad(x));
        dync_compiled_free(f);
    }
}

typedef struct {
    int calls;
    dync_tensor *seen;
} sight;
static dync_tensor *look(dync_tensor *g, void *user)
{
    sight *s = user;
    s->calls++;
    s->seen = dync_retain(dync_clone(g));
    return NULL;
}
static dync_tensor *three_uses(dync_tensor *x)
{
    return total(dync_add(dync_add(dync_mul(x, 2), dync_sin(x)), x));
}
SCENARIO(hook_sees_the_whole_gradient)
{
    for (int b = -1; b < 3; b++) {
        sight s = {0};
        dync_compiled *f = b < 0 ? NULL : dync_compile(three_uses, .backend = backends[b]);
        dync_tensor *x = ramp_at(dync_shape(3), 0, true);
        dync_register_hook(x, look, &s);
        EXPECT_OK(dync_backward(f ? dync_call(f, x) : three_uses(x)));
        TELL("calls", s.calls);
        TELL_TENSOR("seen", s.seen);
        dync_release(s.seen);
        dync_compiled_free(f);
    }
}

SCENARIO(hook_removed_outside)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(squared, .backend = backends[b]);
        dync_tensor *x = ramp_at(dync_shape(3), 0, true);
        int id = dync_register_hook(x, twice, NULL);
        backward(dync_call(f, x));
        TELL_TENSOR("with", dync_grad(x));
        dync_remove_hook(x, id);
        backward(dync_call(f, x));
        TELL_TENSOR("without", dync_grad(x));
        dync_compiled_free(f);
    }
}

static char order[200];
static void note(const char *what)
{
    snprintf(order + strlen(order), sizeof order - strlen(order), "%s%s", *order ? ", " : "", what);
}
static dync_tensor *noted(dync_tensor *g, void *user) { return (void)g, note(user), NULL; }
static dync_tensor *before_node(dync_tensor *g, void *user)
{
    return (void)g, (void)user, note("before node"), NULL;
}
static dync_tensor *after_node(dync_tensor *g, void *user)
{
    return (void)g, (void)user, note("after node"), NULL;
}
static void accumulated(dync_tensor *p, void *user) { (void)p, note(user); }
SCENARIO(order_of_all_kinds_of_hooks)
{
    dync_tensor *x = ramp_at(dync_shape(3), 0, true), *y = dync_mul(x, 2);
    order[0] = 0;
    dync_register_hook(y, noted, "tensor");
    dync_grad_fn_hook(y, before_node, after_node, NULL);
    dync_register_hook(x, noted, "leaf");
    dync_register_post_accumulate_hook(x, accumulated, "accumulated");
    EXPECT_OK(dync_backward(total(y)));
    TELL_TEXT("order", order);
}

static dync_tensor *weighted(dync_tensor *w, dync_tensor *x) { return total(dync_mul(w, x)); }
static void half_step(dync_tensor *p, void *user)
{
    (void)user;
    DYNC_NO_GRAD {
        dync_sub_(p, dync_mul(dync_grad(p), 0.5));
    }
    dync_set_grad(p, NULL);
}
SCENARIO(post_accumulate_hook_steps)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(weighted, .backend = backends[b]);
        dync_tensor *w = ramp_at(dync_shape(3), 0, true);
        dync_register_post_accumulate_hook(w, half_step, NULL);
        for (int i = 0; i < 3; i++) EXPECT_OK(dync_backward(dync_call(f, w, ramp(3, i))));
        TELL_TENSOR("w", w);
        TELL("grad_is_none", dync_grad(w) == NULL);
        dync_compiled_free(f);
    }
}

static dync_tensor *sum_of_squares(dync_tensor *y) { return total(dync_mul(y, y)); }
SCENARIO(retained_gradient)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(sum_of_squares, .backend = backends[b]);
        dync_tensor *x = ramp_at(dync_shape(3), 0, true), *y = dync_mul(x, 2);
        EXPECT_OK(dync_retain_grad(y));
        EXPECT_OK(dync_backward(dync_call(f, y)));
        TELL_TENSOR("y", dync_grad(y));
        TELL_TENSOR("x", dync_grad(x));
        dync_compiled_free(f);
    }
}

static dync_tensor *tripled(dync_tensor *x) { return dync_mul(x, 3); }
SCENARIO(hook_changes_what_is_accumulated_twice)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(tripled, .backend = backends[b]);
        dync_tensor *x = ramp_at(dync_shape(3), 0, true);
        dync_register_hook(x, twice, NULL);
        backward(dync_call(f, x));
        backward(dync_call(f, x));
        TELL_TENSOR("grad", dync_grad(x));
        dync_compiled_free(f);
    }
}

static dync_tensor *two_leaves(dync_tensor *a, dync_tensor *b)
{
    dync_register_hook(a, twice, NULL);
    dync_register_hook(b, times_3, NULL);
    return dync_mul(a, b);
}
SCENARIO(hooks_of_two_leaves)
{
    for (int i = 0; i < 3; i++) {
        counter c = {.inner = backends[i]};
        dync_compiled *f = dync_compile(two_leaves, .backend_object = &COUNTER(c));
        dync_tensor *a = ramp_at(dync_shape(3), 0, true), *b = ramp_at(dync_shape(3), 1, true);
        backward(dync_call(f, a, b));
        TELL_TENSOR("a", dync_grad(a));
        TELL_TENSOR("b", dync_grad(b));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}

static dync_tensor *behind_a_break(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    dync_graph_break("before the hook");
    dync_register_hook(y, plus_1, NULL);
    return total(dync_mul(y, y));
}
SCENARIO(hook_behind_a_break) { gradient_of(behind_a_break, false, 1); }
TEST_MAIN
