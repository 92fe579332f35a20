"""Writes tests/ops/edges.c: results and gradients that PyTorch gives where operators are at their edges: large and zero arguments,
numbers on either side of a bound in half precision, empty and 0-dim tensors, dtypes that mix, calls that are refused.

    python tests/oracle/edges.py [-v]          needs torch (2.15 was used), and nothing else

One sample a line: NAME|ARGS|OUTS|GRADS, ARGS and OUTS as ops.py says. g: instead of t: is a tensor that requires grad; GRADS are those of
such tensors in order, - where PyTorch has none, for the cotangents of `cotangent`. ! instead of OUTS where PyTorch raises.
"""
import math
import os
import sys
import torch
import ops
from ops import CPU, Dims, Dtype, T

inf, nan = math.inf, math.nan


class G(T):
    """A tensor argument that requires grad, given by its values or a pattern."""
    def text(self):
        return 'g' + super().text()[1:]


def cotangent(t):
    return torch.tensor([((k * 5 + 2) % 7 + 2) / 8 for k in range(t.numel())], dtype=t.dtype).reshape(t.shape)


def v(dtype, values, shape=None):
    return T(dtype, [len(values)] if shape is None else shape, values)


def g(dtype, values, shape=None):
    return G(dtype, [len(values)] if shape is None else shape, values)


ops.MEANING.update({
    'elu': torch.nn.functional.elu, 'celu': lambda x, a: torch.nn.functional.celu(x, alpha=a),
})
lines = []


def edge(name, *args):
    leaves = []
    values = []
    for a in args:
        x = ops.arg_value(a)
        if isinstance(a, G):
            x.requires_grad_()
            leaves.append(x)
        values.append(x)
    grads = []
    try:
        keep, ops.arg_value = ops.arg_value, lambda x: x
        try:
            r = ops.call(name, values)
        finally:
            ops.arg_value = keep
        outs = list(r) if isinstance(r, (list, tuple)) else [r]
        out = ';'.join(ops.out_text(t.detach()) for t in outs)
        diff = [t for t in outs if t.requires_grad]
        if leaves and diff:
            grads = torch.autograd.grad(diff, leaves, [cotangent(t) for t in diff], allow_unused=True)
        else:
            grads = [None] * len(leaves)
    except Exception as e:
        out = '!'
        if '-v' in sys.argv:
            print(name, [ops.arg_text(a) for a in args], type(e).__name__, str(e)[:200])
    line = '%s|%s|%s|%s' % (name, ';'.join(ops.arg_text(a) for a in args), out, ';'.join('-' if x is None else ops.out_text(x) for x in grads))
    lines.append(line)


FLOATS = ops.FLOATS
HALVES = ['f16', 'bf16']


# ---- gradients ------------------------------------------------------------------------------------------------------------------------

for d in FLOATS:
    far = [-17.0, -30.0, -9.0, -5.0, -1.0, -0.0625, -0.0, 0.0, 1.0, 5.0, 20.0]
    for a in (1.0, 0.5):
        edge('elu', g(d, far), a)
        edge('celu', g(d, far), a)
    edge('selu', g(d, far))


def write(path):
    with open(path, 'w') as f:
        f.write('/* tests/ops/edges.c: what PyTorch %s gives at the edges of operators. Written by tests/oracle/edges.py, which says\n'
                ' * what a line means; read by tests/unit/test_edges.c. */\n' % torch.__version__.split('+')[0])
        f.write('static const char *const edges[] = {\n')
        for line in lines:
            f.write(ops.quote(line) + ',\n')
        f.write('};\n')


write(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'ops', 'edges.c'))
