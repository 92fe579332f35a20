/* compile/make_graph.h: what make_graph.c and make_graph_run.c share. */
#ifndef DYNC__COMPILE_MAKE_GRAPH_H
#define DYNC__COMPILE_MAKE_GRAPH_H
#include "../dync.in.h"
#include "../capture/capture.h"

/* One recording. Ids, not addresses, are the keys of `node`: tensors may die and their memory be
 * used again during the trace. */
typedef struct dync__graph_maker {
    dync__wait wait;                /* first; on the heap, as the function may be left */
    dync__handler handler, *before; /* before: the bottom in force outside */
    /* what was in force outside */
    struct dync__graph_maker *outer;
    dync__handler *stack;
    bool compiling, grad_off, running;
    dync__symtab *outer_syms;
    dync_scope scope;
    dync__graph *graph;
    dync__map node; /* id of a tensor -> its node */
    /* fakes of tensors from elsewhere, by pairs (both owned) */
    DYNC__VEC(dync__tensor *) fake, real;
    dync_trace_mode mode;
    dync__symtab *syms; /* SYMBOLIC */
    int n_constants;
} dync__graph_maker;

/* make_graph.c */
DYNC__FN bool dync__maker_own(dync__graph_maker *m, const dync__tensor *t, dync__node *n);
DYNC__FN dync__node *dync__maker_known(const dync__graph_maker *m, const dync__tensor *t);
DYNC__FN dync__node *dync__maker_node(dync__graph_maker *m, dync__tensor *t);
DYNC__FN dync_status dync__maker_call(dync__handler *self, dync__opcall *c);
/* what dync_make_graph_mode said for the next graph */
DYNC__DATA_DECL DYNC__TLS dync_trace_mode dync__maker_mode;
/* the open recording, for names; NULL: none */
DYNC__DATA_DECL DYNC__TLS dync__graph_maker *dync__maker_now;
DYNC__DATA_DECL const dync__read_intercept dync__maker_reads;
#endif
