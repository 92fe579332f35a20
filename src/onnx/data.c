/* onnx/data.c: tensors of ONNX files as dync's: types, raw and typed elements. What is read is at
 * most what the shape says. After beside.c, which opens files beside the model. */
#include "../dync.in.h"
#include "onnx.h"
DYNC__COLD

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct dync__onnx_type_row {
    int type;
    const char *name;
    int dtype; /* that holds it, -1 none */
    int bits;  /* of one that is held in a wider dtype, else 0 */
    bool is_signed;
} dync__onnx_type_row;
/* Unsigned types of 16 and 32 bits are held in the next wider signed one, 4-bit ones in int8: run.c
 * takes results modulo their range. uint64 lies in int64 and is refused beyond 2^63 - 1. */
static const dync__onnx_type_row dync__onnx_types[] = {
    {DYNC__ONNX_FLOAT, "float32", DYNC_F32, 0, true},
    {DYNC__ONNX_UINT8, "uint8", DYNC_U8, 0, false},
    {DYNC__ONNX_INT8, "int8", DYNC_I8, 0, true},
    {DYNC__ONNX_UINT16, "uint16", DYNC_I32, 16, false},
    {DYNC__ONNX_INT16, "int16", DYNC_I16, 0, true},
    {DYNC__ONNX_INT32, "int32", DYNC_I32, 0, true},
    {DYNC__ONNX_INT64, "int64", DYNC_I64, 0, true},
    {DYNC__ONNX_STRING, "string", -1, 0, false},
    {DYNC__ONNX_BOOL, "bool", DYNC_BOOL, 0, false},
    {DYNC__ONNX_FLOAT16, "float16", DYNC_F16, 0, true},
    {DYNC__ONNX_DOUBLE, "float64", DYNC_F64, 0, true},
    {DYNC__ONNX_UINT32, "uint32", DYNC_I64, 32, false},
    {DYNC__ONNX_UINT64, "uint64", DYNC_I64, 0, false},
    {DYNC__ONNX_COMPLEX64, "complex64", -1, 0, false},
    {DYNC__ONNX_COMPLEX128, "complex128", -1, 0, false},
    {DYNC__ONNX_BFLOAT16, "bfloat16", DYNC_BF16, 0, true},
    {DYNC__ONNX_UINT4, "uint4", DYNC_I8, 4, false},
    {DYNC__ONNX_INT4, "int4", DYNC_I8, 4, true}};

static const dync__onnx_type_row *dync__onnx_type_find(int64_t type)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__onnx_types); i++)
        if (dync__onnx_types[i].type == type) return &dync__onnx_types[i];
    return NULL;
}
DYNC__FN int dync__onnx_dtype(int64_t type)
{
    const dync__onnx_type_row *r = dync__onnx_type_find(type);
    return r ? r->dtype : -1;
}
DYNC__FN int dync__onnx_type_of(int dtype) { return dync__dtype_info(dtype)->onnx; }
DYNC__FN const char *dync__onnx_type_name(int64_t type)
{
    const dync__onnx_type_row *r = dync__onnx_type_find(type);
    return r ? r->name : "of an unknown type";
}
DYNC__FN int dync__onnx_held_bits(int64_t type, bool *is_signed)
{
    const dync__onnx_type_row *r = dync__onnx_type_find(type);
    *is_signed = r && r->is_signed;
    return r ? r->bits : 0;
}

/* ---- files beside the model ------------------------------------------------------------------ */

/* ---- elements -------------------------------------------------------------------------------- */

static dync_status dync__onnx_elements_bad(const dync__onnx_tensor *m, uint64_t got, int64_t want,
                                           const char *what)
{
    return dync__fail(DYNC_ERR_FORMAT,
                      "ONNX file: tensor \"%s\" has %llu %s, but its shape says %lld", m->name,
                      (unsigned long long)got, what, (long long)want);
}

/* Bits of one element in raw_data, also of types that are held in a wider dtype. */
static int dync__onnx_raw_bits(int64_t type)
{
    bool is_signed;
    int bits = dync__onnx_held_bits(type, &is_signed);
    return bits ? bits : 8 * dync__dtype_info(dync__onnx_dtype(type))->bytes;
}

/* Raw elements: little endian, one after another; two of 4 bits share a byte, the low half first.
 */
