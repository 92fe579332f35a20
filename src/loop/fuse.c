/* loop/fuse.c: which steps of a program become one kernel, and in what order the rest runs. After
 * op/lower.c made one kernel per operator, before schedule.c and the memory plan. fuse_pairs.c
 * merges, fuse_merge.c and fuse_inline.c make one kernel of two, fuse_order.c says what must stay
 * in order.
 *
 * Steps are nodes of a graph whose edges are read-after-write, write-after-read and
 * write-after-write between overlapping accesses; reach[] is its transitive closure. Two nodes may
 * merge when no path between them leaves the pair. In turn, until nothing changes:
 *   1. producers that are next to nothing (a cast, a scaled load, a constant) vanish into all their
 *      readers;
 *   2. a producer and a consumer on the same domain, or rows and their reductions, become one nest;
 *   3. producers vanish into their readers through index maps (transposes, slices, broadcasts)
 *      where that does not cost more. Memory: no more loads than the loads and stores that go.
 *      Arithmetic: computed no more often than before; or worth at most FUSE_CHEAP additions; or
 *      FUSE_FAIR and twice as often. A producer that stays for its other results: FUSE_CHEAP, and
 *      fewer loads. What is broadcast from few of its elements (FUSE_BROADCAST_SHARE) does so
 *      first, before some reader takes it in and stores it for the others;
 *   4. kernels on the same domain that load the same buffer become one.
 * Greedy, nearest pairs first, as TorchInductor's scheduler. Programs are cut into windows so that
 * the work stays linear. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

/* ---- inlining -------------------------------------------------------------------------------- */

/* cost, n_loads: of the expression; work: how often the readers compute it; stays: the producer has
 * other results; broadcast: its loads are of few elements. */
static bool dync__fuse_worth(int cost, int n_loads, int64_t work, int64_t domain, bool stays,
                             bool tiny, bool broadcast)
{
    int64_t now =
                dync__sz_add(dync__sz_add(work, domain), dync__sz_mul(domain, stays ? 0 : n_loads)),
            then = dync__sz_mul(work, n_loads), twice = dync__sz_mul(2, work);
    bool fair = cost <= DYNC__FUSE_FAIR && !dync__sz_lt(dync__sz_mul(2, domain), work);
    if (tiny) return (cost <= DYNC__FUSE_FREE && n_loads <= 1) || (broadcast && fair);
    if (stays) return cost <= DYNC__FUSE_CHEAP && dync__sz_lt(then, now);
    return (n_loads <= 2 || !dync__sz_lt(now, then) || !dync__sz_lt(twice, then)) &&
           (cost <= DYNC__FUSE_CHEAP || fair || !dync__sz_lt(domain, work));
}

static int dync__fuse_stores(const dync__kernel *k)
{
    int n = 0;
    for (int i = 0; i < k->inst.n; i++) n += !dync__inst_has_value(&k->inst.at[i]);
    return n;
}

/* Between node i and its reader j nobody may overwrite what i reads. */
static bool dync__fuse_sources_stay(const dync__fuse_graph *g, int i, int j)
{
    const dync__kernel *k = g->node[i].step.k;
    for (int b = 0; b < k->buf.n; b++) {
        if (!(k->buf.at[b].mode & DYNC__BUF_IN)) continue;
        dync__fuse_set writers = dync__fuse_users_of(g, k->buf.at[b].id, DYNC__BUF_OUT);
        for (int x = dync__fuse_next(&writers, i + 1); x < j; x = dync__fuse_next(&writers, x + 1))
            if (!g->node[x].dead &&
                dync__fuse_touches(&g->node[x].step, k->buf.at[b].id, DYNC__BUF_OUT))
                return false;
    }
    return true;
}

/* Do all loads together read a small share of the domain, which is too large for the nearest
 * cache? */
static bool dync__fuse_is_broadcast(const dync__kernel *k)
{
    int64_t domain = dync__fuse_domain(k), read = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        int64_t n = 1;
        if (in->buf < 0 || !dync__inst_has_value(in)) continue;
        for (int d = 0; d < k->n_dims; d++)
            if (!dync__sz_eq(k->access.at[in->access].stride[d], 0))
                n = dync__sz_mul(n, k->extent[d]);
        read = dync__sz_add(read, n);
    }
    return read > 0 && !dync__sz_lt(domain, DYNC__FUSE_BROADCAST) &&
           !dync__sz_lt(dync__sz_div(domain, DYNC__FUSE_BROADCAST_SHARE), read);
}

/* Readers of id after node i; -1 where one of them cannot take an expression instead. */
static int dync__fuse_readers(const dync__fuse_graph *g, int i, int32_t id, int *reader,
                              int64_t *work)
{
    int n = 0, both = DYNC__BUF_IN | DYNC__BUF_OUT;
    dync__fuse_set users = dync__fuse_users_of(g, id, both);
    *work = 0;
    for (int j = dync__fuse_next(&users, 0); j < g->n; j = dync__fuse_next(&users, j + 1)) {
        if (j == i || g->node[j].dead || !dync__fuse_touches(&g->node[j].step, id, both)) continue;
        int64_t own = g->node[j].step.k && j > i ? dync__fuse_inline_work(g->node[j].step.k, id)
                                                 : -1;
        if (own <= 0 || dync__fuse_has(&g->node[i].failed[1], j) ||
            !dync__fuse_sources_stay(g, i, j))
            return -1;
        *work = dync__sz_add(*work, own);
        reader[n++] = j;
    }
    return n;
}

