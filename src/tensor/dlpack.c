/* tensor/dlpack.c: dtypes, devices and layouts as DLPack tells them. After tensor.c; for
 * door/dlpack.c and backends that call other libraries. */
#include "../dync.in.h"
#include "dlpack.h"
DYNC__COLD

enum { DYNC__DL_INT, DYNC__DL_UINT, DYNC__DL_FLOAT, DYNC__DL_BFLOAT = 4, DYNC__DL_BOOL = 6 };
enum { DYNC__DL_CPU = 1, DYNC__DL_CUDA = 2, DYNC__DL_CUDA_HOST = 3 };

static const struct {
    int dtype;
    dync__dl_dtype dl;
} dync__dl_dtypes[] = {
    {DYNC_F32, {DYNC__DL_FLOAT, 32, 1}}, {DYNC_F64, {DYNC__DL_FLOAT, 64, 1}},
    {DYNC_F16, {DYNC__DL_FLOAT, 16, 1}}, {DYNC_BF16, {DYNC__DL_BFLOAT, 16, 1}},
    {DYNC_I64, {DYNC__DL_INT, 64, 1}},   {DYNC_I32, {DYNC__DL_INT, 32, 1}},
    {DYNC_I16, {DYNC__DL_INT, 16, 1}},   {DYNC_I8, {DYNC__DL_INT, 8, 1}},
    {DYNC_U8, {DYNC__DL_UINT, 8, 1}},    {DYNC_BOOL, {DYNC__DL_BOOL, 8, 1}},
};

DYNC__FN dync__dl_dtype dync__dl_dtype_of(int dtype)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__dl_dtypes); i++)
        if (dync__dl_dtypes[i].dtype == dtype) return dync__dl_dtypes[i].dl;
    return dync__dl_dtypes[0].dl;
}

DYNC__FN int dync__dl_dtype_from(dync__dl_dtype d)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__dl_dtypes); i++) {
        dync__dl_dtype o = dync__dl_dtypes[i].dl;
        if (o.code == d.code && o.bits == d.bits && o.lanes == d.lanes)
            return dync__dl_dtypes[i].dtype;
    }
    return -1;
}

DYNC__FN bool dync__dl_device_of(int device, dync__dl_tensor *out)
{
    int kind = device & 255;
    out->device = kind == DYNC_CUDA ? DYNC__DL_CUDA : DYNC__DL_CPU;
    out->device_id = device >> 8;
    return kind == DYNC_CPU || kind == DYNC_CUDA;
}

DYNC__FN int dync__dl_device_from(const dync__dl_tensor *t)
{
    if (t->device == DYNC__DL_CPU || t->device == DYNC__DL_CUDA_HOST) return DYNC_CPU;
    if (t->device == DYNC__DL_CUDA && t->device_id >= 0 && t->device_id < 256)
        return DYNC_CUDA | t->device_id << 8;
    return -1;
}

DYNC__FN bool dync__dl_show(dync__dl_tensor *out, const dync__tensor *t)
{
    *out = (dync__dl_tensor){.data = t->numel ? dync__tensor_data(t) : NULL,
                             .ndim = t->lay.ndim,
                             .dtype = dync__dl_dtype_of(t->dtype),
                             .shape = (int64_t *)(uintptr_t)t->lay.shape,
                             .strides = (int64_t *)(uintptr_t)t->lay.stride};
    return dync__dl_device_of(t->device, out);
}
