/* onnx/load.c: dync_program_load_onnx: a file, its model, the program. After record.c.
 *
 * A model whose sizes are told and of which no shape depends on data becomes a graph at once, and
 * its program is like any other. Sizes that calls tell are symbols of that graph (sized.c); where
 * that gives none, and for calls whose sizes it is not for (0 and 1 are no symbols), a compiled
 * function walks the nodes: it has a graph for each set of sizes, and cuts where data decide
 * (capture/). */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

/* ---- reading --------------------------------------------------------------------------------- */

DYNC__FN void dync__onnx_end(dync__onnx_loaded *l)
{
    if (!l) return;
    dync__onnx_held_end(l);
    dync__onnx_files_end(&l->files);
    dync__arena_free(&l->arena);
    dync__free(l, sizeof *l);
}

/* What the model says of an input or output. An input has to be a tensor of a type that dync holds;
 * an output may be of any, as long as nobody runs it. */
static dync_status dync__onnx_port_of(dync__onnx_loaded *l, const dync__onnx_value_info *v,
                                      dync__onnx_port *p, bool input)
{
    const dync__onnx_nested_type *list = v->type ? v->type->sequence_type : NULL;
    const dync__onnx_type *type = list ? list->elem_type : v->type;
    const dync__onnx_tensor_type *t = type ? type->tensor_type : NULL;
    memset(p, 0, sizeof *p);
    p->name = v->name;
    p->sequence = list != NULL;
    p->ndim = -1;
    p->dtype = t ? dync__onnx_dtype(t->elem_type) : -1;
    p->type = t ? (int)t->elem_type : 0;
    if (input && p->dtype < 0)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "ONNX graph %s: input \"%s\" is %s", l->main->name,
                          v->name, t ? dync__onnx_type_name(t->elem_type) : "no tensor");
    if (!t || !t->shape) return DYNC_OK;
    if (t->shape->dim.n > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "ONNX graph %s: \"%s\" has %d dimensions, at most %d are supported",
                          l->main->name, v->name, t->shape->dim.n, DYNC_MAX_DIMS);
    p->ndim = t->shape->dim.n;
    for (int i = 0; i < p->ndim; i++) {
        const dync__onnx_dim *d = t->shape->dim.at[i];
        p->size[i] = dync__onnx_has(d, dim, dim_value) && d->dim_value >= 0 ? d->dim_value : -1;
        p->param[i] = p->size[i] < 0 && *d->dim_param ? d->dim_param : NULL;
    }
    return DYNC_OK;
}

/* What a call gives: inputs that no initializer has a value for. */
static dync_status dync__onnx_ports(dync__onnx_loaded *l)
{
    const dync__onnx_graph *g = l->model->graph;
    l->given = dync__arena_alloc(&l->arena, ((size_t)g->input.n + 1) * sizeof *l->given);
    l->input = dync__arena_alloc(&l->arena, ((size_t)g->input.n + 1) * sizeof *l->input);
    l->output = dync__arena_alloc(&l->arena, ((size_t)g->output.n + 1) * sizeof *l->output);
    if (!l->given || !l->input || !l->output) return DYNC_ERR_MEMORY;
    for (int i = 0; i < g->input.n; i++) {
        bool constant = false;
        for (int k = 0; k < l->main->n_constants; k++)
            constant = constant || l->main->constant[k] == i;
        if (constant) continue;
        l->given[l->n_inputs] = i;
        DYNC__TRY(dync__onnx_port_of(l, g->input.at[i], &l->input[l->n_inputs], true));
        l->n_inputs++;
    }
    l->n_outputs = g->output.n;
    for (int i = 0; i < g->output.n; i++)
        DYNC__TRY(dync__onnx_port_of(l, g->output.at[i], &l->output[i], false));
    return DYNC_OK;
}

DYNC__DATA dync_status (*dync__onnx_run_inside)(dync__onnx_loaded *, const dync__onnx_body *,
                                                dync__onnx_frame *outer,
                                                const dync__onnx_call *call, int n_in,
                                                const dync__onnx_value *in,
                                                dync__onnx_value *out) = dync__onnx_run_body;

DYNC__DATA dync_status (*dync__onnx_run_folded)(dync__onnx_loaded *, const dync__onnx_body *,
                                                dync__onnx_frame *outer,
                                                const dync__onnx_call *call, int n_in,
                                                const dync__onnx_value *in,
                                                dync__onnx_value *out) = dync__onnx_fold_body;

