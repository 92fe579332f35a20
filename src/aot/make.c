/* aot/make.c: the steps of compiling a graph: traced (joint.c), cut in two (partition.c), each side
 * compiled, logged, handed out as a callable around which runtime.c runs. Before form.c, which does
 * them in another order, and compile.c. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
DYNC__WARM

/* ---- compiling ------------------------------------------------------------------------------- */
DYNC__RARE static void dync__aot_destroy(void *state) { dync__aot_code_unref(state); }

/* Only values of the forward graph can be narrowed, and only where there is no backward. */
DYNC__RARE static dync_status dync__aot_narrow(void *state, const bool *used)
{
    dync__aot_code *c = state;
    const dync__aot_graphs *g = &c->g;
    if (c->plain || g->training || !c->fw.narrow) return DYNC_OK;
    bool *fw_used = dync__calloc((size_t)c->n_fw_out + 1),
         *value = fw_used ? fw_used + g->mutated.n : NULL;
    if (!fw_used) return DYNC_ERR_MEMORY;
    memset(fw_used, true, (size_t)g->mutated.n);
    for (int i = 0; i < g->out.n; i++) {
        const dync__aot_out *o = &g->out.at[g->out.at[i].same_as >= 0 ? g->out.at[i].same_as : i];
        if (used[i] && (o->kind == DYNC__AOT_VALUE || o->kind == DYNC__AOT_VIEW_OF_VALUE))
            value[o->index] = true;
    }
    for (int k = g->value.n - 1; k >= 0; k--)
        if (value[k] && g->value.at[k].over == DYNC__AOT_OVER_VALUE)
            value[g->value.at[k].index] = true;
    dync_status status = c->fw.narrow(c->fw.state, fw_used);
    dync__free(fw_used, (size_t)c->n_fw_out + 1);
    return status;
}

DYNC__RARE static bool dync__graph_turns_grad_on(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (dync__node_sets_grad_mode(g->node.at[i]) && g->node.at[i]->args[0].as.i) return true;
    return false;
}

/* A second derivative runs the forward program again, which has lost where the function held
 * gradients back. */
DYNC__RARE static bool dync__graph_cuts_gradients(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (dync__node_has(g->node.at[i], DYNC__OP_CUTS_GRAD)) return true;
    return false;
}

DYNC__RARE static void dync__aot_log(const dync__aot_graphs *g)
{
    for (int side = 0; side < 2; side++) {
        const dync__graph *graph = side ? g->bw : g->fw;
        int stage = side ? DYNC__LOG_backward : DYNC__LOG_forward;
        if (!graph || !(dync__log_on(stage) || dync__log_on(DYNC__LOG_aot))) continue;
        dync__str s = {0};
        dync__graph_print_c(&s, graph);
        dync__log_text(dync__log_on(stage) ? stage : DYNC__LOG_aot, side ? "backward" : "forward",
                       dync__str_get(&s));
        dync__str_free(&s);
    }
}

/* What a call saves for backward, in a line. */
DYNC__RARE static void dync__aot_memory_text(const dync__aot_graphs *g, dync__str *s)
{
    if (!g->bw) return;
    dync__str_addf(
        s,
        "%d tensors saved for backward: %lld bytes, %lld of them inputs; %d operators computed "
        "again: %lld bytes",
        g->n_saved, (long long)g->saved_bytes, (long long)g->saved_input_bytes, g->n_recomputed,
        (long long)g->recomputed_bytes);
}
DYNC__RARE DYNC__FN void dync__aot_report(const dync__aot_code *c)
{
    const dync__aot_graphs *g = &c->g;
    dync__str s = {0};
    dync__aot_log(g);
    if (!g->bw || !dync__log_on(DYNC__LOG_aot)) return;
    dync__aot_memory_text(g, &s);
    dync__log(DYNC__LOG_aot, "%s", dync__str_get(&s));
    dync__str_free(&s);
}