static dync_status dync__onnx_raw(const dync__onnx_tensor *m, dync__pb_bytes raw, dync__tensor *t)
{
    bool is_signed;
    int held = dync__onnx_held_bits(m->data_type, &is_signed),
        bits = dync__onnx_raw_bits(m->data_type);
    size_t item = dync__dtype_info(t->dtype)->bytes;
    uint64_t want = ((uint64_t)t->numel * (uint64_t)bits + 7) / 8;
    if (raw.n != want) return dync__onnx_elements_bad(m, raw.n, (int64_t)want, "bytes of data");
    char *to = t->storage->data;
    if (!held) {
        if (raw.n) memcpy(to, raw.at, raw.n);
        if (dync__big_endian()) dync__swap_items(to, raw.n, item);
        return DYNC_OK;
    }
    for (int64_t i = 0; i < t->numel; i++) {
        uint64_t x = 0;
        if (bits == 4) x = (unsigned char)raw.at[i / 2] >> (i % 2 * 4) & 15;
        for (int b = 0; b < bits / 8; b++)
            x |= (uint64_t)(unsigned char)raw.at[i * (bits / 8) + b] << (8 * b);
        int64_t v = is_signed && x >> (bits - 1) ? (int64_t)x - ((int64_t)1 << bits) : (int64_t)x;
        dync__store_i64(to + (size_t)i * item, t->dtype, v);
    }
    return DYNC_OK;
}

/* Elements of int32_data: numbers as they are, f16 and bf16 as their bits, 4-bit ones two in a
 * byte. */
static void dync__onnx_int32_element(const dync__onnx_tensor *m, int64_t i, char *to, int dtype)
{
    bool is_signed;
    if (dync__onnx_held_bits(m->data_type, &is_signed) == 4) {
        int64_t x = m->int32_data.at[i / 2] >> (i % 2 * 4) & 15;
        dync__store_i64(to, dtype, is_signed && x > 7 ? x - 16 : x);
    } else if (dtype == DYNC_F16 || dtype == DYNC_BF16) {
        uint16_t bits = (uint16_t)m->int32_data.at[i];
        memcpy(to, &bits, 2);
    } else {
        dync__store_i64(to, dtype, m->int32_data.at[i]);
    }
}

/* Elements that stand in the list of their type: uint32 in uint64_data, everything of at most 32
 * bits, f16 and bf16 in int32_data. */
static dync_status dync__onnx_typed(const dync__onnx_tensor *m, dync__tensor *t)
{
    char *to = t->storage->data;
    size_t item = dync__dtype_info(t->dtype)->bytes;
    int64_t n = t->numel, want = dync__onnx_raw_bits(m->data_type) == 4 ? (n + 1) / 2 : n;
    int64_t type = m->data_type, got = type == DYNC__ONNX_FLOAT    ? m->float_data.n
                                       : type == DYNC__ONNX_DOUBLE ? m->double_data.n
                                       : type == DYNC__ONNX_INT64  ? m->int64_data.n
                                       : type == DYNC__ONNX_UINT32 || type == DYNC__ONNX_UINT64
                                           ? m->uint64_data.n
                                           : m->int32_data.n;
    if (got != want) return dync__onnx_elements_bad(m, (uint64_t)got, want, "numbers");
    for (int64_t i = 0; i < n; i++, to += item)
        if (type == DYNC__ONNX_FLOAT)
            memcpy(to, &m->float_data.at[i], 4);
        else if (type == DYNC__ONNX_DOUBLE)
            memcpy(to, &m->double_data.at[i], 8);
        else if (type == DYNC__ONNX_INT64)
            dync__store_i64(to, t->dtype, m->int64_data.at[i]);
        else if (type == DYNC__ONNX_UINT32 || type == DYNC__ONNX_UINT64)
            dync__store_i64(to, t->dtype, m->uint64_data.at[i]);
        else
            dync__onnx_int32_element(m, i, to, t->dtype);
    return DYNC_OK;
}

/* Row major, from untrusted sizes: each is at least 0 and their product fits into memory. A size of
 * 0 counts as 1 for the strides. */
static dync_status dync__onnx_layout(const dync__onnx_tensor *m, int dtype, dync__layout *lay)
{
    int64_t count = 1;
    if (m->dims.n > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "ONNX file: tensor \"%s\" has %d dimensions, at most %d are supported",
                          m->name, m->dims.n, DYNC_MAX_DIMS);
    memset(lay, 0, sizeof *lay);
    lay->ndim = m->dims.n;
    for (int i = 0; i < lay->ndim; i++) {
        lay->shape[i] = m->dims.at[i];
        if (lay->shape[i] < 0 || !dync__mul_ok(count, lay->shape[i] ? lay->shape[i] : 1, &count) ||
            count > (int64_t)(PTRDIFF_MAX / 64))
            return dync__fail(DYNC_ERR_FORMAT, "ONNX file: tensor \"%s\": no tensor has size %lld",
                              m->name, (long long)lay->shape[i]);
    }
    int64_t stride = 1;
    for (int i = lay->ndim - 1; i >= 0; i--) {
        lay->stride[i] = stride;
        stride *= lay->shape[i] ? lay->shape[i] : 1;
    }
    return (void)dtype, DYNC_OK;
}

