/* capture/control_trace.c: one function inside an operator, run once over fakes: each call is a
 * node of a graph of its own. Tensors from outside that it uses (closures) become further inputs.
 * After grads.c, before control.c.
 *
 * The recorder is a handler above whatever records outside: nothing reaches that until the operator
 * itself is called with the finished graphs. What would be done outside of the graph (writing what
 * it was given, reading values, drawing random numbers) is refused, as upstream does. */
#include "../dync.in.h"
#include "control.h"
#include "trace.h"
DYNC__COLD

/* ---- nested values --------------------------------------------------------------------------- */
DYNC__FN dync_status dync__tree_open(dync__tree_form *t, dync_value v, bool plain, const char *what)
{
    const dync__list *l = dync__value_list(v);
    if (l) {
        if (!dync__vec_push(&t->form, l->n)) return DYNC_ERR_MEMORY;
        for (int i = 0; i < l->n; i++) DYNC__TRY(dync__tree_open(t, l->items[i], plain, what));
        return DYNC_OK;
    }
    if (v.kind == DYNC_KIND_TENSOR) {
        dync__tensor *x = dync__open(v.as.t);
        if (!x) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
        if (!dync__vec_push(&t->form, DYNC__TREE_TENSOR) || !dync__vec_push(&t->leaf, x))
            return DYNC_ERR_MEMORY;
        dync__ref(x);
        return DYNC_OK;
    }
    bool number = v.kind == DYNC_KIND_INT || v.kind == DYNC_KIND_FLOAT || v.kind == DYNC_KIND_BOOL;
    if (!plain || !number)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected tensors, or lists of them, got %s", what,
                          dync__kind_name(v.kind));
    return dync__vec_push(&t->form, DYNC__TREE_PLAIN) && dync__vec_push(&t->plain, v)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}

typedef struct dync__tree_walk {
    const dync__tree_form *t;
    dync__tensor *const *leaf;
    int form, tensor, plain;
} dync__tree_walk;

static dync_value dync__tree_item(dync__tree_walk *w)
{
    int kind = w->t->form.at[w->form++];
    if (kind == DYNC__TREE_TENSOR) {
        dync__tensor *x = w->leaf[w->tensor++];
        return dync_v_tensor(dync__handle(x));
    }
    if (kind == DYNC__TREE_PLAIN) return w->t->plain.at[w->plain++];
    dync_value list = dync__list_new(kind);
    for (int i = 0; i < kind; i++) dync__list_set(list, i, dync__tree_item(w));
    return list;
}

DYNC__FN dync_value dync__tree_build(const dync__tree_form *t, dync__tensor *const *leaf)
{
    dync__tree_walk w = {.t = t, .leaf = leaf};
    return t->form.n ? dync__tree_item(&w) : DYNC_NONE;
}

DYNC__FN bool dync__tree_alike(const dync__tree_form *a, const dync__tree_form *b)
{
    return a->form.n == b->form.n &&
           memcmp(a->form.at, b->form.at, (size_t)a->form.n * sizeof *a->form.at) == 0;
}

DYNC__FN void dync__tree_free(dync__tree_form *t)
{
    for (int i = 0; i < t->leaf.n; i++) dync__unref(t->leaf.at[i]);
    dync__vec_free(&t->form);
    dync__vec_free(&t->leaf);
    dync__vec_free(&t->plain);
    memset(t, 0, sizeof *t);
}

/* ---- inputs ---------------------------------------------------------------------------------- */
static const char *dync__inside_name(const dync__inside *s, const dync__tensor *outer)
{
    if ((outer->flags & DYNC__T_FAKE) && outer->node && outer->node->name) return outer->node->name;
    return outer->name ? outer->name : s->stand.n < s->n_given ? "arg" : "closure";
}

