/* kernel/matmul.c: batched matrix products with broadcast batches and any strides. Before:
 * runtime/run.c; under it: matmul_scratch.c, gemm.c.
 *
 *   a [B.., M, K]  b [B.., K, N] c [B.., M, N]; addmm: bias [M, N] by strides is copied into c
 *                  first
 * f32 and f64 go to gemm where they lie. f16 and bf16 are converted into scratch some rows at a
 * time (a, b, c in f32) and rounded once; a few of them by a matrix of f16 or bf16 read it where it
 * lies; where the machine multiplies pairs of bf16 (fours of bytes) with sums in f32 (i32), they
 * only change places. i8 with sums in i32: bytes of a are moved up to u8, which the machine wants,
 * and 128 times b's sums along k are taken off again. Other integers, and these where there is no
 * machine code, are multiplied plainly and wrap. Many small products are shared among threads by
 * index. */
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"
#include "packed.h"
#include "matmul.h"
DYNC__BESIDE_JIT

/* ---- b packed once --------------------------------------------------------------------------- */

/* Packs b, with `sums` its offsets behind the panels. NULL: no memory, the error is set. */
DYNC__RARE static dync__packed *dync__mm_panels_new(const dync__mm *g,
                                                    const dync__packed_source *source)
{
    int64_t k = dync__mm_k(g), panels = dync__gemm_packed_bytes(g->type, g->n, k);
    size_t words = g->converted ? (size_t)(4 * k * g->n) : 0;
    dync__packed *p = dync__packed_new(source, (size_t)(panels + (g->sums ? 4 * (g->n + k) : 0)));
    char *room = p && words ? dync__alloc_data(words) : NULL;
    dync__gemm x = {.b = g->b, .b_row = g->b_row, .b_col = g->b_col};
    if (!p || (words && !room)) {
        dync__packed_put(p);
        return NULL;
    }
    if (words) dync__mm_b(g, room, g->b, &x);
    dync__gemm_pack_b(g->type, g->n, k, x.b, x.b_row, x.b_col, p->at);
    x.packed = p->at;
    if (g->sums) dync__mm_offset(g, &x, p->at + panels);
    if (room) dync__free_data(room, words);
    return p;
}

/* All that packing goes by, but b. */
DYNC__RARE static void dync__mm_panels_key(const dync__mm *g, dync__str *key)
{
    const int64_t word[] = {'m',      dync__target_level(),
                            g->type,  g->in_dtype,
                            g->dtype, g->converted,
                            g->sums,  g->n,
                            g->k,     g->b_row,
                            g->b_col};
    dync__str_addn(key, (const char *)word, sizeof word);
}

/* Those that another call keeps; where there are none and b is what it was in the run before, or in
 * those of other calls, for other sizes above all, made. Under the call's lock. */
DYNC__RARE static dync__packed *dync__mm_panels_find(const dync__mm *g,
                                                     const dync__packed_source *source, bool again)
{
    dync__str key = {0};
    dync__mm_panels_key(g, &key);
    dync__packed *p = key.failed ? NULL : dync__packed_find(source, &key);
    if (!p && !key.failed) again = dync__packed_again(source, &key) || again;
    if (!p && again && (p = dync__mm_panels_new(g, source))) dync__packed_keep(p, &key);
    if (key.failed || (again && !p)) dync_clear_error(); /* b is packed in every run */
    dync__str_free(&key);
    return p;
}

