"""Architectures in plain torch.nn for tests/oracle/torch_onnx.py, small in width, and what they are run on.

ARCHITECTURES: name -> function that gives a Case. The weights are PyTorch's own, of a seed.
"""
import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Case:
    module: nn.Module
    inputs: list            # tuples of tensors, one a data set; the model is exported with the first
    names: list             # of the inputs
    dynamic: dict = field(default_factory=dict)     # input name -> {dim: name of its size}
    kinds: tuple = ("script", "dynamo")             # exporters that can write it, as it is
    graph: bool = True                              # it becomes one graph, which is written and read again


def randn(*shape):
    return torch.randn(*shape)


# ---- perceptrons and convolutions ----------------------------------------------------------------

def mlp():
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 24), nn.GELU(), nn.Dropout(0.2), nn.Linear(24, 8), nn.LogSoftmax(-1))
    return Case(net, [(randn(4, 16),)], ["x"])


class NormCNN(nn.Module):
    """Each kind of norm behind a convolution, each kind of activation."""

    def __init__(self):
        super().__init__()
        self.a, self.na = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.b, self.nb = nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.GroupNorm(3, 12)
        self.c, self.nc = nn.Conv2d(12, 12, (3, 5), dilation=2, padding=(2, 4), groups=4), nn.InstanceNorm2d(12, affine=True)
        self.d, self.nd = nn.Conv2d(12, 16, 1), nn.LayerNorm(16)
        self.lrn = nn.LocalResponseNorm(3)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        x = F.elu(self.na(self.a(x)))
        x = F.leaky_relu(self.nb(self.b(x)), 0.1)
        x = F.softplus(self.nc(self.c(self.lrn(x))))
        x = F.mish(self.nd(self.d(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2))
        x = F.max_pool2d(x, 3, 2, 1) + F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def warm(net, *args):
    """Running statistics of batch norms that are not 0 and 1."""
    net.train()
    with torch.no_grad():
        for _ in range(3):
            net(*args)
    return net.eval()


def cnn():
    return Case(warm(NormCNN(), randn(4, 3, 20, 20)), [(randn(2, 3, 20, 20),), (randn(3, 3, 20, 20),)], ["x"], {"x": {0: "batch"}})


class Basic(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o))
        self.short = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if stride > 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def resnet18():
    width = [8, 8, 12, 16, 24]
    layers = [nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for k in range(4):
        layers += [Basic(width[k], width[k + 1], 1 if k == 0 else 2), Basic(width[k + 1], width[k + 1], 1)]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10))
    return Case(warm(net, randn(4, 3, 64, 64)), [(randn(1, 3, 64, 64),)], ["image"])


class Squeeze(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, max(c // 4, 2), 1), nn.Conv2d(max(c // 4, 2), c, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.b(F.relu(self.a(x.mean((2, 3), keepdim=True)))))


class Inverted(nn.Module):
    def __init__(self, i, e, o, k, s, se, act):
        super().__init__()
        layers = [nn.Conv2d(i, e, 1, bias=False), nn.BatchNorm2d(e), act(), nn.Conv2d(e, e, k, s, k // 2, groups=e, bias=False), nn.BatchNorm2d(e), act()]
        layers += [Squeeze(e)] if se else []
        self.body, self.same = nn.Sequential(*layers, nn.Conv2d(e, o, 1, bias=False), nn.BatchNorm2d(o)), s == 1 and i == o

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


def mobilenetv3():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(),
                        Inverted(8, 16, 8, 3, 1, False, nn.ReLU), Inverted(8, 24, 12, 3, 2, True, nn.ReLU),
                        Inverted(12, 36, 12, 5, 1, True, nn.Hardswish), Inverted(12, 40, 16, 5, 2, True, nn.Hardswish),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 32), nn.Hardswish(), nn.Linear(32, 10))
    return Case(warm(net, randn(4, 3, 32, 32)), [(randn(2, 3, 32, 32),), (randn(5, 3, 32, 32),)], ["image"], {"image": {0: "batch"}})


class UNet(nn.Module):
    """Upsampling by bilinear, nearest and bicubic Resize to the sizes of the skipped features."""

    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.SiLU())
        self.d1, self.d2, self.d3 = block(2, 6), block(6, 10), block(10, 14)
        self.u2, self.u1, self.out = block(24, 10), block(16, 6), nn.Conv2d(6, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.avg_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2, mode="bilinear", align_corners=False), b], 1))
        a = self.u1(torch.cat([F.interpolate(b, size=a.shape[2:], mode="nearest"), a], 1))
        y = self.out(a)
        return y, F.interpolate(y, scale_factor=1.5, mode="bicubic", align_corners=False), F.interpolate(y, size=(9, 11), mode="bilinear", align_corners=True)


