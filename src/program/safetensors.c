/* program/safetensors.c: files of named tensors as huggingface/safetensors defines them. Before
 * module_file.c.
 *
 * A reader trusts nothing: the header's length, every name, dtype, shape and offset is checked; the
 * data must be covered without gaps or overlaps. Source: the format section of
 * github.com/huggingface/safetensors README.md. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

enum { DYNC__ST_PREFIX = 8, DYNC__ST_MAX_HEADER = 100000000, DYNC__ST_ALIGN = 8 };

/* Reverses the bytes of each element where the machine is big endian. */
static void dync__st_swap(char *data, size_t n, size_t item)
{
    const uint16_t one = 1;
    if (*(const unsigned char *)&one == 1) return;
    for (size_t i = 0; i + item <= n; i += item)
        for (size_t a = 0, b = item - 1; a < b; a++, b--) {
            char t = data[i + a];
            data[i + a] = data[i + b];
            data[i + b] = t;
        }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* name NULL: it is not about one tensor. */
static dync_status dync__st_bad(const char *what, const char *name)
{
    return dync__fail(DYNC_ERR_FORMAT, "safetensors: %s%s%s%s", what, name ? " in \"" : "",
                      name ? name : "", name ? "\"" : "");
}

/* F32, BF16, I64, ..: as dync__dtype_info spells them; any other name is an error. */
static dync_status dync__st_dtype(const dync__json *v, const char *name, int *out)
{
    if (!v || v->kind != DYNC__JSON_STR) return dync__st_bad("no dtype", name);
    for (int d = 0; dync__dtype_valid(d); d++)
        if (strcmp(dync__dtype_info(d)->safetensors, v->str) == 0) {
            *out = d;
            return DYNC_OK;
        }
    return dync__fail(DYNC_ERR_FORMAT, "safetensors: dtype %.16s of \"%s\" is not supported",
                      v->str, name);
}

/* At most DYNC_MAX_DIMS sizes, each an integer >= 0. */
static dync_status dync__st_shape(const dync__json *v, dync__st_tensor *t)
{
    if (!v || v->kind != DYNC__JSON_ARR) return dync__st_bad("no shape", t->name);
    if (v->n > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_FORMAT,
                          "safetensors: \"%s\" has %d dimensions, at most %d are supported",
                          t->name, v->n, DYNC_MAX_DIMS);
    t->ndim = v->n;
    for (int i = 0; i < v->n; i++) {
        if (!v->item[i].is_int || v->item[i].i < 0)
            return dync__st_bad("a size is not a count", t->name);
        t->shape[i] = v->item[i].i;
    }
    return DYNC_OK;
}

/* The part of the data that belongs to t; its length must be that of its elements. */
static dync_status dync__st_range(const dync__json *v, dync__st_tensor *t, char *data, size_t n)
{
    int64_t count = 1, bytes;
    for (int i = 0; i < t->ndim; i++)
        if (!dync__mul_ok(count, t->shape[i], &count))
            return dync__st_bad("the shape is too large", t->name);
    if (!dync__mul_ok(count, dync__dtype_info(t->dtype)->bytes, &bytes))
        return dync__st_bad("the shape is too large", t->name);
    if (!v || v->kind != DYNC__JSON_ARR || v->n != 2 || !v->item[0].is_int || !v->item[1].is_int)
        return dync__st_bad("no data_offsets", t->name);
    int64_t from = v->item[0].i, to = v->item[1].i;
    if (from < 0 || to < from || (uint64_t)to > n)
        return dync__st_bad("data_offsets leave the file", t->name);
    if (to - from != bytes) return dync__st_bad("data_offsets do not fit the shape", t->name);
    t->data = data + from;
    t->bytes = (size_t)bytes;
    return DYNC_OK;
}

/* name belongs to the header's JSON, data to the file's buffer: both must outlive t. */
static dync_status dync__st_entry(const dync__json *v, const char *name, dync__st_tensor *t,
                                  char *data, size_t n)
{
    if (v->kind != DYNC__JSON_OBJ) return dync__st_bad("no object", name);
    t->name = name;
    DYNC__TRY(dync__st_dtype(dync__json_get(v, "dtype"), name, &t->dtype));
    DYNC__TRY(dync__st_shape(dync__json_get(v, "shape"), t));
    return dync__st_range(dync__json_get(v, "data_offsets"), t, data, n);
}

static int dync__st_compare_name(const void *a, const void *b)
{
    return strcmp(((const dync__st_tensor *)a)->name, ((const dync__st_tensor *)b)->name);
}

/* By place; of two at one place the shorter first, so that empty tensors do not look like
 * overlaps. */
static int dync__st_compare_data(const void *a, const void *b)
{
    const dync__st_tensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Sorted by place: each tensor begins where the one before ends. */
static dync_status dync__st_cover(dync__st_file *f, const char *data, size_t n)
{
    size_t at = 0;
    if (f->n) qsort(f->tensor, (size_t)f->n, sizeof *f->tensor, dync__st_compare_data);
    for (int i = 0; i < f->n; i++) {
        if (f->tensor[i].data != data + at)
            return dync__st_bad("data with gaps or overlaps", f->tensor[i].name);
        at += f->tensor[i].bytes;
    }
    if (at != n) return dync__st_bad("data that belong to no tensor", NULL);
    if (f->n) qsort(f->tensor, (size_t)f->n, sizeof *f->tensor, dync__st_compare_name);
    for (int i = 1; i < f->n; i++)
        if (strcmp(f->tensor[i - 1].name, f->tensor[i].name) == 0)
            return dync__st_bad("a name comes twice", f->tensor[i].name);
    return DYNC_OK;
}

/* "__metadata__" must map texts to texts; it is kept as parsed. */
static dync_status dync__st_metadata(dync__st_file *f, const dync__json *v)
{
    if (v->kind != DYNC__JSON_OBJ) return dync__st_bad("metadata that is no object", NULL);
    for (int i = 0; i < v->n; i++)
        if (v->item[i].kind != DYNC__JSON_STR)
            return dync__st_bad("metadata that is no text", v->key[i]);
    f->metadata = v;
    return DYNC_OK;
}

/* bytes stays the caller's, must outlive f, and is changed on big-endian machines (elements are
 * swapped in place). f->tensor ends sorted by name. */
DYNC__FN dync_status dync__st_parse(dync__st_file *f, char *bytes, size_t n)
{
    uint64_t header = 0;
    if (n < DYNC__ST_PREFIX) return dync__st_bad("the file is too short", NULL);
    for (int i = 0; i < DYNC__ST_PREFIX; i++)
        header |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    if (header > DYNC__ST_MAX_HEADER || header > n - DYNC__ST_PREFIX)
        return dync__st_bad("the header's length is wrong", NULL);
    if (header == 0 || bytes[DYNC__ST_PREFIX] != '{')
        return dync__st_bad("the header is no JSON object", NULL);
    const dync__json *json = dync__json_parse(&f->arena, bytes + DYNC__ST_PREFIX, (size_t)header);
    if (!json) return dync_error() == DYNC_ERR_MEMORY ? DYNC_ERR_MEMORY : DYNC_ERR_FORMAT;
    if (json->kind != DYNC__JSON_OBJ) return dync__st_bad("the header is no JSON object", NULL);
    char *data = bytes + DYNC__ST_PREFIX + header;
    size_t n_data = n - DYNC__ST_PREFIX - (size_t)header;
    f->tensor = dync__arena_alloc(&f->arena, (size_t)json->n * sizeof *f->tensor + 1);
    if (!f->tensor) return DYNC_ERR_MEMORY;
    for (int i = 0; i < json->n; i++) {
        if (strcmp(json->key[i], "__metadata__") == 0)
            DYNC__TRY(dync__st_metadata(f, &json->item[i]));
        else
            DYNC__TRY(
                dync__st_entry(&json->item[i], json->key[i], &f->tensor[f->n++], data, n_data));
    }
    DYNC__TRY(dync__st_cover(f, data, n_data));
    for (int i = 0; i < f->n; i++)
        dync__st_swap(data + (f->tensor[i].data - data), f->tensor[i].bytes,
                      dync__dtype_info(f->tensor[i].dtype)->bytes);
    return DYNC_OK;
}

/* dync__st_close releases f, after a failure too. */
DYNC__FN dync_status dync__st_read(dync__st_file *f, const char *path)
{
    memset(f, 0, sizeof *f);
    DYNC__TRY(dync__file_read(path, &f->bytes, &f->n_bytes));
    return dync__st_parse(f, f->bytes, f->n_bytes);
}

DYNC__FN void dync__st_close(dync__st_file *f)
{
    if (f->bytes) dync__free(f->bytes, f->n_bytes + 1);
    dync__arena_free(&f->arena);
    memset(f, 0, sizeof *f);
}

/* Binary search: dync__st_cover has sorted by name. */
DYNC__FN const dync__st_tensor *dync__st_find(const dync__st_file *f, const char *name)
{
    int low = 0, high = f->n;
    while (low < high) {
        int mid = low + (high - low) / 2, order = strcmp(f->tensor[mid].name, name);
        if (order == 0) return &f->tensor[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The JSON header, padded with blanks to a multiple of 8, as the format allows, so that the data
 * begin aligned. Offsets count from the end of the header. */
static void dync__st_header(dync__str *h, int n, const dync__st_item *items, int n_texts,
                            const char *const *keys, const char *const *values)
{
    uint64_t at = 0;
    dync__str_add(h, "{\"__metadata__\":{");
    for (int i = 0; i < n_texts; i++) {
        if (i) dync__str_addc(h, ',');
        dync__json_quote(h, keys[i]);
        dync__str_addc(h, ':');
        dync__json_quote(h, values[i]);
    }
    dync__str_addc(h, '}');
    for (int i = 0; i < n; i++) {
        const dync__tensor *t = items[i].tensor;
        uint64_t bytes = (uint64_t)t->numel * dync__dtype_info(t->dtype)->bytes;
        dync__str_addc(h, ',');
        dync__json_quote(h, items[i].name);
        dync__str_addf(h, ":{\"dtype\":\"%s\",\"shape\":[",
                       dync__dtype_info(t->dtype)->safetensors);
        for (int d = 0; d < t->lay.ndim; d++)
            dync__str_addf(h, d ? ",%lld" : "%lld", (long long)t->lay.shape[d]);
        dync__str_addf(h, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
                       (unsigned long long)(at + bytes));
        at += bytes;
    }
    dync__str_addc(h, '}');
    while (h->n % DYNC__ST_ALIGN && !h->failed) dync__str_addc(h, ' ');
}

/* Appends the elements row major, little endian; tensors of a GPU or with other strides by a
 * copy. */
static dync_status dync__st_data(dync__str *out, const dync__st_item *item)
{
    const dync__tensor *t = item->tensor;
    size_t bytes = (size_t)t->numel * dync__dtype_info(t->dtype)->bytes, at = out->n;
    if (bytes == 0) return DYNC_OK;
    if (!t->storage->data)
        return dync__fail(DYNC_ERR_DEVICE, "safetensors: \"%s\" has no data", item->name);
    bool as_it_is = dync__device_is(t->device, DYNC__DEV_HOST) &&
                    dync__layout_is_contiguous(&t->lay);
    dync__tensor *copy = as_it_is ? NULL : dync__contiguous_copy(t);
    if (!copy && !as_it_is) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    dync__str_addn(out, dync__tensor_data(copy ? copy : t), bytes);
    dync__unref(copy);
    if (!out->failed) dync__st_swap(out->at + at, bytes, dync__dtype_info(t->dtype)->bytes);
    return out->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* Appends a whole file to out. */
DYNC__FN dync_status dync__st_write(dync__str *out, int n, const dync__st_item *items, int n_texts,
                                    const char *const *keys, const char *const *values)
{
    dync__str header = {0};
    dync_status status = DYNC_OK;
    dync__st_header(&header, n, items, n_texts, keys, values);
    for (int i = 0; i < DYNC__ST_PREFIX; i++)
        dync__str_addc(out, (char)((uint64_t)header.n >> (8 * i) & 255));
    if (!header.failed) dync__str_addn(out, dync__str_get(&header), header.n);
    if (header.failed || out->failed) status = DYNC_ERR_MEMORY;
    dync__str_free(&header);
    for (int i = 0; i < n && status == DYNC_OK; i++) status = dync__st_data(out, &items[i]);
    return status;
}
