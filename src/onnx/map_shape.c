/* onnx/map_shape.c: ONNX operators about shapes: they move elements or make them of nothing. After
 * map_reduce.c.
 *
 * Sizes may be symbolic: what is done to them goes through dync__sz_* (tensor/sym.h); a function
 * that needs plain ones asks dync__oi_number. Shapes that are inputs of a node are known tensors,
 * whose elements may be tokens of symbolic sizes (sized.c). */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* from, from + step, ...: n numbers; from and n may be symbolic. NULL + error. */
DYNC__FN dync_tensor *dync__oi_arange(int64_t from, int64_t n, int64_t step, int dtype)
{
    int64_t end = dync__sz_add(from, dync__sz_mul(n, step));
    dync__arg args[5] = {dync__arg_i(from), dync__arg_i(end), dync__arg_i(step),
                         dync__arg_dtype(dtype), dync__arg_device(DYNC_CPU)};
    return dync__op_call(DYNC__OP_arange, 5, args, dync__tls.at);
}

/* One attribute holds the value, and its name says in which form. Inside a function of the model it
 * may refer to an attribute of the call. */
DYNC__FN dync_status dync__oi_constant(dync__onnx_call *c)
{
    const dync__onnx_attribute *a = c->node->attribute.n ? c->node->attribute.at[0] : NULL;
    dync__tensor *t = NULL;
    const int64_t one = 1;
    if (a && *a->ref_attr_name) a = dync__oi_attribute(c, a->name);
    if (!a) return dync__oi_fail(c, DYNC_ERR_FORMAT, "no value");
    if (strcmp(a->name, "value") == 0 && a->t) {
        DYNC__TRY(dync__onnx_tensor_make(a->t, &c->model->files, &t));
        return dync__oi_out_typed(c, 0, dync__give(t), (int)a->t->data_type);
    }
    int64_t n = a->ints.n ? a->ints.n : a->floats.n;
    double f = (double)a->f;
    if (strcmp(a->name, "value_int") == 0)
        return dync__oi_out(c, 0, dync__oi_tensor_i(DYNC_I64, 0, &one, &a->i));
    if (strcmp(a->name, "value_ints") == 0)
        return dync__oi_out(c, 0, dync__oi_tensor_i(DYNC_I64, 1, &n, a->ints.at));
    if (strcmp(a->name, "value_float") == 0)
        return dync__oi_out(c, 0, dync__oi_tensor_f(DYNC_F32, 0, &one, &f));
    if (strcmp(a->name, "value_floats") == 0) {
        dync__layout lay;
        DYNC__TRY(dync__layout_contiguous(&lay, 1, &n));
        if (!(t = dync__tensor_empty(DYNC_F32, DYNC_CPU, &lay))) return DYNC_ERR_MEMORY;
        if (n) memcpy(t->storage->data, a->floats.at, (size_t)n * 4);
        return dync__oi_out(c, 0, dync__give(t));
    }
    return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a constant by \"%s\"", a->name);
}

/* One element (of attribute `value`, else 0 of f32), expanded: its memory is that of one element.
 */
DYNC__FN dync_status dync__oi_constant_of_shape(dync__onnx_call *c)
{
    dync_dims shape;
    const dync__onnx_attribute *a = dync__oi_attribute(c, "value");
    dync__tensor *t = NULL;
    if (!dync__oi_read_dims(c, dync__oi_in(c, 0), &shape)) return dync_error();
    if (!a || !a->t) return dync__oi_out(c, 0, dync__oi_full(shape, 0, DYNC_F32));
    DYNC__TRY(dync__onnx_tensor_make(a->t, &c->model->files, &t));
    dync_tensor *v = dync__give(t);
    if (!v) return DYNC_ERR_MEMORY;
    return dync__oi_out_typed(c, 0, dync_expand(dync_reshape(v, DYNC_SCALAR), shape),
                              (int)a->t->data_type);
}

