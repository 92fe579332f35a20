/* codegen/interp_reduce.c: reductions and running sums of the tile interpreter. Before:
 * interp_run.c, which begins and ends them around a phase and hands over each tile.
 *
 * Along rows, sums are taken in grains of DYNC__TILE_GRAIN elements: DYNC__TILE_LANES independent
 * lanes, then a tree, in the order that machine code keeps (gen_reduce.c); grains are combined as
 * the digits of a binary counter carry, which sums pairwise. Rows side by side (vertical) are
 * combined as vectors, in levels of DYNC__REDUCE_RADIX. */
#include "../dync.in.h"
#include "interp_build.h"
#include "interp_run.h"
#include "target.h"
DYNC__SPARE

/* ---- along rows ------------------------------------------------------------------------------ */

/* One partial result: of a size that the compiler knows, which is faster by far. */
static void dync__ired_copy(void *to, const void *from, int bytes)
{
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, 1);
}

/* x = y . x */
static void dync__ired_combine(const dync__interp_reduce *red, void *x, const void *y)
{
    uint64_t lanes[2];
    dync__ired_copy(lanes, y, red->bytes);
    dync__ired_copy((char *)lanes + red->bytes, x, red->bytes);
    dync__tile_fold(red->kind, red->type, lanes, 1);
    dync__ired_copy(x, lanes, red->bytes);
}

/* State: int64 count of grains, then one partial result for each bit of it, eight bytes apart. */
static void dync__ired_push(const dync__interp_reduce *red, char *acc, const void *partial)
{
    int64_t count;
    uint64_t x;
    char *level = acc + sizeof count;
    memcpy(&count, acc, sizeof count);
    dync__ired_copy(&x, partial, red->bytes);
    for (dync__size bits = (dync__size)count; bits & 1; bits >>= 1, level += 8)
        dync__ired_combine(red, &x, level);
    dync__ired_copy(level, &x, red->bytes);
    count++;
    memcpy(acc, &count, sizeof count);
}

static void dync__ired_pushed(const dync__interp_reduce *red, const char *acc, void *out)
{
    int64_t count;
    const char *level = acc + sizeof count;
    bool first = true;
    memcpy(&count, acc, sizeof count);
    if (count == 0) dync__ired_copy(out, &red->identity, red->bytes);
    for (dync__size bits = (dync__size)count; bits; bits >>= 1, level += 8) {
        if (!(bits & 1)) continue;
        if (first)
            dync__ired_copy(out, level, red->bytes);
        else
            dync__ired_combine(red, out, level);
        first = false;
    }
}

/* n elements to one. What is less than a block is filled up with identities. */
static void dync__ired_grain(const dync__interp_reduce *red, const char *x, dync__size n, void *out)
{
    enum { ALL = DYNC__TILE_LANES, ONTO_ITSELF = 1 | 8 };
    _Alignas(64) uint64_t lanes[ALL], rest[ALL];
    const dync__tile *t = &red->combine;
    size_t bytes = red->bytes;
    dync__tile_spread(&red->identity, red->bytes, lanes);
    if (n >= ALL) t->fn(t->op, lanes, lanes, x, NULL, n / ALL, ONTO_ITSELF);
    if (n % ALL) {
        dync__tile_spread(&red->identity, red->bytes, rest);
        memcpy(rest, x + (size_t)(n & -ALL) * bytes, (size_t)(n % ALL) * bytes);
        t->fn(t->op, lanes, lanes, rest, NULL, 1, 0);
    }
    dync__tile_fold(red->kind, red->type, lanes, ALL / 2);
    dync__ired_copy(out, lanes, red->bytes);
}

/* One partial result for each grain of n / length rows. */
static DYNC__ONCE void dync__ired_partials(const dync__interp_reduce *red, char *out, const char *x,
                                           dync__size length, dync__size n)
{
    for (dync__size left = length; n > 0; left = left ? left : length) {
        dync__size grain = DYNC__MIN(left, DYNC__TILE_GRAIN);
        dync__ired_grain(red, x, grain, out);
        x += grain * red->bytes;
        out += red->bytes;
        left -= grain;
        n -= grain;
    }
}

