/* codegen/csrc.c: a kernel as readable C11, for programs that run without this library. Before:
 * loop/; after: program/csource.c.
 *
 *   static void NAME(const float *restrict b0, float *restrict b1) { for (int o0 = ...) { row
 *     code, phases } }
 * One parameter per buffer in their order; one loop per loop, one constant per value. The text
 * needs stdint.h and math.h. Values of an earlier phase are loaded again or kept in a static
 * array, one element per inner index. fma is a * b + c; sums are plain; everything else is what
 * eval.c says. Random numbers and sizes beyond int are refused.
 * Invariant: names are v<number>, r<number> (a reduction under way), k<number> (kept), o<d> and
 * i<d> (loops). */
#include "../dync.in.h"
#include "codegen.h"
DYNC__COLD

/* needed as a variable; only where a later phase loads it again */
enum { DYNC__CSRC_HERE = 1, DYNC__CSRC_ELSEWHERE = 2 };

typedef struct dync__csrc {
    dync__str *out;
    const dync__kernel *k;
    const char *name;
    uint8_t *needed, *kept;
    int indent;
    bool half_in[2], half_out[2]; /* conversions asked for: f16, bf16 */
} dync__csrc;

static const char *dync__csrc_type(int dtype)
{
    switch (dtype) {
    case DYNC_F32: return "float";
    case DYNC_F64: return "double";
    case DYNC_I64: return "int64_t";
    case DYNC_I32: return "int32_t";
    case DYNC_I16: return "int16_t";
    case DYNC_I8: return "int8_t";
    case DYNC_F16:
    case DYNC_BF16: return "uint16_t";
    default: return "uint8_t";
    }
}

static const dync__inst *dync__csrc_inst(const dync__csrc *c, int i) { return &c->k->inst.at[i]; }
static bool dync__csrc_is_float(int type) { return type == DYNC_F32 || type == DYNC_F64; }

static void dync__csrc_line(dync__csrc *c)
{
    for (int i = 0; i < c->indent; i++) dync__str_add(c->out, "    ");
}

/* ---- operands -------------------------------------------------------------------------------- */

static void dync__csrc_float(dync__str *out, double x, int type)
{
    char text[48];
    if (x - x != 0) {
        dync__str_addf(out, "(%s)%s", dync__csrc_type(type),
                       x != x  ? "NAN"
                       : x > 0 ? "INFINITY"
                               : "-INFINITY");
        return;
    }
    if (type == DYNC_F32)
        dync__float_text((float)x, text, sizeof text);
    else
        dync__double_text(x, text, sizeof text);
    bool negative = text[0] == '-';
    dync__str_addf(out, "%s%s%s%s%s", negative ? "(" : "", text, strpbrk(text, ".e") ? "" : ".0",
                   type == DYNC_F32 ? "f" : "", negative ? ")" : "");
}

static void dync__csrc_constant(dync__str *out, const dync__inst *in)
{
    if (dync__csrc_is_float(in->type))
        dync__csrc_float(out, in->imm.f, in->type);
    else if (in->imm.i == INT64_MIN)
        dync__str_add(out, "INT64_MIN");
    else if (in->type == DYNC_I32 && in->imm.i == INT32_MIN)
        dync__str_add(out, "INT32_MIN");
    else
        dync__str_addf(out, in->imm.i < 0 ? "(%s%lld)" : "%s%lld",
                       in->type == DYNC_I64 ? "(int64_t)" : "", (long long)in->imm.i);
}

/* The linear form of an access over its loops. */
static void dync__csrc_index(dync__csrc *c, int access)
{
    const dync__access *a = &c->k->access.at[access];
    bool first = true;
    for (int d = 0; d < c->k->n_dims; d++) {
        int64_t stride = a->stride[d];
        char loop = d < c->k->n_outer ? 'o' : 'i';
        int number = d < c->k->n_outer ? d : d - c->k->n_outer;
        if (stride == 0 || c->k->extent[d] == 1) continue;
        dync__str_add(c->out, stride < 0 ? (first ? "-" : " - ") : first ? "" : " + ");
        if (stride != 1 && stride != -1)
            dync__str_addf(c->out, "%lld * ", (long long)llabs(stride));
        dync__str_addf(c->out, "%c%d", loop, number);
        first = false;
    }
    if (first)
        dync__str_addf(c->out, "%lld", (long long)a->offset);
    else if (a->offset)
        dync__str_addf(c->out, " %c %lld", a->offset < 0 ? '-' : '+', (long long)llabs(a->offset));
}