/* folder NULL: no data in other files. blob: a reference, taken; NULL passes */
DYNC__FN dync__onnx_loaded *dync__onnx_parse(dync__blob *blob, const char *folder)
{
    dync__onnx_loaded *l = blob ? dync__calloc(sizeof *l) : NULL;
    if (!l) {
        dync__blob_unref(blob);
        return NULL;
    }
    l->files.model = blob;
    l->files.folder = folder ? dync__arena_strdup(&l->arena, folder) : NULL;
    l->model = dync__onnx_read(&l->arena, model, blob->bytes, blob->n);
    if (l->model && (!folder || l->files.folder) && dync__onnx_link(l) == DYNC_OK &&
        dync__onnx_ports(l) == DYNC_OK)
        return l;
    dync__onnx_end(l);
    return NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

/* A result that lies on a weight or a constant of the model becomes a copy: the caller may write
 * it, and the weight may lie in the file. */
static dync_status dync__onnx_own(dync__onnx_loaded *l, dync__onnx_value *v)
{
    const dync__tensor *t = dync__open(v->t);
    return t && dync__onnx_holds_memory(l, t) && !(v->t = dync_clone(v->t)) ? dync_error()
                                                                            : DYNC_OK;
}

static dync_status dync__onnx_own_results(dync__onnx_loaded *l, dync__onnx_value *out)
{
    for (int i = 0; i < l->n_outputs; i++) {
        const dync__onnx_sequence *from = out[i].sequence;
        if (out[i].t) DYNC__TRY(dync__onnx_own(l, &out[i]));
        if (out[i].t) continue;
        if (!from)
            return dync__fail(DYNC_ERR_UNSUPPORTED, "ONNX graph %s: output \"%s\" is not there",
                              l->main->name, l->output[i].name);
        size_t bytes = sizeof *from + (size_t)from->n * sizeof *from->at;
        dync__onnx_sequence *own = dync__scope_alloc(bytes);
        if (!own) return DYNC_ERR_MEMORY;
        memcpy(own, from, bytes);
        for (int k = 0; k < own->n; k++) DYNC__TRY(dync__onnx_own(l, &own->at[k]));
        out[i].sequence = own;
    }
    return DYNC_OK;
}

/* An argument as a value of the walk: a tensor, or a list of tensors as a sequence. */
static bool dync__onnx_value_of(const dync_value *v, int type, dync__onnx_value *out)
{
    *out = (dync__onnx_value){NULL, type, NULL};
    if (v->kind == DYNC_KIND_TENSOR) out->t = v->as.t;
    if (v->kind != DYNC_KIND_LIST) return true;
    int n = dync_len(*v);
    dync__onnx_sequence *s =
        dync__scope_alloc(sizeof *s + ((size_t)n + 1) * sizeof(dync__onnx_value));
    if (!s) return false;
    s->n = n;
    for (int i = 0; i < n; i++)
        s->at[i] = (dync__onnx_value){dync_as_tensor(dync_at(*v, i)), type, NULL};
    out->sequence = s;
    return true;
}

/* The whole model on the arguments of a call. */
DYNC__FN dync_status dync__onnx_run(dync__onnx_loaded *l, const dync_value *in,
                                    dync__onnx_value *out)
{
    int n = l->main->n_inputs;
    dync__onnx_value *all = dync__calloc(((size_t)n + 1) * sizeof *all);
    if (!all) return DYNC_ERR_MEMORY;
    bool made = true;
    for (int i = 0; i < l->n_inputs && made; i++)
        made = dync__onnx_value_of(&in[i], l->input[i].type, &all[l->given[i]]);
    dync_status status = made ? dync__onnx_run_body(l, l->main, NULL, NULL, n, all, out)
                              : DYNC_ERR_MEMORY;
    dync__free(all, ((size_t)n + 1) * sizeof *all);
    return status == DYNC_OK ? dync__onnx_own_results(l, out) : status;
}

/* While a graph is made: what is known is a constant of the graph, of which each call gets a copy.
 */
static dync_status dync__onnx_copy_known(const dync__onnx_loaded *l, dync__onnx_value *out)
{
    for (int i = 0; i < l->n_outputs; i++) {
        if (out[i].sequence)
            return dync__fail(DYNC_ERR_DATA_PTR, "ONNX: a sequence is none of a graph");
        const dync__tensor *t = dync__open(out[i].t);
        if (t && !(t->flags & DYNC__T_FAKE) && !(out[i].t = dync_clone(out[i].t)))
            return dync_error();
    }
    return DYNC_OK;
}

/* The model walked over fakes, of the sizes that the ports tell (symbol). NULL + error;
 * DYNC_ERR_DATA_PTR: there is no graph of all calls. */
static dync__graph *dync__onnx_trace(dync__onnx_loaded *l, const char *name)
{
    dync__onnx_recorder r;
    dync__names_shown();
    dync__graph *g = dync__graph_new(name);
    dync_value *in = dync__scope_alloc(((size_t)l->n_inputs + 1) * sizeof *in);
    dync__onnx_value *out = dync__scope_alloc(((size_t)l->n_outputs + 1) * sizeof *out);
    if (!g || !in || !out) {
        dync__graph_unref(g);
        return NULL;
    }
    bool grad_off = dync__grad_off(true);
    uint64_t errors = dync__error_count();
    dync__onnx_record_begin(&r, l, g);
    dync_status status = DYNC_OK;
    for (int i = 0; i < l->n_inputs && status == DYNC_OK; i++) {
        in[i] = dync_v_tensor(dync__onnx_record_input(&r, &l->input[i]));
        if (!in[i].as.t) status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
        const dync__tensor *known = l->input[i].known; /* its placeholder has no user */
        if (known) in[i] = dync_v_tensor(dync__handle((dync__tensor *)(uintptr_t)known));
    }
    if (status == DYNC_OK) status = dync__onnx_run(l, in, out);
    if (status == DYNC_OK) status = dync__onnx_copy_known(l, out);
    if (status == DYNC_OK) status = dync__onnx_record_output(&r, l->n_outputs, out);
    dync__onnx_record_end(&r);
    dync__grad_off(grad_off);
    /* something was asked of a size that data decide */
    if (status == DYNC_OK && dync__error_count() != errors)
        status = dync_error() == DYNC_ERR_MEMORY ? DYNC_ERR_MEMORY : DYNC_ERR_DATA_PTR;
    if (status == DYNC_OK) status = dync__onnx_neat(g);
    if (status == DYNC_OK) return g;
    dync__graph_unref(g);
    if (dync_error() == DYNC_OK) dync__fail(status, "ONNX: no graph could be made");
    return NULL;
}

/* Is no symbol a number, which would be that of the sizes that were tried? An equality that the
 * walk relied on may fix one: the graph would serve that size alone. Such sizes are noted (fixed).
 */
static bool dync__onnx_stays_open(dync__onnx_loaded *l, dync__symtab *t)
{
    bool open = true;
    for (int i = 0; i < t->symbol.n; i++)
        open = open && dync__is_token(dync__symtab_simple(t, t->symbol.at[i].token));
    for (int i = 0; i < l->n_inputs && !open; i++)
        for (int d = 0; d < l->input[i].ndim; d++) {
            int64_t size = l->input[i].symbol[d];
            if (dync__is_token(size) && !dync__is_token(dync__symtab_simple(t, size)))
                l->input[i].fixed[d] = true;
        }
    return open && !t->failed;
}

/* With a symbol for each size that a call tells. NULL: for whatever reason there is no graph. */
static dync__graph *dync__onnx_trace_sized(dync__onnx_loaded *l, const char *name,
                                           dync__onnx_equal equal, bool *learnt)
{
    dync__symtab *outer = dync__tls.syms, *t = dync__symtab_new();
    dync__graph *g = NULL;
    dync__tls.syms = t;
    if (t) t->most_elements = dync__program_limits_get().elements;
    if (t && dync__onnx_symbols(l, t, equal)) g = dync__onnx_trace(l, name);
    if (g && !(dync__onnx_stays_open(l, t) && dync__program_settle(g, t))) {
        dync__graph_unref(g);
        g = NULL;
    }
    bool memory = !t || t->failed;
    *learnt = !g && !memory && dync__onnx_learn_equal(l, t);
    dync__tls.syms = outer;
    dync__symtab_free(t);
    if (memory) dync__fail_memory(0);
    return g;
}

typedef enum { DYNC__ONNX_TOLD, DYNC__ONNX_OPEN, DYNC__ONNX_ANY_RANK } dync__onnx_sizes;
/* TOLD: all sizes of all inputs; OPEN: some are named or unknown, or data decide some of values;
 * ANY_RANK: not even how many, or there are sequences, which no graph takes or gives. */
static dync__onnx_sizes dync__onnx_sizes_of(const dync__onnx_loaded *l)
{
    dync__onnx_sizes sizes = DYNC__ONNX_TOLD;
    for (int i = 0; i < l->n_outputs; i++)
        if (l->output[i].sequence) return DYNC__ONNX_ANY_RANK;
    for (int i = 0; i < l->n_inputs; i++) {
        if (l->input[i].ndim < 0 || l->input[i].sequence) return DYNC__ONNX_ANY_RANK;
        for (int d = 0; d < l->input[i].ndim; d++)
            if (l->input[i].size[d] < 0) sizes = DYNC__ONNX_OPEN;
    }
    return sizes;
}

/* Does the model work for one size alone where it leaves it open (a height of 48)? */
static bool dync__onnx_has_fixed(const dync__onnx_loaded *l)
{
    bool fixed = false;
    for (int i = 0; i < l->n_inputs; i++)
        for (int d = 0; d < l->input[i].ndim; d++) fixed = fixed || l->input[i].fixed[d];
    return fixed;
}

DYNC__FN dync__graph *dync__onnx_graph_for(dync__onnx_loaded *l, const char *name, bool alone)
{
    dync__error_guard guard;
    dync_scope scope = dync_scope_begin();
    dync__error_guard_begin(&guard);
    bool learnt; /* of no use: sizes are those of the call */
    for (int i = 0; i < l->n_inputs; i++)
        for (int d = 0; d < DYNC_MAX_DIMS; d++) l->input[i].fixed[d] = alone;
    dync__graph *g = dync__onnx_trace_sized(l, name, DYNC__ONNX_EQUAL_NONE, &learnt);
    if (!g && !alone && dync__onnx_has_fixed(l))
        g = dync__onnx_trace_sized(l, name, DYNC__ONNX_EQUAL_NONE, &learnt);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    dync_scope_end(&scope);
    if (!g)
        dync__log(DYNC__LOG_perf, "ONNX model %s: no graph for a call: %s", name, inner->message);
    return g;
}

enum { DYNC__ONNX_TRIALS = 8 }; /* of sizes made equal one by one, of all ways together */

/* The graph of a model; NULL without an error: data or sizes that a call tells decide. Sizes that
 * are open are tried with hints that differ, those then made equal that ended a trial by being
 * unlike; then with equal ones of the first open dimension of each input, a batch, then of all
 * (dync__onnx_size_hint): a model that adds two of them needs them equal. Large ones first, as
 * strides and windows need, then small ones for tables of positions. */
DYNC__FN dync_status dync__onnx_graph_of(dync__onnx_loaded *l, const char *name, dync__graph **out)
{
    dync__onnx_sizes sizes = dync__onnx_sizes_of(l);
    dync_status status = DYNC_OK;
    dync__graph *g = NULL;
    bool learnt = false;
    for (int way = 0, trials = 0;
         way <= DYNC__ONNX_EQUAL_ALL_SMALL && !g && sizes != DYNC__ONNX_ANY_RANK;) {
        dync__error_guard guard;
        dync_scope scope = dync_scope_begin();
        dync__error_guard_begin(&guard);
        for (int i = 0; i < l->n_inputs; i++) {
            memcpy(l->input[i].symbol, l->input[i].size, sizeof l->input[i].size);
            if (!learnt) memset(l->input[i].like, 0, sizeof l->input[i].like);
        }
        g = sizes == DYNC__ONNX_TOLD
                ? dync__onnx_trace(l, name)
                : dync__onnx_trace_sized(l, name, (dync__onnx_equal)way, &learnt);
        const dync__error_slot *inner = dync__error_guard_end(&guard);
        dync_scope_end(&scope);
        if (!g) dync__log(DYNC__LOG_perf, "ONNX model %s: no graph: %s", name, inner->message);
        bool fails = sizes == DYNC__ONNX_TOLD ? inner->status != DYNC_ERR_DATA_PTR
                                              : inner->status == DYNC_ERR_MEMORY;
        if (!g && fails) {
            dync__error_raise(inner);
            status = inner->status;
        }
        if (!g && sizes == DYNC__ONNX_TOLD && inner->status == DYNC_ERR_DATA_PTR) {
            sizes = DYNC__ONNX_OPEN; /* with sizes that data decide there may be one */
            continue;
        }
        /* data decide, or other hints change nothing */
        if (sizes == DYNC__ONNX_TOLD || inner->status == DYNC_ERR_DATA_PTR || fails) break;
        learnt = learnt && trials < DYNC__ONNX_TRIALS;
        trials += learnt;
        way += !learnt;
    }
    *out = g;
    return status;
}
