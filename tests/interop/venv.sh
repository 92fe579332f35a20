#!/bin/sh
# tests/interop/venv.sh [folder]: a Python environment with what the tests of tests/interop compare with and load at
# run time, made once (build/interop). Prints the path of its python. INTEROP_PYTHON names one that is there already.
# Where packages cannot be had it says why and ends with 1.
set -u
[ -z "${INTEROP_PYTHON:-}" ] || { echo "$INTEROP_PYTHON"; exit 0; }
folder=${1:-build/interop}
packages="numpy onnx onnxruntime apache-tvm gguf"
if [ ! -f "$folder/ready" ]; then
    mkdir -p "$folder"
    { python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet --no-cache-dir $packages; } >"$folder/log" 2>&1 ||
        { echo "no packages ($packages): $(tail -n 1 "$folder/log")" >&2; exit 1; }
    "$folder/bin/python" -m pip install --quiet --no-cache-dir torch onnxscript >>"$folder/log" 2>&1 || echo "no torch: its tests are skipped" >&2
    touch "$folder/ready"
fi
echo "$folder/bin/python"
