/* ---- configuration: defined by the user before the include
 *
 *   DYNC_IMPLEMENTATION   in exactly one C file of the program
 *   DYNC_STATIC           every function static: several private copies may live in one program
 *   DYNC_MALLOC(n) DYNC_REALLOC(p, n) DYNC_FREE(p)   the allocator; all three or none
 *   DYNC_NO_JIT           no machine code: the portable tile interpreter runs everything
 *   DYNC_NO_THREADS       no thread pool, no thread-local state, no atomics: one thread calls
 *   DYNC_NO_STDIO         no files, nothing printed
 *   DYNC_NO_ENV           environment variables are not read
 *   DYNC_NO_ATOMICS       plain counters: for compilers without atomic builtins
 *   DYNC_NO_F64           no tensors and no kernels of DYNC_F64; numbers of the API are floats
 *                         (dync_real), in every file of the program. With it go DYNC_NO_JIT and
 *                         DYNC_NO_SYMBOLIC
 *   DYNC_NO_LOCATION      errors without file:line; smaller code
 *   DYNC_NO_ONNX          no ONNX files, no backend onnxrt
 *   DYNC_NO_SYMBOLIC      every size is a number: a function is compiled for each size it meets
 *   DYNC_NO_TUNE          kernels are not timed to choose their form
 *   DYNC_NO_AUTOGRAD      no gradients and no training
 *   DYNC_NO_TEXT          errors are their number and class; messages say the class
 *   DYNC_NO_MINIFY        failing graphs are not shrunk and no repros are written or run
 *   DYNC_NO_PARSER        no graph is read from text, and so no program from a file
 *   DYNC_NO_PRINT_GRAPH   no graph is written as text or drawn, and so no program as a file, and
 *                         nothing is minified
 *   DYNC_NO_SORT DYNC_NO_CONV DYNC_NO_ATTENTION DYNC_NO_RECURRENT   these operators
 *   DYNC_SMALL            all that a microcontroller can miss: the switches from DYNC_NO_JIT to
 *                         DYNC_NO_TUNE, but for DYNC_NO_F64. On a machine of 32 bits a tensor has
 *                         fewer than 2^27 elements then
 *   DYNC_ASSERT(x)        checks of the library's own invariants (off by default; user input is
 *                         never asserted on)
 *   DYNC_MAX_DIMS         most dimensions of a tensor, 8
 *
 * What a switch left out is refused where it is called: DYNC_ERR_UNSUPPORTED, which names the
 * switch (docs/sizes.md says what each saves).
 *
 * Every call compiles without a warning under -std=c11 -pedantic -Wall -Wextra, after any standard
 * headers and without feature macros. C++: functions are extern "C"; overloads take the place of
 * _Generic. C++20 has the option macros (options in the order of their struct); C++17 takes the
 * same options as a plain struct: dync_make o = {}; o.shape = dync_shape(2, 3); dync_zeros(o). */
#if defined(DYNC_SMALL)
#ifndef DYNC_NO_JIT
#define DYNC_NO_JIT
#endif
#ifndef DYNC_NO_THREADS
#define DYNC_NO_THREADS
#endif
#ifndef DYNC_NO_STDIO
#define DYNC_NO_STDIO
#endif
#ifndef DYNC_NO_ENV
#define DYNC_NO_ENV
#endif
#ifndef DYNC_NO_LOCATION
#define DYNC_NO_LOCATION
#endif
#ifndef DYNC_NO_ONNX
#define DYNC_NO_ONNX
#endif
#ifndef DYNC_NO_SYMBOLIC
#define DYNC_NO_SYMBOLIC
#endif
#ifndef DYNC_NO_TUNE
#define DYNC_NO_TUNE
#endif
#endif
#if defined(DYNC_NO_F64)
#ifndef DYNC_NO_JIT
#define DYNC_NO_JIT
#endif
#ifndef DYNC_NO_SYMBOLIC
#define DYNC_NO_SYMBOLIC
#endif
#endif
#if defined(DYNC_NO_PRINT_GRAPH) && !defined(DYNC_NO_MINIFY)
#define DYNC_NO_MINIFY
#endif

#if defined(__MINGW32__) && !defined(__USE_MINGW_ANSI_STDIO)
#define __USE_MINGW_ANSI_STDIO 1 /* printf as C11 has it, not as the oldest C library of Windows */
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef DYNC_NO_STDIO
#include <stdio.h>
#endif

