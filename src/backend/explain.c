/* backend/explain.c: dync_explain_backend: counts and keeps the graphs it is given and hands them
 * to another backend. After registry.c; capture/explain.c fills and prints the output.
 *
 * What it collects belongs to the scope in which it was made, as dync_explain's output does. The
 * record itself stays until dync_shutdown: a function compiled with the backend may outlive the
 * scope, and then nothing more is collected. */
#include "../dync.in.h"
#include "backend.h"
#include "../capture/trace.h"
DYNC__COLD

typedef struct dync__explainer {
    char *inner;              /* name of the backend that compiles */
    dync_explain_output *out; /* the user's; NULL once the scope has ended */
    dync__arena arena;        /* the output's texts */
    DYNC__VEC(dync_explain_break) breaks;
    DYNC__VEC(const char *) graphs;
    DYNC__VEC(const char *) notes;
    struct dync__explainer *next;
} dync__explainer;
/* Process-wide list of records, and the lock for what they collect: functions may be compiled by
 * several threads. */
static struct {
    dync__mutex lock;
    dync__explainer *first;
} dync__explainers;

/* The end of the scope that owns the output: its texts go, the user's struct is not touched any
 * more. */
static void dync__explainer_close(void *record)
{
    dync__explainer *e = record;
    e->out = NULL;
    dync__vec_free(&e->breaks);
    dync__vec_free(&e->graphs);
    dync__vec_free(&e->notes);
    dync__arena_free(&e->arena);
}

static void dync__explainer_free(dync__explainer *e)
{
    dync__explainer_close(e);
    dync__strfree(e->inner);
    dync__free(e, sizeof *e);
}

static void dync__explainers_free(void)
{
    while (dync__explainers.first) {
        dync__explainer *e = dync__explainers.first;
        dync__explainers.first = e->next;
        dync__explainer_free(e);
    }
}

/* The break that ends this graph, where one does. */
static bool dync__explainer_break(dync__explainer *e)
{
    const dync__tracer *t = dync__tracer_peek();
    if (!t || !t->cut.reason) return true;
    dync__str stack = {0};
    dync__trace_stack(t, &stack);
    dync_explain_break b = {dync__arena_strdup(&e->arena, t->cut.reason),
                            dync__arena_strdup(&e->arena, dync__str_get(&stack))};
    bool ok = !stack.failed && b.reason && b.stack && dync__vec_push(&e->breaks, b);
    dync__str_free(&stack);
    return ok;
}

/* What a backend says while it compiles a graph: lines. */
static DYNC__TLS dync__str *dync__explainer_said;
DYNC__FN void dync__backend_note(const char *fmt, ...)
{
    va_list list;
    if (!dync__explainer_said) return;
    if (dync__explainer_said->n) dync__str_addc(dync__explainer_said, '\n');
    va_start(list, fmt);
    dync__str_addv(dync__explainer_said, fmt, list);
    va_end(list);
}

/* What the inner backend says by dync__backend_note while it compiles becomes one text of notes. */
static dync_status dync__explainer_inner(dync__explainer *e, const dync_backend *inner,
                                         dync_graph *graph, const dync_value *ex, int n,
                                         const char *options, dync_callable *out)
{
    dync__str said = {0}, *before = dync__explainer_said;
    dync__explainer_said = &said;
    dync_status status = inner->compile(graph, ex, n, options, out, inner->user);
    dync__explainer_said = before;
    dync__lock(&dync__explainers.lock);
    const char *kept = e->out ? dync__arena_strdup(&e->arena, dync__str_get(&said)) : NULL;
    if (kept && dync__vec_push(&e->notes, kept)) e->out->notes = e->notes.at;
    dync__unlock(&dync__explainers.lock);
    dync__str_free(&said);
    return status;
}

/* dync_explain of a function that is compiled by a backend which leaves operators to dync: the
 * graph is compiled by it and dropped. A failure is what it says. */
