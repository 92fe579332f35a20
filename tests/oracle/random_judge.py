"""tests/oracle/random_judge.py: random programs through dync and PyTorch.

    make oracle-random SEED=1 COUNT=1000                     the last line is N passed, N failed
    make oracle-random SEED=41 COUNT=1 ARGS="--show"         one program, printed
    --seconds N    stop after N            --dtype float32    the dtype of most values     --only conv,pool    these kinds of steps
    --breaks N     weight of graph breaks and branches        --wild     infinities and NaN --strides           strides are compared too
    --all          every way to compile, not two of them
    --no-shrink    failures as they were drawn                --isolate  in a process beside: a crash is a failure

Each program (random_draw.py) runs in PyTorch, in dync plainly and in dync compiled (inductor, on two threads, with symbolic sizes, and
aot_eager), each twice. Compared are results (values, dtype, requires_grad, what memory they share), what was written to inputs, and
gradients with random cotangents. PyTorch's own error is measured by runs in f64 with other roundings (Tolerance): what they disagree about,
as the places of equal values in a sort, is not judged. A failing program is shrunk to the steps that it needs and printed with its seed."""
import argparse
import ctypes
import math
import os
import random
import signal
import sys
import time
import traceback
import warnings

import torch

from random_draw import Skip, generate
from random_ops import DTYPES, Ref, run_torch

torch.set_num_threads(1)
warnings.filterwarnings('ignore')
KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_STR, KIND_LIST, KIND_REF = 1, 2, 3, 4, 6, 100
I64 = ctypes.c_int64
MODES = [('inductor', 0, 1), ('aot_eager', 0, 1), ('inductor', 1, 1), ('inductor', 0, 2)]   # backend, dynamic, threads
EPS = {torch.float32: 1e-5, torch.float64: 1e-10, torch.float16: 6e-3, torch.bfloat16: 5e-2}
SHAKES = 11                         # runs of PyTorch that measure its own error: exact, and shaken
# dync saves arguments and results of these, which formulas need not that PyTorch takes for some shapes and strides, or random_ops.py: writing
# over them is refused.
SAVERS = {'FlashAttention': 'scaled_dot_product_attention', 'RnnLayer': '_rnn_layer'}
ANY = torch.zeros(64)               # the data of an empty cotangent


# ---- what random_driver.c reads and writes --------------------------------------------------------------------------------------------------
class Value(ctypes.Structure):
    pass


Value._fields_ = [('kind', I64), ('i', I64), ('f', ctypes.c_double), ('s', ctypes.c_char_p), ('n', I64), ('items', ctypes.POINTER(Value))]


class Base(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('elements', I64), ('bytes', I64), ('dtype', I64), ('grad', I64), ('nonleaf', I64)]


class Input(ctypes.Structure):
    _fields_ = [('base', I64), ('ndim', I64), ('shape', I64 * 8), ('stride', I64 * 8), ('offset', I64)]


class Step(ctypes.Structure):
    _fields_ = [('op', ctypes.c_char_p), ('args', ctypes.POINTER(Value)), ('n', I64), ('out', I64)]


class Program(ctypes.Structure):
    _fields_ = [('nbases', I64), ('bases', ctypes.POINTER(Base)), ('ninputs', I64), ('inputs', ctypes.POINTER(Input)),
                ('nsteps', I64), ('steps', ctypes.POINTER(Step)), ('nouts', I64), ('outs', ctypes.POINTER(I64))]


class Reading(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('dtype', I64), ('ndim', I64), ('shape', I64 * 8), ('stride', I64 * 8), ('grad', I64), ('alias', I64)]


class Result:
    """A tensor that was read: value, stride, requires_grad, and the base or earlier result whose memory it shares."""

    def __init__(self, value, stride=(), grad=False, alias=-1):
        self.value, self.stride, self.grad, self.alias = value, stride, grad, alias


class Run:
    """What one way of running a program gave. refused, backward_refused: the message, or None."""

    def __init__(self, outs=(), bases=(), grads=None, refused=None, backward_refused=None):
        self.outs, self.bases, self.grads = outs, bases, grads
        self.refused, self.backward_refused = refused, backward_refused


