/* codegen/convert_run.c: f16 and bf16 to f32 and back (convert.h), by COPY of gemm_code.h. After
 * gemm_run.c. */
#include "../dync.in.h"
#include "convert.h"
#include "target.h"
DYNC__BESIDE_JIT

#if DYNC__JIT
static void dync__convert_code(dync__convert *c, int type, bool rounds)
{
    dync__gt_args x = {.blocks = 1};
    int lanes = dync__gt_lanes(type, 0),
        flags = (rounds ? DYNC__GT_ROUND : 0) | (c->adds ? DYNC__GT_ADD : 0);
    c->four = dync__gt_find(DYNC__GT_COPY, type, flags, 1, 4 * lanes, &x);
    c->one = c->four ? dync__gt_find(DYNC__GT_COPY, type, flags, 1, lanes, &x) : NULL;
    if (c->one) c->lanes = lanes;
}

/* `rows` rows of so many elements, behind each other. */
static void dync__convert_rows(const dync__convert *c, dync__gt_fn code, char **to,
                               const char **from, int64_t rows, int elements)
{
    int from_step = elements * c->from_bytes, to_step = elements * (6 - c->from_bytes);
    dync__gt_args x; /* of which COPY reads so much; zeros would take as long as the rows */
    if (rows == 0) return;
    x.a = *from;
    x.c = *to;
    x.k = rows;
    x.a_step = from_step;
    x.c_step = to_step;
    code(&x);
    *to += rows * to_step;
    *from += rows * from_step;
}
#endif

static dync__convert dync__convert_make(int to_dtype, int from_dtype, bool adds)
{
    bool rounds = from_dtype == DYNC_F32;
    int level = dync__target_level(), narrow = rounds ? to_dtype : from_dtype;
    dync__convert c = {.from_bytes = rounds ? 4 : 2, .adds = adds};
    c.tile = rounds ? dync__tile_narrow(level, narrow) : dync__tile_widen(level, narrow);
#if DYNC__JIT
    dync__convert_code(&c, narrow == DYNC_F16 ? DYNC__GT_AS_F16 : DYNC__GT_AS_BF16, rounds);
#endif
    return c;
}

DYNC__FN dync__convert dync__convert_open(int to_dtype, int from_dtype)
{
    return dync__convert_make(to_dtype, from_dtype, false);
}

DYNC__FN dync__convert dync__convert_adds(int from_dtype)
{
    return dync__convert_make(DYNC_F32, from_dtype, true);
}

/* What is less than a vector, or all: to += from by way of f32. */
static void dync__convert_rest(const dync__convert *c, float *to, const uint16_t *from, int64_t n)
{
    float line[64];
    for (int64_t some; n; n -= some, to += some, from += some) {
        some = DYNC__MIN(n, 64);
        dync__tile_run(&c->tile, line, from, NULL, NULL, some, 0);
        for (int64_t i = 0; i < some; i++) to[i] += line[i];
    }
}

DYNC__FN void dync__convert_run(const dync__convert *c, void *to, const void *from, int64_t n)
{
#if DYNC__JIT
    if (c->lanes && n >= c->lanes) {
        char *y = to;
        const char *x = from;
        dync__convert_rows(c, c->four, &y, &x, n / (4 * c->lanes), 4 * c->lanes);
        dync__convert_rows(c, c->one, &y, &x, n / c->lanes % 4, c->lanes);
        to = y;
        from = x;
        n %= c->lanes;
    }
#endif
    if (c->adds)
        dync__convert_rest(c, to, from, n);
    else if (n)
        dync__tile_run(&c->tile, to, from, NULL, NULL, n, 0);
}
