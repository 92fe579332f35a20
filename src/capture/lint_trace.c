/* capture/lint_trace.c: the second trace of lint (lint.c). After call.c. */
#include "../dync.in.h"
#include "lint.h"

static void dync__lint_retrace(dync__lint *l, dync__compiled *f, dync__cache_entry *scratch,
                               const dync__callargs *call)
{
    dync__tracer t;
    memset(&t.life, 0, sizeof t.life);
    dync_scope scope = dync_scope_begin();
    l->entry = scratch;
    l->second = true;
    dync__map_free(&l->made);
    bool ok = dync__tracer_open(&t, f, scratch, call, NULL) == DYNC_OK;
    if (l->taped) dync__taped_open(&t);
    dync_value *args = dync__arena_alloc(&t.scratch, (size_t)(call->nargs + 1) * sizeof *args);
    if (ok && args && dync__trace_arguments(&t, args) == DYNC_OK) {
        dync_value r = dync__frame_body(&t, &f->callee, f->name, call->nargs, args);
        if (!t.stopped) dync__lint_result(&t, &r);
        if (l->at < l->row.n && !l->failed && !l->over)
            dync__lint_tell_row(l, &l->row.at[l->at], NULL);
    }
    dync__tracer_close(&t);
    dync_scope_end(&scope);
}

/* status: of the first trace. Takes l over; leaves grad mode, random state, errors as they were. */
DYNC__FN void dync__lint_end(dync__lint *l, dync__compiled *f, dync__cache_entry *e,
                             const dync__callargs *call, dync_status status)
{
    dync__error_guard guard;
    bool grad_off = dync__grad_is_off(), again = status == DYNC_OK && !l->failed && !e->effects;
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    dync__lint_swap(l->outer);
    if (again && e->open) { /* the next call compares */
        l->second = true;
        l->over = false;
        dync__map_free(&l->made);
        e->lint = l;
        return;
    }
    dync__error_guard_begin(&guard);
    dync__cache_entry *scratch = again ? dync__calloc(sizeof *scratch) : NULL;
    if (scratch) {
        dync__lint *outer = dync__lint_swap(l);
        dync__grad_off(!e->grad_mode);
        scratch->dynamic = e->dynamic; /* the same sizes are symbolic */
        if (dync__guards_make(scratch, f, call) == DYNC_OK) dync__lint_retrace(l, f, scratch, call);
        dync__constants_free(scratch);
        dync__shapes_free(scratch);
        dync__arena_free(&scratch->arena);
        dync__free(scratch, sizeof *scratch);
        dync__lint_swap(outer);
    }
    dync__error_guard_end(&guard);
    dync__grad_off(grad_off);
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
    dync__lint_free(l);
}
