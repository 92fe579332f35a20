/* onnx/out_formula.c: pointwise operators as formulas over ONNX's. After out_size.c.
 *
 *   a b c d        operands 0 to 3, in the type that is computed in
 *   1 0.5 inf      a number of that type
 *   Add(a, 1)      an operator of ONNX
 *   log1p(a)       the formula of another row
 *   B(a) F(a) I(a) cast to bool, to the type that is computed in, to int32
 *   Fmod(a, b)     Mod with the sign of a
 *
 * A part that stands there twice is emitted once. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out.h"
#include "out_rows.def.h"
DYNC__COLD

enum { DYNC__OX_MEMO = 32, DYNC__OX_OPERANDS = 4 };
typedef struct dync__ox_eval {
    dync__ox *w;
    const char *at;
    int dtype; /* F32 F64 I64 I32, or BOOL */
    const dync__ox_name *operand;
    int n_memo;
    struct {
        const char *text;
        size_t n;
        dync__ox_name name;
    } memo[DYNC__OX_MEMO];
} dync__ox_eval;

/* The length of the part that begins here: up to the comma or parenthesis that ends it. */
static size_t dync__ox_part(const char *at)
{
    int depth = 0;
    size_t n = 0;
    for (; at[n] && !(depth == 0 && (at[n] == ',' || at[n] == ')')); n++)
        depth += (at[n] == '(') - (at[n] == ')');
    return n;
}

static dync__ox_name dync__ox_to(dync__ox_eval *e, dync__ox_name x, int dtype)
{
    x = dync__ox_op1(e->w, "Cast", x);
    dync__ox_set_i(e->w, "to", dync__dtype_info(dtype)->onnx);
    return x;
}

/* One operator of a formula: small letters name another row, whose formula takes the arguments; a
 * capital one an operator of ONNX. */
static dync__ox_name dync__ox_apply(dync__ox_eval *e, const char *name, size_t n, int n_args,
                                    const dync__ox_name *args)
{
    dync__ox *w = e->w;
    char type[32];
    if (name[0] == '_' || (name[0] >= 'a' && name[0] <= 'z')) {
        const dync__ox_row *row = dync__ox_row_named(name, n);
        if (!row) return dync__ox_refuse(w, "a formula names no row");
        return dync__ox_formula(
            w, e->dtype == DYNC_F32 || e->dtype == DYNC_F64 || !row->i ? row->f : row->i, e->dtype,
            args);
    }
    dync__format(type, sizeof type, "%.*s", (int)n, name);
    if (strcmp(type, "B") == 0)
        return e->dtype == DYNC_BOOL ? args[0] : dync__ox_to(e, args[0], DYNC_BOOL);
    if (strcmp(type, "F") == 0) return dync__ox_to(e, args[0], e->dtype);
    if (strcmp(type, "I") == 0) return dync__ox_to(e, args[0], DYNC_I32);
    bool fmod = strcmp(type, "Fmod") == 0;
    dync__ox_name out = dync__ox_emit(w, fmod ? "Mod" : type, n_args, args);
    if (fmod) dync__ox_set_i(w, "fmod", 1);
    return out;
}

/* recursion: parts inside parts */
static dync__ox_name dync__ox_evaluate(dync__ox_eval *e)
{
    while (*e->at == ' ') e->at++;
    size_t n = dync__ox_part(e->at), k = 0;
    const char *text = e->at;
    double number;
    e->at += n;
    for (int i = 0; i < e->n_memo; i++)
        if (e->memo[i].n == n && memcmp(e->memo[i].text, text, n) == 0) return e->memo[i].name;
    while (k < n && text[k] != '(') k++;
    dync__ox_name arg[DYNC__OX_OPERANDS] = {"", "", "", ""}, out;
    if (k < n) {
        int n_args = 0;
        e->at = text + k;
        while (*e->at != ')' && n_args < DYNC__OX_OPERANDS) {
            e->at++;
            arg[n_args++] = dync__ox_evaluate(e);
        }
        e->at = text + n;
        out = dync__ox_apply(e, text, k, n_args, arg);
    } else if (n == 1 && text[0] >= 'a' && text[0] < 'a' + DYNC__OX_OPERANDS) {
        return e->operand[text[0] - 'a'];
    } else if (n == 3 && memcmp(text, "inf", 3) == 0) {
        out = dync__ox_scalar(e->w, e->dtype, HUGE_VAL);
    } else if (dync__text_double(text, &(const char *){NULL}, &number)) {
        out = dync__ox_scalar(e->w, e->dtype, number);
    } else {
        return dync__ox_refuse(e->w, "a formula cannot be read");
    }
    if (e->n_memo < DYNC__OX_MEMO) {
        e->memo[e->n_memo].text = text;
        e->memo[e->n_memo].n = n;
        e->memo[e->n_memo++].name = out;
    }
    return out;
}

DYNC__FN dync__ox_name dync__ox_formula(dync__ox *w, const char *text, int dtype,
                                        const dync__ox_name *operand)
{
    dync__ox_eval e = {.w = w, .at = text, .dtype = dtype, .operand = operand};
    return dync__ox_evaluate(&e);
}

