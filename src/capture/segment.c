/* capture/segment.c: a piece of a trace between breaks: a graph, and what the backend made of it.
 * Segments are interned per compiled function by their operators with constants, the metadata of
 * what crosses in, what leaves, and grad mode: an equal one reuses its callable and is no new
 * frame. After guard.c, before trace.c. */
#include "../dync.in.h"
#include "capture.h"

#if defined(DYNC__SPLIT)
dync_status (*dync__backend_compile_hook)(const dync__compiled *f, dync__graph *g,
                                          const dync_value *examples, int n, dync_callable *out);
#endif

/* ---- structural hash and equality ------------------------------------------------------------ */
static uint64_t dync__hash_arg(uint64_t h, const dync__arg *a)
{
    h = dync__hash_mix(h, ((uint64_t)a->kind << 32) ^ (uint32_t)a->n);
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_NODE: return dync__hash_mix(h, (uint64_t)a->as.node->index);
    case DYNC__A_TENSOR: return dync__hash_mix(h, a->as.t->id);
    case DYNC__A_FLOAT: return dync__hash_bytes(&a->as.f, sizeof a->as.f, h);
    case DYNC__A_INT:
    case DYNC__A_BOOL:
    case DYNC__A_DTYPE:
    case DYNC__A_DEVICE: return dync__hash_mix(h, (uint64_t)a->as.i);
    case DYNC__A_DIMS:
        return a->n ? dync__hash_bytes(a->as.dims, (size_t)a->n * sizeof *a->as.dims, h) : h;
    case DYNC__A_STR: return dync__hash_bytes(a->as.s, strlen(a->as.s), h);
    case DYNC__A_LIST:
        for (int i = 0; i < a->n; i++) h = dync__hash_arg(h, &a->as.list[i]);
        return h;
    case DYNC__A_PTR: return dync__hash_mix(h, (uint64_t)(uintptr_t)a->as.p);
    case DYNC__A_NONE:
    case DYNC__A_HANDLE: break;
    }
    return h;
}

DYNC__RARE static bool dync__info_equal(const dync__info *a, const dync__info *b)
{
    return a->dtype == b->dtype && a->device == b->device && a->lay.ndim == b->lay.ndim &&
           a->lay.offset == b->lay.offset &&
           memcmp(a->lay.shape, b->lay.shape, (size_t)a->lay.ndim * sizeof(int64_t)) == 0 &&
           memcmp(a->lay.stride, b->lay.stride, (size_t)a->lay.ndim * sizeof(int64_t)) == 0;
}

DYNC__RARE DYNC__FN uint64_t dync__graph_hash(const dync__graph *g)
{
    uint64_t h = 0x64796e63;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        h = dync__hash_mix(h, ((uint64_t)n->kind << 32) ^ (uint32_t)n->op);
        for (int j = 0; j < n->nargs; j++) h = dync__hash_arg(h, &n->args[j]);
        if (n->callee)
            h = dync__hash_mix(h, (uint64_t)(uintptr_t)n->callee->fn ^
                                      (uint64_t)(uintptr_t)n->callee->user);
        if (n->kind == DYNC__N_PLACEHOLDER && n->has_info) {
            const dync__info *m = &n->info[0];
            h = dync__hash_mix(h, (uint64_t)m->dtype | (uint64_t)m->device << 8 |
                                      (uint64_t)n->requires_grad[0] << 40);
            h = dync__hash_bytes(m->lay.shape, (size_t)m->lay.ndim * sizeof(int64_t), h);
            h = dync__hash_bytes(m->lay.stride, (size_t)m->lay.ndim * sizeof(int64_t), h);
        }
        if (!n->has_info) h = dync__hash_mix(h, (uint64_t)n->scalar.kind);
        if (n->kind == DYNC__N_GET_ATTR && n->value) h = dync__hash_mix(h, n->value->id);
    }
    return h;
}

