#!/bin/sh
# Every PTX text that the tests below tests/cuda make, assembled for sm_80, sm_90a and the newest target that ptxas
# knows (texts for sm_90a for that alone, and wgmma must not be serialised); registers and spills at the end, what
# spills in BUILD_DIR/ptx/spills.txt. What was assembled once is not again: texts are named by their hash, and their
# logs stay in BUILD_DIR/ptx until ptxas is another. Without a toolkit: says so, and is no failure.
#   ptxas.sh BUILD_DIR test...          EVERY=20: each twentieth text, for CI
b=$1
shift
ptxas=${PTXAS:-$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)}
if [ -z "$ptxas" ]; then
    echo "skip ptxas: there is none on this machine (PTXAS names one)"
    exit 0
fi
jobs=$(nproc 2>/dev/null || echo 1)
mkdir -p "$b/ptx"
"$ptxas" --version | cmp -s - "$b/ptx/version.txt" || { rm -rf "$b/ptx" && mkdir -p "$b/ptx" && "$ptxas" --version >"$b/ptx/version.txt"; }
rm -f "$b"/ptx/*.ptx "$b"/ptx/*.out
printf '%s\n' "$@" | CUEMU_PTX_DIR=$b/ptx xargs -P "$jobs" -I {} sh -c 'o=$2/ptx/$(basename "$1").out; "$1" >"$o" 2>&1 || { cat "$o"; exit 255; }' sh {} "$b" || exit 1
newest=$("$ptxas" --help | grep -o 'sm_[0-9]*a\{0,1\}' | sort -t_ -k2 -n -u | tail -n 1)
cat >"$b/ptx/one.sh" <<'ONE'
targets="sm_80 sm_90a $3" level=-O1
grep -q '^\.target sm_90a' "$1" && targets=sm_90a && level=-O3   # a variant for 9.0 alone; how wgmma is scheduled shows only when it is optimised
for arch in $targets; do
    [ -e "$1.$arch.log" ] && continue
    "$2" -v $level -arch="$arch" "$1" -o /dev/null >"$1.$arch.new" 2>&1 || { echo "$1 for $arch"; cat "$1.$arch.new"; exit 255; }
    if grep -i 'potential performance loss' "$1.$arch.new"; then echo "$1"; exit 255; fi
    mv "$1.$arch.new" "$1.$arch.log"
done
ONE
seen=$(ls "$b/ptx" | grep -c '\.ptx$')
ls "$b"/ptx/*.ptx | awk -v every="${EVERY:-1}" 'NR % every == 0' >"$b/ptx/list.txt"
xargs -P "$jobs" -I {} sh "$b/ptx/one.sh" {} "$ptxas" "$newest" <"$b/ptx/list.txt" || exit 1
for t in $(cat "$b/ptx/list.txt"); do ls "$t".*.log; done >"$b/ptx/logs.txt"
xargs grep -l '[1-9][0-9]* bytes spill stores' <"$b/ptx/logs.txt" >"$b/ptx/spills.txt"
most=$(xargs grep -ho 'Used [0-9]* registers' <"$b/ptx/logs.txt" | awk '$2 > most { most = $2 } END { print most }')
echo "$(wc -l <"$b/ptx/list.txt") of $seen texts assembled for sm_80, sm_90a, $newest ($(grep -l '^\.target sm_90a' "$b"/ptx/*.ptx | wc -l) of all for sm_90a alone);" \
     "most registers: $most; texts with spills: $(sed 's/\.sm_.*//' "$b/ptx/spills.txt" | sort -u | wc -l)"
