/* tensor/dlpack.h: DLPack 1, the C structs by which libraries show each other tensors, declared
 * here by their layout. Source: dlpack.h of github.com/dmlc/dlpack. */
#ifndef DYNC__DLPACK_H
#define DYNC__DLPACK_H
#include "tensor.h"

typedef struct dync__dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
} dync__dl_dtype;
typedef struct dync__dl_tensor {
    void *data;
    int32_t device, device_id;
    int32_t ndim;
    dync__dl_dtype dtype;
    int64_t *shape, *strides; /* in elements; strides NULL: row major */
    uint64_t byte_offset;
} dync__dl_tensor;
/* What hands one over, and how it is given back; the older form and that with a version. */
typedef struct dync__dl_managed {
    dync__dl_tensor tensor;
    void *owner;
    void (*deleter)(struct dync__dl_managed *);
} dync__dl_managed;
enum { DYNC__DL_READ_ONLY = 1, DYNC__DL_COPIED = 2, DYNC__DL_MAJOR = 1, DYNC__DL_MINOR = 1 };
typedef struct dync__dl_versioned {
    uint32_t major, minor;
    void *owner;
    void (*deleter)(struct dync__dl_versioned *);
    uint64_t flags;
    dync__dl_tensor tensor;
} dync__dl_versioned;
DYNC__FN dync__dl_dtype dync__dl_dtype_of(int dtype);
DYNC__FN int dync__dl_dtype_from(dync__dl_dtype); /* -1: dync has none */
/* of devices with memory; false: DLPack has no such. */
DYNC__FN bool dync__dl_device_of(int device, dync__dl_tensor *out);
DYNC__FN int dync__dl_device_from(const dync__dl_tensor *); /* -1: none that dync reaches */
/* A view; shape and strides stay those of t. false: its device has no number there */
DYNC__FN bool dync__dl_show(dync__dl_tensor *, const dync__tensor *t);
#endif