/* The linearised inner index, for kept values and positions. */
static void dync__csrc_position(dync__csrc *c)
{
    int64_t stride = 1;
    bool first = true;
    for (int d = c->k->n_dims - 1; d >= c->k->n_outer; d--) {
        if (c->k->extent[d] != 1) {
            dync__str_add(c->out, first ? "" : " + ");
            if (stride != 1) dync__str_addf(c->out, "%lld * ", (long long)stride);
            dync__str_addf(c->out, "i%d", d - c->k->n_outer);
            first = false;
        }
        stride *= c->k->extent[d];
    }
    if (first) dync__str_add(c->out, "0");
}

static void dync__csrc_memory(dync__csrc *c, const dync__inst *in, int index)
{
    dync__str_addf(c->out, "b%d[", (int)in->buf);
    dync__csrc_index(c, in->access);
    if (index >= 0) dync__str_addf(c->out, " + v%d", index);
    dync__str_addc(c->out, ']');
}

/* A value of one phase that another phase asks for. */
static bool dync__csrc_crosses(const dync__inst *in, int section)
{
    return (in->section & 1) && in->section != section && in->prim != DYNC__P_reduce &&
           in->prim != DYNC__P_const_;
}

/* Such a value is loaded again where nothing has written the buffer since. */
static bool dync__csrc_reloads(const dync__csrc *c, const dync__inst *in)
{
    return in->prim == DYNC__P_load && !(c->k->buf.at[in->buf].mode & DYNC__BUF_OUT);
}

static void dync__csrc_load(dync__csrc *c, const dync__inst *in);

/* Value i as section `section` may name it. */
static void dync__csrc_use(dync__csrc *c, int i, int section)
{
    const dync__inst *in = dync__csrc_inst(c, i);
    if (in->prim == DYNC__P_const_) {
        dync__csrc_constant(c->out, in);
    } else if (dync__csrc_crosses(in, section) && dync__csrc_reloads(c, in)) {
        dync__csrc_load(c, in);
    } else if (c->kept[i] && in->section != section) {
        dync__str_addf(c->out, "k%d[", i);
        dync__csrc_position(c);
        dync__str_addc(c->out, ']');
    } else {
        dync__str_addf(c->out, "v%d", i);
    }
}

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
        case 'T': dync__str_add(c->out, dync__csrc_type(type)); break;
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
        dync__str_addf(c->out, "%s_from_%s(%s_to_%s(", c->name,
                       dync__dtype_info((int)in->imm.i)->fx, c->name,
                       dync__dtype_info((int)in->imm.i)->fx);
        dync__csrc_use(c, in->arg[0], in->section);
        dync__str_add(c->out, "))");
    }
}

static void dync__csrc_load(dync__csrc *c, const dync__inst *in)
{
    int dtype = c->k->buf.at[in->buf].dtype;
    bool half = dtype == DYNC_F16 || dtype == DYNC_BF16;
    if (half) dync__str_addf(c->out, "%s_from_%s(", c->name, dync__dtype_info(dtype)->fx);
    if (dtype == DYNC_BOOL) dync__str_addc(c->out, '(');
    dync__csrc_memory(c, in, in->prim == DYNC__P_loadx ? in->arg[0] : -1);
    dync__str_add(c->out, half ? ")" : dtype == DYNC_BOOL ? " != 0)" : "");
}

