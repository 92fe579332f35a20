/* capture/replay.c: follows a script (script.h): the C function of an open entry runs in every
 * call, and as long as it does what an earlier call did, its operators are only compared, its cuts
 * run the segments that they ran then, and the handles it gets are those of the script's fakes. At
 * the first difference the call becomes a trace from there (dync__replay_leave): never a wrong
 * result. After result.c, before replay_cut.c. */
#include "../dync.in.h"
#include "script.h"
DYNC__WARM

/* ---- handing out ----------------------------------------------------------------------------- */
/* The value as a new tensor of this call: earlier handles are stale from now on. NULL: somebody has
 * kept it from an earlier call. */
DYNC__INLINE dync__tensor *dync__replay_give(const dync__kept_value *v)
{
    dync__tensor *x = v->fake;
    if (DYNC__UNLIKELY(DYNC__ATOMIC_PEEK(&x->refs) != 1 || x->grad)) return NULL;
    DYNC__ATOMIC_STORE(&x->generation, (x->generation + 1) & DYNC__HANDLE_GENERATIONS);
    x->flags = v->flags;
    DYNC__ATOMIC_STORE(&x->refs, 2);
    return x;
}

/* The place of a fake in the environment of this call, or -1: it waits for its cut, or nothing was
 * to read it. */
DYNC__FN int dync__replay_env(const dync__tracer *t, const dync__tensor *fake)
{
    int env = fake->node_output;
    return env >= 0 && env < t->env.fake.n && t->env.fake.at[env] == fake ? env : -1;
}

/* A tensor that the call has met; there is room. The fake stays the script's. */
DYNC__FN void dync__replay_place(dync__tracer *t, dync__tensor *real, dync__tensor *fake)
{
    dync__ref(real);
    fake->node_output = dync__env_put(&t->env, real, fake);
}

/* What a segment made (taken over). A fake learns its place only where something is to read the
 * value. */
DYNC__FN void dync__replay_place_all(dync__tracer *t, const dync__cut_part *p,
                                     dync__tensor *const *out)
{
    int env = dync__env_put_all(&t->env, p->n_out, out, p->fake, p->origin);
    for (int i = 0; i < p->n_out; i++)
        if (out[i]) p->fake[i]->node_output = env + i;
}

/* ---- leaving --------------------------------------------------------------------------------- */
/* An operator that was only compared becomes a node. What waits for its cut belongs to the
 * trace. */
static dync_status dync__replay_again(dync__tracer *t, const dync__script_event *e)
{
    dync__script *s = t->script;
    dync__opcall c = {.row = dync__op_info(e->op),
                      .op = e->op,
                      .nargs = e->n_args,
                      .nout = e->n_out,
                      .at = e->at};
    dync__arg args[DYNC__MAX_ARGS];
    dync__number *operand[DYNC__MAX_ARGS];
    c.args = memcpy(args, e->args, (size_t)e->n_args * sizeof *args);
    for (int i = 0; i < e->n_args; i++) {
        operand[i] = args[i].kind == DYNC__A_PTR ? t->symbols.number.at[(uintptr_t)args[i].as.p - 1]
                                                 : NULL;
        if (operand[i]) args[i] = dync__arg_value(dync__number_plain(operand[i]));
    }
    if (dync__row_sets_grad_mode(c.row)) return dync__record_grad_mode(t, &c);
    t->rec.operand = operand;
    for (int i = 0; i < e->n_out; i++) c.out[i] = s->value.at[e->value + i].fake;
    dync_status status = dync__tracer_record(t, &c);
    t->rec.operand = NULL;
    DYNC__TRY(status);
    for (int i = 0; i < e->n_out && !e->old; i++) {
        dync__kept_value *v = &s->value.at[e->value + i];
        if (!v->fake) continue;
        v->owned = false;
        dync__unref(v->fake);
    }
    return DYNC_OK;
}

/* From following to recording. Every value the call has met gets a real tensor, then the
 * operators that were compared since the last cut are recorded, in the grad mode that held when
 * they began. A failure stops the trace (dync__tracer_fail). */
