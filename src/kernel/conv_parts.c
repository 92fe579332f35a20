/* kernel/conv_parts.c: a convolution without tiles in machine code: a group of one image, images
 * and groups shared among threads. Before: conv_direct.c; conv_rows.c opens what runs here. */
#include "../dync.in.h"
#include "conv_jit.h"
#include "gemm.h"
#include "conv.h"
DYNC__BESIDE_JIT

/* ---- one group of one image ------------------------------------------------------------------ */

/* y of one group of one image: [go, ck] by columns [ck, pixels], some output rows at a time, each
 * reported as it is done. columns: of dync__conv_room; not read where the input is the columns. */
DYNC__RARE static void dync__conv_forward_one(dync__conv *v, int64_t image, int64_t group,
                                              void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow;
    const void *x = dync__conv_plane(v, v->x, v->h * v->w, image * v->c + group * v->gc);
    const void *w = dync__conv_plane(v, v->weight, ck, group * v->go);
    const void *bias = v->bias ? dync__conv_plane(v, v->bias, 1, group * v->go) : NULL;
    char *y = dync__conv_out(v, v->y, area, image * v->o + group * v->go);
    if (v->direct) {
        if (v->bytes == 8)
            dync__conv_bias_d(v, bias, (double *)(void *)y, v->go);
        else
            dync__conv_bias_f(v, bias, (float *)(void *)y, v->go);
    }
    for (int64_t o = 0; v->direct && o < v->go; o++)
        dync__conv_direct(v, DYNC__CONV_Y, x, dync__conv_plane(v, w, ck, o), NULL,
                          dync__conv_out(v, y, area, o), columns);
    int64_t line = image * v->o + group * v->go, some = v->block;
    if (v->pointwise && v->done)
        some = DYNC__MAX(DYNC__MIN(DYNC__CONV_HOT / (v->go * v->ow * v->bytes), v->oh), 1);
    for (int64_t oy = 0; !v->direct && oy < v->oh; oy += some) {
        int64_t rows = DYNC__MIN(some, v->oh - oy), n = rows * v->ow, at = oy * v->ow * v->bytes;
        if (!v->pointwise) dync__conv_im2col(v, x, columns, oy, rows);
        dync__conv_gemm(v, v->go, n, ck, w, ck, 1, v->pointwise ? (const char *)x + at : columns,
                        v->pointwise ? area : n, 1, y + at, area, bias, true);
        dync__lines_done(v->done, v, v->oh, line, v->go, oy, rows);
    }
    if (v->direct) dync__lines_done(v->done, v, v->oh, line, v->go, 0, v->oh);
}

/* gx of one group of one image: columns' gradient w^T gy, added up by col2im, rows of y in
 * order. */
DYNC__RARE static void dync__conv_input_one(dync__conv *v, int64_t image, int64_t group,
                                            void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow, plane = v->h * v->w;
    char *gx = dync__conv_out(v, v->gx, plane, image * v->c + group * v->gc);
    const void *w = dync__conv_plane(v, v->weight, ck, group * v->go);
    const char *gy = dync__conv_plane(v, v->gy, area, image * v->o + group * v->go);
    if (v->pointwise) {
        dync__conv_gemm(v, ck, area, v->go, w, 1, ck, gy, area, 1, gx, area, NULL, true);
        dync__lines_done(v->done, v, v->h, image * v->c + group * v->gc, v->gc, 0, v->h);
        return;
    }
    memset(gx, 0, (size_t)(v->gc * plane * v->bytes));
    for (int64_t o = 0; v->direct && o < v->go; o++)
        dync__conv_direct(v, DYNC__CONV_GX, NULL, dync__conv_plane(v, w, ck, o),
                          dync__conv_plane(v, gy, area, o), gx, columns);
    for (int64_t oy = 0; !v->direct && oy < v->oh; oy += v->block) {
        int64_t rows = DYNC__MIN(v->block, v->oh - oy), n = rows * v->ow;
        dync__conv_gemm(v, ck, n, v->go, w, 1, ck, gy + oy * v->ow * v->bytes, area, 1, columns, n,
                        NULL, true);
        if (v->bytes == 8)
            dync__conv_col2im_d(v, columns, (double *)(void *)gx, oy, rows);
        else
            dync__conv_col2im_f(v, columns, (float *)(void *)gx, oy, rows);
    }
    dync__lines_done(v->done, v, v->h, image * v->c + group * v->gc, v->gc, 0, v->h);
}

