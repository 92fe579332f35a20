"""What compiles again, and why: sizes, numbers, dtypes, layouts, grad mode, aliases, what stands
outside."""
import torch
from dynamo import Counter, compiled, ramp, reason_of, scenario, tell


def guarded(fn, *calls, **options):
    """frames after each call, and the reason of the last guard that failed."""
    reasons = []
    counter = Counter()
    f = torch._dynamo.optimize(counter, guard_fail_fn=lambda g: reasons.append(g[0]), **options)(fn)
    frames = []
    for args in calls:
        assert torch.allclose(fn(*args), f(*args))
        frames.append(counter.frames)
    tell("frames", frames)
    if reasons:
        tell("reason", reason_of(reasons[-1]))
    return counter


def product(x, y):
    return x * y


def pairs(*sizes):
    return [(ramp(n), ramp(n, start=1)) for n in sizes]


@scenario
def sizes_become_symbolic_with_the_second():
    guarded(product, *pairs(2, 3, 4, 4, 5, 5, 6))


@scenario
def sizes_stay_numbers():
    guarded(product, *pairs(2, 3, 4, 4, 5, 5, 6), dynamic=False)


@scenario
def sizes_are_symbolic_at_once():
    guarded(product, *pairs(2, 3, 4, 4, 5, 5, 6), dynamic=True)


@scenario
def sizes_0_and_1_are_compiled_for_themselves():
    guarded(lambda x: x * 2 + 1, *[(ramp(n),) for n in (4, 1, 0, 7, 1, 0)], dynamic=True)


@scenario
def one_size_of_two_changes():
    guarded(lambda x: x.sin(), *[(ramp(n, 3),) for n in (2, 3, 4)] + [(ramp(2, 4),), (ramp(5, 5),)])


@scenario
def sizes_that_were_equal_differ():
    guarded(lambda a, b: a.sum() + b.sum(), (ramp(2), ramp(2)), (ramp(2), ramp(3)), (ramp(4), ramp(4)),
            (ramp(4), ramp(5)), dynamic=True)


@scenario
def sizes_that_differed_are_equal():
    guarded(lambda a, b: a.sum() + b.sum(), (ramp(2), ramp(3)), (ramp(2), ramp(2)), (ramp(5), ramp(5)),
            dynamic=True)


@scenario
def product_whose_sizes_agree():
    guarded(lambda a, b: a @ b, (ramp(2, 3), ramp(3, 4)), (ramp(5, 6), ramp(6, 7)), (ramp(3, 2), ramp(2, 9)),
            dynamic=True)


@scenario
def bool_argument_and_sizes():
    def fn(x, y):
        return y * 2 if x else y * y
    guarded(fn, (True, ramp(2)), (False, ramp(2)), (True, ramp(3)), (True, ramp(4)), (True, ramp(5)))


@scenario
def tensor_and_number_take_turns():
    guarded(product, (ramp(2), ramp(2)), (ramp(3), 3), (ramp(4), ramp(4)), (ramp(5), 4), (ramp(6), ramp(6)))


@scenario
def numbers_by_value():
    guarded(product, (ramp(3), 3), (ramp(3), 4), (ramp(3), 3), (ramp(3), 4), dynamic=False)


@scenario
def integers_become_symbolic():
    guarded(product, (ramp(3), 3), (ramp(3), 4), (ramp(3), 5), (ramp(3), 6))


@scenario
def text_argument():
    def fn(x, mode):
        return x.sin() if mode == "sin" else x.cos()
    guarded(fn, (ramp(3), "sin"), (ramp(3), "cos"), (ramp(3), "sin"))


@scenario
def none_or_a_tensor():
    def fn(x, bias):
        return x * 2 if bias is None else x * 2 + bias
    guarded(fn, (ramp(3), None), (ramp(3), ramp(3)), (ramp(3), None))


