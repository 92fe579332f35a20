/* capture/explain.c: what was captured of one function: graphs, breaks, operators, guards. The
 * printed form is that of PyTorch's ExplainOutput. After cache.c. */
#include "../dync.in.h"
#include "capture.h"
DYNC__COLD

DYNC__DATA DYNC__TLS dync__capture_log *dync__capture_log_now = NULL;

/* ---- the log an explaining call fills -------------------------------------------------------- */
static void dync__explain_entry(dync__capture_log *log, const dync__cache_entry *e)
{
    dync__str s = {0};
    dync__guards_print(e, &s);
    const char *text = dync__arena_strdup(&log->arena, dync__str_get(&s));
    if (text) (void)!dync__vec_push(&log->guards, text);
    dync__str_free(&s);
}

static void dync__explain_segment(dync__capture_log *log, dync__graph *g, uint64_t ns)
{
    if (dync__vec_push(&log->graphs, g)) dync__graph_ref(g);
    log->compile_ns += ns;
}

static void dync__explain_cut(dync__capture_log *log, const char *reason, const char *stack)
{
    dync__break_record r = {dync__arena_strdup(&log->arena, reason),
                            dync__arena_strdup(&log->arena, stack)};
    if (r.reason && r.stack) (void)!dync__vec_push(&log->breaks, r);
}

static void dync__capture_log_free(dync__capture_log *log)
{
    for (int i = 0; i < log->graphs.n; i++) dync__graph_unref(log->graphs.at[i]);
    dync__vec_free(&log->graphs);
    dync__vec_free(&log->breaks);
    dync__vec_free(&log->guards);
    dync__vec_free(&log->memory);
    dync__vec_free(&log->notes);
    dync__arena_free(&log->arena);
}

/* Everything moves into the scope's memory. */
static const char *dync__scope_text(const char *s)
{
    size_t n = strlen(s ? s : "") + 1;
    char *p = dync__scope_alloc(n);
    if (p) memcpy(p, s ? s : "", n);
    return p ? p : "";
}

static const char *dync__graph_ops_text(const dync__graph *g, int *count)
{
    dync__str s = {0};
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if ((n->kind != DYNC__N_CALL_FUNCTION && n->kind != DYNC__N_CALL_METHOD) ||
            n->op == DYNC__NODE_GETITEM)
            continue;
        ++*count;
        dync__str_addf(&s, "%s\n", n->target);
    }
    const char *text = dync__scope_text(dync__str_get(&s));
    dync__str_free(&s);
    return text;
}

/* Why each entry of a compiled function was made, oldest first. */
static void dync__explain_history(dync_explain_output *o, dync__compiled *f)
{
    int n = 0;
    dync__lock(&f->lock);
    for (const dync__cache_entry *e = f->entries; e; e = e->next) n++;
    const char **texts = dync__scope_alloc((size_t)(n + 1) * sizeof *texts);
    int i = n;
    for (const dync__cache_entry *e = f->entries; texts && e; e = e->next)
        texts[--i] = dync__scope_text(e->why ? e->why : "first compiled");
    dync__unlock(&f->lock);
    o->nrecompiles = texts ? n : 0;
    o->recompiles = texts;
}

/* What was said of each graph; NULL: not of all. */
static const char *const *dync__explain_texts(const dync__capture_log *log, int n,
                                              const char *const *said)
{
    const char **text = n && n == log->graphs.n ? dync__scope_alloc((size_t)n * sizeof *text)
                                                : NULL;
    for (int i = 0; text && i < n; i++) text[i] = dync__scope_text(said[i]);
    return text;
}

