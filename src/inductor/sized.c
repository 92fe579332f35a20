/* inductor/sized.c: a functional graph of symbolic sizes as plans of any sizes. It is lowered and
 * fused with its sizes as they are, by the sizes of one call as hints; what was decided by
 * comparing some is noted as a guard. Steps and guards are a class: for sizes by which all guards
 * hold, plans are made of them (sized_plans.c), or numbers are put in place of the symbols
 * (runtime/form.c), and the rest of the way to a plan is gone as for any other graph. Sizes that
 * fit no class make another one. After lower.c, before sized_plans.c.
 *
 * Where a graph cannot be lowered so, or has too many classes, it is compiled with numbers, which
 * is always right: whoever asks is told DYNC_ERR_UNSUPPORTED. */
#include "../dync.in.h"
#include "sized.h"
DYNC__WARM

/* ---- classes --------------------------------------------------------------------------------- */
DYNC__FN void dync__class_free(dync__inductor_class *c)
{
    if (!c) return;
    dync__lowered_free(&c->out);
    dync__arena_free(&c->lowerer.arena);
    dync__symtab_free(c->syms);
    dync__free(c, sizeof *c + (size_t)c->n_used);
}

/* For lowering; NULL: every output. */
static const bool *dync__class_used(const dync__inductor_class *c)
{
    return c->n_used ? c->used : NULL;
}

