#!/bin/sh
# What the compiler says to a program that calls dync wrongly: compiler_messages.sh build-folder. Each line of the
# list is a function's body and a part of the first error. CC CXX CFLAGS come from the Makefile. Ends with "N passed,
# N failed, N skipped".
out=${1:-build/compiler_messages}
: "${CC:=cc}" "${CXX:=c++}"
WARN="-pedantic -Wall -Wextra -fsyntax-only -I."
mkdir -p "$out"
passed=0 failed=0 skipped=0

# program name, compiler and standard, body
program() { printf '#include "dync.h"\nvoid body(dync_tensor *x, dync_tensor *y, float *f);\nint plain(int a);\nvoid body(dync_tensor *x, dync_tensor *y, float *f)\n{\n    (void)x, (void)y, (void)f;\n    %s\n}\n' "$2" > "$1"; }
bad() {
    program "$out/bad.$1" "$4"
    if $3 "$out/bad.$1" > "$out/said.txt" 2>&1; then said="it is compiled"
    else said=$(grep -m 1 'error' "$out/said.txt"); fi
    case $said in
        *error*"$2"*) passed=$((passed + 1)) ;;
        *) failed=$((failed + 1)); printf 'FAIL %s\n    %s\n    expected an error with: %s\n    got: %s\n' "$3" "$4" "$2" "$said" ;;
    esac
}
good() {
    program "$out/good.$1" "$3"
    if $2 -Werror "$out/good.$1" > "$out/said.txt" 2>&1; then passed=$((passed + 1))
    else failed=$((failed + 1)); printf 'FAIL %s\n    %s\n' "$2" "$3"; head -n 5 "$out/said.txt"; fi
}
both() {                                    # extension, command: what C and C++ say alike
    bad $1 'dync_matmul takes 2 arguments: self, other' "$2" 'dync_matmul(x);'
    bad $1 'dync_relu takes 1 argument: self' "$2" 'dync_relu(x, y);'
    bad $1 'dync_softmax takes 2 arguments: self, dim' "$2" 'y = dync_softmax(x);'
    bad $1 'dync_view takes 2 arguments: self, size' "$2" 'dync_view(x, 2, 3);'
    bad $1 'dync_topk takes 5 arguments: self, k, dim, largest, sorted' "$2" 'dync_value v = dync_topk(x, 3);'
    bad $1 'dync_where takes 3 arguments: condition, self, other' "$2" 'dync_where(x, dync_relu(dync_add(x, y)));'
    bad $1 'dync_compile and its kin take a function of 0 to 6 dync_tensor * that returns one' "$2" 'dync_compile(plain);'
    good $1 "$2" 'y = dync_add(dync_relu(dync_mul(dync_exp(dync_sub(dync_relu(dync_add(dync_relu(x), 1)), y)), 2)), 3);'
    good $1 "$2" 'y = dync_view(dync_sum(x, dync_shape(0, -1), true), dync_shape(2, 3)); y = dync_sum(y, DYNC_ALL, false); (dync_add)(DYNC_V(x), DYNC_V(1));'
    good $1 "$2" 'dync_layer_norm(x, dync_shape(3), NULL, NULL, 1e-5); dync_linear(x, y, NULL); dync_backward(dync_sum(x, DYNC_ALL, false));'
}
c_only() {
    bad c 'dync_relu: self is no dync_tensor *' "$1" 'dync_relu(3);'
    bad c 'dync_relu: self is no dync_tensor * (dync_as_tensor(v) is that of a dync_value)' "$1" 'dync_relu(dync_tuple(x, y));'
    bad c 'dync_matmul: other is no dync_tensor *' "$1" 'dync_matmul(x, 2.0);'
    bad c 'dync_sum: dim is no dync_dims: dync_shape(2, 3), DYNC_ALL' "$1" 'dync_sum(x, 1, false);'
    bad c 'dync_view: size is no dync_dims' "$1" 'dync_view(x, 6);'
    bad c 'dync_expected_a_tensor_number_bool_text_list_module_or_void_pointer' "$1" 'dync_add(x, f);'
    case $1 in clang*) two_types="'dync_dims' and 'int'" ;; *) two_types='type mismatch' ;; esac
    bad c "$two_types" "$1" 'dync_zeros(3);'
    bad c 'a dync_function, or a module, graph, program or dync_compiled *' "$1" 'dync_compile(x);'
    good c "$1" 'y = dync_zeros(dync_shape(2, 3), .dtype = DYNC_F64); y = dync_ones(DYNC_SCALAR); y = dync_full(dync_shape(2), 1.5); dync_dims d = dync_shape(2); y = dync_randn(d);'
    good c "$1" 'y = dync_from((float[]){1, 2, 3}, dync_shape(3), .requires_grad = true); y = dync_wrap(f, dync_shape(4));'
}

for cc in "$CC" clang; do
    command -v ${cc%% *} > /dev/null || { skipped=$((skipped + 1)); echo "skip $cc: it is not here"; continue; }
    both c "$cc -std=c11 $WARN"
    c_only "$cc -std=c11 $WARN"
    [ "$CC" = clang ] && break
done
if command -v ${CXX%% *} > /dev/null; then both cpp "$CXX -std=c++17 $WARN"
else skipped=$((skipped + 1)); echo "skip $CXX: it is not here"; fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
