/* kernel/pooling.c: max and average pooling over the last two dims, and their gradients. Before:
 * runtime/run.c.
 *
 *   x [.., H, W]  y [.., OH, OW]  index [.., OH, OW]: the greatest element's place in its plane,
 *                                                     y * W + x
 *
 * Work is on dense arrays (operand.c) of f32, f64 or, for integers, i64; planes are shared among
 * threads. NaN wins a maximum, the last one; of equal elements the first does, as in PyTorch. */
#include "../dync.in.h"
#include "conv_jit.h"
DYNC__BESIDE_JIT

typedef struct dync__pool2d {
    int64_t planes, h, w, oh, ow, kh, kw, sy, sx, py, px, dy, dx, divisor;
    bool include_pad, backward, max, wide, whole; /* wide: f64; whole: i64 */
    const void *in;
    void *out;
    int64_t *index;
} dync__pool2d;

/* The part of a window that lies in the picture; y0 and x0 are places of window elements. */
typedef struct dync__pool2d_window {
    int64_t y0, y1, x0, x1;
} dync__pool2d_window;
static dync__pool2d_window dync__pool2d_inside(const dync__pool2d *p, int64_t oy, int64_t ox)
{
    dync__pool2d_window v = {.y0 = oy * p->sy - p->py, .x0 = ox * p->sx - p->px};
    v.y1 = DYNC__MIN(v.y0 + (p->kh - 1) * p->dy + 1, p->h);
    v.x1 = DYNC__MIN(v.x0 + (p->kw - 1) * p->dx + 1, p->w);
    if (v.y0 < 0) v.y0 += (-v.y0 + p->dy - 1) / p->dy * p->dy;
    if (v.x0 < 0) v.x0 += (-v.x0 + p->dx - 1) / p->dx * p->dx;
    return v;
}

DYNC__STRICT_FP_BEGIN
#define DYNC__POOL2D_PLANES(T, name, LOW)                                                         \
    static void dync__pool2d_max_##name(const dync__pool2d *p, const T *x, T *y, int64_t *index)  \
    {                                                                                             \
        for (int64_t oy = 0; oy < p->oh; oy++)                                                    \
            for (int64_t ox = 0; ox < p->ow; ox++) {                                              \
                dync__pool2d_window v = dync__pool2d_inside(p, oy, ox);                           \
                T best = LOW;                                                                     \
                int64_t first = v.y0 < v.y1 && v.x0 < v.x1 ? v.y0 * p->w + v.x0 : -1, at = first; \
                for (int64_t iy = v.y0; iy < v.y1; iy += p->dy)                                   \
                    for (int64_t ix = v.x0; ix < v.x1; ix += p->dx) {                             \
                        T e = x[iy * p->w + ix];                                                  \
                        bool takes = (e > best) | (e != e);                                       \
                        best = takes ? e : best;                                                  \
                        at = takes ? iy * p->w + ix : at;                                         \
                    }                                                                             \
                *y++ = first < 0 ? LOW : x[at];                                                   \
                if (index) *index++ = DYNC__MAX(at, 0);                                           \
            }                                                                                     \
    }                                                                                             \
    static void dync__pool2d_max_grad_##name(const dync__pool2d *p, const T *gy, T *gx,           \
                                             const int64_t *index)                                \
    {                                                                                             \
        uint64_t area = (uint64_t)(p->h * p->w), at;                                              \
        memset(gx, 0, (size_t)area * sizeof(T));                                                  \
        for (int64_t i = 0, n = p->oh * p->ow; i < n; i++)                                        \
            if ((at = (uint64_t)index[i]) < area) gx[at] += gy[i];                                \
    }                                                                                             \
    static void dync__pool2d_avg_##name(const dync__pool2d *p, const T *in, T *out)               \
    {                                                                                             \
        if (p->backward) memset(out, 0, (size_t)(p->h * p->w) * sizeof(T));                       \
        for (int64_t oy = 0; oy < p->oh; oy++)                                                    \
            for (int64_t ox = 0; ox < p->ow; ox++) {                                              \
                int64_t y0 = oy * p->sy - p->py, x0 = ox * p->sx - p->px;                         \
                int64_t y1 = DYNC__MIN(y0 + p->kh, p->h + p->py),                                 \
                        x1 = DYNC__MIN(x0 + p->kw, p->w + p->px);                                 \
                int64_t size = (y1 - y0) * (x1 - x0);                                             \
                y0 = DYNC__MAX(y0, 0), x0 = DYNC__MAX(x0, 0), y1 = DYNC__MIN(y1, p->h),           \
                x1 = DYNC__MIN(x1, p->w);                                                         \
                if (y0 >= y1 || x0 >= x1) {                                                       \
                    if (p->backward)                                                              \
                        in++;                                                                     \
                    else                                                                          \
                        *out++ = 0;                                                               \
                    continue;                                                                     \
                }                                                                                 \
                if (p->divisor)                                                                   \
                    size = p->divisor;                                                            \
                else if (!p->include_pad)                                                         \
                    size = (y1 - y0) * (x1 - x0);                                                 \
                if (p->backward) {                                                                \
                    T share = *in++ / (T)size;                                                    \
                    for (int64_t iy = y0; iy < y1; iy++)                                          \
                        for (int64_t ix = x0; ix < x1; ix++) out[iy * p->w + ix] += share;        \
                } else {                                                                          \
                    T sum = 0;                                                                    \
                    for (int64_t iy = y0; iy < y1; iy++)                                          \
                        for (int64_t ix = x0; ix < x1; ix++) sum += in[iy * p->w + ix];           \
                    *out++ = sum / (T)size;                                                       \
                }                                                                                 \
            }                                                                                     \
    }
