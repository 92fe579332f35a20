#!/bin/sh
# tests/interop/onnx.sh build-folder: what dync writes as ONNX, checked by onnx and run by ONNX Runtime, and the tests
# of backend onnxrt with the real library. Says skip, and why, where the packages cannot be had.
set -u
build=$1
here=$(dirname "$0")
python=$(sh "$here/venv.sh" 2>"$build/interop.log") || { echo "skip ONNX Runtime: $(cat "$build/interop.log")"; exit 0; }
library=$("$python" -c 'import glob, os, onnxruntime as o; print(glob.glob(os.path.join(os.path.dirname(o.__file__), "capi", "libonnxruntime.so*"))[0])')
models=$build/onnx_models/
rm -rf "$models"; mkdir -p "$models"
failed=0
ONNX_PACK=$models "$build/tests/unit/test_onnx_write" || failed=1
ONNX_MODELS=$models "$build/tests/program/test_onnx_models" || failed=1
ONNX_MODELS=$models "$build/tests/program/test_onnx_data" || failed=1
"$python" "$here/onnx_write.py" "$models"/*.pack "$models" || failed=1
export DYNC_ONNXRUNTIME="$library"
"$build/tests/capture/test_onnxrt" || failed=1
"$build/tests/capture/test_rows_b" -t B_10_onnxrt || failed=1
exit $failed
