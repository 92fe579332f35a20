/* autograd/tape.c: recording. Between dispatch (op/) above and the bottom below: an operator call
 * with an argument that requires grad runs with grad mode off and leaves a node behind. After
 * view.c, before engine.c.
 *
 * A node holds the call (plain arguments copied, shapes of the tensors) and of the tensors only
 * what its rule says it will read: so writing into anything else stays legal. What is saved carries
 * the version of its storage and is refused if written since. */
#include "../dync.in.h"
#include "node.h"
DYNC__WARM

typedef struct dync__opsave {
    /* tensors NULL; lists, dims and texts copied into the node */
    dync__opcall call;
    const dync__grad_rule *rule; /* NULL: no derivative is known */
    dync__gnode *node;           /* whose state this is */
    int n_in, n_out;
    bool lost;             /* released, and something was saved */
    bool held;             /* it has references on the functions inside */
    dync__ginfo *info;     /* n_in; dims with strides and offset */
    dync__saved *in, *out; /* n_in, n_out */
} dync__opsave;

DYNC__RARE DYNC__FN const char *dync__opnode_op_name(const dync__gnode *node)
{
    return ((const dync__opsave *)node->state)->call.row->name;
}

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
    if (!strstr(save->call.row->name, "::"))
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
    if (save->lost) return dync__gnode_freed_error();
    if (!save->rule) return dync__opnode_no_rule(save);
    bool any = false;
    g.call = &save->call;
    g.node = save->node;
    g.n_in = n_in;
    g.needed = needed;
    for (int i = 0; i < n_out; i++) {
        if (!grad_out[i]) continue;
        dync__ref(grad_out[i]);
        g.grad_out[i] = dync__give(grad_out[i]);
        any = true;
    }
    if (!any) return DYNC_OK;
    g.grad_in = dync__scope_alloc((size_t)n_in * sizeof *g.grad_in + 1);
    if (!g.grad_in) return DYNC_ERR_MEMORY;
    dync_loc at = dync__tls.at;
    dync__tls.at = save->call.at;
    dync_status status = save->rule->fn(&g);
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
 */
static void dync__opnode_tell(dync__gvisitor *v, dync__saved *s, dync__gnode *node, int nr)
{
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
        DYNC__TRY(
            dync__saved_check(&save->in[i], save->node->edge[i].node, save->node->edge[i].nr));
        const dync__gedge *edge = &save->node->edge[i];
        dync__opnode_tell(v, &save->in[i], edge->node, edge->nr);
    }
    for (int i = 0; i < save->n_out; i++) {
        bool history = i < save->rule->n_diff && dync__is_float_dtype(save->node->out[i].dtype);
        DYNC__TRY(dync__saved_check(&save->out[i], save->node, i));
        dync__opnode_tell(v, &save->out[i], history ? save->node : NULL, i);
    }
    return DYNC_OK;
}

static const dync__gnode_class dync__opnode = {NULL, dync__opnode_run, dync__opnode_release,
                                               dync__opnode_release, dync__opnode_visit};

/* Carves the parts of a node's state out of one block: first with at NULL to count, then to
 * fill. */
typedef struct dync__carver {
    char *at;
    size_t n;
} dync__carver;
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
static dync__opsave *dync__carve_call(dync__carver *c, const dync__opcall *call, int n_in,
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

/* ---- what rules read ------------------------------------------------------------------------- */

static const dync__opsave *dync__grad_save(const dync__grad *g) { return g->node->state; }

DYNC__FN dync_tensor *dync__grad_arg(dync__grad *g, int i)
{
    const dync__opsave *save = dync__grad_save(g);
    dync__tensor *t = NULL;
    if (i < 0 || i >= save->n_in) return NULL;
    if (dync__unsave(&save->in[i], g->node->edge[i].node, g->node->edge[i].nr, true, &t) != DYNC_OK)
        return NULL;
    return dync__give(t);
}

DYNC__FN dync_tensor *dync__grad_output(dync__grad *g, int i)
{
    const dync__opsave *save = dync__grad_save(g);
    dync__tensor *t = NULL;
    bool history = i < save->rule->n_diff && dync__is_float_dtype(g->node->out[i].dtype);
    dync__gnode *slices = history && !dync__grad_is_off() && save->out[i].t ? g->node->slices
                                                                            : NULL;
    /* else it would run here and within slices */
    dync__gnode *node = slices ? dync__slices_part(slices, save->out[i].t) : g->node;
    dync_status status = node ? dync__unsave(&save->out[i], node, i, history, &t) : DYNC_ERR_MEMORY;
    if (slices) dync__gnode_unref(node);
    return status == DYNC_OK ? dync__give(t) : NULL;
}

/* recursion: lists. How many tensors an argument has, lists flattened. */
static int dync__arg_tensors(const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) return 1;
    int n = 0;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        n += dync__arg_tensors(&a->as.list[i]);
    return n;
}

