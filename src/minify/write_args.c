/* minify/write_args.c: the inputs of a repro: load_args, which makes them again, and the data they
 * stand on. Memory is written once however many inputs share it: up to 64 elements in the program,
 * more in a file named by its contents in <save_dir>/storages. Before write.c. */
#include "../dync.in.h"
#include "write.h"
DYNC__COLD

/* ---- data ------------------------------------------------------------------------------------ */

/* Names the files of storages: equal bytes are one file, however many programs use them. */
DYNC__FN uint64_t dync__repro_hash(const void *data, size_t n)
{
    return dync__hash_mix(dync__hash_bytes(data, n, 1), (uint64_t)n);
}

/* The storage's bytes in main memory: its own, or a copy in *owned, which the caller frees.
 * NULL: no data, or no memory. */
static const void *dync__write_host_data(const dync__storage *s, void **owned)
{
    *owned = NULL;
    if (dync__device_is(s->device, DYNC__DEV_HOST)) return s->data;
    if (!s->data || !(*owned = dync__alloc(s->size_bytes))) return NULL;
    return dync__device_copy(DYNC_CPU, *owned, s->device, s->data, s->size_bytes) == DYNC_OK
               ? *owned
               : NULL;
}

/* Floats that are not finite, f16 and bf16 are written as their bits. */
static bool dync__write_as_bits(const char *data, size_t count, int dtype)
{
    const dync__dtype_row *row = dync__dtype_info(dtype);
    if (row->kind == 'f' && row->bytes == 2) return true;
    for (size_t i = 0; i < count && row->kind == 'f'; i++) {
        double x = dync__load_f64(data + i * row->bytes, dtype);
        if (!(x - x == 0)) return true;
    }
    return false;
}

/* A C literal that gives back the same bits. INT64_MIN and -0 need a form of their own: C has no
 * negative literals. */
static void dync__write_element(dync__str *s, const char *at, int dtype, bool bits)
{
    char text[40];
    int bytes = dync__dtype_info(dtype)->bytes;
    if (bits) {
        uint64_t u = 0;
        if (bytes == 2)
            u = *(const uint16_t *)(const void *)at;
        else if (bytes == 4)
            u = *(const uint32_t *)(const void *)at;
        else
            memcpy(&u, at, sizeof u);
        dync__str_addf(s, "0x%llx", (unsigned long long)u);
        return;
    }
    if (dtype == DYNC_F32)
        dync__float_text((float)dync__load_f64(at, dtype), text, sizeof text);
    else if (dtype == DYNC_F64)
        dync__double_text(dync__load_f64(at, dtype), text, sizeof text);
    else
        dync__format(text, sizeof text, "%lld", (long long)dync__load_i64(at, dtype));
    if (strcmp(text, "-9223372036854775808") == 0)
        dync__format(text, sizeof text, "(-9223372036854775807 - 1)");
    dync__str_add(s, text);
    if (dtype == DYNC_F32 && strpbrk(text, ".e")) dync__str_addc(s, 'f');
    if (dtype == DYNC_F32 && strcmp(text, "-0") == 0) dync__str_add(s, ".0f");
    if (dtype == DYNC_F64 && strcmp(text, "-0") == 0) dync__str_add(s, ".0");
}

/* The elements as an array data<k>; the element type is one that C has, with bits where it has
 * none (f16, bf16). */
static void dync__write_inline(dync__writer *w, int k, const char *data, size_t bytes, int dtype)
{
    size_t item = dync__dtype_info(dtype)->bytes, count = bytes / item;
    bool bits = dync__write_as_bits(data, count, dtype);
    const char *type = bits && item > 2 ? item == 4 ? "uint32_t" : "uint64_t"
                                        : dync__dtype_c_type(dtype);
    dync__str_addf(&w->text, "static const %s data%d[] = {", type, k);
    for (size_t i = 0; i < count; i++) {
        dync__str_add(&w->text, i == 0 ? "" : i % 8 == 0 ? ",\n    " : ", ");
        dync__write_element(&w->text, data + i * item, dtype, bits);
    }
    dync__str_add(&w->text, "};\n");
}

