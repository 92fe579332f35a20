/* Values in and out of a compiled function: numbers, texts, lists, modules, pointers, none; what is
 * returned as it came; scopes, early returns and loops inside. Every program runs eagerly and
 * compiled on every backend. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* Equal kinds, numbers, texts, shapes of lists; tensors close. */
static bool equal_values(dync_value a, dync_value b)
{
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case DYNC_KIND_TENSOR: return same(dync_detach(a.as.t), dync_detach(b.as.t), 1e-5);
    case DYNC_KIND_LIST:
        if (dync_len(a) != dync_len(b)) return false;
        for (int i = 0; i < dync_len(a); i++)
            if (!equal_values(dync_at(a, i), dync_at(b, i))) return false;
        return true;
    case DYNC_KIND_INT: return a.as.i == b.as.i;
    case DYNC_KIND_FLOAT: return memcmp(&a.as.f, &b.as.f, sizeof a.as.f) == 0;
    case DYNC_KIND_BOOL: return a.as.b == b.as.b;
    case DYNC_KIND_STR: return strcmp(a.as.s, b.as.s) == 0;
    case DYNC_KIND_PTR: return a.as.p == b.as.p;
    case DYNC_KIND_MODULE: return a.as.m == b.as.m;
    default: return true;
    }
}
/* Three calls with these arguments; how many graphs there are then. */
static int runs(dync_function fn, bool fullgraph, int n, const dync_value *args)
{
    int frames = 0;
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_backend counting = COUNTER(c);
        dync_compiled *f = dync_compile(fn, .args = "a, b, c, d", .backend_object = &counting,
                                        .fullgraph = fullgraph);
        for (int i = 0; i < 3; i++) {
            dync_value want = fn(args, n, NULL), got = dync_call_values(f, n, args);
            if (!EXPECT(equal_values(want, got))) printf("    %s, call %d\n", backends[b], i);
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
        frames = c.frame_count;
    }
    return frames;
}