DYNC__FN int dync__grad_index(const dync__grad *g, int position)
{
    int i = 0;
    for (int p = 0; p < position; p++) i += dync__arg_tensors(&g->call->args[p]);
    return position < g->call->nargs && dync__arg_tensors(&g->call->args[position]) ? i : -1;
}

DYNC__FN dync_dims dync__grad_shape(const dync__grad *g, int i)
{
    const dync__ginfo *info = &dync__grad_save(g)->info[i];
    dync_dims dims = {0};
    dims.n = info->ndim;
    memcpy(dims.d, info->dims, (size_t)info->ndim * sizeof *info->dims);
    return dims;
}

DYNC__RARE DYNC__FN int dync__grad_dtype(const dync__grad *g, int i)
{
    return dync__grad_save(g)->info[i].dtype;
}
DYNC__RARE DYNC__FN int dync__grad_device(const dync__grad *g, int i)
{
    return dync__grad_save(g)->info[i].device;
}

DYNC__FN dync__layout dync__grad_layout(const dync__grad *g, int i)
{
    const dync__ginfo *info = &dync__grad_save(g)->info[i];
    dync__layout lay = {0};
    lay.ndim = info->ndim;
    memcpy(lay.shape, info->dims, (size_t)info->ndim * sizeof *info->dims);
    memcpy(lay.stride, info->dims + info->ndim, (size_t)info->ndim * sizeof *info->dims);
    lay.offset = info->dims[2 * info->ndim];
    return lay;
}

/* The sum over what broadcasting repeated, in the argument's shape. */
static dync_tensor *dync__grad_reduce(dync_tensor *h, const dync__tensor *t,
                                      const dync__ginfo *info)
{
    dync_dims dims = {0}, shape = {0};
    int lead = t->lay.ndim - info->ndim;
    shape.n = info->ndim;
    memcpy(shape.d, info->dims, (size_t)info->ndim * sizeof *info->dims);
    if (lead < 0) {
        dync__fail(DYNC_ERR_SHAPE, "a gradient has %d dimensions, its tensor %d", t->lay.ndim,
                   (int)info->ndim);
        return NULL;
    }
    for (int d = 0; d < lead; d++) dims.d[dims.n++] = d;
    for (int d = lead; d < t->lay.ndim; d++) {
        if (dync__sz_eq(info->dims[d - lead], t->lay.shape[d])) continue;
        if (info->dims[d - lead] != 1) {
            dync__fail(DYNC_ERR_SHAPE, "a gradient has size %lld in dimension %d, its tensor %lld",
                       (long long)t->lay.shape[d], d, (long long)info->dims[d - lead]);
            return NULL;
        }
        dims.d[dims.n++] = d;
    }
    if (dims.n) h = dync_sum(h, dims, true);
    return lead ? dync_reshape(h, shape) : h;
}

DYNC__FN dync_status dync__grad_set(dync__grad *g, int i, dync_tensor *h)
{
    if (i < 0 || i >= g->n_in || !g->needed[i]) return DYNC_OK;
    const dync__ginfo *info = &dync__grad_save(g)->info[i];
    const dync__tensor *t = h ? dync__open(h) : NULL;
    if (t) h = dync__grad_reduce(h, t, info);
    if (h && t && t->dtype != info->dtype) h = dync_to_dtype(h, (dync_dtype)info->dtype);
    if (!t || !h) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    g->grad_in[i] = h;
    return DYNC_OK;
}

/* ---- recording ------------------------------------------------------------------------------- */

static bool dync__arg_requires(const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR)
        return (a->as.t->flags & DYNC__T_REQUIRES_GRAD) ||
               (a->as.t->grad && dync__tensor_requires_grad(a->as.t));
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        if (dync__arg_requires(&a->as.list[i])) return true;
    return false;
}

static bool dync__call_requires(const dync__opcall *c)
{
    for (int i = 0; i < c->nargs; i++)
        if (dync__arg_requires(&c->args[i])) return true;
    return false;
}

