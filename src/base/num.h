/* base/num.h: big naturals, which exact printing and reading of numbers share. Private to num*.c.
 * */
#ifndef DYNC__NUM_H
#define DYNC__NUM_H
#include "base.h"

/* 10^1107 has 115 limbs; 2^-1076 * (2^55 - 1) has 770 digits */
enum { DYNC__NUM_LIMBS = 128, DYNC__NUM_DIGITS = 800 };

/* Limbs of a base of the user's, the least first; n of them. */
typedef struct dync__num_big {
    int n;
    uint32_t limb[DYNC__NUM_LIMBS];
} dync__num_big;

/* b = b * factor + add */
DYNC__FN void dync__num_mul(dync__num_big *b, uint32_t factor, uint32_t add, uint32_t base);
/* b = b * root^exponent; power_13 = root^13 */
DYNC__FN void dync__num_mul_pow(dync__num_big *b, uint32_t root, uint32_t power_13, int exponent,
                                uint32_t base);
#endif
