/* runtime/convs_follow.c: what follows a convolution element by element becomes a list that its
 * tiles do on their accumulators: a few operators, vectors of channels; all of a loop nest or its
 * beginning. After follow.c, which makes lists, before convs.c. */
#include "../dync.in.h"
#include "convs.h"
DYNC__LEAN

/* A load of kernel k, whose loops are cut, as the tiles know it: step from channel to channel, or
 * -1: full. */
static bool dync__cv_source(const dync__kernel *k, const dync__access *a, const dync__access *whole,
                            const int64_t *cut, int64_t *step)
{
    bool full = dync__sz_eq(a->offset, 0);
    int64_t s = -1;
    for (int d = 0; d < k->n_dims; d++)
        full = full && (k->extent[d] == 1 || dync__sz_eq(a->stride[d], whole->stride[d]));
    for (int d = 0; d < k->n_dims && !full; d++) {
        int64_t at = whole->stride[d];
        if (k->extent[d] == 1) continue;
        if (dync__sz_lt(at, cut[0]) || !dync__sz_lt(at, cut[2])) {
            if (!dync__sz_eq(a->stride[d], 0)) return false;
            continue;
        }
        int64_t channels = dync__sz_div(at, cut[0]);
        if (dync__sz_lt(a->stride[d], 0) || !dync__sz_eq(dync__sz_mod(a->stride[d], channels), 0))
            return false;
        int64_t own = dync__sz_div(a->stride[d], channels);
        if (s >= 0 && !dync__sz_eq(own, s)) return false;
        s = own;
    }
    *step = full ? -1 : DYNC__MAX(s, 0);
    return true;
}

/* What reads vectors of channels at the beginning of k: so many instructions, of whose values the
 * rest needs the last one alone, and not buffer y; 0: there is no such. */
static int dync__cv_head(const dync__kernel *k, int y, int whole, const int64_t *cut)
{
    int last = 0;
    int64_t step;
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_load &&
            dync__cv_source(k, &k->access.at[k->inst.at[i].access], &k->access.at[whole], cut,
                            &step) &&
            step >= 0)
            last = i + 1;
    for (int n = last + 1; last && n < k->inst.n; n++) {
        bool alone = true;
        for (int i = n; i < k->inst.n; i++)
            for (int e = 0; e < 3; e++) {
                int arg = k->inst.at[i].arg[e];
                alone = alone && k->inst.at[i].buf != y &&
                        (arg < 0 || arg >= n - 1 || k->inst.at[arg].prim == DYNC__P_const_);
            }
        if (alone) return n;
    }
    return 0;
}

/* A loop nest on its way to be what follows a convolution. */
typedef struct dync__cv_follow {
    const dync__kernel *k;
    int32_t y;
    int whole; /* access to all of y */
    const int64_t *cut;
    dync__kcall *c;
    dync__cj_after *after;
} dync__cv_follow;

/* Vectors of channels become operands of the call. */
static int dync__cv_load(void *user, const dync__inst *in, bool *same)
{
    dync__cv_follow *w = user;
    const dync__kernel *k = w->k;
    const dync__buf *buf = dync__cv_buf(k, in);
    const dync__access *a = &k->access.at[in->access];
    dync__after *list = &w->after->list;
    int64_t step;
    *same = false;
    if (buf->id == w->y) return in->access == w->whole ? DYNC__FOLLOW_SUM : -1;
    if (buf->dtype != DYNC_F32 || list->n_sources == DYNC__AFTER_SOURCES ||
        w->c->n + 1 >= DYNC__KCALL_OPERANDS ||
        !dync__cv_source(k, a, &k->access.at[w->whole], w->cut, &step) || step < 0)
        return -1;
    dync__operand *o = &w->c->operand[w->c->n++];
    memset(o, 0, sizeof *o);
    o->lay.offset = a->offset;
    o->slot = buf->id;
    o->dtype = DYNC_F32;
    w->after->step[list->n_sources] = step;
    return list->n_sources++;
}