static void dync__ired_rows(const dync__irun *r, const dync__interp_reduce *red, const char *tile)
{
    char *acc = r->scratch + red->acc, *partial = r->scratch + red->partial;
    dync__size grains = (r->inner + DYNC__TILE_GRAIN - 1) / DYNC__TILE_GRAIN;
    if (r->c->mode == DYNC__LP_CHUNK) {
        dync__ired_partials(red, partial, tile, r->inner, r->n);
        for (dync__size g = 0; g < grains; g++) dync__ired_push(red, acc, partial + g * red->bytes);
        return;
    }
    char *out = r->ptr[red->dst];
    dync__ired_partials(red, grains == 1 ? out : partial, tile, r->inner, r->n);
    for (dync__size i = 0; grains > 1 && i < r->rows; i++) {
        memset(acc, 0, sizeof(int64_t));
        for (dync__size g = 0; g < grains; g++)
            dync__ired_push(red, acc, partial + (i * grains + g) * red->bytes);
        dync__ired_pushed(red, acc, out + i * red->bytes);
    }
}

/* ---- rows side by side ----------------------------------------------------------------------- */

/* State: DYNC__REDUCE_LEVELS counts, then as many row vectors: sixteen additions into one level,
 * then it goes into the next. The tile is first folded to one vector, halves onto each other. */
static void dync__ired_flush(const dync__irun *r, const dync__interp_reduce *red, int level)
{
    int64_t *count = (int64_t *)(void *)(r->scratch + red->acc);
    size_t bytes = (size_t)r->c->tile_rows * red->bytes;
    char *at = r->scratch + red->acc + DYNC__REDUCE_LEVELS * sizeof *count + (size_t)level * bytes;
    if (count[level] == 0) return;
    if (count[level + 1] == 0)
        memcpy(at + bytes, at, (size_t)r->rows * red->bytes);
    else
        dync__tile_run(&red->combine, at + bytes, at + bytes, at, NULL, r->rows, 0);
    count[level + 1]++;
    count[level] = 0;
}

static void dync__ired_vertical(const dync__irun *r, const dync__interp_reduce *red,
                                const char *tile)
{
    int64_t *count = (int64_t *)(void *)(r->scratch + red->acc);
    dync__size row = r->rows * red->bytes;
    char *level = r->scratch + red->acc + DYNC__REDUCE_LEVELS * sizeof *count,
         *fold = r->scratch + red->partial;
    for (dync__size j = r->inner; j > 1;) {
        dync__size half = j / 2;
        dync__tile_run(&red->combine, fold, tile, tile + (j - half) * row, NULL, half * r->rows, 0);
        if (tile != fold && j % 2) memcpy(fold + half * row, tile + half * row, (size_t)row);
        tile = fold;
        j -= half;
    }
    if (count[0] == 0)
        memcpy(level, tile, (size_t)row);
    else
        dync__tile_run(&red->combine, level, level, tile, NULL, r->rows, 0);
    count[0]++;
    for (int l = 0; l < DYNC__REDUCE_LEVELS - 1 && count[l] == DYNC__REDUCE_RADIX; l++)
        dync__ired_flush(r, red, l);
}

static void dync__ired_vertical_end(const dync__irun *r, const dync__interp_reduce *red, char *out)
{
    int64_t *count = (int64_t *)(void *)(r->scratch + red->acc);
    const int top = DYNC__REDUCE_LEVELS - 1;
    for (int l = 0; l < top; l++) dync__ired_flush(r, red, l);
    if (count[top])
        memcpy(out,
               r->scratch + red->acc + (size_t)DYNC__REDUCE_LEVELS * sizeof *count +
                   (size_t)(top * r->c->tile_rows) * red->bytes,
               (size_t)r->rows * red->bytes);
    else
        dync__irun_copy(out, 1, &red->identity, 0, r->rows, red->bytes);
}

/* ---- positions ------------------------------------------------------------------------------- */

/* argmax, argmin. State per row: the position (-1: none yet), and after all positions the value. */
#define DYNC__IRED_ARG(T, name)                                                               \
    static void dync__ired_arg_##name(const T *x, T *best, int64_t *where, bool least,        \
                                      dync__size rows, dync__size inner, dync__size row_step, \
                                      dync__size inner_step, dync__size first)                \
    {                                                                                         \
        for (dync__size i = 0; i < rows; i++) {                                               \
            T b = best[i];                                                                    \
            int64_t at = where[i];                                                            \
            for (dync__size j = 0; j < inner; j++) {                                          \
                T v = x[i * row_step + j * inner_step];                                       \
                if (at >= 0 && (b != b || (v == v && !(least ? v < b : v > b)))) continue;    \
                b = v;                                                                        \
                at = first + j;                                                               \
            }                                                                                 \
            best[i] = b;                                                                      \
            where[i] = at;                                                                    \
        }                                                                                     \
    }
DYNC__STRICT_FP_BEGIN
DYNC__IRED_ARG(float, f)
#if !defined(DYNC_NO_F64)
DYNC__IRED_ARG(double, d)
#endif
DYNC__IRED_ARG(int32_t, i)
DYNC__IRED_ARG(int64_t, l)
DYNC__IRED_ARG(uint8_t, b)
DYNC__STRICT_FP_END

