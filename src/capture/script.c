/* capture/script.c: notes what a traced call of an open entry does (script.h): values, operators,
 * tensors from elsewhere, frames. After trace.c, before env.c; script_cut.c notes cuts. Every
 * function does nothing unless the call is noted. What cannot be followed ends the notes: the
 * script is good up to there, and calls go on by tracing. */
#include "../dync.in.h"
#include "script.h"
DYNC__COLD

/* ---- values ---------------------------------------------------------------------------------- */
DYNC__FN int32_t dync__script_find(const dync__script *s, const dync__tensor *fake)
{
    int32_t i = s->value.n - 1;
    while (i >= 0 && s->value.at[i].fake != fake) i--;
    return i;
}

/* Is there room for one more event here? No: the recording ends. */
DYNC__FN bool dync__script_room(dync__tracer *t)
{
    const dync__script *s = t->script;
    int ways = 0;
    if (!t->noting) return false;
    for (int32_t i = dync__script_first(s); i >= 0; i = s->event.at[i].alt) ways++;
    bool room = ways < DYNC__SCRIPT_WAYS && s->event.n < DYNC__SCRIPT_EVENTS &&
                s->value.n < DYNC__SCRIPT_VALUES;
    if (!room) dync__script_stop(t);
    return room;
}

/* A new value; with owned the script takes a reference of its own. -1: the recording ends. */
DYNC__FN int32_t dync__script_value_add(dync__tracer *t, dync__tensor *fake, bool owned)
{
    dync__script *s = t->script;
    dync__kept_value v = {
        .fake = fake, .owned = owned, .flags = fake ? (uint8_t)(fake->flags | DYNC__T_KEPT) : 0};
    if (!dync__vec_push(&s->value, v)) {
        dync__script_stop(t);
        return -1;
    }
    if (fake && owned) dync__ref(fake);
    return s->value.n - 1;
}

/* A pending fake leaves the trace: the script takes its reference over. false: it is none of the
 * script's. */
DYNC__FN bool dync__note_takes(dync__tracer *t, dync__tensor *fake)
{
    int32_t i = t->script ? dync__script_find(t->script, fake) : -1;
    if (i < 0 || t->script->value.at[i].owned) return false;
    t->script->value.at[i].owned = true;
    return true;
}

DYNC__FN void dync__note_wants(dync__tracer *t, const dync__tensor *fake)
{
    int32_t i = t->script ? dync__script_find(t->script, fake) : -1;
    if (i >= 0) t->script->value.at[i].wanted = true;
}

DYNC__FN void dync__note_may_write(dync__tracer *t)
{
    if (t->script) t->script->writes = true;
}

/* ---- events ---------------------------------------------------------------------------------- */
/* One more way from where the call is. NULL: no memory; the recording ends. */
DYNC__FN dync__script_event *dync__script_event_add(dync__tracer *t, dync__script_event e)
{
    dync__script *s = t->script;
    int32_t last = -1;
    for (int32_t i = dync__script_first(s); i >= 0; i = s->event.at[i].alt) last = i;
    e.next = e.alt = -1;
    if (!dync__vec_push(&s->event, e)) {
        dync__script_stop(t);
        return NULL;
    }
    int32_t n = s->event.n - 1;
    if (last >= 0)
        s->event.at[last].alt = n;
    else if (s->at >= 0)
        s->event.at[s->at].next = n;
    else
        s->root = n;
    s->at = n;
    return &s->event.at[n];
}

static bool dync__script_args(dync__tracer *t, int n, const dync__arg *in, dync__arg *out)
{
    dync__script *s = t->script;
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        switch ((dync__arg_kind)in[i].kind) {
        case DYNC__A_TENSOR:
            if (dync__script_find(s, in[i].as.t) < 0) return false;
            break;
        case DYNC__A_DIMS:
            if (in[i].n && !(out[i].as.dims = dync__arena_copy(&s->arena, in[i].as.dims,
                                                               (size_t)in[i].n * sizeof(int64_t))))
                return false;
            break;
        case DYNC__A_STR:
            if (!(out[i].as.s = dync__arena_strdup(&s->arena, in[i].as.s))) return false;
            break;
        case DYNC__A_LIST:
            out[i].as.list = dync__arena_alloc(&s->arena, (size_t)(in[i].n + 1) * sizeof *in);
            if (!out[i].as.list || !dync__script_args(t, in[i].n, in[i].as.list, out[i].as.list))
                return false;
            break;
        case DYNC__A_HANDLE:
        case DYNC__A_GRAPH:
        case DYNC__A_NODE: return false;
        default: break;
        }
    }
    return true;
}

/* The values that an operator made, in place or handed through (*old) the one that it was given;
 * or -1. */
static int32_t dync__script_outputs(dync__tracer *t, const dync__opcall *c, bool *old)
{
    int32_t first = t->script->value.n;
    *old = c->row->cls == DYNC__INPLACE;
    for (int i = 0; i < c->nout && !*old; i++)
        *old = c->out[i] && dync__script_find(t->script, c->out[i]) >= 0;
    if (*old) return c->nout == 1 ? dync__script_find(t->script, c->out[0]) : -1;
    for (int i = 0; i < c->nout; i++)
        if (dync__script_value_add(t, c->out[i], false) < 0) return -1;
    return first;
}

static void dync__script_waits(dync__tracer *t, bool grad_off)
{
    dync__script *s = t->script;
    if (!s->waiting.n) s->grad_off = grad_off;
    if (!dync__vec_push(&s->waiting, s->at)) dync__script_stop(t);
}

