/* cuda/ptx_f16.c: arithmetic on two half floats at a time. After ptx_plan.c, before ptx_mem.c.
 *
 * f16 and bf16 are computed in f32, and each operator's result is rounded to its dtype (wrap). A
 * wrap of a sum, difference or product of two values that are f16 values already is one instruction
 * on pairs of lanes: rounding to f32's 24 bits first changes nothing, as 24 >= 2 * 11 + 2 (f16) and
 * 2 * 8 + 2 (bf16; Figueroa 1995), products are exact in f32, and where they are not (below 2^-149)
 * both ways give zero or the least subnormal alike. Not done: fma (three operands: rounded twice it
 * differs), division (none for pairs), min and max (of two zeros dync takes the second, PTX the
 * greater), sums that no operator rounds. bf16 has fma alone before sm_90: a * 1 + b, b * -1 + a, a
 * * b + -0. neg and abs are of the sign bits. A value's pair is beside its lanes in f32; ptxas
 * drops what nobody reads. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

static bool dync__ptx_is_f16(int dtype) { return dtype == DYNC_F16 || dtype == DYNC_BF16; }

/* The half that a constant is, if it is one. */
static bool dync__ptx_f16_constant(const dync__inst *in, int dtype, uint16_t *bits)
{
    double x = (double)dync__const_scalar(in).f;
    if (in->prim != DYNC__P_const_ || in->type != DYNC_F32 || !(x - x >= 0)) return false;
    dync__store_f64(bits, dtype, x);
    double back = dync__load_f64(bits, dtype);
    return !(back < x) && !(back > x);
}

/* Is value i a half of this dtype already? */
static bool dync__ptx_f16_value(const dync__ptx *p, int i, int dtype)
{
    const dync__inst *in = &p->k->inst.at[i];
    uint16_t bits;
    if (in->prim == DYNC__P_load) return p->k->buf.at[in->buf].dtype == dtype;
    return (in->prim == DYNC__P_wrap && in->imm.i == dtype) ||
           dync__ptx_f16_constant(in, dtype, &bits);
}

/* A rounded operator that goes by pairs. */
static bool dync__ptx_f16_rounds(const dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    if (in->prim != DYNC__P_wrap || !dync__ptx_is_f16((int)in->imm.i)) return false;
    const dync__inst *op = &p->k->inst.at[in->arg[0]];
    if (op->prim != DYNC__P_add && op->prim != DYNC__P_sub && op->prim != DYNC__P_mul &&
        op->prim != DYNC__P_neg && op->prim != DYNC__P_abs)
        return false;
    for (int a = 0; a < dync__prim_info(op->prim)->n_args; a++)
        if (!dync__ptx_f16_value(p, op->arg[a], (int)in->imm.i)) return false;
    return true;
}

/* Operators that only such wraps read are not computed on their own. */
DYNC__FN void dync__ptx_mark_pairs(dync__ptx *p)
{
    const dync__kernel *k = p->k;
    if (p->shape.vec < 2) return;
    uint8_t *read = dync__arena_alloc(p->arena, (size_t)k->inst.n + 1);
    p->paired = dync__arena_alloc(p->arena, (size_t)(k->inst.n + 1) * sizeof *p->paired);
    if (!p->paired || !read) {
        p->failed = true;
        return;
    }
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        bool by_pairs = p->needed[i] && p->uniform[i] == 0 && dync__ptx_f16_rounds(p, i);
        p->paired[i] = -1;
        for (int a = 0; p->needed[i] && a < dync__prim_info(in->prim)->n_args; a++)
            read[in->arg[a]] |= by_pairs ? 1 : 2;
    }
    for (int i = 0; i < k->inst.n; i++)
        if (read[i] == 1 && p->shape.inner % p->shape.vec == 0) p->needed[i] = 0;
}

/* The register of value i's pair from `lane` on. */
static void dync__ptx_pair_name(dync__ptx *p, int i, int lane, char *name)
{
    dync__format(name, 48, "%sh", dync__ptx_use(p, i, lane));
}

/* word is the pair of load i from lane on. */
DYNC__FN void dync__ptx_pair_is(dync__ptx *p, int i, int lane, const char *word)
{
    char name[48];
    if (!p->paired) return;
    p->paired[i] = p->where[i];
    dync__ptx_pair_name(p, i, lane, name);
    dync__ptx_reg(p, "b32", name);
    dync__ptx_line(p, "mov.b32 %s, %s", name, word);
}

static void dync__ptx_pair_constant(dync__ptx *p, unsigned bits, char *name)
{
    dync__format(name, 48, "%s", dync__ptx_temp(p, "b32"));
    dync__ptx_line(p, "mov.b32 %s, 0x%04x%04x", name, bits, bits);
}

/* The pair of value i, a half of this dtype, in lanes lane and lane + 1: made where there is
 * none. */
