/* op/decompose_data.c: composites that draw random numbers, or whose shapes depend on data. After
 * chain.c. */
#include "../dync.in.h"
#include "chain.h"
#include "../kernel/places.h"
DYNC__COLD

/* ---- random numbers and data-dependent shapes ------------------------------------------------ */

/* 1 with the probability in each element of p, in its dtype. */
DYNC__FN dync_status dync__d_bernoulli(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *p;
    DYNC__TRY(dync__dt_self(call, &p));
    DYNC__TRY(dync__infer_floating(p));
    dync__dt *y = dync__chain_tt(&c, DYNC__OP_lt, dync__chain1(&c, DYNC__OP_rand_like, p), p);
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, p->dtype));
}

/* The sorted elements, each once. Sort, keep the first, and every element that differs from the one
 * before it. NaNs differ from each other: each is kept, as in PyTorch. */
DYNC__FN dync_status dync__d_unique(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *both[2];
    int64_t all = -1;
    DYNC__TRY(dync__dt_self(call, &x));
    x = dync__chain_shape(&c, DYNC__OP_reshape, x, 1, &all);
    dync__arg args[3] = {dync__arg_t(x), dync__arg_i(0), dync__arg_b(false)};
    dync__chain_call(&c, DYNC__OP_sort, 3, args, both);
    if (!x || x->numel < 2) return dync__chain_end(&c, call, both[0]);
    dync__dt *last = dync__chain_slice(&c, both[0], 0, 0, x->numel - 1),
             *next = dync__chain_slice(&c, both[0], 0, 1, x->numel);
    dync__dt *first = dync__chain_slice(&c, both[0], 0, 0, 1);
    dync__dt *kept = dync__chain_tt(&c, DYNC__OP_masked_select, next,
                                    dync__chain_tt(&c, DYNC__OP_ne, next, last));
    dync__arg list[2] = {dync__arg_t(first), dync__arg_t(kept)};
    return dync__chain_end(&c, call, dync__chain_cat(&c, 2, list, 0));
}

/* ---- shapes that depend on data: eager only -------------------------------------------------- */

/* Those who trace cut the graph before the call. */
DYNC__FN dync_status dync__decompose_real(const dync__dt *t)
{
    if (!(t->flags & DYNC__T_FAKE) && dync__device_is(t->device, DYNC__DEV_DATA)) return DYNC_OK;
    return dync__fail(DYNC_ERR_UNSUPPORTED,
                      "the shape of the result depends on data, which a fake or meta tensor does "
                      "not have");
}

/* Coordinates of what is not 0 in a dense x, row by row; at[] is the coordinate of the row, counted
 * up like an odometer. out: one dim's places after another's, count each. */
static void dync__nonzero_rows(const dync__dt *x, int64_t count, int64_t *out)
{
    int n = x->lay.ndim, width = dync__dtype_info(x->dtype)->bytes;
    int64_t length = x->lay.shape[n - 1], at[DYNC_MAX_DIMS] = {0};
    const char *row = dync__tensor_data(x);
    for (int64_t have = 0, some; have < count; have += some, row += length * width) {
        some = dync__places_list(row, x->dtype, length, out + (n - 1) * count + have, count - have);
        for (int d = 0; d < n - 1; d++)
            for (int64_t i = have; i < have + some; i++) out[d * count + i] = at[d];
        for (int d = n - 2; d >= 0 && ++at[d] == x->lay.shape[d]; d--) at[d] = 0;
    }
}

/* int64 [count, rank], one row of coordinates per element that is not 0 (NaN is not), in row-major
 * order. Two passes: the first counts, the second writes. A GPU's tensor is copied to the host and
 * the result back. */
DYNC__FN dync_status dync__d_nonzero(dync__opcall *call)
{
    dync__dt *t, *x, *y;
    DYNC__TRY(dync__dt_self(call, &t));
    DYNC__TRY(dync__decompose_real(t));
    int n = t->lay.ndim;
    if (!(x = dync__contiguous_copy(t))) return DYNC_ERR_MEMORY;
    int64_t shape[2] = {dync__places_count(dync__tensor_data(x), t->dtype, t->numel), n};
    dync__layout lay;
    dync_status status = dync__layout_contiguous(&lay, 2, shape);
    lay.stride[0] = 1; /* one dim's places after another's, as PyTorch lays them */
    lay.stride[1] = DYNC__MAX(shape[0], 1);
    y = status == DYNC_OK ? dync__tensor_empty(DYNC_I64, DYNC_CPU, &lay) : NULL;
    if (y && n > 0) dync__nonzero_rows(x, shape[0], dync__tensor_data(y));
    dync__unref(x);
    if (!y) return status != DYNC_OK ? status : DYNC_ERR_MEMORY;
    if (!dync__device_is(t->device, DYNC__DEV_HOST)) {
        dync__arg args[2] = {dync__arg_t(y), dync__arg_device(t->device)};
        status = dync__op_run(DYNC__OP_to_device, 2, args, &call->out[0]);
        dync__unref(y);
        call->nout = status == DYNC_OK;
        return status;
    }
    call->out[0] = y;
    call->nout = 1;
    return DYNC_OK;
}

