/* cuda/wgmma.h: a product by wgmma (wgmma.c): its state and the pieces of its text. After gemm.h.
 * */
#ifndef DYNC__CUDA_WGMMA_H
#define DYNC__CUDA_WGMMA_H
#include "gemm.h"

/* END_ROW: 32 words and a gap */
enum {
    DYNC__WG_BM = 128,
    DYNC__WG_THREADS = 384,
    DYNC__WG_BAND = 8,
    DYNC__WG_END_ROW = 160,
    DYNC__WG_BOX = 64 * 128
};
typedef struct dync__wg {
    dync__gm *g;
    dync__cuda_tile *t;
    int bn, stages, cluster, bytes, depth; /* depth: elements of k in a row of 128 bytes */
    /* by_box: results are stored by TMA; cut_k: a block of the cluster loads half of b's k's, not
     * of its lines */
    bool by_k[2], by_box, cut_k;
    int out_bytes, stage_bytes, bars, end_at, labels;
    int64_t down, across; /* tiles of the whole cluster, in rows and columns */
    /* the batch dims of a map's dims from the third on: of a, b and the result */
    int batch_at[3][3], n_batch[3];
} dync__wg;
/* ---- wgmma.c --------------------------------------------------------------------------------- */
DYNC__FN bool dync__wg_side(dync__wg *w, int s);
/* The results alone, row-major, as a map of boxes of 64 rows. */
DYNC__FN bool dync__wg_result(dync__wg *w);
/* Waits until the phase of this parity is over. */
DYNC__FN void dync__wg_wait(dync__wg *w, const char *bar, const char *parity);
/* The next stage of the ring; the parity flips where it begins again. */
DYNC__FN void dync__wg_next(dync__wg *w);
/* %m0, %n0, %batch and the batch's coordinates from %tile. */
DYNC__FN void dync__wg_place(dync__wg *w);
/* "{first, second, batches}" of a map */
DYNC__FN void dync__wg_coordinates(const dync__wg *w, int which, const char *first,
                                   const char *second, char out[120]);
DYNC__FN void dync__wg_producer(dync__wg *w);
#endif
