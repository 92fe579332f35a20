/* inductor/control.h: what control.c, which prepares the steps of operators with functions inside,
 * shares with control_run.c, which runs them. */
#ifndef DYNC__INDUCTOR_CONTROL_H
#define DYNC__INDUCTOR_CONTROL_H
#include "../graph/control.h"
#include "inductor.h"

enum { DYNC__CTL_RESULTS = 32 };
/* What functions of symbolic sizes have for all of them: for each its plans, or, where there is no
 * size in it, the one. A plan form's step owns it. */
typedef struct dync__ctl_inside {
    dync__inductor_sized *sized[2];
    dync__lowered one[2];
} dync__ctl_inside;
typedef struct dync__ctl { /* a step's own */
    /* cond: if true, if false; else the body, and the condition; [i] is own[i] or of all sizes */
    const dync__lowered *plan[2];
    dync__lowered own[2];
    dync__graph *graph[2]; /* that own[i] is of, where its sizes were symbolic */
    int n_plans;
    int n_in, n_xs, n_more, n_out;
    bool reverse;
    int64_t length, most;
    size_t bytes[DYNC__CTL_RESULTS]; /* of one value: carried, or a slice of what is stacked */
    size_t place[DYNC__CTL_RESULTS]; /* of carried values in scratch */
    /* in scratch: of results that stay inside, where the operator gives others that leave */
    size_t spare[2][DYNC__CTL_RESULTS];
    size_t *x_bytes; /* n_xs */
    size_t table;    /* in scratch: dync__ctl_tables */
} dync__ctl;

/* In scratch: tables of what the functions take, and of where what is scanned begins. */
typedef struct dync__ctl_tables {
    void **in, **xs;
    struct dync__tensor **tensor; /* that it is, or NULL: weights are kept packed by these */
} dync__ctl_tables;

DYNC__INLINE dync__ctl_tables dync__ctl_tables_at(const dync__ctl *w, void *scratch)
{
    size_t n = (size_t)(w->n_in + w->n_xs + w->n_more);
    void **in = (void **)(void *)((char *)scratch + w->table);
    dync__ctl_tables t = {in, in + n, (struct dync__tensor **)(void *)(in + n + w->n_xs)};
    return t;
}
/* ---- control_run.c --------------------------------------------------------------------------- */
DYNC__FN dync_status dync__ctl_cond(const dync__kcall *k, void *const *data, void *scratch);
DYNC__FN dync_status dync__ctl_while(const dync__kcall *k, void *const *data, void *scratch);
DYNC__FN dync_status dync__ctl_scan(const dync__kcall *k, void *const *data, void *scratch);
#endif
