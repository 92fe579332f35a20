#!/bin/sh
# Every PTX text that the tests below tests/cuda make, assembled for sm_80, sm_90a and the newest target that ptxas knows (texts for sm_90a
# for that alone, and wgmma must not be serialised); registers and spills at the end, what spills in BUILD_DIR/ptx/spills.txt. Without a toolkit:
# says so, and is no failure.
#   ptxas.sh BUILD_DIR test...          EVERY=20: each twentieth text, for CI
b=$1
shift
ptxas=${PTXAS:-$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)}
if [ -z "$ptxas" ]; then
    echo "skip ptxas: there is none on this machine (PTXAS names one)"
    exit 0
fi
rm -rf "$b/ptx" && mkdir -p "$b/ptx"
for t in "$@"; do CUEMU_PTX_DIR=$b/ptx "$t" >"$b/ptx/log.txt" 2>&1 || { cat "$b/ptx/log.txt"; exit 1; }; done
newest=$("$ptxas" --help | grep -o 'sm_[0-9]*a\{0,1\}' | sort -t_ -k2 -n -u | tail -n 1)
cat >"$b/ptx/one.sh" <<'ONE'
targets="sm_80 sm_90a $3" level=-O1
grep -q '^\.target sm_90a' "$1" && targets=sm_90a && level=-O3   # a variant for 9.0 alone; how wgmma is scheduled shows only when it is optimised
for arch in $targets; do
    "$2" -v $level -arch="$arch" "$1" -o /dev/null >"$1.$arch.log" 2>&1 || { echo "$1 for $arch"; cat "$1.$arch.log"; exit 255; }
    if grep -i 'potential performance loss' "$1.$arch.log"; then echo "$1"; exit 255; fi
done
ONE
seen=$(ls "$b/ptx" | grep -c '\.ptx$')
ls "$b"/ptx/*.ptx | awk -v every="${EVERY:-1}" 'NR % every == 0' | xargs -P "$(nproc 2>/dev/null || echo 1)" -I {} sh "$b/ptx/one.sh" {} "$ptxas" "$newest" || exit 1
find "$b/ptx" -name '*.ptx.*.log' -exec grep -l '[1-9][0-9]* bytes spill stores' {} + >"$b/ptx/spills.txt"
most=$(find "$b/ptx" -name '*.ptx.*.log' -exec grep -ho 'Used [0-9]* registers' {} + | awk '$2 > most { most = $2 } END { print most }')
echo "$(ls "$b"/ptx/*.sm_90a.log | wc -l) of $seen texts assembled for sm_80, sm_90a, $newest ($(grep -l '^\.target sm_90a' "$b"/ptx/*.ptx | wc -l) for sm_90a alone);" \
     "most registers: $most; texts with spills: $(sed 's/\.sm_.*//' "$b/ptx/spills.txt" | sort -u | wc -l)"
