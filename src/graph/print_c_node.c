/* graph/print_c_node.c: a node as a statement of C: the call, or the constant, and the comment with
 * its type. After print_c_arg.c, before print_c.c, which makes functions of statements. */
#include "../dync.in.h"
#include "print_c.h"
DYNC__COLD

enum { DYNC__C_INLINE_ELEMENTS = 16 };

/* A path or source inside a comment: what would end the comment or its line is dropped. */
DYNC__FN void dync__c_comment_text(dync__str *s, const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 32 && *text != 127 &&
            !(text[0] == '/' && s->n && s->at[s->n - 1] == '*'))
            dync__str_addc(s, *text);
}

/* The comment is no ornament: the parser reads types, requires_grad and symbols back from it. */
DYNC__FN void dync__c_type_comment(dync__c_printer *p, const dync__node *node)
{
    if (node->sym) {
        dync__str_add(p->s, "Sym(");
        dync__c_comment_text(p->s, node->sym);
        dync__str_addc(p->s, ')');
    } else if (!node->has_info) {
        bool number = dync__arg_is_number(&node->scalar);
        dync__str_add(p->s, node->nout == 0 ? "none" : number ? "number" : "list");
    } else if (node->nout == 1) {
        dync__text_info(p->s, p->g, &node->info[0], node->requires_grad[0]);
    } else {
        for (int i = 0; i < node->nout; i++) {
            dync__str_add(p->s, i ? ", " : "(");
            dync__text_info(p->s, p->g, &node->info[i], node->requires_grad[i]);
        }
        dync__str_addc(p->s, ')');
    }
}

/* A registered operator, by its name. */
static void dync__c_call_custom(dync__c_printer *p, const dync__node *node)
{
    if (dync__c_is_tensor(node)) dync__str_add(p->s, "dync_as_tensor(");
    dync__str_add(p->s, "dync_op_call_values(");
    dync__str_quote_c(p->s, node->target);
    dync__str_addf(p->s, ", %d, %s", node->nargs, node->nargs ? "(dync_value[]){" : "NULL");
    for (int i = 0; i < node->nargs; i++) {
        if (i) dync__str_add(p->s, ", ");
        dync__c_arg(p, &node->args[i], DYNC__PARAM_VALUE, true);
    }
    if (node->nargs) dync__str_addc(p->s, '}');
    dync__str_add(p->s, dync__c_is_tensor(node) ? "))" : ")");
}

/* Arithmetic of symbolic numbers. */
static void dync__c_call_number(dync__c_printer *p, const dync__node *node)
{
    const dync__arith *is = dync__op_arith(node->op);
    dync__str_addf(p->s, "dync_sym_%s(", is ? is->name : node->target);
    dync__c_arg(p, &node->args[0], DYNC__PARAM_VALUE, true);
    dync__str_add(p->s, ", ");
    dync__c_arg(p, &node->args[1], DYNC__PARAM_VALUE, true);
    dync__str_addc(p->s, ')');
}

/* The function that is argument i. */
DYNC__FN void dync__c_function_name(const dync__c_printer *p, const dync__node *node, int i)
{
    dync__str_addf(p->s, "%s_", p->path);
    dync__text_function(p->s, node, i);
}

/* Expands the operator's pattern: {i} is argument i, {i:v} the same as a dync_value; all else is
 * copied. */
static void dync__c_call_operator(dync__c_printer *p, const dync__node *node)
{
    dync__str pattern = {0};
    dync__param param = {DYNC__PARAM_VALUE, "", 0};
    dync__graph_c_pattern(&pattern, node->op);
    for (const char *c = dync__str_get(&pattern); *c; c++) {
        if (*c != '{' || c[1] < '0' || c[1] > '9') {
            dync__str_addc(p->s, *c);
            continue;
        }
        int i = 0;
        for (c++; *c >= '0' && *c <= '9'; c++) i = 10 * i + (*c - '0');
        bool as_value = *c == ':';
        while (*c != '}') c++;
        dync__schema_param(dync__op_info(node->op)->schema, i, &param);
        if (i < node->nargs && node->args[i].kind == DYNC__A_GRAPH)
            dync__c_function_name(p, node, i);
        else if (i < node->nargs)
            dync__c_arg(p, &node->args[i], param.type, as_value);
    }
    p->s->failed = p->s->failed || pattern.failed;
    dync__str_free(&pattern);
}

