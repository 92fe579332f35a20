"""Still further architectures for tests/oracle/torch_onnx.py: those that exported.py and exported_more.py have none of.

REST: name -> function that gives a Case, as there. The exporter of TorchScript keeps the example's batch in
nn.MultiheadAttention: where several are run, the other exporter alone writes the model.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

from exported import Case, randn, warm
from exported_more import RMS


# ---- pictures ------------------------------------------------------------------------------------

class Dense(nn.Module):
    """A dense block and a transition of DenseNet, then the branches of an Inception block."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(8 + 4 * i) for i in range(4))
        self.convs = nn.ModuleList(nn.Conv2d(8 + 4 * i, 4, 3, padding=1) for i in range(3))
        self.down = nn.Conv2d(20, 12, 1)
        self.one, self.three = nn.Conv2d(12, 4, 1), nn.Sequential(nn.Conv2d(12, 4, 1), nn.ReLU(), nn.Conv2d(4, 6, (1, 3), padding=(0, 1)), nn.Conv2d(6, 6, (3, 1), padding=(1, 0)))
        self.pooled, self.head = nn.Conv2d(12, 3, 1), nn.Linear(13, 5)

    def forward(self, x):
        x = self.stem(x)
        for n, c in zip(self.norms, self.convs):
            x = torch.cat((x, c(F.relu(n(x)))), 1)
        x = F.avg_pool2d(self.down(F.relu(self.norms[3](x))), 2)
        x = torch.cat((self.one(x), self.three(x), self.pooled(F.max_pool2d(x, 3, 1, 1))), 1)
        return self.head(F.adaptive_max_pool2d(x, 1).flatten(1))


def densenet():
    return Case(warm(Dense(), randn(4, 3, 32, 32)), [(randn(2, 3, 32, 40),), (randn(1, 3, 48, 20),), (randn(3, 3, 21, 35),)], ["x"], {"x": {0: "b", 2: "h", 3: "w"}})


