/* runtime/runtime.h: plans. After kernel/, before op/.
 *
 * A plan is what runs: slots (inputs, outputs, temporaries in one arena) and steps (fused kernels,
 * kernel calls) in order. Eager operators and compiled graphs are both plans: op/ lowers operators
 * into a builder (dync__pb), dync__plan_new turns it into a plan: fuse, simplify, schedule, memory
 * plan, code. */
#ifndef DYNC__RUNTIME_H
#define DYNC__RUNTIME_H
#include "../tensor/device.h"
#include "../codegen/codegen.h"
#include "../kernel/kernel.h"

/* KEPT: a temporary that is the plan's own, from a builder's TEMP (kept.c, tables.c) */
typedef enum {
    DYNC__SLOT_INPUT,
    DYNC__SLOT_OUTPUT,
    DYNC__SLOT_TEMP,
    DYNC__SLOT_KEPT
} dync__slot_kind;
typedef struct dync__slot {
    uint8_t kind, dtype;
    int32_t index;        /* of the input or output */
    int64_t size;         /* elements; -1 unknown (inputs) */
    int64_t arena_offset; /* TEMP: bytes, set by the memory plan; KEPT: into what the plan keeps */
#if !defined(DYNC_SMALL)
    const char *table; /* KEPT, while the plan is made: what is in it (tables.c) */
#endif
    bool host; /* one element in main memory, whatever the plan's device */
    const char *name;
} dync__slot;
/* one of the two */
typedef struct dync__step {
    dync__kernel *kernel;
    dync__kcall *call;
} dync__step;

/* Builder: slots and unfused steps in program order, all in the arena. */
typedef struct dync__pb {
    dync__arena *arena;
    DYNC__VEC(dync__slot) slot;
    DYNC__VEC(dync__step) step;
    int n_inputs, n_outputs;
    int device;         /* where it runs */
    uint64_t rng_used;  /* numbers drawn by one run */
    const char *origin; /* operator being lowered */
    /* the one of the user's graph that it is a part of, and its line; NULL: the same */
    const char *user_op;
    dync_loc at;
    /* what is lowered, for an operator with functions inside */
    const struct dync__node *node;
    /* op/: slot (one F64 or I64 element) that holds number argument i of the operator being
     * lowered; -1 or NULL: a constant */
    const int32_t *number_slot;
    bool fast_math;
    bool dense; /* not for others to read: a dense kernel gets row-major operands */
    /* sizes and strides may be symbolic, those of the table in force: steps for a form */
    bool sized;
    /* places of a side of the largest tile that convolutions may be computed by; 0: none */
    int winograd;
} dync__pb;
/* Is an operand on `device` one element in main memory that a plan elsewhere reads? */
DYNC__INLINE bool dync__pb_reads_host(const dync__pb *pb, int device)
{
    return dync__device_is(device, DYNC__DEV_HOST) && !dync__device_is(pb->device, DYNC__DEV_HOST);
}
/* index of the new slot; -1 no memory. INPUT/OUTPUT number themselves in order */
DYNC__FN int dync__pb_slot(dync__pb *, int kind, int dtype, int64_t size, const char *name);
/* buf ids are slot numbers */
DYNC__FN bool dync__pb_add_kernel(dync__pb *, dync__kernel *);
DYNC__FN bool dync__pb_add_call(dync__pb *, dync__kcall *);

struct dync__steps;
typedef struct dync__plan_options {
    bool no_fuse, no_memplan, fast_math;
    bool rolled; /* short rows stay loops: code that is read by others */
    bool keeps;  /* what no argument reaches is computed once (kept.c) */
    int threads; /* at most; 0: all there are */
    /* autotune: the file that remembers, "" none; NULL: not asked for */
    const char *name, *autotune;
    /* the passes over the steps: dync__steps_run, or DYNC__EAGER_PASSES */
    dync_status (*passes)(struct dync__steps *, int last);
} dync__plan_options;
/* pass.c: every pass up to this one that has not been tried yet */
DYNC__FN dync_status dync__steps_run(struct dync__steps *, int last_pass);
/* Schedule alone, without looking how kernels could become one: what makes them has folded and
 * shared what it emits. */
DYNC__FN dync_status dync__steps_brief(struct dync__steps *, int last_pass);
/* An operator by itself: in a small program fusion is linked by who compiles. */
#if defined(DYNC_SMALL)
#define DYNC__EAGER_PASSES dync__steps_brief
#else
#define DYNC__EAGER_PASSES dync__steps_run
#endif
/* Linked into a small program by who builds what they are for: checks of indices by which kernels
 * read; scatters where their result lies; loops that are the epilogue of a call. */
DYNC__FN void dync__plan_bounds(void);
DYNC__FN void dync__plan_scatters(void);
DYNC__FN void dync__plan_epilogues(void);
typedef struct dync__plan dync__plan;
/* NULL + error; takes nothing over: the builder's arena may die */
DYNC__FN dync__plan *dync__plan_new(dync__pb *, const dync__plan_options *);
/* data pointers: inputs at element 0 of the tensor the slot stands for, outputs at the start of
 * fresh storage. An input may be written (in-place). tensors: those behind the inputs, by which
 * kernels know what is unchanged since the last run; or NULL. Thread safe; scratch comes from the
 * calling thread's cache. */
DYNC__FN dync_status dync__plan_run(const dync__plan *, struct dync__tensor *const *tensors,
                                    void *const *inputs, void *const *outputs);
DYNC__FN void dync__plan_free(dync__plan *);
DYNC__FN int64_t dync__plan_arena_bytes(const dync__plan *);
DYNC__FN int64_t dync__plan_own_bytes(const dync__plan *); /* of itself */
/* machine code of its loops, but for what has been counted */
DYNC__FN int64_t dync__plan_code_bytes(const dync__plan *, dync__map *counted);
DYNC__FN int dync__plan_step_count(const dync__plan *);
/* steps, fused loops, memory */
DYNC__FN void dync__plan_dump(dync__str *, const dync__plan *);
#endif
