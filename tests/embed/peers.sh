#!/bin/sh
# tests/embed/peers.sh folder nets [net ...]: networks exported as C beside the same ones written by hand in plain C
# (tests/embed/peers), same flags, on an emulated Cortex-M4: instructions, RAM, flash beyond weights. `nets` is the
# program of peers/nets.c. FLAGS: how both are compiled; LIMITS="1.15 1.05": ratios of instructions and of RAM beyond
# which it fails; none: no limit. Ends with "N passed, N failed, N skipped".
out=${1:-build/peers} nets=${2:-build/peers/nets}
shift 2
here=tests/embed
flags=${FLAGS:--O2}
cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
arm="arm-none-eabi-gcc -std=gnu11 -Wall -Wextra $cpu -ffunction-sections -fdata-sections -I$here/peers -I$out"
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "skip: there is no $tool here"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
done
mkdir -p "$out"
"$nets" "$out" "$@" || exit 1
passed=0 failed=0

one() {   # net, multiply-adds
    upper=$(echo "$1" | tr a-z A-Z)
    $arm $flags -c "$out/$1.c" -o "$out/$1.o" && $arm $flags -c $here/peers/$1.c -o "$out/$1_peer.o" &&
        $arm -O0 -c "$out/$1_data.c" -o "$out/$1_data.o" &&
        $arm -Os -DNET_H="\"$1.h\"" -DRUN=$1_run -DARENA=${upper}_ARENA_BYTES $here/peers/main.c "$out/$1.o" "$out/$1_peer.o" \
            "$out/$1_data.o" $here/cortex_m4/board.c -T $here/cortex_m4/mps2.ld -nostartfiles -Wl,--gc-sections -lm -lc -lgcc \
            -o "$out/$1.elf" || return 1
    figures=$(timeout 300 qemu-system-arm -M mps2-an386 -icount shift=0 -display none -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$out/$1.elf" 2>&1)
    status=$?
    weights=$(awk -v w="${upper}_WEIGHT_BYTES" '$2 == w { print $3 }' "$out/$1.h")
    text=$(arm-none-eabi-size "$out/$1.o" | awk -v w="$weights" 'NR == 2 { print $1 - w }')
    peer=$(arm-none-eabi-size "$out/$1_peer.o" | awk 'NR == 2 { print $1 }')
    echo "$1 $2 $figures $text $peer" | awk -v limits="$LIMITS" '{
        printf "%-12s %10d %10d %6.2f %5.2f %5.2f %8d %8d %6.2f %7d %7d\n", $1, $3, $4, $4 / $3, $3 / $2, $4 / $2, $5, $6, $6 / $5, $9, $8
        split(limits, most, " "); exit (limits != "" && ($4 > most[1] * $3 || $6 > most[2] * $5)) || $7 != 0 }' && [ $status = 0 ]
}

printf '%-12s %10s %10s %6s %5s %5s %8s %8s %6s %7s %7s\n' "$flags" "by hand" dync ratio "/MAC" "/MAC" RAM dync ratio code dync
for row in mlp:4416 cnn:345744 mobilenet:7529472 gru:92288 keywords:470912 autoencoder:198656; do
    net=${row%%:*}
    [ $# = 0 ] || case " $* " in *" $net "*) ;; *) continue ;; esac
    if one $net ${row##*:}; then passed=$((passed + 1)); else echo "FAIL $net"; failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
