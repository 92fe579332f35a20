/* capture/tree_into.c: results where the caller wants them: what of a segment's outputs goes where.
 * After lint_trace.c, before tree.c. */
#include "../dync.in.h"
#include "tree.h"
DYNC__WARM

/* The tensor that the caller wants place env in, if the call's last segment may write it: nothing
 * else of the call lies on its memory. */
static dync__tensor *dync__into_target(const dync__call_run_state *r, const dync_value *into,
                                       const dync__outval *result, int env)
{
    const dync__list *l = into->kind == DYNC_KIND_LIST ? dync__list_peek(into->as.l) : NULL;
    if (result->kind == DYNC_KIND_LIST && l && l->n == result->n) {
        dync__tensor *found = NULL;
        for (int i = 0; i < result->n && !found; i++)
            found = dync__into_target(r, &l->items[i], &result->as.items[i], env);
        return found;
    }
    dync__tensor *t = result->kind == DYNC_KIND_TENSOR && result->n == env &&
                              into->kind == DYNC_KIND_TENSOR
                          ? dync__peek(into->as.t)
                          : NULL;
    if (!t || t->grad || (t->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_FAKE))) return NULL;
    for (int i = 0; i < r->n_env; i++)
        if (r->env[i] && dync__memory_meets(t, r->env[i])) return NULL;
    return t;
}

DYNC__RARE static int dync__outval_uses(const dync__outval *o, int env)
{
    int n = o->kind == DYNC_KIND_TENSOR && o->n == env;
    for (int i = 0; o->kind == DYNC_KIND_LIST && i < o->n; i++)
        n += dync__outval_uses(&o->as.items[i], env);
    return n;
}

DYNC__FN bool dync__into_targets(const dync__call_run_state *r, const dync__segref *ref,
                                 const dync__outval *result, dync__tensor **target)
{
    bool any = false;
    for (int i = 0; i < ref->seg->n_out; i++) {
        target[i] = dync__outval_uses(result, ref->out_env[i]) == 1
                        ? dync__into_target(r, r->into, result, ref->out_env[i])
                        : NULL;
        for (int k = 0; k < i && target[i]; k++)
            if (target[k] && dync__memory_meets(target[i], target[k])) target[i] = NULL;
        any |= target[i] != NULL;
    }
    return any;
}
