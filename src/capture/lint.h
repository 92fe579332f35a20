/* capture/lint.h: the tape of a traced function, which lint compares with a second trace. */
#ifndef DYNC__LINT_H
#define DYNC__LINT_H
#include "trace.h"

/* Arguments are kept as text: "0.37", "[2, 3]"; a tensor as "%12.0" (row 12, output 0),
 * "@L1[s0, 3]" (an argument) or "@7" (the one with id 7). */
enum {
    DYNC__LINT_BRANCH = -1,
    DYNC__LINT_CONSTANT = -2,
    DYNC__LINT_RESULT = -3,
    DYNC__LINT_BREAK = -4
};

typedef struct dync__lint_row {
    int op; /* of the table, or one of the above */
    dync_loc at;
    int nargs;
    const char *arg[DYNC__MAX_ARGS];
    int64_t outcome; /* of a branch */
    uint64_t data;   /* hash of a constant's elements */
} dync__lint_row;

struct dync__lint {
    dync__arena arena;
    const dync__cache_entry *entry; /* whose trace is on tape, then the scratch one */
    DYNC__VEC(dync__lint_row) row;
    dync__map made; /* id of a fake -> row * DYNC__MAX_OUT + output */
    int32_t calls;  /* that the entry has served, of an entry without opaque breaks */
    int at;         /* row that the second trace comes to */
    bool second, told, failed;
    bool taped;  /* the trace began again under the tape (step.c) */
    bool over;   /* the first break has been passed: no more rows */
    bool salted; /* the second trace's symbolic sizes are other tokens */
    struct dync__lint *outer;
};

DYNC__FN dync__lint *dync__lint_swap(dync__lint *now);
/* the rows of dync__lint_calls */
DYNC__FN dync__lint *dync__lint_begin(const dync__cache_entry *);
DYNC__FN dync__lint *dync__lint_resume(dync__cache_entry *);
DYNC__FN void dync__lint_resumed(dync__lint *);
DYNC__FN void dync__lint_free(dync__lint *);
DYNC__FN void dync__lint_op(const dync__tracer *, const dync__opcall *);
DYNC__FN void dync__lint_constant(const dync__tracer *, const dync__tensor *real,
                                  const dync__tensor *fake);
DYNC__FN void dync__lint_branch(const dync__tracer *, int64_t outcome);
DYNC__FN bool dync__lint_answers(const dync__tracer *, int64_t *outcome);
DYNC__FN uint64_t dync__lint_salt(const dync__tracer *);
DYNC__FN void dync__lint_restart(const dync__tracer *);
DYNC__FN void dync__lint_result(const dync__tracer *, const dync_value *result);
DYNC__FN bool dync__lint_stops(const dync__tracer *, const char *reason);
DYNC__FN void dync__lint_tell_row(dync__lint *, const dync__lint_row *was, const dync__lint_row *);
#endif
