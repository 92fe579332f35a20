/* aot/joint_trace.c: forward and backward in one trace, checked and closed. Before: joint.c. */
#include "../dync.in.h"
#include "aot.h"
#include "joint.h"
DYNC__COLD

/* ---- both ------------------------------------------------------------------------------------ */
/* A view that shows what an earlier value of its chain already is. */
static dync__node *dync__joint_same_view(dync__node *n)
{
    const dync__info *mine = &n->info[0];
    dync__node *at = n, *found = NULL;
    while (at->op >= 0 && dync__op_info(at->op)->cls == DYNC__VIEW &&
           at->args[0].kind == DYNC__A_NODE) {
        at = at->args[0].as.node;
        const dync__info *its = &at->info[0];
        if (at->nout == 1 && its->dtype == mine->dtype && dync__layout_equal(&its->lay, &mine->lay))
            found = at;
    }
    return found;
}

static void dync__joint_follow(void *user, dync__arg *a)
{
    (void)user;
    if (a->as.node->mark) a->as.node = a->as.node->mark;
}

/* Before equal nodes become one: what backward computes again is not what a rule reads. */
static void dync__joint_mark_read(void *user, dync__arg *a)
{
    (void)user;
    a->as.node->is_read |= !a->as.node->backward;
}

/* Views of views that show the same are folded, then dead code and common subexpressions go. dce
 * runs twice: merging leaves nodes without users. */
static dync_status dync__joint_tidy(dync__graph *g)
{
    int views = 0;
    for (int i = 0; i < g->node.n && dync__pass_on(DYNC__PASS_views); i++) {
        /* mark: what stands for a node from here on */
        dync__node *n = g->node.at[i];
        dync__node_each_input(n, dync__joint_follow, NULL);
        n->mark = dync__node_is_call(n) ? dync__joint_same_view(n) : NULL;
        views += n->mark != NULL;
    }
    if (views) dync__pass_log(DYNC__PASS_views, g->name, "%d are earlier values", views);
    dync__graph_renumber(g);
    DYNC__TRY(dync__graph_border(DYNC__PASS_joint, g, false));
    DYNC__TRY(dync__graph_pass(DYNC__PASS_dce, g));
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]->backward)
            dync__node_each_input(g->node.at[i], dync__joint_mark_read, NULL);
    DYNC__TRY(dync__graph_pass(DYNC__PASS_cse, g));
    DYNC__TRY(dync__graph_pass(DYNC__PASS_dce, g));
    DYNC__TRY(dync__graph_pass(DYNC__PASS_rolls, g));
    return dync__graph_pass(DYNC__PASS_slices, g);
}

/* The joint graph gets an output, is tidied, and gives back the nodes that its results are now. */
static dync_status dync__joint_close(dync__joint *j, dync__joint_graph *g)
{
    int n = g->n_fw_out + g->n_grads;
    dync__node **all = dync__arena_alloc(&j->arena, (size_t)(n + 1) * sizeof *all);
    if (!all) return DYNC_ERR_MEMORY;
    memcpy(all, g->fw_out, (size_t)g->n_fw_out * sizeof *all);
    if (g->n_grads) memcpy(all + g->n_fw_out, g->grad, (size_t)g->n_grads * sizeof *all);
    DYNC__TRY(dync__graph_output_list(g->graph, n, all));
    if (j->how->joint) return DYNC_OK;
    DYNC__TRY(dync__joint_tidy(g->graph));
    const dync__arg *list = g->graph->node.at[--g->graph->node.n]->args[0].as.list;
    for (int i = 0; i < g->n_fw_out; i++) g->fw_out[i] = list[i].as.node;
    for (int i = 0; i < g->n_grads; i++) g->grad[i] = list[g->n_fw_out + i].as.node;
    DYNC__TRY(dync__joint_fresh_values(j, g)); /* equal values have become one */
    memcpy(all, g->fw_out, (size_t)g->n_fw_out * sizeof *all);
    if (g->n_grads) memcpy(all + g->n_fw_out, g->grad, (size_t)g->n_grads * sizeof *all);
    return dync__graph_output_list(g->graph, n, all);
}

/* Everything inside the trace, in order; how->joint stops before the partition. */
static dync_status dync__joint_run(dync__joint *j, dync__graph *g)
{
    dync__joint_graph joint;
    memset(&joint, 0, sizeof joint);
    joint.graph = j->f.graph;
    const dync__aot_gradients *gradients = dync__aot_gradients_used;
    bool training = !DYNC__GRAD_NONE && j->training;
    if (training && !gradients) return dync__gradients_missing();
    if (training) gradients->start();
    DYNC__TRY(dync__joint_forward(j, g));
    DYNC__TRY(dync__joint_fw_out(j, &joint));
    if (training) DYNC__TRY(gradients->backward(j, &joint));
    DYNC__TRY(dync__joint_close(j, &joint));
    if (j->how->joint) {
        j->into->joint = dync__graph_ref(joint.graph);
        return DYNC_OK;
    }
    return dync__aot_partition(&joint, j->how, j->into);
}

