/* capture/quick.c: the short way of a call. Most entries guard tensors only and end after one
 * segment with one tensor; for these what a call has to do is prepared when the entry is made:
 * guards as packed words compared in one pass, the place of each input, the code. After segment.c,
 * before cache.c, whose general way does the same and serves whatever is refused here: a false
 * means only "not this way". */
#include "../dync.in.h"
#include "capture.h"
DYNC__HOT

/* What a guard asks of a tensor's fixed fields: dtype, flags that matter, device, which lie side by
 * side, and the rank. */
DYNC__INLINE int64_t dync__quick_head(const dync__tensor *t)
{
    const struct {
        uint8_t dtype, flags;
        uint16_t device;
    } which = {0xff, DYNC__T_REQUIRES_GRAD | DYNC__T_FAKE, 0xffff};
    uint32_t word, mask;
    memcpy(&word, (const char *)t + offsetof(dync__tensor, dtype), sizeof word);
    memcpy(&mask, &which, sizeof mask);
    return (int64_t)((uint64_t)(word & mask) | (uint64_t)(uint32_t)t->lay.ndim << 32);
}

static int64_t *dync__quick_words(dync__cache_entry *e)
{
    size_t n = 0;
    for (int i = 0; i < e->n_tensors; i++) n += 1 + 2 * (size_t)e->tensor[i].ndim;
    int64_t *words = dync__arena_alloc(&e->arena, (n + 1) * sizeof *words), *w = words;
    for (int i = 0; words && i < e->n_tensors; i++) {
        const dync__tensor_guard *g = &e->tensor[i];
        dync__tensor like = {
            .dtype = (uint8_t)g->dtype, .device = (uint16_t)g->device, .lay = {.ndim = g->ndim}};
        if (g->requires_grad) like.flags = DYNC__T_REQUIRES_GRAD;
        *w++ = dync__quick_head(&like);
        memcpy(w, g->dims, 2 * (size_t)g->ndim * sizeof *w);
        w += 2 * g->ndim;
    }
    return words;
}

/* The tensor that the segment makes and the call returns: its output, or -1. */
static int dync__quick_result(const dync__cache_entry *e, const dync__segref *ref)
{
    for (int i = 0; i < ref->seg->n_out; i++)
        if (e->root->result.kind == DYNC_KIND_TENSOR && ref->out_env[i] == e->root->result.n)
            return ref->seg->n_out == 1 ? i : -1;
    return -1;
}

DYNC__RARE DYNC__FN void dync__quick_make(dync__cache_entry *e)
{
    const dync__tnode *n = e->root;
    if (!e->flat || e->dynamic || e->open || e->lint || e->mutates || e->offsets || e->foreign.n ||
        e->ints.n || e->modules.n || e->cells.n || e->n_tensors > DYNC__QUICK_TENSORS || !n ||
        n->kind != DYNC__TN_RETURN || n->seg.n != 1 || n->foreign.n || n->effect.n ||
        n->grad_mode_after >= 0)
        return;
    const dync__segref *ref = &n->seg.at[0];
    if (ref->seg->code.run != dync__raw_run || ref->seg->n_in > DYNC__QUICK_TENSORS ||
        dync__quick_result(e, ref) < 0)
        return;
    dync__quick *q = dync__arena_alloc(&e->arena, sizeof *q);
    if (!q || !(q->words = dync__quick_words(e))) return; /* the general way does */
    q->raw = &((const dync__raw_state *)ref->seg->code.state)->raw;
    q->n_in = ref->seg->n_in;
    q->grad_mode = ref->seg->grad_mode;
    for (int i = 0; i < e->n_tensors; i++)
        if (e->tensor[i].same_as >= 0 || e->tensor[i].leaf) return;
    q->straight = true;
    for (int i = 0; i < q->n_in; i++) {
        int leaf = -1;
        for (int k = 0; k < e->n_tensors; k++)
            if (e->leaf_env[k] == ref->in_env[i]) leaf = k;
        if (leaf < 0) return;
        q->in[i] = (uint8_t)leaf;
        q->straight = q->straight && leaf == i;
    }
    e->quick = q;
}

/* ---- a call ---------------------------------------------------------------------------------- */
/* True: surely n different tensors. Their slots are small numbers, so that a few hundred bits
 * rarely see two as one. */
