/* codegen/csrc.c: a kernel as readable C11, for programs that run without this library. Before:
 * loop/; after: program/csource.c.
 *
 *   static void NAME(const float *restrict b0, float *restrict b1) { for (int o0 = ...) { row
 *     code, phases } }
 * One parameter per buffer in their order; one loop per loop, one constant per value. The text
 * needs stdint.h and math.h. Values of an earlier phase are loaded again or kept in a static
 * array, one element per inner index. fma is a * b + c; sums are plain; everything else is what
 * eval.c says. Sizes beyond int are refused; random numbers, too, but in the exporter's files.
 * Sizes may be symbolic, of the table in force: the source of a symbol is its name in C. Where the
 * caller has room for them (dync__csrc_room), kept values lie there, and each buffer begins at its
 * first element that is read or written.
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
    dync__csrc_room *room;         /* NULL: kept values are static */
    int64_t base[DYNC__CSRC_BUFS]; /* of each buffer: what its accesses' offsets are from */
    int indent;
    int in; /* of a function of one element: the buffer whose element is its argument x; else -1 */
    bool half_in[2], half_out[2]; /* conversions asked for: f16, bf16 */
} dync__csrc;

static const dync__inst *dync__csrc_inst(const dync__csrc *c, int i) { return &c->k->inst.at[i]; }
static bool dync__csrc_is_float(int type) { return type == DYNC_F32 || type == DYNC_F64; }