/* The sizes of dims start .. end - 1 as int64, both held in the rank after negative ones count from
 * its end: of [2, 3, 4] with start -2 it is 3 4. */
DYNC__FN dync_status dync__oi_shape_of(dync__onnx_call *c)
{
    dync_dims d = dync__oi_sizes(dync__oi_in(c, 0));
    int64_t from = dync__oi_int(c, "start"),
            to = dync__oi_has(c, "end") ? dync__oi_int(c, "end") : d.n;
    from = DYNC__MIN(DYNC__MAX(from < 0 ? from + d.n : from, 0), d.n);
    to = DYNC__MIN(DYNC__MAX(to < 0 ? to + d.n : to, from), d.n);
    int64_t n = to - from;
    return dync__oi_out(c, 0, dync__oi_tensor_i(DYNC_I64, 1, &n, d.d + from));
}

DYNC__FN dync_status dync__oi_size_of(dync__onnx_call *c)
{
    dync_dims d = dync__oi_sizes(dync__oi_in(c, 0));
    int64_t n = 1;
    for (int i = 0; i < d.n; i++) n = dync__sz_mul(n, d.d[i]);
    return dync__oi_out(c, 0, dync__oi_tensor_i(DYNC_I64, 0, NULL, &n));
}

/* A size of 0 copies that of the input, unless allowzero; -1 is what is left of the elements,
 * worked out here where the others are plain and not 0. Until opset 4 the shape is an attribute. */
DYNC__FN dync_status dync__oi_reshape(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims in = dync__oi_sizes(x), to = {0, {0}};
    const int64_t *given;
    if (c->version >= 5) {
        if (!dync__oi_read_dims(c, dync__oi_in(c, 1), &to)) return dync_error();
    } else {
        to.n = DYNC__MIN(dync__oi_ints(c, "shape", &given), DYNC_MAX_DIMS);
        for (int i = 0; i < to.n; i++) to.d[i] = given[i];
    }
    int64_t known = 1, numel = 1;
    int open = -1;
    bool sized = false; /* then the operator finds it: nothing is empty */
    for (int i = 0; i < in.n; i++) {
        sized = sized || dync__is_token(in.d[i]);
        numel = dync__sz_mul(numel, in.d[i]);
    }
    for (int i = 0; i < to.n; i++) {
        if (to.d[i] == 0 && !dync__oi_int(c, "allowzero")) to.d[i] = i < in.n ? in.d[i] : 0;
        sized = sized || dync__is_token(to.d[i]);
        if (to.d[i] == -1)
            open = i;
        else if (!dync__sz_mul_ok(known, to.d[i], &known))
            known = 0;
    }
    if (open >= 0 && known > 0 && !sized) to.d[open] = numel / known;
    return dync__oi_out(c, 0, dync_reshape(x, to));
}

/* [d0 * .. * d(axis - 1), the rest]: always a matrix; axis 0 gives one row, the rank one column. */
DYNC__FN dync_status dync__oi_flatten(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims d = dync__oi_sizes(x);
    int64_t axis = dync__oi_int(c, "axis"), rows = 1, columns = 1;
    if (axis < 0) axis += d.n;
    for (int i = 0; i < d.n; i++)
        if (i < axis)
            rows = dync__sz_mul(rows, d.d[i]);
        else
            columns = dync__sz_mul(columns, d.d[i]);
    return dync__oi_out(c, 0, dync_reshape(x, dync_shape(rows, columns)));
}

/* Without axes every dim of size 1 goes: a symbolic size is never one, since 1 is no symbol's
 * value. */
DYNC__FN dync_status dync__oi_squeeze(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims in = dync__oi_sizes(x), out = {0, {0}}, axes;
    if (!dync__oi_axes(c, 1, in.n, &axes)) return dync_error();
    for (int i = 0; i < in.n; i++) {
        bool gone = axes.n == 0 && in.d[i] == 1;
        for (int k = 0; k < axes.n; k++) gone = gone || axes.d[k] == i;
        if (gone && in.d[i] != 1)
            return dync__oi_fail(c, DYNC_ERR_SHAPE, "dimension %d has size %lld, not 1", i,
                                 (long long)dync__oi_number(in.d[i]));
        if (!gone) out.d[out.n++] = in.d[i];
    }
    if (axes.n == 1) return dync__oi_out(c, 0, dync_squeeze(x, (int)axes.d[0]));
    return dync__oi_out(c, 0, dync_reshape(x, out));
}

