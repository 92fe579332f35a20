/* codegen/interp_tile.c: the arithmetic of the tile interpreter: one small loop per primitive and
 * compute type. Before: interp_emit.c looks operations up; after: interp_run.c runs them.
 *
 * Portable C that the compiler vectorises: DYNC__TILE_SET is the whole of it, and stands once as it
 * is and once more for AVX2 (DYNC__TILE_AVX2). Loops are of DYNC__TILE_LANES elements, a length
 * that the compiler knows: no remainder, no check whether operands overlap, so that each is a few
 * vector instructions. dync__tile_run takes what is less than a block through buffers. All
 * operations of a type share a function, which compiles in half the time of one each. They may run
 * in place (d equal to an operand), which DYNC__TILE_LOOP tells the compiler is harmless.
 * Results are the same bits in both forms but for fma, which rounds once where the machine has it.
 * AVX-512 runs the AVX2 form: a third one would take 0.6 of its time (gelu; f16 chains 0.5), beside
 * machine code for nothing.
 * Letters: f float, d double, i int32_t, l int64_t, b BOOL in a byte (0 or 1). eval.c defines the
 * results. */
#include "../dync.in.h"
#include "codegen.h"
#include "tile_forms.h"
DYNC__HOT

#if defined(__clang__) /* DYNC__TILE_PICK */
static inline float dync__tile_pick_f(int c, float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = c ? x : y;
    memcpy(&a, &x, sizeof a);
    return a;
}
DYNC__UNUSED static inline double dync__tile_pick_d(int c, double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = c ? x : y;
    memcpy(&a, &x, sizeof a);
    return a;
}
#endif

DYNC__STRICT_FP_BEGIN

/* ---- the set, twice -------------------------------------------------------------------------- */

typedef struct dync__tile_set {
    dync__tile_fn unary[DYNC__TILE_TYPES], binary[DYNC__TILE_TYPES], three, cast, convert;
} dync__tile_set;

#define DYNC__TILE_INTS(V, A, t, T, U, bits, OP)                                                 \
    DYNC__TILE_BINARY(V, A, t, T,                                                                \
                      DYNC__TILE_INT_BINARY(DYNC__TILE_CASE2, DYNC__TILE_SLOW2, T, U, bits, OP)) \
    DYNC__TILE_UNARY(V, A, t, T, DYNC__TILE_INT_UNARY(DYNC__TILE_CASE1, T, U))
#define DYNC__TILE_FLOATS(V, A, t, T, F)                                           \
    DYNC__TILE_BINARY(V, A, t, T, DYNC__TILE_FLOAT_BINARY(DYNC__TILE_CASE2, t, T)) \
    DYNC__TILE_UNARY(V, A, t, T, DYNC__TILE_FLOAT_UNARY(DYNC__TILE_CASE1, DYNC__TILE_SLOW1, T, F))
