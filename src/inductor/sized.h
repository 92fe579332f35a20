/* inductor/sized.h: graphs of symbolic sizes: their classes (sized.c) and plans (sized_plans.c). */
#ifndef DYNC__INDUCTOR_SIZED_H
#define DYNC__INDUCTOR_SIZED_H
#include "../runtime/plan.h"
#include "lower.h"

/* steps: of the lowerer's builder, through the passes of form.c; out: without a plan, symbolic */
typedef struct dync__inductor_class {
    struct dync__inductor_class *next;
    dync__lowerer lowerer;
    dync__plan_options options;
    dync__steps steps;
    dync__lowered out;
    dync__symtab *syms; /* its guards and ranges */
    bool constants;     /* sizes decide some */
    bool no_plans;      /* of all sizes */
    int n_used;         /* 0: every output is computed */
    bool used[];        /* which are: threads that found it go on while others want more or fewer */
} dync__inductor_class;
/* What a plan's table knows of a symbol. */
typedef struct dync__inductor_range {
    int64_t low, high;
    bool unbound; /* a value of 0 stands for none and is passed over */
} dync__inductor_range;
/* A plan of all sizes, of some of a class; out: without a plan, its sizes are places of the list.
 * symbol: their ranges, beside the plan: of many plans most are passed over by them. */
typedef struct dync__inductor_plan {
    struct dync__inductor_plan *next;
    int n_symbols;
    const dync__inductor_class *of;
    dync__plan_form *form;
    dync__lowered out;
    dync__inductor_range symbol[];
} dync__inductor_plan;
struct dync__inductor_sized {
    dync__mutex lock;
    dync__graph *graph; /* its own */
    dync__options options;
    dync__inductor_class *first, *left;     /* left: of other outputs wanted; they may be in use */
    dync__inductor_plan *plan, *plans_left; /* the same of both */
    int n, n_plans;
    bool refused;
    bool *used; /* NULL: every output is wanted */
    int n_out;
    int32_t uses; /* how often used has changed */
};

/* ---- sized.c ------------------------------------------------------------------------------- */
DYNC__FN void dync__class_free(dync__inductor_class *);
/* The class that the sizes belong to, made where it is new; NULL: none. */
DYNC__FN dync__inductor_class *dync__class_of(dync__inductor_sized *, const int64_t *value);
/* The steps of the class with numbers, and the rest of the way as for any graph. *merged: kernels
 * of them became simpler by their numbers. */
DYNC__FN dync_status dync__class_lower(dync__inductor_sized *, const dync__inductor_class *,
                                       const int64_t *value, dync__lowered *out, bool *merged);
#endif
