/* onnx/record.c: operator calls become a graph. After run.c.
 *
 * A handler above all others. What has only known tensors runs at once (dync's constant folding);
 * the rest is recorded over fakes, or, where a compiled function is traced, goes on to that trace.
 * Nothing that would be larger than its operands by much is computed beforehand. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

/* elements that may be made of nothing; more are recorded. Of a model all together, beside so many
 * times its weights: what comes out of a few bytes by doubling ends there. */
enum { DYNC__ONNX_FOLD_MOST = 1 << 20, DYNC__ONNX_FOLD_ALL = 1 << 24, DYNC__ONNX_FOLD_TIMES = 8 };
enum { DYNC__ONNX_TENSORS = 512 };

/* Would the call, computed now, make at most twice as many elements as it reads, and a million
 * more? Expanded constants and large ranges stay operators of the graph; all together make no more
 * than the recorder has left. */
static bool dync__onnx_fold_fits(dync__onnx_recorder *r, const dync__opcall *c,
                                 dync__tensor *const *in, int n)
{
    dync__info info[DYNC__MAX_OUT];
    int64_t given = DYNC__ONNX_FOLD_MOST, made = 0, one;
    if (c->row->flags & DYNC__OP_DATA_SHAPE || c->row->nout < 0) return true;
    memset(info, 0, sizeof info);
    for (int i = 0; i < n; i++) given += 2 * in[i]->numel;
    if (dync__op_infer(c, info) != DYNC_OK) return true; /* running it says what is wrong */
    for (int i = 0; i < c->row->nout; i++)
        if (dync__numel(info[i].lay.ndim, info[i].lay.shape, &one) != DYNC_OK ||
            !dync__add_ok(made, info[i].alias >= 0 ? 0 : one, &made))
            return false;
    if (made > given || made > r->fold_left) return false;
    r->fold_left -= made;
    return true;
}

enum { DYNC__ONNX_SPREAD = 4096 }; /* elements */
/* The constant of a known tensor. A small one that repeats elements, or lies inside of another, is
 * written out, as it is in the model that is written of the graph. NULL: no memory */
static dync__node *dync__onnx_record_constant(dync__onnx_recorder *r, dync__tensor *t)
{
    bool whole = dync__layout_is_contiguous(&t->lay) && t->lay.offset == 0;
    if (t->numel > DYNC__ONNX_SPREAD || whole) return dync__graph_constant(r->graph, t);
    dync__tensor *dense = dync__contiguous_copy(t);
    dync__node *n = dense ? dync__graph_constant(r->graph, dense) : NULL;
    dync__unref(dense);
    return n;
}

/* The node of a value: recorded before, made of sizes, a weight under its own name, or a constant.
 * NULL + error. */
static dync__node *dync__onnx_record_node(dync__onnx_recorder *r, dync__tensor *t)
{
    uint64_t at;
    if (dync__map_get(&r->node, t->id, &at)) return (dync__node *)(uintptr_t)at;
    if (t->flags & DYNC__T_FAKE) {
        dync__fail(DYNC_ERR_INTERNAL, "ONNX: a value from nowhere");
        return NULL;
    }
    dync__node *n = NULL;
    if (dync__onnx_holds_sizes(t)) {
        dync__tensor *made = dync__open(dync__onnx_made_of_sizes(t));
        if (!made || !dync__map_get(&r->node, made->id, &at)) return NULL;
        n = (dync__node *)(uintptr_t)at;
    }
    for (int i = 0; i < r->model->main->n_constants && !n; i++)
        if (r->model->main->tensor[i] == t) {
            const char *name =
                dync__name_clean(&r->graph->arena, r->model->main->initializer[i]->name);
            n = name ? dync__graph_attr(r->graph, name, name, t) : NULL;
        }
    if (!n) n = dync__onnx_record_constant(r, t);
    return n && dync__map_put(&r->node, t->id, (uint64_t)(uintptr_t)n) ? n : NULL;
}

