"""Grad modes: how many operators a graph has, what requires grad, what is left behind."""
import torch
from dynamo import compiled, ramp, scenario, tell


def run(name, fn, grad_mode=True):
    f, c = compiled(fn)
    a, b = ramp(3, grad=True), ramp(3, start=1, grad=True)
    with torch.set_grad_enabled(grad_mode):
        out = f(a, b)
    c.tell("_" + name)
    tell("out_" + name, out)
    tell("grad_" + name, out.requires_grad)
    torch._dynamo.reset()


@scenario
def region_off_inside():
    def fn(a, b):
        x = a + 1
        with torch.no_grad():
            x = x + b
        return x + 2
    run("on", fn)
    run("off", fn, False)


@scenario
def region_on_inside():
    def fn(a, b):
        x = a + 1
        with torch.enable_grad():
            x = x + b
        return x + 2
    run("on", fn)
    run("off", fn, False)


@scenario
def region_on_that_asks():
    def fn(a, b):
        x = a + 1
        with torch.set_grad_enabled(True):
            if torch.is_grad_enabled():
                x = x + b
        return x + 2
    run("on", fn)
    run("off", fn, False)


@scenario
def regions_in_each_other():
    def fn(a, b):
        with torch.no_grad():
            x = a * 2
            with torch.enable_grad():
                y = b * 3
            z = x + y
        return x + y + z
    run("on", fn)
    run("off", fn, False)


@scenario
def break_inside_a_region():
    def fn(a, b):
        x = a + b
        with torch.no_grad():
            x = x + 1
            torch._dynamo.graph_break()
            x = x + 2
        return x + 3
    run("on", fn)
    run("off", fn, False)


@scenario
def two_breaks_inside_a_region():
    def fn(a, b):
        x = a + b
        with torch.no_grad():
            x = x + 1
            torch._dynamo.graph_break()
            x = x + 2
            torch._dynamo.graph_break()
            x = x + 3
        return x + 4
    run("on", fn)


@scenario
def break_inside_three_regions():
    def fn(a, b):
        x = a + b
        with torch.no_grad():
            x = x + 1
            with torch.no_grad():
                x = x + 1
                with torch.enable_grad():
                    torch._dynamo.graph_break()
                    x = x + 2 * b
                x = x + 3
        return x + 4 * b
    run("on", fn)


@scenario
def mode_left_off():
    def fn(a, b):
        x = a * b
        torch.set_grad_enabled(False)
        return x + x * 2
    f, c = compiled(fn)
    a, b = ramp(3, grad=True), ramp(3, start=1)
    for i in range(2):
        torch.set_grad_enabled(True)
        out = f(a, b)
        tell(f"mode{i}", torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    tell("grad", out.requires_grad)
    c.tell()


@scenario
def mode_left_off_then_a_break():
    def fn(a, b):
        x = a * b
        torch.set_grad_enabled(False)
        y = x + 1
        torch._dynamo.graph_break()
        y = y * x
        torch.set_grad_enabled(True)
        return y + x
    run("on", fn)
    tell("mode", torch.is_grad_enabled())


@scenario
def gradient_stops_at_detach():
    def fn(a, b):
        d = (a * b).detach()
        return (a * d).sum()
    for inner in ("eager", "aot_eager"):
        f, _ = compiled(fn, inner)
        a, b = ramp(3, grad=True), ramp(3, start=1, grad=True)
        f(a, b).backward()
        tell("a", a.grad) if inner == "eager" else None
        tell("b_is_none", b.grad is None) if inner == "eager" else None
        torch._dynamo.reset()


@scenario
def what_requires_grad():
    def fn(a, b):
        p = a * 2
        with torch.no_grad():
            q = a * 3
        return p, q, p.detach(), b + 1, (a > 0), p.to(torch.float64)
    f, _ = compiled(fn, "aot_eager")
    tell("flags", [t.requires_grad for t in f(ramp(3, grad=True), ramp(3))])
    with torch.no_grad():
        tell("off", [t.requires_grad for t in f(ramp(3, grad=True), ramp(3))])


@scenario
def weight_updated_in_a_region():
    def fn(w, x):
        loss = (w * x).sum()
        with torch.no_grad():
            w.mul_(0.5)
            w.add_(x)
        return loss
    f, c = compiled(fn, "aot_eager")
    w = ramp(3, grad=True)
    tell("loss0", f(w, ramp(3, start=1)))
    tell("loss1", f(w, ramp(3, start=2)))
    tell("w", w)
    tell("leaf", w.is_leaf)
    tell("frames", c.frames)


@scenario
def frame_without_grad():
    @torch.no_grad()
    def g(x):
        return x.sin()

    def fn(a, b):
        return g(a) * b
    run("on", fn)


@scenario
def region_with_a_branch():
    def fn(a, b):
        with torch.no_grad():
            if (a * b).sum() > 0:
                return a + 1
        return b * 2
    run("on", fn)


@scenario
def leaf_made_inside():
    def fn(x):
        w = torch.nn.Parameter(torch.ones(3))
        y = (w * x).sum()
        return y, w
    f, c = compiled(fn)
    y, w = f(ramp(3))
    y.backward()
    tell("grad", w.grad)
    tell("leaf", w.is_leaf)
