/* runtime/epilogue.c: loops that follow a matrix product or a convolution become its epilogue: the
 * kernel call runs them on rows of the result as they are done, while they are in the cache, and
 * where the loops only make another of the same size of the result, in its memory. Before: plan.c
 * has fused and scheduled, convs.c has cut off what accumulators take; after: kernel/matmul.c and
 * conv.c run them.
 *
 * Which: the nearest kernel that reads the result in the order it is written, row by row, and could
 * as well run right after the call: nothing in between touches what it writes or writes what it
 * reads, and it writes no input of the plan and nothing that the call reads. Prologues are the
 * mirror of it, on other devices: a kernel whose one result only a call reads, and that might run
 * just before that. What is scattered into is no copy where it can be the result's own memory. */
#include "../dync.in.h"
#include "plan.h"
#include "../kernel/operand.h"
DYNC__COLD

/* The result as the kernel reads it: its elements in order of the loops. */
static bool dync__epilogue_in_order(const dync__kernel *k, const dync__access *a,
                                    const dync__operand *c)
{
    int64_t next = 1;
    for (int d = k->n_dims - 1; d >= 0; d--) {
        if (k->extent[d] == 1) continue;
        if (!dync__sz_eq(a->stride[d], next)) return false;
        next = dync__sz_mul(next, k->extent[d]);
    }
    return dync__sz_eq(a->offset, c->lay.offset) && dync__sz_eq(next, dync__operand_numel(c));
}

static bool dync__epilogue_reads(const dync__kernel *k, const dync__operand *c)
{
    bool any = false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim == DYNC__P_loadx || in->prim == DYNC__P_storex || in->prim == DYNC__P_random)
            return false;
        if (in->buf < 0 || k->buf.at[in->buf].id != c->slot) continue;
        if (in->prim != DYNC__P_load || !dync__epilogue_in_order(k, &k->access.at[in->access], c))
            return false;
        any = true;
    }
    return any && !k->uses_random;
}

static int dync__epilogue_mode(const dync__kernel *k, int32_t slot)
{
    int mode = 0;
    for (int i = 0; i < k->buf.n; i++)
        if (k->buf.at[i].id == slot) mode |= k->buf.at[i].mode;
    return mode;
}

DYNC__FN int dync__step_mode(const dync__fuse_step *s, int32_t slot)
{
    const dync__kcall *c = s->k ? NULL : s->call;
    int mode = s->k ? dync__epilogue_mode(s->k, slot) : 0;
    for (int i = 0; c && i < c->n; i++)
        if (c->operand[i].slot == slot)
            mode |= c->operand[i].written ? DYNC__BUF_OUT : DYNC__BUF_IN;
    /* a prologue's too */
    for (int i = 0; i < s->n_reads; i++) mode |= s->reads[i] == slot ? DYNC__BUF_IN : 0;
    return mode;
}

/* May k go before this step? */
static bool dync__epilogue_passes(const dync__kernel *k, const dync__fuse_step *s)
{
    for (int i = 0; i < k->buf.n; i++) {
        int mode = dync__step_mode(s, k->buf.at[i].id);
        if (mode && ((mode | dync__epilogue_mode(k, k->buf.at[i].id)) & DYNC__BUF_OUT))
            return false;
    }
    return true;
}

/* Calls go to just before the loops that first read their result, where nothing in between
 * minds. */
DYNC__FN void dync__epilogue_sink(dync__fuse_step *step, int n)
{
    for (int at = n - 3; at >= 0; at--) {
        dync__fuse_step s = step[at];
        const dync__kcall *c = s.k ? NULL : s.call;
        if (!c || dync__kcall_rows(c) <= 0) continue;
        int to = at + 1;
        for (bool passes = true; to < n && !dync__step_mode(&step[to], c->operand[c->n - 1].slot);
             to++) {
            for (int i = 0; i < c->n && passes; i++)
                passes = !((dync__step_mode(&step[to], c->operand[i].slot)) & DYNC__BUF_OUT);
            if (!passes) to = n;
        }
        if (to >= n || !step[to].k) continue;
        memmove(&step[at], &step[at + 1], (size_t)(to - 1 - at) * sizeof s);
        step[to - 1] = s;
    }
}

