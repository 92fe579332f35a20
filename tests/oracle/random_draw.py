"""tests/oracle/random_draw.py: draws a program for random_judge.py.

A program is inputs (views of one dimension of memory each), steps (an operator of the table, or ! and what is none; its arguments, the
number of its first result) and the results that are returned. Not drawn are operators with random numbers (dync has its own), those that
only gradients and other operators call (*_backward, native_*, convolution, _flash_attention...), functions inside operators (cond, scan,
while_loop), rescale, int_conv2d, and nms, roi_align, deform_conv2d, which PyTorch itself lacks. Steps run in PyTorch while they are drawn, so that shapes, dtypes and the
size of values are known; what PyTorch refuses is not kept. A kind of step is a function of TABLE: it chooses operands among the values made
so far, or makes inputs for them."""

import math
import random
import torch
from random_ops import DTYPES, FIRST_RESULT, OPS, Ref, resolve, run_torch


class Skip(Exception):
    """A step, or at the end a program, that is not to be had."""


class Spoiled(Exception):
    """A value in place has grown too large: the program is given up."""


def places(x):
    """Where its elements are in memory."""
    p = torch.full(x.shape, x.storage_offset(), dtype=torch.int64)
    for d, (n, stride) in enumerate(zip(x.shape, x.stride())):
        p += (torch.arange(n) * stride).reshape([n] + [1] * (x.dim() - d - 1))
    return p


def overlaps(x):
    """Are there elements on one place of memory?"""
    return places(x).unique().numel() < x.numel()


def crosses(x, y):
    """Is an element of x one of y, without being the same view?"""
    if x.untyped_storage().data_ptr() != y.untyped_storage().data_ptr():
        return False
    return (x.shape, x.stride(), x.storage_offset()) != (y.shape, y.stride(), y.storage_offset()) and bool(torch.isin(places(x), places(y)).any())


class Draw:
    """values: by number, inputs from 0 and results from FIRST_RESULT; live: the numbers that steps may take.
    bases: [data, requires grad, is no leaf]; inputs: [base, shape, stride, offset]; steps: (operator, arguments, number)."""

    def __init__(g, seed, most_steps, base, wild):
        g.r = random.Random(seed)
        g.seed = seed
        g.wild = wild
        g.base = base if base is not None else g.r.choice([torch.float64] * 3 + [torch.float32] * 3 + [torch.float16, torch.bfloat16])
        g.bases = []
        g.inputs = []
        g.steps = []
        g.most_steps = most_steps
        g.limit = g.r.choice([300, 2000, 20000])
        pool = [0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100, 127, 128, 257]
        g.sizes = [g.r.choice(pool[1:]) for _ in range(3)] + [g.r.choice(pool)]
        g.generator = torch.Generator().manual_seed(seed)
        g.values = {}
        g.hidden = set()
        g.next = FIRST_RESULT
        g.live = []

    def input(g, shape, dt, **k):
        if len(g.inputs) >= 38 or len(shape) > 8:   # more dims dync has not (DYNC_MAX_DIMS)
            raise Skip
        i = g.new_input(shape, dt, **k)
        b, s, st, o = g.inputs[i]
        d, grad, nonleaf = g.bases[b]
        with torch.enable_grad():
            x = d.clone().requires_grad_(grad)
            x = x.clone() if nonleaf else x
            g.values[i] = x.as_strided(s, st, o)
        g.live.append(i)
        return i

    def emit(g, op, *args):
        if len(g.steps) >= g.most_steps:
            raise Skip
        args = list(args)
        inplace = op.endswith('_')
        x = g.values[args[0].i] if inplace else None
        if inplace and ((x.is_leaf and x.requires_grad) or overlaps(x)):
            raise Skip  # which element is the last one written PyTorch does not say
        if inplace and any(crosses(x, g.values[a.i]) for a in args[1:] if isinstance(a, Ref)):
            raise Skip  # nor what is read of an argument that is written meanwhile
        try:
            r = OPS[op](*resolve(args, g.values))
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
            raise Skip
        rs = [r] if isinstance(r, torch.Tensor) else list(r)
        if len(rs) > 8:
            raise Skip
        for x in rs:
            if x.numel() > g.limit * 2 or x.dim() > 6:
                if not inplace:
                    raise Skip
            if not g.wild and x.numel() and x.dtype.is_floating_point:
                m = x.detach().abs().max().item()
                if not m < (1000.0 if x.dtype != torch.float16 else 200):
                    if inplace:
                        raise Spoiled
                    raise Skip
        out = g.next
        g.next += max(1, len(rs))
        g.steps.append((op, args, out))
        for j, x in enumerate(rs):
            g.values[out + j] = x
            # a view made without gradients requires one in PyTorch, which nothing reaches
            lost = x.requires_grad and x.grad_fn is None
            g.hidden |= {out + j} if lost else set()
            if not inplace and not lost:
                g.live.append(out + j)
        return out

    def some(g, fl=True, lo=0, hi=6, dt=None, cond=None):
        for _ in range(15):
            if not g.live:
                break
            i = g.live[-1 - min(len(g.live) - 1, int(g.r.random() ** 2 * len(g.live)))]
            x = g.values[i]
            if (
                lo <= x.dim() <= hi
                and (
                    dt is None
                    and (x.dtype.is_floating_point if fl is True else not x.dtype.is_floating_point if fl is False else True)
                    or x.dtype == dt
                )
                and (cond is None or cond(x))
            ):
                return i
        n = g.r.randint(lo, min(hi, max(lo, g.r.choice([1, 2, 2, 3, 3, 4, 5]))))
        return g.input(
            g.shape(n), dt or (g.floating() if fl is True else g.integer() if fl is False else g.r.choice([g.floating(), g.integer()]))
        )

    def floating(g):
        return g.base if g.r.random() < 0.88 else g.r.choice(DTYPES[:4])

    def integer(g):
        return g.r.choice([torch.int64] * 3 + DTYPES[4:])

    def like(g, shape, dt, same=0.5, **k):
        if g.r.random() < same and (not k):
            for _ in range(8):
                i = g.r.choice(g.live) if g.live else None
                if i is not None and list(g.values[i].shape) == list(shape) and (g.values[i].dtype == dt):
                    return i
        return g.input(shape, dt, **k)

    def broadcastable(g, i, dt=None, fl=None):
        s = list(g.values[i].shape)
        for _ in range(6):
            j = g.r.choice(g.live)
            x = g.values[j]
            if fl is not None and x.dtype.is_floating_point != fl or (dt is not None and x.dtype != dt):
                continue
            try:
                torch.broadcast_shapes(x.shape, s)
                return j
            except Exception:
                pass
        s = s[g.r.randint(0, len(s)) :] if g.r.random() < 0.3 else s
        s = [1 if g.r.random() < 0.25 else z for z in s]
        return g.input(s, dt or (g.floating() if fl is not False and (fl or g.r.random() < 0.8) else g.integer()))

    def num(g):
        return g.r.choice([2, -1, 3, 0.5, -0.7, 1.5, 0, 1, True, 2.25])

    def dim(g, i):
        n = g.values[i].dim()
        return g.r.randint(-n, n - 1) if n else g.r.choice([0, -1])

    def dimlist(g, i, empty=True):
        n = g.values[i].dim()
        k = g.r.randint(0 if empty else min(1, n), n)
        d = g.r.sample(range(n), k)
        return [x - n if g.r.random() < 0.3 else x for x in d]

    def size(g):
        return g.r.choice(g.sizes) if g.r.random() < 0.75 else g.r.choice([1, 2, 3, 4, 5, 6, 8])

    def shape(g, n):
        s = [g.size() for _ in range(n)]
        while math.prod(s) > g.limit:
            k = max(range(n), key=lambda i: s[i])
            s[k] = g.r.choice([1, 2, 3])
        return s

    def data(g, n, dt, below=None, low=0):
        if dt == torch.bool:
            return torch.rand(n, generator=g.generator) < 0.5
        if not dt.is_floating_point:
            if below is not None:
                return torch.randint(low, max(below, low + 1), (n,), generator=g.generator).to(dt)
            return torch.randint(0 if dt == torch.uint8 else -9, 10, (n,), generator=g.generator).to(dt)
        d = torch.randn(n, generator=g.generator, dtype=torch.float64)
        if g.r.random() < 0.1:
            d = d.round()
        if g.wild and n:
            for _ in range(g.r.randrange(3)):
                d[g.r.randrange(n)] = g.r.choice([math.inf, -math.inf, math.nan, 0.0, -0.0])
        return d.to(dt)

    def new_input(g, shape, dt, below=None, low=0, plain=False):
        """-> value id; only before the first step"""
        n = len(shape)
        kind = g.r.random()
        stride = [0] * n
        order = list(range(n))
        off = 0
        if not plain and kind < 0.15:
            if n in (4, 5) and g.r.random() < 0.6:
                order = [0] + order[2:] + [1]
            else:
                g.r.shuffle(order)
        elif not plain and kind < 0.22:
            off = g.r.choice([1, 3, 8])
        gap = [1] * n
        if not plain and 0.22 < kind < 0.3 and n:
            gap[g.r.randrange(n)] = 2
        exp = [False] * n
        if not plain and 0.3 < kind < 0.36 and n:
            exp[g.r.randrange(n)] = True
        acc = 1
        for d in reversed(order):
            if exp[d]:
                stride[d] = 0
                continue
            stride[d] = acc * gap[d] if shape[d] > 0 else acc
            acc *= max(1, shape[d]) * gap[d]
        total = off + acc if all(shape) else off + 1
        d = g.data(total, dt, below, low)
        grad = dt.is_floating_point and g.r.random() < 0.7
        nonleaf = grad and g.r.random() < 0.35
        g.bases.append([d, grad, nonleaf])
        g.inputs.append([len(g.bases) - 1, list(shape), stride, off])
        return len(g.inputs) - 1


