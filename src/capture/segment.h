/* capture/segment.h: segments, which are graphs that a backend compiled, and the callables that run
 * them. After entry.h, before capture.h. */
#ifndef DYNC__CAPTURE_SEGMENT_H
#define DYNC__CAPTURE_SEGMENT_H
#include "entry.h"

/* segment.c, segment_run.c */
DYNC__FN dync__segment *dync__segment_find(dync__compiled *, dync__graph *, uint64_t hash,
                                           dync__tensor *const *inputs);
DYNC__FN dync__segment *dync__segment_compile(dync__compiled *, dync__graph *taken, uint64_t hash,
                                              uint64_t site, dync__tensor *const *inputs,
                                              dync__lift *taken_or_null);
/* not compiled, not kept: the interpreter runs it */
DYNC__FN dync__segment *dync__segment_plain(dync__graph *taken);
/* an output: is it used by the graph itself; does it leave before its uses, now; make it so */
DYNC__FN bool dync__segment_uses(const dync__segment *, int out);
DYNC__FN bool dync__segment_is_apart(const dync__segment *, int out);
DYNC__FN dync_status dync__segment_part(dync__compiled *, dync__segment *, int out,
                                        dync__tensor *const *inputs);
/* a graph operator by operator: a callable's run */
DYNC__FN dync_value dync__segment_interpret(void *graph, const dync_value *args, int nargs);
DYNC__FN dync_status dync__segment_run_plain(dync__segment *, int n_in, dync__tensor *const *in,
                                             dync__tensor **out);
DYNC__FN dync_status dync__segment_run(dync__segment *, int n_in, dync__tensor *const *in,
                                       dync__tensor **out /* owned or NULL */);
DYNC__FN dync_status dync__segment_run_into(dync__segment *, int n_in, dync__tensor *const *in,
                                            dync__tensor **out, dync__tensor *const *into);
/* numbers: the graph behind it takes symbolic numbers as numbers, which stand among `in` as
 * tensors; else all its inputs are tensors. */
DYNC__FN dync_status dync__callable_run(const dync_callable *, bool numbers, int n_in,
                                        dync__tensor *const *in, int n_out, dync__tensor **out);
DYNC__FN dync_status dync__segment_narrow(dync__segment *, const bool *used);
DYNC__FN uint64_t dync__graph_hash(const dync__graph *);
DYNC__FN uint64_t dync__graph_likeness(const dync__graph *);
DYNC__FN bool dync__graph_equal(const dync__graph *, const dync__graph *);
/* differ: the places of other numbers */
DYNC__FN bool dync__graph_alike(const dync__graph *, const dync__graph *,
                                dync__lift *differ_or_null);
/* by memory; the first n */
DYNC__FN bool dync__segment_fits(const dync__segment *, int n, dync__tensor *const *inputs);
DYNC__FN void dync__lift_free(dync__lift *);
DYNC__FN void dync__segment_free(dync__segment *);

/* ---- callables ------------------------------------------------------------------------------- */
/* A callable whose run is this one takes tensors without boxing: the fast way for the library's own
 * backends. */
/* run_into, where there is one, may write results where the caller wants them: into[i] is NULL or a
 * tensor on memory that nothing else of the call lies on. Where it has the result's form it
 * receives it, and out[i] is that tensor. */
typedef dync_status (*dync__run_into)(void *state, int n_in, dync__tensor *const *in, int n_out,
                                      dync__tensor **out, dync__tensor *const *into);
typedef struct dync__raw_callable {
    dync_status (*run)(void *state, int n_in, dync__tensor *const *in, int n_out,
                       dync__tensor **out);
    void *state;
    dync__run_into run_into;
} dync__raw_callable;
/* What code takes: bytes of machine code, of the largest arena that a run of it has, of plans. */
typedef struct dync__code_size {
    int64_t code, arena, plans;
    dync__map counted; /* machine code, by address; whoever asked frees it */
} dync__code_size;
/* state begins with a dync__raw_callable and n_out */
DYNC__FN dync_value dync__raw_run(void *state, const dync_value *args, int nargs);
/* Linked by who may hold a callable of the library's, and by who runs others. */
DYNC__FN void dync__raw_calls(void);
DYNC__FN void dync__callable_boxes(void);
DYNC__FN dync_status dync__output_check(const dync__node *, const dync__tensor *, int i,
                                        bool strides);
DYNC__FN bool dync__layout_fits(const dync__layout *want, const dync__layout *lay, bool strides);
/* form: the graph's result; its tensors are the outputs in order */
typedef struct dync__raw_state {
    dync__raw_callable raw;
    int n_out;
    const dync__arg *form;
    const dync__graph *compiled_from;
    void (*measure)(const void *state, dync__code_size *); /* adds to it; or NULL */
} dync__raw_state;

/* what the library's own code takes; of other backends' nothing is known */
DYNC__FN void dync__callable_measure(const dync_callable *, dync__code_size *);
DYNC__FN dync_value dync__boxed_value(dync__tensor *t);
#endif
