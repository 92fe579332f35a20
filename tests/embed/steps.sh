#!/bin/sh
# tests/embed/steps.sh folder nets: training steps as C source learn on an emulated Cortex-M4, M7 and riscv32: the
# losses of the host, bit for bit (no contraction anywhere). `nets` is the program of steps/nets.c. Prints flash, RAM
# and stack. Ends with "N passed, N failed, N skipped".
out=${1:-build/steps} nets=${2:-build/steps/nets}
here=tests/embed
: "${CC:=cc}"
flags="-std=gnu11 -Wall -Wextra -ffp-contract=off -I$out -I$here/cortex_m4"
mkdir -p "$out"
"$nets" "$out" || { echo "FAIL $nets"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
passed=0 failed=0 skipped=0

$CC $flags -O2 $here/steps/main.c "$out/mlp.c" "$out/cnn.c" -lm -o "$out/host" && "$out/host" > "$out/host.txt" ||
    { echo "FAIL steps on the host"; cat "$out/host.txt"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
cat "$out/host.txt"

# name; prefix of the tools, how to compile, what a program links beside, the machine
board() {
    case $1 in
        m4) cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16" machine="qemu-system-arm -M mps2-an386" ;;
        m7) cpu="-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16" machine="qemu-system-arm -M mps2-an500" ;;
        rv32imac) cpu="-march=rv32imac -mabi=ilp32 --specs=picolibc.specs" machine="qemu-system-riscv32 -M virt -m 128M -bios none" ;;
    esac
    prefix=arm-none-eabi- link="-DBOARD $here/cortex_m4/board.c -T $here/cortex_m4/mps2.ld -nostartfiles -Wl,--gc-sections -lm -lc -lgcc"
    [ $1 = rv32imac ] && prefix=riscv64-unknown-elf- link="--oslib=semihost --crt0=hosted -Wl,--gc-sections \
        -Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=4M,--defsym=__ram=0x80400000,--defsym=__ram_size=16M -lm"
    command -v ${prefix}gcc >/dev/null || { reason="there is no ${prefix}gcc"; return 77; }
    command -v ${machine%% *} >/dev/null || { reason="there is no ${machine%% *}"; return 77; }
    for net in mlp cnn; do
        ${prefix}gcc $flags -Werror -Os $cpu -ffunction-sections -fdata-sections -c "$out/$net.c" -o "$out/$net.o" || return 1
        ${prefix}size "$out/$net.o" | awk -v net="$1 $net" 'NR == 2 { print net ": " $1 + $2 " bytes of flash, " $2 + $3 " of RAM" }'
    done
    ${prefix}gcc $flags -Os $cpu $here/steps/main.c "$out/mlp.o" "$out/cnn.o" $link -o "$out/$1.elf" || return 1
    timeout 240 $machine -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel "$out/$1.elf" \
        > "$out/$1.out" 2>&1 || { echo "exit status $?"; cat "$out/$1.out"; return 1; }
    sed -n "s/^stack/$1 stack/p" "$out/$1.out"
    tr -d '\r' < "$out/$1.out" | grep -v '^stack' > "$out/$1.txt"
    cmp "$out/host.txt" "$out/$1.txt"
}

for name in m4 m7 rv32imac; do
    board $name
    case $? in
        0) passed=$((passed + 1)) ;;
        77) echo "skip $name: $reason"; skipped=$((skipped + 1)) ;;
        *) echo "FAIL steps on $name"; failed=$((failed + 1)) ;;
    esac
done
echo "$((passed + 1)) passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
