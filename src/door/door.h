/* door/door.h: what comes from other programs and goes there: files of named tensors, DLPack. After
 * program/, before minify/.
 *
 * A reader takes the bytes of a file and puts tensors into a collection. It trusts nothing: counts,
 * sizes and offsets are checked before they are used, and what it allocates the bytes at hand
 * justify. */
#ifndef DYNC__DOOR_H
#define DYNC__DOOR_H
#include "../program/program.h"

typedef struct dync__named {
    const char *name;     /* first, as in a note */
    dync__tensor *tensor; /* a reference */
} dync__named;
typedef struct dync__note {
    const char *key, *text;
} dync__note;
struct dync__tensors {
    dync__root root;
    dync__arena arena; /* names and notes */
    DYNC__VEC(dync__named) item;
    DYNC__VEC(dync__note) note;
    dync__map at, noted; /* hash of a name: its number; the next number where that is taken */
};

/* named.c */
DYNC__FN dync__tensors *dync__tensors_make(void);
DYNC__FN void dync__tensors_drop(dync__tensors *); /* NULL allowed */
/* -1: none */
DYNC__FN int dync__tensors_find(const dync__tensors *, const char *name);
/* once: a second one of that name is DYNC_ERR_FORMAT, else it replaces the first. taken: also on
 * failure; NULL is a failure that is recorded */
DYNC__FN dync_status dync__tensors_add(dync__tensors *, const char *name, dync__tensor *taken,
                                       bool once);
DYNC__FN dync_status dync__tensors_tell(dync__tensors *, const char *key, const char *text);
/* DYNC_ERR_FORMAT: "GGUF, byte 24: ..." */
DYNC__FN dync_status dync__door_bad(const char *format, uint64_t at, const char *fmt, ...)
    DYNC__PRINTF(3, 4);
/* A tensor of bytes at `at` of the blob: it stands there where that is aligned, else it is a copy.
 * The range has been checked. NULL: DYNC_ERR_MEMORY, DYNC_ERR_SHAPE. */
DYNC__FN dync__tensor *dync__door_tensor(dync__blob *, uint64_t at, int dtype, int ndim,
                                         const int64_t *shape);
/* The same memory for several: a storage of n bytes. */
DYNC__FN dync__storage *dync__door_storage(dync__blob *, uint64_t at, uint64_t n, size_t item);

/* Little-endian fields, one after the other; the first error stays (bad). */
typedef struct dync__cursor {
    const char *format;
    const unsigned char *bytes;
    uint64_t n, at;
    dync_status bad;
} dync__cursor;
/* NULL: the bytes end before */
DYNC__FN const unsigned char *dync__cursor_take(dync__cursor *, uint64_t n, const char *field);
DYNC__FN uint64_t dync__cursor_int(dync__cursor *, int bytes, const char *field);

/* inflate.c: RFC 1951. Exactly n_out bytes come out of exactly n bytes, else DYNC_ERR_FORMAT. */
DYNC__FN dync_status dync__inflate(const unsigned char *in, size_t n, unsigned char *out,
                                   size_t n_out);
/* zip.c: files in a file: stored or deflated, no encryption, zip64 where it is read. */
typedef struct dync__zip_entry {
    const char *name;
    int method; /* 0 stored, 8 deflated */
    uint32_t crc;
    uint64_t packed, size, at; /* at: of the data */
} dync__zip_entry;
typedef struct dync__zip {
    dync__blob *blob; /* borrowed */
    dync__arena arena;
    int n;
    dync__zip_entry *entry; /* in the order of the directory */
} dync__zip;
DYNC__FN uint32_t dync__crc32(const void *bytes, size_t n);
DYNC__FN dync_status dync__zip_open(dync__zip *, dync__blob *);
DYNC__FN void dync__zip_close(dync__zip *); /* after a failure too */
DYNC__FN const dync__zip_entry *dync__zip_find(const dync__zip *, const char *name);
/* The bytes of an entry, its sum compared: the zip's own, *at says where, with a reference, or
 * inflated ones. */
DYNC__FN dync_status dync__zip_read(const dync__zip *, const dync__zip_entry *, dync__blob **out,
                                    uint64_t *at);
/* Stored, its data aligned; end writes the directory. */
typedef struct dync__zip_writer {
    dync__str *out;
    dync__str directory;
    int n;
} dync__zip_writer;
DYNC__FN dync_status dync__zip_put(dync__zip_writer *, const char *name, const char *bytes,
                                   size_t n);
DYNC__FN dync_status dync__zip_end(dync__zip_writer *, dync_status);

/* Readers of one format each. */
DYNC__FN dync_status dync__npz_read(dync__tensors *, const dync__zip *);
DYNC__FN dync_status dync__npz_write(const dync__tensors *, dync__str *);
DYNC__FN dync_status dync__torch_read(dync__tensors *, const dync__zip *);
DYNC__FN dync_status dync__gguf_read(dync__tensors *, dync__blob *);
/* gguf_blocks.c: one row a type of blocks: as GGUF numbers them */
typedef struct dync__gguf_type {
    uint32_t number;
    const char *name;
    int dtype; /* of the tensor */
    uint32_t per_block, block_bytes;
    void (*unpack)(const unsigned char *block, float *out); /* NULL: the bytes are the elements */
} dync__gguf_type;
DYNC__FN const dync__gguf_type *dync__gguf_type_row(uint32_t number); /* NULL: none */
/* Any of them by its first bytes; folder: where shards lie, NULL: there are none. */
DYNC__FN dync_status dync__tensors_read(dync__tensors *, dync__blob *, const char *folder);
#endif