class Dync:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.random_error.restype = ctypes.c_char_p

    def value(self, a):
        v = Value()
        if isinstance(a, Ref):
            v.kind, v.i = KIND_REF, a.i
        elif isinstance(a, torch.dtype):
            v.kind, v.i = KIND_INT, DTYPES.index(a)
        elif isinstance(a, (bool, int)):
            v.kind, v.i = KIND_BOOL if isinstance(a, bool) else KIND_INT, a
        elif isinstance(a, float):
            v.kind, v.f = KIND_FLOAT, a
        elif isinstance(a, str):
            v.kind, v.s = KIND_STR, self.text(a)
        elif isinstance(a, (list, tuple)):
            v.kind, v.items, v.n = KIND_LIST, self.array(Value, [self.value(x) for x in a]), len(a)
        return v

    def text(self, s):
        self.keep.append(ctypes.create_string_buffer(s.encode()))
        return ctypes.cast(self.keep[-1], ctypes.c_char_p)

    def array(self, kind, items):
        self.keep.append((kind * max(1, len(items)))(*items))
        return self.keep[-1]

    def open(self, g):
        self.keep = []
        bases = [Base(d.data_ptr(), d.numel(), d.numel() * d.element_size(), DTYPES.index(d.dtype), grad, nonleaf) for d, grad, nonleaf in g.bases]
        inputs = [Input(b, len(shape), (I64 * 8)(*shape), (I64 * 8)(*stride), offset) for b, shape, stride, offset in g.inputs]
        steps = []
        for op, args, out in g.steps:
            args = args[:-1] + [0] if op in ('full', 'arange', 'zeros', 'ones', 'eye') else args    # the device
            steps.append(Step(self.text(op), self.array(Value, [self.value(a) for a in args]), len(args), out))
        self.program = Program(len(bases), self.array(Base, bases), len(inputs), self.array(Input, inputs), len(steps), self.array(Step, steps),
                               len(g.outs), self.array(I64, g.outs))
        self.lib.random_open(ctypes.byref(self.program))

    def error(self):
        return self.lib.random_error().decode()

    def read(self, which, i):
        r = Reading()
        if self.lib.random_read(which, i, ctypes.byref(r)) <= 0:
            return None
        shape, dtype = tuple(r.shape[:r.ndim]), DTYPES[r.dtype]
        n = math.prod(shape)
        data = bytearray(ctypes.string_at(r.data, n * dtype.itemsize)) if n else b''
        value = torch.frombuffer(data, dtype=dtype).reshape(shape) if n else torch.empty(shape, dtype=dtype)
        return Result(value, tuple(r.stride[:r.ndim]), bool(r.grad), r.alias)

    def run(self, g, cotangents, backend=None, dynamic=0, threads=1):
        n = self.lib.random_run(backend.encode() if backend else None, dynamic, threads)
        if n < 0:
            return Run(refused=self.error())
        r = Run([self.read(0, i) for i in range(n)], [self.read(2, i) for i in range(len(g.bases))])
        if None in r.outs:
            return Run(refused='a result cannot be read: ' + self.error())
        data = (ctypes.c_void_p * len(cotangents))(*[c if c is None else c.data_ptr() or ANY.data_ptr() for c in cotangents])
        if self.lib.random_backward(data) < 0:
            r.backward_refused = self.error()
        else:
            r.grads = [self.read(1, i) for i in range(len(g.bases))]
        return r


def run_peer(g, cotangents, dtype=None, draw=None):
    """The same in PyTorch; dtype: with all floating values in it; draw: with results shaken."""
    leaves, bases, outs = run_torch(g, dtype, draw)
    places = [b.untyped_storage().data_ptr() for b in bases]
    r = Run()
    for x in outs:
        storage = x.untyped_storage().data_ptr()
        alias = places.index(storage) if x.numel() and storage in places else -1
        r.outs += (Result(x.detach().clone(), x.stride(), x.requires_grad, alias),)
    r.bases = [Result(b.detach().clone()) for b in bases]
    pairs = [(x, c.to(x.dtype)) for x, c in zip(outs, cotangents) if x.requires_grad and c is not None]
    try:
        if pairs:
            torch.autograd.backward([x for x, _ in pairs], [c for _, c in pairs])
        r.grads = [None if x.grad is None else Result(x.grad) for x in leaves]
    except RuntimeError as e:
        r.backward_refused = str(e).split('\n')[0]
    return r


