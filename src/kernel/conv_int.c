/* kernel/conv_int.c: 2-D convolution of I8 with sums in I32, which wrap. After conv_rows.c.
 *
 * Where the machine multiplies fours of bytes, channels stand in words of four and the tiles of
 * convolutions of floats (conv_plan.c) run over the words. The machine wants bytes of the input
 * unsigned: they are lifted by 128, and 128 times the sums of the weights are taken off again.
 *
 * Else, and where a group has one channel alone, by conv2d of floats, whose sums are exact here: a
 * product of two bytes is below 2^14, so that 1,024 of them stay below 2^24, and more are summed in
 * f64. */
#include "../dync.in.h"
#include "conv.h"
#include "operand.h"
DYNC__WARM

enum { DYNC__CONV_INT_F32 = 1024 };

typedef struct dync__conv_int {
    /* over words, [N, groups, words, H, W] of them; NULL: the other way */
    dync__cj *tiles;
    dync__conv_words words;
    /* the convolution of floats: dense operands x, w, y */
    dync__kcall *call; /* or NULL */
    int64_t numel[3];
    size_t at[4]; /* bytes to each of the three, and to their end */
    int dtype;
} dync__conv_int;

DYNC__RARE static void dync__conv_int_drop(void *state)
{
    dync__conv_int *v = state;
    dync__cj_free(v->tiles);
    if (v->call && v->call->drop && v->call->state) v->call->drop(v->call->state);
    dync__free(v->call, dync__kcall_room(3));
    dync__free(v, sizeof *v);
}

/* ---- by words -------------------------------------------------------------------------------- */

/* Tiles over words of four channels; v->tiles stays NULL where there are none, or where one channel
 * of four would be used. */
DYNC__RARE static void dync__conv_int_tiles(dync__conv_int *v, const dync__kcall *c)
{
    const dync__attr_conv *a = &c->attr.conv;
    const int64_t *x = c->operand[0].lay.shape, *w = c->operand[1].lay.shape,
                  *y = c->operand[c->n - 1].lay.shape;
    v->words = (dync__conv_words){.planes = x[0] * a->groups,
                                  .channels = w[1],
                                  .words = (w[1] + 3) / 4,
                                  .area = x[2] * x[3],
                                  .type = DYNC__GT_U8};
    v->at[3] = (size_t)dync__conv_words_bytes(&v->words);
    if (w[1] == 1) return;
    dync__cj_shape s = {x[0],
                        a->groups * v->words.words,
                        x[2],
                        x[3],
                        w[0],
                        y[2],
                        y[3],
                        w[2],
                        w[3],
                        a->stride[0],
                        a->stride[1],
                        a->pad[0],
                        a->pad[1],
                        a->dilation[0],
                        a->dilation[1],
                        a->groups,
                        0,
                        w[1],
                        DYNC_I8};
    v->tiles = dync__cj_new(&s, DYNC__CJ_FORWARD, &(dync__cj_form){false, false, NULL});
}

/* room: of the input's words */
static dync_status dync__conv_int_words(const dync__kcall *c, const dync__dense *d, char *room)
{
    const dync__conv_int *v = c->state;
    dync__conv_words words = v->words;
    words.from = d[0].data;
    words.to = room;
    dync__conv_words_run(&words);
    dync__cj_data all = {.in = (const float *)(const void *)room,
                         .weight = d[1].data,
                         .bias = c->n == 4 ? d[2].data : NULL,
                         .out = d[c->n - 1].data,
                         .owner = d[1].copy ? NULL : dync__conv_owner(c)};
    return dync__cj_run(v->tiles, &all);
}

/* ---- by floats ------------------------------------------------------------------------------- */

DYNC__RARE static dync_status dync__conv_int_open(dync__conv_int *v, const dync__kcall *c)
{
    const dync__operand *from[3] = {&c->operand[0], &c->operand[1], &c->operand[c->n - 1]};
    const int64_t *w = c->operand[1].lay.shape;
    v->dtype = w[1] * w[2] * w[3] <= DYNC__CONV_INT_F32 ? DYNC_F32 : DYNC_F64;
    if (!(v->call = dync__calloc(dync__kcall_room(3)))) return DYNC_ERR_MEMORY;
    v->call->row = &dync__kcall_conv2d;
    v->call->n = 3;
    v->call->attr.conv = c->attr.conv;
    v->call->attr.conv.winograd = 0; /* its sums are not exact */
    v->call->origin = c->origin;
    for (int i = 0; i < 3; i++) {
        dync__operand *o = &v->call->operand[i];
        o->dtype = (uint8_t)v->dtype;
        o->written = i == 2;
        DYNC__TRY(dync__layout_contiguous(&o->lay, 4, from[i]->lay.shape));
        v->numel[i] = dync__operand_numel(o);
        size_t bytes = (size_t)v->numel[i] * dync__dtype_info(v->dtype)->bytes;
        v->at[i + 1] = v->at[i] + (bytes + 63) / 64 * 64;
    }
    return v->call->row->prepare(v->call);
}

