/* capture/trace.h: what the files that trace a call do for one another, by file. */
#ifndef DYNC__TRACE_H
#define DYNC__TRACE_H
#include "tracer.h"

DYNC__FN void dync__trace_unwind(dync__wait *, const dync__wait *rest, bool quiet); /* call.c */

/* number.c */
DYNC__FN const char *dync__number_text(const dync__tracer *, const dync__tensor *fake,
                                       dync_value *plain, const char **source, bool *cell);
/* NULL: none of this trace */
DYNC__FN dync__tensor *dync__number_fake_of(const dync__tracer *, const void *symbol);
/* -1: none of this trace's */
DYNC__FN int dync__number_index(const dync__tracer *, const void *symbol);
DYNC__FN dync_value dync__number_plain(const dync__number *);
DYNC__FN dync__number *dync__number_find(const dync__tracer *t, const void *p);
/* symbol.c: an element of a tensor of this trace as a number; none + error */
DYNC__FN dync_value dync__number_item(dync__tracer *t, dync__tensor *x);
/* effects.c */
DYNC__FN dync_status dync__trace_grad_sum(dync__tracer *, dync__tensor *fake, bool outside,
                                          bool keep);
DYNC__FN bool dync__trace_grad_is_outside(dync__tracer *, const dync__tensor *fake);
/* hooked.c */
DYNC__FN dync_status dync__hooked_add(dync__tracer *, dync__tensor *x, dync_hook, void *user,
                                      int id);
/* false: it is none of them */
DYNC__FN bool dync__hooked_remove(dync__tracer *, int id);
/* an error where a write would pass a hook by */
DYNC__FN dync_status dync__hooked_written(const dync__tracer *, const dync__opcall *);
/* data.c */
DYNC__FN bool dync__data_stays(const dync__tracer *t, const dync__opcall *c);
/* an error where an element that may be negative is a size */
DYNC__FN dync_status dync__data_sizes(dync__opcall *c);
DYNC__FN dync_status dync__data_record(dync__tracer *t, dync__opcall *c);
DYNC__FN void dync__data_close(dync__tracer *t);
/* shape_guard.c */
DYNC__FN bool dync__shapes_values(const dync__symtab *s, const dync__callargs *c, int64_t *value);
/* trace.c */
/* For whoever changes or reads the trace itself: one that followed a script goes on as a trace, and
 * what it does from here is not recorded. */
DYNC__FN dync__tracer *dync__tracer_current(void);
DYNC__FN dync__tracer *dync__tracer_peek(void); /* as it is */
DYNC__FN bool dync__tracer_owns(const dync__tracer *, const dync__tensor *);
/* stops the trace; the first status stays */
DYNC__FN dync_status dync__tracer_fail(dync__tracer *, dync_status);
DYNC__FN dync__trace_pause dync__trace_pause_begin(dync__tracer *);
DYNC__FN void dync__trace_pause_end(dync__tracer *, dync__trace_pause);
/* do two tensors that it knows lie on the same memory? */
DYNC__FN bool dync__tracer_same_memory(const dync__tracer *, const dync__tensor *,
                                       const dync__tensor *);
/* the one that records now, or NULL; see dync__tracer_current */
DYNC__FN dync__tracer *dync__tracing(void);
/* also one that follows a script: for what scripts know */
DYNC__FN dync__tracer *dync__tracing_or_replay(void);
/* script.c, script_cut.c, replay_cut.c, path.c: behind a table, NULL in a small program that
 * compiles whole graphs only: no call of it is open. Where there is a script there is the table. */
