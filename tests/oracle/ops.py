"""Writes tests/ops/samples.c and tests/ops/promotion.c: what PyTorch gives for samples of every operator.

    python tests/oracle/ops.py          needs torch (2.15 was used), and nothing else

One sample a line: NAME|ARG;ARG;...|OUT;OUT...
ARG  t:DTYPE:SHAPE:STRIDES:OFFSET:PATTERN   a tensor over a storage that PATTERN fills (see `pattern`), [t.. t..] a list of them
     i:N f:X b:0|1  numbers    d:N,N  dims    y:DTYPE    v:0 (device)    s:TEXT    -  none
OUT  DTYPE:SHAPE:STRIDES:values   or ! where PyTorch raises. ? instead of values: random or uninitialised. * instead of strides:
     PyTorch hands on channels_last, which dync does not have
Inputs are formulas of the storage index, so only results are written down.
"""
import math
import os
import sys
import torch

F = torch.nn.functional
aten = torch.ops.aten
DT = {'f32': torch.float32, 'f64': torch.float64, 'f16': torch.float16, 'bf16': torch.bfloat16, 'i64': torch.int64, 'i32': torch.int32,
      'i16': torch.int16, 'i8': torch.int8, 'u8': torch.uint8, 'b8': torch.bool}
NAME = {v: k for k, v in DT.items()}
FLOATS, INTS = ['f32', 'f64', 'f16', 'bf16'], ['i64', 'i32', 'i16', 'i8', 'u8']
ALL = FLOATS + INTS + ['b8']
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, 3.0, -3.0, 100.0, -100.0]

torch.set_num_threads(1)


def pattern(name, i):
    """The value at storage index i. Letter, then a seed; all are exact in every dtype they are used with. T takes a list of values, too."""
    kind, seed = name[0], int(name[1:] or 0)
    h = i * 37 + seed * 11
    if kind == 'n':
        return (h % 41 - 20) / 8          # -2.5 .. 2.5
    if kind == 'p':
        return (h % 41 + 1) / 8           # 0.125 .. 5.125
    if kind == 'u':
        return (h % 31 - 15) / 16         # inside (-1, 1)
    if kind == 'q':
        return (h % 31 + 1) / 32          # inside (0, 1]
    if kind == 's':
        return SPECIAL[(i + seed) % 12]
    if kind == 'k':
        return h % 13 - 6                 # whole, -6 .. 6
    if kind == 'w':
        return h % 13                     # whole, 0 .. 12
    if kind == 'x':
        return h % 13 + 1                 # whole, 1 .. 13
    if kind == 'b':
        return h % 3 == 0
    if kind == 'z':
        return (i * 5 + 1) % seed         # index below the seed
    if kind == 'r':
        return i * 7 % 23                 # distinct, unordered, up to 23 of them
    if kind == '0':
        return 0
    if kind == 'c':
        return seed
    raise ValueError(name)


def cotangent(t):
    """What edges.py and opinfo.py start gradients from."""
    return torch.tensor([((k * 5 + 2) % 7 + 2) / 8 for k in range(t.numel())], dtype=t.dtype).reshape(t.shape)


class T:
    """A tensor argument."""
    def __init__(self, dtype, shape, pat, strides=None, offset=0):
        self.dtype, self.shape, self.pat, self.offset = dtype, tuple(shape), pat, offset
        if strides is None:
            strides, n = [], 1
            for s in reversed(self.shape):
                strides.insert(0, n)
                n *= max(s, 1)
        self.strides = tuple(strides)

    def value(self):
        n = self.offset + 1 + sum((s - 1) * t for s, t in zip(self.shape, self.strides))
        if any(s == 0 for s in self.shape):
            n = self.offset
        data = self.pat if isinstance(self.pat, list) else [pattern(self.pat, i) for i in range(max(n, 0))]
        return torch.tensor(data, dtype=DT[self.dtype]).as_strided(self.shape, self.strides, self.offset)

    def text(self):
        pat = '=' + ' '.join(number(x, self.dtype) for x in self.pat) if isinstance(self.pat, list) else self.pat
        return 't:%s:%s:%s:%d:%s' % (self.dtype, ','.join(map(str, self.shape)), ','.join(map(str, self.strides)), self.offset, pat)


class Dims(tuple):
    pass


class Dtype(str):
    pass


CPU = object()


def arg_text(a):
    if a is None:
        return '-'
    if a is CPU:
        return 'v:0'
    if isinstance(a, T):
        return a.text()
    if isinstance(a, list):
        return '[' + ' '.join(x.text() for x in a) + ']'
    if isinstance(a, Dims):
        return 'd:' + ','.join(map(str, a))
    if isinstance(a, Dtype):
        return 'y:' + a
    if isinstance(a, str):
        return 's:' + a
    if isinstance(a, bool):
        return 'b:%d' % a
    if isinstance(a, int):
        return 'i:%d' % a
    return 'f:%r' % a


def arg_value(a):
    if isinstance(a, T):
        return a.value()
    if isinstance(a, list):
        return [x.value() for x in a]
    if isinstance(a, Dims):
        return list(a)
    if isinstance(a, Dtype):
        return DT[a]
    if a is CPU:
        return 'cpu'
    return a


def number(x, dtype):
    if dtype == 'b8':
        return '1' if x else '0'
    if isinstance(x, int):
        return str(x)
    if math.isnan(x):
        return 'n'
    if math.isinf(x):
        return 'i' if x > 0 else '-i'
    if dtype == 'f64':
        return repr(x)
    for digits in range(1, 10):           # the shortest that reads back
        s = '%.*g' % (digits, x)
        if torch.tensor(float(s), dtype=DT[dtype]).item() == x:
            return s.replace('e-0', 'e-').replace('e+0', 'e').replace('e+', 'e')
    return repr(x)


def out_text(t, values=True, strides=True):
    d = NAME[t.dtype]
    head = '%s:%s:%s:' % (d, ','.join(map(str, t.shape)), ','.join(map(str, t.stride())) if strides else '*')
    return head + (' '.join(number(x, d) for x in t.reshape(-1).tolist()) if values else '?')


# ---- what each row means in PyTorch, where it is not torch.NAME or Tensor.NAME --------------------------------------------------------------

def select_backward(g, sizes, dim, index):
    z = torch.zeros(sizes, dtype=g.dtype)
    z.select(dim, index).copy_(g)
    return z


def slice_of(x, dim, start, end, step):
    return aten.slice(x, dim, start, end, step)


def slice_backward(g, sizes, dim, start, end, step):
    z = torch.zeros(sizes, dtype=g.dtype)
    slice_of(z, dim, start, end, step).copy_(g)
    return z


def diagonal_backward(g, sizes, offset, a, b):
    z = torch.zeros(sizes, dtype=g.dtype)
    z.diagonal(offset, a, b).copy_(g)
    return z


def flash(q, k, v, mask, causal, scale):
    """PyTorch's kernel where it takes the call (4-D, no mask); else its formulas in the wider type, rows that see nothing zero."""
    def formulas():
        s = q.double() @ k.double().transpose(-1, -2) * scale
        if causal:
            s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), -math.inf)
        if mask is not None:
            s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else s + mask
        p = torch.softmax(s, -1).masked_fill((s == -math.inf).all(-1, keepdim=True), 0)
        return [(p @ v.double()).to(q.dtype), torch.logsumexp(s, -1).to(torch.float64 if q.dtype == torch.float64 else torch.float32)]
    if q.ndim != 4 or mask is not None or q.shape[-1] != v.shape[-1]:
        return formulas()
    r = list(aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, scale=scale))
    for a, b in zip(r, formulas()):
        assert torch.allclose(a, b, atol=2e-2 if q.dtype in (torch.float16, torch.bfloat16) else 1e-5)
    return r


def flash_backward(gy, q, k, v, y, lse, mask, causal, scale):
    """Its formulas: y and lse are taken as they come."""
    s = q @ k.transpose(-1, -2) * scale
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), -math.inf)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else s + mask
    p = torch.exp(s - lse[..., None])
    ds = p * (gy @ v.transpose(-1, -2) - (gy * y).sum(-1, keepdim=True)) * scale
    return [ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ gy]


def fourier(x, n, pairs, back, half, scale):
    z = torch.view_as_complex(x) if pairs else x
    if half and back:
        return scale * torch.fft.irfft(z, n, norm='forward')
    y = torch.fft.ifft(z, norm='forward') if back else torch.fft.rfft(z) if half else torch.fft.fft(z)
    return scale * torch.view_as_real(y)


def rnn_layer(x, w, b, h, c, gates, reverse, train):
    """All steps by their formulas, and the same by PyTorch's module with an identity for its input weights."""
    L, N, G = x.shape
    H = w.shape[1]
    m = {4: torch.nn.LSTM, 3: torch.nn.GRU, 1: torch.nn.RNN}[gates](G, H).to(x.dtype)
    start = (h[None], c[None]) if gates == 4 else h[None]
    with torch.no_grad():
        m.weight_ih_l0.copy_(torch.eye(G)), m.weight_hh_l0.copy_(w), m.bias_ih_l0.zero_()
        m.bias_hh_l0.copy_(b) if b is not None else m.bias_hh_l0.zero_()
        y, last = m(x.flip(0) if reverse else x, start)
    ys, cells, saved = [None] * L, [None] * L, [None] * L
    for t in reversed(range(L)) if reverse else range(L):
        i, s = x[t].split(H, -1), F.linear(h, w, b).split(H, -1)
        if gates == 4:
            g = [(torch.tanh if k == 2 else torch.sigmoid)(i[k] + s[k]) for k in range(4)]
            c = g[1] * c + g[0] * g[2]
            h, cells[t] = g[3] * torch.tanh(c), c
        elif gates == 3:
            g = [torch.sigmoid(i[0] + s[0]), torch.sigmoid(i[1] + s[1])]
            g.append(torch.tanh(i[2] + g[0] * s[2]))
            h, cells[t] = g[2] + g[1] * (h - g[2]), s[2]
        else:
            g = [torch.tanh(i[0] + s[0])]
            h = cells[t] = g[0]
        ys[t], saved[t] = h, torch.cat(g, -1)
    ys = torch.stack(ys)
    assert torch.allclose(ys, y.flip(0) if reverse else y, atol=2e-2 if x.dtype in (torch.float16, torch.bfloat16) else 1e-5)
    none, train = x.new_empty(0), train and gates > 1
    return [ys, c if gates == 4 else none, torch.stack(cells) if train else none, torch.stack(saved) if train else none]


def rnn_layer_backward(gy, gc, w, h0, c0, y, cells, gate, gates, reverse):
    L, N, H = y.shape
    order = list(reversed(range(L))) if reverse else list(range(L))
    dh, dc = torch.zeros_like(h0), gc if gc is not None else torch.zeros_like(h0)
    out = [None] * L
    for k in reversed(range(L)):
        t = order[k]
        d = dh if gy is None else dh + gy[t]
        last = y[order[k - 1]] if k else h0
        if gates == 4:
            i, f, g, o = gate[t].split(H, -1)
            th = torch.tanh(cells[t])
            e = dc + d * o * (1 - th * th)
            before = cells[order[k - 1]] if k else c0
            out[t] = torch.cat([e * g * i * (1 - i), e * before * f * (1 - f), e * i * (1 - g * g), d * th * o * (1 - o)], -1)
            dc, dh = e * f, out[t] @ w
        elif gates == 3:
            r, z, n = gate[t].split(H, -1)
            dn = d * (1 - z) * (1 - n * n)
            dz, dr = d * (last - n) * z * (1 - z), dn * cells[t] * r * (1 - r)
            out[t] = torch.cat([dr, dz, dn], -1)
            dh = d * z + torch.cat([dr, dz, dn * r], -1) @ w
        else:
            out[t] = d * (1 - y[t] * y[t])
            dh = out[t] @ w
    return [torch.stack(out), dh, dc if gates == 4 else y.new_empty(0)]


def int_conv2d(x, w, b, s, p, d, g):
    if x.dtype != torch.int8 or w.dtype != torch.int8 or (b is not None and b.dtype != torch.int32):
        raise TypeError
    return F.conv2d(x.double(), w.double(), None if b is None else b.double(), s, p, d, g).int()


def rescale(x, m, s):
    if x.dtype != torch.int32 or m.dtype != torch.int32 or s.dtype != torch.int32:
        raise TypeError
    s = s.long()
    return ((x.long() * m.long() + (torch.ones_like(s) << s >> 1)) >> s).int()


def conv_backward(gy, x, w, s, p, d, g, mi, mw, mb):
    r = aten.convolution_backward(gy, x, w, [w.shape[0]], s, p, d, False, [0, 0], g, [mi, mw, mb])
    return [t if t is not None else torch.zeros(0, dtype=gy.dtype) for t in r]


def legit(x, w, b, rm, rv, training, momentum, eps):
    return list(aten._native_batch_norm_legit_functional(x, w, b, rm, rv, training, momentum, eps))


def none_to_dims(fn):
    return lambda x, dims, *rest: fn(x, dims if len(dims) else list(range(x.dim())), *rest)


def each_dim(fn):
    """A reduction that PyTorch has for one dim or all, over a list of dims."""
    def run(x, dims, keep):
        torch.ones(x.shape).sum(dims or None, keep)                    # refuses wrong dims
        if not dims:
            return fn(x).reshape([1] * x.dim()) if keep else fn(x)
        for d in sorted((d % max(x.dim(), 1) for d in dims), reverse=True):
            x = fn(x, d, keep)
        return x
    return run


def read_between(x, y0, x0):
    """torchvision's bilinear_interpolate: x [C, H, W] at one place; one beyond the edge counts as nothing."""
    C, H, W = x.shape
    if y0 < -1 or y0 > H or x0 < -1 or x0 > W:
        return torch.zeros(C, dtype=x.dtype)
    y0, x0 = min(max(y0, 0), H - 1), min(max(x0, 0), W - 1)
    y1, x1 = int(y0), int(x0)
    y2, x2, ly, lx = min(y1 + 1, H - 1), min(x1 + 1, W - 1), y0 - y1, x0 - x1
    return [(1 - ly) * (1 - lx) * x[:, y1, x1], (1 - ly) * lx * x[:, y1, x2], ly * (1 - lx) * x[:, y2, x1], ly * lx * x[:, y2, x2]]