class SegFormer(nn.Module):
    """Patches that overlap, attention whose keys are of a smaller picture, a head that brings all sizes together."""

    def __init__(self, dims=(8, 12, 16)):
        super().__init__()
        self.patch = nn.ModuleList(nn.Conv2d(i, o, k, s, k // 2) for i, o, k, s in zip((3,) + dims, dims, (7, 3, 3), (4, 2, 2)))
        self.norm = nn.ModuleList(nn.LayerNorm(d) for d in dims for _ in range(3))
        self.q, self.kv = nn.ModuleList(nn.Linear(d, d) for d in dims), nn.ModuleList(nn.Linear(d, 2 * d) for d in dims)
        self.less = nn.ModuleList(nn.Conv2d(d, d, r, r) for d, r in zip(dims, (4, 2, 1)))
        self.up, self.deep = nn.ModuleList(nn.Linear(d, 2 * d) for d in dims), nn.ModuleList(nn.Conv2d(2 * d, 2 * d, 3, padding=1, groups=2 * d) for d in dims)
        self.back, self.into = nn.ModuleList(nn.Linear(2 * d, d) for d in dims), nn.ModuleList(nn.Linear(d, 10) for d in dims)
        self.head = nn.Conv2d(30, 4, 1)

    def forward(self, x):
        parts = []
        for i, patch in enumerate(self.patch):
            x = patch(x)
            b, c, h, w = x.shape
            t = self.norm[3 * i](x.flatten(2).transpose(1, 2))
            s = self.less[i](t.transpose(1, 2).reshape(b, c, h, w)).flatten(2).transpose(1, 2)
            q = self.q[i](t).view(b, h * w, 2, c // 2).transpose(1, 2)
            k, v = self.kv[i](s).view(b, -1, 2, 2, c // 2).permute(2, 0, 3, 1, 4).unbind(0)
            t = t + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
            y = self.up[i](self.norm[3 * i + 1](t)).transpose(1, 2).reshape(b, 2 * c, h, w)
            t = t + self.back[i](F.gelu(self.deep[i](y).flatten(2).transpose(1, 2)))
            x = self.norm[3 * i + 2](t).transpose(1, 2).reshape(b, c, h, w)
            parts.append(self.into[i](x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(b, 10, h, w))
        size = parts[0].shape[2:]
        y = self.head(torch.cat([F.interpolate(p, size=size, mode="bilinear", align_corners=False) for p in parts], 1))
        return F.interpolate(y, scale_factor=4.0, mode="bilinear", align_corners=False).argmax(1), y


def segformer():
    return Case(SegFormer(), [(randn(2, 3, 64, 96),), (randn(1, 3, 128, 64),), (randn(3, 3, 64, 64),)], ["x"], {"x": {0: "b", 2: "h", 3: "w"}})


class Diffusion(nn.Module):
    """A U-Net that is told the time of its noise: group norms, scale and shift, attention over the places of the smallest picture."""

    def __init__(self, dim=8):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.enter, self.leave = nn.Conv2d(3, dim, 3, padding=1), nn.Conv2d(dim, 3, 3, padding=1)
        dims = ((dim, dim), (dim, 2 * dim), (2 * dim, 2 * dim), (4 * dim, dim), (2 * dim, dim))
        self.n1, self.n2 = nn.ModuleList(nn.GroupNorm(4, i) for i, _ in dims), nn.ModuleList(nn.GroupNorm(4, o) for _, o in dims)
        self.c1, self.c2 = nn.ModuleList(nn.Conv2d(i, o, 3, padding=1) for i, o in dims), nn.ModuleList(nn.Conv2d(o, o, 3, padding=1) for _, o in dims)
        self.skip, self.say = nn.ModuleList(nn.Conv2d(i, o, 1) for i, o in dims), nn.ModuleList(nn.Linear(32, 2 * o) for _, o in dims)
        self.down, self.up = nn.Conv2d(dim, dim, 3, 2, 1), nn.Conv2d(dim, dim, 3, padding=1)
        self.norm, self.qkv, self.proj = nn.GroupNorm(4, 2 * dim), nn.Conv2d(2 * dim, 6 * dim, 1), nn.Conv2d(2 * dim, 2 * dim, 1)

    def block(self, i, x, t):
        a, b = self.say[i](F.silu(t))[:, :, None, None].chunk(2, 1)
        h = self.n2[i](self.c1[i](F.silu(self.n1[i](x)))) * (1 + a) + b
        return self.skip[i](x) + self.c2[i](F.silu(h))

    def forward(self, x, t):
        half = torch.exp(-math.log(10000) * torch.arange(8) / 8)
        a = t.float()[:, None] * half[None]
        t = self.time(torch.cat((a.cos(), a.sin()), -1))
        top = self.block(0, self.enter(x), t)
        x = self.block(1, self.down(top), t)
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, 3, c, h * w).unbind(1)
        p = torch.einsum("bci,bcj->bij", q, k).div(math.sqrt(c)).softmax(-1)
        mid = x + self.proj(torch.einsum("bij,bcj->bci", p, v).reshape(b, c, h, w))
        x = self.block(3, torch.cat((self.block(2, mid, t), x), 1), t)
        x = self.up(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.leave(self.block(4, torch.cat((x, top), 1), t))


def diffusion():
    make = lambda b, h, w: (randn(b, 3, h, w), torch.randint(0, 1000, (b,)))
    return Case(Diffusion(), [make(2, 16, 24), make(1, 32, 8), make(4, 8, 8)], ["x", "t"], {"x": {0: "b", 2: "h", 3: "w"}, "t": {0: "b"}})


class DiT(nn.Module):
    """Patches under adaptive layer norms, put together to a picture again."""

    def __init__(self, dim=16):
        super().__init__()
        self.patch, self.label, self.mod = nn.Conv2d(4, dim, 2, 2), nn.Embedding(11, dim), nn.Linear(dim, 6 * dim)
        self.n1, self.n2 = nn.LayerNorm(dim, elementwise_affine=False), nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.own, self.mlp, self.last = nn.MultiheadAttention(dim, 2, batch_first=True), nn.Sequential(nn.Linear(dim, 32), nn.GELU(approximate="tanh"), nn.Linear(32, dim)), nn.Linear(dim, 16)

    def forward(self, x, y):
        b, _, h, w = x.shape
        x = self.patch(x).flatten(2).transpose(1, 2)
        s1, c1, g1, s2, c2, g2 = self.mod(F.silu(self.label(y))).unsqueeze(1).chunk(6, -1)
        z = self.n1(x) * (1 + c1) + s1
        x = x + g1 * self.own(z, z, z, need_weights=False)[0]
        x = x + g2 * self.mlp(self.n2(x) * (1 + c2) + s2)
        x = self.last(x).reshape(b, h // 2, w // 2, 2, 2, 4)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(b, 4, h, w)


def dit():
    make = lambda b, h, w: (randn(b, 4, h, w), torch.randint(0, 11, (b,)))
    return Case(DiT(), [make(2, 8, 12), make(3, 4, 4), make(1, 16, 6)], ["x", "y"], {"x": {0: "b", 2: "h", 3: "w"}, "y": {0: "b"}}, kinds=("dynamo",))


class Aspp(nn.Module):
    """DeepLab's head: dilated convolutions beside the mean of the picture, brought back to its size."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8)
        self.wide = nn.ModuleList(nn.Conv2d(8, 6, 1 if r == 0 else 3, padding=r, dilation=max(r, 1)) for r in (0, 2, 4))
        self.whole, self.last = nn.Conv2d(8, 6, 1), nn.Conv2d(24, 3, 1)

    def forward(self, x):
        size = x.shape[-2:]
        x = F.hardswish(self.norm(self.stem(x)))
        y = F.interpolate(self.whole(F.adaptive_avg_pool2d(x, 1)), size=x.shape[-2:], mode="bilinear", align_corners=True)
        y = self.last(torch.cat([c(x).relu() for c in self.wide] + [y], 1))
        return F.interpolate(y, size=size, mode="bicubic", align_corners=False).sigmoid()


def deeplab():
    return Case(warm(Aspp(), randn(2, 3, 16, 16)), [(randn(2, 3, 32, 20),), (randn(1, 3, 17, 33),), (randn(3, 3, 24, 24),)], ["x"], {"x": {0: "b", 2: "h", 3: "w"}})


class MobileVit(nn.Module):
    """Pixels of a patch look at the same pixel of other patches; ghost features and channel shuffles besides."""

    def __init__(self):
        super().__init__()
        self.enter, self.ghost, self.cheap = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 6, 1), nn.Conv2d(6, 6, 5, padding=2, groups=6)
        self.near, self.layer, self.last = nn.Conv2d(12, 12, 3, padding=1, groups=4), nn.TransformerEncoderLayer(12, 3, 24, 0.0, F.silu, batch_first=True), nn.Conv2d(24, 5, 1)

    def forward(self, x):
        x = self.enter(x).relu()
        g = self.ghost(x)
        x = torch.cat((g, self.cheap(g)), 1)
        b, c, h, w = x.shape
        y = self.near(x).view(b, 4, 3, h, w).transpose(1, 2).reshape(b, c, h, w)
        y = y.reshape(b, c, h // 2, 2, w // 2, 2).permute(0, 3, 5, 2, 4, 1).reshape(b * 4, (h // 2) * (w // 2), c)
        y = self.layer(y).reshape(b, 2, 2, h // 2, w // 2, c).permute(0, 5, 3, 1, 4, 2).reshape(b, c, h, w)
        return self.last(torch.cat((x, y), 1)).mean((2, 3))


def mobilevit():
    return Case(MobileVit(), [(randn(2, 3, 16, 24),), (randn(1, 3, 32, 16),), (randn(3, 3, 8, 8),)], ["x"], {"x": {0: "b", 2: "h", 3: "w"}}, kinds=("dynamo",))


# ---- sets, tables, graphs ------------------------------------------------------------------------

class DeepSets(nn.Module):
    """Sums, means and maxima over the members of a set that are there, then a pooling by attention."""

    def __init__(self):
        super().__init__()
        self.each, self.seed = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 8)), nn.Parameter(randn(1, 2, 8))
        self.pool, self.head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(40, 3)

    def forward(self, x, there):
        h = self.each(x)
        m = there.unsqueeze(-1).float()
        n = m.sum(1).clamp(min=1)
        most = h.masked_fill(~there.unsqueeze(-1), float("-inf")).amax(1)
        looked = self.pool(self.seed.expand(x.shape[0], -1, -1), h, h, key_padding_mask=~there)[0]
        return self.head(torch.cat(((h * m).sum(1), (h * m).sum(1) / n, most, looked.flatten(1)), -1))


def deepsets():
    make = lambda b, n: (randn(b, n, 5), torch.arange(n)[None] <= torch.randint(0, n, (b, 1)))
    return Case(DeepSets(), [make(2, 6), make(4, 3), make(3, 17)], ["x", "there"], {"x": {0: "b", 1: "n"}, "there": {0: "b", 1: "n"}}, kinds=("dynamo",))


class Tabular(nn.Module):
    """Embedding bags, a column each, beside numbers, crossed."""

    def __init__(self, mode):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(n, 6, mode=mode) for n in (20, 9))
        self.cross, self.head = nn.Linear(17, 17), nn.Linear(17, 2)

    def forward(self, a, b, x):
        z = torch.cat((self.bags[0](a), self.bags[1](b), x), -1)
        return self.head(z * self.cross(z) + z)


def tabular(mode="sum"):
    make = lambda b, n, m: (torch.randint(0, 20, (b, n)), torch.randint(0, 9, (b, m)), randn(b, 5))
    return Case(Tabular(mode), [make(4, 3, 2), make(2, 3, 2), make(7, 3, 2)], ["a", "b", "x"], {k: {0: "batch"} for k in "abx"}, kinds=("dynamo",), graph=False)


def tabular_mean():
    return tabular("mean")


class Bags(nn.Module):
    """Bags of different lengths in one vector, told by where each begins."""

    def __init__(self):
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(30, 6, mode="mean"), nn.Linear(6, 4)

    def forward(self, ids, begin):
        return self.head(self.bag(ids, begin))


def bags():
    def make(*lengths):
        n = torch.tensor(lengths)
        return torch.randint(0, 30, (int(n.sum()),)), n.cumsum(0) - n
    return Case(Bags(), [make(3, 1, 4, 2), make(2, 5), make(1, 1, 1, 6, 2, 3)], ["ids", "begin"], {"ids": {0: "n"}, "begin": {0: "bags"}}, graph=False)


class FtTransformer(nn.Module):
    """Columns as tokens; the first token is read."""

    def __init__(self):
        super().__init__()
        self.w, self.b, self.cls, self.kinds = nn.Parameter(randn(5, 12)), nn.Parameter(randn(5, 12)), nn.Parameter(randn(12)), nn.Embedding(10, 12)
        self.register_buffer("first", torch.tensor([0, 4, 7]))
        self.layer = nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3, 20, 0.0, batch_first=True, norm_first=True), 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(12), nn.GLU(), nn.Linear(6, 2))

    def forward(self, x, k):
        t = torch.cat((self.cls.expand(x.shape[0], 1, -1), x.unsqueeze(-1) * self.w + self.b, self.kinds(k + self.first)), 1)
        return self.head(self.layer(t)[:, 0])


def ft_transformer():
    make = lambda b: (randn(b, 5), torch.randint(0, 3, (b, 3)))
    return Case(FtTransformer(), [make(4), make(1), make(9)], ["x", "k"], {"x": {0: "b"}, "k": {0: "b"}})


class Message(nn.Module):
    """Edges' messages: means, maxima and a softmax over the edges that come in."""

    def __init__(self):
        super().__init__()
        self.of, self.score, self.cell = nn.Linear(12, 8), nn.Linear(12, 1), nn.GRUCell(24, 6)

    def forward(self, x, edge):
        src, dst = edge[0], edge[1]
        n = x.shape[0]
        pair = torch.cat((x[src], x[dst]), -1)
        m = self.of(pair)
        at = dst.unsqueeze(-1).expand_as(m)
        zero = torch.zeros(n, 8)
        mean = zero.index_add(0, dst, m) / torch.zeros(n, 1).index_add(0, dst, torch.ones_like(m[:, :1])).clamp(min=1)
        most = torch.full((n, 8), -9.0).scatter_reduce(0, at, m, "amax")
        s = self.score(pair).squeeze(-1)
        s = torch.exp(s - torch.full((n,), -99.0).scatter_reduce(0, dst, s, "amax")[dst])
        a = s / torch.zeros(n).index_add(0, dst, s)[dst]
        return self.cell(torch.cat((mean, most, zero.index_add(0, dst, a.unsqueeze(-1) * m)), -1), x)


def message():
    make = lambda n, e: (randn(n, 6), torch.randint(0, n, (2, e)))
    return Case(Message(), [make(5, 12), make(9, 30), make(3, 4)], ["x", "edge"], {"x": {0: "n"}, "edge": {1: "e"}}, kinds=("dynamo",))


# ---- sequences -----------------------------------------------------------------------------------

class Masked(nn.Module):
    """PyTorch's own encoder and decoder layers under padding and causal masks."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 24, 0.0, batch_first=True), 2, enable_nested_tensor=False)
        self.dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 24, 0.0, "gelu", batch_first=True, norm_first=True), 1, nn.LayerNorm(16))

    def forward(self, src, tgt):
        pad = src == 0
        n = tgt.shape[1]
        h = self.enc(self.embed(src), src_key_padding_mask=pad)
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        y = self.dec(self.embed(tgt), h, tgt_mask=later, tgt_is_causal=True, memory_key_padding_mask=pad)
        return y @ self.embed.weight.T


def masked():
    def make(b, n, m):
        src = torch.randint(1, 30, (b, n))
        src[0, n - n // 3:] = 0
        return src, torch.randint(1, 30, (b, m))
    return Case(Masked(), [make(2, 7, 5), make(3, 4, 9), make(5, 12, 2)], ["src", "tgt"], {"src": {0: "b", 1: "n"}, "tgt": {0: "b", 1: "m"}}, kinds=("dynamo",))


class Packed(nn.Module):
    """Sequences of different lengths through an LSTM of both directions."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(5, 6, 2, bidirectional=True, batch_first=True), nn.Linear(12, 3)

    def forward(self, x, n):
        p = nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=True)
        y, (h, _) = self.lstm(p)
        y, _ = nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
        return self.head(y), torch.cat((h[-2], h[-1]), -1)


def packed():
    def make(*n):
        return randn(len(n), n[0], 5), torch.tensor(n)
    return Case(Packed(), [make(7, 5, 2), make(4, 4), make(9, 6, 6, 1)], ["x", "n"], {"x": {0: "b", 1: "t"}, "n": {0: "b"}}, kinds=("script",))


class RetNet(nn.Module):
    """Retention: products that decay with distance, normed by groups; and linear attention by prefix sums."""

    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.heads, self.qkv, self.gate, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.norm = nn.GroupNorm(heads, dim)
        self.register_buffer("decay", torch.log(1 - 2.0 ** (-2 - torch.arange(heads))))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        at = torch.arange(t)
        far = (at[:, None] - at[None]).float()
        d = torch.where(far >= 0, torch.exp(far * self.decay[:, None, None]), torch.zeros(()))
        y = ((q @ k.transpose(-1, -2)) * d) @ v
        y = self.norm(y.transpose(1, 2).reshape(b * t, c)).view(b, t, c)
        f, g = F.elu(q) + 1, F.elu(k) + 1
        sums = (g.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(2)
        z = torch.einsum("bhtd,bhtde->bhte", f, sums) / (torch.einsum("bhtd,bhtd->bht", f, g.cumsum(2)).unsqueeze(-1) + 1e-6)
        return self.out(F.silu(self.gate(x)) * (y + z.transpose(1, 2).reshape(b, t, c)))


def retnet():
    return Case(RetNet(), [(randn(2, 6, 16),), (randn(1, 13, 16),), (randn(4, 3, 16),)], ["x"], {"x": {0: "b", 1: "t"}})


class Hifi(nn.Module):
    """HiFi-GAN: transposed convolutions, residual blocks of several widths under weight norms, snakes."""

    def __init__(self):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.enter, self.last = norm(nn.Conv1d(8, 12, 7, padding=3)), nn.Conv1d(6, 1, 7, padding=3)
        self.up = norm(nn.ConvTranspose1d(12, 6, 8, 4, 2))
        self.blocks = nn.ModuleList(nn.ModuleList(norm(nn.Conv1d(6, 6, k, dilation=d, padding=d * (k // 2))) for d in (1, 3)) for k in (3, 5))
        self.a = nn.Parameter(torch.rand(1, 6, 1) + 0.5)

    def forward(self, x):
        x = self.up(F.leaky_relu(self.enter(x), 0.1))
        x = x + (self.a * x).sin().pow(2) / self.a
        s = torch.zeros(())
        for block in self.blocks:
            y = x
            for c in block:
                y = y + c(F.leaky_relu(y, 0.1))
            s = s + y
        return torch.tanh(self.last(s / len(self.blocks)))


def hifigan():
    return Case(Hifi(), [(randn(2, 8, 10),), (randn(1, 8, 33),), (randn(3, 8, 4),)], ["x"], {"x": {0: "b", 2: "t"}})


class Forecast(nn.Module):
    """What is normed by itself and taken apart into trend and season, as DLinear and N-BEATS do."""

    def __init__(self, n=24, out=6):
        super().__init__()
        self.trend, self.season = nn.Linear(n, out), nn.Linear(n, out)
        self.block, self.back, self.forth = nn.Sequential(nn.Linear(n, 16), nn.ReLU()), nn.Linear(16, n), nn.Linear(16, out)

    def forward(self, x):
        mean, std = x.mean(1, keepdim=True), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        z = ((x - mean) / std).transpose(1, 2)
        wide = torch.cat((z[..., :1].repeat(1, 1, 2), z, z[..., -1:].repeat(1, 1, 2)), -1)
        t = F.avg_pool1d(wide, 5, 1)
        h = self.block(z - t)
        rest = (z - t) - self.back(h)
        y = self.trend(t) + self.season(rest) + self.forth(h)
        return y.transpose(1, 2) * std + mean, z.sort(-1).values[..., 12]


def forecast():
    return Case(Forecast(), [(randn(2, 24, 3),), (randn(5, 24, 1),), (randn(3, 24, 7),)], ["x"], {"x": {0: "b", 2: "c"}}, kinds=("dynamo",))


class Fourier(nn.Module):
    """A layer of a Fourier neural operator: the lowest frequencies are mixed, channel by channel."""

    def __init__(self):
        super().__init__()
        self.enter, self.point, self.leave = nn.Linear(2, 6), nn.Conv1d(6, 6, 1), nn.Linear(6, 1)
        self.w = nn.Parameter(randn(6, 6, 5, 2) / 6)

    def forward(self, x):
        x = self.enter(x).transpose(1, 2)
        n = x.shape[-1]
        f = torch.view_as_real(torch.fft.rfft(x, dim=-1))[:, :, :5]
        re = torch.einsum("bix,iox->box", f[..., 0], self.w[..., 0]) - torch.einsum("bix,iox->box", f[..., 1], self.w[..., 1])
        at = torch.arange(5).float()[:, None] * torch.arange(n).float()[None] * (2 * math.pi / n)
        y = torch.einsum("box,xn->bon", re, at.cos()) / n
        return self.leave(F.gelu(y + self.point(x)).transpose(1, 2))


def fourier():
    return Case(Fourier(), [(randn(2, 16, 2),), (randn(3, 16, 2),), (randn(1, 16, 2),)], ["x"], {"x": {0: "b"}}, kinds=("dynamo",))


class Pairs(nn.Module):
    """Two towers, all distances between their outputs, the nearest ones chosen and weighted."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Sequential(nn.Linear(6, 8), nn.SELU()), nn.Sequential(nn.Linear(4, 8), nn.CELU(0.7))
        self.table = nn.Embedding(12, 5)

    def forward(self, x, y, ids):
        p, q = F.normalize(self.a(x), dim=-1), F.normalize(self.b(y), dim=-1)
        d = torch.cdist(p, q)
        near, at = torch.topk(-d, 2, -1)
        w = F.softmax(near, -1)
        rows = self.table(ids)[at]
        return (w.unsqueeze(-1) * rows).sum(1), F.cosine_similarity(p.unsqueeze(1), q.unsqueeze(0), dim=-1), F.one_hot(at[:, 0] % 3, 3).float() @ torch.eye(3)


def pairs():
    make = lambda n, m: (randn(n, 6), randn(m, 4), torch.randint(0, 12, (m,)))
    return Case(Pairs(), [make(3, 5), make(6, 2), make(2, 9)], ["x", "y", "ids"], {"x": {0: "n"}, "y": {0: "m"}, "ids": {0: "m"}}, kinds=("script",))


class Spline(nn.Module):
    """A flow of rational quadratic splines: bins found by searching, gathers, cumulative sums, a KAN's basis beside it."""

    def __init__(self, bins=6):
        super().__init__()
        self.bins, self.net = bins, nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2 * (3 * bins + 1)))
        self.register_buffer("grid", torch.linspace(-2, 2, 9))

    def forward(self, x):
        a, b = x.chunk(2, -1)
        h = self.net(a).view(-1, 2, 3 * self.bins + 1)
        w, v, d = h[..., :self.bins], h[..., self.bins:2 * self.bins], F.softplus(h[..., 2 * self.bins:]) + 1e-3
        w, v = 0.01 + 0.94 * F.softmax(w, -1), 0.01 + 0.94 * F.softmax(v, -1)
        cw, cv = F.pad(w.cumsum(-1), (1, 0)) * 6 - 3, F.pad(v.cumsum(-1), (1, 0)) * 6 - 3
        inside = b.clamp(-2.9, 2.5)
        i = ((inside.unsqueeze(-1) >= cw).sum(-1) - 1).clamp(0, self.bins - 1)
        take = lambda z, k: z.gather(-1, k.unsqueeze(-1)).squeeze(-1)
        width, height, low, base = take(w, i) * 6, take(v, i) * 6, take(cw, i), take(cv, i)
        d0, d1, t = take(d, i), take(d, i + 1), (inside - low) / width
        slope = height / width
        under = slope + (d0 + d1 - 2 * slope) * t * (1 - t)
        y = base + height * (slope * t * t + d0 * t * (1 - t)) / under
        log = torch.log(slope * slope * (d1 * t * t + 2 * slope * t * (1 - t) + d0 * (1 - t) ** 2)) - 2 * torch.log(under)
        hat = torch.relu(1 - (a.unsqueeze(-1) - self.grid).abs() / 0.5)
        return torch.cat((a + 0.1 * hat.sum(-1), y), -1), log.sum(-1)


def spline():
    return Case(Spline(), [(randn(5, 4),), (randn(2, 4),), (randn(11, 4),)], ["x"], {"x": {0: "n"}})


class Whisper(nn.Module):
    """Spectra through strided convolutions, sinusoidal places, an encoder; a decoder's step with caches of its own and of the encoder's keys."""

    def __init__(self, dim=16, heads=2):
        super().__init__()
        self.heads, self.each = heads, dim // heads
        self.c1, self.c2 = nn.Conv1d(8, dim, 3, padding=1), nn.Conv1d(dim, dim, 3, 2, 1)
        at = torch.arange(64).float()[:, None] * torch.exp(-math.log(10000) * torch.arange(8) / 7)[None]
        self.register_buffer("place", torch.cat((at.sin(), at.cos()), 1))
        self.layer, self.embed = nn.TransformerEncoderLayer(dim, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True), nn.Embedding(40, dim)
        self.at, self.own, self.cross, self.norm = nn.Parameter(randn(32, dim)), nn.Linear(dim, 3 * dim), nn.Linear(dim, 3 * dim), RMS(dim)

    def split(self, x):
        return x.view(x.shape[0], -1, self.heads, self.each).transpose(1, 2)

    def forward(self, mel, ids, past):
        h = F.gelu(self.c2(F.gelu(self.c1(mel)))).transpose(1, 2)
        h = self.layer(h + self.place[:h.shape[1]])
        n, m = past.shape[3], ids.shape[1]
        x = self.embed(ids) + self.at[n:n + m]
        q, k, v = map(self.split, self.own(self.norm(x)).chunk(3, -1))
        k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        mask = torch.ones(m, n + m, dtype=torch.bool).tril(diagonal=n)
        x = x + F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        q = self.split(self.cross(x)[..., :16])
        kk, vv = map(self.split, self.cross(h)[..., 16:].chunk(2, -1))
        x = x + F.scaled_dot_product_attention(q, kk, vv).transpose(1, 2).flatten(2)
        return F.log_softmax(self.norm(x) @ self.embed.weight.T, -1), torch.stack((k, v))


def whisper():
    make = lambda b, t, m, n: (randn(b, 8, t), torch.randint(0, 40, (b, m)), randn(2, b, 2, n, 8))
    return Case(Whisper(), [make(2, 20, 3, 4), make(1, 31, 2, 9), make(3, 12, 5, 2)], ["mel", "ids", "past"],
                {"mel": {0: "b", 2: "t"}, "ids": {0: "b", 1: "m"}, "past": {1: "b", 3: "n"}}, kinds=("dynamo",))


REST = {f.__name__: f for f in (
    densenet, segformer, diffusion, dit, deeplab, mobilevit, deepsets, tabular, tabular_mean, bags, ft_transformer, message, masked, packed, retnet, hifigan,
    forecast, fourier, pairs, spline, whisper)}
