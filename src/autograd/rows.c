/* autograd/rows.c: the operators' rows as programs link them (api/ops.h): columns of op/ and the
 * gradient rule. After grads*.c: no layer below names a rule.
 *
 *   DYNC__OP_add_row     columns of add, dync__rule_g_add, no functional row, the number of add
 *   DYNC__OP_add__row    columns of add_, .., the row of add, which add_ writes in place
 *
 * A row is an object of its own, so a linker that drops unused sections drops the operators that a
 * program does not call, with their kernels and rules. */
#include "../dync.in.h"
#include "../op/rows.h"
#include "grads.h"
DYNC__COLD

#define DYNC__FUNCTIONAL_POINTWISE(op) NULL
#define DYNC__FUNCTIONAL_REDUCE(op) NULL
#define DYNC__FUNCTIONAL_VIEW(op) NULL
#define DYNC__FUNCTIONAL_FACTORY(op) NULL
#define DYNC__FUNCTIONAL_KERNEL(op) NULL
#define DYNC__FUNCTIONAL_COMPOSITE(op) NULL
#define DYNC__FUNCTIONAL_EFFECT(op) NULL
#define DYNC__FUNCTIONAL_INPLACE(op) &op##_row
#define DYNC__OP_none_row (*(const dync__row *)0)
#define dync__rule_none (*(const dync__grad_rule *)0)
#if defined(DYNC_STATIC)
#define DYNC__ROW_HERE static
#else
#define DYNC__ROW_HERE
#endif
#define DYNC__X(name, cls, schema, nout, infer, expr, lower, grad, decompose, fx, flags, \
                inplace_of, doc)                                                         \
    DYNC__ROW_HERE const dync__row DYNC__OP_##name##_row = {                             \
        &dync__columns_##name, &dync__rule_##grad, DYNC__FUNCTIONAL_##cls(inplace_of),   \
        DYNC__OP_##name};
DYNC__OPS(DYNC__X)
#undef DYNC__X
