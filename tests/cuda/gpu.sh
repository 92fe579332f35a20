#!/bin/sh
# Tests on a GPU, several at a time, each with a limit; then under compute-sanitizer where there is one. SECONDS_LEFT
# (230) is for all of it. Compiled images are kept between the two.
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
limit=$(($5 - start))
[ "$limit" -lt "$4" ] || limit=$4
if [ "$limit" -lt 3 ]; then echo "left $name: no time"; exit 0; fi
case $3 in
'') timeout "$limit" "$2" ;;
.memcheck) timeout "$limit" compute-sanitizer --error-exitcode 9 --report-api-errors no --tool memcheck "$2" --no-fork ;;
.racecheck) timeout "$limit" compute-sanitizer --error-exitcode 9 --tool racecheck "$2" --no-fork ;;
esac >"$1/$name.txt" 2>&1
status=$?
if [ $status = 0 ]; then echo "ok   $name, $(($(date +%s) - start)) s"
elif [ $status = 124 ] && [ -n "$3" ]; then echo "left $name: not done after $limit s"
else echo "FAIL $name ($status)"; grep -v '^ok ' "$1/$name.txt" | tail -n 25 | sed 's/^/  /'; fi
ONE
run() {   # suffix limit test...
    suffix=$1 limit=$2
    shift 2
    printf '%s\n' "$@" | xargs -P "$jobs" -I {} sh "$b/out/one.sh" "$b/out" {} "$suffix" "$limit" "$until" | tee -a "$b/out/all.txt"
}
: >"$b/out/all.txt"
until=$(($(date +%s) + ${SECONDS_LEFT:-230}))
run '' 200 "$@"
if command -v compute-sanitizer >/dev/null; then
    few=$(printf '%s\n' "$@" | grep -v -e test_rows -e white_hopper)  # they start compilers, know the emulator alone
    run .memcheck 75 $few
    run .racecheck 45 $(printf '%s\n' "$@" | grep white_ | grep -v white_hopper)
else
    echo "skip compute-sanitizer: there is none here"
fi
echo "$(grep -c '^ok ' "$b/out/all.txt") passed, $(grep -c '^FAIL' "$b/out/all.txt") failed"
! grep -q '^FAIL' "$b/out/all.txt"
