/* aot/tail.c: the end of a forward graph that no symbolic size reaches (an optimizer's updates in a
 * captured step) is compiled once for all sets of sizes; what comes before it, the head, is
 * compiled for each. After partition.c, before runtime.c.
 *
 * A node is of the head where it, or an operand, has a symbolic size, or where such a node needs
 * it. */
#include "../dync.in.h"
#include "code.h"
DYNC__WARM

struct dync__aot_tail {
    /* its outputs: the whole graph's that it has, then what the tail reads of it */
    dync__graph *head;
    dync__inner_sized head_sized;
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

/* The two graphs, being made. of: a node's copy there; crosses: the head's output that it is for
 * the tail, -1 none. */
typedef struct dync__tail_maker {
    dync__graph *whole;
    struct dync__aot_tail *t;
    bool *head, *read; /* head: is a node of the head; read: the tail reads it */
    dync__rewrite to_head, to_tail;
    dync__node **out_head, **out_tail;
} dync__tail_maker;

DYNC__RARE static void dync__tail_reads(void *user, dync__arg *a)
{
    ((bool *)user)[a->as.node->index] = true;
}

/* Inputs, then the head. */
DYNC__RARE static dync_status dync__tail_head(dync__tail_maker *m)
{
    struct dync__aot_tail *t = m->t;
    for (int i = 0, input = 0; i < m->whole->node.n - 1; i++) {
        dync__node *x = m->whole->node.at[i];
        bool place = x->kind == DYNC__N_PLACEHOLDER;
        if (!m->head[i]) continue;
        DYNC__TRY(dync__rewrite_put(&m->to_head, x, dync__rewrite_copy));
        if (place && m->read[i]) t->in[t->n_in++] = input;
        input += place;
    }
    return DYNC_OK;
}

/* Output i of the whole goes to one of the two; so does what it is the new value of. The tail's are
 * counted down from -1. */
DYNC__RARE static dync_status dync__tail_output(dync__tail_maker *m, int i, dync__node *x,
                                                int *n_tail)
{
    struct dync__aot_tail *t = m->t;
    int32_t over = i < m->whole->over.n ? m->whole->over.at[i] : -1;
    dync__graph *head = m->to_head.to, *tail = m->to_tail.to;
    if (m->head[x->index]) {
        t->out[i] = t->n_head;
        m->out_head[t->n_head++] = dync__rewrite_at(&m->to_head, x);
        for (int k = 0; k < t->n_in && over >= 0; k++)
            if (t->in[k] == over || m->read[x->index])
                over = -1; /* the tail still reads what is there */
        return dync__avec_push(&head->arena, &head->over, over) ? DYNC_OK : DYNC_ERR_MEMORY;
    }
    int k = 0;
    t->out[i] = -1 - *n_tail;
    m->out_tail[(*n_tail)++] = x;
    while (k < t->n_in && t->in[k] != over) k++;
    return dync__avec_push(&tail->arena, &tail->over, k < t->n_in ? k : -1) ? DYNC_OK
                                                                            : DYNC_ERR_MEMORY;
}

/* A value of the head as an input of the tail. */
DYNC__RARE static dync__node *dync__tail_crossing(dync__rewrite *r, dync__node *x)
{
    dync__info info = x->info[0];
    info.alias = -1;
    return x->kind == DYNC__N_PLACEHOLDER ? dync__rewrite_copy(r, x)
                                          : dync__graph_placeholder(r->to, x->name, NULL, &info);
}

/* Inputs of the tail: those of the whole, then what crosses; then the tail. n_head: outputs of the
 * head. */
DYNC__RARE static dync_status dync__tail_tail(dync__tail_maker *m, int *n_head)
{
    struct dync__aot_tail *t = m->t;
    int n = m->whole->node.n - 1;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            dync__node *x = m->whole->node.at[i];
            bool place = x->kind == DYNC__N_PLACEHOLDER;
            if (!m->head[i] || !m->read[i] || place == (pass == 1)) continue;
            DYNC__TRY(dync__rewrite_put(&m->to_tail, x, dync__tail_crossing));
            if (place) continue;
            t->in[t->n_in++] = t->n_whole_in + *n_head;
            m->out_head[(*n_head)++] = dync__rewrite_at(&m->to_head, x);
        }
    for (int i = 0; i < n; i++)
        if (!m->head[i])
            DYNC__TRY(dync__rewrite_put(&m->to_tail, m->whole->node.at[i], dync__rewrite_copy));
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__tail_graphs(dync__tail_maker *m)
{
    struct dync__aot_tail *t = m->t;
    const dync__arg *out = &m->whole->node.at[m->whole->node.n - 1]->args[0];
    int n_tail = 0;
    for (int i = 0; i < m->whole->node.n - 1; i++)
        if (!m->head[i]) dync__node_each_input(m->whole->node.at[i], dync__tail_reads, m->read);
    DYNC__TRY(dync__tail_head(m));
    for (int i = 0; i < out->n; i++)
        DYNC__TRY(dync__tail_output(m, i, out->as.list[i].as.node, &n_tail));
    int n_head = t->n_head;
    DYNC__TRY(dync__tail_tail(m, &n_head));
    for (int i = 0; i < n_tail; i++) m->out_tail[i] = dync__rewrite_at(&m->to_tail, m->out_tail[i]);
    for (int i = 0; i < out->n; i++)
        if (t->out[i] < 0) t->out[i] = n_head - 1 - t->out[i];
    t->n_head = n_head;
    t->n_out = out->n;
    DYNC__TRY(dync__graph_output_list(m->to_head.to, n_head, m->out_head));
    return dync__graph_output_list(m->to_tail.to, n_tail, m->out_tail);
}

DYNC__RARE DYNC__FN void dync__aot_tail_free(struct dync__aot_tail *t)
{
    if (!t) return;
    if (t->run.destroy) t->run.destroy(t->run.state);
    if (t->head_sized.state) t->head_sized.destroy(t->head_sized.state);
    dync__graph_unref(t->head);
    dync__free(t, sizeof *t);
}

/* What the maker and the tail hold while graphs are made; the tail's arrays are in the head's
 * arena. */
DYNC__RARE static dync_status dync__tail_make(dync__tail_maker *m, int n_out, dync__graph **tail)
{
    struct dync__aot_tail *t = m->t = dync__calloc(sizeof *t);
    size_t n = (size_t)m->whole->node.n;
    dync_status status = dync__rewrite_begin(&m->to_head, m->whole, m->whole->name),
                other = dync__rewrite_begin(&m->to_tail, m->whole, m->whole->name);
    if (status == DYNC_OK)
        status = t && dync__graph_takes_symbols(m->to_head.to, m->whole) ? other : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        t->n_whole_in = m->whole->n_inputs;
        t->in = dync__arena_alloc(&m->to_head.to->arena, 2 * n * sizeof *t->in);
        t->out = dync__arena_alloc(&m->to_head.to->arena, (size_t)(n_out + 1) * sizeof *t->out);
        status = t->in && t->out ? dync__tail_graphs(m) : DYNC_ERR_MEMORY;
    }
    dync__graph *head = NULL;
    status = dync__rewrite_end(&m->to_head, status, &head);
    if (t) t->head = head;
    return dync__rewrite_end(&m->to_tail, status, tail);
}

