/* cuda/ptx_reduce.c: reductions in PTX: lanes of a thread, threads of a warp by shuffles, warps
 * through shared memory, blocks through scratch memory. Before ptx.c.
 *
 * Order: lane l of every iteration adds up in accumulator l; accumulators, then threads (butterfly:
 * all get the result) are joined pairwise. It depends on the shape alone. argmax and argmin carry
 * the position; of equal values the earlier wins, NaN wins over all. */
#include "../dync.in.h"
#include "ptx.h"
#include "ptx_reduce.h"
DYNC__COLD

DYNC__FN const dync__inst *dync__ptx_reduce_inst(const dync__ptx *p, int i)
{
    return &p->k->inst.at[i];
}
DYNC__FN int dync__ptx_reduce_type(const dync__ptx *p, int i)
{
    return dync__ptx_reduce_inst(p, dync__ptx_reduce_inst(p, i)->arg[0])->type;
}
DYNC__FN bool dync__ptx_is_arg(int kind)
{
    return kind == DYNC__R_ARGMAX || kind == DYNC__R_ARGMIN;
}
static bool dync__ptx_has_transposes(const dync__ptx *p) { return p->shape.iterations > 1; }

DYNC__FN dync__ptx_pair dync__ptx_accumulator(int i, int lane)
{
    dync__ptx_pair a;
    dync__format(a.value, sizeof a.value, "%%acc%d_%d", i, lane);
    dync__format(a.place, sizeof a.place, "%%at%d_%d", i, lane);
    return a;
}

DYNC__FN dync__ptx_pair dync__ptx_new_pair(dync__ptx *p, int kind, int type)
{
    dync__ptx_pair a;
    dync__format(a.value, sizeof a.value, "%s", dync__ptx_temp(p, dync__ptx_type(type)));
    a.place[0] = 0;
    if (dync__ptx_is_arg(kind))
        dync__format(a.place, sizeof a.place, "%s", dync__ptx_temp(p, "s64"));
    return a;
}

static const char *dync__ptx_identity(dync__ptx *p, int kind, int type)
{
    dync__scalar s;
    bool low = kind == DYNC__R_MAX || kind == DYNC__R_ARGMAX,
         high = kind == DYNC__R_MIN || kind == DYNC__R_ARGMIN;
    s.i = 0;
    if (type == DYNC_F32)
        s.f = low ? (float)-HUGE_VAL : high ? (float)HUGE_VAL : kind == DYNC__R_PROD ? 1.0f : 0.0f;
    else if (type == DYNC_F64)
        s.d = low ? -HUGE_VAL : high ? HUGE_VAL : kind == DYNC__R_PROD ? 1.0 : 0.0;
    else if (type == DYNC_I64)
        s.i = low ? INT64_MIN : high ? INT64_MAX : kind == DYNC__R_PROD;
    else if (type == DYNC_I32)
        s.i = low ? INT32_MIN : high ? INT32_MAX : kind == DYNC__R_PROD;
    else
        s.i = kind == DYNC__R_ALL;
    return dync__ptx_constant(p, type, s);
}

DYNC__FN void dync__ptx_move(dync__ptx *p, int type, const char *to, const char *from)
{
    if (type == DYNC_BOOL)
        dync__ptx_line(p, "and.pred %s, %s, %%true", to, from);
    else
        dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(type), to, from);
}

/* a = b where b is better: greater (or less), or NaN where a is none, or equal and earlier. */
static void dync__ptx_join_arg(dync__ptx *p, int kind, int type, const dync__ptx_pair *a,
                               const dync__ptx_pair *b)
{
    const char *t = dync__ptx_type(type), *better = dync__ptx_temp(p, "pred"),
               *equal = dync__ptx_temp(p, "pred");
    const char *earlier = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "setp.%s.%s %s, %s, %s", kind == DYNC__R_ARGMAX ? "gt" : "lt", t, better,
                   b->value, a->value);
    dync__ptx_line(p, "setp.eq.%s %s, %s, %s", t, equal, b->value, a->value);
    if (type == DYNC_F32 || type == DYNC_F64) {
        const char *nan_a = dync__ptx_temp(p, "pred"), *nan_b = dync__ptx_temp(p, "pred"),
                   *both = dync__ptx_temp(p, "pred");
        dync__ptx_line(p, "setp.nan.%s %s, %s, %s", t, nan_a, a->value, a->value);
        dync__ptx_line(p, "setp.nan.%s %s, %s, %s", t, nan_b, b->value, b->value);
        dync__ptx_line(p, "and.pred %s, %s, %s", both, nan_a, nan_b);
        dync__ptx_line(p, "or.pred %s, %s, %s", equal, equal, both);
        dync__ptx_line(p, "not.pred %s, %s", nan_a, nan_a);
        dync__ptx_line(p, "and.pred %s, %s, %s", nan_b, nan_b, nan_a);
        dync__ptx_line(p, "or.pred %s, %s, %s", better, better, nan_b);
    }
    dync__ptx_line(p, "setp.lt.and.s64 %s, %s, %s, %s", earlier, b->place, a->place, equal);
    dync__ptx_line(p, "or.pred %s, %s, %s", better, better, earlier);
    dync__ptx_line(p, "selp.%s %s, %s, %s, %s", t, a->value, b->value, a->value, better);
    dync__ptx_line(p, "selp.b64 %s, %s, %s, %s", a->place, b->place, a->place, better);
}

