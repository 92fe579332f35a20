/* kernel/fourier_core.c: Fourier transforms of V rows, one in each lane, and of one row. Before
 * fourier_tables.c, which makes what they read, and fourier.c.
 *
 * Rows of real numbers, pairs or not, are transposed to blocks: 2 n lines of V. One row is a
 * matrix of pairs: V columns of it are lanes, and then V columns of the transpose. */
#include "../dync.in.h"
#include "fourier.h"
DYNC__HOT

DYNC__FN int64_t dync__fft_room(const dync__fft_plan *p)
{
    int64_t n = DYNC__MAX(p->whole.n, p->m) + 1;
    return 2 * p->V * n;
}
static int64_t dync__fft_block(const dync__fft_plan *p) { return 2 * (int64_t)p->V * p->bytes; }

/* flags of pass i, which leaves transforms of `left` numbers */
static int dync__fft_flags(const dync__fft_core *c, int64_t left, bool each)
{
    return (c->back ? DYNC__GF_BACK : 0) | (left > 1 ? DYNC__GF_ROW : each ? DYNC__GF_EACH : 0);
}
static void dync__fft_core_find(const dync__fft_plan *p, const dync__fft_core *c, bool each,
                                dync__gt_fn *code)
{
    int64_t left = c->n;
    for (int i = 0; i < c->passes; i++) {
        left /= c->radix[i];
        code[i] = dync__gf_find(DYNC__GF_PASS, p->wide, dync__fft_flags(c, left, each), c->radix[i],
                                p->V);
    }
}
DYNC__FN void dync__fft_code_find(const dync__fft_plan *p, dync__fft_code *code)
{
    bool wide = p->wide;
    dync__fft_core_find(p, &p->whole, false, code->whole);
    dync__fft_core_find(p, &p->back, false, code->back);
    dync__fft_core_find(p, &p->column, true, code->column);
    dync__fft_core_find(p, &p->line, false, code->line);
    code->factors = dync__gf_find(DYNC__GF_PASS, wide, DYNC__GF_ROW, 1, p->V);
    code->unzip = p->column.n ? dync__gf_find(DYNC__GF_UNZIP, wide, 0, 0, p->V) : NULL;
    code->zip = p->column.n ? dync__gf_find(DYNC__GF_ZIP, wide, 0, 0, p->V) : NULL;
    for (int i = 0; i < 2; i++)
        code->real[i] =
            p->halved ? dync__gf_find(DYNC__GF_REAL, wide, i ? DYNC__GF_EACH : 0, 0, p->V) : NULL;
}

DYNC__FN char *dync__fft_core_run(const dync__fft_plan *p, const dync__fft_core *c,
                                  const dync__gt_fn *code, char *a, char *b, const char *each)
{
    int64_t left = c->n, blocks = 1, step = dync__fft_block(p);
    for (int i = 0; i < c->passes; i++, blocks *= c->radix[i - 1]) {
        int r = c->radix[i], flags = dync__fft_flags(c, left /= r, each != NULL);
        dync__gt_args x; /* only what the code reads */
        x.a = a, x.b = left == 1 && each ? each : c->row[i], x.c = b;
        x.a_step = left * blocks * step;
        x.c_step = blocks * step;
        x.b_step = (r - 1) * blocks * step;
        x.blocks = blocks;
        x.k = left;
        dync__gf_do(code[i], DYNC__GF_PASS, p->wide, flags, r, p->V, &x);
        char *next = b;
        b = a, a = next;
    }
    return a;
}

/* n blocks times their factors; row: one for each, else the same for all */
static void dync__fft_scaled(const dync__fft_plan *p, const dync__fft_code *code, char *z,
                             int64_t n, const char *factors, bool row)
{
    dync__gt_args x;
    x.a = z, x.b = factors, x.c = z;
    x.a_step = x.c_step = x.b_step = 0;
    x.blocks = row ? 1 : n;
    x.k = row ? n : 1;
    dync__gf_do(code->factors, DYNC__GF_PASS, p->wide, DYNC__GF_ROW, 1, p->V, &x);
}

