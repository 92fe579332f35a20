#!/bin/sh
# The first hour on a GPU, one command: what a machine with a GPU is needed for, most important first,
# each step's output in a file of its own and a page that sums it up at the end.
#
#   tests/cuda/first_hour.sh [--dry] [folder]        folder: build/first_hour; --dry: on the emulator
#
# A step that is done (folder/STEP.ok) is not run again, so that the hour may come in pieces: call it
# again and it goes on. STEPS="tests bench" picks steps; LIMIT (540) is the most seconds a step takes.
# `make gpu-build` compiles everything beforehand, without a GPU. The exit status is that of the tests.
set -u
cd "$(dirname "$0")/../.." || exit 1
dry= only=
[ "${1:-}" = --step ] && { only=$2; shift 2; }     # of this script alone: see step()
[ "${1:-}" = --dry ] && { dry=-dry; shift; }
out=${1:-build/first_hour}
limit=${LIMIT:-540}
mkdir -p "$out" || exit 1
page=$out/summary.txt
make="make --no-print-directory GPU_DRY=$dry"

machine() {   # what this is
    date
    uname -srm
    nvidia-smi 2>&1 | head -n 20
    command -v compute-sanitizer ptxas nsys 2>&1
    build/gpu$dry/probe
}
tests() { $make gpu-tests; }
rows() {      # B-09, M-04 to M-06, M-11 to M-14, as the source tests say them
    status=0
    for t in test_rows_b test_rows_m; do build/gpu$dry/$t -v || status=1; done
    return $status
}
bench() { $make gpu-bench && cp build/gpu$dry/table.json build/gpu$dry/table.md "$out"/; }
goals() { ${PYTHON:-python3} bench/gpu/goals.py "$out/table.json"; }
texts() { $make ptxas EVERY=5; }

step() {      # name, what it is
    [ -z "${STEPS:-}" ] || case " $STEPS " in *" $1 "*) ;; *) return ;; esac
    if [ -f "$out/$1.ok" ]; then echo "== $1: done before"; return; fi
    echo "== $1: $2"
    at=$(date +%s)
    # A shell function cannot be given to timeout: the step is this script again.
    timeout "$limit" sh tests/cuda/first_hour.sh --step "$1" ${dry:+--dry} "$out" > "$out/$1.txt" 2>&1
    status=$?
    echo "$1: exit status $status, $(($(date +%s) - at)) s" | tee "$out/$1.said"
    [ $status = 0 ] && : > "$out/$1.ok"
}
summary() {   # a page
    echo "The first hour on a GPU, $(date)"
    grep -hE 'GPU|Driver|CUDA Version' "$out/machine.txt" 2>/dev/null | head -n 4
    for s in machine tests rows bench goals texts; do cat "$out/$s.said" 2>/dev/null; done
    echo "-- tests"
    grep -hE '^FAIL|^left|passed, [0-9]+ failed$' "$out/tests.txt" 2>/dev/null | tail -n 15
    echo "-- rows of the source tests"
    grep -hE '^FAIL|^skip|passed, [0-9]+ failed' "$out/rows.txt" 2>/dev/null | tail -n 12
    echo "-- goals"
    grep -hE 'MISSED|^goals' "$out/goals.txt" 2>/dev/null | tail -n 25
    echo "All of it: $out/*.txt, $out/table.md goes into bench/README.md"
}

if [ -n "$only" ]; then "$only"; exit; fi
step machine "what this machine is"
step tests   "tests/cuda on the device, then under compute-sanitizer"
step rows    "rows B-09, M-04 to M-06, M-11 to M-14"
step bench   "dync beside PyTorch"
step goals   "figures beside the goals"
step texts   "every text through ptxas"
summary | tee "$page"
[ -f "$out/tests.ok" ]
