/* compile/ca_body.c: the function that stands for a backward: a walk over stand-ins, so that
 * capture records the operators of rules and hooks. After ca_visit.c, before
 * compiled_autograd.c. */
#include "../dync.in.h"
#include "ca.h"
DYNC__COLD

DYNC__DATA DYNC__TLS dync__ca_thread dync__ca_tls;

/* Calls recorded so far; -1: nothing records. */
static int dync__ca_position(void)
{
    const dync__tracer *t = dync__tls.compiling ? dync__tracer_current() : NULL;
    return !t ? -1 : t->rec.graph ? t->rec.graph->node.n - t->rec.graph->n_inputs : 0;
}

/* Names the node of t, if this trace made it after `from` and it has no name of the user's. */
static void dync__ca_name(dync__tensor *t, const char *name, int from)
{
    const dync__tracer *tracer = dync__tls.compiling ? dync__tracer_current() : NULL;
    if (!tracer || !t->node || t->node->graph != tracer->rec.graph || t->name ||
        t->node->kind == DYNC__N_PLACEHOLDER)
        return;
    if (t->node->index - tracer->rec.graph->n_inputs >= from)
        dync__graph_rename(t->node->graph, t->node, name);
}

/* The backward that a record is part of. */
static dync__ca *dync__ca_of(dync__walk_record *r)
{
    return (dync__ca *)(void *)((char *)(void *)r - offsetof(dync__ca, record));
}

/* The node's place in the walk. */
static int dync__ca_node(const dync__ca *c, const dync__gnode *node)
{
    uint64_t at = 0;
    dync__map_get(&c->nodes.index, (uint64_t)(uintptr_t)node, &at);
    return (int)at;
}

/* Takes out, which may be NULL where nothing leaves. */
static dync_status dync__ca_push(dync__ca *c, dync__ca_kind kind, int node, int index,
                                 dync__tensor *out)
{
    dync__ca_result r = {kind, node, index};
    if (dync__vec_push(&c->result, r) && (!out || dync__vec_push(&c->out, out))) return DYNC_OK;
    dync__unref(out);
    return DYNC_ERR_MEMORY;
}

static dync_status dync__ca_permuted(const int64_t *dims, dync__tensor *t, dync__tensor **out)
{
    dync__arg args[2] = {dync__arg_t(t), dync__arg_dims(t->lay.ndim, dims)};
    return dync__op_run(DYNC__OP_permute, 2, args, out);
}

static dync_status dync__ca_dense(dync__tensor *g, dync__tensor **out)
{
    dync__arg arg = dync__arg_t(g);
    return (dync__op_run)(dync__layout_is_contiguous(&g->lay)
                              ? DYNC__USED(DYNC__OP_clone)
                              : DYNC__USED(DYNC__OP__clone_contiguous),
                          1, &arg, out);
}

/* A copy of g that lies as the gradient of such a leaf does: row major in the order of its dims. */
static dync_status dync__ca_copy(const dync__tensor *leaf, dync__tensor *g, dync__tensor **out)
{
    int64_t to[DYNC_MAX_DIMS], back[DYNC_MAX_DIMS];
    dync__tensor *sorted = NULL, *copy = NULL;
    uint64_t order = dync__ca_order(&leaf->lay);
    if (!order) return dync__ca_dense(g, out);
    for (int k = 0; k < g->lay.ndim; k++) {
        to[k] = (int64_t)(order >> 4 * k & 15);
        back[to[k]] = k;
    }
    DYNC__TRY(dync__ca_permuted(to, g, &sorted));
    dync_status status = dync__ca_dense(sorted, &copy);
    if (status == DYNC_OK) status = dync__ca_permuted(back, copy, out);
    dync__unref(sorted);
    dync__unref(copy);
    return status;
}

/* As the accumulation of eager backward: a copy in the leaf's form, or an addition to what it has.
 * Takes g. */
