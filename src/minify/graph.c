/* minify/graph.c: the edits that shrinking tries: a new graph out of an old one. Before shrink.c.
 *
 * Names stay what they were, so a value is known by its name in every graph that comes from one. A
 * node that is dropped and still used becomes an input; inputs come first, the old ones before the
 * new. */
#include "../dync.in.h"
#include "minify.h"

enum { DYNC__EDIT_GONE, DYNC__EDIT_KEPT, DYNC__EDIT_INPUT };
typedef struct dync__editor {
    dync__graph *from, *to;
    const dync__edit *edit;
    char *used, *fate; /* per node */
    bool wide;         /* floating types become float64 */
} dync__editor;

static dync__node *dync__edit_map(void *user, dync__node *old)
{
    (void)user;
    return old->mark;
}

static void dync__edit_use(void *user, dync__arg *arg)
{
    ((dync__editor *)user)->used[arg->as.node->index] = 1;
}

/* An item of a node of several outputs goes with it. */
static bool dync__edit_dropped(const dync__editor *e, const dync__node *n)
{
    if (!e->edit->drop || n->kind == DYNC__N_PLACEHOLDER || n->kind == DYNC__N_OUTPUT) return false;
    if (e->edit->drop[n->index]) return true;
    return n->op == DYNC__NODE_GETITEM && n->args[0].kind == DYNC__A_NODE &&
           e->edit->drop[n->args[0].as.node->index];
}

static void dync__edit_use_result(dync__editor *e, dync__node *output)
{
    const dync__arg *result = &output->args[0];
    if (e->edit->cut_at) {
        e->used[e->edit->cut_at->index] = 1;
    } else if (e->edit->n_skip && result->kind == DYNC__A_LIST) {
        for (int i = 0; i < result->n; i++) {
            bool skipped = i >= e->edit->skip_output && i < e->edit->skip_output + e->edit->n_skip;
            dync__node item = {.nargs = 1, .args = &result->as.list[i]};
            if (!skipped) dync__node_each_input(&item, dync__edit_use, e);
        }
    } else {
        dync__node_each_input(output, dync__edit_use, e);
    }
}

/* From the last node to the first: what is used by what stays. */
static void dync__edit_decide(dync__editor *e)
{
    int end = e->edit->cut_at ? e->edit->cut_at->index : e->from->node.n;
    for (int i = e->from->node.n - 1; i >= 0; i--) {
        dync__node *n = e->from->node.at[i];
        if (n->kind == DYNC__N_OUTPUT) {
            dync__edit_use_result(e, n);
        } else if (n->kind == DYNC__N_PLACEHOLDER) {
            e->fate[i] = e->used[i] || !e->edit->unused_inputs ? DYNC__EDIT_KEPT : DYNC__EDIT_GONE;
        } else if (i > end) {
            continue;
        } else if (dync__edit_dropped(e, n)) {
            e->fate[i] = e->used[i] ? DYNC__EDIT_INPUT : DYNC__EDIT_GONE;
        } else if (e->used[i] || !e->edit->dead_code || !dync__node_is_pure(n)) {
            e->fate[i] = DYNC__EDIT_KEPT;
            dync__node_each_input(n, dync__edit_use, e);
        }
    }
}

static dync__node *dync__edit_attr(dync__editor *e, dync__node *n)
{
    if (!e->wide || !n->value || dync__dtype_info(n->value->dtype)->kind != 'f')
        return dync__graph_copy_call(e->to, n, dync__edit_map, e);
    dync_tensor *h = (dync_to_dtype)(dync_detach(dync__handle(n->value)), DYNC_F64);
    dync__tensor *t = h ? dync__open(h) : NULL;
    dync__node *made = t ? dync__graph_attr(e->to, n->name, n->target, t) : NULL;
    if (made && n->requires_grad[0]) made->requires_grad[0] = true;
    return made;
}

static dync__node *dync__edit_copy(dync__editor *e, dync__node *n)
{
    if (n->kind == DYNC__N_GET_ATTR) return dync__edit_attr(e, n);
    dync__node *made = dync__graph_copy_call(e->to, n, dync__edit_map, e);
    for (int i = 0; made && e->wide && i < made->nargs; i++)
        if (made->args[i].kind == DYNC__A_DTYPE &&
            dync__dtype_info((int)made->args[i].as.i)->kind == 'f')
            made->args[i].as.i = DYNC_F64;
    return made;
}

