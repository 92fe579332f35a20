/* loop/simplify.c: folding while building, and the passes that shrink a kernel. After lowering,
 * before and after fusion.
 *
 * Everything here keeps results to the bit (NaN being one value): an identity is used only where
 * IEEE 754 has no exception to it, so x + 0 stays (x = -0) and x - 0 goes. fma is folded only where
 * one rounding and two agree, as the machine that folds need not be the one that runs. Constants
 * are folded by dync__prim_eval, the definition of the primitives. Simplify rebuilds the kernel
 * through the builder: each live instruction is folded and shared again (value numbering). */
#include "../dync.in.h"
#include "loop.h"
DYNC__LEAN

/* ---- constants ------------------------------------------------------------------------------- */

DYNC__FN const dync__inst *dync__fold_def(const dync__lb *b, int v) { return &b->k->inst.at[v]; }

static bool dync__fold_is_const(const dync__lb *b, int v)
{
    return v >= 0 && dync__fold_def(b, v)->prim == DYNC__P_const_ &&
           !dync__inst_is_sized(dync__fold_def(b, v));
}

static bool dync__fold_is_float(int type) { return type == DYNC_F32 || type == DYNC_F64; }

/* Is v the float constant x (the sign of zero counts), or the integer constant x? */
static bool dync__fold_is(const dync__lb *b, int v, double x)
{
    if (!dync__fold_is_const(b, v)) return false;
    const dync__inst *in = dync__fold_def(b, v);
    if (!dync__fold_is_float(in->type))
        return (double)in->imm.i == x && in->imm.i > -1000 && in->imm.i < 1000;
    return memcmp(&in->imm.f, &x, sizeof x) == 0;
}

static uint64_t dync__fold_bits(int type, dync__scalar s)
{
    uint32_t u;
    memcpy(&u, &s.f, sizeof u);
    return type == DYNC_F32 ? u : (uint64_t)s.i;
}

static bool dync__fold_is_nan(int type, dync__scalar s)
{
    uint64_t bits = dync__fold_bits(type, s);
    if (type == DYNC_F32) return (bits & 0x7fffffffu) > 0x7f800000u;
    return type == DYNC_F64 && (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}

static int dync__fold_emit(dync__lb *b, int type, dync__scalar s)
{
    if (type == DYNC_F32) return dync__lb_f(b, type, (double)s.f);
    return type == DYNC_F64 ? dync__lb_f(b, type, s.d) : dync__lb_i(b, type, s.i);
}

/* The constant that a pure instruction over constants is, or -1. */
static int dync__fold_constants(dync__lb *b, const dync__inst *in)
{
    dync__scalar s[3];
    memset(s, 0, sizeof s);
    for (int i = 0; i < dync__prim_info(in->prim)->n_args; i++) {
        if (!dync__fold_is_const(b, in->arg[i])) return -1;
        s[i] = dync__const_scalar(dync__fold_def(b, in->arg[i]));
    }
    int arg_type = dync__lb_type(b, in->arg[in->prim == DYNC__P_select ? 1 : 0]);
    dync__scalar r = dync__prim_eval(in->prim, in->type, arg_type, s[0], s[1], s[2], in->imm.i);
    if (in->prim == DYNC__P_fma) {
        dync__scalar p = dync__prim_eval(DYNC__P_mul, in->type, in->type, s[0], s[1], s[2], 0);
        dync__scalar two = dync__prim_eval(DYNC__P_add, in->type, in->type, p, s[2], s[2], 0);
        dync__scalar one = two;
        if (in->type == DYNC_F32)
            one.f = fmaf(s[0].f, s[1].f, s[2].f);
        else
            one.d = fma(s[0].d, s[1].d, s[2].d);
        if (dync__fold_bits(in->type, one) != dync__fold_bits(in->type, two)) return -1;
        r = one;
    }
    /* a NaN made from bits may be meant to keep its payload */
    if (in->prim == DYNC__P_bitcast && dync__fold_is_nan(in->type, r)) return -1;
    return dync__fold_emit(b, in->type, r);
}

/* ---- identities: the value that `in` equals, or -1; may rewrite `in` to a cheaper equal ------ */

static bool dync__fold_defined_by(const dync__lb *b, int v, int prim)
{
    return dync__fold_def(b, v)->prim == prim;
}

static void dync__fold_rewrite(dync__inst *in, int prim, int x, int y)
{
    in->prim = (uint8_t)prim;
    in->arg[0] = x;
    in->arg[1] = y;
    in->arg[2] = -1;
}

/* A power of two whose reciprocal is exact and normal. */
static bool dync__fold_exact_reciprocal(int type, double x, double *out)
{
    int limit = type == DYNC_F32 ? 120 : 1000;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 2047) - 1022;
    *out = 1.0 / x;
    return !(bits & ((UINT64_C(1) << 52) - 1)) && exponent > -limit && exponent < limit;
}

