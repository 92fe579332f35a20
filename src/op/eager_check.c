/* op/eager_check.c: what must be looked at before an operator runs: indices, divisors, numbers
 * that fit. After dispatch.c, before eager_plan.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__WARM

/* add for add_, the row itself for others; *op is its number. */
DYNC__FN const dync__op_row *dync__eager_functional(const dync__opcall *call, int *op)
{
    *op = call->row->cls == DYNC__INPLACE && call->row->inplace_of >= 0 ? call->row->inplace_of
                                                                        : call->op;
    return dync__op_info(*op);
}

/* Is there something to look at before a call runs? Indices that loops read by the plan checks on
 * the CPU. Once per plan: the answer is kept in its cache entry. Rows with DYNC__OP_FITS are asked
 * for their numbers each time, as those are not in the key. */
static bool dync__eager_asks(const dync__opcall *call)
{
    int op;
    uint32_t flags = dync__eager_functional(call, &op)->flags;
    const dync__arg *by = &call->args[1];
    bool number = false;
    if (flags & DYNC__OP_SCATTERS) return true;
    if (flags & DYNC__OP_GATHERS)
        return !dync__device_is(call->args[0].as.t->device, DYNC__DEV_CHECKS);
    if (flags & DYNC__OP_DIVIDES)
        return (by->kind != DYNC__A_TENSOR ||
                !dync__device_is(by->as.t->device, DYNC__DEV_CHECKS)) &&
               dync__dtype_info(dync__op_common_dtype(call))->kind != 'f';
    for (int i = 0; i < call->nargs && flags & DYNC__OP_FITS; i++)
        number = number || dync__arg_is_number(&call->args[i]);
    return number;
}

/* ---- values that must be looked at ----------------------------------------------------------- */

/* Looks for an element of an integer tensor outside [low, high), or, with low == high, for that
 * very value. *bad is the first such element, *found whether there is one. Tensors of a GPU, or not
 * row major, are copied first: DYNC_ERR_MEMORY. */
DYNC__RARE static dync_status dync__eager_look(const dync__tensor *t, int64_t low, int64_t high,
                                               int64_t *bad, bool *found)
{
    dync__tensor *dense = NULL;
    *found = false;
    if (t->numel == 0) return DYNC_OK;
    if ((!dync__device_is(t->device, DYNC__DEV_HOST) || !dync__layout_is_contiguous(&t->lay)) &&
        !(dense = dync__contiguous_copy(t)))
        return DYNC_ERR_MEMORY;
    const char *p = dync__tensor_data(dense ? dense : t);
    size_t width = dync__dtype_info(t->dtype)->bytes;
    for (int64_t i = 0; i < t->numel && !*found; i++, p += width) {
        *bad = dync__load_i64(p, t->dtype);
        *found = low == high ? *bad == low : *bad < low || *bad >= high;
    }
    dync__unref(dense);
    return DYNC_OK;
}

/* size: of the dim that is indexed; the indices are 0 .. size - 1. */
DYNC__RARE static dync_status dync__eager_check_index(const dync__tensor *index, int64_t size)
{
    int64_t bad = 0;
    bool found;
    if (size == 0 && index->numel)
        return dync__fail(DYNC_ERR_INDEX, "index is out of bounds for dimension with size 0");
    DYNC__TRY(dync__eager_look(index, 0, size, &bad, &found));
    return found ? dync__fail_index(dync__tls.within, bad, size) : DYNC_OK;
}

/* Argument 1, of an integer division; nothing is divided where argument 0 is empty. */
static dync_status dync__eager_check_divisor(const dync__opcall *call)
{
    const dync__arg *of = &call->args[0], *a = &call->args[1];
    int64_t zero = 0;
    bool found = dync__arg_is_number(a) && a->as.i == 0;
    if (of->kind == DYNC__A_TENSOR && of->as.t->numel == 0) return DYNC_OK;
    if (a->kind == DYNC__A_TENSOR) DYNC__TRY(dync__eager_look(a->as.t, 0, 0, &zero, &found));
    return found ? dync__fail_class(DYNC_ERR_VALUE, "ZeroDivisionError", "ZeroDivisionError")
                 : DYNC_OK;
}

