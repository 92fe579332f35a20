/* loop/fuse_order.c: what the steps of a window read and write, and which must stay in order. After
 * fuse_inline.c, before fuse.c.
 *
 * reach[] of a node is the transitive closure of the edges of fuse.c's opening, kept as kernels
 * become one. */
#include "../dync.in.h"
#include "../base/pass.h"
#include "fuse.h"
DYNC__LEAN

static void dync__fuse_join(dync__fuse_set *a, const dync__fuse_set *b)
{
    for (int w = 0; w < DYNC__FUSE_WORDS; w++) a->word[w] |= b->word[w];
}

/* ---- reads and writes ------------------------------------------------------------------------ */

static bool dync__fuse_listed(const int32_t *ids, int n, int32_t id)
{
    for (int i = 0; i < n; i++)
        if (ids[i] == id) return true;
    return false;
}

DYNC__OFTEN DYNC__FN bool dync__fuse_touches(const dync__fuse_step *s, int32_t id, int mode)
{
    if (!s->k)
        return ((mode & DYNC__BUF_IN) && dync__fuse_listed(s->reads, s->n_reads, id)) ||
               ((mode & DYNC__BUF_OUT) && dync__fuse_listed(s->writes, s->n_writes, id));
    for (int i = 0; i < s->k->buf.n; i++)
        if (s->k->buf.at[i].id == id && (s->k->buf.at[i].mode & mode)) return true;
    return false;
}

DYNC__FN bool dync__fuse_meets(const dync__kernel *k, const dync__fuse_step *s)
{
    for (int b = 0; b < k->buf.n; b++) {
        int mode = k->buf.at[b].mode & DYNC__BUF_OUT ? DYNC__BUF_IN | DYNC__BUF_OUT : DYNC__BUF_OUT;
        if (dync__fuse_touches(s, k->buf.at[b].id, mode)) return true;
    }
    return false;
}

static uint64_t dync__fuse_bit(int32_t id) { return (uint64_t)1 << ((uint32_t)id % 64); }

DYNC__INLINE int dync__fuse_lowest(uint64_t mask)
{
    return (int)DYNC__BIT_LENGTH(mask & (~mask + 1)) - 1;
}

static void dync__fuse_users_add(dync__fuse_users *u, const dync__fuse_node *a, int i)
{
    for (uint64_t left = a->reads; left; left &= left - 1)
        dync__fuse_put(&u->reads[dync__fuse_lowest(left)], i, true);
    for (uint64_t left = a->writes; left; left &= left - 1)
        dync__fuse_put(&u->writes[dync__fuse_lowest(left)], i, true);
}

/* What a node no longer touches stays among the users until dync__fuse_relink. */
DYNC__FN dync__fuse_set dync__fuse_users_of(const dync__fuse_graph *g, int32_t id, int mode)
{
    dync__fuse_set s = {{0}};
    uint32_t bit = (uint32_t)id % 64;
    if (mode & DYNC__BUF_IN) dync__fuse_join(&s, &g->users.reads[bit]);
    if (mode & DYNC__BUF_OUT) dync__fuse_join(&s, &g->users.writes[bit]);
    return s;
}

DYNC__OFTEN DYNC__FN int dync__fuse_next(const dync__fuse_set *s, int from)
{
    for (int w = from / 64; w < DYNC__FUSE_WORDS; w++) {
        uint64_t left = s->word[w] & (w == from / 64 ? ~(uint64_t)0 << (from % 64) : ~(uint64_t)0);
        if (left) return 64 * w + dync__fuse_lowest(left);
    }
    return DYNC__FUSE_WINDOW;
}

/* After every change of a node's kernel: what is kept of it. */
DYNC__OFTEN DYNC__FN void dync__fuse_masks(dync__fuse_graph *g, int at)
{
    dync__fuse_node *node = &g->node[at];
    const dync__fuse_step *s = &node->step;
    node->reads = node->writes = 0;
    node->reduces = false;
    if (node->dead) return;
    for (int i = 0; s->k && i < s->k->inst.n; i++)
        node->reduces |= s->k->inst.at[i].prim == DYNC__P_reduce ||
                         s->k->inst.at[i].prim == DYNC__P_scan;
    for (int i = 0; s->k && i < s->k->buf.n; i++) {
        const dync__buf *b = &s->k->buf.at[i];
        if (b->mode & DYNC__BUF_IN) node->reads |= dync__fuse_bit(b->id);
        if (b->mode & DYNC__BUF_OUT) node->writes |= dync__fuse_bit(b->id);
    }
    for (int i = 0; !s->k && i < s->n_reads; i++) node->reads |= dync__fuse_bit(s->reads[i]);
    for (int i = 0; !s->k && i < s->n_writes; i++) node->writes |= dync__fuse_bit(s->writes[i]);
    dync__fuse_users_add(&g->users, node, at);
}

