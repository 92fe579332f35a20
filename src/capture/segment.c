/* capture/segment.c: a piece of a trace between breaks: a graph, and what the backend made of it.
 * Segments are interned per compiled function by their operators with constants, the metadata of
 * what crosses in, what leaves, grad mode, where they end, and behind a branch which way it went:
 * an equal one reuses its callable and is no new frame. After guard.c, before trace.c. */
#include "../dync.in.h"
#include "capture.h"
DYNC__WARM

DYNC__DATA dync_status (*dync__backend_compile_hook)(const dync__compiled *f, dync__graph *g,
                                                     const dync_value *examples, int n,
                                                     dync_callable *out) = NULL;

/* Earliest input on the same storage, or -1. */
static int dync__input_alias(dync__tensor *const *inputs, int i)
{
    for (int j = 0; j < i; j++)
        if (inputs[j]->storage == inputs[i]->storage) return j;
    return -1;
}

/* What was compiled for inputs that share memory, or share none, serves only such where something
 * is written. */
DYNC__RARE DYNC__FN bool dync__segment_fits(const dync__segment *s, int n,
                                            dync__tensor *const *inputs)
{
    for (int i = 0; s->alias && i < n; i++)
        if (s->alias[i] != dync__input_alias(inputs, i)) return false;
    return true;
}

/* Only where the graph writes does it matter which inputs share memory; elsewhere alias stays
 * NULL and every call fits. */
static dync_status dync__segment_aliases(dync__segment *s, dync__tensor *const *inputs)
{
    if (s->n_in < 2 || !dync__graph_has_writes(s->graph)) return DYNC_OK;
    s->alias = dync__alloc((size_t)s->n_in * sizeof *s->alias);
    for (int i = 0; s->alias && i < s->n_in; i++) s->alias[i] = dync__input_alias(inputs, i);
    return s->alias ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Takes no lock: segments are only ever added, in front, and published by an atomic store. NULL:
 * none fits. */
DYNC__RARE DYNC__FN dync__segment *dync__segment_find(dync__compiled *f, dync__graph *g,
                                                      uint64_t hash, dync__tensor *const *inputs)
{
    for (dync__segment *s = DYNC__ATOMIC_LOAD(&f->segments); s; s = s->next)
        if (s->hash == hash && s->grad_mode == !dync__grad_is_off() &&
            dync__graph_equal(s->graph, g) && dync__segment_fits(s, s->n_in, inputs))
            return s;
    return NULL;
}

/* A number that stands in the environment as a tensor is a number for who asked for values. */
DYNC__FN dync_value dync__boxed_value(dync__tensor *t)
{
    return t->flags & DYNC__T_NUMBER ? dync__number_value(t) : dync_v_tensor(dync__handle(t));
}

/* ---- compiling ------------------------------------------------------------------------------- */
typedef struct dync__used_in {
    const dync__node *node;
    int uses;
} dync__used_in;
static void dync__used_inside_count(void *user, dync__arg *a)
{
    dync__used_in *u = user;
    u->uses += a->as.node == u->node;
}

DYNC__RARE static dync__node *dync__segment_output(const dync__graph *g, int out)
{
    return g->node.at[g->node.n - 1]->args[0].as.list[out].as.node;
}

/* Where one node of the tape stands for the graph, gradients from in there pass a hook on the
 * output by. */
DYNC__RARE DYNC__FN bool dync__segment_uses(const dync__segment *s, int out)
{
    const dync__graph *g = s->graph;
    dync__used_in u = {dync__segment_output(g, out), 0};
    if (u.node->kind == DYNC__N_PLACEHOLDER || !u.node->has_info) return false;
    for (int i = 0; i + 1 < g->node.n; i++)
        dync__node_each_input(g->node.at[i], dync__used_inside_count, &u);
    return u.uses > 0;
}

/* Fills the facts that follow from the graph alone. Narrowing needs pure operators: to drop a
 * random one or a write would change what others see. */
DYNC__RARE static void dync__segment_study(dync__segment *s)
{
    const dync__graph *g = s->graph;
    s->narrowable = true;
    s->writes = dync__graph_has_writes(g);
    for (int i = 0; i < s->n_out && s->grad_mode; i++)
        s->used_inside = s->used_inside || dync__segment_uses(s, i);
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind != DYNC__N_CALL_FUNCTION && n->kind != DYNC__N_CALL_METHOD) continue;
        s->n_ops += n->op != DYNC__NODE_GETITEM;
        s->gives_numbers = s->gives_numbers || (!n->has_info && dync__arg_is_number(&n->scalar));
        if (n->op == DYNC__NODE_GETITEM) continue;
        if (n->op < 0) s->narrowable = false; /* a user's function: it may do anything */
        if (n->op < 0) continue;
        const dync__op_row *row = dync__op_info(n->op);
        if ((row->flags & (DYNC__OP_RANDOM | DYNC__OP_WRITES)) || row->cls == DYNC__INPLACE ||
            row->cls == DYNC__EFFECT)
            s->narrowable = false;
    }
}

