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
 * The statements stand here, what is in them in print_fx_call.c and print_fx_use.c. Each value is
 * released after its last use; an unused one at once. Where upstream writes a comment with the
 * user's line, a blank line stands. */
#include "../dync.in.h"
#include "print_fx.h"
DYNC__COLD

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
DYNC__FN void dync__fx_forward(dync__fx_printer *p)
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
    if (dync__graph_prints(s)) dync__fx_class(s, g, g->name);
}
