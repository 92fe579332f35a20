/* onnx/out_data.c: what data decide as ONNX nodes: NonZero, Compress, Unique, and numbers read from
 * tensors. After out_move.c.
 *
 * A size that such a node gives is computed from its result (dync__ox_symbol), a number is the
 * element itself; results have dim_params u0, u1, ... Checks (dync_check) are not in a model: ONNX
 * has no operator that fails. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "../op/rows.h"
#include "out_rows.h"
DYNC__COLD

/* A value flattened; sizes need not be known. */
static dync__ox_name dync__ox_row_major(dync__ox *w, dync__ox_name x)
{
    return dync__ox_op2(w, "Reshape", x, dync__ox_ints(w, 1, &(int64_t){-1}));
}

/* ONNX Runtime has NonZero of these; of others, what is not 0 is true. Its places are a column
 * each. */
DYNC__FN dync__ox_name dync__ox_nonzero(dync__ox *w)
{
    static const int64_t swapped[2] = {1, 0};
    const dync__info *in = dync__ox_of(w, 0);
    bool scalar = in->lay.ndim == 0; /* has no places: [count, 0] */
    dync__ox_name x = dync__ox_in(w, 0);
    if (in->dtype != DYNC_BOOL && in->dtype != DYNC_F32 && in->dtype != DYNC_I32 &&
        in->dtype != DYNC_I64)
        x = dync__ox_cast(w, dync__ox_wide_in(w, 0), dync__ox_wide(in->dtype), DYNC_BOOL);
    if (scalar) x = dync__ox_row_major(w, x);
    x = dync__ox_transposed(w, dync__ox_op1(w, "NonZero", x), 2, swapped);
    return scalar ? dync__ox_sliced(w, x, 1, 0, 0, 1) : x;
}

/* One batch of one class there; which corner comes first, x or y, does not matter. */
DYNC__FN dync__ox_name dync__ox_nms(dync__ox *w)
{
    static const int64_t batch[1] = {0}, both[2] = {0, 1}, most[1] = {INT32_MAX}, column[1] = {1};
    if (dync__ox_of(w, 0)->dtype == DYNC_F64 || dync__ox_of(w, 1)->dtype == DYNC_F64)
        return dync__ox_refuse(w, "boxes in double precision");
    dync__ox_name boxes = dync__ox_op2(w, "Unsqueeze", dync__ox_wide_in(w, 0),
                                       dync__ox_ints(w, 1, batch)),
                  scores = dync__ox_op2(w, "Unsqueeze", dync__ox_wide_in(w, 1),
                                        dync__ox_ints(w, 2, both)),
                  in[4] = {boxes, scores, dync__ox_ints(w, 1, most),
                           dync__ox_number(w, dync__ox_arg(w, 2), DYNC_F32)};
    dync__ox_name x = dync__ox_emit(w, "NonMaxSuppression", 4, in);
    return dync__ox_op2(w, "Squeeze", dync__ox_sliced(w, x, 1, 2, 3, 1),
                        dync__ox_ints(w, 1, column));
}

DYNC__FN dync__ox_name dync__ox_nms_each(dync__ox *w)
{
    if (dync__ox_of(w, 0)->dtype == DYNC_F64 || dync__ox_of(w, 1)->dtype == DYNC_F64)
        return dync__ox_refuse(w, "boxes in double precision");
    dync__ox_name in[5] = {dync__ox_wide_in(w, 0), dync__ox_wide_in(w, 1),
                           dync__ox_ints(w, 1, &dync__ox_arg(w, 2)->as.i),
                           dync__ox_number(w, dync__ox_arg(w, 3), DYNC_F32),
                           dync__ox_number(w, dync__ox_arg(w, 4), DYNC_F32)};
    bool all = dync__ox_arg(w, 4)->as.f == -HUGE_VAL;
    return dync__ox_emit(w, "NonMaxSuppression", all ? 4 : 5, in);
}

/* Both are broadcast to each other by Expand, which needs no shape of both. */
DYNC__FN dync__ox_name dync__ox_masked_select(dync__ox *w)
{
    int dtype = dync__ox_of(w, 0)->dtype, type = dync__ox_expands(dtype);
    dync__ox_name x = dync__ox_cast(w, dync__ox_in(w, 0), dtype, type), mask = dync__ox_in(w, 1);
    if (!dync__infer_same_shape(&dync__ox_of(w, 0)->lay, &dync__ox_of(w, 1)->lay)) {
        x = dync__ox_op2(w, "Expand", x, dync__ox_op1(w, "Shape", mask));
        mask = dync__ox_op2(w, "Expand", mask, dync__ox_op1(w, "Shape", x));
    }
    x = dync__ox_op2(w, "Compress", dync__ox_row_major(w, x), dync__ox_row_major(w, mask));
    dync__ox_set_i(w, "axis", 0);
    return dync__ox_as_out(w, x, type, 0);
}

static dync__ox_name dync__ox_where_set(dync__ox *w, dync__ox_name x, dync__ox_name mask)
{
    x = dync__ox_op2(w, "Compress", x, mask);
    dync__ox_set_i(w, "axis", 0);
    return x;
}

/* In order, each once. ONNX does not say where NaNs go; here each of them is at the end. */
DYNC__FN dync__ox_name dync__ox_unique(dync__ox *w)
{
    int dtype = dync__ox_of(w, 0)->dtype, type = dync__ox_wide(dtype);
    bool real = type == DYNC_F32 || type == DYNC_F64;
    dync__ox_name x = dync__ox_wide_in(w, 0), nan = NULL;
    if (!real) {
        x = dync__ox_cast(w, x, type, DYNC_I64); /* no kernel for others */
        type = DYNC_I64;
    }
    x = dync__ox_row_major(w, x);
    if (real) {
        dync__ox_name number = dync__ox_op2(w, "Equal", x, x);
        nan = dync__ox_where_set(w, x, dync__ox_op1(w, "Not", number));
        x = dync__ox_where_set(w, x, number);
    }
    x = dync__ox_op1(w, "Unique", x);
    dync__ox_set_i(w, "sorted", 1);
    if (real) {
        x = dync__ox_op2(w, "Concat", x, nan);
        dync__ox_set_i(w, "axis", 0);
    }
    return dync__ox_as_out(w, x, type, 0);
}

/* The atom of "atom + a constant"; 0: it is something else. */
static int64_t dync__ox_item_token(const dync__ox *w)
{
    int64_t size = w->node->info[0].lay.shape[0];
    const dync__graph *g = w->scope->graph;
    const dync__sz_expr *e = g->syms ? dync__symtab_find(g->syms, size) : NULL;
    if (!e || e->kind != DYNC__SZ_SUM || e->n_terms != 2) return 0;
    for (int i = 0; i < 2; i++)
        if (e->term[i].n == 1 && e->term[i].coef == 1) return e->term[i].atom[0];
    return 0;
}

/* The integer is known as a size from here on; the tensor that tells it in a graph has no elements
 * that anybody reads. */
DYNC__FN dync__ox_name dync__ox_item(dync__ox *w)
{
    dync__ox_size made = {dync__ox_item_token(w), NULL};
    if (!made.token || w->scope->outer)
        return dync__ox_refuse(w, "the number that it reads is not known as a size");
    dync__ox_name x = dync__ox_cast(w, dync__ox_in(w, 0), dync__ox_of(w, 0)->dtype, DYNC_I64);
    made.name = dync__ox_row_major(w, x);
    if (dync__ox_ok(w) && !dync__avec_push(w->arena, &w->sizes, made)) w->status = DYNC_ERR_MEMORY;
    return NULL;
}
#endif
