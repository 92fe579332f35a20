/* program/csource.c: a program as one C11 file: static memory, no malloc, no dync.h. For
 * microcontrollers. Before program_file.c.
 *
 *   graph -> functional graph (aot/) -> unfused steps (inductor/) -> fused kernels (loop/fuse.c)
 *         -> C (codegen/csrc.c for loops, csource_kernels.c and csource_control.c for the rest)
 *
 * Weights become const arrays. Temporaries share one arena, placed by their lifetimes. A self-test
 * with inputs and what this library computes for them stands behind #ifdef NAME_SELF_TEST.
 *
 * Marked sizes stay symbols all the way: the graph is traced and lowered once with them
 * (tensor/sym.h), and they are numbers of the C functions; arrays of the arena are as large as the
 * greatest. What tracing and lowering take for granted is what NAME_run checks. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- the functional graph -------------------------------------------------------------------- */

/* Tensors of a nested result, in order; anything else is refused. name: of the program. */
static dync_status dync__csource_flatten(const char *name, const dync__arg *a, dync__arg *list,
                                         int cap)
{
    if (a->kind == DYNC__A_LIST) {
        for (int i = 0; i < a->n; i++)
            DYNC__TRY(dync__csource_flatten(name, &a->as.list[i], list, cap));
        return DYNC_OK;
    }
    if (a->kind != DYNC__A_NODE || !a->as.node->has_info)
        return dync__fail(
            DYNC_ERR_UNSUPPORTED,
            "C source of %s: result %d is no tensor, and results are arrays; leave it "
            "out, or make it one (dync_full)",
            name, list->n);
    if (list->n == cap)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "C source of %s: more than %d results; join some (dync_cat)", name, cap);
    list->as.list[list->n++] = *a;
    return DYNC_OK;
}

/* Arrays lie row major, whatever the examples did that the graph was exported with. */
static dync_status dync__csource_row_major(dync__graph *g)
{
    for (int i = 0; i < g->n_inputs; i++) {
        dync__info *info = g->node.at[i]->has_info ? &g->node.at[i]->info[0] : NULL;
        dync__layout lay;
        if (!info) continue;
        DYNC__TRY(dync__layout_contiguous(&lay, info->lay.ndim, info->lay.shape));
        info->lay = lay;
    }
    return DYNC_OK;
}

static bool dync__csource_reads_floats(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (dync__op_is_item(g->node.at[i]->op) && !g->node.at[i]->has_info) return true;
    return false;
}

/* A copy of the graph that returns a flat list; floats that are read are tensors of it. */
static dync_status dync__csource_flat(const char *name, dync__graph *g, dync__graph **out)
{
    DYNC__TRY(g->syms ? dync__graph_rewrite(g, dync__rewrite_copy, NULL, out)
                      : dync__graph_concrete(g, NULL, out));
    if (dync__csource_reads_floats(*out)) {
        dync__graph *numbers = *out;
        *out = NULL;
        dync_status status = dync__graph_numbers(numbers, out);
        dync__graph_unref(numbers);
        DYNC__TRY(status);
    }
    DYNC__TRY(dync__csource_row_major(*out));
    dync__node *last = (*out)->node.at[(*out)->node.n - 1];
    dync__arg list = {.kind = DYNC__A_LIST};
    list.as.list = dync__arena_alloc(&(*out)->arena, DYNC__MAX_LEAVES * sizeof(dync__arg));
    if (!list.as.list) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__csource_flatten(name, &last->args[0], &list, DYNC__MAX_LEAVES));
    last->args[0] = list;
    dync__graph_renumber(*out);
    return DYNC_OK;
}

