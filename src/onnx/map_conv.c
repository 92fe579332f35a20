/* onnx/map_conv.c: ONNX's convolutions, of any number of spatial dimensions: one becomes
 * two, three become two over the planes that a kernel reaches. After map_index.c.
 *
 *   x [N, C, D1 .. Dn]   kernel [M, C / group, k1 .. kn]   result [N, M, O1 .. On]
 *   Oi = floor((Di + before + after - (ki - 1) * dilation - 1) / stride) + 1
 *
 * Sizes of x may be symbolic where a convolution or pool of dync takes them; kernels are plain. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* An attribute of n numbers, one a spatial dim or one a side of it; where it is not told each is
 * `without`. false: as many as fit no x of these dims, recorded. */
DYNC__FN bool dync__oi_each(const dync__onnx_call *c, const char *name, int n, int64_t *out,
                            int64_t without)
{
    const int64_t *at;
    int told = dync__oi_ints(c, name, &at);
    for (int i = 0; i < n; i++) out[i] = told == n ? at[i] : without;
    if (told && told != n)
        dync__oi_fail(c, DYNC_ERR_SHAPE, "%s has %d numbers, expected %d", name, told, n);
    return !told || told == n;
}

enum { DYNC__OI_REACH = 1 << 20 }; /* of each number of a window, so that their products fit */

/* The window of a node over x [N, C, spatial...]; kernel NULL: the attribute's. false: recorded.
 *
 * `pads` holds all begins, then all ends. auto_pad SAME_*: as much as gives ceil(size / stride)
 * results, the odd one at the end (UPPER) or at the beginning (LOWER). That depends on what the
 * size leaves over the stride alone, so a symbolic one stays, with a guard. */
DYNC__FN bool dync__oi_window_of(const dync__onnx_call *c, dync_tensor *x, const int64_t *kernel,
                                 dync__oi_window *w)
{
    dync_dims d = dync__oi_sizes(x);
    int64_t pads[2 * DYNC__OI_SPACE];
    memset(w, 0, sizeof *w);
    w->n = d.n - 2;
    if (w->n < 1 || w->n > DYNC__OI_SPACE) {
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "%d spatial dimensions", w->n);
        return false;
    }
    if (!dync__oi_each(c, "kernel_shape", w->n, w->kernel, 1) ||
        !dync__oi_each(c, "strides", w->n, w->stride, 1) ||
        !dync__oi_each(c, "dilations", w->n, w->dilation, 1) ||
        !dync__oi_each(c, "pads", 2 * w->n, pads, 0))
        return false;
    if (kernel) memcpy(w->kernel, kernel, (size_t)w->n * sizeof *kernel);
    w->ceil = dync__oi_int(c, "ceil_mode") != 0;
    bool upper = dync__oi_is(c, "auto_pad", "SAME_UPPER"),
         same = upper || dync__oi_is(c, "auto_pad", "SAME_LOWER");
    for (int i = 0; i < w->n; i++) {
        if (!dync__oi_between(w->kernel[i], 1, DYNC__OI_REACH) ||
            !dync__oi_between(w->stride[i], 1, DYNC__OI_REACH) ||
            !dync__oi_between(w->dilation[i], 1, DYNC__OI_REACH) ||
            !dync__oi_between(pads[i], -DYNC__OI_REACH, DYNC__OI_REACH) ||
            !dync__oi_between(pads[w->n + i], -DYNC__OI_REACH, DYNC__OI_REACH)) {
            dync__oi_fail(c, DYNC_ERR_FORMAT,
                          "a window whose size, stride or dilation is below 1, or a number beyond "
                          "%d",
                          DYNC__OI_REACH);
            return false;
        }
        w->before[i] = pads[i];
        w->after[i] = pads[w->n + i];
        if (dync__oi_is(c, "auto_pad", "VALID")) w->before[i] = w->after[i] = 0;
        if (!same) continue;
        int64_t all = (w->kernel[i] - 1) * w->dilation[i];
        if (w->stride[i] > 1) {
            int64_t left = dync__sz_mod(d.d[2 + i], w->stride[i]), hint = dync__sz_hint(left);
            if (dync__is_token(left) && dync__sz_eq(left, hint)) left = hint;
            all = DYNC__MAX(all + 1 - (left ? left : w->stride[i]), 0);
        }
        w->before[i] = upper ? all / 2 : all - all / 2;
        w->after[i] = all - w->before[i];
    }
    return true;
}

DYNC__FN dync_dims dync__oi_pair(const int64_t *at) { return dync_shape(at[0], at[1]); }

/* ---- convolutions ---------------------------------------------------------------------------- */

