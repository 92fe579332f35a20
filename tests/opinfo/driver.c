/* tests/opinfo/driver.c: dync's side of `make opinfo`: a shared library that opinfo.py drives. One
 * call of one operator is open at a time: its arguments, its results, their gradients and the
 * gradients of these. */
#include "../../dync.h"
#include <stdio.h>
#include <string.h>

enum { MOST_ARGS = 16, MOST_TENSORS = 64, MOST_DIMS = DYNC_MAX_DIMS };

/* An argument, or a tensor that is read. A tensor's data are those of its whole storage. */
typedef struct opinfo_value {
    int64_t kind, i; /* dync_kind; an int, a bool, a dtype */
    double f;
    const char *s;
    const void *data;
    int64_t elements, dtype, ndim, shape[MOST_DIMS], stride[MOST_DIMS], offset, grad;
    const struct opinfo_value *items;
    int64_t n;
} opinfo_value;

enum { RESULTS, GRADIENTS, SECOND, INPUTS, LISTS };
typedef struct {
    int n;
    dync_tensor *at[MOST_TENSORS];
} tensors;
static struct {
    char op[96];
    /* in place: the first argument is cloned in front of the operator */
    bool copy;
    int n;
    dync_value args[MOST_ARGS];
    dync_scope scope;
    dync_compiled *compiled;
    tensors leaves, cotangents, list[LISTS];
    char error[512];
} open_call;

/* ---- making ---------------------------------------------------------------------------------- */
static dync_dims dims(const int64_t *d, int64_t n)
{
    dync_dims out = {.n = (int)n};
    for (int i = 0; i < (int)n && i < MOST_DIMS; i++) out.d[i] = d[i];
    return out;
}

static dync_tensor *make_tensor(const opinfo_value *v)
{
    dync_dims size = dims(v->shape, v->ndim), stride = dims(v->stride, v->ndim);
    dync_tensor *flat = dync_from(v->data, dync_shape(v->elements), .dtype = (dync_dtype)v->dtype);
    dync_tensor *t = dync_detach(dync_as_strided(flat, size, stride, v->offset));
    if (v->grad) dync_requires_grad_(t, true);
    if (open_call.list[INPUTS].n < MOST_TENSORS)
        open_call.list[INPUTS].at[open_call.list[INPUTS].n++] = t;
    if (v->grad && open_call.leaves.n < MOST_TENSORS) open_call.leaves.at[open_call.leaves.n++] = t;
    return t;
}

