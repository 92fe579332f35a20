/* op/sample.h: values between the places of an image, for decompose_sample.c,
 * decompose_resize.c and decompose_region.c. After chain.h; private to op/. */
#ifndef DYNC__SAMPLE_H
#define DYNC__SAMPLE_H
#include "chain.h"

enum { DYNC__SAMPLE_DIMS = 3 };
/* what lies outside of an image: nothing, its edge, its mirror image */
enum { DYNC__SAMPLE_ZEROS, DYNC__SAMPLE_BORDER, DYNC__SAMPLE_REFLECT };
/* Where values are read: along each of `dims` dims tap 0 lies at `first`, a whole number as a
 * float, and the place itself `part` behind tap 0 (linear) or tap 1 (cubic), 0 to 1. All have the
 * shape of the places, [rows, places]. corners: -1 and 1 are the middles of the elements at the
 * edge. */
typedef struct dync__sampler {
    dync__chain *c;
    int dims, taps, pad; /* taps along each dim: nearest 1, linear 2, cubic 4 */
    bool corners;
    int64_t size[DYNC__SAMPLE_DIMS]; /* of the image, maybe symbolic */
    dync__dt *first[DYNC__SAMPLE_DIMS], *part[DYNC__SAMPLE_DIMS];
} dync__sampler;
/* One combination of taps: flat indices within the image (0 where it is outside), weights (NULL: 1
 * everywhere), and where it is inside, as bools. */
typedef struct dync__sample_tap {
    dync__dt *flat, *weight, *inside;
} dync__sample_tap;
/* of tap k of dim d, for its distance from the place */
DYNC__FN dync__dt *dync__sample_weight(const dync__sampler *, int d, int k);
/* how many combinations there are */
DYNC__FN int dync__sample_taps(const dync__sampler *);
/* combination `pick`, counted from 0 */
DYNC__FN dync__sample_tap dync__sample_tap_of(const dync__sampler *, int pick);
/* x [rows, channels, elements] at the places: [rows, channels, places]. NULL: the chain failed. */
DYNC__FN dync__dt *dync__sample_all(const dync__sampler *, dync__dt *x);
#endif
