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
DYNC__COLD

typedef struct dync__att {
    const dync__kcall *call;
    const dync__operand *q, *k, *v, *mask;
    int n_batch, dtype, type;
    bool causal, fast;
    double scale;
    /* units: matrices of the batch; L queries and S keys of E elements, S values of V; a block is
     * qb queries by kb keys */
    int64_t units, L, S, E, V, qb, kb, bytes, type_bytes, q_blocks;
    void *const *data;
} dync__att;

/* first: place of q; k and v follow */
static void dync__att_open(dync__att *a, const dync__kcall *c, int first, void *const *data)
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
static char *dync__att_at(const dync__att *a, const dync__operand *o, int64_t unit, int64_t row)
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
static int dync__att_piece(const dync__att *a, int64_t rows, int64_t columns, bool masked)
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
static dync_status dync__att_blocks(dync__kcall *c, const dync__att *a,
                                    dync_status (*make)(const dync__att *, int64_t, int64_t, bool,
                                                        dync__code **))
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
static bool dync__att_is(const dync__operand *o, const dync__operand *q, int dtype, int64_t rows,
                         int64_t columns)
{
    int n = q->lay.ndim - 2;
    bool ok = o->dtype == dtype && o->lay.ndim == n + (columns < 0 ? 1 : 2);
    for (int d = 0; ok && d < n; d++) ok = o->lay.shape[d] == q->lay.shape[d];
    return ok && o->lay.shape[n] == rows && (columns < 0 || o->lay.shape[n + 1] == columns);
}

/* What inference promised: query, key, value behind `first`, then (forward) output and logarithms;
 * backward has them between the output's gradient and the three gradients. */
static dync_status dync__att_check(const dync__kcall *c, int n, int first)
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

static int64_t dync__att_room(const dync__att *a, bool grad);
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

/* ---- running --------------------------------------------------------------------------------- */

/* A matrix as gemm takes it. */
typedef struct dync__att_matrix {
    char *at;
    int64_t row, col;
} dync__att_matrix;
typedef struct dync__att_job {
    const dync__att *a;
    dync_status status;
} dync__att_job;

/* Rows [row, row + n) of an operand in the computing dtype: where it lies, or widened into room,
 * which moves on. */
static dync__att_matrix dync__att_rows(const dync__att *a, const dync__operand *o, int64_t unit,
                                       int64_t row, int64_t n, char **room)
{
    const int64_t *stride = &o->lay.stride[a->n_batch];
    dync__att_matrix m = {dync__att_at(a, o, unit, row), stride[0], stride[1]};
    if (a->dtype == a->type) return m;
    int64_t shape[2] = {n, o->lay.shape[a->n_batch + 1]}, dense[2] = {shape[1], 1};
    dync__copy_elements(2, shape, *room, a->type, dense, m.at, a->dtype, stride);
    m = (dync__att_matrix){*room, shape[1], 1};
    *room += n * shape[1] * a->type_bytes;
    return m;
}

/* c [m, n] (+)= x [m, k] y [k, n], each transposed or not */
static void dync__att_gemm(const dync__att *a, int64_t m, int64_t n, int64_t k, dync__att_matrix x,
                           bool x_transposed, dync__att_matrix y, bool y_transposed,
                           dync__att_matrix c, bool accumulate)
{
    dync__gemm_of(a->type, m, n, k, x.at, x_transposed ? x.col : x.row,
                  x_transposed ? x.row : x.col, y.at, y_transposed ? y.col : y.row,
                  y_transposed ? y.row : y.col, c.at, c.row, c.col, accumulate);
}

static dync__att_matrix dync__att_moved(const dync__att *a, dync__att_matrix m, int64_t rows)
{
    m.at += rows * m.row * a->type_bytes;
    return m;
}

static void dync__att_clear(const dync__att *a, dync__att_matrix m, int64_t rows, int64_t columns)
{
    size_t e = (size_t)a->type_bytes;
    for (int64_t i = 0; i < rows; i++) {
        char *row = m.at + (size_t)(i * m.row) * e;
        if (m.col == 1) memset(row, 0, (size_t)columns * e);
        for (int64_t j = 0; m.col != 1 && j < columns; j++)
            memset(row + (size_t)(j * m.col) * e, 0, e);
    }
}

/* The band: true up to its middle. Read with stride -1 along queries and 1 along keys it is the
 * diagonal of any block. */
static int64_t dync__att_band(const dync__att *a, char *band)
{
    int64_t half = a->qb + a->kb;
    for (int64_t i = 0; i < 2 * half; i++) band[i] = i <= half;
    return half;
}

/* What the pieces of block (i, j) see as their mask; NULL: nothing is hidden there. */
static char *dync__att_mask_at(const dync__att *a, int64_t unit, int64_t i, int64_t j,
                               int64_t columns, char *band_middle)
{
    if (a->causal) return j + columns - 1 > i ? band_middle + j - i : NULL;
    if (!a->mask) return NULL;
    return dync__att_at(a, a->mask, unit, i) +
           j * a->mask->lay.stride[a->n_batch + 1] * dync__dtype_info(a->mask->dtype)->bytes;
}

