/* aot/own.c: which saved values backward's own nodes read, as the operators' own rules do, and
 * which it only computes again from. The first must not be written before backward, the others are
 * copied when they are (tensor/watch.c). After mincut.c, before partition.c.
 *
 * One rule may keep a value that another's is computed again from. Where gradients may arrive for
 * the second alone, such a value is two inputs of backward, one for each: the second can be copied
 * then, and whether the first was needed is seen when gradients arrive (absent.c). */
#include "../dync.in.h"
#include "partition.h"
DYNC__COLD

/* The input that the epilogue overwrites whose memory a node lies on, or -1. */
DYNC__FN int dync__part_mutated_root(const dync__cutter *c, const dync__node *n)
{
    while (dync__aot_is_view(n) && n->args[0].kind == DYNC__A_NODE) n = n->args[0].as.node;
    return c->mutated[n->index] ? n->index : -1;
}

/* Which tangents ask for each node of backward: those that it depends on; of what depends on none,
 * those of its readers. Bit k % 64 is tangent k: others on the same bit are taken for it. */
static void dync__own_asks(const dync__cutter *c, uint64_t *asks)
{
    uint64_t bit = 1;
    for (int i = 0; i < c->n; i++) {
        if (c->tangent[i]) asks[i] = bit, bit = bit << 1 | bit >> 63;
        for (int u = c->first_user[i]; u < c->first_user[i + 1]; u++) asks[c->user[u]] |= asks[i];
        if (c->late[i] && !asks[i]) asks[i] = UINT64_MAX; /* a gradient without tangents */
    }
    for (int i = c->n - 1; i >= 0; i--) {
        if (c->late[i]) continue;
        asks[i] = c->given[i] ? UINT64_MAX : 0;
        for (int u = c->first_user[i]; u < c->first_user[i + 1]; u++)
            if (c->bw[c->user[u]] && !c->saved[c->user[u]]) asks[i] |= asks[c->user[u]];
    }
}

/* Is the value, which rules read, computed again from for tangents that those do not depend on? */
static bool dync__own_is_twice(const dync__cutter *c, const uint64_t *asks, int i)
{
    uint64_t rules = 0, others = 0;
    if (!c->saved[i] || !c->own[i] || c->given[i]) return false;
    for (int u = c->first_user[i]; u < c->first_user[i + 1]; u++) {
        int user = c->user[u];
        if (!c->bw[user] || c->saved[user]) continue;
        *(c->rule[user] ? &rules : &others) |= asks[user];
    }
    return (others & ~rules) && dync__part_mutated_root(c, c->joint->node.at[i]) < 0;
}

static dync_status dync__own_twice(dync__cutter *c)
{
    size_t n = (size_t)c->n + 1;
    uint64_t *asks = dync__arena_alloc(&c->arena, n * sizeof *asks);
    c->twice = dync__arena_alloc(&c->arena, n * sizeof *c->twice);
    c->rule_copy = dync__arena_alloc(&c->arena, n * sizeof *c->rule_copy);
    c->rule = dync__arena_alloc(&c->arena, n);
    c->is_twice = dync__arena_alloc(&c->arena, n);
    if (!asks || !c->twice || !c->rule_copy || !c->rule || !c->is_twice) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n; i++)
        c->rule[i] = (c->bw[i] && !c->fw[i]) ||
                     (c->own[i] && dync__aot_is_view(c->joint->node.at[i]));
    dync__own_asks(c, asks);
    for (int i = 0; i < c->n; i++)
        if ((c->is_twice[i] = dync__own_is_twice(c, asks, i))) c->twice[c->n_twice++] = i;
    return DYNC_OK;
}

/* Users come later: one sweep from the end. */
DYNC__FN dync_status dync__part_own(dync__cutter *c)
{
    int tangents = 0;
    for (int i = c->n - 1; i >= 0; i--) {
        tangents += c->tangent[i];
        c->own[i] = c->given[i] || c->joint->node.at[i]->is_read;
        for (int u = c->first_user[i]; u < c->first_user[i + 1] && !c->own[i]; u++) {
            int user = c->user[u];
            c->own[i] = dync__aot_is_view(c->joint->node.at[user]) && c->own[user];
        }
    }
    return DYNC__SAVED_TWICE && tangents > 1 ? dync__own_twice(c) : DYNC_OK;
}

/* Before and after a reader is copied: a rule reads the rules' input. */
DYNC__FN void dync__part_twice_swap(const dync__cutter *c, const dync__node *reader,
                                    dync__rewrite *r)
{
    if (!DYNC__SAVED_TWICE || !c->n_twice || !c->rule[reader->index]) return;
    for (int i = 0; i < c->n_twice; i++) {
        dync__node **at = &r->copy[c->twice[i]], *other = c->rule_copy[c->twice[i]];
        c->rule_copy[c->twice[i]] = *at;
        *at = other;
    }
}
