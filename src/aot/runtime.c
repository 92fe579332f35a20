/* aot/runtime.c: what a call through compiled forward and backward graphs does around them: inputs that were written get their new values,
 * outputs that are views of inputs are made as views, and for training one autograd node stands for the whole. After partition.c. */
#include "../dync.in.h"
#include "aot.h"

typedef struct dync__aot_code {
    dync__raw_state head;                /* first: what dync__raw_run reads */
    int32_t refs;                        /* the callable, and every autograd node alive */
    dync__aot_graphs g;
    dync__inner fw, bw;
    int n_fw_out;
    dync_graph *graph;                   /* the user's: its result's form is read at every call */
    bool plain;                          /* not functionalised: interpreted as it is */
} dync__aot_code;

static void dync__aot_code_unref(dync__aot_code *c)
{
    if (!c || DYNC__ATOMIC_DEC(&c->refs) > 0) return;
    if (c->fw.destroy) c->fw.destroy(c->fw.state);
    if (c->bw.destroy) c->bw.destroy(c->bw.state);
    dync__aot_graphs_free(&c->g);
    dync_graph_free(c->graph);
    dync__free(c, sizeof *c);
}

/* ---- backward: one node of the tape ---------------------------------------------------------------------------------------------- */
typedef struct dync__aot_saved {
    dync__aot_code *code;
    int n;                               /* saved tensors; 0 once released */
    int n_inputs;
    dync__tensor **tensor;               /* n saved, then n_inputs inputs that the node hangs on (for create_graph) */
    size_t bytes;
} dync__aot_saved;

static void dync__aot_saved_release(void *state)
{
    dync__aot_saved *s = state;
    for (int i = 0; i < s->n; i++) {
        dync__unref(s->tensor[i]);
        s->tensor[i] = NULL;
    }
    s->n = 0;
}

static void dync__aot_saved_destroy(void *state)
{
    dync__aot_saved *s = state;
    dync__aot_saved_release(s);
    int n = s->code->g.n_saved;
    for (int i = 0; i < s->n_inputs; i++) dync__unref(s->tensor[n + i]);
    dync__aot_code_unref(s->code);
    dync__free(s->tensor, s->bytes);
    dync__free(s, sizeof *s);
}

static const char *const dync__double_backward = "torch.compile with aot_autograd does not currently support double backward";

static dync_status dync__aot_twice(void *state, int n_out, dync__tensor *const *grad_out, int n_in, const bool *needed,
                                   dync__tensor **grad_in, bool create_graph)
{
    (void)state, (void)n_out, (void)grad_out, (void)n_in, (void)needed, (void)grad_in, (void)create_graph;
    return dync__fail(DYNC_ERR_AUTOGRAD, "%s", dync__double_backward);
}
static void dync__aot_twice_destroy(void *state) { (void)state; }

/* A tangent in the form that backward was compiled for: dense, row major; zeros where none arrived. */
static dync__tensor *dync__aot_tangent(const dync_node *like, dync__tensor *grad)
{
    const dync__info *info = &like->info[0];
    if (grad && dync__layout_is_contiguous(&grad->lay) && grad->dtype == info->dtype) {
        dync__ref(grad);
        return grad;
    }
    if (grad) return dync__contiguous_copy(grad);
    dync__tensor *zero = dync__tensor_empty(info->dtype, info->device, &info->lay);
    if (zero && zero->storage->data) memset(zero->storage->data, 0, zero->storage->size_bytes);
    return zero;
}

static const dync_node *dync__placeholder_at(const dync_graph *g, int k)
{
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]->kind == DYNC__N_PLACEHOLDER && k-- == 0) return g->node.at[i];
    return NULL;
}

/* Under a tracer (gradients are fakes): the backward graph's nodes are run one by one through dispatch, so that they become part of what
 * is recorded. saved: what stands for the saved tensors there. */
