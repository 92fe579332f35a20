/* kernel/gemm.c: C[m,n] (+)= A[m,k] B[k,n] for f32 and f64, any strides. matmul.c and conv.c stand on it.
 *
 * Micro kernels keep a block of C in vector registers (GNU vector types: the compiler picks the instructions) and walk k once:
 *   main    packed A panel of MR rows x packed B panel of NR = 2 vectors; MR x NR fills the register file: 14x32, 6x16, 4x8
 *   rows    four rows or one, NR or half of it columns; A where it lies, B rows dense: small matrices and the last rows
 *   axpy    lines of B added to a line of C: very few rows and a wide B, which is read once and in order
 *   dots    both operands dense along k and few rows: inner products
 * Large products are blocked as by Goto and van de Geijn 2008 (KC x NC of B, MC x KC of A packed, transposes free in packing);
 * small ones pack only what is not dense. The path is chosen from the whole product and an element's sum does not depend on where its
 * block lies; threads take ranges of rows or columns, so the thread count does not change a bit of the result.
 * Invariant: columns that do not fill a vector are computed in a zero-padded copy of B and a scratch block of C. */
#include "../dync.in.h"
#include "operand.h"

enum { DYNC__GEMM_KC = 256, DYNC__GEMM_MC = 168, DYNC__GEMM_NC = 2048, DYNC__GEMM_MAX_BLOCK = 14 * 32 };
#if defined(DYNC_SMALL)
enum { DYNC__GEMM_STACK = 512 };                /* panels up to which no memory is asked for */
#else
enum { DYNC__GEMM_STACK = 8192 };
#endif
#define DYNC__GEMM_SMALL (96 * 96 * 96)         /* products of m n k up to which A is not packed */
#define DYNC__GEMM_PARALLEL (128 * 128 * 128)   /* from which threads are worth waking */

#if defined(__clang__)
#define DYNC__GEMM_CODE
#define DYNC__GEMM_CONTRACT _Pragma("clang fp contract(fast)")
#elif defined(__GNUC__)
#define DYNC__GEMM_CODE __attribute__((optimize("O1", "expensive-optimizations", "no-tree-ccp", "no-tree-dominator-opts", "no-ivopts", \
        "no-tree-pta", "no-tree-ch", "no-tree-fre", "no-tree-loop-im", "no-tree-sra", "no-fast-math", "fp-contract=fast")))
#define DYNC__GEMM_CONTRACT
#else
#define DYNC__GEMM_CODE
#define DYNC__GEMM_CONTRACT
#endif

typedef void (*dync__gemm_block)(int64_t k, const void *a, int64_t a_row, int64_t a_col, const void *b, int64_t b_row, void *c,
                                 int64_t c_row, bool accumulate);
typedef void (*dync__gemm_dots)(int64_t k, const void *a, const void *b, int64_t b_col, void *out);
typedef void (*dync__gemm_axpy)(int64_t n, int64_t k, const void *a, int64_t a_col, const void *b, int64_t b_row, void *c);
typedef struct dync__gemm_kernels {
    int mr, nr;
    dync__gemm_block main, rows[2][2];   /* [one or two vectors][one or four rows] */
    dync__gemm_axpy axpy;
    dync__gemm_dots dot4, dot1;
} dync__gemm_kernels;

/* ---- micro kernels ------------------------------------------------------------------------------------------------------- */

#define DYNC__GEMM_R1(X) X(0)
#define DYNC__GEMM_R3(X) X(0) X(1) X(2)
#define DYNC__GEMM_R4(X) X(0) X(1) X(2) X(3)
#define DYNC__GEMM_R6(X) DYNC__GEMM_R4(X) X(4) X(5)
#define DYNC__GEMM_R14(X) DYNC__GEMM_R6(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)

/* Not where scalars have excess precision (x87), which does not mix with vectors. */
#if defined(__GNUC__) && (FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16)
#define DYNC__GEMM_VECTORS 1
#if defined(__x86_64__)
#define DYNC__GEMM_X86 1
#endif
#define DYNC__GEMM_VECTOR(T, V, bytes) typedef T V __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
DYNC__GEMM_VECTOR(float, dync__gemm_f4, 16)
DYNC__GEMM_VECTOR(double, dync__gemm_d2, 16)
#if defined(DYNC__GEMM_X86)
DYNC__GEMM_VECTOR(float, dync__gemm_f8, 32)
DYNC__GEMM_VECTOR(double, dync__gemm_d4, 32)
DYNC__GEMM_VECTOR(float, dync__gemm_f16, 64)
DYNC__GEMM_VECTOR(double, dync__gemm_d8, 64)
#endif
#define DYNC__GEMM_ZERO {0}
#else
typedef float dync__gemm_f4;                    /* no vector types: two columns at a time */
typedef double dync__gemm_d2;
#define DYNC__GEMM_ZERO 0
#endif

