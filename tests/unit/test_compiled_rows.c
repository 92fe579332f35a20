/* Every differentiable row of the operator table, compiled: outputs, gradients, written inputs,
 * what shares memory, is_leaf and requires_grad equal eager's, on every AOT backend, in F32 and
 * F64, on inputs with gaps, on other sizes, on inputs that are written. */
#include "dync.in.h"
#include "autograd/node.h"
#include "op_samples.h"
#include "tol.h"
#include "every_operator.h"

enum { MAX_VALUES = MAX_TENSORS + DYNC__MAX_OUT };
typedef struct variant {
    const char *name;
    how how;
    bool inner; /* inputs have a history, so that they may be written */
} variant;
/* What a call made: inputs, then outputs. */
typedef struct outcome {
    int n_in, n;
    dync_tensor *at[MAX_VALUES];
    dync__tensor *grad[MAX_TENSORS];
    dync_status status;
    char message[512];
} outcome;

/* ---- the function that is compiled ----------------------------------------------------------- */
static bool writes(const call *c) { return dync__op_info(c->op)->cls == DYNC__INPLACE; }

typedef struct job {
    const call *c;
    bool copies;
} job;
static dync_value run(const dync_value *values, int n, void *user)
{
    const job *j = user;
    dync__arg args[DYNC__MAX_ARGS], list[4];
    dync__tensor *out[DYNC__MAX_OUT] = {NULL};
    dync_value made[DYNC__MAX_OUT];
    (void)n;
    take_tensors(j->c, args, list, values);
    if (j->copies) args[0] = dync__arg_t(dync__open(dync_clone(dync__handle(args[0].as.t))));
    if ((dync__op_run)(j->c->op, j->c->nargs, args, out) != DYNC_OK) return DYNC_NONE;
    n = 0;
    for (int i = 0; i < DYNC__MAX_OUT; i++)
        if (out[i]) made[n++] = dync_v_tensor(dync__give(out[i]));
    return dync_tuple_of(n, made);
}

/* ---- one run --------------------------------------------------------------------------------- */
static void run_backward(outcome *o, const call *c)
{
    dync_tensor *loss = NULL;
    for (int i = o->n_in; i < o->n; i++) {
        if (!dync_requires_grad(o->at[i])) continue;
        dync__tensor *t = dync__open(o->at[i]), *w;
        dync__layout lay;
        dync__layout_contiguous(&lay, t->lay.ndim, t->lay.shape);
        w = dync__tensor_empty(t->dtype, DYNC_CPU, &lay);
        for (int64_t k = 0; k < w->numel; k++)
            dync__store_f64(element(w, k), w->dtype, 0.3 + 0.17 * (double)((k * 5 + 2) % 7));
        dync_tensor *part = dync_sum(dync_mul(o->at[i], dync__give(w)), DYNC_ALL, false);
        loss = loss ? dync_add(loss, part) : part;
    }
    if (loss) o->status = dync_backward(loss);
    for (int i = 0; i < c->n_params; i++) {
        dync_tensor *g = dync_grad(dync__handle(c->param[i]));
        o->grad[i] = g ? dync__open(g) : NULL;
    }
}

static outcome run_once(dync_compiled *f, job *j, const call *c, const variant *v)
{
    outcome o = {.n = 0};
    dync_value values[MAX_TENSORS], got;
    for (int i = 0; i < c->nargs; i++)
        for (int k = 0; k < (c->args[i].kind == DYNC__A_LIST ? c->args[i].n : 1); k++) {
            const dync__arg *a = c->args[i].kind == DYNC__A_LIST ? &c->args[i].as.list[k]
                                                                 : &c->args[i];
            if (a->kind == DYNC__A_TENSOR) o.at[o.n++] = dync__handle(a->as.t);
        }
    o.n_in = o.n;
    for (int i = 0; i < o.n_in; i++) {
        if (v->inner && dync_requires_grad(o.at[i]))
            o.at[i] = v->how.strided
                          ? dync_select(dync_stack(dync_tuple(o.at[i], o.at[i]), -1), -1, 0)
                          : dync_mul(o.at[i], 1.0);
        values[i] = dync_v_tensor(o.at[i]);
    }
    j->c = c;
    j->copies = writes(c) && !v->inner;
    dync_manual_seed(7);
    got = f ? dync_call_values(f, o.n_in, values) : run(values, o.n_in, j);
    for (int i = 0; i < dync_len(got); i++) o.at[o.n++] = dync_as_tensor(dync_at(got, i));
    o.status = dync_error();
    if (o.status == DYNC_OK) run_backward(&o, c);
    snprintf(o.message, sizeof o.message, "%s", dync_error_message() ? dync_error_message() : "");
    dync_clear_error();
    return o;
}

