/* op/decompose_region.c: roi_align: means, or the largest, of samples in regions of images, as
 * torchvision.ops has it. After decompose_window.c. */
#include "../dync.in.h"
#include "sample.h"
DYNC__COLD

/* What a call asks for. most: the largest of the weighted corners of all samples instead of the
 * mean of their sums. */
typedef struct dync__dn_roi {
    int64_t out[2], samples[2]; /* of the output; of each of its places, along each dim */
    double scale;
    bool aligned, most;
} dync__dn_roi;

static dync_status dync__dn_roi_of(const dync__opcall *call, dync__dn_roi *o)
{
    dync__dt *x, *box, *image;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &box));
    DYNC__TRY(dync__infer_tensor(call, 2, &image));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__dn_rank(x, 4));
    DYNC__TRY(dync__dn_numbers(call, 3, 2, 1, o->out));
    o->scale = dync__dn_number(call, 4);
    DYNC__TRY(dync__dn_numbers(call, 5, 2, 0, o->samples));
    o->aligned = call->args[6].as.i != 0;
    o->most = call->args[7].as.i != 0;
    if (x->dtype != box->dtype || image->dtype != DYNC_I64)
        return dync__fail(DYNC_ERR_DTYPE, "expected input and boxes of one dtype, got %s and %s",
                          dync__dtype_info(x->dtype)->name, dync__dtype_info(box->dtype)->name);
    if (box->lay.ndim != 2 || !dync__sz_eq(box->lay.shape[1], 4) || image->lay.ndim != 1 ||
        !dync__sz_eq(image->lay.shape[0], box->lay.shape[0]))
        return dync__infer_pair_error("expected boxes [K, 4] and their images [K]", &box->lay,
                                      &image->lay);
    if (o->out[0] < 1 || o->out[1] < 1 || o->out[0] > 4096 || o->out[1] > 4096)
        return dync__fail(DYNC_ERR_VALUE, "expected an output_size from 1 to 4096");
    if (o->samples[0] < 1 || o->samples[1] < 1 || o->samples[0] > 4096 || o->samples[1] > 4096)
        return dync__fail(DYNC_ERR_VALUE,
                          "expected a sampling_ratio from 1 to 4096: one that follows from the "
                          "size of each box would make sizes depend on data");
    return DYNC_OK;
}

/* Places along dim d (rows, columns) of n elements, [K, out * samples]: from a column of the boxes
 * to the one two behind it. Those at most one place outside are on the edge, those beyond count as
 * nothing: -2. */
static dync__dt *dync__dn_roi_places(dync__chain *c, const dync__dn_roi *o, dync__dt *box, int d,
                                     int64_t n)
{
    int low = 1 - d;
    double last = dync__sf(DYNC__SF_SUB, dync__sf_of(n), 1);
    dync__dt *from = dync__chain_tf(c, DYNC__OP_mul, dync__chain_slice(c, box, 1, low, low + 1),
                                    o->scale),
             *to = dync__chain_tf(c, DYNC__OP_mul, dync__chain_slice(c, box, 1, low + 2, low + 3),
                                  o->scale);
    if (o->aligned) from = dync__chain_tf(c, DYNC__OP_sub, from, 0.5);
    if (o->aligned) to = dync__chain_tf(c, DYNC__OP_sub, to, 0.5);
    dync__dt *size = dync__chain_tt(c, DYNC__OP_sub, to, from), *step;
    if (!o->aligned) size = dync__chain_tf(c, DYNC__OP_maximum, size, 1);
    if (!size) return NULL;
    int64_t count = o->out[d] * o->samples[d];
    step = dync__chain_dtype(c, dync__chain_range(c, count, size->device), size->dtype);
    step =
        dync__chain_tf(c, DYNC__OP_div, dync__chain_tf(c, DYNC__OP_add, step, 0.5), (double)count);
    dync__dt *at =
        dync__chain_tt(c, DYNC__OP_add, from, dync__chain_tt(c, DYNC__OP_mul, size, step));
    dync__dt *in = dync__chain_tt(c, DYNC__OP_logical_and, dync__chain_tf(c, DYNC__OP_ge, at, -1),
                                  dync__chain_tf(c, DYNC__OP_le, at, dync__sf_of(n)));
    at = dync__chain3(c, DYNC__OP_clamp, dync__arg_t(at), dync__arg_f(0), dync__arg_f(last));
    return dync__chain_where(c, in, dync__arg_t(at), dync__arg_f(-2));
}

/* [K, out * samples] as [K, places]: rows (dim 0) or columns (dim 1) of each pair, an output's
 * pairs behind each other. */
static dync__dt *dync__dn_roi_pairs(dync__chain *c, const dync__dn_roi *o, dync__dt *at, int dim)
{
    if (!at) return NULL;
    int64_t k = at->lay.shape[0], all[5] = {k, o->out[0], o->out[1], o->samples[0], o->samples[1]},
            one[5] = {k, dim ? 1 : all[1], dim ? all[2] : 1, dim ? 1 : all[3], dim ? all[4] : 1},
            flat[2] = {k, all[1] * all[2] * all[3] * all[4]};
    at = dync__chain_shape(c, DYNC__OP_reshape, at, 5, one);
    return dync__chain_shape(c, DYNC__OP_reshape, dync__chain_shape(c, DYNC__OP_expand, at, 5, all),
                             2, flat);
}

/* x [C, images * H * W], image [K, 1] the first element of each region's: what one corner of all
 * places is worth, [C, K, places]. */
