#!/bin/sh
# Builds and runs hello on an emulated Cortex-M4: run.sh build-folder. Exit status 77: a tool is missing.
out=${1:-build/cortex_m4}
here=tests/embed/cortex_m4
CPU="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
command -v arm-none-eabi-gcc >/dev/null || { echo "skip: no arm-none-eabi-gcc"; exit 77; }
command -v qemu-system-arm >/dev/null || { echo "skip: no qemu-system-arm"; exit 77; }
mkdir -p "$out" || exit 1
arm-none-eabi-gcc -std=c11 -pedantic -Wall -Wextra -Werror -Os $CPU -ffunction-sections -fdata-sections -DDYNC_SMALL -I. \
    $here/hello.c $here/board.c -T $here/mps2.ld -nostartfiles -Wl,--gc-sections -lm -lc -lgcc -o "$out/hello.elf" || exit 1
arm-none-eabi-size "$out/hello.elf"
timeout 120 qemu-system-arm -M mps2-an386 -display none -monitor none -serial none -semihosting-config enable=on,target=native \
    -kernel "$out/hello.elf" > "$out/hello.out" 2>&1
status=$?
cat "$out/hello.out"
[ $status = 0 ] || { echo "exit status $status"; exit 1; }
grep -q 'tensor(\[2., 1., 6., -0.\])' "$out/hello.out" && grep -q 'Graph Count' "$out/hello.out"