def unet():
    return Case(warm(UNet(), randn(2, 2, 16, 16)), [(randn(1, 2, 16, 24),), (randn(2, 2, 16, 24),)], ["x"], {"x": {0: "batch"}})


# ---- transformers --------------------------------------------------------------------------------

class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 24, 8, 8), nn.Parameter(randn(1, 1, 24))
        self.place = nn.Parameter(randn(1, 17, 24) * 0.1)
        layer = nn.TransformerEncoderLayer(24, 4, 48, 0.0, "gelu", batch_first=True, norm_first=True)
        self.body, self.norm, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.LayerNorm(24), nn.Linear(24, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
        return self.head(self.norm(self.body(x))[:, 0])


def vit():
    return Case(ViT(), [(randn(2, 3, 32, 32),), (randn(4, 3, 32, 32),)], ["image"], {"image": {0: "batch"}})


class RMSNorm(nn.Module):
    """nn.RMSNorm in plain operators: the older exporter has none."""

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * randn(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class GPT(nn.Module):
    """Rotary positions, RMS norms, SwiGLU; each layer's keys and values are given and returned."""

    def __init__(self, layers=2, dim=32, heads=4, words=50):
        super().__init__()
        self.heads, self.head_dim, self.n = heads, dim // heads, layers
        self.embed, self.norm = nn.Embedding(words, dim), RMSNorm(dim)
        self.layers = nn.ModuleList(nn.ModuleDict(dict(
            n1=RMSNorm(dim), qkv=nn.Linear(dim, 3 * dim, bias=False), o=nn.Linear(dim, dim, bias=False),
            n2=RMSNorm(dim), up=nn.Linear(dim, 2 * 2 * dim, bias=False), down=nn.Linear(2 * dim, dim, bias=False))) for _ in range(layers))

    def rotate(self, x, at):
        half = self.head_dim // 2
        angle = at[:, None].float() * torch.exp(torch.arange(half) * (-math.log(10000.0) / half))
        c, s = torch.cos(angle), torch.sin(angle)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * c - b * s, a * s + b * c], -1)

    def forward(self, ids, past_k, past_v):
        b, t = ids.shape
        p = past_k.shape[3]
        x, at = self.embed(ids), torch.arange(p, p + t)
        seen = torch.arange(p + t)[None, :] <= at[:, None]
        ks, vs = [], []
        for i, l in enumerate(self.layers):
            q, k, v = l["qkv"](l["n1"](x)).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
            q, k = self.rotate(q, at), self.rotate(k, at)
            k, v = torch.cat([past_k[i], k], 2), torch.cat([past_v[i], v], 2)
            ks.append(k)
            vs.append(v)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
            x = x + l["o"](y.transpose(1, 2).reshape(b, t, -1))
            g, u = l["up"](l["n2"](x)).chunk(2, -1)
            x = x + l["down"](F.silu(g) * u)
        return F.linear(self.norm(x), self.embed.weight), torch.stack(ks), torch.stack(vs)


def gpt():
    make = lambda b, t, p: (torch.randint(0, 50, (b, t)), randn(2, b, 4, p, 8), randn(2, b, 4, p, 8))
    cache = {1: "batch", 3: "past"}
    return Case(GPT(), [make(2, 3, 5), make(3, 2, 9), make(2, 4, 5)], ["ids", "past_k", "past_v"],
                {"ids": {0: "batch", 1: "steps"}, "past_k": cache, "past_v": cache})