def regions(x, boxes, size, scale, ratio, aligned, most=False):
    """torchvision.ops.roi_align by its text, one sample at a time, in f64; most: ONNX's mode max."""
    if boxes.dim() != 2 or boxes.shape[1] != 5 or x.dim() != 4:
        raise ValueError
    size, ratio, out = list(size) * (2 // len(size)), (ratio, ratio) if isinstance(ratio, int) else list(ratio) * (2 // len(ratio)), []
    for image, *b in boxes.double().tolist():
        low = [v * scale - (0.5 if aligned else 0) for v in b]
        w, h = low[2] - low[0], low[3] - low[1]
        if not aligned:
            w, h = max(w, 1.0), max(h, 1.0)
        r = torch.zeros(x.shape[1], *size, dtype=torch.float64)
        for i in range(size[0]):
            for j in range(size[1]):
                v = [read_between(x[int(image)].double(), low[1] + h * (i + (a + 0.5) / ratio[0]) / size[0], low[0] + w * (j + (c + 0.5) / ratio[1]) / size[1])
                     for a in range(ratio[0]) for c in range(ratio[1])]
                v = [torch.stack(t) if isinstance(t, list) else torch.stack([t] * 4) for t in v]
                v = torch.stack(v)
                r[:, i, j] = v.amax((0, 1)) if most else v.sum(1).mean(0)
        out.append(r)
    return (torch.stack(out) + 0.0 if out else torch.zeros(0, x.shape[1], *size)).to(x.dtype)     # no -0


def deformed(x, offset, w, b, stride, pad, dilation, mask):
    """torchvision.ops.deform_conv2d by its text: places outside count as 0, with what lies inside weighed."""
    stride, pad, dilation = two(stride, 1), two(pad, 0), two(dilation, 1)
    N, C, H, W = x.shape
    M, c, kh, kw = w.shape
    groups, moved, oh, ow = C // c, offset.shape[1] // (2 * kh * kw), offset.shape[2], offset.shape[3]
    if C % c or offset.shape[1] % (2 * kh * kw) or oh != (H + 2 * pad[0] - dilation[0] * (kh - 1) - 1) // stride[0] + 1:
        raise ValueError
    y, xp = torch.zeros(N, M, oh, ow, dtype=torch.float64), x.double()
    at = lambda n, ch, i, j: xp[n, ch, i, j].item() if 0 <= i < H and 0 <= j < W else 0.0
    for n in range(N):
        for i in range(oh):
            for j in range(ow):
                for ch in range(C):
                    for p in range(kh):
                        for q in range(kw):
                            k = (ch // (C // moved) * kh + p) * kw + q
                            py = i * stride[0] - pad[0] + p * dilation[0] + offset[n, 2 * k, i, j].item()
                            px = j * stride[1] - pad[1] + q * dilation[1] + offset[n, 2 * k + 1, i, j].item()
                            fy, fx = math.floor(py), math.floor(px)
                            v = sum(((py - fy) if a else 1 - (py - fy)) * ((px - fx) if e else 1 - (px - fx)) * at(n, ch, fy + a, fx + e)
                                    for a in (0, 1) for e in (0, 1))
                            v *= 1 if mask is None else mask[n, k, i, j].item()
                            g = ch // c
                            y[n, g * (M // groups):(g + 1) * (M // groups), i, j] += v * w[g * (M // groups):(g + 1) * (M // groups), ch % c, p, q].double()
    return (y if b is None else y + b.double()[:, None, None]).to(x.dtype)


def suppressed(boxes, scores, overlap):
    """torchvision.ops.nms."""
    if boxes.dim() != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise ValueError
    kept = []
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for i in torch.sort(scores, stable=True, descending=True)[1].tolist():
        ok = True
        for j in kept:
            side = (torch.minimum(boxes[i, 2:], boxes[j, 2:]) - torch.maximum(boxes[i, :2], boxes[j, :2])).clamp(min=0)
            both = side[0] * side[1]
            ok = ok and not (both / (area[i] + area[j] - both)).item() > overlap
        if ok:
            kept.append(i)
    return torch.tensor(kept, dtype=torch.int64)


def suppressed_each(boxes, scores, most, overlap, least):
    """ONNX's NonMaxSuppression: rows of batch, class, box."""
    if boxes.dim() != 3 or scores.dim() != 3 or boxes.shape[2] != 4 or scores.shape[::2] != boxes.shape[:2]:
        raise ValueError
    rows = []
    for b in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            above = (scores[b, c] > least).nonzero()[:, 0]
            kept = above[suppressed(boxes[b][above], scores[b, c][above], overlap)]
            rows += [[b, c, k] for k in kept.tolist()[:most]]
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)


def pairs(fn):
    """A transform whose complex numbers are pairs, in the dtype of its argument."""
    def run(x, *a):
        if fn in (torch.fft.rfft, torch.stft):
            r = fn(x.float() if x.dtype in (torch.float16, torch.bfloat16) else x, *a)
        else:
            r = fn(torch.view_as_complex((x.float() if x.dtype in (torch.float16, torch.bfloat16) else x).contiguous()), *a)
        return (torch.view_as_real(r) if r.is_complex() else r).to(x.dtype)
    return run


def stft(x, n, hop, window, onesided):
    if not x.is_floating_point():
        raise TypeError
    y = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    r = torch.stft(y, n, hop, n if window is None else window.shape[0], window, center=False, onesided=onesided, return_complex=True)
    return torch.view_as_real(r).to(x.dtype)


def two(d, otherwise):
    return list(d) * (2 // len(d)) if d else [otherwise] * 2


def in_f32(fn):
    """What PyTorch has no half kernel of."""
    def run(x, *a):
        half = x.dtype in (torch.float16, torch.bfloat16)
        return fn(x.float(), *[t.float() if half and isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in a]).to(x.dtype) if half else fn(x, *a)
    return run


MEANING = {
    'grid_sample': in_f32(lambda x, g, m, p, a: F.grid_sample(x, g, m, p, a)), 'affine_grid': in_f32(lambda t, s, a: F.affine_grid(t, s, a)),
    'im2col': lambda x, k, d, p, s: F.unfold(x, two(k, 1), two(d, 1), two(p, 0), two(s, 1)), 'col2im': lambda x, o, k, d, p, s: F.fold(x, o, two(k, 1), two(d, 1), two(p, 0), two(s, 1)),
    'max_unpool2d': aten.max_unpool2d, 'lp_pool2d': in_f32(lambda x, n, k, s, c: F.lp_pool2d(x, n, two(k, 1), list(s) or None, c)),
    'roi_align': regions, '_roi_align': lambda x, b, i, *a: regions(x, torch.cat([i.to(b.dtype)[:, None], b], 1), *a), 'deform_conv2d': deformed, 'nms': suppressed, '_nms_each': suppressed_each,
    'fft_fft': pairs(torch.fft.fft), 'fft_ifft': pairs(torch.fft.ifft), 'fft_rfft': pairs(torch.fft.rfft), 'fft_irfft': pairs(torch.fft.irfft), 'stft': stft,
    'upsample_linear1d': lambda x, s, a: F.interpolate(x, s, mode='linear', align_corners=a),
    'upsample_bilinear2d': lambda x, s, a: F.interpolate(x, s, mode='bilinear', align_corners=a),
    'upsample_trilinear3d': lambda x, s, a: F.interpolate(x, s, mode='trilinear', align_corners=a),
    'upsample_bicubic2d': lambda x, s, a: F.interpolate(x, s, mode='bicubic', align_corners=a),
    'where': lambda c, a, b: torch.where(c, a, b),
    'clamp': lambda x, lo, hi: torch.clamp(x, lo, hi),
    'addcmul': lambda x, a, b, v: torch.addcmul(x, a, b, value=v),
    'addcdiv': lambda x, a, b, v: torch.addcdiv(x, a, b, value=v),
    'addcmul_': lambda x, a, b, v: x.addcmul_(a, b, value=v),
    'addcdiv_': lambda x, a, b, v: x.addcdiv_(a, b, value=v),
    'masked_fill': lambda x, m, v: x.masked_fill(m, v),
    'gelu_tanh': lambda x: F.gelu(x, approximate='tanh'),
    'copy': lambda x, s: aten.copy(x, s if isinstance(s, torch.Tensor) else torch.tensor(s)),
    'copy_': lambda x, s: x.copy_(s if isinstance(s, torch.Tensor) else torch.tensor(s)),
    'fill': lambda x, v: torch.fill(x, v),
    'normal': lambda x, m, s: torch.empty_like(x).normal_(m, s),
    'uniform': lambda x, a, b: torch.empty_like(x).uniform_(a, b),
    'arange': lambda a, b, s, y, v: torch.arange(a, b, s, dtype=y),
    'eye': lambda n, m, y, v: torch.eye(n, m, dtype=y),
    'full': lambda d, x, y, v: torch.full(d, x, dtype=y),
    'all': each_dim(torch.all), 'any': each_dim(torch.any), 'prod': each_dim(torch.prod),
    'amax': torch.amax, 'amin': torch.amin, 'max': torch.max, 'min': torch.min,
    'logsumexp': none_to_dims(torch.logsumexp),
    'max_dim': lambda x, d, k: list(torch.max(x, d, k)), 'min_dim': lambda x, d, k: list(torch.min(x, d, k)),
    'mean': lambda x, d, k: torch.mean(x, d or None, k), 'sum': lambda x, d, k: torch.sum(x, d or None, k),
    'std': lambda x, d, c, k: torch.std(x, d or None, correction=c, keepdim=k),
    'var': lambda x, d, c, k: torch.var(x, d or None, correction=c, keepdim=k),
    'norm': lambda x, p, d, k: torch.linalg.vector_norm(x, p, d or None, k),
    'dot': torch.dot, 'linear': F.linear,
    'avg_pool2d': lambda x, k, s, p, c, i: F.avg_pool2d(x, k, s or None, p or 0, c, i),
    'avg_pool2d_backward': lambda g, x, k, s, p, c, i: aten.avg_pool2d_backward(g, x, k, s or k, p or 0, c, i, None),
    'adaptive_avg_pool2d': F.adaptive_avg_pool2d,
    'batch_norm': lambda x, w, b, rm, rv, t, m, e: F.batch_norm(x, rm, rv, w, b, t, m, e),
    '_native_batch_norm_legit_functional': legit,
    'native_batch_norm_backward': lambda g, x, w, rm, rv, sm, si, t, e: list(aten.native_batch_norm_backward(g, x, w, rm, rv, sm, si, t, e, [True] * 3)),
    'int_conv2d': int_conv2d, 'rescale': rescale,
    'conv2d': lambda x, w, b, s, p, d, g: F.conv2d(x, w, b, s or 1, p or 0, d or 1, g),
    'convolution': lambda x, w, b, s, p, d, g: aten.convolution(x, w, b, s, p, d, False, [0, 0], g),
    'convolution_backward': conv_backward,
    'dropout': lambda x, p, t: F.dropout(x, p, t),
    'embedding': lambda w, i: F.embedding(i, w),
    'embedding_dense_backward': lambda g, i, n: aten.embedding_dense_backward(g, i, n, -1, False),
    'layer_norm': F.layer_norm, 'int_mm': lambda a, b: torch._int_mm(a, b),
    '_scaled_dot_product_flash_attention_for_cpu': flash, '_scaled_dot_product_flash_attention_for_cpu_backward': flash_backward,
    '_fourier': fourier, '_rnn_layer': rnn_layer, '_rnn_layer_backward': rnn_layer_backward,
    'native_layer_norm': lambda *a: list(torch.native_layer_norm(*a)),
    'max_pool2d': lambda x, k, s, p, d, c: F.max_pool2d(x, k, s or None, p or 0, d or 1, c),
    'max_pool2d_with_indices': lambda x, k, s, p, d, c: list(F.max_pool2d_with_indices(x, k, s or None, p or 0, d or 1, c)),
    'max_pool2d_with_indices_backward': None,
    'one_hot': F.one_hot, 'threshold_backward': aten.threshold_backward,
    'sigmoid_backward': aten.sigmoid_backward, 'tanh_backward': aten.tanh_backward,
    'binary_cross_entropy_with_logits': F.binary_cross_entropy_with_logits,
    '_binary_cross_entropy': lambda x, y: F.binary_cross_entropy(x, y, reduction='none'),
    'smooth_l1_loss': lambda x, y, b: F.smooth_l1_loss(x, y, beta=b),
    'alias': aten.alias, 'slice': slice_of, 'squeeze_all': lambda x: x.squeeze(),
    '_strided_view': lambda x, size, stride, offset: x.as_strided(size, stride, x.storage_offset() + offset),
    'select_backward': select_backward, 'slice_backward': slice_backward, 'diagonal_backward': diagonal_backward,
    'argsort': lambda x, d, desc: torch.sort(x, dim=d, descending=desc, stable=True)[1],
    'sort': lambda x, d, desc: list(torch.sort(x, dim=d, descending=desc, stable=True)),
    'topk': lambda x, k, d, l, s: list(torch.topk(x, k, d, l, s)),
    '_clone_contiguous': lambda x: x.clone(memory_format=torch.contiguous_format),
    'to_dtype': lambda x, y: x.to(y), 'to_device': lambda x, v: x.clone(),
    'set_': lambda x, s: x.set_(s),
    'scatter': lambda x, d, i, s: torch.scatter(x, d, i, s), 'scatter_': lambda x, d, i, s: x.scatter_(d, i, s),
    'index_select': torch.index_select, 'softplus': F.softplus,
    'take_along_dim': torch.take_along_dim,
    'max_pool2d_with_indices_backward': lambda g, x, i: aten.max_pool2d_with_indices_backward(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, i),
    'roll': lambda x, s, d: torch.roll(x, s, d),
    'eq': torch.eq, 'floor_divide': torch.floor_divide,
    'isclose': lambda a, b, r, t, n: torch.isclose(a, b, r, t, n),
    'count_nonzero': lambda x, d: torch.count_nonzero(x, list(d) or None),
    'einsum': lambda e, ops: torch.einsum(e, *ops),
    'conv1d': lambda x, w, b, s, p, d, g: F.conv1d(x, w, b, s or 1, p or 0, d or 1, g),
    'conv_transpose2d': lambda x, w, b, s, p, o, g, d: F.conv_transpose2d(x, w, b, s or 1, p or 0, o or 0, g, d or 1),
    'instance_norm': lambda x, w, b, e: F.instance_norm(x, None, None, w, b, eps=e),
    'scaled_dot_product_attention': lambda q, k, v, m, p, c, s: F.scaled_dot_product_attention(q, k, v, m, p, c, scale=s),
    'upsample_nearest2d': lambda x, s: F.interpolate(x, s), 'pixel_shuffle': F.pixel_shuffle,
    'pad': lambda x, p, v: F.pad(x, p, value=v), 'huber_loss': lambda x, y, d: F.huber_loss(x, y, delta=d),
    'kl_div': lambda x, y, l: F.kl_div(x, y, log_target=l), 'unfold': lambda x, d, s, t: x.unfold(d, s, t),
    'threshold': F.threshold, 'unique': torch.unique, 'normalize': F.normalize, 'cosine_similarity': F.cosine_similarity,
}


def meaning(name):
    if MEANING.get(name):
        return MEANING[name]
    if name in ('empty', 'zeros', 'ones', 'rand', 'randn'):
        return lambda d, y, v: getattr(torch, name)(d, dtype=y)
    base = getattr(torch, name, None) or getattr(F, name, None)
    if name.endswith('_') or base is None:
        return lambda x, *a: getattr(x, name)(*a)
    return base


INFIX = {'add', 'sub', 'mul', 'div', 'lt', 'le', 'gt', 'ge', 'eq', 'ne'}
NUMBER_FIRST = {'add', 'sub', 'mul', 'div', 'pow', 'remainder', 'maximum', 'minimum', 'atan2', 'lt', 'le', 'gt', 'ge', 'eq', 'ne', 'logical_and',
                'logical_or', 'logical_xor', 'bitwise_and', 'bitwise_or', 'bitwise_xor', 'fmod', 'floor_divide'}


def call(name, args):
    values = [arg_value(a) for a in args]
    if name in NUMBER_FIRST:              # PyTorch wants tensors; a 0-dim wrapped number promotes like the number itself
        if all(not isinstance(v, torch.Tensor) for v in values):
            raise TypeError
        if any(not isinstance(v, torch.Tensor) for v in values):
            a, b = values
            infix = {'add': lambda: a + b, 'sub': lambda: a - b, 'mul': lambda: a * b, 'div': lambda: a / b, 'lt': lambda: a < b,
                     'le': lambda: a <= b, 'gt': lambda: a > b, 'ge': lambda: a >= b, 'eq': lambda: a == b, 'ne': lambda: a != b}
            if name in infix:
                return infix[name]()
            if name in ('pow', 'remainder'):
                return getattr(torch, name)(a, b)
            if name in ('bitwise_and', 'bitwise_or', 'bitwise_xor') and isinstance(a, torch.Tensor):
                return getattr(torch, name)(a, b)
            if name in ('fmod', 'floor_divide') and isinstance(a, torch.Tensor):
                return getattr(torch, name)(a, b)
            dt = torch.result_type(a, b)
            a = a if isinstance(a, torch.Tensor) else torch.tensor(a, dtype=dt)
            b = b if isinstance(b, torch.Tensor) else torch.tensor(b, dtype=dt)
            return getattr(torch, name)(a, b)
    return meaning(name)(*values)


lines, seen, raised = [], set(), {}


def sample(name, *args, values=True, strides=True):
    try:
        r = call(name, args)
        outs = list(r) if isinstance(r, (list, tuple)) else [r]
        out = ';'.join(out_text(t, values, strides) for t in outs)
    except Exception as e:
        out = '!'
        raised.setdefault(name, []).append(type(e).__name__ + ': ' + str(e)[:100])
    line = '%s|%s|%s' % (name, ';'.join(arg_text(a) for a in args), out)
    if line in seen:
        return
    seen.add(line)
    lines.append(line)


# ---- samples --------------------------------------------------------------------------------------------------------------------------------------

def pat_for(dtype, kind='n', seed=0):
    if dtype in FLOATS:
        return kind + str(seed)
    if dtype == 'b8':
        return 'b' + str(seed)
    if kind == 'p':
        return 'x' + str(seed)
    return ('w' if dtype == 'u8' else 'k') + str(seed)


def binary(name, other='n'):
    for d in ALL:
        sample(name, T(d, [2, 3], pat_for(d)), T(d, [2, 3], pat_for(d, other, 1)))
    sample(name, T('f32', [12, 12], 's0', [1, 0]), T('f32', [12, 12], 's0', [0, 1]))
    sample(name, T('f64', [12], 's0'), T('f64', [12], 's5'))
    sample(name, T('f32', [2, 1], 'n0'), T('f32', [3], pat_for('f32', other, 2)))
    sample(name, T('f32', [3, 2], 'n0', [1, 3]), T('f32', [3, 2], pat_for('f32', other, 2), [1, 3]))
    sample(name, T('f32', [0, 3], 'n0'), T('f32', [3], pat_for('f32', other, 2)))
    sample(name, T('f32', [], 'n3'), T('f32', [], pat_for('f32', other, 2)))
    sample(name, T('f32', [4], 'n0', [2], 1), T('f32', [4], pat_for('f32', other, 2), [3], 2))
    for d in ['f32', 'f16', 'i64', 'i8', 'u8', 'b8']:
        for x in (2, -3, 0.5, True):
            if d == 'u8' and x == -3 and name not in INFIX:      # only infix operators take numbers
                continue
            sample(name, T(d, [5], pat_for(d)), x)
            if d in ('f32', 'i64'):
                sample(name, x, T(d, [5], pat_for(d, other, 1)))
    sample(name, T('i64', [3], 'k0'), T('f32', [], pat_for('f32', other, 1)))
    sample(name, T('f16', [3], 'n0'), T('f64', [], pat_for('f64', other, 1)))
    sample(name, T('i32', [3], 'k0'), T('i64', [3], pat_for('i64', other, 1)))
    sample(name, T('bf16', [3], 'n0'), T('f16', [3], pat_for('f16', other, 1)))
    sample(name, T('f16', [3], 'n0'), T('i64', [3], pat_for('i64', other, 1)))
    sample(name, T('f32', [2, 3], 'n0'), T('f32', [4], pat_for('f32', other)))


for n in ['add', 'sub', 'mul', 'maximum', 'minimum', 'lt', 'le', 'gt', 'ge', 'eq', 'ne', 'logical_and', 'logical_or', 'logical_xor', 'bitwise_and',
          'bitwise_or', 'bitwise_xor', 'atan2', 'div']:
    binary(n)
for n in ['remainder', 'fmod', 'floor_divide']:
    binary(n, 'p')
    for d in ['f32', 'i32', 'i64', 'i8']:
        sample(n, T(d, [6], pat_for(d)), T(d, [6], pat_for(d, 'p', 3)))
        sample(n, T(d, [6], pat_for(d)), -3)
    sample(n, T('i32', [3], 'k0'), T('i32', [3], 'w0'))
    sample(n, T('i32', [3], 'k0'), 0)
for d in FLOATS:
    sample('pow', T(d, [8], 'p0'), T(d, [8], 'n1'))
    for e in (0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.5, 2.5, -3):
        sample('pow', T(d, [4], 'p0'), e)
sample('pow', T('f32', [12, 12], 's0', [1, 0]), T('f32', [12, 12], 's0', [0, 1]))
sample('pow', T('f64', [12, 12], 's0', [1, 0]), T('f64', [12, 12], 's0', [0, 1]))
for d in INTS:
    sample('pow', T(d, [6], pat_for(d)), T(d, [6], 'w1'))
    sample('pow', T(d, [6], pat_for(d)), 3)
    sample('pow', T(d, [6], pat_for(d)), 2.0)
sample('pow', T('i64', [7], 'k0'), T('i64', [7], 'k2'))
sample('pow', T('i64', [7], 'k0'), -1)
sample('pow', 2, T('f32', [5], 'n0'))
sample('pow', 2.0, T('i64', [5], 'w0'))
sample('pow', T('b8', [3], 'b0'), T('b8', [3], 'b1'))
sample('pow', T('b8', [3], 'b0'), 2)

UNARY = 'abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf erfc exp exp2 expm1 floor frac gelu gelu_tanh isfinite isinf isnan log log10 log1p log2 ' \
    'logical_not logsigmoid mish neg reciprocal relu relu6 round rsqrt sgn sigmoid sign silu sin sinh softplus sqrt square tan tanh trunc clone'.split()
DOMAIN = {'acos': 'u', 'acosh': 'p', 'atanh': 'u', 'asin': 'u', 'log': 'p', 'log10': 'p', 'log2': 'p', 'rsqrt': 'p', 'sqrt': 'p', 'log1p': 'q'}
for n in UNARY:
    kind = DOMAIN.get(n, 'n')
    for d in ALL:
        sample(n, T(d, [7], pat_for(d, kind)))
    if n != 'gelu':                       # PyTorch's vector code gives NaN for gelu(inf)
        sample(n, T('f32', [12], 's0'))
    sample(n, T('f64', [12], 's0'))
    sample(n, T('f32', [3, 4], kind + '1', [1, 3]))
    sample(n, T('f32', [2, 2], kind + '1', [7, 2], 3))
    sample(n, T('f32', [2, 3], kind + '1', [0, 1]))
    sample(n, T('f32', [], kind + '2'))
    sample(n, T('f32', [2, 0], kind + '2'))
for d in ['f32', 'f64', 'bf16', 'i64']:
    for al in (1.0, 0.5):
        sample('elu', T(d, [7], pat_for(d)), al)
    sample('leaky_relu', T(d, [7], pat_for(d)), 0.01)
    sample('hardtanh', T(d, [7], pat_for(d)), -1.0, 1.0)
for n, a in [('elu', (1.0,)), ('leaky_relu', (0.1,)), ('hardtanh', (-1.0, 2.0))]:
    sample(n, T('f32', [12], 's0'), *a)

for d in ALL:
    sample('where', T('b8', [2, 3], 'b0'), T(d, [3], pat_for(d)), T(d, [2, 1], pat_for(d, 'n', 1)))
    sample('masked_fill', T(d, [2, 3], pat_for(d)), T('b8', [3], 'b0'), 1)
    sample('clamp', T(d, [7], pat_for(d)), -1, 1)
    sample('clamp', T(d, [7], pat_for(d)), None, 1)
    sample('lerp', T(d, [5], pat_for(d)), T(d, [5], pat_for(d, 'n', 1)), 0.25)
    sample('addcmul', T(d, [5], pat_for(d)), T(d, [5], pat_for(d, 'n', 1)), T(d, [5], pat_for(d, 'p', 2)), 2)
    sample('addcdiv', T(d, [5], pat_for(d)), T(d, [5], pat_for(d, 'n', 1)), T(d, [5], pat_for(d, 'p', 2)), 0.5)
sample('where', T('b8', [3], 'b0'), 1, 2.0)
sample('where', T('b8', [3], 'b0'), T('f16', [3], 'n0'), 1)
sample('where', T('b8', [3], 'b0'), T('i64', [3], 'k0'), 1.5)
sample('where', T('b8', [3], 'b0'), T('f32', [3], 's2'), T('f64', [3], 'n0'))
sample('where', T('u8', [3], 'w0'), T('f32', [3], 'n0'), 0.0)
sample('where', T('i64', [3], 'k0'), 1, 2)
sample('where', T('b8', [3, 2], 'b0', [1, 3]), T('f32', [3, 2], 'n0', [1, 3]), 0.0)
sample('masked_fill', T('f32', [3], 'n0'), T('b8', [2, 3], 'b0'), 0.5)
sample('masked_fill', T('f32', [3], 'n0'), T('b8', [3], 'b0'), T('f32', [], 'n1'))
sample('masked_fill', T('f32', [3], 'n0'), T('i64', [3], 'k0'), 0.5)
sample('masked_fill', T('f32', [3], 'n0'), T('b8', [3], 'b0'), T('f32', [3], 'n0'))
sample('clamp', T('f32', [12], 's0'), -1.0, 2.0)
sample('clamp', T('i64', [7], 'k0'), 0.5, None)
sample('clamp', T('f32', [7], 'n0'), T('f32', [7], 'n1'), None)
sample('clamp', T('f32', [7], 'n0'), None, None)
sample('lerp', T('f32', [5], 'n0'), T('f32', [5], 'n1'), T('f32', [5], 'n2'))
sample('lerp', T('f32', [5], 'n0'), T('f32', [1], 'n1'), 0.75)
sample('lerp', T('f32', [5], 'n0'), T('f64', [5], 'n1'), 0.75)
sample('addcmul', T('f16', [3], 'n0'), T('i64', [3], 'k0'), T('f32', [3], 'n1'), 2)
sample('addcmul', T('f32', [2, 1], 'n0'), T('f32', [3], 'n2'), T('f32', [], 'n1'), -0.5)

INPLACE1 = 'abs_ ceil_ cos_ exp_ floor_ log_ neg_ relu_ round_ sigmoid_ sin_ sqrt_ tanh_ trunc_ zero_'.split()
for n in INPLACE1:
    kind = 'p' if n in ('log_', 'sqrt_') else 'n'
    for d in ['f32', 'f64', 'f16', 'bf16', 'i64', 'i8', 'b8']:
        sample(n, T(d, [2, 3], pat_for(d, kind)))
    sample(n, T('f32', [3, 2], kind + '0', [1, 3], 2))
    sample(n, T('f32', [2, 3], kind + '0', [0, 1]))
for n in ['add_', 'sub_', 'mul_', 'div_', 'pow_', 'copy_']:
    kind = 'p' if n in ('div_', 'pow_') else 'n'
    for d in ['f32', 'f64', 'f16', 'i64', 'u8', 'b8']:
        sample(n, T(d, [2, 3], pat_for(d, 'p')), T(d, [3], pat_for(d, kind, 1)))
        sample(n, T(d, [2, 3], pat_for(d, 'p')), 2)
        sample(n, T(d, [2, 3], pat_for(d, 'p')), 0.5)
    sample(n, T('f32', [3, 2], 'p0', [1, 3], 2), T('f64', [3, 1], kind + '0'))
    sample(n, T('f32', [3], 'p0'), T('f32', [2, 3], kind + '0'))
    sample(n, T('f16', [3], 'p0'), T('f32', [3], kind + '0'))
    sample(n, T('i64', [3], 'x0'), T('f32', [3], kind + '0'))
    sample(n, T('f32', [2, 3], 'p0', [0, 1]), 1)
for d in ['f32', 'i64', 'b8', 'f16', 'u8']:
    sample('fill_', T(d, [2, 2], pat_for(d)), 3)
    sample('fill_', T(d, [2, 2], pat_for(d)), 1.5)
    sample('fill', T(d, [2, 2], pat_for(d), [1, 2]), 1)
    sample('copy', T(d, [2, 3], pat_for(d), [1, 2]), T('f32', [3], 'n0'))
    sample('clamp_', T(d, [4], pat_for(d)), -1, 1)
sample('fill_', T('f32', [2, 2], 'n0'), T('f64', [], 'n1'))
sample('fill_', T('f32', [2, 2], 'n0'), T('f64', [2], 'n1'))
sample('lerp_', T('f32', [4], 'n0'), T('f32', [4], 'n1'), 0.25)
sample('addcmul_', T('f32', [4], 'n0'), T('f32', [4], 'n1'), T('f32', [4], 'n2'), 0.5)
sample('addcdiv_', T('f32', [4], 'n0'), T('f32', [4], 'n1'), T('f32', [4], 'p2'), 0.5)
sample('masked_fill_', T('f32', [2, 4], 'n0'), T('b8', [4], 'b0'), 0.5)
sample('masked_fill_', T('f32', [4], 'n0'), T('b8', [2, 4], 'b0'), 0.5)

for d in ALL:
    y = Dtype(d)
    for n in ['zeros', 'ones']:
        sample(n, Dims([2, 3]), y, CPU)
    sample('empty', Dims([2, 0, 3]), y, CPU, values=False)
    sample('full', Dims([2]), 3, y, CPU)
    sample('eye', 2, 3, y, CPU)
    sample('arange', 0, 5, 1, y, CPU)
    for n in ['zeros_like', 'ones_like']:
        sample(n, T(d, [2, 3], pat_for(d), [1, 2]))
    sample('full_like', T(d, [2, 3], pat_for(d)), 2)
    sample('empty_like', T(d, [2, 3, 2], pat_for(d), [1, 4, 2]), values=False)
    for n in ['rand', 'randn']:
        sample(n, Dims([2, 3]), y, CPU, values=False)
        sample(n + '_like', T(d, [2, 3], pat_for(d), [1, 2]), values=False)
sample('zeros', Dims([]), Dtype('f32'), CPU)
sample('zeros', Dims([2, -1]), Dtype('f32'), CPU)
sample('zeros_like', T('f32', [4, 5, 3], 'n0', [1, 0, 12]))
sample('zeros_like', T('f32', [2, 3], 'n0', [7, 2]))
for a in [(0, 1, 0.25), (1.0, 6.0, 2.0), (5, 0, -1), (0, 0, 1), (0, 1, 0), (1, 0, 1), (0.5, 3, 0.5)]:
    sample('arange', *a, Dtype('f32'), CPU)
    sample('arange', *a, Dtype('f64'), CPU)
for n, a in [('normal', (1.0, 2.0)), ('uniform', (-1.0, 3.0))]:
    sample(n, T('f32', [2, 3], 'n0'), *a, values=False)
    sample(n + '_', T('f32', [2, 3], 'n0'), *a, values=False)
    sample(n + '_', T('f64', [2, 3], 'n0', [1, 2]), *a, values=False)
    sample(n, T('i64', [3], 'k0'), *a, values=False)
sample('normal', T('f32', [3], 'n0'), 0.0, -1.0, values=False)
sample('uniform', T('f32', [3], 'n0'), 1.0, 0.0, values=False)

for n in ['sum', 'mean', 'amax', 'amin', 'any', 'all', 'prod', 'logsumexp']:
    for d in ALL:
        sample(n, T(d, [3, 5], pat_for(d)), Dims([1]), False)
    for dims, keep in [([], False), ([0], True), ([-1, 0], False), ([0, 1, 2], True), ([1], False), ([0, 2], True)]:
        sample(n, T('f32', [2, 3, 4], 'n0'), Dims(dims), keep)
        sample(n, T('f32', [2, 3, 4], 'n0', [1, 2, 6], 1), Dims(dims), keep)
    sample(n, T('f32', [12, 3], 's0', [1, 12]), Dims([1]), False)
    sample(n, T('f32', [3, 4], 's0'), Dims([1]), False)
    sample(n, T('f32', [], 'n0'), Dims([]), False)
    sample(n, T('f32', [0, 3], 'n0'), Dims([0]), False)
    sample(n, T('f32', [3, 0], 'n0'), Dims([0]), False)
    sample(n, T('f32', [3], 'n0'), Dims([1]), False)
    if n in ('sum', 'mean', 'amax'):
        sample(n, T('f32', [3], 'n0'), Dims([0, 0]), False)
    sample(n, T('f64', [2, 3, 4], 'n0'), Dims([1]), False)
    sample(n, T('f32', [4, 1000], 'n0') if n != 'prod' else T('f32', [4, 9], 'p0'), Dims([1]), False)
for n in ['var', 'std']:
    for d in ['f32', 'f64', 'f16', 'i64']:
        sample(n, T(d, [3, 5], pat_for(d)), Dims([1]), 1, False)
    sample(n, T('f32', [3, 5], 'n0'), Dims([]), 0, False)
    sample(n, T('f32', [3, 5], 'n0', [1, 3]), Dims([0]), 2, True)
    sample(n, T('f32', [3, 1], 'n0'), Dims([1]), 1, False)
    sample(n, T('f32', [3, 0], 'n0'), Dims([1]), 1, False)
for n in ['argmax', 'argmin']:
    for d in ALL:
        sample(n, T(d, [3, 5], pat_for(d)), 1, False)
    sample(n, T('f32', [12, 3], 's0', [1, 12]), -1, True)
    sample(n, T('f32', [3, 4], 's0'), 1, True)
    sample(n, T('f32', [0], 'n0'), 0, False)
    sample(n, T('f32', [2, 3, 4], 'n0', [1, 2, 6]), 0, False)
for n in ['max', 'min']:
    for d in ALL:
        sample(n, T(d, [3, 5], pat_for(d)))
    sample(n, T('f32', [2, 3, 4], 'n0', [1, 2, 6], 1))
    sample(n, T('f32', [12], 's0'))
    sample(n, T('f32', [], 'n0'))
    sample(n, T('f32', [0, 3], 'n0'))
for n in ['max_dim', 'min_dim']:
    for d in ALL:
        sample(n, T(d, [3, 5], pat_for(d)), 1, False)
    sample(n, T('f32', [3, 4], 's0'), 1, True)
    sample(n, T('f32', [2, 3, 4], 'n0', [1, 2, 6]), 0, True)
    sample(n, T('f32', [0, 2], 'n0'), 0, False)
for d in ALL:
    sample('cumsum', T(d, [2, 5], pat_for(d)), 1)
sample('cumsum', T('f32', [3, 2], 'n0', [1, 3]), 0)
sample('cumsum', T('f32', [], 'n3'), 0)
sample('cumsum', T('f32', [2, 0], 'n3'), 1)
for n in ['softmax', 'log_softmax']:
    for d in ['f32', 'f64', 'f16', 'bf16', 'i64']:
        sample(n, T(d, [2, 5], pat_for(d)), 1)
    sample(n, T('f32', [2, 3, 4], 'n0', [1, 2, 6]), 1)
    sample(n, T('f32', [2, 3, 4], 'n0'), 0)
    sample(n, T('f32', [], 'n3'), 0)
    sample(n, T('f32', [3, 4], 's0'), 1)
    sample(n, T('f32', [2, 0], 'n0'), 1)
    sample(n, T('f32', [3], 'n0'), 1)
for p in [2.0, 1.0, 0.0, math.inf, -math.inf, 3.0, 2]:
    sample('norm', T('f32', [3, 4], 'n0'), p, Dims([1]), False)
sample('norm', T('f64', [3, 4], 'n0'), 2.0, Dims([]), False)
sample('norm', T('i64', [3], 'k0'), 2.0, Dims([]), False)

for d in ['f32', 'f64', 'f16', 'bf16', 'i64', 'i32', 'b8']:
    sample('mm', T(d, [3, 4], pat_for(d)), T(d, [4, 2], pat_for(d, 'n', 1)))
    sample('addmm', T(d, [2], pat_for(d)), T(d, [3, 4], pat_for(d)), T(d, [4, 2], pat_for(d, 'n', 1)))
    sample('dot', T(d, [5], pat_for(d)), T(d, [5], pat_for(d, 'n', 1)))
    sample('mv', T(d, [3, 4], pat_for(d)), T(d, [4], pat_for(d, 'n', 1)))
    sample('bmm', T(d, [2, 3, 4], pat_for(d)), T(d, [2, 4, 2], pat_for(d, 'n', 1)))
    sample('linear', T(d, [2, 3], pat_for(d)), T(d, [4, 3], pat_for(d, 'n', 1)), T(d, [4], pat_for(d, 'n', 2)))
sample('mm', T('f32', [3, 4], 'n0', [1, 3]), T('f32', [4, 2], 'n1', [1, 4]))
sample('int_mm', T('i8', [20, 8], pat_for('i8')), T('i8', [8, 16], pat_for('i8', 'n', 1)))
sample('int_mm', T('i8', [3, 4], 'k0'), T('i8', [3, 4], 'k1'))
sample('int_mm', T('i8', [3, 4], 'k0'), T('f32', [4, 2], 'n1'))
sample('mm', T('f32', [3, 0], 'n0'), T('f32', [0, 2], 'n1'))
sample('mm', T('f32', [0, 3], 'n0'), T('f32', [3, 2], 'n1'))
sample('mm', T('f32', [3, 4], 'n0'), T('f32', [3, 4], 'n1'))
sample('mm', T('f32', [3, 4], 'n0'), T('f64', [4, 2], 'n1'))
sample('mm', T('f32', [3], 'n0'), T('f32', [3, 2], 'n1'))
sample('mm', T('f32', [3, 4], 'n0', [0, 1]), T('f32', [4, 2], 'n1', [2, 1], 3))
sample('addmm', T('f32', [3, 1], 'n0'), T('f32', [3, 4], 'n0'), T('f32', [4, 2], 'n1'))
sample('addmm', T('f32', [3], 'n0'), T('f32', [3, 4], 'n0'), T('f32', [4, 2], 'n1'))
sample('addmm', T('f32', [2], 'n0'), T('f32', [3, 0], 'n0'), T('f32', [0, 2], 'n1'))
sample('mv', T('f32', [3, 4], 'n0', [1, 3]), T('f32', [4], 'n1', [2], 1))
sample('dot', T('f32', [0], 'n0'), T('f32', [0], 'n0'))
sample('dot', T('f32', [2], 'n0'), T('f32', [3], 'n0'))
sample('bmm', T('f32', [2, 3, 4], 'n0', [1, 2, 6]), T('f32', [2, 4, 5], 'n1', [0, 5, 1]))
sample('outer', T('f32', [3], 'n0'), T('f32', [4], 'n1'))
sample('outer', T('i64', [3], 'k0'), T('f32', [2], 'n1'))
for a, b in [([4], [4]), ([3, 4], [4]), ([4], [4, 2]), ([3, 4], [4, 2]), ([2, 3, 4], [4]), ([2, 3, 4], [4, 5]), ([4], [2, 4, 3]), ([3, 4], [2, 4, 5]),
             ([2, 3, 4], [2, 4, 2]), ([2, 1, 3, 4], [3, 4, 2]), ([1, 3, 4], [5, 4, 2]), ([0, 3, 4], [4, 2]), ([3, 4], [3, 4]), ([], [4]), ([2, 3, 4], [3, 4, 2])]:
    sample('matmul', T('f32', a, 'n0'), T('f32', b, 'n1'))
sample('matmul', T('f32', [2, 3, 4], 'n0', [1, 8, 2]), T('f32', [4, 2], 'n1', [1, 4]))
for x in ([3], [2, 3], [2, 4, 3], [2, 1, 2, 3]):
    sample('linear', T('f32', x, 'n0'), T('f32', [4, 3], 'n1'), T('f32', [4], 'n2'))
    sample('linear', T('f32', x, 'n0'), T('f32', [4, 3], 'n1'), None)
sample('linear', T('f32', [2, 3], 'n0', [1, 2]), T('f32', [4, 3], 'n1', [1, 4]), T('f32', [4], 'n2'))
sample('linear', T('f32', [2, 3], 'n0'), T('f32', [4, 2], 'n1'), None)

for d in ['f32', 'f64', 'bf16']:
    sample('conv2d', T(d, [2, 2, 5, 4], pat_for(d)), T(d, [3, 2, 3, 2], pat_for(d, 'n', 1)), T(d, [3], pat_for(d, 'n', 2)), Dims([1]), Dims([0]), Dims([1]), 1)
for s, p, dl, g in [([2], [1], [1], 1), ([1, 2], [0, 1], [2, 1], 1), ([1], [1], [1], 2), ([1], [0], [1], 3), ([], [], [], 1), ([0], [0], [1], 1), ([1], [-1], [1], 1)]:
    sample('conv2d', T('f32', [1, 4, 6, 5], 'n0'), T('f32', [4, 4 // g if g != 3 else 1, 3, 2], 'n1'), T('f32', [4], 'n2'), Dims(s), Dims(p), Dims(dl), g)
for s, p, dl, g in [([1], [0], [1], 1), ([2], [1], [1], 2), ([1, 2], [2, 1], [2], 4)]:
    sample('int_conv2d', T('i8', [2, 4, 7, 6], 'k0'), T('i8', [4, 4 // g, 3, 2], 'k1'), T('i32', [4], 'k2'), Dims(s), Dims(p), Dims(dl), g)
sample('int_conv2d', T('i8', [1, 2, 5, 4], 'k0'), T('i8', [3, 2, 1, 1], 'k1'), None, Dims([1]), Dims([0]), Dims([1]), 1)
sample('int_conv2d', T('i8', [1, 2, 5, 4], 'k0'), T('i8', [3, 2, 1, 1], 'k1'), T('f32', [3], 'n0'), Dims([1]), Dims([0]), Dims([1]), 1)
sample('int_conv2d', T('f32', [1, 2, 5, 4], 'k0'), T('f32', [3, 2, 1, 1], 'k1'), None, Dims([1]), Dims([0]), Dims([1]), 1)
many = T('i32', [2, 12], [0, 1, -1, 5, -5, 2**31 - 1, -2**31, 1000003, -1000003, 3, -3, 77] * 2)
sample('rescale', many, T('i32', [2, 1], [2**31 - 1, 1503238554]), T('i32', [2, 1], [31, 33]))
sample('rescale', many, T('i32', [12], [1, 1, 1, 1, 1, 1, 1, 2**30, 2**30, 3, 3, -7]), T('i32', [12], [0, 1, 1, 1, 1, 62, 62, 40, 40, 1, 1, 2]))
sample('rescale', T('i64', [3], 'k0'), T('i32', [], 'k1'), T('i32', [], 'x1'))
sample('conv2d', T('f32', [2, 5, 4], 'n0'), T('f32', [3, 2, 3, 2], 'n1'), None, Dims([1]), Dims([1]), Dims([1]), 1)
sample('conv2d', T('f32', [1, 2, 2, 2], 'n0'), T('f32', [3, 2, 3, 2], 'n1'), None, Dims([1]), Dims([0]), Dims([1]), 1)
sample('conv2d', T('f32', [1, 2, 4, 4], 'n0', [32, 1, 8, 2]), T('f32', [3, 2, 1, 1], 'n1'), None, Dims([1]), Dims([0]), Dims([1]), 1, strides=False)
sample('convolution', T('f32', [1, 2, 4, 4], 'n0'), T('f32', [3, 2, 3, 3], 'n1'), T('f32', [3], 'n2'), Dims([1, 1]), Dims([1, 1]), Dims([1, 1]), 1)
for m in [(True, True, True), (True, False, False), (False, True, True)]:
    sample('convolution_backward', T('f32', [1, 4, 2, 3], 'n0'), T('f32', [1, 2, 4, 5], 'n1'), T('f32', [4, 2, 3, 3], 'n2'), Dims([2, 2]), Dims([1, 1]), Dims([1, 1]), 1, *m)
sample('convolution_backward', T('f32', [2, 4, 2, 3], 'n0'), T('f32', [2, 4, 4, 5], 'n1'), T('f32', [4, 2, 3, 3], 'n2'), Dims([1, 1]), Dims([0, 0]), Dims([1, 1]), 2, True, True, True)

for k, s, p, c in [([2], [], [0], False), ([3, 2], [2, 1], [1], False), ([3], [2], [1], True), ([2], [2], [0], True), ([2], [1], [2], False), ([6], [], [0], False)]:
    sample('max_pool2d', T('f32', [1, 2, 5, 5], 'n0'), Dims(k), Dims(s), Dims(p), Dims([1]), c)
    sample('max_pool2d_with_indices', T('f32', [1, 2, 5, 5], 'n0', [50, 1, 10, 2]), Dims(k), Dims(s), Dims(p), Dims([1]), c, strides=False)
    for inc in (True, False):
        sample('avg_pool2d', T('f32', [1, 2, 5, 5], 'n0'), Dims(k), Dims(s), Dims(p), c, inc)
sample('max_pool2d', T('f32', [2, 6, 6], 's0'), Dims([2]), Dims([]), Dims([]), Dims([2]), False)
sample('max_pool2d', T('f64', [2, 4, 4], 'n0'), Dims([2]), Dims([]), Dims([]), Dims([]), False)
sample('avg_pool2d', T('f64', [2, 4, 4], 'n0'), Dims([2]), Dims([]), Dims([]), False, True)
sample('max_pool2d', T('f32', [4, 4], 'n0'), Dims([2]), Dims([]), Dims([]), Dims([]), False)
sample('avg_pool2d_backward', T('f32', [1, 2, 3, 3], 'n0'), T('f32', [1, 2, 5, 5], 'n1'), Dims([3, 3]), Dims([2, 2]), Dims([1, 1]), False, True)
sample('avg_pool2d_backward', T('f32', [1, 2, 3, 3], 'n0'), T('f32', [1, 2, 5, 5], 'n1'), Dims([3, 3]), Dims([2, 2]), Dims([1, 1]), False, False)
sample('max_pool2d_with_indices_backward', T('f32', [1, 2, 2, 2], 'n0'), T('f32', [1, 2, 4, 4], 'n1'), T('i64', [1, 2, 2, 2], 'z16'))
for o in ([1, 1], [2, 2], [2, 3]):
    sample('adaptive_avg_pool2d', T('f32', [2, 4, 6], 'n0'), Dims(o))
    sample('adaptive_avg_pool2d', T('f32', [1, 2, 4, 6], 'n0'), Dims(o))

for training in (True, False):
    for d in ['f32', 'f64', 'bf16']:
        st = d if d != 'bf16' else 'f32'
        for sh in ([4, 3], [2, 3, 2, 2]):
            sample('batch_norm', T(d, sh, 'n0'), T(st, [3], 'n1'), T(st, [3], 'n2'), T(st, [3], 'n3'), T(st, [3], 'p4'), training, 0.1, 1e-5)
    sample('batch_norm', T('f32', [2, 3, 2, 2], 'n0'), None, None, T('f32', [3], 'n3'), T('f32', [3], 'p4'), training, 0.1, 1e-5)
    sample('batch_norm', T('f32', [2, 3, 2], 'n0'), None, None, None, None, training, 0.1, 1e-5)
    sample('native_batch_norm_backward', T('f32', [2, 3, 2, 2], 'n5'), T('f32', [2, 3, 2, 2], 'n0'), T('f32', [3], 'n1'), T('f32', [3], 'n3'), T('f32', [3], 'p4'),
           T('f32', [3], 'n6'), T('f32', [3], 'p7'), training, 1e-5)
sample('_native_batch_norm_legit_functional', T('f32', [2, 3, 2, 2], 'n0'), T('f32', [3], 'n1'), T('f32', [3], 'n2'), T('f32', [3], 'n3'), T('f32', [3], 'p4'), True, 0.1, 1e-5)
sample('batch_norm', T('f32', [1, 3], 'n0'), None, None, None, None, True, 0.1, 1e-5)
sample('batch_norm', T('f32', [4, 3], 'n0'), T('f32', [4], 'n0'), None, None, None, True, 0.1, 1e-5)
for d in ['f32', 'f64', 'bf16']:
    sample('layer_norm', T(d, [2, 3, 4], 'n0'), Dims([4]), T(d, [4], 'n1'), T(d, [4], 'n2'), 1e-5)
sample('layer_norm', T('f32', [2, 3, 4], 'n0'), Dims([3, 4]), T('f32', [3, 4], 'n1'), None, 1e-5)
sample('layer_norm', T('f32', [2, 3, 4], 'n0', [1, 2, 6]), Dims([4]), None, None, 1e-3)
sample('layer_norm', T('f32', [2, 4], 'n0'), Dims([3]), None, None, 1e-3)
for d in ['f32', 'f64', 'bf16']:
    for shape, S, V, m, causal in (([1, 2, 3, 4], 4, 4, None, False), ([1, 3, 5, 2], 5, 2, None, True), ([3, 4], 2, 3, None, False),
                                   ([2, 3, 2], 4, 3, T('b8', [3, 4], 'b1'), False), ([2, 2, 3, 2], 4, 2, T(d, [2, 1, 1, 4], 'u1'), False),
                                   ([2, 1, 3, 2], 2, 2, None, True), ([1, 2, 3], 3, 1, T('b8', [3], '0'), False)):
        lead, L, E = shape[:-2], shape[-2], shape[-1]
        q, k, v = T(d, shape, 'u2'), T(d, lead + [S, E], 'u3'), T(d, lead + [S, V], 'u4')
        sample('_scaled_dot_product_flash_attention_for_cpu', q, k, v, m, causal, 0.75, strides=False)
        if d != 'bf16':
            sample('_scaled_dot_product_flash_attention_for_cpu_backward', T(d, lead + [L, V], 'u5'), q, k, v, T(d, lead + [L, V], 'u6'), T(d, lead + [L], 'p7'),
                   m, causal, 0.75, strides=False)
for gates in (1, 3, 4):
    for d in ['f32', 'f64'] + (['bf16'] if gates == 4 else []):
        for L, N, H, reverse, train, bias in ((3, 2, 5, False, False, True), (4, 1, 3, True, True, False), (1, 3, 2, False, True, True)):
            x, w, h, c = T(d, [L, N, gates * H], 'u0'), T(d, [gates * H, H], 'u1'), T(d, [N, H], 'u2'), T(d, [N, H], 'u3')
            sample('_rnn_layer', x, w, T(d, [gates * H], 'u4') if bias else None, h, c if gates == 4 else None, gates, reverse, train)
            if d != 'bf16':
                y, cells, saved = T(d, [L, N, H], 'u5'), T(d, [L, N, H], 'u6'), T(d, [L, N, gates * H], 'q7')
                none = T(d, [0], 'u0')
                sample('_rnn_layer_backward', T(d, [L, N, H], 'u8') if bias or gates < 4 else None, T(d, [N, H], 'u9') if gates == 4 else None, w, h,
                       c if gates == 4 else None, y, cells if gates > 1 else none, saved if gates > 1 else none, gates, reverse)
sample('_rnn_layer', T('f32', [2, 1, 6], 'u0'), T('f32', [8, 2], 'u1'), None, T('f32', [1, 2], 'u2'), T('f32', [1, 2], 'u3'), 4, False, False)
for d in ['f32', 'f64']:
    for n in (7, 12):
        sample('_fourier', T(d, [2, n, 2], 'n0'), n, True, False, False, 1.0)
        sample('_fourier', T(d, [9, n, 2], 'n0'), n, True, True, False, 0.5)
        sample('_fourier', T(d, [3, n], 'n0'), n, False, False, True, 2.0)
        sample('_fourier', T(d, [3, n], 'n0'), n, False, False, False, 1.0)
        sample('_fourier', T(d, [2, n // 2 + 1, 2], 'n0'), n, True, True, True, 0.25)
sample('native_layer_norm', T('f32', [2, 3, 4], 'n0'), Dims([4]), T('f32', [4], 'n1'), T('f32', [4], 'n2'), 1e-5)
sample('dropout', T('f32', [5], 'n0'), 0.5, False)
sample('dropout', T('f32', [5], 'n0'), 0.0, True)
sample('dropout', T('f32', [5], 'n0'), 1.0, True)
sample('dropout', T('f32', [5], 'n0'), 0.5, True, values=False)
sample('dropout', T('f32', [5], 'n0'), 1.5, True)
for d in ['f32', 'f16', 'i64']:
    sample('embedding', T(d, [5, 3], pat_for(d)), T('i64', [2, 2], 'z5'))
sample('embedding', T('f32', [5, 3], 'n0', [1, 5]), T('i32', [4], 'z5'))
sample('embedding', T('f32', [5, 3], 'n0'), T('i64', [], 'z5'))
sample('embedding', T('f32', [5, 3], 'n0'), T('i64', [3], 'z6'))
sample('embedding', T('f32', [5, 3], 'n0'), T('f32', [3], 'n0'))
sample('embedding_dense_backward', T('f32', [2, 3, 2], 'n0'), T('i64', [2, 3], 'z4'), 4)
sample('one_hot', T('i64', [2, 2], 'z4'), 4)
sample('one_hot', T('i64', [3], 'z5'), 4)
sample('one_hot', T('i64', [], 'z5'), 4)
for d in ['f32', 'f64', 'bf16']:
    sample('sigmoid_backward', T(d, [5], 'n0'), T(d, [5], 'q1'))
    sample('tanh_backward', T(d, [5], 'n0'), T(d, [5], 'u1'))
    sample('threshold_backward', T(d, [5], 'n0'), T(d, [5], 'n1'), 0)
sample('threshold_backward', T('f32', [12], 'n0'), T('f32', [12], 's1'), 0)

for n in ['mse_loss', 'l1_loss', 'binary_cross_entropy_with_logits']:
    for d in ['f32', 'f64', 'f16']:
        sample(n, T(d, [3, 4], 'n0'), T(d, [3, 4], 'q1'))
sample('mse_loss', T('f32', [3, 4], 'n0'), T('f32', [4], 'n1'))
sample('l1_loss', T('f32', [2], 'n0'), T('f32', [3], 'n1'))
for b in (1.0, 0.5, 0.0):
    sample('smooth_l1_loss', T('f32', [3, 4], 'n0'), T('f32', [3, 4], 'n1'), b)
sample('binary_cross_entropy', T('f32', [3, 4], 'q0'), T('f32', [3, 4], 'q1'))
for d in ('f32', 'f64'):
    sample('_binary_cross_entropy', T(d, [3, 4], 'q0'), T(d, [3, 4], 'q1'))
sample('binary_cross_entropy', T('f32', [2], 'q0'), T('f32', [2, 1], 'q1'))
for n in ['nll_loss', 'cross_entropy']:
    for d in ['f32', 'f64']:
        sample(n, T(d, [4, 5], 'n0'), T('i64', [4], 'z5'))
        sample(n, T(d, [5], 'n0'), T('i64', [], 'z5'))
        sample(n, T(d, [2, 5, 3], 'n0'), T('i64', [2, 3], 'z5'))
    sample(n, T('f32', [2, 5], 'n0'), T('i64', [2], 'c-100'))
    sample(n, T('f32', [4, 5], 'n0'), T('i64', [4], 'z7'))
    sample(n, T('f32', [4, 5], 'n0'), T('i64', [3], 'z5'))

X = T('f32', [2, 3, 4], 'n0')
XT = T('f32', [4, 2, 3], 'n0', [1, 12, 4], 2)
for x in (X, XT, T('i8', [2, 3, 4], 'k0')):
    sample('alias', x)
    sample('detach', x)
    sample('view', x, Dims([-1]))
    for s in ([24], [6, 4], [2, 12], [4, 6], [2, -1, 2], [5, -1], [-1, -1], [24, 1], [2, 3, 2, 2]):
        sample('view', x, Dims(s))
        sample('reshape', x, Dims(s))
    for s in ([0, 2, 1], [2, 1, 0], [-1, 0, 1], [0, 0, 1], [0, 1]):
        sample('permute', x, Dims(s))
    for a, b in ((0, 1), (-1, 0), (0, 3)):
        sample('transpose', x, a, b)
        sample('flatten', x, a, min(b, 2))
    sample('flatten', x, 0, -1)
    sample('flatten', x, 2, 1)
    sample('t', x)
    sample('squeeze_all', x)
    for dim in (0, 1, -1, 3, -4):
        sample('unsqueeze', x, dim)
        sample('squeeze', x, dim)
        sample('select', x, dim, 1)
        sample('select', x, dim, -1)
        sample('select', x, dim, 4)
        for sl in ((0, 2, 1), (1, 9223372036854775807, 1), (-2, -1, 1), (0, 10, 2), (2, 1, 1), (-9, 9, 3)):
            sample('slice', x, dim, *sl)
        sample('narrow', x, dim, 0, 2)
        sample('narrow', x, dim, -1, 1)
        sample('narrow', x, dim, 1, 5)
    sample('slice', x, 0, 0, 1, 0)
    for o, a, b in ((0, 0, 1), (1, 1, 2), (-1, 0, 2), (9, 0, 1), (0, 1, 1), (1, -1, 0)):
        sample('diagonal', x, o, a, b)
    sample('contiguous', x)
    sample('_clone_contiguous', x)
    sample('unflatten', x, 2, Dims([2, -1]))
    sample('unflatten', x, 0, Dims([1, 2]))
    sample('view_as', x, T('f32', [6, 4], 'n0'))
    sample('to_device', x, CPU)
    for n, a in [('cat', 0), ('cat', -1), ('stack', 0), ('stack', -1), ('stack', 4)]:
        sample(n, [x, x, x], a)
    for dims in ([0], [0, 2], [], [1, 1]):
        sample('flip', x, Dims(dims))
    sample('roll', x, Dims([1]), Dims([0]))
    sample('roll', x, Dims([-1, 2]), Dims([1, 2]))
    sample('roll', x, Dims([5]), Dims([]))
    sample('roll', x, Dims([1, 2]), Dims([0]))
    for r in ([1, 1, 1], [2, 1, 3], [2, 1, 1, 2], [0, 1, 1], [2]):
        sample('repeat', x, Dims(r))
    for k in (0, 1, -1, -5):
        sample('tril', x, k)
        sample('triu', x, k)
    for dim in (0, 1, -1, 3):
        for desc in (False, True):
            sample('sort', x, dim, desc)
            sample('argsort', x, dim, desc)
        sample('gather', x, dim, T('i64', [2, 2, 3], 'z2'))
        sample('index_select', x, dim, T('i64', [3], 'z2'))
        sample('scatter', x, dim, T('i64', [2, 2, 2], 'z2'), 5)
        sample('take_along_dim', x, T('i64', [1, 1, 1], 'z2'), dim)
    sample('topk', T('f32', [2, 9], 'r0'), 3, 1, True, True)
    sample('topk', T('f32', [2, 9], 'r0'), 3, -1, False, True)
    sample('topk', T('f32', [2, 9], 'r0'), 10, -1, False, True)
sample('squeeze', T('f32', [1, 3, 1], 'n0'), 0)
sample('squeeze', T('f32', [1, 3, 1], 'n0'), 1)
sample('squeeze', T('f32', [], 'n0'), 0)
sample('squeeze_all', T('f32', [1, 3, 1], 'n0'))
sample('unsqueeze', T('f32', [], 'n0'), 0)
sample('t', T('f32', [2, 3], 'n0'))
sample('t', T('f32', [3], 'n0'))
sample('t', T('f32', [], 'n0'))
sample('view', T('f32', [0, 3], 'n0'), Dims([3, 0]))
sample('view', T('f32', [], 'n0'), Dims([1, 1]))
sample('view', T('f32', [1], 'n0'), Dims([]))
sample('reshape', T('f32', [3, 2], 'n0', [1, 3]), Dims([6]))
for s in ([2, 3], [4, 2, 3], [-1, 3], [2, -1], [3, 3], [3], [2, 3, -1]):
    sample('expand', T('f32', [2, 1], 'n0'), Dims(s))
sample('expand', T('f32', [], 'n0'), Dims([2, 2]))
sample('expand_as', T('f32', [2, 1], 'n0'), T('f32', [4, 2, 3], 'n0'))
for a in [([2, 2], [1, 2], 0), ([2, 2], [1, 2], 3), ([3], [0], 1), ([], [], 5), ([2, 9], [1, 2], 0), ([2], [1, 1], 0), ([2], [-1], 1), ([0, 4], [9, 9], 2)]:
    sample('as_strided', T('f32', [2, 3], 'n0'), Dims(a[0]), Dims(a[1]), a[2])
sample('cat', [T('f32', [2, 3], 'n0'), T('i64', [1, 3], 'k0'), T('f16', [0, 3], 'n0')], 0)
sample('cat', [T('f32', [0], 'n0'), T('f32', [2, 3], 'n0')], 1)
sample('cat', [T('f32', [2, 3], 'n0'), T('f32', [2, 2], 'n0')], 0)
sample('cat', [T('f32', [], 'n0')], 0)
sample('stack', [T('f32', [], 'n0'), T('f32', [], 'n1')], 0)
sample('stack', [T('f32', [2], 'n0'), T('f32', [3], 'n1')], 0)
sample('_strided_view', T('f32', [2, 3], 'n0', [3, 1], 2), Dims([2, 2]), Dims([1, 2]), 1)
sample('_strided_view', T('f32', [2, 3], 'n0', [3, 1], 2), Dims([2, 2]), Dims([1, 2]), 3)
sample('as_strided_scatter', T('f32', [3, 4], 'n0'), T('f32', [2, 2], 'n1'), Dims([2, 2]), Dims([1, 5]), 1)
sample('as_strided_scatter', T('f32', [3, 4], 'n0'), T('f32', [2, 2], 'n1'), Dims([2, 2]), Dims([1, 5]), 9)
sample('select_backward', T('f32', [2, 4], 'n0'), Dims([2, 3, 4]), 1, 2)
sample('slice_backward', T('f32', [2, 2, 4], 'n0'), Dims([2, 3, 4]), 1, 0, 3, 2)
sample('diagonal_backward', T('f32', [4, 2], 'n0'), Dims([2, 3, 4]), 0, 0, 1)
sample('gather', T('f32', [], 'n0'), 0, T('i64', [], 'z1'))
sample('gather', T('f32', [3, 2], 'n0', [1, 3]), 0, T('i64', [2, 2], 'z3'))
sample('gather', T('f32', [3, 2], 'n0'), 0, T('i64', [2, 2], 'z9'))
sample('gather', T('f32', [3, 2], 'n0'), 0, T('i64', [2, 3], 'z2'))
sample('gather', T('f32', [3, 2], 'n0'), 0, T('f32', [2, 2], 'n0'))
sample('index_select', T('f32', [3, 2], 'n0', [1, 3]), 0, T('i32', [4], 'z3', [2]))
sample('index_select', T('f32', [3, 2], 'n0'), 0, T('i64', [4], 'z7'))
sample('index_select', T('f32', [3, 2], 'n0'), 0, T('i64', [0], 'z7'))
sample('index_select', T('f32', [3, 2], 'n0'), 0, T('i64', [1, 2], 'z2'))
for d in ['f32', 'f64', 'f16', 'i64', 'i32']:
    sample('index_add', T(d, [3, 2], pat_for(d)), 0, T('i64', [4], 'z3'), T(d, [4, 2], pat_for(d, 'n', 1)))
    sample('scatter_add', T(d, [3, 2], pat_for(d)), 0, T('i64', [4, 2], 'z3'), T(d, [4, 2], pat_for(d, 'n', 1)))
    sample('scatter', T(d, [3, 4], pat_for(d)), 1, T('i64', [3, 2], 'z4'), T(d, [3, 2], pat_for(d, 'n', 1)))
sample('index_add', T('f32', [3, 2], 'n0', [1, 3]), 1, T('i64', [4], 'z2'), T('f32', [3, 4], 'n1'))
sample('index_add', T('f32', [3, 2], 'n0'), 0, T('i64', [4], 'z5'), T('f32', [4, 2], 'n1'))
sample('index_add', T('f32', [3, 2], 'n0'), 0, T('i64', [3], 'z3'), T('f32', [4, 2], 'n1'))
sample('scatter', T('f32', [3, 4], 'n0'), 1, T('i64', [3, 2], 'z9'), 1.0)
sample('scatter', T('f32', [3, 4], 'n0'), 1, T('i64', [3, 2], 'z4'), T('f64', [3, 2], 'n0'))
sample('index_add_', T('f32', [3, 2], 'n0'), 0, T('i64', [4], 'z3'), T('f32', [4, 2], 'n1'))
sample('scatter_', T('f32', [3, 2], 'n0', [1, 3]), 0, T('i64', [1, 2], 'z3'), 7.0)
sample('scatter_add_', T('f32', [3, 2], 'n0'), 0, T('i64', [4, 2], 'z3'), T('f32', [4, 2], 'n1'))
for d in ['f32', 'f64', 'f16', 'bf16', 'i64', 'u8', 'b8']:
    sample('sort', T(d, [2, 7], pat_for(d)), 1, False)
    sample('sort', T(d, [2, 7], pat_for(d)), 1, True)
    sample('nonzero', T(d, [2, 3], pat_for(d)))
    sample('masked_select', T(d, [2, 3], pat_for(d)), T('b8', [3], 'b0'))
    for e in ALL:
        sample('to_dtype', T(d, [6], pat_for(d, 'p')), Dtype(e))
sample('sort', T('f32', [12], 's0'), 0, False)
sample('sort', T('f32', [12], 's0'), 0, True)
sample('sort', T('f32', [], 'n0'), 0, True)
sample('nonzero', T('f32', [], 'n0'))
sample('nonzero', T('f32', [12], 's0'))
sample('masked_select', T('f32', [2, 1], 'n0'), T('b8', [1, 3], 'b0'))
sample('masked_select', T('f32', [2], 'n0'), T('i64', [2], 'k0'))
sample('set_', T('f32', [2], 'n0'), T('f32', [2, 3], 'n1', [1, 2]))
sample('set_', T('f32', [2], 'n0'), T('f64', [2, 3], 'n1', [1, 2]))
for i, d in enumerate(['f32', 'f16', 'bf16', 'f64']):
    sample('to_dtype', T(d, [7], 'n0', [2], 1), Dtype('i8'))
    sample('to_dtype', T('i64', [5], 'k0'), Dtype(d))
lines.append('_set_grad_enabled|b:1|')
lines.append('manual_seed|i:3|')

# uneven windows, targets as shares, an output padding as large as the stride, cuts alone
for d in ['f32', 'f64', 'bf16']:
    for size, o in [([2, 3, 5, 7], [3, 2]), ([3, 4, 3], [5, 4]), ([1, 1, 1, 1], [2, 3]), ([2, 2, 6, 4], [3, 3]), ([0, 2, 5, 5], [2, 2])]:
        sample('adaptive_avg_pool2d', T(d, size, 'n0'), Dims(o))
    sample('cross_entropy', T(d, [3, 4], 'n0'), T(d, [3, 4], 'q0'))
    sample('cross_entropy', T(d, [2, 3, 2], 'n0', [6, 1, 3]), T(d, [2, 3, 2], 'q1'))
sample('adaptive_avg_pool2d', T('f32', [2, 3, 0, 7], 'n0'), Dims([3, 2]))
sample('cross_entropy', T('f32', [4], 'n0'), T('f32', [4], 'q0'))
sample('cross_entropy', T('f32', [3, 4], 'n0'), T('f32', [3, 5], 'q0'))
for s, p, o, dl in [([1], [1], [1], [2]), ([2, 1], [0, 1], [2, 2], [3]), ([1], [0], [2], [3, 4])]:
    sample('conv_transpose2d', T('f32', [1, 2, 3, 2], 'n0'), T('f32', [2, 2, 2, 3], 'n1'), T('f32', [2], 'n2'), Dims(s), Dims(p), Dims(o), 1, Dims(dl))
sample('index_select', T('f32', [], 'n0'), 0, T('i64', [0], 'z7'))
sample('index_select', T('f32', [], 'n0'), -1, T('i64', [1], '0'))
sample('pad', T('f32', [2, 3], 'n0', [1, 2]), Dims([-1, 0]), None)

# composites beyond the core set
for n, a in [('celu', (1.5,)), ('hardshrink', (0.5,)), ('hardsigmoid', ()), ('hardswish', ()), ('selu', ()), ('softmin', (-1,)), ('softshrink', (0.5,)),
             ('softsign', ()), ('tanhshrink', ()), ('threshold', (0.25, -2.0)), ('prelu', (T('f32', [1], 'q1'),))]:
    for d in ['f32', 'f64', 'bf16', 'i64'] if n not in ('prelu', 'softsign') else ['f32']:
        sample(n, T(d, [3, 4], pat_for(d)), *a)
    sample(n, T('f32', [12], 's0'), *a)
    sample(n, T('f32', [3, 4], 'n0', [1, 3]), *a)
    sample(n, T('f32', [], 'n0'), *a)
    sample(n, T('f32', [0, 3], 'n0'), *a)
sample('celu', T('f32', [3], 'n0'), 0.0)
sample('softshrink', T('f32', [3], 'n0'), -1.0)
sample('prelu', T('f32', [2, 3, 2], 'n0'), T('f32', [3], 'q0'))
sample('prelu', T('f32', [2, 3, 2], 'n0'), T('f32', [2], 'q0'))
sample('glu', T('f32', [2, 6], 'n0'), -1)
sample('glu', T('f32', [2, 3, 2], 'n0', [1, 4, 2]), 0)
sample('glu', T('f32', [2, 3], 'n0'), 1)
for d in ['f32', 'f64', 'bf16']:
    sample('logaddexp', T(d, [2, 3], 'n0'), T(d, [3], 'n1'))
    sample('xlogy', T(d, [2, 3], 'n0'), T(d, [3], 'p1'))
    sample('nan_to_num', T(d, [12], 's0'), None, None, None)
    sample('nan_to_num', T(d, [12], 's0'), 1.0, 2.0, -3.0)
    sample('isclose', T(d, [4], 'n0'), T(d, [4], 'n0'), 1e-5, 1e-8, False)
    sample('isclose', T(d, [12, 12], 's0', [1, 0]), T(d, [12, 12], 's0', [0, 1]), 1e-5, 1e-8, True)
sample('logaddexp', T('f32', [12], 's0'), T('f32', [12], 's5'))
sample('logaddexp', T('f32', [2], 'n0'), T('f32', [3], 'n1'))
sample('xlogy', T('f32', [12, 12], 's0', [1, 0]), T('f32', [12, 12], 's0', [0, 1]))
sample('nan_to_num', T('i64', [3], 'k0'), None, None, None)
sample('isclose', T('i64', [5], 'k0'), T('i64', [5], 'k1'), 0.5, 1.0, False)
sample('isclose', T('f32', [3], 'n0'), T('f64', [3], 'n1'), 0.5, 1.0, False)
for d in ['f32', 'i64', 'b8']:
    sample('count_nonzero', T(d, [3, 4], pat_for(d)), Dims([]))
    sample('count_nonzero', T(d, [3, 4], pat_for(d)), Dims([1]))
sample('trace', T('f32', [3, 4], 'n0'))
sample('trace', T('i64', [3, 3], 'k0'))
sample('trace', T('f32', [3], 'n0'))
for p, dim in [(2.0, 1), (1.0, 0), (2.0, -1), (math.inf, 1)]:
    sample('normalize', T('f32', [3, 4], 'n0'), p, dim, 1e-12)
sample('normalize', T('f32', [2, 3], '0'), 2.0, 1, 1e-12)
sample('cosine_similarity', T('f32', [3, 4], 'n0'), T('f32', [3, 4], 'n1'), 1, 1e-8)
sample('cosine_similarity', T('f64', [3, 1, 4], 'n0'), T('f64', [2, 4], 'n1'), -1, 1e-8)
sample('cosine_similarity', T('f32', [2], '0'), T('f32', [2], 'n1'), 0, 1e-8)
sample('addmv', T('f32', [3], 'n0'), T('f32', [3, 4], 'n1'), T('f32', [4], 'n2'))
sample('addmv', T('f32', [1], 'n0'), T('f32', [3, 4], 'n1'), T('f32', [4], 'n2'))
sample('addmv', T('f32', [3], 'n0'), T('f32', [3, 4], 'n1'), T('f32', [3], 'n2'))
sample('baddbmm', T('f32', [2, 3, 5], 'n0'), T('f32', [2, 3, 4], 'n1'), T('f32', [2, 4, 5], 'n2'))
sample('baddbmm', T('f64', [5], 'n0'), T('f64', [2, 3, 4], 'n1'), T('f64', [2, 4, 5], 'n2'))
for e, shapes in [('ij,jk->ik', [[2, 3], [3, 4]]), ('ij,jk', [[2, 3], [3, 4]]), ('bij,bjk->bik', [[2, 3, 4], [2, 4, 5]]), ('ii->i', [[3, 3]]), ('ii', [[3, 3]]),
                  ('ij->ji', [[2, 3]]), ('ba', [[2, 3]]), ('i,j->ij', [[2], [3]]), ('i,i->', [[3], [3]]), ('i,i', [[3], [3]]), ('ij->', [[2, 3]]), ('ij->j', [[2, 3]]),
                  ('...ij,...jk->...ik', [[2, 3, 4], [4, 5]]), ('b...i,ij->b...j', [[2, 3, 4, 5], [5, 2]]), ('ij,kj,lk->il', [[2, 3], [4, 3], [5, 4]]),
                  ('bhqd,bhkd->bhqk', [[1, 2, 3, 4], [1, 2, 5, 4]]), ('i,ij,j->', [[2], [2, 3], [3]]), ('iij,j->i', [[2, 2, 3], [3]]), ('a,b,c->cab', [[2], [3], [2]]),
                  ('...,...', [[2, 3], [3]]), ('ij,ij->ij', [[2, 3], [1, 3]]), ('Ab,bA->A', [[2, 3], [3, 2]]), (' i j , j k -> i k ', [[2, 3], [3, 2]]), ('->', [[]]),
                  ('ij,jk->ik', [[2, 3], [4, 4]]), ('ij->kk', [[2, 3]]), ('i!->i', [[2, 3]]), ('ijk->i', [[2, 3]]), ('i,j->i', [[2]]), ('i->i', [[2], [2]]), ('ij->ik', [[2, 3]]),
                  ('i...->...', [[2, 3, 2]]), ('...i', [[2, 3]])]:
    for d in ['f32'] if '...' in e else ['f32', 'f64']:
        sample('einsum', e, [T(d, s, 'n%d' % i) for i, s in enumerate(shapes)])
sample('einsum', 'ij,jk->ki', [T('f32', [2, 3], 'n0', [1, 2]), T('f32', [3, 4], 'n1', [1, 3])], strides=False)
for s, p, dl, g in [([1], [0], [1], 1), ([2], [1], [1], 1), ([1], [2], [2], 2), ([], [], [], 1)]:
    sample('conv1d', T('f32', [2, 4, 7], 'n0'), T('f32', [4, 4 // g, 3], 'n1'), T('f32', [4], 'n2'), Dims(s), Dims(p), Dims(dl), g)
sample('conv1d', T('f32', [4, 7], 'n0'), T('f32', [2, 4, 3], 'n1'), None, Dims([1]), Dims([0]), Dims([1]), 1)
sample('conv1d', T('f32', [7], 'n0'), T('f32', [2, 4, 3], 'n1'), None, Dims([1]), Dims([0]), Dims([1]), 1)
for s, p, o, g, dl in [([1], [0], [0], 1, [1]), ([2], [1], [1], 1, [1]), ([2, 1], [0, 1], [1, 0], 2, [1, 2]), ([], [], [], 1, []), ([2], [0], [2], 1, [1]), ([1], [5], [0], 1, [1])]:
    sample('conv_transpose2d', T('f32', [2, 4, 3, 2], 'n0'), T('f32', [4, 2, 3, 2], 'n1'), T('f32', [2 * g], 'n2'), Dims(s), Dims(p), Dims(o), g, Dims(dl))
sample('conv_transpose2d', T('f32', [4, 3, 2], 'n0'), T('f32', [4, 2, 3, 2], 'n1'), None, Dims([1]), Dims([0]), Dims([0]), 1, Dims([1]))
sample('conv_transpose2d', T('f32', [1, 3, 3, 2], 'n0'), T('f32', [4, 2, 3, 2], 'n1'), None, Dims([1]), Dims([0]), Dims([0]), 1, Dims([1]))
for d in ['f32', 'f64']:
    sample('group_norm', T(d, [2, 6, 3, 2], 'n0'), 3, T(d, [6], 'n1'), T(d, [6], 'n2'), 1e-5)
    sample('rms_norm', T(d, [2, 3, 4], 'n0'), Dims([4]), T(d, [4], 'n1'), 1e-5)
    sample('rms_norm', T(d, [2, 3, 4], 'n0'), Dims([3, 4]), None, None)
    sample('instance_norm', T(d, [2, 3, 4, 2], 'n0'), T(d, [3], 'n1'), T(d, [3], 'n2'), 1e-5)
sample('group_norm', T('f32', [2, 6], 'n0'), 2, None, None, 1e-5)
sample('group_norm', T('f32', [2, 6, 3], 'n0'), 4, None, None, 1e-5)
sample('group_norm', T('f32', [2, 4, 3], 'n0'), 2, T('f32', [3], 'n0'), None, 1e-5)
sample('instance_norm', T('f32', [2, 3, 4], 'n0'), None, None, 1e-5)
sample('rms_norm', T('f32', [2, 4], 'n0'), Dims([3]), None, None)
for d in ['f32', 'f64']:
    for m, c, sc in [(None, False, None), (None, True, None), (None, False, 0.5), (T('b8', [3, 5], 'b0'), False, None), (T(d, [3, 5], 'n3'), False, None)]:
        sample('scaled_dot_product_attention', T(d, [2, 2, 3, 4], 'n0'), T(d, [2, 2, 5, 4], 'n1'), T(d, [2, 2, 5, 6], 'n2'), m, 0.0, c, sc, strides=False)
sample('scaled_dot_product_attention', T('f32', [3, 4], 'n0'), T('f32', [5, 4], 'n1'), T('f32', [5, 4], 'n2'), None, 0.0, False, None, strides=False)
sample('scaled_dot_product_attention', T('f32', [1, 3, 4], 'n0'), T('f32', [1, 3, 4], 'n1'), T('f32', [1, 3, 4], 'n2'), T('b8', [3, 3], '0'), 0.0, False, None, strides=False)
sample('scaled_dot_product_attention', T('f32', [1, 3, 4], 'n0'), T('f32', [1, 3, 4], 'n1'), T('f32', [1, 3, 4], 'n2'), T('b8', [3, 3], 'b0'), 0.0, True, None)
sample('scaled_dot_product_attention', T('f32', [1, 3, 4], 'n0'), T('f32', [1, 3, 5], 'n1'), T('f32', [1, 3, 4], 'n2'), None, 0.0, False, None)
sample('pixel_shuffle', T('f32', [2, 8, 2, 3], 'n0'), 2)
sample('pixel_shuffle', T('f32', [4, 2, 3], 'n0'), 2)
sample('pixel_shuffle', T('f32', [6, 2, 3], 'n0'), 2)
for o in ([4, 6], [3, 2], [2, 3], [5, 7], [1, 1]):
    sample('upsample_nearest2d', T('f32', [1, 2, 2, 3], 'n0'), Dims(o))
# images, windows, regions, transforms
for d in FLOATS:
    for m in ['bilinear', 'nearest', 'bicubic']:
        for p in ['zeros', 'border', 'reflection']:
            for a in [False, True]:
                sample('grid_sample', T(d, [2, 2, 3, 4], 'n0'), T(d, [2, 2, 3, 2], 'n1'), m, p, a, strides=False)
for m in ['bilinear', 'nearest']:
    for p in ['zeros', 'border', 'reflection']:
        sample('grid_sample', T('f32', [1, 2, 2, 3, 4], 'n0'), T('f32', [1, 2, 1, 3, 3], 'n1'), m, p, p == 'border', strides=False)
for p in ['zeros', 'border', 'reflection']:
    sample('grid_sample', T('f32', [1, 1, 1, 1], 'n0'), T('f32', [1, 3, 2, 2], 'n1'), 'bilinear', p, True, strides=False)
    sample('grid_sample', T('f32', [1, 1, 1, 5], 'n0'), T('f32', [1, 3, 2, 2], 'n1'), 'bicubic', p, False, strides=False)
sample('grid_sample', T('f32', [2, 3, 4, 3], 'n0', [36, 1, 9, 3]), T('f32', [2, 5, 2, 2], 'u1', [20, 2, 10, 1]), 'bilinear', 'zeros', False, strides=False)
sample('grid_sample', T('f32', [0, 3, 4, 3], 'n0'), T('f32', [0, 2, 2, 2], 'u1'), 'bilinear', 'zeros', False, strides=False)
sample('grid_sample', T('f32', [1, 3, 4, 3], 'n0'), T('f32', [2, 2, 2, 2], 'u1'), 'bilinear', 'zeros', False)
sample('grid_sample', T('f32', [1, 3, 4, 3], 'n0'), T('f32', [1, 2, 2, 3], 'u1'), 'bilinear', 'zeros', False)
sample('grid_sample', T('f32', [1, 3, 0, 3], 'n0'), T('f32', [1, 2, 2, 2], 'u1'), 'bilinear', 'zeros', False)
sample('grid_sample', T('f32', [1, 3, 4, 3], 'n0'), T('f64', [1, 2, 2, 2], 'u1'), 'bilinear', 'zeros', False)
sample('grid_sample', T('f32', [1, 3, 4, 3], 'n0'), T('f32', [1, 2, 2, 2], 'u1'), 'linear', 'zeros', False)
sample('grid_sample', T('f32', [1, 3, 4, 3], 'n0'), T('f32', [1, 2, 2, 2], 'u1'), 'bilinear', 'wrap', False)
for d in FLOATS:
    for a in [False, True]:
        sample('affine_grid', T(d, [2, 2, 3], 'n0'), Dims([2, 3, 2, 4]), a, strides=False)
        sample('affine_grid', T(d, [1, 3, 4], 'n0'), Dims([1, 3, 2, 1, 3]), a, strides=False)
sample('affine_grid', T('f32', [2, 2, 3], 'n0'), Dims([1, 3, 2, 4]), False)
sample('affine_grid', T('f32', [2, 2, 3], 'n0'), Dims([2, 3, 0, 4]), False)
for k, dl, q, st in [([2], [1], [0], [1]), ([2, 3], [1, 1], [1, 0], [2, 1]), ([3, 2], [1, 2], [1], [1, 2]), ([4, 5], [1], [0], [1]), ([1], [], [], []), ([6], [1], [0], [1])]:
    for d in FLOATS:
        sample('im2col', T(d, [2, 3, 4, 5], 'n0'), Dims(k), Dims(dl), Dims(q), Dims(st))
sample('im2col', T('f32', [3, 4, 5], 'n0', [1, 15, 3]), Dims([2]), Dims([1]), Dims([0]), Dims([1]))
sample('im2col', T('f32', [4, 5], 'n0'), Dims([2]), Dims([1]), Dims([0]), Dims([1]))
for o, k, dl, q, st, n in [([4, 5], [2], [1], [0], [1], 12), ([4, 5], [2, 3], [1, 1], [1, 0], [2, 1], 9), ([3, 3], [3], [1], [1], [2], 4), ([4, 5], [2], [1], [0], [1], 11)]:
    c = 2 * k[0] * k[-1]
    for d in FLOATS:
        sample('col2im', T(d, [2, c, n], 'n0'), Dims(o), Dims(k), Dims(dl), Dims(q), Dims(st))
sample('col2im', T('f32', [8, 12], 'n0'), Dims([4, 5]), Dims([2]), Dims([1]), Dims([0]), Dims([1]))
for d in FLOATS:
    sample('max_unpool2d', T(d, [1, 2, 2, 2], 'n0'), T('i64', [1, 2, 2, 2], [0, 2, 9, 11, 1, 3, 8, 7]), Dims([3, 4]))
    for n, k, st, ce in [(2.0, [2], [], False), (2.0, [2, 3], [1, 2], False), (3.0, [2], [2], True), (1.0, [3], [1], False)]:
        sample('lp_pool2d', T(d, [2, 2, 5, 4], 'p0'), n, Dims(k), Dims(st), ce, strides=False)
    boxes = T(d, [3, 5], [0, 0.5, 0.25, 3.5, 2.75, 1, 1.0, 1.5, 2.0, 4.5, 0, -1.5, -0.5, 1.0, 6.0])
    for size, scale, ratio, al in [([2, 3], 1.0, 2, True), ([2], 0.5, 1, False), ([1, 1], 2.0, 3, True)]:
        sample('roi_align', T(d, [2, 2, 4, 5], 'n0'), boxes, Dims(size), scale, ratio, al, strides=False)
        sample('_roi_align', T(d, [2, 2, 4, 5], 'n0'), T(d, [3, 4], [0.5, 0.25, 3.5, 2.75, 1.0, 1.5, 2.0, 4.5, -1.5, -0.5, 1.0, 6.0]), T('i64', [3], [0, 1, 0]),
               Dims(size), scale, Dims([ratio, 2]), al, al, strides=False)
sample('max_unpool2d', T('f32', [2, 2, 2], 'n0'), T('i64', [2, 2, 2], [0, 2, 9, 11, 1, 3, 8, 7]), Dims([3, 4]))
sample('max_unpool2d', T('f32', [2, 2, 2], 'n0'), T('i64', [2, 2, 1], 'z4'), Dims([3, 4]))
sample('roi_align', T('f32', [2, 2, 4, 5], 'n0'), T('f32', [3, 4], '0'), Dims([2, 2]), 1.0, 2, True)
sample('roi_align', T('f32', [2, 2, 4, 5], 'n0'), T('f32', [0, 5], '0'), Dims([2, 2]), 1.0, 2, True, strides=False)
for d in FLOATS:
    sample('deform_conv2d', T(d, [1, 2, 4, 4], 'n0'), T(d, [1, 8, 3, 3], 'n1'), T(d, [2, 2, 2, 2], 'n2'), T(d, [2], 'n3'), Dims([1]), Dims([0]), Dims([1]), None, strides=False)
    sample('deform_conv2d', T(d, [2, 4, 4, 3], 'n0'), T(d, [2, 24, 2, 2], 'n1'), T(d, [2, 2, 3, 2], 'n2'), None, Dims([2, 1]), Dims([1, 0]), Dims([1]), T(d, [2, 12, 2, 2], 'u4'), strides=False)
sample('deform_conv2d', T('f32', [1, 3, 4, 4], 'n0'), T('f32', [1, 8, 3, 3], 'n1'), T('f32', [2, 2, 2, 2], 'n2'), None, Dims([1]), Dims([0]), Dims([1]), None)
for d in FLOATS:
    box = [0, 0, 4, 4, 1, 1, 5, 5, 0, 0, 4, 3, 8, 8, 9, 10, 0.5, 0, 4, 4, 8, 8, 9, 9]
    for o in (0.5, 0.25, 0.75, 0.0, 1.0):
        sample('nms', T(d, [6, 4], box), T(d, [6], [0.5, 0.75, 0.5, 0.25, 1.0, 0.125]), o)
    sample('_nms_each', T(d, [1, 6, 4], box), T(d, [1, 2, 6], [0.5, 0.75, 0.5, 0.25, 1.0, 0.125, 1.0, 0.25, 0.75, 0.5, 0.125, 0.5]), 2, 0.5, 0.125)
    sample('_nms_each', T(d, [2, 3, 4], box), T(d, [2, 1, 3], [0.5, 0.75, 0.5, 0.25, 1.0, 0.125]), 9, 0.25, -1.0)
sample('nms', T('f32', [0, 4], '0'), T('f32', [0], '0'), 0.5)
sample('_nms_each', T('f32', [2, 0, 4], '0'), T('f32', [2, 3, 0], '0'), 3, 0.5, 0.0)
sample('_nms_each', T('f32', [2, 3, 4], 'n0'), T('f32', [2, 2, 3], 'n0'), 0, 0.5, 0.0)
sample('_nms_each', T('f32', [2, 3, 4], 'n0'), T('f32', [1, 2, 3], 'n0'), 3, 0.5, 0.0)
sample('nms', T('f32', [3, 5], 'n0'), T('f32', [3], 'n0'), 0.5)
sample('nms', T('f32', [3, 4], 'n0'), T('f32', [2], 'n0'), 0.5)
for d in FLOATS:
    for n, dim in [(None, -1), (3, 0), (7, 1), (None, 0)]:
        for f in ('fft_fft', 'fft_ifft', 'fft_irfft'):
            sample(f, T(d, [3, 5, 2], 'n0'), n, dim, strides=False)
        sample('fft_rfft', T(d, [3, 5], 'n0'), n, dim, strides=False)
    for n in (1, 2, 4, 36, 37, 96):
        sample('fft_rfft', T(d, [n], 'u0'), None, 0, strides=False)
        sample('fft_fft', T(d, [n, 2], 'u0'), None, 0, strides=False)
        sample('fft_irfft', T(d, [n // 2 + 1, 2], 'u0'), n, 0, strides=False)
    for n, hop, w, one in [(4, 2, None, True), (5, 3, [5], False), (8, 4, [5], True)]:
        sample('stft', T(d, [2, 16], 'n0'), n, hop, T(d, w, 'p1') if w else None, one, strides=False)
sample('fft_rfft', T('f32', [3, 5], 'n0'), 0, 1)
sample('fft_rfft', T('f32', [3, 5], 'n0'), None, 2)
sample('stft', T('f32', [16], 'n0'), 4, 3, None, True, strides=False)
sample('stft', T('f32', [16], 'n0'), 17, 3, None, True)
for d in FLOATS:
    for a in [False, True]:
        for o in ([7], [2], [1], [4]):
            sample('upsample_linear1d', T(d, [2, 1, 4], 'n0'), Dims(o), a, strides=False)
        for o in ([4, 6], [3, 2], [1, 1], [2, 3], [5, 4]):
            sample('upsample_bilinear2d', T(d, [1, 2, 2, 3], 'n0'), Dims(o), a, strides=False)
            sample('upsample_bicubic2d', T(d, [1, 2, 2, 3], 'n0'), Dims(o), a, strides=False)
        sample('upsample_trilinear3d', T(d, [1, 1, 2, 3, 2], 'n0'), Dims([3, 2, 5]), a, strides=False)
sample('upsample_bilinear2d', T('f32', [2, 2, 3], 'n0'), Dims([2, 2]), False)
sample('upsample_bilinear2d', T('f32', [1, 2, 2, 3], 'n0'), Dims([0, 2]), False)
for q, v in [([1, 2], None), ([1, 2, 0, 1], 0.5), ([-1, 1], 2.0), ([0, 0], 1.0), ([2, -1, -1, 3], None), ([1], 0.0), ([1, 1] * 4, 0.0), ([-9, 0], 0.0), ([], None)]:
    sample('pad', T('f32', [2, 2, 3], 'n0'), Dims(q), v)
    sample('pad', T('i64', [2, 2, 3], 'k0'), Dims(q), v)
sample('pad', T('f32', [12], 's0'), Dims([1, 1]), math.inf)
for a, b in [([0], [2]), ([0, 1], [1, 2]), ([-1], [0]), ([0, 0], [1, 2]), ([0], [1, 2]), ([3], [0])]:
    sample('movedim', T('f32', [2, 3, 4], 'n0'), Dims(a), Dims(b))
for a in [(1, 2, 1), (2, 3, 2), (-1, 4, 1), (0, 3, 1), (0, 1, 0), (5, 1, 1)]:
    sample('unfold', T('f32', [2, 3, 4], 'n0'), *a)
sample('unfold', T('f32', [], 'n0'), 0, 1, 1)
sample('unfold', T('f32', [4], 'n0', [2], 3), 0, 2, 1)
for dl in (1.0, 0.5, 0.0):
    sample('huber_loss', T('f32', [3, 4], 'n0'), T('f32', [3, 4], 'n1'), dl)
sample('kl_div', T('f32', [3, 4], 'n0'), T('f32', [3, 4], 'q1'), False)
sample('kl_div', T('f64', [3, 4], 'n0'), T('f64', [3, 4], 'n1'), True)
sample('bernoulli', T('f32', [2, 3], 'q0'), values=False)
sample('bernoulli', T('f32', [2, 3], '0'))
sample('bernoulli', T('f32', [2, 3], 'c1'))
for d in ALL:
    sample('unique', T(d, [3, 4], pat_for(d)))
sample('unique', T('f32', [0], 'n0'))
sample('unique', T('f32', [], 'n0'))
sample('unique', T('i64', [20], 'z3'))

# Memory formats: what is in channels last stays so where PyTorch keeps it, and what could be taken for it (C = 1, one pixel) is what PyTorch
# takes it for; strides of dims of size 1 tell the format of what follows.
LAST = {4: lambda n, c, h, w: [h * w * c, 1, w * c, c], 5: lambda n, c, d, h, w: [d * h * w * c, 1, h * w * c, w * c, c]}
FORMED = [[2, 4, 2, 3], [2, 1, 2, 4], [1, 4, 1, 1]]
for sh, st in [(sh, LAST[4](*sh)) for sh in FORMED] + [(FORMED[0], [1, 2, 8, 16]), (FORMED[0], [96, 2, 48, 8])]:
    x, one = T('f32', sh, 'n0', st), T('f32', sh, 'n2')
    for d in ['f32', 'f64', 'bf16']:
        y, z = T(d, sh, 'n0', st), T(d, sh, 'n2')
        for w in [T(d, [3, sh[1], 1, 1], 'n1'), T(d, [3, sh[1], 3, 2], 'n1', LAST[4](3, sh[1], 3, 2))]:
            sample('conv2d', y, w, None, Dims([1]), Dims([1]), Dims([1]), 1, values=False)
            sample('conv2d', z, w, None, Dims([1]), Dims([1]), Dims([1]), 1, values=False)
        sample('conv_transpose2d', y, T(d, [sh[1], 2, 2, 3], 'n1'), None, Dims([1]), Dims([0]), Dims([0]), 1, Dims([1]), values=False)
    sample('conv2d', x, T('f32', [3, sh[1], 1, 1], 'n1'), None, Dims([1]), Dims([0]), Dims([1]), 1)
    sample('max_pool2d_with_indices', x, Dims([2, 2]), Dims([1]), Dims([1]), Dims([1]), False)
    sample('avg_pool2d', x, Dims([2, 2]), Dims([1]), Dims([1]), False, True)
    sample('lp_pool2d', T('f32', sh, 'p0', st), 2.0, Dims([1, 1]), Dims([]), False)
    for o in ([2, 2], [1, 1], [3, 2]):
        for n, a in [('adaptive_avg_pool2d', []), ('upsample_nearest2d', []), ('upsample_bilinear2d', [False]), ('upsample_bicubic2d', [True])]:
            sample(n, x, Dims(o), *a)
    sample('pixel_shuffle', x, 2)
    for p in ([1, 0], [-1, 0], [0, 0, 1, 1, 1, 0], [-1, 1]):
        sample('pad', x, Dims(p), 0.5)
    for a in range(4):
        sample('roll', x, Dims([1]), Dims([a]))
    sample('roll', x, Dims([1, 2]), Dims([1, 3]))
    sample('roll', x, Dims([0]), Dims([1]))
    for a in range(5):
        sample('stack', [x, x], a)
        if a < 4:
            sample('cat', [x, x], a)
            sample('cat', [x, one], a)
    if sh[2] > 1:
        sample('batch_norm', x, None, None, None, None, True, 0.1, 1e-5)
        sample('group_norm', x, 1, None, None, 1e-5)
        sample('instance_norm', x, None, None, 1e-5)
        sample('rms_norm', x, Dims(sh[3:]), None, 1e-5)
        sample('layer_norm', x, Dims(sh[3:]), None, None, 1e-5)
for sh in ([1, 2, 2, 3, 2], [2, 1, 1, 2, 3]):
    x, one = T('f32', sh, 'n0', LAST[5](*sh)), T('f32', sh, 'n1')
    sample('upsample_trilinear3d', x, Dims([3, 2, 5]), False)
    sample('roll', x, Dims([1]), Dims([1]))
    sample('roll', x, Dims([-1, 2]), Dims([2, 4]))
    sample('pad', x, Dims([1, 0, 0, 1]), None)
    for a in range(5):
        sample('cat', [x, x], a)
        sample('cat', [x, one], a)
        sample('stack', [x, x], a)
for st in ([6, 1, 3, 1], [6, 6, 3, 1], [6, 7, 3, 1]):           # row major, but for the dim of size 1
    x, y = T('f32', [2, 1, 2, 3], 'n0', st), T('f32', [2, 1, 2, 3], 'n1')
    for n in ['relu', 'clone', 'abs', 'hardtanh', 'relu6', 'zeros_like']:
        sample(n, x, *([-1.0, 1.0] if n == 'hardtanh' else []))
    for a in (0.5, y, x):
        for n in ['add', 'mul', 'gt', 'pow', 'maximum']:
            if n != 'maximum' or a != 0.5:
                sample(n, x, a)
sample('slice', T('f32', [2, 5], 'n0'), 1, 1, 2, 2)
sample('slice', T('f32', [2, 5], 'n0'), 1, 1, 9, 8)
for sh in ([1, 2, 3], [2, 1, 2, 3], [1, 1, 2, 3], [2, 3]):
    sample('expand', T('f32', [2, 3], 'n0'), Dims(sh))
sample('expand', T('f32', [], 'n0'), Dims([1, 1]))


# ---- files ------------------------------------------------------------------------------------------------------------------------------------------

def quote(s, width=118):
    """s as a C string literal; what is longer than a line goes on in literals below, broken behind a space, `;` or `|`."""
    s = s.replace('\\', '\\\\').replace('"', '\\"').replace('??', '?\\?')
    pieces = []
    while len(s) > width - 2:
        at = max(s.rfind(c, 0, width - 2) for c in ' ;|') + 1
        if at <= 0:
            break
        pieces.append(s[:at])
        s = s[at:]
    return '\n'.join('"%s"' % piece for piece in pieces + [s])


def write_samples(path):
    with open(path, 'w') as f:
        f.write('/* tests/ops/samples.c: what PyTorch %s gives for samples of every operator. Written by tests/oracle/ops.py, which\n'
                ' * says what a line means; read by tests/unit/test_ops.c. */\n' % torch.__version__.split('+')[0])
        f.write('/* clang-format off */\n')
        f.write('static const char *const ops_samples[] = {\n')
        for line in lines:
            if len(line) > 4000:
                raise ValueError('too long: ' + line[:100])
            f.write(quote(line) + ',\n')
        f.write('};\n')


def write_promotion(path):
    """Rows: result_type of each dtype with each dtype, by category of the second: whole tensor, 0-dim tensor; then with numbers."""
    index = {d: i for i, d in enumerate(ALL)}
    with open(path, 'w') as f:
        f.write('/* tests/ops/promotion.c: torch.result_type. Written by tests/oracle/ops.py; read by tests/unit/test_ops.c.\n'
                ' * Dtypes by number: %s.\n * First operand: [0] whole, [1] 0-dim; second the same, then True, 1, 1.5. */\n' % ' '.join(ALL))
        f.write('enum { PROMOTION_DTYPES = 10 };\nstatic const char *const promotion_names[] = {%s};\n' % ', '.join('"%s"' % d for d in ALL))
        f.write('static const unsigned char promotion_tensors[2][2][10][10] = {')
        for a in ([2], []):
            f.write('{')
            for b in ([2], []):
                f.write('{\n')
                for x in ALL:
                    row = [index[NAME[torch.result_type(torch.ones(a, dtype=DT[x]), torch.ones(b, dtype=DT[y]))]] for y in ALL]
                    f.write('    {%s},\n' % ', '.join(map(str, row)))
                f.write('}, ')
            f.write('}, ')
        f.write('};\nstatic const unsigned char promotion_numbers[2][10][3] = {')
        for a in ([2], []):
            f.write('{\n')
            for x in ALL:
                row = [index[NAME[torch.result_type(torch.ones(a, dtype=DT[x]), v)]] for v in (True, 1, 1.5)]
                f.write('    {%s},\n' % ', '.join(map(str, row)))
            f.write('}, ')
        f.write('};\n')


if __name__ == '__main__':
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'ops')
    write_samples(os.path.join(here, 'samples.c'))
    write_promotion(os.path.join(here, 'promotion.c'))
    if '-v' in sys.argv:
        for name, texts in raised.items():
            for t in sorted(set(texts)):
                print(name, t)