/* One more input: what it is outside, and the fake that the function works on. */
static dync_status dync__inside_input(dync__inside *s, dync__tensor *outer, bool slice,
                                      dync__tensor **stand)
{
    dync__info info = {.dtype = outer->dtype, .device = outer->device, .alias = -1};
    info.lay = outer->lay;
    info.lay.offset = 0;
    if (slice) {
        info.lay.ndim--;
        memmove(info.lay.shape, outer->lay.shape + 1, (size_t)info.lay.ndim * sizeof(int64_t));
        memmove(info.lay.stride, outer->lay.stride + 1, (size_t)info.lay.ndim * sizeof(int64_t));
    }
    if (!dync__vec_reserve(&s->outer, s->outer.n + 1) ||
        !dync__vec_reserve(&s->stand, s->stand.n + 1))
        return DYNC_ERR_MEMORY;
    dync__node *n = dync__graph_placeholder(s->graph, dync__inside_name(s, outer), NULL, &info);
    dync__tensor *fake = n ? dync__tensor_fake(info.dtype, info.device, &info.lay) : NULL;
    if (!fake) return DYNC_ERR_MEMORY;
    fake->storage->size_bytes = SIZE_MAX / 2;
    n->requires_grad[0] = dync__tensor_requires_grad(outer);
    if (n->requires_grad[0]) fake->flags |= DYNC__T_REQUIRES_GRAD;
    fake->trace_id = s->id;
    fake->node = n;
    dync__ref(outer);
    s->outer.at[s->outer.n++] = outer;
    s->stand.at[s->stand.n++] = fake;
    if (stand) *stand = fake;
    return DYNC_OK;
}

DYNC__FN dync_status dync__inside_operand(dync__inside *s, dync__tensor *outer, bool slice)
{
    s->n_given++;
    return dync__inside_input(s, outer, slice, NULL);
}

DYNC__FN dync_status dync__inside_lift(dync__inside *s, dync__tensor *outer, dync__tensor **stand)
{
    for (int i = s->n_given; i < s->outer.n; i++)
        if (s->outer.at[i] == outer) {
            if (stand) *stand = s->stand.at[i];
            return DYNC_OK;
        }
    return dync__inside_input(s, outer, false, stand);
}

/* ---- operators ------------------------------------------------------------------------------- */
static bool dync__inside_owns(const dync__inside *s, const dync__tensor *t)
{
    return (t->flags & DYNC__T_FAKE) && t->trace_id == s->id && t->node;
}

static dync_status dync__inside_args(dync__inside *s, int n, const dync__arg *in, dync__arg *stand,
                                     dync__arg *node)
{
    for (int i = 0; i < n; i++) {
        stand[i] = node[i] = in[i];
        if (in[i].kind == DYNC__A_PTR)
            return dync__fail(DYNC_ERR_UNSUPPORTED, "%s: a symbolic number inside it", s->name);
        if (in[i].kind == DYNC__A_TENSOR) {
            dync__tensor *t = in[i].as.t;
            if (!dync__inside_owns(s, t)) DYNC__TRY(dync__inside_lift(s, in[i].as.t, &t));
            stand[i] = dync__arg_t(t);
            node[i] = dync__arg_node(t->node);
        } else if (in[i].kind == DYNC__A_LIST) {
            size_t bytes = (size_t)(in[i].n + 1) * sizeof *in;
            stand[i].as.list = dync__arena_alloc(&s->graph->arena, bytes);
            node[i].as.list = dync__arena_alloc(&s->graph->arena, bytes);
            if (!stand[i].as.list || !node[i].as.list) return DYNC_ERR_MEMORY;
            DYNC__TRY(
                dync__inside_args(s, in[i].n, in[i].as.list, stand[i].as.list, node[i].as.list));
        }
    }
    return DYNC_OK;
}

/* Does the tensor lie on the memory of an input? */
static bool dync__inside_given(const dync__inside *s, const dync__tensor *t)
{
    if (!dync__inside_owns(s, t)) return true;
    for (int i = 0; i < s->stand.n; i++)
        if (s->stand.at[i]->storage == t->storage) return true;
    return false;
}

static dync_status dync__inside_refuse(const dync__inside *s, const char *what, const char *op)
{
    return dync__fail(DYNC_ERR_UNSUPPORTED, "%s: %s (%s)", s->name, what, op);
}