static bool dync__quick_distinct(dync__tensor *const *t, int n)
{
    if (n <= 4) {
        for (int i = 1; i < n; i++)
            for (int j = 0; j < i; j++)
                if (t[i] == t[j]) return false;
        return true;
    }
    uint64_t seen[8] = {0};
    for (int i = 0; i < n; i++) {
        uint64_t bit = (uint64_t)1 << (t[i]->slot & 63), *word = &seen[(t[i]->slot >> 6) & 7];
        if (*word & bit) return false;
        *word |= bit;
    }
    return true;
}

static bool dync__quick_holds(const dync__cache_entry *e, int nargs, const dync_value *args,
                              dync__tensor **t)
{
    const int64_t *w = e->quick->words;
    /* most slots are near the first one's: bits around it tell whether two may be one */
    uint64_t near_first = 0, doubt = 0;
    uint32_t first = 0;
    if (nargs != e->n_args || e->grad_mode == dync__grad_is_off() ||
        e->default_dtype != dync__tls.default_dtype)
        return false;
    for (int i = 0; i < nargs; i++) {
        dync__tensor *x = args[i].kind == DYNC_KIND_TENSOR ? dync__peek(args[i].as.t) : NULL;
        if (!x || dync__quick_head(x) != w[0]) return false;
        int n = x->lay.ndim;
        for (int d = 0; d < n; d++)
            if (x->lay.shape[d] != w[1 + d] || x->lay.stride[d] != w[1 + n + d]) return false;
        w += 1 + 2 * n;
        if (i == 0) first = x->slot - 32;
        uint32_t place = x->slot - first;
        doubt |= place >> 6 | (near_first >> (place & 63) & 1);
        near_first |= (uint64_t)1 << (place & 63);
        t[i] = x;
    }
    return (!doubt || dync__quick_distinct(t, nargs)) && e->threads == dync__pool_threads();
}

/* The caller's tensor, if nothing else of the call lies on its memory. */
static dync__tensor *dync__quick_target(const dync_value *into, dync__tensor *const *t, int n)
{
    dync__tensor *x = into->kind == DYNC_KIND_TENSOR ? dync__peek(into->as.t) : NULL;
    if (!x || x->grad || (x->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_FAKE))) return NULL;
    for (int i = 0; i < n; i++)
        if (dync__memory_meets(x, t[i])) return NULL;
    return x;
}

DYNC__FN bool dync__quick_call(const dync__cache_entry *e, int nargs, const dync_value *args,
                               const dync_value *into, dync_value *result)
{
    const dync__quick *q = e->quick;
    dync__tensor *t[DYNC__QUICK_TENSORS], *sorted[DYNC__QUICK_TENSORS], **in = t, *out = NULL;
    if (!dync__quick_holds(e, nargs, args, t)) return false;
    dync__tls.cache_hits++;
    uint64_t errors = dync__tls.error_count;
    if (!q->straight) {
        in = sorted;
        for (int i = 0; i < q->n_in; i++) in[i] = t[q->in[i]];
    }
    dync__grad_off(!q->grad_mode);
    dync__tensor *target = into && q->raw->run_into ? dync__quick_target(into, t, nargs) : NULL;
    dync_status status = target ? q->raw->run_into(q->raw->state, q->n_in, in, 1, &out, &target)
                                : q->raw->run(q->raw->state, q->n_in, in, 1, &out);
    dync__grad_off(!e->grad_mode);
    if (DYNC__LIKELY(status == DYNC_OK && out &&
                     (errors == dync__tls.error_count || dync_error() == DYNC_OK))) {
        *result = dync_v_tensor(out == target ? dync__handle(out) : dync__give(out));
        if (out == target) dync__unref(out); /* the caller's own */
        return true;
    }
    dync__unref(out);
    *result = DYNC_NONE;
    return true;
}

/* Do two tensors reach a common byte? Memory that the user lent twice has two storages. */
DYNC__RARE DYNC__FN bool dync__memory_meets(const dync__tensor *a, const dync__tensor *b)
{
    const char *p = a->storage->data, *q = b->storage->data;
    if (!p || !q) return false;
    return (uintptr_t)p < (uintptr_t)q + b->storage->size_bytes &&
           (uintptr_t)q < (uintptr_t)p + a->storage->size_bytes;
}
