/* graph/pattern.c: subgraphs found by example, and replaced. After edit.c.
 *
 * A pattern is a graph: its inputs stand for any values, everything else for itself. A match
 * begins at the pattern's first result and goes back through arguments, as those are ordered; one
 * node of the graph answers one of the pattern. What the match computes on the way must be used by
 * it alone, results apart. Meaning: torch.fx.replace_pattern (torch/fx/subgraph_rewriter.py). */
#include "../dync.in.h"
#include "change.h"
DYNC__COLD

typedef struct dync__matcher {
    dync__graph *graph, *pattern;
    dync__node **at;   /* what answers a node of the pattern, by its index */
    dync__node **back; /* and the other way, by that of the graph */
    int first, last;   /* nodes matched lie between */
} dync__matcher;

static dync_status dync__matcher_begin(dync__matcher *m, dync__graph *g, dync__graph *pattern)
{
    *m = (dync__matcher){.graph = g, .pattern = pattern};
    m->at = dync__calloc((size_t)pattern->node.n * sizeof *m->at);
    return m->at ? DYNC_OK : DYNC_ERR_MEMORY;
}
static void dync__matcher_end(dync__matcher *m)
{
    dync__free(m->at, (size_t)m->pattern->node.n * sizeof *m->at);
}

/* The results of a pattern, a list or one value; *n: how many. */
static const dync__arg *dync__pattern_results(const dync__graph *g, int *n)
{
    const dync__arg *a = &g->node.at[g->node.n - 1]->args[0];
    *n = a->kind == DYNC__A_LIST ? a->n : 1;
    return a->kind == DYNC__A_LIST ? a->as.list : a;
}

/* What can be neither found nor put. results: as many, or -1. */
static dync_status dync__pattern_check(const dync__graph *g, const char *who, const char *what,
                                       int results)
{
    int n;
    const dync__arg *a = dync__pattern_results(g, &n);
    if (g->symbol.n > 0)
        return dync__fail(DYNC_ERR_VALUE, "%s: the %s was made with symbolic sizes", who, what);
    for (int i = 0; i < n; i++)
        if (a[i].kind != DYNC__A_NODE || (results < 0 && !dync__node_is_call(a[i].as.node)))
            return dync__fail(DYNC_ERR_VALUE, "%s: the %s gives what it does not compute", who,
                              what);
    if (n == 0 || (results >= 0 && n != results))
        return dync__fail(DYNC_ERR_VALUE, "%s: the %s gives %d results%s", who, what, n,
                          n ? ", the pattern another number" : "");
    for (int i = 0; i < g->node.n; i++)
        if (dync__node_writes(g->node.at[i]))
            return dync__fail(DYNC_ERR_VALUE, "%s: %s of the %s writes memory", who,
                              g->node.at[i]->name, what);
    return DYNC_OK;
}

/* ---- one match ------------------------------------------------------------------------------- */
static bool dync__match_node(dync__matcher *, dync__node *pattern, dync__node *n);

/* recursion: lists in arguments, and the nodes that arguments are */
static bool dync__match_arg(dync__matcher *m, const dync__arg *p, const dync__arg *a)
{
    if (p->kind != a->kind) return false;
    switch ((dync__arg_kind)p->kind) {
    case DYNC__A_NODE: return dync__match_node(m, p->as.node, a->as.node);
    case DYNC__A_DIMS:
        return p->n == a->n &&
               memcmp(p->as.dims, a->as.dims, (size_t)p->n * sizeof *p->as.dims) == 0;
    case DYNC__A_STR: return strcmp(p->as.s, a->as.s) == 0;
    case DYNC__A_FLOAT: return memcmp(&p->as.f, &a->as.f, sizeof p->as.f) == 0;
    case DYNC__A_LIST:
        for (int i = 0; p->n == a->n && i < p->n; i++)
            if (!dync__match_arg(m, &p->as.list[i], &a->as.list[i])) return false;
        return p->n == a->n;
    case DYNC__A_BOOL: return (p->as.i != 0) == (a->as.i != 0);
    case DYNC__A_GRAPH: return p->as.graph == a->as.graph;
    case DYNC__A_PTR: return p->as.p == a->as.p;
    case DYNC__A_NONE: return true;
    case DYNC__A_INT:
    case DYNC__A_DTYPE:
    case DYNC__A_DEVICE: return p->as.i == a->as.i;
    case DYNC__A_TENSOR:
    case DYNC__A_HANDLE: break;
    }
    return false;
}

/* Goes back from n through its arguments. What has been matched stays so on failure: dync__match_at
 * starts anew each time. */
