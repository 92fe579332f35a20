"""bench/peers/rows.py: the rows of `make bench-peers`: for each the kind and numbers of bench/peers/rows.c, its inputs, and the same work in PyTorch."""
import math

import torch
import torch.nn.functional as F
from torch import nn

import living


class Row:
    """kind, numbers: of rows.c. build() -> (module or None, function of the inputs, inputs). loss: a training row's, of (output, target).
    program: of bench/peers/living.py, in the place of the function."""

    def __init__(self, group, name, kind, numbers, build, tol=2e-4, expr=None, loss=None, compiles=False, program=None):
        self.group, self.name, self.kind, self.numbers, self.build = group, name, kind, numbers, build
        self.tol, self.expr, self.loss, self.compiles, self.program = tol, expr, loss, compiles, program


# ---- modules: children and parameters are named as those of rows.c ---------------------------------------------------------------
ACTIVATIONS = [lambda x: x, F.relu, F.gelu, F.relu6, F.silu, F.hardswish]


class LinearAct(nn.Module):
    def __init__(self, inner, outer, act):
        super().__init__()
        self.linear, self.act = nn.Linear(inner, outer), act

    def forward(self, x):
        return ACTIVATIONS[self.act](self.linear(x))


class ConvBn(nn.Module):
    def __init__(self, inner, outer, kernel, stride, groups, act):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner // groups, kernel, kernel) / math.sqrt(inner // groups * kernel * kernel))
        self.bn = nn.BatchNorm2d(outer)
        self.stride, self.padding, self.groups, self.act = stride, kernel // 2, groups, act

    def forward(self, x):
        return ACTIVATIONS[self.act](self.bn(F.conv2d(x, self.weight, None, self.stride, self.padding, 1, self.groups)))


class First(nn.Module):
    def __init__(self, rnn):
        super().__init__()
        self.rnn = rnn

    def forward(self, x):
        return self.rnn(x)[0]


class Block(nn.Module):
    def __init__(self, features, heads, causal):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        b, t, f = x.shape
        q, k, v = (y.reshape(b, t, self.heads, f // self.heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(f, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, f))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, features, heads, layers, words, places):
        super().__init__()
        self.places = nn.Parameter(torch.randn(places, features) * 0.1)
        self.words = nn.Embedding(words, features)
        for i in range(layers):
            setattr(self, f"block{i}", Block(features, heads, True))
        self.norm, self.head, self.layers = nn.LayerNorm(features), nn.Linear(features, words, bias=False), layers

    def forward(self, ids):
        x = self.words(ids) + self.places[:ids.shape[1]]
        for i in range(self.layers):
            x = getattr(self, f"block{i}")(x)
        return self.head(self.norm(x))


class Basic(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.conv1, self.conv2 = ConvBn(inner, outer, 3, 2 if inner != outer else 1, 1, 1), ConvBn(outer, outer, 3, 1, 1, 0)
        self.short = ConvBn(inner, outer, 1, 2, 1, 0) if inner != outer else None

    def forward(self, x):
        y = self.conv2(self.conv1(x))
        return F.relu(y + (x if self.short is None else self.short(x)))


class ResNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        width = [64, 64, 64, 128, 128, 256, 256, 512, 512]
        self.stem = ConvBn(3, 64, 7, 2, 1, 1)
        for i in range(8):
            setattr(self, f"layer{i}", Basic(width[i], width[i + 1]))
        self.head = nn.Linear(512, classes)

    def forward(self, x):
        x = F.max_pool2d(self.stem(x), 3, 2, 1)
        for i in range(8):
            x = getattr(self, f"layer{i}")(x)
        return self.head(x.mean((2, 3)))


def mlp(a, b, c):
    return nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, c))


def tiny():
    return nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 10), nn.Sigmoid())


def cnn():
    return nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 7 * 7, 10))


