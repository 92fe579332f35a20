/* cuda/attention_backward.c: gradients of attention on a GPU, and the entry by which calls.c asks
 * for either. After attention_forward.c, before calls.c. */
#include "../dync.in.h"
#include "attention.h"
DYNC__COLD

/* ---- backward -------------------------------------------------------------------------------- */

/* Pairs {log of the sum times log2 e, or 0 where nothing was seen; output . gradient} of every
 * query, dense. */
static bool dync__fa_pairs(dync__cuda_code *code, const dync__fa *c, int32_t to)
{
    const dync__operand *gy = c->gy, *y = &c->op[4], *lse = &c->op[5];
    int64_t extent[DYNC__LOOP_MAX_DIMS], dense[DYNC__LOOP_MAX_DIMS] = {0},
                                         log[DYNC__LOOP_MAX_DIMS] = {0}, n = 2;
    int rank = c->n_batch + 2;
    memcpy(extent, gy->lay.shape, (size_t)rank * sizeof *extent);
    for (int d = c->n_batch; d >= 0; n *= extent[d--]) {
        dense[d] = n;
        log[d] = lse->lay.stride[d];
    }
    dync__kernel *k =
        dync__kernel_new(&code->arena, "attention_pairs", c->n_batch + 1, rank, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "attention"};
    int g =
        dync__lb_cast(&b,
                      dync__lb_load(&b, dync__kernel_buf(k, 0, gy->dtype, DYNC__BUF_IN, -1, NULL),
                                    dync__kernel_access(k, gy->lay.offset, gy->lay.stride)),
                      DYNC_F32);
    int o =
        dync__lb_cast(&b,
                      dync__lb_load(&b, dync__kernel_buf(k, 4, y->dtype, DYNC__BUF_IN, -1, NULL),
                                    dync__kernel_access(k, y->lay.offset, y->lay.stride)),
                      DYNC_F32);
    int sum = dync__lb_reduce(&b, DYNC__R_SUM, dync__lb_op(&b, DYNC__P_mul, g, o, -1));
    b.section = 2;
    int x = dync__lb_load(&b, dync__kernel_buf(k, 5, DYNC_F32, DYNC__BUF_IN, -1, NULL),
                          dync__kernel_access(k, lse->lay.offset, log));
    int none = dync__lb_op(&b, DYNC__P_eq, x, dync__lb_f(&b, DYNC_F32, -HUGE_VAL), -1);
    x = dync__lb_op(&b, DYNC__P_select, none, dync__lb_f(&b, DYNC_F32, 0),
                    dync__lb_op(&b, DYNC__P_mul, x, dync__lb_f(&b, DYNC_F32, DYNC__FA_LOG2E), -1));
    int out = dync__kernel_buf(k, to, DYNC_F32, DYNC__BUF_OUT, -1, NULL);
    dync__lb_store(&b, out, dync__kernel_access(k, 0, dense), x);
    dync__lb_store(&b, out, dync__kernel_access(k, 1, dense), sum);
    return dync__cuda_add_loop(code, k);
}

/* The pairs of the tile's queries: registers of the rows, or asked for into shared memory. */
static void dync__fa_pairs_begin(dync__fa *c, bool keys, int buf, int at)
{
    dync__ptx *p = &c->t.p;
    dync__cuda_tile_wide(&c->t, "%pair", NULL);
    dync__ptx_line(p, "cvt.u64.u32 %%pair, %%unit");
    dync__ptx_line(p, "mad.lo.s64 %%pair, %%pair, %lld, %%b%d", (long long)(c->L * 8), buf);
    if (keys) {
        dync__cuda_tile_set(&c->t, "s32", "%pair_r", "add", "%%j, %%thr");
        dync__ptx_line(p, "mad.wide.s32 %%pair, %%pair_r, 8, %%pair");
        dync__cuda_tile_set(&c->t, "s32", "%pair_s", "mad.lo", "%%thr, 8, %%smem");
        dync__ptx_line(p, "add.s32 %%pair_s, %%pair_s, %d", at);
        dync__cuda_tile_set(&c->t, "s32", "%pair_b", "mad.lo", "%%cb, 8, %%smem");
        dync__ptx_line(p, "add.s32 %%pair_b, %%pair_b, %d", at);
        dync__cuda_tile_set(&c->t, "b32", "%pair_f", "mov", "%d", c->cols * 8);
        dync__ptx_reg(p, "pred", "%pair_go");
        dync__ptx_line(p, "setp.lt.s32 %%pair_go, %%thr, %d", c->cols);
        return;
    }
    dync__ptx_line(p, "mad.wide.s32 %%pair, %%row, 8, %%pair");
    for (int i = 0; i < (c->mma ? 2 * c->mt : c->rows * 16 / c->threads); i++) {
        const char *is = dync__ptx_temp(p, "pred");
        dync__ptx_line(p, "mov.b32 %%log%d, 0", i);
        dync__ptx_line(p, "mov.b32 %%dot%d, 0", i);
        dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                       (long long)(c->L - dync__fa_row(c, i)));
        dync__ptx_line(p, "@%s ld.global.v2.f32 {%%log%d, %%dot%d}, [%%pair+%d]", is, i, i,
                       dync__fa_row(c, i) * 8);
    }
}

