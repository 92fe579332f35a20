/* onnx/map_shape.c: ONNX operators about shapes: they move elements or make them of nothing. After
 * map_reduce.c.
 *
 * Sizes may be symbolic: what is done to them goes through dync__sz_* (tensor/sym.h); a function
 * that needs plain ones asks dync__oi_number. Shapes that are inputs of a node are known tensors,
 * whose elements may be tokens of symbolic sizes (sized.c). */
#include "../dync.in.h"
#include "maps.h"
#include "../capture/trace.h"
DYNC__COLD

/* from, from + step, ...: n numbers; all may be symbolic. NULL + error. recursion: of a symbolic
 * step, which arange has none of. */
DYNC__FN dync_tensor *dync__oi_arange(int64_t from, int64_t n, int64_t step, int dtype)
{
    if (dync__is_token(step)) {
        dync_tensor *t = dync__oi_arange(0, n, 1, dtype);
        t = t ? dync_mul(t, dync__value_of_size(step)) : NULL;
        return t && from ? dync_add(t, dync__value_of_size(from)) : t;
    }
    int64_t end = dync__sz_add(from, dync__sz_mul(n, step));
    dync__arg args[5] = {dync__arg_i(from), dync__arg_i(end), dync__arg_i(step),
                         dync__arg_dtype(dtype), dync__arg_device(DYNC_CPU)};
    /* just behind the last one: a symbolic count comes out again, (n - 1) step + step over step */
    if (dync__is_token(n)) args[1].as.i = dync__sz_add(dync__sz_sub(end, step), step < 0 ? -1 : 1);
    return dync__op_call(DYNC__OP_arange, 5, args, dync__tls.at);
}

/* n places of an axis from `from` on, which data may decide, as may the size of the axis: too many
 * are an error of a run. (A slice of it would have as many as there are.) */
DYNC__FN dync_tensor *dync__oi_data_part(dync_tensor *x, int axis, int64_t from, int64_t n)
{
    bool told = !dync__is_token(from) && !dync__is_token(n);
    if (!dync__oi_is_data_size(from) && !dync__oi_is_data_size(n) &&
        !(told && dync__oi_is_data_size(dync__oi_extent(x, axis))))
        return dync__oi_narrow(x, axis, from, n);
    dync_tensor *at = dync__oi_arange(from, n, 1, DYNC_I64);
    return at ? dync_index_select(x, axis, at) : NULL;
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
    if (!dync__oi_data_dims(c, 0, &shape)) return dync_error();
    if (!a || !a->t) return dync__oi_out(c, 0, dync__oi_full(shape, 0, DYNC_F32));
    DYNC__TRY(dync__onnx_tensor_make(a->t, &c->model->files, &t));
    dync_tensor *v = dync__give(t);
    if (!v) return DYNC_ERR_MEMORY;
    if (dync__oi_is_float(v) && t->numel == 1) /* a number of the code, no constant that is read */
        return dync__oi_out(
            c, 0, dync__oi_full(shape, dync__load_f64(dync__tensor_data(t), t->dtype), t->dtype));
    return dync__oi_out_typed(c, 0, dync_expand(dync_reshape(v, DYNC_SCALAR), shape),
                              (int)a->t->data_type);
}

/* The sizes of dims start .. end - 1 as int64, both held in the rank after negative ones count from
 * its end: of [2, 3, 4] with start -2 it is 3 4. */
/* Sizes as a tensor. Where a walk is traced, one that the model keeps: the trace is that of an
 * earlier walk then. */
static dync_tensor *dync__oi_made_of(dync__onnx_call *c, int ndim, const int64_t *n,
                                     const int64_t *size)
{
    dync_tensor *made = dync__oi_tensor_i(DYNC_I64, ndim, n, size);
    bool walked = dync__tracing_or_replay() != NULL;
    for (int64_t i = 0; i < (ndim ? *n : 1) && walked; i++) walked = !dync__is_token(size[i]);
    dync__tensor *t = walked && made ? dync__open(made) : NULL, *same;
    if (!t || (same = dync__onnx_held_same(c->model, t)) == t) return made;
    dync__ref(same);
    return dync__give(same);
}

