/* codegen/interp_tile.c: the arithmetic of the tile interpreter: one small loop per primitive,
 * compute type and form. Before: interp.c looks kernels up when it compiles; after: interp_run.c
 * calls them.
 *
 * One list macro per family, expanded for each instruction set (V its name, A its attributes), so
 * there is no file per machine. The compiler vectorises each loop; DYNC__TILE_CODE asks it to,
 * whatever flags the user compiles with, and keeps contraction and fast-math out. Loops may run
 * in place (d equal to an operand), which DYNC__TILE_FOR tells the compiler is harmless.
 * Letters: f float, d double, i int32_t, l int64_t, b BOOL in a byte (0 or 1). eval.c defines the
 * results. */
#include "../dync.in.h"
#include "interp.h"
#include "x86_enc.h"

#if defined(__clang__)
#define DYNC__TILE_CODE
#elif defined(__GNUC__)
#define DYNC__TILE_CODE                                                                      \
    __attribute__((optimize("O1", "expensive-optimizations", "tree-vectorize",               \
                            "vect-cost-model=very-cheap", "no-fast-math", "fp-contract=off", \
                            "no-trapping-math", "no-tree-scev-cprop", "no-tree-ccp",         \
                            "no-tree-dominator-opts", "no-ivopts")))
#define DYNC__TILE_IVDEP _Pragma("GCC ivdep")
#else
#define DYNC__TILE_CODE
#define DYNC__TILE_IVDEP
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define DYNC__TILE_X86 1
/* OLD: what has a twin for AVX2 and runs before AVX2 alone: slow, and quick to compile. BASE: what
 * has none, or not beside machine code */
#if defined(__clang__)
#define DYNC__TILE_OLD __attribute__((minsize))
#define DYNC__TILE_BASE
#define DYNC__TILE_AVX2 __attribute__((target("avx2,fma")))
#else /* ieee-fp: -ffast-math takes it away, and the pragma's is lost beside an attribute */
#define DYNC__TILE_SLOW(level)                                                             \
    __attribute__((optimize(level, "no-fast-math", "fp-contract=off", "no-trapping-math"), \
                   target("ieee-fp")))
#define DYNC__TILE_OLD DYNC__TILE_SLOW("O0")
#define DYNC__TILE_BASE DYNC__TILE_SLOW("Og")
#define DYNC__TILE_AVX2 DYNC__TILE_CODE __attribute__((target("ieee-fp,avx2,fma")))
#endif
#else
#define DYNC__TILE_X86 0
#define DYNC__TILE_OLD DYNC__TILE_CODE
#define DYNC__TILE_BASE DYNC__TILE_CODE
#endif
/* c ? a : b of floats. Clang marks its own selection fast under -ffast-math whatever the pragmas
 * say; one of bits it leaves alone. */
#if defined(__clang__)
static inline float dync__tile_pick_f(int c, float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = c ? x : y;
    memcpy(&a, &x, sizeof a);
    return a;
}
static inline double dync__tile_pick_d(int c, double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = c ? x : y;
    memcpy(&a, &x, sizeof a);
    return a;
}
#define DYNC__TILE_PICK(t, c, a, b) dync__tile_pick_##t(c, a, b)
#else
#define DYNC__TILE_PICK(t, c, a, b) ((c) ? (a) : (b))
#endif
/* Negative operands go to NaN first, so that the compiler sees that sqrt sets no errno and
 * vectorises it. */
#if defined(__GNUC__)
#define DYNC__TILE_SQRT(F, x) __builtin_sqrt##F((x) < 0 ? __builtin_nan##F("") : (x))
#else
#define DYNC__TILE_SQRT(F, x) sqrt##F(x)
#endif

DYNC__STRICT_FP_BEGIN

/* ---- scalar formulas ------------------------------------------------------------------------- */

#define DYNC__TILE_I(op) (int32_t)((uint32_t)a op(uint32_t) b)
#define DYNC__TILE_L(op) (int64_t)((uint64_t)a op(uint64_t) b)
#define DYNC__TILE_DIV(T, U) (b == 0 ? (T)0 : b == -1 ? (T)((U)0 - (U)a) : (T)(a / b))
#define DYNC__TILE_REM(T) (b == 0 || b == -1 ? (T)0 : (T)(a % b))
#define DYNC__TILE_SHL(T, U, bits) ((U)b < (bits) ? (T)((U)a << ((U)b & ((bits) - 1))) : (T)0)
/* a >> b of a negative number: of the complement, complemented, as C leaves the shift itself
 * open */
#define DYNC__TILE_SHR(T, U, bits)                                                          \
    ((U)b < (bits)                                                                          \
         ? (T)(((U)a ^ ((U)0 - (U)(a < 0))) >> ((U)b & ((bits) - 1)) ^ ((U)0 - (U)(a < 0))) \
         : (T)((U)0 - (U)(a < 0)))
/* Float to integer: truncates, saturates, NaN gives 0. HI is 2^31 or 2^63, exact in both float
 * types. */
#define DYNC__TILE_FTOI(t, T, HI, LOW, HIGH) \
    (a != a    ? (T)0                        \
     : a >= HI ? HIGH                        \
     : a < -HI ? LOW                         \
               : (T)DYNC__TILE_PICK(t, a >= HI || a < -HI || a != a, 0, a))

/* Families. Each function costs the user some 5 ms of compile time, so: AVX-512 uses AVX2's
 * variants; int64, BOOL and what does not vectorise have one; and where machine code takes the hot
 * loops (DYNC__JIT_X86), AVX2 keeps float, double's fma (for equal bits) and halves alone, for
 * kernels that stay interpreted. Scalar operands have none of their own. X(V, A, primitive, letter,
 * operand type, result type, expression) F: what C's mathematical functions of that type end in */