DYNC__RARE static bool dync__args_equal(const dync__arg *a, const dync__arg *b)
{
    if (a->kind != b->kind || a->n != b->n) return false;
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_NODE: return a->as.node->index == b->as.node->index;
    case DYNC__A_TENSOR: return a->as.t == b->as.t;
    case DYNC__A_FLOAT: return memcmp(&a->as.f, &b->as.f, sizeof a->as.f) == 0;
    case DYNC__A_INT:
    case DYNC__A_BOOL:
    case DYNC__A_DTYPE:
    case DYNC__A_DEVICE: return a->as.i == b->as.i;
    case DYNC__A_DIMS:
        return memcmp(a->as.dims, b->as.dims, (size_t)a->n * sizeof *a->as.dims) == 0;
    case DYNC__A_STR: return strcmp(a->as.s, b->as.s) == 0;
    case DYNC__A_LIST:
        for (int i = 0; i < a->n; i++)
            if (!dync__args_equal(&a->as.list[i], &b->as.list[i])) return false;
        return true;
    case DYNC__A_PTR: return a->as.p == b->as.p;
    case DYNC__A_NONE:
    case DYNC__A_HANDLE: break;
    }
    return true;
}

/* The same kind of number where an operator takes any: noted. */
static bool dync__number_differs(const dync__node *n, int arg, int call, const dync__arg *got,
                                 dync__lift *differ)
{
    const dync__arg *a = &n->args[arg];
    if (a->kind != got->kind || (a->kind != DYNC__A_FLOAT && a->kind != DYNC__A_INT) ||
        !dync__node_is_call(n) || n->op < 0)
        return false;
    if (!dync__number_place(n->op, arg) || differ->n == DYNC__LIFT_PLACES) return false;
    differ->place[differ->n++] = (dync__lift_place){n->index, arg, call};
    return true;
}

/* What two nodes give. The results of equal operators on equal inputs are equal, but for sizes that
 * depend on symbols: where a call's own sizes decided (a slice that leaves 0 or 1), the same text
 * is another graph. */
DYNC__RARE static bool dync__node_results_equal(const dync__node *a, const dync__node *b,
                                                bool symbolic)
{
    bool input = a->kind == DYNC__N_PLACEHOLDER;
    for (int i = 0; i < a->nout && a->has_info && (input || symbolic); i++)
        if (!dync__info_equal(&a->info[i], &b->info[i])) return false;
    return !input || !a->has_info || a->requires_grad[0] == b->requires_grad[0];
}

DYNC__RARE DYNC__FN bool dync__graph_equal(const dync__graph *a, const dync__graph *b)
{
    return dync__graph_alike(a, b, NULL);
}
DYNC__RARE DYNC__FN bool dync__graph_alike(const dync__graph *a, const dync__graph *b,
                                           dync__lift *differ)
{
    int call = -1;
    if (a->node.n != b->node.n) return false;
    for (int i = 0; i < a->node.n; i++) {
        const dync__node *x = a->node.at[i], *y = b->node.at[i];
        if (!x->callee != !y->callee || (x->callee && (x->callee->fn != y->callee->fn ||
                                                       x->callee->object != y->callee->object ||
                                                       x->callee->user != y->callee->user)))
            return false;
        if (x->kind != y->kind || x->op != y->op || x->nargs != y->nargs || x->nout != y->nout ||
            x->value != y->value || x->has_info != y->has_info ||
            (!x->has_info && x->scalar.kind != y->scalar.kind))
            return false;
        if (!dync__node_results_equal(x, y, a->syms || b->syms)) return false;
        if (dync__node_pends(x) && x->op != DYNC__NODE_GETITEM &&
            x->op != DYNC__OP__set_grad_enabled)
            call++;
        for (int j = 0; j < x->nargs; j++) {
            if (dync__args_equal(&x->args[j], &y->args[j])) continue;
            if (!differ || !dync__number_differs(x, j, call, &y->args[j], differ)) return false;
        }
    }
    return true;
}

/* Earliest input on the same storage, or -1. */
static int dync__input_alias(dync__tensor *const *inputs, int i)
{
    for (int j = 0; j < i; j++)
        if (inputs[j]->storage == inputs[i]->storage) return j;
    return -1;
}

/* What was compiled for inputs that share memory, or share none, serves only such where something
 * is written. */
DYNC__RARE DYNC__FN bool dync__segment_fits(const dync__segment *s, int n,
                                            dync__tensor *const *inputs)
{
    for (int i = 0; s->alias && i < n; i++)
        if (s->alias[i] != dync__input_alias(inputs, i)) return false;
    return true;
}