/* One spatial dim as two: x [N, C, L] -> [N, C, 1, L], the window 1 high. */
DYNC__FN void dync__oi_raise(dync__oi_window *w)
{
    w->kernel[1] = w->kernel[0], w->stride[1] = w->stride[0], w->dilation[1] = w->dilation[0];
    w->before[1] = w->before[0], w->after[1] = w->after[0];
    w->kernel[0] = w->stride[0] = w->dilation[0] = 1;
    w->before[0] = w->after[0] = 0;
    w->n = 2;
}

/* x with the window's border (number i of the window's) around dim `dim`; negative pads cut off.
 * The border is zeros, or w->border broadcast: a zero point is what quantized zeros look like. */
static dync_tensor *dync__oi_bordered(dync_tensor *x, int dim, const dync__oi_window *w, int i)
{
    int64_t side[2] = {w->before[i], w->after[i]};
    if (!w->border) return dync__oi_pad_dim(x, dim, side[0], side[1], 0);
    dync_dims d = dync__oi_sizes(x);
    dync_tensor *part[3], *edge = dync_to_dtype(w->border, (dync_dtype)dync__oi_type(x));
    int n = 0;
    for (int k = 0; k < 2; k++) {
        d.d[dim] = side[k];
        if (k) part[n++] = x;
        if (side[k] > 0) part[n++] = edge ? dync_expand(edge, d) : NULL;
    }
    x = n == 1 ? x : dync__oi_list(n, part, dim, false);
    return side[0] < 0 || side[1] < 0
               ? dync__oi_pad_dim(x, dim, DYNC__MIN(side[0], 0), DYNC__MIN(side[1], 0), 0)
               : x;
}

/* Over x [N, C, H, W], of floats, or of I8 with sums in I32. dync's operators pad with zeros and by
 * the same on both sides; any other border is laid around x before. x and k may be NULL. */
static dync_tensor *dync__oi_conv2(dync_tensor *x, dync_tensor *k, dync_tensor *bias,
                                   const dync__oi_window *w, int groups)
{
    bool even = w->before[0] == w->after[0] && w->before[1] == w->after[1] && w->before[0] >= 0 &&
                w->before[1] >= 0 && !w->border;
    static const int64_t none[2] = {0, 0};
    for (int i = 0; i < 2 && !even && x; i++) x = dync__oi_bordered(x, 2 + i, w, i);
    if (!x || !k) return NULL;
    dync_dims stride = dync__oi_pair(w->stride), dilation = dync__oi_pair(w->dilation),
              pads = dync__oi_pair(even ? w->before : none);
    return dync__oi_type(x) == DYNC_I8 ? dync_int_conv2d(x, k, bias, stride, pads, dilation, groups)
                                       : dync_conv2d(x, k, bias, stride, pads, dilation, groups);
}

/* The last two of three dims. */
static dync__oi_window dync__oi_window_plane(const dync__oi_window *w)
{
    dync__oi_window flat = *w;
    flat.n = 2;
    for (int i = 0; i < 2; i++) {
        flat.kernel[i] = w->kernel[i + 1], flat.stride[i] = w->stride[i + 1];
        flat.dilation[i] = w->dilation[i + 1];
        flat.before[i] = w->before[i + 1], flat.after[i] = w->after[i + 1];
    }
    return flat;
}

/* Does the window see one element along dim i, and every one? */
static bool dync__oi_window_stays(const dync__oi_window *w, int i)
{
    return w->kernel[i] == 1 && w->stride[i] == 1 && w->before[i] == 0 && w->after[i] == 0;
}

/* Three dims of which the kernel reaches along the last alone: the first two are one. */
static dync_tensor *dync__oi_conv_rows(dync_tensor *x, dync_tensor *k, dync_tensor *bias,
                                       const dync__oi_window *flat, int groups)
{
    dync_dims d = dync__oi_sizes(x), s = dync__oi_shape(k);
    if (!x || !k) return NULL;
    x = dync_reshape(x, dync_shape(d.d[0], d.d[1], dync__sz_mul(d.d[2], d.d[3]), d.d[4]));
    k = dync_reshape(k, dync_shape(s.d[0], s.d[1], 1, s.d[4]));
    dync_tensor *y = x && k ? dync__oi_conv2(x, k, bias, flat, groups) : NULL;
    dync_dims o = dync__oi_sizes(y);
    return y ? dync_reshape(y, dync_shape(d.d[0], o.d[1], d.d[2], d.d[3], o.d[3])) : NULL;
}