/* For explain: as the usual AOT backend would do it; nothing for a graph that it would not take. */
DYNC__RARE static void dync__aot_explain(dync__graph *graph, const dync_value *examples,
                                         dync__str *out)
{
    dync__aot_graphs g;
    dync__aot_how how = {.budget = dync__aot_budget_now()};
    const char *why = NULL;
    dync__error_guard guard;
    if (graph->syms || dync__grad_is_off() || !dync__aot_wants_grad(graph, examples)) return;
    dync__error_guard_begin(&guard);
    if (dync__aot_trace(graph, examples, true, &how, &g, &why) == DYNC_OK) {
        dync__aot_memory_text(&g, out);
        dync__aot_graphs_free(&g);
    }
    (void)dync__error_guard_end(&guard);
}
DYNC__DATA void (*dync__explain_memory)(dync__graph *, const dync_value *,
                                        dync__str *) = dync__aot_explain;

/* Nothing to do around the forward graph: its outputs are the user's, each once and in order. */
DYNC__RARE static bool dync__aot_is_forward(const dync__aot_code *c)
{
    const dync__aot_graphs *g = &c->g;
    bool same = !g->training && g->plain_inputs && !g->mutated.n && !g->seeds_before &&
                !g->seeds_after && g->out.n == c->n_fw_out && g->value.n == c->n_fw_out;
    for (int i = 0; same && i < g->out.n; i++)
        same = g->out.at[i].kind == DYNC__AOT_VALUE && g->out.at[i].index == i &&
               g->value.at[i].over == DYNC__AOT_OWN;
    return same;
}

/* Tells the forward graph which inputs its first outputs are new values of. Backward has copies of
 * what it needs of them; a second derivative reads inputs after forward has run. */
