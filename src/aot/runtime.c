/* aot/runtime.c: what a call through compiled forward and backward graphs does around them: inputs on one memory get a base, inputs that
 * were written get their new values, outputs that are views are made as views, and for training one autograd node stands for the whole
 * (backward.c). After backward.c, before inductor/. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"

#if defined(DYNC__SPLIT)
dync_status (*dync__aot_inner_hook)(const dync__inner_compiler *, dync_graph *g, bool is_backward, const char *options, dync__inner *out);
#endif

/* Of activation memory, for every graph compiled from now on: dync_config_set("activation_memory_budget", ...). */
static double dync__aot_budget = 1;
DYNC__FN void dync__aot_set_budget(double budget) { dync__aot_budget = budget; }

/* ---- options -------------------------------------------------------------------------------------------------------------------- */
/* The value of an option: text up to the next comma; NULL where it is not given. */
static const char *dync__aot_option(const char *options, const char *key, size_t *n)
{
    for (const char *p = options; p && *p;) {
        p += strspn(p, ", ");
        size_t k = strcspn(p, "=, ");
        bool mine = k == strlen(key) && memcmp(p, key, k) == 0;
        const char *value = p[k] == '=' ? p + k + 1 : "";
        if (mine) return *n = strcspn(value, ", "), value;
        p += strcspn(p, ",");
    }
    return NULL;
}

static bool dync__option_is(const char *value, size_t n, const char *word) { return n == strlen(word) && memcmp(value, word, n) == 0; }

/* partition=min_cut|default, decompositions=needed|all, memory_budget=0..1 */
DYNC__FN dync_status dync__aot_options(const char *options, const dync__inner_compiler *inner, dync__aot_how *how)
{
    size_t n;
    *how = (dync__aot_how){.save_all = inner->save_all, .decompose = inner->decompose_all ? DYNC__DECOMPOSE_ALL : DYNC__DECOMPOSE_NEEDED,
                           .budget = dync__aot_budget};
    const char *v = dync__aot_option(options, "partition", &n);
    if (v && !dync__option_is(v, n, "default") && !dync__option_is(v, n, "min_cut"))
        return dync__fail(DYNC_ERR_VALUE, "options: partition: expected min_cut or default, got '%.*s'", (int)n, v);
    if (v) how->save_all = dync__option_is(v, n, "default");
    v = dync__aot_option(options, "decompositions", &n);
    if (v && !dync__option_is(v, n, "needed") && !dync__option_is(v, n, "all"))
        return dync__fail(DYNC_ERR_VALUE, "options: decompositions: expected needed or all, got '%.*s'", (int)n, v);
    if (v) how->decompose = dync__option_is(v, n, "all") ? DYNC__DECOMPOSE_ALL : DYNC__DECOMPOSE_NEEDED;
    v = dync__aot_option(options, "memory_budget", &n);
    const char *end = v;
    double budget = how->budget;
    if (v && (!dync__text_double(v, &end, &budget) || end != v + n || !(budget >= 0 && budget <= 1)))
        return dync__fail(DYNC_ERR_VALUE, "options: memory_budget: expected a number from 0 to 1, got '%.*s'", (int)n, v);
    how->budget = budget;
    return DYNC_OK;
}
/* ---- the code ------------------------------------------------------------------------------------------------------------------- */
DYNC__FN void dync__aot_code_unref(dync__aot_code *c)
{
    if (!c || DYNC__ATOMIC_DEC(&c->refs) > 0) return;
    if (c->fw.destroy) c->fw.destroy(c->fw.state);
    for (int i = 0; i < c->n_parts; i++) {
        if (c->part[i].run.destroy) c->part[i].run.destroy(c->part[i].run.state);
        dync_graph_free(c->part[i].bw);
        dync__free(c->part[i].saved, c->part[i].bytes);
    }
    dync__free(c->part, (size_t)c->n_parts * sizeof *c->part);
    dync__aot_graphs_free(&c->g);
    dync_graph_free(c->graph);
    dync_graph_free(c->original);
    dync__free(c, sizeof *c);
}

