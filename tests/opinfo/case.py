"""tests/opinfo/case.py: one operator of dync, one OpInfo and one dtype: its samples through both, compared."""
import traceback
import zlib

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import compare
import dync
import table

CANCEL = {'addcdiv', 'addcmul', 'lerp', 'logaddexp'}       # pointwise, and sums all the same
MODES = [('compiled ', 'inductor', False, False), ('double ', 'inductor', False, True), ('dynamic ', 'inductor', True, False),
         ('aot ', 'aot_eager', False, False)]
NO_VALUES = {'empty', 'empty_like'}


def short(dtype):
    return str(dtype).replace('torch.', '')


def full_name(info):
    return info.name + ('/' + info.variant_test_name if info.variant_test_name else '')


# ---- samples ------------------------------------------------------------------------------------------------------------------------------
def copied(t, dtype=None):
    """The same strides over a copy of the storage, the history forgotten."""
    storage = dync.flat(t.detach())
    if dtype:
        storage = storage.to(dtype)
    return storage.clone().as_strided(t.shape, t.stride(), t.storage_offset()).detach().requires_grad_(t.requires_grad)


class Side:
    """A sample's arguments as one of the sides has them."""

    def __init__(self, sample, dtype=None, grad=True):
        leaves, spec = tree_flatten((sample.input, tuple(sample.args), sample.kwargs))
        self.tensors = []
        for i, x in enumerate(leaves):
            if isinstance(x, torch.Tensor):
                leaves[i] = copied(x, dtype if dtype and x.dtype.is_floating_point else None)
                if not grad:
                    leaves[i] = leaves[i].detach()
                self.tensors.append(leaves[i])
        self.input, self.args, self.kwargs = tree_unflatten(leaves, spec)

    def leaves(self):
        return [t for t in self.tensors if t.requires_grad]


def size(sample):
    return sum(t.numel() for t in tree_flatten((sample.input, tuple(sample.args), sample.kwargs))[0] if isinstance(t, torch.Tensor))


def results(r):
    return [t for t in tree_flatten(r)[0] if isinstance(t, torch.Tensor)]


def places(x, dim, index):
    return torch.take_along_dim(x.detach(), index, dim) if x.dim() else x.detach()


