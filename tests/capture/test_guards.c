/* Guards, recompiles and branches: the texts of the conformance list's section 9. Rows A-08 to
 * tests/aot/test_rows_a_guards.c. */
#include "counter.h"

/* ---- texts ----------------------------------------------------------------------------------- */
static dync_tensor *twice_it(dync_tensor *x) { return dync_mul(x, 2); }
static const char *reason_of(dync_tensor *first, dync_tensor *second)
{
    static char reason[512];
    reason[0] = 0;
    dync_compiled *f = dync_compile(twice_it, .args = "x", .backend = "eager",
                                    .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_call(f, first);
    dync_call(f, second);
    dync_compiled_free(f);
    return reason;
}
TEST(guard_texts)
{
    dync_tensor *a = dync_randn(dync_shape(3, 4));
    EXPECT_EQ_STR(reason_of(a, dync_randn(dync_shape(2, 4))),
                  "tensor 'L['x']' size mismatch at index 0. expected 3, actual 2");
    EXPECT_EQ_STR(reason_of(a, dync_randn(dync_shape(3))),
                  "tensor 'L['x']' rank mismatch. expected 2, actual 1");
    EXPECT_EQ_STR(reason_of(a, dync_to_dtype(a, DYNC_F16)),
                  "tensor 'L['x']' dtype mismatch. expected Float, actual Half");
    EXPECT_EQ_STR(reason_of(a, dync_transpose(dync_randn(dync_shape(4, 3)), 0, 1)),
                  "tensor 'L['x']' stride mismatch at index 0. expected 4, actual 1");
    EXPECT_EQ_STR(reason_of(a, dync_randn(dync_shape(3, 4), .requires_grad = true)),
                  "tensor 'L['x']' requires_grad mismatch. expected requires_grad=0");
}
TEST(grad_mode_is_guarded)
{
    char reason[512] = "";
    dync_compiled *f = dync_compile(twice_it, .args = "x", .backend = "eager",
                                    .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_tensor *x = dync_randn(dync_shape(3));
    dync_call(f, x);
    DYNC_NO_GRAD {
        dync_call(f, x);
    }
    EXPECT_EQ_STR(reason, "GLOBAL_STATE changed: grad_mode ");
    dync_compiled_free(f);
}

/* ---- limits ---------------------------------------------------------------------------------- */
TEST(recompile_limit_falls_back_to_eager)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f =
        dync_compile(twice_it, .args = "x", .backend_object = &b, .dynamic = DYNC_DYNAMIC_OFF);
    for (int n = 2; n < 20; n++) {
        dync_tensor *x = dync_randn(dync_shape(n));
        EXPECT(same(twice_it(x), dync_call(f, x), 1e-6));
    }
    EXPECT_EQ_INT(c.frame_count, 8);
    dync_compiled_free(f);
    f = dync_compile(twice_it, .args = "x", .backend_object = &b, .fullgraph = true,
                     .recompile_limit = 2, .dynamic = DYNC_DYNAMIC_OFF);
    dync_call(f, dync_randn(dync_shape(2))), dync_call(f, dync_randn(dync_shape(3)));
    EXPECT(dync_call(f, dync_randn(dync_shape(4))) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_RECOMPILE_LIMIT);
    EXPECT_EQ_STR(dync_error_class(), "Unsupported");
    EXPECT(strstr(dync_error_message(), "cache_size_limit reached"));
    dync_clear_error();
    dync_compiled_free(f);
}
/* Which function it is, why the last guard failed, and what to do: as a warning once, and under
 * fullgraph behind upstream's text. */
enum { SCALED_BY = __LINE__ + 4 }; /* where its first operator stands */
static dync_value scaled_by(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_mul(dync_as_tensor(a[0]), dync_as_float(a[1])));
}
TEST(recompile_limit_names_function_and_reason)
{
    char want[1024], said[4096] = "";
    dync_compiled *f = dync_compile(scaled_by, .args = "x, alpha", .backend = "eager",
                                    .fullgraph = true, .recompile_limit = 2);
    dync_tensor *x = dync_ones(dync_shape(3));
    for (int i = 0; i < 3; i++) EXPECT((dync_call(f, x, i + 0.5) != NULL) == (i < 2));
    snprintf(
        want, sizeof want,
        "cache_size_limit reached\n   function: 'scaled_by' (%s:%d)\n   last reason: L['alpha'] "
        "== 0.5\n",
        __FILE__, SCALED_BY);
    EXPECT(strncmp(dync_error_message(), want, strlen(want)) == 0);
    EXPECT_HAS_STR(dync_error_message(), "name the number in .symbolic");
    EXPECT_HAS_STR(dync_error_message(), "or raise .recompile_limit, which is 2.");
    dync_clear_error();
    dync_compiled_free(f);
    REQUIRE(freopen("test_guards.log", "wb", stderr) != NULL);
    f = dync_compile(twice_it, .args = "x", .backend = "eager", .recompile_limit = 2,
                     .dynamic = DYNC_DYNAMIC_OFF);
    for (int i = 2; i < 6; i++) EXPECT(dync_call(f, dync_ones(dync_shape(i))) != NULL);
    dync_compiled_free(f);
    fflush(stderr);
    FILE *log = fopen("test_guards.log", "rb");
    REQUIRE(log != NULL);
    said[fread(said, 1, sizeof said - 1, log)] = 0;
    fclose(log);
    remove("test_guards.log");
    EXPECT_HAS_STR(said,
                   "torch._dynamo hit config.cache_size_limit (2)\n   function: 'twice_it' (");
    EXPECT_HAS_STR(
        said, "\n   last reason: tensor 'L['x']' size mismatch at index 0. expected 2, actual 4\n");
    EXPECT_HAS_STR(said, "leave .dynamic at its default");
    const char *first = strstr(said, "torch._dynamo hit");
    EXPECT(first && !strstr(first + 1, "torch._dynamo hit")); /* once */
}
TEST(error_on_recompile)
{
    dync_compiled *f =
        dync_compile(twice_it, .args = "x", .backend = "eager", .error_on_recompile = true);
    dync_tensor *x = dync_randn(dync_shape(3));
    dync_call(f, x), dync_call(f, x);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    EXPECT(dync_call(f, dync_to_dtype(x, DYNC_F64)) == NULL);
    EXPECT_EQ_STR(dync_error_class(), "RecompileError");
    dync_clear_error();
    EXPECT(dync_call(f, x) != NULL);
    dync_compiled_free(f);
}

