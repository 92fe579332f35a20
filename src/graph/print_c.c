/* graph/print_c.c: a graph as C: one function over dync.h, one statement a node, types as trailing
 * comments. parse.c reads it back, and print(parse(text)) == text.
 *
 *   dync_value GraphModule(dync_tensor *l_x_   // f32[2, 3]; L_x_; L['x']
 *       , dync_tensor *_0_weight)              // f32[4, 3] grad; attr 0.weight
 *   {
 *       dync_tensor *_tensor_constant0 = dync_constant((float[]){1, 2}, dync_shape(2));  // f32[2]
 *       dync_tensor *add = dync_add(l_x_, 1);  // f32[2, 3]
 *       return dync_tuple(add);
 *   }
 * with the comments in the other form. Inputs come first, then the attributes: parameters, buffers,
 * constants too large to print. A node that nobody uses is a plain statement whose comment begins
 * with its name and a colon. A function inside an operator is a dync_function in front, named after
 * the one that uses it:
 *
 *   static dync_value GraphModule_true_graph_0(const dync_value *dync_args, int dync_nargs, ...)
 *   {
 *       (void)dync_args, (void)dync_nargs, (void)dync_user;
 *       dync_tensor *x = dync_as_tensor(dync_args[0]);  // f32[2, 3]
 *       dync_tensor *sin = dync_sin(x);  // f32[2, 3]
 *       return dync_tuple(sin);
 *   }
 *   ... dync_as_tensor(dync_at(dync_cond(lt, GraphModule_true_graph_0, ..., dync_tuple(x)), 0)) */
#include "../dync.in.h"
#include "graph.h"
#include "text.h"
DYNC__COLD

enum { DYNC__C_INLINE_ELEMENTS = 16 };

/* What is being printed, and how; memory failures are sticky in s. */
typedef struct dync__c_printer {
    dync__str *s;
    const dync__graph *g;
    bool let; /* tensors are declared by DYNC_LET, so that tracing the text gives the same names */
    const char *path; /* the function's name; those of functions inside it begin so */
} dync__c_printer;

/* A double that stays a double: 2.0, not 2. */
static void dync__c_double(dync__str *s, double x)
{
    char text[40];
    if (x != x) {
        dync__str_add(s, "NAN");
    } else if (x - x != 0) {
        dync__str_add(s, x > 0 ? "INFINITY" : "-INFINITY");
    } else {
        dync__double_text(x, text, sizeof text);
        dync__str_add(s, text);
        if (!strpbrk(text, ".e")) dync__str_add(s, ".0");
    }
}

/* INT64_MAX is the library's DYNC_END (a slice's open end); INT64_MIN has no literal in C. */
static void dync__c_int(dync__str *s, int64_t i)
{
    if (i == INT64_MAX)
        dync__str_add(s, "DYNC_END");
    else if (i == INT64_MIN)
        dync__str_add(s, "(-DYNC_END - 1)");
    else
        dync__str_addf(s, "%lld", (long long)i);
}

/* What data decide, read off the node that gives it; false: none does. */
static bool dync__c_by_data(const dync__graph *g, int64_t token, dync__str *s)
{
    for (int i = g->n_inputs; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        bool uses[64] = {false}, own[64] = {false};
        if (!dync__node_has(n, DYNC__OP_DATA_SHAPE) || !n->has_info || !n->nout) continue;
        if (n->op != DYNC__OP__local_scalar_dense && n->info[0].lay.shape[0] == token) {
            dync__str_addf(s, "dync_dim(%s, 0)", n->name);
            return true;
        }
        if (n->op != DYNC__OP__local_scalar_dense || !g->syms ||
            g->syms->symbol.n > DYNC__COUNT_OF(uses) ||
            !dync__symtab_uses(g->syms, n->info[0].lay.shape[0], uses) ||
            !dync__symtab_uses(g->syms, token, own) || memcmp(uses, own, sizeof uses) != 0)
            continue;
        dync__str_addf(s, "dync_as_dim(dync_item_sym(%s))", n->args[0].as.node->name);
        return true;
    }
    return false;
}

/* Callback of the size printer: a symbol as dync_dim of the first input that has it, or its bare
 * token. */
static void dync__c_symbol(const void *graph, int64_t token, dync__str *s)
{
    const dync__graph *g = graph;
    for (int i = 0; i < g->n_inputs; i++)
        for (int d = 0; g->node.at[i]->has_info && d < g->node.at[i]->info[0].lay.ndim; d++)
            if (g->node.at[i]->info[0].lay.shape[d] == token) {
                dync__str_addf(s, "dync_dim(%s, %d)", g->node.at[i]->name, d);
                return;
            }
    if (!dync__c_by_data(g, token, s)) dync__str_addf(s, "%lld", (long long)token);
}

