# tests/fuzz/fuzz.sh FOLDER SECONDS TARGET...: runs fuzzers that rules.mk built; 0 seconds: the corpora alone, through
# the plain driver.
dir=$1; seconds=$2; shift 2
corpus=tests/fuzz/corpus
# leaks: blocks in caches look like some; tests/unit/test_fuzz counts what is left after dync_shutdown
export DYNC_CPU=none ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0
# the operators' names for targets of text
sed -n 's/^    X(\([a-z_0-9]*\),.*/"dync_\1("/p' src/op/ops_*.def.h > "$dir/operators.$1.dict"
failed=0
for t in "$@"; do
    mkdir -p "$dir/corpus/$t" "$dir/found"
    if [ "$seconds" = 0 ]; then
        "$dir/fuzz_$t" $corpus/$t/* || failed=1
        continue
    fi
    dict=; case $t in graph|program) dict="-dict=$dir/operators.$1.dict" ;; esac
    "$dir/fuzz_$t" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4000 -len_control=0 -max_len=4096 -print_final_stats=1 -verbosity=0 $dict \
        -artifact_prefix="$dir/found/$t-" "$dir/corpus/$t" "$corpus/$t" > "$dir/$t.log" 2>&1
    if [ $? = 0 ]; then echo "ok   fuzz $t: $(sed -n 's/stat::number_of_executed_units: *//p' "$dir/$t.log") inputs in $seconds s"
    else failed=1; echo "FAIL fuzz $t"; grep -E "ERROR|runtime error|SUMMARY|Test unit written" "$dir/$t.log"; fi
done
exit $failed
