/* codegen/gemm_run.c: runs the forms of gemm_code.h: machine code of gemm_code.c where there is
 * any, else the same in C. After: kernel/.
 *
 * C tiles are 4 x 8 (f64: 4 x 4) in GNU vectors, which compilers keep in registers; what is left
 * over goes element by element. */
#include "../dync.in.h"
#include "gemm_code.h"
#include "../tensor/tensor.h"
DYNC__BESIDE_JIT

static const int32_t dync__gt_words[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                           -1, -1, -1, -1, -1, -1, -1, -1};

/* ---- what follows ---------------------------------------------------------------------------- */

/* Tiles with the most accumulators leave the fewest registers: those of two vectors, or of one. */
static bool dync__gt_has_room(int type, int flags)
{
    const dync__target *t = dync__target_now();
    int lanes = dync__gt_lanes(type, 0), rows[3] = {0};
    for (int v = 1; v <= 2; v++) rows[v] = dync__gt_most_rows(type, 0, v * lanes);
    bool ok = dync__gt_code(t, DYNC__GT_TILE, type, flags | DYNC__GT_TAIL, rows[2], 2);
    if (rows[1] > 2 * rows[2])
        ok = ok && dync__gt_code(t, DYNC__GT_TILE, type, flags | DYNC__GT_TAIL, rows[1], 1);
    return ok;
}

DYNC__FN int dync__gt_after(int type, const dync__after *list)
{
    int flags = dync__gt_can(type) ? dync__gt_list_flags(list) : 0;
    return flags && dync__gt_has_room(type, flags) ? flags : 0;
}

/* Operands that have an element for each column go on by `bytes`. */
static void dync__gt_along(int flags, dync__gt_args *x, int64_t bytes)
{
    dync__after list = dync__gt_after_list(flags, DYNC__GT_F32);
    for (int i = 1; i < list.n; i++) {
        const dync__after_op *op = &list.op[i];
        const void **at = op->source == 0 ? &x->d : &x->more[op->source - 1];
        if (op->prim == DYNC__P_load && !op->same) *at = (const char *)*at + bytes;
    }
}

/* Value i of a list for one element; value: those before it; source: what a load reads, else
 * NULL. */
static dync__scalar dync__gt_value(const dync__after *list, int i, const dync__scalar *value,
                                   const char *source)
{
    const dync__after_op *op = &list->op[i];
    dync__inst in = dync__inst_make(op->prim, op->type, -1, -1, -1);
    dync__scalar none = {0}, of[3];
    memcpy(&in.imm, &op->imm, sizeof in.imm);
    if (op->prim == DYNC__P_const_) return dync__const_scalar(&in);
    if (source && op->type == DYNC_F32)
        return dync__eval_f32((float)dync__load_f64(source, op->type));
    if (source) return dync__eval_f64(dync__load_f64(source, op->type));
    for (int a = 0; a < 3; a++) of[a] = op->arg[a] < 0 ? none : value[op->arg[a]];
    return dync__prim_eval(op->prim, op->type, list->op[op->arg[0]].type, of[0], of[1], of[2],
                           op->imm.i);
}

/* Does the list begin by adding d? Where d is c itself, it must be added before c is written. */
static bool dync__gt_adds_first(const dync__after *list)
{
    return list->n >= 3 && list->op[1].prim == DYNC__P_load && list->op[1].source == 0;
}

/* What of the list comes after value `done`, which c holds. */
static void dync__gt_follow_from(const dync__after *l, int done, int type, int64_t rows,
                                 int64_t columns, const dync__gt_args *x)
{
    dync__after list = *l;
    int64_t bytes = dync__gt_bytes(type);
    dync__scalar value[DYNC__AFTER_OPS];
    for (int64_t e = 0; e < rows * columns; e++) {
        int64_t i = e / columns, j = e % columns;
        char *c = (char *)x->c + i * x->c_step + j * bytes;
        for (int n = done; n < list.n; n++) {
            const dync__after_op *op = &list.op[n];
            const char *from = n == done ? c : NULL;
            if (n > done && op->prim == DYNC__P_load) {
                int s = op->source - 1;
                from = (const char *)(s < 0 ? x->d : x->more[s]) +
                       i * (s < 0 ? x->d_step : x->more_step[s]) + (op->same ? 0 : j * bytes);
            }
            value[n] = dync__gt_value(&list, n, value, from);
        }
        dync__scalar last = value[list.n - 1];
        int of = list.op[list.n - 1].type;
        dync__store_f64(c, of, of == DYNC_F32 ? (double)last.f : last.d);
    }
}

