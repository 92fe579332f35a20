/* onnx/map_norm.c: ONNX's products and normalizations. After map_conv.c.
 *
 * Dim 1 of x [N, C, ...] is the channel. Formulas use the names of ONNX's operator documents
 * (Operators.md); inputs that may be missing are NULL here. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* As NumPy: a rank of 1 is a row (left) or a column (right) whose dim is not in the result; dims
 * before the last two are broadcast. */
DYNC__FN dync_status dync__oi_matmul(dync__onnx_call *c)
{
    dync_tensor *y = dync__oi_idiom_linear(c);
    if (!y && !dync__oi_qdq_matmul(c, &y)) y = dync_matmul(dync__oi_in(c, 0), dync__oi_in(c, 1));
    return dync__oi_out(c, 0, y);
}

/* Y [M, N] = alpha A' B' + beta C, where A' is A or, by transA, its transpose, and C is broadcast
 * to [M, N]. The form that exporters write for a linear layer (transB, a bias of N numbers) is one
 * operator. Integers times alpha are reals on the way: the result has A's type again. */
DYNC__FN dync_status dync__oi_gemm(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0), *b = dync__oi_in(c, 1), *bias = dync__oi_in(c, 2), *y;
    double alpha = dync__oi_float(c, "alpha"), beta = dync__oi_float(c, "beta");
    bool transposed = dync__oi_int(c, "transB") != 0;
    bool whole = dync__oi_qdq_gemm(c, transposed, &y);
    if (dync__oi_int(c, "transA")) a = dync_t(a);
    if (!whole && alpha == 1 && beta == 1 && transposed && bias && dync__oi_rank(bias) == 1 &&
        dync__oi_extent(bias, 0) == dync__oi_extent(b, 0))
        return dync__oi_out(c, 0, dync_linear(a, b, bias));
    if (dync__oi_rank(a) != 2 || dync__oi_rank(b) != 2)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected matrices");
    if (!whole) y = dync_matmul(a, transposed ? dync_t(b) : b);
    if (alpha != 1 && y) y = dync_mul(y, alpha);
    if (bias && y) y = dync_add(y, beta == 1 ? bias : dync_mul(bias, beta));
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dync__oi_type(a)) : NULL);
}

/* t [C] along dim 1 of a tensor of that rank */
DYNC__FN dync_tensor *dync__oi_channels(dync_tensor *t, int rank)
{
    dync_dims d = {rank, {0}};
    for (int i = 0; i < rank; i++) d.d[i] = i == 1 ? -1 : 1;
    return t ? dync_reshape(t, d) : NULL;
}

/* Y = (X - mean) / sqrt(var + epsilon) * scale + B, each of them [C].
 *
 * In training_mode mean and var are those of the batch, over all dims but 1 and without Bessel's
 * correction, and outputs 1 and 2 are the running ones: old * momentum + batch * (1 - momentum).
 * ONNX's momentum is the share that stays; PyTorch's is the other one. */
DYNC__FN dync_status dync__oi_batch_norm(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *scale = dync__oi_in(c, 1), *bias = dync__oi_in(c, 2),
                *mean = dync__oi_in(c, 3), *var = dync__oi_in(c, 4);
    double eps = dync__oi_float(c, "epsilon"), keep = dync__oi_float(c, "momentum");
    int rank = dync__oi_rank(x), dtype = dync__oi_type(x);
    if (!dync__oi_int(c, "training_mode"))
        return dync__oi_out(c, 0,
                            dync_batch_norm(x, dync_to_dtype(scale, (dync_dtype)dtype),
                                            dync_to_dtype(bias, (dync_dtype)dtype),
                                            dync_to_dtype(mean, (dync_dtype)dtype),
                                            dync_to_dtype(var, (dync_dtype)dtype), false, 0.1,
                                            eps));
    dync_dims axes = {0, {0}};
    for (int i = 0; i < rank; i++)
        if (i != 1) axes.d[axes.n++] = i;
    dync_tensor *m = dync_mean(x, axes, false), *v = dync_var(x, axes, 0, false);
    dync_tensor *y = dync_mul(dync_sub(x, dync__oi_channels(m, rank)),
                              dync_rsqrt(dync_add(dync__oi_channels(v, rank), eps)));
    y = dync_add(dync_mul(y, dync__oi_channels(scale, rank)), dync__oi_channels(bias, rank));
    DYNC__TRY(dync__oi_out(c, 0, y));
    DYNC__TRY(dync__oi_out(c, 1, dync_add(dync_mul(mean, keep), dync_mul(m, 1 - keep))));
    return dync__oi_out(c, 2, dync_add(dync_mul(var, keep), dync_mul(v, 1 - keep)));
}

/* Mean and variance of each channel of each batch element, over the dims behind them. A single
 * element, which instance_norm takes as little as PyTorch's, becomes the bias. */
