/* codegen/csrc.c: a kernel as a C11 function: one loop nest, one statement an instruction. For programs that leave dync (a
 * microcontroller, another project), so plain types, static memory, math.h at most. Before: loop/. The meaning is eval.c's; sums are
 * sequential, and fma is a product and a sum unless the compiler contracts it.
 *
 *   static void softmax_step0(const float *b0, float *b1)
 *   {
 *       static float keep2[1000];                 // a value of one phase that a later one reads
 *       for (int i0 = 0; i0 < 64; i0++) {
 *           float v1 = -INFINITY; ...             // reductions of a phase start before it
 *           for (int i1 = 0; i1 < 1000; i1++) { ... }
 */
#include "../dync.in.h"
#include "codegen.h"

typedef struct dync__csrc {
    dync__str *s;
    const dync__kernel *k;
    const char *why;                       /* what cannot be written */
    bool *kept;                            /* phase values that a later phase reads */
    bool wide;                             /* an index leaves int */
    int depth;
} dync__csrc;

static const char *dync__csrc_ctype(int dtype)
{
    switch (dtype) {
    case DYNC_F32: return "float";
    case DYNC_F64: return "double";
    case DYNC_I64: return "int64_t";
    case DYNC_I32: return "int32_t";
    case DYNC_I16: return "int16_t";
    case DYNC_I8: return "int8_t";
    case DYNC_U8: case DYNC_BOOL: return "uint8_t";
    default: return NULL;
    }
}

static void dync__csrc_indent(const dync__csrc *c)
{
    for (int i = 0; i < c->depth; i++) dync__str_add(c->s, "    ");
}

/* ---- expressions --------------------------------------------------------------------------------------------------------- */
static void dync__csrc_access(const dync__csrc *c, int access)
{
    const dync__access *a = &c->k->access.at[access];
    bool any = false;
    for (int d = 0; d < c->k->n_dims; d++) {
        if (!a->stride[d] || c->k->extent[d] == 1) continue;
        if (a->stride[d] == 1) dync__str_addf(c->s, "%si%d", any ? " + " : "", d);
        else dync__str_addf(c->s, "%s%s%lld * i%d", any ? " + " : "", c->wide ? "(int64_t)" : "", (long long)a->stride[d], d);
        any = true;
    }
    if (a->offset || !any) dync__str_addf(c->s, "%s%lld", any ? " + " : "", (long long)a->offset);
}

