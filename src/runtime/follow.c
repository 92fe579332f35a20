/* runtime/follow.c: loops that follow a matrix product or a convolution as lists for its tiles
 * (codegen/after.h), so that they are done while the sums are in registers. Before: plan_ways.c has
 * found an epilogue that alone wants a product's result and writes it in the same place, or convs.c
 * loops behind a convolution; after: kernel/matmul.c hands the lists to gemm.c.
 *
 * Which: float operators of one dtype, element by element; behind a product few ones, over the
 * result and at most MORE operands of its rows, its columns or all of it. There the loops stay
 * beside the lists, for products that go without tiles, and for what is no such list (reductions
 * along rows, long functions). */
#include "../dync.in.h"
#include "plan.h"
#include "../codegen/gemm_code.h"
#include "../kernel/operand.h"
DYNC__COLD

enum { DYNC__FOLLOW_MOST = 8 /* operators: what is longer has its own loops */ };

/* An operand's elements over rows of n columns: its step from row to row, whether a row has but
 * one. */
static bool dync__follow_operand(const dync__kernel *k, const dync__access *a,
                                 const dync__access *whole, int64_t n, int64_t *row, bool *same)
{
    int64_t step = -1, along = -1;
    bool full = true;
    for (int d = 0; d < k->n_dims; d++)
        full = full && (k->extent[d] == 1 || dync__sz_eq(a->stride[d], whole->stride[d]));
    for (int d = 0; d < k->n_dims && !full; d++) {
        int64_t at = whole->stride[d], own = a->stride[d];
        if (k->extent[d] == 1) continue;
        if (dync__sz_lt(at, n)) { /* a loop over columns */
            bool moves = !dync__sz_eq(own, 0);
            if (dync__sz_lt(n, dync__sz_mul(at, k->extent[d])) || (moves && !dync__sz_eq(own, at)))
                return false;
            if (along >= 0 && along != moves) return false;
            along = moves;
            continue;
        }
        int64_t by = dync__sz_div(at, n);
        if (dync__sz_lt(own, 0) || !dync__sz_eq(dync__sz_mod(at, n), 0) ||
            !dync__sz_eq(dync__sz_mod(own, by), 0))
            return false;
        own = dync__sz_div(own, by);
        if (step >= 0 && !dync__sz_eq(step, own)) return false;
        step = own;
    }
    *row = full ? n : step < 0 ? 0 : step;
    *same = !full && along == 0;
    return true;
}

static bool dync__follow_takes(const dync__inst *in, int dtype)
{
    static const uint8_t prims[] = {
        DYNC__P_add,  DYNC__P_sub,  DYNC__P_mul,   DYNC__P_div,   DYNC__P_fma,   DYNC__P_neg,
        DYNC__P_abs,  DYNC__P_sqrt, DYNC__P_floor, DYNC__P_ceil,  DYNC__P_trunc, DYNC__P_rint,
        DYNC__P_min,  DYNC__P_max,  DYNC__P_lt,    DYNC__P_le,    DYNC__P_eq,    DYNC__P_ne,
        DYNC__P_not_, DYNC__P_and_, DYNC__P_or_,   DYNC__P_select};
    bool takes = false;
    for (int i = 0; i < DYNC__COUNT_OF(prims); i++) takes = takes || in->prim == prims[i];
    return takes && (in->type == dtype || in->type == DYNC_BOOL);
}

DYNC__FN bool dync__follow_build(dync__after *list, const dync__kernel *k, int n, int most,
                                 dync__follow_load_fn load, void *user, const dync__inst **store)
{
    int8_t number[2 * DYNC__AFTER_OPS], sum = (int8_t)(list->n - 1);
    int dtype = list->op[0].type, operators = 0;
    *store = NULL;
    if (n <= 0 || n > DYNC__COUNT_OF(number)) return false;
    for (int i = 0; i < n; i++) {
        const dync__inst *in = &k->inst.at[i];
        dync__after_op op = {.prim = in->prim, .type = in->type, .arg = {-1, -1, -1}};
        bool same = false, is_load = in->prim == DYNC__P_load;
        int source = is_load ? load(user, in, &same) : 0;
        number[i] = sum;
        if (source == DYNC__FOLLOW_SUM) continue;
        if (in->prim == DYNC__P_store) {
            if (i != n - 1) return false;
            *store = in;
            number[i] = number[in->arg[0]];
            break;
        }
        if (source < 0 || list->n == DYNC__AFTER_OPS) return false;
        bool plain = is_load || in->prim == DYNC__P_const_;
        if (plain ? in->type != dtype : !dync__follow_takes(in, dtype) || ++operators > most)
            return false;
        if (dync__inst_is_sized(in)) return false;
        if (in->prim == DYNC__P_const_) op.imm.f = in->imm.f;
        op.source = (int8_t)source;
        op.same = same;
        for (int e = 0; e < dync__prim_info(in->prim)->n_args; e++) op.arg[e] = number[in->arg[e]];
        number[i] = (int8_t)list->n;
        list->op[list->n++] = op;
    }
    /* what stands in the place of the sum is a number of its type, no truth */
    return operators > 0 && number[n - 1] == list->n - 1 && list->op[list->n - 1].type == dtype;
}