DYNC__FN dync_status dync__aot_backward_inline(void *state, dync__tensor *const *saved, int n_out, dync__tensor *const *grad_out, int n_in,
                                               const bool *needed, dync__tensor **grad_in)
{
    const dync__aot_saved *s = state;
    const dync__aot_graphs *g = &s->code->g;
    dync__arena arena = {0};
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(g->n_saved + g->n_tangents + 1) * sizeof *args), result = {0};
    dync_status status = args ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < g->n_saved && args; i++) args[i] = dync__arg_t(saved[i]);
    for (int i = 0; i < g->n_tangents && status == DYNC_OK; i++) {
        int value = g->tangent_value.at[i];
        dync__tensor *t = value < n_out ? grad_out[value] : NULL;
        if (t) dync__ref(t);
        else t = dync__aot_tangent(dync__placeholder_at(g->bw, g->n_saved + i), NULL);
        if (!t) status = DYNC_ERR_MEMORY;
        else args[g->n_saved + i] = dync__arg_t(dync__open(dync__give(t)));
    }
    if (status == DYNC_OK) status = dync__graph_eval(g->bw, args, g->n_saved + g->n_tangents, &arena, &result);
    for (int i = 0; i < g->grad_of.n && status == DYNC_OK; i++) {
        int input = g->grad_of.at[i];
        if (input < n_in && needed[input]) dync__ref(grad_in[input] = result.as.list[i].as.t);
    }
    if (status == DYNC_OK) dync__arg_release(&result);
    dync__arena_free(&arena);
    return status;
}
DYNC__FN int dync__aot_backward_saved(void *state, dync__tensor *const **out)
{
    const dync__aot_saved *s = state;
    *out = s->tensor;
    return s->n;
}
static bool dync__any_fake(int n, dync__tensor *const *t)
{
    for (int i = 0; i < n; i++)
        if (t[i] && (t[i]->flags & DYNC__T_FAKE)) return true;
    return false;
}

static dync_status dync__aot_backward(void *state, int n_out, dync__tensor *const *grad_out, int n_in, const bool *needed,
                                      dync__tensor **grad_in, bool create_graph)
{
    static const dync__gnode_class twice = {"CompiledFunctionBackwardBackward", dync__aot_twice, NULL, dync__aot_twice_destroy};
    dync__aot_saved *s = state;
    const dync__aot_graphs *g = &s->code->g;
    if (s->n != g->n_saved) return dync__fail(DYNC_ERR_AUTOGRAD, "Trying to backward through the graph a second time (or directly access "
        "saved tensors after they have already been freed). Specify retain_graph=True if you need to backward through the graph a second time.");
    if (dync__any_fake(n_out, grad_out)) return dync__aot_backward_inline(state, s->tensor, n_out, grad_out, n_in, needed, grad_in);
    int n = g->n_saved + g->n_tangents, n_grads = g->grad_of.n;
    dync__tensor **in = dync__calloc((size_t)(n + n_grads + 1) * sizeof *in), **out = in ? in + n : NULL;
    dync_status status = in ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < g->n_saved && in; i++) dync__ref(in[i] = s->tensor[i]);
    for (int i = 0; i < g->n_tangents && status == DYNC_OK; i++) {
        int value = g->tangent_value.at[i];
        in[g->n_saved + i] = dync__aot_tangent(dync__placeholder_at(g->bw, g->n_saved + i), value < n_out ? grad_out[value] : NULL);
        if (!in[g->n_saved + i]) status = DYNC_ERR_MEMORY;
    }
    bool grad_off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = true;
    if (status == DYNC_OK) status = s->code->bw.run(s->code->bw.state, n, in, n_grads, out);
    dync__tls.grad_enabled_off = grad_off;
    for (int i = 0; i < n_grads && status == DYNC_OK; i++) {
        int input = g->grad_of.at[i];
        if (input < n_in && needed[input] && out[i]) {
            grad_in[input] = out[i];
            out[i] = NULL;
        }
    }
    if (status == DYNC_OK && create_graph) {          /* a second derivative through here says that it cannot be had */
        dync__tensor *few[DYNC__FEW], **results = dync__room(few, DYNC__FEW, n_in, sizeof *results);
        int k = 0;
        for (int i = 0; i < n_in && results; i++)
            if (grad_in[i]) results[k++] = grad_in[i];
        status = results ? dync__tape_attach(&twice, NULL, s->n_inputs, s->tensor + g->n_saved, k, results, NULL) : DYNC_ERR_MEMORY;
        dync__room_end(results, few, n_in, sizeof *results);
    }
    for (int i = 0; in && i < n + n_grads; i++) dync__unref(in[i]);
    dync__free(in, (size_t)(n + n_grads + 1) * sizeof *in);
    return status;
}

static const dync__gnode_class dync__aot_node = {"CompiledFunctionBackward", dync__aot_backward, dync__aot_saved_release,
                                                 dync__aot_saved_destroy};
DYNC__FN const dync__gnode_class *dync__aot_node_class(void) { return &dync__aot_node; }