static dync_status dync__segment_aliases(dync__segment *s, dync__tensor *const *inputs)
{
    if (s->n_in < 2 || !dync__graph_has_writes(s->graph)) return DYNC_OK;
    s->alias = dync__alloc((size_t)s->n_in * sizeof *s->alias);
    for (int i = 0; s->alias && i < s->n_in; i++) s->alias[i] = dync__input_alias(inputs, i);
    return s->alias ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__RARE DYNC__FN dync__segment *dync__segment_find(dync__compiled *f, dync__graph *g,
                                                      uint64_t hash, dync__tensor *const *inputs)
{
    for (dync__segment *s = DYNC__ATOMIC_LOAD(&f->segments); s; s = s->next)
        if (s->hash == hash && s->grad_mode == !dync__tls.grad_enabled_off &&
            dync__graph_equal(s->graph, g) && dync__segment_fits(s, s->n_in, inputs))
            return s;
    return NULL;
}

/* A number that stands in the environment as a tensor is a number for who asked for values. */
static dync_value dync__boxed_value(dync__tensor *t)
{
    return t->flags & DYNC__T_NUMBER ? dync__number_value(t) : dync_v_tensor(dync__handle(t));
}

/* ---- compiling ------------------------------------------------------------------------------- */
DYNC__RARE static void dync__segment_study(dync__segment *s)
{
    const dync__graph *g = s->graph;
    s->narrowable = true;
    s->writes = dync__graph_has_writes(g);
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind != DYNC__N_CALL_FUNCTION && n->kind != DYNC__N_CALL_METHOD) continue;
        s->n_ops += n->op != DYNC__NODE_GETITEM;
        s->gives_numbers = s->gives_numbers || (!n->has_info && dync__arg_is_number(&n->scalar));
        if (n->op == DYNC__NODE_GETITEM) continue;
        if (n->op < 0) s->narrowable = false; /* a user's function: it may do anything */
        if (n->op < 0) continue;
        const dync__op_row *row = dync__op_info(n->op);
        if ((row->flags & (DYNC__OP_RANDOM | DYNC__OP_WRITES)) || row->cls == DYNC__INPLACE ||
            row->cls == DYNC__EFFECT)
            s->narrowable = false;
    }
}

/* The backend's own error becomes BackendCompilerFailed with the inner class and message. Errors
 * recorded inside a compile that answers DYNC_OK are dropped. */
DYNC__RARE static dync_status dync__backend_compile(const dync__compiled *f, dync__graph *g,
                                                    const dync_value *examples, int n,
                                                    dync_callable *out)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    /* a backend may run operators */
    dync__handler *stack = dync__handler_swap(NULL), *bottom = dync__bottom_swap(NULL);
    bool compiling = dync__tls.compiling, twice = dync__tls.double_backward;
    dync__tls.compiling = false;
    dync__tls.double_backward = f->opt.double_backward;
    dync_status (*hook)(const dync__compiled *, dync__graph *, const dync_value *, int,
                        dync_callable *) = DYNC__ATOMIC_PEEK(&dync__backend_compile_hook);
    dync_status status = hook ? hook(f, g, examples, n, out)
                              : dync__graph_ask(&f->backend, g, examples, n, f->opt.options, out);
    dync__tls.compiling = compiling;
    dync__tls.double_backward = twice;
    dync__handler_swap(stack);
    dync__bottom_swap(bottom);
    dync__error_slot inner = dync__error_guard_end(&guard);
    if (status == DYNC_OK && !out->run) {
        return dync__fail(DYNC_ERR_BACKEND,
                          "backend='%s' raised:\nTypeError: compile returned "
                          "DYNC_OK without a callable",
                          f->backend.name ? f->backend.name : "?");
    }
    if (status == DYNC_OK) return DYNC_OK;
    if (status == DYNC_ERR_MEMORY && inner.status == DYNC_OK) return dync__fail_memory(0);
    if (inner.status == DYNC_ERR_MEMORY || inner.status == DYNC_ERR_DATA_PTR) {
        dync__error_raise(&inner);
        return inner.status;
    }
    return dync__fail(DYNC_ERR_BACKEND, "backend='%s' raised:\n%s: %s",
                      f->backend.name ? f->backend.name : "?",
                      inner.status != DYNC_OK ? inner.class_name : "RuntimeError",
                      inner.status != DYNC_OK ? inner.message : dync__status_name(status));
}

DYNC__RARE static int dync__output_count(const dync__graph *g)
{
    const dync__node *out = g->node.n ? g->node.at[g->node.n - 1] : NULL;
    return out && out->kind == DYNC__N_OUTPUT && out->nargs == 1 &&
                   out->args[0].kind == DYNC__A_LIST
               ? out->args[0].n
               : 0;
}

