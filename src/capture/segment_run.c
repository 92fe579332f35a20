/* capture/segment_run.c: runs the code of a segment: boxed values for a user's backend, tensors for
 * the library's own. After segment.c. */
#include "../dync.in.h"
#include "capture.h"
DYNC__WARM

/* ---- what a call checks ---------------------------------------------------------------------- */
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

/* Tokens (symbolic sizes) fit any number; strides of dimensions shorter than 2, and of tensors
 * without elements, address nothing and may be anything. */
DYNC__FN bool dync__layout_fits(const dync__layout *want, const dync__layout *lay, bool strides)
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
    static const char own[] = "argument";
    for (int i = 0, k = 0; i < g->node.n && k < n_in; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind != DYNC__N_PLACEHOLDER) continue;
        const dync__tensor *t = in[k++];
        if (n->has_info && (t->dtype != n->info[0].dtype || t->device != n->info[0].device ||
                            !dync__layout_fits(&n->info[0].lay, &t->lay, true)))
            return dync__metadata_differs(DYNC_ERR_VALUE, own, k - 1, n, t);
    }
    return DYNC_OK;
}

/* ---- boxed and not --------------------------------------------------------------------------- */
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

/* NONE + error, else the result in the graph's form, its tensors in the scope. All outputs are
 * released on failure. */
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

/* The library's own code as a callable that anybody may call: arguments are checked as
 * strangers' are. Plain numbers become 0-dim tensors where the graph takes a number. */
static dync_value dync__raw_boxed(void *state, const dync_value *args, int nargs)
{
    static const char own[] = "NULL";
    dync_value result = DYNC_NONE;
    if (nargs < 0 || (nargs > 0 && !args)) {
        dync__fail(DYNC_ERR_VALUE, "a compiled graph: expected arguments, got %s",
                   nargs < 0 ? "a negative number of them" : own);
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

/* By need: of who may hold a callable, as backends of the user's do. */
static dync_value (*DYNC__BY_NEED dync__raw_used)(void *, const dync_value *,
                                                  int) = DYNC__AT_FIRST(dync__raw_boxed);
DYNC__FN void dync__raw_calls(void) { DYNC__PUT(dync__raw_used, dync__raw_boxed); }
DYNC__FN dync_value dync__raw_run(void *state, const dync_value *args, int nargs)
{
    if (dync__raw_used) return dync__raw_used(state, args, nargs);
    (void)dync__unlinked("callables");
    return DYNC_NONE;
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

/* By need: of backends but inductor, and of what no backend compiles. */
static dync_status (*DYNC__BY_NEED dync__boxed_used)(const dync_callable *, bool, int,
                                                     dync__tensor *const *, int, dync__tensor **) =
    DYNC__AT_FIRST(dync__callable_boxed);
DYNC__FN void dync__callable_boxes(void) { DYNC__PUT(dync__boxed_used, dync__callable_boxed); }

DYNC__FN dync_status dync__callable_run(const dync_callable *code, bool numbers, int n_in,
                                        dync__tensor *const *in, int n_out, dync__tensor **out)
{
    for (int i = 0; i < n_out; i++) out[i] = NULL;
    dync_status status;
    if (code->run == dync__raw_run) {
        const dync__raw_state *r = code->state;
        status = r->raw.run(r->raw.state, n_in, in, n_out, out);
    } else {
        status = dync__boxed_used ? dync__boxed_used(code, numbers, n_in, in, n_out, out)
                                  : dync__unlinked("callables");
    }
    if (status == DYNC_OK) return DYNC_OK;
    for (int i = 0; i < n_out; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

/* ---- segments -------------------------------------------------------------------------------- */
/* The node that tells what n is at the end: itself, or the set_ that made it another memory's. */
static const dync__node *dync__segment_last_set(const dync__graph *g, const dync__node *n)
{
    for (int i = g->node.n - 1; i >= 0 && g->node.at[i] != n; i--) {
        const dync__node *set = g->node.at[i];
        if (dync__node_is_call(set) && set->op == DYNC__OP_set_ && set->args[0].as.node == n)
            return set;
    }
    return n;
}

/* Is t what the graph says of n? Else an error that tells of output i. */
DYNC__FN dync_status dync__output_check(const dync__node *n, const dync__tensor *t, int i,
                                        bool strides)
{
    if (!n->has_info ||
        (t->dtype == n->info[0].dtype && dync__layout_fits(&n->info[0].lay, &t->lay, strides)))
        return DYNC_OK;
    static const char own[] = "output";
    return dync__metadata_differs(DYNC_ERR_BACKEND, own, i, n, t);
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
        DYNC__TRY(dync__output_check(dync__segment_last_set(s->graph, n), t, i, true));
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
    const dync__apart *apart = DYNC__ATOMIC_LOAD(&s->apart);
    DYNC__TRY(dync__callable_run(DYNC__UNLIKELY(apart != NULL) ? &apart->code : &s->code, true,
                                 n_in, in, s->n_out, out));
    if (DYNC__UNLIKELY(s->gives_numbers)) dync__segment_numbers(s, out);
    dync_status status = s->code.run == dync__raw_run ? DYNC_OK : dync__segment_outputs(s, out);
    for (int i = 0; i < s->n_out && status != DYNC_OK; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

/* Operator by operator: every value has a node of the tape. */
DYNC__RARE DYNC__FN dync_status dync__segment_run_plain(dync__segment *s, int n_in,
                                                        dync__tensor *const *in, dync__tensor **out)
{
    dync_callable plain = {.run = dync__segment_interpret, .state = s->graph};
    dync__callable_boxes();
    DYNC__TRY(dync__callable_run(&plain, true, n_in, in, s->n_out, out));
    if (s->gives_numbers) dync__segment_numbers(s, out);
    return DYNC_OK;
}

DYNC__RARE DYNC__FN void dync__callable_measure(const dync_callable *code, dync__code_size *size)
{
    const dync__raw_state *r = code->run == dync__raw_run ? code->state : NULL;
    if (r && r->measure) r->measure(r, size);
}

DYNC__FN dync_status dync__segment_run_into(dync__segment *s, int n_in, dync__tensor *const *in,
                                            dync__tensor **out, dync__tensor *const *into)
{
    const dync__raw_state *r = s->code.run == dync__raw_run ? s->code.state : NULL;
    if (!r || !r->raw.run_into || s->gives_numbers || DYNC__ATOMIC_LOAD(&s->apart))
        return dync__segment_run(s, n_in, in, out);
    for (int i = 0; i < s->n_out; i++) out[i] = NULL;
    dync_status status = r->raw.run_into(r->raw.state, n_in, in, s->n_out, out, into);
    for (int i = 0; i < s->n_out && status != DYNC_OK; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    return status;
}
