/* op/decompose_resize.c: images in other sizes: upsample_linear1d, upsample_bilinear2d,
 * upsample_trilinear3d, upsample_bicubic2d, upsample_nearest2d, pixel_shuffle, written as calls of
 * other operators. After decompose_sample.c. */
#include "../dync.in.h"
#include "sample.h"
DYNC__COLD

/* Where each of n results along a dim of size `in` lies between its elements:
 *   align_corners  i (in - 1) / (n - 1)      else  (i + 0.5) in / n - 0.5, linear ones not below 0
 */
static dync__dt *dync__resize_places(const dync__sampler *s, int64_t in, int64_t n, int dtype,
                                     int device)
{
    dync__chain *c = s->c;
    double from = dync__sf_of(in), to = dync__sf_of(n);
    dync__dt *x = dync__chain_dtype(c, dync__chain_range(c, n, device), dtype);
    if (s->corners) {
        if (n == 1) return dync__chain_tf(c, DYNC__OP_mul, x, 0);
        return dync__chain_tf(
            c, DYNC__OP_mul, x,
            dync__sf(DYNC__SF_DIV, dync__sf(DYNC__SF_SUB, from, 1), dync__sf(DYNC__SF_SUB, to, 1)));
    }
    x = dync__chain_tf(c, DYNC__OP_mul, dync__chain_tf(c, DYNC__OP_add, x, 0.5),
                       dync__sf(DYNC__SF_DIV, from, to));
    x = dync__chain_tf(c, DYNC__OP_sub, x, 0.5);
    return s->taps == 2 ? dync__chain_tf(c, DYNC__OP_maximum, x, 0) : x;
}

/* x along dim: taps at indices held inside, times their weights. */
static dync__dt *dync__resize_dim(dync__sampler *s, dync__dt *x, int dim, int64_t n)
{
    dync__chain *c = s->c;
    dync__dt *sum = NULL;
    if (!x) return NULL;
    int64_t in = x->lay.shape[dim], shape[DYNC_MAX_DIMS];
    dync__dt *at = dync__resize_places(s, in, n, x->dtype, x->device);
    for (int d = 0; d < x->lay.ndim; d++) shape[d] = d == dim ? n : 1;
    s->first[0] = dync__chain1(c, DYNC__OP_floor, at);
    s->part[0] = dync__chain_tt(c, DYNC__OP_sub, at, s->first[0]);
    for (int k = 0; k < s->taps; k++) {
        dync__dt *i = dync__chain_tf(c, DYNC__OP_add, s->first[0], k - s->taps / 4);
        i = dync__chain3(c, DYNC__OP_clamp, dync__arg_t(i), dync__arg_f(0),
                         dync__arg_f(dync__sf(DYNC__SF_SUB, dync__sf_of(in), 1)));
        i = dync__chain_dtype(c, i, DYNC_I64);
        dync__dt *v = dync__chain3(c, DYNC__OP_index_select, dync__arg_t(x), dync__arg_i(dim),
                                   dync__arg_t(i));
        dync__dt *w =
            dync__chain_shape(c, DYNC__OP_view, dync__sample_weight(s, 0, k), x->lay.ndim, shape);
        v = dync__chain_tt(c, DYNC__OP_mul, v, w);
        sum = sum ? dync__chain_tt(c, DYNC__OP_add, sum, v) : v;
    }
    return sum;
}

/* Arguments (x [N, C, ..], output_size, align_corners): one dim after another, the last one first.
 * In f32 for f16 and bf16. */
static dync_status dync__resize(dync__opcall *call, int dims, int taps)
{
    dync__chain c = {0};
    dync__sampler s = {.c = &c, .dims = 1, .taps = taps, .corners = call->args[2].as.i != 0};
    dync__dt *x, *y;
    const dync__arg *size = &call->args[1];
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__dn_rank(x, 2 + dims));
    DYNC__TRY(dync__infer_floating(x));
    if (size->n != dims)
        return dync__fail(DYNC_ERR_VALUE,
                          "It is expected output_size equals to %d, but got size %d", dims,
                          size->n);
    for (int d = 0; d < dims; d++)
        if (dync__sz_lt(size->as.dims[d], 1) || dync__sz_lt(x->lay.shape[2 + d], 1) ||
            (!dync__is_token(size->as.dims[d]) && size->as.dims[d] > INT32_MAX))
            return dync__fail(DYNC_ERR_VALUE,
                              "Input and output sizes should be greater than 0, but got input %lld "
                              "and output %lld",
                              (long long)dync__sz_hint(x->lay.shape[2 + d]),
                              (long long)dync__sz_hint(size->as.dims[d]));
    int form;
    y = dync__chain_wide(&c, dync__chain_lying(&c, x, &form));
    for (int d = dims - 1; d >= 0; d--)
        if (!dync__sz_eq(x->lay.shape[2 + d], size->as.dims[d]))
            y = dync__resize_dim(&s, y, dync__chain_dim(form, 2 + d), size->as.dims[d]);
    y = dync__chain_standing(&c, dync__chain_dtype(&c, y, x->dtype), form);
    return dync__chain_end(&c, call, dync__chain_formed(&c, y, x));
}
DYNC__FN dync_status dync__d_upsample_linear1d(dync__opcall *call)
{
    return dync__resize(call, 1, 2);
}
DYNC__FN dync_status dync__d_upsample_bilinear2d(dync__opcall *call)
{
    return dync__resize(call, 2, 2);
}
DYNC__FN dync_status dync__d_upsample_trilinear3d(dync__opcall *call)
{
    return dync__resize(call, 3, 2);
}
DYNC__FN dync_status dync__d_upsample_bicubic2d(dync__opcall *call)
{
    return dync__resize(call, 2, 4);
}

