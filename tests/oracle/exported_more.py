"""Further architectures for tests/oracle/torch_onnx.py, of kinds that exported.py has none of.

MORE: name -> function that gives a Case, as there.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

from exported import Case, nms, randn, warm


# ---- pictures ------------------------------------------------------------------------------------

class ConvNeXt(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.stem, self.down = nn.Conv2d(3, dim, 4, 4), nn.Conv2d(dim, 2 * dim, 2, 2)
        self.norms = nn.ModuleList(nn.LayerNorm(d, eps=1e-6) for d in (dim, dim, 2 * dim))
        self.deep = nn.ModuleList(nn.Conv2d(d, d, 7, padding=3, groups=d) for d in (dim, 2 * dim))
        self.up = nn.ModuleList(nn.Linear(d, 4 * d) for d in (dim, 2 * dim))
        self.back = nn.ModuleList(nn.Linear(4 * d, d) for d in (dim, 2 * dim))
        self.scale = nn.ParameterList(torch.rand(d) for d in (dim, 2 * dim))
        self.last, self.head = nn.LayerNorm(2 * dim), nn.Linear(2 * dim, 7)

    def block(self, x, i, norm):
        y = self.deep[i](x).permute(0, 2, 3, 1)
        y = self.scale[i] * self.back[i](F.gelu(self.up[i](norm(y))))
        return x + y.permute(0, 3, 1, 2)

    def forward(self, x):
        x = self.block(self.stem(x), 0, self.norms[0])
        x = self.norms[1](x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        x = self.block(self.down(x), 1, self.norms[2])
        return self.head(self.last(x.mean([-2, -1])))


def convnext():
    return Case(ConvNeXt(), [(randn(2, 3, 32, 48),), (randn(1, 3, 64, 32),), (randn(5, 3, 32, 32),)], ["x"], {"x": {0: "batch", 2: "h", 3: "w"}})


class Window(nn.Module):
    """Attention in windows that are shifted, with a bias by places and masks where the picture ends."""

    def __init__(self, dim, heads, size, window, shift):
        super().__init__()
        self.heads, self.size, self.window, self.shift = heads, size, window, shift
        self.norm, self.qkv, self.proj = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        off = (at[:, :, None] - at[:, None]).permute(1, 2, 0) + window - 1
        self.register_buffer("place", off[..., 0] * (2 * window - 1) + off[..., 1])
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.1)
        part = torch.zeros(1, size, size, 1)
        cuts = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
        for i, h in enumerate(cuts):
            for j, w in enumerate(cuts):
                part[:, h, w] = 3 * i + j
        part = self.windows(part).squeeze(-1)
        mask = (part[:, None] - part[:, :, None]).ne(0).float() * -100.0
        self.register_buffer("mask", mask if shift else torch.zeros_like(mask))

    def windows(self, x):
        b, h, w, c = x.shape
        n = self.window
        return x.view(b, h // n, n, w // n, n, c).transpose(2, 3).reshape(-1, n * n, c)

    def forward(self, x):
        b, h, w, c = x.shape
        n, heads = self.window, self.heads
        y = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2)) if self.shift else self.norm(x)
        q, k, v = self.qkv(self.windows(y)).reshape(-1, n * n, 3, heads, c // heads).permute(2, 0, 3, 1, 4).unbind(0)
        s = (q * (c // heads) ** -0.5) @ k.transpose(-2, -1)
        s = s + self.bias[self.place.view(-1)].view(n * n, n * n, heads).permute(2, 0, 1)
        s = s.view(b, -1, heads, n * n, n * n) + self.mask[None, :, None]
        y = s.view(-1, heads, n * n, n * n).softmax(-1) @ v
        y = self.proj(y.transpose(1, 2).reshape(-1, n * n, c))
        y = y.view(b, h // n, w // n, n, n, c).transpose(2, 3).reshape(b, h, w, c)
        return x + (torch.roll(y, (self.shift, self.shift), (1, 2)) if self.shift else y)


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.merge, self.norm = nn.Conv2d(3, 16, 4, 4), nn.Linear(64, 32, bias=False), nn.LayerNorm(64)
        self.a, self.b, self.c = Window(16, 2, 8, 4, 0), Window(16, 2, 8, 4, 2), Window(32, 4, 4, 2, 1)

    def forward(self, x):
        x = self.b(self.a(self.patch(x).permute(0, 2, 3, 1)))
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        return self.c(self.merge(self.norm(x))).mean((1, 2))


def swin():
    return Case(Swin(), [(randn(2, 3, 32, 32),), (randn(1, 3, 32, 32),), (randn(5, 3, 32, 32),)], ["x"], {"x": {0: "batch"}})


class MBConv(nn.Module):
    def __init__(self, i, o, wide, k, stride):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(i, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU(),
                               nn.Conv2d(wide, wide, k, stride, k // 2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.SiLU())
        self.se = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 4, 1), nn.SiLU(), nn.Conv2d(4, wide, 1), nn.Sigmoid())
        self.b = nn.Sequential(nn.Conv2d(wide, o, 1, bias=False), nn.BatchNorm2d(o))
        self.same = i == o and stride == 1

    def forward(self, x):
        y = self.a(x)
        y = self.b(y * self.se(y))
        return x + y if self.same else y


def efficientnet():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), MBConv(8, 8, 24, 3, 1), MBConv(8, 12, 32, 5, 2), MBConv(12, 12, 48, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 6))
    return Case(warm(net, randn(4, 3, 32, 32)), [(randn(2, 3, 32, 32),), (randn(1, 3, 48, 32),), (randn(3, 3, 32, 64),)], ["x"], {"x": {0: "batch", 2: "h", 3: "w"}})


class Yolo(nn.Module):
    """Anchors on two grids, decoded, the best classes, without those that overlap a better one."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 12, 3, 2, 1), nn.SiLU())
        self.b = nn.Sequential(nn.Conv2d(12, 16, 3, 2, 1), nn.SiLU())
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.heads = nn.ModuleList([nn.Conv2d(28, 3 * 9, 1), nn.Conv2d(32, 3 * 9, 1)])
        self.register_buffer("anchors", torch.tensor([[[4., 6], [8, 5], [7, 9]], [[12, 15], [20, 12], [24, 25]]]))

    def decode(self, i, x, stride):
        y = self.heads[i](x)
        b, _, h, w = y.shape
        y = y.view(b, 3, 9, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        gy, gx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((gx, gy), 2).view(1, 1, h, w, 2).float()
        xy = (y[..., 0:2] * 2 - 0.5 + grid) * stride
        wh = (y[..., 2:4] * 2) ** 2 * self.anchors[i].view(1, 3, 1, 1, 2)
        return torch.cat((xy, wh, y[..., 4:]), -1).view(b, -1, 9)

    def forward(self, x):
        a = self.a(x)
        b = self.b(a)
        b = torch.cat((b, self.pool(b)), 1)
        up = F.interpolate(b[:, :16], scale_factor=2, mode="nearest")
        z = torch.cat((self.decode(0, torch.cat((a, up), 1), 4), self.decode(1, b, 8)), 1)
        p = z[0]
        score, kind = (p[:, 5:] * p[:, 4:5]).max(1)
        box = torch.cat((p[:, :2] - p[:, 2:4] / 2, p[:, :2] + p[:, 2:4] / 2), 1)
        kept = nms(box + kind[:, None].float() * 1000, score, 20, 0.45, 0.2)
        return z, torch.cat((box[kept], score[kept, None], kind[kept, None].float()), 1)


def yolo():
    return Case(Yolo(), [(randn(1, 3, 32, 32),), (randn(1, 3, 48, 32),)], ["x"], {"x": {2: "h", 3: "w"}})


class Style(nn.Module):
    """Convolutions whose weights each picture has its own of, blurred when they grow."""

    def __init__(self):
        super().__init__()
        self.map = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16))
        self.first = nn.Parameter(randn(1, 10, 4, 4))
        self.weight = nn.ParameterList(randn(o, i, 3, 3) for i, o in ((10, 10), (10, 6)))
        self.style = nn.ModuleList(nn.Linear(16, 10) for _ in range(2))
        self.register_buffer("noise", randn(1, 1, 8, 8))
        blur = torch.tensor([1., 3, 3, 1])
        self.register_buffer("blur", (blur[:, None] * blur)[None, None] / 16)
        self.rgb = nn.Conv2d(6, 3, 1)

    def modulated(self, x, i, style):
        b, c = x.shape[:2]
        w = self.weight[i][None] * (self.style[i](style) + 1)[:, None, :, None, None]
        w = w * torch.rsqrt(w.pow(2).sum([2, 3, 4], keepdim=True) + 1e-8)
        o = w.shape[1]
        y = F.conv2d(x.reshape(1, b * c, *x.shape[2:]), w.reshape(b * o, c, 3, 3), padding=1, groups=b)
        return y.reshape(b, o, *y.shape[2:])

    def forward(self, z):
        style = self.map(z * torch.rsqrt(z.pow(2).mean(1, keepdim=True) + 1e-8))
        x = F.leaky_relu(self.modulated(self.first.repeat(z.shape[0], 1, 1, 1), 0, style), 0.2) * math.sqrt(2)
        b, c, h, w = x.shape
        x = F.pad(x.reshape(b, c, h, 1, w, 1), (0, 1, 0, 0, 0, 1)).reshape(b, c, 2 * h, 2 * w)
        x = F.conv2d(F.pad(x, (2, 1, 2, 1)), self.blur.repeat(c, 1, 1, 1), groups=c)
        x = F.leaky_relu(self.modulated(x, 1, style) + 0.1 * self.noise, 0.2)
        return self.rgb(x).clamp(-1, 1)


