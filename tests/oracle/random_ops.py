"""tests/oracle/random_ops.py: what PyTorch calls the operators that random_draw.py draws, and a program run by PyTorch."""

import torch
import torch.nn.functional as F

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
]


class Ref:
    """An argument that is value i of the program."""

    def __init__(s, i):
        s.i = i

    def __repr__(s):
        return 'v%d' % s.i


def reduction(f):
    return lambda x, d, k: f(x, dim=tuple(d) if len(d) else tuple(range(x.dim())), keepdim=k)


def dense(v):
    """Of vectors with strides, the gradients of PyTorch's batch_norm read what lies between."""
    return v if v is None else v.contiguous()


def instance_norm(x, w, b, e):
    """PyTorch gets other gradients of one sample where what comes back is channels last."""
    y = F.instance_norm(x, weight=w, bias=b, eps=e)
    if y.requires_grad:
        y.register_hook(lambda g: g.contiguous())
    return y


OPS = {}
for (
    n
) in 'abs acos asin asinh atan ceil cos cosh erf erfc exp exp2 expm1 floor frac isfinite isinf isnan log log10 log1p log2 logical_not neg reciprocal relu round rsqrt sgn sigmoid sign sin sinh sqrt square tan tanh trunc acosh atanh bitwise_not'.split():
    OPS[n] = getattr(torch, n)
for n, f in dict(
    gelu=F.gelu,
    gelu_tanh=lambda x: F.gelu(x, approximate='tanh'),
    hardtanh=F.hardtanh,
    leaky_relu=F.leaky_relu,
    logsigmoid=F.logsigmoid,
    mish=F.mish,
    relu6=F.relu6,
    silu=F.silu,
    softplus=F.softplus,
    elu=F.elu,
    celu=F.celu,
    hardshrink=F.hardshrink,
    hardsigmoid=F.hardsigmoid,
    hardswish=F.hardswish,
    selu=F.selu,
    softshrink=lambda x, l: F.softshrink(x, l) + 0.0,     # which zero PyTorch has depends on the element's place
    softsign=F.softsign,
    tanhshrink=F.tanhshrink,
).items():
    OPS[n] = f
for (
    n
) in 'add atan2 bitwise_and bitwise_or bitwise_xor div eq floor_divide fmod ge gt le logical_and logical_or logical_xor lt maximum minimum mul ne pow remainder sub logaddexp xlogy'.split():
    OPS[n] = getattr(torch, n)
