/* kernel/attention_run.c: attention by blocks of queries and keys, forward and backward, shared
 * among threads. Before: attention.c. */
#include "../dync.in.h"
#include "operand.h"
#include "attention.h"
DYNC__COLD

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
    double ns = (double)a->units * (double)a->L * (double)a->S * (double)(a->E + a->V) /
                DYNC__MACS_PER_NS;
    int threads = (int)DYNC__MIN(n, dync__pool_worth(ns));
    if (threads > 1)
        dync__pool_run(grad ? dync__att_backward_part : dync__att_forward_part, &job,
                       dync__pool_pieces(threads, ns, n));
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