/* ---- branches, breaks ------------------------------------------------------------------------ */
static int calls;
static dync_tensor *toy(dync_tensor *a, dync_tensor *b)
{
    calls++;
    dync_tensor *x = dync_div(a, dync_add(dync_abs(a), 1));
    if (dync_bool(dync_lt(dync_sum(b, DYNC_ALL, false), 0))) b = dync_mul(b, -1);
    return dync_mul(x, b);
}
TEST(known_outcomes_do_not_call_the_function)
{
    dync_compiled *f = dync_compile(toy, .args = "a, b");
    dync_tensor *a = dync_randn(dync_shape(10)), *p = dync_ones(dync_shape(10)), *n = dync_neg(p);
    dync_tensor *want_p = toy(a, p), *want_n = toy(a, n);
    calls = 0;
    EXPECT(same(want_p, dync_call(f, a, p), 1e-6));
    EXPECT_EQ_INT(calls, 1);
    EXPECT(same(want_n, dync_call(f, a, n), 1e-6));
    EXPECT_EQ_INT(calls, 2);
    for (int i = 0; i < 5; i++) {
        EXPECT(same(want_p, dync_call(f, a, p), 1e-6));
        EXPECT(same(want_n, dync_call(f, a, n), 1e-6));
    }
    EXPECT_EQ_INT(calls, 2);
    dync_compiled_free(f);
}