/* Is it of an integer, which is never -0? */
static bool dync__fold_of_int(const dync__lb *b, int v)
{
    const dync__inst *def = dync__fold_def(b, v);
    return def->prim == DYNC__P_cast && !dync__fold_is_float(dync__lb_type(b, def->arg[0]));
}

static int dync__fold_float(dync__lb *b, dync__inst *in)
{
    int x = in->arg[0], y = in->arg[1], z = in->arg[2];
    double reciprocal;
    switch (in->prim) {
    case DYNC__P_add:
        if (dync__fold_is(b, y, -0.0)) return x;
        if (dync__fold_is(b, y, 0.0) && dync__fold_of_int(b, x)) return x;
        if (dync__fold_defined_by(b, y, DYNC__P_neg))
            dync__fold_rewrite(in, DYNC__P_sub, x, dync__fold_def(b, y)->arg[0]);
        else if (dync__fold_defined_by(b, x, DYNC__P_neg))
            dync__fold_rewrite(in, DYNC__P_sub, y, dync__fold_def(b, x)->arg[0]);
        return -1;
    case DYNC__P_sub:
        if (dync__fold_is(b, y, 0.0)) return x;
        if (dync__fold_defined_by(b, y, DYNC__P_neg))
            dync__fold_rewrite(in, DYNC__P_add, x, dync__fold_def(b, y)->arg[0]);
        return -1;
    case DYNC__P_mul:
        if (dync__fold_is(b, y, 1.0)) return x;
        if (dync__fold_defined_by(b, x, DYNC__P_neg) && dync__fold_defined_by(b, y, DYNC__P_neg))
            dync__fold_rewrite(in, DYNC__P_mul, dync__fold_def(b, x)->arg[0],
                               dync__fold_def(b, y)->arg[0]);
        return -1;
    case DYNC__P_div:
        if (dync__fold_is(b, y, 1.0)) return x;
        if (dync__fold_is_const(b, y) &&
            dync__fold_exact_reciprocal(in->type, dync__fold_def(b, y)->imm.f, &reciprocal))
            dync__fold_rewrite(in, DYNC__P_mul, x, dync__lb_f(b, in->type, reciprocal));
        return -1;
    case DYNC__P_fma:
        if (dync__fold_is(b, z, -0.0))
            dync__fold_rewrite(in, DYNC__P_mul, x, y);
        else if (dync__fold_is(b, y, 1.0))
            dync__fold_rewrite(in, DYNC__P_add, x, z);
        else if (dync__fold_is(b, x, 1.0))
            dync__fold_rewrite(in, DYNC__P_add, y, z);
        return -1;
    default: return -1;
    }
}

static int dync__fold_int(dync__lb *b, const dync__inst *in)
{
    int x = in->arg[0], y = in->arg[1];
    switch (in->prim) {
    case DYNC__P_add:
    case DYNC__P_or_:
    case DYNC__P_shl:
    case DYNC__P_shr:
        if (dync__fold_is(b, y, 0.0)) return x;
        return in->prim == DYNC__P_or_ && x == y ? x : -1;
    case DYNC__P_sub:
    case DYNC__P_xor_:
        if (dync__fold_is(b, y, 0.0)) return x;
        return x == y ? dync__lb_i(b, in->type, 0) : -1;
    case DYNC__P_mul:
        if (dync__fold_is(b, y, 1.0)) return x;
        return dync__fold_is(b, y, 0.0) ? y : -1;
    case DYNC__P_div: return dync__fold_is(b, y, 1.0) ? x : -1;
    case DYNC__P_and_:
        if (x == y || dync__fold_is(b, y, in->type == DYNC_BOOL ? 1.0 : -1.0)) return x;
        return dync__fold_is(b, y, 0.0) ? y : -1;
    default: return -1;
    }
}

/* Is every value of `from` exact in `to`? */
static bool dync__fold_widens(int from, int to)
{
    if (from == DYNC_BOOL) return true;
    if (from == DYNC_F32) return to == DYNC_F64;
    return from == DYNC_I32 && (to == DYNC_I64 || to == DYNC_F64);
}