static void dync__ptx_f16_pair(dync__ptx *p, int i, int lane, int dtype, char *name)
{
    uint16_t bits;
    if (dync__ptx_f16_constant(&p->k->inst.at[i], dtype, &bits)) {
        dync__ptx_pair_constant(p, bits, name);
        return;
    }
    char low[40];
    dync__format(low, sizeof low, "%s", dync__ptx_in_reg(p, i, lane));
    if (p->paired[i] >= 0 && p->paired[i] == p->where[i]) {
        dync__ptx_pair_name(p, i, lane, name);
        return;
    }
    const char *high = dync__ptx_in_reg(p, i, lane + 1);
    dync__format(name, 48, "%s", dync__ptx_temp(p, "b32"));
    dync__ptx_line(p, "cvt.rn.%s.f32 %s, %s, %s", dtype == DYNC_F16 ? "f16x2" : "bf16x2", name,
                   high, low);
}

/* The pair that store wants of value i, if there is one. */
DYNC__FN bool dync__ptx_pair_of(dync__ptx *p, int i, int lane, int dtype, char *name)
{
    (void)dync__ptx_use(p, i, lane);
    if (!p->paired || p->paired[i] < 0 || p->paired[i] != p->where[i] || p->vec % 2 ||
        !dync__ptx_f16_value(p, i, dtype) || dync__ptx_lanes(p, i) == 1)
        return false;
    dync__ptx_pair_name(p, i, lane, name);
    return true;
}

/* All lanes of a wrap by pairs; false: it is not one of those. */
DYNC__FN bool dync__ptx_emit_pairs(dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    if (!p->paired || p->vec % 2 || dync__ptx_lanes(p, i) == 1 || p->uniform[i] != 0 ||
        !dync__ptx_f16_rounds(p, i))
        return false;
    const dync__inst *op = &p->k->inst.at[in->arg[0]];
    int dtype = (int)in->imm.i, n = dync__prim_info(op->prim)->n_args;
    for (int a = 0; a < n; a++) (void)dync__ptx_use(p, op->arg[a], 0);
    dync__str_addf(&p->body, "    // %s of pairs%s%s\n", dync__prim_info(op->prim)->name,
                   in->origin ? " of " : "", in->origin ? in->origin : "");
    p->where[i] = p->paired[i] = p->block;
    for (int lane = 0; lane < dync__ptx_lanes(p, i); lane += 2) {
        char arg[2][48] = {"", ""}, to[48], half[2][40], value[2][40];
        for (int a = 0; a < n; a++) dync__ptx_f16_pair(p, op->arg[a], lane, dtype, arg[a]);
        for (int e = 0; e < 2; e++)
            dync__format(value[e], sizeof value[e], "%s", dync__ptx_dest(p, i, lane + e));
        dync__ptx_pair_name(p, i, lane, to);
        dync__ptx_reg(p, "b32", to);
        const char *type = dtype == DYNC_F16 ? "f16x2" : "bf16x2",
                   *name = op->prim == DYNC__P_add   ? "add"
                           : op->prim == DYNC__P_sub ? "sub"
                                                     : "mul";
        if (n == 1)
            dync__ptx_line(p,
                           op->prim == DYNC__P_neg ? "xor.b32 %s, %s, 0x80008000"
                                                   : "and.b32 %s, %s, 0x7fff7fff",
                           to, arg[0]);
        else if (dtype == DYNC_F16)
            dync__ptx_line(p, "%s.rn.%s %s, %s, %s", name, type, to, arg[0], arg[1]);
        else {
            bool add = op->prim == DYNC__P_add, mul = op->prim == DYNC__P_mul;
            char one[48];
            dync__ptx_pair_constant(p, mul ? 0x8000 : add ? 0x3f80 : 0xbf80, one);
            if (mul)
                dync__ptx_line(p, "fma.rn.bf16x2 %s, %s, %s, %s", to, arg[0], arg[1], one);
            else
                dync__ptx_line(p, "fma.rn.bf16x2 %s, %s, %s, %s", to, arg[!add], one, arg[add]);
        }
        if (dtype == DYNC_F16) {
            for (int e = 0; e < 2; e++)
                dync__format(half[e], sizeof half[e], "%s", dync__ptx_temp(p, "b16"));
            dync__ptx_line(p, "mov.b32 {%s, %s}, %s", half[0], half[1], to);
            for (int e = 0; e < 2; e++) dync__ptx_widen(p, dtype, value[e], half[e]);
        } else {
            for (int e = 0; e < 2; e++) {
                const char *bits = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, e ? "and.b32 %s, %s, 0xffff0000" : "shl.b32 %s, %s, 16", bits,
                               to);
                dync__ptx_line(p, "mov.b32 %s, %s", value[e], bits);
            }
        }
    }
    return true;
}
