/* onnx/map_data.c: shapes that data decide, while a model becomes a graph: an element of a tensor
 * as a size, which a run tells (op/data_shape.c). After whole_note.c, before map_point.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

enum { DYNC__OI_PIECES = 4 }; /* Concats and Casts above one another that are looked through */

/* The element as a size; below 0 it is an error of the run. -1 + error. */
static int64_t dync__oi_data_size(dync_tensor *one)
{
    one = one ? dync_to_dtype(one, DYNC_I64) : NULL;
    if (!one) return -1;
    dync__arg arg = dync__arg_h(one);
    const dync__tensor *y =
        dync__peek(dync__op_call(DYNC__OP__local_scalar_dense, 1, &arg, dync__tls.at));
    int64_t size = y ? dync__sz_sub(y->lay.shape[0], DYNC__ITEM_BASE) : -1;
    if (!y || (dync_check)(dync__value_of_size(size), 0, DYNC__ITEM_MOST) != DYNC_OK) return -1;
    return size;
}

/* The elements of a vector, behind those that are there already: known ones as numbers; the others
 * as sizes, or where they are not to be read as DYNC__OI_UNKNOWN. */
static dync_status dync__oi_data_elements(const dync__onnx_call *c, dync_tensor *t, bool read,
                                          dync_dims *out)
{
    dync_dims part;
    if (!dync__oi_is_open(t)) {
        if (!dync__oi_read_dims(c, t, &part)) return dync_error();
    } else {
        part.n = (int)DYNC__MIN(dync__oi_size(t, 0), DYNC_MAX_DIMS + 1);
        for (int i = 0; i < part.n && out->n + part.n <= DYNC_MAX_DIMS; i++)
            if (!read)
                part.d[i] = DYNC__OI_UNKNOWN;
            else if ((part.d[i] = dync__oi_data_size(dync_select(t, 0, i))) == -1)
                return dync_error();
    }
    if (out->n + part.n > DYNC_MAX_DIMS)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a shape of more than %d", DYNC_MAX_DIMS);
    for (int i = 0; i < part.n; i++) out->d[out->n++] = part.d[i];
    return DYNC_OK;
}

/* recursion: what a vector is put together from, so that its known parts stay numbers. s: the step
 * that made it, or NULL */
static dync_status dync__oi_data_pieces(const dync__onnx_call *c, const dync__onnx_step *s,
                                        dync_tensor *t, bool read, int depth, dync_dims *out)
{
    bool cast = s && s->row && strcmp(s->row->name, "Cast") == 0,
         concat = s && s->row && strcmp(s->row->name, "Concat") == 0;
    if (!depth || !dync__oi_is_open(t) || (!cast && !concat))
        return dync__oi_data_elements(c, t, read, out);
    for (int i = 0; i < s->node->input.n; i++) {
        dync_tensor *part = dync__onnx_value_at(c->frame, s->in[i]).t;
        int maker = s->in[i].up || s->in[i].at < 0 ? -1 : c->frame->body->maker[s->in[i].at];
        const dync__onnx_step *by = maker < 0 ? NULL : &c->frame->body->step[maker];
        if (!part || dync__oi_rank(part) != 1) return dync__oi_data_elements(c, t, read, out);
        DYNC__TRY(dync__oi_data_pieces(c, by, part, read, depth - 1, out));
    }
    return DYNC_OK;
}

/* Is it a value of a graph that may have sizes which data decide? */
DYNC__FN bool dync__oi_is_data(const dync_tensor *t)
{
    return dync__oi_is_open(t) && dync__onnx_records(t);
}

/* A shape from input i, whose elements are none of them -1. false + error */
DYNC__FN bool dync__oi_data_dims(const dync__onnx_call *c, int i, dync_dims *out)
{
    dync_tensor *t = dync__oi_in(c, i);
    if (!dync__oi_is_data(t) || dync__oi_rank(t) != 1) return dync__oi_read_dims(c, t, out);
    out->n = 0;
    return dync__oi_data_pieces(c, dync__onnx_maker(c, i), t, true, DYNC__OI_PIECES, out) ==
           DYNC_OK;
}

/* Of a shape from input i that data decide: its elements, those that are not known
 * DYNC__OI_UNKNOWN. false: data decide none, or (error) it is no shape. */
DYNC__FN bool dync__oi_partly_known(const dync__onnx_call *c, int i, dync_dims *out)
{
    dync_tensor *t = dync__oi_in(c, i);
    out->n = 0;
    return dync__oi_is_data(t) && dync__oi_rank(t) == 1 &&
           dync__oi_data_pieces(c, dync__onnx_maker(c, i), t, false, DYNC__OI_PIECES, out) ==
               DYNC_OK;
}

/* The elements of a vector as sizes, at most cap of a known number. -1 + error */
DYNC__FN int dync__oi_data_sizes(const dync__onnx_call *c, dync_tensor *t, int cap, int64_t *out)
{
    int64_t n = dync__oi_rank(t) == 1 ? dync__oi_size(t, 0) : -1;
    if (!dync__oi_is_data(t)) return dync__oi_read_sizes(c, t, cap, out);
    if (n < 0 || n > cap) {
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "%lld sizes", (long long)n);
        return -1;
    }
    for (int i = 0; i < n; i++)
        if ((out[i] = dync__oi_data_size(dync_select(t, 0, i))) == -1) return -1;
    return (int)n;
}

DYNC__FN bool dync__oi_is_data_size(int64_t size)
{
    return dync__tls.syms && dync__sz_is_unbacked(dync__tls.syms, size);
}

/* The same of one element; -1 + error. */
DYNC__FN int64_t dync__oi_data_number(dync_tensor *t)
{
    return dync__oi_data_size(t && dync__oi_rank(t) ? dync_reshape(t, DYNC_SCALAR) : t);
}