static dync_status dync__aot_attach(dync__aot_code *c, int n_in, dync__tensor *const *in, dync__tensor *const *fw_out)
{
    const dync__aot_graphs *g = &c->g;
    dync__aot_saved *s = dync__calloc(sizeof *s);
    if (!s) return DYNC_ERR_MEMORY;
    s->bytes = (size_t)(g->n_saved + n_in + 1) * sizeof *s->tensor;
    s->tensor = dync__calloc(s->bytes);
    if (!s->tensor) {
        dync__free(s, sizeof *s);
        return DYNC_ERR_MEMORY;
    }
    const int first = g->mutated.n + g->n_values;
    s->code = c;
    DYNC__ATOMIC_INC(&c->refs);
    s->n = g->n_saved;
    for (int i = 0; i < g->n_saved; i++) dync__ref(s->tensor[i] = fw_out[first + i]);
    for (int i = 0; i < n_in; i++)
        if (in[i]->flags & DYNC__T_REQUIRES_GRAD) dync__ref(s->tensor[g->n_saved + s->n_inputs++] = in[i]);
    bool few[DYNC__FEW], *requires = dync__room(few, DYNC__FEW, g->n_values, sizeof *requires);
    if (!requires) {
        dync__aot_saved_destroy(s);
        return DYNC_ERR_MEMORY;
    }
    memset(requires, 0, (size_t)g->n_values * sizeof *requires);
    for (int i = 0; i < g->n_tangents; i++) requires[g->tangent_value.at[i]] = true;
    dync_status status = dync__tape_attach(&dync__aot_node, s, n_in, in, g->n_values, fw_out + g->mutated.n, requires);
    dync__room_end(requires, few, g->n_values, sizeof *requires);
    return status;
}

/* ---- forward ------------------------------------------------------------------------------------------------------------------------ */
/* Writes the new value of an input into it: the same memory layout is one copy. */
static dync_status dync__aot_write_back(dync__tensor *input, dync__tensor *value)
{
    bool grad_off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = true;
    dync__arg args[2] = {dync__arg_t(input), dync__arg_t(value)};
    dync__tensor *same = NULL;
    dync_status status = dync__op_run(DYNC__OP_copy_, 2, args, &same);
    dync__unref(same);
    dync__tls.grad_enabled_off = grad_off;
    return status;
}

static dync_status dync__aot_view(dync__tensor *input, const dync__aot_out *o, dync__tensor **out)
{
    dync__arg args[4] = {dync__arg_t(input), dync__arg_dims(o->lay.ndim, o->lay.shape), dync__arg_dims(o->lay.ndim, o->lay.stride),
                         dync__arg_i(o->lay.offset + input->lay.offset)};
    return dync__op_run(DYNC__OP_as_strided, 4, args, out);
}

static dync_status dync__aot_finish(dync__aot_code *c, dync__tensor *const *in, dync__tensor *const *fw_out, dync__tensor **out)
{
    const dync__aot_graphs *g = &c->g;
    for (int i = 0; i < g->mutated.n; i++) DYNC__TRY(dync__aot_write_back(in[g->mutated.at[i]], fw_out[i]));
    for (int i = 0; i < g->out.n; i++) {
        const dync__aot_out *o = &g->out.at[i];
        if (o->kind == DYNC__AOT_VALUE) {
            out[i] = fw_out[g->mutated.n + o->index];
            if (out[i]) dync__ref(out[i]);           /* NULL: narrowed away */
        }
        else if (o->kind == DYNC__AOT_INPUT) dync__ref(out[i] = in[o->index]);
        else DYNC__TRY(dync__aot_view(in[o->index], o, &out[i]));
    }
    return DYNC_OK;
}

static dync_status dync__aot_run(void *state, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out)
{
    dync__aot_code *c = state;
    const dync__aot_graphs *g = &c->g;
    if (n_in != g->n_inputs || n_out != g->out.n)
        return dync__fail(DYNC_ERR_VALUE, "a compiled graph takes %d tensors, got %d", g->n_inputs, n_in);
    int n_all = n_in + g->n_lifted;
    dync__tensor *few[DYNC__FEW], **fw_out = dync__room(few, DYNC__FEW, c->n_fw_out, sizeof *fw_out);
    dync__tensor *few_in[DYNC__FEW], **all = g->n_lifted ? dync__room(few_in, DYNC__FEW, n_all, sizeof *all) : few_in;
    dync_status status = fw_out && all ? DYNC_OK : DYNC_ERR_MEMORY;
    if (g->n_lifted && all) {
        memcpy(all, in, (size_t)n_in * sizeof *all);
        memcpy(all + n_in, g->lifted.at, (size_t)g->n_lifted * sizeof *all);
    }
    if (fw_out) memset(fw_out, 0, (size_t)c->n_fw_out * sizeof *fw_out);
    if (status == DYNC_OK) status = c->fw.run(c->fw.state, n_all, g->n_lifted ? all : in, c->n_fw_out, fw_out);
    if (status == DYNC_OK && g->bw) status = dync__aot_attach(c, n_in, in, fw_out);
    if (status == DYNC_OK) status = dync__aot_finish(c, in, fw_out, out);
    for (int i = 0; i < c->n_fw_out && fw_out; i++) dync__unref(fw_out[i]);
    dync__room_end(fw_out, few, c->n_fw_out, sizeof *fw_out);
    dync__room_end(all, few_in, n_all, sizeof *all);
    return status;
}

