#!/bin/sh
# tests/embed/size_report.sh folder: flash and static RAM of the programs of tests/embed/flash on four kinds of chip,
# with DYNC_SMALL, and flash by module. Each program runs under QEMU. Those that need more than
# tests/embed/budgets.txt says fail. CHIPS="m4f m7": only these; MODULES="four": whose modules are told. The row "whole"
# is the library with every operator and function, without the linker's choice of sections, built with the switches
# that leave out no operator. Ends with "N passed, N failed, N skipped".
out=${1:-build/size_report}
here=tests/embed
modules=${MODULES-four training}
chips=${CHIPS:-m0plus m4f m7 rv32imac}
flags="-std=c11 -Wall -Wextra -Os -g1 -ffunction-sections -fdata-sections -DDYNC_SMALL -I."
board="$here/cortex_m4/board.c -T $here/cortex_m4/mps2.ld -nostartfiles"
semihosting="-display none -monitor none -serial none -semihosting-config enable=on,target=native"
passed=0 failed=0 skipped=0
mkdir -p "$out"

# What is known of a chip: prefix of its tools, flags, what a program links beside the library, the machine that runs
# it.
chip() {
    link="$board -Wl,--gc-sections -lm -lc -lgcc" prefix=arm-none-eabi-
    case $1 in
        m0plus) cpu="-mcpu=cortex-m0plus -mthumb" machine="qemu-system-arm -M mps2-an385" ;;  # an M3 runs its code
        m4f) cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16" machine="qemu-system-arm -M mps2-an386" ;;
        m7) cpu="-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16" machine="qemu-system-arm -M mps2-an500" ;;
        rv32imac)
            prefix=riscv64-unknown-elf- cpu="-march=rv32imac -mabi=ilp32 --specs=picolibc.specs"
            link="--oslib=semihost --crt0=hosted -Wl,--gc-sections,--defsym=__flash=0x80000000,--defsym=__flash_size=4M,--defsym=__ram=0x80400000 \
                -Wl,--defsym=__ram_size=16M,--defsym=__stack_size=64k -lm"
            machine="qemu-system-riscv32 -M virt -m 128M -bios none" ;;
    esac
}

# Bytes of flash, and of static RAM beyond the buffer that the program gives.
flash_of() { "${prefix}size" "$1" | awk 'NR == 2 { print $1 + $2 }'; }
ram_of() {
    buffer=$("${prefix}nm" -S "$1" | awk '$4 == "memory" { print $2 }')
    "${prefix}size" "$1" | awk -v buffer=$((0x${buffer:-0})) 'NR == 2 { print $2 + $3 - buffer }'
}

# Flash by module: every symbol's bytes, by the part of dync.h ("==== folder/file ===") that its line stands in.
modules_of() {
    awk '/^\/\* ==== / { split($3, part, "/"); print NR, part[1] }' dync.h > "$out/parts"
    "${prefix}nm" -S -l "$1" | awk -v parts="$out/parts" '
        BEGIN { while ((getline line < parts) > 0) { split(line, p, " "); from[++n] = p[1] + 0; name[n] = p[2] } }
        $3 ~ /^[tTrRdDwWvV]$/ {
            bytes = 0; text = tolower($2); module = "C library and others"
            for (i = 1; i <= length(text); i++) bytes = bytes * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
            if ($4 ~ /^dync_/ && $5 ~ /dync\.h:[0-9]+$/) {      # without debug lines nm names a line that is not its own
                at = $5; sub(/.*:/, "", at); at += 0; low = 1; high = n
                while (low < high) { half = int((low + high + 1) / 2); if (from[half] <= at) low = half; else high = half - 1 }
                module = name[low]
            } else if ($4 ~ /^dync_/) module = "tables"
            sum[module] += bytes
        }
        END { for (m in sum) printf "%8d  %s\n", sum[m], m }' | sort -rn
}

one_program() {   # chip program: a line of the table
    elf="$out/$1_$2.elf"
    ${prefix}gcc $flags $cpu "$here/flash/$2.c" "$out/$1.o" $link -o "$elf" || return 1
    flash=$(flash_of "$elf") ram=$(ram_of "$elf")
    set -- "$1" "$2" $(awk -v c="$1" -v p="$2" '$1 == c && $2 == p { print $3, $4 }' $here/budgets.txt)
    status=0 ran="not run"
    command -v ${machine%% *} >/dev/null && { timeout 120 $machine $semihosting -kernel "$elf"; status=$? ran="exit status $status"; }
    printf '%-9s %-10s %9d of %-9s %7d of %-9s %s\n' "$1" "$2" "$flash" "${3:-?}" "$ram" "${4:-?}" "$ran"
    [ "$flash" -le "${3:-0}" ] && [ "$ram" -le "${4:-0}" ] && [ $status = 0 ]
}

printf '%-9s %-10s %9s    %-9s %7s    %-9s\n' chip program flash budget RAM budget
for c in $chips; do
    chip $c
    command -v ${prefix}gcc >/dev/null || { echo "skip $c: there is no ${prefix}gcc here"; skipped=$((skipped + 1)); continue; }
    ${prefix}gcc $flags $cpu -c $here/flash/library.c -o "$out/$c.o" || { echo "FAIL $c: the library"; failed=$((failed + 1)); continue; }
    for p in init four compiled training; do
        if one_program $c $p; then passed=$((passed + 1)); else echo "FAIL $c $p"; failed=$((failed + 1)); fi
    done
done
# On one chip: what is left out does not depend on it.
whole="-DDYNC_NO_TEXT -DDYNC_NO_AUTOGRAD -DDYNC_NO_MINIFY -DDYNC_NO_PARSER -DDYNC_NO_PRINT_GRAPH -DDYNC_NO_F64"
case " $chips " in *" m4f "*)
    chip m4f
    command -v ${prefix}gcc >/dev/null && {
        ${prefix}gcc $flags $whole $cpu -c $here/flash/library.c -o "$out/m4f_whole.o" &&
            ${prefix}gcc $flags $whole $cpu $here/flash/init.c "$out/m4f_whole.o" $board -lm -lc -lgcc -o "$out/m4f_whole.elf" &&
            flash=$(flash_of "$out/m4f_whole.elf") ram=$(ram_of "$out/m4f_whole.elf") &&
            set -- $(awk '$1 == "m4f" && $2 == "whole" { print $3, $4 }' $here/budgets.txt) &&
            printf '%-9s %-10s %9d of %-9s %7d of %-9s %s\n' m4f whole "$flash" "${1:-?}" "$ram" "${2:-?}" "not run" &&
            [ "$flash" -le "${1:-0}" ] && [ "$ram" -le "${2:-0}" ]
        if [ $? = 0 ]; then passed=$((passed + 1)); else echo "FAIL m4f whole"; failed=$((failed + 1)); fi
    } ;;
esac
for p in $modules; do
    chip m4f
    [ -f "$out/m4f_$p.elf" ] && { echo "flash of $p by module, m4f:"; modules_of "$out/m4f_$p.elf"; }
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
