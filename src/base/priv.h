/* base/priv.h: compiler shims of the implementation. Nothing here is seen by users.
 *
 *   DYNC_API   public function
 *   DYNC__FN   internal, used by another file
 *   static     helper of one file
 *
 * The merged header makes DYNC__FN static; the split build (DYNC__SPLIT) gives it hidden external
 * linkage. */
#ifndef DYNC__PRIV_H
#define DYNC__PRIV_H
#if defined(__cplusplus)
#error "dync: compile the implementation as C: put DYNC_IMPLEMENTATION into a three-line .c file"
#endif
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "dync: the implementation needs C11"
#endif

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#if defined(DYNC__SPLIT)
#if defined(__GNUC__) && !defined(DYNC__SHARED)
#define DYNC__FN extern __attribute__((visibility("hidden")))
#else
#define DYNC__FN extern
#endif
/* A table or variable that other files see: declared in a header by DYNC__DATA_DECL, defined in its
 * file by DYNC__DATA and with its first value. (Merged, the declaration is a tentative definition;
 * with a value the second one is no repetition of it.) */
#define DYNC__DATA_DECL extern
#define DYNC__DATA
#elif defined(__GNUC__)
#define DYNC__FN __attribute__((unused)) static
#define DYNC__DATA_DECL static
#define DYNC__DATA static
#else
#define DYNC__FN static
#define DYNC__DATA_DECL static
#define DYNC__DATA static
#endif

#if defined(__GNUC__)
#define DYNC__LIKELY(x) __builtin_expect(!!(x), 1)
#define DYNC__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define DYNC__UNUSED __attribute__((unused))
#define DYNC__KEPT __attribute__((used)) /* by assembly */
#define DYNC__NOINLINE __attribute__((noinline))
#if defined(__MINGW_PRINTF_FORMAT)
#define DYNC__PRINTF(fmt, first) __attribute__((format(__MINGW_PRINTF_FORMAT, fmt, first)))
#else
#define DYNC__PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#endif
#define DYNC__RESTRICT __restrict__
#define DYNC__INLINE static inline __attribute__((unused))
#else
#define DYNC__LIKELY(x) (x)
#define DYNC__UNLIKELY(x) (x)
#define DYNC__UNUSED
#define DYNC__KEPT
#define DYNC__NOINLINE
#define DYNC__PRINTF(fmt, first)
#define DYNC__RESTRICT
#define DYNC__INLINE static inline
#endif

/* Position of the highest set bit + 1; 0 for 0. */
#if defined(__GNUC__)
#define DYNC__BIT_LENGTH(x) ((x) ? 64 - __builtin_clzll((unsigned long long)(x)) : 0)
#else
static inline int dync__bit_length(unsigned long long x)
{
    int n = 0;
    for (; x; x >>= 1) n++;
    return n;
}
#define DYNC__BIT_LENGTH(x) dync__bit_length((unsigned long long)(x))
#endif

/* AddressSanitizer also sees uses of freed blocks that wait in a cache. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DYNC__ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define DYNC__ASAN
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(DYNC__ASAN)
#define DYNC__ASAN
#endif

#if defined(DYNC_NO_THREADS)
#define DYNC__TLS
#else
#define DYNC__TLS _Thread_local
#endif

/* A text in a table at file scope. In a small program it is an object that goes with its row: all
 * literals of such tables stand in one section, which the linker keeps or drops as a whole.
 * Elsewhere a literal, and equal ones are one.
 *
 * Equal literals of functions are one too, and stand beside the other texts of the first function
 * that has them, all of which a program then links. A function that small programs have keeps what
 * it shares with one that few have as an array: static const char own[] = "kernel". */
#if defined(DYNC_SMALL)
#define DYNC__TEXT(s) ((const char[]){s})
#else
#define DYNC__TEXT(s) s
#endif

/* A short function that many call: in a small program its code stands once, though it is some
 * instructions longer to call. In headers DYNC__BRIEF: else inline. */