/* A node of one output inside dync_as_tensor(..), items by dync_at. */
static void dync__c_call(dync__c_printer *p, const dync__node *node)
{
    /* operators with functions inside give lists, of one value, too */
    bool first = node->op >= 0 && node->nout == 1 && dync__row_is_control(dync__op_info(node->op));
    if (first) dync__str_add(p->s, "dync_as_tensor(dync_at(");
    if (node->op == DYNC__NODE_GETITEM)
        dync__str_addf(
            p->s, dync__c_is_tensor(node) ? "dync_as_tensor(dync_at(%s, %d))" : "dync_at(%s, %d)",
            node->args[0].as.node->name, (int)node->args[1].as.i);
    else if (node->op < 0)
        dync__c_call_custom(p, node);
    else if (!node->has_info && node->nout == 1 && node->nargs == 2)
        dync__c_call_number(p, node);
    else
        dync__c_call_operator(p, node);
    if (first) dync__str_add(p->s, ", 0))");
}

/* Constants of a few finite elements on the CPU are printed as literals. */
DYNC__FN bool dync__graph_prints_inline(const dync__node *node)
{
    const dync__tensor *t = node->value;
    if (!dync__node_is_constant(node) || !t || !t->storage->data ||
        !dync__device_is(t->device, DYNC__DEV_HOST) || t->numel == 0 ||
        t->numel > DYNC__C_INLINE_ELEMENTS || !dync__layout_is_contiguous(&t->lay))
        return false;
    const char *data = dync__tensor_data(t);
    int bytes = dync__dtype_info(t->dtype)->bytes;
    for (int64_t i = 0; i < t->numel && dync__dtype_info(t->dtype)->kind == 'f'; i++) {
        double x = dync__load_f64(data + i * bytes, t->dtype);
        if (!(x - x == 0)) return false;
    }
    return true;
}

/* Literals that round-trip: shortest decimal for f32 and f64, bits for f16 and bf16. */
static void dync__c_constant(dync__c_printer *p, const dync__tensor *t)
{
    const char *data = dync__tensor_data(t);
    int bytes = dync__dtype_info(t->dtype)->bytes;
    dync__str_addf(p->s, "dync_constant((%s[]){",
                   t->dtype == DYNC_BOOL ? "bool" : dync__dtype_c_type(t->dtype));
    for (int64_t i = 0; i < t->numel; i++) {
        const char *at = data + i * bytes;
        char text[40];
        if (i) dync__str_add(p->s, ", ");
        if (t->dtype == DYNC_F32)
            dync__float_text((float)dync__load_f64(at, t->dtype), text, sizeof text),
                dync__str_add(p->s, text);
        else if (t->dtype == DYNC_F64)
            dync__double_text(dync__load_f64(at, t->dtype), text, sizeof text),
                dync__str_add(p->s, text);
        else if (bytes == 2 && dync__dtype_info(t->dtype)->kind == 'f')
            dync__str_addf(p->s, "%u", *(const uint16_t *)(const void *)at);
        else
            dync__c_int(p->s, dync__load_i64(at, t->dtype));
    }
    dync__arg shape = dync__arg_dims(t->lay.ndim, t->lay.shape);
    dync__str_add(p->s, "}, ");
    dync__c_dims(p, &shape, false);
    if (t->dtype != DYNC_F32) dync__str_addf(p->s, ", .dtype = %s", dync__dtype_c_name(t->dtype));
    dync__str_addc(p->s, ')');
}

DYNC__FN void dync__c_statement(dync__c_printer *p, const dync__node *node)
{
    /* by sizes, too */
    bool used = node->n_users > 0 || (dync__node_has(node, DYNC__OP_DATA_SHAPE) &&
                                      dync__c_is_tensor(node) && !dync__op_is_item(node->op));
    bool let = used && p->let && dync__c_is_tensor(node) && node->kind != DYNC__N_GET_ATTR;
    dync__str_add(p->s, "    ");
    if (let)
        dync__str_addf(p->s, "DYNC_LET(%s, ", node->name);
    else if (used)
        dync__str_addf(
            p->s, dync__c_is_tensor(node) ? "dync_tensor *%s = " : "dync_value %s = ", node->name);
    if (node->kind == DYNC__N_GET_ATTR)
        dync__c_constant(p, node->value);
    else
        dync__c_call(p, node);
    dync__str_add(p->s, let ? ");  /* " : ";  /* ");
    if (!used) dync__str_addf(p->s, "%s: ", node->name);
    dync__c_type_comment(p, node);
    dync__str_add(p->s, " */\n");
}
