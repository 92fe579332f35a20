/* onnx/map_quant.c: ONNX's quantized operators: sums of products of integers are integers. After
 * map_signal.c.
 *
 *   real = (quantized - zero point) * scale
 *   quantized = saturate(round(real / scale) + zero point)
 *
 * Rounding is to even. A scale is one number (per tensor), one a place of an axis (per channel), or
 * one a block of an axis. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* A scale or zero point s of x, in a shape that broadcasts against x: rank 0 or one element: a
 * number; rank 1: one per place of `axis`; the rank of x: one per block of block_size places along
 * it, each repeated and the last block cut where x ends. NULL s passes. */
static dync_tensor *dync__oi_along(const dync__onnx_call *c, dync_tensor *s, dync_tensor *x)
{
    dync_dims d = dync__oi_sizes(x), one = {d.n, {0}};
    int axis;
    int64_t block = dync__oi_int(c, "block_size");
    if (!s || dync__oi_rank(s) == 0) return s;
    if (dync__oi_rank(s) == 1 && dync__oi_size(s, 0) == 1) return dync_reshape(s, DYNC_SCALAR);
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), d.n, &axis)) return NULL;
    for (int i = 0; i < d.n; i++) one.d[i] = i == axis ? -1 : 1;
    if (dync__oi_rank(s) == 1) return dync_reshape(s, one);
    if (block < 1 || dync__oi_rank(s) != d.n || d.n == DYNC_MAX_DIMS) return s;
    dync_dims more = dync__oi_shape(s), flat = more;
    for (int i = d.n; i > axis; i--) more.d[i] = more.d[i - 1];
    more.n++;
    more.d[axis + 1] = block;
    flat.d[axis] *= block;
    s = dync_reshape(dync_expand(dync_unsqueeze(s, axis + 1), more), flat);
    return s ? dync__oi_narrow(s, axis, 0, d.d[axis]) : NULL;
}

/* The range of an integer type: uint4 0 .. 15, int8 -128 .. 127. Types that are held in a wider
 * dtype have the range of their own bits. */
static void dync__oi_range_of(int64_t type, double *low, double *high)
{
    bool is_signed;
    int bits = dync__onnx_held_bits(type, &is_signed);
    if (!bits) {
        bits = 8 * dync__dtype_info(dync__onnx_dtype(type))->bytes;
        is_signed = type != DYNC__ONNX_UINT8;
    }
    *low = is_signed ? -ldexp(1, bits - 1) : 0;
    *high = ldexp(1, is_signed ? bits - 1 : bits) - 1;
}

/* round(y) + zero, held in the range of the ONNX type, in the dtype that holds it. y: reals; zero
 * NULL: 0. Saturation is in y's type: exact in f32 for all that ONNX quantizes to, 16 bits at most.
 * NULL + error: a type that is no integer (float8). */
DYNC__FN dync_tensor *dync__oi_saturate(dync_tensor *y, dync_tensor *zero, int64_t type)
{
    double low, high;
    int dtype = dync__onnx_dtype(type);
    if (dtype < 0 || dync__dtype_info(dtype)->kind != 'i') {
        dync__fail(DYNC_ERR_UNSUPPORTED, "ONNX: numbers quantized to %s",
                   dync__onnx_type_name(type));
        return NULL;
    }
    dync__oi_range_of(type, &low, &high);
    y = dync_round(y);
    if (zero && y)
        y = dync__oi_both_of(dync_add, y, dync_to_dtype(zero, (dync_dtype)dync__oi_type(y)));
    y = y ? dync_clamp(y, dync_v_float(low), dync_v_float(high)) : NULL;
    return y ? dync_to_dtype(y, (dync_dtype)dtype) : NULL;
}

/* Reals, of which NaN (-inf by a scale of inf) becomes one below the range of any type: the
 * specification is silent, its reference and ONNX Runtime give the least number of the type. */
