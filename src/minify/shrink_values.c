/* minify/shrink_values.c: what every node of a graph that is shrunk is worth, from one eager run of
 * the whole: nodes that become inputs get their values from here. Before shrink_ways.c. */
#include "../dync.in.h"
#include "shrink.h"
DYNC__COLD

/* Names collide only by chance: 64 bits of hash. */
static uint64_t dync__shrink_key(const char *name)
{
    return dync__hash_bytes(name, strlen(name), 7);
}

/* The recorded value of a node, borrowed; NONE where it is not known. */
DYNC__FN dync_value dync__shrink_value(const dync__shrinker *s, const dync__node *n)
{
    uint64_t i = 0;
    return dync__map_get(&s->index, dync__shrink_key(n->name), &i) ? s->value[i] : DYNC_NONE;
}

/* list: one entry a node, in order, as the result of the graph that computes all values. writes: an
 * operator writes in place, so later values may change earlier ones. */
typedef struct dync__shrink_all {
    bool writes;
    dync__arg list;
} dync__shrink_all;

/* Each value joins the result; where something is written in place a copy of it, made when it is.
 */
static dync__node *dync__shrink_node(dync__rewrite *r, dync__node *old)
{
    dync__shrink_all *all = r->user;
    bool tensor = old->has_info && old->nout == 1 && old->kind != DYNC__N_PLACEHOLDER;
    if (old->kind == DYNC__N_OUTPUT) return dync__graph_output(r->to, &all->list);
    dync__node *made = dync__rewrite_copy(r, old), *value = made;
    if (tensor && all->writes && made) {
        dync__arg copied = dync__arg_node(made);
        value = dync__graph_call(r->to, DYNC__USED(DYNC__OP_clone), 1, &copied, 1, old->info, NULL);
    }
    if (!all->list.as.list)
        all->list.as.list =
            dync__arena_alloc(&r->to->arena, (size_t)(r->from->node.n + 1) * sizeof all->list);
    if (!all->list.as.list || !value) return NULL;
    all->list.as.list[all->list.n++] = tensor ? dync__arg_node(value) : dync__arg_none();
    return made;
}

/* The graph with all its values as the result. */
static dync__graph *dync__shrink_all_values(dync__graph *g)
{
    dync__shrink_all all = {dync__graph_has_writes(g), {.kind = DYNC__A_LIST}};
    dync__graph *to;
    (void)dync__graph_rewrite(g, dync__shrink_node, &all, &to);
    return to;
}

/* One eager run; false where eager cannot run it: then only the inputs are known. */
static bool dync__shrink_propagate(dync__shrinker *s, int n, const dync_value *inputs)
{
    bool grad_off = dync__grad_is_off(), writes = dync__graph_has_writes(s->graph);
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    size_t bytes = (size_t)(n + 1) * sizeof *inputs;
    dync_value *args = dync__alloc(bytes), r = DYNC_NONE;
    dync__graph *all = args ? dync__shrink_all_values(s->graph) : NULL;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    bool ok = all != NULL;
    if (ok && writes) ok = dync__run_copy_inputs(n, inputs, args, false) == DYNC_OK;
    if (ok) r = dync__graph_run(all, writes ? args : inputs, n);
    (void)dync__error_guard_end(&guard);
    const dync__list *l = dync__value_list(r);
    int made = l ? l->n : 0;
    for (int i = 0; i < made && i < s->n_values; i++)
        if (s->value[i].kind == DYNC_KIND_NONE) s->value[i] = l->items[i];
    dync__graph_unref(all);
    dync__free(args, bytes);
    dync__grad_off(grad_off);
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
    return made > 0;
}

/* Places of value are those of the nodes; the output stands behind them all. */
DYNC__FN dync_status dync__shrink_values(dync__shrinker *s, int n, const dync_value *inputs)
{
    s->n_values = s->graph->node.n;
    s->value = dync__scope_alloc((size_t)(s->n_values + 1) * sizeof *s->value);
    if (!s->value) return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n_values; i++) {
        s->value[i] = i < n ? inputs[i] : DYNC_NONE;
        if (!dync__map_put(&s->index, dync__shrink_key(s->graph->node.at[i]->name), (uint64_t)i))
            return DYNC_ERR_MEMORY;
    }
    if (!dync__shrink_propagate(s, n, inputs) && dync__shrink_loud(s))
        dync__warn("minifier: eager cannot run the graph: only what nobody uses is removed");
    return DYNC_OK;
}