/* The panels of b with a use for the caller, or NULL. */
DYNC__RARE static dync__packed *dync__mm_panels_get(const dync__mm *g)
{
    const dync__kcall *c = g->call;
    const dync__tensor *t = dync__mm_input(c);
    dync__mm_state *state = c->state;
    if (!state || !state->keeps || !t ||
        (t->storage->flags & (DYNC__STORAGE_EXPOSED | DYNC__STORAGE_BORROWED)))
        return NULL;
    dync__packed_source now = {g->b, t->storage->id, 0, t->storage->version};
    dync__lock(&state->lock);
    dync__packed *p = state->kept && dync__packed_same(&state->kept->source, &now) ? state->kept
                                                                                   : NULL,
                 *old = NULL;
    bool again = !p && dync__packed_same(&state->seen, &now);
    if (p) {
        (void)DYNC__ATOMIC_INC(&p->users);
    } else if ((p = dync__mm_panels_find(g, &now, again))) {
        old = state->kept;
        state->kept = p;
    }
    state->seen = now;
    dync__unlock(&state->lock);
    dync__packed_forget(old);
    return p;
}

DYNC__RARE static void dync__mm_drop(void *state_)
{
    dync__mm_state *state = state_;
    if (!state) return;
    dync__packed_forget(state->kept);
    dync__gemm_fixed_free(state->fixed);
    dync__free(state, sizeof *state);
}

/* What follows, for rows from `first` on of all products; data: of the call, or NULL: not known
 * yet. */
static void dync__mm_follow(const dync__kcall *c, void *const *data, int64_t first,
                            dync__gemm_after *to)
{
    static const char some[1];
    const dync__kfollow *f = c->follow;
    int64_t bytes = dync__dtype_info(c->operand[c->n - 1].dtype)->bytes;
    for (int i = 0; f && i < 2; i++) to->flags[i] = f->flags[i];
    for (int i = 0; f && i < f->n; i++) {
        to->row[i] = f->row[i];
        to->same[i] = f->same[i];
        to->more[i] = data ? (const char *)data[c->n + f->buf[i]] +
                                 (f->offset[i] + first * f->row[i]) * bytes
                           : some;
    }
}

/* Product `index` in f32 or f64. Adds to g->told where the epilogue is done for all its rows; else
 * it is left to dync__mm_run. */
static void dync__mm_float(dync__mm *g, int64_t index, const char *a, const char *b, char *c)
{
    dync__mm_rows rows = {g, index * g->m};
    dync__gemm x = {.type = g->type,
                    .m = g->m,
                    .n = g->n,
                    .k = g->k,
                    .a = a,
                    .b = b,
                    .c = c,
                    .a_row = g->a_row,
                    .a_col = g->a_col,
                    .b_row = g->b_row,
                    .b_col = g->b_col,
                    .c_row = g->c_row,
                    .c_col = g->c_col,
                    .d = g->d,
                    .d_row = g->d_row,
                    .packed = g->packed,
                    .panels = g->panels};
    if (g->accumulate) x.d = c, x.d_row = g->c_row;
    if (g->call->epilogue) x.done = dync__mm_done, x.user = &rows;
    if (!DYNC__GEMM_BRIEF) dync__mm_follow(g->call, g->data, index * g->m, &x.after);
    const dync__mm_state *state = g->call->state;
    bool fixed = !DYNC__GEMM_BRIEF && state && state->fixed && !g->accumulate &&
                 dync__gemm_fixed_run(state->fixed, a, b, c, g->d, x.after.more, NULL);
    bool told = !DYNC__GEMM_BRIEF && !fixed && dync__gemm_run(&x);
    if (DYNC__GEMM_BRIEF) dync__gemm_brief_apart(&x, g->dtype, g->d_col), told = x.done != NULL;
    if (told || (fixed ? x.after.flags[0] != 0 : x.followed))
        (void)DYNC__ATOMIC_ADD(&g->told, 1);
    else if (g->call->epilogue && g->batches > 1) {
        dync__mm_done(&rows, 0, g->m);
        (void)DYNC__ATOMIC_ADD(&g->told, 1);
    }
}

