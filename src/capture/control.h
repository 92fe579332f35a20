/* capture/control.h: functions inside operators on their way into a graph. After trace.h. */
#ifndef DYNC__CAPTURE_CONTROL_H
#define DYNC__CAPTURE_CONTROL_H
#include "../graph/control.h"
#include "trace.h"

/* A nested value taken apart: its form in preorder (a list: how many items; a tensor or a plain
 * value: below 0) and its leaves. */
enum { DYNC__TREE_TENSOR = -1, DYNC__TREE_PLAIN = -2 };
typedef struct dync__tree_form {
    DYNC__VEC(int) form;
    DYNC__VEC(dync__tensor *) leaf; /* owned */
    DYNC__VEC(dync_value) plain;    /* numbers and the like, where they are allowed */
} dync__tree_form;
/* plain: values that are no tensors stay what they are; else an error that begins with `what` */
DYNC__FN dync_status dync__tree_open(dync__tree_form *, dync_value, bool plain, const char *what);
/* the same with other tensors, borrowed; in the scope */
DYNC__FN dync_value dync__tree_build(const dync__tree_form *, dync__tensor *const *leaf);
DYNC__FN bool dync__tree_alike(const dync__tree_form *, const dync__tree_form *);
DYNC__FN void dync__tree_free(dync__tree_form *);

/* One function being traced: a handler on top of the stack. */
typedef struct dync__inside {
    dync__handler handler;
    dync__graph *graph;
    uint64_t id;
    const char *op, *part;           /* "cond", "then_fn": for messages */
    char name[64];                   /* of both */
    int n_given;                     /* inputs that are operands; those behind them are lifted */
    DYNC__VEC(dync__tensor *) outer; /* what each input is outside (owned); NULL: a slice of it */
    DYNC__VEC(dync__tensor *) stand; /* its fake (owned) */
    DYNC__VEC(dync__tensor *) made;  /* fakes that the function made (owned) */
    dync__tree_form result;          /* what it gave */
} dync__inside;

/* The functions of one operator while they are traced. Those that are left (longjmp) are found and
 * ended as traces are (tracer.h). */
typedef struct dync__insides {
    dync__wait wait;       /* first */
    dync__inside *running; /* NULL: none */
    const char *inferring; /* of the trace around it, as the two flags */
    bool inferring_inside, grad_off;
    dync__tree_form operands[2]; /* borrowed; freed here where that frame is gone */
    dync__inside s[2];
} dync__insides;
/* operands: they change no more. NULL and an error: no memory */
DYNC__FN dync__insides *dync__insides_begin(const dync__tree_form *operands,
                                            const dync__tree_form *more_or_null);
DYNC__FN void dync__insides_end(dync__insides *);
DYNC__FN dync_status dync__inside_begin(dync__inside *, const char *op, const char *part,
                                        const char *graph_name);
/* one more operand, as the function sees it. slice: without its first dim */
DYNC__FN dync_status dync__inside_operand(dync__inside *, dync__tensor *outer, bool slice);
/* the tensors that an earlier function of the same operator lifted */
DYNC__FN dync_status dync__inside_lift(dync__inside *, dync__tensor *outer, dync__tensor **stand);
/* runs it on values over the stand-ins; *result is its form and leaves */
DYNC__FN dync_status dync__inside_run(dync__insides *, dync__inside *, const dync_callee *,
                                      int nargs, const dync_value *args, dync__tree_form *result);
/* its results, in order */
DYNC__FN dync_status dync__inside_output(dync__inside *, int n, dync__tensor *const *leaf);
/* control.c: two functions over the same operands, each begun; the second one's inputs are all that
 * both take */
DYNC__FN dync_status dync__control_two(dync__insides *, const dync_callee *const fn[2],
                                       const dync__tree_form *operands);
#endif
