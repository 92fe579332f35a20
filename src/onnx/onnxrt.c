/* onnx/onnxrt.c: backend onnxrt: the graphs of AOT autograd as ONNX models, run by ONNX Runtime.
 * After ort.c.
 *
 * A graph is one session where all of its operators can be written and have kernels. Else it is cut
 * at those that do not (graph/split.c): the parts between are sessions, the rest is run by dync, in
 * order; dync_explain_backend and the log tell which. A session is made for one set of sizes: AOT
 * keeps one for each. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "ort.h"
DYNC__COLD

/* A part: in and out are places among the values of a run. */
typedef struct dync__ort_part {
    dync__ort_session *session; /* NULL: dync runs it */
    dync__inner inner;
    int n_in, n_out;
    int *in, *out;
    const char **in_name, **out_name;
    dync__info *info; /* of the results */
} dync__ort_part;
typedef struct dync__ort_code {
    const dync__ort *ort;
    dync__arena arena;
    int n_parts, n_values, n_in, n_out;
    dync__ort_part *part;
    int *last; /* by value: the last part that reads it; n_parts: it is a result */
} dync__ort_code;

/* ---- running --------------------------------------------------------------------------------- */

/* value: by number, owned; the part's results are put there. */
static dync_status dync__ort_part_run(const dync__ort_code *c, const dync__ort_part *p,
                                      dync__tensor **value)
{
    size_t n = (size_t)(p->n_in + p->n_out + 1);
    dync__tensor **io = dync__calloc(n * sizeof *io);
    if (!io) return DYNC_ERR_MEMORY;
    dync__tensor **out = io + p->n_in;
    for (int i = 0; i < p->n_in; i++) io[i] = value[p->in[i]];
    dync_status status = p->session ? dync__ort_run(c->ort, p->session, p->n_in, p->in_name, io,
                                                    p->n_out, p->out_name, p->info, out)
                                    : p->inner.run(p->inner.state, p->n_in, io, p->n_out, out);
    for (int i = 0; i < p->n_out && status == DYNC_OK; i++) value[p->out[i]] = out[i];
    dync__free(io, n * sizeof *io);
    return status;
}

/* Parts in order; a value goes as soon as its last reader has run. An input counts as read last
 * there, too: each has a reference of its own. */
static dync_status dync__ort_code_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                      dync__tensor **out)
{
    const dync__ort_code *c = state;
    size_t n = (size_t)(c->n_values + 1);
    dync__tensor **value = dync__calloc(n * sizeof *value);
    dync_status status = value ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < n_in && value; i++) dync__ref(value[i] = in[i]);
    for (int k = 0; k < c->n_parts && status == DYNC_OK; k++) {
        status = dync__ort_part_run(c, &c->part[k], value);
        for (int i = 0; i < c->n_values; i++) {
            if (c->last[i] != k) continue;
            dync__unref(value[i]);
            value[i] = NULL;
        }
    }
    /* the last part's results are the graph's, in order */
    const dync__ort_part *p = &c->part[c->n_parts - 1];
    for (int i = 0; i < n_out; i++) {
        out[i] = status == DYNC_OK ? value[p->out[i]] : NULL;
        if (status == DYNC_OK) value[p->out[i]] = NULL;
    }
    for (int i = 0; value && i < c->n_values; i++) dync__unref(value[i]);
    dync__free(value, n * sizeof *value);
    return status;
}

static void dync__ort_code_free(void *state)
{
    dync__ort_code *c = state;
    for (int k = 0; k < c->n_parts; k++) {
        if (c->part[k].session) c->ort->release_session(c->part[k].session);
        if (c->part[k].inner.destroy) c->part[k].inner.destroy(c->part[k].inner.state);
    }
    dync__arena_free(&c->arena);
    dync__free(c, sizeof *c);
}

/* ---- one part -------------------------------------------------------------------------------- */

static const dync__info *dync__ort_info(const dync__node *n)
{
    return n->op == DYNC__NODE_GETITEM ? &n->args[0].as.node->info[n->args[1].as.i] : &n->info[0];
}

/* The result is a flat list of values, as AOT's graphs give it. */
static const dync__arg *dync__ort_results(const dync__graph *g, int *n)
{
    const dync__arg *a = &g->node.at[g->node.n - 1]->args[0];
    *n = a->kind == DYNC__A_LIST ? a->n : 1;
    return a->kind == DYNC__A_LIST ? a->as.list : a;
}