static bool dync__epilogue_writes_apart(const dync__pb *pb, const dync__kernel *k,
                                        const dync__fuse_step *call)
{
    for (int i = 0; i < k->buf.n; i++)
        if ((k->buf.at[i].mode & DYNC__BUF_OUT) &&
            (pb->slot.at[k->buf.at[i].id].kind == DYNC__SLOT_INPUT ||
             dync__step_mode(call, k->buf.at[i].id)))
            return false;
    return true;
}

DYNC__FN dync_status dync__prologue_take(const dync__pb *pb, const dync__driver *driver,
                                         dync__fuse_step *step, int n, int at,
                                         const dync__kernel *(*with)[3])
{
    const dync__kernel *k = step[at].k;
    int slot = -1, outs = 0, to = -1;
    for (int i = 0; i < k->buf.n; i++)
        if (k->buf.at[i].mode & DYNC__BUF_OUT) slot = k->buf.at[i].id, outs += k->buf.at[i].mode;
    if (outs != DYNC__BUF_OUT || pb->slot.at[slot].kind != DYNC__SLOT_TEMP) return DYNC_OK;
    for (int i = 0; i < n; i++) {
        if (i == at || !dync__step_mode(&step[i], slot)) continue;
        if (to >= 0 || i < at || !step[i].call) return DYNC_OK;
        to = i;
    }
    bool ok = to >= 0;
    for (int b = at + 1; b < to; b++) ok &= dync__epilogue_passes(k, &step[b]);
    for (int i = 0; ok && i < step[to].n_writes; i++)
        ok = !dync__epilogue_mode(k, step[to].writes[i]);
    int place = ok ? driver->call_takes(pb->device, step[to].call, k) : -1,
        reads = ok ? step[to].n_reads : 0;
    if (place <= 0) return DYNC_OK;
    int32_t *all = dync__arena_alloc(pb->arena, (size_t)(reads + k->buf.n) * sizeof *all);
    if (!all) return DYNC_ERR_MEMORY;
    for (int i = 0; i < reads + k->buf.n; i++)
        all[i] = i < reads ? step[to].reads[i] : k->buf.at[i - reads].id;
    step[to].reads = all;
    step[to].n_reads += k->buf.n;
    with[to][place] = k;
    memset(&step[at], 0, sizeof step[at]);
    return DYNC_OK;
}

DYNC__FN int dync__epilogue_find(const dync__pb *pb, const dync__fuse_step *step, int n, int at)
{
    const dync__kcall *c = step[at].call;
    const dync__operand *out = &c->operand[c->n - 1];
    if (!dync__layout_is_contiguous(&out->lay)) return -1;
    for (int j = at + 1; j < n && j <= at + DYNC__EPILOGUE_NEAR; j++) {
        const dync__kernel *k = step[j].k;
        bool ok = k && dync__kernel_writes(k) && dync__epilogue_reads(k, out) &&
                  dync__epilogue_writes_apart(pb, k, &step[at]);
        for (int b = at + 1; ok && b < j; b++) ok = dync__epilogue_passes(k, &step[b]);
        if (ok) return j;
    }
    return -1;
}

/* ---- who touches what ------------------------------------------------------------------------ */
/* Place i of what the step touches; -1: there are no more. */
static int32_t dync__step_slot(const dync__fuse_step *s, int i)
{
    const dync__kcall *c = s->k ? NULL : s->call;
    int own = s->k ? s->k->buf.n : c ? c->n : 0;
    if (i >= own) return i < own + s->n_reads ? s->reads[i - own] : -1;
    return c ? c->operand[i].slot : s->k->buf.at[i].id;
}

