/* onnx/map_microsoft_quant.c: com.microsoft operators on quantized numbers: products of integers,
 * weights of a few bits, and operators that compute on what the numbers stand for. After
 * map_quant.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* Output 0: y divided by scale, rounded, moved by zero; a missing zero is 0 of the type of input 0
 */
static dync_status dync__oi_out_quantized(dync__onnx_call *c, dync_tensor *y, int scale, int zero,
                                          int type)
{
    dync_tensor *s = dync__oi_in(c, scale), *z = dync__oi_in(c, zero);
    if (!y || !s)
        return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no scale");
    if (z) type = dync__oi_in_type(c, zero);
    if (dync__onnx_dtype(type) < 0 || dync__dtype_info(dync__onnx_dtype(type))->kind != 'i')
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "to %s", dync__onnx_type_name(type));
    if (dync__oi_rank(s) == 1 && dync__oi_size(s, 0) == 1) s = dync_reshape(s, DYNC_SCALAR);
    if (z && dync__oi_rank(z) == 1 && dync__oi_size(z, 0) == 1) z = dync_reshape(z, DYNC_SCALAR);
    y = dync_div(y, s);
    return dync__oi_out_typed(c, 0, y ? dync__oi_saturate(y, z, type) : NULL, type);
}

/* input i, its scale and zero point behind it, as reals */
static dync_tensor *dync__oi_real_in(const dync__onnx_call *c, int i)
{
    return dync__oi_real(dync__oi_in(c, i), dync__oi_in(c, i + 1), dync__oi_in(c, i + 2));
}

DYNC__FN dync_status dync__oi_qlinear_two(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_real_in(c, 0), *b = dync__oi_real_in(c, 3);
    dync_tensor *y = a && b ? c->row->two(dync_v_tensor(a), dync_v_tensor(b)) : NULL;
    return dync__oi_out_quantized(c, y, 6, 7, dync__oi_in_type(c, 0));
}

DYNC__FN dync_status dync__oi_qlinear_leaky(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_real_in(c, 0);
    return dync__oi_out_quantized(c, x ? dync_leaky_relu(x, dync__oi_float(c, "alpha")) : NULL, 3,
                                  4, dync__oi_in_type(c, 0));
}

DYNC__FN dync_status dync__oi_qlinear_one(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_real_in(c, 0);
    return dync__oi_out_quantized(c, x ? c->row->one(x) : NULL, 3, 4, dync__oi_in_type(c, 0));
}

DYNC__FN dync_status dync__oi_qlinear_softmax(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_real_in(c, 0);
    int axis;
    if (!x) return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no scale");
    dync_dims d = dync__oi_sizes(x);
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), d.n, &axis)) return dync_error();
    if (dync__oi_int(c, "opset") < 13) { /* everything from axis on is one row */
        x = dync_softmax(dync_flatten(x, axis, -1), axis);
        x = x ? dync_reshape(x, d) : NULL;
    } else {
        x = dync_softmax(x, axis);
    }
    return dync__oi_out_quantized(c, x, 3, 4, dync__oi_in_type(c, 0));
}

DYNC__FN dync_status dync__oi_qlinear_where(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_real_in(c, 1), *b = dync__oi_real_in(c, 4);
    dync_tensor *y = a && b ? dync_where(dync__oi_in(c, 0), a, b) : NULL;
    return dync__oi_out_quantized(c, y, 7, 8, dync__oi_in_type(c, 1));
}

DYNC__FN dync_status dync__oi_qlinear_concat(dync__onnx_call *c)
{
    dync_tensor *part[64];
    int n = (c->n_in - 2) / 3, axis = 0;
    if (n < 1 || n > 64 || c->n_in != 2 + 3 * n)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "%d inputs", c->n_in);
    for (int i = 0; i < n; i++) {
        part[i] = dync__oi_real_in(c, 2 + 3 * i);
        if (!part[i]) return dync_error() ? dync_error() : DYNC_ERR_FORMAT;
    }
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(part[0]), &axis))
        return dync_error();
    return dync__oi_out_quantized(c, dync__oi_list(n, part, axis, false), 0, 1,
                                  dync__oi_in_type(c, 2));
}