static void dync__fa_pairs_issue(dync__fa *c, bool twice)
{
    /* zeros for queries past the last one: their weights are 1, and what they weigh is 0 */
    dync__ptx *p = &c->t.p;
    const char *is = dync__ptx_temp(p, "pred"), *n = dync__ptx_temp(p, "b32");
    dync__ptx_line(p, "setp.lt.s32 %s, %%pair_r, %lld", is, (long long)c->L);
    dync__ptx_line(p, "selp.b32 %s, 8, 0, %s", n, is);
    dync__ptx_line(p, "@%%pair_go cp.async.ca.shared.global [%%pair_s], [%%pair], 8, %s", n);
    dync__ptx_line(p, "add.s64 %%pair, %%pair, %d", c->cols * 8);
    dync__ptx_line(p, "add.s32 %%pair_r, %%pair_r, %d", c->cols);
    if (!twice) return;
    dync__ptx_line(p, "add.s32 %%pair_s, %%pair_s, %%pair_f");
    dync__ptx_line(p, "neg.s32 %%pair_f, %%pair_f");
}

/* Asks for the next tiles of columns, if there are more. */
static void dync__fa_next(dync__fa *c, const dync__fa_tile *b1, const dync__fa_tile *b2, bool keys)
{
    dync__ptx *p = &c->t.p;
    dync__ptx_line(p, "not.pred %%none, %%more");
    dync__ptx_line(p, "@%%none bra LAST");
    dync__fa_issue(c, b1);
    dync__fa_issue(c, b2);
    if (keys) dync__fa_pairs_issue(c, b1->stage != 0);
    dync__cuda_tile_label(&c->t, "LAST");
    dync__cuda_tile_commit(&c->t);
}

/* s: scores, weights after. Where g is given: gradient of the weights, after that of the scores
 * over the scale. */
static void dync__fa_score_grad(dync__fa *c, const dync__fa_frag *s, const dync__fa_frag *g,
                                bool keys)
{
    dync__ptx *p = &c->t.p;
    char reg[24], grad[24], factor[24];
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * DYNC__FA_LOG2E : 1.0);
    for (int n = 0; n < s->rows * s->cols; n++) {
        int i = keys ? n % s->rows : n / s->cols, j = keys ? n / s->rows : n % s->cols,
            pair = keys ? 0 : i;
        dync__fa_reg(c, s, i, j, reg);
        if (keys && i == 0)
            dync__ptx_line(p, "ld.shared.v2.f32 {%%log0, %%dot0}, [%%pair_b+%d]",
                           dync__fa_col(c, s, j) * 8);
        const char *x = dync__ptx_temp(p, "f32");
        dync__ptx_line(p, "neg.f32 %s, %%log%d", x, pair);
        dync__ptx_line(p, "fma.rn.f32 %s, %s, %s, %s", reg, reg, factor, x);
        dync__ptx_line(p, "ex2.approx.ftz.f32 %s, %s", reg, reg);
        if (!g) continue;
        dync__fa_reg(c, g, i, j, grad);
        dync__ptx_line(p, "sub.rn.f32 %s, %s, %%dot%d", grad, grad, pair);
        dync__ptx_line(p, "mul.rn.f32 %s, %s, %s", grad, grad, reg);
    }
}