# ---- comparing ------------------------------------------------------------------------------------------------------------------------------
def differ(a, b, tolerance, *part):
    """What differs between a and what was expected, or None. Tolerance.of(b, *part) says how far each element may be and whether it is judged
    at all; None: of another number of elements each time."""
    if a.dtype == b.dtype and torch.equal(a, b):
        return None
    limit, certain = tolerance.of(b, *part)
    if certain is None:
        return None
    if a.shape != b.shape or a.dtype != b.dtype:
        return '%s %s, expected %s %s' % (tuple(a.shape), a.dtype, tuple(b.shape), b.dtype)
    if not a.dtype.is_floating_point:
        n = ((a != b) & certain).sum().item()
        return '%d of %d differ' % (n, a.numel()) if n else None
    a, b = a.double(), b.double()
    odd = certain & (a.isnan() != b.isnan())
    if odd.any():
        return '%d NaN, expected %d' % (a.isnan().sum(), b.isnan().sum())
    bad = certain & ~a.isnan() & (a != b) & ~((a - b).abs() <= limit)
    if bad.any():
        k = tuple(bad.nonzero()[0])
        return '%d differ: %g, expected %g within %g' % (bad.sum(), a[k], b[k], limit[k])
    return None


class Tolerance:
    """How far results may be from PyTorch's: a little by the coarsest dtype of the program, and 20 times what PyTorch itself is away when
    it runs in f64 and, some times, with every rounding another one. Elements that then are other whole numbers, NaN or infinite, and
    results of other sizes, are not judged."""

    def __init__(self, g, want, cotangents):
        used = [d.dtype for d, *_ in g.bases] + [a for _, args, _ in g.steps for a in args if isinstance(a, torch.dtype)]
        used += [g.base] + [v.dtype for v in g.values.values()]
        self.relative = max(EPS.get(d, 0) for d in used)
        self.g, self.want, self.cotangents = g, want, cotangents
        self.kept, self.runs = {}, None
        # A gradient of zeros may have a history or none: of gradients, and of a grid whose nearest elements are taken.
        self.vague = any(op in ('!gradient', 'grid_sample') for op, *_ in g.steps)

    def others(self):
        """Those runs, made when a result first differs at all."""
        if self.runs is None:
            self.runs = []
            for k in range(SHAKES):
                try:
                    self.runs.append(run_peer(self.g, self.cotangents, torch.float64, torch.Generator().manual_seed(k) if k else None))
                except RuntimeError:
                    pass
        return self.runs

    def of(self, b, part, i, times=1):
        """b: what was expected, where PyTorch has no such result."""
        if (part, i) not in self.kept:
            self.kept[part, i] = self.measure(b, part, i)
        relative, extra, certain = self.kept[part, i]
        return None if certain is None else times * relative + extra, certain

    def measure(self, b, part, i):
        if not self.others():           # PyTorch takes it in this dtype alone
            return 0, 0, None
        w = getattr(self.want, part)
        w = w[i].value if w and w[i] else b
        certain, spread = torch.ones(w.shape, dtype=torch.bool), torch.zeros(w.shape, dtype=torch.float64)
        for other in self.others():
            o = getattr(other, part)
            o = o[i].value if o and o[i] else None
            if o is None:
                continue
            if o.shape != w.shape:
                return 0, 0, None
            if w.dtype.is_floating_point:
                certain &= (o.isfinite() == w.isfinite()) & (o.isnan() == w.isnan())
                spread = torch.maximum(spread, (o.double() - w.double()).abs().nan_to_num(0, 0, 0))
            else:
                certain &= o == w
        if not w.dtype.is_floating_point or not w.numel():
            return 0, 0, certain
        size = w.double().abs()
        most = size[w.isfinite()].max().item() if w.isfinite().any() else 0
        least = 0.3 if part == 'grads' else 1e-2        # of cotangents of 1, which may cancel
        return self.relative * (size + 0.2 * most + least), 20 * spread + 2 * spread.mean(), certain


def zero(r):
    return r is None or not r.value.any()


