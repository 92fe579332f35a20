/* runtime/beside.c: calls that keep to one thread, two at a time: the directions of a recurrent
 * layer, layers of two towers. After epilogue.c, before pass.c; plan.c gives what the two touch
 * memory for as long as either runs, run.c runs them. */
#include "../dync.in.h"
#include "plan.h"
DYNC__COLD
#if !defined(DYNC_SMALL)

/* A step, by the slots it touches. */
static bool dync__beside_minds(const dync__fuse_step *s, int32_t slot, int mode)
{
    int own = dync__step_mode(s, slot);
    return own && ((own | mode) & DYNC__BUF_OUT);
}

/* Must the two stay in their order? */
static bool dync__beside_bound(const dync__fuse_step *a, const dync__fuse_step *b)
{
    const dync__kcall *c = b->k ? NULL : b->call;
    bool bound = false;
    for (int i = 0; b->k && i < b->k->buf.n; i++)
        bound |= dync__beside_minds(a, b->k->buf.at[i].id, b->k->buf.at[i].mode);
    for (int i = 0; c && i < c->n; i++)
        bound |= dync__beside_minds(a, c->operand[i].slot,
                                    c->operand[i].written ? DYNC__BUF_OUT : DYNC__BUF_IN);
    for (int i = 0; i < b->n_reads; i++) bound |= dync__beside_minds(a, b->reads[i], DYNC__BUF_IN);
    return bound;
}

/* What goes ahead of another step leaves what the caller has as it was, should that one fail. */
static bool dync__beside_own(const dync__pb *pb, const dync__fuse_step *s)
{
    const dync__kcall *c = s->k ? NULL : s->call;
    bool own = !c || !c->row->tells;
    for (int i = 0; s->k && i < s->k->buf.n; i++)
        own &= !(s->k->buf.at[i].mode & DYNC__BUF_OUT) ||
               pb->slot.at[s->k->buf.at[i].id].kind != DYNC__SLOT_INPUT;
    for (int i = 0; c && i < c->n; i++)
        own &= !c->operand[i].written || pb->slot.at[c->operand[i].slot].kind != DYNC__SLOT_INPUT;
    return own;
}

static dync__kcall *dync__beside_call(const dync__fuse_step *s)
{
    dync__kcall *c = s->k ? NULL : s->call;
    return c && c->row->alone ? c : NULL;
}

/* Step j to just behind step i, and what it waits for to before i, whose new place it gives; -1: it
 * waits for i, and nothing moves. goes: room for j - i marks. */
static int dync__beside_move(const dync__pb *pb, dync__fuse_step *step, int i, int j, bool *goes)
{
    dync__fuse_step moved[DYNC__BESIDE_STEPS + 2];
    int n = 0, kept = j;
    if (!dync__beside_own(pb, &step[i]) || dync__beside_bound(&step[i], &step[j])) return -1;
    for (int k = j; k > i; k--) {
        goes[k - i - 1] = k == j;
        for (int l = k + 1; l <= j && !goes[k - i - 1]; l++)
            goes[k - i - 1] = goes[l - i - 1] && dync__beside_bound(&step[k], &step[l]);
        if (!goes[k - i - 1]) continue;
        if (!dync__beside_own(pb, &step[k]) || dync__beside_bound(&step[i], &step[k])) return -1;
        moved[n++] = step[k]; /* from the last one */
    }
    moved[n] = step[i];
    for (int k = j; k > i; k--)
        if (!goes[k - i - 1]) step[kept--] = step[k];
    step[kept--] = moved[0];
    step[kept--] = moved[n];
    for (int k = 1; k < n; k++) step[kept--] = moved[k];
    return i + n - 1;
}

/* Brings the first one that can be there behind call i, whose place is then the result; -1: there
 * is none. */
static int dync__beside_find(const dync__pb *pb, dync__fuse_step *step, int n, int i)
{
    bool goes[DYNC__BESIDE_STEPS + 1];
    for (int j = i + 1; j < n && j - i <= DYNC__BESIDE_STEPS; j++) {
        const dync__kcall *c = step[j].k ? NULL : step[j].call;
        if (c && c->row->tells) return -1;
        int at = dync__beside_call(&step[j]) ? dync__beside_move(pb, step, i, j, goes) : -1;
        if (at >= 0) return at;
    }
    return -1;
}

DYNC__FN dync_status dync__steps_beside(dync__steps *s)
{
    if (!dync__device_is(s->pb->device, DYNC__DEV_HOST) || s->opt->rolled || s->opt->threads == 1)
        return DYNC_OK;
    for (int i = 0; i < s->n; i++) {
        if (!dync__beside_call(&s->at[i])) continue;
        int at = dync__beside_find(s->pb, s->at, s->n, i);
        if (at < 0) continue;
        dync__beside_call(&s->at[at])->beside = true;
        i = at + 1;
    }
    return DYNC_OK;
}
#endif
