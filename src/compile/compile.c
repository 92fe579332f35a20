/* compile/compile.c: wires the stages; the only file that knows them all.
 *
 *   dync_compile      callee, options, backend -> dync_compiled           capture/cache.c, backend/registry.c
 *   dync_call         guards -> entry, or trace -> segments               capture/
 *   segment           graph -> backend.compile                            backend/
 *   inductor          graph -> joint -> forward + backward                aot/
 *                     functional graph -> loops, kernel calls             inductor/lower.c, op/lower.c
 *                     -> fused, scheduled, planned -> code                runtime/plan.c, loop/, codegen/
 */
#include "../dync.in.h"
#include "../backend/backend.h"
#include "../program/program.h"

DYNC_API dync_compiled *dync_compile_opt(dync_callee callee, const char *fn_name, dync_compile_options options)
{
    if (!dync__callee_valid(&callee)) {
        dync__fail(DYNC_ERR_VALUE, "dync_compile: the function is NULL");
        return NULL;
    }
    dync_compiled *inner = dync__callee_compiled(&callee);
    if (inner) {                                          /* peeled off: the new backend replaces the old */
        if (!options.args) options.args = inner->args;
        if (!options.name) options.name = inner->name;
        callee = inner->callee;
    }
    const dync_backend *backend = options.backend_object;
    if (!backend) backend = dync_lookup_backend(options.backend ? options.backend : "inductor");
    if (!backend) return NULL;
    if (!backend->compile) {
        dync__fail(DYNC_ERR_VALUE, "dync_compile: backend '%s' has no compile function", backend->name ? backend->name : "?");
        return NULL;
    }
    if (options.recompile_limit < 0) {
        dync__fail(DYNC_ERR_VALUE, "dync_compile: recompile_limit is %d, expected 0 (the default) or more", options.recompile_limit);
        return NULL;
    }
    if (options.recompile_limit == 0) options.recompile_limit = 8;
    dync__capture_install();
    dync__at_shutdown(dync__compiled_free_all);
    return dync__compiled_new(callee, fn_name, &options, backend);
}

/* ---- modules -------------------------------------------------------------------------------------------------------------------- */
static dync_value dync__compile_call_module(dync_module *m, int nargs, const dync_value *args)
{
    return dync_call_values(m->compiled, nargs, args);
}
static void dync__compile_drop_module(dync_module *m)
{
    dync__capture_forget_module(m);
    dync_compiled_free(m->compiled);
    m->compiled = NULL;
}

DYNC_API void dync_module_compile_opt(dync_module *m, const char *name, dync_compile_options options)
{
    if (!m) {
        if (dync_error() == DYNC_OK) dync__fail(DYNC_ERR_VALUE, "dync_module_compile: the module is NULL");
        return;
    }
    dync__module_call_compiled = dync__compile_call_module;
    dync__module_drop_compiled = dync__compile_drop_module;
    if (!options.args && !m->args) options.args = "x";
    dync_compiled *f = dync_compile_opt(dync_fnm(m), name, options);
    if (!f) return;
    dync_compiled_free(m->compiled);
    m->compiled = f;
}

/* ---- a function as one graph: make_graph, export ------------------------------------------------------------------------------------ */
typedef struct dync__grab { dync_graph *graph; int graphs; } dync__grab;
static dync_value dync__grab_run(void *state, const dync_value *args, int nargs) { return dync_graph_run(state, args, nargs); }
static dync_status dync__grab_compile(dync_graph *g, const dync_value *ex, int n, const char *options, dync_callable *out, void *user)
{
    dync__grab *grab = user;
    (void)ex, (void)n, (void)options;
    if (grab->graphs++ == 0) grab->graph = dync_graph_retain(g);
    memset(out, 0, sizeof *out);
    out->run = dync__grab_run;
    out->state = g;
    return DYNC_OK;
}

/* Captures fn whole, in grad mode `grad`; the graph has one reference, NULL + error. */
static dync_graph *dync__capture_whole(dync_callee callee, const char *name, int nargs, const dync_value *args, bool grad)
{
    dync__grab grab = {0};
    dync_backend backend = {.name = "make_graph", .compile = dync__grab_compile, .user = &grab};
    dync_compile_options opt = {.backend_object = &backend, .fullgraph = true};
    dync_compiled *f = dync_compile_opt(callee, name, opt);
    if (!f) return NULL;
    bool grad_off = dync__tls.grad_enabled_off;
    if (!grad) dync__tls.grad_enabled_off = true;
    dync_scope scope = dync_scope_begin();
    uint64_t errors = dync__error_count();
    dync_call_values(f, nargs, args);
    bool failed = dync__error_count() != errors && dync_error() != DYNC_OK;
    dync_scope_end(&scope);
    dync__tls.grad_enabled_off = grad_off;
    dync_compiled_free(f);
    if (!failed && grab.graph) return grab.graph;
    dync_graph_free(grab.graph);
    if (!failed) dync__fail(DYNC_ERR_UNSUPPORTED, "%s makes no operator call: there is no graph of it", name ? name : "the function");
    return NULL;
}

static void dync__graph_release(void *g) { dync_graph_free(g); }

/* make_fx names: the argument's name and _1; the class is the function's name. */
static void dync__graph_name_inputs(dync_graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        dync_node *n = g->node.at[i];
        if (n->kind != DYNC__N_PLACEHOLDER || !n->source) continue;
        const char *open = strchr(n->source, '\''), *close = open ? strchr(open + 1, '\'') : NULL;
        char name[80];
        if (!close) continue;
        dync__format(name, sizeof name, "%.*s_1", (int)(close - open - 1), open + 1);
        if (dync__graph_rename(g, n, name)) n->target = n->name;
    }
}

DYNC_API dync_graph *dync_make_graph_values(dync_callee callee, const char *name, int nargs, const dync_value *args)
{
    dync_graph *g = dync__capture_whole(callee, name, nargs, args, true);
    if (!g) return NULL;
    const char *shown = callee.name ? callee.name : name;
    g->name = dync__arena_strdup(&g->arena, shown ? shown : "GraphModule");
    if (!g->name) g->name = "GraphModule";
    dync__graph_name_inputs(g);
    if (dync__scope_defer(dync__graph_release, g)) return g;
    dync_graph_free(g);
    return NULL;
}

DYNC_API dync_program *dync_export_values(dync_callee callee, const char *name, int nargs, const dync_value *args)
{
    dync_graph *g = dync__capture_whole(callee, name, nargs, args, false);
    if (!g) return NULL;
    dync_program *p = dync__program_from_graph(g, callee.name ? callee.name : name);
    dync_graph_free(g);
    return p;
}

/* ---- names of values ------------------------------------------------------------------------------------------------------------------- */
DYNC_API dync_tensor *dync_named(const char *name, dync_tensor *h)
{
    dync__tensor *t = h ? dync__open(h) : NULL;
    if (!t || !name) return h;
    if (t->node && dync__tls.compiling) dync__graph_rename(t->node->graph, t->node, name);
    const char *kept = dync__intern(name);
    if (kept) t->name = kept;
    return h;
}
