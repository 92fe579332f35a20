#!/usr/bin/env python3
"""Exports the architectures of exported.py, exported_more.py, exported_rest.py and exported_further.py by both of PyTorch's exporters, for run_cases.c.

usage: torch_onnx.py FOLDER [--all] [NAME...]     without names the 20 of exported.py; --all: all four files'

FOLDER/<name>_script and <name>_dynamo get model.onnx (torch.onnx.export with dynamo=False and True) and a folder
test_data_set_<n> an input tuple, with PyTorch's own outputs; FOLDER/list has a line a case: folder, rtol, atol, graph.
Without torch or onnxscript says why, and ends with 3.
"""
import contextlib
import inspect
import logging
import os
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
try:
    import onnx
    import onnxscript
    import torch
except ImportError as e:
    print(f"skip torch exporters: no package {e.name}")
    sys.exit(3)
from onnx import numpy_helper
from onnxscript import opset18

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from exported import ARCHITECTURES
from exported_more import MORE
from exported_rest import REST
from exported_further import FURTHER

RTOL = ATOL = 1e-4


def symbolic_nms(g, boxes, scores, most, overlap, least):
    """For the exporter of TorchScript."""
    from torch.onnx import symbolic_helper as h
    number = lambda v, dtype: g.op("Constant", value_t=torch.tensor([h._parse_arg(v, "i" if dtype == torch.int64 else "f")], dtype=dtype))
    axes = lambda *at: g.op("Constant", value_t=torch.tensor(at, dtype=torch.int64))
    found = g.op("NonMaxSuppression", g.op("Unsqueeze", boxes, axes(0)), g.op("Unsqueeze", scores, axes(0, 1)),
                 number(most, torch.int64), number(overlap, torch.float32), number(least, torch.float32))
    return g.op("Gather", found, g.op("Constant", value_t=torch.tensor(2)), axis_i=1)


def script_nms(boxes, scores, most: int, overlap: float, least: float):
    """For the exporter of torch.export."""
    op = opset18
    found = op.NonMaxSuppression(op.Unsqueeze(boxes, op.Constant(value_ints=[0])), op.Unsqueeze(scores, op.Constant(value_ints=[0, 1])),
                                 op.Constant(value_ints=[most]), op.Constant(value_floats=[overlap]), op.Constant(value_floats=[least]))
    return op.Gather(found, op.Constant(value_int=2), axis=1)


def export(case, path, dynamo):
    options = dict(input_names=case.names, dynamo=dynamo, verbose=False)
    if dynamo:
        options["custom_translation_table"] = {torch.ops.dync_tests.nms.default: script_nms}
        options["external_data"] = False
        if case.dynamic:
            sizes = {}
            dim = lambda name: sizes.setdefault(name, torch.export.Dim.DYNAMIC)
            options["dynamic_shapes"] = tuple({d: dim(n) for d, n in case.dynamic.get(i, {}).items()} or None for i in case.names)
            if any(p.kind == p.VAR_POSITIONAL for p in inspect.signature(case.module.forward).parameters.values()):
                options["dynamic_shapes"] = (options["dynamic_shapes"][0], options["dynamic_shapes"][1:])
    else:
        torch.onnx.register_custom_op_symbolic("dync_tests::nms", symbolic_nms, 11)
        options["dynamic_axes"] = case.dynamic
    torch.onnx.export(case.module, case.inputs[0], path, **options)


@contextlib.contextmanager
def silent():
    """Nothing on the standard output: an exporter that fails prints its graph there."""
    sys.stdout.flush()
    kept, none = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(none, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(none)


def write(folder, kind, tensors):
    os.makedirs(folder, exist_ok=True)
    for i, t in enumerate(tensors):
        with open(os.path.join(folder, f"{kind}_{i}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(t.detach().contiguous().numpy()).SerializeToString())


def main():
    every = {**ARCHITECTURES, **MORE, **REST, **FURTHER}
    folder, names = sys.argv[1], [a for a in sys.argv[2:] if a != "--all"]
    names = names or list(every if "--all" in sys.argv else ARCHITECTURES)
    lines, failed = [], 0
    for name in names:
        for kind in ("script", "dynamo"):
            torch.manual_seed(7)
            case = every[name]()
            if kind not in case.kinds:
                continue
            case.module.eval()
            target = os.path.join(folder, f"{name}_{kind}")
            os.makedirs(target, exist_ok=True)
            try:
                with silent():
                    export(case, os.path.join(target, "model.onnx"), kind == "dynamo")
            except Exception as e:
                print(f"FAIL {name}_{kind}: is not exported: {type(e).__name__}: {str(e)[-1500:]}")
                failed += 1
                continue
            for i, inputs in enumerate(case.inputs):
                with torch.no_grad():
                    outputs = case.module(*inputs)
                data = os.path.join(target, f"test_data_set_{i}")
                write(data, "input", inputs)
                write(data, "output", outputs if isinstance(outputs, (tuple, list)) else [outputs])
            lines.append(f"{name}_{kind} {RTOL:g} {ATOL:g}{' graph' if case.graph else ''}\n")
    with open(os.path.join(folder, "list"), "w") as f:
        f.writelines(lines)
    print(f"{len(lines)} models of {len(names)} architectures")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
