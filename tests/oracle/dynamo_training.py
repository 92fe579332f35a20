"""Training steps: optimizers, batch norm, clipping, learning rates."""
import torch
from dynamo import compiled, ramp, scenario, tell


def trained(make, steps=4, **more):
    """Weights of a layer after some steps; the forward compiled, the step eager."""
    net = torch.nn.Linear(3, 2)
    with torch.no_grad():
        net.weight.copy_(ramp(2, 3))
        net.bias.copy_(ramp(2, start=1))
    f, c = compiled(lambda x: (net(x) ** 2).sum(), "aot_eager")
    opt = make(net.parameters())
    for i in range(steps):
        opt.zero_grad()
        f(ramp(4, 3, start=i)).backward()
        if "clip" in more:
            tell(f"norm{i}", torch.nn.utils.clip_grad_norm_(net.parameters(), more["clip"]))
        if "lr" in more:
            opt.param_groups[0]["lr"] = more["lr"](i)
        opt.step()
    tell("weight", net.weight)
    tell("bias", net.bias)
    tell("frames", c.frames)


@scenario
def sgd():
    trained(lambda p: torch.optim.SGD(p, lr=0.01))


@scenario
def sgd_with_momentum():
    trained(lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9))


@scenario
def sgd_nesterov_with_decay():
    trained(lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1))


@scenario
def adam():
    trained(lambda p: torch.optim.Adam(p, lr=0.05))


@scenario
def adam_with_decay():
    trained(lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=0.1, betas=(0.8, 0.9), eps=1e-6))


@scenario
def adamw():
    trained(lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.1))


@scenario
def clipped_gradients():
    trained(lambda p: torch.optim.SGD(p, lr=0.1), clip=1.0)


@scenario
def learning_rate_changes():
    trained(lambda p: torch.optim.Adam(p, lr=0.05), lr=lambda i: 0.05 / (i + 1))


@scenario
def batch_norm_trains_and_does_not():
    net = torch.nn.BatchNorm2d(2)
    f, c = compiled(net, "aot_eager")
    x = ramp(2, 2, 1, 2)
    for _ in range(3):
        out = f(x)
    tell("train", out)
    tell("mean", net.running_mean)
    tell("var", net.running_var)
    net.eval()
    tell("eval", f(x))
    tell("frames", c.frames)


@scenario
def frozen_layer():
    a, b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
    with torch.no_grad():
        for p, s in zip([*a.parameters(), *b.parameters()], range(4)):
            p.copy_(ramp(*p.shape, start=s))
    for p in a.parameters():
        p.requires_grad_(False)
    f, c = compiled(lambda x: b(torch.tanh(a(x))).sum(), "aot_eager")
    f(ramp(2, 3)).backward()
    tell("frozen", a.weight.grad is None)
    tell("grad", b.weight.grad)
    for p in a.parameters():
        p.requires_grad_(True)
    f(ramp(2, 3)).backward()
    tell("thawed", a.weight.grad)
    tell("frames", c.frames)


@scenario
def tied_weights():
    w = ramp(3, 3, grad=True)
    f, _ = compiled(lambda x: torch.tanh(torch.tanh(x @ w) @ w.t()).sum(), "aot_eager")
    f(ramp(2, 3)).backward()
    tell("grad", w.grad)


@scenario
def parameter_without_gradient_stays():
    a, b = ramp(3, grad=True), ramp(3, start=1, grad=True)
    opt = torch.optim.Adam([a, b], lr=0.1)
    f, _ = compiled(lambda x: (a * x).sum(), "aot_eager")
    for i in range(2):
        opt.zero_grad()
        f(ramp(3, start=i)).backward()
        opt.step()
    tell("a", a)
    tell("b", b)
