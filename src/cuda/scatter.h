/* cuda/scatter.h: scattering on a GPU (scatter.c): the call and the pieces of its texts. After
 * tile.h. */
#ifndef DYNC__CUDA_SCATTER_H
#define DYNC__CUDA_SCATTER_H
#include "tile.h"

enum { DYNC__SCA_BLOCK = 256 };
/* to[line, index[line, i]] = or += scale * from[line, i] for all i in order, lines being all dims
 * but dim. */
typedef struct dync__sca {
    dync__cuda_tile t;
    const dync__operand *index, *from, *to;
    int32_t buf[3];
    int dim;
    bool add, shared;      /* shared: one index for all lines */
    const int64_t *walked; /* sizes of the lines' dims */
    int64_t count;
    double scale;
    int64_t lines, size; /* size: places of a line */
    int compute;
    const char *type;
} dync__sca;
/* ---- scatter.c ------------------------------------------------------------------------------- */
DYNC__FN long long dync__sca_step(const dync__sca *s, const dync__operand *o);
DYNC__FN bool dync__sca_is_float(const dync__sca *s);
/* %n: the thread's number; those from n on leave. */
DYNC__FN void dync__sca_thread(dync__sca *s, int64_t n);
DYNC__FN void dync__sca_entry(dync__sca *s, const char *name, int64_t threads);
/* %pi, %pf, %pt: the beginning of line %line, in buffers `index`, + 1 and + 2. */
DYNC__FN void dync__sca_lines(dync__sca *s, int from);
/* %v = scale * %v */
DYNC__FN void dync__sca_scale(dync__sca *s, const char *v);
DYNC__FN bool dync__sca_few(dync__cuda_code *code, dync__sca *s, const char *name, int64_t units);
DYNC__FN bool dync__sca_last_write(dync__cuda_code *code, dync__sca *s, const char *name);
DYNC__FN bool dync__sca_integers(dync__cuda_code *code, dync__sca *s, const char *name);
#endif
