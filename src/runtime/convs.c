/* runtime/convs.c: convolutions and pooling among the steps of a plan: what follows a convolution
 * is done on its accumulators (convs_follow.c), and arrays between convolutions, pooling and loops
 * lie in blocks of channels. Before: plan.c has fused and scheduled; after: plan.c makes code.
 * Nothing is changed where there is no machine code for it.
 *
 * An array goes into blocks where every step that touches it can take it so, and no loop nest would
 * meet a whole array in the other form. Convolutions and pooling take either form on either side,
 * and change it on the way. A loop nest takes blocks by other strides: its loops are cut where the
 * layout is (rows of pixels, V channels, blocks, images), which keeps its meaning to the bit. */
#include "../dync.in.h"
#include "convs.h"
DYNC__LEAN

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
    dync__kcall_full room;
    dync__kcall *c = &room.call;
    dync__kcall_copy(c, call);
    if (v->pb->sized) dync__cv_hints(c);
    dync__error_guard_begin(&guard);
    bool ok = c->row->prepare(c) == DYNC_OK && c->state;
    if (c->drop) c->drop(c->state);
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
        if (!(c = v->at[i].call = dync__arena_alloc(v->pb->arena, sizeof(dync__kcall_full))))
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

static bool dync__cv_waits(const dync__cv *v, const dync__kcall *c)
{
    bool waits = false;
    for (int o = 0; o < c->n; o++) waits = waits || v->slot[c->operand[o].slot].refused;
    return waits;
}

/* Calls without machine code as they now stand are refused what they were given. Whether a call
 * without an array of theirs has code is the same afterwards, so that it is asked at once: each
 * time around costs as much as the first. True: some were refused. */
static bool dync__cv_refuse(dync__cv *v)
{
    bool any = false;
    for (int i = 0; i < v->n; i++) {
        const dync__kcall *c = v->at[i].call;
        if (!c || (!c->blocked && !c->after) || dync__cv_waits(v, c) || dync__cv_possible(v, c))
            continue;
        v->at[i].refused = c->after ? 1 : 2;
        for (int o = 0; o < c->n; o++) v->slot[c->operand[o].slot].refused = true;
        dync__log(DYNC__LOG_code, "%s: no tiles with %s", c->row->name,
                  c->after ? "what follows it: that stays a loop" : "blocks: it keeps planes");
        any = true;
    }
    return any;
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
        DYNC__TRY(dync__cv_gather(&v));
        dync__cv_settle(&v);
        dync__cv_mark(&v);
        again = dync__cv_refuse(&v);
        s->differs = s->differs || again;
    }
    return dync__cv_commit(&v, n);
}
