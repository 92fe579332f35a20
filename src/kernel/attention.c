/* kernel/attention.c: softmax(q k^T scale + mask) v in one pass over blocks, forward and backward.
 * After gemm.c.
 *
 * Scores exist for QB queries by KB keys at a time and stay in L2. Forward keeps for each query the
 * greatest score so far, the sum of exponentials below it and the weighted values, and rescales
 * them when the maximum moves (online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867; Rabe &
 * Staats 2021; Dao et al. 2022, FlashAttention). It hands on the logarithm of the sum, from which
 * backward computes each block again. Products are gemm's, what stands between them is compiled as
 * pieces. A query that sees nothing gives zeros. Every matrix may lie in any strides; f16 and bf16
 * are widened head by head. Threads take whole units, so their number changes no bit. */
#include "../dync.in.h"
#include "operand.h"
#include "attention.h"
DYNC__COLD

/* first: place of q; k and v follow */
DYNC__OFTEN DYNC__FN void dync__att_open(dync__att *a, const dync__kcall *c, int first,
                                         void *const *data)
{
    memset(a, 0, sizeof *a);
    a->call = c;
    a->q = &c->operand[first];
    a->k = a->q + 1;
    a->v = a->q + 2;
    a->mask = c->attr.attention.mask >= 0 ? &c->operand[c->attr.attention.mask] : NULL;
    a->data = data;
    a->causal = c->attr.attention.causal;
    a->fast = c->attr.attention.fast;
    a->scale = c->attr.attention.scale;
    a->n_batch = a->q->lay.ndim - 2;
    a->dtype = a->q->dtype;
    a->type = dync__operand_working(a->dtype);
    a->bytes = dync__dtype_info(a->dtype)->bytes;
    a->type_bytes = dync__dtype_info(a->type)->bytes;
    a->L = a->q->lay.shape[a->n_batch];
    a->E = a->q->lay.shape[a->n_batch + 1];
    a->S = a->v->lay.shape[a->n_batch];
    a->V = a->v->lay.shape[a->n_batch + 1];
    a->qb = dync__sz_min(a->L, DYNC__ATT_QB);
    a->kb = dync__sz_min(a->S, a->causal ? DYNC__ATT_QB : DYNC__ATT_KB);
    if (dync__any_token(a->L, a->S)) return; /* for pieces */
    a->q_blocks = (a->L + a->qb - 1) / a->qb;
    a->units = 1;
    for (int d = 0; d < a->n_batch; d++) a->units *= a->q->lay.shape[d];
}

/* Row `row` of a matrix of the unit. */
DYNC__FN char *dync__att_at(const dync__att *a, const dync__operand *o, int64_t unit, int64_t row)
{
    int64_t at = row * o->lay.stride[a->n_batch];
    for (int d = a->n_batch - 1; d >= 0; d--) {
        at += unit % a->q->lay.shape[d] * o->lay.stride[d];
        unit /= a->q->lay.shape[d];
    }
    return (char *)dync__operand_at(o, a->data[o - a->call->operand]) +
           at * dync__dtype_info(o->dtype)->bytes;
}

/* ---- the pieces ------------------------------------------------------------------------------ */

/* Which of the twelve: a full block or what is left of it, in queries and keys; with or without a
 * mask. */
DYNC__FN int dync__att_piece(const dync__att *a, int64_t rows, int64_t columns, bool masked)
{
    return (rows < a->qb ? 1 : 0) + (columns < a->kb ? 2 : 0) + (masked ? 4 : 0);
}

/* The block's scores [rows, columns], scaled, with -inf where the mask hides: an operand's, or the
 * band of the diagonal. The mask is a buffer of its own, or not there. */
