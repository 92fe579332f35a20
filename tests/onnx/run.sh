#!/bin/sh
# tests/onnx/run.sh RUN_CASES [folder]: the package onnx's own tests: every node test of plain tensors, and its small
# models; then models that people use, com.microsoft operators (tests/oracle/microsoft.py), and architectures written
# by PyTorch's exporters (tests/oracle/torch_onnx.py). Needs a Python with onnx and numpy (tests/interop/venv.sh makes
# one); without it says skip, and why. A case that fails must stand in tests/onnx/expected.txt with its reason, and
# one that stands there must fail.
set -u
program=$1
folder=${2:-build/onnx}
python=$(sh tests/interop/venv.sh) || { echo "skip onnx: no Python packages"; exit 0; }
"$python" -c 'import onnx, numpy' 2>/dev/null || { echo "skip onnx: no package onnx"; exit 0; }
"$python" tests/onnx/cases.py "$folder" || exit 1
"$program" "$folder/list" >"$folder/out" 2>"$folder/err"
sed -n 's/^FAIL \([^:]*\):.*/\1/p' "$folder/out" | sort >"$folder/failed"
grep -v '^#' tests/onnx/expected.txt | awk 'NF { print $1 }' | sort >"$folder/expected"
new=$(comm -23 "$folder/failed" "$folder/expected")
gone=$(comm -13 "$folder/failed" "$folder/expected")
[ -z "$new" ] || { for n in $new; do grep "^FAIL $n:" "$folder/out"; done; }
[ -z "$gone" ] || echo "passes now, take it out of tests/onnx/expected.txt:" $gone
# what is known to differ is neither passed nor failed
known=$(comm -12 "$folder/failed" "$folder/expected" | wc -l)
passed=$(tail -n 1 "$folder/out" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed.*/\1/p')
[ -n "$passed" ] || { tail -n 5 "$folder/out" "$folder/err"; exit 1; }
echo "$known cases differ as tests/onnx/expected.txt says"
echo "$passed passed, $(echo $new $gone | wc -w) failed"
# models of symbolic sizes, and those that people use, from their wheels, to 1e-4
"$python" -c 'import onnxruntime' 2>/dev/null || { echo "skip models: no package onnxruntime"; [ -z "$new$gone" ]; exit; }
# what is written of each is checked by onnx and run by ONNX Runtime
"$python" tests/onnx/sized.py "$folder" && "$program" "$folder/sized" 2>"$folder/err" || exit 1
"$python" tests/onnx/again.py "$folder/sized" || exit 1
"$python" tests/onnx/models.py "$folder"
case $? in
0) "$program" "$folder/models" 2>"$folder/err" || exit 1 ;;
3) ;; # said why
*) exit 1 ;;
esac
# operators of com.microsoft, one a model, as ONNX Runtime computes them
rm -rf "$folder/microsoft"
"$python" tests/oracle/microsoft.py "$folder/microsoft" || exit 1
"$program" "$folder/microsoft/list" -e 2>"$folder/err" || exit 1
# operators of ai.onnx.ml: trees, linear models, features; and what dync writes of them
rm -rf "$folder/trees"
"$python" tests/oracle/trees.py "$folder/trees" || exit 1
"$program" "$folder/trees/list" -e 2>"$folder/err" || exit 1
"$python" tests/onnx/again.py "$folder/trees/list" || exit 1
# what PyTorch's two exporters write of 20 architectures (TEST_LONG=1: of 91), compiled and node by node, to 1e-4 of its
# numbers; and what dync writes of them, by ONNX Runtime
rm -rf "$folder/exported"
"$python" tests/oracle/torch_onnx.py "$folder/exported" ${TEST_LONG:+--all}
case $? in
0)
    "$program" "$folder/exported/list" -e 2>"$folder/err" || exit 1
    "$python" tests/onnx/again.py "$folder/exported/list" || exit 1
    ;;
3) ;; # said why
*) exit 1 ;;
esac
[ -z "$new$gone" ]
