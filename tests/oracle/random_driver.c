/* tests/oracle/random_driver.c: dync's side of `make oracle-random`: a shared library that
 * random_judge.py drives. One program is open at a time; it runs plainly and compiled, and what it
 * made is read back: results, gradients, what was written to its inputs. */
#include "../../dync.h"
#include <stdio.h>
#include <string.h>

enum { MOST_VALUES = 512, MOST_INPUTS = 48, MOST_ARGS = 16, MOST_ITEMS = 64, KIND_REF = 100 };

/* An argument: a dync_kind, or KIND_REF: value i of the program. */
typedef struct value {
    int64_t kind, i;
    double f;
    const char *s;
    int64_t n;
    const struct value *items;
} value;
/* One dimension of memory that inputs view. nonleaf: a clone of the leaf stands in its place. */
typedef struct {
    const void *data;
    int64_t elements, bytes, dtype, grad, nonleaf;
} base;
typedef struct {
    int64_t base, ndim, shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS], offset;
} input;
/* A result is value `out`; of several, out and those that follow. */
typedef struct {
    const char *op;
    const value *args;
    int64_t n, out;
} step;
typedef struct {
    int64_t nbases;
    const base *bases;
    int64_t ninputs;
    const input *inputs;
    int64_t nsteps;
    const step *steps;
    int64_t nouts;
    const int64_t *outs;
} program;
/* alias: the base that the data lie in, 1000 + k where they begin where those of result k do. */
typedef struct {
    const void *data;
    int64_t dtype, ndim, shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS], grad, alias;
} reading;

static const program *open_program;
static dync_scope scope;
static dync_compiled *compiled;
static dync_tensor *bases[MOST_INPUTS], *leaves[MOST_INPUTS], *outs[MOST_VALUES];
static dync_value inputs[MOST_INPUTS];
static int nouts;
static char error[4096];