/* Three dims: two, over planes whose channels are those of all the planes that the kernel reaches,
 *
 *   y[n, :, z] = conv2(x[n, c, z * stride + i * dilation] at channel c * kernel + i, k as it lies)
 *
 * All `deep` result planes are one call: they stand in the batch, [N * deep, C * kernel, H, W], put
 * together from slices of x with its planes before its channels. */
static dync_tensor *dync__oi_conv3(dync_tensor *x, dync_tensor *k, dync_tensor *bias,
                                   const dync__oi_window *w, int groups)
{
    dync__oi_window flat = dync__oi_window_plane(w);
    if (dync__oi_window_stays(w, 0) && dync__oi_window_stays(w, 1))
        return dync__oi_conv_rows(x, k, bias, &flat, groups);
    x = dync__oi_bordered(x, 2, w, 0);
    dync_dims d = dync__oi_sizes(x), s = dync__oi_shape(k);
    int64_t n = w->kernel[0], reach = (n - 1) * w->dilation[0] + 1;
    int64_t last = dync__sz_div(dync__sz_sub(d.d[2], reach), w->stride[0]),
            deep = dync__sz_add(last, 1), span = dync__sz_add(dync__sz_mul(last, w->stride[0]), 1);
    dync_tensor **part = dync__scope_alloc((size_t)(n + 1) * sizeof(*part)),
                *planes = x && k ? dync_permute(x, dync_shape(0, 2, 1, 3, 4)) : NULL;
    for (int64_t i = 0; i < n && planes && part; i++) {
        int64_t from = i * w->dilation[0];
        part[i] = n == 1 && w->stride[0] == 1
                      ? planes /* each plane, as it is */
                      : (dync_slice)(planes, 1, from, dync__sz_add(from, span), w->stride[0]);
    }
    dync_tensor *all = !planes || !part ? NULL
                       : n == 1         ? part[0]
                                        : dync__oi_list((int)n, part, 3, true);
    all = all ? dync_reshape(all, dync_shape(dync__sz_mul(d.d[0], deep), dync__sz_mul(d.d[1], n),
                                             d.d[3], d.d[4]))
              : NULL;
    dync_tensor *y =
        all ? dync__oi_conv2(all, dync_reshape(k, dync_shape(s.d[0], s.d[1] * n, s.d[3], s.d[4])),
                             bias, &flat, groups)
            : NULL;
    dync_dims o = dync__oi_sizes(y);
    y = y ? dync_reshape(y, dync_shape(d.d[0], deep, o.d[1], o.d[2], o.d[3])) : NULL;
    return y ? dync_permute(y, dync_shape(0, 2, 1, 3, 4)) : NULL;
}

/* A convolution with the attributes of c. x [N, C, ...], k [M, C / group, ...], bias [M] or NULL;
 * border: a scalar that lies around x, NULL: zeros. NULL + error. */
DYNC__FN dync_tensor *dync__oi_convolve(const dync__onnx_call *c, dync_tensor *x, dync_tensor *k,
                                        dync_tensor *bias, dync_tensor *border)
{
    dync__oi_window w;
    dync_dims kernel = dync__oi_shape(k); /* of plain sizes */
    int64_t group = dync__oi_int(c, "group");
    if (kernel.n != dync__oi_rank(x)) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "a kernel of %d dims for %d", kernel.n, dync__oi_rank(x));
        return NULL;
    }
    if (!dync__oi_window_of(c, x, kernel.d + 2, &w)) return NULL;
    w.border = border;
    int groups = (int)DYNC__MAX(DYNC__MIN(group, INT_MAX), 1);
    if (w.n == 2) return dync__oi_conv2(x, k, bias, &w, groups);
    if (w.n == 1) {
        dync__oi_raise(&w);
        dync_tensor *y =
            dync__oi_conv2(dync_unsqueeze(x, 2), dync_unsqueeze(k, 2), bias, &w, groups);
        return y ? dync_squeeze(y, 2) : NULL;
    }
    return dync__oi_conv3(x, k, bias, &w, groups);
}

DYNC__FN dync_status dync__oi_conv(dync__onnx_call *c)
{
    return dync__oi_out(
        c, 0, dync__oi_convolve(c, dync__oi_in(c, 0), dync__oi_in(c, 1), dync__oi_in(c, 2), NULL));
}

/* x spread along dim by its stride with zeros between: a b c by 2 is a 0 b 0 c. A transposed
 * convolution is an ordinary one over that with the kernel flipped, for any number of dims. */
