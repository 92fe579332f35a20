/* Graph breaks: how many graphs, of how many operators; values are eager's. */
#include "upstream.h"
#include "breaks.h"

static dync_tensor *opaque_body(dync_tensor *a, dync_tensor *b) { return (void)b, a; }
static dync_tensor *opaque(dync_tensor *a, dync_tensor *b)
{
    return dync_frame(dync_disable(opaque_body), a, b);
}
static dync_tensor *breaking(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *c = dync_add(a, b);
    return opaque(a, c);
}
static dync_tensor *opaque_in_frame(dync_tensor *a, dync_tensor *b)
{
    return dync_frame(breaking, a, b);
}

typedef dync_tensor *(*two_args)(dync_tensor *, dync_tensor *);
static counter both_orders_but_ops(two_args fn)
{
    dync_tensor *a = dync_ones(dync_shape(4)), *b = dync_mul(a, -2), *first, *second;
    counter c = {0};
    dync_compiled *f = dync_compile(fn, .args = "a, b", .backend_object = &COUNTER(c));
    TELL_TENSOR("first", first = dync_call(f, a, b));
    TELL_TENSOR("second", second = dync_call(f, b, a));
    EXPECT(same(first, fn(a, b), 1e-6) && same(second, fn(b, a), 1e-6));
    TELL("frames", c.frame_count);
    EXPECT(same(first, dync_call(f, a, b), 0) && same(second, dync_call(f, b, a), 0));
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
    return c;
}
static void both_orders(two_args fn) { TELL("ops", both_orders_but_ops(fn).op_count); }
static bool more(dync_tensor *a, dync_tensor *b) { return dync_bool(dync_gt(total(a), total(b))); }

static dync_tensor *what_is_there(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *p = dync_sub(a, b), *q = dync_sub(b, a);
    return more(p, q) ? p : q;
}
SCENARIO(branch_returns_what_is_there) { both_orders(what_is_there); }

static dync_tensor *larger(dync_tensor *a, dync_tensor *b) { return more(a, b) ? a : b; }
SCENARIO(branch_without_operators_behind) { both_orders(larger); }

static dync_tensor *relu_each_way(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *p = dync_sub(a, b), *q = dync_sub(b, a);
    if (more(p, q)) return dync_relu(p);
    return dync_relu(q);
}
SCENARIO(branch_with_one_operator_each_way) { both_orders(relu_each_way); }

static dync_tensor *two_conditions(dync_tensor *a, dync_tensor *b)
{
    if (more(a, b) && dync_bool(dync_gt(total(a), 0))) return a;
    return b;
}
SCENARIO(branch_of_two_conditions) { both_orders(two_conditions); }

static dync_tensor *at_the_end(dync_tensor *a, dync_tensor *b)
{
    return opaque(dync_sub(a, b), dync_sub(b, a));
}
SCENARIO(opaque_call_at_the_end) { both_orders(at_the_end); }

static dync_tensor *in_the_middle(dync_tensor *a, dync_tensor *b)
{
    return dync_sub(a, dync_sub(b, opaque(dync_sub(a, b), dync_sub(b, a))));
}
SCENARIO(opaque_call_in_the_middle) { both_orders(in_the_middle); }

static dync_tensor *in_a_frame(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *p = dync_sub(a, b), *q = dync_sub(b, a);
    return opaque_in_frame(p, q);
}
SCENARIO(opaque_call_in_a_frame) { both_orders(in_a_frame); }

static dync_tensor *numbers_around(dync_tensor *a, dync_tensor *b)
{
    return dync_div(7, dync_sub(22, in_a_frame(a, b)));
}
SCENARIO(opaque_call_in_a_frame_with_numbers_around) { both_orders(numbers_around); }

