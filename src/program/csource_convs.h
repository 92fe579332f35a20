/* program/csource_convs.h: what the files of exported convolutions share: csource_convs.c writes
 * blocks of channels and places, csource_planes.c planes, csource_conv_forms.c chooses. */
#ifndef DYNC__CSOURCE_CONVS_H
#define DYNC__CSOURCE_CONVS_H
#include "csource.h"

enum { DYNC__CCONV_PLACES = 8 };
/* A block: `channels` output channels, `groups` windows of a pooling (without one: places), each
 * of `wide` places of a row. */
typedef struct dync__cconv_block {
    int channels, groups, wide, places;
    int64_t column[DYNC__CCONV_PLACES]; /* of each place, from the block's first on */
    int64_t span;                       /* elements of a row that it may read */
} dync__cconv_block;

typedef struct dync__cconv_text {
    dync__str *s;
    const dync__csource_after *after;
    dync__operand x, w, y; /* y: the convolution's own result, whether it is stored or not */
    const dync__operand *out;
    const dync__operand *bias; /* or NULL */
    const char *n;             /* the picture; NULL: there is one */
    const dync__attr_conv *a;
    const dync__attr_pool *pool;
    int64_t kh, kw, rows, columns; /* of the window; of what is stored */
    int64_t per_out;               /* output channels of a group */
    dync__cconv_block block;
    int64_t from, to; /* elements of the row that exist, of the block's span */
    int lanes;        /* 0: channels one by one; else block.channels counts vectors of them */
    /* maxima are of sums: what is done to a value is done to the greatest of its window, as it
     * keeps order */
    bool late;
} dync__cconv_text;

/* csource_conv_choose.c: the block, in floats one by one and in vectors of output channels */
DYNC__FN void dync__cconv_choose(dync__cconv_text *);
DYNC__FN void dync__cconv_choose_vectors(dync__cconv_text *);
/* csource_conv_sums.c: an indent; are rows of windows outside, are there any but one, which of
 * them; does a place read column v; what one row of the window and one input channel add */
DYNC__FN void dync__cconv_line(const dync__cconv_text *, int depth);
DYNC__FN bool dync__cconv_clips(const dync__cconv_text *);
DYNC__FN bool dync__cconv_has_rows(const dync__cconv_text *);
DYNC__FN void dync__cconv_rows(const dync__cconv_text *, int depth);
DYNC__FN bool dync__cconv_column(const dync__cconv_text *, int64_t v);
DYNC__FN void dync__cconv_sums(const dync__cconv_text *, int depth);
/* csource_convs.c: the body of the function; lanes: of vectors of output channels, or 0 */
DYNC__FN void dync__cconv_blocks_body(dync__cconv_text *, int lanes);
/* csource_pairs.c: the same of bytes, two products at a time */
DYNC__FN void dync__cconv_pairs_body(const dync__cconv_text *);
DYNC__FN bool dync__cconv_pairs_fit(const dync__cconv_text *);
/* csource_planes.c: the same for a channel of the input at a time, in vectors of places */
DYNC__FN void dync__cconv_planes_body(const dync__cconv_text *);
DYNC__FN bool dync__cconv_planes_fit(const dync__cconv_text *);
#endif