/* 0, 1, .. size - 1 spread over n places: floor(i * size / n) An index for each place of the
 * result, then index_select: a gradient comes for free. */
static dync__dt *dync__dn_nearest(dync__chain *c, dync__dt *x, int dim, int64_t n)
{
    if (!x) return NULL;
    dync__dt *index =
        dync__chain_ti(c, DYNC__OP_mul, dync__chain_range(c, n, x->device), x->lay.shape[dim]);
    index = dync__chain_ti(c, DYNC__OP_floor_divide, index, n);
    return dync__chain3(c, DYNC__OP_index_select, dync__arg_t(x), dync__arg_i(dim),
                        dync__arg_t(index));
}

/* Arguments (x [N, C, H, W], output_size): rows first, then columns. */
DYNC__FN dync_status dync__d_upsample_nearest2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    const dync__arg *size = &call->args[1];
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__dn_rank(x, 4));
    bool ok = size->n == 2;
    for (int i = 0; i < 2 && ok; i++)
        ok = !dync__sz_lt(size->as.dims[i], 1) &&
             (dync__is_token(size->as.dims[i]) || size->as.dims[i] <= INT32_MAX);
    if (!ok) return dync__fail(DYNC_ERR_VALUE, "expected an output_size of two positive numbers");
    int form;
    dync__dt *y = dync__chain_lying(&c, x, &form);
    for (int i = 0; i < 2; i++)
        y = dync__dn_nearest(&c, y, dync__chain_dim(form, 2 + i), size->as.dims[i]);
    y = dync__chain_standing(&c, y, form);
    return dync__chain_end(&c, call, dync__chain_formed(&c, y, x));
}

/* [.., C r r, H, W] -> [.., C, H r, W r] (Shi et al. 2016, arXiv:1609.05158): the channels of one
 * pixel become an r by r square. As views: split [C, r, r, H, W], permuted to [C, H, r, W, r],
 * joined. */
DYNC__FN dync_status dync__d_pixel_shuffle(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    int64_t r = call->args[1].as.i, shape[DYNC_MAX_DIMS], order[DYNC_MAX_DIMS];
    DYNC__TRY(dync__dt_self(call, &x));
    int n = x->lay.ndim, lead = n - 3;
    if (n < 3 || n + 2 > DYNC_MAX_DIMS)
        return dync__fail(
            DYNC_ERR_SHAPE,
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with %d "
            "dimension(s)",
            n);
    if (r < 1 || r > INT32_MAX)
        return dync__fail(DYNC_ERR_VALUE,
                          "pixel_shuffle expects a positive upscale_factor, but got %lld",
                          (long long)r);
    if (!dync__sz_eq(dync__sz_mod(x->lay.shape[lead], r * r), 0))
        return dync__fail(DYNC_ERR_SHAPE,
                          "pixel_shuffle expects its input's 'channel' dimension "
                          "to be divisible by the square of "
                          "upscale_factor, but input.size(-3)=%lld is not divisible by %lld",
                          (long long)dync__sz_hint(x->lay.shape[lead]), (long long)(r * r));
    const int64_t *s = x->lay.shape + lead, out = dync__sz_size(dync__sz_div(s[0], r * r)),
                  split[5] = {out, r, r, s[1], s[2]};
    int64_t joined[3] = {out};
    if (!dync__sz_mul_ok(s[1], r, &joined[1]) || !dync__sz_mul_ok(s[2], r, &joined[2]))
        return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    static const int to[5] = {0, 3, 1, 4, 2};
    for (int d = 0; d < lead; d++) {
        shape[d] = x->lay.shape[d];
        order[d] = d;
    }
    for (int i = 0; i < 5; i++) {
        shape[lead + i] = split[i];
        order[lead + i] = lead + to[i];
    }
    dync__dt *y = dync__chain_shape(&c, DYNC__OP_reshape, x, n + 2, shape);
    y = dync__chain_shape(&c, DYNC__OP_permute, y, n + 2, order);
    for (int i = 0; i < 3; i++) shape[lead + i] = joined[i];
    y = dync__chain_shape(&c, DYNC__OP_reshape, y, n, shape);
    /* of images of one pixel, or r = 1, it is a view till then */
    return dync__chain_end(&c, call, dync__chain_formed(&c, y, x));
}
