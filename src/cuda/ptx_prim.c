/* cuda/ptx_prim.c: scalar primitives as PTX. Before ptx.c. What each means is in loop/eval.c;
 * roundings are written out (.rn), so that ptxas contracts nothing and f32 and f64 come out as on
 * the CPU to the bit. BOOL values are predicates. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

typedef struct dync__ptx_op {
    dync__ptx *p;
    const dync__inst *in;
    int type, lane;
    const char *to, *a, *b, *c;
} dync__ptx_op;

static bool dync__ptx_is_float(int type) { return type == DYNC_F32 || type == DYNC_F64; }

/* A statement "name.type to, a, b". */
static void dync__ptx_two(const dync__ptx_op *o, const char *name)
{
    dync__ptx_line(o->p, "%s.%s %s, %s, %s", name, dync__ptx_type(o->type), o->to, o->a, o->b);
}
static void dync__ptx_one(const dync__ptx_op *o, const char *name)
{
    dync__ptx_line(o->p, "%s.%s %s, %s", name, dync__ptx_type(o->type), o->to, o->a);
}

/* a < b or a is NaN ? a : b; with greater for max. */
static void dync__ptx_extreme(const dync__ptx_op *o, const char *compare)
{
    const char *t = dync__ptx_type(o->type);
    if (!dync__ptx_is_float(o->type)) {
        dync__ptx_two(o, compare[0] == 'l' ? "min" : "max");
        return;
    }
    const char *first = dync__ptx_temp(o->p, "pred"), *take = dync__ptx_temp(o->p, "pred");
    dync__ptx_line(o->p, "setp.%s.%s %s, %s, %s", compare, t, first, o->a, o->b);
    dync__ptx_line(o->p, "setp.nan.or.%s %s, %s, %s, %s", t, take, o->a, o->a, first);
    dync__ptx_line(o->p, "selp.%s %s, %s, %s, %s", t, o->to, o->a, o->b, take);
}

static void dync__ptx_compare(const dync__ptx_op *o, const char *name)
{
    const char *t = dync__ptx_type(o->type);
    if (o->type != DYNC_BOOL) {
        dync__ptx_line(o->p, "setp.%s.%s %s, %s, %s",
                       dync__ptx_is_float(o->type) && strcmp(name, "ne") == 0 ? "neu" : name, t,
                       o->to, o->a, o->b);
        return;
    }
    if (strcmp(name, "ne") == 0 || strcmp(name, "eq") == 0) {
        dync__ptx_line(o->p, "xor.pred %s, %s, %s", o->to, o->a, o->b);
        if (name[0] == 'e') dync__ptx_line(o->p, "not.pred %s, %s", o->to, o->to);
        return;
    }
    const char *below = dync__ptx_temp(o->p, "pred");
    dync__ptx_line(o->p, "not.pred %s, %s", below, o->a);
    dync__ptx_line(o->p, "%s.pred %s, %s, %s", strcmp(name, "lt") == 0 ? "and" : "or", o->to, below,
                   o->b);
}

/* x / 0 = x % 0 = 0; MIN / -1 wraps, MIN % -1 = 0. */
static void dync__ptx_divide(const dync__ptx_op *o, bool remainder)
{
    const char *t = dync__ptx_type(o->type);
    if (dync__ptx_is_float(o->type)) {
        dync__ptx_line(o->p, "div.rn.%s %s, %s, %s", t, o->to, o->a, o->b);
        return;
    }
    const char *zero = dync__ptx_temp(o->p, "pred"), *minus = dync__ptx_temp(o->p, "pred"),
               *odd = dync__ptx_temp(o->p, "pred");
    const char *by = dync__ptx_temp(o->p, t), *negative = dync__ptx_temp(o->p, t);
    dync__ptx_line(o->p, "setp.eq.%s %s, %s, 0", t, zero, o->b);
    dync__ptx_line(o->p, "setp.eq.%s %s, %s, -1", t, minus, o->b);
    dync__ptx_line(o->p, "or.pred %s, %s, %s", odd, zero, minus);
    dync__ptx_line(o->p, "selp.%s %s, 1, %s, %s", t, by, o->b, odd);
    dync__ptx_line(o->p, "neg.%s %s, %s", t, negative, o->a);
    dync__ptx_line(o->p, "%s.%s %s, %s, %s", remainder ? "rem" : "div", t, o->to, o->a, by);
    if (!remainder)
        dync__ptx_line(o->p, "selp.%s %s, %s, %s, %s", t, o->to, negative, o->to, minus);
    dync__ptx_line(o->p, "selp.%s %s, 0, %s, %s", t, o->to, o->to, zero);
}