DYNC__FN void dync__gt_follow(int flags, int type, int64_t rows, int64_t columns,
                              const dync__gt_args *x)
{
    dync__after list = dync__gt_after_list(flags, type);
    dync__gt_follow_from(&list, 0, type, rows, columns, x);
}

/* ---- in C ------------------------------------------------------------------------------------ */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif
/* Not where scalars have excess precision (x87), which does not mix with vectors. */
#if defined(__GNUC__) && (FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16)
typedef float dync__gt_f4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef double dync__gt_d2 __attribute__((vector_size(16), aligned(8), may_alias));
#define DYNC__GT_ZERO {0}
#else
typedef float dync__gt_f4; /* no vector types: two columns at a time */
typedef double dync__gt_d2;
#define DYNC__GT_ZERO 0
#endif

#define DYNC__GT_ROWS1(X) X(0)
#define DYNC__GT_ROWS4(X) X(0) X(1) X(2) X(3)
#define DYNC__GT_FOUR(T, VT, name) DYNC__GT_BLOCK(T, VT, dync__gt_four_##name, DYNC__GT_ROWS4)
#define DYNC__GT_PICK(n, name) ((n) == 4 ? dync__gt_four_##name : dync__gt_one_##name)
enum { DYNC__GT_AT_ONCE = 4 };
#define DYNC__GT_DECLARE(i) V c##i##0 = DYNC__GT_ZERO, c##i##1 = DYNC__GT_ZERO;
#define DYNC__GT_STEP(i) c##i##0 += b0 * a[(i) * row], c##i##1 += b1 * a[(i) * row];
#define DYNC__GT_ADD_D(i) \
    c##i##0 += *(const V *)(d + (i) * d_row), c##i##1 += *(const V *)(d + (i) * d_row + W);
#define DYNC__GT_STORE(i) *(V *)(c + (i) * c_row) = c##i##0, *(V *)(c + (i) * c_row + W) = c##i##1;
#define DYNC__GT_BLOCK(T, VT, fn, ROWS)                                                        \
    static void fn(int64_t k, const T *a, int64_t row, int64_t col, const T *b, int64_t b_row, \
                   const T *d, int64_t d_row, T *c, int64_t c_row)                             \
    {                                                                                          \
        DYNC__GT_CONTRACT                                                                      \
        typedef VT V;                                                                          \
        enum { W = sizeof(V) / sizeof(T) };                                                    \
        (void)row, (void)c_row, (void)d_row;                                                   \
        ROWS(DYNC__GT_DECLARE)                                                                 \
        for (; k > 0; k--, a += col, b += b_row) {                                             \
            V b0 = *(const V *)b, b1 = *(const V *)(b + W);                                    \
            ROWS(DYNC__GT_STEP)                                                                \
        }                                                                                      \
        if (d) {                                                                               \
            ROWS(DYNC__GT_ADD_D)                                                               \
        }                                                                                      \
        ROWS(DYNC__GT_STORE)                                                                   \
    }
