/* capture/result.c: what a traced function returns: the last cut, the tree's RETURN, and what the
 * segments of this way need not compute. After step.c, before replay.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- its form -------------------------------------------------------------------------------- */
static dync_status dync__result_mark(dync__tracer *t, const dync_value *v, bool *live, int depth)
{
    if (depth > 16)
        return dync__fail(DYNC_ERR_VALUE, "the returned value nests deeper than 16 "
                                          "lists");
    if (v->kind == DYNC_KIND_TENSOR) {
        dync__tensor *x = dync__open(v->as.t);
        if (!x || !(x = dync__tracer_adopt(t, x)))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
        x = dync__taped_value(t, x);
        for (int i = 0; i < t->rec.made.n; i++)
            if (t->rec.made.at[i] == x) live[i] = true;
    } else if (v->kind == DYNC_KIND_SYM && !dync__value_is_sized(*v)) {
        const dync__tensor *x = dync__number_fake_of(t, v->as.p);
        if (!x)
            return dync__fail(DYNC_ERR_VALUE, "a symbolic number was returned by another "
                                              "trace than its own");
        for (int i = 0; i < t->rec.made.n; i++)
            if (t->rec.made.at[i] == x) live[i] = true;
    } else if (v->kind == DYNC_KIND_LIST && v->as.l) {
        const dync__list *l = dync__value_list(*v);
        if (!l) return DYNC_ERR_VALUE;
        for (int i = 0; i < l->n; i++)
            DYNC__TRY(dync__result_mark(t, &l->items[i], live, depth + 1));
    }
    return DYNC_OK;
}

DYNC__OFTEN DYNC__FN dync_status dync__result_tree(dync__tracer *t, const dync_value *v,
                                                   dync__outval *out)
{
    out->kind = (uint8_t)v->kind;
    out->as.value = *v;
    if (v->kind == DYNC_KIND_TENSOR) {
        dync__tensor *x = dync__open(v->as.t);
        if (x) x = dync__tracer_adopt(t, x);
        if (!x) return DYNC_ERR_VALUE;
        out->n = x->node_output;
        if (out->n >= t->env.fake.n || t->env.fake.at[out->n] != x)
            return dync__fail(DYNC_ERR_INTERNAL, "a returned value did not leave its "
                                                 "graph");
        return dync__env_real(t, out->n) ? DYNC_OK : DYNC_ERR_INTERNAL;
    }
    if (dync__value_is_sized(*v)) { /* it leaves the graph as the number that it is */
        out->as.value = dync__value_plain(*v);
        out->kind = (uint8_t)out->as.value.kind;
        return DYNC_OK;
    }
    if (v->kind == DYNC_KIND_SYM) {
        out->n = dync__number_fake_of(t, v->as.p)->node_output;
        return dync__env_real(t, out->n) ? DYNC_OK : DYNC_ERR_INTERNAL;
    }
    if (v->kind == DYNC_KIND_STR && v->as.s) {
        out->as.value.as.s =
            dync__arena_strdup(t->on_tree ? &t->entry->arena : &t->scratch, v->as.s);
        return out->as.value.as.s ? DYNC_OK : DYNC_ERR_MEMORY;
    }
    const dync__list *l = dync__value_list(*v);
    if (!l) return v->kind == DYNC_KIND_LIST && v->as.l ? DYNC_ERR_VALUE : DYNC_OK;
    out->n = l->n;
    out->as.items = dync__arena_alloc(t->on_tree ? &t->entry->arena : &t->scratch,
                                      (size_t)(out->n + 1) * sizeof *out);
    if (!out->as.items) return DYNC_ERR_MEMORY;
    for (int i = 0; i < out->n; i++)
        DYNC__TRY(dync__result_tree(t, &l->items[i], &out->as.items[i]));
    return DYNC_OK;
}

DYNC__OFTEN DYNC__FN dync_value dync__outval_build(const dync__outval *o, dync__tensor *const *env)
{
    if (o->kind == DYNC_KIND_TENSOR) {
        dync__ref(env[o->n]);
        return dync_v_tensor(dync__give(env[o->n]));
    }
    if (o->kind == DYNC_KIND_SYM) return dync__number_value(env[o->n]);
    if (o->kind == DYNC_KIND_STR && o->as.value.as.s) {
        size_t n = strlen(o->as.value.as.s) + 1;
        char *text = dync__scope_alloc(n);
        if (text) memcpy(text, o->as.value.as.s, n);
        return text ? dync_v_str(text) : DYNC_NONE;
    }
    if (o->kind != DYNC_KIND_LIST) return o->as.value;
    dync_value list = dync__list_new(o->n);
    dync__list *l = dync__value_list(list);
    for (int i = 0; l && i < o->n; i++) {
        const dync__outval *item = &o->as.items[i];
        if (item->kind == DYNC_KIND_TENSOR) {
            dync__ref(env[item->n]);
            /* the list keeps the reference */
            l->items[i] = dync_v_tensor(dync__handle(env[item->n]));
        } else {
            dync__list_set(list, i, dync__outval_build(item, env));
        }
    }
    return list;
}

/* ---- what is used ---------------------------------------------------------------------------- */
static void dync__mark_outval(const dync__outval *o, bool *used)
{
    if (o->kind == DYNC_KIND_TENSOR || o->kind == DYNC_KIND_SYM) used[o->n] = true;
    for (int i = 0; o->kind == DYNC_KIND_LIST && i < o->n; i++)
        dync__mark_outval(&o->as.items[i], used);
}

static void dync__mark_effects(const dync__tnode *n, bool *used)
{
    for (int i = 0; i < n->effect.n; i++) {
        if (n->effect.at[i].env >= 0) used[n->effect.at[i].env] = true;
        if (n->effect.at[i].value >= 0) used[n->effect.at[i].value] = true;
    }
}

