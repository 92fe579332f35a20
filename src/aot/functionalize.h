/* aot/functionalize.h: stores and values of a graph without writes. */
#ifndef DYNC__AOT_FUNCTIONALIZE_H
#define DYNC__AOT_FUNCTIONALIZE_H
#include "../dync.in.h"
#include "aot.h"

/* The record of a storage, in the trace's arena; storage->trace points to it until
 * dync__functional_end. input: which actual input the storage belongs to, -1 for none; lay: the
 * layout that base has in the storage. */
typedef struct dync__fstore {
    dync__node *base;    /* the whole content now */
    dync__tensor *whole; /* a fake that covers it */
    dync__layout lay;
    int32_t generation;
    int input;
} dync__fstore;

/* functionalize.c */
DYNC__FN bool dync__layout_same(const dync__layout *a, const dync__layout *b);
DYNC__FN bool dync__functional_in_strides(const dync__node *n, const dync__tensor *t);
DYNC__FN void dync__functional_own(dync__functional *f, dync__tensor *t, dync__node *n);
DYNC__FN dync__fstore *dync__functional_store(dync__functional *f, dync__tensor *t,
                                              dync__node *base);
DYNC__FN dync__node *dync__functional_emit(dync__functional *f, int op, int nargs,
                                           const dync__arg *args, const dync__info *info, int nout);
DYNC__FN dync__layout dync__functional_rel(const dync__fstore *s, const dync__tensor *t);
DYNC__FN dync_status dync__functional_record(dync__functional *f, dync__opcall *c);
/* owned; NULL: an error */
DYNC__FN dync__tensor *dync__functional_as_now(dync__functional *f, dync__tensor *t);
/* functionalize_write.c: who records at the bottom of this thread, or NULL */
DYNC__FN dync__functional *dync__functional_recorder(void);
/* of one result, whose type is known */
DYNC__FN dync_status dync__functional_given(dync__functional *f, dync__opcall *c,
                                            const dync__info *info);
#endif
