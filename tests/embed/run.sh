#!/bin/sh
# The ways dync.h is put into programs, one function each: run.sh build-folder [name ...].
# CC CXX CFLAGS LDFLAGS come from the Makefile. Ends with "N passed, N failed, N skipped".
out=${1:-build/embed}; shift
here=tests/embed
: "${CC:=cc}" "${CXX:=c++}"
LIBS="-lm -pthread"
WARN="-std=c11 -pedantic -Wall -Wextra -Werror -O0"
mkdir -p "$out"
passed=0 failed=0 skipped=0

# Two files include the header, one has the implementation; the include may come before the define.
two_units() {
    $CC $WARN -I. -c $here/unit_a.c -o "$out/unit_a.o" && $CC $WARN -I. -c $here/unit_b.c -o "$out/unit_b.o" &&
        $CC "$out/unit_a.o" "$out/unit_b.o" $LDFLAGS $LIBS -o "$out/two_units" && "$out/two_units"
}
# Two private copies in one program: an error in one is none in the other. The second is the first under other names.
static_twice() {
    $CC $WARN -I. -DCOPY=first -c $here/static_copy.c -o "$out/static1.o" &&
        objcopy --redefine-sym first_fails=second_fails --redefine-sym first_works=second_works "$out/static1.o" "$out/static2.o" &&
        $CC $WARN $here/static_main.c "$out/static1.o" "$out/static2.o" $LDFLAGS $LIBS -o "$out/static_twice" && "$out/static_twice"
}
# A C++ program beside a three-line C file.
cxx_unit() {
    command -v ${CXX%% *} >/dev/null || { reason="there is no $CXX here"; return 77; }
    [ -f "$out/unit_a.o" ] || $CC $WARN -I. -c $here/unit_a.c -o "$out/unit_a.o" || return 1
    $CXX -std=c++17 -pedantic -Wall -Wextra -Werror -I. -c $here/unit_cxx.cpp -o "$out/unit_cxx.o" &&
        $CXX "$out/unit_a.o" "$out/unit_cxx.o" $LDFLAGS $LIBS -o "$out/cxx_unit" && "$out/cxx_unit"
}
# Every allocation passes the user's hooks and comes back.
malloc_hooks() { $CC $WARN -I. $here/hooks.c $LDFLAGS $LIBS -o "$out/hooks" && "$out/hooks"; }
# No stdio.h is included and nothing is printed.
no_stdio() { $CC $WARN -DDYNC_NO_STDIO -I. $here/small.c $LDFLAGS $LIBS -o "$out/no_stdio" && "$out/no_stdio"; }
# Everything a small target can miss, all memory from one buffer.
small() { $CC $WARN -DDYNC_SMALL -I. $here/small.c $LDFLAGS -lm -o "$out/small" && "$out/small"; }
# Sizes of 32 bits, on this machine and on a 32-bit one: what does not fit is refused, numbers of I64 keep their bits;
# and the operators of small.c by them.
sizes_small() {
    flags="$WARN -DDYNC_SMALL -DDYNC__SIZES_32 -I."
    for p in sizes_small small; do $CC $flags $here/$p.c $LDFLAGS -lm -o "$out/$p" && "$out/$p" || return 1; done
    command -v i686-linux-gnu-gcc >/dev/null || return 0
    for p in sizes_small small; do
        i686-linux-gnu-gcc -static $WARN -DDYNC_SMALL -I. $here/$p.c -lm -o "$out/$p" && "$out/$p" || return 1
    done
}
# What only gradients of compiled code need is linked where a program compiles and has gradients (src/api/link.h), in
# whatever files these stand: the names of its tables tell. `unnamed` loses the link: refused by name.
links_by_use() {
    flags="$WARN -DDYNC_SMALL -I. -ffunction-sections -fdata-sections" parts=$here/link bad=0
    user=$(echo "$flags" | sed 's/-O0/-Os/')
    $CC $flags -DDYNC_IMPLEMENTATION -include dync.h -c -x c /dev/null -o "$out/link_library.o" || return 1
    for p in compiles trains both rules; do $CC $user -c $parts/$p.c -o "$out/link_$p.o" || return 1; done
    $CC $user -DUNNAMED -c $parts/compiles.c -o "$out/link_unnamed.o" || return 1
    link_of() {   # name tables defines objects...
        exe=$1 want=$2 with=$3 objects=; shift 3
        for p in "$@"; do objects="$objects $out/link_$p.o"; done
        $CC $user $with $parts/main.c $objects $LDFLAGS -Wl,--gc-sections $LIBS -o "$out/link_$exe" || return 1
        "$out/link_$exe" || { echo "$exe: exit status $?"; return 1; }
        got=$(nm "$out/link_$exe" | grep -c 'dync__trace_grads\|dync__aot_gradients_all')
        [ "$got" = "$want" ] || { echo "$exe: $got tables of gradients, expected $want"; return 1; }
        got=$(nm "$out/link_$exe" | grep -c ' dync__g_mul$')
        case $with in *TRAINS*) want=1 ;; *) want=0 ;; esac
        [ "$got" = "$want" ] || { echo "$exe: $got rules of mul, expected $want"; return 1; }
    }
    link_of compiles 0 -DWITH_COMPILES compiles library || bad=1
    link_of trains 0 -DWITH_TRAINS trains library || bad=1
    link_of rules 2 -DWITH_RULES rules compiles library || bad=1
    link_of both 2 "-DWITH_COMPILES -DWITH_TRAINS" compiles trains both library || bad=1
    link_of library_first 2 "-DWITH_COMPILES -DWITH_TRAINS" library both trains compiles || bad=1
    for ability in $(seq 33); do
        $CC $user -DABILITY=$ability $parts/ability.c "$out/link_library.o" $LDFLAGS -Wl,--gc-sections $LIBS \
            -o "$out/link_ability" && "$out/link_ability" || { echo "ability $ability"; bad=1; }
        got=$(nm "$out/link_ability" | grep -c ' dync__joint_sharing_all$')
        case $ability in 5) want=1 ;; 31 | 32 | 33) want=0 ;; *) want=$got ;; esac
        [ "$got" = "$want" ] || { echo "ability $ability: views linked $got times, expected $want"; bad=1; }
    done
    link_of unnamed 0 "-DWITH_COMPILES -DWITH_TRAINS -DUNNAMED" library unnamed trains both || bad=1
    command -v ${CXX%% *} >/dev/null || return $bad
    $CXX -x c++ -std=c++17 -Wall -Wextra -Werror -DDYNC_SMALL -I. -Os -c $parts/compiles.c -o "$out/link_cxx.o" &&
        link_of cxx 2 "-DWITH_COMPILES -DWITH_TRAINS" cxx trains both library || bad=1
    return $bad
}
# Gradients of random networks are the same bits, whatever a small program saves for backward.
saved_alike() {
    echo '#include "dync.h"' > "$out/saved_library.c"
    $CC -std=c11 -O1 -DDYNC_SMALL -DDYNC_IMPLEMENTATION -I. -c "$out/saved_library.c" -o "$out/saved_library.o" || return 1
    for cut in "" -DCUT; do
        $CC $WARN -DDYNC_SMALL $cut -I. $here/saved.c "$out/saved_library.o" $LDFLAGS -lm -o "$out/saved" || return 1
        "$out/saved" > "$out/saved$cut.out" || { tail -n 2 "$out/saved$cut.out"; return 1; }
    done
    [ "$(wc -l < "$out/saved.out")" -ge 60 ] && diff "$out/saved.out" "$out/saved-DCUT.out"
}
# The header after every standard header, and twice.
all_headers() { $CC $WARN -I. -fsyntax-only $here/all_headers.c; }
# A 32-bit x86 program, by this compiler or by the cross compiler of that name.
m32() {
    echo 'int main(void) { return sizeof(void *) != 4; }' > "$out/m32.c"
    for cc in "$CC -m32" "i686-linux-gnu-gcc -static"; do
        $cc "$out/m32.c" -o "$out/m32" && "$out/m32" || continue
        $cc $WARN -I. $here/small.c $LIBS -o "$out/m32" && "$out/m32" || return 1
        for math in "-msse2 -mfpmath=sse" "-mfpmath=387"; do          # doubles are returned in x87 registers by both
            $cc $WARN $math -I. $here/sizes.c $LIBS -o "$out/m32" && "$out/m32" || return 1
        done
        return 0
    done
    reason="neither $CC -m32 nor i686-linux-gnu-gcc can build and run a 32-bit program here"
    return 77
}

