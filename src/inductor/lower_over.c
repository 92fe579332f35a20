/* inductor/lower_over.c: what a graph writes over its inputs, and on whose memory its values lie.
 * Before lower.c. */
#include "../dync.in.h"
#include "lower.h"
DYNC__LEAN

/* ---- new values of inputs -------------------------------------------------------------------- */
/* For each node on whose memory the argument lies: read at `at`. The parts of a joined
 * concatenation are read where it would be. */
static void dync__lower_uses(const dync__lowerer *w, const dync__arg *a, int at, int *last)
{
    if (a->kind == DYNC__A_NODE) {
        int *to = &last[w->base[a->as.node->index]];
        *to = DYNC__MAX(*to, at);
    }
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        dync__lower_uses(w, &a->as.list[i], at, last);
}

/* Outputs that may be written over their inputs, each after the last reader. The copy fuses into
 * the kernel that computes the value, where that reads nothing else of the input. Not where another
 * output lies on the memory of either. */
static void dync__lower_over_find(dync__lowerer *w, const dync__arg *out, int *last)
{
    int n = w->g->node.n;
    if (!dync__pass_on(DYNC__PASS_over)) return;
    for (int i = 0; i < n && w->g->over.n; i++) {
        const dync__node *k = w->g->node.at[i];
        for (int a = 0; a < k->nargs; a++)
            dync__lower_uses(w, &k->args[a], DYNC__MAX(i, w->joined[i]), last);
    }
    for (int i = 0; i < out->n && i < w->g->over.n; i++) {
        const dync__node *value = out->as.list[i].as.node, *input;
        if (w->g->over.at[i] < 0) continue;
        input = w->g->node.at[w->g->over.at[i]];
        if (w->place[value->index] >= 0 && w->base[value->index] == input->index)
            w->over_after[i] = value->index; /* it is there */
        if (w->g->node.at[w->base[value->index]]->kind == DYNC__N_PLACEHOLDER) continue;
        const dync__info *to = &input->info[0], *from = &value->info[0];
        if (!value->has_info || last[input->index] == n - 1 || to->dtype != from->dtype ||
            !dync__layout_is_dense(&to->lay) || to->lay.ndim != from->lay.ndim ||
            !dync__sz_same(to->lay.ndim, to->lay.shape, from->lay.shape))
            continue;
        int after = w->over_after[i] = DYNC__MAX(value->index, last[input->index]);
        dync__pass_log(DYNC__PASS_over, w->g->name, "%s into %s", value->name, input->name);
        w->over_next[i] = w->over_first[after];
        w->over_first[after] = i + 1;
    }
}
static void (*DYNC__BY_NEED dync__lower_over_used)(
    dync__lowerer *, const dync__arg *out, int *last) = DYNC__AT_FIRST(dync__lower_over_find);
DYNC__FN void dync__lower_over_use(void)
{
    DYNC__PUT(dync__lower_over_used, dync__lower_over_find);
}
static dync_status dync__lower_over(dync__lowerer *w, const dync__arg *out)
{
    int n = w->g->node.n;
    w->over_after =
        dync__arena_alloc(&w->arena, (size_t)(2 * out->n + 2 * n + 2) * sizeof *w->over_after);
    if (!w->over_after) return DYNC_ERR_MEMORY;
    w->over_next = w->over_after + out->n;
    w->over_first = w->over_next + out->n;
    memset(w->over_after, 0xff, (size_t)out->n * sizeof *w->over_after);
    if (dync__lower_over_used) dync__lower_over_used(w, out, w->over_first + n);
    return DYNC_OK;
}

/* Emits the copies into inputs that are due behind this node, as clones whose result is the
 * input's own slot. */
DYNC__FN dync_status dync__lower_write_over(dync__lowerer *w, int node)
{
    const dync__arg *out = &w->g->node.at[w->g->node.n - 1]->args[0];
    for (int i = w->over_first[node]; i; i = w->over_next[i - 1]) {
        int from = out->as.list[i - 1].as.node->index;
        dync__operand to = w->value[w->g->over.at[i - 1]][0];
        dync__arg arg = dync__arg_t(w->fake[from]);
        dync__opcall copy = {.row = dync__op_info(DYNC__USED(DYNC__OP_clone)),
                             .op = DYNC__OP_clone,
                             .nargs = 1,
                             .args = &arg,
                             .nout = 1};
        to.written = true;
        w->pb.origin = "copy_";
        DYNC__TRY(dync__op_lower(&w->pb, &copy, w->value[from], 1, &to));
    }
    return DYNC_OK;
}

/* ---- which slots leave ----------------------------------------------------------------------- */
/* Values whose memory others lie on, and arguments of what runs as it is given: functions of users,
 * subgraphs, writes. */
static void dync__lower_see(dync__lowerer *w, int i)
{
    const dync__node *n = w->g->node.at[i];
    const dync__op_row *row = n->op >= 0 ? dync__op_info(n->op) : NULL;
    if (w->base[i] != i) w->viewed[w->base[i]] = true;
    if (n->kind == DYNC__N_PLACEHOLDER || n->kind == DYNC__N_OUTPUT) return;
    if (row && !(row->flags & DYNC__OP_OPAQUE) && !dync__row_is_control(row) &&
        row->cls != DYNC__INPLACE && w->place[i] < 0)
        return;
    for (int a = 0; a < n->nargs; a++) {
        const dync__arg *arg = &n->args[a];
        if (arg->kind == DYNC__A_NODE) w->viewed[arg->as.node->index] = true;
        for (int k = 0; arg->kind == DYNC__A_LIST && k < arg->n; k++)
            if (arg->as.list[k].kind == DYNC__A_NODE)
                w->viewed[arg->as.list[k].as.node->index] = true;
    }
}

/* base[i]: the node on whose memory node i lies. leaves: bases that hold an output; those
 * outputs that are written over an input need no slot of their own. used: outputs wanted, NULL
 * for all. */
DYNC__FN dync_status dync__lower_bases(dync__lowerer *w, const bool *used)
{
    for (int i = 0; i < w->g->node.n; i++) {
        const dync__node *of = dync__node_viewed(w->g->node.at[i]);
        int at = of ? of->index : w->place[i];
        w->base[i] = at >= 0 ? w->base[at] : i;
        dync__lower_see(w, i);
    }
    const dync__arg *out = &w->g->node.at[w->g->node.n - 1]->args[0];
    DYNC__TRY(dync__lower_over(w, out));
    for (int i = 0; i < out->n; i++)
        if ((!used || used[i]) && w->over_after[i] < 0)
            w->leaves[w->base[out->as.list[i].as.node->index]] = true;
    return DYNC_OK;
}