/* ---- pools and convolutions ------------------------------------------------------------------ */

/* channels of dim 1 last, or back */
static dync_tensor *dync__oi_channels_moved(dync_tensor *x, bool last)
{
    int rank = dync__oi_rank(x);
    if (rank < 3) return x;
    return last ? dync_movedim(x, dync_shape(1), dync_shape(rank - 1))
                : dync_movedim(x, dync_shape(rank - 1), dync_shape(1));
}

/* Runs a map of channels in dim 1 on x in the place of input 0, and moves its output back. */
static dync_status dync__oi_nchw(dync__onnx_call *c, dync_tensor *x, bool last,
                                 dync_status (*map)(dync__onnx_call *))
{
    dync_tensor *given = c->in[0].t;
    if (last && x) x = dync__oi_channels_moved(x, false);
    if (!x) return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no scale");
    c->in[0].t = x;
    dync_status status = map(c);
    c->in[0].t = given;
    DYNC__TRY(status);
    if (last) c->out[0].t = dync__oi_channels_moved(c->out[0].t, true);
    return c->out[0].t ? DYNC_OK : dync_error();
}

/* row->detail DYNC__OI_MEAN: of all places */
DYNC__FN dync_status dync__oi_qlinear_pool(dync__onnx_call *c)
{
    bool last = dync__oi_int(c, "channels_last") != 0;
    DYNC__TRY(dync__oi_nchw(c, dync__oi_real_in(c, 0), last,
                            c->row->detail == DYNC__OI_MEAN ? dync__oi_global_pool
                                                            : dync__oi_average_pool));
    return dync__oi_out_quantized(c, c->out[0].t, 3, 4, dync__oi_in_type(c, 0));
}

DYNC__FN dync_status dync__oi_nhwc_max_pool(dync__onnx_call *c)
{
    return dync__oi_nchw(c, dync__oi_in(c, 0), true, dync__oi_max_pool);
}

DYNC__FN dync_status dync__oi_nhwc_qlinear_conv(dync__onnx_call *c)
{
    bool last = dync__oi_int(c, "channels_last") != 0;
    return dync__oi_nchw(c, dync__oi_in(c, 0), last, dync__oi_qlinear_conv);
}

/* ---- products -------------------------------------------------------------------------------- */

/* A quantized, B and their scales, as f32 */
DYNC__FN dync_status dync__oi_matmul_integer_to_float(dync__onnx_call *c)
{
    dync_tensor *s = dync__oi_byte_product(dync__oi_in(c, 0), dync__oi_in(c, 4), dync__oi_in(c, 1),
                                           dync__oi_in(c, 5));
    s = s ? dync_mul(dync_to_dtype(s, DYNC_F32), dync_mul(dync__oi_in(c, 2), dync__oi_in(c, 3)))
          : NULL;
    if (s && dync__oi_in(c, 6)) s = dync_add(s, dync__oi_in(c, 6));
    return dync__oi_out(c, 0, s);
}

/* A of reals is quantized as a whole, then multiplied by B in integers. */
DYNC__FN dync_status dync__oi_dynamic_matmul(dync__onnx_call *c)
{
    dync_tensor *scale, *zero, *a = dync__oi_quantized(dync__oi_in(c, 0), &scale, &zero);
    dync_tensor *s = dync__oi_byte_product(a, zero, dync__oi_in(c, 1), dync__oi_in(c, 3));
    s = s ? dync_mul(dync_to_dtype(s, DYNC_F32), dync_mul(scale, dync__oi_in(c, 2))) : NULL;
    if (s && dync__oi_in(c, 4)) s = dync_add(s, dync__oi_in(c, 4));
    return dync__oi_out(c, 0, s);
}