/* clang-format off */
#define DYNC__TILE_FLOAT_BINARY(X, V, A, t, T)                                                     \
    X(V, A, add, t, T, T, a + b)                X(V, A, sub, t, T, T, a - b)                       \
    X(V, A, mul, t, T, T, a * b)                X(V, A, div, t, T, T, a / b)                       \
    X(V, A, eq, t, T, uint8_t, a == b)          X(V, A, ne, t, T, uint8_t, a != b)                 \
    X(V, A, lt, t, T, uint8_t, a < b)           X(V, A, le, t, T, uint8_t, a <= b)                 \
    X(V, A, min, t, T, T, DYNC__TILE_PICK(t, a < b || a != a, a, b))                               \
    X(V, A, max, t, T, T, DYNC__TILE_PICK(t, a > b || a != a, a, b))                               \
    X(V, A, maxsel, t, T, T, DYNC__TILE_PICK(t, a < b, b, a))                                      \
    X(V, A, minsel, t, T, T, DYNC__TILE_PICK(t, b < a, b, a))
/* clang-format on */
/* clang-format off */
#define DYNC__TILE_FLOAT_UNARY(X, V, A, t, T, F)                                                   \
    X(V, A, neg, t, T, T, -a)                   X(V, A, abs, t, T, T, fabs##F(a))                  \
    X(V, A, floor, t, T, T, floor##F(a))        X(V, A, ceil, t, T, T, ceil##F(a))                 \
    X(V, A, trunc, t, T, T, trunc##F(a))        X(V, A, rint, t, T, T, rint##F(a))
/* clang-format on */
#define DYNC__TILE_FLOAT_SQRT(X, V, A, t, T, F) X(V, A, sqrt, t, T, T, DYNC__TILE_SQRT(F, a))
/* clang-format off */
#define DYNC__TILE_INT_BINARY(X, V, A, t, T, U, bits, OP)                                          \
    X(V, A, add, t, T, T, OP(+))                X(V, A, mul, t, T, T, OP(*))                       \
    X(V, A, min, t, T, T, a < b ? a : b)        X(V, A, max, t, T, T, a > b ? a : b)               \
    X(V, A, and_, t, T, T, OP(&)) X(V, A, or_, t, T, T, OP(|)) X(V, A, xor_, t, T, T, OP(^))       \
    X(V, A, eq, t, T, uint8_t, a == b)          X(V, A, ne, t, T, uint8_t, a != b)                 \
    X(V, A, sub, t, T, T, OP(-))                X(V, A, lt, t, T, uint8_t, a < b)                  \
    X(V, A, le, t, T, uint8_t, a <= b)                                                             \
    X(V, A, shl, t, T, T, DYNC__TILE_SHL(T, U, bits))                                              \
    X(V, A, shr, t, T, T, DYNC__TILE_SHR(T, U, bits))
/* clang-format on */
#define DYNC__TILE_INT_UNARY(X, V, A, t, T, U) \
    X(V, A, neg, t, T, T, (T)(0 - (U)a))       \
    X(V, A, abs, t, T, T, a < 0 ? (T)(0 - (U)a) : a) X(V, A, not_, t, T, T, ~a)
#define DYNC__TILE_I32(BINARY, UNARY, V, A)                                     \
    DYNC__TILE_INT_BINARY(BINARY, V, A, i, int32_t, uint32_t, 32, DYNC__TILE_I) \
    DYNC__TILE_INT_UNARY(UNARY, V, A, i, int32_t, uint32_t)
#define DYNC__TILE_I64(BINARY, UNARY, V, A)                                     \
    DYNC__TILE_INT_BINARY(BINARY, V, A, l, int64_t, uint64_t, 64, DYNC__TILE_L) \
    DYNC__TILE_INT_UNARY(UNARY, V, A, l, int64_t, uint64_t)
/* clang-format off */
#define DYNC__TILE_BOOL(X, V, A)                                                                   \
    X(V, A, lt, b, uint8_t, uint8_t, a < b)     X(V, A, le, b, uint8_t, uint8_t, a <= b)           \
    X(V, A, eq, b, uint8_t, uint8_t, a == b)    X(V, A, ne, b, uint8_t, uint8_t, a != b)           \
    X(V, A, and_, b, uint8_t, uint8_t, a & b)   X(V, A, or_, b, uint8_t, uint8_t, a | b)           \
    X(V, A, xor_, b, uint8_t, uint8_t, a ^ b)
/* clang-format on */
#define DYNC__TILE_NOT(X, V, A) X(V, A, not_, b, uint8_t, uint8_t, a ^ 1)
/* clang-format off */
#define DYNC__TILE_DIVISION(X, V, A)                                                               \
    X(V, A, div, i, int32_t, int32_t, DYNC__TILE_DIV(int32_t, uint32_t))                           \
    X(V, A, div, l, int64_t, int64_t, DYNC__TILE_DIV(int64_t, uint64_t))                           \
    X(V, A, rem, i, int32_t, int32_t, DYNC__TILE_REM(int32_t))                                     \
    X(V, A, rem, l, int64_t, int64_t, DYNC__TILE_REM(int64_t))
/* clang-format on */
/* X(V, A, from letter, from type, to letter, to type, expression) */
/* clang-format off */
#define DYNC__TILE_CASTS(X, V, A)                                                                  \
    X(V, A, f, float, d, double, (double)a)     X(V, A, d, double, f, float, (float)a)             \
    X(V, A, i, int32_t, f, float, (float)a)     X(V, A, i, int32_t, d, double, (double)a)          \
    X(V, A, i, int32_t, l, int64_t, a)                                                             \
    X(V, A, l, int64_t, i, int32_t, (int32_t)(uint32_t)(uint64_t)a)                                \
    X(V, A, b, uint8_t, f, float, (float)a)     X(V, A, b, uint8_t, i, int32_t, a)                 \
    X(V, A, f, float, b, uint8_t, a != 0)       X(V, A, i, int32_t, b, uint8_t, a != 0)            \
    X(V, A, f, float, i, int32_t,                                                                  \
      DYNC__TILE_FTOI(f, int32_t, 2147483648.0f, INT32_MIN, INT32_MAX))                            \
    X(V, A, d, double, i, int32_t, DYNC__TILE_FTOI(d, int32_t, 2147483648.0, INT32_MIN, INT32_MAX))
/* clang-format on */
/* clang-format off */
#define DYNC__TILE_RARE_CASTS(X, V, A)                                                             \
    X(V, A, l, int64_t, f, float, (float)a)     X(V, A, l, int64_t, d, double, (double)a)          \
    X(V, A, b, uint8_t, d, double, (double)a)   X(V, A, b, uint8_t, l, int64_t, a)                 \
    X(V, A, d, double, b, uint8_t, a != 0)      X(V, A, l, int64_t, b, uint8_t, a != 0)            \
    X(V, A, f, float, l, int64_t,                                                                  \
      DYNC__TILE_FTOI(f, int64_t, 9223372036854775808.0f, INT64_MIN, INT64_MAX))                   \
    X(V, A, d, double, l, int64_t,                                                                 \
      DYNC__TILE_FTOI(d, int64_t, 9223372036854775808.0, INT64_MIN, INT64_MAX))
/* clang-format on */

/* ---- f16 and bf16, in integer arithmetic that vectorises ------------------------------------- */

/* x: the bits of a half in a uint32_t; y: the float's. Subnormals are rebuilt by a float
 * subtraction of normal numbers. */
#define DYNC__TILE_HALF_TO_FLOAT(x, y)                                                \
    uint32_t exp_ = (x) & 0x7c00u, mag_ = ((x) & 0x7fffu) << 13, sub_;                \
    float half_;                                                                      \
    uint32_t low_ = mag_ + 0x38800000u;                                               \
    memcpy(&half_, &low_, 4);                                                         \
    half_ -= 6.103515625e-05f;                                                        \
    memcpy(&sub_, &half_, 4);                                                         \
    (y) = (exp_ == 0 ? sub_ : mag_ + (exp_ == 0x7c00u ? 0x70000000u : 0x38000000u)) | \
          ((x) & 0x8000u) << 16;
/* Round to nearest even; NaN gives a quiet NaN. A tiny number is rounded by adding 0.5, whose
 * last place is a half's 2^-24. */
#define DYNC__TILE_FLOAT_TO_HALF(x, y)                               \
    uint32_t mag_ = (x) & 0x7fffffffu, sub_, odd_ = mag_ >> 13 & 1u; \
    float half_;                                                     \
    memcpy(&half_, &mag_, 4);                                        \
    half_ += 0.5f;                                                   \
    memcpy(&sub_, &half_, 4);                                        \
    uint32_t normal_ = (mag_ + 0xc8000fffu + odd_) >> 13;            \
    uint32_t big_ = mag_ > 0x7f800000u ? 0x7e00u : 0x7c00u;          \
    (y) = (mag_ >= 0x47800000u  ? big_                               \
           : mag_ < 0x38800000u ? sub_ - 0x3f000000u                 \
                                : normal_) |                         \
          ((x) >> 16 & 0x8000u);
#define DYNC__TILE_FLOAT_TO_BF16(x, y)                            \
    (y) = ((x) & 0x7fffffffu) > 0x7f800000u ? ((x) >> 16 | 0x40u) \
                                            : ((x) + 0x7fffu + ((x) >> 16 & 1u)) >> 16;

/* ---- loops ----------------------------------------------------------------------------------- */

#define DYNC__TILE_HEAD(A, name)                                                            \
    A static void name(void *d_, const void *a_, const void *b_, const void *c_, int64_t n, \
                       int scalars)
/* The inner loop of known length becomes straight vector code and the rest stays scalar and small,
 * which compiles in a third of the time of one loop with versions and epilogues. NEXT moves the
 * pointers; a scalar operand, which is there DYNC__TILE_LANES times, stands still. */
#if defined(__clang__)
#define DYNC__TILE_LOOP \
    _Pragma("clang loop vectorize(assume_safety) interleave(disable) unroll(disable)")
#else
#define DYNC__TILE_LOOP DYNC__TILE_IVDEP
#endif
#define DYNC__TILE_FOR_AS(LOOP, NEXT, ...)                                                  \
    for (; n >= DYNC__TILE_LANES; n -= DYNC__TILE_LANES) {                                  \
        LOOP for (int i = 0; i < DYNC__TILE_LANES; i++){__VA_ARGS__} d += DYNC__TILE_LANES; \
        NEXT;                                                                               \
    }                                                                                       \
    for (int i = 0; i < (int)n; i++) {                                                      \
        __VA_ARGS__                                                                         \
    }
#define DYNC__TILE_FOR(NEXT, ...) DYNC__TILE_FOR_AS(DYNC__TILE_LOOP, NEXT, __VA_ARGS__)
#if defined(__clang__)
/* what it cannot vectorise and would warn about */
#define DYNC__TILE_SLOW_FOR(NEXT, ...) DYNC__TILE_FOR_AS(, NEXT, __VA_ARGS__)
#else
#define DYNC__TILE_SLOW_FOR DYNC__TILE_FOR
#endif
#define DYNC__TILE_STEP(operand) (int64_t)(DYNC__TILE_LANES * (~scalars >> (operand) & 1))
#define DYNC__TILE_DEFINE_UNARY_AS(FOR, V, A, prim, t, T, R, e) \
    DYNC__TILE_HEAD(A, dync__tile_##V##_##prim##_##t)           \
    {                                                           \
        R *d = d_;                                              \
        const T *x = a_;                                        \
        (void)b_, (void)c_, (void)scalars;                      \
        FOR(x += DYNC__TILE_LANES, T a = x[i]; d[i] = (R)(e);)  \
    }
#define DYNC__TILE_DEFINE_UNARY(V, A, ...) \
    DYNC__TILE_DEFINE_UNARY_AS(DYNC__TILE_FOR, V, A, __VA_ARGS__)
#define DYNC__TILE_DEFINE_SLOW_UNARY(V, A, ...) \
    DYNC__TILE_DEFINE_UNARY_AS(DYNC__TILE_SLOW_FOR, V, A, __VA_ARGS__)
#define DYNC__TILE_DEFINE_BINARY_AS(FOR, V, A, prim, t, T, R, e)        \
    DYNC__TILE_HEAD(A, dync__tile_##V##_##prim##_##t)                   \
    {                                                                   \
        R *d = d_;                                                      \
        const T *x = a_, *y = b_;                                       \
        const int64_t dx = DYNC__TILE_STEP(0), dy = DYNC__TILE_STEP(1); \
        (void)c_;                                                       \
        FOR((x += dx, y += dy), T a = x[i], b = y[i]; d[i] = (R)(e);)   \
    }
#define DYNC__TILE_DEFINE_BINARY(V, A, ...) \
    DYNC__TILE_DEFINE_BINARY_AS(DYNC__TILE_FOR, V, A, __VA_ARGS__)
#define DYNC__TILE_DEFINE_SLOW(V, A, ...) \
    DYNC__TILE_DEFINE_BINARY_AS(DYNC__TILE_SLOW_FOR, V, A, __VA_ARGS__)
#define DYNC__TILE_DEFINE_THREE(V, A, prim, t, T, X, e)                                            \
    DYNC__TILE_HEAD(A, dync__tile_##V##_##prim##_##t)                                              \
    {                                                                                              \
        T *d = d_;                                                                                 \
        const X *x = a_;                                                                           \
        const T *y = b_, *z = c_;                                                                  \
        const int64_t dx = DYNC__TILE_STEP(0), dy = DYNC__TILE_STEP(1), dz = DYNC__TILE_STEP(2);   \
        DYNC__TILE_FOR((x += dx, y += dy, z += dz), X a = x[i]; T b = y[i], c = z[i]; d[i] = (e);) \
    }
#define DYNC__TILE_DEFINE_FMA(V, A, t, T, e) DYNC__TILE_DEFINE_THREE(V, A, fma, t, T, T, e)
#define DYNC__TILE_DEFINE_SELECT(V, A, t, T) \
    DYNC__TILE_DEFINE_THREE(V, A, select, t, T, uint8_t, a ? b : c)
#define DYNC__TILE_DEFINE_CAST(V, A, f, F, t, T, e)                       \
    DYNC__TILE_HEAD(A, dync__tile_##V##_cast_##f##t)                      \
    {                                                                     \
        T *d = d_;                                                        \
        const F *x = a_;                                                  \
        (void)b_, (void)c_, (void)scalars;                                \
        DYNC__TILE_FOR(x += DYNC__TILE_LANES, F a = x[i]; d[i] = (T)(e);) \
    }
/* Between storage and compute types; the last argument computes y0 from x0. */
#define DYNC__TILE_DEFINE_CONVERT(V, A, name, F, T, ...)                                 \
    DYNC__TILE_HEAD(A, dync__tile_##V##_##name)                                          \
    {                                                                                    \
        T *d = d_;                                                                       \
        const F *s = a_;                                                                 \
        (void)b_, (void)c_, (void)scalars;                                               \
        DYNC__TILE_FOR(s += DYNC__TILE_LANES, F x0 = s[i]; T y0; __VA_ARGS__ d[i] = y0;) \
    }
#define DYNC__TILE_FLOAT_BITS \
    uint32_t x, y;            \
    memcpy(&x, &x0, 4);
#define DYNC__TILE_DEFINE_HALVES(V, A)                                                            \
    DYNC__TILE_DEFINE_CONVERT(V, A, widen_f16, uint16_t, float, uint32_t x = x0, y;               \
                              DYNC__TILE_HALF_TO_FLOAT(x, y) memcpy(&y0, &y, 4);)                 \
    DYNC__TILE_DEFINE_CONVERT(V, A, widen_bf16, uint16_t, float, uint32_t y = (uint32_t)x0 << 16; \
                              memcpy(&y0, &y, 4);)                                                \
    DYNC__TILE_DEFINE_CONVERT(V, A, narrow_f16, float, uint16_t,                                  \
                              DYNC__TILE_FLOAT_BITS DYNC__TILE_FLOAT_TO_HALF(x, y)                \
                                  y0 = (uint16_t)y;)                                              \
    DYNC__TILE_DEFINE_CONVERT(V, A, narrow_bf16, float, uint16_t,                                 \
                              DYNC__TILE_FLOAT_BITS DYNC__TILE_FLOAT_TO_BF16(x, y)                \
                                  y0 = (uint16_t)y;)
#define DYNC__TILE_DEFINE_CONVERTS(V, A)                                                         \
    DYNC__TILE_DEFINE_CONVERT(V, A, widen_i16, int16_t, int32_t, y0 = x0;)                       \
    DYNC__TILE_DEFINE_CONVERT(V, A, widen_i8, int8_t, int32_t, y0 = x0;)                         \
    DYNC__TILE_DEFINE_CONVERT(V, A, widen_u8, uint8_t, int32_t, y0 = x0;)                        \
    DYNC__TILE_DEFINE_CONVERT(V, A, widen_bool, uint8_t, uint8_t, y0 = x0 != 0;)                 \
    DYNC__TILE_DEFINE_CONVERT(V, A, narrow_i16, int32_t, uint16_t, y0 = (uint16_t)(uint32_t)x0;) \
    DYNC__TILE_DEFINE_CONVERT(V, A, narrow_i8, int32_t, uint8_t, y0 = (uint8_t)(uint32_t)x0;)    \
    DYNC__TILE_DEFINE_CONVERT(V, A, wrap_i16, int32_t, int32_t,                                  \
                              y0 = (int16_t)(uint16_t)(uint32_t)x0;)                             \
    DYNC__TILE_DEFINE_CONVERT(V, A, wrap_i8, int32_t, int32_t,                                   \
                              y0 = (int8_t)(uint8_t)(uint32_t)x0;)                               \
    DYNC__TILE_DEFINE_CONVERT(V, A, wrap_u8, int32_t, int32_t, y0 = x0 & 255;)                   \
    DYNC__TILE_DEFINE_CONVERT(V, A, wrap_bf16, float, float,                                     \
                              DYNC__TILE_FLOAT_BITS DYNC__TILE_FLOAT_TO_BF16(x, y) y <<= 16;     \
                              memcpy(&y0, &y, 4);)
/* Two steps in one loop body would fight over the names of the macros above: a half is wrapped
 * through the same bits. */
#define DYNC__TILE_DEFINE_WRAP_F16(V, A)                                                        \
    DYNC__TILE_DEFINE_CONVERT(V, A, wrap_f16, float, float,                                     \
                              DYNC__TILE_FLOAT_BITS{DYNC__TILE_FLOAT_TO_HALF(x, y)} uint32_t z; \
                              {DYNC__TILE_HALF_TO_FLOAT(y, z)} memcpy(&y0, &z, 4);)

/* Philox4x32-10 on many lanes, as base/rng.c has it for one: a holds the numbers' indices, b
 * {seed, offset}. */
#define DYNC__TILE_PHILOX(i)                                                      \
    m0 = (uint64_t)c0 * 0xd2511f53u, m1 = (uint64_t)c2 * 0xcd9e8d57u;             \
    c0 = (uint32_t)(m1 >> 32) ^ c1 ^ (k0 + (i) * 0x9e3779b9u), c1 = (uint32_t)m1; \
    c2 = (uint32_t)(m0 >> 32) ^ c3 ^ (k1 + (i) * 0xbb67ae85u), c3 = (uint32_t)m0;
#define DYNC__TILE_DEFINE_UNIFORM(V, A, t, T, RESULT)                                            \
    DYNC__TILE_HEAD(A, dync__tile_##V##_uniform_##t)                                             \
    {                                                                                            \
        T *d = d_;                                                                               \
        const int64_t *x = a_;                                                                   \
        const uint64_t *seed = b_, offset = seed[1];                                             \
        const uint32_t k0 = (uint32_t)seed[0], k1 = (uint32_t)(seed[0] >> 32);                   \
        (void)c_, (void)scalars;                                                                 \
        DYNC__TILE_FOR(x += DYNC__TILE_LANES, uint64_t at = offset + (uint64_t)x[i], m0, m1;     \
                       uint32_t c0 = (uint32_t)at, c1 = (uint32_t)(at >> 32), c2 = 0, c3 = 0;    \
                       DYNC__TILE_PHILOX(0u) DYNC__TILE_PHILOX(1u) DYNC__TILE_PHILOX(2u)         \
                           DYNC__TILE_PHILOX(3u) DYNC__TILE_PHILOX(4u) DYNC__TILE_PHILOX(5u)     \
                               DYNC__TILE_PHILOX(6u) DYNC__TILE_PHILOX(7u) DYNC__TILE_PHILOX(8u) \
                                   DYNC__TILE_PHILOX(9u)(void) c2;                               \
                       (void)c3; d[i] = RESULT;)                                                 \
    }
#define DYNC__TILE_DEFINE_UNIFORMS(V, A)                                                        \
    DYNC__TILE_DEFINE_UNIFORM(V, A, f, float, (float)(int32_t)(c0 >> 8) * (1.0f / 16777216.0f)) \
    DYNC__TILE_DEFINE_UNIFORM(V, A, d, double,                                                  \
                              (double)(int64_t)(((uint64_t)c1 << 32 | c0) >> 11) *              \
                                  (1.0 / 9007199254740992.0))                                   \
    DYNC__TILE_DEFINE_UNIFORM(V, A, d2, double,                                                 \
                              (double)(int64_t)(((uint64_t)c3 << 32 | c2) >> 11) *              \
                                  (1.0 / 9007199254740992.0))

/* 32 independent lanes over a grain, then a tree; lanes that got no element hold the identity.
 * Machine code (x86_reduce.c) keeps this order. */
#define DYNC__TILE_DEFINE_REDUCE(V, A, kind, t, T, identity, OP)                      \
    DYNC__TILE_HEAD(A, dync__tile_##V##_r##kind##_##t)                                \
    {                                                                                 \
        T *d = d_;                                                                    \
        const T *x = a_;                                                              \
        int64_t length = *(const int64_t *)c_, left = length;                         \
        (void)b_, (void)scalars;                                                      \
        for (const T *end = (const T *)a_ + n; x < end;) {                            \
            int64_t grain = left < DYNC__TILE_GRAIN ? left : DYNC__TILE_GRAIN, j = 0; \
            T lane[32];                                                               \
            for (int k = 0; k < 32; k++) lane[k] = identity;                          \
            for (; j + 32 <= grain; j += 32)                                          \
                for (int k = 0; k < 32; k++) {                                        \
                    T a = lane[k], b = x[j + k];                                      \
                    lane[k] = OP;                                                     \
                }                                                                     \
            for (int k = 0; j + k < grain; k++) {                                     \
                T a = lane[k], b = x[j + k];                                          \
                lane[k] = OP;                                                         \
            }                                                                         \
            for (int k = 0; k < 16; k++) {                                            \
                T a = lane[k], b = lane[k + 16];                                      \
                lane[k] = OP;                                                         \
            }                                                                         \
            for (int k = 0; k < 8; k++) {                                             \
                T a = lane[k], b = lane[k + 8];                                       \
                lane[k] = OP;                                                         \
            }                                                                         \
            for (int k = 0; k < 4; k++) {                                             \
                T a = lane[k], b = lane[k + 4];                                       \
                lane[k] = OP;                                                         \
            }                                                                         \
            for (int k = 0; k < 2; k++) {                                             \
                T a = lane[k], b = lane[k + 2];                                       \
                lane[k] = OP;                                                         \
            }                                                                         \
            {                                                                         \
                T a = lane[0], b = lane[1];                                           \
                *d++ = OP;                                                            \
            }                                                                         \
            x += grain;                                                               \
            left -= grain;                                                            \
            if (left == 0) left = length;                                             \
        }                                                                             \
    }
/* The same, one element after another: exact in any order, or rare. */
#define DYNC__TILE_DEFINE_PLAIN_REDUCE(V, A, kind, t, T, identity, OP)         \
    DYNC__TILE_HEAD(A, dync__tile_##V##_r##kind##_##t)                         \
    {                                                                          \
        T *d = d_;                                                             \
        const T *x = a_;                                                       \
        int64_t length = *(const int64_t *)c_, left = length;                  \
        (void)b_, (void)scalars;                                               \
        for (const T *end = x + n; x < end;) {                                 \
            int64_t grain = left < DYNC__TILE_GRAIN ? left : DYNC__TILE_GRAIN; \
            T a = x[0];                                                        \
            for (int64_t j = 1; j < grain; j++) {                              \
                T b = x[j];                                                    \
                a = OP;                                                        \
            }                                                                  \
            *d++ = a;                                                          \
            x += grain;                                                        \
            left -= grain;                                                     \
            if (left == 0) left = length;                                      \
        }                                                                      \
    }
/* clang-format off */
#define DYNC__TILE_FLOAT_REDUCES(X, V, A, t, T)                                                    \
    X(V, A, sum, t, T, 0, a + b)                                                                   \
    X(V, A, max, t, T, (T)-HUGE_VAL, DYNC__TILE_PICK(t, a > b || a != a, a, b))                    \
    X(V, A, min, t, T, (T)HUGE_VAL, DYNC__TILE_PICK(t, a < b || a != a, a, b))
/* clang-format on */
/* clang-format off */
#define DYNC__TILE_OTHER_REDUCES(X, V, A)                                                          \
    X(V, A, prod, f, float, , a * b)        X(V, A, prod, d, double, , a * b)                      \
    X(V, A, sum, i, int32_t, , DYNC__TILE_I(+)) X(V, A, sum, l, int64_t, , DYNC__TILE_L(+))        \
    X(V, A, prod, i, int32_t, , DYNC__TILE_I(*)) X(V, A, prod, l, int64_t, , DYNC__TILE_L(*))      \
    X(V, A, max, i, int32_t, , a > b ? a : b) X(V, A, max, l, int64_t, , a > b ? a : b)            \
    X(V, A, min, i, int32_t, , a < b ? a : b) X(V, A, min, l, int64_t, , a < b ? a : b)            \
    X(V, A, any, b, uint8_t, , (uint8_t)(a | b)) X(V, A, all, b, uint8_t, , (uint8_t)(a & b))
/* clang-format on */

/* Running sums. Rows side by side: one addition after another. Along a row in groups of eight, as
 * vectors of machine code: each adds up by distances of 1, 2 and 4 (Kogge and Stone 1973), then
 * what came before it is added. */
#define DYNC__TILE_DEFINE_SCAN(T, ACC, name)                                                   \
    static void dync__tile_scan_##name(bool vertical, int64_t rows, int64_t inner, const T *x, \
                                       T *y, ACC *carry)                                       \
    {                                                                                          \
        for (int64_t j = 0; vertical && j < inner; j++, x += rows, y += rows)                  \
            for (int64_t i = 0; i < rows; i++) y[i] = (T)(carry[i] += (ACC)x[i]);              \
        for (; !vertical && rows > 0; rows--, carry++)                                         \
            for (int64_t end, j = 0; j < inner; j = end) {                                     \
                ACC last = 0, two = 0, two_before = 0, four[4] = {0}, sum = *carry;            \
                for (end = DYNC__MIN(inner, j + 8); j < end; j++) {                            \
                    ACC one = (ACC) * x++, pair = one + last, quad = pair + two_before,        \
                        all = quad + four[j & 3];                                              \
                    last = one, two_before = two, two = pair, four[j & 3] = quad;              \
                    *y++ = (T)(*carry = sum + all);                                            \
                }                                                                              \
            }                                                                                  \
    }
DYNC__TILE_DEFINE_SCAN(float, double, f)
DYNC__TILE_DEFINE_SCAN(double, double, d)
DYNC__TILE_DEFINE_SCAN(uint64_t, uint64_t, l) /* unsigned: wraps */
DYNC__FN void dync__tile_scan(int type, bool vertical, int64_t rows, int64_t inner, const void *x,
                              void *y, void *carry)
{
    if (type == DYNC_F32)
        dync__tile_scan_f(vertical, rows, inner, x, y, carry);
    else if (type == DYNC_F64)
        dync__tile_scan_d(vertical, rows, inner, x, y, carry);
    else
        dync__tile_scan_l(vertical, rows, inner, x, y, carry);
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { DYNC__TILE_f, DYNC__TILE_d, DYNC__TILE_i, DYNC__TILE_l, DYNC__TILE_b, DYNC__TILE_N };
enum { DYNC__P_maxsel = DYNC__TILE_MAXSEL, DYNC__P_minsel = DYNC__TILE_MINSEL };
enum {
    DYNC__TILE_R_sum = DYNC__R_SUM,
    DYNC__TILE_R_prod = DYNC__R_PROD,
    DYNC__TILE_R_max = DYNC__R_MAX,
    DYNC__TILE_R_min = DYNC__R_MIN,
    DYNC__TILE_R_any = DYNC__R_ANY,
    DYNC__TILE_R_all = DYNC__R_ALL
};
typedef struct dync__tile_table {
    dync__tile_fn op[DYNC__N_TILES][DYNC__TILE_N];
    dync__tile_fn cast[DYNC__TILE_N][DYNC__TILE_N];
    dync__tile_fn widen[DYNC_BOOL + 1], narrow[DYNC_BOOL + 1], wrap[DYNC_BOOL + 1];
    dync__tile_fn reduce[DYNC__R_ALL + 1][DYNC__TILE_N], uniform[DYNC__TILE_d + 2];
} dync__tile_table;

#define DYNC__TILE_ROW(V, A, prim, t, T, R, e) \
    [DYNC__P_##prim][DYNC__TILE_##t] = dync__tile_##V##_##prim##_##t,
#define DYNC__TILE_ROW_CAST(V, A, f, F, t, T, e) \
    [DYNC__TILE_##f][DYNC__TILE_##t] = dync__tile_##V##_cast_##f##t,
#define DYNC__TILE_ROW_REDUCE(V, A, kind, t, T, identity, OP) \
    [DYNC__TILE_R_##kind][DYNC__TILE_##t] = dync__tile_##V##_r##kind##_##t,

#define DYNC__TILES_FLOAT(V, A, t, T, U, F)                            \
    DYNC__TILE_FLOAT_BINARY(DYNC__TILE_DEFINE_BINARY, V, A, t, T)      \
    DYNC__TILE_FLOAT_UNARY(DYNC__TILE_DEFINE_UNARY, V, A, t, T, F)     \
    DYNC__TILE_FLOAT_SQRT(DYNC__TILE_DEFINE_SLOW_UNARY, V, A, t, T, F) \
    DYNC__TILE_DEFINE_SELECT(V, A, t, U)                               \
    DYNC__TILE_FLOAT_REDUCES(DYNC__TILE_DEFINE_REDUCE, V, A, t, T)
#define DYNC__TILES_WIDE(V, A)                                              \
    DYNC__TILE_I32(DYNC__TILE_DEFINE_BINARY, DYNC__TILE_DEFINE_UNARY, V, A) \
    DYNC__TILE_DEFINE_SELECT(V, A, i, int32_t)                              \
    DYNC__TILE_CASTS(DYNC__TILE_DEFINE_CAST, V, A)                          \
    DYNC__TILE_DEFINE_CONVERTS(V, A)                                        \
    DYNC__TILE_DEFINE_WRAP_F16(V, A)                                        \
    DYNC__TILE_DEFINE_UNIFORMS(V, A)
#define DYNC__TILES_PLAIN(V, A)                                             \
    DYNC__TILE_I64(DYNC__TILE_DEFINE_BINARY, DYNC__TILE_DEFINE_UNARY, V, A) \
    DYNC__TILE_DEFINE_SELECT(V, A, l, int64_t)                              \
    DYNC__TILE_BOOL(DYNC__TILE_DEFINE_BINARY, V, A)                         \
    DYNC__TILE_NOT(DYNC__TILE_DEFINE_UNARY, V, A)                           \
    DYNC__TILE_DEFINE_SELECT(V, A, b, uint8_t)                              \
    DYNC__TILE_DIVISION(DYNC__TILE_DEFINE_SLOW, V, A)                       \
    DYNC__TILE_RARE_CASTS(DYNC__TILE_DEFINE_CAST, V, A)                     \
    DYNC__TILE_OTHER_REDUCES(DYNC__TILE_DEFINE_PLAIN_REDUCE, V, A)
#define DYNC__TILE_ROWS_FLOAT(V, t)                    \
    DYNC__TILE_FLOAT_BINARY(DYNC__TILE_ROW, V, , t, )  \
    DYNC__TILE_FLOAT_UNARY(DYNC__TILE_ROW, V, , t, , ) \
    DYNC__TILE_FLOAT_SQRT(DYNC__TILE_ROW, V, , t, , ) DYNC__TILE_ROW(V, , select, t, , , )
/* The table of one instruction set: F, H, W, P are the variants that float, fma and halves, the
 * wide families and the plain ones use. */
#define DYNC__TILES_TABLE(name, F, H, W, P)                                                      \
    static const dync__tile_table name = {                                                       \
        .op = {DYNC__TILE_ROWS_FLOAT(F, f) DYNC__TILE_ROWS_FLOAT(W, d) DYNC__TILE_ROW(           \
            H, , fma, f, , , ) DYNC__TILE_ROW(H, , fma, d, , , )                                 \
                   DYNC__TILE_I32(DYNC__TILE_ROW, DYNC__TILE_ROW, W, ) DYNC__TILE_BOOL(          \
                       DYNC__TILE_ROW, P, ) DYNC__TILE_NOT(DYNC__TILE_ROW, P, )                  \
                       DYNC__TILE_ROW(W, , select, i, , , ) DYNC__TILE_ROW(P, , select, b, , , ) \
                           DYNC__TILE_I64(DYNC__TILE_ROW, DYNC__TILE_ROW, P, )                   \
                               DYNC__TILE_DIVISION(DYNC__TILE_ROW, P, )                          \
                                   DYNC__TILE_ROW(P, , select, l, , , )},                        \
        .cast = {DYNC__TILE_CASTS(DYNC__TILE_ROW_CAST, W, )                                      \
                     DYNC__TILE_RARE_CASTS(DYNC__TILE_ROW_CAST, P, )},                           \
        .widen = {[DYNC_F16] = dync__tile_##H##_widen_f16,                                       \
                  [DYNC_BF16] = dync__tile_##H##_widen_bf16,                                     \
                  [DYNC_I16] = dync__tile_##W##_widen_i16,                                       \
                  [DYNC_I8] = dync__tile_##W##_widen_i8,                                         \
                  [DYNC_U8] = dync__tile_##W##_widen_u8,                                         \
                  [DYNC_BOOL] = dync__tile_##W##_widen_bool},                                    \
        .narrow = {[DYNC_F16] = dync__tile_##H##_narrow_f16,                                     \
                   [DYNC_BF16] = dync__tile_##H##_narrow_bf16,                                   \
                   [DYNC_I16] = dync__tile_##W##_narrow_i16,                                     \
                   [DYNC_I8] = dync__tile_##W##_narrow_i8,                                       \
                   [DYNC_U8] = dync__tile_##W##_narrow_i8},                                      \
        .wrap = {[DYNC_F16] = dync__tile_##W##_wrap_f16,                                         \
                 [DYNC_BF16] = dync__tile_##W##_wrap_bf16,                                       \
                 [DYNC_I16] = dync__tile_##W##_wrap_i16,                                         \
                 [DYNC_I8] = dync__tile_##W##_wrap_i8,                                           \
                 [DYNC_U8] = dync__tile_##W##_wrap_u8},                                          \
        .uniform = {dync__tile_##W##_uniform_f, dync__tile_##W##_uniform_d,                      \
                    dync__tile_##W##_uniform_d2},                                                \
        .reduce = {DYNC__TILE_FLOAT_REDUCES(DYNC__TILE_ROW_REDUCE, F, , f, )                     \
                       DYNC__TILE_FLOAT_REDUCES(DYNC__TILE_ROW_REDUCE, W, , d, )                 \
                           DYNC__TILE_OTHER_REDUCES(DYNC__TILE_ROW_REDUCE, P, )},                \
    };

#if !DYNC__TILE_X86 && (defined(__FP_FAST_FMAF) || defined(__aarch64__))
DYNC__TILE_DEFINE_FMA(base, DYNC__TILE_OLD, f, float, fmaf(a, b, c))
DYNC__TILE_DEFINE_FMA(base, DYNC__TILE_OLD, d, double, fma(a, b, c))
#else
DYNC__TILE_DEFINE_FMA(base, DYNC__TILE_OLD, f, float, a *b + c)
DYNC__TILE_DEFINE_FMA(base, DYNC__TILE_OLD, d, double, a *b + c)
#endif
DYNC__TILES_FLOAT(base, DYNC__TILE_OLD, f, float, uint32_t, f)
DYNC__TILES_FLOAT(base, DYNC__TILE_BASE, d, double, uint64_t, )
DYNC__TILE_DEFINE_HALVES(base, DYNC__TILE_OLD)
DYNC__TILES_WIDE(base, DYNC__TILE_BASE)
DYNC__TILES_PLAIN(base, DYNC__TILE_BASE)
DYNC__TILES_TABLE(dync__tiles_base, base, base, base, base)
#if DYNC__TILE_X86
DYNC__TILE_DEFINE_FMA(avx2, DYNC__TILE_AVX2, f, float, __builtin_fmaf(a, b, c))
DYNC__TILE_DEFINE_FMA(avx2, DYNC__TILE_AVX2, d, double, __builtin_fma(a, b, c))
DYNC__TILES_FLOAT(avx2, DYNC__TILE_AVX2, f, float, uint32_t, f)
DYNC__TILE_DEFINE_HALVES(avx2, DYNC__TILE_AVX2)
#if DYNC__JIT_X86
DYNC__TILES_TABLE(dync__tiles_avx2, avx2, avx2, base, base)
#else
DYNC__TILES_FLOAT(avx2, DYNC__TILE_AVX2, d, double, uint64_t, )
DYNC__TILES_WIDE(avx2, DYNC__TILE_AVX2)
DYNC__TILES_TABLE(dync__tiles_avx2, avx2, avx2, avx2, base)
#endif
#endif

DYNC__STRICT_FP_END

/* ---- looking up ------------------------------------------------------------------------------ */

static const dync__tile_table *dync__tile_tables(int isa)
{
#if DYNC__TILE_X86
    return isa >= 1 ? &dync__tiles_avx2 : &dync__tiles_base;
#else
    (void)isa;
    return &dync__tiles_base;
#endif
}

static int dync__tile_letter(int type)
{
    switch (type) {
    case DYNC_F32: return DYNC__TILE_f;
    case DYNC_F64: return DYNC__TILE_d;
    case DYNC_I32: return DYNC__TILE_i;
    case DYNC_I64: return DYNC__TILE_l;
    default: return DYNC__TILE_b;
    }
}

DYNC__FN int dync__tile_isa(void)
{
    unsigned f = dync__cpu_features();
    if (!(f & DYNC__CPU_AVX2) || !(f & DYNC__CPU_FMA)) return 0;
    return f & DYNC__CPU_AVX512 ? 2 : 1;
}

DYNC__FN void dync__tile_spread(const void *scalar, int bytes, uint64_t *to)
{
    uint64_t x = 0;
    if (bytes == 4) {
        uint32_t half;
        memcpy(&half, scalar, sizeof half);
        x = half | (uint64_t)half << 32;
    } else if (bytes == 8) {
        memcpy(&x, scalar, sizeof x);
    } else {
        x = *(const uint8_t *)scalar * UINT64_C(0x0101010101010101);
    }
    for (int i = 0; i < DYNC__TILE_LANES * bytes / 8; i++) to[i] = x;
}

DYNC__FN dync__tile_fn dync__tile_find(int isa, int prim, int type)
{
    return dync__tile_tables(isa)->op[prim][dync__tile_letter(type)];
}

DYNC__FN dync__tile_fn dync__tile_cast(int isa, int from, int to)
{
    return dync__tile_tables(isa)->cast[dync__tile_letter(from)][dync__tile_letter(to)];
}

DYNC__FN dync__tile_fn dync__tile_widen(int isa, int storage)
{
    return dync__tile_tables(isa)->widen[storage];
}

DYNC__FN dync__tile_fn dync__tile_narrow(int isa, int storage)
{
    return dync__tile_tables(isa)->narrow[storage];
}

DYNC__FN dync__tile_fn dync__tile_uniform(int isa, int type, bool second)
{
    return dync__tile_tables(isa)->uniform[second ? DYNC__TILE_d + 1 : dync__tile_letter(type)];
}

DYNC__FN dync__tile_fn dync__tile_wrap(int isa, int storage)
{
    return dync__tile_tables(isa)->wrap[storage];
}

DYNC__FN dync__tile_fn dync__tile_reduce(int isa, int kind, int type)
{
    if (kind > DYNC__R_ALL) return NULL;
    return dync__tile_tables(isa)->reduce[kind][dync__tile_letter(type)];
}