/* Is I64 value v in the range of 32 bits: a constant, or a number of the loops at hand? */
static bool dync__fold_fits(const dync__lb *b, int v)
{
    const dync__kernel *k = b->k;
    const dync__inst *def = dync__fold_def(b, v);
    if (def->prim == DYNC__P_const_)
        return !dync__inst_is_sized(def) && def->imm.i >= INT32_MIN && def->imm.i <= INT32_MAX;
    if (def->prim != DYNC__P_index) return false;
    const dync__access *acc = &k->access.at[def->access];
    double low = (double)acc->offset, high = low;
    bool number = !dync__is_token(acc->offset);
    for (int d = 0; d < k->n_dims && number; d++) {
        /* at hand: whose sizes would tell is noted */
        (void)dync__loop_at_hand(k->extent[d]);
        (void)dync__loop_at_hand(acc->stride[d]);
        number = !dync__is_token(k->extent[d]) && !dync__is_token(acc->stride[d]);
        double reach = (double)acc->stride[d] * (double)(k->extent[d] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    return number && low >= INT32_MIN && high <= INT32_MAX;
}

DYNC__FN bool dync__fold_by_loops(const dync__lb *b, const dync__inst *in)
{
    bool casts = in->prim == DYNC__P_cast && dync__fold_is_float(in->type),
         compares = in->prim >= DYNC__P_lt && in->prim <= DYNC__P_ne;
    return (casts && dync__fold_defined_by(b, in->arg[0], DYNC__P_index)) ||
           (compares && (dync__fold_defined_by(b, in->arg[0], DYNC__P_index) ||
                         dync__fold_defined_by(b, in->arg[1], DYNC__P_index)));
}

static int dync__fold_cast(dync__lb *b, dync__inst *in)
{
    const dync__inst *def = dync__fold_def(b, in->arg[0]);
    if (def->type == in->type) return in->arg[0];
    /* numbers of loops in 32 bits, and from those rounded once: F64 holds them all */
    if (dync__fold_is_float(in->type) && def->prim == DYNC__P_index &&
        dync__fold_fits(b, in->arg[0])) {
        in->arg[0] = dync__lb_cast(b, in->arg[0], DYNC_I32);
        return -1;
    }
    if (def->prim != DYNC__P_cast) return -1;
    int from = dync__lb_type(b, def->arg[0]);
    if (from == in->type && dync__fold_widens(in->type, def->type)) return def->arg[0];
    if (in->type == DYNC_F32 && def->type == DYNC_F64 && from == DYNC_I32) in->arg[0] = def->arg[0];
    return -1;
}

static int dync__fold_unary(dync__lb *b, dync__inst *in)
{
    int x = in->arg[0];
    const dync__inst *def = dync__fold_def(b, x);
    switch (in->prim) {
    case DYNC__P_neg: return def->prim == DYNC__P_neg ? def->arg[0] : -1;
    case DYNC__P_not_:
        if (def->prim == DYNC__P_not_) return def->arg[0];
        if (in->type == DYNC_BOOL && (def->prim == DYNC__P_eq || def->prim == DYNC__P_ne))
            dync__fold_rewrite(in, def->prim == DYNC__P_eq ? DYNC__P_ne : DYNC__P_eq, def->arg[0],
                               def->arg[1]);
        return -1;
    case DYNC__P_abs:
        if (def->prim == DYNC__P_abs) return x;
        if (def->prim == DYNC__P_neg) in->arg[0] = def->arg[0];
        return -1;
    case DYNC__P_floor:
    case DYNC__P_ceil:
    case DYNC__P_trunc:
    case DYNC__P_rint:
        return def->prim == DYNC__P_floor || def->prim == DYNC__P_ceil ||
                       def->prim == DYNC__P_trunc || def->prim == DYNC__P_rint
                   ? x
                   : -1;
    case DYNC__P_bitcast:
        return def->prim == DYNC__P_bitcast && dync__lb_type(b, def->arg[0]) == in->type
                   ? def->arg[0]
                   : -1;
    case DYNC__P_cast: return dync__fold_cast(b, in);
    case DYNC__P_wrap:
        if (def->prim == DYNC__P_wrap && def->imm.i == in->imm.i) return x;
        return def->buf >= 0 && b->k->buf.at[def->buf].dtype == in->imm.i ? x : -1;
    default: return -1;
    }
}

static int dync__fold_select(dync__lb *b, dync__inst *in)
{
    int x = in->arg[0];
    if (in->arg[1] == in->arg[2]) return in->arg[1];
    if (dync__fold_is_const(b, x)) return dync__fold_def(b, x)->imm.i ? in->arg[1] : in->arg[2];
    if (dync__fold_defined_by(b, x, DYNC__P_not_)) {
        int swap = in->arg[1];
        in->arg[0] = dync__fold_def(b, x)->arg[0];
        in->arg[1] = in->arg[2];
        in->arg[2] = swap;
        in->imm.i = 0;
    }
    return -1;
}

DYNC__FN bool dync__fold_commutes(int prim)
{
    switch (prim) {
    case DYNC__P_add:
    case DYNC__P_mul:
    case DYNC__P_fma:
    case DYNC__P_and_:
    case DYNC__P_or_:
    case DYNC__P_xor_:
    case DYNC__P_eq:
    case DYNC__P_ne: return true;
    default: return false;
    }
}

/* Exactly commutative primitives get their constant, else the later value, on the right: equal
 * values then look equal. min and max are not among them (signed zeros). */
static void dync__fold_order(const dync__lb *b, dync__inst *in)
{
    if (!dync__fold_commutes(in->prim)) return;
    bool const0 = dync__fold_is_const(b, in->arg[0]), const1 = dync__fold_is_const(b, in->arg[1]);
    if (const0 == const1 ? in->arg[0] > in->arg[1] : const0) {
        int swap = in->arg[0];
        in->arg[0] = in->arg[1];
        in->arg[1] = swap;
    }
}

/* What a small program has of these: x + -0, x - 0, x * 1, x / 1, and of integers x + 0, are x, and
 * what is rounded stays so. Others only cost time. */
static int dync__fold_brief(const dync__lb *b, const dync__inst *in)
{
    const dync__inst *def = dync__fold_def(b, in->arg[0]);
    double neutral = 1;
    switch (in->prim) {
    case DYNC__P_add: neutral = dync__fold_is_float(in->type) ? -0.0 : 0; break;
    case DYNC__P_sub: neutral = 0; break;
    case DYNC__P_mul:
    case DYNC__P_div: break;
    case DYNC__P_wrap:
        return def->buf >= 0 && b->k->buf.at[def->buf].dtype == in->imm.i ? in->arg[0] : -1;
    default: return -1;
    }
    return dync__fold_is(b, in->arg[1], neutral) ? in->arg[0] : -1;
}

/* Numbers of loops are compared in 32 bits where they fit: beside 64 all vectors of a kernel would
 * hold half as many elements. */
static void dync__fold_narrow(dync__lb *b, dync__inst *in)
{
    if (!dync__fold_by_loops(b, in) || !dync__fold_fits(b, in->arg[0]) ||
        !dync__fold_fits(b, in->arg[1]))
        return;
    for (int a = 0; a < 2; a++) in->arg[a] = dync__lb_cast(b, in->arg[a], DYNC_I32);
}

static int dync__fold_identity(dync__lb *b, dync__inst *in)
{
    int n_args = dync__prim_info(in->prim)->n_args;
    dync__fold_order(b, in);
    if (DYNC__SMALLER(true, false)) return dync__fold_brief(b, in);
    if (in->prim == DYNC__P_select) return dync__fold_select(b, in);
    if ((in->prim == DYNC__P_min || in->prim == DYNC__P_max) && in->arg[0] == in->arg[1])
        return in->arg[0];
    if (n_args == 1) return dync__fold_unary(b, in);
    if (in->type == DYNC_BOOL && dync__prim_info(in->prim)->result == 'B') {
        /* NaN is not itself */
        bool itself = in->arg[0] == in->arg[1] &&
                      !dync__fold_is_float(dync__lb_type(b, in->arg[0]));
        if (!itself) dync__fold_narrow(b, in);
        return itself ? dync__lb_i(b, DYNC_BOOL, in->prim == DYNC__P_le || in->prim == DYNC__P_eq)
                      : -1;
    }
    return dync__fold_is_float(in->type) ? dync__fold_float(b, in) : dync__fold_int(b, in);
}

DYNC__FN int dync__fold_add(dync__lb *b, const dync__inst *original, bool across)
{
    dync__inst in = *original;
    for (int i = 0; i < dync__prim_info(in.prim)->n_args; i++)
        if (in.arg[i] < 0) b->k->failed = true;
    if (b->k->failed) return -1;
    if (dync__prim_is_pure(in.prim)) {
        uint8_t prim;
        do { /* each rewrite is to a cheaper primitive or drops an operand, so this ends */
            prim = in.prim;
            int v = dync__fold_constants(b, &in);
            if (v < 0) v = dync__fold_identity(b, &in);
            if (v >= 0) return v;
            if (b->k->failed) return -1;
        } while (in.prim != prim);
    }
    return dync__lb_share(b, &in, across);
}

DYNC__FN int dync__lb_add(dync__lb *b, const dync__inst *in)
{
    return dync__fold_add(b, in, false);
}
