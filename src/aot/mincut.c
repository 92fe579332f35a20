/* aot/mincut.c: which values forward saves for backward: the least bytes such that backward can
 * compute the rest again cheaply. Before partition.c, which calls it.
 *
 * Every node is split into two vertices joined by an edge of its weight; the minimum cut between
 * what must not be computed again (source) and what only backward can compute (sink) is what is
 * saved. The rules on what may be computed again and what a value weighs are those of PyTorch's
 * min_cut_rematerialization_partition (torch/_functorch/partitioners.py); the flow is Dinic's
 * algorithm (1970). */
#include "../dync.in.h"
#include "partition.h"
#include "mincut.h"
#include "../loop/whole.h"
DYNC__COLD

/* An edge of capacity `room` and its reverse of capacity 0, side by side. The caller has made
 * room for both (room_edges). */
DYNC__FN void dync__flow_add(dync__flow *f, int from, int to, int64_t room)
{
    f->edge[f->n_edges] = (dync__flow_edge){to, f->head[from], room};
    f->head[from] = f->n_edges++;
    f->edge[f->n_edges] = (dync__flow_edge){from, f->head[to], 0};
    f->head[to] = f->n_edges++;
}

/* Distances from the source over edges that have room; false: the sink is out of reach. */
DYNC__FN bool dync__flow_levels(dync__flow *f, int source, int sink)
{
    for (int i = 0; i < f->n; i++) f->level[i] = -1;
    int first = 0, last = 0;
    f->queue[last++] = source;
    f->level[source] = 0;
    while (first < last) {
        int v = f->queue[first++];
        for (int e = f->head[v]; e >= 0; e = f->edge[e].next)
            if (f->edge[e].room > 0 && f->level[f->edge[e].to] < 0) {
                f->level[f->edge[e].to] = f->level[v] + 1;
                f->queue[last++] = f->edge[e].to;
            }
    }
    return f->level[sink] >= 0;
}

/* One augmenting path along growing levels, kept in queue as edges. Iterative: graphs may be
 * deep. */
DYNC__FN bool dync__flow_augment(dync__flow *f, int source, int sink)
{
    int depth = 0, v = source;
    while (v != sink) {
        int e = f->at[v];
        while (e >= 0 && !(f->edge[e].room > 0 && f->level[f->edge[e].to] == f->level[v] + 1))
            e = f->edge[e].next;
        f->at[v] = e;
        if (e >= 0) {
            f->queue[depth++] = e;
            v = f->edge[e].to;
        } else {
            if (depth == 0) return false;
            f->level[v] = -1; /* a dead end */
            v = f->edge[f->queue[--depth] ^ 1].to;
        }
    }
    int64_t least = DYNC__FLOW_INFINITE;
    for (int i = 0; i < depth; i++) least = DYNC__MIN(least, f->edge[f->queue[i]].room);
    for (int i = 0; i < depth; i++) {
        f->edge[f->queue[i]].room -= least;
        f->edge[f->queue[i] ^ 1].room += least;
    }
    return true;
}

/* ---- what operators are like ----------------------------------------------------------------- */
DYNC__FN bool dync__aot_is_view(const dync__node *n)
{
    return n->op >= 0 && dync__op_info(n->op)->cls == DYNC__VIEW;
}

/* Computed as a double and capped at 1e15: no overflow. */
static int64_t dync__aot_bytes_by(const dync__node *n, int64_t (*number)(int64_t))
{
    if (!n->has_info || n->nout != 1) return 0;
    double bytes = (double)dync__dtype_info(n->info[0].dtype)->bytes;
    for (int d = 0; d < n->info[0].lay.ndim; d++) bytes *= (double)number(n->info[0].lay.shape[d]);
    return bytes > 1e15 ? (int64_t)1000000000000000 : (int64_t)bytes;
}
DYNC__FN int64_t dync__aot_bytes(const dync__node *n)
{
    return dync__aot_bytes_by(n, dync__sz_hint);
}
DYNC__FN int64_t dync__aot_weighed(const dync__node *n)
{
    return dync__aot_bytes_by(n, dync__sz_usual);
}

