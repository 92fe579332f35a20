/* aot/joint.c: the user's graph runs once over fakes, through the tape and the functional recorder;
 * for training the tape is then walked backward in the same recorder: one joint graph. After
 * alias.c, partition.c and joint_walk.c. */
#include "../dync.in.h"
#include "aot.h"
#include "joint.h"
#include "../autograd/node.h"
DYNC__COLD

/* Releases all that the struct owns and clears it; may be called on a struct that is only zeroed
 * or half filled. */
DYNC__FN void dync__aot_graphs_free(dync__aot_graphs *a)
{
    dync__graph_unref(a->fw);
    dync__graph_unref(a->bw);
    dync__graph_unref(a->joint);
    for (int i = 0; i < a->actual.n; i++) dync__unref(a->actual.at[i].tensor);
    dync__vec_free(&a->actual);
    dync__vec_free(&a->lifted);
    dync__vec_free(&a->mutated);
    dync__vec_free(&a->value);
    dync__vec_free(&a->out);
    dync__vec_free(&a->tangent_of);
    dync__vec_free(&a->grad_of);
    dync__vec_free(&a->broken);
    dync__vec_free(&a->again);
    dync__strfree(a->backward_error);
    memset(a, 0, sizeof *a);
}

DYNC__OFTEN DYNC__FN int dync__arg_count_tensors(const dync__arg *a)
{
    int n = a->kind == DYNC__A_TENSOR || a->kind == DYNC__A_NODE;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        n += dync__arg_count_tensors(&a->as.list[i]);
    return n;
}

/* Does anything that enters the graph require grad: its own tensors, an input by its node, or an
 * input by the example of this call? */
DYNC__FN bool dync__aot_wants_grad(const dync__graph *g, const dync_value *examples)
{
    int k = 0;
    if (!dync__grad_rules_linked()) return false; /* nothing can ask for them */
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind == DYNC__N_GET_ATTR && n->value && dync__tensor_requires_grad(n->value))
            return true;
        if (n->kind != DYNC__N_PLACEHOLDER) continue;
        const dync__tensor *x =
            examples && examples[k].kind == DYNC_KIND_TENSOR ? dync__peek(examples[k].as.t) : NULL;
        if (n->requires_grad[0] || (x && dync__tensor_requires_grad(x))) return true;
        k++;
    }
    return false;
}

/* ---- the user's graph with its tensors as inputs --------------------------------------------- */
/* A tensor of the graph is an input behind the others. */
static dync__node *dync__joint_node(dync__rewrite *r, dync__node *old)
{
    dync__joint *j = r->user;
    const dync__tensor *t = old->kind == DYNC__N_GET_ATTR ? old->value : NULL;
    if (!t) return dync__rewrite_copy(r, old);
    dync__info info = {.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = -1};
    dync__node *n = dync__graph_placeholder(r->to, old->name, NULL, &info);
    if (n) n->requires_grad[0] = dync__tensor_requires_grad(t);
    j->attr[j->n_attr++] = old->value;
    return n;
}

/* The graph itself where it has no tensors of its own; *out is a reference. */
DYNC__FN dync_status dync__joint_prepare(dync__joint *j, dync__graph *g, dync__graph **out)
{
    int n_attr = 0;
    for (int i = 0; i < g->node.n; i++)
        n_attr += g->node.at[i]->kind == DYNC__N_GET_ATTR && g->node.at[i]->value;
    if (n_attr == 0) {
        *out = dync__graph_ref(g);
        return DYNC_OK;
    }
    j->attr = dync__arena_alloc(&j->arena, (size_t)n_attr * sizeof *j->attr);
    return j->attr ? dync__graph_rewrite(g, dync__joint_node, j, out) : DYNC_ERR_MEMORY;
}

/* ---- forward --------------------------------------------------------------------------------- */
/* The tensors of the result in preorder, borrowed from it. */
static void dync__joint_flatten(dync__joint *j, const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) j->out[j->n_out++] = a->as.t;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        dync__joint_flatten(j, &a->as.list[i]);
}