/* Where each value that the user's graph returns is: computed, or an input, or a view of one. */
static dync_status dync__csource_results(dync__csource *c)
{
    dync__csource_unit *u = &c->main;
    u->n_in = c->aot.n_inputs;
    u->n_out = c->aot.out.n;
    u->out = dync__arena_alloc(&u->arena, (size_t)(u->n_out + 1) * sizeof *u->out);
    if (!u->out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < u->n_out; i++) {
        const dync__aot_out *o = &c->aot.out.at[i];
        if (o->kind == DYNC__AOT_VALUE) {
            u->out[i] = u->lowered.out[c->aot.mutated.n + o->index];
            continue;
        }
        if (o->kind == DYNC__AOT_VIEW_OF_VALUE) {
            u->out[i] = u->lowered.out[c->aot.mutated.n + o->index];
            int64_t first = u->out[i].lay.offset;
            u->out[i].lay = o->lay;
            u->out[i].lay.offset = dync__sz_add(u->out[i].lay.offset, first);
            continue;
        }
        const dync__info *in = &c->aot.fw->node.at[o->index]->info[0];
        u->out[i] = (dync__lowered_out){
            .input = o->index, .output = -1, .dtype = (uint8_t)in->dtype, .device = DYNC_CPU};
        u->out[i].lay = o->kind == DYNC__AOT_INPUT ? in->lay : o->lay;
    }
    return DYNC_OK;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* The argument and dimension that symbol i is: its name in C; a maximum, for the arena. */
static dync_status dync__csource_symbol(dync__csource *c, int i)
{
    const dync__graph *g = c->program->graph;
    dync__sz_symbol *symbol = &c->syms->symbol.at[i];
    char name[96];
    symbol->source = NULL;
    if (symbol->data) {
        const dync__node *n = dync__csource_teller(c, i);
        symbol->source = n ? dync__arena_printf(&c->syms->arena, "%s_n", n->name) : "unused";
        return symbol->source ? DYNC_OK : DYNC_ERR_MEMORY;
    }
    for (int k = 0; k < g->n_inputs; k++)
        for (int d = 0; d < g->node.at[k]->info[0].lay.ndim; d++) {
            if (symbol->source || g->node.at[k]->info[0].lay.shape[d] != symbol->token) continue;
            dync__program_input_name(g, k, name, sizeof name);
            symbol->source = dync__arena_printf(&c->syms->arena, "%s_dim%d", name, d);
            for (int j = 0; j < i && symbol->source; j++)
                if (strcmp(c->syms->symbol.at[j].source, symbol->source) == 0)
                    symbol->source =
                        dync__arena_printf(&c->syms->arena, "%s_dim%d_s%d", name, d, i);
            if (!symbol->source) return DYNC_ERR_MEMORY;
            if (symbol->high > INT32_MAX)
                return dync__fail(DYNC_ERR_UNSUPPORTED,
                                  "C source of %s: dimension %d of %s has no maximum, by which "
                                  "memory is set aside; mark it with dync_mark_dynamic_range(%s, "
                                  "%d, min, max)",
                                  c->program->name, d, name, name, d);
        }
    if (!symbol->source && !symbol->is)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "C source of %s: no argument has symbolic size s%d as it is",
                          c->program->name, i);
    if (!symbol->source) symbol->source = "unused";
    return DYNC_OK;
}

/* A copy of the program's table, which tracing and lowering add to. */
static dync_status dync__csource_open_sizes(dync__csource *c, const int64_t *value)
{
    const dync__symtab *t = c->program->graph->syms;
    if (!t) return DYNC_OK;
    c->syms = dync__symtab_copy(t, value);
    if (!c->syms) return DYNC_ERR_MEMORY;
    for (int i = 0; i < t->symbol.n; i++) DYNC__TRY(dync__csource_symbol(c, i));
    return c->syms->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static dync_status dync__csource_lower(dync__csource *c, const char **why)
{
    dync__csource_unit *u = &c->main;
    dync__aot_how how = {.decompose = DYNC__DECOMPOSE_PLAIN, .budget = 1, .data = true};
    dync__inductor_use_all();
    DYNC__TRY(dync__csource_flat(c->program->name, c->program->graph, &c->flat));
    dync_status status = dync__aot_trace(c->flat, NULL, false, &how, &c->aot, why);
    if (status != DYNC_OK) return status;
    if (c->syms && !dync__graph_settle_sizes(c->aot.fw, c->syms)) return DYNC_ERR_MEMORY;
    if (c->aot.seeds_before || c->aot.seeds_after)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "C source of %s: dync_manual_seed inside; call it before the export, "
                          "whose numbers begin there, or set the state's member random in C",
                          c->program->name);
    DYNC__TRY(dync__csource_state_find(c));
    u->graph = c->aot.fw;
    DYNC__TRY(dync__inductor_steps(c->aot.fw, c->syms != NULL, &u->arena, &u->pb, &u->lowered));
    c->draws = c->draws || u->pb.rng_used;
    DYNC__TRY(dync__csource_results(c));
    return dync__csource_state_backs(c);
}

static void dync__csource_close_way(dync__csource *c)
{
    dync__graph_unref(c->flat);
    dync__aot_graphs_free(&c->aot);
    dync__csource_unit_free(&c->main);
    c->flat = NULL;
    memset(&c->aot, 0, sizeof c->aot);
    memset(&c->main, 0, sizeof c->main);
    c->syms = NULL; /* its way keeps it */
}

/* A way for these sizes and as many others as decide alike. */
static dync_status dync__csource_way_make(dync__csource *c, const int64_t *value, const char **why)
{
    dync__csource_way way = {0};
    dync_status status = dync__csource_open_sizes(c, value);
    way.syms = c->syms;
    dync__tls.syms = c->syms;
    if (status == DYNC_OK) status = dync__csource_lower(c, why);
    if (status == DYNC_OK && !c->in_name) status = dync__csource_names(c);
    if (status == DYNC_OK) status = dync__csource_unit_plan(c, &c->main);
    if (status == DYNC_OK) status = dync__csource_way_text(c, &way);
    if (status == DYNC_OK && c->syms && c->syms->failed) status = DYNC_ERR_MEMORY;
    c->arena_bytes = DYNC__MAX(c->arena_bytes, c->main.arena_bytes);
    if (status == DYNC_OK && !dync__avec_push(&c->names, &c->way, way)) status = DYNC_ERR_MEMORY;
    if (status != DYNC_OK) dync__symtab_free(way.syms);
    if (status != DYNC_OK) c->syms = NULL;
    return status;
}

