/* aot/partition.c: cuts a joint graph into forward and backward. What the forward outputs need is
 * forward; what the gradients need beyond that is backward. Between them stand the saved values:
 * all that backward reads (the default partitioner of PyTorch), or a minimum cut (mincut.c), where
 * backward computes cheap things again. After mincut.c, before joint.c.
 *
 * An input that the epilogue overwrites is saved as a copy. In the backward graph what is computed
 * again stands just before its first use. */
#include "../dync.in.h"
#include "partition.h"
#include "code.h"
DYNC__COLD

static void dync__part_mark_fw(void *user, dync__arg *a)
{
    ((dync__cutter *)user)->fw[a->as.node->index] = true;
}
static void dync__part_mark_bw(void *user, dync__arg *a)
{
    ((dync__cutter *)user)->bw[a->as.node->index] = true;
}

/* ---- facts ----------------------------------------------------------------------------------- */
/* Closes the sets over arguments, from the end of the graph to its beginning. */
static void dync__part_close(dync__cutter *c)
{
    for (int i = c->n - 1; i >= 0; i--) {
        dync__node *n = c->joint->node.at[i];
        if (c->fw[i]) dync__node_each_input(n, dync__part_mark_fw, c);
        if (c->bw[i]) dync__node_each_input(n, dync__part_mark_bw, c);
    }
}

/* The users of node i are user[first_user[i] .. first_user[i + 1]): counted in one sweep, filled
 * in a second. */
typedef struct dync__part_reader {
    dync__cutter *c;
    int reader;
    bool counting;
} dync__part_reader;
static void dync__part_note_user(void *user, dync__arg *a)
{
    dync__part_reader *r = user;
    int i = a->as.node->index;
    if (r->counting)
        r->c->first_user[i + 1]++;
    else
        r->c->user[r->c->first_user[i]++] = r->reader;
}

static dync_status dync__part_users(dync__cutter *c)
{
    dync__part_reader r = {c, 0, true};
    for (r.reader = 0; r.reader < c->n; r.reader++)
        if (dync__part_live(c, r.reader))
            dync__node_each_input(c->joint->node.at[r.reader], dync__part_note_user, &r);
    for (int i = 0; i < c->n; i++) c->first_user[i + 1] += c->first_user[i];
    c->user = dync__arena_alloc(&c->arena, (size_t)(c->first_user[c->n] + 1) * sizeof *c->user);
    if (!c->user) return DYNC_ERR_MEMORY;
    r.counting = false;
    for (r.reader = 0; r.reader < c->n; r.reader++)
        if (dync__part_live(c, r.reader))
            dync__node_each_input(c->joint->node.at[r.reader], dync__part_note_user, &r);
    /* filling moved each on to the next one's */
    for (int i = c->n; i > 0; i--) c->first_user[i] = c->first_user[i - 1];
    c->first_user[0] = 0;
    return DYNC_OK;
}

/* Late is what depends on a tangent: only backward can compute it. Execution order makes one
 * sweep enough. */
static void dync__part_late(dync__cutter *c)
{
    for (int i = 0; i < c->n; i++) {
        if (c->tangent[i]) c->late[i] = true;
        for (int u = c->first_user[i]; c->late[i] && u < c->first_user[i + 1]; u++)
            c->late[c->user[u]] = true;
    }
}

/* Every forward value that backward reads is saved. */
static void dync__part_save_all(dync__cutter *c)
{
    for (int i = 0; i < c->n; i++) {
        const dync__node *n = c->joint->node.at[i];
        if (n->op == DYNC__NODE_GETITEM && c->bw[i] && c->fw[n->args[0].as.node->index])
            c->fw[i] = true;
        if (!c->bw[i] || c->tangent[i] || n->nout != 1 || !(c->fw[i] || c->input[i])) continue;
        bool read = c->given[i];
        for (int u = c->first_user[i]; u < c->first_user[i + 1] && !read; u++)
            read = c->bw[c->user[u]] && !c->fw[c->user[u]];
        c->saved[i] = read;
    }
}

/* What a small program saves: of that less what views and cheap pointwise operators make again from
 * values that are there: saved ones, and inputs that the epilogue leaves alone. What is made again
 * is not there for those behind it, so backward makes one operator again, no chain. */
