/* op/decompose_shape.c: composite operators that move elements, written as calls of other
 * operators. After decompose_linear.c.
 *
 * Every step goes through dync__op_run, so the tape and tracers see it: one text serves eager mode,
 * gradients and AOT. What has no inference of its own (dync__i_composite runs the decomposition
 * over fakes) checks its arguments here. Formulas are those of PyTorch:
 * torch/_decomp/decompositions.py, torch/nn/functional.py, aten/src/ATen/native. So it is in all of
 * decompose_*.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* ---- shapes ---------------------------------------------------------------------------------- */

/* reshape and its kin: infer has found the shape, and whether it can be a view. */
static dync_status dync__decompose_reshape(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    bool itself = info.alias >= 0 && !info.view; /* flatten of one dim */
    if (itself) return dync__chain_end(&c, call, x);
    if (info.alias < 0) x = dync__chain1(&c, DYNC__OP__clone_contiguous, x);
    return dync__chain_end(&c, call,
                           dync__chain_shape(&c, DYNC__OP_view, x, info.lay.ndim, info.lay.shape));
}
DYNC__FN dync_status dync__d_reshape(dync__opcall *call) { return dync__decompose_reshape(call); }
DYNC__FN dync_status dync__d_flatten(dync__opcall *call) { return dync__decompose_reshape(call); }
DYNC__FN dync_status dync__d_unflatten(dync__opcall *call) { return dync__decompose_reshape(call); }
DYNC__FN dync_status dync__d_view_as(dync__opcall *call) { return dync__decompose_reshape(call); }

DYNC__FN dync_status dync__d_expand_as(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    return dync__chain_end(
        &c, call, dync__chain_shape(&c, DYNC__OP_expand, x, info.lay.ndim, info.lay.shape));
}

DYNC__FN dync_status dync__d_contiguous(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    return dync__chain_end(
        &c, call,
        dync__layout_is_contiguous(&x->lay) ? x : dync__chain1(&c, DYNC__OP__clone_contiguous, x));
}

/* Checks are infer's; then it is a slice. */
DYNC__FN dync_status dync__d_narrow(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    dync__dt *x;
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[1]), x->lay.ndim, &dim));
    int64_t start = call->args[2].as.i < 0 ? dync__sz_add(call->args[2].as.i, x->lay.shape[dim])
                                           : call->args[2].as.i;
    return dync__chain_end(
        &c, call, dync__chain_slice(&c, x, dim, start, dync__sz_add(start, call->args[3].as.i)));
}

/* Each dim by a view [before, 1, it and after], expanded and folded back: three dims whatever the
 * rank.
 *   x [2, 3] repeated (1, 4):  view [2, 1, 3] -> expand [2, 4, 3] -> copy -> view [2, 12]
 *   x [2, 3] repeated (4, 1):  view [1, 1, 6] -> expand [1, 4, 6] -> copy -> view [8, 3]
 *
 * Without a repetition it is still a copy: repeat never gives a view. */
DYNC__FN dync_status dync__d_repeat(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    int64_t shape[DYNC_MAX_DIMS];
    bool copied = false;
    DYNC__TRY(dync__dt_self(call, &x));
    int n = call->args[1].n, lead = n - x->lay.ndim;
    for (int d = 0; d < n; d++) shape[d] = d < lead ? 1 : x->lay.shape[d - lead];
    if (lead) x = dync__chain_shape(&c, DYNC__OP_reshape, x, n, shape);
    for (int d = 0; d < n; d++) {
        int64_t times = call->args[1].as.dims[d], three[3] = {1, 1, 1};
        if (times == 1) continue;
        for (int k = 0; k < n; k++)
            three[k < d ? 0 : 2] = dync__sz_mul(three[k < d ? 0 : 2], shape[k]);
        x = dync__chain_shape(&c, DYNC__OP_reshape, x, 3, three);
        three[1] = times;
        x = dync__chain_shape(&c, DYNC__OP_expand, x, 3, three);
        x = dync__chain1(&c, DYNC__OP__clone_contiguous, x);
        shape[d] = dync__sz_mul(shape[d], times);
        x = dync__chain_shape(&c, DYNC__OP_view, x, n, shape);
        copied = true;
    }
    if (!copied) x = dync__chain1(&c, DYNC__OP__clone_contiguous, x);
    return dync__chain_end(&c, call, x);
}

