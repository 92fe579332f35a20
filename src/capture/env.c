/* capture/env.c: the environment: real tensors that a traced call has met or computed, each with
 * the fake that traced code sees. After script.c, before record.c.
 *
 * Segments compute no more than is used (narrowing); what was dropped and is wanted after all is
 * computed again by interpreting the segment's graph. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- places ---------------------------------------------------------------------------------- */
/* Adds a value: real (a reference is taken, may be NULL) and its fake (taken over). */
DYNC__FN int dync__tracer_env_add(dync__tracer *t, dync__tensor *real, dync__tensor *fake)
{
    if (!fake || !dync__env_room(&t->env, 1)) {
        dync__unref(fake);
        return -1;
    }
    if (real) dync__ref(real);
    fake->trace_id = t->id;
    fake->node = NULL;
    return fake->node_output = dync__env_put(&t->env, real, fake);
}

DYNC__FN dync__tensor *dync__fake_of(const dync__tensor *real, const dync__layout *lay)
{
    dync__tensor *fake = dync__tensor_fake(real->dtype, real->device, lay);
    if (!fake) return NULL;
    fake->storage->size_bytes = real->storage->size_bytes;
    fake->flags |= real->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_PARAMETER);
    fake->name = real->name;
    return fake;
}

/* A real tensor met for the first time: an argument, or a foreign one (a global, a module's
 * parameter). */
DYNC__FN int dync__tracer_env_real(dync__tracer *t, dync__tensor *real)
{
    return dync__tracer_env_add(t, real, dync__fake_of(real, &real->lay));
}

/* A trace that follows a run meets what the run has written, which may require a gradient by now:
 * for the graph it is what it was when the call began, as guarded. */
DYNC__FN void dync__env_as_guarded(dync__tracer *t, int env, const dync__tensor_guard *g)
{
    dync__tensor *fake = t->env.fake.at[env];
    unsigned others = fake->flags & ~(unsigned)DYNC__T_REQUIRES_GRAD;
    fake->flags = (uint8_t)(g->requires_grad ? others | DYNC__T_REQUIRES_GRAD : others);
}

/* ---- tensors from elsewhere ------------------------------------------------------------------ */
static const char *dync__foreign_source(dync__tracer *t, const dync__tensor *real,
                                        dync__cache_entry *e)
{
    dync__module *root = dync__callee_module(&t->fn->callee);
    dync__str path = {0};
    const char *source = NULL;
    if (root && dync__module_path_of(root, real, &path))
        source = dync__arena_printf(&e->arena, "L['self'].%s", dync__str_get(&path));
    for (int i = 0; !source && i < e->modules.n; i++) {
        dync__str_free(&path);
        const dync__module_guard *g = &e->modules.at[i];
        const char *name = g->text                               ? g->text
                           : g->module->name && *g->module->name ? g->module->name
                                                                 : "net";
        if (dync__module_path_of(g->module, real, &path))
            source = dync__arena_printf(&e->arena, "G['%s'].%s", name, dync__str_get(&path));
    }
    dync__str_free(&path);
    if (!source && real->name) source = dync__arena_printf(&e->arena, "G['%s']", real->name);
    return source ? source : dync__arena_printf(&e->arena, "G['tensor_%d']", e->foreign.n);
}

/* The record of a foreign tensor: by the variable where it was declared, else by (handle, id). */
static int dync__foreign_find(const dync__cache_entry *e, const dync__tensor *real,
                              dync_tensor **address)
{
    int k = 0;
    for (; k < e->foreign.n; k++) {
        const dync__foreign *f = &e->foreign.at[k];
        if (f->owner) continue;
        if (address      ? f->address == address
            : f->address ? dync__peek(*f->address) == real
                         : f->id == real->id)
            break;
    }
    return k;
}

/* Where a foreign tensor stands in the environment; it is guarded and held weakly by (handle, id),
 * or read again from its address. */