/* ---- the graph as it is: what this form of AOT does not functionalise -------------------------------------------------------------------- */
static void dync__arg_take_tensors(const dync__arg *a, dync__tensor **out, int *k)
{
    if (a->kind == DYNC__A_TENSOR) out[(*k)++] = a->as.t;
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++) dync__arg_take_tensors(&a->as.list[i], out, k);
}

static dync_status dync__graph_eval_flat(dync_graph *g, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out)
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

static dync_status dync__aot_run_plain(void *state, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out)
{
    return dync__graph_eval_flat(((dync__aot_code *)state)->graph, n_in, in, n_out, out);
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

/* Only outputs that are values of the forward graph can be narrowed, and only where there is no backward. */
static dync_status dync__aot_narrow(void *state, const bool *used)
{
    dync__aot_code *c = state;
    if (c->plain || c->g.bw || !c->fw.narrow) return DYNC_OK;
    bool *fw_used = dync__calloc((size_t)c->n_fw_out + 1);
    if (!fw_used) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->g.mutated.n; i++) fw_used[i] = true;
    for (int i = 0; i < c->g.out.n; i++)
        if (used[i] && c->g.out.at[i].kind == DYNC__AOT_VALUE) fw_used[c->g.mutated.n + c->g.out.at[i].index] = true;
    dync_status status = c->fw.narrow(c->fw.state, fw_used);
    dync__free(fw_used, (size_t)c->n_fw_out + 1);
    return status;
}

static bool dync__graph_wants_grad(const dync_graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]->kind == DYNC__N_PLACEHOLDER && g->node.at[i]->requires_grad[0]) return true;
    return false;
}

static bool dync__graph_turns_grad_on(const dync_graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]->op == DYNC__OP__set_grad_enabled && g->node.at[i]->args[0].as.i) return true;
    return false;
}

/* Two inputs on one storage of which one is written: their connection is not modelled here. */
static bool dync__inputs_overlap(const dync_value *examples, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const dync__tensor *a = examples[i].kind == DYNC_KIND_TENSOR ? dync__peek(examples[i].as.t) : NULL;
            const dync__tensor *b = examples[j].kind == DYNC_KIND_TENSOR ? dync__peek(examples[j].as.t) : NULL;
            if (a && b && a->storage == b->storage) return true;
        }
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

/* Nothing to do around the forward graph: its outputs are the user's, each once and in order. */
static bool dync__aot_is_forward(const dync__aot_code *c)
{
    const dync__aot_graphs *g = &c->g;
    bool same = !g->bw && !g->n_lifted && !g->mutated.n && g->out.n == c->n_fw_out;
    for (int i = 0; same && i < g->out.n; i++) same = g->out.at[i].kind == DYNC__AOT_VALUE && g->out.at[i].index == i;
    return same;
}

DYNC__FN dync_status dync__aot_compile(dync_graph *graph, const dync_value *examples, int n, const char *options,
                                       const dync__inner_compiler *inner, dync_callable *out)
{
    dync__aot_code *c = dync__calloc(sizeof *c);
    if (!c) return DYNC_ERR_MEMORY;
    c->refs = 1;
    c->head.raw.run = dync__aot_run;
    c->head.raw.state = c;
    c->graph = dync_graph_retain(graph);
    c->head.form = &graph->node.at[graph->node.n - 1]->args[0];
    c->head.n_out = dync__arg_count_tensors(c->head.form);
    c->head.compiled_from = c->graph;
    bool training = (!dync__tls.grad_enabled_off || dync__graph_turns_grad_on(graph)) && dync__graph_wants_grad(graph);
    const char *why = NULL;
    dync_status status = DYNC_ERR_UNSUPPORTED;
    if (dync__graph_has_writes(graph) && dync__inputs_overlap(examples, n)) why = "inputs that share memory, one of them written";
    else status = dync__aot_trace(graph, training, &c->g, &why);
    if (status == DYNC_ERR_UNSUPPORTED) {
        dync__log(DYNC__LOG_aot, "graph runs operator by operator: %s", why ? why : "?");
        c->plain = true;
        c->head.raw.run = dync__aot_run_plain;
        status = DYNC_OK;
    } else if (status == DYNC_OK) {
        c->n_fw_out = c->g.mutated.n + c->g.n_values + c->g.n_saved;
        dync__aot_log(&c->g);
        status = inner->compile(inner->user, c->g.fw, false, options, &c->fw);
        if (status == DYNC_OK && c->g.bw) status = inner->compile(inner->user, c->g.bw, true, options, &c->bw);
        if (status == DYNC_OK && dync__aot_is_forward(c)) c->head.raw = (dync__raw_callable){c->fw.run, c->fw.state, c->fw.run_into};
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
