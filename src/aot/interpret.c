/* aot/interpret.c: the graph interpreter as an inner compiler (aot_eager). After reinplace.c and
 * code.c.
 *
 * Writes that reinplace.c found a place for go there, by the operators in place. What the analysis
 * cannot see of operators run one by one is asked at each run: some give their argument back as it
 * is (to a dtype it has, contiguous), so that values may share memory that are no views of each
 * other. Where one of them is read later, or memory is held by anything but the values of this run,
 * the node runs as any other. */
#include "../dync.in.h"
#include "code.h"
#include "reinplace.h"
#include "../graph/run.h"
DYNC__COLD

typedef struct dync__interpreted {
    dync__graph *graph;
    dync__arena arena;
    int *place; /* as reinplace.h has them; NULL: no writes */
    bool *written;
    int *until; /* of a write: the node that ends it */
} dync__interpreted;

#if defined(DYNC_SMALL) /* operators in place that a program does not call would be linked */
static dync_status dync__interpreted_find(dync__interpreted *p) { return (void)p, DYNC_OK; }
#define DYNC__INPLACE_RUN NULL
#else
#define DYNC__INPLACE_RUN dync__inplace_run

/* A node's value, where it is one tensor. */
static dync__tensor *dync__inplace_value(const dync__frame_env *env, int node)
{
    return env->slot[node].kind == DYNC__A_TENSOR ? env->slot[node].as.t : NULL;
}

static bool dync__inplace_holds(const dync__arg *a, const dync__storage *s)
{
    if (a->kind == DYNC__A_TENSOR) return a->as.t->storage == s;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        if (dync__inplace_holds(&a->as.list[i], s)) return true;
    return false;
}

/* Does an input own the memory that this chain of writes began with? */
static bool dync__inplace_of_input(const dync__interpreted *p, int node)
{
    for (const dync__node *n; (n = p->graph->node.at[node]);) {
        const dync__node *of = p->place[node] >= 0 ? p->graph->node.at[p->place[node]]
                                                   : dync__node_viewed(n);
        if (!of) return n->kind == DYNC__N_PLACEHOLDER;
        node = of->index;
    }
    return false;
}

/* May the memory of t, which node's write goes to, be written now? No value that shares it is read
 * behind the write, and what is no input's is held by values of this run alone. */
static bool dync__inplace_free(const dync__interpreted *p, const dync__frame_env *env, int node,
                               const dync__tensor *t)
{
    int held = 0;
    for (int i = 0; i < p->graph->node.n; i++) {
        const dync__tensor *x = dync__inplace_value(env, i);
        bool first = true;
        if (!dync__inplace_holds(&env->slot[i], t->storage)) continue;
        if (!x || env->last_use[i] > p->until[node]) return false;
        for (int k = 0; k < i && first; k++) first = dync__inplace_value(env, k) != x;
        held += first;
    }
    return dync__inplace_of_input(p, p->place[node]) || held == t->storage->refs;
}

/* One operator in place; versions are told by who called the graph. */
static dync_status dync__inplace_op(int op, int n, dync__arg *args)
{
    dync__storage *s = args[0].as.t->storage;
    uint32_t version = s->version;
    dync__tensor *same = NULL;
    dync_status status = (dync__op_run)(op, n, args, &same);
    s->version = version;
    dync__unref(same);
    return status;
}

/* The part of the base that as_strided_scatter writes. */
static dync__layout dync__inplace_layout(const dync__tensor *base, const dync__arg *args)
{
    dync__layout lay = {.ndim = args[2].n, .offset = base->lay.offset + args[4].as.i};
    memcpy(lay.shape, args[2].as.dims, (size_t)lay.ndim * sizeof *lay.shape);
    memcpy(lay.stride, args[3].as.dims, (size_t)lay.ndim * sizeof *lay.stride);
    return lay;
}

/* as_strided_scatter: src into its part of the base, by way of a copy where it is read from it. */
static dync_status dync__inplace_part(const dync__tensor *base, const dync__arg *args)
{
    dync__layout lay = dync__inplace_layout(base, args);
    dync__tensor *part, *apart = NULL;
    dync__arg copy[2] = {args[0], args[1]};
    dync_status status = DYNC_OK;
    if (!(part = dync__tensor_alias(base, base->dtype, &lay))) return DYNC_ERR_MEMORY;
    copy[0] = dync__arg_t(part);
    if (args[1].as.t->storage == base->storage) {
        status = (dync__op_run)(DYNC__USED(DYNC__OP_clone), 1, &copy[1], &apart);
        if (status == DYNC_OK) copy[1] = dync__arg_t(apart);
    }
    if (status == DYNC_OK) status = dync__inplace_op(DYNC__USED(DYNC__OP_copy_), 2, copy);
    dync__unref(apart);
    dync__unref(part);
    return status;
}

/* -1: the operator is no scatter that has a form in place. */
static int dync__inplace_form(int op)
{
    switch (op) {
    case DYNC__OP_scatter: return DYNC__USED(DYNC__OP_scatter_);
    case DYNC__OP_scatter_add: return DYNC__USED(DYNC__OP_scatter_add_);
    case DYNC__OP_index_add: return DYNC__USED(DYNC__OP_index_add_);
    default: return -1;
    }
}