OPS.update(
    dict(
        addcdiv=lambda a, b, c, v: torch.addcdiv(a, b, c, value=v),
        addcmul=lambda a, b, c, v: torch.addcmul(a, b, c, value=v),
        clamp=lambda x, l, h: torch.clamp(x, l, h),
        lerp=torch.lerp,
        masked_fill=torch.masked_fill,
        where=torch.where,
        sum=reduction(torch.sum),
        mean=reduction(torch.mean),
        amax=reduction(torch.amax),
        amin=reduction(torch.amin),
        any=reduction(torch.any),
        all=reduction(torch.all),
        prod=lambda x, d, k: torch.prod(x, d[0], k) if d else torch.prod(x),
        var=lambda x, d, c, k: torch.var(x, dim=tuple(d) if d else None, correction=c, keepdim=k),
        std=lambda x, d, c, k: torch.std(x, dim=tuple(d) if d else None, correction=c, keepdim=k),
        logsumexp=lambda x, d, k: torch.logsumexp(x, tuple(d), k),
        argmax=lambda x, d, k: torch.argmax(x, d, k),
        argmin=lambda x, d, k: torch.argmin(x, d, k),
        max_dim=lambda x, d, k: torch.max(x, d, k),
        min_dim=lambda x, d, k: torch.min(x, d, k),
        max=lambda x: torch.max(x),
        min=lambda x: torch.min(x),
        cumsum=torch.cumsum,
        softmax=torch.softmax,
        log_softmax=torch.log_softmax,
        softmin=F.softmin,
        norm=lambda x, p, d, k: torch.linalg.vector_norm(x, p, dim=tuple(d) if d else None, keepdim=k),
        count_nonzero=lambda x, d: torch.count_nonzero(x, dim=tuple(d) if d else None),
        nan_to_num=torch.nan_to_num,
        cosine_similarity=lambda a, b, d, e: F.cosine_similarity(a, b, d, e),
        normalize=lambda x, p, d, e: F.normalize(x, p, d, e),
        mm=torch.mm,
        bmm=torch.bmm,
        matmul=torch.matmul,
        linear=F.linear,
        addmm=torch.addmm,
        baddbmm=torch.baddbmm,
        mv=torch.mv,
        dot=torch.dot,
        outer=torch.outer,
        addmv=torch.addmv,
        einsum=lambda e, l: torch.einsum(e, *l),
        trace=torch.trace,
        layer_norm=lambda x, s, w, b, e: F.layer_norm(x, s, w, b, e),
        rms_norm=lambda x, s, w, e: F.rms_norm(x, s, w, e),
        group_norm=lambda x, g, w, b, e: F.group_norm(x, g, w, b, e),
        instance_norm=instance_norm,
        batch_norm=lambda x, w, b, m, v, t, mo, e: F.batch_norm(x, *map(dense, (m, v, w, b)), t, mo, e),
        conv1d=lambda x, w, b, s, p, d, g: F.conv1d(x, w, b, s, p, d, g),
        conv2d=lambda x, w, b, s, p, d, g: F.conv2d(x, w, b, s, p, d, g),
        conv_transpose2d=lambda x, w, b, s, p, op, g, d: F.conv_transpose2d(x, w, b, s, p, op, g, d),
        avg_pool2d=lambda x, k, s, p, c, i: F.avg_pool2d(x, k, s or None, p, c, i),
        max_pool2d=lambda x, k, s, p, d, c: F.max_pool2d(x, k, s or None, p, d, c),
        adaptive_avg_pool2d=lambda x, o: F.adaptive_avg_pool2d(x, o),
        glu=F.glu,
        prelu=F.prelu,
        threshold=lambda x, t, v: F.threshold(x, t, v),
        pixel_shuffle=F.pixel_shuffle,
        upsample_nearest2d=lambda x, o: F.interpolate(x, size=tuple(o)),
        upsample_bilinear2d=lambda x, o, a: F.interpolate(x, size=tuple(o), mode='bilinear', align_corners=a),
        pad=lambda x, p, v: F.pad(x, p, value=v),
        scaled_dot_product_attention=lambda q, k, v, m, p, c, s: F.scaled_dot_product_attention(q, k, v, m, p, c, scale=s),
        embedding=lambda w, i: F.embedding(i, w),
        one_hot=lambda x, n: F.one_hot(x, n),
        mse_loss=F.mse_loss,
        l1_loss=F.l1_loss,
        cross_entropy=F.cross_entropy,
        nll_loss=F.nll_loss,
        huber_loss=lambda a, b, d: F.huber_loss(a, b, delta=d),
        smooth_l1_loss=lambda a, b, d: F.smooth_l1_loss(a, b, beta=d),
        binary_cross_entropy_with_logits=F.binary_cross_entropy_with_logits,
        contiguous=lambda x: x.contiguous(),
        detach=lambda x: x.detach(),
        diagonal=torch.diagonal,
        expand=lambda x, s: x.expand(s),
        flatten=torch.flatten,
        narrow=torch.narrow,
        permute=lambda x, d: x.permute(d),
        reshape=lambda x, s: x.reshape(s),
        select=torch.select,
        slice=lambda x, d, s, e, st: torch.ops.aten.slice.Tensor(x, d, s, e, st),
        squeeze=torch.squeeze,
        squeeze_all=torch.squeeze,
        t=torch.t,
        transpose=torch.transpose,
        unflatten=lambda x, d, s: x.unflatten(d, s),
        unsqueeze=torch.unsqueeze,
        view=lambda x, s: x.view(s),
        movedim=lambda x, a, b: torch.movedim(x, tuple(a), tuple(b)),
        unfold=lambda x, d, s, st: x.unfold(d, s, st),
        as_strided=lambda x, s, st, o: torch.as_strided(x, s, st, o),
        argsort=lambda x, d, de: torch.argsort(x, dim=d, descending=de, stable=True),
        cat=lambda l, d: torch.cat(l, d),
        stack=lambda l, d: torch.stack(l, d),
        clone=lambda x: x.clone(),
        flip=lambda x, d: torch.flip(x, d),
        gather=torch.gather,
        index_add=torch.index_add,
        index_select=torch.index_select,
        repeat=lambda x, r: x.repeat(r),
        roll=lambda x, s, d: torch.roll(x, s, d),
        scatter=torch.scatter,
        scatter_add=torch.scatter_add,
        sort=lambda x, d, de: torch.sort(x, dim=d, descending=de, stable=True),
        take_along_dim=torch.take_along_dim,
        _unused=lambda x, d: x.to(d),
        topk=lambda x, k, d, l, s: torch.topk(x, k, d, l, s),
        tril=torch.tril,
        triu=torch.triu,
        im2col=lambda x, k, d, p, s: F.unfold(x, k, d, p, s),
        zeros_like=torch.zeros_like,
        ones_like=torch.ones_like,
        full_like=lambda x, v: torch.full_like(x, v),
        full=lambda s, v, d, _: torch.full(s, v, dtype=d),
        arange=lambda s, e, st, d, _: torch.arange(s, e, st, dtype=d),
    )
)