DYNC__RARE static void dync__segment_logged(const dync__segment *s, const dync__compiled *f,
                                            uint64_t ns)
{
    DYNC__COUNTER_ADD(graphs, 1);
    DYNC__COUNTER_ADD(ops, s->n_ops);
    if (dync__capture_log_now) {
        dync__capture_log *log = dync__capture_log_now;
        if (dync__vec_push(&log->graphs, s->graph)) dync__graph_ref(s->graph);
        log->compile_ns += ns;
    }
    if (dync__log_on(DYNC__LOG_graph)) {
        dync_scope scope = dync_scope_begin();
        const char *text = dync_graph_str(dync__graph_handle(s->graph));
        dync__log_text(DYNC__LOG_graph, f->name, text ? text : "");
        dync_scope_end(&scope);
    }
}

/* The graph and the places are taken over, on failure too. inputs: the real tensors of this call,
 * as examples for the backend. */
DYNC__RARE DYNC__FN dync__segment *dync__segment_compile(dync__compiled *f, dync__graph *taken,
                                                         uint64_t hash, uint64_t site,
                                                         dync__tensor *const *inputs,
                                                         dync__lift *lift)
{
    dync__segment *s = dync__calloc(sizeof *s);
    int n = taken->n_inputs;
    dync_value few[DYNC__FEW], *examples = dync__room(few, DYNC__FEW, n, sizeof *examples);
    if (!s || !examples) {
        dync__room_end(examples, few, n, sizeof *examples);
        dync__free(s, sizeof *s);
        dync__graph_unref(taken);
        dync__lift_free(lift);
        return NULL;
    }
    s->graph = taken;
    s->lift = lift;
    s->hash = hash;
    s->site = site;
    s->n_in = n;
    s->n_out = dync__output_count(taken);
    s->grad_mode = !dync__tls.grad_enabled_off;
    dync__segment_study(s);
    dync_scope scope = dync_scope_begin();
    for (int i = 0; i < n; i++) examples[i] = dync__boxed_value(inputs[i]);
    uint64_t start = dync__now_ns();
    dync_status status = dync__graph_check_after(DYNC__PASS_capture, taken, false);
    if (status == DYNC_OK) status = dync__graph_check(taken);
    if (status == DYNC_OK) status = dync__segment_aliases(s, inputs);
    if (status == DYNC_OK) status = dync__backend_compile(f, taken, examples, n, &s->code);
    dync_scope_end(&scope);
    dync__room_end(examples, few, n, sizeof *examples);
    if (status != DYNC_OK) {
        s->code.destroy = NULL;
        dync__segment_free(s);
        return NULL;
    }
    dync__segment_logged(s, f, dync__now_ns() - start);
    dync__lock(&f->lock);
    s->next = f->segments;
    s->frame = f->n_frames;
    DYNC__ATOMIC_STORE(&f->segments, s);
    DYNC__ATOMIC_STORE(&f->n_frames, s->frame + 1);
    dync__unlock(&f->lock);
    return s;
}

DYNC__RARE static dync_value dync__segment_interpret(void *graph, const dync_value *args, int nargs)
{
    return dync__graph_run(graph, args, nargs);
}
DYNC__RARE DYNC__FN dync__segment *dync__segment_plain(dync__graph *taken)
{
    dync__segment *s = dync__calloc(sizeof *s);
    if (!s) {
        dync__graph_unref(taken);
        return NULL;
    }
    s->graph = taken;
    s->n_in = taken->n_inputs;
    s->n_out = dync__output_count(taken);
    s->grad_mode = !dync__tls.grad_enabled_off;
    s->code.run = dync__segment_interpret;
    s->code.state = taken;
    return s;
}

DYNC__RARE DYNC__FN void dync__lift_free(dync__lift *lift)
{
    if (!lift) return;
    dync__graph_unref(lift->form);
    dync__free(lift, sizeof *lift);
}

DYNC__RARE DYNC__FN void dync__segment_free(dync__segment *s)
{
    if (!s) return;
    if (s->code.destroy) s->code.destroy(s->code.state);
    if (s->alias) dync__free(s->alias, (size_t)s->n_in * sizeof *s->alias);
    if (s->used) dync__free(s->used, (size_t)s->n_out * sizeof *s->used);
    dync__lift_free(s->lift);
    dync__graph_unref(s->graph);
    dync__free(s, sizeof *s);
}

