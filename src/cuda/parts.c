/* cuda/parts.c: the parts of a step's code: loops, texts, products, room of their own. Before the
 * calls that are made of them; after: launch.c makes texts of the loops and runs them. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

DYNC__FN dync__kernel *dync__cuda_kernel_copy(dync__arena *arena, const dync__kernel *k)
{
    dync__kernel *out = dync__kernel_new(arena, k->name, k->n_outer, k->n_dims, k->extent);
    if (!out) return NULL;
    for (int i = 0; i < k->buf.n; i++) {
        dync__buf b = k->buf.at[i];
        b.name = b.name ? dync__arena_strdup(arena, b.name) : NULL;
        if (!dync__avec_push(arena, &out->buf, b)) return NULL;
    }
    for (int i = 0; i < k->access.n; i++)
        if (!dync__avec_push(arena, &out->access, k->access.at[i])) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        in.origin = in.origin ? dync__arena_strdup(arena, in.origin) : NULL;
        if (!dync__avec_push(arena, &out->inst, in)) return NULL;
    }
    out->uses_random = k->uses_random;
    return out;
}

DYNC__FN dync__cuda_part *dync__cuda_part_new(dync__cuda_code *c, int n)
{
    dync__cuda_part part;
    memset(&part, 0, sizeof part);
    part.n = n;
    part.buf = dync__arena_alloc(&c->arena, (size_t)(n + 1) * sizeof *part.buf);
    part.host = dync__arena_alloc(&c->arena, (size_t)(n + 1));
    if (n > 64)
        dync__fail(DYNC_ERR_UNSUPPORTED, "a GPU kernel takes at most 64 buffers, this one has %d",
                   n);
    if (n > 64 || !part.buf || !part.host || !dync__avec_push(&c->arena, &c->part, part))
        return NULL;
    return &c->part.at[c->part.n - 1];
}

DYNC__FN bool dync__cuda_add_loop(dync__cuda_code *c, dync__kernel *k)
{
    for (int d = 0; k && !k->failed && d < k->n_dims; d++)
        if (k->extent[d] == 0) return true;
    if (!k || k->failed) return dync__fail_memory(0), false;
    dync__kernel_simplify(k);
    dync__kernel_schedule(k);
    dync__cuda_part *part = k->failed ? NULL : dync__cuda_part_new(c, k->buf.n);
    if (!part) return false;
    part->kernel = k;
    for (int i = 0; i < k->buf.n; i++)
        part->buf[i] = k->buf.at[i].id >= DYNC__CUDA_TEMP ? DYNC__CUDA_TEMP - 1 - k->buf.at[i].id
                                                          : k->buf.at[i].id;
    return true;
}

DYNC__FN bool dync__cuda_add_pack(dync__cuda_code *c, dync__kernel *k, const dync__kcall *call,
                                  int operand, int temp)
{
    int n = c->part.n;
    if (!dync__cuda_add_loop(c, k)) return false;
    if (c->part.n == n || !call->operand[operand].input) return true;
    dync__cuda_packed *packed = dync__arena_alloc(&c->arena, sizeof *packed);
    if (!packed) return false;
    *packed = (dync__cuda_packed){
        .input = call->operand[operand].input, .operand = operand, .temp = temp - DYNC__CUDA_TEMP};
    c->part.at[n].packed = packed;
    return c->packs = true;
}

DYNC__FN bool dync__cuda_add_text(dync__cuda_code *c, const dync__ptx_text *t, int n,
                                  const int32_t *buf)
{
    dync__cuda_part *part = dync__cuda_part_new(c, n);
    if (!part) {
        dync__str text = t->text;
        dync__str_free(&text);
        return false;
    }
    part->form[0].text = *t;
    part->form[0].made = true;
    for (int i = 0; i < n; i++)
        part->buf[i] = buf[i] >= DYNC__CUDA_TEMP ? DYNC__CUDA_TEMP - 1 - buf[i] : buf[i];
    return !t->text.failed;
}

DYNC__FN bool dync__cuda_add_form(dync__cuda_code *c, int which, const dync__ptx_text *t)
{
    dync__cuda_form *f = &c->part.at[c->part.n - 1].form[which];
    f->text = *t;
    f->made = true;
    f->kept = dync__arena_alloc(&c->arena, (size_t)(t->n_maps + 1) * sizeof *f->kept);
    return !t->text.failed && f->kept;
}

DYNC__FN bool dync__cuda_add_variant(dync__cuda_code *c, const dync__ptx_text *t)
{
    return dync__cuda_add_form(c, DYNC__CUDA_VARIANT, t);
}

DYNC__FN bool dync__cuda_add_gemm(dync__cuda_code *c, struct dync__gm *g, const dync__kernel *end,
                                  const bool *host, const int32_t *buf)
{
    dync__cuda_part *part = dync__cuda_part_new(c, end->buf.n);
    if (!part) return false;
    part->kernel = (dync__kernel *)(uintptr_t)end;
    part->gemm = g;
    for (int i = 0; i < part->n; i++) {
        part->buf[i] = buf[i] >= DYNC__CUDA_TEMP ? DYNC__CUDA_TEMP - 1 - buf[i] : buf[i];
        part->host[i] = host[i];
    }
    return true;
}

DYNC__FN int dync__cuda_add_temp(dync__cuda_code *c, int64_t bytes)
{
    if (c->temp.n == 8 || !dync__avec_push(&c->arena, &c->temp, bytes)) return -1;
    return DYNC__CUDA_TEMP + c->temp.n - 1;
}
