#!/bin/sh
# Every PTX text that the tests below tests/cuda make, assembled for sm_80, sm_90a and the newest target that ptxas knows (texts for sm_90a
# for that alone, and wgmma must not be serialised); registers and spills at the end. Without a toolkit: says so, and is no failure.
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
one() {
    archs="sm_80 sm_90a $newest"
    level=-O1
    grep -q '^.target sm_90a' "$1" && archs=sm_90a && level=-O3          # a variant for 9.0 alone; how wgmma is scheduled shows only when it is optimised
    for arch in $archs; do
        "$ptxas" -v $level -arch="$arch" "$1" -o /dev/null 2>&1 || { echo "$1 for $arch"; return 255; }
    done
}
n=0
seen=0
for f in "$b"/ptx/*.ptx; do
    seen=$((seen + 1))
    [ $((seen % ${EVERY:-1})) = 0 ] || continue
    one "$f" >>"$b/ptx/ptxas.txt" || { tail -n 5 "$b/ptx/ptxas.txt"; exit 1; }
    n=$((n + 1))
done
if grep -B 3 -i 'potential performance loss' "$b/ptx/ptxas.txt"; then exit 1; fi
echo "$n of $seen texts assembled for sm_80, sm_90a, $newest;" "most registers: $(grep -o 'Used [0-9]* registers' "$b/ptx/ptxas.txt" | sort -k2 -n | tail -n 1);" \
     "kernels with spills: $(grep -c '[1-9][0-9]* bytes spill stores' "$b/ptx/ptxas.txt")"
