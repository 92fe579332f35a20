/* capture/cut.c: turns what the tracer has pending into segments: at breaks (every value that the C
 * function may still use leaves the graph), at the return of a broken frame, and at the end (only
 * what is returned leaves). Runs them, so that the trace goes on with real values behind its fakes.
 * After trace.c, before intercept.c.
 *
 * Frames (conformance V1): a break cuts the pending operations at the entry of every open frame;
 * each non-empty piece is one graph. */
#include "../dync.in.h"
#include "trace.h"

/* ---- user stacks ----------------------------------------------------------------------------- */
static void dync__stack_line(dync__str *s, dync_loc at, const char *fn)
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
    dync__trace_stack(t, &stack);
    dync__log(DYNC__LOG_graph, "graph break: %s\n%s", reason, dync__str_get(&stack));
    if (dync__capture_log_now) {
        dync__capture_log *log = dync__capture_log_now;
        dync__break_record r = {dync__arena_strdup(&log->arena, reason),
                                dync__arena_strdup(&log->arena, dync__str_get(&stack))};
        if (r.reason && r.stack) (void)!dync__vec_push(&log->breaks, r);
    }
    dync__str_free(&stack);
}

/* ---- pieces ---------------------------------------------------------------------------------- */
/* A value from before the piece: a placeholder for its place in the environment, one for all nodes
 * of that place. */
static dync__node *dync__piece_input(dync__rewrite *r, dync__node *old)
{
    if (old->env < 0) return NULL;
    dync__node **holder = &((dync__node **)r->user)[old->env];
    if (*holder) return *holder;
    char name[40];
    bool input = old->kind == DYNC__N_PLACEHOLDER;
    dync__format(name, sizeof name, "stack%d", old->env);
    *holder = dync__rewrite_input(r, old, input ? old->name : name);
    if (*holder && input) (*holder)->target = dync__arena_strdup(&r->to->arena, old->target);
    return *holder;
}

/* Copies calls [from, to) of the pending graph into a graph of their own; mark: a node's copy,
 * NULL: it has none. */
static dync__graph *dync__piece_graph(dync__tracer *t, int from, int to)
{
    dync__rewrite r;
    dync__graph *g;
    dync__node **holder = dync__calloc((size_t)(t->env.real.n + 1) * sizeof *holder);
    dync_status status = dync__rewrite_begin(&r, t->rec.graph, "GraphModule");
    if (!holder) status = DYNC_ERR_MEMORY;
    r.missing = dync__piece_input;
    r.user = holder;
    int k = 0;
    for (int i = 0; i < t->rec.graph->node.n && status == DYNC_OK; i++) {
        dync__node *old = t->rec.graph->node.at[i];
        old->mark = NULL;
        if (!dync__node_pends(old)) continue;
        int ordinal = old->op == DYNC__NODE_GETITEM ? k - 1 : k++;
        if (ordinal < from || ordinal >= to) continue;
        status = dync__rewrite_put(&r, old, dync__rewrite_copy);
        old->mark = r.copy[i];
    }
    dync__free(holder, (size_t)(t->env.real.n + 1) * sizeof *holder);
    (void)dync__rewrite_end(&r, status, &g);
    return g;
}

/* ---- running a segment ----------------------------------------------------------------------- */
static int *dync__in_env(dync__arena *arena, const dync__graph *g)
{
    int *in = dync__arena_alloc(arena, (size_t)(g->n_inputs + 1) * sizeof *in);
    for (int i = 0, k = 0; in && i < g->node.n && k < g->n_inputs; i++)
        if (g->node.at[i]->kind == DYNC__N_PLACEHOLDER) in[k++] = g->node.at[i]->env;
    return in;
}

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
DYNC__FN dync_status dync__record_value(dync__tracer *t, int env)
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

DYNC__FN dync__tensor *dync__env_real(dync__tracer *t, int env)
{
    if (!t->env.real.at[env] && t->way->value(t, env) != DYNC_OK) return NULL;
    return t->env.real.at[env];
}

static dync_status dync__cut_inputs(dync__tracer *t, int n, const int *in_env, dync__tensor **in)
{
    if (!in) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        if (!(in[i] = dync__env_real(t, in_env[i])))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    return DYNC_OK;
}

