/* op/control.c: operators with functions inside (cond, scan, while_loop): the columns of their
 * rows. What a function is, graph/control.c knows, which installs itself here. After custom.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

DYNC__MEETING(inside)

/* The hook is set wherever a graph can be made, and no call reaches these rows without one. */
DYNC__FN dync_status dync__i_control(const dync__opcall *call, dync__info *out)
{
    DYNC__MEET(inside);
    return dync__control_infer(call, out);
}

DYNC__FN dync_status dync__d_control(dync__opcall *call) { return dync__control_run(call); }