class Attend(nn.Module):
    """Attention whose sizes stay symbolic: nn.MultiheadAttention's become numbers in the older exporter."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.o = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, seen=None):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.o(y.transpose(1, 2).reshape(b, t, c))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attend, self.n1, self.n2 = Attend(dim, heads), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        x = self.n1(x + self.attend(x))
        return self.n2(x + self.down(F.gelu(self.up(x))))


class BERT(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.kind, self.place = nn.Embedding(60, 32, padding_idx=0), nn.Embedding(2, 32), nn.Embedding(64, 32)
        self.norm = nn.LayerNorm(32, eps=1e-12)
        self.layers = nn.ModuleList(nn.ModuleDict(dict(
            q=nn.Linear(32, 32), k=nn.Linear(32, 32), v=nn.Linear(32, 32), o=nn.Linear(32, 32), n1=nn.LayerNorm(32),
            up=nn.Linear(32, 64), down=nn.Linear(64, 32), n2=nn.LayerNorm(32))) for _ in range(2))
        self.pool = nn.Linear(32, 32)

    def forward(self, ids, mask, kinds):
        b, t = ids.shape
        x = self.norm(self.word(ids) + self.kind(kinds) + self.place(torch.arange(t))[None])
        bias = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
        for l in self.layers:
            q, k, v = (l[n](x).view(b, t, 4, 8).transpose(1, 2) for n in "qkv")
            p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(8) + bias, -1)
            x = l["n1"](x + l["o"]((p @ v).transpose(1, 2).reshape(b, t, 32)))
            x = l["n2"](x + l["down"](F.gelu(l["up"](x))))
        return x, torch.tanh(self.pool(x[:, 0]))


def bert():
    def make(b, t):
        mask = (torch.arange(t)[None] < torch.randint(2, t + 1, (b, 1))).long()
        return torch.randint(1, 60, (b, t)) * mask, mask, torch.randint(0, 2, (b, t))
    dims = {0: "batch", 1: "length"}
    return Case(BERT(), [make(2, 7), make(3, 12)], ["ids", "mask", "kinds"], {n: dims for n in ("ids", "mask", "kinds")})


# ---- sequences -----------------------------------------------------------------------------------

class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.body, self.head = kind(10, 12, batch_first=True, **options), nn.Linear(24 if options.get("bidirectional") else 12, 4)

    def forward(self, x, *state):
        y, s = self.body(x, (state if len(state) > 1 else state[0])) if state else self.body(x)
        return self.head(y), *(s if isinstance(s, tuple) else (s,))


def lstm():
    dims = {1: "batch"}
    return Case(Recurrent(nn.LSTM, num_layers=2), [(randn(2, 6, 10), randn(2, 2, 12), randn(2, 2, 12)), (randn(3, 9, 10), randn(2, 3, 12), randn(2, 3, 12))],
                ["x", "h", "c"], {"x": {0: "batch", 1: "steps"}, "h": dims, "c": dims})


def gru():
    return Case(Recurrent(nn.GRU, bidirectional=True), [(randn(2, 7, 10),)], ["x"])


class GNN(nn.Module):
    """Messages along edges: gathered, added up at their ends, divided by the degree; then attention by scatter max.
    No index_add: the older exporter writes it without the addition."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.s = nn.Linear(12, 16), nn.Linear(16, 16), nn.Linear(32, 1)
        self.head = nn.Linear(16, 3)

    def collect(self, n, dst, messages):
        return torch.zeros(n, 16).scatter_add(0, dst[:, None].expand(-1, 16), messages)

    def forward(self, x, edges):
        n, (src, dst) = x.shape[0], (edges[0], edges[1])
        one = torch.ones(edges.shape[1])
        degree = torch.zeros(n).scatter_add(0, dst, one).clamp(min=1)
        h = F.relu(self.a(x))
        h = h + self.collect(n, dst, h[src]) / degree[:, None]
        h = F.relu(self.b(h))
        score = F.leaky_relu(self.s(torch.cat([h[src], h[dst]], 1)).squeeze(1), 0.2)
        most = torch.full((n,), -1e9).scatter_reduce(0, dst, score, "amax")
        e = torch.exp(score - most[dst])
        total = torch.zeros(n).scatter_add(0, dst, e)
        h = self.collect(n, dst, (e / (total[dst] + 1e-9))[:, None] * h[src])
        return self.head(h), h.mean(0)


def gnn():
    make = lambda n, e: (randn(n, 12), torch.randint(0, n, (2, e)))
    return Case(GNN(), [make(9, 20), make(14, 33)], ["x", "edges"], {"x": {0: "nodes"}, "edges": {1: "edges_count"}})