/* The element as what graphs know of numbers: a size, moved so that it is never small. An integer
 * read from a tensor travels through a graph as the size of an expanded tensor: shape [v +
 * DYNC__ITEM_BASE], stride 0, over one byte. The base keeps it clear of sizes 0 and 1, which would
 * be specialised. Only |v| <= 2^39 fits. */
DYNC__FN dync_status dync__d_local_scalar(dync__opcall *call)
{
    dync__dt *t, *y;
    DYNC__TRY(dync__dt_self(call, &t));
    DYNC__TRY(dync__decompose_real(t));
    if (t->numel != 1)
        return dync__fail(DYNC_ERR_VALUE,
                          "a Tensor with %lld elements cannot be converted to Scalar: select one",
                          (long long)t->numel);
    dync__dt *x = dync__contiguous_copy(t);
    if (!x) return DYNC_ERR_MEMORY;
    int64_t v = dync__load_i64(dync__tensor_data(x), x->dtype), one = 1;
    dync__unref(x);
    if (v < -DYNC__ITEM_MOST || v > DYNC__ITEM_MOST)
        return dync__fail(
            DYNC_ERR_VALUE,
            "dync_item_sym: %lld is too large for a number of a graph, which are from "
            "-2^39 to 2^39: leave it a tensor",
            (long long)v);
    dync__layout lay;
    DYNC__TRY(dync__layout_contiguous(&lay, 1, &one));
    if (!(y = dync__tensor_empty(DYNC_U8, DYNC_CPU, &lay))) return DYNC_ERR_MEMORY;
    lay.shape[0] = v + DYNC__ITEM_BASE;
    lay.stride[0] = 0;
    call->out[0] = dync__tensor_alias(y, DYNC_U8, &lay);
    dync__unref(y);
    call->nout = call->out[0] != NULL;
    return call->out[0] ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Arguments (x, least, most), integers: dync_check at run time. No output. */
DYNC__FN dync_status dync__d_check_range(dync__opcall *call)
{
    int64_t x = call->args[0].as.i, least = call->args[1].as.i, most = call->args[2].as.i;
    call->nout = 0;
    if (x >= least && x <= most) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "dync_check: expected a number from %lld to %lld, got %lld",
                      (long long)least, (long long)most, (long long)x);
}

/* One class more than the largest index. one_hot without num_classes reads the data to find it. */
DYNC__FN dync_status dync__d_one_hot_all(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__decompose_real(x));
    if (x->numel == 0)
        return dync__fail(DYNC_ERR_VALUE, "Can not infer total number of classes "
                                          "from empty tensor.");
    dync__dt *most = dync__chain1(&c, DYNC__OP_max, x),
             *seen = most ? dync__contiguous_copy(most) : NULL;
    int64_t last = seen ? dync__load_i64(dync__tensor_data(seen), x->dtype) : 0;
    if (last == INT64_MAX)
        c.status = dync__fail(DYNC_ERR_SHAPE, "class %lld is too large", (long long)last);
    dync__dt *y = seen && last < INT64_MAX
                      ? dync__chain_ti(&c, DYNC__OP_one_hot, x, DYNC__MAX(last, 0) + 1)
                      : NULL;
    dync__unref(seen);
    return dync__chain_end(&c, call, y);
}

/* A vector of the elements where the mask is true, both broadcast; by nonzero of the mask and
 * index_select, which has a gradient. */
DYNC__FN dync_status dync__d_masked_select(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *mask;
    int64_t shape[DYNC_MAX_DIMS], all = -1;
    int n;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &mask));
    if (mask->dtype != DYNC_BOOL)
        return dync__fail(DYNC_ERR_DTYPE, "expected mask to be a bool tensor, got dtype %s",
                          dync__dtype_info(mask->dtype)->name);
    DYNC__TRY(
        dync__broadcast(x->lay.ndim, x->lay.shape, mask->lay.ndim, mask->lay.shape, &n, shape));
    x = dync__chain_shape(&c, DYNC__OP_reshape, dync__chain_shape(&c, DYNC__OP_expand, x, n, shape),
                          1, &all);
    mask = dync__chain_shape(&c, DYNC__OP_reshape,
                             dync__chain_shape(&c, DYNC__OP_expand, mask, n, shape), 1, &all);
    dync__dt *index =
        dync__chain_ti(&c, DYNC__OP_squeeze, dync__chain1(&c, DYNC__OP_nonzero, mask), 1);
    return dync__chain_end(&c, call,
                           dync__chain3(&c, DYNC__OP_index_select, dync__arg_t(x), dync__arg_i(0),
                                        dync__arg_t(index)));
}
