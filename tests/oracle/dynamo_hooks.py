"""Hooks: on arguments and on values of the graph, their order, removed ones, around compiled code."""
import torch
from dynamo import compiled, ramp, scenario, tell

SEED = torch.tensor([1.0, 2.0, 3.0])


def twice(g):
    return g * 2


def plus_1(g):
    return g + 1


def times_3(g):
    return g * 3


def gradient(fn, inner="eager", calls=1, **options):
    """x.grad after the backward of what fn(x) gives (of a tuple the first) from 1, 2, 3."""
    f, c = compiled(fn, inner, **options)
    x = ramp(3, grad=True)
    for _ in range(calls):
        out = f(x)
        out = out[0] if isinstance(out, tuple) else out
        out.backward(SEED if out.dim() else None)
    tell("grad", x.grad)
    tell("frames", c.frames)
    return x


@scenario
def hook_on_an_argument():
    def fn(x):
        x.register_hook(twice)
        return x, x * x
    gradient(fn)


@scenario
def hook_on_an_argument_and_its_product():
    def fn(x):
        z = x * x
        x.register_hook(twice)
        z.register_hook(plus_1)
        return z
    gradient(fn)


@scenario
def hooks_run_in_order():
    def fn(x):
        x.register_hook(twice)
        x.register_hook(plus_1)
        x.register_hook(times_3)
        return x * x
    gradient(fn)


@scenario
def hook_removed_and_another_added():
    def fn(x):
        handle = x.register_hook(twice)
        z = x * x
        handle.remove()
        x.register_hook(times_3)
        return z
    gradient(fn)


@scenario
def hook_removed_twice():
    def fn(x):
        handle = x.register_hook(twice)
        z = x * x
        handle.remove()
        handle.remove()
        return z
    gradient(fn, fullgraph=True)


@scenario
def hook_on_a_value():
    def fn(x):
        y = x * 2
        y.register_hook(plus_1)
        return y.sum()
    gradient(fn, fullgraph=True)


@scenario
def hook_on_a_value_used_before_and_after():
    def fn(x):
        y = x * 2
        z = y + 1
        y.register_hook(twice)
        w = y * 3
        return (z + w).sum()
    gradient(fn, fullgraph=True)


@scenario
def hook_that_gives_nothing():
    def fn(x):
        y = x * 2
        y.register_hook(lambda g: None)
        return y.sum()
    gradient(fn, fullgraph=True)


@scenario
def hook_on_a_value_that_goes_into_cond():
    def fn(x):
        y = x * 2
        y.register_hook(twice)
        return torch.cond(x.sum() > 100, lambda t: t + 1, lambda t: t * 5, (y,)).sum()
    gradient(fn, fullgraph=True)


@scenario
def hooks_add_up_from_call_to_call():
    def fn(x):
        x.register_hook(twice)
        return x * x
    gradient(fn, calls=3)


@scenario
def hook_from_outside_on_an_argument():
    for inner in ("eager", "aot_eager"):
        f, c = compiled(lambda x: x * x, inner)
        x = ramp(3, grad=True)
        x.register_hook(plus_1)
        f(x).backward(SEED)
        tell("grad_" + inner, x.grad)
        tell("frames_" + inner, c.frames)
        torch._dynamo.reset()


@scenario
def hook_on_a_result():
    for inner in ("eager", "aot_eager"):
        f, _ = compiled(lambda x: x * x, inner)
        x = ramp(3, grad=True)
        out = f(x)
        out.register_hook(plus_1)
        out.backward(SEED)
        tell("grad_" + inner, x.grad)
        torch._dynamo.reset()


@scenario
def hook_sees_the_whole_gradient():
    seen = []

    def fn(x):
        x.register_hook(lambda g: seen.append(g.clone()))
        return x * 2 + x.sin() + x
    x = ramp(3, grad=True)
    fn(x).sum().backward()
    tell("calls", len(seen))
    tell("seen", seen[0])


@scenario
def hook_removed_outside():
    f, _ = compiled(lambda x: x * x)
    x = ramp(3, grad=True)
    handle = x.register_hook(twice)
    f(x).backward(SEED)
    tell("with", x.grad)
    handle.remove()
    f(x).backward(SEED)
    tell("without", x.grad)


@scenario
def order_of_all_kinds_of_hooks():
    log = []
    x = ramp(3, grad=True)
    y = x * 2
    y.register_hook(lambda g: log.append("tensor"))
    y.grad_fn.register_prehook(lambda g: log.append("before node"))
    y.grad_fn.register_hook(lambda gi, go: log.append("after node"))
    x.register_hook(lambda g: log.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    y.sum().backward()
    tell("order", ", ".join(log))


@scenario
def post_accumulate_hook_steps():
    f, _ = compiled(lambda w, x: (w * x).sum(), "aot_eager")
    w = ramp(3, grad=True)

    def step(p):
        with torch.no_grad():
            p.sub_(p.grad * 0.5)
        p.grad = None
    w.register_post_accumulate_grad_hook(step)
    for start in range(3):
        f(w, ramp(3, start=start)).backward()
    tell("w", w)
    tell("grad_is_none", w.grad is None)


@scenario
def retained_gradient():
    x = ramp(3, grad=True)
    y = x * 2
    y.retain_grad()
    f, _ = compiled(lambda y: (y * y).sum(), "aot_eager")
    f(y).backward()
    tell("y", y.grad)
    tell("x", x.grad)


@scenario
def hook_changes_what_is_accumulated_twice():
    f, _ = compiled(lambda x: x * 3, "aot_eager")
    x = ramp(3, grad=True)
    x.register_hook(twice)
    f(x).backward(SEED)
    f(x).backward(SEED)
    tell("grad", x.grad)


@scenario
def hooks_of_two_leaves():
    def fn(a, b):
        a.register_hook(twice)
        b.register_hook(times_3)
        return a * b
    f, c = compiled(fn)
    a, b = ramp(3, grad=True), ramp(3, start=1, grad=True)
    f(a, b).backward(SEED)
    tell("a", a.grad)
    tell("b", b.grad)
    tell("frames", c.frames)


@scenario
def hook_behind_a_break():
    def fn(x):
        y = x * 2
        torch._dynamo.graph_break()
        y.register_hook(plus_1)
        return (y * y).sum()
    gradient(fn)
