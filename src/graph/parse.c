/* graph/parse.c: the C form of a graph back into a graph: the inverse of print_c.c. A reader of
 * that form only, not of C.
 *
 * The text may come from a stranger: sizes, names, nesting and counts are checked, operators must
 * exist, arguments must fit their schemas (dync__graph_check at the end). Attributes come back
 * without their tensors: dync__graph_attr_bind gives them. */
#include "../dync.in.h"
#include "parse.h"
#include "text.h"
DYNC__COLD

/* ---- parameters ------------------------------------------------------------------------------ */

/* At the end of the line, of the comment, or before "; ". */
static bool dync__parse_field_ends(const char *p)
{
    bool part = p[0] == ';' && (p[1] == ' ' || (p[1] == '*' && p[2] == '/'));
    return !*p || *p == '\n' || part || (p[0] == '*' && p[1] == '/');
}

/* Text up to "; " or the end of the comment; none ends in ';', which could not be written again. */
static char *dync__parse_field(dync__parser *q)
{
    const char *start = q->p;
    while (!dync__parse_field_ends(q->p)) q->p++;
    int n = (int)(q->p - start);
    return dync__arena_printf(&q->g->arena, "%.*s", n > 0 && start[n - 1] == ' ' ? n - 1 : n,
                              start);
}

/* The comment behind a parameter. name NULL: it says that, too. */
DYNC__FN bool dync__parse_param_node(dync__parser *q, const char *name, bool is_tensor)
{
    dync__parsed_type type;
    dync__node *node;
    char *target = NULL, *source = NULL;
    if (!dync__parse_need(q, "/*")) return false;
    if (!name && (!(name = dync__parse_name(q)) || !dync__parse_need(q, ":")))
        return dync__parse_fail(q, "a name");
    if (!dync__parse_type(q, &type)) return false;
    if (type.n != 1 || (is_tensor && !type.has_info))
        return dync__parse_fail(q, "the type of one value before this");
    if (dync__parse_take(q, "; attr ")) {
        dync__parse_space(q);
        target = dync__parse_field(q);
        if (!target || !*target) return dync__parse_fail(q, "the path of an attribute");
        node = dync__graph_attr(q->g, name, target, NULL);
    } else {
        if (dync__parse_take(q, "; ")) {
            target = dync__parse_name(q);
            if (!target || !dync__parse_need(q, "; "))
                return dync__parse_fail(q, "the name of an input");
            source = dync__parse_field(q);
            if (!source) return dync__parse_no_memory(q);
        }
        node = dync__graph_placeholder(q->g, name, source && *source ? source : NULL, NULL);
        if (node && target) node->target = target;
    }
    if (!dync__parse_add_node(q, node, name)) return false;
    dync__parse_set_type(node, &type);
    node->info[0].alias = -1;
    return dync__parse_need(q, "*/");
}

/* "void)" or the parameters, each with its comment: inputs first, then attributes. */
DYNC__FN bool dync__parse_params(dync__parser *q)
{
    if (dync__parse_take(q, "void)")) return true;
    for (bool open = true; open;) {
        bool is_tensor = dync__parse_take(q, "dync_tensor *");
        if (!is_tensor && !dync__parse_need(q, "dync_value")) return false;
        char *name = dync__parse_name(q);
        if (!name) return dync__parse_fail(q, "a name");
        open = !dync__parse_take(q, ")");
        if (!dync__parse_param_node(q, name, is_tensor)) return false;
        if (open && !dync__parse_need(q, ",")) return false;
    }
    return true;
}

/* ---- statements ------------------------------------------------------------------------------ */

/* The right side of a statement. */
typedef struct dync__parsed_call {
    enum { DYNC__CALL_OP, DYNC__CALL_CUSTOM, DYNC__CALL_ITEM, DYNC__CALL_CONSTANT } kind;
    int op, nargs;
    dync__arg args[DYNC__MAX_ARGS];
    char *target;
    dync__tensor *value; /* owned */
} dync__parsed_call;