/* a = a with b */
DYNC__FN void dync__ptx_join(dync__ptx *p, int kind, int type, const dync__ptx_pair *a,
                             const dync__ptx_pair *b)
{
    const char *t = dync__ptx_type(type);
    bool f = type == DYNC_F32 || type == DYNC_F64;
    switch (kind) {
    case DYNC__R_SUM:
        dync__ptx_line(p, "add%s.%s %s, %s, %s", f ? ".rn" : "", t, a->value, a->value, b->value);
        break;
    case DYNC__R_PROD:
        dync__ptx_line(p, "mul%s.%s %s, %s, %s", f ? ".rn" : ".lo", t, a->value, a->value,
                       b->value);
        break;
    case DYNC__R_ANY: dync__ptx_line(p, "or.pred %s, %s, %s", a->value, a->value, b->value); break;
    case DYNC__R_ALL: dync__ptx_line(p, "and.pred %s, %s, %s", a->value, a->value, b->value); break;
    case DYNC__R_MAX:
    case DYNC__R_MIN:
        if (!f) {
            dync__ptx_line(p, "%s.%s %s, %s, %s", kind == DYNC__R_MAX ? "max" : "min", t, a->value,
                           a->value, b->value);
        } else {
            const char *first = dync__ptx_temp(p, "pred"), *take = dync__ptx_temp(p, "pred");
            dync__ptx_line(p, "setp.%s.%s %s, %s, %s", kind == DYNC__R_MAX ? "gt" : "lt", t, first,
                           a->value, b->value);
            dync__ptx_line(p, "setp.nan.or.%s %s, %s, %s, %s", t, take, a->value, a->value, first);
            dync__ptx_line(p, "selp.%s %s, %s, %s, %s", t, a->value, a->value, b->value, take);
        }
        break;
    default: dync__ptx_join_arg(p, kind, type, a, b);
    }
}

/* ---- within a thread ------------------------------------------------------------------------- */

DYNC__FN void dync__ptx_accumulators(dync__ptx *p, int i, int n)
{
    int kind = (int)dync__ptx_reduce_inst(p, i)->imm.i, type = dync__ptx_reduce_type(p, i);
    for (int lane = 0; lane < n; lane++) {
        dync__ptx_pair a = dync__ptx_accumulator(i, lane);
        dync__ptx_reg(p, dync__ptx_type(type), a.value);
        dync__ptx_move(p, type, a.value, dync__ptx_identity(p, kind, type));
        if (!dync__ptx_is_arg(kind)) continue;
        dync__ptx_reg(p, "s64", a.place);
        dync__ptx_line(p, "mov.b64 %s, %s", a.place, p->shape.inner ? "0x7fffffffffffffff" : "0");
    }
}

DYNC__FN void dync__ptx_reduce_begin(dync__ptx *p)
{
    for (int i = 0; i < p->k->inst.n; i++)
        if (p->needed[i] && dync__ptx_reduce_inst(p, i)->prim == DYNC__P_reduce &&
            dync__ptx_reduce_inst(p, i)->section == 2 * p->phase + 1)
            dync__ptx_accumulators(p, i, p->groups * p->vec);
}

DYNC__FN void dync__ptx_reduce_step(dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_reduce_inst(p, i);
    int kind = (int)in->imm.i, type = dync__ptx_reduce_type(p, i);
    p->where[i] = p->block;
    for (int lane = 0; lane < p->groups * p->vec; lane++) {
        dync__ptx_pair acc = dync__ptx_accumulator(i, lane), x = dync__ptx_new_pair(p, kind, type);
        char guard[40];
        dync__ptx_move(p, type, x.value, dync__ptx_use(p, in->arg[0], lane));
        if (dync__ptx_is_arg(kind)) {
            const char *place = dync__ptx_temp(p, p->index);
            dync__ptx_line(p, "add.%s %s, %%pos%db%d, %d", p->index, place, lane / p->vec, p->block,
                           lane % p->vec);
            dync__ptx_line(p, p->shape.wide ? "mov.b64 %s, %s" : "cvt.u64.u32 %s, %s", x.place,
                           place);
        }
        if (p->shape.guarded) {
            dync__format(guard, sizeof guard, "%%in%db%d", lane / p->vec, p->block);
            const char *identity = dync__ptx_identity(p, kind, type);
            if (type == DYNC_BOOL) {
                dync__ptx_line(p, "%s.pred %s, %s, %s", kind == DYNC__R_ALL ? "or" : "and", x.value,
                               x.value, guard);
                if (kind == DYNC__R_ALL) { /* x or not in */
                    const char *out = dync__ptx_temp(p, "pred");
                    dync__ptx_line(p, "not.pred %s, %s", out, guard);
                    dync__ptx_move(p, type, x.value, dync__ptx_use(p, in->arg[0], lane));
                    dync__ptx_line(p, "or.pred %s, %s, %s", x.value, x.value, out);
                }
            } else {
                dync__ptx_line(p, "selp.%s %s, %s, %s, %s", dync__ptx_type(type), x.value, x.value,
                               identity, guard);
            }
            if (dync__ptx_is_arg(kind))
                dync__ptx_line(p, "selp.b64 %s, %s, 0x7fffffffffffffff, %s", x.place, x.place,
                               guard);
        }
        if (dync__ptx_has_transposes(p))
            dync__ptx_join(p, kind, type, &acc, &x);
        else {
            dync__ptx_move(p, type, acc.value, x.value);
            if (dync__ptx_is_arg(kind)) dync__ptx_line(p, "mov.b64 %s, %s", acc.place, x.place);
        }
    }
}