/* ---- comparing ------------------------------------------------------------------------------- */
static bool near_enough(const dync__tensor *a, const dync__tensor *b)
{
    if (a->dtype != b->dtype || a->numel != b->numel || a->lay.ndim != b->lay.ndim) return false;
    for (int i = 0; i < a->lay.ndim; i++)
        if (a->lay.shape[i] != b->lay.shape[i]) return false;
    double tol = a->dtype == DYNC_F64 ? TOL_F64_CHAIN : TOL_F32_SUM;
    for (int64_t i = 0; i < a->numel; i++) {
        double x = dync__load_f64(element(a, i), a->dtype),
               y = dync__load_f64(element(b, i), b->dtype);
        if (!test__is_near(x, y, tol + tol * fabs(y))) return false;
    }
    return true;
}
static bool all_zero(const dync__tensor *t)
{
    for (int64_t i = 0; i < t->numel; i++)
        if (fabs(dync__load_f64(element(t, i), t->dtype)) > 0) return false;
    return true;
}
static bool same_strides(const dync__tensor *a, const dync__tensor *b)
{
    for (int i = 0; i < a->lay.ndim && a->numel; i++)
        if (a->lay.shape[i] != 1 && a->lay.stride[i] != b->lay.stride[i]) return false;
    return true;
}
/* An output's place in memory is that of the same input or earlier output, or a new one. */
static bool same_memory(const outcome *a, const outcome *b, int i)
{
    const dync__tensor *x = dync__open(a->at[i]), *y = dync__open(b->at[i]);
    for (int k = 0; k < i; k++) {
        const dync__tensor *p = dync__open(a->at[k]), *q = dync__open(b->at[k]);
        if (!x->numel || !p->numel) continue;
        if ((x->storage == p->storage) != (y->storage == q->storage) || (x == p) != (y == q))
            return false;
        if (x->storage == p->storage &&
            (x->lay.offset != y->lay.offset ||
             memcmp(x->lay.stride, y->lay.stride, (size_t)x->lay.ndim * 8) != 0))
            return false;
    }
    return true;
}
/* inside: a row that only others call: what its results look like is its own business, what they
 * are is not. */
static const char *differs(const outcome *a, const outcome *b, int n_params, bool inside)
{
    if (a->status != b->status) return b->status == DYNC_OK ? a->message : b->message;
    if (a->n != b->n) return *b->message ? b->message : "number of outputs";
    for (int i = 0; i < a->n && a->status == DYNC_OK; i++) {
        if (!near_enough(dync__open(a->at[i]), dync__open(b->at[i])))
            return i < a->n_in ? "an input" : "an output";
        if (inside) continue;
        if (dync_requires_grad(a->at[i]) != dync_requires_grad(b->at[i])) return "requires_grad";
        if (dync_is_leaf(a->at[i]) != dync_is_leaf(b->at[i])) return "is_leaf";
        if (!same_memory(a, b, i)) return "memory";
        if (!same_strides(dync__open(a->at[i]), dync__open(b->at[i]))) return "strides";
    }
    for (int i = 0; i < n_params; i++) {
        /* one node stands for several: zeros for nothing are as good */
        if (!a->grad[i] != !b->grad[i]) {
            if (!all_zero(a->grad[i] ? a->grad[i] : b->grad[i]))
                return "a gradient that is not there";
        } else if (a->grad[i] && !near_enough(a->grad[i], b->grad[i])) {
            return "a gradient";
        }
    }
    return NULL;
}

/* False: not a call in this variant (sizes that do not go together). */
static bool compare(dync_compiled *f, job *j, const sample *s, const variant *v,
                    const char *backend)
{
    bool is_call = true;
    uint64_t random = test__state.random;
    DYNC_SCOPE {
        call plain = {.how = v->how, .op = dync__op_find(s->op)}, compiled = plain;
        read_args(&plain, s->args);
        test__state.random = random;
        read_args(&compiled, s->args);
        outcome want = run_once(NULL, j, &plain, v);
        is_call = want.status == DYNC_OK || v->how.scale == 1;
        if (is_call) {
            outcome got = run_once(f, j, &compiled, v);
            const char *what = differs(&want, &got, plain.n_params,
                                       dync__op_info(plain.op)->flags & DYNC__OP_PRIVATE);
            if (!EXPECT(what == NULL))
                printf("    %s(%s), %s, on %s: %s\n", s->op, s->args, v->name, backend, what);
        }
    }
    return is_call;
}

static const variant variants[] = {{"f32", {DYNC_F32, 1, false}, false},
                                   {"f64", {DYNC_F64, 1, false}, false},
                                   {"f32 with gaps", {DYNC_F32, 1, true}, false},
                                   {"f64 with gaps", {DYNC_F64, 1, true}, false},
                                   {"f32 with a history", {DYNC_F32, 1, false}, true},
                                   {"f64 with gaps and a history", {DYNC_F64, 1, true}, true}};
static const variant larger[] = {{"f32, twice the size", {DYNC_F32, 2, false}, false},
                                 {"f32, three times the size", {DYNC_F32, 3, false}, false}};
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static void every_sample(const char *backend)
{
    int n_larger = 0, tried = 0, every = test_every(),
        n = (int)(sizeof samples / sizeof samples[0]);
    dync_on_error(quiet, NULL);
    for (int i = test_random_int(0, every - 1); i < n; i += every, tried++) {
        const sample *s = &samples[i];
        for (size_t k = 0; k < sizeof variants / sizeof variants[0]; k++) {
            job j;
            dync_compiled *f = dync_compile(run, .backend = backend, .user = &j);
            for (int again = 0; again < 2; again++) compare(f, &j, s, &variants[k], backend);
            for (int more = 0; k == 0 && more < 2; more++)
                n_larger += compare(f, &j, s, &larger[more], backend);
            dync_compiled_free(f);
        }
    }
    EXPECT(n_larger > tried); /* most rows take other sizes */
    dync_shutdown();
}
TEST(rows_aot_eager) { every_sample("aot_eager"); }
TEST(rows_aot_eager_default_partitioner) { every_sample("aot_eager_default_partitioner"); }
TEST(rows_aot_eager_decomp_partition) { every_sample("aot_eager_decomp_partition"); }
TEST(rows_inductor) { every_sample("inductor"); }
TEST_MAIN
