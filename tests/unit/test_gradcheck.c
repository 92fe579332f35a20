/* Gradients of every differentiable row of the operator table against central differences in F64,
 * first and second order. The rows are read from the table: one without a sample in op_samples.h
 * fails the test. */
#include "dync.in.h"
#include "autograd/node.h"
#include "op_samples.h"
#include "tol.h"
#include "every_operator.h"

/* ---- functions to differentiate -------------------------------------------------------------- */

static dync__tensor *weights_of(const dync__tensor *t) /* fixed numbers of t's shape */
{
    dync__layout lay;
    dync__layout_contiguous(&lay, t->lay.ndim, t->lay.shape);
    dync__tensor *w = dync__tensor_empty(DYNC_F64, DYNC_CPU, &lay);
    for (int64_t i = 0; i < w->numel; i++)
        ((double *)w->storage->data)[i] = 0.3 + 0.17 * (double)((i * 5 + 2) % 7);
    return w;
}

static dync_tensor *weighted_sum(dync_tensor *sum, dync__tensor *t)
{
    dync_tensor *part =
        dync_sum(dync_mul(dync__handle(t), dync__give(weights_of(t))), DYNC_ALL, false);
    return sum ? dync_add(sum, part) : part;
}

/* Sum with weights of the floating outputs that have a gradient, or of all if none has; in place:
 * of a copy of the first argument. NULL on error or without floating outputs. */
static dync_tensor *value_of(const call *c)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync__tensor *out[DYNC__MAX_OUT] = {NULL};
    dync_tensor *sum = NULL;
    memcpy(args, c->args, sizeof args);
    for (int i = 0; i < c->nargs; i++)
        if (args[i].kind == DYNC__A_TENSOR && args[i].n)
            args[i] = dync__arg_t(dync__open(dync_t(dync__handle(args[i].as.t))));
    if (dync__op_info(c->op)->cls == DYNC__INPLACE)
        args[0] = dync__arg_t(dync__open(dync_clone(dync__handle(args[0].as.t))));
    dync_manual_seed(7);
    if ((dync__op_run)(c->op, c->nargs, args, out) != DYNC_OK) return NULL;
    bool any = false;
    for (int i = 0; i < DYNC__MAX_OUT; i++)
        any = any || (out[i] && dync__tensor_requires_grad(out[i]));
    for (int i = 0; i < DYNC__MAX_OUT; i++) {
        if (!out[i]) continue;
        dync__give(out[i]);
        if (out[i]->dtype == DYNC_F64 && out[i]->numel &&
            (!any || dync__tensor_requires_grad(out[i])))
            sum = weighted_sum(sum, out[i]);
    }
    return sum;
}

/* The weighted sum of the first gradients: what second order differentiates. */
static dync_tensor *slope_of(const call *c)
{
    dync__tensor *grads[MAX_TENSORS], *y = NULL;
    dync_tensor *sum = NULL, *value = value_of(c);
    if (!value || !dync_requires_grad(value)) return NULL;
    y = dync__open(value);
    if (dync__tape_gradients(1, &y, NULL, c->n_params, (dync__tensor *const *)c->param, grads, true,
                             true, true) != DYNC_OK)
        return NULL;
    for (int i = 0; i < c->n_params; i++) {
        if (!grads[i]) continue;
        dync__give(grads[i]);
        sum = weighted_sum(sum, grads[i]);
    }
    return sum;
}

static double number_of(dync_tensor *(*fn)(const call *), const call *c)
{
    double x = 0;
    DYNC_SCOPE {
        dync_tensor *y = fn(c);
        x = y ? dync_item(y) : NAN;
    }
    return x;
}

