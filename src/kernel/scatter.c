/* kernel/scatter.c: writes and additions to places given by an index. Before: runtime/run.c.
 *
 *   scatter, scatter_add   out = base; out[.., index[p], ..] = or += source[p] for every place p of index; attr: dim
 *   index_add              out = base; slice index[i] of out along dim += alpha * slice i of source; attr: dim, fattr: alpha
 * In order of places: of two writes to one element the later wins, and sums do not depend on threads, as these take parts of another dim: rows
 * where the dim is the last one, else columns. An index outside the dim is DYNC_ERR_INDEX; what was written before stays written. Dense arrays
 * as in operand.c; base and out may be one. */
#include "../dync.in.h"
#include "../codegen/interp.h"
#include "operand.h"

static dync_status dync__scatter_bad_index(const dync__kcall *c, int64_t index, int64_t size)
{
    return dync__fail(DYNC_ERR_INDEX, "%s: index %lld is out of bounds for dimension %lld with size %lld", c->row->name, (long long)index,
                      (long long)c->attr[0], (long long)size);
}

typedef struct dync__scatter {
    const dync__kcall *call;
    dync__dense index, source, out;
    const dync__operand *places;        /* the operand whose shape is walked */
    const char *base;                   /* its rows are copied where they are added to; NULL: out has them */
    int dtype, kind, split;             /* kind: 0 sets, 1 adds, 2 adds whole slices (the index is one-dimensional); split: the dim that parts cut; -1 */
    int64_t dim, each;                  /* each: of the dim split, in a part */
    int32_t failed;
} dync__scatter;

static int64_t dync__scatter_stride(const dync__operand *o, int dim)
{
    int64_t stride = 1;
    for (int d = o->lay.ndim - 1; d > dim; d--) stride *= o->lay.shape[d];
    return stride;
}

/* n elements of T from x to y by index: along it, or step * index away (the next one `every` on) where each has its own. */
#define DYNC__SCATTER_LINE(T, put)                                                                    \
    do {                                                                                              \
        const T *x = (const T *)(const void *)from;                                                   \
        T *y = (T *)(void *)to;                                                                       \
        for (int64_t i = 0; i < n && !along; i++) {                                                   \
            if ((uint64_t)index[i] >= (uint64_t)size) return false;                                   \
            T *at = y + index[i];                                                                     \
            put;                                                                                      \
        }                                                                                             \
        for (int64_t i = 0; i < n && along; i++, index += every) {                                    \
            if ((uint64_t)*index >= (uint64_t)size) return false;                                     \
            T *at = y + *index * step + i;                                                            \
            put;                                                                                      \
        }                                                                                             \
        return true;                                                                                  \
    } while (0)

/* Along the last dim of `places`: n indices, elements of source, and of out where that is not the dim. false: an index outside. */
static bool dync__scatter_line(const dync__scatter *s, const int64_t *index, int64_t n, const char *from, char *to, int64_t step)
{
    int bytes = dync__dtype_info(s->dtype)->bytes;
    int64_t size = s->call->operand[3].lay.shape[s->dim], along = s->dim != s->call->operand[3].lay.ndim - 1, every = s->kind != 2 || !along;
    double scale = s->kind == 2 ? s->call->fattr[0] : 1.0;
    float narrow = (float)scale;
    if (s->kind == 0) {
        if (bytes == 1) DYNC__SCATTER_LINE(uint8_t, *at = x[i]);
        if (bytes == 2) DYNC__SCATTER_LINE(uint16_t, *at = x[i]);
        if (bytes == 4) DYNC__SCATTER_LINE(uint32_t, *at = x[i]);
        DYNC__SCATTER_LINE(uint64_t, *at = x[i]);
    }
    if (s->dtype == DYNC_F32) DYNC__SCATTER_LINE(float, *at += narrow * x[i]);
    if (s->dtype == DYNC_F64) DYNC__SCATTER_LINE(double, *at += scale * x[i]);
    for (int64_t i = 0; i < n; i++, index += every, to += along * bytes) { /* integers; so is their scale */
        if ((uint64_t)*index >= (uint64_t)size) return false;
        char *at = to + *index * step * bytes;
        uint64_t sum = (uint64_t)dync__load_i64(at, s->dtype) + (uint64_t)(int64_t)scale * (uint64_t)dync__load_i64(from + i * bytes, s->dtype);
        dync__store_i64(at, s->dtype, (int64_t)sum);
    }
    return true;
}

