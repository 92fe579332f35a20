/* op/nms.c: nms, non-maximum suppression of boxes as torchvision.ops has it, and the loop itself,
 * which the reader of ONNX calls too. After decompose_region.c. */
#include "../dync.in.h"
#include "sample.h"
DYNC__HOT

/* What an operation in this dtype gives: float32 rounds. */
static double dync__nms_round(const dync__nms *s, double x)
{
    return s->narrow ? (double)(float)x : x;
}

static double dync__nms_area(const dync__nms *s, const double *a)
{
    return dync__nms_round(s, dync__nms_round(s, a[2] - a[0]) * dync__nms_round(s, a[3] - a[1]));
}

/* Intersection over union of boxes x1 y1 x2 y2. */
static double dync__nms_overlap(const dync__nms *s, const double *a, const double *b)
{
    double common = 1;
    for (int i = 0; i < 2; i++) {
        double low = a[i] > b[i] ? a[i] : b[i], high = a[2 + i] < b[2 + i] ? a[2 + i] : b[2 + i];
        common *= dync__nms_round(s, high > low ? high - low : 0);
    }
    common = dync__nms_round(s, common);
    double all = dync__nms_round(s, dync__nms_area(s, a) + dync__nms_area(s, b));
    return dync__nms_round(s, common / dync__nms_round(s, all - common));
}

/* Is box a taken before box b? The better one is, of equal scores the first. */
static bool dync__nms_before(const double *score, int64_t a, int64_t b)
{
    return score[a] > score[b] || (score[a] >= score[b] && a < b);
}

/* A heap of n boxes, the first of all on top, but for what lies at `at`. */
static void dync__nms_sink(int64_t *heap, int64_t n, int64_t at, const double *score)
{
    int64_t x = heap[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && dync__nms_before(score, heap[child + 1], heap[child])) child++;
        if (!dync__nms_before(score, heap[child], x)) break;
        heap[at] = heap[child];
    }
    heap[at] = x;
}

/* From the best box on, each that no kept one overlaps by more: as many are looked at as it takes
 * to keep s->most. */
DYNC__FN dync_status dync__nms_run(dync__nms *s, const double *box, const double *score, int64_t n)
{
    size_t bytes = ((size_t)n + 1) * sizeof(int64_t);
    int64_t *heap = dync__alloc(bytes), left = 0;
    int first = s->kept.n;
    dync_status status = heap ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int64_t i = 0; heap && i < n; i++)
        if (score[i] > s->least) heap[left++] = i;
    for (int64_t i = left / 2 - 1; i >= 0; i--) dync__nms_sink(heap, left, i, score);
    while (left > 0 && s->kept.n - first < s->most && status == DYNC_OK) {
        int64_t best = heap[0];
        bool stays = true;
        heap[0] = heap[--left];
        dync__nms_sink(heap, left, 0, score);
        for (int k = first; k < s->kept.n && stays; k++)
            stays = !(dync__nms_overlap(s, box + 4 * s->kept.at[k], box + 4 * best) > s->overlap);
        if (stays && !dync__vec_push(&s->kept, best)) status = DYNC_ERR_MEMORY;
    }
    if (heap) dync__free(heap, bytes);
    return status;
}

/* n elements as doubles, in the caller's memory: dync__free of n * 8 bytes. */
static double *dync__nms_doubles(const dync__dt *t)
{
    dync__dt *x = dync__contiguous_copy(t);
    double *out = x ? dync__alloc((size_t)(t->numel + 1) * sizeof *out) : NULL;
    int bytes = dync__dtype_info(t->dtype)->bytes;
    for (int64_t i = 0; out && i < t->numel; i++)
        out[i] = dync__load_f64((const char *)dync__tensor_data(x) + i * bytes, t->dtype);
    dync__unref(x);
    return out;
}

/* int64 [kept], or rows of `width` columns, on the device of the boxes */
static dync_status dync__nms_give(dync__opcall *call, const dync__nms *s, int width, int device)
{
    dync__layout lay;
    const int64_t shape[2] = {s->kept.n / width, width};
    DYNC__TRY(dync__layout_contiguous(&lay, width == 1 ? 1 : 2, shape));
    dync__dt *y = dync__tensor_empty(DYNC_I64, DYNC_CPU, &lay);
    if (!y) return DYNC_ERR_MEMORY;
    if (s->kept.n) memcpy(dync__tensor_data(y), s->kept.at, (size_t)s->kept.n * sizeof *s->kept.at);
    call->out[0] = y;
    call->nout = 1;
    if (dync__device_is(device, DYNC__DEV_HOST)) return DYNC_OK;
    dync__arg args[2] = {dync__arg_t(y), dync__arg_device(device)};
    dync_status status = dync__op_run(DYNC__OP_to_device, 2, args, &call->out[0]);
    dync__unref(y);
    call->nout = status == DYNC_OK;
    return status;
}

