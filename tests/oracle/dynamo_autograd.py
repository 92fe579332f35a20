"""Custom functions, gradients taken inside and outside, numbers and dtypes in them."""
import torch
from dynamo import compiled, error_of, ramp, scenario, tell

INNER = ("eager", "aot_eager")


def gradients(fn, *shapes, seed=None):
    """out and gradients of fn by each backend: equal; those of eager are told."""
    for inner in INNER:
        f, c = compiled(fn, inner, fullgraph=True)
        args = [ramp(*s, start=i, grad=True) for i, s in enumerate(shapes)]
        out = f(*args)
        first = out[0] if isinstance(out, tuple) else out
        (first * ramp(*first.shape, start=5)).sum().backward()
        if inner == "eager":
            tell("out", first)
            for i, a in enumerate(args):
                tell(f"grad{i}", a.grad if a.grad is not None else [])
            tell("frames", c.frames)
        torch._dynamo.reset()


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x * x * 7 # not 3: to be told from the true one


class TwoOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x - h


class OnlyFirst(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * 2 + y

    @staticmethod
    def backward(ctx, g):
        return g * 2, None


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return -g


@scenario
def custom_function():
    gradients(lambda x: Cube.apply(x.sin()) + x, (4,))


@scenario
def custom_function_twice():
    gradients(lambda x: Cube.apply(Cube.apply(x)), (4,))


@scenario
def custom_function_of_two():
    def fn(x, y):
        p, q = TwoOut.apply(x, y)
        return p * 2 + q
    gradients(fn, (3,), (3,))


@scenario
def custom_function_one_result_unused():
    gradients(lambda x, y: TwoOut.apply(x, y)[1], (3,), (3,))


@scenario
def custom_function_without_second_gradient():
    gradients(lambda x, y: OnlyFirst.apply(x, y), (3,), (3,))


@scenario
def gradient_reversal():
    gradients(lambda x: Identity.apply(x * 2) * x, (3,))


@scenario
def custom_function_in_a_branch():
    def fn(x):
        if x.sum() > 0:
            return Cube.apply(x)
        return x * 5
    for inner in INNER:
        f, c = compiled(fn, inner)
        for name, x in [("positive", ramp(3).abs()), ("negative", -ramp(3).abs())]:
            x.requires_grad_()
            f(x).sum().backward()
            if inner == "eager":
                tell(name, x.grad)
        if inner == "eager":
            tell("frames", c.frames)
        torch._dynamo.reset()


@scenario
def broadcast_gradients_are_summed():
    gradients(lambda x, y: x * y + y, (2, 3), (3,))


@scenario
def gradient_of_a_slice_and_a_cat():
    gradients(lambda x, y: torch.cat([x[1:], y[:2] * 3, x], 0), (3,), (4,))


@scenario
def gradient_of_where_and_clamp():
    gradients(lambda x, y: torch.where(x > y, x * 2, y.clamp(-0.5, 0.75)), (5,), (5,))


@scenario
def gradient_of_max_with_ties():
    gradients(lambda x: torch.amax(torch.stack([x, x, x * 0.5]), 0), (4,))


@scenario
def gradient_of_a_gather_with_repeats():
    gradients(lambda x: x.gather(0, torch.tensor([0, 2, 2, 2])) * 2, (3,))


@scenario
def gradient_at_the_corner():
    gradients(lambda x: (x - x.detach()).abs() + torch.relu(x - x) + (x - x).clamp(min=0), (3,))


@scenario
def gradient_passes_a_cast():
    def fn(x):
        y = x.to(torch.float64) * 2
        return y.to(torch.float32) * x
    gradients(fn, (3,))


@scenario
def gradient_dtypes():
    x, y = ramp(3, grad=True), ramp(3, start=1, dtype=torch.float64, grad=True)
    f, _ = compiled(lambda a, b: a * b, "aot_eager")
    out = f(x, y)
    out.sum().backward()
    tell("kinds", [t.dtype == torch.float64 for t in (out, x.grad, y.grad)])
    tell("x", x.grad)


@scenario
def only_what_requires_grad():
    f, _ = compiled(lambda a, b: a * b + b, "aot_eager")
    a, b = ramp(3, grad=True), ramp(3, start=1)
    f(a, b).sum().backward()
    tell("a", a.grad)
    tell("b_is_none", b.grad is None)


@scenario
def accumulates_over_calls():
    f, c = compiled(lambda w, x: (w * x).sum(), "aot_eager")
    w = ramp(3, grad=True)
    for i in range(3):
        f(w, ramp(3, start=i)).backward()
    tell("w", w.grad)
    tell("frames", c.frames)


@scenario
def backward_twice():
    f, _ = compiled(lambda x: (x * x).sin(), "eager")
    x = ramp(3, grad=True)
    loss = f(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    tell("grad", x.grad)
    tell("text", error_of(lambda: loss.backward())[1].split(" (")[0])


@scenario
def gradient_without_history():
    tell("text", error_of(lambda: ramp(3).sum().backward())[1])


@scenario
def backward_of_many_elements():
    tell("text", error_of(lambda: (ramp(3, grad=True) * 2).backward())[1])


@scenario
def input_that_does_not_matter():
    x, y = ramp(3, grad=True), ramp(3, start=1, grad=True)
    out = (x * 2).sum()
    text = error_of(lambda: torch.autograd.grad(out, [x, y], retain_graph=True))[1]
    tell("text", text[text.index(" appears"):].split(".")[0])
    g = torch.autograd.grad(out, [x, y], allow_unused=True)
    tell("x", g[0])
    tell("y_is_none", g[1] is None)


@scenario
def second_gradient():
    x = ramp(3, grad=True)
    f, _ = compiled(lambda x: x * x * x, "eager")
    g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    h, = torch.autograd.grad((g * g).sum(), x)
    tell("first", g)
    tell("second", h)


@scenario
def gradient_taken_inside():
    def fn(x):
        y = x * x * x
        g, = torch.autograd.grad(y.sum(), x)
        return g * 2
    f, _ = compiled(fn, "eager")
    tell("out", f(ramp(3, grad=True)))
    x = ramp(3, grad=True)
    f(x)
    tell("grad_is_none", x.grad is None)


@scenario
def backward_inside():
    def fn(w, x):
        (w * x).sum().backward()
        return w.grad * 2
    f, _ = compiled(fn, "eager")
    w = ramp(3, grad=True)
    tell("out", f(w, ramp(3, start=1)))
    tell("again", f(w, ramp(3, start=1)))
    tell("grad", w.grad)


@scenario
def results_of_which_one_is_integer():
    def fn(x):
        v, i = torch.max(x, 1)
        return v * 2, i
    f, _ = compiled(fn, "aot_eager")
    x = ramp(2, 3, grad=True)
    v, i = f(x)
    v.sum().backward()
    tell("i", i)
    tell("flags", [v.requires_grad, i.requires_grad])
    tell("grad", x.grad)
