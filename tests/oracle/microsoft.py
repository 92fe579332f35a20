#!/usr/bin/env python3
"""Models of one operator each, and what ONNX Runtime gives for them, for tests/onnx/run_cases.c: of com.microsoft, and of ONNX's own some that
its tests vary little.

usage: microsoft.py FOLDER [NAME...]

FOLDER/<operator>_<n> gets model.onnx and test_data_set_0; FOLDER/list a line a case. Attributes, optional inputs and
sizes vary; the numbers come of a seed. Half of the cases have weights as initializers, half as inputs. A case that
ONNX Runtime's CPU provider refuses fails: none is left out in silence. What it has no kernel of (GroupNorm,
SkipGroupNorm, rotations inside of Attention) is compared with the formula of the operator's documentation (`formula`).
"""
import os
import sys
import zlib

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"
CASES = []
FLOATS = {"MultiHeadAttention", "GroupQueryAttention"}      # all outputs, and ONNX Runtime does not infer it
R = np.random.default_rng(0)


def f32(*shape):
    return R.standard_normal(shape).astype(np.float32)


def u8(*shape, low=0, high=256):
    return R.integers(low, high, shape).astype(np.uint8)


def vnni():
    """Without these instructions ONNX Runtime adds pairs of products of u8 and i8 in 16 bits, which saturate: it then
    computes what it does elsewhere of 7-bit values only, as its documentation of quantization says."""
    try:
        with open("/proc/cpuinfo") as f:
            return "vnni" in f.read()
    except OSError:
        return False


LEAST = -128 if vnni() else -64


def i8(*shape, low=LEAST, high=-LEAST):
    return R.integers(low, high, shape).astype(np.int8)


def scale(*shape, low=0.005, high=0.05):
    return R.uniform(low, high, shape).astype(np.float32)


def i32(*numbers):
    return np.array(numbers, np.int32)


def case(op, inputs, outputs=1, tol=1e-5, weights=(), domain=MS, opset=17, **attributes):
    """weights: places of inputs that are initializers. formula: the results, computed of the inputs and attributes here."""
    CASES.append((op, inputs, outputs, tol, weights, domain, opset, attributes))


# ---- activations, norms --------------------------------------------------------------------------

def activations():
    case("Gelu", [f32(3, 7)])
    case("QuickGelu", [f32(3, 7)])
    case("QuickGelu", [f32(3, 7)], alpha=0.7)
    case("BiasGelu", [f32(2, 3, 8), f32(8)], weights=[1])
    case("FastGelu", [f32(2, 3, 8)])
    case("FastGelu", [f32(2, 3, 8), f32(8)])
    for name, more in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", dict(activation_alpha=0.2)), ("HardSigmoid", dict(activation_alpha=0.3, activation_beta=0.4)),
                       ("Elu", dict(activation_alpha=0.7)), ("Selu", dict(activation_alpha=1.6, activation_gamma=1.1)), ("Softplus", {}), ("Softsign", {}),
                       ("ThresholdedRelu", dict(activation_alpha=0.4))):
        case("FusedGemm", [f32(3, 5), f32(5, 4), f32(4)], weights=[1, 2], activation=name, **more)
    case("FusedGemm", [f32(5, 3), f32(4, 5)], transA=1, transB=1, alpha=0.5, activation="Relu")
    case("FusedMatMul", [f32(2, 3, 4), f32(2, 5, 4)], transB=1, alpha=0.3)
    case("FusedMatMul", [f32(2, 3, 4), f32(4, 2, 5)], transBatchB=1)
    case("FusedMatMul", [f32(4, 2, 3), f32(2, 4, 5)], transBatchA=1, transA=1)
    case("FusedMatMul", [f32(3, 2, 4), f32(2, 4, 5)], transBatchA=1)
    case("TransposeMatMul", [f32(2, 4, 3), f32(2, 4, 5)], transA=1, alpha=2.0)
    case("Inverse", [f32(2, 4, 4) + 3 * np.eye(4, dtype=np.float32)], tol=1e-4)
    case("Trilu", [f32(2, 4, 5)], upper=0)
    case("Trilu", [f32(2, 4, 5), np.array(1, np.int64)], upper=1)
    case("ExpandDims", [f32(2, 3), np.array(-1, np.int32)], weights=[1])
    case("CDist", [f32(3, 4), f32(5, 4)], metric="euclidean", tol=1e-4)
    case("CDist", [f32(3, 4), f32(5, 4)], metric="sqeuclidean", tol=1e-4)