/* Counts outside of the type give 0 and the sign: PTX clamps counts of 32 bits. */
static void dync__ptx_shift(const dync__ptx_op *o, const char *name)
{
    const char *count = o->b;
    if (o->type == DYNC_I64) {
        const char *most = dync__ptx_temp(o->p, "u64");
        count = dync__ptx_temp(o->p, "u32");
        dync__ptx_line(o->p, "min.u64 %s, %s, 64", most, o->b);
        dync__ptx_line(o->p, "cvt.u32.u64 %s, %s", count, most);
    }
    dync__ptx_line(o->p, "%s %s, %s, %s", name, o->to, o->a, count);
}

static void dync__ptx_select(const dync__ptx_op *o)
{
    if (o->type != DYNC_BOOL) {
        dync__ptx_line(o->p, "selp.%s %s, %s, %s, %s", dync__ptx_type(o->type), o->to, o->b, o->c,
                       o->a);
        return;
    }
    const char *yes = dync__ptx_temp(o->p, "pred"), *no = dync__ptx_temp(o->p, "pred");
    dync__ptx_line(o->p, "and.pred %s, %s, %s", yes, o->a, o->b);
    dync__ptx_line(o->p, "not.pred %s, %s", no, o->a);
    dync__ptx_line(o->p, "and.pred %s, %s, %s", no, no, o->c);
    dync__ptx_line(o->p, "or.pred %s, %s, %s", o->to, yes, no);
}

static void dync__ptx_cast(const dync__ptx_op *o)
{
    int to = o->in->type, from = o->type;
    const char *t = dync__ptx_type(to), *f = dync__ptx_type(from);
    if (to == DYNC_BOOL)
        dync__ptx_line(o->p, "setp.%s.%s %s, %s, %s", dync__ptx_is_float(from) ? "neu" : "ne", f,
                       o->to, o->a,
                       from == DYNC_F32   ? "0f00000000"
                       : from == DYNC_F64 ? "0d0000000000000000"
                                          : "0");
    else if (from == DYNC_BOOL)
        dync__ptx_line(o->p, "selp.%s %s, %s, %s, %s", t, o->to,
                       to == DYNC_F32   ? "0f3f800000"
                       : to == DYNC_F64 ? "0d3ff0000000000000"
                                        : "1",
                       to == DYNC_F32   ? "0f00000000"
                       : to == DYNC_F64 ? "0d0000000000000000"
                                        : "0",
                       o->a);
    else if (dync__ptx_is_float(from) && !dync__ptx_is_float(to)) {
        const char *nan = dync__ptx_temp(o->p, "pred");
        dync__ptx_line(o->p, "setp.nan.%s %s, %s, %s", f, nan, o->a, o->a);
        dync__ptx_line(o->p, "cvt.rzi.%s.%s %s, %s", t, f, o->to, o->a);
        dync__ptx_line(o->p, "selp.%s %s, 0, %s, %s", t, o->to, o->to, nan);
    } else if (to == DYNC_I32)
        dync__ptx_line(o->p, "cvt.u32.u64 %s, %s", o->to, o->a);
    else
        dync__ptx_line(o->p, "cvt%s.%s.%s %s, %s",
                       dync__ptx_is_float(to) && !(to == DYNC_F64 && from == DYNC_F32) ? ".rn" : "",
                       t, f, o->to, o->a);
}

static void dync__ptx_wrap(const dync__ptx_op *o)
{
    const char *half =
        o->in->imm.i == DYNC_F16 || o->in->imm.i == DYNC_BF16 ? dync__ptx_temp(o->p, "b16") : NULL;
    switch (o->in->imm.i) {
    case DYNC_I16: dync__ptx_line(o->p, "bfe.s32 %s, %s, 0, 16", o->to, o->a); break;
    case DYNC_I8: dync__ptx_line(o->p, "bfe.s32 %s, %s, 0, 8", o->to, o->a); break;
    case DYNC_U8: dync__ptx_line(o->p, "and.b32 %s, %s, 255", o->to, o->a); break;
    case DYNC_F16:
        dync__ptx_line(o->p, "cvt.rn.f16.f32 %s, %s", half, o->a);
        dync__ptx_line(o->p, "cvt.f32.f16 %s, %s", o->to, half);
        break;
    default: {
        const char *word = dync__ptx_temp(o->p, "b32");
        dync__ptx_line(o->p, "cvt.rn.bf16.f32 %s, %s", half, o->a);
        dync__ptx_line(o->p, "cvt.u32.u16 %s, %s", word, half);
        dync__ptx_line(o->p, "shl.b32 %s, %s, 16", word, word);
        dync__ptx_line(o->p, "mov.b32 %s, %s", o->to, word);
    }
    }
}

/* ---- random numbers: Philox4x32-10, words in %ph0 .. %ph3 of the block ----------------------- */

