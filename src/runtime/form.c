/* runtime/form.c: steps for all sizes. Lowered and fused once with symbolic extents, strides,
 * offsets and constants (tensor/sym.h), a builder's steps are copied here with numbers in their
 * place, as often as there are sizes. After pass.c, before plan.c, which goes on with the copy.
 *
 * What lowering and fusion decided by a comparison of sizes is a guard of the table that was in
 * force: the copy is what the numbers would have given themselves wherever those guards hold, which
 * the caller makes sure of. A number that is none after all, as a product of a token by mistake
 * would be, is refused. */
#include "../dync.in.h"
#include "plan.h"
DYNC__COLD

typedef struct dync__form_sizes {
    const dync__symtab *syms;
    const int64_t *value;
    bool ok, merged;
} dync__form_sizes;

static int64_t dync__form_size(dync__form_sizes *z, int64_t size)
{
    if (!z->value) return size; /* all stay as they are */
    if (dync__is_token(size)) size = dync__symtab_value(z->syms, size, z->value, &z->ok);
    if (size > DYNC__FORM_MOST || size < -DYNC__FORM_MOST) z->ok = false;
    return size;
}

static void dync__form_layout(dync__form_sizes *z, dync__layout *lay)
{
    lay->offset = dync__form_size(z, lay->offset);
    for (int d = 0; d < lay->ndim; d++) {
        lay->shape[d] = dync__form_size(z, lay->shape[d]);
        lay->stride[d] = dync__form_size(z, lay->stride[d]);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */
/* True: sizes decided it. */
static bool dync__form_const(dync__form_sizes *z, dync__inst *in)
{
    bool real = in->type == DYNC_F32 || in->type == DYNC_F64;
    if (!z->value) return false;
    if (real ? !dync__is_sf(in->imm.i) : !dync__is_token(in->imm.i)) return false;
    in->imm.i = dync__symtab_value(z->syms, in->imm.i, z->value, &z->ok);
    if (in->type == DYNC_F32) in->imm.f = (double)(float)in->imm.f;
    return true;
}

static bool dync__form_same_access(const dync__kernel *k, int i, int j)
{
    return memcmp(&k->access.at[i], &k->access.at[j], sizeof *k->access.at) == 0;
}

/* Accesses that these sizes make equal become one, as where they are numbers from the start; those
 * that are equal for all sizes stay, as they do there. True: there were some. */
static bool dync__form_accesses(dync__kernel *k, const dync__kernel *from)
{
    bool equal = false;
    for (int i = 1; i < k->access.n; i++) {
        int first = 0;
        while (!dync__form_same_access(k, first, i)) first++;
        if (first == i || dync__form_same_access(from, first, i)) continue;
        equal = true;
        for (int v = 0; v < k->inst.n; v++)
            if (k->inst.at[v].access == i) k->inst.at[v].access = first;
    }
    return equal;
}

/* The next instruction from v on that is no constant, nor made of such alone; -1: none. */
static int dync__form_next(const dync__kernel *k, const bool *number, int v)
{
    while (v < k->inst.n && number[v]) v++;
    return v < k->inst.n ? v : -1;
}

/* Did constants that became numbers leave all else as it was? A division by a power of two becomes
 * a product, by 1 nothing: fusion would have weighed that. */
static bool dync__form_is_kept(const dync__kernel *k, const dync__kernel *from)
{
    const bool *kept = dync__kernel_numbers(k, k->arena);
    const bool *had = dync__kernel_numbers(from, k->arena);
    if (!kept || !had) return false;
    int v = dync__form_next(k, kept, 0), w = dync__form_next(from, had, 0);
    while (v >= 0 && w >= 0 && k->inst.at[v].prim == from->inst.at[w].prim) {
        v = dync__form_next(k, kept, v + 1);
        w = dync__form_next(from, had, w + 1);
    }
    return v < 0 && w < 0;
}

/* Indices that are read by, with numbers: what these make equal is checked once, as where they are
 * numbers from the start. */
static bool dync__form_bounds(dync__form_sizes *z, dync__kernel *k, const dync__kernel *from)
{
    memset(&k->bound, 0, sizeof k->bound);
    for (int i = 0; i < from->bound.n; i++) {
        dync__bound bound = from->bound.at[i];
        bound.size = dync__form_size(z, bound.size);
        dync__form_layout(z, &bound.lay);
        if (!dync__kernel_bound(k, &bound)) return false;
    }
    return true;
}

static dync__kernel *dync__form_kernel(dync__form_sizes *z, dync__arena *arena,
                                       const dync__kernel *from)
{
    dync__kernel *k = dync__arena_copy(arena, from, sizeof *k);
    bool constants = false; /* what is folded and shared with numbers alone */
    if (!k) return NULL;
    k->arena = arena;
    memset(&k->share, 0, sizeof k->share);
    k->inst.at = dync__arena_copy(arena, from->inst.at, (size_t)from->inst.n * sizeof *k->inst.at);
    k->access.at =
        dync__arena_copy(arena, from->access.at, (size_t)from->access.n * sizeof *k->access.at);
    k->buf.at = dync__arena_copy(arena, from->buf.at, (size_t)from->buf.n * sizeof *k->buf.at);
    k->inst.cap = k->inst.n;
    k->access.cap = k->access.n;
    k->buf.cap = k->buf.n;
    if ((k->inst.n && !k->inst.at) || (k->access.n && !k->access.at) || (k->buf.n && !k->buf.at))
        return NULL;
    for (int d = 0; d < k->n_dims; d++) k->extent[d] = dync__form_size(z, k->extent[d]);
    for (int i = 0; i < k->access.n; i++) {
        dync__access *a = &k->access.at[i];
        a->offset = dync__form_size(z, a->offset);
        for (int d = 0; d < k->n_dims; d++) a->stride[d] = dync__form_size(z, a->stride[d]);
        a->rows = dync__form_size(z, a->rows);
        a->row_stride = dync__form_size(z, a->row_stride);
    }
    if (!dync__form_bounds(z, k, from)) return NULL;
    for (int i = 0; i < k->buf.n; i++) k->buf.at[i].size = dync__form_size(z, k->buf.at[i].size);
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_const_) constants |= dync__form_const(z, &k->inst.at[i]);
    bool merged = dync__form_accesses(k, from);
    z->merged |= merged;
    if (merged || constants) dync__kernel_simplify(k);
    if (constants && !k->failed && !dync__form_is_kept(k, from)) z->ok = false;
    return k->failed ? NULL : k;
}

/* ---- calls ----------------------------------------------------------------------------------- */
static void dync__form_attr(dync__form_sizes *z, const dync__attr_field *f, dync__attr *attr)
{
    for (; f && f->name; f++) {
        int64_t word;
        char *at = (char *)attr + f->offset;
        for (int i = 0; i < (f->type == DYNC__ATTR_PAIR ? 2 : 1); i++, at += sizeof word) {
            if (!z->value || (f->type > DYNC__ATTR_PAIR && f->type != DYNC__ATTR_REAL)) break;
            memcpy(&word, at, sizeof word);
            word = f->type == DYNC__ATTR_REAL ? dync__symtab_value(z->syms, word, z->value, &z->ok)
                                              : dync__form_size(z, word);
            memcpy(at, &word, sizeof word);
        }
    }
}

static dync__kcall *dync__form_call(dync__form_sizes *z, dync__arena *arena,
                                    const dync__kcall *from)
{
    dync__kcall *c = dync__arena_copy(arena, from, dync__kcall_bytes(from));
    for (int i = 0; c && i < c->n; i++) dync__form_layout(z, &c->operand[i].lay);
    if (c) dync__form_attr(z, c->row->attr, &c->attr);
    if (c && z->value && c->row->inside) {
        c->attr.opaque.syms = z->syms;
        c->attr.opaque.value = z->value;
    }
    return c;
}

/* ---- all of it ------------------------------------------------------------------------------- */
DYNC__FN dync__kernel *dync__kernel_at(const dync__kernel *from, const dync__symtab *syms,
                                       const int64_t *value, dync__arena *arena)
{
    dync__form_sizes z = {syms, value, true, false};
    dync__kernel *k = dync__form_kernel(&z, arena, from);
    return z.ok ? k : NULL;
}

DYNC__FN dync_status dync__steps_at(const dync__steps *form, const dync__symtab *syms,
                                    const int64_t *value, dync__pb *pb, dync__steps *out)
{
    dync__form_sizes z = {syms, value, true, false};
    dync__arena *arena = pb->arena;
    *pb = *form->pb;
    pb->arena = arena;
    pb->sized = !value;
    pb->slot.at =
        dync__arena_copy(arena, form->pb->slot.at, (size_t)form->pb->slot.n * sizeof *pb->slot.at);
    *out = *form;
    out->pb = pb;
    out->at = dync__arena_copy(arena, form->at, (size_t)(form->n + 1) * sizeof *out->at);
    if ((pb->slot.n && !pb->slot.at) || !out->at) return DYNC_ERR_MEMORY;
    pb->slot.cap = pb->slot.n;
    pb->rng_used = (uint64_t)dync__form_size(&z, (int64_t)pb->rng_used);
    for (int i = 0; i < pb->slot.n; i++)
        pb->slot.at[i].size = dync__form_size(&z, pb->slot.at[i].size);
    for (int i = 0; i < out->n; i++) {
        dync__fuse_step *s = &out->at[i];
        if (s->k && !(s->k = dync__form_kernel(&z, arena, s->k))) return DYNC_ERR_MEMORY;
        if (!s->k && s->call && !(s->call = dync__form_call(&z, arena, s->call)))
            return DYNC_ERR_MEMORY;
    }
    out->merged = z.merged;
    if (!z.ok) return DYNC_ERR_UNSUPPORTED;
    return dync__steps_check_after(out, DYNC__PASS_simplify);
}
