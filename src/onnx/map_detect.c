/* onnx/map_detect.c: ONNX operators whose results' sizes or bits follow from data: they read them.
 * After map_loss.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* The data of a tensor, dense; a trace is cut. */
static const void *dync__oi_data(dync_tensor *t, int dtype)
{
    t = t ? dync_to_dtype(t, (dync_dtype)dtype) : NULL;
    t = t ? dync_contiguous(t) : NULL;
    return t ? dync_data(t) : NULL;
}

/* ---- non-maximum suppression ----------------------------------------------------------------- */

/* A box of four numbers: two opposite corners y1 x1 y2 x2 in any order, or, centre: x y of the
 * centre, width and height; as low and high corners. Which dim comes first does not matter for the
 * overlap. */
static void dync__oi_box_of(const float *at, bool centre, double *out)
{
    for (int i = 0; i < 2; i++) {
        float p = at[i], q = at[2 + i];
        if (centre) p = at[i] - at[2 + i] / 2, q = at[i] + at[2 + i] / 2;
        out[i] = (double)(p < q ? p : q);
        out[2 + i] = (double)(p < q ? q : p);
    }
}

/* What is found in each class of each batch: batch, class, box. */
typedef DYNC__VEC(int64_t) dync__oi_found;
static dync_status dync__oi_nms_class(dync__nms *s, dync__oi_found *found, const double *box,
                                      const float *score, int64_t n, int64_t batch, int64_t kind)
{
    double *wide = dync__scope_alloc((size_t)(n + 1) * sizeof *wide);
    if (!wide) return DYNC_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) wide[i] = (double)score[i];
    s->kept.n = 0;
    DYNC__TRY(dync__nms_run(s, box, wide, n));
    for (int i = 0; i < s->kept.n; i++)
        if (!dync__vec_push(found, batch) || !dync__vec_push(found, kind) ||
            !dync__vec_push(found, s->kept.at[i]))
            return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* Boxes as dync__oi_box_of has them. */
static dync_tensor *dync__oi_corners(dync_tensor *boxes, bool centre)
{
    boxes = dync_to_dtype(boxes, DYNC_F32);
    dync_tensor *p = dync__oi_narrow(boxes, 2, 0, 2), *q = dync__oi_narrow(boxes, 2, 2, 2);
    if (centre && p && q) {
        dync_tensor *half = dync_div(q, 2.0);
        q = dync_add(p, half);
        p = dync_sub(p, half);
    }
    dync_tensor *part[2] = {dync_minimum(p, q), dync_maximum(p, q)};
    return dync__oi_list(2, part, 2, false);
}

/* The step of this body that makes input i of another, if it has that name and two inputs. */
static const dync__onnx_step *dync__oi_made_as(const dync__onnx_call *c, const dync__onnx_step *of,
                                               int i, const char *name)
{
    const dync__onnx_body *b = c->frame->body;
    int at = of->in[i].up || of->in[i].at < 0 ? -1 : b->maker[of->in[i].at];
    const dync__onnx_step *s = at < 0 ? NULL : &b->step[at];
    return s && s->row && s->node->input.n == 2 && strcmp(s->row->name, name) == 0 ? s : NULL;
}

/* Are the boxes the smaller corners and then the larger ones of the same two, as is written of what
 * was read? Both halves have one shape, so the last dim of 4 is theirs. */
static bool dync__oi_is_ordered(const dync__onnx_call *c)
{
    const dync__onnx_step *cat = c->frame ? dync__oi_made_as(c, c->step, 0, "Concat") : NULL;
    const dync__onnx_attribute *axis =
        cat && cat->node->attribute.n == 1 ? cat->node->attribute.at[0] : NULL;
    const dync__onnx_step *low = axis ? dync__oi_made_as(c, cat, 0, "Min") : NULL,
                          *high = low ? dync__oi_made_as(c, cat, 1, "Max") : NULL;
    bool same = high != NULL && (axis->i == 2 || axis->i == -1);
    for (int i = 0; i < 2 && same; i++)
        same = low->in[i].up == high->in[i].up && low->in[i].at == high->in[i].at;
    return same;
}

