/* tests/unit/test_edges.c: operators at their edges, against results and gradients of PyTorch (tests/oracle/edges.py): eager and compiled. */
#include "sample_lines.h"
#include "../ops/edges.c"

typedef struct edge { int op, nargs, n_tensors, n_leaves; dync__arg *args; dync_tensor *tensor[MAX_TENSORS], *leaf[MAX_TENSORS]; } edge;

/* The call with its tensors replaced, in order. */
static dync_value run_edge(const dync_value *values, int n, void *user)
{
    const edge *e = user;
    dync__arg args[DYNC__MAX_ARGS], list[8];
    dync__tensor *out[DYNC__MAX_OUT] = {NULL};
    dync_value made[DYNC__MAX_OUT];
    int at = 0;
    memcpy(args, e->args, (size_t)e->nargs * sizeof *args);
    for (int i = 0; i < e->nargs; i++) {
        if (args[i].kind == DYNC__A_TENSOR) args[i] = dync__arg_t(dync__open(dync_as_tensor(values[at++])));
        if (args[i].kind != DYNC__A_LIST) continue;
        for (int k = 0; k < args[i].n; k++) list[k] = dync__arg_t(dync__open(dync_as_tensor(values[at++])));
        args[i].as.list = list;
    }
    if (dync__op_run(e->op, e->nargs, args, out) != DYNC_OK) return DYNC_NONE;
    n = 0;
    for (int i = 0; i < DYNC__MAX_OUT; i++)
        if (out[i]) made[n++] = dync_v_tensor(dync__give(out[i]));
    return dync_tuple_of(n, made);
}

/* The same formula as `cotangent` in tests/oracle/edges.py. */
static dync_tensor *cotangent(dync_tensor *y)
{
    dync__tensor *t = dync__open(y), *w;
    dync__layout lay;
    dync__layout_contiguous(&lay, t->lay.ndim, t->lay.shape);
    w = dync__tensor_empty(t->dtype, DYNC_CPU, &lay);
    for (int64_t k = 0; k < w->numel; k++)
        dync__store_f64((char *)dync__tensor_data(w) + k * dync__dtype_info(w->dtype)->bytes, w->dtype, (double)((k * 5 + 2) % 7 + 2) / 8);
    return dync__give(w);
}

static void read_edge(parser *p, edge *e)
{
    while (*p->at != '|') {
        bool leaf = *p->at == 'g';
        dync__arg a = e->args[e->nargs++] = read_arg(p);
        for (int k = 0; k < (a.kind == DYNC__A_LIST ? a.n : a.kind == DYNC__A_TENSOR); k++) {
            dync_tensor *t = dync__handle(a.kind == DYNC__A_LIST ? a.as.list[k].as.t : a.as.t);
            e->tensor[e->n_tensors++] = t;
            if (leaf) e->leaf[e->n_leaves++] = t;
        }
        take(p, ";");
    }
    p->at++;
}

static void compare_grads(parser *p, const edge *e, const char *line, const char *name, dync_value out)
{
    dync_value leaves[MAX_TENSORS], ys[DYNC__MAX_OUT], gys[DYNC__MAX_OUT];
    int n = 0;
    for (int i = 0; i < dync_len(out); i++) {
        dync_tensor *y = dync_as_tensor(dync_at(out, i));
        if (!dync_requires_grad(y)) continue;
        ys[n] = dync_v_tensor(y);
        gys[n++] = dync_v_tensor(cotangent(y));
    }
    for (int i = 0; i < e->n_leaves; i++) leaves[i] = dync_v_tensor(e->leaf[i]);
    dync_grad_options options = {.allow_unused = true};
    dync_value grads = n ? dync_gradients(dync_tuple_of(n, ys), dync_tuple_of(e->n_leaves, leaves), dync_tuple_of(n, gys), options) : DYNC_NONE;
    if (dync_error() != DYNC_OK) complain(line, 100, dync_error_message(), dync_error(), 0);
    for (int i = 0; i < e->n_leaves; i++) {
        dync_value h = n ? dync_at(grads, i) : DYNC_NONE;
        if (*p->at == '-' && h.kind == DYNC_KIND_TENSOR) complain(line, 100 + i, "a gradient where PyTorch has none", 1, 0);
        if (*p->at != '-' && h.kind != DYNC_KIND_TENSOR) complain(line, 100 + i, "no gradient", 0, 1);
        if (*p->at != '-' && h.kind == DYNC_KIND_TENSOR) compare(p, line, name, 100 + i, dync__open(dync_as_tensor(h)));
        p->at += strcspn(p->at, ";");
        take(p, ";");
    }
}

