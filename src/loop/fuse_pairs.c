/* loop/fuse_pairs.c: pairs of kernels of a window that become one nest. After fuse_space.c, before
 * fuse.c, which says when. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

DYNC__FN bool dync__fuse_is_kernel(const dync__fuse_graph *g, int i)
{
    return !g->node[i].dead && g->node[i].step.k;
}

/* Does b load what a stores (BUF_OUT), or loads (BUF_IN)? */
static bool dync__fuse_loads_of(const dync__fuse_node *a, const dync__fuse_node *b, int mode)
{
    if (!((mode == DYNC__BUF_OUT ? a->writes : a->reads) & b->reads)) return false;
    for (int i = 0; i < a->step.k->buf.n; i++)
        if ((a->step.k->buf.at[i].mode & mode) &&
            dync__fuse_touches(&b->step, a->step.k->buf.at[i].id, DYNC__BUF_IN))
            return true;
    return false;
}

DYNC__FN uint32_t dync__fuse_unknown(uint32_t before)
{
#if DYNC__SYM_NONE
    return before;
#else
    dync__symtab *t = dync__tls.syms;
    if (!t || !t->quiet) return before;
    uint32_t now = t->unknown;
    if (before) t->unknown = before;
    return now;
#endif
}

DYNC__FN int dync__fuse_straight(const dync__fuse_graph *g, int i, int j)
{
    const dync__fuse_node *a = &g->node[i], *b = &g->node[j];
    int most = g->job.max_insts,
        straight = g->job.few_registers ? DYNC__FUSE_STRAIGHT_FEW : DYNC__FUSE_STRAIGHT;
    if (DYNC__LEFT_OUT(DYNC_NO_JIT) || g->options->max_insts > 0 ||
        a->step.k->inst.n + b->step.k->inst.n <= straight)
        return most;
    for (int x = 0; x < g->n; x++)
        if (g->node[x].reduces && !g->node[x].dead && ((a->writes | b->writes) & g->node[x].reads))
            return most;
    return dync__sz_lt(DYNC__FUSE_STAYS, dync__fuse_domain(a->step.k)) ? most : straight;
}

DYNC__FN bool dync__fuse_apart(const dync__fuse_graph *g, const dync__kernel *a,
                               const dync__kernel *b)
{
    return g->options->once && dync__fuse_once(g, a, false) != dync__fuse_once(g, b, false) &&
           (dync__fuse_once(g, a, true) || dync__fuse_once(g, b, true));
}

/* Merges nodes i and j, in whichever order they must run, if that is possible and legal. */
static bool dync__fuse_merge(dync__fuse_graph *g, int i, int j)
{
    if (dync__fuse_has(&g->node[j].reach, i)) {
        int swap = i;
        i = j;
        j = swap;
    }
    if (dync__fuse_has(&g->node[i].failed[0], j) || dync__fuse_detour(g, i, j)) return false;
    g->skip_a = i;
    g->skip_b = j;
    uint32_t unknown = dync__fuse_unknown(0);
    g->job.max_straight = dync__fuse_straight(g, i, j);
    dync__kernel *k = NULL;
    if (!dync__fuse_apart(g, g->node[i].step.k, g->node[j].step.k))
        k = dync__fuse_pair(&g->job, g->node[i].step.k, g->node[j].step.k);
    if (dync__fuse_unknown(unknown) != unknown) k = NULL;
    if (!k) {
        dync__fuse_put(&g->node[i].failed[0], j, true);
        return false;
    }
    dync__fuse_contract(g, i, j, k);
    return dync__space_tidy(g) || !(g->job.no_memory = true);
}

DYNC__FN bool dync__fuse_merge_all(dync__fuse_graph *g, bool siblings)
{
    bool changed = false;
    for (int j = 0; j < g->n; j++)
        for (int i = j - 1; i >= 0; i--) {
            const dync__fuse_node *a = &g->node[i], *b = &g->node[j];
            if (!dync__fuse_is_kernel(g, i) || !dync__fuse_is_kernel(g, j)) continue;
            bool fed = dync__fuse_loads_of(a, b, DYNC__BUF_OUT) ||
                       dync__fuse_loads_of(b, a, DYNC__BUF_OUT);
            if (siblings ? fed || !dync__fuse_loads_of(a, b, DYNC__BUF_IN) : !fed) continue;
            if (dync__fuse_merge(g, i, j)) {
                changed = true;
                if (g->node[j].dead) break;
                i = j; /* j grew: look at its neighbours again */
            }
            if (g->job.no_memory) return false;
        }
    return changed;
}
