/* onnx/out_control.c: nodes of a graph one after another, and operators with functions inside: If,
 * Loop and Scan. Before out_rows.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "../graph/control.h"
#include "../kernel/operand.h"
#include "out_rows.h"
DYNC__COLD

DYNC__FN bool dync__ox_scope_open(dync__ox *w, dync__ox_scope *s, const dync__graph *g)
{
    size_t n = (size_t)g->node.n;
    *s = (dync__ox_scope){.graph = g, .outer = w->scope};
    s->value = dync__arena_alloc(w->arena, (n + 1) * sizeof *s->value);
    for (size_t i = 0; s->value && i < n; i++) {
        int outs = DYNC__MAX(g->node.at[i]->nout, 1);
        s->value[i] = dync__arena_alloc(w->arena, (size_t)outs * sizeof **s->value);
        if (!s->value[i]) s->value = NULL;
    }
    if (!s->value) w->status = DYNC_ERR_MEMORY;
    return s->value != NULL;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* Writes one node by its row. A row that gives several results names them itself and returns NULL.
 */
static void dync__ox_node(dync__ox *w, const dync__node *n)
{
    const dync__ox_row *row = n->op >= 0 ? dync__ox_row_of(n->op) : NULL;
    const dync__node *node = w->node;
    int first = w->first;
    w->node = n;
    w->first = w->graph->node.n;
    if (!row) {
        dync__ox_refuse(w, "ONNX has no such operator");
    } else {
        dync__ox_name x = row->write(w);
        if (x && dync__ox_ok(w)) dync__ox_give(w, 0, x);
    }
    w->first = first;
    w->node = node;
}

/* The error of a node that cannot be written: its operator, the user's operator it is a part of,
 * why, and the user's line. */
static dync_status dync__ox_refusal(const dync__ox *w, const dync__node *n)
{
    const char *op = n->op >= 0 ? dync__op_info(n->op)->name : n->target ? n->target : n->name;
    const char *of = n->user_op && strcmp(n->user_op, op) != 0 ? n->user_op : NULL;
    return dync__fail(DYNC_ERR_UNSUPPORTED, "ONNX: operator %s%s%s cannot be written: %s (%s:%d)",
                      op, of ? ", a part of " : "", of ? of : "", w->why,
                      n->at.file ? n->at.file : "?", n->at.line);
}

/* A tensor of the graph: dense memory goes into the file as it lies. */
static dync__ox_name dync__ox_attribute_value(dync__ox *w, const dync__node *n)
{
    const dync__tensor *t = n->value;
    if (!t) return dync__ox_refuse(w, "a tensor of the graph has no value");
    size_t bytes = (size_t)t->numel * dync__dtype_info(t->dtype)->bytes;
    const char *data = t->storage->data;
    if (!dync__device_is(t->device, DYNC__DEV_HOST))
        return dync__ox_refuse(w, "a tensor of the graph is on another device");
    if (dync__layout_is_contiguous(&t->lay)) {
        if (data) data += (size_t)t->lay.offset * dync__dtype_info(t->dtype)->bytes;
    } else {
        char *copy = dync__arena_alloc(w->arena, bytes + 1);
        int64_t stride[DYNC_MAX_DIMS];
        for (int64_t d = t->lay.ndim - 1, step = 1; d >= 0; step *= t->lay.shape[d--])
            stride[d] = step;
        if (!copy) return w->status = DYNC_ERR_MEMORY, "";
        dync__copy_elements(t->lay.ndim, t->lay.shape, copy, t->dtype, stride,
                            data + (size_t)t->lay.offset * dync__dtype_info(t->dtype)->bytes,
                            t->dtype, t->lay.stride);
        data = copy;
    }
    return dync__ox_data(w, n->name, t->dtype, t->lay.ndim, t->lay.shape, data, bytes);
}

/* refused: nodes that cannot be written are marked there, and their users with them. */
static void dync__ox_call_node(dync__ox *w, const dync__node *n, bool *refused)
{
    dync__ox_node(w, n);
    if (w->status != DYNC_ERR_UNSUPPORTED || !w->why) return;
    if (!refused) {
        w->status = dync__ox_refusal(w, n);
        w->why = NULL;
        return;
    }
    refused[n->index] = true;
    w->status = DYNC_OK;
    for (int k = 0; k < DYNC__MAX(n->nout, 1); k++) w->scope->value[n->index][k] = n->name;
}