def saved_whole(g, message):
    """Does the message tell of what those save, a result or, by dtype and sizes, an argument?"""
    def tensors(args):
        for a in args:
            if isinstance(a, Ref):
                yield g.values[a.i]
    short = {torch.float64: 'f64', torch.float32: 'f32', torch.float16: 'f16', torch.bfloat16: 'bf16'}
    named = ['[%s%s]' % (short.get(x.dtype), list(x.shape)) for op, args, _ in g.steps if op in SAVERS.values() for x in tensors(args)]
    return any(x in message for x in list(SAVERS) + named)


def compare(got, want, tolerance, strides):
    """Differences of two runs, as text. What PyTorch leaves undefined may be zero. A compiled graph has copied what a program writes over,
    so its backward may work where the plain one is refused."""
    if got.refused and 'or gradient of it, in a call that ran that graph compiled' in got.refused:
        return []
    # strides of stft are those of the library that PyTorch was built with, and with them what can be viewed
    fourier = any(op == 'stft' for op, *_ in tolerance.g.steps)
    if got.refused and fourier and 'view size is not compatible' in got.refused:
        return []
    if got.refused:
        return ['refused: ' + got.refused]
    out = []
    # a gradient's strides are not promised (docs/decisions/memory-formats.md)
    strides = strides and not fourier and not any(op == '!gradient' for op, *_ in tolerance.g.steps)
    for i, (a, b) in enumerate(zip(got.outs, want.outs)):
        out.append(('result %d' % i, differ(a.value, b.value, tolerance, 'outs', i)))
        long = [d for d, n in enumerate(b.value.shape) if n > 1]
        if a.grad != b.grad and not tolerance.vague:
            out.append(('result %d' % i, 'requires_grad %s' % a.grad))
        if a.alias != b.alias and not (a.alias >= 1000 and b.alias < 0):
            out.append(('result %d' % i, 'shares memory with %d, expected %d' % (a.alias, b.alias)))
        if strides and b.value.numel() and [a.stride[d] for d in long] != [b.stride[d] for d in long]:
            out.append(('result %d' % i, 'strides %s, expected %s' % (a.stride, b.stride)))
    for i, (a, b) in enumerate(zip(got.bases, want.bases)):
        out.append(('input %d after the call' % i, differ(a.value, b.value, tolerance, 'bases', i)))
    if got.backward_refused and not want.backward_refused and not saved_whole(tolerance.g, got.backward_refused):
        out.append(('backward refused', got.backward_refused))
    if got.grads and want.grads:
        for i, (a, b) in enumerate(zip(got.grads, want.grads)):
            if a and b:
                out.append(('gradient %d' % i, differ(a.value, b.value, tolerance, 'grads', i, 3)))
            elif not (zero(a) and zero(b)):
                out.append(('gradient %d' % i, 'there' if a else 'missing'))
    return ['%s: %s' % (where, what) for where, what in out if what]


def modes(seed):
    """Two of them, each pair as often."""
    return random.Random(seed).sample(MODES, 2)


def judge(lib, g, strides, some=False):
    """Differences, as text. some: compiled in two ways, not all."""
    draw = torch.Generator().manual_seed(g.seed)
    cotangents = [torch.randn(x.shape, generator=draw, dtype=torch.float64).to(x.dtype) if x.dtype.is_floating_point else None
                  for x in run_torch(g)[2]]
    want = run_peer(g, cotangents)
    tolerance = Tolerance(g, want, cotangents)
    lib.open(g)
    plain = lib.run(g, cotangents)
    out = ['plain, ' + x for x in compare(plain, want, tolerance, strides)]
    if plain.refused:
        return out
    for backend, dynamic, threads in modes(g.seed) if some else MODES:
        name = '%s%s%s' % (backend, ' dynamic' if dynamic else '', ' 2 threads' if threads > 1 else '')
        lib.open(g)
        for call in range(2):
            r = lib.run(g, cotangents, backend, dynamic, threads)
            out += ['%s, call %d, %s' % (name, call, x) for x in compare(r, plain, tolerance, strides)]
    lib.lib.random_close()
    return out


