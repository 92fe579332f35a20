/* program/csource_follow.c: what an exported product or convolution does to its results as it has
 * them: loops that take each of them once, then maxima of windows. Before csource_blocks.c, which
 * writes such functions; csource_steps.c asks.
 *
 * A kernel follows a call where it alone reads the result, each element by the index that stores
 * one element of its own at the same place, without reductions. Pooling follows where its windows
 * lie inside and do not meet. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- places ---------------------------------------------------------------------------------- */

static bool dync__follow_numbers(const dync__layout *lay)
{
    bool numbers = !dync__is_token(lay->offset);
    for (int d = 0; d < lay->ndim; d++)
        numbers = numbers && !dync__is_token(lay->shape[d]) && !dync__is_token(lay->stride[d]) &&
                  lay->shape[d] > 0;
    return numbers;
}

DYNC__FN bool dync__csource_has_numbers(const dync__kcall *call)
{
    bool numbers = true;
    for (int i = 0; i < call->n; i++)
        numbers = numbers && dync__follow_numbers(&call->operand[i].lay);
    return numbers;
}

/* One float dtype, or bytes whose sums are I32. */
DYNC__FN bool dync__csource_blocks_are(const dync__kcall *call)
{
    static const int kernels[] = {DYNC__K_matmul, DYNC__K_addmm, DYNC__K_conv2d,
                                  DYNC__K_int_conv2d};
    int of = call->operand[0].dtype, sums = of == DYNC_I8 ? DYNC_I32 : of;
    bool is = false;
    for (int i = 0; i < DYNC__COUNT_OF(kernels); i++) is = is || dync__kcall_is(call, kernels[i]);
    for (int i = 0; i < call->n; i++) is = is && call->operand[i].dtype == (i < 2 ? of : sums);
    return is && (of == DYNC_F32 || of == DYNC_F64 || of == DYNC_I8) &&
           dync__csource_has_numbers(call) && dync__pass_on(DYNC__PASS_unroll);
}

/* Does the access meet each element of a dense array once, from its first on? */
static bool dync__follow_once(const dync__kernel *k, const dync__access *a, int64_t offset,
                              int64_t numel)
{
    int64_t reached = 1;
    if (a->offset != offset) return false;
    for (int found = 1; found;) {
        found = 0;
        for (int d = 0; d < k->n_dims && !found; d++)
            if (k->extent[d] > 1 && a->stride[d] == reached) {
                reached *= k->extent[d];
                found = 1;
            }
    }
    int64_t all = 1;
    for (int d = 0; d < k->n_dims; d++) all *= k->extent[d];
    return reached == numel && all == numel;
}

/* The dimensions of the array that a loop of this stride and extent walks over are whole: each of
 * them begins and ends within one loop. */
static bool dync__follow_aligned(const dync__kernel *k, const dync__access *a,
                                 const dync__layout *lay)
{
    for (int e = 0; e < lay->ndim; e++) {
        bool within = lay->shape[e] == 1;
        int64_t stride = lay->stride[e], end = stride * lay->shape[e];
        for (int d = 0; d < k->n_dims && !within; d++)
            within = k->extent[d] > 1 && stride >= a->stride[d] && stride % a->stride[d] == 0 &&
                     end <= a->stride[d] * k->extent[d];
        if (!within) return false;
    }
    return true;
}

DYNC__FN bool dync__csource_after_fits(const dync__csource_after *after, const dync__layout *lay)
{
    return !after->k || dync__follow_aligned(after->k, &after->k->access.at[after->load], lay);
}

/* The index of loop d at a place of the result. */
static void dync__follow_index(dync__str *s, const dync__csource_after *after, int d,
                               const dync__layout *lay, const char *const *var)
{
    const dync__access *a = &after->k->access.at[after->load];
    bool first = true;
    for (int e = 0; e < lay->ndim; e++)
        if (lay->shape[e] > 1 && lay->stride[e] >= a->stride[d] &&
            lay->stride[e] < a->stride[d] * after->k->extent[d])
            dync__term_csource(s, lay->stride[e] / a->stride[d], var[e], &first);
    dync__offset_csource(s, 0, first);
}