/* Where the operands of product `index` are. */
static void dync__mm_at(const dync__mm *g, int64_t index, const char **a, const char **b, char **c)
{
    int64_t bytes = dync__dtype_info(g->in_dtype)->bytes,
            c_bytes = dync__dtype_info(g->dtype)->bytes;
    *a = g->a, *b = g->b, *c = g->c;
    for (int64_t d = g->n_batch - 1, i = index; d >= 0; d--) {
        int64_t at = i % g->shape[d];
        i /= g->shape[d];
        *a += at * g->a_step[d] * bytes;
        *b += at * g->b_step[d] * bytes;
        *c += at * g->c_step[d] * c_bytes;
    }
}

static void dync__mm_one(dync__mm *g, int64_t index)
{
    const char *a, *b;
    char *c;
    dync__mm_at(g, index, &a, &b, &c);
    if (!DYNC__GEMM_BRIEF && g->few)
        dync__mm_few(g, index, a, b, c);
    else if (!DYNC__GEMM_BRIEF && g->converted)
        dync__mm_converted(g, index, a, b, c);
    else if (g->type >= 0 || (DYNC__GEMM_BRIEF && !g->sums))
        dync__mm_float(g, index, a, b, c);
    else
        dync__mm_integers(g, a, b, c);
}

/* Small products [begin, end) as they were laid out beforehand, along the last dim of the batch by
 * one call. False: they were not, or an epilogue is to follow each. */
static bool dync__mm_small(dync__mm *g, int64_t begin, int64_t end)
{
    const dync__mm_state *state = g->call->state;
    int64_t bytes = dync__dtype_info(g->dtype)->bytes, last = g->n_batch - 1;
    dync__gemm_after after = {{0, 0}, {NULL, NULL}, {0, 0}, {false, false}};
    if (!state->fixed || last < 0 || g->accumulate || g->converted) return false;
    dync__mm_follow(g->call, g->data, 0, &after);
    if (g->call->epilogue && !after.flags[0]) return false;
    dync__gemm_many many = {
        .a = g->a_step[last] * bytes, .b = g->b_step[last] * bytes, .c = g->c_step[last] * bytes};
    for (int i = 0; i < DYNC__AFTER_MORE; i++) many.more[i] = g->m * after.row[i] * bytes;
    for (int64_t i = begin; i < end; i += many.n) {
        const char *a, *b, *more[DYNC__AFTER_MORE];
        char *c;
        many.n = DYNC__MIN(g->shape[last] - i % g->shape[last], end - i);
        dync__mm_at(g, i, &a, &b, &c);
        for (int j = 0; j < DYNC__AFTER_MORE; j++)
            more[j] = after.more[j] ? after.more[j] + i * many.more[j] : NULL;
        if (!dync__gemm_fixed_run(state->fixed, a, b, c, NULL, more, &many)) return false;
    }
    if (g->call->epilogue) (void)DYNC__ATOMIC_ADD(&g->told, (int32_t)(end - begin));
    return true;
}

DYNC__RARE static void dync__mm_part(void *user, int part, int n_parts)
{
    dync__mm *g = user;
    int64_t begin = g->batches * part / n_parts, end = g->batches * (part + 1) / n_parts;
    if (!DYNC__GEMM_BRIEF && g->call->state && dync__mm_small(g, begin, end)) return;
    for (int64_t i = begin; i < end; i++) dync__mm_one(g, i);
}

/* All products: shared among threads where there are enough of them, else gemm shares out the one
 * at hand. The epilogue runs over everything at the end unless every product has had it. */