/* A session, or DYNC_ERR_UNSUPPORTED, not recorded: node `*lacks` has no kernel. */
static dync_status dync__ort_part_session(dync__ort_code *c, const dync__graph *g,
                                          const dync__options *options, dync__ort_part *p,
                                          char node[128])
{
    dync__arena arena = {0};
    dync__onnx_model *model = NULL;
    dync_status status = dync__ox_model(&arena, g, g->name, false, NULL, &model);
    if (status == DYNC_OK) status = dync__ort_session_of(c->ort, model, options, node, &p->session);
    p->in_name = dync__arena_alloc(&c->arena, (size_t)(p->n_in + 1) * sizeof *p->in_name);
    p->out_name = dync__arena_alloc(&c->arena, (size_t)(p->n_out + 1) * sizeof *p->out_name);
    if (!p->in_name || !p->out_name) status = DYNC_ERR_MEMORY;
    for (int i = 0; i < p->n_in && status == DYNC_OK; i++)
        p->in_name[i] = dync__arena_strdup(&c->arena, model->graph->input.at[i]->name);
    for (int i = 0; i < p->n_out && status == DYNC_OK; i++)
        p->out_name[i] = dync__arena_strdup(&c->arena, model->graph->output.at[i]->name);
    dync__arena_free(&arena);
    return status;
}

/* Values of the whole are numbered by name; those that are new get the next numbers. */
typedef struct dync__ort_names {
    DYNC__VEC(const char *) name;
} dync__ort_names;

/* The number of a value by its name; fresh: a new one, whatever has that name. -1: no memory. */
static int dync__ort_number(dync__ort_code *c, dync__ort_names *names, const char *name, bool fresh)
{
    for (int i = 0; i < names->name.n && !fresh; i++)
        if (strcmp(names->name.at[i], name) == 0) return i;
    return dync__avec_push(&c->arena, &names->name, name) ? names->name.n - 1 : -1;
}

static dync_status dync__ort_part_values(dync__ort_code *c, dync__ort_names *names,
                                         const dync__graph *g, bool last, dync__ort_part *p)
{
    const dync__arg *result = dync__ort_results(g, &p->n_out);
    p->n_in = g->n_inputs;
    p->in = dync__arena_alloc(&c->arena, (size_t)(p->n_in + 1) * sizeof *p->in);
    p->out = dync__arena_alloc(&c->arena, (size_t)(p->n_out + 1) * sizeof *p->out);
    p->info = dync__arena_alloc(&c->arena, (size_t)(p->n_out + 1) * sizeof *p->info);
    if (!p->in || !p->out || !p->info) return DYNC_ERR_MEMORY;
    for (int i = 0; i < p->n_in; i++)
        p->in[i] = dync__ort_number(c, names, g->node.at[i]->name, false);
    for (int i = 0; i < p->n_out; i++) {
        if (result[i].kind != DYNC__A_NODE)
            return dync__fail(DYNC_ERR_INTERNAL, "onnxrt: a result is no tensor");
        p->info[i] = *dync__ort_info(result[i].as.node);
        p->out[i] = dync__ort_number(c, names, result[i].as.node->name, true);
        if (p->out[i] < 0) return DYNC_ERR_MEMORY;
    }
    (void)last;
    return DYNC_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct dync__ort_cut {
    const dync__graph *graph;
    bool *refused; /* by node */
} dync__ort_cut;

/* A node by its name, without what the writer puts behind it. */
static int dync__ort_node(const dync__graph *g, const char *name)
{
    size_t n = strcspn(name, ".");
    for (int i = 0; i < g->node.n; i++)
        if (strlen(g->node.at[i]->name) == n && memcmp(g->node.at[i]->name, name, n) == 0) return i;
    return -1;
}

static bool dync__ort_pick(const dync_node *node, void *user)
{
    const dync__ort_cut *cut = user;
    int i = dync__ort_node(cut->graph, dync_node_name(node));
    return i >= 0 && cut->refused[i];
}

/* Items go with what they are items of. */
static bool dync__ort_refused(const dync__graph *g, bool *refused)
{
    bool any = false;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (n->op == DYNC__NODE_GETITEM) refused[i] = refused[n->args[0].as.node->index];
        any = any || refused[i];
    }
    return any;
}

/* What dync runs, for explain and the log. */
static void dync__ort_tell(const dync__graph *g, const bool *refused, int n_parts)
{
    dync__str s = {0};
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (!refused[i] || n->op < 0) continue;
        dync__str_addf(&s, "%s%s", s.n ? ", " : "", dync__op_info(n->op)->name);
        if (n->at.file) dync__str_addf(&s, " (%s:%d)", n->at.file, n->at.line);
    }
    dync__log(DYNC__LOG_aot, "onnxrt: %d parts; dync runs %s", n_parts, dync__str_get(&s));
    dync__backend_note("onnxrt: %d parts; dync runs %s", n_parts, dync__str_get(&s));
    dync__str_free(&s);
}

static dync_status dync__ort_part_make(dync__ort_code *c, dync__graph *g, bool by_dync,
                                       const dync__options *options, dync__ort_part *p,
                                       char node[128])
{
    if (by_dync) return dync__inner_interpret(NULL, g, false, options, &p->inner);
    return dync__ort_part_session(c, g, options, p, node);
}

