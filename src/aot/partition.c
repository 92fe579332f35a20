/* aot/partition.c: cuts a joint graph into forward and backward. What the forward outputs need is forward; what the gradients need beyond
 * that is backward; forward values that backward reads are saved (the default partitioner of PyTorch: save everything).
 * After joint.c, before runtime.c. */
#include "../dync.in.h"
#include "aot.h"

typedef struct dync__cutter {
    dync_graph *joint;
    dync__arena arena;
    bool *fw, *bw, *saved;               /* by node index */
    int current;                         /* which set marks go to */
} dync__cutter;

static void dync__cut_mark_fw(void *user, dync__arg *a)
{
    dync__cutter *c = user;
    c->fw[a->as.node->index] = true;
}
static void dync__cut_mark_bw(void *user, dync__arg *a)
{
    dync__cutter *c = user;
    c->bw[a->as.node->index] = true;
}

static bool dync__partition_is_input(const dync_node *n) { return n->kind == DYNC__N_PLACEHOLDER; }

/* Closes the sets over arguments, from the end of the graph to its beginning. */
static void dync__partition_mark(dync__cutter *c)
{
    for (int i = c->joint->node.n - 1; i >= 0; i--) {
        dync_node *n = c->joint->node.at[i];
        if (c->fw[i]) dync__node_each_input(n, dync__cut_mark_fw, c);
        else if (c->bw[i]) dync__node_each_input(n, dync__cut_mark_bw, c);
    }
}

/* An output that only backward reads of an operator that forward runs belongs to forward. */
static void dync__partition_getitems(dync__cutter *c)
{
    for (int i = 0; i < c->joint->node.n; i++) {
        const dync_node *n = c->joint->node.at[i];
        if (n->op == DYNC__NODE_GETITEM && c->bw[i] && c->fw[n->args[0].as.node->index]) c->fw[i] = true;
    }
}

/* ---- copying nodes into the two graphs: mark holds the copy ---------------------------------------------------------------------- */
static dync_node *dync__partition_map(void *user, dync_node *old)
{
    (void)user;
    return old->mark;
}

static dync_status dync__partition_copied(dync_node *old, dync_node *n)
{
    old->mark = n;
    return n ? DYNC_OK : dync_error() != DYNC_OK ? dync_error() : dync__fail(DYNC_ERR_INTERNAL, "partition: an argument of %s is missing", old->name);
}
static dync_status dync__partition_placeholder(dync_graph *g, dync_node *old)
{
    return dync__partition_copied(old, dync__graph_copy_placeholder(g, old, old->name));
}
static dync_status dync__partition_copy(dync_graph *g, dync_node *old)
{
    return dync__partition_copied(old, dync__graph_copy_call(g, old, dync__partition_map, NULL));
}

static dync_status dync__partition_output(dync__cutter *c, dync_graph *g, int n, dync_node *const *old)
{
    dync_node **now = dync__arena_alloc(&c->arena, (size_t)(n + 1) * sizeof *now);
    for (int i = 0; now && i < n; i++) now[i] = old[i]->mark;
    return now ? dync__graph_output_list(g, n, now) : DYNC_ERR_MEMORY;
}

static void dync__partition_clear(dync_graph *joint)
{
    for (int i = 0; i < joint->node.n; i++) joint->node.at[i]->mark = NULL;
}

static bool dync__is_one_of(const dync_node *n, int count, dync_node *const *nodes)
{
    for (int i = 0; i < count; i++)
        if (nodes[i] == n) return true;
    return false;
}

/* Forward: every input of the joint graph but tangents, in order; then what is needed. */
static dync_status dync__partition_forward(dync__cutter *c, int n_out, dync_node *const *out, int n_tangents, dync_node *const *tangents,
                                           dync__aot_graphs *into)
{
    dync_graph *g = into->fw = dync__graph_new("GraphModule");
    if (!g) return DYNC_ERR_MEMORY;
    dync__partition_clear(c->joint);
    for (int i = 0; i < c->joint->node.n; i++) {
        dync_node *n = c->joint->node.at[i];
        if (dync__partition_is_input(n)) {
            if (!dync__is_one_of(n, n_tangents, tangents)) DYNC__TRY(dync__partition_placeholder(g, n));
        } else if (c->fw[i]) {
            DYNC__TRY(dync__partition_copy(g, n));
        }
    }
    dync_node **all = dync__arena_alloc(&c->arena, (size_t)(n_out + c->joint->node.n + 1) * sizeof *all);
    if (!all) return DYNC_ERR_MEMORY;
    memcpy(all, out, (size_t)n_out * sizeof *all);
    into->n_saved = 0;
    for (int i = 0; i < c->joint->node.n; i++)
        if (c->saved[i]) all[n_out + into->n_saved++] = c->joint->node.at[i];
    return dync__partition_output(c, g, n_out + into->n_saved, all);
}

static dync_status dync__partition_backward(dync__cutter *c, int n_tangents, dync_node *const *tangents, int n_grads,
                                            dync_node *const *grads, dync__aot_graphs *into)
{
    dync_graph *g = into->bw = dync__graph_new("GraphModule");
    if (!g) return DYNC_ERR_MEMORY;
    dync__partition_clear(c->joint);
    for (int i = 0; i < c->joint->node.n; i++)
        if (c->saved[i]) DYNC__TRY(dync__partition_placeholder(g, c->joint->node.at[i]));
    for (int i = 0; i < n_tangents; i++) DYNC__TRY(dync__partition_placeholder(g, tangents[i]));
    for (int i = 0; i < c->joint->node.n; i++) {
        dync_node *n = c->joint->node.at[i];
        if (!dync__partition_is_input(n) && c->bw[i] && !c->saved[i] && !c->fw[i]) DYNC__TRY(dync__partition_copy(g, n));
    }
    return dync__partition_output(c, g, n_grads, grads);
}

DYNC__FN dync_status dync__aot_partition(dync_graph *joint, int n_fw_out, dync_node *const *fw_out, int n_tangents, dync_node *const *tangents,
                                         int n_grads, dync_node *const *grads, dync__aot_graphs *into)
{
    dync__cutter c;
    memset(&c, 0, sizeof c);
    c.joint = joint;
    dync__graph_renumber(joint);
    size_t n = (size_t)joint->node.n + 1;
    c.fw = dync__arena_alloc(&c.arena, n);
    c.bw = dync__arena_alloc(&c.arena, n);
    c.saved = dync__arena_alloc(&c.arena, n);
    dync_status status = c.fw && c.bw && c.saved && !joint->failed ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        for (int i = 0; i < n_fw_out; i++) c.fw[fw_out[i]->index] = true;
        for (int i = 0; i < n_grads; i++) c.bw[grads[i]->index] = true;
        dync__partition_mark(&c);
        dync__partition_getitems(&c);
        for (int i = 0; i < joint->node.n; i++) {
            dync_node *node = joint->node.at[i];
            bool tangent = dync__is_one_of(node, n_tangents, tangents);
            c.saved[i] = c.bw[i] && !tangent && (c.fw[i] || dync__partition_is_input(node)) && !(node->nout > 1);
        }
        status = dync__partition_forward(&c, n_fw_out, fw_out, n_tangents, tangents, into);
    }
    if (status == DYNC_OK && n_grads) status = dync__partition_backward(&c, n_tangents, tangents, n_grads, grads, into);
    dync__arena_free(&c.arena);
    return status;
}