DYNC__FN dync_status dync__cut_run(dync__tracer *t, dync__segment *s, const int *in_env,
                                   dync__tensor **out)
{
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, s->n_in, sizeof *in);
    dync_status status = dync__cut_inputs(t, s->n_in, in_env, in);
    if (status == DYNC_OK) {
        dync__trace_pause pause = dync__trace_pause_begin(t);
        dync__verify *verify = dync__verify_segment_begin(t->fn, s, in);
        status = dync__segment_run(s, s->n_in, in, out);
        if (verify) status = dync__verify_segment_end(verify, status, out, s->n_out);
        dync__trace_pause_end(t, pause);
    }
    dync__room_end(in, few, s->n_in, sizeof *in);
    return status;
}

/* Another graph at this position in every call (a number that data decide, a constant made anew) is
 * not compiled for ever: past the limit such a piece runs operator by operator and is not kept. */
static bool dync__cut_too_many(dync__tracer *t, uint64_t site)
{
    /* all ends of a frame count as one position */
    int variants = 0, limit = t->fn->opt.recompile_limit * (t->cut.reason ? 1 : 8);
    for (dync__segment *s = DYNC__ATOMIC_LOAD(&t->fn->segments); s && !t->on_tree; s = s->next)
        variants += s->site == site;
    if (variants < limit) return false;
    if (!DYNC__ATOMIC_LOAD(&t->fn->warned)) {
        DYNC__ATOMIC_STORE(&t->fn->warned, true);
        dync__warn("torch._dynamo hit config.cache_size_limit (%d)\n   function: '%s' (%s:%d)\n  "
                   " last reason: another graph there in every call\n"
                   "From now on what stands there runs operator by operator. To have it "
                   "compiled, keep numbers that are read from tensors as\n"
                   "tensors and make constants outside of the function; or raise .recompile_limit.",
                   limit, t->fn->name, t->last_at.file ? t->last_at.file : "?", t->last_at.line);
    }
    return true;
}

static dync__segment *dync__cut_transient(dync__tracer *t, dync__graph *taken)
{
    dync__segment *s = dync__segment_plain(taken);
    if (!s || dync__vec_push(&t->transient, s)) return s;
    dync__segment_free(s);
    return NULL;
}

static dync__segment *dync__cut_segment(dync__tracer *t, dync__graph *taken, const int **in_env,
                                        uint64_t hash, uint64_t site)
{
    int n = taken->n_inputs;
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, n, sizeof *in);
    bool ready = dync__cut_inputs(t, n, *in_env, in) == DYNC_OK;
    dync__segment *s = ready ? dync__segment_find(t->fn, taken, hash, in) : NULL;
    if (!s && ready && !t->on_tree)
        ready = dync__lift_segment(t, taken, site, in, in_env, &s) == DYNC_OK;
    if (s || !ready)
        dync__graph_unref(taken);
    else
        s = dync__cut_too_many(t, site) ? dync__cut_transient(t, taken)
                                        : dync__segment_compile(t->fn, taken, hash, site, in, NULL);
    dync__room_end(in, few, n, sizeof *in);
    return s;
}

/* Inputs in the order of the arguments, whatever was used first. */
static void dync__piece_sort(dync__graph *g)
{
    for (int i = 1; i < g->n_inputs; i++) {
        dync__node *n = g->node.at[i];
        int k = i;
        for (; k > 0 && g->node.at[k - 1]->env > n->env; k--) g->node.at[k] = g->node.at[k - 1];
        g->node.at[k] = n;
    }
}

/* A grad mode that is left and entered again at once: neither is a node. From the mode in force,
 * which the mode at the end stays. */
static void dync__piece_modes(dync__graph *g)
{
    bool on = !dync__tls.grad_enabled_off;
    bool turned = false; /* the last node that is kept changed it */
    int kept = 0;
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        bool mode = n->op == DYNC__OP__set_grad_enabled, to = mode && n->args[0].as.i != 0,
             turns = mode && to != on;
        if (mode) on = to;
        if (turns && turned)
            kept--;
        else
            g->node.at[kept++] = n;
        turned = turns && !turned;
    }
    g->node.n = kept;
    dync__graph_renumber(g);
}

