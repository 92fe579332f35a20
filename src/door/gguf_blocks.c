/* door/gguf_blocks.c: the types of GGUF's tensors: numbers as they are, and blocks of a few bits
 * with scales, as ggml defines them. Before gguf.c.
 *
 *   Q8_0  32 elements: d f16, 32 int8: d * q
 *   Q4_0  32: d f16, 16 bytes, elements 0-15 in the low halves, 16-31 in the high: d * (q - 8)
 *   Q4_K  256 in 8 parts: d, m f16, 8 scales and 8 minima of 6 bits in 12 bytes, 128 bytes:
 *         d * scale * q - m * minimum
 *   Q6_K  256 in 16 parts: 128 bytes of low halves, 64 of two high bits, 16 int8 scales, d f16:
 *         d * scale * (q - 32) */
#include "../dync.in.h"
#include "door.h"
DYNC__COLD

static float dync__gguf_half(const unsigned char *p)
{
    return dync__f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

DYNC__BUSY static void dync__gguf_q8_0(const unsigned char *p, float *out)
{
    float d = dync__gguf_half(p);
    for (int i = 0; i < 32; i++) out[i] = d * (float)(int8_t)p[2 + i];
}

DYNC__BUSY static void dync__gguf_q4_0(const unsigned char *p, float *out)
{
    float d = dync__gguf_half(p);
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)((p[2 + i] & 15) - 8);
        out[i + 16] = d * (float)((p[2 + i] >> 4) - 8);
    }
}

/* Scale and minimum k of 8: the first four in the low six bits of 0-3 and 4-7, the others in the
 * halves of 8-11, with their high bits above those six. */
static void dync__gguf_six_bits(const unsigned char *s, int k, float *scale, float *least)
{
    unsigned a = k < 4 ? s[k] & 63u : (s[k + 4] & 15u) | (unsigned)(s[k - 4] >> 6) << 4,
             b = k < 4 ? s[k + 4] & 63u : (unsigned)(s[k + 4] >> 4) | (unsigned)(s[k] >> 6) << 4;
    *scale = (float)a;
    *least = (float)b;
}

DYNC__BUSY static void dync__gguf_q4_k(const unsigned char *p, float *out)
{
    float d = dync__gguf_half(p), m = dync__gguf_half(p + 2), scale, least;
    const unsigned char *q = p + 16;
    for (int k = 0; k < 8; k++) {
        dync__gguf_six_bits(p + 4, k, &scale, &least);
        scale *= d;
        least *= m;
        for (int i = 0; i < 32; i++) /* two parts share 32 bytes */
            out[k * 32 + i] =
                scale * (float)(k & 1 ? q[k / 2 * 32 + i] >> 4 : q[k / 2 * 32 + i] & 15) - least;
    }
}

DYNC__BUSY static void dync__gguf_q6_k(const unsigned char *p, float *out)
{
    float d = dync__gguf_half(p + 208);
    for (int part = 0; part < 16; part++) {
        /* 128 elements share 64 low bytes and 32 high ones; four times 32 of them each */
        int half = part / 8, quarter = part / 2 % 4, first = part % 2 * 16;
        const unsigned char *low = p + half * 64 + (quarter & 1) * 32 + first,
                            *high = p + 128 + half * 32 + first;
        float scale = d * (float)(int8_t)p[192 + part];
        for (int i = 0; i < 16; i++) {
            int q = (quarter < 2 ? low[i] & 15 : low[i] >> 4) | (high[i] >> (2 * quarter) & 3) << 4;
            out[part * 16 + i] = scale * (float)(q - 32);
        }
    }
}

static const dync__gguf_type dync__gguf_types[] = {
    {0, "F32", DYNC_F32, 1, 4, NULL},
    {1, "F16", DYNC_F16, 1, 2, NULL},
    {2, "Q4_0", DYNC_F32, 32, 18, dync__gguf_q4_0},
    {8, "Q8_0", DYNC_F32, 32, 34, dync__gguf_q8_0},
    {12, "Q4_K", DYNC_F32, 256, 144, dync__gguf_q4_k},
    {14, "Q6_K", DYNC_F32, 256, 210, dync__gguf_q6_k},
    {24, "I8", DYNC_I8, 1, 1, NULL},
    {25, "I16", DYNC_I16, 1, 2, NULL},
    {26, "I32", DYNC_I32, 1, 4, NULL},
    {27, "I64", DYNC_I64, 1, 8, NULL},
    {28, "F64", DYNC_F64, 1, 8, NULL},
    {30, "BF16", DYNC_BF16, 1, 2, NULL},
};

DYNC__FN const dync__gguf_type *dync__gguf_type_row(uint32_t number)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__gguf_types); i++)
        if (dync__gguf_types[i].number == number) return &dync__gguf_types[i];
    return NULL;
}