static bool dync__part_is_brief(const dync__cutter *c, const dync__node *n)
{
    if (n->op < 0 || c->input[n->index] || c->given[n->index] || c->result[n->index]) return false;
    const dync__op_row *row = dync__op_info(n->op);
    return row->cls == DYNC__VIEW ? !(row->flags & (DYNC__OP_STRIDED | DYNC__OP_BEYOND))
                                  : row->cls == DYNC__POINTWISE && row->flags & DYNC__OP_CHEAP &&
                                        !(row->flags & (DYNC__OP_RANDOM | DYNC__OP_WRITES));
}
typedef struct dync__part_sources {
    const dync__cutter *c;
    bool there, save;
} dync__part_sources;
static void dync__part_source(void *user, dync__arg *a)
{
    dync__part_sources *s = user;
    int i = a->as.node->index;
    if (s->save)
        s->c->saved[i] = true;
    else if (!s->c->saved[i])
        s->there = s->there && s->c->input[i] && !s->c->mutated[i] && a->as.node->has_info;
}
static void dync__part_save_brief(dync__cutter *c)
{
    dync__part_save_all(c);
    for (int i = 0; i < c->n; i++) {
        dync__part_sources s = {c, true, false};
        dync__node *n = c->joint->node.at[i];
        if (!c->saved[i] || !dync__part_is_brief(c, n)) continue;
        dync__node_each_input(n, dync__part_source, &s);
        if (!s.there) continue;
        s.save = true;
        dync__node_each_input(n, dync__part_source, &s);
        c->saved[i] = false;
    }
}

/* ---- the two graphs -------------------------------------------------------------------------- */
/* A view of a value that was saved as a copy lies as that does. */
static dync_status dync__partition_view(dync__node *n)
{
    const dync__info *of = &n->args[0].as.node->info[0];
    dync__storage memory = {.size_bytes = SIZE_MAX / 2};
    dync__tensor x = {.dtype = (uint8_t)of->dtype,
                      .flags = DYNC__T_FAKE,
                      .device = (uint16_t)of->device,
                      .lay = of->lay,
                      .storage = &memory};
    dync__arg args[DYNC__MAX_ARGS];
    dync__opcall c = {.row = dync__op_info(n->op), .op = n->op, .nargs = n->nargs, .args = args};
    dync__info info;
    DYNC__TRY(dync__numel(x.lay.ndim, x.lay.shape, &x.numel));
    memcpy(args, n->args, (size_t)n->nargs * sizeof *args);
    args[0] = dync__arg_t(&x);
    DYNC__TRY(dync__op_infer(&c, &info));
    n->info[0].lay = info.lay;
    return DYNC_OK;
}

DYNC__FN dync__node *dync__partition_node(dync__rewrite *r, dync__node *old)
{
    dync__node *n = dync__rewrite_copy(r, old);
    bool view = n && dync__aot_is_view(old) && n->args[0].kind == DYNC__A_NODE;
    if (!view ||
        dync__layout_equal(&n->args[0].as.node->info[0].lay, &old->args[0].as.node->info[0].lay))
        return n;
    return dync__partition_view(n) == DYNC_OK ? n : NULL;
}

/* ---- saved values on the memory of an input that will be overwritten: copies ----------------- */
/* A view whose users count places in the memory itself cannot be copied alone: the whole is. */
static void dync__part_save_roots(dync__cutter *c)
{
    for (int i = 0; i < c->n; i++) {
        int root = c->saved[i] ? dync__part_mutated_root(c, c->joint->node.at[i]) : -1;
        if (root < 0 || root == i) continue;
        for (int u = c->first_user[i]; u < c->first_user[i + 1]; u++) {
            if (!dync__node_has(c->joint->node.at[c->user[u]], DYNC__OP_STRIDED)) continue;
            c->saved[i] = false;
            c->saved[root] = true;
        }
    }
}

static dync__node *dync__part_saved_value(const dync__cutter *c, dync__rewrite *r, dync__node *old)
{
    dync__node *n = dync__rewrite_at(r, old);
    if (dync__part_mutated_root(c, old) < 0) return n;
    dync__arg arg = dync__arg_node(n);
    dync__info info = old->info[0];
    info.alias = -1;
    if (dync__layout_like(&old->info[0].lay, &info.lay) != DYNC_OK) return NULL;
    return dync__graph_call(r->to, DYNC__USED(DYNC__OP_clone), 1, &arg, 1, &info, NULL);
}

/* A saved value as an input of backward. */
static dync__node *dync__part_saved_input(dync__rewrite *r, dync__node *old)
{
    dync__node *n = dync__rewrite_input(r, old, old->name);
    return !n || dync__part_mutated_root(r->user, old) < 0 ||
                   dync__layout_like(&old->info[0].lay, &n->info[0].lay) == DYNC_OK
               ? n
               : NULL;
}

/* Forward: every input of the joint graph but tangents, in order; what is needed; outputs, then
 * what is saved. */
