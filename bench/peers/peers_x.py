"""bench/peers/peers.py: dync beside PyTorch, ONNX Runtime and numexpr: the same work in one process, samples of each taken in turn.

    make bench-peers                              everything (an hour: PyTorch compiles each row in four ways)
    make bench-peers ARGS="--quick"               eager and compiled only, one thread, short samples
    make bench-peers ARGS="--quick --modes=eager sgemm linear"     rows whose group or name contains one of the words

A wrong result (against PyTorch eager) makes the row fail and is printed as such. The ratio is the least time of PyTorch's best mode over dync's least time:
other programs on the machine only ever add. Medians are in the JSON."""
import argparse
import ctypes
import io
import json
import math
import os
import platform
import signal
import statistics
import sys
import time
import warnings

import numpy
import torch

import chart
import rows as row_table

DTYPES = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.bfloat16: 3, torch.int64: 4, torch.int32: 5, torch.int16: 6, torch.int8: 7,
          torch.uint8: 8, torch.bool: 9}
MODES = {"eager": None, "compile": {}, "max-autotune": {"mode": "max-autotune"}, "freezing": {"options": {"freezing": True}},
         "max-autotune+freezing": {"options": {"freezing": True, "max_autotune": True}}}
LIVING = ("eager", "compile", "dynamic")    # the ways of rows that are programs
OTHERS = ("onnxruntime", "numexpr")


class Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("ndim", ctypes.c_int64), ("shape", ctypes.c_int64 * 8),
                ("stride", ctypes.c_int64 * 8), ("dtype", ctypes.c_int64)]


def array(t, name=b""):
    pad = [0] * (8 - t.dim())
    return Array(name, t.data_ptr(), t.dim(), (ctypes.c_int64 * 8)(*t.shape, *pad), (ctypes.c_int64 * 8)(*t.stride(), *pad), DTYPES[t.dtype])


WARM = int(os.environ.get('WARM', 1))


class Dync:
    """The library of rows.c with one row open."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.peer_time.restype = self.lib.peer_compile.restype = ctypes.c_double
        self.lib.peer_time.argtypes = [ctypes.c_long]
        self.lib.peer_error.restype = ctypes.c_char_p

    def open(self, row, inputs, module, threads):
        state = [(n, t.detach()) for n, t in module.state_dict().items() if t.dim() > 0] if module is not None else []
        self.kept = [t.clone() for _, t in state] + list(inputs)
        numbers = (ctypes.c_int64 * max(1, len(row.numbers)))(*row.numbers)
        ins = (Array * max(1, len(inputs)))(*[array(t) for t in inputs])
        params = (Array * max(1, len(state)))(*[array(t, n.encode()) for t, (n, _) in zip(self.kept, state)])
        self.numbers = numbers
        if self.lib.peer_open(row.kind.encode(), numbers, len(row.numbers), ins, len(inputs), params, len(state), threads):
            raise RuntimeError("dync: " + self.error())

    def error(self):
        return self.lib.peer_error().decode()

    def read(self, which):
        a = Array()
        if not (self.lib.peer_param(which.encode(), ctypes.byref(a)) if isinstance(which, str) else self.lib.peer_result(which, ctypes.byref(a))):
            raise RuntimeError("dync: " + self.error())
        shape = tuple(a.shape[:a.ndim])
        dtype = next(t for t, number in DTYPES.items() if number == a.dtype)
        data = ctypes.string_at(a.data, math.prod(shape) * dtype.itemsize)
        return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)

    def call(self):
        n = self.lib.peer_call()
        if n < 0:
            raise RuntimeError("dync: " + self.error())
        return [self.read(i) for i in range(n)]


def distance(got, want):
    """The greatest difference over the greatest number."""
    if tuple(got.shape) != tuple(want.shape):
        return math.inf
    if not want.dtype.is_floating_point:
        return (got.long() != want.long()).double().mean().item() if want.numel() else 0.0
    got, want = got.double(), want.double()
    return ((got - want).abs().max() / (want.abs().max() + 1e-6)).item() if want.numel() else 0.0


class Late(Exception):
    pass


def late(*_):
    raise Late("took too long to compile")


def limited(seconds, fn):
    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        return fn()
    finally:
        signal.alarm(0)


def trainer(row, module, compile_options):
    """A training step of a copy of the module, as PyTorch's users write it."""
    import copy
    m = copy.deepcopy(module).train()
    error = lambda x, want: row.loss(m(x), want)
    if compile_options is not None:
        error = torch.compile(error, dynamic=False, **compile_options)
    optimizer = torch.optim.AdamW(m.parameters(), lr=1e-3, fused=True)

    def step(x, want):
        loss = error(x, want)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()
    return step, m


def program_call(row, module, inputs, compile_options):
    """What a program compiles learns sizes by itself ("compile"), or is told that they change ("dynamic")."""
    compiled = (lambda f: f) if compile_options is None else (lambda f: torch.compile(f, **compile_options))
    run = row.program(module, compiled)
    return (lambda: run(*inputs)), None