/* A row of its elements as .npy; bfloat16, which NumPy lacks, as its bits. */
static dync_status dync__write_storage_file(const char *folder, uint64_t hash, const void *data,
                                            size_t bytes, int dtype)
{
    dync__layout lay;
    dync__str path = {0}, file = {0};
    if (dtype == DYNC_BF16) dtype = DYNC_I16;
    int64_t count = (int64_t)(bytes / dync__dtype_info(dtype)->bytes);
    dync_status status = dync__layout_contiguous(&lay, 1, &count);
    dync__storage *s =
        status == DYNC_OK ? dync__storage_borrow(DYNC_CPU, (void *)(uintptr_t)data, bytes) : NULL;
    dync__tensor *t = s ? dync__tensor_new(s, dtype, &lay) : NULL;
    dync__str_addf(&path, "%s/storages", folder);
    if (status == DYNC_OK && t) status = dync__folders_make(dync__str_get(&path));
    dync__str_addf(&path, "/%016llx.npy", (unsigned long long)hash);
    if (status == DYNC_OK) status = t && !path.failed ? dync__npy_write(t, &file) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__file_write_own(dync__str_get(&path), file.at, file.n);
    dync__unref(t);
    dync__str_free(&file);
    dync__str_free(&path);
    return status;
}

/* ---- load_args ------------------------------------------------------------------------------- */

/* The number of a storage in the text, as in buf<number>; -1: it has not been written. */
static int dync__write_storage_index(const dync__writer *w, const dync__storage *s)
{
    for (int i = 0; i < w->storage.n; i++)
        if (w->storage.at[i] == s) return i;
    return -1;
}

static void dync__write_device(dync__str *s, int device)
{
    char text[DYNC__DEVICE_TEXT];
    if (dync__device_is(device, DYNC__DEV_NUMBERED))
        dync__str_addf(s, ", .device = %s", dync__device_code(device, text));
}

/* The statement that makes the storage; data that stand in the program go before the function, into
 * w->text. */
static void dync__write_storage(dync__writer *w, dync__str *body, const dync__tensor *t)
{
    const dync__storage *s = t->storage;
    int k = w->storage.n;
    void *owned = NULL;
    const void *data = dync__write_host_data(s, &owned);
    if (!dync__vec_push(&w->storage, s)) {
        w->status = DYNC_ERR_MEMORY;
        return;
    }
    dync__str_addf(body, "    int buf%d = dync_repro_storage(reader, %zu", k, s->size_bytes);
    if (data && s->size_bytes &&
        s->size_bytes / dync__dtype_info(t->dtype)->bytes <= DYNC__REPRO_INLINE) {
        dync__write_inline(w, k, data, s->size_bytes, t->dtype);
        dync__str_addf(body, ", .data = data%d", k);
    } else if (data && s->size_bytes) {
        uint64_t hash = dync__repro_hash(data, s->size_bytes);
        dync_status status = DYNC_OK;
        if (w->file->save_dir)
            status =
                dync__write_storage_file(w->file->save_dir, hash, data, s->size_bytes, t->dtype);
        if (w->status == DYNC_OK) w->status = status;
        dync__str_addf(body, ", .hash = \"%016llx\"", (unsigned long long)hash);
    }
    dync__write_device(body, s->device);
    if (t->dtype != DYNC_F32)
        dync__str_addf(body, ", .dtype_hint = %s", dync__dtype_c_name(t->dtype));
    dync__str_add(body, ");\n");
    dync__free(owned, s->size_bytes);
}