static void dync__csrc_value(dync__csrc *c, const dync__inst *in)
{
    static const char *const unions[] = {"((union { float f; int32_t i; }){.f = $a}).i",
                                         "((union { float f; int32_t i; }){.i = $a}).f",
                                         "((union { double f; int64_t i; }){.f = $a}).i",
                                         "((union { double f; int64_t i; }){.i = $a}).f"};
    switch (in->prim) {
    case DYNC__P_load:
    case DYNC__P_loadx: dync__csrc_load(c, in); break;
    case DYNC__P_index:
        dync__str_add(c->out, "(int64_t)(");
        dync__csrc_index(c, in->access);
        dync__str_addc(c->out, ')');
        break;
    case DYNC__P_cast: dync__csrc_cast(c, in); break;
    case DYNC__P_wrap: dync__csrc_wrap(c, in); break;
    case DYNC__P_scan:
        dync__str_addf(c->out, "(%s)(r%d += (%s)", dync__csrc_type(in->type),
                       (int)(in - c->k->inst.at), in->type == DYNC_I64 ? "uint64_t" : "double");
        dync__csrc_use(c, in->arg[0], in->section);
        dync__str_addc(c->out, ')');
        break;
    case DYNC__P_bitcast:
        dync__csrc_expand(c, in, in->type,
                          unions[in->type == DYNC_I32   ? 0
                                 : in->type == DYNC_F32 ? 1
                                 : in->type == DYNC_I64 ? 2
                                                        : 3]);
        break;
    default: {
        int type = dync__csrc_inst(c, in->arg[in->prim == DYNC__P_select ? 1 : 0])->type;
        dync__csrc_expand(c, in, type, dync__csrc_template(in->prim, type));
    }
    }
}

static void dync__csrc_store(dync__csrc *c, const dync__inst *in)
{
    int dtype = c->k->buf.at[in->buf].dtype;
    bool half = dtype == DYNC_F16 || dtype == DYNC_BF16,
         narrow = dync__dtype_info(dtype)->compute != dtype;
    dync__csrc_memory(c, in, in->prim == DYNC__P_storex ? in->arg[1] : -1);
    dync__str_add(c->out, " = ");
    if (half)
        dync__str_addf(c->out, "%s_to_%s(", c->name, dync__dtype_info(dtype)->fx);
    else if (narrow)
        dync__str_addf(c->out, "(%s)", dync__csrc_type(dtype));
    dync__csrc_use(c, in->arg[0], in->section);
    dync__str_add(c->out, half ? ");\n" : ";\n");
}

/* ---- reductions ------------------------------------------------------------------------------ */

static void dync__csrc_reduce_begin(dync__csrc *c, int i)
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
        dync__str_addf(c->out, "%s r%d = 0;\n", dync__csrc_type(type), i);
        return;
    }
    dync__str_addf(c->out, "%s v%d = ", dync__csrc_type(type), i);
    if ((least || most) && dync__csrc_is_float(type))
        dync__str_add(c->out, least ? "-INFINITY" : "INFINITY");
    else if (least || most)
        dync__str_addf(c->out, "INT%s_%s", type == DYNC_I64 ? "64" : "32", least ? "MIN" : "MAX");
    else
        dync__str_add(c->out, one ? "1" : "0");
    dync__str_add(c->out, ";\n");
}

static void dync__csrc_reduce_step(dync__csrc *c, int i)
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
            dync__str_addf(c->out, "v%d = (%s)((%s)v%d %s (%s)", i, dync__csrc_type(type), u, i, op,
                           u);
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

/* ---- sections -------------------------------------------------------------------------------- */

static void dync__csrc_statement(dync__csrc *c, int i)
{
    const dync__inst *in = dync__csrc_inst(c, i);
    if (!(c->needed[i] & DYNC__CSRC_HERE) || in->prim == DYNC__P_const_) return;
    dync__csrc_line(c);
    if (in->prim == DYNC__P_reduce) {
        dync__csrc_reduce_step(c, i);
    } else if (!dync__inst_has_value(in)) {
        dync__csrc_store(c, in);
    } else {
        dync__str_addf(c->out, "const %s v%d = ", dync__csrc_type(in->type), i);
        dync__csrc_value(c, in);
        dync__str_add(c->out, ";\n");
        if (!c->kept[i]) return;
        dync__csrc_line(c);
        dync__str_addf(c->out, "k%d[", i);
        dync__csrc_position(c);
        dync__str_addf(c->out, "] = v%d;\n", i);
    }
}

/* Opens loops [from, to); returns how many closing braces are due. */
static int dync__csrc_open(dync__csrc *c, int from, int to)
{
    int opened = 0;
    for (int d = from; d < to; d++) {
        char loop = d < c->k->n_outer ? 'o' : 'i';
        int number = d < c->k->n_outer ? d : d - c->k->n_outer;
        if (c->k->extent[d] == 1) continue;
        dync__csrc_line(c);
        dync__str_addf(c->out, "for (int %c%d = 0; %c%d < %lld; %c%d++) {\n", loop, number, loop,
                       number, (long long)c->k->extent[d], loop, number);
        c->indent++;
        opened++;
    }
    return opened;
}