/* May backward compute the value again? Random operators would draw other numbers, and a write
 * must not happen twice. Kernel calls (products, convolutions) only where their row says that
 * they fuse. */
DYNC__FN bool dync__op_recomputable(const dync__node *n)
{
    if (n->op == DYNC__NODE_GETITEM) return true;
    if (n->op < 0) return false;
    const dync__op_row *row = dync__op_info(n->op);
    if (row->flags & (DYNC__OP_RANDOM | DYNC__OP_WRITES)) return false;
    return row->flags & DYNC__OP_FUSES || row->cls == DYNC__POINTWISE || row->cls == DYNC__VIEW ||
           row->cls == DYNC__REDUCE || row->cls == DYNC__FACTORY;
}

static bool dync__op_fusible(const dync__node *n)
{
    return dync__op_recomputable(n) || dync__node_has(n, DYNC__OP_RANDOM);
}
/* Do a and its user b end up in one kernel, so that a's value need not go through memory? A
 * concatenation counts as fusible with any input, as in PyTorch. */
static bool dync__pair_fusible(const dync__node *a, const dync__node *b)
{
    return b->op == DYNC__OP_cat || (dync__op_fusible(a) && dync__op_fusible(b));
}

/* Does backward read this value, or a view of it, in an operator that does not fuse with it?
 * Then backward has it in memory in any case, and to compute it again would save no traffic.
 * Views are followed depth first; `heap` is the stack. */
static bool dync__part_used_plainly(dync__mincut_state *m, int node)
{
    dync__cutter *c = m->c;
    dync__node *const *at = c->joint->node.at;
    if (dync__aot_is_view(at[node])) return false;
    int n = 0;
    m->heap[n++] = node;
    m->seen[node] = ++m->round;
    while (n > 0) {
        int i = m->heap[--n];
        DYNC__EACH_USER(c, i, u)
        {
            if (!c->fw[u] && !dync__pair_fusible(at[i], at[u])) return true;
            if (dync__aot_is_view(at[u]) && m->seen[u] != m->round) {
                m->seen[u] = m->round;
                m->heap[n++] = u;
            }
        }
    }
    return false;
}

static void dync__part_input_bytes(void *user, dync__arg *a)
{
    *(int64_t *)user += dync__aot_weighed(a->as.node);
}

/* A reduction computed again adds in another order where its loop is cut otherwise: its last bits
 * may differ. That does no harm until they decide something: `y == amax(y)` in the gradient of amax
 * is true nowhere if y was computed again from another mean. */
DYNC__FN bool dync__part_must_agree(const dync__mincut_state *m, int i)
{
    const dync__node *n = m->c->joint->node.at[i];
    return m->decides[i] && n->op >= 0 && dync__op_info(n->op)->cls == DYNC__REDUCE;
}
/* From the end, as users stand behind what they use. */
DYNC__FN void dync__part_decisions(dync__mincut_state *m)
{
    const dync__cutter *c = m->c;
    for (int i = c->n - 1; i >= 0; i--) {
        m->decides[i] = false;
        DYNC__EACH_USER(c, i, u)
        if (m->decides[u] || (dync__node_has(c->joint->node.at[u], DYNC__OP_BOOL_OUT) &&
                              m->distance[u] < DYNC__PART_NEVER))
            m->decides[i] = true;
    }
}

/* Must this forward node not be computed again? Besides the operator itself two rules on its
 * value count: it is read by an operator that cannot fuse with it, or it is less than a quarter
 * of its inputs (a reduction), so that saving it is cheap. */
