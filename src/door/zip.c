/* door/zip.c: files in a file, as .npz and .pt are (PKWARE's APPNOTE 6.3, sections 4.3 and 4.5).
 * After inflate.c, before npz.c and torch.c.
 *
 *   local header, name, extra field, data      once for each file
 *   ..
 *   directory: an entry for each file, with the place of its local header
 *   zip64's record and its locator             only in large files
 *   record at the end: where the directory is, and a comment of any length
 *
 * The directory says what there is; local headers only where the data begin. Entries may not
 * overlap, and what is deflated cannot grow more than deflate allows, so that a small file never
 * asks for much memory. */
#include "../dync.in.h"
#include "door.h"
DYNC__COLD

enum {
    DYNC__ZIP_END = 22,     /* bytes of the record at the end, without its comment */
    DYNC__ZIP_ENTRY = 46,   /* of a directory's entry, without names */
    DYNC__ZIP_LOCAL = 30,   /* of a local header, without names */
    DYNC__ZIP_END64 = 56,   /* of zip64's record at the end */
    DYNC__ZIP_LOCATOR = 20, /* which says where that is */
    DYNC__ZIP_COMMENT = 65535,
    DYNC__ZIP_GROWS = 1032, /* at most, by deflate */
    DYNC__ZIP_ALIGN = 64
};

/* A little-endian number of up to 8 bytes, which the caller has checked to be there. */
static uint64_t dync__zip_int(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)p[i] << (8 * i);
    return x;
}
static dync_status dync__zip_bad(uint64_t at, const char *what)
{
    return dync__door_bad("zip", at, "%s", what);
}

