/* onnx/ort.c: ONNX Runtime opened at run time: the library, sessions, runs. After ort.h, before
 * onnxrt.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "../base/library.h"
#include "../kernel/operand.h"
#include "ort.h"
DYNC__COLD

/* ---- the library ----------------------------------------------------------------------------- */

/* OrtApiBase of ONNX Runtime's C interface: the two functions that never change place. */
typedef struct dync__ort_base {
    void *const *(*api)(uint32_t version);
    const char *(*version)(void);
} dync__ort_base;

static struct {
    dync__mutex lock;
    int state; /* 0 not tried, 1 open, -1 not to be had */
    dync__ort ort;
} dync__ort_library;

/* DYNC_ONNXRUNTIME alone where it is set; else the loader's places, then beside the program. */
static void *dync__ort_find(void)
{
    static const char *const name[] = {"libonnxruntime.so", "libonnxruntime.so.1",
                                       "libonnxruntime.dylib"};
    const char *path = dync__env("DYNC_ONNXRUNTIME");
    void *library = NULL;
    if (path && *path) return dync__lib_open(path);
    for (int i = 0; i < DYNC__COUNT_OF(name) && !library; i++) library = dync__lib_open(name[i]);
    for (int i = 0; i < DYNC__COUNT_OF(name) && !library; i++)
        library = dync__lib_open_beside(name[i]);
    return library;
}

/* The table of the version that dync knows: functions are read by their place in it (ort.h). Older
 * libraries have no such table. */
static bool dync__ort_load(dync__ort *o)
{
    const dync__ort_base *(*base)(void) = NULL;
    o->library = dync__ort_find();
    dync__lib_fn found = dync__lib_symbol(o->library, "OrtGetApiBase");
    memcpy(&base, &found, sizeof base);
    void *const *api = base ? base()->api(DYNC__ORT_VERSION) : NULL;
    if (!api) return false;
#define DYNC__X(name, place, result, args) memcpy(&o->name, &api[place], sizeof o->name);
    DYNC__ORT_CALLS(DYNC__X)
#undef DYNC__X
    if (o->create_env(DYNC__ORT_LOG_FATAL, "dync", &o->env)) return false;
    return !o->create_memory(DYNC__ORT_DEVICE_ALLOCATOR, DYNC__ORT_MEMORY_DEFAULT, &o->memory);
}

DYNC__FN dync_status dync__ort_open(const dync__ort **out)
{
    dync__lock(&dync__ort_library.lock);
    if (dync__ort_library.state ==
        0) /* it stays open, with its threads: sessions may outlive all */
        dync__ort_library.state = dync__ort_load(&dync__ort_library.ort) ? 1 : -1;
    int state = dync__ort_library.state;
    dync__unlock(&dync__ort_library.lock);
    *out = &dync__ort_library.ort;
    if (state == 1) return DYNC_OK;
    return dync__fail(
        DYNC_ERR_BACKEND,
        "backend 'onnxrt' is not available: ONNX Runtime is not part of this program; 'inductor' "
        "needs nothing. libonnxruntime.so is looked for where the variable DYNC_ONNXRUNTIME says, "
        "else where the system's loader looks, else beside the program; pip's package onnxruntime "
        "has it (onnxruntime/capi/libonnxruntime.so.1.*)");
}