/* Where a piece stands: equal operators at another place of the program are a segment of their
 * own. */
static uint64_t dync__piece_site(const dync__tracer *t, const char *frame, const char *reason)
{
    uint64_t h = dync__hash_bytes(frame, strlen(frame), 1);
    if (!reason) return dync__hash_mix(h, 2);
    if (t->last_at.file) h = dync__hash_bytes(t->last_at.file, strlen(t->last_at.file), h);
    return dync__hash_mix(dync__hash_bytes(reason, strlen(reason), h), (uint64_t)t->last_at.line);
}

/* It is compiled where no segment is that graph, runs, and is noted in the tree. */
DYNC__FN dync_status dync__record_piece(dync__tracer *t, dync__graph *taken, uint64_t hash,
                                        uint64_t site, dync__segref *ref, dync__tensor **out)
{
    const int *in_env = ref->in_env;
    ref->seg = dync__cut_segment(t, taken, &in_env, hash, site);
    ref->in_env = (int *)(uintptr_t)in_env;
    if (!ref->seg) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_BACKEND;
    DYNC__TRY(dync__cut_run(t, ref->seg, ref->in_env, out));
    if (!t->on_tree) return dync__cut_complete(t, ref->seg, ref->in_env, out);
    return dync__avec_push(&t->entry->arena, &t->at->seg, *ref) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Finishes a piece: outputs, backend, run; its outputs enter the environment. */
static dync_status dync__cut_piece(dync__tracer *t, dync__graph *g, uint64_t site, int n_out,
                                   dync__tensor **fakes, dync__node **nodes)
{
    dync__arena *arena = t->on_tree ? &t->entry->arena : &t->scratch;
    dync_status made = dync__shapes_settle(t, g);
    dync__piece_modes(g);
    dync__piece_sort(g);
    if (made == DYNC_OK) made = dync__graph_output_list(g, n_out, nodes);
    if (made != DYNC_OK) {
        dync__graph_unref(g);
        return made;
    }
    dync__segref ref = {.in_env = dync__in_env(arena, g),
                        .out_env = dync__arena_alloc(arena, (size_t)(n_out + 1) * sizeof(int))};
    dync__tensor **out = dync__calloc((size_t)(n_out + 1) * sizeof *out);
    dync_status status = ref.in_env && ref.out_env && out ? DYNC_OK : DYNC_ERR_MEMORY;
    uint64_t hash = dync__hash_mix(dync__graph_hash(g), site);
    if (status == DYNC_OK)
        status = t->way->piece(t, g, hash, site, &ref, out);
    else
        dync__graph_unref(g);
    if (status == DYNC_OK) dync__script_piece(t, &ref, n_out, fakes);
    for (int i = 0; i < n_out && status == DYNC_OK; i++) {
        dync__ref(fakes[i]);
        int env = dync__tracer_env_add(t, out[i], fakes[i]);
        if (env < 0)
            status = DYNC_ERR_MEMORY;
        else {
            t->env.origin.at[env] = (dync__origin){ref.seg, ref.in_env, i, 0, false};
            ref.out_env[i] = env;
        }
    }
    for (int i = 0; out && i < n_out; i++) dync__unref(out[i]);
    dync__free(out, (size_t)(n_out + 1) * sizeof *out);
    return status;
}

/* ---- the cut --------------------------------------------------------------------------------- */
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

static bool dync__graph_has_effects(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        int op = g->node.at[i]->op;
        if (g->node.at[i]->callee) return true;
        if (op < 0 || !dync__node_pends(g->node.at[i])) continue;
        const dync__op_row *row = dync__op_info(op);
        /* the mode at the end is kept apart */
        if (op == DYNC__OP__set_grad_enabled) continue;
        if (row->cls == DYNC__INPLACE || row->cls == DYNC__EFFECT ||
            (row->flags & (DYNC__OP_WRITES | DYNC__OP_RANDOM)))
            return true;
    }
    return false;
}

