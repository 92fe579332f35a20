/* door/gguf.c: GGUF files, versions 2 and 3: values under keys, then tensors. After gguf_blocks.c,
 * before load.c.
 *
 *   "GGUF", version u32, tensors u64, values u64
 *   each value: key, type u32, what that type needs; arrays: type u32, count u64, items
 *   each tensor: name, dimensions u32, sizes u64 (innermost first), type u32, offset u64
 *   the data, aligned; offsets count from there
 *
 * Values become notes, arrays as JSON. Source: docs/gguf.md of github.com/ggml-org/ggml. */
#include "../dync.in.h"
#include "door.h"
DYNC__COLD

enum { DYNC__GGUF_ALIGN = 32, DYNC__GGUF_DEPTH = 8 };
/* One entry of the tensor table, checked: the data are within the file once dync__gguf_places has
 * run. */
typedef struct dync__gguf_tensor {
    const char *name;
    const dync__gguf_type *type;
    int ndim;
    int64_t shape[DYNC_MAX_DIMS], numel;
    uint64_t at, bytes; /* at: from the beginning of the data, then of the file */
} dync__gguf_tensor;
/* align: general.alignment, if the file has it. */
typedef struct dync__gguf {
    dync__cursor c;
    dync__arena arena;
    uint64_t align;
    DYNC__VEC(dync__gguf_tensor) tensor;
} dync__gguf;

/* ---- values ---------------------------------------------------------------------------------- */

/* Bytes of a number by its type: u8 i8 u16 i16 u32 i32 f32 bool, string, array, u64 i64 f64. */
static const uint8_t dync__gguf_bytes[13] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
enum {
    DYNC__GGUF_F32 = 6,
    DYNC__GGUF_BOOL = 7,
    DYNC__GGUF_TEXT = 8,
    DYNC__GGUF_ARRAY = 9,
    DYNC__GGUF_F64 = 12
};

/* A text with its length in front, in the arena, zero-terminated. NULL: g->c.bad tells. */
static const char *dync__gguf_text(dync__gguf *g, const char *field)
{
    uint64_t n = dync__cursor_int(&g->c, 8, field);
    const unsigned char *p = dync__cursor_take(&g->c, n, field);
    if (!p) return NULL;
    if (n > INT_MAX || memchr(p, 0, (size_t)n)) {
        g->c.bad = dync__door_bad("GGUF", g->c.at, "a %s with a zero inside", field);
        return NULL;
    }
    const char *text = dync__arena_printf(&g->arena, "%.*s", (int)n, (const char *)p);
    if (!text) g->c.bad = DYNC_ERR_MEMORY;
    return text;
}

/* A text of an array in quotes; it may hold zeros. */
static void dync__gguf_quoted(dync__gguf *g, dync__str *out)
{
    uint64_t n = dync__cursor_int(&g->c, 8, "a text");
    const char *p = (const char *)dync__cursor_take(&g->c, n, "a text");
    dync__str_addc(out, '"');
    for (uint64_t i = 0; p && i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c < 0x20)
            dync__str_addf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            dync__str_addf(out, "\\%c", c);
        else
            dync__str_addc(out, (char)c);
    }
    dync__str_addc(out, '"');
}

/* A number of the type, appended as text. Signed types have odd numbers (1, 3, 5, 11); shifting up
 * and down again extends their sign. */
