/* graph/print_fx_call.c: arguments and calls of torch.fx's text: how a value reads as Python, and
 * how an operator does: the fx column of its row is "torch.relu", ".view", "+", or a pattern with
 * holes. Before print_fx.c, which prints the statements around them. */
#include "../dync.in.h"
#include "print_fx.h"
DYNC__COLD

/* ---- arguments ------------------------------------------------------------------------------- */

/* repr of Python: shortest digits that round-trip, with ".0" where it would read as an int. */
DYNC__FN void dync__fx_double(dync__str *s, double x)
{
    char text[40];
    if (x - x != 0) {
        dync__str_add(s, x != x ? "float('nan')" : x > 0 ? "float('inf')" : "float('-inf')");
        return;
    }
    dync__double_text(x, text, sizeof text);
    dync__str_add(s, text);
    if (!strpbrk(text, ".e")) dync__str_add(s, ".0");
}

/* A Python string in single quotes. */
static void dync__fx_quote(dync__str *s, const char *text)
{
    dync__str_addc(s, '\'');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\'' || c == '\\')
            dync__str_addf(s, "\\%c", c);
        else if (c < 32)
            dync__str_addf(s, "\\x%02x", c);
        else
            dync__str_addc(s, (char)c);
    }
    dync__str_addc(s, '\'');
}

/* bare: without the parentheses, as in x.view(2, 3). A tuple of one has a comma. */
static void dync__fx_dims(dync__fx_printer *p, const dync__arg *a, bool bare)
{
    if (!bare) dync__str_addc(p->s, '(');
    for (int i = 0; i < a->n; i++) {
        if (i) dync__str_add(p->s, ", ");
        dync__text_size(p->s, p->g, a->as.dims[i]);
    }
    if (!bare) dync__str_add(p->s, a->n == 1 ? ",)" : ")");
}

/* as_tuple: lists are printed as tuples, as in return. */
DYNC__FN void dync__fx_arg(dync__fx_printer *p, const dync__arg *a, bool as_tuple)
{
    switch (a->kind) {
    case DYNC__A_NODE: dync__str_add(p->s, a->as.node->name); break;
    case DYNC__A_INT: dync__text_size(p->s, p->g, a->as.i); break;
    case DYNC__A_FLOAT:
        if (dync__is_sf(dync__sf_bits(a->as.f)))
            dync__text_size(p->s, p->g, dync__sf_bits(a->as.f));
        else
            dync__fx_double(p->s, a->as.f);
        break;
    case DYNC__A_BOOL: dync__str_add(p->s, a->as.i ? "True" : "False"); break;
    case DYNC__A_DIMS: dync__fx_dims(p, a, false); break;
    case DYNC__A_DTYPE:
        dync__str_addf(p->s, "torch.%s", dync__dtype_info((int)a->as.i)->name);
        break;
    case DYNC__A_DEVICE: {
        char text[DYNC__DEVICE_TEXT];
        dync__str_addf(p->s, "torch.device('%s')", dync__device_text((int)a->as.i, text));
        break;
    }
    case DYNC__A_STR: dync__fx_quote(p->s, a->as.s); break;
    case DYNC__A_LIST:
        dync__str_addc(p->s, as_tuple ? '(' : '[');
        for (int i = 0; i < a->n; i++) {
            if (i) dync__str_add(p->s, ", ");
            dync__fx_arg(p, &a->as.list[i], as_tuple);
        }
        dync__str_add(p->s, as_tuple ? a->n == 1 ? ",)" : ")" : "]");
        break;
    default: dync__str_add(p->s, "None"); break;
    }
}

static bool dync__fx_is_reduction(const dync__node *node)
{
    return node->op >= 0 && dync__op_info(node->op)->cls == DYNC__REDUCE;
}

/* Argument i. PyTorch takes one dimension as an int everywhere, several as a tuple, and all of them
 * as None or in full. */
static void dync__fx_call_arg(dync__fx_printer *p, const dync__node *node, int i)
{
    const dync__arg *a = &node->args[i];
    if (a->kind == DYNC__A_GRAPH) {
        dync__text_function(p->s, node, i);
    } else if (a->kind != DYNC__A_DIMS || !dync__fx_is_reduction(node)) {
        dync__fx_arg(p, a, false);
    } else if (a->n == 1) {
        dync__text_size(p->s, p->g, a->as.dims[0]);
    } else if (a->n > 1) {
        dync__fx_dims(p, a, false);
    } else {
        const dync__node *x = node->args[0].kind == DYNC__A_NODE ? node->args[0].as.node : NULL;
        int ndim = x && x->has_info ? x->info[0].lay.ndim : 0;
        dync__str_addc(p->s, '(');
        for (int d = 0; d < ndim; d++) dync__str_addf(p->s, d ? ", %d" : "%d", d);
        dync__str_add(p->s, ndim == 1 ? ",)" : ")");
    }
}

/* How many arguments are printed: "over all dimensions, not kept" is what PyTorch does without
 * being told. */
static int dync__fx_count_args(const dync__node *node)
{
    int n = node->nargs;
    if (node->op < 0) return n;
    while (n > 0 && node->args[n - 1].kind == DYNC__A_PTR) n--;
    bool all = n > 2 && node->args[n - 1].kind == DYNC__A_BOOL && !node->args[n - 1].as.i &&
               node->args[n - 2].kind == DYNC__A_DIMS && node->args[n - 2].n == 0;
    return all ? n - 2 : n;
}