#if defined(__cplusplus) && defined(DYNC_STATIC)
#error "dync: DYNC_STATIC needs the implementation in the same file, and that is C"
#endif
#if defined(__cplusplus)
#define DYNC__LINKAGE extern "C"
#else
#define DYNC__LINKAGE extern
#endif
/* In front of each public function. */
#ifndef DYNC_API
#if defined(DYNC_STATIC) && defined(__GNUC__)
#define DYNC_API __attribute__((unused)) static
#elif defined(DYNC_STATIC)
#define DYNC_API static
#elif defined(_WIN32) && defined(DYNC_DLL)
#define DYNC_API DYNC__LINKAGE __declspec(dllexport)
#else
#define DYNC_API DYNC__LINKAGE
#endif
#endif
/* In front of an operator's row (api/ops.h). */
#if defined(DYNC_STATIC)
#define DYNC__ROW_LINKAGE DYNC_API
#elif defined(_WIN32) && defined(DYNC_DLL)
#define DYNC__ROW_LINKAGE DYNC__LINKAGE __declspec(dllexport)
#else
#define DYNC__ROW_LINKAGE DYNC__LINKAGE
#endif
#if defined(__GNUC__)
/* fn(&variable) when the variable's block is left, by whatever way */
#define DYNC__CLEANUP(fn) __attribute__((cleanup(fn)))
#else
#define DYNC__CLEANUP(fn)
#endif
/* What the compiler knows: the bytes from p to the end of the object it points into, 0 where it
 * does not know them. */
#if defined(__GNUC__)
#define DYNC_ALWAYS_INLINE __attribute__((always_inline)) static inline
#define DYNC_OBJECT_SIZE(p) (__builtin_object_size(p, 0) + 1 > 1 ? __builtin_object_size(p, 0) : 0)
#else
#define DYNC_ALWAYS_INLINE static inline
#define DYNC_OBJECT_SIZE(p) 0
#endif
/* A literal of struct type, in both languages: DYNC_LITERAL(dync_dims){0, {0}}. */
#if defined(__cplusplus)
#define DYNC_LITERAL(type) type
#else
#define DYNC_LITERAL(type) (type)
#endif
/* After an option in a struct: default zero in C++ too, so that -Wextra has nothing to say about
 * options left out. */
#if defined(__cplusplus)
#define DYNC__ZERO = {}
#else
#define DYNC__ZERO
#endif
/* True where .name = value may be used in a call: C, and C++ from C++20. */
#if !defined(__cplusplus) || __cplusplus >= 202002L || \
    (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#define DYNC__DESIGNATORS 1
#else
#define DYNC__DESIGNATORS 0
#endif
#define DYNC_VERSION "0.1.0"

/* Where in the user's source a call stands: macros of functions that can fail pass DYNC_HERE on, to
 * the function name_at. */
typedef struct dync_loc {
    const char *file;
    int line;
    const char *func;
} dync_loc;
#define DYNC_NOWHERE (DYNC_LITERAL(dync_loc){0, 0, 0})
#if defined(DYNC_NO_LOCATION)
#define DYNC__HERE DYNC_NOWHERE
#else
#define DYNC__HERE (DYNC_LITERAL(dync_loc){__FILE__, __LINE__, __func__})
#endif
#define DYNC_HERE DYNC__HERE
/* DYNC_AT(dync_size, t, dim): the function dync_size_at, with the place behind what it takes. */
#define DYNC_AT(f, ...) f##_at(__VA_ARGS__, DYNC_HERE)

#ifndef DYNC_MAX_DIMS
#define DYNC_MAX_DIMS 8
#endif
/* ---- variadic helpers ------------------------------------------------------------------------ */
#define DYNC_COUNT(...)                                                                          \
    DYNC_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, \
                15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define DYNC_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,   \
                    a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, r, \
                    ...)                                                                          \
    r
/* DYNC_HEAD(f, a, b): f, where that may stand alone; DYNC_ONE_OR_MORE: 1 where it does, else 2 (of
 * up to 32 behind it; a letter could be a macro of the user's). */
#define DYNC_HEAD(...) DYNC_HEAD_(__VA_ARGS__, 0)
#define DYNC_HEAD_(first, ...) first
#define DYNC_ONE_OR_MORE(...) DYNC_ONE_OR_MORE_(__VA_ARGS__, 2)
#define DYNC_ONE_OR_MORE_(first, ...)                                                             \
    DYNC_COUNT_(__VA_ARGS__, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, \
                2, 2, 2, 2, 2, 2, 2, 2, 1, 0)
/* DYNC_TAKES_2(ok, other, a, b): ok where there are two arguments, else other. */
#define DYNC_TAKES_1(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                o, o, o, o, o, o, o, o, k, 0)
#define DYNC_TAKES_2(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                o, o, o, o, o, o, o, k, o, 0)
#define DYNC_TAKES_3(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                o, o, o, o, o, o, k, o, o, 0)
#define DYNC_TAKES_4(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                o, o, o, o, o, k, o, o, o, 0)
#define DYNC_TAKES_5(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                o, o, o, o, k, o, o, o, o, 0)
#define DYNC_TAKES_6(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                o, o, o, k, o, o, o, o, o, 0)
#define DYNC_TAKES_7(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                o, o, k, o, o, o, o, o, o, 0)
#define DYNC_TAKES_8(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                o, k, o, o, o, o, o, o, o, 0)
#define DYNC_TAKES_9(k, o, ...)                                                                   \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, \
                k, o, o, o, o, o, o, o, o, 0)