DYNC__FN void dync__ox_nodes(dync__ox *w, const dync__graph *g, const dync__ox_name *inputs,
                             dync__ox_scope *s)
{
    int k = 0;
    w->scope = s;
    for (int i = 0; i < g->node.n && dync__ox_ok(w); i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind == DYNC__N_PLACEHOLDER)
            s->value[i][0] = inputs[k++];
        else if (n->kind == DYNC__N_GET_ATTR)
            s->value[i][0] = dync__ox_attribute_value(w, n);
        else if (dync__node_is_call(n) && n->op != DYNC__NODE_GETITEM)
            dync__ox_call_node(w, n, s->outer ? NULL : w->refused);
    }
    w->scope = s->outer;
}

/* ---- functions inside ------------------------------------------------------------------------ */

/* Begins a graph inside: nodes go there from now on. Returns the one outside. */
static dync__onnx_graph *dync__ox_inside(dync__ox *w, const char *name)
{
    dync__onnx_graph *outside = w->graph, *g = dync__onnx_new(w->arena, graph);
    if (!g) return w->status = DYNC_ERR_MEMORY, NULL;
    g->name = name;
    w->graph = g;
    return outside;
}

/* May symbols be called as their sources are? Those of a model that was read are names; a name that
 * looks like one that is made up here stands for nothing else. */
static bool dync__ox_symbols_named(const dync__symtab *t, int64_t size)
{
    bool used[DYNC__PROGRAM_SYMBOLS] = {false}, all = true, taken = false;
    if (t->symbol.n > DYNC__PROGRAM_SYMBOLS || !dync__symtab_uses(t, size, used)) return false;
    for (int i = 0; i < t->symbol.n; i++) {
        const char *name = t->symbol.at[i].source;
        bool is_name = dync__is_name(name, strlen(name));
        all = all && (is_name || t->symbol.at[i].is);
        taken = taken || (is_name && name[0] == 's' && strspn(name + 1, "0123456789") > 0);
        if (used[i] && !is_name) return false;
    }
    return all || !taken;
}

/* dim_param of a symbolic size; NULL: no memory */
static const char *dync__ox_size_text(dync__ox *w, const dync__graph *of, int64_t size)
{
    const char *text = dync__graph_symbol_text(of, size);
    if (of->syms && dync__ox_symbols_named(of->syms, size)) {
        dync__str s = {0};
        dync__symtab_text(of->syms, size, true, &s);
        text = s.failed ? NULL : dync__arena_strdup(w->arena, dync__str_get(&s));
        dync__str_free(&s);
        return text;
    }
    return text ? text : "";
}

DYNC__FN bool dync__ox_declare(dync__ox *w, const dync__graph *of, dync__onnx_value_info *v,
                               const char *name, const dync__info *info)
{
    dync__onnx_tensor_type *t = v ? dync__onnx_new(w->arena, tensor_type) : NULL;
    dync__onnx_type *type = t ? dync__onnx_new(w->arena, type) : NULL;
    dync__onnx_shape *shape = type ? dync__onnx_new(w->arena, shape) : NULL;
    if (!shape) return w->status = DYNC_ERR_MEMORY, false;
    v->name = name;
    v->type = type;
    type->tensor_type = t;
    t->elem_type = dync__dtype_info(info->dtype)->onnx;
    t->shape = shape;
    for (int d = 0; d < info->lay.ndim; d++) {
        dync__onnx_dim *dim = dync__onnx_add(w->arena, shape, dim, dim);
        int64_t size = info->lay.shape[d];
        if (!dim) return w->status = DYNC_ERR_MEMORY, false;
        if (dync__is_token(size)) {
            dim->dim_param = dync__ox_size_text(w, of, size);
            if (!dim->dim_param) return w->status = DYNC_ERR_MEMORY, false;
        } else {
            dim->dim_value = size;
            dync__onnx_mark(dim, dim, dim_value);
        }
    }
    return true;
}

static void dync__ox_declare_in(dync__ox *w, const char *name, const dync__info *info)
{
    if (!dync__ox_ok(w)) return;
    dync__ox_declare(w, w->scope->graph, dync__onnx_add(w->arena, w->graph, input, value_info),
                     name, info);
}

/* An output is a value that is made in its graph. */
static void dync__ox_declare_out(dync__ox *w, dync__ox_name x, const dync__info *info)
{
    x = dync__ox_op1(w, "Identity", x);
    if (!dync__ox_ok(w)) return;
    dync__ox_declare(w, w->scope->graph, dync__onnx_add(w->arena, w->graph, output, value_info), x,
                     info);
}

