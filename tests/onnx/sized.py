#!/usr/bin/env python3
"""Models whose sizes calls tell, for tests/onnx/run_cases.c: each becomes one graph of symbolic sizes.

usage: sized.py FOLDER

Writes FOLDER/sized: a line a model, which must have a graph. Each has data sets of random sizes, 0 and 1 among them
where the operators take them, and what ONNX Runtime gives for them.
"""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

SETS = 7
rng = np.random.default_rng(7)


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def i(*values):
    return np.array(values, np.int64)


def one(value):
    return np.array(value, np.int64)


n = helper.make_node
X = {"x": ["a", "b", 6]}
PICTURE = {"x": ["n", 3, "h", "w_"]}


def scales(*of):
    return np.array((1, 1) + of, np.float32)


def body(nodes, inputs, outputs, name="body"):
    types = {"i": T.INT64, "on": T.BOOL, "go": T.BOOL}
    return helper.make_graph(nodes, name, [helper.make_tensor_value_info(k, types.get(k, T.FLOAT), [] if k in types else [None, 6])
                                           for k in inputs],
                             [helper.make_tensor_value_info(k, types.get(k, T.FLOAT), None) for k in outputs])


HALVE = body([n("Mul", ["a", "half"], ["a2"]), n("ReduceMax", ["a2"], ["m"], keepdims=0), n("Greater", ["m", "low"], ["go"])],
             ["i", "on", "a"], ["go", "a2"])
COUNT = body([n("Cast", ["i"], ["c"], to=T.FLOAT), n("Add", ["a", "c"], ["a1"]), n("Mul", ["a1", "half"], ["a2"]), n("Identity", ["on"], ["go"])],
             ["i", "on", "a"], ["go", "a2"])
GROW = body([n("Gather", ["x", "i"], ["g"]), n("Add", ["a", "g"], ["a2"]), n("Identity", ["on"], ["go"]), n("Mul", ["a2", "g"], ["o"])],
            ["i", "on", "a"], ["go", "a2", "o"])
NOTHING = body([n("Add", ["a", "half"], ["a2"]), n("Identity", ["on"], ["go"]), n("Identity", ["i"], ["o"])], ["i", "on", "a"], ["go", "a2", "o"])
NOTHING.output[2].type.tensor_type.elem_type = T.INT64
# a list to which each round appends, as torch.jit.script writes it
APPEND = body([n("Gather", ["x", "i"], ["g"]), n("Add", ["a", "g"], ["a2"]), n("Identity", ["on"], ["go"]), n("Mul", ["a2", "half"], ["o"]),
               n("SequenceInsert", ["list", "o"], ["list2"])], ["i", "on", "a"], ["go", "a2"])
APPEND.input.append(helper.make_tensor_sequence_value_info("list", T.FLOAT, None))
APPEND.output.append(helper.make_tensor_sequence_value_info("list2", T.FLOAT, None))
CELL = body([n("MatMul", ["h", "w"], ["p"]), n("Add", ["p", "t"], ["q"]), n("Tanh", ["q"], ["h2"]), n("Mul", ["h2", "h2"], ["o"])],
            ["h", "t"], ["h2", "o"])

