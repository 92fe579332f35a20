/* op/decompose_sample.c: images read at places that tensors tell: grid_sample and affine_grid,
 * written as calls of other operators. After decompose_shape.c. */
#include "../dync.in.h"
#include "sample.h"
DYNC__COLD

/* NaN becomes 0, as torch has it. */
static dync__dt *dync__sample_clamp(dync__chain *c, dync__dt *x, double low, double high)
{
    x = dync__chain_where(c, dync__chain_tt(c, DYNC__OP_eq, x, x), dync__arg_t(x), dync__arg_f(0));
    return dync__chain3(c, DYNC__OP_clamp, dync__arg_t(x), dync__arg_f(low), dync__arg_f(high));
}

/* Places folded back at both ends, as often as needed: a triangle wave between the ends, which are
 * the middles of the elements at the edge (corners) or their outer borders; held inside. */
static dync__dt *dync__sample_reflect(const dync__sampler *s, dync__dt *x, int64_t size)
{
    dync__chain *c = s->c;
    double n = dync__sf_of(size), last = dync__sf(DYNC__SF_SUB, n, 1), low = s->corners ? 0 : -0.5,
           span = s->corners ? last : n;
    if (size == 1) return dync__chain_tf(c, DYNC__OP_mul, x, 0);
    x = dync__chain1(c, DYNC__OP_abs, dync__chain_tf(c, DYNC__OP_sub, x, low));
    x = dync__chain_tf(c, DYNC__OP_fmod, x, dync__sf(DYNC__SF_MUL, 2, span));
    x = dync__chain1(c, DYNC__OP_abs, dync__chain_tf(c, DYNC__OP_sub, x, span));
    x = dync__chain2(c, DYNC__OP_sub, dync__arg_f(span), dync__arg_t(x));
    return dync__sample_clamp(c, dync__chain_tf(c, DYNC__OP_add, x, low), 0, last);
}

/* Places outside, as the padding has them. */
static dync__dt *dync__sample_padded(const dync__sampler *s, dync__dt *x, int64_t size)
{
    if (s->pad == DYNC__SAMPLE_REFLECT) return dync__sample_reflect(s, x, size);
    if (s->pad == DYNC__SAMPLE_ZEROS) return x;
    return dync__sample_clamp(s->c, x, 0, dync__sf(DYNC__SF_SUB, dync__sf_of(size), 1));
}

/* x * (x * (x * a + b) + c) + d */
static dync__dt *dync__sample_cubic(dync__chain *c, dync__dt *x, double a, double b, double k,
                                    double d)
{
    dync__dt *y = dync__chain_tf(c, DYNC__OP_add, dync__chain_tf(c, DYNC__OP_mul, x, a), b);
    y = dync__chain_tf(c, DYNC__OP_add, dync__chain_tt(c, DYNC__OP_mul, y, x), k);
    return dync__chain_tf(c, DYNC__OP_add, dync__chain_tt(c, DYNC__OP_mul, y, x), d);
}

/* Weight of tap k of dim d, its distance being x. Cubic: Keys 1981, Cubic convolution interpolation
 * for digital image processing, with a = -0.75:
 *   x <= 1: (a + 2) x^3 - (a + 3) x^2 + 1        x < 2: a x^3 - 5 a x^2 + 8 a x - 4 a */
DYNC__FN dync__dt *dync__sample_weight(const dync__sampler *s, int d, int k)
{
    dync__chain *c = s->c;
    dync__dt *r = s->part[d];
    const double a = -0.75;
    if (s->taps == 2) return k ? r : dync__chain_one_minus(c, r);
    if (k == 1 || k == 2)
        return dync__sample_cubic(c, k == 1 ? r : dync__chain_one_minus(c, r), a + 2, -a - 3, 0, 1);
    r = k == 0 ? dync__chain_tf(c, DYNC__OP_add, r, 1)
               : dync__chain2(c, DYNC__OP_sub, dync__arg_i(2), dync__arg_t(r));
    return dync__sample_cubic(c, r, a, -5 * a, 8 * a, -4 * a);
}

DYNC__FN int dync__sample_taps(const dync__sampler *s)
{
    int n = 1;
    for (int d = 0; d < s->dims; d++) n *= s->taps;
    return n;
}

/* Indices are compared as floats, so that NaN is outside and nothing is cast that has no integer.
 */