static dync__dt *dync__dn_roi_corner(const dync__sampler *s, dync__dt *x, dync__dt *image, int pick)
{
    dync__chain *c = s->c;
    dync__sample_tap t = dync__sample_tap_of(s, pick);
    dync__dt *at = dync__chain_tt(c, DYNC__OP_add, t.flat, image);
    if (!at || !x) return NULL;
    int64_t flat = -1, shape[3] = {x->lay.shape[0], at->lay.shape[0], at->lay.shape[1]};
    if (dync__sz_eq(at->numel, 0)) flat = 0;
    at = dync__chain_shape(c, DYNC__OP_reshape, at, 1, &flat);
    at = dync__chain3(c, DYNC__OP_index_select, dync__arg_t(x), dync__arg_i(1), dync__arg_t(at));
    at = dync__chain_shape(c, DYNC__OP_view, at, 3, shape);
    return dync__chain_where(
        c, t.inside, dync__arg_t(dync__chain_tt(c, DYNC__OP_mul, at, t.weight)), dync__arg_f(0));
}

/* Of four corners and all samples: the mean of the samples' sums, or the largest of all. y [C, K,
 * places], given back as [K, C, out]. */
static dync__dt *dync__dn_roi_end(dync__chain *c, const dync__dn_roi *o, dync__dt *y)
{
    static const int64_t order[4] = {1, 0, 2, 3}, last = 3;
    if (!y) return NULL;
    int64_t split[4] = {y->lay.shape[0], y->lay.shape[1], o->out[0] * o->out[1],
                        o->samples[0] * o->samples[1]};
    y = dync__chain_shape(c, DYNC__OP_view, y, 4, split);
    if (o->most)
        y = dync__chain_reduce(c, DYNC__OP_amax, y, 1, &last, true);
    else
        y = dync__chain_reduce(c, DYNC__OP_mean, y, 1, &last, true);
    y = dync__chain_shape(c, DYNC__OP_permute, y, 4, order);
    int64_t shape[4] = {split[1], split[0], o->out[0], o->out[1]};
    return dync__chain_shape(c, DYNC__OP_reshape, y, 4, shape);
}

/* Arguments (x [N, C, H, W], boxes [K, 4] of x1, y1, x2, y2, their images [K], output_size,
 * spatial_scale, samples, aligned, most). He et al. 2017, arXiv:1703.06870, section 3. Not aligned:
 * places are not moved by half an element and regions are at least one wide. In f32 for f16 and
 * bf16. */
DYNC__FN dync_status dync__d_roi_samples(dync__opcall *call)
{
    static const int64_t order[4] = {1, 0, 2, 3};
    dync__chain c = {0};
    dync__dn_roi o;
    DYNC__TRY(dync__dn_roi_of(call, &o));
    dync__dt *x = dync__dt_arg(call, 0), *box = dync__chain_wide(&c, dync__dt_arg(call, 1)),
             *y = NULL;
    const int64_t *in = x->lay.shape;
    dync__sampler s = {.c = &c, .dims = 2, .taps = 2, .size = {in[2], in[3]}};
    int64_t plane = dync__sz_mul(in[2], in[3]), rows[2] = {in[1], dync__sz_mul(in[0], plane)};
    for (int d = 0; d < 2; d++) {
        dync__dt *at =
            dync__dn_roi_pairs(&c, &o, dync__dn_roi_places(&c, &o, box, d, in[2 + d]), d);
        s.first[d] = dync__chain1(&c, DYNC__OP_floor, at);
        s.part[d] = dync__chain_tt(&c, DYNC__OP_sub, at, s.first[d]);
    }
    dync__dt *image = dync__chain_ti(
        &c, DYNC__OP_mul, dync__chain_ti(&c, DYNC__OP_unsqueeze, dync__dt_arg(call, 2), 1), plane);
    dync__dt *flat = dync__chain_shape(
        &c, DYNC__OP_reshape,
        dync__chain_shape(&c, DYNC__OP_permute, dync__chain_wide(&c, x), 4, order), 2, rows);
    for (int corner = 0; corner < 4 && flat; corner++) {
        dync__dt *one = dync__dn_roi_corner(&s, flat, image, corner);
        y = !y       ? one
            : o.most ? dync__chain_tt(&c, DYNC__OP_maximum, y, one)
                     : dync__chain_tt(&c, DYNC__OP_add, y, one);
    }
    return dync__chain_end(&c, call, dync__chain_dtype(&c, dync__dn_roi_end(&c, &o, y), x->dtype));
}

/* Arguments (x, boxes [K, 5] of image, x1, y1, x2, y2, output_size, spatial_scale, sampling_ratio,
 * aligned). */
DYNC__FN dync_status dync__d_roi_align(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *box, *y = NULL;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &box));
    if (box->lay.ndim != 2 || !dync__sz_eq(box->lay.shape[1], 5))
        return dync__fail(DYNC_ERR_SHAPE, "The boxes tensor shape is not correct as Tensor[K, 5]");
    dync__dt *image =
        dync__chain3(&c, DYNC__OP_select, dync__arg_t(box), dync__arg_i(1), dync__arg_i(0));
    dync__arg args[8] = {call->args[0],
                         dync__arg_t(dync__chain_slice(&c, box, 1, 1, 5)),
                         dync__arg_t(dync__chain_dtype(&c, image, DYNC_I64)),
                         call->args[2],
                         call->args[3],
                         dync__arg_dims(1, &call->args[4].as.i),
                         call->args[5],
                         dync__arg_b(false)};
    dync__chain_call(&c, DYNC__OP__roi_align, 8, args, &y);
    return dync__chain_end(&c, call, y);
}
