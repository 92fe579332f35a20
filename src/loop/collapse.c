/* loop/collapse.c: the passes: what nobody uses goes, instructions are made again simpler, loops
 * that follow each other in memory become one. Before: simplify.c. */
#include "../dync.in.h"
#include "loop.h"
DYNC__COLD

/* ---- the passes ------------------------------------------------------------------------------ */

/* Drops values that no store needs. Numbers are given anew in place. */
DYNC__BUSY static void dync__simplify_dead(dync__kernel *k)
{
    size_t bytes = (size_t)DYNC__MAX(k->inst.n, 1) * sizeof(int32_t);
    int32_t *number = dync__alloc(bytes);
    if (!number) {
        k->failed = true;
        return;
    }
    for (int i = 0; i < k->inst.n; i++) number[i] = !dync__inst_has_value(&k->inst.at[i]);
    for (int i = k->inst.n - 1; i >= 0; i--)
        for (int a = 0; number[i] && a < 3; a++)
            if (k->inst.at[i].arg[a] >= 0) number[k->inst.at[i].arg[a]] = 1;
    int n = 0;
    k->uses_random = false;
    for (int i = 0; i < k->inst.n; i++) {
        if (!number[i]) continue;
        dync__inst in = k->inst.at[i];
        for (int a = 0; a < 3; a++)
            if (in.arg[a] >= 0) in.arg[a] = number[in.arg[a]];
        k->uses_random |= in.prim == DYNC__P_random;
        number[i] = n;
        k->inst.at[n++] = in;
    }
    k->inst.n = n;
    memset(&k->share, 0, sizeof k->share);
    dync__free(number, bytes);
}

/* A value of an earlier phase that costs no more to make than to keep is made again in the
 * builder's phase. */
static int dync__simplify_local(dync__lb *b, int v)
{
    const dync__inst *def = dync__fold_def(b, v);
    if (!(def->section & 1) || def->section == b->section) return v;
    if (def->prim != DYNC__P_const_ && def->prim != DYNC__P_index && def->prim != DYNC__P_load)
        return v;
    dync__inst copy = *def;
    for (int i = v + 1; copy.buf >= 0 && i < b->k->inst.n; i++)
        if (!dync__inst_has_value(&b->k->inst.at[i]) && b->k->inst.at[i].buf == copy.buf) return v;
    return dync__lb_share(b, &copy, false);
}

/* Passes every instruction through the builder again. across: equal values of different phases
 * become one, which is then kept; local: what is not worth keeping is made again where it is
 * used. */
static void dync__simplify_rebuild(dync__kernel *k, bool across, bool local)
{
    dync__inst *old = k->inst.at;
    int n = k->inst.n;
    size_t bytes = (size_t)DYNC__MAX(n, 1) * sizeof(int32_t);
    int32_t *number = dync__alloc(bytes);
    if (!number) {
        k->failed = true;
        return;
    }
    k->inst.at = NULL;
    k->inst.n = k->inst.cap = 0;
    memset(&k->share, 0, sizeof k->share);
    dync__lb b;
    memset(&b, 0, sizeof b);
    b.k = k;
    for (int i = 0; i < n && !k->failed; i++) {
        dync__inst in = old[i];
        b.section = in.section;
        b.origin = in.origin;
        for (int a = 0; a < 3; a++) {
            if (in.arg[a] < 0) continue;
            in.arg[a] = number[in.arg[a]];
            if (local && (in.section & 1)) in.arg[a] = dync__simplify_local(&b, in.arg[a]);
        }
        number[i] = dync__fold_add(&b, &in, across);
    }
    dync__free(number, bytes);
}

DYNC__FN void dync__kernel_simplify(dync__kernel *k)
{
    if (k->failed) return;
    bool phases = k->inst.n > 0 && k->inst.at[k->inst.n - 1].section > 2;
    dync__simplify_dead(k);
    if (!k->failed) dync__simplify_rebuild(k, phases, false);
    if (!k->failed && phases) dync__simplify_rebuild(k, false, true);
    if (!k->failed) dync__simplify_dead(k);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Folds loop d into its outer neighbour d - 1: a stride of d - 1 is that of d times the extent of
 * d, or d has extent 1. */
static bool dync__collapse_allows(const dync__kernel *k, int d)
{
    int64_t product;
    if (!dync__sz_mul_ok(k->extent[d - 1], k->extent[d], &product)) return false;
    for (int i = 0; i < k->inst.n; i++) {
        if (k->inst.at[i].access < 0) continue;
        const dync__access *a = &k->access.at[k->inst.at[i].access];
        if (!dync__sz_mul_ok(a->stride[d], k->extent[d], &product) ||
            !dync__sz_eq(product, a->stride[d - 1]))
            return false;
    }
    return true;
}

/* Removes loop d; its stride is no longer needed. */
static void dync__collapse_remove(dync__kernel *k, int d)
{
    for (int e = d; e + 1 < k->n_dims; e++) k->extent[e] = k->extent[e + 1];
    for (int i = 0; i < k->access.n; i++) {
        int64_t *stride = k->access.at[i].stride;
        for (int e = d; e + 1 < k->n_dims; e++) stride[e] = stride[e + 1];
        stride[k->n_dims - 1] = 0;
    }
    k->n_outer -= d < k->n_outer;
    k->n_dims--;
    k->extent[k->n_dims] = 0;
}

/* Accesses that no instruction uses may lose their meaning. */
DYNC__FN void dync__kernel_collapse(dync__kernel *k)
{
    for (int d = k->n_dims - 1; d >= 0; d--)
        if (k->extent[d] == 1) dync__collapse_remove(k, d);
    for (int d = k->n_dims - 1; d > 0; d--) {
        if (d == k->n_outer || !dync__collapse_allows(k, d)) continue;
        k->extent[d - 1] = dync__sz_mul(k->extent[d - 1], k->extent[d]);
        for (int i = 0; i < k->access.n; i++)
            k->access.at[i].stride[d - 1] = k->access.at[i].stride[d];
        dync__collapse_remove(k, d);
    }
}