/* The place of x that comes first: (size - shift) mod size. Where a symbolic size is surely larger
 * than a few places, as it is asked to be, the parts are `size - shift` and `shift` long, and their
 * sum is the size; who reads the graph sees how far it moves (graph/rolls.c). */
static int64_t dync__roll_start(int64_t size, int64_t shift)
{
    if (!dync__any_token(size, shift)) return (size - shift % size) % size;
    bool near = !dync__is_token(shift) && shift >= -DYNC__ROLL_NEAR && shift <= DYNC__ROLL_NEAR;
    if (near && !dync__sz_by_data(size) && dync__sz_lt(shift < 0 ? -shift : shift, size))
        return shift < 0 ? -shift : dync__sz_sub(size, shift);
    return dync__sz_mod(dync__sz_sub(size, dync__sz_mod(shift, size)), size);
}

/* x rolled by shift along one dim: the last `shift` places go to the front. x itself, row major,
 * where nothing moves, since PyTorch joins x and an empty part of it. shift may be negative, larger
 * than the size or symbolic. */
static dync__dt *dync__chain_roll(dync__chain *c, dync__dt *x, int64_t shift, int64_t dim_arg)
{
    int dim;
    if (!x || x->numel == 0 || x->lay.ndim == 0) return x;
    if (dync__dim_wrap((int)dim_arg, x->lay.ndim, &dim) != DYNC_OK) return x;
    int64_t size = x->lay.shape[dim], start = dync__roll_start(size, shift);
    bool still = start == 0 || (dync__any_token(size, shift) && dync__layout_form(&x->lay) &&
                                dync__sz_eq(dync__sz_mod(shift, size), 0)); /* as inference asks */
    if (still) return dync__chain_formed(c, x, NULL);
    dync__dt *tail = dync__chain_slice(c, x, dim, start, size),
             *head = dync__chain_slice(c, x, dim, 0, start);
    dync__arg list[2] = {dync__arg_t(tail), dync__arg_t(head)};
    return dync__chain_cat(c, 2, list, dim);
}

/* Without dims: the flattened tensor. One dim after another. The result is memory of its own even
 * where nothing moved. */
DYNC__FN dync_status dync__d_roll(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    const dync__arg *shifts = &call->args[1], *dims = &call->args[2];
    int64_t all = -1;
    DYNC__TRY(dync__dt_self(call, &x));
    y = dims->n ? x : dync__chain_shape(&c, DYNC__OP_reshape, x, 1, &all);
    for (int i = 0; i < shifts->n; i++)
        y = dync__chain_roll(&c, y, shifts->as.dims[i], dims->n ? dims->as.dims[i] : 0);
    if (!dims->n) y = dync__chain_shape(&c, DYNC__OP_reshape, y, x->lay.ndim, x->lay.shape);
    if (y && y->storage == x->storage) y = dync__chain1(&c, DYNC__OP__clone_contiguous, y);
    return dync__chain_end(&c, call, y);
}

/* cat of the unsqueezed tensors; where their format counts, of the tensors, split. */
DYNC__FN dync_status dync__d_stack(dync__opcall *call)
{
    dync__chain c = {0};
    const dync__arg *in = &call->args[0];
    dync__info info;
    int dim;
    DYNC__TRY(dync__op_infer(call, &info));
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[1]), info.lay.ndim, &dim));
    if (dim < info.lay.ndim - 1 && dync__infer_list_form(in)) {
        dync__dt *y = dync__chain_cat(&c, in->n, in->as.list, dim);
        return dync__chain_end(
            &c, call, dync__chain_shape(&c, DYNC__OP_view, y, info.lay.ndim, info.lay.shape));
    }
    dync__arg *list = dync__alloc((size_t)in->n * sizeof *list);
    if (!list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < in->n; i++)
        list[i] = dync__arg_t(dync__chain_ti(&c, DYNC__OP_unsqueeze, in->as.list[i].as.t, dim));
    dync__dt *y = dync__chain_cat(&c, in->n, list, dim);
    dync__free(list, (size_t)in->n * sizeof *list);
    return dync__chain_end(&c, call, y);
}