/* The transform of m blocks at a; b: as large. */
static char *dync__fft_blocks(const dync__fft_plan *p, const dync__fft_code *code, char *a, char *b)
{
    int64_t step = dync__fft_block(p), n = p->whole.n;
    if (!p->chirp) {
        char *to = dync__fft_core_run(p, &p->whole, code->whole, a, b, NULL);
        if (!p->halved && p->attr.scale != 1) dync__fft_scaled(p, code, to, p->m, p->scale, false);
        return to;
    }
    dync__fft_scaled(p, code, a, p->m, p->chirp, true);
    memset(a + p->m * step, 0, (size_t)((n - p->m) * step));
    char *to = dync__fft_core_run(p, &p->whole, code->whole, a, b, NULL);
    dync__fft_scaled(p, code, to, n, p->filter, true);
    to = dync__fft_core_run(p, &p->back, code->back, to, to == a ? b : a, NULL);
    dync__fft_scaled(p, code, to, p->m, p->chirp, true);
    return to;
}

/* ---- rows of real numbers -------------------------------------------------------------------- */

/* The first and the last bin of a spectrum from the first number, or the reverse: `lanes` of them,
 * parts and bins so many real numbers apart. */
#define DYNC__FFT_ENDS(T)                                                          \
    {                                                                              \
        T *at = (T *)(void *)z, s = (T)p->attr.scale;                              \
        for (int v = 0; v < lanes; v++) {                                          \
            T *a = at + v, *b = a + last, u = *a, w = p->attr.back ? *b : a[part]; \
            *a = (u + w) * s;                                                      \
            if (p->attr.back)                                                      \
                a[part] = (u - w) * s;                                             \
            else                                                                   \
                a[part] = 0, *b = (u - w) * s, b[part] = 0;                        \
        }                                                                          \
    }
static void dync__fft_ends(const dync__fft_plan *p, char *z, int lanes, int64_t part, int64_t last)
{
    if (p->wide)
        DYNC__FFT_ENDS(double)
    else
        DYNC__FFT_ENDS(float)
}
static void dync__fft_halves(const dync__fft_plan *p, const dync__fft_code *code, char *z)
{
    int64_t step = dync__fft_block(p);
    double half = p->attr.scale * (p->attr.back ? 1 : 0.5);
    float narrow = (float)half;
    dync__gt_args x;
    dync__fft_ends(p, z, p->V, p->V, 2 * p->V * p->m);
    x.a = z + step, x.c = z + (p->m - 1) * step;
    x.b = p->real[0], x.more[0] = p->real[1];
    x.d = p->wide ? (const void *)&half : &narrow;
    x.k = p->m / 2;
    if (x.k) dync__gf_do(code->real[0], DYNC__GF_REAL, p->wide, 0, 0, p->V, &x);
}
/* One row of pairs from z to y, which are apart. */
static void dync__fft_halves_row(const dync__fft_plan *p, const dync__fft_code *code, const char *z,
                                 char *y)
{
    int64_t pair = 2 * p->bytes, V = p->V;
    double half = p->attr.scale * (p->attr.back ? 1 : 0.5);
    float narrow = (float)half;
    dync__gt_args x;
    x.a = z + pair, x.c = (void *)(uintptr_t)(z + (p->m - V) * pair);
    x.more[1] = y + pair, x.lanes = y + (p->m - V) * pair;
    x.b = p->real[0], x.more[0] = p->real[1];
    x.d = p->wide ? (const void *)&half : &narrow;
    x.k = (p->m / 2 + V - 1) / V;
    dync__gf_do(code->real[1], DYNC__GF_REAL, p->wide, DYNC__GF_EACH, 0, p->V, &x);
    memcpy(y, z, (size_t)pair);
    if (p->attr.back) memcpy(y + p->m * pair, z + p->m * pair, (size_t)pair);
    dync__fft_ends(p, y, 1, 1, 2 * p->m);
}

/* An odd number n of real numbers: bins from the middle on are those before it, conjugate and from
 * the end. */
#define DYNC__FFT_MIRROR(T)                                                       \
    {                                                                             \
        T *at = (T *)(void *)z;                                                   \
        for (int v = 0; v < p->V; v++) at[p->V + v] = 0;                          \
        for (int64_t k = 1; k <= n / 2; k++)                                      \
            for (int v = 0; v < p->V; v++) {                                      \
                at[(n - k) * 2 * p->V + v] = at[k * 2 * p->V + v];                \
                at[(n - k) * 2 * p->V + p->V + v] = -at[k * 2 * p->V + p->V + v]; \
            }                                                                     \
    }
