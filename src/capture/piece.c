/* capture/piece.c: one piece of what is pending: its graph, the segment that it is (found, or
 * compiled now), its run. After lift.c, before cut.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- the graph ------------------------------------------------------------------------------- */
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
DYNC__FN dync__graph *dync__piece_graph(dync__tracer *t, int from, int to)
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

static int *dync__in_env(dync__arena *arena, const dync__graph *g)
{
    int *in = dync__arena_alloc(arena, (size_t)(g->n_inputs + 1) * sizeof *in);
    for (int i = 0, k = 0; in && i < g->node.n && k < g->n_inputs; i++)
        if (g->node.at[i]->kind == DYNC__N_PLACEHOLDER) in[k++] = g->node.at[i]->env;
    return in;
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
    bool on = !dync__grad_is_off();
    bool turned = false; /* the last node that is kept changed it */
    int kept = 0;
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        bool mode = dync__node_sets_grad_mode(n), to = mode && n->args[0].as.i != 0,
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
DYNC__FN uint64_t dync__piece_site(const dync__tracer *t, const char *frame, const char *reason)
{
    uint64_t h = dync__hash_bytes(frame, strlen(frame), 1);
    if (!reason) return dync__hash_mix(h, 2);
    if (t->last_at.file) h = dync__hash_bytes(t->last_at.file, strlen(t->last_at.file), h);
    return dync__hash_mix(dync__hash_bytes(reason, strlen(reason), h), (uint64_t)t->last_at.line);
}

/* ---- the segment ----------------------------------------------------------------------------- */
DYNC__OFTEN static dync_status dync__cut_inputs(dync__tracer *t, int n, const int *in_env,
                                                dync__tensor **in)
{
    if (!in) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        if (!(in[i] = dync__env_real(t, in_env[i])))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    return DYNC_OK;
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

/* Hooks may come behind the break on values that the graph has used. The call that compiles it
 * runs it operator by operator, so that they see every gradient; where some come, later calls run
 * it in parts (dync__segment_part). Not before a backward, which has to meet the compiled graph:
 * that refuses to be differentiated twice. */
static bool dync__cut_is_plain(const dync__tracer *t, const dync__segment *s)
{
    static const char walks[] = "Tensor.backward";
    const char *reason = t->cut.reason;
    bool backward = reason &&
                    (strcmp(reason, walks) == 0 || strcmp(reason, "torch.autograd.grad") == 0);
    return (reason || t->cut.split) && !backward && s->used_inside && s->grad_mode &&
           s->code.run == dync__raw_run && !t->fn->opt.fullgraph;
}

/* By need: a piece that was compiled before is found again, as it is or but for its numbers. Traces
 * with breaks come to the same places, and what they have dropped is wanted there; a whole graph
 * has one piece, which its entry keeps. */
typedef struct dync__piece_finds {
    uint64_t (*hash)(const dync__graph *);
    dync__segment *(*same)(dync__compiled *, dync__graph *, uint64_t hash, dync__tensor *const *in);
    dync_status (*lifted)(dync__tracer *, dync__graph *, uint64_t site, dync__tensor *const *in,
                          const int **in_env, dync__segment **out);
    bool (*too_many)(dync__tracer *, uint64_t site);
    bool (*is_plain)(const dync__tracer *, const dync__segment *);
    dync_status (*run_plain)(dync__segment *, int n_in, dync__tensor *const *in,
                             dync__tensor **out);
    dync_status (*complete)(dync__tracer *, dync__segment *, const int *in_env, dync__tensor **out);
} dync__piece_finds;
static const dync__piece_finds dync__piece_finds_all = {
    .hash = dync__graph_hash,
    .same = dync__segment_find,
    .lifted = dync__lift_segment,
    .too_many = dync__cut_too_many,
    .is_plain = dync__cut_is_plain,
    .run_plain = dync__segment_run_plain,
    .complete = dync__cut_complete,
};
static const dync__piece_finds *DYNC__BY_NEED dync__piece_found =
    DYNC__AT_FIRST(&dync__piece_finds_all);

static dync__segment *dync__cut_transient(dync__tracer *t, dync__graph *taken)
{
    dync__callable_boxes();
    dync__segment *s = dync__segment_plain(taken);
    if (!s || dync__vec_push(&t->transient, s)) return s;
    dync__segment_free(s);
    return NULL;
}

/* By need: of traces with breaks, and of who sets a stance (which links reasons, too). */
DYNC__MEETING(reasons)
static dync__segment *(*DYNC__BY_NEED dync__cut_transient_used)(
    dync__tracer *, dync__graph *taken) = DYNC__AT_FIRST(dync__cut_transient);
DYNC__FN void dync__pieces_pass(void) { DYNC__PUT(dync__cut_transient_used, dync__cut_transient); }
DYNC__FN void dync__pieces_install(void)
{
    DYNC__PUT(dync__piece_found, &dync__piece_finds_all);
    dync__pieces_pass();
}

static dync__segment *dync__cut_passing(dync__tracer *t, dync__graph *taken)
{
    DYNC__MEET(reasons);
    if (dync__cut_transient_used) return dync__cut_transient_used(t, taken);
    (void)dync__unlinked("dync_set_stance");
    dync__graph_unref(taken);
    return NULL;
}

DYNC__OFTEN DYNC__FN dync_status dync__cut_run(dync__tracer *t, dync__segment *s, const int *in_env,
                                               dync__tensor **out)
{
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, s->n_in, sizeof *in);
    dync_status status = dync__cut_inputs(t, s->n_in, in_env, in);
    if (status == DYNC_OK) {
        dync__trace_pause pause = dync__trace_pause_begin(t);
        dync__verify *verify =
            dync__verify_on() ? DYNC__ATOMIC_LOAD(&dync__verify_used)->segment_begin(t->fn, s, in)
                              : NULL;
        uint64_t start = t->fresh ? dync__now_ns() : 0;
        status = t->cut.plain ? dync__piece_found->run_plain(s, s->n_in, in, out)
                              : dync__segment_run(s, s->n_in, in, out);
        if (t->fresh) (void)DYNC__ATOMIC_ADD(&t->fn->history.run_ns, dync__now_ns() - start);
        if (verify)
            status =
                DYNC__ATOMIC_LOAD(&dync__verify_used)->segment_end(verify, status, out, s->n_out);
        dync__trace_pause_end(t, pause);
    }
    dync__room_end(in, few, s->n_in, sizeof *in);
    return status;
}

static dync__segment *dync__cut_segment(dync__tracer *t, dync__graph *taken, const int **in_env,
                                        uint64_t hash, uint64_t site, bool *made)
{
    int n = taken->n_inputs;
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, n, sizeof *in);
    bool ready = dync__cut_inputs(t, n, *in_env, in) == DYNC_OK;
    const dync__piece_finds *finds = dync__piece_found;
    dync__segment *s = ready && finds ? finds->same(t->fn, taken, hash, in) : NULL;
    if (!s && ready && finds && !t->on_tree)
        ready = finds->lifted(t, taken, site, in, in_env, &s) == DYNC_OK;
    *made = !s;
    if (s || !ready)
        dync__graph_unref(taken);
    else
        s = dync__stance() == DYNC__STANCE_eager_on_recompile || (finds && finds->too_many(t, site))
                ? dync__cut_passing(t, taken)
                : dync__segment_compile(t->fn, taken, hash, site, in, NULL);
    dync__room_end(in, few, n, sizeof *in);
    return s;
}