/* Every place of part number `part`, line by line. */
static void dync__scatter_part(void *user, int part, int n_parts)
{
    dync__scatter *s = user;
    const dync__operand *source = &s->call->operand[2], *out = &s->call->operand[3];
    int last = out->lay.ndim - 1;
    int64_t bytes = dync__dtype_info(s->dtype)->bytes, at[DYNC_MAX_DIMS] = {0}, end[DYNC_MAX_DIMS], from[DYNC_MAX_DIMS], to[DYNC_MAX_DIMS];
    int64_t n = 1, step = dync__scatter_stride(out, (int)s->dim), first = s->split == last ? part * s->each : 0;
    for (int d = 0; d <= last; d++) {
        end[d] = s->places->lay.shape[d];
        if (d == s->split) end[d] = part + 1 == n_parts ? end[d] : DYNC__MIN(end[d], (part + 1) * s->each), at[d] = DYNC__MIN(part * s->each, end[d]);
        from[d] = dync__scatter_stride(source, d);
        to[d] = d == s->dim ? 0 : dync__scatter_stride(out, d);
        n *= end[d] - at[d];
    }
    at[last] = 0;
    for (int64_t left = n > 0 ? n : 0; left > 0; left -= end[last] - first) {
        int64_t source_at = first, out_at = first, place = first;
        for (int d = 0; d < last; d++) {
            source_at += at[d] * from[d];
            out_at += at[d] * to[d];
            place += at[d] * dync__scatter_stride(s->places, d);
        }
        const int64_t *index = (const int64_t *)s->index.data + (s->kind != 2 ? place : s->dim == last ? 0 : at[s->dim]);
        if (s->base) memcpy((char *)s->out.data + out_at * bytes, s->base + out_at * bytes, (size_t)(out->lay.shape[last] * bytes));
        if (!dync__scatter_line(s, index, end[last] - first, (const char *)s->source.data + source_at * bytes, (char *)s->out.data + out_at * bytes, step)) {
            DYNC__ATOMIC_STORE(&s->failed, 1);
            return;
        }
        for (int i = last - 1; i >= 0 && ++at[i] == end[i]; i--) at[i] = i == s->split ? part * s->each : 0;
    }
}

/* index_add of floats whose slices are dense along the last dim: the part's columns of line after line. */
static void dync__scatter_lines(void *user, int part, int n_parts)
{
    dync__scatter *s = user;
    const dync__layout *source = &s->call->operand[2].lay, *out = &s->call->operand[3].lay;
    int bytes = dync__dtype_info(s->dtype)->bytes;
    int64_t inner = dync__scatter_stride(&s->call->operand[3], (int)s->dim), size = out->shape[s->dim], n = source->shape[s->dim];
    int64_t begin = part * s->each, length = DYNC__MIN(s->each, inner - begin);
    uint64_t scale[DYNC__TILE_LANES];
    double alpha = s->call->fattr[0];
    float narrow = (float)alpha;
    dync__tile_fn add = dync__tile_find(dync__tile_isa(), alpha == 1 ? DYNC__P_add : DYNC__P_fma, s->dtype);
    dync__tile_spread(bytes == 4 ? (const void *)&narrow : &alpha, bytes, scale);
    for (int64_t i = 0, all = dync__operand_numel(s->places) / inner; i < all; i++) {
        int64_t index = ((const int64_t *)s->index.data)[i % n];
        const char *from = (const char *)s->source.data + (i * inner + begin) * bytes;
        char *to = (char *)s->out.data + ((i / n * size + index) * inner + begin) * bytes;
        if (index < 0 || index >= size) {
            DYNC__ATOMIC_STORE(&s->failed, 1);
            return;
        }
        add(to, from, alpha == 1 ? (void *)to : scale, to, length, alpha == 1 ? 0 : 2);
    }
    (void)n_parts;
}