/* Interprets the user's graph on fakes: the recorder below sees functional operators, the tape
 * above it builds the history. The results stay referenced in j->result until dync__joint_traced
 * releases them. */
DYNC__FN dync_status dync__joint_forward(dync__joint *j, dync__graph *g)
{
    dync__arg *args = dync__arena_alloc(&j->arena, (size_t)(g->n_inputs + 1) * sizeof *args);
    if (!args) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__joint_inputs(j, g));
    for (int i = 0; i < g->n_inputs; i++) args[i] = dync__arg_t(j->seen[i]);
    DYNC__TRY(dync__graph_eval(g, args, g->n_inputs, &j->arena, &j->result));
    j->out = dync__arena_alloc(&j->arena,
                               (size_t)(dync__arg_count_tensors(&j->result) + 1) * sizeof *j->out);
    if (!j->out) return DYNC_ERR_MEMORY;
    dync__joint_flatten(j, &j->result);
    DYNC__TRY(dync__joint_outputs(j));
    return dync__joint_mutations(j);
}

/* What a chain of views begins with: the value that owns the memory. */
static const dync__node *dync__joint_root(const dync__node *n)
{
    while (n->op >= 0 && dync__op_info(n->op)->cls == DYNC__VIEW && n->args[0].kind == DYNC__A_NODE)
        n = n->args[0].as.node;
    return n;
}

/* A value with memory of its own must not come out on that of an input or of an earlier value, nor
 * a new value of an input on that of one that is written too: its node may be theirs after a
 * copy_. */
