/* autograd/grads_control.c: gradients of operators with functions inside. Their backward is such an
 * operator again, over functions that aot/control_grad.c makes and installs here. After
 * grads_view.c. */
#include "../dync.in.h"
#include "grads.h"
DYNC__COLD

DYNC__FN dync_status dync__g_cond(dync__grad *g) { return dync__control_inside.rule(g); }
DYNC__FN dync_status dync__g_scan(dync__grad *g) { return dync__control_inside.rule(g); }
DYNC__FN dync_status dync__g_while_loop(dync__grad *g) { return dync__control_inside.rule(g); }

#define DYNC__X(rule, n_diff, keep0, keep1, keep2, keep3)  \
    DYNC__RULE_AT(rule)                                    \
    DYNC__DATA const dync__grad_rule dync__rule_##rule = { \
        DYNC__RULE_FN(rule), n_diff, {keep0, keep1, keep2, keep3}, &dync__control_inside};
DYNC__CONTROL_RULES(DYNC__X)
#undef DYNC__X
