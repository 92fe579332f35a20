/* op/decompose_deform.c: deform_conv2d, the convolution whose windows read where offsets say, as
 * torchvision.ops has it. After decompose_region.c. */
#include "../dync.in.h"
#include "sample.h"
DYNC__COLD

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