/* ---- what crosses ---------------------------------------------------------------------------- */
DYNC__RARE static void dync__metadata_text(dync__str *s, int dtype, const dync__layout *lay,
                                           int device)
{
    dync__str_addf(s, "%s", dync__dtype_info(dtype)->name);
    dync__shape_text(s, lay->ndim, lay->shape);
    dync__str_add(s, " of strides ");
    dync__shape_text(s, lay->ndim, lay->stride);
    char text[DYNC__DEVICE_TEXT];
    if (dync__device_is(device, DYNC__DEV_NUMBERED))
        dync__str_addf(s, " on %s", dync__device_text(device, text));
}

DYNC__RARE static dync_status dync__metadata_differs(dync_status status, const char *what, int i,
                                                     const dync__node *n, const dync__tensor *t)
{
    dync__str text = {0};
    dync__metadata_text(&text, n->info[0].dtype, &n->info[0].lay, n->info[0].device);
    dync__str_add(&text, ", got ");
    dync__metadata_text(&text, t->dtype, &t->lay, t->device);
    dync__fail(status, "%s %d of a compiled graph: expected %s", what, i, dync__str_get(&text));
    dync__str_free(&text);
    return status;
}

static bool dync__layout_fits(const dync__layout *want, const dync__layout *lay, bool strides)
{
    bool same = lay->ndim == want->ndim;
    /* nothing is read by them */
    for (int d = 0; d < lay->ndim; d++) strides = strides && lay->shape[d] != 0;
    for (int d = 0; same && d < want->ndim; d++)
        same = (lay->shape[d] == want->shape[d] || dync__is_token(want->shape[d])) &&
               (!strides || lay->shape[d] < 2 || lay->stride[d] == want->stride[d] ||
                dync__is_token(want->stride[d]));
    return same;
}

/* Code is made for exactly the placeholders' metadata. Guards see to that; who calls a callable on
 * his own is told. */
static dync_status dync__raw_inputs(const dync__graph *g, int n_in, dync__tensor *const *in)
{
    if (n_in != g->n_inputs)
        return dync__fail(DYNC_ERR_VALUE, "a compiled graph takes %d tensors, got %d", g->n_inputs,
                          n_in);
    for (int i = 0, k = 0; i < g->node.n && k < n_in; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind != DYNC__N_PLACEHOLDER) continue;
        const dync__tensor *t = in[k++];
        if (n->has_info && (t->dtype != n->info[0].dtype || t->device != n->info[0].device ||
                            !dync__layout_fits(&n->info[0].lay, &t->lay, true)))
            return dync__metadata_differs(DYNC_ERR_VALUE, "argument", k - 1, n, t);
    }
    return DYNC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */
DYNC__RARE static bool dync__form_is_number(const dync__arg *form)
{
    return form->kind == DYNC__A_NODE && !form->as.node->has_info &&
           dync__arg_is_number(&form->as.node->scalar);
}
static dync_value dync__raw_number(dync__tensor *taken)
{
    dync_value v = dync__number_value(taken);
    dync__unref(taken);
    return v;
}
/* The result in the graph's own form; takes the outputs over. */
static dync_value dync__raw_result(const dync__arg *form, dync__tensor **out, int *k)
{
    switch ((dync__arg_kind)form->kind) {
    case DYNC__A_NODE:
    case DYNC__A_TENSOR: {
        dync__tensor *t = out[(*k)++];
        if (t && dync__form_is_number(form)) return dync__raw_number(t);
        return t ? dync_v_tensor(dync__give(t)) : DYNC_NONE;
    }
    case DYNC__A_LIST: {
        dync_value list = dync__list_new(form->n);
        for (int i = 0; i < form->n; i++) {
            bool tensor = form->as.list[i].kind == DYNC__A_NODE &&
                          !dync__form_is_number(&form->as.list[i]);
            dync__tensor *t = tensor ? out[(*k)++] : NULL;
            dync_value v = tensor ? (t ? dync_v_tensor(dync__handle(t)) : DYNC_NONE)
                                  : dync__raw_result(&form->as.list[i], out, k);
            if (list.kind == DYNC_KIND_NONE)
                dync__unref(t);
            else {
                dync__list_set(list, i, v);
                dync__unref(t); /* the list has its own */
            }
        }
        return list;
    }
    case DYNC__A_INT: return dync_v_int(form->as.i);
    case DYNC__A_FLOAT: return dync_v_float(form->as.f);
    case DYNC__A_BOOL: return dync_v_bool(form->as.i != 0);
    default: return DYNC_NONE;
    }
}