/* alpha * A B + C of integers (C in units of the product's scale), quantized or as f32 */
DYNC__FN dync_status dync__oi_qgemm(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0), *b = dync__oi_in(c, 3), *zero = dync__oi_in(c, 5);
    if (dync__oi_rank(a) != 2 || dync__oi_rank(b) != 2)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected matrices");
    if (dync__oi_int(c, "transA")) a = dync_t(a);
    if (dync__oi_int(c, "transB")) b = dync_t(b);
    dync_tensor *s = dync__oi_byte_product(a, dync__oi_in(c, 2), b, zero);
    dync_tensor *scale = dync_mul(dync__oi_in(c, 1), dync__oi_in(c, 4));
    if (!s || !scale) return dync_error();
    if (dync__oi_in(c, 6)) s = dync_add(s, dync__oi_in(c, 6));
    double alpha = dync__oi_float(c, "alpha");
    if (alpha != 1 && scale) scale = dync_mul(scale, alpha);
    s = s && scale ? dync_mul(dync_to_dtype(s, DYNC_F32), scale) : NULL;
    if (!dync__oi_in(c, 7)) return dync__oi_out(c, 0, s);
    return dync__oi_out_quantized(c, s, 7, 8, dync__oi_in_type(c, 0));
}

/* ---- weights of a few bits ------------------------------------------------------------------- */

/* bytes [.., n] as their numbers of `bits` bits, low ones first: [.., n * 8 / bits] of I32 */
static dync_tensor *dync__oi_unpacked(dync_tensor *x, int64_t bits)
{
    dync_tensor *part[4];
    int n = (int)(8 / bits), rank = dync__oi_rank(x);
    x = x ? dync_to_dtype(x, DYNC_I32) : NULL;
    if (!x || rank == 0 || rank == DYNC_MAX_DIMS || n == 1) return rank ? x : NULL;
    for (int i = 0; i < n; i++)
        part[i] = dync_bitwise_and(dync_floor_divide(x, (int64_t)1 << (i * bits)),
                                   ((int64_t)1 << bits) - 1);
    x = dync__oi_list(n, part, rank, true);
    return x ? dync_flatten(x, -2, -1) : NULL;
}

static bool dync__oi_bits_ok(const dync__onnx_call *c, int64_t bits, int64_t block)
{
    if ((bits == 2 || bits == 4 || bits == 8) && block >= 16 && block <= 1 << 20) return true;
    dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "%lld bits in blocks of %lld", (long long)bits,
                  (long long)block);
    return false;
}

/* A [.., K] times W [N, K] transposed: W in blocks along K, each with a scale and a zero point */
DYNC__FN dync_status dync__oi_matmul_bits(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0), *b = dync__oi_in(c, 1), *scale = dync__oi_in(c, 2),
                *zero = dync__oi_in(c, 3), *y;
    int64_t k = dync__oi_int(c, "K"), n = dync__oi_int(c, "N"), bits = dync__oi_int(c, "bits"),
            block = dync__oi_int(c, "block_size");
    int dtype = dync__oi_type(a);
    if (!dync__oi_bits_ok(c, bits, block)) return dync_error();
    if (dync__oi_int(c, "weight_prepacked") || dync__oi_in(c, 4))
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "packed weights, group indices");
    if (k < 1 || n < 1 || k > INT64_C(1) << 40 || dync__oi_rank(a) < 1 || dync__oi_size(a, -1) != k)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "K %lld, N %lld", (long long)k, (long long)n);
    int64_t count = (k + block - 1) / block;
    b = dync__oi_unpacked(b ? dync_reshape(b, dync_shape(n, count, block * bits / 8)) : NULL, bits);
    if (zero && !dync__oi_is_float(zero)) {
        zero = dync__oi_unpacked(dync_reshape(zero, dync_shape(n, -1)), bits);
        zero = zero ? dync__oi_narrow(zero, 1, 0, count) : NULL;
        if (!zero) return dync_error();
    }
    if (zero) zero = dync_to_dtype(dync_reshape(zero, dync_shape(n, count, 1)), DYNC_F32);
    scale = scale ? dync_reshape(scale, dync_shape(n, count, 1)) : NULL;
    if (!b || !scale) return dync_error() ? dync_error() : DYNC_ERR_FORMAT;
    b = dync_to_dtype(b, DYNC_F32);
    b = zero ? dync_sub(b, zero) : dync_sub(b, (double)(1 << (bits - 1)));
    b = dync_reshape(dync_mul(b, dync_to_dtype(scale, DYNC_F32)), dync_shape(n, count * block));
    b = b ? dync_to_dtype(dync__oi_narrow(b, 1, 0, k), (dync_dtype)dtype) : NULL;
    y = b ? dync_matmul(a, dync_t(b)) : NULL;
    if (y && dync__oi_in(c, 5)) y = dync_add(y, dync__oi_in(c, 5));
    return dync__oi_out(c, 0, y);
}