DYNC__FN dync__sample_tap dync__sample_tap_of(const dync__sampler *s, int pick)
{
    dync__chain *c = s->c;
    dync__sample_tap t = {NULL, NULL, NULL};
    for (int d = 0; d < s->dims; d++) {
        int k = pick % s->taps;
        pick /= s->taps;
        double last = dync__sf(DYNC__SF_SUB, dync__sf_of(s->size[d]), 1);
        dync__dt *i = k ? dync__chain_tf(c, DYNC__OP_add, s->first[d], k) : s->first[d];
        if (s->taps == 4) i = dync__sample_padded(s, i, s->size[d]);
        dync__dt *in = dync__chain_tt(c, DYNC__OP_logical_and, dync__chain_tf(c, DYNC__OP_ge, i, 0),
                                      dync__chain_tf(c, DYNC__OP_le, i, last));
        i = dync__chain_dtype(c, dync__chain_where(c, in, dync__arg_t(i), dync__arg_f(0)),
                              DYNC_I64);
        dync__dt *w = s->taps > 1 ? dync__sample_weight(s, d, k) : NULL;
        t.flat = !d ? i
                    : dync__chain_tt(c, DYNC__OP_add,
                                     dync__chain_ti(c, DYNC__OP_mul, t.flat, s->size[d]), i);
        t.inside = d ? dync__chain_tt(c, DYNC__OP_logical_and, t.inside, in) : in;
        if (w) t.weight = d ? dync__chain_tt(c, DYNC__OP_mul, t.weight, w) : w;
    }
    return t;
}

DYNC__FN dync__dt *dync__sample_all(const dync__sampler *s, dync__dt *x)
{
    dync__chain *c = s->c;
    dync__dt *sum = NULL;
    for (int pick = 0; x && pick < dync__sample_taps(s); pick++) {
        dync__sample_tap t = dync__sample_tap_of(s, pick);
        dync__dt *at = dync__chain_ti(c, DYNC__OP_unsqueeze, t.flat, 1);
        if (!at) return NULL;
        int64_t shape[3] = {at->lay.shape[0], x->lay.shape[1], at->lay.shape[2]};
        at = dync__chain_shape(c, DYNC__OP_expand, at, 3, shape);
        dync__dt *v =
            dync__chain3(c, DYNC__OP_gather, dync__arg_t(x), dync__arg_i(2), dync__arg_t(at));
        v = dync__chain_where(c, dync__chain_ti(c, DYNC__OP_unsqueeze, t.inside, 1), dync__arg_t(v),
                              dync__arg_f(0));
        if (t.weight) /* behind the choice: of a place that is NaN, so is the result */
            v = dync__chain_tt(c, DYNC__OP_mul, v,
                               dync__chain_ti(c, DYNC__OP_unsqueeze, t.weight, 1));
        sum = sum ? dync__chain_tt(c, DYNC__OP_add, sum, v) : v;
    }
    return sum;
}

/* ---- grid_sample ----------------------------------------------------------------------------- */

/* Which of three names it is; -1: another, told as torch does. */
static int dync__sample_choice(const dync__arg *a, const char *what, const char *const *name)
{
    const char *got = a->kind == DYNC__A_STR && a->as.s ? a->as.s : "(none)";
    for (int i = 0; i < 3; i++)
        if (strcmp(got, name[i]) == 0) return i;
    dync__fail(DYNC_ERR_VALUE,
               "nn.functional.grid_sample(): expected %s to be '%s', '%s' or '%s', but got: '%s'",
               what, name[0], name[1], name[2], got);
    return -1;
}

