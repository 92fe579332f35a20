/* aot/staged.c: a graph in which data decide sizes or numbers (dync_nonzero, dync_item_sym, ...),
 * cut at the nodes that give them; and one whose values have hooks that came behind their uses, cut
 * at those values. After sized.c, before compile.c.
 *
 *   compiled part -> nodes that data decide, run as they are -> compiled part of those sizes -> ...
 *
 * What a node gives tells its symbol by its size, so that the parts behind it are graphs of
 * symbolic sizes as any other (sized.c), compiled when a call first comes to them: with the tensors
 * of that call, whose histories and memory count. Gradients pass from part to part over the
 * tape. */
#include "../dync.in.h"
#include "code.h"
DYNC__COLD

/* in, out: places of values, which are nodes of the whole graph. */
typedef struct dync__stage {
    dync__graph *graph;
    dync_callable code;
    int32_t ready; /* code is there; never of one that is run as it is */
    bool as_is;
    int8_t grad_mode; /* in which it begins: 0, 1; -1: that of the call */
    int n_in, n_out, *in, *out;
    int n_drop, *drop; /* nobody reads these behind it */
} dync__stage;
typedef struct dync__staged {
    dync__raw_state head; /* first: what dync__raw_run reads */
    dync__arena arena;
    dync__mutex lock; /* around putting code in its place */
    dync__graph *graph;
    int n, n_places;
    dync__stage *stage;
    dync__options options;
    dync__graph_compiler compile;
    void *user;
    bool double_backward;
} dync__staged;

/* ---- making ---------------------------------------------------------------------------------- */
static bool dync__stage_pick(const dync__node *n, void *user)
{
    (void)user;
    const dync__node *of = n->op == DYNC__NODE_GETITEM ? n->args[0].as.node : n;
    return dync__node_has(n, DYNC__OP_DATA_SHAPE) || (of->apart && dync__node_is_call(of));
}

DYNC__FN bool dync__graph_is_staged(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (dync__stage_pick(g->node.at[i], NULL)) return true;
    return false;
}

/* The place of the value that has this name. */
static int dync__stage_place(const dync__graph *g, const char *name)
{
    int i = g->node.n - 1;
    while (i >= 0 && strcmp(g->node.at[i]->name, name) != 0) i--;
    return i;
}

/* The last part gives what the whole graph does. */
static dync_status dync__stage_places(dync__staged *s, dync__stage *x, bool last)
{
    dync__graph *g = x->graph;
    const dync__arg *list = &g->node.at[g->node.n - 1]->args[0];
    x->n_in = g->n_inputs;
    x->n_out = last ? s->head.n_out : list->n;
    x->in = dync__arena_alloc(&s->arena, (size_t)(x->n_in + 1) * sizeof *x->in);
    x->out = dync__arena_alloc(&s->arena, (size_t)(x->n_out + 1) * sizeof *x->out);
    if (!x->in || !x->out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < x->n_in; i++)
        if ((x->in[i] = dync__stage_place(s->graph, g->node.at[i]->name)) < 0)
            return dync__fail(DYNC_ERR_INTERNAL, "a part takes %s", g->node.at[i]->name);
    for (int i = 0; i < x->n_out && !last; i++)
        if ((x->out[i] = dync__stage_place(s->graph, list->as.list[i].as.node->name)) < 0)
            return dync__fail(DYNC_ERR_INTERNAL, "a part gives %s", list->as.list[i].as.node->name);
    return DYNC_OK;
}

/* The mode that its nodes are recorded in, and whether nothing but nodes that data decide is in
 * it. */
static void dync__stage_study(dync__stage *x, int8_t *mode)
{
    x->grad_mode = *mode;
    x->as_is = true;
    for (int i = x->graph->n_inputs; i + 1 < x->graph->node.n; i++) {
        const dync__node *n = x->graph->node.at[i];
        if (dync__node_sets_grad_mode(n)) *mode = n->args[0].as.i != 0;
        x->as_is = x->as_is && (dync__stage_pick(n, NULL) || n->kind == DYNC__N_GET_ATTR);
    }
    for (int i = 0; i < x->graph->n_inputs; i++) /* numbers alone: nothing to compile */
        x->as_is = x->as_is || x->graph->node.n == x->graph->n_inputs + 1;
}