static void dync__conv_int_widen(const int8_t *from, void *to, int dtype, int64_t n)
{
    if (dtype == DYNC_F32)
        for (int64_t i = 0; i < n; i++) ((float *)to)[i] = (float)from[i];
    else
        for (int64_t i = 0; i < n; i++) ((double *)to)[i] = (double)from[i];
}

/* Whole numbers of floats, and the bias of each channel, into I32. */
static void dync__conv_int_sums(const dync__conv_int *v, const void *from, const int32_t *bias,
                                int32_t *y)
{
    const int64_t *shape = v->call->operand[2].lay.shape;
    int64_t area = shape[2] * shape[3];
    for (int64_t plane = 0, i = 0; plane < shape[0] * shape[1]; plane++) {
        uint32_t add = bias ? (uint32_t)bias[plane % shape[1]] : 0;
        for (int64_t end = i + area; i < end; i++) {
            int64_t sum = v->dtype == DYNC_F32 ? (int64_t)((const float *)from)[i]
                                               : (int64_t)((const double *)from)[i];
            y[i] = (int32_t)((uint32_t)(uint64_t)sum + add);
        }
    }
}

static dync_status dync__conv_int_floats(const dync__kcall *c, const dync__dense *d, char *room)
{
    const dync__conv_int *v = c->state;
    void *at[3] = {room, room + v->at[1], room + v->at[2]};
    for (int i = 0; i < 2; i++) dync__conv_int_widen(d[i].data, at[i], v->dtype, v->numel[i]);
    dync_status status = v->call->row->run(v->call, at, NULL);
    if (status == DYNC_OK)
        dync__conv_int_sums(v, at[2], c->n == 4 ? d[2].data : NULL, d[c->n - 1].data);
    return status;
}

/* ---- the row --------------------------------------------------------------------------------- */

DYNC__RARE DYNC__FN dync_status dync__k_int_conv2d_prepare(dync__kcall *c)
{
    const dync__operand *x = &c->operand[0], *w = &c->operand[1], *y = &c->operand[c->n - 1];
    DYNC__TRY(dync__kcall_expect(c, c->n == 3 || c->n == 4, "3 or 4 operands"));
    DYNC__TRY(dync__kcall_expect(c,
                                 x->dtype == DYNC_I8 && w->dtype == DYNC_I8 &&
                                     c->operand[2].dtype == DYNC_I32 && y->dtype == DYNC_I32,
                                 "I8 with sums in I32"));
    DYNC__TRY(dync__kcall_expect(c, x->lay.ndim == 4 && w->lay.ndim == 4 && y->lay.ndim == 4,
                                 "operands of rank 4"));
    dync__conv_int *v = dync__calloc(sizeof *v);
    if (!v) return DYNC_ERR_MEMORY;
    c->state = v;
    c->drop = dync__conv_int_drop;
    dync__conv_int_tiles(v, c);
    size_t runs = v->tiles ? dync__cj_bytes(v->tiles) : 0;
    if (!v->tiles) {
        DYNC__TRY(dync__conv_int_open(v, c));
        runs = v->call->run_bytes;
    }
    c->run_bytes = runs + v->at[3];
    return DYNC_OK;
}

static dync_status dync__conv_int_run(const dync__kcall *c, const dync__dense *d)
{
    const dync__conv_int *v = c->state;
    char *room = dync__alloc_data(v->at[3]);
    if (!room) return DYNC_ERR_MEMORY;
    dync_status status = v->tiles ? dync__conv_int_words(c, d, room)
                                  : dync__conv_int_floats(c, d, room);
    dync__free_data(room, v->at[3]);
    return status;
}

DYNC__FN dync_status dync__k_int_conv2d(const dync__kcall *c, void *const *data, void *scratch)
{
    dync__dense d[4] = {{0}};
    dync_status status = DYNC_OK;
    (void)scratch;
    if (dync__operand_numel(&c->operand[c->n - 1]) == 0) return DYNC_OK;
    for (int i = 0; i < c->n && status == DYNC_OK; i++)
        status = (i < c->n - 1 ? dync__dense_in : dync__dense_out)(&c->operand[i], data[i],
                                                                   c->operand[i].dtype, &d[i]);
    if (status == DYNC_OK) status = dync__conv_int_run(c, d);
    return dync__dense_end(c, c->n, c->n - 1, data, d, status);
}