def norms():
    for n in (1, 3):
        case("LayerNormalization", [f32(2, 3, 6), f32(6), f32(6)][:3], outputs=n, domain="", opset=16, axis=-1, epsilon=1e-3)
    case("SimplifiedLayerNormalization", [f32(2, 3, 6), f32(6)], domain="", opset=16, axis=-1, epsilon=1e-5)
    case("SkipLayerNormalization", [f32(2, 3, 6), f32(2, 3, 6), f32(6)], epsilon=1e-5)
    case("SkipLayerNormalization", [f32(2, 3, 6), f32(1, 3, 6), f32(6), f32(6), f32(6)], weights=[2, 3, 4])
    case("SkipLayerNormalization", [f32(2, 3, 6), f32(3, 6), f32(6), None, f32(6)], outputs=[0, 3])
    case("SkipSimplifiedLayerNormalization", [f32(2, 3, 6), f32(2, 3, 6), f32(6), f32(6)], outputs=[0, 3])
    ids, kinds = R.integers(0, 10, (2, 4)).astype(np.int32), R.integers(0, 2, (2, 4)).astype(np.int32)
    tables = [f32(10, 6), f32(8, 6), f32(2, 6), f32(6), f32(6)]
    mask = i32([1, 1, 1, 0], [1, 1, 0, 0])
    case("EmbedLayerNormalization", [ids, kinds, *tables, mask], outputs=2, weights=[2, 3, 4, 5, 6], epsilon=1e-5)
    case("EmbedLayerNormalization", [ids, None, tables[0], tables[1], None, tables[3], tables[4]], outputs=[0, 2], epsilon=1e-5)
    case("EmbedLayerNormalization", [ids, kinds, *tables, None, R.integers(0, 8, (2, 4)).astype(np.int32)], outputs=2)


# ---- by the formulas of the documentation --------------------------------------------------------

def group_norm(inputs, epsilon=1e-5, groups=1, activation=0, channels_last=1):
    """In float64; results Y and S."""
    x, gamma, beta, skip, bias = [None if t is None else t.astype(np.float64) for t in inputs + [None] * (5 - len(inputs))]
    to_first = lambda t: t.transpose(0, 3, 1, 2) if channels_last else t
    back = lambda t: (t.transpose(0, 2, 3, 1) if channels_last else t).astype(inputs[0].dtype)
    s = to_first(x)
    if skip is not None:
        s = s + (skip[:, :, None, None] if skip.ndim == 2 else to_first(skip))
    if bias is not None:
        s = s + bias[:, None, None]
    n, channels, h, w = s.shape
    y = s.reshape(n, groups, -1)
    y = ((y - y.mean(2, keepdims=True)) / np.sqrt(y.var(2, keepdims=True) + epsilon)).reshape(s.shape)
    y = y * gamma[:, None, None] + beta[:, None, None]
    y = y / (1 + np.exp(-y)) if activation else y
    return [back(y), back(s)]


