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
/* registers of a thread for sums and for what is loaded to be made something */
enum { DYNC__GM_HELD = 144 };
enum {
    DYNC__GM_START = 1500,
    DYNC__GM_JOIN = 4000,
    DYNC__GM_SPLITS = 32,
    DYNC__GM_PLAIN = 4096,
    DYNC__GM_REPACK = 256,
    DYNC__GM_WGMMA = 1800
};

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

/* The clocks that it takes. */
static double dync__gm_choose(dync__gm *g)
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

/* The step of a dim of size 1 may be any. 0 is on all boundaries: copies of no bytes, of lines and
 * depths of a tile beyond the operand, have addresses on a boundary too. */
static void dync__gm_how(dync__gm *g, dync__gm_side *s, int64_t lines)
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

static void dync__gm_swap(dync__gm *g)
{
    dync__gm_side a = g->side[0];
    int64_t m = g->m;
    g->side[0] = g->side[1];
    g->side[1] = a;
    g->m = g->n;
    g->n = m;
    g->swapped = !g->swapped;
}

/* Few rows or columns, and memory as gemm_thin.c wants it: a and b change places where columns are
 * the fewer. */
static bool dync__gm_make_thin(dync__gm *g)
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

static bool dync__gm_open(dync__gm *g, dync__cuda_code *code, const dync__kcall *call)
{
    const dync__operand *y = &call->operand[call->n - 1];
    int rank = y->lay.ndim;
    memset(g, 0, sizeof *g);
    g->arena = &code->arena;
    g->device = code->device;
    g->dtype = y->dtype;
    g->compute = dync__dtype_info(y->dtype)->compute;
    if ((call->row != dync__kernel_row(DYNC__K_matmul) &&
         call->row != dync__kernel_row(DYNC__K_addmm)) ||
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

/* The epilogue over sums: that of matmul and addmm. */
static bool dync__gm_end_of(dync__gm *g, const dync__kcall *call, const dync__kernel *k, bool keep)
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

/* No epilogue: the sums, with bias, to c. */
static bool dync__gm_end_plain(dync__gm *g, const dync__kcall *call)
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

/* ---- parts ----------------------------------------------------------------------------------- */

/* A side that neither lies on boundaries nor is small: copied once, its dense dim rounded up to 16
 * bytes. */
static bool dync__gm_repack(dync__gm *g, dync__cuda_code *code, const dync__kcall *call, int s)
{
    dync__gm_side *side = &g->side[s];
    int64_t bytes = dync__dtype_info(g->dtype)->bytes, lines = s ? g->n : g->m,
            to[DYNC_MAX_DIMS + 2] = {0}, from[DYNC_MAX_DIMS + 2], extent[DYNC_MAX_DIMS + 2];
    bool by_line = side->step == 1 || side->line != 1 || bytes != 2;
    int64_t inner = by_line ? g->k : lines, outer = by_line ? lines : g->k,
            row = (inner * bytes + 15) / 16 * 16 / bytes, all = row * outer;
    int n = g->n_batch + 2;
    for (int d = g->n_batch - 1; d >= 0; d--) {
        extent[d] = side->batch[d] ? g->batch[d] : 1;
        from[d] = side->batch[d];
        to[d] = side->batch[d] ? all : 0;
        all *= extent[d];
    }
    extent[n - 2] = outer, from[n - 2] = by_line ? side->line : side->step, to[n - 2] = row;
    extent[n - 1] = inner, from[n - 1] = by_line ? side->step : side->line, to[n - 1] = 1;
    int temp = dync__cuda_add_temp(code, all * bytes);
    dync__kernel *k = temp < 0 ? NULL : dync__kernel_new(g->arena, "gemm_repack", 0, n, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "gemm_repack"};
    int v = dync__lb_load(&b, dync__kernel_buf(k, side->id, g->dtype, DYNC__BUF_IN, -1, NULL),
                          dync__kernel_access(k, side->offset, from));
    dync__lb_store(&b, dync__kernel_buf(k, temp, g->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, to), v);
    side->id = temp;
    side->offset = 0;
    side->line = by_line ? row : 1;
    side->step = by_line ? 1 : row;
    for (int d = 0; d < g->n_batch; d++) side->batch[d] = to[d];
    return s ? dync__cuda_add_pack(code, k, call, s, temp) : dync__cuda_add_loop(code, k);
}

DYNC__FN bool dync__gm_may_tf32(const dync__gm *g) { return g->dtype == DYNC_F32 && !g->window_of; }

/* The launches of what was chosen. */
static void dync__gm_write(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    char name[80];
    if (g->splits > 1) {
        dync__cuda_tile_scratch(t);
        t->out.scratch_bytes = g->splits * g->batches * g->m * g->n *
                               dync__dtype_info(g->compute)->bytes;
    }
    if (g->window_of) {
        dync__gm_direct(g);
    } else {
        if (g->thin)
            dync__gm_thin(g);
        else if (g->kind >= 0)
            dync__gm_mma(g);
        else
            dync__gm_simt(g);
        int64_t tiles = ((g->m + g->tile.m - 1) / g->tile.m) * ((g->n + g->tile.n - 1) / g->tile.n);
        dync__format(name, sizeof name, "gemm_%s%s_%dx%d", g->thin ? "thin_" : "",
                     g->kind == DYNC__TILE_TF32 ? "tf32" : dync__dtype_info(g->dtype)->name,
                     g->tile.m, g->tile.n);
        dync__cuda_tile_entry(t, name, tiles * g->splits * g->batches, 1, 1, g->tile.threads);
    }
    if (g->splits > 1) dync__gm_join(g);
    t->out.n_checks = t->p.n_checks;
    memcpy(t->out.check, t->p.check, sizeof t->out.check);
}

/* How the sides come, tile and splits. */
static double dync__gm_plan(dync__gm *g, bool may_be_thin)
{
    bool thin = may_be_thin && dync__gm_make_thin(g);
    for (int s = 0; s < 2 && !g->window_of; s++) dync__gm_how(g, &g->side[s], s ? g->n : g->m);
    if (thin) dync__gm_thin_choose(g);
    return thin || g->window_of ? 0 : dync__gm_choose(g);
}

static void dync__gm_pre_checks(dync__gm *g, int s)
{
    const dync__ptx *p = &g->side[s].pre->p;
    for (int i = 0; i < p->n_checks; i++)
        if (g->t.out.n_checks < DYNC__PTX_CHECKS)
            g->t.out.check[g->t.out.n_checks++] = p->check[i];
        else
            g->t.p.failed = true;
}

DYNC__FN dync_status dync__gm_text(dync__gm *g, int form, dync__ptx_text *out)
{
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    dync__cuda_tile *t = &g->t;
    int kind = g->kind;
    g->scalar = form == DYNC__CUDA_UNALIGNED;
    if (form == DYNC__CUDA_TF32) g->kind = DYNC__TILE_TF32;
    (void)dync__gm_plan(g, form != DYNC__CUDA_TF32);
    bool begun =
        dync__cuda_tile_begin_kernel(t, g->arena, g->end, g->host, g->n, g->scalar || g->thin);
    for (int s = 0; s < 2 && begun; s++) begun = !g->side[s].pre || dync__gm_pre_begin(g, s);
    if (begun) dync__gm_write(g);
    for (int s = 0; s < 2; s++)
        if (g->side[s].pre)
            dync__gm_pre_checks(g, s);
        else if (begun && g->side[s].how != DYNC__GM_PIECES && t->out.n_checks < DYNC__PTX_CHECKS)
            t->out.check[t->out.n_checks++] =
                (dync__ptx_check){g->side[s].buf, 16, g->side[s].offset * bytes};
        else if (g->side[s].how != DYNC__GM_PIECES)
            t->p.failed = true;
    if (g->swapped) dync__gm_swap(g); /* another form may not want it */
    g->thin = false;
    g->kind = kind;
    if (!begun) return DYNC_ERR_MEMORY;
    dync__str_free(&t->p.regs);
    dync__str_free(&t->p.body);
    *out = t->out;
    if (!t->p.failed && !out->text.failed) return DYNC_OK;
    dync__str_free(&out->text);
    return dync__fail_memory(0);
}

/* Is k better done to an operand on its way than by a launch before? Thin products read the long
 * side once, and the short one by every block. */
static bool dync__gm_takes_side(int device, const dync__kcall *call, const dync__kernel *k, int s)
{
    for (int i = 0; i < k->inst.n; i++) {
        int prim = k->inst.at[i].prim;
        if (prim == DYNC__P_storex || prim == DYNC__P_loadx || prim == DYNC__P_reduce ||
            prim == DYNC__P_random)
            return false;
    }
    dync__cuda_code code = {.device = device};
    dync__gm g, with;
    bool conv = call->row == dync__kernel_row(DYNC__K_conv2d),
         ok = (conv || dync__gm_open(&g, &code, call)) && k->buf.n < 20;
    dync__gm_pre *pre = ok && !conv ? dync__gm_pre_open(&code.arena, &call->operand[s], k, 0)
                                    : NULL;
    ok = conv ? ok && dync__cuda_conv_takes_side(&code, call, k, s) : pre != NULL;
    if (pre) {
        with = g;
        dync__gm_pre_set(&with.side[s], pre);
        double cost = dync__gm_plan(&with, true), apart = dync__gm_plan(&g, true),
               elements = (double)(s ? g.n : g.m) * (double)g.k;
        for (int d = 0; d < g.n_batch; d++) elements *= g.side[s].batch[d] ? (double)g.batch[d] : 1;
        if (with.thin != g.thin) ok = !g.thin;
        bool is_long = s == (with.swapped ? 0 : 1);
        if (with.thin)
            cost = is_long ? 0 : dync__gm_pre_cost(&with, &with.tile, with.chunk) / with.tile.n;
        else if (dync__gm_wgmma_suits(&g))
            apart = DYNC__GM_START +
                    (double)g.m * (double)g.n * (double)g.k * (double)g.batches /
                        ((double)dync__cuda_unit_of(device >> 8)->units * DYNC__GM_WGMMA);
        ok = ok && dync__gm_pre_worth(pre, g.dtype, cost, apart, elements);
    }
    dync__arena_free(&code.arena);
    return ok;
}

/* May the epilogue be done on the sums as they are? It is pointwise, in the order of the result. */
static bool dync__gm_takes_result(int device, const dync__kcall *call, const dync__kernel *k)
{
    dync__cuda_code code = {.device = device};
    dync__gm g;
    bool conv = call->row == dync__kernel_row(DYNC__K_conv2d);
    bool ok = !dync__ptx_has_reduce(k) && !k->uses_random && k->buf.n < 40 &&
              k->n_dims < DYNC__LOOP_MAX_DIMS && (conv || dync__gm_open(&g, &code, call));
    for (int i = 0; i < k->inst.n && ok; i++) ok = k->inst.at[i].section <= 2;
    for (int i = 0; i < k->buf.n && ok; i++)
        ok = k->buf.at[i].mode != (DYNC__BUF_IN | DYNC__BUF_OUT);
    ok = ok && (conv ? dync__cuda_conv_takes(&code, call, k) : dync__gm_end_of(&g, call, k, false));
    dync__arena_free(&code.arena);
    return ok;
}

DYNC__FN int dync__gm_takes(int device, const dync__kcall *call, const dync__kernel *k)
{
    int operand = -1, stores = 0, reads = 0;
    for (int i = 0; i < k->inst.n; i++) {
        if (k->inst.at[i].prim != DYNC__P_store) continue;
        stores++;
        for (int o = 0; o + 1 < call->n; o++)
            if (call->operand[o].slot == k->buf.at[k->inst.at[i].buf].id) reads++, operand = o;
    }
    if (reads == 0) return dync__gm_takes_result(device, call, k) ? 0 : -1;
    return stores == 1 && reads == 1 && operand < 2 && dync__gm_takes_side(device, call, k, operand)
               ? 1 + operand
               : -1;
}

DYNC__FN dync_status dync__cuda_gemm(dync__cuda_code *code, const dync__kcall *call,
                                     const dync__cuda_end *end, bool *done)
{
    dync__gm *g = dync__arena_alloc(&code->arena, sizeof *g);
    *done = false;
    if (!g) return DYNC_ERR_MEMORY;
    if (!dync__gm_open(g, code, call)) return DYNC_OK;
    *done = true;
    int first = call->n + (end->k ? end->k->buf.n : 0);
    for (int s = 0; s < 2; s++) {
        if (end->pre[s] &&
            !dync__gm_pre_set(&g->side[s],
                              dync__gm_pre_open(g->arena, &call->operand[s], end->pre[s], first)))
            return dync__fail_memory(0);
        if (end->pre[s]) first += end->pre[s]->buf.n;
        dync__gm_how(g, &g->side[s], s ? g->n : g->m);
        if (!end->pre[s] && g->kind >= 0 && g->side[s].how == DYNC__GM_PIECES &&
            (s ? g->m : g->n) >= DYNC__GM_REPACK && !dync__gm_repack(g, code, call, s))
            return DYNC_ERR_MEMORY;
    }
    if (end->k ? !dync__gm_end_of(g, call, end->k, end->keep) : !dync__gm_end_plain(g, call))
        return dync__fail_memory(0);
    return dync__gm_add(code, g, call, end);
}

DYNC__FN dync_status dync__gm_add(dync__cuda_code *code, dync__gm *g, const dync__kcall *call,
                                  const dync__cuda_end *end)
{
    int32_t buf[64];
    for (int s = 0; s < 2; s++)
        if (g->side[s].pre && !dync__gm_pre_close(g, s)) return dync__fail_memory(0);
    g->host = dync__arena_alloc(&code->arena, (size_t)g->end->buf.n + 1);
    if (!g->host || g->end->buf.n > 64) return dync__fail_memory(0);
    for (int i = 0; i < g->end->buf.n; i++) {
        int32_t id = g->end->buf.at[i].id;
        buf[i] = i == g->given ? 0 : id < 2 ? g->side[id].id : id;
        g->host[i] = end->host && id >= call->n && id < DYNC__CUDA_TEMP && end->host[id - call->n];
    }
    if (!dync__cuda_add_gemm(code, g, g->end, g->host, buf)) return DYNC_ERR_MEMORY;
    dync__ptx_text variant;
    bool plain = !g->side[0].gather && !g->side[1].gather && !g->window_of && !g->side[0].pre &&
                 !g->side[1].pre;
    return !plain || !dync__gm_wgmma(g, &variant) || dync__cuda_add_variant(code, &variant)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}