DYNC__FN int dync__record_foreign(dync__tracer *t, dync__tensor *real,
                                  dync_tensor **address_or_null, const char *source_or_null)
{
    dync__cache_entry *e = t->entry;
    int env = -1, k = dync__foreign_find(e, real, address_or_null);
    /* the entry has it beside the arguments, whatever it is now */
    bool apart = k < e->foreign.n && e->foreign.at[k].guard.same_as < 0;
    for (int i = apart ? e->n_leaf_env : 0; env < 0 && i < t->env.real.n; i++)
        if (t->env.real.at[i] == real && !t->env.origin.at[i].is_grad)
            env = i; /* a gradient is guarded through its owner, this one by itself */
    if (env >= e->n_leaf_env) return env;
    /* the variable holds one of this call's arguments: guarded, it may differ later */
    bool argument = env >= 0;
    if (!argument) {
        env = dync__tracer_env_real(t, real);
        if (env >= 0 && t->path.n && k < e->foreign.n)
            dync__env_as_guarded(t, env, &e->foreign.at[k].guard);
        dync__script_foreign(t, env);
    }
    /* off the tree nothing is kept: the next call meets it anew */
    if (env < 0 || !t->on_tree) return env;
    if (k == e->foreign.n) {
        dync__foreign f = {
            .handle = dync__handle(real), .id = real->id, .address = address_or_null};
        const char *source = source_or_null ? source_or_null : dync__foreign_source(t, real, e);
        if (!source || dync__tensor_guard_make(&e->arena, &f.guard, real, source) != DYNC_OK)
            return -1;
        dync__foreign_aliases(e, t->call, &f, real);
        if (!dync__entry_push(e, &e->foreign, f)) return -1;
    }
    t->env.origin.at[env].foreign = argument ? 0 : k + 1;
    /* in place already; on a replayed way it is recorded */
    if (argument || !t->at) return env;
    dync__foreign_use use = {.env = env, .index = k};
    return dync__avec_push(&e->arena, &t->at->foreign, use) ? env : -1;
}

/* The fake a tensor stands as in this trace; NULL + error. */
DYNC__OFTEN DYNC__FN dync__tensor *dync__tracer_adopt(dync__tracer *t, dync__tensor *x)
{
    if (dync__tracer_owns(t, x)) return x;
    if (x->flags & DYNC__T_FAKE) {
        dync__fail(
            DYNC_ERR_VALUE,
            "expected a tensor of this call, got one that was made while another call was traced "
            "and kept in a variable (made by %s)",
            x->op ? x->op : "?");
        return NULL;
    }
    int env = t->way->foreign(t, x, NULL, NULL);
    return env < 0 ? NULL : t->env.fake.at[env];
}

/* ---- memory ---------------------------------------------------------------------------------- */
/* ---- what was dropped ------------------------------------------------------------------------ */
/* All outputs of a segment by interpreting its full graph; those that are there already stay. */
static dync_status dync__cut_interpret(dync__tracer *t, const dync__segment *s, const int *in_env,
                                       dync__tensor **out)
{
    dync__arena arena = {0};
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(s->n_in + 1) * sizeof *args), all = {0};
    dync_status status = args ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n_in && status == DYNC_OK; i++) {
        dync__tensor *x = dync__env_real(t, in_env[i]);
        args[i] = x && (x->flags & DYNC__T_NUMBER) ? dync__arg_value(dync__number_value(x))
                                                   : dync__arg_t(x);
        if (!x) status = DYNC_ERR_INTERNAL;
    }
    dync__trace_pause pause = dync__trace_pause_begin(t);
    if (status == DYNC_OK) status = dync__graph_eval(s->graph, args, s->n_in, &arena, &all);
    dync__trace_pause_end(t, pause);
    for (int i = 0; status == DYNC_OK && i < all.n; i++) {
        const dync__arg *a = &all.as.list[i];
        dync__tensor *x = dync__arg_is_number(a) ? dync__number_tensor(dync__arg_to_value(a))
                                                 : a->as.t;
        if (!out[i])
            out[i] = x;
        else
            dync__unref(x);
    }
    dync__arena_free(&arena);
    return status;
}

DYNC__FN dync_status dync__cut_complete(dync__tracer *t, dync__segment *s, const int *in_env,
                                        dync__tensor **out)
{
    bool dropped = false;
    for (int i = 0; i < s->n_out; i++) dropped |= !out[i];
    return dropped ? dync__cut_interpret(t, s, in_env, out) : DYNC_OK;
}