/* Axes count in the result: [3, 4] with axes 0 and 3 is [1, 3, 4, 1]. */
DYNC__FN dync_status dync__oi_unsqueeze(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims in = dync__oi_sizes(x), axes = {0, {0}}, out = {0, {0}};
    const int64_t *given;
    if (dync__oi_has(c, "axes"))
        axes.n = dync__oi_ints(c, "axes", &given);
    else if (!dync__oi_dims(c, dync__oi_in(c, 1), &axes))
        return dync_error();
    else
        given = axes.d;
    if (axes.n + in.n > DYNC_MAX_DIMS)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "more than %d dimensions", DYNC_MAX_DIMS);
    bool added[DYNC_MAX_DIMS] = {false};
    out.n = in.n + axes.n;
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!dync__oi_axis(c, given[i], out.n, &axis)) return dync_error();
        if (added[axis]) return dync__oi_fail(c, DYNC_ERR_FORMAT, "axis %d twice", axis);
        added[axis] = true;
        if (axes.n == 1) return dync__oi_out(c, 0, dync_unsqueeze(x, axis));
    }
    for (int i = 0, k = 0; i < out.n; i++) out.d[i] = added[i] ? 1 : in.d[k++];
    return dync__oi_out(c, 0, dync_reshape(x, out));
}

/* Without perm the dims are reversed. */
DYNC__FN dync_status dync__oi_transpose(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims d = dync__oi_sizes(x);
    const int64_t *perm;
    int n = dync__oi_ints(c, "perm", &perm);
    if (n && n != d.n) return dync__oi_fail(c, DYNC_ERR_FORMAT, "perm of %d for %d dims", n, d.n);
    for (int i = 0; i < d.n; i++) d.d[i] = n ? perm[i] : d.n - 1 - i;
    return dync__oi_out(c, 0, dync_permute(x, d));
}

DYNC__FN dync_status dync__oi_concat(dync__onnx_call *c)
{
    dync_tensor **t = dync__scope_alloc(((size_t)c->n_in + 1) * sizeof(*t));
    int axis, rank = dync__oi_rank(dync__oi_in(c, 0));
    if (!t) return dync_error();
    if (!dync__oi_axis(c, dync__oi_has(c, "axis") ? dync__oi_int(c, "axis") : 1, rank, &axis))
        return dync_error();
    for (int i = 0; i < c->n_in; i++) {
        if (!dync__oi_in(c, i)) return dync__oi_fail(c, DYNC_ERR_FORMAT, "input %d is missing", i);
        t[i] = dync__oi_in(c, i);
    }
    return dync__oi_out(c, 0, dync__oi_list(c->n_in, t, axis, false));
}

/* Sizes of the parts: told (input 1, or attribute split), or equal ones for the outputs that the
 * node has, the last ones maybe smaller: 7 in three parts is 3 3 1. */
