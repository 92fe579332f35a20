/* cuda/make.c: code made for kernels and calls, in the variants that a device needs. Before:
 * launch.c. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__HOT

/* ---- making ---------------------------------------------------------------------------------- */

DYNC__FN void dync__cuda_code_free(void *code)
{
    dync__cuda_code *c = code;
    if (!c) return;
    for (int i = 0; i < c->part.n; i++) {
        for (int f = 0; f < DYNC__CUDA_FORMS; f++) dync__str_free(&c->part.at[i].form[f].text.text);
        dync__kcall *call = c->part.at[i].call;
        const dync__cuda_packed *packed = c->part.at[i].packed;
        if (packed) dync__cuda_free(c->device, packed->memory, (size_t)c->temp.at[packed->temp]);
        for (int k = 0; call && k < DYNC__KCALL_PIECES; k++) dync__code_free(call->piece[k]);
        if (call && call->drop) call->drop(call->state);
    }
    dync__arena_free(&c->arena);
    dync__free(c, sizeof *c);
}

DYNC__FN void dync__cuda_code_dump(dync__str *s, const void *code)
{
    const dync__cuda_code *c = code;
    for (int i = 0; i < c->part.n; i++)
        for (int f = 0; f < DYNC__CUDA_FORMS; f++)
            if (c->part.at[i].form[f].made)
                dync__str_add(s, dync__str_get(&c->part.at[i].form[f].text.text));
}

/* Is the variant there and loaded? One that the driver refuses is forgotten. */
static bool dync__cuda_variant_of(dync__cuda_code *c, dync__cuda_part *part)
{
    dync__cuda_form *f = &part->form[DYNC__CUDA_VARIANT];
    dync__error_guard guard;
    if (!f->made) return false;
    dync__error_guard_begin(&guard);
    bool ok = dync__cuda_form_of(c, part, DYNC__CUDA_VARIANT) != NULL;
    const dync__error_slot *error = dync__error_guard_end(&guard);
    if (!ok)
        dync__log(DYNC__LOG_perf, "cuda: a variant for this device is left out: %s",
                  error->message);
    return ok;
}

/* Texts are made at once, so that DYNC_LOG=code and errors come where the plan is made; what a
 * variant leaves over is loaded when it is met. */
DYNC__FN void *dync__cuda_code_finish(dync__cuda_code *c, bool ok)
{
    for (int i = 0; i < c->part.n && ok; i++)
        ok = c->part.at[i].call || dync__cuda_variant_of(c, &c->part.at[i]) ||
             dync__cuda_form_of(c, &c->part.at[i], DYNC__CUDA_ANY) != NULL;
    if (ok) return c;
    dync__cuda_code_free(c);
    return NULL;
}

DYNC__FN void *dync__cuda_kernel_new(int device, const dync__kernel *k, const bool *host)
{
    if (dync__cuda_known(device) != DYNC_OK) return NULL;
    dync__cuda_code *c = dync__calloc(sizeof *c);
    if (!c) return NULL;
    c->device = device;
    c->n_buffers = k->buf.n;
    dync__kernel *own = dync__cuda_kernel_copy(&c->arena, k);
    dync__cuda_part *part = own ? dync__cuda_part_new(c, k->buf.n) : NULL;
    if (part) {
        part->kernel = own;
        for (int i = 0; i < k->buf.n; i++) {
            part->buf[i] = i;
            part->host[i] = host[i];
        }
    }
    bool empty = false;
    /* row code of empty rows still runs */
    for (int d = 0; d < k->n_outer; d++) empty |= k->extent[d] == 0;
    if (part && empty) c->part.n = 0;
    return dync__cuda_code_finish(c, part != NULL);
}

static dync_status dync__cuda_add_host(dync__cuda_code *c, const dync__kcall *from)
{
    dync__kcall *call = dync__arena_copy(&c->arena, from, dync__kcall_bytes(from));
    dync__cuda_part *part = call ? dync__cuda_part_new(c, 0) : NULL;
    if (!part) return DYNC_ERR_MEMORY;
    part->call = call;
    dync__log(DYNC__LOG_perf, "cuda: %s has no kernel for GPUs and runs on the CPU",
              call->row->name);
    return call->row->prepare ? call->row->prepare(call) : DYNC_OK;
}

DYNC__FN void *dync__cuda_call_new(int device, const dync__kcall *call,
                                   const dync__kernel *const with[3], const bool *host, bool keep)
{
    if (dync__cuda_known(device) != DYNC_OK) return NULL;
    dync__cuda_code *c = dync__calloc(sizeof *c);
    if (!c) return NULL;
    bool done = false;
    c->device = device;
    c->n_buffers = call->n;
    dync__cuda_end end = {.host = host, .keep = keep};
    if (with) end.k = with[0], end.pre[0] = with[1], end.pre[1] = with[2];
    dync_status status = dync__cuda_gemm(c, call, &end, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_conv(c, call, &end, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_text(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_attention(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_recurrent(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_sort(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_loops(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_add_host(c, call);
    return dync__cuda_code_finish(c, status == DYNC_OK);
}
