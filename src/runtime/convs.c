/* runtime/convs.c: convolutions and pooling among the steps of a plan: what follows a convolution
 * element by element is done on its accumulators (a few operators, vectors of channels; all of it
 * or the beginning), and arrays between convolutions, pooling and loops lie in blocks of channels.
 * Before: plan.c has fused and scheduled; after: plan.c makes code. Nothing is changed where there
 * is no machine code for it.
 *
 * An array goes into blocks where every step that touches it can take it so, and no loop nest would
 * meet a whole array in the other form. Convolutions and pooling take either form on either side,
 * and change it on the way. A loop nest takes blocks by other strides: its loops are cut where the
 * layout is (rows of pixels, V channels, blocks, images), which keeps its meaning to the bit. */
#include "../dync.in.h"
#include "plan.h"
#include "../kernel/conv_jit.h"
#include "../loop/fuse.h"
DYNC__LEAN

/* touched: by how many steps; known: seen as [N, C, H, W] of `shape` by a convolution or pooling,
 * or as anything by another call; bad: it cannot lie in blocks. */
typedef struct dync__cv_slot {
    int64_t shape[4];
    int touched;
    bool known, bad;
} dync__cv_slot;
typedef struct dync__cv_step {
    dync__kcall *call; /* a convolution or pooling, as it shall be; else NULL */
    int32_t x, y;      /* slots */
    int after;         /* the loop nest that it takes over; -1 */
    /* a convolution takes over so many instructions; the others read their last value in the place
     * of its result */
    int head;
    bool taken; /* by a convolution */
    /* there is no code for it with `after` (1), with blocks (2) */
    int refused;
} dync__cv_step;
typedef struct dync__cv {
    dync__pb *pb;
    dync__fuse_step *step;
    int n, V; /* steps; channels of a block: lanes of a vector */
    dync__cv_step *at;
    dync__cv_slot *slot;
} dync__cv;

/* ---- loop nests over an array [N, C, H, W] --------------------------------------------------- */

/* Does the access walk the whole array, each element once? */
static bool dync__cv_walks(const dync__kernel *k, const dync__access *a, int64_t numel)
{
    int64_t next = 1;
    for (bool found = true; found && dync__sz_lt(next, numel);) {
        found = false;
        for (int d = 0; d < k->n_dims && !found; d++)
            if (k->extent[d] > 1 && dync__sz_eq(a->stride[d], next)) {
                next = dync__sz_mul(next, k->extent[d]);
                found = true;
            }
    }
    int64_t all = 1;
    for (int d = 0; d < k->n_dims; d++)
        all = dync__sz_mul(all,
                           k->extent[d] > 0 && (k->extent[d] == 1 || !dync__sz_eq(a->stride[d], 0))
                               ? k->extent[d]
                               : 0);
    return dync__sz_eq(next, numel) && dync__sz_eq(all, numel) && dync__sz_eq(a->offset, 0);
}

static int64_t dync__cv_numel(const int64_t *shape)
{
    return dync__sz_mul(dync__sz_mul(shape[0], shape[1]), dync__sz_mul(shape[2], shape[3]));
}

/* Where the layout is cut: rows of pixels, blocks of `lanes` channels, images. */
static void dync__cv_cuts(const int64_t *shape, int64_t lanes, int64_t *cut)
{
    cut[0] = dync__sz_mul(shape[2], shape[3]);
    cut[1] = dync__sz_mul(cut[0], lanes);
    cut[2] = dync__sz_mul(cut[0], shape[1]);
}

/* Can k's loops be cut at the three places? Not where a loop would be left uneven, or where there
 * would be too many loops. */
static bool dync__cv_can_cut(const dync__kernel *k, const dync__access *a, const int64_t *cut)
{
    int n = k->n_dims;
    for (int d = 0; d < k->n_dims; d++) {
        int64_t at = a->stride[d], end = dync__sz_mul(at, k->extent[d]);
        for (int i = 0; i < 3; i++) {
            if (!dync__sz_lt(at, cut[i]) || !dync__sz_lt(cut[i], end)) continue;
            if (!dync__sz_eq(dync__sz_mod(cut[i], at), 0) ||
                !dync__sz_eq(dync__sz_mod(end, cut[i]), 0) || ++n > DYNC__LOOP_MAX_DIMS)
                return false;
            at = cut[i];
        }
    }
    return true;
}