/* *out NULL: the graph is better whole. */
DYNC__RARE DYNC__FN dync_status dync__aot_tail(dync__graph *g, const dync__options *options,
                                               const dync__inner_compiler *inner,
                                               struct dync__aot_tail **out)
{
    dync__arena arena = {0};
    size_t n = (size_t)g->node.n;
    dync__tail_maker m = {.whole = g};
    dync__graph *tail = NULL;
    *out = NULL;
    m.head = dync__arena_alloc(&arena, 2 * n);
    m.out_head = dync__arena_alloc(
        &arena, 4 * n * sizeof *m.out_head + 1); /* outputs may repeat a node, and cross as well */
    if (!m.head || !m.out_head) return dync__arena_free(&arena), DYNC_ERR_MEMORY;
    m.read = m.head + n;
    m.out_tail = m.out_head + 3 * n;
    const dync__arg *results = &g->node.at[g->node.n - 1]->args[0];
    if (!g->syms || (size_t)results->n > n || dync__tail_find(g, m.head) < DYNC__TAIL_LEAST)
        return dync__arena_free(&arena), DYNC_OK;
    dync_status status = dync__tail_make(&m, results->n, &tail);
    if (status == DYNC_OK) status = dync__aot_inner_compile(inner, tail, false, options, &m.t->run);
    if (status == DYNC_OK)
        status = dync__aot_inner_sized(inner, m.t->head, options, &m.t->head_sized);
    dync__graph_unref(tail);
    dync__arena_free(&arena);
    if (status != DYNC_OK)
        dync__aot_tail_free(m.t);
    else
        *out = m.t;
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
    dync_status status = c ? dync__aot_inner_at(&t->head_sized, value, &c->head) : DYNC_ERR_MEMORY;
    bool numbers = status == DYNC_ERR_UNSUPPORTED;
    if (numbers) status = dync__graph_concrete(t->head, value, &head);
    for (int i = 0; numbers && i < t->head->over.n && status == DYNC_OK; i++)
        if (!dync__avec_push(&head->arena, &head->over, t->head->over.at[i]))
            status = DYNC_ERR_MEMORY;
    if (numbers && status == DYNC_OK)
        status = dync__aot_inner_compile(inner, head, false, options, &c->head);
    dync__graph_unref(head);
    if (status != DYNC_OK) {
        dync__free(c, sizeof *c);
        return status;
    }
    c->tail = t;
    *out = (dync__inner){.run = dync__tail_run, .destroy = dync__tail_destroy, .state = c};
    return DYNC_OK;
}