#if defined(DYNC_SMALL)
#define DYNC__ONCE DYNC__NOINLINE
#define DYNC__BRIEF DYNC__UNUSED DYNC__NOINLINE static
#else
#define DYNC__ONCE
#define DYNC__BRIEF DYNC__INLINE
#endif

/* How much work the compiler puts into a module of the merged header, which else takes far too long
 * under -O2. Each .c file names one under its includes; headers have DYNC__PLAIN, from dync.in.h:
 *   DYNC__COLD    makes things once (captures, compiles, prints, reads files): not optimised
 *   DYNC__LEAN    makes things once, by much code: quickly optimised where that makes it smaller
 *                 by a third (rules of gradients by half), or where a compilation waits for it
 *   DYNC__RARE    not optimised: one function of a module that else is
 *   DYNC__BUSY    one function of a cold or warm module that runs hundreds of times in a
 *                 compilation, or loops long
 *   DYNC__WARM    runs in every eager operator or training step beside much more work: quickly
 *                 optimised
 *   DYNC__OFTEN   one function of such a module that runs in every compiled call
 *   DYNC__HOT     runs in every compiled call, or loops over elements: -O2 without the passes that
 *                 cost much and give it little
 *   DYNC__PLAIN   headers: as asked for. (gcc works through a level's options anew at each
 *                 declaration under it)
 * Under -Os (gcc) what runs once is quickly optimised instead, the rest for size without the passes
 * that cost much and save nothing. Who builds with DYNC_SMALL or compiles the files one by one gets
 * what he asks for.
 *
 * In the header DYNC__LEVEL_OVER stands before each (tools/amalgamate.c): one macro that goes back
 * and begins anew would lose what it begins with, where -O0 ends (gcc 11, 12: the pragma defines
 * __OPTIMIZE__ again and drops the rest of the expansion). */
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(DYNC_SMALL) && \
    !defined(DYNC__SPLIT)
#if defined(__clang__)
#define DYNC__RARE __attribute__((optnone, noinline))
#define DYNC__COLD _Pragma("clang optimize off")
#define DYNC__WARM _Pragma("clang optimize on")
#define DYNC__LEAN DYNC__COLD
#elif defined(__GNUC__)
/* not aligned: between cold functions that fills 30 kB of text with nothing */
#define DYNC__RARE __attribute__((optimize("O0", "align-functions=1")))
#define DYNC__BUSY __attribute__((optimize("O1")))
/* what costs much to compile and changes next to nothing of a call */
#define DYNC__OFTEN                                                                           \
    __attribute__((optimize(                                                                  \
        "O2", "no-partial-inlining", "no-tree-pre", "no-code-hoisting", "no-tree-tail-merge", \
        "no-schedule-insns2", "no-tree-slsr", "no-store-merging", "no-tree-slp-vectorize",    \
        "no-crossjumping", "no-rerun-cse-after-loop", "no-optimize-strlen",                   \
        "no-isolate-erroneous-paths-dereference", "no-tree-switch-conversion")))
#define DYNC__LEVELS_BEGIN _Pragma("GCC push_options")
#define DYNC__LEVEL_OVER _Pragma("GCC pop_options")
#define DYNC__PLAIN _Pragma("GCC push_options")
#define DYNC__COLD \
    DYNC__PLAIN    \
    _Pragma("GCC optimize(\"O0\", \"align-functions=1\")")
/* The least that a file may be in which libc is asked to open or read: under _FORTIFY_SOURCE (on by
 * default at Ubuntu) its headers take what is not folded for a mistake.
 * With a frame pointer: without one each push adds to the unwind tables, 12 kB of text in all; with
 * blocks in the order they are written: moving them adds 29 kB */
#define DYNC__LEAN                                                                    \
    DYNC__PLAIN                                                                       \
    _Pragma("GCC optimize(\"Og\", \"align-functions=1\", \"no-omit-frame-pointer\")") \
        _Pragma("GCC optimize(\"no-guess-branch-probability\", \"no-reorder-blocks\")")