DYNC__FN dync_status dync__oi_instance_norm(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *scale = dync__oi_in(c, 1), *bias = dync__oi_in(c, 2);
    dync_dims d = dync__oi_sizes(x);
    double eps = dync__oi_float(c, "epsilon");
    bool one = d.n > 1 && !dync__is_token(d.d[1]);
    for (int i = 2; i < d.n; i++) one = one && dync__sz_eq(d.d[i], 1);
    return dync__oi_out(c, 0,
                        one ? dync_group_norm(x, (int)d.d[1], scale, bias, eps)
                            : dync_instance_norm(x, scale, bias, eps));
}

/* scale and bias are per channel, or until opset 20 per group */
DYNC__FN dync_status dync__oi_group_norm(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *scale = dync__oi_in(c, 1), *bias = dync__oi_in(c, 2);
    int64_t groups = dync__oi_int(c, "num_groups"), channels = dync__oi_size(x, 1);
    if (groups < 1 || channels % groups)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "%lld groups of %lld channels", (long long)groups,
                             (long long)channels);
    if (dync__oi_size(scale, 0) == groups && groups != channels) {
        dync_dims to = dync_shape(groups, channels / groups);
        scale = dync_flatten(dync_expand(dync_unsqueeze(scale, 1), to), 0, 1);
        bias = dync_flatten(dync_expand(dync_unsqueeze(bias, 1), to), 0, 1);
    }
    return dync__oi_out(c, 0,
                        dync_group_norm(x, groups, scale, bias, dync__oi_float(c, "epsilon")));
}

/* (x - mean) * rstd over the dims of x from axis on, with rstd = 1 / sqrt(mean of squares + eps);
 * without `centre` nothing is subtracted, which is the root mean square norm, and *mean is NULL.
 * Halves are computed in f32, and so are *mean and *rstd, whose reduced dims have size 1; the
 * result has the type of x. NULL + error; *mean and *rstd may be set then. */
DYNC__FN dync_tensor *dync__oi_normed(dync_tensor *x, int axis, double eps, bool centre,
                                      dync_tensor **mean, dync_tensor **rstd)
{
    dync_dims axes = {0, {0}};
    int dtype = dync__oi_type(x);
    for (int i = axis; i < dync__oi_rank(x); i++) axes.d[axes.n++] = i;
    if (dtype == DYNC_F16 || dtype == DYNC_BF16) x = dync_to_dtype(x, DYNC_F32);
    *mean = centre ? dync_mean(x, axes, true) : NULL;
    if (centre) x = dync_sub(x, *mean);
    *rstd = dync_rsqrt(dync_add(dync_mean(dync_mul(x, x), axes, true), eps));
    x = *rstd ? dync_mul(x, *rstd) : NULL;
    return x ? dync_to_dtype(x, (dync_dtype)dtype) : NULL;
}

/* Y = (X - Mean) * InvStdDev * Scale + B over the dims from axis on; Mean and InvStdDev are outputs
 * 1 and 2. Scale may be broadcast in ONNX: only where its shape is that of the normalized dims, and
 * Y alone is asked for, it is dync's layer_norm: without a scale where there is no bias and it is 1
 * everywhere, since ONNX cannot leave it out. */
DYNC__FN dync_status dync__oi_layer_norm(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *scale = dync__oi_in(c, 1), *bias = dync__oi_in(c, 2);
    dync_tensor *mean, *rstd, *y;
    double eps = dync__oi_float(c, "epsilon");
    int axis, rank = dync__oi_rank(x);
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), rank, &axis)) return dync_error();
    dync_dims d = dync__oi_sizes(x), last = {0, {0}};
    for (int i = axis; i < rank; i++) last.d[last.n++] = d.d[i];
    dync_dims s = dync__oi_sizes(scale), b = dync__oi_sizes(bias);
    if (c->n_out < 2 && s.n == last.n && memcmp(s.d, last.d, sizeof last.d) == 0 &&
        (!bias || (b.n == s.n && memcmp(b.d, s.d, sizeof s.d) == 0)))
        return dync__oi_out(
            c, 0,
            dync_layer_norm(x, last, !bias && dync__oi_is_all(scale, 1) ? NULL : scale, bias, eps));
    y = dync__oi_normed(x, axis, eps, true, &mean, &rstd);
    if (y && scale) y = dync_mul(y, scale);
    if (y && bias) y = dync_add(y, bias);
    DYNC__TRY(dync__oi_out(c, 0, y));
    if (c->n_out > 1) DYNC__TRY(dync__oi_out(c, 1, mean));
    return c->n_out > 2 ? dync__oi_out(c, 2, rstd) : DYNC_OK;
}

/* Y = X / sqrt(mean of X^2 + epsilon) * scale over the dims from axis on. */
DYNC__FN dync_status dync__oi_rms_norm(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *mean, *rstd, *y;
    int axis;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    y = dync__oi_normed(x, axis, dync__oi_float(c, "epsilon"), false, &mean, &rstd);
    return dync__oi_out(c, 0, y ? dync_mul(y, dync__oi_in(c, 1)) : NULL);
}

/* x / |x|_p along an axis, p 1 or 2; 0 where the norm is 0. */
DYNC__FN dync_status dync__oi_lp_norm(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *n;
    int axis;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    n = dync__oi_int(c, "p") == 1 ? dync_sum(dync_abs(x), dync_shape(axis), true)
                                  : dync_sqrt(dync_sum(dync_mul(x, x), dync_shape(axis), true));
    return dync__oi_out(c, 0, n ? dync_where(dync_eq(n, 0), 0, dync_div(x, n)) : NULL);
}

