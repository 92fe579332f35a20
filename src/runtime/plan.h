/* runtime/plan.h: the inside of a plan, shared by plan.c (making), memplan.c and run.c. */
#ifndef DYNC__PLAN_H
#define DYNC__PLAN_H
#include "../base/pass.h"
#include "runtime.h"

/* Where a buffer is found: at place `at` of the call's inputs or its outputs, or that many bytes
 * into the arena, or into what the plan keeps. */
enum {
    DYNC__SOURCE_INPUTS = DYNC__SLOT_INPUT,
    DYNC__SOURCE_OUTPUTS = DYNC__SLOT_OUTPUT,
    DYNC__SOURCE_ARENA = DYNC__SLOT_TEMP,
    DYNC__SOURCE_KEPT = DYNC__SLOT_KEPT
};
/* at -1 in the arena: no memory */
typedef struct dync__plan_source {
    int32_t from;
    int64_t at;
} dync__plan_source;

/* What says that an index lies outside: a call of check_index, whose operand is buffer `at` of the
 * step. */
typedef struct dync__plan_bound {
    dync__kcall *check;
    int at;
} dync__plan_bound;

typedef struct dync__plan_step {
    dync__code *code; /* one of the two; both: code is the call's epilogue */
    const dync__kcall *call;
    void *device_code; /* instead of both: its driver's, where steps run on a device */
    int n;             /* operands and buffers */
    const int32_t *slot;
    const dync__plan_source *source; /* of each: its slot, resolved */
    /* what must hold of indices that kernels of the step read by, before it runs */
    int n_bounds;
    dync__plan_bound *bound;
    /* of a plan of all sizes: the kernel, where there is code for one set of sizes alone */
    const dync__kernel *late;
    /* takes random numbers; its code looks at the last bound as it reads by it */
    bool draws, looks;
    bool kept;   /* it ran when the plan was made */
    bool beside; /* it and the next one are calls that may run at one time */
} dync__plan_step;
struct dync__plan {
    dync__arena arena;
    char *image; /* of dync__slab_take: slots, steps and all they have; NULL: in the arena */
    size_t image_bytes;
    int n_slots, n_steps, device;
    const dync__driver *driver; /* the device's */
    dync__slot *slot;
    dync__plan_step *step;
    const char *name;
    int64_t arena_bytes; /* temporaries, then scratch of kernel calls */
    int64_t scratch_offset;
    /* bytes that a run puts aside first, so that it does not stop between writes to its inputs; 0:
     * it writes none */
    size_t reserve;
    bool writes; /* inputs */
    uint64_t rng_used;
    int threads;
    /* what steps made that run once: the bytes that stay, and while they run; NULL: none do */
    char *kept;
    size_t kept_stays, kept_bytes;
    struct dync__perf *perf; /* DYNC_LOG=perf; NULL: off */
};

/* When step i runs: two that may run at one time do so at that of the first. */
DYNC__INLINE int dync__plan_time(const dync__plan *p, int i)
{
    return i > 0 && p->step[i - 1].beside ? i - 1 : i;
}
/* Where in the plan's scratch memory call i has its own, and where that ends. */
DYNC__INLINE int64_t dync__plan_scratch_at(const dync__plan *p, int i)
{
    int before = dync__plan_time(p, i);
    return before < i ? ((int64_t)p->step[before].call->scratch_bytes + 63) / 64 * 64 : 0;
}
DYNC__INLINE int64_t dync__plan_scratch_end(const dync__plan *p, int i)
{
    return dync__plan_scratch_at(p, i) + (int64_t)p->step[i].call->scratch_bytes;
}

/* ---- pass.c: the steps of a builder on their way to a plan ------------------------------------
 */
