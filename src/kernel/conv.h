/* kernel/conv.h: a convolution opened, and what conv.c, conv_direct.c and conv_rows.c give each
 * other. */
#ifndef DYNC__KERNEL_CONV_H
#define DYNC__KERNEL_CONV_H
#include "../dync.in.h"
#include "conv_jit.h"
#include "gemm.h"

typedef struct dync__conv {
    /* x [n, c, h, w], o output channels of oh by ow pixels, windows kh by kw; s stride, p padding,
     * d dilation, down (y) and across (x); gc, go: input and output channels of a group */
    int64_t n, c, h, w, o, oh, ow, kh, kw, sy, sx, py, px, dy, dx, groups, gc, go;
    int64_t block, bytes;   /* output rows unrolled at a time; of an element */
    bool pointwise, direct; /* the columns are the input itself; there are none */
    const void *x, *weight, *bias, *gy;
    void *y, *gx, *gw; /* the one that is not NULL is what is computed */
    const dync__kcall *call;
    void *const *data;  /* of the call */
    dync__done_fn done; /* runs the epilogue on finished rows; NULL: not by rows */
    dync_status status; /* of a part or the epilogue, in whichever thread */
} dync__conv;

enum { DYNC__CONV_Y, DYNC__CONV_GX, DYNC__CONV_GW };

/* conv.c: elements f32 (f) and f64 (d); pixels of a window's place kx */
#define DYNC__X(T, name)                                                                \
    DYNC__FN void dync__conv_col2im_##name(const dync__conv *v, const T *columns, T *x, \
                                           int64_t oy, int64_t rows);                   \
    DYNC__FN void dync__conv_bias_##name(const dync__conv *v, const T *bias, T *y,      \
                                         int64_t channels);
DYNC__X(float, f)
DYNC__X(double, d)
#undef DYNC__X
DYNC__FN void dync__conv_open(dync__conv *v, const dync__kcall *call, const dync__operand *x,
                              const dync__operand *w, const dync__operand *y);
DYNC__FN bool dync__conv_is_pixels(const dync__conv *v);
DYNC__RARE DYNC__FN void dync__conv_gemm(const dync__conv *v, int64_t m, int64_t n, int64_t k,
                                         const void *a, int64_t ar, int64_t ac, const void *b,
                                         int64_t br, int64_t bc, void *c, int64_t cr, const void *d,
                                         bool rows);
DYNC__RARE DYNC__FN void dync__conv_pixels(dync__conv *v);
DYNC__RARE DYNC__FN void dync__conv_im2col(const dync__conv *v, const void *x, void *columns,
                                           int64_t oy, int64_t rows);
DYNC__FN const char *dync__conv_plane(const dync__conv *v, const void *base, int64_t planes,
                                      int64_t plane);
DYNC__FN char *dync__conv_out(const dync__conv *v, void *base, int64_t planes, int64_t plane);

/* conv_parts.c: all of it, what follows included; a worker's status */
DYNC__RARE DYNC__FN dync_status dync__conv_run(dync__conv *v);
DYNC__FN dync_status dync__conv_status(const dync__conv *v);

/* conv_narrow.c: [planes, channels, area] of BF16 or I8 (lifted to U8) as words of two or four
 * channels, [planes, words, area]; channels may leave the last word of a plane part empty. */
typedef struct dync__conv_words {
    const char *from;
    char *to;
    int64_t planes, channels, words, area;
    int type; /* DYNC__GT_BF16 or DYNC__GT_U8 */
} dync__conv_words;
DYNC__FN int64_t dync__conv_words_bytes(const dync__conv_words *);
DYNC__FN void dync__conv_words_run(dync__conv_words *);

/* conv_rows.c: the tensor behind the second operand, where it is an input of the plan; or NULL */
DYNC__FN const dync__tensor *dync__conv_owner(const dync__kcall *c);

/* conv_direct.c */
DYNC__RARE DYNC__FN size_t dync__conv_room(const dync__conv *v, bool flipped);
DYNC__RARE DYNC__FN void dync__conv_direct(const dync__conv *v, int what, const char *x,
                                           const char *w, const char *gy, char *out, void *room);
DYNC__FN void dync__conv_inside(int64_t k, int64_t stride, int64_t pad, int64_t dilation,
                                int64_t size, int64_t out, int64_t *from, int64_t *to);
#endif
