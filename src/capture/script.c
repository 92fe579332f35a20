/* capture/script.c: records what a traced call of an open entry does (script.h). After cut.c,
 * before replay.c. Every function does nothing unless the tracer records. What cannot be followed
 * ends the recording: the script is good up to there, and calls go on by tracing. */
#include "../dync.in.h"
#include "script.h"

DYNC__FN void dync__script_stop(dync__tracer *t) { t->noting = false; }

/* ---- values ---------------------------------------------------------------------------------- */
static int32_t dync__script_find(const dync__script *s, const dync__tensor *fake)
{
    int32_t i = s->value.n - 1;
    while (i >= 0 && s->value.at[i].fake != fake) i--;
    return i;
}

/* Is there room for one more event here? No: the recording ends. */
static bool dync__script_room(dync__tracer *t)
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
static int32_t dync__script_value_add(dync__tracer *t, dync__tensor *fake, bool owned)
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
DYNC__FN bool dync__script_takes(dync__tracer *t, dync__tensor *fake)
{
    int32_t i = t->script ? dync__script_find(t->script, fake) : -1;
    if (i < 0 || t->script->value.at[i].owned) return false;
    t->script->value.at[i].owned = true;
    return true;
}

/* ---- events ---------------------------------------------------------------------------------- */
/* One more way from where the call is. NULL: no memory; the recording ends. */
static dync__script_event *dync__script_event_add(dync__tracer *t, dync__script_event e)
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
        case DYNC__A_NODE: return false;
        default: break;
        }
    }
    return true;
}

/* The values that an operator made, or -1. One that hands an argument through is not followed. */
static int32_t dync__script_outputs(dync__tracer *t, const dync__opcall *c)
{
    int32_t first = t->script->value.n;
    if (c->row->cls == DYNC__INPLACE)
        return c->nout == 1 ? dync__script_find(t->script, c->out[0]) : -1;
    for (int i = 0; i < c->nout; i++)
        if (c->out[i] && dync__script_find(t->script, c->out[i]) >= 0) return -1;
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

DYNC__FN void dync__script_op(dync__tracer *t, const dync__opcall *c, dync__number *const *operand)
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
    e.value = ok ? dync__script_outputs(t, c) : -1;
    if (e.value < 0 && c->nout) dync__script_stop(t);
    if (!t->noting) return;
    e.flags = c->nout && c->out[0] ? c->out[0]->flags : 0;
    e.plain = c->nout == 1 && c->out[0] && c->row->cls != DYNC__INPLACE;
    if (dync__script_event_add(t, e)) dync__script_waits(t, dync__tls.grad_enabled_off);
}

DYNC__FN void dync__script_foreign(dync__tracer *t, int env)
{
    if (env < 0 || !dync__script_room(t)) return;
    if (t->env.real.at[env]->storage->flags & DYNC__STORAGE_BORROWED) t->script->writes = true;
    dync__script_event e = {.kind = DYNC__EV_FOREIGN,
                            .value = dync__script_value_add(t, t->env.fake.at[env], true)};
    if (e.value >= 0) dync__script_event_add(t, e);
}

DYNC__FN void dync__script_frame(dync__tracer *t, const char *name_or_null, dync_loc at)
{
    if (!dync__script_room(t)) return;
    dync__script_event e = {.kind = name_or_null ? DYNC__EV_FRAME : DYNC__EV_FRAME_END, .at = at};
    if (name_or_null && !(e.name = dync__arena_strdup(&t->script->arena, name_or_null)))
        dync__script_stop(t);
    else
        dync__script_event_add(t, e);
}

/* ---- cuts ------------------------------------------------------------------------------------ */
DYNC__FN void dync__script_cut_begin(dync__tracer *t, const char *reason)
{
    /* the last cut is END's, which is open already */
    if (!t->noting || t->script->cut || !dync__script_room(t)) return;
    dync__arena *arena = &t->script->arena;
    dync__cut_record *cut = dync__arena_alloc(arena, sizeof *cut);
    if (cut) {
        cut->line = t->last_at.line;
        if (reason) cut->reason = dync__arena_strdup(arena, reason);
        if (t->last_at.file) cut->file = dync__arena_strdup(arena, t->last_at.file);
    }
    if (!cut || (reason && !cut->reason) || (t->last_at.file && !cut->file)) dync__script_stop(t);
    t->script->cut = cut;
}

/* The event of operator call k of the piece; -1: there is none. Switches of grad mode do not count:
 * some leave the graph. */
static int32_t dync__script_call(const dync__tracer *t, int k)
{
    const dync__script *s = t->script;
    for (int i = t->cut.lo; i < t->cut.hi; i++)
        if (s->event.at[s->waiting.at[i]].op != DYNC__OP__set_grad_enabled && k-- == 0)
            return s->waiting.at[i];
    return -1;
}

/* The numbers that are inputs of the piece. An event that only this way has takes any number there;
 * one that takes any number already must be among them, else the piece is good for this call
 * alone. */