def stylegan():
    return Case(Style(), [(randn(3, 8),)], ["z"], kinds=("dynamo",))


def espcn():
    net = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.Tanh(), nn.Conv2d(16, 8, 3, padding=1), nn.Tanh(), nn.Conv2d(8, 9, 3, padding=1), nn.PixelShuffle(3))
    return Case(net, [(randn(1, 1, 10, 14),), (randn(2, 1, 7, 5),), (randn(1, 1, 32, 9),)], ["x"], {"x": {0: "batch", 2: "h", 3: "w"}})


class Detr(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, dim, 3, 4, 1))
        self.transformer = nn.Transformer(dim, 4, 1, 2, 32, dropout=0.0, batch_first=True)
        self.query, self.kind, self.box = nn.Embedding(6, dim), nn.Linear(dim, 4), nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 4))
        self.dim = dim

    def places(self, f):
        ones = torch.ones_like(f[:, 0])
        y, x = ones.cumsum(1), ones.cumsum(2)
        y, x = y / (y[:, -1:] + 1e-6) * 2 * math.pi, x / (x[:, :, -1:] + 1e-6) * 2 * math.pi
        by = 10000 ** (2 * torch.div(torch.arange(self.dim // 2).float(), 2, rounding_mode="floor") / (self.dim // 2))
        x, y = x[..., None] / by, y[..., None] / by
        x = torch.stack((x[..., 0::2].sin(), x[..., 1::2].cos()), 4).flatten(3)
        y = torch.stack((y[..., 0::2].sin(), y[..., 1::2].cos()), 4).flatten(3)
        return torch.cat((y, x), 3)

    def forward(self, x):
        f = self.body(x)
        b = f.shape[0]
        source = f.flatten(2).transpose(1, 2) + self.places(f).flatten(1, 2)
        y = self.transformer(source, self.query.weight[None].repeat(b, 1, 1))
        return self.kind(y), self.box(y).sigmoid()


def detr():
    return Case(Detr(), [(randn(2, 3, 32, 40),), (randn(2, 3, 32, 40),)], ["x"])


class Spatial(nn.Module):
    """A picture looked at through a grid that the network makes of it."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(1, 4, 5, 2), nn.ReLU(), nn.MaxPool2d(4, 2), nn.Flatten(), nn.Linear(36, 6))

    def forward(self, x):
        theta = self.look(x).view(-1, 2, 3) * 0.3 + torch.tensor([[1., 0, 0], [0, 1, 0]])
        return F.grid_sample(x, F.affine_grid(theta, x.size(), align_corners=False), align_corners=False, padding_mode="border")


def spatial():
    return Case(Spatial(), [(randn(2, 1, 20, 20),), (randn(4, 1, 20, 20),)], ["x"], {"x": {0: "batch"}})


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv3d(1, 6, 3, padding=1), nn.Conv3d(6, 10, 3, 2, 1)
        self.up, self.c = nn.ConvTranspose3d(10, 6, 2, 2), nn.Conv3d(12, 2, 1)
        self.norm = nn.InstanceNorm3d(6)

    def forward(self, x):
        a = F.leaky_relu(self.norm(self.a(x)))
        b = F.relu(self.b(a))
        y = self.c(torch.cat((self.up(b), a), 1))
        return F.interpolate(y, scale_factor=2, mode="trilinear", align_corners=False), F.max_pool3d(y, 2)


def volume():
    return Case(Volume(), [(randn(1, 1, 8, 6, 4),), (randn(2, 1, 4, 8, 10),)], ["x"], {"x": {0: "batch", 2: "d", 3: "h", 4: "w"}})


def shuffle():
    class Shuffle(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 16, 3, 2, 1)
            self.branch = nn.Sequential(nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 1), nn.Hardswish())

        def forward(self, x):
            x = self.stem(x)
            for _ in range(2):
                a, b = x.chunk(2, 1)
                x = torch.cat((a, self.branch(b)), 1)
                n, c, h, w = x.shape
                x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
            return x.mean((2, 3))
    return Case(warm(Shuffle(), randn(4, 3, 16, 16)), [(randn(2, 3, 16, 16),), (randn(1, 3, 20, 16),)], ["x"], {"x": {0: "batch", 2: "h", 3: "w"}})


# ---- text ----------------------------------------------------------------------------------------

class RMS(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Parameter(torch.rand(dim) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.w


class Llama(nn.Module):
    """Rotated queries and keys, fewer heads of keys, a cache that grows."""

    def __init__(self, dim=16, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.each = heads, groups, dim // heads
        self.embed, self.head = nn.Embedding(50, dim), nn.Linear(dim, 50, bias=False)
        self.q, self.kv, self.o = nn.Linear(dim, dim, bias=False), nn.Linear(dim, 2 * groups * self.each, bias=False), nn.Linear(dim, dim, bias=False)
        self.gate, self.up, self.down = nn.Linear(dim, 40, bias=False), nn.Linear(dim, 40, bias=False), nn.Linear(40, dim, bias=False)
        self.n1, self.n2, self.n3 = RMS(dim), RMS(dim), RMS(dim)
        self.register_buffer("inv", 1 / 10000 ** (torch.arange(0, self.each, 2).float() / self.each))

    @staticmethod
    def rotate(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, ids, past_k, past_v):
        b, t = ids.shape
        past = past_k.shape[2]
        x = self.embed(ids)
        h = self.n1(x)
        q = self.q(h).view(b, t, self.heads, self.each).transpose(1, 2)
        k, v = self.kv(h).view(b, t, 2, self.groups, self.each).permute(2, 0, 3, 1, 4).unbind(0)
        at = (torch.arange(t) + past).float()[:, None] * self.inv
        cos, sin = torch.cat((at, at), -1).cos(), torch.cat((at, at), -1).sin()
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        k, v = torch.cat((past_k, k), 2), torch.cat((past_v, v), 2)
        many = lambda y: y[:, :, None].expand(-1, -1, self.heads // self.groups, -1, -1).reshape(b, self.heads, past + t, self.each)
        s = q @ many(k).transpose(-2, -1) / math.sqrt(self.each)
        mask = torch.arange(past + t)[None] > torch.arange(t)[:, None] + past
        y = s.masked_fill(mask, float("-inf")).softmax(-1) @ many(v)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, -1))
        h = self.n2(x)
        x = x + self.down(F.silu(self.gate(h)) * self.up(h))
        return self.head(self.n3(x)), k, v


def llama():
    def make(b, t, past):
        return torch.randint(0, 50, (b, t)), randn(b, 2, past, 4), randn(b, 2, past, 4)
    kept = {0: "batch", 2: "past"}
    return Case(Llama(), [make(2, 5, 3), make(3, 4, 7), make(1, 1, 9), make(1, 6, 0)], ["ids", "past_k", "past_v"],
                {"ids": {0: "batch", 1: "new"}, "past_k": kept, "past_v": kept})


class T5(nn.Module):
    """An encoder and a decoder with a bias by distance, in buckets."""

    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.heads, self.each = heads, dim // heads
        self.embed, self.near, self.far = nn.Embedding(40, dim), nn.Embedding(8, heads), nn.Embedding(8, heads)
        self.qkvo = nn.ModuleList(nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(4)) for _ in range(3))
        self.ff = nn.ModuleList(nn.Sequential(RMS(dim), nn.Linear(dim, 32, bias=False), nn.ReLU(), nn.Linear(32, dim, bias=False)) for _ in range(2))
        self.norm = nn.ModuleList(RMS(dim) for _ in range(5))

    @staticmethod
    def bucket(d, both):
        n = 8
        base = torch.zeros_like(d)
        if both:
            n //= 2
            base = (d > 0).long() * n
            d = d.abs()
        else:
            d = -torch.min(d, torch.zeros_like(d))
        few = n // 2
        large = few + (torch.log(d.float().clamp(min=1) / few) / math.log(16 / few) * (n - few)).long()
        return base + torch.where(d < few, d, large.clamp(max=n - 1))

    def attend(self, i, x, y, bias):
        b, t = x.shape[:2]
        q, k, v = (m(z).view(b, -1, self.heads, self.each).transpose(1, 2) for m, z in zip(self.qkvo[i], (x, y, y)))
        s = q @ k.transpose(-1, -2)
        return self.qkvo[i][3]((((s + bias) if bias is not None else s).softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1))

    def forward(self, ids, out):
        n, m = ids.shape[1], out.shape[1]
        at = torch.arange(n)
        bias = self.near(self.bucket(at[None] - at[:, None], True)).permute(2, 0, 1)[None]
        x = self.embed(ids)
        h = self.norm[0](x)
        x = x + self.attend(0, h, h, bias)
        x = self.norm[1](x + self.ff[0](x))
        at = torch.arange(m)
        bias = self.far(self.bucket(at[None] - at[:, None], False)).permute(2, 0, 1)[None]
        bias = bias + torch.full((m, m), -1e9).triu(1)
        y = self.embed(out)
        h = self.norm[2](y)
        y = y + self.attend(1, h, h, bias)
        y = y + self.attend(2, self.norm[3](y), x, None)
        return self.norm[4](y + self.ff[1](y)) @ self.embed.weight.t() * 0.25


def t5():
    def make(b, n, m):
        return torch.randint(0, 40, (b, n)), torch.randint(0, 40, (b, m))
    return Case(T5(), [make(2, 9, 6), make(3, 24, 2), make(1, 5, 20)], ["ids", "out"], {"ids": {0: "batch", 1: "n"}, "out": {0: "batch", 1: "m"}})


class Clip(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        layer = lambda: nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.patch, self.kind, self.place = nn.Conv2d(3, dim, 8, 8, bias=False), nn.Parameter(randn(dim)), nn.Parameter(randn(17, dim))
        self.look, self.read = layer(), layer()
        self.embed, self.at = nn.Embedding(30, dim), nn.Parameter(randn(12, dim))
        self.a, self.b, self.scale = nn.Parameter(randn(dim, 8)), nn.Parameter(randn(dim, 8)), nn.Parameter(torch.tensor(2.0))

    def forward(self, image, text):
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.kind.expand(x.shape[0], 1, -1), x), 1) + self.place
        x = self.look(x)[:, 0] @ self.a
        n = text.shape[1]
        y = self.embed(text) + self.at[:n]
        y = self.read(y, src_mask=torch.full((n, n), float("-inf")).triu(1))
        y = y[torch.arange(y.shape[0]), text.argmax(-1)] @ self.b
        x, y = x / x.norm(dim=-1, keepdim=True), F.normalize(y, dim=-1)
        return self.scale.exp() * x @ y.t()


def clip():
    def make(i, t, n):
        return randn(i, 3, 32, 32), torch.randint(0, 30, (t, n))
    return Case(Clip(), [make(2, 3, 10), make(4, 1, 12)], ["image", "text"], {"image": {0: "images"}, "text": {0: "texts", 1: "n"}}, kinds=("dynamo",))


class Perceiver(nn.Module):
    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(randn(5, 16))
        self.cross, self.own = nn.MultiheadAttention(16, 2, kdim=6, vdim=6, batch_first=True), nn.MultiheadAttention(16, 4, batch_first=True)
        self.norm, self.mlp = nn.LayerNorm(16), nn.Sequential(nn.Linear(16, 32), nn.GELU("tanh"), nn.Linear(32, 16))

    def forward(self, x, skip):
        z = self.latents[None].expand(x.shape[0], -1, -1)
        z = z + self.cross(z, x, x, key_padding_mask=skip, need_weights=False)[0]
        for _ in range(2):
            h = self.norm(z)
            z = z + self.own(h, h, h, need_weights=False)[0]
            z = z + self.mlp(self.norm(z))
        return z.mean(1)


def perceiver():
    def make(b, n):
        return randn(b, n, 6), torch.arange(n)[None] > torch.randint(0, n, (b, 1))
    return Case(Perceiver(), [make(2, 7), make(3, 20), make(4, 2)], ["x", "skip"], {"x": {0: "batch", 1: "n"}, "skip": {0: "batch", 1: "n"}})


class Experts(nn.Module):
    """The two best of five experts, each of which all tokens go through."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(12, 5)
        self.a, self.b = nn.Parameter(randn(5, 12, 20) * 0.2), nn.Parameter(randn(5, 20, 12) * 0.2)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        p, at = self.router(flat).softmax(-1).topk(2, -1)
        p = p / p.sum(-1, keepdim=True)
        weight = (F.one_hot(at, 5).float() * p[..., None]).sum(1)
        y = torch.einsum("nd,edh->neh", flat, self.a)
        y = torch.einsum("neh,ehd->ned", F.silu(y), self.b)
        return (y * weight[..., None]).sum(1).view_as(x), weight.sum(0)


def experts():
    return Case(Experts(), [(randn(2, 5, 12),), (randn(1, 9, 12),), (randn(4, 3, 12),)], ["x"], {"x": {0: "batch", 1: "n"}})


class Seq2Seq(nn.Module):
    """Read by a GRU, written by another that looks back, the likeliest word each time."""

    def __init__(self):
        super().__init__()
        self.embed, self.read, self.cell = nn.Embedding(20, 10), nn.GRU(10, 12, bidirectional=True, batch_first=True), nn.GRUCell(34, 24)
        self.a, self.b, self.v, self.out = nn.Linear(24, 16), nn.Linear(24, 16), nn.Linear(16, 1), nn.Linear(48, 20)

    def forward(self, ids):
        memory, h = self.read(self.embed(ids))
        h = torch.cat((h[0], h[1]), -1)
        word = torch.zeros_like(ids[:, 0])
        keys, scores = self.b(memory), []
        for _ in range(5):
            look = self.v(torch.tanh(self.a(h)[:, None] + keys)).squeeze(-1).softmax(-1)
            context = torch.bmm(look[:, None], memory).squeeze(1)
            h = self.cell(torch.cat((self.embed(word), context), -1), h)
            score = self.out(torch.cat((h, context), -1)).log_softmax(-1)
            word = score.argmax(-1)
            scores.append(score)
        return torch.stack(scores, 1)


def seq2seq():
    return Case(Seq2Seq(), [(torch.randint(0, 20, (2, 7)),), (torch.randint(0, 20, (3, 12)),), (torch.randint(0, 20, (4, 3)),)], ["ids"], {"ids": {0: "batch", 1: "n"}})


class Crf(nn.Module):
    """Scores of all ways through the labels, and the best way."""

    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.out = nn.Embedding(30, 8), nn.LSTM(8, 6, bidirectional=True, batch_first=True), nn.Linear(12, 5)
        self.move, self.first, self.last = nn.Parameter(randn(5, 5)), nn.Parameter(randn(5)), nn.Parameter(randn(5))

    def forward(self, ids, mask):
        e = self.out(self.lstm(self.embed(ids))[0])
        all_, best, back = self.first + e[:, 0], self.first + e[:, 0], []
        for t in range(1, ids.shape[1]):
            on = mask[:, t, None]
            each = all_[:, :, None] + self.move + e[:, t, None]
            all_ = torch.where(on, torch.logsumexp(each, 1), all_)
            top, at = (best[:, :, None] + self.move + e[:, t, None]).max(1)
            best = torch.where(on, top, best)
            back.append(torch.where(on, at, torch.arange(5)[None]))
        label = (best + self.last).argmax(-1, keepdim=True)
        way = [label]
        for at in reversed(back):
            label = at.gather(1, label)
            way.append(label)
        return torch.logsumexp(all_ + self.last, 1), torch.cat(way[::-1], 1)


def bilstm_crf():
    def make(b):
        return torch.randint(0, 30, (b, 8)), torch.arange(8)[None] < torch.randint(1, 9, (b, 1))
    return Case(Crf(), [make(3), make(1), make(5)], ["ids", "mask"], {"ids": {0: "batch"}, "mask": {0: "batch"}})


# ---- sound and series ----------------------------------------------------------------------------

class Conformer(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        ff = lambda: nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))
        self.a, self.b, self.n, self.m = ff(), ff(), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attend = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.p1, self.deep, self.bn, self.p2 = nn.Conv1d(dim, 2 * dim, 1), nn.Conv1d(dim, dim, 7, padding=3, groups=dim), nn.BatchNorm1d(dim), nn.Conv1d(dim, dim, 1)
        self.last = nn.LayerNorm(dim)

    def forward(self, x):
        x = x + 0.5 * self.a(x)
        h = self.n(x)
        x = x + self.attend(h, h, h)[0]
        y = F.glu(self.p1(self.m(x).transpose(1, 2)), 1)
        x = x + self.p2(F.silu(self.bn(self.deep(y)))).transpose(1, 2)
        return self.last(x + 0.5 * self.b(x))


def conformer():
    return Case(warm(Conformer(), randn(4, 20, 16)), [(randn(2, 11, 16),), (randn(1, 30, 16),), (randn(3, 4, 16),)], ["x"], {"x": {0: "batch", 1: "n"}}, kinds=("dynamo",))


class Mamba(nn.Module):
    """A state that the input chooses what to keep of, step by step."""

    def __init__(self, dim=8, state=4):
        super().__init__()
        self.inward, self.conv = nn.Linear(dim, 4 * dim, bias=False), nn.Conv1d(2 * dim, 2 * dim, 4, padding=3, groups=2 * dim)
        self.x, self.dt, self.out = nn.Linear(2 * dim, 2 + 2 * state, bias=False), nn.Linear(2, 2 * dim), nn.Linear(2 * dim, dim, bias=False)
        self.log, self.d = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(2 * dim, 1)), nn.Parameter(torch.ones(2 * dim))

    def forward(self, u):
        n = u.shape[1]
        x, z = self.inward(u).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :n].transpose(1, 2))
        dt, b, c = self.x(x).split([2, 4, 4], -1)
        dt = F.softplus(self.dt(dt))
        keep = torch.exp(dt[..., None] * -torch.exp(self.log))
        put = (dt * x)[..., None] * b[:, :, None]
        h, ys = torch.zeros_like(put[:, 0]), []
        for t in range(n):
            h = keep[:, t] * h + put[:, t]
            ys.append((h * c[:, t, None]).sum(-1))
        return self.out((torch.stack(ys, 1) + self.d * x) * F.silu(z)), h