/* All images of one group: gw is theirs alone. */
DYNC__RARE static void dync__conv_weight_group(const dync__conv *v, int64_t group, void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow;
    void *gw = dync__conv_out(v, v->gw, ck, group * v->go);
    memset(gw, 0, (size_t)(v->go * ck * v->bytes));
    for (int64_t image = 0; image < v->n; image++) {
        const void *x = dync__conv_plane(v, v->x, v->h * v->w, image * v->c + group * v->gc);
        const char *gy = dync__conv_plane(v, v->gy, area, image * v->o + group * v->go);
        for (int64_t o = 0; v->direct && o < v->go; o++)
            dync__conv_direct(v, DYNC__CONV_GW, x, NULL, dync__conv_plane(v, gy, area, o),
                              dync__conv_out(v, gw, ck, o), columns);
        for (int64_t oy = 0; !v->direct && oy < v->oh; oy += v->block) {
            int64_t rows = DYNC__MIN(v->block, v->oh - oy), n = rows * v->ow;
            if (!v->pointwise) dync__conv_im2col(v, x, columns, oy, rows);
            dync__conv_gemm(v, v->go, ck, n, gy + oy * v->ow * v->bytes, area, 1,
                            v->pointwise ? x : columns, 1, n, gw, ck, gw, false);
        }
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Of a worker's failed allocation only its own context knows. */
DYNC__FN dync_status dync__conv_status(const dync__conv *v)
{
    return v->status == DYNC_ERR_MEMORY ? dync__fail_memory(0) : v->status;
}

/* A thread's share of images and groups (of gw: groups). Without memory for its columns it sets
 * v->status and leaves its share undone. */
DYNC__RARE static void dync__conv_part(void *user, int part, int n_parts)
{
    dync__conv *v = user;
    int64_t jobs = v->gw ? v->groups : v->n * v->groups;
    bool needs = !v->pointwise;
    size_t bytes = dync__conv_room(v, v->gx);
    void *columns = needs ? dync__alloc_data(bytes) : NULL;
    if (needs && !columns) {
        DYNC__ATOMIC_STORE(&v->status, DYNC_ERR_MEMORY);
        return;
    }
    for (int64_t i = jobs * part / n_parts; i < jobs * (part + 1) / n_parts; i++) {
        if (v->gw)
            dync__conv_weight_group(v, i, columns);
        else if (v->gx)
            dync__conv_input_one(v, i / v->groups, i % v->groups, columns);
        else
            dync__conv_forward_one(v, i / v->groups, i % v->groups, columns);
    }
    if (columns) dync__free_data(columns, bytes);
}

/* The convolution without tiles in machine code. Threads share images and groups where there are
 * enough of them; else gemm uses the threads and the epilogue runs once, at the end. */
DYNC__RARE DYNC__FN dync_status dync__conv_run(dync__conv *v)
{
    double work = (double)(v->n * v->o * v->oh * v->ow) * (double)(v->gc * v->kh * v->kw);
    int64_t jobs = v->gw ? v->groups : v->n * v->groups;
    int threads = dync__pool_threads();
    bool apart = jobs >= threads && work >= DYNC__CONV_PARALLEL;
    bool all = v->done && !apart;
    /* gemm uses the threads itself, and so does what follows */
    if (all) v->done = NULL;
    if (dync__conv_is_pixels(v) && !v->gw)
        dync__conv_pixels(v);
    else if (apart && threads > 1)
        dync__pool_run(dync__conv_part, v,
                       dync__pool_pieces(threads, work / DYNC__MACS_PER_NS, jobs));
    else
        dync__conv_part(v, 0, 1);
    DYNC__TRY(dync__conv_status(v));
    return all ? dync__code_run(v->call->epilogue, v->data + v->call->n, 0, 0) : DYNC_OK;
}