static dync_tensor *dync__oi_spread(dync_tensor *x, int dim, int64_t stride)
{
    dync_dims d = dync__oi_sizes(x), more = d;
    if (stride == 1 || d.d[dim] < 2) return x;
    if (d.n == DYNC_MAX_DIMS) return NULL;
    x = dync_unsqueeze(x, dim + 1);
    more.n = d.n + 1;
    for (int i = d.n; i > dim + 1; i--) more.d[i] = d.d[i - 1];
    more.d[dim + 1] = stride - 1;
    dync_tensor *part[2] = {x, dync__oi_full(more, 0, dync__oi_type(x))};
    x = dync__oi_list(2, part, dim + 1, false);
    int64_t n = d.d[dim];
    d.d[dim] = dync__sz_mul(n, stride);
    x = x ? dync_reshape(x, d) : NULL;
    int64_t length = dync__sz_add(dync__sz_mul(dync__sz_sub(n, 1), stride), 1);
    return x ? dync__oi_narrow(x, dim, 0, length) : NULL;
}

/* Pads of the convolution over the spread input, after output_shape, auto_pad, output_padding. A
 * transposed convolution gives stride * (in - 1) + output_padding + reach + 1 - before - after
 * elements, reach = (kernel - 1) * dilation: told the result, `all` is what is to be cut from it.
 * Over the spread input a pad of p becomes one of reach - p, and the stride 1. */
static dync_status dync__oi_transpose_pads(const dync__onnx_call *c, dync_dims in,
                                           dync__oi_window *w)
{
    int64_t more[DYNC__OI_SPACE];
    const int64_t *shape;
    int told = dync__oi_ints(c, "output_shape", &shape);
    bool upper = dync__oi_is(c, "auto_pad", "SAME_UPPER"),
         same = upper || dync__oi_is(c, "auto_pad", "SAME_LOWER");
    if (!dync__oi_each(c, "output_padding", w->n, more, 0)) return dync_error();
    bool fits = !told || told >= w->n;
    for (int i = 0; i < w->n && fits; i++)
        fits = dync__oi_between(more[i], 0, DYNC__OI_REACH) &&
               (!told || dync__oi_between(shape[told - w->n + i], 1, INT64_C(1) << 40));
    if (!fits) return dync__oi_fail(c, DYNC_ERR_SHAPE, "output_shape or output_padding");
    for (int i = 0; i < w->n; i++) {
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i];
        if (told || same) {
            int64_t size = dync__oi_number(in.d[2 + i]),
                    out = told ? shape[told - w->n + i] : size * w->stride[i],
                    all = w->stride[i] * (size - 1) + more[i] + reach + 1 - out;
            w->before[i] = upper || !same ? all / 2 : all - all / 2;
            w->after[i] = all - w->before[i];
        }
        w->before[i] = reach - w->before[i];
        w->after[i] = reach - w->after[i] + more[i];
        w->stride[i] = 1;
    }
    return DYNC_OK;
}

/* Numbers of a window of one or two dims as those of two: `rest` before the only one. */
static dync_dims dync__oi_plane(const dync__oi_window *w, const int64_t *at, int64_t rest)
{
    return w->n == 1 ? (dync_dims){2, {rest, at[0]}} : (dync_dims){2, {at[0], at[1]}};
}

/* A stride over one or two dims is dync's own operator, which multiplies no zeros, where pads are
 * equal but for what the result is longer by; w over the spread input. false:
 * it is none. */
static bool dync__oi_strided(const dync__oi_window *w, const int64_t *stride, dync_tensor *x,
                             dync_tensor *k, dync_tensor *bias, int groups, dync_tensor **y)
{
    int64_t pad[2] = {0, 0}, extra[2] = {0, 0};
    bool is = false, line = w->n == 1;
    for (int i = 0; i < w->n; i++) {
        if (w->n > 2) return false;
        pad[i] = (w->kernel[i] - 1) * w->dilation[i] - w->before[i];
        extra[i] = w->after[i] - w->before[i];
        if (pad[i] < 0 || extra[i] < 0 || extra[i] >= DYNC__MAX(stride[i], w->dilation[i]))
            return false;
        is = is || stride[i] > 1;
    }
    if (!is || !dync__oi_is_float(x)) return false;
    *y = dync_conv_transpose2d(line ? dync_unsqueeze(x, 2) : x, line ? dync_unsqueeze(k, 2) : k,
                               bias, dync__oi_plane(w, stride, 1), dync__oi_plane(w, pad, 0),
                               dync__oi_plane(w, extra, 0), groups,
                               dync__oi_plane(w, w->dilation, 1));
    if (*y && line) *y = dync_squeeze(*y, 2);
    return true;
}

/* Three dims whose planes the kernel reaches one each (its depth is the stride): plane z of x gives
 * planes z * stride + i of the result, which are channels m * stride + i of two dims. w over the
 * spread input. false: it is none. */
