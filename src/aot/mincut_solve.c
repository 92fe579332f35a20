/* aot/mincut_solve.c: the cut itself, and a memory budget below 1. Before: mincut.c. */
#include "../dync.in.h"
#include "partition.h"
#include "mincut.h"
DYNC__COLD

/* ---- the cut --------------------------------------------------------------------------------- */
/* Fills `banned` anew from the rules that are on. Inputs are banned too: they exist already. */
static void dync__part_bans(dync__mincut_state *m)
{
    const dync__cutter *c = m->c;
    memset(m->banned, 0, (size_t)c->n);
    for (int i = 0; i < c->n; i++)
        if (c->input[i] || (c->fw[i] && dync__part_should_ban(m, i))) dync__part_ban(m, i);
    for (int i = 0; i < c->n; i++) /* random values exist once, whoever asks */
        if (!c->input[i] && c->joint->node.at[i]->op >= 0 &&
            (dync__op_info(c->joint->node.at[i]->op)->flags & DYNC__OP_RANDOM))
            m->banned[i] = true;
    if (m->rules.used_far_apart) dync__part_far_apart(m);
    if (m->rules.long_chains) dync__part_long_chains(m);
}

/* One minimum cut. Vertex 2i is "node i is needed", 2i + 1 is "its value is there"; the edge
 * between them weighs what saving costs, that from the source to 2i what computing it again costs.
 * After the flow, a node is saved where its first vertex
 * can still be reached from the source and its second cannot. */
static dync_status dync__part_solve(dync__mincut_state *m)
{
    dync__cutter *c = m->c;
    int source = 2 * c->n, sink = source + 1, n_users = c->first_user[c->n];
    dync__arena arena = {0};
    dync__flow f = {.n = sink + 1, .room_edges = 2 * (3 * c->n + n_users)};
    f.head = dync__arena_alloc(&arena, (size_t)f.n * sizeof *f.head);
    f.level = dync__arena_alloc(&arena, (size_t)f.n * sizeof *f.level);
    f.at = dync__arena_alloc(&arena, (size_t)f.n * sizeof *f.at);
    f.queue = dync__arena_alloc(&arena, (size_t)f.n * sizeof *f.queue);
    f.edge = dync__arena_alloc(&arena, (size_t)(f.room_edges + 1) * sizeof *f.edge);
    if (!f.head || !f.level || !f.at || !f.queue || !f.edge) {
        dync__arena_free(&arena);
        return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < f.n; i++) f.head[i] = -1;
    dync__part_bans(m);
    for (int i = 0; i < c->n; i++) {
        if (!dync__part_live(c, i)) continue;
        if (c->late[i] || c->given[i])
            dync__flow_add(&f, c->given[i] ? 2 * i + 1 : 2 * i, sink, DYNC__FLOW_INFINITE);
        if (c->late[i]) continue;
        int64_t again = m->banned[i] ? DYNC__FLOW_INFINITE : m->freed[i] ? 0 : m->again[i];
        if (again > 0) dync__flow_add(&f, source, 2 * i, again);
        dync__flow_add(&f, 2 * i, 2 * i + 1, dync__part_weight(m, i));
        DYNC__EACH_USER(c, i, u) dync__flow_add(&f, 2 * i + 1, 2 * u, DYNC__FLOW_INFINITE);
    }
    while (dync__flow_levels(&f, source, sink)) {
        memcpy(f.at, f.head, (size_t)f.n * sizeof *f.at);
        while (dync__flow_augment(&f, source, sink)) {}
    }
    for (int i = 0; i < c->n; i++)
        m->saved[i] = dync__part_live(c, i) && f.level[2 * i] >= 0 && f.level[2 * i + 1] < 0;
    dync__arena_free(&arena);
    return DYNC_OK;
}

/* Each forward node's place among forward nodes, and its distance to the nearest node that is
 * not forward. One sweep from the end is enough: users stand behind what they use. */
static void dync__part_measure(dync__mincut_state *m)
{
    const dync__cutter *c = m->c;
    int order = 0;
    for (int i = 0; i < c->n; i++) m->order[i] = c->fw[i] ? order++ : 0;
    for (int i = c->n - 1; i >= 0; i--) {
        m->distance[i] = c->fw[i] ? DYNC__PART_NEVER : 0;
        if (!c->fw[i]) continue;
        DYNC__EACH_USER(c, i, u) m->distance[i] = DYNC__MIN(m->distance[i], m->distance[u] + 1);
    }
}