/* Loop d in two, the inner one of `inner` steps. */
static void dync__cv_split(dync__kernel *k, int d, int64_t inner)
{
    for (int e = k->n_dims; e > d; e--) k->extent[e] = k->extent[e - 1];
    k->extent[d] = dync__sz_div(k->extent[d], inner);
    k->extent[d + 1] = inner;
    for (int i = 0; i < k->access.n; i++) {
        int64_t *s = k->access.at[i].stride;
        for (int e = k->n_dims; e > d; e--) s[e] = s[e - 1];
        s[d] = dync__sz_mul(s[d], inner);
    }
    k->n_outer += d < k->n_outer;
    k->n_dims++;
}

/* Loops cut so that each stays within one part of the array that access `a` (a number) walks. */
static void dync__cv_cut(dync__kernel *k, int a, const int64_t *cut)
{
    for (int d = 0; d < k->n_dims; d++)
        for (int i = 2; i >= 0; i--) {
            int64_t at = k->access.at[a].stride[d];
            if (dync__sz_lt(at, cut[i]) && dync__sz_lt(cut[i], dync__sz_mul(at, k->extent[d])))
                dync__cv_split(k, d, dync__sz_div(cut[i], at));
        }
}

static const dync__buf *dync__cv_buf(const dync__kernel *k, const dync__inst *in)
{
    return in->buf >= 0 ? &k->buf.at[in->buf] : NULL;
}

/* How kernel k meets array `slot`: 0 not at all, 1 as a whole and can take blocks, -1 otherwise. */
static int dync__cv_meets(const dync__cv *v, const dync__kernel *k, int32_t slot, int64_t lanes)
{
    const int64_t *shape = v->slot[slot].shape;
    int64_t cut[3], numel = dync__cv_numel(shape);
    int result = 0;
    dync__cv_cuts(shape, lanes, cut);
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim == DYNC__P_reduce &&
            (in->imm.i == DYNC__R_ARGMAX || in->imm.i == DYNC__R_ARGMIN))
            return -1;
        const dync__buf *buf = dync__cv_buf(k, in);
        if (!buf || buf->id != slot) continue;
        const dync__access *a = &k->access.at[in->access];
        if ((in->prim != DYNC__P_load && in->prim != DYNC__P_store) || buf->dtype != DYNC_F32 ||
            !dync__cv_walks(k, a, numel) || !dync__cv_can_cut(k, a, cut))
            return -1;
        result = 1;
    }
    return result;
}

/* ---- what follows a convolution -------------------------------------------------------------- */

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
    if (!dync__fuse_traits_of(k).pointwise || k->uses_random || k->bound.n) return false;
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
static dync_status dync__cv_join(dync__cv *v, int i)
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
        dync__kcall *c = dync__arena_alloc(v->pb->arena, sizeof *c); /* with room for more */
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

/* ---- which arrays lie in blocks -------------------------------------------------------------- */

static void dync__cv_know(dync__cv *v, const dync__operand *o)
{
    dync__cv_slot *s = &v->slot[o->slot];
    int64_t numel = dync__operand_numel(o);
    bool fits = o->dtype == DYNC_F32 && o->lay.ndim == 4 && dync__sz_eq(o->lay.offset, 0) &&
                dync__layout_is_contiguous(&o->lay) && numel > 0 &&
                v->pb->slot.at[o->slot].kind == DYNC__SLOT_TEMP &&
                dync__sz_eq(v->pb->slot.at[o->slot].size, numel);
    if (fits && s->known) fits = dync__sz_same(4, s->shape, o->lay.shape);
    if (o->lay.ndim == 4 && !s->known) memcpy(s->shape, o->lay.shape, sizeof s->shape);
    s->known = true;
    s->bad |= !fits;
}

