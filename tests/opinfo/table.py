"""tests/opinfo/table.py: which of PyTorch's OpInfo entries each operator of dync has, and how their arguments become those of its schema.

An entry is a Python function from a sample's (input, *args, **kwargs) to the arguments of dync's row; a form that the row does not
have is refused by `only`, and counted. Without an entry the arguments are taken as they come."""
import glob
import math
import os
import re
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
CPU = 0


class Row:
    """A row of the operator table, src/op/ops_*.def.h."""

    def __init__(self, name, kind, schema, outputs, flags, functional):
        self.name, self.kind, self.outputs = name, kind, outputs
        self.params = [p.split() for p in schema.strip('()').split(', ') if p]
        self.private, self.random = 'DYNC__OP_PRIVATE' in flags, 'DYNC__OP_RANDOM' in flags
        self.differentiable = 'DYNC__OP_NONDIFF' not in flags
        self.functional = functional


def rows():
    files = sorted(glob.glob(os.path.join(HERE, '../../src/op/ops_*.def.h')))
    text = ''.join(open(f).read() for f in files).replace('\\\n', ' ')
    string = r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*'
    row = re.compile(r'X\((\w+),\s*([A-Z]+),\s*(%s),\s*(\d+),((?:\s*\w+,){5})\s*(%s),\s*([^,]+),\s*(\S+),' % (string, string))
    out = {}
    for name, kind, schema, n, _, _, flags, functional in row.findall(text):
        schema = ''.join(re.findall(r'"([^"]*)"', schema))
        out[name] = Row(name, kind, schema, int(n), flags, functional.replace('DYNC__OP_', '') if functional != '-1' else None)
    return out


class Refused(Exception):
    """A form of a sample that the row does not have."""


def only(condition, what):
    if not condition:
        raise Refused(what)


def tensors(*args):
    return args


def binary(a, b, alpha=1, rounding_mode=None):
    only(alpha == 1, 'alpha')
    only(rounding_mode is None, 'rounding_mode')
    return a, b


def swapped(a, b, alpha=1):
    only(alpha == 1, 'alpha')
    return b, a


def unary(x):
    return x,


def dims_of(dim):
    return [] if dim is None else list(dim) if isinstance(dim, (tuple, list)) else [dim]


def reduction(x, dim=None, keepdim=False, dtype=None):
    only(dtype is None, 'dtype')
    if isinstance(dim, (tuple, list)) and len(dim) == 0 and x.dim():
        only(False, 'dim=() of one that takes it as no dims')
    return x, dims_of(dim), keepdim


def sums(x, dim=None, keepdim=False, dtype=None):         # () is every dim
    only(dtype is None, 'dtype')
    return x, dims_of(dim), keepdim


def one_dim(x, dim=None, keepdim=False):
    only(dim is not None, 'no dim')
    return x, dim, keepdim


def along(x, dim, dtype=None):
    only(dtype is None, 'dtype')
    return x, dim


