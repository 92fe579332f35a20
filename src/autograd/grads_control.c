/* autograd/grads_control.c: gradients of operators with functions inside. Their backward is such an
 * operator again, over functions that aot/control_grad.c makes and installs here. After
 * grads_view.c. */
#include "../dync.in.h"
#include "grads.h"
DYNC__COLD

DYNC__FN dync_status dync__g_cond(dync__grad *g) { return dync__control_grad(g); }
DYNC__FN dync_status dync__g_scan(dync__grad *g) { return dync__control_grad(g); }
DYNC__FN dync_status dync__g_while_loop(dync__grad *g) { return dync__control_grad(g); }
