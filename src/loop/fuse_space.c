/* loop/fuse_space.c: where the kernels of a window live. After fuse_inline.c, before fuse.c.
 *
 * Each merge makes a new kernel and leaves two behind that nobody needs; a chain that becomes one
 * kernel leaves the sum of all its lengths. So kernels are made in one of two arenas, and when most
 * of it is left behind those that live move to the other (a copying collector: Cheney 1970). What
 * a window ends with is copied to the arena of the program. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__COLD

static void *dync__space_items(dync__arena *arena, const void *at, int n, size_t item, bool *ok)
{
    void *copy = n > 0 ? dync__arena_copy(arena, at, (size_t)n * item) : NULL;
    *ok = *ok && (copy || n == 0);
    return copy;
}

#define DYNC__SPACE_COPY(out, arena, vec, ok)                                                   \
    ((out)->vec.at =                                                                            \
         dync__space_items((arena), (out)->vec.at, (out)->vec.n, sizeof *(out)->vec.at, &(ok)), \
     (out)->vec.cap = (out)->vec.n)

/* k in another arena; NULL: no memory. */
static dync__kernel *dync__space_move(dync__arena *arena, const dync__kernel *k)
{
    dync__kernel *out = dync__arena_copy(arena, k, sizeof *k);
    if (!out) return NULL;
    out->arena = arena;
    out->name = dync__arena_strdup(arena, k->name);
    memset(&out->share, 0, sizeof out->share);
    bool ok = out->name != NULL;
    DYNC__SPACE_COPY(out, arena, inst, ok);
    DYNC__SPACE_COPY(out, arena, access, ok);
    DYNC__SPACE_COPY(out, arena, buf, ok);
    DYNC__SPACE_COPY(out, arena, bound, ok);
    DYNC__SPACE_COPY(out, arena, settled, ok);
    for (int i = 0; ok && i < out->buf.n; i++) {
        const char *name = out->buf.at[i].name;
        ok = !name || (out->buf.at[i].name = dync__arena_strdup(arena, name)) != NULL;
    }
    return ok ? out : NULL;
}

DYNC__FN void dync__space_begin(dync__fuse_graph *g)
{
    g->space.now = 0;
    g->space.next = DYNC__SPACE_LEAST;
    g->job.arena = &g->space.half[0];
}

DYNC__FN bool dync__space_tidy(dync__fuse_graph *g)
{
    dync__arena *from = g->job.arena, *to = &g->space.half[!g->space.now];
    if (dync__arena_bytes(from) < g->space.next) return true;
    for (int i = 0; i < g->n; i++) {
        dync__fuse_node *node = &g->node[i];
        const dync__kernel *k = node->step.k;
        bool asked = node->asked_as == k;
        node->asked_as = NULL; /* its place may soon be another's */
        if (node->dead || !k) continue;
        if (k->arena == from && !(node->step.k = dync__space_move(to, k))) return false;
        if (asked) node->asked_as = node->step.k;
    }
    dync__arena_free(from);
    g->space.now = !g->space.now;
    g->space.next = DYNC__MAX(4 * dync__arena_bytes(to), (size_t)DYNC__SPACE_LEAST);
    g->job.arena = to;
    return true;
}

DYNC__FN bool dync__space_end(dync__fuse_graph *g, dync__arena *arena)
{
    bool ok = true;
    for (int i = 0; i < g->n && ok; i++) {
        dync__fuse_step *step = &g->node[i].step;
        if (!step->k || step->k->arena != g->job.arena) continue;
        dync__kernel *k = dync__space_move(arena, step->k);
        if (k) k->settled.n = 0; /* of no use to others */
        step->k = k;
        ok = k != NULL;
    }
    return ok;
}

DYNC__FN void dync__space_free(dync__fuse_graph *g)
{
    for (int i = 0; i < 2; i++) dync__arena_free(&g->space.half[i]);
}