typedef struct dync__script_doors {
    bool (*takes)(dync__tracer *, dync__tensor *fake);
    void (*op)(dync__tracer *, const dync__opcall *, dync__number *const *operand_or_null);
    void (*foreign)(dync__tracer *, int env);
    void (*frame)(dync__tracer *, const char *name_or_null, dync_loc);
    void (*wants)(dync__tracer *, const dync__tensor *fake); /* foreign code reads it */
    void (*may_write)(dync__tracer *); /* foreign code may write what it can reach */
    void (*cut_begin)(dync__tracer *, const char *reason);
    void (*piece)(dync__tracer *, const dync__segref *, int n_out, dync__tensor *const *fakes);
    void (*cut_end)(dync__tracer *, bool returns);
    void (*returns)(dync__tracer *, const dync_value *result);
    void (*begin)(dync__tracer *);
    void (*end)(dync__tracer *, bool failed);
    bool (*replay)(dync__tracer *); /* true: the call follows a script */
    void (*path)(dync__tracer *, const dync__path *);
    void (*free)(struct dync__script *);
} dync__script_doors;
DYNC__DATA_DECL const dync__script_doors *dync__scripts; /* set by any thread: read by this */
DYNC__INLINE const dync__script_doors *dync__script_table(void)
{
    return DYNC__ATOMIC_LOAD(&dync__scripts);
}
/* Is this a call of an open entry, behind its first break? There the C function runs in every call
 * (lint compares the first two): what it does besides operators need not be kept. */
DYNC__INLINE bool dync__trace_runs_each(const dync__tracer *t)
{
    return !t->on_tree && DYNC__ATOMIC_LOAD(&t->entry->open) && !t->entry->lint && !t->stopped &&
           !t->tape.on && !t->fn->opt.fullgraph;
}
DYNC__INLINE void dync__script_stop(dync__tracer *t) { t->noting = false; }
DYNC__INLINE bool dync__script_takes(dync__tracer *t, dync__tensor *fake)
{
    return t->script && dync__script_table()->takes(t, fake);
}
#define DYNC__SCRIPT_DOOR(name, types, values)            \
    DYNC__INLINE void dync__script_##name types           \
    {                                                     \
        if (t->script) dync__script_table()->name values; \
    }
DYNC__SCRIPT_DOOR(op, (dync__tracer * t, const dync__opcall *c, dync__number *const *operand),
                  (t, c, operand))
DYNC__SCRIPT_DOOR(foreign, (dync__tracer * t, int env), (t, env))
DYNC__SCRIPT_DOOR(frame, (dync__tracer * t, const char *name, dync_loc at), (t, name, at))
DYNC__SCRIPT_DOOR(wants, (dync__tracer * t, const dync__tensor *fake), (t, fake))
DYNC__SCRIPT_DOOR(may_write, (dync__tracer * t), (t))
DYNC__SCRIPT_DOOR(cut_begin, (dync__tracer * t, const char *reason), (t, reason))
DYNC__SCRIPT_DOOR(piece,
                  (dync__tracer * t, const dync__segref *ref, int n_out,
                   dync__tensor *const *fakes),
                  (t, ref, n_out, fakes))
DYNC__SCRIPT_DOOR(cut_end, (dync__tracer * t, bool returns), (t, returns))
DYNC__SCRIPT_DOOR(returns, (dync__tracer * t, const dync_value *result), (t, result))
DYNC__SCRIPT_DOOR(end, (dync__tracer * t, bool failed), (t, failed))
#undef DYNC__SCRIPT_DOOR
/* env.c */
/* -1: no memory */
DYNC__FN int dync__tracer_env_add(dync__tracer *, dync__tensor *real, dync__tensor *fake_taken);
DYNC__FN int dync__tracer_env_real(dync__tracer *, dync__tensor *real);
DYNC__FN void dync__env_as_guarded(dync__tracer *, int env, const dync__tensor_guard *);
DYNC__FN dync__tensor *dync__tracer_adopt(dync__tracer *, dync__tensor *);
DYNC__FN int dync__record_foreign(dync__tracer *, dync__tensor *real, dync_tensor **, const char *);
DYNC__FN dync_status dync__record_value(dync__tracer *, int env);
DYNC__FN void dync__env_drops(void); /* by need */
DYNC__FN dync_status dync__record_keep(dync__tracer *);
/* what it dropped, too */
DYNC__FN dync_status dync__cut_complete(dync__tracer *, dync__segment *, const int *in_env,
                                        dync__tensor **out);
