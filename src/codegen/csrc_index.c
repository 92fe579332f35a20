/* codegen/csrc_index.c: sizes, constants and places of elements as C text, and how a kernel names
 * its values. Before csrc_value.c. */
#include "../dync.in.h"
#include "codegen.h"
#include "csrc.h"
DYNC__COLD

DYNC__FN const dync__inst *dync__csrc_inst(const dync__csrc *c, int i) { return &c->k->inst.at[i]; }
DYNC__FN bool dync__csrc_is_float(int type) { return type == DYNC_F32 || type == DYNC_F64; }

DYNC__FN void dync__csrc_line(dync__csrc *c)
{
    for (int i = 0; i < c->indent; i++) dync__str_add(c->out, "    ");
}

/* ---- sizes ----------------------------------------------------------------------------------- */

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
DYNC__FN void dync__csrc_size(dync__str *s, int64_t size, bool factor)
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

/* x where the type is a float, else i */
DYNC__FN void dync__csrc_number(dync__str *out, double x, int64_t i, int type)
{
    if (dync__csrc_is_float(type))
        dync__csrc_float(out, x, type);
    else if (i == INT64_MIN)
        dync__str_add(out, "INT64_MIN");
    else if (type == DYNC_I32 && i == INT32_MIN)
        dync__str_add(out, "INT32_MIN");
    else
        dync__str_addf(out, i < 0 ? "(%s%lld)" : "%s%lld", type == DYNC_I64 ? "(int64_t)" : "",
                       (long long)i);
}

static void dync__csrc_constant(dync__str *out, const dync__inst *in)
{
    bool real = dync__csrc_is_float(in->type);
    if (real ? !dync__is_sf(in->imm.i) : !dync__is_token(in->imm.i)) {
        dync__csrc_number(out, real ? in->imm.f : 0, real ? 0 : in->imm.i, in->type);
        return;
    }
    dync__str_addf(out, "(%s)(", dync__dtype_c_type(in->type));
    (real ? dync__csrc_real(out, in->imm.i) : dync__csrc_size(out, in->imm.i, false));
    dync__str_addc(out, ')');
}

DYNC__FN bool dync__csrc_is_known(const dync__csrc *c, const dync__inst *in)
{
    return in->prim == DYNC__P_load && dync__csrc_known(c, in->buf);
}

DYNC__FN const void *dync__csrc_known(const dync__csrc *c, int buf)
{
    return c->room && buf >= 0 && buf < DYNC__CSRC_BUFS ? c->room->known[buf] : NULL;
}

/* The linear form of an access over its loops. */
DYNC__FN void dync__csrc_index(dync__csrc *c, int access, int64_t base)
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
DYNC__FN void dync__csrc_position(dync__csrc *c)
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

DYNC__FN void dync__csrc_memory(dync__csrc *c, const dync__inst *in, int index)
{
    dync__str_addf(c->out, "b%d[", (int)in->buf);
    dync__csrc_index(c, in->access, c->base[in->buf]);
    if (index >= 0) dync__str_addf(c->out, " + v%d", index);
    dync__str_addc(c->out, ']');
}

/* A value of one phase that another phase asks for. */
DYNC__FN bool dync__csrc_crosses(const dync__inst *in, int section)
{
    return (in->section & 1) && in->section != section && in->prim != DYNC__P_reduce &&
           in->prim != DYNC__P_const_;
}

/* Such a value is loaded again where nothing has written the buffer since. */
DYNC__FN bool dync__csrc_reloads(const dync__csrc *c, const dync__inst *in)
{
    return in->prim == DYNC__P_load && !(c->k->buf.at[in->buf].mode & DYNC__BUF_OUT);
}

/* Whose functions convert f16 and bf16: the file's, or the kernel's. */
DYNC__FN const char *dync__csrc_owner(const dync__csrc *c) { return c->room ? "#" : c->name; }

DYNC__FN void dync__csrc_load(dync__csrc *c, const dync__inst *in)
{
    int dtype = c->k->buf.at[in->buf].dtype;
    if (in->buf == c->in) {
        dync__str_addc(c->out, 'x');
        return;
    }
    const void *known = dync__csrc_known(c, in->buf);
    if (known) {
        bool real = dync__csrc_is_float(in->type);
        dync__csrc_number(c->out, real ? dync__load_f64(known, dtype) : 0,
                          real ? 0 : dync__load_i64(known, dtype), in->type);
        return;
    }
    bool half = dtype == DYNC_F16 || dtype == DYNC_BF16;
    if (half)
        dync__str_addf(c->out, "%s_from_%s(", dync__csrc_owner(c), dync__dtype_info(dtype)->fx);
    if (dtype == DYNC_BOOL) dync__str_addc(c->out, '(');
    dync__csrc_memory(c, in, in->prim == DYNC__P_loadx ? in->arg[0] : -1);
    dync__str_add(c->out, half ? ")" : dtype == DYNC_BOOL ? " != 0)" : "");
}

/* Value i as section `section` may name it. */
DYNC__FN void dync__csrc_use(dync__csrc *c, int i, int section)
{
    const dync__inst *in = dync__csrc_inst(c, i);
    if (in->prim == DYNC__P_const_) {
        dync__csrc_constant(c->out, in);
    } else if (dync__csrc_is_known(c, in) ||
               (dync__csrc_crosses(in, section) && dync__csrc_reloads(c, in))) {
        dync__csrc_load(c, in);
    } else if (c->kept[i] && in->section != section) {
        dync__str_addf(c->out, "k%d[", i);
        dync__csrc_position(c);
        dync__str_addc(c->out, ']');
    } else {
        dync__str_addf(c->out, "v%d", i);
    }
}