/* Arguments (input [N, C, ..], grid [N, .., dims], mode, padding_mode, align_corners). */
static dync_status dync__sample_check(const dync__opcall *call, dync__sampler *s)
{
    static const char *const modes[] = {"nearest", "bilinear", "bicubic"}, *const pads[] = {
                                                                               "zeros", "border",
                                                                               "reflection", NULL};
    dync__dt *x, *grid;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &grid));
    DYNC__TRY(dync__infer_floating(x));
    int n = x->lay.ndim, mode = dync__sample_choice(&call->args[2], "mode", modes);
    if (mode < 0) return DYNC_ERR_VALUE;
    if ((s->pad = dync__sample_choice(&call->args[3], "padding_mode", pads)) < 0)
        return DYNC_ERR_VALUE;
    if (x->dtype != grid->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "expected input and grid of one dtype, got %s and %s",
                          dync__dtype_info(x->dtype)->name, dync__dtype_info(grid->dtype)->name);
    if (n < 3 || n > 2 + DYNC__SAMPLE_DIMS || grid->lay.ndim != n ||
        !dync__sz_eq(x->lay.shape[0], grid->lay.shape[0]) ||
        !dync__sz_eq(grid->lay.shape[n - 1], n - 2))
        return dync__infer_pair_error(
            "grid_sampler(): expected input [N, C, ..] of one to three spatial dims and a grid "
            "[N, .., dims] of the same batch",
            &x->lay, &grid->lay);
    s->dims = n - 2;
    s->taps = 1 << mode;
    s->corners = call->args[4].as.i != 0;
    for (int d = 0; d < s->dims; d++) {
        s->size[d] = x->lay.shape[2 + d];
        if (dync__sz_eq(s->size[d], 0))
            return dync__fail(DYNC_ERR_SHAPE,
                              "grid_sampler(): expected input to have non-empty spatial "
                              "dimensions, but dimension %d is empty",
                              2 + d);
    }
    return DYNC_OK;
}

/* From -1 .. 1 to places, x (the last dim of the image) first in the grid:
 *   corners: (x + 1) / 2 * (n - 1)        else: ((x + 1) * n - 1) / 2 */
static void dync__sample_places(dync__sampler *s, dync__dt *grid)
{
    dync__chain *c = s->c;
    for (int d = 0; d < s->dims; d++) {
        double n = dync__sf_of(s->size[d]), half = dync__sf(DYNC__SF_SUB, n, 1);
        dync__dt *x = dync__chain3(c, DYNC__OP_select, dync__arg_t(grid), dync__arg_i(2),
                                   dync__arg_i(s->dims - 1 - d));
        x = dync__chain_tf(c, DYNC__OP_add, x, 1);
        if (s->corners) {
            x = dync__chain_tf(c, DYNC__OP_mul, x, dync__sf(DYNC__SF_DIV, half, 2));
        } else {
            x = dync__chain_tf(c, DYNC__OP_sub, dync__chain_tf(c, DYNC__OP_mul, x, n), 1);
            x = dync__chain_tf(c, DYNC__OP_mul, x, 0.5);
        }
        if (s->taps < 4) x = dync__sample_padded(s, x, s->size[d]);
        if (s->taps == 1) x = dync__chain1(c, DYNC__OP_round, x);
        s->first[d] = dync__chain1(c, DYNC__OP_floor, x);
        s->part[d] = dync__chain_tt(c, DYNC__OP_sub, x, s->first[d]);
        if (s->taps == 4) s->first[d] = dync__chain_tf(c, DYNC__OP_sub, s->first[d], 1);
    }
}

/* Jaderberg et al. 2015, arXiv:1506.02025. In f32 for f16 and bf16. */
DYNC__FN dync_status dync__d_grid_sample(dync__opcall *call)
{
    dync__chain c = {0};
    dync__sampler s = {.c = &c};
    DYNC__TRY(dync__sample_check(call, &s));
    dync__dt *x = dync__dt_arg(call, 0), *grid = dync__dt_arg(call, 1), *y;
    const int64_t *from = x->lay.shape, *to = grid->lay.shape;
    int n = x->lay.ndim;
    int64_t flat[3] = {from[0], from[1], 1}, places[3] = {to[0], 1, s.dims},
            shape[DYNC_MAX_DIMS] = {from[0], from[1]};
    for (int d = 0; d < s.dims; d++) {
        flat[2] = dync__sz_mul(flat[2], from[2 + d]);
        places[1] = dync__sz_mul(places[1], to[1 + d]);
        shape[2 + d] = to[1 + d];
    }
    dync__sample_places(
        &s, dync__chain_shape(&c, DYNC__OP_reshape, dync__chain_wide(&c, grid), 3, places));
    y = dync__sample_all(&s,
                         dync__chain_shape(&c, DYNC__OP_reshape, dync__chain_wide(&c, x), 3, flat));
    y = dync__chain_dtype(&c, y, x->dtype);
    return dync__chain_end(&c, call, dync__chain_shape(&c, DYNC__OP_reshape, y, n, shape));
}

