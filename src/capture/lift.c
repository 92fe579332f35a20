/* capture/lift.c: numbers that data decide become run-time inputs of a segment. Where the pending
 * graph differs from a segment of this place only in plain operands, a segment is made in which
 * these are inputs; it serves later calls, whatever the numbers. After number.c, before cut.c. Only
 * off the tree (the C function runs in every call and gives the numbers), and only what an earlier
 * call compiled counts: the constants of a loop's iterations are segments of their own.
 *
 * The numbers of a call stand in the environment as those of number.c do, behind everything else
 * that the segment takes. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

static bool dync__lift_has(const dync__lift *l, const dync__lift_place *p)
{
    for (int i = 0; i < l->n; i++)
        if (l->place[i].node == p->node && l->place[i].arg == p->arg) return true;
    return false;
}

/* Are all places of differ inputs of s? */
static bool dync__lift_covers(const dync__segment *s, const dync__lift *differ)
{
    for (int i = 0; i < differ->n; i++)
        if (!s->lift || !dync__lift_has(s->lift, &differ->place[i])) return false;
    return true;
}

/* The segment that serves g as it is; else *differ has the places in which g differs from the
 * newest one that is alike, or none. */
static dync__segment *dync__lift_find(const dync__tracer *t, const dync__graph *g, uint64_t site,
                                      dync__tensor *const *in, dync__lift *best)
{
    uint64_t likeness = dync__graph_likeness(g);
    best->n = 0;
    for (dync__segment *s = DYNC__ATOMIC_LOAD(&t->fn->segments); s; s = s->next) {
        dync__lift differ = {.n = 0};
        if (s->site != site || s->likeness != likeness || s->grad_mode != !dync__grad_is_off())
            continue;
        if (!dync__graph_alike(s->lift ? s->lift->form : s->graph, g, &differ) ||
            !dync__segment_fits(s, g->n_inputs, in))
            continue;
        if (dync__lift_covers(s, &differ)) return s;
        if (best->n || s->frame >= t->frames_before) continue;
        *best = differ;
        for (int i = 0; s->lift && i < s->lift->n && best->n < DYNC__LIFT_PLACES; i++)
            if (!dync__lift_has(&differ, &s->lift->place[i]))
                best->place[best->n++] = s->lift->place[i];
    }
    return NULL;
}

static dync__arg *dync__lift_arg(const dync__graph *g, const dync__lift_place *p)
{
    return &g->node.at[p->node]->args[p->arg];
}

/* The numbers of g in the environment; *in_env: what the segment takes, the numbers last. */
static dync_status dync__lift_enter(dync__tracer *t, const dync__graph *g, const dync__lift *lift,
                                    const int **in_env)
{
    int n = g->n_inputs,
        *all = dync__arena_alloc(&t->scratch, (size_t)(n + lift->n + 1) * sizeof *all);
    if (!all) return DYNC_ERR_MEMORY;
    memcpy(all, *in_env, (size_t)n * sizeof *all);
    for (int i = 0; i < lift->n; i++)
        if ((all[n + i] =
                 dync__number_enter(t, dync__arg_to_value(dync__lift_arg(g, &lift->place[i])))) < 0)
            return DYNC_ERR_MEMORY;
    *in_env = all;
    return DYNC_OK;
}

static dync__node *dync__lift_input(dync__tracer *t, dync__graph *to, const dync__graph *g,
                                    const dync__lift_place *p, int env)
{
    char name[40];
    dync__format(name, sizeof name, "number%d", env);
    dync__node *n = dync__graph_placeholder(to, name, NULL, NULL);
    if (!n) return NULL;
    n->scalar = *dync__lift_arg(g, p);
    n->sym = dync__arena_printf(&to->arena, "s%d",
                                (t->symbols.sizes ? t->symbols.sizes->symbol.n : 0) +
                                    t->symbols.n_inputs++);
    n->env = env;
    return n->sym ? n : NULL;
}

static dync__node *dync__lift_node(dync__rewrite *r, dync__node *old)
{
    dync__node *n = dync__rewrite_copy(r, old);
    if (n && old->kind == DYNC__N_PLACEHOLDER) n->has_info = old->has_info;
    return n;
}

static dync_status dync__lift_inputs(dync__tracer *t, dync__rewrite *r, const dync__lift *lift,
                                     const int *in_env)
{
    for (int i = 0; i < lift->n; i++) {
        dync__node *n =
            dync__lift_input(t, r->to, r->from, &lift->place[i], in_env[r->from->n_inputs + i]);
        if (!n) return DYNC_ERR_MEMORY;
        r->copy[lift->place[i].node]->args[lift->place[i].arg] = dync__arg_node(n);
    }
    return DYNC_OK;
}

/* A copy of g with inputs in the places. NULL: no memory. */
static dync__graph *dync__lift_graph(dync__tracer *t, dync__graph *g, const dync__lift *lift,
                                     const int *in_env)
{
    dync__rewrite r;
    dync__graph *to;
    dync_status status = dync__rewrite_begin(&r, g, g->name);
    if (status == DYNC_OK && !dync__graph_takes_symbols(r.to, g)) status = DYNC_ERR_MEMORY;
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++)
        status = dync__rewrite_put(&r, g->node.at[i], dync__lift_node);
    if (status == DYNC_OK) status = dync__lift_inputs(t, &r, lift, in_env);
    (void)dync__rewrite_end(&r, status, &to);
    return to;
}

static dync_status dync__lift_compile(dync__tracer *t, dync__graph *g, uint64_t site,
                                      dync__lift *lift, const int *in_env, dync__segment **out)
{
    dync__graph *to = dync__lift_graph(t, g, lift, in_env);
    dync__lift *kept = to ? dync__alloc(sizeof *kept) : NULL;
    int n = g->n_inputs + lift->n;
    dync__tensor *few[DYNC__FEW], **in = kept ? dync__room(few, DYNC__FEW, n, sizeof *in) : NULL;
    if (!in) {
        dync__free(kept, sizeof *kept);
        dync__graph_unref(to);
        return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < n; i++) in[i] = t->env.real.at[in_env[i]];
    *kept = *lift;
    kept->form = dync__graph_ref(g);
    *out = dync__segment_compile(t->fn, to, dync__hash_mix(dync__graph_hash(to), site), site, in,
                                 kept);
    dync__room_end(in, few, n, sizeof *in);
    return *out ? DYNC_OK : dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_BACKEND;
}

/* *out: the segment that serves g with some of its numbers as inputs, made now or earlier, and
 * *in_env what it takes; NULL: none can. in: of g's inputs. */
DYNC__FN dync_status dync__lift_segment(dync__tracer *t, dync__graph *g, uint64_t site,
                                        dync__tensor *const *in, const int **in_env,
                                        dync__segment **out)
{
    dync__lift lift;
    *out = dync__lift_find(t, g, site, in, &lift);
    if (*out && !(*out)->lift) return DYNC_OK;
    if (!*out && (!lift.n || dync__stance() == DYNC__STANCE_eager_on_recompile)) return DYNC_OK;
    const dync__lift *places = *out ? (*out)->lift : &lift;
    DYNC__TRY(dync__lift_enter(t, g, places, in_env));
    return *out ? DYNC_OK : dync__lift_compile(t, g, site, &lift, *in_env, out);
}
