/* capture/trace.c: the trace that a thread has open: whose a tensor and its memory are, failing,
 * resting while real work is done. After lint.c, before script.c.
 *
 * A fake belongs to a trace by trace_id. While its operator is pending, fake->node is its node;
 * once cut (or for inputs from the start) node is NULL and node_output is its place in the
 * environment. */
#include "../dync.in.h"
#include "trace.h"
#include "control.h"
DYNC__COLD

DYNC__DATA const dync__script_doors *dync__scripts;

DYNC__OFTEN DYNC__FN dync__tracer *dync__tracer_peek(void)
{
    if (dync__tls.capture_state) (void)dync__waits_left();
    return dync__tls.capture_state;
}

DYNC__FN dync__tracer *dync__tracer_current(void)
{
    dync__tracer *t = dync__tracer_peek();
    if (t) t->way->own(t);
    return t;
}

DYNC__OFTEN DYNC__FN bool dync__tracer_owns(const dync__tracer *t, const dync__tensor *x)
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

DYNC__OFTEN DYNC__FN dync__tracer *dync__tracing_or_replay(void)
{
    return dync__tls.compiling ? dync__tracer_peek() : NULL;
}

/* Real work in the middle of a trace (an opaque call, a backend): as if no trace were open. */
DYNC__OFTEN DYNC__FN dync__trace_pause dync__trace_pause_begin(dync__tracer *t)
{
    dync__trace_pause p = {dync__handler_swap(NULL), dync__tls.compiling};
    dync__tls.compiling = false;
    dync__tls.capture_state = NULL;
    dync__tls.syms = NULL;
    if (t->tape.on) dync__bottom_swap(t->tape.bottom_before);
    return p;
}

DYNC__OFTEN DYNC__FN void dync__trace_pause_end(dync__tracer *t, dync__trace_pause p)
{
    dync__handler_swap(p.top);
    if (t->tape.on) dync__bottom_swap(&t->tape.recorder);
    dync__tls.compiling = p.compiling;
    dync__tls.capture_state = t;
    dync__tls.syms = t->symbols.sizes;
}

/* ---- memory ---------------------------------------------------------------------------------- */
/* The real storage that a fake one stands for; NULL: none, it is of this graph. */
static const dync__storage *dync__tracer_real_storage(const dync__tracer *t,
                                                      const dync__storage *fake)
{
    for (int i = 0; i < t->env.fake.n; i++)
        if (t->env.fake.at[i]->storage == fake && t->env.real.at[i])
            return t->env.real.at[i]->storage;
    return NULL;
}

DYNC__FN bool dync__tracer_same_memory(const dync__tracer *t, const dync__tensor *a,
                                       const dync__tensor *b)
{
    const dync__storage *real = a->storage == b->storage ? NULL
                                                         : dync__tracer_real_storage(t, a->storage);
    return a->storage == b->storage || (real && real == dync__tracer_real_storage(t, b->storage));
}