/* The backend's own error becomes BackendCompilerFailed with the inner class and message. Errors
 * recorded inside a compile that answers DYNC_OK are dropped. */
DYNC__RARE static dync_status dync__backend_compile(const dync__compiled *f, dync__graph *g,
                                                    const dync_value *examples, int n,
                                                    dync_callable *out)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    /* a backend may run operators */
    dync__handler *stack = dync__handler_swap(NULL), *bottom = dync__bottom_swap(NULL);
    bool compiling = dync__tls.compiling, twice = dync__tls.double_backward;
    dync__tls.compiling = false;
    dync__tls.double_backward = f->opt.double_backward;
    dync_status (*hook)(const dync__compiled *, dync__graph *, const dync_value *, int,
                        dync_callable *) = DYNC__ATOMIC_PEEK(&dync__backend_compile_hook);
    dync_status status = hook ? hook(f, g, examples, n, out)
                              : dync__graph_ask(&f->backend, g, examples, n, f->opt.options, out);
    dync__tls.compiling = compiling;
    dync__tls.double_backward = twice;
    dync__handler_swap(stack);
    dync__bottom_swap(bottom);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (status == DYNC_OK && !out->run) {
        return dync__fail(DYNC_ERR_BACKEND,
                          "backend='%s' raised:\nTypeError: compile returned "
                          "DYNC_OK without a callable",
                          f->backend.name ? f->backend.name : "?");
    }
    if (status == DYNC_OK) return DYNC_OK;
    if (status == DYNC_ERR_MEMORY && inner->status == DYNC_OK) return dync__fail_memory(0);
    if (inner->status == DYNC_ERR_MEMORY || inner->status == DYNC_ERR_DATA_PTR) {
        dync__error_raise(inner);
        return inner->status;
    }
    return dync__fail(DYNC_ERR_BACKEND, "backend='%s' raised:\n%s: %s",
                      f->backend.name ? f->backend.name : "?",
                      inner->status != DYNC_OK ? inner->class_name : "RuntimeError",
                      inner->status != DYNC_OK ? inner->message : dync__status_name(status));
}

/* Graphs of segments end in a flat list of values. */
DYNC__RARE static int dync__output_count(const dync__graph *g)
{
    const dync__node *out = g->node.n ? g->node.at[g->node.n - 1] : NULL;
    return out && out->kind == DYNC__N_OUTPUT && out->nargs == 1 &&
                   out->args[0].kind == DYNC__A_LIST
               ? out->args[0].n
               : 0;
}

DYNC__RARE static void dync__segment_logged(const dync__segment *s, const dync__compiled *f,
                                            uint64_t ns)
{
    DYNC__COUNTER_ADD(graphs, 1);
    DYNC__COUNTER_ADD(ops, s->n_ops);
    if (dync__capture_log_now) dync__capture_log_now->segment(dync__capture_log_now, s->graph, ns);
    if (dync__log_on(DYNC__LOG_graph)) {
        dync_scope scope = dync_scope_begin();
        const char *text = dync_graph_str(dync__graph_handle(s->graph));
        dync__log_text(DYNC__LOG_graph, f->name, text ? text : "");
        dync_scope_end(&scope);
    }
}

/* The graph and the places are taken over, on failure too. inputs: the real tensors of this call,
 * as examples for the backend. */