/* Takes rows x inner values, the first at position `first`, into best and where. */
static void dync__ired_arg_take(const dync__interp_reduce *red, const void *x, void *best,
                                int64_t *where, dync__size rows, dync__size inner,
                                dync__size row_step, dync__size inner_step, dync__size first)
{
    bool least = red->kind == DYNC__R_ARGMIN;
    switch (red->type) {
    case DYNC_F32:
        dync__ired_arg_f(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
#if !defined(DYNC_NO_F64)
    case DYNC_F64:
        dync__ired_arg_d(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
#endif
    case DYNC_I32:
        dync__ired_arg_i(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
    case DYNC_I64:
        dync__ired_arg_l(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
    default:
        dync__ired_arg_b(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
    }
}

static void dync__ired_arg(const dync__irun *r, const dync__interp_reduce *red, const void *tile)
{
    bool vertical = r->c->mode == DYNC__LP_VERTICAL;
    int64_t *where = (int64_t *)(void *)(r->scratch + red->acc);
    dync__ired_arg_take(red, tile, where + r->c->tile_rows, where, r->rows, r->inner,
                        vertical ? 1 : r->inner, vertical ? r->rows : 1, r->from[DYNC__FROM_INNER]);
}

static void (*DYNC__BY_NEED dync__ired_by_place)(const dync__irun *, const dync__interp_reduce *,
                                                 const void *) = DYNC__AT_FIRST(dync__ired_arg);
DYNC__FN void dync__interp_places(void) { DYNC__PUT(dync__ired_by_place, dync__ired_arg); }

/* ---- the three of them ----------------------------------------------------------------------- */

static bool dync__ired_is_arg(const dync__interp_reduce *red)
{
    return red->kind >= DYNC__R_ARGMAX;
}

DYNC__FN size_t dync__ired_state_bytes(const dync__interp_reduce *red, int mode, dync__size rows)
{
    size_t n = (size_t)rows;
    if (dync__ired_is_arg(red)) return n * (sizeof(int64_t) + sizeof(double));
    return mode == DYNC__LP_VERTICAL ? DYNC__REDUCE_LEVELS * (sizeof(int64_t) + n * red->bytes)
                                     : 65 * sizeof(int64_t);
}

DYNC__FN size_t dync__ired_partial_bytes(const dync__interp_reduce *red, int mode, dync__size rows,
                                         dync__size inner)
{
    size_t n = (size_t)inner, each = (size_t)rows * red->bytes;
    if (dync__ired_is_arg(red)) return 0;
    return mode == DYNC__LP_VERTICAL ? (n + 1) / 2 * each
                                     : (n + DYNC__TILE_GRAIN - 1) / DYNC__TILE_GRAIN * each;
}

static void dync__ired_begin_used(const dync__irun *r, const dync__interp_reduce *red)
{
    int64_t *acc = (int64_t *)(void *)(r->scratch + red->acc);
    dync__size n = dync__ired_is_arg(red)            ? r->rows
                   : r->c->mode == DYNC__LP_VERTICAL ? DYNC__REDUCE_LEVELS
                                                     : 1;
    for (dync__size i = 0; i < n; i++) acc[i] = dync__ired_is_arg(red) ? -1 : 0;
}

static void dync__ired_take_used(dync__irun *r, const dync__interp_reduce *red, const char *tile)
{
    if (dync__ired_is_arg(red) && dync__ired_by_place)
        dync__ired_by_place(r, red, tile);
    else if (dync__ired_is_arg(red))
        r->status = DYNC_ERR_INTERNAL;
    else if (r->c->mode == DYNC__LP_VERTICAL)
        dync__ired_vertical(r, red, tile);
    else
        dync__ired_rows(r, red, tile);
}

static void dync__ired_end_used(const dync__irun *r, const dync__interp_reduce *red)
{
    char *out = r->ptr[red->dst], *acc = r->scratch + red->acc;
    if (dync__ired_is_arg(red)) {
        for (dync__size i = 0; i < r->rows; i++) {
            int64_t at = ((int64_t *)(void *)acc)[i];
            ((int64_t *)(void *)out)[i] = at < 0 ? 0 : at;
        }
    } else if (r->c->mode == DYNC__LP_VERTICAL) {
        dync__ired_vertical_end(r, red, out);
    } else if (r->c->mode == DYNC__LP_CHUNK) {
        dync__ired_pushed(red, acc, out);
    }
    if (r->c->tile_rows == 1) /* a scalar */
        dync__tile_spread(out, dync__ired_is_arg(red) ? 8 : red->bytes, (uint64_t *)(void *)out);
}

/* Linked by who builds such instructions; by who compiles, too, what writes short rows out. */
typedef struct dync__ired_calls {
    void (*begin)(const dync__irun *, const dync__interp_reduce *);
    void (*take)(dync__irun *, const dync__interp_reduce *, const char *tile);
    void (*end)(const dync__irun *, const dync__interp_reduce *);
} dync__ired_calls;
static const dync__ired_calls dync__ired_all = {dync__ired_begin_used, dync__ired_take_used,
                                                dync__ired_end_used};
static const dync__ired_calls *DYNC__BY_NEED dync__ired_used = DYNC__AT_FIRST(&dync__ired_all);
DYNC__MEETING(reduces)
DYNC__FN void dync__interp_reduces(void)
{
    DYNC__MEET(reduces);
    DYNC__PUT(dync__ired_used, &dync__ired_all);
    dync__ib_reduces();
}

DYNC__FN void dync__ired_begin(const dync__irun *r, const dync__interp_reduce *red)
{
    if (dync__ired_used) dync__ired_used->begin(r, red);
}
DYNC__FN void dync__ired_take(dync__irun *r, const dync__interp_reduce *red, const char *tile)
{
    if (dync__ired_used) dync__ired_used->take(r, red, tile);
}
DYNC__FN void dync__ired_end(const dync__irun *r, const dync__interp_reduce *red)
{
    if (dync__ired_used) dync__ired_used->end(r, red);
}

/* ---- running sums ---------------------------------------------------------------------------- */

/* Rows side by side: one addition after another. Along a row in groups of eight, as vectors of
 * machine code: each adds up by distances of 1, 2 and 4 (Kogge and Stone 1973), then what came
 * before it is added. */
#define DYNC__IRED_SCAN(T, ACC, name)                                                             \
    DYNC__BUSY static void dync__ired_scan_##name(bool vertical, dync__size rows,                 \
                                                  dync__size inner, const T *x, T *y, ACC *carry) \
    {                                                                                             \
        for (dync__size j = 0; vertical && j < inner; j++, x += rows, y += rows)                  \
            for (dync__size i = 0; i < rows; i++) y[i] = (T)(carry[i] += (ACC)x[i]);              \
        for (; !vertical && rows > 0; rows--, carry++)                                            \
            for (dync__size end, j = 0; j < inner; j = end) {                                     \
                ACC last = 0, two = 0, two_before = 0, four[4] = {0}, sum = *carry;               \
                for (end = DYNC__MIN(inner, j + 8); j < end; j++) {                               \
                    ACC one = (ACC) * x++, pair = one + last, quad = pair + two_before,           \
                        all = quad + four[j & 3];                                                 \
                    last = one, two_before = two, two = pair, four[j & 3] = quad;                 \
                    *y++ = (T)(*carry = sum + all);                                               \
                }                                                                                 \
            }                                                                                     \
    }
DYNC__STRICT_FP_BEGIN
#if defined(DYNC_NO_F64)
DYNC__IRED_SCAN(float, float, f)
#else
DYNC__IRED_SCAN(float, double, f)
DYNC__IRED_SCAN(double, double, d)
#endif
DYNC__IRED_SCAN(uint64_t, uint64_t, l) /* unsigned: wraps */
DYNC__STRICT_FP_END

static void dync__ired_sums(const dync__irun *r, const dync__interp_step *s)
{
    bool vertical = r->c->mode == DYNC__LP_VERTICAL;
    void *x = r->ptr[s->a], *y = r->ptr[s->dst], *carry = r->ptr[s->b];
    if (s->type == DYNC_F32) dync__ired_scan_f(vertical, r->rows, r->inner, x, y, carry);
#if !defined(DYNC_NO_F64)
    else if (s->type == DYNC_F64)
        dync__ired_scan_d(vertical, r->rows, r->inner, x, y, carry);
#endif
    else
        dync__ired_scan_l(vertical, r->rows, r->inner, x, y, carry);
}

static void (*DYNC__BY_NEED dync__ired_by_scan)(const dync__irun *, const dync__interp_step *) =
    DYNC__AT_FIRST(dync__ired_sums);
DYNC__FN void dync__interp_scans(void)
{
    DYNC__PUT(dync__ired_by_scan, dync__ired_sums);
    dync__ib_scans();
}

DYNC__FN void dync__ired_scan(dync__irun *r, const dync__interp_step *s)
{
    if (dync__ired_by_scan)
        dync__ired_by_scan(r, s);
    else
        r->status = DYNC_ERR_INTERNAL;
}
