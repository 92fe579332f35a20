/* onnx/out_graph.c: a graph made functional for ONNX, and the model of one: inputs, nodes, outputs,
 * opset. After out_control.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "../aot/aot.h"
#include "out.h"
DYNC__COLD

enum { DYNC__OX_OPSET = 18, DYNC__OX_IR = 8 };

/* ---- preparing ------------------------------------------------------------------------------- */

/* Results that are views of inputs or of each other become values: a model has no memory to
 * share. recursion: lists inside lists */
static bool dync__ox_fresh_results(dync__rewrite *r, const dync__arg *in, dync__arg *out)
{
    *out = *in;
    if (in->kind == DYNC__A_LIST) {
        out->as.list = dync__arena_alloc(&r->to->arena, (size_t)(in->n + 1) * sizeof *out);
        for (int i = 0; out->as.list && i < in->n; i++)
            if (!dync__ox_fresh_results(r, &in->as.list[i], &out->as.list[i])) return false;
        return out->as.list != NULL;
    }
    if (in->kind != DYNC__A_NODE) return true;
    dync__node *old = in->as.node, *now = dync__rewrite_at(r, old);
    dync__arg arg = dync__arg_node(now);
    if (!now || !old->has_info) return false;
    dync__info info = old->info[0];
    if (old->op == DYNC__NODE_GETITEM) info = old->args[0].as.node->info[old->args[1].as.i];
    info.alias = -1;
    dync__node *copy =
        dync__graph_call(r->to, DYNC__USED(DYNC__OP_clone), 1, &arg, 1, &info, old->name);
    if (copy) copy->at = old->at;
    *out = dync__arg_node(copy);
    return copy != NULL;
}

/* For dync__graph_rewrite: every node as it is, the output with copies of what it gives. */
static dync__node *dync__ox_result(dync__rewrite *r, dync__node *old)
{
    dync__arg value;
    if (old->kind != DYNC__N_OUTPUT) return dync__rewrite_copy(r, old);
    return dync__ox_fresh_results(r, &old->args[0], &value) ? dync__graph_output(r->to, &value)
                                                            : NULL;
}