static void dync__explain_fill(dync_explain_output *o, const dync__capture_log *log)
{
    o->graph_count = log->graphs.n;
    o->graph_break_count = DYNC__MAX(log->graphs.n - 1, 0);
    o->nbreaks = log->breaks.n;
    o->nguards = log->guards.n;
    o->compile_ms = (double)log->compile_ns * 1e-6;
    dync_explain_break *breaks = dync__scope_alloc((size_t)(log->breaks.n + 1) * sizeof *breaks);
    const char **guards = dync__scope_alloc((size_t)(log->guards.n + 1) * sizeof *guards);
    const char **ops = dync__scope_alloc((size_t)(log->graphs.n + 1) * sizeof *ops);
    const char **graphs = dync__scope_alloc((size_t)(log->graphs.n + 1) * sizeof *graphs);
    if (!breaks || !guards || !ops || !graphs) {
        memset(o, 0, sizeof *o);
        return;
    }
    o->memory = dync__explain_texts(log, log->memory.n, log->memory.at);
    o->notes = dync__explain_texts(log, log->notes.n, log->notes.at);
    for (int i = 0; i < log->breaks.n; i++) {
        breaks[i].reason = dync__scope_text(log->breaks.at[i].reason);
        breaks[i].stack = dync__scope_text(log->breaks.at[i].stack);
    }
    for (int i = 0; i < log->guards.n; i++) guards[i] = dync__scope_text(log->guards.at[i]);
    for (int i = 0; i < log->graphs.n; i++) {
        ops[i] = dync__graph_ops_text(log->graphs.at[i], &o->op_count);
        const char *text = dync_graph_str(dync__graph_handle(log->graphs.at[i]));
        graphs[i] = text ? text : "";
    }
    o->breaks = breaks;
    o->guards = guards;
    o->ops = ops;
    o->graphs = graphs;
}

/* ---- dync_explain ---------------------------------------------------------------------------- */
static dync_value dync__explain_run(void *state, const dync_value *args, int nargs)
{
    return dync__graph_run(state, args, nargs);
}

static void dync__explain_said(dync__capture_log *log, bool memory, dync__str *s)
{
    const char *text = log ? dync__arena_strdup(&log->arena, dync__str_get(s)) : NULL;
    if (text && memory) (void)dync__vec_push(&log->memory, text);
    if (text && !memory) (void)dync__vec_push(&log->notes, text);
    dync__str_free(s);
}

/* user: the compiled function that is explained, or NULL. */
static dync_status dync__explain_compile(dync_graph *graph, const dync_value *examples, int n,
                                         const char *options, dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "dync_explain");
    if (!g) return DYNC_ERR_VALUE;
    const dync__compiled *of = user;
    dync__str memory = {0}, notes = {0};
    (void)options;
    if (dync__explain_memory) dync__explain_memory(g, examples, &memory);
    dync__explain_said(dync__capture_log_now, true, &memory);
    if (of && dync__explain_notes &&
        dync__explain_notes(&of->backend, of->options_text, graph, examples, n, &notes))
        dync__explain_said(dync__capture_log_now, false, &notes);
    memset(out, 0, sizeof *out);
    out->run = dync__explain_run;
    out->state = g;
    return DYNC_OK;
}

DYNC_API dync_explain_output dync_explain_values(dync_callee callee, const char *name, int nargs,
                                                 const dync_value *args)
{
    dync_explain_output o;
    memset(&o, 0, sizeof o);
    if (dync__callee_check(&callee, "dync_explain") != DYNC_OK) return o;
    dync__capture_install();
    dync__capture_use_gradients();
    dync__breaks_install();
    dync__capture_use_constants();
    dync__compiled *inner = dync__callee_compiled(&callee);
    dync_compile_options opt = {.recompile_limit = 8, .args = inner ? inner->args : NULL};
    dync_backend backend = {.name = "explain", .compile = dync__explain_compile, .user = inner};
    dync__compiled *f = dync__compiled_new(inner ? inner->callee : callee,
                                           inner ? inner->name : name, &opt, &backend);
    if (!f) return o;
    dync__capture_log log, *outer = dync__capture_log_now;
    memset(&log, 0, sizeof log);
    log.entry = dync__explain_entry;
    log.segment = dync__explain_segment;
    log.cut = dync__explain_cut;
    dync__capture_log_now = &log;
    dync_scope scope = dync_scope_begin();
    uint64_t start = dync__now_ns();
    dync_call_values(dync__compiled_handle(f), nargs, args);
    log.compile_ns = dync__now_ns() - start;
    dync_scope_end(&scope);
    dync__capture_log_now = outer;
    dync__explain_fill(&o, &log);
    dync__capture_log_free(&log);
    dync__compiled_free(f);
    if (inner) dync__explain_history(&o, inner);
    return o;
}

/* ---- printed --------------------------------------------------------------------------------- */
static void dync__explain_lines(dync__str *s, const char *indent, const char *text)
{
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t n = end ? (size_t)(end - text) : strlen(text);
        dync__str_addf(s, "%s%.*s\n", indent, (int)n, text);
        text += n + (end != NULL);
    }
}

