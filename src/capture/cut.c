/* capture/cut.c: where the pending graph ends: at breaks (every value that the C function may still
 * use leaves the graph), at the return of a broken frame, and at the end (only what is returned
 * leaves). After piece.c, before break.c.
 *
 * Frames: a break cuts the pending operations at the entry of every open frame;
 * each non-empty piece is one graph. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- user stacks ----------------------------------------------------------------------------- */
DYNC__FN void dync__stack_line(dync__str *s, dync_loc at, const char *fn)
{
    if (at.file)
        dync__str_addf(s, "%s:%d in %s\n", at.file, at.line, fn ? fn : at.func);
    else
        dync__str_addf(s, "in %s\n", fn ? fn : "?");
}

DYNC__FN void dync__trace_stack(const dync__tracer *t, dync__str *s)
{
    const char *fn = t->fn->name;
    for (int i = 0; i < t->rec.frames.n; i++) {
        dync__stack_line(s, t->rec.frames.at[i].at, fn);
        fn = t->rec.frames.at[i].name;
    }
    dync__stack_line(s, t->last_at, t->last_at.func ? t->last_at.func : fn);
}

static void dync__log_break(dync__tracer *t, const char *reason)
{
    DYNC__COUNTER_ADD(graph_breaks, 1);
    dync__str stack = {0};
    if (!dync__log_on(DYNC__LOG_graph) && !dync__capture_log_now) return;
    dync__trace_stack(t, &stack);
    dync__log(DYNC__LOG_graph, "graph break: %s\n%s", reason, dync__str_get(&stack));
    if (dync__capture_log_now)
        dync__capture_log_now->cut(dync__capture_log_now, reason, dync__str_get(&stack));
    dync__str_free(&stack);
}

/* ---- pieces ---------------------------------------------------------------------------------- */
/* Where pieces end, and the frame each belongs to. A split is one more end. */
static int dync__cut_bounds(dync__tracer *t, int *bound, const char **frame, int cap)
{
    int n = 0;
    bound[n] = 0;
    frame[n++] = t->fn->name;
    for (int i = 0; i < t->rec.frames.n; i++) {
        int mark = t->rec.frames.at[i].mark;
        if (mark > bound[n - 1] && n < cap - 1) bound[n++] = mark;
        frame[n - 1] = t->rec.frames.at[i].name;
    }
    if (bound[n - 1] != t->rec.pending) bound[n++] = t->rec.pending;
    for (int i = 1; t->cut.split > 0 && i < n && n < cap; i++) {
        if (bound[i - 1] >= t->cut.split || bound[i] <= t->cut.split) continue;
        for (int k = n++; k > i; k--) {
            bound[k] = bound[k - 1];
            frame[k] = frame[k - 1];
        }
        bound[i] = t->cut.split;
        frame[i] = frame[i - 1];
    }
    return n - 1;
}

static int dync__node_ordinal(const dync__tracer *t, const dync__node *n)
{
    int k = -1;
    for (int i = 0; i < t->rec.graph->node.n; i++) {
        const dync__node *x = t->rec.graph->node.at[i];
        if (dync__node_pends(x) && x->op != DYNC__NODE_GETITEM) k++;
        if (x == n) return k;
    }
    return k;
}

/* The node in [lo, hi) that is the value of a fake: the last of those that returned it. */
static dync__node *dync__made_within(const dync__tracer *t, const dync__tensor *x, int lo, int hi)
{
    for (dync__node *n = x->node; n; n = n->before) {
        int k = dync__node_ordinal(t, n);
        if (k >= lo && k < hi) return n;
    }
    return NULL;
}

typedef struct dync__later {
    const dync__tracer *t;
    int hi;
    const dync__node *wanted;
    bool found;
} dync__later;

static void dync__later_use(void *user, dync__arg *a)
{
    dync__later *l = user;
    if (a->as.node == l->wanted) l->found = true;
}

