"""Control flow inside one graph, dtypes that operators promote to, random numbers."""
import torch
from dynamo import compiled, error_of, ramp, scenario, tell
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as hop_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


def run(fn, *args, told="out", grads=False, inner="eager"):
    f, c = compiled(fn, inner, fullgraph=True)
    out = f(*args)
    outs = out if isinstance(out, tuple) else (out,)
    for i, o in enumerate(outs):
        tell(f"{told}{i}", o)
    if grads:
        sum((o * o).sum() for o in outs).backward()
        for i, a in enumerate(args):
            if a.requires_grad:
                tell(f"grad{i}", a.grad)
    return c


@scenario
def cond_takes_one_way():
    def fn(x):
        return torch.cond(x.sum() > 0, lambda t: t.sin(), lambda t: t * 5, (x,))
    f, c = compiled(fn, fullgraph=True)
    tell("yes", f(ramp(3).abs()))
    tell("no", f(-ramp(3).abs()))
    tell("frames", c.frames)


@scenario
def cond_with_a_closure():
    w = ramp(3, start=2, grad=True)

    def fn(x):
        return torch.cond(x.sum() > 0, lambda t: t * w, lambda t: t - w, (x,))
    for name, x in [("yes", ramp(3).abs()), ("no", -ramp(3).abs())]:
        f, _ = compiled(fn, "aot_eager", fullgraph=True)
        x = x.detach().requires_grad_()
        out = f(x)
        (out * out).sum().backward()
        tell("out_" + name, out)
        tell("x_" + name, x.grad)
        tell("w_" + name, w.grad)
        w.grad = None


@scenario
def cond_in_cond():
    def fn(x):
        def inner(t):
            return torch.cond(t[0] > 0, lambda u: u + 1, lambda u: u - 1, (t,))
        return torch.cond(x.sum() > 0, inner, lambda t: t * 5, (x,))
    f, c = compiled(fn, fullgraph=True)
    tell("a", f(torch.tensor([1.0, 2.0])))
    tell("b", f(torch.tensor([-1.0, 2.0])))
    tell("c", f(torch.tensor([-1.0, -2.0])))
    tell("frames", c.frames)


@scenario
def cond_of_a_number():
    def fn(x, flag):
        return torch.cond(flag, lambda t: t + 1, lambda t: t * 5, (x,))
    f, c = compiled(fn)
    tell("yes", f(ramp(3), True))
    tell("no", f(ramp(3), False))
    tell("frames", c.frames)


@scenario
def cond_whose_ways_differ():
    def fn(x):
        return torch.cond(x.sum() > 0, lambda t: t[:2], lambda t: t, (x,))
    f, _ = compiled(fn, fullgraph=True, dynamic=False)
    tell("fails", error_of(lambda: f(ramp(3)))[0] != "")


@scenario
def cond_that_writes():
    def fn(x):
        return torch.cond(x.sum() > 0, lambda t: t.add_(1).clone(), lambda t: t.clone(), (x,))
    f, _ = compiled(fn, "aot_eager", fullgraph=True)
    tell("fails", error_of(lambda: f(ramp(3).requires_grad_()))[0] != "")


@scenario
def while_doubles():
    def fn(x):
        return while_loop(lambda i, t: t.sum() < 100, lambda i, t: (i + 1, t * 2),
                          (torch.zeros((), dtype=torch.int64), x))
    c = run(fn, ramp(3).abs())
    tell("frames", c.frames)


@scenario
def while_that_never_runs():
    def fn(x):
        return while_loop(lambda t: t.sum() < -100, lambda t: (t * 2,), (x,))
    run(fn, ramp(3))


@scenario
def scan_is_a_recurrence():
    def fn(h, xs, w):
        def step(h, x):
            h = torch.tanh(h * w + x)
            return h, h * 2
        return scan(step, h, xs)
    run(fn, ramp(2, grad=True), ramp(3, 2, start=1, grad=True), ramp(2, start=2, grad=True), grads=True,
        inner="aot_eager")


@scenario
def scan_backwards():
    def fn(h, xs):
        return scan(lambda h, x: (h * 0.5 + x, h + x), h, xs, reverse=True)
    run(fn, ramp(2), ramp(3, 2, start=1))


@scenario
def map_over_rows():
    def fn(xs, w):
        return hop_map(lambda x: (x * w).sin(), xs)
    run(fn, ramp(3, 2, grad=True), ramp(2, start=1), grads=True, inner="aot_eager")


@scenario
def running_product():
    def fn(xs):
        return associative_scan(lambda a, b: a * b, xs, 0, combine_mode="generic")
    run(fn, ramp(4, 2))


def promoted(name, fn):
    f, _ = compiled(fn, "aot_eager")
    out = f()
    tell(name, out)
    tell(name + "_type", str(out.dtype).replace("torch.", ""))


@scenario
def promotion():
    i, b, f32, f64 = ramp(3).to(torch.int64), ramp(3) > 0, ramp(3), ramp(3, dtype=torch.float64)
    one = torch.tensor(2.0, dtype=torch.float64)
    h, bf = ramp(3, dtype=torch.float16), ramp(3, dtype=torch.bfloat16)
    for name, fn in [("int_float", lambda: i + f32), ("int_number", lambda: i * 1.5), ("bools", lambda: b + b),
                     ("int_div", lambda: i / 2), ("floor_div", lambda: ramp(3).mul(4).to(torch.int64) // 3),
                     ("zero_dim_f64", lambda: f32 * one), ("f32_f64", lambda: f32 + f64), ("half_bf16", lambda: h + bf),
                     ("sum_int", lambda: i.to(torch.int32).sum()), ("sum_bool", lambda: b.sum()),
                     ("mean_half", lambda: h.mean()), ("where", lambda: torch.where(b, i, 2.5)),
                     ("remainder", lambda: ramp(3).mul(4).remainder(-3)), ("u8", lambda: i.to(torch.uint8) + 1),
                     ("neg_pow", lambda: f32 ** 3), ("int_pow", lambda: i ** 2), ("sqrt_int", lambda: i.abs().sqrt()),
                     ("cumsum_bool", lambda: b.cumsum(0)), ("max_mixed", lambda: torch.maximum(i, f32))]:
        promoted(name, fn)
        torch._dynamo.reset()


@scenario
def mean_of_integers():
    tell("text", error_of(lambda: ramp(3).to(torch.int64).mean())[1].split(".")[0].split(": ")[1])


@scenario
def random_numbers_differ_between_calls():
    f, c = compiled(lambda x: x + torch.rand(4))
    torch.manual_seed(1)
    a, b = f(ramp(4)), f(ramp(4))
    torch.manual_seed(1)
    again = f(ramp(4))
    tell("differ", not torch.equal(a, b))
    tell("again", torch.equal(a, again))
    torch.manual_seed(1)
    tell("as_eager", torch.equal(a, ramp(4) + torch.rand(4)))
    tell("frames", c.frames)


@scenario
def dropout_forward_and_backward_agree():
    f, _ = compiled(lambda x: torch.nn.functional.dropout(x, 0.5, True), "aot_eager")
    x = torch.ones(16, requires_grad=True)
    out = f(x)
    out.sum().backward()
    tell("agree", torch.equal(out, x.grad))
    tell("values", sorted(set(out.tolist())))