def variance(x, dim=None, unbiased=None, keepdim=False, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    only(correction == int(correction), 'correction that is no integer')
    return x, dims_of(dim), int(correction), keepdim


def norm(x, p='fro', dim=None, keepdim=False, dtype=None):
    only(dtype is None, 'dtype')
    only(p != 'nuc', 'nuclear norm')
    only(p != 'fro' or dim is None or len(dims_of(dim)) < 3, 'fro of many dims')
    return x, 2.0 if p in ('fro', None) else p, dims_of(dim), keepdim


def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    only(dtype is None, 'dtype')
    return x, ord, dims_of(dim), keepdim


def conv(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    only(not isinstance(padding, str), 'padding by name')
    return x, w, bias, dims_of(stride), dims_of(padding), dims_of(dilation), groups


def conv_transpose(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return x, w, bias, dims_of(stride), dims_of(padding), dims_of(output_padding), groups, dims_of(dilation)


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    only(divisor_override is None, 'divisor_override')
    return x, dims_of(kernel_size), dims_of(stride), dims_of(padding), ceil_mode, count_include_pad


def max_pool2d(want_indices):
    def run(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        only(return_indices == want_indices, 'return_indices')
        return x, dims_of(kernel_size), dims_of(stride), dims_of(padding), dims_of(dilation), ceil_mode
    return run


def loss(x, target, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None):
    only(weight is None and pos_weight is None, 'weight')
    only(reduction == 'mean', 'reduction')
    return x, target


def class_loss(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0):
    only(ignore_index == -100, 'ignore_index')
    only(label_smoothing == 0.0, 'label_smoothing')
    return loss(x, target, weight, reduction=reduction)


def smooth_l1(x, target, reduction='mean', beta=1.0):
    return *loss(x, target, reduction=reduction), beta


def huber(x, target, reduction='mean', delta=1.0, weight=None):
    return *loss(x, target, weight, reduction=reduction), delta


def kl_div(x, target, reduction='mean', log_target=False):
    return *loss(x, target, reduction=reduction), log_target


def interpolate(x, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None):
    only(x.dim() == 4, 'not 4 dims')
    only(scale_factor is None, 'scale_factor')
    return x, dims_of(size) * (2 if isinstance(size, int) else 1)


def pad(x, pad, mode='constant', value=None):
    only(mode == 'constant', 'mode')
    return x, list(pad), value


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    only(not enable_gqa, 'enable_gqa')
    return q, k, v, attn_mask, dropout_p, is_causal, scale


def flash(q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    only(dropout_p == 0.0, 'dropout')
    return q, k, v, attn_mask, is_causal, scale if scale is not None else 1 / math.sqrt(q.shape[-1])


def sort(x, dim=-1, descending=False, stable=None):
    only(not isinstance(dim, bool), 'descending in the place of dim')
    return x, dim, descending


def argsort(x, dim=-1, descending=False, stable=None):
    return x, dim, descending


def repeat(x, *sizes):
    return x, list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list, torch.Size)) else list(sizes)


def scatter(x, dim, index, src=None, value=None, reduce=None):
    only(reduce is None, 'reduce')
    return x, dim, index, value if src is None else src


def embedding(weight, indices, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    only(padding_idx is None and max_norm is None and not scale_grad_by_freq and not sparse, 'padding_idx, max_norm, ...')
    return weight, indices


def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return x, weight, bias, mean, var, training, momentum, eps


def instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    only(running_mean is None and running_var is None, 'running statistics')
    return x, weight, bias, eps


def gelu(kind):
    def run(x, approximate='none'):
        only(approximate == kind, 'approximate=' + approximate)
        return x,
    return run


def softplus(x, beta=1, threshold=20):
    only(beta == 1 and threshold == 20, 'beta, threshold')
    return x,


def hard(x, inplace=False):
    only(not inplace, 'inplace')
    return x,


def factory(*size, dtype=None, device=None, requires_grad=False, **rest):
    only(not rest, 'layouts')
    return repeat(None, *size)[1], dtype or torch.float32, CPU


def likes(x, *value, dtype=None, device=None, layout=None, memory_format=torch.preserve_format, requires_grad=False, pin_memory=False, fill_value=None):
    only(dtype in (None, x.dtype), 'dtype')
    only(memory_format == torch.preserve_format, 'memory_format')
    return (x,) + value + ((fill_value,) if fill_value is not None else ())


def arange(start, end=None, step=1, dtype=None, device=None, requires_grad=False):
    start, end = (0, start) if end is None else (start, end)
    whole = all(isinstance(v, int) for v in (start, end, step))
    return start, end, step, dtype or (torch.int64 if whole else torch.float32), CPU


def full(size, fill_value, dtype=None, device=None):
    only(dtype is not None, 'dtype of a number')
    return list(size), fill_value, dtype, CPU


def eye(n, m=None, dtype=None, device=None, layout=None, requires_grad=False):
    return n, n if m is None else m, dtype or torch.float32, CPU


def to_dtype(dtype):
    def run(x, memory_format=torch.preserve_format, copy=False):
        only(memory_format == torch.preserve_format, 'memory_format')
        return x, dtype
    return run


def to(x, *args, copy=False, memory_format=torch.preserve_format, **kwargs):
    only(memory_format == torch.preserve_format and not kwargs, 'memory_format')
    only(args and isinstance(args[0], torch.dtype), 'device or other')
    return x, args[0]


def take_along_dim(x, indices, dim=None):
    only(dim is not None, 'no dim')
    return x, indices, dim


def einsum(operands, equation):
    return equation, list(operands)


def whole(fn):
    """Arguments that PyTorch takes as a list or one by one."""
    def run(x, *sizes, **kwargs):
        sizes = sizes or tuple(kwargs.values())
        return x, list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list, torch.Size)) else list(sizes)
    return run


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return a, b, rtol, atol, equal_nan


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    only(not return_inverse and not return_counts and dim is None, 'inverse, counts, dim')
    return x,


def clamp(x, min=None, max=None):
    return x, min, max


def addmm(a, b, c, beta=1, alpha=1):
    only(beta == 1 and alpha == 1, 'alpha, beta')
    return a, b, c


def where(x, condition, other):
    return condition, x, other


def native_batch_norm(x, weight, bias, mean, var, training, momentum, eps):
    only(False, 'the functional form has other results')


def index_add(x, dim, index, source, alpha=1):
    only(alpha == 1, 'alpha')
    return x, dim, index, source


def squeeze(x, *dim):
    only(len(dim) == 1 and isinstance(dim[0], int), 'not one dim')
    return x, dim[0]


def squeeze_all(x, *dim):
    only(not dim, 'a dim')
    return x,


def contiguous(x, memory_format=torch.contiguous_format):
    only(memory_format == torch.contiguous_format, 'memory_format')
    return x,


def clone(x, memory_format=torch.preserve_format):
    only(memory_format == torch.preserve_format, 'memory_format')
    return x,


def viewed(x, *size):
    only(not (len(size) == 1 and isinstance(size[0], torch.dtype)), 'view of a dtype')
    return whole(None)(x, *size)


def sum_of(x, dim=None):
    return x, dims_of(dim)


def dropout(x, p=0.5, training=True, inplace=False):
    only(not inplace, 'inplace')
    return x, p, training


def round_(x, decimals=0):
    only(decimals == 0, 'decimals')
    return x,


def prelu(x, weight):
    return x, weight


def nonzero(x, as_tuple=False):
    only(not as_tuple, 'as_tuple')
    return x,


def adaptive_avg_pool2d(x, output_size):
    size = dims_of(output_size) * (1 if isinstance(output_size, (tuple, list)) else 2)
    only(None not in size, 'None as a size')
    return x, size


def narrow(x, dim, start, length):
    only(not isinstance(start, torch.Tensor), 'start as a tensor')
    return x, dim, start, length


def as_strided(x, size, stride, storage_offset=None):
    return x, list(size), list(stride), x.storage_offset() if storage_offset is None else storage_offset


def slice_(x, dim=0, start=None, end=None, step=1):
    return x, dim, 0 if start is None else start, (1 << 63) - 1 if end is None else end, step


def diagonal(x, offset=0, dim1=0, dim2=1):
    return x, offset, dim1, dim2


def linalg_diagonal(x, offset=0, dim1=-2, dim2=-1):
    return x, offset, dim1, dim2


def axes(fn):
    return lambda x: fn(x)


def fill_(x, value):
    return x, value


def norm_of(x, p=2.0, dim=1, eps=1e-12):
    return x, p, dim, eps


def uniform_(x, a=0.0, b=1.0):
    return x, a, b


# dync's row: [(OpInfo name or name/variant, function)]. Rows that are not here: the OpInfo of the same name, arguments as they come.
TABLE = {
    'add': [('add', binary), ('__radd__', swapped)], 'sub': [('sub', binary), ('__rsub__', swapped), ('rsub', swapped)],
    'mul': [('mul', binary), ('__rmul__', swapped)], 'div': [('div/no_rounding_mode', binary), ('true_divide', binary), ('__rdiv__', swapped)],
    'pow': [('pow', binary), ('__rpow__', swapped)], 'remainder': [('remainder', binary), ('__rmod__', swapped)],
    'bitwise_and': [('bitwise_and', binary), ('__rand__', swapped)], 'bitwise_or': [('bitwise_or', binary), ('__ror__', swapped)],
    'bitwise_xor': [('bitwise_xor', binary), ('__rxor__', swapped)],
    'maximum': [('maximum', binary), ('max/binary', binary)], 'minimum': [('minimum', binary), ('min/binary', binary)],
    'addcdiv': [('addcdiv', lambda x, a, b, value=1: (x, a, b, value))], 'addcmul': [('addcmul', lambda x, a, b, value=1: (x, a, b, value))],
    'clamp': [('clamp', clamp), ('clamp_min', lambda x, v: (x, v, None)), ('clamp_max', lambda x, v: (x, None, v))],
    'elu': [('nn.functional.elu', lambda x, alpha=1.0: (x, alpha))], 'celu': [('nn.functional.celu', lambda x, alpha=1.0: (x, alpha))],
    'gelu': [('nn.functional.gelu', gelu('none'))], 'gelu_tanh': [('nn.functional.gelu', gelu('tanh'))],
    'hardtanh': [('nn.functional.hardtanh', lambda x, min_val=-1.0, max_val=1.0: (x, min_val, max_val))],
    'leaky_relu': [('nn.functional.leaky_relu', lambda x, negative_slope=0.01: (x, negative_slope))],
    'relu': [('nn.functional.relu', hard)], 'softplus': [('nn.functional.softplus', softplus)],
    'round': [('round', round_), ('round/decimals_0', round_)],
    'arange': [('arange', arange)], 'empty': [('empty', factory)], 'ones': [('ones', factory)], 'zeros': [('zeros', factory)],
    'randn': [('randn', factory)], 'eye': [('eye', eye)], 'full': [('full', full)], 'fill': [('fill', fill_)], 'full_like': [('full_like', likes)],
    'empty_like': [('empty_like', likes)], 'ones_like': [('ones_like', likes)], 'zeros_like': [('zeros_like', likes)],
    'rand_like': [('rand_like', likes)], 'randn_like': [('randn_like', likes)], 'uniform': [],
    'uniform_': [('uniform', uniform_)], 'normal': [], 'normal_': [('normal/in_place', lambda x, m=0.0, s=1.0: (x, m, s))],
    'all': [('all', sums)], 'any': [('any', sums)], 'amax': [('amax', sums)], 'amin': [('amin', sums)], 'sum': [('sum', sums)], 'mean': [('mean', sums)],
    'prod': [('prod', sums)], 'argmax': [('argmax', one_dim)], 'argmin': [('argmin', one_dim)], 'cumsum': [('cumsum', along)],
    'logsumexp': [('logsumexp', sums)], 'softmax': [('softmax', along)], 'log_softmax': [('log_softmax', along)], 'softmin': [('nn.functional.softmin', along)],
    'max': [('max/reduction_no_dim', unary)], 'min': [('min/reduction_no_dim', unary)],
    'max_dim': [('max/reduction_with_dim', one_dim)], 'min_dim': [('min/reduction_with_dim', one_dim)],
    'norm': [('norm', norm), ('norm/fro', norm), ('norm/inf', norm), ('linalg.vector_norm', vector_norm)],
    'std': [('std', variance), ('std/unbiased', variance)], 'var': [('var', variance), ('var/unbiased', variance)],
    'addmm': [('addmm', addmm)], 'addmv': [('addmv', addmm)], 'baddbmm': [('baddbmm', addmm)], 'dot': [('dot', binary), ('vdot', binary)],
    'matmul': [('matmul', binary), ('__rmatmul__', swapped)], 'linear': [('nn.functional.linear', lambda x, w, b=None: (x, w, b))],
    'bernoulli': [('bernoulli', unary)], 'count_nonzero': [('count_nonzero', sum_of)], 'isclose': [('isclose', isclose)],
    'nan_to_num': [('nan_to_num', lambda x, nan=None, posinf=None, neginf=None: (x, nan, posinf, neginf))],
    'cosine_similarity': [('nn.functional.cosine_similarity', lambda a, b, dim=1, eps=1e-8: (a, b, dim, eps))],
    'normalize': [('nn.functional.normalize', norm_of)], 'einsum': [('einsum', einsum)],
    'adaptive_avg_pool2d': [('nn.functional.adaptive_avg_pool2d', adaptive_avg_pool2d)],
    'avg_pool2d': [('nn.functional.avg_pool2d', avg_pool2d)],
    'batch_norm': [('nn.functional.batch_norm', batch_norm), ('nn.functional.batch_norm/without_cudnn', batch_norm)],
    'conv1d': [('nn.functional.conv1d', conv)], 'conv2d': [('nn.functional.conv2d', conv)],
    'conv_transpose2d': [('nn.functional.conv_transpose2d', conv_transpose)],
    'dropout': [('nn.functional.dropout', dropout)], 'embedding': [('nn.functional.embedding', embedding)],
    'layer_norm': [('nn.functional.layer_norm', lambda x, shape, weight=None, bias=None, eps=1e-5: (x, dims_of(shape), weight, bias, eps))],
    'native_layer_norm': [('native_layer_norm', lambda x, shape, w, b, eps: (x, dims_of(shape), w, b, eps))],
    'max_pool2d': [('nn.functional.max_pool2d', max_pool2d(False))], 'max_pool2d_with_indices': [('nn.functional.max_pool2d', max_pool2d(True))],
    'one_hot': [('nn.functional.one_hot', lambda x, num_classes=-1: (x, num_classes))],
    '_scaled_dot_product_flash_attention_for_cpu': [('torch.ops.aten._scaled_dot_product_flash_attention_for_cpu', flash)],
    'glu': [('nn.functional.glu', lambda x, dim=-1: (x, dim))],
    'hardshrink': [('nn.functional.hardshrink', lambda x, lambd=0.5: (x, lambd))], 'softshrink': [('nn.functional.softshrink', lambda x, lambd=0.5: (x, lambd))],
    'group_norm': [('nn.functional.group_norm', lambda x, n, weight=None, bias=None, eps=1e-5: (x, n, weight, bias, eps))],
    'instance_norm': [('nn.functional.instance_norm', instance_norm)],
    'rms_norm': [('nn.functional.rms_norm', lambda x, shape, weight=None, eps=None: (x, dims_of(shape), weight, eps))],
    'scaled_dot_product_attention': [('nn.functional.scaled_dot_product_attention', attention)],
    'upsample_nearest2d': [('nn.functional.interpolate/nearest', interpolate), ('nn.functional.upsample_nearest', interpolate)],
    'pad': [('nn.functional.pad/constant', pad), ('constant_pad_nd', pad)],
    'movedim': [('movedim', lambda x, a, b: (x, dims_of(a), dims_of(b)))],
    'huber_loss': [('nn.functional.huber_loss', huber)], 'kl_div': [('nn.functional.kl_div', kl_div)],
    'smooth_l1_loss': [('nn.functional.smooth_l1_loss', smooth_l1)], 'l1_loss': [('nn.functional.l1_loss', loss)],
    'mse_loss': [('nn.functional.mse_loss', loss)], 'cross_entropy': [('nn.functional.cross_entropy', class_loss)],
    'nll_loss': [('nn.functional.nll_loss', class_loss)], 'binary_cross_entropy': [('nn.functional.binary_cross_entropy', loss)],
    'binary_cross_entropy_with_logits': [('nn.functional.binary_cross_entropy_with_logits', loss)],
    'as_strided': [('as_strided', as_strided), ('as_strided/partial_views', as_strided)], 'contiguous': [('contiguous', contiguous)], 'clone': [('clone', clone)],
    'diagonal': [('diagonal', diagonal), ('linalg.diagonal', linalg_diagonal)], 'expand': [('expand', whole(None)), ('broadcast_to', whole(None))],
    'flatten': [('flatten', lambda x, start_dim=0, end_dim=-1: (x, start_dim, end_dim))], 'narrow': [('narrow', narrow)],
    'permute': [('permute', whole(None))], 'reshape': [('reshape', whole(None))], 'view': [('view', viewed)], 'expand_as': [('expand_as', binary)],
    'slice': [('slice', slice_)], 'squeeze': [('squeeze', squeeze)], 'squeeze_all': [('squeeze', squeeze_all)],
    'transpose': [('transpose', lambda x, dim0, dim1: (x, dim0, dim1)), ('mT', lambda x: (x, -2, -1))], 't': [('t', unary), ('T', unary)],
    'argsort': [('argsort', argsort)], 'sort': [('sort', sort)],
    'cat': [('cat', lambda x, dim=0: (list(x), dim))], 'stack': [('stack', lambda x, dim=0: (list(x), dim))],
    'flip': [('flip', lambda x, dims: (x, dims_of(dims))), ('fliplr', lambda x: (x, [1])), ('flipud', lambda x: (x, [0]))],
    'gather': [('gather', lambda x, dim, index, sparse_grad=False: (x, dim, index))], 'index_add': [('index_add', index_add)],
    'prelu': [('nn.functional.prelu', prelu)], 'pixel_shuffle': [('nn.functional.pixel_shuffle', lambda x, upscale_factor: (x, upscale_factor))],
    'nonzero': [('nonzero', nonzero), ('argwhere', unary)], 'repeat': [('repeat', repeat)],
    'roll': [('roll', lambda x, shifts, dims=(): (x, dims_of(shifts), dims_of(dims)))], 'scatter': [('scatter', scatter)],
    'scatter_add': [('scatter_add', lambda x, dim, index, src: (x, dim, index, src))], 'take_along_dim': [('take_along_dim', take_along_dim)],
    'topk': [('topk', lambda x, k, dim=-1, largest=True, sorted=True: (x, k, dim, largest, sorted))],
    'tril': [('tril', lambda x, diagonal=0: (x, diagonal))], 'triu': [('triu', lambda x, diagonal=0: (x, diagonal))], 'unique': [('unique', unique)],
    'unfold': [('unfold', lambda x, dimension, size, step: (x, dimension, size, step))],
    'to_dtype': [(n, to_dtype(d)) for n, d in (('bfloat16', torch.bfloat16), ('bool', torch.bool), ('byte', torch.uint8), ('char', torch.int8),
                 ('double', torch.float64), ('float', torch.float32), ('half', torch.float16), ('int', torch.int32), ('long', torch.int64),
                 ('short', torch.int16))] + [('to', to)],
    'zero_': [('zero_', unary)], 'fill_': [('fill', fill_)],
    'max_pool2d_with_indices_backward': [], 'copy': [], '_native_batch_norm_legit_functional': [],
    'mish': [('nn.functional.mish', hard)], 'silu': [('nn.functional.silu', hard)], 'hardswish': [('nn.functional.hardswish', hard)],
    'hardsigmoid': [('nn.functional.hardsigmoid', hard)], 'relu6': [('nn.functional.relu6', hard)], 'selu': [('nn.functional.selu', hard)],
    'threshold': [('nn.functional.threshold', lambda x, threshold, value: (x, threshold, value))],
    'as_strided_scatter': [('as_strided_scatter', lambda x, src, size, stride, storage_offset=None: (x, src, list(size), list(stride), storage_offset or 0))],
    'where': [('where', where)], 'lerp': [('lerp', lambda x, end, weight: (x, end, weight))],
}

# Whose gradient at NaN PyTorch's scalar and vector loops disagree about (1 or NaN or 0, by the number of elements).
OPEN_AT_NAN = {'elu', 'celu', 'selu', 'relu6', 'hardtanh', 'hardshrink', 'softshrink', 'hardswish'}

# Entries of another function of PyTorch's, whose refusals are its own.
OTHERS_ERRORS = {'flipud', 'fliplr', 'max/binary', 'min/binary', 'argwhere', 'T'}

# ---- PyTorch's side where it is not the OpInfo's own function -----------------------------------------------------------------------------
MEANING = {
    'sort': lambda op, x, dim=-1, descending=False, stable=None: torch.sort(x, dim=dim, descending=descending, stable=True),
    'argsort': lambda op, x, dim=-1, descending=False, stable=None: torch.argsort(x, dim=dim, descending=descending, stable=True),
}


def entries(rows, infos):
    """[(row, OpInfo, function, in place?)] of every row that has an OpInfo."""
    out = []
    for row in rows.values():
        named = TABLE.get(row.name)
        if row.functional and named is None:
            named = TABLE.get(row.functional, [(n, None) for n in names(row.functional) if n in infos])
            named = [(n, f) for n, f in named if not n.startswith('__r')]
            for n, f in named:
                if n in infos and infos[n].inplace_variant:
                    out.append((row, infos[n], f or tensors, True))
            continue
        for n, f in named if named is not None else [(n, None) for n in names(row.name) if n in infos]:
            out.append((row, infos[n], f or tensors, row.kind == 'INPLACE'))
    return out


def names(name):
    return name, 'nn.functional.' + name


def infos():
    from torch.testing._internal.common_methods_invocations import op_db
    out = {}
    for op in op_db:
        out[op.name + ('/' + op.variant_test_name if op.variant_test_name else '')] = op
    return out


if __name__ == '__main__':
    table, known = rows(), infos()
    found = entries(table, known)
    print(len(table), 'rows,', len({r.name for r, *_ in found}), 'with an OpInfo')
    print('without:', ' '.join(sorted(set(table) - {r.name for r, *_ in found})))
    print('table names that are no row:', set(TABLE) - set(table))
