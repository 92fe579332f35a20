/* Rows of the conformance list: what makes a function compile again, and the same
 * argument twice. Sizes, parameters and gradients are the source test's; each backend behind the
 * counting one gives what eager gives. */
#include "../capture/counter.h"

static const char *const inner_backends[] = {"eager", "aot_eager", "inductor"};
enum { N_INNER = 3 };
static dync_tensor *rand33(void) { return dync_randn(dync_shape(3, 3), .requires_grad = true); }

/* A compiled module behind a counter, and the reason of the last guard that failed. */
typedef struct {
    char reason[512];
    counter count;
    dync_backend backend;
    dync_compiled *f;
} counted;
static void counted_begin(counted *c, dync_module *m, const char *inner)
{
    memset(c, 0, sizeof *c);
    c->count.inner = inner;
    c->backend = COUNTER(c->count);
    c->f = dync_compile(m, .backend_object = &c->backend, .guard_fail = keep_reason,
                        .guard_fail_user = c->reason);
}
static void counted_end(counted *c, int frames, const char *reason_has)
{
    EXPECT_EQ_INT(c->count.frame_count, frames);
    if (reason_has)
        EXPECT_HAS_STR(c->reason, reason_has);
    else
        EXPECT_EQ_STR(c->reason, "");
    EXPECT_OK(dync_error());
    dync_clear_error();
    dync_compiled_free(c->f);
    dync_reset();
}
static dync_tensor *only(dync_value v)
{
    return dync_as_tensor(v.kind == DYNC_KIND_LIST ? dync_at(v, 0) : v);
}

/* A leaf's gradient, which is then none. */
static dync_tensor *take_grad(dync_tensor *leaf)
{
    dync_tensor *grad = dync_grad(leaf);
    if (grad) grad = dync_clone(grad);
    dync_set_grad(leaf, NULL);
    return grad;
}
/* compare_equal_outs_and_grads: outputs, then each input's gradient of the output's sum, then none
 * is left. */
static void equal_outs_and_grads(dync_module *m, dync_compiled *f, int n,
                                 dync_tensor *const *inputs)
{
    dync_tensor *out[2], *grad[2][4] = {{NULL}};
    dync_value args[4];
    for (int i = 0; i < n; i++) args[i] = DYNC_V(inputs[i]);
    for (int k = 0; k < 2; k++) {
        out[k] = only(k ? dync_call_values(f, n, args) : dync_module_call_values(m, n, args));
        if (dync_requires_grad(out[k]))
            EXPECT_OK(dync_backward_opt(DYNC_V(dync_sum(out[k], DYNC_ALL, false)), DYNC_NONE,
                                        (dync_grad_options){.retain_graph = true}));
        for (int i = 0; i < n; i++) grad[k][i] = take_grad(inputs[i]);
    }
    EXPECT(dync_requires_grad(out[0]) == dync_requires_grad(out[1]));
    EXPECT(same(dync_detach(out[0]), dync_detach(out[1]), 1.3e-6));
    for (int i = 0; i < n; i++) {
        EXPECT((grad[0][i] != NULL) == (grad[1][i] != NULL));
        if (grad[0][i]) EXPECT(same(grad[0][i], grad[1][i], 1.3e-6));
    }
}