UNARY = 'hardsigmoid sin cos tanh sigmoid relu gelu gelu_tanh silu mish erf erfc softplus square neg abs atan asinh logsigmoid elu leaky_relu hardtanh relu6 hardswish selu celu softsign tanhshrink softshrink hardshrink exp exp2 expm1 sinh cosh log1p floor ceil round trunc frac sign sgn tan log sqrt rsqrt reciprocal acos asin atanh log2 log10 acosh'.split()
NUMBERS = {'elu': [1.0], 'leaky_relu': [0.01], 'hardtanh': [-1.0, 1.0], 'celu': [1.0], 'softshrink': [0.5], 'hardshrink': [0.5]}
POSITIVE = {'log', 'sqrt', 'rsqrt', 'log2', 'log10', 'reciprocal', 'log1p'}


def unary(g):
    op = g.r.choice(UNARY)
    # PyTorch has 1/6 in f32
    i = g.some(cond=lambda x: op != 'hardsigmoid' or x.dtype != torch.float64)
    if g.values[i].dtype == torch.float64 and op == 'hardsigmoid':
        raise Skip
    if op in POSITIVE and (not g.wild):
        i = g.emit('add', Ref(g.emit('abs', Ref(i))), 0.3)
    if op in ('acos', 'asin', 'atanh') and (not g.wild):
        i = g.emit('mul', Ref(g.emit('tanh', Ref(i))), 0.7)
    if op == 'acosh' and (not g.wild):
        i = g.emit('add', Ref(g.emit('abs', Ref(i))), 1.5)
    g.emit(op, Ref(i), *NUMBERS.get(op, []))


def unary_int(g):
    g.emit(
        g.r.choice('abs neg sgn sign logical_not bitwise_not square relu floor isnan isinf isfinite sin exp sqrt sigmoid reciprocal'.split()),
        Ref(g.some(False)),
    )


def binary(g):
    op = g.r.choice('add sub mul add sub mul maximum minimum div atan2 pow fmod remainder floor_divide xlogy logaddexp'.split())
    i = g.some(g.r.choice([True, True, True, None]))
    x = g.values[i]
    if op in ('div', 'fmod', 'remainder', 'floor_divide', 'pow') and (not g.wild):
        if not x.dtype.is_floating_point:
            return g.emit(op, Ref(i), g.r.choice([2, 3, 7]))
        if op == 'pow':
            i = g.emit('add', Ref(g.emit('abs', Ref(i))), 0.5)
        j = g.broadcastable(i, fl=True)
        b = Ref(g.emit('add', Ref(g.emit('abs', Ref(j))), 0.5)) if g.r.random() < 0.7 else g.r.choice([2, 0.5, 3, -1.5])
        return g.emit(op, Ref(i), b)
    if g.r.random() < 0.3 and op not in ('xlogy', 'logaddexp'):
        b = g.num()
        a = Ref(i)
        if op in ('maximum', 'minimum', 'atan2'):
            return g.emit(op, a, Ref(g.broadcastable(i)))
        if g.r.random() < 0.3 and op in ('sub', 'mul', 'add') and (not isinstance(b, bool)):
            a, b = (b, a)
        return g.emit(op, a, b)
    j = g.broadcastable(i)
    a, b = (Ref(i), Ref(j)) if g.r.random() < 0.7 else (Ref(j), Ref(i))
    g.emit(op, a, b)