/* ---- inputs ---------------------------------------------------------------------------------------------------------------------- */
static bool dync__same_layout(const dync__layout *a, const dync__layout *b)
{
    size_t n = (size_t)a->ndim * sizeof *a->shape;
    return a->ndim == b->ndim && a->offset == b->offset && memcmp(a->shape, b->shape, n) == 0 && memcmp(a->stride, b->stride, n) == 0;
}

/* What stands for a group of inputs in this call; a row is made for it. NULL: these inputs share memory in another way, or no memory. */
static dync__tensor *dync__aot_base(const dync__aot_actual *a, dync__tensor *const *in)
{
    dync__tensor *x = in[a->from];
    if (a->kind == DYNC__AOT_FLAT) return dync__tensor_alias(x, x->dtype, &a->lay);
    dync__tensor *base = x->grad ? x->grad->base : NULL;
    return base && dync__same_layout(&base->lay, &a->lay) ? base : NULL;
}

static bool dync__aot_shares(const dync__aot_graphs *g, dync__tensor *const *in, dync__tensor *const *actual)
{
    for (int i = 0; i < g->n_inputs; i++) {
        const dync__aot_actual *a = &g->actual.at[i];
        if (a->same_as >= 0) {
            if (in[i] != in[a->same_as]) return false;
        } else if (a->group >= 0) {
            const dync__tensor *base = actual[a->group];
            if (!base || base->storage != in[i]->storage || !dync__same_layout(&in[i]->lay, &a->lay)) return false;
            bool on_base = g->actual.at[a->group].kind != DYNC__AOT_FLAT && base != in[i];
            if (on_base && !(in[i]->grad && in[i]->grad->base == base)) return false;
        }
    }
    return true;
}

typedef struct dync__aot_inputs {
    dync__tensor *few[2 * DYNC__FEW], **actual, **passed;
    int room;
} dync__aot_inputs;

static void dync__aot_inputs_end(const dync__aot_graphs *g, dync__aot_inputs *x)
{
    for (int i = g->n_inputs; i < g->actual.n; i++)
        if (g->actual.at[i].kind == DYNC__AOT_FLAT) dync__unref(x->actual[i]);
    dync__room_end(x->actual, x->few, x->room, sizeof *x->actual);
}

/* *plain: the inputs share memory in another way than the examples did. */
static dync_status dync__aot_inputs_begin(const dync__aot_graphs *g, dync__tensor *const *in, dync__aot_inputs *x, bool *plain)
{
    int k = 0;
    x->room = 2 * g->actual.n;
    x->actual = dync__room(x->few, DYNC__COUNT_OF(x->few), x->room, sizeof *x->actual);
    if (!x->actual) return DYNC_ERR_MEMORY;
    x->passed = x->actual + g->actual.n;
    memcpy(x->actual, in, (size_t)g->n_inputs * sizeof *x->actual);
    for (int i = g->n_inputs; i < g->actual.n; i++) {
        const dync__aot_actual *a = &g->actual.at[i];
        x->actual[i] = a->kind == DYNC__AOT_ATTR ? a->tensor : dync__aot_base(a, in);
    }
    *plain = !dync__aot_shares(g, in, x->actual);
    for (int i = 0; i < g->actual.n; i++)
        if (g->actual.at[i].passed) x->passed[k++] = x->actual[i];
    return DYNC_OK;
}

/* ---- results ------------------------------------------------------------------------------------------------------------------------ */
static dync_status dync__aot_write_back(const dync__aot_graphs *g, dync__tensor *const *actual, dync__tensor *const *fw_out)
{
    bool grad_off = dync__tls.grad_enabled_off;
    dync_status status = DYNC_OK;
    for (int i = 0; i < g->mutated.n && status == DYNC_OK; i++) {
        dync__arg args[2] = {dync__arg_t(actual[g->mutated.at[i].input]), dync__arg_t(fw_out[i])};
        dync__tensor *same = NULL;
        dync__tls.grad_enabled_off = !g->mutated.at[i].with_grad;
        status = dync__op_run(DYNC__OP_copy_, 2, args, &same);
        dync__unref(same);
    }
    dync__tls.grad_enabled_off = grad_off;
    return status;
}