static void dync__csrc_line(dync__csrc *c)
{
    for (int i = 0; i < c->indent; i++) dync__str_add(c->out, "    ");
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* recursion: over what a size is made of. factor: it stands in a product */
static void dync__csrc_size(dync__str *s, int64_t size, bool factor);

/* Divisions round down, also where the dividend may be negative: then a is less than 0 in
 * (a < 0 ? -((b - 1 - a) / b) : a / b) and ((a % b + b) % b). */
static void dync__csrc_quotient(dync__str *s, const dync__sz_expr *e)
{
    static const char *const plain[2] = {"(a / b)", "(a % b)"},
                             *const floors[2] = {"(a < 0 ? -((b - 1 - a) / b) : a / b)",
                                                 "((a % b + b) % b)"};
    double low, high;
    dync__sz_bounds(e->a, &low, &high);
    for (const char *p = (low >= 0 ? plain : floors)[e->kind == DYNC__SZ_MOD]; *p; p++) {
        if (*p == 'a' || *p == 'b')
            dync__csrc_size(s, *p == 'a' ? e->a : e->b, true);
        else
            dync__str_addc(s, *p);
    }
}

static void dync__csrc_sum(dync__str *s, const dync__sz_expr *e, bool factor)
{
    bool parentheses = factor && (e->n_terms > 1 || e->term[0].coef < 0);
    if (parentheses) dync__str_addc(s, '(');
    for (int i = 0; i < e->n_terms; i++) {
        const dync__sz_term *t = &e->term[i];
        int64_t coef = t->coef < 0 ? -t->coef : t->coef;
        dync__str_add(s, t->coef < 0 ? (i ? " - " : "-") : i ? " + " : "");
        if (coef != 1 || t->n == 0) dync__str_addf(s, "%lld", (long long)coef);
        for (int k = 0; k < t->n; k++) {
            if (k || coef != 1) dync__str_add(s, " * ");
            dync__csrc_size(s, t->atom[k], true);
        }
    }
    if (parentheses) dync__str_addc(s, ')');
}

/* Numbers made of sizes: double, as tensor/sym.c computes them. */
static void dync__csrc_real(dync__str *s, int64_t bits)
{
    static const char *const signs[] = {" + ", " - ", " * ", " / "};
    const dync__symtab *t = dync__tls.syms;
    const dync__sz_expr *e = dync__is_sf(bits) && t ? dync__symtab_find(t, bits) : NULL;
    char text[48];
    if (!e) {
        dync__double_text(dync__sf_double(bits), text, sizeof text);
        dync__str_addf(s, "%s%s", text, strpbrk(text, ".einf") ? "" : ".0");
        return;
    }
    dync__str_add(s, e->kind == DYNC__SF_OF     ? "(double)("
                     : e->kind == DYNC__SF_SQRT ? "sqrt("
                                                : "(");
    if (e->kind == DYNC__SF_OF)
        dync__csrc_size(s, e->a, false);
    else
        dync__csrc_real(s, e->a);
    if (e->kind >= DYNC__SF_ADD && e->kind <= DYNC__SF_DIV) {
        dync__str_add(s, signs[e->kind - DYNC__SF_ADD]);
        dync__csrc_real(s, e->b);
    }
    dync__str_addc(s, ')');
}

/* recursion: over what a size is made of. factor: it stands in a product */
static void dync__csrc_size(dync__str *s, int64_t size, bool factor)
{
    const dync__symtab *t = dync__tls.syms;
    const dync__sz_expr *e = dync__is_token(size) && t ? dync__symtab_find(t, size) : NULL;
    if (!e) {
        dync__str_addf(s, factor && size < 0 ? "(%lld)" : "%lld", (long long)size);
    } else if (e->kind == DYNC__SZ_SYMBOL) {
        dync__str_add(s, t->symbol.at[e->symbol].source);
    } else if (e->kind == DYNC__SZ_SUM) {
        dync__csrc_sum(s, e, factor);
    } else if (e->kind == DYNC__SZ_DIV || e->kind == DYNC__SZ_MOD) {
        dync__csrc_quotient(s, e);
    } else { /* (a < b ? a : b) */
        dync__str_addc(s, '(');
        dync__csrc_size(s, e->a, true);
        dync__str_add(s, e->kind == DYNC__SZ_MIN ? " < " : " > ");
        dync__csrc_size(s, e->b, true);
        dync__str_add(s, " ? ");
        dync__csrc_size(s, e->a, true);
        dync__str_add(s, " : ");
        dync__csrc_size(s, e->b, true);
        dync__str_addc(s, ')');
    }
}

DYNC__FN void dync__size_csource(dync__str *s, int64_t size) { dync__csrc_size(s, size, false); }

/* " + 6 * i0": a term of an index; *first: none stands before it. */
DYNC__FN void dync__term_csource(dync__str *s, int64_t stride, const char *var, bool *first)
{
    if (stride == 0 || !var) return;
    bool negative = stride < 0;
    dync__str_add(s, negative ? (*first ? "-" : " - ") : *first ? "" : " + ");
    if (stride != 1 && stride != -1) {
        dync__csrc_size(s, negative ? -stride : stride, true);
        dync__str_add(s, " * ");
    }
    dync__str_add(s, var);
    *first = false;
}

DYNC__FN void dync__offset_csource(dync__str *s, int64_t offset, bool first)
{
    if (offset == 0 && !first) return;
    if (!first) dync__str_add(s, offset < 0 ? " - " : " + ");
    dync__csrc_size(s, offset < 0 && !first ? -offset : offset, !first);
}

/* ---- operands -------------------------------------------------------------------------------- */

static void dync__csrc_float(dync__str *out, double x, int type)
{
    char text[48];
    if (x - x != 0) {
        dync__str_addf(out, "(%s)%s", dync__dtype_c_type(type),
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
    bool real = dync__csrc_is_float(in->type);
    if (real ? dync__is_sf(in->imm.i) : dync__is_token(in->imm.i)) {
        dync__str_addf(out, "(%s)(", dync__dtype_c_type(in->type));
        (real ? dync__csrc_real(out, in->imm.i) : dync__csrc_size(out, in->imm.i, false));
        dync__str_addc(out, ')');
    } else if (dync__csrc_is_float(in->type))
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
static void dync__csrc_index(dync__csrc *c, int access, int64_t base)
{
    const dync__access *a = &c->k->access.at[access];
    bool first = true;
    char var[16];
    for (int d = 0; d < c->k->n_dims; d++) {
        bool outer = d < c->k->n_outer;
        dync__format(var, sizeof var, "%c%d", outer ? 'o' : 'i', outer ? d : d - c->k->n_outer);
        if (c->k->extent[d] != 1) dync__term_csource(c->out, a->stride[d], var, &first);
    }
    dync__offset_csource(c->out, dync__sz_sub(a->offset, base), first);
}

/* The linearised inner index, for kept values and positions. */
static void dync__csrc_position(dync__csrc *c)
{
    int64_t stride = 1;
    bool first = true;
    char var[16];
    for (int d = c->k->n_dims - 1; d >= c->k->n_outer; d--) {
        dync__format(var, sizeof var, "i%d", d - c->k->n_outer);
        if (c->k->extent[d] != 1) dync__term_csource(c->out, stride, var, &first);
        stride = dync__sz_mul(stride, c->k->extent[d]);
    }
    if (first) dync__str_add(c->out, "0");
}

static void dync__csrc_memory(dync__csrc *c, const dync__inst *in, int index)
{
    dync__str_addf(c->out, "b%d[", (int)in->buf);
    dync__csrc_index(c, in->access, c->base[in->buf]);
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
    if (in->buf == c->in) {
        dync__str_addc(c->out, 'x');
        return;
    }
    bool half = dtype == DYNC_F16 || dtype == DYNC_BF16;
    if (half) dync__str_addf(c->out, "%s_from_%s(", c->name, dync__dtype_info(dtype)->fx);
    if (dtype == DYNC_BOOL) dync__str_addc(c->out, '(');
    dync__csrc_memory(c, in, in->prim == DYNC__P_loadx ? in->arg[0] : -1);
    dync__str_add(c->out, half ? ")" : dtype == DYNC_BOOL ? " != 0)" : "");
}

static void dync__csrc_value(dync__csrc *c, const dync__inst *in)
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
                          in->type == DYNC_F32 ? "#_uniform32(r, $a)"
                          : in->imm.i == 2     ? "#_uniform64(r, $a, 2)"
                                               : "#_uniform64(r, $a, 0)");
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
        dync__csrc_expand(c, in, type, dync__csrc_template(in->prim, type));
    }
    }
}