/* A value that narrowing dropped is wanted after all: the segment's full graph is interpreted once,
 * and from now on it is kept. */
static dync_status dync__env_dropped(dync__tracer *t, int env)
{
    dync__origin o = t->env.origin.at[env];
    if (!o.seg) return dync__fail(DYNC_ERR_INTERNAL, "value %d of a traced call is gone", env);
    dync__tensor **out = dync__calloc((size_t)(o.seg->n_out + 1) * sizeof *out);
    bool *used = dync__calloc((size_t)o.seg->n_out + 1);
    dync_status status = out && used ? dync__cut_interpret(t, o.seg, o.in_env, out)
                                     : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        t->env.real.at[env] = out[o.out];
        out[o.out] = NULL;
        used[o.out] = true;
        status = dync__segment_narrow(o.seg, used);
    }
    for (int i = 0; out && i < o.seg->n_out; i++) dync__unref(out[i]);
    dync__free(out, (size_t)(o.seg->n_out + 1) * sizeof *out);
    dync__free(used, (size_t)o.seg->n_out + 1);
    return status;
}

/* By need: whole graphs drop nothing. */
static dync_status (*DYNC__BY_NEED dync__env_dropped_used)(dync__tracer *, int env) =
    DYNC__AT_FIRST(dync__env_dropped);
DYNC__FN void dync__env_drops(void) { DYNC__PUT(dync__env_dropped_used, dync__env_dropped); }
DYNC__FN dync_status dync__record_value(dync__tracer *t, int env)
{
    return dync__env_dropped_used ? dync__env_dropped_used(t, env) : dync__unlinked("graph breaks");
}

/* Off the script anything may be used, and anything written: what was dropped is computed now. */
DYNC__FN dync_status dync__env_complete(dync__tracer *t)
{
    dync_status status = DYNC_OK;
    for (int env = 0; env < t->env.real.n && status == DYNC_OK; env++) {
        dync__origin o = t->env.origin.at[env];
        if (t->env.real.at[env] || !o.seg) continue;
        dync__tensor **out = dync__calloc((size_t)(o.seg->n_out + 1) * sizeof *out);
        status = out ? dync__cut_interpret(t, o.seg, o.in_env, out) : DYNC_ERR_MEMORY;
        for (int k = env; k < t->env.real.n && status == DYNC_OK; k++) {
            const dync__origin *other = &t->env.origin.at[k];
            if (other->seg != o.seg || other->in_env != o.in_env || t->env.real.at[k]) continue;
            t->env.real.at[k] = out[other->out];
            out[other->out] = NULL;
        }
        for (int i = 0; out && i < o.seg->n_out; i++) dync__unref(out[i]);
        dync__free(out, (size_t)(o.seg->n_out + 1) * sizeof *out);
    }
    return status;
}

DYNC__OFTEN DYNC__FN dync__tensor *dync__env_real(dync__tracer *t, int env)
{
    if (!t->env.real.at[env] && t->way->value(t, env) != DYNC_OK) return NULL;
    return t->env.real.at[env];
}

/* Memory is about to be written: what narrowing dropped and the C function can still use is
 * computed while that is possible. */
DYNC__FN dync_status dync__record_keep(dync__tracer *t)
{
    for (int i = 0; i < t->env.real.n; i++) {
        bool wanted = !t->env.real.at[i] && t->env.origin.at[i].seg &&
                      (t->env.holder.at[i] || DYNC__ATOMIC_PEEK(&t->env.fake.at[i]->refs) > 1);
        if (wanted && !dync__env_real(t, i))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    }
    return DYNC_OK;
}

DYNC__OFTEN DYNC__FN dync__tensor *dync__trace_real(dync__tracer *t, dync__tensor *fake)
{
    if (!dync__tracer_owns(t, fake)) return fake;
    if (fake->node) {
        dync__fail(DYNC_ERR_INTERNAL, "a pending value was read before the graph was cut");
        return NULL;
    }
    int env = t->way->place(t, fake);
    dync__script_wants(t, fake);
    return dync__env_real(t, env);
}
