"""Modules that change, limits, stances, marked dimensions."""
import logging

import torch
from dynamo import compiled, error_of, ramp, scenario, tell


@scenario
def dropout_trains_and_does_not():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = torch.nn.Dropout(0.5)
            self.linear = torch.nn.Linear(10, 1)

        def forward(self, x):
            return self.drop(self.linear(x))
    net = Net()
    f, c = compiled(net, fullgraph=True)
    for _ in range(20):
        net.eval()
        f(ramp(10))
        net.train()
        f(ramp(10))
    tell("frames", c.frames)


@scenario
def weight_is_replaced_or_written():
    net = torch.nn.Linear(3, 2)
    f, c = compiled(net)
    frames = []
    for step in range(3):
        with torch.no_grad():
            if step == 1:
                net.weight.copy_(ramp(2, 3))
            if step == 2:
                net.weight = torch.nn.Parameter(ramp(2, 3, start=1))
        assert torch.allclose(f(ramp(3)), net(ramp(3)))
        frames.append(c.frames)
    tell("frames", frames[:2])


@scenario
def limit_of_recompiles():
    def fn(x, n):
        return x + n
    with torch._dynamo.config.patch(recompile_limit=2):
        f, c = compiled(fn, dynamic=False)
        for n in range(6):
            tell(f"out{n}", f(ramp(3), n))
        tell("frames", c.frames)


@scenario
def entries_serve_behind_the_limit():
    def g(x, n):
        x = x + n
        return x + 2 if torch._dynamo.is_compiling() else x

    def fn(x, n):
        x = x + n
        if torch._dynamo.is_compiling():
            x = x + 1
        return g(x, n)
    with torch._dynamo.config.patch(recompile_limit=2):
        f, c = compiled(fn, dynamic=False)
        tell("out", torch.stack([f(torch.ones(1), n)[0] for n in (0, 1, 2, 3, 0, 1)]))
        tell("frames", c.frames)


@scenario
def reset_forgets():
    f, c = compiled(lambda x: x.sin())
    f(ramp(3))
    f(ramp(3))
    torch._dynamo.reset()
    f(ramp(3))
    tell("frames", c.frames)


@scenario
def stances():
    f, c = compiled(lambda x: x.sin() * (2 if torch._dynamo.is_compiling() else 1), dynamic=False)
    with torch.compiler.set_stance("force_eager"):
        tell("eager", f(torch.ones(1)))
    tell("compiled", f(torch.ones(1)))
    with torch.compiler.set_stance("eager_on_recompile"):
        tell("known", f(torch.ones(1)))
        tell("unknown", f(torch.ones(2)))
    with torch.compiler.set_stance("fail_on_recompile"):
        tell("still", f(torch.ones(1)))
        tell("fails", error_of(lambda: f(torch.ones(3)))[0] != "")
    tell("frames", c.frames)


@scenario
def error_on_recompile():
    with torch._dynamo.config.patch(error_on_recompile=True):
        f, c = compiled(lambda x: x.sin(), dynamic=False)
        f(ramp(3))
        tell("class", error_of(lambda: f(ramp(4)))[0])
        tell("frames", c.frames)


@scenario
def marked_dimension():
    f, c = compiled(lambda x: x * 2)
    for n in (3, 5, 9):
        x = ramp(n)
        torch._dynamo.mark_dynamic(x, 0)
        tell(f"out{n}", f(x))
    tell("frames", c.frames)


@scenario
def marked_dimension_that_must_be_3():
    f, c = compiled(lambda x: x + torch.ones(3))
    x = ramp(3)
    torch._dynamo.mark_dynamic(x, 0)
    logging.disable(logging.ERROR)
    tell("class", error_of(lambda: f(x))[0])
    logging.disable(logging.WARNING)
