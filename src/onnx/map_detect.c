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

typedef struct dync__oi_box {
    float low[2], high[2];
} dync__oi_box;

/* A box of four numbers: two opposite corners y1 x1 y2 x2 in any order, or, centre: x y of the
 * centre, width and height. low and high are sorted; which dim comes first does not matter for the
 * overlap. */
static dync__oi_box dync__oi_box_of(const float *at, bool centre)
{
    dync__oi_box b;
    for (int i = 0; i < 2; i++) {
        float p = at[i], q = at[2 + i];
        if (centre) p = at[i] - at[2 + i] / 2, q = at[i] + at[2 + i] / 2;
        b.low[i] = p < q ? p : q;
        b.high[i] = p < q ? q : p;
    }
    return b;
}

/* Intersection over union, 0 where they do not meet or one of them has no area. */
static float dync__oi_overlap(const float *a, const float *b, bool centre)
{
    dync__oi_box x = dync__oi_box_of(a, centre), y = dync__oi_box_of(b, centre);
    float common = 1, area_x = 1, area_y = 1;
    for (int i = 0; i < 2; i++) {
        float low = x.low[i] > y.low[i] ? x.low[i] : y.low[i],
              high = x.high[i] < y.high[i] ? x.high[i] : y.high[i];
        if (high <= low) return 0;
        common *= high - low;
        area_x *= x.high[i] - x.low[i];
        area_y *= y.high[i] - y.low[i];
    }
    float all = area_x + area_y - common;
    return area_x > 0 && area_y > 0 && all > 0 ? common / all : 0;
}

/* What the node asks for: at most `most` boxes a class (0: none, which is the default), those that
 * score above `score`, none that overlaps a kept one by more than `overlap`. */
typedef struct dync__oi_nms {
    int64_t most;
    double overlap, score;
    bool centre;
    DYNC__VEC(int64_t) found; /* batch, class, box */
} dync__oi_nms;

/* One class of one batch: boxes from the best on, those that overlap a kept one left out. box [n,
 * 4], score [n]; of equal scores the first box wins. n^2 at worst: classes have few boxes that
 * remain. */
static dync_status dync__oi_nms_class(dync__oi_nms *s, const float *box, const float *score,
                                      int64_t n, int64_t batch, int64_t kind)
{
    bool *gone = dync__calloc((size_t)n + 1);
    dync_status status = gone ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int64_t kept = 0; gone && kept < s->most && status == DYNC_OK; kept++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!gone[i] && (double)score[i] > s->score && (best < 0 || score[i] > score[best]))
                best = i;
        if (best < 0) break;
        if (!dync__vec_push(&s->found, batch) || !dync__vec_push(&s->found, kind) ||
            !dync__vec_push(&s->found, best))
            status = DYNC_ERR_MEMORY;
        for (int64_t i = 0; i < n; i++)
            if (i == best ||
                (double)dync__oi_overlap(box + 4 * best, box + 4 * i, s->centre) > s->overlap)
                gone[i] = true;
    }
    if (gone) dync__free(gone, (size_t)n + 1);
    return status;
}

/* boxes [B, N, 4], scores [B, C, N] -> [found, 3] of batch, class, box. How many there are depends
 * on the data: a trace is cut. */
DYNC__FN dync_status dync__oi_non_max(dync__onnx_call *c)
{
    dync_tensor *boxes = dync__oi_in(c, 0), *scores = dync__oi_in(c, 1);
    dync__oi_nms s = {.most = 0, .score = -(double)INFINITY};
    dync_dims b = dync__oi_shape(boxes), k = dync__oi_shape(scores);
    if (b.n != 3 || k.n != 3 || b.d[2] != 4 || b.d[0] != k.d[0] || b.d[1] != k.d[2])
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected boxes [B, N, 4] and scores [B, C, N]");
    s.centre = dync__oi_int(c, "center_point_box") != 0;
    if ((dync__oi_in(c, 2) && dync__oi_read(c, dync__oi_in(c, 2), 1, &s.most) < 0) ||
        (dync__oi_in(c, 3) && dync__oi_read_reals(c, dync__oi_in(c, 3), 1, &s.overlap) < 0) ||
        (dync__oi_in(c, 4) && dync__oi_read_reals(c, dync__oi_in(c, 4), 1, &s.score) < 0))
        return dync_error();
    const float *box = dync__oi_data(boxes, DYNC_F32), *score = dync__oi_data(scores, DYNC_F32);
    if (dync_error() != DYNC_OK) return dync_error();
    dync_status status = DYNC_OK;
    for (int64_t i = 0; i < b.d[0] * k.d[1] && status == DYNC_OK && box && score; i++)
        status = dync__oi_nms_class(&s, box + i / k.d[1] * b.d[1] * 4, score + i * b.d[1], b.d[1],
                                    i / k.d[1], i % k.d[1]);
    const int64_t shape[2] = {s.found.n / 3, 3};
    if (status == DYNC_OK)
        status = dync__oi_out(c, 0, dync__oi_tensor_i(DYNC_I64, 2, shape, s.found.at));
    dync__vec_free(&s.found);
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
