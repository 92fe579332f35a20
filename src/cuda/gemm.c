/* cuda/gemm.c: matrix products of a plan on a GPU: the problem behind a kernel call, the choice of
 * tile and splits, the texts. After gemm_end.c, before launch.c. The plain form is a loop kernel
 * (loops.c): small products, one row or column that gemm_thin.c does not take, bool, and sizes
 * beyond 30 bits stay there.
 *
 * A choice costs, in clocks of a multiprocessor,
 *     wa ves * (START + tile.m * tile.n * depth of a split / (rate * efficiency)) + (splits > 1:
 *       JOIN + bytes of partial sums / BYTES)
 * where waves = ceil(tiles * splits * batches / multiprocessors). The least cost wins. Rates are
 * multiplications a clock of the slowest device (sm_80); efficiencies say what part of it a tile
 * reaches when its stages never run dry: by what its warps read from shared memory for each
 * multiplication (64 x 64 to a warp: 1/32 word; 32 x 32: 1/16). They are estimates until bench/gpu
 * has run. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

static const dync__gm_tile dync__gm_tiles[2][6] = {
    /* tensor cores: m, n, threads, stages, efficiency in percent: the warps' tiles */
    /* 64 x 64, 2 x 4: 144 KiB, where a block may have that much */
    {{128, 256, 256, 3, 92},
     {128, 128, 128, 3, 88}, /* 64 x 64, 2 x 2: 96 KiB */
     {128, 64, 128, 3, 70},  /* 64 x 32 */
     {64, 128, 128, 3, 70},  /* 32 x 64 */
     {64, 64, 128, 4, 52},   /* 32 x 32: 64 KiB */
     /* 64 x 32, 2 x 4: leaves registers for what is done to sides */
     {128, 128, 256, 3, 74}},
    /* CUDA cores: 8 x 8 to a thread, 4 x 4 of 8 bytes */
    {{128, 128, 256, 3, 85},
     {128, 64, 128, 3, 78},
     {64, 128, 128, 3, 78},
     {64, 64, 64, 3, 68},
     {64, 64, 256, 3, 60}}};

/* Compute capabilities 8.6, 8.9 and 12.x have less than the others. */
DYNC__FN int dync__gm_shared_most(const dync__gm *g)
{
    const dync__cuda_unit *u = dync__cuda_unit_of(g->device >> 8);
    int cc = u->major * 10 + u->minor;
    return 1024 * (cc == 80 || cc == 87 ? 163 : cc == 86 || cc == 89 || cc >= 120 ? 99 : 227);
}

static double dync__gm_rate(const dync__gm *g)
{
    if (g->kind >= 0)
        return g->kind == DYNC__TILE_TF32 ? 512 : g->kind >= DYNC__TILE_S8 ? 2048 : 1024;
    return g->compute == DYNC_F64 ? 32 : g->compute == DYNC_I64 ? 12 : 64;
}

static double dync__gm_cost(const dync__gm *g, const dync__gm_tile *t, int64_t splits,
                            int64_t chunk)
{
    int64_t units = dync__cuda_unit_of(g->device >> 8)->units,
            tiles = ((g->m + t->m - 1) / t->m) * ((g->n + t->n - 1) / t->n) * g->batches * splits;
    double waves = (double)((tiles + units - 1) / units), join = 0;
    if (splits > 1)
        join = DYNC__GM_JOIN + 2.0 * (double)(g->m * g->n * g->batches * splits) *
                                   dync__dtype_info(g->compute)->bytes / DYNC__GM_BYTES;
    return waves * (DYNC__GM_START +
                    (double)t->m * t->n * (double)chunk / (dync__gm_rate(g) * t->efficiency / 100) +
                    dync__gm_pre_cost(g, t, chunk)) +
           join;
}