static void dync__fft_mirror_blocks(const dync__fft_plan *p, char *z)
{
    int64_t n = p->m;
    if (p->wide)
        DYNC__FFT_MIRROR(double)
    else
        DYNC__FFT_MIRROR(float)
}

/* ---- V rows ---------------------------------------------------------------------------------- */

DYNC__FN void dync__fft_lanes(const dync__fft_plan *p, const dync__fft_code *code, const char *x,
                              int64_t x_step, char *y, int64_t y_step, int64_t rows, char *room)
{
    bool back = p->attr.back, real = !p->attr.pairs && !p->halved,
         odd = p->attr.half && back && !p->halved; /* numbers that come are real */
    int64_t line = p->V * p->bytes, size = dync__fft_room(p) * p->bytes;
    char *a = room, *b = room + size;
    /* lanes without a row, imaginary parts of real numbers */
    if (rows < p->V || real) memset(a, 0, (size_t)size);
    dync__gt_swap(a, real ? 2 * line : line, x, x_step, rows, p->in, p->bytes, false, NULL);
    if (p->halved && back) dync__fft_halves(p, code, a);
    if (odd) dync__fft_mirror_blocks(p, a);
    a = dync__fft_blocks(p, code, a, b);
    if (p->halved && !back) dync__fft_halves(p, code, a);
    dync__gt_swap(y, y_step, a, odd ? 2 * line : line, p->out, rows, p->bytes, false, NULL);
}

/* ---- one row --------------------------------------------------------------------------------- */

/* V columns of a matrix of pairs, n1 rows, pitch bytes apart, to blocks, and back. */
static void dync__fft_columns(const dync__fft_plan *p, const dync__fft_code *code, bool zip,
                              int64_t n, const char *from, int64_t from_step, char *to,
                              int64_t to_step)
{
    dync__gt_args x;
    x.a = from, x.c = to;
    x.a_step = from_step, x.c_step = to_step;
    x.k = n;
    dync__gf_do(zip ? code->zip : code->unzip, zip ? DYNC__GF_ZIP : DYNC__GF_UNZIP, p->wide, 0, 0,
                p->V, &x);
}

/* m pairs; y may be x */
static void dync__fft_matrix(const dync__fft_plan *p, const dync__fft_code *code, const char *x,
                             char *y, char *middle, char *room)
{
    const dync__fft_core *columns = &p->column, *lines = &p->line;
    int64_t n1 = columns->n, n2 = lines->n, pair = 2 * p->bytes, block = dync__fft_block(p), at;
    char *a = room, *b = room + DYNC__MAX(n1, n2) * block, *to;
    const char *turn = p->turn;
    for (int64_t part = 0; part < n2; part += p->V, turn += n1 * block) {
        at = DYNC__MIN(part, n2 - p->V);
        dync__fft_columns(p, code, false, n1, x + at * pair, n2 * pair, a, 0);
        to = dync__fft_core_run(p, columns, code->column, a, b, turn);
        dync__gt_swap(middle + at * n1 * pair, n1 * pair, to, p->V * p->bytes, 2 * n1, p->V,
                      p->bytes, false, NULL);
    }
    for (int64_t part = 0; part < n1; part += p->V) {
        at = DYNC__MIN(part, n1 - p->V);
        dync__fft_columns(p, code, false, n2, middle + at * pair, n1 * pair, a, 0);
        to = dync__fft_core_run(p, lines, code->line, a, b, NULL);
        dync__fft_columns(p, code, true, n2, to, 0, y + at * pair, n1 * pair);
    }
}

DYNC__FN void dync__fft_one(const dync__fft_plan *p, const dync__fft_code *code, const char *x,
                            char *y, char *room)
{
    int64_t pairs = 2 * (p->m + 1) * p->bytes;
    char *more = room + pairs, *rest = more + pairs;
    if (!p->halved) {
        dync__fft_matrix(p, code, x, y, room, more);
    } else if (p->attr.back) {
        dync__fft_halves_row(p, code, x, more);
        dync__fft_matrix(p, code, more, y, room, rest);
    } else {
        dync__fft_matrix(p, code, x, more, room, rest);
        dync__fft_halves_row(p, code, more, y);
    }
}
