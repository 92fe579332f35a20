/* autograd/tape.c: recording. Between dispatch (op/) above and the bottom below: an operator call
 * with an argument that requires grad runs with grad mode off and leaves a node behind. After
 * engine.c and view.c.
 *
 * A node holds the call (plain arguments copied, shapes of the tensors) and of the tensors only
 * what its rule says it will read: so writing into anything else stays legal. What is saved carries
 * the version of its storage and is refused if written since. */
#include "../dync.in.h"
#include "node.h"
#include "tape.h"
DYNC__WARM

/* ---- saved tensors --------------------------------------------------------------------------- */

/* A leaf is saved as it is, since its history (itself) makes no knot; any other tensor as an alias
 * without a history, to which dync__unsave gives that of the edge again. The alias keeps what a
 * tracer knows the tensor by. */
DYNC__FN dync_status dync__save(dync__saved *s, dync__tensor *t, bool is_output)
{
    s->direct = !is_output && (t->flags & DYNC__T_REQUIRES_GRAD) &&
                !(t->grad && (t->grad->node || t->grad->base));
    s->version = t->storage->version;
    if (s->direct) {
        dync__ref(t);
        s->t = t;
        return DYNC_OK;
    }
    dync__tensor *alias = dync__tensor_alias(t, t->dtype, &t->lay);
    if (!alias) return DYNC_ERR_MEMORY;
    alias->id = t->id; /* a tracer knows it for the same value */
    alias->node = t->node;
    alias->node_output = t->node_output;
    alias->trace_id = t->trace_id;
    alias->name = t->name;
    s->t = alias;
    return DYNC_OK;
}

/* maker, nr: whose output the saved tensor is, for the message; NULL: it is a leaf. */
DYNC__RARE static dync_status dync__modified_error(const dync__saved *s, const dync__gnode *maker,
                                                   int nr)
{
    dync__str brief = {0};
    char name[80];
    dync__tensor_brief(&brief, s->t);
    dync_status status = dync__fail(
        DYNC_ERR_AUTOGRAD,
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [%s], which is output %d of %s, "
        "is at version %u; expected version %u instead.",
        dync__str_get(&brief), nr,
        maker ? dync__gnode_name(maker, name, sizeof name) : "no operation",
        (unsigned)s->t->storage->version, (unsigned)s->version);
    dync__str_free(&brief);
    return status;
}

DYNC__FN dync_status dync__saved_check(const dync__saved *s, const dync__gnode *maker, int nr)
{
    return s->t && s->version != s->t->storage->version ? dync__modified_error(s, maker, nr)
                                                        : DYNC_OK;
}

/* A version that differs is an error however the storage changed: backward would read other numbers
 * than forward did. In a walk that is recorded the saved tensors are stand-ins. */
DYNC__FN dync_status dync__unsave(const dync__saved *s, dync__gnode *edge_node, int edge_nr,
                                  bool history, dync__tensor **out)
{
    if (!s->t) return dync__gnode_freed_error();
    if (s->version != s->t->storage->version) return dync__modified_error(s, edge_node, edge_nr);
    /* stand-ins of a walk that is recorded have their history already */
    if (s->direct || !edge_node || !history || dync__grad_is_off() || dync__walk_record_now()) {
        dync__ref(s->t);
        *out = s->t;
        return DYNC_OK;
    }
    dync__saved again = {0};
    DYNC__TRY(dync__save(&again, s->t, true));
    if (!dync__grad_meta_of(again.t)) {
        dync__unref(again.t);
        return DYNC_ERR_MEMORY;
    }
    dync__grad_meta_set_node(again.t, edge_node, edge_nr);
    *out = again.t;
    return DYNC_OK;
}

DYNC__FN void dync__saved_free(dync__saved *s)
{
    dync__tensor *t = s->t;
    s->t = NULL;
    dync__unref(t);
}

/* ---- operator nodes -------------------------------------------------------------------------- */

/* Both release and destroy. lost: backward after it must say so; a node that had saved nothing may
 * run again. */
static void dync__opnode_release(void *state)
{
    dync__opsave *save = state;
    for (int i = 0; save->held && i < save->call.nargs; i++)
        if (save->call.args[i].kind == DYNC__A_GRAPH)
            save->rule->inside->hold(save->call.args[i].as.graph, false);
    save->lost = save->lost || save->held;
    save->held = false;
    for (int i = 0; i < save->n_in; i++) {
        if (save->in[i].t) save->lost = true;
        dync__saved_free(&save->in[i]);
    }
    for (int i = 0; i < save->n_out; i++) {
        if (save->out[i].t) save->lost = true;
        dync__saved_free(&save->out[i]);
    }
}

