#!/usr/bin/env python3
"""Models of ai.onnx.ml's operators, one each, and what ONNX Runtime gives for them, for tests/onnx/run_cases.c. The numbers come of a
seed: trees of random shapes, features, modes and weights, support vector machines, linear models, features scaled, chosen and encoded.

usage: trees.py FOLDER

FOLDER/<operator>_<n> gets model.onnx and test_data_set_<n> (rows of several numbers: they are symbolic); FOLDER/list a line a case.
"""
import os
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

ML = "ai.onnx.ml"
R = np.random.default_rng(19)
LINES, COUNT = [], {}
SETS = (1, 5, 3)


def case(op, rows, outputs=1, more=(), tol=1e-5, kind=T.FLOAT, width=6, version=3, **attributes):
    """rows: numbers of rows to inputs; more: further inputs, known. attributes without a value are left out."""
    node = helper.make_node(op, ["x"] + [n for n, _ in more], ["y", "z"][:outputs], domain=ML, **{k: v for k, v in attributes.items() if v is not None})
    graph = helper.make_graph([node], "one", [helper.make_tensor_value_info("x", kind, ["rows", width])],
                              [helper.make_empty_tensor_value_info(o) for o in node.output], [numpy_helper.from_array(a, n) for n, a in more])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(ML, version)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    n = COUNT[op] = COUNT.get(op, -1) + 1
    name = f"ml_{op}_{n}"
    target = os.path.join(sys.argv[1], name)
    os.makedirs(target, exist_ok=True)
    with open(os.path.join(target, "model.onnx"), "wb") as f:
        f.write(model.SerializeToString())
    for k, count in enumerate(SETS):
        x = rows(count)
        data = os.path.join(target, f"test_data_set_{k}")
        os.makedirs(data, exist_ok=True)
        for kind_of, arrays in (("input", [x]), ("output", session.run(None, {"x": x}))):
            for i, a in enumerate(arrays):
                with open(os.path.join(data, f"{kind_of}_{i}.pb"), "wb") as f:
                    f.write(numpy_helper.from_array(np.asarray(a)).SerializeToString())
    LINES.append(f"{name} {tol:g} {tol:g} graph\n")


def floats(width=6, nan=False, dtype=np.float32, whole=False):
    """Rows of numbers, some of which are thresholds; nan: some are missing."""
    def rows(n):
        x = R.integers(-4, 5, (n, width)) / (1 if whole else 2)
        return np.where(R.random((n, width)) < 0.2, np.nan, x).astype(dtype) if nan else x.astype(dtype)
    return rows


def forest(trees, deep, modes, results, what, positive=False, one=None, missing=False):
    """Attributes of random trees; one: the only class that has weights."""
    nodes, weights = [], []

    def grow(tree, depth):
        at = len([n for n in nodes if n["treeids"] == tree])
        node = dict(treeids=tree, nodeids=at, featureids=int(R.integers(6)), values=float(R.integers(-4, 5) / 2), modes=modes[R.integers(len(modes))],
                    truenodeids=0, falsenodeids=0, hitrates=1.0, missing_value_tracks_true=int(missing and R.random() < 0.5))
        nodes.append(node)
        if depth == 0 or (depth < deep and R.random() < 0.3):
            node.update(modes="LEAF", featureids=0, values=0.0, missing_value_tracks_true=0)
            for k in range(results) if one is None else [one]:  # ONNX Runtime knows which results no leaf tells, and leaves them out
                w = float(R.standard_normal())
                weights.append((tree, at, int(k), abs(w) / trees if positive else w))
            return at
        node["truenodeids"] = grow(tree, depth - 1)
        node["falsenodeids"] = grow(tree, depth - 1)
        return at
    for t in range(trees):
        grow(t, deep)
    a = {f"nodes_{k}": [n[k] for n in nodes] for k in nodes[0]}
    for i, k in enumerate(("treeids", "nodeids", "ids", "weights")):
        a[f"{what}_{k}"] = [w[i] for w in weights]
    return a