#define DYNC__GEMM_DECLARE2(i) V c##i##0 = DYNC__GEMM_ZERO, c##i##1 = DYNC__GEMM_ZERO;
#define DYNC__GEMM_LOAD2 V b0 = *(const V *)b, b1 = *(const V *)(b + W);
#define DYNC__GEMM_STEP2(i) c##i##0 += b0 * a[(i) * A_ROW], c##i##1 += b1 * a[(i) * A_ROW];
#define DYNC__GEMM_ADD2(i) c##i##0 += *(const V *)(c + (i) * c_row), c##i##1 += *(const V *)(c + (i) * c_row + W);
#define DYNC__GEMM_STORE2(i) *(V *)(c + (i) * c_row) = c##i##0, *(V *)(c + (i) * c_row + W) = c##i##1;
#define DYNC__GEMM_DECLARE1(i) V c##i = DYNC__GEMM_ZERO;
#define DYNC__GEMM_LOAD1 V b0 = *(const V *)b;
#define DYNC__GEMM_STEP1(i) c##i += b0 * a[(i) * A_ROW];
#define DYNC__GEMM_ADD1(i) c##i += *(const V *)(c + (i) * c_row);
#define DYNC__GEMM_STORE1(i) *(V *)(c + (i) * c_row) = c##i;
/* ROWS rows by N vectors of C */
#define DYNC__GEMM_KERNEL(A, name, T, VT, ROWS, N, A_ROW_OF, A_COL_OF)                               \
    A static void name(int64_t k, const void *a_, int64_t a_row, int64_t a_col, const void *b_, int64_t b_row, void *c_, \
                       int64_t c_row, bool accumulate)                                               \
    {                                                                                                \
        DYNC__GEMM_CONTRACT                                                                          \
        typedef VT V;                                                                                \
        enum { W = sizeof(V) / sizeof(T) };                                                          \
        const int64_t A_ROW = A_ROW_OF, A_COL = A_COL_OF;                                            \
        const T *a = a_, *b = b_;                                                                    \
        T *c = c_;                                                                                   \
        (void)a_row, (void)a_col, (void)A_ROW, (void)c_row;                                          \
        ROWS(DYNC__GEMM_DECLARE##N)                                                                  \
        for (; k > 0; k--) {                                                                         \
            DYNC__GEMM_LOAD##N                                                                       \
            ROWS(DYNC__GEMM_STEP##N)                                                                 \
            a += A_COL;                                                                              \
            b += b_row;                                                                              \
        }                                                                                            \
        if (accumulate) { ROWS(DYNC__GEMM_ADD##N) }                                                  \
        ROWS(DYNC__GEMM_STORE##N)                                                                    \
    }
/* c[0, n) += a[p] b[p, 0 .. n) for p in [0, k): whole lines of B, four at a time */
#define DYNC__GEMM_AXPY_LOAD(i) x##i = a[(i) * a_col];
#define DYNC__GEMM_AXPY_STEP(i) y += x##i * *(const V *)(b + (i) * b_row + j);
#define DYNC__GEMM_AXPY_LAST(i) z += x##i * b[(i) * b_row + j];
#define DYNC__GEMM_AXPY_LINES(ROWS, lines)                                                           \
    for (; k >= lines; k -= lines, a += lines * a_col, b += lines * b_row) {                         \
        ROWS(DYNC__GEMM_AXPY_LOAD)                                                                   \
        int64_t j = 0;                                                                               \
        for (; j + W <= n; j += W) {                                                                 \
            V y = *(const V *)(c + j);                                                               \
            ROWS(DYNC__GEMM_AXPY_STEP)                                                               \
            *(V *)(c + j) = y;                                                                       \
        }                                                                                            \
        for (; j < n; j++) {                                                                         \
            E z = c[j];                                                                              \
            ROWS(DYNC__GEMM_AXPY_LAST)                                                               \
            c[j] = z;                                                                                \
        }                                                                                            \
    }
#define DYNC__GEMM_AXPY(A, name, T, VT)                                                              \
    A static void name(int64_t n, int64_t k, const void *a_, int64_t a_col, const void *b_, int64_t b_row, void *c_) \
    {                                                                                                \
        DYNC__GEMM_CONTRACT                                                                          \
        typedef VT V;                                                                                \
        typedef T E;                                                                                 \
        enum { W = sizeof(V) / sizeof(T) };                                                          \
        const E *a = a_, *b = b_;                                                                    \
        E *c = c_, x0, x1, x2, x3;                                                                   \
        DYNC__GEMM_AXPY_LINES(DYNC__GEMM_R4, 4)                                                      \
        DYNC__GEMM_AXPY_LINES(DYNC__GEMM_R3, 3)                                                      \
        DYNC__GEMM_AXPY_LINES(DYNC__GEMM_R1, 1)                                                      \
    }
/* N inner products of a with columns of b, all dense along k. */
#define DYNC__GEMM_DOT_DECLARE(i) V s##i = DYNC__GEMM_ZERO;
#define DYNC__GEMM_DOT_STEP(i) s##i += x * *(const V *)(b + (i) * b_col + p);
#define DYNC__GEMM_DOT_END(i)                                                                        \
    {                                                                                                \
        E l[W];                                                                                      \
        memcpy(l, &s##i, sizeof l);                                                                  \
        Q sum = *(const Q *)l;                                                                       \
        for (int w = QW; w < W; w += QW) sum += *(const Q *)(l + w);                                 \
        memcpy(l, &sum, sizeof sum);                                                                 \
        for (int w = 1; w < QW; w++) l[0] += l[w];                                                   \
        for (int64_t q = p; q < k; q++) l[0] += a[q] * b[(i) * b_col + q];                           \
        out[i] = l[0];                                                                               \
    }
#define DYNC__GEMM_DOTS(A, name, T, VT, QT, ROWS)                                                    \
    A static void name(int64_t k, const void *a_, const void *b_, int64_t b_col, void *out_)         \
    {                                                                                                \
        DYNC__GEMM_CONTRACT                                                                          \
        typedef VT V;                                                                                \
        typedef QT Q;                /* a vector of 16 bytes */                                      \
        typedef T E;                                                                                 \
        enum { W = sizeof(V) / sizeof(T), QW = sizeof(Q) / sizeof(T) };                              \
        const T *a = a_, *b = b_;                                                                    \
        T *out = out_;                                                                               \
        int64_t p = 0;                                                                               \
        (void)b_col;                                                                                 \
        ROWS(DYNC__GEMM_DOT_DECLARE)                                                                 \
        for (; p + W <= k; p += W) {                                                                 \
            V x = *(const V *)(a + p);                                                               \
            ROWS(DYNC__GEMM_DOT_STEP)                                                                \
        }                                                                                            \
        ROWS(DYNC__GEMM_DOT_END)                                                                     \
    }
#define DYNC__GEMM_SET(A, isa, t, T, V, Q, MR, ROWS)                                                 \
    DYNC__GEMM_KERNEL(A, dync__gemm_main_##isa##_##t, T, V, ROWS, 2, 1, MR)                          \
    DYNC__GEMM_KERNEL(A, dync__gemm_rows4_##isa##_##t, T, V, DYNC__GEMM_R4, 2, a_row, a_col)         \
    DYNC__GEMM_KERNEL(A, dync__gemm_rows1_##isa##_##t, T, V, DYNC__GEMM_R1, 2, a_row, a_col)         \
    DYNC__GEMM_KERNEL(A, dync__gemm_half4_##isa##_##t, T, V, DYNC__GEMM_R4, 1, a_row, a_col)         \
    DYNC__GEMM_KERNEL(A, dync__gemm_half1_##isa##_##t, T, V, DYNC__GEMM_R1, 1, a_row, a_col)         \
    DYNC__GEMM_AXPY(A, dync__gemm_axpy_##isa##_##t, T, V)                                            \
    DYNC__GEMM_DOTS(A, dync__gemm_dot4_##isa##_##t, T, V, Q, DYNC__GEMM_R4)                             \
    DYNC__GEMM_DOTS(A, dync__gemm_dot1_##isa##_##t, T, V, Q, DYNC__GEMM_R1)                             \
    static const dync__gemm_kernels dync__gemm_##isa##_##t = {                                       \
        MR, 2 * (int)(sizeof(V) / sizeof(T)), dync__gemm_main_##isa##_##t,                           \
        {{dync__gemm_half1_##isa##_##t, dync__gemm_half4_##isa##_##t}, {dync__gemm_rows1_##isa##_##t, dync__gemm_rows4_##isa##_##t}}, \
        dync__gemm_axpy_##isa##_##t, dync__gemm_dot4_##isa##_##t, dync__gemm_dot1_##isa##_##t};

DYNC__GEMM_SET(DYNC__GEMM_CODE, base, f32, float, dync__gemm_f4, dync__gemm_f4, 4, DYNC__GEMM_R4)
DYNC__GEMM_SET(DYNC__GEMM_CODE, base, f64, double, dync__gemm_d2, dync__gemm_d2, 4, DYNC__GEMM_R4)
#if defined(DYNC__GEMM_X86)
#define DYNC__GEMM_AVX2 DYNC__GEMM_CODE __attribute__((target("avx2,fma")))
#define DYNC__GEMM_AVX512 DYNC__GEMM_CODE __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")))
DYNC__GEMM_SET(DYNC__GEMM_AVX2, avx2, f32, float, dync__gemm_f8, dync__gemm_f4, 6, DYNC__GEMM_R6)
DYNC__GEMM_SET(DYNC__GEMM_AVX2, avx2, f64, double, dync__gemm_d4, dync__gemm_d2, 6, DYNC__GEMM_R6)
DYNC__GEMM_SET(DYNC__GEMM_AVX512, avx512, f32, float, dync__gemm_f16, dync__gemm_f4, 14, DYNC__GEMM_R14)
DYNC__GEMM_SET(DYNC__GEMM_AVX512, avx512, f64, double, dync__gemm_d8, dync__gemm_d2, 14, DYNC__GEMM_R14)
#endif

/* Narrow products use narrower vectors: less padding. */
static const dync__gemm_kernels *dync__gemm_choose(size_t bytes, int64_t n)
{
#if defined(DYNC__GEMM_X86)
    unsigned cpu = dync__cpu_features();
    if ((cpu & DYNC__CPU_AVX2) && (cpu & DYNC__CPU_FMA)) {
        bool wide = (cpu & DYNC__CPU_AVX512) && (size_t)n * bytes > 64;
        if (bytes == 4) return wide ? &dync__gemm_avx512_f32 : &dync__gemm_avx2_f32;
        return wide ? &dync__gemm_avx512_f64 : &dync__gemm_avx2_f64;
    }
#endif
    (void)n;
    return bytes == 4 ? &dync__gemm_base_f32 : &dync__gemm_base_f64;
}

/* ---- one product, elements of 4 or 8 bytes; every pointer counts in bytes ---------------------------------------------------- */

typedef struct dync__gemm_job {
    const dync__gemm_kernels *kernels;
    size_t bytes;
    int64_t m, n, k;
    const char *a, *b;
    char *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    bool accumulate;
    uint8_t path;
} dync__gemm_job;
enum { DYNC__GEMM_BY_DOTS, DYNC__GEMM_BY_LINES, DYNC__GEMM_BY_ROWS, DYNC__GEMM_BY_BLOCKS };

static const char *dync__gemm_at(const dync__gemm_job *g, const char *p, int64_t i, int64_t row, int64_t j, int64_t col)
{
    return p + (i * row + j * col) * (int64_t)g->bytes;
}

static char *dync__gemm_c(const dync__gemm_job *g, int64_t i, int64_t j)
{
    return g->c + (i * g->c_row + j * g->c_col) * (int64_t)g->bytes;
}

/* Blocks of four lines by four elements along k, transposed in registers; returns how many of k are done. */
#if defined(DYNC__GEMM_VECTORS) && (defined(__clang__) || __GNUC__ >= 12)
#define DYNC__GEMM_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
static int64_t dync__gemm_pack_turned_4(uint32_t *to, const uint32_t *from, int64_t line_step, int64_t k, int64_t width)
{
    typedef dync__gemm_f4 V;
    int64_t p = 0;
    for (; p + 4 <= k; p += 4, from += 4, to += 4 * width) {
        V a = *(const V *)(const void *)from, b = *(const V *)(const void *)(from + line_step);
        V c = *(const V *)(const void *)(from + 2 * line_step), d = *(const V *)(const void *)(from + 3 * line_step);
        V ac = DYNC__GEMM_SHUFFLE(a, c, 0, 4, 1, 5), bd = DYNC__GEMM_SHUFFLE(b, d, 0, 4, 1, 5);
        *(V *)(void *)to = DYNC__GEMM_SHUFFLE(ac, bd, 0, 4, 1, 5);
        *(V *)(void *)(to + width) = DYNC__GEMM_SHUFFLE(ac, bd, 2, 6, 3, 7);
        ac = DYNC__GEMM_SHUFFLE(a, c, 2, 6, 3, 7), bd = DYNC__GEMM_SHUFFLE(b, d, 2, 6, 3, 7);
        *(V *)(void *)(to + 2 * width) = DYNC__GEMM_SHUFFLE(ac, bd, 0, 4, 1, 5);
        *(V *)(void *)(to + 3 * width) = DYNC__GEMM_SHUFFLE(ac, bd, 2, 6, 3, 7);
    }
    return p;
}
#else
static int64_t dync__gemm_pack_turned_4(uint32_t *to, const uint32_t *from, int64_t line_step, int64_t k, int64_t width)
{
    (void)to, (void)from, (void)line_step, (void)k, (void)width;
    return 0;
}
#endif
static int64_t dync__gemm_pack_turned_8(uint64_t *to, const uint64_t *from, int64_t line_step, int64_t k, int64_t width)
{
    (void)to, (void)from, (void)line_step, (void)k, (void)width;
    return 0;
}

/* Panels of `width` lines (rows of A, columns of B): panel[p * width + line], lines beyond `lines` zero. */
#define DYNC__GEMM_PACK(T, name)                                                                     \
    static void dync__gemm_pack_##name(T *to, const T *from, int64_t lines, int64_t line_step, int64_t k, int64_t k_step, \
                                       int64_t width)                                                \
    {                                                                                                \
        for (int64_t l0 = 0; l0 < lines; l0 += width, to += width * k) {                             \
            int64_t n = DYNC__MIN(width, lines - l0), l = 0;                                         \
            const T *s = from + l0 * line_step;                                                      \
            if (n < width) memset(to, 0, (size_t)(width * k) * sizeof(T));                           \
            if (line_step == 1) {                                                                    \
                for (int64_t p = 0; p < k; p++) dync__copy_line(to + p * width, s + p * k_step, (size_t)n * sizeof(T)); \
                continue;                                                                            \
            }                                                                                        \
            while (l < n) {                                                                          \
                int64_t few = n - l >= 4 ? 4 : 1, done = 0;                                          \
                if (few == 4 && k_step == 1) done = dync__gemm_pack_turned_##name(to + l, s + l * line_step, line_step, k, width); \
                for (int64_t p = done; p < k; p++)                                                   \
                    for (int64_t e = l; e < l + few; e++) to[p * width + e] = s[e * line_step + p * k_step]; \
                l += few;                                                                            \
            }                                                                                        \
        }                                                                                            \
    }
DYNC__GEMM_PACK(uint32_t, 4)
DYNC__GEMM_PACK(uint64_t, 8)

static void dync__gemm_pack(const dync__gemm_job *g, char *to, const char *from, int64_t lines, int64_t line_step, int64_t k,
                            int64_t k_step, int64_t width)
{
    if (g->bytes == 4)
        dync__gemm_pack_4((uint32_t *)(void *)to, (const uint32_t *)(const void *)from, lines, line_step, k, k_step, width);
    else
        dync__gemm_pack_8((uint64_t *)(void *)to, (const uint64_t *)(const void *)from, lines, line_step, k, k_step, width);
}

/* A block of C that the micro kernel cannot write: part of a block, or strided. */
#define DYNC__GEMM_ADD_BLOCK(T, name)                                                                \
    static void dync__gemm_add_block_##name(T *c, int64_t c_row, int64_t c_col, const T *block, int64_t width, int64_t rows, \
                                            int64_t columns, bool accumulate)                        \
    {                                                                                                \
        for (int64_t i = 0; i < rows; i++, c += c_row, block += width) {                             \
            if (accumulate)                                                                          \
                for (int64_t j = 0; j < columns; j++) c[j * c_col] += block[j];                      \
            else                                                                                     \
                for (int64_t j = 0; j < columns; j++) c[j * c_col] = block[j];                       \
        }                                                                                            \
    }
DYNC__GEMM_ADD_BLOCK(float, f32)
DYNC__GEMM_ADD_BLOCK(double, f64)

static void dync__gemm_add_block(const dync__gemm_job *g, char *c, const char *block, int64_t width, int64_t rows, int64_t columns, bool accumulate)
{
    if (g->bytes == 4)
        dync__gemm_add_block_f32((float *)(void *)c, g->c_row, g->c_col, (const float *)(const void *)block, width, rows, columns, accumulate);
    else
        dync__gemm_add_block_f64((double *)(void *)c, g->c_row, g->c_col, (const double *)(const void *)block, width, rows, columns, accumulate);
}

static void dync__gemm_clear(const dync__gemm_job *g)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) memset(dync__gemm_c(g, i, j), 0, g->bytes);
}

/* Rows [0, m) of columns [j, j + columns) from a panel of B with dense rows, `width` (one vector or two) of which may be read. */
static void dync__gemm_column_block(const dync__gemm_job *g, int64_t j, int64_t columns, int64_t width, const char *b, int64_t b_row)
{
    _Alignas(64) char block[4 * 32 * 4];          /* 4 rows of at most 128 bytes */
    const dync__gemm_block *fn = g->kernels->rows[width == g->kernels->nr];
    bool direct = columns == width && g->c_col == 1;
    for (int64_t i = 0; i < g->m;) {
        int64_t rows = g->m - i >= 4 ? 4 : 1;
        const char *a = dync__gemm_at(g, g->a, i, g->a_row, 0, 0);
        char *c = dync__gemm_c(g, i, j);
        if (direct) {
            fn[rows == 4](g->k, a, g->a_row, g->a_col, b, b_row, c, g->c_row, g->accumulate);
        } else {
            fn[rows == 4](g->k, a, g->a_row, g->a_col, b, b_row, block, width, false);
            dync__gemm_add_block(g, c, block, width, rows, columns, g->accumulate);
        }
        i += rows;
    }
}

/* Small, or few rows: A stays where it is. `panel` holds k x NR elements. */
static void dync__gemm_small(const dync__gemm_job *g, char *panel)
{
    int nr = g->kernels->nr;
    for (int64_t j = 0; j < g->n; j += nr) {
        int64_t columns = DYNC__MIN(nr, g->n - j), width = columns <= nr / 2 ? nr / 2 : nr;
        const char *b = dync__gemm_at(g, g->b, 0, 0, j, g->b_col);
        if (columns == width && g->b_col == 1) {
            dync__gemm_column_block(g, j, columns, width, b, g->b_row);
            continue;
        }
        dync__gemm_pack(g, panel, b, columns, g->b_col, g->k, g->b_row, width);
        dync__gemm_column_block(g, j, columns, width, panel, width);
    }
}

/* Very few rows and a wide dense B, read once and in order; a few of its lines stay in L1 for all rows. */
static void dync__gemm_by_lines(const dync__gemm_job *g)
{
    enum { LINES = 8 };
    int64_t bytes = (int64_t)g->bytes, width = 4096 / bytes, lines = g->m == 1 ? g->k : LINES;
    for (int64_t j = 0; j < g->n; j += width)
        for (int64_t p = 0; p < g->k; p += lines)
            for (int64_t i = 0; i < g->m; i++) {
                int64_t n = DYNC__MIN(width, g->n - j), k = DYNC__MIN(lines, g->k - p);
                char *c = dync__gemm_c(g, i, j);
                if (p == 0 && !g->accumulate) memset(c, 0, (size_t)(n * bytes));
                g->kernels->axpy(n, k, dync__gemm_at(g, g->a, i, g->a_row, p, g->a_col), g->a_col,
                                 dync__gemm_at(g, g->b, p, g->b_row, j, 1), g->b_row, c);
            }
}

/* Few rows of A, dense along k at `a`. */
static void dync__gemm_by_dots(const dync__gemm_job *g, const char *a, int64_t a_row)
{
    double out[4];
    for (int64_t j = 0; j < g->n;) {
        int64_t columns = g->n - j >= 4 ? 4 : 1;
        const char *b = dync__gemm_at(g, g->b, 0, 0, j, g->b_col);
        for (int64_t i = 0; i < g->m; i++) {
            (columns == 4 ? g->kernels->dot4 : g->kernels->dot1)(g->k, a + i * a_row * (int64_t)g->bytes, b, g->b_col, out);
            dync__gemm_add_block(g, dync__gemm_c(g, i, j), (const char *)out, 4, 1, columns, g->accumulate);
        }
        j += columns;
    }
}

/* One packed block of A times one packed block of B. */
static void dync__gemm_inner(const dync__gemm_job *g, int64_t i0, int64_t rows, int64_t j0, int64_t columns, int64_t k, const char *pa,
                             const char *pb, bool accumulate)
{
    _Alignas(64) char block[DYNC__GEMM_MAX_BLOCK * 8];
    const dync__gemm_kernels *ker = g->kernels;
    int64_t mr = ker->mr, nr = ker->nr;
    for (int64_t j = 0; j < columns; j += nr)
        for (int64_t i = 0; i < rows; i += mr) {
            int64_t r = DYNC__MIN(mr, rows - i), n = DYNC__MIN(nr, columns - j);
            const char *a = pa + i * k * (int64_t)g->bytes, *b = pb + j * k * (int64_t)g->bytes;
            char *c = dync__gemm_c(g, i0 + i, j0 + j);
            bool direct = n == nr && g->c_col == 1;
            if (r == mr && direct) {
                ker->main(k, a, 1, mr, b, nr, c, g->c_row, accumulate);
                continue;
            }
            if (r == mr) ker->main(k, a, 1, mr, b, nr, block, nr, false);
            for (int64_t e = 0, few; r < mr && e < r; e += few) {          /* the last rows: by four, then one by one */
                few = r - e >= 4 ? 4 : 1;
                ker->rows[1][few == 4](k, a + e * (int64_t)g->bytes, 1, mr, b, nr, direct ? c + e * g->c_row * (int64_t)g->bytes
                                       : block + e * nr * (int64_t)g->bytes, direct ? g->c_row : nr, direct && accumulate);
            }
            if (!direct) dync__gemm_add_block(g, c, block, nr, r, n, accumulate);
        }
}

static int64_t dync__gemm_round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static void dync__gemm_large(const dync__gemm_job *g, char *pa, char *pb)
{
    for (int64_t j = 0; j < g->n; j += DYNC__GEMM_NC)
        for (int64_t p = 0; p < g->k; p += DYNC__GEMM_KC) {
            int64_t columns = DYNC__MIN(DYNC__GEMM_NC, g->n - j), k = DYNC__MIN(DYNC__GEMM_KC, g->k - p);
            dync__gemm_pack(g, pb, dync__gemm_at(g, g->b, p, g->b_row, j, g->b_col), columns, g->b_col, k, g->b_row, g->kernels->nr);
            for (int64_t i = 0; i < g->m; i += DYNC__GEMM_MC) {
                int64_t rows = DYNC__MIN(DYNC__GEMM_MC, g->m - i);
                dync__gemm_pack(g, pa, dync__gemm_at(g, g->a, i, g->a_row, p, g->a_col), rows, g->a_row, k, g->a_col, g->kernels->mr);
                dync__gemm_inner(g, i, rows, j, columns, k, pa, pb, g->accumulate || p > 0);
            }
        }
}

/* ---- choosing -------------------------------------------------------------------------------------------------------------------- */

/* Without memory for panels: slow and right. */
static void dync__gemm_plain(const dync__gemm_job *g)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < g->k; p++) {
                const char *a = dync__gemm_at(g, g->a, i, g->a_row, p, g->a_col), *b = dync__gemm_at(g, g->b, p, g->b_row, j, g->b_col);
                sum += g->bytes == 4 ? (double)*(const float *)(const void *)a * (double)*(const float *)(const void *)b
                                     : *(const double *)(const void *)a * *(const double *)(const void *)b;
            }
            float narrow = (float)sum;
            dync__gemm_add_block(g, dync__gemm_c(g, i, j), g->bytes == 4 ? (const char *)&narrow : (const char *)&sum, 1, 1, 1, g->accumulate);
        }
}

/* Bytes of packed A and B that a path needs. */
static void dync__gemm_room(const dync__gemm_job *g, int64_t *a_bytes, int64_t *b_bytes)
{
    int64_t nr = g->kernels->nr, kc = DYNC__MIN(g->k, DYNC__GEMM_KC), bytes = (int64_t)g->bytes;
    bool dense_b = g->b_col == 1 && g->n % (nr / 2) == 0;
    *a_bytes = *b_bytes = 0;
    if (g->path == DYNC__GEMM_BY_DOTS && g->a_col != 1) *a_bytes = g->m * g->k * bytes;
    if (g->path == DYNC__GEMM_BY_ROWS && !dense_b) *b_bytes = nr * g->k * bytes;
    if (g->path != DYNC__GEMM_BY_BLOCKS) return;
    *a_bytes = dync__gemm_round_up(dync__gemm_round_up(DYNC__MIN(g->m, DYNC__GEMM_MC), g->kernels->mr) * kc * bytes, 64);
    *b_bytes = dync__gemm_round_up(DYNC__MIN(g->n, DYNC__GEMM_NC), nr) * kc * bytes;
}

static void dync__gemm_run(const dync__gemm_job *g)
{
    _Alignas(64) char stack[DYNC__GEMM_STACK];
    int64_t a_bytes, b_bytes;
    dync__gemm_room(g, &a_bytes, &b_bytes);
    size_t total = (size_t)(a_bytes + b_bytes);
    char *memory = total <= sizeof stack ? stack : dync__alloc_data(total);
    if (!memory) {
        dync_clear_error();             /* nothing is lost but speed */
        dync__gemm_plain(g);
        return;
    }
    switch (g->path) {
    case DYNC__GEMM_BY_DOTS:
        if (a_bytes) dync__gemm_pack(g, memory, g->a, g->m, g->a_row, g->k, g->a_col, 1);
        dync__gemm_by_dots(g, a_bytes ? memory : g->a, a_bytes ? g->k : g->a_row);
        break;
    case DYNC__GEMM_BY_LINES: dync__gemm_by_lines(g); break;
    case DYNC__GEMM_BY_ROWS: dync__gemm_small(g, memory); break;
    default: dync__gemm_large(g, memory, memory + a_bytes);
    }
    if (memory != stack) dync__free_data(memory, total);
}

static void dync__gemm_part(void *user, int part, int n_parts)
{
    dync__gemm_job g = *(const dync__gemm_job *)user;
    bool by_rows = g.m >= g.n;
    int64_t unit = by_rows ? g.kernels->mr : g.kernels->nr, all = by_rows ? g.m : g.n, units = (all + unit - 1) / unit;
    int64_t begin = DYNC__MIN(units * part / n_parts * unit, all), end = DYNC__MIN(units * (part + 1) / n_parts * unit, all);
    if (begin >= end) return;
    if (by_rows) {
        g.a += begin * g.a_row * (int64_t)g.bytes;
        g.c += begin * g.c_row * (int64_t)g.bytes;
        g.m = end - begin;
    } else {
        g.b += begin * g.b_col * (int64_t)g.bytes;
        g.c += begin * g.c_col * (int64_t)g.bytes;
        g.n = end - begin;
    }
    dync__gemm_run(&g);
}

static void dync__gemm_swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* Decided for the whole product, before threads cut it. Bounds by measurement. */
static uint8_t dync__gemm_path(const dync__gemm_job *g, double work)
{
    bool dense_b = g->b_col == 1;
    if (!dense_b && g->b_row == 1 && g->m <= 16 && g->k >= (g->m == 1 ? 32 : 128 * g->m)) return DYNC__GEMM_BY_DOTS;
    if (dense_b && g->c_col == 1 && g->m <= 3 && g->n * (int64_t)g->bytes >= 2048) return DYNC__GEMM_BY_LINES;
    if (work <= (double)DYNC__GEMM_SMALL || g->m <= 4 || (dense_b && g->m <= 12)) return DYNC__GEMM_BY_ROWS;
    return DYNC__GEMM_BY_BLOCKS;
}

static void dync__gemm(dync__gemm_job *g)
{
    if (g->m <= 0 || g->n <= 0) return;
    if (g->k <= 0) {
        if (!g->accumulate) dync__gemm_clear(g);
        return;
    }
    /* a column-major result is the row-major result of the transposed product; so is a single column */
    if ((g->c_col != 1 && g->c_row == 1) || (g->n == 1 && g->m > 1)) {
        const char *a = g->a;
        g->a = g->b;
        g->b = a;
        dync__gemm_swap(&g->m, &g->n);
        dync__gemm_swap(&g->a_row, &g->b_col);
        dync__gemm_swap(&g->a_col, &g->b_row);
        dync__gemm_swap(&g->c_row, &g->c_col);
    }
    double work = (double)g->m * (double)g->n * (double)g->k;
    g->kernels = dync__gemm_choose(g->bytes, g->n);
    g->path = dync__gemm_path(g, work);
    if (work >= (double)DYNC__GEMM_PARALLEL && !dync__tls.in_pool && dync__pool_threads() > 1)
        dync__pool_run(dync__gemm_part, g, dync__pool_threads());
    else
        dync__gemm_run(g);
}

DYNC__FN void dync__gemm_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *b, int64_t b_row,
    int64_t b_col, float *c, int64_t c_row, int64_t c_col, bool accumulate)
{
    dync__gemm_job g = {NULL, sizeof(float), m, n, k, (const char *)a, (const char *)b, (char *)c, a_row, a_col, b_row, b_col, c_row, c_col, accumulate, 0};
    dync__gemm(&g);
}

DYNC__FN void dync__gemm_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t a_row, int64_t a_col, const double *b, int64_t b_row,
    int64_t b_col, double *c, int64_t c_row, int64_t c_col, bool accumulate)
{
    dync__gemm_job g = {NULL, sizeof(double), m, n, k, (const char *)a, (const char *)b, (char *)c, a_row, a_col, b_row, b_col, c_row, c_col, accumulate, 0};
    dync__gemm(&g);
}

DYNC__FN void dync__gemm_add_lines(int bytes, int64_t n, int64_t k, const void *a, const void *b, int64_t b_row, void *c)
{
    dync__gemm_choose((size_t)bytes, n)->axpy(n, k, a, 1, b, b_row, c);
}

DYNC__FN void dync__gemm_products(int bytes, int64_t n, int64_t count, const void *a, const void *b, int64_t b_col, void *out)
{
    const dync__gemm_kernels *ker = dync__gemm_choose((size_t)bytes, n);
    for (int64_t i = 0, few; i < count; i += few) {
        few = count - i >= 4 ? 4 : 1;
        (few == 4 ? ker->dot4 : ker->dot1)(n, a, (const char *)b + i * b_col * bytes, b_col, (char *)out + i * bytes);
    }
}