static int dync__att_scores(dync__piece *p, const dync__att *a, int buf, int mask)
{
    const dync__layout *l = a->mask ? &a->mask->lay : NULL;
    int s = dync__lb_op(&p->b, DYNC__P_mul, dync__piece_load(p, buf, 0, a->kb, 1),
                        dync__lb_f(&p->b, a->type, a->scale), -1);
    if (mask < 0) return s;
    int m = l ? dync__piece_load(p, mask, 0, l->stride[a->n_batch], l->stride[a->n_batch + 1])
              : dync__piece_load(p, mask, 0, -1, 1);
    if (l && a->mask->dtype != DYNC_BOOL) return dync__lb_op(&p->b, DYNC__P_add, s, m, -1);
    return dync__lb_op(&p->b, DYNC__P_select, m, s, dync__lb_f(&p->b, a->type, -HUGE_VAL));
}

static int dync__att_mask_buf(dync__piece *p, const dync__att *a, bool masked)
{
    return !masked ? -1 : dync__piece_buf(p, a->mask ? a->mask->dtype : DYNC_BOOL, DYNC__BUF_IN);
}

/* x, or 0 where it is -inf: a row that saw nothing yet */
static int dync__att_finite(dync__piece *p, int type, int x)
{
    int none = dync__lb_op(&p->b, DYNC__P_eq, x, dync__lb_f(&p->b, type, -HUGE_VAL), -1);
    return dync__lb_op(&p->b, DYNC__P_select, none, dync__lb_f(&p->b, type, 0), x);
}

/* One block of keys for some queries: the maximum so far grows, and what was summed before is to be
 * multiplied by factor = exp(old maximum - new one), here the sums, by the rescale piece the
 * values. Buffers: scores (exponentials after), maxima, sums, factors [rows], mask. */
static dync_status dync__att_step_piece(const dync__att *a, int64_t rows, int64_t columns,
                                        bool masked, dync__code **out)
{
    enum { RW = DYNC__BUF_IN | DYNC__BUF_OUT };
    dync__piece p;
    dync__interp_reduces();
    if (!dync__piece_begin(&p, "attention_step", 1, rows, columns)) return DYNC_ERR_MEMORY;
    dync__lb *b = &p.b;
    b->fast_math = a->fast;
    int scores = dync__piece_buf(&p, a->type, RW), most = dync__piece_buf(&p, a->type, RW),
        sum = dync__piece_buf(&p, a->type, RW);
    int factor = dync__piece_buf(&p, a->type, DYNC__BUF_OUT),
        mask = dync__att_mask_buf(&p, a, masked);
    int s = dync__att_scores(&p, a, scores, mask), top = dync__lb_reduce(b, DYNC__R_MAX, s);
    b->section = 2;
    int before = dync__piece_load(&p, most, 0, 1, 0);
    top = dync__lb_op(b, DYNC__P_max, before, top, -1);
    int from = dync__att_finite(&p, a->type, top),
        scale = dync__vm_exp(b, dync__lb_op(b, DYNC__P_sub, before, from, -1));
    dync__piece_store(&p, most, 0, 1, 0, top);
    dync__piece_store(&p, factor, 0, 1, 0, scale);
    b->section = 3;
    int e = dync__vm_exp(b, dync__lb_op(b, DYNC__P_sub, s, from, -1));
    dync__piece_store(&p, scores, 0, a->kb, 1, e);
    int total = dync__lb_reduce(b, DYNC__R_SUM, e);
    b->section = 4;
    dync__piece_store(
        &p, sum, 0, 1, 0,
        dync__lb_op(b, DYNC__P_fma, dync__piece_load(&p, sum, 0, 1, 0), scale, total));
    return dync__piece_end(&p, out);
}