DYNC__FN bool dync__part_should_ban(dync__mincut_state *m, int i)
{
    dync__node *n = m->c->joint->node.at[i];
    if (!dync__node_is_call(n) || n->op == DYNC__NODE_GETITEM) return false;
    if (n->op < 0 || (dync__op_info(n->op)->flags & (DYNC__OP_RANDOM | DYNC__OP_WRITES)))
        return true;
    if (dync__part_must_agree(m, i)) return true;
    if (m->rules.not_listed
            ? !dync__op_recomputable(n)
            : dync__op_info(n->op)->cls == DYNC__KERNEL && !dync__op_recomputable(n))
        return true;
    if (m->rules.materialized && dync__part_used_plainly(m, i)) return true;
    if (!m->rules.reductions) return false;
    int64_t in = 0;
    dync__node_each_input(n, dync__part_input_bytes, &in);
    return dync__aot_weighed(n) * 4 < in;
}

/* Views cost nothing to make again and are never banned; nor is what the memory budget has
 * freed. */
DYNC__FN void dync__part_ban(dync__mincut_state *m, int i)
{
    dync__node *n = m->c->joint->node.at[i];
    if (!dync__aot_is_view(n) && (!m->freed[i] || dync__part_must_agree(m, i))) m->banned[i] = true;
}

/* Which values stand in memory in forward anyway: inputs, results, what is read by an operator that
 * cannot fuse with it, itself or by a view. What does not is charged twice, since saving it adds a
 * write (dync__part_weight). From the end, as users stand behind what they use. */
DYNC__FN void dync__part_stand(dync__mincut_state *m)
{
    const dync__cutter *c = m->c;
    dync__node *const *at = c->joint->node.at;
    for (int i = c->n - 1; i >= 0; i--) {
        m->stands[i] = c->input[i] || c->tangent[i] || c->result[i];
        DYNC__EACH_USER(c, i, u)
        if (!dync__pair_fusible(at[i], at[u]) || (dync__aot_is_view(at[u]) && m->stands[u]))
            m->stands[i] = true;
    }
}

/* What it costs to save node i: its bytes, times 1.1 for each step to the nearest backward node
 * (at most 100 steps), so that of two equal values the one nearer to backward is saved; doubled
 * where forward would not have written it. Lists cannot be saved: infinite. */
DYNC__FN int64_t dync__part_weight(const dync__mincut_state *m, int i)
{
    dync__node *n = m->c->joint->node.at[i];
    if (n->nout != 1 || !n->has_info) return DYNC__FLOW_INFINITE;
    double w = (double)dync__aot_weighed(n);
    for (int d = DYNC__MAX(DYNC__MIN(m->distance[i], 100), 1); d > 0; d--) w *= 1.1;
    w = dync__floor(w);
    if (!m->stands[i]) w *= 2;
    if (w < 1) w = 1; /* no elements: an edge without room would look cut */
    return w > 1e17 ? DYNC__FLOW_INFINITE / 8 : (int64_t)w;
}

static void dync__part_pretend(dync__arg *a, dync__tensor *t)
{
    const dync__info *info = a->kind == DYNC__A_NODE ? &a->as.node->info[0] : NULL;
    if (!info) return;
    *t = (dync__tensor){.dtype = (uint8_t)info->dtype, .lay = info->lay};
    *a = dync__arg_t(t);
}

/* What it costs to compute node i again, in the same unit: additions, as bytes that could be stored
 * and loaded meanwhile. An exponential may be worth saving that only its user reads. What forward
 * does not need is computed once, wherever that is. */
DYNC__FN int64_t dync__part_again(const dync__mincut_state *m, int i)
{
    const dync__node *n = m->c->joint->node.at[i];
    dync__tensor given[DYNC__MAX_ARGS];
    dync__arg args[DYNC__MAX_ARGS];
    dync__arena arena = {0};
    if (!m->c->fw[i] || n->op < 0 || !n->has_info || dync__op_info(n->op)->cls != DYNC__POINTWISE)
        return 0;
    dync__opcall call = {.op = n->op, .row = dync__op_info(n->op), .nargs = n->nargs, .args = args};
    for (int k = 0; k < n->nargs; k++) {
        args[k] = n->args[k];
        dync__part_pretend(&args[k], &given[k]);
    }
    int64_t cost = dync__op_cost(&call, &arena),
            elements = dync__aot_weighed(n) / dync__dtype_info(n->info[0].dtype)->bytes;
    dync__arena_free(&arena);
    return cost * elements / DYNC__AGAIN_ADDITIONS;
}

