/* onnx/map_signal.c: ONNX's Fourier transforms, and windows. A complex number is a last dim of
 * size 2 (real, imaginary), a real one of size 1. After
 * map_resize.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

static const double dync__oi_pi = 3.14159265358979323846;

/* Real numbers [.., 1] as pairs with an imaginary part of 0, or pairs as they are. */
static dync_tensor *dync__oi_pairs(dync_tensor *x)
{
    return dync__oi_size(x, -1) == 2 ? x : dync__oi_pad_dim(x, dync__oi_rank(x) - 1, 0, 1, 0);
}

/* x [.., 1 or 2] along its dim `axis`, which is not the last, cut or padded with zeros to the
 * length -> [.., 2], or, of half a spectrum back, [.., 1]. half (onesided): only the length / 2 + 1
 * first bins. */
static dync_tensor *dync__oi_transform(dync_tensor *x, int axis, int64_t length, bool inverse,
                                       bool half)
{
    dync_value n = dync_v_int(length);
    if (inverse && half) {
        x = dync__oi_pairs(x);
        x = x ? dync_fft_irfft(x, n, axis) : NULL;
        return x ? dync_unsqueeze(x, -1) : NULL;
    }
    if (!inverse && half && dync__oi_size(x, -1) == 1)
        return dync_fft_rfft(dync_squeeze(x, -1), n, axis);
    x = dync__oi_pairs(x);
    x = !x ? NULL : inverse ? dync_fft_ifft(x, n, axis) : dync_fft_fft(x, n, axis);
    return x && half ? dync__oi_narrow(x, axis, 0, length / 2 + 1) : x;
}

/* Inputs x, length, axis (from opset 20; an attribute before). */
DYNC__FN dync_status dync__oi_dft(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t length = 0, given = c->version < 20 ? dync__oi_int(c, "axis") : -2;
    int axis, rank = dync__oi_rank(x);
    bool inverse = dync__oi_int(c, "inverse") != 0, half = dync__oi_int(c, "onesided") != 0;
    if (dync__oi_in(c, 2) && dync__oi_read(c, dync__oi_in(c, 2), 1, &given) < 0)
        return dync_error();
    if (!dync__oi_axis(c, given, rank, &axis)) return dync_error();
    length = inverse && half ? 2 * (dync__oi_size(x, axis) - 1) : dync__oi_size(x, axis);
    if (dync__oi_in(c, 1) && dync__oi_read(c, dync__oi_in(c, 1), 1, &length) < 0)
        return dync_error();
    if (axis == rank - 1 || length < 1 || dync__oi_size(x, -1) > 2)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "the axis or the length");
    return dync__oi_out(c, 0, dync__oi_transform(x, axis, length, inverse, half));
}

/* Inputs signal [B, L] or [B, L, 1 or 2], step, window, length: a transform of every frame, as
 * [B, frames, bins, 2]. */
DYNC__FN dync_status dync__oi_stft(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *window = dync__oi_in(c, 2);
    int64_t step = 0, length = window ? dync__oi_size(window, 0) : dync__oi_extent(x, 1);
    bool half = dync__oi_int(c, "onesided") != 0;
    if (dync__oi_read(c, dync__oi_in(c, 1), 1, &step) < 0 ||
        (dync__oi_in(c, 3) && dync__oi_read(c, dync__oi_in(c, 3), 1, &length) < 0))
        return dync_error();
    if (dync__oi_rank(x) == 2) x = dync_unsqueeze(x, 2);
    length = dync__oi_number(length);
    if (step < 1 || length < 1 || dync__oi_rank(x) != 3 ||
        dync__sz_lt(dync__oi_extent(x, 1), length))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "the step or the length");
    if (dync__oi_size(x, 2) == 1) {
        x = dync_stft(dync_squeeze(x, 2), length, step, window, half);
        return dync__oi_out(c, 0, x ? dync_transpose(x, 1, 2) : NULL);
    }
    x = dync_unfold(x, 1, length, step); /* [B, frames, parts, length] */
    if (window && x) x = dync_mul(x, window);
    x = x ? dync_transpose(x, 2, 3) : NULL;
    return dync__oi_out(c, 0, x ? dync__oi_transform(x, 2, length, false, half) : NULL);
}

