#!/usr/bin/env python3
"""Writes the node tests of the package onnx as files for tests/onnx/run_cases.c.

usage: cases.py FOLDER

Each case becomes FOLDER/<name>/model.onnx with test_data_set_0/input_<i>.pb and output_<i>.pb, the
form of the package's own model tests; FOLDER/list has a line a case: folder, rtol, atol. Cases are
taken where all inputs and outputs are tensors of types that dync holds, or sequences of them and optional ones: these are
made of tensors before the model's nodes, and taken apart behind them; what has sequences runs a second time with
lists of tensors in their place (<name>_lists, <kind>_<i>.list and <kind>_<i>_<k>.pb). Training operators, maps and strings are left out, and counted.
"""
import os
import sys
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnx
from onnx import TensorProto as T, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

HELD = {T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16, T.INT64, T.INT32, T.INT16, T.INT8, T.UINT8,
        T.BOOL, T.UINT16, T.UINT32, T.UINT64, T.INT4, T.UINT4}
TRAINING = {"ai.onnx.preview.training"}


def plain(value_info):
    t = value_info.type
    return t.HasField("tensor_type") and t.tensor_type.elem_type in HELD


def held(value_info):
    """A tensor, a sequence, an optional one of either, of types that are held?"""
    t = value_info.type
    while t.WhichOneof("value") in ("sequence_type", "optional_type"):
        t = getattr(t, t.WhichOneof("value")).elem_type
    return t.WhichOneof("value") == "tensor_type" and t.tensor_type.elem_type in HELD


def of_tensors(case):
    """The case with tensors alone: what is no tensor is made by operators of the model, and taken apart by them. None: it cannot be."""
    model, (inputs, outputs) = case.model, case.data_sets[0]
    graph = model.graph
    if all(plain(v) for v in list(graph.input) + list(graph.output)):
        return case
    if any(x.version < 15 for x in model.opset_import if x.domain == ""):       # Optional is of opset 15, and sequences are younger in old tests
        model.opset_import[0].version = 15
    before, behind, ins, outs, given, wanted = [], [], [], [], [], []

    def info(name, array):
        array = np.asarray(array)
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    for v, value in zip(graph.input, inputs):
        kind = v.type.WhichOneof("value")
        if plain(v):
            ins.append(v), given.append(value)
            continue
        optional = kind == "optional_type"
        inner = v.type.optional_type.elem_type if optional else v.type
        made = v.name + "_made" if optional else v.name
        if value is None:
            before.append(helper.make_node("Optional", [], [v.name], type=inner))
            continue
        parts = value if isinstance(value, list) else [value]
        for i, x in enumerate(parts):
            ins.append(info(f"{v.name}_{i}", x)), given.append(x)
        if isinstance(value, list):
            before.append(helper.make_node("SequenceConstruct", [f"{v.name}_{i}" for i in range(len(parts))], [made]) if parts else
                          helper.make_node("SequenceEmpty", [], [made], dtype=inner.sequence_type.elem_type.tensor_type.elem_type))
        else:
            made = v.name + "_0"
        if optional:
            before.append(helper.make_node("Optional", [made], [v.name]))
    for v, value in zip(graph.output, outputs):
        if plain(v):
            outs.append(v), wanted.append(value)
            continue
        name = v.name
        if value is None:
            return None
        if v.type.WhichOneof("value") == "optional_type":
            behind.append(helper.make_node("OptionalGetElement", [name], [name + "_got"]))
            name += "_got"
        if not isinstance(value, list):
            outs.append(info(name, value)), wanted.append(value)
            continue
        n = v.name + "_length"
        behind.append(helper.make_node("SequenceLength", [name], [n]))
        outs.append(info(n, np.int64(len(value)))), wanted.append(np.array(len(value), np.int64))
        for i, x in enumerate(value):
            at = f"{v.name}_at_{i}"
            behind.append(helper.make_node("Constant", [], [at], value=numpy_helper.from_array(np.array(i, np.int64))))
            behind.append(helper.make_node("SequenceAt", [name, at], [f"{v.name}_{i}"]))
            outs.append(info(f"{v.name}_{i}", x)), wanted.append(x)
    nodes = before + list(graph.node) + behind
    for field, values in (("input", ins), ("output", outs), ("node", nodes)):
        values = [type(x).FromString(x.SerializeToString()) for x in values]
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    case.data_sets = [(given, wanted)]
    return case


def with_lists(case):
    """Are all inputs and outputs tensors or sequences of them, some of the latter? Then the case runs with lists, too."""
    infos = list(case.model.graph.input) + list(case.model.graph.output)
    return all(held(v) and v.type.WhichOneof("value") != "optional_type" for v in infos) and not all(plain(v) for v in infos)


def tensor(array, value_info):
    """The test's array as a TensorProto of the type that the model says."""
    array = array if isinstance(array, TensorProtoLike) else numpy_helper.from_array(np.asarray(array))
    array.name = value_info.name
    return array


TensorProtoLike = onnx.TensorProto


