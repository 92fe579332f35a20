"""Further architectures for tests/oracle/torch_onnx.py, as exported.py has them.

FURTHER: name -> function that gives a Case.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

from exported import Case, randn, warm


class Raft(nn.Module):
    """Correlation volume, looked up at moving places; a GRU of convolutions, three rounds."""

    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 8, 3, 2, 1)
        self.z, self.r, self.q = (nn.Conv2d(8 + 9 + 2, 8, 3, padding=1) for _ in range(3))
        self.flow = nn.Conv2d(8, 2, 3, padding=1)
        self.mask = nn.Conv2d(8, 4 * 9, 1)

    def forward(self, a, b):
        fa, fb = self.enc(a), self.enc(b)
        n, c, h, w = fa.shape
        corr = torch.matmul(fa.flatten(2).transpose(1, 2), fb.flatten(2)) / math.sqrt(c)
        corr = corr.reshape(n * h * w, 1, h, w)
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        base = torch.stack((xs, ys), 0).float()[None].expand(n, -1, -1, -1)
        at, hid = base, torch.tanh(fa)
        d = torch.linspace(-1, 1, 3)
        near = torch.stack(torch.meshgrid(d, d, indexing="ij"), -1).flip(-1).view(1, 3, 3, 2)
        for _ in range(3):
            p = at.permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2) + near
            gx = 2 * p[..., 0] / (w - 1) - 1
            gy = 2 * p[..., 1] / (h - 1) - 1
            look = F.grid_sample(corr, torch.stack((gx, gy), -1), align_corners=True).view(n, h, w, 9).permute(0, 3, 1, 2)
            x = torch.cat((hid, look, at - base), 1)
            z, r = torch.sigmoid(self.z(x)), torch.sigmoid(self.r(x))
            q = torch.tanh(self.q(torch.cat((r * hid, look, at - base), 1)))
            hid = (1 - z) * hid + z * q
            at = at + self.flow(hid)
        flow = at - base
        m = self.mask(hid).view(n, 1, 9, 2, 2, h, w).softmax(2)
        up = F.unfold(2 * flow, 3, padding=1).view(n, 2, 9, 1, 1, h, w)
        return (m * up).sum(2).permute(0, 1, 4, 2, 5, 3).reshape(n, 2, 2 * h, 2 * w)


def raft():
    mk = lambda n, h, w: (randn(n, 3, h, w), randn(n, 3, h, w))
    d = {0: "n", 2: "h", 3: "w"}
    return Case(Raft(), [mk(2, 16, 20), mk(1, 12, 16), mk(3, 24, 8)], ["a", "b"], {"a": d, "b": d})


class Anchors(nn.Module):
    """FPN and a RetinaNet head: anchors by the size of the image, the k best of each level, boxes decoded."""

    def __init__(self):
        super().__init__()
        self.c = nn.ModuleList([nn.Conv2d(3, 8, 3, 4, 1), nn.Conv2d(8, 12, 3, 2, 1), nn.Conv2d(12, 16, 3, 2, 1)])
        self.lat = nn.ModuleList([nn.Conv2d(i, 8, 1) for i in (8, 12, 16)])
        self.cls, self.box = nn.Conv2d(8, 3 * 4, 3, padding=1), nn.Conv2d(8, 3 * 4, 3, padding=1)

    def forward(self, x):
        f, feats = x, []
        for c in self.c:
            f = F.relu(c(f))
            feats.append(f)
        p = [l(v) for l, v in zip(self.lat, feats)]
        for i in (1, 0):
            p[i] = p[i] + F.interpolate(p[i + 1], size=p[i].shape[-2:], mode="nearest")
        scores, boxes = [], []
        for i, v in enumerate(p):
            n, _, h, w = v.shape
            s = self.cls(v).view(n, 3, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4).sigmoid()
            d = self.box(v).view(n, 3, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4)
            ys, xs = torch.meshgrid(torch.arange(h) * (4 << i), torch.arange(w) * (4 << i), indexing="ij")
            size = torch.tensor([8.0, 12.0, 16.0]) * (1 << i)
            c = torch.stack((xs, ys), -1).float()[:, :, None].expand(h, w, 3, 2).reshape(-1, 2)
            wh = size[None, None, :, None].expand(h, w, 3, 2).reshape(-1, 2)
            xy = c + d[..., :2] * wh
            ex = wh * d[..., 2:].clamp(max=4).exp()
            boxes.append(torch.cat((xy - ex / 2, xy + ex / 2), -1))
            scores.append(s)
        s, b = torch.cat(scores, 1), torch.cat(boxes, 1)
        best, label = s.max(-1)
        v, at = best.topk(10, 1)
        b = b.gather(1, at[..., None].expand(-1, -1, 4))
        hw = torch.tensor([x.shape[3], x.shape[2], x.shape[3], x.shape[2]])
        return v, label.gather(1, at), torch.minimum(b.clamp(min=0), hw.to(b.dtype))


def retinanet():
    return Case(Anchors(), [(randn(2, 3, 64, 48),), (randn(1, 3, 64, 64),), (randn(3, 3, 32, 80),)], ["x"], {"x": {0: "n", 2: "h", 3: "w"}},
        kinds=("dynamo",))


class CenterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.ReLU())
        self.hm, self.wh, self.off = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 2, 1), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        f = self.net(x)
        hm = self.hm(f).sigmoid()
        hm = hm * (F.max_pool2d(hm, 3, 1, 1) == hm).float()
        n, c, h, w = hm.shape
        s, at = hm.view(n, c, -1).topk(5)
        s2, k = s.view(n, -1).topk(5)
        cls = (k // 5).int()
        at = at.view(n, -1).gather(1, k)
        ys = at // w
        xs = (at - ys * w).float()
        ys = ys.float()
        g = lambda t: t.flatten(2).transpose(1, 2).gather(1, at[..., None].expand(-1, -1, 2))
        wh, off = g(self.wh(f)), g(self.off(f))
        xs, ys = xs + off[..., 0], ys + off[..., 1]
        return torch.stack((xs - wh[..., 0] / 2, ys - wh[..., 1] / 2, xs + wh[..., 0] / 2, ys + wh[..., 1] / 2), -1), s2, cls


def centernet():
    return Case(CenterNet(), [(randn(2, 3, 16, 20),), (randn(1, 3, 12, 12),), (randn(4, 3, 24, 16),)], ["x"], {"x": {0: "n", 2: "h", 3: "w"}})


class Tacotron(nn.Module):
    """Location-sensitive attention, ten frames of an autoregressive decoder."""

    def __init__(self):
        super().__init__()
        self.emb, self.enc = nn.Embedding(20, 8), nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.conv = nn.Conv1d(12, 12, 5, padding=2)
        self.q, self.m, self.loc, self.lin, self.v = nn.Linear(16, 10), nn.Linear(12, 10), nn.Conv1d(2, 4, 7, padding=3), nn.Linear(4, 10), \
            nn.Linear(10, 1)
        self.cell, self.out = nn.LSTMCell(12 + 5, 16), nn.Linear(28, 5)

    def forward(self, ids):
        m = self.enc(self.emb(ids))[0]
        m = F.relu(self.conv(m.transpose(1, 2))).transpose(1, 2)
        b, t, _ = m.shape
        k = self.m(m)
        h = c = m.new_zeros(b, 16)
        ctx, frame = m.new_zeros(b, 12), m.new_zeros(b, 5)
        w = cum = m.new_zeros(b, t)
        frames, ws = [], []
        for _ in range(6):
            h, c = self.cell(torch.cat((ctx, frame), -1), (h, c))
            l = self.lin(self.loc(torch.stack((w, cum), 1)).transpose(1, 2))
            w = self.v(torch.tanh(self.q(h)[:, None] + k + l)).squeeze(-1).softmax(-1)
            cum = cum + w
            ctx = torch.bmm(w[:, None], m).squeeze(1)
            frame = self.out(torch.cat((h, ctx), -1))
            frames.append(frame)
            ws.append(w)
        return torch.stack(frames, 1), torch.stack(ws, 1)


def tacotron():
    mk = lambda b, t: (torch.randint(0, 20, (b, t)),)
    return Case(Tacotron(), [mk(2, 7), mk(1, 5), mk(3, 11)], ["ids"], {"ids": {0: "b", 1: "t"}})


class Autoformer(nn.Module):
    """Series decomposed by replicate padding and means; auto-correlation by FFT, the k best lags rolled together."""

    def __init__(self):
        super().__init__()
        self.w, self.q, self.k, self.v, self.o = nn.Linear(3, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def trend(self, x):
        return F.avg_pool1d(F.pad(x.transpose(1, 2), (2, 2), mode="replicate"), 5, 1).transpose(1, 2)

    def forward(self, x):
        h = self.w(x)
        q, k, v = self.q(h), self.k(h), self.v(h)
        b, t, c = q.shape
        qf, kf = torch.fft.rfft(q.transpose(1, 2)), torch.fft.rfft(k.transpose(1, 2))
        corr = torch.fft.irfft(qf * torch.conj(kf), n=16).mean(1)
        w, lag = corr.topk(3, -1)
        w = w.softmax(-1)
        at = (torch.arange(t)[None, None] + lag[..., None]) % t
        rolled = v[:, None].expand(-1, 3, -1, -1).gather(2, at[..., None].expand(-1, -1, -1, c))
        h = h + (rolled * w[..., None, None]).sum(1)
        tr = self.trend(h)
        return self.o(h - tr) + tr.mean(1, keepdim=True)[..., :2]


def autoformer():
    return Case(Autoformer(), [(randn(2, 16, 3),), (randn(1, 16, 3),), (randn(5, 16, 3),)], ["x"], {"x": {0: "b"}}, kinds=("dynamo",))


class PatchTST(nn.Module):
    def __init__(self):
        super().__init__()
        self.p, self.pos = nn.Linear(8, 12), nn.Parameter(randn(1, 9, 12) / 4)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3, 24, 0.0, "gelu", batch_first=True), 1, enable_nested_tensor=False)
        self.head = nn.Linear(9 * 12, 6)

    def forward(self, x):
        mean, std = x.mean(1, keepdim=True), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        z = ((x - mean) / std).permute(0, 2, 1)
        z = F.pad(z, (0, 4), mode="replicate").unfold(-1, 8, 4)
        b, c, n, _ = z.shape
        z = self.enc(self.p(z.reshape(b * c, n, 8)) + self.pos)
        return self.head(z.reshape(b, c, -1)).permute(0, 2, 1) * std + mean


def patchtst():
    return Case(PatchTST(), [(randn(2, 36, 3),), (randn(1, 36, 5),), (randn(4, 36, 2),)], ["x"], {"x": {0: "b", 2: "c"}}, kinds=("dynamo",))


class ConvLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.out = nn.Conv2d(2 + 4, 16, 3, padding=1), nn.Conv2d(4, 1, 1)

    def forward(self, x):
        b, t, _, hh, w = x.shape
        h = c = x.new_zeros(b, 4, hh, w)
        for k in range(4):
            i, f, o, g = self.g(torch.cat((x[:, k], h), 1)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return self.out(h), c.amax((2, 3))


def convlstm():
    return Case(ConvLSTM(), [(randn(2, 4, 2, 8, 9),), (randn(1, 4, 2, 6, 6),), (randn(3, 4, 2, 5, 12),)], ["x"], {"x": {0: "b", 3: "h", 4: "w"}})


class Capsules(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.w = nn.Conv2d(1, 8, 5), nn.Conv2d(8, 16, 5, 2), nn.Parameter(randn(1, 4 * 16, 5, 6, 4) / 4)

    @staticmethod
    def squash(x):
        s = (x * x).sum(-1, keepdim=True)
        return s / (1 + s) * x / torch.sqrt(s + 1e-8)

    def forward(self, x):
        u = self.b(F.relu(self.a(x)))
        u = self.squash(u.view(x.shape[0], 4, 4, -1).permute(0, 1, 3, 2).reshape(x.shape[0], -1, 4))
        p = (self.w @ u[:, :, None, :, None]).squeeze(-1)
        b = torch.zeros(x.shape[0], p.shape[1], 5)
        for _ in range(3):
            v = self.squash((b.softmax(-1)[..., None] * p).sum(1))
            b = b + (p * v[:, None]).sum(-1)
        return v.norm(dim=-1)


def capsules():
    return Case(Capsules(), [(randn(2, 1, 15, 15),), (randn(1, 1, 15, 15),), (randn(5, 1, 15, 15),)], ["x"], {"x": {0: "b"}})


class TabNet(nn.Module):
    """Sparsemax: sorted scores, their running sums, the support found by a comparison."""

    def __init__(self):
        super().__init__()
        self.bn, self.att, self.f, self.o = nn.BatchNorm1d(10), nn.ModuleList([nn.Linear(8, 10) for _ in range(3)]), nn.ModuleList([nn.Linear(10,
            32) for _ in range(4)]), nn.Linear(8, 3)

    @staticmethod
    def sparsemax(z):
        s, _ = z.sort(-1, descending=True)
        k = torch.arange(1, z.shape[-1] + 1)
        c = s.cumsum(-1) - 1
        n = (k * s > c).sum(-1, keepdim=True)
        tau = c.gather(-1, n - 1) / n
        return (z - tau).clamp(min=0)

    def forward(self, x):
        x = self.bn(x)
        prior, out = torch.ones_like(x), 0
        a = F.glu(self.f[0](x))[..., 8:]
        for i in range(3):
            m = self.sparsemax(self.att[i](a) * prior)
            prior = prior * (1.3 - m)
            h = F.glu(self.f[i + 1](m * x))
            out = out + F.relu(h[..., :8])
            a = h[..., 8:]
        return self.o(out), m


def tabnet():
    net = TabNet()
    warm(net, randn(8, 10))
    return Case(net, [(randn(4, 10),), (randn(1, 10),), (randn(9, 10),)], ["x"], {"x": {0: "b"}})


class AliBi(nn.Module):
    """Linear biases, a sliding window, grouped heads, SwiGLU, RMS norm; rows of a cache written by index."""

    def __init__(self):
        super().__init__()
        self.e, self.q, self.kv, self.o, self.g, self.u, self.d = nn.Embedding(40, 16), nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 16), \
            nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(24, 16)
        self.n = nn.Parameter(torch.ones(2, 16))

    def norm(self, x, i):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.n[i]

    def forward(self, ids, mask):
        x = self.e(ids)
        b, t, _ = x.shape
        h = self.norm(x, 0)
        q = self.q(h).view(b, t, 4, 4).transpose(1, 2)
        k, v = self.kv(h).view(b, t, 2, 1, 4).unbind(2)
        k, v = (z.expand(b, t, 4, 4).transpose(1, 2) for z in (k, v))
        at = torch.arange(t)
        dist = at[None] - at[:, None]
        slope = 2.0 ** -torch.arange(1, 5).float()
        bias = (dist[None] * slope[:, None, None])[None]
        ok = (dist <= 0) & (dist > -4) & mask[:, None, None].bool()
        s = (q @ k.transpose(-1, -2) / 2 + bias).masked_fill(~ok, torch.finfo(torch.float32).min)
        x = x + self.o((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1))
        h = self.norm(x, 1)
        x = x + self.d(F.silu(self.g(h)) * self.u(h))
        last = mask.sum(1) - 1
        return x @ self.e.weight.T, x[torch.arange(b), last]


def alibi():

    def mk(b, t):
        m = (torch.arange(t)[None] < torch.randint(2, t + 1, (b, 1))).long()
        return torch.randint(0, 40, (b, t)), m
    d = {0: "b", 1: "t"}
    return Case(AliBi(), [mk(2, 7), mk(3, 5), mk(1, 11)], ["ids", "mask"], {"ids": d, "mask": d})


class Rwkv(nn.Module):
    """Token shift and a recurrent mix over time, as a loop over a symbolic length (torch.jit.script)."""

    def __init__(self):
        super().__init__()
        self.e, self.k, self.v, self.r, self.o = nn.Embedding(30, 8), nn.Linear(8, 8, False), nn.Linear(8, 8, False), nn.Linear(8, 8, False), \
            nn.Linear(8, 30)
        self.w, self.u, self.mix = nn.Parameter(randn(8)), nn.Parameter(randn(8)), nn.Parameter(torch.rand(8))

    def forward(self, ids):
        x = self.e(ids)
        prev = F.pad(x, (0, 0, 1, -1))
        z = x * self.mix + prev * (1 - self.mix)
        k, v, r = self.k(z), self.v(z), self.r(z).sigmoid()
        t = ids.shape[1]
        at = torch.arange(t)
        d = (at[:, None] - at[None] - 1).clamp(min=0).float()
        w = -torch.exp(self.w)
        e = (d[..., None] * w)[None] + k[:, None]
        low = (at[None] < at[:, None])[None, ..., None]
        e = torch.where(low, e, torch.full_like(e, -1e9))
        own = (self.u + k)[:, :, None]
        a = torch.cat((e, own), 2).softmax(2)
        y = (a[:, :, :-1] * v[:, None]).sum(2) + a[:, :, -1] * v
        return self.o(r * y)


def rwkv():
    mk = lambda b, t: (torch.randint(0, 30, (b, t)),)
    return Case(Rwkv(), [mk(2, 7), mk(1, 5), mk(3, 12)], ["ids"], {"ids": {0: "b", 1: "t"}})


class ScriptedScan(nn.Module):
    """A Mamba-like scan as TorchScript writes it: a loop of a symbolic length whose states are appended to a list."""

    def __init__(self):
        super().__init__()
        self.inp, self.wi, self.wh, self.out = nn.Linear(4, 6), nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = self.inp(x)
        return self.out(scan(x, self.wi.weight, self.wi.bias, self.wh.weight))


@torch.jit.script
def scan(x, wi, bi, wh):
    h = torch.zeros(x.size(0), 8)
    ys = []
    for i in range(x.size(1)):
        h = torch.tanh(F.linear(x[:, i], wi, bi) + F.linear(h, wh))
        ys.append(h)
    return torch.stack(ys, 1)


def scripted():
    return Case(ScriptedScan(), [(randn(2, 5, 4),), (randn(3, 8, 4),), (randn(2, 3, 4),)], ["x"], {"x": {0: "b", 1: "t"}}, kinds=("script",))


class Demucs(nn.Module):
    def __init__(self):
        super().__init__()
        self.e1, self.e2 = nn.Conv1d(1, 8, 8, 4), nn.Conv1d(8, 16, 8, 4)
        self.g1, self.g2 = nn.Conv1d(8, 16, 1), nn.Conv1d(16, 32, 1)
        self.l = nn.LSTM(16, 16, bidirectional=True, batch_first=True)
        self.lin = nn.Linear(32, 16)
        self.d2, self.d1 = nn.ConvTranspose1d(16, 8, 8, 4), nn.ConvTranspose1d(8, 1, 8, 4)

    def forward(self, x):
        n = x.shape[-1]
        std = x.std(-1, keepdim=True) + 1e-3
        mean = x.mean(-1, keepdim=True)
        y = (x - mean) / std
        size = n
        for _ in range(2):
            size = (size - 8 + 3) // 4 + 1

        for _ in range(2):
            size = (size - 1) * 4 + 8
        y = F.pad(y, (0, size - n))
        a = F.glu(self.g1(F.relu(self.e1(y))), 1)
        b = F.glu(self.g2(F.relu(self.e2(a))), 1)
        h = self.lin(self.l(b.transpose(1, 2))[0]).transpose(1, 2)
        y = F.relu(self.d2(h + b))
        y = self.d1(y + a[..., :y.shape[-1]])
        return y[..., :n] * std + mean


def demucs():
    return Case(Demucs(), [(randn(2, 1, 60),), (randn(1, 1, 73),), (randn(3, 1, 120),)], ["x"], {"x": {0: "b", 2: "t"}})


class Ecapa(nn.Module):
    """SE and Res2 blocks of dilated convolutions, statistics pooled by masked attention; lengths told as shares."""

    def __init__(self):
        super().__init__()
        self.c, self.n = nn.Conv1d(10, 16, 5, padding=2, padding_mode="reflect"), nn.BatchNorm1d(16)
        self.r = nn.ModuleList([nn.Conv1d(4, 4, 3, padding=2, dilation=2, padding_mode="reflect") for _ in range(3)])
        self.s1, self.s2 = nn.Conv1d(16, 8, 1), nn.Conv1d(8, 16, 1)
        self.a1, self.a2, self.o = nn.Conv1d(48, 8, 1), nn.Conv1d(8, 16, 1), nn.Linear(32, 6)

    def forward(self, x, share):
        x = self.n(F.relu(self.c(x)))
        parts = list(torch.chunk(x, 4, 1))
        y = [parts[0]]
        for i in range(3):
            y.append(F.relu(self.r[i](parts[i + 1] + (y[-1] if i else 0))))
        y = torch.cat(y, 1)
        t = x.shape[-1]
        m = (torch.arange(t)[None] < (share * t).round()[:, None]).float()[:, None]
        n = m.sum(2, keepdim=True)
        s = (y * m).sum(2, keepdim=True) / n
        y = x + y * self.s2(F.relu(self.s1(s))).sigmoid()
        mean = (y * m).sum(2, keepdim=True) / n
        std = (((y - mean) ** 2 * m).sum(2, keepdim=True) / n).clamp(1e-6).sqrt()
        a = torch.tanh(self.a1(torch.cat((y, mean.expand(-1, -1, t), std.expand(-1, -1, t)), 1)))
        a = self.a2(a).masked_fill(m == 0, float("-inf")).softmax(2)
        mean = (a * y).sum(2)
        std = ((a * y * y).sum(2) - mean ** 2).clamp(1e-6).sqrt()
        return F.normalize(self.o(torch.cat((mean, std), 1)), dim=1)


def ecapa():
    mk = lambda b, t: (randn(b, 10, t), torch.cat((torch.ones(1), torch.rand(b - 1) / 2 + 0.5)))
    return Case(Ecapa(), [mk(2, 20), mk(3, 13), mk(1, 31)], ["x", "share"], {"x": {0: "b", 2: "t"}, "share": {0: "b"}})


class Flow(nn.Module):
    """Real NVP backwards and forwards: couplings, permutations, a triangular mixing; log determinants."""

    def __init__(self):
        super().__init__()
        self.s = nn.ModuleList([nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 6)) for _ in range(3)])
        self.p = [torch.randperm(6) for _ in range(3)]
        self.l = nn.Parameter(randn(6, 6) / 5)

    def forward(self, x):
        ld = torch.zeros(x.shape[0])
        for i in range(3):
            x = x[:, self.p[i]]
            a, b = x.chunk(2, -1)
            s, t = self.s[i](a).chunk(2, -1)
            s = torch.tanh(s)
            x = torch.cat((a, b * s.exp() + t), -1)
            ld = ld + s.sum(-1)
            m = torch.tril(self.l, -1) + torch.eye(6)
            x = x @ m
        return x, -0.5 * (x ** 2 + math.log(2 * math.pi)).sum(-1) + ld, torch.logsumexp(x, -1)


def flow():
    return Case(Flow(), [(randn(4, 6),), (randn(1, 6),), (randn(9, 6),)], ["x"], {"x": {0: "b"}})


class GnnPool(nn.Module):
    """GIN layers by index_add, batch norm, sums over graphs by their numbers, the k best nodes kept."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.p, self.o = nn.Linear(5, 8), nn.Linear(8, 8), nn.Linear(8, 1), nn.Linear(16, 3)
        self.eps = nn.Parameter(torch.zeros(1))

    def forward(self, x, edge, of):
        n = x.shape[0]
        h = self.a(x)
        for _ in range(2):
            m = torch.zeros_like(h).index_add(0, edge[1], h[edge[0]])
            h = F.relu(self.b((1 + self.eps) * h + m))
        score = torch.tanh(self.p(h)).squeeze(-1)
        deg = torch.zeros(n).scatter_add(0, edge[1], torch.ones(edge.shape[1])).clamp(min=1)
        h = h * score[:, None] / deg.sqrt()[:, None]
        sums = torch.zeros(4, 8).index_add(0, of, h)
        most = torch.full((4, 8), -1e9).scatter_reduce(0, of[:, None].expand(-1, 8), h, "amax")
        return self.o(torch.cat((sums, most.clamp(min=-9)), -1)), score


