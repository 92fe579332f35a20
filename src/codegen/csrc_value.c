/* codegen/csrc_value.c: the values of a kernel as C: each primitive, loads and stores, reductions.
 * After csrc_index.c, before csrc.c. */
#include "../dync.in.h"
#include "codegen.h"
#include "csrc.h"
DYNC__COLD

/* ---- one value ------------------------------------------------------------------------------- */

/* A template: $a $b $c operands, $T type, $U unsigned type, $F suffix of math functions, $M bits
 * - 1, everything else as it is. */
static void dync__csrc_expand(dync__csrc *c, const dync__inst *in, int type, const char *template)
{
    for (const char *p = template; *p; p++) {
        if (*p != '$') {
            dync__str_addc(c->out, *p);
            continue;
        }
        switch (*++p) {
        case 'a':
        case 'b':
        case 'c': dync__csrc_use(c, in->arg[*p - 'a'], in->section); break;
        case 'T': dync__str_add(c->out, dync__dtype_c_type(type)); break;
        case 'U': dync__str_add(c->out, type == DYNC_I64 ? "uint64_t" : "uint32_t"); break;
        case 'F': dync__str_add(c->out, type == DYNC_F32 ? "f" : ""); break;
        default: dync__str_add(c->out, type == DYNC_I64 ? "63" : "31"); break;
        }
    }
}

static const char *dync__csrc_template(int prim, int type)
{
    bool f = dync__csrc_is_float(type), b = type == DYNC_BOOL;
    switch (prim) {
    case DYNC__P_add: return f ? "$a + $b" : "($T)(($U)$a + ($U)$b)";
    case DYNC__P_sub: return f ? "$a - $b" : "($T)(($U)$a - ($U)$b)";
    case DYNC__P_mul: return f ? "$a * $b" : "($T)(($U)$a * ($U)$b)";
    case DYNC__P_div: return f ? "$a / $b" : "$b == 0 ? 0 : $b == -1 ? ($T)(0 - ($U)$a) : $a / $b";
    case DYNC__P_rem: return "$b == 0 || $b == -1 ? 0 : $a % $b";
    case DYNC__P_fma: return "$a * $b + $c";
    case DYNC__P_neg: return f ? "-$a" : "($T)(0 - ($U)$a)";
    case DYNC__P_abs: return f ? "fabs$F($a)" : "$a < 0 ? ($T)(0 - ($U)$a) : $a";
    case DYNC__P_sqrt: return "sqrt$F($a)";
    case DYNC__P_floor: return "floor$F($a)";
    case DYNC__P_ceil: return "ceil$F($a)";
    case DYNC__P_trunc: return "trunc$F($a)";
    case DYNC__P_rint: return "rint$F($a)";
    case DYNC__P_min: return f ? "$a < $b || $a != $a ? $a : $b" : "$a < $b ? $a : $b";
    case DYNC__P_max: return f ? "$a > $b || $a != $a ? $a : $b" : "$a > $b ? $a : $b";
    case DYNC__P_lt: return "$a < $b";
    case DYNC__P_le: return "$a <= $b";
    case DYNC__P_eq: return "$a == $b";
    case DYNC__P_ne: return "$a != $b";
    case DYNC__P_and_: return "$a & $b";
    case DYNC__P_or_: return "$a | $b";
    case DYNC__P_xor_: return "$a ^ $b";
    case DYNC__P_not_: return b ? "!$a" : "~$a";
    case DYNC__P_shl: return "($U)$b > $M ? 0 : ($T)(($U)$a << $b)";
    case DYNC__P_shr:
        return "$a < 0 ? ~(~$a >> (($U)$b > $M ? $M : $b)) : $a >> (($U)$b > $M ? $M : $b)";
    case DYNC__P_select: return "$a ? $b : $c";
    default: return NULL;
    }
}