static bool dync__match_node(dync__matcher *m, dync__node *p, dync__node *n)
{
    dync__node **at = &m->at[p->index];
    if (*at) return *at == n;
    if (p->kind == DYNC__N_PLACEHOLDER) {
        bool value = n->has_info && n->nout == 1;
        if (value) *at = n;
        return value;
    }
    if (p->kind == DYNC__N_GET_ATTR) {
        if (n->kind != DYNC__N_GET_ATTR || n->value != p->value) return false;
    } else if (!dync__node_is_call(n) || p->op != n->op || p->nargs != n->nargs ||
               (p->op == -1 && strcmp(p->target, n->target) != 0)) {
        return false;
    }
    for (int i = 0; i < p->index; i++) /* one node answers one */
        if (m->at[i] == n && m->pattern->node.at[i]->kind == p->kind) return false;
    *at = n;
    for (int i = 0; i < p->nargs; i++)
        if (!dync__match_arg(m, &p->args[i], &n->args[i])) return false;
    if (p->kind != DYNC__N_GET_ATTR) {
        m->first = DYNC__MIN(m->first, n->index);
        m->last = DYNC__MAX(m->last, n->index);
    }
    return true;
}

/* A node outside of the match that reads values of it: allowed for results alone, and only behind
 * the match's last node. */
typedef struct dync__outside {
    const dync__matcher *m;
    dync__node *user;
    bool inside, bad;
} dync__outside;
/* A node outside of the match reads a value of it. */
static void dync__match_outside(void *user, dync__arg *arg)
{
    dync__outside *o = user;
    const dync__matcher *m = o->m;
    int n;
    const dync__arg *result = dync__pattern_results(m->pattern, &n);
    for (int i = m->pattern->n_inputs; i < m->pattern->node.n - 1; i++) {
        const dync__node *p = m->pattern->node.at[i];
        bool given = false;
        if (m->at[i] != arg->as.node || p->kind == DYNC__N_GET_ATTR) continue;
        for (int k = 0; k < n; k++) given = given || result[k].as.node == p;
        o->bad = o->bad || !given || o->user->index < m->last;
    }
}

/* Is n one of the nodes that the match computes? Attributes may be shared with others. */
static bool dync__match_has(const dync__matcher *m, const dync__node *n)
{
    for (int i = m->pattern->n_inputs; i < m->pattern->node.n - 1; i++)
        if (m->at[i] == n && m->pattern->node.at[i]->kind != DYNC__N_GET_ATTR) return true;
    return false;
}

/* Is there one that ends in n? Between its first and its last node nothing else may write: it is
 * computed at its last one from then on. */
static bool dync__match_at(dync__matcher *m, dync__node *n)
{
    int results;
    const dync__arg *result = dync__pattern_results(m->pattern, &results);
    memset(m->at, 0, (size_t)m->pattern->node.n * sizeof *m->at);
    m->first = INT_MAX;
    m->last = -1;
    if (!dync__match_node(m, result[0].as.node, n)) return false;
    for (int i = 1; i < results; i++)
        if (!m->at[result[i].as.node->index]) return false;
    for (int i = 0; i < m->pattern->node.n - 1; i++) {
        const dync__node *p = m->pattern->node.at[i];
        if (!m->at[i] && (p->n_users > 0 || p->kind != DYNC__N_PLACEHOLDER)) return false;
    }
    for (int i = m->first; i < m->graph->node.n; i++) {
        dync__outside o = {m, m->graph->node.at[i], false, false};
        if (dync__match_has(m, o.user)) continue;
        if (i < m->last && dync__node_writes(o.user)) return false;
        dync__node_each_input(o.user, dync__match_outside, &o);
        if (o.bad) return false;
    }
    return true;
}

/* Handles of the match in the pattern's order, in the scope; NULL for inputs that the pattern does
 * not use. False: no memory. */
static bool dync__match_show(const dync__matcher *m, dync_match *out)
{
    const dync__graph *p = m->pattern;
    memset(out, 0, sizeof *out);
    dync_node **list = dync__scope_alloc((size_t)(p->node.n + 1) * sizeof *list);
    if (!list) return false;
    for (int i = 0; i < p->node.n - 1; i++)
        if (m->at[i]) list[i] = dync__node_show(m->at[i]);
    out->ninputs = p->n_inputs;
    out->nnodes = p->node.n - 1 - p->n_inputs;
    out->inputs = list;
    out->nodes = list + p->n_inputs;
    return true;
}

DYNC_API int dync_graph_match(dync_graph *handle, dync_graph *pattern_handle, dync_match *out,
                              int capacity)
{
    static const char who[] = "dync_graph_match";
    dync__graph *g = dync__graph_open(handle, who);
    dync__graph *pattern = g ? dync__graph_open(pattern_handle, who) : NULL;
    dync__matcher m;
    int found = 0;
    if (!pattern || dync__pattern_check(pattern, who, "pattern", -1) != DYNC_OK ||
        dync__matcher_begin(&m, g, pattern) != DYNC_OK)
        return 0;
    for (int i = 0; i < g->node.n; i++) {
        if (!dync__match_at(&m, g->node.at[i])) continue;
        if (out && found < capacity && !dync__match_show(&m, &out[found])) break;
        found++;
    }
    dync__matcher_end(&m);
    return found;
}