/* An expression over the sizes of inputs; false: no token, or one that an input has as it is. */
static bool dync__c_symbolic(dync__c_printer *p, int64_t size)
{
    const dync__symtab *t = p->g->syms;
    const dync__sz_expr *e =
        t && (dync__is_token(size) || dync__is_sf(size)) ? dync__symtab_find(t, size) : NULL;
    dync__sz_names names = {p->g, dync__c_symbol};
    if (!e || e->kind == -1) return false;
    for (int i = 0; i < p->g->n_inputs; i++)
        for (int d = 0; p->g->node.at[i]->has_info && d < p->g->node.at[i]->info[0].lay.ndim; d++)
            if (p->g->node.at[i]->info[0].lay.shape[d] == size) return false;
    dync__symtab_c(t, size, &names, p->s);
    return true;
}

/* A size: a symbolic one is read off the input that has it, or computed from those that have its
 * symbols. */
static void dync__c_size(dync__c_printer *p, int64_t size)
{
    if (dync__c_symbolic(p, size)) return;
    for (int i = 0; dync__graph_symbol_text(p->g, size) && i < p->g->n_inputs; i++) {
        const dync__node *in = p->g->node.at[i];
        for (int d = 0; in->has_info && d < in->info[0].lay.ndim; d++)
            if (in->info[0].lay.shape[d] == size) {
                dync__str_addf(p->s, "dync_dim(%s, %d)", in->name, d);
                return;
            }
    }
    if (!dync__is_token(size) || !dync__c_by_data(p->g, size, p->s)) dync__c_int(p->s, size);
}

/* A list of sizes: as a dync_value (a tuple) or as the dync_shape that operators take. */
static void dync__c_dims(dync__c_printer *p, const dync__arg *a, bool as_value)
{
    if (a->n == 0) dync__str_add(p->s, as_value ? "dync_tuple_of(0, NULL)" : "DYNC_SCALAR");
    for (int i = 0; i < a->n; i++) {
        dync__str_add(p->s, i ? ", " : as_value ? "dync_tuple(" : "dync_shape(");
        dync__c_size(p, a->as.dims[i]);
    }
    if (a->n) dync__str_addc(p->s, ')');
}

static bool dync__c_is_tensor(const dync__node *node) { return node->has_info && node->nout == 1; }

static void dync__c_arg(dync__c_printer *p, const dync__arg *a, dync__param_type type,
                        bool as_value);

static void dync__c_list(dync__c_printer *p, const dync__arg *a)
{
    if (a->n == 0) {
        dync__str_add(p->s, "dync_tuple_of(0, NULL)");
        return;
    }
    bool small = a->n <= 32; /* what DYNC_COUNT can count */
    if (small)
        dync__str_add(p->s, "dync_tuple(");
    else
        dync__str_addf(p->s, "dync_tuple_of(%d, (dync_value[]){", (int)a->n);
    for (int i = 0; i < a->n; i++) {
        if (i) dync__str_add(p->s, ", ");
        dync__c_arg(p, &a->as.list[i], DYNC__PARAM_VALUE, !small);
    }
    dync__str_add(p->s, small ? ")" : "})");
}

/* as_value: the place takes a dync_value and nothing wraps the expression. */
static void dync__c_arg(dync__c_printer *p, const dync__arg *a, dync__param_type type,
                        bool as_value)
{
    bool wrap = as_value && a->kind != DYNC__A_NONE && a->kind != DYNC__A_LIST &&
                a->kind != DYNC__A_DIMS && !(a->kind == DYNC__A_BOOL) &&
                !(a->kind == DYNC__A_NODE && !dync__c_is_tensor(a->as.node));
    bool takes_value = type == DYNC__PARAM_VALUE || type == DYNC__PARAM_VALUE_OPT || as_value;
    char device[DYNC__DEVICE_TEXT];
    if (wrap) dync__str_add(p->s, "DYNC_V(");
    switch (a->kind) {
    case DYNC__A_NONE: dync__str_add(p->s, takes_value ? "DYNC_NONE" : "NULL"); break;
    case DYNC__A_NODE: dync__str_add(p->s, a->as.node->name); break;
    case DYNC__A_INT: dync__c_size(p, a->as.i); break;
    case DYNC__A_FLOAT:
        if (!dync__c_symbolic(p, dync__sf_bits(a->as.f))) dync__c_double(p->s, a->as.f);
        break;
    case DYNC__A_BOOL:
        dync__str_add(p->s, takes_value ? a->as.i ? "DYNC_TRUE" : "DYNC_FALSE"
                            : a->as.i   ? "true"
                                        : "false");
        break;
    case DYNC__A_DIMS: dync__c_dims(p, a, as_value); break;
    case DYNC__A_DTYPE: dync__str_add(p->s, dync__dtype_c_name((int)a->as.i)); break;
    case DYNC__A_DEVICE: dync__str_add(p->s, dync__device_code((int)a->as.i, device)); break;
    case DYNC__A_STR: dync__str_quote_c(p->s, a->as.s); break;
    case DYNC__A_LIST: dync__c_list(p, a); break;
    default: dync__str_add(p->s, "NULL"); break; /* a pointer means nothing in text */
    }
    if (wrap) dync__str_addc(p->s, ')');
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A path or source inside a comment: what would end the comment or its line is dropped. */
static void dync__c_comment_text(dync__str *s, const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 32 && *text != 127 &&
            !(text[0] == '/' && s->n && s->at[s->n - 1] == '*'))
            dync__str_addc(s, *text);
}