static void dync__csrc_store(dync__csrc *c, const dync__inst *in)
{
    int dtype = c->k->buf.at[in->buf].dtype;
    bool half = dtype == DYNC_F16 || dtype == DYNC_BF16,
         narrow = dync__dtype_info(dtype)->compute != dtype;
    if (c->in < 0) dync__csrc_memory(c, in, in->prim == DYNC__P_storex ? in->arg[1] : -1);
    dync__str_add(c->out, c->in < 0 ? " = " : "return ");
    if (half)
        dync__str_addf(c->out, "%s_to_%s(", c->name, dync__dtype_info(dtype)->fx);
    else if (narrow)
        dync__str_addf(c->out, "(%s)", dync__dtype_c_type(dtype));
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
        dync__str_addf(c->out, "const %s v%d = ", dync__dtype_c_type(in->type), i);
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
        dync__str_addf(c->out, "for (int %c%d = 0; %c%d < ", loop, number, loop, number);
        dync__csrc_size(c->out, c->k->extent[d], false);
        dync__str_addf(c->out, "; %c%d++) {\n", loop, number);
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

/* The greatest that a size may be. */
static double dync__csrc_most(int64_t size)
{
    double low, high;
    dync__sz_bounds(size, &low, &high);
    return high;
}

static dync_status dync__csrc_check(const dync__csrc *c)
{
    double total = 1;
    for (int d = 0; d < c->k->n_dims; d++)
        if ((total *= DYNC__MAX(dync__csrc_most(c->k->extent[d]), 1)) > INT32_MAX)
            return dync__fail(DYNC_ERR_COMPILE,
                              "kernel %s: more than 2^31 indices do not go into C source",
                              c->k->name);
    for (int i = 0; i < c->k->inst.n; i++)
        if (c->needed[i] && dync__csrc_inst(c, i)->prim == DYNC__P_random && !c->room)
            return dync__fail(DYNC_ERR_COMPILE, "kernel %s: random numbers do not go into C source",
                              c->k->name);
    return DYNC_OK;
}

/* Where each buffer begins: the least offset of its accesses, all of the same symbols. */
static void dync__csrc_bases(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    bool seen[DYNC__CSRC_BUFS] = {false};
    memset(c->base, 0, sizeof c->base);
    for (int i = 0; i < k->inst.n && c->room; i++) {
        int b = k->inst.at[i].buf;
        int64_t offset = b >= 0 && c->needed[i] ? k->access.at[k->inst.at[i].access].offset : 0;
        if (b < 0 || !c->needed[i]) continue;
        if (!seen[b])
            c->base[b] = offset;
        else if (c->base[b] != offset)
            c->base[b] = dync__is_token(offset) || dync__is_token(c->base[b])
                             ? 0
                             : DYNC__MIN(offset, c->base[b]);
        seen[b] = true;
    }
    for (int b = 0; c->room && b < k->buf.n; b++) c->room->base[b] = c->base[b];
}

/* Arrays of kept values, one element for each inner index. */
static void dync__csrc_keep(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    int64_t bytes = 0;
    double inner = 1;
    for (int d = k->n_outer; d < k->n_dims; d++) inner *= dync__csrc_most(k->extent[d]);
    int64_t n = inner < 1 ? 1 : inner > INT32_MAX ? INT32_MAX : (int64_t)inner;
    for (int i = 0; i < k->inst.n; i++) {
        if (!c->kept[i] || !c->needed[i]) continue;
        const char *type = dync__dtype_c_type(k->inst.at[i].type);
        if (c->room)
            dync__str_addf(c->out, "    %s *restrict k%d = (%s *)(void *)(a + %lld);\n", type, i,
                           type, (long long)bytes);
        else
            dync__str_addf(c->out, "    static %s k%d[%lld];\n", type, i, (long long)n);
        bytes += (n * dync__dtype_info(k->inst.at[i].type)->bytes + 7) & ~(int64_t)7;
    }
    if (c->room) c->room->bytes = bytes;
}

static bool dync__csrc_keeps(const dync__csrc *c)
{
    bool any = false;
    for (int i = 0; i < c->k->inst.n; i++) any = any || (c->kept[i] && c->needed[i]);
    return any && c->room;
}

static void dync__csrc_function(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    bool keeps = dync__csrc_keeps(c);
    dync__csrc_halves(c);
    dync__str_addf(c->out, "static void %s(", c->name);
    for (int i = 0; i < k->buf.n; i++)
        dync__str_addf(c->out, "%s%s%s *restrict b%d", i ? ", " : "",
                       k->buf.at[i].mode & DYNC__BUF_OUT ? "" : "const ",
                       dync__dtype_c_type(k->buf.at[i].dtype), i);
    if (keeps) dync__str_add(c->out, k->buf.n ? ", unsigned char *a" : "unsigned char *a");
    bool draws = k->uses_random && c->room;
    if (draws) dync__str_addf(c->out, "%sconst uint64_t *r", k->buf.n || keeps ? ", " : "");
    dync__str_add(c->out, k->buf.n || keeps || draws ? ")\n{\n" : "void)\n{\n");
    c->indent = 1;
    if (draws) dync__str_add(c->out, "    (void)r;\n");
    dync__csrc_keep(c);
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

/* ---- one element ----------------------------------------------------------------------------- */

/* Each loop that a value but the argument and the result depends on, by bits. */
static uint32_t dync__csrc_loops(const dync__csrc *c)
{
    const dync__kernel *k = c->k;
    uint32_t loops = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!c->needed[i] || in->access < 0 || in->prim == DYNC__P_store || in->buf == c->in)
            continue;
        for (int d = 0; d < k->n_dims; d++)
            if (k->extent[d] != 1 && k->access.at[in->access].stride[d]) loops |= (uint32_t)1 << d;
    }
    return loops;
}