/* ---- pointwise rows -------------------------------------------------------------------------- */

/* The call as inference sees it: tensors that have a form and nothing else. */
static bool dync__ox_call(dync__ox *w, dync__opcall *call)
{
    const dync__node *n = w->node;
    memset(call, 0, sizeof *call);
    call->row = dync__op_info(n->op);
    call->op = n->op;
    call->nargs = n->nargs;
    call->args = dync__arena_copy(w->arena, n->args, (size_t)n->nargs * sizeof *n->args);
    for (int i = 0; call->args && i < n->nargs; i++) {
        if (n->args[i].kind != DYNC__A_NODE) continue;
        dync__tensor *t = dync__arena_alloc(w->arena, sizeof *t);
        if (!t) return false;
        t->dtype = (uint8_t)dync__ox_info(w, &n->args[i])->dtype; /* one of ten */
        t->lay = dync__ox_info(w, &n->args[i])->lay;
        call->args[i] = dync__arg_t(t);
    }
    return call->args != NULL;
}

/* A number as the dtype holds it: -3 is 253 among uint8. */
static dync__arg dync__ox_held(const dync__arg *a, int dtype)
{
    int64_t i = a->as.i;
    if (a->kind != DYNC__A_INT || dync__is_token(i)) return *a;
    return dync__arg_i(dtype == DYNC_U8    ? (int64_t)(uint8_t)i
                       : dtype == DYNC_I8  ? (int64_t)(int8_t)i
                       : dtype == DYNC_I16 ? (int64_t)(int16_t)i
                                           : i);
}

/* common: the dtype that operands are promoted to; dtype: what it is computed in */
static dync__ox_name dync__ox_operand(dync__ox *w, int i, int common, int dtype)
{
    const dync__op_row *row = dync__op_info(w->node->op);
    const dync__arg *a = dync__ox_arg(w, i);
    if ((row->flags & DYNC__OP_MASK_0 && i == 0) || (row->flags & DYNC__OP_MASK_1 && i == 1))
        dtype = DYNC_BOOL;
    if (a->kind == DYNC__A_NODE)
        return dync__ox_cast(w, dync__ox_in(w, i), dync__ox_of(w, i)->dtype, dtype);
    dync__arg held = dync__ox_held(a, common);
    return a->kind == DYNC__A_NONE ? "" : dync__ox_number(w, &held, dtype);
}

/* As one operator of ONNX; NULL: there is none, or its attribute is symbolic. */
static dync__ox_name dync__ox_whole(dync__ox *w, dync__ox_name x)
{
    static const struct {
        int op;
        const char *type, *attribute;
    } whole[] = {
#define DYNC__X(name, type, attribute) {DYNC__OP_##name, type, attribute},
        DYNC__OX_WHOLE(DYNC__X)
#undef DYNC__X
    };
    int i = 0;
    while (i < DYNC__COUNT_OF(whole) && whole[i].op != w->node->op) i++;
    if (i == DYNC__COUNT_OF(whole)) return NULL;
    double number = 0;
    if (whole[i].attribute) {
        const dync__arg *a = dync__ox_arg(w, 1);
        if (!dync__arg_is_number(a) || (a->kind == DYNC__A_INT && dync__is_token(a->as.i)))
            return NULL;
        number = dync__arg_number(a);
        if (!(fabs(number) <= (double)FLT_MAX)) return NULL; /* symbolic ones are NaN */
    }
    x = dync__ox_op1(w, whole[i].type, x);
    if (whole[i].attribute) dync__ox_set_f(w, whole[i].attribute, number);
    return x;
}

DYNC__FN dync__ox_name dync__ox_pointwise(dync__ox *w)
{
    dync__opcall call;
    const dync__ox_row *row = dync__ox_row_of(w->node->op);
    const dync__op_row *op = dync__op_info(w->node->op);
    dync__ox_name operand[DYNC__OX_OPERANDS] = {"", "", "", ""};
    if (!dync__ox_call(w, &call)) return w->status = DYNC_ERR_MEMORY, "";
    int common = dync__op_common_dtype(&call), type = dync__dtype_info(common)->compute;
    bool is_float = type == DYNC_F32 || type == DYNC_F64;
    const char *text = is_float                      ? row->f
                       : type == DYNC_BOOL && row->b ? row->b
                       : row->i                      ? row->i
                                                     : row->f;
    if (type == DYNC_BOOL && !row->b) type = DYNC_I32;
    for (int i = 0; i < w->node->nargs && i < DYNC__OX_OPERANDS; i++)
        operand[i] = dync__ox_operand(w, i, common, type);
    dync__ox_name out = type == DYNC_F32 ? dync__ox_whole(w, operand[0]) : NULL;
    if (!out) out = dync__ox_formula(w, text, type, operand);
    return dync__ox_as_out(w, out, op->flags & DYNC__OP_BOOL_OUT ? DYNC_BOOL : type, 0);
}
#endif
