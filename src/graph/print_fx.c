/* graph/print_fx.c: a graph as torch.fx prints it (torch/fx/graph.py, _gen_python_code;
 * torch/fx/graph_module.py, print_readable): Python that PyTorch can run.
 *
 *   class GraphModule(torch.nn.Module):
 *       def forward(self, L_x_: "f32[2, 3]"):
 *           l_x_ = L_x_
 *
 *           add: "f32[2, 3]" = l_x_ + 1;  l_x_ = None
 *           return (add,)
 *
 * How an operator prints is the fx column of its row: "torch.relu", ".view", "+", or a pattern with
 * holes. Each value is released after its last use; an unused one at once. Where upstream writes a
 * comment with the user's line, a blank line stands. */
#include "../dync.in.h"
#include "graph.h"
#include "text.h"
DYNC__COLD

typedef struct dync__fx_printer {
    dync__str *s;
    const dync__graph *g;
    bool readable;                /* annotations and blank lines; the other form is gm.code */
    bool flat_attrs;              /* attribute paths as one identifier */
    const dync__node **last_user; /* per node: who uses it last; NULL nobody */
    dync__str symbols;            /* names of those that are inputs, each between blanks */
} dync__fx_printer;

/* ---- arguments ------------------------------------------------------------------------------- */

/* repr of Python: shortest digits that round-trip, with ".0" where it would read as an int. */
static void dync__fx_double(dync__str *s, double x)
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
static void dync__fx_arg(dync__fx_printer *p, const dync__arg *a, bool as_tuple)
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
static void dync__fx_args(dync__fx_printer *p, const dync__node *node, int first, int n)
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
static const char *dync__fx_hole(const char *c, int *i)
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
static void dync__fx_attr_path(dync__fx_printer *p, const char *path)
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

/* Items, registered operators, patterns, methods, functions, prefix and infix operators, by the
 * form of the row's fx text. */