/* ---- in -------------------------------------------------------------------------------------- */
static dync_value all_kinds(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(dync_at(dync_at(a[0], 1), 0));
    double k = (double)dync_as_int(dync_at(a[0], 0)) + dync_as_float(a[1]) +
               (dync_as_bool(a[2]) ? 100 : 0);
    if (strcmp(dync_as_str(dync_at(a[3], 0)), "neg") == 0) k = -k;
    if (dync_at(a[3], 1).kind == DYNC_KIND_NONE) k += 0.25;
    if (dync_at(a[3], 2).as.p) k += *(int *)dync_at(a[3], 2).as.p;
    return DYNC_V(dync_mul(x, k));
}
TEST(kinds_of_arguments)
{
    int seven = 7, eight = 8;
    dync_tensor *x = dync_ones(dync_shape(2, 3));
    dync_value args[4] = {dync_tuple(3, dync_tuple(x, 1)), DYNC_V(0.5), DYNC_TRUE,
                          dync_tuple("pos", DYNC_NONE, (void *)&seven)};
    EXPECT_EQ_INT(runs(all_kinds, true, 4, args), 1);
    /* each kind of change is guarded */
    char reason[512];
    dync_value other[4][4];
    for (int i = 0; i < 4; i++) memcpy(other[i], args, sizeof args);
    other[0][1] = DYNC_V(0.75);
    other[1][2] = DYNC_FALSE;
    other[2][3] = dync_tuple("neg", DYNC_NONE, (void *)&seven);
    other[3][3] = dync_tuple("pos", DYNC_NONE, (void *)&eight);
    static const char *const texts[] = {"L['b'] == 0.5", "L['c'] == True", "L['d'][0] == 'pos'",
                                        "L['d'][2] is the same pointer"};
    for (int i = 0; i < 4; i++) {
        dync_compiled *f = dync_compile(all_kinds, .args = "a, b, c, d", .guard_fail = keep_reason,
                                        .guard_fail_user = reason);
        reason[0] = 0;
        EXPECT(equal_values(dync_call_values(f, 4, args), all_kinds(args, 4, NULL)));
        EXPECT(equal_values(dync_call_values(f, 4, other[i]), all_kinds(other[i], 4, NULL)));
        EXPECT_EQ_STR(reason, texts[i]);
        EXPECT(equal_values(dync_call_values(f, 4, args), all_kinds(args, 4, NULL)));
        dync_compiled_free(f);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
static dync_value sum_of_leaves(const dync_value *a, int n, void *user)
{
    dync_tensor *sum = NULL;
    (void)user;
    for (int i = 0; i < n; i++) {
        dync_value v = a[i], items[32];
        for (int k = 0; v.kind == DYNC_KIND_LIST && k < dync_len(v); k++) items[k] = dync_at(v, k);
        if (v.kind == DYNC_KIND_LIST) v = sum_of_leaves(items, dync_len(v), NULL);
        sum = sum ? dync_add(sum, dync_mul(v, i + 1)) : dync_mul(v, 1);
    }
    return DYNC_V(sum);
}
TEST(many_leaves)
{
    static dync_value v[514];
    for (int i = 0; i < 514; i++) v[i] = DYNC_V(dync_full(dync_shape(2), i));
    EXPECT_EQ_INT(runs(sum_of_leaves, true, 64, v), 1);
    dync_value lists[4] = {dync_tuple_of(16, v), dync_tuple_of(16, v + 16),
                           dync_tuple(dync_tuple_of(20, v + 32)), dync_tuple_of(12, v + 52)};
    EXPECT_EQ_INT(runs(sum_of_leaves, true, 4, lists), 1);
    dync_on_error(quiet, NULL);
    EXPECT(dync_call_values(dync_compile(sum_of_leaves), 513, v).kind == DYNC_KIND_NONE);
    EXPECT_EQ_STR(dync_error_message(), "sum_of_leaves: more than 512 tensors in one call");
    dync_clear_error();
    dync_value deep = v[0];
    for (int i = 0; i < 20; i++) deep = dync_tuple(deep);
    EXPECT(dync_call_values(dync_compile(sum_of_leaves), 1, &deep).kind == DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(), "deeper than 16");
}
static dync_value no_arguments(const dync_value *a, int n, void *user)
{
    (void)a, (void)n, (void)user;
    return DYNC_V(dync_mul(dync_ones(dync_shape(3)), 2));
}
static dync_tensor *nothing_in(void) { return dync_add(dync_arange(0, 4, 1), 1); }
TEST(no_arguments_at_all)
{
    EXPECT_EQ_INT(runs(no_arguments, true, 0, NULL), 1);
    dync_compiled *f = dync_compile(nothing_in);
    for (int i = 0; i < 3; i++) {
        EXPECT(same(dync_call0(f), nothing_in(), 0));
        EXPECT(same(dync_call(f), nothing_in(), 0));
        EXPECT(same(dync_as_tensor(dync_call_value(f)), nothing_in(), 0));
    }
}
static dync_value last_of(const dync_value *a, int n, void *user)
{
    (void)user;
    return DYNC_V(dync_add(dync_full(dync_shape(2), n), a[n - 1]));
}
TEST(as_many_arguments_as_macros_take)
{
    dync_compiled *f = dync_compile(last_of);
    dync_tensor *one = dync_call(f, 5),
                *all = dync_call(f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
                                 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32);
    EXPECT_NEAR(dync_item(dync_select(one, 0, 1)), 6, 0);
    EXPECT_NEAR(dync_item(dync_select(all, 0, 1)), 64, 0);
}
static dync_value with_module(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_module_call(a[0].as.m, a[1]);
}
TEST(modules_as_arguments)
{
    dync_module *m = dync_sequential(dync_nn_linear(3, 3, true), dync_nn_dropout(1)),
                *other = dync_nn_linear(3, 2, true);
    dync_value args[2] = {DYNC_V(m), DYNC_V(dync_ones(dync_shape(2, 3)))};
    EXPECT_EQ_INT(runs(with_module, true, 2, args), 1);
    counter c = {0};
    dync_backend counting = COUNTER(c);
    dync_compiled *f = dync_compile(with_module, .backend_object = &counting);
    EXPECT(dync_numel(dync_call(f, m, args[1])) == 6);
    dync_module_train(m, false);
    EXPECT(dync_item(dync_sum(dync_abs(dync_call(f, m, args[1])), DYNC_ALL, false)) > 0);
    EXPECT(dync_numel(dync_call(f, other, args[1])) == 4);
    EXPECT_EQ_INT(c.frame_count, 3);
    dync_module_train(m, true);
    EXPECT(dync_item(dync_sum(dync_abs(dync_call(f, m, args[1])), DYNC_ALL, false)) == 0);
    dync_module_free(m);
    dync_module_free(other);
}

/* ---- out ------------------------------------------------------------------------------------- */
static dync_value nested_out(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_mul(x, 2);
    return dync_tuple(dync_tuple(y, dync_tuple(1, 2.5, "text"), DYNC_NONE), x, y,
                      dync_tuple_of(0, NULL), DYNC_TRUE, (void *)&backends, a[1]);
}
TEST(nested_results)
{
    dync_tensor *x = dync_ones(dync_shape(3));
    dync_module *m = dync_nn_relu();
    dync_value args[2] = {DYNC_V(x), DYNC_V(m)};
    EXPECT_EQ_INT(runs(nested_out, true, 2, args), 1);
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(nested_out, .backend = backends[b]);
        for (int i = 0; i < 2; i++) {
            dync_value r = dync_call_values(f, 2, args);
            /* an input comes back as itself */
            EXPECT(dync_as_tensor(dync_at(r, 1)) == x);
            /* one value twice is one tensor */
            EXPECT(dync_as_tensor(dync_at(dync_at(r, 0), 0)) == dync_as_tensor(dync_at(r, 2)));
        }
    }
    dync_module_free(m);
}
static dync_value only_numbers(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_size(dync_as_tensor(a[0]), 0), dync_ndim(dync_as_tensor(a[0])) * 0.5,
                      "none");
}
static dync_value nothing_out(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_mul_(dync_as_tensor(a[0]), -1);
    return DYNC_NONE;
}
static dync_value identity(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return a[0];
}
TEST(results_without_tensors)
{
    dync_value x = DYNC_V(dync_ones(dync_shape(4)));
    /* an empty graph does not reach the backend */
    EXPECT_EQ_INT(runs(only_numbers, true, 1, &x), 0);
    EXPECT_EQ_INT(runs(nothing_out, true, 1, &x), 1);
    EXPECT_EQ_INT(runs(identity, true, 1, &x), 0);
    dync_compiled *f = dync_compile(nothing_out);
    dync_tensor *y = dync_ones(dync_shape(2));
    for (int i = 0; i < 3; i++) {
        dync_call_value(f, y);
        EXPECT_NEAR(dync_item(dync_select(y, 0, 0)), i % 2 ? 1 : -1, 0);
    }
}
static dync_value same_twice(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_as_tensor(a[1]);
    dync_add_(x, 1);
    return DYNC_V(dync_mul(x, y));
}
TEST(the_same_tensor_twice)
{
    char reason[512] = "";
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(same_twice, .args = "a, b", .backend = backends[b],
                                        .guard_fail = keep_reason, .guard_fail_user = reason);
        for (int i = 0; i < 6; i++) {
            dync_tensor *x = dync_full(dync_shape(2), i), *p = dync_full(dync_shape(2), i),
                        *y = dync_ones(dync_shape(2));
            bool twice = i % 2;
            dync_value eager[2] = {DYNC_V(p), twice ? DYNC_V(p) : DYNC_V(y)};
            EXPECT(same(dync_call(f, x, twice ? x : y), dync_as_tensor(same_twice(eager, 2, NULL)),
                        1e-6));
            EXPECT(same(x, p, 0));
        }
        EXPECT_EQ_STR(reason, "Duplicate tensors found: [\"L['a']\", \"L['b']\"]");
    }
}

