"""Writes in place: into arguments, views, results; what shares memory with what."""
import torch
from dynamo import compiled, error_of, ramp, scenario, tell

INNER = ("eager", "aot_eager")


def same_memory(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def written(fn, *shapes, calls=1):
    """What fn gives and leaves in its arguments, ramps of those shapes."""
    for inner in INNER:
        f, c = compiled(fn, inner)
        args = [ramp(*s, start=i) for i, s in enumerate(shapes)]
        for _ in range(calls):
            out = f(*args)
        if inner == "eager":
            tell("out", out)
            for i, a in enumerate(args):
                tell(f"arg{i}", a)
            tell("shares", same_memory(out, args[0]))
            tell("frames", c.frames)
        torch._dynamo.reset()


@scenario
def argument_is_written_and_returned():
    written(lambda x: x.add_(1), (3,), calls=3)


@scenario
def view_of_the_written_argument():
    def fn(x):
        x.mul_(2)
        return x.view(2, 3)[1]
    written(fn, (6,))


@scenario
def read_before_and_after_the_write():
    def fn(x):
        y = x * 2
        x.add_(1)
        return y + x
    written(fn, (3,))


@scenario
def write_through_a_view():
    def fn(x):
        x[1].fill_(9)
        return x.sum(0)
    written(fn, (2, 3))


@scenario
def write_through_a_transpose():
    def fn(x, y):
        x.t().add_(y)
        return x * 2
    written(fn, (2, 3), (3, 2))


@scenario
def write_every_second():
    def fn(x):
        x[::2].mul_(3)
        return x + 1
    written(fn, (5,))


@scenario
def views_of_views_written():
    def fn(x):
        v = x.view(2, 6)[:, 1:5]
        w = v[:, ::2]
        w.add_(10)
        v.mul_(2)
        return x + w.sum()
    written(fn, (12,))


@scenario
def view_taken_between_two_writes():
    def fn(x):
        x.add_(1)
        v = x[1:]
        x.mul_(2)
        return v + 0.5
    written(fn, (4,))


@scenario
def intermediate_written_through_a_view():
    def fn(x):
        y = x * 2
        y[0].copy_(y[1])
        y[1].neg_()
        return y
    written(fn, (2, 3))


@scenario
def write_before_a_break_seen_behind():
    def fn(x):
        v = x[1:]
        x.add_(1)
        torch._dynamo.graph_break()
        x.mul_(2)
        return v * 1.5
    written(fn, (4,))


@scenario
def swap_of_two_arguments():
    def fn(x, y):
        t = x.clone()
        x.copy_(y)
        y.copy_(t)
        return x - y
    written(fn, (3,), (3,))


@scenario
def the_same_argument_twice():
    def fn(a, b):
        a.add_(1)
        b.mul_(2)
        return a + b
    for inner in INNER:
        f, _ = compiled(fn, inner)
        x = ramp(3)
        out = f(x, x)
        if inner == "eager":
            tell("out", out)
            tell("x", x)
        torch._dynamo.reset()


@scenario
def results_that_are_one_tensor():
    def fn(x):
        y = x * 2
        return y, y, y[1:], x
    for inner in INNER:
        f, _ = compiled(fn, inner)
        x = ramp(3)
        a, b, v, given = f(x)
        tell("one_" + inner, a is b)
        tell("view_shares_" + inner, same_memory(a, v))
        tell("given_" + inner, given is x)
        a.add_(1)
        tell("view_" + inner, v)
        torch._dynamo.reset()


@scenario
def reshape_shares_or_copies():
    f, _ = compiled(lambda x, y: (x.reshape(6), y.reshape(6)), "aot_eager")
    x, y = ramp(2, 3), ramp(3, 2).t()
    p, q = f(x, y)
    tell("of_dense", same_memory(p, x))
    tell("of_transposed", same_memory(q, y))
    tell("q", q)


@scenario
def copy_converts():
    def fn(x, i):
        i.copy_(x * 3)
        return i + 1
    for inner in INNER:
        f, _ = compiled(fn, inner)
        i = torch.zeros(4, dtype=torch.int64)
        out = f(ramp(4), i)
        if inner == "eager":
            tell("out", out)
            tell("i", i)
        torch._dynamo.reset()


@scenario
def masked_scattered_added():
    def fn(x, y):
        x.masked_fill_(y > 0, -3)
        x.scatter_(0, torch.tensor([1, 0]), torch.tensor([7.0, 8.0]))
        x[2:].index_add_(0, torch.tensor([0, 0]), y[:2])
        return x * 2
    written(fn, (5,), (5,))


@scenario
def counter_in_a_buffer():
    class Count(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return x * self.n
    m = Count()
    f, c = compiled(m, "aot_eager")
    for i in range(3):
        tell(f"out{i}", f(ramp(3)))
    tell("n", m.n)
    tell("frames", c.frames)


def gradient(fn, *shapes):
    for inner in INNER:
        f, _ = compiled(fn, inner)
        args = [ramp(*s, start=i, grad=True) for i, s in enumerate(shapes)]
        f(*args).sum().backward()
        if inner == "eager":
            for i, a in enumerate(args):
                tell(f"grad{i}", a.grad)
        torch._dynamo.reset()


@scenario
def gradient_through_a_written_view():
    def fn(x):
        y = x * x
        y[0].mul_(3)
        return y * x
    gradient(fn, (2, 3))


@scenario
def gradient_of_what_was_copied_in():
    def fn(x, z):
        y = x * 2
        y[1:].copy_(z)
        return y * y
    gradient(fn, (4,), (3,))


@scenario
def gradient_through_a_written_argument():
    def fn(x):
        x.mul_(2)
        return x * x
    for inner in INNER:
        f, _ = compiled(fn, inner)
        leaf = ramp(3, grad=True)
        x = leaf * 1
        out = f(x)
        (out + x).sum().backward()
        tell("grad_" + inner, leaf.grad)
        tell("x_" + inner, x)
        torch._dynamo.reset()


@scenario
def detached_view_is_written():
    def fn(x):
        y = x * 2
        y.detach().add_(1)
        return y
    gradient(fn, (3,))
    tell("out", compiled(fn, "aot_eager")[0](ramp(3)))


@scenario
def relu_in_place():
    gradient(lambda x: torch.relu_(x * 2) * x, (4,))


@scenario
def leaf_is_written():
    def fn(x):
        return x.add_(1)
    f, _ = compiled(fn)
    tell("fails", error_of(lambda: f(ramp(3, grad=True)))[1] != "")
    tell("text", error_of(lambda: fn(ramp(3, grad=True)))[1])


@scenario
def view_of_a_leaf_is_written():
    def fn(x):
        x[0].add_(1)
        return x * 2
    f, _ = compiled(fn)
    tell("fails", error_of(lambda: f(ramp(3, grad=True)))[1] != "")
    tell("text", error_of(lambda: fn(ramp(3, grad=True)))[1])


@scenario
def saved_value_is_written():
    def fn(x):
        y = x.exp()
        y.add_(1)
        return y
    f, _ = compiled(fn)
    out = f(ramp(3, grad=True))
    text = error_of(lambda: out.sum().backward())[1]
    tell("text", text[:text.index(":")])


@scenario
def float_into_integers():
    def fn(x):
        return x.add_(1.5)
    text = error_of(lambda: fn(ramp(3).to(torch.int64)))[1]
    tell("text", text)


@scenario
def write_that_would_grow():
    text = error_of(lambda: ramp(3).add_(ramp(2, 3)))[1]
    tell("text", text[:text.index("[")])