DYNC__FN double dync__gm_choose(dync__gm *g)
{
    bool wide = g->kind < 0 && dync__dtype_info(g->compute)->bytes == 8;
    double best = -1;
    g->depth = g->kind >= 0 ? 128 / dync__cuda_tile_kind_of(g->kind)->bytes : 8;
    for (int i = 0; i < (g->kind < 0 ? 5 : 6); i++) {
        dync__gm_tile t = dync__gm_tiles[g->kind < 0][i];
        int held = dync__gm_pre_words(g, &t);
        if (g->kind < 0 && wide != (i == 4)) continue;
        if (held && i != 4 && held + t.m * t.n / t.threads > DYNC__GM_HELD) continue;
        /* two blocks of 128 x 128 a multiprocessor go before a third stage */
        if (g->kind >= 0) {
            if (dync__gm_shared_most(g) < 200 * 1024 && t.n < 256)
                t.stages = DYNC__MIN(t.stages, t.m + t.n > 128 ? 2 : 3);
            if (t.stages * (t.m + t.n) * 128 > dync__gm_shared_most(g)) continue;
        }
        for (int64_t splits = 1; splits <= DYNC__GM_SPLITS; splits++) {
            int64_t chunk = (g->k + splits - 1) / splits;
            chunk = (chunk + g->depth - 1) / g->depth * g->depth;
            if ((g->k + chunk - 1) / chunk != splits || (splits > 1 && chunk < 4 * g->depth))
                continue;
            double cost = dync__gm_cost(g, &t, splits, chunk);
            if (best >= 0 && cost >= best) continue;
            best = cost;
            g->tile = t;
            g->splits = splits;
            g->chunk = chunk;
        }
    }
    return best;
}

/* ---- the problem ----------------------------------------------------------------------------- */

/* Are steps of `stride` elements, and those from batch to batch, on boundaries of 16 bytes? */
static bool dync__gm_on_boundary(const dync__gm *g, const dync__gm_side *s, int64_t stride)
{
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    if (stride * bytes % 16) return false;
    for (int d = 0; d < g->n_batch; d++)
        if (g->batch[d] > 1 && s->batch[d] * bytes % 16) return false;
    return true;
}

DYNC__FN void dync__gm_how(dync__gm *g, dync__gm_side *s, int64_t lines)
{
    if (g->k == 1 && !s->gather) s->step = 0;
    if (lines == 1 && !s->gather) s->line = 0;
    bool tensor = g->kind >= 0 || g->thin,
         plain = dync__dtype_info(g->dtype)->bytes == dync__dtype_info(g->compute)->bytes;
    bool along = (s->step == 1 || g->k == 1) && dync__gm_on_boundary(g, s, s->line);
    bool across = (s->line == 1 || lines == 1) && dync__gm_on_boundary(g, s, s->step);
    s->how = DYNC__GM_PIECES;
    if (s->gather && (s->pre || !g->scalar)) s->how = s->gather->how;
    if (s->pre && !s->gather) { /* any boundary will do */
        if (s->step == 1 && tensor)
            s->how = DYNC__GM_ALONG;
        else if (s->line == 1 && (g->kind >= 0 ? dync__dtype_info(g->dtype)->bytes == 2 : plain))
            s->how = DYNC__GM_ACROSS;
        else if (tensor && !g->thin)
            s->how = DYNC__GM_ALONG;
    }
    if (g->scalar || s->gather || s->pre) return;
    if (tensor && along)
        s->how = DYNC__GM_ALONG;
    else if (across && (g->kind >= 0 ? dync__dtype_info(g->dtype)->bytes == 2 : plain))
        s->how = DYNC__GM_ACROSS;
}

DYNC__FN void dync__gm_swap(dync__gm *g)
{
    dync__gm_side a = g->side[0];
    int64_t m = g->m;
    g->side[0] = g->side[1];
    g->side[1] = a;
    g->m = g->n;
    g->n = m;
    g->swapped = !g->swapped;
}

DYNC__FN bool dync__gm_make_thin(dync__gm *g)
{
    bool swap = g->n < g->m;
    if (g->scalar || g->window_of || g->side[0].gather || g->side[1].gather) return false;
    if (swap) dync__gm_swap(g);
    g->thin = true;
    for (int s = 0; s < 2; s++) dync__gm_how(g, &g->side[s], s ? g->n : g->m);
    if (dync__gm_thin_fits(g)) return true;
    if (swap) dync__gm_swap(g);
    return g->thin = false;
}

/* Batches over which the other side is the same, and whose rows go on from one to the next, are
 * more rows. */
static void dync__gm_fold(dync__gm *g)
{
    while (g->n_batch > 0) {
        int d = g->n_batch - 1;
        if (g->batch[d] > 1 && (g->side[1].batch[d] != 0 ||
                                (g->m > 1 && g->side[0].batch[d] != g->m * g->side[0].line)))
            return;
        if (g->m == 1) g->side[0].line = g->side[0].batch[d];
        g->m *= g->batch[d];
        g->batches /= g->batch[d];
        g->n_batch--;
    }
}