/* ---- control flow inside --------------------------------------------------------------------- */
static dync_value early(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]);
    DYNC_SCOPE {
        if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 100)))
            return DYNC_V(dync_escape(dync_mul(x, 2)));
        DYNC_SCOPE {
            dync_tensor *y = dync_sin(x);
            if (dync_bool(dync_lt(dync_sum(y, DYNC_ALL, false), 0))) return DYNC_V(7);
        }
    }
    return DYNC_V(dync_add(x, 1));
}
static dync_value until_small(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]);
    int steps = 0;
    while (dync_bool(dync_gt(dync_amax(x, DYNC_ALL, false), 1))) {
        x = dync_mul(x, 0.5);
        steps++;
    }
    return dync_tuple(x, steps);
}
static dync_value counted(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]);
    int64_t k = (int64_t)dync_item(dync_to_dtype(dync_amax(x, DYNC_ALL, false), DYNC_I64));
    for (int64_t i = 0; i < k; i++) DYNC_SCOPE {
        x = dync_escape(dync_add(dync_sin(x), 0.5));
    }
    return DYNC_V(x);
}
TEST(early_returns_and_loops)
{
    static const double starts[] = {3, 50, -1, 0.25, 9, 4, 200};
    const dync_function fns[] = {early, until_small, counted};
    for (int k = 0; k < 3; k++)
        for (int b = 0; b < 3; b++) {
            dync_compiled *f = dync_compile(fns[k], .backend = backends[b]);
            for (int round = 0; round < 3; round++)
                for (int i = 0; i < (k == 2 ? 6 : 7); i++) {
                    dync_value x =
                        DYNC_V(dync_full(dync_shape(3), k == 2 && starts[i] > 9 ? 2 : starts[i]));
                    if (!EXPECT(equal_values(dync_call_value(f, x), fns[k](&x, 1, NULL))))
                        printf("    function %d from %g on %s\n", k, starts[i], backends[b]);
                }
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
            dync_compiled_free(f);
        }
}