static bool dync__script_numbers(dync__tracer *t, const dync__segref *ref, dync__cut_part *p)
{
    dync__script *s = t->script;
    const dync__lift *lift = ref->seg->lift;
    int n = lift ? lift->n : 0, inputs = ref->seg->n_in - n;
    dync__cut_number *number = dync__arena_alloc(&s->arena, (size_t)(n + 1) * sizeof *number);
    bool ok = number && s->waiting.n == t->rec.pending;
    for (int i = 0; i < n && ok; i++) {
        int32_t at = dync__script_call(t, lift->place[i].call);
        const dync__script_event *e = at < 0 ? NULL : &s->event.at[at];
        ok = e && e->kind == DYNC__EV_OP && e->op == lift->form->node.at[lift->place[i].node]->op;
        if (ok)
            number[i] = (dync__cut_number){
                at, dync__script_value_add(t, t->env.fake.at[ref->in_env[inputs + i]], true),
                lift->place[i].arg};
        ok = ok && number[i].value >= 0;
    }
    for (int k = t->cut.lo; k < t->cut.hi && ok; k++) {
        dync__script_event *e = &s->event.at[s->waiting.at[k]];
        uint32_t inside = 0;
        for (int i = 0; i < n; i++)
            if (number[i].event == s->waiting.at[k]) inside |= 1u << number[i].arg;
        if (s->waiting.at[k] >= s->old) e->free |= inside;
        ok = !(e->free & ~inside);
    }
    p->number = number;
    p->n_number = n;
    return ok;
}

DYNC__FN void dync__script_piece(dync__tracer *t, const dync__segref *ref, int n_out,
                                 dync__tensor *const *fakes)
{
    dync__script *s = t->script;
    if (!t->noting || !s->cut) return;
    dync__cut_part p = {.seg = ref->seg, .n_out = n_out};
    int32_t *value = dync__arena_alloc(&s->arena, (size_t)(n_out + 1) * sizeof *value);
    dync__origin *origin = dync__arena_alloc(&s->arena, (size_t)(n_out + 1) * sizeof *origin);
    p.fake = dync__arena_copy(&s->arena, fakes, (size_t)n_out * sizeof *fakes);
    p.in_env =
        dync__arena_copy(&s->arena, ref->in_env, (size_t)(ref->seg->n_in + 1) * sizeof *p.in_env);
    p.value = value;
    p.origin = origin;
    bool ok = value && origin && p.fake && p.in_env;
    for (int i = 0; i < n_out && ok; i++) origin[i] = (dync__origin){p.seg, p.in_env, i, 0, false};
    /* it ends with this call */
    for (int i = 0; i < t->transient.n && ok; i++) ok = t->transient.at[i] != ref->seg;
    for (int i = 0; i < n_out && ok; i++) ok = (value[i] = dync__script_find(s, fakes[i])) >= 0;
    for (int i = 0; i < ref->seg->n_in && ok; i++)
        dync__script_wants(t, t->env.fake.at[ref->in_env[i]]);
    if (!ref->seg->narrowable) s->writes = true;
    ok = ok && dync__script_numbers(t, ref, &p);
    if (!ok || !dync__avec_push(&s->arena, &s->cut->piece, p)) dync__script_stop(t);
}

static bool dync__cut_has(const dync__cut_record *cut, int32_t value)
{
    for (int i = 0; i < cut->piece.n; i++)
        for (int k = 0; k < cut->piece.at[i].n_out; k++)
            if (cut->piece.at[i].value[k] == value) return true;
    return false;
}

/* What was made since the last cut and did not leave with this one must not be held when the cut is
 * met again. */
static bool dync__script_dead(dync__script *s, dync__cut_record *cut)
{
    for (int i = 0; i < s->waiting.n; i++) {
        const dync__script_event *e = &s->event.at[s->waiting.at[i]];
        if (e->kind != DYNC__EV_OP || dync__op_info(e->op)->cls == DYNC__INPLACE) continue;
        for (int32_t v = e->value; v < e->value + e->n_out; v++)
            if (s->value.at[v].fake && !dync__cut_has(cut, v) &&
                !dync__avec_push(&s->arena, &cut->dead, v))
                return false;
    }
    return true;
}

DYNC__FN void dync__script_cut_end(dync__tracer *t, bool returns)
{
    dync__script *s = t->script;
    if (t->noting && s->cut) {
        dync__script_event e = {.kind = returns ? DYNC__EV_END : DYNC__EV_CUT, .cut = s->cut};
        if (!returns && !dync__script_dead(s, s->cut))
            dync__script_stop(t);
        else
            dync__script_event_add(t, e);
    }
    if (!s) return;
    s->cut = NULL;
    s->waiting.n = 0;
}

static bool dync__script_result(dync__tracer *t, const dync_value *v)
{
    if (v->kind == DYNC_KIND_TENSOR) {
        const dync__tensor *x = dync__open(v->as.t);
        if (x && !dync__tracer_owns(t, x)) x = dync__tracer_adopt(t, (dync__tensor *)(uintptr_t)x);
        int32_t value = x ? dync__script_find(t->script, x) : -1;
        if (value >= 0) t->script->value.at[value].wanted = true;
        return value >= 0 && dync__avec_push(&t->script->arena, &t->script->cut->result, value);
    }
    const dync__list *l = dync__value_list(*v);
    for (int i = 0; l && i < l->n; i++)
        if (!dync__script_result(t, &l->items[i])) return false;
    return true;
}

