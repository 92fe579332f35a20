/* codegen/tile_forms.h: the formulas of the tile interpreter as lists of macros, and the loops
 * around them, which interp_tile.c expands once for each instruction set. Private to it. */
#ifndef DYNC__TILE_FORMS_H
#define DYNC__TILE_FORMS_H
#include "interp_tile.h"
#include "../loop/whole.h"

/* DYNC__TILE_CODE asks for vectors whatever flags the user compiles with, and keeps contraction and
 * fast-math out; what is left out gives these loops nothing and takes half the time. */
#if defined(__clang__)
#define DYNC__TILE_CODE
#define DYNC__TILE_LOOP \
    _Pragma("clang loop vectorize(assume_safety) interleave(disable) unroll(disable)")
#define DYNC__TILE_SLOW_LOOP /* it would warn of what it cannot vectorise */
#elif defined(__GNUC__)
#define DYNC__TILE_FLAGS                                                                      \
    optimize("O1", "expensive-optimizations", "tree-vectorize", "vect-cost-model=very-cheap", \
             "no-fast-math", "fp-contract=off", "no-trapping-math", "no-tree-scev-cprop",     \
             "no-tree-ccp", "no-tree-dominator-opts", "no-ivopts")
#define DYNC__TILE_LOOP _Pragma("GCC ivdep")
#define DYNC__TILE_SLOW_LOOP DYNC__TILE_LOOP
#else
#define DYNC__TILE_CODE
#define DYNC__TILE_LOOP
#define DYNC__TILE_SLOW_LOOP
#endif
#if defined(__x86_64__) && defined(__clang__)
#define DYNC__TILE_AVX2 __attribute__((target("avx2,fma")))
#elif defined(__x86_64__) && defined(__GNUC__)
/* ieee-fp: -ffast-math takes it away, and the pragma's is lost beside an attribute */
#define DYNC__TILE_CODE __attribute__((DYNC__TILE_FLAGS, target("ieee-fp")))
#define DYNC__TILE_AVX2 __attribute__((DYNC__TILE_FLAGS, target("ieee-fp,avx2,fma")))
#elif defined(__GNUC__) && !defined(__clang__)
#define DYNC__TILE_CODE __attribute__((DYNC__TILE_FLAGS))
#endif

/* c ? a : b of floats. Clang marks its own selection fast under -ffast-math whatever the pragmas
 * say; one of bits it leaves alone. */
#if defined(__clang__)
#define DYNC__TILE_PICK(t, c, a, b) dync__tile_pick_##t(c, a, b)
#else
#define DYNC__TILE_PICK(t, c, a, b) ((c) ? (a) : (b))
#endif
/* Negative operands go to NaN first, so that the compiler sees that sqrt sets no errno and
 * vectorises it. */
#if defined(DYNC_SMALL)
#define DYNC__TILE_SQRT(F, x) dync__sqrt##F(x)
#elif defined(__GNUC__)
#define DYNC__TILE_SQRT(F, x) __builtin_sqrt##F((x) < 0 ? __builtin_nan##F("") : (x))
#else
#define DYNC__TILE_SQRT(F, x) sqrt##F(x)
#endif

/* ---- scalar formulas of operands a, b -------------------------------------------------------- */

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
#define DYNC__TILE_MAX(t) DYNC__TILE_PICK(t, a > b || a != a, a, b)
#define DYNC__TILE_MIN(t) DYNC__TILE_PICK(t, a < b || a != a, a, b)

/* Families: X(primitive, operand type, result type, expression). F: what C's mathematical functions
 * of that type end in. SLOW: what is not vectorised everywhere. */
/* clang-format off */
#define DYNC__TILE_COMPARES(X, T)                                                                  \
    X(eq, T, uint8_t, a == b)  X(ne, T, uint8_t, a != b)  X(lt, T, uint8_t, a < b)                 \
    X(le, T, uint8_t, a <= b)