static dync_status dync__partition_forward_nodes(dync__cutter *c, dync__rewrite *r, int n_out,
                                                 dync__node *const *out, dync__aot_graphs *into)
{
    dync__node **all = dync__arena_alloc(&c->arena, (size_t)(n_out + 2 * c->n + 1) * sizeof *all);
    if (!all) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n; i++)
        if (c->input[i] || c->fw[i])
            DYNC__TRY(dync__rewrite_put(r, c->joint->node.at[i], dync__partition_node));
    for (int i = 0; i < n_out; i++) all[i] = dync__rewrite_at(r, out[i]);
    into->n_saved = into->again.n = 0;
    for (int i = 0; i < c->n; i++) {
        if (!c->saved[i]) continue;
        dync__node *n = c->joint->node.at[i];
        for (int k = 0; k <= dync__part_is_twice(c, i); k++) {
            if (!(all[n_out + into->n_saved++] = dync__part_saved_value(c, r, n)))
                return DYNC_ERR_MEMORY;
            if (!dync__vec_push(&into->again, k || !c->own[i])) return DYNC_ERR_MEMORY;
        }
        int64_t bytes = dync__aot_bytes(n);
        into->saved_bytes += bytes;
        if (c->input[i]) into->saved_input_bytes += bytes;
    }
    return dync__graph_output_list(r->to, n_out + into->n_saved, all);
}

static dync_status dync__partition_forward(dync__cutter *c, int n_out, dync__node *const *out,
                                           dync__aot_graphs *into)
{
    dync__rewrite r;
    for (int i = 0; i < c->n; i++) /* what data decide is told by its node, whoever reads it */
        c->fw[i] = c->fw[i] || c->saved[i] || dync__op_is_counted(c->joint->node.at[i]->op);
    dync__part_close(c);
    dync_status status = dync__rewrite_begin(&r, c->joint, "GraphModule");
    if (status == DYNC_OK) status = dync__partition_forward_nodes(c, &r, n_out, out, into);
    return dync__rewrite_end(&r, status, &into->fw);
}

typedef struct dync__recompute {
    dync__cutter *c;
    dync__rewrite *r;
    dync__aot_graphs *into;
    dync_status status;
} dync__recompute;
static void dync__partition_need(void *user, dync__arg *a)
{
    dync__recompute *r = user;
    dync__node *n = a->as.node;
    if (r->r->copy[n->index] || r->status != DYNC_OK) return;
    dync__node_each_input(
        n, dync__partition_need,
        r); /* as deep as a chain that is computed again: mincut.c keeps them short */
    dync__part_twice_swap(r->c, n, r->r);
    if (r->status == DYNC_OK) r->status = dync__rewrite_put(r->r, n, dync__partition_node);
    dync__part_twice_swap(r->c, n, r->r);
    if (!r->c->fw[n->index] || dync__aot_is_view(n)) return;
    r->into->n_recomputed++;
    r->into->recomputed_bytes += dync__aot_bytes(n);
}

static dync_status dync__partition_backward_nodes(dync__cutter *c, dync__rewrite *r, int n_grads,
                                                  dync__node *const *grads, dync__aot_graphs *into)
{
    dync__node **all = dync__arena_alloc(&c->arena, (size_t)(n_grads + 1) * sizeof *all);
    dync__recompute need = {c, r, into, DYNC_OK};
    if (!all) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n; i++)
        for (int k = 0; c->saved[i] && k <= dync__part_is_twice(c, i); k++) {
            if (k) c->rule_copy[i] = r->copy[i];
            DYNC__TRY(dync__rewrite_put(r, c->joint->node.at[i], dync__part_saved_input));
        }
    for (int i = 0; i < c->n; i++)
        if (c->tangent[i])
            DYNC__TRY(dync__rewrite_put(r, c->joint->node.at[i], dync__rewrite_copy));
    for (int i = 0; i < c->n && need.status == DYNC_OK; i++) {
        dync__arg a = dync__arg_node(c->joint->node.at[i]);
        if (c->bw[i] && c->late[i]) dync__partition_need(&need, &a);
    }
    for (int i = 0; i < n_grads; i++) {
        dync__arg a = dync__arg_node(grads[i]);
        dync__partition_need(&need, &a);
        all[i] = dync__rewrite_at(r, grads[i]);
    }
    return need.status == DYNC_OK ? dync__graph_output_list(r->to, n_grads, all) : need.status;
}

DYNC__FN dync_status dync__partition_backward(dync__cutter *c, int n_grads,
                                              dync__node *const *grads, dync__aot_graphs *into)
{
    dync__rewrite r;
    dync_status status = dync__rewrite_begin(&r, c->joint, "GraphModule");
    r.user = c;
    if (status == DYNC_OK) status = dync__partition_backward_nodes(c, &r, n_grads, grads, into);
    return dync__rewrite_end(&r, status, &into->bw);
}

