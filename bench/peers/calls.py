"""bench/peers/calls.py: torch.compile's figures for the functions of bench/calls.c, beside ours.

    make bench-peers-calls      runs build/bench/calls, then this with a Python that has PyTorch (PYTHON=...; else a venv is made)

Both sides time the same functions on ten float32 elements, one thread, medians of 15 samples. Where PyTorch is missing only our figures
are printed. This is for numbers: nothing here can fail a build."""
import json
import statistics
import sys
import time

SAMPLES = 15
ELEMENTS = 10


def median_ns(fn, target=0.02):
    """Median over samples of one call, each sample long enough that the clock does not matter."""
    for _ in range(20):
        fn()
    n = 1
    while True:
        start = time.perf_counter()
        for _ in range(n):
            fn()
        if time.perf_counter() - start > target:
            break
        n *= 2
    samples = []
    for _ in range(SAMPLES):
        start = time.perf_counter_ns()
        for _ in range(n):
            fn()
        samples.append((time.perf_counter_ns() - start) / n)
    return statistics.median(samples)


def small(x):
    import torch
    return torch.relu(x + 1)


def total(*tensors):
    out = tensors[0]
    for t in tensors[1:]:
        out = out + t
    return out


def branch(x):
    y = x + 1
    return y * 2 if y.sum() > 0 else y * 3


def make_chain(operators, broken):
    import torch

    def chain(x):
        y = x
        for i in range(operators):
            y = y * 0.5 if i % 2 else y + x
        if broken:
            torch._dynamo.graph_break()
        return y + 1
    return chain


def chain_ns(broken, operators):
    import torch
    torch._dynamo.reset()
    f, x = torch.compile(make_chain(operators, broken)), torch.rand(ELEMENTS)
    return median_ns(lambda: f(x))


def miss_ns():
    """A call that eight entries refuse and that runs as it is written, less the plain call."""
    import torch
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 8
    f = torch.compile(small, dynamic=False)
    for i in range(9):
        f(torch.rand(ELEMENTS + i + 1))
    x = torch.rand(ELEMENTS)
    return median_ns(lambda: f(x)) - median_ns(lambda: small(x))


def cold_ns():
    import torch
    times = []
    for _ in range(3):
        torch._dynamo.reset()
        f, x = torch.compile(small), torch.rand(ELEMENTS)
        start = time.perf_counter_ns()
        f(x)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times)


def capture_ns():
    """Tracing alone, an operator: a backend that compiles nothing."""
    import torch

    def first(operators):
        best = float("inf")
        for _ in range(3):
            torch._dynamo.reset()
            f, x = torch.compile(make_chain(operators, False), backend=lambda gm, inputs: gm.forward), torch.rand(ELEMENTS)
            start = time.perf_counter_ns()
            f(x)
            best = min(best, time.perf_counter_ns() - start)
        return best
    return (first(300) - first(100)) / 200


def peers():
    """Name of a row of bench/calls.c -> a function that measures it."""
    import torch
    torch.set_num_threads(1)
    torch._dynamo.config.cache_size_limit = 64
    t = [torch.rand(ELEMENTS) for _ in range(16)]
    compiled = {n: torch.compile(total) for n in (4, 16)}
    one, branches = torch.compile(small), torch.compile(branch)
    with_break = lambda: (chain_ns(True, 96) - chain_ns(True, 32) - (chain_ns(False, 96) - chain_ns(False, 32))) / 64
    return {
        "guarded call, 1 tensor": lambda: median_ns(lambda: one(t[0])),
        "guarded call, 4 tensors": lambda: median_ns(lambda: compiled[4](*t[:4])),
        "guarded call, 16 tensors": lambda: median_ns(lambda: compiled[16](*t)),
        "a branch, outcome known, with its kernels": lambda: median_ns(lambda: branches(t[0])),
        "miss among 8 entries, over the plain call": miss_ns,
        "replay at a break, an operator": with_break,
        "capture, an operator": capture_ns,
        "cold compile of relu(x + 1)": cold_ns,
    }


def show(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def main():
    with open(sys.argv[1]) as f:
        ours = json.load(f)
    try:
        import torch
        measure, title = peers(), f"torch.compile {torch.__version__}"
    except ImportError:
        measure, title = {}, "torch.compile (PyTorch is not installed)"
    print(f"{'what a call costs, 10 elements':44} {'dync':>10} {title:>28} {'ratio':>8}  goal")
    for row in ours:
        peer = None
        try:
            peer = measure[row["name"]]() if row["name"] in measure else None
        except Exception as error:                     # a peer without a C compiler, or of another version: its column stays empty
            print(f"    {row['name']}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
        ratio = f"{peer / row['median_ns']:.0f}x" if peer and peer > 0 and row["median_ns"] > 0 else "-"
        goal = f"<= {show(row['goal_ns'])}" if row["goal_ns"] else "-"
        print(f"{row['name']:44} {show(row['median_ns']):>10} {show(peer) if peer is not None else '-':>28} {ratio:>8}  {goal}", flush=True)


if __name__ == "__main__":
    main()
