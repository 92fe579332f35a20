#!/bin/sh
# tests/embed/digits.sh folder train: the demo's network, in floats and in 8-bit integers, as C source on an emulated
# Cortex-M4: 100 images give the classes that they give on the host. Sources: examples/17_microcontroller. Ends with
# "N passed, N failed, N skipped".
out=${1:-build/digits} train=${2:-build/digits/train}
here=tests/embed
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "skip: there is no $tool here"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
done
mkdir -p "$out"
arm="arm-none-eabi-gcc -std=gnu11 -Wall -Wextra -Werror -Os -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 \
    -ffunction-sections -fdata-sections -I$here/cortex_m4 -I$out"

board() {
    "$train" "$out" || return 1
    for net in digits digits_int8; do
        $arm -ffp-contract=off -c "$out/$net.c" -o "$out/$net.o" || return 1
        arm-none-eabi-size "$out/$net.o" | awk -v net=$net 'NR == 2 { print net ": " $1 " bytes of flash, " $2 + $3 " of static RAM" }'
    done
    $arm examples/17_microcontroller/main.c "$out/digits.o" "$out/digits_int8.o" $here/cortex_m4/board.c -T $here/cortex_m4/mps2.ld -nostartfiles \
        -Wl,--gc-sections -lm -lc -lgcc -o "$out/digits.elf" || return 1
    timeout 120 qemu-system-arm -M mps2-an386 -icount shift=0 -display none -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$out/digits.elf"
}

if board; then echo "1 passed, 0 failed, 0 skipped"; else echo "FAIL digits"; echo "0 passed, 1 failed, 0 skipped"; exit 1; fi