/* Channels of a block in a convolution with groups: a block stays within one. */
static bool dync__cv_side(const dync__cv *v, const dync__kcall *c, const dync__operand *o)
{
    int64_t channels = o->lay.shape[1];
    if (dync__kcall_is(c, DYNC__K_conv2d)) {
        int64_t groups = c->attr.conv.groups;
        const int64_t *w = c->operand[1].lay.shape;
        bool depthwise = w[1] == 1 && groups > 1 && dync__sz_eq(w[0], groups);
        if (!depthwise) channels = dync__sz_div(channels, groups);
        /* it would take narrower vectors */
        if (!dync__sz_lt(v->V / 2, dync__sz_div(w[0], depthwise ? 1 : groups))) return false;
    }
    return dync__sz_eq(dync__sz_mod(channels, v->V), 0);
}

static bool dync__cv_blocked(const dync__cv *v, int32_t slot)
{
    return v->slot[slot].known && !v->slot[slot].bad;
}

/* A nest takes all its blocked arrays in blocks, or none of them: then they are bad. Mixing would
 * make it jump through an array as large as them. True: something became bad. */
static bool dync__cv_settle_kernel(dync__cv *v, const dync__kernel *k)
{
    int32_t slots[64];
    const int64_t *shape = NULL;
    int n = 0;
    bool meets = true, changed = false;
    for (int i = 0; i < k->buf.n; i++)
        if (dync__cv_blocked(v, k->buf.at[i].id)) shape = v->slot[k->buf.at[i].id].shape;
    if (!shape) return false;
    int64_t numel = dync__cv_numel(shape);
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        const dync__buf *buf = dync__cv_buf(k, in);
        if (!buf) continue;
        int64_t walked = 1;
        for (int d = 0; d < k->n_dims; d++)
            if (!dync__sz_eq(k->access.at[in->access].stride[d], 0))
                walked = dync__sz_mul(walked, k->extent[d]);
        if (dync__cv_blocked(v, buf->id))
            meets = meets && dync__cv_meets(v, k, buf->id, v->V) == 1 &&
                    dync__sz_same(4, v->slot[buf->id].shape, shape);
        else if (!dync__sz_lt(walked, numel))
            meets = false;
    }
    for (int i = 0; i < k->buf.n && n < 64; i++)
        if (dync__cv_blocked(v, k->buf.at[i].id)) slots[n++] = k->buf.at[i].id;
    for (int i = 0; i < n && !meets; i++) v->slot[slots[i]].bad = changed = true;
    return changed;
}

/* Arrays that a loop nest cannot take in blocks are not put there, until none finds one. */
static void dync__cv_settle(dync__cv *v)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < v->n; i++)
            if (!v->at[i].taken && v->step[i].k) changed |= dync__cv_settle_kernel(v, v->step[i].k);
    }
}

static void dync__cv_hints(dync__kcall *c)
{
    for (int o = 0; o < c->n; o++) {
        dync__layout *lay = &c->operand[o].lay;
        lay->offset = dync__sz_hint(lay->offset);
        for (int d = 0; d < lay->ndim; d++) {
            lay->shape[d] = dync__sz_hint(lay->shape[d]);
            lay->stride[d] = dync__sz_hint(lay->stride[d]);
        }
    }
}

/* Is there machine code for the call as it now stands? Prepares a copy and drops it; leaves no
 * error. Of symbolic sizes those of the call at hand are asked for; plan_sized.c asks others. */
static bool dync__cv_possible(const dync__cv *v, const dync__kcall *call)
{
    dync__error_guard guard;
    dync__kcall c = *call;
    if (v->pb->sized) dync__cv_hints(&c);
    dync__error_guard_begin(&guard);
    bool ok = c.row->prepare(&c) == DYNC_OK && c.state;
    if (c.drop) c.drop(c.state);
    dync__error_guard_end(&guard);
    return ok;
}

/* Fills v->slot and v->at anew, only `refused` stays: counts who touches what; copies the calls
 * that can take blocks and notes their arrays; then lets convolutions take over what follows. */