/* Arguments first .. n - 1 in parentheses. */
DYNC__FN void dync__fx_args(dync__fx_printer *p, const dync__node *node, int first, int n)
{
    bool bare = first == 1 && n == 2 && node->args[1].kind == DYNC__A_DIMS && node->args[1].n > 0 &&
                !dync__fx_is_reduction(node);
    dync__str_addc(p->s, '(');
    for (int i = first; i < n; i++) {
        if (i > first) dync__str_add(p->s, ", ");
        if (bare)
            dync__fx_dims(p, &node->args[i], true); /* x.view(2, 3) */
        else
            dync__fx_call_arg(p, node, i);
    }
    dync__str_addc(p->s, ')');
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* {3}: argument 3; {#}: -1. */
DYNC__FN const char *dync__fx_hole(const char *c, int *i)
{
    *i = c[1] == '#' ? -1 : 0;
    if (*i) return c + 2;
    for (c++; *c >= '0' && *c <= '9'; c++) *i = 10 * *i + (*c - '0');
    return c; /* at the closing brace */
}

/* Functions are told apart as torch.fx does where each call has its own: name, name_1, name_2. */
static void dync__fx_ordinal(dync__fx_printer *p, const dync__node *node)
{
    int k = 0;
    for (int i = 0; i < p->g->node.n && p->g->node.at[i] != node; i++)
        k += p->g->node.at[i]->op == node->op;
    if (k) dync__str_addf(p->s, "_%d", k);
}

/* Copies the pattern and puts arguments into its holes; one that begins with a dot is behind the
 * first argument. */
static void dync__fx_pattern(dync__fx_printer *p, const dync__node *node, const char *pattern)
{
    int i;
    if (*pattern == '.') dync__fx_call_arg(p, node, 0);
    for (const char *c = pattern; *c; c++) {
        if (*c != '{') {
            dync__str_addc(p->s, *c);
            continue;
        }
        c = dync__fx_hole(c, &i);
        if (i < 0)
            dync__fx_ordinal(p, node);
        else if (i < node->nargs)
            dync__fx_call_arg(p, node, i);
    }
}

/* self.a.b, with getattr where a part is no identifier: getattr(self, "0").weight */
DYNC__FN void dync__fx_attr_path(dync__fx_printer *p, const char *path)
{
    dync__str expr = {0}, next = {0};
    dync__str_add(&expr, "self");
    if (p->flat_attrs) {
        dync__str_addf(&expr, path[0] >= '0' && path[0] <= '9' ? "._" : ".");
        for (; *path; path++) dync__str_addc(&expr, *path == '.' ? '_' : *path);
    }
    while (*path) {
        size_t n = strcspn(path, ".");
        bool is_name = n > 0 && !(path[0] >= '0' && path[0] <= '9');
        next.n = 0;
        dync__str_addf(&next, is_name ? "%s.%.*s" : "getattr(%s, \"%.*s\")", dync__str_get(&expr),
                       (int)n, path);
        dync__str t = expr;
        expr = next;
        next = t;
        path += n + (path[n] == '.');
    }
    dync__str_add(p->s, dync__str_get(&expr));
    p->s->failed = p->s->failed || expr.failed || next.failed;
    dync__str_free(&expr);
    dync__str_free(&next);
}

/* The row's fx text as Python has it: F.* of relu is torch.nn.functional.relu. */
static void dync__fx_function(dync__str *s, const dync__op_row *row)
{
    static const struct {
        char letter, prefix[24];
    } spaces[] = {{'F', "torch.nn.functional"}, {'A', "torch.ops.aten"}, {'D', "torch.ops.dync"}};
    const char *fx = row->fx;
    size_t n = strlen(fx);
    for (int i = 0; i < DYNC__COUNT_OF(spaces) && fx[1] == '.'; i++)
        if (*fx == spaces[i].letter) {
            dync__str_add(s, spaces[i].prefix);
            fx++, n--;
        }
    bool named = n && fx[n - 1] == '*';
    dync__str_addn(s, fx, n - named);
    if (named) dync__str_add(s, row->name);
}

/* Items, registered operators, patterns, methods, functions, prefix and infix operators, by the
 * form of the row's fx text. */
DYNC__FN void dync__fx_call(dync__fx_printer *p, const dync__node *node)
{
    if (node->op == DYNC__NODE_GETITEM) {
        dync__str_addf(p->s, "%s[%d]", node->args[0].as.node->name, (int)node->args[1].as.i);
        return;
    }
    const char *fx = node->op >= 0 ? dync__op_info(node->op)->fx : NULL;
    int n = dync__fx_count_args(node);
    if (!fx) { /* registered operators: mylib::foo is torch.ops.mylib.foo */
        const char *colons = strstr(node->target, "::");
        if (colons)
            dync__str_addf(p->s, "torch.ops.%.*s.%s", (int)(colons - node->target), node->target,
                           colons + 2);
        else
            dync__str_add(p->s, node->target);
        dync__fx_args(p, node, 0, n);
    } else if (strchr(fx, '{')) {
        dync__fx_pattern(p, node, fx);
    } else if (*fx == '.') {
        dync__fx_call_arg(p, node, 0);
        dync__fx_function(p->s, dync__op_info(node->op));
        dync__fx_args(p, node, 1, n);
    } else if (dync__is_letter(*fx)) {
        dync__fx_function(p->s, dync__op_info(node->op));
        dync__fx_args(p, node, 0, n);
    } else if (n == 1) {
        dync__str_add(p->s, fx);
        dync__fx_call_arg(p, node, 0);
    } else {
        dync__fx_call_arg(p, node, 0);
        dync__str_addf(p->s, " %s ", fx);
        dync__fx_call_arg(p, node, 1);
    }
}
