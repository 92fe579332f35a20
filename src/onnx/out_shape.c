/* onnx/out_shape.c: views, parts and joins as ONNX nodes. After out_reduce.c.
 *
 * Views of the memory itself (as_strided and its kin) are gathered from the flattened value by a
 * constant vector of places. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "../op/rows.h"
#include "out_rows.h"
DYNC__COLD

/* ---- views ----------------------------------------------------------------------------------- */

/* A size that the call leaves to be found out (-1) is left to ONNX, too, which finds it out where
 * no other one is 0. */
DYNC__FN dync__ox_name dync__ox_reshape_row(dync__ox *w)
{
    const dync__layout *out = &w->node->info[0].lay;
    const dync__arg *a = w->node->nargs > 1 ? dync__ox_arg(w, 1) : NULL;
    int64_t shape[DYNC_MAX_DIMS];
    bool zero = false;
    for (int d = 0; d < out->ndim; d++) zero = zero || out->shape[d] == 0;
    for (int d = 0; d < out->ndim; d++) {
        bool open = a && a->kind == DYNC__A_DIMS && a->n == out->ndim && a->as.dims[d] == -1;
        shape[d] = open && !zero ? -1 : out->shape[d];
    }
    return dync__ox_reshape(w, dync__ox_in(w, 0), out->ndim, shape);
}

DYNC__FN dync__ox_name dync__ox_expand_row(dync__ox *w)
{
    const dync__info *out = &w->node->info[0];
    int type = dync__ox_expands(out->dtype);
    dync__ox_name x = dync__ox_cast(w, dync__ox_in(w, 0), out->dtype, type);
    return dync__ox_as_out(w, dync__ox_expand(w, x, out->lay.ndim, out->lay.shape), type, 0);
}

DYNC__FN dync__ox_name dync__ox_unsqueeze(dync__ox *w)
{
    int64_t dim = dync__ox_axis(w, 1, w->node->info[0].lay.ndim);
    return dync__ox_op2(w, "Unsqueeze", dync__ox_in(w, 0), dync__ox_ints(w, 1, &dim));
}

/* A dim of another size than 1 stays. */
DYNC__FN dync__ox_name dync__ox_squeeze(dync__ox *w)
{
    const dync__layout *in = &dync__ox_of(w, 0)->lay;
    int64_t dim = dync__ox_axis(w, 1, in->ndim);
    if (in->ndim == w->node->info[0].lay.ndim) return dync__ox_reshape_row(w);
    return dync__ox_op2(w, "Squeeze", dync__ox_in(w, 0), dync__ox_ints(w, 1, &dim));
}

DYNC__FN dync__ox_name dync__ox_transposed(dync__ox *w, dync__ox_name x, int n,
                                           const int64_t *order)
{
    x = dync__ox_op1(w, "Transpose", x);
    dync__ox_set_ints(w, "perm", n, order);
    return x;
}

/* permute, transpose, t */
DYNC__FN dync__ox_name dync__ox_permute(dync__ox *w)
{
    int n = dync__ox_of(w, 0)->lay.ndim;
    int64_t order[DYNC_MAX_DIMS];
    for (int d = 0; d < n; d++) order[d] = d;
    if (w->node->op == DYNC__OP_permute) {
        for (int d = 0; d < n; d++) {
            int64_t from = dync__ox_arg(w, 1)->as.dims[d];
            order[d] = from < 0 ? from + n : from;
        }
    } else if (n >= 2) {
        bool t = w->node->op == DYNC__OP_t;
        int a = t ? 0 : dync__ox_axis(w, 1, n), b = t ? 1 : dync__ox_axis(w, 2, n);
        order[a] = b;
        order[b] = a;
    }
    return n < 2 ? dync__ox_in(w, 0) : dync__ox_transposed(w, dync__ox_in(w, 0), n, order);
}