/* Local response normalization: Y = X / (bias + alpha / size * S)^beta, where S is the sum of the
 * squares of `size` channels around each one, from c - floor((size - 1) / 2) on. Channels outside
 * count as 0. */
DYNC__FN dync_status dync__oi_lrn(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *sum = NULL;
    int64_t size = dync__oi_int(c, "size"), n = dync__oi_size(x, 1);
    if (size < 1 || size > 4096)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "size %lld", (long long)size);
    dync_tensor *square = dync__oi_pad_dim(dync_mul(x, x), 1, (size - 1) / 2, size / 2, 0);
    for (int64_t i = 0; i < size && square; i++) {
        dync_tensor *one = dync__oi_narrow(square, 1, i, n);
        sum = sum ? dync_add(sum, one) : one;
    }
    if (!sum) return dync_error();
    sum = dync_add(dync_mul(sum, dync__oi_float(c, "alpha") / (double)size),
                   dync__oi_float(c, "bias"));
    return dync__oi_out(c, 0, dync_div(x, dync_pow(sum, dync__oi_float(c, "beta"))));
}

/* (x - mean) / (standard deviation + 1e-9) over `axes`, by default all but the channel of [N, C, H,
 * W]. */
DYNC__FN dync_status dync__oi_mean_variance(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *s;
    dync_dims axes;
    if (!dync__oi_axes(c, -1, dync__oi_rank(x), &axes)) return dync_error();
    if (!axes.n) axes = dync_shape(0, 2, 3);
    x = dync_sub(x, dync_mean(x, axes, true));
    s = dync_sqrt(dync_mean(dync_mul(x, x), axes, true));
    return dync__oi_out(c, 0, s ? dync_div(x, dync_add(s, 1e-9)) : NULL);
}

/* The equation lies in the file without a zero byte behind it: it is copied. */
DYNC__FN dync_status dync__oi_einsum(dync__onnx_call *c)
{
    const dync__onnx_attribute *a = dync__oi_attribute(c, "equation");
    dync_value list = dync__list_new(c->n_in);
    char *text = a ? dync__scope_alloc(a->s.n + 1) : NULL;
    if (!text || list.kind != DYNC_KIND_LIST)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "no equation");
    memcpy(text, a->s.at, a->s.n);
    text[a->s.n] = 0;
    for (int i = 0; i < c->n_in; i++) dync__list_set(list, i, dync_v_tensor(dync__oi_in(c, i)));
    return dync__oi_out(c, 0, dync_einsum(text, list));
}

/* The product of an elimination's pivots, for a batch of matrices [.., n, n]; rows are swapped by
 * their largest element. Round k leaves x [b, k, k] and takes its first column away. Where a pivot
 * is 0 its whole column is, so that the product is 0 whatever is divided by: 1 keeps it finite. */
DYNC__FN dync_status dync__oi_det(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *det = NULL;
    dync_dims d = dync__oi_sizes(x);
    int64_t n = dync__oi_size(x, -1), b = 1;
    if (d.n < 2 || !dync__sz_eq(d.d[d.n - 2], n) || n > 256 || n < 1)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected square matrices of at most 256");
    for (int i = 0; i < d.n - 2; i++) b = dync__sz_mul(b, d.d[i]);
    x = dync_reshape(x, dync_shape(b, n, n));
    for (int64_t k = n; k > 0 && x; k--) {                                       /* x [b, k, k] */
        dync_tensor *at = dync_argmax(dync_abs(dync_select(x, 2, 0)), 1, false); /* [b] */
        dync_tensor *index =
            dync_expand(dync_reshape(at, dync_shape(b, 1, 1)), dync_shape(b, 1, k));
        dync_tensor *row = dync_gather(x, 1, index),
                    *pivot = dync_select(dync_select(row, 1, 0), 1, 0);
        /* the row that stood first takes the pivot's place, which changes the sign */
        dync_tensor *first = dync__oi_narrow(x, 1, 0, 1);
        x = dync_scatter(x, 1, index, first);
        dync_tensor *sign = dync_where(dync_eq(at, 0), 1.0, -1.0);
        sign = dync_mul(dync_to_dtype(sign, (dync_dtype)dync__oi_type(pivot)), pivot);
        det = det ? dync_mul(det, sign) : sign;
        if (k == 1) break;
        dync_tensor *rest = dync__oi_narrow(x, 1, 1, k - 1);
        dync_tensor *safe = dync_where(dync_eq(pivot, 0), 1, pivot);
        dync_tensor *factor =
            dync_div(dync__oi_narrow(rest, 2, 0, 1), dync_reshape(safe, dync_shape(b, 1, 1)));
        x = dync_sub(rest, dync_mul(factor, row));
        x = x ? dync__oi_narrow(x, 2, 1, k - 1) : NULL;
    }
    dync_dims out = d;
    out.n = d.n - 2;
    return dync__oi_out(c, 0, det ? dync_reshape(det, out) : NULL);
}
