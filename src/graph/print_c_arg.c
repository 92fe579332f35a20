/* graph/print_c_arg.c: the arguments of a call in C: numbers, sizes read off the inputs that have
 * them, dims, lists, tensors by the names of their nodes. Before print_c_node.c. */
#include "../dync.in.h"
#include "print_c.h"
DYNC__COLD

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
DYNC__FN void dync__c_int(dync__str *s, int64_t i)
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
        if (!dync__op_is_item(n->op) && n->info[0].lay.shape[0] == token) {
            dync__str_addf(s, "dync_dim(%s, 0)", n->name);
            return true;
        }
        if (!dync__op_is_item(n->op) || !g->syms || g->syms->symbol.n > DYNC__COUNT_OF(uses) ||
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
DYNC__FN void dync__c_dims(dync__c_printer *p, const dync__arg *a, bool as_value)
{
    if (a->n == 0) dync__str_add(p->s, as_value ? "dync_tuple_of(0, NULL)" : "DYNC_SCALAR");
    for (int i = 0; i < a->n; i++) {
        dync__str_add(p->s, i ? ", " : as_value ? "dync_tuple(" : "dync_shape(");
        dync__c_size(p, a->as.dims[i]);
    }
    if (a->n) dync__str_addc(p->s, ')');
}

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
DYNC__FN void dync__c_arg(dync__c_printer *p, const dync__arg *a, dync__param_type type,
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
