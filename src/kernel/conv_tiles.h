/* kernel/conv_tiles.h: a convolution laid out in tiles, shared by conv_plan.c (making),
 * conv_blocks.c, conv_weights.c, conv_wino.c, conv_tiles.c and conv_grad.c (running). After
 * conv_jit.h. */
#ifndef DYNC__CONV_TILES_H
#define DYNC__CONV_TILES_H
#include "conv_jit.h"
#include "packed.h"
#if DYNC__JIT

enum { DYNC__CJ_LISTS = 32 };
/* displacement; number in the window */
typedef struct dync__cj_tap {
    int64_t y, x;
    int32_t from;
} dync__cj_tap;
/* tiles of one code; [1]: fewer blocks */
typedef struct dync__cj_run_of {
    int64_t first, count, step;
    dync__ccode code[2];
} dync__cj_run_of;
typedef struct dync__cj_phase {
    /* places; the first one in out; where its packed weights begin */
    int64_t jh, jw, oy, ox, weights;
    int n_taps;
    dync__cj_tap *tap;
    /* as the code wants it: byte offsets; of its two counts of blocks */
    dync__ctap *at[2];
    bool by_rows; /* tiles hold whole rows and follow each other downwards */
    dync__cj_run_of run[2];
} dync__cj_phase;
struct dync__cj {
    dync__arena arena;
    dync__cheld held;
    dync__mutex lock;
    dync__packed *kept; /* weights as the tiles want them; under the lock */
    int32_t missed;     /* how often in a row it was no use */
    dync__cj_shape s;
    dync__cj_form form;
    dync__cj_after after;
    /* the input is in blocks and has no rim: it is taken as it is */
    bool bare;
    const dync__target *t;
    int what, op, V, B[2], n_phases, n_lists;
    bool planar, depthwise;
    int64_t groups, ic, oc, icb, ocb, K;      /* of a group: channels, blocks */
    int64_t h, w, oh, ow, isy, isx, osy, osx; /* of what goes in and comes out */
    /* rim above and left; the farthest tap below; width with rim */
    int64_t lo_y, lo_x, hi_y, wide;
    int64_t rows, chunks, rows_in; /* output rows of a job, input rows it needs */
    /* bytes; floats of packed weights */
    int64_t in_pixel, in_row, in_block, out_row, out_block, pack;
    dync__cj_phase *phase;
    /* rows of pixels from blocks to planes and back, of 4, 8, 16 pixels or more */
    dync__ccode move[2][3];
    /* WEIGHT: times the lists are gone through for a block of channels; their places */
    int64_t outer, all;
    struct {
        dync__ccode code[2];
        int first, P;
    } list[DYNC__CJ_LISTS];
    /* m x m places from n x n transformed ones; m 0: not so */
    struct {
        int m, n;
        int64_t across, tiles; /* of a row of tiles; of a job */
        /* from one transformed element to the next: bytes, bytes, floats */
        int64_t in, out, weights;
        /* out: + 1 the last column, + 2 the last row of tiles, where they are cut off */
        dync__ccode in_code, weight_code, out_code[4];
        dync__cj_run_of run[2];
    } wino;
};
/* One run of it: what its jobs share. */
typedef struct dync__cj_work {
    const dync__cj *v;
    const float *in, *weight, *bias, *const *after;
    float *out, *packed, *x, *gy;
    /* jobs an image's rows are cut into by output channels */
    int64_t *index, split;
    const dync__cj_data *data;
    int32_t failed;
} dync__cj_work;
DYNC__INLINE int64_t dync__cj_address(const void *p) { return (int64_t)(uintptr_t)p; }

/* A tile to be filled in. */
DYNC__INLINE dync__ctile dync__cj_tile(const dync__cj *v)
{
    dync__ctile t;
    memset(&t, 0, sizeof t);
    t.level = (int8_t)v->t->level;
    t.lanes = (int8_t)v->V;
    return t;
}

/* ---- conv_blocks.c ---- */
DYNC__FN void dync__cj_move(const dync__cj *v, bool to_blocks, float *planes, int64_t plane,
                            float *block, int64_t n, int64_t c);
DYNC__FN void dync__cj_in(const dync__cj *v, const float *x, int64_t c, int64_t y, int64_t rows,
                          float *to);
DYNC__FN void dync__cj_in_blocks(const dync__cj *v, const float *x, int64_t y, int64_t rows,
                                 float *to);
/* ---- conv_wino.c ---- */
/* The tiles of a job, before rows and widths are laid out. False: not for this layer. */
DYNC__FN bool dync__cj_wino_open(dync__cj *v);
/* places: of a tile of the products */
DYNC__FN bool dync__cj_wino_code(dync__cj *v, int64_t places);
DYNC__FN void dync__cj_wino(const dync__cj_work *w, int64_t g, int64_t b0, int64_t b1, int64_t j,
                            int64_t rows, const float *x, float *y, int64_t line, char *room);
/* ---- conv_weights.c ---- */
DYNC__FN void dync__cj_lines(const dync__cj *v, bool to_table, float *w, int64_t g, int64_t b,
                             int64_t a, float *table);
DYNC__FN dync__packed *dync__cj_weights(dync__cj *v, const void *w, const dync__tensor *owner);
/* ---- conv_tiles.c ---- */
DYNC__FN int64_t dync__cj_has(const dync__cj *v, int64_t g, int64_t per);
DYNC__FN void dync__cj_room(const dync__cj *v, size_t *in, size_t *out);
DYNC__FN double dync__cj_ns(const dync__cj *v); /* of one thread, about */
DYNC__FN dync_status dync__cj_run_places(dync__cj *v, const dync__cj_data *d);
/* ---- conv_grad.c ---- */
DYNC__FN dync_status dync__cj_run_weight(const dync__cj *v, const dync__cj_data *);
DYNC__FN size_t dync__cj_grad_bytes(const dync__cj *v); /* that a run takes */
#endif
#endif
