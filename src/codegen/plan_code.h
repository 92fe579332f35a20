/* codegen/plan_code.h: what of a kernel becomes machine code, and in what shape: loops, blocks,
 * lists, streams. plan_code.c decides on top of plan_loops.h, jit.c asks it; it knows no
 * instruction set but by the table of target.h. */
#ifndef DYNC__PLAN_CODE_H
#define DYNC__PLAN_CODE_H
#include "jit.h"
#if DYNC__JIT

/* Loops [from, to) merged where every access allows it; an inner one's own loop number stands for
 * it. */
typedef struct dync__jit_loops {
    int n;
    int64_t extent[DYNC__GEN_DIMS];
    int loop[DYNC__GEN_DIMS];
    bool too_many;
} dync__jit_loops;

/* Ways to compile a kernel: as it is, with non-temporal stores, by squares. */
enum { DYNC__JB_PLAIN, DYNC__JB_NONTEMPORAL, DYNC__JB_SQUARE };
typedef struct dync__jb { /* one kernel being compiled */
    dync__loop_plan *b;
    dync__gen *g;
    dync__jit_loops rows, inner; /* those with a counter; the lane loop apart */
    int lane_loop;               /* -1: one lane */
    int64_t lanes;
    int way;              /* DYNC__JB_* */
    dync__jit_loops over; /* in blocks: the row loops but the one that rows has then */
    bool blocks;
} dync__jb;

DYNC__INLINE int64_t dync__jb_stride(const dync__jb *j, int access, int loop)
{
    return loop < 0 ? 0 : j->b->k->access.at[access].stride[loop];
}

/* ---- plan_code.c ----------------------------------------------------------------------------- */
DYNC__FN bool dync__jb_is_code(const dync__loop_plan *,
                               int inst); /* are there instructions for it? */
/* Loops and modes; the reason where the interpreter does better. */
DYNC__FN const char *dync__jb_plan(dync__jb *);
DYNC__FN void dync__jb_streams(dync__jb *); /* and reductions */
DYNC__FN void dync__jb_width(dync__jb *);   /* lanes, and the width of vectors */
DYNC__FN bool dync__jb_lists(dync__jb *);   /* which instructions each list has; false: no memory */
/* Are the arrays larger than caches? Marks what is stored past them, if that is the way. */
DYNC__FN bool dync__jb_is_large(const dync__jb *);
DYNC__FN const char *dync__jb_refuses(const dync__jb *); /* why there is no code for it; NULL */
DYNC__FN bool dync__jb_is_tall(const dync__jb *);
DYNC__FN bool dync__jb_is_square(const dync__jb *);
DYNC__FN int dync__jb_strip(const dync__jb *); /* rows that go through phases together; 0 */
/* What kernels of one machine code have in common. */
DYNC__FN void dync__jb_key(const dync__jb *, dync__str *key);
/* ---- jit_part.c ------------------------------------------------------------------------------ */
DYNC__FN int64_t dync__jb_keep_bytes(const dync__jb *, int inst, int unroll);
/* The kernel's own part beside its code; NULL: no memory. */
DYNC__FN dync__jit *dync__jb_finish(dync__jb *, dync__jit_form *);
/* ---- plan_streams.c -------------------------------------------------------------------------- */
DYNC__FN int dync__jb_transposes(const dync__jb *j, int i, int loop, int64_t extent);
#endif
#endif