/* ---- both ------------------------------------------------------------------------------------ */
static dync_status dync__cutter_open(dync__cutter *c, dync__graph *joint)
{
    memset(c, 0, sizeof *c);
    c->joint = joint;
    dync__graph_renumber(joint);
    c->n = joint->node.n - 1; /* without the output */
    bool **sets[] = {&c->fw,    &c->bw,    &c->input,   &c->tangent, &c->late,
                     &c->given, &c->saved, &c->mutated, &c->own,     &c->result};
    for (int i = 0; i < DYNC__COUNT_OF(sets); i++)
        if (!(*sets[i] = dync__arena_alloc(&c->arena, (size_t)c->n + 1))) return DYNC_ERR_MEMORY;
    c->first_user = dync__arena_alloc(&c->arena, (size_t)(c->n + 2) * sizeof *c->first_user);
    return c->first_user && !joint->failed ? DYNC_OK : DYNC_ERR_MEMORY;
}

static void dync__part_follows(void *user, dync__arg *a)
{
    dync__cutter *c = user;
    if (c->late[a->as.node->index]) c->late[c->n] = true;
}

/* Random numbers that nobody reads are drawn all the same: those after them are what they are
 * because of it. What depends on tangents is no part of forward. late serves as a set here, its
 * last place as the answer for one node. */
static void dync__part_keep_draws(dync__cutter *c)
{
    for (int i = 0; i < c->n; i++) {
        const dync__node *n = c->joint->node.at[i];
        c->late[c->n] = c->tangent[i];
        dync__node_each_input(c->joint->node.at[i], dync__part_follows, c);
        c->late[i] = c->late[c->n];
        if (n->op >= 0 && (dync__op_info(n->op)->flags & DYNC__OP_RANDOM) && !c->bw[i] &&
            !c->late[i])
            c->fw[i] = true;
    }
    memset(c->late, 0, (size_t)c->n + 1);
}

static dync_status dync__cutter_facts(dync__cutter *c, const dync__joint_graph *j, bool random)
{
    for (int i = 0; i < c->n; i++) c->input[i] = c->joint->node.at[i]->kind == DYNC__N_PLACEHOLDER;
    for (int i = 0; i < j->n_tangents; i++) {
        c->tangent[j->tangent[i]->index] = true;
        c->input[j->tangent[i]->index] = false;
    }
    for (int i = 0; i < j->n_fw_out; i++)
        c->fw[j->fw_out[i]->index] = c->result[j->fw_out[i]->index] = true;
    for (int i = 0; i < j->n_grads; i++) c->bw[j->grad[i]->index] = true;
    for (int i = 0; i < j->n_mutated; i++) c->mutated[j->mutated[i]->index] = true;
    dync__part_close(c);
    if (random) {
        dync__part_keep_draws(c);
        dync__part_close(c);
    }
    DYNC__TRY(dync__part_users(c));
    dync__part_late(c);
    for (int i = 0; i < j->n_grads; i++) {
        int k = j->grad[i]->index;
        if (c->fw[k] || c->input[k])
            c->given[k] = true;
        else
            c->late[k] = true;
    }
    return DYNC_OK;
}

/* The cut is for who names options or a share of memory; a small program has it by need. */
static dync_status (*DYNC__BY_NEED dync__mincut_used)(dync__cutter *) =
    DYNC__AT_FIRST(dync__mincut);
DYNC__FN void dync__aot_use_mincut(void)
{
    if (!DYNC__GRAD_NONE) DYNC__PUT(dync__mincut_used, dync__mincut);
}

/* What forward saves for backward. */
DYNC__FN dync_status dync__partition_saved(dync__cutter *c, const dync__aot_how *how)
{
    if (how->save_all || !dync__pass_on(DYNC__PASS_mincut))
        dync__part_save_all(c);
    else if (dync__mincut_used)
        DYNC__TRY(dync__mincut_used(c));
    else
        dync__part_save_brief(c);
    dync__part_save_roots(c);
    return dync__part_own(c);
}

DYNC__FN dync_status dync__aot_partition(const dync__joint_graph *j, const dync__aot_how *how,
                                         dync__aot_graphs *into)
{
    dync__cutter c;
    dync_status status = dync__cutter_open(&c, j->graph);
    c.budget = how->budget;
    if (status == DYNC_OK) status = dync__cutter_facts(&c, j, into->random);
    if (status == DYNC_OK && !DYNC__GRAD_NONE && j->n_grads)
        status = dync__aot_gradients_used->choose_saved(&c, how);
    if (status == DYNC_OK) status = dync__partition_forward(&c, j->n_fw_out, j->fw_out, into);
    if (status == DYNC_OK && !DYNC__GRAD_NONE && j->n_grads)
        status = dync__aot_gradients_used->backward_graph(&c, j->n_grads, j->grad, into);
    dync__arena_free(&c.arena);
    return status;
}