/* One piece [lo, hi) of several, or the whole. live(i) tells which made fakes leave. */
static dync_status dync__cut_range(dync__tracer *t, int lo, int hi, bool whole, uint64_t site,
                                   const bool *live)
{
    dync__tensor **fakes = dync__alloc((size_t)(t->rec.made.n + 1) * sizeof *fakes);
    dync__node **nodes = dync__alloc((size_t)(t->rec.made.n + 1) * sizeof *nodes);
    dync__graph *g = fakes && nodes
                         ? (whole ? dync__graph_ref(t->rec.graph) : dync__piece_graph(t, lo, hi))
                         : NULL;
    dync_status status = g ? DYNC_OK : DYNC_ERR_MEMORY;
    int n = 0;
    for (int i = 0; i < t->rec.made.n && g; i++) {
        dync__node *old = t->rec.made.at[i]->node;
        int k = old && !whole ? dync__node_ordinal(t, old) : lo;
        if (!old || k < lo || k >= hi || !(live[i] || (!whole && dync__used_later(t, old, hi))))
            continue;
        fakes[n] = t->rec.made.at[i];
        nodes[n++] = whole ? old : old->mark;
    }
    int made = t->rec.made.n;
    /* nothing of it is seen by anybody */
    if (g && n == 0 && !dync__graph_has_effects(g))
        dync__graph_unref(g);
    else if (g) {
        dync__node **olds = dync__alloc((size_t)(n + 1) * sizeof *olds);
        if (!olds) dync__graph_unref(g);
        for (int i = 0; olds && i < n; i++) olds[i] = fakes[i]->node;
        status = olds ? dync__cut_piece(t, g, site, n, fakes, nodes) : DYNC_ERR_MEMORY;
        for (int i = 0; olds && i < n && status == DYNC_OK; i++)
            olds[i]->env = fakes[i]->node_output;
        dync__free(olds, (size_t)(n + 1) * sizeof *olds);
    }
    dync__free(fakes, (size_t)(made + 1) * sizeof *fakes);
    dync__free(nodes, (size_t)(made + 1) * sizeof *nodes);
    return status;
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

/* The grad mode that the pending call of that ordinal is recorded in: a piece before may switch it,
 * whatever running that one leaves behind. */
static bool dync__cut_grad_off(const dync__tracer *t, int ordinal)
{
    bool off = t->rec.grad_off;
    for (int i = 0, k = 0; i < t->rec.graph->node.n && k < ordinal; i++) {
        const dync__node *n = t->rec.graph->node.at[i];
        if (n->op == DYNC__OP__set_grad_enabled) off = !n->args[0].as.i;
        if (dync__node_pends(n) && n->op != DYNC__NODE_GETITEM) k++;
    }
    return off;
}

/* reason: the break that ends the pieces, or NULL. live NULL: everything that the C function still
 * holds. */
static dync_status dync__cut_live(dync__tracer *t, const char *reason, const bool *live_or_null)
{
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
    bool grad_off = dync__tls.grad_enabled_off;
    t->cut.reason = reason;
    for (int i = 0; i < n && status == DYNC_OK; i++) {
        if (reason) dync__log_break(t, reason);
        t->cut.lo = bound[i];
        t->cut.hi = bound[i + 1];
        dync__tls.grad_enabled_off = dync__cut_grad_off(t, t->cut.lo);
        status = dync__cut_range(t, bound[i], bound[i + 1], n == 1,
                                 dync__piece_site(t, frame[i], reason), live);
        if (status == DYNC_OK && (bound[i + 1] == t->cut.split || i == n - 1))
            status = dync__effects_begin(t);
    }
    dync__tls.grad_enabled_off = grad_off;
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
DYNC__FN dync_status dync__tracer_cut(dync__tracer *t, const char *reason)
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
            if (t->rec.made.at[k]->node == self) x = t->rec.made.at[k];
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

DYNC__FN dync__tensor *dync__trace_real(dync__tracer *t, dync__tensor *fake)
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

/* ---- breaks ---------------------------------------------------------------------------------- */
/* What a reason, whose text is upstream's, means in C, and what to do instead. */
static const struct {
    const char *reason, *words;
} dync__break_words[] = {
    {"generic_jump TensorVariable()",
     "dync_bool asks for a tensor's value, which decides what comes next: "
     "compute both sides and choose with dync_where"},
    {"Tensor.item",
     "dync_item asks for a tensor's value: leave it a tensor, which operators take where they "
     "take a number"},
    {"Tensor.__repr__",
     "dync_str asks for a tensor's values: return the tensor and make the text outside"},
    {"Tensor.backward", "dync_backward walks a tape that no graph holds here: call it outside"},
    {"Tensor.grad", "dync_grad asks for a gradient that another call left: make it an argument"},
    {"dynamic shape operator: ",
     "the shape of its result depends on values, which a graph does not have: "
     "mask with dync_where, or do it outside"},
    {"print",
     "dync_print and dync_host_print write while the function runs, not while its graph does: "
     "print outside"},
};

/* Upstream's text first, then the places, then what happened here; they name operator and line, so
 * the message does not once more. */
static dync_status dync__break_refused(dync__tracer *t, const char *text, const char *reason)
{
    dync__str s = {0};
    const char *words = NULL;
    dync_loc at = dync__tls.at;
    dync__trace_stack(t, &s);
    for (int i = 0; i < DYNC__COUNT_OF(dync__break_words) && !t->own_reason; i++)
        if (strncmp(reason, dync__break_words[i].reason, strlen(dync__break_words[i].reason)) == 0)
            words = dync__break_words[i].words;
    if (words) dync__str_addf(&s, "\n%s, or compile without .fullgraph", words);
    if (t->own_reason) dync__str_addf(&s, "\ndync_graph_break: %s\n", t->own_reason);
    if (t->own_reason)
        dync__stack_line(&s, t->last_at, t->last_at.func ? t->last_at.func : t->fn->name);
    const char *op = dync__tls.op;
    dync__tls.at = DYNC_NOWHERE;
    dync__tls.op = NULL;
    dync_status status =
        dync__fail(DYNC_ERR_UNSUPPORTED, "%s\n\nfrom user code:\n%s", text, dync__str_get(&s));
    dync__tls.op = op;
    dync__tls.at = at;
    dync__str_free(&s);
    return dync__tracer_fail(t, status);
}

static dync_status dync__inferring_refused(dync__tracer *t, const char *reason)
{
    return dync__tracer_fail(t, dync__fail(DYNC_ERR_UNSUPPORTED,
                                           "dync_allow_in_graph(%s): it "
                                           "reads values (%s), so the "
                                           "shapes of its result cannot be "
                                           "known without running it; use dync_disable",
                                           t->inferring, reason));
}

static void dync__break_callbacks(dync__tracer *t)
{
    if (!t->fresh) return;
    dync__callbacks_end();
    dync__callbacks_start();
}

/* From here on the C function must run in every call. */
static void dync__tracer_leave_tree(dync__tracer *t)
{
    if (!DYNC__ATOMIC_LOAD(&t->entry->open)) DYNC__ATOMIC_STORE(&t->entry->open, true);
    t->at = NULL;
    t->on_tree = false;
}

DYNC__FN dync_status dync__trace_break(dync__tracer *t, const char *reason,
                                       const char *fullgraph_text)
{
    if (t->stopped) return t->status != DYNC_OK ? t->status : DYNC_ERR_RUNTIME;
    if (t->inferring) return dync__inferring_refused(t, reason);
    if (dync__lint_stops(t, reason)) return dync__tracer_fail(t, DYNC_ERR_RUNTIME);
    if (t->fn->opt.fullgraph)
        return dync__break_refused(t, fullgraph_text ? fullgraph_text : reason, reason);
    if (t->at) dync__tracer_leave_tree(t);
    for (int i = 0; i < t->rec.frames.n; i++) t->rec.frames.at[i].broken = true;
    dync_status status = dync__tracer_cut(t, reason);
    if (status == DYNC_OK) status = t->way->keep(t); /* whatever runs now may write */
    dync__effects_forget(t);
    dync__break_callbacks(t);
    return status;
}

static dync_status dync__branch_value(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                      int64_t *out)
{
    dync__tensor *real = dync__trace_real(t, fake);
    if (!real) return DYNC_ERR_INTERNAL;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *out = as_bool ? (int64_t)(dync_bool)(dync__handle(real))
                   : (int64_t)(dync_item)(dync__handle(real));
    dync__trace_pause_end(t, pause);
    return DYNC_OK;
}

/* Other threads run the entry: they must know how many places it has before they meet a node that
 * fills them. */
static void dync__tracer_publish_env(dync__tracer *t)
{
    if (t->env.real.n > t->entry->n_env) DYNC__ATOMIC_STORE(&t->entry->n_env, t->env.real.n);
}

/* A new outcome at the position t->at; too many make the position opaque. */
static dync_status dync__branch_grow(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                     int64_t value)
{
    dync__tnode *at = t->at;
    if (!at) return DYNC_OK;
    if (at->n_outcomes == DYNC__MAX_OUTCOMES) {
        dync__tracer_leave_tree(t);
        return DYNC_OK;
    }
    dync__tnode *next = dync__arena_alloc(&t->entry->arena, sizeof *next);
    if (!next) return DYNC_ERR_MEMORY;
    next->grad_mode_after = -1;
    dync__tracer_publish_env(t);
    if (at->kind != DYNC__TN_BRANCH) {
        at->branch_env = fake->node_output;
        at->branch_bool = as_bool;
    }
    at->outcome[at->n_outcomes].value = value;
    at->outcome[at->n_outcomes].next = next;
    DYNC__ATOMIC_STORE(&at->n_outcomes, at->n_outcomes + 1);
    DYNC__ATOMIC_STORE(&at->kind, DYNC__TN_BRANCH);
    t->at = next;
    return DYNC_OK;
}

/* The tree grows by an outcome where the trace stands. */
DYNC__FN dync_status dync__record_outcome(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                          int64_t outcome)
{
    dync__lint_branch(t, outcome);
    dync_status status = dync__branch_grow(t, fake, as_bool, outcome);
    return status == DYNC_OK ? DYNC_OK : dync__tracer_fail(t, status);
}

DYNC__FN dync_status dync__record_branch(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                         int64_t *outcome)
{
    DYNC__TRY(dync__branch_value(t, fake, as_bool, outcome));
    dync__break_callbacks(t);
    return dync__record_outcome(t, fake, as_bool, *outcome);
}

DYNC__FN dync_status dync__trace_branch(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                        int64_t *outcome)
{
    static const char *const reason_bool = "generic_jump TensorVariable()", *const reason_item =
                                                                                "Tensor.item";
    const char *reason = as_bool ? reason_bool : reason_item;
    if (t->stopped) return t->status != DYNC_OK ? t->status : DYNC_ERR_RUNTIME;
    if (t->inferring) return dync__inferring_refused(t, reason);
    if (dync__lint_answers(t, outcome)) return DYNC_OK;
    if (t->fn->opt.fullgraph) return dync__break_refused(t, reason, reason);
    for (int i = 0; i < t->rec.frames.n; i++) t->rec.frames.at[i].broken = true;
    DYNC__TRY(dync__tracer_cut(t, reason));
    return t->way->branch(t, fake, as_bool, outcome);
}

/* ---- the result ------------------------------------------------------------------------------ */
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
    } else if (v->kind == DYNC_KIND_SYM) {
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

DYNC__FN dync_status dync__result_tree(dync__tracer *t, const dync_value *v, dync__outval *out)
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

DYNC__FN dync_value dync__outval_build(const dync__outval *o, dync__tensor *const *env)
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
        bool grad_now = !dync__tls.grad_enabled_off;
        t->at->grad_mode_after = grad_now != t->grad_mode_before ? (int8_t)grad_now : -1;
        dync__tracer_publish_env(t);
        if (t->entry->root != t->at) status = dync__narrow_path(t);
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
        .branch = dync__record_branch,
        .found = dync__record_found,
        .effect = dync__record_effect,
        .place = dync__record_place,
        .value = dync__record_value,
        .keep = dync__record_keep,
        .finish = dync__record_finish,
        .own = dync__record_own,
        .close = dync__record_close,
    };
    return &way;
}

