/* op/infer.c: inference: shapes, dtypes, strides and argument errors, which every row's infer
 * function gives: what they share, and what holds for all rows. After args.c; the rows' functions
 * stand in infer_*.c.
 *
 * An infer function sees opened arguments and writes one dync__info per output; it reads no data,
 * so real, fake and META tensors are alike. Every message about arguments comes from here: what was
 * expected, what came. Outputs are fresh and row major where nothing else is said, as in PyTorch.
 * Sources: PyTorch aten/src/ATen/TensorIterator.cpp (strides of outputs),
 * native/TypeProperties.cpp (result_type). */
#include "../dync.in.h"
#include "rows.h"
DYNC__LEAN

/* ---- type promotion -------------------------------------------------------------------------- */

/* Bit i: argument i takes part in type promotion. Example: where(condition, a, b) promotes a and b,
 * arguments 1 and 2, and not the condition: 6. Operators that keep the dtype of self whatever their
 * number is, such as masked_fill: 1. */
static unsigned dync__infer_promoting(const dync__opcall *call)
{
    switch (call->op) {
    case DYNC__OP_where: return 6;
    case DYNC__OP_lerp: return 3;
    case DYNC__OP_clamp:
    case DYNC__OP_addcmul:
    case DYNC__OP_addcdiv: return 7;
    case DYNC__OP_threshold_backward: return 3;
    case DYNC__OP_masked_fill:
    case DYNC__OP_celu:
    case DYNC__OP_elu:
    case DYNC__OP_leaky_relu:
    case DYNC__OP_hardtanh:
    case DYNC__OP_copy:
    case DYNC__OP_fill:
    case DYNC__OP_clone:
    case DYNC__OP__clone_contiguous: return 1;
    default: return 3;
    }
}

/* The dtype that a Python number of this kind has in promotion: an int is int64, a float is of the
 * default dtype. It counts only by category (bool, integer, floating): see dync__promoter. */
static int dync__infer_number_dtype(const dync__arg *a)
{
    return a->kind == DYNC__A_FLOAT ? dync__tls.default_dtype
           : a->kind == DYNC__A_INT ? DYNC_I64
                                    : DYNC_BOOL;
}

/* Tensors with dims outrank 0-dim tensors, which outrank numbers (the third argument of
 * dync__promoter_add), as long as their category is the same: f32[3] + 0-dim f64 is f32, i64[3] +
 * 1.5 is the default dtype. Looks at the first three arguments alone: no operator promotes more. */
DYNC__FN int dync__op_common_dtype(const dync__opcall *call)
{
    dync__promoter p = {-1, -1, -1};
    unsigned mask = dync__infer_promoting(call);
    if (call->op == DYNC__OP_to_dtype)
        return dync__dtype_valid((int)call->args[1].as.i) ? (int)call->args[1].as.i : DYNC_F32;
    for (int i = 0; i < call->nargs && i < 3; i++) {
        const dync__arg *a = &call->args[i];
        if (!(mask >> i & 1)) continue;
        if (a->kind == DYNC__A_TENSOR)
            dync__promoter_add(&p, a->as.t->dtype, a->as.t->lay.ndim ? 2 : 1);
        else if (dync__arg_is_number(a))
            dync__promoter_add(&p, dync__infer_number_dtype(a), 0);
    }
    int dtype = dync__promoter_result(&p);
    if (call->op == DYNC__OP_square && dtype == DYNC_BOOL) return DYNC_I64;
    if ((call->row->flags & DYNC__OP_FLOAT) && dync__dtype_info(dtype)->kind != 'f')
        return dync__tls.default_dtype;
    return dtype;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* In the order of dync__arg_kind; for messages. */
static const char *dync__infer_kind_text(const dync__arg *a)
{
    static const char names[][9] = {"none",     "a tensor", "an int",   "a float",  "a bool",
                                    "dims",     "a dtype",  "a device", "a string", "a list",
                                    "a handle", "a node",   "a value"};
    return names[a->kind <= DYNC__A_PTR ? a->kind : 0];
}

/* *out is borrowed from the call, and NULL where DYNC_ERR_VALUE is returned. Arguments are counted
 * from 1 in messages, as a user counts them. */
DYNC__FN dync_status dync__infer_tensor(const dync__opcall *call, int i, dync__tensor **out)
{
    *out = i < call->nargs && call->args[i].kind == DYNC__A_TENSOR ? call->args[i].as.t : NULL;
    if (*out) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "argument %d: expected a tensor, got %s", i + 1,
                      i < call->nargs ? dync__infer_kind_text(&call->args[i]) : "nothing");
}