def bits(g):
    i = g.some(False)
    op = g.r.choice(['bitwise_and', 'bitwise_or', 'bitwise_xor', 'logical_and', 'logical_or', 'logical_xor'])
    g.emit(op, Ref(i), Ref(g.broadcastable(i, fl=False)) if g.r.random() < 0.8 else g.r.choice([3, 1, 7]))


def compare(g):
    i = g.some(None)
    g.emit(g.r.choice('lt le gt ge eq ne'.split()), Ref(i), Ref(g.broadcastable(i)) if g.r.random() < 0.7 else g.r.choice([0, 0.5, -1]))


def where(g):
    i = g.some(None)
    g.emit('where', Ref(g.broadcastable(i, dt=torch.bool)), Ref(i), Ref(g.broadcastable(i)) if g.r.random() < 0.7 else g.num())


def masked_fill(g):
    i = g.some(None)
    g.emit('masked_fill', Ref(i), Ref(g.broadcastable(i, dt=torch.bool)), g.r.choice([0, 1, -1]))


def clamp(g):
    i = g.some()
    g.emit('clamp', Ref(i), *g.r.choice([(-0.5, 0.5), (None, 0.3), (-0.2, None), (0, 1)]))


def ternary(g):
    i = g.some()
    s = list(g.values[i].shape)
    d = g.values[i].dtype
    op = g.r.choice(['lerp', 'addcmul', 'addcdiv'])
    j = g.like(s, d)
    if op == 'lerp':
        return g.emit(op, Ref(i), Ref(j), 0.3 if g.r.random() < 0.5 else Ref(g.like(s, d)))
    k = g.like(s, d)
    if op == 'addcdiv':
        k = g.emit('add', Ref(g.emit('abs', Ref(k))), 0.5)
    g.emit(op, Ref(i), Ref(j), Ref(k), g.r.choice([1, 0.5, -2]))


def reduce(g):
    op = g.r.choice('sum mean amax amin sum mean var std logsumexp prod any all norm count_nonzero'.split())
    i = g.some(True if g.r.random() < 0.85 else None)
    k = g.r.random() < 0.5
    d = g.dimlist(i)
    if op == 'prod':
        d = d[:1]
    if op in ('var', 'std'):
        return g.emit(op, Ref(i), d, g.r.choice([0, 1]), k)
    if op == 'norm':
        return g.emit(op, Ref(i), g.r.choice([1.0, 2.0, 3.0, math.inf, -math.inf, 0.0]), d, k)
    if op == 'count_nonzero':
        return g.emit(op, Ref(i), d)
    if op == 'logsumexp' and (not d):
        d = list(range(g.values[i].dim()))
    if op == 'prod' and (not d):
        k = False
    g.emit(op, Ref(i), d, k)


def extreme(g):
    i = g.some(True if g.r.random() < 0.7 else None)
    g.emit(g.r.choice(['argmax', 'argmin', 'max_dim', 'min_dim']), Ref(i), g.dim(i), g.r.random() < 0.5)


def whole_extreme(g):
    g.emit(g.r.choice(['max', 'min']), Ref(g.some(None)))


def scan(g):
    i = g.some()
    g.emit(g.r.choice(['cumsum', 'softmax', 'log_softmax', 'softmin']), Ref(i), g.dim(i))


def integer_scan(g):
    i = g.some(False)
    g.emit('cumsum', Ref(i), g.dim(i))


def factors(g, n):
    out = []
    while n > 1 and g.r.random() < 0.6:
        ds = [d for d in range(1, n + 1) if n % d == 0]
        d = g.r.choice(ds)
        out.append(d)
        n //= d
    out.append(n)
    g.r.shuffle(out)
    return out


def view(g):
    i = g.some(None)
    x = g.values[i]
    n = x.numel()
    if n == 0:
        s = [0] + [g.size() for _ in range(g.r.randint(0, 2))]
    else:
        s = factors(g, n)
        if g.r.random() < 0.4:
            s.insert(g.r.randint(0, len(s)), 1)
        if g.r.random() < 0.3:
            s[g.r.randrange(len(s))] = -1
    g.emit('view' if x.is_contiguous() and g.r.random() < 0.4 else 'reshape', Ref(i), s)


def permute(g):
    i = g.some(None)
    n = g.values[i].dim()
    d = list(range(n))
    g.r.shuffle(d)
    d = [x - n if g.r.random() < 0.2 else x for x in d]
    g.emit('permute', Ref(i), d)


def transpose(g):
    i = g.some(None, 1)
    g.emit('transpose', Ref(i), g.dim(i), g.dim(i))


def expand(g):
    i = g.some(None)
    s = [g.size() if z == 1 and g.r.random() < 0.7 else -1 if g.r.random() < 0.3 else z for z in g.values[i].shape]
    for _ in range(g.r.randint(0, 2)):
        s.insert(0, g.r.choice([1, 2, 3]))
    g.emit('expand', Ref(i), s)


def unsqueeze(g):
    i = g.some(None)
    n = g.values[i].dim()
    g.emit('unsqueeze', Ref(i), g.r.randint(-n - 1, n))


def squeeze(g):
    i = g.some(None)
    if g.r.random() < 0.8:
        g.emit('squeeze', Ref(i), g.dim(i))
    else:
        g.emit('squeeze_all', Ref(i))


def slice_args(g, i):
    d = g.dim(i)
    z = g.values[i].shape[d]
    a = g.r.randint(-z - 1, z + 1)
    b = g.r.choice([(1 << 63) - 1, g.r.randint(-z - 1, z + 2), z])
    st = g.r.choice([1, 1, 1, 2, 3, z + 1])
    return (d, a, b, st)


def slice_(g):
    i = g.some(None, 1)
    g.emit('slice', Ref(i), *slice_args(g, i))


def select(g):
    i = g.some(None, 1, cond=lambda x: min(x.shape) > 0)
    d = g.dim(i)
    z = g.values[i].shape[d]
    if z == 0:
        raise Skip
    g.emit('select', Ref(i), d, g.r.randint(-z, z - 1))


def narrow(g):
    i = g.some(None, 1)
    d = g.dim(i)
    z = g.values[i].shape[d]
    a = g.r.randint(0, z)
    g.emit('narrow', Ref(i), d, a, g.r.randint(0, z - a))


def diagonal(g):
    i = g.some(None, 2)
    a = g.dim(i)
    b = g.dim(i)
    g.emit('diagonal', Ref(i), g.r.randint(-3, 3), a, b)


def flatten(g):
    i = g.some(None)
    n = g.values[i].dim()
    a = g.r.randint(0, max(0, n - 1))
    b = g.r.randint(a, max(a, n - 1))
    g.emit('flatten', Ref(i), a, b if g.r.random() < 0.5 else -1)