/* Bytes of a thread: scores (twice for backward), values, three numbers a query, band, widened
 * matrices. */
static int64_t dync__att_room(const dync__att *a, bool grad)
{
    int64_t n = a->qb * a->kb * (grad ? 2 : 1) + a->qb * a->V + 3 * (grad ? a->L : a->qb),
            wide = a->S * (a->E + a->V);
    if (a->dtype != a->type) n += grad ? 2 * wide + a->L * (2 * a->E + a->V) : wide + a->qb * a->E;
    return n * a->type_bytes + 2 * (a->qb + a->kb) + 64;
}

/* Queries [i, i + qb) of one unit against all keys they may see. memory: of dync__att_room, cut
 * into scores, values, maxima, sums, factors, the band, and matrices widened from f16 or bf16. */
static dync_status dync__att_forward_block(const dync__att *a, int64_t unit, int64_t i,
                                           char *memory)
{
    int64_t e = a->type_bytes, rows = DYNC__MIN(a->qb, a->L - i),
            end = a->causal ? DYNC__MIN(a->S, i + rows) : a->S;
    bool last = rows < a->qb;
    dync__att_matrix scores = {memory, a->kb, 1}, values = {memory + a->qb * a->kb * e, a->V, 1};
    char *most = values.at + a->qb * a->V * e, *sum = most + a->qb * e, *factor = sum + a->qb * e,
         *band = factor + a->qb * e;
    char *room = band + (2 * (a->qb + a->kb) + 63) / 64 * 64;
    band += dync__att_band(a, band);
    dync__att_matrix q = dync__att_rows(a, a->q, unit, i, rows, &room),
                     k = dync__att_rows(a, a->k, unit, 0, a->S, &room);
    dync__att_matrix v = dync__att_rows(a, a->v, unit, 0, a->S, &room);
    for (int64_t r = 0; r < rows; r++) {
        if (a->type == DYNC_F32)
            ((float *)(void *)most)[r] = -HUGE_VALF;
        else
            ((double *)(void *)most)[r] = -HUGE_VAL;
    }
    memset(sum, 0, (size_t)(rows * e));
    for (int64_t j = 0; j < end; j += a->kb) {
        int64_t columns = DYNC__MIN(a->kb, a->S - j);
        char *mask = dync__att_mask_at(a, unit, i, j, columns, band);
        dync__att_gemm(a, rows, columns, a->E, q, false, dync__att_moved(a, k, j), true, scores,
                       false);
        DYNC__TRY(dync__code_run(a->call->piece[dync__att_piece(a, rows, columns, mask != NULL)],
                                 (void *[]){scores.at, most, sum, factor, mask}, 0, 0));
        if (j > 0)
            DYNC__TRY(
                dync__code_run(a->call->piece[8 + last], (void *[]){values.at, factor}, 0, 0));
        dync__att_gemm(a, rows, a->V, columns, scores, false, dync__att_moved(a, v, j), false,
                       values, j > 0);
    }
    const dync__operand *out = a->call->operand + 3, *lse = a->call->operand + 4;
    return dync__code_run(a->call->piece[10 + last],
                          (void *[]){values.at, most, sum, dync__att_at(a, out, unit, i),
                                     dync__att_at(a, lse, unit, i)},
                          0, 0);
}

/* The gradients of one unit, into g[3] (of q, k, v). Weights are computed again from the logarithms
 * of the sums. Under a causal mask blocks of queries before block j's first key are left out; the
 * first block that adds to a gradient sets it. */
static dync_status dync__att_backward_blocks(const dync__att *a, int64_t unit, char *memory,
                                             char *room, const dync__att_matrix *g)
{
    int64_t e = a->type_bytes;
    const dync__operand *op = a->call->operand, *lse = op + 5;
    dync__att_matrix scores = {memory, a->kb, 1}, grads = {memory + a->qb * a->kb * e, a->kb, 1};
    char *product = grads.at + a->qb * a->kb * e, *band = product + a->L * e;
    band += dync__att_band(a, band);
    dync__att_matrix q = dync__att_rows(a, a->q, unit, 0, a->L, &room),
                     k = dync__att_rows(a, a->k, unit, 0, a->S, &room);
    dync__att_matrix v = dync__att_rows(a, a->v, unit, 0, a->S, &room),
                     gy = dync__att_rows(a, op, unit, 0, a->L, &room);
    DYNC__TRY(dync__code_run(
        a->call->piece[8],
        (void *[]){dync__att_at(a, op, unit, 0), dync__att_at(a, op + 4, unit, 0), product}, 0, 0));
    for (int64_t j = 0; j < a->S; j += a->kb) {
        int64_t columns = DYNC__MIN(a->kb, a->S - j), first = a->causal ? j / a->qb * a->qb : 0;
        dync__att_matrix kj = dync__att_moved(a, k, j), vj = dync__att_moved(a, v, j),
                         gk = dync__att_moved(a, g[1], j), gv = dync__att_moved(a, g[2], j);
        for (int64_t i = first; i < a->L; i += a->qb) {
            int64_t rows = DYNC__MIN(a->qb, a->L - i);
            dync__att_matrix qi = dync__att_moved(a, q, i), gi = dync__att_moved(a, gy, i);
            char *mask = dync__att_mask_at(a, unit, i, j, columns, band);
            dync__att_gemm(a, rows, columns, a->E, qi, false, kj, true, scores, false);
            dync__att_gemm(a, rows, columns, a->V, gi, false, vj, true, grads, false);
            DYNC__TRY(
                dync__code_run(a->call->piece[dync__att_piece(a, rows, columns, mask != NULL)],
                               (void *[]){scores.at, grads.at, dync__att_at(a, lse, unit, i),
                                          product + i * e, mask},
                               0, 0));
            dync__att_gemm(a, columns, a->V, rows, scores, true, gi, false, gv, i > first);
            dync__att_gemm(a, columns, a->E, rows, grads, true, qi, false, gk, i > first);
            dync__att_gemm(a, rows, a->E, columns, grads, false, kj, false,
                           dync__att_moved(a, g[0], i), j > 0);
        }
        if (first < a->L) continue; /* else keys that no query sees */
        dync__att_clear(a, gk, columns, a->E);
        dync__att_clear(a, gv, columns, a->V);
    }
    return DYNC_OK;
}

