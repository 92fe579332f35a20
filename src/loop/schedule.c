/* loop/schedule.c: the order of one kernel's loops. It runs after fusion, which asks what it will
 * do, and before the generators, which take the loops as they come. After fuse_traits.c.
 *
 * Outer loops are ordered among themselves and so are the inner ones: the loop along which memory
 * is walked in the smallest steps goes innermost, stores counting three times a load; then
 * neighbours that every access walks as one are collapsed. A float sum may thereby add in another
 * order (within its error bound, and always the same for one kernel); argmax and argmin, which name
 * positions, scans, and kernels that depend on the order of their indices are left as they are. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__COLD

typedef struct dync__schedule_cost {
    int64_t lines, steps;
} dync__schedule_cost;

/* Does an instruction before i load from the same cache lines, whatever the loops are at? */
static bool dync__schedule_beside(const dync__kernel *k, int i)
{
    const dync__inst *in = &k->inst.at[i];
    const dync__access *a = &k->access.at[in->access];
    int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
    bool beside = false;
    for (int j = 0; j < i && !beside && in->prim == DYNC__P_load; j++) {
        const dync__inst *other = &k->inst.at[j];
        if (other->prim != DYNC__P_load || other->buf != in->buf) continue;
        const dync__access *b = &k->access.at[other->access];
        int64_t apart = a->offset - b->offset; /* sizes that are symbols are far from numbers */
        beside = (dync__is_token(a->offset) || dync__is_token(b->offset))
                     ? a->offset == b->offset
                     : DYNC__MAX(apart, -apart) * bytes < DYNC__COST_LINE;
        for (int d = 0; d < k->n_dims && beside; d++) beside = a->stride[d] == b->stride[d];
    }
    return beside;
}

static dync__schedule_cost dync__schedule_cost_of(const dync__kernel *k, int d)
{
    dync__schedule_cost cost = {0, 0};
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->buf < 0 || dync__schedule_beside(k, i)) continue;
        int64_t stride = k->access.at[in->access].stride[d],
                weight = dync__inst_has_value(in) ? 1 : 3;
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        cost.lines =
            dync__sz_add(cost.lines, dync__sz_mul(weight, dync__cost_stride(stride, bytes)));
        cost.steps = dync__sz_add(
            cost.steps, dync__sz_mul(weight, dync__sz_min(dync__sz_abs(stride), INT32_MAX)));
    }
    return cost;
}

static bool dync__schedule_is_outside(dync__schedule_cost a, dync__schedule_cost b)
{
    return dync__sz_eq(a.lines, b.lines) ? dync__sz_lt(b.steps, a.steps)
                                         : dync__sz_lt(b.lines, a.lines);
}

/* Sorts loops [from, to) by falling cost, stable; order[new] = old. */
static void dync__schedule_sort(const dync__kernel *k, int from, int to, int *order)
{
    dync__schedule_cost cost[DYNC__LOOP_MAX_DIMS];
    for (int d = from; d < to; d++) {
        dync__schedule_cost own = dync__schedule_cost_of(k, d);
        int i = d;
        for (; i > from && dync__schedule_is_outside(own, cost[i - 1]); i--) {
            cost[i] = cost[i - 1];
            order[i] = order[i - 1];
        }
        cost[i] = own;
        order[i] = d;
    }
}

static void dync__schedule_permute(dync__size *row, int n, const int *order)
{
    dync__size old[DYNC__LOOP_MAX_DIMS];
    memcpy(old, row, sizeof old);
    for (int d = 0; d < n; d++) row[d] = old[order[d]];
}

/* Do results say where in a row something is? */
static bool dync__schedule_positions(const dync__kernel *k)
{
    bool positions = false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        positions |= in->prim == DYNC__P_scan ||
                     (in->prim == DYNC__P_reduce &&
                      (in->imm.i == DYNC__R_ARGMAX || in->imm.i == DYNC__R_ARGMIN));
    }
    return positions;
}