DYNC__FN dync_status dync__joint_fresh_values(dync__joint *j, dync__joint_graph *g)
{
    for (int i = 0; i < g->n_fw_out; i++) {
        const dync__node *root = dync__joint_root(g->fw_out[i]);
        int k0 = i - j->into->mutated.n;
        bool taken = false;
        /* written before it would be read */
        for (int k = 0; k < g->n_mutated && k0 < 0; k++) taken = taken || g->mutated[k] == root;
        if (k0 >= 0) {
            if (j->into->value.at[k0].over != DYNC__AOT_OWN ||
                !(j->value[k0]->flags & DYNC__T_FAKE))
                continue;
            taken = root->kind == DYNC__N_PLACEHOLDER;
            for (int k = j->into->mutated.n; k < i && !taken; k++)
                taken = dync__joint_root(g->fw_out[k]) == root;
        }
        if (!taken) continue;
        dync__arg arg = dync__arg_node(g->fw_out[i]);
        dync__info info = g->fw_out[i]->info[0];
        info.alias = -1;
        DYNC__TRY(dync__layout_like(&g->fw_out[i]->info[0].lay, &info.lay));
        if (!(g->fw_out[i] =
                  dync__graph_call(g->graph, DYNC__USED(DYNC__OP_clone), 1, &arg, 1, &info, NULL)))
            return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* The nodes of what forward gives: new values of inputs, then values. */
DYNC__FN dync_status dync__joint_fw_out(dync__joint *j, dync__joint_graph *g)
{
    int m = j->into->mutated.n;
    g->n_fw_out = m + j->into->value.n;
    g->fw_out = dync__arena_alloc(&j->arena, (size_t)(g->n_fw_out + 1) * sizeof *g->fw_out);
    g->mutated = dync__arena_alloc(&j->arena, (size_t)(m + 1) * sizeof *g->mutated);
    if (!g->fw_out || !g->mutated) return DYNC_ERR_MEMORY;
    for (int i = 0; i < g->n_fw_out; i++) {
        g->fw_out[i] = i < m ? dync__functional_content(&j->f, j->written[i])
                             : dync__functional_node(&j->f, j->value[i - m]);
        if (!g->fw_out[i]) return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < m; i++)
        if (j->into->lifted.at[j->into->mutated.at[i].input])
            g->mutated[g->n_mutated++] = j->into->lifted.at[j->into->mutated.at[i].input];
    return dync__joint_fresh_values(j, g);
}

/* ---- backward -------------------------------------------------------------------------------- */
/* A tangent lies as its value does, whose gradient a loss outside mostly gives so; row major beside
 * a value that has gaps, and where the joint graph itself is wanted. */
static dync_status dync__joint_tangent_lies(const dync__joint *j, const dync__tensor *value,
                                            dync__layout *out)
{
    if (j->how->joint || !dync__layout_is_dense(&value->lay))
        return dync__layout_contiguous(out, value->lay.ndim, value->lay.shape);
    return dync__layout_like(&value->lay, out);
}

/* A tangent becomes an input of the joint graph for every value that has history. Without tangents
 * (how->no_tangents) the first such output stands alone. */
static dync_status dync__joint_tangents(dync__joint *j, dync__joint_grads *b, dync__joint_graph *g)
{
    for (int i = 0; i < g->n_fw_out; i++) {
        int v = i - j->into->mutated.n;
        if (!(v < 0 ? j->into->mutated.at[i].with_grad : j->into->value.at[v].requires_grad))
            continue;
        dync__tensor *t = v < 0 ? j->written[i] : j->value[v];
        if (j->how->no_tangents) {
            b->out[b->n_out++] = t;
            return dync__vec_push(&j->into->tangent_of, i) ? DYNC_OK : DYNC_ERR_MEMORY;
        }
        char name[32];
        dync__format(name, sizeof name, "tangents_%d", b->n_out + 1);
        dync__info info = {.dtype = t->dtype, .device = t->device, .alias = -1};
        DYNC__TRY(dync__joint_tangent_lies(j, t, &info.lay));
        dync__tensor *tangent = dync__functional_input(&j->f, name, &info, false, -1);
        if (!tangent || !dync__vec_push(&j->into->tangent_of, i)) return DYNC_ERR_MEMORY;
        b->out[b->n_out] = t;
        g->tangent[b->n_out] = tangent->node;
        b->tangent[b->n_out++] = tangent;
    }
    return DYNC_OK;
}

/* Walks the tape from the outputs to the leaves in the same recorder. last_forward marks where
 * the nodes of backward begin. Gradients that do not exist get no entry in grad_of. */
DYNC__FN dync_status dync__joint_backward(dync__joint *j, dync__joint_graph *g)
{
    dync__joint_grads b;
    memset(&b, 0, sizeof b);
    size_t n = (size_t)(g->n_fw_out + j->n_actual + 1);
    dync__tensor ***lists[] = {&b.out, &b.tangent, &b.wrt, &b.grad};
    for (int i = 0; i < DYNC__COUNT_OF(lists); i++)
        if (!(*lists[i] = dync__arena_alloc(&j->arena, n * sizeof **lists[i])))
            return DYNC_ERR_MEMORY;
    b.wrt_input = dync__arena_alloc(&j->arena, n * sizeof *b.wrt_input);
    g->tangent = dync__arena_alloc(&j->arena, n * sizeof *g->tangent);
    g->grad = dync__arena_alloc(&j->arena, n * sizeof *g->grad);
    if (!b.wrt_input || !g->tangent || !g->grad) return DYNC_ERR_MEMORY;
    for (int i = 0; i < j->n_actual; i++)
        if (j->leaf[i]) {
            b.wrt_input[b.n_wrt] = i;
            b.wrt[b.n_wrt++] = j->leaf[i];
        }
    DYNC__TRY(dync__joint_tangents(j, &b, g));
    j->into->training = b.n_out > 0;
    j->into->last_forward = g->graph->node.at[g->graph->node.n - 1];
    g->n_tangents = b.n_out;
    int first = g->graph->node.n;
    dync_status status = b.n_out && b.n_wrt ? dync__joint_walk_all(j, &b) : DYNC_OK;
    for (int i = first; i < g->graph->node.n; i++) g->graph->node.at[i]->backward = true;
    for (int i = 0; i < b.n_wrt; i++) {
        if (!b.grad[i]) continue;
        if (status == DYNC_OK) {
            g->grad[g->n_grads] = dync__functional_node(&j->f, b.grad[i]);
            if (!g->grad[g->n_grads++] || !dync__vec_push(&j->into->grad_of, b.wrt_input[i]))
                status = DYNC_ERR_MEMORY;
        }
        dync__unref(b.grad[i]);
    }
    return status;
}