/* aligned: a call of a few kernels is up to 40 % slower where its functions lie badly */
#define DYNC__WARM \
    DYNC__PLAIN    \
    _Pragma("GCC optimize(\"Og\", \"align-functions=32\")")
/* clang-format off */
#define DYNC__HOT \
    DYNC__PLAIN \
    _Pragma("GCC optimize(\"no-tree-pre\", \"no-gcse\", \"no-code-hoisting\")") \
    _Pragma("GCC optimize(\"no-tree-tail-merge\", \"no-ipa-icf\", \"no-ipa-cp\")") \
    _Pragma("GCC optimize(\"no-ipa-sra\", \"no-ipa-ra\", \"no-ipa-modref\")") \
    _Pragma("GCC optimize(\"no-ipa-vrp\", \"no-tree-vrp\", \"no-schedule-insns2\")") \
    _Pragma("GCC optimize(\"no-tree-slsr\", \"no-store-merging\", \"no-tree-slp-vectorize\")") \
    _Pragma("GCC optimize(\"no-thread-jumps\", \"no-crossjumping\", \"no-cse-follow-jumps\")") \
    _Pragma("GCC optimize(\"no-rerun-cse-after-loop\", \"no-optimize-strlen\", \"no-partial-inlining\")") \
    _Pragma("GCC optimize(\"no-peephole2\", \"no-isolate-erroneous-paths-dereference\", \"no-tree-switch-conversion\")")
/* clang-format on */
#define DYNC__LEVELS_END _Pragma("GCC pop_options")
#endif
#elif defined(__OPTIMIZE_SIZE__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(DYNC_SMALL) && !defined(DYNC__SPLIT)
#define DYNC__LEVELS_BEGIN _Pragma("GCC push_options")
#define DYNC__LEVEL_OVER _Pragma("GCC pop_options")
#define DYNC__PLAIN _Pragma("GCC push_options")
#define DYNC__COLD DYNC__LEAN
#define DYNC__LEAN                                                                      \
    DYNC__PLAIN                                                                         \
    _Pragma("GCC optimize(\"Og\", \"align-functions=1\", \"no-omit-frame-pointer\")")   \
        _Pragma("GCC optimize(\"no-guess-branch-probability\", \"no-reorder-blocks\")") \
            _Pragma("GCC optimize(\"no-inline\")")
/* each option is read again at every declaration: these ten are worth it */
#define DYNC__WARM                                                                         \
    DYNC__PLAIN                                                                            \
    _Pragma("GCC optimize(\"no-tree-pre\", \"no-gcse\", \"no-ipa-icf\", \"no-ipa-cp\")")   \
        _Pragma("GCC optimize(\"no-ipa-sra\", \"no-ipa-modref\", \"no-tree-vrp\")")        \
            _Pragma("GCC optimize(\"no-schedule-insns2\", \"no-inline-small-functions\")") \
                _Pragma("GCC optimize(\"no-expensive-optimizations\")")
#define DYNC__HOT DYNC__PLAIN
#define DYNC__LEVELS_END _Pragma("GCC pop_options")
#endif
#if !defined(DYNC__RARE)
#define DYNC__RARE
#endif
#if !defined(DYNC__LEVEL_OVER)
#define DYNC__LEVEL_OVER
#endif
#if !defined(DYNC__OFTEN)
#define DYNC__BUSY
#define DYNC__OFTEN
#endif
#if !defined(DYNC__LEVELS_BEGIN) && defined(__clang__)
/* clang 16 takes constants of the configuration in conditions for mistakes */
#define DYNC__LEVELS_BEGIN           \
    _Pragma("clang diagnostic push") \
        _Pragma("clang diagnostic ignored \"-Wconstant-logical-operand\"")
#define DYNC__LEVELS_END \
    DYNC__WARM           \
    _Pragma("clang diagnostic pop")