/* Runs the call. Whatever the bottom is, a write shows in the version of the storage. */
static dync_status dync__tape_bottom(dync__opcall *c)
{
    if (c->row->cls != DYNC__INPLACE || c->args[0].kind != DYNC__A_TENSOR)
        return dync__dispatch_bottom(c);
    dync__storage *storage = c->args[0].as.t->storage;
    uint32_t version = storage->version;
    dync__storage_ref(storage);
    dync_status status = dync__dispatch_bottom(c);
    if (status == DYNC_OK && storage->version == version) storage->version++;
    dync__storage_unref(storage);
    return status;
}

/* What lies below an operator that is recorded is not recorded itself. */
static dync_status dync__tape_below(dync__opcall *c)
{
    bool off = dync__grad_off(true);
    dync_status status = dync__tape_bottom(c);
    dync__grad_off(off);
    return status;
}

DYNC__RARE static void dync__tape_drop_outputs(dync__opcall *c)
{
    for (int i = 0; i < c->nout; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
}

/* A call without a node. A view is still told of its base: that may get a history by a later write
 * in place, and in no-grad mode that write must be refused with the right words. */
static dync_status dync__tape_plain(dync__opcall *c)
{
    DYNC__TRY(dync__tape_bottom(c));
    if (c->row->cls != DYNC__VIEW || (c->row->flags & DYNC__OP_NONDIFF) ||
        c->args[0].kind != DYNC__A_TENSOR)
        return DYNC_OK;
    int kind = dync__grad_is_off() ? DYNC__VIEW_NO_GRAD : DYNC__VIEW_NORMAL;
    if (c->out[0] == c->args[0].as.t ||
        dync__view_track(c->args[0].as.t, c->out[0], kind) == DYNC_OK)
        return DYNC_OK;
    dync__tape_drop_outputs(c);
    return DYNC_ERR_MEMORY;
}

/* What the rule will read, given which arguments need a gradient. */
static uint32_t dync__keep_mask(const dync__opcall *c, const dync__grad_rule *rule,
                                const dync__gnode *node)
{
    uint32_t mask = 0;
    int i = 0;
    for (int p = 0; rule && p < c->nargs; p++)
        for (int n = dync__arg_tensors(&c->args[p]); n > 0; n--, i++)
            if (node->edge[i].node) mask |= rule->keep[DYNC__MIN(p, 3)];
    int nout = dync__opcall_nout(c); /* a scan's saved results are its last */
    for (int k = 0; mask && c->op == DYNC__OP_scan && k < (int)c->args[5].as.i; k++)
        mask |= DYNC__KEEP_OUT(nout - 1 - k);
    return mask;
}

/* An argument that shares the memory about to be written is saved as a copy: right, and no knot
 * (node.h). */
static dync_status dync__save_arg(dync__saved *s, dync__tensor *t, const dync__tensor *written)
{
    if (!written || t->storage != written->storage) return dync__save(s, t, false);
    dync__arg arg = dync__arg_t(t);
    bool off = dync__grad_is_off();
    dync__tensor *copy = NULL;
    dync__grad_off(true);
    dync_status status = dync__op_run(DYNC__OP_clone, 1, &arg, &copy);
    dync__grad_off(off);
    if (status != DYNC_OK) return status;
    s->t = copy;
    s->version = copy->storage->version;
    return DYNC_OK;
}

/* in: tensors of the call in order; written: see dync__save_arg. A failure leaves what is saved to
 * the node, which its caller drops. */
static dync_status dync__save_args(dync__opsave *save, const dync__opcall *c, uint32_t mask,
                                   dync__tensor *const *in, const dync__tensor *written)
{
    int i = 0;
    for (int p = 0; p < c->nargs; p++)
        for (int n = dync__arg_tensors(&c->args[p]); n > 0; n--, i++)
            if (mask & DYNC__KEEP_ARG(p)) DYNC__TRY(dync__save_arg(&save->in[i], in[i], written));
    return DYNC_OK;
}

/* The state of a new node: edges of its arguments, what the rule will read, and for operators with
 * functions inside (rule->inside) references on these. */
static dync_status dync__opnode_fill(dync__gnode *node, const dync__opcall *c,
                                     dync__tensor *const *in, const dync__tensor *written,
                                     const dync__grad_rule *rule, uint32_t *mask)
{
    dync__opsave *save = node->state;
    save->rule = rule;
    save->node = node;
    save->held = rule && rule->inside;
    for (int i = 0; save->held && i < c->nargs; i++)
        if (c->args[i].kind == DYNC__A_GRAPH) rule->inside->hold(c->args[i].as.graph, true);
    for (int i = 0; i < node->n_in; i++) DYNC__TRY(dync__grad_edge(in[i], &node->edge[i]));
    *mask = dync__keep_mask(c, rule, node);
    return dync__save_args(save, c, *mask, in, written);
}

/* The node of a call about to run. written: the tensor it writes in place, or NULL. mask: what is
 * to be kept. */
static dync_status dync__opnode_new(const dync__opcall *c, const dync__grad_rule *rule,
                                    const dync__tensor *written, dync__gnode **out, uint32_t *mask)
{
    dync__tensor *few[DYNC__MAX_ARGS], **in = few;
    int n = dync__opcall_tensors(c, in, DYNC__MAX_ARGS);
    dync_status status = DYNC_ERR_MEMORY;
    if (n > DYNC__MAX_ARGS) {
        in = dync__alloc((size_t)n * sizeof *in);
        if (!in) return DYNC_ERR_MEMORY;
        dync__opcall_tensors(c, in, n);
    }
    dync__carver carver = {NULL, 0};
    dync__carve_call(&carver, c, n, in);
    dync__gnode *node = dync__gnode_new(&dync__opnode, n, dync__opcall_nout(c), carver.n);
    if (node) {
        carver.at = node->state;
        carver.n = 0;
        dync__carve_call(&carver, c, n, in);
        status = dync__opnode_fill(node, c, in, written, rule, mask);
    }
    if (in != few) dync__free(in, (size_t)n * sizeof *in);
    if (status == DYNC_OK)
        *out = node;
    else
        dync__gnode_unref(node);
    return status;
}

static bool dync__tape_is_argument(const dync__opcall *c, const dync__tensor *t)
{
    for (int i = 0; i < c->nargs; i++)
        if (c->args[i].kind == DYNC__A_TENSOR && c->args[i].as.t == t) return true;
    return false;
}

/* Output i becomes a child of the node where it can have a gradient: floating, one of the first
 * n_diff, and not an argument handed through, which has a history already. */
static dync_status dync__tape_attach_output(dync__opcall *c, dync__gnode *node, int i,
                                            const dync__grad_rule *rule, uint32_t mask)
{
    dync__tensor *t = c->out[i];
    dync__opsave *save = node->state;
    dync__gnode_set_out(node, i, t);
    if (mask & DYNC__KEEP_OUT(i)) DYNC__TRY(dync__save(&save->out[i], t, true));
    if (!dync__is_float_dtype(t->dtype) || (rule && i >= rule->n_diff) ||
        dync__tape_is_argument(c, t))
        return DYNC_OK;
    dync__grad_meta *meta = dync__grad_meta_of(t);
    if (!meta) return DYNC_ERR_MEMORY;
    if (c->row->cls == DYNC__VIEW) {
        DYNC__TRY(dync__view_track(c->args[0].as.t, t, DYNC__VIEW_NORMAL));
    } else {
        dync__grad_meta_no_view(t); /* how the operator made it is its own business */
    }
    dync__grad_meta_set_node(t, node, i);
    return DYNC_OK;
}

/* The node is made before the call runs: arguments are saved as they were. Where something fails
 * the call has no outputs, and the node dies with its reference. */
static dync_status dync__tape_record(dync__opcall *c, const dync__grad_rule *rule)
{
    dync__gnode *node = NULL;
    uint32_t mask = 0;
    DYNC__TRY(dync__opnode_new(c, rule, NULL, &node, &mask));
    dync_status status = dync__tape_below(c);
    for (int i = 0; status == DYNC_OK && i < c->nout; i++) {
        status = dync__tape_attach_output(c, node, i, rule, mask);
        if (status != DYNC_OK) dync__tape_drop_outputs(c);
    }
    dync__gnode_unref(node);
    return status;
}

/* An operator whose functional form is differentiated by its parts: computed aside and written
 * over. */
DYNC__RARE static dync_status dync__tape_by_copy(dync__opcall *c)
{
    dync__arg args[2];
    dync__tensor *value = NULL;
    DYNC__TRY(dync__inplace_check(c->args[0].as.t));
    DYNC__TRY((dync__op_run)(c->row->inplace_of, c->nargs, c->args, &value));
    args[0] = c->args[0];
    args[1] = dync__arg_t(value);
    dync_status status = dync__op_run(DYNC__OP_copy_, 2, args, c->out);
    c->nout = status == DYNC_OK;
    dync__unref(value);
    return status;
}

/* The written tensor gets the node as its history (dync__rebase_commit, which cannot fail) only
 * after the write. A saved output has the version behind the write: it is what the write made. */
static dync_status dync__tape_record_inplace(dync__opcall *c, const dync__grad_rule *rule)
{
    dync__tensor *self = c->args[0].as.t;
    dync__gnode *node = NULL;
    dync__rebasing rebasing = {NULL, NULL};
    uint32_t mask = 0;
    DYNC__TRY(dync__inplace_check(self));
    DYNC__TRY(dync__opnode_new(c, rule, self, &node, &mask));
    dync__opsave *save = node->state;
    dync__gnode_set_out(node, 0, self);
    dync_status status = mask & DYNC__KEEP_OUT(0) ? dync__save(&save->out[0], self, true) : DYNC_OK;
    if (status == DYNC_OK) status = dync__rebase_prepare(self, node, &rebasing);
    if (status == DYNC_OK) status = dync__tape_below(c);
    if (status == DYNC_OK) {
        if (save->out[0].t) save->out[0].version = self->storage->version;
        dync__rebase_commit(self, &rebasing);
    }
    dync__rebase_drop(&rebasing);
    dync__gnode_unref(node);
    return status;
}

/* By the rule of the functional operator: x.mul_(y) has the node of mul, whose output is x. zero_
 * and its kin forget the argument: their rule gives zeros. */
static dync_status dync__tape_inplace(dync__opcall *c)
{
    int functional = c->row->inplace_of;
    /* integers have no history */
    if (c->args[0].kind != DYNC__A_TENSOR || !dync__is_float_dtype(c->args[0].as.t->dtype))
        return dync__tape_plain(c);
    if (functional < 0) { /* set_ */
        DYNC__TRY(dync__inplace_check(c->args[0].as.t));
        return dync__tape_plain(c);
    }
    const dync__op_row *row = dync__op_info(functional);
    const dync__grad_rule *rule = dync__grad_rule_of(functional);
    if (!rule && row->cls == DYNC__FACTORY) rule = dync__grad_rule_zero();
    if (!rule && row->decompose) return dync__tape_by_copy(c);
    return dync__tape_record_inplace(c, rule);
}

/* An operator without a rule of its own: the operators it decomposes into are recorded. */
static dync_status dync__tape_expand(dync__opcall *c)
{
    dync__info info[DYNC__MAX_OUT];
    /* says what is wrong with the arguments */
    if (c->row->infer) DYNC__TRY(dync__op_infer(c, info));
    return dync__op_decompose(c);
}

static dync_status dync__tape_control_record(dync__opcall *c)
{
    return dync__tape_record(c, dync__grad_rule_of(c->op));
}

/* Where it really runs, what its functions do is recorded operator by operator. */
static dync_status dync__tape_control(dync__opcall *c)
{
    if (!dync__tls.recording) return dync__op_decompose(c);
    return dync__grad_rule_of(c->op)->inside->record(c, dync__tape_control_record);
}

/* The tape's handler: first what needs no node, then by the class of the row. An opaque operator
 * without a rule gets a node that says so in backward: the forward is legal. */
static dync_status dync__tape_call(dync__opcall *c)
{
    if (dync__grad_is_off() || !dync__call_requires(c)) return dync__tape_plain(c);
    const dync__op_row *row = c->row;
    if (dync__row_is_control(row)) return dync__tape_control(c);
    if (row->cls == DYNC__INPLACE) return dync__tape_inplace(c);
    if (row->flags & DYNC__OP_NONDIFF || row->cls == DYNC__EFFECT) return dync__tape_plain(c);
    const dync__grad_rule *rule = dync__grad_rule_of(c->op);
    if (!rule && row->decompose && !(row->flags & DYNC__OP_OPAQUE)) return dync__tape_expand(c);
    return dync__tape_record(c, rule);
}
DYNC__DATA dync_status (*dync__tape_hook)(dync__opcall *) = dync__tape_call;
DYNC__RARE DYNC__FN const dync__gnode_class *dync__opnode_class(void) { return &dync__opnode; }
