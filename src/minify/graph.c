/* minify/graph.c: the edits that shrinking tries: a new graph out of an old one. Before shrink.c.
 *
 * Names stay what they were, so a value is known by its name in every graph that comes from one. A
 * node that is dropped and still used becomes an input; inputs come first, the old ones before the
 * new. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* What becomes of a node. Example: dropping mul of  out = add(mul(x, y), z),  with dead_code and
 * unused_inputs, gives  out = add(mul, z)  where mul is an input: x and y are GONE, mul INPUT, the
 * rest KEPT. */
enum { DYNC__EDIT_GONE, DYNC__EDIT_KEPT, DYNC__EDIT_INPUT };
typedef struct dync__editor {
    dync__graph *from;
    const dync__edit *edit;
    char *used, *fate; /* per node */
} dync__editor;

/* An argument of a node that stays: the node behind it is used. */
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

/* What the new result uses: the cut, or the old result without the outputs from skip_output on. */
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

/* Sets fate and used, from the last node to the first, so that all users of a node are decided
 * before it. Nodes behind a cut are GONE, which is 0. A node with side effects stays even where
 * nobody uses it. */
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

/* A tensor of the graph's own as float64, cut off its history. */
static dync__node *dync__edit_attr_wide(dync__rewrite *r, const dync__node *n)
{
    dync_tensor *h = (dync_to_dtype)(dync_detach(dync__handle(n->value)), DYNC_F64);
    dync__tensor *t = h ? dync__open(h) : NULL;
    dync__node *made = t ? dync__graph_attr(r->to, n->name, n->target, t) : NULL;
    if (made && n->requires_grad[0]) made->requires_grad[0] = true;
    return made;
}

static bool dync__edit_is_float(int dtype) { return dync__dtype_info(dtype)->kind == 'f'; }

/* dync__rewrite_fn of dync__graph_to_f64: also a dtype among the arguments (of a cast, of a
 * factory) becomes float64. */
static dync__node *dync__edit_wide(dync__rewrite *r, dync__node *n)
{
    if (n->kind == DYNC__N_GET_ATTR && n->value && dync__edit_is_float(n->value->dtype))
        return dync__edit_attr_wide(r, n);
    dync__node *made = dync__rewrite_copy(r, n);
    for (int i = 0; made && i < made->nargs; i++)
        if (made->args[i].kind == DYNC__A_DTYPE && dync__edit_is_float((int)made->args[i].as.i))
            made->args[i].as.i = DYNC_F64;
    return made;
}

/* The result of the graph: the value at the cut, or what it was without the outputs that are
 * skipped. */
static dync__node *dync__edit_result(dync__rewrite *r, const dync__edit *edit, dync__node *output)
{
    const dync__arg *old = &output->args[0];
    dync__arg at = dync__arg_node((dync__node *)(uintptr_t)edit->cut_at),
              list = {.kind = DYNC__A_LIST}, copy;
    if (!edit->cut_at && (!edit->n_skip || old->kind != DYNC__A_LIST))
        return dync__rewrite_copy(r, output);
    list.as.list = dync__arena_alloc(&r->to->arena, (size_t)(old->n + 1) * sizeof list);
    if (!list.as.list) return NULL;
    if (edit->cut_at) list.as.list[list.n++] = at;
    for (int i = 0; !edit->cut_at && i < old->n; i++)
        if (i < edit->skip_output || i >= edit->skip_output + edit->n_skip)
            list.as.list[list.n++] = old->as.list[i];
    return dync__rewrite_arg(r, &list, &copy) ? dync__graph_output(r->to, &copy) : NULL;
}

/* dync__rewrite_fn of dync__graph_edit. A node that is GONE stands for itself: nothing that stays
 * uses it. */
static dync__node *dync__edit_node(dync__rewrite *r, dync__node *old)
{
    const dync__editor *e = r->user;
    if (old->kind == DYNC__N_OUTPUT) return dync__edit_result(r, e->edit, old);
    if (e->fate[old->index] == DYNC__EDIT_GONE) return old;
    if (e->fate[old->index] == DYNC__EDIT_INPUT) return dync__rewrite_input(r, old, old->name);
    return dync__rewrite_copy(r, old);
}

/* Renumbers g's nodes and leaves it otherwise as it is. */
DYNC__FN dync__graph *dync__graph_edit(dync__graph *g, const dync__edit *edit)
{
    dync__editor e = {.from = g, .edit = edit};
    size_t n = (size_t)g->node.n;
    dync__graph *to = NULL;
    dync__graph_renumber(g);
    e.used = dync__calloc(2 * n + 1);
    if (!e.used) return NULL;
    e.fate = e.used + n;
    dync__edit_decide(&e);
    (void)dync__graph_rewrite(g, dync__edit_node, &e, &to);
    dync__free(e.used, 2 * n + 1);
    return to;
}

/* Each node through fn, the graph's inputs and result unchanged. NULL: no memory. */
static dync__graph *dync__edit_whole(dync__graph *g, dync__rewrite_fn fn)
{
    dync__graph *to;
    dync__graph_renumber(g);
    (void)dync__graph_rewrite(g, fn, NULL, &to);
    return to;
}

DYNC__FN dync__graph *dync__graph_clone(dync__graph *g)
{
    return dync__edit_whole(g, dync__rewrite_copy);
}
DYNC__FN dync__graph *dync__graph_to_f64(dync__graph *g)
{
    return dync__edit_whole(g, dync__edit_wide);
}

DYNC__FN int dync__graph_outputs(const dync__graph *g)
{
    const dync__node *out = g->node.n ? g->node.at[g->node.n - 1] : NULL;
    return out && out->kind == DYNC__N_OUTPUT && out->args[0].kind == DYNC__A_LIST ? out->args[0].n
                                                                                   : -1;
}
