/* graph/inspect.c: what users see in nodes: schema, arguments, results, users, texts of symbolic
 * sizes. Before change.c. */
#include "../dync.in.h"
#include "change.h"
DYNC__COLD

/* NULL for inputs, attributes, the output, items and functions of the user's. */
static const dync__op_row *dync__node_row(const dync__node *n)
{
    return n && n->op >= 0 ? dync__op_info(n->op) : NULL;
}

DYNC_API const char *dync_node_schema(const dync_node *handle)
{
    const dync__op_row *row = dync__node_row(dync__node_open(handle, "dync_node_schema"));
    return row ? row->schema : "";
}

/* ---- arguments ------------------------------------------------------------------------------- */
DYNC_API int dync_node_nargs(const dync_node *handle)
{
    const dync__node *n = dync__node_open(handle, "dync_node_nargs");
    return n ? n->nargs : 0;
}

/* DYNC_ERR_INDEX names who asked. */
static bool dync__node_has_arg(const dync__node *n, int i, const char *who)
{
    if (n && i >= 0 && i < n->nargs) return true;
    if (n)
        dync__fail(DYNC_ERR_INDEX, "%s: %s: expected 0 <= argument < %d, got %d", who, n->name,
                   n->nargs, i);
    return false;
}

/* An argument as users see it: nodes as handles, sizes as numbers or symbolic values, lists in the
 * scope. What has no value for users is NONE. */
static dync_value dync__arg_shown(const dync__arg *a)
{
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_NODE: return dync_v_node(dync__node_show(a->as.node));
    case DYNC__A_INT: return dync__value_of_size(a->as.i);
    case DYNC__A_FLOAT: return dync__value_of_sf(a->as.f);
    case DYNC__A_BOOL: return dync_v_bool(a->as.i != 0);
    case DYNC__A_DTYPE:
    case DYNC__A_DEVICE: return dync_v_int(a->as.i);
    case DYNC__A_STR: return dync_v_str(a->as.s);
    case DYNC__A_PTR: return dync_v_ptr(a->as.p);
    case DYNC__A_GRAPH: return dync_v_graph(dync__graph_handle(a->as.graph));
    case DYNC__A_DIMS:
    case DYNC__A_LIST: {
        dync_value list = dync__list_new(a->n);
        for (int i = 0; list.kind == DYNC_KIND_LIST && i < a->n; i++)
            dync__list_set(list, i,
                           a->kind == DYNC__A_DIMS ? dync__value_of_size(a->as.dims[i])
                                                   : dync__arg_shown(&a->as.list[i]));
        return list;
    }
    case DYNC__A_NONE:
    case DYNC__A_TENSOR:
    case DYNC__A_HANDLE: break;
    }
    return DYNC_NONE;
}

DYNC_API dync_value dync_node_arg(const dync_node *handle, int i)
{
    const dync__node *n = dync__node_open(handle, "dync_node_arg");
    return dync__node_has_arg(n, i, "dync_node_arg") ? dync__arg_shown(&n->args[i]) : DYNC_NONE;
}

/* A copy in the scope; NULL: no memory. */
static char *dync__inspect_text(const char *s, size_t n)
{
    char *out = dync__scope_alloc(n + 1);
    if (out) memcpy(out, s, n);
    return out;
}

DYNC_API char *dync_node_param(const dync_node *handle, int i)
{
    const dync__node *n = dync__node_open(handle, "dync_node_param");
    dync__param param;
    if (!dync__node_has_arg(n, i, "dync_node_param")) return NULL;
    const dync__op_row *row = dync__node_row(n);
    bool known = row && dync__schema_param(row->schema, i, &param);
    return dync__inspect_text(known ? param.name : "", known ? (size_t)param.name_n : 0);
}

DYNC_API dync_node *dync_as_node(dync_value v)
{
    if (v.kind == DYNC_KIND_NODE && dync__node_open(v.as.n, "dync_as_node")) return v.as.n;
    if (v.kind != DYNC_KIND_NODE)
        dync__fail(DYNC_ERR_VALUE, "expected a node, got %s", dync__kind_name(v.kind));
    return NULL;
}

