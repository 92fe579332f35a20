/* quantize/program.c: a float program becomes one of I8. After calibrate.c.
 *
 *   open      who reads each node's value, room for ranges and values
 *   calibrate each batch through the float graph: ranges (twice with a percentile)
 *   build     an export of dync__quant_function, which walks the graph over the trace's fakes and
 *             calls the integer operators of each rule
 *   report    both programs over the batches: bytes, agreement, noise */
#include "../dync.in.h"
#include "../aot/aot.h"
#include "../capture/capture.h"
#include "quantize.h"
DYNC__COLD

/* ---- building -------------------------------------------------------------------------------- */

/* recursion: results are nested lists. Tensors stay the scope's. */
static dync_value dync__quant_value(const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) return dync_v_tensor(dync__handle(a->as.t));
    if (a->kind == DYNC__A_INT) return dync_v_int(a->as.i);
    if (a->kind == DYNC__A_FLOAT) return dync_v_float(a->as.f);
    if (a->kind == DYNC__A_BOOL) return dync_v_bool(a->as.i != 0);
    if (a->kind != DYNC__A_LIST) return DYNC_NONE;
    dync_value list = dync__list_new(a->n);
    for (int i = 0; i < a->n; i++) dync__list_set(list, i, dync__quant_value(&a->as.list[i]));
    return list;
}

/* What is exported: the walk over the arguments of the trace. user: the job. Called by export,
 * maybe more than once: what the walk counts starts anew. On failure NONE, with z.status set. */
static dync_value dync__quant_function(const dync_value *args, int nargs, void *user)
{
    dync__quant_job *j = user;
    dync__callargs call;
    dync__arg out = dync__arg_none();
    dync__tensor *in[DYNC__MAX_LEAVES];
    j->z.status = dync__callargs_flatten(&call, nargs, args);
    for (int k = 0; j->z.status == DYNC_OK && k < j->z.g->n_inputs; k++)
        in[k] = call.tensor[j->p->leaf[k]];
    j->z.report.layers = j->z.report.float_layers = 0;
    j->z.report.kept_float[0] = 0;
    j->z.report.constants = 0;
    j->z.report.constant[0] = 0;
    memset(j->z.absorbed, 0, (size_t)j->z.g->node.n);
    if (j->z.status == DYNC_OK) j->z.status = dync__quant_walk(&j->z, in, true, &out);
    return j->z.status == DYNC_OK ? dync__quant_value(&out) : DYNC_NONE;
}

/* An argument of the type of leaf i, and its name. Zeros of the type that the graph's placeholder
 * has; a leaf that the graph does not use gets any tensor. */
