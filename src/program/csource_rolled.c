/* program/csource_rolled.c: what a recurrent layer of an exported C file takes over, and what it
 * does not keep. After csource_follow.c, before csource_recurrent.c, which writes such layers;
 * csource_steps.c asks.
 *
 * The product that gives the input's share of all steps is done a step at a time where nobody else
 * reads it. Of the outputs the last one alone is kept where nobody reads more: it is the state
 * then, in the memory of the one it began with if that is free. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

static bool dync__rolled_is(const dync__csource_step *s)
{
    return !s->at.k && s->at.call && dync__kcall_is(s->at.call, DYNC__K_rnn_layer);
}

/* The first and the last element of a layout, from `offset` on. */
static void dync__rolled_span(int n, const int64_t *size, const int64_t *stride, int64_t offset,
                              int64_t *low, int64_t *high)
{
    *low = *high = offset;
    for (int d = 0; d < n; d++)
        *(stride[d] < 0 ? low : high) += size[d] > 1 ? stride[d] * (size[d] - 1) : 0;
}

static bool dync__rolled_call_within(const dync__kcall *call, int n, int32_t slot, int64_t from,
                                     int64_t end)
{
    int64_t low, high;
    for (int i = 0; call && i < n; i++) {
        const dync__operand *o = &call->operand[i];
        if (o->slot != slot) continue;
        if (o->written || !dync__csource_has_numbers(call)) return false;
        dync__rolled_span(o->lay.ndim, o->lay.shape, o->lay.stride, o->lay.offset, &low, &high);
        if (low < from || high >= end) return false;
    }
    return true;
}

static bool dync__rolled_kernel_within(const dync__kernel *k, int32_t slot, int64_t from,
                                       int64_t end)
{
    int64_t low, high;
    for (int i = 0; k && i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->buf < 0 || k->buf.at[in->buf].id != slot) continue;
        if (in->prim != DYNC__P_load || dync__kernel_has_sizes(k)) return false;
        const dync__access *a = &k->access.at[in->access];
        int64_t size[DYNC__LOOP_MAX_DIMS], stride[DYNC__LOOP_MAX_DIMS];
        for (int d = 0; d < k->n_dims; d++) size[d] = k->extent[d], stride[d] = a->stride[d];
        dync__rolled_span(k->n_dims, size, stride, a->offset, &low, &high);
        if (low < from || high >= end) return false;
    }
    for (int i = 0; k && i < k->bound.n; i++)
        if (k->buf.at[k->bound.at[i].buf].id == slot) return false;
    return true;
}

/* Where the last step's output begins in its slot. */
static int64_t dync__rolled_last(const dync__kcall *call)
{
    const dync__layout *y = &dync__csource_role(call, DYNC__RNN_OUT)->lay;
    return y->offset + (call->attr.rnn.reverse ? 0 : (y->shape[0] - 1) * y->stride[0]);
}

static bool dync__rolled_keeps_last(const dync__csource_unit *u, int i)
{
    const dync__kcall *call = u->step[i].at.call;
    const dync__operand *y = dync__csource_role(call, DYNC__RNN_OUT);
    bool last = dync__csource_has_numbers(call) && dync__layout_is_contiguous(&y->lay) &&
                (y->dtype == DYNC_F32 || y->dtype == DYNC_F64) &&
                u->pb.slot.at[y->slot].kind == DYNC__SLOT_TEMP;
    if (!last) return false;
    int64_t from = dync__rolled_last(call), end = from + y->lay.stride[0];
    for (int k = 0; k < u->n_steps && last; k++) {
        const dync__csource_step *s = &u->step[k];
        if (k == i || !dync__csource_mode(s, y->slot)) continue;
        const dync__kcall *mine = s->at.k ? NULL : s->at.call;
        last =
            !s->after.pool && s->at.n_reads == 0 &&
            dync__rolled_kernel_within(s->at.k, y->slot, from, end) &&
            dync__rolled_kernel_within(s->after.k, y->slot, from, end) &&
            dync__rolled_call_within(mine, mine ? mine->n : 0, y->slot, from, end) &&
            dync__rolled_call_within(s->input, s->input ? s->input->n - 1 : 0, y->slot, from, end);
    }
    return last;
}