/* Must two instructions of different kernels keep their order? Two loads need not; of indexed
 * accesses, and of elements of different sizes, nothing is known, so they must. */
static bool dync__fuse_insts_conflict(const dync__kernel *a, const dync__inst *x,
                                      const dync__kernel *b, const dync__inst *y)
{
    if (x->buf < 0 || y->buf < 0 || a->buf.at[x->buf].id != b->buf.at[y->buf].id) return false;
    if (dync__inst_has_value(x) && dync__inst_has_value(y)) return false;
    /* elements of another size */
    if (a->buf.at[x->buf].dtype != b->buf.at[y->buf].dtype) return true;
    if (x->prim == DYNC__P_loadx || x->prim == DYNC__P_storex || y->prim == DYNC__P_loadx ||
        y->prim == DYNC__P_storex)
        return true;
    return dync__access_overlap(&a->access.at[x->access], a->n_dims, a->extent,
                                &b->access.at[y->access], b->n_dims, b->extent);
}

/* Does the step write indices of which k's bounds speak? */
static bool dync__fuse_bounds(const dync__kernel *k, const dync__fuse_step *s)
{
    bool any = false;
    for (int b = 0; b < k->bound.n; b++)
        any |= dync__fuse_touches(s, k->buf.at[k->bound.at[b].buf].id, DYNC__BUF_OUT);
    return any;
}

/* Must the order of two steps be kept? */
static bool dync__fuse_conflict(const dync__fuse_node *a, const dync__fuse_node *b)
{
    const dync__fuse_step *s = &a->step, *t = &b->step;
    if (!((a->writes & (b->reads | b->writes)) | (b->writes & a->reads))) return false;
    if (s->k && t->k) {
        bool shared = false;
        if (dync__fuse_bounds(s->k, t) || dync__fuse_bounds(t->k, s)) return true;
        for (int i = 0; i < s->k->buf.n && !shared; i++) {
            bool writes = s->k->buf.at[i].mode & DYNC__BUF_OUT;
            shared = dync__fuse_touches(t, s->k->buf.at[i].id,
                                        writes ? DYNC__BUF_IN | DYNC__BUF_OUT : DYNC__BUF_OUT);
        }
        for (int i = 0; i < s->k->inst.n && shared; i++)
            for (int j = 0; j < t->k->inst.n && s->k->inst.at[i].buf >= 0; j++)
                if (dync__fuse_insts_conflict(s->k, &s->k->inst.at[i], t->k, &t->k->inst.at[j]))
                    return true;
        return false;
    }
    if (s->k) {
        const dync__fuse_step *swap = s;
        s = t;
        t = swap;
    }
    for (int i = 0; i < s->n_reads; i++)
        if (dync__fuse_touches(t, s->reads[i], DYNC__BUF_OUT)) return true;
    for (int i = 0; i < s->n_writes; i++)
        if (dync__fuse_touches(t, s->writes[i], DYNC__BUF_IN | DYNC__BUF_OUT)) return true;
    return false;
}

static bool dync__fuse_note_read(dync__fuse_graph *g, int32_t id, int step)
{
    return dync__map_put(&g->last_read, (uint32_t)id, (uint64_t)step);
}

/* Fills last_read for the whole program; false: no memory. */
DYNC__FN bool dync__fuse_note_reads(dync__fuse_graph *g, const dync__fuse_step *steps, int n)
{
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        const dync__kernel *k = steps[i].k;
        for (int b = 0; k && b < k->buf.n && ok; b++)
            if (k->buf.at[b].mode & DYNC__BUF_IN) ok = dync__fuse_note_read(g, k->buf.at[b].id, i);
        for (int r = 0; !k && r < steps[i].n_reads && ok; r++)
            ok = dync__fuse_note_read(g, steps[i].reads[r], i);
    }
    return ok;
}

/* Does a step after the window read the buffer? */
DYNC__FN bool dync__fuse_read_later(const dync__fuse_graph *g, int32_t id)
{
    uint64_t last;
    return dync__map_get(&g->last_read, (uint32_t)id, &last) && last >= (uint64_t)g->end;
}