/* One of the kernels: outs says which gradients. Rows are keys but for gq. */
static void dync__fa_backward_text(dync__fa *c, int outs, int pair_buf, bool twice)
{
    dync__ptx *p = &c->t.p;
    bool keys = outs != DYNC__FA_GQ, scores = outs != DYNC__FA_GV;
    char scale[24];
    int wide_e = dync__fa_padded(c->E), wide_v = dync__fa_padded(c->V), stage = twice;
    int64_t n_rows = keys ? c->S : c->L;
    const dync__fa_tile of_q = {
        .name = "q", .o = c->q, .buf = 1, .width = wide_e, .limit = c->L, .columns = c->E};
    const dync__fa_tile of_k = {
        .name = "k", .o = c->k, .buf = 2, .width = wide_e, .limit = c->S, .columns = c->E};
    const dync__fa_tile of_v = {
        .name = "v", .o = c->v, .buf = 3, .width = wide_v, .limit = c->S, .columns = c->V};
    const dync__fa_tile of_g = {
        .name = "g", .o = c->gy, .buf = 0, .width = wide_v, .limit = c->L, .columns = c->V};
    dync__fa_tile a1 = keys ? of_k : of_q, a2 = keys ? of_v : of_g, b1 = keys ? of_q : of_k,
                  b2 = keys ? of_g : of_v;
    dync__fa_place(c, n_rows, c->causal && !keys);
    dync__fa_mask_regs(c);
    dync__fa_frag s = dync__fa_frag_new(c, "%s", c->cols, false), d = {0}, ge = {0}, gv = {0};
    if (scores) d = dync__fa_frag_new(c, "%d", c->cols, false);
    if (outs & (DYNC__FA_GQ | DYNC__FA_GK)) ge = dync__fa_frag_new(c, "%ge", wide_e, true);
    if (outs & DYNC__FA_GV) gv = dync__fa_frag_new(c, "%gv", wide_v, true);
    dync__cuda_tile_regs(&c->t, "f32", "%log", s.rows);
    dync__cuda_tile_regs(&c->t, "f32", "%dot", s.rows);
    a1.rows = a2.rows = c->rows;
    b1.rows = b2.rows = c->cols;
    b1.stage = b2.stage = stage;
    /* queries before the keys see nothing of them */
    if (keys && c->causal) {
        dync__ptx_line(p, "div.s32 %%j, %%i0, %d", c->cols);
        dync__ptx_line(p, "mul.lo.s32 %%j, %%j, %d", c->cols);
    } else {
        dync__ptx_line(p, "mov.b32 %%j, 0");
    }
    if (keys)
        dync__ptx_line(p, "mov.b32 %%jend, %lld", (long long)c->L);
    else
        dync__fa_last_key(c);
    dync__fa_tile_begin(c, &a1, "%i0");
    dync__fa_tile_begin(c, &b1, "%j");
    dync__fa_reader(c, &a1, 'a');
    dync__fa_reader(c, &b1, 'b');
    if (scores) dync__fa_tile_begin(c, &a2, "%i0");
    dync__fa_tile_begin(c, &b2, "%j");
    if (scores) {
        dync__fa_reader(c, &a2, 'a');
        dync__fa_reader(c, &b2, 'b');
        dync__fa_reader(c, &b1, 'n');
    }
    if (gv.cols) dync__fa_reader(c, &b2, 'n');
    dync__fa_pairs_begin(c, keys, pair_buf,
                         dync__cuda_tile_shared(&c->t, keys ? c->cols * 16 : 0, 16));
    dync__fa_issue(c, &a1);
    if (scores) dync__fa_issue(c, &a2);
    dync__fa_issue(c, &b1);
    dync__fa_issue(c, &b2);
    if (keys) dync__fa_pairs_issue(c, twice);
    dync__cuda_tile_commit(&c->t);
    if (ge.cols) dync__fa_zero(c, &ge);
    if (gv.cols) dync__fa_zero(c, &gv);
    dync__ptx_line(p, "setp.ge.s32 %%none, %%j, %%jend");
    dync__ptx_line(p, "@%%none bra DONE");
    dync__cuda_tile_label(&c->t, "STEP");
    dync__cuda_tile_wait(&c->t, 0);
    dync__cuda_tile_barrier(&c->t);
    dync__ptx_line(p, "add.s32 %%jn, %%j, %d", c->cols);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%jn, %%jend");
    /* into the other copies at once, or when all have done with these */
    if (twice) dync__fa_next(c, &b1, &b2, keys);
    dync__fa_nt(c, &s, &a1, &b1);
    dync__fa_mask(c, &s, keys, "SEEN");
    if (scores) dync__fa_nt(c, &d, &a2, &b2);
    dync__fa_score_grad(c, &s, scores ? &d : NULL, keys);
    if (gv.cols) {
        dync__fa_weights(c, &s);
        dync__fa_nn(c, &gv, &b2);
    }
    if (ge.cols) {
        dync__fa_weights(c, &d);
        dync__fa_nn(c, &ge, &b1);
    }
    if (!twice) dync__cuda_tile_barrier(&c->t);
    if (!twice) dync__fa_next(c, &b1, &b2, keys);
    dync__fa_flip(c, &b1, scores ? "bn" : "b");
    dync__fa_flip(c, &b2, !scores ? "n" : gv.cols ? "bn" : "b");
    if (keys && twice) dync__ptx_line(p, "add.s32 %%pair_b, %%pair_b, %%pair_f");
    dync__ptx_line(p, "mov.b32 %%j, %%jn");
    dync__ptx_line(p, "@%%more bra STEP");
    dync__cuda_tile_label(&c->t, "DONE");
    dync__cuda_tile_wait(&c->t, 0);
    if (ge.cols)
        dync__fa_write(c, &ge, &c->op[keys ? 7 : 6], keys ? 7 : 6, dync__fa_number(scale, c->scale),
                       false, n_rows);
    if (gv.cols) dync__fa_write(c, &gv, &c->op[8], 8, NULL, false, n_rows);
    dync__cuda_tile_entry(&c->t,
                          keys ? ge.cols ? gv.cols ? "attention_gkv" : "attention_gk"
                                         : "attention_gv"
                               : "attention_gq",
                          c->units * ((n_rows + c->rows - 1) / c->rows), 1, 1, c->threads);
}