static dync_tensor *dync__oi_ordered(dync_tensor *y)
{
    const double below = -(double)(1 << 17);
    return y ? dync_where(dync_ge(y, below), y, below) : NULL;
}

/* QuantizeLinear (x, scale, zero point): the type is the zero point's, else output_dtype, else
 * uint8. */
DYNC__FN dync_status dync__oi_quantize(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *scale = dync__oi_in(c, 1), *zero = dync__oi_in(c, 2);
    int64_t type = zero ? dync__oi_in_type(c, 2) : dync__oi_int(c, "output_dtype");
    if (!type) type = DYNC__ONNX_UINT8;
    int dtype = dync__onnx_dtype(type);
    if (dtype < 0 || dync__dtype_info(dtype)->kind != 'i')
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "to %s", dync__onnx_type_name(type));
    scale = dync_to_dtype(dync__oi_along(c, scale, x), DYNC_F32);
    if (zero) zero = dync__oi_along(c, zero, x);
    if (scale) x = dync__oi_both_of(dync_div, dync_to_dtype(x, DYNC_F32), scale);
    x = scale && x ? dync__oi_saturate(dync__oi_ordered(x), zero, type) : NULL;
    return dync__oi_out_typed(c, 0, x, (int)type);
}

/* DequantizeLinear (x, scale, zero point): (x - zero) * scale, in output_dtype or the scale's type.
 */
DYNC__FN dync_status dync__oi_dequantize(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *scale = dync__oi_in(c, 1), *zero = dync__oi_in(c, 2), *y;
    int64_t out = dync__oi_int(c, "output_dtype");
    int dtype = out ? dync__onnx_dtype(out) : dync__oi_type(scale);
    if (dync__oi_is_float(x)) return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "of floats");
    y = dync_to_dtype(x, DYNC_I32);
    scale = dync__oi_along(c, scale, x);
    if (zero)
        y = dync__oi_both_of(dync_sub, y, dync_to_dtype(dync__oi_along(c, zero, x), DYNC_I32));
    y = y && scale
            ? dync__oi_both_of(dync_mul, dync_to_dtype(y, DYNC_F32), dync_to_dtype(scale, DYNC_F32))
            : NULL;
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dtype) : NULL);
}

/* x in uint8 by its own range, which is made to contain 0 so that 0 is exact: scale = (max - min) /
 * 255, zero = saturate(round(-min / scale)). A tensor of zeros has scale 0; it is divided by 1.
 * NULL + error. */
DYNC__FN dync_tensor *dync__oi_quantized(dync_tensor *x, dync_tensor **scale, dync_tensor **zero)
{
    dync_dims all = DYNC_ALL;
    dync_tensor *low = dync_minimum(dync_amin(x, all, false), 0.0),
                *high = dync_maximum(dync_amax(x, all, false), 0.0);
    *scale = dync_div(dync_sub(high, low), 255.0);
    dync_tensor *safe = dync_where(dync_eq(*scale, 0.0), 1.0, *scale);
    *zero = dync__oi_saturate(dync_div(dync_neg(low), safe), NULL, DYNC__ONNX_UINT8);
    return *zero ? dync__oi_saturate(dync_div(x, safe), *zero, DYNC__ONNX_UINT8) : NULL;
}

DYNC__FN dync_status dync__oi_dynamic_quantize(dync__onnx_call *c)
{
    dync_tensor *scale, *zero, *y = dync__oi_quantized(dync__oi_in(c, 0), &scale, &zero);
    if (!y) return dync_error();
    DYNC__TRY(dync__oi_out(c, 0, y));
    DYNC__TRY(dync__oi_out(c, 1, scale));
    return dync__oi_out(c, 2, zero);
}

/* ---- products -------------------------------------------------------------------------------- */