DYNC__RARE DYNC__FN dync__segment *dync__segment_compile(dync__compiled *f, dync__graph *taken,
                                                         uint64_t hash, uint64_t site,
                                                         dync__tensor *const *inputs,
                                                         dync__lift *lift)
{
    bool refused = dync__stance() == DYNC__STANCE_fail_on_recompile;
    dync__segment *s = refused ? NULL : dync__calloc(sizeof *s);
    if (refused) (void)dync__stance_refuses(f, "a graph that no call before it had");
    int n = taken->n_inputs;
    dync_value few[DYNC__FEW], *examples = dync__room(few, DYNC__FEW, n, sizeof *examples);
    if (!s || !examples) {
        dync__room_end(examples, few, n, sizeof *examples);
        dync__free(s, sizeof *s);
        dync__graph_unref(taken);
        dync__lift_free(lift);
        return NULL;
    }
    s->graph = taken;
    s->lift = lift;
    s->hash = hash;
    s->site = site;
    s->likeness = dync__graph_likeness(lift ? lift->form : taken);
    s->n_in = n;
    s->n_out = dync__output_count(taken);
    s->grad_mode = !dync__grad_is_off();
    dync__segment_study(s);
    dync_scope scope = dync_scope_begin();
    for (int i = 0; i < n; i++) examples[i] = dync__boxed_value(inputs[i]);
    uint64_t start = dync__now_ns();
    dync_status status = dync__graph_border(DYNC__PASS_capture, taken, false);
    if (status == DYNC_OK && !DYNC__SMALLER(true, false)) status = dync__graph_check(taken);
    if (status == DYNC_OK) status = dync__segment_aliases(s, inputs);
    if (status == DYNC_OK) status = dync__backend_compile(f, taken, examples, n, &s->code);
    dync_scope_end(&scope);
    dync__room_end(examples, few, n, sizeof *examples);
    if (status != DYNC_OK) {
        s->code.destroy = NULL;
        dync__segment_free(s);
        return NULL;
    }
    uint64_t ns = dync__now_ns() - start;
    (void)DYNC__ATOMIC_ADD(&f->history.compile_ns, ns);
    dync__segment_logged(s, f, ns);
    dync__lock(&f->lock);
    s->next = f->segments;
    s->frame = f->n_frames;
    DYNC__ATOMIC_STORE(&f->segments, s);
    DYNC__ATOMIC_STORE(&f->n_frames, s->frame + 1);
    dync__unlock(&f->lock);
    return s;
}

/* A callable that runs the graph operator by operator, for dync__segment_plain. */
DYNC__RARE DYNC__FN dync_value dync__segment_interpret(void *graph, const dync_value *args,
                                                       int nargs)
{
    return dync__graph_run(graph, args, nargs);
}

/* A segment that no backend compiles (past the limit of pieces). It is in no table: the caller
 * frees it. The graph is taken over, on failure too. */
DYNC__RARE DYNC__FN dync__segment *dync__segment_plain(dync__graph *taken)
{
    dync__segment *s = dync__calloc(sizeof *s);
    if (!s) {
        dync__graph_unref(taken);
        return NULL;
    }
    s->graph = taken;
    s->n_in = taken->n_inputs;
    s->n_out = dync__output_count(taken);
    s->grad_mode = !dync__grad_is_off();
    s->code.run = dync__segment_interpret;
    s->code.state = taken;
    return s;
}

/* ---- in parts -------------------------------------------------------------------------------- */
static const dync__node *dync__segment_memory(const dync__node *n)
{
    while (n->op == DYNC__NODE_GETITEM ||
           (n->op >= 0 && (dync__op_info(n->op)->cls == DYNC__VIEW ||
                           dync__op_info(n->op)->cls == DYNC__INPLACE))) {
        if (!n->nargs || n->args[0].kind != DYNC__A_NODE) break;
        n = n->args[0].as.node;
    }
    return n;
}

/* What gives an output the value that it leaves with: the call that makes it (of several: getitem
 * leads there), or the last that writes its memory. */
static dync__node *dync__segment_maker(const dync__graph *g, int out)
{
    dync__node *n = dync__segment_output(g, out), *last = n;
    if (n->op == DYNC__NODE_GETITEM) last = n->args[0].as.node;
    const dync__node *memory = dync__segment_memory(n);
    for (int i = last->index + 1; i < g->node.n; i++) {
        dync__node *x = g->node.at[i];
        if (x->op >= 0 && dync__op_info(x->op)->cls == DYNC__INPLACE &&
            dync__segment_memory(x) == memory)
            last = x;
    }
    return last;
}