# ---- a failing program, smaller and in print ------------------------------------------------------------------------------------------------
def shrink(g, fails):
    def without(part, k):
        whole = getattr(g, part)
        setattr(g, part, whole[:k] + whole[k + 1:])
        try:
            smaller = bool(g.outs) and fails(g)
        except Exception:
            smaller = False
        if not smaller:
            setattr(g, part, whole)
        return smaller

    begun = time.time()
    while time.time() - begun < 60 and any([without(part, k) for part in ('steps', 'outs') for k in reversed(range(len(getattr(g, part))))]):
        pass


def text(g):
    used = set(g.outs)

    def use(a):
        for x in a if isinstance(a, (list, tuple)) else [a]:
            if isinstance(x, Ref):
                used.add(x.i)
            elif isinstance(x, (list, tuple)):
                use(x)

    for _, args, _ in g.steps:
        use(args)
    out = []
    for k, (b, shape, stride, offset) in enumerate(g.inputs):
        d, grad, nonleaf = g.bases[b]
        if k in used:
            out.append('    v%d = input %s %s strides %s offset %d%s%s' %
                       (k, d.dtype, shape, stride, offset, ' grad' if grad else '', ' of no leaf' if nonleaf else ''))
    for op, args, o in g.steps:
        out.append('    v%d = %s(%s)  %s' % (o, op, ', '.join(map(str, args)), tuple(g.values[o].shape) if o in g.values else ''))
    return '\n'.join(out + ['    return %s' % ', '.join('v%d' % o for o in g.outs)])


def failing(lib, g, options):
    try:
        found = judge(lib, g, options.strides, not options.all)
    except Exception:
        return ['judge: ' + traceback.format_exc()[-300:]]
    if found and not options.no_shrink:
        way = found[0].split(',')[0]
        shrink(g, lambda smaller: any(x.startswith(way) for x in judge(lib, smaller, options.strides, not options.all)))
        found = judge(lib, g, options.strides, not options.all) or found
    return found


def one(lib, seed, options):
    """Whether program `seed` passed; None: nothing was drawn."""
    try:
        g = generate(seed, getattr(torch, options.dtype) if options.dtype else None, options.wild, options.breaks, options.only)
    except Skip:
        return None
    if options.show:
        print(text(g))
    found = failing(lib, g, options)
    if found:
        print('FAIL seed %d (make oracle-random SEED=%d COUNT=1)' % (seed, seed))
        print('\n'.join(found[:4] + [text(g)]), flush=True)
    return not found


def isolated(lib, seeds, options):
    """one() of each in a process beside this one, which is another after a crash: pairs of a seed and whether it passed."""
    seeds = list(seeds)
    while seeds:
        sys.stdout.flush()
        tell, say = os.pipe()
        child = os.fork()
        if child == 0:
            for seed in seeds[:200]:
                passed = one(lib, seed, options)
                sys.stdout.flush()
                os.write(say, {True: b'P', False: b'F', None: b'N'}[passed])
            os._exit(0)
        os.close(say)
        done = 0
        while (said := os.read(tell, 1)):
            yield seeds[done], {b'P': True, b'F': False, b'N': None}[said]
            done += 1
        os.close(tell)
        status = os.waitpid(child, 0)[1]
        if status and done < len(seeds):
            how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else 'it ended'
            print('FAIL seed %d: %s' % (seeds[done], how), flush=True)
            yield seeds[done], False
            done += 1
        seeds = seeds[done:]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('dync', help='the shared library of random_driver.c')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--count', type=int, default=100)
    p.add_argument('--seconds', type=float, default=math.inf)
    p.add_argument('--breaks', type=int, default=3)
    p.add_argument('--dtype')
    p.add_argument('--only', type=lambda s: s.split(','))
    for flag in ('all', 'wild', 'show', 'strides', 'no-shrink', 'isolate'):
        p.add_argument('--' + flag, action='store_true')
    options = p.parse_args()
    lib = Dync(options.dync)
    begun, count = time.time(), {True: 0, False: 0, None: 0}
    seeds = range(options.seed, options.seed + options.count)
    for seed, passed in isolated(lib, seeds, options) if options.isolate else ((seed, one(lib, seed, options)) for seed in seeds):
        count[passed] += 1
        if time.time() - begun > options.seconds:
            break
    print('%d passed, %d failed' % (count[True], count[False]))
    return count[False] > 0 or count[True] == 0


if __name__ == '__main__':
    sys.exit(main())