static dync_value dync__raw_run_tensors(dync__raw_state *r, int n_in, dync__tensor *const *in)
{
    dync_value result = DYNC_NONE;
    if (r->compiled_from && dync__raw_inputs(r->compiled_from, n_in, in) != DYNC_OK) return result;
    dync__tensor **out = dync__calloc((size_t)(r->n_out + 1) * sizeof *out);
    if (!out) return result;
    int k = 0;
    dync_status status = r->raw.run(r->raw.state, n_in, in, r->n_out, out);
    if (status == DYNC_OK)
        result = dync__raw_result(r->form, out, &k);
    else
        for (int i = 0; i < r->n_out; i++) dync__unref(out[i]);
    dync__free(out, (size_t)(r->n_out + 1) * sizeof *out);
    return result;
}

static bool dync__raw_takes_number(const dync__raw_state *r, int i)
{
    const dync__node *n =
        r->compiled_from && i < r->compiled_from->n_inputs ? r->compiled_from->node.at[i] : NULL;
    return n && !n->has_info && dync__arg_is_number(&n->scalar);
}

DYNC__FN dync_value dync__raw_run(void *state, const dync_value *args, int nargs)
{
    dync_value result = DYNC_NONE;
    if (nargs < 0 || (nargs > 0 && !args)) {
        dync__fail(DYNC_ERR_VALUE, "a compiled graph: expected arguments, got %s",
                   nargs < 0 ? "a negative number of them" : "NULL");
        return result;
    }
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, nargs, sizeof *in);
    bool good = in != NULL;
    for (int i = 0; i < nargs && good; i++) {
        bool number = (args[i].kind == DYNC_KIND_INT || args[i].kind == DYNC_KIND_FLOAT) &&
                      dync__raw_takes_number(state, i);
        if (number && !(in[i] = dync__number_tensor(args[i]))) good = false;
        /* the scope's */
        else if (number)
            (void)dync__give(in[i]);
        else if (args[i].kind != DYNC_KIND_TENSOR) {
            dync__fail(DYNC_ERR_VALUE, "argument %d of a compiled graph must be a tensor", i);
            good = false;
        } else
            good = (in[i] = dync__open(args[i].as.t)) != NULL;
    }
    if (good) result = dync__raw_run_tensors(state, nargs, in);
    dync__room_end(in, few, nargs, sizeof *in);
    return result;
}

/* A callable of the user's: values in, a list (or a single tensor) out, in a scope of its own. */
static dync_status dync__callable_boxed(const dync_callable *code, bool numbers, int n_in,
                                        dync__tensor *const *in, int n_out, dync__tensor **out)
{
    dync_value few[DYNC__FEW], *args = dync__room(few, DYNC__FEW, n_in, sizeof *args);
    if (!args) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_in; i++)
        args[i] = numbers ? dync__boxed_value(in[i]) : dync_v_tensor(dync__handle(in[i]));
    uint64_t errors = dync__error_count();
    dync_scope scope = dync_scope_begin();
    dync_value r = code->run(code->state, args, n_in);
    const dync__list *list = dync__value_list(r);
    dync_status status = dync__error_count() != errors && dync_error() != DYNC_OK ? dync_error()
                                                                                  : DYNC_OK;
    if (status == DYNC_OK && r.kind == DYNC_KIND_TENSOR && n_out == 1) {
        out[0] = dync__open(r.as.t);
        if (out[0]) dync__ref(out[0]);
    } else if (status == DYNC_OK && list && list->n == n_out) {
        for (int i = 0; i < n_out; i++) {
            const dync_value *v = &list->items[i];
            if (v->kind == DYNC_KIND_TENSOR && (out[i] = dync__open(v->as.t))) dync__ref(out[i]);
            if (v->kind == DYNC_KIND_INT || v->kind == DYNC_KIND_FLOAT)
                out[i] = dync__number_tensor(*v);
        }
    } else if (status == DYNC_OK && n_out) {
        status = dync__fail(
            DYNC_ERR_BACKEND,
            "the compiled graph returned %s, expected a list "
            "of %d tensors",
            r.kind == DYNC_KIND_LIST ? "a list of another length" : "another kind of value", n_out);
    }
    for (int i = 0; i < n_out && status == DYNC_OK && !code->narrow; i++)
        if (!out[i])
            status = dync__fail(DYNC_ERR_BACKEND,
                                "the compiled graph returned no tensor as output %d of %d", i,
                                n_out);
    dync_scope_end(&scope);
    dync__room_end(args, few, n_in, sizeof *args);
    return status;
}