/* The history that a write has given what is on the same memory (dync__tracer_outputs). */
static bool dync__script_spread(dync__tracer *t, const dync__opcall *c, dync__script_event *e)
{
    const uint8_t given = DYNC__T_REQUIRES_GRAD | DYNC__T_WRITTEN;
    dync__script *s = t->script;
    int n = 0;
    if (c->row->cls != DYNC__INPLACE || !c->nout || (e->flags & given) != given) return true;
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (int32_t i = 0; i < s->value.n; i++) {
            const dync__tensor *x = s->value.at[i].fake;
            if (i == e->value || !x || (x->flags & given) != given ||
                !dync__tracer_same_memory(t, x, c->out[0]))
                continue;
            if (pass) e->spread[n] = i;
            n++;
        }
        if (!n) return true;
        if (pass)
            e->spread[n] = -1;
        else if (!(e->spread = dync__arena_alloc(&s->arena, (size_t)(n + 1) * sizeof *e->spread)))
            return false;
    }
    return true;
}

DYNC__FN void dync__note_op(dync__tracer *t, const dync__opcall *c, dync__number *const *operand)
{
    if (!dync__script_room(t)) return;
    dync__script *s = t->script;
    dync__arg *args = dync__arena_alloc(&s->arena, (size_t)(c->nargs + 1) * sizeof *args);
    dync__script_event e = {.kind = DYNC__EV_OP,
                            .mode = dync__script_mode(),
                            .n_args = (uint8_t)c->nargs,
                            .n_out = (uint8_t)c->nout,
                            .op = c->op,
                            .args = args,
                            .at = c->at};
    bool ok = args && dync__script_args(t, c->nargs, c->args, args);
    /* symbols by their places among the arguments that are */
    for (int i = 0; ok && operand && i < c->nargs; i++) {
        int k = operand[i] ? dync__number_index(t, operand[i]) : -1;
        if (operand[i])
            args[i] =
                (dync__arg){.kind = DYNC__A_PTR, .as = {.p = (void *)(uintptr_t)(unsigned)(k + 1)}};
        ok = !operand[i] || (k >= 0 && k < t->entry->n_numbers);
    }
    e.value = ok ? dync__script_outputs(t, c, &e.old) : -1;
    e.flags = c->nout && c->out[0] ? c->out[0]->flags : 0;
    if ((e.value < 0 && c->nout) || !dync__script_spread(t, c, &e)) dync__script_stop(t);
    if (!t->noting) return;
    e.plain = c->nout == 1 && c->out[0] && !e.old;
    if (dync__script_event_add(t, e)) dync__script_waits(t, dync__grad_is_off());
}

DYNC__FN void dync__note_foreign(dync__tracer *t, int env)
{
    if (env < 0 || !dync__script_room(t)) return;
    if (t->env.real.at[env]->storage->flags & DYNC__STORAGE_BORROWED) t->script->writes = true;
    dync__script_event e = {.kind = DYNC__EV_FOREIGN,
                            .value = dync__script_value_add(t, t->env.fake.at[env], true)};
    if (e.value >= 0) dync__script_event_add(t, e);
}

DYNC__FN void dync__note_frame(dync__tracer *t, const char *name_or_null, dync_loc at)
{
    if (!dync__script_room(t)) return;
    dync__script_event e = {.kind = name_or_null ? DYNC__EV_FRAME : DYNC__EV_FRAME_END, .at = at};
    if (name_or_null && !(e.name = dync__arena_strdup(&t->script->arena, name_or_null)))
        dync__script_stop(t);
    else
        dync__script_event_add(t, e);
}

/* ---- life ------------------------------------------------------------------------------------ */
DYNC__FN void dync__script_free(dync__script *s)
{
    dync__symtab_free(s->syms);
    for (int i = 0; i < s->value.n; i++)
        if (s->value.at[i].owned) dync__unref(s->value.at[i].fake);
    dync__vec_free(&s->event);
    dync__vec_free(&s->value);
    dync__vec_free(&s->waiting);
    dync__env_free(&s->env);
    dync__arena_free(&s->arena);
    dync__free(s, sizeof *s);
}

DYNC__FN void dync__scripts_free(dync__script *s)
{
    while (s) {
        dync__script *next = s->next;
        dync__script_free(s);
        s = next;
    }
}

DYNC__FN bool dync__script_fits(const dync__tensor *fake, const dync__tensor *real)
{
    const dync__layout *a = &fake->lay, *b = &real->lay;
    size_t n = (size_t)b->ndim * sizeof(int64_t);
    if (fake->dtype != real->dtype || fake->device != real->device || a->ndim != b->ndim ||
        a->offset != b->offset ||
        (fake->flags ^ real->flags) & (DYNC__T_REQUIRES_GRAD | DYNC__T_PARAMETER))
        return false;
    if (memcmp(a->shape, b->shape, n) == 0 && memcmp(a->stride, b->stride, n) == 0)
        return fake->storage->size_bytes == real->storage->size_bytes;
    /* what symbols stand for, the entry's guards have compared */
    bool same = dync__layout_has_tokens(a);
    for (int d = 0; d < a->ndim && same; d++)
        same = dync__sz_hint(a->shape[d]) == b->shape[d] &&
               dync__sz_hint(a->stride[d]) == b->stride[d];
    return same;
}