#define DYNC__TILE_FLOAT_BINARY(X, t, T)                                                           \
    X(add, T, T, a + b)  X(sub, T, T, a - b)  X(mul, T, T, a * b)  X(div, T, T, a / b)             \
    X(min, T, T, DYNC__TILE_MIN(t))           X(max, T, T, DYNC__TILE_MAX(t))                      \
    X(maxsel, T, T, DYNC__TILE_PICK(t, a < b, b, a))                                               \
    X(minsel, T, T, DYNC__TILE_PICK(t, b < a, b, a))                                               \
    DYNC__TILE_COMPARES(X, T)
#define DYNC__TILE_FLOAT_UNARY(X, SLOW, T, F)                                                      \
    X(neg, T, T, -a)           X(abs, T, T, fabs##F(a))    X(floor, T, T, dync__floor##F(a))       \
    X(ceil, T, T, dync__ceil##F(a))  X(trunc, T, T, dync__trunc##F(a))                             \
    X(rint, T, T, dync__rint##F(a))                                                                \
    SLOW(sqrt, T, T, DYNC__TILE_SQRT(F, a))
#define DYNC__TILE_INT_BINARY(X, SLOW, T, U, bits, OP)                                             \
    X(add, T, T, OP(+))  X(sub, T, T, OP(-))  X(mul, T, T, OP(*))                                  \
    X(and_, T, T, OP(&)) X(or_, T, T, OP(|))  X(xor_, T, T, OP(^))                                 \
    X(min, T, T, a < b ? a : b)               X(max, T, T, a > b ? a : b)                          \
    X(shl, T, T, DYNC__TILE_SHL(T, U, bits))  X(shr, T, T, DYNC__TILE_SHR(T, U, bits))             \
    SLOW(div, T, T, DYNC__TILE_DIV(T, U))     SLOW(rem, T, T, DYNC__TILE_REM(T))                   \
    DYNC__TILE_COMPARES(X, T)
#define DYNC__TILE_INT_UNARY(X, T, U)                                                              \
    X(neg, T, T, (T)(0 - (U)a))  X(abs, T, T, a < 0 ? (T)(0 - (U)a) : a)  X(not_, T, T, ~a)
#define DYNC__TILE_BOOL_BINARY(X)                                                                  \
    X(and_, uint8_t, uint8_t, a & b)  X(or_, uint8_t, uint8_t, a | b)                              \
    X(xor_, uint8_t, uint8_t, a ^ b)  DYNC__TILE_COMPARES(X, uint8_t)
/* X(from letter, from type, to letter, to type, expression) */
#define DYNC__TILE_CASTS(X)                                                                        \
    X(i, int32_t, f, float, (float)a)     X(i, int32_t, l, int64_t, a)                             \
    X(l, int64_t, i, int32_t, (int32_t)(uint32_t)(uint64_t)a)                                      \
    X(b, uint8_t, f, float, (float)a)     X(b, uint8_t, i, int32_t, a)                             \
    X(f, float, b, uint8_t, a != 0)       X(i, int32_t, b, uint8_t, a != 0)                        \
    X(l, int64_t, f, float, (float)a)     X(l, int64_t, b, uint8_t, a != 0)                        \
    X(b, uint8_t, l, int64_t, a)                                                                   \
    X(f, float, i, int32_t, DYNC__TILE_FTOI(f, int32_t, 2147483648.0f, INT32_MIN, INT32_MAX))      \
    X(f, float, l, int64_t,                                                                        \
      DYNC__TILE_FTOI(f, int64_t, 9223372036854775808.0f, INT64_MIN, INT64_MAX))                   \
    DYNC__TILE_CASTS_F64(X)
/* what there is of F64: nothing with DYNC_NO_F64 */
#if defined(DYNC_NO_F64)
#define DYNC__TILE_F64(code)
#define DYNC__TILE_FN_F64(name) NULL
#define DYNC__TILE_CASTS_F64(X)
#else
#define DYNC__TILE_F64(code) code
#define DYNC__TILE_FN_F64(name) name
#define DYNC__TILE_CASTS_F64(X)                                                                    \
    X(f, float, d, double, (double)a)     X(d, double, f, float, (float)a)                         \
    X(i, int32_t, d, double, (double)a)   X(l, int64_t, d, double, (double)a)                      \
    X(b, uint8_t, d, double, (double)a)   X(d, double, b, uint8_t, a != 0)                         \
    X(d, double, i, int32_t, DYNC__TILE_FTOI(d, int32_t, 2147483648.0, INT32_MIN, INT32_MAX))      \
    X(d, double, l, int64_t,                                                                       \
      DYNC__TILE_FTOI(d, int64_t, 9223372036854775808.0, INT64_MIN, INT64_MAX))
#endif
/* clang-format on */

/* ---- f16 and bf16, in integer arithmetic that vectorises ------------------------------------- */

/* x: the bits of an f16 in a uint32_t; y: the float's. Subnormals are rebuilt by a float
 * subtraction of normal numbers. */
#define DYNC__TILE_F16_TO_FLOAT(x, y)                                                 \
    uint32_t exp_ = (x) & 0x7c00u, mag_ = ((x) & 0x7fffu) << 13, sub_;                \
    float f16_;                                                                       \
    uint32_t low_ = mag_ + 0x38800000u;                                               \
    memcpy(&f16_, &low_, 4);                                                          \
    f16_ -= 6.103515625e-05f;                                                         \
    memcpy(&sub_, &f16_, 4);                                                          \
    (y) = (exp_ == 0 ? sub_ : mag_ + (exp_ == 0x7c00u ? 0x70000000u : 0x38000000u)) | \
          ((x) & 0x8000u) << 16;
/* Round to nearest even; NaN gives a quiet NaN. A tiny number is rounded by adding 0.5, whose
 * last place is an f16's 2^-24. */
#define DYNC__TILE_FLOAT_TO_F16(x, y)                                \
    uint32_t mag_ = (x) & 0x7fffffffu, sub_, odd_ = mag_ >> 13 & 1u; \
    float f16_;                                                      \
    memcpy(&f16_, &mag_, 4);                                         \
    f16_ += 0.5f;                                                    \
    memcpy(&sub_, &f16_, 4);                                         \
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

enum { DYNC__TILE_f, DYNC__TILE_d, DYNC__TILE_i, DYNC__TILE_l, DYNC__TILE_b, DYNC__TILE_TYPES };
enum { DYNC__P_maxsel = DYNC__TILE_MAXSEL, DYNC__P_minsel = DYNC__TILE_MINSEL };
enum { DYNC__TILE_FMA = DYNC__TILE_TYPES, DYNC__TILE_DFMA }; /* of three operands, else select */
/* of conversions between storage and compute types */
enum { DYNC__TILE_WIDEN, DYNC__TILE_NARROW = 32, DYNC__TILE_WRAP = 64 };

#define DYNC__TILE_HEAD(A, name)                                                         \
    A static void name(int op, void *d_, const void *a_, const void *b_, const void *c_, \
                       dync__size n, int scalars)
/* NEXT moves the pointers on; that of a scalar operand, which is there DYNC__TILE_LANES times,
 * stands still. */
#define DYNC__TILE_STEP(operand) (dync__size)(DYNC__TILE_LANES * (~scalars >> (operand) & 1))
#define DYNC__TILE_BOTH (d += DYNC__TILE_LANES, x += DYNC__TILE_LANES)
#define DYNC__TILE_FOR(LOOP, NEXT, ...)                                 \
    for (; n > 0; n--, NEXT) {                                          \
        LOOP for (int i = 0; i < DYNC__TILE_LANES; i++) { __VA_ARGS__ } \
    }                                                                   \
    return;
#define DYNC__TILE_CASE(LOOP, NEXT, value, R, ...) \
    case value: {                                  \
        R *d = d_;                                 \
        DYNC__TILE_FOR(LOOP, NEXT, __VA_ARGS__)    \
    }
#define DYNC__TILE_CASE1(prim, T, R, e) \
    DYNC__TILE_CASE(DYNC__TILE_LOOP, DYNC__TILE_BOTH, DYNC__P_##prim, R, T a = x[i]; d[i] = (R)(e);)
#define DYNC__TILE_SLOW1(prim, T, R, e)                                                   \
    DYNC__TILE_CASE(DYNC__TILE_SLOW_LOOP, DYNC__TILE_BOTH, DYNC__P_##prim, R, T a = x[i]; \
                    d[i] = (R)(e);)
#define DYNC__TILE_CASE2(prim, T, R, e)                                                          \
    DYNC__TILE_CASE(DYNC__TILE_LOOP, (d += dd, x += dx, y += dy), DYNC__P_##prim, R, T a = x[i], \
                    b = y[i];                                                                    \
                    d[i] = (R)(e);)
#define DYNC__TILE_SLOW2(prim, T, R, e)                                                   \
    DYNC__TILE_CASE(DYNC__TILE_SLOW_LOOP, (d += dd, x += dx, y += dy), DYNC__P_##prim, R, \
                    T a = x[i], b = y[i];                                                 \
                    d[i] = (R)(e);)
#define DYNC__TILE_UNARY(V, A, t, T, ...)          \
    DYNC__TILE_HEAD(A, dync__tile_##V##_unary_##t) \
    {                                              \
        const T *x = a_;                           \
        (void)b_, (void)c_, (void)scalars;         \
        switch (op) {                              \
            __VA_ARGS__ default : break;           \
        }                                          \
    }
#define DYNC__TILE_BINARY(V, A, t, T, ...)                                 \
    DYNC__TILE_HEAD(A, dync__tile_##V##_binary_##t)                        \
    {                                                                      \
        const T *x = a_, *y = b_;                                          \
        const dync__size dx = DYNC__TILE_STEP(0), dy = DYNC__TILE_STEP(1), \
                         dd = DYNC__TILE_STEP(3);                          \
        (void)c_;                                                          \
        switch (op) {                                                      \
            __VA_ARGS__ default : break;                                   \
        }                                                                  \
    }
#define DYNC__TILE_CASE3(value, X, T, e)                                                    \
    case value: {                                                                           \
        T *d = d_;                                                                          \
        const X *x = a_;                                                                    \
        const T *y = b_, *z = c_;                                                           \
        DYNC__TILE_FOR(DYNC__TILE_LOOP, (d += DYNC__TILE_LANES, x += dx, y += dy, z += dz), \
                       X a = x[i];                                                          \
                       T b = y[i], c = z[i]; d[i] = (e);)                                   \
    }
#define DYNC__TILE_SELECT(t, T) DYNC__TILE_CASE3(DYNC__TILE_##t, uint8_t, T, a ? b : c)
#if defined(DYNC_SMALL) /* one element at a time: tile_each.c */
#define DYNC__TILE_THREE_OTHERS(FMA)
#else
#define DYNC__TILE_THREE_OTHERS(FMA)                                       \
    DYNC__TILE_F64(DYNC__TILE_CASE3(DYNC__TILE_DFMA, double, double, FMA)) \
    DYNC__TILE_SELECT(d, uint64_t)                                         \
    DYNC__TILE_SELECT(b, uint8_t)
#endif
#define DYNC__TILE_THREE(V, A, FMAF, FMA)                                  \
    DYNC__TILE_HEAD(A, dync__tile_##V##_three)                             \
    {                                                                      \
        const dync__size dx = DYNC__TILE_STEP(0), dy = DYNC__TILE_STEP(1), \
                         dz = DYNC__TILE_STEP(2);                          \
        switch (op) {                                                      \
            DYNC__TILE_CASE3(DYNC__TILE_FMA, float, float, FMAF)           \
            DYNC__TILE_SELECT(f, uint32_t)                                 \
            DYNC__TILE_THREE_OTHERS(FMA)                                   \
        default: break;                                                    \
        }                                                                  \
    }
#define DYNC__TILE_CASE_CAST(f, F, t, T, e)                                          \
    case DYNC__TILE_##f *DYNC__TILE_TYPES + DYNC__TILE_##t: {                        \
        T *d = d_;                                                                   \
        const F *x = a_;                                                             \
        DYNC__TILE_FOR(DYNC__TILE_LOOP, DYNC__TILE_BOTH, F a = x[i]; d[i] = (T)(e);) \
    }
#define DYNC__TILE_CAST(V, A)                                       \
    DYNC__TILE_HEAD(A, dync__tile_##V##_cast)                       \
    {                                                               \
        (void)b_, (void)c_, (void)scalars;                          \
        switch (op) {                                               \
            DYNC__TILE_CASTS(DYNC__TILE_CASE_CAST) default : break; \
        }                                                           \
    }
/* Between storage and compute types; the last argument computes y0 from x0. */
#define DYNC__TILE_CASE_CONVERT(value, F, T, ...)                           \
    case value: {                                                           \
        T *d = d_;                                                          \
        const F *x = a_;                                                    \
        DYNC__TILE_FOR(DYNC__TILE_LOOP, DYNC__TILE_BOTH, F x0 = x[i]; T y0; \
                       __VA_ARGS__ d[i] = y0;)                              \
    }
#define DYNC__TILE_FLOAT_BITS \
    uint32_t u, v;            \
    memcpy(&u, &x0, 4);
/* clang-format off */
#define DYNC__TILE_CONVERTS(X)                                                                     \
    X(DYNC__TILE_WIDEN + DYNC_F16, uint16_t, float,                                                \
      uint32_t u = x0, v; DYNC__TILE_F16_TO_FLOAT(u, v) memcpy(&y0, &v, 4);)                       \
    X(DYNC__TILE_WIDEN + DYNC_BF16, uint16_t, float,                                               \
      uint32_t v = (uint32_t)x0 << 16; memcpy(&y0, &v, 4);)                                        \
    X(DYNC__TILE_WIDEN + DYNC_I16, int16_t, int32_t, y0 = x0;)                                     \
    X(DYNC__TILE_WIDEN + DYNC_I8, int8_t, int32_t, y0 = x0;)                                       \
    X(DYNC__TILE_WIDEN + DYNC_U8, uint8_t, int32_t, y0 = x0;)                                      \
    X(DYNC__TILE_WIDEN + DYNC_BOOL, uint8_t, uint8_t, y0 = x0 != 0;)                               \
    X(DYNC__TILE_NARROW + DYNC_F16, float, uint16_t,                                               \
      DYNC__TILE_FLOAT_BITS DYNC__TILE_FLOAT_TO_F16(u, v) y0 = (uint16_t)v;)                       \
    X(DYNC__TILE_NARROW + DYNC_BF16, float, uint16_t,                                              \
      DYNC__TILE_FLOAT_BITS DYNC__TILE_FLOAT_TO_BF16(u, v) y0 = (uint16_t)v;)                      \
    X(DYNC__TILE_NARROW + DYNC_I16, int32_t, uint16_t, y0 = (uint16_t)(uint32_t)x0;)               \
    X(DYNC__TILE_NARROW + DYNC_I8, int32_t, uint8_t, y0 = (uint8_t)(uint32_t)x0;)                  \
    X(DYNC__TILE_WRAP + DYNC_I16, int32_t, int32_t, y0 = (int16_t)(uint16_t)(uint32_t)x0;)         \
    X(DYNC__TILE_WRAP + DYNC_I8, int32_t, int32_t, y0 = (int8_t)(uint8_t)(uint32_t)x0;)            \
    X(DYNC__TILE_WRAP + DYNC_U8, int32_t, int32_t, y0 = x0 & 255;)                                 \
    X(DYNC__TILE_WRAP + DYNC_BF16, float, float,                                                   \
      DYNC__TILE_FLOAT_BITS DYNC__TILE_FLOAT_TO_BF16(u, v) v <<= 16; memcpy(&y0, &v, 4);)          \
    X(DYNC__TILE_WRAP + DYNC_F16, float, float,                                                    \
      DYNC__TILE_FLOAT_BITS { DYNC__TILE_FLOAT_TO_F16(u, v) }                                      \
      uint32_t w; { DYNC__TILE_F16_TO_FLOAT(v, w) } memcpy(&y0, &w, 4);)
/* clang-format on */
#define DYNC__TILE_CONVERT(V, A)                                          \
    DYNC__TILE_HEAD(A, dync__tile_##V##_convert)                          \
    {                                                                     \
        (void)b_, (void)c_, (void)scalars;                                \
        switch (op) {                                                     \
            DYNC__TILE_CONVERTS(DYNC__TILE_CASE_CONVERT) default : break; \
        }                                                                 \
    }
#endif