/* t, one number a block of the last dim, as `count` of them with each repeated along n places */
static dync_tensor *dync__oi_per_place(const dync__onnx_call *c, dync_tensor *t, int axis,
                                       int64_t n, int64_t count)
{
    int64_t block = dync__oi_int(c, "block_size");
    dync_dims d = dync__oi_shape(t), flat = d;
    if (d.n != axis + 1 || d.n == DYNC_MAX_DIMS || d.d[axis] < count || count * block < n) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "scales or zero points do not fit the data");
        return NULL;
    }
    t = dync__oi_narrow(t, axis, 0, count);
    d.d[axis] = count;
    flat.d[axis] = count * block;
    d.d[d.n++] = block;
    t = dync_reshape(dync_expand(dync_unsqueeze(t, axis + 1), d), flat);
    return t ? dync_to_dtype(dync__oi_narrow(t, axis, 0, n), DYNC_F32) : NULL;
}

/* Rows of a table of a few bits, by index, as reals. */
DYNC__FN dync_status dync__oi_gather_bits(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *at = dync__oi_in(c, 1), *scale = dync__oi_in(c, 2),
                *zero = dync__oi_in(c, 3);
    int64_t bits = dync__oi_int(c, "bits"), block = dync__oi_int(c, "block_size");
    int rank = dync__oi_rank(x), axis, gather, dtype = dync__oi_type(scale);
    bool held = dync__oi_in_type(c, 0) == DYNC__ONNX_INT4 ||
                dync__oi_in_type(c, 0) == DYNC__ONNX_UINT4;
    if (!dync__oi_bits_ok(c, bits, block)) return dync_error();
    if (!dync__oi_axis(c, dync__oi_int(c, "quantize_axis"), rank, &axis) ||
        !dync__oi_axis(c, dync__oi_int(c, "gather_axis"), rank, &gather))
        return dync_error();
    if (axis != rank - 1 || gather == axis)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "blocks of a dim that is not the last one");
    double middle = dync__oi_in_type(c, 0) == DYNC__ONNX_INT4 ? 0 : (double)(1 << (bits - 1));
    if (!held) x = dync__oi_unpacked(x, bits);
    if (!held && zero) zero = dync__oi_unpacked(zero, bits);
    if (!x || !scale || !at) return dync_error() ? dync_error() : DYNC_ERR_FORMAT;
    scale = dync__oi_per_place(c, scale, axis, dync__oi_size(x, axis), dync__oi_size(scale, axis));
    if (zero && scale)
        zero = dync__oi_per_place(c, zero, axis, dync__oi_size(x, axis),
                                  dync__oi_size(dync__oi_in(c, 2), axis));
    if (!scale || (dync__oi_in(c, 3) && !zero)) return dync_error();
    x = dync_to_dtype(x, DYNC_F32);
    x = dync_mul(zero ? dync_sub(x, zero) : dync_sub(x, middle), scale);
    x = x ? dync_to_dtype(x, (dync_dtype)dtype) : NULL;
    return x ? dync__oi_gathered(c, x, at, gather) : dync_error();
}