/* Does what x writes, or reads while y writes it, concern y? */
static bool dync__fuse_concerns(const dync__fuse_node *x, const dync__fuse_node *y)
{
    if (!((x->writes & (y->reads | y->writes)) | (x->reads & y->writes))) return false;
    return dync__fuse_meets(x->step.k, &y->step);
}

/* Opens the kernels that may be inlined now that i and its readers change: others were refused, and
 * would be again. Gives the first of them, or i. */
static int dync__fuse_open(dync__fuse_graph *g, int i, const int *reader, int n)
{
    int first = i;
    for (int x = 0; x < g->n; x++) {
        if (g->node[x].open || !dync__fuse_is_kernel(g, x)) continue;
        bool open = dync__fuse_concerns(&g->node[x], &g->node[i]);
        for (int r = 0; r < n && !open; r++)
            open = dync__fuse_concerns(&g->node[x], &g->node[reader[r]]);
        g->node[x].open = open;
        if (open && x < first) first = x;
    }
    return first;
}

/* Replaces buffer id, stored by node i, by its expression in every reader. All of them or none.
 * from: where to look again. */
static bool dync__fuse_inline_buf(dync__fuse_graph *g, int i, int32_t id, bool tiny, int *from)
{
    int reader[DYNC__FUSE_WINDOW], n_loads = 0, n;
    int64_t work;
    const dync__kernel *k = g->node[i].step.k;
    uint32_t unknown = dync__fuse_unknown(0);
    g->skip_a = g->skip_b = i;
    if (g->options->keep == NULL || g->options->keep(g->options->user, id)) return false;
    if (dync__fuse_read_later(g, id)) return false;
    n = dync__fuse_readers(g, i, id, reader, &work);
    int cost = n > 0 ? dync__fuse_inline_cost(&g->job, k, id, &n_loads) : -1;
    for (int r = 0; r < n && cost > DYNC__FUSE_FAIR; r++)
        if (dync__fuse_apart(g, k, g->node[reader[r]].step.k)) cost = -1;
    if (cost < 0 ||
        !dync__fuse_worth(cost, n_loads, work, dync__fuse_domain(k), dync__fuse_stores(k) > 1, tiny,
                          tiny && dync__fuse_is_broadcast(k)))
        return (void)dync__fuse_unknown(unknown), false;
    dync__kernel **made = dync__arena_alloc(g->job.arena, (size_t)n * sizeof *made);
    if (!made) return !(g->job.no_memory = true);
    for (int r = 0; r < n; r++) {
        g->skip_b = reader[r];
        g->job.max_straight = dync__fuse_straight(g, i, reader[r]);
        made[r] = dync__fuse_inline(&g->job, k, g->node[reader[r]].step.k, id);
        if (dync__fuse_unknown(unknown) != unknown) made[r] = NULL;
        if (made[r]) continue;
        dync__fuse_put(&g->node[i].failed[1], reader[r], true);
        return false;
    }
    *from = dync__fuse_open(g, i, reader, n);
    for (int r = 0; r < n; r++) {
        g->node[reader[r]].step.k = made[r];
        dync__fuse_changed(g, reader[r]);
    }
    g->skip_a = g->skip_b = i;
    dync__kernel *rest = dync__fuse_alone(&g->job, k); /* without the store */
    if (g->job.no_memory) return false;
    if (rest) g->node[i].step.k = rest;
    g->node[i].dead = rest && rest->inst.n == 0;
    dync__fuse_changed(g, i);
    /* readers refused before may be others now */
    for (int x = 0; x < g->n; x++) memset(&g->node[x].failed[1], 0, sizeof g->node[x].failed[1]);
    return dync__space_tidy(g) || !(g->job.no_memory = true);
}

static bool dync__fuse_inline_all(dync__fuse_graph *g, bool tiny)
{
    bool changed = false;
    for (int i = 0; i < g->n; i++) g->node[i].open = true;
    for (int i = 0; i < g->n; i++) {
        const dync__kernel *k = g->node[i].step.k;
        if (!g->node[i].open || !dync__fuse_is_kernel(g, i) || !dync__fuse_is_pointwise(k))
            continue;
        g->node[i].open = false;
        for (int b = 0, from; b < k->buf.n; b++) {
            bool done = (k->buf.at[b].mode & DYNC__BUF_OUT) &&
                        dync__fuse_inline_buf(g, i, k->buf.at[b].id, tiny, &from);
            if (g->job.no_memory) return false;
            if (!done) continue;
            changed = g->node[i].open = true;
            i = from - 1;
            break;
        }
    }
    /* nodes stand in order: what was taken in stays until every reader */
    if (changed && !dync__fuse_relink(g, true)) g->job.no_memory = true;
    return changed;
}

