/* graph/print_fx_use.c: what of torch.fx's text follows from who uses what: symbolic sizes are
 * inputs before the tensors that have them, as Dynamo has it, and each value and symbol is released
 * behind its last use: torch.fx's register_last_uses, delete_unused_values. Before print_fx.c. */
#include "../dync.in.h"
#include "print_fx.h"
DYNC__COLD

/* The next name of a symbol in the text of a size: s and digits. *n: how long; NULL: none. */
static const char *dync__fx_symbol(const char *p, size_t *n)
{
    for (; p && *p; p += *n ? *n : 1) {
        *n = 0;
        while (dync__is_word(p[*n])) ++*n;
        if (*n > 1 && p[0] == 's' && strspn(p + 1, "0123456789") >= *n - 1) return p;
    }
    return NULL;
}

/* ", s0: "Sym(s0)"" for each symbol that no earlier input has. */
DYNC__FN void dync__fx_declare(dync__fx_printer *p, const dync__node *input)
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
DYNC__FN void dync__fx_each_use(dync__fx_uses *u)
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
DYNC__FN void dync__fx_release(dync__fx_printer *p, const dync__node *node)
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
