/* Guards, recompiles and branches: rows and the texts of the conformance list's section 9. */
#include "counter.h"

/* ---- A-08 ---------------------------------------------------------------------------------------------------------- */
static dync_tensor *bad(dync_tensor *param, dync_tensor *y)
{
    if (dync_bool(dync_lt(dync_select(dync_select(y, 0, 0), 0, 0), 3))) return dync_add(y, param);
    return dync_mul(param, y);
}
static dync_tensor *forward_bad(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_mul(x, y);
    a = dync_frame(bad, a, a);
    return dync_mul(a, dync_add(x, y));
}
TEST(A_08_control_flow_in_a_frame)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_tensor *x = dync_ones(dync_shape(2, 2)), *y = dync_full(dync_shape(2, 2), 2.0), *z = dync_full(dync_shape(2, 2), 5.0);
    dync_compiled *f = dync_compile(forward_bad, .args = "x, y", .backend_object = &b);
    EXPECT(same(forward_bad(x, y), dync_call(f, x, y), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 4);
    EXPECT_EQ_INT(c.op_count, 7);
    EXPECT(same(forward_bad(x, y), dync_call(f, x, y), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 4);
    EXPECT(same(forward_bad(x, z), dync_call(f, x, z), 1e-5));       /* the other branch: one frame more, segments are interned */
    EXPECT_EQ_INT(c.frame_count, 5);
    EXPECT(same(forward_bad(x, z), dync_call(f, x, z), 1e-5));
    EXPECT(same(forward_bad(x, y), dync_call(f, x, y), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 5);
    dync_compiled_free(f);
}

/* ---- A-09 -------------------------------------------------------------------------------------------------------------- */
static dync_tensor *add2(dync_tensor *x, dync_tensor *y) { return dync_add(x, y); }
TEST(A_09_requires_grad_recompiles)
{
    char reason[512] = "";
    counter c = {.inner = "aot_eager"};
    dync_backend b = COUNTER(c);
    dync_tensor *x = dync_randn(dync_shape(3, 3), .requires_grad = true), *y = dync_randn(dync_shape(3, 3), .requires_grad = true);
    dync_tensor *z = dync_randn(dync_shape(3, 3));
    dync_compiled *f = dync_compile(add2, .args = "x, y", .backend_object = &b, .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_call(f, x, y);
    dync_call(f, x, z);
    EXPECT(strstr(reason, "tensor 'L['y']' requires_grad mismatch. expected requires_grad=1"));
    EXPECT_EQ_INT(c.frame_count, 2);
    dync_compiled_free(f);
    reason[0] = 0;
    counter d = {.inner = "aot_eager"};
    dync_backend e = COUNTER(d);
    f = dync_compile(add2, .args = "x, y", .backend_object = &e, .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_call(f, x, z);
    dync_call(f, x, z);
    EXPECT_EQ_INT(d.frame_count, 1);
    EXPECT_EQ_STR(reason, "");
    dync_compiled_free(f);
}

/* ---- A-11, A-16 ----------------------------------------------------------------------------------------------------------- */
static dync_tensor *trunc2(dync_tensor *x, dync_tensor *y)
{
    dync_trunc_(x);
    dync_trunc_(y);
    return dync_add(x, y);
}
static dync_tensor *trunc4(dync_tensor *a, dync_tensor *b, dync_tensor *c, dync_tensor *d)
{
    dync_trunc_(a), dync_trunc_(b), dync_trunc_(c), dync_trunc_(d);
    return dync_add(dync_add(dync_add(a, b), c), d);
}
#define CLONE(t) dync_mul(dync_clone(t), 3.0)

TEST(A_11_arg_dupe_recompiles)
{
    static const char *const backends[] = {NULL, "aot_eager", "inductor"};
    for (int i = 0; i < 3; i++) {
        char reason[512] = "";
        counter c = {.inner = backends[i]};
        dync_backend b = COUNTER(c);
        dync_tensor *x = dync_randn(dync_shape(3, 3)), *y = dync_randn(dync_shape(3, 3));
        dync_compiled *f = dync_compile(trunc2, .args = "x, y", .backend_object = &b, .guard_fail = keep_reason, .guard_fail_user = reason);
        EXPECT(same(trunc2(CLONE(x), CLONE(y)), dync_call(f, CLONE(x), CLONE(y)), 1e-6));
        EXPECT(same(trunc2(CLONE(x), CLONE(y)), dync_call(f, CLONE(x), CLONE(y)), 1e-6));
        EXPECT_EQ_INT(c.frame_count, 1);
        EXPECT_EQ_STR(reason, "");
        dync_compiled_free(f);
        counter d = {.inner = backends[i]};
        dync_backend e = COUNTER(d);
        f = dync_compile(trunc2, .args = "x, y", .backend_object = &e, .guard_fail = keep_reason, .guard_fail_user = reason);
        dync_tensor *x3 = CLONE(x), *x3b = CLONE(x), *x4 = CLONE(x), *y4 = CLONE(y);
        EXPECT(same(trunc2(x3b, x3b), dync_call(f, x3, x3), 1e-6));
        EXPECT(same(x3, x3b, 1e-6));                                /* the argument is written */
        EXPECT(same(trunc2(CLONE(x), CLONE(y)), dync_call(f, x4, y4), 1e-6));
        EXPECT_EQ_INT(d.frame_count, 2);
        EXPECT(strstr(reason, "L['x'] is L['y']"));
        dync_compiled_free(f);
    }
}
TEST(A_16_arg_dupe_many_args)
{
    char reason[512] = "";
    dync_tensor *x = dync_randn(dync_shape(3, 3)), *y = dync_randn(dync_shape(3, 3)), *z = dync_randn(dync_shape(3, 3));
    counter c = {.inner = "aot_eager"};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(trunc4, .args = "a, b, c, d", .backend_object = &b, .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_tensor *a1 = CLONE(x), *b2 = CLONE(y);
    dync_call(f, a1, a1, a1, a1);
    dync_call(f, CLONE(x), b2, b2, b2);
    EXPECT_EQ_INT(c.frame_count, 2);
    EXPECT(strstr(reason, "L['a'] is L['b']"));
    dync_reset();
    dync_tensor *c3 = CLONE(z);
    dync_call(f, CLONE(x), CLONE(y), c3, c3);
    dync_call(f, CLONE(x), CLONE(y), CLONE(z), CLONE(x));
    EXPECT_EQ_INT(c.frame_count, 4);
    EXPECT(strstr(reason, "L['c'] is L['d']"));
    dync_compiled_free(f);
}

/* ---- modules, numbers and lists ------------------------------------------------------------------------------------ */
static dync_value mean_forward(dync_module *self, const dync_value *a, int n)
{
    (void)n;
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_as_tensor(a[1]);
    dync_trunc_(x), dync_trunc_(y);
    return DYNC_V(dync_mul(dync_mul(dync_add(dync_add(x, y), dync_module_param(self, "mean")), a[2]), a[3]));
}
static dync_value list_forward(dync_module *self, const dync_value *a, int n)
{
    dync_value flat[4] = {a[2], a[3], dync_at(a[0], 0), dync_at(a[1], 0)};
    return mean_forward(self, flat, n);
}
static void dupes_through_module(dync_forward_values forward, const char *args, dync_value e, dync_value g, bool numbers_first)
{
    char reason[512] = "";
    counter c = {.inner = "aot_eager"};
    dync_backend b = COUNTER(c);
    dync_module *m = dync_module_new_values("Net", forward, args, NULL);
    dync_module_set_param(m, "mean", dync_randn(dync_shape(3, 3)));
    dync_compiled *f = dync_compile(m, .backend_object = &b, .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_tensor *x = CLONE(dync_randn(dync_shape(3, 3))), *y = CLONE(dync_randn(dync_shape(3, 3)));
    for (int twice = 0; twice < 2; twice++) {
        dync_tensor *p = dync_clone(x), *q = dync_clone(x), *r = twice ? dync_clone(y) : p, *s = twice ? dync_clone(y) : q;
        dync_value got[4] = {DYNC_V(p), DYNC_V(r), e, g}, want[4] = {DYNC_V(q), DYNC_V(s), e, g};
        if (numbers_first) {
            dync_value t[4] = {e, g, DYNC_V(p), DYNC_V(r)}, u[4] = {e, g, DYNC_V(q), DYNC_V(s)};
            memcpy(got, t, sizeof t), memcpy(want, u, sizeof u);
        }
        EXPECT(same(dync_as_tensor(forward(m, want, 4)), dync_as_tensor(dync_call_values(f, 4, got)), 1e-5));
    }
    EXPECT_EQ_INT(c.frame_count, 2);
    EXPECT(strstr(reason, "L['a'] is L['b']"));
    dync_compiled_free(f);
    dync_module_free(m);
}
TEST(A_12_dupe_with_numbers) { dupes_through_module(mean_forward, "a, b, e, f", DYNC_V(2), DYNC_V(2), false); }
TEST(A_14_dupe_with_lists)
{
    dupes_through_module(list_forward, "e, f, a, b", dync_tuple(3, 2, 1), dync_tuple(4, 5, 6), true);
}

/* ---- texts ---------------------------------------------------------------------------------------------------------------------- */
static dync_tensor *twice_it(dync_tensor *x) { return dync_mul(x, 2); }
static const char *reason_of(dync_tensor *first, dync_tensor *second)
{
    static char reason[512];
    reason[0] = 0;
    dync_compiled *f = dync_compile(twice_it, .args = "x", .backend = "eager", .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_call(f, first);
    dync_call(f, second);
    dync_compiled_free(f);
    return reason;
}
TEST(guard_texts)
{
    dync_tensor *a = dync_randn(dync_shape(3, 4));
    EXPECT_EQ_STR(reason_of(a, dync_randn(dync_shape(2, 4))), "tensor 'L['x']' size mismatch at index 0. expected 3, actual 2");
    EXPECT_EQ_STR(reason_of(a, dync_randn(dync_shape(3))), "tensor 'L['x']' rank mismatch. expected 2, actual 1");
    EXPECT_EQ_STR(reason_of(a, dync_to_dtype(a, DYNC_F16)), "tensor 'L['x']' dtype mismatch. expected Float, actual Half");
    EXPECT_EQ_STR(reason_of(a, dync_transpose(dync_randn(dync_shape(4, 3)), 0, 1)),
                  "tensor 'L['x']' stride mismatch at index 0. expected 4, actual 1");
    EXPECT_EQ_STR(reason_of(a, dync_randn(dync_shape(3, 4), .requires_grad = true)),
                  "tensor 'L['x']' requires_grad mismatch. expected requires_grad=0");
}
TEST(grad_mode_is_guarded)
{
    char reason[512] = "";
    dync_compiled *f = dync_compile(twice_it, .args = "x", .backend = "eager", .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_tensor *x = dync_randn(dync_shape(3));
    dync_call(f, x);
    DYNC_NO_GRAD { dync_call(f, x); }
    EXPECT_EQ_STR(reason, "GLOBAL_STATE changed: grad_mode ");
    dync_compiled_free(f);
}

/* ---- limits ------------------------------------------------------------------------------------------------------------------------ */
TEST(recompile_limit_falls_back_to_eager)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(twice_it, .args = "x", .backend_object = &b, .dynamic = DYNC_DYNAMIC_OFF);
    for (int n = 2; n < 20; n++) {
        dync_tensor *x = dync_randn(dync_shape(n));
        EXPECT(same(twice_it(x), dync_call(f, x), 1e-6));
    }
    EXPECT_EQ_INT(c.frame_count, 8);
    dync_compiled_free(f);
    f = dync_compile(twice_it, .args = "x", .backend_object = &b, .fullgraph = true, .recompile_limit = 2, .dynamic = DYNC_DYNAMIC_OFF);
    dync_call(f, dync_randn(dync_shape(2))), dync_call(f, dync_randn(dync_shape(3)));
    EXPECT(dync_call(f, dync_randn(dync_shape(4))) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_RECOMPILE_LIMIT);
    EXPECT(strstr(dync_error_message(), "cache_size_limit reached"));
    dync_clear_error();
    dync_compiled_free(f);
}
TEST(error_on_recompile)
{
    dync_compiled *f = dync_compile(twice_it, .args = "x", .backend = "eager", .error_on_recompile = true);
    dync_tensor *x = dync_randn(dync_shape(3));
    dync_call(f, x), dync_call(f, x);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    EXPECT(dync_call(f, dync_to_dtype(x, DYNC_F64)) == NULL);
    EXPECT_EQ_STR(dync_error_class(), "RecompileError");
    dync_clear_error();
    EXPECT(dync_call(f, x) != NULL);
    dync_compiled_free(f);
}

/* ---- branches, breaks ------------------------------------------------------------------------------------------------------------------ */
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
    for (int i = 0; i < 5 && dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 1)); i++) x = dync_mul(x, 0.5);
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

static dync_tensor *a17(void)
{
    dync_tensor *a = dync_slice(dync_ones(dync_shape(1), .dtype = DYNC_I64), 0, 0, 1, 1), *b = dync_squeeze(a, 0);
    dync_fill_(dync_select(a, 0, 0), 0);
    if (dync_bool(dync_lt(dync_select(a, 0, 0), 1e5))) {
    }
    dync_fill_(dync_select(a, 0, 0), 2);
    return b;
}
TEST(A_17_alias_inputs)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int i = 0; i < 3; i++) {
        dync_compiled *f = dync_compile(a17, .backend = backends[i]);
        for (int k = 0; k < 3; k++) {
            dync_tensor *r = dync_call0(f);
            EXPECT_EQ_INT(dync_ndim(r), 0);
            EXPECT_EQ_INT(dync_type(r), DYNC_I64);
            EXPECT(dync_item(r) == 2);
        }
        dync_compiled_free(f);
    }
}

/* ---- what a function closes over ------------------------------------------------------------------------------------------------------- */
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
    DYNC_SCOPE { global_weight = dync_retain(dync_full(dync_shape(3), 2.0)); }
    dync_compiled *f = dync_compile(uses_global, .args = "x");
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 2.0), 0));
    DYNC_SCOPE { dync_mul_(global_weight, 3); }
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 6.0), 0));   /* written in place: the new values are read */
    dync_release(global_weight);
    DYNC_SCOPE { global_weight = dync_retain(dync_full(dync_shape(3), 5.0)); }
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 5.0), 0));   /* died: captured anew */
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
