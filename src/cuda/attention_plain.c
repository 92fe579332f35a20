/* cuda/attention_plain.c: attention and its gradients as loop kernels, scores in memory: heads
 * wider than 256, F64, and the form that the others are tested against. After loops.c, before
 * attention.c. The same numbers as kernel/attention.c: a query that sees nothing gives zeros. */
#include "../dync.in.h"
#include "attention.h"
DYNC__COLD

/* An operand and the buffer that it is in. */
typedef struct dync__fap_array {
    dync__operand o;
    int buf;
} dync__fap_array;
typedef struct dync__fap {
    dync__cuda_code *code;
    const dync__kcall *call;
    int n_batch, type;
    const dync__operand *q;
    dync__kernel *k;
    dync__lb b;
} dync__fap;

/* Loops: the batch, then two over the result and, where n is 3, one that is added up over. */
static bool dync__fap_begin(dync__fap *x, const char *name, int n_outer, int n, int64_t e0,
                            int64_t e1, int64_t e2)
{
    int64_t extent[DYNC__LOOP_MAX_DIMS], mine[3] = {e0, e1, e2};
    memcpy(extent, x->q->lay.shape, sizeof(int64_t) * (size_t)x->n_batch);
    memcpy(extent + x->n_batch, mine, sizeof mine);
    x->k = dync__kernel_new(&x->code->arena, name, x->n_batch + n_outer, x->n_batch + n, extent);
    x->b = (dync__lb){.k = x->k, .section = 1, .origin = "attention"};
    return x->k != NULL;
}

