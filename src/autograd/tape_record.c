/* autograd/tape_record.c: recording: a call of an operator becomes a node, in place and with
 * subgraphs too. Before: tape_rules.c. */
#include "../dync.in.h"
#include "node.h"
#include "tape.h"
DYNC__WARM

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

/* What an operator made of others has on memory of its own is no view, though the last of them was
 * one (reshape: of a copy that nobody sees). */
static void dync__tape_own(dync__opcall *c)
{
    for (int i = 0; i < c->nout; i++) {
        dync__tensor *t = c->out[i];
        bool own = t && t->grad && t->grad->base;
        for (int a = 0; a < c->nargs && own; a++)
            own = c->args[a].kind != DYNC__A_LIST &&
                  (c->args[a].kind != DYNC__A_TENSOR || c->args[a].as.t->storage != t->storage);
        if (own) dync__grad_meta_no_view(t);
    }
}

/* A call without a node. A view is still told of its base: that may get a history by a later write
 * in place, and in no-grad mode that write must be refused with the right words. */
static dync_status dync__tape_plain(dync__opcall *c)
{
    DYNC__TRY(dync__tape_bottom(c));
    if (c->row->cls == DYNC__COMPOSITE) dync__tape_own(c);
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
    dync__gnode *node = dync__gnode_new(dync__opnode_class(), n, dync__opcall_nout(c), carver.n);
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
    /* a value behind its hook is on the same memory, with a history that no view has */
    if (c->row->cls == DYNC__VIEW && c->op != DYNC__OP__hooked) {
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
    DYNC__TRY(dync__inplace_check(c->args[0].as.t, false));
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
    DYNC__TRY(dync__inplace_check(self, false));
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
        DYNC__TRY(dync__inplace_check(c->args[0].as.t, false));
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
    dync_status status = dync__op_decompose(c);
    if (status == DYNC_OK) dync__tape_own(c);
    return status;
}

static dync_status dync__tape_control_record(dync__opcall *c)
{
    return dync__tape_record(c, dync__grad_rule_of(c->op));
}

/* Where it really runs, what its functions do is recorded operator by operator. */
DYNC__FN dync_status dync__tape_control_really(dync__opcall *c)
{
    uint64_t since = dync__tls.seq;
    int n = dync__opcall_tensors(c, NULL, 0);
    DYNC__TRY(dync__op_decompose(c));
    dync__tensor **in = dync__alloc((size_t)(n + 1) * sizeof *in);
    if (in) dync__opcall_tensors(c, in, n);
    dync_status status = in ? dync__tape_unused(since, n, in, c->nout, c->out) : DYNC_ERR_MEMORY;
    dync__free(in, (size_t)(n + 1) * sizeof *in);
    if (status != DYNC_OK) dync__tape_drop_outputs(c);
    return status;
}

static dync_status dync__tape_control(dync__opcall *c)
{
    const dync__grad_inside *inside = dync__grad_rule_of(c->op)->inside;
    return dync__tls.recording ? inside->record(c, dync__tape_control_record) : inside->really(c);
}

/* The tape's handler: first what needs no node, then by the class of the row. An opaque operator
 * without a rule gets a node that says so in backward: the forward is legal. */
static dync_status dync__tape_call(dync__opcall *c)
{
    if (dync__grad_is_off()) return dync__tape_plain(c);
    if (!dync__call_requires(c)) {
        bool quiet = c->row->cls == DYNC__INPLACE && c->args[0].kind == DYNC__A_TENSOR &&
                     dync__view_is_quiet(c->args[0].as.t);
        return quiet ? dync__inplace_quiet() : dync__tape_plain(c);
    }
    const dync__op_row *row = c->row;
    if (dync__row_is_control(row)) return dync__tape_control(c);
    if (row->cls == DYNC__INPLACE) return dync__tape_inplace(c);
    if (row->flags & DYNC__OP_NONDIFF || row->cls == DYNC__EFFECT) return dync__tape_plain(c);
    const dync__grad_rule *rule = dync__grad_rule_of(c->op);
    if (!rule && row->decompose && !(row->flags & DYNC__OP_OPAQUE)) return dync__tape_expand(c);
    return dync__tape_record(c, rule);
}
/* A small program in which nothing can require a gradient never starts the tape and does not link
 * it: what is left then is what a call without a node does. */
#if defined(DYNC_SMALL)
#if !defined(DYNC_NO_AUTOGRAD)
DYNC__MEETING(gradients)
#endif
DYNC__DATA dync_status (*dync__tape_hook)(dync__opcall *) = dync__tape_plain;
DYNC__FN void dync__tape_start(void)
{
    dync__tape_hook = dync__tape_call;
#if !defined(DYNC_NO_AUTOGRAD)
    DYNC__MEET(gradients);
#endif
}
#else
DYNC__DATA dync_status (*dync__tape_hook)(dync__opcall *) = dync__tape_call;
DYNC__FN void dync__tape_start(void) {}
#endif