DYNC__FN dync__ox_name dync__ox_select(dync__ox *w)
{
    dync__ox_name place =
        dync__ox_reshape(w, dync__ox_size_of(w, dync__ox_arg(w, 2)->as.i), 0, NULL);
    if (!dync__is_token(dync__ox_arg(w, 2)->as.i))
        place = dync__ox_int(w, dync__ox_arg(w, 2)->as.i);
    dync__ox_name x = dync__ox_op2(w, "Gather", dync__ox_in(w, 0), place);
    dync__ox_set_i(w, "axis", dync__ox_axis(w, 1, dync__ox_of(w, 0)->lay.ndim));
    return x;
}

DYNC__FN dync__ox_name dync__ox_sliced(dync__ox *w, dync__ox_name x, int64_t dim, int64_t start,
                                       int64_t end, int64_t step)
{
    dync__ox_name in[5] = {x, dync__ox_size_of(w, start), dync__ox_size_of(w, end),
                           dync__ox_ints(w, 1, &dim), dync__ox_ints(w, 1, &step)};
    return dync__ox_emit(w, "Slice", 5, in);
}

DYNC__FN dync__ox_name dync__ox_slice(dync__ox *w)
{
    int64_t dim = dync__ox_axis(w, 1, dync__ox_of(w, 0)->lay.ndim);
    return dync__ox_sliced(w, dync__ox_in(w, 0), dim, dync__ox_arg(w, 2)->as.i,
                           dync__ox_arg(w, 3)->as.i, dync__ox_arg(w, 4)->as.i);
}

DYNC__FN dync__ox_name dync__ox_flip(dync__ox *w)
{
    const dync__arg *dims = dync__ox_arg(w, 1);
    int n = dync__ox_of(w, 0)->lay.ndim;
    dync__ox_name x = dync__ox_in(w, 0);
    for (int i = 0; i < dims->n && n; i++) {
        int64_t dim = dims->as.dims[i] < 0 ? dims->as.dims[i] + n : dims->as.dims[i];
        x = dync__ox_sliced(w, x, dim, -1, INT64_MIN, -1);
    }
    return x;
}

/* ---- joins ----------------------------------------------------------------------------------- */

/* Vectors of no elements join with anything. */
DYNC__FN dync__ox_name dync__ox_cat(dync__ox *w)
{
    const dync__arg *list = dync__ox_arg(w, 0);
    const dync__info *out = &w->node->info[0];
    dync__ox_name *in = dync__arena_alloc(w->arena, (size_t)(list->n + 1) * sizeof *in);
    int n = 0;
    for (int i = 0; in && i < list->n; i++) {
        const dync__info *of = dync__ox_info(w, &list->as.list[i]);
        if (of->lay.ndim != out->lay.ndim) continue;
        in[n++] = dync__ox_cast(w, dync__ox_value(w, &list->as.list[i]), of->dtype, out->dtype);
    }
    if (!in) return w->status = DYNC_ERR_MEMORY, "";
    if (n == 0) return dync__ox_refuse(w, "it joins nothing");
    dync__ox_name x = dync__ox_emit(w, "Concat", n, in);
    dync__ox_set_i(w, "axis", dync__ox_axis(w, 1, out->lay.ndim));
    return x;
}

DYNC__FN dync__ox_name dync__ox_einsum(dync__ox *w)
{
    const dync__arg *list = dync__ox_arg(w, 1);
    int type = dync__ox_wide(w->node->info[0].dtype);
    dync__ox_name *in = dync__arena_alloc(w->arena, (size_t)(list->n + 1) * sizeof *in);
    for (int i = 0; in && i < list->n; i++)
        in[i] = dync__ox_cast(w, dync__ox_value(w, &list->as.list[i]),
                              dync__ox_info(w, &list->as.list[i])->dtype, type);
    if (!in) return w->status = DYNC_ERR_MEMORY, "";
    dync__ox_name x = dync__ox_emit(w, "Einsum", list->n, in);
    dync__ox_set_s(w, "equation", dync__ox_arg(w, 0)->as.s);
    return dync__ox_as_out(w, x, type, 0);
}

