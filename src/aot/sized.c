/* aot/sized.c: a compiled graph of symbolic sizes, for compilers that want numbers: one instance
 * for each set of sizes that is called, made when it is first met and kept while it is among the
 * last ones used. After runtime.c.
 *
 * The symbolic graph was captured and handed over once; making an instance is no compile that
 * anybody counts: numbers take the place of the symbols and the graph goes through the usual
 * stages. Instances are counted by reference: one that leaves the list may still run. */
#include "../dync.in.h"
#include "code.h"
DYNC__COLD

/* So many instances are kept as have DYNC__SIZED_BYTES of plans in all, if each is as large as the
 * first, or graphs of DYNC__SIZED_NODES nodes, where it tells of no plan; but from KEPT to MOST. */
enum {
    DYNC__SIZED_KEPT = 64,
    DYNC__SIZED_MOST = 256,
    DYNC__SIZED_BYTES = 16 << 20,
    DYNC__SIZED_NODES = 4096,
    DYNC__SIZED_LISTS = 64 /* a power of two */
};
typedef struct dync__instance {
    struct dync__instance *next, *before; /* the one used last first */
    struct dync__instance *alike;         /* with a key of the same list */
    int32_t refs;                         /* the list, and calls in flight */
    dync_callable code;
    dync__graph *graph;
    int64_t *key;
} dync__instance;
/* token: of that size; the symbol itself where it is bare */
typedef struct dync__sized_symbol {
    int symbol, input, dim;
    int64_t token;
} dync__sized_symbol;
typedef struct dync__sized {
    dync__raw_state head; /* first: what dync__raw_run reads */
    dync__mutex lock;     /* the lists */
    dync__instance *first, *last, *of[DYNC__SIZED_LISTS];
    int n_kept, n_most, n_symbols;
    dync__sized_symbol *symbol; /* in an order in which each can be solved */
    dync__graph *graph;
    dync__options options;
    dync__graph_compiler compile;
    void *user;
    const dync__inner_compiler *inner;
    /* the graph traced for all sizes; NULL: each set by itself */
    dync__aot_code *form;
    int32_t formed;       /* it was tried */
    bool waits;           /* not yet: a program's first sizes */
    bool double_backward; /* as the function was compiled */
    bool *used;           /* narrowed to these outputs; NULL: all */
} dync__sized;

/* ---- instances ------------------------------------------------------------------------------- */
/* The last reference may be that of a call whose instance has left the list meanwhile. */
DYNC__OFTEN static void dync__instance_unref(dync__sized *s, dync__instance *x)
{
    if (!x || DYNC__ATOMIC_DEC(&x->refs) > 0) return;
    if (x->code.destroy) x->code.destroy(x->code.state);
    dync__graph_unref(x->graph);
    dync__free(x->key, (size_t)s->n_symbols * sizeof *x->key);
    dync__free(x, sizeof *x);
}