/* The pending error becomes `error`. */
static bool failed(void)
{
    dync_status status = dync_error();
    if (status) snprintf(error, sizeof error, "%d %s", (int)status, dync_error_message());
    dync_clear_error();
    return status != DYNC_OK;
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static dync_value argument(const value *v, dync_tensor **values)
{
    dync_value items[MOST_ITEMS];
    switch (v->kind) {
    case KIND_REF: return dync_v_tensor(values[v->i]);
    case DYNC_KIND_BOOL: return dync_v_bool(v->i != 0);
    case DYNC_KIND_INT: return dync_v_int(v->i);
    case DYNC_KIND_FLOAT: return dync_v_float(v->f);
    case DYNC_KIND_STR: return dync_v_str(v->s);
    case DYNC_KIND_LIST:
        for (int i = 0; i < v->n && i < MOST_ITEMS; i++) items[i] = argument(&v->items[i], values);
        return dync_tuple_of((int)v->n, items);
    default: return DYNC_NONE;
    }
}

/* Steps that are no rows of the operator table, or whose public function does more than the row:
 * ! and a name. */
static dync_value special(const char *name, const dync_value *a)
{
    if (strcmp(name, "!break") == 0) dync_graph_break("random");
    if (strcmp(name, "!split") == 0) return dync_split(a[0].as.t, a[1].as.i, (int)a[2].as.i);
    if (strcmp(name, "!chunk") == 0) return dync_chunk(a[0].as.t, (int)a[1].as.i, (int)a[2].as.i);
    if (strcmp(name, "!unbind") == 0) return dync_unbind(a[0].as.t, (int)a[1].as.i);
    if (strcmp(name, "!to") == 0)
        return dync_v_tensor(dync_to_dtype(a[0].as.t, (dync_dtype)a[1].as.i));
    if (strcmp(name, "!grad") == 0) dync_set_grad_enabled(a[0].as.i != 0);
    if (strcmp(name, "!gradient") == 0) {
        dync_value r =
            dync_gradients(dync_v_tensor(dync_sum(a[0].as.t, DYNC_ALL, false)), a[1], DYNC_NONE,
                           (dync_grad_options){.create_graph = true, .allow_unused = true});
        dync_value x = dync_len(r) ? dync_at(r, 0) : DYNC_NONE;
        return x.kind == DYNC_KIND_TENSOR ? x : dync_v_tensor(dync_zeros_like(a[1].as.t));
    }
    if (strcmp(name, "!scale") == 0) {
        dync_tensor *sum = dync_sum(dync_to_dtype(a[0].as.t, DYNC_F64), DYNC_ALL, false);
        return dync_v_tensor(dync_mul(a[0].as.t, dync_item(dync_tanh(sum))));
    }
    if (strcmp(name, "!branch") == 0) {
        dync_tensor *sum = dync_sum(dync_to_dtype(a[0].as.t, DYNC_F64), DYNC_ALL, false);
        bool positive = dync_bool(dync_gt(sum, 0));
        return dync_v_tensor(positive ? dync_sin(a[0].as.t) : dync_cos(a[0].as.t));
    }
    return DYNC_NONE;
}

static dync_value body(const dync_value *args, int nargs, void *user)
{
    const program *p = open_program;
    dync_tensor *values[MOST_VALUES] = {0};
    dync_value out[MOST_VALUES];
    (void)user;
    for (int i = 0; i < nargs; i++) values[i] = dync_as_tensor(args[i]);
    for (int k = 0; k < p->nsteps; k++) {
        const step *s = &p->steps[k];
        dync_value a[MOST_ARGS], r;
        for (int i = 0; i < s->n; i++) a[i] = argument(&s->args[i], values);
        r = s->op[0] == '!' ? special(s->op, a) : dync_op_call_values(s->op, (int)s->n, a);
        if (r.kind == DYNC_KIND_TENSOR) values[s->out] = r.as.t;
        for (int i = 0; r.kind == DYNC_KIND_LIST && i < dync_len(r); i++)
            values[s->out + i] = dync_as_tensor(dync_at(r, i));
    }
    for (int i = 0; i < p->nouts; i++) out[i] = dync_v_tensor(values[p->outs[i]]);
    return dync_tuple_of((int)p->nouts, out);
}

static dync_dims dims(const int64_t *d, int64_t n)
{
    dync_dims out = {.n = (int)n};
    for (int i = 0; i < n; i++) out.d[i] = d[i];
    return out;
}

void random_close(void)
{
    if (compiled) dync_compiled_free(compiled);
    compiled = NULL;
    if (scope.open) dync_scope_end(&scope);
    dync_clear_error();
    dync_set_grad_enabled(true);
}

void random_open(const program *p)
{
    random_close();
    open_program = p;
    dync_on_error(quiet, NULL);
    scope = dync_scope_begin();
}

const char *random_error(void) { return error; }

static bool make_inputs(void)
{
    const program *p = open_program;
    for (int i = 0; i < p->nbases; i++) {
        const base *b = &p->bases[i];
        leaves[i] = dync_from(b->data, dync_shape(b->elements), .dtype = (dync_dtype)b->dtype,
                              .requires_grad = b->grad != 0);
        bases[i] = b->nonleaf ? dync_clone(leaves[i]) : leaves[i];
    }
    for (int i = 0; i < p->ninputs; i++) {
        const input *in = &p->inputs[i];
        inputs[i] = dync_v_tensor(dync_as_strided(bases[in->base], dims(in->shape, in->ndim),
                                                  dims(in->stride, in->ndim), in->offset));
    }
    return !failed();
}

/* Does the program differentiate a gradient? */
static bool twice(void)
{
    for (int k = 0; k < open_program->nsteps; k++)
        if (strcmp(open_program->steps[k].op, "!gradient") == 0) return true;
    return false;
}

/* backend NULL: the function as it is. How many results; -1: random_error says why not. */
int random_run(const char *backend, int dynamic, int threads)
{
    char options[32];
    snprintf(options, sizeof options, "threads=%d", threads);
    dync_set_grad_enabled(true);
    if (!make_inputs()) return -1;
    if (backend && !compiled)
        compiled = dync_compile(dync_fnv(body), .backend = backend, .double_backward = twice(),
                                .dynamic = dynamic ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO,
                                .options = strcmp(backend, "inductor") == 0 ? options : NULL);
    int n = (int)open_program->ninputs;
    dync_value r = backend ? dync_call_values(compiled, n, inputs) : body(inputs, n, NULL);
    if (failed()) return -1;
    nouts = dync_len(r);
    for (int i = 0; i < nouts; i++) outs[i] = dync_as_tensor(dync_at(r, i));
    return failed() ? -1 : nouts;
}

/* cotangents: of each result, row major, with its dtype; NULL: none. */
int random_backward(const void **cotangents)
{
    dync_value out[MOST_VALUES], grad[MOST_VALUES];
    int n = 0;
    for (int i = 0; i < nouts; i++) {
        if (!cotangents[i] || !outs[i] || !dync_requires_grad(outs[i])) continue;
        dync_dims shape = {.n = dync_ndim(outs[i])};
        for (int k = 0; k < shape.n; k++) shape.d[k] = dync_size(outs[i], k);
        out[n] = dync_v_tensor(outs[i]);
        grad[n++] = dync_v_tensor(dync_from(cotangents[i], shape, .dtype = dync_type(outs[i])));
    }
    if (n) dync_backward_opt(dync_tuple_of(n, out), dync_tuple_of(n, grad), (dync_grad_options){0});
    return failed() ? -1 : n;
}

static void find_alias(int at, reading *r)
{
    const char *data = dync_data(dync_detach(outs[at]));
    for (int k = 0; k < at && r->alias < 0; k++)
        if (outs[k] && dync_numel(outs[k]) && dync_data(dync_detach(outs[k])) == data)
            r->alias = 1000 + k;
    for (int k = 0; k < open_program->nbases; k++) {
        const base *b = &open_program->bases[k];
        const char *begin = dync_data(dync_detach(bases[k]));
        if (b->bytes && data >= begin && data < begin + b->bytes) r->alias = k;
    }
}

/* which: 0 result i, 1 the gradient of leaf i, 2 base i after the call. 0: there is none. */
int random_read(int which, int i, reading *r)
{
    dync_tensor *t = which == 0 ? outs[i] : which == 1 ? dync_grad(leaves[i]) : bases[i];
    memset(r, 0, sizeof *r);
    dync_set_grad_enabled(true);
    if (!t) return 0;
    r->dtype = dync_type(t);
    r->ndim = dync_ndim(t);
    for (int k = 0; k < r->ndim; k++)
        r->shape[k] = dync_size(t, k), r->stride[k] = dync_stride(t, k);
    r->grad = dync_requires_grad(t);
    r->alias = -1;
    if (which == 0 && dync_numel(t)) find_alias(i, r);
    r->data = dync_data(dync_contiguous(dync_detach(t)));
    return failed() ? -1 : 1;
}