static void dync__csrc_close(dync__csrc *c, int opened)
{
    for (; opened > 0; opened--) {
        c->indent--;
        dync__csrc_line(c);
        dync__str_add(c->out, "}\n");
    }
}

static void dync__csrc_phase(dync__csrc *c, int first, int end)
{
    bool any = false;
    for (int i = first; i < end; i++) {
        any |= (c->needed[i] & DYNC__CSRC_HERE) && dync__csrc_inst(c, i)->prim != DYNC__P_const_;
        if (c->needed[i] && dync__csrc_inst(c, i)->prim == DYNC__P_reduce)
            dync__csrc_reduce_begin(c, i);
        if (!c->needed[i] || dync__csrc_inst(c, i)->prim != DYNC__P_scan) continue;
        dync__csrc_line(c);
        dync__str_addf(c->out, "%s r%d = 0;\n",
                       dync__csrc_inst(c, i)->type == DYNC_I64 ? "uint64_t" : "double", i);
    }
    if (!any) return;
    int opened = dync__csrc_open(c, c->k->n_outer, c->k->n_dims);
    bool block = opened == 0; /* values of different phases never meet, but their scope must end */
    if (block) {
        dync__csrc_line(c);
        dync__str_add(c->out, "{\n");
        c->indent++;
    }
    for (int i = first; i < end; i++) dync__csrc_statement(c, i);
    dync__csrc_close(c, opened + block);
}

/* What is needed, and which values a later phase asks for. */
static void dync__csrc_analyse(dync__csrc *c)
{
    for (int i = c->k->inst.n - 1; i >= 0; i--) {
        const dync__inst *in = dync__csrc_inst(c, i);
        if (!dync__inst_has_value(in)) c->needed[i] = DYNC__CSRC_HERE;
        for (int a = 0; a < 3 && c->needed[i]; a++) {
            if (in->arg[a] < 0) continue;
            const dync__inst *arg = dync__csrc_inst(c, in->arg[a]);
            bool crosses = dync__csrc_crosses(arg, in->section),
                 reloads = crosses && dync__csrc_reloads(c, arg);
            c->needed[in->arg[a]] |= reloads ? DYNC__CSRC_ELSEWHERE : DYNC__CSRC_HERE;
            if (crosses && !reloads) c->kept[in->arg[a]] = 1;
        }
        if (!c->needed[i]) continue;
        int dtype = in->prim == DYNC__P_wrap ? (int)in->imm.i
                    : in->buf >= 0           ? c->k->buf.at[in->buf].dtype
                                             : -1;
        if (dtype != DYNC_F16 && dtype != DYNC_BF16) continue;
        bool in_wrap = in->prim == DYNC__P_wrap, stores = !dync__inst_has_value(in);
        c->half_in[dtype == DYNC_BF16] |= in_wrap || !stores;
        c->half_out[dtype == DYNC_BF16] |= in_wrap || stores;
    }
}

static void dync__csrc_halves(dync__csrc *c)
{
    static const char *const text[2][2] = {
        {"static float %s_from_f16(uint16_t h)\n{\n    uint32_t exp = h & 0x7c00u, mag = (h & "
         "0x7fffu) << 13;\n"
         "    union { uint32_t u; float f; } x = {mag + 0x38800000u};\n    x.f -= "
         "6.103515625e-05f;\n"
         "    if (exp) x.u = mag + (exp == 0x7c00u ? 0x70000000u : 0x38000000u);\n    x.u |= (h & "
         "0x8000u) << 16;\n    return x.f;\n}\n",
         "static float %s_from_bf16(uint16_t h)\n{\n    union { uint32_t u; float f; } x = "
         "{(uint32_t)h << 16};\n    return x.f;\n}\n"},
        {"static uint16_t %s_to_f16(float f)\n{\n    union { float f; uint32_t u; } x = {f}, y;\n"
         "    uint32_t mag = x.u & 0x7fffffffu, sign = x.u >> 16 & 0x8000u;\n"
         "    if (mag >= 0x47800000u) return (uint16_t)(sign | (mag > 0x7f800000u ? 0x7e00u : "
         "0x7c00u));\n"
         "    if (mag >= 0x38800000u) return (uint16_t)(sign | (mag + 0xc8000fffu + (mag >> 13 & "
         "1u)) >> 13);\n"
         "    y.u = mag;\n    y.f += 0.5f;\n    return (uint16_t)(sign | (y.u - "
         "0x3f000000u));\n}\n",
         "static uint16_t %s_to_bf16(float f)\n{\n    union { float f; uint32_t u; } x = {f};\n"
         "    if ((x.u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(x.u >> 16 | 0x40u);\n"
         "    return (uint16_t)((x.u + 0x7fffu + (x.u >> 16 & 1u)) >> 16);\n}\n"}};
    for (int t = 0; t < 2; t++) {
        if (c->half_in[t]) dync__str_addf(c->out, text[0][t], c->name);
        if (c->half_out[t]) dync__str_addf(c->out, text[1][t], c->name);
    }
}

