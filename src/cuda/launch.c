/* cuda/launch.c: code of plans on a GPU: texts are made, loaded once per process and launched.
 * After memory.c, calls.c; before graphs.c.
 *
 * A loop kernel has two forms: with vector accesses, and without for memory that does not lie on
 * 16-byte boundaries; the second is made when it is first needed. Equal texts share one loaded
 * module. Nothing here waits for the device. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__HOT

typedef struct dync__cuda_module {
    struct dync__cuda_module *next;
    uint64_t hash;
    char *text;
    cudaLibrary_t library;
    cudaKernel_t kernel[DYNC__PTX_LAUNCHES];
    /* of the devices that it is an image for; 0: a text, for all */
    int capability;
    /* where its kernels may have the shared memory that they ask for: bits */
    unsigned devices;
} dync__cuda_module;
static struct {
    dync__mutex lock;
    dync__cuda_module *first;
} dync__cuda_modules;

static void dync__cuda_modules_end(void)
{
    while (dync__cuda_modules.first) {
        dync__cuda_module *m = dync__cuda_modules.first;
        dync__cuda_modules.first = m->next;
        (void)cudaLibraryUnload(m->library);
        dync__strfree(m->text);
        dync__free(m, sizeof *m);
    }
}

/* ---- loading --------------------------------------------------------------------------------- */

static int dync__cuda_capability(int index)
{
    return dync__cuda_unit_of(index)->major * 10 + dync__cuda_unit_of(index)->minor;
}

/* Library and kernels; the driver compiles a text when its first kernel is asked for, or at
 * once. */
static cudaError_t dync__cuda_kernels(dync__cuda_module *m, const dync__ptx_text *t, int *options,
                                      void **values)
{
    cudaError_t e = (cudaError_t)0;
    if (!m->capability)
        e = cudaLibraryLoadData(&m->library, m->text, (void *)options, values, 2, NULL, NULL, 0);
    for (int i = 0; e == 0 && i < t->n_launches; i++)
        e = cudaLibraryGetKernel(&m->kernel[i], m->library, t->launch[i].entry);
    return e;
}

static dync_status dync__cuda_load(dync__cuda_module *m, const dync__ptx_text *t, int index)
{
    static const size_t log_bytes = 2048;
    char log[2048];
    int options[2] = {DYNC__CU_JIT_ERROR_LOG, DYNC__CU_JIT_ERROR_LOG_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)log_bytes};
    log[0] = 0;
    if (dync__cuda_image_load(index, m->text, &m->library))
        m->capability = dync__cuda_capability(index);
    cudaError_t e = dync__cuda_kernels(m, t, options, values);
    if (e != 0) {
        char what[900];
        log[sizeof log - 1] = 0;
        dync__format(what, sizeof what, "the driver refused the kernel %s%s%.600s",
                     t->launch[0].entry, log[0] ? ": " : "", log);
        return dync__cuda_check(e, what);
    }
    (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.loads, 1);
    return DYNC_OK;
}

/* On this thread's device; every device has its own limits. */
static dync_status dync__cuda_module_allow(dync__cuda_module *m, const dync__ptx_text *t, int index)
{
    if (m->devices >> index & 1) return DYNC_OK;
    for (int i = 0; i < t->n_launches; i++)
        if (t->launch[i].shared_bytes > 0)
            DYNC__TRY(dync__cuda_check(cudaFuncSetAttribute((const void *)m->kernel[i],
                                                            DYNC__CU_FUNC_SHARED,
                                                            t->launch[i].shared_bytes),
                                       "cudaFuncSetAttribute"));
    m->devices |= 1u << index;
    return DYNC_OK;
}

static dync__cuda_module *dync__cuda_module_of(const dync__ptx_text *t, int index)
{
    const char *text = dync__str_get(&t->text);
    uint64_t hash = dync__hash_bytes(text, t->text.n, 0);
    dync__at_shutdown(dync__cuda_modules_end);
    dync__lock(&dync__cuda_modules.lock);
    dync__cuda_module *m = dync__cuda_modules.first;
    while (m &&
           (m->hash != hash || (m->capability && m->capability != dync__cuda_capability(index)) ||
            strcmp(m->text, text) != 0))
        m = m->next;
    if (!m && (m = dync__calloc(sizeof *m)) != NULL) {
        m->hash = hash;
        m->text = dync__strdup(text);
        if (!m->text || dync__cuda_load(m, t, index) != DYNC_OK) {
            if (m->library) (void)cudaLibraryUnload(m->library);
            dync__strfree(m->text);
            dync__free(m, sizeof *m);
            m = NULL;
        } else {
            m->next = dync__cuda_modules.first;
            dync__cuda_modules.first = m;
        }
    }
    if (m && dync__cuda_module_allow(m, t, index) != DYNC_OK) m = NULL;
    dync__unlock(&dync__cuda_modules.lock);
    return m;
}