def trees():
    for trees, deep, modes in ((1, 1, ["BRANCH_LEQ"]), (3, 4, ["BRANCH_LEQ"]), (20, 6, ["BRANCH_LT"]), (5, 3, ["BRANCH_GTE"]), (5, 3, ["BRANCH_GT"]),
                               (7, 4, ["BRANCH_EQ", "BRANCH_NEQ"]), (9, 5, ["BRANCH_LEQ", "BRANCH_GT", "BRANCH_LT", "BRANCH_GTE"]), (1, 0, ["BRANCH_LEQ"])):
        for targets in (1, 3):
            for how in (None, "AVERAGE", "MIN", "MAX"):
                base = [float(x) for x in R.standard_normal(targets)] if how in (None, "AVERAGE") else None
                # of several results a tree has weights of each
                if how in ("MIN", "MAX") and targets > 1:
                    continue
                case("TreeEnsembleRegressor", floats(), n_targets=targets, aggregate_function=how, base_values=base, **forest(trees, deep, modes, targets, "target"))
        case("TreeEnsembleRegressor", floats(nan=True), n_targets=2, **forest(trees, deep, modes[:1], 2, "target", missing=modes[0] == "BRANCH_LEQ"))
    case("TreeEnsembleRegressor", floats(dtype=np.float64), kind=T.DOUBLE, n_targets=1, **forest(6, 4, ["BRANCH_LEQ"], 1, "target"))
    for post in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        case("TreeEnsembleRegressor", floats(), n_targets=3, post_transform=post, **forest(6, 4, ["BRANCH_LEQ"], 3, "target"))
        for classes in (3, 4):  # of 2 with weights of both ONNX Runtime gives the labels 0 and 1, whatever they are
            labels = [int(x) for x in R.permutation(9)[:classes]]
            case("TreeEnsembleClassifier", floats(), 2, classlabels_int64s=labels, post_transform=post, **forest(8, 4, ["BRANCH_LEQ"], classes, "class"))
            case("TreeEnsembleClassifier", floats(), 2, classlabels_int64s=labels, post_transform=post,
                 base_values=[float(x) for x in R.standard_normal(classes)], **forest(8, 4, ["BRANCH_LT"], classes, "class"))
        if post in ("NONE", "LOGISTIC"):
            for one in (0, 1):
                for positive in (False, True):
                    case("TreeEnsembleClassifier", floats(), 2, classlabels_int64s=[3, 7], post_transform=post,
                         **forest(8, 4, ["BRANCH_LEQ"], 2, "class", positive, one))


def linear():
    for targets in (1, 3):
        k = [float(x) for x in R.standard_normal(6 * targets)]
        b = [float(x) for x in R.standard_normal(targets)]
        case("LinearRegressor", floats(), coefficients=k, intercepts=b, targets=targets)
        case("LinearRegressor", floats(), coefficients=k, targets=targets)
    for post in ("NONE", "LOGISTIC", "SOFTMAX"):
        for classes in (2, 4):
            k = [float(x) for x in R.standard_normal(6 * classes)]
            case("LinearClassifier", floats(), 2, classlabels_ints=list(range(5, 5 + classes)), coefficients=k,
                 intercepts=[float(x) for x in R.standard_normal(classes)], post_transform=post)
        if post != "SOFTMAX":
            case("LinearClassifier", floats(), 2, classlabels_ints=[1, 4], coefficients=k[:6], intercepts=[0.25], post_transform=post)


def ensemble(trees, deep, modes, targets, missing=False):
    """Attributes of TreeEnsemble: nodes and leaves are lists of their own; mode 6 asks for one of a set."""
    nodes, leaves, roots, sets = [], [], [], []

    def leaf():
        leaves.append((int(R.integers(targets)), float(R.standard_normal())))
        return len(leaves) - 1

    def grow(depth):
        at, mode = len(nodes), int(modes[R.integers(len(modes))])
        node = dict(featureids=int(R.integers(6)), modes=mode, splits=0.0 if mode == 6 else float(R.integers(-4, 5) / 2),
                    missing_value_tracks_true=int(missing and R.random() < 0.5))
        nodes.append(node)
        if mode == 6:
            sets.extend([float(x) for x in R.choice(np.arange(1, 6), R.integers(1, 5), replace=False)] + [float("nan")])   # as ONNX Runtime has them
        for way in ("true", "false"):
            end = depth == 1 or R.random() < 0.25
            node[way + "leafs"] = int(end)
            node[way + "nodeids"] = leaf() if end else grow(depth - 1)
        return at
    for _ in range(trees):
        roots.append(grow(deep))
    real = lambda values, dtype=np.float32: numpy_helper.from_array(np.array(values, dtype))
    a = {f"nodes_{k}": [n[k] for n in nodes] for k in nodes[0]}
    a.update(nodes_modes=real(a["nodes_modes"], np.uint8), nodes_splits=real(a["nodes_splits"]), tree_roots=roots, n_targets=targets,
             leaf_targetids=[t for t, _ in leaves], leaf_weights=real([w for _, w in leaves]))
    return {**a, "membership_values": real(sets)} if sets else a


