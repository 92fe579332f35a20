"""Writes tests/ops/opinfo.c: a few of PyTorch's OpInfo samples of each operator and dtype, chosen for their edges, with results, gradients and
second gradients. make test reads them without Python (tests/unit/test_opinfo_sample.c); make opinfo runs all of them (tests/opinfo).

    make opinfo-sample PYTHON=python          needs torch (2.15 was used)

One sample a line, NAME|ARGS|OUTS|GRADS|SECOND: edges.py says what it means. SECOND are the gradients, with respect to the same tensors, of the
sum of GRADS times `second_cotangent`; missing where PyTorch has none. Results are those in float64, rounded, where there is such a thing.
"""
import itertools
import os
import re
import sys
import zlib

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../opinfo'))
import ops
import table
from ops import cotangent

NAME = ops.NAME
MOST_NUMBERS, MOST_A_TENSOR, LOOK_AT = 60, 25, 60      # of a sample, of a tensor; samples to choose from
TAKE = {'f32': 3, 'f64': 1, 'f16': 1, 'bf16': 1, 'i64': 1, 'u8': 1, 'b8': 1}
# What has no values to compare, a text in its call, or differs as tests/opinfo/known.txt says.
LEFT_OUT = {'as_strided_scatter', 'to_dtype', 'topk', 'arange', 'eye', 'full', 'ones', 'zeros', 'randn', 'empty', 'empty_like', 'einsum', 'native_layer_norm',
            '_scaled_dot_product_flash_attention_for_cpu', 'bernoulli'}
SECOND_LEFT_OUT = {'binary_cross_entropy'}
torch.set_num_threads(1)


def second_cotangent(t):
    return torch.tensor([((k * 3 + 1) % 5 + 1) / 4 for k in range(t.numel())], dtype=t.dtype).reshape(t.shape)


class Unfit(Exception):
    pass


def plain(x):
    """A number of three digits."""
    return float('%.3g' % x)


def storage_of(t):
    """(values of the part of the storage that t spans, from its first element on)."""
    span = 0 if 0 in t.shape else 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
    if span > MOST_A_TENSOR or t.dim() > 5 or any(s < 0 for s in t.stride()):
        raise Unfit
    flat = torch.as_strided(t.detach(), (span,), (1,)) if span else torch.empty(0, dtype=t.dtype)
    return torch.tensor([plain(x) for x in flat.tolist()], dtype=torch.float64).to(t.dtype) if t.dtype.is_floating_point else flat.clone()