static dync_status dync__scatter_walk(dync__scatter *s, bool lines)
{
    const dync__layout *lay = &s->places->lay;
    int last = lay->ndim - 1, threads = dync__pool_worth((double)dync__operand_numel(s->places));
    s->split = s->dim != last ? last : last - 1;
    for (int d = 0; d < last && s->dim == last; d++) s->split = lay->shape[d] > lay->shape[s->split] ? d : s->split;
    int64_t all = s->split < 0 ? 1 : lay->shape[s->split], n = dync__operand_numel(&s->call->operand[1]), size = s->call->operand[3].lay.shape[s->dim];
    if (dync__operand_numel(s->places) == 0) return DYNC_OK;
    if (lines) all = dync__scatter_stride(&s->call->operand[3], (int)s->dim);
    s->each = (all + threads - 1) / threads;
    dync__pool_run(lines ? dync__scatter_lines : dync__scatter_part, s, (int)((all + s->each - 1) / s->each));
    if (!s->failed) return DYNC_OK;
    const int64_t *at = s->index.data;
    while (n-- > 0 && (uint64_t)*at < (uint64_t)size) at++;
    return dync__scatter_bad_index(s->call, *at, size);
}

static dync_status dync__scatter_run(const dync__kcall *c, void *const *data, int kind)
{
    const dync__operand *op = c->operand;
    int64_t stride[DYNC_MAX_DIMS];
    dync__scatter s;
    memset(&s, 0, sizeof s);
    s.call = c;
    s.dtype = dync__operand_working(op[3].dtype);
    s.dim = c->attr[0];
    s.kind = kind;
    s.places = kind == 2 ? &op[2] : &op[1];
    if (dync__operand_numel(&op[3]) == 0 && dync__operand_numel(s.places) == 0) return DYNC_OK;
    dync_status status = dync__dense_in(&op[1], data[1], DYNC_I64, &s.index);
    if (status == DYNC_OK) status = dync__dense_in(&op[2], data[2], s.dtype, &s.source);
    if (status == DYNC_OK) status = dync__dense_out(&op[3], data[3], s.dtype, &s.out);
    if (status == DYNC_OK) {
        for (int d = 0; d < op[3].lay.ndim; d++) stride[d] = dync__scatter_stride(&op[3], d);
        bool in_place = !s.out.copy && dync__operand_at(&op[0], data[0]) == s.out.data && dync__layout_is_contiguous(&op[0].lay);
        bool lines = kind == 2 && dync__dtype_info(s.dtype)->kind == 'f' && dync__scatter_stride(&op[3], (int)s.dim) >= 8;
        bool whole = s.dim == op[3].lay.ndim - 1 && dync__operand_numel(s.places) > 0 && op[0].dtype == s.dtype && dync__layout_is_contiguous(&op[0].lay);
        for (int d = 0; d < s.dim; d++) whole &= s.places->lay.shape[d] == op[3].lay.shape[d];
        if (!in_place && whole) s.base = dync__operand_at(&op[0], data[0]);
        else if (!in_place)
            dync__copy_elements(op[0].lay.ndim, op[0].lay.shape, s.out.data, s.dtype, stride, dync__operand_at(&op[0], data[0]), op[0].dtype,
                                op[0].lay.stride);
        status = dync__scatter_walk(&s, lines);
    }
    if (status == DYNC_OK) dync__dense_finish(&op[3], data[3], &s.out);
    dync__dense_drop(&s.index);
    dync__dense_drop(&s.source);
    dync__dense_drop(&s.out);
    return status;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------------------- */

static dync_status dync__scatter_check(dync__kcall *c, bool slices)
{
    const dync__operand *base = &c->operand[0], *index = &c->operand[1], *source = &c->operand[2], *out = &c->operand[3];
    DYNC__TRY(dync__kcall_expect(c, c->n == 4 && base->lay.ndim >= 1 && out->lay.ndim == base->lay.ndim && source->lay.ndim == base->lay.ndim,
                                 "4 operands, base, source and result of one rank"));
    DYNC__TRY(dync__kcall_expect(c, c->attr[0] >= 0 && c->attr[0] < base->lay.ndim, "a dim of the operand"));
    DYNC__TRY(dync__kcall_expect(c, base->dtype == out->dtype && source->dtype == out->dtype && index->dtype == DYNC_I64,
                                 "one dtype, and an I64 index"));
    DYNC__TRY(dync__kcall_expect(c, slices ? index->lay.ndim == 1 && index->lay.shape[0] == source->lay.shape[c->attr[0]]
                                           : index->lay.ndim == base->lay.ndim, "an index that fits the source"));
    for (int d = 0; d < base->lay.ndim; d++) {
        DYNC__TRY(dync__kcall_expect(c, base->lay.shape[d] == out->lay.shape[d], "base and result of one shape"));
        const int64_t *walked = slices ? source->lay.shape : index->lay.shape;
        DYNC__TRY(dync__kcall_expect(c, (d == c->attr[0] || walked[d] <= out->lay.shape[d]) && walked[d] <= source->lay.shape[d],
                                     "an index no larger than source and result"));
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__k_index_add_prepare(dync__kcall *c) { return dync__scatter_check(c, true); }
DYNC__FN dync_status dync__k_scatter_add_prepare(dync__kcall *c) { return dync__scatter_check(c, false); }
DYNC__FN dync_status dync__k_scatter_prepare(dync__kcall *c) { return dync__scatter_check(c, false); }

DYNC__FN dync_status dync__k_scatter(const dync__kcall *c, void *const *data, void *scratch)
{
    (void)scratch;
    return dync__scatter_run(c, data, 0);
}

DYNC__FN dync_status dync__k_scatter_add(const dync__kcall *c, void *const *data, void *scratch)
{
    (void)scratch;
    return dync__scatter_run(c, data, 1);
}

DYNC__FN dync_status dync__k_index_add(const dync__kcall *c, void *const *data, void *scratch)
{
    (void)scratch;
    return dync__scatter_run(c, data, 2);
}

/* ---- what loops read by ------------------------------------------------------------------------------------------------------------ */

/* Loops hold their index inside the dim, so that no memory is read that is not the array's; that it was outside is said here. */
DYNC__FN dync_status dync__k_check_index_prepare(dync__kcall *c)
{
    int64_t n = dync__operand_numel(&c->operand[0]);
    dync__piece p;
    if (n < 4096) return dync__kcall_expect(c, c->n == 1, "an index");
    if (!dync__piece_begin(&p, "check_index", 1, 1, n)) return DYNC_ERR_MEMORY;
    int from = dync__piece_buf(&p, DYNC_I64, DYNC__BUF_IN), to = dync__piece_buf(&p, DYNC_I64, DYNC__BUF_OUT), at = dync__piece_load(&p, from, 0, 0, 1);
    int below = dync__lb_op(&p.b, DYNC__P_sub, dync__lb_i(&p.b, DYNC_I64, c->attr[0] - 1), at, -1);
    int least = dync__lb_reduce(&p.b, DYNC__R_MIN, dync__lb_op(&p.b, DYNC__P_or_, at, below, -1)); /* the sign of either says it */
    p.b.section = 2;
    dync__piece_store(&p, to, 0, 0, 0, least);
    return dync__piece_end(&p, &c->piece[0]);
}

DYNC__FN dync_status dync__k_check_index(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *op = &c->operand[0];
    int64_t n = dync__operand_numel(op), last = c->attr[0] - 1, least = -1, i = 0;
    dync__dense index;
    (void)scratch;
    DYNC__TRY(dync__dense_in(op, data[0], DYNC_I64, &index));
    const int64_t *at = index.data;
    dync_status status = c->piece[0] ? dync__code_run(c->piece[0], (void *[]){index.data, &least}, 0, 0) : DYNC_OK;
    while (status == DYNC_OK && least < 0 && i < n && at[i] >= 0 && at[i] <= last) i++;
    if (status == DYNC_OK && least < 0 && i < n)
        status = dync__fail(DYNC_ERR_INDEX, "index %lld is out of bounds for dimension with size %lld", (long long)at[i], (long long)last + 1);
    dync__dense_drop(&index);
    return status;
}