static void dync__gguf_number(dync__gguf *g, unsigned type, dync__str *out)
{
    char text[40];
    int bytes = dync__gguf_bytes[type];
    uint64_t x = dync__cursor_int(&g->c, bytes, "a number");
    uint32_t low = (uint32_t)x;
    float f;
    double d;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &x, sizeof d);
    if (type == DYNC__GGUF_F32)
        dync__float_text(f, text, sizeof text);
    else if (type == DYNC__GGUF_F64)
        dync__double_text(d, text, sizeof text);
    else if (type == DYNC__GGUF_BOOL)
        dync__format(text, sizeof text, "%s", x ? "true" : "false");
    else if (type % 2) /* signed */
        dync__format(text, sizeof text, "%lld",
                     (long long)(int64_t)(x << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    else
        dync__format(text, sizeof text, "%llu", (unsigned long long)x);
    dync__str_add(out, text);
}

/* Appended as JSON: [1, 2], ["a", "b"], [[1], [2]]. Every item takes at least a byte, so a count
 * that lies ends with the file. */
static void dync__gguf_array(dync__gguf *g, dync__str *out, int depth)
{
    unsigned type = (unsigned)dync__cursor_int(&g->c, 4, "the type of an array");
    uint64_t n = dync__cursor_int(&g->c, 8, "the count of an array");
    if (g->c.bad == DYNC_OK && (type > DYNC__GGUF_F64 || depth > DYNC__GGUF_DEPTH))
        g->c.bad = dync__door_bad("GGUF", g->c.at, "an array of type %u, %d deep", type, depth);
    dync__str_addc(out, '[');
    for (uint64_t i = 0; i < n && g->c.bad == DYNC_OK && !out->failed; i++) {
        if (i) dync__str_add(out, ", ");
        if (type == DYNC__GGUF_ARRAY)
            dync__gguf_array(g, out, depth + 1);
        else if (type == DYNC__GGUF_TEXT)
            dync__gguf_quoted(g, out);
        else
            dync__gguf_number(g, type, out);
    }
    dync__str_addc(out, ']');
}

/* One key and its value, which becomes a note; general.alignment is obeyed as well. */
static dync_status dync__gguf_value(dync__gguf *g, dync__tensors *to)
{
    dync__str text = {0};
    const char *key = dync__gguf_text(g, "key"), *value = NULL;
    unsigned type = (unsigned)dync__cursor_int(&g->c, 4, "the type of a value");
    if (g->c.bad != DYNC_OK) return g->c.bad;
    if (type > DYNC__GGUF_F64)
        return dync__door_bad("GGUF", g->c.at - 4, "\"%.100s\" is of type %u: 0 to 12 are known",
                              key, type);
    if (type == DYNC__GGUF_TEXT)
        value = dync__gguf_text(g, "text");
    else if (type == DYNC__GGUF_ARRAY)
        dync__gguf_array(g, &text, 0);
    else
        dync__gguf_number(g, type, &text);
    if (!value) value = dync__str_get(&text);
    if (g->c.bad == DYNC_OK && text.failed) g->c.bad = DYNC_ERR_MEMORY;
    if (g->c.bad == DYNC_OK && type == 4 && strcmp(key, "general.alignment") == 0) {
        g->align = (uint64_t)strtoul(value, NULL, 10);
        if (g->align == 0 || g->align % 8 || g->align > 1 << 20)
            g->c.bad = dync__door_bad("GGUF", g->c.at - 4, "general.alignment is %s", value);
    }
    if (g->c.bad == DYNC_OK) g->c.bad = dync__tensors_tell(to, key, value);
    dync__str_free(&text);
    return g->c.bad;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Sizes stand innermost first. */
static dync_status dync__gguf_shape(dync__gguf *g, dync__gguf_tensor *t)
{
    uint64_t n = dync__cursor_int(&g->c, 4, "a count of dimensions");
    if (g->c.bad == DYNC_OK && n > DYNC_MAX_DIMS)
        return dync__door_bad("GGUF", g->c.at - 4,
                              "\"%.100s\" has %llu dimensions, at most %d are "
                              "supported",
                              t->name, (unsigned long long)n, DYNC_MAX_DIMS);
    t->ndim = (int)n;
    t->numel = 1;
    for (int i = t->ndim - 1; i >= 0 && g->c.bad == DYNC_OK; i--) {
        uint64_t size = dync__cursor_int(&g->c, 8, "a size");
        t->shape[i] = (int64_t)size;
        if (size > INT64_MAX || !dync__mul_ok(t->numel, t->shape[i], &t->numel))
            return dync__door_bad("GGUF", g->c.at - 8, "the sizes of \"%.100s\" are too large",
                                  t->name);
    }
    return g->c.bad;
}

/* One entry of the tensor table. A row (the innermost dimension) is made of whole blocks. */
static dync_status dync__gguf_tensor_next(dync__gguf *g)
{
    dync__gguf_tensor t = {.name = dync__gguf_text(g, "name")};
    if (!t.name) return g->c.bad;
    DYNC__TRY(dync__gguf_shape(g, &t));
    uint32_t type = (uint32_t)dync__cursor_int(&g->c, 4, "the type of a tensor");
    t.at = dync__cursor_int(&g->c, 8, "an offset");
    if (g->c.bad != DYNC_OK) return g->c.bad;
    t.type = dync__gguf_type_row(type);
    if (!t.type)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "GGUF, byte %llu: \"%.100s\" is of type %u: F32, F16, BF16, F64, I8 to "
                          "I64, Q4_0, Q8_0, Q4_K and Q6_K are read",
                          (unsigned long long)g->c.at - 12, t.name, (unsigned)type);
    int64_t inner = t.ndim ? t.shape[t.ndim - 1] : 1, bytes;
    if (inner % t.type->per_block)
        return dync__door_bad("GGUF", g->c.at - 12,
                              "rows of \"%.100s\" are %lld long: %s has "
                              "blocks of %u",
                              t.name, (long long)inner, t.type->name, (unsigned)t.type->per_block);
    if (!dync__mul_ok(t.numel / t.type->per_block, t.type->block_bytes, &bytes))
        return dync__door_bad("GGUF", g->c.at - 12, "the sizes of \"%.100s\" are too large",
                              t.name);
    t.bytes = (uint64_t)bytes;
    return dync__avec_push(&g->arena, &g->tensor, t) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* By the place in the file, for qsort. */
static int dync__gguf_compare(const void *a, const void *b)
{
    const dync__gguf_tensor *x = *(const dync__gguf_tensor *const *)a,
                            *y = *(const dync__gguf_tensor *const *)b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Offsets count from the file's beginning from here on; none overlap, so that unpacked tensors are
 * no more than what the file holds. */
static dync_status dync__gguf_places(dync__gguf *g)
{
    uint64_t data = g->c.at + (g->align - g->c.at % g->align) % g->align;
    const dync__gguf_tensor **order =
        dync__arena_alloc(&g->arena, (size_t)g->tensor.n * sizeof *order + 1);
    if (!order) return DYNC_ERR_MEMORY;
    for (int i = 0; i < g->tensor.n; i++) {
        dync__gguf_tensor *t = &g->tensor.at[i];
        order[i] = t;
        if (data > g->c.n || t->at > g->c.n - data || t->bytes > g->c.n - data - t->at)
            return dync__door_bad("GGUF", data,
                                  "the data of \"%.100s\", %llu bytes from %llu on, "
                                  "leave the file of %llu",
                                  t->name, (unsigned long long)t->bytes, (unsigned long long)t->at,
                                  (unsigned long long)g->c.n);
        if (t->at % g->align)
            return dync__door_bad("GGUF", data + t->at, "\"%.100s\" is not aligned", t->name);
        t->at += data;
    }
    if (g->tensor.n) qsort(order, (size_t)g->tensor.n, sizeof *order, dync__gguf_compare);
    for (int i = 1; i < g->tensor.n; i++)
        if (order[i - 1]->at + order[i - 1]->bytes > order[i]->at)
            return dync__door_bad("GGUF", order[i]->at, "\"%.100s\" and \"%.100s\" overlap",
                                  order[i - 1]->name, order[i]->name);
    return DYNC_OK;
}

/* The tensor: its bytes in place, or unpacked block by block to floats, a new reference. NULL: no
 * memory, or too large. */
static dync__tensor *dync__gguf_make(dync__blob *b, const dync__gguf_tensor *t)
{
    dync__layout lay;
    if (!t->type->unpack) return dync__door_tensor(b, t->at, t->type->dtype, t->ndim, t->shape);
    if (dync__layout_contiguous(&lay, t->ndim, t->shape) != DYNC_OK) return NULL;
    dync__tensor *out = dync__tensor_empty(t->type->dtype, DYNC_CPU, &lay);
    float *to = out ? dync__tensor_data(out) : NULL;
    const unsigned char *from = (const unsigned char *)b->bytes + t->at;
    for (int64_t i = 0; out && i < t->numel; i += t->type->per_block) {
        t->type->unpack(from, to + i);
        from += t->type->block_bytes;
    }
    return out;
}

/* The file from its beginning: head, values, tensor table, data. */
static dync_status dync__gguf_all(dync__gguf *g, dync__tensors *to, dync__blob *b)
{
    (void)dync__cursor_take(&g->c, 4, "the magic word");
    uint64_t version = dync__cursor_int(&g->c, 4, "the version"),
             n_tensors = dync__cursor_int(&g->c, 8, "the count of tensors"),
             n_values = dync__cursor_int(&g->c, 8, "the count of values");
    if (g->c.bad != DYNC_OK) return g->c.bad;
    if (version < 2 || version > 3)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "GGUF: version %llu: 2 and 3 are read",
                          (unsigned long long)version);
    for (uint64_t i = 0; i < n_values; i++) DYNC__TRY(dync__gguf_value(g, to));
    for (uint64_t i = 0; i < n_tensors; i++) DYNC__TRY(dync__gguf_tensor_next(g));
    DYNC__TRY(dync__gguf_places(g));
    for (int i = 0; i < g->tensor.n; i++)
        DYNC__TRY(dync__tensors_add(to, g->tensor.at[i].name, dync__gguf_make(b, &g->tensor.at[i]),
                                    true));
    return DYNC_OK;
}

DYNC__FN dync_status dync__gguf_read(dync__tensors *to, dync__blob *b)
{
    dync__gguf g = {.align = DYNC__GGUF_ALIGN};
    g.c = (dync__cursor){.format = "GGUF", .bytes = (const unsigned char *)b->bytes, .n = b->n};
    dync_status status = dync__gguf_all(&g, to, b);
    dync__arena_free(&g.arena);
    return status;
}
