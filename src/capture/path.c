/* capture/path.c: follows a path, the script of a call that an entry's tree did not know to its
 * end: its steps are the outcomes that the run met, its segments have run, its values are there.
 * The C function runs over fakes; operators are recorded, since their graphs are what is compared,
 * and at a cut the piece must be the segment of the tree, whose outputs are taken from the run. At
 * the last outcome, which the tree has not, the call becomes one that records. After replay.c. */
#include "../dync.in.h"
#include "script.h"
DYNC__COLD

static void dync__path_leave(dync__tracer *t) { t->way = dync__recording_way(); }

/* The function went another way than the run. */
static void dync__path_lost(dync__tracer *t)
{
    dync__path_leave(t);
    t->path.at = t->path.n;
    t->on_tree = false;
    DYNC__ATOMIC_STORE(&t->entry->dead, true);
}

/* Has the run done, from here on, what must not be done again: written in place, drawn random
 * numbers, hooks and gradients set? */
static bool dync__path_is_spent(const dync__path *p)
{
    for (int i = p->at; i < p->n; i++) {
        const dync__tnode *node = p->step[i].node;
        for (int k = i == p->at ? p->seg : 0; k < node->seg.n; k++)
            if (!node->seg.at[k].seg->narrowable) return true;
        if (node->effect.n) return true;
    }
    return false;
}

static dync_status dync__path_piece(dync__tracer *t, dync__graph *taken, uint64_t hash,
                                    uint64_t site, dync__segref *ref, dync__tensor **out)
{
    dync__path *p = &t->path;
    const dync__tnode *node = p->step[p->at].node;
    const dync__segref *known = p->seg < node->seg.n ? &node->seg.at[p->seg] : NULL;
    if (!known || known->seg->hash != hash || !dync__graph_equal(known->seg->graph, taken)) {
        dync__log(DYNC__LOG_recompiles,
                  "%s: replay met other operators than the record; traced on from there",
                  t->fn->name);
        bool spent = dync__path_is_spent(p);
        dync__path_lost(t);
        if (!spent) return t->way->piece(t, taken, hash, site, ref, out);
        dync__graph_unref(taken);
        return dync__fail(DYNC_ERR_COMPILE,
                          "%s: it does other operators than when it was traced, with arguments of "
                          "the same kind: a C variable that it reads has changed. What follows has "
                          "been run with the old one and wrote in place or drew random numbers, "
                          "which is not done twice; make the variable an argument",
                          t->fn->name);
    }
    dync__graph_unref(taken);
    p->seg++;
    ref->seg = known->seg;
    for (int i = 0; i < known->seg->n_out; i++) {
        int env = known->out_env[i];
        if (env < p->n_found && (out[i] = p->found[env])) dync__ref(out[i]);
    }
    return DYNC_OK;
}

static dync_status dync__path_branch(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                     int64_t *outcome)
{
    dync__path *p = &t->path;
    dync__tnode *node = p->step[p->at].node;
    *outcome = p->step[p->at++].outcome;
    p->seg = 0;
    if (p->at < p->n) return DYNC_OK;
    dync__path_leave(t);
    t->on_tree = dync__stance() != DYNC__STANCE_eager_on_recompile;
    if (!t->on_tree) return DYNC_OK; /* at is NULL: nothing of the call is kept */
    t->at = node;                    /* the tree grows from here */
    t->fresh = true;
    return dync__record_outcome(t, fake, as_bool, *outcome);
}

static dync__tensor *dync__path_found(const dync__tracer *t, dync__tensor *now)
{
    (void)now;
    return t->env.real.n < t->path.n_found ? t->path.found[t->env.real.n] : NULL;
}

/* The run has done it. */
static dync_status dync__path_effects(dync__tracer *t, dync__effect *e, int n)
{
    (void)t, (void)e, (void)n;
    return DYNC_OK;
}

static void dync__path_close(dync__tracer *t) { dync__path_lost(t); }

static void dync__path_begin(dync__tracer *t, const dync__path *path)
{
    static const dync__way way = {
        .foreign = dync__record_foreign,
        .frame = dync__script_frame,
        .cut = dync__record_cut,
        .piece = dync__path_piece,
        .branch = dync__path_branch,
        .found = dync__path_found,
        .effects = dync__path_effects,
        .place = dync__record_place,
        .value = dync__record_value,
        .keep = dync__record_keep,
        .finish = dync__record_finish,
        .own = dync__record_own,
        .close = dync__path_close,
    };
    t->path = *path;
    t->way = &way;
}

/* ---- the doors ------------------------------------------------------------------------------- */
DYNC__FN void dync__scripts_install(void)
{
    dync__pieces_install();
    static const dync__script_doors doors = {
        .takes = dync__note_takes,
        .op = dync__note_op,
        .foreign = dync__note_foreign,
        .frame = dync__note_frame,
        .wants = dync__note_wants,
        .may_write = dync__note_may_write,
        .cut_begin = dync__note_cut_begin,
        .piece = dync__note_piece,
        .cut_end = dync__note_cut_end,
        .returns = dync__note_returns,
        .begin = dync__note_begin,
        .end = dync__note_end,
        .replay = dync__replay_begin,
        .path = dync__path_begin,
        .free = dync__scripts_free,
    };
    dync__breaks_install();
    dync__env_drops();
    dync__paths_narrow();
    DYNC__ATOMIC_STORE(&dync__scripts, &doors);
}