def mamba():
    return Case(Mamba(), [(randn(2, 9, 8),), (randn(1, 9, 8),)], ["u"], {"u": {0: "batch"}})


class Tcn(nn.Module):
    def __init__(self):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.conv = nn.ModuleList(norm(nn.Conv1d(i, 10, 3, dilation=d)) for i, d in ((4, 1), (10, 2), (10, 4)))
        self.down, self.out = nn.Conv1d(4, 10, 1), nn.Linear(10, 3)

    def forward(self, x):
        skip = self.down(x)
        for i, conv in enumerate(self.conv):
            x = F.relu(conv(F.pad(x, (2 * 2 ** i, 0))))
        return self.out((x + skip)[:, :, -1])


def tcn():
    return Case(Tcn(), [(randn(2, 4, 30),), (randn(1, 4, 12),), (randn(3, 4, 5),)], ["x"], {"x": {0: "batch", 2: "n"}})


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(8, 12, 1)
        self.gates = nn.ModuleList(nn.Conv1d(12, 24, 2, dilation=2 ** i) for i in range(4))
        self.res, self.skip = nn.ModuleList(nn.Conv1d(12, 12, 1) for _ in range(4)), nn.ModuleList(nn.Conv1d(12, 16, 1) for _ in range(4))
        self.a, self.b = nn.Conv1d(16, 16, 1), nn.Conv1d(16, 8, 1)

    def forward(self, x):
        x = self.first(F.one_hot(x, 8).float().transpose(1, 2))
        total = 0
        for gate, res, skip in zip(self.gates, self.res, self.skip):
            t, s = gate(x).chunk(2, 1)
            y = torch.tanh(t) * torch.sigmoid(s)
            x = res(y) + x[:, :, -y.shape[2]:]
            total = skip(y) + (total[:, :, -y.shape[2]:] if torch.is_tensor(total) else 0)
        return self.b(F.relu(self.a(F.relu(total))))


