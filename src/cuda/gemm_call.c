/* cuda/gemm_call.c: the parts of a product on a GPU put together: what is packed first, which text
 * of which form, what goes along with it. After gemm.c, before conv.c. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

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
DYNC__FN double dync__gm_plan(dync__gm *g, bool may_be_thin)
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
