/* tests/models/sides.h: one function compiled in four ways that must agree: for what tests of
 * symbolic sizes share. */
#ifndef DYNC_TESTS_SIDES_H
#define DYNC_TESTS_SIDES_H
#include "../capture/counter.h"
#include <stdlib.h>

static uint64_t state;
static uint32_t rnd(uint32_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* Elements of the same bits, NaN being one value; or (tol) near each other by the largest. */
static bool alike(dync_tensor *x, dync_tensor *y, double tol)
{
    if (!x || !y) return !x && !y;
    if (dync_type(x) != dync_type(y)) return false;
    dync_tensor *p = dync_contiguous(dync_to_dtype(dync_detach(x), DYNC_F64)),
                *q = dync_contiguous(dync_to_dtype(dync_detach(y), DYNC_F64));
    if (dync_ndim(p) != dync_ndim(q) || dync_numel(p) != dync_numel(q)) return false;
    for (int d = 0; d < dync_ndim(p); d++)
        if (dync_size(p, d) != dync_size(q, d)) return false;
    const double *a = dync_data(p), *b = dync_data(q); /* with the bits of what they were */
    double most = 1;
    for (int64_t i = 0; i < dync_numel(p) && tol > 0; i++)
        if (fabs(b[i]) > most) most = fabs(b[i]);
    for (int64_t i = 0; i < dync_numel(p); i++) {
        bool nan = a[i] != a[i] && b[i] != b[i];
        if (!nan && memcmp(&a[i], &b[i], sizeof *a) != 0 &&
            !(tol > 0 && fabs(a[i] - b[i]) <= tol * most))
            return false;
    }
    return true;
}

/* PLANS: of all sizes, with their code; STEPS: of all sizes, plans of each */
enum { PLANS, STEPS, PLAIN, EAGER, SIDES };
static const char *const off[SIDES] = {"", "sized_plans", "all_sizes", ""};
#endif
