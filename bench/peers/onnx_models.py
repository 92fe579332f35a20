"""bench/peers/onnx_models.py: models that people use and what PyTorch's exporters write of 20 architectures, beside ONNX
Runtime on one thread: loading with the first run, and a run.

    make bench-peers-onnx                      after `make onnx-tests`, which downloads, exports and makes inputs
    make bench-peers-onnx ARGS="vad half"      models whose name contains one of the words

Samples of both are taken in turn in one process, and the results are compared first. The ratio is ONNX Runtime's least time over dync's."""
import ctypes
import glob
import math
import os
import sys

import numpy
import onnx
import onnxruntime
import torch
from onnx import numpy_helper

from peers import Array, array, measure, python_time, show

SAMPLES, SAMPLE_NS, LOADS = 11, 10e6, 5


def read(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t).copy()


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def result(lib):
    """The first output of a call of dync's."""
    a = Array()
    if lib.peer_call() < 1 or not lib.peer_result(0, ctypes.byref(a)) or a.dtype:
        return None
    shape = tuple(a.shape[:a.ndim])
    return numpy.frombuffer(ctypes.string_at(a.data, 4 * math.prod(shape)), numpy.float32).reshape(shape)


def listed(folder, name):
    """The folders that a list of make onnx-tests names; none where there is no list."""
    try:
        with open(os.path.join(folder, name)) as f:
            return [line.split()[0] for line in f]
    except OSError:
        return []


def row(lib, folder):
    path = os.path.join(folder, "model.onnx").encode()
    inputs = [torch.from_numpy(read(p)) for p in sorted(glob.glob(os.path.join(folder, "test_data_set_0", "input_*.pb")))]
    ins = (Array * len(inputs))(*[array(t) for t in inputs])
    load = {"dync": [], "onnxruntime": []}

    def theirs():
        s = session(path.decode())
        feed = {i.name: t.numpy() for i, t in zip(s.get_inputs(), inputs)}
        return s, feed, s.run(None, feed)
    for i in range(LOADS):
        took = lib.peer_onnx(path, ins, len(inputs), 1)
        if took < 0:
            raise RuntimeError(lib.peer_error().decode())
        load["dync"].append(took)
        load["onnxruntime"].append(python_time(theirs)(1))
        if i + 1 < LOADS:
            lib.peer_close()
    s, feed, want = theirs()
    got = result(lib)
    wrong = got is not None and (got.shape != want[0].shape or not numpy.allclose(got, want[0], 1e-4, 1e-4))
    times = measure({"dync": lib.peer_time, "onnxruntime": python_time(lambda: s.run(None, feed))}, SAMPLES, SAMPLE_NS, 1)
    lib.peer_close()
    return wrong, {k: min(v) for k, v in load.items()}, {k: v[0] for k, v in times.items()}


def main():
    lib, folder, words = ctypes.CDLL(sys.argv[1]), sys.argv[2], sys.argv[3:]
    lib.peer_time.restype = lib.peer_onnx.restype = ctypes.c_double
    lib.peer_time.argtypes = [ctypes.c_long]
    lib.peer_onnx.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    lib.peer_error.restype = ctypes.c_char_p
    names = listed(folder, "models") + [os.path.join("exported", n) for n in listed(os.path.join(folder, "exported"), "list")]
    if not names:
        print(f"skip bench-peers-onnx: no models in {folder}: make onnx-tests downloads and exports them")
        return 0
    failed = 0
    print(f"{'one thread; times are the least of the samples':44} {'dync':>10} {'onnxruntime':>12} {'ratio':>8}")
    for name in names:
        if words and not any(w in name for w in words):
            continue
        wrong, load, run = row(lib, os.path.join(folder, name))
        failed += wrong
        for what, t in (("load and first run", load), ("run", run)):
            print(f"{os.path.basename(name).removeprefix('model_') + ', ' + what:44} {show(t['dync']):>10} {show(t['onnxruntime']):>12} "
                  f"{t['onnxruntime'] / t['dync']:7.2f}x{'  WRONG' if wrong else ''}", flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