static dync_status dync__stage_drops(dync__staged *s)
{
    int *last = dync__arena_alloc(&s->arena, (size_t)(s->n_places + 1) * sizeof *last);
    if (!last) return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n_places; i++) last[i] = -1;
    for (int k = 0; k < s->n; k++) {
        for (int i = 0; i < s->stage[k].n_in; i++) last[s->stage[k].in[i]] = k;
        for (int i = 0; i < s->stage[k].n_out && k < s->n - 1; i++) last[s->stage[k].out[i]] = k;
    }
    for (int k = 0; k < s->n; k++) {
        dync__stage *x = &s->stage[k];
        x->drop = dync__arena_alloc(&s->arena, (size_t)(s->n_places + 1) * sizeof *x->drop);
        if (!x->drop) return DYNC_ERR_MEMORY;
        for (int i = 0; i < s->n_places; i++)
            if (last[i] == k) x->drop[x->n_drop++] = i;
    }
    return DYNC_OK;
}

/* What data decide is told from here on. */
static dync_status dync__stage_symbols(dync__graph *g)
{
    dync__symtab *t = g->syms ? dync__symtab_copy(g->syms, NULL) : NULL;
    if (g->syms && !t) return DYNC_ERR_MEMORY;
    for (int i = 0; t && i < t->symbol.n; i++) t->symbol.at[i].unbacked = false;
    dync__symtab_free(g->syms);
    g->syms = t;
    return DYNC_OK;
}

static dync_status dync__staged_cut(dync__staged *s)
{
    dync__graph *g = s->graph;
    int n = g->node.n + 1;
    int8_t mode = -1;
    dync__graph **part = dync__arena_alloc(&s->arena, (size_t)n * sizeof *part);
    s->stage = dync__arena_alloc(&s->arena, (size_t)n * sizeof *s->stage);
    if (!part || !s->stage) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__graph_parts(g, dync__stage_pick, NULL, part, &n));
    s->n = n;
    for (int i = 0; i < n; i++) s->stage[i].graph = part[i];
    for (int i = 0; i < n; i++) {
        DYNC__TRY(dync__stage_symbols(part[i]));
        DYNC__TRY(dync__stage_places(s, &s->stage[i], i == n - 1));
        dync__stage_study(&s->stage[i], &mode);
    }
    return dync__stage_drops(s);
}

/* ---- compiling, when a call comes to a part -------------------------------------------------- */
/* As if no trace were open: this happens inside calls. */
static dync_status dync__stage_compile(dync__staged *s, const dync__stage *x,
                                       dync__tensor *const *in, dync_callable *code)
{
    dync_value few[DYNC__FEW], *examples = dync__room(few, DYNC__FEW, x->n_in, sizeof *examples);
    if (!examples) return DYNC_ERR_MEMORY;
    dync__handler *stack = dync__handler_swap(NULL), *bottom = dync__bottom_swap(NULL);
    dync__symtab *syms = dync__tls.syms;
    bool compiling = dync__tls.compiling, twice = dync__tls.double_backward;
    dync__tls.double_backward = s->double_backward;
    dync__tls.compiling = false;
    dync__tls.syms = NULL;
    dync_scope scope = dync_scope_begin();
    for (int i = 0; i < x->n_in; i++) examples[i] = dync__boxed_value(in[i]);
    dync_status status = s->compile(x->graph, examples, x->n_in, &s->options, code, s->user);
    dync_scope_end(&scope);
    dync__tls.syms = syms;
    dync__tls.compiling = compiling;
    dync__tls.double_backward = twice;
    dync__bottom_swap(bottom);
    dync__handler_swap(stack);
    dync__room_end(examples, few, x->n_in, sizeof *examples);
    /* some who compile leave it to their caller to say so */
    return status == DYNC_ERR_MEMORY && dync_error() == DYNC_OK ? dync__fail_memory(0) : status;
}