/* The colon of "file:line in fn", *in: the blank before the word; NULL: none. A path may contain
 * both: the last ones count. */
DYNC__FN const char *dync__stack_line_parts(const char *line, size_t n, const char **in)
{
    *in = NULL;
    for (const char *p = line; p + 4 <= line + n; p++)
        if (memcmp(p, " in ", 4) == 0) *in = p;
    for (const char *p = *in; p && p > line; p--)
        if (*p == ':') return p;
    return NULL;
}

static void dync__explain_stack(dync__str *s, const char *stack)
{
    while (*stack) {
        const char *end = strchr(stack, '\n'), *in;
        size_t n = end ? (size_t)(end - stack) : strlen(stack);
        const char *colon = dync__stack_line_parts(stack, n, &in);
        if (colon)
            dync__str_addf(s, "      <FrameSummary file %.*s, line %.*s in %.*s>\n",
                           (int)(colon - stack), stack, (int)(in - colon - 1), colon + 1,
                           (int)(stack + n - in - 4), in + 4);
        else
            dync__str_addf(s, "      <FrameSummary %.*s>\n", (int)n, stack);
        stack += n + (end != NULL);
    }
}

DYNC_API char *dync_explain_str(const dync_explain_output *o)
{
    if (!o) {
        dync__fail(DYNC_ERR_VALUE, "dync_explain_str: the output is NULL");
        return NULL;
    }
    dync__str s = {0};
    dync__str_addf(&s, "Graph Count: %d\nGraph Break Count: %d\nOp Count: %d\nBreak Reasons:\n",
                   o->graph_count, o->graph_break_count, o->op_count);
    for (int i = 0; i < o->nbreaks && o->breaks; i++) {
        dync__str_addf(&s, "  Break Reason %d:\n    Reason: %s\n    User Stack:\n", i + 1,
                       o->breaks[i].reason);
        dync__explain_stack(&s, o->breaks[i].stack);
    }
    if (o->ops) dync__str_add(&s, "Ops per Graph:\n");
    for (int i = 0; i < o->graph_count && o->ops; i++) {
        dync__str_addf(&s, "  Ops %d:\n", i + 1);
        dync__explain_lines(&s, "    ", o->ops[i]);
    }
    for (int i = 0; i < o->graph_count && o->memory; i++)
        if (*o->memory[i]) dync__str_addf(&s, "Memory of Graph %d: %s\n", i + 1, o->memory[i]);
    for (int i = 0; i < o->graph_count && o->notes; i++)
        if (*o->notes[i]) dync__str_addf(&s, "Backend of Graph %d: %s\n", i + 1, o->notes[i]);
    if (o->nguards) dync__str_add(&s, "Out Guards:\n");
    for (int i = 0; i < o->nguards; i++) {
        dync__str_addf(&s, "  Guard %d:\n", i + 1);
        dync__explain_lines(&s, "    ", o->guards[i]);
    }
    if (o->compile_ms > 0)
        dync__str_addf(&s, "Compile Times: %.3f ms\n", dync__float_shown(o->compile_ms));
    char *text = s.failed ? NULL : dync__scope_alloc(s.n + 1);
    if (text) memcpy(text, dync__str_get(&s), s.n);
    dync__str_free(&s);
    return text;
}

DYNC_API dync_counters dync_get_counters(void)
{
    dync_counters c;
    c.frames = DYNC__ATOMIC_PEEK(&dync__counters.frames);
    c.ops = DYNC__ATOMIC_PEEK(&dync__counters.ops);
    c.graphs = DYNC__ATOMIC_PEEK(&dync__counters.graphs);
    c.graph_breaks = DYNC__ATOMIC_PEEK(&dync__counters.graph_breaks);
    c.recompiles = DYNC__ATOMIC_PEEK(&dync__counters.recompiles);
    c.cache_hits = DYNC__ATOMIC_PEEK(&dync__counters.cache_hits) + (int64_t)dync__tls.cache_hits;
    c.cache_misses = DYNC__ATOMIC_PEEK(&dync__counters.cache_misses);
    c.autograd_captures = DYNC__ATOMIC_PEEK(&dync__counters.autograd_captures);
    c.autograd_compiles = DYNC__ATOMIC_PEEK(&dync__counters.autograd_compiles);
    c.lint_warnings = DYNC__ATOMIC_PEEK(&dync__counters.lint_warnings);
    return c;
}