def wavenet():
    return Case(WaveNet(), [(torch.randint(0, 8, (2, 40)),), (torch.randint(0, 8, (1, 25)),), (torch.randint(0, 8, (3, 17)),)], ["x"], {"x": {0: "batch", 1: "n"}})


class Mel(nn.Module):
    """Frames of a signal, their spectrum by two products, bands, decibels."""

    def __init__(self):
        super().__init__()
        n, at = 32, torch.arange(32).float()
        turn = 2 * math.pi / n * at[:, None] * torch.arange(17).float()
        window = torch.hann_window(n)[:, None]
        self.register_buffer("re", window * turn.cos())
        self.register_buffer("im", window * turn.sin())
        self.register_buffer("bands", torch.rand(17, 6))
        self.net = nn.Sequential(nn.Conv1d(6, 8, 3, 2, 1), nn.PReLU(8), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 4))

    def forward(self, x):
        x = F.pad(x[:, None], (16, 16), mode="reflect")[:, 0]
        f = x.unfold(1, 32, 8)
        power = (f @ self.re) ** 2 + (f @ self.im) ** 2
        mel = 10 * torch.log10((power @ self.bands).clamp(min=1e-6))
        mel = torch.maximum(mel, mel.amax((1, 2), keepdim=True) - 80)
        return self.net(((mel - mel.mean(1, keepdim=True)) / (mel.std(1, keepdim=True) + 1e-5)).transpose(1, 2))