DYNC__RARE DYNC__FN void dync__replay_leave(dync__tracer *t)
{
    dync__script *s = t->script;
    bool grad_off = dync__grad_is_off();
    dync_loc at = t->last_at;
    dync_status status = t->status;
    t->way = dync__recording_way();
    t->noting = false; /* what is recorded again is no new way */
    s->old = s->event.n;
    t->handler.call = dync__tracer_call;
    t->handler.known = NULL;
    for (int i = 0; i < t->env.fake.n; i++) {
        dync__tensor *fake = t->env.fake.at[i];
        bool released = DYNC__ATOMIC_PEEK(&fake->refs) == 1; /* the script's */
        dync__ref(fake);
        fake->node_output = i;
        if (released) dync__tracer_released(fake);
    }
    if (status == DYNC_OK) status = dync__env_complete(t);
    t->rec.pending = 0;
    if (s->waiting.n) dync__grad_off(s->grad_off);
    for (int i = 0; i < s->waiting.n && status == DYNC_OK; i++) {
        const dync__script_event *e = &s->event.at[s->waiting.at[i]];
        status = dync__replay_again(t, e);
    }
    for (int i = 0; i < t->rec.made.n; i++)
        if (DYNC__ATOMIC_PEEK(&t->rec.made.at[i]->refs) == 1)
            dync__tracer_released(t->rec.made.at[i]);
    dync__grad_off(grad_off);
    t->last_at = at;
    if (status != DYNC_OK)
        dync__tracer_fail(t, status);
    else
        t->noting = true;
}

/* ---- comparing ------------------------------------------------------------------------------- */
/* The most frequent case of dync__replay_call before anything is opened: the next event is this
 * very operator on the script's own fakes and the same numbers. */
DYNC__FN dync_tensor *dync__replay_known(dync__handler *self, int op, int nargs,
                                         const dync__arg *args, const dync_loc *at)
{
    dync__tracer *t = self->state;
    dync__script *s = t->script;
    int32_t i = dync__script_first(s);
    const dync__script_event *e = i < 0 ? NULL : &s->event.at[i];
    if (!e || e->kind != DYNC__EV_OP || e->op != op || !e->plain || e->free ||
        e->mode != dync__script_mode() || e->n_args != nargs || t->stopped ||
        s->waiting.n == s->waiting.cap)
        return NULL;
    for (int k = 0; k < nargs; k++) {
        const dync__arg *want = &e->args[k], *got = &args[k];
        bool same = got->kind == DYNC__A_HANDLE
                        ? want->kind == DYNC__A_TENSOR && got->as.h == dync__handle(want->as.t)
                        : want->kind == got->kind && want->n == got->n && want->as.i == got->as.i &&
                              got->kind != DYNC__A_TENSOR;
        if (!same) return NULL;
    }
    dync__tensor *out = dync__replay_give(&s->value.at[e->value]);
    if (!out) return NULL;
    if (!s->waiting.n) s->grad_off = dync__grad_is_off();
    s->waiting.at[s->waiting.n++] = i;
    s->at = i;
    t->last_at = *at;
    t->rec.pending++;
    return dync__give(out);
}

DYNC__INLINE bool dync__replay_same(const dync__tracer *t, const dync__arg *want,
                                    const dync__arg *got);

static DYNC__NOINLINE bool dync__replay_alike(const dync__tracer *t, const dync__arg *want,
                                              const dync__arg *got)
{
    switch ((dync__arg_kind)want->kind) {
    /* a tensor from elsewhere that the call has met */
    case DYNC__A_TENSOR: {
        if (got->as.t == want->as.t) return true; /* where a pointer is no whole word */
        int env = got->as.t->flags & DYNC__T_FAKE ? -1 : dync__replay_env(t, want->as.t);
        return env >= 0 && t->env.real.at[env] == got->as.t;
    }
    case DYNC__A_DIMS:
        return memcmp(want->as.dims, got->as.dims, (size_t)want->n * sizeof(int64_t)) == 0;
    case DYNC__A_STR: return strcmp(want->as.s, got->as.s) == 0;
    case DYNC__A_LIST:
        for (int i = 0; i < want->n; i++)
            if (!dync__replay_same(t, &want->as.list[i], &got->as.list[i])) return false;
        return true;
    case DYNC__A_PTR: return (int)(uintptr_t)want->as.p == dync__number_index(t, got->as.p) + 1;
    case DYNC__A_NONE: return true;
    default: return false;
    }
}