DYNC__FN dync_status dync__callable_run(const dync_callable *code, bool numbers, int n_in,
                                        dync__tensor *const *in, int n_out, dync__tensor **out)
{
    for (int i = 0; i < n_out; i++) out[i] = NULL;
    dync_status status;
    if (code->run == dync__raw_run) {
        const dync__raw_state *r = code->state;
        status = r->raw.run(r->raw.state, n_in, in, n_out, out);
    } else {
        status = dync__callable_boxed(code, numbers, n_in, in, n_out, out);
    }
    if (status == DYNC_OK) return DYNC_OK;
    for (int i = 0; i < n_out; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

/* What a user's callable returns must be what the graph says: later segments are compiled for
 * that. */
static dync_status dync__segment_outputs(const dync__segment *s, dync__tensor *const *out)
{
    const dync__arg *form = s->n_out ? &s->graph->node.at[s->graph->node.n - 1]->args[0] : NULL;
    for (int i = 0; i < s->n_out; i++) {
        const dync__node *n = form->as.list[i].as.node;
        const dync__tensor *t = out[i];
        if (!t || !n->has_info) continue;
        if (t->dtype == n->info[0].dtype && dync__layout_fits(&n->info[0].lay, &t->lay, true))
            continue;
        return dync__metadata_differs(DYNC_ERR_BACKEND, "output", i, n, t);
    }
    return DYNC_OK;
}

/* Outputs that are numbers are marked so in the environment. */
static void dync__segment_numbers(const dync__segment *s, dync__tensor *const *out)
{
    const dync__arg *form = &s->graph->node.at[s->graph->node.n - 1]->args[0];
    for (int i = 0; i < s->n_out; i++)
        if (out[i] && dync__form_is_number(&form->as.list[i])) out[i]->flags |= DYNC__T_NUMBER;
}

DYNC__FN dync_status dync__segment_run(dync__segment *s, int n_in, dync__tensor *const *in,
                                       dync__tensor **out)
{
    DYNC__TRY(dync__callable_run(&s->code, true, n_in, in, s->n_out, out));
    if (DYNC__UNLIKELY(s->gives_numbers)) dync__segment_numbers(s, out);
    dync_status status = s->code.run == dync__raw_run ? DYNC_OK : dync__segment_outputs(s, out);
    for (int i = 0; i < s->n_out && status != DYNC_OK; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

DYNC__FN dync_status dync__segment_run_into(dync__segment *s, int n_in, dync__tensor *const *in,
                                            dync__tensor **out, dync__tensor *const *into)
{
    const dync__raw_state *r = s->code.run == dync__raw_run ? s->code.state : NULL;
    if (!r || !r->raw.run_into || s->gives_numbers) return dync__segment_run(s, n_in, in, out);
    for (int i = 0; i < s->n_out; i++) out[i] = NULL;
    dync_status status = r->raw.run_into(r->raw.state, n_in, in, s->n_out, out, into);
    for (int i = 0; i < s->n_out && status != DYNC_OK; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

/* The uses are known now: the callable computes no more than those. Uses only grow: a later path
 * that needs more widens them. */
DYNC__RARE static dync_status dync__segment_narrow_now(dync__segment *s, const bool *used)
{
    bool fresh = !s->used, changed = fresh;
    if (fresh && !(s->used = dync__calloc((size_t)s->n_out * sizeof *s->used)))
        return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n_out; i++)
        if (used[i] && !s->used[i]) s->used[i] = changed = true;
    return changed ? s->code.narrow(s->code.state, s->used) : DYNC_OK;
}

/* Paths of several entries may end in the same segment at once. */
DYNC__RARE DYNC__FN dync_status dync__segment_narrow(dync__segment *s, const bool *used)
{
    if (!s->code.narrow || !s->narrowable || !s->n_out || !dync__pass_on(DYNC__PASS_narrow))
        return DYNC_OK;
    int32_t idle = 0;
    while (!DYNC__ATOMIC_CAS(&s->narrowing, &idle, 1)) idle = 0;
    dync_status status = dync__segment_narrow_now(s, used);
    DYNC__ATOMIC_STORE(&s->narrowing, 0);
    return status;
}