/* ---- a call ---------------------------------------------------------------------------------- */
/* Runs the C function in an open trace. */
static dync_status dync__trace_body(dync__tracer *t, dync__outval *out)
{
    dync_value args[DYNC__MAX_LEAVES * 2];
    uint64_t errors = dync__error_count();
    DYNC__TRY(dync__trace_arguments(t, args));
    dync_value r = dync__frame_body(t, &t->fn->callee, t->fn->name, t->call->nargs, args);
    if (t->status != DYNC_OK || t->tape.restart) return t->status;
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    dync__lint_result(t, &r);
    return t->way->finish(t, r, out);
}

/* What a trace that begins again has left in its entry: under fullgraph nothing else has seen it
 * yet. */
static void dync__trace_undo(dync__cache_entry *e)
{
    e->foreign.n = e->ints.n = e->modules.n = e->cells.n = 0;
    e->root = NULL;
    e->leaf_env = NULL;
    e->n_env = 0;
}

static dync_status dync__trace_once(dync__tracer *t, dync__cache_entry *e, dync__outval *out)
{
    if (!e->root && !DYNC__ATOMIC_LOAD(&e->open)) {
        e->root = dync__arena_alloc(&e->arena, sizeof *e->root);
        if (!e->root) return DYNC_ERR_MEMORY;
        e->root->grad_mode_after = -1;
    }
    t->on_tree = !DYNC__ATOMIC_LOAD(&e->open);
    t->at = t->on_tree && !t->path.n ? e->root : NULL;
    return dync__trace_body(t, out);
}