/* ---- references ------------------------------------------------------------------------------ */
static dync_value breaks(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *y = dync_mul(a[0], 2);
    dync_graph_break("here");
    return DYNC_V(dync_add(y, a[0]));
}
TEST(arguments_are_not_kept)
{
    const dync_function fns[] = {identity, breaks, early};
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = dync_compile(fns[k]);
        for (int i = 0; i < 3; i++) DYNC_SCOPE {
            dync_call_value(f, dync_ones(dync_shape(100, 100)));
        }
        int64_t live = dync_memory_stats().live_tensors, bytes = dync_memory_stats().live_bytes;
        DYNC_SCOPE {
            dync_call_value(f, dync_ones(dync_shape(100, 100)));
        }
        EXPECT_EQ_INT(dync_memory_stats().live_tensors, live);
        EXPECT(dync_memory_stats().live_bytes <= bytes);
        dync_compiled_free(f);
    }
}

/* ---- a value that one way through the function does not need, and another one does after a
 * write */
static dync_value written_after(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_sin(x);
    if (dync_bool(dync_lt(dync_sum(x, DYNC_ALL, false), 0))) return DYNC_V(dync_mul(x, 1));
    dync_add_(x, 1);
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 1000))) return DYNC_V(dync_mul(x, 2));
    return DYNC_V(dync_add(y, x));
}
static dync_value written_opaquely(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_sin(x);
    if (dync_bool(dync_lt(dync_sum(x, DYNC_ALL, false), 0))) return DYNC_V(dync_mul(x, 1));
    ((float *)dync_data(x))[0] += 1;
    return DYNC_V(dync_add(y, x));
}
static dync_value written_on_the_known_way(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_sin(x);
    if (dync_bool(dync_lt(dync_sum(x, DYNC_ALL, false), -1000))) return DYNC_V(y);
    dync_add_(x, 1);
    if (dync_bool(dync_lt(dync_sum(x, DYNC_ALL, false), 0))) return DYNC_V(dync_mul(x, 2));
    return DYNC_V(dync_add(y, x));
}
TEST(values_dropped_and_wanted_again)
{
    const dync_function fns[] = {written_after, written_opaquely, written_on_the_known_way};
    for (int k = 0; k < 3; k++)
        for (int b = 0; b < 3; b++) {
            dync_compiled *f = dync_compile(fns[k], .backend = backends[b]);
            for (int i = 0; i < 6; i++) {
                dync_tensor *x = dync_full(dync_shape(3), i % 2 ? 2 : -2);
                dync_value y = DYNC_V(dync_clone(x));
                if (!EXPECT(equal_values(dync_call_value(f, x), fns[k](&y, 1, NULL))))
                    printf("    function %d, call %d on %s\n", k, i, backends[b]);
                EXPECT(same(x, dync_as_tensor(y), 0));
            }
            dync_compiled_free(f);
        }
}
/* What is computed twice in the function may be computed once, but two results are two arrays. */
static dync_value equal_results(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]);
    (void)n, (void)user;
    return dync_tuple(dync_layer_norm(x, dync_shape(2), NULL, NULL, 1e-5),
                      dync_layer_norm(x, dync_shape(2), NULL, NULL, 1e-5), dync_exp(x), dync_exp(x),
                      dync_pad(x, dync_shape(-1, 0), 0), x);
}
TEST(equal_results_are_apart)
{
    static const double want[6] = {9, -1, 11, 1, 10, 0};
    dync_compiled *f = dync_compile(equal_results);
    for (int call = 0; call < 2; call++) {
        dync_tensor *x = dync_from(((float[]){0, 2e9f}), dync_shape(1, 2));
        dync_value v = dync_call_value(f, x);
        dync_fill_(dync_as_tensor(dync_at(v, 4)), 0);
        for (int i = 0; i < 6; i += 2) dync_add_(dync_as_tensor(dync_at(v, i)), 10);
        for (int i = 0; i < 6; i++)
            EXPECT_NEAR(
                dync_item(dync_select(dync_select(dync_as_tensor(dync_at(v, i)), 0, 0), 0, 0)),
                want[i], 1e-5);
        EXPECT_NEAR(dync_item(dync_select(dync_select(x, 0, 0), 0, 1)), 2e9, 0);
    }
    dync_compiled_free(f);
}

TEST_MAIN
