/* tests/cuda_emulator/cudart.c: a stand-in for libcudart, linked in its place. It has the functions
 * that dync_cuda.h uses and runs the PTX that it is given (ptx_run.c), so that numbers, errors and
 * the order of calls are checked where there is no GPU.
 *
 *   memory    device addresses lie in reserved pages: whoever follows one on the CPU dies; freed
 *             memory is never an address again
 *   errors    of kernels are kept and shown by the next call that waits, then by every call (as a
 *             lost context), until cuemu_reset
 *   streams   run in the order of calls; a stream under capture collects nodes, which a launched
 *             graph runs
 *   PTX       each text given is written to CUEMU_PTX_DIR, where that is set, for ptxas
 * CUEMU_NULL=1: kernels are counted and not run, for times of the host's side.
 * CUEMU_DEVICES (2), CUEMU_UNITS (4), CUEMU_CC (90) set the machine. What a program does that the
 * runtime forbids is an error, not undefined. */
#define _GNU_SOURCE
#include "emulator.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

typedef int cudaError_t;
typedef struct {
    unsigned x, y, z;
} dim3;
enum { MAX_DEVICES = 8, MAX_PARAMS = 2048 }; /* bytes */
#define SPACE ((uint64_t)1 << 32)            /* addresses of one device */

typedef struct library library;
typedef struct kernel {
    library *owner;
    const ptx_entry *entry;
    int shared;
} kernel;
struct library {
    ptx_module *module;
    char *log; /* of the driver, as its caller asked */
    kernel *kernels;
    library *next;
};
typedef struct node {
    int kind;
    kernel *k;
    unsigned grid[3], block[3];
    int cluster;
    size_t shared;
    char params[MAX_PARAMS];
    void *dst;
    const void *src;
    size_t n;
    int device;
} node;
typedef struct graph {
    node *at;
    int n;
} graph;
typedef struct stream {
    bool capturing, dead;
    graph g;
    int device;
} stream;
typedef struct event {
    double ms;
    bool recorded;
} event;