static dync_status dync__quant_example(const dync__quant_job *j, int i, dync_value *out,
                                       dync__str *names)
{
    const dync__program *p = j->p;
    for (int k = 0; k < p->graph->n_inputs; k++) {
        if (p->leaf[k] != i) continue;
        const dync__info *info = &p->graph->node.at[k]->info[0];
        dync__layout lay;
        DYNC__TRY(dync__layout_contiguous(&lay, info->lay.ndim, info->lay.shape));
        dync__tensor *t = dync__tensor_empty(info->dtype, info->device, &lay);
        if (t) (void)dync__tensor_zero(t);
        *out = dync_v_tensor(dync__give(t));
        dync__str_addf(names, "%s%s", i ? ", " : "", p->input[k]);
        return t ? DYNC_OK : DYNC_ERR_MEMORY;
    }
    *out = dync_v_tensor(dync_zeros(dync_shape(1)));
    dync__str_addf(names, "%sunused%d", i ? ", " : "", i);
    return out->as.t ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* recursion: results are nested lists. Results keep their names, which files and exported C show.
 */
static void dync__quant_name_result(dync__graph *g, const dync__arg *made, const dync__arg *was)
{
    if (made->kind == DYNC__A_LIST && was->kind == DYNC__A_LIST)
        for (int i = 0; i < made->n && i < was->n; i++)
            dync__quant_name_result(g, &made->as.list[i], &was->as.list[i]);
    if (made->kind == DYNC__A_NODE && was->kind == DYNC__A_NODE &&
        dync__node_is_call(made->as.node) && dync__node_is_call(was->as.node))
        (void)dync__graph_rename(g, made->as.node, was->as.node->name);
}
static dync_status dync__quant_name_results(const dync__quant_job *j, dync_program *made)
{
    dync__program *p = dync__program_open(made, "dync_quantize_program");
    if (!p) return DYNC_ERR_VALUE;
    dync__node *end = p->graph->node.at[p->graph->node.n - 1],
               *was = j->p->graph->node.at[j->p->graph->node.n - 1];
    if (end->nargs && was->nargs) dync__quant_name_result(p->graph, &end->args[0], &was->args[0]);
    if (p->graph->failed) return DYNC_ERR_MEMORY;
    return j->p->port ? dync__program_tell(p, j->p->n_port_in, j->p->port, j->p->n_port_out,
                                           j->p->port + j->p->n_port_in)
                      : DYNC_OK;
}

/* NULL + error. The name is the program's with _int8 behind it. */
static dync_program *dync__quant_build(dync__quant_job *j)
{
    dync_value args[DYNC__MAX_LEAVES];
    dync__str names = {0}, name = {0};
    dync_program *made = NULL;
    dync__str_addf(&name, "%s_int8", j->p->name);
    dync_scope scope = dync_scope_begin();
    j->z.status = DYNC_OK;
    for (int i = 0; i < j->p->n_leaves && j->z.status == DYNC_OK; i++)
        j->z.status = dync__quant_example(j, i, &args[i], &names);
    if (j->z.status == DYNC_OK && !names.failed && !name.failed) {
        dync_callee callee = dync_bind_callee(dync_fnv(dync__quant_function), dync__str_get(&name),
                                              j, dync__str_get(&names));
        made = dync_export_values(callee, dync__str_get(&name), j->p->n_leaves, args);
    }
    dync__str_free(&names);
    dync__str_free(&name);
    dync_scope_end(&scope);
    return made;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Of weights and other tensors that a graph holds. */
static int64_t dync__quant_constant_bytes(const dync__graph *g)
{
    int64_t bytes = 0;
    for (int i = 0; i < g->node.n; i++) {
        const dync__tensor *t = g->node.at[i]->kind == DYNC__N_GET_ATTR ? g->node.at[i]->value
                                                                        : NULL;
        if (t) bytes += t->numel * dync__dtype_info(t->dtype)->bytes;
    }
    return bytes;
}

/* want, got: t->numel floats of the float program and of the I8 one. A row is the last dim: for a
 * classifier the place of its largest element is the answer. */
static void dync__quant_compare_rows(dync__quant_job *j, const dync__tensor *t, const float *want,
                                     const float *got)
{
    int64_t n = t->lay.ndim ? t->lay.shape[t->lay.ndim - 1] : 1;
    for (int64_t i = 0; n > 0 && i < t->numel; i += n) {
        int64_t a = 0, b = 0;
        for (int64_t k = 0; k < n; k++) {
            double d = (double)want[i + k] - (double)got[i + k];
            j->signal += (double)want[i + k] * (double)want[i + k];
            j->noise += d * d;
            if (want[i + k] > want[i + a]) a = k;
            if (got[i + k] > got[i + b]) b = k;
        }
        j->rows++;
        j->agree += a == b;
    }
}

/* recursion: results are nested lists Results that are no f32 tensors, or of different sizes, are
 * left out. */
static dync_status dync__quant_compare(dync__quant_job *j, dync_value want, dync_value got)
{
    const dync__list *a = dync__value_list(want), *b = dync__value_list(got);
    if (a && b) {
        for (int i = 0; i < a->n && i < b->n; i++)
            DYNC__TRY(dync__quant_compare(j, a->items[i], b->items[i]));
        return DYNC_OK;
    }
    if (want.kind != DYNC_KIND_TENSOR || got.kind != DYNC_KIND_TENSOR) return DYNC_OK;
    dync__tensor *x = dync__open(want.as.t), *y = dync__open(got.as.t);
    if (!x || !y || x->dtype != DYNC_F32 || x->numel != y->numel) return DYNC_OK;
    x = dync__contiguous_copy(x);
    y = dync__contiguous_copy(y);
    if (x && y) dync__quant_compare_rows(j, x, dync__tensor_data(x), dync__tensor_data(y));
    dync_status status = x && y ? DYNC_OK : DYNC_ERR_MEMORY;
    dync__unref(x);
    dync__unref(y);
    return status;
}

/* Writes options.report; agreement is a fraction, the signal to noise ratio is in dB. */
static dync_status dync__quant_report(dync__quant_job *j, dync_program *made, dync_value batches)
{
    dync_quantize_report *r = &j->z.report;
    dync__program *p = dync__program_open(made, "dync_quantize_program");
    if (!p) return DYNC_ERR_VALUE;
    dync__quant_constant_values(&j->z);
    r->weight_bytes_before = dync__quant_constant_bytes(j->p->graph);
    r->weight_bytes = dync__quant_constant_bytes(p->graph);
    for (int i = 0; i < dync_len(batches); i++) {
        dync__callargs call;
        dync_scope scope = dync_scope_begin();
        uint64_t errors = dync__error_count();
        dync_value item;
        dync_status status = dync__quant_batch(batches, i, &item, &call);
        if (status == DYNC_OK) {
            dync_value want = dync__program_run(j->p, call.nargs, call.args),
                       got = dync__program_run(p, call.nargs, call.args);
            status = dync__error_count() != errors && dync_error() != DYNC_OK
                         ? dync_error()
                         : dync__quant_compare(j, want, got);
        }
        dync_scope_end(&scope);
        if (status != DYNC_OK) return status;
    }
    r->agreement = j->rows ? (double)j->agree / (double)j->rows : 1;
    r->snr_db = j->noise > 0 ? 10 * log10(j->signal / j->noise) : HUGE_VAL;
    *j->z.options.report = *r;
    return DYNC_OK;
}

/* ---- the door -------------------------------------------------------------------------------- */

/* o may be NULL: the defaults. */
static dync_status dync__quant_check(const dync__program *p, dync_value batches,
                                     const dync_quantize_options *o)
{
    if (!p->graph)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "dync_quantize_program: %s has no graph of its own: an ONNX model whose "
                          "sizes or values come with its calls",
                          p->name);
    if (p->graph->syms)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "dync_quantize_program: %s has symbolic sizes; export it without "
                          "dync_mark_dynamic",
                          p->name);
    if (batches.kind != DYNC_KIND_LIST || dync_len(batches) == 0)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_quantize_program: expected a list of batches to calibrate with, "
                          "got %s",
                          batches.kind == DYNC_KIND_LIST ? "an empty one"
                                                         : dync__kind_name(batches.kind));
    if (o && !(o->percentile == 0 || (o->percentile > 50 && o->percentile <= 100)))
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_quantize_program: percentile %g: expected one above 50 and at most "
                          "100, or 0 for the whole range",
                          dync__float_shown(o->percentile));
    return DYNC_OK;
}