/* ---- products -------------------------------------------------------------------------------- */

/* An epilogue on its way to be kfollow. */
typedef struct dync__follow {
    const dync__kernel *k;
    const dync__operand *c; /* the product's result */
    int from;               /* its buffer */
    const dync__access *whole;
    dync__kfollow f;
} dync__follow;

static int dync__follow_load(void *user, const dync__inst *in, bool *same)
{
    dync__follow *w = user;
    dync__kfollow *f = &w->f;
    const dync__access *a = &w->k->access.at[in->access];
    const dync__buf *buf = &w->k->buf.at[in->buf];
    int64_t row;
    if (in->buf == w->from) return DYNC__FOLLOW_SUM;
    if (buf->dtype != w->c->dtype || buf->mode != DYNC__BUF_IN ||
        !dync__follow_operand(w->k, a, w->whole, w->c->lay.shape[w->c->lay.ndim - 1], &row, same))
        return -1;
    for (int i = 0; i < f->n; i++)
        if (f->buf[i] == in->buf && f->same[i] == *same && dync__sz_eq(f->offset[i], a->offset) &&
            dync__sz_eq(f->row[i], row))
            return 1 + i;
    if (f->n == DYNC__AFTER_MORE) return -1;
    f->buf[f->n] = in->buf;
    f->offset[f->n] = a->offset;
    f->row[f->n] = row;
    f->same[f->n] = *same;
    return ++f->n;
}

DYNC__FN const dync__kfollow *dync__follow_of(const dync__pb *pb, const dync__kcall *call,
                                              const dync__kernel *k)
{
    dync__follow w = {.k = k, .c = &call->operand[call->n - 1], .from = -1};
    uint8_t dtype = w.c->dtype;
    bool product = dync__kcall_is(call, DYNC__K_matmul) || dync__kcall_is(call, DYNC__K_addmm);
    if (!product || (dtype != DYNC_F32 && dtype != DYNC_F64)) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim != DYNC__P_load || k->buf.at[in->buf].id != w.c->slot) continue;
        w.from = in->buf;
        w.whole = &k->access.at[in->access];
    }
    for (int adds = 0; adds < 2; adds++) { /* operand 0 is added to the sum first */
        dync__after list = {.n = adds ? 3 : 1, .n_sources = 1 + DYNC__AFTER_MORE};
        const dync__inst *store;
        list.op[0] = (dync__after_op){.prim = DYNC__P_load, .type = dtype, .arg = {-1, -1, -1}};
        if (adds) list.op[1] = list.op[0];
        if (adds)
            list.op[2] = (dync__after_op){.prim = DYNC__P_add, .type = dtype, .arg = {0, 1, -1}};
        if (!dync__follow_build(&list, k, k->inst.n, DYNC__FOLLOW_MOST, dync__follow_load, &w,
                                &store) ||
            !store)
            return NULL;
        w.f.flags[adds] = dync__gt_after(dtype == DYNC_F64 ? DYNC__GT_F64 : DYNC__GT_F32, &list);
        if (!w.f.flags[adds]) {
            if (dync__gt_can(DYNC__GT_F32)) /* else there are no tiles */
                dync__log(
                    DYNC__LOG_code,
                    "%s after %s stays rows: tiles leave no registers for it, or lists are full",
                    k->name ? k->name : "a loop", call->row->name);
            return NULL;
        }
    }
    const dync__kfollow *f = dync__arena_copy(pb->arena, &w.f, sizeof w.f);
    if (!f) dync_clear_error(); /* nothing is lost but speed */
    return f;
}