/* Does every access go on along loop outer where loop d, gone through n elements of, ends? As
 * dync__kernel_collapse asks of neighbours, but by the sizes at hand. anew: loads may as well begin
 * again after a few (codegen/plan_loops.c). */
static bool dync__schedule_goes_on(const dync__kernel *k, int outer, int d, int64_t n, bool anew)
{
    bool on = true;
    for (int i = 0; i < k->inst.n && on; i++) {
        if (k->inst.at[i].access < 0) continue;
        const dync__size *stride = k->access.at[k->inst.at[i].access].stride;
        on = dync__loop_at_hand(stride[outer]) == n * dync__loop_at_hand(stride[d]) ||
             (anew && stride[outer] == 0 && k->inst.at[i].prim == DYNC__P_load);
    }
    return on;
}

/* Of loops [from, to), as schedule orders them: the innermost, and *length, over how many elements
 * it goes at once. */
static int dync__schedule_end(const dync__kernel *k, int from, int to, bool sorts, int64_t *length)
{
    int order[DYNC__LOOP_MAX_DIMS], at = to - 1;
    for (int d = from; d < to; d++) order[d] = d;
    if (sorts) dync__schedule_sort(k, from, to, order);
    int last = order[at];
    *length = dync__loop_at_hand(k->extent[last]);
    for (bool goes = true; goes && --at >= from;) {
        bool anew = !k->uses_random && *length < DYNC__REPEAT_ROW && dync__fuse_is_pointwise(k);
        goes = dync__schedule_goes_on(k, order[at], last, *length, anew);
        if (goes) *length *= dync__loop_at_hand(k->extent[order[at]]);
    }
    return last;
}

DYNC__FN int dync__schedule_last(const dync__kernel *k, int64_t *length)
{
    dync__fuse_traits traits = dync__fuse_traits_of(k);
    bool sorts = !traits.tangled && !traits.scatters && !dync__schedule_positions(k);
    return dync__schedule_end(k, k->n_outer, k->n_dims, sorts, length);
}

DYNC__FN int64_t dync__schedule_side(const dync__kernel *k)
{
    dync__fuse_traits traits = dync__fuse_traits_of(k);
    int64_t length = 1;
    if (k->n_outer)
        dync__schedule_end(k, 0, k->n_outer, !traits.tangled && !traits.scatters, &length);
    return length;
}

DYNC__FN int64_t dync__schedule_lanes(const dync__kernel *k)
{
    dync__fuse_traits traits = dync__fuse_traits_of(k);
    bool beside = false;
    int64_t length;
    if (!k->n_outer || k->n_outer == k->n_dims) return 0;
    int last = dync__schedule_end(k, 0, k->n_outer, !traits.tangled && !traits.scatters, &length);
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->buf < 0 || !(in->section & 1)) continue;
        const dync__size *stride = k->access.at[in->access].stride;
        beside |= stride[last] == 1;
        for (int d = k->n_outer; d < k->n_dims; d++)
            if (stride[d] == 1) return 0;
    }
    return beside ? length : 0;
}

DYNC__FN void dync__kernel_schedule(dync__kernel *k)
{
    dync__fuse_traits traits = dync__fuse_traits_of(k);
    int order[DYNC__LOOP_MAX_DIMS];
    if (k->failed || traits.empty) return;
    if (!traits.tangled && !traits.scatters) {
        bool positions = dync__schedule_positions(k);
        dync__schedule_sort(k, 0, k->n_outer, order);
        dync__schedule_sort(k, k->n_outer, k->n_dims, order);
        for (int d = k->n_outer; d < k->n_dims && positions; d++) order[d] = d;
        dync__schedule_permute(k->extent, k->n_dims, order);
        for (int i = 0; i < k->access.n; i++)
            dync__schedule_permute(k->access.at[i].stride, k->n_dims, order);
    }
    dync__kernel_collapse(k);
}