static dync_status dync__ca_accumulate(dync__walk_record *r, dync__gnode *node, dync__tensor *g)
{
    dync__ca *c = dync__ca_of(r);
    int at = dync__ca_node(c, node), input = c->grad.at[at], from = dync__ca_position();
    dync__tensor *leaf = dync__gnode_leaf(node), *copy = NULL, *sum = NULL;
    dync__arg args[2] = {dync__arg_t(g), dync__arg_none()};
    if (c->walk->create_graph && input >= 0) {
        args[1] = args[0];
        args[0] = dync__arg_t(c->stand[input]);
        dync_status added = dync__op_run(DYNC__OP_add, 2, args, &sum);
        dync__unref(g);
        return added == DYNC_OK ? dync__ca_push(c, DYNC__CA_SUM, at, 0, sum) : added;
    }
    dync_status status = dync__ca_copy(leaf, g, &copy);
    dync__unref(g);
    if (status != DYNC_OK) return status;
    dync__ca_name(copy, "new_grad", from);
    if (input < 0) return dync__ca_push(c, DYNC__CA_SET, at, 0, copy);
    args[0] = dync__arg_t(c->stand[input]);
    args[1] = dync__arg_t(copy);
    status = dync__op_run(DYNC__OP_add_, 2, args, &sum);
    dync__unref(sum);
    dync__unref(copy);
    return status == DYNC_OK ? dync__ca_push(c, DYNC__CA_ADDED, at, 0, NULL) : status;
}

/* A gradient that the user wants kept at a tensor inside (dync_retain_grad); grad is borrowed. */
static dync_status dync__ca_retain(dync__walk_record *r, dync__gnode *node, int hook,
                                   dync__tensor *grad)
{
    dync__ca *c = dync__ca_of(r);
    dync__ref(grad);
    return dync__ca_push(c, DYNC__CA_RETAIN, dync__ca_node(c, node), hook, grad);
}

/* Called before (done false) and after each hook: notes where the outermost ones begin and end. */
static void dync__ca_hook(dync__walk_record *r, dync__tensor *result, bool done)
{
    dync__ca *c = dync__ca_of(r);
    int at = dync__ca_position();
    if (at < 0) return;
    if (done && result && c->hook_part.n % 2)
        dync__ca_name(result, "result", c->hook_part.at[c->hook_part.n - 1]);
    if (done ? --c->hook_depth == 0 : c->hook_depth++ == 0)
        if (!dync__vec_push(&c->hook_part, at)) c->failed = true;
}

/* Every call outside of hooks stands on a line of its own, as in the program that upstream captures
 * first. */