/* uint64 is held in int64: what is larger is refused. */
static dync_status dync__onnx_fits(const dync__onnx_tensor *m, const dync__tensor *t)
{
    for (int64_t i = 0; m->data_type == DYNC__ONNX_UINT64 && i < t->numel; i++)
        if (((const int64_t *)t->storage->data)[i] < 0)
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "ONNX file: tensor \"%s\": a uint64 beyond 9223372036854775807",
                              m->name);
    return DYNC_OK;
}

/* Room is made only for elements that are there: a file of a few bytes cannot ask for gigabytes. Of
 * typed lists twice their length at most, since 4-bit elements are two in a number. */
static dync_status dync__onnx_enough(const dync__onnx_tensor *m, int64_t numel, dync__pb_bytes raw)
{
    uint64_t there = raw.at ? (uint64_t)raw.n * 8 / (uint64_t)dync__onnx_raw_bits(m->data_type)
                            : 2 * ((uint64_t)m->float_data.n + (uint64_t)m->int32_data.n +
                                   (uint64_t)m->int64_data.n + (uint64_t)m->double_data.n +
                                   (uint64_t)m->uint64_data.n);
    return (uint64_t)numel <= there
               ? DYNC_OK
               : dync__onnx_elements_bad(m, raw.at ? (uint64_t)raw.n : there / 2, numel,
                                         raw.at ? "bytes of data" : "numbers");
}

/* bytes of a tensor that is not copied; smaller ones are: their memory is aligned, and together */
DYNC__DATA int64_t dync__onnx_in_place_least = 1 << 16;

static void dync__onnx_release(void *blob) { dync__blob_unref(blob); }

/* The tensor in the file's own memory; false: it has to be copied (small, not aligned, of another
 * width, on a big-endian machine). true with *out NULL: no memory. The tensor holds the blob. */
static bool dync__onnx_in_place(const dync__onnx_tensor *m, dync__pb_bytes raw, dync__blob *blob,
                                int dtype, const dync__layout *lay, int64_t numel,
                                dync__tensor **out)
{
    bool is_signed;
    size_t item = dync__dtype_info(dtype)->bytes;
    if (!blob || !raw.at || raw.at < blob->bytes || raw.at >= blob->bytes + blob->n ||
        (int64_t)raw.n < dync__onnx_in_place_least || raw.n != (size_t)numel * item ||
        (uintptr_t)raw.at % item || dync__onnx_held_bits(m->data_type, &is_signed) ||
        dync__big_endian())
        return false;
    dync__storage *s = dync__storage_foreign(DYNC_CPU, (char *)(uintptr_t)raw.at, raw.n, 0,
                                             dync__onnx_release, blob);
    if (s) dync__blob_ref(blob);
    *out = s ? dync__tensor_new(s, dtype, lay) : NULL;
    return true;
}

DYNC__FN dync_status dync__onnx_tensor_make(const dync__onnx_tensor *m, dync__onnx_files *files,
                                            dync__tensor **out)
{
    int dtype = dync__onnx_dtype(m->data_type);
    dync__layout lay;
    dync__pb_bytes raw = {NULL, 0};
    dync__blob *blob = files->model;
    *out = NULL;
    if (dtype < 0)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "ONNX file: tensor \"%s\" is %s (type %lld)",
                          m->name, dync__onnx_type_name(m->data_type), (long long)m->data_type);
    DYNC__TRY(dync__onnx_layout(m, dtype, &lay));
    if (m->data_location == 1)
        DYNC__TRY(dync__onnx_outside_bytes(m, files, &raw, &blob));
    else if (m->raw_data.n || dync__onnx_has(m, tensor, raw_data))
        raw = m->raw_data;
    int64_t numel = 1;
    for (int i = 0; i < lay.ndim; i++) numel *= lay.shape[i];
    DYNC__TRY(dync__onnx_enough(m, numel, raw));
    dync__tensor *t;
    if (dync__onnx_in_place(m, raw, blob, dtype, &lay, numel, &t)) {
        dync_status fits = t ? dync__onnx_fits(m, t) : DYNC_ERR_MEMORY;
        if (fits == DYNC_OK)
            *out = t;
        else
            dync__unref(t);
        return fits;
    }
    t = dync__tensor_empty(dtype, DYNC_CPU, &lay);
    if (!t) return DYNC_ERR_MEMORY;
    dync_status status = raw.at ? dync__onnx_raw(m, raw, t) : dync__onnx_typed(m, t);
    if (status == DYNC_OK) status = dync__onnx_fits(m, t);
    if (status != DYNC_OK)
        dync__unref(t);
    else
        *out = t;
    return status;
}