DYNC__POOL2D_PLANES(float, f, (float)-HUGE_VAL)
DYNC__POOL2D_PLANES(double, d, -HUGE_VAL)
DYNC__POOL2D_PLANES(int64_t, i, INT64_MIN)
DYNC__STRICT_FP_END

static void dync__pool2d_plane(const dync__pool2d *p, int64_t plane)
{
    int64_t bytes = p->wide || p->whole ? 8 : 4,
            in_area = p->backward ? p->oh * p->ow : p->h * p->w,
            out_area = p->backward ? p->h * p->w : p->oh * p->ow;
    const void *in = (const char *)p->in + plane * in_area * bytes;
    void *out = (char *)p->out + plane * out_area * bytes;
    int64_t *index = p->index ? p->index + plane * p->oh * p->ow : NULL;
#define DYNC__POOL2D_PLANE(name)                         \
    if (p->max && p->backward)                           \
        dync__pool2d_max_grad_##name(p, in, out, index); \
    else if (p->max)                                     \
        dync__pool2d_max_##name(p, in, out, index);      \
    else                                                 \
        dync__pool2d_avg_##name(p, in, out)
    if (p->whole) {
        DYNC__POOL2D_PLANE(i);
    } else if (p->wide) {
        DYNC__POOL2D_PLANE(d);
    } else {
        DYNC__POOL2D_PLANE(f);
    }
}

static void dync__pool2d_part(void *user, int part, int n_parts)
{
    const dync__pool2d *p = user;
    for (int64_t i = p->planes * part / n_parts; i < p->planes * (part + 1) / n_parts; i++)
        dync__pool2d_plane(p, i);
}

static void dync__pool2d_run(dync__pool2d *p)
{
    int threads = dync__pool_threads();
    double work = (double)(p->planes * p->oh * p->ow) * (double)DYNC__MAX(p->kh * p->kw, 1);
    if (threads > 1 && p->planes >= threads && work >= DYNC__POOL2D_PARALLEL)
        dync__pool_run(dync__pool2d_part, p, threads);
    else
        dync__pool2d_part(p, 0, 1);
}

/* x: the larger plane, y: the smaller; a: NULL where windows do not matter */
static void dync__pool2d_open(dync__pool2d *p, const dync__operand *x, const dync__operand *y,
                              const dync__attr_pool *a)
{
    int rank = x->lay.ndim;
    memset(p, 0, sizeof *p);
    p->planes = 1;
    for (int d = 0; d < rank - 2; d++) p->planes *= x->lay.shape[d];
    p->h = x->lay.shape[rank - 2];
    p->w = x->lay.shape[rank - 1];
    p->oh = y->lay.shape[rank - 2];
    p->ow = y->lay.shape[rank - 1];
    p->dy = p->dx = 1;
    p->wide = x->dtype == DYNC_F64;
    p->whole = dync__dtype_info(x->dtype)->kind == 'i';
    if (!a) return;
    p->kh = a->kernel[0];
    p->kw = a->kernel[1];
    p->sy = a->stride[0];
    p->sx = a->stride[1];
    p->py = a->pad[0];
    p->px = a->pad[1];
    p->dy = a->dilation[0];
    p->dx = a->dilation[1];
    p->include_pad = a->include_pad;
    p->divisor = a->divisor;
}

