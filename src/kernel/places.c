/* kernel/places.c: where elements are not 0. Before: kernel/places.h.
 *
 * By bits: a float is 0 where all but its sign are. Without a branch per element, as nobody can
 * foresee a mask. */
#include "../dync.in.h"
#include "places.h"
DYNC__HOT

/* The bits that count, of an element of so many bytes. */
static uint64_t dync__places_bits(int dtype)
{
    const dync__dtype_row *row = dync__dtype_info(dtype);
    uint64_t all = UINT64_MAX >> (64 - 8 * row->bytes);
    return row->kind == 'f' ? all >> 1 : all;
}

#define DYNC__PLACES_EACH(stop, body)                      \
    switch (dync__dtype_info(dtype)->bytes) {              \
    case 1: DYNC__PLACES_LOOP(uint8_t, stop, body) break;  \
    case 2: DYNC__PLACES_LOOP(uint16_t, stop, body) break; \
    case 4: DYNC__PLACES_LOOP(uint32_t, stop, body) break; \
    default: DYNC__PLACES_LOOP(uint64_t, stop, body)       \
    }
#define DYNC__PLACES_LOOP(type, stop, body)                            \
    for (int64_t i = 0; i < n && (stop); i++) {                        \
        type v;                                                        \
        memcpy(&v, (const char *)x + i * (int64_t)sizeof v, sizeof v); \
        body;                                                          \
        have += (v & bits) != 0;                                       \
    }

DYNC__FN int64_t dync__places_count(const void *x, int dtype, int64_t n)
{
    uint64_t bits = dync__places_bits(dtype);
    int64_t have = 0;
    DYNC__PLACES_EACH(true, (void)0)
    return have;
}

DYNC__FN int64_t dync__places_list(const void *x, int dtype, int64_t n, int64_t *to, int64_t most)
{
    uint64_t bits = dync__places_bits(dtype);
    int64_t have = 0;
    DYNC__PLACES_EACH(have < most, to[have] = i)
    return have;
}