/* Analytic gradients of fn against differences; 0 where it does not depend. */
static int check_against(dync_tensor *(*fn)(const call *), const call *c, const char *what,
                         const sample *s)
{
    dync__tensor *grads[MAX_TENSORS] = {NULL};
    dync_tensor *value = fn(c);
    int bad = 0;
    if (!value) return dync_error() != DYNC_OK;
    dync__tensor *y = dync__open(value);
    if (dync__tensor_requires_grad(y) &&
        dync__tape_gradients(1, &y, NULL, c->n_params, (dync__tensor *const *)c->param, grads,
                             false, false, true) != DYNC_OK)
        return 1;
    for (int i = 0; i < c->n_params; i++) {
        dync__tensor *dense = grads[i] ? dync__contiguous_copy(grads[i]) : NULL;
        for (int64_t k = 0; k < c->param[i]->numel; k++) {
            double *x = (double *)c->param[i]->storage->data + k, before = *x, h = 1e-6;
            *x = before + h;
            double up = number_of(fn, c);
            *x = before - h;
            double down = number_of(fn, c);
            *x = before;
            double want = (up - down) / (2 * h),
                   got = dense ? ((double *)dense->storage->data)[k] : 0;
            if (fabs(got - want) <= TOL_GRADCHECK_ABS * 10 + TOL_GRADCHECK * 10 * fabs(want))
                continue;
            if (!bad++)
                printf("    %s(%s), %s: parameter %d, element %d: got %.9g, expected %.9g\n", s->op,
                       s->args, what, i, (int)k, got, want);
        }
        dync__unref(dense);
        dync__unref(grads[i]);
    }
    return bad;
}

static void check_sample(const sample *s)
{
    DYNC_SCOPE {
        call c = {.how = {DYNC_F64, 1, false}};
        c.op = dync__op_find(s->op);
        if (c.op < 0) printf("    no operator %s\n", s->op);
        EXPECT(c.op >= 0);
        if (c.op >= 0) {
            read_args(&c, s->args);
            bool first = check_against(value_of, &c, "first order", s) == 0;
            if (!first) printf("    %s(%s) fails: %s\n", s->op, s->args, dync_error_message());
            EXPECT(first);
            dync_clear_error();
            if (first) {
                bool second = check_against(slope_of, &c, "second order", s) == 0;
                if (!second)
                    printf("    %s(%s), second order, fails: %s\n", s->op, s->args,
                           dync_error_message());
                EXPECT(second);
            }
            if (dync_error() != DYNC_OK) printf("    %s(%s) records an error\n", s->op, s->args);
            EXPECT_STATUS(dync_error(), DYNC_OK);
        }
        dync_clear_error();
    }
}

static void check_some(int from, int to)
{
    int n = (int)(sizeof samples / sizeof samples[0]);
    for (int i = n * from / 8; i < n * to / 8; i++) check_sample(&samples[i]);
    dync_shutdown();
}
TEST(gradients_1) { check_some(0, 1); }
TEST(gradients_2) { check_some(1, 2); }
TEST(gradients_3) { check_some(2, 3); }
TEST(gradients_4) { check_some(3, 4); }
TEST(gradients_5) { check_some(4, 5); }
TEST(gradients_6) { check_some(5, 6); }
TEST(gradients_7) { check_some(6, 7); }
TEST(gradients_8) { check_some(7, 8); }

/* ---- symbolic sizes -------------------------------------------------------------------------- */

/* Every tensor of the call, in order, by fn. */
static void each_tensor(call *c, void (*fn)(void *user, dync__tensor **), void *user)
{
    for (int i = 0; i < c->nargs; i++) {
        if (c->args[i].kind == DYNC__A_TENSOR) fn(user, &c->args[i].as.t);
        for (int k = 0; c->args[i].kind == DYNC__A_LIST && k < c->args[i].n; k++)
            fn(user, &c->list[k].as.t);
    }
}
typedef struct tensors {
    int n;
    dync_value v[MAX_TENSORS];
} tensors;
static void take_tensor(void *user, dync__tensor **t)
{
    tensors *all = user;
    all->v[all->n++] = dync_v_tensor(dync__handle(*t));
}
static void put_tensor(void *user, dync__tensor **t)
{
    const dync_value **next = user;
    *t = dync__open(dync_as_tensor(*(*next)++));
}