DYNC__FN dync_status dync__oi_split(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    enum { MOST = 1024 };
    int64_t sizes[MOST], from = 0;
    const int64_t *given;
    int axis, n = 0;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    int64_t size = dync__oi_extent(x, axis);
    if (dync__oi_in(c, 1))
        n = dync__oi_read_sizes(c, dync__oi_in(c, 1), MOST, sizes);
    else if ((n = dync__oi_ints(c, "split", &given)) > 0 && n <= MOST)
        memcpy(sizes, given, (size_t)n * sizeof *sizes);
    if (n < 0) return dync_error();
    if (c->n_out > MOST || (n && n < c->n_out))
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "%d sizes for %d parts", n, c->n_out);
    int64_t each = dync__sz_div(dync__sz_add(size, c->n_out - 1), c->n_out);
    for (int i = 0; i < c->n_out; i++) {
        int64_t left = dync__sz_sub(size, from);
        int64_t one = n ? sizes[i] : dync__sz_max(dync__sz_min(each, left), 0);
        if (dync__sz_lt(one, 0) || dync__sz_lt(left, one))
            return dync__oi_fail(c, DYNC_ERR_SHAPE, "the parts are larger than the tensor");
        DYNC__TRY(
            dync__oi_out_typed(c, i, dync__oi_narrow(x, axis, from, one), dync__oi_in_type(c, 0)));
        from = dync__sz_add(from, one);
    }
    return DYNC_OK;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Where a slice begins or ends, counted from the front; below -size: -1. Exporters write "as far as
 * it goes" as the largest or least integer: those are no tokens and stop at the size or before 0.
 */
static int64_t dync__oi_slice_edge(int64_t at, int64_t size)
{
    if (!dync__is_token(at) && (at >= DYNC__SZ_MOST || at <= -DYNC__SZ_MOST))
        return at > 0 ? size : -1;
    if (!dync__sz_lt(at, 0)) return at;
    at = dync__sz_add(at, size);
    return dync__sz_lt(at, 0) ? -1 : at;
}

/* A negative step goes over the flipped tensor: elements from, from + step, .. > to are those of
 * the part that begins behind `to` and ends with `from`, flipped, of which every -step-th is kept.
 * Size 5 from -1 to the least integer by -2: flipped 4 3 2 1 0, of it 4 2 0. Of a symbolic size
 * only the whole may be flipped; else it has to be a number. */
static dync_tensor *dync__oi_slice_back(dync_tensor *x, int axis, int64_t from, int64_t to,
                                        int64_t step)
{
    int64_t size = dync__oi_extent(x, axis);
    if ((from == -1 || (from >= DYNC__SZ_MOST && !dync__is_token(from))) && to <= -DYNC__SZ_MOST &&
        step > -DYNC__SZ_MOST) { /* all of it */
        x = dync_flip(x, dync_shape(axis));
        return step == -1 || !x ? x : dync_slice(x, axis, 0, size, dync__sz_min(-step, size));
    }
    size = dync__oi_number(size);
    from = DYNC__MIN(dync__oi_slice_edge(dync__oi_number(from), size), size - 1);
    to = DYNC__MAX(dync__oi_slice_edge(dync__oi_number(to), size), -1);
    int64_t n = from - to;
    if (n <= 0) return dync__oi_narrow(x, axis, 0, 0);
    x = dync__oi_narrow(x, axis, to + 1, n);
    if (x) x = dync_flip(x, dync_shape(axis));
    return step == -1 || !x ? x : dync_slice(x, axis, 0, n, step < -n ? n : -step);
}

/* One axis of a slice: both ends are held in 0 .. size, and the end behind the begin. NULL + error.
 */
static dync_tensor *dync__oi_slice_axis(dync_tensor *x, int axis, int64_t from, int64_t to,
                                        int64_t step)
{
    if (step < 0) return dync__oi_slice_back(x, axis, from, to, step);
    int64_t size = dync__oi_extent(x, axis);
    from = dync__sz_min(dync__sz_max(dync__oi_slice_edge(from, size), 0), size);
    to = dync__sz_min(dync__sz_max(dync__oi_slice_edge(to, size), from), size);
    if (from == 0 && to == size && step == 1) return x;
    return dync_slice(x, axis, from, to, step == 1 ? 1 : dync__sz_min(step, dync__sz_add(size, 1)));
}

/* Inputs (until opset 9 attributes) starts, ends, axes, steps, one number an axis. Without axes
 * they are the first ones; without steps 1. One axis after another. */
