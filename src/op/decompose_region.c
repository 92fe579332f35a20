/* op/decompose_region.c: what reads regions of images: roi_align, deform_conv2d, nms. After
 * decompose_window.c. Names and meanings are those of torchvision.ops. */
#include "../dync.in.h"
#include "sample.h"
DYNC__COLD

/* ---- roi_align ------------------------------------------------------------------------------- */

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

/* ---- deform_conv2d --------------------------------------------------------------------------- */

/* Sizes of a convolution whose windows read where offsets say. */
typedef struct dync__dn_deform {
    int64_t groups, moved, kernel[2], out[2], stride[2], padding[2], dilation[2];
    int64_t in[4], k[4]; /* shapes of input and weight */
    dync__dt *x, *offset, *weight, *bias, *mask;
} dync__dn_deform;

/* Sizes of four dims as numbers of now, which is guarded: the checks compute with them. */
static void dync__dn_deform_sizes(const dync__dt *t, int64_t *out)
{
    for (int d = 0; d < 4; d++) out[d] = dync__sz_number(t->lay.shape[d]);
}

static bool dync__dn_deform_fits(dync__dn_deform *o, const char **why)
{
    const int64_t *in = o->in, *k = o->k;
    int64_t each, at[4], m[4];
    dync__dn_deform_sizes(o->x, o->in);
    dync__dn_deform_sizes(o->weight, o->k);
    dync__dn_deform_sizes(o->offset, at);
    *why = "the channels of input and weight do not fit";
    if (k[1] < 1 || in[1] % k[1] || !(o->groups = in[1] / k[1]) || k[0] % o->groups) return false;
    *why = "offset should hold two numbers for each place of the kernel, for groups of channels";
    each = k[2] * k[3];
    if (each < 1 || at[1] < 1 || at[1] % (2 * each)) return false;
    o->moved = at[1] / (2 * each);
    if (in[1] % o->moved || at[0] != in[0]) return false;
    *why = "the window does not fit into the input, or offset is not of the result's size";
    for (int i = 0; i < 2; i++) {
        if (o->stride[i] < 1 || o->dilation[i] < 1 || o->padding[i] < 0) return false;
        int64_t room = in[2 + i] + 2 * o->padding[i] - (k[2 + i] - 1) * o->dilation[i] - 1;
        o->kernel[i] = k[2 + i];
        o->out[i] = at[2 + i];
        if (room < 0 || o->out[i] != room / o->stride[i] + 1 || in[2 + i] < 1) return false;
    }
    *why = "mask should hold a number for each place of the kernel, for groups of channels";
    if (!o->mask) return true;
    if (o->mask->lay.ndim != 4) return false;
    dync__dn_deform_sizes(o->mask, m);
    return m[0] == in[0] && m[1] == o->moved * each && m[2] == at[2] && m[3] == at[3];
}

/* Arguments (input, offset, weight, bias, stride, padding, dilation, mask), checked. */
static dync_status dync__dn_deform_of(const dync__opcall *call, dync__dn_deform *o)
{
    const char *why = "";
    DYNC__TRY(dync__dt_self(call, &o->x));
    DYNC__TRY(dync__infer_tensor(call, 1, &o->offset));
    DYNC__TRY(dync__infer_tensor(call, 2, &o->weight));
    DYNC__TRY(dync__infer_floating(o->x));
    o->bias = dync__dt_arg(call, 3);
    o->mask = dync__dt_arg(call, 7);
    dync__dt *all[4] = {o->offset, o->weight, o->bias, o->mask};
    for (int i = 0; i < 4; i++)
        if (all[i] && all[i]->dtype != o->x->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "expected tensors of one dtype, got %s and %s",
                              dync__dtype_info(o->x->dtype)->name,
                              dync__dtype_info(all[i]->dtype)->name);
    DYNC__TRY(dync__dn_rank(o->x, 4));
    DYNC__TRY(dync__dn_rank(o->offset, 4));
    DYNC__TRY(dync__dn_rank(o->weight, 4));
    DYNC__TRY(dync__dn_numbers(call, 4, 2, 1, o->stride));
    DYNC__TRY(dync__dn_numbers(call, 5, 2, 0, o->padding));
    DYNC__TRY(dync__dn_numbers(call, 6, 2, 1, o->dilation));
    if (!dync__dn_deform_fits(o, &why)) return dync__fail(DYNC_ERR_SHAPE, "%s", why);
    if (o->bias && (o->bias->lay.ndim != 1 || !dync__sz_eq(o->bias->lay.shape[0], o->k[0])))
        return dync__fail(DYNC_ERR_SHAPE, "expected a bias of a number for each channel");
    return DYNC_OK;
}

/* Where the windows read along dim i, without offsets: kernel place * dilation + window * stride -
 * padding, [1, kh, kw, oh, ow] with ones but for the dim's own. */