static struct {
    pthread_mutex_t lock;
    int devices, current, error, last, units, cc;
    bool started, null;
    uint64_t base, next[MAX_DEVICES];
    cuemu_region *region;
    int n_regions, cap_regions;
    cuemu_region *hit;
    int64_t limit, live, launches, instructions;
    char detail[600];
    library *libraries;
} emu = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}
static void start(void)
{
    if (emu.started) return;
    emu.started = true;
    if (emu.devices == 0) emu.devices = setting("CUEMU_DEVICES", 2);
    emu.units = setting("CUEMU_UNITS", 4);
    emu.cc = setting("CUEMU_CC", 90);
    emu.null = setting("CUEMU_NULL", 0);
    if (!emu.base) {
        void *p = mmap(NULL, SPACE * MAX_DEVICES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        emu.base = (uint64_t)(uintptr_t)p;
        for (int d = 0; d < MAX_DEVICES; d++) emu.next[d] = emu.base + SPACE * (uint64_t)d + 4096;
    }
}
static void enter(void)
{
    pthread_mutex_lock(&emu.lock);
    start();
}
static cudaError_t leave(cudaError_t e)
{
    if (e) emu.last = e;
    pthread_mutex_unlock(&emu.lock);
    return e;
}

/* ---- for tests ------------------------------------------------------------------------------- */
void cuemu_reset(void)
{
    emu.error = emu.last = 0;
    emu.limit = 0;
    emu.detail[0] = 0;
}
void cuemu_set_devices(int n) { emu.devices = n == 0 ? -3 : n; }
void cuemu_fail_malloc(int64_t bytes) { emu.limit = bytes; }
int64_t cuemu_launches(void) { return emu.launches; }
int64_t cuemu_live_bytes(void) { return emu.live; }
int64_t cuemu_instructions(void) { return emu.instructions; }
const char *cuemu_detail(void) { return emu.detail; }

/* ---- errors ---------------------------------------------------------------------------------- */
static const struct {
    int e;
    const char *name, *words;
} errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {35, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {209, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"}};
static int error_row(int e)
{
    for (int i = 0; i < (int)(sizeof errors / sizeof errors[0]); i++)
        if (errors[i].e == e) return i;
    return -1;
}
const char *cudaGetErrorString(cudaError_t e)
{
    return error_row(e) < 0 ? "unrecognized error code" : errors[error_row(e)].words;
}
const char *cudaGetErrorName(cudaError_t e)
{
    return error_row(e) < 0 ? "unrecognized error code" : errors[error_row(e)].name;
}
cudaError_t cudaGetLastError(void)
{
    int e = emu.error ? emu.error : emu.last;
    emu.last = 0;
    return e;
}
static cudaError_t state(void)
{
    return emu.devices == -1 || emu.devices == -2 ? CUEMU_INSUFFICIENT_DRIVER
           : emu.devices < 0                      ? CUEMU_NO_DEVICE
                                                  : emu.error;
}

/* ---- devices --------------------------------------------------------------------------------- */
cudaError_t cudaGetDeviceCount(int *n)
{
    enter();
    cudaError_t e = emu.devices == -2 || emu.devices == -1 ? CUEMU_INSUFFICIENT_DRIVER
                    : emu.devices < 0                      ? CUEMU_NO_DEVICE
                                                           : 0;
    *n = e ? 0 : emu.devices;
    return leave(e);
}
static _Thread_local int current_device;
cudaError_t cudaSetDevice(int d)
{
    enter();
    if (d < 0 || d >= emu.devices) return leave(CUEMU_INVALID_DEVICE);
    current_device = d;
    return leave(0);
}
cudaError_t cudaGetDevice(int *d)
{
    *d = current_device;
    return 0;
}
cudaError_t cudaDeviceGetAttribute(int *v, int attr, int d)
{
    enter();
    if (d < 0 || d >= emu.devices) return leave(CUEMU_INVALID_DEVICE);
    *v = attr == 16 ? emu.units : attr == 75 ? emu.cc / 10 : attr == 76 ? emu.cc % 10 : 0;
    return leave(attr == 16 || attr == 75 || attr == 76 ? 0 : CUEMU_INVALID_VALUE);
}
cudaError_t cudaDriverGetVersion(int *v)
{
    *v = emu.devices == -1 ? 0 : emu.devices == -2 ? 11040 : setting("CUEMU_DRIVER", 13000);
    return 0;
}
/* The driver's linker: an image is a head with the capability that it is for, then the text. */
typedef struct {
    char head[8], *image;
    size_t n;
} linker;
static int cuLinkCreate(unsigned n, int *options, void **values, void **state)
{
    (void)n, (void)options, (void)values;
    *state = calloc(1, sizeof(linker));
    return *state ? 0 : CUEMU_MEMORY;
}
static int cuLinkAddData(void *state, int type, void *data, size_t bytes, const char *name,
                         unsigned n, int *options, void **values)
{
    linker *l = state;
    (void)name, (void)n, (void)options, (void)values;
    if (type != 1 || l->image || bytes == 0 || ((char *)data)[bytes - 1])
        return CUEMU_INVALID_VALUE;
    ptx_module *m = ptx_parse(data);
    bool ok = !m->error[0] && m->n_entries > 0;
    ptx_free(m);
    if (!ok) return CUEMU_INVALID_PTX;
    l->n = bytes + 8;
    l->image = malloc(l->n);
    snprintf(l->image, 8, "\177EMU%d", emu.cc);
    memcpy(l->image + 8, data, bytes);
    return 0;
}
static int cuLinkComplete(void *state, void **image, size_t *bytes)
{
    linker *l = state;
    *image = l->image;
    *bytes = l->n;
    return l->image ? 0 : CUEMU_INVALID_VALUE;
}
static int cuLinkDestroy(void *state)
{
    free(((linker *)state)->image);
    free(state);
    return 0;
}
/* Functions of the driver, by name. */
static int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *base,
                                  const uint64_t *size, const uint64_t *stride, const uint32_t *box,
                                  const uint32_t *step, int interleave, int swizzle, int promotion,
                                  int fill)
{
    if (emu.cc < 90) return 801; /* CUDA_ERROR_NOT_SUPPORTED */
    return cuemu_tensor_map_encode(map, type, rank, base, size, stride, box, step, interleave,
                                   swizzle, promotion, fill);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags, int *found)
{
#define FUNCTION(name, since)              \
    {                                      \
        #name, since, (void (*)(void))name \
    }
    static const struct {
        const char *name;
        unsigned since;
        void (*function)(void);
    } table[] = {FUNCTION(cuLinkCreate, 5050), FUNCTION(cuLinkAddData, 5050),
                 FUNCTION(cuLinkComplete, 5050), FUNCTION(cuLinkDestroy, 5050),
                 FUNCTION(cuTensorMapEncodeTiled, 12000)};
#undef FUNCTION
    (void)flags;
    *function = NULL;
    *found = 1;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0 &&
            !(strncmp(name, "cuLink", 6) == 0 && getenv("CUEMU_NO_LINKER"))) {
            *found = version < table[i].since ? 2 : 0;
            if (*found == 0) memcpy(function, &table[i].function, sizeof *function);
        }
    return 0;
}
cudaError_t cudaDeviceSynchronize(void)
{
    enter();
    return leave(state());
}

/* ---- memory ---------------------------------------------------------------------------------- */
cuemu_region *cuemu_find(uint64_t a)
{
    if (emu.hit && emu.hit->alive && a >= emu.hit->address && a < emu.hit->address + emu.hit->n)
        return emu.hit;
    for (int i = emu.n_regions - 1; i >= 0; i--) {
        cuemu_region *r = &emu.region[i];
        if (a >= r->address && a < r->address + r->n && r->alive) return emu.hit = r;
    }
    return NULL;
}
cudaError_t cudaMalloc(void **p, size_t n)
{
    enter();
    *p = NULL;
    cudaError_t e = state();
    if (e) return leave(e);
    if (n == 0) return leave(0);
    if ((emu.limit && emu.live + (int64_t)n > emu.limit) || n > SPACE / 4)
        return leave(CUEMU_MEMORY);
    char *host = malloc(n);
    if (!host) return leave(CUEMU_MEMORY);
    memset(host, 0xcd, n);
    int at = -1;
    for (int i = 0; i < emu.n_regions && at < 0; i++)
        if (!emu.region[i].alive) at = i;
    if (at < 0) {
        if (emu.n_regions == emu.cap_regions) {
            emu.hit = NULL;
            emu.cap_regions = emu.cap_regions * 2 + 256;
            emu.region = realloc(emu.region, (size_t)emu.cap_regions * sizeof *emu.region);
        }
        at = emu.n_regions++;
    }
    emu.region[at] =
        (cuemu_region){emu.next[current_device], n, host, NULL, NULL, current_device, true};
    emu.next[current_device] += (n + 511) / 512 * 512 + 512;
    emu.live += (int64_t)n;
    *p = (void *)(uintptr_t)emu.region[at].address;
    return leave(0);
}
cudaError_t cudaFree(void *p)
{
    enter();
    if (!p) return leave(0);
    cuemu_region *r = cuemu_find((uint64_t)(uintptr_t)p);
    if (!r || r->address != (uint64_t)(uintptr_t)p) return leave(CUEMU_INVALID_VALUE);
    r->alive = false;
    emu.live -= (int64_t)r->n;
    free(r->host);
    free(r->wrote);
    free(r->read);
    return leave(0);
}
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned flags)
{
    (void)flags;
    enter();
    *p = state() ? NULL : malloc(n);
    return leave(state() ? state() : *p ? 0 : CUEMU_MEMORY);
}
cudaError_t cudaFreeHost(void *p)
{
    free(p);
    return 0;
}
/* The bytes behind an address of any kind; NULL: n bytes of device memory are not there. */
static char *bytes_at(const void *p, size_t n)
{
    uint64_t a = (uint64_t)(uintptr_t)p;
    if (a < emu.base || a >= emu.base + SPACE * MAX_DEVICES) return (char *)(uintptr_t)p;
    cuemu_region *r = cuemu_find(a);
    return r && a + n <= r->address + r->n ? r->host + (a - r->address) : NULL;
}
static void copy_now(void *dst, const void *src, size_t n)
{
    char *to = bytes_at(dst, n), *from = bytes_at(src, n);
    if (to && from)
        memmove(to, from, n);
    else if (!emu.error) {
        emu.error = CUEMU_ILLEGAL_ADDRESS;
        snprintf(emu.detail, sizeof emu.detail,
                 "a copy of %zu bytes from %p to %p leaves its allocation", n, src, dst);
    }
}
static node *add_node(stream *s)
{
    s->g.at = realloc(s->g.at, (size_t)(s->g.n + 1) * sizeof *s->g.at);
    memset(&s->g.at[s->g.n], 0, sizeof *s->g.at);
    return &s->g.at[s->g.n++];
}
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, int kind, stream *s)
{
    enter();
    if (state()) return leave(state());
    if (kind < 0 || kind > 4 || (s && s->dead)) return leave(CUEMU_INVALID_VALUE);
    if (s && s->capturing) {
        node *x = add_node(s);
        x->kind = 1;
        x->dst = dst;
        x->src = src;
        x->n = n;
    } else {
        if (!bytes_at(dst, n) || !bytes_at(src, n)) return leave(CUEMU_INVALID_VALUE);
        copy_now(dst, src, n);
    }
    return leave(0);
}
cudaError_t cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t n, stream *s)
{
    if (to < 0 || to >= emu.devices || from < 0 || from >= emu.devices) return CUEMU_INVALID_DEVICE;
    return cudaMemcpyAsync(dst, src, n, 4, s);
}