def ensembles():
    for trees, deep, modes in ((1, 1, [0]), (3, 4, [0]), (6, 5, [1]), (4, 3, [2]), (4, 3, [3]), (5, 4, [4, 5]), (4, 4, [6]), (8, 5, [0, 6])):
        for targets in (1, 3):
            for how in (0, 1, 2, 3):
                if how > 1 and targets > 1:     # where no leaf tells of a result ONNX Runtime gives 0
                    continue
                case("TreeEnsemble", floats(), version=5, aggregate_function=how, **ensemble(trees, deep, modes, targets))
    case("TreeEnsemble", floats(nan=True), version=5, **ensemble(5, 4, [0], 2, missing=True))
    for post in (0, 3):     # ONNX Runtime takes 1 for LOGISTIC and 2 for SOFTMAX, ONNX has them the other way
        case("TreeEnsemble", floats(), version=5, post_transform=post, **ensemble(5, 4, [0], 3))


def vectors():
    """Support vector machines."""
    reals = lambda *shape: [float(x) for x in R.standard_normal(shape).ravel()]
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        params = [0.25, 0.5, 2.0]
        for one_class in (0, 1):
            case("SVMRegressor", floats(), kernel_type=kernel, kernel_params=params, support_vectors=reals(7, 6), coefficients=reals(7), rho=[0.2],
                 n_supports=7, one_class=one_class)
        for per in ([2, 3], [3, 1, 2], [1, 2, 2, 3]):
            k, n = len(per), sum(per)
            pairs = k * (k - 1) // 2
            for post in ("NONE", "LOGISTIC", "SOFTMAX"):
                model = dict(kernel_type=kernel, kernel_params=params, support_vectors=reals(n, 6), coefficients=reals(k - 1, n), rho=reals(pairs),
                             vectors_per_class=per, classlabels_ints=[int(x) for x in R.permutation(9)[:k]])
                case("SVMClassifier", floats(), 2, post_transform=post, **model)
                case("SVMClassifier", floats(), 2, post_transform=post, prob_a=[-abs(x) for x in reals(pairs)], prob_b=reals(pairs), **model)


def features():
    row = [float(x) for x in R.standard_normal(6)]
    case("Scaler", floats(), offset=row, scale=row[::-1])
    case("Scaler", floats(), offset=row[:1], scale=row[1:2])
    case("Scaler", floats(dtype=np.int64, whole=True), kind=T.INT64, offset=row, scale=row)
    for norm in ("MAX", "L1", "L2"):
        case("Normalizer", lambda n: np.abs(floats()(n)), norm=norm)
    case("Binarizer", floats(), threshold=0.5)
    case("ArrayFeatureExtractor", floats(), more=[("at", np.array([[4, 0, 4]], np.int64))], version=1)
    case("ArrayFeatureExtractor", floats(dtype=np.int64, whole=True), kind=T.INT64, more=[("at", np.array([1], np.int64))], version=1)
    case("Imputer", floats(nan=True), imputed_value_floats=row, replaced_value_float=float("nan"))
    case("Imputer", floats(), imputed_value_floats=row[:1], replaced_value_float=0.5)
    case("Imputer", floats(dtype=np.int64, whole=True), kind=T.INT64, imputed_value_int64s=[9], replaced_value_int64=2)
    case("LabelEncoder", floats(dtype=np.int64, whole=True), kind=T.INT64, keys_int64s=[3, -1, 0, 2], values_int64s=[7, 5, 9, -2], default_int64=-5)
    case("LabelEncoder", floats(dtype=np.int64, whole=True), kind=T.INT64, keys_int64s=[3, -1, 0, 2], values_floats=[7.5, 5.0, 9.0, -2.0], default_float=0.25)
    case("LabelEncoder", floats(), keys_floats=[0.5, -1.0, 2.0], values_int64s=[1, 2, 3])
    case("OneHotEncoder", floats(width=1, dtype=np.int64, whole=True), width=1, kind=T.INT64, cats_int64s=[0, 3, -2], zeros=1)
    case("FeatureVectorizer", floats(), inputdimensions=[6], version=1)


def main():
    onnxruntime.set_default_logger_severity(4)
    os.makedirs(sys.argv[1], exist_ok=True)
    trees()
    ensembles()
    linear()
    vectors()
    features()
    with open(os.path.join(sys.argv[1], "list"), "w") as f:
        f.writelines(LINES)
    print(f"{len(LINES)} models of {len(COUNT)} operators of ai.onnx.ml")


if __name__ == "__main__":
    main()