/* Does a pending call at or after ordinal hi use the node? */
static bool dync__used_later(dync__tracer *t, const dync__node *n, int hi)
{
    dync__later l = {.t = t, .hi = hi, .wanted = n};
    int k = -1;
    for (int i = 0; i < t->rec.graph->node.n && !l.found; i++) {
        dync__node *x = t->rec.graph->node.at[i];
        if (dync__node_pends(x) && x->op != DYNC__NODE_GETITEM) k++;
        if (dync__node_pends(x) && k >= hi) dync__node_each_input(x, dync__later_use, &l);
    }
    return l.found;
}

static bool dync__graph_has_effects(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        int op = g->node.at[i]->op;
        if (g->node.at[i]->callee) return true;
        if (op < 0 || !dync__node_pends(g->node.at[i])) continue;
        const dync__op_row *row = dync__op_info(op);
        /* the mode at the end is kept apart */
        if (dync__row_sets_grad_mode(row)) continue;
        if (row->cls == DYNC__INPLACE || row->cls == DYNC__EFFECT ||
            (row->flags & (DYNC__OP_WRITES | DYNC__OP_RANDOM)))
            return true;
    }
    return false;
}

/* ---- constants ------------------------------------------------------------------------------- */
/* The node of the dync_constant that x is or was; NULL: it is none. */
static dync__node *dync__made_constant(const dync__tensor *x)
{
    dync__node *n = x->node;
    while (n && !n->fresh) n = n->before;
    return n;
}

/* Did the function write it, or does it leave, itself or a view of it? */
static bool dync__constant_is_shown(const dync__tensor *x, int n, dync__tensor *const *fakes)
{
    bool leaves = x->storage->version > 0;
    for (int i = 0; i < n; i++) leaves = leaves || fakes[i]->storage == x->storage;
    return leaves;
}

static dync__node *dync__constant_copied(dync__rewrite *r, dync__node *old)
{
    dync__node *n = dync__rewrite_copy(r, old);
    if (n && old->mark) {
        dync__arg self = dync__arg_node(n);
        n = dync__graph_call(r->to, DYNC__USED(DYNC__OP_clone), 1, &self, 1, old->info, NULL);
        if (n) n->at = old->at, n->env = -1;
    }
    old->mark = n;
    return n;
}

/* Such constants are copied in every call, which begins with what the program says. whole: *g is
 * the pending graph itself, and no copy of a part of it; nodes: the outputs. */
static dync_status dync__cut_constants(dync__tracer *t, dync__graph **g, bool whole, int n,
                                       dync__tensor *const *fakes, dync__node **nodes)
{
    bool any = false;
    dync__graph *to;
    for (int i = 0; i < (*g)->node.n && whole; i++) (*g)->node.at[i]->mark = NULL;
    for (int i = 0; i < t->rec.made.n; i++) {
        dync__node *c = dync__made_constant(t->rec.made.at[i]), *at = c && !whole ? c->mark : c;
        if (!at || !dync__constant_is_shown(t->rec.made.at[i], n, fakes)) continue;
        at->mark = at;
        any = true;
    }
    if (!any) return DYNC_OK;
    dync_status status = dync__graph_rewrite(*g, dync__constant_copied, NULL, &to);
    for (int i = 0; i < n && status == DYNC_OK; i++) nodes[i] = nodes[i]->mark;
    dync__graph_unref(*g);
    *g = to;
    return status;
}