/* Operands of pointwise operators: both a tensor and a number will do. */
DYNC__FN dync_status dync__infer_value(const dync__opcall *call, int i)
{
    if (i < call->nargs &&
        (call->args[i].kind == DYNC__A_TENSOR || dync__arg_is_number(&call->args[i])))
        return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "argument %d: expected a tensor or a number, got %s", i + 1,
                      i < call->nargs ? dync__infer_kind_text(&call->args[i]) : "nothing");
}

DYNC__FN dync_status dync__infer_number(const dync__opcall *call, int i)
{
    if (i < call->nargs && dync__arg_is_number(&call->args[i])) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "argument %d: expected a number, got %s", i + 1,
                      i < call->nargs ? dync__infer_kind_text(&call->args[i]) : "nothing");
}

/* float16: 2^16 - 2^5; bfloat16: (2 - 2^-7) 2^127. */
DYNC__FN double dync__infer_largest(int dtype)
{
    switch (dtype) {
    case DYNC_F64: return DBL_MAX;
    case DYNC_F16: return 65504;
    case DYNC_BF16: return 3.3895313892515355e38;
    default: return (double)FLT_MAX;
    }
}

/* What is negative wraps in uint8. Anything that is no number fits, and a token, whose number may
 * differ in the next call. */
DYNC__FN dync_status dync__infer_number_fits(const dync__arg *a, int dtype)
{
    static const char names[][14] = {"float", "double",  "c10::Half", "c10::BFloat16", "int64_t",
                                     "int",   "int16_t", "int8_t",    "uint8_t"};
    const dync__dtype_row *info = dync__dtype_info(dtype);
    if (!dync__arg_is_number(a) || dtype == DYNC_BOOL || dync__is_token(a->as.i) ||
        dync__is_sf(a->as.i))
        return DYNC_OK;
    double x = dync__arg_number(a),
           limit = (double)(UINT64_C(1) << (8 * info->bytes - (dtype != DYNC_U8)) % 64),
           least = dtype != DYNC_U8           ? -limit
                   : a->kind == DYNC__A_FLOAT ? 0
                                              : -255;
    bool fits = info->kind == 'f'
                    ? !(fabs(x) > dync__infer_largest(dtype) && fabs(x) <= DBL_MAX)
                    : (x >= least && x < limit) || (dtype == DYNC_I64 && a->kind != DYNC__A_FLOAT);
    return fits ? DYNC_OK
                : dync__fail(DYNC_ERR_VALUE,
                             "value cannot be converted to type %s without overflow", names[dtype]);
}

/* A bound that an integer dtype does not hold may lie where it bounds nothing: low below it, high
 * above it. */
static dync_status dync__infer_bound(const dync__arg *a, int dtype, bool low)
{
    if (!dync__arg_is_number(a) || dync__is_token(a->as.i) || dync__is_sf(a->as.i)) return DYNC_OK;
    double x = dync__arg_number(a);
    dync__arg exact = dync__arg_f(x); /* which does not wrap in uint8 */
    bool whole = dync__dtype_info(dtype)->kind != 'f', idle = whole && (low ? x < 0 : x > 0);
    return idle ? DYNC_OK : dync__infer_number_fits(dtype == DYNC_U8 ? &exact : a, dtype);
}

/* A number that fills one element alone: PyTorch rounds it to infinity in f16 and bf16. */
static bool dync__infer_fills_one(const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) return a->as.t->numel == 1;
    for (int i = 0; i < a->n; i++)
        if (a->as.dims[i] != 1) return false;
    return true;
}

