/* aot/functionalize.c: a handler at the bottom of dispatch, under the tape, that records functional
 * operators only: composites are expanded, writes in place become new values. After capture/,
 * before joint.c.
 *
 * Each fake storage that is viewed or written has a record: the node that holds its whole content
 * now, in its base layout, and a generation. A view knows the generation its node was made for;
 * after a write through any alias it is made anew from the base (_strided_view), and a write
 * through a view puts the new part into the base (as_strided_scatter). Idea: functorch's
 * FunctionalTensorWrapper (pytorch aten/src/ATen/FunctionalStorageImpl.h), with strides instead of
 * chains of view functions. */
#include "../dync.in.h"
#include "aot.h"
#include "functionalize.h"
DYNC__COLD

DYNC__FN bool dync__functional_mutated(const dync__tensor *input)
{
    const dync__fstore *s = input->storage->trace;
    return s && s->generation > 0;
}

DYNC__FN int dync__functional_base_input(const dync__functional *f, const dync__tensor *t)
{
    const dync__fstore *s = t->storage->trace;
    return t->trace_id == f->id && s ? s->input : -1;
}

DYNC__FN dync__tensor *dync__functional_whole(dync__tensor *t)
{
    const dync__fstore *s = t->storage->trace;
    return s ? s->whole : t;
}

/* Equal but for strides of dimensions of size 1, which address nothing. */
DYNC__FN bool dync__layout_same(const dync__layout *a, const dync__layout *b)
{
    if (a->ndim != b->ndim || a->offset != b->offset) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i] || (a->shape[i] != 1 && a->stride[i] != b->stride[i]))
            return false;
    return true;
}

/* From now on n is t's node. node_output keeps the generation that n shows: when the storage is
 * written again, the two differ and dync__functional_node makes a new view. */
DYNC__FN void dync__functional_own(dync__functional *f, dync__tensor *t, dync__node *n)
{
    const dync__fstore *s = t->storage->trace;
    t->trace_id = f->id;
    t->node = n;
    t->node_output = s ? s->generation : 0;
}

/* Keeps a reference until the trace ends, so that a storage with a record outlives all lookups.
 * false: no memory, nothing held. */
static bool dync__functional_hold(dync__functional *f, dync__tensor *t)
{
    dync__ref(t);
    if (dync__vec_push(&f->held, t)) return true;
    dync__unref(t);
    return false;
}

/* The storage's record; where there is none yet, t is taken for the whole content and `base` for
 * its node. NULL: no memory. */
DYNC__FN dync__fstore *dync__functional_store(dync__functional *f, dync__tensor *t,
                                              dync__node *base)
{
    dync__fstore *s = t->storage->trace;
    if (s) return s;
    s = dync__arena_alloc(&f->arena, sizeof *s);
    if (!s) return NULL;
    s->base = base;
    s->whole = t;
    s->lay = t->lay;
    s->input = -1;
    t->storage->trace = s;
    return s;
}

DYNC__FN dync__tensor *dync__functional_input(dync__functional *f, const char *name,
                                              const dync__info *info, bool requires_grad, int input)
{
    dync__node *n = dync__graph_placeholder(f->graph, name, NULL, info);
    dync__tensor *t = n ? dync__tensor_fake(info->dtype, info->device, &info->lay) : NULL;
    if (!t) return NULL;
    t->storage->size_bytes = SIZE_MAX / 2; /* the real one's is not known here */
    dync__fstore *s = dync__functional_store(f, t, n);
    if (!s || !dync__functional_hold(f, t)) {
        t->storage->trace = NULL;
        dync__unref(t);
        return NULL;
    }
    s->input = input;
    n->requires_grad[0] = requires_grad;
    if (requires_grad) dync__tensor_requires_too(t);
    dync__functional_own(f, t, n);
    dync__unref(t);
    return t;
}

DYNC__FN dync__tensor *dync__functional_alias(dync__functional *f, dync__tensor *on,
                                              const dync__layout *lay)
{
    dync__tensor *t = dync__tensor_alias(on, on->dtype, lay);
    if (!t || !dync__functional_store(f, on, on->node) || !dync__functional_hold(f, t)) {
        dync__unref(t);
        return NULL;
    }
    t->trace_id = f->id;
    t->node = ((dync__fstore *)on->storage->trace)->base;
    t->node_output = -1; /* its node is made when it is asked for */
    dync__unref(t);
    return t;
}

/* The trace cannot go on; the graph runs without AOT. The first reason stays (static text), and
 * the state is sticky: every later call fails at once. */
DYNC__FN dync_status dync__functional_refuse(dync__functional *f, const char *why)
{
    if (!f->why) {
        f->why = why;
        f->refused = dync__tls.interpreted;
    }
    f->status = DYNC_ERR_UNSUPPORTED;
    return DYNC_ERR_UNSUPPORTED;
}

/* ---- nodes ----------------------------------------------------------------------------------- */
/* A call in the graph, marked with the place in the user's program, the sequence number that
 * joins forward and backward in a profile, and the node of the user's graph that is being
 * interpreted. */