DYNC__RARE DYNC__FN bool dync__segment_is_apart(const dync__segment *s, int out)
{
    const dync__apart *a = DYNC__ATOMIC_LOAD(&s->apart);
    return a && dync__segment_maker(a->graph, out)->apart;
}

static void dync__apart_free(dync__apart *a)
{
    if (a->code.destroy) a->code.destroy(a->code.state);
    dync__graph_unref(a->graph);
    dync__free(a, sizeof *a);
}

/* Threads that do this at once wait for each other; calls that run keep the code they began with,
 * which lives as long as the segment. */
DYNC__RARE DYNC__FN dync_status dync__segment_part(dync__compiled *f, dync__segment *s, int out,
                                                   dync__tensor *const *inputs)
{
    const dync__apart *known = DYNC__ATOMIC_LOAD(&s->apart);
    dync__apart *a = dync__calloc(sizeof *a);
    dync_value few[DYNC__FEW], *examples = dync__room(few, DYNC__FEW, s->n_in, sizeof *examples);
    dync_status status = a && examples ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK)
        status = dync__graph_rewrite(known ? known->graph : s->graph, dync__rewrite_copy, NULL,
                                     &a->graph);
    dync_scope scope = dync_scope_begin();
    for (int i = 0; i < s->n_in && status == DYNC_OK; i++)
        examples[i] = dync__boxed_value(inputs[i]);
    if (status == DYNC_OK) {
        dync__segment_maker(a->graph, out)->apart = true;
        dync__log(DYNC__LOG_graph,
                  "%s: a hook on a value that was used before the break: its graph "
                  "runs in parts from now on",
                  f->name);
        status = dync__backend_compile(f, a->graph, examples, s->n_in, &a->code);
    }
    dync_scope_end(&scope);
    dync__room_end(examples, few, s->n_in, sizeof *examples);
    if (status != DYNC_OK) {
        if (a) a->code.destroy = NULL;
        if (a) dync__apart_free(a);
        return status;
    }
    dync__lock(&f->lock);
    a->next = s->apart;
    DYNC__ATOMIC_STORE(&s->apart, a);
    dync__unlock(&f->lock);
    return DYNC_OK;
}

DYNC__RARE DYNC__FN void dync__lift_free(dync__lift *lift)
{
    if (!lift) return;
    dync__graph_unref(lift->form);
    dync__free(lift, sizeof *lift);
}

/* No call may be in its code any more. */
DYNC__RARE DYNC__FN void dync__segment_free(dync__segment *s)
{
    if (!s) return;
    if (s->code.destroy) s->code.destroy(s->code.state);
    if (s->alias) dync__free(s->alias, (size_t)s->n_in * sizeof *s->alias);
    if (s->used) dync__free(s->used, (size_t)s->n_out * sizeof *s->used);
    dync__lift_free(s->lift);
    for (dync__apart *next; s->apart; s->apart = next) {
        next = s->apart->next;
        dync__apart_free(s->apart);
    }
    dync__graph_unref(s->graph);
    dync__free(s, sizeof *s);
}

/* The uses are known now: the callable computes no more than those. Uses only grow: a later path
 * that needs more widens them. */
DYNC__RARE static dync_status dync__segment_narrow_now(dync__segment *s, const bool *used)
{
    bool fresh = !s->used, changed = fresh;
    int n = 0;
    if (fresh && !(s->used = dync__calloc((size_t)s->n_out * sizeof *s->used)))
        return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n_out; i++)
        if (used[i] && !s->used[i]) s->used[i] = changed = true, n++;
    if (changed)
        dync__pass_log(DYNC__PASS_narrow, s->graph->name, "%d of %d results are read, others not",
                       n, s->n_out);
    return changed ? s->code.narrow(s->code.state, s->used) : DYNC_OK;
}

/* Paths of several entries may end in the same segment at once. */
DYNC__RARE DYNC__FN dync_status dync__segment_narrow(dync__segment *s, const bool *used)
{
    if (!s->code.narrow || !s->narrowable || !s->n_out || !dync__pass_on(DYNC__PASS_narrow))
        return DYNC_OK;
    int32_t idle = 0;
    while (!DYNC__ATOMIC_CAS(&s->narrowing, &idle, 1)) idle = 0;
    dync_status status = dync__segment_narrow_now(s, used);
    DYNC__ATOMIC_STORE(&s->narrowing, 0);
    return status;
}