/* Before the last cut. */
DYNC__FN void dync__script_returns(dync__tracer *t, const dync_value *result)
{
    dync__script_cut_begin(t, NULL);
    if (t->noting && !dync__script_result(t, result)) dync__script_stop(t);
}

DYNC__FN void dync__script_wants(dync__tracer *t, const dync__tensor *fake)
{
    int32_t i = t->script ? dync__script_find(t->script, fake) : -1;
    if (i >= 0) t->script->value.at[i].wanted = true;
}

DYNC__FN void dync__script_may_write(dync__tracer *t)
{
    if (t->script) t->script->writes = true;
}

/* Its segments compute what some way of the script wants, or everything. */
static dync_status dync__script_narrow(dync__script *s, bool everything)
{
    dync_status status = DYNC_OK;
    for (int i = 0; i < s->event.n && status == DYNC_OK; i++) {
        const dync__cut_record *cut = s->event.at[i].cut;
        for (int k = 0; cut && k < cut->piece.n && status == DYNC_OK; k++) {
            const dync__cut_part *p = &cut->piece.at[k];
            if (everything && !p->seg->used) continue; /* it is not narrowed */
            bool few[64], *used = dync__room(few, 64, p->n_out, sizeof *used);
            for (int o = 0; used && o < p->n_out; o++)
                used[o] = everything || s->value.at[p->value[o]].wanted;
            status = used ? dync__segment_narrow(p->seg, used) : DYNC_ERR_MEMORY;
            dync__room_end(used, few, p->n_out, sizeof *used);
        }
    }
    return status;
}

/* After a call that followed to its end. What is dropped could be computed again at once when
 * another way is taken: only where nothing that the segments read is written meanwhile. */
DYNC__FN void dync__script_followed(dync__script *s)
{
    if (s->narrowed || s->writes) return;
    s->narrowed = true;
    if (dync__script_narrow(s, false) != DYNC_OK) s->broken = true;
}

/* ---- life ------------------------------------------------------------------------------------ */
static void dync__script_free(dync__script *s)
{
    dync__symtab_free(s->syms);
    for (int i = 0; i < s->value.n; i++)
        if (s->value.at[i].owned) dync__unref(s->value.at[i].fake);
    dync__vec_free(&s->event);
    dync__vec_free(&s->value);
    dync__vec_free(&s->waiting);
    dync__vec_free(&s->real);
    dync__vec_free(&s->fake);
    dync__vec_free(&s->holder);
    dync__vec_free(&s->origin);
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

/* A new script begins with the arguments' fakes. */
DYNC__FN void dync__script_begin(dync__tracer *t)
{
    dync__cache_entry *e = t->entry;
    int n = 0;
    for (const dync__script *s = DYNC__ATOMIC_LOAD(&e->scripts); s; s = s->next) n++;
    if (n >= DYNC__SCRIPTS) return;
    bool lent = false;
    for (int i = 0; i < t->env.real.n; i++) {
        lent = lent || (t->env.real.at[i]->storage->flags & DYNC__STORAGE_BORROWED);
    }
    dync__script *s = t->script = dync__calloc(sizeof *s);
    if (!s) return;
    s->busy = 1;
    s->id = t->id;
    s->root = s->at = -1;
    s->writes = lent;
    t->noting = true;
    for (int i = 0; i < t->env.real.n; i++) dync__script_value_add(t, t->env.fake.at[i], true);
    t->script_is_new = true;
}

/* The trace has closed: no fake is a node any more. What a trace did to a fake besides is not
 * undone. */
DYNC__FN void dync__script_end(dync__tracer *t, bool failed)
{
    dync__script *s = t->script;
    if (!s) return;
    t->script = NULL;
    for (int i = 0; i < s->value.n && !s->broken; i++) {
        const dync__tensor *x = s->value.at[i].fake;
        s->broken = x && (!s->value.at[i].owned || x->grad || x->node || x->storage->trace);
    }
    s->waiting.n = 0;
    s->cut = NULL;
    s->narrowed = false;
    if (s->writes && dync__script_narrow(s, true) != DYNC_OK) s->broken = true;
    if (!t->script_is_new) {
        DYNC__ATOMIC_STORE(&s->busy, 0);
        return;
    }
    bool sized = !t->symbols.sizes || (s->syms = dync__symtab_copy(t->symbols.sizes, NULL)) != NULL;
    if (failed || s->broken || s->event.n == 0 || !sized) {
        dync__script_free(s);
        return;
    }
    DYNC__ATOMIC_STORE(&s->busy, 0);
    dync__script *head = DYNC__ATOMIC_LOAD(&t->entry->scripts);
    do s->next = head;
    while (!DYNC__ATOMIC_CAS(&t->entry->scripts, &head, s));
}