/* w0 - w1 cos(2 pi i / N) + w2 cos(4 pi i / N) for i < n; detail: which row of weights (Hann,
 * Hamming, Blackman). N is n where the window is periodic, else n - 1: symmetric. */
DYNC__FN dync_status dync__oi_window_function(dync__onnx_call *c)
{
    static const double weight[3][3] = {
        {0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
    const double *w = weight[c->row->detail];
    int64_t n, type = dync__oi_int(c, "output_datatype");
    int dtype = dync__onnx_dtype(type);
    if (dync__oi_read(c, dync__oi_in(c, 0), 1, &n) != 1 || n < 0 || n > 1 << 24 || dtype < 0)
        return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "the size");
    double *at = dync__scope_alloc((size_t)(n + 1) * sizeof *at);
    double period = (double)(dync__oi_int(c, "periodic") ? n : n - 1);
    if (!at) return DYNC_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        double a = 2 * dync__oi_pi * (double)i / period;
        at[i] = w[0] - w[1] * cos(a) + w[2] * cos(2 * a);
    }
    return dync__oi_out_typed(c, 0, dync__oi_tensor_f(dtype, 1, &n, at), (int)type);
}

/* MelWeightMatrix [bins of the spectrum, mel bins]: triangles over the bins of a spectrum, equally
 * far apart on the mel scale, mel = 2595 log10(1 + hertz / 700). Inputs: mel bins, length of the
 * transform, sample rate, lower and upper edge in hertz. Triangle i rises from at[i] to at[i + 1]
 * and falls to at[i + 2]. */
DYNC__FN dync_status dync__oi_mel(dync__onnx_call *c)
{
    double v[5];
    for (int i = 0; i < 5; i++)
        if (dync__oi_read_reals(c, dync__oi_in(c, i), 1, &v[i]) != 1)
            return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "input %d", i);
    int64_t type = dync__oi_int(c, "output_datatype");
    int dtype = dync__onnx_dtype(type);
    if (!(v[0] >= 1 && v[0] <= 65536 && v[1] >= 0 && v[1] <= 1 << 21 && v[2] > 0) || dtype < 0)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "the sizes");
    int64_t bins = (int64_t)v[0], shape[2] = {(int64_t)v[1] / 2 + 1, bins};
    if (bins * shape[0] > 1 << 26) return dync__oi_fail(c, DYNC_ERR_FORMAT, "the sizes");
    double low = 2595 * log10(1 + v[3] / 700), high = 2595 * log10(1 + v[4] / 700),
           step = (high - low) / (double)(bins + 2);
    double *out = dync__scope_alloc((size_t)(shape[0] * bins) * sizeof *out);
    int64_t *at = dync__scope_alloc((size_t)(bins + 2) * sizeof *at);
    if (!out || !at) return DYNC_ERR_MEMORY;
    memset(out, 0, (size_t)(shape[0] * bins) * sizeof *out);
    for (int64_t i = 0; i < bins + 2; i++) {
        double hertz = 700 * (pow(10, (low + (double)i * step) / 2595) - 1);
        double bin = floor((v[1] + 1) * hertz / v[2]), last = (double)(shape[0] - 1);
        at[i] = bin > 0 ? (int64_t)DYNC__MIN(bin, last) : 0;
    }
    for (int64_t i = 0; i < bins; i++) {
        int64_t from = at[i], top = at[i + 1], to = at[i + 2];
        if (from == top) out[top * bins + i] = 1;
        for (int64_t j = from; from < top && j <= top; j++)
            out[j * bins + i] = (double)(j - from) / (double)(top - from);
        for (int64_t j = top; j < to; j++)
            out[j * bins + i] = (double)(to - j) / (double)(to - top);
    }
    return dync__oi_out_typed(c, 0, dync__oi_tensor_f(dtype, 2, shape, out), (int)type);
}
