/* onnx/proto_read.c: protobuf to structs, over the rows of proto.h. After proto.c.
 *
 * Nothing of the file is trusted: every length lies inside its message, varints end after ten
 * bytes, messages lie at most 64 deep, groups are refused. What is allocated is at most a constant
 * times the bytes read: lists of numbers are counted before they get room. Of a field that may be
 * there once the last one counts; messages are merged, as protobuf says. */
#include "../dync.in.h"
#include "proto.h"
DYNC__LEAN

enum { DYNC__PB_DEPTH = 64, DYNC__PB_VARINT = 0, DYNC__PB_8 = 1, DYNC__PB_LEN = 2, DYNC__PB_4 = 5 };

typedef struct dync__pb_reader {
    dync__arena *arena;
    const char *bytes; /* of the whole file */
    size_t at, end;    /* of the message that is read */
    int depth;
    const char *message, *field; /* for errors */
} dync__pb_reader;

static dync_status dync__pb_bad(const dync__pb_reader *r, size_t at, const char *what)
{
    return dync__fail(DYNC_ERR_FORMAT, "ONNX file: %s at byte %llu, in %s%s%s", what,
                      (unsigned long long)at, r->message, r->field ? "." : "",
                      r->field ? r->field : "");
}

/* ---- pieces of the wire ---------------------------------------------------------------------- */

static dync_status dync__pb_varint(dync__pb_reader *r, uint64_t *out)
{
    size_t from = r->at;
    *out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (r->at >= r->end) return dync__pb_bad(r, from, "a number that does not end");
        uint64_t byte = (unsigned char)r->bytes[r->at++];
        if (shift == 63 && byte > 1) break;
        *out |= (byte & 127) << shift;
        if (byte < 128) return DYNC_OK;
    }
    return dync__pb_bad(r, from, "a number of more than 64 bits");
}