/* ---- affine_grid ----------------------------------------------------------------------------- */

/* Coordinates of n elements along a dim, from -1 to 1: of the first and the last (corners), else of
 * the outer borders. i (2 / (n - 1)) - 1, or (2 i + 1) / n - 1. */
static dync__dt *dync__sample_line(dync__chain *c, int64_t size, bool corners, int dtype,
                                   int device)
{
    double n = dync__sf_of(size), last = dync__sf(DYNC__SF_SUB, n, 1);
    dync__dt *x = dync__chain_dtype(c, dync__chain_range(c, size, device), dtype);
    if (corners && size == 1) return dync__chain_tf(c, DYNC__OP_mul, x, 0);
    if (!corners) x = dync__chain_tf(c, DYNC__OP_add, x, 0.5);
    x = dync__chain_tf(c, DYNC__OP_mul, x, dync__sf(DYNC__SF_DIV, 2, corners ? last : n));
    return dync__chain_tf(c, DYNC__OP_sub, x, 1);
}

/* Arguments (theta [N, d, d + 1], size [N, C, ..], align_corners): theta times (x, y, .., 1) for
 * each place of an image of that size, as grid_sample counts them. */
DYNC__FN dync_status dync__d_affine_grid(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *theta, *part[DYNC__SAMPLE_DIMS + 1], *y;
    const dync__arg *size = &call->args[1];
    int dims = size->n - 2;
    DYNC__TRY(dync__dt_self(call, &theta));
    DYNC__TRY(dync__infer_floating(theta));
    if ((dims != 2 && dims != 3) || theta->lay.ndim != 3 ||
        !dync__sz_eq(theta->lay.shape[0], size->as.dims[0]) ||
        !dync__sz_eq(theta->lay.shape[1], dims) || !dync__sz_eq(theta->lay.shape[2], dims + 1))
        return dync__fail(DYNC_ERR_SHAPE, "Expected a batch of 2D affine matrices of shape Nx2x3 "
                                          "for size [N, C, H, W], or of 3D ones of shape Nx3x4 "
                                          "for size [N, C, D, H, W]");
    const int64_t *space = size->as.dims + 2;
    int64_t one[DYNC__SAMPLE_DIMS], rows[3] = {1, 1, dims + 1}, out[DYNC_MAX_DIMS];
    bool corners = call->args[2].as.i != 0;
    int wide = theta->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    for (int d = 0; d < dims; d++) {
        if (dync__sz_lt(space[d], 1))
            return dync__fail(DYNC_ERR_VALUE, "Expected non-zero, positive output size");
        rows[1] = dync__sz_mul(rows[1], space[d]);
        out[1 + d] = space[d];
    }
    for (int d = 0; d < dims; d++) { /* x stands first: the last dim */
        int at = dims - 1 - d;
        for (int i = 0; i < dims; i++) one[i] = i == at ? space[at] : 1;
        y = dync__sample_line(&c, space[at], corners, wide, theta->device);
        part[d] = dync__chain_shape(
            &c, DYNC__OP_expand, dync__chain_shape(&c, DYNC__OP_view, y, dims, one), dims, space);
    }
    part[dims] = dync__chain3(&c, DYNC__OP_ones, dync__arg_dims(dims, space), dync__arg_dtype(wide),
                              dync__arg_device(theta->device));
    dync__arg list[DYNC__SAMPLE_DIMS + 1];
    for (int d = 0; d <= dims; d++) list[d] = dync__arg_t(part[d]);
    dync__arg all = {.kind = DYNC__A_LIST, .n = dims + 1, .as.list = list};
    y = dync__chain2(&c, DYNC__OP_stack, all, dync__arg_i(dims));
    y = dync__chain_shape(&c, DYNC__OP_view, y, 3, rows);
    dync__dt *transposed = dync__chain3(&c, DYNC__OP_transpose,
                                        dync__arg_t(dync__chain_dtype(&c, theta, wide)),
                                        dync__arg_i(1), dync__arg_i(2));
    y = dync__chain_dtype(&c, dync__chain_tt(&c, DYNC__OP_matmul, y, transposed), theta->dtype);
    out[0] = size->as.dims[0];
    out[1 + dims] = dims;
    return dync__chain_end(&c, call, dync__chain_shape(&c, DYNC__OP_reshape, y, dims + 2, out));
}
