/* dync_constant inside a compiled function: a new tensor in every call, whoever writes it. */
#include "dync.h"
#include "test.h"

static const float one_to_three[] = {1, 2, 3};
static dync_tensor *numbers(void) { return dync_constant(one_to_three, dync_shape(3)); }

static dync_value returned(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *k = numbers();
    return dync_tuple(k, dync_mul(k, a[0]));
}
static dync_value viewed(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *k = numbers();
    return dync_tuple(dync_slice(k, 0, 1, 3, 1), dync_mul(k, a[0]));
}
static dync_value written(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *k = numbers(), *before = dync_mul(k, 2);
    dync_add_(dync_slice(k, 0, 1, 3, 1), 5);
    dync_mul_(k, a[0]);
    return dync_tuple(k, before, dync_sum(k, DYNC_ALL, false));
}
static dync_value behind_a_break(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *k = numbers(), *view = dync_select(k, 0, 1);
    dync_graph_break("here");
    dync_add_(view, 5);
    dync_graph_break("and here");
    return dync_tuple(dync_mul(k, a[0]), k);
}
static dync_value in_a_branch(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *k = numbers(), *x = dync_as_tensor(a[0]);
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0))) dync_mul_(k, 2);
    return dync_tuple(dync_add(k, x), k);
}
static dync_value only_read(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_mul(numbers(), a[0]));
}

static const dync_function functions[] = {returned,       viewed,      written,
                                          behind_a_break, in_a_branch, only_read};

static void expect_equal(dync_value got, dync_value want)
{
    int n = want.kind == DYNC_KIND_LIST ? dync_len(want) : 0;
    if (n == 0) EXPECT(dync_equal(dync_as_tensor(got), dync_as_tensor(want)));
    for (int i = 0; i < n; i++)
        EXPECT(dync_equal(dync_as_tensor(dync_at(got, i)), dync_as_tensor(dync_at(want, i))));
}
static void write_over(dync_value v)
{
    for (int i = 0; v.kind == DYNC_KIND_LIST && i < dync_len(v); i++)
        dync_mul_(dync_as_tensor(dync_at(v, i)), 10);
}

TEST(every_call_has_its_own)
{
    static const char *const backends[] = {"inductor", "aot_eager", "eager"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int b = 0; b < 3; b++) {
            dync_compiled *f = dync_compile_opt(DYNC_FN(functions[i]), "constants",
                                                (dync_compile_options){.backend = backends[b]});
            for (int call = 0; call < 6; call++) DYNC_SCOPE {
                dync_value x = DYNC_V(dync_full(dync_shape(3), call % 2 ? -2.0 : 3.0));
                dync_value got = dync_call_values(f, 1, &x);
                expect_equal(got, functions[i](&x, 1, NULL));
                write_over(got);
            }
            dync_compiled_free(f);
        }
}

TEST(every_run_of_a_program_has_its_own)
{
    for (size_t i = 0; i < 3; i++) DYNC_SCOPE {
        dync_value x = DYNC_V(dync_full(dync_shape(3), 3.0));
        dync_program *p = dync_export_values(dync_args(functions[i], "x"), "constants", 1, &x);
        for (int run = 0; run < 3; run++) {
            dync_value got = dync_program_run(p, 1, &x);
            expect_equal(got, functions[i](&x, 1, NULL));
            write_over(got);
        }
        dync_program_free(p);
    }
}

TEST(every_run_of_a_graph_has_its_own)
{
    static const dync_trace_mode modes[] = {DYNC_TRACE_REAL, DYNC_TRACE_FAKE, DYNC_TRACE_SYMBOLIC};
    for (size_t i = 0; i < 9; i++) DYNC_SCOPE {
        dync_value x = DYNC_V(dync_full(dync_shape(3), 3.0));
        dync_make_graph_mode(modes[i % 3]);
        dync_graph *g = dync_make_graph_values(DYNC_FN(functions[i / 3]), "constants", 1, &x);
        for (int run = 0; run < 3; run++) {
            dync_value got = dync_graph_run(g, &x, 1);
            expect_equal(got, functions[i / 3](&x, 1, NULL));
            write_over(got);
        }
    }
}

/* What is only read is not copied. */
static int clones;
static dync_status count(dync_graph *g, const dync_value *in, int n, const char *options,
                         dync_callable *out, void *user)
{
    (void)options, (void)user;
    for (int i = 0; i < dync_graph_len(g); i++)
        clones += strcmp(dync_node_target(dync_graph_node(g, i)), "clone") == 0;
    return dync_compile_graph("eager", g, in, n, out);
}
TEST(what_is_only_read_is_not_copied)
{
    const dync_backend counts = {.name = "counts", .compile = count};
    const dync_function some[] = {returned, viewed, written, only_read};
    for (int i = 0; i < 4; i++) {
        dync_compiled *f = dync_compile_opt(DYNC_FN(some[i]), "constants",
                                            (dync_compile_options){.backend_object = &counts});
        dync_value x = DYNC_V(dync_full(dync_shape(3), 3.0));
        clones = 0;
        dync_call_values(f, 1, &x);
        EXPECT_EQ_INT(clones, i < 3);
        dync_compiled_free(f);
    }
}
TEST_MAIN
