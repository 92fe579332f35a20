/* capture/script_cut.c: notes cuts and the end of a call into its script, and what its segments
 * need not compute. After env.c, before piece.c. */
#include "../dync.in.h"
#include "script.h"
DYNC__COLD

DYNC__FN void dync__note_cut_begin(dync__tracer *t, const char *reason)
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
        if (!dync__op_sets_grad_mode(s->event.at[s->waiting.at[i]].op) && k-- == 0)
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

DYNC__FN void dync__note_piece(dync__tracer *t, const dync__segref *ref, int n_out,
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
    for (int i = 0; i < n_out && ok; i++)
        origin[i] = (dync__origin){.seg = p.seg, .in_env = p.in_env, .out = i};
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
        if (e->kind != DYNC__EV_OP || e->old) continue;
        for (int32_t v = e->value; v < e->value + e->n_out; v++)
            if (s->value.at[v].fake && !dync__cut_has(cut, v) &&
                !dync__avec_push(&s->arena, &cut->dead, v))
                return false;
    }
    return true;
}

DYNC__FN void dync__note_cut_end(dync__tracer *t, bool returns)
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
DYNC__FN void dync__note_returns(dync__tracer *t, const dync_value *result)
{
    dync__note_cut_begin(t, NULL);
    if (t->noting && !dync__script_result(t, result)) dync__script_stop(t);
}

/* ---- narrowing ------------------------------------------------------------------------------- */
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

/* Do its pieces gain nothing? A piece of one operator is the plan that an eager call of it has, and
 * comparing, cutting and handing over come on top. Gradients are kernels of their own there. */
static bool dync__script_is_lean(const dync__script *s)
{
    for (int i = 0; i < s->event.n; i++) {
        const dync__script_event *e = &s->event.at[i];
        if (e->alt >= 0 || (e->kind == DYNC__EV_OP && !e->plain)) return false;
        if (e->kind == DYNC__EV_OP && ((dync__op_info(e->op)->flags & DYNC__OP_RANDOM) ||
                                       dync__op_info(e->op)->cls == DYNC__COMPOSITE))
            return false;
        for (int k = 0; e->cut && k < e->cut->piece.n; k++) {
            const dync__segment *piece = e->cut->piece.at[k].seg;
            if (piece->n_ops > 1 || piece->code.run != dync__raw_run) return false;
        }
    }
    for (int i = 0; i < s->value.n; i++)
        if (s->value.at[i].flags & DYNC__T_REQUIRES_GRAD) return false;
    return true;
}

/* From so many calls on an entry is run as written whose calls all end one such script. */
enum { DYNC__LEAN_CALLS = 32 };
static void dync__script_counts(dync__tracer *t, const dync__script *s)
{
    dync__cache_entry *e = t->entry;
    if (DYNC__ATOMIC_PEEK(&e->lean) < 0) return;
    bool lean = !s->next && DYNC__ATOMIC_LOAD(&e->scripts) == s && !e->particular && !e->effects &&
                !e->cells.n && !e->n_numbers && !e->constants.n && dync__script_is_lean(s);
    if (!lean)
        DYNC__ATOMIC_STORE(&e->lean, -1);
    else if (DYNC__ATOMIC_INC(&e->lean) == DYNC__LEAN_CALLS) {
        dync__log(DYNC__LOG_graph,
                  "%s: each graph is one operator: calls run as written from now on", t->fn->name);
        DYNC__ATOMIC_STORE(&e->written, true);
    }
}

/* After a call that followed to its end. What is dropped could be computed again at once when
 * another way is taken: only where nothing that the segments read is written meanwhile. */
DYNC__FN void dync__script_followed(dync__tracer *t, dync__script *s)
{
    dync__script_counts(t, s);
    if (s->narrowed || s->writes) return;
    s->narrowed = true;
    if (dync__script_narrow(s, false) != DYNC_OK) s->broken = true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */
/* A new script begins with the arguments' fakes. */
DYNC__FN void dync__note_begin(dync__tracer *t)
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
DYNC__FN void dync__note_end(dync__tracer *t, bool failed)
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