/* Expands both, then gathers. Negative indices are made positive by remainder, which is not asked
 * for where the dim has no places. */
DYNC__FN dync_status dync__d_take_along_dim(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    dync__dt *x, *index = dync__dt_arg(call, 1);
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[2]), x->lay.ndim, &dim));
    int64_t shape[DYNC_MAX_DIMS];
    memcpy(shape, info.lay.shape, sizeof shape);
    if (x->lay.shape[dim] != 0)
        index = dync__chain_ti(&c, DYNC__OP_remainder, index,
                               x->lay.shape[dim]); /* negative ones from the end */
    index = dync__chain_shape(&c, DYNC__OP_expand, index, info.lay.ndim, shape);
    shape[dim] = x->lay.shape[dim];
    x = dync__chain_shape(&c, DYNC__OP_expand, x, info.lay.ndim, shape);
    return dync__chain_end(
        &c, call,
        dync__chain3(&c, DYNC__OP_gather, dync__arg_t(x), dync__arg_i(dim), dync__arg_t(index)));
}

DYNC__FN dync_status dync__d_argsort(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *both[2];
    dync__chain_call(&c, DYNC__OP_sort, 3, call->args, both);
    return dync__chain_end(&c, call, both[1]);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Pairs (before, after) from the last dim on, as PyTorch gives them: pad[0], pad[1] are those of
 * the last dim. */
static dync__dt *dync__dn_pad(dync__chain *c, dync__dt *x, const dync__arg *pad)
{
    int n = x ? x->lay.ndim : 0, form;
    x = dync__chain_lying(c, x, &form);
    for (int i = 0; i < pad->n / 2; i++)
        x = dync__dn_pad_dim(c, x, dync__chain_dim(form, n - 1 - i), pad->as.dims[2 * i],
                             pad->as.dims[2 * i + 1]);
    return dync__chain_standing(c, x, form);
}

/* Arguments (x, pad, value): constant padding; negative numbers cut off. Zeros come by themselves
 * (dync__dn_pad_dim). Any other value is filled in where a padded tensor of trues is false. */
DYNC__FN dync_status dync__d_pad(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    const dync__arg *pad = &call->args[1];
    DYNC__TRY(dync__dt_self(call, &x));
    if (pad->n % 2) return dync__fail(DYNC_ERR_VALUE, "Padding length must be divisible by 2");
    if (pad->n / 2 > x->lay.ndim)
        return dync__fail(DYNC_ERR_VALUE,
                          "Padding length should be less than or equal to two "
                          "times the input dimension but got "
                          "padding length %d and input of dimension %d",
                          pad->n, x->lay.ndim);
    for (int i = 0; i < pad->n / 2; i++) {
        int64_t size = x->lay.shape[x->lay.ndim - 1 - i], before = pad->as.dims[2 * i],
                after = pad->as.dims[2 * i + 1];
        int64_t limit = INT64_C(1) << 40;
        bool ok = dync__is_token(before) || (before <= limit && before >= -limit);
        ok &= dync__is_token(after) || (after <= limit && after >= -limit);
        if (!ok || dync__sz_lt(dync__sz_add(size, before), 0) ||
            dync__sz_lt(dync__sz_add(size, after), 0) ||
            dync__sz_lt(dync__sz_add(size, dync__sz_add(before, after)), 0))
            return dync__fail(
                DYNC_ERR_SHAPE,
                "The input size %lld, plus negative padding %lld "
                "and %lld, resulted in a size that is "
                "negative or too large, which is invalid. Check dimension %d of your input.",
                (long long)dync__sz_hint(size), (long long)dync__sz_hint(before),
                (long long)dync__sz_hint(after), x->lay.ndim - 1 - i);
    }
    y = dync__dn_pad(&c, x, pad);
    double value = dync__arg_is_number(&call->args[2]) ? dync__dn_number(call, 2) : 0;
    bool cut = true;
    for (int i = 0; i < pad->n; i++) cut = cut && !dync__sz_lt(0, pad->as.dims[i]);
    if (!cut && (value < 0 || value > 0 || value != value || signbit(value))) {
        dync__arg ones[2] = {call->args[0], dync__arg_b(true)};
        dync__dt *inside;
        dync__chain_call(&c, DYNC__OP_full_like, 2, ones, &inside);
        inside = dync__dn_pad(&c, dync__chain_dtype(&c, inside, DYNC_BOOL), pad);
        y = dync__chain3(&c, DYNC__OP_masked_fill, dync__arg_t(y),
                         dync__arg_t(dync__chain1(&c, DYNC__OP_logical_not, inside)),
                         call->args[2]);
    }
    if (!cut)
        y = dync__chain_formed(&c, y, x);
    else if (y && y->storage == x->storage)
        y = dync__chain1(&c, DYNC__OP_clone, y);
    return dync__chain_end(&c, call, y);
}

/* Arguments (x, source, destination): dim source[i] goes to place destination[i], the others keep
 * their order in the places left. */
DYNC__FN dync_status dync__d_movedim(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    const dync__arg *from = &call->args[1], *to = &call->args[2];
    int64_t order[DYNC_MAX_DIMS];
    bool taken[DYNC_MAX_DIMS] = {false}, filled[DYNC_MAX_DIMS] = {false};
    DYNC__TRY(dync__dt_self(call, &x));
    int n = x->lay.ndim, next = 0;
    if (from->n != to->n)
        return dync__fail(DYNC_ERR_VALUE,
                          "movedim: Invalid source or destination dims: source "
                          "(%d dims) should contain the same number of "
                          "dims as destination (%d dims)",
                          from->n, to->n);
    for (int i = 0; i < from->n; i++) {
        int a, b;
        dync__arg ia = dync__arg_i(from->as.dims[i]), ib = dync__arg_i(to->as.dims[i]);
        DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&ia), n, &a));
        DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&ib), n, &b));
        if (taken[a] || filled[b])
            return dync__fail(DYNC_ERR_VALUE, "movedim: repeated dim in "
                                              "source or destination");
        taken[a] = filled[b] = true;
        order[b] = a;
    }
    for (int b = 0; b < n; b++) {
        if (filled[b]) continue;
        while (taken[next]) next++;
        order[b] = next++;
    }
    return dync__chain_end(&c, call, dync__chain_shape(&c, DYNC__OP_permute, x, n, order));
}