static dync_tensor *waiting(dync_tensor *a, dync_tensor *b, two_args middle)
{
    dync_tensor *s = dync_mul(1.25, a), *t = dync_mul(4.5, a), *p = dync_sub(a, b),
                *q = dync_sub(b, a);
    return dync_div(s, dync_sub(t, middle(p, q)));
}
static dync_tensor *wait_break(dync_tensor *a, dync_tensor *b) { return waiting(a, b, opaque); }
static dync_tensor *wait_frame(dync_tensor *a, dync_tensor *b)
{
    return waiting(a, b, opaque_in_frame);
}
SCENARIO(values_wait_for_a_break) { both_orders(wait_break); }
SCENARIO(values_wait_for_a_frame_that_breaks) { both_orders(wait_frame); }

static dync_tensor *one_way(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_div(dync_add(a, b), 2.0);
    return dync_bool(dync_lt(total(x), 0)) ? dync_mul(x, -1.0) : x;
}
SCENARIO(branch_one_way_only) { both_orders(one_way); }

static dync_tensor *long_chains(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = a;
    if (dync_bool(dync_gt(total(a), 0)))
        for (int i = 0; i < 100; i++) x = dync_add(x, b);
    else
        for (int i = 0; i < 50; i++) x = dync_sub(x, b);
    return x;
}
SCENARIO(long_chains_each_way) { both_orders(long_chains); }

static dync_tensor *plus_two(dync_tensor *x, int times)
{
    for (int i = 0; i < times; i++) x = dync_add(x, 2.0);
    return x;
}
static dync_tensor *half_plus_two(dync_tensor *a, dync_tensor *b)
{
    return plus_two(dync_div(dync_add(a, b), 2.0), 1);
}
static dync_tensor *around_break(dync_tensor *a, dync_tensor *b)
{
    return plus_two(opaque(half_plus_two(a, b), a), 3);
}
static dync_tensor *around_frame(dync_tensor *a, dync_tensor *b)
{
    return plus_two(opaque_in_frame(half_plus_two(a, b), a), 3);
}
static dync_tensor *around_print(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = half_plus_two(a, b);
    dync_print(x);
    return plus_two(x, 3);
}
static dync_tensor *after_print(dync_tensor *a, dync_tensor *b)
{
    dync_print(a);
    return plus_two(dync_add(a, b), 2);
}
static dync_tensor *after_frame(dync_tensor *a, dync_tensor *b)
{
    return plus_two(opaque_in_frame(a, b), 3);
}
static dync_tensor *after_opaque(dync_tensor *a, dync_tensor *b)
{
    return plus_two(opaque(a, b), 3);
}
SCENARIO(three_before_three_after) { both_orders(around_break); }
SCENARIO(three_before_three_after_a_frame) { both_orders(around_frame); }
SCENARIO(printing_in_the_middle) { both_orders(around_print); }
SCENARIO(printing_first) { both_orders(after_print); }
SCENARIO(frame_with_a_break_first) { both_orders(after_frame); }
SCENARIO(opaque_call_first) { both_orders(after_opaque); }

static dync_tensor *checked(dync_tensor *a, dync_tensor *b, dync_tensor *check)
{
    if (dync_bool(check)) return dync_add(dync_add(a, b), 10);
    return dync_sub(dync_add(a, b), 10);
}
SCENARIO(branch_on_an_argument)
{
    dync_tensor *a = ramp(4, 0), *b = ramp(4, 1),
                *yes = dync_ones(dync_shape(1), .dtype = DYNC_I32), *no = dync_zeros_like(yes);
    counter c = {0};
    dync_compiled *f = dync_compile(checked, .args = "a, b, check", .backend_object = &COUNTER(c));
    TELL_TENSOR("yes", dync_call(f, a, b, yes));
    TELL_TENSOR("no", dync_call(f, a, b, no));
    DIFFERS("frames", c.frame_count, 2,
            "an empty graph before the branch: no backend sees it here");
    TELL("ops", c.op_count);
    dync_compiled_free(f);
}