/* A form of a part, made and loaded. */
DYNC__FN const dync__cuda_form *dync__cuda_form_of(dync__cuda_code *c, dync__cuda_part *part,
                                                   int which)
{
    dync__cuda_form *f = &part->form[which];
    if (DYNC__ATOMIC_LOAD(&f->module)) return f;
    dync_status status = DYNC_OK;
    dync__lock(&c->lock);
    if (!f->made) {
        status = part->gemm ? dync__gm_text(part->gemm, which, &f->text)
                            : dync__ptx_kernel(part->kernel, part->host,
                                               dync__cuda_unit_of(c->device >> 8)->units,
                                               which == DYNC__CUDA_UNALIGNED, &f->text);
        f->made = status == DYNC_OK;
    }
    dync__cuda_module *m = f->module;
    if (f->made && !m) m = dync__cuda_module_of(&f->text, c->device >> 8);
    DYNC__ATOMIC_STORE(&f->module, m);
    dync__unlock(&c->lock);
    return m ? f : NULL;
}

/* ---- launching ------------------------------------------------------------------------------- */

static bool dync__cuda_fits(const dync__ptx_text *t, const uint64_t *word)
{
    for (int i = 0; i < t->n_checks; i++)
        if ((word[t->check[i].buf] + (uint64_t)t->check[i].offset) % (unsigned)t->check[i].align)
            return false;
    return true;
}

/* The code's buffers, temporaries and numbers as this part's parameters. */
static void dync__cuda_words_of(const dync__cuda_part *part, void *const *buffers,
                                void *const *temp, uint64_t *word)
{
    for (int i = 0; i < part->n; i++) {
        int32_t b = part->buf[i];
        void *p = b >= 0 ? buffers[b] : temp[-1 - b];
        word[i] = 0;
        if (!part->host[i])
            word[i] = (uint64_t)(uintptr_t)p;
        else if (p)
            memcpy(&word[i], p, dync__dtype_info(part->kernel->buf.at[i].dtype)->bytes);
    }
}

/* CUtensorMap: 128 bytes on a boundary of 64. */
typedef struct dync__cuda_map {
    _Alignas(64) uint64_t word[16];
} dync__cuda_map;
typedef int (*dync__cuda_encode)(void *map, int type, uint32_t rank, void *base,
                                 const uint64_t *size, const uint64_t *stride, const uint32_t *box,
                                 const uint32_t *step, int interleave, int swizzle, int promotion,
                                 int fill);
static dync_status dync__cuda_map_of(const dync__ptx_map *m, uint64_t base, dync__cuda_map *out)
{
    static dync__cuda_function encode;
    static const uint32_t step[5] = {1, 1, 1, 1, 1};
    dync__cuda_function f = DYNC__ATOMIC_LOAD(&encode);
    if (!f)
        DYNC__ATOMIC_STORE(&encode,
                           f = dync__cuda_driver_function("cuTensorMapEncodeTiled", 12000));
    int e = f ? ((dync__cuda_encode)f)(out, m->type, (uint32_t)m->rank,
                                       (void *)(uintptr_t)(base + (uint64_t)m->offset), m->size,
                                       m->stride, m->box, step, 0, m->swizzle, 2 /* of 128 bytes */,
                                       0)
              : -1;
    return e == 0 ? DYNC_OK
                  : dync__fail(DYNC_ERR_DEVICE, "CUDA error %d: cuTensorMapEncodeTiled", e);
}