#define DYNC_TAKES_10(k, o, ...)                                                                  \
    DYNC_COUNT_(__VA_ARGS__, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, k, \
                o, o, o, o, o, o, o, o, o, 0)
#define DYNC_CAT(a, b) DYNC_CAT_(a, b)
#define DYNC_CAT_(a, b) a##b
#define DYNC_FIRST_TEXT(first, ...) #first
#define DYNC_MAP_V(...) DYNC_CAT(DYNC_MAP_, DYNC_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define DYNC_MAP_1(a) DYNC_V(a)
#define DYNC_MAP_2(a, ...) DYNC_V(a), DYNC_MAP_1(__VA_ARGS__)
#define DYNC_MAP_3(a, ...) DYNC_V(a), DYNC_MAP_2(__VA_ARGS__)
#define DYNC_MAP_4(a, ...) DYNC_V(a), DYNC_MAP_3(__VA_ARGS__)
#define DYNC_MAP_5(a, ...) DYNC_V(a), DYNC_MAP_4(__VA_ARGS__)
#define DYNC_MAP_6(a, ...) DYNC_V(a), DYNC_MAP_5(__VA_ARGS__)
#define DYNC_MAP_7(a, ...) DYNC_V(a), DYNC_MAP_6(__VA_ARGS__)
#define DYNC_MAP_8(a, ...) DYNC_V(a), DYNC_MAP_7(__VA_ARGS__)
#define DYNC_MAP_9(a, ...) DYNC_V(a), DYNC_MAP_8(__VA_ARGS__)
#define DYNC_MAP_10(a, ...) DYNC_V(a), DYNC_MAP_9(__VA_ARGS__)
#define DYNC_MAP_11(a, ...) DYNC_V(a), DYNC_MAP_10(__VA_ARGS__)
#define DYNC_MAP_12(a, ...) DYNC_V(a), DYNC_MAP_11(__VA_ARGS__)
#define DYNC_MAP_13(a, ...) DYNC_V(a), DYNC_MAP_12(__VA_ARGS__)
#define DYNC_MAP_14(a, ...) DYNC_V(a), DYNC_MAP_13(__VA_ARGS__)
#define DYNC_MAP_15(a, ...) DYNC_V(a), DYNC_MAP_14(__VA_ARGS__)
#define DYNC_MAP_16(a, ...) DYNC_V(a), DYNC_MAP_15(__VA_ARGS__)
#define DYNC_MAP_17(a, ...) DYNC_V(a), DYNC_MAP_16(__VA_ARGS__)
#define DYNC_MAP_18(a, ...) DYNC_V(a), DYNC_MAP_17(__VA_ARGS__)
#define DYNC_MAP_19(a, ...) DYNC_V(a), DYNC_MAP_18(__VA_ARGS__)
#define DYNC_MAP_20(a, ...) DYNC_V(a), DYNC_MAP_19(__VA_ARGS__)
#define DYNC_MAP_21(a, ...) DYNC_V(a), DYNC_MAP_20(__VA_ARGS__)
#define DYNC_MAP_22(a, ...) DYNC_V(a), DYNC_MAP_21(__VA_ARGS__)
#define DYNC_MAP_23(a, ...) DYNC_V(a), DYNC_MAP_22(__VA_ARGS__)
#define DYNC_MAP_24(a, ...) DYNC_V(a), DYNC_MAP_23(__VA_ARGS__)
#define DYNC_MAP_25(a, ...) DYNC_V(a), DYNC_MAP_24(__VA_ARGS__)
#define DYNC_MAP_26(a, ...) DYNC_V(a), DYNC_MAP_25(__VA_ARGS__)
#define DYNC_MAP_27(a, ...) DYNC_V(a), DYNC_MAP_26(__VA_ARGS__)
#define DYNC_MAP_28(a, ...) DYNC_V(a), DYNC_MAP_27(__VA_ARGS__)
#define DYNC_MAP_29(a, ...) DYNC_V(a), DYNC_MAP_28(__VA_ARGS__)
#define DYNC_MAP_30(a, ...) DYNC_V(a), DYNC_MAP_29(__VA_ARGS__)
#define DYNC_MAP_31(a, ...) DYNC_V(a), DYNC_MAP_30(__VA_ARGS__)
#define DYNC_MAP_32(a, ...) DYNC_V(a), DYNC_MAP_31(__VA_ARGS__)