static void check_edge(const char *line, const char *backend)
{
    parser p = {.at = line, .relative = true};
    dync__arg args[DYNC__MAX_ARGS];
    edge e = {.args = args};
    char name[64] = "";
    dync_value values[MAX_TENSORS];
    memcpy(name, line, strcspn(line, "|"));
    p.at += strlen(name) + 1;
    e.op = dync__op_find(name);
    read_edge(&p, &e);
    for (int i = 0; i < e.n_tensors; i++) values[i] = dync_v_tensor(e.tensor[i]);
    dync_compiled *f = backend ? dync_compile(dync_bind(run_edge, &e, NULL), .backend = backend, .fullgraph = true) : NULL;
    dync_value out = f ? dync_call_values(f, e.n_tensors, values) : run_edge(values, e.n_tensors, &e);
    dync_status status = dync_error();
    if (*p.at == '!') {
        if (status == DYNC_OK) complain(line, 0, "accepted what PyTorch refuses", 0, 1);
        if (status == DYNC_ERR_INTERNAL) complain(line, 0, dync_error_message(), status, 0);
    } else if (status != DYNC_OK) {
        complain(line, 0, dync_error_message(), status, 0);
    } else {
        for (int i = 0; i < dync_len(out); i++) {
            compare(&p, line, name, i, dync__open(dync_as_tensor(dync_at(out, i))));
            p.at += strcspn(p.at, ";|");
            take(&p, ";");
        }
        if (take(&p, "|") && e.n_leaves) compare_grads(&p, &e, line, name, out);
    }
    dync_clear_error();
    dync_compiled_free(f);
    for (int i = 0; i < p.n_made; i++) dync__unref(p.made[i]);
}

static void check_all(const char *backend)
{
    for (int i = 0; i < DYNC__COUNT_OF(edges); i++)
        DYNC_SCOPE { check_edge(edges[i], backend); }
}

/* ---- what a line cannot say ------------------------------------------------------------------------------------------------- */

static dync_tensor *norm0(dync_tensor *x) { return dync_norm(x, 0, DYNC_ALL, false); }

TEST(norm_0_has_a_history_and_gradient_zero)
{
    static const char *const backends[] = {NULL, "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++)
        DYNC_SCOPE {
            dync_compiled *f = b ? dync_compile(norm0, .backend = backends[b], .fullgraph = true) : NULL;
            dync_tensor *x = dync_from(((float[]){0, 2, -3, (float)NAN}), dync_shape(4), .requires_grad = true);
            dync_tensor *y = f ? dync_call(f, x) : norm0(x);
            EXPECT_NEAR(dync_item(y), 3, TOL_EXACT);
            EXPECT(dync_requires_grad(y));
            EXPECT_OK(dync_backward(y));
            for (int i = 0; i < 4; i++) EXPECT_NEAR(dync_item(dync_select(dync_grad(x), 0, i)), 0, TOL_EXACT);
            dync_compiled_free(f);
        }
}

static dync_tensor *elus(dync_tensor *x) { return dync_add(dync_add(dync_elu(x, 1), dync_celu(x, 1)), dync_selu(x)); }
static dync_tensor *sums(dync_tensor *x) { return dync_logaddexp(x, dync_neg(x)); }
static dync_tensor *swish(dync_tensor *x) { return dync_add(dync_hardswish(x), dync_mish(x)); }

/* Where exp of a large x would be infinite and multiplied by zero: by closed forms. */
TEST(second_gradients_are_finite)
{
    static dync_tensor *(*const fns[])(dync_tensor *) = {elus, sums, swish};
    static const double want[3][3] = {{0, 0, 0}, {0, 1, 0}, {0, 1.0 / 3 + 0.64, 0}};
    for (int k = 0; k < 3; k++)
        DYNC_SCOPE {
            dync_tensor *x = dync_from(((double[]){-200, 0, 200}), dync_shape(3), .dtype = DYNC_F64, .requires_grad = true);
            dync_tensor *g = dync_as_tensor(dync_at(dync_gradients(dync_v_tensor(dync_sum(fns[k](x), DYNC_ALL, false)), dync_v_tensor(x), DYNC_NONE,
                                                                   (dync_grad_options){.create_graph = true}), 0));
            dync_tensor *h = dync_as_tensor(dync_at(dync_gradients(dync_v_tensor(dync_sum(g, DYNC_ALL, false)), dync_v_tensor(x), DYNC_NONE,
                                                                   (dync_grad_options){0}), 0));
            for (int i = 0; i < 3; i++)
                if (k || i != 1) EXPECT_NEAR(dync_item(dync_select(h, 0, i)), want[k][i], TOL_F64_CHAIN);
        }
}

TEST(eager) { check_all(NULL); }
TEST(aot_eager) { check_all("aot_eager"); }
TEST(inductor) { check_all("inductor"); }
TEST_MAIN