/* ---- A-08 ------------------------------------------------------------------------------------ */
static dync_tensor *some_bad_fwd(dync_tensor *param, dync_tensor *y)
{
    if (dync_bool(dync_lt(dync_select(dync_select(y, 0, 0), 0, 0), 3))) return dync_add(y, param);
    return dync_mul(param, y);
}
static dync_value bad_forward(dync_module *self, const dync_value *args, int n)
{
    (void)self, (void)n;
    dync_tensor *x = dync_as_tensor(args[0]), *y = dync_as_tensor(args[1]), *a = dync_mul(x, y);
    a = dync_frame(dync_args(some_bad_fwd, "param, y"), a, a);
    dync_tensor *b = dync_add(x, y);
    return DYNC_V(dync_mul(a, b));
}
static void graph_calls(const dync_graph *g, const char *const *targets, int placeholders)
{
    int found = 0;
    for (int i = 0; i < dync_graph_len(g); i++) {
        const dync_node *n = dync_graph_node(g, i);
        if (strcmp(dync_node_op(n), "placeholder") == 0) placeholders--;
        if (strcmp(dync_node_op(n), "call_function") != 0) continue;
        EXPECT_EQ_STR(dync_node_target(n), targets[found] ? targets[found] : "nothing");
        found += targets[found] != NULL;
    }
    EXPECT(targets[found] == NULL);
    EXPECT_EQ_INT(placeholders, 0);
}
/* scale 1: as the source test, whichever branch its random numbers take. */
static void control_flow(double scale)
{
    static const char *const want[4][4] = {{"mul"},
                                           {"select", "select", "lt"},
                                           {"add"},
                                           {"add", "mul"}},
                             *const other[] = {"mul", NULL};
    counted c;
    dync_module *m = dync_module_new_values("ModuleSpecialFwd", bad_forward, "x, y", NULL);
    dync_tensor *x = dync_parameter(dync_mul(dync_randn(dync_shape(2, 2)), scale)),
                *y = dync_mul(dync_randn(dync_shape(2, 2)), scale);
    dync_tensor *real = only(dync_module_call(m, x, y));
    counted_begin(&c, m, NULL);
    for (int call = 0; call < 2; call++) {
        EXPECT(same(real, dync_as_tensor(dync_call_value(c.f, x, y)), 1e-4));
        EXPECT_EQ_INT(c.count.frame_count, 4);
        EXPECT_EQ_INT(c.count.op_count, 7);
    }
    bool small = dync_item(dync_select(dync_select(dync_mul(x, y), 0, 0), 0, 0)) < 3;
    for (int i = 0; i < 4 && c.count.frame_count == 4; i++)
        graph_calls(c.count.graphs[i], i == 2 && !small ? other : want[i],
                    i == 3   ? 3
                    : i == 0 ? 2
                             : 1);
    dync_reset();
    /* the wrapper inside is peeled off: its backend sees nothing more */
    dync_compiled *aot = dync_compile(c.f, .backend = "aot_eager");
    dync_tensor *got = dync_as_tensor(dync_call_value(aot, x, y));
    EXPECT(same(real, got, 1e-4));
    EXPECT_EQ_INT(c.count.frame_count, 4);
    dync_tensor *gx[2];
    for (int k = 0; k < 2; k++) {
        EXPECT_OK(dync_backward(dync_sum(k ? got : real, DYNC_ALL, false)));
        gx[k] = take_grad(x);
    }
    EXPECT(gx[0] && gx[1] && same(gx[0], gx[1], 1e-4));
    dync_compiled_free(aot);
    counted_end(&c, 4, NULL);
    dync_module_free(m);
}
TEST(A_08_control_flow_in_a_frame)
{
    for (int i = 0; i < 4; i++) control_flow(i < 2 ? 1 : 6);
}
/* A later call that takes the other branch adds one frame: segments are interned. */
static dync_tensor *forward_bad(dync_tensor *x, dync_tensor *y)
{
    dync_value args[2];
    args[0] = DYNC_V(x), args[1] = DYNC_V(y);
    return dync_as_tensor(bad_forward(NULL, args, 2));
}
TEST(A_08_the_other_branch_adds_one_frame)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_tensor *x = dync_ones(dync_shape(2, 2)), *y = dync_full(dync_shape(2, 2), 2.0),
                *z = dync_full(dync_shape(2, 2), 5.0);
    dync_compiled *f = dync_compile(forward_bad, .args = "x, y", .backend_object = &b);
    EXPECT(same(forward_bad(x, y), dync_call(f, x, y), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 4);
    EXPECT_EQ_INT(c.op_count, 7);
    EXPECT(same(forward_bad(x, y), dync_call(f, x, y), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 4);
    EXPECT(same(forward_bad(x, z), dync_call(f, x, z), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 5);
    EXPECT(same(forward_bad(x, z), dync_call(f, x, z), 1e-5));
    EXPECT(same(forward_bad(x, y), dync_call(f, x, y), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 5);
    dync_compiled_free(f);
}

/* ---- A-09 ------------------------------------------------------------------------------------ */
static dync_value add_forward(dync_module *self, const dync_value *args, int n)
{
    (void)self, (void)n;
    return dync_tuple(dync_add(dync_as_tensor(args[0]), dync_as_tensor(args[1])));
}
TEST(A_09_requires_grad_recompiles)
{
    for (int b = 0; b < N_INNER; b++) {
        counted c;
        dync_module *m = dync_module_new_values("F", add_forward, "x, y", NULL);
        dync_tensor *x = rand33(), *y = rand33(), *z = dync_randn(dync_shape(3, 3)), *xy[] = {x, y},
                    *xz[] = {x, z};
        counted_begin(&c, m, inner_backends[b]);
        equal_outs_and_grads(m, c.f, 2, xy);
        EXPECT_EQ_STR(c.reason, "");
        equal_outs_and_grads(m, c.f, 2, xz);
        counted_end(&c, 2, "tensor 'L['y']' requires_grad mismatch. expected requires_grad=1");
        counted_begin(&c, m, inner_backends[b]);
        equal_outs_and_grads(m, c.f, 2, xz);
        equal_outs_and_grads(m, c.f, 2, xz);
        counted_end(&c, 1, NULL);
        dync_module_free(m);
    }
}

/* ---- the same argument twice, then different ones ------------------------------ */
/* One call, compiled and by the module itself, on clones; alike[i]: the argument that argument i
 * is. Results, what is written into the arguments, and the gradients of leaves and parameter are
 * equal. */
typedef struct {
    dync_module *m;
    dync_tensor *leaf[4], *global;
    int n;
    dync_value extra[2];
    int n_extra;
    bool extra_first, mean;
} dupes;
static int dupe_arguments(const dupes *d, const int *alike, dync_tensor **clone, dync_value *args)
{
    int n = 0;
    if (d->extra_first)
        for (int i = 0; i < d->n_extra; i++) args[n++] = d->extra[i];
    for (int i = 0; i < d->n; i++) {
        clone[i] = alike[i] == i ? dync_clone(d->leaf[i]) : clone[alike[i]];
        args[n++] = DYNC_V(clone[i]);
    }
    if (!d->extra_first)
        for (int i = 0; i < d->n_extra; i++) args[n++] = d->extra[i];
    return n;
}
static void dupe_call(const dupes *d, dync_compiled *f, const int *alike)
{
    dync_tensor *clone[2][4], *out[2], *grad[2][5],
        *mean = d->mean ? dync_module_param(d->m, "mean") : NULL;
    for (int k = 0; k < 2; k++) {
        dync_value args[6];
        int n = dupe_arguments(d, alike, clone[k], args);
        out[k] = only(k ? dync_call_values(f, n, args) : dync_module_call_values(d->m, n, args));
        REQUIRE(out[k] && dync_requires_grad(out[k]));
        EXPECT_OK(dync_backward(dync_sum(out[k], DYNC_ALL, false)));
        for (int i = 0; i < 5; i++) {
            dync_tensor *leaf = i < 4 ? d->leaf[i] : mean;
            grad[k][i] = leaf ? take_grad(leaf) : NULL;
        }
    }
    EXPECT(same(dync_detach(out[0]), dync_detach(out[1]), 1.3e-6));
    for (int i = 0; i < d->n; i++)
        EXPECT(same(dync_detach(clone[0][i]), dync_detach(clone[1][i]), 0));
    for (int i = 0; i < d->n; i++)
        EXPECT(same(dync_detach(clone[1][i]), dync_trunc(dync_detach(d->leaf[alike[i]])), 0));
    for (int i = 0; i < 5; i++) {
        EXPECT((grad[0][i] != NULL) == (grad[1][i] != NULL));
        if (grad[0][i]) EXPECT(same(grad[0][i], grad[1][i], 1.3e-6));
    }
    if (mean) EXPECT(grad[1][4] != NULL);
}
static dync_tensor *trunc_and_sum(const dync_value *args, int n)
{
    dync_tensor *sum = NULL;
    for (int i = 0; i < n; i++) dync_trunc_(dync_as_tensor(args[i]));
    for (int i = 0; i < n; i++) sum = sum ? dync_add(sum, args[i]) : dync_as_tensor(args[i]);
    return sum;
}
static dync_value trunc_forward(dync_module *self, const dync_value *args, int n)
{
    return (void)self, dync_tuple(trunc_and_sum(args, n));
}
static dync_tensor *z_global;
/* a, b and two numbers or none; with the closure's z where there is one. */
static dync_value mean_forward(dync_module *self, const dync_value *args, int n)
{
    dync_tensor *r = trunc_and_sum(args, 2);
    if (z_global) {
        dync_guard_tensor("z", &z_global);
        r = dync_add(r, z_global);
    }
    r = dync_add(r, dync_module_param(self, "mean"));
    for (int i = 2; i < n; i++) r = dync_mul(r, args[i]);
    return DYNC_V(r);
}
static dync_value list_forward(dync_module *self, const dync_value *args, int n)
{
    dync_value flat[4];
    flat[0] = args[2], flat[1] = args[3], flat[2] = dync_at(args[0], 0),
    flat[3] = dync_at(args[1], 0);
    return mean_forward(self, flat, n);
}
static dupes dupes_of(dync_forward_values forward, const char *args, int n, bool mean)
{
    dupes d = {.m = dync_module_new_values("F", forward, args, NULL), .n = n, .mean = mean};
    for (int i = 0; i < n; i++) d.leaf[i] = rand33();
    if (mean) dync_module_set_param(d.m, "mean", dync_randn(dync_shape(3, 3)));
    return d;
}
static const int all_different[] = {0, 1, 2, 3}, all_same[] = {0, 0, 0, 0},
                 last_same[] = {0, 1, 1, 1}, last_two_same[] = {0, 1, 2, 2};
/* Twice behind a fresh counter: the first call's arguments, then the second's. */
static void dupe_pair(const dupes *d, const char *inner, const int *first, const int *second,
                      const char *reason)
{
    counted c;
    counted_begin(&c, d->m, inner);
    dupe_call(d, c.f, first);
    EXPECT_EQ_INT(c.count.frame_count, 1);
    dupe_call(d, c.f, second);
    counted_end(&c, reason ? 2 : 1, reason);
}
TEST(A_11_arg_dupe_recompiles)
{
    for (int b = 0; b < N_INNER; b++) {
        dupes d = dupes_of(trunc_forward, "x, y", 2, false);
        dupe_pair(&d, inner_backends[b], all_different, all_different, NULL);
        dupe_pair(&d, inner_backends[b], all_same, all_different, "L['x'] is L['y']");
        dync_module_free(d.m);
    }
}
/* Two pairs, the second of other tensors; e and f: numbers or lists, 2 of them or none. */
static void two_pairs(dync_forward_values forward, const char *args, int n_extra, bool extra_first,
                      const dync_value *first, const dync_value *second)
{
    for (int b = 0; b < N_INNER; b++) {
        dync_module *m = NULL;
        for (int pair = 0; pair < 2; pair++) {
            dupes d = dupes_of(forward, args, 2, true);
            if (m) dync_module_free(d.m), d.m = m;
            m = d.m;
            d.n_extra = n_extra, d.extra_first = extra_first;
            for (int i = 0; i < n_extra; i++) d.extra[i] = (pair ? second : first)[i];
            dupe_pair(&d, inner_backends[b], all_same, all_different, "L['a'] is L['b']");
        }
        dync_module_free(m);
    }
}
TEST(A_12_arg_dupe_param_non_tensor_arg)
{
    dync_value two[2], three[2];
    for (int i = 0; i < 2; i++) two[i] = DYNC_V(2), three[i] = DYNC_V(3);
    two_pairs(mean_forward, "a, b, e, f", 2, false, two, three);
}
TEST(A_13_arg_dupe_many_with_global)
{
    for (int b = 0; b < N_INNER; b++) {
        dupes d = dupes_of(mean_forward, "a, b, e, f", 2, true);
        d.n_extra = 2, d.extra[0] = d.extra[1] = DYNC_V(2);
        z_global = d.leaf[0];
        dupe_pair(&d, inner_backends[b], all_same, all_different, "L['a'] is L['b']");
        z_global = NULL;
        dync_module_free(d.m);
    }
}
TEST(A_14_arg_dupe_param_non_tensor_arg_list)
{
    dync_value lists[2];
    lists[0] = dync_tuple(3, 2, 1), lists[1] = dync_tuple(4, 5, 6);
    two_pairs(list_forward, "e, f, a, b", 2, true, lists, lists);
}
TEST(A_15_arg_dupe_many_args_param) { two_pairs(mean_forward, "a, b", 0, false, NULL, NULL); }
TEST(A_16_arg_dupe_many_args)
{
    for (int b = 0; b < N_INNER; b++) {
        dupes d = dupes_of(trunc_forward, "a, b, c, d", 4, false);
        dupe_pair(&d, inner_backends[b], all_same, last_same, "L['a'] is L['b']");
        dupe_pair(&d, inner_backends[b], last_two_same, all_different, "L['c'] is L['d']");
        dync_module_free(d.m);
    }
}

/* ---- A-17 ------------------------------------------------------------------------------------ */
static dync_tensor *alias_inputs(void)
{
    dync_tensor *a = dync_slice(dync_ones(dync_shape(1), .dtype = DYNC_I64), 0, 0, 1, 1),
                *b = dync_squeeze(a, 0);
    dync_fill_(dync_select(a, 0, 0), 0);
    if (dync_bool(dync_lt(dync_select(a, 0, 0), 1e5))) {}
    dync_fill_(dync_select(a, 0, 0), 2);
    return b;
}
TEST(A_17_alias_inputs)
{
    for (int i = 0; i < N_INNER; i++) {
        dync_compiled *f = dync_compile(alias_inputs, .backend = inner_backends[i]);
        for (int k = 0; k < 3; k++) {
            dync_tensor *r = dync_call0(f);
            EXPECT(same(alias_inputs(), r, 0));
            EXPECT_EQ_INT(dync_ndim(r), 0);
            EXPECT_EQ_INT(dync_type(r), DYNC_I64);
            EXPECT(dync_item(r) == 2);
        }
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}
TEST_MAIN