/* ---- replacing ------------------------------------------------------------------------------- */
/* New nodes have the user's line, stack and source of the match's first result. */
static dync__node *dync__pattern_copy(dync__rewrite *r, dync__node *old, const dync__node *like)
{
    dync__node *n = dync__rewrite_copy(r, old);
    if (!n) return NULL;
    n->at = like->at;
    n->stack = like->stack;
    n->source = like->source;
    n->user_op = like->user_op;
    n->seq_nr = like->seq_nr;
    return n;
}

/* What stands in place of the match, before its last node; how many nodes that are. */
static dync_status dync__pattern_put(dync__change *e, const dync__matcher *m, dync__graph *with,
                                     int *put)
{
    dync__rewrite r = {.from = with, .to = e->graph};
    size_t bytes = (size_t)with->node.n * sizeof *r.copy;
    int n, at = m->last;
    const dync__arg *old = dync__pattern_results(m->pattern, &n),
                    *new_ = dync__pattern_results(with, &n);
    dync_status status = (r.copy = dync__calloc(bytes)) ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < with->node.n - 1 && status == DYNC_OK; i++) {
        dync__node *w = with->node.at[i];
        if (i < with->n_inputs) {
            r.copy[i] = m->at[i];
            continue;
        }
        r.copy[i] = dync__pattern_copy(&r, w, m->at[old[0].as.node->index]);
        if (!r.copy[i]) status = DYNC_ERR_MEMORY;
        if (r.copy[i]) dync__change_place(e, at++), ++*put;
    }
    for (int i = 0; i < n && status == DYNC_OK; i++) {
        dync__node *by = r.copy[new_[i].as.node->index];
        status = by ? dync__change_replace(e, m->at[old[i].as.node->index], by)
                    : dync__fail(DYNC_ERR_VALUE,
                                 "%s: the replacement gives an input that the "
                                 "pattern does not use",
                                 e->who);
    }
    dync__free(r.copy, bytes);
    return status;
}

/* Last first: those behind use those before. */
static dync_status dync__pattern_drop(dync__change *e, const dync__matcher *m)
{
    dync__graph_renumber(e->graph);
    for (int i = m->pattern->node.n - 2; i >= m->pattern->n_inputs; i--) {
        bool attr = m->pattern->node.at[i]->kind == DYNC__N_GET_ATTR;
        if (m->at[i] && !(attr && m->at[i]->n_users > 0))
            DYNC__TRY(dync__change_erase(e, m->at[i]));
    }
    return DYNC_OK;
}

/* Goes on behind what was put, so a replacement is not matched again. */
static dync_status dync__pattern_all(dync__change *e, dync__matcher *m, dync__graph *with,
                                     dync_match_filter filter, void *user, int *found)
{
    dync__graph *g = e->graph;
    for (int i = 0; i < g->node.n; i++) {
        dync_match match;
        int put = 0, before = g->node.n;
        if (!dync__match_at(m, g->node.at[i])) continue;
        if (filter) {
            dync_scope scope = dync_scope_begin();
            bool shown = dync__match_show(m, &match), good = shown && filter(&match, user);
            dync_scope_end(&scope);
            if (!shown) return DYNC_ERR_MEMORY;
            if (!good) continue;
        }
        int last = m->last;
        DYNC__TRY(dync__pattern_put(e, m, with, &put));
        DYNC__TRY(dync__pattern_drop(e, m));
        ++*found;
        i = last + (g->node.n - before); /* behind what was put */
    }
    return DYNC_OK;
}

DYNC_API int dync_graph_replace_pattern(dync_graph *handle, dync_graph *pattern_handle,
                                        dync_graph *replacement_handle, dync_match_filter filter,
                                        void *user)
{
    static const char who[] = "dync_graph_replace_pattern";
    dync__graph *g = dync__graph_open(handle, who);
    dync__graph *pattern = g ? dync__graph_open(pattern_handle, who) : NULL;
    dync__graph *with = pattern ? dync__graph_open(replacement_handle, who) : NULL;
    dync__change e;
    dync__matcher m;
    int n, found = 0;
    if (!with || dync__pattern_check(pattern, who, "pattern", -1) != DYNC_OK) return -1;
    (void)dync__pattern_results(pattern, &n);
    if (dync__pattern_check(with, who, "replacement", n) != DYNC_OK) return -1;
    if (g == pattern || g == with || pattern->n_inputs != with->n_inputs) {
        dync__fail(DYNC_ERR_VALUE,
                   "%s: expected a pattern and a replacement of the same inputs, and graphs of "
                   "their own; got %d and %d inputs",
                   who, pattern->n_inputs, with->n_inputs);
        return -1;
    }
    if (dync__matcher_begin(&m, g, pattern) != DYNC_OK) return -1;
    dync_status status = dync__change_begin(&e, g, who);
    if (status == DYNC_OK) {
        status = dync__pattern_all(&e, &m, with, filter, user, &found);
        status = dync__change_end(&e, status);
    }
    dync__matcher_end(&m);
    return status == DYNC_OK ? found : -1;
}
