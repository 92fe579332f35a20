/* op/chain.h: a chain of operator calls, for decompositions. After rows.h; private to op/.
 *
 * A chain is sticky: after the first failure nothing more is called and every call returns NULL, so
 * a decomposition reads like its formula and is checked once, by dync__chain_end. What the calls
 * make lives as long as the chain. */
#ifndef DYNC__CHAIN_H
#define DYNC__CHAIN_H
#include "rows.h"

typedef dync__tensor dync__dt;
typedef struct dync__chain {
    dync_status status;
    DYNC__VEC(dync__tensor *) made;
} dync__chain;

DYNC__FN void dync__chain_call(dync__chain *, const dync__row *op, int nargs, dync__arg *args,
                               dync__dt **out);
/* the status of a dync__fail */
DYNC__FN void dync__chain_fail(dync__chain *, dync_status);
DYNC__FN dync__dt *dync__chain1(dync__chain *, const dync__row *op, dync__dt *);
DYNC__FN dync__dt *dync__chain2(dync__chain *, const dync__row *op, dync__arg, dync__arg);
DYNC__FN dync__dt *dync__chain3(dync__chain *, const dync__row *op, dync__arg, dync__arg,
                                dync__arg);
DYNC__FN dync__dt *dync__chain_tt(dync__chain *, const dync__row *op, dync__dt *, dync__dt *);
DYNC__FN dync__dt *dync__chain_tf(dync__chain *, const dync__row *op, dync__dt *, double);
DYNC__FN dync__dt *dync__chain_ti(dync__chain *, const dync__row *op, dync__dt *, int64_t);
DYNC__FN dync__dt *dync__chain_shape(dync__chain *, const dync__row *op, dync__dt *, int n,
                                     const int64_t *shape);
DYNC__FN dync__dt *dync__chain_reduce(dync__chain *, const dync__row *op, dync__dt *, int n,
                                      const int64_t *dims, bool keepdim);
#define dync__chain_call(c, op, ...) (dync__chain_call)(c, &op##_row, __VA_ARGS__)
#define dync__chain1(c, op, ...) (dync__chain1)(c, &op##_row, __VA_ARGS__)
#define dync__chain2(c, op, ...) (dync__chain2)(c, &op##_row, __VA_ARGS__)
#define dync__chain3(c, op, ...) (dync__chain3)(c, &op##_row, __VA_ARGS__)
#define dync__chain_tt(c, op, ...) (dync__chain_tt)(c, &op##_row, __VA_ARGS__)
#define dync__chain_tf(c, op, ...) (dync__chain_tf)(c, &op##_row, __VA_ARGS__)
#define dync__chain_ti(c, op, ...) (dync__chain_ti)(c, &op##_row, __VA_ARGS__)
#define dync__chain_shape(c, op, ...) (dync__chain_shape)(c, &op##_row, __VA_ARGS__)
#define dync__chain_reduce(c, op, ...) (dync__chain_reduce)(c, &op##_row, __VA_ARGS__)
DYNC__FN dync__dt *dync__chain_dtype(dync__chain *, dync__dt *, int dtype);
/* f16 and bf16 as f32, others as they are; NULL stays NULL */
DYNC__FN dync__dt *dync__chain_wide(dync__chain *, dync__dt *);
DYNC__FN dync__dt *dync__chain_slice(dync__chain *, dync__dt *, int64_t dim, int64_t start,
                                     int64_t end);
DYNC__FN dync__dt *dync__chain_cat(dync__chain *, int n, dync__arg *list, int64_t dim);
DYNC__FN dync__dt *dync__chain_mean(dync__chain *, dync__dt *); /* of all elements */
DYNC__FN dync__dt *dync__chain_one_minus(dync__chain *, dync__dt *);
DYNC__FN dync__dt *dync__chain_where(dync__chain *, dync__dt *condition, dync__arg yes,
                                     dync__arg no);
/* Ends the chain: results go out with a reference each, everything else is let go. */
DYNC__FN dync_status dync__chain_end(dync__chain *, dync__opcall *, dync__dt *result);
/* x [N, C, ..] as it lies: [N, .., C] where that is channels last, and *form says so. Where a dim
 * is there, and what comes of it with its dims in order again. */
DYNC__FN dync__dt *dync__chain_lying(dync__chain *, dync__dt *x, int *form);
DYNC__FN int dync__chain_dim(int form, int dim);
DYNC__FN dync__dt *dync__chain_standing(dync__chain *, dync__dt *y, int form);
/* y as memory of its own in the format of x (dync__layout_form): y itself where it is that. Without
 * x it need only be row major, strides of dims of size 1 included. */
DYNC__FN dync__dt *dync__chain_formed(dync__chain *, dync__dt *y, const dync__dt *x);
DYNC__FN dync_status dync__chain_end_n(dync__chain *, dync__opcall *, int n,
                                       dync__dt *const *result);

/* 0, 1, .. n - 1 as int64; n may be symbolic */
DYNC__FN dync__dt *dync__chain_range(dync__chain *, int64_t n, int device);

/* argument i if it is a tensor, else NULL */
DYNC__FN dync__dt *dync__dt_arg(const dync__opcall *, int i);
/* argument 0, which must be one */
DYNC__FN dync_status dync__dt_self(const dync__opcall *, dync__dt **out);
/* zeros around one dim */
DYNC__FN dync__dt *dync__dn_pad_dim(dync__chain *c, dync__dt *x, int dim, int64_t before,
                                    int64_t after);
/* number argument i */
DYNC__FN double dync__dn_number(const dync__opcall *call, int i);
/* the dim that argument i names */
DYNC__FN dync_status dync__dn_dim(const dync__opcall *call, int i, int ndim, int *dim);
/* one number for all `most` dims, one for each, or, of none, `otherwise`; of 32 bits */
DYNC__FN dync_status dync__dn_numbers(const dync__opcall *, int i, int most, int64_t otherwise,
                                      int64_t *out);
/* DYNC_ERR_UNSUPPORTED for a tensor without data */
DYNC__FN dync_status dync__decompose_real(const dync__dt *);
/* of that rank, or DYNC_ERR_SHAPE */
DYNC__FN dync_status dync__dn_rank(const dync__dt *x, int rank);

#endif