#define DYNC__HOT DYNC__WARM
#define DYNC__PLAIN DYNC__WARM
#elif !defined(DYNC__LEVELS_BEGIN)
#define DYNC__LEVELS_BEGIN
#define DYNC__LEVELS_END DYNC__WARM
#define DYNC__HOT DYNC__WARM
#define DYNC__PLAIN DYNC__WARM
#endif
#if !defined(DYNC__COLD)
#define DYNC__COLD
#define DYNC__LEAN
#define DYNC__WARM
#endif

/* Atomics. Relaxed counters, acquire/release pointers; plain accesses where there are no
 * threads. */
#if defined(__GNUC__) && !defined(DYNC_NO_THREADS) && !defined(DYNC_NO_ATOMICS)
#define DYNC__ATOMIC_INC(p) __atomic_add_fetch((p), 1, __ATOMIC_RELAXED)
#define DYNC__ATOMIC_DEC(p) __atomic_sub_fetch((p), 1, __ATOMIC_ACQ_REL)
#define DYNC__ATOMIC_ADD(p, n) __atomic_add_fetch((p), (n), __ATOMIC_RELAXED)
#define DYNC__ATOMIC_LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define DYNC__ATOMIC_PEEK(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define DYNC__ATOMIC_STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define DYNC__ATOMIC_CAS(p, expected, v) \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#elif defined(DYNC_NO_THREADS) || defined(DYNC_NO_ATOMICS)
#define DYNC__ATOMIC_INC(p) (++*(p))
#define DYNC__ATOMIC_DEC(p) (--*(p))
#define DYNC__ATOMIC_ADD(p, n) (*(p) += (n))
#define DYNC__ATOMIC_LOAD(p) (*(p))
#define DYNC__ATOMIC_PEEK(p) (*(p))
#define DYNC__ATOMIC_STORE(p, v) ((void)(*(p) = (v)))
#define DYNC__ATOMIC_CAS(p, expected, v) \
    (*(p) == *(expected) ? (*(p) = (v), true) : (*(expected) = *(p), false))
#else
#error "dync: this compiler needs DYNC_NO_THREADS (no atomics are known for it)"
#endif

/* An internal function returns dync_status; the first failure is passed up. */
#define DYNC__TRY(expr)                             \
    do {                                            \
        dync_status dync__st_ = (expr);             \
        if (dync__st_ != DYNC_OK) return dync__st_; \
    } while (0)
#define DYNC__COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define DYNC__MIN(a, b) ((a) < (b) ? (a) : (b))
#define DYNC__MAX(a, b) ((a) > (b) ? (a) : (b))

/* Proven facts only; user input is validated, never asserted. */
#if defined(DYNC_ASSERT)
#define DYNC__ASSERT(x) DYNC_ASSERT(x)
#else
#define DYNC__ASSERT(x) ((void)0)
#endif

/* Between these, float code means what it says under any flags of the user (-Ofast, -march=native):
 * no contraction, NaN exists. */
#if defined(__clang__)
#define DYNC__STRICT_FP_BEGIN                                            \
    _Pragma("float_control(push)") _Pragma("float_control(precise, on)") \
        _Pragma("clang fp contract(off)")
#define DYNC__STRICT_FP_END _Pragma("float_control(pop)")
/* fast-math also drops ieee-fp: comparisons with NaN */
#elif defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define DYNC__STRICT_FP_BEGIN                                                                  \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-fast-math\", \"fp-contract=off\")") \
        _Pragma("GCC target(\"ieee-fp\")")
#define DYNC__STRICT_FP_END _Pragma("GCC pop_options")
#elif defined(__GNUC__)
#define DYNC__STRICT_FP_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-fast-math\", \"fp-contract=off\")")
#define DYNC__STRICT_FP_END _Pragma("GCC pop_options")
#else
#define DYNC__STRICT_FP_BEGIN
#define DYNC__STRICT_FP_END
#endif
#endif