DYNC__OFTEN static dync__instance **dync__sized_list(dync__sized *s, const int64_t *key)
{
    uint64_t h = 0;
    for (int i = 0; i < s->n_symbols; i++)
        h = (h ^ (uint64_t)key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &s->of[h >> 32 & (DYNC__SIZED_LISTS - 1)];
}

/* In front of, and out of, the order of use. */
DYNC__OFTEN static void dync__sized_link(dync__sized *s, dync__instance *x)
{
    x->before = NULL;
    x->next = s->first;
    *(s->first ? &s->first->before : &s->last) = x;
    s->first = x;
}
DYNC__OFTEN static void dync__sized_unlink(dync__sized *s, const dync__instance *x)
{
    *(x->before ? &x->before->next : &s->first) = x->next;
    *(x->next ? &x->next->before : &s->last) = x->before;
}

/* The instance of these sizes, with a reference; it becomes the first of the list. */
DYNC__OFTEN static dync__instance *dync__sized_find(dync__sized *s, const int64_t *key)
{
    size_t bytes = (size_t)s->n_symbols * sizeof *key;
    dync__lock(&s->lock);
    dync__instance *x =
        s->first && memcmp(s->first->key, key, bytes) == 0 ? s->first : *dync__sized_list(s, key);
    while (x && memcmp(x->key, key, bytes) != 0) x = x->alike;
    if (x && x != s->first) {
        dync__sized_unlink(s, x);
        dync__sized_link(s, x);
    }
    if (x) (void)DYNC__ATOMIC_INC(&x->refs);
    dync__unlock(&s->lock);
    return x;
}

/* Another thread may have made the same meanwhile: then there are two for a while, which does no
 * harm. It computes what is wanted as it enters: who wants more or fewer later finds it in the
 * list. On failure nothing is inserted. */
DYNC__OFTEN static dync_status dync__sized_insert(dync__sized *s, dync__instance *x)
{
    dync__instance *last = NULL;
    dync__code_size size = {0};
    dync__lock(&s->lock);
    dync_status status = s->used && x->code.narrow ? x->code.narrow(x->code.state, s->used)
                                                   : DYNC_OK;
    if (status != DYNC_OK) {
        dync__unlock(&s->lock);
        return status;
    }
    if (!s->n_kept) {
        dync__callable_measure(&x->code, &size);
        dync__map_free(&size.counted);
        int64_t most = size.plans ? DYNC__SIZED_BYTES / size.plans
                                  : DYNC__SIZED_NODES / s->graph->node.n;
        s->n_most = (int)DYNC__MIN(DYNC__MAX(most, DYNC__SIZED_KEPT), DYNC__SIZED_MOST);
    }
    dync__instance **list = dync__sized_list(s, x->key);
    x->alike = *list;
    *list = x;
    dync__sized_link(s, x);
    if (++s->n_kept > s->n_most) {
        last = s->last;
        dync__sized_unlink(s, last);
        for (list = dync__sized_list(s, last->key); *list != last;) list = &(*list)->alike;
        *list = last->alike;
        s->n_kept--;
    }
    dync__unlock(&s->lock);
    dync__instance_unref(s, last);
    return DYNC_OK;
}

/* The trace for all sizes, once. Of threads that make it together the first to finish wins. */
DYNC__RARE static dync_status dync__sized_form(dync__sized *s, dync__tensor *const *in,
                                               const dync_value *examples)
{
    dync__aot_code *form = NULL;
    if (s->waits || DYNC__ATOMIC_LOAD(&s->formed)) return DYNC_OK;
    dync_status status = dync__aot_form(s->graph, in, examples, &s->options, s->inner, &form);
    if (status == DYNC_ERR_MEMORY) return status;
    dync__lock(&s->lock);
    if (!s->formed) {
        s->form = form;
        form = NULL;
        DYNC__ATOMIC_STORE(&s->formed, 1);
    }
    dync__unlock(&s->lock);
    dync__aot_code_unref(form);
    return DYNC_OK;
}

/* And inserts it. As if no trace were open: this happens inside calls. */
DYNC__OFTEN static dync_status dync__instance_compile(dync__sized *s, dync__instance *x,
                                                      const int64_t *value, dync__tensor *const *in,
                                                      const dync_value *examples)
{
    dync__aot_aside aside;
    dync__aot_aside_begin(&aside, s->double_backward);
    dync_status status = dync__sized_form(s, in, examples);
    if (status == DYNC_OK)
        status = s->form && !s->waits
                     ? dync__aot_of_form(s->form, value, &s->options, s->inner, &x->code)
                     : DYNC_ERR_UNSUPPORTED;
    if (status == DYNC_ERR_UNSUPPORTED && !x->code.run) {
        status = dync__graph_concrete(s->graph, value, &x->graph);
        if (status == DYNC_OK)
            status =
                s->compile(x->graph, examples, x->graph->n_inputs, &s->options, &x->code, s->user);
    }
    if (status == DYNC_OK) status = dync__sized_insert(s, x);
    dync__aot_aside_end(&aside);
    return status;
}

/* Two references: the list's, and the caller's in *out. On failure nothing is inserted. */
DYNC__OFTEN static dync_status dync__instance_make(dync__sized *s, const int64_t *key,
                                                   dync__tensor *const *in, dync__instance **out)
{
    int n = s->graph->n_inputs;
    size_t bytes = (size_t)s->n_symbols * sizeof *key;
    int64_t *value = dync__calloc((size_t)s->graph->syms->symbol.n * sizeof *value);
    dync_value few[DYNC__FEW], *examples = dync__room(few, DYNC__FEW, n, sizeof *examples);
    dync__instance *x = dync__calloc(sizeof *x);
    dync_status status = value && examples && x && (x->key = dync__alloc(bytes)) ? DYNC_OK
                                                                                 : DYNC_ERR_MEMORY;
    if (x) x->refs = 2;
    for (int i = 0; i < s->n_symbols && status == DYNC_OK; i++) value[s->symbol[i].symbol] = key[i];
    if (status == DYNC_OK) status = dync__graph_within(s->graph, value);
    if (status == DYNC_OK) {
        memcpy(x->key, key, bytes);
        for (int i = 0; i < n; i++)
            examples[i] = in[i] ? dync_v_tensor(dync__handle(in[i])) : DYNC_NONE;
        status = dync__instance_compile(s, x, value, in, examples);
    }
    dync__free(value, (size_t)s->graph->syms->symbol.n * sizeof *value);
    dync__room_end(examples, few, n, sizeof *examples);
    if (status == DYNC_OK) {
        *out = x;
        return DYNC_OK;
    }
    if (x) {
        x->refs = 1;
        dync__instance_unref(s, x);
    }
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */
/* The sizes of this call are the key: each symbol is read off the input that has it, or solved
 * from one that has an expression of it. */
DYNC__OFTEN static dync_status dync__sized_run(void *state, int n_in, dync__tensor *const *in,
                                               int n_out, dync__tensor **out)
{
    dync__sized *s = state;
    int64_t few[16], *key = dync__room(few, DYNC__COUNT_OF(few), s->n_symbols, sizeof *key);
    int64_t few_values[16], *value = dync__room(few_values, DYNC__COUNT_OF(few_values),
                                                s->graph->syms->symbol.n, sizeof *value);
    bool known[DYNC__SIZED_SYMBOLS] = {false};
    dync_status status = key && value ? DYNC_OK : DYNC_ERR_MEMORY;
    if (n_in != s->graph->n_inputs)
        status = dync__fail(DYNC_ERR_VALUE, "a compiled graph takes %d tensors, got %d",
                            s->graph->n_inputs, n_in);
    for (int i = 0; i < s->n_symbols && status == DYNC_OK; i++) {
        const dync__sized_symbol *y = &s->symbol[i];
        int64_t size = in[y->input]->lay.shape[y->dim];
        if (y->token == s->graph->syms->symbol.at[y->symbol].token) {
            value[y->symbol] = size;
            known[y->symbol] = true;
        } else {
            (void)dync__symtab_solve(s->graph->syms, y->token, size, value, known);
        }
        key[i] = value[y->symbol];
    }
    dync__instance *x = status == DYNC_OK ? dync__sized_find(s, key) : NULL;
    if (status == DYNC_OK && !x) status = dync__instance_make(s, key, in, &x);
    if (status == DYNC_OK) status = dync__callable_run(&x->code, true, n_in, in, n_out, out);
    dync__instance_unref(s, x);
    dync__room_end(key, few, s->n_symbols, sizeof *key);
    dync__room_end(value, few_values, s->graph->syms->symbol.n, sizeof *value);
    return status;
}

/* For the instances that are there and, through s->used, for those that come. */
DYNC__RARE static dync_status dync__sized_narrow(void *state, const bool *used)
{
    dync__sized *s = state;
    dync_status status = DYNC_OK;
    dync__lock(&s->lock);
    if (!s->used) s->used = dync__calloc((size_t)s->head.n_out + 1);
    if (!s->used) status = DYNC_ERR_MEMORY;
    for (int i = 0; i < s->head.n_out && status == DYNC_OK; i++) s->used[i] = used[i];
    for (dync__instance *x = s->first; x && status == DYNC_OK; x = x->next)
        if (x->code.narrow) status = x->code.narrow(x->code.state, used);
    dync__unlock(&s->lock);
    return status;
}

DYNC__RARE static void dync__sized_measure(const void *state, dync__code_size *size)
{
    dync__sized *s = (dync__sized *)(uintptr_t)state; /* its lock */
    dync__lock(&s->lock);
    for (const dync__instance *x = s->first; x; x = x->next) dync__callable_measure(&x->code, size);
    const dync__aot_code *form = s->form;
    dync__unlock(&s->lock);
    if (form && form->head.measure) form->head.measure(form, size);
}

DYNC__RARE static void dync__sized_destroy(void *state)
{
    dync__sized *s = state;
    while (s->first) {
        dync__instance *x = s->first;
        s->first = x->next;
        dync__instance_unref(s, x);
    }
    if (s->used) dync__free(s->used, (size_t)s->head.n_out + 1);
    if (s->symbol) dync__free(s->symbol, (size_t)s->graph->syms->symbol.n * sizeof *s->symbol);
    dync__aot_code_unref(s->form);
    dync__options_free(&s->options);
    dync__graph_unref(s->graph);
    dync__free(s, sizeof *s);
}

/* Where the symbols are read off: sizes that are a symbol first, then what can be solved. */
static dync_status dync__sized_bindings(dync__sized *s)
{
    const dync__graph *g = s->graph;
    int64_t value[DYNC__SIZED_SYMBOLS] = {0};
    bool known[DYNC__SIZED_SYMBOLS] = {false};
    if (g->syms->symbol.n > DYNC__COUNT_OF(known))
        return dync__fail(DYNC_ERR_INTERNAL, "a graph of %d symbolic sizes", g->syms->symbol.n);
    if (!(s->symbol = dync__calloc((size_t)g->syms->symbol.n * sizeof *s->symbol)))
        return DYNC_ERR_MEMORY;
    for (bool more = true, bare = true; more; bare = false) {
        more = bare;
        for (int i = 0; i < g->n_inputs; i++)
            for (int d = 0; g->node.at[i]->has_info && d < g->node.at[i]->info[0].lay.ndim; d++) {
                bool before[DYNC__SIZED_SYMBOLS];
                int64_t token = g->node.at[i]->info[0].lay.shape[d];
                const dync__sz_expr *e = dync__is_token(token) ? dync__symtab_find(g->syms, token)
                                                               : NULL;
                memcpy(before, known, sizeof before);
                if (!e || (bare && e->kind != -1) ||
                    !dync__symtab_solve(g->syms, token, 0, value, known))
                    continue;
                more = true;
                for (int k = 0; k < g->syms->symbol.n; k++)
                    if (known[k] != before[k])
                        s->symbol[s->n_symbols++] = (dync__sized_symbol){k, i, d, token};
            }
    }
    return DYNC_OK;
}

/* A program's first sizes are often its only ones: they are compiled as numbers, in half of the
 * time, and the trace for all sizes waits for the second ones. Not where data decide some. */
static bool dync__sized_waits(const dync__graph *g)
{
    bool waits = DYNC__ATOMIC_PEEK(&g->first_alone) && dync__pass_on(DYNC__PASS_first_alone);
    for (int i = 0; i < g->syms->symbol.n; i++) waits = waits && !g->syms->symbol.at[i].data;
    return waits;
}

DYNC__RARE DYNC__FN dync_status dync__sized_compile(dync__graph *graph, const dync_value *examples,
                                                    int n, const dync__options *options,
                                                    dync__graph_compiler compile, void *user,
                                                    const dync__inner_compiler *inner,
                                                    dync_callable *out)
{
    dync__sized *s = dync__calloc(sizeof *s);
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, DYNC__MAX(n, 0), sizeof *in);
    dync_status status = s && in ? DYNC_OK : DYNC_ERR_MEMORY;
    if (s) {
        s->graph = dync__graph_ref(graph);
        s->compile = compile;
        s->user = user;
        s->inner = inner;
        s->double_backward = dync__tls.double_backward;
        s->head.raw.run = dync__sized_run;
        s->head.measure = dync__sized_measure;
        s->head.raw.state = s;
        s->head.form = &graph->node.at[graph->node.n - 1]->args[0];
        s->head.n_out = dync__arg_count_tensors(s->head.form);
        s->head.compiled_from = s->graph;
        if (!dync__options_copy(&s->options, options)) status = DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK) status = dync__sized_bindings(s);
    bool given = n == graph->n_inputs && (examples || !n);
    if (s) s->formed = !inner || !given;
    for (int i = 0; given && i < n && status == DYNC_OK; i++)
        if (graph->node.at[i]->has_info &&
            (examples[i].kind != DYNC_KIND_TENSOR || !(in[i] = dync__open(examples[i].as.t))))
            status = dync__fail(DYNC_ERR_VALUE, "example input %d: expected a tensor", i);
        else if (!graph->node.at[i]->has_info)
            in[i] = NULL;
    /* of the example's sizes: what cannot be compiled says so now */
    if (status == DYNC_OK && given) {
        int64_t key[DYNC__SIZED_SYMBOLS], value[DYNC__SIZED_SYMBOLS];
        dync__instance *x = NULL;
        bool known[DYNC__SIZED_SYMBOLS];
        s->waits = dync__sized_waits(graph);
        if (s->waits)
            dync__pass_log(DYNC__PASS_first_alone, graph->name, "these sizes are numbers");
        dync__graph_bind(graph, in, value, known);
        for (int i = 0; i < s->n_symbols; i++) key[i] = value[s->symbol[i].symbol];
        if (status == DYNC_OK) status = dync__instance_make(s, key, in, &x);
        if (x) dync__instance_unref(s, x);
        s->waits = false;
    }
    dync__room_end(in, few, DYNC__MAX(n, 0), sizeof *in);
    if (status != DYNC_OK) {
        if (s) dync__sized_destroy(s);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__raw_run;
    out->destroy = dync__sized_destroy;
    out->narrow = dync__sized_narrow;
    out->state = s;
    return DYNC_OK;
}