/* ---- rows ------------------------------------------------------------------------------------ */

DYNC__RARE static dync_status dync__pool2d_check(dync__kcall *c, const dync__operand *x,
                                                 const dync__operand *y, bool windows)
{
    int rank = x->lay.ndim;
    const dync__attr_pool *a = &c->attr.pool;
    DYNC__TRY(
        dync__kcall_expect(c, rank >= 2 && y->lay.ndim == rank, "operands of one rank, 2 or more"));
    DYNC__TRY(dync__kcall_expect(c, x->dtype == y->dtype && x->dtype != DYNC_BOOL,
                                 "one dtype of numbers"));
    for (int d = 0; d < rank - 2; d++)
        DYNC__TRY(dync__kcall_expect(c, x->lay.shape[d] == y->lay.shape[d], "equal leading sizes"));
    for (int d = 0; windows && d < 2; d++)
        DYNC__TRY(dync__kcall_expect(
            c, a->kernel[d] > 0 && a->stride[d] > 0 && a->pad[d] >= 0 && a->dilation[d] > 0,
            "positive windows, strides and dilations"));
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__pool2d_check_index(dync__kcall *c, const dync__operand *index,
                                                       const dync__operand *y)
{
    bool same = index->lay.ndim == y->lay.ndim && index->dtype == DYNC_I64;
    for (int d = 0; same && d < y->lay.ndim; d++) same = index->lay.shape[d] == y->lay.shape[d];
    return dync__kcall_expect(c, same, "an I64 index of the result's shape");
}

DYNC__RARE static void dync__pool2d_drop(void *state) { dync__cj_free(state); }

/* Machine code where there is some; else state stays NULL. */
DYNC__RARE static void dync__pool2d_ready(dync__kcall *c, int what)
{
    dync__pool2d p;
    const int64_t *shape = c->operand[0].lay.shape;
    if (dync__operand_working(c->operand[0].dtype) != DYNC_F32) return;
    dync__pool2d_open(&p, &c->operand[0], &c->operand[1], &c->attr.pool);
    int64_t channels = c->operand[0].lay.ndim >= 3 ? shape[c->operand[0].lay.ndim - 3] : 1;
    dync__cj_shape s = {channels ? p.planes / channels : 0,
                        channels,
                        p.h,
                        p.w,
                        channels,
                        p.oh,
                        p.ow,
                        p.kh,
                        p.kw,
                        p.sy,
                        p.sx,
                        p.py,
                        p.px,
                        p.dy,
                        p.dx,
                        channels,
                        0,
                        0,
                        DYNC_F32};
    dync__cj_form form = {c->blocked & 1, c->blocked >> 1 & 1, NULL};
    c->state = dync__cj_new(&s, what, &form);
    c->drop = dync__pool2d_drop;
    if (c->state) c->run_bytes = dync__cj_bytes(c->state);
}

/* Nobody reads the index: its operand is left out. */
DYNC__RARE DYNC__FN dync_status dync__k_max_pool2d_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 2 || c->n == 3, "2 or 3 operands"));
    DYNC__TRY(dync__pool2d_check(c, &c->operand[0], &c->operand[1], true));
    if (c->n == 3) DYNC__TRY(dync__pool2d_check_index(c, &c->operand[2], &c->operand[1]));
    dync__pool2d_ready(c, c->n == 2 ? DYNC__CJ_MAX : DYNC__CJ_WHERE);
    return c->blocked && !c->state ? dync__fail_memory(0) : DYNC_OK;
}

DYNC__RARE DYNC__FN dync_status dync__k_max_pool2d_grad_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 3, "3 operands"));
    DYNC__TRY(dync__pool2d_check(c, &c->operand[2], &c->operand[0], false));
    return dync__pool2d_check_index(c, &c->operand[1], &c->operand[0]);
}

