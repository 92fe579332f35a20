/* loop/collapse.c: the passes: what nobody uses goes, instructions are made again simpler, loops
 * that follow each other in memory become one. Before: simplify.c. */
#include "../dync.in.h"
#include "../base/pass.h"
#include "loop.h"
DYNC__LEAN

/* ---- the passes ------------------------------------------------------------------------------ */

/* Do two operands that were different become one, or do those of a primitive that sorts them stand
 * in another order? */
DYNC__BUSY DYNC__FN bool dync__inst_reordered(const dync__inst *old, const dync__inst *now)
{
    bool one = false, turned = false;
    for (int x = 0; x < 2; x++)
        for (int y = x + 1; y < 3 && old->arg[y] >= 0; y++) {
            one |= (old->arg[x] == old->arg[y]) != (now->arg[x] == now->arg[y]);
            turned |= (old->arg[x] < old->arg[y]) != (now->arg[x] < now->arg[y]);
        }
    return one || (turned && dync__fold_commutes(old->prim));
}

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
    bool known = k->settled.n == k->inst.n;
    k->uses_random = false;
    for (int i = 0; i < k->inst.n; i++) {
        if (!number[i]) continue;
        dync__inst in = k->inst.at[i];
        for (int a = 0; a < 3; a++)
            if (in.arg[a] >= 0) in.arg[a] = number[in.arg[a]];
        k->uses_random |= in.prim == DYNC__P_random;
        number[i] = n;
        if (known) k->settled.at[n] = k->settled.at[i];
        k->inst.at[n++] = in;
    }
    k->settled.n = known ? n : 0;
    k->inst.n = n;
    memset(&k->share, 0, sizeof k->share);
    dync__free(number, bytes);
}

/* A value of an earlier phase that costs no more to make than to keep is made again in the
 * builder's phase. */
DYNC__BUSY static int dync__simplify_local(dync__lb *b, int v)
{
    const dync__inst *def = &b->k->inst.at[v];
    if (!(def->section & 1) || def->section == b->section) return v;
    if (def->prim != DYNC__P_const_ && def->prim != DYNC__P_index && def->prim != DYNC__P_load)
        return v;
    dync__inst copy = *def;
    for (int i = v + 1; copy.buf >= 0 && i < b->k->inst.n; i++)
        if (!dync__inst_has_value(&b->k->inst.at[i]) && b->k->inst.at[i].buf == copy.buf) return v;
    return dync__lb_share(b, &copy, false);
}

/* One pass over a kernel. across: equal values of different phases become one, which is then kept;
 * local: what is not worth keeping is made again where it is used. */
typedef struct dync__simplify {
    dync__lb b;
    const dync__inst *from;
    const bool *settled; /* of `from`; NULL: nothing is known, nor wanted */
    int32_t *number;
    bool *same; /* it became the same primitive of what became of its operands */
    bool across, local, check;
} dync__simplify;

/* Is inst.at[v], which came of `in`, nothing else? */
DYNC__BUSY static inline bool dync__simplify_kept(const dync__kernel *k, int v,
                                                  const dync__inst *in)
{
    const dync__inst *now = &k->inst.at[v];
    return now->prim == in->prim && now->type == in->type && now->imm.i == in->imm.i &&
           now->arg[0] == in->arg[0] && now->arg[1] == in->arg[1] && now->arg[2] == in->arg[2];
}

/* The same, in whichever order operands stand that are sorted. */
DYNC__BUSY static inline bool dync__simplify_alike(const dync__kernel *k, int v,
                                                   const dync__inst *in)
{
    if (dync__simplify_kept(k, v, in)) return true;
    dync__inst turned = *in;
    turned.arg[0] = in->arg[1];
    turned.arg[1] = in->arg[0];
    return dync__fold_commutes(in->prim) && dync__simplify_kept(k, v, &turned);
}

/* Instruction i passes through the builder again: folded, unless it is known that nothing comes of
 * it, and shared. Folding looks at what its operands are, but no further than at the numbers and
 * types of theirs (simplify.c). */
