/* kernel/scatter.c: writes and additions to places given by an index. Before: runtime/run.c.
 *
 *   scatter, scatter_add  out = base; out[.., index[p], ..] = or += source[p] for every place p of
 *                         index
 *   index_add             out = base; slice index[i] of out along dim += alpha * slice i of source
 *
 * An index that names whole slices (it is expanded along all other dims) is taken as index_add's
 * is. In order of places: of two writes to one element the later wins, and sums do not depend on
 * threads, as these take parts of another dim: rows where the dim is the last one, else columns. An
 * index outside the dim is DYNC_ERR_INDEX; what was written before stays written. Dense arrays as
 * in operand.c; base and out may be one. */
#include "../dync.in.h"
#include "scatter.h"
DYNC__HOT

/* Are four indices inside? */
static bool dync__scatter_four(const int64_t *index, uint64_t size)
{
    return (uint64_t)index[0] < size && (uint64_t)index[1] < size && (uint64_t)index[2] < size &&
           (uint64_t)index[3] < size;
}

/* n elements of T along the last dim, from x to y by index: along it, or step * index away where
 * each has its own. false: an index outside. Four at a time: a loop of one takes a cycle an element
 * and a fifth more where it lies across lines of code. */
#define DYNC__SCATTER_LINE(name, T, alpha, put)                                               \
    static bool dync__scatter_##name(const dync__scatter *s, const int64_t *index, int64_t n, \
                                     const char *from, char *to)                              \
    {                                                                                         \
        const T *x = (const T *)(const void *)from, scale = (T)(alpha);                       \
        T *y = (T *)(void *)to, *at;                                                          \
        (void)scale;                                                                          \
        uint64_t size = (uint64_t)s->size;                                                    \
        int64_t step = s->step, along = s->along, every = s->every || (step == 1 && !along);  \
        for (; n >= 4 && step == 1 && !along; n -= 4, index += 4) {                           \
            if (!dync__scatter_four(index, size)) break;                                      \
            at = y + index[0], put, x++;                                                      \
            at = y + index[1], put, x++;                                                      \
            at = y + index[2], put, x++;                                                      \
            at = y + index[3], put, x++;                                                      \
        }                                                                                     \
        for (; n > 0; n--, index += every, x++, y += along) {                                 \
            if ((uint64_t)*index >= size) return false;                                       \
            at = y + *index * step, put;                                                      \
        }                                                                                     \
        return true;                                                                          \
    }
DYNC__SCATTER_LINE(set8, uint8_t, 1, *at = *x)
DYNC__SCATTER_LINE(set16, uint16_t, 1, *at = *x)
DYNC__SCATTER_LINE(set32, uint32_t, 1, *at = *x)
DYNC__SCATTER_LINE(set64, uint64_t, 1, *at = *x)
DYNC__SCATTER_LINE(add_f32, float, s->scale, *at += scale * *x)
DYNC__SCATTER_LINE(add_f64, double, s->scale, *at += scale * *x)
DYNC__SCATTER_LINE(add_bool, uint8_t, (int64_t)s->scale, *at |= scale && *x)
DYNC__SCATTER_LINE(add_8, uint8_t, (int64_t)s->scale, *at = (uint8_t)(*at + scale * *x))
DYNC__SCATTER_LINE(add_16, uint16_t, (int64_t)s->scale,
                   *at = (uint16_t)(*at + (uint32_t)scale * *x))
DYNC__SCATTER_LINE(add_32, uint32_t, (int64_t)s->scale, *at += scale * *x)
DYNC__SCATTER_LINE(add_64, uint64_t, (int64_t)s->scale, *at += scale * *x)

/* Every place of part number `part`, one run along the last dim after the other. Parts share no
 * place of out: they cut another dim than the one the indices choose. */