/* A tile by blocks of 4 rows or one and two vectors; steps in elements. */
#define DYNC__GT_PLAIN(T, VT, name)                                                               \
    DYNC__GT_FOUR(T, VT, name)                                                                    \
    DYNC__GT_BLOCK(T, VT, dync__gt_one_##name, DYNC__GT_ROWS1)                                    \
    static void dync__gt_tile_##name(int rows, int columns, int64_t k, const T *a, int64_t row,   \
                                     int64_t col, const T *b, int64_t b_row, const T *d,          \
                                     int64_t d_row, T *c, int64_t c_row)                          \
    {                                                                                             \
        enum { W2 = 2 * sizeof(VT) / sizeof(T) };                                                 \
        for (int i = 0, n; i < rows; i += n) {                                                    \
            int j = 0;                                                                            \
            n = rows - i >= DYNC__GT_AT_ONCE ? DYNC__GT_AT_ONCE : 1;                              \
            for (; j + W2 <= columns; j += W2)                                                    \
                DYNC__GT_PICK(n, name)(k, a + i * row, row, col, b + j, b_row,                    \
                                       d ? d + i * d_row + j : NULL, d_row, c + i * c_row + j,    \
                                       c_row);                                                    \
            for (int r = i; r < i + n; r++)                                                       \
                for (int e = j; e < columns; e++) {                                               \
                    T sum = 0;                                                                    \
                    for (int64_t p = 0; p < k; p++)                                               \
                        sum += a[r * row + p * col] * b[p * b_row + e];                           \
                    c[r * c_row + e] = d ? sum + d[r * d_row + e] : sum;                          \
                }                                                                                 \
        }                                                                                         \
    }                                                                                             \
    static void dync__gt_dots_##name(int rows, int columns, int64_t k, const T *a, int64_t a_row, \
                                     const T *b, int64_t b_row, T *c, int64_t c_row,              \
                                     int64_t c_col, bool add)                                     \
    {                                                                                             \
        DYNC__GT_CONTRACT                                                                         \
        typedef VT V;                                                                             \
        enum { W = sizeof(V) / sizeof(T) };                                                       \
        for (int i = 0; i < rows; i++, a += a_row)                                                \
            for (int j = 0; j < columns; j++) {                                                   \
                V s = DYNC__GT_ZERO;                                                              \
                T lane[W], sum = 0;                                                               \
                int64_t p = 0;                                                                    \
                for (; p + W <= k; p += W)                                                        \
                    s += *(const V *)(a + p) * *(const V *)(b + j * b_row + p);                   \
                memcpy(lane, &s, sizeof lane);                                                    \
                for (int w = 0; w < (int)W; w++) sum += lane[w];                                  \
                for (; p < k; p++) sum += a[p] * b[j * b_row + p];                                \
                T *to = c + i * c_row + j * c_col;                                                \
                *to = add ? *to + sum : sum;                                                      \
            }                                                                                     \
    }
DYNC__GT_PLAIN(float, dync__gt_f4, f32)
#if !defined(DYNC_NO_F64)
DYNC__GT_PLAIN(double, dync__gt_d2, f64)
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

DYNC__RARE DYNC__FN double dync__gt_product(int type, const void *a, const void *b)
{
    double sum = 0;
    if (type <= DYNC__GT_F64) /* the others are of machine code alone */
        return dync__load_f64(a, type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32) *
               dync__load_f64(b, type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32);
    if (type >= DYNC__GT_AS_F16)
        return dync__load_f64(a, DYNC_F32) *
               dync__load_f64(b, type == DYNC__GT_AS_F16 ? DYNC_F16 : DYNC_BF16);
    for (int i = 0; i < 4; i += type == DYNC__GT_U8 ? 1 : 2)
        sum += type == DYNC__GT_U8
                   ? (double)((const uint8_t *)a)[i] * (double)((const int8_t *)b)[i]
                   : dync__load_f64((const char *)a + i, DYNC_BF16) *
                         dync__load_f64((const char *)b + i, DYNC_BF16);
    return sum;
}

/* Fours of bytes: c[j] += a . b[j] in words that wrap, b's columns b_col bytes and c's c_col bytes
 * apart. */
static void dync__gt_fours(const char *a, const char *b, int64_t b_col, char *c, int64_t c_col,
                           int columns)
{
    int byte[4];
    for (int i = 0; i < 4; i++) byte[i] = (uint8_t)a[i];
    for (int j = 0; j < columns; j++, b += b_col, c += c_col) {
        const int8_t *w = (const int8_t *)b;
        uint32_t sum;
        memcpy(&sum, c, sizeof sum);
        sum += (uint32_t)(byte[0] * w[0] + byte[1] * w[1] + byte[2] * w[2] + byte[3] * w[3]);
        memcpy(c, &sum, sizeof sum);
    }
}

