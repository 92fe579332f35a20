/* tensor/device.c: the table of devices, and main memory as one of them. Before tensor.c. */
#include "../dync.in.h"
#include "device.h"
DYNC__WARM

DYNC__DATA const dync__driver *dync__device_cuda;

static dync_status dync__main_known(int device) { return (void)device, DYNC_OK; }
static void *dync__main_alloc(int device, size_t n)
{
    (void)device;
    return dync__alloc_data(n);
}
static void dync__main_free(int device, void *p, size_t n)
{
    (void)device;
    dync__free_data(p, n);
}
static dync_status dync__main_copy(int to_device, void *dst, int from_device, const void *src,
                                   size_t n)
{
    (void)to_device, (void)from_device;
    memcpy(dst, src, n);
    return DYNC_OK;
}
static const dync__driver dync__main_memory = {.known = dync__main_known,
                                               .alloc = dync__main_alloc,
                                               .free = dync__main_free,
                                               .copy = dync__main_copy};
static const dync__driver *const dync__main_driver = &dync__main_memory, *const dync__no_driver =
                                                                             NULL;

/* Columns: its name, the name for people, the spelling in C with %d for its number; what it can
 * (DYNC__DEV_..); the driver, by address, since that of cuda comes later. A device is the row's
 * number and, in the bits from 8 on, which of several. */
/* clang-format off */
#define DYNC__NAMES(name, title, text) DYNC__TEXT(name), DYNC__TEXT(title), DYNC__TEXT(text)
static const dync__device dync__devices[] = { /* by DYNC_CPU, DYNC_CUDA, DYNC_META */
    {DYNC__NAMES("cpu", "CPU", "DYNC_CPU"),
     DYNC__DEV_HOST | DYNC__DEV_DATA | DYNC__DEV_CHECKS | DYNC__DEV_SCANS | DYNC__DEV_STRIDED |
     DYNC__DEV_WIDE | DYNC__DEV_INTEGERS | DYNC__DEV_ATTENDS, &dync__main_driver},
    {DYNC__NAMES("cuda", "CUDA", "DYNC_CUDA_AT(%d)"), DYNC__DEV_DATA | DYNC__DEV_NUMBERED, &dync__device_cuda},
    {DYNC__NAMES("meta", "Meta", "DYNC_META"), 0, &dync__no_driver},
    {DYNC__NAMES("unknown", "Unknown", "DYNC_CPU"), 0, &dync__no_driver},
};
/* clang-format on */

/* The last row for whatever is out of the table. */
DYNC__FN const dync__device *dync__device_row(int device)
{
    return &dync__devices[DYNC__MIN(device & 255, DYNC__COUNT_OF(dync__devices) - 1)];
}
/* NULL: it has no memory, or this program has no such driver. */
DYNC__FN const dync__driver *dync__device_driver(int device)
{
    return *dync__device_row(device)->driver;
}

DYNC__FN const char *dync__device_text(int device, char out[DYNC__DEVICE_TEXT])
{
    const dync__device *row = dync__device_row(device);
    if (row->is & DYNC__DEV_NUMBERED)
        dync__format(out, DYNC__DEVICE_TEXT, "%s:%d", row->name, device >> 8);
    else
        dync__format(out, DYNC__DEVICE_TEXT, "%s", row->name);
    return out;
}
DYNC__FN const char *dync__device_code(int device, char out[DYNC__DEVICE_TEXT])
{
    dync__format(out, DYNC__DEVICE_TEXT, dync__device_row(device)->code, device >> 8);
    return out;
}

/* DYNC_OK: tensors can be made there. Asks the driver whether a device of that number exists. */
DYNC__FN dync_status dync__device_known(int device)
{
    const dync__device *row = dync__device_row(device);
    const dync__driver *driver = *row->driver;
    char text[DYNC__DEVICE_TEXT];
    bool exists = device >= 0 && (device < 256 || row->is & DYNC__DEV_NUMBERED);
    if (exists && driver) return driver->known(device);
    if (exists && device == DYNC_META) return DYNC_OK;
    if (!exists || !(row->is & DYNC__DEV_DATA))
        return dync__fail(DYNC_ERR_DEVICE, "unknown device %d", device);
    return dync__fail(DYNC_ERR_DEVICE,
                      "device %s is not available: this program has no dync_cuda.h with "
                      "DYNC_CUDA_IMPLEMENTATION",
                      dync__device_text(device, text));
}

/* n bytes, not set; NULL with an error recorded. */
DYNC__FN void *dync__device_alloc(int device, size_t n)
{
    const dync__driver *driver = dync__device_driver(device);
    if (driver) return driver->alloc(device, n);
    dync__fail(DYNC_ERR_DEVICE, "no memory of device %d: include dync_cuda.h", device & 255);
    return NULL;
}

DYNC__FN void dync__device_free(int device, void *p, size_t n)
{
    const dync__driver *driver = dync__device_driver(device);
    if (driver) driver->free(device, p, n);
}

/* A device knows main memory; main memory knows no device. */
DYNC__RARE DYNC__FN dync_status dync__device_copy(int to_device, void *dst, int from_device,
                                                  const void *src, size_t n)
{
    int device = dync__device_is(to_device, DYNC__DEV_HOST) ? from_device : to_device;
    const dync__driver *driver = dync__device_driver(device);
    if (n == 0) return DYNC_OK;
    return driver ? driver->copy(to_device, dst, from_device, src, n)
                  : dync__fail(DYNC_ERR_DEVICE, "expected a tensor in CPU memory");
}