DYNC__RARE DYNC__FN dync_status dync__k_avg_pool2d_prepare(dync__kcall *c)
{
    const dync__attr_pool *a = &c->attr.pool;
    const int64_t *x = c->operand[0].lay.shape, *y = c->operand[1].lay.shape;
    int rank = c->operand[0].lay.ndim;
    bool whole = true; /* every window is divided by the same number */
    DYNC__TRY(dync__kcall_expect(c, c->n == 2, "2 operands"));
    DYNC__TRY(dync__pool2d_check(c, &c->operand[0], &c->operand[1], true));
    for (int d = 0; d < 2; d++)
        whole = whole && (a->divisor || ((a->pad[d] == 0 || a->include_pad) &&
                                         (y[rank - 2 + d] - 1) * a->stride[d] + a->kernel[d] <=
                                             x[rank - 2 + d] + 2 * a->pad[d]));
    if (whole) dync__pool2d_ready(c, DYNC__CJ_AVERAGE);
    return c->blocked && !c->state ? dync__fail_memory(0) : DYNC_OK;
}

DYNC__RARE DYNC__FN dync_status dync__k_avg_pool2d_grad_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 2, "2 operands"));
    return dync__pool2d_check(c, &c->operand[1], &c->operand[0], true);
}

DYNC__FN dync_status dync__k_max_pool2d(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *op = c->operand;
    dync__dense d[3] = {{0}};
    dync__pool2d p;
    (void)scratch;
    dync__pool2d_open(&p, &op[0], &op[1], &c->attr.pool);
    p.max = true;
    if (dync__operand_numel(&op[1]) == 0) return DYNC_OK;
    dync_status status = dync__dense_all(c, c->n, 1, data, d);
    p.in = d[0].data;
    p.out = d[1].data;
    p.index = d[2].data;
    if (status == DYNC_OK && c->state)
        status =
            dync__cj_run(c->state, &(dync__cj_data){.in = p.in, .out = p.out, .index = p.index});
    else if (status == DYNC_OK)
        dync__pool2d_run(&p);
    return dync__dense_end(c, c->n, 1, data, d, status);
}

DYNC__FN dync_status dync__k_max_pool2d_grad(const dync__kcall *c, void *const *data, void *scratch)
{
    dync__dense d[3];
    dync__pool2d p;
    (void)scratch;
    dync__pool2d_open(&p, &c->operand[2], &c->operand[0], NULL);
    p.max = p.backward = true;
    if (dync__operand_numel(&c->operand[2]) == 0) return DYNC_OK;
    dync_status status = dync__dense_all(c, 3, 2, data, d);
    p.in = d[0].data;
    p.index = d[1].data;
    p.out = d[2].data;
    if (status == DYNC_OK) dync__pool2d_run(&p);
    return dync__dense_end(c, 3, 2, data, d, status);
}

static dync_status dync__pool2d_average(const dync__kcall *c, void *const *data, bool backward)
{
    const dync__operand *op = c->operand;
    dync__dense d[2];
    dync__pool2d p;
    const dync__attr_pool *a = &c->attr.pool;
    float size = (float)(a->divisor ? a->divisor : a->kernel[0] * a->kernel[1]);
    dync__pool2d_open(&p, &op[backward ? 1 : 0], &op[backward ? 0 : 1], a);
    p.backward = backward;
    if (dync__operand_numel(&op[1]) == 0) return DYNC_OK;
    dync_status status = dync__dense_all(c, 2, 1, data, d);
    p.in = d[0].data;
    p.out = d[1].data;
    if (status == DYNC_OK && c->state)
        status = dync__cj_run(c->state, &(dync__cj_data){.in = p.in, .bias = &size, .out = p.out});
    else if (status == DYNC_OK)
        dync__pool2d_run(&p);
    return dync__dense_end(c, 2, 1, data, d, status);
}

DYNC__FN dync_status dync__k_avg_pool2d(const dync__kcall *c, void *const *data, void *scratch)
{
    (void)scratch;
    return dync__pool2d_average(c, data, false);
}

DYNC__FN dync_status dync__k_avg_pool2d_grad(const dync__kcall *c, void *const *data, void *scratch)
{
    (void)scratch;
    return dync__pool2d_average(c, data, true);
}