/* TILE and DOTS of all types but f32 and f64 : sums in double, rounded
 * once; fours of bytes in words of 32 bits that wrap. */
DYNC__RARE static void dync__gt_narrow(int kind, int type, int flags, int rows, int columns,
                                       const dync__gt_args *x)
{
    bool fours = type == DYNC__GT_U8, dots = kind == DYNC__GT_DOTS,
         lines = dots || flags & DYNC__GT_A_ROWS;
    int64_t bytes = dync__gt_bytes(type), wide = dync__gt_b_bytes(type),
            a_row = lines ? x->a_step : bytes, a_k = lines ? bytes : x->a_step,
            b_col = dots ? x->b_step : wide, b_k = dots ? wide : x->b_step,
            c_col = dots ? x->d_step : bytes;
    int dtype = fours ? DYNC_I32 : bytes == 8 ? (int)DYNC__REAL : (int)DYNC_F32;
    for (int i = 0; i < rows; i++) {
        const char *a = (const char *)x->a + i * a_row;
        char *c = (char *)x->c + i * x->c_step;
        for (int j = 0; j < columns; j++) {
            const char *b = (const char *)x->b + j * b_col;
            char *to = c + j * c_col;
            double sum =
                !dync__gt_adds(flags)
                    ? 0
                    : dync__load_f64(dots ? to : (const char *)x->d + i * x->d_step + bytes * j,
                                     dtype);
            for (int64_t p = 0; !fours && p < x->k; p++)
                sum += dync__gt_product(type, a + p * a_k, b + p * b_k);
            dync__store_f64(to, dtype, sum);
        }
        for (int64_t p = 0; fours && p < x->k; p++)
            dync__gt_fours(a + p * a_k, (const char *)x->b + p * b_k, b_col, c, c_col, columns);
    }
}

/* COPY and PAIR of gemm_code.h in C. */
static void dync__gt_pack(int kind, int type, int columns, const dync__gt_args *x)
{
    int64_t bytes = dync__gt_bytes(type),
            n = kind != DYNC__GT_PAIR   ? 1
                : type == DYNC__GT_BF16 ? 2
                                        : 4,
            piece = bytes / n;
    (void)kind;
    for (int64_t p = 0; n == 4 && p < x->k; p++) {
        const char *line = (const char *)x->a + 4 * p * x->a_step;
        char *to = (char *)x->c + p * x->c_step;
        for (int l = 0; l < columns; l++, line++)
            for (int i = 0; i < 4; i++) *to++ = line[i * x->a_step];
    }
    for (int64_t p = 0; n != 4 && p < x->k * n; p++) {
        char *to = (char *)x->c + p / n * x->c_step + p % n * piece;
        const char *from = (const char *)x->a + p * x->a_step;
        for (int l = 0; l < columns; l++) memcpy(to + l * bytes, from + l * piece, (size_t)piece);
    }
}

