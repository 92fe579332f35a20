/* runtime/follow.c: the epilogue of a matrix product as lists for its tiles (codegen/after.h), so
 * that what follows is done while the sums are in registers. Before: plan.c has found an epilogue
 * that alone wants the product's result and writes it in the same place; after: kernel/matmul.c
 * hands the lists to gemm.c.
 *
 * Which: few float operators of one dtype, element by element, over the result and at most MORE
 * operands of its rows, its columns or all of it. The loops stay beside the lists, for products
 * that go without tiles, and for what is no such list (reductions along rows, long functions). */
#include "../dync.in.h"
#include "plan.h"
#include "../codegen/gemm_code.h"
#include "../kernel/operand.h"

enum { DYNC__FOLLOW_MOST = 8 /* operators: what is longer has its own loops */ };

/* An operand's elements over rows of n columns: its step from row to row, whether a row has but
 * one. */
static bool dync__follow_operand(const dync__kernel *k, const dync__access *a,
                                 const dync__access *whole, int64_t n, int64_t *row, bool *same)
{
    int64_t step = -1, along = -1;
    bool full = true;
    for (int d = 0; d < k->n_dims; d++)
        full = full && (k->extent[d] == 1 || a->stride[d] == whole->stride[d]);
    for (int d = 0; d < k->n_dims && !full; d++) {
        int64_t at = whole->stride[d], own = a->stride[d];
        if (k->extent[d] == 1) continue;
        if (at < n) { /* a loop over columns */
            if (at * k->extent[d] > n || (own != at && own != 0)) return false;
            if (along >= 0 && along != (own != 0)) return false;
            along = own != 0;
            continue;
        }
        if (at % n || own % (at / n) || own < 0) return false;
        if (step >= 0 && step != own / (at / n)) return false;
        step = own / (at / n);
    }
    *row = full ? n : DYNC__MAX(step, 0);
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

/* Kernel k from its access to the result on: an operand of f, which has it already perhaps. -1:
 * no. */
static int dync__follow_source(const dync__kernel *k, const dync__inst *in, const dync__operand *c,
                               const dync__access *whole, dync__kfollow *f)
{
    const dync__access *a = &k->access.at[in->access];
    const dync__buf *buf = &k->buf.at[in->buf];
    int64_t row;
    bool same;
    if (buf->dtype != c->dtype || buf->mode != DYNC__BUF_IN ||
        !dync__follow_operand(k, a, whole, c->lay.shape[c->lay.ndim - 1], &row, &same))
        return -1;
    for (int i = 0; i < f->n; i++)
        if (f->buf[i] == in->buf && f->offset[i] == a->offset && f->row[i] == row &&
            f->same[i] == same)
            return i;
    if (f->n == DYNC__AFTER_MORE) return -1;
    f->buf[f->n] = in->buf;
    f->offset[f->n] = a->offset;
    f->row[f->n] = row;
    f->same[f->n] = same;
    return f->n++;
}

/* The list of k over the result in buffer `from`; adds: operand 0 is added to the sum first. */
static bool dync__follow_list(const dync__kernel *k, int from, const dync__operand *c, bool adds,
                              dync__kfollow *f, dync__after *list)
{
    dync__after_op load = {.prim = DYNC__P_load, .type = c->dtype, .arg = {-1, -1, -1}};
    const dync__access *whole = NULL;
    int8_t number[DYNC__AFTER_OPS + 4];
    int operators = 0;
    memset(list, 0, sizeof *list);
    list->n_sources = 1 + DYNC__AFTER_MORE;
    list->op[list->n++] = load;
    if (adds) {
        list->op[list->n++] = load;
        list->op[list->n++] =
            (dync__after_op){.prim = DYNC__P_add, .type = c->dtype, .arg = {0, 1, -1}};
    }
    int8_t sum = (int8_t)(list->n - 1);
    if (k->inst.n > DYNC__COUNT_OF(number)) return false;
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].buf == from) whole = &k->access.at[k->inst.at[i].access];
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        dync__after_op op = {.prim = in->prim, .type = in->type, .arg = {-1, -1, -1}};
        number[i] = sum;
        if (in->prim == DYNC__P_load && in->buf == from) continue;
        if (in->prim == DYNC__P_store)
            return i == k->inst.n - 1 && number[in->arg[0]] == list->n - 1 && operators > 0;
        if (list->n == DYNC__AFTER_OPS) return false;
        if (in->prim == DYNC__P_load) {
            int source = in->type == c->dtype ? dync__follow_source(k, in, c, whole, f) : -1;
            if (source < 0) return false;
            op.source = (int8_t)(1 + source);
            op.same = f->same[source];
        } else if (in->prim == DYNC__P_const_ && in->type == c->dtype) {
            op.imm.f = in->imm.f;
        } else if (!dync__follow_takes(in, c->dtype) || ++operators > DYNC__FOLLOW_MOST) {
            return false;
        }
        for (int e = 0; e < dync__prim_info(in->prim)->n_args; e++) op.arg[e] = number[in->arg[e]];
        number[i] = (int8_t)list->n;
        list->op[list->n++] = op;
    }
    return false;
}

DYNC__FN const dync__kfollow *dync__follow_of(const dync__pb *pb, const dync__kcall *call,
                                              const dync__kernel *k)
{
    const dync__operand *c = &call->operand[call->n - 1];
    int type = c->dtype == DYNC_F64 ? DYNC__GT_F64 : DYNC__GT_F32, from = -1;
    bool product = call->row->run == dync__k_matmul || call->row->run == dync__k_addmm;
    dync__kfollow f = {.n = 0};
    dync__after list;
    if (!product || (c->dtype != DYNC_F32 && c->dtype != DYNC_F64)) return NULL;
    for (int i = 0; i < k->buf.n; i++)
        if (k->buf.at[i].id == c->slot) from = i;
    for (int adds = 0; adds < 2; adds++) {
        if (!dync__follow_list(k, from, c, adds, &f, &list)) return NULL;
        f.flags[adds] = dync__gt_after(type, &list);
        if (!f.flags[adds]) return NULL;
    }
    return dync__arena_copy(pb->arena, &f, sizeof f);
}