static dync_tensor *global_p, *global_q;
static dync_tensor *with_globals(dync_tensor *a, dync_tensor *b)
{
    dync_guard_tensor("p", &global_p);
    dync_guard_tensor("q", &global_q);
    dync_tensor *x = dync_add(dync_add(a, b), dync_sub(global_p, global_q));
    return dync_add(opaque(x, x), dync_sub(global_p, global_q));
}
SCENARIO(globals_on_both_sides_of_a_break)
{
    global_p = ramp(4, 2), global_q = ramp(4, 3);
    both_orders(with_globals);
}

static dync_tensor *loop_after(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_add(a, b);
    x = opaque(x, x);
    for (int i = 3; i < 8; i += 2) x = dync_add(x, i);
    return x;
}
SCENARIO(loop_of_numbers_after_a_break) { both_orders(loop_after); }

static dync_tensor *list_before(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *items[3] = {dync_add(a, 1), dync_add(b, 2), dync_add(a, b)}, *x = opaque(a, a);
    for (int i = 0; i < 3; i++) x = dync_add(x, items[2 - i]);
    return x;
}
SCENARIO(list_made_before_a_break) { both_orders(list_before); }

static dync_tensor *unused_item(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = total(dync_sub(dync_add(a, b), 1.5));
    dync_item(x);
    return dync_div(x, dync_add(a, b));
}
SCENARIO(item_that_is_not_used) { both_orders(unused_item); }

static dync_tensor *used_item(dync_tensor *a, dync_tensor *b)
{
    double s = dync_item(total(dync_mul(a, 2)));
    return dync_add(dync_mul(b, s), a);
}
SCENARIO(item_that_is_used)
{
    DIFFERS("ops", both_orders_but_ops(used_item).op_count, 6,
            "dynamo makes a tensor of a float and counts the item() behind it");
}

static dync_tensor *three_flags(dync_tensor *x, dync_tensor *p, dync_tensor *q, dync_tensor *r)
{
    x = dync_add(x, 1);
    if (dync_bool(p)) x = dync_add(x, 2);
    x = dync_add(x, 3);
    if (dync_bool(q)) x = dync_add(x, 4);
    x = dync_add(x, 5);
    if (dync_bool(r)) x = dync_add(x, 6);
    return dync_add(x, 7);
}
SCENARIO(flags_do_not_multiply_graphs)
{
    dync_tensor *flag[2] = {dync_full(dync_shape(1), false, .dtype = DYNC_BOOL),
                            dync_full(dync_shape(1), true, .dtype = DYNC_BOOL)},
                *x = ramp(3, 0);
    counter c = {0};
    dync_compiled *f = dync_compile(three_flags, .backend_object = &COUNTER(c));
    for (int i = 7; i >= 0; i--) {
        dync_tensor *p = flag[i >> 2 & 1], *q = flag[i >> 1 & 1], *r = flag[i & 1];
        EXPECT(same(dync_call(f, x, p, q, r), three_flags(x, p, q, r), 0));
    }
    TELL_COUNTS(c);
    dync_compiled_free(f);
}

/* Calls with other numbers each time: "out", or out0, out1, ... */
typedef dync_tensor *(*one_arg)(dync_tensor *);
static void one_call(one_arg fn, counter *c)
{
    dync_compiled *f = dync_compile(fn, .args = "x", .backend_object = &COUNTER(*c));
    TELL_TENSOR("out", dync_call(f, ramp(3, 0)));
    dync_compiled_free(f);
}

static dync_tensor *loop_with_break(dync_tensor *x)
{
    for (int i = 0; i < 3; i++) {
        x = dync_add(x, 1);
        dync_graph_break("in a loop");
    }
    return dync_mul(x, 2);
}
SCENARIO(break_in_a_loop)
{
    counter c = {0};
    one_call(loop_with_break, &c);
    DIFFERS("frames", c.frame_count, 2, "dynamo gives the whole frame up, dync cuts it");
    DIFFERS("ops", c.op_count, 2, "the same");
}