DYNC__FN dync_status dync__oi_shape_of(dync__onnx_call *c)
{
    dync_dims d = dync__oi_sizes(dync__oi_in(c, 0));
    int64_t from = dync__oi_int(c, "start"),
            to = dync__oi_has(c, "end") ? dync__oi_int(c, "end") : d.n;
    from = DYNC__MIN(DYNC__MAX(from < 0 ? from + d.n : from, 0), d.n);
    to = DYNC__MIN(DYNC__MAX(to < 0 ? to + d.n : to, from), d.n);
    int64_t n = to - from;
    return dync__oi_out(c, 0, dync__oi_made_of(c, 1, &n, d.d + from));
}

DYNC__FN dync_status dync__oi_size_of(dync__onnx_call *c)
{
    dync_dims d = dync__oi_sizes(dync__oi_in(c, 0));
    int64_t n = 1;
    for (int i = 0; i < d.n; i++) n = dync__sz_mul(n, d.d[i]);
    return dync__oi_out(c, 0, dync__oi_made_of(c, 0, NULL, &n));
}

/* A shape of which one element is not known: whatever data say, it is what is left of the elements.
 */
static bool dync__oi_reshape_one(const dync__onnx_call *c, dync_dims *to)
{
    int unknown = 0;
    if (!dync__oi_partly_known(c, 1, to)) return false;
    for (int i = 0; i < to->n; i++) {
        unknown += to->d[i] == DYNC__OI_UNKNOWN || to->d[i] == -1;
        if (to->d[i] == DYNC__OI_UNKNOWN) to->d[i] = -1;
    }
    return unknown == 1;
}

/* A size of 0 copies that of the input, unless allowzero; -1 is what is left of the elements,
 * worked out here where the others are plain and not 0. Until opset 4 the shape is an attribute. */
DYNC__FN dync_status dync__oi_reshape(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims in = dync__oi_sizes(x), to = {0, {0}};
    const int64_t *given;
    if (c->version >= 5) {
        if (!dync__oi_reshape_one(c, &to) && !dync__oi_read_dims(c, dync__oi_in(c, 1), &to))
            return dync_error();
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
/* What NonZero is of, where that makes the call's input; NULL: another node does, or no graph is
 * made. Its result transposed is what dync has. */
static dync_tensor *dync__oi_places_of(const dync__onnx_call *c)
{
    const dync__onnx_step *s = dync__oi_is_recorded(dync__oi_in(c, 0)) ? dync__onnx_maker(c, 0)
                                                                       : NULL;
    if (!s || !s->row || strcmp(s->row->name, "NonZero") != 0 || s->in[0].up || s->in[0].at < 0)
        return NULL;
    dync_tensor *x = c->frame->value[s->in[0].at].t;
    return dync__oi_rank(x) > 0 ? x : NULL;
}

DYNC__FN dync_status dync__oi_transpose(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims d = dync__oi_sizes(x);
    const int64_t *perm;
    int n = dync__oi_ints(c, "perm", &perm);
    if (n && n != d.n) return dync__oi_fail(c, DYNC_ERR_FORMAT, "perm of %d for %d dims", n, d.n);
    for (int i = 0; i < d.n; i++) d.d[i] = n ? perm[i] : d.n - 1 - i;
    dync_tensor *of = d.n == 2 && d.d[0] == 1 ? dync__oi_places_of(c) : NULL;
    return dync__oi_out(c, 0, of ? dync_nonzero(of) : dync_permute(x, d));
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
        n = dync__oi_data_sizes(c, dync__oi_in(c, 1), MOST, sizes);
    else if ((n = dync__oi_ints(c, "split", &given)) > 0 && n <= MOST)
        memcpy(sizes, given, (size_t)n * sizeof *sizes);
    if (n < 0) return dync_error();
    if (c->n_out > MOST || (n && n < c->n_out))
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "%d sizes for %d parts", n, c->n_out);
    int64_t each = dync__sz_div(dync__sz_add(size, c->n_out - 1), c->n_out);
    for (int i = 0; i < c->n_out; i++) {
        int64_t left = dync__sz_sub(size, from);
        int64_t one = n ? sizes[i] : dync__sz_max(dync__sz_min(each, left), 0);
        bool data = dync__oi_is_data_size(one) || dync__oi_is_data_size(left);
        if (!data && (dync__sz_lt(one, 0) || dync__sz_lt(left, one)))
            return dync__oi_fail(c, DYNC_ERR_SHAPE, "the parts are larger than the tensor");
        DYNC__TRY(dync__oi_out_typed(c, i, dync__oi_data_part(x, axis, from, one),
                                     dync__oi_in_type(c, 0)));
        from = dync__sz_add(from, one);
    }
    return DYNC_OK;
}

/* ---- slices ---------------------------------------------------------------------------------- */