static dync_status dync__mm_run(dync__mm *g)
{
    bool alone = g->call->scratch_bytes > 0; /* products share it */
    double ns = (double)g->batches * (double)g->m * (double)g->n * (double)g->k / DYNC__MACS_PER_NS;
    int threads = alone || g->batches < 4 ? 1 : dync__pool_worth(ns);
    dync__packed *panels = !DYNC__GEMM_BRIEF && g->call->state ? dync__mm_panels_get(g) : NULL;
    if (panels) g->packed = panels->at;
    g->panels = !DYNC__GEMM_BRIEF && dync__mm_keeps(g);
    if (threads > 1 && g->batches >= 2 * threads)
        dync__pool_run(dync__mm_part, g, dync__pool_pieces(threads, ns, g->batches));
    else
        dync__mm_part(g, 0, 1);
    dync__packed_put(panels);
    if (g->call->epilogue && g->told != g->batches)
        return dync__code_run(g->call->epilogue, g->data + g->call->n, 0, 0);
    return g->status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* d of addmm as gemm takes it. */
DYNC__RARE static bool dync__mm_dense_bias(const dync__kcall *c)
{
    const dync__operand *bias = &c->operand[2], *y = &c->operand[3];
    return (y->dtype == DYNC_F32 || y->dtype == DYNC_F64) &&
           (bias->lay.stride[1] == 1 || y->lay.shape[1] == 1);
}

/* What can be known before the runs: the tiles of a small product (`fixed`), or that b's panels are
 * worth keeping. Where neither helps, c->state stays NULL. */
DYNC__OFTEN static dync_status dync__mm_ready(dync__kcall *c, const dync__mm *g)
{
    static char some[1];
    bool with_bias = c->n == 4;
    dync__gemm x = {.type = g->type,
                    .m = g->m,
                    .n = g->n,
                    .k = g->k,
                    .a_row = g->a_row,
                    .a_col = g->a_col,
                    .b_row = g->b_row,
                    .b_col = g->b_col,
                    .c_row = g->c_row,
                    .c_col = g->c_col,
                    .d = with_bias ? some : NULL,
                    .d_row = with_bias ? c->operand[2].lay.stride[0] : 0};
    bool keeps = c->operand[1].input && g->c_col == 1 && g->n_batch == 0 && !g->few &&
                 g->n * g->k >= DYNC__MM_KEEP &&
                 (g->converted
                      ? g->n > 1
                      : dync__gemm_wants_packed(g->type, g->m, g->n, g->k, g->b_row, g->b_col));
    if (g->batches == 0) return DYNC_OK;
    dync__mm_follow(c, NULL, 0, &x.after);
    dync__gemm_fixed *fixed =
        keeps || g->converted || (with_bias && !dync__mm_dense_bias(c))
            ? NULL
            : dync__gemm_fix(&x, g->batches >= DYNC__GEMM_MANY &&
                                     g->m * g->n * g->k <= DYNC__GEMM_MANY_OF);
    if (!fixed && !keeps) return DYNC_OK;
    dync__mm_state *state = dync__calloc(sizeof *state);
    if (!state) {
        dync__gemm_fixed_free(fixed);
        return DYNC_ERR_MEMORY;
    }
    state->fixed = fixed;
    state->keeps = keeps;
    state->single = g->n_batch == 0;
    c->state = state;
    c->drop = dync__mm_drop;
    return DYNC_OK;
}

DYNC__OFTEN static dync_status dync__mm_check(dync__kcall *c)
{
    const dync__operand *a = &c->operand[0], *b = &c->operand[1], *y = &c->operand[c->n - 1];
    int rank = y->lay.ndim;
    DYNC__TRY(dync__kcall_expect(c, rank >= 2 && a->lay.ndim == rank && b->lay.ndim == rank,
                                 "matrices of one rank"));
    DYNC__TRY(dync__kcall_expect(
        c,
        a->dtype == b->dtype &&
            (a->dtype == y->dtype || (a->dtype == DYNC_I8 && y->dtype == DYNC_I32 && c->n == 3)) &&
            y->dtype != DYNC_BOOL,
        "operands of one dtype, or I8 with a result of I32"));
    for (int d = 0; d < rank - 2; d++)
        DYNC__TRY(
            dync__kcall_expect(c,
                               (a->lay.shape[d] == y->lay.shape[d] || a->lay.shape[d] == 1) &&
                                   (b->lay.shape[d] == y->lay.shape[d] || b->lay.shape[d] == 1),
                               "batches that broadcast"));
    const int64_t *as = &a->lay.shape[rank - 2], *bs = &b->lay.shape[rank - 2],
                  *ys = &y->lay.shape[rank - 2];
    DYNC__TRY(dync__kcall_expect(c, as[0] == ys[0] && bs[1] == ys[1] && as[1] == bs[0],
                                 "a [M, K], b [K, N], c [M, N]"));
    if (DYNC__GEMM_BRIEF) return DYNC_OK;
    static char nothing[1];
    void *const none[4] = {nothing, nothing, nothing, nothing};
    /* its sizes after merging; the data pointers do not count */
    dync__mm g;
    dync__mm_open(&g, c, none);
    if (g.type >= 0) DYNC__TRY(dync__mm_ready(c, &g));
    if (g.converted) c->scratch_bytes = dync__mm_scratch(&g);
    return DYNC_OK;
}

DYNC__OFTEN DYNC__FN dync_status dync__k_matmul_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 3, "3 operands"));
    return dync__mm_check(c);
}