DYNC__FN bool dync__gm_open(dync__gm *g, dync__cuda_code *code, const dync__kcall *call)
{
    const dync__operand *y = &call->operand[call->n - 1];
    int rank = y->lay.ndim;
    memset(g, 0, sizeof *g);
    g->arena = &code->arena;
    g->device = code->device;
    g->dtype = y->dtype;
    g->compute = dync__dtype_info(y->dtype)->compute;
    if ((!dync__kcall_is(call, DYNC__K_matmul) && !dync__kcall_is(call, DYNC__K_addmm)) ||
        g->dtype == DYNC_BOOL || rank < 2)
        return false;
    g->m = y->lay.shape[rank - 2];
    g->n = y->lay.shape[rank - 1];
    g->k = call->operand[0].lay.shape[rank - 1];
    g->n_batch = rank - 2;
    g->batches = 1;
    for (int d = 0; d < rank - 2; d++) g->batches *= g->batch[d] = y->lay.shape[d];
    for (int s = 0; s < 2; s++) {
        const dync__layout *lay = &call->operand[s].lay;
        dync__gm_side *side = &g->side[s];
        *side = (dync__gm_side){.id = s,
                                .offset = lay->offset,
                                .line = lay->stride[rank - 2 + s],
                                .step = lay->stride[rank - 1 - s]};
        for (int d = 0; d < rank - 2; d++) side->batch[d] = lay->shape[d] == 1 ? 0 : lay->stride[d];
    }
    dync__gm_fold(g);
    double work = (double)g->m * (double)g->n * (double)g->k * (double)g->batches;
    g->kind = g->dtype == DYNC_BF16  ? DYNC__TILE_BF16
              : g->dtype == DYNC_F16 ? DYNC__TILE_F16
              : g->dtype == DYNC_I8  ? DYNC__TILE_S8
              : g->dtype == DYNC_U8  ? DYNC__TILE_U8
                                     : -1;
    bool thin = dync__gm_make_thin(g);
    if (g->swapped) dync__gm_swap(g);
    g->thin = false;
    return g->k > 0 && (thin || (g->m > 1 && g->n > 1)) && work > DYNC__GM_PLAIN &&
           g->m < 1 << 30 && g->n < 1 << 30 && g->k < 1 << 30 &&
           (double)g->batches * (double)(g->m / 64 + 1) * (double)(g->n / 64 + 1) *
                   DYNC__GM_SPLITS <
               2147483648.0;
}

/* ---- what is done to the results ------------------------------------------------------------- */

/* The sums as a value: loads of a buffer that is no memory, in the order of the results. */
DYNC__FN int dync__gm_sums(dync__gm *g, dync__lb *b, const int64_t *linear)
{
    g->given = dync__kernel_buf(b->k, 2 * DYNC__CUDA_TEMP, g->compute, DYNC__BUF_IN, -1, "sum");
    return dync__lb_load(b, g->given, dync__kernel_access(b->k, 0, linear));
}

DYNC__FN int dync__gm_biased(const dync__gm *g, dync__lb *b, const dync__operand *bias,
                             const int64_t *stride, int value)
{
    int v = dync__lb_load(b, dync__kernel_buf(b->k, 2, bias->dtype, DYNC__BUF_IN, -1, "bias"),
                          dync__kernel_access(b->k, bias->lay.offset, stride));
    return dync__lb_op(b, DYNC__P_add, value, dync__lb_cast(b, v, g->compute), -1);
}

/* + bias, whose place follows from the places in the result: each loop runs within a row, or over
 * whole rows. False: one does neither. */
static bool dync__gm_bias(const dync__gm *g, dync__lb *b, const dync__operand *bias,
                          const int64_t *linear, int *value)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    int rank = bias->lay.ndim;
    for (int d = 0; d < b->k->n_dims; d++) {
        if (b->k->extent[d] == 1) continue;
        if (linear[d] % g->n == 0)
            stride[d] = linear[d] / g->n * bias->lay.stride[rank - 2];
        else if (linear[d] * b->k->extent[d] <= g->n)
            stride[d] = linear[d] * bias->lay.stride[rank - 1];
        else
            return false;
    }
    *value = dync__gm_biased(g, b, bias, stride, *value);
    return true;
}

DYNC__FN void dync__gm_loops_of(dync__gm_loops *l, const dync__kernel *k)
{
    int64_t next = 1;
    l->n = k->n_dims;
    for (int d = l->n - 1; d >= 0; d--) {
        l->from[d] = d;
        l->extent[d] = k->extent[d];
        l->times[d] = 1;
        l->place[d] = l->sum[d] = next;
        next *= k->extent[d];
    }
}