static bool dync__edit_result(dync__editor *e, const dync__node *output)
{
    dync__arg one[1], result = output->args[0], copy;
    if (e->edit->cut_at) {
        one[0] = dync__arg_node((dync__node *)(uintptr_t)e->edit->cut_at);
        result = (dync__arg){.kind = DYNC__A_LIST, .n = 1};
        result.as.list = one;
    }
    if (!dync__graph_copy_arg(e->to, &result, &copy, dync__edit_map, e)) return false;
    return dync__graph_output(e->to, &copy) != NULL;
}

/* The result without the outputs that are skipped, in memory of the new graph. */
static bool dync__edit_shorter_result(dync__editor *e, const dync__node *output)
{
    const dync__arg *old = &output->args[0];
    dync__arg list = {.kind = DYNC__A_LIST}, copy;
    list.as.list = dync__arena_alloc(&e->to->arena, (size_t)(old->n + 1) * sizeof list);
    for (int i = 0; list.as.list && i < old->n; i++)
        if (i < e->edit->skip_output || i >= e->edit->skip_output + e->edit->n_skip)
            list.as.list[list.n++] = old->as.list[i];
    return list.as.list && dync__graph_copy_arg(e->to, &list, &copy, dync__edit_map, e) &&
           dync__graph_output(e->to, &copy);
}

static bool dync__edit_build(dync__editor *e)
{
    dync__graph *g = e->from;
    for (int i = 0; i < g->symbol.n; i++)
        if (!dync__graph_symbol(e->to, g->symbol.at[i].token, g->symbol.at[i].text)) return false;
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        bool input = e->fate[i] == DYNC__EDIT_INPUT ||
                     (n->kind == DYNC__N_PLACEHOLDER && e->fate[i] == DYNC__EDIT_KEPT);
        n->mark = NULL;
        if (input && !(n->mark = dync__graph_copy_placeholder(e->to, n, n->name))) return false;
    }
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        if (n->kind == DYNC__N_OUTPUT)
            return e->edit->n_skip && !e->edit->cut_at && n->args[0].kind == DYNC__A_LIST
                       ? dync__edit_shorter_result(e, n)
                       : dync__edit_result(e, n);
        if (n->kind == DYNC__N_PLACEHOLDER || e->fate[i] != DYNC__EDIT_KEPT) continue;
        if (!(n->mark = dync__edit_copy(e, n))) return false;
    }
    return false;
}

static dync__graph *dync__edit_run(dync__graph *g, const dync__edit *edit, bool wide)
{
    dync__editor e = {.from = g, .edit = edit, .wide = wide};
    size_t n = (size_t)g->node.n;
    dync__graph_renumber(g);
    e.used = dync__calloc(2 * n + 1);
    if (!e.used) return NULL;
    e.fate = e.used + n;
    dync__edit_decide(&e);
    e.to = dync__graph_new(g->name);
    bool ok = e.to && dync__edit_build(&e) && !e.to->failed;
    dync__free(e.used, 2 * n + 1);
    if (ok)
        dync__graph_renumber(e.to);
    else
        dync__graph_unref(e.to);
    return ok ? e.to : NULL;
}

DYNC__FN dync__graph *dync__graph_edit(dync__graph *g, const dync__edit *edit)
{
    return dync__edit_run(g, edit, false);
}

DYNC__FN dync__graph *dync__graph_clone(dync__graph *g)
{
    dync__edit nothing = {0};
    return dync__edit_run(g, &nothing, false);
}

DYNC__FN dync__graph *dync__graph_to_f64(dync__graph *g)
{
    dync__edit nothing = {0};
    return dync__edit_run(g, &nothing, true);
}

DYNC__FN int dync__graph_outputs(const dync__graph *g)
{
    const dync__node *out = g->node.n ? g->node.at[g->node.n - 1] : NULL;
    return out && out->kind == DYNC__N_OUTPUT && out->args[0].kind == DYNC__A_LIST ? out->args[0].n
                                                                                   : -1;
}