def transform(f):
    """Of complex numbers that are pairs."""

    def run(x, *a):
        r = f(x if f is torch.fft.rfft else torch.view_as_complex(x.contiguous()), *a)
        r = torch.view_as_real(r) if r.is_complex() else r
        return r.contiguous()           # strides are those of the library that PyTorch was built with

    return run


def stft(x, n, hop, window, onesided):
    window = torch.ones(n, dtype=x.dtype) if window is None else window
    return torch.view_as_real(torch.stft(x, n, hop, window.shape[0], window, center=False, onesided=onesided, return_complex=True))


def recurrent(x, w, b, h, c, gates, reverse, train):
    """The steps of a layer of LSTM, GRU or RNN; its results that only its gradient needs are left out."""
    x = x.contiguous()                  # a product, as layers have it: the state is row major
    steps, hidden, ys = x.shape[0], w.shape[1], {}
    for t in reversed(range(steps)) if reverse else range(steps):
        i, s = x[t].split(hidden, -1), F.linear(h, w, b).split(hidden, -1)
        if gates == 4:
            c = torch.sigmoid(i[1] + s[1]) * c + torch.sigmoid(i[0] + s[0]) * torch.tanh(i[2] + s[2])
            h = torch.sigmoid(i[3] + s[3]) * torch.tanh(c)
        elif gates == 3:
            n = torch.tanh(i[2] + torch.sigmoid(i[0] + s[0]) * s[2])
            h = n + torch.sigmoid(i[1] + s[1]) * (h - n)
        else:
            h = torch.tanh(i[0] + s[0])
        ys[t] = h
    return [torch.stack([ys[t] for t in range(steps)])] + ([c] if gates == 4 else [])


def gradient(y, x):
    r = torch.autograd.grad(y.sum(), x, create_graph=True, allow_unused=True)[0]
    return torch.zeros_like(x) if r is None else r


def grad_mode(on):
    torch.set_grad_enabled(on)
    return ()