DYNC__FN dync__ox_name dync__ox_repeat(dync__ox *w)
{
    const dync__arg *times = dync__ox_arg(w, 1);
    const dync__layout *lay = &dync__ox_of(w, 0)->lay;
    int64_t shape[DYNC_MAX_DIMS];
    int lead = times->n - lay->ndim;
    for (int d = 0; d < times->n; d++) shape[d] = d < lead ? 1 : lay->shape[d - lead];
    dync__ox_name x = dync__ox_in(w, 0);
    if (lead) x = dync__ox_reshape(w, x, times->n, shape);
    if (times->n == 0) return x;
    return dync__ox_op2(w, "Tile", x, dync__ox_shape(w, times->n, times->as.dims));
}

/* Pairs, of the last dim first; negative ones cut off. */
DYNC__FN dync__ox_name dync__ox_pad(dync__ox *w)
{
    const dync__arg *pad = dync__ox_arg(w, 1);
    int ndim = dync__ox_of(w, 0)->lay.ndim, dtype = dync__ox_of(w, 0)->dtype;
    int type = dync__ox_wide(dtype);
    int64_t amount[2 * DYNC_MAX_DIMS] = {0};
    for (int i = 0; i + 1 < pad->n; i += 2) {
        amount[ndim - 1 - i / 2] = pad->as.dims[i];
        amount[2 * ndim - 1 - i / 2] = pad->as.dims[i + 1];
    }
    for (int i = 0; i < 2 * ndim; i++)
        if (dync__is_token(amount[i])) return dync__ox_refuse(w, "a symbolic size is padded");
    const dync__arg *value = dync__ox_arg(w, 2);
    dync__ox_name x = dync__ox_op3(w, "Pad", dync__ox_wide_in(w, 0),
                                   dync__ox_ints(w, 2 * ndim, amount),
                                   value->kind == DYNC__A_NONE ? dync__ox_scalar(w, type, 0)
                                                               : dync__ox_number(w, value, type));
    return dync__ox_as_out(w, x, type, 0);
}

DYNC__FN dync__ox_name dync__ox_tril(dync__ox *w)
{
    int dtype = dync__ox_of(w, 0)->dtype, type = dync__ox_wide(dtype);
    if (type == DYNC_I32) type = DYNC_I64;
    dync__ox_name x = dync__ox_op2(w, "Trilu", dync__ox_cast(w, dync__ox_in(w, 0), dtype, type),
                                   dync__ox_int(w, dync__ox_arg(w, 1)->as.i));
    dync__ox_set_i(w, "upper", w->node->op == DYNC__OP_triu);
    return dync__ox_as_out(w, x, type, 0);
}

/* ---- places in the memory -------------------------------------------------------------------- */

/* The places of a layout's elements, row major. NULL: refused, or no memory. */
static int64_t *dync__ox_places(dync__ox *w, const dync__layout *lay, int64_t *n)
{
    int64_t at[DYNC_MAX_DIMS] = {0}, place = lay->offset;
    if (!dync__ox_plain(w, lay, n)) return NULL;
    int64_t *out = dync__arena_alloc(w->arena, (size_t)(*n + 1) * sizeof *out);
    if (!out) return w->status = DYNC_ERR_MEMORY, NULL;
    for (int64_t i = 0; i < *n; i++) {
        out[i] = place;
        for (int d = lay->ndim - 1; d >= 0; d--) {
            place += lay->stride[d];
            if (++at[d] < lay->shape[d]) break;
            place -= lay->stride[d] * lay->shape[d];
            at[d] = 0;
        }
    }
    return out;
}