/* Bytes of shared memory of a kernel over such tiles. */
static int dync__fa_backward_bytes(const dync__fa *c, bool twice)
{
    int both = (dync__fa_padded(c->E) + dync__fa_padded(c->V)) * c->bytes + 32;
    return (c->rows + c->cols * (twice ? 2 : 1)) * both +
           (c->mma ? 0 : c->rows * (c->cols * 4 + 16)) + c->cols * 16 + 512;
}

/* The tallest tiles that fit; twice: the columns' tiles too lie there twice, so that the next ones
 * arrive meanwhile. */
static bool dync__fa_backward_shape(dync__fa *c)
{
    int width = dync__fa_padded(DYNC__MAX(c->E, c->V));
    c->mt = 1;
    c->threads = 128;
    if (c->mma) {
        c->rows = 64;
        c->cols = width <= 64 ? 64 : width <= 128 ? 32 : 16;
        return dync__fa_backward_bytes(c, true) <= DYNC__FA_SHARED;
    }
    for (c->rows = c->cols = DYNC__MAX(c->L, c->S) > 32 ? 64 : 32;
         dync__fa_backward_bytes(c, false) > DYNC__FA_SHARED;)
        c->rows = c->cols /= 2;
    if (c->rows == 64) c->threads = 256;
    return false;
}

static dync_status dync__fa_backward(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fa c;
    int32_t buf[DYNC__KCALL_OPERANDS + 1];
    dync__fa_open(&c, call, true, false);
    if (!dync__fa_can(&c, 9)) return dync__fa_plain_grad(code, call);
    int n = call->n, n_kernels = c.mma && DYNC__MAX(c.E, c.V) > 128 ? 3 : 2;
    static const int outs[2][3] = {{DYNC__FA_GQ, DYNC__FA_GK | DYNC__FA_GV},
                                   {DYNC__FA_GQ, DYNC__FA_GK, DYNC__FA_GV}};
    for (int i = 0; i < n; i++) buf[i] = i;
    if ((buf[n] = dync__cuda_add_temp(code, c.units * c.L * 8)) < 0 ||
        !dync__fa_pairs(code, &c, buf[n]))
        return DYNC_ERR_MEMORY;
    for (int kernel = 0; kernel < n_kernels; kernel++)
        for (int vec = 0; vec < 2; vec++) {
            dync__fa_open(&c, call, true, vec);
            dync__cuda_tile_begin(&c.t, n + 1);
            const dync__operand *rows[] = {c.q, c.k, c.v, c.gy, &c.op[6], &c.op[7], &c.op[8]};
            if (vec && !dync__fa_rows_fit(&c, rows, 7)) {
                dync__str_free(&c.t.p.regs);
                dync__str_free(&c.t.p.body);
                break;
            }
            bool twice = dync__fa_backward_shape(&c);
            dync__fa_backward_text(&c, outs[n_kernels - 2][kernel], n, twice);
            if (!dync__fa_finish(&c, code, vec ? DYNC__CUDA_VARIANT : DYNC__CUDA_ANY, buf))
                return DYNC_ERR_MEMORY;
        }
    return DYNC_OK;
}

DYNC__FN dync_status dync__cuda_call_attention(dync__cuda_code *code, const dync__kcall *call,
                                               bool *done)
{
    *done = true;
    if (dync__kcall_is(call, DYNC__K_attention)) return dync__fa_forward(code, call);
    if (dync__kcall_is(call, DYNC__K_attention_grad)) return dync__fa_backward(code, call);
    *done = false;
    return DYNC_OK;
}