/* Boxes of x1 y1 x2 y2 and scores, the last dim of each a box or one for each box. */
static dync_status dync__nms_args(const dync__opcall *call, dync__dt **box, dync__dt **score)
{
    DYNC__TRY(dync__dt_self(call, box));
    DYNC__TRY(dync__infer_tensor(call, 1, score));
    DYNC__TRY(dync__infer_floating(*box));
    DYNC__TRY(dync__infer_floating(*score));
    DYNC__TRY(dync__decompose_real(*box));
    return dync__decompose_real(*score);
}

/* Arguments (boxes [N, 4] of x1 y1 x2 y2, scores [N], iou_threshold): from the best box on, those
 * that overlap a kept one by more are left out. */
DYNC__FN dync_status dync__d_nms(dync__opcall *call)
{
    dync__dt *box, *score;
    DYNC__TRY(dync__nms_args(call, &box, &score));
    if (box->lay.ndim != 2 || box->lay.shape[1] != 4 || score->lay.ndim != 1 ||
        score->lay.shape[0] != box->lay.shape[0])
        return dync__infer_pair_error("expected boxes [N, 4] and scores [N]", &box->lay,
                                      &score->lay);
    dync__nms s = {.most = INT64_MAX,
                   .overlap = dync__dn_number(call, 2),
                   .least = -HUGE_VAL,
                   .narrow = box->dtype != DYNC_F64};
    double *b = dync__nms_doubles(box), *p = dync__nms_doubles(score);
    dync_status status = b && p ? dync__nms_run(&s, b, p, score->numel) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__nms_give(call, &s, 1, box->device);
    if (b) dync__free(b, (size_t)(box->numel + 1) * sizeof *b);
    if (p) dync__free(p, (size_t)(score->numel + 1) * sizeof *p);
    dync__vec_free(&s.kept);
    return status;
}

/* Each class of each batch by itself: rows of batch, class, box. b, p: elements of both */
static dync_status dync__nms_classes(dync__nms *s, const dync__dt *score, const double *b,
                                     const double *p, dync__nms *all)
{
    int64_t classes = score->lay.shape[1], n = score->lay.shape[2];
    dync_status status = DYNC_OK;
    for (int64_t i = 0; i < score->lay.shape[0] * classes && status == DYNC_OK; i++) {
        s->kept.n = 0;
        status = dync__nms_run(s, b + i / classes * n * 4, p + i * n, n);
        for (int k = 0; k < s->kept.n && status == DYNC_OK; k++)
            if (!dync__vec_push(&all->kept, i / classes) ||
                !dync__vec_push(&all->kept, i % classes) ||
                !dync__vec_push(&all->kept, s->kept.at[k]))
                status = DYNC_ERR_MEMORY;
    }
    return status;
}

/* Arguments (boxes [B, N, 4], scores [B, C, N], most, iou_threshold, least): ONNX's
 * NonMaxSuppression, of boxes whose corners are in order. */
DYNC__FN dync_status dync__d_nms_each(dync__opcall *call)
{
    dync__dt *box, *score;
    DYNC__TRY(dync__nms_args(call, &box, &score));
    if (box->lay.ndim != 3 || box->lay.shape[2] != 4 || score->lay.ndim != 3 ||
        score->lay.shape[0] != box->lay.shape[0] || score->lay.shape[2] != box->lay.shape[1])
        return dync__infer_pair_error("expected boxes [B, N, 4] and scores [B, C, N]", &box->lay,
                                      &score->lay);
    dync__nms s = {.most = call->args[2].as.i,
                   .overlap = dync__dn_number(call, 3),
                   .least = dync__dn_number(call, 4),
                   .narrow = box->dtype != DYNC_F64},
              all = s;
    double *b = dync__nms_doubles(box), *p = dync__nms_doubles(score);
    dync_status status = b && p ? dync__nms_classes(&s, score, b, p, &all) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__nms_give(call, &all, 3, box->device);
    if (b) dync__free(b, (size_t)(box->numel + 1) * sizeof *b);
    if (p) dync__free(p, (size_t)(score->numel + 1) * sizeof *p);
    dync__vec_free(&s.kept);
    dync__vec_free(&all.kept);
    return status;
}
