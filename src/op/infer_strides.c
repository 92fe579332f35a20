/* op/infer_strides.c: the strides of a fresh output, and what holds for all rows. After infer.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__LEAN

/* ---- memory formats -------------------------------------------------------------------------- */

/* Is a batch of images or volumes, [N, C, H, W] or [N, C, D, H, W], taken for channels last? As
 * PyTorch tells it from strides alone (c10/core/MemoryFormat.h, suggest_memory_format): they
 * grow from C over W, H, D to N, each at least the size before it, and those of size 1 count
 * too. What could be both ways is row major.
 *
 * These results are in the format of what they are made of: windows (convolutions too, whose
 * weight may decide as well), resized, padded, normalised by channel or by group, joined where
 * all parts agree. A reshape of them is a view or a copy as it is in PyTorch, which a program
 * can see: what it writes to one is in the other or not. */
DYNC__FN int dync__layout_form(const dync__layout *l)
{
    int n = l->ndim;
    bool row_major = true;
    int64_t least = 0, next = 1;
    if (n != 4 && n != 5) return 0;
    for (int d = n - 1; d >= 0; d--) {
        row_major = row_major && l->stride[d] == next;
        next = dync__sz_mul(next, l->shape[d]);
    }
    if (row_major || l->stride[1] == 0) return 0;
    /* asked first: it holds of most, and without a guard where a part is cut out of rows */
    if (dync__sz_lt(l->stride[n - 1], l->stride[1])) return 0;
    for (int i = 0; i < n; i++) {
        int d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;
        if (l->shape[d] == 0 || dync__sz_lt(l->stride[d], least)) return 0;
        if (d == 0 && dync__sz_eq(least, l->stride[1])) return 0;
        least = dync__sz_mul(l->stride[d], l->shape[d]);
    }
    return n;
}

DYNC__FN dync_status dync__infer_formed(dync__info *out, int dtype, int device, int ndim,
                                        const int64_t *shape, int form)
{
    int64_t next = 1;
    DYNC__TRY(dync__infer_fresh(out, dtype, device, ndim, shape));
    for (int i = 0; i < ndim && form == ndim; i++) {
        int d = i == 0 ? 1 : i == ndim - 1 ? 0 : ndim - i;
        out->lay.stride[d] = next;
        next = dync__sz_mul(next, DYNC__MAX(shape[d], 1));
    }
    return DYNC_OK;
}

DYNC__FN int dync__infer_list_form(const dync__arg *list)
{
    int form = list->n ? dync__layout_form(&list->as.list[0].as.t->lay) : 0;
    for (int i = 1; i < list->n && form; i++)
        if (dync__layout_form(&list->as.list[i].as.t->lay) != form) form = 0;
    return form;
}

/* ---- strides of a fresh output --------------------------------------------------------------- */

/* TensorIterator's comparison of two dims over all operands: > 0 where a is the slower one.
 * stride[k][d]: 0 where broadcast. 0: no operand has an opinion, as all of them broadcast one of
 * the two dims or the sizes agree. */
static int dync__infer_should_swap(int n, int64_t stride[][DYNC_MAX_DIMS], const int64_t *shape,
                                   int a, int b)
{
    for (int k = 0; k < n; k++) {
        int64_t sa = stride[k][a], sb = stride[k][b];
        if (sa == 0 || sb == 0) continue;
        if (dync__sz_by_data(sa) || dync__sz_by_data(sb)) {
            /* whichever order is taken, it is right: no guard */
            sa = dync__sz_hint(sa), sb = dync__sz_hint(sb);
            if (sa != sb) return sa < sb ? -1 : 1;
            continue;
        }
        if (!dync__sz_eq(sa, sb)) return dync__sz_lt(sa, sb) ? -1 : 1;
        if (dync__sz_lt(shape[b], shape[a])) return 1;
    }
    return 0;
}