/* ---- one window, and all of them ------------------------------------------------------------- */

/* Every kernel becomes a copy of its own, without stores that nobody needs. Repeats, as readers die
 * too. */
static bool dync__fuse_prepare(dync__fuse_graph *g)
{
    for (int i = g->n - 1; i >= 0; i--) {
        dync__fuse_node *node = &g->node[i];
        if (!node->step.k) continue;
        dync__fuse_traits t = dync__fuse_traits_of(node->step.k);
        if (t.tangled || t.empty) continue;
        g->skip_a = g->skip_b = i;
        dync__kernel *k = dync__fuse_alone(&g->job, node->step.k);
        if (g->job.no_memory) return false;
        if (!k) continue;
        node->step.k = k;
        node->dead = k->inst.n == 0;
        dync__fuse_masks(g, i);
    }
    return dync__fuse_relink(g, true);
}

static dync_status dync__fuse_window(dync__fuse_graph *g)
{
    if (!dync__fuse_prepare(g)) return DYNC_ERR_MEMORY;
    for (bool changed = true; changed && !g->job.no_memory;) {
        changed = dync__fuse_inline_all(g, true);
        if (dync__fuse_merge_all(g, false)) changed = true;
        if (g->job.no_memory || !dync__fuse_relink(g, false)) return DYNC_ERR_MEMORY;
        if (dync__fuse_inline_all(g, false)) changed = true;
        if (!g->job.no_memory && !changed && dync__fuse_merge_all(g, true)) changed = true;
        if (g->job.no_memory || !dync__fuse_relink(g, false)) return DYNC_ERR_MEMORY;
    }
    return g->job.no_memory ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* The steps [from, from + g->n), fused, at the end of out. */
static dync_status dync__fuse_part(dync__fuse_graph *g, dync__arena *arena,
                                   const dync__fuse_step *steps, int n_steps, int from,
                                   dync__fuse_step *out, int *n_out)
{
    g->n = 1;
    while (g->n < DYNC__MIN(n_steps - from, (int)DYNC__FUSE_WINDOW) &&
           !(g->options->fence && g->options->fence(&steps[from + g->n - 1])))
        g->n++;
    g->end = from + g->n;
    memset(g->node, 0, sizeof *g->node * (size_t)g->n);
    memset(&g->users, 0, sizeof g->users);
    for (int i = 0; i < g->n; i++) {
        g->node[i].step = steps[from + i];
        if (g->node[i].step.k) g->node[i].step.k->settled.n = 0;
        g->node[i].id = i;
        dync__fuse_masks(g, i);
    }
    dync__space_begin(g);
    dync_status status = dync__fuse_window(g);
    if (status == DYNC_OK && !dync__space_end(g, arena)) status = DYNC_ERR_MEMORY;
    dync__space_free(g);
    if (status != DYNC_OK) return status;
    for (int i = 0; i < g->n; i++) out[(*n_out)++] = g->node[i].step;
    return DYNC_OK;
}

/* Rewrites steps[0, *n_steps) in place; on failure they are as they were. New kernels live in
 * `arena`, the graph only until the end of this call. */
DYNC__FN dync_status dync__fuse(dync__arena *arena, dync__fuse_step *steps, int *n_steps,
                                const dync__fuse_options *options)
{
    if (options->off || *n_steps < 2) return DYNC_OK;
    dync_status status = DYNC_ERR_MEMORY;
    int n_out = 0;
    size_t bytes = sizeof(dync__fuse_node) * (size_t)DYNC__MIN(*n_steps, (int)DYNC__FUSE_WINDOW);
    dync__fuse_step *out = dync__arena_alloc(arena, (size_t)*n_steps * sizeof *out);
    dync__fuse_graph *g = dync__calloc(sizeof *g);
    if (!out || !g) goto done;
    g->node = dync__alloc(bytes);
    if (!g->node || !dync__fuse_note_reads(g, steps, *n_steps)) goto done;
    g->options = options;
    g->job.max_insts = options->max_insts > 0 ? options->max_insts : DYNC__FUSE_INSTS;
    g->job.bounded = options->max_insts <= 0;
    g->job.few_registers = options->few_registers;
    g->job.needed = dync__fuse_needed;
    g->job.user = g;
    status = DYNC_OK;
    for (int from = 0; from < *n_steps && status == DYNC_OK; from = g->end)
        status = dync__fuse_part(g, arena, steps, *n_steps, from, out, &n_out);
    if (status != DYNC_OK) goto done;
    memcpy(steps, out, (size_t)n_out * sizeof *out);
    *n_steps = n_out;
done:
    if (g) {
        dync__vec_free(&g->job.item);
        dync__vec_free(&g->job.number);
        dync__map_free(&g->last_read);
        dync__free(g->node, bytes);
    }
    dync__free(g, sizeof *g);
    return status;
}