/* One piece [lo, hi) of several, or the whole. live(i) tells which made fakes leave. */
static dync_status dync__cut_range(dync__tracer *t, int lo, int hi, bool whole, uint64_t site,
                                   const bool *live)
{
    dync__tensor **fakes = dync__alloc((size_t)(t->rec.made.n + 1) * sizeof *fakes);
    dync__node **nodes = dync__alloc((size_t)(t->rec.made.n + 1) * sizeof *nodes);
    dync__node **olds = dync__alloc((size_t)(t->rec.made.n + 1) * sizeof *olds);
    dync__graph *g = fakes && nodes && olds
                         ? (whole ? dync__graph_ref(t->rec.graph) : dync__piece_graph(t, lo, hi))
                         : NULL;
    dync_status status = g ? DYNC_OK : DYNC_ERR_MEMORY;
    int n = 0;
    for (int i = 0; i < t->rec.made.n && g; i++) {
        dync__tensor *x = t->rec.made.at[i];
        dync__node *old = whole ? x->node : dync__made_within(t, x, lo, hi);
        if (!old || !(live[i] || (!whole && dync__used_later(t, old, hi)))) continue;
        olds[n] = old;
        fakes[n] = x;
        nodes[n++] = whole ? old : old->mark;
    }
    int made = t->rec.made.n;
    /* nothing of it is seen by anybody */
    if (g && n == 0 && !dync__graph_has_effects(g))
        dync__graph_unref(g);
    else if (g) {
        status = dync__cut_constants(t, &g, whole, n, fakes, nodes);
        if (status == DYNC_OK) status = dync__cut_piece(t, g, site, n, fakes, nodes);
        for (int i = 0; i < n && status == DYNC_OK; i++) olds[i]->env = fakes[i]->node_output;
    }
    dync__free(fakes, (size_t)(made + 1) * sizeof *fakes);
    dync__free(nodes, (size_t)(made + 1) * sizeof *nodes);
    dync__free(olds, (size_t)(made + 1) * sizeof *olds);
    return status;
}

/* ---- the cut --------------------------------------------------------------------------------- */
static void dync__cut_reset(dync__tracer *t)
{
    for (int i = 0; i < t->rec.made.n; i++) {
        dync__tensor *x = t->rec.made.at[i];
        if (x->node) x->node = NULL;
        if (!dync__script_takes(t, x)) dync__unref(x);
    }
    t->rec.made.n = 0;
    dync__graph_unref(t->rec.graph);
    t->rec.graph = NULL;
    t->rec.pending = 0;
    for (int i = 0; i < t->env.holder.n; i++) t->env.holder.at[i] = NULL;
    for (int i = 0; i < t->rec.frames.n; i++) t->rec.frames.at[i].mark = 0;
}

/* The grad mode that the pending call of that ordinal is recorded in: a piece before may switch it,
 * whatever running that one leaves behind. */
static bool dync__cut_grad_off(const dync__tracer *t, int ordinal)
{
    bool off = t->rec.grad_off;
    for (int i = 0, k = 0; i < t->rec.graph->node.n && k < ordinal; i++) {
        const dync__node *n = t->rec.graph->node.at[i];
        if (dync__node_sets_grad_mode(n)) off = !n->args[0].as.i;
        if (dync__node_pends(n) && n->op != DYNC__NODE_GETITEM) k++;
    }
    return off;
}

/* What follows a branch in its frame begins at another place for each way that the branch goes. */
DYNC__FN void dync__cut_taken(dync__tracer *t, bool yes)
{
    t->cut.taken = dync__hash_mix((uint64_t)t->last_at.line + 1, yes ? 1 : 2);
    t->cut.taken_depth = t->rec.frames.n;
}
static uint64_t dync__cut_site(const dync__tracer *t, uint64_t taken, const char *frame,
                               const char *reason)
{
    int depth = 0; /* of the first piece: frames without operators before them */
    while (depth < t->rec.frames.n && t->rec.frames.at[depth].mark == 0) depth++;
    uint64_t site = dync__piece_site(t, frame, reason);
    return taken && t->cut.lo == 0 && depth == t->cut.taken_depth ? dync__hash_mix(site, taken)
                                                                  : site;
}

/* reason: the break that ends the pieces, or NULL. live NULL: everything that the C function still
 * holds. */