def unflatten(g):
    i = g.some(None, 1)
    d = g.dim(i)
    z = g.values[i].shape[d]
    if z == 0:
        raise Skip
    g.emit('unflatten', Ref(i), d, factors(g, z))


def movedim(g):
    i = g.some(None, 2)
    n = g.values[i].dim()
    k = g.r.randint(1, n)
    g.emit('movedim', Ref(i), g.r.sample(range(n), k), g.r.sample(range(n), k))


def unfold(g):
    i = g.some(None, 1)
    d = g.dim(i)
    z = g.values[i].shape[d]
    if z == 0:
        raise Skip
    g.emit('unfold', Ref(i), d, g.r.randint(1, z), g.r.randint(1, 3))


def as_strided(g):
    i = g.emit('contiguous', Ref(g.some(None, 1, cond=lambda x: x.numel() > 1)))
    n = g.values[i].numel()
    rows, row_stride = g.r.randint(1, max(1, n // 2)), g.r.randint(0, 3)
    columns, column_stride = g.r.randint(1, 4), g.r.randint(0, max(1, n // 4))
    if (rows - 1) * row_stride + (columns - 1) * column_stride >= n:
        raise Skip
    g.emit('as_strided', Ref(i), [rows, columns], [row_stride, column_stride], g.values[i].storage_offset())


def detach(g):
    g.emit('detach', Ref(g.some(None)))


def copy(g):
    g.emit(g.r.choice(['contiguous', 'clone']), Ref(g.some(None)))


def flip(g):
    i = g.some(None)
    g.emit('flip', Ref(i), g.dimlist(i))


def roll(g):
    i = g.some(None)
    n = g.values[i].dim()
    d = g.dimlist(i)
    g.emit('roll', Ref(i), [g.r.randint(-9, 9) for _ in d] if d else [g.r.randint(-9, 9)], d)


def repeat(g):
    i = g.some(None)
    n = g.values[i].dim()
    g.emit('repeat', Ref(i), [g.r.choice([1, 1, 2, 3]) for _ in range(n + g.r.randint(0, 1))])


def pad(g):
    i = g.some(None, 1)
    n = g.r.randint(1, min(4, g.values[i].dim()))
    p = [g.r.choice([0, 1, 2, 3, -1]) for _ in range(2 * n)]
    g.emit('pad', Ref(i), p, g.r.choice([0.0, 1.0, None]))


def cat(g):
    i = g.some(None, 1)
    x = g.values[i]
    d = g.dim(i)
    l = [Ref(i)]
    for _ in range(g.r.randint(0, 3)):
        s = list(x.shape)
        s[d] = g.r.choice([s[d], g.size(), 1])
        dt = x.dtype if g.r.random() < 0.8 else g.r.choice(DTYPES[:9])
        l.append(Ref(g.like(s, dt, 0.7)))
    g.r.shuffle(l)
    g.emit('cat', l, d)


def stack(g):
    i = g.some(None)
    x = g.values[i]
    l = [Ref(i)] + [Ref(g.like(list(x.shape), x.dtype, 0.8)) for _ in range(g.r.randint(0, 3))]
    n = x.dim()
    g.emit('stack', l, g.r.randint(-n - 1, n))


def lists(g):
    i = g.some(None, 1)
    d = g.dim(i)
    z = g.values[i].shape[d]
    k = g.r.random()
    if k < 0.4:
        g.emit('!split', Ref(i), max(1, z // g.r.randint(1, 4)), d)
    elif k < 0.7:
        g.emit('!chunk', Ref(i), g.r.randint(1, 4), d)
    elif z <= 6:
        g.emit('!unbind', Ref(i), d)


def index(g):
    op = g.r.choice('gather index_select take_along_dim scatter scatter_add index_add'.split())
    i = g.some(None if op in ('gather', 'index_select') else True, 1 if g.r.random() < 0.93 else 0)
    x = g.values[i]
    d = g.dim(i)
    s = list(x.shape)
    z = s[d] if s else 1
    if z == 0:
        raise Skip
    if op in ('index_select', 'index_add'):
        n = g.size()
        idx = g.input([n], torch.int64, below=z)
        if op == 'index_select':
            return g.emit(op, Ref(i), d, Ref(idx))
        if s:
            s[d] = n
        elif n != 1:
            raise Skip
        return g.emit(op, Ref(i), d, Ref(idx), Ref(g.like(s, x.dtype)))
    if s:
        if op == 'take_along_dim':
            s[d] = g.size()
        else:
            s = [g.r.randint(0 if g.r.random() < 0.05 else min(1, q), q) for q in s]
            s[d] = g.size() if op != 'scatter' else 1 if s[d] else s[d]
    if math.prod(s) > g.limit:
        raise Skip
    idx = g.input(s, torch.int64, below=z)
    if op == 'gather':
        return g.emit(op, Ref(i), d, Ref(idx))
    if op == 'take_along_dim':
        return g.emit(op, Ref(i), Ref(idx), d)
    if op == 'scatter' and g.r.random() < 0.4:
        return g.emit(op, Ref(i), d, Ref(idx), g.r.choice([0.5, -1.0]))
    g.emit(op, Ref(i), d, Ref(idx), Ref(g.like(s, x.dtype)))


def triangle(g):
    i = g.some(None, 2)
    g.emit(g.r.choice(['tril', 'triu']), Ref(i), g.r.randint(-3, 3))


def sort(g):
    i = g.some(True if g.r.random() < 0.7 else None)
    d = g.dim(i)
    op = g.r.choice(['sort', 'argsort', 'sort', 'sort'])
    if op == 'topk':
        if not g.values[i].dtype.is_floating_point or g.values[i].dim() == 0:
            raise Skip
        return g.emit(op, Ref(i), g.r.randint(0, min(5, g.values[i].shape[d])), d, g.r.random() < 0.5, True)
    g.emit(op, Ref(i), d, g.r.random() < 0.5)


def to_dtype(g):
    i = g.some(None)
    x = g.values[i]
    d = g.r.choice(DTYPES)
    if x.dtype.is_floating_point and (not d.is_floating_point) and (d != torch.bool):
        i = g.emit('clamp', Ref(i), 0.0 if d == torch.uint8 else -50.0, 50.0)
    g.emit('!to', Ref(i), d)


def product(g):
    i = g.some(True, 1, 4)
    x = g.values[i]
    d = x.dtype
    k = x.shape[-1]
    m = g.size()
    op = g.r.choice('matmul linear addmm mm bmm baddbmm mv dot outer addmv'.split())
    if op == 'matmul':
        b = [g.r.choice([1, z]) for z in x.shape[:-2]] if g.r.random() < 0.5 else []
        return g.emit(op, Ref(i), Ref(g.like(b + [k, m] if g.r.random() < 0.85 else [k], d)))
    if op == 'linear':
        return g.emit(op, Ref(i), Ref(g.like([m, k], d)), Ref(g.like([m], d)) if g.r.random() < 0.6 else None)
    if x.dim() == 2 and op in ('mm', 'addmm', 'mv', 'addmv'):
        n = x.shape[0]
        if op == 'mm':
            return g.emit(op, Ref(i), Ref(g.like([k, m], d)))
        if op == 'addmm':
            return g.emit(op, Ref(g.like(g.r.choice([[m], [n, m], [1, m], [n, 1]]), d)), Ref(i), Ref(g.like([k, m], d)))
        if op == 'mv':
            return g.emit(op, Ref(i), Ref(g.like([k], d)))
        return g.emit(op, Ref(g.like([n], d)), Ref(i), Ref(g.like([k], d)))
    if x.dim() == 3:
        b, n = x.shape[:2]
        op = 'bmm' if g.r.random() < 0.5 else 'baddbmm'
        if op == 'bmm':
            return g.emit(op, Ref(i), Ref(g.like([b, k, m], d)))
        return g.emit(op, Ref(g.like(g.r.choice([[b, n, m], [1, n, m], [m], [n, m]]), d)), Ref(i), Ref(g.like([b, k, m], d)))
    if x.dim() == 1:
        return g.emit(g.r.choice(['dot', 'outer']), Ref(i), Ref(g.like([k], d)))


def einsum(g):
    a, b, c, e = [g.size() for _ in range(4)]
    if max(a * b * c, b * c * e, a * e * c) > g.limit:
        raise Skip
    eq, s1, s2 = g.r.choice(
        [
            ('ab,bc->ac', [a, b], [b, c]),
            ('abc,bce->ae', [a, b, c], [b, c, e]),
            ('ab,ab->a', [a, b], [a, b]),
            ('abc,cb->ab', [a, b, c], [c, b]),
            ('a,b->ba', [a], [b]),
            ('abc->cb', [a, b, c], None),
            ('aab->b', [a, a, b], None),
            ('abc,ace->abe', [a, b, c], [a, c, e]),
            ('...b,bc->...c', [a, e, b], [b, c]),
            ('ab,cb->', [a, b], [c, b]),
        ]
    )
    l = [Ref(g.like(s1, g.base))] + ([Ref(g.like(s2, g.base))] if s2 else [])
    g.emit('einsum', eq, l)


def norms(g):
    op = g.r.choice('layer_norm rms_norm group_norm batch_norm instance_norm normalize cosine_similarity layer_norm'.split())
    i = g.some(True, 2 if op not in ('layer_norm', 'rms_norm', 'normalize') else 1)
    x = g.values[i]
    d = x.dtype
    if x.numel() == 0:
        raise Skip
    if op in ('layer_norm', 'rms_norm'):
        n = g.r.randint(1, min(2, x.dim()))
        s = list(x.shape[-n:])
        w = Ref(g.like(s, d)) if g.r.random() < 0.7 else None
        if op == 'rms_norm':
            return g.emit(op, Ref(i), s, w, 1e-05)
        return g.emit(op, Ref(i), s, w, Ref(g.like(s, d)) if w else None, 1e-05)
    if op == 'normalize':
        return g.emit(op, Ref(i), 2.0, g.dim(i), 1e-06)
    if op == 'cosine_similarity':
        return g.emit(op, Ref(i), Ref(g.broadcastable(i, dt=d)), -1, 1e-06)
    c = x.shape[1]
    w = Ref(g.like([c], d)) if g.r.random() < 0.7 else None
    b = Ref(g.like([c], d)) if w else None
    if op == 'group_norm':
        return g.emit(op, Ref(i), g.r.choice([q for q in range(1, c + 1) if c % q == 0]), w, b, 1e-05)
    if op == 'instance_norm':
        if x.dim() < 3:
            raise Skip
        return g.emit(op, Ref(i), w, b, 1e-05)
    if x.numel() // c < 2:
        raise Skip
    if g.r.random() < 0.5:
        return g.emit(op, Ref(i), w, b, None, None, True, 0.1, 1e-05)
    m = g.like([c], d)
    v = g.emit('add', Ref(g.emit('abs', Ref(g.like([c], d)))), 0.5)
    g.emit(op, Ref(i), w, b, Ref(m), Ref(v), False, 0.1, 1e-05)


def conv(g):
    op = g.r.choice(['conv1d', 'conv2d', 'conv2d', 'conv_transpose2d'])
    nd = 1 if op == 'conv1d' else 2
    i = g.some(True, nd + 2, nd + 2, cond=lambda x: x.shape[1] <= 32 and x.shape[1] > 0 and (min(x.shape) > 0))
    x = g.values[i]
    d = x.dtype
    c = x.shape[1]
    if min(x.shape) == 0 or c > 40:
        raise Skip
    gr = g.r.choice([q for q in range(1, c + 1) if c % q == 0])
    k = [g.r.choice([1, 2, 3, 3, 5]) for _ in range(nd)]
    st = [g.r.choice([1, 1, 2, 3])] * nd
    p = [g.r.choice([0, 1, 2]) for _ in range(nd)]
    dl = [g.r.choice([1, 1, 2])] * nd
    o = gr * g.r.choice([1, 2, 3, 4, 8])
    if op == 'conv_transpose2d':
        w = g.like([c, o // gr] + k, d)
        return g.emit(op, Ref(i), Ref(w), Ref(g.like([o], d)) if g.r.random() < 0.5 else None, st, p, [0] * nd, gr, dl)
    w = g.like([o, c // gr] + k, d)
    g.emit(op, Ref(i), Ref(w), Ref(g.like([o], d)) if g.r.random() < 0.5 else None, st, p, dl, gr)


def pool(g):
    i = g.some(True, 4, 4, cond=lambda x: min(x.shape) > 0)
    x = g.values[i]
    if min(x.shape) == 0:
        raise Skip
    k = [g.r.choice([1, 2, 3])] * 2
    st = g.r.choice([[], [1, 1], [2, 2], [3, 2]])
    p = [g.r.choice([0, k[0] // 2])] * 2
    op = g.r.choice(
        ['avg_pool2d', 'max_pool2d', 'adaptive_avg_pool2d', 'upsample_nearest2d', 'upsample_bilinear2d', 'im2col', 'pixel_shuffle']
    )
    if op == 'avg_pool2d':
        return g.emit(op, Ref(i), k, st, p, g.r.random() < 0.3, g.r.random() < 0.5)
    if op == 'max_pool2d':
        return g.emit(op, Ref(i), k, st, p, [g.r.choice([1, 1, 2])] * 2, g.r.random() < 0.3)
    if op == 'im2col':
        return g.emit(op, Ref(i), k, [1, 1], p, [g.r.choice([1, 2])] * 2)
    if op == 'pixel_shuffle':
        if x.shape[1] % 4:
            raise Skip
        return g.emit(op, Ref(i), 2)
    o = [g.r.randint(1, 7), g.r.randint(1, 7)]
    if op == 'upsample_bilinear2d':
        return g.emit(op, Ref(i), o, g.r.random() < 0.5)
    g.emit(op, Ref(i), o)


def attention(g):
    b, h, n, m, e, f = (
        g.r.randint(1, 3),
        g.r.randint(1, 3),
        g.size(),
        g.size(),
        g.r.choice([1, 3, 4, 8, 16, 17, 64]),
        g.r.choice([4, 8, 5]),
    )
    if b * h * max(n * m, n * e, m * e) > g.limit or n == 0 or m == 0:
        raise Skip
    d = g.base
    q = g.like([b, h, n, e], d)
    k = g.like([b, h, m, e], d)
    v = g.like([b, h, m, e if g.r.random() < 0.7 else f], d)
    ca = g.r.random() < 0.3
    mask = None
    if not ca and g.r.random() < 0.5:
        mask = Ref(g.like(g.r.choice([[n, m], [b, 1, n, m], [1, 1, 1, m], [b, h, n, m]]), d))
    g.emit('scaled_dot_product_attention', Ref(q), Ref(k), Ref(v), mask, 0.0, ca, None if g.r.random() < 0.7 else 0.3)


def embedding(g):
    n, e = (g.size(), g.size())
    if not n or not e:
        raise Skip
    w = g.like([n, e], g.base)
    idx = g.input(g.shape(g.r.randint(0, 2)), torch.int64, below=n)
    g.emit('embedding', Ref(w), Ref(idx))


def losses(g):
    i = g.some()
    x = g.values[i]
    op = g.r.choice('mse_loss l1_loss huber_loss smooth_l1_loss binary_cross_entropy_with_logits cross_entropy nll_loss'.split())
    if op in ('cross_entropy', 'nll_loss'):
        if x.dim() not in (2, 3, 4) or x.shape[1] == 0:
            raise Skip
        t = [x.shape[0]] + list(x.shape[2:])
        return g.emit(op, Ref(i), Ref(g.input(t, torch.int64, below=x.shape[1])))
    a = [Ref(i), Ref(g.like(list(x.shape), x.dtype))]
    if op == 'binary_cross_entropy_with_logits':
        a[1] = Ref(g.emit('sigmoid', a[1]))
    if op in ('huber_loss', 'smooth_l1_loss'):
        a.append(0.7)
    g.emit(op, *a)


def glu(g):
    i = g.some(True, 1)
    g.emit('glu', Ref(i), g.dim(i))


def rotary(g):
    i = g.some(True, 2)
    x = g.values[i]
    e = x.shape[-1]
    if e % 2 or not e:
        raise Skip
    h = e // 2
    a = g.emit('slice', Ref(i), -1, 0, h, 1)
    b = g.emit('slice', Ref(i), -1, h, (1 << 63) - 1, 1)
    n = x.shape[-2]
    r = g.emit('cat', [Ref(g.emit('neg', Ref(b))), Ref(a)], -1)
    c = g.like([n, e], x.dtype)
    s = g.like([n, e], x.dtype)
    g.emit('add', Ref(g.emit('mul', Ref(i), Ref(c))), Ref(g.emit('mul', Ref(r), Ref(s))))


def full(g):
    s = g.shape(g.r.randint(0, 3))
    g.emit('full', s, g.r.choice([0.5, 1.0]), g.base, None)


def inplace(g):
    i = g.some(True, cond=lambda x: not x.is_leaf or not x.requires_grad)
    x = g.values[i]
    s = list(x.shape)
    d = x.dtype
    if g.r.random() < 0.5 and x.dim():
        for _ in range(g.r.randint(1, 2)):
            x = g.values[i]
            if not x.dim():
                break
            k = g.r.random()
            o = i
            if k < 0.5:
                i = g.emit('slice', Ref(i), *slice_args(g, i))
            elif k < 0.7 and min(x.shape) > 0:
                i = g.emit('select', Ref(i), 0, g.r.randrange(x.shape[0]))
            elif k < 0.85:
                i = g.emit('transpose', Ref(i), g.dim(i), g.dim(i))
            else:
                i = g.emit('unsqueeze', Ref(i), 0)
        x = g.values[i]
        s = list(x.shape)
    op = g.r.choice(
        """add_ mul_ sub_ div_ copy_ fill_ zero_ relu_ tanh_ sigmoid_ exp_ sin_ masked_fill_ neg_ clamp_ abs_ cos_ index_add_ scatter_
        scatter_add_ addcmul_ addcdiv_ lerp_ sqrt_ log_ pow_ ceil_ floor_ round_ trunc_""".split()
    )
    if op in ('add_', 'mul_', 'sub_', 'copy_'):
        j = g.broadcastable(i, fl=True) if g.r.random() < 0.7 else None
        if j is not None:
            try:
                if list(torch.broadcast_shapes(g.values[j].shape, s)) != s:
                    raise Skip
            except RuntimeError:
                raise Skip
        return g.emit(op, Ref(i), Ref(j) if j is not None else g.r.choice([0.5, 2, -1]))
    if op == 'div_':
        return g.emit(op, Ref(i), g.r.choice([2, 0.5, 3.0]))
    if op == 'fill_':
        return g.emit(op, Ref(i), 0.25)
    if op == 'clamp_':
        return g.emit(op, Ref(i), -0.5, 0.6)
    if op == 'masked_fill_':
        return g.emit(op, Ref(i), Ref(g.like(s, torch.bool)), 0.5)
    if op == 'addcmul_':
        return g.emit(op, Ref(i), Ref(g.like(s, d)), Ref(g.like(s, d)), 0.5)
    if op == 'lerp_':
        return g.emit(op, Ref(i), Ref(g.like(s, d)), 0.25)
    if op in ('index_add_', 'scatter_', 'scatter_add_'):
        if not s or min(s) == 0:
            raise Skip
        dd = g.dim(i)
        z = s[dd]
        if op == 'index_add_':
            n = g.r.randint(1, 4)
            idx = g.input([n], torch.int64, below=z)
            s2 = list(s)
            s2[dd] = n
            return g.emit(op, Ref(i), dd, Ref(idx), Ref(g.like(s2, d)))
        s2 = list(s)
        s2[dd] = 1 if op == 'scatter_' else g.r.randint(1, 4)
        idx = g.input(s2, torch.int64, below=z)
        return g.emit(op, Ref(i), dd, Ref(idx), Ref(g.like(s2, d)) if op != 'scatter_' or g.r.random() < 0.6 else 0.5)
    if op == 'addcdiv_':
        k = g.emit('add', Ref(g.emit('abs', Ref(g.like(s, d)))), 0.5)
        return g.emit(op, Ref(i), Ref(g.like(s, d)), Ref(k), 0.5)
    if op in ('sqrt_', 'log_', 'pow_'):
        g.emit('abs_', Ref(i))
        g.emit('add_', Ref(i), 0.5)
    if op == 'pow_':
        return g.emit(op, Ref(i), g.r.choice([2, 0.5, 3]))
    g.emit(op, Ref(i))


def inplace_whole(g):
    """Of integers and bools."""
    i = g.some(False)
    x = g.values[i]
    if x.dim() and g.r.random() < 0.5:
        i = g.emit('slice', Ref(i), *slice_args(g, i)) if g.r.random() < 0.7 else g.emit('transpose', Ref(i), g.dim(i), g.dim(i))
    s = list(g.values[i].shape)
    op = g.r.choice('add_ mul_ sub_ copy_ fill_ zero_ masked_fill_ clamp_ neg_ abs_'.split())
    if op in ('add_', 'mul_', 'sub_', 'copy_'):
        return g.emit(op, Ref(i), Ref(g.like(s, x.dtype)) if g.r.random() < 0.7 else g.r.choice([1, 2]))
    if op == 'fill_':
        return g.emit(op, Ref(i), 1)
    if op == 'masked_fill_':
        return g.emit(op, Ref(i), Ref(g.like(s, torch.bool)), g.r.choice([0, 1]))
    g.emit(op, Ref(i), *([0, 5] if op == 'clamp_' else []))


def activation(g):
    op = g.r.choice('prelu threshold nan_to_num dropout'.split())
    i = g.some(True, 2 if op == 'prelu' else 0)
    x = g.values[i]
    if op == 'prelu':
        return g.emit(op, Ref(i), Ref(g.like([g.r.choice([1, x.shape[1]])], x.dtype)))
    g.emit(op, Ref(i), *{'threshold': [0.1, -0.5], 'nan_to_num': [0.5, 3.0, g.r.choice([None, -3.0])], 'dropout': [0.3, False]}[op])


def factory(g):
    op = g.r.choice('zeros ones eye arange zeros_like ones_like full_like copy fill'.split())
    d = g.r.choice([g.base, g.base, torch.int64, g.r.choice(DTYPES[:9])])
    if op in ('zeros', 'ones'):
        return g.emit(op, g.shape(g.r.randint(0, 3)), d, None)
    if op == 'eye':
        return g.emit(op, g.r.randint(0, 6), g.r.randint(0, 6), d, None)
    if op == 'arange':
        return g.emit(op, g.r.choice([0, 1, -3]), g.r.randint(1, 20), g.r.choice([1, 2]), d, None)
    i = g.some(None)
    if op == 'copy':
        return g.emit(op, Ref(i), Ref(g.like(list(g.values[i].shape), g.r.choice(DTYPES[:5]))))
    g.emit(op, Ref(i), *([1] if op in ('full_like', 'fill') else []))


def same_form(g):
    op = g.r.choice('expand_as view_as alias isclose'.split())
    i = g.some(None)
    s = list(g.values[i].shape)
    if op == 'expand_as':
        return g.emit(op, Ref(i), Ref(g.like([g.r.choice([1, 2])] + s, g.base)))
    if op == 'view_as':
        return g.emit(op, Ref(i), Ref(g.like(factors(g, math.prod(s)), g.base)))
    if op == 'isclose':
        return g.emit(op, Ref(i), Ref(g.like(s, g.values[i].dtype)), 0.31, 0.1, False)  # no ties of small integers
    g.emit(op, Ref(i))


def data_shape(g):
    i = g.some(None)
    op = g.r.choice('masked_select nonzero unique'.split())
    g.emit(op, Ref(i), *([Ref(g.broadcastable(i, dt=torch.bool))] if op == 'masked_select' else []))


def whole(g):
    """Products and classes of integers, the trace."""
    op = g.r.choice('int_mm one_hot trace'.split())
    if op == 'trace':
        return g.emit(op, Ref(g.some(None, 2, 2)))
    if op == 'one_hot':
        n = g.r.randint(1, 9)
        return g.emit(op, Ref(g.input(g.shape(g.r.randint(0, 2)), torch.int64, below=n)), n)
    n, k, m = g.shape(3)
    g.emit(op, Ref(g.input([n, k], torch.int8)), Ref(g.input([k, m], torch.int8)))


def divergence(g):
    i = g.some()
    x = g.values[i]
    y = Ref(g.like(list(x.shape), x.dtype))
    if g.r.random() < 0.5:
        log = g.r.random() < 0.5
        return g.emit('kl_div', Ref(i), y if log else Ref(g.emit('sigmoid', y)), log)
    g.emit('binary_cross_entropy', Ref(g.emit('sigmoid', Ref(i))), Ref(g.emit('sigmoid', y)))


def sampling(g):
    """Interpolations, grids, pools that come back."""
    op = g.r.choice('grid_sample affine_grid lp_pool2d max_unpool2d upsample_linear1d upsample_trilinear3d upsample_bicubic2d col2im'.split())
    if op == 'affine_grid':
        n, h, w = g.r.randint(1, 3), g.r.randint(1, 6), g.r.randint(1, 6)
        return g.emit(op, Ref(g.like([n, 2, 3], g.base)), [n, 2, h, w], g.r.random() < 0.5)
    d = {'upsample_linear1d': 3, 'upsample_trilinear3d': 5}.get(op, 4)
    i = g.some(True, d, d, cond=lambda x: min(x.shape) > 0)
    x = g.values[i]
    if op.startswith('upsample'):
        return g.emit(op, Ref(i), [g.r.randint(1, 7) for _ in range(d - 2)], g.r.random() < 0.5)
    if op == 'grid_sample':
        grid = g.emit('tanh', Ref(g.like([x.shape[0], g.r.randint(1, 5), g.r.randint(1, 5), 2], x.dtype)))
        modes = (g.r.choice(['bilinear', 'nearest', 'bicubic']), g.r.choice(['zeros', 'border', 'reflection']))
        return g.emit(op, Ref(i), Ref(g.emit('mul', Ref(grid), 1.3)), *modes, g.r.random() < 0.5)
    k = [g.r.choice([1, 2, 3]), g.r.choice([1, 2])]
    if op == 'lp_pool2d':
        i = g.emit('add', Ref(g.emit('abs', Ref(i))), 0.2)
        return g.emit(op, Ref(i), g.r.choice([1.0, 2.0, 3.0]), k, g.r.choice([[], [1, 2]]), g.r.random() < 0.3)
    if op == 'max_unpool2d':
        p = g.emit('max_pool2d_with_indices', Ref(i), k, k, [0, 0], [1, 1], False)
        return g.emit(op, Ref(p), Ref(p + 1), list(x.shape[2:]))
    rest = (k, [1, g.r.choice([1, 2])], [0, g.r.choice([0, k[1] // 2])], [g.r.choice([1, 2]), 1])
    g.emit(op, Ref(g.emit('im2col', Ref(i), *rest)), list(x.shape[2:]), *rest)


def transforms(g):
    op = g.r.choice('fft_fft fft_ifft fft_rfft fft_irfft stft'.split())
    i = g.some(True, 1, 4, dt=g.base if g.base in (torch.float32, torch.float64) else torch.float32)
    x = g.values[i]
    if op == 'stft':
        n = g.r.choice([4, 5, 8])
        i = i if x.dim() == 2 and x.shape[1] >= n else g.input([2, 19], x.dtype)
        return g.emit(op, Ref(i), n, g.r.choice([1, 3]), Ref(g.like([n], x.dtype)) if g.r.random() < 0.6 else None, g.r.random() < 0.5)
    if op != 'fft_rfft':
        i = g.emit('stack', [Ref(i), Ref(g.like(list(x.shape), x.dtype))], -1)
    g.emit(op, Ref(i), g.r.choice([None, None, g.r.randint(1, 9)]), g.r.randrange(x.dim()))


def recurrence(g):
    gates = g.r.choice([1, 3, 4])
    steps, n, h = g.r.randint(1, 6), g.r.randint(1, 5), g.r.choice([1, 2, 3, 5, 8, 17])
    x = Ref(g.like([steps, n, gates * h], g.base))
    b = Ref(g.like([gates * h], g.base)) if g.r.random() < 0.7 else None
    c = Ref(g.like([n, h], g.base)) if gates == 4 else None
    g.emit('_rnn_layer', x, Ref(g.like([gates * h, h], g.base)), b, Ref(g.like([n, h], g.base)), c, gates, g.r.random() < 0.4, True)


def autocast(g):
    """A product in halves amid other values."""
    d = g.r.choice([torch.bfloat16, torch.float16])
    i = g.some(True, 2, 2)
    w = g.like([g.size(), g.values[i].shape[1]], g.values[i].dtype)
    y = g.emit('linear', Ref(g.emit('!to', Ref(i), d)), Ref(g.emit('!to', Ref(w), d)), None)
    g.emit('!to', Ref(y), g.r.choice([torch.float32, g.base]))


def gradient(g):
    """Of a value with a history, which can be differentiated again."""
    i = g.some(True, cond=lambda x: x.requires_grad)
    j = g.some(True, cond=lambda x: x.requires_grad)
    g.emit('!gradient', Ref(i), Ref(j))


def no_grad(g):
    g.emit('!grad', g.r.random() < 0.6)


def scale(g):
    g.emit('!scale', Ref(g.some()))


def graph_break(g):
    g.steps.append(('!break', [], 0))


def branch(g):
    g.emit('!branch', Ref(g.some()))


TABLE = [
    (unary, 14),
    (unary_int, 1),
    (binary, 14),
    (bits, 1),
    (compare, 1),
    (where, 2),
    (masked_fill, 1),
    (clamp, 1),
    (ternary, 2),
    (reduce, 8),
    (extreme, 2),
    (whole_extreme, 1),
    (scan, 3),
    (integer_scan, 1),
    (view, 4),
    (permute, 2),
    (transpose, 2),
    (expand, 2),
    (unsqueeze, 2),
    (squeeze, 1),
    (slice_, 4),
    (select, 2),
    (narrow, 1),
    (diagonal, 1),
    (flatten, 1),
    (unflatten, 1),
    (movedim, 1),
    (unfold, 1),
    (as_strided, 1),
    (detach, 1),
    (copy, 1),
    (flip, 1),
    (roll, 2),
    (repeat, 1),
    (pad, 2),
    (cat, 4),
    (stack, 1),
    (lists, 2),
    (index, 4),
    (triangle, 1),
    (sort, 1),
    (to_dtype, 2),
    (product, 5),
    (einsum, 1),
    (norms, 3),
    (conv, 3),
    (pool, 3),
    (attention, 1),
    (embedding, 1),
    (losses, 2),
    (glu, 1),
    (rotary, 2),
    (full, 1),
    (inplace, 6),
    (inplace_whole, 2),
    (activation, 1),
    (factory, 2),
    (same_form, 2),
    (whole, 1),
    (divergence, 1),
    (sampling, 3),
    (transforms, 1),
    (recurrence, 1),
    (autocast, 1),
]
# In some programs: what cuts graphs or costs more.
RARE = [(data_shape, 1), (gradient, 2), (no_grad, 2), (scale, 1)]


def generate(seed, base=None, wild=False, breaks=0, only=None):
    """Draws program `seed`: random_judge.py says what the rest is."""
    r = random.Random(seed * 7 + 1)
    g = Draw(seed, r.choice([5, 10, 20, 40]), base, wild)
    table = [(f, w) for f, w in TABLE if only is None or f.__name__ in only]
    table += [(f, w) for f, w in RARE if (only is None and r.random() < 0.15) or (only and f.__name__ in only)]
    if breaks:
        table += [(graph_break, breaks), (branch, breaks)]
    fs, ws = zip(*table)
    for _ in range(g.r.randint(1, 3)):
        g.input(g.shape(g.r.choice([0, 1, 2, 2, 3, 3, 4, 4, 5])), g.floating())
    tries = 0
    torch.set_grad_enabled(True)
    while len(g.steps) < g.most_steps and tries < 300:
        tries += 1
        try:
            g.r.choices(fs, ws)[0](g)
        except Skip:
            pass
        except Spoiled:
            raise Skip
        except (IndexError, ValueError, RuntimeError):
            pass  # an operand that the step cannot have
    torch.set_grad_enabled(True)
    step_outs = []
    for op, args, out in g.steps:
        k = out
        while k in g.values and k < g.next and (k == out or k not in {o for _, _, o in g.steps}):
            if k not in g.hidden:
                step_outs.append(k)
            k += 1
    if not step_outs:
        raise Skip
    outs = step_outs[-1:] + [k for k in step_outs[:-1] if g.r.random() < 0.25]
    if g.r.random() < 0.1 and g.inputs:
        outs.append(g.r.randrange(len(g.inputs)))
    g.r.shuffle(outs)
    g.outs = outs[:10]
    try:
        run_torch(g)
    except RuntimeError:
        raise Skip  # what a step that was not kept had done made it possible
    return g