/* static inline float NAME(float x, int i0, const float *b1) { ... return v3; } */
static void dync__csrc_element(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    int type = DYNC_F32;
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_store) type = k->buf.at[k->inst.at[i].buf].dtype;
    dync__csrc_halves(c);
    dync__str_addf(c->out, "static inline %s %s(%s x", dync__dtype_c_type(type), c->name,
                   dync__dtype_c_type(k->buf.at[c->in].dtype));
    for (int d = 0; d < k->n_dims; d++) {
        bool outer = d < k->n_outer;
        if (c->room->loops >> d & 1)
            dync__str_addf(c->out, ", int %c%d", outer ? 'o' : 'i', outer ? d : d - k->n_outer);
    }
    for (int b = 0; b < k->buf.n; b++)
        if (b != c->in && !(k->buf.at[b].mode & DYNC__BUF_OUT))
            dync__str_addf(c->out, ", const %s *b%d", dync__dtype_c_type(k->buf.at[b].dtype), b);
    dync__str_add(c->out, ")\n{\n");
    c->indent = 1;
    for (int b = 0; b < k->buf.n; b++) {
        bool used = b == c->in || (k->buf.at[b].mode & DYNC__BUF_OUT);
        for (int i = 0; i < k->inst.n; i++) used |= c->needed[i] && k->inst.at[i].buf == b;
        if (!used) dync__str_addf(c->out, "    (void)b%d;\n", b);
    }
    bool uses_x = false;
    for (int i = 0; i < k->inst.n; i++)
        uses_x |= k->inst.at[i].buf == c->in && (c->needed[i] & DYNC__CSRC_HERE);
    if (!uses_x) dync__str_add(c->out, "    (void)x;\n");
    for (int i = 0; i < k->inst.n; i++) dync__csrc_statement(c, i);
    dync__str_add(c->out, "}\n");
}

