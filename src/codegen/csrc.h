/* codegen/csrc.h: what the parts of the C source of a kernel share: csrc_index.c, csrc_value.c,
 * csrc.c. */
#ifndef DYNC__CODEGEN_CSRC_H
#define DYNC__CODEGEN_CSRC_H
#include "../dync.in.h"
#include "codegen.h"

/* needed as a variable; only where a later phase loads it again */
enum { DYNC__CSRC_HERE = 1, DYNC__CSRC_ELSEWHERE = 2 };

typedef struct dync__csrc {
    dync__str *out;
    const dync__kernel *k;
    const char *name;
    uint8_t *needed, *kept;
    dync__csrc_room *room;         /* NULL: kept values are static */
    int64_t base[DYNC__CSRC_BUFS]; /* of each buffer: what its accesses' offsets are from */
    int indent;
    int in; /* of a function of one element: the buffer whose element is its argument x; else -1 */
    bool half_in[2], half_out[2]; /* conversions asked for: f16, bf16 */
} dync__csrc;

/* csrc_index.c */
DYNC__FN const dync__inst *dync__csrc_inst(const dync__csrc *c, int i);
DYNC__FN bool dync__csrc_is_float(int type);
DYNC__FN void dync__csrc_line(dync__csrc *c);
/* recursion: over what a size is made of. factor: it stands in a product */
DYNC__FN void dync__csrc_size(dync__str *s, int64_t size, bool factor);
DYNC__FN void dync__csrc_index(dync__csrc *c, int access, int64_t base);
DYNC__FN void dync__csrc_position(dync__csrc *c);
DYNC__FN void dync__csrc_memory(dync__csrc *c, const dync__inst *in, int index);
DYNC__FN bool dync__csrc_crosses(const dync__inst *in, int section);
DYNC__FN bool dync__csrc_reloads(const dync__csrc *c, const dync__inst *in);
DYNC__FN void dync__csrc_use(dync__csrc *c, int i, int section);

DYNC__FN const void *dync__csrc_known(const dync__csrc *c, int buf); /* or NULL */
DYNC__FN bool dync__csrc_is_known(const dync__csrc *c,
                                  const dync__inst *in); /* its value is text */
DYNC__FN void dync__csrc_number(dync__str *out, double x, int64_t i, int type);
DYNC__FN void dync__csrc_load(dync__csrc *c, const dync__inst *in);
DYNC__FN const char *dync__csrc_owner(const dync__csrc *c);

/* csrc_rescale.c: is value i (int32_t)((x m + (1 << (s - 1))) >> s) in 64 bits, of I32? arg: these
 * three */
DYNC__FN bool dync__csrc_rescales(const dync__csrc *c, int i, int *arg);
DYNC__FN void dync__csrc_rescale(dync__csrc *c, const int *arg, int section); /* its text */

/* csrc_value.c */
DYNC__FN void dync__csrc_value(dync__csrc *c, const dync__inst *in);
DYNC__FN void dync__csrc_store(dync__csrc *c, const dync__inst *in);
DYNC__FN void dync__csrc_reduce_begin(dync__csrc *c, int i);
DYNC__FN void dync__csrc_reduce_step(dync__csrc *c, int i);
#endif