def settled(module):
    """Batch norms with statistics that are not 0 and 1."""
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.running_mean, -0.5, 0.5)
            nn.init.uniform_(m.running_var, 0.5, 1.5)
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.uniform_(m.bias, -0.5, 0.5)
    return module


def square_error(y, want):
    return ((y - want) ** 2).mean()


def class_error(y, want):
    return F.cross_entropy(y.reshape(-1, y.shape[-1]), want.reshape(-1))


# ---- functions ------------------------------------------------------------------------------------------------------------------
def total(*tensors):
    out = tensors[0]
    for t in tensors[1:]:
        out = out + t
    return out


CHAINS = [
    ("a/(|b|+1) - b/2", lambda a, b: a / (b.abs() + 1) - b / 2, "a/(abs(b)+1) - b/2"),
    ("relu(a/(|b|+1) - b/2)*a + b", lambda a, b: torch.relu(a / (b.abs() + 1) - b / 2) * a + b, None),
    ("gelu_tanh(a)*sigmoid(b)", lambda a, b: F.gelu(a, approximate="tanh") * torch.sigmoid(b), None),
    ("where(a>b, exp(-|a|), log1p(|b|))", lambda a, b: torch.where(a > b, torch.exp(-a.abs()), torch.log1p(b.abs())),
     "where(a > b, exp(-abs(a)), log1p(abs(b)))"),
    ("sin(a)*cos(b) + tanh(a-b)*sqrt(|b|)", lambda a, b: torch.sin(a) * torch.cos(b) + torch.tanh(a - b) * torch.sqrt(b.abs()),
     "sin(a)*cos(b) + tanh(a-b)*sqrt(abs(b))"),
]
REDUCTIONS = [
    ("softmax", 0, lambda x, d: torch.softmax(x, d)), ("log_softmax", 1, lambda x, d: torch.log_softmax(x, d)),
    ("sum", 4, lambda x, d: x.sum(d)), ("mean", 6, lambda x, d: x.mean(d)), ("amax", 7, lambda x, d: x.amax(d)), ("argmax", 8, lambda x, d: x.argmax(d)),
    ("var", 9, lambda x, d: x.var(d)), ("logsumexp", 10, lambda x, d: x.logsumexp(d)), ("cumsum", 11, lambda x, d: x.cumsum(d)),
]


def function(fn, *inputs):
    return lambda: (None, fn, [i() for i in inputs])


def randn(*shape):
    return lambda: torch.randn(*shape)


def module(make, *inputs):
    def build():
        m = settled(make())
        return m, m, [i() for i in inputs]
    return build