class Audio(nn.Module):
    """Dilated causal convolutions with gates, as of WaveNet."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 12, 1)
        self.gates = nn.ModuleList(nn.Conv1d(12, 24, 2, dilation=d) for d in (1, 2, 4, 8))
        self.mix = nn.ModuleList(nn.Conv1d(12, 12, 1) for _ in range(4))
        self.out = nn.Conv1d(12, 6, 1)

    def forward(self, x):
        x, skip = self.first(x), 0
        for d, g, m in zip((1, 2, 4, 8), self.gates, self.mix):
            a, b = g(F.pad(x, (d, 0))).chunk(2, 1)
            y = m(torch.tanh(a) * torch.sigmoid(b))
            x, skip = x + y, skip + y
        return F.log_softmax(self.out(F.relu(skip)), 1)


def audio():
    return Case(Audio(), [(randn(2, 1, 40),), (randn(1, 1, 65),)], ["wave"], {"wave": {0: "batch", 2: "samples"}})


class Wav2Vec(nn.Module):
    """Strided convolutions with norms, positions by a grouped convolution under weight norm, transformer layers."""

    def __init__(self):
        super().__init__()
        self.c = nn.ModuleList([nn.Conv1d(1, 16, 10, 5), nn.Conv1d(16, 16, 3, 2), nn.Conv1d(16, 24, 3, 2)])
        self.g, self.n = nn.GroupNorm(16, 16), nn.LayerNorm(24)
        self.place = nn.utils.parametrizations.weight_norm(nn.Conv1d(24, 24, 8, padding=4, groups=4), dim=2)
        self.body, self.head = nn.Sequential(Layer(24, 3), Layer(24, 3)), nn.Linear(24, 9)

    def forward(self, x):
        x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-7)
        x = F.gelu(self.g(self.c[0](x[:, None])))
        x = F.gelu(self.c[2](F.gelu(self.c[1](x))))
        x = self.n(x.transpose(1, 2))
        x = x + F.gelu(self.place(x.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
        return F.log_softmax(self.head(self.body(x)), -1)


def wav2vec():
    return Case(Wav2Vec(), [(randn(2, 400),), (randn(1, 520),)], ["wave"], {"wave": {0: "batch", 1: "samples"}})


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        mlp = lambda n, h: nn.Sequential(nn.Linear(n, h), nn.GELU(approximate="tanh"), nn.Linear(h, n))
        self.patch = nn.Conv2d(3, 20, 4, 4)
        self.tokens, self.channels = nn.ModuleList(mlp(16, 12) for _ in range(2)), nn.ModuleList(mlp(20, 40) for _ in range(2))
        self.n1, self.n2 = nn.ModuleList(nn.LayerNorm(20) for _ in range(2)), nn.ModuleList(nn.LayerNorm(20) for _ in range(2))
        self.head = nn.Linear(20, 5)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for t, c, a, b in zip(self.tokens, self.channels, self.n1, self.n2):
            x = x + t(a(x).transpose(1, 2)).transpose(1, 2)
            x = x + c(b(x))
        return self.head(x.mean(1))


def mixer():
    return Case(Mixer(), [(randn(2, 3, 16, 16),)], ["image"])


# ---- generators ----------------------------------------------------------------------------------

class VAE(nn.Module):
    """The noise is an input: its numbers are the test's."""

    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(20, 32), nn.Softsign(), nn.Linear(32, 12))
        self.dec = nn.Sequential(nn.Linear(6, 32), nn.SELU(), nn.Linear(32, 20), nn.Sigmoid())

    def forward(self, x, noise):
        mean, log_var = self.enc(x).chunk(2, 1)
        y = self.dec(mean + torch.exp(0.5 * log_var) * noise)
        kl = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp(), 1)
        return y, kl, F.mse_loss(y, torch.sigmoid(x), reduction="none").sum(1)


def vae():
    make = lambda b: (randn(b, 20), randn(b, 6))
    return Case(VAE(), [make(3), make(5)], ["x", "noise"], {"x": {0: "batch"}, "noise": {0: "batch"}})