/* CRC-32 of IEEE 802.3, eight bytes at a time. */
DYNC__BUSY DYNC__FN uint32_t dync__crc32(const void *bytes, size_t n)
{
    uint32_t table[8][256], crc = 0xffffffffu;
    const unsigned char *p = bytes;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t x = i;
        for (int k = 0; k < 8; k++) x = x >> 1 ^ (x & 1 ? 0xedb88320u : 0);
        table[0][i] = x;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
    for (; n >= 8; n -= 8, p += 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = table[7][crc & 255] ^ table[6][crc >> 8 & 255] ^ table[5][crc >> 16 & 255] ^
              table[4][crc >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    for (; n > 0; n--, p++) crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}

/* ---- the directory --------------------------------------------------------------------------- */

typedef struct dync__zip_where {
    uint64_t n, size, at, end; /* entries; bytes; begin; the record at the end begins */
} dync__zip_where;

/* The same facts from zip64's record, which the locator right before the end points to (4.3.14,
 * 4.3.15). */
static dync_status dync__zip_end64(const unsigned char *b, uint64_t end, dync__zip_where *w)
{
    if (end < DYNC__ZIP_LOCATOR || dync__zip_int(b + end - DYNC__ZIP_LOCATOR, 4) != 0x07064b50u)
        return dync__zip_bad(end, "zip64's locator is missing");
    uint64_t at = dync__zip_int(b + end - DYNC__ZIP_LOCATOR + 8, 8);
    if (at > end || end - at < DYNC__ZIP_END64 + DYNC__ZIP_LOCATOR ||
        dync__zip_int(b + at, 4) != 0x06064b50u)
        return dync__zip_bad(end - DYNC__ZIP_LOCATOR, "zip64's record is not where it is said");
    w->n = dync__zip_int(b + at + 32, 8);
    w->size = dync__zip_int(b + at + 40, 8);
    w->at = dync__zip_int(b + at + 48, 8);
    w->end = at;
    return DYNC_OK;
}

/* Looks for the record at the end, from the back: its comment may be up to 65535 bytes long and
 * must reach exactly to the end of the file. Then the directory is known to lie within the file and
 * to have room for its entries. */
static dync_status dync__zip_where_is(const dync__blob *blob, dync__zip_where *w)
{
    const unsigned char *b = (const unsigned char *)blob->bytes;
    uint64_t n = blob->n, least = n > DYNC__ZIP_END + DYNC__ZIP_COMMENT
                                      ? n - DYNC__ZIP_END - DYNC__ZIP_COMMENT
                                      : 0;
    if (n < DYNC__ZIP_END) return dync__zip_bad(n, "the file is too short");
    uint64_t at = n - DYNC__ZIP_END;
    while (at > least && !(dync__zip_int(b + at, 4) == 0x06054b50u &&
                           dync__zip_int(b + at + 20, 2) == n - at - DYNC__ZIP_END))
        at--;
    if (dync__zip_int(b + at, 4) != 0x06054b50u)
        return dync__zip_bad(n,
                             "no directory at the end: the file is cut off, or none of its kind");
    *w = (dync__zip_where){dync__zip_int(b + at + 10, 2), dync__zip_int(b + at + 12, 4),
                           dync__zip_int(b + at + 16, 4), at};
    if (dync__zip_int(b + at + 4, 4) != 0)
        return dync__zip_bad(at, "a file in several parts is not read");
    if (w->n == 0xffff || w->size == 0xffffffffu || w->at == 0xffffffffu)
        DYNC__TRY(dync__zip_end64(b, at, w));
    if (w->at > w->end || w->size > w->end - w->at)
        return dync__zip_bad(at, "the directory leaves the file");
    if (w->n > w->size / DYNC__ZIP_ENTRY)
        return dync__zip_bad(at, "more entries than the directory has room for");
    return DYNC_OK;
}

/* zip64's extra field (4.5.3): 64-bit values for those of the three fields that are 0xffffffff, in
 * the order of wide: size, packed size, place. Others are skipped. at: of the entry, for
 * messages. */
static dync_status dync__zip_extra(const unsigned char *p, uint64_t n, uint64_t at,
                                   uint64_t *wide[3])
{
    while (n >= 4) {
        uint64_t id = dync__zip_int(p, 2), size = dync__zip_int(p + 2, 2), used = 0;
        if (size > n - 4) return dync__zip_bad(at, "an extra field leaves its entry");
        for (int i = 0; id == 1 && i < 3; i++) {
            if (*wide[i] != 0xffffffffu) continue;
            if (size - used < 8) return dync__zip_bad(at, "zip64's sizes are missing");
            *wide[i] = dync__zip_int(p + 4 + used, 8);
            used += 8;
        }
        p += 4 + size;
        n -= 4 + size;
    }
    return DYNC_OK;
}

/* Sets e->at, where the data begin: behind the local header, whose name and extra field may be
 * longer than those of the directory. most: the data end before the directory begins. */
static dync_status dync__zip_data_at(const dync__zip *z, dync__zip_entry *e, uint64_t local,
                                     uint64_t most)
{
    const unsigned char *b = (const unsigned char *)z->blob->bytes;
    if (local > most || most - local < DYNC__ZIP_LOCAL ||
        dync__zip_int(b + local, 4) != 0x04034b50u)
        return dync__door_bad("zip", local, "no header of \"%.100s\"", e->name);
    uint64_t names = dync__zip_int(b + local + 26, 2) + dync__zip_int(b + local + 28, 2);
    if (names > most - local - DYNC__ZIP_LOCAL ||
        e->packed > most - local - DYNC__ZIP_LOCAL - names)
        return dync__door_bad("zip", local, "the data of \"%.100s\" leave the file", e->name);
    e->at = local + DYNC__ZIP_LOCAL + names;
    return DYNC_OK;
}

/* Reads and checks the entry of the directory at *at as z->entry[z->n]; *at goes on to the next. */
static dync_status dync__zip_entry_at(dync__zip *z, const dync__zip_where *w, uint64_t *at)
{
    const unsigned char *p = (const unsigned char *)z->blob->bytes + *at;
    uint64_t left = w->at + w->size - *at;
    if (left < DYNC__ZIP_ENTRY || dync__zip_int(p, 4) != 0x02014b50u)
        return dync__zip_bad(*at, "an entry of the directory is none");
    uint64_t n_name = dync__zip_int(p + 28, 2), n_extra = dync__zip_int(p + 30, 2),
             n_comment = dync__zip_int(p + 32, 2), local = dync__zip_int(p + 42, 4);
    if (n_name + n_extra + n_comment > left - DYNC__ZIP_ENTRY)
        return dync__zip_bad(*at, "an entry leaves the directory");
    dync__zip_entry *e = &z->entry[z->n];
    const char *name = (const char *)p + DYNC__ZIP_ENTRY;
    if (n_name == 0 || memchr(name, 0, (size_t)n_name))
        return dync__zip_bad(*at, "an entry without a name");
    e->name = dync__arena_printf(&z->arena, "%.*s", (int)n_name, name);
    if (!e->name) return DYNC_ERR_MEMORY;
    e->method = (int)dync__zip_int(p + 10, 2);
    e->crc = (uint32_t)dync__zip_int(p + 16, 4);
    e->packed = dync__zip_int(p + 20, 4);
    e->size = dync__zip_int(p + 24, 4);
    DYNC__TRY(dync__zip_extra(p + DYNC__ZIP_ENTRY + n_name, n_extra, *at,
                              (uint64_t *[3]){&e->size, &e->packed, &local}));
    if (dync__zip_int(p + 8, 2) & 1)
        return dync__door_bad("zip", *at, "\"%.100s\" is encrypted", e->name);
    if (e->method != 0 && e->method != 8)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "zip, byte %llu: \"%.100s\" is packed by method %d: 0 (stored) and 8 "
                          "(deflated) are read",
                          (unsigned long long)*at, e->name, e->method);
    if (e->method == 0 ? e->size != e->packed : e->size / DYNC__ZIP_GROWS > e->packed)
        return dync__door_bad("zip", *at, "\"%.100s\" is said to be %llu bytes of %llu", e->name,
                              (unsigned long long)e->size, (unsigned long long)e->packed);
    DYNC__TRY(dync__zip_data_at(z, e, local, w->at));
    z->n++;
    *at += DYNC__ZIP_ENTRY + n_name + n_extra + n_comment;
    return DYNC_OK;
}

/* By the place in the file, for qsort. */
static int dync__zip_compare(const void *a, const void *b)
{
    const dync__zip_entry *x = *(const dync__zip_entry *const *)a,
                          *y = *(const dync__zip_entry *const *)b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->packed < y->packed ? -1 : x->packed > y->packed;
}

/* No two entries may share bytes: else one block of data could stand for many entries. */
static dync_status dync__zip_apart(dync__zip *z)
{
    const dync__zip_entry **order = dync__arena_alloc(&z->arena, (size_t)z->n * sizeof *order + 1);
    if (!order) return DYNC_ERR_MEMORY;
    for (int i = 0; i < z->n; i++) order[i] = &z->entry[i];
    if (z->n) qsort(order, (size_t)z->n, sizeof *order, dync__zip_compare);
    for (int i = 1; i < z->n; i++)
        if (order[i - 1]->at + order[i - 1]->packed > order[i]->at)
            return dync__door_bad("zip", order[i]->at, "\"%.100s\" and \"%.100s\" overlap",
                                  order[i - 1]->name, order[i]->name);
    return DYNC_OK;
}

/* blob: borrowed, must outlive z. After a failure, too, z is for dync__zip_close. */
DYNC__FN dync_status dync__zip_open(dync__zip *z, dync__blob *blob)
{
    dync__zip_where w = {0};
    memset(z, 0, sizeof *z);
    z->blob = blob;
    DYNC__TRY(dync__zip_where_is(blob, &w));
    if (w.n > INT_MAX / (int)sizeof *z->entry) return dync__zip_bad(w.end, "too many entries");
    z->entry = dync__arena_alloc(&z->arena, (size_t)w.n * sizeof *z->entry + 1);
    if (!z->entry) return DYNC_ERR_MEMORY;
    for (uint64_t at = w.at; (uint64_t)z->n < w.n;) DYNC__TRY(dync__zip_entry_at(z, &w, &at));
    return dync__zip_apart(z);
}

DYNC__FN void dync__zip_close(dync__zip *z)
{
    dync__arena_free(&z->arena);
    memset(z, 0, sizeof *z);
}

DYNC__FN const dync__zip_entry *dync__zip_find(const dync__zip *z, const char *name)
{
    for (int i = 0; i < z->n; i++)
        if (strcmp(z->entry[i].name, name) == 0) return &z->entry[i];
    return NULL;
}

/* Stored bytes are not copied: *out is the zip's own blob, *at their place. *out: a reference for
 * the caller; NULL on failure. */
DYNC__FN dync_status dync__zip_read(const dync__zip *z, const dync__zip_entry *e, dync__blob **out,
                                    uint64_t *at)
{
    const unsigned char *packed = (const unsigned char *)z->blob->bytes + e->at;
    *out = NULL;
    *at = e->at;
    if (e->method == 0) {
        if (dync__crc32(packed, (size_t)e->size) != e->crc)
            return dync__door_bad("zip", e->at, "the checksum of \"%.100s\" is wrong", e->name);
        dync__blob_ref(z->blob);
        *out = z->blob;
        return DYNC_OK;
    }
    char *bytes = e->size < SIZE_MAX ? dync__alloc((size_t)e->size + 1) : NULL;
    if (!bytes) return dync__fail_memory((size_t)e->size);
    dync_status status =
        dync__inflate(packed, (size_t)e->packed, (unsigned char *)bytes, (size_t)e->size);
    if (status == DYNC_OK && dync__crc32(bytes, (size_t)e->size) != e->crc)
        status = dync__door_bad("zip", e->at, "the checksum of \"%.100s\" is wrong", e->name);
    if (status != DYNC_OK) {
        dync__free(bytes, (size_t)e->size + 1);
        return status;
    }
    bytes[e->size] = 0;
    *at = 0;
    *out = dync__blob_take(bytes, (size_t)e->size, false);
    return *out ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A little-endian number of the given bytes. */
static void dync__zip_add(dync__str *s, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) dync__str_addc(s, (char)(x >> (8 * i) & 255));
}

/* What both headers say alike: version, flags (names are UTF-8), stored, a date, sum, sizes, the
 * length of the name. */
static void dync__zip_facts(dync__str *s, uint32_t crc, size_t n, size_t n_name)
{
    dync__zip_add(s, 20, 2);
    dync__zip_add(s, 1 << 11, 2);
    dync__zip_add(s, 0, 2);
    dync__zip_add(s, 0x00210000u, 4); /* 1980-01-01: the same tensors give the same file */
    dync__zip_add(s, crc, 4);
    dync__zip_add(s, n, 4);
    dync__zip_add(s, n, 4);
    dync__zip_add(s, n_name, 2);
}

/* Writes a local header and the data, and keeps the directory's entry for dync__zip_end. The data
 * begin at a multiple of 64 bytes, which a field of blanks makes up for, so tensors can be used in
 * a mapped file. */
DYNC__FN dync_status dync__zip_put(dync__zip_writer *w, const char *name, const char *bytes,
                                   size_t n)
{
    size_t at = w->out->n, n_name = strlen(name);
    if (n > 0xfffffffeu || at > 0xfffffffeu - n || n_name > 60000 || w->n >= 65534)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "zip: \"%.100s\" makes the file larger than 4 GB, or of more than 65534 "
                          "entries: save it as safetensors",
                          name);
    uint32_t crc = dync__crc32(bytes, n);
    /* an extra field of blanks, so that the data can be mapped */
    size_t end = at + DYNC__ZIP_LOCAL + n_name + 4,
           pad = (DYNC__ZIP_ALIGN - end % DYNC__ZIP_ALIGN) % DYNC__ZIP_ALIGN;
    dync__zip_add(w->out, 0x04034b50u, 4);
    dync__zip_facts(w->out, crc, n, n_name);
    dync__zip_add(w->out, 4 + pad, 2);
    dync__str_addn(w->out, name, n_name);
    dync__zip_add(w->out, 0xd935, 2); /* the field for alignment */
    dync__zip_add(w->out, pad, 2);
    for (size_t i = 0; i < pad; i++) dync__str_addc(w->out, 0);
    dync__str_addn(w->out, bytes, n);
    dync__zip_add(&w->directory, 0x02014b50u, 4);
    dync__zip_add(&w->directory, 20, 2);
    dync__zip_facts(&w->directory, crc, n, n_name);
    dync__zip_add(&w->directory, 0, 6); /* no extra field, no comment, first part */
    dync__zip_add(&w->directory, 0, 6); /* no attributes */
    dync__zip_add(&w->directory, at, 4);
    dync__str_addn(&w->directory, name, n_name);
    w->n++;
    return w->out->failed || w->directory.failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* status: of what was written; the directory is written where it is DYNC_OK. Frees the writer in
 * any case. */
DYNC__FN dync_status dync__zip_end(dync__zip_writer *w, dync_status status)
{
    size_t at = w->out->n, n = w->directory.n;
    if (status == DYNC_OK && (at > 0xfffffffeu || n > 0xfffffffeu))
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "zip: a file larger than 4 GB");
    if (status == DYNC_OK) {
        if (n) dync__str_addn(w->out, w->directory.at, n);
        dync__zip_add(w->out, 0x06054b50u, 4);
        dync__zip_add(w->out, 0, 4);
        dync__zip_add(w->out, (uint64_t)w->n, 2);
        dync__zip_add(w->out, (uint64_t)w->n, 2);
        dync__zip_add(w->out, n, 4);
        dync__zip_add(w->out, at, 4);
        dync__zip_add(w->out, 0, 2);
        if (w->out->failed) status = DYNC_ERR_MEMORY;
    }
    dync__str_free(&w->directory);
    return status;
}