/* Output strides in the order of dims that the operands have, slowest first; out->ndim and
 * out->shape are set. Insertion sort as PyTorch's reorder_dimensions does it: a dim that compares 0
 * with its neighbour is stepped over, and the search goes on behind it. Another sort would order
 * ambiguous dims in another way, and so give other strides than PyTorch.
 *
 *   x [2, 3, 4] with strides (1, 2, 6), y [4] with stride (1): y broadcasts dims 0 and 1
 *   and so has no say in their order; x comes first anyway: the output gets strides (1, 2, 6). */
static void dync__infer_permuted(dync__layout *out, int n, int64_t stride[][DYNC_MAX_DIMS])
{
    int perm[DYNC_MAX_DIMS], nd = out->ndim; /* perm[0]: the fastest dim */
    int64_t next = 1;
    for (int i = 0; i < nd; i++) perm[i] = nd - 1 - i;
    for (int i = 1; i < nd; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int order = dync__infer_should_swap(n, stride, out->shape, perm[j], perm[at]);
            if (order < 0) break;
            if (order == 0) continue;
            int hold = perm[j];
            perm[j] = perm[at];
            perm[at] = hold;
            at = j;
        }
    }
    for (int i = 0; i < nd; i++) {
        out->stride[perm[i]] = next;
        next = dync__sz_mul(next, DYNC__MAX(out->shape[perm[i]], 1));
    }
}

/* Strides of channels last, where all operands have them but for dims of size 1. */
static bool dync__infer_all_last(dync__info *out, int n, dync__tensor *const *t)
{
    dync__info last;
    int ndim = out->lay.ndim;
    if (ndim != 4 || dync__infer_formed(&last, 0, 0, 4, out->lay.shape, 4) != DYNC_OK) return false;
    for (int k = 0; k < n; k++)
        for (int d = 0; d < ndim; d++)
            if (t[k]->lay.shape[d] != 1 && t[k]->lay.stride[d] != last.lay.stride[d]) return false;
    memcpy(out->lay.stride, last.lay.stride, sizeof last.lay.stride);
    return true;
}

/* Row major needs no sorting, and is by far the most frequent: one test for all operands.
 * t[0..n) broadcast to the shape; of more than four the first four decide. out->lay is written,
 * dtype and device are the caller's. Three answers, cheapest test first: row major where every
 * operand is, the operands' own strides where they agree and have no gaps, else the dims in the
 * operands' order.
 *
 * Strides of dims of size 1 find no element, but the memory format of what follows is told by
 * them (dync__layout_form): whether operands that are row major but for those, or channels last,
 * give the strides that are so for all dims (SAME), or their own (LIKE: copies), or those of the
 * sorted dims (SORTED: there is a number among them, which in PyTorch is one more operand). */
DYNC__FN dync_status dync__infer_like(dync__info *out, int ndim, const int64_t *shape, int n,
                                      dync__tensor *const *t, dync__strides_of how)
{
    int64_t stride[4][DYNC_MAX_DIMS];
    bool row_major = true, same_strides = true, same_shape = true, contiguous = how == DYNC__SAME;
    DYNC__TRY(dync__layout_contiguous(&out->lay, ndim, shape));
    if (n > 4) n = 4;
    for (int k = 0; k < n; k++) {
        const dync__layout *in = &t[k]->lay;
        int lead = ndim - in->ndim;
        for (int d = 0; d < ndim; d++) {
            bool broadcast = d < lead || (in->shape[d - lead] == 1 && shape[d] != 1);
            stride[k][d] = broadcast ? 0 : in->stride[d - lead];
            if (broadcast)
                same_strides = false;
            else if (stride[k][d] !=
                     t[0]->lay.stride[DYNC__MAX(DYNC__MIN(d, t[0]->lay.ndim - 1), 0)])
                same_strides = false;
            if (!broadcast && stride[k][d] != out->lay.stride[d]) row_major = false;
            if (broadcast) same_shape = false;
        }
        if (lead) same_strides = same_shape = false;
        contiguous = contiguous && dync__layout_is_contiguous(in);
    }
    if (row_major || (contiguous && same_shape)) return DYNC_OK;
    if (how == DYNC__SAME && same_shape && n && dync__infer_all_last(out, n, t)) return DYNC_OK;
    if (how != DYNC__SORTED && same_strides && n && dync__layout_is_dense(&t[0]->lay)) {
        memcpy(out->lay.stride, t[0]->lay.stride, sizeof out->lay.stride);
        return DYNC_OK;
    }
    dync__infer_permuted(&out->lay, n, stride);
    return DYNC_OK;
}