def sixteen_bits(add, index):
    """The same kinds in bf16 and f16, and products of 8-bit integers. Results are rounded to 8 and 11 bits: a few of the last may differ."""
    for name, dtype, tol in (("bf16", torch.bfloat16, 3e-2), ("f16", torch.float16, 4e-3)):
        cast = lambda *shape, d=dtype: lambda: torch.randn(*shape).to(d)
        put = lambda kind, what, numbers, build, **k: add(name, f"{what} {name}", kind, numbers, build, tol=k.pop("tol", tol), **k)
        module_of = lambda make, *inputs, d=dtype: module(lambda: settled(make()).to(d), *inputs)
        for i in (0, 2):
            for e in (12, 18, 22):
                put("chain", f"{CHAINS[i][0]}, 2^{e}", [i], function(CHAINS[i][1], cast(1 << e), cast(1 << e)))
        for what, number, fn in REDUCTIONS:
            if what != "argmax":
                for dim in (1, 0):
                    put("reduce", f"{what} 1024x1024 dim {dim}", [number, dim], function(lambda x, fn=fn, dim=dim: fn(x, dim), cast(1024, 1024)))
        put("reduce", "layer_norm 1024x1024", [2, 1], function(lambda x, w, b: F.layer_norm(x, (1024,), w, b), cast(1024, 1024), cast(1024), cast(1024)))
        put("reduce", "rms_norm 1024x1024", [3, 1], function(lambda x, w: F.rms_norm(x, (1024,), w, 1e-6), cast(1024, 1024), cast(1024)))
        put("move", "2 * rows 4096 of 10000x256", [3], function(lambda a, i: a.index_select(0, i) * 2, cast(10000, 256), index(10000, 4096)))
        put("move", "index_add along 0, 1024x256", [23, 0], function(lambda a, i, s: a.index_add(0, i, s), cast(1024, 256), index(1024, 1024), cast(1024, 256)), tol=6e-2)
        put("move", "embedding bag: sums of 32 rows of 10000x64", [20], function(lambda w, i: F.embedding(i, w).sum(1), cast(10000, 64), index(10000, 512, 32)))
        for ta, tb, *shapes in ((0, 0, (64, 64), (64, 64)), (0, 0, (256, 256), (256, 256)), (0, 0, (1000, 1000), (1000, 1000)), (0, 0, (1, 1024), (1024, 1024)),
                                (0, 0, (16, 1024), (1024, 1024)), (0, 0, (128, 768), (768, 256)), (1, 0, (512, 512), (512, 512)), (0, 1, (512, 512), (512, 512)),
                                (0, 1, (8, 128, 32), (8, 128, 32)), (0, 0, (8, 128, 128), (8, 128, 32))):
            what = "matmul " + " ".join("x".join(map(str, shape)) for shape in shapes) + ", a.T" * ta + ", b.T" * tb
            put("matmul", what, [ta, tb], function(lambda a, b, ta=ta, tb=tb: torch.matmul(a.transpose(-1, -2) if ta else a, b.transpose(-1, -2) if tb else b),
                                                   cast(*shapes[0]), cast(*shapes[1])))
        for batch, inner, outer, act in ((1, 784, 256, 1), (64, 784, 256, 1), (128, 256, 1024, 2), (512, 512, 512, 1)):
            put("linear", f"linear {batch}x{inner}x{outer} {('', 'relu', 'gelu')[act]}", [inner, outer, act], module_of(lambda i=inner, o=outer, a=act: LinearAct(i, o, a), cast(batch, inner)))
        for *numbers, size in ((3, 64, 7, 2, 1, 1, 224), (64, 64, 3, 1, 1, 1, 56), (128, 128, 3, 1, 1, 1, 28), (512, 512, 3, 1, 1, 1, 7), (64, 256, 1, 1, 1, 0, 56),
                               (512, 128, 1, 1, 1, 1, 28), (144, 144, 3, 1, 144, 3, 56)):
            i, o, k, s, g, a = numbers
            put("conv", f"conv {k}x{k} {i}->{o} at {size}" + (f" /{s}" if s > 1 else "") + (" depthwise" if g > 1 else ""), numbers, module_of(lambda n=numbers: ConvBn(*n), cast(1, i, size, size)))
        put("mlp", "MLP 784-256-10, batch 64", [784, 256, 10], module_of(lambda: mlp(784, 256, 10), cast(64, 784)))
        for batch in (1, 8):
            put("block", f"transformer block 128x256, batch {batch}", [256, 8, 0], module_of(lambda: Block(256, 8, False), cast(batch, 128, 256)))
        put("resnet", "ResNet-18, 1x3x64x64", [10], module_of(lambda: ResNet(10), cast(1, 3, 64, 64)), tol=5 * tol)
        put("gpt", "GPT 4 layers 256, 128 places", [256, 8, 1, 4, 1000, 128], module_of(lambda: GPT(256, 8, 4, 1000, 128), index(1000, 1, 128)), tol=5 * tol)
    byte = lambda *shape: lambda: torch.randint(-128, 128, shape).to(torch.int8)
    for m, k, n in ((64, 64, 64), (256, 256, 256), (1000, 1000, 1000), (32, 1024, 1024), (128, 768, 256)):
        add("int8", f"int_mm {m}x{k}x{n}", "matmul", [0, 0, 1], function(torch._int_mm, byte(m, k), byte(k, n)))
    add("int8", "int_mm 512, b.T", "matmul", [0, 1, 1], function(lambda a, b: torch._int_mm(a, b.T), byte(512, 512), byte(512, 512)))