/* ---- the way in ------------------------------------------------------------------------------ */

/* in: as in dync__csrc */
static dync_status dync__csrc_text(dync__str *out, const dync__kernel *k, const char *fn_name,
                                   int in, dync__csrc_room *room)
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
    c.in = in;
    c.room = k->buf.n > DYNC__CSRC_BUFS ? NULL : room;
    c.needed = dync__calloc(2 * n);
    if (!c.needed) return dync__arena_free(&arena), DYNC_ERR_MEMORY;
    c.kept = c.needed + n;
    dync__csrc_analyse(&c);
    dync_status status = dync__csrc_check(&c);
    if (room && !c.room)
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "C source: loops over more than %d arrays",
                            (int)DYNC__CSRC_BUFS);
    if (status == DYNC_OK) dync__csrc_bases(&c);
    if (status == DYNC_OK && in >= 0) room->loops = dync__csrc_loops(&c);
    if (status == DYNC_OK) (in >= 0 ? dync__csrc_element : dync__csrc_function)(&c);
    dync__free(c.needed, 2 * n);
    dync__arena_free(&arena);
    return status == DYNC_OK && out->failed ? DYNC_ERR_MEMORY : status;
}

DYNC__FN dync_status dync__kernel_csource(dync__str *out, const dync__kernel *k,
                                          const char *fn_name, dync__csrc_room *room)
{
    return dync__csrc_text(out, k, fn_name, -1, room);
}

DYNC__FN dync_status dync__element_csource(dync__str *out, const dync__kernel *k,
                                           const char *fn_name, int in, dync__csrc_room *room)
{
    return dync__csrc_text(out, k, fn_name, in, room);
}