static void dync__scatter_part(void *user, int part, int n_parts)
{
    dync__scatter *s = user;
    const dync__operand *const of[3] = {s->places, &s->call->operand[2], &s->call->operand[3]};
    int last = of[0]->lay.ndim - 1, d;
    int64_t bytes = dync__dtype_info(s->dtype)->bytes, begin[DYNC_MAX_DIMS], at[DYNC_MAX_DIMS],
            end[DYNC_MAX_DIMS], step[3][DYNC_MAX_DIMS];
    char *to[3] = {s->index.data, s->source.data, s->out.data};
    for (int o = 0; o < 2; o++) dync__dense_strides(of[o], step[o]);
    memcpy(step[2], s->stride, sizeof step[2]);
    for (d = 0; d <= last; d++) {
        begin[d] = at[d] = d == s->split ? part * s->each : 0;
        end[d] = d == s->split && part + 1 < n_parts ? at[d] + s->each : s->places->lay.shape[d];
        if (s->slices) step[0][d] = d == s->dim;
        if (d == s->dim) step[2][d] = 0;
        for (int o = 0; o < 3; o++) to[o] += at[d] * (step[o][d] *= o ? bytes : 8);
    }
    do {
        if (!s->line(s, (const int64_t *)(void *)to[0], end[last] - begin[last], to[1], to[2])) {
            DYNC__ATOMIC_STORE(&s->failed, 1);
            return;
        }
        for (d = last - 1; d >= 0; d--) {
            int64_t by = ++at[d] < end[d] ? 1 : begin[d] + 1 - end[d];
            for (int o = 0; o < 3; o++) to[o] += by * step[o][d];
            if (at[d] < end[d]) break;
            at[d] = begin[d];
        }
    } while (d >= 0);
}

/* Rows along the dim, where it is the last one and source and out have as many: some at a time,
 * while they are in the cache; f16 and bf16 are
 * floats there. */
static void dync__scatter_rows(void *user, int part, int n_parts)
{
    dync__scatter *s = user;
    int64_t n = s->places->lay.shape[s->dim], m = s->call->operand[2].lay.shape[s->dim],
            end = dync__operand_numel(s->places) / n, one = 1;
    int64_t stored = dync__dtype_info(s->out.dtype)->bytes,
            bytes = dync__dtype_info(s->dtype)->bytes, first = part * s->each;
    if (part + 1 < n_parts) end = first + s->each;
    for (int64_t row = first; row < end; row += s->some) {
        int64_t rows = DYNC__MIN(s->some, end - row), all = rows * s->size, more = rows * m;
        char *to = (char *)s->out.data + row * s->size * stored,
             *y = s->sums ? s->sums + (size_t)part * s->room : to;
        const char *from = (const char *)s->source.data + row * m * stored,
                   *base = s->base + row * s->size * stored;
        if (y != base) dync__copy_elements(1, &all, y, s->dtype, &one, base, s->out.dtype, &one);
        if (s->sums)
            dync__copy_elements(1, &more, y + all * bytes, s->dtype, &one, from, s->out.dtype,
                                &one),
                from = y + all * bytes;
        for (int64_t i = 0; i < rows; i++)
            if (!s->line(s, (const int64_t *)s->index.data + (s->slices ? 0 : (row + i) * n), n,
                         from + i * m * bytes, y + i * s->size * bytes)) {
                DYNC__ATOMIC_STORE(&s->failed, 1);
                return;
            }
        if (s->sums) dync__copy_elements(1, &all, to, s->out.dtype, &one, y, s->dtype, &one);
    }
}

/* Cuts the work so that parts share no place of out, gives each its room for sums, and runs `part`.
 * DYNC_ERR_INDEX names the first index that is outside; out may be partly written. */