/* The index of a row that gathers or scatters, and how many places there are. The index stands in
 * another argument for one_hot (0), embedding (1) and all others (2); one_hot's limit is its number
 * of classes. */
static dync_status dync__eager_index(const dync__opcall *call, int op, const dync__tensor **index,
                                     int64_t *size)
{
    const dync__tensor *self = call->args[0].as.t;
    int dim;
    *index = call->args[op == DYNC__OP_one_hot ? 0 : op == DYNC__OP_embedding ? 1 : 2].as.t;
    *size = call->args[1].as.i;
    if (op == DYNC__OP_one_hot) return DYNC_OK;
    dim = op == DYNC__OP_embedding ? 0 : dync__infer_int_dim(&call->args[1]);
    DYNC__TRY(dync__dim_wrap(dim, self->lay.ndim, &dim));
    *size = self->lay.ndim ? self->lay.shape[dim] : 1;
    return DYNC_OK;
}

/* DYNC_ERR_INDEX names the first bad index and the size; DYNC_ERR_VALUE with Python's
 * ZeroDivisionError for a divisor. */
DYNC__RARE static dync_status dync__eager_looks(const dync__opcall *call)
{
    const dync__tensor *index;
    int64_t size;
    int op;
    uint32_t flags = dync__eager_functional(call, &op)->flags;
    if (flags & DYNC__OP_DIVIDES) return dync__eager_check_divisor(call);
    DYNC__TRY(dync__eager_index(call, op, &index, &size));
    return dync__eager_check_index(index, size);
}

/* By need: who infers a row with such a flag puts them there; numbers alone are fewer. */
static bool (*DYNC__BY_NEED dync__eager_asks_used)(const dync__opcall *) =
    DYNC__AT_FIRST(dync__eager_asks);
static dync_status (*DYNC__BY_NEED dync__eager_looks_used)(const dync__opcall *) =
    DYNC__AT_FIRST(dync__eager_looks);
static dync_status (*DYNC__BY_NEED dync__eager_fits_used)(const dync__opcall *, int op) =
    DYNC__AT_FIRST(dync__infer_numbers);
DYNC__FN void dync__eager_numbers(void)
{
    DYNC__PUT(dync__eager_asks_used, dync__eager_asks);
    DYNC__PUT(dync__eager_fits_used, dync__infer_numbers);
}
DYNC__FN void dync__eager_checks(void)
{
    DYNC__PUT(dync__eager_asks_used, dync__eager_asks);
    DYNC__PUT(dync__eager_looks_used, dync__eager_looks);
}

enum { DYNC__OP_LOOKS = DYNC__OP_SCATTERS | DYNC__OP_GATHERS | DYNC__OP_DIVIDES };
DYNC__FN bool dync__eager_checks_data(const dync__opcall *call)
{
    int op;
    if (!(dync__eager_functional(call, &op)->flags & (DYNC__OP_LOOKS | DYNC__OP_FITS)))
        return false;
    return !dync__eager_asks_used || dync__eager_asks_used(call);
}

DYNC__FN dync_status dync__eager_check_data(const dync__opcall *call)
{
    int op;
    uint32_t flags = dync__eager_functional(call, &op)->flags;
    /* not linked: no number was inferred yet, as none is where a scatter has a tensor for it */
    bool numbers = dync__eager_fits_used || !(flags & DYNC__OP_LOOKS);
    if (flags & DYNC__OP_FITS && !(flags & DYNC__OP_DIVIDES) && numbers)
        DYNC__TRY(dync__eager_fits_used ? dync__eager_fits_used(call, op) : DYNC_ERR_INTERNAL);
    if (!(flags & DYNC__OP_LOOKS)) return DYNC_OK;
    return dync__eager_looks_used ? dync__eager_looks_used(call) : DYNC_ERR_INTERNAL;
}