static dync_status dync__ca_lines(dync__ca *c)
{
    const dync__tracer *t = dync__tls.compiling ? dync__tracer_current() : NULL;
    dync__graph *g = t ? t->rec.graph : NULL;
    for (int i = g ? g->n_inputs : 0, part = 0; g && i < g->node.n; i++) {
        int at = i - g->n_inputs;
        while (part + 1 < c->hook_part.n && at >= c->hook_part.at[part + 1]) part += 2;
        if (part + 1 < c->hook_part.n && at >= c->hook_part.at[part]) continue;
        g->node.at[i]->stack =
            dync__arena_printf(&g->arena, "<compiled_autograd>:%d in forward\n", i + 1);
        if (!g->node.at[i]->stack) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* Puts the stand-ins in the place of saved tensors, and their sizes in the place of sizes; or
 * everything back. Strides of dense tensors follow from the sizes in the order of the strides. */
static void dync__ca_substitute(dync__ca *c, bool back)
{
    for (int i = 0; i < c->slot.n; i++) {
        dync__ca_slot *s = &c->slot.at[i];
        *s->at = back ? s->was : c->stand[s->input];
        *s->version = back ? s->version_was : c->stand[s->input]->storage->version;
    }
    for (int i = 0; i < c->shape.n; i++) {
        const dync__ca_shape *s = &c->shape.at[i];
        int64_t stride = 1;
        for (int d = 0; d < s->ndim; d++) {
            const dync__ca_source *from = &c->entry->source[s->first + d];
            s->shape[d] = back || from->input < 0 ? c->size.at[s->first + d]
                                                  : c->stand[from->input]->lay.shape[from->dim];
        }
        for (int k = 0; s->stride && k < s->ndim; k++) {
            int d = s->order[k];
            /* its stride means nothing: it stays */
            bool one = c->size.at[s->first + d] == 1;
            if (!one) s->stride[d] = stride;
            stride = dync__sz_mul(stride, s->shape[d]);
        }
    }
}

DYNC__FN void dync__ca_put_back(dync__ca *c)
{
    if (!c->substituted) return;
    dync__walk_record_set(c->record_before);
    dync__ca_substitute(c, true);
    c->substituted = false;
}

/* The engine's own walk with a record, so that what it would do to leaves comes here. The nodes are
 * as they were in every case afterwards. */
static dync_status dync__ca_walk(dync__ca *c)
{
    dync__walk w = *c->walk;
    size_t n = (size_t)(w.n_roots + w.n_captures);
    dync__tensor **seed = dync__scope_alloc((n + 1) * sizeof *seed);
    if (!seed) return DYNC_ERR_MEMORY;
    for (int i = 0; i < w.n_roots; i++) seed[i] = c->stand[c->seed.at[i]];
    w.seed = seed;
    w.captured = seed + w.n_roots;
    w.retain_graph = true;
    w.heap = false;
    dync__ca_substitute(c, false);
    c->substituted = true;
    c->record_before = dync__walk_record_set(&c->record);
    dync_status status = dync__walk_run(&w);
    dync__ca_put_back(c);
    for (int i = 0; i < w.n_captures && status == DYNC_OK; i++)
        if (w.captured[i]) status = dync__ca_push(c, DYNC__CA_CAPTURE, 0, i, w.captured[i]);
    return status == DYNC_OK && c->failed ? DYNC_ERR_MEMORY : status;
}

/* What this run made; the entry keeps what it learnt. */
static void dync__ca_body_end(dync__ca *c)
{
    for (int i = 0; i < c->out.n; i++) dync__unref(c->out.at[i]);
    c->out.n = c->result.n = c->hook_part.n = c->hook_depth = 0;
}

/* What every run gives is written down at the first trace: the form of the graph decides it. Two
 * threads may trace at once: the first one's answer stays, as both are the same. */
static dync_status dync__ca_learn(dync__ca *c)
{
    dync__ca_entry *e = c->entry;
    int32_t idle = 0;
    dync_status status = DYNC_OK;
    while (!DYNC__ATOMIC_CAS(&e->tracing, &idle, 1)) idle = 0;
    if (!e->known) {
        e->result.n = 0;
        for (int i = 0; i < c->result.n && status == DYNC_OK; i++)
            if (!dync__vec_push(&e->result, c->result.at[i])) status = DYNC_ERR_MEMORY;
        if (status == DYNC_OK) DYNC__ATOMIC_STORE(&e->known, true);
    }
    DYNC__ATOMIC_STORE(&e->tracing, 0);
    return status;
}

/* args[0]: the list of inputs, fakes under a trace. Returns the list of gradients that leave. */
DYNC__FN dync_value dync__ca_body(const dync_value *args, int nargs, void *user)
{
    dync__ca *c = dync__ca_tls.now;
    dync_value result = DYNC_NONE;
    (void)user;
    if (!c || nargs != 1 || dync_len(args[0]) != c->input.n) {
        dync__fail(DYNC_ERR_INTERNAL, "compiled autograd: its function was called from elsewhere");
        return result;
    }
    dync_status status = DYNC_OK;
    c->record = (dync__walk_record){0};
    c->record.accumulate = dync__ca_accumulate;
    c->record.retain = dync__ca_retain;
    c->record.hook = dync__ca_hook;
    c->stand = dync__scope_alloc((size_t)(c->input.n + 1) * sizeof *c->stand);
    if (!c->stand) return result;
    for (int i = 0; i < c->input.n && status == DYNC_OK; i++)
        if (!(c->stand[i] = dync__open(dync_at(args[0], i).as.t))) status = DYNC_ERR_VALUE;
    if (dync__tls.compiling) DYNC__COUNTER_ADD(autograd_captures, 1);
    if (status == DYNC_OK) status = dync__ca_walk(c);
    if (status == DYNC_OK) status = dync__ca_lines(c);
    if (status == DYNC_OK) status = dync__ca_learn(c);
    if (status == DYNC_OK) result = dync__list_new(c->out.n);
    for (int i = 0; result.kind == DYNC_KIND_LIST && i < c->out.n; i++) {
        dync__ref(c->out.at[i]);
        dync__list_set(result, i, dync_v_tensor(dync__give(c->out.at[i])));
    }
    if (status != DYNC_OK && dync_error() == DYNC_OK)
        dync__fail(status, "compiled autograd: the "
                           "backward pass cannot "
                           "be captured");
    dync__ca_body_end(c);
    return result;
}