/* A first trace under fullgraph is kept quiet: where it comes to a backward, a second one is the
 * real one. So is that where sizes are symbolic: what cannot be traced with them (restart, again)
 * is with plain ones. */
static dync_status dync__trace_attempt(dync__tracer *t, dync__cache_entry *e, dync__outval *out)
{
    if (!t->fn->opt.fullgraph || (t->tape.on && !t->symbols.sizes))
        return dync__trace_once(t, e, out);
    dync__error_guard guard;
    uint64_t errors = dync__error_count();
    dync__error_guard_begin(&guard);
    dync_status status = dync__trace_once(t, e, out);
    dync__error_slot inner = dync__error_guard_end(&guard);
    t->tape.restart |= t->tape.on && status != DYNC_OK && status != DYNC_ERR_MEMORY &&
                       t->symbols.sizes->violated < 0;
    if (t->tape.restart)
        dync__tls.error_count = errors;
    else
        dync__error_raise(&inner);
    return status;
}

DYNC__FN dync_status dync__trace_call(dync__compiled *f, dync__cache_entry *e,
                                      const dync__callargs *call, const dync__path *path_or_null,
                                      dync_value *result)
{
    dync__tracer t;
    if (call->nargs > DYNC__MAX_LEAVES * 2)
        return dync__fail(DYNC_ERR_VALUE, "more than %d arguments", DYNC__MAX_LEAVES * 2);
    bool fresh = !e->root;
    dync_status status = dync__tracer_open(&t, f, e, call, path_or_null);
    t.fresh = fresh;
    if (fresh) dync__callbacks_start();
    dync_scope scope = dync_scope_begin();
    dync__outval out;
    *result = DYNC_NONE;
    if (status == DYNC_OK) status = dync__trace_attempt(&t, e, &out);
    while (t.tape.restart) {
        bool again = t.tape.on;
        dync__tls.grad_enabled_off = !t.grad_mode_before;
        dync_scope_end(&scope);
        dync__tracer_close(&t);
        dync__trace_undo(e);
        if (again) dync__shapes_give_up(e, call);
        scope = dync_scope_begin();
        status = dync__tracer_open(&t, f, e, call, NULL);
        t.fresh = fresh;
        dync__taped_open(&t);
        dync__lint_restart(&t);
        if (status == DYNC_OK) status = dync__trace_attempt(&t, e, &out);
    }
    if (t.fresh) dync__callbacks_end();
    if (status != DYNC_OK) dync__tls.grad_enabled_off = !t.grad_mode_before;
    dync_scope_end(&scope);
    /* into the caller's scope, texts too */
    if (status == DYNC_OK) *result = dync__outval_build(&out, t.env.real.at);
    dync__tracer_close(&t);
    return status;
}