/* ---- streams and events ---------------------------------------------------------------------- */
cudaError_t cudaStreamCreateWithFlags(stream **s, unsigned flags)
{
    (void)flags;
    enter();
    *s = state() ? NULL : calloc(1, sizeof **s);
    if (*s) (*s)->device = current_device;
    return leave(state());
}
cudaError_t cudaStreamDestroy(stream *s)
{
    if (!s) return CUEMU_INVALID_HANDLE;
    free(s->g.at);
    free(s);
    return 0;
}
cudaError_t cudaStreamSynchronize(stream *s)
{
    enter();
    return leave(s && s->capturing ? CUEMU_CAPTURE_UNSUPPORTED : state());
}
cudaError_t cudaStreamWaitEvent(stream *s, event *e, unsigned flags)
{
    (void)s, (void)flags;
    enter();
    return leave(e ? state() : CUEMU_INVALID_HANDLE);
}
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
cudaError_t cudaEventCreateWithFlags(event **e, unsigned flags)
{
    (void)flags;
    *e = calloc(1, sizeof **e);
    return *e ? 0 : CUEMU_MEMORY;
}
cudaError_t cudaEventDestroy(event *e)
{
    free(e);
    return 0;
}
cudaError_t cudaEventRecord(event *e, stream *s)
{
    (void)s;
    enter();
    if (!e) return leave(CUEMU_INVALID_HANDLE);
    e->recorded = true;
    e->ms = now_ms();
    return leave(state());
}
cudaError_t cudaEventSynchronize(event *e)
{
    enter();
    return leave(e ? state() : CUEMU_INVALID_HANDLE);
}
cudaError_t cudaEventElapsedTime(float *ms, event *a, event *b)
{
    enter();
    if (!a || !b || !a->recorded || !b->recorded) return leave(CUEMU_INVALID_HANDLE);
    *ms = (float)(b->ms - a->ms);
    return leave(state());
}