/* It is compiled where no segment is that graph, runs, and is noted in the tree. */
DYNC__FN dync_status dync__record_piece(dync__tracer *t, dync__graph *taken, uint64_t hash,
                                        uint64_t site, dync__segref *ref, dync__tensor **out)
{
    const int *in_env = ref->in_env;
    bool made = false;
    ref->seg = dync__cut_segment(t, taken, &in_env, hash, site, &made);
    ref->in_env = (int *)(uintptr_t)in_env;
    if (!ref->seg) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_BACKEND;
    t->cut.plain = made && dync__piece_found && dync__piece_found->is_plain(t, ref->seg);
    DYNC__TRY(dync__cut_run(t, ref->seg, ref->in_env, out));
    if (!t->on_tree && dync__piece_found)
        return dync__piece_found->complete(t, ref->seg, ref->in_env, out);
    if (!t->on_tree) return dync__unlinked("graph breaks");
    return dync__avec_push(&t->entry->arena, &t->at->seg, *ref) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Finishes a piece: outputs, backend, run; its outputs enter the environment. */
DYNC__FN dync_status dync__cut_piece(dync__tracer *t, dync__graph *g, uint64_t site, int n_out,
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
    uint64_t hash = dync__piece_found ? dync__hash_mix(dync__piece_found->hash(g), site) : site;
    if (status == DYNC_OK)
        t->cut.plain = false, status = t->way->piece(t, g, hash, site, &ref, out);
    else
        dync__graph_unref(g);
    if (status == DYNC_OK) dync__script_piece(t, &ref, n_out, fakes);
    for (int i = 0; i < n_out && status == DYNC_OK; i++) {
        dync__ref(fakes[i]);
        int env = dync__tracer_env_add(t, out[i], fakes[i]);
        if (env < 0)
            status = DYNC_ERR_MEMORY;
        else {
            t->env.origin.at[env] = (dync__origin){ref.seg, ref.in_env, i, 0, false, t->cut.plain};
            ref.out_env[i] = env;
        }
    }
    for (int i = 0; out && i < n_out; i++) dync__unref(out[i]);
    dync__free(out, (size_t)(n_out + 1) * sizeof *out);
    return status;
}