DYNC__RARE DYNC__FN dync_status dync__aot_tell_over(const dync__aot_code *c)
{
    const dync__aot_graphs *g = &c->g;
    if (g->training && c->double_backward) return DYNC_OK;
    for (int i = g->fw->over.n; i < g->mutated.n; i++) {
        const dync__aot_mutation *m = &g->mutated.at[i];
        int32_t place = m->with_grad || !g->actual.at[m->input].passed ? -1 : 0;
        for (int k = 0; place >= 0 && k < m->input; k++) place += g->actual.at[k].passed;
        if (!dync__avec_push(&g->fw->arena, &g->fw->over, place)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* The forward graph (part -1) or a part of the backward one: of what the form has for all sizes,
 * else with numbers. */
DYNC__RARE static dync_status dync__aot_side(dync__aot_code *c, int part,
                                             const dync__options *options,
                                             const dync__inner_compiler *inner)
{
    dync__inner *out = part < 0 ? &c->fw : &c->part[part].run;
    dync__graph *g = part < 0 ? c->g.fw : c->part[part].bw;
    const dync__aot_code *form = c->form;
    dync_status status = DYNC_ERR_UNSUPPORTED;
    if (out->run) return DYNC_OK;
    if (form)
        status =
            dync__aot_inner_at(part < 0 ? &form->fw_sized : &form->part[part].sized, c->value, out);
    if (status != DYNC_ERR_UNSUPPORTED) return status;
    if (DYNC__SYM_NONE || !form) return dync__aot_inner_compile(inner, g, part >= 0, options, out);
    dync__graph *numbers = NULL;
    status = dync__graph_concrete(g, c->value, &numbers);
    for (int i = 0; i < g->over.n && status == DYNC_OK; i++)
        if (!dync__avec_push(&numbers->arena, &numbers->over, g->over.at[i]))
            status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK)
        status = dync__aot_inner_compile(inner, numbers, part >= 0, options, out);
    dync__graph_unref(numbers);
    return status;
}

/* Those of its sides that are not compiled yet. */
DYNC__RARE DYNC__FN dync_status dync__aot_code_compile(dync__aot_code *c,
                                                       const dync__options *options,
                                                       const dync__inner_compiler *inner)
{
    const dync__aot_graphs *g = &c->g;
    c->n_fw_in = g->fw->n_inputs;
    c->n_fw_out = g->mutated.n + g->value.n + g->n_saved;
    const dync__aot_gradients *used = dync__aot_gradients_used;
    if (c->form)
        DYNC__TRY(dync__aot_parts_of(c));
    else if (used)
        DYNC__TRY(used->parts(g, &c->n_parts, &c->part));
    struct dync__aot_tail *tail = !DYNC__SYM_NONE && c->form ? c->form->tail : NULL;
    if (!c->form) DYNC__TRY(dync__aot_tell_over(c));
    if (tail) DYNC__TRY(dync__aot_tail_compile(tail, c->value, options, inner, &c->fw));
    DYNC__TRY(dync__aot_side(c, -1, options, inner));
    for (int i = 0; g->bw && i < c->n_parts; i++) DYNC__TRY(dync__aot_side(c, i, options, inner));
    if (g->bw) dync__aot_variants_for(c, options, inner);
    if (dync__aot_is_forward(c) && c->fw.run_into)
        c->head.raw = (dync__raw_callable){c->fw.run, c->fw.state, c->fw.run_into};
    return DYNC_OK;
}

/* A form is measured once, by whom its instances belong to. */
DYNC__RARE static void dync__aot_measure(const void *state, dync__code_size *size)
{
    const dync__aot_code *c = state;
    if (c->fw.measure) c->fw.measure(c->fw.state, size);
    for (int i = 0; i < c->n_parts; i++) {
        if (c->part[i].run.measure) c->part[i].run.measure(c->part[i].run.state, size);
        dync__aot_variants_measure(&c->part[i], size);
    }
}

/* By need: of functions that are not compiled whole (narrow), of programs that ask (measure). */
static dync_status (*DYNC__BY_NEED dync__aot_narrows)(void *, const bool *) =
    DYNC__AT_FIRST(dync__aot_narrow);
static void (*DYNC__BY_NEED dync__aot_measures)(const void *, dync__code_size *) =
    DYNC__AT_FIRST(dync__aot_measure);
DYNC__FN void dync__aot_use_narrow(void) { DYNC__PUT(dync__aot_narrows, dync__aot_narrow); }
DYNC__FN void dync__aot_use_measure(void) { DYNC__PUT(dync__aot_measures, dync__aot_measure); }

DYNC__RARE DYNC__FN dync__aot_code *dync__aot_code_new(dync__graph *graph)
{
    dync__aot_code *c = dync__calloc(sizeof *c);
    if (!c) return NULL;
    c->refs = 1;
    c->head.raw.run = dync__aot_run;
    c->head.measure = dync__aot_measures;
    c->head.raw.state = c;
    c->original = dync__graph_ref(graph);
    c->head.form = &graph->node.at[graph->node.n - 1]->args[0];
    c->head.n_out = dync__arg_count_tensors(c->head.form);
    c->head.compiled_from = c->original;
    return c;
}

DYNC__RARE DYNC__FN dync_status dync__aot_code_trace(dync__aot_code *c, const dync_value *examples,
                                                     const dync__options *options,
                                                     const dync__inner_compiler *inner,
                                                     const char **why)
{
    dync__aot_how how = dync__aot_how_of(options, inner);
    c->double_backward = dync__tls.double_backward;
    c->turns_grad_on = dync__graph_turns_grad_on(c->graph);
    bool training = (!dync__grad_is_off() || c->turns_grad_on) &&
                    dync__aot_wants_grad(c->graph, examples);
    if (inner->patterns && !c->double_backward && dync__pass_on(DYNC__PASS_attention)) {
        DYNC__TRY(dync__aot_attend(&c->graph, training));
        DYNC__TRY(dync__graph_border(DYNC__PASS_attention, c->graph, false));
    }
    bool cut = c->double_backward && training && dync__graph_cuts_gradients(c->graph);
    if (cut)
        *why = "a second derivative is asked for of a function that detaches or switches "
               "gradients off";
    dync_status status = cut ? DYNC_ERR_UNSUPPORTED
                             : dync__aot_trace(c->graph, examples, training, &how, &c->g, why);
    c->plain = status == DYNC_ERR_UNSUPPORTED;
    return status;
}

DYNC__RARE DYNC__FN dync_status dync__aot_code_out(dync__aot_code *c, dync_status status,
                                                   dync_callable *out)
{
    if (status != DYNC_OK) {
        dync__aot_code_unref(c);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__raw_run;
    out->destroy = dync__aot_destroy;
    out->narrow = dync__aot_narrows;
    out->state = c;
    return DYNC_OK;
}