static dync__dt *dync__dn_deform_base(dync__chain *c, const dync__dn_deform *o, int i, int dtype)
{
    int64_t inner[5] = {1, 1, 1, 1, 1}, outer[5] = {1, 1, 1, 1, 1};
    inner[1 + i] = o->kernel[i];
    outer[3 + i] = o->out[i];
    dync__dt *k = dync__chain_range(c, o->kernel[i], o->x->device),
             *at = dync__chain_range(c, o->out[i], o->x->device);
    k = dync__chain_ti(c, DYNC__OP_mul, k, o->dilation[i]);
    at = dync__chain_ti(c, DYNC__OP_mul, at, o->stride[i]);
    at = dync__chain_ti(c, DYNC__OP_sub, at, o->padding[i]);
    at = dync__chain_tt(c, DYNC__OP_add, dync__chain_shape(c, DYNC__OP_view, k, 5, inner),
                        dync__chain_shape(c, DYNC__OP_view, at, 5, outer));
    return dync__chain_dtype(c, at, dtype);
}

/* What the windows read, moved by the offsets (y before x) and times the mask: [N, C, kernel * out
 * places]. Each of the `moved` groups of channels has offsets of its own, so it counts as a batch.
 */
static dync__dt *dync__dn_deform_columns(dync__chain *c, const dync__dn_deform *o)
{
    const int64_t *in = o->in;
    int64_t n = in[0] * o->moved, k = o->kernel[0] * o->kernel[1], p = o->out[0] * o->out[1],
            each = in[1] / o->moved, rows[2] = {n, k * p}, flat[3] = {n, each, in[2] * in[3]},
            split[6] = {n, o->kernel[0], o->kernel[1], 2, o->out[0], o->out[1]},
            weight[3] = {n, 1, k * p}, out[3] = {in[0], in[1], k * p};
    dync__sampler s = {.c = c, .dims = 2, .taps = 2, .size = {in[2], in[3]}};
    dync__dt *move =
        dync__chain_shape(c, DYNC__OP_reshape, dync__chain_wide(c, o->offset), 6, split);
    for (int i = 0; i < 2 && move; i++) {
        dync__dt *at =
            dync__chain3(c, DYNC__OP_select, dync__arg_t(move), dync__arg_i(3), dync__arg_i(i));
        at = dync__chain_tt(c, DYNC__OP_add, at, dync__dn_deform_base(c, o, i, move->dtype));
        at = dync__chain_shape(c, DYNC__OP_reshape, at, 2, rows);
        s.first[i] = dync__chain1(c, DYNC__OP_floor, at);
        s.part[i] = dync__chain_tt(c, DYNC__OP_sub, at, s.first[i]);
    }
    dync__dt *y = dync__sample_all(
        &s, dync__chain_shape(c, DYNC__OP_reshape, dync__chain_wide(c, o->x), 3, flat));
    if (o->mask)
        y = dync__chain_tt(
            c, DYNC__OP_mul, y,
            dync__chain_shape(c, DYNC__OP_reshape, dync__chain_wide(c, o->mask), 3, weight));
    return dync__chain_shape(c, DYNC__OP_reshape, y, 3, out);
}

/* The kernel as a matrix [M / groups, C / groups * kernel] times the columns. Dai et al. 2017,
 * arXiv:1703.06211; with a mask Zhu et al. 2018, arXiv:1811.11168. */
DYNC__FN dync_status dync__d_deform_conv2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dn_deform o = {0};
    DYNC__TRY(dync__dn_deform_of(call, &o));
    const int64_t *in = o.in, *k = o.k;
    int64_t p = o.out[0] * o.out[1], column = k[1] * k[2] * k[3],
            columns[4] = {in[0], o.groups, column, p},
            kernel[4] = {1, o.groups, k[0] / o.groups, column},
            out[4] = {in[0], k[0], o.out[0], o.out[1]}, channels[4] = {1, k[0], 1, 1};
    dync__dt *x =
        dync__chain_shape(&c, DYNC__OP_reshape, dync__dn_deform_columns(&c, &o), 4, columns);
    dync__dt *w =
        dync__chain_shape(&c, DYNC__OP_reshape, dync__chain_wide(&c, o.weight), 4, kernel);
    dync__dt *y = dync__chain_tt(&c, DYNC__OP_matmul, w, x);
    y = dync__chain_shape(&c, DYNC__OP_reshape, y, 4, out);
    if (o.bias)
        y = dync__chain_tt(
            &c, DYNC__OP_add, y,
            dync__chain_shape(&c, DYNC__OP_view, dync__chain_wide(&c, o.bias), 4, channels));
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, o.x->dtype));
}

/* ---- nms ------------------------------------------------------------------------------------- */

/* What an operation in this dtype gives: float32 rounds. */
static double dync__nms_round(const dync__nms *s, double x)
{
    return s->narrow ? (double)(float)x : x;
}