DYNC__FN dync_status dync__oi_slice(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims part[4] = {{0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}}; /* starts ends axes steps */
    static const char *const name[] = {"starts", "ends", "axes"};
    for (int k = 0; k < 4; k++) {
        const int64_t *at;
        if (c->version < 10 && k < 3) {
            part[k].n = DYNC__MIN(dync__oi_ints(c, name[k], &at), DYNC_MAX_DIMS);
            for (int i = 0; i < part[k].n; i++) part[k].d[i] = at[i];
        } else if (dync__oi_in(c, 1 + k) &&
                   !dync__oi_read_dims(c, dync__oi_in(c, 1 + k), &part[k])) {
            return dync_error();
        }
    }
    int n = part[0].n;
    if (part[1].n != n || (part[2].n && part[2].n != n) || (part[3].n && part[3].n != n))
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "starts, ends, axes and steps of several lengths");
    for (int i = 0; i < n && x; i++) {
        int axis;
        int64_t step = part[3].n ? dync__oi_number(part[3].d[i]) : 1;
        if (step == 0) return dync__oi_fail(c, DYNC_ERR_FORMAT, "a step of 0");
        if (!dync__oi_axis(c, part[2].n ? dync__oi_number(part[2].d[i]) : i, dync__oi_rank(x),
                           &axis))
            return dync_error();
        x = dync__oi_slice_axis(x, axis, part[0].d[i], part[1].d[i], step);
    }
    return dync__oi_out(c, 0, x);
}

/* To what x and the shape broadcast to: a 1 in the shape keeps x's size. */
DYNC__FN dync_status dync__oi_expand(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims in = dync__oi_sizes(x), to;
    int64_t out[DYNC_MAX_DIMS];
    if (!dync__oi_read_dims(c, dync__oi_in(c, 1), &to)) return dync_error();
    DYNC__TRY(dync__broadcast(in.n, in.d, to.n, to.d, &to.n, out));
    memcpy(to.d, out, sizeof out);
    return dync__oi_out(c, 0, dync_expand(x, to));
}

DYNC__FN dync_status dync__oi_tile(dync__onnx_call *c)
{
    dync_dims repeats;
    if (!dync__oi_read_dims(c, dync__oi_in(c, 1), &repeats)) return dync_error();
    return dync__oi_out(c, 0, dync_repeat(dync__oi_in(c, 0), repeats));
}

/* From w[0] up to w[1] by w[2], as there are symbolic sizes among them: ceil(span / step) numbers.
 * DYNC_ERR_DATA_PTR for a step below 1: no graph then, the model is walked. */
static dync_status dync__oi_range_sized(dync__onnx_call *c, const int64_t *w)
{
    int64_t step = dync__oi_number(w[2]), span = dync__sz_sub(w[1], w[0]);
    if (step < 1) return dync__oi_fail(c, DYNC_ERR_DATA_PTR, "a range back from a symbolic size");
    if (dync__sz_lt(span, 0)) span = 0;
    int64_t n = dync__sz_div(dync__sz_add(span, step - 1), step);
    return dync__oi_out(c, 0, dync__oi_arange(w[0], n, step, DYNC_I64));
}

/* start, limit, delta of one type: max(ceil((limit - start) / delta), 0) numbers start + i * delta.
 * The count is worked out in doubles, w holds the integers themselves. */
DYNC__FN dync_status dync__oi_range(dync__onnx_call *c)
{
    double v[3];
    int64_t w[3];
    int dtype = dync__oi_type(dync__oi_in(c, 0));
    bool sized = false;
    for (int i = 0; i < 3 && dtype == DYNC_I64 && dync__tls.syms; i++) {
        if (dync__oi_read_sizes(c, dync__oi_in(c, i), 1, &w[i]) != 1)
            return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no number");
        sized = sized || dync__is_token(w[i]);
    }
    if (sized) return dync__oi_range_sized(c, w);
    for (int i = 0; i < 3; i++)
        if (dync__oi_read_reals(c, dync__oi_in(c, i), 1, &v[i]) != 1 ||
            dync__oi_read(c, dync__oi_in(c, i), 1, &w[i]) != 1)
            return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no number");
    if (v[2] == 0) return dync__oi_fail(c, DYNC_ERR_FORMAT, "a step of 0");
    double n = ceil((v[1] - v[0]) / v[2]);
    if (!(n > 0)) n = 0;
    if (n > 9e15) return dync__oi_fail(c, DYNC_ERR_FORMAT, "a range of %g numbers", n);
    if (dync__dtype_info(dtype)->kind != 'f')
        return dync__oi_out(c, 0, dync__oi_arange(w[0], (int64_t)n, w[2], dtype));
    dync_tensor *t = dync_to_dtype(dync_arange(0.0, n, 1.0), (dync_dtype)dtype);
    return dync__oi_out(c, 0, t ? dync_add(dync_mul(t, v[2]), v[0]) : NULL);
}