static bool dync__oi_strided_planes(const dync__oi_window *w, const int64_t *stride, dync_tensor *x,
                                    dync_tensor *k, dync_tensor *bias, int groups, dync_tensor **y)
{
    int64_t n = w->kernel[0], before = w->before[0] - (n - 1), after = w->after[0] - (n - 1);
    if (w->n != 3 || stride[0] != n || w->dilation[0] != 1 || before > 0 || after > 0 || !x || !k)
        return false;
    dync__oi_window flat = dync__oi_window_plane(w);
    dync_dims d = dync__oi_sizes(x), s = dync__oi_shape(k);
    dync_tensor *rows =
                    dync_reshape(dync_permute(x, dync_shape(0, 2, 1, 3, 4)),
                                 dync_shape(dync__sz_mul(d.d[0], d.d[2]), d.d[1], d.d[3], d.d[4])),
                *kernel = dync_reshape(k, dync_shape(s.d[0], s.d[1] * n, s.d[3], s.d[4])),
                *each = bias ? dync_reshape(dync_expand(dync_unsqueeze(bias, 1), dync_shape(-1, n)),
                                            dync_shape(-1))
                             : NULL;
    if (!rows || !dync__oi_strided(&flat, stride + 1, rows, kernel, each, groups, y)) return false;
    dync_dims o = dync__oi_sizes(*y);
    int64_t m = s.d[1] * groups;
    dync_tensor *z = dync_reshape(*y, dync_shape(d.d[0], d.d[2], m, n, o.d[2], o.d[3]));
    z = z ? dync_permute(z, dync_shape(0, 2, 1, 3, 4, 5)) : NULL;
    z = z ? dync_reshape(z, dync_shape(d.d[0], m, dync__sz_mul(d.d[2], n), o.d[2], o.d[3])) : NULL;
    *y = z ? dync__oi_pad_dim(z, 2, before, after, 0) : NULL;
    return true;
}

/* x [N, C, ...], W [C, M / group, ...]: the kernel of the ordinary convolution has its first two
 * dims swapped within each group. */
DYNC__FN dync_status dync__oi_conv_transpose(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *k = dync__oi_in(c, 1), *bias = dync__oi_in(c, 2), *y;
    dync_dims d = dync__oi_shape(k), flip = {0, {0}}, one = {0, {0}};
    dync__oi_window w;
    int64_t g = DYNC__MAX(dync__oi_int(c, "group"), 1), stride[DYNC__OI_SPACE];
    if (d.n != dync__oi_rank(x) || d.d[0] % g || !dync__oi_window_of(c, x, d.d + 2, &w))
        return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_SHAPE, "the kernel");
    memcpy(stride, w.stride, sizeof stride);
    DYNC__TRY(dync__oi_transpose_pads(c, dync__oi_sizes(x), &w));
    if (dync__oi_strided(&w, stride, x, k, bias, (int)g, &y) ||
        dync__oi_strided_planes(&w, stride, x, k, bias, (int)g, &y))
        return dync__oi_out(c, 0, y);
    for (int i = 0; i < w.n && x; i++) {
        x = dync__oi_spread(x, 2 + i, stride[i]);
        flip.d[flip.n++] = 2 + i;
    }
    /* [C, M/g, ...] -> [M, C/g, ...], flipped */
    dync_dims split = {d.n + 1, {g, d.d[0] / g, d.d[1]}}, joined = d, order = {d.n + 1, {0, 2, 1}};
    for (int i = 2; i < d.n; i++) split.d[i + 1] = d.d[i], order.d[i + 1] = i + 1;
    joined.d[0] = g * d.d[1], joined.d[1] = d.d[0] / g;
    k = dync_reshape(dync_permute(dync_reshape(dync_flip(k, flip), split), order), joined);
    if (!x || !k) return dync_error();
    if (w.n == 1) {
        dync__oi_raise(&w);
        y = dync__oi_conv2(dync_unsqueeze(x, 2), dync_unsqueeze(k, 2), NULL, &w, (int)g);
        y = y ? dync_squeeze(y, 2) : NULL;
    } else {
        y = w.n == 2 ? dync__oi_conv2(x, k, NULL, &w, (int)g)
                     : dync__oi_conv3(x, k, NULL, &w, (int)g);
    }
    one.n = d.n;
    for (int i = 0; i < d.n; i++) one.d[i] = i == 1 ? -1 : 1;
    if (y && bias) y = dync_add(y, dync_reshape(bias, one));
    return dync__oi_out(c, 0, y);
}

/* ---- pools ----------------------------------------------------------------------------------- */
