/* runtime/kept.c: what no argument reaches is computed once. A kernel that reads nothing but what
 * such kernels make (a table of sines, a window, a mask) and draws no random numbers gives the same
 * in every run: it runs when the plan is made, and what others read of it is the plan's own.
 * Before pass.c and plan.c, which ask; fusion (loop/fuse.c) leaves such kernels apart where they
 * are dear. */
#include "../dync.in.h"
#include "plan.h"
DYNC__LEAN

#if !DYNC__KEPT_NONE
/* By slot: the last step that writes it and the first that reads it. */
typedef struct dync__kept_use {
    int32_t write, read;
} dync__kept_use;

static void dync__kept_uses(const dync__fuse_step *step, int n, dync__kept_use *use)
{
    for (int i = n - 1; i >= 0; i--) {
        const dync__kernel *k = step[i].k;
        const dync__kcall *c = k ? NULL : step[i].call;
        for (int b = 0, most = k ? k->buf.n : c ? c->n : 0; b < most; b++) {
            dync__kept_use *u = &use[k ? k->buf.at[b].id : c->operand[b].slot];
            bool out = k ? k->buf.at[b].mode & DYNC__BUF_OUT : c->operand[b].written,
                 in = k ? k->buf.at[b].mode & DYNC__BUF_IN : !c->operand[b].written;
            if (out && u->write < 0) u->write = i;
            if (in) u->read = i;
        }
    }
}

/* Does it make the same in every run, as far as is known of what it reads and writes? One that
 * looks at indices first runs every time, and so does what reads its results (as
 * dync__kept_step). */
static bool dync__kept_kernel(const dync__kernel *k, const bool *once)
{
    bool same = k && !k->uses_random && !k->bound.n;
    for (int i = 0; same && i < k->buf.n; i++)
        same = once[k->buf.at[i].id] && k->buf.at[i].mode != (DYNC__BUF_IN | DYNC__BUF_OUT);
    return same;
}

/* What other steps write is not the same; true: something was thought to be. */
static bool dync__kept_refuse(const dync__fuse_step *s, bool *once)
{
    const dync__kernel *k = s->k;
    const dync__kcall *c = k ? NULL : s->call;
    bool changed = false;
    for (int b = 0, most = k ? k->buf.n : c ? c->n : 0; b < most; b++) {
        bool out = k ? k->buf.at[b].mode & DYNC__BUF_OUT : c->operand[b].written,
             *was = &once[k ? k->buf.at[b].id : c->operand[b].slot];
        changed |= out && *was;
        *was = *was && !out;
    }
    return changed;
}

DYNC__FN const bool *dync__kept_slots(const dync__pb *pb, const dync__fuse_step *step, int n)
{
    if (pb->sized || !dync__device_is(pb->device, DYNC__DEV_HOST) ||
        !dync__pass_on(DYNC__PASS_kept))
        return NULL;
    size_t slots = (size_t)pb->slot.n;
    bool *once = dync__arena_alloc(pb->arena, slots + 1), any = false;
    dync__kept_use *use = once ? dync__arena_alloc(pb->arena, (slots + 1) * sizeof *use) : NULL;
    if (!use) return NULL;
    for (size_t i = 0; i < slots; i++) use[i] = (dync__kept_use){-1, n};
    dync__kept_uses(step, n, use);
    for (size_t i = 0; i < slots; i++)
        once[i] = pb->slot.at[i].kind == DYNC__SLOT_KEPT ||
                  (pb->slot.at[i].kind == DYNC__SLOT_TEMP && use[i].write >= 0 &&
                   use[i].write < use[i].read);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < n; i++)
            if (!dync__kept_kernel(step[i].k, once)) changed |= dync__kept_refuse(&step[i], once);
    }
    for (size_t i = 0; i < slots; i++) any |= once[i];
    return any ? once : NULL;
}

/* Which steps run once: loops over such slots alone. */
static bool dync__kept_step(const dync__plan_step *s, const bool *once)
{
    bool kept = s->code && !s->call && !s->draws && !s->n_bounds && s->n > 0;
    for (int k = 0; k < s->n; k++) kept = kept && once[s->slot[k]];
    return kept;
}

/* The bytes of slot i, whole cache lines. */
static int64_t dync__kept_bytes(const dync__plan *p, int i)
{
    const dync__slot *s = &p->slot[i];
    return (s->size * dync__dtype_info(s->dtype)->bytes + 63) / 64 * 64;
}

DYNC__FN void dync__kept_find(dync__plan *p, const bool *once)
{
    int64_t bytes = 0;
    int n = 0;
    for (int i = 0; i < p->n_slots; i++) {
        if (!p->slot[i].table) continue;
        p->slot[i].arena_offset = -1;
        p->kept_bytes++;
    }
    if (!once) return;
    for (int i = 0; i < p->n_slots; i++)
        if (once[i]) bytes += dync__kept_bytes(p, i);
    if (bytes > DYNC__KEPT_MOST) return;
    for (int i = 0; i < p->n_steps; i++) {
        dync__plan_step *s = &p->step[i];
        s->kept = dync__kept_step(s, once);
        for (int k = 0; s->kept && k < s->n; k++) p->slot[s->slot[k]].kind = DYNC__SLOT_KEPT;
        p->kept_bytes += s->kept; /* more than none, until they have places */
        n += s->kept;
    }
    if (n) dync__pass_log(DYNC__PASS_kept, p->name, "%d steps of %d run once", n, p->n_steps);
}

/* Places from `at` on for what steps read that run once, or in every run. */
static int64_t dync__kept_places(dync__plan *p, bool kept, int64_t at)
{
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; p->step[i].kept == kept && k < p->step[i].n; k++) {
            int slot = p->step[i].slot[k];
            if (p->slot[slot].kind != DYNC__SLOT_KEPT || p->slot[slot].arena_offset >= 0) continue;
            p->slot[slot].arena_offset = at;
            at += dync__kept_bytes(p, slot);
        }
    return at;
}

/* What is read in every run stands first: the rest is free when all have run. */
DYNC__FN dync_status dync__kept_memory(dync__plan *p)
{
    if (!p->kept_bytes) return DYNC_OK;
    p->kept_stays = (size_t)dync__kept_places(p, false, 0);
    p->kept_bytes = (size_t)dync__kept_places(p, true, (int64_t)p->kept_stays);
    p->kept_bytes = DYNC__MAX(p->kept_bytes, 1);
    p->kept = dync__alloc_data(p->kept_bytes);
    for (int i = 0; p->kept && i < p->n_slots; i++) {
        dync__slot *s = &p->slot[i];
        if (s->table && s->arena_offset >= 0)
            memcpy(p->kept + s->arena_offset, s->table,
                   (size_t)s->size * (size_t)dync__dtype_info(s->dtype)->bytes);
        s->table = NULL; /* the builder's */
    }
    return p->kept ? DYNC_OK : DYNC_ERR_MEMORY;
}
#endif