DYNC__FN void dync__csource_after_value(dync__str *s, const dync__csource_after *after,
                                        const dync__layout *lay, const char *const *var,
                                        const char *value)
{
    const dync__kernel *k = after->k;
    if (!k) {
        dync__str_add(s, value);
        return;
    }
    dync__str_addf(s, "@_end(%s", value);
    for (int d = 0; d < k->n_dims; d++) {
        if (!(after->room.loops >> d & 1)) continue;
        dync__str_add(s, ", ");
        dync__follow_index(s, after, d, lay, var);
    }
    for (int b = 0; b < k->buf.n; b++)
        if (dync__csource_after_reads(after, b)) dync__str_addf(s, ", e%d", b);
    dync__str_addc(s, ')');
}

DYNC__FN bool dync__csource_after_reads(const dync__csource_after *after, int buf)
{
    return after->k && buf != after->in && !(after->k->buf.at[buf].mode & DYNC__BUF_OUT) &&
           !after->room.known[buf];
}

/* ---- what may follow ------------------------------------------------------------------------- */

DYNC__FN int dync__csource_mode(const dync__csource_step *s, int32_t slot)
{
    int mode = dync__step_mode(&s->at, slot);
    for (int b = 0; s->after.k && b < s->after.k->buf.n; b++)
        if (s->after.k->buf.at[b].id == slot) mode |= s->after.k->buf.at[b].mode;
    for (int i = 0; s->input && i + 1 < s->input->n; i++)
        if (s->input->operand[i].slot == slot) mode |= DYNC__BUF_IN;
    return mode;
}

DYNC__FN int dync__csource_only(const dync__csource_unit *u, int i, int32_t slot)
{
    int only = -1;
    if (u->pb.slot.at[slot].kind != DYNC__SLOT_TEMP) return -1;
    for (int k = 0; k < u->n_steps; k++) {
        if (k == i || !dync__csource_mode(&u->step[k], slot)) continue;
        if (only >= 0) return -1;
        only = k;
    }
    return only > i ? only : -1;
}

/* Nothing between writes what it reads. */
DYNC__FN bool dync__csource_moves(const dync__csource_unit *u, int i, int j)
{
    for (int32_t slot = 0; slot < u->pb.slot.n; slot++) {
        if (!dync__csource_mode(&u->step[i], slot)) continue;
        for (int k = i + 1; k < j; k++)
            if (dync__csource_mode(&u->step[k], slot) & DYNC__BUF_OUT) return false;
    }
    return true;
}

/* What the kernel does to the call's result; false: it is none that follows. */
static bool dync__follow_kernel(const dync__kernel *k, const dync__operand *y,
                                dync__csource_after *out)
{
    int stores = 0;
    int64_t numel = dync__csource_numel(&y->lay);
    const dync__access *load = NULL, *store = NULL;
    memset(out, 0, sizeof *out);
    if (dync__kernel_has_sizes(k) || k->bound.n || k->ordered) return false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        bool of_y = in->buf >= 0 && k->buf.at[in->buf].id == y->slot;
        if (in->section > 1 || in->prim == DYNC__P_reduce || in->prim == DYNC__P_scan ||
            in->prim == DYNC__P_random || in->prim == DYNC__P_storex || dync__inst_is_sized(in))
            return false;
        if (of_y && (in->prim != DYNC__P_load || (load && load != &k->access.at[in->access])))
            return false;
        if (of_y) {
            load = &k->access.at[in->access];
            out->in = in->buf;
            out->load = in->access;
        } else if (in->prim == DYNC__P_store) {
            store = &k->access.at[in->access];
            out->out = in->buf;
            stores++;
        }
    }
    if (!load || stores != 1 || !dync__follow_once(k, load, y->lay.offset, numel)) return false;
    for (int d = 0; d < k->n_dims; d++)
        if (k->extent[d] > 1 && load->stride[d] != store->stride[d]) return false;
    if (k->buf.at[out->out].mode != DYNC__BUF_OUT) return false;
    out->k = k;
    out->first = store->offset;
    return true;
}

