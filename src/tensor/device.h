/* tensor/device.h: devices, a table by kind (the low byte of a dync_device; the others number it).
 * A row says what a device is; what it does is its driver. Main memory's stands here, that of cuda
 * comes with dync_cuda.h, meta has none. Whoever asks for a property asks the row, not the kind. */
#ifndef DYNC__DEVICE_H
#define DYNC__DEVICE_H
#include "../base/base.h"

struct dync__graph;
struct dync__inner;
struct dync__kcall;
struct dync__kernel;

enum { DYNC__DEVICE_KINDS = DYNC_META + 1 }; /* rows that are devices */
enum {
    DYNC__DEV_HOST = 1,     /* memory is main memory, read by C code and machine code of kernel/ */
    DYNC__DEV_DATA = 2,     /* tensors have elements */
    DYNC__DEV_NUMBERED = 4, /* there are several: cuda:0, cuda:1 */
    DYNC__DEV_CHECKS = 8,   /* kernels check the indices they read by, and steps divisors */
    DYNC__DEV_SCANS = 16,   /* loops may scan; elsewhere a scan is a kernel call */
    DYNC__DEV_STRIDED = 32, /* a sort writes results of any strides */
    DYNC__DEV_WIDE = 64,    /* variances are summed in f64 */
    DYNC__DEV_INTEGERS = 128, /* poolings of integers, too */
    DYNC__DEV_ATTENDS = 256   /* attention written out is looked for (aot/attend.c) */
};

/* Where NULL is returned the error is recorded. */
typedef struct dync__driver {
    dync_status (*known)(int device); /* can tensors be made there? */
    void *(*alloc)(int device, size_t n);
    void (*free)(int device, void *p, size_t n);
    /* In order with the work of the device; the other side is its memory or main memory, which is
     * ready when this returns. */
    dync_status (*copy)(int to_device, void *dst, int from_device, const void *src, size_t n);
    /* Steps of a plan as code; NULL: runtime/ makes machine code. host[i]: buffer i is one element
     * in main memory, read when run is called. */
    void *(*kernel_new)(int device, const struct dync__kernel *, const bool *host);
    /* with: kernels that the call does too, each where call_takes says: 0 to its result, 1, 2 to
     * make operands 0, 1; -1: not. Some are NULL. Their buffers stand behind the operands. keep:
     * the result is wanted too. */
    void *(*call_new)(int device, const struct dync__kcall *,
                      const struct dync__kernel *const with[3], const bool *host, bool keep);
    int (*call_takes)(int device, const struct dync__kcall *, const struct dync__kernel *);
    dync_status (*run)(const void *code, void *const *buffers, uint64_t seed, uint64_t offset);
    void (*code_free)(void *code);
    void (*code_dump)(dync__str *, const void *code);
    /* a copy in main memory, for who reads a tensor (dync__contiguous_copy); NULL: none is made */
    struct dync__tensor *(*read)(const struct dync__tensor *);
    /* inner runs as a recorded graph from now on (cudagraphs); NULL: there are no such graphs */
    dync_status (*record)(int device, const struct dync__graph *, struct dync__inner *);
    /* with kernel_new: how plans are made of that (runtime/plan_ways.c) */
    const struct dync__plan_way *plans;
} dync__driver;

typedef struct dync__device {
    const char *name, *key; /* "cuda"; as guards tell it, "CUDA" */
    const char *code;       /* in the C form; %d: its number */
    unsigned is;            /* DYNC__DEV_ */
    /* NULL: no tensor of this program is there; a variable that the device's header defines */
    const dync__driver *const *driver;
} dync__device;

/* tentative in dync.h: dync_cuda.h, in the same file, says */
DYNC__DATA_DECL const dync__driver *dync__device_cuda;

DYNC__FN const dync__device *dync__device_row(int device); /* a row for any number */
DYNC__FN const dync__driver *dync__device_driver(int device);
DYNC__INLINE bool dync__device_is(int device, unsigned what)
{
    return (dync__device_row(device)->is & what) != 0;
}
/* "cpu", "cuda:1", and as the C form has it: "DYNC_CUDA_AT(1)". */
enum { DYNC__DEVICE_TEXT = 40 };
DYNC__FN const char *dync__device_text(int device, char out[DYNC__DEVICE_TEXT]);
DYNC__FN const char *dync__device_code(int device, char out[DYNC__DEVICE_TEXT]);
/* Can tensors be made there? The error says why not. */
DYNC__FN dync_status dync__device_known(int device);
/* Memory of a device; NULL: none, and the error is recorded. */
DYNC__FN void *dync__device_alloc(int device, size_t n);
DYNC__FN void dync__device_free(int device, void *p, size_t n);
/* n bytes between devices, or inside one. */
DYNC__FN dync_status dync__device_copy(int to_device, void *dst, int from_device, const void *src,
                                       size_t n);
#endif
