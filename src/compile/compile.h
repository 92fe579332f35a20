/* compile/compile.h: what compile.c gives the files after it. */
#ifndef DYNC__COMPILE_H
#define DYNC__COMPILE_H
#include "../dync.in.h"
#include "../capture/capture.h"

/* dync_compile for another public function, which messages about its arguments name as `by`. NULL +
 * error. */
DYNC__FN dync__compiled *dync__compile_by(const char *by, dync_callee, const char *fn_name,
                                          dync_compile_options);
#endif
