#!/bin/sh
# tests/embed/boards.sh folder networks: boards/main.c on the host and on an emulated Cortex-M4, M7 and riscv32: what
# must work on a chip, with what it takes of the buffer and the stack; boards/products.c: products as DYNC_SMALL makes
# them; on riscv32, which has neither doubles nor FMA, no_f64.c under DYNC_NO_F64; exported networks, which the program
# `networks` of networks.c writes.
# CHIPS="m7": only these. Ends with "N passed, N failed, N skipped".
out=${1:-build/boards} networks=${2:-build/boards/nets}
here=tests/embed
: "${CC:=cc}"
flags="-std=gnu11 -Wall -Wextra -Os -ffunction-sections -fdata-sections -DDYNC_SMALL -I. -I$here/cortex_m4"
mkdir -p "$out"
passed=0 failed=0 skipped=0
rm -rf "$out/networks" && mkdir "$out/networks" && "$networks" "$out/networks" ||
    { echo "FAIL $networks"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }

host() {
    $CC $flags -c $here/flash/library.c -o "$out/host.o" || return 1
    $CC $flags $here/boards/main.c "$out/host.o" -lm -o "$out/host" || return 1
    $CC $flags $here/boards/products.c "$out/host.o" -lm -o "$out/host_products" || return 1
    "$out/host_products" || { echo "products: exit status $?"; return 1; }
    "$out/host" > "$out/host.out" 2>&1 || { echo "exit status $?"; cat "$out/host.out"; return 1; }
    sed 's/^/host /' "$out/host.out"
}

# name; prefix of the tools, how to compile, what a program links beside, the machine
board() {
    case $1 in
        m4) cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16" machine="qemu-system-arm -M mps2-an386" ;;
        m7) cpu="-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16" machine="qemu-system-arm -M mps2-an500" ;;
        rv32imac) cpu="-march=rv32imac -mabi=ilp32 --specs=picolibc.specs" machine="qemu-system-riscv32 -M virt -m 128M -bios none" ;;
    esac
    prefix=arm-none-eabi- link="-DBOARD $here/cortex_m4/board.c -T $here/cortex_m4/mps2.ld -nostartfiles -Wl,--gc-sections -lm -lc -lgcc"
    [ $1 = rv32imac ] && prefix=riscv64-unknown-elf- link="--oslib=semihost --crt0=hosted -Wl,--gc-sections,--defsym=__flash=0x80000000 \
        -Wl,--defsym=__flash_size=4M,--defsym=__ram=0x80400000,--defsym=__ram_size=16M,--defsym=__stack_size=64k -lm"
    command -v ${prefix}gcc >/dev/null || { reason="there is no ${prefix}gcc"; return 77; }
    command -v ${machine%% *} >/dev/null || { reason="there is no ${machine%% *}"; return 77; }
    ${prefix}gcc $flags $cpu -c $here/flash/library.c -o "$out/$1.o" || return 1
    ${prefix}gcc $flags $cpu $here/boards/main.c "$out/$1.o" $link -o "$out/$1.elf" || return 1
    ${prefix}gcc $flags $cpu $here/boards/products.c "$out/$1.o" $link -o "$out/$1_products.elf" || return 1
    machine="$machine -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel"
    timeout 300 $machine "$out/$1_products.elf" || { echo "products: exit status $?"; return 1; }
    exported $1 || return 1
    [ $1 = ${NO_F64:-rv32imac} ] && { no_f64 $1 || return 1; }
    timeout 300 $machine "$out/$1.elf" > "$out/$1.out" 2>&1 || { echo "exit status $?"; cat "$out/$1.out"; return 1; }
    tr -d '\r' < "$out/$1.out" | sed "s/^/$1 /"
}

exported() {
    ${prefix}gcc -std=c99 -Wall -Wextra -Werror -Os -ffp-contract=off -ffunction-sections -fdata-sections $cpu -I$here/cortex_m4 \
        "$out"/networks/*.c $link -o "$out/$1_networks.elf" || return 1
    timeout 300 $machine "$out/$1_networks.elf" || { echo "networks: exit status $?"; return 1; }
}

no_f64() {
    ${prefix}gcc $flags $cpu -DDYNC_NO_F64 -c $here/flash/library.c -o "$out/$1_no_f64.o" || return 1
    ${prefix}gcc $flags $cpu -DDYNC_NO_F64 $here/no_f64.c "$out/$1_no_f64.o" $link -o "$out/$1_no_f64.elf" || return 1
    timeout 300 $machine "$out/$1_no_f64.elf" || { echo "no_f64: exit status $?"; return 1; }
}

for b in ${CHIPS:-host m4 m7 rv32imac}; do
    if [ $b = host ]; then host; else board $b; fi
    case $? in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)); echo "skip $b: $reason" ;;
        *) failed=$((failed + 1)); echo "FAIL $b" ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
