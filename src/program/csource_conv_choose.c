/* program/csource_conv_choose.c: how many channels and places an exported convolution computes at a
 * time. Before csource_convs.c, which writes them. */
#include "../dync.in.h"
#include "csource.h"
#include "csource_convs.h"
DYNC__COLD

enum {
    DYNC__CCONV_SUMS = 16,
    DYNC__CCONV_REGS = 28,
    DYNC__CCONV_TEXT = 24,
    DYNC__CCONV_VECTOR_REGS = 16,
    DYNC__CCONV_VECTOR_TEXT = 60
};

static void dync__cconv_block_make(const dync__cconv_text *t, int channels, int groups,
                                   dync__cconv_block *b)
{
    *b = (dync__cconv_block){.channels = channels, .groups = groups, .wide = 1};
    if (t->pool) b->wide = (int)t->pool->kernel[1];
    b->places = groups * b->wide;
    for (int i = 0; i < b->places && i < DYNC__CCONV_PLACES; i++)
        b->column[i] = t->pool ? i / b->wide * t->pool->stride[1] + i % b->wide : i;
    if (b->places <= DYNC__CCONV_PLACES)
        b->span = b->column[b->places - 1] * t->a->stride[1] + (t->kw - 1) * t->a->dilation[1] + 1;
}

/* Instructions for a row of what is stored. */
static int64_t dync__cconv_cost(const dync__cconv_text *t, const dync__cconv_block *b)
{
    int64_t blocks = (t->columns + b->groups - 1) / b->groups, sums = b->channels * b->places;
    int64_t loads = DYNC__MIN(b->span, b->places * t->kw) + b->channels * t->kw;
    int64_t rounds = t->w.lay.shape[1] * t->kh * (t->pool ? t->pool->kernel[0] : 1);
    return (t->y.lay.shape[1] / b->channels) * blocks *
           (rounds * (loads + sums * t->kw + 6) + sums * 5 + 15);
}

DYNC__FN void dync__cconv_choose(dync__cconv_text *t)
{
    int64_t least = -1;
    for (int channels = 1; channels <= 4; channels *= 2)
        for (int groups = 1; groups <= 5 && groups <= t->columns; groups++) {
            dync__cconv_block b;
            dync__cconv_block_make(t, channels, groups, &b);
            if (t->per_out % channels || b.places > DYNC__CCONV_PLACES) continue;
            int64_t sums = channels * b.places, regs = sums + b.span + channels;
            bool fits = sums <= DYNC__CCONV_SUMS && regs <= DYNC__CCONV_REGS &&
                        sums * t->kw <= DYNC__CCONV_TEXT;
            int64_t cost = dync__cconv_cost(t, &b);
            if (least >= 0 && (!fits || cost >= least)) continue;
            least = cost;
            t->block = b;
        }
}

/* The same for vectors of channels: rounds take multiply-adds, at least those that hide what one
 * takes, and loads. */
DYNC__FN void dync__cconv_choose_vectors(dync__cconv_text *t)
{
    int64_t least = -1, channels = t->y.lay.shape[1];
    for (int wide = 1; wide <= 2 && (wide == 1 || wide * t->lanes <= channels); wide++)
        for (int groups = 1; groups <= DYNC__CCONV_PLACES && groups <= t->columns; groups++) {
            dync__cconv_block b;
            dync__cconv_block_make(t, wide, groups, &b);
            if (b.places > DYNC__CCONV_PLACES) continue;
            int64_t sums = wide * b.places, vectors = (channels + t->lanes - 1) / t->lanes,
                    blocks = (vectors + wide - 1) / wide * ((t->columns + groups - 1) / groups);
            bool fits = sums + wide < DYNC__CCONV_VECTOR_REGS &&
                        sums * t->kw <= DYNC__CCONV_VECTOR_TEXT;
            int64_t round = DYNC__MAX(sums, 8) * t->kw + b.span + wide * t->kw + 6;
            int64_t rounds = t->w.lay.shape[1] * t->kh * (t->pool ? t->pool->kernel[0] : 1);
            int64_t cost = blocks * (rounds * round + 30 * sums + 15);
            if (least >= 0 && (!fits || cost >= least)) continue;
            least = cost;
            t->block = b;
        }
}
