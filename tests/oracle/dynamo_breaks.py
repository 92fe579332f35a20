"""Graph breaks: how many graphs, of how many operators; values are eager's."""
import torch
from dynamo import Counter, compiled, ramp, scenario, tell


@torch._dynamo.disable
def opaque(a, b):
    return a


def opaque_in_frame(a, b):
    c = a + b
    return opaque(a, c)


def both_orders(fn):
    """Called as (a, b) and (b, a), a of ones and b of minus twos."""
    a, b = torch.ones(4), torch.ones(4) * -2
    f, c = compiled(fn)
    for name, args in [("first", (a, b)), ("second", (b, a))]:
        want, got = fn(*args), f(*args)
        assert torch.allclose(want, got), fn
        tell(name, got)
    c.tell()


@scenario
def branch_returns_what_is_there():
    def fn(a, b):
        p, q = a - b, b - a
        return p if p.sum() > q.sum() else q
    both_orders(fn)


@scenario
def branch_without_operators_behind():
    def fn(a, b):
        if a.sum() > b.sum():
            return a
        return b
    both_orders(fn)


@scenario
def branch_with_one_operator_each_way():
    def fn(a, b):
        p, q = a - b, b - a
        if p.sum() > q.sum():
            return torch.relu(p)
        return torch.relu(q)
    both_orders(fn)


@scenario
def branch_of_two_conditions():
    def fn(a, b):
        if a.sum() > b.sum() and a.sum() > 0:
            return a
        return b
    both_orders(fn)


@scenario
def opaque_call_at_the_end():
    both_orders(lambda a, b: opaque(a - b, b - a))


@scenario
def opaque_call_in_the_middle():
    both_orders(lambda a, b: a - (b - opaque(a - b, b - a)))


@scenario
def opaque_call_in_a_frame():
    def fn(a, b):
        p = a - b
        q = b - a
        return opaque_in_frame(p, q)
    both_orders(fn)


@scenario
def opaque_call_in_a_frame_with_numbers_around():
    def fn(a, b):
        p, q = a - b, b - a
        return 7 / (22 - opaque_in_frame(p, q))
    both_orders(fn)


@scenario
def values_wait_for_a_break():
    def fn(a, b):
        s, t = 1.25 * a, 4.5 * a
        return s / (t - opaque(a - b, b - a))
    both_orders(fn)


@scenario
def values_wait_for_a_frame_that_breaks():
    def fn(a, b):
        s, t = 1.25 * a, 4.5 * a
        return s / (t - opaque_in_frame(a - b, b - a))
    both_orders(fn)


@scenario
def branch_one_way_only():
    def fn(a, b):
        x = (a + b) / 2.0
        if x.sum() < 0:
            return x * -1.0
        return x
    both_orders(fn)


@scenario
def long_chains_each_way():
    def fn(a, b):
        x = a
        if a.sum() > 0:
            for _ in range(100):
                x = x + b
        else:
            for _ in range(50):
                x = x - b
        return x
    both_orders(fn)


def around(middle):
    def fn(a, b):
        x = a + b
        x = x / 2.0
        x = x + 2.0
        x = middle(x, a)
        for _ in range(3):
            x = x + 2.0
        return x
    both_orders(fn)


@scenario
def three_before_three_after():
    around(opaque)


@scenario
def three_before_three_after_a_frame():
    around(opaque_in_frame)


@scenario
def printing_in_the_middle():
    def fn(a, b):
        x = (a + b) / 2.0 + 2.0
        print(x)
        return x + 2.0 + 2.0 + 2.0
    both_orders(fn)


@scenario
def printing_first():
    def fn(a, b):
        print(a)
        return a + b + 2.0 + 2.0
    both_orders(fn)


@scenario
def frame_with_a_break_first():
    both_orders(lambda a, b: opaque_in_frame(a, b) + 2.0 + 2.0 + 2.0)


@scenario
def opaque_call_first():
    both_orders(lambda a, b: opaque(a, b) + 2.0 + 2.0 + 2.0)


@scenario
def branch_on_an_argument():
    def fn(a, b, check):
        return a + b + 10 if check else a + b - 10
    f, c = compiled(fn)
    a, b = ramp(4), ramp(4, start=1)
    tell("yes", f(a, b, torch.ones(1, dtype=torch.int32)))
    tell("no", f(a, b, torch.zeros(1, dtype=torch.int32)))
    c.tell()