/* Another thread may have made the same meanwhile: its code stays. */
static dync_status dync__stage_ready(dync__staged *s, dync__stage *x, dync__tensor *const *in)
{
    dync_callable code = {0};
    if (x->as_is || DYNC__ATOMIC_LOAD(&x->ready)) return DYNC_OK;
    DYNC__TRY(dync__stage_compile(s, x, in, &code));
    dync__lock(&s->lock);
    bool first = !x->ready;
    if (first) {
        x->code = code;
        DYNC__ATOMIC_STORE(&x->ready, 1);
    }
    dync__unlock(&s->lock);
    if (!first && code.destroy) code.destroy(code.state);
    return DYNC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */
/* Takes the references of a result over, numbers as tensors. */
static dync_status dync__stage_flatten(dync__arg *a, int n, dync__tensor **out, int *k)
{
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        DYNC__TRY(dync__stage_flatten(&a->as.list[i], n, out, k));
    if (a->kind == DYNC__A_LIST || *k >= n) return DYNC_OK;
    bool number = a->kind == DYNC__A_INT || a->kind == DYNC__A_FLOAT;
    if (!number && a->kind != DYNC__A_TENSOR) return DYNC_OK;
    dync__tensor *t = number ? dync__number_tensor(dync__arg_to_value(a)) : a->as.t;
    if (!t) return DYNC_ERR_MEMORY;
    if (!number) dync__ref(t);
    out[(*k)++] = t;
    return DYNC_OK;
}

/* By the interpreter, which takes and gives numbers as numbers. */
static dync_status dync__stage_interpret(const dync__stage *x, dync__tensor *const *in,
                                         dync__tensor **out)
{
    dync__arena arena = {0};
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(x->n_in + 1) * sizeof *args), result = {0};
    dync_status status = args ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < x->n_in && status == DYNC_OK; i++)
        args[i] = in[i]->flags & DYNC__T_NUMBER ? dync__arg_value(dync__number_value(in[i]))
                                                : dync__arg_t(in[i]);
    if (status == DYNC_OK) status = dync__graph_eval(x->graph, args, x->n_in, &arena, &result);
    int k = 0;
    if (status == DYNC_OK) status = dync__stage_flatten(&result, x->n_out, out, &k);
    dync__arg_release(&result);
    dync__arena_free(&arena);
    return status;
}

/* Outputs that are numbers are marked so. */
static void dync__stage_numbers(const dync__stage *x, dync__tensor *const *out)
{
    const dync__arg *list = &x->graph->node.at[x->graph->node.n - 1]->args[0];
    for (int i = 0; list->kind == DYNC__A_LIST && i < x->n_out && i < list->n; i++)
        if (out[i] && list->as.list[i].kind == DYNC__A_NODE &&
            !list->as.list[i].as.node->has_info &&
            dync__arg_is_number(&list->as.list[i].as.node->scalar))
            out[i]->flags |= DYNC__T_NUMBER;
}

static dync_status dync__stage_run(dync__staged *s, dync__stage *x, dync__tensor **value,
                                   dync__tensor **out, bool grad_off)
{
    dync__tensor *few_in[DYNC__FEW], **in = dync__room(few_in, DYNC__FEW, x->n_in, sizeof *in);
    if (!in) return DYNC_ERR_MEMORY;
    for (int i = 0; i < x->n_in; i++) in[i] = value[x->in[i]];
    dync__grad_off(x->grad_mode < 0 ? grad_off : !x->grad_mode);
    dync_status status = dync__stage_ready(s, x, in);
    if (status == DYNC_OK)
        status = x->as_is ? dync__stage_interpret(x, in, out)
                          : dync__callable_run(&x->code, true, x->n_in, in, x->n_out, out);
    if (status == DYNC_OK) dync__stage_numbers(x, out);
    dync__room_end(in, few_in, x->n_in, sizeof *in);
    return status;
}