typedef struct dync__slot_order dync__slot_order;
typedef struct dync__steps {
    dync__pb *pb;
    const dync__plan_options *opt;
    dync__fuse_step *at; /* room for those of the builder; what writes nothing is left to the caller
                            to drop */
    int n, next;         /* next: the pass that is tried next */
    bool merged;  /* form.c: accesses became equal by their numbers, and kernels were simplified */
    bool differs; /* convs.c: of symbolic sizes, something was refused that others may have */
    const dync__slot_order *order; /* check.c: what the steps did to each slot at first; NULL:
                                      checks are off */
} dync__steps;
/* of whoever has the plan, for logs */
DYNC__INLINE const char *dync__plan_options_name(const dync__plan_options *opt)
{
    return opt->name ? opt->name : "plan";
}
DYNC__FN dync_status dync__steps_begin(dync__steps *, dync__pb *, const dync__plan_options *);
DYNC__FN void dync__steps_print(dync__str *, const dync__steps *);
DYNC__FN dync_status dync__steps_fuse(dync__steps *);
/* form.c: a copy of steps that passes up to simplify have run over with symbolic sizes, with
 * value[i] for symbol i, in pb, whose arena the caller has set; value NULL: sizes stay
 * symbolic. DYNC_ERR_UNSUPPORTED, not recorded: some size is none. The form's steps outlive the
 * copy. */
enum { DYNC__FORM_LAST = DYNC__PASS_simplify };
#define DYNC__FORM_MOST ((int64_t)1 << 48)
DYNC__FN dync_status dync__steps_at(const dync__steps *form, const dync__symtab *,
                                    const int64_t *value, dync__pb *, dync__steps *out);
/* one kernel so, at any pass; NULL: no memory, or some size is none */
DYNC__FN dync__kernel *dync__kernel_at(const dync__kernel *, const dync__symtab *,
                                       const int64_t *value, dync__arena *);
/* plan.c: of steps that some passes have run over already; NULL + error */
DYNC__FN dync__plan *dync__plan_of(dync__steps *);
/* convs.c: after the schedule: calls stand before what follows them, convolutions take over what
 * follows them, and arrays go into blocks of channels. */
DYNC__FN dync_status dync__steps_convs(dync__steps *);
/* epilogue.c: what is scattered into lies where the result does */
DYNC__FN dync_status dync__steps_in_place(dync__steps *);

/* beside.c: a call that runs on one thread stands behind another that need not be over before it */
#if defined(DYNC_SMALL)
#define dync__steps_beside NULL
#else
DYNC__FN dync_status dync__steps_beside(dync__steps *);
#endif

/* ---- check.c: the verifiers of steps and plans ------------------------------------------------
 */
/* notes what the steps do, and checks them: they are as the operators were lowered */
DYNC__FN dync_status dync__steps_check_begin(dync__steps *);
DYNC__FN dync_status dync__steps_check_after(dync__steps *, int pass);
DYNC__FN dync_status dync__plan_check_after(dync__plan *, int pass);
/* links them: before dync__check_set, where no environment variable can turn them on */
DYNC__FN void dync__plan_checks_use(void);
/* DYNC_ERR_INTERNAL naming the step or the slot */
DYNC__FN dync_status dync__steps_check(const dync__steps *);
DYNC__FN dync_status dync__plan_check(const dync__plan *);

/* epilogue.c: the step that can be the epilogue of the kernel call at step `at`, or -1; the slot
 * that the call may then write instead of its own, or -1. */
/* what the step does to it: DYNC__BUF_IN, DYNC__BUF_OUT, both, 0 */
DYNC__FN int dync__step_mode(const dync__fuse_step *, int32_t slot);
/* calls go to just before the loops that read their result */
DYNC__FN void dync__epilogue_sink(dync__fuse_step *, int n);
DYNC__FN int dync__epilogue_find(const dync__pb *, const dync__fuse_step *, int n, int at);
/* Which steps touch a slot, and some that no longer do: who asks looks at them. */
typedef struct dync__step_use {
    int32_t step, next; /* -1: the last one */
} dync__step_use;
typedef struct dync__step_uses {
    int32_t *first; /* by slot, -1: none; NULL: not known, every step is looked at */
    dync__step_use *use;
    int n;
} dync__step_uses;
/* in the builder's arena; NULL in it: no memory. Each step may come to touch one slot more. */
DYNC__FN dync__step_uses dync__step_uses_of(const dync__pb *, const dync__fuse_step *, int n);
DYNC__FN void dync__step_uses_add(dync__step_uses *, int32_t slot, int step);
/* the call's result, by another step */
DYNC__FN bool dync__epilogue_wanted(const dync__pb *, const dync__step_uses *,
                                    const dync__fuse_step *, int n, int at, int with);
