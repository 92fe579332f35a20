/* codegen/csrc_rescale.c: rescale (op/expr.c) found again among the primitives that it is lowered
 * to, for files in C: of a 64-bit shift by a number that is not known, a chip of 32 bits makes
 * dozens of instructions, of the function that stands for it (program/csource_functions.c) a
 * multiply, an addition and a shift. A primitive of its own would be one more for every target, of
 * which the others gain nothing. Before csrc_value.c. */
#include "../dync.in.h"
#include "codegen.h"
#include "csrc.h"
DYNC__COLD

/* Value i, if it is this primitive in I64; else NULL. */
static const dync__inst *dync__rescale_part(const dync__csrc *c, int i, int prim)
{
    const dync__inst *in = i >= 0 ? dync__csrc_inst(c, i) : NULL;
    return in && in->prim == prim && in->type == DYNC_I64 ? in : NULL;
}

static bool dync__rescale_is_one(const dync__csrc *c, int i)
{
    const dync__inst *in = dync__rescale_part(c, i, DYNC__P_const_);
    return in && in->imm.i == 1;
}

/* The I32 value that value i is in 64 bits; -1: it is none. */
static int dync__rescale_wide(const dync__csrc *c, int i)
{
    const dync__inst *in = dync__rescale_part(c, i, DYNC__P_cast);
    return in && dync__csrc_inst(c, in->arg[0])->type == DYNC_I32 ? in->arg[0] : -1;
}

/* Is value i 1 << (shift - 1)? */
static bool dync__rescale_half(const dync__csrc *c, int i, int shift)
{
    const dync__inst *half = dync__rescale_part(c, i, DYNC__P_shl),
                     *less = half ? dync__rescale_part(c, half->arg[1], DYNC__P_sub) : NULL;
    return less && dync__rescale_is_one(c, half->arg[0]) && less->arg[0] == shift &&
           dync__rescale_is_one(c, less->arg[1]);
}

DYNC__FN bool dync__csrc_rescales(const dync__csrc *c, int i, int *arg)
{
    const dync__inst *in = dync__csrc_inst(c, i);
    if (!c->room || in->prim != DYNC__P_cast || in->type != DYNC_I32) return false;
    const dync__inst *down = dync__rescale_part(c, in->arg[0], DYNC__P_shr),
                     *sum = down ? dync__rescale_part(c, down->arg[0], DYNC__P_add) : NULL;
    for (int k = 0; sum && k < 2; k++) {
        const dync__inst *product = dync__rescale_part(c, sum->arg[k], DYNC__P_mul);
        if (!product || !dync__rescale_half(c, sum->arg[!k], down->arg[1])) continue;
        arg[0] = dync__rescale_wide(c, product->arg[0]);
        arg[1] = dync__rescale_wide(c, product->arg[1]);
        arg[2] = dync__rescale_wide(c, down->arg[1]);
        return arg[0] >= 0 && arg[1] >= 0 && arg[2] >= 0;
    }
    return false;
}

/* Is value i a whole number that stands in the text? */
static bool dync__rescale_known(const dync__csrc *c, int i, int64_t *value)
{
    const dync__inst *in = dync__csrc_inst(c, i);
    const void *known = in->prim == DYNC__P_load ? dync__csrc_known(c, in->buf) : NULL;
    if (known) *value = dync__load_i64(known, c->k->buf.at[in->buf].dtype);
    if (in->prim == DYNC__P_const_) *value = in->imm.i;
    return known || (in->prim == DYNC__P_const_ && !dync__is_token(in->imm.i));
}

/* By 1 / 2^shift, as many are, 32 bits are enough: ((x >> (shift - 1)) + 1) >> 1. */
DYNC__FN void dync__csrc_rescale(dync__csrc *c, const int *arg, int section)
{
    int64_t m, shift;
    bool plain = dync__rescale_known(c, arg[1], &m) && m == 1 &&
                 dync__rescale_known(c, arg[2], &shift) && shift > 0 && shift < 32;
    dync__str_add(c->out, plain ? "((" : "#_rescale(");
    dync__csrc_use(c, arg[0], section);
    if (plain) {
        dync__str_addf(c->out, " >> %d) + 1) >> 1", (int)shift - 1);
        return;
    }
    for (int i = 1; i < 3; i++) {
        dync__str_add(c->out, ", ");
        dync__csrc_use(c, arg[i], section);
    }
    dync__str_addc(c->out, ')');
}