static dync_status dync__cv_gather(dync__cv *v)
{
    memset(v->slot, 0, (size_t)v->pb->slot.n * sizeof *v->slot);
    for (int i = 0; i < v->n; i++) {
        const dync__fuse_step *s = &v->step[i];
        int refused = v->at[i].refused;
        v->at[i] = (dync__cv_step){.after = -1, .refused = refused};
        for (int b = 0; s->k && b < s->k->buf.n; b++) v->slot[s->k->buf.at[b].id].touched++;
        const dync__kcall *c = s->k ? NULL : s->call;
        for (int o = 0; c && o < c->n; o++) v->slot[c->operand[o].slot].touched++;
    }
    for (int i = 0; i < v->n; i++) {
        dync__kcall *c = v->step[i].k ? NULL : v->step[i].call;
        if (!c || !(dync__kcall_is(c, DYNC__K_conv2d) || dync__kcall_is(c, DYNC__K_max_pool2d) ||
                    dync__kcall_is(c, DYNC__K_avg_pool2d))) {
            for (int o = 0; c && o < c->n; o++)
                v->slot[c->operand[o].slot].known = v->slot[c->operand[o].slot].bad = true;
            continue;
        }
        const dync__kcall *from = c;
        if (!(c = v->at[i].call = dync__arena_alloc(v->pb->arena, sizeof *c)))
            return DYNC_ERR_MEMORY;
        dync__kcall_copy(c, from);
        if (dync__kcall_is(c, DYNC__K_max_pool2d) &&
            v->pb->slot.at[c->operand[2].slot].kind == DYNC__SLOT_TEMP &&
            v->slot[c->operand[2].slot].touched == 1)
            c->n = 2;
        int y = dync__kcall_is(c, DYNC__K_conv2d) ? c->n - 1 : 1;
        v->at[i].x = c->operand[0].slot;
        v->at[i].y = c->operand[y].slot;
        dync__cv_know(v, &c->operand[0]);
        dync__cv_know(v, &c->operand[y]);
        for (int o = 1; o < c->n; o++)
            if (o != y) v->slot[c->operand[o].slot].known = v->slot[c->operand[o].slot].bad = true;
        for (int side = 0; side < 2; side++) {
            const dync__operand *o = &c->operand[side ? y : 0];
            if (o->dtype != DYNC_F32 || o->lay.ndim != 4 || v->at[i].refused == 2 ||
                !dync__cv_side(v, c, o))
                v->slot[o->slot].bad = true;
        }
    }
    for (int i = 0; i < v->n; i++) {
        const dync__kcall *c = v->at[i].call;
        if (!c || !dync__kcall_is(c, DYNC__K_conv2d) || c->operand[c->n - 1].dtype != DYNC_F32 ||
            !dync__sz_eq(c->operand[c->n - 1].lay.offset, 0) ||
            !dync__layout_is_contiguous(&c->operand[c->n - 1].lay))
            continue;
        int32_t y = v->at[i].y;
        bool side = dync__cv_side(v, c, &c->operand[c->n - 1]);
        DYNC__TRY(dync__cv_join(v, i));
        if (v->at[i].y == y) continue;
        /* the result is now what the loop nest wrote */
        c = v->at[i].call;
        dync__cv_know(v, &c->operand[c->n - 1]);
        if (!side || v->at[i].refused == 2) v->slot[v->at[i].y].bad = true;
    }
    return DYNC_OK;
}

/* c->blocked: bit o for operand o in blocks. */
static void dync__cv_mark(dync__cv *v)
{
    for (int i = 0; i < v->n; i++) {
        dync__kcall *c = v->at[i].call;
        for (int o = 0; c && o < c->n; o++)
            if (dync__cv_blocked(v, c->operand[o].slot))
                c->blocked = (uint16_t)(c->blocked | 1u << o);
    }
}

/* The loop nest over blocks, by other strides: one from pixel to pixel times V, one from channel to
 * channel within a block divided by the pixels; those from block to block and image to image
 * stay. */
