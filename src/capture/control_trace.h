/* capture/control_trace.h: functions inside operators: called plainly, traced. */
#ifndef DYNC__CAPTURE_CONTROL_TRACE_H
#define DYNC__CAPTURE_CONTROL_TRACE_H
#include "../dync.in.h"
#include "control.h"
#include "../op/rows.h"

/* control.c */
DYNC__FN bool dync__control_traced(void);
DYNC__FN dync__public_frame dync__control_begin(dync_loc at); /* to dync__public_end */
DYNC__FN dync_status dync__control_error(void);
DYNC__FN dync_status dync__control_invoke(const dync_callee *fn, const char *name, int nargs,
                                          const dync_value *args, const dync__tree_form *given,
                                          dync__tree_form *result);
DYNC__FN dync_status dync__control_fresh_all(int n, dync__tensor **leaf);
DYNC__FN dync_status dync__control_carry(const char *op, int n, dync__tensor **now,
                                         dync__tree_form *next);
#endif