/* 1 where column = row + k: row counts from k. */
DYNC__FN dync_status dync__oi_eye_like(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t type = dync__oi_has(c, "dtype") ? dync__oi_int(c, "dtype") : dync__oi_in_type(c, 0);
    int dtype = dync__onnx_dtype(type);
    if (dync__oi_rank(x) != 2 || dtype < 0)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected a matrix");
    int64_t rows = dync__oi_size(x, 0), columns = dync__oi_size(x, 1), k = dync__oi_int(c, "k");
    dync_tensor *row = dync_unsqueeze(dync__oi_arange(k, rows, 1, DYNC_I64), 1);
    dync_tensor *on = dync_eq(row, dync__oi_arange(0, columns, 1, DYNC_I64));
    return dync__oi_out_typed(c, 0, on ? dync_to_dtype(on, (dync_dtype)dtype) : NULL, (int)type);
}

DYNC__FN dync_status dync__oi_trilu(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t k = 0;
    if (dync__oi_in(c, 1) && dync__oi_read(c, dync__oi_in(c, 1), 1, &k) < 0) return dync_error();
    int by = (int)DYNC__MAX(DYNC__MIN(k, INT_MAX / 2), INT_MIN / 2);
    return dync__oi_out(c, 0, dync__oi_int(c, "upper") ? dync_triu(x, by) : dync_tril(x, by));
}

/* ---- padding --------------------------------------------------------------------------------- */

/* x with `before` and `after` elements of `value` around dim; negative ones cut off, and what is
 * cut beyond the other end leaves nothing. before and after are plain, the size may be symbolic. */
DYNC__FN dync_tensor *dync__oi_pad_dim(dync_tensor *x, int dim, int64_t before, int64_t after,
                                       double value)
{
    dync_dims d = dync__oi_sizes(x);
    if (before < 0 || after < 0) {
        int64_t from = before < 0 ? -before : 0,
                to = dync__sz_sub(d.d[dim], after < 0 ? -after : 0);
        x = dync__oi_narrow(x, dim, from, dync__sz_max(dync__sz_sub(to, from), 0));
        before = DYNC__MAX(before, 0);
        after = DYNC__MAX(after, 0);
    }
    dync_tensor *part[3];
    int n = 0, dtype = dync__oi_type(x);
    for (int side = 0; side < 2; side++) {
        d.d[dim] = side ? after : before;
        if (side) part[n++] = x;
        if (d.d[dim]) part[n++] = dync__oi_full(d, value, dtype);
    }
    return n == 1 ? x : dync__oi_list(n, part, dim, false);
}

/* n places from `from` on, backwards where the mode reflects, or n times the one at `from`. mode as
 * in dync__oi_pad: 'e' edge, 'r' reflect, 'w' wrap. */
static dync_tensor *dync__oi_pad_side(dync_tensor *x, int dim, int64_t from, int64_t n, char mode)
{
    dync_dims d = dync__oi_sizes(x);
    x = dync__oi_narrow(x, dim, from, mode == 'e' ? 1 : n);
    d.d[dim] = n;
    return mode == 'w' || !x ? x : mode == 'e' ? dync_expand(x, d) : dync_flip(x, dync_shape(dim));
}

