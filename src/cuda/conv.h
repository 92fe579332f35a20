/* cuda/conv.h: convolutions on a GPU as products (conv.c): the call, its arrays and their sides.
 * After gemm.h. */
#ifndef DYNC__CUDA_CONV_H
#define DYNC__CUDA_CONV_H
#include "gemm.h"

/* A 4-D array in memory: of an operand, or packed. */
/* pre: makes it; or NULL */
typedef struct dync__cuv_array {
    int32_t id;
    int64_t shape[4], stride[4], offset;
    dync__gm_pre *pre;
} dync__cuv_array;
typedef struct dync__cuv {
    dync__cuda_code *code;
    const dync__kcall *call;
    int64_t s[2], p[2], d[2], groups, gc, go; /* gc, go: channels of a group in x and y */
    dync__cuv_array x, w, y;
    int dtype, out;     /* out: the operand that is written */
    bool f16, by_image; /* f16: or bf16; by_image: the images are batches of the product */
    const dync__cuda_end *end;
} dync__cuv;
/* ---- conv.c ---------------------------------------------------------------------------------- */
DYNC__FN bool dync__cuv_open(dync__cuv *v, dync__cuda_code *code, const dync__kcall *call);
/* Dense strides of the array's dims in this order, outermost first; true: as it lies, on
 * boundaries, it is as good. */
DYNC__FN bool dync__cuv_lies_well(const dync__cuv *v, const dync__cuv_array *a, const int *order,
                                  int64_t *to, int64_t *all);
/* The loops of what makes the array, cut where dims of the array end; `sum`: steps of a loop in
 * memory of strides `to`. False: one is of several dims. */
DYNC__FN bool dync__cuv_made_loops(const dync__cuv_array *a, const int64_t *to, dync__gm_loops *l);
/* The array's dims in this order, on boundaries: as it lies, or copied. */
DYNC__FN bool dync__cuv_pack(dync__cuv *v, dync__cuv_array *a, const int *order);
DYNC__FN void dync__cuv_digit(dync__gm_gather *g, int part, int64_t extent, int64_t by, int64_t y,
                              int64_t x);
/* Digits of channels and taps, in the order in which they are summed up: channels last where they
 * are neighbours. */
DYNC__FN void dync__cuv_window(dync__gm_gather *g, int part, bool last, dync__gm_digit channels,
                               dync__gm_digit down, dync__gm_digit right);
/* The side of g that is this array, seen so; plain where nothing has to be gathered. Without bounds
 * everything is inside. */
DYNC__FN bool dync__cuv_side(dync__cuv *v, dync__gm *g, int s, const dync__cuv_array *a,
                             const dync__gm_gather *as, bool bounds, int64_t offset);
DYNC__FN dync__gm *dync__cuv_product(dync__cuv *v, int64_t m, int64_t n, int64_t k);
/* Where the sums go: loops in the order of the product's results, strides of what is written, of
 * the bias or NULL. */
DYNC__FN dync_status dync__cuv_end(dync__cuv *v, dync__gm *g, int n, const int64_t *extent,
                                   const int64_t *stride, int64_t offset, const int64_t *bias);
/* What follows a convolution, in the order of the product: channels, then images and pixels
 * (by_image: as y lies). Its loops are cut at the ends of planes and images, so that each is of one
 * of them. */
DYNC__FN bool dync__cuv_end_of(dync__cuv *v, dync__gm *g);
/* The sums of forward to y, with bias and what follows. */
DYNC__FN dync_status dync__cuv_finish(dync__cuv *v, dync__gm *g);
/* One channel to a group: forward, and the data gradient of stride 1, which is a convolution of gy
 * by the window flipped. */
DYNC__FN dync_status dync__cuv_direct(dync__cuv *v, bool input);
DYNC__FN dync_status dync__cuv_direct_weight(dync__cuv *v);
/* kind: 1 forward, 2 to the input, 3 to the weight. */
DYNC__FN bool dync__cuv_is_direct(const dync__cuv *v, int kind);

#endif