OPS.update(
    zeros=lambda s, d, _: torch.zeros(s, dtype=d),
    ones=lambda s, d, _: torch.ones(s, dtype=d),
    eye=lambda n, m, d, _: torch.eye(n, m, dtype=d),
    copy=lambda x, y: torch.ops.aten.copy(x, y).clone(),    # the gaps of x are no values
    fill=torch.fill,
    alias=torch.ops.aten.alias,
    expand_as=lambda x, y: x.expand_as(y),
    view_as=lambda x, y: x.view_as(y),
    isclose=lambda a, b, r, t, n: torch.isclose(a, b, r, t, n),
    dropout=F.dropout,
    masked_select=torch.masked_select,
    nonzero=torch.nonzero,
    unique=torch.unique,
    int_mm=lambda a, b: a.int() @ b.int(),
    kl_div=lambda x, y, log: F.kl_div(x, y, log_target=log),
    binary_cross_entropy=F.binary_cross_entropy,
    affine_grid=F.affine_grid,
    grid_sample=F.grid_sample,
    col2im=lambda x, o, k, d, p, s: F.fold(x, o, k, d, p, s),
    lp_pool2d=lambda x, n, k, s, c: F.lp_pool2d(x, n, k, s or None, c),
    max_pool2d_with_indices=lambda x, k, s, p, d, c: F.max_pool2d_with_indices(x, k, s or None, p, d, c),
    max_unpool2d=torch.ops.aten.max_unpool2d,
    upsample_linear1d=lambda x, o, a: F.interpolate(x, o, mode='linear', align_corners=a),
    upsample_trilinear3d=lambda x, o, a: F.interpolate(x, o, mode='trilinear', align_corners=a),
    upsample_bicubic2d=lambda x, o, a: F.interpolate(x, o, mode='bicubic', align_corners=a),
    fft_fft=transform(torch.fft.fft),
    fft_ifft=transform(torch.fft.ifft),
    fft_rfft=transform(torch.fft.rfft),
    fft_irfft=transform(torch.fft.irfft),
    stft=stft,
    _rnn_layer=recurrent,
)
OPS['!to'] = lambda x, d: x.to(d)
OPS['!gradient'] = gradient
OPS['!grad'] = grad_mode
OPS['!scale'] = lambda x: x * x.double().sum().tanh().item()
OPS['!split'] = torch.split
OPS['!chunk'] = torch.chunk
OPS['!unbind'] = torch.unbind
OPS['!break'] = lambda: ()
OPS['!branch'] = lambda x: torch.sin(x) if (x.double().sum() > 0).item() else torch.cos(x)
for (
    n
) in 'abs add addcdiv addcmul ceil clamp copy cos div exp fill floor index_add lerp log masked_fill mul neg pow relu round scatter scatter_add sigmoid sin sqrt sub tanh trunc zero'.split():
    f = getattr(torch.Tensor, n + '_')
    OPS[n + '_'] = (lambda f: lambda *a: f(*a))(f)
OPS['addcdiv_'] = lambda a, b, c, v: a.addcdiv_(b, c, value=v)
OPS['addcmul_'] = lambda a, b, c, v: a.addcmul_(b, c, value=v)
FIRST_RESULT = 64


def resolve(a, vs):
    if isinstance(a, Ref):
        return vs[a.i]
    if isinstance(a, list):
        return [resolve(x, vs) for x in a]
    return a


def make_inputs(g, to):
    """Leaves, what stands for them in the program, the views that are its inputs."""
    leaves = []
    bases = []
    for d, grad, nonleaf in g.bases:
        x = d.clone()
        if to is not None and x.dtype.is_floating_point:
            x = x.to(to)
        x.requires_grad_(grad)
        leaves.append(x)
        bases.append(x.clone() if nonleaf else x)
    ins = [bases[b].as_strided(s, st, o) for b, s, st, o in g.inputs]
    return (leaves, bases, ins)


def widen(v, to):
    """An argument that is a dtype, where all are to be `to`."""
    return to if to is not None and isinstance(v, torch.dtype) and v.is_floating_point else v