/* The tensor between what it gives at its sides: none is wider than it is (but for its edge
 * element). a b c d by 2 and 1: reflect c b a b c d c; edge a a a b c d d; wrap c d a b c d a. */
static dync_tensor *dync__oi_pad_sides(dync_tensor *x, int dim, int64_t before, int64_t after,
                                       char mode)
{
    dync_tensor *part[3];
    int64_t size = dync__oi_extent(x, dim);
    int n = 0;
    if (before)
        part[n++] = dync__oi_pad_side(x, dim,
                                      mode == 'r'   ? 1
                                      : mode == 'w' ? dync__sz_sub(size, before)
                                                    : 0,
                                      before, mode);
    part[n++] = x;
    if (after)
        part[n++] = dync__oi_pad_side(x, dim,
                                      mode == 'r'   ? dync__sz_sub(size, after + 1)
                                      : mode == 'e' ? dync__sz_sub(size, 1)
                                                    : 0,
                                      after, mode);
    return dync__oi_list(n, part, dim, false);
}

/* Places of a padded dimension in the original one, by mode, as an index: for pads wider than the
 * tensor, where it is reflected or wrapped again and again, and for negative ones. Reflected places
 * go 0 1 .. size - 1 .. 1 with a period of 2 (size - 1). */
static dync_tensor *dync__oi_pad_places(dync_tensor *x, int dim, int64_t before, int64_t after,
                                        char mode)
{
    int64_t size = dync__oi_size(x, dim), n = size + before + after, period = 2 * (size - 1);
    int64_t few[64], *at = n <= 64 ? few : dync__alloc((size_t)n * sizeof *at);
    if (!at || n <= 0 || size <= 0) {
        if (at && at != few) dync__free(at, (size_t)n * sizeof *at);
        return n <= 0 ? dync__oi_narrow(x, dim, 0, 0) : NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t p = i - before;
        if (mode == 'e')
            p = DYNC__MIN(DYNC__MAX(p, 0), size - 1);
        else if (mode == 'w')
            p = ((p % size) + size) % size;
        else if (period == 0)
            p = 0;
        else
            p = ((p % period) + period) % period, p = p < size ? p : period - p;
        at[i] = p;
    }
    dync_tensor *index = dync__oi_tensor_i(DYNC_I64, 1, &n, at);
    if (at != few) dync__free(at, (size_t)n * sizeof *at);
    return index ? dync_index_select(x, dim, index) : NULL;
}

/* pads: begins of all axes, then ends. Until opset 10 attributes, then inputs pads, value, axes.
 * Axes one after another: the corners come out the same in any order. */
