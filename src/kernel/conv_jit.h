/* kernel/conv_jit.h: convolutions and pooling by machine code (codegen/conv_code.h). After
 * operand.h; used by conv.c and pooling.c. */
#ifndef DYNC__CONV_JIT_H
#define DYNC__CONV_JIT_H
#include "operand.h"
#include "../codegen/conv_code.h"

/* What is to be computed, as conv.c and pooling.c know it; f32. For the data gradient x is what
 * comes out and y what goes in. dtype: of the weights as they are given, F32, F16, BF16 or I8.
 * narrow, unless 0: a group's channels of BF16 or I8, which stand in pairs or fours in the words
 * that `c` counts (FORWARD; conv_narrow.c). Bytes of the input are lifted by 128 to U8, their bias
 * and sums I32. */
typedef enum {
    DYNC__CJ_FORWARD,
    DYNC__CJ_INPUT,
    DYNC__CJ_WEIGHT,
    DYNC__CJ_MAX,
    DYNC__CJ_AVERAGE,
    DYNC__CJ_WHERE
} dync__cj_what;
typedef struct dync__cj_shape {
    int64_t n, c, h, w, o, oh, ow, kh, kw, sy, sx, py, px, dy, dx, groups,
        winograd /* 0, 2, 4: places of a side of a tile */, narrow;
    int dtype;
} dync__cj_shape;
typedef struct dync__cj dync__cj;
/* Arrays in blocks: [N, C / V, H, W, V] instead of [N, C, H, W]; V is this machine's, C a multiple
 * of it. after: on accumulators; its loads are `step` apart from channel to channel of after's own
 * operands. */
typedef struct dync__cj_after {
    dync__after list;
    int64_t step[DYNC__AFTER_SOURCES];
} dync__cj_after;
typedef struct dync__cj_form {
    bool in_blocks, out_blocks;
    const dync__cj_after *after;
} dync__cj_form;
DYNC__FN int dync__cj_lanes(void); /* V; 0: there are no blocks */
typedef void (*dync__done_fn)(void *user, int64_t begin, int64_t end);
/* owner: the tensor whose memory weight is, or NULL: packed weights are kept while it is the same
 * and unwritten. */
typedef struct dync__cj_data {
    const float *in, *bias, *after[DYNC__AFTER_SOURCES];
    const void *weight; /* of the shape's dtype */
    float *out;
    const dync__tensor *owner;
    int64_t *index;
    /* told of rows of places of the result, in order of memory, as they are final; or NULL */
    dync__done_fn done;
    void *user;
} dync__cj_data;
/* done, unless NULL, is told of rows [row, row + rows) of `lines` planes (blocks) of a result,
 * `high` rows each, from number `line` on. */
DYNC__INLINE void dync__lines_done(dync__done_fn done, void *user, int64_t high, int64_t line,
                                   int64_t lines, int64_t row, int64_t rows)
{
    int64_t step = rows == high ? lines : 1;
    for (int64_t i = line; done && i < line + lines; i += step)
        done(user, i * high + row, (i + step - 1) * high + row + rows);
}
/* Code and tables for it; NULL where the portable form serves (no error). */
DYNC__FN dync__cj *dync__cj_new(const dync__cj_shape *, int what, const dync__cj_form *);
DYNC__FN void dync__cj_free(dync__cj *);
DYNC__FN size_t dync__cj_bytes(const dync__cj *);  /* that a run takes */
DYNC__FN bool dync__cj_by_words(const dync__cj *); /* the input is given in words; NULL: no */
/* Row-major arrays: FORWARD in x, weight, bias or NULL, out y; INPUT in gy, weight, out gx; WEIGHT
 * in x, weight: gy, out gw; MAX, AVERAGE in x, out y, bias: the divisor; WHERE: MAX with index: the
 * greatest element's place in its plane. */
DYNC__FN dync_status dync__cj_run(dync__cj *, const dync__cj_data *);
#endif