/* everything that was dropped and is still held */
DYNC__FN dync_status dync__env_complete(dync__tracer *);
/* computed again where narrowing dropped it; NULL + error */
DYNC__FN dync__tensor *dync__env_real(dync__tracer *, int env);
/* after a cut: the real tensor (borrowed), or NULL + error */
DYNC__FN dync__tensor *dync__trace_real(dync__tracer *, dync__tensor *fake);
DYNC__FN dync__tensor *dync__fake_of(const dync__tensor *real, const dync__layout *lay);
/* record.c */
DYNC__FN dync_status dync__tracer_record(dync__tracer *, dync__opcall *);
/* there is a pending graph; false: no memory */
DYNC__FN bool dync__tracer_graph(dync__tracer *);
DYNC__FN dync__node *dync__tracer_node(dync__tracer *, dync__tensor *fake);
/* fake (taken over) is what node `of` of the pending graph gives; false: no memory */
DYNC__FN bool dync__record_made(dync__tracer *, dync__tensor *fake, dync__node *of);
/* tensors become nodes */
DYNC__FN dync_status dync__tracer_args(dync__tracer *, int n, const dync__arg *in, dync__arg *out);
DYNC__FN bool dync__args_require_grad(int n, const dync__arg *args);
DYNC__FN bool dync__opcall_requires_grad(const dync__opcall *);
DYNC__FN dync_status dync__record_grad_mode(dync__tracer *,
                                            const dync__opcall *); /* _set_grad_enabled */
DYNC__FN dync_tensor *dync__trace_bake(dync__tracer *, dync__tensor *real);
DYNC__FN dync__node *dync__number_node(dync__tracer *, dync__number *);
/* the placeholder of a place in the environment */
DYNC__FN dync__node *dync__tracer_input(dync__tracer *, dync__graph *, int env);
DYNC__FN dync_status dync__tracer_adopt_args(dync__tracer *t, int n, dync__arg *args);
/* effects.c */
/* borrowed */
DYNC__FN dync_status dync__trace_grad_of(dync__tracer *, dync__tensor *fake,
                                         dync__tensor **grad_or_null);
DYNC__FN dync_status dync__trace_grad_set(dync__tracer *, dync__tensor *fake,
                                          dync__tensor *grad_or_null);
DYNC__FN dync_status dync__effect_add(dync__tracer *, bool before, dync__effect,
                                      dync__tensor *fake);
/* of a hook not registered yet */
DYNC__FN bool dync__effect_cancel(dync__tracer *, int id);
DYNC__FN dync_status dync__effect_hook_absent(dync__tracer *, const dync__tensor *fake, int id,
                                              bool *absent); /* then it is guarded */
/* dync_gradients gave `of` a gradient, or NULL */
DYNC__FN dync_status dync__effect_gradient(dync__tracer *, dync__tensor *of, dync__tensor *grad);
/* its place, -1 where it is a pending value */
DYNC__FN int dync__effect_env(const dync__tracer *, const dync__tensor *fake);
/* the hooks of real leaves, for a backward over fakes */
DYNC__FN dync_status dync__effect_hooks(dync__tracer *);
/* at a cut, before its segments */
DYNC__FN dync_status dync__effects_begin(dync__tracer *);
/* what effects need leaves the graph */
DYNC__FN void dync__effects_mark(const dync__tracer *, bool *live);
DYNC__FN dync_status dync__effects_flush(dync__tracer *); /* after a cut */
/* foreign code may have set gradients */
DYNC__FN void dync__effects_forget(dync__tracer *);
DYNC__FN void dync__effects_free(dync__tracer *);
DYNC__FN dync_status dync__record_effects(dync__tracer *, dync__effect *, int n);
/* sizes.c */
DYNC__FN dync_status dync__shapes_open(dync__tracer *);
DYNC__FN void dync__shapes_close(dync__tracer *);
DYNC__FN bool dync__shapes_again(dync__tracer *, dync__symtab *);
DYNC__FN dync_status dync__shapes_publish(dync__tracer *);
/* before the graph gets its output */
DYNC__FN dync_status dync__shapes_settle(dync__tracer *, dync__graph *);
/* symbol.c */
DYNC__FN dync_status dync__numbers_open(dync__tracer *);
DYNC__FN void dync__numbers_close(dync__tracer *);
/* true: it is a symbol */
DYNC__FN bool dync__number_argument(dync__tracer *, int arg, dync_value *);
/* symbolic argument k, as it is in this call */
DYNC__FN bool dync__number_again(dync__tracer *, int k, dync__tensor *fake);
DYNC__FN void dync__number_operands(dync__tracer *, dync__opcall *, dync__number **number);
/* its place in the environment; -1: no memory */
DYNC__FN int dync__number_enter(dync__tracer *, dync_value plain);
/* real is taken over; NULL: the trace has failed */
DYNC__FN dync__number *dync__number_input(dync__tracer *, dync_value plain, dync__tensor *real,
                                          const char *source);