static dync_status dync__inside_allows(const dync__inside *s, const dync__opcall *c)
{
    const dync__op_row *row = c->row;
    const char *name = row->name;
    if (row->flags & DYNC__OP_DATA_SHAPE)
        return dync__inside_refuse(s, "a result whose shape depends on data", name);
    if (row->flags & DYNC__OP_RANDOM)
        return dync__inside_refuse(s, "random numbers cannot be drawn inside it", name);
    if (row->cls == DYNC__EFFECT || (row->flags & DYNC__OP_RETARGETS))
        return dync__inside_refuse(s, "it has a side effect", name);
    bool writes = row->cls == DYNC__INPLACE || (row->flags & DYNC__OP_WRITES);
    int n = row->cls == DYNC__INPLACE ? 1 : c->nargs;
    for (int i = 0; writes && i < n; i++)
        if (c->args[i].kind == DYNC__A_TENSOR && dync__inside_given(s, c->args[i].as.t))
            return dync__inside_refuse(s, "it might be modifying the input", name);
    return DYNC_OK;
}

static dync_status dync__inside_outputs(dync__inside *s, dync__opcall *c, dync__node *n)
{
    bool grad = dync__opcall_requires_grad(c);
    for (int i = 0; i < c->nout; i++) {
        dync__tensor *t = c->out[i];
        if (!t) continue;
        dync__node *of = c->nout > 1 ? dync__graph_getitem(s->graph, n, i) : n;
        if (!of || !dync__vec_push(&s->made, t)) return DYNC_ERR_MEMORY;
        dync__ref(t);
        if (grad && dync__dtype_info(t->dtype)->kind == 'f') t->flags |= DYNC__T_REQUIRES_GRAD;
        n->requires_grad[i] = of->requires_grad[0] = (t->flags & DYNC__T_REQUIRES_GRAD) != 0;
        t->trace_id = s->id;
        t->node = of;
    }
    return DYNC_OK;
}

static dync_status dync__inside_node(dync__inside *s, dync__opcall *c, const dync__arg *args)
{
    dync__info info[DYNC__MAX_OUT];
    memset(info, 0, sizeof info);
    for (int i = 0; i < c->nout; i++)
        if (c->out[i]) dync__info_of(&info[i], c->out[i], c->row->cls == DYNC__VIEW ? 0 : -1);
    dync__node *n = dync__graph_call(s->graph, c->op, c->nargs, args, c->nout, info, NULL);
    if (!n) return DYNC_ERR_MEMORY;
    n->at = c->at;
    return dync__inside_outputs(s, c, n);
}