/* The comment is no ornament: the parser reads types, requires_grad and symbols back from it. */
static void dync__c_type_comment(dync__c_printer *p, const dync__node *node)
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
static void dync__c_function_name(const dync__c_printer *p, const dync__node *node, int i)
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

static void dync__c_statement(dync__c_printer *p, const dync__node *node)
{
    /* by sizes, too */
    bool used = node->n_users > 0 ||
                (dync__node_has(node, DYNC__OP_DATA_SHAPE) && dync__c_is_tensor(node) &&
                 node->op != DYNC__OP__local_scalar_dense);
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

/* The declaration; the comment follows behind the comma or parenthesis. */
static void dync__c_param(dync__c_printer *p, const dync__node *node, bool first)
{
    bool is_attr = node->kind == DYNC__N_GET_ATTR;
    dync__str_add(p->s, first ? "" : "    , ");
    dync__str_addf(p->s, is_attr || dync__c_is_tensor(node) ? "dync_tensor *%s" : "dync_value %s",
                   node->name);
}

/* The comment behind a parameter: its name where it has no variable, type, where it comes from. */
static void dync__c_param_comment(dync__c_printer *p, const dync__node *node, bool named)
{
    dync__str_add(p->s, "  /* ");
    if (named) dync__str_addf(p->s, "%s: ", node->name);
    dync__c_type_comment(p, node);
    if (node->kind == DYNC__N_GET_ATTR) {
        dync__str_add(p->s, "; attr ");
        dync__c_comment_text(p->s, node->target);
    } else if (node->source || strcmp(node->target, node->name) != 0) {
        dync__str_addf(p->s, "; %s; ", node->target);
        dync__c_comment_text(p->s, node->source ? node->source : "");
    }
    dync__str_add(p->s, " */\n");
}

/* What the printed function takes as a parameter: inputs, and attributes too large to be
 * printed. */
static bool dync__c_is_param(const dync__node *node)
{
    return node->kind == DYNC__N_PLACEHOLDER ||
           (node->kind == DYNC__N_GET_ATTR && !dync__graph_prints_inline(node));
}

/* The inputs of a dync_function, then the attributes that are not printed: its arguments. */
static void dync__c_take_params(dync__c_printer *p, const char *args)
{
    int k = 0;
    for (int i = 0; i < p->g->node.n; i++) {
        const dync__node *node = p->g->node.at[i];
        if (!dync__c_is_param(node)) continue;
        bool tensor = node->kind == DYNC__N_GET_ATTR || dync__c_is_tensor(node);
        if (node->n_users == 0)
            dync__str_addf(p->s, "    (void)%s[%d];", args, k++);
        else if (tensor)
            dync__str_addf(p->s, "    dync_tensor *%s = dync_as_tensor(%s[%d]);", node->name, args,
                           k++);
        else
            dync__str_addf(p->s, "    dync_value %s = %s[%d];", node->name, args, k++);
        dync__c_param_comment(p, node, node->n_users == 0);
    }
}

static void dync__c_statements(dync__c_printer *p, const char *args)
{
    dync__c_take_params(p, args);
    for (int i = 0; i < p->g->node.n; i++) {
        const dync__node *node = p->g->node.at[i];
        if (dync__c_is_param(node)) continue;
        if (node->kind != DYNC__N_OUTPUT) {
            dync__c_statement(p, node);
            continue;
        }
        dync__str_add(p->s, "    return ");
        dync__c_arg(p, &node->args[0], DYNC__PARAM_VALUE, true);
        dync__str_add(p->s, ";\n");
    }
}

DYNC__FN void dync__graph_print_c_body(dync__str *s, const dync__graph *g, const char *name,
                                       const char *args)
{
    dync__c_printer p = {s, g, true, name};
    dync__c_statements(&p, args);
}

/* recursion: functions inside, each behind those inside it */
static void dync__c_functions(const dync__c_printer *p)
{
    for (int i = 0; i < p->g->node.n; i++)
        for (int k = 0; k < p->g->node.at[i]->nargs; k++) {
            const dync__arg *a = &p->g->node.at[i]->args[k];
            dync__str name = {0};
            if (a->kind != DYNC__A_GRAPH) continue;
            dync__c_printer named = {&name, p->g, p->let, p->path};
            dync__c_function_name(&named, p->g->node.at[i], k);
            dync__c_printer q = {p->s, a->as.graph, p->let, dync__str_get(&name)};
            dync__c_functions(&q);
            dync__str_addf(p->s,
                           "static dync_value %s(const dync_value *dync_args, int dync_nargs, "
                           "void *dync_user)\n{\n"
                           "    (void)dync_args, (void)dync_nargs, (void)dync_user;\n",
                           q.path);
            dync__c_statements(&q, "dync_args");
            dync__str_add(p->s, "}\n\n");
            p->s->failed = p->s->failed || name.failed;
            dync__str_free(&name);
        }
}

DYNC__FN void dync__graph_print_c_inside(dync__str *s, const dync__graph *g, const char *name)
{
    dync__c_printer p = {s, g, true, name};
    dync__c_functions(&p);
}

DYNC__FN void dync__graph_print_c(dync__str *s, const dync__graph *g)
{
    dync__c_printer p = {s, g, false, g->name};
    const dync__node *out = g->node.n && g->node.at[g->node.n - 1]->kind == DYNC__N_OUTPUT
                                ? g->node.at[g->node.n - 1]
                                : NULL;
    const dync__arg *result = out ? &out->args[0] : NULL;
    bool one = result && result->kind == DYNC__A_NODE && dync__c_is_tensor(result->as.node);
    const dync__node *last = NULL;
    dync__c_functions(&p);
    dync__str_addf(s, "%s%s(", one ? "dync_tensor *" : "dync_value ", g->name);
    for (int i = 0; i < g->node.n; i++) {
        if (!dync__c_is_param(g->node.at[i])) continue;
        if (last) dync__c_param_comment(&p, last, false);
        dync__c_param(&p, g->node.at[i], !last);
        last = g->node.at[i];
    }
    dync__str_add(s, last ? ")" : "void)");
    if (last) dync__c_param_comment(&p, last, false);
    dync__str_add(s, last ? "{\n" : "\n{\n");
    for (int i = 0; i < g->node.n; i++)
        if (!dync__c_is_param(g->node.at[i]) && g->node.at[i]->kind != DYNC__N_OUTPUT)
            dync__c_statement(&p, g->node.at[i]);
    if (result) {
        dync__str_add(s, "    return ");
        dync__c_arg(&p, result, DYNC__PARAM_VALUE, !one);
        dync__str_add(s, ";\n");
    }
    dync__str_add(s, "}\n");
}

/* Text into memory of the scope; an empty one on failure, so that a failed chain may be printed. */
static char *dync__graph_text(const dync__graph *g, void (*print)(dync__str *, const dync__graph *))
{
    static char nothing[1];
    dync__str s = {0};
    if (!g) return nothing;
    /* what is asked about symbolic sizes on the way is nobody's guard */
    dync__symtab *before = dync__tls.syms,
                 *syms = g->syms ? dync__symtab_copy(g->syms, NULL) : NULL;
    if (g->syms && !syms) return nothing;
    dync__tls.syms = g->syms ? syms : before;
    print(&s, g);
    dync__tls.syms = before;
    dync__symtab_free(syms);
    char *out = s.failed ? NULL : dync__scope_alloc(s.n + 1);
    if (out && s.n) memcpy(out, s.at, s.n);
    dync__str_free(&s);
    return out ? out : nothing;
}

DYNC_API char *dync_graph_str(const dync_graph *graph)
{
    return dync__graph_text(dync__graph_open(graph, "dync_graph_str"), dync__graph_print_c);
}
DYNC_API char *dync_graph_readable(const dync_graph *graph)
{
    return dync__graph_text(dync__graph_open(graph, "dync_graph_readable"), dync__graph_print_fx);
}
