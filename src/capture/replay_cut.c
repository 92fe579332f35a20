/* capture/replay_cut.c: cuts, beginning and end of a call that follows a script; the way that it is
 * (dync__way). After replay.c. */
#include "../dync.in.h"
#include "script.h"
DYNC__WARM

/* ---- cuts ------------------------------------------------------------------------------------ */
static bool dync__replay_texts(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Is what the record dropped gone in this call too? */
static bool dync__replay_gone(const dync__script *s, const dync__cut_record *cut)
{
    for (int i = 0; i < cut->dead.n; i++)
        if (DYNC__ATOMIC_PEEK(&s->value.at[cut->dead.at[i]].fake->refs) != 1) return false;
    return true;
}

/* The numbers of this call that a segment takes as inputs. */
static dync_status dync__replay_numbers(dync__tracer *t, const dync__cut_part *p)
{
    dync__script *s = t->script;
    for (int i = 0; i < p->n_number; i++) {
        const dync__cut_number *n = &p->number[i];
        dync__tensor *real =
            dync__number_tensor(dync__arg_to_value(&s->event.at[n->event].args[n->arg]));
        if (!real) return DYNC_ERR_MEMORY;
        dync__replay_place(t, real, s->value.at[n->value].fake);
        dync__unref(real);
    }
    return DYNC_OK;
}

/* The segments that the record ran here; out of each enter the environment. */
static dync_status dync__replay_piece(dync__tracer *t, const dync__cut_part *p)
{
    dync__tensor *few[DYNC__FEW], **out = dync__room(few, DYNC__FEW, p->n_out, sizeof *out);
    if (!out || !dync__env_room(&t->env, p->n_out + p->n_number)) {
        dync__room_end(out, few, p->n_out, sizeof *out);
        return DYNC_ERR_MEMORY;
    }
    dync_status status = dync__replay_numbers(t, p);
    if (status == DYNC_OK) status = dync__cut_run(t, p->seg, p->in_env, out);
    for (int i = 0; i < p->n_out && status == DYNC_OK; i++)
        if (!out[i] && t->script->value.at[p->value[i]].wanted)
            status = dync__cut_complete(t, p->seg, p->in_env, out);
    if (status == DYNC_OK) dync__replay_place_all(t, p, out);
    dync__room_end(out, few, p->n_out, sizeof *out);
    return status;
}

static dync_status dync__replay_pieces(dync__tracer *t, const dync__cut_record *cut)
{
    bool grad_off = dync__grad_is_off();
    dync_status status = DYNC_OK;
    for (int i = 0; i < cut->piece.n && status == DYNC_OK; i++) {
        dync__grad_off(!cut->piece.at[i].seg->grad_mode);
        status = dync__replay_piece(t, &cut->piece.at[i]);
    }
    dync__grad_off(grad_off);
    t->rec.pending = 0;
    t->script->waiting.n = 0;
    for (int i = 0; i < t->rec.frames.n; i++) t->rec.frames.at[i].mark = 0;
    return status == DYNC_OK ? DYNC_OK : dync__tracer_fail(t, status);
}

/* The first segment's inputs may lie on memory in another way than they did; of later ones only
 * what earlier ones made could. */
static bool dync__replay_memory_fits(const dync__tracer *t, const dync__cut_record *cut)
{
    for (int i = 0; i < cut->piece.n; i++) {
        const dync__segment *s = cut->piece.at[i].seg;
        for (int a = 0; s->alias && a < s->n_in; a++) {
            int env = cut->piece.at[i].in_env[a], earliest = -1;
            const dync__tensor *x = env < t->env.real.n ? t->env.real.at[env] : NULL;
            for (int b = 0; x && b < a && earliest < 0; b++) {
                int other = cut->piece.at[i].in_env[b];
                if (other < t->env.real.n && t->env.real.at[other] &&
                    t->env.real.at[other]->storage == x->storage)
                    earliest = b;
            }
            if (x && earliest != s->alias[a]) return false;
        }
    }
    return true;
}

/* false: the script has no such cut here. */
static bool dync__replay_has_cut(dync__tracer *t, const char *reason, dync_status *status)
{
    dync__script *s = t->script;
    *status = DYNC_OK;
    if (!t->rec.pending) return true;
    for (int32_t at = dync__script_first(s); at >= 0; at = s->event.at[at].alt) {
        const dync__cut_record *cut = s->event.at[at].cut;
        if (s->event.at[at].kind != DYNC__EV_CUT || !dync__replay_texts(cut->reason, reason))
            continue;
        if (cut->line != t->last_at.line || !dync__replay_texts(cut->file, t->last_at.file))
            continue;
        if (!dync__replay_gone(s, cut) || !dync__replay_memory_fits(t, cut)) continue;
        s->at = at;
        *status = dync__replay_pieces(t, cut);
        return true;
    }
    return false;
}

/* Are the tensors of a returned value these? *k counts. */
static bool dync__replay_returned(dync__tracer *t, const dync__cut_record *cut, const dync_value *v,
                                  int *k)
{
    if (v->kind == DYNC_KIND_TENSOR) {
        const dync__tensor *x = dync__peek(v->as.t);
        if (!x || *k >= cut->result.n) return false;
        const dync__tensor *fake = t->script->value.at[cut->result.at[(*k)++]].fake;
        int env = x == fake || (x->flags & DYNC__T_FAKE) ? -1 : dync__replay_env(t, fake);
        return x == fake || (env >= 0 && t->env.real.at[env] == x);
    }
    const dync__list *l = dync__value_list(*v);
    for (int i = 0; l && i < l->n; i++)
        if (!dync__replay_returned(t, cut, &l->items[i], k)) return false;
    return true;
}

/* The function has returned. false: not as in the record. */
static bool dync__replay_has_end(dync__tracer *t, const dync_value *result, dync_status *status)
{
    dync__script *s = t->script;
    for (int32_t at = dync__script_first(s); at >= 0; at = s->event.at[at].alt) {
        const dync__script_event *e = &s->event.at[at];
        int k = 0;
        if (e->kind != DYNC__EV_END || !dync__replay_returned(t, e->cut, result, &k) ||
            k != e->cut->result.n)
            continue;
        if (!dync__replay_memory_fits(t, e->cut)) continue;
        s->at = at;
        *status = dync__replay_pieces(t, e->cut);
        return true;
    }
    return false;
}

/* ---- the way that follows a script ----------------------------------------------------------- */
/* What the script does not know makes a trace of the call, which goes on as one. */
static int dync__replay_foreign(dync__tracer *t, dync__tensor *real, dync_tensor **address,
                                const char *source)
{
    int known = dync__replay_meets(t, real);
    if (known >= 0) return known;
    dync__replay_leave(t);
    return t->way->foreign(t, real, address, source);
}

static void dync__replay_frame(dync__tracer *t, const char *name, dync_loc at)
{
    if (dync__replay_has_frame(t, name, at)) return;
    dync__replay_leave(t);
    t->way->frame(t, name, at);
}

static dync_status dync__replay_cut(dync__tracer *t, const char *reason)
{
    dync_status status;
    if (dync__replay_has_cut(t, reason, &status)) {
        t->cut.taken = 0;
        return status;
    }
    dync__replay_leave(t);
    return t->way->cut(t, reason);
}

/* Nothing read it so far: the script has given it no place. */
static int dync__replay_place_of(dync__tracer *t, const dync__tensor *fake)
{
    if (dync__replay_env(t, fake) < 0) dync__replay_leave(t);
    return fake->node_output;
}

/* The script drops it, this call reads it. */
static dync_status dync__replay_value(dync__tracer *t, int env)
{
    dync__replay_leave(t);
    return t->env.real.at[env] ? DYNC_OK : t->way->value(t, env);
}

/* It drops only where nothing is written (dync__script_followed). */
static dync_status dync__replay_keep(dync__tracer *t)
{
    (void)t;
    return DYNC_OK;
}

static dync_status dync__replay_finish(dync__tracer *t, dync_value result, dync__outval *out)
{
    dync_status status;
    if (dync__replay_has_end(t, &result, &status))
        return status == DYNC_OK ? dync__result_tree(t, &result, out) : status;
    dync__replay_leave(t);
    return t->way->finish(t, result, out);
}

/* What the trace does from here is not noted. */
static void dync__replay_own(dync__tracer *t)
{
    dync__replay_leave(t);
    dync__script_stop(t);
}

static void dync__replay_close(dync__tracer *t)
{
    dync__script *s = t->script;
    for (int i = 0; i < t->env.real.n; i++) dync__unref(t->env.real.at[i]);
    dync__env_empty(&t->env);
    s->env = t->env;
    memset(&t->env, 0, sizeof t->env);
    t->script = NULL;
    if (t->status == DYNC_OK) dync__script_followed(t, s);
    DYNC__ATOMIC_STORE(&s->busy, 0);
}

static const dync__way dync__replaying_way = {
    .foreign = dync__replay_foreign,
    .frame = dync__replay_frame,
    .cut = dync__replay_cut,
    .piece = dync__record_piece,
    .branch = dync__record_branch,
    .found = dync__record_found,
    .effects = dync__record_effects,
    .place = dync__replay_place_of,
    .value = dync__replay_value,
    .keep = dync__replay_keep,
    .finish = dync__replay_finish,
    .own = dync__replay_own,
    .close = dync__replay_close,
};

/* ---- beginning ------------------------------------------------------------------------------- */
static bool dync__replay_arguments(dync__tracer *t, dync__script *s)
{
    const dync__cache_entry *e = t->entry;
    int n = 0;
    for (int i = 0; i < t->call->n_tensors; i++) {
        if (e->tensor[i].same_as >= 0) continue;
        const dync__tensor *fake = s->value.at[n++].fake;
        if (!dync__script_fits(fake, t->call->tensor[i]) || DYNC__ATOMIC_PEEK(&fake->refs) != 1)
            return false;
        /* written by anybody at any time */
        if ((t->call->tensor[i]->storage->flags & DYNC__STORAGE_BORROWED) && !s->writes)
            return false;
    }
    return true;
}

static bool dync__replay_take(dync__tracer *t, dync__script *s)
{
    int32_t idle = 0;
    if (!DYNC__ATOMIC_CAS(&s->busy, &idle, 1)) return false;
    if (!s->broken && (!s->syms || dync__shapes_again(t, s->syms)) && dync__replay_arguments(t, s))
        return true;
    dync__symtab_free(t->symbols.sizes);
    t->symbols.sizes = dync__tls.syms = NULL;
    DYNC__ATOMIC_STORE(&s->busy, 0);
    return false;
}

/* An idle script for these arguments, if there is one: the call follows it. */
DYNC__FN bool dync__replay_begin(dync__tracer *t)
{
    const dync__cache_entry *e = t->entry;
    dync__script *s = DYNC__ATOMIC_LOAD(&e->scripts);
    while (s && !dync__replay_take(t, s)) s = s->next;
    if (!s) return false;
    t->script = s;
    t->id = s->id;
    t->way = &dync__replaying_way;
    t->handler.call = dync__replay_call;
    t->handler.known = dync__replay_known;
    s->at = -1;
    s->waiting.n = 0;
    t->env = s->env;
    memset(&s->env, 0, sizeof s->env);
    if (!dync__env_room(&t->env, t->call->n_tensors + e->n_numbers)) {
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return true;
    }
    for (int i = 0; i < t->call->n_tensors; i++) {
        int same = e->tensor[i].same_as;
        t->leaf[i] = same >= 0 ? t->leaf[same] : t->env.real.n;
        if (same >= 0) continue;
        const dync__kept_value *v = &s->value.at[t->env.real.n];
        v->fake->generation = (v->fake->generation + 1) & DYNC__HANDLE_GENERATIONS;
        v->fake->flags = v->flags;
        /* another one where sizes are symbolic */
        v->fake->storage->size_bytes = t->call->tensor[i]->storage->size_bytes;
        dync__replay_place(t, t->call->tensor[i], v->fake);
    }
    for (int k = 0; k < e->n_numbers; k++) {
        dync__tensor *fake = s->value.at[t->env.real.n].fake,
                     *real = dync__number_tensor(t->call->args[e->number_arg[k]]);
        bool again = real && dync__number_again(t, k, fake);
        if (again) dync__replay_place(t, real, fake);
        dync__unref(real);
        if (!again) return dync__tracer_fail(t, DYNC_ERR_MEMORY), true;
    }
    return true;
}