/* dync__fuse_job.needed: is the buffer kept, or read by a step other than those at hand? */
DYNC__OFTEN DYNC__FN bool dync__fuse_needed(void *user, int32_t id)
{
    const dync__fuse_graph *g = user;
    if (!g->options->keep || g->options->keep(g->options->user, id)) return true;
    dync__fuse_set users = dync__fuse_users_of(g, id, DYNC__BUF_IN);
    for (int i = dync__fuse_next(&users, 0); i < g->n; i = dync__fuse_next(&users, i + 1))
        if (!g->node[i].dead && i != g->skip_a && i != g->skip_b &&
            dync__fuse_touches(&g->node[i].step, id, DYNC__BUF_IN))
            return true;
    return dync__fuse_read_later(g, id);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Does the set have a member below i? */
static bool dync__fuse_back(const dync__fuse_set *s, int i)
{
    for (int w = 0; w < i / 64; w++)
        if (s->word[w]) return true;
    return s->word[i / 64] & (((uint64_t)1 << (i % 64)) - 1);
}

/* The live nodes in a legal order, lowest number first where there is a choice; gives how many. */
static int dync__fuse_order(const dync__fuse_graph *g, int *order)
{
    int before[DYNC__FUSE_WINDOW] = {0}, n = 0;
    bool done[DYNC__FUSE_WINDOW] = {false}, sorted = true;
    for (int i = 0; i < g->n && sorted; i++)
        sorted = g->node[i].dead || !dync__fuse_back(&g->node[i].reach, i);
    for (int i = 0; i < g->n && sorted; i++)
        if (!g->node[i].dead) order[n++] = i;
    if (sorted) return n;
    for (int i = 0; i < g->n; i++)
        for (int j = 0; j < g->n && !g->node[i].dead; j++)
            before[j] += dync__fuse_has(&g->node[i].reach, j);
    for (;;) {
        int next = -1;
        for (int i = 0; i < g->n && next < 0; i++)
            if (!g->node[i].dead && !done[i] && before[i] == 0) next = i;
        if (next < 0) return n;
        done[next] = true;
        order[n++] = next;
        for (int j = 0; j < g->n; j++) before[j] -= dync__fuse_has(&g->node[next].reach, j);
    }
}

/* Those seen so far whose masks do not exclude that they must stay behind a. */
static dync__fuse_set dync__fuse_suspects(const dync__fuse_users *u, const dync__fuse_node *a)
{
    dync__fuse_set s = {{0}};
    for (uint64_t left = a->writes; left; left &= left - 1) {
        dync__fuse_join(&s, &u->reads[dync__fuse_lowest(left)]);
        dync__fuse_join(&s, &u->writes[dync__fuse_lowest(left)]);
    }
    for (uint64_t left = a->reads; left; left &= left - 1)
        dync__fuse_join(&s, &u->writes[dync__fuse_lowest(left)]);
    return s;
}

/* Must the order of two nodes be kept? Asked once, as long as both have their kernels. */
static bool dync__fuse_ordered(dync__fuse_node *a, dync__fuse_node *b)
{
    if (!dync__fuse_has(&a->asked, b->id)) {
        bool kept = dync__fuse_conflict(a, b);
        dync__fuse_put(&a->asked, b->id, true);
        dync__fuse_put(&b->asked, a->id, true);
        dync__fuse_put(&a->ordered, b->id, kept);
        dync__fuse_put(&b->ordered, a->id, kept);
    }
    return dync__fuse_has(&a->ordered, b->id);
}

/* Nodes whose kernel is another since edges were found. */
DYNC__OFTEN static void dync__fuse_ask_again(dync__fuse_graph *g)
{
    dync__fuse_set fresh = {{0}};
    for (int i = 0; i < g->n; i++) {
        dync__fuse_node *a = &g->node[i];
        if (a->asked_as == a->step.k) continue;
        a->asked_as = a->step.k;
        memset(&a->asked, 0, sizeof a->asked);
        dync__fuse_put(&fresh, a->id, true);
        dync__fuse_masks(g, i);
    }
    for (int i = 0; i < g->n; i++)
        for (int w = 0; w < DYNC__FUSE_WORDS; w++) g->node[i].asked.word[w] &= ~fresh.word[w];
}

/* The closure of the edges between nodes that stand in order, last node first: of each, only those
 * behind it are looked at that share a bit of the masks. */
static void dync__fuse_edges(dync__fuse_graph *g)
{
    memset(&g->users, 0, sizeof g->users);
    for (int i = g->n - 1; i >= 0; i--) {
        dync__fuse_node *a = &g->node[i];
        dync__fuse_set s = dync__fuse_suspects(&g->users, a);
        for (int w = i / 64; w < DYNC__FUSE_WORDS; w++)
            /* those that it reaches meanwhile are in order anyhow */
            for (uint64_t left; (left = s.word[w] & ~a->reach.word[w]) != 0;) {
                int j = 64 * w + dync__fuse_lowest(left);
                dync__fuse_put(&s, j, false);
                if (!dync__fuse_ordered(a, &g->node[j])) continue;
                dync__fuse_put(&a->reach, j, true);
                dync__fuse_join(&a->reach, &g->node[j].reach);
            }
        dync__fuse_users_add(&g->users, a, i);
    }
}

/* Where checks are on: the same, looking at every pair anew. */
static bool dync__fuse_edges_same(const dync__fuse_graph *g)
{
    bool same = true;
    size_t bytes = (size_t)g->n * sizeof(dync__fuse_set);
    dync__fuse_set *reach = dync__check_on() ? dync__calloc(bytes) : NULL;
    for (int i = g->n - 1; i >= 0 && reach && same; i--) {
        for (int j = i + 1; j < g->n; j++) {
            if (dync__fuse_has(&reach[i], j) || !dync__fuse_conflict(&g->node[i], &g->node[j]))
                continue;
            dync__fuse_put(&reach[i], j, true);
            dync__fuse_join(&reach[i], &reach[j]);
        }
        same = memcmp(&reach[i], &g->node[i].reach, sizeof *reach) == 0;
    }
    dync__free(reach, bytes);
    return same;
}

/* The nodes, those of `order` alone; false: no memory. */
static bool dync__fuse_renumber(dync__fuse_graph *g, const int *order, int n)
{
    bool moves_down = true;
    for (int i = 0; i < n; i++) moves_down = moves_down && order[i] >= (i ? order[i - 1] : 0);
    size_t bytes = sizeof(dync__fuse_node) * (size_t)g->n;
    dync__fuse_node *from = moves_down ? g->node : dync__alloc(bytes);
    if (!from) return false;
    if (!moves_down) memcpy(from, g->node, bytes);
    for (int i = 0; i < n; i++) {
        if (&from[order[i]] != &g->node[i]) g->node[i] = from[order[i]];
        memset(&g->node[i].reach, 0, sizeof g->node[i].reach);
        memset(g->node[i].failed, 0, sizeof g->node[i].failed);
    }
    if (!moves_down) dync__free(from, bytes);
    g->n = n;
    return true;
}

/* Renumbers the nodes in a legal order, drops dead ones, and finds the edges of those that changed.
 * in_order: they stand in one, as before any merging. */
DYNC__FN bool dync__fuse_relink(dync__fuse_graph *g, bool in_order)
{
    int order[DYNC__FUSE_WINDOW], n = in_order ? 0 : dync__fuse_order(g, order);
    for (int i = 0; in_order && i < g->n; i++)
        if (!g->node[i].dead) order[n++] = i;
    if (!dync__fuse_renumber(g, order, n)) return false;
    dync__fuse_ask_again(g);
    dync__fuse_edges(g);
    /* what the masks leave out is in order anyhow; without memory for sizes answers are not to be
     * compared, and what comes of them is dropped */
    bool lost = dync__tls.syms && dync__tls.syms->failed;
    bool same = in_order || lost || dync__fuse_edges_same(g);
    DYNC__ASSERT(same);
    (void)same;
    return true;
}

/* Does a path from i to j pass another node? */
DYNC__OFTEN DYNC__FN bool dync__fuse_detour(const dync__fuse_graph *g, int i, int j)
{
    for (int x = 0; x < g->n; x++)
        if (x != j && dync__fuse_has(&g->node[i].reach, x) && dync__fuse_has(&g->node[x].reach, j))
            return true;
    return false;
}

/* Node i has another kernel: what was refused with it may now be possible. */
DYNC__OFTEN DYNC__FN void dync__fuse_changed(dync__fuse_graph *g, int i)
{
    uint64_t others = ~((uint64_t)1 << (i % 64));
    dync__fuse_masks(g, i);
    memset(g->node[i].failed, 0, sizeof g->node[i].failed);
    for (int x = 0; x < g->n; x++)
        for (int way = 0; way < 2; way++) g->node[x].failed[way].word[i / 64] &= others;
}

/* Node j becomes part of node i, whose kernel is now k. The closure stays right without a new
 * search: whoever reaches one of them reaches all that either reaches. Numbers are then no order
 * any more: dync__fuse_relink makes them one. */
DYNC__FN void dync__fuse_contract(dync__fuse_graph *g, int i, int j, dync__kernel *k)
{
    g->node[i].step.k = k;
    g->node[j].dead = true;
    dync__fuse_join(&g->node[i].reach, &g->node[j].reach);
    for (int x = 0; x < g->n; x++) {
        if (x != i &&
            (dync__fuse_has(&g->node[x].reach, i) || dync__fuse_has(&g->node[x].reach, j))) {
            dync__fuse_join(&g->node[x].reach, &g->node[i].reach);
            dync__fuse_put(&g->node[x].reach, i, true);
        }
        dync__fuse_put(&g->node[x].reach, j, false);
    }
    dync__fuse_put(&g->node[i].reach, i, false);
    dync__fuse_changed(g, i);
}