static dync_status dync__csrc_check(const dync__csrc *c)
{
    int64_t total = 1;
    for (int d = 0; d < c->k->n_dims; d++)
        if (!dync__mul_ok(total, DYNC__MAX(c->k->extent[d], 1), &total) || total > INT32_MAX)
            return dync__fail(DYNC_ERR_COMPILE,
                              "kernel %s: more than 2^31 indices do not go into C source",
                              c->k->name);
    for (int i = 0; i < c->k->inst.n; i++)
        if (c->needed[i] && dync__csrc_inst(c, i)->prim == DYNC__P_random)
            return dync__fail(DYNC_ERR_COMPILE, "kernel %s: random numbers do not go into C source",
                              c->k->name);
    return DYNC_OK;
}

static void dync__csrc_function(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    int64_t inner = 1;
    dync__csrc_halves(c);
    dync__str_addf(c->out, "static void %s(", c->name);
    for (int i = 0; i < k->buf.n; i++)
        dync__str_addf(c->out, "%s%s%s *restrict b%d", i ? ", " : "",
                       k->buf.at[i].mode & DYNC__BUF_OUT ? "" : "const ",
                       dync__csrc_type(k->buf.at[i].dtype), i);
    dync__str_add(c->out, k->buf.n ? ")\n{\n" : "void)\n{\n");
    c->indent = 1;
    for (int d = k->n_outer; d < k->n_dims; d++) inner *= k->extent[d];
    for (int i = 0; i < k->inst.n; i++)
        if (c->kept[i] && c->needed[i])
            dync__str_addf(c->out, "    static %s k%d[%lld];\n",
                           dync__csrc_type(k->inst.at[i].type), i, (long long)DYNC__MAX(inner, 1));
    for (int b = 0; b < k->buf.n; b++) {
        bool used = false;
        for (int i = 0; i < k->inst.n; i++) used |= c->needed[i] && k->inst.at[i].buf == b;
        if (!used) dync__str_addf(c->out, "    (void)b%d;\n", b);
    }
    int opened = dync__csrc_open(c, 0, k->n_outer);
    for (int first = 0, end; first < k->inst.n; first = end) {
        int section = k->inst.at[first].section;
        for (end = first; end < k->inst.n && k->inst.at[end].section == section;) end++;
        if (section & 1)
            dync__csrc_phase(c, first, end);
        else
            for (int i = first; i < end; i++) dync__csrc_statement(c, i);
    }
    dync__csrc_close(c, opened);
    dync__str_add(c->out, "}\n");
}

DYNC__FN dync_status dync__kernel_csource(dync__str *out, const dync__kernel *k,
                                          const char *fn_name)
{
    dync__csrc c;
    dync__arena arena = {0};
    const dync__kernel *expanded = dync__kernel_expand(&arena, k, false);
    if (!expanded) return dync__arena_free(&arena), DYNC_ERR_MEMORY;
    k = expanded;
    size_t n = (size_t)DYNC__MAX(k->inst.n, 1);
    memset(&c, 0, sizeof c);
    c.out = out;
    c.k = k;
    c.name = fn_name;
    c.needed = dync__calloc(2 * n);
    if (!c.needed) return dync__arena_free(&arena), DYNC_ERR_MEMORY;
    c.kept = c.needed + n;
    dync__csrc_analyse(&c);
    dync_status status = dync__csrc_check(&c);
    if (status == DYNC_OK) dync__csrc_function(&c);
    dync__free(c.needed, 2 * n);
    dync__arena_free(&arena);
    return status == DYNC_OK && out->failed ? DYNC_ERR_MEMORY : status;
}
