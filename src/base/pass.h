/* base/pass.h: the passes of the compiler, in the order in which they run, and the checks between
 * them. After log.c and option.c; the layers above run the rows of their own IR.
 *
 * One row a pass: name, IR, function, whether it may be left out (DYNC_DISABLE=name,name), what it
 * does. GRAPH, STEPS and KERNEL rows are run by their functions (graph/pass.c, runtime/pass.c);
 * a STAGE is a call among others, which asks dync__pass_on where it may be left out. Where checks
 * are on (DYNC_CHECK_IR=1, or DYNC_ASSERT defined) what each pass leaves behind goes through the
 * verifier of its IR before anything else sees it. */
#ifndef DYNC__PASS_H
#define DYNC__PASS_H
#include "base.h"

/* clang-format off */
#define DYNC__PASSES(X)                                                                               \
    X(capture,     STAGE,  none,                   ALWAYS,   "a function becomes graphs")             \
    X(whole,       STAGE,  none,                   OPTIONAL, "an eager call made of several is one plan") \
    X(narrow,      STAGE,  none,                   OPTIONAL, "results that nobody reads are not computed") \
    X(attention,   STAGE,  none,                   OPTIONAL, "attention written out becomes one operator") \
    X(qdq,         STAGE,  none,                   OPTIONAL, "ONNX: by dequantized weights is by their bytes") \
    X(joint,       STAGE,  none,                   ALWAYS,   "the functional graph of forward and backward") \
    X(views,       STAGE,  none,                   OPTIONAL, "a view that shows an earlier value is it") \
    X(dce,         GRAPH,  dync__graph_dce,        OPTIONAL, "nodes that nobody reads go")            \
    X(cse,         GRAPH,  dync__graph_cse,        OPTIONAL, "equal nodes become one")                \
    X(rolls,       GRAPH,  dync__graph_rolls,      OPTIONAL, "rolls of a value are slices of it between borders") \
    X(slices,      GRAPH,  dync__graph_slices,     OPTIONAL, "sums of slices' gradients, part by part") \
    X(mincut,      STAGE,  none,                   OPTIONAL, "backward computes again what is cheap") \
    X(tangents,    STAGE,  none,                   OPTIONAL, "backward again for gradients of another form") \
    X(partition,   STAGE,  none,                   ALWAYS,   "forward and backward as graphs of their own") \
    X(parts,       STAGE,  none,                   OPTIONAL, "concatenations, part by part in their reader") \
    X(reinplace,   STAGE,  none,                   OPTIONAL, "writes go where their base lies") \
    X(first_alone, STAGE,  none,                   OPTIONAL, "a program's first sizes are compiled as numbers") \
    X(all_sizes,   STAGE,  none,                   OPTIONAL, "symbolic sizes are lowered once for many") \
    X(sized_plans, STAGE,  none,                   OPTIONAL, "and become plans once, with their machine code") \
    X(over,        STAGE,  none,                   OPTIONAL, "new values of inputs are written into them") \
    X(lower,       STAGE,  none,                   ALWAYS,   "operators become loops and kernel calls") \
    X(dense,       STAGE,  none,                   OPTIONAL, "what a kernel would copy first, loops copy") \
    X(tables,      STAGE,  none,                   OPTIONAL, "small tables that no argument reaches are computed") \
    X(fuse,        STEPS,  dync__steps_fuse,       OPTIONAL, "loops become one nest")                 \
    X(simplify,    KERNEL, dync__kernel_simplify,  OPTIONAL, "constants, equal and dead instructions go") \
    X(unroll,      KERNEL, dync__kernel_unroll,    OPTIONAL, "short rows are written out")            \
    X(schedule,    KERNEL, dync__kernel_schedule,  OPTIONAL, "the order of a kernel's loops")         \
    X(convs,       STEPS,  dync__steps_convs,      OPTIONAL, "what follows a convolution joins it") \
    X(in_place,    STEPS,  dync__steps_in_place,   OPTIONAL, "scatters write where their result lies") \
    X(beside,      STEPS,  dync__steps_beside,     OPTIONAL, "calls on one thread run two at a time") \
    X(prologue,    STAGE,  none,                   OPTIONAL, "a product computes its operand itself (devices)") \
    X(epilogue,    STAGE,  none,                   OPTIONAL, "what follows a product runs on its rows") \
    X(rolled,      STAGE,  none,                   OPTIONAL, "exported recurrent layers are loops over steps") \
    X(follow,      STAGE,  none,                   OPTIONAL, "a few operators of it run in the product's tiles") \
    X(index_check, STAGE,  none,                   OPTIONAL, "indices are checked by the loops that read them") \
    X(kept,        STAGE,  none,                   OPTIONAL, "what no argument reaches is computed once") \
    X(memory,      STAGE,  none,                   OPTIONAL, "temporaries share memory")
/* clang-format on */
enum {
#define DYNC__X(name, ir, fn, may, what) DYNC__PASS_##name,
    DYNC__PASSES(DYNC__X)
#undef DYNC__X
        DYNC__N_PASSES
};

DYNC__FN const char *dync__pass_name(int pass);
/* of row i; false: it always runs */
DYNC__FN bool dync__pass_optional(int pass);
/* not left out by DYNC_DISABLE or dync_config_set("disable") */
DYNC__FN bool dync__pass_on(int pass);
/* "fuse,cse" as DYNC_DISABLE; replaces the choice; NULL or "": every pass runs. DYNC_ERR_VALUE,
 * naming those there are, for a name that is none or no optional one: nothing changes. */
DYNC__FN dync_status dync__pass_disable(const char *names);
/* DYNC_LOG=passes: "[passes] name of: text" */
#if defined(DYNC_NO_STDIO)
#define dync__pass_log(pass, of, ...) ((void)(pass), (void)(of), DYNC__UNSAID(__VA_ARGS__))
#else
DYNC__FN void dync__pass_log(int pass, const char *of, const char *fmt, ...) DYNC__PRINTF(3, 4);
#endif

/* How an IR is checked and printed; its name, for the message. */
typedef struct dync__ir_kind {
    const char *name;
    dync_status (*check)(void *ir);
    void (*print)(dync__str *, const void *ir);
} dync__ir_kind;
/* Are they on? By DYNC_CHECK_IR or dync_config_set("check_ir"), else where DYNC_ASSERT is. */
DYNC__FN bool dync__check_on(void);
DYNC__FN void dync__check_set(bool on);
/* A border: after `pass`, is the IR what it must be? Where it is not: DYNC_ERR_INTERNAL naming
 * pass, IR and fault, the IR in the log; DYNC_ASSERT fails, unless checks were asked for. Memory
 * that runs out is DYNC_ERR_MEMORY. DYNC_OK where checks are off. */
DYNC__FN dync_status dync__check_after(int pass, const dync__ir_kind *, void *ir);
#endif