DYNC__FN dync__node *dync__functional_emit(dync__functional *f, int op, int nargs,
                                           const dync__arg *args, const dync__info *info, int nout)
{
    dync__node *n = dync__graph_call(f->graph, op, nargs, args, nout, info, NULL);
    if (!n) return NULL;
    const dync__node *from = dync__tls.interpreted;
    n->at = dync__tls.at;
    n->seq_nr = dync__seq_now();
    n->user_op = from && from->op >= 0 ? dync__op_info(from->op)->name : NULL;
    if (from)
        n->source = dync__arena_strdup(&f->graph->arena, from->source ? from->source : from->name);
    return n;
}

/* A real tensor met in the trace (a constant of a decomposition): one more input. */
static dync__node *dync__functional_lift(dync__functional *f, dync__tensor *t)
{
    dync__aot_graphs *g = f->into;
    for (int i = 0; i < g->actual.n; i++)
        if (g->actual.at[i].kind == DYNC__AOT_ATTR && g->actual.at[i].tensor == t)
            return g->lifted.at[i];
    dync__aot_actual a = {.kind = DYNC__AOT_ATTR,
                          .passed = true,
                          .from = -1,
                          .same_as = -1,
                          .group = -1,
                          .tensor = t};
    dync__info info = {.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = -1};
    dync__node *n = dync__graph_placeholder(f->graph, t->name ? t->name : "lifted", NULL, &info);
    if (!n || !dync__vec_push(&g->lifted, n)) return NULL;
    if (!dync__vec_push(&g->actual, a)) return NULL;
    dync__ref(t);
    return n;
}

/* The layout of a fake relative to the base node's memory. What has no elements is anywhere: at its
 * beginning. */
DYNC__FN dync__layout dync__functional_rel(const dync__fstore *s, const dync__tensor *t)
{
    dync__layout lay = t->lay;
    lay.offset = t->numel ? dync__sz_sub(lay.offset, s->lay.offset) : 0;
    return lay;
}

/* A new node that cuts t's part out of the storage's present content. Offsets are relative to
 * the base, which may begin inside the storage. */
static dync__node *dync__functional_view(dync__functional *f, const dync__fstore *s,
                                         const dync__tensor *t)
{
    dync__info info = {.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = 0};
    dync__layout rel = dync__functional_rel(s, t);
    info.lay.offset = dync__sz_add(rel.offset, s->base->info[0].lay.offset);
    dync__arg args[4] = {dync__arg_node(s->base), dync__arg_dims(rel.ndim, rel.shape),
                         dync__arg_dims(rel.ndim, rel.stride), dync__arg_i(rel.offset)};
    return dync__functional_emit(f, DYNC__USED(DYNC__OP__strided_view), 4, args, &info, 1);
}

/* Of dimensions of size 1 as well. */
DYNC__FN bool dync__functional_in_strides(const dync__node *n, const dync__tensor *t)
{
    return n->info[0].lay.ndim == t->lay.ndim &&
           memcmp(n->info[0].lay.stride, t->lay.stride,
                  (size_t)t->lay.ndim * sizeof *t->lay.stride) == 0;
}

/* The node of t's present value: the one it has, the storage's base, or a new view of that after
 * a write. in_strides: those of dimensions of size 1 are t's, too. */
static dync__node *dync__functional_node_in(dync__functional *f, dync__tensor *t, bool in_strides)
{
    if (!(t->flags & DYNC__T_FAKE)) return dync__functional_lift(f, t);
    if (t->trace_id != f->id || !t->node) {
        dync__fail(DYNC_ERR_INTERNAL, "a value of another trace met in the joint trace");
        return NULL;
    }
    const dync__fstore *s = t->storage->trace;
    if (!s || t->node_output == s->generation) return t->node;
    bool whole = dync__layout_same(&t->lay, &s->lay) &&
                 (!in_strides || dync__functional_in_strides(s->base, t));
    dync__node *n = whole ? s->base : dync__functional_view(f, s, t);
    if (n) dync__functional_own(f, t, n);
    return n;
}

/* A real tensor becomes one more input. What is inferred from a value follows all its strides. */
DYNC__FN dync__node *dync__functional_node(dync__functional *f, dync__tensor *t)
{
    return dync__functional_node_in(f, t, true);
}

DYNC__FN dync__node *dync__functional_content(dync__functional *f, dync__tensor *t)
{
    return dync__functional_node_in(f, t, false);
}

/* A fake of t's present value that later writes do not reach: memory of its own, the same node. */
DYNC__FN dync__tensor *dync__functional_as_now(dync__functional *f, dync__tensor *t)
{
    dync__node *n = dync__functional_node(f, t);
    dync__tensor *now = n ? dync__tensor_fake(t->dtype, t->device, &t->lay) : NULL;
    if (!now || !dync__functional_hold(f, now)) {
        dync__unref(now);
        return NULL;
    }
    dync__functional_own(f, now, n);
    now->id = t->id;
    return now;
}

/* Tensors in the arguments become nodes; new lists lie in the trace's arena, all else is shared
 * with `in`. */