/* Most are the same word: a fake, a number. What is copied into the script has another address. */
DYNC__INLINE bool dync__replay_same(const dync__tracer *t, const dync__arg *want,
                                    const dync__arg *got)
{
    if (want->kind != got->kind || want->n != got->n) return false;
    return want->as.i == got->as.i || dync__replay_alike(t, want, got);
}

/* The event that this call continues with: the script branches (alt) where earlier calls went
 * different ways. `free` marks arguments that may have any value of the same kind. -1: none. */
static int32_t dync__replay_find_op(const dync__tracer *t, const dync__opcall *c)
{
    const dync__script *s = t->script;
    uint8_t mode = dync__script_mode();
    for (int32_t at = dync__script_first(s); at >= 0; at = s->event.at[at].alt) {
        const dync__script_event *e = &s->event.at[at];
        bool same = e->kind == DYNC__EV_OP && e->op == c->op && e->mode == mode &&
                    e->n_args == c->nargs;
        for (int i = 0; same && i < c->nargs; i++) {
            bool any = (e->free >> i & 1) && e->args[i].kind == c->args[i].kind;
            same = any || dync__replay_same(t, &e->args[i], &c->args[i]);
        }
        if (same) return at;
    }
    return -1;
}

/* A tensor from elsewhere, met where the script met one like it. Its place, or -1. */
DYNC__RARE DYNC__FN int dync__replay_meets(dync__tracer *t, dync__tensor *real)
{
    dync__script *s = t->script;
    for (int i = t->entry->n_leaf_env; i < t->env.real.n; i++)
        if (t->env.real.at[i] == real && !t->env.origin.at[i].seg) return i;
    for (int i = 0; i < t->entry->n_leaf_env; i++)
        if (t->env.real.at[i] == real) return -1;
    for (int32_t at = dync__script_first(s); at >= 0; at = s->event.at[at].alt) {
        const dync__script_event *e = &s->event.at[at];
        if (e->kind != DYNC__EV_FOREIGN || !dync__script_fits(s->value.at[e->value].fake, real))
            continue;
        const dync__kept_value *v = &s->value.at[e->value];
        if (DYNC__ATOMIC_PEEK(&v->fake->refs) != 1 || !dync__env_room(&t->env, 1)) return -1;
        if ((real->storage->flags & DYNC__STORAGE_BORROWED) && !s->writes) return -1;
        v->fake->flags = v->flags;
        dync__replay_place(t, real, v->fake);
        s->at = at;
        return t->env.real.n - 1;
    }
    return -1;
}

/* Tensors from elsewhere among the arguments, in order. false: none was taken into the call. */
static bool dync__replay_adopt(dync__tracer *t, int n, dync__arg *args)
{
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (args[i].kind == DYNC__A_LIST) any |= dync__replay_adopt(t, args[i].n, args[i].as.list);
        if (args[i].kind != DYNC__A_TENSOR || (args[i].as.t->flags & DYNC__T_FAKE)) continue;
        int before = t->env.real.n, env = dync__replay_meets(t, args[i].as.t);
        if (env < 0) return false;
        any |= env >= before;
    }
    return any;
}

/* A leaf that requires grad is not written: the trace says so. */
static bool dync__replay_may_write(const dync__tracer *t, const dync__tensor *x)
{
    int env = dync__replay_env(t, x);
    return dync__grad_is_off() || !(x->flags & DYNC__T_REQUIRES_GRAD) || env < 0 ||
           !t->env.real.at[env] || !dync__tensor_is_leaf(t->env.real.at[env]);
}

