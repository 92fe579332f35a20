/* aot/code.h: what runtime.c (forward) and backward.c (its autograd node) share. */
#ifndef DYNC__AOT_CODE_H
#define DYNC__AOT_CODE_H
#include "aot.h"

typedef struct dync__aot_code {
    dync__raw_state head;                /* first: what dync__raw_run reads */
    uint64_t id;                         /* never used again */
    int32_t refs;                        /* the callable, and every autograd node alive */
    dync__aot_graphs g;
    dync__inner fw, bw;
    int n_fw_in, n_fw_out;
    const dync_node **tangent;           /* placeholders of the backward graph, by tangent */
    int n_tangents;
    dync_graph *original;                /* the user's: its result's form is read at every call */
    dync_graph *graph;                   /* the same with tensors for symbolic numbers */
    bool plain;                          /* not functionalised: interpreted as it is */
    bool turns_grad_on;                  /* somewhere inside: outputs have history though it may begin without grad mode */
    bool double_backward;
} dync__aot_code;

DYNC__FN void dync__aot_code_unref(dync__aot_code *);
DYNC__FN dync_status dync__graph_eval_flat(dync_graph *, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out);

/* Where the generator stood when forward ran. */
typedef struct dync__aot_random { uint64_t seed, offset; } dync__aot_random;
/* Makes outputs (mutated values, then values) children of one node over the actual inputs. saved: as forward gave them. */
DYNC__FN dync_status dync__aot_attach(dync__aot_code *, int n_actual, dync__tensor *const *actual, dync__tensor *const *outputs,
                                      dync__tensor *const *saved, dync__aot_random);
#endif
