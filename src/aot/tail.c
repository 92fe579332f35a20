/* aot/tail.c: the end of a forward graph that no symbolic size reaches (an optimizer's updates in a
 * captured step) is compiled once for all sets of sizes; what comes before it, the head, is
 * compiled for each. After partition.c, before runtime.c.
 *
 * A node is of the head where it, or an operand, has a symbolic size, or where such a node needs
 * it. */
#include "../dync.in.h"
#include "code.h"

enum { DYNC__TAIL_LEAST = 16 }; /* calls: below that one graph is better */
struct dync__aot_tail {
    /* its outputs: the whole graph's that it has, then what the tail reads of it */
    dync__graph *head;
    dync__inner run; /* the tail's */
    /* in: of the tail: an input of the whole, or n_in + an output of the head; out: of the whole:
     * an output of the head, or n_head + one of the tail */
    int n_in, n_out, n_head, *in, *out;
    int n_whole_in;
};

DYNC__RARE static bool dync__tail_info_sized(const dync__node *n)
{
    for (int i = 0; n->has_info && i < n->nout; i++)
        if (dync__layout_has_tokens(&n->info[i].lay)) return true;
    return false;
}

DYNC__RARE static bool dync__tail_plain_size(void *user, int64_t *size)
{
    return (void)user, !dync__is_token(*size) && !dync__is_sf(*size);
}
typedef struct dync__tail_reach {
    bool *head, sized;
} dync__tail_reach;
DYNC__RARE static void dync__tail_operand(void *user, dync__arg *a)
{
    ((dync__tail_reach *)user)->sized |= dync__tail_info_sized(a->as.node);
}
DYNC__RARE static void dync__tail_needs(void *user, dync__arg *a)
{
    ((dync__tail_reach *)user)->head[a->as.node->index] = true;
}

/* Which nodes are of the head; how many calls are not. */
DYNC__RARE static int dync__tail_find(dync__graph *g, bool *head)
{
    int n = g->node.n - 1, calls = 0;
    dync__tail_reach r = {head, false};
    for (int i = 0; i < n; i++) {
        dync__node *x = g->node.at[i];
        r.sized = dync__tail_info_sized(x);
        for (int k = 0; k < x->nargs && !r.sized; k++)
            r.sized = !dync__arg_each_size(&x->args[k], dync__tail_plain_size, NULL);
        dync__node_each_input(x, dync__tail_operand, &r);
        head[i] = x->kind == DYNC__N_PLACEHOLDER || r.sized;
    }
    for (int i = n - 1; i >= 0; i--)
        if (head[i]) dync__node_each_input(g->node.at[i], dync__tail_needs, &r);
    for (int i = 0; i < n; i++) {
        const dync__node *x = g->node.at[i];
        if (x->op == DYNC__NODE_GETITEM) head[i] = head[x->args[0].as.node->index];
        calls += !head[i] && x->op >= 0;
        if (!head[i] && (!dync__node_is_call(x) ||
                         (x->op >= 0 && dync__op_info(x->op)->flags & DYNC__OP_RANDOM)))
            return 0;
    }
    return calls;
}

DYNC__RARE static dync__node *dync__tail_map(void *user, dync__node *old)
{
    return ((dync__node **)user)[old->index];
}

/* The two graphs, being made. of: a node's copy there; crosses: the head's output that it is for
 * the tail, -1 none. */
typedef struct dync__tail_maker {
    dync__graph *whole, *tail;
    struct dync__aot_tail *t;
    bool *head, *read;
    dync__node **of_head, **of_tail, **out_head, **out_tail;
} dync__tail_maker;

DYNC__RARE static void dync__tail_reads(void *user, dync__arg *a)
{
    ((bool *)user)[a->as.node->index] = true;
}