/* dync_constant((float[]){1, 2}, dync_shape(2), .dtype = ...) behind its parenthesis */
static bool dync__parse_constant(dync__parser *q, dync__parsed_call *call)
{
    dync__arg list, shape, dtype = dync__arg_dtype(DYNC_F32);
    dync__layout lay;
    const char *type_end;
    call->kind = DYNC__CALL_CONSTANT;
    if (!dync__parse_need(q, "(") || !(type_end = strstr(q->p, "[])")))
        return dync__parse_fail(q, "an array");
    q->p = type_end + 3;
    if (!dync__parse_need(q, "{") || !dync__parse_items(q, "}", 0, &list) ||
        !dync__parse_need(q, ",") || !dync__parse_arg(q, 0, &shape))
        return dync__parse_fail(q, "an array and its shape");
    if (dync__parse_take(q, ", .dtype =") &&
        (!dync__parse_arg(q, 0, &dtype) || dtype.kind != DYNC__A_DTYPE))
        return dync__parse_fail(q, "a dtype");
    if (shape.kind != DYNC__A_DIMS) return dync__parse_fail(q, "a shape before this");
    if (!dync__parse_layout(q, &lay, shape.n, shape.as.dims)) return false;
    int64_t numel = 1;
    for (int d = 0; d < lay.ndim; d++) numel *= lay.shape[d];
    if (numel != list.n)
        return dync__parse_fail(q, "as many numbers as the shape has elements before this");
    call->value = dync__tensor_empty((int)dtype.as.i, DYNC_CPU, &lay);
    if (!call->value) return dync__parse_no_memory(q);
    char *data = dync__tensor_data(call->value);
    int bytes = dync__dtype_info(call->value->dtype)->bytes;
    for (int i = 0; i < list.n; i++) {
        const dync__arg *a = &list.as.list[i];
        bool bits = bytes == 2 && dync__dtype_info(call->value->dtype)->kind == 'f';
        if (!dync__arg_is_number(a)) return dync__parse_fail(q, "numbers before this");
        if (bits)
            *(uint16_t *)(void *)(data + i * 2) = (uint16_t)a->as.i;
        else if (a->kind == DYNC__A_FLOAT)
            dync__store_f64(data + i * bytes, call->value->dtype, a->as.f);
        else
            dync__store_i64(data + i * bytes, call->value->dtype, a->as.i);
    }
    return dync__parse_need(q, ")");
}

/* The operator's pattern (text.c) is followed from where pattern_op begins in it. */
static bool dync__parse_by_name(dync__parser *q, const char *pattern_op, dync__parsed_call *call)
{
    dync__str pattern = {0};
    dync__graph_c_pattern(&pattern, call->op);
    const char *rest =
        strstr(dync__str_get(&pattern), pattern_op); /* what stands in front was read already */
    bool ok = !pattern.failed && rest &&
              dync__parse_pattern(q, rest, dync__op_info(call->op), call->args, &call->nargs);
    if (!ok) dync__parse_fail(q, "an operator's arguments");
    dync__str_free(&pattern);
    return ok;
}

/* dync_cond(..., dync_scan_op(..., dync_while_loop_op(...; false: none stands here, or it is
 * wrong. */
static bool dync__parse_control(dync__parser *q, dync__parsed_call *call)
{
    static const struct {
        const char *word;
        int op;
    } rows[] = {{"dync_cond(", DYNC__OP_cond},
                {"dync_scan_op(", DYNC__OP_scan},
                {"dync_while_loop_op(", DYNC__OP_while_loop}};
    const char *start = q->p;
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++) {
        if (!dync__parse_take(q, rows[i].word)) continue;
        q->p--; /* the pattern goes on with the parenthesis */
        call->op = rows[i].op;
        if (dync__parse_by_name(q, "(", call)) return true;
    }
    q->p = start;
    return false;
}

/* dync_op_call_values("name", behind "dync_op_call_values(" */
static bool dync__parse_custom(dync__parser *q, bool wrapped, dync__parsed_call *call)
{
    const char *start = q->p;
    dync__arg name, list = {.kind = DYNC__A_LIST};
    int64_t n;
    dync__parse_space(q);
    if (*q->p != '"' || !dync__parse_string(q, &name))
        return dync__parse_fail(q, "an operator's name");
    call->op = dync__op_find(name.as.s);
    if (call->op >= 0) {
        q->p = start;
        return dync__parse_by_name(q, "\"", call);
    }
    const char *colons = strstr(name.as.s, "::"), *last = colons ? colons + 2 : name.as.s;
    if ((colons && !dync__is_name(name.as.s, (size_t)(colons - name.as.s))) ||
        !dync__is_name(last, strlen(last)))
        return q->p = start, dync__parse_fail(q, "an operator's name, \"library::name\"");
    call->kind = DYNC__CALL_CUSTOM;
    call->target = dync__arena_strdup(&q->g->arena, name.as.s);
    if (!call->target) return dync__parse_no_memory(q);
    if (!dync__parse_need(q, ",") || !dync__parse_int(q, &n) || !dync__parse_need(q, ","))
        return dync__parse_fail(q, "the number of arguments");
    if (!dync__parse_take(q, "NULL") &&
        (!dync__parse_need(q, "(dync_value[]){") || !dync__parse_items(q, "}", 0, &list)))
        return false;
    if (list.n != n || n > DYNC__MAX_ARGS) return dync__parse_fail(q, "as many arguments as said");
    call->nargs = list.n;
    for (int i = 0; i < list.n; i++) call->args[i] = list.as.list[i];
    return dync__parse_need(q, wrapped ? "))" : ")");
}

/* Tried in the order of the words they begin with; q->p is where the text was not understood, for
 * the message. */
