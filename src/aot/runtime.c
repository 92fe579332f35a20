/* aot/runtime.c: what a call through compiled forward and backward graphs does around them: inputs
 * on one memory get a base, inputs that were written get their new values, outputs that are views
 * are made as views, and for training one autograd node stands for the whole (backward.c). After
 * backward.c, before inductor/. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"

DYNC__DATA dync_status (*dync__aot_inner_hook)(const dync__inner_compiler *, dync__graph *g,
                                               bool is_backward, const dync__options *options,
                                               dync__inner *out) = NULL;

/* Of activation memory, for every graph compiled from now on:
 * dync_config_set("activation_memory_budget", ...). */
/* 1 less the budget, so that zero is the default */
static struct {
    dync__mutex lock;
    double saved;
} dync__aot_budget;
DYNC__RARE DYNC__FN void dync__aot_set_budget(double budget)
{
    dync__lock(&dync__aot_budget.lock);
    dync__aot_budget.saved = 1 - budget;
    dync__unlock(&dync__aot_budget.lock);
}
DYNC__RARE static double dync__aot_budget_now(void)
{
    dync__lock(&dync__aot_budget.lock);
    double budget = 1 - dync__aot_budget.saved;
    dync__unlock(&dync__aot_budget.lock);
    return budget;
}

/* ---- options --------------------------------------------------------------------------------- */
DYNC__FN bool dync__options_copy(dync__options *o, const dync__options *from)
{
    *o = *from;
    o->text = *from->text ? dync__strdup(from->text) : "";
    return o->text != NULL;
}
DYNC__FN void dync__options_free(dync__options *o)
{
    if (o->text && *o->text) dync__strfree((char *)(uintptr_t)o->text);
    o->text = NULL;
}

/* What the options ask for, else the compiler, else the library's setting. */
static dync__aot_how dync__aot_how_of(const dync__options *o, const dync__inner_compiler *inner)
{
    bool save_all = o->partition >= 0 ? o->partition == 1 : inner->save_all,
         all = o->decompositions >= 0 ? o->decompositions == 1 : inner->decompose_all;
    return (dync__aot_how){.save_all = save_all,
                           .decompose = all ? DYNC__DECOMPOSE_ALL : DYNC__DECOMPOSE_NEEDED,
                           .budget = o->memory_budget >= 0 ? o->memory_budget
                                                           : dync__aot_budget_now()};
}

/* ---- the code -------------------------------------------------------------------------------- */
DYNC__FN void dync__aot_code_unref(dync__aot_code *c)
{
    if (!c || DYNC__ATOMIC_DEC(&c->refs) > 0) return;
    if (c->fw.destroy) c->fw.destroy(c->fw.state);
    for (int i = 0; i < c->n_parts; i++) {
        if (c->part[i].run.destroy) c->part[i].run.destroy(c->part[i].run.state);
        dync__graph_unref(c->part[i].bw);
        dync__free(c->part[i].depends, (size_t)c->part[i].n_grads * (size_t)c->part[i].n_tangents);
        dync__free(c->part[i].saved, c->part[i].bytes);
    }
    dync__free(c->part, (size_t)c->n_parts * sizeof *c->part);
    dync__aot_graphs_free(&c->g);
    dync__graph_unref(c->graph);
    dync__graph_unref(c->original);
    if (c->value) dync__free(c->value, (size_t)c->form->syms->symbol.n * sizeof *c->value + 1);
    dync__aot_code_unref(c->form);
    dync__symtab_free(c->syms);
    dync__aot_tail_free(c->tail);
    dync__free(c, sizeof *c);
}

/* ---- inputs ---------------------------------------------------------------------------------- */
/* What stands for a group of inputs in this call; a row is made for it. NULL: these inputs share
 * memory in another way, or no memory. */
DYNC__RARE static dync__tensor *dync__aot_base(const dync__aot_actual *a, dync__tensor *const *in)
{
    dync__tensor *x = in[a->from];
    if (a->kind == DYNC__AOT_FLAT) return dync__tensor_alias(x, x->dtype, &a->lay);
    dync__tensor *base = x->grad ? x->grad->base : NULL;
    return base && dync__layout_equal(&base->lay, &a->lay) ? base : NULL;
}

/* A hook on the way from a view to its base, which a joint graph of the base would pass by. */
static bool dync__aot_hooked(const dync__tensor *x, const dync__tensor *base)
{
    const dync__gnode *n = x->grad->node, *end = base->grad ? base->grad->node : NULL;
    for (; n && n != end; n = n->n_in ? n->edge[0].node : NULL)
        if (n->hook.n) return true;
    return false;
}