def within(case):
    """A cast of floating point to integers, without what Cast's text calls undefined (beyond the integers' range): zeros
    there. What the package expects of those follows the version of ml_dtypes: low bits in 0.6, zero in 0.7."""
    casts = [n.op_type for n in case.model.graph.node if n.op_type != "Constant"]
    if len(casts) != 1 or casts[0] not in ("Cast", "CastLike"):
        return
    (x, *rest), (y, *more) = case.data_sets[0]
    x, y = (numpy_helper.to_array(v) if isinstance(v, TensorProtoLike) else np.asarray(v) for v in (x, y))
    if x.dtype.name not in ("float16", "bfloat16", "float32", "float64") or y.dtype.name.lstrip("u")[:3] != "int":
        return
    bits = int(y.dtype.name.lstrip("u")[3:])
    low, high = (0, 2.0 ** bits) if y.dtype.name[0] == "u" else (-2.0 ** (bits - 1), 2.0 ** (bits - 1))
    whole = np.trunc(x.astype(np.float64))
    inside = (whole >= low) & (whole < high)
    case.data_sets = [([np.where(inside, x, np.zeros((), x.dtype)), *rest], [np.where(inside, y, np.zeros((), y.dtype)), *more])]


def write(folder, case, name=None):
    name = name or case.name
    model, (inputs, outputs) = case.model, case.data_sets[0]
    data = os.path.join(folder, name, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    with open(os.path.join(folder, name, "model.onnx"), "wb") as f:
        f.write(model.SerializeToString())
    for kind, arrays, infos in (("input", inputs, model.graph.input),
                                ("output", outputs, model.graph.output)):
        for i, (array, info) in enumerate(zip(arrays, infos)):
            if isinstance(array, list):         # how many, and each of them
                with open(os.path.join(data, f"{kind}_{i}.list"), "w") as f:
                    f.write(f"{len(array)}\n")
                for k, x in enumerate(array):
                    with open(os.path.join(data, f"{kind}_{i}_{k}.pb"), "wb") as f:
                        f.write(tensor(x, info).SerializeToString())
                continue
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(tensor(array, info).SerializeToString())


def models(folder):
    """The package's small models: their folders as they are; light ones get inputs and no outputs."""
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    lines = []
    for kind in ("pytorch-converted", "pytorch-operator", "simple"):
        for name in sorted(os.listdir(os.path.join(data, kind))):
            path = os.path.join(data, kind, name)
            if not os.path.exists(os.path.join(path, "model.onnx")):
                continue
            model = onnx.load(os.path.join(path, "model.onnx"))
            if not all(plain(v) for v in list(model.graph.input) + list(model.graph.output)):
                continue
            link = os.path.join(folder, kind + "-" + name)
            if not os.path.exists(link):
                os.symlink(path, link)
            lines.append(f"{kind}-{name} 0.001 1e-05\n")
    for name in sorted(os.listdir(os.path.join(data, "light"))):
        if name.endswith(".onnx"):
            lines += light(folder, os.path.join(data, "light", name), name[:-5])
    return lines


def light(folder, path, name):
    """A light model's weights are ConstantOfShape nodes: ONNX Runtime says what it gives."""
    try:
        import onnxruntime
    except ImportError:
        return []
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    target = os.path.join(folder, name)
    data = os.path.join(target, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    if not os.path.exists(os.path.join(target, "model.onnx")):
        os.symlink(path, os.path.join(target, "model.onnx"))
    rng = np.random.default_rng(0)
    feed = {}
    for i, value in enumerate(session.get_inputs()):
        shape = [d if isinstance(d, int) else 1 for d in value.shape]
        feed[value.name] = rng.standard_normal(shape).astype(np.float32)
        with open(os.path.join(data, f"input_{i}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(feed[value.name]).SerializeToString())
    for i, array in enumerate(session.run(None, feed)):
        with open(os.path.join(data, f"output_{i}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(array).SerializeToString())
    return [f"{name} 0.001 1e-05\n"]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    left, lines, ops = {}, [], set()
    for case in collect_testcases(None):
        model = case.model
        values = list(model.graph.input) + list(model.graph.output)
        domains = {n.domain for n in model.graph.node}
        if not all(held(v) for v in values):
            left["types that are not held"] = left.get("types that are not held", 0) + 1
            continue
        if domains & TRAINING:
            left["training"] = left.get("training", 0) + 1
            continue
        if with_lists(case):
            write(folder, case, case.name + "_lists")
            lines.append(f"{case.name}_lists {case.rtol:g} {case.atol:g}\n")
        case = of_tensors(case)
        if case is None or any(x is None or isinstance(x, (list, dict)) for d in case.data_sets[0] for x in d):
            left["results that are not there"] = left.get("results that are not there", 0) + 1
            continue
        within(case)
        write(folder, case)
        ops |= {n.op_type for n in model.graph.node}
        lines.append(f"{case.name} {case.rtol:g} {case.atol:g}\n")
    lines += models(folder)
    with open(os.path.join(folder, "list"), "w") as f:
        f.writelines(lines)
    print(f"{len(lines)} cases of {len(ops)} operators; left out: {left}")


if __name__ == "__main__":
    main()