/* Inputs come from where those of the user's graph came. */
static dync_status dync__ox_sources(const dync__graph *from, dync__graph *to)
{
    for (int i = 0; i < to->n_inputs && to->n_inputs == from->n_inputs; i++) {
        const char *source = from->node.at[i]->source;
        if (!source) continue;
        to->node.at[i]->source = dync__arena_strdup(&to->arena, source);
        if (!to->node.at[i]->source) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__ox_prepare(dync__graph *g, dync__graph **out)
{
    dync__graph *fresh = NULL;
    DYNC__TRY(dync__graph_rewrite(g, dync__ox_result, NULL, &fresh));
    dync_status status = dync__graph_takes_symbols(fresh, g) ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__aot_functional(fresh, dync__ox_keeps, true, out);
    dync__graph_unref(fresh);
    if (status == DYNC_OK) status = dync__ox_sources(g, *out);
    return status;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* "L['x']" is x; of a list, "L['bc'][0]", bc.0. NULL: another source, or no memory. */
static const char *dync__ox_user_name(dync__ox *w, const dync__node *n)
{
    const char *s = n->source;
    dync__str name = {0};
    if (!s || strncmp(s, "L['", 3) != 0) return NULL;
    s += 3;
    size_t k = strcspn(s, "'");
    if (!dync__is_name(s, k)) return NULL;
    dync__str_addn(&name, s, k);
    for (s += k; *s; s++)
        if (*s == '[')
            dync__str_addc(&name, '.');
        else if (*s >= '0' && *s <= '9')
            dync__str_addc(&name, *s);
    const char *kept = name.failed ? NULL : dync__arena_strdup(w->arena, name.at);
    dync__str_free(&name);
    return kept;
}

static const char *dync__ox_input_name(dync__ox *w, const dync__graph *g, const dync__node *n)
{
    const char *user = dync__ox_user_name(w, n);
    for (int i = 0; user && i < g->node.n; i++)
        if (g->node.at[i] != n && strcmp(g->node.at[i]->name, user) == 0) return n->name;
    return user ? user : n->name;
}

static const dync__ox_name *dync__ox_inputs(dync__ox *w, const dync__graph *g)
{
    dync__ox_name *name = dync__arena_alloc(w->arena, (size_t)(g->n_inputs + 1) * sizeof *name);
    for (int i = 0; name && i < g->n_inputs; i++) {
        name[i] = dync__ox_input_name(w, g, g->node.at[i]);
        if (!dync__ox_declare(w, g, dync__onnx_add(w->arena, w->graph, input, value_info), name[i],
                              &g->node.at[i]->info[0]))
            return NULL;
    }
    if (!name) w->status = DYNC_ERR_MEMORY;
    return name;
}

static bool dync__ox_is_output(const dync__ox *w, const char *name)
{
    for (int i = 0; i < w->graph->output.n; i++)
        if (strcmp(w->graph->output.at[i]->name, name) == 0) return true;
    return false;
}

/* Made in this graph, under this name, by one of its nodes? */
static bool dync__ox_is_made(const dync__ox *w, const char *name)
{
    for (int i = 0; i < w->graph->node.n; i++)
        for (int k = 0; k < w->graph->node.at[i]->output.n; k++)
            if (strcmp(w->graph->node.at[i]->output.at[k], name) == 0) return true;
    return false;
}

/* Values of the result in order: numbers are tensors of rank 0, and none is left out. */
static void dync__ox_outputs(dync__ox *w, const dync__graph *g, const dync__arg *a)
{
    bool number = dync__arg_is_number(a);
    dync__info scalar = {.dtype = a->kind == DYNC__A_INT    ? DYNC_I64
                                  : a->kind == DYNC__A_BOOL ? DYNC_BOOL
                                                            : DYNC_F64,
                         .alias = -1};
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        dync__ox_outputs(w, g, &a->as.list[i]);
    if ((a->kind != DYNC__A_NODE && !number) || !dync__ox_ok(w)) return;
    dync__ox_name x = number ? dync__ox_number(w, a, scalar.dtype) : dync__ox_value(w, a);
    if (!dync__ox_is_made(w, x) || dync__ox_is_output(w, x)) x = dync__ox_op1(w, "Identity", x);
    if (dync__ox_ok(w))
        dync__ox_declare(w, g, dync__onnx_add(w->arena, w->graph, output, value_info), x,
                         number ? &scalar : dync__ox_info(w, a));
}

static bool dync__ox_model_begin(dync__ox *w, const char *name)
{
    w->model = dync__onnx_new(w->arena, model);
    w->graph = w->model ? dync__onnx_new(w->arena, graph) : NULL;
    dync__onnx_opset *opset = w->graph ? dync__onnx_add(w->arena, w->model, opset_import, opset)
                                       : NULL;
    if (!opset) return false;
    opset->version = DYNC__OX_OPSET;
    w->model->graph = w->graph;
    w->model->ir_version = DYNC__OX_IR;
    w->model->producer_name = "dync";
    w->graph->name = dync__arena_strdup(w->arena, name);
    return w->graph->name != NULL;
}

DYNC__FN dync_status dync__ox_model(dync__arena *arena, const dync__graph *g, const char *name,
                                    bool random, bool *refused, dync__onnx_model **out)
{
    dync__ox w = {.arena = arena, .random = random, .refused = refused};
    dync__ox_scope s;
    if (!dync__ox_model_begin(&w, name) || !dync__ox_scope_open(&w, &s, g)) return DYNC_ERR_MEMORY;
    const dync__ox_name *inputs = dync__ox_inputs(&w, g);
    if (inputs) dync__ox_nodes(&w, g, inputs, &s);
    w.scope = &s;
    if (dync__ox_ok(&w)) dync__ox_outputs(&w, g, &g->node.at[g->node.n - 1]->args[0]);
    dync__map_free(&w.constants);
    if (w.status == DYNC_ERR_UNSUPPORTED && w.why)
        w.status = dync__fail(DYNC_ERR_UNSUPPORTED, "ONNX: %s", w.why);
    *out = w.status == DYNC_OK ? w.model : NULL;
    return w.status;
}
#endif
