/* minify/write.h: what the files that write a graph and its inputs as a program share. */
#ifndef DYNC__WRITE_H
#define DYNC__WRITE_H
#include "minify.h"

enum { DYNC__REPRO_INLINE = 64 };
/* One program being written. storage: those that have a buffer already, in the order of their
 * numbers in the text. status: the first failure; later writes go on and are dropped. */
typedef struct dync__writer {
    dync__str text;
    const dync__repro_file *file;
    dync__graph *graph;
    const dync_value *input;
    DYNC__VEC(const dync__storage *) storage;
    dync_status status;
} dync__writer;
/* ---- write_args.c ---------------------------------------------------------------------------- */
DYNC__FN bool dync__write_is_attr(const dync__node *n);
DYNC__FN void dync__write_load_args(dync__writer *w);
/* ---- write_fx.c ------------------------------------------------------------------------------ */
/* class Repro with its attributes, no annotations */
DYNC__FN void dync__write_fx_module(dync__str *, const dync__graph *);
DYNC__FN void dync__write_fx(dync__writer *w); /* the same as a comment of the program */
#endif
