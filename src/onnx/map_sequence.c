/* onnx/map_sequence.c: ONNX's sequences of tensors, and optional values. After map_detect.c.
 *
 * A sequence is a list that the walk holds, of a length that it knows: its operators make lists of
 * what is in it and leave nothing in the graph. A place that data decide cuts, as a shape does.
 * What a loop of a symbolic number of rounds appends is one tensor (map_inside.c). */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

enum { DYNC__OI_SEQUENCE = 1024 }; /* tensors of one */

/* Room for n elements, to be filled at once; NULL + error. */
static dync__onnx_sequence *dync__oi_sequence_new(const dync__onnx_call *c, int64_t n)
{
    if (n > DYNC__OI_SEQUENCE) {
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a sequence of %lld tensors", (long long)n);
        return NULL;
    }
    size_t bytes = sizeof(dync__onnx_sequence) + ((size_t)n + 1) * sizeof(dync__onnx_value);
    dync__onnx_sequence *s = dync__scope_alloc(bytes);
    if (!s) return NULL;
    memset(s, 0, bytes);
    s->n = (int)n;
    return s;
}

/* Sets output i; an element without a tensor (a sequence of sequences, an absent one) is refused.
 */
static dync_status dync__oi_out_sequence(dync__onnx_call *c, int i, const dync__onnx_sequence *s)
{
    if (!s) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    for (int k = 0; k < s->n; k++)
        if (!s->at[k].t)
            return dync_error() ? dync_error()
                                : dync__oi_fail(c, DYNC_ERR_FORMAT, "an element is no tensor");
    if (i < c->n_out) c->out[i] = (dync__onnx_value){NULL, 0, s};
    return DYNC_OK;
}

/* input i; NULL + error: it is no sequence, or it is not known how long it is */
static const dync__onnx_sequence *dync__oi_sequence_in(const dync__onnx_call *c, int i)
{
    const dync__onnx_sequence *s = i < c->n_in ? c->in[i].sequence : NULL;
    if (!s) dync__oi_fail(c, DYNC_ERR_FORMAT, "input %d is no sequence", i);
    if (s && s->stacked) {
        dync__oi_fail(c, DYNC_ERR_DATA_PTR, "a sequence of a length that calls tell");
        return NULL;
    }
    return s;
}

/* The elements of input i along the first dim, if that is how it is held. */
static dync_tensor *dync__oi_stacked_in(const dync__onnx_call *c, int i)
{
    return i < c->n_in && c->in[i].sequence ? c->in[i].sequence->stacked : NULL;
}

/* What rounds of a loop appended to an empty sequence. */
DYNC__FN dync_status dync__oi_out_stacked(dync__onnx_call *c, int i, dync_tensor *t, int type)
{
    dync__onnx_sequence *s = t ? dync__oi_sequence_new(c, 0) : NULL;
    if (!s) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    s->stacked = t;
    s->type = type;
    return dync__oi_out_sequence(c, i, s);
}

/* The place that input i tells, or `without` where there is none, in 0 .. n - 1. */
static bool dync__oi_sequence_place(const dync__onnx_call *c, int i, int64_t without, int64_t n,
                                    int *out)
{
    int64_t at = without;
    if (dync__oi_in(c, i) && dync__oi_read(c, dync__oi_in(c, i), 1, &at) != 1) return false;
    if (at < -n || at >= n) {
        dync__oi_fail(c, DYNC_ERR_INDEX, "place %lld of %lld", (long long)at, (long long)n);
        return false;
    }
    *out = (int)(at < 0 ? at + n : at);
    return true;
}

DYNC__FN dync_status dync__oi_sequence_construct(dync__onnx_call *c)
{
    dync__onnx_sequence *s = dync__oi_sequence_new(c, c->n_in);
    for (int i = 0; s && i < c->n_in; i++) s->at[i] = c->in[i];
    return dync__oi_out_sequence(c, 0, s);
}

DYNC__FN dync_status dync__oi_sequence_at(dync__onnx_call *c)
{
    dync_tensor *all = dync__oi_stacked_in(c, 0);
    int64_t told = 0;
    int at;
    if (all && dync__oi_read_sizes(c, dync__oi_in(c, 1), 1, &told) == 1) {
        if (dync__sz_lt(told, 0)) told = dync__sz_add(dync__oi_extent(all, 0), told);
        all = dync__oi_narrow(all, 0, told, 1);
        return dync__oi_out_typed(c, 0, all ? dync_squeeze(all, 0) : NULL, c->in[0].sequence->type);
    }
    const dync__onnx_sequence *s = dync__oi_sequence_in(c, 0);
    if (!s || !dync__oi_sequence_place(c, 1, 0, s->n, &at)) return dync_error();
    return dync__oi_out_typed(c, 0, s->at[at].t, s->at[at].type);
}