/* Those of a form; one that was made for the same address last time is taken again. */
static dync_status dync__cuda_maps_of(dync__cuda_code *c, const dync__cuda_form *f,
                                      const uint64_t *word, dync__cuda_map *out)
{
    dync_status status = DYNC_OK;
    if (f->text.n_maps == 0) return DYNC_OK;
    dync__lock(&c->lock);
    for (int i = 0; i < f->text.n_maps && status == DYNC_OK; i++) {
        dync__cuda_kept_map *kept = &f->kept[i];
        uint64_t base = word[f->text.map[i].buf];
        if (base != kept->base || base == 0) {
            status = dync__cuda_map_of(&f->text.map[i], base, &out[i]);
            kept->base = status == DYNC_OK ? base : 0;
            memcpy(kept->word, out[i].word, sizeof kept->word);
        } else {
            memcpy(out[i].word, kept->word, sizeof kept->word);
        }
    }
    dync__unlock(&c->lock);
    return status;
}

static dync_status dync__cuda_launch(dync__cuda_code *c, const dync__cuda_form *f, int n_words,
                                     uint64_t *word)
{
    void *args[80];
    dync__cuda_map map[DYNC__PTX_MAPS];
    memset(map, 0, sizeof map);
    DYNC__TRY(dync__cuda_maps_of(c, f, word, map));
    for (int i = 0; i < n_words; i++) args[i] = &word[i];
    for (int i = 0; i < f->text.n_maps; i++) args[n_words + i] = &map[i];
    for (int i = 0; i < f->text.n_launches; i++) {
        const dync__ptx_launch *l = &f->text.launch[i];
        dim3 grid, block;
        grid.x = (unsigned)l->grid[0];
        grid.y = (unsigned)l->grid[1];
        grid.z = (unsigned)l->grid[2];
        block.x = (unsigned)l->block;
        block.y = block.z = 1;
        int64_t step = 0;
        if (l->steps) args[n_words + f->text.n_maps] = &step;
        for (; step < DYNC__MAX(l->steps, 1); step++) {
            cudaError_t e = cudaLaunchKernel((const void *)f->module->kernel[i], grid, block, args,
                                             (size_t)l->shared_bytes, dync__cuda_stream(c->device));
            if (e != 0) return dync__cuda_check(e, l->entry);
            (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.launches, 1);
        }
    }
    return DYNC_OK;
}

static dync_status dync__cuda_run_part(dync__cuda_code *c, dync__cuda_part *part,
                                       void *const *buffers, void *const *temp, uint64_t seed,
                                       uint64_t offset)
{
    uint64_t word[72];
    void *scratch = NULL;
    int n = part->n;
    dync__cuda_recording *r = dync__cuda_tls.recording;
    dync__cuda_words_of(part, buffers, temp, word);
    const dync__cuda_form *f = &part->form[DYNC__CUDA_VARIANT];
    bool tf32 = DYNC__ATOMIC_LOAD(&dync__cuda_tf32) &&
                (part->gemm ? dync__gm_may_tf32(part->gemm) : part->form[DYNC__CUDA_TF32].made);
    if (tf32) f = dync__cuda_form_of(c, part, DYNC__CUDA_TF32);
    if (!f) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    if (!f->module || !dync__cuda_fits(&f->text, word)) {
        f = dync__cuda_form_of(c, part, DYNC__CUDA_ANY);
        if (f && part->kernel && !dync__cuda_fits(&f->text, word))
            f = dync__cuda_form_of(c, part, DYNC__CUDA_UNALIGNED);
    }
    if (!f) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    if (f->text.scratch_bytes &&
        !(scratch = dync__cuda_alloc(c->device, (size_t)f->text.scratch_bytes)))
        return DYNC_ERR_MEMORY;
    word[n++] = (uint64_t)(uintptr_t)scratch;
    if (f->text.random) {
        word[n++] = r ? (uint64_t)(uintptr_t)r->rng : 0;
        word[n++] = seed;
        word[n++] = r ? offset - r->rng_first : offset;
    }
    dync_status status = dync__cuda_launch(c, f, n, word);
    dync__cuda_free(c->device, scratch, (size_t)f->text.scratch_bytes);
    return status;
}

