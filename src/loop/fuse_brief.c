/* loop/fuse_brief.c: which steps of a small program become one kernel (DYNC__FUSE_BRIEF). After
 * fuse_pairs.c, beside fuse.c, which a core with caches and vectors has instead.
 *
 * A kernel joins the nearest one before it whose stores it loads, where both have the same loops,
 * maybe in another order, or the loops of one are the rows of the other: chains of pointwise
 * operators, what is reduced, what is made of the reduced, softmax. Whether the two may share a
 * nest is asked as elsewhere (fuse_items.c). What fuse.c does by index maps - expressions repeated
 * in their readers, through transposes, slices, broadcasts and other shapes - is left in memory. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

typedef struct dync__fuse_brief_job {
    dync__fuse_job job;
    const dync__fuse_options *options;
    dync__fuse_step *step;
    int n, a, b; /* a and b: the steps at hand */
} dync__fuse_brief_job;

/* dync__fuse_job.needed */
static bool dync__brief_needed(void *user, int32_t id)
{
    const dync__fuse_brief_job *g = user;
    bool any = !g->options->keep || g->options->keep(g->options->user, id);
    for (int x = 0; x < g->n && !any; x++)
        any = x != g->a && x != g->b && dync__fuse_touches(&g->step[x], id, DYNC__BUF_IN);
    return any;
}

/* The guest's loops [g0, g1) are the host's [h0, h1): each the first one of its length along which
 * the accesses that tie the two move alike. Loops of one turn are nobody's. */
static bool dync__brief_match(dync__fuse_job *job, int g0, int g1, int h0, int h1,
                              const dync__access *host, const dync__access *guest, bool in_order)
{
    dync__nest *nest = &job->frame.nest;
    dync__index_map *m = &job->frame.map[0];
    uint32_t used = 0;
    int left = 0, from = h0;
    for (int h = h0; h < h1; h++) left += nest->extent[h] != 1;
    for (int g = g0; g < g1; g++) {
        if (m->extent[g] == 1) continue;
        int h = from;
        while (h < h1 && ((used >> h & 1) || nest->extent[h] != m->extent[g] ||
                          host->stride[h] != guest->stride[g]))
            h++;
        if (h == h1) return false;
        used |= (uint32_t)1 << h;
        m->coef[g][h] = 1;
        left--;
        if (in_order) from = h + 1;
    }
    return left == 0;
}

/* Both as one, where the first stores by s what the second loads by l. NULL: not so, or
 * job->no_memory. The pointwise one of the two is the guest. */
static dync__kernel *dync__brief_try(dync__fuse_job *job, const dync__inst *s, const dync__inst *l)
{
    const dync__kernel *first = job->from[0], *second = job->from[1];
    dync__fuse_frame *f = &job->frame;
    bool swap = dync__fuse_is_pointwise(first), pointwise = dync__fuse_is_pointwise(second);
    const dync__kernel *host = swap ? second : first, *guest = swap ? first : second;
    const dync__access *stored = &first->access.at[s->access],
                       *loaded = &second->access.at[l->access], *h = swap ? loaded : stored,
                       *g = swap ? stored : loaded;
    dync__fuse_place own = DYNC__FUSE_OWN, place = DYNC__FUSE_OWN;
    int n = guest->n_dims, rows = guest->n_outer;
    dync__frame_start(f, host);
    if (swap && pointwise) f->nest.n_outer = 0, own = DYNC__FUSE_PHASE;
    dync__frame_add_map(f, guest);
    if (!swap && !pointwise) {
        if (!dync__brief_match(job, 0, rows, 0, f->nest.n_outer, h, g, true) ||
            !dync__brief_match(job, rows, n, f->nest.n_outer, f->nest.n, h, g, true))
            return NULL;
    } else {
        place = DYNC__FUSE_ROW;
        if (own == DYNC__FUSE_PHASE ||
            !dync__brief_match(job, 0, n, 0, f->nest.n_outer, h, g, false)) {
            place = DYNC__FUSE_PHASE;
            f->n_maps = 0;
            dync__frame_add_map(f, guest);
            if (!dync__brief_match(job, 0, n, 0, f->nest.n, h, g, false)) return NULL;
        }
    }
    job->item.n = 0;
    if (!dync__fuse_add(job, f, first, swap ? 0 : -1, swap ? place : own, true, false) ||
        !dync__fuse_add(job, f, second, swap ? -1 : 0, swap ? own : place, false, false) ||
        !dync__fuse_resolve(job, &f->nest))
        return NULL;
    return dync__fuse_finish(job, &f->nest, second->name);
}