DYNC_API dync_graph *dync_as_graph(dync_value v)
{
    if (v.kind == DYNC_KIND_GRAPH && dync__graph_open(v.as.g, "dync_as_graph")) return v.as.g;
    if (v.kind != DYNC_KIND_GRAPH)
        dync__fail(DYNC_ERR_VALUE, "expected a graph, got %s", dync__kind_name(v.kind));
    return NULL;
}

/* ---- results --------------------------------------------------------------------------------- */
DYNC_API int dync_node_nresults(const dync_node *handle)
{
    const dync__node *n = dync__node_open(handle, "dync_node_nresults");
    return n && n->has_info ? n->nout : 0;
}

DYNC_API bool dync_node_result(const dync_node *handle, int i, dync_result_info *out)
{
    const dync__node *n = dync__node_open(handle, "dync_node_result");
    if (!n || !out) return false;
    int most = n->has_info ? n->nout : 0;
    if (i < 0 || i >= most)
        return dync__fail(DYNC_ERR_INDEX, "dync_node_result: %s: expected 0 <= result < %d, got %d",
                          n->name, most, i),
               false;
    const dync__info *info = &n->info[i];
    memset(out, 0, sizeof *out);
    out->dtype = (dync_dtype)info->dtype;
    out->device = (dync_device)info->device;
    out->shape.n = out->strides.n = info->lay.ndim;
    for (int d = 0; d < info->lay.ndim; d++) {
        out->shape.d[d] = info->lay.shape[d];
        out->strides.d[d] = info->lay.stride[d];
    }
    out->offset = info->lay.offset;
    out->requires_grad = n->requires_grad[i];
    return true;
}

DYNC_API char *dync_graph_size_text(const dync_graph *handle, int64_t size)
{
    const dync__graph *g = dync__graph_open(handle, "dync_graph_size_text");
    dync__str s = {0};
    if (!g) return NULL;
    dync__text_size(&s, g, size);
    char *out = s.failed ? NULL : dync__inspect_text(dync__str_get(&s), s.n);
    dync__str_free(&s);
    return out;
}

DYNC_API int64_t dync_graph_size_hint(const dync_graph *handle, int64_t size)
{
    const dync__graph *g = dync__graph_open(handle, "dync_graph_size_hint");
    if (!g || !dync__is_token(size)) return size;
    const dync__sz_expr *e = g->syms ? dync__symtab_find(g->syms, size) : NULL;
    if (e) return e->hint;
    dync__fail(DYNC_ERR_VALUE, "dync_graph_size_hint: not a size of graph %s", g->name);
    return -1;
}

/* ---- where it comes from, who uses it -------------------------------------------------------- */
DYNC_API const char *dync_node_source(const dync_node *handle)
{
    const dync__node *n = dync__node_open(handle, "dync_node_source");
    return n && n->source ? n->source : "";
}

DYNC_API const char *dync_node_stack(const dync_node *handle)
{
    const dync__node *n = dync__node_open(handle, "dync_node_stack");
    return n && n->stack ? n->stack : "";
}

DYNC_API dync_tensor *dync_node_value(const dync_node *handle)
{
    const dync__node *n = dync__node_open(handle, "dync_node_value");
    if (!n) return NULL;
    if (n->value) return dync__handle(n->value);
    dync__fail(DYNC_ERR_VALUE, "dync_node_value: %s is no get_attr, whose tensor the graph holds",
               n->name);
    return NULL;
}

/* Does a node read `of`? */
typedef struct dync__uses {
    const dync__node *of;
    bool any;
} dync__uses;
static void dync__uses_it(void *user, dync__arg *a)
{
    dync__uses *u = user;
    u->any = u->any || a->as.node == u->of;
}

DYNC_API int dync_node_users(const dync_node *handle, dync_node **out, int capacity)
{
    const dync__node *n = dync__node_open(handle, "dync_node_users");
    int found = 0;
    for (int i = n ? n->index + 1 : 0; n && i < n->graph->node.n; i++) {
        dync__uses u = {n, false};
        dync__node_each_input(n->graph->node.at[i], dync__uses_it, &u);
        if (!u.any) continue;
        if (out && found < capacity) out[found] = dync__node_show(n->graph->node.at[i]);
        found++;
    }
    return found;
}
