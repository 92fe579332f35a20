/* aot/form.c: forms: a graph of symbolic sizes traced once, and the code of each set of sizes made
 * of it. After compile.c. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
DYNC__WARM

/* ---- forms: graphs of symbolic sizes, traced once -------------------------------------------- */
DYNC__RARE static dync_status dync__form_settle(dync__aot_code *c, dync__symtab *t)
{
    dync__aot_graphs *g = &c->g;
    /* memory that inputs share is described by the sizes of one call */
    for (int i = 0; i < g->actual.n; i++)
        if (g->actual.at[i].group >= 0) return DYNC_ERR_UNSUPPORTED;
    if (!dync__graph_settle_sizes(g->fw, t) || (g->bw && !dync__graph_settle_sizes(g->bw, t)))
        return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__aot_parts(g, &c->n_parts, &c->part));
    return dync__graph_tells_sizes(g->fw) ? DYNC_OK : DYNC_ERR_UNSUPPORTED;
}

/* What serves every set of sizes: the code of compilers that take symbolic ones, the end of a graph
 * that has none. */
DYNC__RARE static dync_status dync__form_compile(dync__aot_code *c, const dync__options *options,
                                                 const dync__inner_compiler *inner)
{
    dync__symtab *syms = dync__tls.syms;
    dync_status status = dync__aot_tell_over(c);
    dync__tls.syms = NULL;
    if (inner->symbolic && status == DYNC_OK)
        status = dync__aot_inner_compile(inner, c->g.fw, false, options, &c->fw);
    else if (!c->g.bw && inner->compile != dync__inner_interpret && status == DYNC_OK)
        status = dync__aot_tail(c->g.fw, options, inner, &c->tail);
    if (inner->sized && !c->tail && status == DYNC_OK)
        status = dync__aot_inner_sized(inner, c->g.fw, options, &c->fw_sized);
    for (int i = 0; i < c->n_parts && status == DYNC_OK; i++) {
        dync__aot_part *p = &c->part[i];
        if (!p->bw) continue;
        if (!inner->symbolic)
            status = dync__aot_inner_sized(inner, p->bw, options, &p->sized);
        else if (dync__graph_tells_sizes(p->bw))
            status = dync__aot_inner_compile(inner, p->bw, true, options, &p->run);
    }
    dync__tls.syms = syms;
    return status;
}

DYNC__RARE DYNC__FN dync_status dync__aot_form(dync__graph *graph, dync__tensor *const *in,
                                               const dync_value *examples,
                                               const dync__options *options,
                                               const dync__inner_compiler *inner,
                                               dync__aot_code **out)
{
    int64_t value[DYNC__SIZED_SYMBOLS];
    bool known[DYNC__SIZED_SYMBOLS];
    dync__graph_bind(graph, in, value, known);
    for (int i = 0; i < graph->syms->symbol.n; i++)
        if (!known[i])
            value[i] = dync__symtab_find(graph->syms, graph->syms->symbol.at[i].token)->hint;
    dync__aot_code *c = dync__aot_code_new(graph);
    dync__symtab *t = dync__symtab_copy(graph->syms, value), *before = dync__tls.syms;
    const char *why = NULL;
    dync_status status = c && t ? DYNC_OK : DYNC_ERR_MEMORY;
    dync__error_guard guard;
    uint64_t errors = dync__error_count();
    dync__error_guard_begin(&guard);
    dync__tls.syms = t;
    /* what is found from here on is what instances must fit */
    if (t) t->guard.n = 0;
    if (status == DYNC_OK && dync__graph_has_numbers(graph))
        status = dync__graph_numbers(graph, &c->graph);
    else if (status == DYNC_OK)
        c->graph = dync__graph_ref(graph);
    if (status == DYNC_OK) status = dync__aot_code_trace(c, examples, options, inner, &why);
    if (status == DYNC_OK) status = dync__form_settle(c, t);
    if (status == DYNC_OK && t->failed) status = DYNC_ERR_MEMORY;
    if (status != DYNC_OK && status != DYNC_ERR_MEMORY) status = DYNC_ERR_UNSUPPORTED;
    dync__tls.syms = before;
    (void)dync__error_guard_end(&guard);
    dync__tls.error_count = errors;
    if (status == DYNC_OK) {
        c->syms = dync__symtab_retain(t);
        dync__aot_report(c);
        status = dync__form_compile(c, options, inner);
    }
    dync__symtab_free(t);
    if (status != DYNC_OK)
        dync__aot_code_unref(c);
    else
        *out = c;
    return status;
}