DYNC__OFTEN DYNC__FN dync_status dync__k_addmm_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 4 && c->operand[3].lay.ndim == 2,
                                 "4 operands, the "
                                 "result a matrix"));
    const dync__operand *bias = &c->operand[2], *y = &c->operand[3];
    DYNC__TRY(dync__kcall_expect(c,
                                 bias->lay.ndim == 2 && bias->lay.shape[0] == y->lay.shape[0] &&
                                     bias->lay.shape[1] == y->lay.shape[1] &&
                                     bias->dtype == y->dtype,
                                 "a bias of the result's shape "
                                 "and dtype"));
    return dync__mm_check(c);
}

/* A small product as it was laid out beforehand. */
static bool dync__mm_fixed(const dync__kcall *c, void *const *data, dync_status *status)
{
    const dync__mm_state *state = c->state;
    const dync__operand *op = c->operand;
    int last = c->n - 1;
    dync__gemm_after after = {{0, 0}, {NULL, NULL}, {0, 0}, {false, false}};
    if (DYNC__GEMM_BRIEF || !state || !state->fixed || !state->single) return false;
    dync__mm_follow(c, data, 0, &after);
    if (!dync__gemm_fixed_run(
            state->fixed, dync__operand_at(&op[0], data[0]), dync__operand_at(&op[1], data[1]),
            dync__operand_at(&op[last], data[last]),
            last == 3 ? dync__operand_at(&op[2], data[2]) : NULL, after.more, NULL))
        return false;
    *status = c->epilogue && !c->follow ? dync__code_run(c->epilogue, data + c->n, 0, 0) : DYNC_OK;
    return true;
}

DYNC__FN dync_status dync__k_matmul(const dync__kcall *c, void *const *data, void *scratch)
{
    dync__mm g;
    dync_status status;
    if (dync__mm_fixed(c, data, &status)) return status;
    dync__mm_open(&g, c, data);
    g.scratch = scratch;
    return dync__mm_run(&g);
}

DYNC__FN dync_status dync__k_addmm(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *bias = &c->operand[2], *y = &c->operand[3];
    dync__mm g;
    dync_status status;
    if (dync__mm_fixed(c, data, &status)) return status;
    dync__mm_open(&g, c, data);
    g.scratch = scratch;
    if (DYNC__GEMM_BRIEF || dync__mm_dense_bias(c)) {
        g.d = dync__operand_at(bias, data[2]);
        g.d_row = bias->lay.stride[0];
        g.d_col = bias->lay.stride[1];
    } else {
        g.accumulate = true;
        dync__copy_elements(2, y->lay.shape, g.c, y->dtype, y->lay.stride,
                            dync__operand_at(bias, data[2]), bias->dtype, bias->lay.stride);
    }
    return dync__mm_run(&g);
}
