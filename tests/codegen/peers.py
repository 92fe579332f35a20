"""tests/codegen/peers.py: the rows of bench/peers as lines for peers.c: kind; its numbers; the shape, strides and dtype of each input.

PyTorch is not needed: the table of rows.py is read with a stand-in that knows the shapes of inputs and nothing else."""
import os
import sys
import types

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


class Input:
    def __init__(self, shape, stride=None, dtype="float32"):
        self.shape, self.dtype = shape, dtype
        self.stride = stride or [int(s) for s in self.dense()]

    def dense(self):
        steps = [1]
        for n in reversed(self.shape[1:]):
            steps.insert(0, steps[0] * n)
        return steps

    def to(self, dtype):
        return Input(self.shape, self.stride, dtype)

    def as_strided(self, shape, stride):
        return Input(shape, list(stride), self.dtype)

    def line(self):
        return " ".join(str(x) for x in [DTYPES.index(self.dtype), len(self.shape), *self.shape, *self.stride])


class Anything(types.ModuleType):
    """A module whose every name is a class that does nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


torch = Anything("torch")
for dtype in DTYPES:
    setattr(torch, dtype, dtype)
torch.randn = lambda *shape: Input(shape)
torch.randint = lambda low, high, shape: Input(shape, dtype="int64")
torch.nn, functional = Anything("torch.nn"), Anything("torch.nn.functional")
torch.nn.functional = functional
sys.modules.update({"torch": torch, "torch.nn": torch.nn, "torch.nn.functional": functional})
sys.path.insert(0, os.path.join(sys.argv[1], "bench", "peers"))
sys.dont_write_bytecode = True
import rows  # noqa: E402

rows.function = rows.module = lambda fn, *inputs: lambda: [i() for i in inputs]
for row in rows.table():
    if row.group == "living":
        continue  # programs of many calls, of kernels that other rows have; they would want models with weights
    print(row.kind, ";", *row.numbers, ";", " , ".join(i.line() for i in row.build()))