/* The rule's results, handles of the step's scope, as owned references. */
static dync_status dync__opnode_collect(const dync__grad *g, dync__tensor **grad_in)
{
    for (int i = 0; i < g->n_in; i++) {
        if (!g->grad_in[i]) continue;
        grad_in[i] = dync__open(g->grad_in[i]);
        if (!grad_in[i]) return DYNC_ERR_INTERNAL;
        dync__ref(grad_in[i]);
    }
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__opnode_no_rule(const dync__opsave *save)
{
    if (!dync__find(save->call.row->name, "::"))
        return dync__fail(DYNC_ERR_AUTOGRAD, "derivative for %s is not implemented",
                          save->call.row->name);
    return dync__fail(DYNC_ERR_AUTOGRAD,
                      "Trying to backward through %s but no autograd formula "
                      "was registered. Give it one: call it in the "
                      "forward of a dync_autograd_function.",
                      save->call.row->name);
}

/* Runs the rule on handles of the gradients. Where none arrived there is nothing to do: every
 * gradient it gives is linear in them. The operators that the rule calls are told to be at the line
 * of forward. */
static dync_status dync__opnode_run(void *state, int n_out, dync__tensor *const *grad_out, int n_in,
                                    const bool *needed, dync__tensor **grad_in, bool create_graph)
{
    dync__opsave *save = state;
    dync__grad g = {0};
    (void)create_graph;
    bool any = false;
    for (int i = 0; i < n_out; i++) any = any || grad_out[i];
    if (!any) return DYNC_OK;
    if (save->lost) return dync__gnode_freed_error();
    if (!save->rule) return dync__opnode_no_rule(save);
    g.call = &save->call;
    g.node = save->node;
    g.n_in = n_in;
    g.needed = needed;
    for (int i = 0; i < n_out; i++) {
        if (!grad_out[i]) continue;
        dync__ref(grad_out[i]);
        g.grad_out[i] = dync__give(grad_out[i]);
    }
    g.grad_in = dync__scope_alloc((size_t)n_in * sizeof *g.grad_in + 1);
    if (!g.grad_in) return DYNC_ERR_MEMORY;
    dync_loc at = dync__tls.at;
    dync__tls.at = save->call.at;
    dync_status status = dync__grad_rule_run(save->rule, &g);
    dync__tls.at = at;
    return status == DYNC_OK ? dync__opnode_collect(&g, grad_in) : status;
}

/* An argument of the forward call. Sizes to view or expand to are not read in backward: it goes by
 * the shapes of the arguments. */
DYNC__RARE static void dync__opnode_visit_arg(dync__gvisitor *v, const dync__arg *a)
{
    static uint64_t functions; /* one inside is like no other: addresses come back */
    uint64_t bits;
    v->word(v, a->kind | (uint64_t)(unsigned)a->n << 8);
    if (a->kind == DYNC__A_GRAPH)
        v->word(v, DYNC__ATOMIC_INC(&functions));
    else if (a->kind == DYNC__A_LIST)
        for (int i = 0; i < a->n; i++) dync__opnode_visit_arg(v, &a->as.list[i]);
    else if (a->kind == DYNC__A_DIMS)
        for (int i = 0; i < a->n; i++) v->word(v, (uint64_t)a->as.dims[i]);
    else if (a->kind == DYNC__A_STR)
        v->word(v, dync__hash_bytes(a->as.s, strlen(a->as.s), 7));
    else if (a->kind != DYNC__A_TENSOR && a->kind != DYNC__A_NONE) {
        memcpy(&bits, &a->as, sizeof bits);
        v->word(v, bits);
    }
}

/* A saved tensor with the edge that its gradient takes; a leaf's own edge is found from the leaf.
 * One that was written since is an error where a rule reads it, and that is the tensor itself. */
static void dync__opnode_tell(dync__gvisitor *v, dync__saved *s, dync__gnode *node, int nr)
{
    bool written = s->t && s->version != s->t->storage->version;
    v->word(v, written);
    if (written) return;
    v->has_edge = true;
    v->edge_node = s->direct ? NULL : node;
    v->edge_nr = nr;
    v->saved(v, &s->t, &s->version);
    v->has_edge = false;
}

/* All that the rule may read: which operator, its plain arguments (not of those whose arguments are
 * sizes that the shapes say anyway), forms of its tensors, saved tensors. */
DYNC__RARE static dync_status dync__opnode_visit(void *state, dync__gvisitor *v)
{
    dync__opsave *save = state;
    bool sizes = (save->call.row->flags & DYNC__OP_SIZES) != 0;
    if (save->lost) return dync__gnode_freed_error();
    if (!save->rule) return dync__opnode_no_rule(save);
    v->word(v, (uint64_t)(unsigned)save->call.op);
    for (int i = 0; i < save->call.nargs && !sizes; i++)
        dync__opnode_visit_arg(v, &save->call.args[i]);
    for (int i = 0; i < save->n_in; i++) {
        dync__ginfo *info = &save->info[i];
        int64_t *dims = (int64_t *)(uintptr_t)info->dims; /* they stand in the node's block */
        v->word(v, info->dtype | (uint64_t)info->device << 8);
        v->layout(v, info->ndim, dims, dims + info->ndim);
        v->word(v, (uint64_t)dims[2 * info->ndim]);
        const dync__gedge *edge = &save->node->edge[i];
        dync__opnode_tell(v, &save->in[i], edge->node, edge->nr);
    }
    for (int i = 0; i < save->n_out; i++) {
        bool history = i < save->rule->n_diff && dync__is_float_dtype(save->node->out[i].dtype);
        dync__opnode_tell(v, &save->out[i], history ? save->node : NULL, i);
    }
    return DYNC_OK;
}

/* Who captures backwards puts this in place: none else asks. */
static dync_status (*DYNC__BY_NEED dync__opnode_visit_used)(void *, dync__gvisitor *) =
    DYNC__AT_FIRST(dync__opnode_visit);
DYNC__RARE DYNC__FN void dync__opnode_use_visits(void)
{
    DYNC__PUT(dync__opnode_visit_used, dync__opnode_visit);
}
DYNC__RARE static dync_status dync__opnode_visited(void *state, dync__gvisitor *v)
{
    return dync__opnode_visit_used ? dync__opnode_visit_used(state, v)
                                   : dync__unlinked("compiled autograd");
}

static const dync__gnode_class dync__opnode = {NULL, dync__opnode_run, dync__opnode_release,
                                               dync__opnode_release, dync__opnode_visited};
DYNC__RARE DYNC__FN const dync__gnode_class *dync__opnode_class(void) { return &dync__opnode; }

/* The next n bytes, 16-aligned; NULL while counting. */
static void *dync__carve(dync__carver *c, size_t n)
{
    void *p = c->at ? c->at + c->n : NULL;
    c->n += (n + 15) & ~(size_t)15;
    return p;
}

/* recursion: lists. A tensor is left out: what of it is needed is saved by itself. */
static void dync__carve_arg(dync__carver *c, dync__arg *to, const dync__arg *from)
{
    if (to) *to = *from;
    if (from->kind == DYNC__A_TENSOR) {
        if (to) to->as.t = NULL;
    } else if (from->kind == DYNC__A_DIMS) {
        int64_t *dims = dync__carve(c, (size_t)from->n * sizeof *dims);
        if (dims && from->n) memcpy(dims, from->as.dims, (size_t)from->n * sizeof *dims);
        if (to) to->as.dims = dims;
    } else if (from->kind == DYNC__A_STR) {
        size_t n = strlen(from->as.s) + 1;
        char *text = dync__carve(c, n);
        if (text) memcpy(text, from->as.s, n);
        if (to) to->as.s = text;
    } else if (from->kind == DYNC__A_LIST) {
        dync__arg *list = dync__carve(c, (size_t)from->n * sizeof *list);
        for (int i = 0; i < from->n; i++)
            dync__carve_arg(c, list ? &list[i] : NULL, &from->as.list[i]);
        if (to) to->as.list = list;
    }
}

/* The form of an argument: sizes, strides, offset in one array. */
static void dync__carve_info(dync__carver *c, dync__ginfo *to, const dync__tensor *t)
{
    int n = t->lay.ndim;
    int64_t *dims = dync__carve(c, (size_t)(2 * n + 1) * sizeof *dims);
    if (!to) return;
    to->dtype = t->dtype;
    to->device = t->device;
    to->ndim = n;
    memcpy(dims, t->lay.shape, (size_t)n * sizeof *dims);
    memcpy(dims + n, t->lay.stride, (size_t)n * sizeof *dims);
    dims[2 * n] = t->lay.offset;
    to->dims = dims;
}

/* Lays out the state of a node, in the order save, arguments, forms, saved inputs, saved outputs;
 * NULL in the pass that counts. Both passes must carve the same sizes in the same order. */
DYNC__FN dync__opsave *dync__carve_call(dync__carver *c, const dync__opcall *call, int n_in,
                                        dync__tensor *const *in)
{
    dync__opsave *save = dync__carve(c, sizeof *save);
    dync__arg *args = dync__carve(c, (size_t)call->nargs * sizeof *args);
    dync__ginfo *info = dync__carve(c, (size_t)n_in * sizeof *info);
    dync__saved *saved = dync__carve(c, (size_t)n_in * sizeof *saved),
                *out = dync__carve(c, (size_t)dync__opcall_nout(call) * sizeof *out);
    for (int i = 0; i < call->nargs; i++)
        dync__carve_arg(c, args ? &args[i] : NULL, &call->args[i]);
    for (int i = 0; i < n_in; i++) dync__carve_info(c, info ? &info[i] : NULL, in[i]);
    if (!save) return NULL;
    save->call = *call;
    memset(save->call.out, 0, sizeof save->call.out);
    save->call.args = args;
    save->info = info;
    save->in = saved;
    save->out = out;
    save->n_in = n_in;
    save->n_out = dync__opcall_nout(call);
    return save;
}