def mel():
    return Case(Mel(), [(randn(2, 160),), (randn(1, 160),)], ["x"], {"x": {0: "batch"}}, kinds=("dynamo",))


# ---- points, graphs, tables ----------------------------------------------------------------------

class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = nn.Sequential(nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(8, 9))
        self.a, self.b = nn.Sequential(nn.Conv1d(3, 12, 1), nn.BatchNorm1d(12), nn.ReLU()), nn.Conv1d(12, 20, 1)
        self.each = nn.Conv1d(32, 5, 1)

    def forward(self, x):
        x = torch.bmm((self.turn(x).view(-1, 3, 3) + torch.eye(3)), x)
        near = self.a(x)
        far = self.b(near).max(2, keepdim=True)[0].repeat(1, 1, x.shape[2])
        return self.each(torch.cat((near, far), 1)).log_softmax(1)


def pointnet():
    return Case(warm(PointNet(), randn(4, 3, 40)), [(randn(2, 3, 25),), (randn(1, 3, 60),), (randn(3, 3, 2),)], ["x"], {"x": {0: "batch", 2: "n"}})


class Gat(nn.Module):
    """Attention over edges: the softmax of each node's, by scatters."""

    def __init__(self):
        super().__init__()
        self.w, self.a, self.b, self.out = nn.Linear(6, 12, bias=False), nn.Parameter(randn(3, 4)), nn.Parameter(randn(3, 4)), nn.Linear(12, 4)

    def forward(self, x, edges):
        n = x.shape[0]
        h = self.w(x).view(n, 3, 4)
        src, dst = edges[0], edges[1]
        s = F.leaky_relu((h * self.a).sum(-1)[src] + (h * self.b).sum(-1)[dst], 0.2)
        at = dst[:, None].expand(-1, 3)
        top = torch.full((n, 3), -1e9).scatter_reduce(0, at, s, "amax")
        e = torch.exp(s - top.gather(0, at))
        total = torch.zeros(n, 3).scatter_add(0, at, e)
        weight = e / (total.gather(0, at) + 1e-9)
        y = torch.zeros_like(h).index_add(0, dst, h[src] * weight[..., None])
        return self.out(F.elu(y.reshape(n, 12))), weight