def gnnpool():

    def mk(n, e):
        return randn(n, 5), torch.randint(0, n, (2, e)), torch.randint(0, 4, (n,)).sort()[0]
    return Case(GnnPool(), [mk(10, 24), mk(7, 9), mk(20, 55)], ["x", "edge", "of"], {"x": {0: "n"}, "edge": {1: "e"}, "of": {0: "n"}},
        kinds=("dynamo",))


class Hyena(nn.Module):
    """Long convolutions by FFT of twice the length."""

    def __init__(self):
        super().__init__()
        self.i, self.short, self.o = nn.Linear(6, 18), nn.Conv1d(18, 18, 3, padding=2, groups=18), nn.Linear(6, 6)
        self.f = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 6))

    def forward(self, u):
        b, t, _ = u.shape
        z = self.short(self.i(u).transpose(1, 2))[..., :t]
        x1, x2, v = z.chunk(3, 1)
        at = torch.linspace(0, 1, 12)[:, None]
        bands = torch.cat((at, torch.sin(2 * math.pi * at * torch.tensor([1.0, 2.0])), torch.cos(2 * math.pi * at * torch.tensor([1.0, 2.0]))), -1)
        k = self.f(bands).T * torch.exp(-at.T)
        v = v * x1
        y = torch.fft.irfft(torch.fft.rfft(v, n=24) * torch.fft.rfft(k, n=24), n=24)[..., :12]
        return self.o((y * x2).transpose(1, 2))


