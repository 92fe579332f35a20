/* What many calls cost in memory, and what is large: steady calls allocate nothing, churning shapes
 * respect the limit, nothing leaks. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static dync_tensor *pointwise(dync_tensor *x, dync_tensor *y)
{
    return dync_relu(dync_add(dync_mul(x, y), 1));
}
static dync_tensor *branching(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    if (dync_bool(dync_gt(dync_sum(z, DYNC_ALL, false), 0))) return dync_add(z, 1);
    return dync_sub(z, 1);
}
static dync_tensor *written(dync_tensor *x, dync_tensor *y)
{
    dync_mul_(x, 0.5);
    return dync_add(x, y);
}

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

TEST(steady_calls_allocate_nothing)
{
    dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *) = {pointwise, branching, written};
    for (int b = 0; b < 3; b++)
        for (int k = 0; k < 3; k++) {
            dync_tensor *x = dync_randn(dync_shape(10)), *y = dync_randn(dync_shape(10));
            dync_compiled *f = dync_compile(fns[k], .backend = backends[b]);
            for (int i = 0; i < 100; i++) DYNC_SCOPE {
                dync_call(f, i & 1 ? x : y, y);
            }
            dync_memory before = dync_memory_stats();
            for (int i = 0; i < 10000; i++) DYNC_SCOPE {
                dync_call(f, i & 1 ? x : y, y);
            }
            dync_memory after = dync_memory_stats();
            if (!EXPECT_EQ_INT(after.live_bytes, before.live_bytes) ||
                !EXPECT_EQ_INT(after.mallocs, before.mallocs) ||
                !EXPECT_EQ_INT(after.live_tensors, before.live_tensors))
                printf("    function %d on %s\n", k, backends[b]);
            dync_compiled_free(f);
        }
}

/* Live bytes after the first calls and after all of them. */
static void settles(const char *what, dync_compiled *f, dync_value (*args)(int), int calls,
                    int64_t slack)
{
    dync_memory warm = {0};
    dync_on_error(quiet, NULL);
    for (int i = 0; i < calls; i++) {
        if (i == calls / 4) warm = dync_memory_stats();
        DYNC_SCOPE {
            dync_value list = args(i), v[8];
            for (int k = 0; k < dync_len(list); k++) v[k] = dync_at(list, k);
            dync_value r = dync_call_values(f, dync_len(list), v);
            if (r.kind == DYNC_KIND_NONE) EXPECT_OK(dync_error());
        }
    }
    dync_memory end = dync_memory_stats();
    if (!EXPECT(end.live_bytes <= warm.live_bytes + slack + warm.live_bytes / 64) ||
        !EXPECT(end.live_tensors == warm.live_tensors))
        printf("    %s: %lld bytes after a quarter of the calls, %lld at the end\n", what,
               (long long)warm.live_bytes, (long long)end.live_bytes);
    dync_compiled_free(f);
}
static dync_value shapes(int i)
{
    return dync_tuple(dync_ones(dync_shape(1 + i % 37, 1 + i % 11)),
                      dync_ones(dync_shape(1 + i % 11)));
}
static dync_value values(int i)
{
    return dync_tuple(dync_full(dync_shape(3), i % 2 ? -i : i), dync_ones(dync_shape(3)));
}
TEST(churning_shapes)
{
    dync_counters before = dync_get_counters();
    settles("shapes", dync_compile(pointwise), shapes, 100000, 0);
    EXPECT(dync_get_counters().graphs - before.graphs <= 8);
    settles("shapes and a branch", dync_compile(branching, .backend = "eager"), shapes, 2000, 0);
}

/* A break whose value goes into the next graph as a number: another graph every time. */
static dync_tensor *by_item(dync_tensor *x, dync_tensor *y)
{
    return dync_mul(y, dync_item(dync_sum(x, DYNC_ALL, false)));
}
static dync_tensor *with_constant(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_add(x, y);
    dync_graph_break("here");
    return dync_add(z, dync_constant(((float[]){1, 2, 3}), dync_shape(3)));
}
static dync_tensor *from_data(dync_tensor *x, dync_tensor *y)
{
    float k = ((float *)dync_data(dync_add(x, y)))[0];
    return dync_mul(dync_from(&k, dync_shape(1)), y);
}
TEST(graphs_that_differ_every_time)
{
    settles("item", dync_compile(by_item, .backend = "eager"), values, 3000, 0);
    settles("item", dync_compile(by_item), values, 3000, 0);
    settles("constant", dync_compile(with_constant, .backend = "eager"), values, 3000, 0);
    settles("from", dync_compile(from_data), values, 3000, 0);
}
static dync_tensor *global;
static dync_tensor *with_global(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_mul(x, global), y);
}
TEST(globals_that_come_and_go)
{
    dync_compiled *f = dync_compile(with_global);
    dync_memory warm = {0};
    dync_tensor *x = dync_ones(dync_shape(3));
    for (int i = 0; i < 2000; i++) {
        DYNC_SCOPE {
            global = dync_full(dync_shape(3), i);
            EXPECT_NEAR(dync_item(dync_select(dync_call(f, x, x), 0, 0)), i + 1, 0);
        }
        if (i == 500) warm = dync_memory_stats();
    }
    EXPECT_EQ_INT(dync_memory_stats().live_bytes, warm.live_bytes);
    dync_compiled_free(f);
}
static dync_tensor *fails(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    if (dync_bool(dync_lt(dync_sum(z, DYNC_ALL, false), 0)))
        return dync_matmul(z, dync_ones(dync_shape(7)));
    return z;
}
TEST(calls_that_fail)
{
    dync_compiled *f = dync_compile(fails);
    dync_memory warm = {0};
    dync_on_error(quiet, NULL);
    for (int i = 0; i < 2000; i++) {
        if (i == 500) warm = dync_memory_stats();
        DYNC_SCOPE {
            dync_call(f, dync_full(dync_shape(3), i % 3 - 1), dync_ones(dync_shape(3)));
        }
        dync_clear_error();
    }
    EXPECT_EQ_INT(dync_memory_stats().live_bytes, warm.live_bytes);
    dync_compiled_free(f);
}