/* Values that lie on the memory of something else take its place in fw_out. */
static dync_status dync__aot_place_values(const dync__aot_graphs *g, dync__tensor *const *actual, dync__tensor **fw_out)
{
    for (int k = 0; k < g->value.n; k++) {
        const dync__aot_value *v = &g->value.at[k];
        dync__tensor **value = &fw_out[g->mutated.n + k];
        if (v->over == DYNC__AOT_OWN || !*value) continue;
        const dync__tensor *on = v->over == DYNC__AOT_OVER_INPUT ? actual[v->index] : fw_out[g->mutated.n + v->index];
        if (!on) continue;
        dync__layout lay = v->lay;
        lay.offset += on->lay.offset;
        dync__tensor *t = dync__tensor_alias(on, (*value)->dtype, &lay);
        if (!t) return DYNC_ERR_MEMORY;
        dync__unref(*value);
        *value = t;
    }
    return DYNC_OK;
}

static dync_status dync__aot_view(dync__tensor *base, const dync__aot_out *o, dync__tensor **out)
{
    dync__layout lay = o->lay;
    lay.offset += base->lay.offset;
    if (o->mode == DYNC__AOT_DETACHED) return (*out = dync__tensor_alias(base, base->dtype, &lay)) ? DYNC_OK : DYNC_ERR_MEMORY;
    bool grad_off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = o->mode == DYNC__AOT_NO_GRAD;
    dync__arg args[4] = {dync__arg_t(base), dync__arg_dims(lay.ndim, lay.shape), dync__arg_dims(lay.ndim, lay.stride), dync__arg_i(lay.offset)};
    dync_status status = dync__op_run(DYNC__OP_as_strided, 4, args, out);
    dync__tls.grad_enabled_off = grad_off;
    return status;
}

static dync_status dync__aot_finish(const dync__aot_graphs *g, dync__tensor *const *actual, dync__tensor *const *fw_out, dync__tensor **out)
{
    for (int i = 0; i < g->out.n; i++) {
        const dync__aot_out *o = &g->out.at[i];
        bool of_input = o->kind == DYNC__AOT_INPUT || o->kind == DYNC__AOT_VIEW_OF_INPUT;
        dync__tensor *t = o->same_as >= 0 ? out[o->same_as] : of_input ? actual[o->index] : fw_out[g->mutated.n + o->index];
        if (!t) continue;                /* narrowed away */
        if (o->same_as >= 0 || o->kind == DYNC__AOT_INPUT || o->kind == DYNC__AOT_VALUE) dync__ref(out[i] = t);
        else DYNC__TRY(dync__aot_view(t, o, &out[i]));
    }
    return DYNC_OK;
}

/* ---- a call --------------------------------------------------------------------------------------------------------------------------- */
static dync_status dync__aot_call(dync__aot_code *c, dync__tensor *const *actual, dync__tensor *const *passed, dync__tensor **out)
{
    const dync__aot_graphs *g = &c->g;
    dync__tensor *few[DYNC__FEW], **fw_out = dync__room(few, DYNC__FEW, c->n_fw_out, sizeof *fw_out);
    if (!fw_out) return DYNC_ERR_MEMORY;
    memset(fw_out, 0, (size_t)c->n_fw_out * sizeof *fw_out);
    dync__aot_random random = {dync__tls.rng_seed, dync__tls.rng_offset};
    dync_status status = c->fw.run(c->fw.state, c->n_fw_in, passed, c->n_fw_out, fw_out);
    if (status == DYNC_OK) status = dync__aot_place_values(g, actual, fw_out);
    bool grad_off = dync__tls.grad_enabled_off;
    if (c->turns_grad_on) dync__tls.grad_enabled_off = false;
    if (status == DYNC_OK && g->training) status = dync__aot_attach(c, g->actual.n, actual, fw_out, fw_out + g->mutated.n + g->value.n, random);
    dync__tls.grad_enabled_off = grad_off;
    if (status == DYNC_OK && g->mutated.n) status = dync__aot_write_back(g, actual, fw_out);
    if (status == DYNC_OK) status = dync__aot_finish(g, actual, fw_out, out);
    for (int i = 0; i < c->n_fw_out; i++) dync__unref(fw_out[i]);
    dync__room_end(fw_out, few, c->n_fw_out, sizeof *fw_out);
    return status;
}

