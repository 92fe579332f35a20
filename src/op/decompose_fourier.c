/* op/decompose_fourier.c: Fourier transforms: fft_fft, fft_ifft, fft_rfft, fft_irfft and stft, and
 * the operator of the kernel that does their lines (kernel/fourier.c). After fourier_products.c,
 * before decompose_layers.c. */
#include "../dync.in.h"
#include "fourier.h"
DYNC__COLD

/* ---- the kernel's operator ------------------------------------------------------------------- */

/* Arguments (x [rows, in (, 2)], n, pairs, back, half, scale) */
DYNC__FN dync_status dync__i_fourier(const dync__opcall *call, dync__info *out)
{
    dync__dt *x;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    int64_t n = call->args[1].as.i, bins = n / 2 + 1;
    bool pairs = call->args[2].as.i != 0, back = call->args[3].as.i != 0,
         half = call->args[4].as.i != 0;
    if (x->dtype != DYNC_F32 && x->dtype != DYNC_F64)
        return dync__fail(DYNC_ERR_DTYPE, "expected float32 or float64");
    if (n < 1 || n > INT32_MAX || (half && pairs != back) || (back && !pairs))
        return dync__fail(DYNC_ERR_VALUE, "expected a transform of 1 to 2^31 - 1 data points");
    if (x->lay.ndim != 2 + pairs || !dync__sz_eq(x->lay.shape[1], half && back ? bins : n) ||
        (pairs && !dync__sz_eq(x->lay.shape[2], 2)))
        return dync__fail(DYNC_ERR_SHAPE, "expected rows of the data points");
    int64_t shape[3] = {x->lay.shape[0], half && !back ? bins : n, 2};
    return dync__infer_fresh(out, x->dtype, x->device, half && back ? 2 : 3, shape);
}

/* The plain form: products. */
DYNC__FN dync_status dync__d_fourier(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    dync__ft_kind k = {call->args[2].as.i != 0, call->args[3].as.i != 0, call->args[4].as.i != 0};
    dync__ft f = {&c, x->device, x->dtype, k.back ? 1 : -1, true};
    int64_t n = call->args[1].as.i;
    double scale = dync__arg_number(&call->args[5]) * (k.back ? (double)n : 1);
    DYNC__TRY(dync__ft_length(n, true));
    dync__dt *y = dync__ft_lines(&f, x, x->lay.shape[0], n, k);
    if (scale != 1) y = dync__chain_tf(&c, DYNC__OP_mul, y, scale);
    return dync__chain_end(&c, call, y);
}

/* ---- operators ------------------------------------------------------------------------------- */
/* Arguments (x, n, dim). */
static dync_status dync__ft_call(dync__opcall *call, dync__ft_kind k)
{
    dync__chain c = {0};
    dync__dt *x;
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    int n = x->lay.ndim - k.pairs;
    if (k.pairs && (n < 0 || !dync__sz_eq(x->lay.shape[n], 2)))
        return dync__fail(DYNC_ERR_SHAPE, "expected pairs of real and imaginary parts: a last dim "
                                          "of size 2");
    if (n < 1 || (!k.pairs && n == DYNC_MAX_DIMS))
        return dync__fail(DYNC_ERR_SHAPE, "expected a tensor of one to %d dims", DYNC_MAX_DIMS - 1);
    DYNC__TRY(dync__dn_dim(call, 2, n, &dim));
    bool back = k.half && k.back;
    int64_t given = dync__sz_number(x->lay.shape[dim]), length = back ? 2 * (given - 1) : given;
    if (dync__arg_is_number(&call->args[1])) {
        length = call->args[1].kind == DYNC__A_INT ? dync__sz_number(call->args[1].as.i)
                                                   : INT64_MAX;
        if (length > INT32_MAX)
            return dync__fail(DYNC_ERR_VALUE, "expected n to be an integer of 32 bits");
    }
    dync__ft f = {&c, x->device, x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32, k.back ? 1 : -1,
                  false};
    DYNC__TRY(dync__ft_length(length, !dync__ft_has_kernel(&f, length, k)));
    dync__dt *y = dync__ft_transform(&f, dync__chain_wide(&c, x), dim, length, k);
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, x->dtype));
}
DYNC__FN dync_status dync__d_fft_fft(dync__opcall *call)
{
    return dync__ft_call(call, (dync__ft_kind){.pairs = true});
}
DYNC__FN dync_status dync__d_fft_ifft(dync__opcall *call)
{
    return dync__ft_call(call, (dync__ft_kind){.pairs = true, .back = true});
}
DYNC__FN dync_status dync__d_fft_rfft(dync__opcall *call)
{
    return dync__ft_call(call, (dync__ft_kind){.half = true});
}
DYNC__FN dync_status dync__d_fft_irfft(dync__opcall *call)
{
    return dync__ft_call(call, (dync__ft_kind){.pairs = true, .back = true, .half = true});
}

/* Arguments (x [B, L] or [L], n_fft, hop_length, window, onesided): a transform of every frame of
 * n_fft numbers, one each hop_length: [B, bins, frames, 2]. A shorter window stands in the middle
 * of zeros. */
DYNC__FN dync_status dync__d_stft(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *window = dync__dt_arg(call, 3);
    int64_t length = call->args[1].as.i, hop = call->args[2].as.i;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    int n = x->lay.ndim, dtype = x->dtype;
    if (n != 1 && n != 2)
        return dync__fail(DYNC_ERR_SHAPE, "expected a 1D or 2D tensor, but got %dD", n);
    if (length < 1 || dync__sz_lt(x->lay.shape[n - 1], length))
        return dync__fail(DYNC_ERR_VALUE, "expected 0 < n_fft <= %lld, but got n_fft=%lld",
                          (long long)dync__sz_hint(x->lay.shape[n - 1]),
                          (long long)dync__sz_hint(length));
    if (hop < 1)
        return dync__fail(DYNC_ERR_VALUE, "expected hop_length > 0, but got hop_length=%lld",
                          (long long)hop);
    int64_t width = window ? dync__sz_number(window->lay.shape[0]) : length;
    if (window && (window->lay.ndim != 1 || width > length || width < 1))
        return dync__fail(DYNC_ERR_SHAPE, "expected a 1D window tensor of at most n_fft");
    dync__ft f = {&c, x->device, dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32, -1, false};
    dync__ft_kind k = {.half = call->args[4].as.i != 0};
    DYNC__TRY(dync__ft_length(length, !dync__ft_has_kernel(&f, length, k)));
    dync__arg args[4] = {dync__arg_t(dync__chain_wide(&c, x)), dync__arg_i(-1), dync__arg_i(length),
                         dync__arg_i(hop)};
    dync__chain_call(&c, DYNC__OP_unfold, 4, args, &x); /* [B, frames, n_fft] */
    if (window) {
        window = dync__chain_dtype(&c, window, f.dtype);
        window = dync__dn_pad_dim(&c, window, 0, (length - width) / 2,
                                  length - width - (length - width) / 2);
        x = dync__chain_tt(&c, DYNC__OP_mul, x, window);
    }
    x = x ? dync__ft_transform(&f, x, n, length, k) : NULL;
    x = dync__chain3(&c, DYNC__OP_transpose, dync__arg_t(x), dync__arg_i(n - 1), dync__arg_i(n));
    return dync__chain_end(&c, call, dync__chain_dtype(&c, x, dtype));
}