/* Where a place of the memory stands among the elements of the value that lies there. */
static bool dync__ox_elements(dync__ox *w, const dync__layout *base, int64_t n, int64_t *place)
{
    int64_t count, most = 0, *of = dync__ox_places(w, base, &count);
    for (int64_t i = 0; of && i < count; i++) most = DYNC__MAX(most, of[i]);
    for (int64_t i = 0; i < n; i++) most = DYNC__MAX(most, place[i]);
    int64_t *element = of ? dync__arena_alloc(w->arena, (size_t)(most + 1) * sizeof *element)
                          : NULL;
    if (!element) return dync__ox_ok(w) ? w->status = DYNC_ERR_MEMORY, false : false;
    memset(element, -1, (size_t)(most + 1) * sizeof *element);
    for (int64_t i = 0; i < count; i++) element[of[i]] = i;
    for (int64_t i = 0; i < n; i++) {
        place[i] = element[place[i]];
        if (place[i] < 0) return dync__ox_refuse(w, "it reads memory around its argument"), false;
    }
    return true;
}

static dync__ox_name dync__ox_flat(dync__ox *w, dync__ox_name x)
{
    return dync__ox_reshape(w, x, 1, &(int64_t){-1});
}

static dync__ox_name dync__ox_take(dync__ox *w, int64_t n, const int64_t *place)
{
    const dync__layout *out = &w->node->info[0].lay;
    dync__ox_name x = dync__ox_op2(w, "Gather", dync__ox_flat(w, dync__ox_in(w, 0)),
                                   dync__ox_ints(w, (int)n, place));
    dync__ox_from_front(w);
    return dync__ox_reshape(w, x, out->ndim, out->shape);
}

/* as_strided counts from the storage, _strided_view from the value's first element. */
DYNC__FN dync__ox_name dync__ox_strided(dync__ox *w)
{
    const dync__layout *base = &dync__ox_of(w, 0)->lay;
    dync__layout view = {.ndim = dync__ox_arg(w, 1)->n, .offset = dync__ox_arg(w, 3)->as.i};
    memcpy(view.shape, dync__ox_arg(w, 1)->as.dims, (size_t)view.ndim * sizeof *view.shape);
    memcpy(view.stride, dync__ox_arg(w, 2)->as.dims, (size_t)view.ndim * sizeof *view.stride);
    if (w->node->op == DYNC__OP__strided_view && !dync__is_token(view.offset))
        view.offset += base->offset;
    int64_t n, *place = dync__ox_places(w, &view, &n);
    if (!place || !dync__ox_elements(w, base, n, place)) return "";
    return dync__ox_take(w, n, place);
}

/* A diagonal of symbolic sizes: both dims as one of rows * columns, of which every (columns + 1)-th
 * is taken, from `offset` on, or for a negative one from row -offset on. */
static dync__ox_name dync__ox_diagonal_sized(dync__ox *w)
{
    const dync__layout *in = &dync__ox_of(w, 0)->lay, *out = &w->node->info[0].lay;
    int64_t offset = dync__ox_arg(w, 1)->as.i, order[DYNC_MAX_DIMS], shape[DYNC_MAX_DIMS];
    int rows = dync__ox_axis(w, 2, in->ndim), columns = dync__ox_axis(w, 3, in->ndim), n = 0;
    for (int d = 0; d < in->ndim; d++) {
        if (d == rows || d == columns) continue;
        shape[n] = in->shape[d];
        order[n++] = d;
    }
    shape[n] = -1;
    order[n] = rows;
    order[n + 1] = columns;
    dync__ox_name x = dync__ox_transposed(w, dync__ox_in(w, 0), in->ndim, order),
                  width = dync__ox_size_of(w, in->shape[columns]),
                  one = dync__ox_ints(w, 1, &(int64_t){1}), first, at;
    x = dync__ox_reshape(w, x, n + 1, shape);
    first = dync__ox_ints(w, 1, &(int64_t){offset < 0 ? -offset : offset});
    if (offset < 0) first = dync__ox_op2(w, "Mul", first, width);
    at = dync__ox_op2(w, "Mul", dync__ox_range(w, out->shape[n]),
                      dync__ox_op2(w, "Add", width, one));
    x = dync__ox_op2(w, "Gather", x, dync__ox_op2(w, "Add", at, first));
    dync__ox_set_i(w, "axis", n);
    dync__ox_from_front(w);
    return x;
}

