/* tests/unit/edge_lines.h: calls with results, gradients and second gradients that PyTorch gave
 * (tests/oracle/edges.py and opinfo.py say what a line means), run eagerly and compiled. */
#ifndef DYNC_TESTS_EDGE_LINES_H
#define DYNC_TESTS_EDGE_LINES_H
#include "sample_lines.h"

/* copies: what writes in place is given a clone of its first tensor. */
typedef struct edge {
    int op, nargs, n_tensors, n_leaves;
    bool copies;
    dync__arg *args;
    dync_tensor *tensor[MAX_TENSORS], *leaf[MAX_TENSORS];
} edge;

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
        if (args[i].kind == DYNC__A_TENSOR)
            args[i] = dync__arg_t(dync__open(dync_as_tensor(values[at++])));
        if (args[i].kind != DYNC__A_LIST) continue;
        for (int k = 0; k < args[i].n; k++)
            list[k] = dync__arg_t(dync__open(dync_as_tensor(values[at++])));
        args[i].as.list = list;
    }
    if (dync__op_info(e->op)->cls == DYNC__INPLACE && e->copies)
        args[0] = dync__arg_t(dync__open(dync_clone(dync__handle(args[0].as.t))));
    if ((dync__op_run)(e->op, e->nargs, args, out) != DYNC_OK) return DYNC_NONE;
    n = 0;
    for (int i = 0; i < DYNC__MAX_OUT; i++)
        if (out[i]) made[n++] = dync_v_tensor(dync__give(out[i]));
    return dync_tuple_of(n, made);
}

/* w[k] = ((k a + b) mod m + c) / d, the formulas of `cotangent` and `second_cotangent` in
 * tests/oracle. */
static dync_tensor *formula(dync_tensor *y, int64_t a, int64_t b, int64_t m, int64_t c, int64_t d)
{
    dync__tensor *t = dync__open(y), *w;
    dync__layout lay;
    dync__layout_contiguous(&lay, t->lay.ndim, t->lay.shape);
    w = dync__tensor_empty(t->dtype, DYNC_CPU, &lay);
    for (int64_t k = 0; k < w->numel; k++)
        dync__store_f64((char *)dync__tensor_data(w) + k * dync__dtype_info(w->dtype)->bytes,
                        w->dtype, (double)((k * a + b) % m + c) / (double)d);
    return dync__give(w);
}
static dync_tensor *cotangent(dync_tensor *y) { return formula(y, 5, 2, 7, 2, 8); }
static dync_tensor *second_cotangent(dync_tensor *g) { return formula(g, 3, 1, 5, 1, 4); }

static void read_edge(parser *p, edge *e)
{
    while (*p->at != '|') {
        dync__arg a = e->args[e->nargs++] = read_arg(p);
        for (int k = 0; k < (a.kind == DYNC__A_LIST ? a.n : a.kind == DYNC__A_TENSOR); k++) {
            dync_tensor *t = dync__handle(a.kind == DYNC__A_LIST ? a.as.list[k].as.t : a.as.t);
            e->tensor[e->n_tensors++] = t;
            if (dync_requires_grad(t)) e->leaf[e->n_leaves++] = t;
        }
        take(p, ";");
    }
    p->at++;
}

/* Gradients of those of `of` that have a history; none where that is none of them. */
static dync_value gradients_of(dync_value of, const edge *e, dync_tensor *(*seed)(dync_tensor *),
                               bool create_graph)
{
    dync_value leaves[MAX_TENSORS], ys[MAX_TENSORS], gys[MAX_TENSORS];
    dync_grad_options options = {.allow_unused = true, .create_graph = create_graph};
    int n = 0;
    for (int i = 0; i < dync_len(of); i++) {
        dync_value y = dync_at(of, i);
        if (y.kind != DYNC_KIND_TENSOR || !dync_requires_grad(y.as.t)) continue;
        ys[n] = y;
        gys[n++] = dync_v_tensor(seed(y.as.t));
    }
    for (int i = 0; i < e->n_leaves; i++) leaves[i] = dync_v_tensor(e->leaf[i]);
    return n ? dync_gradients(dync_tuple_of(n, ys), dync_tuple_of(e->n_leaves, leaves),
                              dync_tuple_of(n, gys), options)
             : DYNC_NONE;
}

/* As good as no gradient. */
static bool is_nothing(dync_tensor *t)
{
    return dync_numel(t) == 0 || dync_item(dync_amax(dync_abs(dync_detach(t)), DYNC_ALL, false)) <=
                                     sum_tolerance((int)dync_type(t));
}

/* order 100: gradients; 200: second ones. With spread none is as good as zeros. */
static void compare_grads(parser *p, const edge *e, const char *line, const char *name,
                          dync_value grads, int order)
{
    if (dync_error() != DYNC_OK) complain(line, order, dync_error_message(), dync_error(), 0);
    for (int i = 0; i < e->n_leaves; i++) {
        dync_value h = grads.kind == DYNC_KIND_LIST ? dync_at(grads, i) : DYNC_NONE;
        dync_tensor *zeros = dync_zeros_like(dync_detach(e->leaf[i]));
        bool has = h.kind == DYNC_KIND_TENSOR;
        if (!p->spread && has != (*p->at != '-'))
            complain(line, order + i, has ? "a gradient where PyTorch has none" : "no gradient",
                     has, !has);
        if (*p->at != '-')
            compare(p, line, name, order + i, dync__open(has ? h.as.t : zeros));
        else if (has && !is_nothing(h.as.t))
            complain(line, order + i, "a gradient where PyTorch has none", 1, 0);
        p->at += strcspn(p->at, ";|");
        take(p, ";");
    }
}

/* spread: what is no pointwise operator, and gradients, are held to the greatest number of a tensor
 * and not to each. */
static void check_edge(const char *line, const char *backend, bool spread)
{
    parser p = {.at = line, .relative = true};
    dync__arg args[DYNC__MAX_ARGS];
    edge e = {.args = args, .copies = spread};
    char name[64] = "";
    dync_value values[MAX_TENSORS];
    memcpy(name, line, strcspn(line, "|"));
    p.at += strlen(name) + 1;
    e.op = dync__op_find(name);
    read_edge(&p, &e);
    for (int i = 0; i < e.n_tensors; i++) values[i] = dync_v_tensor(e.tensor[i]);
    bool second = strchr(p.at, '|') != strrchr(p.at, '|');
    p.spread = spread && dync__op_info(e.op)->cls != DYNC__POINTWISE;
    bool whole = !(dync__op_info(e.op)->flags & DYNC__OP_DATA_SHAPE);
    dync_compiled *f = backend ? dync_compile(dync_bind(run_edge, &e, NULL), .backend = backend,
                                              .fullgraph = whole, .double_backward = second)
                               : NULL;
    dync_value out = f ? dync_call_values(f, e.n_tensors, values)
                       : run_edge(values, e.n_tensors, &e);
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
        p.spread = spread;
        dync_value grads = take(&p, "|") && e.n_leaves ? gradients_of(out, &e, cotangent, second)
                                                       : DYNC_NONE;
        if (e.n_leaves) compare_grads(&p, &e, line, name, grads, 100);
        if (take(&p, "|"))
            compare_grads(&p, &e, line, name, gradients_of(grads, &e, second_cotangent, false),
                          200);
    }
    dync_clear_error();
    dync_compiled_free(f);
    for (int i = 0; i < p.n_made; i++) dync__unref(p.made[i]);
}
#endif