/* Which parts read a value last. */
static dync_status dync__ort_lives(dync__ort_code *c, int n_values)
{
    c->n_values = n_values;
    c->last = dync__arena_alloc(&c->arena, (size_t)(n_values + 1) * sizeof *c->last);
    if (!c->last) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_values; i++) c->last[i] = c->n_parts;
    for (int k = 0; k < c->n_parts; k++)
        for (int i = 0; i < c->part[k].n_in; i++) c->last[c->part[k].in[i]] = k;
    return DYNC_OK;
}

static dync_status dync__ort_parts(dync__ort_code *c, dync__graph *g, bool *refused,
                                   const dync__options *options, char node[128])
{
    dync__ort_cut cut = {g, refused};
    dync__ort_names names = {0};
    bool any = dync__ort_refused(g, refused);
    int n = g->node.n;
    dync_graph **handle = dync__arena_alloc(&c->arena, (size_t)(n + 1) * sizeof *handle);
    if (!handle) return DYNC_ERR_MEMORY;
    if (any) DYNC__TRY(dync_graph_split(dync__graph_handle(g), dync__ort_pick, &cut, handle, &n));
    if (!any) n = 1;
    c->n_parts = n;
    c->part = dync__arena_alloc(&c->arena, (size_t)n * sizeof *c->part);
    dync_status status = c->part ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < g->n_inputs && status == DYNC_OK; i++)
        if (dync__ort_number(c, &names, g->node.at[i]->name, true) < 0) status = DYNC_ERR_MEMORY;
    for (int k = 0; k < n && status == DYNC_OK; k++) {
        dync__graph *part = any ? dync__graph_open(handle[k], "onnxrt") : g;
        bool by_dync = false;
        for (int i = 0; any && i < part->node.n; i++) {
            int at = dync__node_is_call(part->node.at[i])
                         ? dync__ort_node(g, part->node.at[i]->name)
                         : -1;
            by_dync = by_dync || (at >= 0 && refused[at]);
        }
        status = dync__ort_part_values(c, &names, part, k == n - 1, &c->part[k]);
        if (status == DYNC_OK)
            status = dync__ort_part_make(c, part, by_dync, options, &c->part[k], node);
    }
    for (int k = 0; any && k < n; k++) dync_graph_free(handle[k]);
    if (status == DYNC_OK) status = dync__ort_lives(c, names.name.n);
    if (status == DYNC_OK && any) dync__ort_tell(g, refused, n);
    return status;
}

/* What the writer refuses, and then each node that turns out to have no kernel, is left to dync. */
static dync_status dync__ort_compile_graph(dync__ort_code **out, dync__graph *g, bool *refused,
                                           const dync__options *options)
{
    const dync__ort *ort;
    DYNC__TRY(dync__ort_open(&ort));
    for (int left = g->node.n; left >= 0; left--) {
        char node[128] = "";
        dync__ort_code *c = dync__calloc(sizeof *c);
        if (!c) return DYNC_ERR_MEMORY;
        c->ort = ort;
        dync_status status = dync__ort_parts(c, g, refused, options, node);
        *out = c;
        if (status == DYNC_OK) return DYNC_OK;
        dync__ort_code_free(c);
        int lacking = *node ? dync__ort_node(g, node) : -1;
        if (status != DYNC_ERR_UNSUPPORTED || lacking < 0 || refused[lacking]) return status;
        refused[lacking] = true;
    }
    return dync__fail(DYNC_ERR_INTERNAL, "onnxrt: no end of nodes without kernels");
}

static dync_status dync__ort_compile(void *user, dync__graph *g, bool is_backward,
                                     const dync__options *options, dync__inner *out)
{
    (void)user, (void)is_backward;
    dync__arena arena = {0};
    dync__onnx_model *model;
    dync__ort_code *code = NULL;
    dync__graph_renumber(g);
    bool *refused = dync__calloc((size_t)g->node.n + 1);
    dync_status status = refused ? dync__ox_model(&arena, g, g->name, false, refused, &model)
                                 : DYNC_ERR_MEMORY;
    dync__arena_free(&arena);
    if (status == DYNC_OK) status = dync__ort_compile_graph(&code, g, refused, options);
    dync__free(refused, (size_t)g->node.n + 1);
    if (status != DYNC_OK) return status;
    memset(out, 0, sizeof *out);
    out->run = dync__ort_code_run;
    out->destroy = dync__ort_code_free;
    out->state = code;
    return DYNC_OK;
}

DYNC__FN dync_status dync__backend_onnxrt(dync_graph *graph, const dync_value *ex, int n,
                                          const char *options, dync_callable *out, void *user)
{
    static const dync__inner_compiler inner = {.compile = dync__ort_compile,
                                               .keeps = dync__ox_keeps};
    const dync__ort *ort;
    dync__options o;
    dync__graph *g = dync__graph_open(graph, "backend onnxrt");
    (void)user;
    if (!g) return DYNC_ERR_VALUE;
    DYNC__TRY(dync__backend_options(dync__backend_onnxrt, options, &o));
    DYNC__TRY(dync__ort_open(&ort));
    return dync__aot_compile(g, ex, n, &o, &inner, out);
}
#endif