/* Maxima of windows of the result that lie inside and do not meet. */
static bool dync__follow_pool(const dync__kcall *pool, const dync__layout *lay)
{
    const dync__attr_pool *a = &pool->attr.pool;
    const dync__operand *x = &pool->operand[0], *y = &pool->operand[1];
    bool fits = dync__kcall_is(pool, DYNC__K_max_pool2d) && dync__csource_has_numbers(pool) &&
                a->kernel[0] * a->kernel[1] <= 4 && x->lay.ndim == 4 && lay->ndim == 4 &&
                x->lay.offset == lay->offset;
    for (int d = 0; d < 4 && fits; d++)
        fits = x->lay.shape[d] == lay->shape[d] &&
               (lay->shape[d] == 1 || x->lay.stride[d] == lay->stride[d]);
    for (int d = 0; d < 2 && fits; d++)
        fits = a->pad[d] == 0 && a->dilation[d] == 1 && a->stride[d] >= a->kernel[d] &&
               (y->lay.shape[d + 2] - 1) * a->stride[d] + a->kernel[d] <= x->lay.shape[d + 2];
    return fits;
}

static void dync__follow_take(dync__csource_unit *u, int i, int by)
{
    u->step[by] = u->step[i];
    memset(&u->step[i], 0, sizeof u->step[i]);
}

/* Step i takes what follows it; where it stands then. */
static int dync__follow_step(dync__csource_unit *u, int i)
{
    const dync__kcall *call = u->step[i].at.call;
    const dync__operand *y = &call->operand[call->n - 1];
    dync__csource_after after;
    dync__layout lay = y->lay;
    int32_t slot = y->slot;
    int j = dync__csource_only(u, i, slot);
    if (j >= 0 && u->step[j].at.k && dync__pass_on(DYNC__PASS_epilogue) &&
        dync__follow_kernel(u->step[j].at.k, y, &after) && dync__layout_is_contiguous(&lay) &&
        dync__csource_after_fits(&after, &lay) && dync__csource_moves(u, i, j)) {
        dync__follow_take(u, i, j);
        u->step[j].after = after;
        slot = after.k->buf.at[after.out].id;
        lay.offset = after.first;
        i = j;
        j = dync__csource_only(u, i, slot);
    }
    const dync__kcall *pool = j >= 0 && !u->step[j].at.k ? u->step[j].at.call : NULL;
    int dtype = u->pb.slot.at[slot].dtype;
    if (!pool || !dync__kcall_is(call, DYNC__K_conv2d) || !dync__pass_on(DYNC__PASS_convs) ||
        dtype != y->dtype || pool->operand[0].slot != slot || !u->step[j].no_index ||
        !dync__follow_pool(pool, &lay) || !dync__csource_moves(u, i, j))
        return i;
    dync__follow_take(u, i, j);
    u->step[j].after.pool = pool;
    return j;
}

/* Nobody reads the places of a pooling's maxima. */
static bool dync__follow_unread(const dync__csource_unit *u, int i)
{
    const dync__kcall *call = u->step[i].at.call;
    if (u->step[i].at.k || !dync__kcall_is(call, DYNC__K_max_pool2d)) return false;
    int32_t slot = call->operand[2].slot;
    bool read = u->pb.slot.at[slot].kind != DYNC__SLOT_TEMP;
    for (int k = 0; k < u->n_steps; k++)
        read = read || (dync__csource_mode(&u->step[k], slot) & DYNC__BUF_IN);
    return !read;
}

DYNC__FN void dync__csource_follow(dync__csource_unit *u)
{
    int n = 0;
    for (int i = 0; i < u->n_steps; i++) u->step[i].no_index = dync__follow_unread(u, i);
    for (int i = 0; i < u->n_steps; i++) {
        const dync__kcall *call = u->step[i].at.k ? NULL : u->step[i].at.call;
        if (call && !u->step[i].after.k && dync__csource_blocks_are(call)) dync__follow_step(u, i);
    }
    for (int i = 0; i < u->n_steps; i++)
        if (u->step[i].at.k || u->step[i].at.call) u->step[n++] = u->step[i];
    u->n_steps = n;
}
