#!/bin/sh
# tests/embed/peers_int8.sh folder nets [net ...]: the networks of tests/embed/peers in 8-bit integers on an emulated
# Cortex-M4: instructions without and with those for pairs of 16 bits (DYNC_SMLAD), RAM, flash beyond weights, signal
# to noise in dB. `nets` is the program of peers/nets.c; FLAGS: how the file is compiled. Both forms must give the
# same bits. Ends with "N passed, N failed, N skipped".
out=${1:-build/peers-int8} nets=${2:-build/peers/nets}
shift 2
here=tests/embed
flags=${FLAGS:--O2}
cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
arm="arm-none-eabi-gcc -std=gnu11 -Wall -Wextra -Werror $cpu -ffunction-sections -fdata-sections -I$here/peers -I$out"
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "skip: there is no $tool here"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
done
mkdir -p "$out"
"$nets" "$out" -int8 "$@" || exit 1
passed=0 failed=0

form() {   # net, 0 or 1
    upper=$(echo "$1" | tr a-z A-Z)
    $arm $flags -DDYNC_SMLAD=$2 -c "$out/$1_int8.c" -o "$out/$1_int8_$2.o" && $arm -O0 -c "$out/$1_data.c" -o "$out/$1_data.o" &&
        $arm -Os -DNET_H="\"$1_int8.h\"" -DRUN=$1_int8_run -DARENA=${upper}_INT8_ARENA_BYTES $here/peers/int8.c "$out/$1_int8_$2.o" \
            "$out/$1_data.o" $here/cortex_m4/board.c -T $here/cortex_m4/mps2.ld -nostartfiles -Wl,--gc-sections -lm -lc -lgcc \
            -o "$out/$1_int8.elf" || return 1
    timeout 300 qemu-system-arm -M mps2-an386 -icount shift=0 -display none -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$out/$1_int8.elf" 2>&1
}

printf '%-12s %10s %10s %6s %5s %5s %8s %7s %4s\n' "$flags int8" "one by one" pairs ratio "/MAC" "/MAC" RAM code dB
for row in mlp:4416 cnn:345744 mobilenet:7529472 gru:92288 keywords:470912 autoencoder:198656; do
    net=${row%%:*}
    [ $# = 0 ] || case " $* " in *" $net "*) ;; *) continue ;; esac
    if plain=$(form $net 0) && pairs=$(form $net 1); then
        weights=$(awk -v w="$(echo $net | tr a-z A-Z)_INT8_WEIGHT_BYTES" '$2 == w { print $3 }' "$out/${net}_int8.h")
        text=$(arm-none-eabi-size "$out/${net}_int8_1.o" | awk -v w="$weights" 'NR == 2 { print $1 - w }')
        echo "$net ${row##*:} $plain $pairs $text" | awk '{
            printf "%-12s %10d %10d %6.2f %5.2f %5.2f %8d %7d %4d\n", $1, $3, $7, $7 / $3, $3 / $2, $7 / $2, $4, $11, $5
            exit $6 != $10 }' && passed=$((passed + 1)) && continue
    fi
    echo "FAIL $net: $plain / $pairs"
    failed=$((failed + 1))
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