DYNC__BUSY static void dync__simplify_inst(dync__simplify *s, int i)
{
    dync__kernel *k = s->b.k;
    const dync__inst *from = &s->from[i];
    dync__inst in = *from;
    bool same = s->settled && s->settled[i];
    s->b.section = in.section;
    s->b.origin = in.origin;
    for (int a = 0; a < 3; a++) {
        if (in.arg[a] < 0) continue;
        same = same && s->same[in.arg[a]];
        in.arg[a] = s->number[in.arg[a]];
        if (s->local && (in.section & 1)) in.arg[a] = dync__simplify_local(&s->b, in.arg[a]);
    }
    if (same && in.arg[1] >= 0) same = !dync__inst_reordered(from, &in);
    int n = k->inst.n, v = same && !s->check ? dync__lb_again(k, &in, s->across)
                                             : dync__fold_add(&s->b, &in, s->across);
    s->number[i] = v;
    if (!s->settled || k->failed) return;
    s->same[i] = same || dync__simplify_alike(k, v, &in);
    DYNC__ASSERT(!same || dync__simplify_kept(k, v, &in));
    while (k->settled.n < k->inst.n && !k->failed)
        k->failed = !dync__avec_push(k->arena, &k->settled, true);
    if (v >= n && !same && !k->failed)
        k->settled.at[v] = dync__simplify_kept(k, v, &in) && !dync__fold_by_loops(&s->b, &in);
}

static void dync__simplify_rebuild(dync__kernel *k, bool across, bool local)
{
    int n = k->inst.n;
    size_t bytes = (size_t)DYNC__MAX(n, 1) * (sizeof(int32_t) + sizeof(bool));
    dync__simplify s;
    memset(&s, 0, sizeof s);
    s.number = dync__alloc(bytes);
    if (!s.number) {
        k->failed = true;
        return;
    }
    s.same = (bool *)(s.number + DYNC__MAX(n, 1));
    s.b.k = k;
    s.from = k->inst.at;
    s.settled = k->settled.n == n ? k->settled.at : NULL;
    s.across = across;
    s.local = local;
    s.check = dync__check_on();
    k->inst.at = NULL;
    k->settled.at = NULL;
    k->inst.n = k->inst.cap = k->settled.n = k->settled.cap = 0;
    memset(&k->share, 0, sizeof k->share);
    k->failed = !dync__avec_reserve(k->arena, &k->inst, n) ||
                !dync__avec_reserve(k->arena, &k->share.next, n) ||
                (s.settled && !dync__avec_reserve(k->arena, &k->settled, n));
    for (int i = 0; i < n && !k->failed; i++) dync__simplify_inst(&s, i);
    dync__free(s.number, bytes);
}

/* No value is dead. */
DYNC__FN void dync__kernel_simplify_again(dync__kernel *k)
{
    bool phases = k->inst.n > 0 && k->inst.at[k->inst.n - 1].section > 2;
    if (!k->failed) dync__simplify_rebuild(k, phases, false);
    if (!k->failed && phases) dync__simplify_rebuild(k, false, true);
    if (!k->failed) dync__simplify_dead(k);
}

DYNC__FN void dync__kernel_simplify(dync__kernel *k)
{
    if (k->failed) return;
    k->settled.n = 0;
    dync__simplify_dead(k);
    dync__kernel_simplify_again(k);
}

DYNC__BUSY DYNC__FN void dync__kernel_drop_bufs(dync__kernel *k)
{
    for (int i = 0; i < k->buf.n; i++) k->buf.at[i].mode = 0;
    for (int i = 0; i < k->bound.n; i++) k->buf.at[k->bound.at[i].buf].mode = DYNC__BUF_IN;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        int mode = dync__inst_has_value(in) ? DYNC__BUF_IN : DYNC__BUF_OUT;
        if (in->buf < 0) continue;
        k->buf.at[in->buf].mode = (uint8_t)(k->buf.at[in->buf].mode | mode);
    }
    for (int b = k->buf.n - 1; b >= 0; b--) {
        if (k->buf.at[b].mode) continue;
        for (int i = 0; i < k->inst.n; i++) k->inst.at[i].buf -= k->inst.at[i].buf > b;
        for (int i = 0; i < k->bound.n; i++) k->bound.at[i].buf -= k->bound.at[i].buf > b;
        size_t after = (size_t)(--k->buf.n - b);
        memmove(&k->buf.at[b], &k->buf.at[b + 1], after * sizeof *k->buf.at);
    }
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
        dync__size *stride = k->access.at[i].stride;
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