/* Operands to main memory, the CPU's kernel, results back. */
static dync_status dync__cuda_run_host(dync__cuda_code *c, const dync__kcall *call,
                                       void *const *buffers)
{
    void *data[DYNC__KCALL_OPERANDS] = {NULL};
    size_t bytes[DYNC__KCALL_OPERANDS] = {0};
    dync_status status = DYNC_OK;
    if (dync__cuda_tls.recording) {
        dync__cuda_tls.recording->left = true;
        return DYNC_OK;
    }
    for (int i = 0; i < call->n && status == DYNC_OK; i++) {
        bytes[i] = (size_t)dync__layout_span(&call->operand[i].lay) *
                   dync__dtype_info(call->operand[i].dtype)->bytes;
        if (bytes[i] && !(data[i] = dync__alloc_data(bytes[i])))
            status = DYNC_ERR_MEMORY;
        else if (bytes[i])
            status = dync__cuda_copy(DYNC_CPU, data[i], c->device, buffers[i], bytes[i]);
    }
    void *scratch = call->scratch_bytes ? dync__alloc_data(call->scratch_bytes) : NULL;
    if (call->scratch_bytes && !scratch) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = call->row->run(call, data, scratch);
    for (int i = 0; i < call->n; i++) {
        if (status == DYNC_OK && call->operand[i].written && bytes[i])
            status = dync__cuda_copy(c->device, buffers[i], DYNC_CPU, data[i], bytes[i]);
        if (data[i]) dync__free_data(data[i], bytes[i]);
    }
    if (scratch) dync__free_data(scratch, call->scratch_bytes);
    (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.host_steps, 1);
    return status;
}

/* What was packed in a run before, where nothing has changed since: *memory; else NULL. The second
 * run in a row with the same packs it for those that follow. What dync_data gave away or the user
 * lent may change unseen, and a recorded graph is played when it may have changed: never kept. */
static dync_status dync__cuda_packed_of(dync__cuda_code *c, dync__cuda_part *part,
                                        void *const *buffers, void **temp)
{
    dync__cuda_packed *k = part->packed;
    const dync__tensor *t = dync__tls.plan_tensors ? dync__tls.plan_tensors[k->input - 1] : NULL;
    void *from = buffers[k->operand];
    if (!t || dync__cuda_tls.recording ||
        (t->storage->flags & (DYNC__STORAGE_EXPOSED | DYNC__STORAGE_BORROWED)))
        return DYNC_OK;
    cudaStream_t stream = dync__cuda_stream(c->device);
    bool same = k->from == from && k->storage == t->storage->id &&
                k->version == t->storage->version && k->stream == stream;
    size_t bytes = (size_t)c->temp.at[k->temp];
    if (!same) {
        dync__cuda_free(c->device, k->memory, bytes);
        *k = (dync__cuda_packed){k->input,       k->operand,          k->temp, from,
                                 t->storage->id, t->storage->version, stream,  NULL};
    } else if (!k->memory) {
        if (!(temp[k->temp] = dync__cuda_alloc(c->device, bytes))) return DYNC_ERR_MEMORY;
        dync_status status = dync__cuda_run_part(c, part, buffers, temp, 0, 0);
        if (status == DYNC_OK)
            k->memory = temp[k->temp];
        else
            dync__cuda_free(c->device, temp[k->temp], bytes);
        temp[k->temp] = NULL;
        DYNC__TRY(status);
    }
    temp[k->temp] = k->memory;
    return DYNC_OK;
}

DYNC__FN dync_status dync__cuda_run(const void *code, void *const *buffers, uint64_t seed,
                                    uint64_t offset)
{
    dync__cuda_code *c = (dync__cuda_code *)(uintptr_t)code;
    void *temp[8] = {NULL};
    bool kept[8] = {false};
    dync_status status = dync__cuda_enter(c->device);
    if (c->packs) dync__lock(&c->packing);
    for (int i = 0; c->packs && i < c->part.n && status == DYNC_OK; i++)
        if (c->part.at[i].packed) status = dync__cuda_packed_of(c, &c->part.at[i], buffers, temp);
    for (int i = 0; i < c->temp.n && status == DYNC_OK; i++) {
        kept[i] = temp[i] != NULL;
        if (!temp[i] && !(temp[i] = dync__cuda_alloc(c->device, (size_t)c->temp.at[i])))
            status = DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < c->part.n && status == DYNC_OK; i++) {
        dync__cuda_part *part = &c->part.at[i];
        if (part->packed && kept[part->packed->temp]) continue;
        status = part->call ? dync__cuda_run_host(c, part->call, buffers)
                            : dync__cuda_run_part(c, part, buffers, temp, seed, offset);
    }
    for (int i = 0; i < c->temp.n; i++)
        if (!kept[i]) dync__cuda_free(c->device, temp[i], (size_t)c->temp.at[i]);
    if (c->packs) dync__unlock(&c->packing);
    return status;
}
