/* onnx/out_rows.h: the functions that out_rows.def.h names. After out.h. */
#ifndef DYNC__ONNX_OUT_ROWS
#define DYNC__ONNX_OUT_ROWS
#include "out.h"
#include "out_rows.def.h"

/* Declared row by row, some of them many times. */
#define DYNC__X(name, fn, text, when) DYNC__FN dync__ox_name fn(dync__ox *);
DYNC__OX_FUNCTIONS(DYNC__X)
#undef DYNC__X
/* pieces that several files use */
DYNC__FN dync__ox_name dync__ox_transposed(dync__ox *, dync__ox_name x, int n,
                                           const int64_t *order);
/* a DIMS argument for n spatial dims: one number stands for all, none for `otherwise` */
DYNC__FN void dync__ox_window(const dync__ox *, int i, int n, int64_t otherwise, int64_t *out);
/* pads before and after */
DYNC__FN void dync__ox_set_pads(dync__ox *, int n, const int64_t *pad, const int64_t *after);
/* one dim from start to end, sizes */
DYNC__FN dync__ox_name dync__ox_sliced(dync__ox *, dync__ox_name x, int64_t dim, int64_t start,
                                       int64_t end, int64_t step);
#endif