/* The call, its results' squares summed, and the gradients of all its parameters. */
static dync_value slopes(const dync_value *args, int n, void *user)
{
    call c = *(const call *)user;
    dync__arg run[DYNC__MAX_ARGS];
    dync__tensor *out[DYNC__MAX_OUT] = {NULL};
    dync_value in[MAX_TENSORS];
    dync_tensor *sum = NULL;
    int n_in = 0;
    for (int i = 0; i < c.nargs; i++)
        if (c.args[i].kind == DYNC__A_LIST) c.args[i].as.list = c.list;
    each_tensor(&c, put_tensor, &args);
    memcpy(run, c.args, sizeof run);
    for (int i = 0; i < c.nargs; i++)
        if (run[i].kind == DYNC__A_TENSOR && run[i].n)
            run[i] = dync__arg_t(dync__open(dync_t(dync__handle(run[i].as.t))));
    if (dync__op_info(c.op)->cls == DYNC__INPLACE)
        run[0] = dync__arg_t(dync__open(dync_clone(dync__handle(run[0].as.t))));
    if ((dync__op_run)(c.op, c.nargs, run, out) != DYNC_OK) return DYNC_NONE;
    for (int i = 0; i < DYNC__MAX_OUT; i++) {
        dync_tensor *h = out[i] ? dync__give(out[i]) : NULL;
        if (!h || out[i]->dtype != DYNC_F64) continue;
        h = dync_sum(dync_add(dync_mul(h, h), h), DYNC_ALL, false);
        sum = sum ? dync_add(sum, h) : h;
    }
    args -= n;
    for (int i = 0; i < n; i++)
        if (dync_requires_grad(args[i].as.t)) in[n_in++] = args[i];
    if (!sum) return dync_tuple(1);
    return dync_requires_grad(sum)
               ? dync_tuple(sum, dync_gradients(DYNC_V(sum), dync_tuple_of(n_in, in), DYNC_NONE,
                                                (dync_grad_options){.allow_unused = true}))
               : dync_tuple(sum);
}

static bool alike(dync_value a, dync_value b)
{
    if (a.kind == DYNC_KIND_TENSOR && b.kind == DYNC_KIND_TENSOR)
        return dync_allclose(a.as.t, b.as.t, 1e-9, 1e-9);
    bool same = a.kind == b.kind && dync_len(a) == dync_len(b);
    for (int i = 0; same && a.kind == DYNC_KIND_LIST && i < dync_len(a); i++)
        same = alike(dync_at(a, i), dync_at(b, i));
    return same;
}

/* A captured step with every size symbolic does what it does eagerly, and so it does with other
 * sizes; most in one capture. */
static void check_symbolic(const sample *s, int *captures, int *programs)
{
    dync_compiled *f = NULL;
    call c[2] = {{0}};
    int64_t before = dync_get_counters().frames;
    bool again = false;
    for (int k = 0; k < 2; k++) DYNC_SCOPE {
        tensors in = {0};
        c[k].how = (how){DYNC_F64, k + 1, false};
        c[k].op = dync__op_find(s->op);
        read_args(&c[k], s->args);
        each_tensor(&c[k], take_tensor, &in);
        dync_value want = slopes(in.v, in.n, &c[k]);
        if (dync_error() || want.kind == DYNC_KIND_NONE) {
            dync_clear_error(); /* not with these sizes */
            break;
        }
        dync_callee fn = dync_fnv(slopes);
        fn.user = &c[0];
        if (!f)
            f = dync_compile_opt(fn, s->op,
                                 (dync_compile_options){.backend = "eager",
                                                        .fullgraph = true,
                                                        .dynamic = DYNC_DYNAMIC_ON});
        again = k == 1;
        dync_value got = dync_call_values(f, in.n, in.v);
        if (!EXPECT(dync_error() == DYNC_OK && alike(want, got)))
            printf("    %s(%s), sizes times %d: %s\n", s->op, s->args, k + 1, dync_error_message());
        dync_clear_error();
    }
    if (again) ++*programs, *captures += (int)(dync_get_counters().frames - before);
    dync_compiled_free(f);
}
TEST(captured_with_symbolic_sizes)
{
    int captures = 0, programs = 0;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        int op = dync__op_find(samples[i].op);
        bool left = dync__op_info(op)->flags & (DYNC__OP_RANDOM | DYNC__OP_DATA_SHAPE) ||
                    strcmp(samples[i].op, "dropout") == 0;
        if (!left) check_symbolic(&samples[i], &captures, &programs);
    }
    printf("    %d captures of %d programs\n", captures, programs);
    EXPECT(programs > 150);
    dync_shutdown();
}

TEST(every_differentiable_row_has_a_sample)
{
    for (int op = 0; op < DYNC__N_OPS; op++) {
        bool found = false;
        /* the user's function: tests/aot/test_rows_a2.c; his hook: tests/capture/test_hooked.c */
        if (!dync__op_differentiable(op) || op == DYNC__OP_custom_gradient ||
            op == DYNC__OP__hooked)
            continue;
        for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
            found = found || strcmp(samples[i].op, dync__op_info(op)->name) == 0;
        if (!found) printf("    no sample of %s\n", dync__op_info(op)->name);
        EXPECT(found);
    }
}

TEST_MAIN