static void dync__fx_call(dync__fx_printer *p, const dync__node *node)
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
        dync__str_add(p->s, fx);
        dync__fx_args(p, node, 1, n);
    } else if ((*fx >= 'a' && *fx <= 'z') || (*fx >= 'A' && *fx <= 'Z') || *fx == '_') {
        dync__str_add(p->s, fx);
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

/* ---- releases: torch.fx's register_last_uses and delete_unused_values ------------------------ */

/* ---- symbolic sizes: inputs before the tensors that have them, as Dynamo has it -------------- */

/* The next name of a symbol in the text of a size: s and digits. *n: how long; NULL: none. */
static const char *dync__fx_symbol(const char *p, size_t *n)
{
    for (; p && *p; p += *n ? *n : 1) {
        *n = 0;
        while ((p[*n] >= 'a' && p[*n] <= 'z') || (p[*n] >= 'A' && p[*n] <= 'Z') ||
               (p[*n] >= '0' && p[*n] <= '9') || p[*n] == '_')
            ++*n;
        if (*n > 1 && p[0] == 's' && strspn(p + 1, "0123456789") >= *n - 1) return p;
    }
    return NULL;
}

/* ", s0: "Sym(s0)"" for each symbol that no earlier input has. */
static void dync__fx_declare(dync__fx_printer *p, const dync__node *input)
{
    const dync__layout *lay = &input->info[0].lay;
    for (int d = 0; p->readable && input->has_info && input->source && d < lay->ndim; d++) {
        size_t n = 0;
        for (const char *s = dync__fx_symbol(dync__graph_symbol_text(p->g, lay->shape[d]), &n); s;
             s = dync__fx_symbol(s + n, &n)) {
            char name[24], word[28];
            dync__format(name, sizeof name, "%.*s", (int)n, s);
            dync__format(word, sizeof word, " %s ", name);
            if (strstr(dync__str_get(&p->symbols), word)) continue;
            dync__str_add(&p->symbols, word);
            dync__str_addf(p->s, ", %s: \"Sym(%s)\"", name, name);
        }
    }
}

static bool dync__fx_arg_mentions(const dync__graph *g, const dync__arg *a, const char *name,
                                  size_t n)
{
    bool found = false;
    int count = a->kind == DYNC__A_DIMS || a->kind == DYNC__A_LIST
                    ? a->n
                    : a->kind == DYNC__A_INT || a->kind == DYNC__A_FLOAT;
    for (int i = 0; i < count && !found; i++) {
        size_t k = 0;
        int64_t size = a->kind == DYNC__A_DIMS    ? a->as.dims[i]
                       : a->kind == DYNC__A_FLOAT ? dync__sf_bits(a->as.f)
                                                  : a->as.i;
        if (a->kind == DYNC__A_LIST)
            found = dync__fx_arg_mentions(g, &a->as.list[i], name, n);
        else
            for (const char *s = dync__fx_symbol(dync__graph_symbol_text(g, size), &k); s && !found;
                 s = dync__fx_symbol(s + k, &k))
                found = k == n && memcmp(s, name, n) == 0;
    }
    return found;
}
/* Does the node's argument list use the symbol? */
static bool dync__fx_mentions(const dync__graph *g, const dync__node *node, const char *name,
                              size_t n)
{
    bool found = false;
    for (int i = 0; i < node->nargs && !found; i++)
        found = dync__fx_arg_mentions(g, &node->args[i], name, n);
    return found;
}

/* Symbols whose last use this is; any: something was printed before. */
static bool dync__fx_release_symbols(dync__fx_printer *p, const dync__node *node, bool any)
{
    for (const char *s = dync__str_get(&p->symbols); *(s += strspn(s, " "));) {
        size_t n = strcspn(s, " ");
        bool last = dync__fx_mentions(p->g, node, s, n);
        for (int i = node->index + 1; last && i < p->g->node.n; i++)
            last = !dync__fx_mentions(p->g, p->g->node.at[i], s, n);
        if (last) dync__str_addf(p->s, any ? " = %.*s" : ";  %.*s", (int)n, s);
        any = any || last;
        s += n;
    }
    return any;
}

/* Two walks: the first, backwards over the graph, notes the last user of each value; the second
 * prints ";  x = y = None" behind that user. */
typedef struct dync__fx_uses {
    dync__fx_printer *p;
    const dync__node *user;
    bool print, any;
} dync__fx_uses;

static void dync__fx_use(void *user, dync__arg *arg)
{
    dync__fx_uses *u = user;
    const dync__node **last = &u->p->last_user[arg->as.node->index];
    if (!u->print) {
        if (!*last) *last = u->user;
    } else if (*last == u->user) {
        dync__str_addf(u->p->s, u->any ? " = %s" : ";  %s", arg->as.node->name);
        u->any = true;
        *last = NULL; /* said once */
    }
}

/* Arguments in the order in which they are printed. */
static void dync__fx_each_use(dync__fx_uses *u)
{
    dync__node *node = (dync__node *)(uintptr_t)u->user; /* only read */
    const char *fx = node->op >= 0 ? dync__op_info(node->op)->fx : NULL;
    int i;
    for (const char *c = fx ? strchr(fx, '{') : NULL; c && *c; c++) {
        if (*c != '{') continue;
        c = dync__fx_hole(c, &i);
        if (i >= 0 && i < node->nargs && node->args[i].kind == DYNC__A_NODE)
            dync__fx_use(u, &node->args[i]);
    }
    dync__node_each_input(node, dync__fx_use, u);
}

/* What the statement releases, then the node itself where nobody uses it, then the end of the
 * line. */
static void dync__fx_release(dync__fx_printer *p, const dync__node *node)
{
    dync__fx_uses u = {p, node, true, false};
    for (int i = 0; i < node->nargs && p->g->sub.n; i++) { /* in the order of the arguments */
        if (node->args[i].kind == DYNC__A_GRAPH) {
            dync__str_add(p->s, u.any ? " = " : ";  ");
            dync__text_function(p->s, node, i);
            u.any = true;
        } else if (node->op >= 0 && dync__row_is_control(dync__op_info(node->op))) {
            dync__arg_each_node(&node->args[i], dync__fx_use, &u);
        }
    }
    dync__fx_each_use(&u);
    u.any = dync__fx_release_symbols(p, node, u.any);
    if (node->n_users == 0) {
        dync__str_addf(p->s, u.any ? " = %s" : ";  %s", node->name);
        u.any = true;
    }
    if (u.any) dync__str_add(p->s, " = None");
    dync__str_addc(p->s, '\n');
}

/* ---- the function ---------------------------------------------------------------------------- */

/* : "f32[2, 3]" */
static void dync__fx_annotation(dync__fx_printer *p, const dync__node *node)
{
    if (!p->readable) return;
    if (node->sym) {
        dync__str_addf(p->s, ": \"Sym(%s)\"", node->sym);
    } else if (node->has_info && node->nout == 1) {
        dync__str_addf(p->s, ": \"%s", dync__dtype_info(node->info[0].dtype)->fx);
        dync__text_shape(p->s, p->g, node->info[0].lay.ndim, node->info[0].lay.shape);
        dync__str_addc(p->s, '"');
    } else if (node->kind == DYNC__N_PLACEHOLDER && !dync__arg_is_number(&node->scalar)) {
        dync__str_add(p->s, " : list");
    }
}

/* Names of inputs are those of their sources: L_x_. */
static void dync__fx_signature(dync__fx_printer *p)
{
    dync__str_add(p->s, "    def forward(self");
    for (int i = 0; i < p->g->n_inputs; i++) {
        const dync__node *node = p->g->node.at[i];
        dync__fx_declare(p, node);
        dync__str_addf(p->s, ", %s", node->target);
        dync__fx_annotation(p, node);
        if (!p->readable && node->has_info && strcmp(node->name, node->target) != 0)
            dync__str_add(p->s, " : torch.Tensor");
    }
    dync__str_add(p->s, "):\n");
}

/* By the stack where there is one, else by file and line. */
static bool dync__fx_same_line(const dync__node *a, const dync__node *b)
{
    if (!a) return false;
    if (a->stack || b->stack) return a->stack && b->stack && strcmp(a->stack, b->stack) == 0;
    if (!a->at.file || !b->at.file) return a->at.file == b->at.file;
    return a->at.line == b->at.line && strcmp(a->at.file, b->at.file) == 0;
}

/* The functions inside a call are attributes. */
static void dync__fx_functions(dync__fx_printer *p, const dync__node *node)
{
    for (int i = 0; i < node->nargs; i++) {
        if (node->args[i].kind != DYNC__A_GRAPH) continue;
        dync__text_function(p->s, node, i);
        dync__str_add(p->s, " = self.");
        dync__text_function(p->s, node, i);
        dync__str_add(p->s, "\n        ");
    }
}

/* Inputs whose variable has another name than the parameter are assigned first. */
static void dync__fx_body(dync__fx_printer *p)
{
    const dync__node *before = NULL;
    bool first = true;
    for (int i = 0; i < p->g->node.n; i++) {
        const dync__node *node = p->g->node.at[i];
        if (node->kind == DYNC__N_PLACEHOLDER) {
            if (strcmp(node->name, node->target) == 0) continue;
            dync__str_addf(p->s, "        %s = %s\n", node->name, node->target);
            first = false;
            continue;
        }
        if (node->kind != DYNC__N_OUTPUT) {
            if (p->readable && !first && !p->g->unbroken && !dync__fx_same_line(before, node))
                dync__str_addc(p->s, '\n');
            before = node;
        }
        first = false;
        dync__str_add(p->s, "        ");
        if (node->kind == DYNC__N_OUTPUT) {
            dync__str_add(p->s, "return ");
            dync__fx_arg(p, &node->args[0], true);
            dync__str_addc(p->s, '\n');
            continue;
        }
        if (p->g->sub.n) dync__fx_functions(p, node);
        dync__str_add(p->s, node->name);
        dync__fx_annotation(p, node);
        dync__str_add(p->s, " = ");
        if (node->kind == DYNC__N_GET_ATTR) {
            dync__fx_attr_path(p, node->target);
        } else if (node->kind == DYNC__N_CALL_MODULE) {
            dync__fx_attr_path(p, node->target);
            dync__fx_args(p, node, 0, node->nargs);
        } else {
            dync__fx_call(p, node);
            bool control = node->op >= 0 && dync__row_is_control(dync__op_info(node->op));
            if (control && node->nout == 1) dync__str_add(p->s, "[0]"); /* upstream: a tuple */
        }
        dync__fx_release(p, node);
    }
}

/* The method, with last_user filled before anything is printed. */
static void dync__fx_forward(dync__fx_printer *p)
{
    size_t bytes = (size_t)p->g->node.n * sizeof *p->last_user;
    p->last_user = dync__calloc(bytes);
    if (!p->last_user) {
        p->s->failed = true;
        return;
    }
    for (int i = p->g->node.n - 1; i >= 0; i--) {
        dync__fx_uses u = {p, p->g->node.at[i], false, false};
        dync__fx_each_use(&u);
    }
    dync__fx_signature(p);
    dync__fx_body(p);
    dync__free(p->last_user, bytes);
    dync__str_free(&p->symbols);
}

/* recursion: a class of its own for each function inside, in the class around it */
static void dync__fx_class(dync__str *s, const dync__graph *g, const char *name)
{
    dync__fx_printer p = {.s = s, .g = g, .readable = true};
    dync__str_addf(s, "class %s(torch.nn.Module):\n", name);
    dync__fx_forward(&p);
    for (int i = 0; i < g->node.n && g->sub.n; i++)
        for (int k = 0; k < g->node.at[i]->nargs; k++) {
            dync__str title = {0}, text = {0};
            const dync__arg *a = &g->node.at[i]->args[k];
            if (a->kind != DYNC__A_GRAPH) continue;
            dync__text_function(&title, g->node.at[i], k);
            dync__fx_class(&text, a->as.graph, dync__str_get(&title));
            dync__str_addc(s, '\n');
            for (const char *c = dync__str_get(&text), *end; *c; c = end) {
                end = c + strcspn(c, "\n");
                end += *end == '\n';
                dync__str_addf(s, *c == '\n' ? "%.*s" : "    %.*s", (int)(end - c), c);
            }
            s->failed = s->failed || title.failed || text.failed;
            dync__str_free(&title);
            dync__str_free(&text);
        }
}

DYNC__FN void dync__graph_print_fx(dync__str *s, const dync__graph *g)
{
    dync__fx_class(s, g, g->name);
}

/* ---- the minifier's form: torch/_dynamo/debug_utils.py, NNModuleToString --------------------- */

enum { DYNC__FX_INLINE_ELEMENTS = 4 };

/* torch.tensor([..], dtype=..).reshape(..): a small buffer with its elements. */
static void dync__fx_literal(dync__fx_printer *p, const dync__tensor *t)
{
    dync__tensor *dense = dync__contiguous_copy(t);
    const char *data = dense ? dync__tensor_data(dense) : NULL;
    dync__str_add(p->s, "torch.tensor([");
    for (int64_t i = 0; data && i < t->numel; i++) {
        const char *at = data + i * dync__dtype_info(t->dtype)->bytes;
        if (i) dync__str_add(p->s, ", ");
        if (dync__dtype_info(t->dtype)->kind == 'f')
            dync__fx_double(p->s, dync__load_f64(at, t->dtype));
        else
            dync__str_addf(p->s, "%lld", (long long)dync__load_i64(at, t->dtype));
    }
    dync__str_addf(p->s, "], dtype=torch.%s).reshape(", dync__dtype_info(t->dtype)->name);
    dync__text_shape(p->s, p->g, t->lay.ndim, t->lay.shape);
    dync__str_addc(p->s, ')');
    dync__unref(dense);
}

/* A parameter as random numbers of its shape, a buffer by its elements or random too: a repro needs
 * types, not values. */
static void dync__fx_repro_attr(dync__fx_printer *p, const dync__node *node, bool parameter)
{
    const dync__info *info = &node->info[0];
    const dync__dtype_row *dtype = dync__dtype_info(info->dtype);
    bool cuda = dync__device_is(info->device, DYNC__DEV_NUMBERED);
    dync__str path = {0};
    dync__fx_printer q = {.s = &path, .g = p->g, .flat_attrs = true};
    dync__fx_attr_path(&q, node->target);
    const char *name = dync__str_get(&path) + (path.n > 5 ? 5 : 0); /* behind "self." */
    if (parameter)
        dync__str_addf(p->s, "        self.%s = torch.nn.Parameter(torch.randn(", name);
    else
        dync__str_addf(p->s, "        self.register_buffer('%s', ", name);
    if (!parameter && node->value && node->value->storage->data &&
        node->value->numel <= DYNC__FX_INLINE_ELEMENTS) {
        dync__fx_literal(p, node->value);
    } else {
        if (!parameter)
            dync__str_add(p->s, dtype->kind == 'f' ? "torch.randn(" : "torch.randint(1, size=");
        dync__text_shape(p->s, p->g, info->lay.ndim, info->lay.shape);
        dync__str_addf(p->s, ", dtype=torch.%s%s)", dtype->name,
                       parameter && cuda ? ", device=\"cuda\"" : "");
    }
    if (!parameter && cuda) dync__str_add(p->s, ".cuda()");
    dync__str_add(p->s, ")\n");
    dync__str_free(&path);
}

DYNC__FN void dync__graph_print_repro(dync__str *s, const dync__graph *g)
{
    dync__fx_printer p = {.s = s, .g = g, .flat_attrs = true};
    dync__str_add(
        s, "class Repro(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n");
    for (int pass = 0; pass < 2; pass++) /* buffers, then parameters, each once */
        for (int i = 0; i < g->node.n; i++) {
            const dync__node *node = g->node.at[i];
            bool parameter = node->requires_grad[0] ||
                             (node->value && (node->value->flags & DYNC__T_PARAMETER));
            bool known = false;
            for (int j = 0; j < i; j++)
                known = known || (g->node.at[j]->kind == DYNC__N_GET_ATTR &&
                                  strcmp(g->node.at[j]->target, node->target) == 0);
            if (node->kind == DYNC__N_GET_ATTR && node->has_info && !known &&
                parameter == (pass == 1))
                dync__fx_repro_attr(&p, node, parameter);
        }
    dync__str_addc(s, '\n');
    dync__fx_forward(&p);
}
