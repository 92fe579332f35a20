"""PyTorch (eager with cuBLAS and cuDNN, torch.compile, reduce-overhead: recorded graphs, max-autotune) beside the rows of bench.c, on the same GPU.

peer.py dync.json [--json out.json] [--markdown out.md] [--seconds N] [--tiny]

Reads the figures that bench.c has written, measures the same work in the same way (least of five batches, device by events, host of putting calls into
an empty queue), and prints one table: the best way of each side and the ratio, above 1 where dync is faster. The lines for docs/figures.md go to --markdown.
Where there is no PyTorch, dync's figures alone. --tiny: small sizes on the CPU, to test this file."""
import argparse
import datetime
import json
import signal
import subprocess
import time

cli = argparse.ArgumentParser()
cli.add_argument("dync")
cli.add_argument("--json")
cli.add_argument("--markdown")
cli.add_argument("--seconds", type=float, default=200)
cli.add_argument("--tiny", action="store_true")
args = cli.parse_args()
try:
    import torch
except ImportError:
    torch = None
device = "cuda" if torch and torch.cuda.is_available() else "cpu"
there = torch is not None and (device == "cuda" or args.tiny)
K4, BIG = 4096, 65536


def size(full, tiny):
    return tiny if args.tiny else full


def build():
    """name -> (function, inputs); a function that trains has .trains."""
    f = torch.nn.functional

    def rand(dtype, *shape):
        return torch.randn(*shape, device=device, dtype=dtype)

    f32, bf16, f16 = torch.float32, torch.bfloat16, torch.float16
    rows = {}

    def row(name, fn, full, tiny, make):
        rows[name] = (fn, lambda: make(*size(full, tiny)))

    big, small = (BIG, K4), (8, 32)
    def one(dtype):
        return lambda a, b: [rand(dtype, a, b)]
    def two(dtype):
        return lambda a, b: [rand(dtype, a, b), rand(dtype, a, b)]
    def gelu_sigmoid(x, y):
        return f.gelu(x) * torch.sigmoid(y)
    def norm(x):
        return f.layer_norm(x, (x.shape[1],))
    row("x + y, f32, 1 GB each", lambda x, y: x + y, big, small, two(f32))
    row("gelu(x) * sigmoid(y), f32, 1 GB each", gelu_sigmoid, big, small, two(f32))
    row("gelu(x) * sigmoid(y), bf16, 0.5 GB each", gelu_sigmoid, big, small, two(bf16))
    row("sum, f32, 1 GB", lambda x: x.sum(), big, small, one(f32))
    row("sum, f32, 64 MB", lambda x: x.sum(), (K4, K4), small, one(f32))
    row("sum of rows, f32, 65536 x 4096", lambda x: x.sum(1), big, small, one(f32))
    row("sum of columns, f32, 65536 x 4096", lambda x: x.sum(0), big, small, one(f32))
    row("softmax, f32, 65536 x 4096", lambda x: torch.softmax(x, 1), big, small, one(f32))
    row("softmax, bf16, 65536 x 4096", lambda x: torch.softmax(x, 1), big, small, one(bf16))
    row("softmax, f32, 64 x 1048576", lambda x: torch.softmax(x, 1), (64, 1048576), (2, 256), one(f32))
    row("layer_norm, f32, 65536 x 4096", norm, big, small, one(f32))
    row("layer_norm, bf16, 65536 x 4096", norm, big, small, one(bf16))
    row("transpose, f32, 16384 x 16384", lambda x: x.t().contiguous(), (16384, 16384), small, one(f32))
    row("cumsum, f32, 4096 x 4096", lambda x: x.cumsum(1), (K4, K4), (2, 300), one(f32))
    row("cumsum, f32, 1 x 16777216", lambda x: x.cumsum(1), (1, K4 * K4), (1, 700), one(f32))
    def picked(a, b, c):
        return [rand(f32, a, b), torch.randint(0, a, (c,), device=device)]
    row("index_select, f32, 65536 of 50000 rows of 768", lambda x, i: x.index_select(0, i), (50000, 768, BIG), (9, 8, 20), picked)
    row("index_add, f32, 8192 to 50000 rows of 768", lambda x, i, y: x.index_add(0, i, y), (50000, 768, 8192), (9, 8, 20),
        lambda a, b, c: picked(a, b, c) + [rand(f32, c, b)])

    def product(dtype):
        return lambda a, b, c: [rand(dtype, a, b), rand(dtype, b, c)]
    def matmul(x, y):
        return x @ y
    for name, dtype, full in (("f32, 4096", f32, (K4,) * 3), ("bf16, 4096", bf16, (K4,) * 3), ("bf16, 8192", bf16, (8192,) * 3),
                              ("bf16, 4095 x 4097 x 4093", bf16, (4095, 4097, 4093)), ("bf16, 1000 x 3000 x 500", bf16, (1000, 3000, 500)),
                              ("f16, 4096", f16, (K4,) * 3)):
        row("matmul " + name, matmul, full, (7, 9, 11), product(dtype))
    row("matmul bf16, 64 x 1024 x 1024 x 1024", matmul, (64, 1024), (2, 8), lambda n, k: [rand(bf16, n, k, k), rand(bf16, n, k, k)])
    row("gelu(linear), bf16, 8192 x 4096 x 4096", lambda x, w, b: f.gelu(f.linear(x, w, b)), (8192, K4, K4), (8, 16, 8),
        lambda a, b, c: [rand(bf16, a, b), rand(bf16, c, b), rand(bf16, c)])
    row("matmul of f32 as bf16, 512 x 1024 x 1024", lambda x, w: x.to(bf16) @ w, (512, 1024, 1024), (17, 24, 20),
        lambda a, b, c: [rand(f32, a, b), rand(bf16, b, c)])
    row("matmul of relu(x + b), f32, 1024", lambda x, w, b: torch.relu(x + b) @ w, (1024,) * 3, (17, 24, 20),
        lambda a, b, c: [rand(f32, a, b), rand(f32, b, c), rand(f32, b)])
    def quantised(a, b, c):
        return [rand(bf16, a, b), torch.randint(-100, 100, (c, b), dtype=torch.int8, device=device), rand(bf16, c, 1)]
    for name, full, tiny in (("1 x 8192 x 8192", (1, 8192, 8192), (1, 128, 64)), ("128 x 4096 x 4096", (128, K4, K4), (9, 32, 24))):
        row("x @ (int8 weights * scale), bf16, " + name, lambda x, q, s: x @ (q.to(bf16) * s).t(), full, tiny, quantised)
    row("attention bf16, 1 query, 1 x 32 x 16384 x 128", f.scaled_dot_product_attention, (1, 32, 16384), (1, 1, 600),
        lambda a, b, c: [rand(bf16, a, b, n, 128) for n in (1, c, c)])
    def heads(*shape):
        return [rand(bf16, *shape) for _ in range(3)]
    row("attention bf16, 2 x 16 x 8192 x 128", f.scaled_dot_product_attention, (2, 16, 8192, 128), (1, 1, 32, 128), heads)
    row("attention bf16, causal, 2 x 16 x 8192 x 128", lambda q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True), (2, 16, 8192, 128),
        (1, 1, 32, 128), heads)

    def ten(x, y):
        for _ in range(5):
            x = torch.softmax(x @ y, 1)
        return x
    row("ten kernels, f32, 64 x 64", ten, (64, 64), (16, 16), two(f32))
    row("twenty kernels, f32, 64 x 64", lambda x, y: ten(ten(x, y), y), (64, 64), (16, 16), two(f32))
    for a, b, c, d in ((3, 64, 224, 27), (64, 64, 56, 13), (64, 256, 56, 11), (128, 128, 28, 13), (256, 256, 14, 13), (1024, 256, 14, 11),
                       (512, 512, 7, 13)):                   # the shapes of ResNet-50; d: ten times the stride and the window
        row(f"conv bf16, {a} to {b}, {d % 10} x {d % 10}{' by 2' if d // 10 == 2 else ''}, 32 x {c} x {c}",
            lambda x, w, d=d: f.conv2d(x, w, None, d // 10, d % 10 // 2), (32, a, b, c, d % 10), (2, 3, 8, 8, d % 10),
            lambda n, i, o, s, k: [rand(bf16, n, i, s, s), rand(bf16, o, i, k, k)])

    class Block(torch.nn.Module):
        def __init__(self, n, heads):
            super().__init__()
            self.n, self.heads = n, heads
            self.norm1, self.norm2 = torch.nn.LayerNorm(n), torch.nn.LayerNorm(n)
            self.qkv, self.out = torch.nn.Linear(n, 3 * n), torch.nn.Linear(n, n)
            self.up, self.down = torch.nn.Linear(n, 4 * n), torch.nn.Linear(4 * n, n)

        def forward(self, x):
            b, t, n = x.shape
            q, k, v = (h.reshape(b, t, self.heads, n // self.heads).transpose(1, 2) for h in self.qkv(self.norm1(x)).split(n, 2))
            y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, n))
            return x + self.down(f.gelu(self.up(self.norm2(x))))

    class Gpt(torch.nn.Module):
        def __init__(self, n, heads, words, layers=6):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Embedding(words, n), *(Block(n, heads) for _ in range(layers)), torch.nn.LayerNorm(n),
                                            torch.nn.Linear(n, words, bias=False))

        def forward(self, x):
            return self.body(x)

    class Basic(torch.nn.Module):
        def __init__(self, a, b):
            super().__init__()
            def conv(i, o, k, s):
                return torch.nn.Sequential(torch.nn.Conv2d(i, o, k, s, k // 2, bias=False), torch.nn.BatchNorm2d(o))
            self.conv1, self.conv2 = conv(a, b, 3, 1 if a == b else 2), conv(b, b, 3, 1)
            self.short = torch.nn.Identity() if a == b else conv(a, b, 1, 2)

        def forward(self, x):
            return torch.relu(self.conv2(torch.relu(self.conv1(x))) + self.short(x))

    def resnet(n):
        widths = [n, n, n, 2 * n, 2 * n, 4 * n, 4 * n, 8 * n, 8 * n]
        return torch.nn.Sequential(torch.nn.Conv2d(3, n, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(n), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, 1),
                                   *(Basic(a, b) for a, b in zip(widths, widths[1:])), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                   torch.nn.Linear(8 * n, 1000))

    class Lstm(torch.nn.Module):
        def __init__(self, n, layers):
            super().__init__()
            self.rnn = torch.nn.LSTM(n, n, layers)

        def forward(self, x):
            return self.rnn(x)[0]

    def model(name, make, full, tiny, dtype, shape):
        net = make(*size(full, tiny)).to(device=device, dtype=dtype).eval()
        rows[name] = (net, lambda: [rand(dtype, *shape)])

    def squares(y, want):
        return (y - want).square().mean()

    def words_loss(y, want):
        return f.cross_entropy(y.flatten(0, 1), want.flatten())

    def training(name, make, full, tiny, dtype, inputs, loss_of=squares):
        net = make(*size(full, tiny)).to(device=device, dtype=dtype)
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=device == "cuda")

        def trainer(compiled):
            def step(x, want):
                loss = loss_of(compiled(x), want)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                return loss
            return step
        trainer.net = net
        rows[name] = (trainer, inputs)

    shape = size((8, 1024, 1024), (1, 8, 16))
    for dtype, word in ((bf16, "bf16"), (f32, "f32")):
        model(f"transformer block {word}, 8 x 1024 x 1024, 16 heads", Block, (1024, 16), (16, 2), dtype, shape)
        training(f"its training step {word}, AdamW", Block, (1024, 16), (16, 2), dtype, lambda dtype=dtype: [rand(dtype, *shape) for _ in range(2)])
    gpt = size((768, 12, 50304), (16, 2, 32))
    training("GPT training step bf16, 6 layers of 768, 8 x 1024, AdamW", Gpt, gpt, gpt, bf16,
             lambda: [torch.randint(gpt[2], (8, size(1024, 8)), device=device) for _ in range(2)], words_loss)
    model("ResNet-18 f32, 32 x 224 x 224", resnet, (64,), (2,), f32, size((32, 3, 224, 224), (1, 3, 32, 32)))
    model("LSTM f32, 2 layers of 512, 128 steps of 32", Lstm, (512, 2), (4, 1), f32, size((128, 32, 512), (3, 2, 4)))
    return rows


def wait():
    if device == "cuda":
        torch.cuda.synchronize()


def measure(fn, x, budget):
    first = 0
    for _ in range(4):
        start = time.perf_counter()
        fn(*x)
        wait()
        first = time.perf_counter() - start
        if first > budget / 4 and _ > 0:                     # the first call compiles
            break
    calls = min(max(int(budget / 10 / max(first, 1e-7)), 1), 300)
    least = [float("inf")] * 2
    for _ in range(5):
        if device == "cuda":
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
        start = time.perf_counter()
        for _ in range(calls):
            fn(*x)
        host = (time.perf_counter() - start) * 1e6 / calls
        if device == "cuda":
            end.record()
        wait()
        total = begin.elapsed_time(end) * 1e3 / calls if device == "cuda" else (time.perf_counter() - start) * 1e6 / calls
        least = [min(least[0], total), min(least[1], host)]
    return {"device_us": least[0], "host_us": least[1]}


def ways_of(name):
    """max-autotune costs a minute of compiling: where the goals name it."""
    ways = ["eager", "compile", "reduce-overhead"]
    return ways + ["max-autotune"] if "block" in name or "training" in name or name == "matmul bf16, 4096" else ways


with open(args.dync) as file:
    ours = json.load(file)
rows = {}
for entry in ours["rows"]:
    rows.setdefault(entry["row"], {})["dync " + entry["way"]] = entry
if there:
    started = time.time()
    torch.manual_seed(1)
    theirs = build()
    # What the goals name first, so that a short budget leaves out the rest; ways from cheap to dear, so that every row has its eager figure.
    order = sorted(rows, key=lambda n: not any(word in n for word in ("block", "training", "ten kernels", "matmul bf16, 4096", "matmul bf16, 8192", "attention bf16, 2")))
    plan = [(n, "eager") for n in order] + sorted(((n, w) for n in order for w in ways_of(n)[1:]), key=lambda x: x[1] == "max-autotune")

    def over(*_):                                             # in the middle of compiling too: the table is printed
        raise TimeoutError("no time is left")
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, args.seconds)
    inputs_of = (None, None)
    for name, way in plan:
        if name not in theirs or time.time() - started > args.seconds:
            continue
        fn, make = theirs[name]
        if inputs_of[0] != name:
            inputs_of = (None, None)                          # the memory of the row before goes first
            inputs_of = (name, make())
        trains = hasattr(fn, "net")
        def compiled(f):
            torch._dynamo.reset()
            return torch.compile(f, **({} if way == "compile" else {"mode": way}))
        try:
            with torch.enable_grad() if trains else torch.no_grad():
                whole = fn(compiled(fn.net) if way != "eager" else fn.net) if trains else compiled(fn) if way != "eager" else fn
                rows[name]["torch " + way] = measure(whole, inputs_of[1], 0.005 if args.tiny else 0.4)
        except Exception as error:  # a mode that this PyTorch cannot do leaves its column empty
            print(f"torch {way}: {name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    signal.setitimer(signal.ITIMER_REAL, 0)
    inputs_of = None


def best(figures, side):
    mine = [(v["device_us"], v["host_us"], k.split(" ", 1)[1]) for k, v in figures.items() if k.startswith(side)]
    return min(mine, key=lambda t: max(t[0], t[1])) if mine else None


def driver():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip().split("\n")[0]
    except OSError:
        return "no nvidia-smi"


copy = ours.get("copy_rate", 0)
head = f"{driver()}, {datetime.date.today().isoformat()}, " + (f"PyTorch {torch.__version__}" if torch else "no PyTorch") + f", copy {copy * 1e-9:.0f} GB/s"
lines = ["", head, "", "| row | dync us (way), host | of | torch us (way), host | ratio |", "|---|---|---|---|---|"]
for name, figures in rows.items():
    one, two = best(figures, "dync"), best(figures, "torch")
    any_row = next(iter(figures.values()))
    of = ""
    if any_row.get("bytes"):
        of = f"{any_row['bytes'] / one[0] * 1e6 / copy:.2f} of copy" if copy and not args.tiny else ""
    if any_row.get("flops"):
        of = f"{any_row['flops'] / one[0] * 1e-6:.0f} TFLOP/s"
    wrong = " WRONG" if any(v.get("wrong") for v in figures.values()) else ""
    theirs_text = f"{two[0]:.1f} ({two[2]}), {two[1]:.1f}" if two else "-"
    lines.append(f"| {name}{wrong} | {one[0]:.1f} ({one[2]}), {one[1]:.1f} | {of} | {theirs_text} | {max(two[:2]) / max(one[:2]):.2f} |" if two else
                 f"| {name}{wrong} | {one[0]:.1f} ({one[2]}), {one[1]:.1f} | {of} | {theirs_text} | |")
text = "\n".join(lines)
print(text)
if args.markdown:
    with open(args.markdown, "w") as file:
        file.write(text.lstrip("\n") + "\n")
if args.json:
    with open(args.json, "w") as file:
        json.dump({"head": head, "copy_rate": copy, "rows": rows}, file, indent=1)