/* Does the memory lie as the analysis took it to? */
static bool dync__inplace_as_told(const dync__interpreted *p, int node, const dync__tensor *t)
{
    const dync__info *info = &p->graph->node.at[p->place[node]]->info[0];
    return t->dtype == info->dtype && t->lay.ndim == info->lay.ndim &&
           dync__sz_same(t->lay.ndim, t->lay.shape, info->lay.shape) &&
           dync__sz_same(t->lay.ndim, t->lay.stride, info->lay.stride);
}

/* What dync__reinplace_find found, where it holds in this run. */
static bool dync__inplace_run(const dync__eval_writes *writes, dync__frame_env *env,
                              dync__node *node, const dync__arg *args, dync_status *status,
                              dync__arg *out)
{
    const dync__interpreted *p = writes->user;
    int i = node->index;
    if (p->place[i] < 0 || args[0].kind != DYNC__A_TENSOR) return false;
    dync__tensor *base = args[0].as.t;
    bool puts = !dync__node_has(node, DYNC__OP_SCATTERS),
         done = p->written[i] && args[1].as.t->storage == base->storage;
    if (base->flags & DYNC__T_FAKE || !dync__inplace_as_told(p, i, base) ||
        !dync__inplace_free(p, env, i, base))
        return false;
    for (int a = 1; a < node->nargs && !puts; a++)
        if (dync__inplace_holds(&args[a], base->storage)) return false;
    if (!puts && dync__inplace_form(node->op) < 0) return false;
    dync__layout part = puts ? dync__inplace_layout(base, args) : base->lay;
    if (dync__layout_overlaps_itself(&part)) return false; /* operators in place refuse it */
    dync__arg given[DYNC__MAX_ARGS];
    memcpy(given, args, (size_t)node->nargs * sizeof *given);
    *status = done   ? DYNC_OK
              : puts ? dync__inplace_part(base, args)
                     : dync__inplace_op(dync__inplace_form(node->op), node->nargs, given);
    if (*status == DYNC_OK) dync__ref(base), *out = dync__arg_t(base);
    return true;
}

/* Fills place, written and until; leaves place NULL where nothing is written in place. */
static dync_status dync__interpreted_find(dync__interpreted *p)
{
    const dync__graph *g = p->graph;
    size_t n = (size_t)g->node.n + 1;
    bool host = true, any = false;
    int *place = dync__arena_alloc(&p->arena, n * sizeof *place);
    p->written = dync__arena_alloc(&p->arena, n * sizeof *p->written);
    p->until = dync__arena_alloc(&p->arena, n * sizeof *p->until);
    if (!place || !p->written || !p->until) return DYNC_ERR_MEMORY;
    memset(place, 0xff, n * sizeof *place);
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *x = g->node.at[i];
        host = host && (!x->has_info || dync__device_is(x->info[0].device, DYNC__DEV_HOST));
    }
    DYNC__TRY(dync__reinplace_find(g, &p->arena, NULL, host, place, p->written));
    for (int i = 0; i < g->node.n; i++) {
        any |= place[i] >= 0;
        p->until[i] = i;
        if (p->written[i]) p->until[g->node.at[i]->args[1].as.node->index] = i;
    }
    if (any) p->place = place;
    return DYNC_OK;
}
#endif

/* ---- the compiler ---------------------------------------------------------------------------- */

static dync_status dync__interpreted_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                         dync__tensor **out)
{
    const dync__interpreted *p = state;
    dync__eval_writes writes = {DYNC__INPLACE_RUN, p};
    bool grad_off = dync__grad_off(true);
    dync_status status =
        dync__graph_eval_writes(p->graph, p->place ? &writes : NULL, NULL, n_in, in, n_out, out);
    dync__grad_off(grad_off);
    for (int i = 0; status == DYNC_OK && p->place && i < p->graph->over.n; i++)
        if (p->graph->over.at[i] >= 0 && out[i] == in[p->graph->over.at[i]]) {
            dync__unref(out[i]); /* written where it belongs */
            out[i] = NULL;
        }
    return status;
}

static void dync__interpreted_destroy(void *state)
{
    dync__interpreted *p = state;
    dync__graph_unref(p->graph);
    dync__arena_free(&p->arena);
    dync__free(p, sizeof *p);
}

DYNC__RARE DYNC__FN dync_status dync__inner_interpret(void *user, dync__graph *g, bool is_backward,
                                                      const dync__options *options,
                                                      dync__inner *out)
{
    (void)user, (void)is_backward, (void)options;
    dync__interpreted *p = dync__calloc(sizeof *p);
    memset(out, 0, sizeof *out);
    if (!p) return DYNC_ERR_MEMORY;
    p->graph = dync__graph_ref(g);
    dync_status status = g->syms ? DYNC_OK : dync__interpreted_find(p);
    if (status != DYNC_OK) return dync__interpreted_destroy(p), status;
    out->run = dync__interpreted_run;
    out->destroy = dync__interpreted_destroy;
    out->state = p;
    return DYNC_OK;
}