static void dync__cv_kernel_blocks(dync__cv *v, dync__kernel *k)
{
    bool any = false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__buf *buf = dync__cv_buf(k, &k->inst.at[i]);
        if (!buf || !dync__cv_blocked(v, buf->id)) continue;
        const int64_t *shape = v->slot[buf->id].shape;
        int64_t cut[3];
        dync__cv_cuts(shape, v->V, cut);
        dync__cv_cut(k, k->inst.at[i].access, cut);
        dync__access a = k->access.at[k->inst.at[i].access];
        for (int d = 0; d < k->n_dims; d++)
            if (dync__sz_lt(a.stride[d], cut[0]))
                a.stride[d] = dync__sz_mul(a.stride[d], v->V);
            else if (dync__sz_lt(a.stride[d], cut[1]))
                a.stride[d] = dync__sz_div(a.stride[d], cut[0]);
        a.offset = 0;
        int access = dync__kernel_access_of(k, &a);
        if (access < 0) return; /* k->failed */
        k->inst.at[i].access = access;
        any = true;
    }
    if (any) dync__kernel_schedule(k);
}

/* Kernel k without its first instructions: the convolution does them. */
static void dync__cv_rest(dync__kernel *k, const dync__kcall *c, int head)
{
    for (int i = 0; i < head; i++)
        if (k->inst.at[i].prim == DYNC__P_load &&
            dync__cv_buf(k, &k->inst.at[i])->id == c->operand[c->n - 1].slot) {
            k->inst.at[head - 1] = k->inst.at[i];
            break;
        }
    dync__kernel_simplify(k);
    dync__kernel_schedule(k);
}

/* Rewrites v->step: calls replaced, nests that were taken over gone or shortened, others over
 * blocks. *n: how many steps are left. */
static dync_status dync__cv_commit(dync__cv *v, int *n)
{
    int kept = 0;
    /* a convolution moves to where the nest stood that it has taken over */
    for (int i = 0; i < v->n; i++)
        if (v->at[i].call && v->at[i].after >= 0) v->at[v->at[i].after].call = v->at[i].call;
    for (int i = 0; i < v->n; i++) {
        dync__fuse_step s = v->step[i];
        if (v->at[i].call && !v->at[i].taken && v->at[i].after >= 0) continue;
        if (v->at[i].call) v->step[kept++] = (dync__fuse_step){.call = v->at[i].call};
        if (v->at[i].call && !v->at[i].head) continue;
        if (v->at[i].head) dync__cv_rest(s.k, v->at[i].call, v->at[i].head);
        if (s.k) {
            dync__cv_kernel_blocks(v, s.k);
            if (s.k->failed) return dync__fail_memory(0);
        }
        v->step[kept++] = s;
    }
    *n = kept;
    return DYNC_OK;
}

DYNC__FN dync_status dync__steps_convs(dync__steps *s)
{
    dync__pb *pb = s->pb;
    dync__fuse_step *step = s->at;
    int *n = &s->n;
    dync__cv v = {.pb = pb, .step = step, .n = *n, .V = dync__cj_lanes()};
    bool any = false, again = true;
    dync__epilogue_sink(step, *n);
    for (int i = 0; i < *n; i++)
        any = any || (!step[i].k && (dync__kcall_is(step[i].call, DYNC__K_conv2d) ||
                                     dync__kcall_is(step[i].call, DYNC__K_max_pool2d)));
    if (!any || !v.V || *n < 2) return DYNC_OK;
    v.at = dync__arena_alloc(pb->arena, (size_t)*n * sizeof *v.at);
    v.slot = dync__arena_alloc(pb->arena, (size_t)(pb->slot.n + 1) * sizeof *v.slot);
    if (!v.at || !v.slot) return DYNC_ERR_MEMORY;
    memset(v.at, 0, (size_t)*n * sizeof *v.at);
    /* each time around a step is refused something, so this ends */
    while (again) {
        again = false;
        DYNC__TRY(dync__cv_gather(&v));
        dync__cv_settle(&v);
        dync__cv_mark(&v);
        for (int i = 0; i < v.n && !again; i++) {
            const dync__kcall *c = v.at[i].call;
            if (!c || (!c->blocked && !c->after) || dync__cv_possible(&v, c)) continue;
            v.at[i].refused = c->after ? 1 : 2;
            s->differs = true;
            dync__log(DYNC__LOG_code, "%s: no tiles with %s", c->row->name,
                      c->after ? "what follows it: that stays a loop" : "blocks: it keeps planes");
            again = true;
        }
    }
    return dync__cv_commit(&v, n);
}