DYNC__FN void dync__gm_cut(dync__gm_loops *l, int64_t at)
{
    for (int d = 0; d < l->n && l->n < DYNC__LOOP_MAX_DIMS; d++) {
        int64_t inner = at / l->place[d];
        if (l->place[d] >= at || at % l->place[d] || l->extent[d] <= inner || l->extent[d] % inner)
            continue;
        for (int e = l->n++; e > d; e--) {
            l->from[e] = l->from[e - 1];
            l->extent[e] = l->extent[e - 1];
            l->times[e] = l->times[e - 1];
            l->place[e] = l->sum[e] = l->place[e - 1];
        }
        l->extent[d] /= inner;
        l->extent[d + 1] = inner;
        l->times[d] *= inner;
        l->place[d] = l->sum[d] = l->place[d] * inner;
    }
}

DYNC__FN bool dync__gm_end_of(dync__gm *g, const dync__kcall *call, const dync__kernel *k,
                              bool keep)
{
    dync__gm_loops l;
    dync__gm_loops_of(&l, k);
    dync__gm_cut(&l, g->n);
    return dync__gm_end_over(g, call, k, keep, &l, NULL);
}

DYNC__FN bool dync__gm_end_over(dync__gm *g, const dync__kcall *call, const dync__kernel *k,
                                bool keep, const dync__gm_loops *l, const int64_t *bias)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    const dync__operand *c = &call->operand[call->n - 1];
    dync__kernel *e = dync__kernel_new(g->arena, call->row->name, 0, l->n, l->extent);
    int32_t *number = dync__arena_alloc(g->arena, (size_t)(k->inst.n + 1) * sizeof *number);
    if (!e || !number) return false;
    dync__lb b = {.k = e, .section = 1, .origin = call->row->name};
    for (int s = 0; s < 2; s++)
        g->side[s].buf = dync__kernel_buf(e, s, g->dtype, DYNC__BUF_IN, -1, s ? "b" : "a");
    int sum = dync__gm_sums(g, &b, l->sum);
    if (bias)
        sum = dync__gm_biased(g, &b, &call->operand[2], bias, sum);
    else if (call->n == 4 && !dync__gm_bias(g, &b, &call->operand[2], l->sum, &sum))
        return false;
    for (int d = 0; d < l->n; d++) stride[d] = l->place[d];
    if (keep)
        dync__lb_store(&b, dync__kernel_buf(e, call->n - 1, c->dtype, DYNC__BUF_OUT, -1, "c"),
                       dync__kernel_access(e, c->lay.offset, stride), sum);
    sum = dync__lb_wrap(&b, sum, c->dtype);
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        for (int a = 0; a < 3; a++)
            if (in.arg[a] >= 0) in.arg[a] = number[in.arg[a]];
        in.section = 1;
        in.origin = in.origin ? dync__arena_strdup(g->arena, in.origin) : NULL;
        if (in.access >= 0) {
            const dync__access *a = &k->access.at[in.access];
            for (int d = 0; d < l->n; d++) stride[d] = a->stride[l->from[d]] * l->times[d];
            in.access = dync__kernel_access(e, a->offset, stride);
        }
        if (in.buf >= 0 && k->buf.at[in.buf].id == c->slot) {
            number[i] = sum;
            continue;
        }
        if (in.buf >= 0) {
            const dync__buf *f = &k->buf.at[in.buf];
            in.buf = dync__kernel_buf(e, call->n + in.buf, f->dtype, f->mode, -1,
                                      f->name ? dync__arena_strdup(g->arena, f->name) : NULL);
        }
        number[i] = dync__lb_add(&b, &in);
    }
    g->end = e;
    return !e->failed;
}

DYNC__FN bool dync__gm_end_plain(dync__gm *g, const dync__kcall *call)
{
    const dync__operand *c = &call->operand[call->n - 1];
    int64_t linear[DYNC__LOOP_MAX_DIMS] = {0}, next = 1;
    dync__kernel *e = dync__kernel_new(g->arena, call->row->name, 0, c->lay.ndim, c->lay.shape);
    if (!e) return false;
    for (int d = c->lay.ndim - 1; d >= 0; d--) {
        linear[d] = next;
        next *= c->lay.shape[d];
    }
    dync__lb b = {.k = e, .section = 1, .origin = call->row->name};
    for (int s = 0; s < 2; s++)
        g->side[s].buf = dync__kernel_buf(e, s, g->dtype, DYNC__BUF_IN, -1, s ? "b" : "a");
    int sum = dync__gm_sums(g, &b, linear);
    if (call->n == 4 && !dync__gm_bias(g, &b, &call->operand[2], linear, &sum)) return false;
    dync__lb_store(&b, dync__kernel_buf(e, call->n - 1, c->dtype, DYNC__BUF_OUT, -1, "c"),
                   dync__kernel_access(e, c->lay.offset, c->lay.stride), sum);
    g->end = e;
    return !e->failed;
}
