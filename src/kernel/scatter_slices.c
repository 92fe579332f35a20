/* kernel/scatter_slices.c: slices that go to places along a dim, each in one piece. Before
 * scatter.c, which says what is done. */
#include "../dync.in.h"
#include "../codegen/convert.h"
#include "../codegen/target.h"
#include "scatter.h"
DYNC__HOT

/* Adds one slice to another: what is less than a block of the interpreter's would go through its
 * buffers. */
#define DYNC__SCATTER_SLICE(name, T)                                              \
    static void dync__slice_##name(char *to, const char *from, int64_t n)         \
    {                                                                             \
        const T *x = (const T *)(const void *)from;                               \
        T *y = (T *)(void *)to;                                                   \
        for (; n >= 4; n -= 4, x += 4, y += 4) {                                  \
            T a = y[0] + x[0], b = y[1] + x[1], c = y[2] + x[2], d = y[3] + x[3]; \
            y[0] = a, y[1] = b, y[2] = c, y[3] = d;                               \
        }                                                                         \
        for (; n > 0; n--, x++, y++) *y += *x;                                    \
    }
DYNC__SCATTER_SLICE(f32, float)
DYNC__SCATTER_SLICE(f64, double)
DYNC__SCATTER_SLICE(i32, uint32_t)
DYNC__SCATTER_SLICE(i64, uint64_t)

/* scale: of a block, or NULL for 1 */
static void dync__scatter_slice(const dync__scatter *s, const dync__tile *add,
                                const uint64_t *scale_or_null, int64_t bytes, char *y,
                                const char *x, int64_t n)
{
    int64_t whole = scale_or_null ? n : n & -DYNC__TILE_LANES;
    if (!s->adds) {
        memcpy(y, x, (size_t)(n * bytes));
        return;
    }
    if (whole) {
        dync__tile_run(add, y, x, scale_or_null ? (const void *)scale_or_null : y, y, whole,
                       scale_or_null ? 2 : 0);
        y += whole * bytes, x += whole * bytes, n -= whole;
    }
    if (s->dtype == DYNC_F32)
        dync__slice_f32(y, x, n);
    else if (s->dtype == DYNC_F64)
        dync__slice_f64(y, x, n);
    else if (bytes == 4)
        dync__slice_i32(y, x, n);
    else
        dync__slice_i64(y, x, n);
}

/* Slices that are dense along the last dim: the part's columns of row after row. Of
 * f16 and bf16 all that goes to one row is added at once, in f32, and rounded once. */
DYNC__FN void dync__scatter_lines(void *user, int part, int n_parts)
{
    dync__scatter *s = user;
    int64_t stored = dync__dtype_info(s->out.dtype)->bytes,
            bytes = dync__dtype_info(s->dtype)->bytes, begin = part * s->each,
            next = s->step * stored;
    int64_t shape[2] = {s->size, DYNC__MIN(s->each, s->step - begin)}, whole[2] = {s->step, 1},
            width = shape[1];
    int64_t n = s->places->lay.shape[s->dim], all = dync__operand_numel(s->places) / s->step;
    uint64_t scale[DYNC__TILE_LANES];
    float narrow = (float)s->scale;
    int isa = dync__target_level();
    dync__tile add = dync__tile_find(isa, s->scale == 1 ? DYNC__P_add : DYNC__P_fma, s->dtype);
    dync__convert widen = {0}, rounds = {0}, adds = {0};
    if (s->sums) {
        widen = dync__convert_open(s->dtype, s->out.dtype);
        rounds = dync__convert_open(s->out.dtype, s->dtype);
        adds = dync__convert_adds(s->out.dtype);
    }
    char *sum = s->sums ? s->sums + (size_t)part * s->room : NULL,
         *line = s->sums ? sum + width * bytes : NULL;
    dync__tile_spread(bytes == 4 ? (const void *)&narrow : &s->scale, (int)bytes, scale);
    for (int64_t i = 0; i < all; i += n) {
        int64_t first = i / n * s->size * s->step + begin;
        char *to = (char *)s->out.data + first * stored;
        const char *base = s->base + first * stored,
                   *from = (const char *)s->source.data + (i * s->step + begin) * stored;
        if (to != base)
            dync__copy_elements(2, shape, to, s->out.dtype, whole, base, s->out.dtype, whole);
        for (int64_t k = 0; k < n; k++) {
            int64_t index = ((const int64_t *)s->index.data)[k];
            if ((uint64_t)index >= (uint64_t)s->size) {
                DYNC__ATOMIC_STORE(&s->failed, 1);
                return;
            }
            char *at = to + index * next, *y = s->sums ? sum : at;
            if (s->sums && s->later[k] < -1) continue;
            if (s->sums) dync__convert_run(&widen, sum, at, width);
            for (int64_t l = k; l >= 0; l = !s->sums           ? -1
                                            : s->later[l] < -1 ? -3 - s->later[l]
                                                               : s->later[l]) {
                const char *x = from + l * next;
                if (s->sums && s->scale == 1) {
                    dync__convert_run(&adds, sum, x, width);
                    continue;
                }
                if (s->sums) dync__convert_run(&widen, line, x, width), x = line;
                dync__scatter_slice(s, &add, s->scale == 1 ? NULL : scale, bytes, y, x, width);
            }
            if (s->sums) dync__convert_run(&rounds, at, sum, width);
        }
    }
    (void)n_parts;
}

DYNC__FN bool dync__scatter_names_slices(const dync__operand *op, int dim, dync__operand *one)
{
    const dync__layout *index = &op[1].lay;
    int n = index->ndim;
    if (dim >= n - 1) return false;
    for (int d = 0; d < n; d++)
        if (index->shape[d] != op[2].lay.shape[d] ||
            (d != dim && (index->shape[d] != op[3].lay.shape[d] ||
                          (index->stride[d] != 0 && index->shape[d] != 1))))
            return false;
    *one = op[1];
    one->lay.ndim = 1;
    one->lay.shape[0] = index->shape[dim];
    one->lay.stride[0] = index->stride[dim];
    return true;
}