/* Everything of a form with numbers for its sizes, but for the graphs. */
DYNC__RARE static dync_status dync__form_graphs(const dync__aot_code *form, const int64_t *value,
                                                dync__aot_graphs *g)
{
    const dync__aot_graphs *f = &form->g;
    bool ok = true;
    g->n_inputs = f->n_inputs;
    g->plain_inputs = f->plain_inputs;
    g->training = f->training;
    g->random = f->random;
    g->seeds_before = f->seeds_before, g->seed_before = f->seed_before;
    g->seeds_after = f->seeds_after, g->seed_after = f->seed_after;
    g->n_saved = f->n_saved;
    g->backward_status = f->backward_status;
    if (f->backward_error && !(g->backward_error = dync__strdup(f->backward_error)))
        return DYNC_ERR_MEMORY;
    for (int i = 0; i < f->actual.n && ok; i++)
        if ((ok = dync__vec_push(&g->actual, f->actual.at[i])) && f->actual.at[i].tensor)
            dync__ref(f->actual.at[i].tensor);
    for (int i = 0; i < f->mutated.n && ok; i++) ok = dync__vec_push(&g->mutated, f->mutated.at[i]);
    for (int i = 0; i < f->tangent_of.n && ok; i++)
        ok = dync__vec_push(&g->tangent_of, f->tangent_of.at[i]);
    for (int i = 0; i < f->broken.n && ok; i++) ok = dync__vec_push(&g->broken, f->broken.at[i]);
    for (int i = 0; i < f->grad_of.n && ok; i++) ok = dync__vec_push(&g->grad_of, f->grad_of.at[i]);
    for (int i = 0; i < f->value.n && ok; i++)
        ok = dync__vec_push(&g->value, f->value.at[i]) &&
             dync__layout_values(form->syms, value, &g->value.at[i].lay);
    for (int i = 0; i < f->out.n && ok; i++)
        ok = dync__vec_push(&g->out, f->out.at[i]) &&
             dync__layout_values(form->syms, value, &g->out.at[i].lay);
    if (!ok) return DYNC_ERR_MEMORY;
    /* the form's own, which nobody changes: what is compiled with numbers is a copy */
    g->fw = dync__graph_ref(f->fw);
    g->bw = f->bw ? dync__graph_ref(f->bw) : NULL;
    return DYNC_OK;
}

DYNC__FN dync_status dync__aot_of_form(dync__aot_code *form, const int64_t *value,
                                       const dync__options *options,
                                       const dync__inner_compiler *inner, dync_callable *out)
{
    if (!dync__symtab_fits(form->syms, value)) return DYNC_ERR_UNSUPPORTED;
    dync__aot_code *c = dync__aot_code_new(form->original);
    if (!c) return DYNC_ERR_MEMORY;
    DYNC__ATOMIC_INC(&form->refs);
    c->form = form;
    c->graph = dync__graph_ref(form->graph);
    c->double_backward = form->double_backward;
    c->turns_grad_on = form->turns_grad_on;
    /* without its destructor */
    c->fw =
        (dync__inner){.run = form->fw.run, .state = form->fw.state, .run_into = form->fw.run_into};
    c->value = dync__alloc((size_t)form->syms->symbol.n * sizeof *c->value + 1);
    if (c->value) memcpy(c->value, value, (size_t)form->syms->symbol.n * sizeof *c->value);
    dync_status status = c->value ? dync__form_graphs(form, value, &c->g) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__aot_code_compile(c, options, inner);
    return dync__aot_code_out(c, status, out);
}
