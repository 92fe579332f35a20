/* cuda/device.c: devices, errors, streams and events of the CUDA runtime. Before all that asks
 * what a device is.
 *
 * The devices are asked for once, at the first call; a machine without one is no error until a
 * tensor is to be made there. Errors keep the runtime's words. State that a thread has: its current
 * stream of each device, the graph it records. */
#include "../dync.in.h"
#include "cuda.h"
DYNC__HOT

DYNC__DATA DYNC__TLS dync__cuda_thread dync__cuda_tls = {0};
DYNC__DATA dync_cuda_counters dync__cuda_counters = {0};
DYNC__DATA int dync__cuda_tf32 = 0;
static struct {
    dync__mutex lock;
    int ready, count;
    char reason[256];
    dync__cuda_unit unit[DYNC__CUDA_DEVICES];
} dync__cuda;

static void dync__cuda_words(char *out, size_t cap, cudaError_t e)
{
    dync__format(out, cap, "%s (%s)", cudaGetErrorString(e), cudaGetErrorName(e));
}

DYNC__FN int dync__cuda_driver(void)
{
    int version = 0;
    return cudaDriverGetVersion(&version) == 0 ? version : 0;
}

static void dync__cuda_ask(void)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e != 0) {
        char words[200];
        int driver = dync__cuda_driver();
        dync__cuda_words(words, sizeof words, e);
        if (e != DYNC__CU_OLD_DRIVER)
            dync__format(dync__cuda.reason, sizeof dync__cuda.reason, "%s", words);
        else if (driver == 0)
            dync__format(dync__cuda.reason, sizeof dync__cuda.reason,
                         "%s: no NVIDIA driver is installed", words);
        else
            dync__format(dync__cuda.reason, sizeof dync__cuda.reason,
                         "%s: the driver is one of CUDA %d.%d", words, driver / 1000,
                         driver % 1000 / 10);
        (void)cudaGetLastError();
        n = 0;
    } else if (n == 0) {
        dync__format(dync__cuda.reason, sizeof dync__cuda.reason,
                     "no CUDA-capable device is "
                     "detected");
    }
    n = DYNC__MIN(n, (int)DYNC__CUDA_DEVICES);
    for (int i = 0; i < n; i++) {
        dync__cuda_unit *u = &dync__cuda.unit[i];
        if (cudaDeviceGetAttribute(&u->units, DYNC__CU_ATTR_UNITS, i) != 0 || u->units < 1)
            u->units = 1;
        if (cudaDeviceGetAttribute(&u->major, DYNC__CU_ATTR_MAJOR, i) != 0) u->major = 0;
        if (cudaDeviceGetAttribute(&u->minor, DYNC__CU_ATTR_MINOR, i) != 0) u->minor = 0;
    }
    dync__cuda.count = n;
}

DYNC__FN int dync__cuda_count(void)
{
    if (DYNC__ATOMIC_LOAD(&dync__cuda.ready)) return dync__cuda.count;
    dync__lock(&dync__cuda.lock);
    if (!dync__cuda.ready) dync__cuda_ask();
    DYNC__ATOMIC_STORE(&dync__cuda.ready, 1);
    dync__unlock(&dync__cuda.lock);
    return dync__cuda.count;
}

DYNC__FN const dync__cuda_unit *dync__cuda_unit_of(int index)
{
    return &dync__cuda.unit[index >= 0 && index < dync__cuda_count() ? index : 0];
}

DYNC__FN const char *dync__cuda_why(void) { return dync__cuda_count() ? "" : dync__cuda.reason; }

DYNC__FN dync_status dync__cuda_known(int device)
{
    int index = device >> 8, n = dync__cuda_count();
    if (n == 0)
        return dync__fail(DYNC_ERR_DEVICE, "device cuda:%d is not available: %s", index,
                          dync__cuda.reason);
    if (index < 0 || index >= n)
        return dync__fail(DYNC_ERR_DEVICE,
                          "device cuda:%d is not available: invalid device ordinal, there %s %d",
                          index, n == 1 ? "is" : "are", n);
    if (dync__cuda.unit[index].major < 8)
        return dync__fail(
            DYNC_ERR_DEVICE,
            "device cuda:%d is not available: compute capability 8.0 or later is needed, it has "
            "%d.%d",
            index, dync__cuda.unit[index].major, dync__cuda.unit[index].minor);
    return DYNC_OK;
}

DYNC__FN dync__cuda_function dync__cuda_driver_function(const char *name, unsigned version)
{
    union {
        void *object;
        dync__cuda_function function;
    } it = {NULL};
#if defined(DYNC__CUDA_HEADER)
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#else
    int found = 1;
#endif
    if (cudaGetDriverEntryPointByVersion(name, &it.object, version, 0, &found) != 0) {
        (void)cudaGetLastError();
        return NULL;
    }
    return (int)found == 0 ? it.function : NULL;
}

DYNC__FN bool dync__cuda_takes(int device, const char *target, int version)
{
    /* PTX of CUDA 12.0 ...; 13.0 has 9.0, 13.1 9.1 */
    static const int twelve[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
    const char *only = dync__env("DYNC_CUDA_TARGET");
    const dync__cuda_unit *u = dync__cuda_unit_of(device >> 8);
    int driver = dync__cuda_driver(), number = 0, minor = driver % 1000 / 10;
    const char *c = target + 3;
    for (; *c >= '0' && *c <= '9'; c++) number = number * 10 + (*c - '0');
    if (only && strcmp(only, target) != 0 && number > 80) return false;
    if (version > (driver >= 13000   ? driver / 1000 * 10 - 40 + minor
                   : driver >= 12000 ? twelve[DYNC__MIN(minor, 9)]
                                     : 70))
        return false;
    return *c == 'a' ? u->major * 10 + u->minor == number : u->major * 10 + u->minor >= number;
}

DYNC__FN dync_status dync__cuda_check(cudaError_t e, const char *what)
{
    char words[256];
    if (e == 0) return DYNC_OK;
    (void)cudaGetLastError();
    dync__cuda_words(words, sizeof words, e);
    return dync__fail(e == DYNC__CU_OUT_OF_MEMORY ? DYNC_ERR_MEMORY : DYNC_ERR_DEVICE,
                      "CUDA error: %s: %s", what, words);
}

DYNC__FN dync_status dync__cuda_enter(int device)
{
    if (dync__cuda_count() == 1) return DYNC_OK;
    return dync__cuda_check(cudaSetDevice(device >> 8), "cudaSetDevice");
}

DYNC__FN cudaStream_t dync__cuda_stream(int device)
{
    int index = device >> 8;
    dync__cuda_recording *r = dync__cuda_tls.recording;
    if (r && r->device == device) return r->stream;
    dync_cuda_stream *s = index >= 0 && index < DYNC__CUDA_DEVICES ? dync__cuda_tls.stream[index]
                                                                   : NULL;
    return s ? s->stream : NULL;
}
