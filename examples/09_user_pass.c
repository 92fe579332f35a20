/* cc -O2 -I.. 09_user_pass.c -lm -pthread -o 09_user_pass
 *
 * Lesson 9: a pass of one's own. This backend changes a copy of each graph that it is given: where
 * it finds add(mul(a, b), c) of equal lengths it puts one operator, mine::muladd,
 * and inductor compiles the rest. A change that cannot be is an error that says why, and leaves the
 * graph as it was. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

/* The operator: how it runs, and what it gives. */
static dync_value muladd(const dync_value *v, int n, void *user)
{
    dync_tensor *out = dync_clone(dync_as_tensor(v[2]));
    const float *a = dync_data(dync_as_tensor(v[0])), *b = dync_data(dync_as_tensor(v[1]));
    float *c = dync_data(out);
    for (int64_t i = 0; i < dync_numel(out); i++) c[i] += a[i] * b[i];
    (void)n, (void)user;
    return dync_v_tensor(out);
}
static dync_value muladd_meta(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_clone(dync_as_tensor(v[2])));
}

/* The pattern and what stands in its place, as C. */
static dync_tensor *pattern(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    return dync_add(dync_mul(a, b), c);
}
static dync_tensor *replacement(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    dync_value v[3] = {DYNC_V(a), DYNC_V(b), DYNC_V(c)};
    return dync_as_tensor(dync_op_call_values("mine::muladd", 3, v));
}
static bool plain(const dync_match *m, void *user) /* floats of equal length */
{
    dync_result_info a, b;
    (void)user;
    for (int i = 0; i < m->ninputs; i++) {
        if (!dync_node_result(m->inputs[0], 0, &a) || !dync_node_result(m->inputs[i], 0, &b) ||
            b.dtype != DYNC_F32 || b.shape.n != 1 || b.shape.d[0] != a.shape.d[0])
            return false;
    }
    return true;
}

static dync_status fuse(dync_graph *graph, const dync_value *example_inputs, int n,
                        const char *options, dync_callable *out, void *user)
{
    dync_graph *mine = dync_graph_copy(graph), **by = user;
    (void)options;
    int found = dync_graph_replace_pattern(mine, by[0], by[1], plain, NULL);
    if (found < 0) return dync_error();
    printf("replaced %d\n%s\n", found, dync_graph_readable(mine));
    return dync_compile_graph("inductor", mine, example_inputs, n, out);
}

static dync_tensor *model(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *s = dync_add(dync_mul(x, y), x);
    return dync_tanh(dync_add(dync_mul(s, y), dync_mul(x, 0.5))); /* 0.5 is no tensor */
}

int main(void)
{
    dync_tensor *x = dync_arange(0, 6, 1), *y = dync_full(dync_shape(6), 0.25);
    x = dync_to_dtype(x, DYNC_F32);
    dync_op_register("mine::muladd", "(Tensor a, Tensor b, Tensor c) -> Tensor", muladd,
                     muladd_meta, NULL);
    dync_graph *by[2] = {dync_make_graph(dync_args(pattern, "a, b, c"), x, y, x),
                         dync_make_graph(dync_args(replacement, "a, b, c"), x, y, x)};
    dync_backend mine = {.name = "muladd", .compile = fuse, .user = by};
    dync_compiled *f = dync_compile(model, .args = "x, y", .backend_object = &mine);
    dync_print(dync_call(f, x, y));
    printf("equal to plain: %d\n", dync_allclose(dync_call(f, x, y), model(x, y), 1e-6, 1e-6));
    dync_compiled_free(f);
    dync_shutdown();
    return dync_error();
}