/* at: the block; kind: of the blocks */
static void dync__ptx_philox(dync__ptx *p, const char *at, int kind, char w[4][40])
{
    char key[2][40], high[2][40], low[2][40];
    const char *wide = dync__ptx_temp(p, "b64");
    dync__str_add(&p->body, "    // Philox4x32-10\n");
    for (int i = 0; i < 4; i++) dync__format(w[i], 40, "%s", dync__ptx_temp(p, "b32"));
    for (int i = 0; i < 2; i++) {
        dync__format(key[i], 40, "%s", dync__ptx_temp(p, "b32"));
        dync__format(high[i], 40, "%s", dync__ptx_temp(p, "b32"));
        dync__format(low[i], 40, "%s", dync__ptx_temp(p, "b32"));
    }
    dync__ptx_line(p, "mov.b64 {%s, %s}, %s", w[0], w[1], at);
    dync__ptx_line(p, "mov.b64 {%s, %s}, %%seed", key[0], key[1]);
    dync__ptx_line(p, "mov.b32 %s, %d", w[2], kind);
    dync__ptx_line(p, "mov.b32 %s, 0", w[3]);
    for (int round = 0; round < 10; round++) {
        dync__ptx_line(p, "mul.wide.u32 %s, %s, 0xd2511f53", wide, w[0]);
        dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low[0], high[0], wide);
        dync__ptx_line(p, "mul.wide.u32 %s, %s, 0xcd9e8d57", wide, w[2]);
        dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low[1], high[1], wide);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", w[0], high[1], w[1]);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", w[0], w[0], key[0]);
        dync__ptx_line(p, "mov.b32 %s, %s", w[1], low[1]);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", w[2], high[0], w[3]);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", w[2], w[2], key[1]);
        dync__ptx_line(p, "mov.b32 %s, %s", w[3], low[0]);
        dync__ptx_line(p, "add.u32 %s, %s, 0x9e3779b9", key[0], key[0]);
        dync__ptx_line(p, "add.u32 %s, %s, 0xbb67ae85", key[1], key[1]);
    }
}

/* A word of the block that a group's four numbers share: base.h. */
static void dync__ptx_word(const dync__ptx_op *o, const char *number)
{
    dync__ptx *p = o->p;
    char w[4][40];
    int kind = (int)o->in->imm.i, names = p->next_name;
    const char *at = dync__ptx_temp(p, "b64"), *low = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "shr.u64 %s, %s, 5", at, number);
    dync__ptx_line(p, "shl.b64 %s, %s, 3", at, at);
    dync__ptx_line(p, "and.b64 %s, %s, 7", low, number);
    dync__ptx_line(p, "or.b64 %s, %s, %s", at, at, low);
    dync__ptx_philox(p, at, dync__draw_block(kind), w);
    p->next_name = names; /* w has its own */
    const char *n = dync__ptx_temp(p, "b32"), *own = dync__ptx_temp(p, "b32"),
               *later = dync__ptx_temp(p, "pred"), *odd = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "cvt.u32.u64 %s, %s", n, number);
    dync__ptx_line(p, "and.b32 %s, %s, 16", own, n);
    dync__ptx_line(p, "setp.ne.u32 %s, %s, 0", later, own);
    dync__ptx_line(p, "and.b32 %s, %s, 8", own, n);
    for (int i = 0; i < 2; i++)
        dync__ptx_line(p, "selp.b32 %s, %s, %s, %s", w[i], w[2 + i], w[i], later);
    if (kind == DYNC__DRAW_UNIFORM) {
        dync__ptx_line(p, "setp.ne.u32 %s, %s, 0", odd, own);
        dync__ptx_line(p, "selp.b32 %s, %s, %s, %s", o->to, w[1], w[0], odd);
    } else if (kind == DYNC__DRAW_FIRST) {
        dync__ptx_line(p, "mov.b32 %s, %s", o->to, w[0]);
    } else {
        dync__ptx_line(p, "shl.b32 %s, %s, 27", own, own);
        dync__ptx_line(p, "sub.s32 %s, %s, %s", o->to, w[1], own);
    }
}

static void dync__ptx_random(const dync__ptx_op *o)
{
    dync__ptx *p = o->p;
    char w[4][40];
    const char *number = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "add.s64 %s, %s, %%draw", number,
                   dync__ptx_in_reg(p, o->in->arg[0], o->lane));
    if (o->in->type == DYNC_I32) {
        dync__ptx_word(o, number);
        return;
    }
    dync__ptx_philox(p, number, 0, w);
    const char *wide = dync__ptx_temp(p, "b64");
    int first = (int)o->in->imm.i;
    dync__ptx_line(p, "mov.b64 %s, {%s, %s}", wide, w[first], w[first + 1]);
    dync__ptx_line(p, "shr.u64 %s, %s, 11", wide, wide);
    dync__ptx_line(p, "cvt.rn.f64.u64 %s, %s", o->to, wide);
    dync__ptx_line(p, "mul.rn.f64 %s, %s, 0d3ca0000000000000", o->to, o->to);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void dync__ptx_arithmetic(const dync__ptx_op *o, const char *name)
{
    bool f = dync__ptx_is_float(o->type), mul = strcmp(name, "mul") == 0;
    dync__ptx_line(o->p, "%s%s.%s %s, %s, %s", name,
                   f     ? ".rn"
                   : mul ? ".lo"
                         : "",
                   dync__ptx_type(o->type), o->to, o->a, o->b);
}

