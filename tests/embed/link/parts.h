/* A program in parts: what compiles, what has gradients, and main, in files of their own
 * (links_by_use of ../run.sh). WITH_COMPILES, WITH_TRAINS, WITH_RULES: which a program has. */
#ifndef PARTS_H
#define PARTS_H
#include "dync.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef dync_tensor *function(dync_tensor *);
/* compiles.c; UNNAMED: as where a compiler or a linker loses the name that dync_compile defines */
dync_compiled *compiled(function *f);
dync_compiled *compiled_whole(function *f);
int compiles(void);
/* trains.c */
int trains(void);
/* rules.c */
int rules(void);
/* both.c */
int before(void);
int after(void);
int steps(void);
int missing(void);
int is_near(dync_tensor *x, double want); /* main.c: every element */
#ifdef __cplusplus
}
#endif
#endif