class Autoencoder(nn.Module):
    """Pools that tell their places, unpooled."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 8, 3, padding=1)
        self.c, self.d = nn.ConvTranspose2d(8, 6, 3, padding=1), nn.ConvTranspose2d(6, 1, 4, 2, 1)

    def forward(self, x):
        x = F.max_pool2d(F.relu6(self.a(x)), 2)
        code = F.max_pool2d(F.celu(self.b(x)), 2)
        y = self.c(F.interpolate(code, scale_factor=2, mode="nearest"))
        return torch.sigmoid(self.d(F.prelu(y, torch.tensor([0.1])))), code.flatten(1).norm(dim=1)


def autoencoder():
    return Case(Autoencoder(), [(randn(2, 1, 16, 12),), (randn(3, 1, 16, 12),)], ["x"], {"x": {0: "batch"}})


def gan():
    net = nn.Sequential(nn.Unflatten(1, (12, 1, 1)), nn.ConvTranspose2d(12, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.LeakyReLU(0.2),
                        nn.ConvTranspose2d(8, 8, 3, 3, 2, output_padding=1, groups=2, dilation=2), nn.InstanceNorm2d(8), nn.ReLU(),
                        nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh())
    return Case(warm(net, randn(4, 12)), [(randn(2, 12),), (randn(3, 12),)], ["z"], {"z": {0: "batch"}})


def super_resolution():
    net = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2, padding_mode="reflect"), nn.Tanh(), nn.Conv2d(16, 12, 3, padding=1, padding_mode="replicate"), nn.Tanh(),
                        nn.Conv2d(12, 9, 3, padding=1), nn.PixelShuffle(3))
    return Case(net, [(randn(1, 1, 12, 10),), (randn(2, 1, 17, 13),)], ["x"], {"x": {0: "batch", 2: "height", 3: "width"}})


# ---- a detector ----------------------------------------------------------------------------------

@torch.library.custom_op("dync_tests::nms", mutates_args=())
def nms(boxes: torch.Tensor, scores: torch.Tensor, most: int, overlap: float, least: float) -> torch.Tensor:
    """Boxes [N, 4] of y1 x1 y2 x2, scores [N] -> the places that stay, the best first."""
    kept, left = [], [i for i in torch.argsort(scores, descending=True).tolist() if scores[i] > least]
    while left and len(kept) < most:
        i = left.pop(0)
        kept.append(i)
        low, high = torch.maximum(boxes[i, :2], boxes[left, :2]), torch.minimum(boxes[i, 2:], boxes[left, 2:])
        both = (high - low).clamp(min=0).prod(-1)
        area = lambda b: (b[..., 2:] - b[..., :2]).prod(-1)
        far = both / (area(boxes[i]) + area(boxes[left]) - both) <= overlap
        left = [j for j, stays in zip(left, far.tolist()) if stays]
    return torch.tensor(kept, dtype=torch.int64)


@nms.register_fake
def _(boxes, scores, most, overlap, least):
    return boxes.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


class Detector(nn.Module):
    """A grid of boxes; those of the best scores, without those that overlap a better one."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU())
        self.box, self.kind = nn.Conv2d(16, 4, 1), nn.Conv2d(16, 3, 1)

    def forward(self, x):
        f = self.body(x)
        h, w = f.shape[2], f.shape[3]
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        at = torch.stack([y, x], -1).reshape(-1, 2).float()
        box = self.box(f)[0].permute(1, 2, 0).reshape(-1, 4)
        centre, size = at + torch.tanh(box[:, :2]), torch.exp(box[:, 2:]) * 1.5
        boxes = torch.cat([centre - size / 2, centre + size / 2], 1)
        score, kind = torch.sigmoid(self.kind(f)[0].flatten(1)).max(0)
        score, order = torch.topk(score, 24)
        boxes, kind = boxes[order], kind[order]
        kept = nms(boxes, score, 10, 0.3, 0.05)
        return boxes[kept], score[kept], kind[kept]


def detector():
    return Case(Detector(), [(randn(1, 3, 32, 32),), (randn(1, 3, 32, 32),)], ["image"])


# ---- sizes that are known late -------------------------------------------------------------------

class Dynamic(nn.Module):
    """Shape arithmetic on a batch and a length that calls tell."""

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(6, 12)
        self.attend = Attend(12, 3)

    def forward(self, x, valid):
        b, t, _ = x.shape
        h = self.w(x)
        y = self.attend(h, valid[:, None, None])
        pairs = (y[:, :, None] - y[:, None]).pow(2).sum(-1)
        far = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        pairs = pairs.masked_fill(far, 0.0)
        half = y.reshape(b * t, 3, 4).flip(1).reshape(b, -1)[:, : 12 * (t // 2)]
        picked = torch.where(valid[..., None], y, torch.zeros_like(y)).cumsum(1)
        return pairs, half, picked, torch.einsum("bti,bsi->bts", y, h), torch.roll(y, 1, 1).argmax(-1), y.std(1)


def dynamic():
    def make(b, t):
        return randn(b, t, 6), torch.arange(t)[None] < torch.randint(1, t + 1, (b, 1))
    return Case(Dynamic(), [make(2, 5), make(4, 8), make(3, 3)], ["x", "valid"], {"x": {0: "batch", 1: "steps"}, "valid": {0: "batch", 1: "steps"}})


ARCHITECTURES = {f.__name__: f for f in (
    mlp, cnn, resnet18, mobilenetv3, unet, vit, gpt, bert, lstm, gru, gnn, vae, detector, super_resolution, audio, wav2vec, mixer, autoencoder, gan, dynamic)}