# name: nodes, inputs, outputs, initializers, then options: opset, least size, most size, dtypes of inputs by name
MODELS = {
    "linear": ([n("Gemm", ["x", "w", "c"], ["h"], transB=1), n("Relu", ["h"], ["r"]), n("MatMul", ["r", "v"], ["y"])],
               {"x": ["batch", 6]}, ["y"], {"w": f(8, 6), "c": f(8), "v": f(8, 3)}),
    "reshape": ([n("Reshape", ["x", "to"], ["y"])], X, ["y"], {"to": i(0, -1, 2, 3)}),
    "reshape_back": ([n("Reshape", ["x", "to"], ["h"]), n("Relu", ["h"], ["r"]), n("Shape", ["x"], ["s"]),
                      n("Reshape", ["r", "s"], ["y"])], X, ["y"], {"to": i(-1, 3)}, {"least": 1}),
    "shape_of": ([n("Shape", ["x"], ["s"]), n("Size", ["x"], ["z"]), n("Shape", ["x"], ["e"], start=1)], X,
                 ["s", "z", "e"], {}),
    "sizes_as_data": ([n("Shape", ["x"], ["s"]), n("Cast", ["s"], ["c"], to=T.FLOAT),
                       n("ReduceProd", ["c"], ["p"], keepdims=0), n("Div", ["x", "p"], ["y"])], X, ["y"], {}, {"least": 1}),
    "arithmetic": ([n("Shape", ["x"], ["s"]), n("Slice", ["s", "n0", "n2"], ["ab"]), n("ReduceProd", ["ab"], ["p"], keepdims=1),
                    n("Mul", ["p", "n2"], ["p2"]), n("Sub", ["p2", "p"], ["d"]), n("Div", ["d", "n1"], ["q"]),
                    n("Max", ["q", "n1"], ["m"]), n("Concat", ["m", "n3", "n2"], ["to"], axis=0),
                    n("Reshape", ["x", "to"], ["y"])], X, ["y"], {"n0": i(0), "n1": i(1), "n2": i(2), "n3": i(3)}, {"least": 2}),
    "where_shape": ([n("Shape", ["x"], ["s"]), n("Equal", ["t", "m1"], ["is"]), n("Where", ["is", "s", "t"], ["to"]),
                     n("Expand", ["v", "to"], ["e"]), n("Add", ["e", "x"], ["y"])], X, ["y"],
                    {"t": i(-1, -1, 6), "m1": i(-1), "v": f(1, 1, 6)}),
    "constant_of_shape": ([n("Shape", ["x"], ["s"]), n("ConstantOfShape", ["s"], ["c"], value=numpy_helper.from_array(f(1))),
                           n("Sub", ["x", "c"], ["y"])], X, ["y"], {}),
    "range": ([n("Shape", ["x"], ["s"]), n("Gather", ["s", "k"], ["b"]), n("Range", ["z", "b", "o"], ["r"]),
               n("Cast", ["r"], ["c"], to=T.FLOAT), n("Unsqueeze", ["c", "ax"], ["u"]), n("Add", ["x", "u"], ["y"])],
              X, ["y"], {"k": one(1), "z": one(0), "o": one(1), "ax": i(1)}),
    "range_of_floats": ([n("Shape", ["x"], ["s"]), n("Gather", ["s", "k"], ["b"]), n("Cast", ["b"], ["f"], to=T.FLOAT), n("Range", ["z", "f", "o"], ["r"]),
                         n("Unsqueeze", ["r", "ax"], ["u"]), n("Add", ["x", "u"], ["y"])],
                        X, ["y"], {"k": one(1), "z": np.float32(0), "o": np.float32(1), "ax": i(1)}),
    "shape_in_int32": ([n("Shape", ["x"], ["s"]), n("Cast", ["s"], ["c"], to=T.INT32), n("Slice", ["c", "n0", "n1"], ["a"]), n("Mul", ["a", "two"], ["a2"]),
                        n("Concat", ["a2", "m1", "three"], ["to32"], axis=0), n("Cast", ["to32"], ["to"], to=T.INT64), n("Reshape", ["x", "to"], ["y"])],
                       X, ["y"], {"n0": i(0), "n1": i(1), "two": np.array([2], np.int32), "m1": np.array([-1], np.int32), "three": np.array([3], np.int32)}, {"least": 1}),
    "shape_in_float": ([n("Shape", ["x"], ["s"]), n("Slice", ["s", "n0", "n1"], ["a"]), n("Cast", ["a"], ["f"], to=T.FLOAT), n("Mul", ["f", "two"], ["g"]),
                        n("Floor", ["g"], ["h"]), n("Cast", ["h"], ["d"], to=T.INT64), n("Concat", ["d", "m1"], ["to"], axis=0), n("Reshape", ["x", "to"], ["y"])],
                       X, ["y"], {"n0": i(0), "n1": i(1), "two": np.array([2], np.float32), "m1": i(-1)}, {"least": 1}),
    "quantize": ([n("QuantizeLinear", ["x", "s", "z"], ["q"]), n("DequantizeLinear", ["q", "s", "z"], ["y"])], X, ["y"],
                 {"s": np.float32(0.05), "z": np.uint8(7)}),
    "table_of_positions": ([n("Shape", ["x"], ["s"], start=1, end=2), n("Slice", ["p", "n0", "s", "n0"], ["q"]), n("Add", ["x", "q"], ["y"])], X, ["y"],
                           {"n0": i(0), "p": f(40, 6)}, {"least": 2}),
    "scatter_max": ([n("ScatterElements", ["x", "at", "v"], ["y"], axis=0, reduction="max")], {"x": ["a", 6], "at": ["n", 6], "v": ["n", 6]}, ["y"],
                    {}, {"least": 2, "int": {"at": 2}, "opset": 18}),
    "conv3d": ([n("Conv", ["x", "w"], ["y"], pads=[1, 0, 1, 1, 1, 1], strides=[2, 1, 2])], {"x": ["n", 2, "d", "h", "w_"]}, ["y"], {"w": f(3, 2, 3, 2, 3)}, {"least": 3}),
    "conv_transpose3d": ([n("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2, 1])], {"x": ["n", 2, "d", "h", "w_"]}, ["y"], {"w": f(2, 3, 2, 3, 2)}, {"least": 1}),
    "max_pool3d": ([n("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 3, 2], strides=[2, 2, 2], pads=[0, 1, 0, 0, 1, 0])], {"x": ["n", 2, "d", "h", "w_"]}, ["y", "i"], {}, {"least": 3}),
    "max_pool_ceil": ([n("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)], PICTURE, ["y"], {}, {"least": 3, "opset": 19}),
    "max_pool_uneven": ([n("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0])], PICTURE, ["y"], {}, {"least": 3}),
    "max_pool_ceil_far": ([n("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[3, 3], ceil_mode=1)], PICTURE, ["y"], {}, {"least": 3, "opset": 19}),
    "col2im": ([n("Shape", ["x"], ["l"], start=2), n("Mul", ["l", "two"], ["l2"]), n("Add", ["l2", "two"], ["wide"]),
                n("Concat", ["row", "wide"], ["to"], axis=0), n("Col2Im", ["x", "to", "block"], ["y"], strides=[1, 2])], {"x": ["n", 8, "l"]}, ["y"],
               {"two": i(2), "row": i(1), "block": i(1, 4)}, {"least": 3, "opset": 18}),
    "col2im_uneven": ([n("Shape", ["x"], ["l"], start=2), n("Mul", ["l", "two"], ["l2"]), n("Sub", ["l2", "one"], ["wide"]),
                       n("Concat", ["row", "wide"], ["to"], axis=0), n("Col2Im", ["x", "to", "block"], ["y"], strides=[1, 2], pads=[0, 1, 0, 2])],
                      {"x": ["n", 8, "l"]}, ["y"], {"two": i(2), "one": i(1), "row": i(1), "block": i(1, 4)}, {"least": 3, "opset": 18}),
    "average_pool_ceil": ([n("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)], PICTURE, ["y"], {}, {"least": 3, "opset": 19}),
    "average_pool_ceil_pad": ([n("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=1)], PICTURE, ["y"],
                              {}, {"least": 3, "opset": 19}),
    "average_pool_uneven": ([n("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 0, 1])], PICTURE, ["y"], {}, {"least": 3}),
    "average_pool3d": ([n("AveragePool", ["x"], ["y"], kernel_shape=[3, 3, 3], strides=[2, 2, 2], pads=[1, 1, 1, 1, 1, 1], count_include_pad=1)],
                       {"x": ["n", 2, "d", "h", "w_"]}, ["y"], {}, {"least": 3, "opset": 19}),
    "lp_pool": ([n("LpPool", ["x"], ["y"], kernel_shape=[3, 2], strides=[1, 2], p=3, pads=[1, 0, 1, 1])], PICTURE, ["y"], {}, {"least": 3, "opset": 18}),
    "same_upper": ([n("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2])], PICTURE, ["y"], {"w": f(4, 3, 3, 3)}, {"least": 4}),
    "affine_grid": ([n("Shape", ["x"], ["s"]), n("AffineGrid", ["t", "s"], ["g"]), n("GridSample", ["x", "g"], ["y"], mode="linear")],
                    {"x": ["n", 3, "h", "w_"], "t": ["n", 2, 3]}, ["y"], {}, {"least": 2, "opset": 20}),
    "affine_grid3d": ([n("Shape", ["x"], ["s"]), n("AffineGrid", ["t", "s"], ["g"]), n("GridSample", ["x", "g"], ["y"], mode="linear")],
                      {"x": ["n", 3, "d", "h", "w_"], "t": ["n", 3, 4]}, ["y"], {}, {"least": 2, "opset": 20}),
    "affine_grid3d_corners": ([n("Shape", ["x"], ["s"]), n("AffineGrid", ["t", "s"], ["g"], align_corners=1),
                               n("GridSample", ["x", "g"], ["y"], mode="nearest", padding_mode="border", align_corners=1)],
                              {"x": ["n", 3, 4, 5, 6], "t": ["n", 3, 4]}, ["y"], {}, {"least": 1, "opset": 20}),
    # places between an image's edge and the middle of its last element
    "grid_cubic_border": ([n("GridSample", ["x", "g"], ["y"], mode="cubic", padding_mode="border")],
                          {"x": ["n", 3, "h", "w_"], "g": ["n", 4, 5, 2]}, ["y"], {}, {"least": 2, "opset": 20}),
    "grid_reflected": ([n("GridSample", ["x", "g"], ["y"], mode="linear", padding_mode="reflection")],
                       {"x": ["n", 3, "h", "w_"], "g": ["n", 4, "q", 2]}, ["y"], {}, {"least": 2, "opset": 20}),
    "scatter_mul": ([n("ScatterElements", ["x", "at", "v"], ["y"], axis=0, reduction="mul")], {"x": ["a", 6], "at": ["n", 6], "v": ["n", 6]}, ["y"],
                    {}, {"least": 2, "most": 12, "int": {"at": 2}, "opset": 18}),
    "scatter_nd_mul": ([n("ScatterND", ["x", "k", "u"], ["y"], reduction="mul"), n("ScatterND", ["x", "k", "u"], ["z"], reduction="max")],
                       {"x": ["a", 6], "k": ["n", 1], "u": ["n", 6]}, ["y", "z"], {}, {"least": 2, "most": 12, "int": {"k": 2}, "opset": 18}),
    "range_of_two": ([n("Shape", ["x"], ["s"]), n("Gather", ["s", "k"], ["b"]), n("Add", ["b", "three"], ["b3"]),
                      n("Range", ["b", "b3", "two"], ["r"])], X, ["r"], {"k": one(0), "three": one(3), "two": one(2)}),
    "slice": ([n("Slice", ["x", "st", "en", "ax"], ["p"]), n("Slice", ["p", "st2", "en2", "ax", "by"], ["y"])],
              {"x": ["a", "b", 6]}, ["p", "y"],
              {"st": i(1, -3), "en": i(2**63 - 1, -1), "ax": i(0, 1), "st2": i(0, 0), "en2": i(1000, 1000), "by": i(2, 1)},
              {"least": 2}),
    "slice_by_shape": ([n("Shape", ["x"], ["s"]), n("Gather", ["s", "k"], ["b"]), n("Sub", ["b", "o"], ["last"]),
                        n("Slice", ["x", "o", "b", "ax"], ["p"]), n("Slice", ["x", "last", "b", "ax"], ["y"])],
                       X, ["p", "y"], {"k": i(1), "o": i(1), "ax": i(1)}, {"least": 2}),
    "split": ([n("Split", ["x"], ["p", "q"], axis=0, num_outputs=2), n("Split", ["x", "w"], ["r", "t"], axis=2)],
              {"x": [4, "b", 6]}, ["p", "q", "r", "t"], {"w": i(2, 4)}, {"opset": 18}),
    "split_open": ([n("Split", ["x"], ["p", "q"], axis=0, num_outputs=2)], {"x": ["a", 3]}, ["p", "q"], {}, {"opset": 18, "least": 2}),
    "tile": ([n("Tile", ["x", "t"], ["y"])], X, ["y"], {"t": i(2, 1, 3)}),
    "concat": ([n("Concat", ["x", "z", "x"], ["y"], axis=1)], {"x": ["a", "b", 6], "z": ["a", "c", 6]}, ["y"], {}),
    "squeeze": ([n("Unsqueeze", ["x", "ax"], ["u"]), n("Transpose", ["u"], ["t"], perm=[3, 1, 2, 0]),
                 n("Squeeze", ["t", "bx"], ["y"])], X, ["y"], {"ax": i(0), "bx": i(3)}),
    "flatten": ([n("Flatten", ["x"], ["y"], axis=1), n("Flatten", ["x"], ["z"], axis=2)], X, ["y", "z"], {}),
    "pad": ([n("Pad", ["x", "p", "v"], ["y"]), n("Pad", ["x", "q"], ["z"])], X, ["y", "z"],
            {"p": i(1, 0, 2, 0, 2, 1), "v": np.float32(3), "q": i(0, -1, 0, 0, 1, -1)}, {"least": 2}),
    "pad_mirror": ([n("Pad", ["x", "p"], ["y"], mode="reflect"), n("Pad", ["x", "p"], ["z"], mode="edge"),
                    n("Pad", ["x", "p"], ["w"], mode="wrap")], X, ["y", "z", "w"], {"p": i(1, 0, 2, 0, 2, 1)}, {"least": 3, "opset": 19}),
    # what is missing to whole windows of 4; then what one picture is larger than the other, which may be negative
    "pad_to_windows": ([n("Shape", ["x"], ["s"]), n("Gather", ["s", "k"], ["b"]), n("Mod", ["b", "four"], ["m"]), n("Sub", ["four", "m"], ["d"]),
                        n("Mod", ["d", "four"], ["e"]), n("Concat", ["zeros", "e", "zero"], ["p"], axis=0), n("Pad", ["x", "p"], ["t"]),
                        n("Reshape", ["t", "r"], ["y"])],
                       X, ["y"], {"k": i(1), "four": i(4), "zeros": i(0, 0, 0, 0), "zero": i(0), "r": i(0, -1, 4, 6)}, {"least": 2}),
    **{"pad_by_size_" + m: ([n("Shape", ["x"], ["s"]), n("Shape", ["z"], ["t"]), n("Sub", ["t", "s"], ["d"]), n("Div", ["d", "two"], ["h"]),
                             n("Sub", ["d", "h"], ["l"]), n("Concat", ["h", "l"], ["p"], axis=0), n("Pad", ["x", "p"], ["q"], mode=m),
                             n("Add", ["q", "z"], ["y"])],
                            {"x": ["a", "b", 6], "z": ["c", "d", 6]}, ["y"], {"two": i(2)},
                            {"least": 3 if m == "constant" else 5, "most": 8, "opset": 19}) for m in ("constant", "edge")},
    "pad_reflected": ([n("Shape", ["x"], ["s"]), n("Sub", ["s", "two"], ["h"]), n("Concat", ["h", "zeros"], ["p"], axis=0),
                       n("Pad", ["x", "p"], ["y"], mode="reflect"), n("Pad", ["x", "p"], ["z"], mode="wrap")],
                      {"x": ["a", "b"]}, ["y", "z"], {"two": i(2, 2), "zeros": i(0, 0)}, {"least": 3, "opset": 19}),
    "average_pool_padded": ([n("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 1]),
                             n("AveragePool", ["x"], ["z"], kernel_shape=[3, 2], pads=[1, 0, 1, 0], count_include_pad=1)],
                            PICTURE, ["y", "z"], {}, {"least": 3}),
    "depth": ([n("DepthToSpace", ["x"], ["d"], blocksize=2), n("SpaceToDepth", ["d"], ["y"], blocksize=2)],
              {"x": ["n", 8, "h", "w"]}, ["d", "y"], {}, {"least": 1}),
    "gather": ([n("Gather", ["e", "k"], ["g"]), n("Gather", ["g", "l"], ["y"], axis=1)], {"k": ["a", "b"]}, ["g", "y"],
               {"e": f(9, 4), "l": i(-1, 0)}, {"int": {"k": 9}, "least": 1}),
    "gather_open": ([n("Gather", ["x", "k"], ["y"], axis=1), n("GatherElements", ["x", "j"], ["z"], axis=1)], X, ["y", "z"],
                    {"k": i(-1, 0), "j": np.zeros((1, 1, 6), np.int64)}, {"least": 1}),
    "gather_nd": ([n("GatherND", ["x", "k"], ["y"])], X, ["y"], {"k": np.array([[0, 0], [-1, -1]], np.int64)}, {"least": 1}),
    "scatter_nd": ([n("ScatterND", ["x", "k", "u"], ["y"])], X, ["y"],
                   {"k": np.array([[0, 0], [-1, -1]], np.int64), "u": f(2, 6)}, {"least": 2}),
    "one_hot": ([n("OneHot", ["k", "d", "v"], ["y"], axis=1)], {"k": ["a", "b"]}, ["y"], {"d": one(5), "v": f(2)}, {"int": {"k": 5}}),
    "softmax": ([n("Softmax", ["x"], ["y"], axis=1), n("LogSoftmax", ["x"], ["z"])], X, ["y", "z"], {}, {"least": 1}),
    "softmax_11": ([n("Softmax", ["x"], ["y"], axis=1)], X, ["y"], {}, {"opset": 11, "least": 1}),
    "reduce": ([n("ReduceMean", ["x"], ["y"], axes=[1]), n("ReduceMax", ["x"], ["z"], axes=[0, 2], keepdims=0),
                n("ReduceSum", ["x", "ax"], ["w"]), n("ReduceL2", ["x"], ["v"])], X, ["y", "z", "w", "v"], {"ax": i(-1)}, {"least": 1}),
    "cumsum": ([n("CumSum", ["x", "ax"], ["y"]), n("CumSum", ["x", "ax"], ["z"], reverse=1)], X, ["y", "z"], {"ax": one(1)}, {"least": 1}),
    "top_k": ([n("TopK", ["x", "k"], ["v", "at"], axis=1)], X, ["v", "at"], {"k": i(2)}, {"least": 2}),
    "trilu": ([n("Trilu", ["x"], ["y"], upper=0)], {"x": ["a", "b", "c"]}, ["y"], {}),
    "trilu_by_size": ([n("Shape", ["x"], ["s"]), n("Split", ["s"], ["r", "c"], axis=0, num_outputs=2), n("Sub", ["c", "r"], ["k"]),
                       n("Squeeze", ["k"], ["j"]), n("Trilu", ["x", "j"], ["y"], upper=0), n("Trilu", ["x", "j"], ["z"])], {"x": ["a", "b"]}, ["y", "z"], {}, {"opset": 18}),
    "conv": ([n("Conv", ["x", "w", "c"], ["h"], pads=[1, 1, 1, 1], strides=[2, 2]), n("Relu", ["h"], ["r"]),
              n("MaxPool", ["r"], ["m"], kernel_shape=[2, 2]), n("GlobalAveragePool", ["m"], ["g"]), n("Flatten", ["g"], ["y"])],
             {"x": ["n", 3, "h", "w"]}, ["y", "m"], {"w": f(4, 3, 3, 3), "c": f(4)}, {"least": 4, "most": 12}),
    "conv_same": ([n("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER")], {"x": ["n", 3, "h", 7]}, ["y"], {"w": f(4, 3, 3, 3)}, {"least": 1}),
    "conv_1d": ([n("Conv", ["x", "w"], ["h"], pads=[2, 2], dilations=[2]), n("AveragePool", ["h"], ["y"], kernel_shape=[2], strides=[2])],
                {"x": ["n", 3, "t"]}, ["h"], {"w": f(4, 3, 3)}, {"least": 4}),
    "conv_transpose": ([n("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1])], {"x": ["n", 3, "h", "w_"]}, ["y"],
                       {"w": f(3, 2, 4, 4)}, {"least": 2}),
    "unet": ([n("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), n("MaxPool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
              n("ConvTranspose", ["p", "v"], ["u"], strides=[2, 2]), n("Concat", ["a", "u"], ["y"], axis=1)],
             {"x": ["n", 3, "h", "w_"]}, ["y"], {"w": f(4, 3, 3, 3), "v": f(4, 4, 2, 2)}, {"even": True, "least": 2}),
    "resize_batch": ([n("Resize", ["x", "", "s"], ["y"], mode="linear")], {"x": ["n", 3, 4, 5]}, ["y"],
                     {"s": np.array([1, 1, 2, 2], np.float32)}, {"least": 1}),
    "resize_nearest": ([n("Resize", ["x", "", "s"], ["y"]), n("Resize", ["x", "", "r"], ["z"], coordinate_transformation_mode="asymmetric",
                                                             nearest_mode="floor")],
                       PICTURE, ["y", "z"], {"s": scales(2, 3), "r": scales(1.5, 0.5)}, {"least": 2}),
    "resize_rounded": ([n("Resize", ["x", "", "s"], ["y"], nearest_mode="ceil"), n("Resize", ["x", "", "s"], ["z"], nearest_mode="round_prefer_ceil")],
                       PICTURE, ["y", "z"], {"s": scales(1.75, 2.25)}, {"least": 2}),
    "resize_linear": ([n("Resize", ["x", "", "s"], ["y"], mode="linear"), n("Resize", ["x", "", "r"], ["z"], mode="linear",
                                                                           coordinate_transformation_mode="align_corners")],
                      PICTURE, ["y", "z"], {"s": scales(2, 0.5), "r": scales(1.6, 2.5)}, {"least": 2}),
    "resize_cubic": ([n("Resize", ["x", "", "s"], ["y"], mode="cubic", cubic_coeff_a=-0.5), n("Resize", ["x", "", "r"], ["z"], mode="cubic",
                                                                            coordinate_transformation_mode="asymmetric")],
                     PICTURE, ["y", "z"], {"s": scales(2, 1.25), "r": scales(1.5, 1)}, {"least": 3}),
    "resize_to": ([n("Shape", ["x"], ["d"]), n("Mul", ["d", "k"], ["to"]), n("Resize", ["x", "", "", "to"], ["y"], mode="linear"),
                   n("Shape", ["z"], ["e"]), n("Resize", ["x", "", "", "e"], ["w"], mode="nearest", coordinate_transformation_mode="half_pixel")],
                  {"x": ["n", 3, "h", "w_"], "z": ["n", 3, "g", 9]}, ["y", "w"], {"k": i(1, 1, 2, 3)}, {"least": 2}),
    "resize_fixed": ([n("Resize", ["x", "", "", "to"], ["y"], mode="linear", coordinate_transformation_mode="pytorch_half_pixel", axes=[2, 3])],
                     PICTURE, ["y"], {"to": i(7, 5)}, {"least": 2, "opset": 18}),
    "resize_antialias": ([n("Resize", ["x", "", "s"], ["y"], mode="linear", antialias=1), n("Resize", ["x", "", "s"], ["z"], mode="cubic", antialias=1)],
                         PICTURE, ["y", "z"], {"s": scales(0.5, 0.4)}, {"least": 5, "most": 12, "opset": 18}),
    "resize_antialias_to": ([n("Resize", ["x", "", "", "to"], ["y"], mode="linear", antialias=1, axes=[2, 3]),
                             n("Resize", ["x", "", "", "to"], ["z"], mode="cubic", antialias=1, axes=[2, 3])],
                            PICTURE, ["y", "z"], {"to": i(3, 5)}, {"least": 2, "most": 12, "opset": 18}),
    "resize_inside": ([n("Resize", ["x", "", "s"], ["y"], mode="cubic", exclude_outside=1)], PICTURE, ["y"], {"s": scales(2, 1.25)}, {"least": 3, "opset": 18}),
    "upsample": ([n("Upsample", ["x", "s"], ["y"], mode="nearest"), n("Upsample", ["x", "s"], ["z"], mode="linear")], PICTURE, ["y", "z"],
                 {"s": scales(2, 2)}, {"least": 2, "opset": 9}),
    # slices of a tensor of a batch of 1 have strides that no text shows
    "response_norm": ([n("Concat", ["x", "x"], ["c"], axis=1), n("LRN", ["c"], ["y"], size=3)], {"x": ["n", 3, "h", "w_"]}, ["y"], {}, {"least": 1}),
    # sizes that data decide; one mask for several tensors
    "non_zero": ([n("Greater", ["x", "zero"], ["m"]), n("NonZero", ["m"], ["p"]), n("Transpose", ["p"], ["q"], perm=[1, 0]), n("GatherND", ["x", "q"], ["v"]), n("NonZero", ["m"], ["p2"]),
                  n("Transpose", ["p2"], ["q2"], perm=[1, 0]), n("GatherND", ["z", "q2"], ["u"]), n("Add", ["v", "u"], ["y"])],
                 {"x": ["a", 6], "z": ["a", 6]}, ["y", "p"], {"zero": np.float32(0.2)}),
    "compress": ([n("Greater", ["k", "zero"], ["m"]), n("Compress", ["x", "m"], ["c"], axis=0), n("MatMul", ["c", "w"], ["y"]),
                  n("Compress", ["c", "n"], ["z"], axis=1),
                  n("ReduceSum", ["y", "ax"], ["s"], keepdims=0)],
                 {"x": ["a", 6], "k": ["a"]}, ["y", "z", "s"], {"zero": np.float32(0), "w": f(6, 3), "n": np.array([1, 0, 1, 1, 0, 1], bool), "ax": i(1)}),
    "unique": ([n("Unique", ["k"], ["y", "i", "j", "c"]), n("Gather", ["w", "y"], ["e"]), n("Gather", ["e", "j"], ["z"])],
               {"k": ["a"]}, ["y", "i", "j", "c", "z"], {"w": f(9, 4)}, {"int": {"k": 9}}),
    "unique_first": ([n("Floor", ["x"], ["h"]), n("Unique", ["h"], ["y", "i", "j", "c"], sorted=0)], {"x": ["a", "b"]}, ["y", "i", "j", "c"], {}, {"least": 1}),
    "unique_rows": ([n("Unique", ["k"], ["y", "i", "j", "c"], axis=0)], {"k": ["a", 2]}, ["y", "i", "j", "c"], {}, {"int": {"k": 2}, "least": 1}),
    "unique_columns": ([n("Unique", ["k"], ["y", "i", "j"], axis=1, sorted=0)], {"k": [3, "a"]}, ["y", "i", "j"], {}, {"int": {"k": 2}, "least": 1}),
    "compress_told": ([n("Greater", ["k", "zero"], ["m"]), n("Compress", ["x", "m"], ["c"], axis=0), n("Relu", ["c"], ["y"])],
                      {"x": [5, 6], "k": [5]}, ["y"], {"zero": np.float32(0)}),
    "non_max": ([n("NonMaxSuppression", ["x", "c", "most", "over", "least"], ["f"]), n("Gather", ["f", "two"], ["i"], axis=1), n("Squeeze", ["x", "zero"], ["b"]),
                 n("Gather", ["b", "i"], ["y"]), n("Abs", ["x"], ["a"]),
                 n("NonMaxSuppression", ["a", "c", "most", "over"], ["g"], center_point_box=1)],
                {"x": [1, "a", 4], "c": [1, 3, "a"]}, ["f", "y", "g"],
                {"most": i(3), "over": np.float32(0.1), "least": np.float32(-0.3), "zero": i(0), "two": np.array(2, np.int64)}, {"least": 1}),
    **{"non_max_batch" + ("_centre" if centre else ""):
       ([n("Abs", ["x"], ["a"]), n("NonMaxSuppression", ["a" if centre else "x", "c", "most", "over", "least"], ["f"], center_point_box=centre)],
        {"x": ["n", "a", 4], "c": ["n", "k", "a"]}, ["f"], {"most": i(3), "over": np.float32(0.1), "least": np.float32(-0.3)}, {"least": 1}) for centre in (0, 1)},
    "non_max_classes": ([n("NonMaxSuppression", ["x", "c", "most", "over"], ["f"])], {"x": [1, "a", 4], "c": [1, 80, "a"]}, ["f"],
                        {"most": i(3), "over": np.float32(0.1)}, {"least": 1}),
    "stft": ([n("STFT", ["x", "by", "w"], ["y"])], {"x": ["a", "t", 1]}, ["y"], {"by": np.array(3, np.int64), "w": f(8)}, {"least": 8, "most": 20}),
    "det": ([n("Det", ["x"], ["y"])], {"x": ["a", 3, 3]}, ["y"], {}, {"least": 1}),
    # taken apart and put together again: not of each length
    "skip_connection": ([n("Conv", ["x", "w"], ["h"], strides=[4]), n("Relu", ["h"], ["r"]), n("ConvTranspose", ["r", "w"], ["b"], strides=[4]),
                         n("Add", ["b", "x"], ["y"])], {"x": ["a", 1, "t"]}, ["y"], {"w": f(3, 1, 8)}, {"least": 8, "most": 20}),
    # com.microsoft, as ONNX Runtime's optimizer writes them
    "ms_attention": ([n("Attention", ["x", "w", "b", "mask"], ["y"], domain="com.microsoft", num_heads=2),
                      n("Attention", ["x", "w", "b"], ["z"], domain="com.microsoft", num_heads=2, unidirectional=1)],
                     {"x": ["a", "t", 8], "mask": ["a", "t"]}, ["y", "z"], {"w": f(8, 24), "b": f(24)}, {"least": 1, "int": {"mask": 2}, "i32": True}),
    "ms_multi_head": ([n("MultiHeadAttention", ["x", "k", "v"], ["y"], domain="com.microsoft", num_heads=2),
                       n("MultiHeadAttention", ["x", "x", "x", "", "", "", "pk", "pv"], ["z", "nk", "nv"], domain="com.microsoft", num_heads=2)],
                      {"x": ["a", "t", 8], "k": ["a", "u", 8], "v": ["a", "u", 8], "pk": ["a", 2, "p", 4], "pv": ["a", 2, "p", 4]},
                      ["y", "z", "nk", "nv"], {}, {"least": 1}),
    "ms_embedding": ([n("EmbedLayerNormalization", ["ids", "", "words", "places", "", "g", "b"], ["y", "count"], domain="com.microsoft")],
                     {"ids": ["a", "t"]}, ["y"], {"words": f(9, 8), "places": f(10, 8), "g": f(8), "b": f(8)}, {"least": 1, "int": {"ids": 9}, "i32": True}),
    "ms_rotary": ([n("RotaryEmbedding", ["x", "at", "c", "s"], ["y"], domain="com.microsoft", num_heads=2)],
                  {"x": ["a", "t", 8], "at": ["a", "t"]}, ["y"], {"c": f(10, 2), "s": f(10, 2)}, {"least": 1, "int": {"at": 10}}),
    # a cache that grows: its length as decoders are exported, from the mask's
    "ms_grouped": ([n("Shape", ["mask"], ["ms"]), n("Gather", ["ms", "o1"], ["mt"]), n("Cast", ["mt"], ["total"], to=T.INT32),
                    n("Sub", ["mt", "o1"], ["last"]), n("Cast", ["last"], ["last32"], to=T.INT32), n("Reshape", ["last32", "flat"], ["ends"]),
                    n("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "ends", "total", "c", "s"], ["y", "nk", "nv"], domain="com.microsoft",
                      num_heads=4, kv_num_heads=2, do_rotary=1)],
                   {"q": [1, "t", 64], "k": [1, "t", 32], "v": [1, "t", 32], "pk": [1, 2, "p", 16], "pv": [1, 2, "p", 16], "mask": [1, "all"]},
                   ["y", "nk", "nv"], {"o1": one(1), "flat": i(1), "c": f(17, 8), "s": f(17, 8)}, {"least": 1, "int": {"mask": 2}, "sums": {"all": "p+t"}}),
    # one that an input tells, for a cache that grows and for one that is long enough
    **{"ms_grouped_told_" + way: ([n("Cast", ["k1"], ["total"], to=T.INT32), n("Sub", ["total", "one"], ["last"]), n("Reshape", ["last", "flat"], ["ends"]),
                                   n("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "ends", "total", "c", "s"], ["y", "nk", "nv"], domain="com.microsoft",
                                     num_heads=4, kv_num_heads=2, do_rotary=1)],
                                  {"q": [1, "t", 64], "k": [1, "t", 32], "v": [1, "t", 32], "pk": [1, 2, p, 16], "pv": [1, 2, p, 16], "k1": []},
                                  ["y", "nk", "nv"], {"one": np.array(1, np.int32), "flat": i(1), "c": f(17, 8), "s": f(17, 8)},
                                  {"least": 1, "set": {"k1": told}}) for way, p, told in (("grown", "p", "p+t"), ("roomy", 16, "p+t"))},
    # with places and a bias beside them
    "ms_grouped_told_bias": ([n("Cast", ["k1"], ["total"], to=T.INT32), n("Sub", ["total", "one"], ["last"]), n("Reshape", ["last", "flat"], ["ends"]),
                             n("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "ends", "total", "c", "s", "at", "bias"], ["y", "nk", "nv"],
                             domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1)],
                            {"q": [1, "t", 64], "k": [1, "t", 32], "v": [1, "t", 32], "pk": [1, 2, "p", 16], "pv": [1, 2, "p", 16], "k1": [],
                            "at": [1, "t"], "bias": [1, 4, "t", "all"]},
                            ["y", "nk", "nv"], {"one": np.array(1, np.int32), "flat": i(1), "c": f(99, 8), "s": f(99, 8)},
                            {"least": 1, "set": {"k1": "p+t"}, "int": {"at": 16}, "sums": {"all": "p+t"}}),
    "ms_grouped_told_bias_first": ([n("Cast", ["k1"], ["total"], to=T.INT32), n("Sub", ["total", "one"], ["last"]), n("Reshape", ["last", "flat"], ["ends"]),
                             n("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "ends", "total", "c", "s", "at", "bias"], ["y", "nk", "nv"],
                             domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1)],
                            {"q": [1, "t", 64], "k": [1, "t", 32], "v": [1, "t", 32], "pk": [1, 2, 16, 16], "pv": [1, 2, 16, 16], "k1": [],
                            "at": [1, "t"], "bias": [1, 4, "t", "t"]},
                            ["y", "nk", "nv"], {"one": np.array(1, np.int32), "flat": i(1), "c": f(99, 8), "s": f(99, 8)},
                            {"least": 1, "set": {"k1": "t"}, "int": {"at": 16}}),
    "layer_norm": ([n("LayerNormalization", ["x", "w", "c"], ["y"])], X, ["y"], {"w": f(6), "c": f(6)}, {"least": 1}),
    "batch_norm": ([n("BatchNormalization", ["x", "w", "c", "m", "v"], ["y"])], {"x": ["n", 6, "h", "w_"]}, ["y"],
                   {"w": f(6), "c": f(6), "m": f(6), "v": np.abs(f(6)) + 1}, {"least": 1}),
    "lstm": ([n("LSTM", ["x", "w", "r"], ["y", "h", "c"], hidden_size=4)], {"x": [5, "n", 3]}, ["y", "h", "c"],
             {"w": f(1, 16, 3), "r": f(1, 16, 4)}, {"least": 1}),
    "lstm_long": ([n("LSTM", ["x", "w", "r", "b", "", "h0"], ["y", "h", "c"], hidden_size=4, direction="bidirectional"),
                   n("LSTM", ["x", "w1", "r1"], ["z"], hidden_size=4, direction="reverse")],
                  {"x": ["t", "n", 3], "h0": [2, "n", 4]}, ["y", "h", "c", "z"],
                  {"w": f(2, 16, 3), "r": f(2, 16, 4), "b": f(2, 32) / 8, "w1": f(1, 16, 3), "r1": f(1, 16, 4)}, {"least": 1}),
    "gru_long": ([n("GRU", ["x", "w", "r", "b"], ["y", "h"], hidden_size=4, linear_before_reset=1), n("GRU", ["x", "w", "r"], ["z"], hidden_size=4)],
                 {"x": ["t", "n", 3]}, ["y", "h", "z"], {"w": f(1, 12, 3), "r": f(1, 12, 4), "b": f(1, 24) / 8}, {"least": 1}),
    "rnn_long": ([n("RNN", ["x", "w", "r", "b"], ["y", "h"], hidden_size=4), n("RNN", ["x", "w", "r"], ["z"], hidden_size=4, activations=["Relu"])],
                 {"x": ["t", "n", 3]}, ["y", "h", "z"], {"w": f(1, 4, 3), "r": f(1, 4, 4) / 2, "b": f(1, 8)}, {"least": 1}),
    "lstm_peephole": ([n("LSTM", ["x", "w", "r", "", "k", "", "", "p"], ["y", "h", "c"], hidden_size=4, direction="reverse")],
                      {"x": ["t", 2, 3], "k": [2]}, ["y", "h", "c"], {"w": f(1, 16, 3), "r": f(1, 16, 4), "p": f(1, 12)},
                      {"least": 3, "int": {"k": 3}, "i32": True}),
    "lstm_given": ([n("LSTM", ["x", "w", "r"], ["y"], hidden_size=4)], {"x": ["t", "n", 3], "w": [1, 16, 3], "r": [1, 16, 4]}, ["y"], {}, {"least": 1}),
    "einsum": ([n("Einsum", ["x", "z"], ["y"], equation="abk,ack->abc")], {"x": ["a", "b", 6], "z": ["a", "c", 6]}, ["y"], {}, {"least": 1}),
    "einsum_diagonals": ([n("Einsum", ["x"], ["y"], equation="bii->bi"), n("Einsum", ["x"], ["z"], equation="...ii->..."),
                          n("Einsum", ["x", "v"], ["w"], equation="bii,bi->b")], {"x": ["b", "n", "n"], "v": ["b", "n"]}, ["y", "z", "w"], {}, {"least": 1}),
    "cumsum_before": ([n("CumSum", ["x", "ax"], ["y"], exclusive=1)], X, ["y"], {"ax": one(0)}, {"least": 1}),
    # data bound what is taken
    "slice_told": ([n("Slice", ["x", "st", "k", "ax"], ["y"]), n("Slice", ["x", "k", "en", "ax", "by"], ["z"])], {"x": ["a", 6], "k": [1]}, ["y", "z"],
                   {"st": i(1), "en": i(-1), "ax": i(0), "by": i(2)}, {"int": {"k": 4}, "least": 4}),
    "top_k_told": ([n("TopK", ["x", "k"], ["v", "at"], axis=1)], {"x": ["a", 6], "k": [1]}, ["v", "at"], {}, {"int": {"k": 6}, "least": 1}),
    "split_by_size": ([n("Shape", ["x"], ["s"], end=1), n("Div", ["s", "two"], ["h"]), n("Sub", ["s", "h"], ["r"]), n("Concat", ["h", "r"], ["to"], axis=0),
                       n("SplitToSequence", ["x", "to"], ["q"], axis=0), n("SequenceAt", ["q", "zero"], ["y"]), n("SequenceAt", ["q", "one"], ["z"])],
                      {"x": ["a", "b"]}, ["y", "z"], {"two": i(2), "zero": one(0), "one": one(1)}, {"least": 2, "opset": 15}),
    # a real quotient or share of a size, rounded
    "pad_to_rounded_up": ([n("Shape", ["x"], ["s"]), n("Gather", ["s", "k"], ["t"]), n("Cast", ["t"], ["tf"], to=T.FLOAT), n("Div", ["tf", "four"], ["q"]),
                           n("Ceil", ["q"], ["qc"]), n("Cast", ["qc"], ["qi"], to=T.INT64), n("Mul", ["qi", "four_"], ["all"]), n("Sub", ["all", "t"], ["d"]),
                           n("Unsqueeze", ["d", "z"], ["u"]), n("Concat", ["z4", "u", "z"], ["p"], axis=0), n("Pad", ["x", "p"], ["y"]), n("Unsqueeze", ["qi", "z"], ["uq"]),
                           n("Concat", ["z", "uq", "four1", "six"], ["to"], axis=0), n("Reshape", ["y", "to"], ["w"])], X, ["w"],
                          {"k": one(1), "z": i(0), "z4": i(0, 0, 0, 0), "six": i(6), "four": np.float32(4), "four_": one(4), "four1": i(4)}, {"least": 2}),
    "slice_of_share": ([n("Shape", ["x"], ["s"]), n("Slice", ["s", "one", "two"], ["t"]), n("Cast", ["t"], ["tf"], to=T.FLOAT), n("Mul", ["tf", "share"], ["q"]), n("Floor", ["q"], ["qf"]),
                        n("Cast", ["qf"], ["qi"], to=T.INT64), n("Slice", ["x", "zero", "qi", "one"], ["y"]), n("Div", ["tf", "three"], ["h"]), n("Cast", ["h"], ["hi"], to=T.INT32),
                        n("Cast", ["hi"], ["h64"], to=T.INT64), n("Slice", ["x", "h64", "qi", "one"], ["w"])], X, ["y", "w"],
                       {"zero": i(0), "one": i(1), "two": i(2), "share": np.float32(0.75), "three": np.float32(3)}, {"least": 2}),
    "identity_of_size": ([n("Shape", ["x"], ["s"]), n("Slice", ["s", "one", "two"], ["t"]), n("Concat", ["t", "t"], ["tt"], axis=0), n("ConstantOfShape", ["tt"], ["c"]),
                          n("EyeLike", ["c"], ["e"], k=1), n("MatMul", ["e", "x"], ["y"])], X, ["y"], {"one": i(1), "two": i(2)}, {"least": 1}),
    "slice_back": ([n("Slice", ["x", "from", "to", "ax", "by"], ["y"]), n("Slice", ["x", "last", "to", "ax", "by2"], ["z"])], X, ["y", "z"],
                   {"from": i(-2), "to": i(0), "ax": i(1), "by": i(-1), "by2": i(-2), "last": i(2**62)}, {"least": 3}),
    "reverse_sequence": ([n("ReverseSequence", ["x", "k"], ["y"], batch_axis=0, time_axis=1)], {"x": ["a", "b", 6], "k": ["a"]}, ["y"], {}, {"int": {"k": 4}, "least": 4}),
    "crop_and_pad": ([n("Shape", ["z"], ["s"]), n("CenterCropPad", ["x", "s"], ["y"], axes=[0, 1])], {"x": ["a", "b", 6], "z": ["c", "d"]}, ["y"], {},
                     {"least": 2, "opset": 18, "most": 12}),
    "one_hot_of_size": ([n("Shape", ["x"], ["s"]), n("Gather", ["s", "k"], ["t"]), n("ArgMax", ["x"], ["at"], axis=1, keepdims=0), n("OneHot", ["at", "t", "v"], ["y"], axis=1)],
                        X, ["y"], {"k": one(1), "v": i(0, 1)}, {"least": 1}),
    # data decide sizes themselves
    "one_hot_told": ([n("ReduceMax", ["k"], ["m"], keepdims=0), n("Add", ["m", "one"], ["d"]), n("OneHot", ["k", "d", "v"], ["y"], axis=0)], {"k": ["a"]}, ["y"],
                     {"one": one(1), "v": f(2)}, {"int": {"k": 9}, "least": 1}),
    "reshape_one_told": ([n("Add", ["k", "one"], ["j"]), n("Concat", ["j", "two"], ["to"], axis=0), n("Expand", ["v", "to"], ["e"]), n("Add", ["e", "x"], ["s"]), n("Concat", ["one", "j", "one", "two"], ["back"], axis=0),
                          n("Reshape", ["s", "back"], ["y"])], {"x": [1, 2], "k": [1]}, ["y"], {"one": i(1), "two": i(2), "v": f(1, 2)}, {"int": {"k": 9}}),
    "split_told": ([n("Shape", ["x"], ["s"], end=1), n("Sub", ["s", "k"], ["r"]), n("Concat", ["k", "r"], ["to"], axis=0), n("Split", ["x", "to"], ["p", "q"], axis=0)],
                   {"x": ["a", 6], "k": [1]}, ["p", "q"], {}, {"int": {"k": 4}, "least": 4}),
    **{"resize_told_" + m: ([n("Add", ["k", "two"], ["s"]), n("Concat", ["c", "s"], ["to"], axis=0), n("Resize", ["x", "", "", "to"], ["y"], mode=m, coordinate_transformation_mode=by)],
                            {"x": [1, 3, "h", 5], "k": [2]}, ["y"], {"two": i(2, 2), "c": i(1, 3)}, {"int": {"k": 9}, "least": 3})
       for m, by in (("linear", "half_pixel"), ("nearest", "asymmetric"), ("cubic", "pytorch_half_pixel"))},
    # masks cut to what one input says and resized to what another does
    "masks_to_image": ([n("Resize", ["x", "", "", "wide"], ["u"], mode="linear", coordinate_transformation_mode="half_pixel"), n("Add", ["k", "three"], ["ks"]),
                        n("Slice", ["u", "z2", "ks", "sides"], ["v"]), n("Add", ["j", "three"], ["js"]), n("Cast", ["js"], ["jf"], to=T.FLOAT), n("Cast", ["jf"], ["ji"], to=T.INT64),
                        n("Concat", ["c", "ji"], ["to"], axis=0), n("Resize", ["v", "", "", "to"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")],
                       {"x": [1, 4, 8, 8], "k": [2], "j": [2]}, ["y"], {"c": i(1, 4), "wide": i(1, 4, 16, 16), "z2": i(0, 0), "sides": i(2, 3), "three": i(3, 3)},
                       {"int": {"k": 12, "j": 20}}),
    "range_told": ([n("Range", ["z", "k", "o"], ["r"]), n("Cast", ["r"], ["y"], to=T.FLOAT)], {"k": []}, ["y", "r"], {"z": one(0), "o": one(1)}, {"int": {"k": 9}}),
    "range_by_three": ([n("Range", ["j", "k", "o"], ["r"]), n("Add", ["r", "o"], ["y"])], {"j": [], "k": []}, ["y", "r"], {"o": one(3)}, {"int": {"k": 20, "j": 9}}),
    "range_back": ([n("Range", ["j", "k", "o"], ["r"]), n("Neg", ["r"], ["y"])], {"j": [], "k": []}, ["y", "r"], {"o": one(-2)}, {"int": {"k": 20, "j": 20}}),
    "range_of_told_floats": ([n("Range", ["j", "k", "o"], ["y"])], {"j": [], "k": []}, ["y"], {"o": np.float32(0.37)}, {}),
    "expand_told": ([n("Expand", ["x", "k"], ["y"])], {"x": ["a", 1], "k": [2]}, ["y"], {}, {"int": {"k": 2}}),
    "expand_one_told": ([n("Concat", ["k", "six"], ["to"], axis=0), n("Expand", ["x", "to"], ["y"]), n("MatMul", ["y", "w"], ["z"])], {"x": [1, 6], "k": [1]},
                        ["y", "z"], {"six": i(6), "w": f(6, 4)}, {"int": {"k": 9}}),
    "tile_told": ([n("Tile", ["x", "k"], ["y"]), n("Relu", ["y"], ["z"])], {"x": ["a", 6], "k": [2]}, ["y", "z"], {}, {"int": {"k": 4}}),
    "tile_one_told": ([n("Concat", ["k", "o"], ["to"], axis=0), n("Tile", ["x", "to"], ["y"])], {"x": ["a", 6], "k": [1]}, ["y"], {"o": i(1)}, {"int": {"k": 4}}),
    "constant_told": ([n("ConstantOfShape", ["k"], ["c"], value=numpy_helper.from_array(f(1)))], {"k": [2]}, ["c"], {}, {"int": {"k": 4}}),
    "cache": ([n("Concat", ["past", "new"], ["all"], axis=1), n("Transpose", ["all"], ["t"], perm=[0, 2, 1]),
               n("MatMul", ["new", "t"], ["s"]), n("Add", ["s", "mask"], ["m"]), n("Softmax", ["m"], ["p"]), n("MatMul", ["p", "all"], ["y"])],
              {"past": ["n", "past_length", 4], "new": ["n", "length", 4], "mask": ["n", "length", "past_length + length"]}, ["y", "all"],
              {}, {"least": 1}),
    # a mask's length has a name of its own
    "cache_total": ([n("Concat", ["past", "new"], ["all"], axis=1), n("Transpose", ["all"], ["t"], perm=[0, 2, 1]),
                     n("MatMul", ["new", "t"], ["s"]), n("Add", ["s", "mask"], ["m"]), n("Softmax", ["m"], ["p"]), n("MatMul", ["p", "all"], ["y"])],
                    {"past": ["n", "past_length", 4], "new": ["n", "length", 4], "mask": ["n", 1, "total"]}, ["y", "all"],
                    {}, {"least": 1, "sums": {"total": "past_length + length"}}),
    "unnamed": ([n("Add", ["x", "z"], ["a"]), n("Concat", ["a", "x"], ["y"], axis=0)], {"x": [None, 3], "z": [None, 3]}, ["y"], {},
                {"equal": True}),
    "if": ([n("ReduceSum", ["x"], ["s"], keepdims=0), n("Greater", ["s", "low"], ["c"]),
            n("If", ["c"], ["y", "z"],
              then_branch=body([n("MatMul", ["x", "w"], ["t"]), n("Relu", ["t"], ["u"]), n("Neg", ["s"], ["u2"])], [], ["u", "u2"]),
              else_branch=body([n("Abs", ["x"], ["e"]), n("MatMul", ["e", "v"], ["e2"]), n("Identity", ["s"], ["e3"])], [], ["e2", "e3"]))],
           {"x": ["a", 6]}, ["y", "z"], {"low": np.float32(0), "w": f(6, 4), "v": f(6, 4)}, {"least": 1}),
    "while": ([n("Loop", ["", "yes", "x"], ["y"], body=HALVE)], {"x": ["a", 6]}, ["y"],
              {"yes": np.array(True), "half": np.float32(0.5), "low": np.float32(0.2)}, {"least": 1}),
    "while_most": ([n("Loop", ["k", "yes", "x"], ["y"], body=HALVE)], {"x": ["a", 6]}, ["y"],
                   {"k": one(100), "yes": np.array(True), "half": np.float32(0.5), "low": np.float32(0.2)}, {"least": 1}),
    "for": ([n("Loop", ["k", "", "x"], ["y"], body=COUNT)], {"x": ["a", 6], "k": []}, ["y"], {"half": np.float32(0.5)},
            {"least": 1, "int": {"k": 9}}),
    "for_100": ([n("Loop", ["k", "", "x"], ["y"], body=COUNT)], {"x": ["a", 6]}, ["y"], {"half": np.float32(0.5), "k": one(100)},
                {"least": 1}),
    "for_size": ([n("Shape", ["x"], ["s"], end=1), n("Squeeze", ["s"], ["k"]), n("Loop", ["k", "", "x"], ["y"], body=COUNT)],
                 {"x": ["a", 6]}, ["y"], {"half": np.float32(0.5)}, {"least": 1}),
    # a result that grows in each round
    "for_each": ([n("Shape", ["x"], ["s"], end=1), n("Squeeze", ["s"], ["k"]), n("Loop", ["k", "", "c"], ["y", "z"], body=GROW)],
                 {"x": ["n", 6]}, ["y", "z"], {"c": f(6)}, {"least": 1}),
    **{"for_append_" + way: ([n("Shape", ["x"], ["s"], end=1), n("Squeeze", ["s"], ["k"]), n("SequenceEmpty", [], ["none"]),
                              n("Shape", ["x"], ["row"], start=1), n("ConstantOfShape", ["row"], ["c"]),
                              n("Loop", ["k", "yes", "c", "none"], ["y", "list"], body=APPEND), n("ConcatFromSequence", ["list"], ["z"], axis=axis, new_axis=new),
                              n("SequenceAt", ["list", "last"], ["w"]), n("SequenceLength", ["list"], ["l"])],
                             {"x": ["n", "b", 6]}, ["y", "z", "w", "l"], {"half": np.float32(0.5), "yes": np.array(True), "last": one(-1)}, {"least": 1})
       for way, axis, new in (("stacked", 0, 1), ("stacked_last", -1, 1), ("joined", 1, 0), ("joined_first", -2, 0))},
    # none of its rounds: the type of what would grow is the body's
    "for_none": ([n("Loop", ["k", "", "x"], ["y", "z"], body=NOTHING)], {"x": ["a", 6]}, ["y", "z"], {"k": one(0), "half": np.float32(0.5)}, {"least": 1}),
    # (at least one: what is written is a Scan, of which ONNX Runtime refuses none)
    "for_some": ([n("Add", ["k", "one"], ["m"]), n("Loop", ["m", "", "x"], ["y", "z"], body=NOTHING)], {"x": ["a", 6], "k": []}, ["y", "z"],
                 {"one": one(1), "half": np.float32(0.5)}, {"least": 1, "int": {"k": 3}}),
    "scan": ([n("Scan", ["h0", "x"], ["y", "z"], num_scan_inputs=1, body=CELL)], {"x": ["t", "b", 6], "h0": ["b", 6]}, ["y", "z"],
             {"w": f(6, 6)}, {"least": 1}),
    "scan_back": ([n("Scan", ["h0", "x"], ["y", "z"], num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1],
                     scan_output_axes=[1], scan_output_directions=[1], body=CELL)], {"x": ["b", "t", 6], "h0": ["b", 6]}, ["y", "z"],
                  {"w": f(6, 6)}, {"least": 1}),
    "attention": ([n("MatMul", ["x", "w"], ["q"]), n("Shape", ["x"], ["s"]), n("Slice", ["s", "o0", "o2"], ["bl"]),
                   n("Concat", ["bl", "hd"], ["to"], axis=0), n("Reshape", ["q", "to"], ["q4"]),
                   n("Transpose", ["q4"], ["qh"], perm=[0, 2, 1, 3]), n("Transpose", ["q4"], ["kt"], perm=[0, 2, 3, 1]),
                   n("MatMul", ["qh", "kt"], ["sc"]), n("Softmax", ["sc"], ["p"]), n("MatMul", ["p", "qh"], ["o"]),
                   n("Transpose", ["o"], ["ot"], perm=[0, 2, 1, 3]), n("Reshape", ["ot", "back"], ["y"])],
                  {"x": ["batch", "seq", 8]}, ["y"], {"w": f(8, 8), "o0": i(0), "o2": i(2), "hd": i(2, 4), "back": i(0, 0, 8)}, {"least": 1}),
    "range_back_from_size": ([n("Shape", ["x"], ["s"]), n("Gather", ["s", "k"], ["b"]), n("Neg", ["b"], ["m"]), n("Range", ["b", "m", "back"], ["r"]),
                              n("Range", ["b", "low", "by3"], ["q"])], X, ["r", "q"], {"k": one(0), "back": one(-1), "low": one(1), "by3": one(-3)}, {"least": 1}),
    "empty_slice": ([n("Transpose", ["x"], ["t"], perm=[1, 0, 2]), n("Slice", ["t", "en", "en", "ax"], ["none"]), n("Relu", ["t"], ["r"]),
                     n("Concat", ["r", "none"], ["y"], axis=2), n("Concat", ["none", "none"], ["z"], axis=2)], X, ["y", "z"], {"en": i(6), "ax": i(2)}),
    "range_of_found_floats": ([n("NonZero", ["x"], ["z"]), n("Shape", ["z"], ["s"]), n("Gather", ["s", "k"], ["b"]), n("Cast", ["b"], ["f"], to=T.FLOAT),
                               n("Range", ["o0", "f", "o1"], ["r"]), n("Cast", ["z"], ["zf"], to=T.FLOAT), n("Add", ["zf", "r"], ["y"])], X, ["y"],
                              {"k": one(1), "o0": np.float32(0), "o1": np.float32(1)}, {"least": 1}),
    "sound": ([n("Conv", ["x", "w"], ["a"], strides=[10]), n("Relu", ["a"], ["r"]), n("Conv", ["r", "w2"], ["c"], strides=[200]), n("GlobalAveragePool", ["c"], ["y"])],
              {"x": [1, 1, "t"]}, ["y"], {"w": np.full((4, 1, 30), 0.1, np.float32), "w2": np.full((3, 4, 100), 0.02, np.float32)},
              {"least": 6000, "most": 6300}),
    # as many are found as the parts have: a loop over experts, written out
    "split_of_found": ([n("Exp", ["x"], ["e"]), n("NonZero", ["e"], ["z"]), n("Transpose", ["z"], ["t"], perm=[1, 0]), n("Split", ["t", "to"], ["p", "q"], axis=0),
                        n("Squeeze", ["p", "o"], ["y"])], {"x": [2, 6]}, ["y", "q"], {"to": i(1, 11), "o": i(0)}),
    "conv3d_rows": ([n("Conv", ["x", "w"], ["h"], group=2), n("Conv", ["h", "v", "b"], ["y"], pads=[0, 0, 1, 0, 0, 0], strides=[1, 1, 2])],
                    {"x": ["n", 2, "d", "h", "w_"]}, ["y"], {"w": f(4, 1, 1, 1, 1), "v": f(3, 4, 1, 1, 3), "b": f(3)}, {"least": 3}),
    "conv_transpose3d_planes": ([n("ConvTranspose", ["x", "w", "b"], ["h"], strides=[2, 2, 2], pads=[1, 0, 1, 0, 0, 1], group=2),
                                 n("ConvTranspose", ["h", "v"], ["y"], strides=[3, 1, 2], output_padding=[0, 0, 1])],
                                {"x": ["n", 4, "d", "h", "w_"]}, ["y"], {"w": f(4, 3, 2, 2, 3), "b": f(6), "v": f(6, 2, 3, 2, 2)}, {"least": 2}),
    "max_pool3d_values": ([n("MaxPool", ["x"], ["y"], kernel_shape=[2, 3, 2], strides=[2, 2, 2], pads=[0, 1, 0, 0, 1, 0]),
                           n("AveragePool", ["x"], ["z"], kernel_shape=[2, 1, 3], strides=[1, 2, 2], pads=[1, 0, 1, 0, 0, 1], ceil_mode=1),
                           n("LpPool", ["x"], ["u"], kernel_shape=[2, 2, 2], strides=[1, 2, 1], p=2)],
                          {"x": ["n", 2, "d", "h", "w_"]}, ["y", "z", "u"], {}, {"least": 3, "opset": 22}),
    "instance_norm_one": ([n("InstanceNormalization", ["x", "g", "b"], ["y"])], {"x": ["n", 3, "h"]}, ["y"], {"g": f(3), "b": f(3)}, {"least": 1, "most": 3}),
    # backwards from before the first element; borders of what is left
    "slice_back_before": ([n("Slice", ["x", "s", "e", "a", "p"], ["y"])], {"x": ["n", 2]}, ["y"],
                          {"s": i(-5, -5), "e": i(-2**31, -2**31), "a": i(0, 1), "p": i(-1, -2)}, {"least": 2}),
    "pad_wrap_cut": ([n("Pad", ["x", "p"], ["y"], mode="wrap"), n("Pad", ["x", "p"], ["z"], mode="reflect")], {"x": ["n", 6]}, ["y", "z"],
                     {"p": i(0, -1, 2, 2)}, {"least": 3, "opset": 19}),
    # of one result pytorch_half_pixel takes place 0
    "resize_to_one": ([n("Resize", ["x", "", "s"], ["y"], mode="cubic", coordinate_transformation_mode="pytorch_half_pixel"),
                       n("Resize", ["z", "", "s"], ["u"], mode="linear", coordinate_transformation_mode="pytorch_half_pixel")],
                      {"x": ["n", 1, "h", 3], "z": ["n", 1, 2, 3]}, ["y", "u"], {"s": np.array([1, 1, 0.7, 1.5], np.float32)}, {"least": 2, "most": 3, "opset": 19}),
}


def values(inputs, options, sizes):
    feed = {}
    for name, shape in inputs.items():
        dims = []
        for d in shape:
            if d is None:
                d = "?" if options.get("equal") else f"{name}?"
            d = options.get("sums", {}).get(d, d)
            dims.append(sum(sizes(p.strip()) for p in d.split("+")) if isinstance(d, str) else d)
        if name in options.get("set", {}):
            feed[name] = np.array(sum(sizes(p) for p in options["set"][name].split("+")), np.int64)
            continue
        most = options.get("int", {}).get(name)
        whole = np.int32 if options.get("i32") else np.int64
        feed[name] = rng.integers(0, most, dims).astype(whole) if most else rng.standard_normal(dims).astype(np.float32)
    return feed


def write(folder, kind, arrays):
    os.makedirs(folder, exist_ok=True)
    for k, array in enumerate(arrays):
        with open(os.path.join(folder, f"{kind}_{k}.pb"), "wb") as out:
            out.write(numpy_helper.from_array(np.asarray(array)).SerializeToString())


def main():
    folder = sys.argv[1]
    lines = []
    for name, (nodes, inputs, outputs, initializers, *rest) in MODELS.items():
        options = rest[0] if rest else {}
        target = os.path.join(folder, "sized_" + name)
        os.makedirs(target, exist_ok=True)
        types = {k: (T.INT32 if options.get("i32") else T.INT64) if k in options.get("int", {}) or k in options.get("set", {}) else T.FLOAT
                 for k in inputs}
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(k, types[k], v) for k, v in inputs.items()],
                                  [helper.make_empty_tensor_value_info(k) for k in outputs],
                                  [numpy_helper.from_array(np.asarray(v), k) for k, v in initializers.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", options.get("opset", 17)), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.save(model, os.path.join(target, "model.onnx"))
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        for k in range(SETS):
            known = {}
            least = max(options.get("least", 0), 2 if k < 3 else 0)

            def size(of):
                if of not in known:
                    known[of] = int(rng.integers(least, options.get("most", 8) + 1))
                    known[of] += known[of] % 2 if options.get("even") else 0
                return known[of]
            for attempt in range(50):
                known.clear()
                feed = values(inputs, options, size)
                try:
                    given = session.run(outputs, feed)
                    break
                except Exception:  # the model is not for these sizes
                    if attempt == 49:
                        raise
            data = os.path.join(target, f"test_data_set_{k}")
            write(data, "input", feed.values())
            write(data, "output", given)
        lines.append(f"sized_{name} 0.0001 0.00001 graph\n")
    with open(os.path.join(folder, "sized"), "w") as out:
        out.writelines(lines)
    print(f"{len(lines)} models of symbolic sizes")


if __name__ == "__main__":
    main()
