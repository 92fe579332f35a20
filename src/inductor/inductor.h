/* inductor/inductor.h: functional graphs to plans. After aot/, before backend/. */
#ifndef DYNC__INDUCTOR_H
#define DYNC__INDUCTOR_H
#include "../aot/aot.h"

/* input >= 0: an alias of that input; else a tensor on the plan's output */
typedef struct dync__lowered_out {
    int input;
    int output;
    uint8_t dtype;
    uint16_t device;
    dync__layout lay;
} dync__lowered_out;
typedef struct dync__lowered {
    dync__arena arena;
    dync__plan *plan;
    int n_in, n_out, n_storages, device;
    dync__lowered_out *out; /* of the graph; output -2: not wanted */
    size_t *storage_bytes;  /* of each output of the plan */
    int *owner;             /* the only output that lies there, or -1 */
} dync__lowered;
/* lower.c. used NULL: every output is wanted. On failure *out is empty. */
DYNC__FN dync_status dync__inductor_lower(dync__graph *, const bool *used,
                                          const dync__options *options, dync__lowered *out);
/* The same without a plan: the unfused steps in pb, on an arena that is filled; for printing code.
 * Every output is wanted. sized: sizes are those of the thread's table. */
DYNC__FN dync_status dync__inductor_steps(dync__graph *, bool sized, dync__arena *, dync__pb *,
                                          dync__lowered *out);
DYNC__FN void dync__lowered_free(dync__lowered *);
/* where every node is, apart from 0-dim inputs in main memory; -1: on several */
DYNC__FN int dync__graph_device(const dync__graph *);
/* sized.c: a graph of symbolic sizes; lower: for these values of its symbols, DYNC_ERR_UNSUPPORTED
 * where it must be compiled with numbers. narrow: from now on for these outputs, which is another
 * of its uses, counted; wants: it is so already, and was when there were so many. Thread safe. */
typedef struct dync__inductor_sized dync__inductor_sized;
DYNC__FN dync_status dync__inductor_sized_new(dync__graph *, const dync__options *,
                                              dync__inductor_sized **out);
/* the same of a function inside, whose symbols are those of the table; its results stay apart */
DYNC__FN dync_status dync__inductor_sized_inside(dync__graph *, const dync__symtab *,
                                                 const dync__options *, dync__inductor_sized **out);
DYNC__FN dync_status dync__inductor_sized_lower(dync__inductor_sized *, const int64_t *value,
                                                dync__lowered *out);
DYNC__FN dync_status dync__inductor_sized_narrow(dync__inductor_sized *, const bool *used);
DYNC__FN bool dync__inductor_sized_wants(dync__inductor_sized *, const bool *used, int32_t uses);
DYNC__FN int32_t dync__inductor_sized_uses(dync__inductor_sized *);
DYNC__FN void dync__inductor_sized_free(dync__inductor_sized *);
/* What compiled code has for abilities of operators (api/link.h), put in place: concatenations in
 * parts, operators that write, operators that nobody looks into. */
DYNC__FN void dync__inductor_use_joins(void);
DYNC__FN void dync__inductor_use_writes(void);
DYNC__FN void dync__inductor_use_opaque(void);
DYNC__FN void dync__inductor_use_narrow(void); /* inductor.c */
DYNC__FN void dync__inductor_use_measure(void);
DYNC__FN void dync__inductor_use_all(void); /* and aot's for writes and numbers */
/* opaque.c: a node of an operator that nobody looks into, as a kernel call; the plan borrows the
 * node. */
DYNC__FN bool dync__opaque_is(const dync__kcall *);
DYNC__FN dync_status dync__opaque_lower(dync__pb *, const dync__node *, int n_in,
                                        const dync__operand *in, const dync__operand *out);
/* recursion: a node with functions inside, as a step that chooses or repeats plans (control.c):
 * those are lowered, too */
DYNC__FN dync_status dync__l_control(dync__pb *, const dync__opcall *, const dync__operand *in,
                                     const dync__operand *out);
DYNC__FN bool dync__control_is(const dync__kcall *); /* such a step */
/* inductor.c: an inner compiler. user not NULL: what lies on a GPU is run as a recorded graph, as
 * by the option "cudagraphs". */
DYNC__FN dync_status dync__inductor_all_sizes(void *user, dync__graph *, const dync__options *,
                                              dync__inner_sized *out);
DYNC__FN dync_status dync__inductor_compile(void *user, dync__graph *, bool is_backward,
                                            const dync__options *options, dync__inner *out);
#endif