static dync_status dync__functional_args(dync__functional *f, int n, const dync__arg *in,
                                         dync__arg *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].kind == DYNC__A_TENSOR) {
            dync__node *node = dync__functional_node(f, in[i].as.t);
            if (!node) return DYNC_ERR_INTERNAL;
            out[i] = dync__arg_node(node);
        } else if (in[i].kind == DYNC__A_LIST) {
            out[i].as.list = dync__arena_alloc(&f->arena, (size_t)(in[i].n + 1) * sizeof *out);
            if (!out[i].as.list) return DYNC_ERR_MEMORY;
            DYNC__TRY(dync__functional_args(f, in[i].n, in[i].as.list, out[i].as.list));
        }
    }
    return DYNC_OK;
}

/* as_strided sees the memory of an input beyond the elements of the input itself, which is all that
 * a graph is given. */
static bool dync__functional_beyond(const dync__functional *f, const dync__opcall *c)
{
    const dync__tensor *view = c->out[0];
    const dync__fstore *s = view->storage->trace;
    if (!(c->row->flags & DYNC__OP_BEYOND) || !s || s->input < 0 || !view->numel ||
        f->status != DYNC_OK)
        return false;
    if (dync__layout_has_tokens(&view->lay) || dync__layout_has_tokens(&s->lay)) return true;
    return !dync__layout_is_dense(&s->lay) || view->lay.offset < s->lay.offset ||
           dync__layout_span(&view->lay) > dync__layout_span(&s->lay);
}

/* The node of a call whose outputs are fakes already. */
static DYNC__NOINLINE dync__node *dync__functional_answered(dync__functional *f,
                                                            const dync__opcall *c, dync__arg *args)
{
    dync__info info[DYNC__MAX_OUT];
    memset(info, 0, sizeof info);
    for (int i = 0; i < c->nout; i++)
        if (c->out[i]) dync__info_of(&info[i], c->out[i], -1);
    /* the value of an input begins elsewhere once it was written */
    if (c->row->cls == DYNC__VIEW) {
        info[0].alias = 0;
        int64_t now = args[0].as.node->info[0].lay.offset, then = c->args[0].as.t->lay.offset;
        if (now != then)
            info[0].lay.offset = dync__sz_add(dync__sz_sub(info[0].lay.offset, then), now);
    }
    /* strides and offset given by number are those of the memory, not of what stands for a value
     * now */
    const dync__fstore *s = c->row->flags & DYNC__OP_STRIDED ? c->args[0].as.t->storage->trace
                                                             : NULL;
    return s && s->generation > 0 ? dync__functional_view(f, s, c->out[0])
                                  : dync__functional_emit(f, c->op, c->nargs, args, info, c->nout);
}

/* Outputs of a recorded call: fakes with nodes. What is made before it fails stays in c->out. */
static dync_status dync__functional_outputs(dync__functional *f, dync__opcall *c)
{
    dync__arg args[DYNC__MAX_ARGS];
    if (c->row->flags & DYNC__OP_RANDOM) f->into->random = true;
    if (f->into->seeds_after && (c->row->flags & DYNC__OP_RANDOM))
        return dync__functional_refuse(f, "manual_seed between random numbers");
    DYNC__TRY(dync__functional_args(f, c->nargs, c->args, args));
    if (c->row->cls == DYNC__VIEW && !dync__functional_store(f, c->args[0].as.t, args[0].as.node))
        return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__op_fake(c));
    if (c->row->cls == DYNC__VIEW && dync__functional_beyond(f, c)) {
        dync__unref(c->out[0]);
        c->out[0] = NULL;
        return dync__functional_refuse(f, "as_strided of an input, beyond its elements");
    }
    dync__node *n = dync__functional_answered(f, c, args);
    if (!n) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->nout; i++) {
        if (!c->out[i]) continue;
        dync__node *of = c->nout > 1 ? dync__graph_getitem(f->graph, n, i) : n;
        if (!of || !dync__functional_hold(f, c->out[i])) return DYNC_ERR_MEMORY;
        dync__functional_own(f, c->out[i], of);
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__functional_record(dync__functional *f, dync__opcall *c)
{
    dync_status status = dync__functional_outputs(f, c);
    for (int i = 0; i < c->nout && status != DYNC_OK; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
    return status;
}

DYNC__FN dync_status dync__functional_given(dync__functional *f, dync__opcall *c,
                                            const dync__info *info)
{
    dync__arg args[DYNC__MAX_ARGS];
    DYNC__TRY(dync__functional_args(f, c->nargs, c->args, args));
    if (!(c->out[0] = dync__tensor_fake(info->dtype, info->device, &info->lay)))
        return DYNC_ERR_MEMORY;
    c->nout = 1;
    dync__node *n = dync__functional_emit(f, c->op, c->nargs, args, info, 1);
    if (n && dync__functional_hold(f, c->out[0])) {
        dync__functional_own(f, c->out[0], n);
        return DYNC_OK;
    }
    dync__unref(c->out[0]);
    c->out[0] = NULL;
    return DYNC_ERR_MEMORY;
}