static void dync__gt_plain_block(int kind, int type, int flags, int rows, int columns,
                                 const dync__gt_args *x)
{
    int64_t w = dync__gt_bytes(type), row = flags & DYNC__GT_A_ROWS ? x->a_step / w : 1,
            col = flags & DYNC__GT_A_ROWS ? 1 : x->a_step / w;
    dync__after list = dync__gt_after_list(flags, type);
    bool listed = flags >= DYNC__GT_LISTED, first = listed && dync__gt_adds_first(&list);
    const void *d = dync__gt_adds(flags) || first ? x->d : NULL;
    if (kind >= DYNC__GT_COPY)
        dync__gt_pack(kind, type, columns, x);
    else if (type > DYNC__GT_F64)
        dync__gt_narrow(kind, type, flags, rows, columns, x);
    else if (kind == DYNC__GT_DOTS && type == DYNC__GT_F32)
        dync__gt_dots_f32(rows, columns, x->k, x->a, x->a_step / w, x->b, x->b_step / w, x->c,
                          x->c_step / w, x->d_step / w, dync__gt_adds(flags));
#if !defined(DYNC_NO_F64)
    else if (kind == DYNC__GT_DOTS && type == DYNC__GT_F64)
        dync__gt_dots_f64(rows, columns, x->k, x->a, x->a_step / w, x->b, x->b_step / w, x->c,
                          x->c_step / w, x->d_step / w, dync__gt_adds(flags));
    else if (type == DYNC__GT_F64)
        dync__gt_tile_f64(rows, columns, x->k, x->a, row, col, x->b, x->b_step / w, d,
                          x->d_step / w, x->c, x->c_step / w);
#endif
    else
        dync__gt_tile_f32(rows, columns, x->k, x->a, row, col, x->b, x->b_step / w, d,
                          x->d_step / w, x->c, x->c_step / w);
    for (int i = 0, dtype = type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32;
         flags >> DYNC__GT_AFTER == DYNC__GT_BIAS >> DYNC__GT_AFTER && i < rows; i++)
        for (int j = 0; j < columns; j++) {
            char *c = (char *)x->c + i * x->c_step + j * w;
            dync__store_f64(c, dtype,
                            dync__load_f64(c, dtype) +
                                dync__load_f64((const char *)x->d + i * x->d_step, dtype));
        }
    if (listed) dync__gt_follow_from(&list, first ? 2 : 0, type, rows, columns, x);
}

/* MANY: to the next product. */
static void dync__gt_to_next(dync__gt_args *x)
{
    x->a = (const char *)x->a + x->a_next;
    x->b = (const char *)x->b + x->b_next;
    x->c = (char *)x->c + x->c_next;
    for (int i = 0; i < DYNC__AFTER_MORE && x->more[i]; i++)
        x->more[i] = (const char *)x->more[i] + x->more_next[i];
}

/* x->blocks blocks of whole columns, as the machine code counts them; x is used up. */
static void dync__gt_plain(int kind, int type, int flags, int rows, int columns, dync__gt_args *x)
{
    for (;; x->blocks--) {
        dync__gt_plain_block(kind, type, flags, rows, columns, x);
        if (kind >= DYNC__GT_COPY || x->blocks == 1) return;
        if (flags & DYNC__GT_MANY) {
            dync__gt_to_next(x);
            continue;
        }
        int64_t width = kind == DYNC__GT_DOTS ? x->d_step * columns
                                              : columns * dync__gt_bytes(type);
        x->b = (const char *)x->b + (kind == DYNC__GT_DOTS ? x->b_step * columns : x->b_next);
        x->c = (char *)x->c + width;
        if (kind == DYNC__GT_TILE) dync__gt_along(flags, x, width);
    }
}

DYNC__FN dync__gt_fn dync__gt_find(int kind, int type, int flags, int rows, int columns,
                                   dync__gt_args *x)
{
    int lanes = dync__gt_lanes(type, flags);
    int tail = (int)(kind == DYNC__GT_DOTS ? x->k % lanes : columns % lanes),
        vectors = kind == DYNC__GT_DOTS ? columns : (columns + lanes - 1) / lanes;
    const dync__target *t = dync__target_now();
    if (!t) return NULL;
    /* no loads of a few bytes */
    if (tail && kind == DYNC__GT_PAIR && !(t->n_masks && t->part(t, 1))) return NULL;
    if (tail) {
        bool counts = !t->part(t, (int)dync__gt_bytes(type));
        if (counts && t->vector_bytes > 16) return NULL;
        x->mask = t->n_masks && !counts ? ((int64_t)1 << tail) - 1 : tail;
        x->lanes = dync__gt_words + 16 - tail * (type == DYNC__GT_F64 ? 2 : 1);
    }
    return dync__gt_code(t, kind, type, flags | (tail ? DYNC__GT_TAIL : 0), rows, vectors);
}

DYNC__FN void dync__gt_do(int kind, int type, int flags, int rows, int columns, dync__gt_args *x)
{
    dync__gt_fn fn = dync__gt_find(kind, type, flags, rows, columns, x);
    if (fn)
        fn(x);
    else
        dync__gt_plain(kind, type, flags, rows, columns, x);
}