/* As an operator of a graph, whose result has a size that data decide. */
static dync_status dync__oi_nms_inside(dync__onnx_call *c, const dync__nms *s, dync_tensor *boxes,
                                       dync_tensor *scores, bool centre)
{
    bool ordered = !centre && dync__oi_type(boxes) == DYNC_F32 && dync__oi_is_ordered(c);
    if (!ordered) boxes = dync__oi_corners(boxes, centre);
    scores = boxes ? dync_to_dtype(scores, DYNC_F32) : NULL;
    if (!scores) return dync_error();
    dync__arg args[5] = {dync__arg_h(boxes), dync__arg_h(scores),
                         dync__arg_i(DYNC__MIN(DYNC__MAX(s->most, 0), INT32_MAX)),
                         dync__arg_f(s->overlap), dync__arg_f(s->least)};
    return dync__oi_out(c, 0, dync__op_call(DYNC__OP__nms_each, 5, args, dync__tls.at));
}

/* boxes [B, N, 4], scores [B, C, N] -> [found, 3] of batch, class, box: at most `most` boxes a
 * class (0: none, which is the default), those that score above `least`. How many there are depends
 * on the data: a trace is cut, a graph has a size that they decide. */
DYNC__FN dync_status dync__oi_non_max(dync__onnx_call *c)
{
    dync_tensor *boxes = dync__oi_in(c, 0), *scores = dync__oi_in(c, 1);
    dync__nms s = {.most = 0, .least = -(double)INFINITY, .narrow = true};
    dync__oi_found found = {0};
    dync_dims b = dync__oi_sizes(boxes), k = dync__oi_sizes(scores);
    if (b.n != 3 || k.n != 3 || !dync__sz_eq(b.d[2], 4) || !dync__sz_eq(b.d[0], k.d[0]) ||
        !dync__sz_eq(b.d[1], k.d[2]))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected boxes [B, N, 4] and scores [B, C, N]");
    bool centre = dync__oi_int(c, "center_point_box") != 0;
    if ((dync__oi_in(c, 2) && dync__oi_read(c, dync__oi_in(c, 2), 1, &s.most) < 0) ||
        (dync__oi_in(c, 3) && dync__oi_read_reals(c, dync__oi_in(c, 3), 1, &s.overlap) < 0) ||
        (dync__oi_in(c, 4) && dync__oi_read_reals(c, dync__oi_in(c, 4), 1, &s.least) < 0))
        return dync_error();
    if (dync__onnx_records(boxes) || dync__onnx_records(scores))
        return dync__oi_nms_inside(c, &s, boxes, scores, centre);
    const float *box = dync__oi_data(boxes, DYNC_F32), *score = dync__oi_data(scores, DYNC_F32);
    if (dync_error() != DYNC_OK) return dync_error();
    double *corner = dync__scope_alloc((size_t)(b.d[0] * b.d[1] * 4 + 1) * sizeof *corner);
    if (!corner) return DYNC_ERR_MEMORY;
    dync_status status = DYNC_OK;
    for (int64_t i = 0; i < b.d[0] * b.d[1] && box; i++)
        dync__oi_box_of(box + 4 * i, centre, corner + 4 * i);
    for (int64_t i = 0; i < b.d[0] * k.d[1] && status == DYNC_OK && box && score; i++)
        status = dync__oi_nms_class(&s, &found, corner + i / k.d[1] * b.d[1] * 4,
                                    score + i * b.d[1], b.d[1], i / k.d[1], i % k.d[1]);
    const int64_t shape[2] = {found.n / 3, 3};
    if (status == DYNC_OK)
        status = dync__oi_out(c, 0, dync__oi_tensor_i(DYNC_I64, 2, shape, found.at));
    dync__vec_free(&found);
    dync__vec_free(&s.kept);
    return status;
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* bits of a type */
static int dync__oi_width(int64_t type)
{
    bool is_signed;
    int bits = dync__onnx_held_bits(type, &is_signed);
    return bits ? bits : 8 * dync__dtype_info(dync__onnx_dtype(type))->bytes;
}

/* The same bits as another type of the same width. */
DYNC__FN dync_status dync__oi_bit_cast(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t to = dync__oi_int(c, "to");
    int from_dtype = dync__oi_type(x), dtype = dync__onnx_dtype(to);
    dync_dims d = dync__oi_shape(x);
    dync__layout lay;
    if (!x) return dync__oi_fail(c, DYNC_ERR_FORMAT, "no input");
    /* integers of one width: the same bits are the same number, modulo its range */
    if (dtype >= 0 && !dync__oi_is_float(x) && dync__dtype_info(dtype)->kind == 'i' &&
        dync__oi_width(to) == dync__oi_width(dync__oi_in_type(c, 0)))
        return dync__oi_out_typed(c, 0, dync__oi_cast_to(c, x, to), (int)to);
    if (dtype < 0 || dync__oi_width(to) != dync__oi_width(dync__oi_in_type(c, 0)) ||
        dync__dtype_info(dtype)->bytes != dync__dtype_info(from_dtype)->bytes)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "%s as %s",
                             dync__onnx_type_name(dync__oi_in_type(c, 0)),
                             dync__onnx_type_name(to));
    const void *data = dync__oi_data(x, from_dtype);
    if (dync_error() != DYNC_OK) return dync_error();
    DYNC__TRY(dync__layout_contiguous(&lay, d.n, d.d));
    dync__tensor *t = dync__tensor_empty(dtype, DYNC_CPU, &lay);
    if (!t) return DYNC_ERR_MEMORY;
    if (t->numel) memcpy(t->storage->data, data, (size_t)t->numel * dync__dtype_info(dtype)->bytes);
    return dync__oi_out_typed(c, 0, dync__give(t), (int)to);
}