static dync_tensor *loop_until(dync_tensor *x)
{
    for (int i = 0; i < 5 && dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 1)); i++)
        x = dync_mul(x, 0.5);
    return dync_add(x, 1);
}
TEST(loops_on_values)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = dync_compile(loop_until, .args = "x", .backend = backends[k]);
        for (int i = 1; i < 40; i += 3) {
            dync_tensor *x = dync_full(dync_shape(3), (double)i);
            EXPECT(same(loop_until(x), dync_call(f, x), 1e-6));
        }
        dync_compiled_free(f);
    }
}

static dync_tensor *opaque(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x);
    double s = dync_item(dync_sum(dync_mul(a, y), DYNC_ALL, false));
    dync_tensor *b = dync_add(a, s);
    if (s > 0) b = dync_exp(b);
    return dync_mul(b, y);
}
TEST(opaque_item_runs_the_function_every_call)
{
    dync_compiled *f = dync_compile(opaque, .args = "x, y");
    for (int i = 0; i < 10; i++) {
        dync_tensor *x = dync_randn(dync_shape(4)), *y = dync_randn(dync_shape(4));
        EXPECT(same(opaque(x, y), dync_call(f, x, y), 1e-5));
    }
    dync_compiled_free(f);
}
TEST(fullgraph_refuses_breaks)
{
    dync_compiled *f = dync_compile(opaque, .args = "x, y", .fullgraph = true);
    dync_tensor *x = dync_randn(dync_shape(4));
    EXPECT(dync_call(f, x, x) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_UNSUPPORTED);
    EXPECT_EQ_STR(dync_error_class(), "Unsupported");
    EXPECT(strstr(dync_error_message(), "Tensor.item"));
    EXPECT(strstr(dync_error_message(), "test_guards.c"));
    dync_clear_error();
    dync_compiled_free(f);
}

static dync_tensor *wrong(dync_tensor *x) { return dync_matmul(x, dync_ones(dync_shape(5, 2))); }
TEST(errors_inside_cache_nothing)
{
    dync_compiled *f = dync_compile(wrong, .args = "x");
    EXPECT(dync_call(f, dync_randn(dync_shape(2, 3))) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_SHAPE);
    EXPECT(strstr(dync_error_message(), "matmul"));
    dync_clear_error();
    EXPECT(dync_call(f, dync_randn(dync_shape(2, 5))) != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}

/* ---- what a function closes over ------------------------------------------------------------- */
static dync_tensor *global_weight;
static dync_tensor *uses_global(dync_tensor *x) { return dync_mul(x, global_weight); }
static dync_tensor *rereads_global(dync_tensor *x)
{
    dync_guard_tensor("w", &global_weight);
    return dync_mul(x, global_weight);
}
TEST(foreign_tensors_are_held_weakly)
{
    dync_tensor *x = dync_ones(dync_shape(3));
    DYNC_SCOPE {
        global_weight = dync_retain(dync_full(dync_shape(3), 2.0));
    }
    dync_compiled *f = dync_compile(uses_global, .args = "x");
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 2.0), 0));
    DYNC_SCOPE {
        dync_mul_(global_weight, 3);
    }
    /* written in place: the new values are read */
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 6.0), 0));
    dync_release(global_weight);
    DYNC_SCOPE {
        global_weight = dync_retain(dync_full(dync_shape(3), 5.0));
    }
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 5.0), 0)); /* died: captured anew */
    dync_compiled_free(f);
    f = dync_compile(rereads_global, .args = "x");
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 5.0), 0));
    dync_tensor *before = global_weight;
    global_weight = dync_full(dync_shape(3), 7.0);
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 7.0), 0));
    dync_release(before);
    dync_compiled_free(f);
}
TEST_MAIN