static bool dync__parse_expression(dync__parser *q, dync__parsed_call *call)
{
    const char *start = q->p;
    bool wrapped = dync__parse_take(q, "dync_as_tensor(");
    *call = (dync__parsed_call){.op = -1};
    if (dync__parse_take(q, "dync_at(")) {
        if (dync__parse_control(q, call)) return dync__parse_need(q, wrapped ? ", 0))" : ", 0)");
        if (q->status != DYNC_OK) return false;
        call->kind = DYNC__CALL_ITEM;
        call->nargs = 2;
        if (!dync__parse_arg(q, 0, &call->args[0]) || !dync__parse_need(q, ",") ||
            !dync__parse_arg(q, 0, &call->args[1]))
            return false;
        bool ok = call->args[0].kind == DYNC__A_NODE && call->args[1].kind == DYNC__A_INT &&
                  call->args[1].as.i >= 0 && call->args[1].as.i <= INT_MAX;
        return (ok || dync__parse_fail(q, "a list and an index before this")) &&
               dync__parse_need(q, wrapped ? "))" : ")");
    }
    if (dync__parse_take(q, "dync_op_call_values(")) return dync__parse_custom(q, wrapped, call);
    if (wrapped) return q->p = start, dync__parse_fail(q, "an item of a list");
    if (dync__parse_control(q, call)) return true;
    if (q->status != DYNC_OK) return false;
    if (dync__parse_take(q, "dync_constant(")) return dync__parse_constant(q, call);
    dync__parse_space(q);
    start = q->p;
    char *name = dync__parse_name(q);
    if (!name || strncmp(name, "dync_", 5) != 0)
        return q->p = start, dync__parse_fail(q, "an operator");
    name += 5;
    if (strncmp(name, "sym_", 4) == 0) {
        call->op = dync__op_find(strcmp(name + 4, "floordiv") == 0 ? "floor_divide" : name + 4);
        call->nargs = 2;
        return (call->op >= 0 || dync__parse_fail(q, "an operator")) && dync__parse_need(q, "(") &&
               dync__parse_arg(q, 0, &call->args[0]) && dync__parse_need(q, ",") &&
               dync__parse_arg(q, 0, &call->args[1]) && dync__parse_need(q, ")");
    }
    call->op = dync__op_find(strcmp(name, "item_sym") == 0 ? "_local_scalar_dense"
                             : strcmp(name, "check") == 0  ? "_check_range"
                                                           : name);
    if (call->op < 0) {
        name[-1] = '_'; /* dync_set_grad_enabled is the row _set_grad_enabled */
        call->op = dync__op_find(name - 1);
    }
    if (call->op < 0) return q->p = start, dync__parse_fail(q, "an operator that exists");
    return dync__parse_by_name(q, "(", call);
}

/* A number read from floats, or made of such, is a float. */
static void dync__parse_set_number(dync__node *node)
{
    bool real = dync__op_is_item(node->op);
    if (node->has_info || !dync__arg_is_number(&node->scalar)) return;
    for (int i = 0; i < node->nargs; i++)
        real = real || node->args[i].kind == DYNC__A_FLOAT ||
               (node->args[i].kind == DYNC__A_NODE &&
                node->args[i].as.node->scalar.kind == DYNC__A_FLOAT);
    if (real) node->scalar = dync__arg_f(0);
}

/* [dync_tensor *name =] expression; then the comment with the type, and the name where nobody uses
 * it. */
static bool dync__parse_statement(dync__parser *q)
{
    dync__parsed_call call = {0};
    dync__parsed_type type;
    dync__node *node = NULL;
    char *name = NULL;
    bool declared = dync__parse_take(q, "dync_tensor *") || dync__parse_take(q, "dync_value ");
    if (declared && (!(name = dync__parse_name(q)) || !dync__parse_need(q, "=")))
        return dync__parse_fail(q, "a name");
    bool ok = dync__parse_expression(q, &call) && dync__parse_need(q, ";") &&
              dync__parse_need(q, "/*");
    if (ok && !declared) ok = (name = dync__parse_name(q)) && dync__parse_need(q, ":");
    ok = ok && dync__parse_type(q, &type) && dync__parse_need(q, "*/");
    if (ok) {
        switch (call.kind) {
        case DYNC__CALL_ITEM:
            node = dync__graph_call(q->g, DYNC__NODE_GETITEM, 2, call.args, 1, NULL, name);
            break;
        case DYNC__CALL_CONSTANT: node = dync__graph_attr(q->g, name, name, call.value); break;
        case DYNC__CALL_CUSTOM:
            node = dync__graph_call(q->g, -1, call.nargs, call.args, type.n, type.info, name);
            break;
        case DYNC__CALL_OP:
            node = dync__graph_call(q->g, call.op, call.nargs, call.args, type.n, type.info, name);
            break;
        }
        if (node && call.target) node->target = call.target;
        ok = dync__parse_add_node(q, node, name);
        if (ok && call.kind != DYNC__CALL_CONSTANT) {
            dync__parse_set_type(node, &type);
            dync__parse_set_number(node);
        }
    }
    dync__unref(call.value);
    return ok || dync__parse_fail(q, "a statement");
}

/* Statements up to the end of the function. */
DYNC__FN bool dync__parse_body(dync__parser *q)
{
    dync__arg result;
    while (!dync__parse_take(q, "return "))
        if (!dync__parse_statement(q)) return false;
    if (!dync__parse_arg(q, 0, &result) || !dync__parse_need(q, ";") || !dync__parse_need(q, "}"))
        return false;
    return dync__graph_output(q->g, &result) != NULL || dync__parse_no_memory(q);
}