/* Windows of dim, as views: the window is the last dim. Arguments (x, dim, size, step): shape[dim]
 * becomes the number of windows, (n - size) / step + 1; windows overlap where step < size, so the
 * view's elements share memory. */
DYNC__FN dync_status dync__d_unfold(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    int64_t shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS], window = call->args[2].as.i,
                                                         step = call->args[3].as.i;
    int dim = 0;
    DYNC__TRY(dync__dt_self(call, &x));
    int n = x->lay.ndim;
    DYNC__TRY(dync__dn_dim(call, 1, n, &dim));
    int64_t size = n ? x->lay.shape[dim] : 1;
    if (window < 0 || dync__sz_lt(size, window))
        return dync__fail(DYNC_ERR_VALUE,
                          "maximum size for tensor at dimension %d is %lld but size is %lld", dim,
                          (long long)dync__sz_hint(size), (long long)window);
    if (step <= 0)
        return dync__fail(DYNC_ERR_VALUE, "step is %lld but must be > 0", (long long)step);
    if (n == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "the result has more than %d dims", DYNC_MAX_DIMS);
    for (int d = 0; d < n; d++) {
        shape[d] = d == dim ? dync__sz_size(
                                  dync__sz_add(dync__sz_div(dync__sz_sub(size, window), step), 1))
                            : x->lay.shape[d];
        stride[d] = x->lay.stride[d];
        if (d == dim)
            stride[d] = dync__is_token(stride[d])
                            ? dync__sz_mul(stride[d], step)
                            : stride[d] * DYNC__MIN(step, INT64_MAX / 16 / DYNC__MAX(stride[d], 1));
    }
    shape[n] = window;
    stride[n] = n ? x->lay.stride[dim] : 1;
    dync__arg args[4] = {call->args[0], dync__arg_dims(n + 1, shape), dync__arg_dims(n + 1, stride),
                         dync__arg_i(0)};
    /* of x wherever it begins: compiled code takes inputs at any offset */
    dync__chain_call(&c, DYNC__OP__strided_view, 4, args, &y);
    return dync__chain_end(&c, call, y);
}