/* One unit; gradients in f16 or bf16 are summed in f32 in `memory` and rounded once, at the end. */
static dync_status dync__att_backward_unit(const dync__att *a, int64_t unit, char *memory)
{
    const dync__operand *out = a->call->operand + 6;
    int64_t rows[3] = {a->L, a->S, a->S}, width[3] = {a->E, a->E, a->V};
    char *room = memory +
                 ((a->qb * a->kb * 2 + a->L) * a->type_bytes + 2 * (a->qb + a->kb) + 63) / 64 * 64;
    bool widened = a->dtype != a->type;
    dync__att_matrix g[3];
    for (int i = 0; i < 3; i++) {
        g[i] = (dync__att_matrix){dync__att_at(a, &out[i], unit, 0), out[i].lay.stride[a->n_batch],
                                  out[i].lay.stride[a->n_batch + 1]};
        if (!widened) continue;
        g[i] = (dync__att_matrix){room, width[i], 1};
        room += rows[i] * width[i] * a->type_bytes;
    }
    DYNC__TRY(dync__att_backward_blocks(a, unit, memory, room, g));
    for (int i = 0; widened && i < 3; i++) {
        int64_t shape[2] = {rows[i], width[i]}, dense[2] = {width[i], 1};
        dync__copy_elements(2, shape, dync__att_at(a, &out[i], unit, 0), a->dtype,
                            &out[i].lay.stride[a->n_batch], g[i].at, a->type, dense);
    }
    return DYNC_OK;
}

/* A thread's share: blocks of queries forward, whole units backward, as a unit's blocks add to the
 * same gradients of k and v. */
static void dync__att_part(dync__att_job *job, bool grad, int part, int n_parts)
{
    const dync__att *a = job->a;
    int64_t n = a->units * (grad ? 1 : a->q_blocks);
    size_t bytes = (size_t)dync__att_room(a, grad);
    char *memory = dync__alloc_data(bytes);
    dync_status status = memory ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int64_t i = n * part / n_parts; status == DYNC_OK && i < n * (part + 1) / n_parts; i++)
        status = grad
                     ? dync__att_backward_unit(a, i, memory)
                     : dync__att_forward_block(a, i / a->q_blocks, i % a->q_blocks * a->qb, memory);
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&job->status, status);
    if (memory) dync__free_data(memory, bytes);
}
static void dync__att_forward_part(void *job, int part, int n_parts)
{
    dync__att_part(job, false, part, n_parts);
}
static void dync__att_backward_part(void *job, int part, int n_parts)
{
    dync__att_part(job, true, part, n_parts);
}

static dync_status dync__att_run(const dync__att *a, bool grad)
{
    dync__att_job job = {a, DYNC_OK};
    int64_t n = a->units * (grad ? 1 : a->q_blocks);
    int threads =
        (int)DYNC__MIN(n, dync__pool_worth((double)a->units * (double)a->L * (double)a->S *
                                           (double)(a->E + a->V) / DYNC__MACS_PER_NS));
    if (threads > 1)
        dync__pool_run(grad ? dync__att_backward_part : dync__att_forward_part, &job, threads);
    else
        dync__att_part(&job, grad, 0, 1);
    return job.status;
}

DYNC__FN dync_status dync__k_attention(const dync__kcall *c, void *const *data, void *scratch)
{
    dync__att a;
    (void)scratch;
    dync__att_open(&a, c, 0, data);
    return dync__att_run(&a, false);
}

DYNC__FN dync_status dync__k_attention_grad(const dync__kcall *c, void *const *data, void *scratch)
{
    dync__att a;
    (void)scratch;
    dync__att_open(&a, c, 1, data);
    return dync__att_run(&a, true);
}