static double dync__nms_area(const dync__nms *s, const double *a)
{
    return dync__nms_round(s, dync__nms_round(s, a[2] - a[0]) * dync__nms_round(s, a[3] - a[1]));
}

/* Intersection over union of boxes x1 y1 x2 y2. */
static double dync__nms_overlap(const dync__nms *s, const double *a, const double *b)
{
    double common = 1;
    for (int i = 0; i < 2; i++) {
        double low = a[i] > b[i] ? a[i] : b[i], high = a[2 + i] < b[2 + i] ? a[2 + i] : b[2 + i];
        common *= dync__nms_round(s, high > low ? high - low : 0);
    }
    common = dync__nms_round(s, common);
    double all = dync__nms_round(s, dync__nms_area(s, a) + dync__nms_area(s, b));
    return dync__nms_round(s, common / dync__nms_round(s, all - common));
}

/* Of equal scores the first box wins. */
DYNC__FN dync_status dync__nms_run(dync__nms *s, const double *box, const double *score, int64_t n)
{
    bool *gone = dync__calloc((size_t)n + 1);
    dync_status status = gone ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int64_t kept = 0; gone && kept < s->most && status == DYNC_OK; kept++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!gone[i] && score[i] > s->least && (best < 0 || score[i] > score[best])) best = i;
        if (best < 0) break;
        if (!dync__vec_push(&s->kept, best)) status = DYNC_ERR_MEMORY;
        for (int64_t i = 0; i < n; i++)
            if (i == best || dync__nms_overlap(s, box + 4 * best, box + 4 * i) > s->overlap)
                gone[i] = true;
    }
    if (gone) dync__free(gone, (size_t)n + 1);
    return status;
}

/* n elements as doubles, in the caller's memory: dync__free of n * 8 bytes. */
static double *dync__nms_doubles(const dync__dt *t)
{
    dync__dt *x = dync__contiguous_copy(t);
    double *out = x ? dync__alloc((size_t)(t->numel + 1) * sizeof *out) : NULL;
    int bytes = dync__dtype_info(t->dtype)->bytes;
    for (int64_t i = 0; out && i < t->numel; i++)
        out[i] = dync__load_f64((const char *)dync__tensor_data(x) + i * bytes, t->dtype);
    dync__unref(x);
    return out;
}

/* int64 [kept], on the device of the boxes */
static dync_status dync__nms_give(dync__opcall *call, const dync__nms *s, int device)
{
    dync__layout lay;
    const int64_t n = s->kept.n;
    DYNC__TRY(dync__layout_contiguous(&lay, 1, &n));
    dync__dt *y = dync__tensor_empty(DYNC_I64, DYNC_CPU, &lay);
    if (!y) return DYNC_ERR_MEMORY;
    if (n) memcpy(dync__tensor_data(y), s->kept.at, (size_t)n * sizeof *s->kept.at);
    call->out[0] = y;
    call->nout = 1;
    if (dync__device_is(device, DYNC__DEV_HOST)) return DYNC_OK;
    dync__arg args[2] = {dync__arg_t(y), dync__arg_device(device)};
    dync_status status = dync__op_run(DYNC__OP_to_device, 2, args, &call->out[0]);
    dync__unref(y);
    call->nout = status == DYNC_OK;
    return status;
}

/* Arguments (boxes [N, 4] of x1 y1 x2 y2, scores [N], iou_threshold): from the best box on, those
 * that overlap a kept one by more are left out. */
DYNC__FN dync_status dync__d_nms(dync__opcall *call)
{
    dync__dt *box, *score;
    DYNC__TRY(dync__dt_self(call, &box));
    DYNC__TRY(dync__infer_tensor(call, 1, &score));
    DYNC__TRY(dync__infer_floating(box));
    DYNC__TRY(dync__infer_floating(score));
    DYNC__TRY(dync__decompose_real(box));
    DYNC__TRY(dync__decompose_real(score));
    if (box->lay.ndim != 2 || box->lay.shape[1] != 4 || score->lay.ndim != 1 ||
        score->lay.shape[0] != box->lay.shape[0])
        return dync__infer_pair_error("expected boxes [N, 4] and scores [N]", &box->lay,
                                      &score->lay);
    dync__nms s = {.most = INT64_MAX,
                   .overlap = dync__dn_number(call, 2),
                   .least = -HUGE_VAL,
                   .narrow = box->dtype != DYNC_F64};
    double *b = dync__nms_doubles(box), *p = dync__nms_doubles(score);
    dync_status status = b && p ? dync__nms_run(&s, b, p, score->numel) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__nms_give(call, &s, box->device);
    if (b) dync__free(b, (size_t)(box->numel + 1) * sizeof *b);
    if (p) dync__free(p, (size_t)(score->numel + 1) * sizeof *p);
    dync__vec_free(&s.kept);
    return status;
}