def torch_call(row, module, fn, inputs, compile_options):
    if row.program:
        return program_call(row, module, inputs, compile_options)
    if row.loss:
        step, m = trainer(row, module, compile_options)
        return (lambda: step(*inputs)), m
    f = fn if compile_options is None else torch.compile(fn, dynamic=False, **compile_options)
    return (lambda: f(*inputs)), None


def onnx_call(module, inputs):
    import onnxruntime
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, tuple(inputs), file, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    feed = {i.name: t.contiguous().numpy() for i, t in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feed)


def numexpr_call(expr, inputs):
    import numexpr
    numexpr.set_num_threads(torch.get_num_threads())
    a, b = (t.numpy() for t in inputs)
    return lambda: numexpr.evaluate(expr, {"a": a, "b": b})


def python_time(call):
    def timed(n):
        start = time.perf_counter_ns()
        for _ in range(n):
            call()
        return time.perf_counter_ns() - start
    return timed


def measure(calls, samples, sample_ns, threads):
    """Samples of each in turn; name -> (least, median) nanoseconds of one call."""
    repeats, times = {}, {name: [] for name in calls}
    for name, timed in calls.items():
        n, t = 1, timed(1)
        while t < sample_ns / 4 and n < 1 << 24:
            n = min(n * 16, max(n * 2, int(n * sample_ns / max(t, 1))))
            t = timed(n)
        repeats[name] = max(1, int(n * sample_ns / max(t, 1)))
    for _ in range(samples):
        for name, timed in calls.items():
            if threads > 1:
                time.sleep(0.03)       # until the other library's workers sleep: those of OpenMP spin for ten milliseconds
            timed(1 + repeats[name] * (WARM if threads > 1 else 1) // 4)
            times[name].append(timed(repeats[name]) / repeats[name])
    return {name: (min(t), statistics.median(t)) for name, t in times.items()}


def check(row, dync, module, inputs, call, trained):
    """The error of dync's result; of a training row that of three losses and the parameters after them."""
    worst = 0.0
    for _ in range(3 if row.loss else 1):
        got, want = dync.call(), call()
        want = list(want) if isinstance(want, (tuple, list)) else [want]
        if len(got) != len(want):
            return math.inf
        worst = max([worst] + [distance(g, w.detach()) for g, w in zip(got, want)])
    if row.loss:                      # Adam's first steps go by signs of gradients: where one is nearly 0, the step is as large as the rate
        off = [((dync.read(name) - t.detach()).abs() > 1e-4).double().mean().item() for name, t in trained.named_parameters()]
        worst = worst if max(off) < 0.02 else math.inf
    return worst


def compile_times(row, dync, module, fn, inputs, args):
    """Cold: nothing of it was ever compiled. Warm: PyTorch finds the row in its caches on disk; dync compiles anew, it needs none."""
    from torch._inductor.utils import fresh_cache

    def once():
        torch._dynamo.reset()
        call, _ = torch_call(row, module, fn, inputs, {})
        start = time.perf_counter_ns()
        call()
        return time.perf_counter_ns() - start
    ours = sorted(dync.lib.peer_compile() for _ in range(args.samples))
    result = {"dync": (ours[0], statistics.median(ours))}
    warm = None
    with fresh_cache():
        cold = limited(args.limit, once)
        warm = limited(args.limit, once)
    return {"cold": {**result, "compile": (cold, cold)}, "warm": {**result, "compile": (warm, warm)}}


def run_row(row, dync, threads, args):
    torch.manual_seed(1)
    torch._dynamo.reset()
    module, fn, inputs = row.build()
    if module is not None:
        module.train(bool(row.loss))
    with torch.set_grad_enabled(bool(row.loss)):
        dync.open(row, inputs, module, threads)
        try:
            eager, trained = torch_call(row, module, fn, inputs, None)
            error = check(row, dync, module, inputs, eager, trained)
            notes = []
            if row.compiles:
                found = compile_times(row, dync, module, fn, inputs, args)
                return [dict(name=f"{row.name}, {k}", error=error, notes=notes, times=v) for k, v in found.items()]
            calls = {"dync": dync.lib.peer_time}
            for mode in [m for m in LIVING if m in args.modes or m == "dynamic"] if row.program else args.modes:
                if row.loss and "freezing" in mode:
                    continue
                try:
                    call = eager if mode == "eager" else torch_call(row, module, fn, inputs, {"dynamic": True} if mode == "dynamic" else MODES[mode])[0]
                    limited(args.limit, call)
                    call()
                    calls[mode] = python_time(call)
                except Exception as e:                  # a mode that cannot compile the row does not compete
                    notes.append(f"{mode}: {type(e).__name__}: {str(e).splitlines()[0][:100] if str(e) else ''}")
            for other, wanted in (("numexpr", row.expr), ("onnxruntime", module is not None and not row.loss and not row.program)):
                if wanted and other in args.others:
                    try:
                        call = numexpr_call(row.expr, inputs) if other == "numexpr" else onnx_call(module, inputs)
                        got, want = call(), eager()
                        if distance(torch.from_numpy(numpy.asarray(got if other == "numexpr" else got[0])), want) > row.tol:
                            raise ValueError("another result")
                        calls[other] = python_time(call)
                    except Exception as e:
                        notes.append(f"{other}: {type(e).__name__}: {str(e).splitlines()[0][:100] if str(e) else ''}")
            return [dict(name=row.name, error=error, notes=notes, times=measure(calls, args.samples, args.sample_ms * 1e6, threads))]
        finally:
            dync.lib.peer_close()


def show(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def cpu():
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor()
    return f"{name}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}"


def print_summary(results, threads):
    print(f"\ngeometric means of PyTorch's best over dync, {threads} thread{'s' if threads > 1 else ''}")
    mine = [r for r in results if r["threads"] == threads and r["ratio"]]
    for group in dict.fromkeys(r["group"] for r in mine):
        ratios = [r["ratio"] for r in mine if r["group"] == group]
        print(f"  {group:12} {mean(ratios):8.2f}x   of {len(ratios)} rows, least {min(ratios):.2f}x")
    ratios = [r["ratio"] for r in mine]
    if ratios:
        print(f"  {'all rows':12} {mean(ratios):8.2f}x   of {len(ratios)} rows, {sum(r < 1 for r in ratios)} below 1x")


def save(results, args):
    """After every row: a run that is stopped leaves what it measured."""
    report = dict(machine=cpu(), torch=torch.__version__, command=" ".join(["peers.py"] + sys.argv[2:]), rows=results)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(report, f, indent=1)
    if args.svg:
        chart.write(args.svg, report)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lib")
    parser.add_argument("words", nargs="*", help="only rows whose group or name contains one of them; a group is matched whole")
    parser.add_argument("--quick", action="store_true", help="eager and compile only, one thread, short samples")
    parser.add_argument("--modes", type=lambda s: [m for m in MODES if m in s.split(",")], default=None, help=",".join(MODES))
    parser.add_argument("--others", type=lambda s: [m for m in OTHERS if m in s.split(",")], default=list(OTHERS), help=",".join(OTHERS))
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=None)
    parser.add_argument("--samples", type=int, default=None)
    parser.add_argument("--sample-ms", type=float, default=None)
    parser.add_argument("--limit", type=int, default=None, help="seconds that one compilation may take")
    parser.add_argument("--json")
    parser.add_argument("--svg")
    parser.add_argument("--list", action="store_true", help="names the rows")
    args = parser.parse_intermixed_args()
    args.modes = args.modes or (["eager", "compile"] if args.quick else list(MODES))
    args.threads = args.threads or ([1] if args.quick else [1, 2])
    args.samples = args.samples or (5 if args.quick else 11)
    args.sample_ms = args.sample_ms or (2 if args.quick else 10)
    args.limit = args.limit or (90 if args.quick else 300)
    groups = {r.group for r in row_table.table()}
    chosen = [r for r in row_table.table() if not args.words or any(r.group == w if w in groups else w in r.name for w in args.words)]
    if args.list:
        for r in chosen:
            print(f"{r.group:12} {r.name}")
        return 0
    dync, results, wrong = Dync(args.lib), [], 0
    columns = args.modes + ["dynamic"] * any(r.program for r in chosen) + args.others
    for threads in args.threads:
        torch.set_num_threads(threads)
        print(f"\n{threads} thread{'s' if threads > 1 else ''}; PyTorch {torch.__version__}; {cpu()}")
        print(f"{'':52} {'dync':>9} {'best':>9} {'ratio':>8}  " + " ".join(f"{c:>12}" for c in columns))
        for row in chosen:
            try:
                found = run_row(row, dync, threads, args)
            except Exception as e:
                print(f"{row.name:52} FAILED {type(e).__name__}: {str(e).splitlines()[0][:120] if str(e) else ''}", flush=True)
                wrong += 1
                continue
            for r in found:
                t = {k: v[0] for k, v in r["times"].items()}
                peers = {k: v for k, v in t.items() if k in MODES or k in LIVING}
                best = min(peers, key=peers.get) if peers else None
                bad = not r["error"] <= row.tol
                wrong += bad
                ratio = peers[best] / t["dync"] if best and not bad else None
                results.append(dict(group=row.group, name=r["name"], threads=threads, error=r["error"], wrong=bad, best=best, ratio=ratio, notes=r["notes"],
                                    least=t, median={k: v[1] for k, v in r["times"].items()}))
                text = f"{ratio:7.2f}x" if ratio else "      -"
                print(f"{r['name']:52} {show(t['dync']):>9} {show(peers[best]) if best else '-':>9} {text:>8}{'' if not ratio or ratio >= 1 else '!':1} "
                      + " ".join(f"{show(t[c]) if c in t else '-':>12}" for c in columns) + (f"  WRONG by {r['error']:.2g}" if bad else ""), flush=True)
            save(results, args)
        print_summary(results, threads)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
