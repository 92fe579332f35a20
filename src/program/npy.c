/* program/npy.c: tensors as NumPy's .npy files, versions 1 to 3 (numpy/lib/format.py). Used by
 * nobody inside.
 *
 *   \x93NUMPY 1 0, length of the header (2 bytes; 4 from version 2 on),
 *   "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", the data
 *
 * Both byte orders and both memory orders are read; little endian and row major are written. Every
 * bound is checked. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

static const char dync__npy_magic[] = "\x93NUMPY";
enum { DYNC__NPY_MAGIC = 6, DYNC__NPY_ALIGN = 64 };

/* ---- writing --------------------------------------------------------------------------------- */

/* Padded with blanks so that the data begin at a multiple of 64, as NumPy does. */
static void dync__npy_header(dync__str *s, const dync__tensor *t)
{
    dync__str dict = {0};
    dync__str_addf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                   dync__dtype_info(t->dtype)->numpy);
    for (int d = 0; d < t->lay.ndim; d++)
        dync__str_addf(&dict, d ? ", %lld" : "%lld", (long long)t->lay.shape[d]);
    dync__str_add(&dict, t->lay.ndim == 1 ? ",), }" : "), }");
    while ((DYNC__NPY_MAGIC + 4 + dict.n + 1) % DYNC__NPY_ALIGN && !dict.failed)
        dync__str_addc(&dict, ' ');
    dync__str_addc(&dict, '\n');
    dync__str_addn(s, dync__npy_magic, DYNC__NPY_MAGIC);
    dync__str_addn(s, "\1\0", 2);
    dync__str_addc(s, (char)(dict.n & 255));
    dync__str_addc(s, (char)(dict.n >> 8));
    dync__str_add(s, dync__str_get(&dict));
    s->failed = s->failed || dict.failed;
    dync__str_free(&dict);
}

/* n: bytes of data, a multiple of item. */
DYNC__FN void dync__swap_items(char *data, size_t n, size_t item)
{
    for (size_t i = 0; i + item <= n; i += item)
        for (size_t a = 0, b = item - 1; a < b; a++, b--) {
            char t = data[i + a];
            data[i + a] = data[i + b];
            data[i + b] = t;
        }
}

DYNC__FN bool dync__big_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one != 1;
}

/* Appends to s. Any strides are written row major. */
DYNC__FN dync_status dync__npy_write(const dync__tensor *t, dync__str *s)
{
    const dync__dtype_row *dtype = dync__dtype_info(t->dtype);
    if (!dtype->numpy[0])
        return dync__fail(DYNC_ERR_DTYPE, "dync_npy_save: NumPy has no %s", dtype->name);
    if (!dync__device_is(t->device, DYNC__DEV_HOST) || (!t->storage->data && t->numel > 0))
        return dync__fail(DYNC_ERR_DEVICE, "dync_npy_save: expected a tensor with data on the CPU");
    dync__npy_header(s, t);
    dync__tensor *dense = dync__contiguous_copy(t);
    size_t start = s->n, n = (size_t)t->numel * dtype->bytes;
    if (dense && n) dync__str_addn(s, dync__tensor_data(dense), n);
    if (!s->failed && dync__big_endian()) dync__swap_items(s->at + start, n, dtype->bytes);
    dync_status status = dense && !s->failed ? DYNC_OK : DYNC_ERR_MEMORY;
    dync__unref(dense);
    return status;
}