/* op is the functional row, also where call is its in-place form. Which argument is the number, and
 * by which dtype it is judged, differs from operator to operator as it does in PyTorch: where f16
 * and bf16 are exempt, PyTorch rounds to infinity instead of complaining. */
DYNC__FN dync_status dync__infer_numbers(const dync__opcall *call, int op)
{
    const dync__arg *a = call->args;
    dync__eager_numbers();
    int dtype = op == DYNC__OP_full    ? (int)a[2].as.i
                : op == DYNC__OP_where ? dync__op_common_dtype(call)
                                       : a[0].as.t->dtype;
    bool half = dync__dtype_info(dtype)->kind == 'f' && dync__dtype_info(dtype)->bytes == 2;
    switch (op) {
    case DYNC__OP_full:
    case DYNC__OP_full_like:
    case DYNC__OP_fill:
    case DYNC__OP_copy:
        return call->nargs < 2 || (half && dync__infer_fills_one(&a[0]))
                   ? DYNC_OK
                   : dync__infer_number_fits(&a[1], dtype);
    case DYNC__OP_masked_fill: return dync__infer_number_fits(&a[2], dtype);
    case DYNC__OP_scatter: return dync__infer_number_fits(&a[3], dtype);
    case DYNC__OP_addcmul:
    case DYNC__OP_addcdiv:
        return dync__infer_number_fits(&a[3], half ? DYNC_F32 : dync__op_common_dtype(call));
    case DYNC__OP_clamp:
        dtype = dync__op_common_dtype(call);
        DYNC__TRY(dync__infer_bound(&a[1], dtype, true));
        return dync__infer_bound(&a[2], dtype, false);
    case DYNC__OP_celu: /* alpha divides: 0 is refused; NaN is not, as in PyTorch */
        return dync__arg_number(&a[1]) < 0 || !(dync__arg_number(&a[1]) <= 0)
                   ? DYNC_OK
                   : dync__fail(DYNC_ERR_VALUE, "ZeroDivisionError: alpha cannot be 0 for CELU");
    case DYNC__OP_hardtanh:
        if (dync__dtype_info(dtype)->kind != 'f') {
            DYNC__TRY(dync__infer_number_fits(&a[1], DYNC_I64));
            DYNC__TRY(dync__infer_number_fits(&a[2], DYNC_I64));
        }
        if (dync__arg_number(&a[1]) > dync__arg_number(&a[2]))
            return dync__fail(DYNC_ERR_VALUE, "min_val cannot be greater than max_val");
        return DYNC_OK;
    case DYNC__OP_where:
        for (int i = 1; i < 3 && !half; i++) DYNC__TRY(dync__infer_number_fits(&a[i], dtype));
        return DYNC_OK;
    default: return DYNC_OK;
    }
}

/* Joins the device of one more tensor to *device (-1: none yet). *firm: set by a tensor that cannot
 * move; until then a later tensor with dims, or on a GPU, still decides. */
static dync_status dync__infer_device_add(const dync__tensor *t, int *device, bool *firm)
{
    /* 0-dim CPU tensors mix with any device */
    bool movable = t->lay.ndim == 0 && dync__device_is(t->device, DYNC__DEV_HOST);
    char a[DYNC__DEVICE_TEXT], b[DYNC__DEVICE_TEXT];
    if (*device < 0 || (!*firm && !movable)) {
        *device = t->device;
        *firm = !movable;
        return DYNC_OK;
    }
    if (t->device == *device || movable) return DYNC_OK;
    return dync__fail(
        DYNC_ERR_DEVICE,
        "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
        dync__device_text(*device, a), dync__device_text(t->device, b));
}