static dync_value make(const opinfo_value *v)
{
    dync_value items[MOST_TENSORS];
    switch ((dync_kind)v->kind) {
    case DYNC_KIND_BOOL: return dync_v_bool(v->i != 0);
    case DYNC_KIND_INT: return dync_v_int(v->i);
    case DYNC_KIND_FLOAT: return dync_v_float(v->f);
    case DYNC_KIND_STR: return dync_v_str(v->s);
    case DYNC_KIND_TENSOR: return dync_v_tensor(make_tensor(v));
    case DYNC_KIND_LIST:
        for (int i = 0; i < (int)v->n && i < MOST_TENSORS; i++) items[i] = make(&v->items[i]);
        return dync_tuple_of((int)v->n, items);
    default: return DYNC_NONE;
    }
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* 0, or the status; its message is kept. */
static int failed(void)
{
    int status = (int)dync_error();
    if (status)
        snprintf(open_call.error, sizeof open_call.error, "%d %s", status, dync_error_message());
    dync_clear_error();
    return status;
}

const char *opinfo_error(void);
const char *opinfo_error(void) { return open_call.error; }

int opinfo_close(void);
int opinfo_close(void)
{
    if (open_call.compiled) dync_compiled_free(open_call.compiled);
    if (open_call.scope.open) dync_scope_end(&open_call.scope);
    memset(&open_call, 0, sizeof open_call);
    dync_clear_error();
    return 0;
}

int opinfo_open(const char *op, int copy, const opinfo_value *args, int n);
int opinfo_open(const char *op, int copy, const opinfo_value *args, int n)
{
    opinfo_close();
    if (n > MOST_ARGS) return DYNC_ERR_VALUE;
    dync_on_error(quiet, NULL);
    snprintf(open_call.op, sizeof open_call.op, "%s", op);
    open_call.scope = dync_scope_begin();
    open_call.copy = copy != 0;
    open_call.n = n;
    for (int i = 0; i < n; i++) open_call.args[i] = make(&args[i]);
    return failed();
}

/* ---- calling --------------------------------------------------------------------------------- */
static dync_value body(const dync_value *args, int n, void *user)
{
    dync_value all[MOST_ARGS];
    (void)user;
    for (int i = 0; i < n && i < MOST_ARGS; i++) all[i] = args[i];
    if (open_call.copy) all[0] = dync_v_tensor(dync_clone(dync_as_tensor(all[0])));
    return dync_op_call_values(open_call.op, n, all);
}

static void collect(tensors *list, dync_value v)
{
    if (v.kind == DYNC_KIND_TENSOR || v.kind == DYNC_KIND_NONE) {
        if (list->n < MOST_TENSORS)
            list->at[list->n++] = v.kind == DYNC_KIND_TENSOR ? v.as.t : NULL;
    } else if (v.kind == DYNC_KIND_LIST) {
        for (int i = 0; i < dync_len(v); i++) collect(list, dync_at(v, i));
    }
}

/* backend: NULL calls the operator, else it is compiled, once for an open call. -> results, or
 * -1 */
int opinfo_call(const char *backend, int dynamic, int double_backward);
int opinfo_call(const char *backend, int dynamic, int double_backward)
{
    tensors *out = &open_call.list[RESULTS];
    out->n = 0;
    dync_value v = DYNC_NONE;
    if (backend && !open_call.compiled)
        open_call.compiled = dync_compile(dync_fnv(body), .backend = backend,
                                          .double_backward = double_backward != 0,
                                          .dynamic = dynamic ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
    if (!backend)
        v = body(open_call.args, open_call.n, NULL);
    else if (open_call.compiled)
        v = dync_call_values(open_call.compiled, open_call.n, open_call.args);
    if (v.kind != DYNC_KIND_NONE) collect(out, v);
    return failed() ? -1 : out->n;
}

static dync_value as_list(const tensors *t)
{
    dync_value items[MOST_TENSORS];
    for (int i = 0; i < t->n; i++) items[i] = dync_v_tensor(t->at[i]);
    return dync_tuple_of(t->n, items);
}

static int gradients(const tensors *of, const tensors *with, const tensors *seeds,
                     bool create_graph, tensors *out)
{
    dync_grad_options options = {
        .retain_graph = true, .create_graph = create_graph, .allow_unused = true};
    out->n = 0;
    if (of->n == 0) return 0;
    dync_value v = dync_gradients(as_list(of), as_list(with), as_list(seeds), options);
    if (!failed())
        collect(out, v);
    else
        return -1;
    return out->n;
}

/* Those of a list that have a history; their cotangents are made as leaves with gradients of their
 * own. */
static tensors with_history(const tensors *list, const opinfo_value *seeds, tensors *made)
{
    tensors out = {0};
    for (int i = 0; i < list->n; i++) {
        if (!list->at[i] || !dync_requires_grad(list->at[i])) continue;
        made->at[made->n++] = make_tensor(&seeds[i]);
        out.at[out.n++] = list->at[i];
    }
    return out;
}

/* Gradients of the results with respect to the leaves; seeds: a cotangent for every result. -> how
 * many, or -1 */
int opinfo_gradients(const opinfo_value *seeds, int create_graph);
int opinfo_gradients(const opinfo_value *seeds, int create_graph)
{
    int inputs = open_call.list[INPUTS].n, leaves = open_call.leaves.n;
    tensors made = {0};
    tensors of = with_history(&open_call.list[RESULTS], seeds, &made);
    open_call.list[INPUTS].n = inputs;
    open_call.leaves.n = leaves;
    open_call.cotangents = made;
    return gradients(&of, &open_call.leaves, &made, create_graph != 0, &open_call.list[GRADIENTS]);
}

/* Gradients of those gradients with respect to the leaves, then to the cotangents. -> how many, or
 * -1 */
int opinfo_second(const opinfo_value *seeds);
int opinfo_second(const opinfo_value *seeds)
{
    int inputs = open_call.list[INPUTS].n, leaves = open_call.leaves.n;
    tensors made = {0}, with = open_call.leaves;
    tensors of = with_history(&open_call.list[GRADIENTS], seeds, &made);
    open_call.list[INPUTS].n = inputs;
    open_call.leaves.n = leaves;
    for (int i = 0; i < open_call.cotangents.n && with.n < MOST_TENSORS; i++)
        with.at[with.n++] = open_call.cotangents.at[i];
    return gradients(&of, &with, &made, false, &open_call.list[SECOND]);
}

/* ---- reading --------------------------------------------------------------------------------- */
/* Tensor i of a list as row-major data; 0: there is none. */
int opinfo_read(int which, int i, opinfo_value *out);
int opinfo_read(int which, int i, opinfo_value *out)
{
    if (which < 0 || which >= LISTS || i < 0 || i >= open_call.list[which].n ||
        !open_call.list[which].at[i])
        return 0;
    dync_tensor *t = open_call.list[which].at[i];
    bool grad = dync_requires_grad(t);
    t = dync_contiguous(dync_detach(t));
    *out = (opinfo_value){.data = dync_data(t),
                          .dtype = (int64_t)dync_type(t),
                          .ndim = dync_ndim(t),
                          .elements = dync_numel(t),
                          .grad = grad};
    for (int d = 0; d < (int)out->ndim; d++) out->shape[d] = dync_size(t, d);
    return failed() ? -1 : 1;
}