static dync_status dync__npy_save(dync_tensor *h, const char *path)
{
    const dync__tensor *t = dync__open(h);
    dync__str s = {0};
    if (!t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
    if (!path) return dync__fail(DYNC_ERR_VALUE, "dync_npy_save: expected a path, got NULL");
    DYNC__WRITES(path);
    dync_status status = dync__npy_write(t, &s);
    if (status == DYNC_OK) status = dync__file_write(path, s.at, s.n);
    dync__str_free(&s);
    return status;
}
DYNC_API dync_status(dync_npy_save)(dync_tensor *h, const char *path)
{
    dync_value v = dync_v_tensor(h);
    dync__opaque opaque;
    if (!dync__opaque_begin("numpy.save", 1, &v, &opaque)) return DYNC_ERR_RUNTIME;
    dync_status status = dync__npy_save(v.as.t, path);
    dync__opaque_end(&opaque);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A parsed header: fortran, the first dim is the fastest; swapped, the data have the other byte
 * order. */
typedef struct dync__npy {
    int dtype;
    bool swapped, fortran;
    int ndim;
    int64_t shape[DYNC_MAX_DIMS];
} dync__npy;

/* What follows 'key': in the header; NULL where it is not there. */
static const char *dync__npy_value(const char *dict, const char *key)
{
    char quoted[32];
    dync__format(quoted, sizeof quoted, "'%s'", key);
    const char *p = strstr(dict, quoted);
    if (!p) return NULL;
    for (p += strlen(quoted); *p == ' '; p++) {}
    if (*p++ != ':') return NULL;
    while (*p == ' ') p++;
    return p;
}

/* '<f4': byte order, kind, bytes. False: no dtype of dync's. */
static bool dync__npy_descr(const char *p, dync__npy *out)
{
    if (!p || *p++ != '\'' || !strchr("<>|=", *p ? *p : '?')) return false;
    out->swapped = (*p == '>') != dync__big_endian() && *p != '|' && *p != '=';
    for (int k = 0; dync__dtype_valid(k); k++) {
        const char *name = dync__dtype_info(k)->numpy;
        if (name[0] && strncmp(p + 1, name + 1, 2) == 0 && p[3] == '\'') {
            out->dtype = k;
            return true;
        }
    }
    return false;
}

/* (), (3,) or (2, 3). False: another text, too many dims or a size beyond int64. */
static bool dync__npy_shape(const char *p, dync__npy *out)
{
    if (!p || *p++ != '(') return false;
    for (out->ndim = 0; *p != ')';) {
        int64_t v = 0;
        while (*p == ' ') p++;
        if (*p == ')') break;
        if (*p < '0' || *p > '9' || out->ndim == DYNC_MAX_DIMS) return false;
        for (; *p >= '0' && *p <= '9'; p++)
            if (!dync__mul_ok(v, 10, &v) || !dync__add_ok(v, *p - '0', &v)) return false;
        out->shape[out->ndim++] = v;
        while (*p == ' ') p++;
        if (*p == ',')
            p++;
        else if (*p != ')')
            return false;
    }
    return true;
}

/* dict ends with a zero byte. Keys in any order. */
static bool dync__npy_parse(const char *dict, dync__npy *out)
{
    const char *order = dync__npy_value(dict, "fortran_order");
    if (!order || !dync__npy_descr(dync__npy_value(dict, "descr"), out) ||
        !dync__npy_shape(dync__npy_value(dict, "shape"), out))
        return false;
    out->fortran = strncmp(order, "True", 4) == 0;
    return out->fortran || strncmp(order, "False", 5) == 0;
}

/* n bytes of data must be what the shape needs, exactly. Memory order is kept as strides: nothing
 * is transposed. Owned; NULL + error. */
static dync__tensor *dync__npy_tensor(const dync__npy *h, const char *data, size_t n)
{
    dync__layout lay;
    int64_t bytes = dync__dtype_info(h->dtype)->bytes;
    for (int d = 0; d < h->ndim; d++)
        if (!dync__mul_ok(bytes, h->shape[d], &bytes)) bytes = -1;
    if (bytes < 0 || (uint64_t)bytes != n) {
        dync__fail(DYNC_ERR_FORMAT,
                   "npy file: expected as much data as its shape needs, got %llu bytes",
                   (unsigned long long)n);
        return NULL;
    }
    if (dync__layout_contiguous(&lay, h->ndim, h->shape) != DYNC_OK) return NULL;
    int64_t stride = 1;
    for (int d = 0; d < h->ndim && h->fortran; d++) {
        lay.stride[d] = stride;
        stride *= DYNC__MAX(h->shape[d], 1);
    }
    dync__tensor *t = dync__tensor_empty(h->dtype, DYNC_CPU, &lay);
    if (!t || n == 0) return t;
    memcpy(dync__tensor_data(t), data, n);
    if (h->swapped) dync__swap_items(dync__tensor_data(t), n, dync__dtype_info(h->dtype)->bytes);
    char *bytes_of = dync__tensor_data(t);
    for (size_t i = 0; h->dtype == DYNC_BOOL && i < n; i++) bytes_of[i] = bytes_of[i] != 0;
    return t;
}

/* The header, and where the data begin. */
static dync_status dync__npy_open(const char *bytes, size_t n, dync__npy *h, size_t *data)
{
    const unsigned char *b = (const unsigned char *)bytes;
    bool ok = n >= DYNC__NPY_MAGIC + 4 && memcmp(bytes, dync__npy_magic, DYNC__NPY_MAGIC) == 0 &&
              b[6] >= 1 && b[6] <= 3;
    size_t at = ok && b[6] == 1 ? DYNC__NPY_MAGIC + 4 : DYNC__NPY_MAGIC + 6;
    ok = ok && n >= at;
    size_t length = !ok         ? 0
                    : b[6] == 1 ? (size_t)b[8] | (size_t)b[9] << 8
                                : (size_t)b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 |
                                      (size_t)b[11] << 24;
    ok = ok && length <= n - at;
    char *dict = ok ? dync__alloc(length + 1) : NULL;
    if (ok && !dict) return DYNC_ERR_MEMORY;
    if (ok) {
        memcpy(dict, bytes + at, length);
        dict[length] = 0;
        ok = dync__npy_parse(dict, h);
        dync__free(dict, length + 1);
    }
    *data = at + length;
    return ok ? DYNC_OK
              : dync__fail(DYNC_ERR_FORMAT,
                           "npy file: expected NumPy's header with a dtype that dync has");
}

DYNC__FN dync__tensor *dync__npy_read(const char *bytes, size_t n)
{
    dync__npy h = {0};
    size_t data;
    if (dync__npy_open(bytes, n, &h, &data) != DYNC_OK) return NULL;
    return dync__npy_tensor(&h, bytes + data, n - data);
}

/* False also where the file is no npy file at all: nothing is recorded. */
DYNC__FN bool dync__npy_is_plain(const char *bytes, size_t n, int *dtype, int *ndim, int64_t *shape,
                                 size_t *data)
{
    dync__npy h = {0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    bool ok = dync__npy_open(bytes, n, &h, data) == DYNC_OK && !h.swapped && !h.fortran;
    (void)dync__error_guard_end(&guard);
    int64_t size = ok ? dync__dtype_info(h.dtype)->bytes : 0;
    for (int d = 0; ok && d < h.ndim; d++) ok = dync__mul_ok(size, h.shape[d], &size);
    *dtype = h.dtype;
    *ndim = h.ndim;
    memcpy(shape, h.shape, sizeof h.shape);
    return ok && (uint64_t)size == n - *data;
}

DYNC_API dync_tensor *(dync_npy_load)(const char *path)
{
    char *bytes;
    size_t n;
    if (!path) {
        dync__fail(DYNC_ERR_VALUE, "dync_npy_load: expected a path, got NULL");
        return NULL;
    }
    dync__opaque opaque;
    if (!dync__opaque_begin("numpy.load", 0, NULL, &opaque)) return NULL;
    dync_tensor *h = NULL;
    if (dync__file_read(path, &bytes, &n) == DYNC_OK) {
        h = dync__give(dync__npy_read(bytes, n));
        dync__free(bytes, n + 1);
    }
    dync__opaque_end(&opaque);
    return h;
}
