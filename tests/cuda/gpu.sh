#!/bin/sh
# Tests on a GPU, several at a time, each with a limit; then under compute-sanitizer where there is one. Compiled images are kept between the two.
#   gpu.sh BUILD_DIR PROBE test...
# Where there is no GPU: says so in the runtime's words, and is no failure. The last line is "N passed, N failed".
b=$1
probe=$2
shift 2
why=$("$probe") || { echo "no GPU: $why: nothing was run"; exit 0; }
echo "$why"
mkdir -p "$b/out"
export DYNC_CUDA_CACHE="$b/images"
jobs=$(($(nproc 2>/dev/null || echo 2) / 2))
[ "$jobs" -ge 1 ] || jobs=1
[ "$jobs" -le 6 ] || jobs=6
cat >"$b/out/one.sh" <<'ONE'
name=$(basename "$2")$3
start=$(date +%s)
case $3 in
'') timeout "$4" "$2" ;;
.memcheck) timeout "$4" compute-sanitizer --error-exitcode 9 --tool memcheck "$2" --no-fork ;;
.racecheck) timeout "$4" compute-sanitizer --error-exitcode 9 --tool racecheck "$2" --no-fork ;;
esac >"$1/$name.txt" 2>&1
status=$?
if [ $status = 0 ]; then echo "ok   $name, $(($(date +%s) - start)) s"
elif [ $status = 124 ] && [ -n "$3" ]; then echo "left $name: not done after $4 s"
else echo "FAIL $name ($status)"; grep -v '^ok ' "$1/$name.txt" | tail -n 25; fi
ONE
run() {   # suffix limit test...
    suffix=$1 limit=$2
    shift 2
    printf '%s\n' "$@" | xargs -P "$jobs" -I {} sh "$b/out/one.sh" "$b/out" {} "$suffix" "$limit" | tee -a "$b/out/all.txt"
}
: >"$b/out/all.txt"
run '' 200 "$@"
if command -v compute-sanitizer >/dev/null; then
    few=$(printf '%s\n' "$@" | grep -v test_rows)  # it starts compilers
    run .memcheck 75 $few
    run .racecheck 45 $(printf '%s\n' "$@" | grep white_)
else
    echo "skip compute-sanitizer: there is none here"
fi
echo "$(grep -c '^ok ' "$b/out/all.txt") passed, $(grep -c '^FAIL' "$b/out/all.txt") failed"
! grep -q '^FAIL' "$b/out/all.txt"