/* The product whose rows are the input of each step after the other, for it alone; -1: none. */
static int dync__rolled_product(const dync__csource_unit *u, int i)
{
    const dync__operand *in = dync__csource_role(u->step[i].at.call, DYNC__RNN_IN);
    if (!dync__csource_has_numbers(u->step[i].at.call) || !dync__layout_is_contiguous(&in->lay) ||
        (in->dtype != DYNC_F32 && in->dtype != DYNC_F64)) /* rounded to f16 or bf16 in between */
        return -1;
    for (int j = 0; j < i; j++) {
        const dync__kcall *call = u->step[j].at.k ? NULL : u->step[j].at.call;
        if (!call || u->step[j].after.k || !dync__csource_has_numbers(call) ||
            !(dync__kcall_is(call, DYNC__K_matmul) || dync__kcall_is(call, DYNC__K_addmm)))
            continue;
        const dync__operand *y = &call->operand[call->n - 1];
        bool same = y->slot == in->slot && y->dtype == in->dtype && y->lay.ndim == 2 &&
                    y->lay.offset == in->lay.offset && dync__layout_is_contiguous(&y->lay) &&
                    y->lay.shape[1] == in->lay.shape[2] &&
                    y->lay.shape[0] == in->lay.shape[0] * in->lay.shape[1];
        if (same && dync__csource_only(u, j, y->slot) == i && dync__csource_moves(u, j, i))
            return j;
    }
    return -1;
}

DYNC__FN void dync__csource_recurrent_take(dync__csource_unit *u)
{
    int n = 0;
    for (int i = 0; i < u->n_steps; i++) {
        int j = dync__rolled_is(&u->step[i]) ? dync__rolled_product(u, i) : -1;
        if (j < 0) continue;
        u->step[i].input = u->step[j].at.call;
        memset(&u->step[j], 0, sizeof u->step[j]);
    }
    for (int i = 0; i < u->n_steps; i++)
        if (u->step[i].at.k || u->step[i].at.call) u->step[n++] = u->step[i];
    u->n_steps = n;
    for (int i = 0; i < n; i++)
        u->step[i].last = dync__rolled_is(&u->step[i]) && dync__rolled_keeps_last(u, i);
}

/* May the state stand where h0 was? */
static bool dync__rolled_in_place(const dync__csource_unit *u, int i)
{
    const dync__operand *h0 = dync__csource_role(u->step[i].at.call, DYNC__RNN_H0);
    bool free = u->pb.slot.at[h0->slot].kind == DYNC__SLOT_TEMP && h0->lay.offset == 0 &&
                dync__layout_is_contiguous(&h0->lay) &&
                u->pb.slot.at[h0->slot].size == dync__csource_numel(&h0->lay);
    for (int k = i + 1; k < u->n_steps; k++)
        for (int a = 0; a < u->step[k].n; a++) free = free && u->step[k].slot[a] != h0->slot;
    return free;
}

DYNC__FN void dync__csource_recurrent_arrays(dync__csource_unit *u)
{
    for (int i = 0; i < u->n_steps; i++) {
        if (!u->step[i].last) continue;
        const dync__kcall *call = u->step[i].at.call;
        const dync__operand *y = dync__csource_role(call, DYNC__RNN_OUT);
        int64_t from = dync__rolled_last(call);
        int from_slot = y->slot, to = y->slot;
        if (dync__rolled_in_place(u, i))
            to = dync__csource_role(call, DYNC__RNN_H0)->slot;
        else
            u->pb.slot.at[to].size = y->lay.stride[0];
        for (int k = 0; k < u->n_steps; k++)
            for (int a = 0; a < u->step[k].n; a++) {
                if (u->step[k].slot[a] != from_slot) continue;
                u->step[k].slot[a] = to;
                u->step[k].base[a] = k == i ? 0 : u->step[k].base[a] - from;
            }
    }
}