static bool dync__explain_backend_says(const dync_backend *b, const char *options,
                                       dync_graph *graph, const dync_value *ex, int n,
                                       dync__str *out)
{
    dync_callable made = {0};
    dync__str *before = dync__explainer_said;
    dync__error_guard guard;
    if (!b->name || (strcmp(b->name, "onnxrt") != 0 && strcmp(b->name, "tvm") != 0)) return false;
    dync__error_guard_begin(&guard);
    dync__explainer_said = out;
    dync_status status = b->compile(graph, ex, n, options ? options : "", &made, b->user);
    dync__explainer_said = before;
    if (status != DYNC_OK)
        dync__str_add(out, dync_error_message());
    else if (made.destroy)
        made.destroy(made.state);
    (void)dync__error_guard_end(&guard);
    return true;
}
DYNC__DATA bool (*dync__explain_notes)(const dync_backend *, const char *, dync_graph *,
                                       const dync_value *, int,
                                       dync__str *) = dync__explain_backend_says;

/* Keeps the graph's C form. */
static bool dync__explainer_graph(dync__explainer *e, const dync__graph *g)
{
    dync__str text = {0};
    dync__graph_print_c(&text, g);
    const char *kept = text.failed ? NULL : dync__arena_strdup(&e->arena, dync__str_get(&text));
    bool ok = kept && dync__vec_push(&e->graphs, kept);
    dync__str_free(&text);
    return ok;
}

/* The output's arrays move as they grow: it is told anew each time. */
static dync_status dync__explainer_collect(dync__explainer *e, const dync__graph *g)
{
    if (!e->out) return DYNC_OK;
    if (!dync__explainer_graph(e, g) || !dync__explainer_break(e)) return DYNC_ERR_MEMORY;
    e->out->graph_count = e->graphs.n;
    e->out->graph_break_count = e->graphs.n - 1;
    e->out->op_count += dync__graph_op_count(g);
    e->out->nbreaks = e->breaks.n;
    e->out->breaks = e->breaks.at;
    e->out->graphs = e->graphs.at;
    return DYNC_OK;
}

static dync_status dync__explainer_compile(dync_graph *graph, const dync_value *ex, int n,
                                           const char *options, dync_callable *out, void *user)
{
    dync__explainer *e = user;
    if (!e) return dync__fail(DYNC_ERR_VALUE, "dync_explain_backend: the output is NULL");
    const dync_backend *inner = dync_lookup_backend(e->inner);
    const dync__graph *g = dync__graph_open(graph, "dync_explain_backend");
    if (!inner || !g) return DYNC_ERR_VALUE;
    dync__lock(&dync__explainers.lock);
    dync_status status = dync__explainer_collect(e, g);
    dync__unlock(&dync__explainers.lock);
    return status == DYNC_OK ? dync__explainer_inner(e, inner, graph, ex, n, options, out) : status;
}

/* On failure the backend has no user and refuses every graph. */
DYNC_API dync_backend dync_explain_backend(const char *inner, struct dync_explain_output *out)
{
    dync_backend b = {.name = "explain", .compile = dync__explainer_compile};
    if (!out) {
        dync__fail(DYNC_ERR_VALUE, "dync_explain_backend: expected an output to fill, got NULL");
        return b;
    }
    memset(out, 0, sizeof *out);
    dync__explainer *e = dync__calloc(sizeof *e);
    if (!e) return b;
    e->inner = dync__strdup(inner ? inner : "inductor");
    if (!e->inner || !dync__scope_defer(dync__explainer_close, e)) {
        dync__explainer_free(e);
        return b;
    }
    e->out = out;
    dync__at_shutdown(dync__explainers_free);
    dync__lock(&dync__explainers.lock);
    e->next = dync__explainers.first;
    dync__explainers.first = e;
    dync__unlock(&dync__explainers.lock);
    b.user = e;
    return b;
}