/* ---- random numbers: dync's own sequence, whatever the node's seed is ------------------------ */

/* Numbers in the shape of `like`: mean + scale * normal, or uniform in low .. high; drawn in a
 * float type and cast. */
static dync_tensor *dync__oi_random(const dync__onnx_call *c, dync_tensor *like, int dtype)
{
    bool normal = c->row->detail == DYNC__OI_MEAN;
    like = dync_to_dtype(like, dync__dtype_info(dtype)->kind == 'f' ? (dync_dtype)dtype : DYNC_F32);
    dync_tensor *x = normal ? dync_randn_like(like) : dync_rand_like(like);
    double a = normal ? dync__oi_float(c, "mean") : dync__oi_float(c, "low"),
           b = normal ? dync__oi_float(c, "scale") : dync__oi_float(c, "high") - a;
    if (x && b != 1) x = dync_mul(x, b);
    if (x && a != 0) x = dync_add(x, a);
    return x ? dync_to_dtype(x, (dync_dtype)dtype) : NULL;
}

DYNC__FN dync_status dync__oi_random_like(dync__onnx_call *c)
{
    int64_t type = dync__oi_int(c, "dtype");
    int dtype = type ? dync__onnx_dtype(type) : dync__oi_type(dync__oi_in(c, 0));
    return dync__oi_out(c, 0, dync__oi_random(c, dync__oi_in(c, 0), dtype));
}

DYNC__FN dync_status dync__oi_random_of_shape(dync__onnx_call *c)
{
    const int64_t *shape;
    dync_dims d = {dync__oi_ints(c, "shape", &shape), {0}};
    int64_t type = dync__oi_int(c, "dtype");
    if (d.n > DYNC_MAX_DIMS) return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "%d dimensions", d.n);
    for (int i = 0; i < d.n; i++) d.d[i] = shape[i];
    int dtype = dync__onnx_dtype(type ? type : DYNC__ONNX_FLOAT);
    if (dtype < 0) return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "the type");
    return dync__oi_out(c, 0, dync__oi_random(c, dync__oi_full(d, 0, dtype), dtype));
}

/* 1 with probability x, for each element. */
DYNC__FN dync_status dync__oi_bernoulli(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y;
    int64_t type = dync__oi_int(c, "dtype");
    int dtype = type ? dync__onnx_dtype(type) : dync__oi_type(x);
    y = dync_lt(dync_rand_like(x), x);
    return dync__oi_out(c, 0, y && dtype >= 0 ? dync_to_dtype(y, (dync_dtype)dtype) : NULL);
}