DYNC__FN dync_status dync__ort_check(const dync__ort *o, dync__ort_status *status,
                                     const char *doing)
{
    if (!status) return DYNC_OK;
    dync_status said =
        dync__fail(DYNC_ERR_BACKEND, "onnxrt: %s: %s", doing, o->error_message(status));
    o->release_status(status);
    return said;
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* One of the providers "CPU+CUDA": the library exports a function that appends each it was built
 * with. */
static dync_status dync__ort_provider(const dync__ort *o, dync__ort_settings *settings,
                                      const char *name, size_t n)
{
    char symbol[96], **have = NULL;
    int count = 0;
    dync__ort_status *(*append)(dync__ort_settings *, int) = NULL;
    dync__format(symbol, sizeof symbol, "OrtSessionOptionsAppendExecutionProvider_%.*s", (int)n,
                 name);
    dync__lib_fn found = dync__lib_symbol(o->library, symbol);
    memcpy(&append, &found, sizeof append);
    /* the number is an option of the provider's own: a device for most, an arena for the CPU */
    if (append) return dync__ort_check(o, append(settings, 0), symbol);
    DYNC__TRY(dync__ort_check(o, o->providers(&have, &count), "providers"));
    dync__str s = {0};
    for (int i = 0; i < count; i++) dync__str_addf(&s, "%s%s", i ? ", " : "", have[i]);
    dync__ort_status *ended = o->release_providers(have, count);
    if (ended) o->release_status(ended);
    dync_status said = dync__fail(DYNC_ERR_VALUE, "backend 'onnxrt': provider '%.*s': there are %s",
                                  (int)n, name, dync__str_get(&s));
    dync__str_free(&s);
    return said;
}

/* opt_level 0 to 3 as ONNX Runtime numbers its levels (none, basic, extended, all), threads within
 * an operator, providers in order of preference. */
static dync_status dync__ort_set(const dync__ort *o, const dync__options *options,
                                 dync__ort_settings *s)
{
    static const int level[] = {0, 1, 2, DYNC__ORT_OPTIMIZE_ALL};
    int opt = options->opt_level >= 0 ? level[options->opt_level] : DYNC__ORT_OPTIMIZE_ALL;
    DYNC__TRY(dync__ort_check(o, o->set_optimization(s, opt), "opt_level"));
    if (options->threads)
        DYNC__TRY(dync__ort_check(o, o->set_threads(s, options->threads), "threads"));
    for (const char *p = options->providers; *p; p += strspn(p, "+ ")) {
        size_t n = strcspn(p, "+ ");
        DYNC__TRY(dync__ort_provider(o, s, p, n));
        p += n;
    }
    return DYNC_OK;
}

/* "... with node name 'gelu.5'": the node that has no kernel. */
static bool dync__ort_lacking(const char *message, char node[128])
{
    const char *at = strstr(message, "node with name '");
    if (!at) return false;
    at += strlen("node with name '");
    dync__format(node, 128, "%.*s", (int)DYNC__MIN(strcspn(at, "'"), 127), at);
    return true;
}

DYNC__FN dync_status dync__ort_session_of(const dync__ort *o, const dync__onnx_model *model,
                                          const dync__options *options, char node[128],
                                          dync__ort_session **out)
{
    dync__str bytes = {0};
    dync__ort_settings *settings = NULL;
    *out = NULL;
    dync_status status = dync__onnx_write(&bytes, model, model);
    if (status == DYNC_OK) status = dync__ort_check(o, o->create_settings(&settings), "settings");
    if (status == DYNC_OK) status = dync__ort_set(o, options, settings);
    if (status == DYNC_OK) {
        dync__ort_status *s = o->create_session(o->env, bytes.at, bytes.n, settings, out);
        if (s && o->error_code(s) == DYNC__ORT_NOT_IMPLEMENTED &&
            dync__ort_lacking(o->error_message(s), node)) {
            o->release_status(s);
            status = DYNC_ERR_UNSUPPORTED;
        } else {
            status = dync__ort_check(o, s, "a session");
        }
    }
    if (settings) o->release_settings(settings);
    dync__str_free(&bytes);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* A value over the tensor's own memory, which has to be dense and to outlive the run. */
static dync_status dync__ort_bind(const dync__ort *o, const dync__tensor *t, dync__ort_value **out)
{
    static char nothing; /* a tensor of no elements lies somewhere, too */
    size_t item = dync__dtype_info(t->dtype)->bytes, bytes = (size_t)t->numel * item;
    char *data = bytes ? (char *)t->storage->data + (size_t)t->lay.offset * item : &nothing;
    return dync__ort_check(o,
                           o->create_value(o->memory, data, bytes, t->lay.shape,
                                           (size_t)t->lay.ndim, dync__dtype_info(t->dtype)->onnx,
                                           out),
                           "a tensor");
}

static bool dync__ort_is_dense(const dync__layout *lay) { return dync__layout_is_contiguous(lay); }

static void dync__ort_row_major(const dync__layout *lay, dync__layout *out)
{
    *out = *lay;
    out->offset = 0;
    for (int64_t d = lay->ndim - 1, step = 1; d >= 0; step *= lay->shape[d--])
        out->stride[d] = step;
}

/* Of what the graph says: row major as it is; else a copy in its strides. */
static dync_status dync__ort_laid(const dync__info *info, dync__tensor **t)
{
    dync__layout lay = info->lay;
    lay.offset = 0;
    if (dync__ort_is_dense(&lay)) return DYNC_OK;
    dync__tensor *to = dync__tensor_empty(info->dtype, DYNC_CPU, &lay), *from = *t;
    *t = to;
    if (to && to->numel)
        dync__copy_elements(lay.ndim, lay.shape, dync__tensor_data(to), info->dtype, lay.stride,
                            dync__tensor_data(from), info->dtype, from->lay.stride);
    dync__unref(from);
    return to ? DYNC_OK : DYNC_ERR_MEMORY;
}

typedef struct dync__ort_call {
    dync__ort_value **in, **out;
    dync__tensor **dense; /* copies of inputs, or NULL */
    int n_in, n_out;
} dync__ort_call;

/* Binds every input; strided ones as dense copies, which the call keeps until the run is over. */
static dync_status dync__ort_inputs(const dync__ort *o, dync__ort_call *c, dync__tensor *const *in)
{
    for (int i = 0; i < c->n_in; i++) {
        const dync__tensor *t = in[i];
        if (!dync__device_is(t->device, DYNC__DEV_HOST))
            return dync__fail(DYNC_ERR_DEVICE, "onnxrt: a tensor is not on the CPU");
        if (!dync__ort_is_dense(&t->lay)) t = c->dense[i] = dync__contiguous_copy(t);
        if (!t) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__ort_bind(o, t, &c->in[i]));
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__ort_run(const dync__ort *o, dync__ort_session *session, int n_in,
                                   const char *const *in_name, dync__tensor *const *in, int n_out,
                                   const char *const *out_name, const dync__info *info,
                                   dync__tensor **out)
{
    size_t n = (size_t)(2 * n_in + n_out) * sizeof(void *);
    void **block = dync__calloc(n + 1);
    if (!block) return DYNC_ERR_MEMORY;
    dync__ort_call c = {.in = (dync__ort_value **)block,
                        .out = (dync__ort_value **)block + n_in,
                        .dense = (dync__tensor **)block + n_in + n_out,
                        .n_in = n_in,
                        .n_out = n_out};
    dync_status status = dync__ort_inputs(o, &c, in);
    for (int i = 0; i < n_out; i++) out[i] = NULL;
    for (int i = 0; i < n_out && status == DYNC_OK; i++) {
        dync__layout lay;
        dync__ort_row_major(&info[i].lay, &lay);
        out[i] = dync__tensor_empty(info[i].dtype, DYNC_CPU, &lay);
        status = out[i] ? dync__ort_bind(o, out[i], &c.out[i]) : DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK && n_out)
        status =
            dync__ort_check(o,
                            o->run(session, NULL, in_name, (const dync__ort_value *const *)c.in,
                                   (size_t)n_in, out_name, (size_t)n_out, c.out),
                            "a run");
    for (int i = 0; i < n_out && status == DYNC_OK; i++) status = dync__ort_laid(&info[i], &out[i]);
    for (int i = 0; i < n_in; i++) {
        if (c.in[i]) o->release_value(c.in[i]);
        dync__unref(c.dense[i]);
    }
    for (int i = 0; i < n_out; i++) {
        if (c.out[i]) o->release_value(c.out[i]);
        if (status == DYNC_OK) continue;
        dync__unref(out[i]);
        out[i] = NULL;
    }
    dync__free(block, n + 1);
    return status;
}
#endif
