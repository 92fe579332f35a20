/* aot/parts.c: backward in parts: gradients that depend on no common tangent are graphs of their
 * own, so that one of two results can be differentiated without the other. After partition.c,
 * before make.c. */
#include "../dync.in.h"
#include "partition.h"
#include "code.h"
DYNC__COLD

/* label: a tangent that a node depends on, or -1; up: a forest */
typedef struct dync__parting {
    int *label, *up, here;
} dync__parting;
static int dync__parting_root(const dync__parting *p, int tangent)
{
    while (tangent >= 0 && p->up[tangent] != tangent) tangent = p->up[tangent];
    return tangent;
}
static void dync__parting_join(void *user, dync__arg *a)
{
    dync__parting *p = user;
    int other = dync__parting_root(p, p->label[a->as.node->index]),
        mine = dync__parting_root(p, p->label[p->here]);
    if (mine < 0)
        p->label[p->here] = other;
    else if (other >= 0)
        p->up[DYNC__MAX(mine, other)] = DYNC__MIN(mine, other);
}
static void dync__part_need(void *user, dync__arg *a) { ((bool *)user)[a->as.node->index] = true; }

/* The part `which` of tangents and gradients, as tangent_part and grad_part number them. */
typedef struct dync__part_maker {
    const dync__aot_graphs *g;
    const int *tangent_part, *grad_part;
    int which;
    bool whole, *need; /* whole: there is one part, backward as it is; need: by node of backward */
    dync__node **grads;
    dync__rewrite r;
} dync__part_maker;

/* The part's gradients, and what they need. */
static void dync__part_gradients(dync__part_maker *m, dync__aot_part *p)
{
    const dync__aot_graphs *g = m->g;
    const dync__arg *list = g->bw ? &g->bw->node.at[g->bw->node.n - 1]->args[0] : NULL;
    for (int i = 0; i < g->grad_of.n; i++) {
        if (m->grad_part[i] != m->which) continue;
        m->need[(m->grads[p->n_grads] = list->as.list[i].as.node)->index] = true;
        p->grad[p->n_grads++] = g->grad_of.at[i];
    }
    for (int i = g->bw ? g->bw->node.n - 2 : -1; i >= 0; i--)
        if (m->need[i]) dync__node_each_input(g->bw->node.at[i], dync__part_need, m->need);
}

/* Its inputs: saved values that it needs, and its tangents; its nodes where it is a graph of its
 * own. */
static dync_status dync__part_nodes(dync__part_maker *m, dync__aot_part *p)
{
    const dync__aot_graphs *g = m->g;
    for (int i = 0, k = 0; i < g->bw->node.n - 1; i++) {
        dync__node *n = g->bw->node.at[i];
        bool input = n->kind == DYNC__N_PLACEHOLDER;
        int at = input ? k++ : 0;
        if (input && at >= g->n_saved ? m->tangent_part[at - g->n_saved] != m->which
                                      : !m->whole && !m->need[i])
            continue;
        if (input && at < g->n_saved) {
            p->saved[p->n_saved++] = at;
            p->n_again += g->again.at[at];
        } else if (input)
            p->tangent[p->n_tangents++] = g->tangent_of.at[at - g->n_saved];
        if (!m->whole) DYNC__TRY(dync__rewrite_put(&m->r, n, dync__partition_node));
    }
    return DYNC_OK;
}

static dync_status dync__part_graph(dync__part_maker *m, dync__aot_part *p)
{
    dync_status status = dync__rewrite_begin(&m->r, m->g->bw, "GraphModule");
    if (status == DYNC_OK && !dync__graph_takes_symbols(m->r.to, m->g->bw))
        status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__part_nodes(m, p);
    for (int i = 0; i < p->n_grads && status == DYNC_OK; i++)
        m->grads[i] = dync__rewrite_at(&m->r, m->grads[i]);
    if (status == DYNC_OK) status = dync__graph_output_list(m->r.to, p->n_grads, m->grads);
    return dync__rewrite_end(&m->r, status, &p->bw);
}

static dync_status dync__aot_part_fill(dync__part_maker *m, dync__aot_part *p)
{
    static uint64_t ids;
    const dync__aot_graphs *g = m->g;
    p->bytes = (size_t)(g->n_saved + g->tangent_of.n + g->grad_of.n + 1) * sizeof(int);
    p->saved = dync__calloc(p->bytes);
    p->id = DYNC__ATOMIC_INC(&ids);
    if (!p->saved) return DYNC_ERR_MEMORY;
    p->tangent = p->saved + g->n_saved;
    p->grad = p->tangent + g->tangent_of.n;
    dync__part_gradients(m, p);
    if (!g->bw) {
        for (int i = 0; i < g->tangent_of.n; i++) p->tangent[p->n_tangents++] = g->tangent_of.at[i];
        return DYNC_OK;
    }
    if (!m->whole) return dync__part_graph(m, p);
    p->bw = dync__graph_ref(g->bw);
    return dync__part_nodes(m, p);
}

/* Row i, by tangent, is of node i. */
typedef struct dync__part_rows {
    bool *at;
    int here, n;
} dync__part_rows;
static void dync__part_rows_join(void *user, dync__arg *a)
{
    dync__part_rows *r = user;
    for (int k = 0; k < r->n; k++) r->at[r->here * r->n + k] |= r->at[a->as.node->index * r->n + k];
}

/* Which gradients depend on which tangents: one that none of those which arrive reaches is no
 * gradient, not zeros. */