/* input 1 before place input 2, or at the end */
DYNC__FN dync_status dync__oi_sequence_insert(dync__onnx_call *c)
{
    const dync__onnx_sequence *from = dync__oi_sequence_in(c, 0);
    int at, n = from ? from->n : 0;
    /* counted from the end as by the sequence of before, whose end is a place */
    int64_t told = n;
    if (!from) return dync_error();
    if (dync__oi_in(c, 2) && dync__oi_read(c, dync__oi_in(c, 2), 1, &told) != 1)
        return dync_error();
    if (told < -n || told > n)
        return dync__oi_fail(c, DYNC_ERR_INDEX, "place %lld of %d", (long long)told, n);
    at = (int)(told < 0 ? told + n : told);
    dync__onnx_sequence *s = dync__oi_sequence_new(c, (int64_t)n + 1);
    for (int i = 0; s && i <= n; i++) s->at[i] = i == at ? c->in[1] : from->at[i < at ? i : i - 1];
    return dync__oi_out_sequence(c, 0, s);
}

DYNC__FN dync_status dync__oi_sequence_erase(dync__onnx_call *c)
{
    const dync__onnx_sequence *from = dync__oi_sequence_in(c, 0);
    int at;
    if (!from || !dync__oi_sequence_place(c, 1, -1, from->n, &at)) return dync_error();
    dync__onnx_sequence *s = dync__oi_sequence_new(c, from->n - 1);
    for (int i = 0; s && i < s->n; i++) s->at[i] = from->at[i < at ? i : i + 1];
    return dync__oi_out_sequence(c, 0, s);
}

DYNC__FN dync_status dync__oi_sequence_length(dync__onnx_call *c)
{
    dync_tensor *all = dync__oi_stacked_in(c, 0);
    const dync__onnx_sequence *s = all ? c->in[0].sequence : dync__oi_sequence_in(c, 0);
    const int64_t one = 1, n = all ? dync__oi_extent(all, 0) : s ? s->n : 0;
    return s ? dync__oi_out(c, 0, dync__oi_tensor_i(DYNC_I64, 0, &one, &n)) : dync_error();
}

/* [n, ...] with n moved to the axis, and there made one with it unless it is to be a dim. */
static dync_status dync__oi_concat_stacked(dync__onnx_call *c, dync_tensor *all, bool stack)
{
    int axis;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(all) - !stack, &axis))
        return dync_error();
    if (axis) all = dync_movedim(all, dync_shape(0), dync_shape(axis));
    dync_dims d = dync__oi_sizes(all);
    if (!stack && all) {
        d.d[axis] = dync__sz_mul(d.d[axis], d.d[axis + 1]);
        for (int i = axis + 1; i + 1 < d.n; i++) d.d[i] = d.d[i + 1];
        d.n--;
        all = dync_reshape(all, d);
    }
    return dync__oi_out_typed(c, 0, all, c->in[0].sequence->type);
}

DYNC__FN dync_status dync__oi_concat_from_sequence(dync__onnx_call *c)
{
    if (dync__oi_stacked_in(c, 0))
        return dync__oi_concat_stacked(c, dync__oi_stacked_in(c, 0),
                                       dync__oi_int(c, "new_axis") != 0);
    const dync__onnx_sequence *s = dync__oi_sequence_in(c, 0);
    bool stack = dync__oi_int(c, "new_axis") != 0;
    int axis;
    if (!s || !s->n) return s ? dync__oi_fail(c, DYNC_ERR_SHAPE, "of nothing") : dync_error();
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(s->at[0].t) + stack, &axis))
        return dync_error();
    dync_tensor **t = dync__scope_alloc((size_t)s->n * sizeof *t);
    if (!t) return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n; i++) t[i] = s->at[i].t;
    return dync__oi_out_typed(c, 0, dync__oi_list(s->n, t, axis, stack), s->at[0].type);
}

/* Parts of the sizes of input 1: a number for all, the last one smaller, or one each; without them
 * of 1, whose dim goes where keepdims says so. */