/* The results of a function whose inputs are these values: into the graph being filled. */
static void dync__ox_body(dync__ox *w, const dync__graph *fn, const dync__ox_name *in,
                          dync__ox_name *out, const dync__info **info)
{
    dync__ox_scope s;
    const dync__arg *results = dync__control_results(fn);
    if (!results || !dync__ox_scope_open(w, &s, fn)) return;
    dync__ox_nodes(w, fn, in, &s);
    dync__ox_scope *around = w->scope;
    w->scope = &s;
    for (int i = 0; i < results->n && dync__ox_ok(w); i++) {
        out[i] = dync__ox_value(w, &results->as.list[i]);
        info[i] = dync__ox_info(w, &results->as.list[i]);
    }
    w->scope = around;
}

typedef struct dync__ox_control {
    dync__control c;
    dync__ox_name *in; /* carried values, slices, others: of a body */
    dync__ox_name out[DYNC__MAX_OUT];
    const dync__info *info[DYNC__MAX_OUT];
} dync__ox_control;

/* The operands of an operator with functions inside, from a copy of its arguments. false:
 * w->status. */
static bool dync__ox_open(dync__ox *w, dync__ox_control *o)
{
    const dync__node *n = w->node;
    dync__arg *args = dync__arena_copy(w->arena, n->args, (size_t)n->nargs * sizeof *args);
    if (!args) return w->status = DYNC_ERR_MEMORY, false;
    memset(o, 0, sizeof *o);
    if (dync__control_open(&o->c, n->op, n->nargs, args) != DYNC_OK)
        return w->status = DYNC_ERR_INTERNAL, false;
    size_t n_in = (size_t)(o->c.n_in + o->c.n_xs + o->c.n_more + 1);
    o->in = dync__arena_alloc(w->arena, n_in * sizeof *o->in);
    if (!o->in) w->status = DYNC_ERR_MEMORY;
    return o->in != NULL;
}

static void dync__ox_take_all(dync__ox *w, dync__ox_name *out, int n, const dync__arg *list)
{
    for (int i = 0; i < n; i++) out[i] = dync__ox_value(w, &list[i]);
}

/* Both functions see the values around them by name. */
DYNC__FN dync__ox_name dync__ox_if(dync__ox *w)
{
    static const char *const branch[] = {"then_branch", "else_branch"};
    dync__onnx_graph *side[2] = {NULL, NULL};
    dync__ox_control o;
    if (!dync__ox_open(w, &o)) return "";
    dync__ox_take_all(w, o.in, o.c.n_in, o.c.in);
    dync__ox_name pred = dync__ox_value(w, o.c.pred);
    pred = dync__ox_cast(w, pred, dync__ox_info(w, o.c.pred)->dtype, DYNC_BOOL);
    for (int i = 0; i < 2 && dync__ox_ok(w); i++) {
        dync__onnx_graph *outside = dync__ox_inside(w, branch[i]);
        if (!outside) return "";
        dync__ox_body(w, o.c.fn[i], o.in, o.out, o.info);
        for (int k = 0; k < o.c.n_out && dync__ox_ok(w); k++)
            dync__ox_declare_out(w, o.out[k], o.info[k]);
        side[i] = w->graph;
        w->graph = outside;
    }
    pred = dync__ox_reshape(w, pred, 0, NULL);
    dync__ox_name y = dync__ox_op1(w, "If", pred);
    for (int i = 0; i < 2; i++) dync__ox_set_graph(w, branch[i], side[i]);
    for (int k = 0; k < o.c.n_out; k++) {
        dync__ox_name next = k + 1 < o.c.n_out ? dync__ox_more(w) : "";
        dync__ox_give(w, k, y);
        y = next;
    }
    return NULL;
}

/* What the test says of values, as a bool of rank 0. */
static dync__ox_name dync__ox_test(dync__ox *w, dync__ox_control *o, const dync__ox_name *in)
{
    dync__ox_body(w, o->c.test, in, o->out, o->info);
    if (!dync__ox_ok(w)) return "";
    return dync__ox_reshape(w, dync__ox_cast(w, o->out[0], o->info[0]->dtype, DYNC_BOOL), 0, NULL);
}