/* The node after n on the way that this trace went: the last outcome grown, but for those that it
 * replayed. */
static const dync__tnode *dync__path_next(const dync__tracer *t, const dync__tnode *n)
{
    if (n->kind != DYNC__TN_BRANCH) return NULL;
    for (int i = 0; i < t->path.n; i++)
        for (int k = 0; t->path.step[i].node == n && k < n->n_outcomes; k++)
            if (n->outcome[k].value == t->path.step[i].outcome) return n->outcome[k].next;
    return n->outcome[n->n_outcomes - 1].next;
}

/* Something runs after s on this way that writes: what s gave cannot be computed again there. */
static bool dync__path_writes_after(const dync__tracer *t, const dync__segment *s)
{
    bool seen = false;
    for (const dync__tnode *n = t->entry->root; n; n = dync__path_next(t, n))
        for (int i = 0; i < n->seg.n; i++) {
            if (seen && n->seg.at[i].seg->writes) return true;
            seen = seen || n->seg.at[i].seg == s;
        }
    return false;
}

/* The uses along this path are known: its segments compute no more than those. */
static dync_status dync__narrow_path(dync__tracer *t)
{
    bool *used = dync__calloc((size_t)t->env.real.n + 1),
         *outs = dync__calloc((size_t)t->env.real.n + 1);
    dync_status status = used && outs ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) dync__mark_outval(&t->at->result, used);
    for (int i = 0; i < t->env.real.n && status == DYNC_OK; i++) {
        const dync__origin *o = &t->env.origin.at[i];
        for (int k = 0; o->seg && k < o->seg->n_in; k++) used[o->in_env[k]] = true;
    }
    const dync__tnode *n = t->entry->root;
    dync__mark_effects(t->at, used);
    while (n && n->kind == DYNC__TN_BRANCH && status == DYNC_OK) {
        used[n->branch_env] = true;
        dync__mark_effects(n, used);
        n = dync__path_next(t, n);
    }
    for (int i = 0; i < t->env.real.n && status == DYNC_OK; i++) {
        dync__segment *s = t->env.origin.at[i].seg;
        if (!s || t->env.origin.at[i].out != 0) continue;
        memset(outs, 0, (size_t)t->env.real.n + 1);
        for (int j = i; j < t->env.real.n; j++)
            if (t->env.origin.at[j].seg == s &&
                t->env.origin.at[j].in_env == t->env.origin.at[i].in_env)
                outs[t->env.origin.at[j].out] = used[j];
        if (dync__path_writes_after(t, s)) memset(outs, 1, (size_t)s->n_out);
        status = dync__segment_narrow(s, outs);
    }
    dync__free(used, (size_t)t->env.real.n + 1);
    dync__free(outs, (size_t)t->env.real.n + 1);
    return status;
}

/* By need: whole graphs have one way. */
static dync_status (*DYNC__BY_NEED dync__narrow_used)(dync__tracer *) =
    DYNC__AT_FIRST(dync__narrow_path);
DYNC__FN void dync__paths_narrow(void) { DYNC__PUT(dync__narrow_used, dync__narrow_path); }

/* After the C function returned r: the last cut, the tree's RETURN, the form of the result. */
DYNC__FN dync_status dync__record_finish(dync__tracer *t, dync_value r, dync__outval *out)
{
    bool *live = dync__calloc((size_t)t->rec.made.n + 1);
    int made = t->rec.made.n;
    dync_status status = live ? dync__result_mark(t, &r, live, 0) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__taped_finish(t, &r);
    if (status == DYNC_OK) {
        for (int i = 0; i < t->rec.frames.n; i++) t->rec.frames.at[i].mark = 0;
        dync__script_returns(t, &r);
        status = dync__cut_live(t, NULL, live);
        if (status == DYNC_OK) dync__script_cut_end(t, true);
    }
    dync__free(live, (size_t)made + 1);
    if (status == DYNC_OK) status = dync__result_tree(t, &r, out);
    if (status == DYNC_OK) status = dync__shapes_publish(t);
    if (status != DYNC_OK) return status;
    if (t->at) {
        t->at->result = *out;
        bool grad_now = !dync__grad_is_off();
        t->at->grad_mode_after = grad_now != t->grad_mode_before ? (int8_t)grad_now : -1;
        dync__tracer_publish_env(t);
        if (t->entry->root != t->at && dync__narrow_used) status = dync__narrow_used(t);
        DYNC__ATOMIC_STORE(&t->at->kind, DYNC__TN_RETURN);
    }
    return status;
}

/* ---- the way that records -------------------------------------------------------------------- */
DYNC__FN dync__tensor *dync__record_found(const dync__tracer *t, dync__tensor *now)
{
    (void)t;
    return now;
}

DYNC__FN int dync__record_place(dync__tracer *t, const dync__tensor *fake)
{
    (void)t;
    return fake->node_output;
}

DYNC__FN void dync__record_own(dync__tracer *t) { dync__script_stop(t); }
static void dync__record_close(dync__tracer *t) { (void)t; }

DYNC__FN const dync__way *dync__recording_way(void)
{
    static const dync__way way = {
        .foreign = dync__record_foreign,
        .frame = dync__script_frame,
        .cut = dync__record_cut,
        .piece = dync__record_piece,
        .found = dync__record_found,
        .effects = dync__record_effects,
        .place = dync__record_place,
        .value = dync__record_value,
        .keep = dync__record_keep,
        .finish = dync__record_finish,
        .own = dync__record_own,
        .close = dync__record_close,
    };
    return &way;
}