DYNC__FN dync_value dync__number_sym(dync__number *); /* as the traced function sees it */
DYNC__FN void dync__numbers_install(void);
/* cell.c */
DYNC__FN bool dync__trace_cell_get(struct dync__cell *, dync_value *result);
DYNC__FN bool dync__trace_cell_set(struct dync__cell *, dync_value);
/* nobody but the trace holds the fake, whose scope has ended: its handles are stale */
DYNC__FN void dync__tracer_released(dync__tensor *);
DYNC__FN void dync__released_install(void);
/* lift.c */
DYNC__FN void dync__pieces_install(void); /* piece.c: what finds pieces again */
DYNC__FN void dync__pieces_pass(void);    /* and pieces that are not kept */
DYNC__FN dync_status dync__lift_segment(dync__tracer *, dync__graph *, uint64_t site,
                                        dync__tensor *const *in, const int **in_env,
                                        dync__segment **);
/* piece.c */
DYNC__FN dync_status dync__record_piece(dync__tracer *, dync__graph *, uint64_t hash, uint64_t site,
                                        dync__segref *, dync__tensor **out);
DYNC__FN dync_status dync__cut_run(dync__tracer *, dync__segment *, const int *in_env,
                                   dync__tensor **out);
DYNC__FN dync__graph *dync__piece_graph(dync__tracer *t, int from, int to);
DYNC__FN uint64_t dync__piece_site(const dync__tracer *t, const char *frame, const char *reason);
DYNC__FN dync_status dync__cut_piece(dync__tracer *t, dync__graph *g, uint64_t site, int n_out,
                                     dync__tensor **fakes, dync__node **nodes);
/* cut.c */
DYNC__FN dync_status dync__record_cut(dync__tracer *, const char *reason);
DYNC__FN dync_status dync__tracer_cut(dync__tracer *, const char *reason_or_null);
/* cuts there (and does that) and here; no break */
DYNC__FN dync_status dync__tracer_split(dync__tracer *, dync__tensor *made,
                                        const dync__effect *then_or_null);
/* the last pending write to its memory; NULL: none */
DYNC__FN const dync__node *dync__tracer_written(const dync__tracer *, const dync__tensor *fake);
/* "file:line in fn" lines, outermost first */
DYNC__FN void dync__trace_stack(const dync__tracer *, dync__str *);
DYNC__FN void dync__stack_line(dync__str *s, dync_loc at, const char *fn);
DYNC__FN dync_status dync__cut_live(dync__tracer *t, const char *reason, const bool *live_or_null);
DYNC__FN void dync__cut_taken(dync__tracer *t, bool yes);
/* break.c */
DYNC__FN dync_status dync__record_branch(dync__tracer *, dync__tensor *fake, bool as_bool,
                                         int64_t *outcome);
DYNC__FN dync_status dync__record_outcome(dync__tracer *, dync__tensor *fake, bool as_bool,
                                          int64_t outcome);
DYNC__FN dync_status dync__trace_break(dync__tracer *, const char *reason,
                                       const char *fullgraph_text);
DYNC__FN dync_status dync__trace_branch(dync__tracer *, dync__tensor *fake, bool as_bool,
                                        int64_t *outcome);