@scenario
def globals_on_both_sides_of_a_break():
    p, q = ramp(4, start=2), ramp(4, start=3)

    def fn(a, b):
        x = a + b + (p - q)
        x = opaque(x, x)
        return x + (p - q)
    both_orders(fn)


@scenario
def loop_of_numbers_after_a_break():
    def fn(a, b):
        x = a + b
        x = opaque(x, x)
        for i in range(3, 8, 2):
            x = x + i
        return x
    both_orders(fn)


@scenario
def list_made_before_a_break():
    def fn(a, b):
        items = [a + 1, b + 2, a + b]
        x = opaque(a, a)
        for i in range(3):
            x = x + items[2 - i]
        return x
    both_orders(fn)


@scenario
def item_that_is_not_used():
    def fn(a, b):
        x = (a + b - 1.5).sum()
        x.item()
        return x / (a + b)
    both_orders(fn)


@scenario
def item_that_is_used():
    def fn(a, b):
        s = (a * 2).sum().item()
        return b * s + a
    both_orders(fn)


@scenario
def flags_do_not_multiply_graphs():
    def fn(x, p, q, r):
        x = x + 1
        if p:
            x = x + 2
        x = x + 3
        if q:
            x = x + 4
        x = x + 5
        if r:
            x = x + 6
        return x + 7
    yes, no = torch.tensor([True]), torch.tensor([False])
    f, c = compiled(fn)
    x = ramp(3)
    for p in (yes, no):
        for q in (yes, no):
            for r in (yes, no):
                assert torch.equal(f(x, p, q, r), fn(x, p, q, r))
    c.tell()


@scenario
def break_in_a_loop():
    def fn(x):
        for _ in range(3):
            x = x + 1
            torch._dynamo.graph_break()
        return x * 2
    f, c = compiled(fn)
    tell("out", f(ramp(3)))
    c.tell()


@scenario
def two_breaks_in_a_row():
    def fn(x):
        x = x.sin()
        torch._dynamo.graph_break()
        torch._dynamo.graph_break()
        return x.cos()
    f, c = compiled(fn)
    tell("out", f(ramp(3)))
    tell("again", f(ramp(3, start=1)))
    c.tell()


@scenario
def break_before_anything_and_at_the_end():
    def fn(x):
        torch._dynamo.graph_break()
        x = x * 2 + 1
        torch._dynamo.graph_break()
        return x
    f, c = compiled(fn)
    tell("out", f(ramp(3)))
    c.tell()


@scenario
def graph_of_nothing():
    f, c = compiled(lambda x: x)
    tell("out", f(ramp(3)))
    c.tell()


@scenario
def dead_operators_are_counted():
    def fn(x):
        x.cos()
        x.exp()
        return x.sin()
    f, c = compiled(fn)
    tell("out", f(ramp(3)))
    c.tell()


@scenario
def compiled_function_inside():
    inner, ci = compiled(lambda x: x.sin() + 1)
    f, c = compiled(lambda x: inner(x * 2) * 3)
    tell("out", f(ramp(3)))
    c.tell()
    tell("inner", ci.frames)


@scenario
def compiled_function_inside_with_a_break():
    def g(x):
        x = x.sin()
        torch._dynamo.graph_break()
        return x.cos()
    inner, _ = compiled(g)
    f, c = compiled(lambda x: inner(x * 2) * 3)
    tell("out", f(ramp(3)))
    tell("frames", c.frames)


@scenario
def disabled_frame_runs_every_call():
    calls = [0]

    @torch._dynamo.disable
    def count(x):
        calls[0] += 1
        return x * calls[0]
    f, c = compiled(lambda x: count(x + 1) - 1)
    for i in range(3):
        tell(f"out{i}", f(ramp(3)))
    c.tell()


@scenario
def frames_three_deep_without_a_break():
    def g(x):
        return x.cos()

    def h(x):
        return g(x.sin()) + 1
    f, c = compiled(lambda x: h(x * 2) * 3)
    tell("out", f(ramp(3)))
    c.tell()


@scenario
def frame_called_twice_with_a_break():
    def g(x):
        x = x.sin()
        torch._dynamo.graph_break()
        return x.cos()
    f, c = compiled(lambda x: g(g(x) + 1))
    tell("out", f(ramp(3)))
    c.tell()