/* The test runs before the first round, and at the end of each on the new values. */
DYNC__FN dync__ox_name dync__ox_loop(dync__ox *w)
{
    dync__ox_control o;
    if (!dync__ox_open(w, &o)) return "";
    int n = o.c.n_in;
    dync__ox_name *carried = dync__arena_alloc(w->arena, (size_t)(n + 3) * sizeof *carried);
    if (!carried) return w->status = DYNC_ERR_MEMORY, "";
    dync__ox_take_all(w, carried + 2, n, o.c.in);
    memcpy(o.in, carried + 2, (size_t)n * sizeof *o.in);
    dync__ox_take_all(w, o.in + n, o.c.n_more, o.c.more);
    carried[0] = o.c.most ? dync__ox_int(w, o.c.most) : "";
    carried[1] = dync__ox_test(w, &o, o.in);
    dync__onnx_graph *outside = dync__ox_ok(w) ? dync__ox_inside(w, "body") : NULL;
    if (!outside) return "";
    const dync__info counter = {.dtype = DYNC_I64}, truth = {.dtype = DYNC_BOOL};
    dync__ox_declare_in(w, dync__ox_fresh(w), &counter);
    dync__ox_declare_in(w, dync__ox_fresh(w), &truth);
    for (int i = 0; i < n; i++)
        dync__ox_declare_in(w, o.in[i] = dync__ox_fresh(w), &w->node->info[i]);
    dync__ox_name next[DYNC__MAX_OUT];
    dync__ox_body(w, o.c.fn[0], o.in, o.out, o.info);
    if (!dync__ox_ok(w)) return "";
    memcpy(next, o.out, sizeof next);
    memcpy(o.in, next, (size_t)n * sizeof *next);
    dync__ox_declare_out(w, dync__ox_test(w, &o, o.in), &truth);
    for (int i = 0; i < n; i++) dync__ox_declare_out(w, next[i], &w->node->info[i]);
    dync__onnx_graph *body = w->graph;
    w->graph = outside;
    dync__ox_name y = dync__ox_emit(w, "Loop", n + 2, carried);
    dync__ox_set_graph(w, "body", body);
    for (int k = 0; k < n; k++) {
        dync__ox_name more = k + 1 < n ? dync__ox_more(w) : "";
        dync__ox_give(w, k, y);
        y = more;
    }
    return NULL;
}

DYNC__FN dync__ox_name dync__ox_scan(dync__ox *w)
{
    dync__ox_control o;
    int64_t way[DYNC__MAX_OUT + DYNC__MAX_ARGS];
    if (!dync__ox_open(w, &o)) return "";
    int n = o.c.n_in + o.c.n_xs;
    if (o.c.saved || n > DYNC__COUNT_OF(way))
        return dync__ox_refuse(w, "a scan that saves what its gradient needs");
    dync__ox_name *all = dync__arena_alloc(w->arena, (size_t)(n + 1) * sizeof *all);
    dync__onnx_graph *outside = all ? dync__ox_inside(w, "body") : NULL;
    if (!outside) return w->status = DYNC_ERR_MEMORY, "";
    dync__onnx_graph *body = w->graph;
    dync__ox_take_all(w, all, o.c.n_in, o.c.in);
    dync__ox_take_all(w, all + o.c.n_in, o.c.n_xs, o.c.xs);
    for (int i = 0; i < n; i++) {
        dync__info slice = i < o.c.n_in ? w->node->info[i]
                                        : *dync__ox_info(w, &o.c.xs[i - o.c.n_in]);
        if (i >= o.c.n_in) {
            slice.lay.ndim--;
            memmove(slice.lay.shape, slice.lay.shape + 1,
                    (size_t)slice.lay.ndim * sizeof *slice.lay.shape);
        }
        dync__ox_declare_in(w, o.in[i] = dync__ox_fresh(w), &slice);
    }
    dync__ox_take_all(w, o.in + n, o.c.n_more, o.c.more);
    dync__ox_body(w, o.c.fn[0], o.in, o.out, o.info);
    for (int k = 0; k < o.c.n_out && dync__ox_ok(w); k++)
        dync__ox_declare_out(w, o.out[k], o.info[k]);
    w->graph = outside;
    for (int i = 0; i < n; i++) way[i] = o.c.reverse;
    dync__ox_name y = dync__ox_emit(w, "Scan", n, all);
    dync__ox_set_graph(w, "body", body);
    dync__ox_set_i(w, "num_scan_inputs", o.c.n_xs);
    dync__ox_set_ints(w, "scan_input_directions", o.c.n_xs, way);
    if (o.c.n_out > o.c.n_in)
        dync__ox_set_ints(w, "scan_output_directions", o.c.n_out - o.c.n_in, way);
    for (int k = 0; k < o.c.n_out; k++) {
        dync__ox_name more = k + 1 < o.c.n_out ? dync__ox_more(w) : "";
        dync__ox_give(w, k, y);
        y = more;
    }
    return NULL;
}
#endif