static void dync__csrc_cast(dync__csrc *c, const dync__inst *in)
{
    int arg[3];
    if (dync__csrc_rescales(c, (int)(in - c->k->inst.at), arg)) {
        dync__csrc_rescale(c, arg, in->section);
        return;
    }
    int from = dync__csrc_inst(c, in->arg[0])->type;
    bool wide = in->type == DYNC_I64;
    if (in->type == DYNC_BOOL)
        dync__csrc_expand(c, in, in->type, "$a != 0");
    else if (!dync__csrc_is_float(from) && in->type == DYNC_I32 && from == DYNC_I64)
        dync__csrc_expand(c, in, in->type, "(int32_t)(uint32_t)(uint64_t)$a");
    else if (!dync__csrc_is_float(from) || dync__csrc_is_float(in->type))
        dync__csrc_expand(c, in, in->type, "($T)$a");
    else
        dync__csrc_expand(c, in, from,
                          wide ? "$a != $a ? 0 : $a >= ($T)9223372036854775808.0 ? INT64_MAX : $a "
                                 "< ($T)-9223372036854775808.0 ? INT64_MIN : (int64_t)$a"
                               : "$a != $a ? 0 : $a >= ($T)2147483648.0 ? INT32_MAX : $a < "
                                 "($T)-2147483648.0 ? INT32_MIN : (int32_t)$a");
}

static void dync__csrc_wrap(dync__csrc *c, const dync__inst *in)
{
    switch (in->imm.i) {
    case DYNC_I16: dync__csrc_expand(c, in, in->type, "(int16_t)(uint16_t)$a"); break;
    case DYNC_I8: dync__csrc_expand(c, in, in->type, "(int8_t)(uint8_t)$a"); break;
    case DYNC_U8: dync__csrc_expand(c, in, in->type, "(uint8_t)$a"); break;
    default:
        dync__str_addf(c->out, "%s_from_%s(%s_to_%s(", dync__csrc_owner(c),
                       dync__dtype_info((int)in->imm.i)->fx, dync__csrc_owner(c),
                       dync__dtype_info((int)in->imm.i)->fx);
        dync__csrc_use(c, in->arg[0], in->section);
        dync__str_add(c->out, "))");
    }
}

DYNC__FN void dync__csrc_value(dync__csrc *c, const dync__inst *in)
{
    /* functions of the file, where there is one */
    static const char *const unions[2][4] = {
        {"((union { float f; int32_t i; }){.f = $a}).i",
         "((union { float f; int32_t i; }){.i = $a}).f",
         "((union { double f; int64_t i; }){.f = $a}).i",
         "((union { double f; int64_t i; }){.i = $a}).f"},
        {"#_bits32($a)", "#_float32($a)", "#_bits64($a)", "#_float64($a)"}};
    switch (in->prim) {
    case DYNC__P_load:
    case DYNC__P_loadx: dync__csrc_load(c, in); break;
    case DYNC__P_index:
        dync__str_add(c->out, "(int64_t)(");
        dync__csrc_index(c, in->access, 0);
        dync__str_addc(c->out, ')');
        break;
    case DYNC__P_random:
        dync__csrc_expand(c, in, in->type,
                          in->type == DYNC_F64
                              ? (in->imm.i ? "#_uniform64(r, $a, 2)" : "#_uniform64(r, $a, 0)")
                          : in->imm.i == DYNC__DRAW_UNIFORM ? "#_word(r, $a, 0)"
                          : in->imm.i == DYNC__DRAW_SECOND  ? "#_word(r, $a, 2)"
                                                            : "#_word(r, $a, 3)");
        break;
    case DYNC__P_cast: dync__csrc_cast(c, in); break;
    case DYNC__P_wrap: dync__csrc_wrap(c, in); break;
    case DYNC__P_scan:
        dync__str_addf(c->out, "(%s)(r%d += (%s)", dync__dtype_c_type(in->type),
                       (int)(in - c->k->inst.at), in->type == DYNC_I64 ? "uint64_t" : "double");
        dync__csrc_use(c, in->arg[0], in->section);
        dync__str_addc(c->out, ')');
        break;
    case DYNC__P_bitcast:
        dync__csrc_expand(c, in, in->type,
                          unions[c->room != NULL][in->type == DYNC_I32   ? 0
                                                  : in->type == DYNC_F32 ? 1
                                                  : in->type == DYNC_I64 ? 2
                                                                         : 3]);
        break;
    default: {
        int type = dync__csrc_inst(c, in->arg[in->prim == DYNC__P_select ? 1 : 0])->type;
        bool once = in->prim == DYNC__P_fma && in->imm.i; /* dync__m_once */
        dync__csrc_expand(c, in, type,
                          once ? "fma$F($a, $b, $c)" : dync__csrc_template(in->prim, type));
    }
    }
}