static dync_status dync__staged_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                    dync__tensor **out)
{
    dync__staged *s = state;
    dync__tensor *few[4 * DYNC__FEW],
        **value = dync__room(few, DYNC__COUNT_OF(few), 2 * s->n_places, sizeof *value);
    bool grad_off = dync__grad_is_off();
    if (n_in != s->graph->n_inputs || n_out != s->head.n_out)
        return dync__fail(DYNC_ERR_VALUE, "a compiled graph takes %d tensors, got %d",
                          s->graph->n_inputs, n_in);
    if (!value) return DYNC_ERR_MEMORY;
    dync_status status = DYNC_OK;
    dync__tensor **made = value + s->n_places;
    memset(value, 0, 2 * (size_t)s->n_places * sizeof *value);
    for (int i = 0; i < n_in; i++) dync__ref(value[i] = in[i]);
    for (int k = 0; k < s->n && status == DYNC_OK; k++) {
        dync__stage *x = &s->stage[k];
        bool last = k == s->n - 1;
        status = dync__stage_run(s, x, value, last ? out : made, grad_off);
        for (int i = 0; i < x->n_out && status == DYNC_OK && !last; i++) {
            value[x->out[i]] = made[i];
            made[i] = NULL;
        }
        for (int i = 0; i < x->n_drop && status == DYNC_OK; i++) {
            dync__unref(value[x->drop[i]]);
            value[x->drop[i]] = NULL;
        }
    }
    dync__grad_off(grad_off);
    if (status == DYNC_ERR_MEMORY && dync_error() == DYNC_OK) status = dync__fail_memory(0);
    for (int i = 0; i < s->n_places; i++) dync__unref(value[i]);
    dync__room_end(value, few, 2 * s->n_places, sizeof *value);
    return status;
}

/* ---- the callable ---------------------------------------------------------------------------- */
static void dync__staged_measure(const void *state, dync__code_size *size)
{
    const dync__staged *s = state;
    for (int i = 0; i < s->n; i++)
        if (DYNC__ATOMIC_LOAD(&s->stage[i].ready)) dync__callable_measure(&s->stage[i].code, size);
}

static void dync__staged_destroy(void *state)
{
    dync__staged *s = state;
    for (int i = 0; i < s->n; i++) {
        dync__stage *x = &s->stage[i];
        if (x->ready && x->code.destroy) x->code.destroy(x->code.state);
        dync__graph_unref(x->graph);
    }
    dync__options_free(&s->options);
    dync__graph_unref(s->graph);
    dync__arena_free(&s->arena);
    dync__free(s, sizeof *s);
}

static dync_status dync__staged_make(dync__graph *graph, const dync__options *options,
                                     dync__graph_compiler compile, void *user, dync_callable *out)
{
    dync__staged *s = dync__calloc(sizeof *s);
    if (!s) return DYNC_ERR_MEMORY;
    s->graph = dync__graph_ref(graph);
    s->compile = compile;
    s->user = user;
    s->double_backward = dync__tls.double_backward;
    s->n_places = graph->node.n;
    s->head.raw.run = dync__staged_run;
    s->head.raw.state = s;
    s->head.measure = dync__staged_measure;
    s->head.form = &graph->node.at[graph->node.n - 1]->args[0];
    s->head.n_out = dync__arg_count_tensors(s->head.form);
    s->head.compiled_from = s->graph;
    dync_status status = dync__options_copy(&s->options, options) ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__staged_cut(s);
    if (status != DYNC_OK) {
        dync__staged_destroy(s);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__raw_run;
    out->destroy = dync__staged_destroy;
    out->state = s;
    return DYNC_OK;
}

/* By need: where data decide sizes, values have hooks, or a program brings graphs along. */
static dync_status (*DYNC__BY_NEED dync__staged_used)(
    dync__graph *, const dync__options *, dync__graph_compiler, void *user,
    dync_callable *out) = DYNC__AT_FIRST(dync__staged_make);
DYNC__FN void dync__aot_use_stages(void) { DYNC__PUT(dync__staged_used, dync__staged_make); }
DYNC__FN dync_status dync__staged_compile(dync__graph *graph, const dync__options *options,
                                          dync__graph_compiler compile, void *user,
                                          dync_callable *out)
{
    if (!dync__staged_used) return dync__unlinked("sizes that data decide");
    return dync__staged_used(graph, options, compile, user, out);
}