/* Goes by dync__infer_like with `of` as the only operand. */
DYNC__FN dync_status dync__layout_like(const dync__layout *of, dync__layout *out)
{
    dync__tensor t = {.lay = *of}, *one = &t;
    dync__info info;
    DYNC__TRY(dync__infer_like(&info, of->ndim, of->shape, 1, &one, DYNC__LIKE));
    *out = info.lay;
    return DYNC_OK;
}

/* ---- for all rows ---------------------------------------------------------------------------- */

/* out: room for the row's outputs (DYNC__MAX_OUT is enough). Behind the row's own function come the
 * checks that hold for all: no error was recorded on the way (an impossible symbolic size is
 * recorded where it arises, and passes for a size until here), and one device, except where data
 * may come from another: copies, set_, effects. A row without an inference has an output shape that
 * data decide. */
DYNC__FN dync_status dync__op_infer(const dync__opcall *call, dync__info *out)
{
    int device;
    if (call->row->infer) {
        uint64_t errors = dync__error_count();
        DYNC__TRY(call->row->infer(call, out));
        /* a size that is none */
        if (DYNC__UNLIKELY(dync__error_count() != errors))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
        bool mixes = call->nargs < 2 || call->op == DYNC__OP_copy || call->op == DYNC__OP_copy_ ||
                     call->op == DYNC__OP_set_ || call->row->cls == DYNC__EFFECT;
        return mixes ? DYNC_OK : dync__infer_device(call, &device);
    }
    return dync__fail(DYNC_ERR_UNSUPPORTED, "dynamic shape operator: aten.%s.default",
                      call->row->name);
}

/* Sets call->out to owned references and call->nout. An in-place operator gives its argument back
 * and counts a new version of its storage, so that saved tensors are found stale while tracing as
 * they are in a real run. A composite that aliases with the same layout gives the argument itself;
 * other aliases are new handles on the argument's storage. On DYNC_ERR_MEMORY nothing is left in
 * out. */
DYNC__FN dync_status dync__op_fake(dync__opcall *call)
{
    dync__info info[DYNC__MAX_OUT];
    dync__tensor *arg[DYNC__MAX_ARGS];
    for (int i = 0; i < DYNC__MAX_OUT; i++) info[i].view = false;
    DYNC__TRY(dync__op_infer(call, info));
    int n = dync__opcall_tensors(call, arg, DYNC__MAX_ARGS);
    call->nout = dync__opcall_nout(call);
    for (int i = 0; i < call->nout; i++) {
        dync__tensor *base = info[i].alias >= 0 && info[i].alias < n ? arg[info[i].alias] : NULL;
        bool same = base && (call->row->cls == DYNC__INPLACE ||
                             (call->row->cls == DYNC__COMPOSITE && !info[i].view &&
                              dync__layout_equal(&base->lay, &info[i].lay)));
        if (same && call->op != DYNC__OP_set_) {
            dync__ref(base);
            call->out[i] = base;
            if (call->row->cls == DYNC__INPLACE) base->storage->version++;
        } else if (base && call->op == DYNC__OP_set_) {
            DYNC__TRY(call->row->decompose(call));
        } else {
            call->out[i] = base ? dync__tensor_alias(base, info[i].dtype, &info[i].lay)
                                : dync__tensor_fake(info[i].dtype, info[i].device, &info[i].lay);
        }
        if (call->out[i]) continue;
        while (i > 0) {
            dync__unref(call->out[--i]);
            call->out[i] = NULL;
        }
        return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}