@scenario
def list_gets_longer():
    def fn(items):
        total = items[0]
        for t in items[1:]:
            total = total + t
        return total
    guarded(fn, ([ramp(3)] * 2,), ([ramp(3), ramp(3, start=1)],),
            ([ramp(3), ramp(3, start=1), ramp(3, start=2)],), ([ramp(3), ramp(3, start=1)],))


@scenario
def dtype_changes():
    guarded(lambda x: x + x, (ramp(3),), (ramp(3, dtype=torch.float64),), (ramp(3),),
            (ramp(3, dtype=torch.float16),))


@scenario
def rank_changes():
    guarded(lambda x: x.sum() * 2, (ramp(6),), (ramp(2, 3),), (ramp(6),))


@scenario
def strides_change():
    guarded(lambda x: x * 2, (ramp(4, 3),), (ramp(3, 4).t(),), (ramp(4, 3),), dynamic=False)


@scenario
def size_mismatch_is_told():
    guarded(lambda x: x * 2, (ramp(3),), (ramp(5),), dynamic=False)


@scenario
def requires_grad_changes():
    guarded(lambda x: (x * 2).detach(), (ramp(3),), (ramp(3, grad=True),), (ramp(3),))


@scenario
def grad_mode_changes():
    def off(f, *args):
        with torch.no_grad():
            return f(*args)
    reasons = []
    counter = Counter()
    f = torch._dynamo.optimize(counter, guard_fail_fn=lambda g: reasons.append(g[0]))(lambda x: x.sin())
    frames = []
    for mode in (True, False, True, False):
        with torch.set_grad_enabled(mode):
            f(ramp(3, grad=True))
        frames.append(counter.frames)
    tell("frames", frames)
    tell("reason", reason_of(reasons[-1]))


@scenario
def written_argument_aliases_another():
    def fn(a, b, c):
        a.add_(b)
        return c + 1
    f, c = compiled(fn, fullgraph=True)
    x, y, z = ramp(3), ramp(3, start=1), ramp(3, start=2)
    tell("apart", f(x.clone(), y, z))
    tell("swapped", f(z.clone(), y, x))
    one = x.clone()
    tell("alias", f(one, y, one))
    tell("frames", c.frames)


@scenario
def argument_is_the_written_global():
    state = {"g": ramp(3, start=1), "h": ramp(3, start=2)}

    def fn(a):
        a.add_(state["g"])
        return state["h"] + 1
    f, c = compiled(fn, fullgraph=True)
    tell("apart", f(ramp(3)))
    tell("alias", f(state["h"]))
    tell("h", state["h"])
    tell("frames", c.frames)


@scenario
def views_that_overlap_and_do_not():
    def fn(a, b):
        a.mul_(2)
        return a + b
    f, c = compiled(fn, "aot_eager", fullgraph=True)
    base = ramp(6)
    tell("apart", f(base[:3], base[3:]))
    tell("base", base)
    base = ramp(6)
    tell("overlap", fn(base[:3], base[1:4])) # compiled, 2.15 reads b before a is written
    tell("base_after", base)


@scenario
def global_number_changes():
    state = {"n": 2}
    f, c = compiled(lambda x: x * state["n"], dynamic=False)
    frames = []
    for n in (2, 3, 2, 3):
        state["n"] = n
        assert torch.equal(f(ramp(3)), ramp(3) * n)
        frames.append(c.frames)
    tell("frames", frames)


@scenario
def global_tensor_is_replaced():
    state = {"t": ramp(3)}
    f, c = compiled(lambda x: x + state["t"])
    tell("one", f(ramp(3)))
    state["t"] = ramp(3, start=4)
    tell("two", f(ramp(3)))
    tell("frames", c.frames)


@scenario
def test_of_a_size_guards_its_outcome():
    def fn(x):
        return x * 2 if x.shape[0] < 5 else x + 10
    guarded(fn, *[(ramp(n),) for n in (2, 3, 4, 6, 7, 9)], dynamic=True)