DYNC__RARE static bool dync__aot_shares(const dync__aot_graphs *g, dync__tensor *const *in,
                                        dync__tensor *const *actual)
{
    for (int i = 0; i < g->n_inputs; i++) {
        const dync__aot_actual *a = &g->actual.at[i];
        if (a->same_as >= 0) {
            if (in[i] != in[a->same_as]) return false;
        } else if (a->group >= 0) {
            const dync__tensor *base = actual[a->group];
            if (!base || base->storage != in[i]->storage ||
                !dync__layout_equal(&in[i]->lay, &a->lay))
                return false;
            bool on_base = g->actual.at[a->group].kind != DYNC__AOT_FLAT && base != in[i];
            if (on_base && dync__aot_views(in[i], base) == a->apart) return false;
            if (on_base && !a->apart && dync__aot_hooked(in[i], base)) return false;
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
static dync_status dync__aot_inputs_begin(const dync__aot_graphs *g, dync__tensor *const *in,
                                          dync__aot_inputs *x, bool *plain)
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

/* ---- results --------------------------------------------------------------------------------- */
static dync_status dync__aot_write_back(const dync__aot_graphs *g, dync__tensor *const *actual,
                                        dync__tensor *const *fw_out)
{
    bool grad_off = dync__tls.grad_enabled_off;
    dync_status status = DYNC_OK;
    for (int i = 0; i < g->mutated.n && status == DYNC_OK; i++) {
        if (!fw_out[i]) { /* written where it belongs */
            actual[g->mutated.at[i].input]->storage->version++;
            continue;
        }
        dync__arg args[2] = {dync__arg_t(actual[g->mutated.at[i].input]), dync__arg_t(fw_out[i])};
        dync__tensor *same = NULL;
        dync__tls.grad_enabled_off = !g->mutated.at[i].with_grad;
        status = dync__op_run(DYNC__OP_copy_, 2, args, &same);
        dync__unref(same);
    }
    dync__tls.grad_enabled_off = grad_off;
    return status;
}

/* Values that lie on the memory of something else take its place in fw_out; others are no views,
 * however they were made. */
static dync_status dync__aot_place_values(const dync__aot_graphs *g, dync__tensor *const *actual,
                                          dync__tensor **fw_out)
{
    for (int k = 0; k < g->value.n; k++) {
        const dync__aot_value *v = &g->value.at[k];
        dync__tensor **value = &fw_out[g->mutated.n + k];
        if (v->over == DYNC__AOT_OWN && *value) dync__grad_meta_no_view(*value);
        if (v->over == DYNC__AOT_OWN || !*value) continue;
        const dync__tensor *on = v->over == DYNC__AOT_OVER_INPUT ? actual[v->index]
                                                                 : fw_out[g->mutated.n + v->index];
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
    if (o->mode == DYNC__AOT_DETACHED)
        return (*out = dync__tensor_alias(base, base->dtype, &lay)) ? DYNC_OK : DYNC_ERR_MEMORY;
    bool grad_off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = o->mode == DYNC__AOT_NO_GRAD;
    dync__arg args[4] = {dync__arg_t(base), dync__arg_dims(lay.ndim, lay.shape),
                         dync__arg_dims(lay.ndim, lay.stride), dync__arg_i(lay.offset)};
    dync_status status = dync__op_run(DYNC__OP_as_strided, 4, args, out);
    dync__tls.grad_enabled_off = grad_off;
    return status;
}

static dync_status dync__aot_finish(const dync__aot_graphs *g, dync__tensor *const *actual,
                                    dync__tensor *const *fw_out, dync__tensor **out)
{
    for (int i = 0; i < g->out.n; i++) {
        const dync__aot_out *o = &g->out.at[i];
        bool of_input = o->kind == DYNC__AOT_INPUT || o->kind == DYNC__AOT_VIEW_OF_INPUT;
        dync__tensor *t = o->same_as >= 0 ? out[o->same_as]
                          : of_input      ? actual[o->index]
                                          : fw_out[g->mutated.n + o->index];
        if (!t) continue; /* narrowed away */
        if (o->same_as >= 0 || o->kind == DYNC__AOT_INPUT || o->kind == DYNC__AOT_VALUE)
            dync__ref(out[i] = t);
        else
            DYNC__TRY(dync__aot_view(t, o, &out[i]));
    }
    return DYNC_OK;
}

/* A new value that is an input as it was (copy_) must not give that one a history. */
static dync_status dync__aot_own(dync__tensor **t)
{
    if ((*t)->refs == 1) return DYNC_OK;
    dync__tensor *own = dync__tensor_alias(*t, (*t)->dtype, &(*t)->lay);
    if (!own) return DYNC_ERR_MEMORY;
    dync__unref(*t);
    *t = own;
    return DYNC_OK;
}

/* ---- a call ---------------------------------------------------------------------------------- */
static dync_status dync__aot_call(dync__aot_code *c, dync__tensor *const *actual,
                                  dync__tensor *const *passed, dync__tensor **out)
{
    const dync__aot_graphs *g = &c->g;
    dync__tensor *few[DYNC__FEW],
        **fw_out = dync__room(few, DYNC__FEW, c->n_fw_out, sizeof *fw_out);
    if (!fw_out) return DYNC_ERR_MEMORY;
    memset(fw_out, 0, (size_t)c->n_fw_out * sizeof *fw_out);
    if (g->seeds_before) dync__tls.rng_seed = (uint64_t)g->seed_before, dync__tls.rng_offset = 0;
    dync__aot_random random = {dync__tls.rng_seed, dync__tls.rng_offset};
    dync_status status = c->fw.run(c->fw.state, c->n_fw_in, passed, c->n_fw_out, fw_out);
    if (g->seeds_after) dync__tls.rng_seed = (uint64_t)g->seed_after, dync__tls.rng_offset = 0;
    if (status == DYNC_OK) status = dync__aot_place_values(g, actual, fw_out);
    for (int i = 0; status == DYNC_OK && i < g->mutated.n; i++)
        if (g->mutated.at[i].with_grad) status = dync__aot_own(&fw_out[i]);
    bool grad_off = dync__tls.grad_enabled_off;
    if (c->turns_grad_on) dync__tls.grad_enabled_off = false;
    if (status == DYNC_OK && g->training)
        status = dync__aot_attach(c, g->actual.n, actual, fw_out,
                                  fw_out + g->mutated.n + g->value.n, random);
    dync__tls.grad_enabled_off = grad_off;
    if (status == DYNC_OK && g->mutated.n) status = dync__aot_write_back(g, actual, fw_out);
    if (status == DYNC_OK) status = dync__aot_finish(g, actual, fw_out, out);
    for (int i = 0; i < c->n_fw_out; i++) dync__unref(fw_out[i]);
    dync__room_end(fw_out, few, c->n_fw_out, sizeof *fw_out);
    return status;
}

static dync_status dync__aot_run_plain(void *state, int n_in, dync__tensor *const *in, int n_out,
                                       dync__tensor **out)
{
    return dync__graph_eval_flat(((dync__aot_code *)state)->graph, n_in, in, n_out, out);
}

static dync_status dync__aot_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                 dync__tensor **out)
{
    dync__aot_code *c = state;
    const dync__aot_graphs *g = &c->g;
    if (n_in != g->n_inputs || n_out != g->out.n)
        return dync__fail(DYNC_ERR_VALUE, "a compiled graph takes %d tensors, got %d", g->n_inputs,
                          n_in);
    if (g->plain_inputs) return dync__aot_call(c, in, in, out);
    dync__aot_inputs x;
    bool plain;
    DYNC__TRY(dync__aot_inputs_begin(g, in, &x, &plain));
    dync_status status = plain ? dync__aot_run_plain(state, n_in, in, n_out, out)
                               : dync__aot_call(c, x.actual, x.passed, out);
    dync__aot_inputs_end(g, &x);
    return status;
}

/* ---- the graph as it is: what is not functionalised ------------------------------------------ */
DYNC__RARE static void dync__arg_take_tensors(const dync__arg *a, dync__tensor **out, int *k)
{
    if (a->kind == DYNC__A_TENSOR) out[(*k)++] = a->as.t;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        dync__arg_take_tensors(&a->as.list[i], out, k);
}

DYNC__RARE DYNC__FN dync_status dync__graph_eval_flat(dync__graph *g, int n_in,
                                                      dync__tensor *const *in, int n_out,
                                                      dync__tensor **out)
{
    dync__arena arena = {0};
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(n_in + 1) * sizeof *args), result;
    if (!args) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_in; i++) args[i] = dync__arg_t(in[i]);
    dync_status status = dync__graph_eval(g, args, n_in, &arena, &result);
    if (status == DYNC_OK && dync__arg_count_tensors(&result) != n_out) {
        status = dync__fail(DYNC_ERR_INTERNAL, "a graph gave %d tensors, expected %d",
                            dync__arg_count_tensors(&result), n_out);
        dync__arg_release(&result);
    }
    int k = 0;
    if (status == DYNC_OK) dync__arg_take_tensors(&result, out, &k);
    dync__arena_free(&arena);
    return status;
}

DYNC__RARE static dync_status dync__inner_interpret_run(void *state, int n_in,
                                                        dync__tensor *const *in, int n_out,
                                                        dync__tensor **out)
{
    bool grad_off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = true;
    dync_status status = dync__graph_eval_flat(state, n_in, in, n_out, out);
    dync__tls.grad_enabled_off = grad_off;
    return status;
}
DYNC__RARE static void dync__inner_interpret_destroy(void *state) { dync__graph_unref(state); }
DYNC__RARE DYNC__FN dync_status dync__inner_interpret(void *user, dync__graph *g, bool is_backward,
                                                      const dync__options *options,
                                                      dync__inner *out)
{
    (void)user, (void)is_backward, (void)options;
    memset(out, 0, sizeof *out);
    out->run = dync__inner_interpret_run;
    out->destroy = dync__inner_interpret_destroy;
    out->state = dync__graph_ref(g);
    return DYNC_OK;
}

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
        if (g->node.at[i]->op == DYNC__OP__set_grad_enabled && g->node.at[i]->args[0].as.i)
            return true;
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
DYNC__RARE static void dync__aot_report(const dync__aot_code *c)
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
    if (graph->syms || dync__tls.grad_enabled_off || !dync__aot_wants_grad(graph, examples)) return;
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

DYNC__RARE DYNC__FN dync_status dync__aot_inner_compile(const dync__inner_compiler *inner,
                                                        dync__graph *g, bool is_backward,
                                                        const dync__options *options,
                                                        dync__inner *out)
{
    dync_status (*hook)(const dync__inner_compiler *, dync__graph *, bool, const dync__options *,
                        dync__inner *) = DYNC__ATOMIC_PEEK(&dync__aot_inner_hook);
    return hook ? hook(inner, g, is_backward, options, out)
                : inner->compile(inner->user, g, is_backward, options, out);
}

/* Tells a forward graph without backward which inputs its first outputs are new values of. */
DYNC__RARE static dync_status dync__aot_tell_over(const dync__aot_graphs *g)
{
    if (g->training || g->bw) return DYNC_OK;
    for (int i = g->fw->over.n; i < g->mutated.n; i++) {
        const dync__aot_mutation *m = &g->mutated.at[i];
        int32_t place = m->with_grad || !g->actual.at[m->input].passed ? -1 : 0;
        for (int k = 0; place >= 0 && k < m->input; k++) place += g->actual.at[k].passed;
        if (!dync__avec_push(&g->fw->arena, &g->fw->over, place)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* Those of its sides that are not compiled yet. */
DYNC__RARE static dync_status dync__aot_code_compile(dync__aot_code *c,
                                                     const dync__options *options,
                                                     const dync__inner_compiler *inner)
{
    const dync__aot_graphs *g = &c->g;
    c->n_fw_in = g->fw->n_inputs;
    c->n_fw_out = g->mutated.n + g->value.n + g->n_saved;
    DYNC__TRY(dync__aot_parts(g, &c->n_parts, &c->part));
    for (int i = 0; c->form && i < c->n_parts; i++) {
        /* it is that one with numbers; its run without the destructor */
        const dync__aot_part *from = &c->form->part[i];
        c->part[i].id = from->id;
        c->part[i].run = (dync__inner){.run = from->run.run, .state = from->run.state};
    }
    struct dync__aot_tail *tail = c->form ? c->form->tail : NULL;
    if (!tail) DYNC__TRY(dync__aot_tell_over(g));
    if (tail) DYNC__TRY(dync__aot_tail_compile(tail, c->value, options, inner, &c->fw));
    if (!c->fw.run) DYNC__TRY(dync__aot_inner_compile(inner, g->fw, false, options, &c->fw));
    for (int i = 0; g->bw && i < c->n_parts; i++)
        if (!c->part[i].run.run)
            DYNC__TRY(
                dync__aot_inner_compile(inner, c->part[i].bw, true, options, &c->part[i].run));
    if (dync__aot_is_forward(c) && c->fw.run_into)
        c->head.raw = (dync__raw_callable){c->fw.run, c->fw.state, c->fw.run_into};
    return DYNC_OK;
}

DYNC__RARE static dync__aot_code *dync__aot_code_new(dync__graph *graph)
{
    dync__aot_code *c = dync__calloc(sizeof *c);
    if (!c) return NULL;
    c->refs = 1;
    c->head.raw.run = dync__aot_run;
    c->head.raw.state = c;
    c->original = dync__graph_ref(graph);
    c->head.form = &graph->node.at[graph->node.n - 1]->args[0];
    c->head.n_out = dync__arg_count_tensors(c->head.form);
    c->head.compiled_from = c->original;
    return c;
}

DYNC__RARE static dync_status dync__aot_code_trace(dync__aot_code *c, const dync_value *examples,
                                                   const dync__options *options,
                                                   const dync__inner_compiler *inner,
                                                   const char **why)
{
    dync__aot_how how = dync__aot_how_of(options, inner);
    c->double_backward = dync__tls.double_backward;
    c->turns_grad_on = dync__graph_turns_grad_on(c->graph);
    bool training = (!dync__tls.grad_enabled_off || c->turns_grad_on) &&
                    dync__aot_wants_grad(c->graph, examples);
    if (inner->patterns && !c->double_backward && dync__pass_on(DYNC__PASS_attention)) {
        DYNC__TRY(dync__aot_attend(&c->graph, training));
        DYNC__TRY(dync__graph_check_after(DYNC__PASS_attention, c->graph, false));
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

DYNC__RARE static dync_status dync__aot_code_out(dync__aot_code *c, dync_status status,
                                                 dync_callable *out)
{
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

DYNC__RARE static dync_status dync__aot_compile_sized(dync__graph *graph,
                                                      const dync_value *examples, int n,
                                                      const dync__options *options,
                                                      dync_callable *out, void *user)
{
    return dync__aot_compile(graph, examples, n, options, user, out);
}

DYNC__RARE DYNC__FN dync_status dync__aot_compile(dync__graph *graph, const dync_value *examples,
                                                  int n, const dync__options *options,
                                                  const dync__inner_compiler *inner,
                                                  dync_callable *out)
{
    if (dync__graph_takes_lists(graph))
        return dync__unlist_compile(graph, examples, n, options, dync__aot_compile_sized,
                                    (void *)(uintptr_t)inner, out);
    if (graph->syms)
        return dync__sized_compile(graph, examples, n, options, dync__aot_compile_sized,
                                   (void *)(uintptr_t)inner, inner, out);
    dync__aot_code *c = dync__aot_code_new(graph);
    const char *why = NULL;
    dync_status status = c ? DYNC_OK : DYNC_ERR_MEMORY;
    if (c && dync__graph_has_numbers(graph))
        status = dync__graph_numbers(graph, &c->graph);
    else if (c)
        c->graph = dync__graph_ref(graph);
    if (status == DYNC_OK) status = dync__aot_code_trace(c, examples, options, inner, &why);
    if (status == DYNC_ERR_UNSUPPORTED && c->plain) {
        dync__log(DYNC__LOG_aot, "graph runs operator by operator: %s", why ? why : "?");
        c->head.raw.run = dync__aot_run_plain;
        status = DYNC_OK;
    } else if (status == DYNC_OK) {
        dync__aot_report(c);
        status = dync__aot_code_compile(c, options, inner);
    }
    return dync__aot_code_out(c, status, out);
}

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
    dync_status status = DYNC_OK;
    dync__tls.syms = NULL;
    if (inner->symbolic)
        status = dync__aot_inner_compile(inner, c->g.fw, false, options, &c->fw);
    else if (!c->g.bw && inner->compile != dync__inner_interpret) {
        status = dync__aot_tell_over(&c->g);
        if (status == DYNC_OK) status = dync__aot_tail(c->g.fw, options, inner, &c->tail);
    }
    for (int i = 0; inner->symbolic && i < c->n_parts && status == DYNC_OK; i++)
        if (c->part[i].bw && dync__graph_tells_sizes(c->part[i].bw))
            status = dync__aot_inner_compile(inner, c->part[i].bw, true, options, &c->part[i].run);
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

static bool dync__form_fits(const dync__symtab *t, const int64_t *value)
{
    for (int i = 0; i < t->guard.n; i++)
        if (!dync__guard_holds(t, &t->guard.at[i], value)) return false;
    for (int i = 0; i < t->symbol.n; i++)
        if (value[i] && (value[i] < t->symbol.at[i].low || value[i] > t->symbol.at[i].high))
            return false;
    return true;
}

/* Everything of a form with numbers for its sizes. */
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
    for (int side = 0; side < 2; side++) {
        dync__graph *from = side ? f->bw : f->fw, **to = side ? &g->bw : &g->fw;
        /* only its inputs are counted */
        if (from && !side && form->tail)
            *to = dync__graph_ref(from);
        else if (from)
            DYNC__TRY(dync__graph_concrete(from, value, to));
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__aot_of_form(dync__aot_code *form, const int64_t *value,
                                       const dync__options *options,
                                       const dync__inner_compiler *inner, dync_callable *out)
{
    if (!dync__form_fits(form->syms, value)) return DYNC_ERR_UNSUPPORTED;
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