static dync_status dync__aot_part_depends(dync__aot_part *p)
{
    if (!p->bw || !p->n_tangents || !p->n_grads) return DYNC_OK;
    int n = p->bw->node.n - 1;
    dync__arena arena = {0};
    dync__part_rows r = {dync__arena_alloc(&arena, (size_t)n * (size_t)p->n_tangents), 0,
                         p->n_tangents};
    p->depends = dync__calloc((size_t)p->n_grads * (size_t)p->n_tangents);
    dync__graph_renumber(p->bw);
    for (int k = -p->n_saved; r.at && r.here < n; r.here++) {
        bool input = p->bw->node.at[r.here]->kind == DYNC__N_PLACEHOLDER;
        if (input && k >= 0) r.at[r.here * r.n + k] = true;
        if (input)
            k++;
        else
            dync__node_each_input(p->bw->node.at[r.here], dync__part_rows_join, &r);
    }
    for (int i = 0; r.at && p->depends && i < p->n_grads; i++)
        memcpy(p->depends + i * r.n,
               r.at + p->bw->node.at[n]->args[0].as.list[i].as.node->index * r.n, (size_t)r.n);
    dync__arena_free(&arena);
    return r.at && p->depends ? DYNC_OK : DYNC_ERR_MEMORY;
}

static bool dync__part_by_rows(const dync__aot_part *p)
{
    for (int i = p->n_saved; p->bw && i < p->n_saved + p->n_tangents; i++)
        if (!dync__layout_is_contiguous(&p->bw->node.at[i]->info[0].lay)) return false;
    return true;
}

/* part: by tangent; of: by gradient. Returns how many parts there are. */
static int dync__part_number(const dync__aot_graphs *g, dync__parting *p, int *part, int *of)
{
    int nodes = g->bw ? g->bw->node.n : 0, nt = g->tangent_of.n, parts = 0;
    for (int i = 0; i < nt; i++) p->up[i] = i, part[i] = -1;
    for (int k = -g->n_saved; p->here < nodes - 1; p->here++) {
        bool input = g->bw->node.at[p->here]->kind == DYNC__N_PLACEHOLDER;
        p->label[p->here] = input && k >= 0 ? k : -1;
        if (input)
            k++;
        else
            dync__node_each_input(g->bw->node.at[p->here], dync__parting_join, p);
    }
    for (int i = 0; g->bw && i < g->grad_of.n; i++) {
        int root = dync__parting_root(
            p, p->label[g->bw->node.at[nodes - 1]->args[0].as.list[i].as.node->index]);
        if (root >= 0 && part[root] < 0) part[root] = parts++;
        of[i] = root < 0 ? 0 : part[root];
    }
    for (int i = nt - 1; i >= 0; i--) part[i] = DYNC__MAX(part[dync__parting_root(p, i)], 0);
    return DYNC__MAX(parts, 1);
}

DYNC__FN dync_status dync__aot_parts(const dync__aot_graphs *g, int *n, dync__aot_part **out)
{
    int nodes = g->bw ? g->bw->node.n : 0, nt = g->tangent_of.n, ng = g->grad_of.n;
    dync__arena arena = {0};
    int *label = dync__arena_alloc(&arena, (size_t)(nodes + 2 * nt + ng + 1) * sizeof *label);
    if (!label) return DYNC_ERR_MEMORY;
    int *up = label + nodes, *part = up + nt, *of = part + nt;
    dync__part_maker m = {.g = g,
                          .tangent_part = part,
                          .grad_part = of,
                          .need = dync__arena_alloc(&arena, (size_t)nodes + 1)};
    m.grads = dync__arena_alloc(&arena, (size_t)(ng + 1) * sizeof *m.grads);
    dync__parting p = {label, up, 0};
    dync_status status = m.need && m.grads ? DYNC_OK : DYNC_ERR_MEMORY;
    if (g->bw) dync__graph_renumber(g->bw);
    int parts = status == DYNC_OK ? dync__part_number(g, &p, part, of) : 0;
    m.whole = parts == 1;
    if (status == DYNC_OK && !(*out = dync__calloc((size_t)parts * sizeof **out)))
        status = DYNC_ERR_MEMORY;
    for (; status == DYNC_OK && *n < parts; ++*n) {
        memset(m.need, 0, (size_t)nodes);
        m.which = *n;
        status = dync__aot_part_fill(&m, &(*out)[*n]);
        (*out)[*n].by_rows = dync__part_by_rows(&(*out)[*n]);
        if (status == DYNC_OK) status = dync__aot_part_depends(&(*out)[*n]);
    }
    dync__arena_free(&arena);
    return status;
}

DYNC__OFTEN DYNC__FN dync_status dync__aot_parts_of(dync__aot_code *c)
{
    const dync__aot_code *form = c->form;
    if (!form->n_parts) return DYNC_OK; /* a build without gradients */
    if (!(c->part = dync__calloc((size_t)form->n_parts * sizeof *c->part))) return DYNC_ERR_MEMORY;
    for (; c->n_parts < form->n_parts; c->n_parts++) {
        dync__aot_part *p = &c->part[c->n_parts];
        *p = form->part[c->n_parts];
        p->run = (dync__inner){.run = p->run.run, .state = p->run.state}; /* no destructor */
        memset(&p->sized, 0, sizeof p->sized);
        p->variants = NULL;
    }
    return DYNC_OK;
}