/* The whole result, stored in its order: the slot; -1: something else. */
static int32_t dync__cv_stores(const dync__cv_follow *w, const dync__inst *store)
{
    const dync__kernel *k = w->k;
    const dync__buf *buf = dync__cv_buf(k, store);
    int64_t step;
    bool whole =
        buf->dtype == DYNC_F32 && buf->mode == DYNC__BUF_OUT &&
        dync__cv_source(k, &k->access.at[store->access], &k->access.at[w->whole], w->cut, &step) &&
        step < 0;
    return whole ? buf->id : -1;
}

/* Kernel k, which reads the result y of a convolution: as `after`, its operands at the end of c's,
 * its result c's. head: the beginning of it. */
static bool dync__cv_after(const dync__cv *v, dync__kernel *k, int32_t y, dync__kcall *c,
                           dync__cj_after *after, int *head)
{
    dync__after *list = &after->list;
    int64_t cut[3];
    int from = -1, whole = -1, n = k->inst.n;
    int32_t stored;
    const dync__inst *store;
    dync__operand out = c->operand[c->n - 1];
    memset(after, 0, sizeof *after);
    if (!dync__fuse_is_pointwise(k) || k->uses_random || k->bound.n) return false;
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_load && dync__cv_buf(k, &k->inst.at[i])->id == y)
            whole = k->inst.at[from = i].access;
    dync__cv_cuts(v->slot[y].shape, v->slot[y].shape[1], cut);
    if (whole < 0 || dync__cv_meets(v, k, y, v->slot[y].shape[1]) != 1) return false;
    dync__cv_cut(k, whole, cut);
    if (head) n = *head = dync__cv_head(k, k->inst.at[from].buf, whole, cut);
    list->op[list->n++] =
        (dync__after_op){.prim = DYNC__P_load, .type = DYNC_F32, .arg = {-1, -1, -1}};
    dync__cv_follow w = {k, y, whole, cut, c, after};
    c->n--;
    if (!dync__follow_build(list, k, n, DYNC__AFTER_OPS, dync__cv_load, &w, &store)) return false;
    stored = head ? (store ? -1 : y) : store ? dync__cv_stores(&w, store) : -1;
    out.slot = stored;
    c->operand[c->n++] = out;
    for (int i = 0; i < c->n - 1; i++)
        if (c->operand[i].slot == stored) return false; /* in place */
    return stored >= 0;
}

/* Step i, a convolution, and the only reader of its result. What it reads must still be there where
 * that stands. */
DYNC__FN dync_status dync__cv_join(dync__cv *v, int i)
{
    dync__cv_step *s = &v->at[i];
    const dync__slot *slot = &v->pb->slot.at[s->y];
    int reader = -1, head = 0;
    if (s->refused || slot->kind != DYNC__SLOT_TEMP || v->slot[s->y].touched != 2) return DYNC_OK;
    for (int j = i + 1; j < v->n && reader < 0; j++) {
        for (int b = 0; v->step[j].k && b < v->step[j].k->buf.n; b++)
            if (v->step[j].k->buf.at[b].id == s->y) reader = j;
        for (int o = 0; reader < 0 && o < s->call->n; o++)
            if (dync__step_mode(&v->step[j], s->call->operand[o].slot) & DYNC__BUF_OUT)
                return DYNC_OK;
    }
    if (reader < 0 || v->at[reader].taken || v->at[reader].head) return DYNC_OK;
    for (int part = 0; part < 2 && s->after < 0; part++) {
        dync__cj_after *after = dync__arena_alloc(v->pb->arena, sizeof *after);
        dync__kcall *c =
            dync__arena_alloc(v->pb->arena, sizeof(dync__kcall_full)); /* with room for more */
        if (!after || !c) return DYNC_ERR_MEMORY;
        dync__kcall_copy(c, s->call);
        if (dync__cv_after(v, v->step[reader].k, s->y, c, after, part ? &head : NULL)) {
            c->after = after;
            s->call = c;
            s->after = reader;
            v->at[reader].taken = !part;
            v->at[reader].head = head;
            s->y = c->operand[c->n - 1].slot;
        }
        dync__kernel_schedule(v->step[reader].k);
    }
    return DYNC_OK;
}