def hyena():
    return Case(Hyena(), [(randn(2, 12, 6),), (randn(1, 12, 6),)], ["u"], {"u": {0: "b"}}, kinds=("dynamo",))


class AttUnet(nn.Module):
    """Attention gates, sizes of any parity: padded by what is missing, interpolated to the skip's size."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1), nn.Conv2d(12, 16, 3, padding=1)
        self.g, self.x, self.psi = nn.Conv2d(16, 6, 1), nn.Conv2d(12, 6, 1), nn.Conv2d(6, 1, 1)
        self.u1, self.u2, self.o = nn.Conv2d(28, 12, 3, padding=1), nn.Conv2d(20, 8, 3, padding=1), nn.Conv2d(8, 2, 1)
        self.t = nn.ConvTranspose2d(12, 12, 2, 2)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(F.max_pool2d(a, 2)))
        c = F.relu(self.c(F.max_pool2d(b, 2)))
        up = F.interpolate(c, size=b.shape[2:], mode="bilinear", align_corners=False)
        gate = self.psi(F.relu(self.g(up) + self.x(b))).sigmoid()
        d = F.relu(self.u1(torch.cat((up, b * gate), 1)))
        e = self.t(d)
        dy, dx = a.shape[2] - e.shape[2], a.shape[3] - e.shape[3]
        e = F.pad(e, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.o(F.relu(self.u2(torch.cat((e, a), 1))))


def attunet():
    return Case(AttUnet(), [(randn(2, 3, 16, 20),), (randn(1, 3, 17, 23),), (randn(1, 3, 13, 12),)], ["x"], {"x": {0: "n", 2: "h", 3: "w"}})


class BeamStep(nn.Module):
    """One step of a beam search with caches: the best of all beams, caches chosen by beam."""

    def __init__(self):
        super().__init__()
        self.e, self.c, self.o = nn.Embedding(12, 8), nn.GRUCell(8, 8), nn.Linear(8, 12)

    def forward(self, tokens, score, h, past):
        b, k = tokens.shape
        h = self.c(self.e(tokens.reshape(-1)), h.reshape(b * k, -1))
        lp = self.o(h).log_softmax(-1).view(b, k, 12) + score[..., None]
        lp = torch.where(past[..., -1:] == 0, torch.where(torch.arange(12) == 0, score[..., None], torch.tensor(-1e9)), lp)
        s, at = lp.reshape(b, -1).topk(k, -1)
        beam, tok = torch.div(at, 12, rounding_mode="floor"), at % 12
        h = h.view(b, k, -1).gather(1, beam[..., None].expand(-1, -1, 8))
        past = torch.cat((past.gather(1, beam[..., None].expand(-1, -1, past.shape[-1])), tok[..., None]), -1)
        return tok, s, h, past


def beam():

    def mk(b, k, t): return torch.randint(0, 12, (b, k)), randn(b, k), randn(b, k, 8), torch.randint(0, 12, (b, k, t))
    return Case(BeamStep(), [mk(2, 3, 4), mk(1, 3, 1), mk(4, 3, 6)], ["tokens", "score", "h", "past"], {"tokens": {0: "b"}, "score": {0: "b"},
        "h": {0: "b"}, "past": {0: "b", 2: "t"}})


class OneHots(nn.Module):
    """one_hot without a number of classes, bucketize, searchsorted, histogram by scatter."""

    def __init__(self):
        super().__init__()
        self.register_buffer("edges", torch.linspace(-2, 2, 7))
        self.w = nn.Linear(8, 4)

    def forward(self, x):
        k = torch.bucketize(x, self.edges)
        h = F.one_hot(k, 8).float()
        hist = torch.zeros(x.shape[0], 8).scatter_add(1, k, torch.ones_like(x))
        return self.w(h).sum(1), hist, k


def onehots():
    return Case(OneHots(), [(randn(2, 5),), (randn(3, 7),), (randn(1, 4),)], ["x"], {"x": {0: "b", 1: "t"}})


class Crnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, padding=1), nn.BatchNorm2d(12),
            nn.ReLU(), nn.MaxPool2d((2, 1)), nn.Conv2d(12, 12, (8, 1)))
        self.r, self.o = nn.LSTM(12, 10, 2, bidirectional=True), nn.Linear(20, 11)

    def forward(self, x):
        f = self.c(x).squeeze(2).permute(2, 0, 1)
        y = self.o(self.r(f)[0]).log_softmax(-1)
        best = y.argmax(-1).T
        keep = torch.cat((torch.ones_like(best[:, :1], dtype=torch.bool), best[:, 1:] != best[:, :-1]), 1) & (best != 0)
        at = torch.where(keep, keep.long().cumsum(1) - 1, torch.full_like(best, best.shape[1]))
        out = torch.zeros(best.shape[0], best.shape[1] + 1, dtype=torch.long).scatter(1, at, best)
        return y, out[:, :-1], keep.sum(1)


def crnn():
    return Case(Crnn(), [(randn(2, 1, 32, 40),), (randn(1, 1, 32, 64),), (randn(3, 1, 32, 26),)], ["x"], {"x": {0: "b", 3: "w"}})


class NonLocal(nn.Module):
    """Non-local block, coordinate channels, involution by unfold, spatial pyramid pooling."""

    def __init__(self):
        super().__init__()
        self.a, self.q, self.k, self.v, self.o, self.inv = nn.Conv2d(5, 8, 3, padding=1), nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 1), nn.Conv2d(8, 8,
            1), nn.Linear(8 * 5, 5), nn.Conv2d(8, 18, 1)

    def forward(self, x):
        b, _, h, w = x.shape
        ys = torch.linspace(-1, 1, h)[None, None, :, None].expand(b, 1, h, w)
        xs = torch.linspace(-1, 1, w)[None, None, None].expand(b, 1, h, w)
        f = F.hardswish(self.a(torch.cat((x, ys, xs), 1)))
        k, v = F.max_pool2d(self.k(f), 2).flatten(2), F.max_pool2d(self.v(f), 2).flatten(2)
        a = torch.softmax(self.q(f).flatten(2).transpose(1, 2) @ k, -1)
        f = f + (v @ a.transpose(1, 2)).view(b, 8, h, w)
        ker = self.inv(f).view(b, 2, 1, 9, h, w)
        f = (ker * F.unfold(f, 3, padding=1).view(b, 2, 4, 9, h, w)).sum(3).reshape(b, 8, h, w)
        p = torch.cat([F.adaptive_avg_pool2d(f, 1).flatten(2), F.adaptive_max_pool2d(f, 1).flatten(2), f.amin((2, 3))[..., None], f.std((2,
            3))[..., None], f.norm(dim=(2, 3))[..., None]], -1)
        return self.o(p.flatten(1))


def non_local():
    return Case(NonLocal(), [(randn(2, 3, 12, 10),), (randn(1, 3, 8, 16),), (randn(3, 3, 9, 7),)], ["x"], {"x": {0: "b", 2: "h", 3: "w"}}, kinds=("script",))


class Sam(nn.Module):
    """A mask decoder: prompts as points with labels, masks resized to the size that an input tells."""

    def __init__(self):
        super().__init__()
        self.g = nn.Parameter(randn(2, 8))
        self.lab = nn.Embedding(3, 16)
        self.tok = nn.Parameter(randn(3, 16))
        self.att, self.up, self.hyper = nn.MultiheadAttention(16, 4, batch_first=True), nn.ConvTranspose2d(16, 4, 2, 2), nn.Linear(16, 4)

    def forward(self, image, points, labels, size):
        p = (points + 0.5) / 32 * 2 - 1
        p = p @ self.g * 2 * math.pi
        p = torch.cat((p.sin(), p.cos()), -1)
        p = torch.where((labels == -1)[..., None], torch.zeros_like(p), p) + self.lab(labels + 1)
        t = torch.cat((self.tok[None].expand(points.shape[0], -1, -1), p), 1)
        mem = image.flatten(2).transpose(1, 2).expand(points.shape[0], -1, -1)
        t = t + self.att(t, mem, mem)[0]
        up = F.gelu(self.up(image)).expand(points.shape[0], -1, -1, -1)
        m = (self.hyper(t[:, :3]) @ up.flatten(2)).view(points.shape[0], 3, 16, 16)
        m = F.interpolate(m, (32, 32), mode="bilinear", align_corners=False)
        m = m[..., : size[0], : size[1]]
        return F.interpolate(m, (size[2].item(), size[3].item()) if torch.compiler.is_compiling() else (size[2], size[3]), mode="bilinear",
            align_corners=False)


def sam():

    def mk(n, k, *s): return randn(1, 16, 8, 8), torch.rand(n, k, 2) * 32, torch.randint(-1, 2, (n, k)), torch.tensor(s)
    return Case(Sam(), [mk(2, 3, 32, 20, 48, 30), mk(1, 2, 24, 32, 36, 50), mk(3, 5, 32, 32, 20, 20)], ["image", "points", "labels", "size"],
        {"points": {0: "n", 1: "k"}, "labels": {0: "n", 1: "k"}}, kinds=("script",), graph=False)


FURTHER = {f.__name__: f for f in (
    raft, retinanet, centernet, tacotron, autoformer, patchtst, convlstm, capsules, tabnet, alibi, rwkv, scripted, demucs, ecapa, flow, gnnpool,
        hyena, attunet,
    beam, onehots, crnn, non_local, sam)}