DYNC__RARE static dync_status dync__tail_graphs(dync__tail_maker *m)
{
    struct dync__aot_tail *t = m->t;
    const dync__arg *out = &m->whole->node.at[m->whole->node.n - 1]->args[0];
    int n = m->whole->node.n - 1, n_tail = 0;
    for (int i = 0; i < n; i++)
        if (!m->head[i]) dync__node_each_input(m->whole->node.at[i], dync__tail_reads, m->read);
    for (int i = 0, input = 0; i < n; i++) { /* inputs, then the head */
        dync__node *x = m->whole->node.at[i];
        bool place = x->kind == DYNC__N_PLACEHOLDER;
        if (!m->head[i]) continue;
        m->of_head[i] = place ? dync__graph_copy_placeholder(t->head, x, x->name)
                              : dync__graph_copy_call(t->head, x, dync__tail_map, m->of_head);
        if (!m->of_head[i]) return DYNC_ERR_MEMORY;
        if (place && m->read[i]) t->in[t->n_in++] = input;
        input += place;
    }
    for (int i = 0; i < out->n; i++) {
        const dync__node *x = out->as.list[i].as.node;
        int32_t over = i < m->whole->over.n ? m->whole->over.at[i] : -1;
        t->out[i] = m->head[x->index] ? t->n_head : -1 - n_tail;
        if (m->head[x->index])
            m->out_head[t->n_head++] = m->of_head[x->index];
        else
            m->out_tail[n_tail++] = (dync__node *)(uintptr_t)x;
        for (int k = 0; k < t->n_in && over >= 0 && m->head[x->index]; k++)
            /* the tail still reads what is there */
            if (t->in[k] == over || m->read[x->index]) over = -1;
        if (m->head[x->index] && !dync__avec_push(&t->head->arena, &t->head->over, over))
            return DYNC_ERR_MEMORY;
        for (int k = 0; !m->head[x->index] && k <= t->n_in; k++) {
            if (k < t->n_in && t->in[k] != over) continue;
            if (!dync__avec_push(&m->tail->arena, &m->tail->over, k < t->n_in ? k : -1))
                return DYNC_ERR_MEMORY;
            break;
        }
    }
    int n_head = t->n_head;
    /* inputs of the tail: those of the whole, then what crosses */
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            dync__node *x = m->whole->node.at[i];
            bool place = x->kind == DYNC__N_PLACEHOLDER;
            if (!m->head[i] || !m->read[i] || place == (pass == 1)) continue;
            dync__info info = x->info[0];
            info.alias = -1;
            if (!(m->of_tail[i] = place ? dync__graph_copy_placeholder(m->tail, x, x->name)
                                        : dync__graph_placeholder(m->tail, x->name, NULL, &info)))
                return DYNC_ERR_MEMORY;
            if (place) continue;
            t->in[t->n_in++] = t->n_whole_in + n_head;
            m->out_head[n_head++] = m->of_head[i];
        }
    for (int i = 0; i < n; i++)
        if (!m->head[i] && !(m->of_tail[i] = dync__graph_copy_call(m->tail, m->whole->node.at[i],
                                                                   dync__tail_map, m->of_tail)))
            return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_tail; i++) m->out_tail[i] = m->of_tail[m->out_tail[i]->index];
    for (int i = 0; i < out->n; i++)
        if (t->out[i] < 0) t->out[i] = n_head - 1 - t->out[i];
    t->n_head = n_head;
    t->n_out = out->n;
    DYNC__TRY(dync__graph_output_list(t->head, n_head, m->out_head));
    return dync__graph_output_list(m->tail, n_tail, m->out_tail);
}

DYNC__RARE DYNC__FN void dync__aot_tail_free(struct dync__aot_tail *t)
{
    if (!t) return;
    if (t->run.destroy) t->run.destroy(t->run.state);
    dync__graph_unref(t->head);
    dync__free(t, sizeof *t);
}