def table():
    rows = []
    add = lambda *a, **k: rows.append(Row(*a, **k))

    # calls: ten elements
    add("calls", "call of relu(x + 1), 10 elements", "small", [], function(lambda x: torch.relu(x + 1), randn(10)))
    for n in (4, 16):
        add("calls", f"call of a sum of {n} tensors, 10 elements", "total", [], function(total, *[randn(10)] * n))
    # compile
    add("compile", "compile Linear-ReLU-Linear-Sigmoid", "tiny", [], module(tiny, randn(2, 10)), compiles=True)
    add("compile", "compile a transformer block", "block", [256, 8, 0], module(lambda: Block(256, 8, False), randn(1, 128, 256)), compiles=True)
    add("compile", "compile a transformer block's training step", "train_block", [256, 8, 0],
        module(lambda: Block(256, 8, False), randn(1, 128, 256), randn(1, 128, 256)), compiles=True, loss=square_error)
    # pointwise chains
    for i, (name, fn, expr) in enumerate(CHAINS):
        for e in range(10, 25, 2):
            add("pointwise", f"{name}, 2^{e}", "chain", [i], function(fn, randn(1 << e), randn(1 << e)), expr=expr)
    # rows of a matrix
    for shape in ((4096, 1024), (128, 256)):
        size = f"{shape[0]}x{shape[1]}"
        for name, number, fn in REDUCTIONS:
            for dim in (1, 0) if name != "cumsum" or shape[0] == 4096 else (1,):
                add("rows", f"{name} {size} dim {dim}", "reduce", [number, dim], function(lambda x, fn=fn, dim=dim: fn(x, dim), randn(*shape)))
        if shape[0] == 4096:
            for dim in (1, 0):
                add("rows", f"cumsum(exp(a)) * b {size} dim {dim}", "reduce", [12, dim], function(lambda x, b, dim=dim: x.exp().cumsum(dim) * b, randn(*shape), randn(*shape)))
        c = shape[1]
        add("rows", f"layer_norm {size}", "reduce", [2, 1], function(lambda x, w, b, c=c: F.layer_norm(x, (c,), w, b), randn(*shape), randn(c), randn(c)))
        add("rows", f"rms_norm {size}", "reduce", [3, 1], function(lambda x, w, c=c: F.rms_norm(x, (c,), w, 1e-6), randn(*shape), randn(c)))
        add("rows", f"sum of all {size}", "reduce", [5, 0], function(lambda x: x.sum(), randn(*shape)), tol=2e-3)
    # what moves data
    index = lambda n, *shape: lambda: torch.randint(0, n, shape)
    for n in (128, 1024):
        add("moves", f"b + a.T {n}x{n}", "move", [0], function(lambda a, b: b + a.T, randn(n, n), randn(n, n)))
        add("moves", f"a.T copied {n}x{n}", "move", [1], function(lambda a: a.T.contiguous(), randn(n, n)))
    add("moves", "NCHW to NHWC 8x64x56x56", "move", [2], function(lambda a: a.permute(0, 2, 3, 1).contiguous(), randn(8, 64, 56, 56)))
    add("moves", "2 * rows 4096 of 10000x256", "move", [3], function(lambda a, i: a.index_select(0, i) * 2, randn(10000, 256), index(10000, 4096)))
    add("moves", "gather 1024x256 of 1024x1024", "move", [4], function(lambda a, i: a.gather(1, i), randn(1024, 1024), index(1024, 1024, 256)))
    add("moves", "scatter_add 1024x1024", "move", [5], function(lambda a, i: torch.zeros_like(a).scatter_add(1, i, a), randn(1024, 1024), index(1024, 1024, 1024)))
    add("moves", "relu(cat) 1024x512", "move", [6], function(lambda a, b: torch.relu(torch.cat([a, b], 1)), randn(1024, 512), randn(1024, 512)))
    # the same for other dtypes and views: none may be slower than eager by surprise
    half = lambda dtype, *shape: lambda: torch.randn(*shape).to(dtype)
    whole = lambda dtype, *shape: lambda: torch.randint(-100, 100, shape).to(dtype)
    for name, dtype, make in (("f64", torch.float64, half), ("bf16", torch.bfloat16, half), ("f16", torch.float16, half), ("i64", torch.int64, whole), ("i16", torch.int16, whole), ("i8", torch.int8, whole)):
        add("moves", f"a.T copied 1024x1024 {name}", "move", [1], function(lambda a: a.T.contiguous(), make(dtype, 1024, 1024)))
    add("moves", "b + a.T 1000x1000 bf16", "move", [0], function(lambda a, b: b + a.T, half(torch.bfloat16, 1000, 1000), half(torch.bfloat16, 1000, 1000)), tol=1e-2)
    add("moves", "a.T copied 1000x333", "move", [1], function(lambda a: a.T.contiguous(), randn(1000, 333)))
    add("moves", "a.T copied 100000x10", "move", [1], function(lambda a: a.T.contiguous(), randn(100000, 10)))
    add("moves", "a.T copied 10x100000", "move", [1], function(lambda a: a.T.contiguous(), randn(10, 100000)))
    add("moves", "NHWC to NCHW 8x56x56x64", "move", [7, 0, 3, 1, 2], function(lambda a: a.permute(0, 3, 1, 2).contiguous(), randn(8, 56, 56, 64)))
    add("moves", "image HWC to CHW 3 of 512x512", "move", [7, 2, 0, 1], function(lambda a: a.permute(2, 0, 1).contiguous(), randn(512, 512, 3)))
    add("moves", "image u8 HWC to f32 CHW / 255", "move", [8], function(lambda a: a.permute(2, 0, 1).float() / 255, lambda: torch.randint(0, 255, (512, 512, 3)).to(torch.uint8)))
    add("moves", "image CHW to HWC 3 of 512x512", "move", [7, 1, 2, 0], function(lambda a: a.permute(1, 2, 0).contiguous(), randn(3, 512, 512)))
    add("moves", "heads 8x128x8x64 to 8x8x128x64", "move", [7, 0, 2, 1, 3], function(lambda a: a.permute(0, 2, 1, 3).contiguous(), randn(8, 128, 8, 64)))
    add("moves", "heads 8x128x8x32 to 8x8x32x128", "move", [7, 0, 2, 3, 1], function(lambda a: a.permute(0, 2, 3, 1).contiguous(), randn(8, 128, 8, 32)))
    add("moves", "reversed dims 64x64x64", "move", [7, 2, 1, 0], function(lambda a: a.permute(2, 1, 0).contiguous(), randn(64, 64, 64)))
    add("moves", "pixel shuffle 4x64x64x64 by 2", "move", [9], function(lambda a: F.pixel_shuffle(a, 2), randn(4, 64, 64, 64)))
    add("moves", "flip the last of 1024x1024", "move", [10, 1], function(lambda a: a.flip(1), randn(1024, 1024)))
    add("moves", "flip the first of 1024x1024", "move", [10, 0], function(lambda a: a.flip(0), randn(1024, 1024)))
    add("moves", "a[:, ::2] * 2 of 1024x1024", "move", [11], function(lambda a: a[:, ::2] * 2, randn(1024, 1024)))
    add("moves", "even + odd columns 1024x1024", "move", [12], function(lambda a: a[:, 0::2] + a[:, 1::2], randn(1024, 1024)))
    add("moves", "stack of two along the last, 1024x512", "move", [13], function(lambda a, b: torch.stack([a, b], -1), randn(1024, 512), randn(1024, 512)))
    add("moves", "cat of three along 0", "move", [14], function(lambda a, b, c: torch.cat([a, b, c], 0), randn(256, 1000), randn(256, 1000), randn(256, 1000)))
    add("moves", "silu(cat) + 1 of 100 and 28 channels", "move", [15], function(lambda a, b: F.silu(torch.cat([a, b], 1)) + 1, randn(4, 100, 28, 28), randn(4, 28, 28, 28)))
    add("moves", "gather along 0, 256x1024 of 1024x1024", "move", [16], function(lambda a, i: a.gather(0, i), randn(1024, 1024), index(1024, 256, 1024)))
    add("moves", "matmul of a copied transpose 8x128x128", "move", [17], function(lambda a, b: a.transpose(1, 2).contiguous() @ b, randn(8, 128, 128), randn(8, 128, 128)))
    add("moves", "softmax(a.T) 512x512", "move", [18], function(lambda a: torch.softmax(a.T, 1), randn(512, 512)))
    add("moves", "roll by 3 along 1", "move", [19], function(lambda a: torch.roll(a, 3, 1), randn(1024, 1024)))
    add("moves", "embedding bag: sums of 32 rows of 10000x64", "move", [20], function(lambda w, i: F.embedding(i, w).sum(1), randn(10000, 64), index(10000, 512, 32)))
    add("moves", "embedding bag: sums of 50 rows of 30000x256", "move", [20], function(lambda w, i: F.embedding(i, w).sum(1), randn(30000, 256), index(30000, 128, 50)))
    add("moves", "layer_norm(embedding + places) 8x128x128", "move", [21],
        function(lambda w, i, q, g, h: F.layer_norm(F.embedding(i, w) + q, (128,), g, h), randn(10000, 128), index(10000, 8, 128), randn(128, 128), randn(128), randn(128)))
    add("moves", "columns 10 of 100000x10", "move", [22, 1], function(lambda a, i: a.index_select(1, i), randn(100000, 10), index(10, 10)))
    add("moves", "index_add along 1, 1024x256 bf16", "move", [23, 1],
        function(lambda a, i, s: a.index_add(1, i, s), half(torch.bfloat16, 1024, 256), index(256, 256), half(torch.bfloat16, 1024, 256)), tol=6e-2)
    add("moves", "scatter_add along 1, 4096x64", "move", [24, 1], function(lambda a, i, s: a.scatter_add(1, i, s), randn(4096, 64), index(64, 4096, 64), randn(4096, 64)))
    # sorting: the values; where elements are equal their places may differ
    for name, shape, dim in (("1000000", (1000000,), 0), ("1024x1024", (1024, 1024), 1), ("1024x1024 dim 0", (1024, 1024), 0),
                             ("100000x10", (100000, 10), 1), ("10000", (10000,), 0)):
        add("sorting", f"sort {name}", "sort", [0, dim], function(lambda a, dim=dim: a.sort(dim)[0], randn(*shape)))
    add("sorting", "sort 1000000 of i64", "sort", [0, 0], function(lambda a: a.sort(0)[0], index(100000, 1000000)))
    add("sorting", "topk 10 of 1024x1024", "sort", [1, 1, 10], function(lambda a: a.topk(10, 1)[0], randn(1024, 1024)))
    add("sorting", "topk 64 of 1000000", "sort", [1, 0, 64], function(lambda a: a.topk(64, 0)[0], randn(1000000)))
    add("sorting", "topk 50 of 8x32000", "sort", [1, 1, 50], function(lambda a: a.topk(50, 1)[0], randn(8, 32000)))
    # Fourier transforms of rows; complex numbers are pairs
    fourier = (lambda a: torch.view_as_real(torch.fft.rfft(a)), lambda a: torch.view_as_real(torch.fft.fft(torch.view_as_complex(a))),
               lambda a: torch.fft.irfft(torch.view_as_complex(a)))
    for lines, n in ((1, 1024), (64, 400), (64, 1024), (256, 64), (32, 1021), (16, 8192)):
        for kind, (name, shape) in enumerate((("rfft", (lines, n)), ("fft", (lines, n, 2)), ("irfft", (lines, n // 2 + 1, 2)))):
            if kind < 2 or n % 2 == 0:
                add("fft", f"{name} {lines}x{n}", "fft", [kind, n], function(fourier[kind], randn(*shape)), tol=1e-3)
    # products
    product = lambda ta, tb: lambda a, b: torch.matmul(a.transpose(-1, -2) if ta else a, b.transpose(-1, -2) if tb else b)
    for n in (8, 16, 32, 64, 128, 256, 512, 1024, 2048):
        add("sgemm", f"sgemm {n}", "matmul", [0, 0], function(product(0, 0), randn(n, n), randn(n, n)))
    for n in (7, 31, 63, 100, 127, 255, 500, 1000):
        add("sgemm", f"sgemm {n} (odd)", "matmul", [0, 0], function(product(0, 0), randn(n, n), randn(n, n)))
    for m, k, n in ((1, 1024, 1024), (16, 1024, 1024), (128, 768, 256), (1000, 64, 1000), (64, 2048, 10)):
        add("sgemm", f"sgemm {m}x{k}x{n}", "matmul", [0, 0], function(product(0, 0), randn(m, k), randn(k, n)))
    add("sgemm", "sgemm 512, a.T", "matmul", [1, 0], function(product(1, 0), randn(512, 512), randn(512, 512)))
    add("sgemm", "sgemm 512, b.T", "matmul", [0, 1], function(product(0, 1), randn(512, 512), randn(512, 512)))
    add("sgemm", "sgemm 8 heads 128x32x128, b.T", "matmul", [0, 1], function(product(0, 1), randn(8, 128, 32), randn(8, 128, 32)))
    for m, k, n in ((4, 4, 4), (6, 4, 1), (16, 16, 16)):
        add("sgemm", f"sgemm 1024 of {m}x{k}x{n}", "matmul", [0, 0], function(product(0, 0), randn(1024, m, k), randn(1024, k, n)))
    for batch, inner, outer, act in ((1, 784, 256, 1), (64, 784, 256, 1), (128, 256, 1024, 2), (128, 1024, 256, 0), (1, 1024, 1024, 2), (512, 512, 512, 1)):
        add("linear", f"linear {batch}x{inner}x{outer} {('', 'relu', 'gelu')[act]}".rstrip(), "linear", [inner, outer, act],
            module(lambda i=inner, o=outer, a=act: LinearAct(i, o, a), randn(batch, inner)))
    # convolutions with batch norm and activation, batch 1: (in, out, kernel, stride, groups, activation, size)
    convs = [
        ("ResNet", [(3, 64, 7, 2, 1, 1, 224), (64, 64, 3, 1, 1, 1, 56), (64, 128, 3, 2, 1, 1, 56), (128, 128, 3, 1, 1, 1, 28), (128, 256, 3, 2, 1, 1, 28),
                    (256, 256, 3, 1, 1, 1, 14), (512, 512, 3, 1, 1, 1, 7), (64, 128, 1, 2, 1, 0, 56), (64, 64, 1, 1, 1, 1, 56), (64, 256, 1, 1, 1, 0, 56),
                    (256, 64, 1, 1, 1, 1, 56), (512, 128, 1, 1, 1, 1, 28), (1024, 256, 1, 1, 1, 1, 14), (512, 2048, 1, 1, 1, 0, 7)]),
        ("MobileNet", [(3, 32, 3, 2, 1, 3, 224), (32, 32, 3, 1, 32, 3, 112), (32, 16, 1, 1, 1, 0, 112), (96, 96, 3, 2, 96, 3, 112), (144, 144, 3, 1, 144, 3, 56),
                       (384, 384, 3, 1, 384, 3, 14), (384, 64, 1, 1, 1, 0, 14), (960, 960, 3, 1, 960, 3, 7), (320, 1280, 1, 1, 1, 3, 7)]),
        ("", [(64, 64, 3, 1, 1, 4, 56), (64, 64, 1, 1, 1, 4, 56), (64, 64, 1, 1, 1, 2, 56), (144, 144, 3, 1, 144, 5, 56), (96, 96, 3, 1, 96, 4, 112)]),
    ]
    for net, shapes in convs:
        for *numbers, size in shapes:
            i, o, k, s, g, a = numbers
            name = f"conv {net} {k}x{k} {i}->{o} at {size}".replace("  ", " ") + (f" /{s}" if s > 1 else "") + (" depthwise" if g > 1 else "")
            name += "" if net else f" {ACTIVATIONS[a].__name__}"
            add("conv", name, "conv", numbers, module(lambda n=numbers: ConvBn(*n), randn(1, i, size, size)))
    # models
    permuted = lambda: torch.randn(5888 * 4).as_strided((92, 4, 64), (1, 5888, 92))
    add("models", "MLP 784-256-10, batch 64", "mlp", [784, 256, 10], module(lambda: mlp(784, 256, 10), randn(64, 784)))
    add("models", "LSTM 64-64, 2 layers, both ways, 92x4", "lstm", [64, 64, 2, 1], module(lambda: First(nn.LSTM(64, 64, 2, bidirectional=True)), permuted))
    add("models", "GRU 64-64, 2 layers, both ways, 92x4", "gru", [64, 64, 2, 1], module(lambda: First(nn.GRU(64, 64, 2, bidirectional=True)), permuted))
    for batch in (1, 8):
        add("models", f"transformer block 128x256, batch {batch}", "block", [256, 8, 0], module(lambda: Block(256, 8, False), randn(batch, 128, 256)))
    add("models", "ResNet-18, 1x3x224x224", "resnet", [1000], module(lambda: ResNet(1000), randn(1, 3, 224, 224)), tol=1e-3)
    add("models", "ResNet-18, 1x3x64x64", "resnet", [10], module(lambda: ResNet(10), randn(1, 3, 64, 64)), tol=1e-3)
    add("models", "GPT 4 layers 256, 128 places", "gpt", [256, 8, 1, 4, 1000, 128], module(lambda: GPT(256, 8, 4, 1000, 128), index(1000, 1, 128)), tol=1e-3)
    # training steps with AdamW
    add("training", "train Linear-ReLU-Linear-Sigmoid, batch 2", "train_tiny", [], module(tiny, randn(2, 10), randn(2, 10)), loss=square_error)
    add("training", "train MLP 784-256-10, batch 64", "train_mlp", [784, 256, 10], module(lambda: mlp(784, 256, 10), randn(64, 784), index(10, 64)), loss=class_error)
    add("training", "train CNN 28x28, batch 32", "train_cnn", [], module(cnn, randn(32, 1, 28, 28), index(10, 32)), loss=class_error)
    add("training", "train LSTM 64-64, 2 layers, both ways, 92x4", "train_lstm", [64, 64, 2, 1],
        module(lambda: First(nn.LSTM(64, 64, 2, bidirectional=True)), permuted, randn(92, 4, 128)), loss=square_error)
    add("training", "train transformer block 128x256, batch 1", "train_block", [256, 8, 0],
        module(lambda: Block(256, 8, False), randn(1, 128, 256), randn(1, 128, 256)), loss=square_error)
    add("training", "train GPT 2 layers 128, 2x64", "train_gpt", [128, 4, 1, 2, 256, 64],
        module(lambda: GPT(128, 4, 2, 256, 64), index(256, 2, 64), index(256, 2, 64)), loss=class_error)
    sixteen_bits(add, index)
    living.add(lambda name, kind, numbers, build, program: add("living", name, kind, numbers, build, tol=1e-3, program=program), GPT, mlp, randn, index)
    return rows