static void dync__write_dims(dync__str *s, int n, const int64_t *d)
{
    if (n == 0) dync__str_add(s, "DYNC_SCALAR");
    for (int i = 0; i < n; i++)
        dync__str_addf(s, i ? ", %lld" : "dync_shape(%lld", (long long)d[i]);
    if (n) dync__str_addc(s, ')');
}

/* Only what is not the default is written. */
static void dync__write_tensor(dync__writer *w, dync__str *body, const dync__tensor *t,
                               const char *name)
{
    if (dync__write_storage_index(w, t->storage) < 0) dync__write_storage(w, body, t);
    dync__str_addf(body, "    dync_repro_tensor(reader, buf%d, ",
                   dync__write_storage_index(w, t->storage));
    dync__write_dims(body, t->lay.ndim, t->lay.shape);
    if (!dync__layout_is_contiguous(&t->lay)) {
        dync__str_add(body, ", .stride = ");
        dync__write_dims(body, t->lay.ndim, t->lay.stride);
    }
    if (t->dtype != DYNC_F32) dync__str_addf(body, ", .dtype = %s", dync__dtype_c_name(t->dtype));
    if (t->lay.offset) dync__str_addf(body, ", .storage_offset = %lld", (long long)t->lay.offset);
    if (dync__tensor_requires_grad(t)) dync__str_add(body, ", .requires_grad = true");
    if (dync__tensor_is_leaf(t)) dync__str_add(body, ", .is_leaf = true");
    dync__str_addf(body, ");  /* %s */\n", name);
}

/* An input that is a number. <math.h>'s names stand for floats that have no literal. */
static void dync__write_number(dync__str *body, const dync_value *v, const char *name)
{
    char text[40];
    dync__str_add(body, "    dync_repro_number(reader, ");
    if (v->kind == DYNC_KIND_FLOAT) {
        dync__double_text(v->as.f, text, sizeof text);
        dync__str_addf(body, "dync_v_float(%s)",
                       v->as.f - v->as.f == 0 ? text
                       : v->as.f > 0          ? "HUGE_VAL"
                       : v->as.f < 0          ? "-HUGE_VAL"
                                              : "NAN");
    } else if (v->kind == DYNC_KIND_INT) {
        dync__str_addf(body, "dync_v_int(%lld)", (long long)v->as.i);
    } else if (v->kind == DYNC_KIND_BOOL) {
        dync__str_addf(body, "dync_v_bool(%s)", v->as.b ? "true" : "false");
    } else {
        dync__str_add(body, "DYNC_NONE");
    }
    dync__str_addf(body, ");  /* %s */\n", name);
}

/* A tensor of the graph's own that the C text does not print as a constant. */
DYNC__FN bool dync__write_is_attr(const dync__node *n)
{
    return n->kind == DYNC__N_GET_ATTR && n->value && !dync__graph_prints_inline(n);
}

/* The inputs and attributes in the order of the nodes, which is also that of `names` in main:
 * reader values are matched to the graph by their places alone. */
DYNC__FN void dync__write_load_args(dync__writer *w)
{
    dync__str body = {0};
    int k = 0;
    for (int i = 0; i < w->graph->node.n; i++) {
        const dync__node *n = w->graph->node.at[i];
        bool attr = dync__write_is_attr(n);
        if (n->kind != DYNC__N_PLACEHOLDER && !attr) continue;
        const dync_value *v = attr ? NULL : &w->input[k++];
        const dync__tensor *t = attr                          ? n->value
                                : v->kind == DYNC_KIND_TENSOR ? dync__peek(v->as.t)
                                                              : NULL;
        if (t)
            dync__write_tensor(w, &body, t, n->name);
        else
            dync__write_number(&body, v, n->name);
    }
    dync__str_add(&w->text, "static void load_args(dync_repro_reader *reader)\n{\n");
    dync__str_add(&w->text, body.n ? dync__str_get(&body) : "    (void)reader;\n");
    dync__str_add(&w->text, "}\n\n");
    if (body.failed) w->text.failed = true;
    dync__str_free(&body);
}