# Flash of small programs on a Cortex-M4 with DYNC_SMALL: a program links what it calls. budgets.txt has the limits;
# each exits with 0 where it can run. size_report.sh tells more, for more chips. FLASH_STATIC=1: every program is one
# unit with DYNC_STATIC.
flash() {
    command -v arm-none-eabi-gcc >/dev/null || { reason="there is no arm-none-eabi-gcc here"; return 77; }
    board=$here/cortex_m4 bad=0
    cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
    arm="arm-none-eabi-gcc -std=c11 -Wall -Wextra -Os $cpu -ffunction-sections -fdata-sections -DDYNC_SMALL -I."
    library="$out/flash_library.o"
    [ -n "$FLASH_STATIC" ] && library= || $arm -c $here/flash/library.c -o "$library" || return 1
    for p in $here/flash/*.c; do
        program=$(basename "$p" .c)
        [ "$program" = library ] && continue
        $arm ${FLASH_STATIC:+-DDYNC_STATIC -include $here/flash/library.c} "$p" $library $board/board.c -T $board/mps2.ld -nostartfiles \
            -Wl,--gc-sections,-Map="$out/flash_$program.map" -lm -lc -lgcc -o "$out/flash_$program.elf" || return 1
        bytes=$(arm-none-eabi-size "$out/flash_$program.elf" | awk 'NR == 2 { print $1 + $2 }')
        limit=$(awk -v p="$program" '$1 == "m4f" && $2 == p { print $3 }' $here/budgets.txt)
        echo "flash $program $bytes bytes, limit $limit"
        [ "$bytes" -le "$limit" ] || bad=1
        [ "$program$FLASH_STATIC" = compiled ] && arm-none-eabi-nm "$out/flash_compiled.elf" | grep 'dync__trace_grads\|dync__aot_gradients_all' && bad=1
        command -v qemu-system-arm >/dev/null && { timeout 60 qemu-system-arm -M mps2-an386 -display none -monitor none -serial none \
            -semihosting-config enable=on,target=native -kernel "$out/flash_$program.elf" || { echo "$program: exit status $?"; bad=1; }; }
    done
    return $bad
}

for name in ${*:-two_units static_twice cxx_unit malloc_hooks no_stdio small sizes_small links_by_use saved_alike all_headers m32 flash}; do
    $name > "$out/$name.log" 2>&1
    case $? in
        0) passed=$((passed + 1)); sed -n 's/^flash /  flash: /p' "$out/$name.log" ;;
        77) skipped=$((skipped + 1)); echo "skip $name: $reason" ;;
        *) failed=$((failed + 1)); echo "FAIL embed $name"; head -n 40 "$out/$name.log" ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