/* recursion: lists. Arguments with nodes in the place of tensors. */
static dync_status dync__onnx_record_args(dync__onnx_recorder *r, int n, const dync__arg *in,
                                          dync__arg *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].kind == DYNC__A_TENSOR) {
            dync__node *node = dync__onnx_record_node(r, in[i].as.t);
            if (!node) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
            out[i] = dync__arg_node(node);
        } else if (in[i].kind == DYNC__A_LIST) {
            out[i].as.list =
                dync__arena_alloc(&r->graph->arena, (size_t)(in[i].n + 1) * sizeof *out);
            if (!out[i].as.list) return DYNC_ERR_MEMORY;
            DYNC__TRY(dync__onnx_record_args(r, in[i].n, in[i].as.list, out[i].as.list));
        }
    }
    return DYNC_OK;
}

/* What is recorded is not known: a view of a known tensor, of symbolic sizes, neither. */
static dync_status dync__onnx_unknown(dync__opcall *c)
{
    for (int i = 0; i < c->nout; i++) {
        dync__tensor *t = c->out[i];
        if (!t || t->flags & DYNC__T_FAKE) continue;
        c->out[i] = dync__tensor_fake(t->dtype, t->device, &t->lay);
        dync__unref(t);
        if (!c->out[i]) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* A file may not ask for more than limits allow (sizes of a call and what data decide, too). */
static dync_status dync__onnx_within(const dync__onnx_recorder *r, const dync__opcall *c)
{
    for (int i = 0; i < c->nout; i++) {
        int64_t n = c->out[i] && !dync__op_is_item(c->op) ? dync__sz_hint(c->out[i]->numel) : 0;
        if (n > r->most_elements)
            return dync__fail(DYNC_ERR_FORMAT,
                              "ONNX: a value of %lld elements, at most %lld are allowed "
                              "(dync_set_limits)",
                              (long long)n, (long long)r->most_elements);
    }
    return DYNC_OK;
}

/* recursion: fakes of operators are made by inference alone */
static dync_status dync__onnx_record_call(dync__onnx_recorder *r, dync__opcall *c)
{
    dync__arg node[DYNC__MAX_ARGS];
    dync__info info[DYNC__MAX_OUT];
    bool counted = c->row->flags & DYNC__OP_DATA_SHAPE && c->row->cls != DYNC__EFFECT;
    const dync__node *before = NULL;
    if (r->graph->node.n >= r->most_nodes)
        return dync__fail(DYNC_ERR_FORMAT,
                          "ONNX: a graph of more than %lld nodes (dync_set_limits)",
                          (long long)r->most_nodes);
    DYNC__TRY(dync__onnx_record_args(r, c->nargs, c->args, node));
    DYNC__TRY(counted ? dync__onnx_data_fake(r, c, node, &before) : dync__op_fake(c));
    if (before) return DYNC_OK;
    DYNC__TRY(dync__onnx_unknown(c));
    DYNC__TRY(dync__onnx_within(r, c));
    memset(info, 0, sizeof info);
    for (int i = 0; i < c->nout; i++) {
        const dync__tensor *t = c->out[i];
        if (!t) continue;
        dync__info_of(&info[i], t, c->row->cls == DYNC__VIEW ? 0 : -1);
    }
    dync__node *call = dync__graph_call(r->graph, c->op, c->nargs, node, c->nout, info, NULL);
    for (int i = 0; call && i < c->nout; i++) {
        dync__node *of = c->nout > 1 ? dync__graph_getitem(r->graph, call, i) : call;
        if (!of || (c->out[i] && !dync__map_put(&r->node, c->out[i]->id, (uint64_t)(uintptr_t)of)))
            call = NULL;
    }
    return call ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Known tensors that meet a trace are part of it: they were made by this run of the model, and the
 * next one makes others. What the model keeps stays an input, and it keeps small ones that are only
 * read. */
static dync_status dync__onnx_bake(const dync__onnx_recorder *r, bool reads, int n,
                                   const dync__arg *in, dync__arg *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].kind == DYNC__A_TENSOR && !(in[i].as.t->flags & DYNC__T_FAKE)) {
            if (reads) out[i].as.t = dync__onnx_held_same(r->model, in[i].as.t);
            if (dync__onnx_holds(r->model, out[i].as.t)) continue;
            dync__tracer *tracer =
                dync__tracing(); /* a call that followed another goes its own way */
            if (tracer) out[i].as.t = dync__open(dync__trace_bake(tracer, in[i].as.t));
            if (!out[i].as.t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
        } else if (in[i].kind == DYNC__A_LIST) {
            out[i].as.list = dync__scope_alloc((size_t)(in[i].n + 1) * sizeof *out);
            if (!out[i].as.list) return DYNC_ERR_MEMORY;
            DYNC__TRY(dync__onnx_bake(r, reads, in[i].n, in[i].as.list, out[i].as.list));
        }
    }
    return DYNC_OK;
}

/* Hands the call to the trace below, with known tensors as part of it. */
static dync_status dync__onnx_trace_call(dync__onnx_recorder *r, dync__opcall *c)
{
    dync__arg baked[DYNC__MAX_ARGS], *given = c->args;
    if (dync__tracing_or_replay()) {
        bool reads = c->row->cls != DYNC__INPLACE && !(c->row->flags & DYNC__OP_WRITES);
        DYNC__TRY(dync__onnx_bake(r, reads, c->nargs, c->args, baked));
        c->args = baked;
    }
    dync_status status = dync__dispatch_below(&r->handler, c);
    c->args = given;
    if (status != DYNC_OK) return status;
    status = dync__onnx_within(r, c);
    for (int i = 0; i < c->nout && status != DYNC_OK; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
    return status;
}

/* What ONNX has no node for and is nothing but other operators in turn: a graph has those, as it
 * would have them written and read again. */
static bool dync__onnx_in_parts(int op)
{
    return op == DYNC__OP_stack || op == DYNC__OP_movedim || op == DYNC__OP_argsort;
}

/* The handler. What is known runs (or was computed before, or is arithmetic of sizes); the rest is
 * recorded. Random numbers and effects are never known, and neither is a clone, which is asked for
 * to have memory of its own. */
static dync_status dync__onnx_record_answer(dync__handler *self, dync__opcall *c)
{
    dync__onnx_recorder *r = self->state;
    dync__tensor *in[DYNC__ONNX_TENSORS];
    int n = dync__opcall_tensors(c, in, DYNC__ONNX_TENSORS);
    /* a clone is memory of its own at every call */
    bool known = n <= DYNC__ONNX_TENSORS && !(c->row->flags & DYNC__OP_RANDOM) &&
                 c->row->cls != DYNC__EFFECT && c->op != DYNC__OP_clone;
    for (int i = 0; i < n && known; i++) known = !(in[i]->flags & DYNC__T_FAKE);
    dync_status status = DYNC_OK;
    dync__onnx_known now = !known                ? DYNC__ONNX_RECORD
                           : dync__tls.compiling ? DYNC__ONNX_RUN
                                                 : dync__onnx_known_call(c, in, n, &status);
    if (now == DYNC__ONNX_COMPUTED) return status;
    if (now == DYNC__ONNX_RUN && dync__onnx_folded_before(r->model, c)) return DYNC_OK;
    if (now == DYNC__ONNX_RUN && dync__onnx_fold_fits(r, c, in, n)) {
        status = dync__onnx_fold(c);
        if (status == DYNC_OK && n) dync__onnx_fold_keep(r->model, c);
        return status;
    }
    if (!r->graph) return dync__onnx_trace_call(r, c);
    if (dync__onnx_in_parts(c->op)) return c->row->decompose(c);
    status = dync__onnx_record_call(r, c);
    if (status == DYNC_OK) dync__onnx_whole_note(r, c);
    for (int i = 0; i < c->nout && status != DYNC_OK; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
    return status;
}

/* Pushes the handler: every operator of this thread goes through it until dync__onnx_record_end. */
DYNC__FN void dync__onnx_record_begin(dync__onnx_recorder *r, dync__onnx_loaded *l,
                                      dync__graph *graph_or_null)
{
    memset(r, 0, sizeof *r);
    r->model = l;
    r->graph = graph_or_null;
    r->most_elements = dync__program_limits_get().elements;
    r->most_nodes = dync__program_limits_get().nodes;
    r->fold_left = DYNC__ONNX_FOLD_ALL;
    for (int i = 0; i < l->main->n_constants; i++)
        r->fold_left += DYNC__ONNX_FOLD_TIMES * l->main->tensor[i]->numel;
    r->handler.call = dync__onnx_record_answer;
    DYNC__ATOMIC_STORE(&dync__onnx_answer, dync__onnx_record_answer);
    r->handler.state = r;
    dync__handler_push(&r->handler);
}

DYNC__FN void dync__onnx_record_end(dync__onnx_recorder *r)
{
    dync__handler_pop(&r->handler);
    dync__map_free(&r->node);
    dync__map_free(&r->whole);
    dync__map_free(&r->part_of);
    dync__vec_free(&r->part);
    for (int i = 0; i < r->kept.n; i++) dync__unref(r->kept.at[i]);
    dync__vec_free(&r->kept);
}

/* A body inside an operator that is traced: below is the handler that records it. */
DYNC__FN dync_status dync__onnx_fold_body(dync__onnx_loaded *l, const dync__onnx_body *b,
                                          dync__onnx_frame *outer, const dync__onnx_call *call,
                                          int n_in, const dync__onnx_value *in,
                                          dync__onnx_value *out)
{
    dync__onnx_recorder r;
    dync__onnx_record_begin(&r, l, NULL);
    dync_status status = dync__onnx_run_inside(l, b, outer, call, n_in, in, out);
    dync__onnx_record_end(&r);
    return status;
}

/* An input of the graph and the fake that stands for it, owned by the scope. */
DYNC__FN dync_tensor *dync__onnx_record_input(dync__onnx_recorder *r, const dync__onnx_port *p)
{
    dync__info info = {.dtype = p->dtype, .device = DYNC_CPU, .alias = -1};
    if (dync__layout_contiguous(&info.lay, p->ndim, p->symbol) != DYNC_OK) return NULL;
    const char *name = dync__name_clean(&r->graph->arena, p->name);
    dync__node *n = name ? dync__graph_placeholder(r->graph, name, NULL, &info) : NULL;
    dync__tensor *t = n ? dync__tensor_fake(p->dtype, DYNC_CPU, &info.lay) : NULL;
    if (!t) return NULL;
    n->target = n->name;
    bool ok = dync__map_put(&r->node, t->id, (uint64_t)(uintptr_t)n);
    dync_tensor *h = dync__give(t);
    return ok ? h : NULL;
}

/* Weights stand behind the inputs, as the graph's text has them. */
static bool dync__onnx_weights_first(dync__graph *g)
{
    dync__node **node = dync__arena_copy(&g->arena, g->node.at, (size_t)g->node.n * sizeof *node);
    int n = g->n_inputs;
    for (int weights = 1; weights >= 0 && node; weights--)
        for (int i = g->n_inputs; i < g->node.n; i++)
            if ((node[i]->kind == DYNC__N_GET_ATTR && !dync__graph_prints_inline(node[i])) ==
                (weights != 0))
                g->node.at[n++] = node[i];
    dync__graph_renumber(g);
    return node != NULL;
}

/* The graph's output: a list of values. */
DYNC__FN dync_status dync__onnx_record_output(dync__onnx_recorder *r, int n,
                                              const dync__onnx_value *v)
{
    dync__arg list = {.kind = DYNC__A_LIST, .n = n};
    list.as.list = dync__arena_alloc(&r->graph->arena, (size_t)(n + 1) * sizeof *list.as.list);
    if (!list.as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        dync__tensor *t = dync__open(v[i].t);
        dync__node *node = t ? dync__onnx_record_node(r, t) : NULL;
        if (!node) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
        list.as.list[i] = dync__arg_node(node);
    }
    return dync__graph_output(r->graph, &list) && !r->graph->failed &&
                   dync__onnx_weights_first(r->graph)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}