static dync_status dync__aot_run_plain(void *state, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out)
{
    return dync__graph_eval_flat(((dync__aot_code *)state)->graph, n_in, in, n_out, out);
}

static dync_status dync__aot_run(void *state, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out)
{
    dync__aot_code *c = state;
    const dync__aot_graphs *g = &c->g;
    if (n_in != g->n_inputs || n_out != g->out.n)
        return dync__fail(DYNC_ERR_VALUE, "a compiled graph takes %d tensors, got %d", g->n_inputs, n_in);
    if (g->plain_inputs) return dync__aot_call(c, in, in, out);
    dync__aot_inputs x;
    bool plain;
    DYNC__TRY(dync__aot_inputs_begin(g, in, &x, &plain));
    dync_status status = plain ? dync__aot_run_plain(state, n_in, in, n_out, out) : dync__aot_call(c, x.actual, x.passed, out);
    dync__aot_inputs_end(g, &x);
    return status;
}

/* ---- the graph as it is: what is not functionalised -------------------------------------------------------------------- */
static void dync__arg_take_tensors(const dync__arg *a, dync__tensor **out, int *k)
{
    if (a->kind == DYNC__A_TENSOR) out[(*k)++] = a->as.t;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++) dync__arg_take_tensors(&a->as.list[i], out, k);
}

DYNC__FN dync_status dync__graph_eval_flat(dync_graph *g, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out)
{
    dync__arena arena = {0};
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(n_in + 1) * sizeof *args), result;
    if (!args) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_in; i++) args[i] = dync__arg_t(in[i]);
    dync_status status = dync__graph_eval(g, args, n_in, &arena, &result);
    if (status == DYNC_OK && dync__arg_count_tensors(&result) != n_out) {
        status = dync__fail(DYNC_ERR_INTERNAL, "a graph gave %d tensors, expected %d", dync__arg_count_tensors(&result), n_out);
        dync__arg_release(&result);
    }
    int k = 0;
    if (status == DYNC_OK) dync__arg_take_tensors(&result, out, &k);
    dync__arena_free(&arena);
    return status;
}

static dync_status dync__inner_interpret_run(void *state, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out)
{
    bool grad_off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = true;
    dync_status status = dync__graph_eval_flat(state, n_in, in, n_out, out);
    dync__tls.grad_enabled_off = grad_off;
    return status;
}
static void dync__inner_interpret_destroy(void *state) { dync_graph_free(state); }
DYNC__FN dync_status dync__inner_interpret(void *user, dync_graph *g, bool is_backward, const char *options, dync__inner *out)
{
    (void)user, (void)is_backward, (void)options;
    memset(out, 0, sizeof *out);
    out->run = dync__inner_interpret_run;
    out->destroy = dync__inner_interpret_destroy;
    out->state = dync_graph_retain(g);
    return DYNC_OK;
}

/* ---- compiling -------------------------------------------------------------------------------------------------------------------------------- */
static void dync__aot_destroy(void *state) { dync__aot_code_unref(state); }