def turned_attention(inputs, num_heads, do_rotary, rotary_embedding_dim=0, unidirectional=0):
    """Attention whose queries and keys are turned by their places behind the past; results output and present."""
    x, w, bias, _, past = [None if t is None else t.astype(np.float64) for t in inputs + [None] * (5 - len(inputs))]
    b, s, _ = x.shape
    q, k, v = [t.reshape(b, s, num_heads, -1).transpose(0, 2, 1, 3) for t in np.split(x @ w + bias, 3, axis=2)]
    before, size = 0 if past is None else past.shape[3], q.shape[3]
    n = rotary_embedding_dim or size
    angle = np.arange(before, before + s)[:, None] / 10000.0 ** (np.arange(0, n, 2) / n)

    def turn(t):
        first, second = t[..., :n // 2], t[..., n // 2:n]
        return np.concatenate([first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle), t[..., n:]], -1)
    q, k = turn(q), turn(k)
    if past is not None:
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    score = q @ k.transpose(0, 1, 3, 2) / np.sqrt(size)
    if unidirectional:
        score = np.where(np.arange(k.shape[2]) <= np.arange(before, before + s)[:, None], score, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    y = weight / weight.sum(-1, keepdims=True) @ v
    return [y.transpose(0, 2, 1, 3).reshape(b, s, -1).astype(np.float32), np.stack([k, v]).astype(np.float32)]


def formulas():
    f16 = lambda *shape: f32(*shape).astype(np.float16)
    for act in (0, 1):
        case("GroupNorm", [f32(2, 3, 5, 12), f32(12), f32(12)], formula=group_norm, groups=4, activation=act, weights=[1, 2])
        case("GroupNorm", [f32(2, 6, 3, 5), f32(6), f32(6)], formula=group_norm, groups=3, activation=act, channels_last=0, epsilon=1e-3)
        case("SkipGroupNorm", [f32(2, 3, 5, 8), f32(8), f32(8), f32(2, 3, 5, 8), f32(8)], outputs=2, formula=group_norm, groups=2, activation=act)
    case("GroupNorm", [f16(2, 4, 4, 8), f32(8), f32(8)], tol=2e-3, formula=group_norm, groups=8, activation=1)
    case("SkipGroupNorm", [f32(2, 3, 5, 8), f32(8), f32(8), f32(2, 1, 1, 8)], formula=group_norm, groups=2, activation=0)
    case("SkipGroupNorm", [f32(2, 3, 5, 8), f32(8), f32(8), f32(2, 8), f32(8)], outputs=2, formula=group_norm, groups=4, activation=1)
    case("SkipGroupNorm", [f32(2, 8, 3, 5), f32(8), f32(8), f32(2, 8)], outputs=2, formula=group_norm, groups=4, activation=1, channels_last=0)
    b, s, c, h = 2, 5, 16, 2
    base = lambda: [f32(b, s, c), f32(c, 3 * c) * 0.3, f32(3 * c)]
    case("Attention", base(), formula=turned_attention, num_heads=h, do_rotary=1, weights=[1, 2])
    case("Attention", base(), formula=turned_attention, num_heads=h, do_rotary=1, unidirectional=1, rotary_embedding_dim=4)
    case("Attention", base() + [None, f32(2, b, h, 3, c // h)], outputs=2, formula=turned_attention, num_heads=h, do_rotary=1, unidirectional=1)


# ---- attention -----------------------------------------------------------------------------------

def attention():
    b, s, c, h = 2, 5, 12, 3
    base = lambda: [f32(b, s, c), f32(c, 3 * c) * 0.3, f32(3 * c)]
    past = lambda p: f32(2, b, h, p, c // h)
    case("Attention", base(), num_heads=h, weights=[1, 2])
    case("Attention", base()[:2], num_heads=h, unidirectional=1)
    case("Attention", base() + [None, past(4)], outputs=2, num_heads=h)
    case("Attention", base() + [None, past(4)], outputs=2, num_heads=h, unidirectional=1, scale=0.3)
    case("Attention", base() + [i32(5, 3)], num_heads=h)                                       # right padding
    case("Attention", base() + [i32(5, 4, 0, 2)], num_heads=h)                                 # ends, starts
    case("Attention", base() + [i32([1, 1, 1, 1, 0], [1, 1, 0, 0, 0])], num_heads=h)
    case("Attention", base() + [R.integers(0, 2, (b, s, s)).astype(np.int32)], num_heads=h, mask_filter_value=-1000.0)
    case("Attention", base() + [i32([1] * 9, [1] * 7 + [0] * 2), past(4)], outputs=2, num_heads=h)
    case("Attention", base() + [None, None, f32(b, h, s, s)], num_heads=h)
    case("Attention", base() + [None, None, f32(1, 1, s, s)], num_heads=h, unidirectional=1)
    case("Attention", [f32(b, s, c), f32(c, 12 + 12 + 6), f32(30)], num_heads=h, qkv_hidden_sizes=[12, 12, 6], weights=[1])
    case("QAttention", [u8(b, s, c), u8(c, 3 * c), f32(3 * c), scale(), scale(), None, u8(), u8()], num_heads=h, weights=[1, 2], tol=1e-4)
    case("QAttention", [u8(b, s, c), i8(c, 3 * c), f32(3 * c), scale(), scale(3 * c), i32(5, 3), u8(), i8(3 * c, low=-3, high=3)], num_heads=h, tol=1e-4)
    case("QAttention", [u8(b, s, c), i8(c, 3 * c), f32(3 * c), scale(), scale(), None, u8(), i8(), past(3)], outputs=2, num_heads=h, unidirectional=1, tol=1e-4)


def multi_head():
    b, s, l, h, d = 2, 4, 6, 3, 4
    q, k, v = (lambda: f32(b, s, h * d)), (lambda: f32(b, l, h * d)), (lambda: f32(b, l, h * d))
    case("MultiHeadAttention", [q(), k(), v()], num_heads=h)
    case("MultiHeadAttention", [q(), k(), v(), f32(3 * h * d)], num_heads=h, weights=[3])
    case("MultiHeadAttention", [q(), k(), f32(b, l, h * 5)], num_heads=h, scale=0.7)
    case("MultiHeadAttention", [q(), f32(b, h, l, d), f32(b, h, l, d)], num_heads=h)            # as a past of cross attention
    case("MultiHeadAttention", [q(), k(), v(), None, i32([1] * 6, [1, 1, 1, 1, 0, 0])], num_heads=h)
    case("MultiHeadAttention", [q(), k(), v(), None, i32(6, 4)], num_heads=h)
    case("MultiHeadAttention", [q(), k(), v(), None, R.integers(0, 2, (b, s, l)).astype(np.int32)], num_heads=h, mask_filter_value=-500.0)
    case("MultiHeadAttention", [q(), k(), v(), None, None, f32(b, h, s, l)], num_heads=h)
    case("MultiHeadAttention", [q(), k(), v(), None, None, f32(1, 1, s, l)], num_heads=h)
    same = lambda: f32(b, s, h * d)
    case("MultiHeadAttention", [same(), same(), same()], num_heads=h, unidirectional=1, outputs=3)
    case("MultiHeadAttention", [same(), same(), same(), f32(3 * h * d), None, None, f32(b, h, 3, d), f32(b, h, 3, d)], num_heads=h, outputs=3)
    case("MultiHeadAttention", [same(), same(), same(), None, None, f32(b, 1, s, s + 3), f32(b, h, 3, d), f32(b, h, 3, d)], num_heads=h, outputs=3, unidirectional=1)
    case("MultiHeadAttention", [same(), same(), same()], num_heads=h, outputs=4)


def grouped():
    h, kv, d = 4, 2, 16

    def one(s, past, lengths, total, packed=False, do_rotary=0, ids=None, bias=False, sink=False, outputs=3, rotary=16, d=d, **more):
        n = len(lengths)
        qkv = [f32(n, s, (h + 2 * kv) * d), None, None] if packed else [f32(n, s, h * d), f32(n, s, kv * d), f32(n, s, kv * d)]
        cache = [f32(n, kv, past, d), f32(n, kv, past, d)] if past is not None else [None, None]
        angle = R.uniform(0, 3, (16, rotary // 2)).astype(np.float32)
        rest = [np.cos(angle), np.sin(angle)] if do_rotary else [None, None]
        rest += [ids, f32(n, h, s, total) if bias else None, f32(h) if sink else None]
        while rest and rest[-1] is None:
            rest.pop()
        case("GroupQueryAttention", qkv + cache + [i32(*lengths), np.array(total, np.int32)] + rest, outputs=outputs,
             num_heads=h, kv_num_heads=kv, do_rotary=do_rotary, **more)

    one(5, 0, [4, 4], 5)
    one(5, None, [4, 4], 5, packed=True)
    one(5, None, [4, 4], 5, do_rotary=1)
    one(5, 0, [4, 4], 5, packed=True, do_rotary=1, rotary_interleaved=1)
    one(1, 6, [6, 6], 7)
    one(1, 6, [6, 6], 7, do_rotary=1)
    one(1, 6, [6, 6], 7, do_rotary=1, packed=True, scale=0.4, softcap=5.0)
    one(1, 6, [6, 6], 7, local_window_size=3)
    one(6, 0, [5, 5], 6, local_window_size=2)
    one(6, 0, [5, 5], 6, smooth_softmax=1)
    one(6, 0, [5, 5], 6, sink=True)
    one(4, 0, [3, 3], 4, bias=True)
    one(3, 4, [6], 7, do_rotary=1, ids=np.array([[4, 5, 6]], np.int64))
    one(1, 6, [6, 4], 7)                                                              # lengths of each batch
    one(1, 6, [6, 4], 7, do_rotary=1)
    one(5, 0, [4, 2], 5)
    one(1, 9, [5, 3], 6, do_rotary=1)                                                            # a cache longer than what is in it
    one(5, 0, [4, 2], 5, do_rotary=1, rotary=16, packed=True, d=32)
    one(5, 0, [4, 4], 5, causal=0)


# ---- quantized -----------------------------------------------------------------------------------

def packed(values, bits):
    """Rows of numbers of `bits` bits as bytes, the first in the low ones."""
    each = 8 // bits
    rows = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, -values.shape[-1] % each)]).reshape(*values.shape[:-1], -1, each)
    return sum(rows[..., i].astype(np.uint32) << (bits * i) for i in range(each)).astype(np.uint8)


def blocks():
    for bits, block, k, n, zero, bias in ((4, 16, 32, 6, None, False), (4, 32, 40, 5, "packed", True), (4, 16, 48, 3, "real", False),
                                          (8, 32, 64, 4, None, False), (8, 32, 64, 4, "packed", True), (2, 16, 32, 6, None, False), (4, 128, 130, 7, "packed", False)):
        count = -(-k // block)
        q = R.integers(0, 1 << bits, (n, count * block)).reshape(n, count, block)
        z = {None: None, "packed": packed(R.integers(0, 1 << bits, (n, count)), bits), "real": R.uniform(0, 15, (n, count)).astype(np.float32)}[zero]
        inputs = [f32(2, 3, k), packed(q, bits), scale(n, count), z, None, f32(n) if bias else None]
        while inputs[-1] is None:
            inputs.pop()
        case("MatMulNBits", inputs, tol=1e-4, weights=[1, 2, 3] if bits != 8 else [1], K=k, N=n, bits=bits, block_size=block)
    data = R.integers(0, 16, (7, 32)).astype(np.int64)
    ids = R.integers(0, 7, (2, 3)).astype(np.int64)
    case("GatherBlockQuantized", [packed(data, 4), ids, scale(7, 2)], weights=[0, 2], block_size=16, quantize_axis=1, gather_axis=0, bits=4)
    case("GatherBlockQuantized", [packed(data, 4), ids, scale(7, 2), packed(R.integers(0, 16, (7, 2)), 4)], weights=[0, 2, 3], block_size=16, quantize_axis=1, gather_axis=0, bits=4)
    case("GatherBlockQuantized", [u8(7, 32), ids, scale(7, 2), u8(7, 2)], weights=[0], block_size=16, quantize_axis=1, gather_axis=0, bits=8)


def quantized():
    a, b = f32(2, 3, 8), u8(8, 5)
    case("DynamicQuantizeMatMul", [a, b, scale()], tol=1e-4)
    case("DynamicQuantizeMatMul", [a, b, scale(), u8(), f32(5)], tol=1e-4, weights=[1, 2, 3, 4])
    case("DynamicQuantizeMatMul", [a, i8(8, 5), scale(5), i8(5, low=-2, high=3), f32(5)], tol=1e-4, weights=[1, 2, 3])
    case("DynamicQuantizeMatMul", [f32(3, 8), u8(8, 5), scale(1), u8(1)], tol=1e-4)
    case("MatMulIntegerToFloat", [u8(2, 3, 8), u8(8, 5), scale(), scale(5), u8(), u8(5), f32(5)], tol=1e-4)
    case("MatMulIntegerToFloat", [i8(3, 8), i8(8, 5), scale(), scale()], tol=1e-4)
    for make, zero in ((u8, u8), (i8, i8)):
        case("QLinearAdd", [make(2, 3, 4), scale(), zero(), make(3, 4), scale(), zero(), scale(), zero()], weights=[3, 4, 5], tol=1.01)
        case("QLinearMul", [make(2, 3, 4), scale(), zero(), make(2, 1, 4), scale(), zero(), scale(), zero()], tol=1.01)
        case("QLinearLeakyRelu", [make(2, 9), scale(), zero(), scale(), zero()], weights=[1, 2, 3, 4], alpha=0.2, tol=1.01)
        case("QLinearSigmoid", [make(2, 9), scale(), zero(), np.float32(1 / 256), zero()], weights=[1, 2, 3, 4], tol=1.01)
        case("QLinearSoftmax", [make(2, 9), scale(), zero(), np.array(1 / 256, np.float32), make(low=0, high=1)], weights=[1, 2, 3, 4], axis=-1, opset_=13, tol=1.01)
        case("QLinearAveragePool", [make(1, 3, 8, 8), scale(), zero(), scale(), zero()], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], tol=1.01)
        case("QLinearAveragePool", [make(1, 3, 8, 8), scale(), zero(), scale(), zero()], kernel_shape=[2, 3], count_include_pad=1, pads=[0, 1, 0, 1], tol=1.01)
        case("QLinearGlobalAveragePool", [make(2, 3, 5, 4), scale(), zero(), scale(), zero()], tol=1.01)
        case("QLinearConcat", [scale(), zero(), make(2, 3), scale(), zero(), make(2, 4), scale(), zero()], weights=[0, 1, 3, 4, 6, 7], axis=1, tol=1.01)
    case("QLinearGlobalAveragePool", [u8(2, 5, 4, 3), scale(), u8(), scale(), u8()], channels_last=1, tol=1.01)
    case("QLinearWhere", [np.array([True, False, True]), u8(2, 3), scale(), u8(), u8(2, 3), scale(), u8(), scale(), u8()], weights=[2, 3, 5, 6, 7, 8], tol=1.01)
    c = R.integers(-500, 500, (4,)).astype(np.int32)
    case("QGemm", [u8(3, 6), scale(), u8(), u8(6, 4), scale(), u8(), c, scale(low=0.1, high=0.2), u8()], tol=1.01)
    case("QGemm", [u8(3, 6), scale(), u8(), i8(4, 6), scale(4), i8(4, low=0, high=1), c], transB=1, tol=1e-4)
    case("QGemm", [i8(6, 3), scale(), i8(), i8(6, 4), scale(), i8(), None, scale(low=0.1, high=0.2), i8()], transA=1, tol=1.01)
    case("QuantizeLinear", [f32(3, 4), scale(), u8()], tol=1.01)
    case("DequantizeLinear", [u8(3, 4), scale(3), u8(3)], axis=0)
    case("QLinearConv", [u8(1, 4, 6, 6), scale(), u8(), i8(5, 4, 3, 3), scale(5), i8(5, low=0, high=1), scale(low=1, high=2), u8(), R.integers(-500, 500, 5).astype(np.int32)],
         weights=[3, 4, 5, 8], pads=[1, 1, 1, 1], tol=1.01)
    case("QLinearConv", [u8(1, 6, 6, 4), scale(), u8(), i8(5, 4, 3, 3), scale(), i8(), scale(low=1, high=2), u8()], weights=[3, 4, 5], channels_last=1, tol=1.01)
    case("NhwcMaxPool", [u8(1, 6, 6, 4)], kernel_shape=[2, 2], strides=[2, 2])
    tables = [u8(10, 6), u8(8, 6), u8(2, 6), u8(6), u8(6)]
    ids = R.integers(0, 10, (2, 4)).astype(np.int32)
    case("QEmbedLayerNormalization", [ids, ids % 2, *tables, i32([1, 1, 1, 0], [1, 1, 1, 1]), *[scale() for _ in range(5)], *[u8() for _ in range(5)]], outputs=2, tol=1e-4)


def products():
    """Zero points known and not, of a tensor, of rows or of channels, where weights are given or not; matrices, batches, one side of a batch."""
    own = dict(domain="", opset=21)
    for weights in ((), (1,), (1, 2, 3), (2, 3)):
        for b in (u8, i8):
            for zero in ((), (u8(),), (u8(), b()), (u8(), b(9))):
                case("MatMulInteger", [u8(4, 300), b(300, 9), *zero], weights=[w for w in weights if w < 2 + len(zero)], **own)
    case("MatMulInteger", [u8(4, 30), u8(30, 9), np.uint8(128), np.full(9, 128, np.uint8)], weights=[1, 2, 3], **own)
    case("MatMulInteger", [u8(2, 3, 4, 30), u8(30, 9), u8(), u8()], weights=[1, 3], **own)
    for k in (1, 258, 259, 1500):
        case("MatMulInteger", [u8(2, 3, 4, k, low=250), u8(2, 3, k, 5, low=250), np.uint8(0), np.uint8(0)], **own)
        case("MatMulInteger", [u8(1, 3, 4, k), i8(2, 1, k, 5), u8(), i8()], **own)
        case("MatMulInteger", [u8(4, k, low=254), u8(k, 5, low=254), np.uint8(0), np.uint8(0)], weights=[1], **own)
    for a, b in ((u8, u8), (u8, i8), (i8, i8)):
        case("QLinearMatMul", [a(3, 4, 30), scale(), a(), b(3, 30, 5), scale(), b(), scale(low=0.5, high=1), a()], weights=[4, 5], tol=1.01, **own)
        case("QLinearMatMul", [a(3, 4, 30), scale(), a(), b(30, 5), scale(), b(), scale(low=0.5, high=1), a()], weights=[3, 4, 5], tol=1.01, **own)
        case("QLinearMatMul", [a(4, 30), scale(), a(), b(30, 5), scale(5), b(5), scale(low=0.5, high=1), a()], weights=[3, 4, 5], tol=1.01, **own)
    for shape, kernel, more in (((1, 4, 9), (6, 4, 3), dict(pads=[2, 1])), ((2, 4, 9, 8), (6, 4, 3, 2), dict(strides=[2, 1], dilations=[1, 2])),
                                ((2, 4, 9, 8), (6, 2, 3, 3), dict(group=2, pads=[1, 0, 2, 1])), ((1, 6, 7, 7), (6, 1, 3, 3), dict(group=6, auto_pad="SAME_UPPER", strides=[2, 2])),
                                ((1, 70, 5, 5), (3, 70, 4, 4), dict(auto_pad="SAME_LOWER")), ((1, 2, 5, 6, 7), (4, 2, 2, 3, 3), dict(pads=[1, 1, 1, 0, 1, 1]))):
        m = kernel[0]
        for k, zero in ((u8, u8()), (u8, np.uint8(128)), (i8, i8()), (i8, np.zeros(m, np.int8))):
            for weights in ([3, 4, 5], [2, 3, 4, 5, 8], [4]):
                case("QLinearConv", [u8(*shape), scale(), u8(), k(*kernel), scale(*zero.shape) if zero.ndim else scale(), zero, scale(low=0.5, high=1), u8(), R.integers(-500, 500, m).astype(np.int32)],
                     weights=weights, tol=1.01, **own, **more)
            if len(shape) < 5 and zero.ndim == 0:
                case("ConvInteger", [u8(*shape), k(*kernel), u8(), zero], weights=[1, 3], **own, **more)
                case("ConvInteger", [u8(*shape), k(*kernel)], weights=[1], **own, **more)


def lstm():
    length, batch, wide, hidden = 5, 3, 6, 8
    for both in (False, True):
        n = 1 + both
        more = dict(hidden_size=hidden, direction="bidirectional" if both else "forward", tol=2e-3)
        for kind, zero in ((i8, np.zeros(n, np.int8)), (u8, np.full(n, 128, np.uint8))):
            w, r, scales = kind(n, wide, 4 * hidden), kind(n, hidden, 4 * hidden), lambda: scale(n, low=0.002, high=0.004)
            x, b = f32(length, batch, wide), f32(n, 8 * hidden)
            case("DynamicQuantizeLSTM", [x, w, r, b, None, None, None, None, scales(), zero, scales(), zero], outputs=3, weights=[1, 2, 8, 9, 10, 11], **more)
            case("DynamicQuantizeLSTM", [x, w, r, b, None, f32(n, batch, hidden) * 0.1, f32(n, batch, hidden) * 0.1, None, scales(), zero, scales(), zero], outputs=3,
                 weights=[1, 2, 8, 9, 10, 11], **more)
    case("DynamicQuantizeLSTM", [f32(length, 1, wide), i8(1, wide, 4 * hidden), i8(1, hidden, 4 * hidden), None, None, None, None, None, scale(1, 4 * hidden, low=0.002, high=0.004),
                                 np.zeros((1, 4 * hidden), np.int8), scale(1, 4 * hidden, low=0.002, high=0.004), np.zeros((1, 4 * hidden), np.int8)], outputs=2,
         weights=[1, 2, 8, 9, 10, 11], hidden_size=hidden, tol=2e-3)


def convolutions():
    x, k, b = f32(1, 4, 7, 7), f32(6, 2, 3, 3), f32(6)
    for name, more in (("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("LeakyRelu", dict(activation_params=[0.1])), ("Clip", dict(activation_params=[-1.0, 1.0])), ("HardSigmoid", dict(activation_params=[0.3, 0.4]))):
        case("FusedConv", [x, k, b], weights=[1, 2], group=2, pads=[1, 1, 1, 1], activation=name, **more)
    case("FusedConv", [x, k, None, f32(1, 6, 5, 5)], group=2, activation="Relu")


def rotary():
    angle = R.uniform(0, 3, (16, 4)).astype(np.float32)
    tables = [np.cos(angle), np.sin(angle)]
    at = R.integers(0, 16, (2, 3)).astype(np.int64)
    case("RotaryEmbedding", [f32(2, 3, 16), at, *tables])
    case("RotaryEmbedding", [f32(2, 3, 16), np.array([4], np.int64), *tables], interleaved=1, weights=[2, 3])
    case("RotaryEmbedding", [f32(2, 2, 3, 8), at, *tables], interleaved=1)
    case("RotaryEmbedding", [f32(2, 3, 32), at, *tables], num_heads=2, rotary_embedding_dim=8)


def samples():
    own = dict(domain="", opset=22)
    x = f32(2, 3, 9, 8)
    corner = R.uniform(-1, 5, (4, 2)).astype(np.float32)
    boxes, of = np.concatenate([corner, corner + R.uniform(0.5, 6, (4, 2)).astype(np.float32)], 1), np.array([0, 1, 1, 0], np.int64)
    for mode in ("avg", "max"):
        for ratio, size in ((2, (3, 2)), (1, (2, 4)), (0, (2, 3)), (3, (1, 1))):
            for half in ("half_pixel", "output_half_pixel"):
                case("RoiAlign", [x, boxes, of], mode=mode, output_height=size[0], output_width=size[1], sampling_ratio=ratio, spatial_scale=0.8,
                     coordinate_transformation_mode=half, domain="", opset=21)
    case("RoiAlign", [x, boxes * 3 - 4, of], output_height=4, output_width=4, sampling_ratio=2, domain="", opset=15)
    shape = lambda *n: np.array(n, np.int64)
    case("Col2Im", [f32(2, 3 * 6, 12), shape(5, 5), shape(2, 3)], weights=[1, 2], **own)
    case("Col2Im", [f32(1, 2 * 4, 25), shape(8, 8), shape(2, 2)], strides=[2, 2], dilations=[1, 2], pads=[1, 1, 1, 2], weights=[1, 2], **own)
    case("Col2Im", [f32(2, 2 * 3, 6), shape(8), shape(3)], weights=[1, 2], **own)
    for group, moved, mask, bias, more in ((1, 1, False, False, {}), (2, 1, True, True, dict(pads=[1, 0, 1, 0])), (1, 2, True, False, dict(strides=[2, 1], pads=[1, 1, 1, 1])),
                                           (2, 4, False, True, dict(dilations=[2, 1]))):
        k = f32(6, 4 // group, 3, 2)
        stride, dilation, pad = more.get("strides", [1, 1]), more.get("dilations", [1, 1]), more.get("pads", [0] * 4)
        oh, ow = ((n + pad[i] + pad[2 + i] - dilation[i] * (k.shape[2 + i] - 1) - 1) // stride[i] + 1 for i, n in enumerate((7, 6)))
        case("DeformConv", [f32(2, 4, 7, 6), k, f32(2, moved * 12, oh, ow) * 2, f32(6) if bias else None, R.uniform(0, 1, (2, moved * 6, oh, ow)).astype(np.float32) if mask else None][:5 if mask else 4 if bias else 3],
             group=group, offset_group=moved, tol=1e-4, **more, **own)
    pool = dict(ngram_counts=[0, 4], ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7])
    for mode in ("TF", "IDF", "TFIDF"):
        case("TfIdfVectorizer", [R.integers(2, 9, (3, 12)).astype(np.int64)], mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=3,
             weights=[0.5, 1.0, 2.0, 0.3, 0.7, 1.5, 3.0], **pool, **own)
    case("TfIdfVectorizer", [R.integers(2, 9, (12,)).astype(np.int32)], mode="TF", min_gram_length=2, max_gram_length=2, max_skip_count=0, **pool, **own)


FAMILIES = dict(activations=activations, norms=norms, formulas=formulas, attention=attention, multi_head=multi_head, grouped=grouped, blocks=blocks, quantized=quantized, products=products, lstm=lstm,
                convolutions=convolutions, rotary=rotary, samples=samples)


def build(op, inputs, outputs, weights, domain, opset, attributes):
    """outputs: how many, or which places are wanted."""
    names = [f"i{k}" if x is not None else "" for k, x in enumerate(inputs)]
    places = outputs if isinstance(outputs, list) else list(range(outputs))
    made = [f"o{k}" if k in places else "" for k in range(max(places) + 1)]
    attributes = {k.rstrip("_"): v for k, v in attributes.items()}
    node = helper.make_node(op, names, made, domain=domain, **attributes)
    value = lambda n, x: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    arrays = [None if x is None else np.asarray(x) for x in inputs]
    graph = helper.make_graph(
        [node], "one", [value(n, x) for k, (n, x) in enumerate(zip(names, arrays)) if x is not None and k not in weights],
        [(helper.make_tensor_value_info(m, TensorProto.FLOAT, None) if op in FLOATS else helper.make_empty_tensor_value_info(m)) for m in made if m],
        [numpy_helper.from_array(x, n) for k, (n, x) in enumerate(zip(names, arrays)) if x is not None and k in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)], ir_version=9)
    return model, {n: x for k, (n, x) in enumerate(zip(names, arrays)) if x is not None and k not in weights}


def write(path, array):
    with open(path, "wb") as f:
        f.write(numpy_helper.from_array(np.asarray(array)).SerializeToString())


def main():
    global R
    onnxruntime.set_default_logger_severity(4)
    folder, wanted = sys.argv[1], sys.argv[2:] or list(FAMILIES)
    if LEAST != -128:
        print("note: no VNNI here: bytes with sign are drawn from -64 to 63, as ONNX Runtime saturates sums of others")
    for name in wanted:
        R = np.random.default_rng(zlib.crc32(name.encode()))
        FAMILIES[name]()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    lines, count, failed = [], {}, 0
    for op, inputs, outputs, tol, weights, domain, opset, attributes in CASES:
        n = count[op] = count.get(op, -1) + 1
        name = f"{'ms' if domain else 'onnx'}_{op}_{n}"
        formula = attributes.pop("formula", None)
        model, feed = build(op, inputs, outputs, weights, domain, opset, attributes)
        target = os.path.join(folder, name)
        data = os.path.join(target, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        try:
            if formula:
                results = formula(inputs, **attributes)[:outputs]
            else:
                session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
                results = session.run(None, feed)
        except Exception as e:
            print(f"FAIL {name}: ONNX Runtime: {str(e)[:300]}")
            failed += 1
            continue
        with open(os.path.join(target, "model.onnx"), "wb") as f:
            f.write(model.SerializeToString())
        for i, x in enumerate(feed.values()):
            write(os.path.join(data, f"input_{i}.pb"), x)
        for i, x in enumerate(results):
            write(os.path.join(data, f"output_{i}.pb"), x)
        relative = tol if tol < 1 else 0
        lines.append(f"{name} {relative:g} {tol:g}\n")
    with open(os.path.join(folder, "list"), "w") as f:
        f.writelines(lines)
    print(f"{len(lines)} models of {len(count)} operators")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