static uint64_t dync__pb_fixed(const char *at, int n)
{
    uint64_t x = 0;
    for (int i = 0; i < n; i++) x |= (uint64_t)(unsigned char)at[i] << (8 * i);
    return x;
}
static float dync__pb_float_at(const char *at)
{
    uint32_t u = (uint32_t)dync__pb_fixed(at, 4);
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static double dync__pb_double_at(const char *at)
{
    uint64_t u = dync__pb_fixed(at, 8);
    double f;
    memcpy(&f, &u, 8);
    return f;
}

/* The n bytes that follow; they lie inside the message. */
static dync_status dync__pb_take(dync__pb_reader *r, uint64_t n, const char **out)
{
    if (n > r->end - r->at) return dync__pb_bad(r, r->at, "a length that leaves its message");
    *out = r->bytes + r->at;
    r->at += (size_t)n;
    return DYNC_OK;
}

static dync_status dync__pb_bytes_of(dync__pb_reader *r, dync__pb_bytes *out)
{
    uint64_t n = 0;
    DYNC__TRY(dync__pb_varint(r, &n));
    DYNC__TRY(dync__pb_take(r, n, &out->at));
    out->n = (size_t)n;
    return DYNC_OK;
}

/* Over a field that no row knows: files of newer versions are read as far as they are known. */
static dync_status dync__pb_skip(dync__pb_reader *r, int wire)
{
    uint64_t x = 0;
    const char *at = NULL;
    dync__pb_bytes b = {NULL, 0};
    switch (wire) {
    case DYNC__PB_VARINT: return dync__pb_varint(r, &x);
    case DYNC__PB_8: return dync__pb_take(r, 8, &at);
    case DYNC__PB_LEN: return dync__pb_bytes_of(r, &b);
    case DYNC__PB_4: return dync__pb_take(r, 4, &at);
    default: return dync__pb_bad(r, r->at, "a wire type that is not read");
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

static dync_status dync__pb_text(dync__pb_reader *r, const char **out)
{
    dync__pb_bytes b = {NULL, 0};
    size_t from = r->at;
    DYNC__TRY(dync__pb_bytes_of(r, &b));
    if (memchr(b.at, 0, b.n)) return dync__pb_bad(r, from, "a text with a zero byte");
    char *text = dync__arena_alloc(r->arena, b.n + 1);
    if (!text) return DYNC_ERR_MEMORY;
    memcpy(text, b.at, b.n);
    *out = text;
    return DYNC_OK;
}

/* Room for n more items; the list is seen through a copy. */
static dync_status dync__pb_room(dync__pb_reader *r, dync__pb_list *at, size_t n, size_t item)
{
    dync__pb_list list;
    memcpy(&list, at, sizeof list);
    if (n > (size_t)(INT_MAX - list.n)) return dync__pb_bad(r, r->at, "a list that is too long");
    if (list.cap - list.n < (int)n)
        list.at = dync__vec_grow(r->arena, list.at, &list.cap, list.n + (int)n, item);
    if (list.cap - list.n < (int)n) return DYNC_ERR_MEMORY;
    memcpy(at, &list, sizeof list);
    return DYNC_OK;
}

static dync_status dync__pb_number(dync__pb_reader *r, int kind, dync__pb_list *list)
{
    const char *at = NULL;
    if (kind == DYNC__PB_IS_INTS) {
        uint64_t u = 0;
        DYNC__TRY(dync__pb_varint(r, &u));
        int64_t i = (int64_t)u;
        return dync__pb_push(r->arena, list, &i, sizeof i) ? DYNC_OK : DYNC_ERR_MEMORY;
    }
    DYNC__TRY(dync__pb_take(r, kind == DYNC__PB_IS_FLOATS ? 4 : 8, &at));
    float f = kind == DYNC__PB_IS_FLOATS ? dync__pb_float_at(at) : 0;
    double d = kind == DYNC__PB_IS_FLOATS ? 0 : dync__pb_double_at(at);
    bool ok = kind == DYNC__PB_IS_FLOATS ? dync__pb_push(r->arena, list, &f, sizeof f)
                                         : dync__pb_push(r->arena, list, &d, sizeof d);
    return ok ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Numbers one after another in one run of bytes. */
static dync_status dync__pb_packed(dync__pb_reader *r, int kind, dync__pb_list *list)
{
    dync__pb_bytes b = {NULL, 0};
    size_t from = r->at, count = 0, outer = r->end;
    DYNC__TRY(dync__pb_bytes_of(r, &b));
    size_t item = kind == DYNC__PB_IS_FLOATS ? 4 : 8;
    if (kind == DYNC__PB_IS_INTS)
        for (size_t i = 0; i < b.n; i++) count += (unsigned char)b.at[i] < 128;
    else if (b.n % item)
        return dync__pb_bad(r, from, "a list of numbers that ends inside one");
    else
        count = b.n / item;
    DYNC__TRY(dync__pb_room(r, list, count, item));
    r->at -= b.n;
    r->end = r->at + b.n;
    dync_status status = DYNC_OK;
    while (r->at < r->end && status == DYNC_OK) status = dync__pb_number(r, kind, list);
    r->end = outer;
    return status;
}

static dync_status dync__pb_fields(dync__pb_reader *r, dync__onnx_kind kind, void *into);

/* recursion: messages inside messages, as deep as DYNC__PB_DEPTH */
static dync_status dync__pb_inside(dync__pb_reader *r, dync__onnx_kind kind, void *into)
{
    dync__pb_bytes b = {NULL, 0};
    size_t outer = r->end;
    const char *message = r->message, *field = r->field;
    if (r->depth == DYNC__PB_DEPTH) return dync__pb_bad(r, r->at, "messages more than 64 deep");
    DYNC__TRY(dync__pb_bytes_of(r, &b));
    r->at -= b.n;
    r->end = r->at + b.n;
    r->depth++;
    DYNC__TRY(dync__pb_fields(r, kind, into));
    r->depth--;
    r->end = outer;
    r->message = message;
    r->field = field;
    return DYNC_OK;
}

static int dync__pb_wire(int kind)
{
    switch (kind) {
    case DYNC__PB_IS_INT:
    case DYNC__PB_IS_INTS: return DYNC__PB_VARINT;
    case DYNC__PB_IS_FLOAT:
    case DYNC__PB_IS_FLOATS: return DYNC__PB_4;
    case DYNC__PB_IS_DOUBLES: return DYNC__PB_8;
    default: return DYNC__PB_LEN;
    }
}

static dync_status dync__pb_once(dync__pb_reader *r, const dync__pb_field *f, void *member)
{
    uint64_t u = 0;
    const char *at = NULL;
    void *message;
    switch (f->kind) {
    case DYNC__PB_IS_INT:
        DYNC__TRY(dync__pb_varint(r, &u));
        *(int64_t *)member = (int64_t)u;
        return DYNC_OK;
    case DYNC__PB_IS_FLOAT:
        DYNC__TRY(dync__pb_take(r, 4, &at));
        *(float *)member = dync__pb_float_at(at);
        return DYNC_OK;
    case DYNC__PB_IS_TEXT: return dync__pb_text(r, (const char **)member);
    case DYNC__PB_IS_BYTES: return dync__pb_bytes_of(r, (dync__pb_bytes *)member);
    default:
        memcpy(&message, member, sizeof message);
        if (!message) message = dync__pb_new(r->arena, (dync__onnx_kind)f->message);
        if (!message) return DYNC_ERR_MEMORY;
        memcpy(member, &message, sizeof message);
        return dync__pb_inside(r, (dync__onnx_kind)f->message, message);
    }
}

static dync_status dync__pb_another(dync__pb_reader *r, const dync__pb_field *f, void *member,
                                    int wire)
{
    const char *text = "";
    dync__pb_bytes b = {NULL, 0};
    void *message;
    dync__pb_list *list = member;
    switch (f->kind) {
    case DYNC__PB_IS_TEXTS:
        DYNC__TRY(dync__pb_text(r, &text));
        return dync__pb_push(r->arena, list, &text, sizeof text) ? DYNC_OK : DYNC_ERR_MEMORY;
    case DYNC__PB_IS_BYTESES:
        DYNC__TRY(dync__pb_bytes_of(r, &b));
        return dync__pb_push(r->arena, list, &b, sizeof b) ? DYNC_OK : DYNC_ERR_MEMORY;
    case DYNC__PB_IS_MSGS:
        message = dync__pb_add(r->arena, list, (dync__onnx_kind)f->message);
        if (!message) return DYNC_ERR_MEMORY;
        return dync__pb_inside(r, (dync__onnx_kind)f->message, message);
    default:
        return wire == DYNC__PB_LEN ? dync__pb_packed(r, f->kind, list)
                                    : dync__pb_number(r, f->kind, list);
    }
}

/* recursion: see dync__pb_inside. A field of another wire type than its row's is an error. */
static dync_status dync__pb_fields(dync__pb_reader *r, dync__onnx_kind kind, void *into)
{
    const dync__pb_message *m = dync__pb_message_of(kind);
    r->message = m->name;
    while (r->at < r->end) {
        uint64_t key;
        size_t from = r->at;
        r->field = NULL;
        DYNC__TRY(dync__pb_varint(r, &key));
        int wire = (int)(key & 7), i = 0;
        if (key >> 3 == 0 || key >> 32) return dync__pb_bad(r, from, "no field has this number");
        while (i < m->n_fields && m->field[i].number != key >> 3) i++;
        if (i == m->n_fields) {
            DYNC__TRY(dync__pb_skip(r, wire));
            continue;
        }
        const dync__pb_field *f = &m->field[i];
        r->field = f->name;
        bool list = f->kind >= DYNC__PB_IS_INTS;
        bool packed = list && f->kind <= DYNC__PB_IS_DOUBLES && wire == DYNC__PB_LEN;
        if (wire != dync__pb_wire(f->kind) && !packed)
            return dync__pb_bad(r, from, "a field of another wire type");
        uint32_t *has = into;
        *has |= UINT32_C(1) << i;
        void *member = (char *)into + f->at;
        DYNC__TRY(list ? dync__pb_another(r, f, member, wire) : dync__pb_once(r, f, member));
    }
    return DYNC_OK;
}

DYNC__FN void *dync__pb_read(dync__arena *arena, dync__onnx_kind kind, const char *bytes, size_t n)
{
    dync__pb_reader r = {arena, bytes, 0, n, 0, NULL, NULL};
    void *into = dync__pb_new(arena, kind);
    return into && dync__pb_fields(&r, kind, into) == DYNC_OK ? into : NULL;
}