DYNC__FN dync_status dync__cut_live(dync__tracer *t, const char *reason, const bool *live_or_null)
{
    uint64_t taken = t->cut.taken;
    t->cut.taken = 0;
    if (!t->rec.graph || !t->rec.pending) return dync__effects_flush(t);
    dync__script_cut_begin(t, reason);
    DYNC__TRY(dync__effects_begin(t));
    if (t->cut.then) DYNC__TRY(dync__effect_add(t, true, *t->cut.then, t->cut.then_to));
    if (dync__graph_has_writes(t->rec.graph)) DYNC__TRY(dync__record_keep(t));
    const char *frame[67];
    int bound[67], n = dync__cut_bounds(t, bound, frame, DYNC__COUNT_OF(bound)),
                   made = t->rec.made.n;
    bool *live = dync__alloc((size_t)(made + 1));
    if (!live) return DYNC_ERR_MEMORY;
    for (int i = 0; i < made; i++)
        live[i] = live_or_null ? live_or_null[i] : DYNC__ATOMIC_PEEK(&t->rec.made.at[i]->refs) > 1;
    dync__effects_mark(t, live);
    dync_status status = DYNC_OK;
    bool grad_off = dync__grad_is_off();
    t->cut.reason = reason;
    for (int i = 0; i < n && status == DYNC_OK; i++) {
        if (reason) dync__log_break(t, reason);
        t->cut.lo = bound[i];
        t->cut.hi = bound[i + 1];
        dync__grad_off(dync__cut_grad_off(t, t->cut.lo));
        status = dync__cut_range(t, bound[i], bound[i + 1], n == 1,
                                 dync__cut_site(t, taken, frame[i], reason), live);
        if (status == DYNC_OK && (bound[i + 1] == t->cut.split || i == n - 1))
            status = dync__effects_begin(t);
    }
    dync__grad_off(grad_off);
    dync__free(live, (size_t)(made + 1));
    if (!live_or_null) dync__script_cut_end(t, false);
    dync__cut_reset(t);
    if (status == DYNC_OK) status = dync__effects_flush(t);
    return status == DYNC_OK ? DYNC_OK : dync__tracer_fail(t, status);
}

DYNC__FN dync_status dync__record_cut(dync__tracer *t, const char *reason)
{
    return dync__cut_live(t, reason, NULL);
}

DYNC__OFTEN DYNC__FN dync_status dync__tracer_cut(dync__tracer *t, const char *reason)
{
    return t->way->cut(t, reason);
}

DYNC__FN const dync__node *dync__tracer_written(const dync__tracer *t, const dync__tensor *fake)
{
    for (int i = t->rec.graph ? t->rec.graph->node.n - 1 : -1; i >= 0; i--) {
        const dync__node *n = t->rec.graph->node.at[i], *self;
        if (n->op < 0 || dync__op_info(n->op)->cls != DYNC__INPLACE ||
            n->args[0].kind != DYNC__A_NODE)
            continue;
        self = n->args[0].as.node;
        const dync__tensor *x =
            self->kind == DYNC__N_PLACEHOLDER && self->env >= 0 ? t->env.fake.at[self->env] : NULL;
        for (int k = 0; k < t->rec.made.n && !x; k++)
            for (const dync__node *is = t->rec.made.at[k]->node; is && !x; is = is->before)
                if (is == self) x = t->rec.made.at[k];
        if (x && dync__tracer_same_memory(t, x, fake)) return n;
    }
    return NULL;
}

/* So that all later uses of the value, as it is now, are of one that has left its graph. */
DYNC__FN dync_status dync__tracer_split(dync__tracer *t, dync__tensor *made,
                                        const dync__effect *then_or_null)
{
    const dync__node *written = dync__tracer_written(t, made);
    int at = made->node ? dync__node_ordinal(t, made->node) + 1 : 0,
        last = written ? dync__node_ordinal(t, written) + 1 : 0;
    t->cut.split = DYNC__MAX(at, last);
    t->cut.then = then_or_null;
    t->cut.then_to = made;
    dync_status status = dync__cut_live(t, NULL, NULL);
    t->cut.split = 0;
    t->cut.then = NULL;
    return status;
}
