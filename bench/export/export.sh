#!/bin/sh
# bench/export/export.sh folder program object [net ...]: networks exported as C, compiled by $CC -O3 -march=native
# and by plain $CC -O3, beside the compiled functions: make bench-export. program: bench/export/export.c as it writes
# the files; object: dync to link with. FLAGS: more flags for the exported files; LIBS: libraries. On aarch64 it
# measures NEON; no other machine is emulated.
out=$1 program=$2 object=$3
shift 3
cc=${CC:-cc}
nets="mlp cnn mobilenet gru keywords autoencoder"
mkdir -p "$out"
"$program" "$out" || exit 1
for net in $nets; do
    for form in native plain; do
        march=; [ $form = plain ] || march=-march=native
        $cc -std=gnu11 -O3 $march $FLAGS "-D${net}_run=${net}_run_$form" "-D${net}_run_in=${net}_run_in_$form" -c "$out/$net.c" \
            -o "$out/${net}_$form.o" || exit 1
    done
done
$cc -std=gnu11 -O2 -DBENCH_FORMS -DDYNC__IMPLEMENTED -I. bench/export/export.c "$out"/*_native.o "$out"/*_plain.o "$object" $LIBS \
    -o "$out/time" || exit 1
"$out/time" --time "$@"