/* A view, by the places of its layout in that of the argument. */
DYNC__FN dync__ox_name dync__ox_view_gather(dync__ox *w)
{
    if (w->node->op == DYNC__OP_diagonal && dync__layout_has_tokens(&dync__ox_of(w, 0)->lay))
        return dync__ox_diagonal_sized(w);
    int64_t n, *place = dync__ox_places(w, &w->node->info[0].lay, &n);
    if (!place || !dync__ox_elements(w, &dync__ox_of(w, 0)->lay, n, place)) return "";
    return dync__ox_take(w, n, place);
}

static dync__ox_name dync__ox_put(dync__ox *w, dync__ox_name into, dync__ox_name x, int64_t n,
                                  const int64_t *place)
{
    const dync__layout *out = &w->node->info[0].lay;
    into = dync__ox_op3(w, "ScatterElements", dync__ox_flat(w, into),
                        dync__ox_ints(w, (int)n, place), dync__ox_flat(w, x));
    dync__ox_set_i(w, "axis", 0);
    dync__ox_from_front(w);
    return dync__ox_reshape(w, into, out->ndim, out->shape);
}

DYNC__FN dync__ox_name dync__ox_strided_scatter(dync__ox *w)
{
    const dync__layout *base = &dync__ox_of(w, 0)->lay;
    dync__layout view = {.ndim = dync__ox_arg(w, 2)->n, .offset = dync__ox_arg(w, 4)->as.i};
    memcpy(view.shape, dync__ox_arg(w, 2)->as.dims, (size_t)view.ndim * sizeof *view.shape);
    memcpy(view.stride, dync__ox_arg(w, 3)->as.dims, (size_t)view.ndim * sizeof *view.stride);
    if (!dync__is_token(view.offset)) view.offset += base->offset;
    int64_t n, *place = dync__ox_places(w, &view, &n);
    if (!place || !dync__ox_elements(w, base, n, place)) return "";
    return dync__ox_put(w, dync__ox_in(w, 0), dync__ox_in(w, 1), n, place);
}

/* select_backward, slice_backward, diagonal_backward: into zeros. */
DYNC__FN dync__ox_name dync__ox_view_scatter(dync__ox *w)
{
    const dync__info *out = &w->node->info[0];
    dync__layout whole = {0}, view = {0};
    dync__arg args[5];
    for (int i = 0; i < 5; i++) args[i] = *dync__ox_arg(w, i + 1);
    whole.ndim = out->lay.ndim;
    memcpy(whole.shape, out->lay.shape, sizeof whole.shape);
    if (dync__layout_has_tokens(&whole))
        return dync__ox_refuse(w, "a symbolic size is filled up with zeros");
    for (int64_t d = whole.ndim - 1, step = 1; d >= 0; step *= whole.shape[d--])
        whole.stride[d] = step;
    dync_status status =
        w->node->op == DYNC__OP_select_backward
            ? dync__view_select(&whole, args[1].as.i, args[2].as.i, &view)
        : w->node->op == DYNC__OP_slice_backward
            ? dync__view_slice(&whole, args[1].as.i, args[2].as.i, args[3].as.i, args[4].as.i,
                               &view)
            : dync__view_diagonal(&whole, args[1].as.i, args[2].as.i, args[3].as.i, &view);
    int64_t n, *place = status == DYNC_OK ? dync__ox_places(w, &view, &n) : NULL;
    if (!place) return "";
    dync__ox_name zero =
        dync__ox_expand(w, dync__ox_scalar(w, out->dtype, 0), whole.ndim, whole.shape);
    return dync__ox_put(w, zero, dync__ox_in(w, 0), n, place);
}
#endif
