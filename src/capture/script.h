/* capture/script.h: what a call of an open entry did, so that the next one need not be traced.
 * script.c records, replay.c follows.
 *
 * A script is a tree of events in the order of the call: operators with their arguments, tensors
 * met from elsewhere, frames, cuts with the segments that ran, the end with what was returned. Its
 * values are the fakes of the recorded call, kept: a call that follows the script gets them handed
 * out again (with new handles) and infers, allocates and compiles nothing. Where it does something
 * else the fakes become those of a trace, the operators that wait for their cut are recorded into
 * its graph, and the trace goes on; what it does is another way in the script (replay.c,
 * dync__replay_leave).
 *
 * A script serves one call at a time (busy); calls of other threads, and recursive ones, have
 * scripts of their own. */
#ifndef DYNC__SCRIPT_H
#define DYNC__SCRIPT_H
#include "trace.h"

typedef enum {
    DYNC__EV_OP,
    DYNC__EV_FOREIGN,
    DYNC__EV_FRAME,
    DYNC__EV_FRAME_END,
    DYNC__EV_CUT,
    DYNC__EV_END
} dync__event_kind;
enum {
    DYNC__SCRIPT_EVENTS = 8192,
    DYNC__SCRIPT_VALUES = 16384,
    DYNC__SCRIPT_WAYS = 8,
    DYNC__SCRIPTS = 8
};

/* Number arg of an event, of this call, as an input; value: the place's fake. */
typedef struct dync__cut_number {
    int32_t event, value;
    int arg;
} dync__cut_number;
/* A segment of a cut: for each output its value, and what it puts into the environment. */
typedef struct dync__cut_part {
    dync__segment *seg;
    const int *in_env;
    int n_out, n_number;
    const int32_t *value;
    dync__tensor *const *fake;
    const dync__origin *origin;
    /* inputs that are numbers, before its outputs in the environment */
    const dync__cut_number *number;
} dync__cut_part;
typedef struct dync__cut_record {
    const char *reason, *file; /* NULL: the end of a broken frame */
    int line;
    DYNC__VEC(dync__cut_part) piece;
    /* values that nobody held any more, and which did not leave */
    DYNC__VEC(int32_t) dead;
    DYNC__VEC(int32_t) result; /* END: returned tensors in preorder */
} dync__cut_record;

typedef struct dync__script_event {
    uint8_t kind, mode, n_args, n_out; /* mode: grad mode and default dtype of an operator */
    uint8_t flags;                     /* OP in place: of what is written, afterwards */
    bool plain;                        /* OP: makes one tensor, writes none */
    bool old;      /* OP: in place, or its result is its argument: no value is made */
    uint32_t free; /* OP: arguments that may be any number of their kind; in args they are those of
                      the last call */
    int32_t op, value; /* value: the first one made; with old: the one given */
    /* OP in place: values on the same memory that require a gradient from here on, then -1; or
     * NULL */
    int32_t *spread;
    /* first event after this one; another one in its place; -1 */
    int32_t next, alt;
    dync__arg *args; /* tensors are the script's fakes */
    dync_loc at;
    const char *name; /* FRAME */
    dync__cut_record *cut;
} dync__script_event;

/* owned: the script has a reference (what waits for its cut belongs to the trace); wanted:
 * something uses it after its cut; flags: as it was made. */
typedef struct dync__kept_value {
    dync__tensor *fake;
    bool owned, wanted;
    uint8_t flags;
} dync__kept_value;
typedef struct dync__script {
    struct dync__script *next;
    int32_t busy;
    bool broken; /* not to be used any more */
    /* something may be written between its segments: what they drop could not be computed again */
    bool writes;
    bool narrowed; /* its segments compute what is wanted and no more */
    dync__arena arena;
    uint64_t id; /* trace_id of its fakes */
    /* symbolic sizes, with all that its calls took for granted; or NULL */
    dync__symtab *syms;
    int32_t root;
    /* events that earlier calls recorded: they are on other ways, too */
    int32_t old;
    DYNC__VEC(dync__script_event) event;
    DYNC__VEC(dync__kept_value) value;
    /* of the call that has it */
    int32_t at;                 /* the last event, -1 none yet */
    DYNC__VEC(int32_t) waiting; /* events since the last cut */
    bool grad_off;              /* grad mode where they begin */
    dync__cut_record *cut;      /* being recorded */
    dync__environment env;      /* room of the tracer's, kept between calls */
} dync__script;

DYNC__FN void dync__script_followed(dync__tracer *, dync__script *);
DYNC__INLINE uint8_t dync__script_mode(void)
{
    return (uint8_t)(dync__grad_is_off() | dync__tls.default_dtype << 1);
}
DYNC__INLINE int32_t dync__script_first(const dync__script *s)
{
    return s->at < 0 ? s->root : s->event.at[s->at].next;
}
/* script.c: what dync__scripts has */
DYNC__FN bool dync__note_takes(dync__tracer *, dync__tensor *fake);
DYNC__FN void dync__note_op(dync__tracer *, const dync__opcall *,
                            dync__number *const *operand_or_null);
DYNC__FN void dync__note_foreign(dync__tracer *, int env);
DYNC__FN void dync__note_frame(dync__tracer *, const char *name_or_null, dync_loc);
DYNC__FN void dync__note_wants(dync__tracer *, const dync__tensor *fake);
DYNC__FN void dync__note_may_write(dync__tracer *);
DYNC__FN void dync__scripts_free(dync__script *); /* a list */
/* script_cut.c: the same of cuts */
DYNC__FN void dync__note_cut_begin(dync__tracer *, const char *reason);
DYNC__FN void dync__note_piece(dync__tracer *, const dync__segref *, int n_out,
                               dync__tensor *const *fakes);
DYNC__FN void dync__note_cut_end(dync__tracer *, bool returns);
DYNC__FN void dync__note_returns(dync__tracer *, const dync_value *result);
DYNC__FN void dync__note_begin(dync__tracer *);
DYNC__FN void dync__note_end(dync__tracer *, bool failed);
/* script.c: inside */
DYNC__FN bool dync__script_fits(const dync__tensor *fake, const dync__tensor *real);
DYNC__FN int32_t dync__script_find(const dync__script *s, const dync__tensor *fake);
DYNC__FN bool dync__script_room(dync__tracer *t);
DYNC__FN int32_t dync__script_value_add(dync__tracer *t, dync__tensor *fake, bool owned);
DYNC__FN dync__script_event *dync__script_event_add(dync__tracer *t, dync__script_event e);
DYNC__FN void dync__script_free(dync__script *s);
DYNC__FN bool dync__replay_begin(dync__tracer *); /* replay_cut.c */
/* replay.c */
DYNC__FN int dync__replay_env(const dync__tracer *t, const dync__tensor *fake);
DYNC__FN void dync__replay_place(dync__tracer *t, dync__tensor *real, dync__tensor *fake);
DYNC__FN void dync__replay_place_all(dync__tracer *t, const dync__cut_part *p,
                                     dync__tensor *const *out);
DYNC__FN void dync__replay_leave(dync__tracer *t);
DYNC__FN dync_tensor *dync__replay_known(dync__handler *self, int op, int nargs,
                                         const dync__arg *args, const dync_loc *at);
DYNC__FN int dync__replay_meets(dync__tracer *t, dync__tensor *real);
DYNC__FN dync_status dync__replay_call(dync__handler *self, dync__opcall *c);
DYNC__FN bool dync__replay_has_frame(dync__tracer *t, const char *name_or_null, dync_loc loc);
#endif
