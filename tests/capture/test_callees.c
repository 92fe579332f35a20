/* Functions called inside traced ones: disabled, allowed in the graph, assumed constant, compiled,
 * recursive; and what is kept in variables that outlive the call. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
static int ran;
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

typedef dync_tensor *(*fn1)(dync_tensor *);
/* Three calls on each backend equal the plain function; gives the graphs that the counting backend
 * saw for the last one. */
static counter calls(fn1 fn, bool fullgraph)
{
    counter c = {0};
    for (int b = 0; b < 3; b++) {
        c = (counter){.inner = backends[b]};
        dync_backend counting = COUNTER(c);
        dync_compiled *f =
            dync_compile(fn, .args = "x", .backend_object = &counting, .fullgraph = fullgraph);
        for (int i = 0; i < 3; i++) {
            dync_tensor *x = dync_requires_grad_(dync_randn(dync_shape(3, 4)), true),
                        *y = dync_requires_grad_(dync_clone(dync_detach(x)), true);
            dync_tensor *want = fn(x), *got = dync_call(f, y);
            if (!EXPECT(want && got)) return c;
            EXPECT(same(dync_detach(want), dync_detach(got), 1e-5));
            EXPECT_EQ_INT(dync_requires_grad(want), dync_requires_grad(got));
            if (!dync_requires_grad(want)) continue;
            EXPECT_OK(dync_backward(dync_sum(dync_mul(want, want), DYNC_ALL, false)));
            EXPECT_OK(dync_backward(dync_sum(dync_mul(got, got), DYNC_ALL, false)));
            EXPECT((dync_grad(x) != NULL) == (dync_grad(y) != NULL));
            EXPECT(!dync_grad(x) || same(dync_grad(x), dync_grad(y), 1e-4));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    return c;
}

/* ---- disabled -------------------------------------------------------------------------------- */
static dync_tensor *plain(dync_tensor *x)
{
    ran++;
    return dync_mul(dync_sin(x), 2);
}
static dync_tensor *around_disabled(dync_tensor *x)
{
    return dync_cos(dync_frame(dync_disable(plain), dync_add(x, 1)));
}
TEST(disabled)
{
    ran = 0;
    EXPECT_EQ_INT(calls(around_disabled, false).frame_count, 2);
    EXPECT_EQ_INT(ran, 18); /* plain and compiled, in every call */
    dync_compiled *f = dync_compile(dync_disable(plain));
    dync_tensor *x = dync_ones(dync_shape(2));
    int64_t graphs = dync_get_counters().graphs;
    ran = 0;
    for (int i = 0; i < 3; i++) EXPECT(same(dync_call(f, x), plain(x), 0));
    EXPECT_EQ_INT(ran, 6);
    EXPECT_EQ_INT(dync_get_counters().graphs, graphs);
}
static dync_compiled *inner;
static dync_tensor *around_compiled(dync_tensor *x)
{
    return dync_cos(dync_call(inner, dync_add(x, 1)));
}
static dync_tensor *around_compiled_frame(dync_tensor *x)
{
    return dync_cos(dync_frame(inner, dync_add(x, 1)));
}
static dync_tensor *around_disabled_compiled(dync_tensor *x)
{
    return dync_cos(dync_frame(dync_disable(inner), dync_add(x, 1)));
}
TEST(compiled_in_compiled)
{
    inner = dync_compile(plain, .fullgraph = true);
    EXPECT_EQ_INT(calls(around_compiled, true).frame_count, 1);
    EXPECT_EQ_INT(calls(around_compiled_frame, true).frame_count, 1);
    EXPECT_EQ_INT(calls(around_disabled_compiled, false).frame_count, 2);
    inner = dync_compile(dync_disable(plain));
    EXPECT_EQ_INT(calls(around_compiled, false).frame_count, 2);
}
static dync_tensor *fact(dync_tensor *x, dync_tensor *n)
{
    return dync_size(n, 0) == 1
               ? x
               : dync_mul(dync_frame(fact, x, dync_slice(n, 0, 1, DYNC_END, 1)), 2);
}
static dync_tensor *recursive(dync_tensor *x)
{
    return dync_frame(fact, x, dync_ones(dync_shape(6)));
}
TEST(recursion) { EXPECT_EQ_INT(calls(recursive, true).frame_count, 1); }

/* ---- allowed --------------------------------------------------------------------------------- */
static dync_tensor *around_allowed(dync_tensor *x)
{
    return dync_cos(dync_frame(dync_allow_in_graph(plain), dync_add(x, 1)));
}
static dync_value two(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(args[0]);
    return dync_tuple(dync_mul(x, dync_as_int(args[1])), dync_sum(x, DYNC_ALL, false));
}
static dync_tensor *around_two(dync_tensor *x)
{
    dync_value args[2] = {DYNC_V(x), DYNC_V(3)};
    dync_value r = dync_frame_values(dync_allow_in_graph(two), "two", 2, args);
    return dync_add(dync_as_tensor(dync_at(r, 0)), dync_as_tensor(dync_at(r, 1)));
}
static dync_tensor *reads(dync_tensor *x)
{
    return dync_mul(x, dync_item(dync_sum(x, DYNC_ALL, false)));
}
static dync_tensor *around_reads(dync_tensor *x)
{
    return dync_frame(dync_allow_in_graph(reads), x);
}
TEST(allowed)
{
    counter c = calls(around_allowed, true);
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT_EQ_INT(c.op_count, 3);
    c = calls(around_two, true);
    EXPECT_EQ_INT(c.frame_count, 1);
    dync_compiled *f = dync_compile(around_allowed, .backend = "eager");
    dync_explain_output e = dync_explain(around_allowed, dync_ones(dync_shape(2)));
    EXPECT(e.graph_count == 1 && strstr(e.graphs[0], "plain"));
    dync_compiled_free(f);
    dync_on_error(quiet, NULL);
    EXPECT(dync_call(dync_compile(around_reads), dync_ones(dync_shape(2))) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_UNSUPPORTED);
    EXPECT(strstr(dync_error_message(), "dync_allow_in_graph(reads)") != NULL);
    EXPECT(strstr(dync_error_message(), "dync_disable") != NULL);
}

TEST(allowed_functions_cannot_be_in_files)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_compiled *f = dync_compile(around_allowed, .backend = "ts");
    dync_program *p = dync_export(around_allowed, x);
    dync_on_error(quiet, NULL);
    EXPECT_EQ_INT(dync_program_save(p, "allowed.dync"), DYNC_ERR_UNSUPPORTED);
    EXPECT_HAS_STR(dync_error_message(), "a file cannot hold plain, a function of the program");
    EXPECT_HAS_STR(dync_error_message(), "dync_op_register");
    dync_clear_error();
    EXPECT(dync_call(f, x) == NULL);
    EXPECT_EQ_STR(dync_error_class(), "BackendCompilerFailed");
    EXPECT_HAS_STR(dync_error_message(), "a file cannot hold plain");
    dync_clear_error();
    dync_program_free(p);
    dync_compiled_free(f);
}

/* ---- constant -------------------------------------------------------------------------------- */
static dync_tensor *table(void)
{
    ran++;
    return dync_mul(dync_ones(dync_shape(4)), ran);
}
static dync_tensor *around_constant(dync_tensor *x)
{
    return dync_mul(x, dync_frame_values(dync_assume_constant_result(table), "table", 0, NULL));
}
static dync_value number(const dync_value *args, int n, void *user)
{
    (void)args, (void)n, (void)user;
    return DYNC_V(++ran);
}
static dync_tensor *around_number(dync_tensor *x)
{
    dync_value k = dync_frame_values(dync_assume_constant_result(number), "number", 0, NULL);
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0))) return dync_add(x, k);
    dync_graph_break("opaque");
    return dync_sub(
        x, dync_add(dync_frame_values(dync_assume_constant_result(number), "number", 0, NULL), k));
}
TEST(constant)
{
    ran = 0;
    dync_tensor *x = dync_ones(dync_shape(4));
    dync_compiled *f = dync_compile(around_constant);
    for (int i = 0; i < 3; i++) EXPECT(same(dync_call(f, x), x, 0));
    EXPECT_EQ_INT(ran, 1);
    EXPECT(same(dync_call(f, dync_ones(dync_shape(2, 4))), dync_mul(dync_ones(dync_shape(2, 4)), 2),
                0));
    EXPECT_EQ_INT(ran, 2); /* another entry asks again */
    ran = 0;
    f = dync_compile(around_number, .backend = "eager");
    for (int i = 0; i < 6; i++) {
        dync_tensor *y = dync_call(f, i & 1 ? x : dync_neg(x));
        REQUIRE(y != NULL);
    }
    EXPECT_EQ_INT(ran, 2);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* ---- variables that outlive the call --------------------------------------------------------- */
static dync_tensor *kept;
static dync_tensor *keeps(dync_tensor *x)
{
    kept = dync_retain(dync_mul(x, 2));
    return dync_add(x, 1);
}
static dync_tensor *keeps_bare(dync_tensor *x)
{
    kept = dync_mul(x, 2);
    return dync_add(x, 1);
}
static dync_tensor *uses_kept(dync_tensor *x) { return dync_add(x, kept); }
TEST(kept_in_a_static)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_on_error(quiet, NULL);
    const fn1 fns[] = {keeps, keeps_bare};
    for (int i = 0; i < 2; i++) {
        const char *said =
            i ? "tensor used after its scope ended: made by mul at "
              : "made while another call was traced and kept in a variable (made by mul)";
        EXPECT(dync_call(dync_compile(fns[i]), x) != NULL);
        dync_clear_error();
        EXPECT(dync_add(kept, 1) == NULL && strstr(dync_error_message(), said));
        dync_clear_error();
        EXPECT(dync_call(dync_compile(uses_kept), x) == NULL && strstr(dync_error_message(), said));
        dync_clear_error();
        EXPECT(dync_call(dync_compile(plain), kept) == NULL && strstr(dync_error_message(), said));
        dync_clear_error();
        EXPECT(dync_data(kept) == NULL && strstr(dync_error_message(), said));
        dync_clear_error();
    }
}
TEST_MAIN