DYNC__FN void dync__tracer_publish_env(dync__tracer *t);
/* handler.c */
DYNC__FN dync_status dync__tracer_call(dync__handler *, dync__opcall *);
DYNC__FN dync_status dync__tracer_leaf_written(const dync__opcall *);
DYNC__FN dync_status dync__tracer_enter(dync__tracer *, dync__opcall *);
DYNC__FN dync_status dync__tracer_answer(dync__tracer *, dync__opcall *);
DYNC__FN dync_status dync__tracer_opaque_op(dync__tracer *, dync__opcall *);
DYNC__FN void dync__tracer_guard_more(dync__tracer *, bool *kind);
/* step.c */
DYNC__FN void dync__taped_open(dync__tracer *);
DYNC__FN void dync__taped_close(dync__tracer *);
/* the recorded tensor that an alias of the tape stands for */
DYNC__FN dync__tensor *dync__taped_value(dync__tracer *, dync__tensor *);
DYNC__FN bool dync__taped_backward(dync__tracer *, dync_value outputs, dync_value grads,
                                   dync_grad_options, dync_status *status);
DYNC__FN dync_value dync__taped_gradients(dync__tracer *, dync_value outputs, dync_value inputs,
                                          dync_value grads, dync_grad_options);
DYNC__FN bool dync__taped_apply(dync__tracer *, const dync_autograd_function *, int nargs,
                                const dync_value *args, dync_value *result);
DYNC__FN dync_status dync__taped_finish(dync__tracer *, const dync_value *result);
/* result.c */
/* the functions of the recording way, by their doors */
DYNC__FN const dync__way *dync__recording_way(void);
DYNC__FN dync__tensor *dync__record_found(const dync__tracer *, dync__tensor *now);
DYNC__FN int dync__record_place(dync__tracer *, const dync__tensor *fake);
DYNC__FN dync_status dync__record_finish(dync__tracer *, dync_value, dync__outval *);
DYNC__FN void dync__record_own(dync__tracer *);
DYNC__FN dync_status dync__result_tree(dync__tracer *, const dync_value *, dync__outval *);
/* path.c: it goes that way first */
/* reads.c */
DYNC__FN const dync__read_intercept *dync__capture_reads(void);
/* after a cut: with real tensors */
DYNC__FN dync_value dync__real_value(dync__tracer *, dync_value);
DYNC__FN dync_tensor *dync__opaque_read(dync__tracer *t, const dync_tensor *h, const char *reason,
                                        const char *fullgraph_text);
/* allowed.c: links what traces such functions */
DYNC__FN void dync__allowed_use(void);
DYNC__FN bool dync__frame_allows(const dync__tracer *, const dync_callee *, int nargs,
                                 const dync_value *args);
DYNC__FN bool dync__allowed_fits(const dync_value *v, int n);
DYNC__FN dync_value dync__frame_allowed(dync__tracer *t, const dync_callee *c, const char *name,
                                        int nargs, const dync_value *args);
/* frame.c */
DYNC__FN dync_value dync__frame_body(dync__tracer *, const dync_callee *, const char *name,
                                     int nargs, const dync_value *args);
/* hook_trace.c */
/* the trace begins again under the tape, which it needs */
DYNC__FN bool dync__trace_wants_tape(dync__tracer *);
DYNC__FN dync__tensor *dync__trace_fake(dync__tracer *, const dync_tensor *);
DYNC__FN bool dync__hook_late(dync__tracer *, int env);
DYNC__FN bool dync__trace_on_value(dync__tracer *, dync__tensor *, dync__effect);
/* columns of dync__grad_intercept */
DYNC__FN bool dync__traced_hook(dync_tensor *, dync_hook, void *user, int *id);
DYNC__FN bool dync__traced_after(dync_tensor *, dync_param_hook, void *user, int *id);
DYNC__FN bool dync__traced_remove(dync_tensor *, int id);
DYNC__FN bool dync__traced_cell_get(struct dync__cell *, dync_value *result);
DYNC__FN bool dync__traced_cell_set(struct dync__cell *, dync_value);
/* grads.c */
DYNC__FN const dync__grad_intercept *dync__capture_grads(void);
/* call.c */
DYNC__FN dync_status dync__tracer_open(dync__tracer *, dync__compiled *, dync__cache_entry *,
                                       const dync__callargs *, const dync__path *path_or_null);
DYNC__FN void dync__tracer_close(dync__tracer *);
/* fakes in place of the call's tensors */
DYNC__FN dync_status dync__trace_arguments(dync__tracer *, dync_value *out);
#endif