/* ---- heuristics against long recomputation --------------------------------------------------- */
/* A small heap of node indices: nodes are in execution order, so the least index is the
 * earliest. */
static void dync__part_push(int *heap, int *n, int v)
{
    int i = (*n)++;
    while (i > 0 && heap[(i - 1) / 2] > v) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = v;
}
/* Takes the least index out; the heap must not be empty. */
static int dync__part_pop(int *heap, int *n)
{
    int top = heap[0], v = heap[--*n], i = 0;
    for (;;) {
        int k = 2 * i + 1;
        if (k >= *n) break;
        if (k + 1 < *n && heap[k + 1] < heap[k]) k++;
        if (heap[k] >= v) break;
        heap[i] = heap[k];
        i = k;
    }
    heap[i] = v;
    return top;
}

/* The first node after `start`'s forward users that cannot be fused with what leads to it. */
static int dync__part_first_unfusible(dync__mincut_state *m, int start, int last)
{
    const dync__cutter *c = m->c;
    dync__node *const *at = c->joint->node.at;
    int n = 0;
    m->round += 2; /* seen: round reached by fusing, round + 1 not */
    DYNC__EACH_USER(c, start, u)
    if (c->fw[u] && m->seen[u] < m->round) {
        m->seen[u] = m->round;
        dync__part_push(m->heap, &n, u);
    }
    int found = last;
    while (n > 0) {
        int i = dync__part_pop(m->heap, &n);
        if (m->seen[i] == m->round + 1) {
            found = i;
            break;
        }
        DYNC__EACH_USER(c, i, u)
        {
            if (!c->fw[u] || u > last) continue;
            bool fresh = m->seen[u] < m->round;
            if (!dync__pair_fusible(at[i], at[u]))
                m->seen[u] = m->round + 1;
            else if (fresh)
                m->seen[u] = m->round;
            if (fresh) dync__part_push(m->heap, &n, u);
        }
    }
    m->round++;
    return found;
}

/* A value whose users lie on both sides of an operator that cannot fuse would have to stay
 * alive, or be computed twice: its later users are banned from being computed again. PyTorch's
 * rule "used in the same pass but far apart". */
DYNC__FN void dync__part_far_apart(dync__mincut_state *m)
{
    const dync__cutter *c = m->c;
    dync__node *const *at = c->joint->node.at;
    for (int i = 0; i < c->n; i++) {
        int last = -1, count = 0;
        if (!c->fw[i]) continue;
        DYNC__EACH_USER(c, i, u)
        if (c->fw[u]) {
            last = DYNC__MAX(last, u);
            count++;
        }
        if (count < 2) continue;
        int limit = dync__part_first_unfusible(m, i, last);
        DYNC__EACH_USER(c, i, v)
        if (c->fw[v] && v > limit && dync__pair_fusible(at[i], at[v])) dync__part_ban(m, v);
    }
}

/* A chain of fusible nodes that is longer than a hundred is cut somewhere. */
DYNC__FN void dync__part_long_chains(dync__mincut_state *m)
{
    const dync__cutter *c = m->c;
    dync__node *const *at = c->joint->node.at;
    int visited = ++m->round;
    for (int start = 0; start < c->n; start++) {
        int n = 0;
        if (!c->fw[start] || m->seen[start] == visited) continue;
        dync__part_push(m->heap, &n, start);
        while (n > 0) {
            int i = dync__part_pop(m->heap, &n);
            if (m->seen[i] == visited) continue;
            m->seen[i] = visited;
            if (m->order[i] > m->order[start] + 100 && n == 0) {
                dync__part_ban(m, i);
                break;
            }
            DYNC__EACH_USER(c, i, u)
            if (c->fw[u] && m->seen[u] != visited && dync__pair_fusible(at[i], at[u]) &&
                !m->banned[u] && n < 2 * c->n)
                dync__part_push(m->heap, &n, u);
        }
    }
}