/* values [rows, V] times factors [rows] */
static dync_status dync__att_rescale_piece(const dync__att *a, int64_t rows, dync__code **out)
{
    dync__piece p;
    if (!dync__piece_begin(&p, "attention_rescale", 1, rows, a->V)) return DYNC_ERR_MEMORY;
    int values = dync__piece_buf(&p, a->type, DYNC__BUF_IN | DYNC__BUF_OUT),
        factor = dync__piece_buf(&p, a->type, DYNC__BUF_IN);
    dync__piece_store(&p, values, 0, a->V, 1,
                      dync__lb_op(&p.b, DYNC__P_mul, dync__piece_load(&p, values, 0, a->V, 1),
                                  dync__piece_load(&p, factor, 0, 1, 0), -1));
    return dync__piece_end(&p, out);
}

/* Values by the sums, zeros where a query saw nothing (its logarithm is -inf).
 * Buffers: values, maxima, sums; output, log of the sum. */
static dync_status dync__att_finish_piece(const dync__att *a, int64_t rows, dync__code **out)
{
    const dync__operand *y = &a->call->operand[3], *lse = &a->call->operand[4];
    dync__piece p;
    if (!dync__piece_begin(&p, "attention_finish", 1, rows, a->V)) return DYNC_ERR_MEMORY;
    dync__lb *b = &p.b;
    int values = dync__piece_buf(&p, a->type, DYNC__BUF_IN),
        most = dync__piece_buf(&p, a->type, DYNC__BUF_IN),
        sum = dync__piece_buf(&p, a->type, DYNC__BUF_IN);
    int to = dync__piece_buf(&p, y->dtype, DYNC__BUF_OUT),
        log = dync__piece_buf(&p, lse->dtype, DYNC__BUF_OUT);
    b->section = 0;
    int total = dync__piece_load(&p, sum, 0, 1, 0), zero = dync__lb_f(b, a->type, 0);
    int over = dync__lb_op(b, DYNC__P_div, dync__lb_f(b, a->type, 1), total, -1);
    over = dync__lb_op(b, DYNC__P_select, dync__lb_op(b, DYNC__P_eq, total, zero, -1), zero, over);
    dync__piece_store(&p, log, 0, lse->lay.stride[a->n_batch], 0,
                      dync__lb_op(b, DYNC__P_add, dync__piece_load(&p, most, 0, 1, 0),
                                  dync__vm_log(b, total), -1));
    b->section = 1;
    dync__piece_store(
        &p, to, 0, y->lay.stride[a->n_batch], y->lay.stride[a->n_batch + 1],
        dync__lb_op(b, DYNC__P_mul, dync__piece_load(&p, values, 0, a->V, 1), over, -1));
    return dync__piece_end(&p, out);
}

/* Buffers: scores (weights after), gradient of the weights (of the scores after), log of the sum
 * [rows], products of output and its gradient [rows], mask. */
static dync_status dync__att_grad_piece(const dync__att *a, int64_t rows, int64_t columns,
                                        bool masked, dync__code **out)
{
    enum { RW = DYNC__BUF_IN | DYNC__BUF_OUT };
    const dync__operand *lse = &a->call->operand[5];
    dync__piece p;
    if (!dync__piece_begin(&p, "attention_grad", 1, rows, columns)) return DYNC_ERR_MEMORY;
    dync__lb *b = &p.b;
    b->fast_math = a->fast;
    int scores = dync__piece_buf(&p, a->type, RW), grad = dync__piece_buf(&p, a->type, RW),
        log = dync__piece_buf(&p, lse->dtype, DYNC__BUF_IN);
    int product = dync__piece_buf(&p, a->type, DYNC__BUF_IN),
        mask = dync__att_mask_buf(&p, a, masked);
    b->section = 0;
    int from =
        dync__att_finite(&p, a->type, dync__piece_load(&p, log, 0, lse->lay.stride[a->n_batch], 0));
    int mean = dync__piece_load(&p, product, 0, 1, 0);
    b->section = 1;
    int w = dync__vm_exp(
        b, dync__lb_op(b, DYNC__P_sub, dync__att_scores(&p, a, scores, mask), from, -1));
    int g = dync__lb_op(b, DYNC__P_sub, dync__piece_load(&p, grad, 0, a->kb, 1), mean, -1);
    g = dync__lb_op(b, DYNC__P_mul,
                    dync__lb_op(b, DYNC__P_mul, w, dync__lb_f(b, a->type, a->scale), -1), g, -1);
    dync__piece_store(&p, scores, 0, a->kb, 1, w);
    dync__piece_store(&p, grad, 0, a->kb, 1, g);
    return dync__piece_end(&p, out);
}