/* A matrix of the batch along two of the loops, or, loop1 -1, a column. */
static int dync__fap_access(dync__fap *x, const dync__operand *o, int loop0, int loop1)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    memcpy(stride, o->lay.stride, sizeof(int64_t) * (size_t)x->n_batch);
    stride[x->n_batch + loop0] = o->lay.stride[x->n_batch];
    if (loop1 >= 0) stride[x->n_batch + loop1] = o->lay.stride[x->n_batch + 1];
    return dync__kernel_access(x->k, o->lay.offset, stride);
}
static int dync__fap_load(dync__fap *x, const dync__fap_array *a, int loop0, int loop1)
{
    int v = dync__lb_load(&x->b, dync__kernel_buf(x->k, a->buf, a->o.dtype, DYNC__BUF_IN, -1, NULL),
                          dync__fap_access(x, &a->o, loop0, loop1));
    return a->o.dtype == DYNC_BOOL ? v : dync__lb_cast(&x->b, v, x->type);
}
static void dync__fap_store(dync__fap *x, const dync__fap_array *a, int loop0, int loop1, int value)
{
    value = dync__lb_cast(&x->b, value, dync__dtype_info(a->o.dtype)->compute);
    dync__lb_store(&x->b, dync__kernel_buf(x->k, a->buf, a->o.dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__fap_access(x, &a->o, loop0, loop1), value);
}
static int dync__fap_op(dync__fap *x, int prim, int a, int b)
{
    return dync__lb_op(&x->b, prim, a, b, -1);
}

/* 0 where x is -inf */
static int dync__fap_finite(dync__fap *x, int v)
{
    int none = dync__fap_op(x, DYNC__P_eq, v, dync__lb_f(&x->b, x->type, -HUGE_VAL));
    return dync__lb_op(&x->b, DYNC__P_select, none, dync__lb_f(&x->b, x->type, 0), v);
}

static dync__fap_array dync__fap_operand(const dync__fap *x, int i)
{
    return (dync__fap_array){x->call->operand[i], i};
}
static bool dync__fap_temp(dync__fap *x, dync__fap_array *a, int n, int64_t e0, int64_t e1)
{
    int64_t shape[DYNC_MAX_DIMS], mine[2] = {e0, e1}, count = 1;
    memcpy(shape, x->q->lay.shape, sizeof(int64_t) * (size_t)x->n_batch);
    memcpy(shape + x->n_batch, mine, sizeof(int64_t) * (size_t)n);
    for (int d = 0; d < x->n_batch + n; d++) count *= shape[d];
    a->o.dtype = (uint8_t)x->type;
    a->buf = dync__cuda_add_temp(x->code, count * dync__dtype_info(x->type)->bytes);
    return a->buf >= 0 && dync__layout_contiguous(&a->o.lay, x->n_batch + n, shape) == DYNC_OK;
}

/* The score of loops 0 and 1, behind a sum over loop 2; to be used in section 2. */
static int dync__fap_score(dync__fap *x, const dync__fap_array *q, const dync__fap_array *k)
{
    const dync__kcall *call = x->call;
    const dync__attr_attention *a = &call->attr.attention;
    int s = dync__lb_reduce(
        &x->b, DYNC__R_SUM,
        dync__fap_op(x, DYNC__P_mul, dync__fap_load(x, q, 0, 2), dync__fap_load(x, k, 1, 2)));
    x->b.section = 2;
    s = dync__fap_op(x, DYNC__P_mul, s, dync__lb_f(&x->b, x->type, a->scale));
    int hidden = dync__lb_f(&x->b, x->type, -HUGE_VAL);
    if (a->mask >= 0) {
        dync__fap_array m = dync__fap_operand(x, a->mask);
        int seen = dync__fap_load(x, &m, 0, 1);
        s = m.o.dtype == DYNC_BOOL ? dync__lb_op(&x->b, DYNC__P_select, seen, s, hidden)
                                   : dync__fap_op(x, DYNC__P_add, s, seen);
    }
    if (!a->causal) return s;
    int64_t ahead[DYNC__LOOP_MAX_DIMS] = {0};
    ahead[x->n_batch] = 1;
    ahead[x->n_batch + 1] = -1;
    int seen = dync__fap_op(x, DYNC__P_le, dync__lb_i(&x->b, DYNC_I64, 0),
                            dync__lb_index(&x->b, dync__kernel_access(x->k, 0, ahead)));
    return dync__lb_op(&x->b, DYNC__P_select, seen, s, hidden);
}

/* out[loop 0, loop 1] = sum over loop 2 of a b, each along two of the loops; scaled by the
 * attention's scale where asked for. */
static bool dync__fap_product(dync__fap *x, const char *name, const dync__fap_array *out,
                              int64_t inner, const dync__fap_array *a, int a0, int a1,
                              const dync__fap_array *b, int b0, int b1)
{
    if (!dync__fap_begin(x, name, 2, 3, out->o.lay.shape[x->n_batch],
                         out->o.lay.shape[x->n_batch + 1], inner))
        return false;
    int sum = dync__lb_reduce(
        &x->b, DYNC__R_SUM,
        dync__fap_op(x, DYNC__P_mul, dync__fap_load(x, a, a0, a1), dync__fap_load(x, b, b0, b1)));
    x->b.section = 2;
    dync__fap_store(x, out, 0, 1, sum);
    return dync__cuda_add_loop(x->code, x->k);
}

static void dync__fap_open(dync__fap *x, dync__cuda_code *code, const dync__kcall *call, int first)
{
    memset(x, 0, sizeof *x);
    x->code = code;
    x->call = call;
    x->q = &call->operand[first];
    x->n_batch = x->q->lay.ndim - 2;
    x->type = dync__dtype_info(x->q->dtype)->compute;
}

DYNC__FN dync_status dync__fa_plain(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fap x;
    dync__fap_open(&x, code, call, 0);
    dync__fap_array q = dync__fap_operand(&x, 0), k = dync__fap_operand(&x, 1),
                    v = dync__fap_operand(&x, 2), y = dync__fap_operand(&x, 3),
                    log = dync__fap_operand(&x, 4), s;
    int64_t L = q.o.lay.shape[x.n_batch], E = q.o.lay.shape[x.n_batch + 1],
            S = v.o.lay.shape[x.n_batch];
    if (!dync__fap_temp(&x, &s, 2, L, S) || !dync__fap_begin(&x, "attention_scores", 2, 3, L, S, E))
        return DYNC_ERR_MEMORY;
    dync__fap_store(&x, &s, 0, 1, dync__fap_score(&x, &q, &k));
    if (!dync__cuda_add_loop(code, x.k) || !dync__fap_begin(&x, "attention_softmax", 1, 2, L, S, 1))
        return DYNC_ERR_MEMORY;
    int score = dync__fap_load(&x, &s, 0, 1), top = dync__lb_reduce(&x.b, DYNC__R_MAX, score);
    x.b.section = 2;
    int from = dync__fap_finite(&x, top);
    x.b.section = 3;
    int e = dync__vm_exp(&x.b, dync__fap_op(&x, DYNC__P_sub, score, from)),
        sum = dync__lb_reduce(&x.b, DYNC__R_SUM, e);
    x.b.section = 4;
    int zero = dync__lb_f(&x.b, x.type, 0),
        over = dync__fap_op(&x, DYNC__P_div, dync__lb_f(&x.b, x.type, 1), sum);
    over = dync__lb_op(&x.b, DYNC__P_select, dync__fap_op(&x, DYNC__P_eq, sum, zero), zero, over);
    dync__fap_store(&x, &log, 0, -1, dync__fap_op(&x, DYNC__P_add, top, dync__vm_log(&x.b, sum)));
    x.b.section = 5;
    dync__fap_array w = s;
    if (!dync__fap_temp(&x, &w, 2, L, S)) return DYNC_ERR_MEMORY;
    dync__fap_store(&x, &w, 0, 1, dync__fap_op(&x, DYNC__P_mul, e, over));
    if (!dync__cuda_add_loop(code, x.k)) return DYNC_ERR_MEMORY;
    return dync__fap_product(&x, "attention_values", &y, S, &w, 0, 2, &v, 2, 1) ? DYNC_OK
                                                                                : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__fa_plain_grad(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fap x;
    double scale = call->attr.attention.scale;
    dync__fap_open(&x, code, call, 1);
    dync__fap_array a[9], w, d, dot; /* gy, q, k, v, y, log, gq, gk, gv */
    for (int i = 0; i < 9; i++) a[i] = dync__fap_operand(&x, i);
    int64_t L = a[1].o.lay.shape[x.n_batch], E = a[1].o.lay.shape[x.n_batch + 1],
            S = a[3].o.lay.shape[x.n_batch], V = a[3].o.lay.shape[x.n_batch + 1];
    if (!dync__fap_temp(&x, &w, 2, L, S) || !dync__fap_temp(&x, &d, 2, L, S) ||
        !dync__fap_temp(&x, &dot, 1, L, 0))
        return DYNC_ERR_MEMORY;
    if (!dync__fap_begin(&x, "attention_weights", 2, 3, L, S, E)) return DYNC_ERR_MEMORY;
    int score = dync__fap_score(&x, &a[1], &a[2]),
        log = dync__fap_finite(&x, dync__fap_load(&x, &a[5], 0, -1));
    dync__fap_store(&x, &w, 0, 1, dync__vm_exp(&x.b, dync__fap_op(&x, DYNC__P_sub, score, log)));
    if (!dync__cuda_add_loop(code, x.k) || !dync__fap_begin(&x, "attention_dot", 1, 2, L, V, 1))
        return DYNC_ERR_MEMORY;
    int sum = dync__lb_reduce(&x.b, DYNC__R_SUM,
                              dync__fap_op(&x, DYNC__P_mul, dync__fap_load(&x, &a[0], 0, 1),
                                           dync__fap_load(&x, &a[4], 0, 1)));
    x.b.section = 2;
    dync__fap_store(&x, &dot, 0, -1, sum);
    if (!dync__cuda_add_loop(code, x.k) ||
        !dync__fap_begin(&x, "attention_score_grad", 2, 3, L, S, V))
        return DYNC_ERR_MEMORY;
    sum = dync__lb_reduce(&x.b, DYNC__R_SUM,
                          dync__fap_op(&x, DYNC__P_mul, dync__fap_load(&x, &a[0], 0, 2),
                                       dync__fap_load(&x, &a[3], 1, 2)));
    x.b.section = 2;
    int g = dync__fap_op(&x, DYNC__P_sub, sum, dync__fap_load(&x, &dot, 0, -1));
    int weight = dync__fap_op(&x, DYNC__P_mul, dync__fap_load(&x, &w, 0, 1),
                              dync__lb_f(&x.b, x.type, scale));
    dync__fap_store(&x, &d, 0, 1, dync__fap_op(&x, DYNC__P_mul, weight, g));
    bool ok = dync__cuda_add_loop(code, x.k) &&
              dync__fap_product(&x, "attention_gq", &a[6], S, &d, 0, 2, &a[2], 2, 1) &&
              dync__fap_product(&x, "attention_gk", &a[7], L, &d, 2, 0, &a[1], 2, 1) &&
              dync__fap_product(&x, "attention_gv", &a[8], L, &w, 2, 0, &a[0], 2, 1);
    return ok ? DYNC_OK : DYNC_ERR_MEMORY;
}