# What rounds nothing: elements are moved, chosen or compared.
EXACT = set(
    """abs ceil floor round trunc relu neg sign sgn isfinite isinf isnan logical_not bitwise_not hardtanh relu6 threshold eq ge gt le lt ne
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor maximum minimum clamp where masked_fill amax amin any all argmax
    argmin max_dim min_dim max min count_nonzero nan_to_num max_pool2d pixel_shuffle upsample_nearest2d pad embedding one_hot contiguous
    detach clone flip gather index_select repeat roll scatter sort argsort topk take_along_dim tril triu im2col zeros_like ones_like
    full_like full arange cat stack unique nonzero masked_select zeros ones eye !pad !mask !nonzero !unique max_unpool2d isclose""".split()
)
# Each element by itself: equal arguments give equal results, whoever computes them.
ALONE = set(
    """acos asin asinh atan cos cosh erf erfc exp exp2 expm1 frac log log10 log1p log2 reciprocal rsqrt sigmoid sin sinh sqrt square tan
    tanh acosh atanh gelu gelu_tanh leaky_relu logsigmoid mish silu softplus elu celu hardshrink hardsigmoid hardswish selu softshrink
    softsign tanhshrink add sub mul div atan2 fmod remainder pow floor_divide logaddexp xlogy addcdiv addcmul lerp !to prelu""".split()
)


# Results less a mean: it has roundings as if the arguments were others.
CENTRED = set('layer_norm group_norm instance_norm batch_norm'.split())
UP = {9: 1, 10: -1}         # by the seed: all up or all down, over or below what is rounded next


def shaken(x, op, dtype, draw):
    """x as another order of operations and other roundings would have given it: some units in the last place of dtype away."""
    if not x.dtype.is_floating_point or op in EXACT or not x.numel():
        return x
    if op in ALONE:  # by its bits
        bits = x.detach().double().contiguous().view(torch.int64) * 0x5851F42D4C957F2D + draw.initial_seed() * 7919
        u = ((bits >> 20) & 0xFFFFF).double() / 0x80000 - 1
        u = UP[draw.initial_seed()] * u.abs() if draw.initial_seed() in UP else u
        return x * (1 + 4 * torch.finfo(dtype).eps * u).to(x.dtype)
    u = torch.rand(x.shape, generator=draw, dtype=torch.float64) * 2 - 1
    around = x.detach().double().square().mean().sqrt()  # sums may have lost what their terms had
    if draw.initial_seed() % 2:  # or cancel to nothing
        return x * (x.abs() > 4 * torch.finfo(dtype).eps * around) * (1 + 4 * torch.finfo(dtype).eps * u).to(x.dtype)
    return x * (1 + 4 * torch.finfo(dtype).eps * u).to(x.dtype) + (torch.finfo(dtype).eps * around * u.flip(0 if u.dim() else [])).to(x.dtype)


def run_torch(g, to=None, draw=None):
    """The leaves, the bases and the results. to: a dtype for all floating values; draw: with each new result shaken by it."""
    leaves, bases, ins = make_inputs(g, to)
    vs = {i: x for i, x in enumerate(ins)}
    torch.set_grad_enabled(True)
    for op, args, out in g.steps:
        a = resolve(args, vs)
        a = [widen(x, to) for x in a]
        known = {x.untyped_storage().data_ptr() for x in vs.values()} if draw else ()
        if draw and op in CENTRED:
            u = torch.rand(a[0].shape, generator=draw, dtype=torch.float64) * 2 - 1
            a[0] = a[0] * (1 + 2 * torch.finfo(g.values[out].dtype).eps * u).to(a[0].dtype)
        r = OPS[op](*a)
        for j, x in enumerate([r] if isinstance(r, torch.Tensor) else r):
            if draw and x.untyped_storage().data_ptr() not in known:
                x = shaken(x, op, g.values[out + j].dtype, draw)
            vs[out + j] = x
    torch.set_grad_enabled(True)
    return (leaves, bases, [vs[i] for i in g.outs])