static void dync__ptx_logic(const dync__ptx_op *o, const char *name)
{
    const char *t = o->type == DYNC_BOOL ? "pred" : dync__ptx_bits(o->type);
    if (o->b)
        dync__ptx_line(o->p, "%s.%s %s, %s, %s", name, t, o->to, o->a, o->b);
    else
        dync__ptx_line(o->p, "%s.%s %s, %s", name, t, o->to, o->a);
}

static void dync__ptx_round(const dync__ptx_op *o, const char *how)
{
    const char *t = dync__ptx_type(o->type);
    dync__ptx_line(o->p, "cvt.%s.%s.%s %s, %s", how, t, t, o->to, o->a);
}

DYNC__FN void dync__ptx_prim(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = &p->k->inst.at[i];
    char to[40], arg[3][40] = {"", "", ""};
    if (in->prim == DYNC__P_index) {
        dync__ptx_index(p, i, lane);
        return;
    }
    dync__ptx_op o = {p, in, in->type, lane, to, arg[0], NULL, arg[2]};
    for (int a = 0; a < dync__prim_info(in->prim)->n_args; a++) {
        dync__format(arg[a], sizeof arg[a], "%s",
                     a == 0 ? dync__ptx_in_reg(p, in->arg[a], lane)
                            : dync__ptx_use(p, in->arg[a], lane));
        if (a == 1) o.b = arg[1];
    }
    if (in->arg[0] >= 0 && in->prim != DYNC__P_select) o.type = p->k->inst.at[in->arg[0]].type;
    dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, lane));
    switch (in->prim) {
    case DYNC__P_add: dync__ptx_arithmetic(&o, "add"); break;
    case DYNC__P_sub: dync__ptx_arithmetic(&o, "sub"); break;
    case DYNC__P_mul: dync__ptx_arithmetic(&o, "mul"); break;
    case DYNC__P_div: dync__ptx_divide(&o, false); break;
    case DYNC__P_rem: dync__ptx_divide(&o, true); break;
    case DYNC__P_fma:
        dync__ptx_line(p, "fma.rn.%s %s, %s, %s, %s", dync__ptx_type(o.type), o.to, o.a, o.b, o.c);
        break;
    case DYNC__P_neg: dync__ptx_one(&o, "neg"); break;
    case DYNC__P_abs: dync__ptx_one(&o, "abs"); break;
    case DYNC__P_sqrt: dync__ptx_one(&o, "sqrt.rn"); break;
    case DYNC__P_floor: dync__ptx_round(&o, "rmi"); break;
    case DYNC__P_ceil: dync__ptx_round(&o, "rpi"); break;
    case DYNC__P_trunc: dync__ptx_round(&o, "rzi"); break;
    case DYNC__P_rint: dync__ptx_round(&o, "rni"); break;
    case DYNC__P_min: dync__ptx_extreme(&o, "lt"); break;
    case DYNC__P_max: dync__ptx_extreme(&o, "gt"); break;
    case DYNC__P_lt: dync__ptx_compare(&o, "lt"); break;
    case DYNC__P_le: dync__ptx_compare(&o, "le"); break;
    case DYNC__P_eq: dync__ptx_compare(&o, "eq"); break;
    case DYNC__P_ne: dync__ptx_compare(&o, "ne"); break;
    case DYNC__P_and_: dync__ptx_logic(&o, "and"); break;
    case DYNC__P_or_: dync__ptx_logic(&o, "or"); break;
    case DYNC__P_xor_: dync__ptx_logic(&o, "xor"); break;
    case DYNC__P_not_: dync__ptx_logic(&o, "not"); break;
    case DYNC__P_shl: dync__ptx_shift(&o, o.type == DYNC_I64 ? "shl.b64" : "shl.b32"); break;
    case DYNC__P_shr: dync__ptx_shift(&o, o.type == DYNC_I64 ? "shr.s64" : "shr.s32"); break;
    case DYNC__P_select: dync__ptx_select(&o); break;
    case DYNC__P_cast: dync__ptx_cast(&o); break;
    case DYNC__P_bitcast:
        dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(in->type), o.to, o.a);
        break;
    case DYNC__P_wrap: dync__ptx_wrap(&o); break;
    case DYNC__P_random: dync__ptx_random(&o); break;
    default: p->failed = true;
    }
}
