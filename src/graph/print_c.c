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
#include "print_c.h"
DYNC__COLD

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

static void dync__c_graph(dync__str *s, const dync__graph *g)
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

/* What is asked about symbolic sizes on the way is nobody's guard. */
static void dync__graph_write(dync__str *s, const dync__graph *g,
                              void (*print)(dync__str *, const dync__graph *))
{
    dync__symtab *before = dync__tls.syms,
                 *syms = g->syms ? dync__symtab_copy(g->syms, NULL) : NULL;
    s->failed = s->failed || (g->syms && !syms);
    if (s->failed) return;
    dync__tls.syms = g->syms ? syms : before;
    print(s, g);
    dync__tls.syms = before;
    dync__symtab_free(syms);
}

DYNC__FN void dync__graph_print_c(dync__str *s, const dync__graph *g)
{
    if (dync__graph_prints(s)) dync__graph_write(s, g, dync__c_graph);
}

/* Text into memory of the scope; an empty one on failure, so that a failed chain may be printed. */
static char *dync__graph_text(const dync__graph *g, void (*print)(dync__str *, const dync__graph *))
{
    static char nothing[1];
    dync__str s = {0};
    DYNC__NEEDS(DYNC_NO_PRINT_GRAPH, "a graph's text", nothing);
    if (!g) return nothing;
    dync__graph_write(&s, g, print);
    char *out = s.failed ? NULL : dync__scope_alloc(s.n + 1);
    if (out && s.n) memcpy(out, s.at, s.n);
    dync__str_free(&s);
    return out ? out : nothing;
}

DYNC_API char *dync_graph_str(const dync_graph *graph)
{
    return dync__graph_text(dync__graph_open(graph, "dync_graph_str"), dync__c_graph);
}
DYNC_API char *dync_graph_readable(const dync_graph *graph)
{
    return dync__graph_text(dync__graph_open(graph, "dync_graph_readable"), dync__graph_print_fx);
}