/* Is k the same in every run, and may it be kept? Then it stays apart from what is not. */
static bool dync__brief_once(const dync__fuse_options *options, const dync__kernel *k)
{
    bool once = options->once != NULL;
    for (int i = 0; i < k->buf.n && once; i++) once = options->once[k->buf.at[i].id];
    return once;
}

static dync__kernel *dync__brief_pair(dync__fuse_brief_job *g, const dync__kernel *first,
                                      const dync__kernel *second)
{
    dync__fuse_job *job = &g->job;
    dync__fuse_traits a = dync__fuse_traits_of(first), b = dync__fuse_traits_of(second);
    if (a.tangled || b.tangled || a.empty || b.empty || a.scatters || b.scatters) return NULL;
    if (!dync__fuse_same_dtypes(first, second) || dync__fuse_makes_indices(first, second) ||
        dync__brief_once(g->options, first) != dync__brief_once(g->options, second))
        return NULL;
    job->from[0] = first;
    job->from[1] = second;
    uint32_t unknown = dync__fuse_unknown(0);
    for (int i = 0; i < first->inst.n; i++)
        for (int j = 0; j < second->inst.n && first->inst.at[i].prim == DYNC__P_store; j++) {
            const dync__inst *s = &first->inst.at[i], *l = &second->inst.at[j];
            if (l->prim != DYNC__P_load || first->buf.at[s->buf].id != second->buf.at[l->buf].id)
                continue;
            dync__kernel *k = dync__brief_try(job, s, l);
            if (dync__fuse_unknown(unknown) != unknown) k = NULL;
            if (k || job->no_memory) return k;
        }
    return NULL;
}

/* May kernel k pass the steps after from and before to? */
static bool dync__brief_passes(const dync__fuse_brief_job *g, const dync__kernel *k, int from,
                               int to)
{
    for (int x = from + 1; x < to; x++)
        if (dync__fuse_meets(k, &g->step[x])) return false;
    return true;
}

/* Steps i and j, i before j, as one where j or i stands: its place, or -1: they stay. */
static int dync__brief_merge(dync__fuse_brief_job *g, int i, int j)
{
    const dync__kernel *first = g->step[i].k, *second = g->step[j].k;
    int to = -1, other = i;
    if (!first) return -1;
    if (dync__brief_passes(g, first, i, j))
        to = j;
    else if (dync__brief_passes(g, second, i, j))
        to = i, other = j;
    g->a = i;
    g->b = j;
    dync__kernel *k = to < 0 ? NULL : dync__brief_pair(g, first, second);
    if (!k) return -1;
    g->step[to].k = k;
    g->n--;
    memmove(&g->step[other], &g->step[other + 1], (size_t)(g->n - other) * sizeof *g->step);
    return to - (other < to);
}

static void dync__brief_steps(dync__fuse_brief_job *g)
{
    for (int j = 1; j < g->n; j++)
        for (int i = j - 1; i >= 0 && g->step[j].k && !g->job.no_memory; i--) {
            if (g->options->fence && g->options->fence(&g->step[i])) break;
            int at = dync__brief_merge(g, i, j);
            if (at >= 0) i = j = at; /* it grew: look at what is before it again */
        }
}

/* As dync__fuse. */
DYNC__FN dync_status dync__fuse_brief(dync__arena *arena, dync__fuse_step *steps, int *n_steps,
                                      const dync__fuse_options *options)
{
    if (options->off || *n_steps < 2) return DYNC_OK;
    dync__fuse_brief_job *g = dync__calloc(sizeof *g);
    if (!g) return DYNC_ERR_MEMORY;
    size_t bytes = (size_t)*n_steps * sizeof *steps;
    g->n = *n_steps;
    g->step = dync__arena_copy(arena, steps, bytes);
    g->options = options;
    g->job.arena = arena;
    g->job.brief = true;
    g->job.max_insts = options->max_insts > 0 ? options->max_insts : DYNC__FUSE_INSTS;
    g->job.max_straight = g->job.max_insts;
    g->job.needed = dync__brief_needed;
    g->job.user = g;
    if (g->step) dync__brief_steps(g);
    bool ok = g->step && !g->job.no_memory;
    if (ok) {
        memcpy(steps, g->step, (size_t)g->n * sizeof *steps);
        *n_steps = g->n;
    }
    dync__vec_free(&g->job.item);
    dync__vec_free(&g->job.number);
    dync__free(g, sizeof *g);
    return ok ? DYNC_OK : DYNC_ERR_MEMORY;
}