/* What stays whole in a graph made functional: layers that there are rules for. */
static bool dync__quant_keeps(const dync__opcall *c)
{
    switch (c->op) {
    case DYNC__OP_linear:
    case DYNC__OP_matmul:
    case DYNC__OP_conv1d:
    case DYNC__OP_conv2d:
    case DYNC__OP_max_pool2d:
    case DYNC__OP__rnn_layer:
    case DYNC__OP_adaptive_avg_pool2d: return true;
    case DYNC__OP_batch_norm: return !c->args[5].as.i;
    default: return false;
    }
}

/* The program's graph; where it writes in place, the same without: values have one form each. *out
 * is a reference of the caller's. */
static dync_status dync__quant_graph(dync__graph *g, dync__graph **out)
{
    bool writes = false;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        const dync__op_row *row = n->op >= 0 ? dync__op_info(n->op) : NULL;
        bool norm = n->op == DYNC__OP_batch_norm && !n->args[5].as.i;
        writes = writes ||
                 (row && !norm && (row->cls == DYNC__INPLACE || row->flags & DYNC__OP_WRITES));
    }
    *out = writes ? NULL : dync__graph_ref(g);
    if (!writes) return DYNC_OK;
    DYNC__TRY(dync__aot_functional(g, dync__quant_keeps, false, out));
    return (*out)->n_inputs == g->n_inputs
               ? DYNC_OK
               : dync__fail(DYNC_ERR_UNSUPPORTED,
                            "dync_quantize_program: inputs that the program writes");
}