/* ---- a memory budget below 1: rules are dropped one after another, then values are freed from
 * them */
static double dync__part_activations(const dync__mincut_state *m)
{
    double bytes = 0;
    for (int i = 0; i < m->c->n; i++)
        if (m->saved[i] && !m->c->input[i])
            bytes += (double)dync__aot_weighed(m->c->joint->node.at[i]);
    return bytes;
}

/* The saved value whose bytes are bought most cheaply: pointwise before kernels, large before
 * small. -1: none is left. */
static int dync__part_cheapest(const dync__mincut_state *m)
{
    int best = -1;
    double best_gain = 0;
    for (int i = 0; i < m->c->n; i++) {
        const dync__node *n = m->c->joint->node.at[i];
        if (!m->saved[i] || m->c->input[i] || m->freed[i] || n->op < 0 ||
            dync__part_must_agree(m, i) ||
            (dync__op_info(n->op)->flags & (DYNC__OP_RANDOM | DYNC__OP_WRITES)))
            continue;
        double gain = (double)dync__aot_weighed(n) * (dync__op_recomputable(n) ? 16 : 1);
        if (gain > best_gain) {
            best_gain = gain;
            best = i;
        }
    }
    return best;
}

/* budget is a share of what the plain cut saves. The rules are dropped in two steps; while that
 * does not suffice one saved value after another is freed and the cut solved again. May end
 * above the limit where nothing more can be freed. */
static dync_status dync__part_within_budget(dync__mincut_state *m)
{
    double limit = m->c->budget * dync__part_activations(m);
    m->rules.used_far_apart = m->rules.long_chains = m->rules.materialized = false;
    DYNC__TRY(dync__part_solve(m));
    if (dync__part_activations(m) > limit) {
        m->rules.not_listed = m->rules.reductions = false;
        DYNC__TRY(dync__part_solve(m));
    }
    for (int free_one;
         dync__part_activations(m) > limit && (free_one = dync__part_cheapest(m)) >= 0;) {
        m->freed[free_one] = true;
        DYNC__TRY(dync__part_solve(m));
    }
    return DYNC_OK;
}

/* Fills c->saved; scratch comes from the cutter's arena. The sets fw, late and given and the
 * user lists must be there. DYNC_ERR_MEMORY is the only failure. */
DYNC__FN dync_status dync__mincut(dync__cutter *c)
{
    dync__mincut_state m = {.c = c, .rules = {true, true, true, true, true}, .saved = c->saved};
    size_t n = (size_t)c->n + 1;
    m.distance = dync__arena_alloc(&c->arena, n * sizeof *m.distance);
    m.order = dync__arena_alloc(&c->arena, n * sizeof *m.order);
    m.banned = dync__arena_alloc(&c->arena, n);
    m.freed = dync__arena_alloc(&c->arena, n);
    m.decides = dync__arena_alloc(&c->arena, n);
    m.stands = dync__arena_alloc(&c->arena, n);
    m.again = dync__arena_alloc(&c->arena, n * sizeof *m.again);
    m.heap = dync__arena_alloc(&c->arena, (3 * n + (size_t)c->first_user[c->n]) * sizeof *m.heap);
    m.seen = dync__arena_alloc(&c->arena, n * sizeof *m.seen);
    if (!m.distance || !m.order || !m.banned || !m.freed || !m.decides || !m.stands || !m.heap ||
        !m.seen || !m.again)
        return DYNC_ERR_MEMORY;
    dync__part_measure(&m);
    dync__part_decisions(&m);
    dync__part_stand(&m);
    for (int i = 0; i < c->n; i++) m.again[i] = dync__part_again(&m, i);
    DYNC__TRY(dync__part_solve(&m));
    if (c->budget < 1) DYNC__TRY(dync__part_within_budget(&m));
    int saved = 0;
    for (int i = 0; i < c->n; i++) saved += c->saved[i];
    dync__pass_log(DYNC__PASS_mincut, c->joint->name, "%d of %d values are saved", saved, c->n);
    return DYNC_OK;
}
#undef DYNC__EACH_USER