/* product[i] = output[i] . gradient[i] for all queries of a unit */
static dync_status dync__att_product_piece(const dync__att *a, dync__code **out)
{
    const dync__operand *gy = &a->call->operand[0], *y = &a->call->operand[4];
    dync__piece p;
    dync__interp_reduces();
    if (!dync__piece_begin(&p, "attention_product", 1, a->L, a->V)) return DYNC_ERR_MEMORY;
    int from = dync__piece_buf(&p, gy->dtype, DYNC__BUF_IN),
        with = dync__piece_buf(&p, y->dtype, DYNC__BUF_IN),
        to = dync__piece_buf(&p, a->type, DYNC__BUF_OUT);
    int g =
        dync__piece_load(&p, from, 0, gy->lay.stride[a->n_batch], gy->lay.stride[a->n_batch + 1]);
    int o = dync__piece_load(&p, with, 0, y->lay.stride[a->n_batch], y->lay.stride[a->n_batch + 1]);
    int sum = dync__lb_reduce(&p.b, DYNC__R_SUM, dync__lb_op(&p.b, DYNC__P_mul, g, o, -1));
    p.b.section = 2;
    dync__piece_store(&p, to, 0, 1, 0, sum);
    return dync__piece_end(&p, out);
}

/* Makes the blocks' pieces that this call can meet. */
DYNC__OFTEN static dync_status dync__att_blocks(dync__kcall *c, const dync__att *a,
                                                dync_status (*make)(const dync__att *, int64_t,
                                                                    int64_t, bool, dync__code **))
{
    const int64_t rows[2] = {a->qb, dync__sz_mod(a->L, a->qb)},
                  columns[2] = {a->kb, dync__sz_mod(a->S, a->kb)};
    for (int i = 0; i < 8; i++) {
        bool masked = (i & 4) != 0;
        if (c->piece[i] || dync__sz_eq(rows[i & 1], 0) || dync__sz_eq(columns[i >> 1 & 1], 0) ||
            (masked ? !a->mask && !a->causal : a->mask != NULL))
            continue;
        DYNC__TRY(make(a, rows[i & 1], columns[i >> 1 & 1], masked, &c->piece[i]));
    }
    return DYNC_OK;
}

/* [batch of q.., rows, columns] of dtype; columns -1: there is no such dim. */
DYNC__OFTEN static bool dync__att_is(const dync__operand *o, const dync__operand *q, int dtype,
                                     int64_t rows, int64_t columns)
{
    int n = q->lay.ndim - 2;
    bool ok = o->dtype == dtype && o->lay.ndim == n + (columns < 0 ? 1 : 2);
    for (int d = 0; ok && d < n; d++) ok = o->lay.shape[d] == q->lay.shape[d];
    return ok && o->lay.shape[n] == rows && (columns < 0 || o->lay.shape[n + 1] == columns);
}

/* What inference promised: query, key, value behind `first`, then (forward) output and logarithms;
 * backward has them between the output's gradient and the three gradients. */
