#!/usr/bin/env python3
"""What dync wrote of models that it read, checked by onnx and run by ONNX Runtime.

usage: again.py LIST

LIST: lines of folder, rtol, atol, as run_cases reads them, which wrote <folder>/again.onnx (lines with the word graph).
Each passes onnx.checker with full shape inference and gives the outputs of the data sets that its graph is for, which
stand in <folder>/again.sets.
"""
import os
import sys

import numpy as np
import onnx
import onnx.checker
import onnxruntime
from onnx import numpy_helper


def tensors(folder, kind):
    at = lambda i: os.path.join(folder, f"{kind}_{i}.pb")
    i = 0
    while os.path.exists(at(i)):
        yield numpy_helper.to_array(onnx.load_tensor(at(i)))
        i += 1


def different(path, folder, rtol, atol):
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    sets = open(os.path.join(folder, "again.sets")).read().split()
    for name in sets:
        data = os.path.join(folder, name)
        inputs, want = tensors(data, "input"), list(tensors(data, "output"))
        got = session.run(None, dict(zip((i.name for i in session.get_inputs()), inputs)))
        for i, (a, b) in enumerate(zip(got, want)):
            if a.shape != b.shape or a.dtype != b.dtype:
                return f"{name}: output {i} is {a.dtype} {a.shape}, not {b.dtype} {b.shape}"
            if not np.allclose(a, b, rtol, atol, equal_nan=True):
                return f"{name}: output {i} differs by {np.max(np.abs(a.astype(np.float64) - b)):g}"
    return None if sets else "is for none of the data sets"


def main():
    root, passed, failed = os.path.dirname(sys.argv[1]), 0, 0
    for line in open(sys.argv[1]):
        name, rtol, atol, *word = line.split()
        if word != ["graph"]:
            continue
        folder = os.path.join(root, name)
        path = os.path.join(folder, "again.onnx")
        try:
            said = different(path, folder, float(rtol), float(atol))
        except Exception as e:
            said = f"{type(e).__name__}: {str(e).strip()[:600]}"
        if said:
            print(f"FAIL {name}: written again: {said}")
            failed += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