static dync_tensor *twice_in_a_row(dync_tensor *x)
{
    x = dync_sin(x);
    dync_graph_break("one");
    dync_graph_break("two");
    return dync_cos(x);
}
SCENARIO(two_breaks_in_a_row)
{
    counter c = {0};
    dync_compiled *f = dync_compile(twice_in_a_row, .backend_object = &COUNTER(c));
    TELL_TENSOR("out", dync_call(f, ramp(3, 0)));
    TELL_TENSOR("again", dync_call(f, ramp(3, 1)));
    TELL_COUNTS(c);
    dync_compiled_free(f);
}

static dync_tensor *first_and_last(dync_tensor *x)
{
    dync_graph_break("first");
    x = dync_add(dync_mul(x, 2), 1);
    dync_graph_break("last");
    return x;
}
SCENARIO(break_before_anything_and_at_the_end)
{
    counter c = {0};
    one_call(first_and_last, &c);
    TELL_COUNTS(c);
}

static dync_tensor *nothing(dync_tensor *x) { return x; }
SCENARIO(graph_of_nothing)
{
    counter c = {0};
    one_call(nothing, &c);
    TELL_COUNTS(c);
}

static dync_tensor *dead(dync_tensor *x)
{
    dync_cos(x);
    dync_exp(x);
    return dync_sin(x);
}
SCENARIO(dead_operators_are_counted)
{
    counter c = {0};
    one_call(dead, &c);
    TELL_COUNTS(c);
}

static dync_compiled *inner;
static dync_tensor *sin_one(dync_tensor *x) { return dync_add(dync_sin(x), 1); }
static dync_tensor *sin_break_cos(dync_tensor *x)
{
    x = dync_sin(x);
    dync_graph_break("inside");
    return dync_cos(x);
}
static dync_tensor *calls_inner(dync_tensor *x)
{
    return dync_mul(dync_call(inner, dync_mul(x, 2)), 3);
}
SCENARIO(compiled_function_inside)
{
    counter c = {0}, ci = {0};
    inner = dync_compile(sin_one, .backend_object = &COUNTER(ci));
    one_call(calls_inner, &c);
    TELL_COUNTS(c);
    TELL("inner", ci.frame_count);
    dync_compiled_free(inner);
}
SCENARIO(compiled_function_inside_with_a_break)
{
    counter c = {0}, ci = {0};
    inner = dync_compile(sin_break_cos, .backend_object = &COUNTER(ci));
    one_call(calls_inner, &c);
    DIFFERS("frames", c.frame_count, 4, "the backend of the call outside compiles what is inside");
    dync_compiled_free(inner);
}

static int calls;
static dync_tensor *times_calls(dync_tensor *x) { return dync_mul(x, ++calls); }
static dync_tensor *around_count(dync_tensor *x)
{
    return dync_sub(dync_frame(dync_disable(times_calls), dync_add(x, 1)), 1);
}
SCENARIO(disabled_frame_runs_every_call)
{
    counter c = {0};
    dync_compiled *f = dync_compile(around_count, .backend_object = &COUNTER(c));
    TELL_TENSOR("out0", dync_call(f, ramp(3, 0)));
    TELL_TENSOR("out1", dync_call(f, ramp(3, 0)));
    TELL_TENSOR("out2", dync_call(f, ramp(3, 0)));
    TELL_COUNTS(c);
    dync_compiled_free(f);
}

static dync_tensor *deepest(dync_tensor *x) { return dync_cos(x); }
static dync_tensor *deeper(dync_tensor *x) { return dync_add(dync_frame(deepest, dync_sin(x)), 1); }
static dync_tensor *deep(dync_tensor *x) { return dync_mul(dync_frame(deeper, dync_mul(x, 2)), 3); }
SCENARIO(frames_three_deep_without_a_break)
{
    counter c = {0};
    one_call(deep, &c);
    TELL_COUNTS(c);
}

static dync_tensor *frame_twice(dync_tensor *x)
{
    return dync_frame(sin_break_cos, dync_add(dync_frame(sin_break_cos, x), 1));
}
SCENARIO(frame_called_twice_with_a_break)
{
    counter c = {0};
    one_call(frame_twice, &c);
    TELL_COUNTS(c);
}
TEST_MAIN
