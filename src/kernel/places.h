/* kernel/places.h: where elements are not 0 (NaN is not). Before: tensor/tensor.h. */
#ifndef DYNC__PLACES_H
#define DYNC__PLACES_H
#include "../tensor/tensor.h"

/* How many of n elements that lie side by side. */
DYNC__FN int64_t dync__places_count(const void *x, int dtype, int64_t n);
/* Writes the places of the first `most` of them, in order; returns how many there were. */
DYNC__FN int64_t dync__places_list(const void *x, int dtype, int64_t n, int64_t *to, int64_t most);

#endif