#if defined(DYNC_SMALL)
#define DYNC__TILE_SET(V, A, FMAF, FMA)                      \
    DYNC__TILE_FLOATS(V, A, f, float, f)                     \
    DYNC__TILE_THREE(V, A, FMAF, FMA)                        \
    static const dync__tile_set dync__tile_##V = {           \
        {dync__tile_##V##_unary_f, NULL, NULL, NULL, NULL},  \
        {dync__tile_##V##_binary_f, NULL, NULL, NULL, NULL}, \
        dync__tile_##V##_three,                              \
        NULL,                                                \
        NULL};
#else
#define DYNC__TILE_SET(V, A, FMAF, FMA)                                                    \
    DYNC__TILE_FLOATS(V, A, f, float, f)                                                   \
    DYNC__TILE_F64(DYNC__TILE_FLOATS(V, A, d, double, ))                                   \
    DYNC__TILE_INTS(V, A, i, int32_t, uint32_t, 32, DYNC__TILE_I)                          \
    DYNC__TILE_INTS(V, A, l, int64_t, uint64_t, 64, DYNC__TILE_L)                          \
    DYNC__TILE_BINARY(V, A, b, uint8_t, DYNC__TILE_BOOL_BINARY(DYNC__TILE_CASE2))          \
    DYNC__TILE_UNARY(V, A, b, uint8_t, DYNC__TILE_CASE1(not_, uint8_t, uint8_t, a ^ 1))    \
    DYNC__TILE_THREE(V, A, FMAF, FMA)                                                      \
    DYNC__TILE_CAST(V, A)                                                                  \
    DYNC__TILE_CONVERT(V, A)                                                               \
    static const dync__tile_set dync__tile_##V = {                                         \
        {dync__tile_##V##_unary_f, DYNC__TILE_FN_F64(dync__tile_##V##_unary_d),            \
         dync__tile_##V##_unary_i, dync__tile_##V##_unary_l, dync__tile_##V##_unary_b},    \
        {dync__tile_##V##_binary_f, DYNC__TILE_FN_F64(dync__tile_##V##_binary_d),          \
         dync__tile_##V##_binary_i, dync__tile_##V##_binary_l, dync__tile_##V##_binary_b}, \
        dync__tile_##V##_three,                                                            \
        dync__tile_##V##_cast,                                                             \
        dync__tile_##V##_convert};
#endif

#if !defined(__x86_64__) && (defined(__FP_FAST_FMAF) || defined(__aarch64__))
DYNC__TILE_SET(base, DYNC__TILE_CODE, fmaf(a, b, c), fma(a, b, c))
#else
DYNC__TILE_SET(base, DYNC__TILE_CODE, a *b + c, a *b + c)
#endif
#if defined(DYNC__TILE_AVX2)
DYNC__TILE_SET(avx2, DYNC__TILE_AVX2, __builtin_fmaf(a, b, c), __builtin_fma(a, b, c))
#endif

/* ---- in one form ----------------------------------------------------------------------------- */

/* X(kind, letter, type, expression); FLOATS: their first steps are vectors */
/* clang-format off */
#define DYNC__TILE_FOLDS_F32(X, FLOATS)                                                            \
    FLOATS(SUM, f, float, a + b)              FLOATS(MAX, f, float, DYNC__TILE_MAX(f))             \
    FLOATS(MIN, f, float, DYNC__TILE_MIN(f))  X(PROD, f, float, a * b)
#define DYNC__TILE_FOLDS(X, FLOATS)                                                                \
    DYNC__TILE_FOLDS_F32(X, FLOATS)                                                                \
    X(SUM, i, int32_t, DYNC__TILE_I(+))       X(SUM, l, int64_t, DYNC__TILE_L(+))                  \
    X(PROD, i, int32_t, DYNC__TILE_I(*))      X(PROD, l, int64_t, DYNC__TILE_L(*))                 \
    X(MAX, i, int32_t, a > b ? a : b)         X(MAX, l, int64_t, a > b ? a : b)                    \
    X(MIN, i, int32_t, a < b ? a : b)         X(MIN, l, int64_t, a < b ? a : b)                    \
    X(ANY, b, uint8_t, a | b)                 X(ALL, b, uint8_t, a & b)                            \
    DYNC__TILE_F64(                                                                                \
    FLOATS(SUM, d, double, a + b)             X(PROD, d, double, a * b)                            \
    FLOATS(MAX, d, double, DYNC__TILE_MAX(d)) FLOATS(MIN, d, double, DYNC__TILE_MIN(d)))
/* clang-format on */
#define DYNC__TILE_FOLD(T, e)                                            \
    for (; half > 0; half /= 2) {                                        \
        for (T *x = lanes, *y = x + half, *end = y; x < end; x++, y++) { \
            T a = *x, b = *y;                                            \
            *x = (T)(e);                                                 \
        }                                                                \
    }
#define DYNC__TILE_FOLD_VECTOR(T, half, e)   \
    for (int k = 0; k < (half); k++) {       \
        T a = lane[k], b = lane[k + (half)]; \
        lane[k] = (T)(e);                    \
    }
#define DYNC__TILE_CASE_FOLD(kind, t, T, e) \
    case DYNC__R_##kind *DYNC__TILE_TYPES + DYNC__TILE_##t: DYNC__TILE_FOLD(T, e) return;
#define DYNC__TILE_CASE_FOLD_FLOATS(kind, t, T, e)            \
    case DYNC__R_##kind *DYNC__TILE_TYPES + DYNC__TILE_##t: { \
        T *lane = lanes;                                      \
        if (half == 16) {                                     \
            DYNC__TILE_FOLD_VECTOR(T, 16, e)                  \
            DYNC__TILE_FOLD_VECTOR(T, 8, e)                   \
            half = 4;                                         \
        }                                                     \
        DYNC__TILE_FOLD(T, e)                                 \
        return;                                               \
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

DYNC__TILE_CODE DYNC__FN void dync__tile_fold(int kind, int type, void *lanes, int half)
{
    switch (kind * DYNC__TILE_TYPES + dync__tile_letter(type)) {
#if defined(DYNC_SMALL)
        DYNC__TILE_FOLDS_F32(DYNC__TILE_CASE_FOLD, DYNC__TILE_CASE_FOLD)
    default: dync__tile_each_fold(dync__reduce_prim(kind), type, lanes, half);
#else
        DYNC__TILE_FOLDS(DYNC__TILE_CASE_FOLD, DYNC__TILE_CASE_FOLD_FLOATS)
    default: break;
#endif
    }
}

/* Philox4x32-10 on many lanes, as base/rng.c has it for one: a holds the numbers' indices, b
 * {seed, offset}. op: words of kind DYNC__DRAW_* (I32), 4 a uniform F64, 6 another one. */
DYNC__TILE_HEAD(DYNC__TILE_CODE, dync__tile_philox)
{
    const int64_t *x = a_;
    const uint64_t seed = *(const uint64_t *)b_, offset = ((const uint64_t *)b_)[1];
    uint32_t c[4][DYNC__TILE_LANES], own[DYNC__TILE_LANES], *word = d_;
    const uint32_t *low = c[op & 2], *high = c[(op & 2) + 1],
                   block = op >= 4 ? 0 : (uint32_t)dync__draw_block(op),
                   mask = op == DYNC__DRAW_UNIFORM ? 3 : 2, odd = op == DYNC__DRAW_SECOND;
    double *d = d_;
    (void)c_, (void)scalars;
    for (; n > 0; n--, x += DYNC__TILE_LANES) {
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int i = 0; i < DYNC__TILE_LANES; i++) {
            uint64_t at = offset + (uint64_t)x[i];
            own[i] = (uint32_t)at >> 3;
            if (block) at = (at >> 2 & ~(uint64_t)7) | (at & 7);
            c[0][i] = (uint32_t)at, c[1][i] = (uint32_t)(at >> 32), c[2][i] = block, c[3][i] = 0;
        }
        for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u)
            for (int i = 0; i < DYNC__TILE_LANES; i++) {
                uint64_t m0 = (uint64_t)c[0][i] * 0xd2511f53u, m1 = (uint64_t)c[2][i] * 0xcd9e8d57u;
                c[0][i] = (uint32_t)(m1 >> 32) ^ c[1][i] ^ k0, c[1][i] = (uint32_t)m1;
                c[2][i] = (uint32_t)(m0 >> 32) ^ c[3][i] ^ k1, c[3][i] = (uint32_t)m0;
            }
        for (int i = 0; i < DYNC__TILE_LANES && block; i++)
            *word++ = c[(own[i] & mask) | odd][i] - ((own[i] & odd) << 30);
        for (int i = 0; i < DYNC__TILE_LANES && !DYNC__F64_NONE && !block; i++)
            *d++ = (double)(int64_t)(((uint64_t)high[i] << 32 | low[i]) >> 11) *
                   (1.0 / 9007199254740992.0);
    }
}

DYNC__STRICT_FP_END

/* ---- looking up ------------------------------------------------------------------------------ */

static const dync__tile_set *dync__tile_sets(int isa)
{
#if defined(DYNC__TILE_AVX2)
    if (isa >= 1) return &dync__tile_avx2;
#endif
    (void)isa;
    return &dync__tile_base;
}

/* Is it done one element at a time? */
static bool dync__tile_is_each(int isa, bool is_f32)
{
    return isa < 0 || (DYNC__SMALLER(true, false) && !is_f32);
}

static dync__tile dync__tile_make(dync__tile_fn fn, int op, size_t d, size_t a, size_t b, size_t c)
{
    dync__tile t = {fn, (uint16_t)op, {(uint8_t)d, (uint8_t)a, (uint8_t)b, (uint8_t)c}};
    return t;
}

static size_t dync__tile_bytes(int dtype) { return (size_t)dync__dtype_info(dtype)->bytes; }

static dync__tile dync__tile_each_of(int prim, int from, int to, size_t d, int n)
{
    size_t x = dync__tile_bytes(from);
    return dync__tile_make(dync__tile_each, dync__tile_each_op(prim, from, to), d,
                           prim == DYNC__P_select ? 1 : x, n > 1 ? x : 0, n > 2 ? x : 0);
}

DYNC__FN dync__tile dync__tile_find(int isa, int prim, int type)
{
    static const uint8_t selects[] = {DYNC__TILE_f, DYNC__TILE_d, DYNC__TILE_f, DYNC__TILE_d,
                                      DYNC__TILE_b};
    const dync__tile_set *set = dync__tile_sets(isa);
    int letter = dync__tile_letter(type), as = prim < DYNC__N_PRIMS ? prim : (int)DYNC__P_max;
    const dync__prim_row *row = dync__prim_info(as);
    size_t x = dync__tile_bytes(type), d = row->result == 'B' ? 1 : x;
    bool three = prim == DYNC__P_fma || prim == DYNC__P_select;
    if (!three && !strchr(row->types, "fdilb"[letter])) return dync__tile_make(NULL, 0, 0, 0, 0, 0);
    if (dync__tile_is_each(isa, type == DYNC_F32 || (prim == DYNC__P_select && type == DYNC_I32)))
        return dync__tile_each_of(prim, type, d == 1 ? (int)DYNC_BOOL : type, d, row->n_args);
    if (prim == DYNC__P_fma)
        return dync__tile_make(set->three, DYNC__TILE_FMA + dync__is_f64(type), x, x, x, x);
    if (prim == DYNC__P_select) return dync__tile_make(set->three, selects[letter], x, 1, x, x);
    if (row->n_args == 1) return dync__tile_make(set->unary[letter], prim, d, x, 0, 0);
    return dync__tile_make(set->binary[letter], prim, d, x, x, 0);
}

DYNC__FN dync__tile dync__tile_cast(int isa, int from, int to)
{
    int op = dync__tile_letter(from) * DYNC__TILE_TYPES + dync__tile_letter(to);
    if (dync__tile_is_each(isa, false))
        return dync__tile_each_of(DYNC__P_cast, from, to, dync__tile_bytes(to), 1);
    return dync__tile_make(dync__tile_sets(isa)->cast, op, dync__tile_bytes(to),
                           dync__tile_bytes(from), 0, 0);
}

/* One of WIDEN, NARROW, WRAP of a storage dtype; none where the bits are the same. */
static dync__tile dync__tile_convert(int isa, int kind, int storage)
{
    bool is_float = storage == DYNC_F16 || storage == DYNC_BF16;
    bool is_int = storage == DYNC_I16 || storage == DYNC_I8 || storage == DYNC_U8;
    bool is_bool = storage == DYNC_BOOL && kind == DYNC__TILE_WIDEN;
    size_t stored = dync__tile_bytes(storage), computed = is_bool ? 1 : 4;
    if (!is_float && !is_int && !is_bool) return dync__tile_make(NULL, 0, 0, 0, 0, 0);
    if (dync__tile_is_each(isa, false)) {
        int compute = dync__dtype_info(storage)->compute, widens = kind == DYNC__TILE_WIDEN,
            prim = kind == DYNC__TILE_WRAP ? DYNC__P_wrap : DYNC__P_cast;
        return dync__tile_each_of(prim, widens ? storage : compute, widens ? compute : storage,
                                  kind == DYNC__TILE_NARROW ? stored : computed, 1);
    }
    if (storage == DYNC_U8 && kind == DYNC__TILE_NARROW) storage = DYNC_I8; /* the same bits */
    return dync__tile_make(dync__tile_sets(isa)->convert, kind + storage,
                           kind == DYNC__TILE_NARROW ? stored : computed,
                           kind == DYNC__TILE_WIDEN ? stored : computed, 0, 0);
}

DYNC__FN dync__tile dync__tile_widen(int isa, int storage)
{
    return dync__tile_convert(isa, DYNC__TILE_WIDEN, storage);
}

DYNC__FN dync__tile dync__tile_narrow(int isa, int storage)
{
    return dync__tile_convert(isa, DYNC__TILE_NARROW, storage);
}

DYNC__FN dync__tile dync__tile_wrap(int isa, int storage)
{
    return dync__tile_convert(isa, DYNC__TILE_WRAP, storage);
}

static dync__tile_fn DYNC__BY_NEED dync__tile_draw = DYNC__AT_FIRST(dync__tile_philox);
DYNC__FN void dync__interp_draws(void) { DYNC__PUT(dync__tile_draw, dync__tile_philox); }

DYNC__FN dync__tile dync__tile_random(int type, int kind)
{
    int op = type == DYNC_I32 ? kind : 4 + kind;
    return dync__tile_make(dync__tile_draw, op, dync__tile_bytes(type), 8, 0, 0);
}

/* ---- running --------------------------------------------------------------------------------- */

DYNC__TILE_CODE DYNC__FN void dync__tile_spread(const void *scalar, int bytes, uint64_t *to)
{
    uint64_t x;
    uint32_t four;
    uint16_t two;
    if (bytes == 8)
        memcpy(&x, scalar, sizeof x);
    else if (bytes == 4)
        memcpy(&four, scalar, sizeof four), x = four | (uint64_t)four << 32;
    else if (bytes == 2)
        memcpy(&two, scalar, sizeof two), x = two * UINT64_C(0x0001000100010001);
    else
        x = *(const uint8_t *)scalar * UINT64_C(0x0101010101010101);
    for (uint64_t *end = to + DYNC__TILE_LANES * bytes / 8; to < end; to += 4)
        for (int i = 0; i < 4; i++) to[i] = x;
}

/* What is less than a block goes through buffers. Lanes that no element has repeat the first one,
 * so that no operand is there that the caller did not give. */
static void dync__tile_rest(const dync__tile *t, char *d, const void *const *operand, dync__size n,
                            int scalars)
{
    _Alignas(64) uint64_t lanes[4][DYNC__TILE_LANES];
    const void *in[3];
    for (int i = 0; i < 3; i++) {
        int bytes = t->bytes[1 + i];
        in[i] = operand[i];
        if (bytes == 0 || scalars >> i & 1) continue;
        dync__tile_spread(operand[i], bytes, lanes[i]);
        memcpy(lanes[i], operand[i], (size_t)(n * bytes));
        in[i] = lanes[i];
    }
    t->fn(t->op, lanes[3], in[0], in[1], in[2], 1, scalars);
    memcpy(d, lanes[3], (size_t)n * t->bytes[0]);
}

DYNC__FN void dync__tile_run(const dync__tile *t, void *d, const void *a, const void *b,
                             const void *c, dync__size n, int scalars)
{
    dync__size whole = n & -DYNC__TILE_LANES;
    const void *rest[3] = {a, b, c};
    if (whole) t->fn(t->op, d, a, b, c, whole / DYNC__TILE_LANES, scalars);
    if (whole == n) return;
    for (int i = 0; i < 3; i++)
        if (rest[i] && !(scalars >> i & 1))
            rest[i] = (const char *)rest[i] + whole * t->bytes[1 + i];
    dync__tile_rest(t, (char *)d + whole * t->bytes[0], rest, n - whole, scalars);
}