/* Is there a way for these sizes? Those that the program is not for need none. */
static bool dync__csource_covered(const dync__csource *c, const int64_t *value)
{
    bool covered = !dync__symtab_fits(c->program->graph->syms, value);
    for (int i = 0; i < c->way.n; i++)
        covered = covered || dync__symtab_fits(c->way.at[i].syms, value);
    return covered;
}

/* The next of the sizes that are looked at: all where they are few, else the ends of each range and
 * steps that grow. False: there is none. */
static bool dync__csource_next(const dync__symtab *t, bool few, int64_t *value)
{
    for (int i = 0; i < t->symbol.n; i++) {
        const dync__sz_symbol *s = &t->symbol.at[i];
        if (s->is || s->data) continue;
        int64_t from = value[i] - s->low, left = s->high - value[i];
        if (left > 0) {
            value[i] += few || from < 4 || left < 4 ? 1 : DYNC__MIN(from / 4, left - 3);
            return true;
        }
        value[i] = s->low;
    }
    return false;
}

/* Sizes without a way, in value. */
static bool dync__csource_uncovered(const dync__csource *c, int64_t *value)
{
    const dync__symtab *t = c->program->graph->syms;
    double all = 1;
    for (int i = 0; i < t->symbol.n; i++) {
        value[i] = t->symbol.at[i].is ? 0 : t->symbol.at[i].low;
        if (!t->symbol.at[i].is && !t->symbol.at[i].data)
            all *= (double)(t->symbol.at[i].high - t->symbol.at[i].low + 1);
    }
    do {
        if (!dync__csource_covered(c, value)) return true;
    } while (dync__csource_next(t, all <= 20000, value));
    return false;
}

/* Ways until every size has one. The first, by the sizes of the export, is what c holds in the
 * end: types are those of symbols, and the same for all. */
static dync_status dync__csource_ways(dync__csource *c, const char **why)
{
    const dync__symtab *t = c->program->graph->syms;
    int64_t value[DYNC__PROGRAM_SYMBOLS] = {0};
    c->hint = dync__arena_alloc(&c->names, sizeof value);
    if (!c->hint) return DYNC_ERR_MEMORY;
    for (int i = 0; t && i < t->symbol.n; i++)
        c->hint[i] = t->symbol.at[i].data ? t->symbol.at[i].low
                                          : dync__symtab_find(t, t->symbol.at[i].token)->hint;
    DYNC__TRY(dync__csource_way_make(c, c->hint, why));
    while (t && dync__csource_uncovered(c, value)) {
        if (c->way.n == DYNC__CSOURCE_WAYS)
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "C source of %s: more than %d forms for its sizes; a smaller range "
                              "(dync_mark_dynamic_range) needs fewer",
                              c->program->name, (int)DYNC__CSOURCE_WAYS);
        dync__csource first = *c;
        c->flat = NULL;
        memset(&c->aot, 0, sizeof c->aot);
        memset(&c->main, 0, sizeof c->main);
        c->syms = NULL;
        dync_status status = dync__csource_way_make(c, value, why);
        dync__csource_close_way(c);
        c->flat = first.flat;
        c->aot = first.aot;
        c->main = first.main;
        dync__tls.syms = c->syms = first.syms;
        DYNC__TRY(status);
    }
    return DYNC_OK;
}

static dync_status dync__csource_upper_name(dync__csource *c)
{
    const char *name = c->program->name;
    size_t n = strlen(name);
    c->upper = dync__arena_alloc(&c->names, n + 1);
    for (size_t i = 0; c->upper && i < n; i++)
        c->upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    if (c->upper) c->upper[n] = 0;
    return c->upper ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__program_csource(const dync__program *p, const char *header, dync__str *s,
                                           dync__str *h)
{
    dync__csource c;
    const char *why = NULL;
    dync__symtab *before = dync__tls.syms;
    memset(&c, 0, sizeof c);
    c.program = p;
    uint64_t errors = dync__error_count();
    dync_status status = dync__csource_upper_name(&c);
    if (status == DYNC_OK) status = dync__csource_ways(&c, &why);
    /* a question about what data decide */
    if (status == DYNC_OK && dync__error_count() != errors) status = dync_error();
    if (status == DYNC_ERR_UNSUPPORTED && dync__error_count() == errors)
        dync__fail(status, "C source: %s: %s", p->name,
                   why ? why : "a form that is not functional");
    if (status == DYNC_OK) status = dync__csource_state_check(&c);
    if (status == DYNC_OK) status = dync__csource_print(&c, header, s);
    if (status == DYNC_OK && h) dync__csource_header(&c, h);
    dync__tls.syms = before;
    dync__csource_close_way(&c);
    for (int i = 0; i < c.way.n; i++) dync__symtab_free(c.way.at[i].syms);
    dync__csource_packs_free(&c);
    dync__arena_free(&c.names);
    return status == DYNC_OK && (s->failed || (h && h->failed)) ? DYNC_ERR_MEMORY : status;
}