static dync_status dync__class_steps(dync__inductor_sized *s, dync__inductor_class *c)
{
    DYNC__TRY(
        dync__lower_steps(&c->lowerer, s->graph, dync__class_used(c), &s->options, true, &c->out));
    c->options = dync__lower_options(&c->lowerer, &s->options);
    DYNC__TRY(dync__steps_begin(&c->steps, &c->lowerer.pb, &c->options));
    DYNC__TRY(dync__steps_run(&c->steps, DYNC__FORM_LAST));
    for (int i = 0; i < c->steps.n; i++) {
        const dync__kernel *k = c->steps.at[i].k;
        for (int v = 0; k && v < k->inst.n; v++)
            c->constants |= dync__inst_is_sized(&k->inst.at[v]);
    }
    return c->syms->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* NULL: it cannot be lowered so, or there is no memory; neither is recorded. */
static dync__inductor_class *dync__class_new(dync__inductor_sized *s, const int64_t *value)
{
    int n_used = s->used ? s->n_out : 0;
    dync__inductor_class *c = dync__calloc(sizeof *c + (size_t)n_used);
    dync__symtab *before = dync__tls.syms;
    dync__error_guard guard;
    uint64_t errors = dync__error_count();
    if (c) c->n_used = n_used;
    if (!c || !(c->syms = dync__symtab_copy(s->graph->syms, value))) {
        dync__class_free(c);
        return NULL;
    }
    if (n_used) memcpy(c->used, s->used, (size_t)n_used);
    c->syms->guard.n = 0;  /* those of the trace are its caller's */
    if (dync__tls.fail_at) /* tests make memory short: steps may be longer */
        DYNC__ATOMIC_STORE(&c->syms->cautious, true);
    dync__error_guard_begin(&guard);
    dync__tls.syms = c->syms;
    dync_status status = dync__class_steps(s, c);
    dync__tls.syms = before;
    (void)dync__error_guard_end(&guard);
    dync__tls.error_count = errors;
    if (status == DYNC_OK) {
        dync__log(DYNC__LOG_code, "%s: steps for all sizes that %d guards hold for", s->graph->name,
                  c->syms->guard.n);
        return c;
    }
    if (status != DYNC_ERR_MEMORY) s->refused = true;
    dync__class_free(c);
    return NULL;
}

/* The class that the sizes belong to; NULL: none. */
DYNC__FN dync__inductor_class *dync__class_of(dync__inductor_sized *s, const int64_t *value)
{
    dync__lock(&s->lock);
    dync__inductor_class *c = s->first;
    while (c && !dync__symtab_fits(c->syms, value)) c = c->next;
    if (!c && !s->refused && s->n < DYNC__SIZED_CLASSES && (c = dync__class_new(s, value))) {
        c->next = s->first;
        s->first = c;
        s->n++;
    }
    dync__unlock(&s->lock);
    return c;
}

/* ---- the check ------------------------------------------------------------------------------- */
/* Without the kernels' names, which are shorter where memory is short. */
static void dync__class_text(dync__str *text, const dync__steps *s)
{
    for (int i = 0; i < s->n; i++) {
        dync__steps one = *s;
        dync__kernel *k = s->at[i].k;
        const char *name = k ? k->name : NULL;
        one.at += i;
        one.n = 1;
        if (k) k->name = "kernel";
        dync__steps_print(text, &one);
        if (k) k->name = name;
    }
}

/* The steps that numbers give by themselves, as far, as text. */
static dync_status dync__class_plain(dync__inductor_sized *s, const bool *used,
                                     const int64_t *value, dync__str *text)
{
    dync__lowerer *w = dync__calloc(sizeof *w);
    dync__graph *g = NULL;
    dync__lowered out;
    dync__steps steps;
    memset(&out, 0, sizeof out);
    dync_status status = w ? dync__graph_concrete(s->graph, value, &g) : DYNC_ERR_MEMORY;
    for (int i = 0; status == DYNC_OK && i < s->graph->over.n; i++)
        if (!dync__avec_push(&g->arena, &g->over, s->graph->over.at[i])) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__lower_steps(w, g, used, &s->options, true, &out);
    if (status == DYNC_OK) {
        dync__plan_options options = dync__lower_options(w, &s->options);
        status = dync__steps_begin(&steps, &w->pb, &options);
        if (status == DYNC_OK) status = dync__steps_run(&steps, DYNC__FORM_LAST);
        if (status == DYNC_OK) dync__class_text(text, &steps);
    }
    dync__lowered_free(&out);
    if (w) dync__arena_free(&w->arena);
    dync__free(w, sizeof *w);
    dync__graph_unref(g);
    return status;
}

/* Loops of one step. */
static int dync__class_ones(const char *text)
{
    int n = 0;
    for (const char *p = text; (p = dync__find(p, "<1")) != NULL; p += 2)
        if (p[2] == ',' || p[2] == ' ') n++;
    return n;
}

/* Where checks are on: are the steps those that numbers give? Constants that sizes decide are
 * folded later than others, and stand elsewhere; what was taken for granted on the safe side
 * (dync__access_overlap) may have kept kernels apart. A size that is one by chance, such as a
 * quotient of two, is a loop here, where numbers have none: such steps are not compared. */
static dync_status dync__class_check(dync__inductor_sized *s, const dync__inductor_class *c,
                                     const int64_t *value, const dync__steps *steps)
{
    dync__str is = {0}, was = {0};
    if (!dync__check_on() || c->constants || DYNC__ATOMIC_LOAD(&c->syms->cautious)) return DYNC_OK;
    dync__lock(&s->lock);
    dync_status status = dync__class_plain(s, dync__class_used(c), value, &was);
    dync__unlock(&s->lock);
    dync__class_text(&is, steps);
    bool same = status != DYNC_OK || is.failed || was.failed ||
                strcmp(dync__str_get(&is), dync__str_get(&was)) == 0,
         one = dync__class_ones(dync__str_get(&is)) > dync__class_ones(dync__str_get(&was));
    if (!same && one) DYNC__ATOMIC_STORE(&c->syms->cautious, true); /* for plans, too */
    if (!same && !one) {
        dync__log_text(DYNC__LOG_loops, "with numbers", dync__str_get(&was));
        dync__log_text(DYNC__LOG_loops, "of all sizes", dync__str_get(&is));
        status = dync__fail(DYNC_ERR_INTERNAL, "%s: its steps are not what its sizes give",
                            s->graph->name);
        DYNC__ASSERT(status == DYNC_OK); /* steps of all sizes are those of their sizes */
    }
    dync__str_free(&is);
    dync__str_free(&was);
    return status;
}

/* ---- one set of sizes ------------------------------------------------------------------------ */
static dync_status dync__class_outputs(const dync__inductor_class *c, const int64_t *value,
                                       const dync__pb *pb, dync__lowered *out)
{
    const dync__lowered *from = &c->out;
    out->out =
        dync__arena_copy(&out->arena, from->out, (size_t)(from->n_out + 1) * sizeof *out->out);
    out->owner = dync__arena_copy(&out->arena, from->owner,
                                  (size_t)(from->n_storages + 1) * sizeof *out->owner);
    out->storage_bytes =
        dync__arena_alloc(&out->arena, (size_t)(from->n_storages + 1) * sizeof *out->storage_bytes);
    if (!out->out || !out->owner || !out->storage_bytes) return DYNC_ERR_MEMORY;
    dync__lowered_storages(out, pb);
    for (int i = 0; i < out->n_out; i++)
        if (!dync__layout_values(c->syms, value, &out->out[i].lay)) return DYNC_ERR_UNSUPPORTED;
    return DYNC_OK;
}

DYNC__FN dync_status dync__class_lower(dync__inductor_sized *s, const dync__inductor_class *c,
                                       const int64_t *value, dync__lowered *out, bool *merged)
{
    dync__arena arena = {0};
    dync__pb pb = {.arena = &arena};
    dync__steps steps;
    *out = c->out;
    memset(&out->arena, 0, sizeof out->arena);
    dync_status status = dync__steps_at(&c->steps, c->syms, value, &pb, &steps);
    *merged = steps.merged;
    if (status == DYNC_OK) status = dync__class_outputs(c, value, &pb, out);
    if (status == DYNC_OK) status = dync__class_check(s, c, value, &steps);
    if (status == DYNC_OK && !(out->plan = dync__plan_of(&steps)))
        status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    dync__arena_free(&arena);
    if (status != DYNC_OK) dync__lowered_free(out);
    return status;
}