/* ---- code ------------------------------------------------------------------------------------ */
static void keep_text(const char *text)
{
    const char *dir = getenv("CUEMU_PTX_DIR");
    uint64_t h = 1469598103934665603u;
    char path[600];
    if (!dir || !*dir) return;
    for (const char *c = text; *c; c++) h = (h ^ (unsigned char)*c) * 1099511628211u;
    mkdir(dir, 0777);
    snprintf(path, sizeof path, "%s/%016llx.ptx", dir, (unsigned long long)h);
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fputs(text, f);
    fclose(f);
}
cudaError_t cudaLibraryLoadData(library **out, const void *code, int *jit, void **values,
                                unsigned n_jit, void *options, void **more, unsigned n)
{
    (void)options, (void)more, (void)n;
    enter();
    if (state()) return leave(state());
    if (memcmp(code, "\177EMU", 4) == 0) {
        if (atoi((const char *)code + 4) != emu.cc) return leave(CUEMU_NO_BINARY);
        code = (const char *)code + 8;
    }
    library *l = calloc(1, sizeof *l);
    l->module = ptx_parse(code);
    /* texts are compiled when a kernel is asked for, as the driver does */
    for (unsigned i = 0; i < n_jit; i++)
        if (jit[i] == 5) l->log = values[i];
    if (!l->module->error[0]) keep_text(code);
    l->kernels = calloc((size_t)l->module->n_entries + 1, sizeof *l->kernels);
    for (int i = 0; i < l->module->n_entries; i++)
        l->kernels[i] = (kernel){l, &l->module->entry[i], 0};
    l->next = emu.libraries;
    emu.libraries = l;
    *out = l;
    return leave(0);
}
cudaError_t cudaLibraryUnload(library *l)
{
    enter();
    for (library **p = &emu.libraries; *p; p = &(*p)->next)
        if (*p == l) {
            *p = l->next;
            ptx_free(l->module);
            free(l->kernels);
            free(l);
            return leave(0);
        }
    return leave(CUEMU_INVALID_HANDLE);
}
cudaError_t cudaLibraryGetKernel(kernel **k, library *l, const char *name)
{
    enter();
    if (l->module->error[0] || l->module->n_entries == 0) {
        const char *why = l->module->error[0] ? l->module->error : "no entry";
        if (l->log) snprintf(l->log, 256, "%s", why);
        snprintf(emu.detail, sizeof emu.detail, "%s", why);
        return leave(CUEMU_INVALID_PTX);
    }
    for (int i = 0; i < l->module->n_entries; i++)
        if (strcmp(l->module->entry[i].name, name) == 0) {
            *k = &l->kernels[i];
            return leave(0);
        }
    return leave(CUEMU_NOT_FOUND);
}
cudaError_t cudaFuncSetAttribute(kernel *k, int attr, int value)
{
    enter();
    /* KiB a block may have */
    int most = emu.cc == 80 || emu.cc == 87                    ? 163
               : emu.cc == 86 || emu.cc == 89 || emu.cc >= 120 ? 99
                                                               : 227;
    if (attr != 8 || value < 0 || value > most * 1024) return leave(CUEMU_INVALID_VALUE);
    k->shared = value;
    return leave(0);
}
static void run_now(const node *x)
{
    emu.launches++;
    if (emu.error || emu.null) return;
    emu.error = ptx_launch(x->k->entry, x->grid, x->block, x->cluster, x->params, x->shared,
                           x->device, emu.detail, sizeof emu.detail, &emu.instructions);
    if (emu.error && !getenv("CUEMU_QUIET")) fprintf(stderr, "cuda emulator: %s\n", emu.detail);
}
static cudaError_t launch(kernel *k, dim3 grid, dim3 block, dim3 cluster, void **args,
                          size_t shared, stream *s)
{
    enter();
    if (state()) return leave(state());
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    const ptx_entry *e = k->entry;
    if (threads == 0 || threads > 1024 || threads > (uint64_t)e->max_threads || !grid.x ||
        !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
        return leave(CUEMU_INVALID_CONFIG);
    if (cluster.x == 0) cluster = (dim3){(unsigned)e->cluster, 1, 1};
    if (cluster.x > 8 || cluster.y != 1 || cluster.z != 1 || grid.x % cluster.x ||
        (e->cluster > 1 && (unsigned)e->cluster != cluster.x) || (cluster.x > 1 && emu.cc < 90))
        return leave(CUEMU_INVALID_CONFIG);
    if (shared + e->shared_bytes > 48 * 1024 &&
        (shared > (size_t)k->shared || shared + e->shared_bytes > 227 * 1024))
        return leave(CUEMU_INVALID_VALUE);
    node x;
    memset(&x, 0, sizeof x);
    x.k = k;
    x.grid[0] = grid.x, x.grid[1] = grid.y, x.grid[2] = grid.z;
    x.block[0] = block.x, x.block[1] = block.y, x.block[2] = block.z;
    x.cluster = (int)cluster.x;
    x.shared = shared;
    x.device = current_device;
    if (e->param_bytes > MAX_PARAMS) return leave(CUEMU_INVALID_VALUE);
    for (int i = 0; i < e->n_params; i++)
        memcpy(x.params + e->param[i].offset, args[i], (size_t)e->param[i].bytes);
    if (s && s->capturing)
        *add_node(s) = x;
    else
        run_now(&x);
    return leave(0);
}
cudaError_t cudaLaunchKernel(kernel *k, dim3 grid, dim3 block, void **args, size_t shared,
                             stream *s)
{
    return launch(k, grid, block, (dim3){0, 0, 0}, args, shared, s);
}
typedef struct {
    int id;
    char pad[4];
    union {
        char size[64];
        dim3 cluster;
    } value;
} attribute;
typedef struct {
    dim3 grid, block;
    size_t shared;
    stream *s;
    const attribute *at;
    unsigned n;
} launch_config;
cudaError_t cudaLaunchKernelExC(const launch_config *l, kernel *k, void **args)
{
    dim3 cluster = {0, 0, 0};
    for (unsigned i = 0; i < l->n; i++) /* cudaLaunchAttributeClusterDimension */
        if (l->at[i].id == 4) cluster = l->at[i].value.cluster;
    return launch(k, l->grid, l->block, cluster, args, l->shared, l->s);
}

/* ---- graphs ---------------------------------------------------------------------------------- */
cudaError_t cudaStreamBeginCapture(stream *s, int mode)
{
    enter();
    if (!s || mode < 0 || mode > 2 || s->capturing)
        return leave(s ? CUEMU_INVALID_VALUE : CUEMU_CAPTURE_UNSUPPORTED);
    s->capturing = true;
    s->g.n = 0;
    return leave(state());
}
cudaError_t cudaStreamEndCapture(stream *s, graph **g)
{
    enter();
    if (!s || !s->capturing) return leave(CUEMU_INVALID_VALUE);
    s->capturing = false;
    *g = malloc(sizeof **g);
    **g = s->g;
    memset(&s->g, 0, sizeof s->g);
    return leave(state());
}
cudaError_t cudaGraphInstantiateWithFlags(graph **exec, graph *g, unsigned long long flags)
{
    (void)flags;
    enter();
    *exec = malloc(sizeof **exec);
    (*exec)->n = g->n;
    (*exec)->at = malloc((size_t)(g->n + 1) * sizeof *g->at);
    if (g->n) memcpy((*exec)->at, g->at, (size_t)g->n * sizeof *g->at);
    return leave(state());
}
cudaError_t cudaGraphLaunch(graph *exec, stream *s)
{
    enter();
    if (state()) return leave(state());
    if (s && s->capturing) return leave(CUEMU_CAPTURE_UNSUPPORTED);
    for (int i = 0; i < exec->n; i++) {
        if (exec->at[i].kind == 0)
            run_now(&exec->at[i]);
        else
            copy_now(exec->at[i].dst, exec->at[i].src, exec->at[i].n);
    }
    return leave(0);
}
static cudaError_t drop(graph *g)
{
    free(g->at);
    free(g);
    return 0;
}
cudaError_t cudaGraphExecDestroy(graph *exec) { return drop(exec); }
cudaError_t cudaGraphDestroy(graph *g) { return drop(g); }