/* Lists count as their elements. Without a tensor among the arguments: the CPU. */
DYNC__FN dync_status dync__infer_device(const dync__opcall *call, int *device)
{
    bool firm = false;
    *device = -1;
    for (int i = 0; i < call->nargs; i++) {
        const dync__arg *a = &call->args[i];
        if (a->kind == DYNC__A_TENSOR) DYNC__TRY(dync__infer_device_add(a->as.t, device, &firm));
        for (int j = 0; a->kind == DYNC__A_LIST && j < a->n; j++)
            if (a->as.list[j].kind == DYNC__A_TENSOR)
                DYNC__TRY(dync__infer_device_add(a->as.list[j].as.t, device, &firm));
    }
    if (*device < 0) *device = DYNC_CPU;
    return DYNC_OK;
}

/* DYNC_ERR_DTYPE with PyTorch's words where an operator has no integer form. */
DYNC__FN dync_status dync__infer_floating(const dync__tensor *t)
{
    if (dync__dtype_info(t->dtype)->kind == 'f') return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "not implemented for '%s': expected a floating point tensor",
                      dync__dtype_info(t->dtype)->guard);
}

DYNC__FN dync_status dync__infer_index(const dync__tensor *t)
{
    if (t->dtype == DYNC_I64 || t->dtype == DYNC_I32) return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "expected an index tensor of dtype int64 or int32, got %s",
                      dync__dtype_info(t->dtype)->name);
}

/* Saturates, so that a dim of 2^40 is reported as out of range and does not wrap to a valid one. */
DYNC__FN int dync__infer_int_dim(const dync__arg *a)
{
    return a->as.i > INT_MAX ? INT_MAX : a->as.i < INT_MIN ? INT_MIN : (int)a->as.i;
}

/* The plain outcome: memory of its own, row major. DYNC_ERR_SHAPE where a size is negative or the
 * number of elements overflows. */
DYNC__FN dync_status dync__infer_fresh(dync__info *out, int dtype, int device, int ndim,
                                       const int64_t *shape)
{
    out->dtype = dtype;
    out->device = device;
    out->alias = -1;
    return dync__layout_contiguous(&out->lay, ndim, shape);
}

/* -rank <= dim < rank, a 0-dim tensor counts as one of rank 1; *dim is from 0 on. DYNC_ERR_INDEX
 * otherwise. */
DYNC__FN dync_status dync__infer_axis(const dync__opcall *call, int i, const dync__tensor *t,
                                      int *dim)
{
    return dync__dim_wrap(dync__infer_int_dim(&call->args[i]), t->lay.ndim, dim);
}

/* Symbolic sizes are compared by guard: asking may specialise or record a relation. */
DYNC__FN bool dync__infer_same_shape(const dync__layout *a, const dync__layout *b)
{
    return a->ndim == b->ndim && dync__sz_same(a->ndim, a->shape, b->shape);
}

/* "text, got [2, 3] and [4]" */
DYNC__FN dync_status dync__infer_pair_error(const char *text, const dync__layout *a,
                                            const dync__layout *b)
{
    dync__str s = {0};
    dync__shape_text(&s, a->ndim, a->shape);
    dync__str_add(&s, " and ");
    dync__shape_text(&s, b->ndim, b->shape);
    dync__fail(DYNC_ERR_SHAPE, "%s, got %s", text, dync__str_get(&s));
    dync__str_free(&s);
    return DYNC_ERR_SHAPE;
}

DYNC__FN dync_status dync__infer_rank(const dync__tensor *t, int rank, const char *what)
{
    if (t->lay.ndim == rank) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "%s must be a %dD tensor, but got %dD", what, rank,
                      t->lay.ndim);
}

/* Tensor i of a gradient is what the forward call gave, or the gradient of that: of the dtype and
 * the sizes of `like`. */
DYNC__FN dync_status dync__infer_as_given(const dync__opcall *call, int i, const dync__info *like)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, i, &t));
    if (t->dtype != like->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "argument %d: expected dtype %s, got %s", i + 1,
                          dync__dtype_info(like->dtype)->name, dync__dtype_info(t->dtype)->name);
    if (dync__infer_same_shape(&t->lay, &like->lay)) return DYNC_OK;
    return dync__infer_pair_error("a gradient takes what the forward call gave", &t->lay,
                                  &like->lay);
}
