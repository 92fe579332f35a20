#!/bin/sh
# tests/codegen/diff.sh BUILD REF SET: the machine code of REF beside that of the working tree; `make codegen-diff`
# calls it. Each side's own tests run with record.c in them; what a commit made is kept under BUILD/codegen.
build=$1 ref=$2 set=$3
here=$(pwd) out=$build/codegen
mkdir -p "$out"
commit=$(git rev-parse --verify --quiet "$ref^{commit}") || { echo "no such revision: $ref"; exit 2; }
wrapped="cpu_features a_finish a_watch x_finish x_watch code_new code_new_for code_sized inductor_lower gt_code ctile_code cblock_code kept_run"
quick="unit/test_codegen_levels unit/test_codegen_jit unit/test_codegen_takes unit/test_codegen_crossed unit/test_fuse unit/test_epilogue unit/test_ops nn/test_conv_plan nn/test_layers models/test_models
       random/test_random_table"
cores=$(nproc 2>/dev/null || echo 2)

# side SOURCE WORK: makes WORK/records, WORK relative to SOURCE (compiler caches make absolute names relative, also in
# what they say to make)
side()
{
    cd "$1" || exit 2
    b=$2/build flags= list=
    for w in $wrapped; do flags="$flags --wrap=dync__$w"; done
    for t in $(grep -l '^TEST_MAIN' tests/*/*.c | grep -v '^tests/cuda/'); do
        case $set:$t in       # of those that do not run here: what breaks memory, processes and files on purpose
        quick:*) for q in $quick; do [ "$t" = "tests/$q.c" ] && list="$list $b/${t%.c}"; done ;;
        *:tests/fault/* | *:tests/minify/* | *thread*) ;;
        *) list="$list $b/${t%.c}" ;;
        esac
    done
    rm -f "$2/records" "$2/records.seen" "$2/done"
    make -s -j"$cores" B="$b" SPLIT=1 CFLAGS=-O1 dync.h "$b/split/libdync.a" > "$2/log" 2>&1 || { tail -n 20 "$2/log"; exit 2; }
    record=tests/codegen
    [ -f $record/record.c ] || record=$here/tests/codegen
    ${CC:-cc} -std=gnu11 -O1 -fPIC -DDYNC__SPLIT -DDYNC__SHARED -Isrc -c $record/record.c -o "$2/made.o" || exit 2
    wraps=$(echo "$flags" | sed 's/ --wrap/ -Wl,--wrap/g')
    # make knows nothing of it
    cmp -s "$2/made.o" "$2/record.o" || { rm -rf "$b/tests" "$b/split/libdync.so"; mv "$2/made.o" "$2/record.o"; }
    # Where tests share one library, that alone has record.o, and tests call what it put before the library's functions.
    recorder="$2/record.o $b/split/libdync.a"
    if make -s B="$b" SPLIT=1 CFLAGS=-O1 LD="ld$flags" LDFLAGS="$2/record.o$wraps" "$b/split/libdync.so" > "$2/log" 2>&1; then recorder=; fi
    make -s -j"$cores" B="$b" SPLIT=1 CFLAGS=-O1 LD="ld$flags" LDFLAGS="$recorder$wraps" \
        $list "$b/tools/runtests" "$b/dync.o" > "$2/log" 2>&1 || { tail -n 20 "$2/log"; exit 2; }
    export CODE_RECORD="$(cd "$2" && pwd)/records" DYNC_CPU=avx2
    if python3 $record/peers.py . > "$2/rows.txt" 2>"$2/peers.log"; then
        ${CC:-cc} -std=c11 -O1 -I. -DDYNC__IMPLEMENTED $record/peers.c "$b/dync.o" "$2/record.o" $wraps \
            -lm -pthread -o "$2/peers" && "$2/peers" "$2/rows.txt" >> "$2/log" 2>&1 || echo "  rows of bench/peers failed: see $2/log"
    else
        echo "  rows of bench/peers are left out: see $2/peers.log"
    fi
    "$b/tools/runtests" --jobs "$cores" --out "$2/run" $list >> "$2/log" 2>&1     # a test that counts allocations may fail: code is made twice here
    touch "$2/done"
    [ -s "$2/records" ] || { echo "nothing was recorded: see $2/log"; exit 2; }
}

old=$out/$commit$set
case $build in /*) at=$old ;; *) at=$(echo "$out/source" | sed 's,[^/][^/]*,..,g')/$old ;; esac
if [ ! -f "$old/done" ]; then
    find "$out" -maxdepth 1 -name '????????????????????????????????????????*' -mtime +1 -exec rm -rf {} +
    rm -rf "$out/source" && mkdir -p "$old" "$out/source" && git archive "$commit" | tar -x -C "$out/source" || exit 2
    (side "$out/source" "$at") || exit 2
    rm -rf "$old/build" "$old/run" "$old/records.seen"
fi
mkdir -p "$out/tree"
(side . "$out/tree") || exit 2
"$build/tools/codegen-diff" "$old/records" "$out/tree/records" "$out"