/* Hands out the script's fakes as results (in place: the one that is written): all of them, or
 * none and the script is broken, since somebody kept one from an earlier call. */
static bool dync__replay_outputs(dync__tracer *t, const dync__script_event *e, dync__opcall *c)
{
    const dync__kept_value *v = &t->script->value.at[e->value];
    if (e->old) {
        bool writes = c->row->cls == DYNC__INPLACE;
        if (writes && !dync__replay_may_write(t, v->fake)) return false;
        dync__ref(c->out[0] = v->fake);
        v->fake->flags = (uint8_t)(e->flags | DYNC__T_KEPT);
        for (int i = 0; DYNC__UNLIKELY(e->spread) && e->spread[i] >= 0; i++)
            t->script->value.at[e->spread[i]].fake->flags |= DYNC__T_REQUIRES_GRAD |
                                                             DYNC__T_WRITTEN;
        return true;
    }
    for (int i = 0; i < e->n_out; i++) {
        c->out[i] = v[i].fake ? dync__replay_give(&v[i]) : NULL;
        if (c->out[i] || !v[i].fake) continue;
        while (i-- > 0) {
            dync__unref(c->out[i]);
            c->out[i] = NULL;
        }
        t->script->broken = true; /* its fakes are in use elsewhere */
        return false;
    }
    return true;
}

/* The handler of a call that follows a script: compares, waits for the cut, runs nothing. Where
 * the call does something new it leaves the script and records this operator first. */
DYNC__FN dync_status dync__replay_call(dync__handler *self, dync__opcall *c)
{
    dync__tracer *t = self->state;
    dync__script *s = t->script;
    if (t->stopped) return t->status != DYNC_OK ? t->status : DYNC_ERR_RUNTIME;
    if ((c->row->flags & DYNC__OP_DATA_SHAPE) && !dync__data_stays(t, c)) {
        DYNC__TRY(dync__tracer_adopt_args(t, c->nargs, c->args));
        return dync__tracer_opaque_op(t, c);
    }
    int32_t at = dync__replay_find_op(t, c);
    if (at < 0 && dync__replay_adopt(t, c->nargs, c->args)) at = dync__replay_find_op(t, c);
    if (DYNC__LIKELY(at >= 0)) {
        const dync__script_event *e = &s->event.at[at];
        if ((s->waiting.n < s->waiting.cap || dync__vec_reserve(&s->waiting, s->waiting.n + 1)) &&
            dync__replay_outputs(t, e, c)) {
            if (!s->waiting.n) s->grad_off = dync__grad_is_off();
            s->waiting.at[s->waiting.n++] = at;
            s->at = at;
            c->nout = e->n_out;
            for (int i = 0; DYNC__UNLIKELY(e->free >> i); i++)
                if (e->free >> i & 1) e->args[i] = c->args[i];
            t->rec.pending++;
            if (DYNC__UNLIKELY(dync__row_sets_grad_mode(c->row)))
                dync__grad_off(!c->args[0].as.i);
            else
                t->last_at = c->at;
            return DYNC_OK;
        }
    }
    dync__replay_leave(t);
    return dync__tracer_call(self, c);
}

/* Does the script enter (or, without a name, leave) this frame here? Frames are known by name
 * and line. If so, the script is moved on to it. */
DYNC__FN bool dync__replay_has_frame(dync__tracer *t, const char *name_or_null, dync_loc loc)
{
    dync__script *s = t->script;
    for (int32_t at = dync__script_first(s); at >= 0; at = s->event.at[at].alt) {
        const dync__script_event *e = &s->event.at[at];
        if (e->kind != (name_or_null ? DYNC__EV_FRAME : DYNC__EV_FRAME_END)) continue;
        if (name_or_null && (e->at.line != loc.line || strcmp(e->name, name_or_null) != 0))
            continue;
        s->at = at;
        return true;
    }
    return false;
}
