/* capture/trace.c: the trace that a thread has open: whose a tensor is, failing, resting while real
 * work is done. After lint.c, before script.c.
 *
 * A fake belongs to a trace by trace_id. While its operator is pending, fake->node is its node;
 * once cut (or for inputs from the start) node is NULL and node_output is its place in the
 * environment. */
#include "../dync.in.h"
#include "trace.h"
#include "control.h"
DYNC__COLD

static DYNC__TLS dync__tracer *dync__traces;

/* ---- functions inside operators -------------------------------------------------------------- */
static DYNC__TLS dync__insides *dync__inside_now;

DYNC__FN void dync__insides_live(dync__insides *w, const void *frame)
{
    w->frame = frame;
    w->below = dync__inside_now;
    dync__inside_now = w;
}

DYNC__FN void dync__insides_over(dync__insides *w) { dync__inside_now = w->below; }

DYNC__FN bool dync__insides_left(const void *frame, bool quiet)
{
    bool any = false;
    while (DYNC__UNLIKELY(dync__inside_now != NULL) &&
           (uintptr_t)frame > (uintptr_t)dync__inside_now->frame) {
        dync__insides *w = dync__inside_now;
        if (!quiet)
            dync__warn("a function of %s was left while it was traced (by longjmp or an "
                       "exception): its trace is undone",
                       w->s[0].op);
        w->unwind(w);
        any = true;
    }
    return any;
}

/* ---- functions that are compiled ------------------------------------------------------------- */
/* Stacks grow downwards. A function that moves to another stack while it is traced is taken to have
 * been left when it calls from a higher one. */
DYNC__NOINLINE DYNC__FN bool dync__traces_left(void)
{
    bool whole = dync__traces && (uintptr_t)DYNC__FRAME() > (uintptr_t)dync__traces->life.frame;
    bool any = dync__insides_left(DYNC__FRAME(), whole);
    while (DYNC__UNLIKELY(dync__traces != NULL) &&
           (uintptr_t)DYNC__FRAME() > (uintptr_t)dync__traces->life.frame) {
        dync__tracer *t = dync__traces;
        dync__traces = t->life.below;
        t->life.unwind(t);
        any = true;
    }
    return any;
}

DYNC__FN void dync__trace_live(dync__tracer *t, const void *frame)
{
    t->life.frame = frame;
    t->life.below = dync__traces;
    dync__traces = t;
}

DYNC__FN void dync__trace_ends(dync__tracer *t) { dync__traces = t->life.below; }

DYNC__FN dync__tracer *dync__tracer_peek(void)
{
    if (dync__tls.capture_state) (void)dync__traces_left();
    return dync__tls.capture_state;
}

DYNC__FN dync__tracer *dync__tracer_current(void)
{
    dync__tracer *t = dync__tracer_peek();
    if (t) t->way->own(t);
    return t;
}

DYNC__FN bool dync__tracer_owns(const dync__tracer *t, const dync__tensor *x)
{
    return (x->flags & DYNC__T_FAKE) &&
           (x->trace_id == t->id || (t->inferring && x->trace_id == ~t->id));
}

DYNC__FN dync_status dync__tracer_fail(dync__tracer *t, dync_status status)
{
    if (t->status == DYNC_OK) t->status = status;
    t->stopped = true;
    return status;
}

DYNC__FN dync__tracer *dync__tracing(void)
{
    dync__tracer *t = dync__tls.compiling ? dync__tracer_current() : NULL;
    return dync__tls.compiling ? t : NULL;
}

DYNC__FN dync__tracer *dync__tracing_or_replay(void)
{
    return dync__tls.compiling ? dync__tracer_peek() : NULL;
}

/* Real work in the middle of a trace (an opaque call, a backend): as if no trace were open. */
DYNC__FN dync__trace_pause dync__trace_pause_begin(dync__tracer *t)
{
    dync__trace_pause p = {dync__handler_swap(NULL), dync__tls.compiling};
    dync__tls.compiling = false;
    dync__tls.capture_state = NULL;
    dync__tls.syms = NULL;
    if (t->tape.on) dync__bottom_swap(t->tape.bottom_before);
    return p;
}

DYNC__FN void dync__trace_pause_end(dync__tracer *t, dync__trace_pause p)
{
    dync__handler_swap(p.top);
    if (t->tape.on) dync__bottom_swap(&t->tape.recorder);
    dync__tls.compiling = p.compiling;
    dync__tls.capture_state = t;
    dync__tls.syms = t->symbols.sizes;
}