static dync_status dync__scatter_walk(dync__scatter *s, void (*part)(void *, int, int))
{
    const dync__layout *lay = &s->places->lay;
    int last = lay->ndim - 1,
        threads = dync__pool_worth((double)dync__operand_numel(s->places) / DYNC__SCATTER_PER_NS);
    s->split = s->dim != last ? last : last - 1;
    for (int d = 0; d < last && s->dim == last; d++)
        s->split = lay->shape[d] > lay->shape[s->split] ? d : s->split;
    int64_t all = part == dync__scatter_rows    ? dync__operand_numel(s->places) / lay->shape[last]
                  : part == dync__scatter_lines ? s->step
                  : s->split < 0                ? 1
                                                : lay->shape[s->split],
            bytes = dync__dtype_info(s->dtype)->bytes,
            width = s->call->operand[2].lay.shape[s->dim];
    s->each = (all + threads - 1) / threads;
    s->some = (int32_t)(1 + (s->dtype != s->out.dtype ? 512 : 128) / (s->size + width));
    int parts = (int)((all + s->each - 1) / s->each);
    s->room =
        (size_t)((part == dync__scatter_rows ? s->some * (s->size + width) : 2 * s->each) * bytes);
    size_t sums = (size_t)parts * s->room,
           lists = part == dync__scatter_lines ? (size_t)(width + s->size) * sizeof(int64_t) : 0;
    if (s->dtype != s->out.dtype && !(s->sums = dync__alloc_data(sums + lists)))
        return DYNC_ERR_MEMORY;
    if (s->sums && lists) {
        int64_t *later = s->later = (int64_t *)(void *)(s->sums + sums), *latest = later + width, l;
        memset(latest, 0xff, (size_t)s->size * sizeof *latest);
        for (int64_t k = 0, i; k < width; k++) {
            later[k] = -1;
            if ((uint64_t)(i = ((const int64_t *)s->index.data)[k]) >= (uint64_t)s->size) continue;
            if ((l = latest[i]) >= 0) later[l] = later[l] == -1 ? k : -3 - k, later[k] = -2;
            latest[i] = k;
        }
    }
    dync__pool_run(part, s, parts);
    if (s->sums) dync__free_data(s->sums, sums + lists);
    if (!s->failed) return DYNC_OK;
    const int64_t *at = s->index.data;
    dync_loc before = dync__tls.at;
    while ((uint64_t)*at < (uint64_t)s->size) at++;
    if (s->call->at.file) dync__tls.at = s->call->at;
    dync_status status = dync__fail(
        DYNC_ERR_INDEX, "%s: index %lld is out of bounds for dimension %lld with size %lld",
        s->call->row->name, (long long)*at, (long long)s->dim, (long long)s->size);
    dync__tls.at = before;
    return status;
}

/* Is the base where the result is, in strides of its own, so that only places that the index names
 * are touched? Sums in another dtype, and slices along the last dim, need a dense copy. */
static bool dync__scatter_there(const dync__scatter *s, void *const *data)
{
    const dync__operand *base = &s->call->operand[0], *out = &s->call->operand[3];
    return base->dtype == s->dtype && !(s->slices && s->dim == out->lay.ndim - 1) &&
           dync__operand_at(base, data[0]) == dync__operand_at(out, data[3]) &&
           dync__layout_equal(&base->lay, &out->lay) && !dync__layout_is_contiguous(&out->lay) &&
           dync__layout_is_apart(&out->lay);
}

static void dync__scatter_find_line(dync__scatter *s)
{
    static bool (*const line[2][4])(const dync__scatter *, const int64_t *, int64_t, const char *,
                                    char *) = {
        {dync__scatter_set8, dync__scatter_set16, dync__scatter_set32, dync__scatter_set64},
        {dync__scatter_add_8, dync__scatter_add_16, dync__scatter_add_32, dync__scatter_add_64}};
    const dync__dtype_row *type = dync__dtype_info(s->dtype);
    s->line = s->adds && type->kind == 'f'
                  ? type->bytes == 4 ? dync__scatter_add_f32 : dync__scatter_add_f64
              : s->adds && s->dtype == DYNC_BOOL
                  ? dync__scatter_add_bool
                  : line[s->adds][DYNC__BIT_LENGTH((unsigned)type->bytes) - 1];
}

/* Slices in one piece each: not where they would go through the interpreter's buffers for a few
 * elements. */
static bool dync__scatter_takes_lines(const dync__scatter *s)
{
    const dync__operand *out = &s->call->operand[3];
    const dync__dtype_row *type = dync__dtype_info(s->dtype);
    bool one = s->scale == 1, sums = s->dtype != out->dtype;
    if (s->dim == out->lay.ndim - 1 || (s->step < 8 && (sums || !one))) return false;
    return !s->adds || type->kind == 'f' || (one && type->bytes >= 4);
}

/* kind: 0 sets, 1 adds, 2 adds slices. Three ways: by rows where the dim is the last one and all
 * agree in the others; long slices; else each place by itself, for which out first becomes a copy
 * of base. */