static dync_status dync__inside_call(dync__handler *self, dync__opcall *c)
{
    dync__inside *s = self->state;
    dync__arg stand[DYNC__MAX_ARGS], node[DYNC__MAX_ARGS], *given = c->args;
    if (dync__row_sets_grad_mode(c->row)) {
        if (!dync__graph_call(s->graph, c->op, 1, c->args, 0, NULL, NULL)) return DYNC_ERR_MEMORY;
        return c->row->decompose(c);
    }
    DYNC__TRY(dync__inside_allows(s, c));
    DYNC__TRY(dync__inside_args(s, c->nargs, c->args, stand, node));
    c->args = stand;
    dync_status status = dync__op_fake(c);
    if (status == DYNC_OK) status = dync__inside_node(s, c, node);
    c->args = given;
    for (int i = 0; i < c->nout && status != DYNC_OK; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
    return status;
}

/* ---- one function ---------------------------------------------------------------------------- */
DYNC__FN dync_status dync__inside_begin(dync__inside *s, const char *op, const char *part,
                                        const char *graph_name)
{
    static uint64_t ids = UINT64_C(3) << 61; /* apart from capture's and aot's */
    s->handler.call = dync__inside_call;
    s->handler.state = s;
    s->op = op;
    s->part = part;
    s->id = DYNC__ATOMIC_INC(&ids);
    dync__format(s->name, sizeof s->name, "%s: %s", op, part);
    s->graph = dync__graph_new(graph_name);
    return s->graph ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* As it was before the function ran. */
static void dync__inside_returned(dync__insides *w)
{
    dync__tracer *t = dync__tls.capture_state;
    (void)dync__handler_swap(w->running->handler.below);
    dync__grad_off(w->grad_off);
    if (t) t->inferring = w->inferring, t->inferring_inside = w->inferring_inside;
    w->running = NULL;
}

DYNC__NOINLINE DYNC__FN dync_status dync__inside_run(dync__insides *w, dync__inside *s,
                                                     const dync_callee *fn, int nargs,
                                                     const dync_value *args,
                                                     dync__tree_form *result)
{
    dync__tracer *t = dync__tracer_peek();
    w->inferring = t ? t->inferring : NULL;
    w->inferring_inside = t && t->inferring_inside;
    if (t) t->inferring = s->name, t->inferring_inside = true;
    uint64_t errors = dync__error_count();
    w->grad_off = dync__grad_is_off();
    dync__handler_push(&s->handler);
    w->running = s;
    const void *frame = w->wait.frame;
    w->wait.frame = DYNC__FRAME();
    w->wait.back = DYNC__BACK();
    dync_value r = dync__callee_invoke(fn, nargs, args);
    dync__wait_over(&w->wait);
    w->wait.frame = frame;
    w->wait.back = NULL;
    dync__inside_returned(w);
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    return dync__tree_open(result, r, false, s->name);
}

DYNC__FN dync_status dync__inside_output(dync__inside *s, int n, dync__tensor *const *leaf)
{
    dync__node **nodes = dync__arena_alloc(&s->graph->arena, (size_t)(n + 1) * sizeof(void *));
    if (!nodes) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        dync__tensor *t = leaf[i];
        if (!dync__inside_owns(s, t)) DYNC__TRY(dync__inside_lift(s, leaf[i], &t));
        nodes[i] = t->node;
    }
    return dync__graph_output_list(s->graph, n, nodes);
}

static void dync__inside_end(dync__inside *s)
{
    for (int i = 0; i < s->outer.n; i++) dync__unref(s->outer.at[i]);
    for (int i = 0; i < s->stand.n; i++) {
        s->stand.at[i]->node = NULL;
        dync__unref(s->stand.at[i]);
    }
    for (int i = 0; i < s->made.n; i++) {
        s->made.at[i]->node = NULL;
        dync__unref(s->made.at[i]);
    }
    dync__vec_free(&s->outer);
    dync__vec_free(&s->stand);
    dync__vec_free(&s->made);
    dync__graph_unref(s->graph);
    s->graph = NULL;
    dync__tree_free(&s->result);
}

static void dync__insides_free(dync__insides *w)
{
    for (int k = 0; k < 2; k++) dync__inside_end(&w->s[k]);
    dync__free(w, sizeof *w);
}

DYNC__FN void dync__insides_end(dync__insides *w)
{
    dync__wait_end(&w->wait);
    dync__insides_free(w);
}

/* Nothing on the stack of those who waited for it is looked at. */
static void dync__insides_unwind(dync__wait *wait, const dync__wait *rest, bool quiet)
{
    (void)rest;
    dync__insides *w = (dync__insides *)(void *)wait;
    if (!quiet)
        dync__warn("a function of %s was left while it was traced (by longjmp or an exception): "
                   "its trace is undone",
                   w->s[0].op);
    if (w->running) dync__inside_returned(w);
    for (int k = 0; k < 2; k++) dync__tree_free(&w->operands[k]);
    dync__insides_free(w);
}

DYNC__FN dync__insides *dync__insides_begin(const dync__tree_form *operands,
                                            const dync__tree_form *more_or_null)
{
    dync__insides *w = dync__calloc(sizeof *w);
    if (!w) return NULL;
    w->operands[0] = *operands;
    if (more_or_null) w->operands[1] = *more_or_null;
    dync__wait_begin(&w->wait, DYNC__FRAME(), NULL, dync__insides_unwind);
    return w;
}