/* The stack is empty and the recorder is at the bottom: the tape sits on it. */
DYNC__FN dync_status dync__joint_traced(dync__joint *j, dync__graph *g)
{
    dync__handler *stack = dync__handler_swap(NULL), *bottom = dync__bottom_swap(&j->f.handler);
    bool grad_off = dync__grad_is_off(), compiling = dync__tls.compiling;
    dync__tls.compiling = false;
    dync_status status = dync__joint_run(j, g);
    dync__arg_release(&j->result);
    dync__grad_off(grad_off);
    dync__tls.compiling = compiling;
    dync__bottom_swap(bottom);
    dync__handler_swap(stack);
    return status;
}

/* One attempt, in a scope of its own. Errors recorded inside are raised again for the caller,
 * but not where the recorder refused: then the caller falls back, and no error is left behind. */
static dync_status dync__joint_once(dync__joint *j, dync__graph *g, dync__graph *user)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_scope scope = dync_scope_begin();
    j->into->n_inputs = user->n_inputs;
    j->writes = dync__graph_writes_inputs(g);
    dync_status status = dync__joint_traced(j, g);
    dync_scope_end(&scope);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (j->f.status == DYNC_ERR_UNSUPPORTED) return DYNC_ERR_UNSUPPORTED;
    if (status == DYNC_OK || (status == DYNC_ERR_MEMORY && inner->status == DYNC_OK)) return status;
    if (inner->status == DYNC_OK) return dync__fail(status, "the joint trace of a graph failed");
    dync__error_raise(inner);
    return inner->status;
}

static void dync__joint_log(const dync__graph *joint)
{
    if (!dync__log_on(DYNC__LOG_joint)) return;
    dync__str s = {0};
    dync__graph_print_c(&s, joint);
    dync__log_text(DYNC__LOG_joint, "joint", dync__str_get(&s));
    dync__str_free(&s);
}

/* What a call wants to know without looking at the graphs: may the inputs be passed on as they
 * are, are random numbers drawn. */
static void dync__joint_facts(dync__aot_graphs *g)
{
    g->plain_inputs = g->actual.n == g->n_inputs;
    for (int i = 0; i < g->actual.n && g->plain_inputs; i++)
        g->plain_inputs = g->actual.at[i].passed && !g->actual.at[i].beside;
    for (int i = 0; g->fw && i < g->fw->node.n; i++) {
        const dync__node *n = g->fw->node.at[i];
        if (n->op >= 0 && (dync__op_info(n->op)->flags & DYNC__OP_RANDOM)) g->random = true;
    }
}

static dync_status dync__joint_check(const dync__aot_graphs *g)
{
    if (g->fw) DYNC__TRY(dync__graph_border(DYNC__PASS_partition, g->fw, true));
    return g->bw ? dync__graph_border(DYNC__PASS_partition, g->bw, true) : DYNC_OK;
}

/* The node of the user's graph that one of the graph with its tensors as inputs stands for. */
static const dync__node *dync__joint_of_user(const dync__node *n, const dync__graph *user)
{
    for (int i = 0; n && i < user->node.n; i++) {
        const dync__node *own = user->node.at[i];
        if (own->op == n->op && dync__same_text(own->name, n->name)) return own;
    }
    return NULL;
}

/* Fills *out, which is the caller's to free; on failure it is empty. DYNC_ERR_UNSUPPORTED: *why
 * says what was refused (static text), no error is recorded. A write into part of a strided
 * input is tried a second time with inputs as rows of their whole memory. */
DYNC__FN dync_status dync__aot_trace(dync__graph *user, const dync_value *examples, bool training,
                                     const dync__aot_how *how, dync__aot_graphs *out,
                                     const char **why)
{
    dync_status status;
    bool as_rows = false, again;
    *why = NULL;
    do {
        dync__joint j;
        dync__graph *g = NULL, *joint = dync__graph_new("Joint");
        memset(&j, 0, sizeof j);
        memset(out, 0, sizeof *out);
        if (!joint) return DYNC_ERR_MEMORY;
        j.into = out;
        j.how = how;
        j.examples = examples;
        j.training = training;
        j.as_rows = as_rows;
        dync__functional_begin(&j.f, joint, out);
        j.f.decompose = (int)how->decompose;
        j.f.keeps = how->keeps;
        j.f.data = how->data;
        status = dync__joint_prepare(&j, user, &g);
        if (status == DYNC_OK) status = dync__joint_once(&j, g, user);
        if (status == DYNC_ERR_UNSUPPORTED) *why = j.f.why;
        const dync__node *refused = dync__joint_of_user(j.f.refused, user);
        if (status == DYNC_OK) dync__joint_log(joint);
        again = status == DYNC_ERR_UNSUPPORTED && j.f.strided_write && !as_rows && examples;
        as_rows = true;
        dync__functional_end(&j.f);
        dync__arena_free(&j.arena);
        dync__graph_unref(g);
        dync__graph_unref(joint);
        if (status != DYNC_OK) dync__aot_graphs_free(out);
        if (status == DYNC_ERR_UNSUPPORTED) out->refused = refused;
    } while (again);
    if (status != DYNC_OK) return status;
    dync__joint_facts(out);
    status = dync__joint_check(out);
    if (status != DYNC_OK) dync__aot_graphs_free(out);
    return status;
}