static void dync__csrc_float(const dync__csrc *c, double x, int type)
{
    char text[40];
    if (x != x) dync__str_add(c->s, "NAN");
    else if (x > DBL_MAX) dync__str_add(c->s, "INFINITY");
    else if (x < -DBL_MAX) dync__str_add(c->s, "-INFINITY");
    else {
        if (type == DYNC_F32) dync__float_text((float)x, text, sizeof text);
        else dync__double_text(x, text, sizeof text);
        dync__str_addf(c->s, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", type == DYNC_F32 ? "f" : "");
    }
}

static void dync__csrc_constant(const dync__csrc *c, const dync__inst *i)
{
    if (i->type == DYNC_F32 || i->type == DYNC_F64) dync__csrc_float(c, i->imm.f, i->type);
    else if (i->type == DYNC_I64 && i->imm.i == INT64_MIN) dync__str_add(c->s, "INT64_MIN");
    else if (i->type == DYNC_I64) dync__str_addf(c->s, "INT64_C(%lld)", (long long)i->imm.i);
    else if (i->imm.i == INT32_MIN) dync__str_add(c->s, "INT32_MIN");
    else dync__str_addf(c->s, "%lld", (long long)i->imm.i);
}

/* A value as an operand: kept ones of an earlier phase are read back. */
static void dync__csrc_value(const dync__csrc *c, const dync__inst *user, int v)
{
    const dync__inst *i = &c->k->inst.at[v];
    bool kept = c->kept[v] && (i->section & 1) && user->section != i->section && i->prim != DYNC__P_reduce;
    dync__str_addf(c->s, kept ? "keep%d[n]" : "v%d", v);
}

/* Patterns of the primitives: @0 @1 @2 operands, @f the suffix of a float function, @t @u the result's C type, plain and unsigned. */
static const char *dync__csrc_pattern(const dync__inst *i, int from)
{
    bool fl = i->type == DYNC_F32 || i->type == DYNC_F64;
    switch (i->prim) {
    case DYNC__P_add: return fl ? "@0 + @1" : "(@t)((@u)@0 + (@u)@1)";
    case DYNC__P_sub: return fl ? "@0 - @1" : "(@t)((@u)@0 - (@u)@1)";
    case DYNC__P_mul: return fl ? "@0 * @1" : "(@t)((@u)@0 * (@u)@1)";
    case DYNC__P_div: return fl ? "@0 / @1" : "@1 == 0 ? 0 : @1 == -1 ? (@t)(0 - (@u)@0) : @0 / @1";
    case DYNC__P_rem: return "@1 == 0 || @1 == -1 ? 0 : @0 % @1";
    case DYNC__P_fma: return "@0 * @1 + @2";
    case DYNC__P_neg: return fl ? "-@0" : "(@t)(0 - (@u)@0)";
    case DYNC__P_abs: return fl ? "fabs@f(@0)" : "@0 < 0 ? (@t)(0 - (@u)@0) : @0";
    case DYNC__P_sqrt: return "sqrt@f(@0)";
    case DYNC__P_floor: return "floor@f(@0)";
    case DYNC__P_ceil: return "ceil@f(@0)";
    case DYNC__P_trunc: return "trunc@f(@0)";
    case DYNC__P_rint: return "rint@f(@0)";
    case DYNC__P_min: return fl ? "@0 != @0 || @0 < @1 ? @0 : @1" : "@0 < @1 ? @0 : @1";
    case DYNC__P_max: return fl ? "@0 != @0 || @0 > @1 ? @0 : @1" : "@0 > @1 ? @0 : @1";
    case DYNC__P_lt: return "@0 < @1";
    case DYNC__P_le: return "@0 <= @1";
    case DYNC__P_eq: return "@0 == @1";
    case DYNC__P_ne: return "@0 != @1";
    case DYNC__P_and_: return "(@t)(@0 & @1)";
    case DYNC__P_or_: return "(@t)(@0 | @1)";
    case DYNC__P_xor_: return "(@t)(@0 ^ @1)";
    case DYNC__P_not_: return i->type == DYNC_BOOL ? "!@0" : "~@0";
    case DYNC__P_shl: return "(@t)((@u)@0 << @1)";
    case DYNC__P_shr: return "@0 >> @1";
    case DYNC__P_select: return "@0 ? @1 : @2";
    case DYNC__P_cast:
        if (i->type == DYNC_BOOL) return "@0 != 0";
        if ((from == DYNC_F32 || from == DYNC_F64) && i->type == DYNC_I32)
            return "@0 != @0 ? 0 : @0 >= 2147483648.0 ? INT32_MAX : @0 <= -2147483648.0 ? INT32_MIN : (int32_t)@0";
        if ((from == DYNC_F32 || from == DYNC_F64) && i->type == DYNC_I64)
            return "@0 != @0 ? 0 : @0 >= 9223372036854775808.0 ? INT64_MAX : @0 <= -9223372036854775808.0 ? INT64_MIN : (int64_t)@0";
        return "(@t)@0";
    case DYNC__P_bitcast:
        switch (i->type) {
        case DYNC_F32: return "((union { int32_t i; float f; }){ .i = @0 }).f";
        case DYNC_I32: return "((union { float f; int32_t i; }){ .f = @0 }).i";
        case DYNC_F64: return "((union { int64_t i; double f; }){ .i = @0 }).f";
        default: return "((union { double f; int64_t i; }){ .f = @0 }).i";
        }
    case DYNC__P_wrap:
        switch (i->imm.i) {
        case DYNC_I16: return "(int16_t)@0";
        case DYNC_I8: return "(int8_t)@0";
        case DYNC_U8: return "(uint8_t)@0";
        default: return NULL;
        }
    default: return NULL;
    }
}

static void dync__csrc_expand(dync__csrc *c, const dync__inst *i, const char *pattern)
{
    const char *type = dync__csrc_ctype(i->type);
    for (const char *p = pattern; *p; p++) {
        if (*p != '@') dync__str_addc(c->s, *p);
        else switch (*++p) {
        case 'f': dync__str_add(c->s, i->type == DYNC_F32 ? "f" : ""); break;
        case 't': dync__str_add(c->s, type); break;
        case 'u': dync__str_add(c->s, i->type == DYNC_I64 ? "uint64_t" : "uint32_t"); break;
        default: dync__csrc_value(c, i, i->arg[*p - '0']);
        }
    }
}

/* ---- reductions ------------------------------------------------------------------------------------------------------------ */
static bool dync__csrc_is_arg(const dync__inst *i) { return i->imm.i == DYNC__R_ARGMAX || i->imm.i == DYNC__R_ARGMIN; }

static void dync__csrc_reduce_start(dync__csrc *c, int v)
{
    const dync__inst *i = &c->k->inst.at[v];
    int from = c->k->inst.at[i->arg[0]].type;
    bool fl = from == DYNC_F32 || from == DYNC_F64;
    const char *low = fl ? "-INFINITY" : from == DYNC_I64 ? "INT64_MIN" : from == DYNC_I32 ? "INT32_MIN" : "0";
    const char *high = fl ? "INFINITY" : from == DYNC_I64 ? "INT64_MAX" : from == DYNC_I32 ? "INT32_MAX" : "1";
    const char *start = "0";
    switch (i->imm.i) {
    case DYNC__R_PROD: case DYNC__R_ALL: start = "1"; break;
    case DYNC__R_MAX: start = low; break;
    case DYNC__R_MIN: start = high; break;
    default: break;
    }
    dync__csrc_indent(c);
    dync__str_addf(c->s, "%s v%d = %s;\n", dync__csrc_ctype(i->type), v, start);
    if (!dync__csrc_is_arg(i)) return;
    dync__csrc_indent(c);
    dync__str_addf(c->s, "%s best%d = %s;\n", dync__csrc_ctype(from), v, i->imm.i == DYNC__R_ARGMAX ? low : high);
}

static void dync__csrc_reduce_step(dync__csrc *c, int v)
{
    const dync__inst *i = &c->k->inst.at[v];
    int a = i->arg[0];
    bool wraps = i->type == DYNC_I64 || i->type == DYNC_I32;
    const char *t = dync__csrc_ctype(i->type), *u = i->type == DYNC_I64 ? "uint64_t" : "uint32_t";
    dync__csrc_indent(c);
    switch (i->imm.i) {
    case DYNC__R_SUM: case DYNC__R_PROD: {
        char op = i->imm.i == DYNC__R_SUM ? '+' : '*';
        if (wraps) dync__str_addf(c->s, "v%d = (%s)((%s)v%d %c (%s)v%d);\n", v, t, u, v, op, u, a);
        else dync__str_addf(c->s, "v%d %c= v%d;\n", v, op, a);
        break;
    }
    case DYNC__R_MAX: dync__str_addf(c->s, "if (v%d > v%d || v%d != v%d) v%d = v%d;\n", a, v, a, a, v, a); break;
    case DYNC__R_MIN: dync__str_addf(c->s, "if (v%d < v%d || v%d != v%d) v%d = v%d;\n", a, v, a, a, v, a); break;
    case DYNC__R_ANY: dync__str_addf(c->s, "v%d |= v%d;\n", v, a); break;
    case DYNC__R_ALL: dync__str_addf(c->s, "v%d &= v%d;\n", v, a); break;
    default:
        dync__str_addf(c->s, "if ((v%d %c best%d || v%d != v%d || n == 0) && best%d == best%d) { best%d = v%d; v%d = n; }\n", a,
                       i->imm.i == DYNC__R_ARGMAX ? '>' : '<', v, a, a, v, v, v, a, v);
    }
}

/* ---- statements -------------------------------------------------------------------------------------------------------------- */
static void dync__csrc_store(dync__csrc *c, const dync__inst *i)
{
    int dtype = c->k->buf.at[i->buf].dtype;
    dync__csrc_indent(c);
    dync__str_addf(c->s, "b%d[", i->buf);
    dync__csrc_access(c, i->access);
    if (i->prim == DYNC__P_storex) {
        dync__str_add(c->s, " + ");
        dync__csrc_value(c, i, i->arg[1]);
    }
    dync__str_add(c->s, "] = ");
    if (dtype != i->type) dync__str_addf(c->s, "(%s)", dync__csrc_ctype(dtype));
    dync__csrc_value(c, i, i->arg[0]);
    dync__str_add(c->s, ";\n");
}

static void dync__csrc_inst(dync__csrc *c, int v)
{
    const dync__inst *i = &c->k->inst.at[v];
    if (i->prim == DYNC__P_store || i->prim == DYNC__P_storex) {
        dync__csrc_store(c, i);
        return;
    }
    if (i->prim == DYNC__P_reduce) {
        dync__csrc_reduce_step(c, v);
        return;
    }
    dync__csrc_indent(c);
    dync__str_addf(c->s, "const %s v%d = ", dync__csrc_ctype(i->type), v);
    if (i->prim == DYNC__P_const_) dync__csrc_constant(c, i);
    else if (i->prim == DYNC__P_index) dync__csrc_access(c, i->access);
    else if (i->prim == DYNC__P_load || i->prim == DYNC__P_loadx) {
        bool truth = c->k->buf.at[i->buf].dtype == DYNC_BOOL;
        dync__str_addf(c->s, "b%d[", i->buf);
        dync__csrc_access(c, i->access);
        if (i->prim == DYNC__P_loadx) {
            dync__str_add(c->s, " + ");
            dync__csrc_value(c, i, i->arg[0]);
        }
        dync__str_add(c->s, truth ? "] != 0" : "]");
    } else {
        const char *pattern = dync__csrc_pattern(i, i->arg[0] >= 0 ? c->k->inst.at[i->arg[0]].type : -1);
        if (pattern) dync__csrc_expand(c, i, pattern);
        else c->why = dync__prim_info(i->prim)->name;
    }
    dync__str_add(c->s, ";\n");
    if (!c->kept[v]) return;
    dync__csrc_indent(c);
    dync__str_addf(c->s, "keep%d[n] = v%d;\n", v, v);
}

static void dync__csrc_loops(dync__csrc *c, int from, int to)
{
    for (int d = from; d < to; d++) {
        if (c->k->extent[d] == 1) continue;
        dync__csrc_indent(c);
        dync__str_addf(c->s, "for (%s i%d = 0; i%d < %lld; i%d++) {\n", c->wide ? "int64_t" : "int", d, d, (long long)c->k->extent[d], d);
        c->depth++;
    }
}
static void dync__csrc_close(dync__csrc *c, int from, int to)
{
    for (int d = from; d < to; d++) {
        if (c->k->extent[d] == 1) continue;
        c->depth--;
        dync__csrc_indent(c);
        dync__str_add(c->s, "}\n");
    }
}

/* Does phase `section` count its indices: for kept values written or read, and positions of argmax? */
static bool dync__csrc_counts(const dync__csrc *c, int section)
{
    for (int v = 0; v < c->k->inst.n; v++) {
        const dync__inst *i = &c->k->inst.at[v];
        if (i->section != section) continue;
        if (c->kept[v] || (i->prim == DYNC__P_reduce && dync__csrc_is_arg(i))) return true;
        for (int a = 0; a < 3; a++)
            if (i->arg[a] >= 0 && c->kept[i->arg[a]]) return true;
    }
    return false;
}

static void dync__csrc_phase(dync__csrc *c, int first, int last)
{
    int section = c->k->inst.at[first].section;
    bool counts = dync__csrc_counts(c, section);
    for (int v = first; v < last; v++)
        if (c->k->inst.at[v].prim == DYNC__P_reduce) dync__csrc_reduce_start(c, v);
    if (counts) {
        dync__csrc_indent(c);
        dync__str_add(c->s, "{\n");
        c->depth++;
        dync__csrc_indent(c);
        dync__str_addf(c->s, "%s n = 0;\n", c->wide ? "int64_t" : "int");
    }
    dync__csrc_loops(c, c->k->n_outer, c->k->n_dims);
    for (int v = first; v < last; v++) dync__csrc_inst(c, v);
    if (counts) {
        dync__csrc_indent(c);
        dync__str_add(c->s, "n++;\n");
    }
    dync__csrc_close(c, c->k->n_outer, c->k->n_dims);
    if (!counts) return;
    c->depth--;
    dync__csrc_indent(c);
    dync__str_add(c->s, "}\n");
}

/* Constants and other values of one phase stand inside its loops; a later phase that reads them reads the kept copy. */
static dync_status dync__csrc_prepare(dync__csrc *c, int64_t *inner)
{
    const dync__kernel *k = c->k;
    int64_t total = 1;
    *inner = 1;
    for (int d = 0; d < k->n_dims; d++) {
        if (!dync__mul_ok(total, DYNC__MAX(k->extent[d], 1), &total)) total = INT64_MAX / 2;
        if (d >= k->n_outer) *inner *= k->extent[d];
    }
    c->wide = total > INT32_MAX;
    for (int i = 0; i < k->access.n; i++) {
        int64_t reach = k->access.at[i].offset;
        for (int d = 0; d < k->n_dims; d++) reach += (k->extent[d] - 1) * (k->access.at[i].stride[d] < 0 ? -k->access.at[i].stride[d] : k->access.at[i].stride[d]);
        if (reach > INT32_MAX) c->wide = true;
    }
    for (int v = 0; v < k->inst.n; v++) {
        const dync__inst *i = &k->inst.at[v];
        for (int a = 0; a < 3; a++) {
            if (i->arg[a] < 0) continue;
            const dync__inst *from = &k->inst.at[i->arg[a]];
            if ((from->section & 1) && from->section != i->section && from->prim != DYNC__P_reduce) c->kept[i->arg[a]] = true;
        }
    }
    for (int b = 0; b < k->buf.n; b++)
        if (!dync__csrc_ctype(k->buf.at[b].dtype)) return dync__fail(DYNC_ERR_UNSUPPORTED, "C source: no %s", dync__dtype_info(k->buf.at[b].dtype)->name);
    return DYNC_OK;
}

static void dync__csrc_body(dync__csrc *c, int64_t inner)
{
    const dync__kernel *k = c->k;
    for (int v = 0; v < k->inst.n; v++)
        if (c->kept[v]) dync__str_addf(c->s, "    static %s keep%d[%lld];\n", dync__csrc_ctype(k->inst.at[v].type), v, (long long)inner);
    dync__csrc_loops(c, 0, k->n_outer);
    for (int v = 0; v < k->inst.n;) {
        int last = v;
        while (last < k->inst.n && k->inst.at[last].section == k->inst.at[v].section) last++;
        if (k->inst.at[v].section & 1) dync__csrc_phase(c, v, last);
        else
            for (int i = v; i < last; i++) dync__csrc_inst(c, i);
        v = last;
    }
    dync__csrc_close(c, 0, k->n_outer);
}

DYNC__FN dync_status dync__kernel_csource(dync__str *s, const dync__kernel *k, const char *fn_name)
{
    dync__csrc c = {.s = s, .k = k, .depth = 1};
    int64_t inner;
    c.kept = dync__calloc((size_t)k->inst.n + 1);
    dync_status status = c.kept ? dync__csrc_prepare(&c, &inner) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        dync__str_addf(s, "static void %s(", fn_name);
        for (int b = 0; b < k->buf.n; b++) {
            bool writes = (k->buf.at[b].mode & DYNC__BUF_OUT) != 0;
            dync__str_addf(s, "%s%s%s *b%d", b ? ", " : "", writes ? "" : "const ", dync__csrc_ctype(k->buf.at[b].dtype), b);
        }
        dync__str_add(s, k->buf.n ? ")\n{\n" : "void)\n{\n");
        dync__csrc_body(&c, inner);
        dync__str_add(s, "}\n");
        if (c.why) status = dync__fail(DYNC_ERR_UNSUPPORTED, "C source: primitive %s has no C form yet", c.why);
        else if (s->failed) status = dync__fail_memory(s->n);
    }
    dync__free(c.kept, (size_t)k->inst.n + 1);
    return status;
}
