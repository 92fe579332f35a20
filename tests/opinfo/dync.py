"""tests/opinfo/dync.py: dync's side: opinfo.so (driver.c) by ctypes."""
import ctypes
import math

import torch

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
NONE, BOOL, INT, FLOAT, STR, TENSOR, LIST = range(7)
RESULTS, GRADIENTS, SECOND, INPUTS = range(4)
MOST_DIMS = 8


class Unfit(Exception):
    """A value that dync has no form for."""


class Value(ctypes.Structure):
    pass


Value._fields_ = [('kind', ctypes.c_int64), ('i', ctypes.c_int64), ('f', ctypes.c_double), ('s', ctypes.c_char_p), ('data', ctypes.c_void_p),
                  ('elements', ctypes.c_int64), ('dtype', ctypes.c_int64), ('ndim', ctypes.c_int64), ('shape', ctypes.c_int64 * MOST_DIMS),
                  ('stride', ctypes.c_int64 * MOST_DIMS), ('offset', ctypes.c_int64), ('grad', ctypes.c_int64), ('items', ctypes.POINTER(Value)),
                  ('n', ctypes.c_int64)]


def flat(t):
    """The whole storage of a tensor."""
    storage = t.untyped_storage()
    return torch.empty(0, dtype=t.dtype).set_(storage, 0, (storage.nbytes() // t.dtype.itemsize,))


class Dync:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.opinfo_error.restype = ctypes.c_char_p
        self.lib.opinfo_call.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
        self.kept = []

    def value(self, a):
        v = Value()
        if a is None:
            pass
        elif isinstance(a, torch.Tensor):
            if a.dtype not in DTYPES:
                raise Unfit('dtype %s' % a.dtype)
            if a.dim() > MOST_DIMS:
                raise Unfit('more than %d dims' % MOST_DIMS)
            if a.layout != torch.strided or a.device.type != 'cpu':
                raise Unfit('layout or device')
            storage = flat(a.detach())
            self.kept.append(storage)
            v.kind, v.data, v.elements, v.dtype, v.ndim = TENSOR, storage.data_ptr(), storage.numel(), DTYPES.index(a.dtype), a.dim()
            for d in range(a.dim()):
                v.shape[d], v.stride[d] = a.shape[d], a.stride(d)
            v.offset, v.grad = a.storage_offset(), a.requires_grad
        elif isinstance(a, torch.dtype):
            if a not in DTYPES:
                raise Unfit('dtype %s' % a)
            v.kind, v.i = INT, DTYPES.index(a)
        elif isinstance(a, bool):
            v.kind, v.i = BOOL, a
        elif isinstance(a, int):
            if not -(1 << 63) <= a < 1 << 63:
                raise Unfit('an integer of more than 64 bits')
            v.kind, v.i = INT, a
        elif isinstance(a, float):
            v.kind, v.f = FLOAT, a
        elif isinstance(a, str):
            self.kept.append(ctypes.create_string_buffer(a.encode()))
            v.kind, v.s = STR, ctypes.cast(self.kept[-1], ctypes.c_char_p)
        elif isinstance(a, (list, tuple)):
            items = (Value * max(1, len(a)))(*[self.value(x) for x in a])
            self.kept.append(items)
            v.kind, v.items, v.n = LIST, items, len(a)
        elif hasattr(a, 'item') and not isinstance(a.item(), complex):
            return self.value(a.item())
        else:
            raise Unfit('an argument of type %s' % type(a).__name__)
        return v

    def array(self, values):
        return (Value * max(1, len(values)))(*[self.value(x) for x in values])

    def error(self):
        return self.lib.opinfo_error().decode(errors='replace')

    def open(self, name, copy, args):
        """None, or what is wrong."""
        self.kept = []
        values = self.array(args)
        return self.error() if self.lib.opinfo_open(name.encode(), int(copy), values, len(args)) else None

    def close(self):
        self.lib.opinfo_close()
        self.kept = []

    def call(self, backend=None, dynamic=False, double_backward=False):
        """The number of results, or a text that says what is wrong."""
        n = self.lib.opinfo_call(backend.encode() if backend else None, dynamic, double_backward)
        return self.error() if n < 0 else n

    def gradients(self, cotangents, create_graph):
        n = self.lib.opinfo_gradients(self.array(cotangents), create_graph)
        return self.error() if n < 0 else n

    def second(self, cotangents):
        n = self.lib.opinfo_second(self.array(cotangents))
        return self.error() if n < 0 else n

    def read(self, which, i):
        """(tensor, does it require grad?), or (None, False)."""
        v = Value()
        had = self.lib.opinfo_read(which, i, ctypes.byref(v))
        if had < 0:
            raise RuntimeError('dync: ' + self.error())
        if not had:
            return None, False
        shape, dtype = tuple(v.shape[:v.ndim]), DTYPES[v.dtype]
        data = ctypes.string_at(v.data, math.prod(shape) * dtype.itemsize) if v.data else b''
        t = torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)
        return t, bool(v.grad)

    def all(self, which, n):
        return [self.read(which, i) for i in range(n)]
