/* kernel/check_index.c: checks of what loops read by (indices, divisors), before they run. Before:
 * scatter.c. */
#include "../dync.in.h"
#include "../codegen/interp_tile.h"
#include "../codegen/target.h"
#include "operand.h"
DYNC__HOT

/* ---- what loops read by ---------------------------------------------------------------------- */

/* Loops hold their index inside the dim, so that no memory is read that is not the array's; that it
 * was outside is said here. */
DYNC__RARE DYNC__FN dync_status dync__k_check_index_prepare(dync__kcall *c)
{
    int64_t n = dync__operand_numel(&c->operand[0]);
    dync__piece p;
    if (n < DYNC__CHECK_INDEX_CODE) return dync__kcall_expect(c, c->n == 1, "an index");
    dync__interp_reduces();
    if (!dync__piece_begin(&p, "check_index", 1, 1, n)) return DYNC_ERR_MEMORY;
    int from = dync__piece_buf(&p, DYNC_I64, DYNC__BUF_IN),
        to = dync__piece_buf(&p, DYNC_I64, DYNC__BUF_OUT), at = dync__piece_load(&p, from, 0, 0, 1);
    int below =
        dync__lb_op(&p.b, DYNC__P_sub, dync__lb_i(&p.b, DYNC_I64, c->attr.index.size - 1), at, -1);
    /* the sign of either says it */
    int least = dync__lb_reduce(&p.b, DYNC__R_MIN, dync__lb_op(&p.b, DYNC__P_or_, at, below, -1));
    p.b.section = 2;
    dync__piece_store(&p, to, 0, 0, 0, least);
    return dync__piece_end(&p, &c->piece[0]);
}

/* Losses pick what a class has by an index; their users know it as a target. */
DYNC__RARE DYNC__FN dync_status dync__fail_index(const char *user_op, int64_t index, int64_t size)
{
    const char *op = dync__tls.op;
    static const char cross[] = "cross_entropy", nll[] = "nll_loss";
    bool target = user_op && (strncmp(user_op, cross, sizeof cross) == 0 ||
                              strncmp(user_op, nll, sizeof nll) == 0);
    dync_status status;
    if (user_op) dync__tls.op = user_op;
    if (target)
        status = dync__fail(
            DYNC_ERR_INDEX,
            "target %lld is out of bounds: expected a class from 0 to %lld, or -100 for a place "
            "that does not count",
            (long long)index, (long long)size - 1);
    else
        status = dync__fail(DYNC_ERR_INDEX,
                            "index %lld is out of bounds for dimension with size %lld",
                            (long long)index, (long long)size);
    dync__tls.op = op;
    return status;
}

static dync_status dync__check_index_failed(const dync__kcall *c, int64_t index)
{
    dync_loc at = dync__tls.at;
    if (c->at.file) dync__tls.at = c->at;
    dync_status status =
        dync__fail_index(c->user_op ? c->user_op : dync__tls.within, index, c->attr.index.size);
    dync__tls.at = at;
    return status;
}

DYNC__FN dync_status dync__k_check_index(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *op = &c->operand[0];
    int64_t n = dync__operand_numel(op), last = c->attr.index.size - 1, least = -1, i = 0;
    dync__dense index;
    (void)scratch;
    DYNC__TRY(dync__dense_in(op, data[0], DYNC_I64, &index));
    const int64_t *at = index.data;
    dync_status status =
        c->piece[0] ? dync__code_run(c->piece[0], (void *[]){index.data, &least}, 0, 0) : DYNC_OK;
    while (status == DYNC_OK && least < 0 && i < n && at[i] >= 0 && at[i] <= last) i++;
    if (status == DYNC_OK && least < 0 && i < n) status = dync__check_index_failed(c, at[i]);
    dync__dense_drop(&index);
    return status;
}

DYNC__FN dync_status dync__k_check_divisor_prepare(dync__kcall *c)
{
    return dync__kcall_expect(c, c->n == 1, "a divisor");
}

DYNC__FN dync_status dync__k_check_divisor(const dync__kcall *c, void *const *data, void *scratch)
{
    int64_t n = dync__operand_numel(&c->operand[0]), i = 0;
    dync__dense divisor;
    (void)scratch;
    DYNC__TRY(dync__dense_in(&c->operand[0], data[0], DYNC_I64, &divisor));
    while (i < n && ((const int64_t *)divisor.data)[i]) i++;
    dync__dense_drop(&divisor);
    return i == n ? DYNC_OK
                  : dync__fail_class(DYNC_ERR_VALUE, "ZeroDivisionError", "ZeroDivisionError");
}
