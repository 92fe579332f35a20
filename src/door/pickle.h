/* door/pickle.h: what Python's pickles say, as data. After zip.c, for torch.c. */
#ifndef DYNC__PICKLE_H
#define DYNC__PICKLE_H
#include "door.h"

typedef enum {
    DYNC__PICK_NONE,
    DYNC__PICK_BOOL,
    DYNC__PICK_INT,
    DYNC__PICK_FLOAT,
    DYNC__PICK_STR,
    DYNC__PICK_TUPLE,
    DYNC__PICK_LIST,
    DYNC__PICK_DICT, /* items: key, value, key, value */
    DYNC__PICK_GLOBAL,
    DYNC__PICK_STORAGE,
    DYNC__PICK_TENSOR,
    DYNC__PICK_MARK
} dync__pick_kind;
typedef struct dync__pick {
    dync__pick_kind kind;
    int64_t i; /* INT, BOOL; GLOBAL: which; STORAGE: elements */
    double f;
    const char *s; /* STR; STORAGE: its key */
    int dtype;     /* STORAGE; GLOBAL of one */
    DYNC__VEC(struct dync__pick *) item;
    dync__tensor *tensor; /* TENSOR: a reference that the pickle holds */
} dync__pick;

typedef struct dync__pickle {
    dync__arena arena;
    dync__cursor c;
    DYNC__VEC(dync__pick *) stack;
    dync__map memo;
    int64_t memoized;
    DYNC__VEC(dync__pick *) tensor; /* those that hold a reference */
    dync__pick *result;
    /* makes a tensor of (storage, offset, size, stride); in *out, a reference */
    dync_status (*rebuild)(void *user, const dync__pick *args, dync__tensor **out);
    void *user;
} dync__pickle;
/* DYNC_ERR_FORMAT; DYNC_ERR_UNSUPPORTED names what it will not do. result: in the arena. */
DYNC__FN dync_status dync__pickle_read(dync__pickle *, const unsigned char *bytes, uint64_t n);
DYNC__FN void dync__pickle_close(dync__pickle *);         /* after a failure too */
DYNC__FN const char *dync__pick_text(const dync__pick *); /* "a dict", for messages */

/* What a pickle may name: the type of a storage, or what is done in the place of a call. */
enum {
    DYNC__PICK_TYPE,
    DYNC__PICK_ORDERED, /* an empty dict */
    DYNC__PICK_REBUILD, /* a tensor of a storage */
    DYNC__PICK_FIRST    /* what its first argument is */
};

/* pickle.c */
DYNC__FN dync_status dync__pickle_bad(dync__pickle *p, const char *what);
DYNC__FN dync__pick *dync__pickle_new(dync__pickle *p, dync__pick_kind kind);
DYNC__FN dync_status dync__pickle_push(dync__pickle *p, dync__pick *v);
DYNC__FN dync__pick *dync__pickle_pop(dync__pickle *p);
DYNC__FN dync__pick *dync__pickle_top(dync__pickle *p, int kind);
DYNC__FN dync_status dync__pickle_mark_op(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_empty(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_collect(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_tuple(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_extend(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_append(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_int(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_long(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_bool(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_float(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_str(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_put(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_get(dync__pickle *p, int arg);
DYNC__FN dync_status dync__pickle_pop_op(dync__pickle *p, int arg);
#endif
