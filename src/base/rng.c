/* base/rng.c: random numbers by counter: number i of a stream is a function of (seed, i), so loops
 * may draw in any order and on any thread. Source: Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011 (Philox4x32-10); Box and Muller 1958. The mapping of blocks
 * to numbers is stated in base.h; generators of machine code follow it. */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

DYNC__FN void dync__philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0],
             k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c0 * 0xd2511f53u, b = (uint64_t)c2 * 0xcd9e8d57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

DYNC__FN void dync__philox(uint64_t seed, uint64_t offset, uint32_t out[4])
{
    uint32_t counter[4] = {(uint32_t)offset, (uint32_t)(offset >> 32), 0, 0},
             key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    dync__philox_block(counter, key, out);
}

DYNC__FN uint32_t dync__rng_word(uint64_t seed, uint64_t index, int kind)
{
    uint64_t block = index >> 5 << 3 | (index & 7);
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32),
                           (uint32_t)dync__draw_block(kind), 0},
             key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, out[4];
    int own = (int)(index >> 3 & 3);
    dync__philox_block(counter, key, out);
    if (kind == DYNC__DRAW_UNIFORM) return out[own];
    if (kind == DYNC__DRAW_FIRST) return out[own & 2];
    return out[own | 1] - ((uint32_t)(own & 1) << 30);
}

DYNC__FN float dync__rng_uniform_f32(uint64_t seed, uint64_t index)
{
    uint32_t word = dync__rng_word(seed, index, DYNC__DRAW_UNIFORM);
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

DYNC__FN double dync__rng_uniform_f64(uint64_t seed, uint64_t index, int which)
{
    uint32_t r[4];
    dync__philox(seed, index, r);
    return (double)(((uint64_t)r[2 * which + 1] << 32 | r[2 * which]) >> 11) *
           (1.0 / 9007199254740992.0);
}

DYNC__FN double dync__rng_normal(uint64_t seed, uint64_t index)
{
    double u = 1.0 - dync__rng_uniform_f64(seed, index, 0); /* (0, 1] */
    return sqrt(-2.0 * log(u)) *
           cos(6.283185307179586476925 * dync__rng_uniform_f64(seed, index, 1));
}

DYNC__FN uint64_t dync__rng_take(uint64_t n)
{
    uint64_t first = dync__tls.rng_offset;
    dync__tls.rng_offset += n;
    return first;
}