DYNC__FN dync_status dync__oi_pad(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int rank = dync__oi_rank(x), n;
    int64_t pads[2 * DYNC_MAX_DIMS];
    const int64_t *given;
    double value = dync__oi_float(c, "value");
    dync_dims axes = {0, {0}};
    if (c->version < 11) {
        n = DYNC__MIN(dync__oi_ints(c, "pads", &given), 2 * DYNC_MAX_DIMS);
        if (n) memcpy(pads, given, (size_t)n * sizeof *pads);
    } else {
        n = dync__oi_read(c, dync__oi_in(c, 1), 2 * DYNC_MAX_DIMS, pads);
        if (n < 0 ||
            (dync__oi_in(c, 2) && dync__oi_read_reals(c, dync__oi_in(c, 2), 1, &value) < 0))
            return dync_error();
        if (dync__oi_in(c, 3) && !dync__oi_axes(c, 3, rank, &axes)) return dync_error();
    }
    int dims = axes.n ? axes.n : rank;
    if (n != 2 * dims) return dync__oi_fail(c, DYNC_ERR_FORMAT, "%d pads for %d dims", n, dims);
    char mode = dync__oi_is(c, "mode", "edge")      ? 'e'
                : dync__oi_is(c, "mode", "reflect") ? 'r'
                : dync__oi_is(c, "mode", "wrap")    ? 'w'
                                                    : 'c';
    for (int i = 0; i < dims && x; i++) {
        int dim = axes.n ? (int)axes.d[i] : i;
        if (pads[i] == 0 && pads[dims + i] == 0) continue;
        int64_t before = pads[i], after = pads[dims + i], most = DYNC__MAX(before, after);
        if (mode == 'c')
            x = dync__oi_pad_dim(x, dim, before, after, value);
        else if (before >= 0 && after >= 0 && dync__sz_lt(most, dync__oi_extent(x, dim)))
            x = dync__oi_pad_sides(x, dim, before, after, mode);
        else
            x = dync__oi_pad_places(x, dim, before, after, mode);
    }
    return dync__oi_out(c, 0, x);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* [N, C, H, W] -> [N, C / b^2, H b, W b]. The channel of block row r, block column s and channel c
 * of the result is (r b + s) C / b^2 + c in mode DCR, c b^2 + r b + s in mode CRD (PyTorch's pixel
 * shuffle). */
DYNC__FN dync_status dync__oi_depth_to_space(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims d = dync__oi_sizes(x);
    int64_t b = dync__oi_int(c, "blocksize"), channels = dync__oi_number(d.d[1]);
    if (d.n != 4 || b < 1 || channels % (b * b))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected [N, C, H, W] with C in blocks");
    int64_t deep = channels / (b * b);
    bool crd = dync__oi_is(c, "mode", "CRD");
    x = crd ? dync_reshape(x, dync_shape(d.d[0], deep, b, b, d.d[2], d.d[3]))
            : dync_reshape(x, dync_shape(d.d[0], b, b, deep, d.d[2], d.d[3]));
    x = crd ? dync_permute(x, dync_shape(0, 1, 4, 2, 5, 3))
            : dync_permute(x, dync_shape(0, 3, 4, 1, 5, 2));
    return dync__oi_out(c, 0,
                        dync_reshape(x, dync_shape(d.d[0], deep, dync__sz_mul(d.d[2], b),
                                                   dync__sz_mul(d.d[3], b))));
}

/* The inverse: [N, C, H, W] -> [N, C b^2, H / b, W / b]. */
DYNC__FN dync_status dync__oi_space_to_depth(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims d = dync__oi_sizes(x);
    int64_t b = dync__oi_int(c, "blocksize");
    if (d.n != 4 || b < 1 || !dync__sz_eq(dync__sz_mod(d.d[2], b), 0) ||
        !dync__sz_eq(dync__sz_mod(d.d[3], b), 0))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected [N, C, H, W] in blocks");
    int64_t h = dync__sz_div(d.d[2], b), w = dync__sz_div(d.d[3], b);
    x = dync_reshape(x, dync_shape(d.d[0], d.d[1], h, b, w, b));
    x = dync__oi_is(c, "mode", "CRD") ? dync_permute(x, dync_shape(0, 1, 3, 5, 2, 4))
                                      : dync_permute(x, dync_shape(0, 3, 5, 1, 2, 4));
    return dync__oi_out(c, 0,
                        dync_reshape(x, dync_shape(d.d[0], dync__sz_mul(d.d[1], b * b), h, w)));
}

/* Cut or padded with zeros around the centre; the odd element is cut or added at the end. */
DYNC__FN dync_status dync__oi_center(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims to, axes;
    if (!dync__oi_dims(c, dync__oi_in(c, 1), &to) || !dync__oi_axes(c, -1, dync__oi_rank(x), &axes))
        return dync_error();
    for (int i = 0; i < to.n && x; i++) {
        int dim = axes.n ? (int)axes.d[i] : i;
        int64_t size = dync__oi_size(x, dim), more = to.d[i] - size;
        if (more < 0) x = dync__oi_narrow(x, dim, -more / 2, to.d[i]);
        if (more > 0) x = dync__oi_pad_dim(x, dim, more / 2, more - more / 2, 0);
    }
    return dync__oi_out(c, 0, x);
}