/* (x - zero) * scale in f32; of one number each, or along the last dim */
DYNC__FN dync_tensor *dync__oi_real(dync_tensor *x, dync_tensor *scale, dync_tensor *zero)
{
    x = x ? dync__oi_centred(x, zero, -1) : NULL;
    if (!x || !scale) return NULL;
    if (dync__oi_rank(scale) == 1 && dync__oi_size(scale, 0) == 1)
        scale = dync_reshape(scale, DYNC_SCALAR);
    return scale ? dync_mul(dync_to_dtype(x, DYNC_F32), dync_to_dtype(scale, DYNC_F32)) : NULL;
}

DYNC__FN dync_status dync__oi_matmul_integer(dync__onnx_call *c)
{
    dync_tensor *y = dync__oi_byte_product(dync__oi_in(c, 0), dync__oi_in(c, 2), dync__oi_in(c, 1),
                                           dync__oi_in(c, 3));
    return dync__oi_out_typed(c, 0, y, DYNC__ONNX_INT32);
}

/* Inputs a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero. The sum of integers s stands for
 * s * a_scale * b_scale, which is quantized by y's scale and zero point. */
DYNC__FN dync_status dync__oi_qlinear_matmul(dync__onnx_call *c)
{
    dync_tensor *s = dync__oi_byte_product(dync__oi_in(c, 0), dync__oi_in(c, 2), dync__oi_in(c, 3),
                                           dync__oi_in(c, 5));
    dync_tensor *scale = dync_mul(dync_to_dtype(dync__oi_in(c, 1), DYNC_F32),
                                  dync_to_dtype(dync__oi_in(c, 4), DYNC_F32));
    scale = dync_div(scale, dync_to_dtype(dync__oi_in(c, 6), DYNC_F32));
    if (!s || !scale) return dync_error();
    s = dync_mul(dync_to_dtype(s, DYNC_F32), scale);
    return dync__oi_out_typed(c, 0, dync__oi_saturate(s, dync__oi_in(c, 7), dync__oi_in_type(c, 7)),
                              dync__oi_in_type(c, 7));
}

DYNC__FN dync_status dync__oi_conv_integer(dync__onnx_call *c)
{
    dync_tensor *y = dync__oi_byte_conv(c, dync__oi_in(c, 0), dync__oi_in(c, 2), dync__oi_in(c, 1),
                                        dync__oi_in(c, 3), NULL);
    if (!y && !dync_error()) return dync__oi_fail(c, DYNC_ERR_SHAPE, "the window");
    return dync__oi_out_typed(c, 0, y, DYNC__ONNX_INT32);
}

/* Inputs x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, B. w_scale is a number or one per
 * output channel; B is int32 in steps of x_scale * w_scale, so it joins the sum of integers. */
DYNC__FN dync_status dync__oi_qlinear_conv(dync__onnx_call *c)
{
    dync_tensor *y = dync__oi_byte_conv(c, dync__oi_in(c, 0), dync__oi_in(c, 2), dync__oi_in(c, 3),
                                        dync__oi_in(c, 5), dync__oi_in(c, 8));
    dync_tensor *scale = dync__oi_in(c, 4);
    if (!y) return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_SHAPE, "the window");
    int rank = dync__oi_rank(y);
    if (dync__oi_rank(scale) == 1 && dync__oi_size(scale, 0) > 1)
        scale = dync__oi_channels(scale, rank);
    else
        scale = dync_reshape(scale, DYNC_SCALAR);
    scale = dync_div(dync_mul(dync_reshape(dync__oi_in(c, 1), DYNC_SCALAR), scale),
                     dync_reshape(dync__oi_in(c, 6), DYNC_SCALAR));
    y = scale ? dync_mul(dync_to_dtype(y, DYNC_F32), scale) : NULL;
    return dync__oi_out_typed(
        c, 0, y ? dync__oi_saturate(y, dync__oi_in(c, 7), dync__oi_in_type(c, 7)) : NULL,
        dync__oi_in_type(c, 7));
}