DYNC__FN void dync__step_uses_add(dync__step_uses *u, int32_t slot, int step)
{
    if (!u->first) return;
    u->use[u->n] = (dync__step_use){step, u->first[slot]};
    u->first[slot] = u->n++;
}

DYNC__FN dync__step_uses dync__step_uses_of(const dync__pb *pb, const dync__fuse_step *step, int n)
{
    dync__step_uses u = {NULL, NULL, 0};
    size_t all = (size_t)n + 1;
    for (int i = 0; i < n; i++)
        for (int k = 0; dync__step_slot(&step[i], k) >= 0; k++) all++;
    u.use = dync__arena_alloc(pb->arena, all * sizeof *u.use);
    u.first = dync__arena_alloc(pb->arena, (size_t)(pb->slot.n + 1) * sizeof *u.first);
    if (!u.use || !u.first) return (dync__step_uses){NULL, NULL, 0};
    for (int i = 0; i <= pb->slot.n; i++) u.first[i] = -1;
    for (int i = 0; i < n; i++)
        for (int k = 0; dync__step_slot(&step[i], k) >= 0; k++)
            dync__step_uses_add(&u, dync__step_slot(&step[i], k), i);
    return u;
}

/* Does a step but these two touch it? By looking at all of them, and by what is known. */
static bool dync__step_uses_plain(const dync__fuse_step *step, int n, int at, int with,
                                  int32_t slot)
{
    bool any = false;
    for (int i = 0; i < n && !any; i++)
        any = i != at && i != with && dync__step_mode(&step[i], slot);
    return any;
}
static bool dync__step_uses_find(const dync__step_uses *uses, const dync__fuse_step *step, int at,
                                 int with, int32_t slot)
{
    bool any = false;
    for (int u = uses->first[slot]; u >= 0 && !any; u = uses->use[u].next) {
        int i = uses->use[u].step;
        any = i != at && i != with && dync__step_mode(&step[i], slot);
    }
    return any;
}

/* Does a step but these two read or write the call's result? */
DYNC__FN bool dync__epilogue_wanted(const dync__pb *pb, const dync__step_uses *uses,
                                    const dync__fuse_step *step, int n, int at, int with)
{
    const dync__kcall *c = step[at].call;
    int32_t slot = c->operand[c->n - 1].slot;
    if (pb->slot.at[slot].kind != DYNC__SLOT_TEMP) return true;
    if (!uses->first) return dync__step_uses_plain(step, n, at, with, slot);
    bool any = dync__step_uses_find(uses, step, at, with, slot);
    bool same = !dync__check_on() || any == dync__step_uses_plain(step, n, at, with, slot);
    DYNC__ASSERT(same); /* the list has every step that touches the slot */
    (void)same;
    return any;
}

/* The slot that can hold the result in place of its own: k stores once, to an equal place of this
 * slot, and nobody else wants the result. */
DYNC__FN int dync__epilogue_in_place(const dync__pb *pb, const dync__step_uses *uses,
                                     const dync__fuse_step *step, int n, int at, int with)
{
    const dync__kcall *c = step[at].call;
    const dync__operand *out = &c->operand[c->n - 1];
    const dync__kernel *k = step[with].k;
    int slot = -1, stores = 0;
    if (!dync__sz_eq(out->lay.offset, 0) || dync__epilogue_wanted(pb, uses, step, n, at, with))
        return -1;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim != DYNC__P_store) continue;
        const dync__buf *b = &k->buf.at[in->buf];
        stores++;
        if (b->mode == DYNC__BUF_OUT && b->dtype == out->dtype &&
            dync__epilogue_in_order(k, &k->access.at[in->access], out) &&
            dync__sz_eq(pb->slot.at[b->id].size, pb->slot.at[out->slot].size))
            slot = b->id;
    }
    return stores == 1 ? slot : -1;
}