DYNC__FN void dync__csrc_store(dync__csrc *c, const dync__inst *in)
{
    int dtype = c->k->buf.at[in->buf].dtype;
    bool half = dtype == DYNC_F16 || dtype == DYNC_BF16,
         narrow = dync__dtype_info(dtype)->compute != dtype;
    if (c->in < 0) dync__csrc_memory(c, in, in->prim == DYNC__P_storex ? in->arg[1] : -1);
    dync__str_add(c->out, c->in < 0 ? " = " : "return ");
    if (half)
        dync__str_addf(c->out, "%s_to_%s(", dync__csrc_owner(c), dync__dtype_info(dtype)->fx);
    else if (narrow)
        dync__str_addf(c->out, "(%s)", dync__dtype_c_type(dtype));
    dync__csrc_use(c, in->arg[0], in->section);
    dync__str_add(c->out, half ? ");\n" : ";\n");
}

/* ---- reductions ------------------------------------------------------------------------------ */

DYNC__FN void dync__csrc_reduce_begin(dync__csrc *c, int i)
{
    const dync__inst *in = dync__csrc_inst(c, i);
    int type = dync__csrc_inst(c, in->arg[0])->type;
    bool arg = in->imm.i == DYNC__R_ARGMAX || in->imm.i == DYNC__R_ARGMIN;
    bool one = in->imm.i == DYNC__R_PROD || in->imm.i == DYNC__R_ALL,
         least = in->imm.i == DYNC__R_MAX, most = in->imm.i == DYNC__R_MIN;
    dync__csrc_line(c);
    if (arg) {
        dync__str_addf(c->out, "int64_t v%d = 0;\n", i);
        dync__csrc_line(c);
        dync__str_addf(c->out, "%s r%d = 0;\n", dync__dtype_c_type(type), i);
        return;
    }
    dync__str_addf(c->out, "%s v%d = ", dync__dtype_c_type(type), i);
    if ((least || most) && dync__csrc_is_float(type))
        dync__str_add(c->out, least ? "-INFINITY" : "INFINITY");
    else if (least || most)
        dync__str_addf(c->out, "INT%s_%s", type == DYNC_I64 ? "64" : "32", least ? "MIN" : "MAX");
    else
        dync__str_add(c->out, one ? "1" : "0");
    dync__str_add(c->out, ";\n");
}

DYNC__FN void dync__csrc_reduce_step(dync__csrc *c, int i)
{
    const dync__inst *in = dync__csrc_inst(c, i);
    int type = dync__csrc_inst(c, in->arg[0])->type;
    bool f = dync__csrc_is_float(type),
         greatest = in->imm.i == DYNC__R_MAX || in->imm.i == DYNC__R_ARGMAX;
    if (in->imm.i < DYNC__R_MAX) {
        const char *op = in->imm.i == DYNC__R_SUM ? "+" : "*",
                   *u = type == DYNC_I64 ? "uint64_t" : "uint32_t";
        if (f)
            dync__str_addf(c->out, "v%d %s= ", i, op);
        else
            dync__str_addf(c->out, "v%d = (%s)((%s)v%d %s (%s)", i, dync__dtype_c_type(type), u, i,
                           op, u);
        dync__csrc_use(c, in->arg[0], in->section);
        dync__str_add(c->out, f ? ";\n" : ");\n");
    } else if (in->imm.i == DYNC__R_ANY || in->imm.i == DYNC__R_ALL) {
        dync__str_addf(c->out, "v%d %s= ", i, in->imm.i == DYNC__R_ANY ? "|" : "&");
        dync__csrc_use(c, in->arg[0], in->section);
        dync__str_add(c->out, ";\n");
    } else {
        bool arg = in->imm.i == DYNC__R_ARGMAX || in->imm.i == DYNC__R_ARGMIN;
        const char *best = arg ? "r" : "v";
        dync__str_add(c->out, "if (");
        if (arg) {
            dync__csrc_position(c);
            dync__str_add(c->out, " == 0 || ");
        }
        if (f) dync__str_addf(c->out, "(%s%d == %s%d && !(", best, i, best, i);
        dync__csrc_use(c, in->arg[0], in->section);
        dync__str_addf(c->out, f ? " %s %s%d))) " : " %s %s%d) ",
                       f          ? (greatest ? "<=" : ">=")
                       : greatest ? ">"
                                  : "<",
                       best, i);
        dync__str_addf(c->out, arg ? "r%d = " : "v%d = ", i);
        dync__csrc_use(c, in->arg[0], in->section);
        if (arg) {
            dync__str_addf(c->out, ", v%d = ", i);
            dync__csrc_position(c);
        }
        dync__str_add(c->out, ";\n");
    }
}