DYNC__FN dync_status dync__oi_split_to_sequence(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *told = dync__oi_in(c, 1);
    bool squeeze = !told && !dync__oi_int(c, "keepdims"), each = !told || !dync__oi_rank(told);
    bool data = false; /* they decide where parts end */
    int axis, n = 0;
    int64_t from = 0, one = 1;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    int64_t size = each ? dync__oi_size(x, axis) : dync__oi_extent(x, axis),
            *sizes = dync__scope_alloc(DYNC__OI_SEQUENCE * sizeof size);
    if (!sizes) return DYNC_ERR_MEMORY;
    if (each && told && dync__oi_read(c, told, 1, &one) != 1) return dync_error();
    if (each && one < 1) return dync__oi_fail(c, DYNC_ERR_SHAPE, "parts of %lld", (long long)one);
    if (!each && (n = dync__oi_data_sizes(c, told, DYNC__OI_SEQUENCE, sizes)) < 0)
        return dync_error();
    dync__onnx_sequence *s = dync__oi_sequence_new(c, each ? size / one + (size % one != 0) : n);
    for (int i = 0; s && i < s->n; i++) {
        int64_t part = each ? DYNC__MIN(one, size - from) : sizes[i];
        int64_t left = dync__sz_sub(size, from);
        data = data || dync__oi_is_data_size(part) || dync__oi_is_data_size(left);
        if (!data && (dync__sz_lt(part, 0) || dync__sz_lt(left, part)))
            return dync__oi_fail(c, DYNC_ERR_SHAPE, "the parts are larger than the tensor");
        dync_tensor *t = dync__oi_data_part(x, axis, from, part);
        if (squeeze && t) t = dync_squeeze(t, axis);
        s->at[i] = (dync__onnx_value){t, dync__oi_in_type(c, 0), NULL};
        from = dync__sz_add(from, part);
    }
    if (s && data && !dync__is_token(size))
        DYNC__TRY((dync_check)(dync__value_of_size(from), size, size));
    if (s && !data && !dync__sz_eq(from, size))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "parts of %lld in all, not %lld",
                             (long long)dync__oi_number(from), (long long)dync__oi_number(size));
    return dync__oi_out_sequence(c, 0, s);
}

/* The body on each element of input 0, and of the other inputs: theirs, or a tensor as it is. */
DYNC__FN dync_status dync__oi_sequence_map(dync__onnx_call *c)
{
    const dync__onnx_body *b = dync__oi_body(c, "body");
    const dync__onnx_sequence *first = dync__oi_sequence_in(c, 0);
    if (!first) return dync_error();
    if (!b || b->n_inputs != c->n_in || b->n_outputs != c->n_out)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "the body fits not");
    size_t room = (size_t)(c->n_in + c->n_out + 1);
    dync__onnx_sequence **result = dync__scope_alloc(room * sizeof(dync__onnx_sequence *));
    dync__onnx_value *in = dync__scope_alloc(room * sizeof *in), *out = in ? in + c->n_in : NULL;
    if (!result || !in) return DYNC_ERR_MEMORY;
    for (int k = 0; k < c->n_out; k++)
        if (!(result[k] = dync__oi_sequence_new(c, first->n))) return DYNC_ERR_MEMORY;
    for (int i = 0; i < first->n; i++) {
        memset(in, 0, room * sizeof *in);
        for (int k = 0; k < c->n_in; k++) {
            const dync__onnx_sequence *s = c->in[k].sequence;
            if (s && s->n != first->n)
                return dync__oi_fail(c, DYNC_ERR_SHAPE, "sequences of %d and %d", first->n, s->n);
            in[k] = s ? s->at[i] : c->in[k];
        }
        DYNC__TRY(dync__onnx_run_inside(c->model, b, c->frame, c, c->n_in, in, out));
        for (int k = 0; k < c->n_out; k++) result[k]->at[i] = out[k];
    }
    for (int k = 0; k < c->n_out; k++) DYNC__TRY(dync__oi_out_sequence(c, k, result[k]));
    return DYNC_OK;
}

/* ---- optional values ------------------------------------------------------------------------- */

/* An absent value carries a type and nothing else: the walk tells it from an output that nobody
 * made. */
DYNC__FN dync_status dync__oi_optional(dync__onnx_call *c)
{
    dync__onnx_value none = {NULL, DYNC__ONNX_FLOAT, NULL};
    bool there = c->n_in && dync__onnx_is_there(&c->in[0]);
    if (c->n_out) c->out[0] = there ? c->in[0] : none;
    return DYNC_OK;
}

DYNC__FN dync_status dync__oi_optional_has(dync__onnx_call *c)
{
    const int64_t one = 1, has = c->n_in && dync__onnx_is_there(&c->in[0]);
    return dync__oi_out(c, 0, dync__oi_tensor_i(DYNC_BOOL, 0, &one, &has));
}