class Sample:
    """A sample with numbers of few digits, over a storage of its own, in a dtype that may be wider."""

    def __init__(self, row, info, adapter, in_place, sample, dtype=None):
        self.row, self.info, self.in_place = row, info, in_place
        leaves, spec = tree_flatten((sample.input, tuple(sample.args), sample.kwargs))
        for i, x in enumerate(leaves):
            if isinstance(x, complex) or not isinstance(x, (torch.Tensor, int, float, str, type(None), torch.dtype)):
                raise Unfit
            if isinstance(x, float):
                leaves[i] = plain(x)
            if not isinstance(x, torch.Tensor):
                continue
            if x.dtype not in NAME:
                raise Unfit
            storage = storage_of(x)
            if dtype and storage.is_floating_point():
                storage = storage.to(dtype)
            leaves[i] = storage.as_strided(x.shape, x.stride(), 0).detach().requires_grad_(x.requires_grad)
        self.input, self.args, self.kwargs = tree_unflatten(leaves, spec)
        self.call = adapter(self.input, *self.args, **self.kwargs)
        if len(self.call) != len(row.params):
            raise Unfit
        tensors = [t for t in tree_flatten(list(self.call))[0] if isinstance(t, torch.Tensor)]
        if (row.functional or row.name) in table.OPEN_AT_NAN and any(torch.isnan(t).any() for t in tensors if t.is_floating_point()):
            raise Unfit
        if row.name == 'gather' and tensors[1].dtype not in (torch.int64, torch.int32):
            raise Unfit
        self.leaves = [t for t in tensors if t.requires_grad]

    def results(self):
        base = self.row.functional or self.row.name
        if self.in_place:
            r = (self.info.inplace_variant or self.info.op)(self.input.clone(), *self.args, **self.kwargs)
        elif base in table.MEANING:
            r = table.MEANING[base](self.info.op, self.input, *self.args, **self.kwargs)
        else:
            r = self.info.op(self.input, *self.args, **self.kwargs)
        return [t for t in tree_flatten(r)[0] if isinstance(t, torch.Tensor)]

    def gradients(self, results, second):
        """(gradients or None, second ones or None)"""
        of = [t for t in results if t.requires_grad]
        if not self.leaves or not of:
            return None, None
        grads = torch.autograd.grad(of, self.leaves, [cotangent(t) for t in of], create_graph=second, allow_unused=True)
        if not second:
            return grads, None
        again = [g for g in grads if g is not None and g.requires_grad]
        if not again:
            return grads, [None] * len(self.leaves)
        try:
            return grads, torch.autograd.grad(again, self.leaves, [second_cotangent(g) for g in again], allow_unused=True)
        except Exception:
            return grads, None

    def arg(self, a, kind):
        if isinstance(a, torch.Tensor):
            values = torch.as_strided(a.detach(), (a.untyped_storage().nbytes() // a.dtype.itemsize,), (1,), 0)
            d = NAME[a.dtype]
            return '%s:%s:%s:%s:0:=%s' % ('g' if a.requires_grad else 't', d, ','.join(map(str, a.shape)), ','.join(map(str, a.stride())),
                                          ' '.join(ops.number(x, d) for x in values.tolist()))
        if kind == 'Tensor':
            raise Unfit
        if kind == 'Dims':
            return 'd:' + ','.join(str(int(x)) for x in a)
        if isinstance(a, (list, tuple)):
            return '[' + ' '.join(self.arg(x, kind) for x in a) + ']'
        if kind == 'float':
            return 'f:%r' % float(a)
        if a is not None and not isinstance(a, (bool, int, float, str)):
            raise Unfit
        return ops.arg_text(a)

    def text(self):
        return ';'.join(self.arg(a, kind) for a, (kind, _) in zip(self.call, self.row.params))


def shown(t, exact, slack):
    """A result as text: the one in float64 where it says more. Unfit where PyTorch's own is not as exact as the test asks."""
    t, d = t.detach(), NAME[t.dtype]
    if t.numel() > 2 * MOST_A_TENSOR:
        raise Unfit
    if exact is not None and t.dtype.is_floating_point and t.dtype != torch.float64 and exact.shape == t.shape and exact.dtype == torch.float64:
        e, w = exact.detach(), t.double()
        info = torch.finfo(t.dtype)
        spread = max([abs(x) for x in w.reshape(-1).tolist() if abs(x) < float('inf')] + [1.0])
        both = torch.isfinite(e) & torch.isfinite(w)
        if ((e - w).abs()[both] > slack * info.eps * spread).any() or (torch.isfinite(w) & ~torch.isfinite(e)).any():
            raise Unfit
        t = torch.where(both, e, w).to(t.dtype)
    return '%s:%s:*:%s' % (d, ','.join(map(str, t.shape)), ' '.join(ops.number(x, d) for x in t.reshape(-1).tolist()))


def line_of(row, info, adapter, in_place, sample, dtype, second):
    s = Sample(row, info, adapter, in_place, sample)
    text = s.text()
    if sum(x.count(' ') + 1 for x in re.findall(r'=([^;\]]*)', text)) > MOST_NUMBERS:
        raise Unfit
    r = s.results()
    grads, again = s.gradients(r, second)
    exact, exact_grads, exact_again = [None] * len(r), None, None
    if dtype in (torch.float32, torch.float16, torch.bfloat16):
        wide = Sample(row, info, adapter, in_place, sample, torch.float64)
        exact = wide.results()
        exact_grads, exact_again = wide.gradients(exact, second)
    parts = [row.name, text, ';'.join(shown(t, e, 2) for t, e in zip(r, exact)), none_or(grads, exact_grads, s)]
    if again is not None and row.name not in SECOND_LEFT_OUT:
        parts.append(none_or(again, exact_again, s, zeros=True))
    line = '|'.join(parts)
    if len(line) > 2500:
        raise Unfit
    return line, features(s, r)


def none_or(grads, exact, s, zeros=False):
    """'-': none, which in second gradients is as good as zeros."""
    if grads is None:
        return ';'.join('-' for _ in s.leaves)
    out = []
    for i, g in enumerate(grads):
        if g is None or (zeros and not g.any()):
            out.append('-')
        else:
            out.append(shown(g, exact[i] if exact is not None else None, 8))
    return ';'.join(out)


def features(s, results):
    """What makes a sample worth having."""
    f = set()
    for i, a in enumerate(tree_flatten(list(s.call))[0]):
        if isinstance(a, torch.Tensor):
            f |= {(i, 'rank', min(a.dim(), 3))}
            f |= {(i, 'empty')} if not a.numel() else set()
            f |= {(i, 'strides')} if a.numel() and not a.is_contiguous() else set()
            f |= {(i, str(a.dtype))}
            f |= {(i, 'special')} if a.is_floating_point() and not torch.isfinite(a).all() else set()
            f |= {(i, 'zero')} if a.numel() and (a == 0).any() else set()
        else:
            f |= {(i, type(a).__name__, a if isinstance(a, (bool, str, type(None))) else (a > 0) - (a < 0) if isinstance(a, (int, float)) else 0)}
    return f | {('outs', len(results), tuple(min(t.dim(), 3) for t in results))}


def chosen(row, info, adapter, in_place, dtype, take):
    """The lines that show most that is new, smallest first."""
    torch.manual_seed(zlib.crc32(('%s %s' % (info.name, dtype)).encode()))
    found = []
    grad = bool(info.supports_autograd and dtype.is_floating_point)
    for make in (info.sample_inputs, info.reference_inputs):
        if make == info.reference_inputs and not info.reference_inputs_func:
            continue
        try:
            for sample in itertools.islice(make('cpu', dtype, requires_grad=grad), LOOK_AT):
                if in_place and getattr(sample, 'broadcasts_input', False):
                    continue
                second = grad and info.supports_gradgrad and dtype in (torch.float32, torch.float64)
                try:
                    found.append(line_of(row, info, adapter, in_place, sample, dtype, second))
                except Exception:                       # no form in dync, too large, refused
                    continue
        except Exception:
            continue
    lines, seen = [], set()
    while found and len(lines) < take:
        best = max(found, key=lambda x: (len(x[1] - seen), -len(x[0])))
        found.remove(best)
        if not best[1] - seen and lines:
            break
        if best[0] not in lines:
            lines.append(best[0])
        seen |= best[1]
    return lines


def main():
    rows, infos = table.rows(), table.infos()
    lines, names = [], set()
    for row, info, adapter, in_place in table.entries(rows, infos):
        if row.random or row.name in LEFT_OUT:
            continue
        first = row.name not in names
        names.add(row.name)
        for dtype in table.DTYPES:
            if NAME[dtype] not in TAKE or dtype not in info.supported_dtypes('cpu') or (in_place or not first) and dtype not in (torch.float32, torch.int64):
                continue
            take = TAKE[NAME[dtype]] if first and not in_place else 1
            lines += [x for x in chosen(row, info, adapter, in_place, dtype, take) if x not in lines]
        print(row.name, len(lines), sum(map(len, lines)), file=sys.stderr, flush=True)
    with open(os.path.join(HERE, '../ops/opinfo.c'), 'w') as f:
        f.write("/* tests/ops/opinfo.c: some of PyTorch %s's OpInfo samples and what it gives for them. Written by\n"
                ' * tests/oracle/opinfo.py, which says what a line means; read by tests/unit/test_opinfo_sample.c. */\n' % torch.__version__.split('+')[0])
        f.write('static const char *const opinfo_samples[] = {\n')
        for line in lines:
            f.write(ops.quote(line) + ',\n')
        f.write('};\n')


main()