DYNC__RARE static dync_status dync__scatter_run(const dync__kcall *c, void *const *data, int kind)
{
    const dync__operand *op = c->operand;
    dync__operand index = op[1];
    bool slices = kind == 2 || dync__scatter_names_slices(op, (int)c->attr.scatter.dim, &index);
    const dync__operand *places = &op[slices ? 2 : 1];
    dync__scatter s = {.call = c,
                       .dtype = kind ? dync__operand_working(op[3].dtype) : op[3].dtype,
                       .adds = kind != 0,
                       .slices = slices,
                       .dim = c->attr.scatter.dim,
                       .places = places,
                       .every = !slices,
                       .scale = kind == 2 ? c->attr.scatter.alpha : 1};
    int64_t *stride = s.stride;
    int last = op[3].lay.ndim - 1;
    bool rows = s.dim == last, none = dync__operand_numel(places) == 0,
         dense = dync__layout_is_contiguous(&op[0].lay);
    if (dync__operand_numel(&op[3]) == 0 && none) return DYNC_OK;
    dync__scatter_find_line(&s);
    s.size = op[3].lay.shape[s.dim];
    bool there = dync__scatter_there(&s, data);
    if (there)
        memcpy(stride, op[3].lay.stride, (size_t)(last + 1) * sizeof *stride);
    else
        dync__dense_strides(&op[3], stride);
    s.step = stride[s.dim];
    s.along = s.dim == last ? 0 : stride[last];
    for (int d = 0; d < s.dim; d++)
        rows &= places->lay.shape[d] == op[3].lay.shape[d] &&
                places->lay.shape[d] == op[2].lay.shape[d];
    bool lines = slices && !there && dync__scatter_takes_lines(&s);
    rows &= !there, dense |= there;
    int stored = rows || lines ? op[3].dtype : s.dtype;
    dync_status status = dync__dense_in(&index, data[1], DYNC_I64, &s.index);
    if (status == DYNC_OK) status = dync__dense_in(&op[2], data[2], stored, &s.source);
    if (there)
        s.out.data = dync__operand_at(&op[3], data[3]);
    else if (status == DYNC_OK)
        status = dync__dense_out(&op[3], data[3], stored, &s.out);
    if (status == DYNC_OK) {
        s.base = dync__operand_at(&op[0], data[0]);
        if (!dense || ((none || (!rows && !lines)) && s.base != s.out.data))
            dync__copy_elements(last + 1, op[0].lay.shape, s.out.data, stored, stride, s.base,
                                op[0].dtype, op[0].lay.stride);
        if (!dense || (!rows && !lines)) s.base = s.out.data;
        if (!none)
            status = dync__scatter_walk(&s, rows    ? dync__scatter_rows
                                            : lines ? dync__scatter_lines
                                                    : dync__scatter_part);
    }
    if (status == DYNC_OK) dync__dense_finish(&op[3], data[3], &s.out);
    dync__dense_drop(&s.index);
    dync__dense_drop(&s.source);
    dync__dense_drop(&s.out);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

DYNC__RARE static dync_status dync__scatter_check(dync__kcall *c, bool slices)
{
    const dync__operand *base = &c->operand[0], *index = &c->operand[1], *source = &c->operand[2],
                        *out = &c->operand[3];
    const int64_t *walked = slices ? source->lay.shape : index->lay.shape,
                  dim = c->attr.scatter.dim;
    int n = base->lay.ndim;
    bool ok = c->n == 4 && dim >= 0 && dim < n && out->lay.ndim == n && source->lay.ndim == n &&
              index->lay.ndim == (slices ? 1 : n) && index->dtype == DYNC_I64 &&
              base->dtype == out->dtype && source->dtype == out->dtype &&
              (!slices || index->lay.shape[0] == source->lay.shape[dim]);
    for (int d = 0; ok && d < n; d++) {
        int64_t whole = out->lay.shape[d];
        ok = base->lay.shape[d] == whole && walked[d] <= source->lay.shape[d] &&
             (d == dim || (slices ? walked[d] == whole : walked[d] <= whole));
    }
    return dync__kcall_expect(c, ok,
                              "base, index, source and result of one rank and sizes that "
                              "fit, one dtype, an index of I64");
}

#define DYNC__SCATTER_ROW(name, kind)                                                           \
    DYNC__FN dync_status dync__k_##name##_prepare(dync__kcall *c)                               \
    {                                                                                           \
        return dync__scatter_check(c, kind == 2);                                               \
    }                                                                                           \
    DYNC__FN dync_status dync__k_##name(const dync__kcall *c, void *const *data, void *scratch) \
    {                                                                                           \
        return (void)scratch, dync__scatter_run(c, data, kind);                                 \
    }
DYNC__SCATTER_ROW(scatter, 0)
DYNC__SCATTER_ROW(scatter_add, 1)
DYNC__SCATTER_ROW(index_add, 2)