class Case:
    """One operator of dync, one OpInfo, one dtype."""

    def __init__(self, lib, row, info, adapter, in_place, dtype, report, options):
        self.lib, self.row, self.info, self.adapter, self.in_place, self.dtype = lib, row, info, adapter, in_place, dtype
        self.report, self.options = report, options
        self.sums = row.kind not in ('POINTWISE', 'VIEW', 'INPLACE') or (row.functional or row.name) in CANCEL
        self.valueless = row.random or row.name in NO_VALUES

    def torch(self, side):
        base = self.row.functional or self.row.name
        if self.in_place:
            x = side.input.clone() if isinstance(side.input, torch.Tensor) else side.input
            return results(self.info.inplace_variant(x, *side.args, **side.kwargs) if self.info.inplace_variant else self.info.op(x, *side.args, **side.kwargs))
        if base in table.MEANING:
            return results(table.MEANING[base](self.info.op, side.input, *side.args, **side.kwargs))
        return results(self.info.op(side.input, *side.args, **side.kwargs))

    def tell(self, kind, index, what):
        self.report(kind, self.row.name, self.info, short(self.dtype), index, what)

    def dync_args(self, side):
        args = self.adapter(side.input, *side.args, **side.kwargs)
        table.only(len(args) == len(self.row.params), 'number of arguments')
        out = []
        for a, (kind, _) in zip(args, self.row.params):
            if kind == 'Tensor' and not isinstance(a, torch.Tensor):
                raise table.Refused('a number for a tensor')
            if kind in ('float', 'int', 'int64', 'bool') and isinstance(a, torch.Tensor):
                raise table.Refused('a tensor for a number')
            if isinstance(a, complex):
                raise table.Refused('a complex number')
            out.append([int(x) if not isinstance(x, torch.Tensor) else x for x in a] if kind == 'Dims' else a)
        return out

    # ---- one sample ----
    def run(self, index, sample, compiled):
        try:
            self.lib.open(self.row.name, self.in_place, self.dync_args(Side(sample)))
        except table.Refused as e:
            return self.tell('other form', index, str(e))
        except dync.Unfit as e:
            return self.tell('other form', index, str(e))
        try:
            self.forward(index, sample, compiled)
        finally:
            self.lib.close()

    def forward(self, index, sample, compiled):
        side = Side(sample)
        self.input = side.input
        seed = zlib.crc32(('%s %s %d' % (self.row.name, short(self.dtype), index)).encode())
        try:
            with torch.no_grad() if not any(t.requires_grad for t in side.tensors) else torch.enable_grad():
                want = self.torch(side)
        except Exception as e:
            return self.refused('refuses', index, e)
        self.tell('run forward', index, None)
        n = self.lib.call()
        if isinstance(n, str):
            return self.tell('forward', index, 'dync refuses: ' + n)
        got = self.lib.all(dync.RESULTS, n)
        if not want:
            return self.tell('other form', index, 'a result that is no tensor')
        exact, exact_side = self.exact(sample)
        if self.row.name == 'topk' and len(got) == len(want) and got[1][0].shape == want[1].shape and not torch.equal(got[1][0], want[1]):
            dim = self.dync_args(side)[2]                 # which of equal ones is open: the places are judged by what is there
            self.outputs('forward', index, [got[0], (places(side.input, dim, got[1][0]), False)], [want[0], places(side.input, dim, want[1])], None)
            return
        if self.outputs('forward', index, got, want, exact):
            return
        self.written(index, side)
        first = self.gradients('', index, seed, side, want, exact_side, exact, None)
        self.lib.close()
        if compiled:
            for label, backend, dynamic, double in MODES:
                if not double or first and first[1]:
                    self.compiled(label, backend, dynamic, double, index, sample, seed, got, first)

    def compiled(self, label, backend, dynamic, double, index, sample, seed, plain, first):
        side = Side(sample)
        self.lib.open(self.row.name, self.in_place, self.dync_args(side))
        self.tell('run ' + label + 'forward', index, None)
        n = self.lib.call(backend, dynamic, double)
        if isinstance(n, str):
            return self.tell(label + 'forward', index, 'dync refuses: ' + n)
        got = self.lib.all(dync.RESULTS, n)
        if len(got) != len(plain):
            return self.tell(label + 'forward', index, '%d results, plain %d' % (len(got), len(plain)))
        for i, ((g, has), (w, had)) in enumerate(zip(got, plain)):
            what = self.valueless and (None if g.shape == w.shape and g.dtype == w.dtype else 'shape') or not self.valueless and compare.differs(g, w, sums=self.sums)
            if what:
                return self.tell(label + 'forward', index, 'result %d: %s' % (i, what))
            if has != had:
                return self.tell(label + 'forward', index, 'result %d: requires_grad %s, plain %s' % (i, has, had))
        if first:
            self.gradients(label, index, seed, side, [g for g, _ in plain], None, None, first, second=double)

    def refused(self, kind, index, error):
        self.tell('run ' + kind, index, None)
        n = self.lib.call()
        if not isinstance(n, str):
            self.tell(kind, index, 'PyTorch refuses (%s), dync gives %s' % (str(error).split('\n')[0][:100], [compare.describe(t) for t, _ in self.lib.all(dync.RESULTS, n)]))
        elif n.startswith('17 '):
            self.tell(kind, index, 'internal error: ' + n)

    def exact(self, sample):
        """The sample in float64: (results, side); (None, None) where it is that already or has no such thing."""
        if self.dtype in (torch.float32, torch.float16, torch.bfloat16) and not self.valueless:
            try:
                side = Side(sample, torch.float64)
                return self.torch(side), side
            except Exception:
                pass
        return None, None

    def outputs(self, kind, index, got, want, exact):
        if len(got) != len(want):
            self.tell(kind, index, '%d results, expected %d' % (len(got), len(want)))
            return True
        for i, ((g, has), w) in enumerate(zip(got, want)):
            if self.row.name == 'to_dtype' and g.shape == w.shape and g.dtype == w.dtype:
                g = torch.where(self.undefined(w.dtype), w.detach(), g)
            if self.valueless:
                what = None if g.shape == w.shape and g.dtype == w.dtype else 'got %s, expected %s' % (compare.describe(g), compare.describe(w))
            else:
                e = exact[i] if exact and len(exact) == len(want) and w.dtype != torch.float64 else None
                what = compare.differs(g, w.detach(), e, self.sums)
            if not what and has != w.requires_grad:
                what = 'requires_grad is %s, expected %s' % (has, w.requires_grad)
            if what:
                self.tell(kind, index, 'result %d: %s' % (i, what))
                return True
        return False

    def undefined(self, dtype):
        """Where a cast of the input to an integer has no result in C: NaN and what is out of its range."""
        x = self.input.detach()
        if not x.dtype.is_floating_point or dtype.is_floating_point or dtype == torch.bool:
            return torch.zeros(x.shape, dtype=torch.bool)
        info, whole = torch.iinfo(dtype), x.double().trunc()
        return ~((whole >= info.min) & (whole <= info.max))

    def written(self, index, side):
        """What the call wrote to its inputs."""
        if self.in_place:
            return
        mine = [t for t in tree_flatten(self.dync_args(side))[0] if isinstance(t, torch.Tensor)]
        for i, t in enumerate(mine):
            what = compare.differs(self.lib.read(dync.INPUTS, i)[0], t.detach(), sums=True)
            if what:
                return self.tell('forward', index, 'input %d after the call: %s' % (i, what))

    # ---- gradients ----
    def gradients(self, label, index, seed, side, want, exact_side, exact, plain, second=True):
        """label '': against PyTorch -> what dync gave, or None. Else against that."""
        if self.valueless or not self.options.gradients or not side.leaves() or not self.row.differentiable:
            return None
        torch.manual_seed(seed)
        cotangents = [torch.randn(w.shape, dtype=torch.float64).to(w.dtype).requires_grad_() if w.dtype.is_floating_point else torch.zeros(w.shape) for w in want]
        second = second and self.dtype in (torch.float32, torch.float64) and self.info.supports_gradgrad
        if label:
            second = second and plain[1] is not None
            expected = expected_exact = None
        else:
            expected = self.torch_gradients(want, side, cotangents, second)
            if expected is None:
                return None
            wide = [c.detach().double().requires_grad_() if c.dtype.is_floating_point else c for c in cotangents]
            expected_exact = self.torch_gradients(exact, exact_side, wide, second) if exact else None
        self.tell('run ' + label + 'gradient', index, None)
        n = self.lib.gradients(cotangents, second)
        if isinstance(n, str):
            self.tell(label + 'gradient', index, 'dync refuses: ' + n)
            return None
        got = self.lib.all(dync.GRADIENTS, n)
        order = self.order(side)
        if not label:
            got_by = [got[order.index(i)] if i in order else (None, False) for i in range(len(side.leaves()))]
            if self.close_to(label + 'gradient', index, got_by, expected[0], expected_exact and expected_exact[0], side.leaves()):
                return None
        elif self.close_to(label + 'gradient', index, got, [g for g, _ in plain[0]], None, None):
            return None
        return got, self.second(label, index, seed, side, expected, expected_exact, got, order, plain) if second else None

    def order(self, side):
        """Of dync's leaves: which of PyTorch's each is."""
        mine = [t for t in tree_flatten(self.dync_args(side))[0] if isinstance(t, torch.Tensor) and t.requires_grad]
        leaves = side.leaves()
        return [next(i for i, t in enumerate(leaves) if t is m) for m in mine]

    def torch_gradients(self, want, side, cotangents, second):
        """(gradients, function that gives their gradients), or None where PyTorch has none."""
        pairs = [(w, c) for w, c in zip(want, cotangents) if w.requires_grad]
        if not pairs or len(want) != len(cotangents):
            return None
        leaves = side.leaves()
        try:
            grads = torch.autograd.grad([w for w, _ in pairs], leaves, [c for _, c in pairs], create_graph=second, allow_unused=True)
        except Exception:
            if not second:
                return None
            return self.torch_gradients(want, side, cotangents, False)
        return grads, [c for _, c in pairs], leaves

    def second(self, label, index, seed, side, expected, expected_exact, got, order, plain):
        seeds = []
        torch.manual_seed(seed + 1)
        for i, (g, has) in enumerate(got):
            leaf = side.leaves()[order[i]]
            seeds.append(torch.randn(leaf.shape, dtype=torch.float64).to(leaf.dtype))
        if not label:
            wanted = self.torch_second(expected, seeds, order)
            if wanted is None:
                return None
            wanted_exact = self.torch_second(expected_exact, [s.double() for s in seeds], order) if expected_exact else None
        self.tell('run ' + label + 'second', index, None)
        n = self.lib.second(seeds)
        if isinstance(n, str):
            self.tell(label + 'second', index, 'dync refuses: ' + n)
            return None
        now = self.lib.all(dync.SECOND, n)
        if label:
            if len(now) == 0:
                now = [(None, False)] * len(plain[1])
            self.close_to(label + 'second', index, now, [g for g, _ in plain[1]], None, None)
            return None
        leaves = len(side.leaves())
        if not now:
            now = [(None, False)] * len(wanted)
        mine = [now[order.index(i)] if i in order else (None, False) for i in range(leaves)] + now[len(order):]
        if self.close_to('second', index, mine, wanted, wanted_exact, side.leaves()):
            return None
        return now

    def torch_second(self, first, seeds, order):
        grads, cotangents, leaves = first
        pairs = [(grads[order[i]], s) for i, s in enumerate(seeds) if grads[order[i]] is not None and grads[order[i]].requires_grad]
        try:
            if not pairs:
                return [None] * (len(leaves) + len(cotangents))
            return torch.autograd.grad([g for g, _ in pairs], leaves + cotangents, [s for _, s in pairs], allow_unused=True)
        except Exception:
            return None

    def close_to(self, kind, index, got, want, exact, leaves):
        if len(got) != len(want):
            self.tell(kind, index, '%d gradients, expected %d' % (len(got), len(want)))
            return True
        for i, ((g, _), w) in enumerate(zip(got, want)):
            if g is None and w is None:
                continue
            g, w = g if g is not None else torch.zeros_like(w), w if w is not None else torch.zeros_like(g)
            if leaves and (self.row.functional or self.row.name) in table.OPEN_AT_NAN:
                for leaf in leaves:
                    if leaf.shape == g.shape == w.shape:
                        g = torch.where(torch.isnan(leaf.detach()), w.detach(), g)
            e = exact[i] if exact and exact[i] is not None and w.dtype != torch.float64 else None
            what = compare.differs(g, w.detach(), e, True, 1.0)        # cotangents are of order 1
            if what:
                self.tell(kind, index, 'gradient %d: %s' % (i, what))
                return True
        return False

    # ---- all samples ----
    def samples(self):
        torch.manual_seed(zlib.crc32(('%s %s' % (self.info.name, short(self.dtype))).encode()))
        grad = bool(self.info.supports_autograd and self.dtype.is_floating_point)
        for make in ('sample_inputs',) + (('reference_inputs',) if self.options.reference and self.info.reference_inputs_func else ()):
            yield from self.made(getattr(self.info, make), grad)
        for sample in self.made(self.info.sample_inputs, grad):        # once more, with holes between elements
            try:
                yield sample.noncontiguous()
            except Exception:
                continue

    def made(self, make, grad):
        n = 0
        try:
            for sample in make('cpu', self.dtype, requires_grad=grad):
                n += 1
                yield sample
        except Exception as e:
            if grad:                              # some of PyTorch's generators ask for a gradient of integers
                yield from list(self.made(make, False))[n:]
            else:
                self.tell('no sample', -1, '%s: %s' % (make.__name__, str(e).split('\n')[0]))

    def run_all(self, only=None):
        samples = [(i, s) for i, s in enumerate(self.samples()) if not self.options.elements or size(s) <= self.options.elements]
        most = self.options.most
        if most and len(samples) > most:
            samples = [samples[i * len(samples) // most] for i in range(most)]
        every = max(1, len(samples) // self.options.compiled) if self.options.compiled else 0
        for k, (index, sample) in enumerate(samples):
            if only is not None and index != only:
                continue
            self.options.progress('%s %s %s %d' % (self.row.name, self.info.name, short(self.dtype), index))
            broadcasts = getattr(sample, 'broadcasts_input', False)
            if self.in_place and broadcasts:
                self.row_refuses(index, sample)
                continue
            try:
                self.run(index, sample, only is not None or (every and k % every == 0))
            except Exception:
                self.tell('runner', index, traceback.format_exc().strip().split('\n')[-1] + ' ' + traceback.format_exc().strip().split('\n')[-3].strip())

    def row_refuses(self, index, sample):
        try:
            self.lib.open(self.row.name, True, self.dync_args(Side(sample, grad=False)))
        except (table.Refused, dync.Unfit):
            return
        try:
            self.torch(Side(sample, grad=False))
        except Exception as e:
            self.refused('refuses', index, e)
        self.lib.close()

    def run_errors(self):
        """What PyTorch's error samples say must be refused."""
        if self.dtype != torch.float32 or not self.info.error_inputs_func or self.in_place or self.info.name.startswith('__r') or full_name(self.info) in table.OTHERS_ERRORS:
            return
        try:
            samples = list(self.info.error_inputs(torch.device('cpu')))
        except Exception as e:
            return self.tell('no sample', -1, 'error_inputs: %s' % str(e).split('\n')[0])
        for index, bad in enumerate(samples):
            sample = bad.sample_input
            try:
                args = self.dync_args(Side(sample, grad=False))
                self.lib.open(self.row.name, False, args)
            except (table.Refused, dync.Unfit) as e:
                self.tell('other form', index, str(e))
                continue
            except Exception:                       # arguments that have no form at all: the schema refuses them
                continue
            try:
                self.torch(Side(sample, grad=False))
            except Exception as e:
                self.refused('error', index, e)
            self.lib.close()

    def run_other_dtype(self):
        """A dtype that PyTorch refuses: the samples of float32, or of int64, cast."""
        base = torch.float32 if torch.float32 in self.info.dtypes else torch.int64
        dtype, self.dtype = self.dtype, base
        samples = []
        for sample in self.samples():
            samples.append(sample)
            if len(samples) == 4:
                break
        self.dtype = dtype
        for index, sample in enumerate(samples):
            self.options.progress('%s %s %s dtype %d' % (self.row.name, self.info.name, short(self.dtype), index))
            cast = lambda x: copied(x.detach(), dtype) if isinstance(x, torch.Tensor) and x.dtype == base else x
            try:
                sample.input, sample.args, sample.kwargs = tree_map(cast, (sample.input, tuple(sample.args), sample.kwargs))
                self.lib.open(self.row.name, self.in_place, self.dync_args(Side(sample, grad=False)))
            except Exception:                       # the sample has no form in this dtype
                continue
            try:
                self.torch(Side(sample, grad=False))
            except Exception as e:
                self.refused('dtype', index, e)
            self.lib.close()