/* ---- in place -------------------------------------------------------------------------------- */

static int dync__in_place_mode(const dync__fuse_step *step, int from, int to, int32_t slot)
{
    int mode = 0;
    for (; from < to; from++) mode |= dync__step_mode(&step[from], slot);
    return mode;
}

static void dync__in_place_rename(dync__fuse_step *step, int n, int32_t was, int32_t is)
{
    for (; n-- > 0; step++) {
        dync__kcall *c = step->k ? NULL : step->call;
        for (int i = 0; step->k && i < step->k->buf.n; i++)
            if (step->k->buf.at[i].id == was) step->k->buf.at[i].id = is;
        for (int i = 0; c && i < c->n; i++)
            if (c->operand[i].slot == was) c->operand[i].slot = is;
    }
}

/* The base of a scatter is made where the result will be if nobody else wants it later; the result
 * of one whose base is an input goes there at once if all of it is copied there. */
static dync_status dync__in_place_all(dync__steps *s)
{
    const dync__pb *pb = s->pb;
    dync__fuse_step *step = s->at;
    int n = s->n;
    for (int at = 0; at < n; at++) {
        const dync__kcall *c = step[at].k ? NULL : step[at].call;
        if (!c || (!dync__kcall_is(c, DYNC__K_scatter) && !dync__kcall_is(c, DYNC__K_scatter_add) &&
                   !dync__kcall_is(c, DYNC__K_index_add)))
            continue;
        const dync__operand *op = c->operand;
        const dync__slot *from = &pb->slot.at[op[0].slot], *to = &pb->slot.at[op[3].slot];
        int32_t base = op[0].slot, out = op[3].slot, copy = at + 1;
        if (base == op[1].slot || base == op[2].slot || base == out ||
            !dync__sz_eq(op[0].lay.offset, 0) || !dync__sz_eq(op[3].lay.offset, 0) ||
            !dync__layout_is_contiguous(&op[0].lay) || !dync__layout_is_contiguous(&op[3].lay) ||
            !dync__sz_eq(to->size, dync__operand_numel(&op[3])) ||
            dync__in_place_mode(step, 0, at, out))
            continue;
        if (from->kind == DYNC__SLOT_TEMP && dync__sz_eq(from->size, to->size) &&
            !dync__in_place_mode(step, at + 1, n, base))
            dync__in_place_rename(step, at + 1, base, out);
        while (copy < n && !dync__step_mode(&step[copy], base)) copy++;
        const dync__kernel *k =
            copy < n && from->kind == DYNC__SLOT_INPUT && to->kind == DYNC__SLOT_TEMP ? step[copy].k
                                                                                      : NULL;
        const dync__inst *last = k && k->inst.n == 2 && k->buf.n == 2 ? &k->inst.at[1] : NULL;
        if (!last || last->prim != DYNC__P_store || k->buf.at[last->buf].id != base ||
            k->buf.at[last->buf].dtype != op[3].dtype || !dync__epilogue_reads(k, &op[3]) ||
            !dync__epilogue_in_order(k, &k->access.at[last->access], &op[0]) ||
            dync__in_place_mode(step, copy + 1, n, base))
            continue;
        memset(&step[copy], 0, sizeof step[copy]);
        dync__in_place_rename(step + at, n - at, out, base);
    }
    return DYNC_OK;
}

/* By need: who builds a scatter puts it there. */
static dync_status (*DYNC__BY_NEED dync__in_place_used)(dync__steps *) =
    DYNC__AT_FIRST(dync__in_place_all);
DYNC__FN void dync__plan_scatters(void) { DYNC__PUT(dync__in_place_used, dync__in_place_all); }
DYNC__FN dync_status dync__steps_in_place(dync__steps *s)
{
    return dync__in_place_used ? dync__in_place_used(s) : DYNC_OK;
}