DYNC__FN int dync__epilogue_in_place(const dync__pb *, const dync__step_uses *,
                                     const dync__fuse_step *, int n, int at, int with);
/* follow.c: what a load reads: the number of an operand of the list (*same: it has one element
 * for a row), SUM: the sum itself; -1: it cannot be. */
enum { DYNC__FOLLOW_SUM = -2 };
typedef int (*dync__follow_load_fn)(void *user, const dync__inst *load, bool *same);
/* Instructions [0, n) of k behind what the list has, whose last value is the sum: at most so
 * many operators. False: they are no list. *store: the last one, where it is a store of the last
 * value. */
DYNC__FN bool dync__follow_build(dync__after *list, const dync__kernel *k, int n, int most,
                                 dync__follow_load_fn, void *user, const dync__inst **store);
/* Kernel k, the epilogue of a product that writes in the place of its result, as lists
 * for its tiles; NULL: it is none, or there is no memory. */
DYNC__FN const dync__kfollow *dync__follow_of(const dync__pb *, const dync__kcall *,
                                              const dync__kernel *);

/* The call that alone reads what the kernel at step `at` makes makes it itself, where the device
 * would rather: kernels `with` each step. */
DYNC__FN dync_status dync__prologue_take(const dync__pb *, const dync__driver *, dync__fuse_step *,
                                         int n, int at, const dync__kernel *(*with)[3]);

/* ---- plan_ways.c ---------------------------------------------------------------------- */
/* A plan being made. */
typedef struct dync__plan_maker {
    dync__plan *p;
    dync__pb *pb;
    const dync__plan_options *opt;
    dync__fuse_step *step;
    int n;
    dync__step_uses uses;
    /* code for all sizes: what wants numbers is left to plan_sized.c; NULL: for the sizes there
     * are */
    dync__code *(*sized)(const dync__kernel *);
    const bool *once;               /* kept.c: slots that no argument reaches; NULL: none */
    bool differs;                   /* so an epilogue is none that would be one */
    bool prologues, epilogues;      /* loops that run before and after a call, as a part of it */
    const dync__kernel *(*with)[3]; /* of each call: its epilogue, what makes operands 0 and 1 */
    int64_t scratch;                /* bytes that the calls want, one after the other */
} dync__plan_maker;
/* How steps become what runs. i: of the maker's steps. */
typedef struct dync__plan_way {
    dync_status (*take)(dync__plan_maker *, int i); /* may it go into another? it is empty then */
    dync_status (*kernel)(dync__plan_maker *, dync__plan_step *, int i);
    dync_status (*call)(dync__plan_maker *, dync__plan_step *, int i);
    void (*reserve)(dync__plan *);
} dync__plan_way;
DYNC__FN const dync__plan_way *dync__plan_way_of(const dync__driver *);
/* that of drivers that make code themselves, which name it (dync__driver.plans) */
DYNC__DATA_DECL const dync__plan_way dync__plan_away;
/* Does the code of the step, which may, look at the indices of the last bound itself? */
DYNC__FN bool dync__plan_looks(const dync__plan_step *);

/* ---- kept.c: steps that no argument reaches -------------------------------------------------- */
#if defined(DYNC_SMALL)
#define DYNC__KEPT_NONE 1
#define dync__kept_slots(pb, step, n) ((const bool *)NULL)
#define dync__steps_tables(s) DYNC_OK
#define dync__kept_find(p, once) (void)(once)
#define dync__kept_memory(p) DYNC_OK
#define dync__kept_run(p) DYNC_OK
#else
#define DYNC__KEPT_NONE 0
/* By slot: is it a temporary that no argument reaches? In the builder's arena; NULL: none is, or
 * there is no memory. */
DYNC__FN const bool *dync__kept_slots(const dync__pb *, const dync__fuse_step *, int n);
/* tables.c: before fusion; steps that make what is known then are gone */
DYNC__FN dync_status dync__steps_tables(dync__steps *);
/* which steps of the plan run once, by slots as before code was made */
DYNC__FN void dync__kept_find(dync__plan *, const bool *once);
/* after the temporaries have theirs */
DYNC__FN dync_status dync__kept_memory(dync__plan *);
/* recursion: run.c runs them as it runs all */
DYNC__FN dync_status dync__kept_run(dync__plan *);
#endif