/* user: at[0] is the reading node, at[1 + i] the reader of node i. */
static void dync__quant_count_use(void *user, dync__arg *a)
{
    int *at = user, node = a->as.node->index;
    at[1 + node] = at[1 + node] == -1 ? at[0] : -2; /* -1: none yet, -2: several */
}

/* Arrays of one element per node, in the arena. z->user: see quantize.h. */
static dync_status dync__quant_open(dync__quant_job *j)
{
    dync__quantizer *z = &j->z;
    size_t n = (size_t)z->g->node.n + 1;
    z->range = dync__arena_alloc(&z->arena, n * sizeof *z->range);
    z->state = dync__arena_alloc(&z->arena, n * sizeof *z->state);
    z->value = dync__arena_alloc(&z->arena, n * sizeof *z->value);
    z->input = dync__arena_alloc(&z->arena, (size_t)(z->g->n_inputs + 1) * sizeof *z->input);
    z->absorbed = dync__arena_alloc(&z->arena, n);
    z->known = dync__arena_alloc(&z->arena, n * sizeof *z->known);
    int *at = dync__arena_alloc(&z->arena, (n + 1) * sizeof *at);
    if (!z->range || !z->state || !z->value || !z->input || !z->absorbed || !z->known || !at)
        return DYNC_ERR_MEMORY;
    z->user = at + 1;
    for (size_t i = 0; i <= n; i++) at[i] = -1;
    for (int i = 0; i < z->g->node.n; i++) {
        dync__node *node = z->g->node.at[i];
        at[0] = i;
        dync__node_each_input(node, dync__quant_count_use, at);
    }
    for (int i = 0; i < z->g->node.n; i++) /* only as the first argument does a value pass on */
        if (z->user[i] >= 0) {
            const dync__arg *first = &z->g->node.at[z->user[i]]->args[0];
            if (first->kind != DYNC__A_NODE || first->as.node->index != i) z->user[i] = -1;
        }
    return DYNC_OK;
}

/* The float program is not changed. Everything made on the way is released here in any case. */
DYNC_API dync_program *dync_quantize_program(dync_program *program, dync_value batches,
                                             const dync_quantize_options *options)
{
    dync__quant_job j = {.p = dync__program_open(program, "dync_quantize_program")};
    dync_program *made = NULL;
    if (!j.p || dync__quant_check(j.p, batches, options) != DYNC_OK) return NULL;
    if (options) j.z.options = *options;
    dync_scope scope = dync_scope_begin();
    bool grad_off = dync__grad_is_off();
    dync__grad_off(true);
    dync__graph *g = NULL;
    dync_status status = dync__quant_graph(j.p->graph, &g);
    j.z.g = g;
    if (status == DYNC_OK) status = dync__quant_open(&j);
    if (status == DYNC_OK) status = dync__quant_calibrate(&j, batches);
    if (status == DYNC_OK) made = dync__quant_build(&j);
    if (made && (dync__quant_name_results(&j, made) != DYNC_OK ||
                 (j.z.options.report && dync__quant_report(&j, made, batches) != DYNC_OK))) {
        dync_program_free(made);
        made = NULL;
    }
    dync__grad_off(grad_off);
    dync_scope_end(&scope);
    for (int i = 0; i < j.z.constant.n; i++) dync__unref(j.z.constant.at[i]);
    dync__graph_unref(g);
    dync__arena_free(&j.z.arena);
    return made;
}