DYNC__OFTEN static dync_status dync__att_check(const dync__kcall *c, int n, int first)
{
    const dync__operand *q = &c->operand[first], *k = q + 1, *v = q + 2;
    int d = q->lay.ndim - 2, wide = q->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    bool ok = c->n == n + (c->attr.attention.mask >= 0) && c->attr.attention.mask < c->n &&
              d >= 0 && k->lay.ndim == d + 2 && v->lay.ndim == d + 2;
    DYNC__TRY(dync__kcall_expect(c, ok && dync__dtype_info(q->dtype)->kind == 'f',
                                 "query, key "
                                 "and value of "
                                 "floats"));
    int64_t L = q->lay.shape[d], E = q->lay.shape[d + 1], S = k->lay.shape[d],
            V = v->lay.shape[d + 1];
    ok = dync__att_is(k, q, q->dtype, S, E) && dync__att_is(v, q, q->dtype, S, V) &&
         dync__att_is(q + 3, q, q->dtype, L, V) && dync__att_is(q + 4, q, wide, L, -1);
    if (first)
        ok = ok && dync__att_is(q - 1, q, q->dtype, L, V) &&
             dync__att_is(q + 5, q, q->dtype, L, E) && dync__att_is(q + 6, q, q->dtype, S, E) &&
             dync__att_is(q + 7, q, q->dtype, S, V);
    const dync__operand *mask = c->attr.attention.mask >= 0 ? &c->operand[c->attr.attention.mask]
                                                            : NULL;
    if (mask)
        ok = ok && !c->attr.attention.causal &&
             dync__att_is(mask, q, mask->dtype == DYNC_BOOL ? DYNC_BOOL : q->dtype, L, S);
    return dync__kcall_expect(c, ok && L && E && S && V,
                              "query [.., L, E], key [.., S, E], "
                              "value [.., S, V] and what belongs to "
                              "them");
}

/* Bytes of a thread: scores (twice for backward), values, three numbers a query, band, widened
 * matrices. */
DYNC__OFTEN DYNC__FN int64_t dync__att_room(const dync__att *a, bool grad)
{
    int64_t n = a->qb * a->kb * (grad ? 2 : 1) + a->qb * a->V + 3 * (grad ? a->L : a->qb),
            wide = a->S * (a->E + a->V);
    if (a->dtype != a->type) n += grad ? 2 * wide + a->L * (2 * a->E + a->V) : wide + a->qb * a->E;
    return n * a->type_bytes + 2 * (a->qb + a->kb) + 64;
}

DYNC__FN dync_status dync__k_attention_pieces(dync__kcall *c)
{
    dync__att a;
    dync__att_open(&a, c, 0, NULL);
    DYNC__TRY(dync__att_blocks(c, &a, dync__att_step_piece));
    for (int i = 0; i < 2; i++) {
        int64_t rows = i ? dync__sz_mod(a.L, a.qb) : a.qb;
        if (dync__sz_eq(rows, 0)) continue;
        if (!c->piece[8 + i] && dync__sz_lt(a.kb, a.S))
            DYNC__TRY(dync__att_rescale_piece(&a, rows, &c->piece[8 + i]));
        if (!c->piece[10 + i]) DYNC__TRY(dync__att_finish_piece(&a, rows, &c->piece[10 + i]));
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__k_attention_prepare(dync__kcall *c)
{
    dync__att a;
    DYNC__TRY(dync__att_check(c, 5, 0));
    dync__att_open(&a, c, 0, NULL);
    c->run_bytes = (size_t)dync__att_room(&a, false) * (size_t)dync__pool_threads();
    return dync__k_attention_pieces(c);
}

DYNC__FN dync_status dync__k_attention_grad_pieces(dync__kcall *c)
{
    dync__att a;
    dync__att_open(&a, c, 1, NULL);
    DYNC__TRY(dync__att_blocks(c, &a, dync__att_grad_piece));
    return c->piece[8] ? DYNC_OK : dync__att_product_piece(&a, &c->piece[8]);
}

DYNC__FN dync_status dync__k_attention_grad_prepare(dync__kcall *c)
{
    dync__att a;
    DYNC__TRY(dync__att_check(c, 9, 1));
    dync__att_open(&a, c, 1, NULL);
    c->run_bytes = (size_t)dync__att_room(&a, true) * (size_t)dync__pool_threads();
    return dync__k_attention_grad_pieces(c);
}