/* ---- large ----------------------------------------------------------------------------------- */
static dync_module *deep;
static dync_tensor *through_deep(dync_tensor *x) { return dync_forward_call(deep, x); }
TEST(a_module_of_many_parameters)
{
    dync_module *layers[100];
    for (int i = 0; i < 100; i++) layers[i] = dync_nn_linear(3, 3, true);
    deep = dync_sequential_of(100, layers);
    dync_tensor *x = dync_ones(dync_shape(2, 3)), *want = dync_forward_call(deep, x);
    dync_backward(dync_sum(want, DYNC_ALL, false));
    dync_tensor *grad = dync_clone(dync_grad(dync_module_param(deep, "0.weight")));
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(through_deep, .backend = backends[b]);
        for (int call = 0; call < 2; call++) {
            dync_tensor *y = dync_call(f, x);
            EXPECT_OK(dync_error());
            EXPECT(same(y, want, 1e-5));
            dync_set_grad(dync_module_param(deep, "0.weight"), NULL);
            dync_backward(dync_sum(y, DYNC_ALL, false));
            EXPECT(same(dync_grad(dync_module_param(deep, "0.weight")), grad, 1e-4));
        }
        dync_compiled_free(f);
    }
    dync_program *p = dync_export(through_deep, x);
    if (EXPECT(p))
        EXPECT(same(dync_as_tensor(dync_program_run(p, 1, (dync_value[]){DYNC_V(x)})), want, 1e-5));
    dync_program_free(p);
    dync_module_free(deep);
}
static dync_value many_outputs(const dync_value *a, int n, void *user)
{
    dync_value out[300];
    (void)n, (void)user;
    for (int i = 0; i < 300; i++) out[i] = DYNC_V(dync_mul(a[0], i + 1));
    return dync_tuple_of(300, out);
}
static dync_tensor *many_constants(dync_tensor *x)
{
    for (int i = 0; i < 300; i++) {
        float k = (float)i;
        x = dync_add(x, dync_constant(&k, dync_shape(1)));
    }
    return x;
}
TEST(many_outputs_and_constants)
{
    for (int b = 0; b < 3; b++)
        for (int train = 0; train < 2; train++) {
            dync_tensor *x = dync_ones(dync_shape(2), .requires_grad = train);
            dync_compiled *f = dync_compile(many_outputs, .backend = backends[b]),
                          *g = dync_compile(many_constants, .backend = backends[b]);
            for (int call = 0; call < 2; call++) {
                dync_value r = dync_call_value(f, x);
                EXPECT_EQ_INT(dync_len(r), 300);
                EXPECT_NEAR(dync_item(dync_select(dync_as_tensor(dync_at(r, 299)), 0, 0)), 300, 0);
                if (train) {
                    dync_backward(dync_sum(
                        dync_add(dync_as_tensor(dync_at(r, 299)), dync_as_tensor(dync_at(r, 9))),
                        DYNC_ALL, false));
                    EXPECT_NEAR(dync_item(dync_select(dync_grad(x), 0, 0)), 310, 0);
                    dync_set_grad(x, NULL);
                }
                EXPECT_NEAR(dync_item(dync_select(dync_call(g, x), 0, 0)), 1 + 299 * 150, 0);
                EXPECT_OK(dync_error());
            }
            dync_compiled_free(f);
            dync_compiled_free(g);
        }
}
static dync_value long_join(const dync_value *a, int n, void *user)
{
    dync_value parts[100];
    (void)n, (void)user;
    for (int i = 0; i < 100; i++) parts[i] = DYNC_V(dync_mul(a[0], i));
    return DYNC_V(dync_cat(dync_tuple_of(100, parts), 0));
}
TEST(an_operator_of_many_operands)
{
    for (int b = 0; b < 3; b++) {
        dync_value x = DYNC_V(dync_ones(dync_shape(2)));
        dync_compiled *f = dync_compile(long_join, .backend = backends[b]);
        EXPECT(same(dync_as_tensor(dync_call_values(f, 1, &x)),
                    dync_as_tensor(long_join(&x, 1, NULL)), 1e-6));
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}
TEST_MAIN
