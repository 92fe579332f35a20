/* onnx/proto_write.c: structs to protobuf, over the rows of proto.h. After proto_read.c.
 *
 * Fields in the order of their rows; what is zero, empty or NULL and not marked in `has` is left
 * out. Numbers of a list are packed. A message's length is counted before it is written. */
#include "../dync.in.h"
#include "proto.h"
DYNC__COLD

/* Bytes are counted where out is NULL, else appended. */
typedef struct dync__pb_writer {
    dync__str *out;
    uint64_t n;
} dync__pb_writer;

static void dync__pb_put(dync__pb_writer *w, const void *bytes, size_t n)
{
    w->n += n;
    if (w->out && n) dync__str_addn(w->out, bytes, n);
}

/* Seven bits a byte, the lowest first, the eighth bit set on all but the last: 300 is AC 02. */
static void dync__pb_put_varint(dync__pb_writer *w, uint64_t x)
{
    char byte[10];
    int n = 0;
    for (; x > 127; x >>= 7) byte[n++] = (char)(unsigned char)((x & 127) | 128);
    byte[n++] = (char)x;
    dync__pb_put(w, byte, (size_t)n);
}

static void dync__pb_put_fixed(dync__pb_writer *w, uint64_t x, int n)
{
    char byte[8];
    for (int i = 0; i < n; i++) byte[i] = (char)(unsigned char)(x >> (8 * i) & 255);
    dync__pb_put(w, byte, (size_t)n);
}

static void dync__pb_put_float(dync__pb_writer *w, float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    dync__pb_put_fixed(w, u, 4);
}

static void dync__pb_put_bytes(dync__pb_writer *w, int number, const void *bytes, size_t n)
{
    dync__pb_put_varint(w, (uint64_t)number << 3 | 2);
    dync__pb_put_varint(w, n);
    dync__pb_put(w, bytes, n);
}

static void dync__pb_put_fields(dync__pb_writer *w, dync__onnx_kind kind, const void *from);

/* recursion: messages inside messages */
static void dync__pb_put_inside(dync__pb_writer *w, const dync__pb_field *f, const void *message)
{
    dync__pb_writer count = {NULL, 0};
    dync__pb_put_fields(&count, (dync__onnx_kind)f->message, message);
    dync__pb_put_varint(w, (uint64_t)f->number << 3 | 2);
    dync__pb_put_varint(w, count.n);
    if (w->out)
        dync__pb_put_fields(w, (dync__onnx_kind)f->message, message);
    else
        w->n += count.n;
}

static void dync__pb_put_once(dync__pb_writer *w, const dync__pb_field *f, const void *member,
                              bool marked)
{
    const dync__pb_bytes *b = member;
    const void *message;
    switch (f->kind) {
    case DYNC__PB_IS_INT:
        if (*(const int64_t *)member == 0 && !marked) return;
        dync__pb_put_varint(w, (uint64_t)f->number << 3);
        dync__pb_put_varint(w, (uint64_t)*(const int64_t *)member);
        return;
    case DYNC__PB_IS_FLOAT:
        if (*(const float *)member == 0 && !signbit(*(const float *)member) && !marked) return;
        dync__pb_put_varint(w, (uint64_t)f->number << 3 | 5);
        dync__pb_put_float(w, *(const float *)member);
        return;
    case DYNC__PB_IS_TEXT: {
        const char *text = *(const char *const *)member;
        size_t n = text ? strlen(text) : 0;
        if (n || marked) dync__pb_put_bytes(w, f->number, text, n);
        return;
    }
    case DYNC__PB_IS_BYTES:
        if (b->n || marked) dync__pb_put_bytes(w, f->number, b->at, b->n);
        return;
    default:
        memcpy(&message, member, sizeof message);
        if (message) dync__pb_put_inside(w, f, message);
    }
}

static void dync__pb_put_numbers(dync__pb_writer *w, int kind, const dync__pb_list *list)
{
    for (int i = 0; i < list->n; i++)
        if (kind == DYNC__PB_IS_INTS) {
            dync__pb_put_varint(w, (uint64_t)((const int64_t *)list->at)[i]);
        } else if (kind == DYNC__PB_IS_FLOATS) {
            dync__pb_put_float(w, ((const float *)list->at)[i]);
        } else {
            uint64_t u;
            memcpy(&u, (const double *)list->at + i, 8);
            dync__pb_put_fixed(w, u, 8);
        }
}

static void dync__pb_put_list(dync__pb_writer *w, const dync__pb_field *f, const void *member)
{
    dync__pb_list list;
    memcpy(&list, member, sizeof list);
    if (!list.n) return;
    if (f->kind <= DYNC__PB_IS_DOUBLES) {
        dync__pb_writer count = {NULL, 0};
        dync__pb_put_numbers(&count, f->kind, &list);
        dync__pb_put_varint(w, (uint64_t)f->number << 3 | 2);
        dync__pb_put_varint(w, count.n);
        dync__pb_put_numbers(w, f->kind, &list);
        return;
    }
    for (int i = 0; i < list.n; i++)
        if (f->kind == DYNC__PB_IS_TEXTS) {
            const char *text = ((const char *const *)list.at)[i];
            dync__pb_put_bytes(w, f->number, text, strlen(text));
        } else if (f->kind == DYNC__PB_IS_BYTESES) {
            const dync__pb_bytes *b = (const dync__pb_bytes *)list.at + i;
            dync__pb_put_bytes(w, f->number, b->at, b->n);
        } else {
            const void *message;
            memcpy(&message, (const char *)list.at + (size_t)i * sizeof message, sizeof message);
            dync__pb_put_inside(w, f, message);
        }
}

/* recursion: see dync__pb_put_inside */
static void dync__pb_put_fields(dync__pb_writer *w, dync__onnx_kind kind, const void *from)
{
    const dync__pb_message *m = dync__pb_message_of(kind);
    uint32_t has = *(const uint32_t *)from;
    for (int i = 0; i < m->n_fields; i++) {
        const dync__pb_field *f = &m->field[i];
        const void *member = (const char *)from + f->at;
        if (f->kind >= DYNC__PB_IS_INTS)
            dync__pb_put_list(w, f, member);
        else
            dync__pb_put_once(w, f, member, (has >> i & 1) != 0);
    }
}

DYNC__FN dync_status dync__pb_write(dync__str *out, dync__onnx_kind kind, const void *message)
{
    dync__pb_writer w = {NULL, 0};
    dync__pb_put_fields(&w, kind, message);
    if (w.n > INT32_MAX)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "an ONNX file of %llu bytes: protobuf ends at 2 GB, larger weights go "
                          "beside it",
                          (unsigned long long)w.n);
    w.out = out;
    dync__pb_put_fields(&w, kind, message);
    return out->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}
