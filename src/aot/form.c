/* aot/form.c: forms: a graph of symbolic sizes traced once, and the code of each set of sizes made
 * of it. Before compile.c. */
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
    if (dync__aot_gradients_used)
        DYNC__TRY(dync__aot_gradients_used->parts(g, &c->n_parts, &c->part));
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
    if (status == DYNC_OK) dync__aot_variants_for(c, options, inner);
    dync__tls.syms = syms;
    return status;
}

/* The sizes that it is traced with: those of this call. One that data decide may be 0 or 1 there,
 * of which no form holds (dync__symtab_fits): it is any other. */
DYNC__RARE static void dync__form_hints(const dync__graph *g, dync__tensor *const *in,
                                        int64_t *value)
{
    bool known[DYNC__SIZED_SYMBOLS];
    dync__graph_bind(g, in, value, known);
    for (int i = 0; i < g->syms->symbol.n; i++) {
        const dync__sz_symbol *s = &g->syms->symbol.at[i];
        int64_t hint = dync__symtab_find(g->syms, s->token)->hint;
        if (!known[i])
            value[i] = hint;
        else if (s->data && (value[i] < s->low || value[i] > s->high))
            value[i] = DYNC__MAX(DYNC__MIN(hint, s->high), s->low);
    }
}

DYNC__RARE DYNC__FN dync_status dync__aot_form(dync__graph *graph, dync__tensor *const *in,
                                               const dync_value *examples,
                                               const dync__options *options,
                                               const dync__inner_compiler *inner,
                                               dync__aot_code **out)
{
    int64_t value[DYNC__SIZED_SYMBOLS];
    dync__form_hints(graph, in, value);
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
    if (status == DYNC_OK) status = dync__graph_of_tensors(graph, &c->graph);
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

/* The form's graphs, shared, but for how views lie: that is told by the sizes. */
static dync_status dync__form_graphs(dync__aot_code *c)
{
    const dync__aot_graphs *f = &c->form->g;
    const dync__symtab *t = c->form->syms;
    bool views = false, ok = true;
    c->g = *f;
    for (int i = 0; i < f->value.n; i++) views |= f->value.at[i].over != DYNC__AOT_OWN;
    for (int i = 0; i < f->out.n; i++) views |= f->out.at[i].kind >= DYNC__AOT_VIEW_OF_INPUT;
    if (!views) return DYNC_OK;
    size_t values = (size_t)f->value.n * sizeof *f->value.at,
           outs = (size_t)f->out.n * sizeof *f->out.at;
    if (!(c->views = dync__alloc(values + outs))) return DYNC_ERR_MEMORY;
    c->views_bytes = values + outs;
    c->g.value.at = c->views;
    c->g.out.at = (dync__aot_out *)(void *)((char *)c->views + values);
    if (values) memcpy(c->g.value.at, f->value.at, values);
    if (outs) memcpy(c->g.out.at, f->out.at, outs);
    for (int i = 0; i < f->value.n && ok; i++)
        if (f->value.at[i].over != DYNC__AOT_OWN)
            ok = dync__layout_values(t, c->value, &c->g.value.at[i].lay);
    for (int i = 0; i < f->out.n && ok; i++)
        if (f->out.at[i].kind >= DYNC__AOT_VIEW_OF_INPUT)
            ok = dync__layout_values(t, c->value, &c->g.out.at[i].lay);
    return ok ? DYNC_OK : DYNC_ERR_MEMORY;
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
    dync_status status = c->value ? dync__form_graphs(c) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__aot_code_compile(c, options, inner);
    return dync__aot_code_out(c, status, out);
}
