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

#define DYNC__FUNCTIONAL_POINTWISE(name, op) NULL
#define DYNC__FUNCTIONAL_REDUCE(name, op) NULL
#define DYNC__FUNCTIONAL_VIEW(name, op) NULL
#define DYNC__FUNCTIONAL_FACTORY(name, op) NULL
#define DYNC__FUNCTIONAL_KERNEL(name, op) DYNC__SECOND(DYNC__WITH_##name, NULL, )
#define DYNC__FUNCTIONAL_COMPOSITE(name, op) NULL
#define DYNC__FUNCTIONAL_EFFECT(name, op) NULL
#define DYNC__FUNCTIONAL_INPLACE(name, op) &op##_row
/* a row that stands in for another, and is entered with it */
#define DYNC__WITH_one_hot , &DYNC__OP__one_hot_all_row
#define DYNC__OP_none_row (*(const dync__row *)0)
#define dync__rule_none (*(const dync__grad_rule *)0)
#if defined(DYNC_NO_AUTOGRAD)
#define DYNC__RULE(grad) NULL
#else
#define DYNC__RULE(grad) &dync__rule_##grad
#endif
#if defined(DYNC_STATIC)
#define DYNC__ROW_HERE static
#else
#define DYNC__ROW_HERE
#endif
#define DYNC__X(name, cls, schema, nout, infer, expr, lower, grad, decompose, fx, flags,   \
                inplace_of, doc)                                                           \
    DYNC__ROW_HERE const dync__row DYNC__OP_##name##_row = {                               \
        &dync__columns_##name, DYNC__RULE(grad), DYNC__FUNCTIONAL_##cls(name, inplace_of), \
        DYNC__OP_##name};
DYNC__OPS(DYNC__X)
#undef DYNC__X

/* ---- rules that a program links by use (api/link.h) ------------------------------------------ */

#if DYNC__RULES_BY_USE
DYNC__FN bool dync__grad_rules_linked(void) { return &dync__link_g_add != NULL; }
DYNC__FN dync_status dync__grad_rule_run(const dync__grad_rule *rule, dync__grad *g)
{
    if (rule->at) return (**rule->at)(g);
    return dync__fail(DYNC_ERR_BACKEND, "the rules of gradients were not linked: no file of this "
                                        "program calls dync_backward or dync_gradients by name");
}
#else
DYNC__FN bool dync__grad_rules_linked(void) { return true; }
DYNC__FN dync_status dync__grad_rule_run(const dync__grad_rule *rule, dync__grad *g)
{
    return rule->fn(g);
}
#endif