/* ---- plan.c: what plans of all sizes are made by ------------------------------------------- */
/* Every pass, then every step; the plan has no memory yet. */
DYNC__FN dync_status dync__plan_steps(dync__plan_maker *, dync__steps *);
DYNC__FN bool dync__plan_writes_input(const dync__plan *, const dync__fuse_step *);
/* steps from first write to last use; first -1: unused */
typedef struct dync__life {
    int slot, first, last;
    int64_t bytes, offset;
} dync__life;
DYNC__FN dync_status dync__memplan(dync__arena *, dync__life *, int n, int64_t *total_bytes);
/* The same with less lost between them, in more time: for what is written once (exported C). */
DYNC__FN dync_status dync__memplan_tight(dync__arena *, dync__life *, int n, int64_t *total_bytes);
/* largest first: in this order they need not be sorted again */
DYNC__FN void dync__memplan_sort(dync__life *, int n);
DYNC__FN int dync__plan_temps(const dync__plan *, bool off, dync__life *);
DYNC__FN dync_status dync__plan_memory(dync__plan *, const dync__life *, int n, int64_t scratch);
DYNC__FN void dync__plan_call_free(const dync__kcall *);
DYNC__FN void dync__plan_log(const dync__plan *);

/* ---- plan_sized.c -------------------------------------------------------------------------- */
/* A plan for all sizes that the guards of its table hold for. */
typedef struct dync__plan_form {
    dync__arena arena;
    dync__symtab *syms;
    dync__sz_list list;
    dync__plan *plan;     /* its sizes are places of the list */
    dync__sz_image image; /* of what each set of sizes has of its own */
    /* of the image; source: of all steps */
    dync__slot *slot;
    dync__plan_step *step;
    dync__life *life; /* temporaries */
    int n_sources, n_lives;
    bool late;    /* some kernels are made for each set of sizes */
    bool differs; /* numbers may give other steps, which do the same */
} dync__plan_form;
/* Of steps that some passes have run over with symbolic sizes of the table, which it takes over,
 * by the sizes value[i] of one call. More sizes may be put into the list until dync__plan_form_end.
 * NULL: it cannot be, or there is no memory. */
DYNC__FN dync__plan_form *dync__plan_form_new(const dync__steps *, dync__symtab *);
/* false: it cannot be, after all */
DYNC__FN bool dync__plan_form_end(dync__plan_form *);
/* Then twice: begins the image, to which the caller adds what is its own; false: no memory. */
DYNC__FN bool dync__plan_form_lay(dync__plan_form *);
DYNC__FN void dync__plan_form_free(dync__plan_form *);
/* The plan for sizes by which the list has run: at[i] is the value of place i; *copy: of the image,
 * in the plan's arena. The form outlives it. DYNC_ERR_UNSUPPORTED, not recorded: some size is
 * none. */
DYNC__FN dync_status dync__plan_form_at(const dync__plan_form *, const int64_t *value,
                                        const int64_t *at, dync__plan **out, char **copy);
/* Do both run the same code on the same numbers? For checks. */
DYNC__FN bool dync__plan_same(const dync__plan *, const dync__plan *);

/* ---- perf.c, tune.c ------------------------------------------------------------------------ */
/* counts the work of each step */
DYNC__FN void dync__perf_begin(dync__plan *, const dync__fuse_step *);
/* NULL where no log is kept: a constant where none can be. */
#define DYNC__PERF(p) (DYNC__LEFT_OUT(DYNC_NO_STDIO) ? NULL : (p)->perf)
DYNC__FN void dync__perf_step(const dync__plan *, int step, uint64_t ns);
/* a run is over: perhaps a table */
DYNC__FN void dync__perf_run(const dync__plan *);
#if defined(DYNC_NO_TUNE)
#define dync__tuned_code(k, path) ((void)(path), dync__code_new(k))
#else
DYNC__FN dync__code *dync__tuned_code(const dync__kernel *, const char *path);
#endif
#endif