/* *out NULL: the graph is better whole. */
DYNC__RARE DYNC__FN dync_status dync__aot_tail(dync__graph *g, const dync__options *options,
                                               const dync__inner_compiler *inner,
                                               struct dync__aot_tail **out)
{
    dync__arena arena = {0};
    size_t n = (size_t)g->node.n;
    dync__tail_maker m = {.whole = g};
    *out = NULL;
    m.head = dync__arena_alloc(&arena, 2 * n);
    m.of_head = dync__arena_alloc(&arena, 6 * n * sizeof *m.of_head + 1);
    if (!m.head || !m.of_head) return dync__arena_free(&arena), DYNC_ERR_MEMORY;
    m.read = m.head + n;
    m.of_tail = m.of_head + n;
    /* outputs may repeat a node, and cross as well */
    m.out_head = m.of_tail + n;
    m.out_tail = m.out_head + 3 * n;
    dync__graph_renumber(g);
    const dync__arg *results = &g->node.at[g->node.n - 1]->args[0];
    if (!g->syms || (size_t)results->n > n || dync__tail_find(g, m.head) < DYNC__TAIL_LEAST)
        return dync__arena_free(&arena), DYNC_OK;
    struct dync__aot_tail *t = m.t = dync__calloc(sizeof *t);
    m.tail = dync__graph_new(g->name);
    dync_status status = t && m.tail && (t->head = dync__graph_new(g->name)) &&
                                 dync__graph_takes_symbols(t->head, g)
                             ? DYNC_OK
                             : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        t->n_whole_in = g->n_inputs;
        t->in = dync__arena_alloc(&t->head->arena, 2 * n * sizeof *t->in);
        t->out = dync__arena_alloc(&t->head->arena, (size_t)(results->n + 1) * sizeof *t->out);
        status = t->in && t->out ? dync__tail_graphs(&m) : DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK) status = dync__aot_inner_compile(inner, m.tail, false, options, &t->run);
    dync__graph_unref(m.tail);
    dync__arena_free(&arena);
    if (status != DYNC_OK)
        dync__aot_tail_free(t);
    else
        *out = t;
    return status;
}

/* ---- running both ---------------------------------------------------------------------------- */
typedef struct dync__tail_code {
    dync__inner head;
    const struct dync__aot_tail *tail;
} dync__tail_code;
DYNC__RARE static void dync__tail_destroy(void *state)
{
    dync__tail_code *c = state;
    if (c->head.destroy) c->head.destroy(c->head.state);
    dync__free(c, sizeof *c);
}

static dync_status dync__tail_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                  dync__tensor **out)
{
    const dync__tail_code *c = state;
    const struct dync__aot_tail *t = c->tail;
    int n_tail = 0, n_head = t->n_head;
    for (int i = 0; i < t->n_out; i++) n_tail += t->out[i] >= n_head;
    int room = n_head + t->n_in + n_tail;
    dync__tensor *few[2 * DYNC__FEW],
        **all = dync__room(few, DYNC__COUNT_OF(few), room, sizeof *all);
    if (!all) return DYNC_ERR_MEMORY;
    dync__tensor **given = all, **made = given + n_head, **to = made + n_tail;
    memset(all, 0, (size_t)room * sizeof *all);
    dync_status status = c->head.run(c->head.state, n_in, in, n_head, given);
    for (int i = 0; i < t->n_in; i++)
        to[i] = t->in[i] < t->n_whole_in ? in[t->in[i]] : given[t->in[i] - t->n_whole_in];
    if (status == DYNC_OK) status = t->run.run(t->run.state, t->n_in, to, n_tail, made);
    for (int i = 0; i < n_out; i++) {
        out[i] = status == DYNC_OK ? all[t->out[i]] : NULL;
        if (out[i]) dync__ref(out[i]);
    }
    for (int i = 0; i < n_head + n_tail; i++) dync__unref(all[i]);
    dync__room_end(all, few, room, sizeof *all);
    return status;
}

/* The whole for one set of sizes. */
DYNC__RARE DYNC__FN dync_status dync__aot_tail_compile(const struct dync__aot_tail *t,
                                                       const int64_t *value,
                                                       const dync__options *options,
                                                       const dync__inner_compiler *inner,
                                                       dync__inner *out)
{
    dync__tail_code *c = dync__calloc(sizeof *c);
    dync__graph *head = NULL;
    dync_status status = c ? dync__graph_concrete(t->head, value, &head) : DYNC_ERR_MEMORY;
    for (int i = 0; i < t->head->over.n && status == DYNC_OK; i++)
        if (!dync__avec_push(&head->arena, &head->over, t->head->over.at[i]))
            status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__aot_inner_compile(inner, head, false, options, &c->head);
    dync__graph_unref(head);
    if (status != DYNC_OK) {
        dync__free(c, sizeof *c);
        return status;
    }
    c->tail = t;
    *out = (dync__inner){.run = dync__tail_run, .destroy = dync__tail_destroy, .state = c};
    return DYNC_OK;
}