/* Only values of the forward graph can be narrowed, and only where there is no backward. */
static dync_status dync__aot_narrow(void *state, const bool *used)
{
    dync__aot_code *c = state;
    const dync__aot_graphs *g = &c->g;
    if (c->plain || g->training || !c->fw.narrow) return DYNC_OK;
    bool *fw_used = dync__calloc((size_t)c->n_fw_out + 1), *value = fw_used ? fw_used + g->mutated.n : NULL;
    if (!fw_used) return DYNC_ERR_MEMORY;
    memset(fw_used, true, (size_t)g->mutated.n);
    for (int i = 0; i < g->out.n; i++) {
        const dync__aot_out *o = &g->out.at[g->out.at[i].same_as >= 0 ? g->out.at[i].same_as : i];
        if (used[i] && (o->kind == DYNC__AOT_VALUE || o->kind == DYNC__AOT_VIEW_OF_VALUE)) value[o->index] = true;
    }
    for (int k = g->value.n - 1; k >= 0; k--)
        if (value[k] && g->value.at[k].over == DYNC__AOT_OVER_VALUE) value[g->value.at[k].index] = true;
    dync_status status = c->fw.narrow(c->fw.state, fw_used);
    dync__free(fw_used, (size_t)c->n_fw_out + 1);
    return status;
}

static bool dync__graph_turns_grad_on(const dync_graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]->op == DYNC__OP__set_grad_enabled && g->node.at[i]->args[0].as.i) return true;
    return false;
}

static void dync__aot_log(const dync__aot_graphs *g)
{
    for (int side = 0; side < 2; side++) {
        const dync_graph *graph = side ? g->bw : g->fw;
        int stage = side ? DYNC__LOG_backward : DYNC__LOG_forward;
        if (!graph || !(dync__log_on(stage) || dync__log_on(DYNC__LOG_aot))) continue;
        dync__str s = {0};
        dync__graph_print_c(&s, graph);
        dync__log_text(dync__log_on(stage) ? stage : DYNC__LOG_aot, side ? "backward" : "forward", dync__str_get(&s));
        dync__str_free(&s);
    }
}

/* What a call saves for backward, in a line. */
static void dync__aot_memory_text(const dync__aot_graphs *g, dync__str *s)
{
    if (!g->bw) return;
    dync__str_addf(s, "%d tensors saved for backward: %lld bytes, %lld of them inputs; %d operators computed again: %lld bytes", g->n_saved,
                   (long long)g->saved_bytes, (long long)g->saved_input_bytes, g->n_recomputed, (long long)g->recomputed_bytes);
}
static void dync__aot_report(const dync__aot_graphs *g)
{
    dync__str s = {0};
    if (!g->bw || !dync__log_on(DYNC__LOG_aot)) return;
    dync__aot_memory_text(g, &s);
    dync__log(DYNC__LOG_aot, "%s", dync__str_get(&s));
    dync__str_free(&s);
}

/* For explain: as the usual AOT backend would do it; nothing for a graph that it would not take. */
static void dync__aot_explain(dync_graph *graph, const dync_value *examples, dync__str *out)
{
    dync__aot_graphs g;
    dync__aot_how how = {.budget = dync__aot_budget};
    const char *why = NULL;
    dync__error_guard guard;
    if (graph->syms || dync__tls.grad_enabled_off || !dync__aot_wants_grad(graph, examples)) return;
    dync__error_guard_begin(&guard);
    if (dync__aot_trace(graph, examples, true, &how, &g, &why) == DYNC_OK) {
        dync__aot_memory_text(&g, out);
        dync__aot_graphs_free(&g);
    }
    (void)dync__error_guard_end(&guard);
}
DYNC__DATA void (*dync__explain_memory)(dync_graph *, const dync_value *, dync__str *) = dync__aot_explain;

/* Nothing to do around the forward graph: its outputs are the user's, each once and in order. */
static bool dync__aot_is_forward(const dync__aot_code *c)
{
    const dync__aot_graphs *g = &c->g;
    bool same = !g->training && g->plain_inputs && !g->mutated.n && g->out.n == c->n_fw_out && g->value.n == c->n_fw_out;
    for (int i = 0; same && i < g->out.n; i++)
        same = g->out.at[i].kind == DYNC__AOT_VALUE && g->out.at[i].index == i && g->value.at[i].over == DYNC__AOT_OWN;
    return same;
}