def gat():
    def make(n, e):
        return randn(n, 6), torch.randint(0, n, (2, e))
    return Case(Gat(), [make(7, 20), make(12, 30), make(3, 5)], ["x", "edges"], {"x": {0: "nodes"}, "edges": {1: "edges"}}, kinds=("dynamo",))


class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(20, 8) for _ in range(3))
        self.top = nn.Sequential(nn.Linear(14, 10), nn.ReLU(), nn.Linear(10, 1))
        i, j = torch.tril_indices(4, 4, -1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)

    def forward(self, x, ids):
        d = self.dense(x)
        all_ = torch.stack([d] + [t(ids[:, k]).mean(1) for k, t in enumerate(self.tables)], 1)
        pairs = torch.bmm(all_, all_.transpose(1, 2))[:, self.i, self.j]
        return torch.sigmoid(self.top(torch.cat((d, pairs), 1)))


def dlrm():
    def make(b, n):
        return randn(b, 5), torch.randint(0, 20, (b, 3, n))
    return Case(Dlrm(), [make(4, 6), make(1, 2), make(7, 3)], ["x", "ids"], {"x": {0: "batch"}, "ids": {0: "batch", 2: "n"}})


class Nerf(nn.Module):
    """Samples along rays, and what they add up to."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(39, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 4))
        self.register_buffer("by", 2.0 ** torch.arange(6))

    def forward(self, origin, way):
        depth = torch.linspace(1, 3, 12)
        p = origin[:, None] + way[:, None] * depth[:, None]
        turned = (p[..., None] * self.by).flatten(-2)
        out = self.net(torch.cat((p, turned.sin(), turned.cos()), -1))
        step = torch.cat((depth[1:] - depth[:-1], torch.tensor([1e3])))
        alpha = 1 - torch.exp(-F.relu(out[..., 3]) * step)
        left = torch.cat((torch.zeros_like(alpha[:, :1]), torch.log(1 - alpha + 1e-10)), 1).cumsum(1)[:, :-1].exp()
        weight = alpha * left
        return (weight[..., None] * out[..., :3].sigmoid()).sum(1), (weight * depth).sum(1)


def nerf():
    return Case(Nerf(), [(randn(5, 3), randn(5, 3)), (randn(1, 3), randn(1, 3)), (randn(20, 3), randn(20, 3))], ["origin", "way"], {"origin": {0: "rays"}, "way": {0: "rays"}})


class Vq(nn.Module):
    """The nearest entry of a code book, and a softmax that gives zeros."""

    def __init__(self):
        super().__init__()
        self.a, self.book, self.b = nn.Conv1d(4, 6, 4, 2, 1), nn.Embedding(16, 6), nn.ConvTranspose1d(6, 4, 4, 2, 1)

    def forward(self, x):
        z = self.a(x).transpose(1, 2)
        flat = z.reshape(-1, 6)
        at = (flat[:, None] - self.book.weight).pow(2).sum(-1).argmin(1)
        q = self.book(at).view_as(z)
        y = self.b(q.transpose(1, 2))
        s, _ = torch.sort(flat, -1, descending=True)
        sums = s.cumsum(-1) - 1
        k = torch.arange(1, 7).float()
        n = (k * s > sums).sum(-1, keepdim=True)
        sparse = (flat - sums.gather(-1, n - 1) / n.float()).clamp(min=0)
        return y, at, sparse


def vqvae():
    return Case(Vq(), [(randn(2, 4, 16),), (randn(1, 4, 30),), (randn(3, 4, 6),)], ["x"], {"x": {0: "batch", 2: "n"}})


MORE = {f.__name__: f for f in (
    convnext, swin, efficientnet, yolo, stylegan, espcn, detr, spatial, volume, shuffle, llama, t5, clip, perceiver, experts, seq2seq, bilstm_crf,
    conformer, mamba, tcn, wavenet, mel, pointnet, gat, dlrm, nerf, vqvae)}