static dync_status dync__aot_inner_compile(const dync__inner_compiler *inner, dync_graph *g, bool is_backward, const char *options, dync__inner *out)
{
    dync_status (*hook)(const dync__inner_compiler *, dync_graph *, bool, const char *, dync__inner *) = DYNC__ATOMIC_PEEK(&dync__aot_inner_hook);
    return hook ? hook(inner, g, is_backward, options, out) : inner->compile(inner->user, g, is_backward, options, out);
}

static dync_status dync__aot_code_compile(dync__aot_code *c, const char *options, const dync__inner_compiler *inner)
{
    const dync__aot_graphs *g = &c->g;
    c->n_fw_in = g->fw->n_inputs;
    c->n_fw_out = g->mutated.n + g->value.n + g->n_saved;
    DYNC__TRY(dync__aot_parts(g, &c->n_parts, &c->part));
    dync__aot_log(g);
    dync__aot_report(g);
    DYNC__TRY(dync__aot_inner_compile(inner, g->fw, false, options, &c->fw));
    for (int i = 0; g->bw && i < c->n_parts; i++) DYNC__TRY(dync__aot_inner_compile(inner, c->part[i].bw, true, options, &c->part[i].run));
    if (dync__aot_is_forward(c)) c->head.raw = (dync__raw_callable){c->fw.run, c->fw.state, c->fw.run_into};
    return DYNC_OK;
}

static dync_status dync__aot_compile_sized(dync_graph *graph, const dync_value *examples, int n, const char *options, dync_callable *out, void *user)
{
    return dync__aot_compile(graph, examples, n, options, user, out);
}

DYNC__FN dync_status dync__aot_compile(dync_graph *graph, const dync_value *examples, int n, const char *options,
                                       const dync__inner_compiler *inner, dync_callable *out)
{
    if (dync__graph_takes_lists(graph)) return dync__unlist_compile(graph, examples, n, options, dync__aot_compile_sized, (void *)(uintptr_t)inner, out);
    if (graph->syms) return dync__sized_compile(graph, examples, n, options, dync__aot_compile_sized, (void *)(uintptr_t)inner, out);
    dync__aot_code *c = dync__calloc(sizeof *c);
    (void)n;
    if (!c) return DYNC_ERR_MEMORY;
    c->refs = 1;
    c->head.raw.run = dync__aot_run;
    c->head.raw.state = c;
    c->original = dync_graph_retain(graph);
    c->head.form = &graph->node.at[graph->node.n - 1]->args[0];
    c->head.n_out = dync__arg_count_tensors(c->head.form);
    c->head.compiled_from = c->original;
    dync_status made = DYNC_OK;
    if (dync__graph_has_numbers(graph)) made = dync__graph_numbers(graph, &c->graph);
    else c->graph = dync_graph_retain(graph);
    if (made != DYNC_OK) {
        dync__aot_code_unref(c);
        return made;
    }
    graph = c->graph;
    c->double_backward = dync__tls.double_backward;
    c->turns_grad_on = dync__graph_turns_grad_on(graph);
    bool training = (!dync__tls.grad_enabled_off || c->turns_grad_on) && dync__aot_wants_grad(graph, examples);
    dync__aot_how how;
    const char *why = NULL;
    dync_status status = dync__aot_options(options, inner, &how);
    if (status == DYNC_OK) status = dync__aot_trace(graph, examples, training, &how, &c->g, &why);
    if (status == DYNC_ERR_UNSUPPORTED) {
        dync__log(DYNC__LOG_aot, "graph runs operator by operator: %s", why ? why : "?");
        c->plain = true;
        c->head.raw.run = dync__aot_run_plain;
        status = DYNC_OK;
    } else if (status == DYNC_OK) {
        status = dync__aot_code_compile(c, options, inner);
    }
    if (status != DYNC_OK) {
        dync__aot_code_unref(c);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__raw_run;
    out->destroy = dync__aot_destroy;
    out->narrow = dync__aot_narrow;
    out->state = c;
    return DYNC_OK;
}
