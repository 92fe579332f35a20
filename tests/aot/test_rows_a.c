/* Rows A of the conformance list: programs that write, alias and differentiate, through eager
 * graphs and AOT. */
#include "../capture/counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
#define EACH_BACKEND for (int b_ = 0; b_ < 3; b_++)
#define BACKEND backends[b_]

static dync_tensor *mutation(dync_tensor *param, dync_tensor *y)
{
    bool before = dync_is_grad_enabled();
    dync_set_grad_enabled(false);
    dync_add_(param, y);
    dync_set_grad_enabled(before);
    return y;
}
TEST(A_02_mutation_of_a_leaf_without_grad)
{
    EACH_BACKEND
    {
        dync_tensor *x = dync_parameter(dync_randn(dync_shape(4))), *y = dync_randn(dync_shape(4)),
                    *was = dync_clone(dync_detach(x));
        dync_compiled *f = dync_compile(mutation, .args = "param, y", .backend = BACKEND);
        EXPECT(dync_call(f, x, y) == y);
        EXPECT(same(dync_detach(x), dync_add(was, y), 1e-6));
        EXPECT(dync_is_grad_enabled());
        dync_call(f, x, y);
        EXPECT(same(dync_detach(x), dync_add(was, dync_mul(y, 2)), 1e-5));
        dync_compiled_free(f);
    }
}

static dync_tensor *mutation1(dync_tensor *s, dync_tensor *d)
{
    dync_tensor *g = dync_slice(dync_slice(d, 2, 0, 256, 1), 3, 0, 257, 1);
    dync_copy_(dync_slice(dync_slice(s, 1, 0, -1, 1), 3, 256, DYNC_END, 1), g);
    return dync_view(s, dync_shape(1, 12, 1024, 513));
}
static dync_tensor *mutation_fresh(dync_tensor *s, dync_tensor *d)
{
    return mutation1(dync_sin(s), d);
}
TEST(A_03_mutation1)
{
    dync_tensor *s0 = dync_randn(dync_shape(12, 4, 256, 513)),
                *d = dync_randn(dync_shape(12, 3, 512, 513));
    EACH_BACKEND DYNC_SCOPE
    {
        dync_tensor *s = dync_clone(s0), *s2 = dync_clone(s0);
        dync_compiled *f = dync_compile(mutation1, .args = "s, d", .backend = BACKEND);
        dync_tensor *want = mutation1(s2, d), *got = dync_call(f, s, d);
        EXPECT(dync_equal(want, got) && dync_equal(s, s2));
        got = dync_call(f, s, d);
        /* the result is a view of the argument */
        dync_fill_(dync_select(dync_view(s, dync_shape(-1)), 0, 5), 1.5);
        EXPECT_NEAR(dync_item(dync_select(dync_view(got, dync_shape(-1)), 0, 5)), 1.5, 0);
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}
TEST(A_04_negative_testing_mutation)
{
    dync_tensor *s = dync_randn(dync_shape(12, 4, 256, 513)),
                *d = dync_randn(dync_shape(12, 3, 512, 513)), *s0 = dync_clone(s),
                *d0 = dync_clone(d);
    dync_tensor *want = mutation_fresh(s, d);
    EACH_BACKEND DYNC_SCOPE
    {
        dync_compiled *f = dync_compile(mutation_fresh, .args = "s, d", .backend = BACKEND);
        EXPECT(same(want, dync_call(f, s, d), 1e-6));
        EXPECT(dync_equal(s, s0) && dync_equal(d, d0));
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}

static dync_tensor *sin_add(dync_tensor *x, dync_tensor *y) { return dync_add_(dync_sin(x), y); }
TEST(A_05_intermediate_written)
{
    EACH_BACKEND
    {
        dync_tensor *x = dync_randn(dync_shape(4)), *y = dync_randn(dync_shape(4)),
                    *x0 = dync_clone(x), *y0 = dync_clone(y);
        dync_compiled *f = dync_compile(sin_add, .args = "x, y", .backend = BACKEND);
        EXPECT(same(sin_add(x, y), dync_call(f, x, y), 1e-6));
        EXPECT(same(x, x0, 0) && same(y, y0, 0));
        dync_compiled_free(f);
    }
}

/* Where a gradient is differentiated again: inside the function, by its caller, by the caller who
 * took the gradient too, nowhere. */
/* grad_output: a tensor that requires grad, or none */
static dync_value seed_of_gradient;
static dync_tensor *exp_sin(dync_tensor *x) { return dync_exp(dync_sin(x)); }
static dync_tensor *gradient(dync_tensor *y, dync_tensor *x, bool create_graph)
{
    dync_value g = dync_gradients(DYNC_V(y), DYNC_V(x), seed_of_gradient,
                                  (dync_grad_options){.create_graph = create_graph});
    return dync_as_tensor(g.kind == DYNC_KIND_LIST ? dync_at(g, 0) : g);
}
static dync_tensor *second_gradient(dync_tensor *gx, dync_tensor *x)
{
    dync_value g = dync_gradients(DYNC_V(gx), DYNC_V(x), DYNC_NONE, (dync_grad_options){0});
    return dync_as_tensor(g.kind == DYNC_KIND_LIST ? dync_at(g, 0) : g);
}
static dync_tensor *f1(dync_tensor *x)
{
    dync_tensor *gx = gradient(exp_sin(x), x, true);
    second_gradient(gx, x);
    return gx;
}
static dync_tensor *f2(dync_tensor *x) { return gradient(exp_sin(x), x, true); }
static void double_backward_refused(void)
{
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_AUTOGRAD);
    EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
    EXPECT_HAS_STR(dync_error_message(),
                   "torch.compile with aot_autograd does not currently support double backward");
    dync_clear_error();
}
static void double_backward(dync_value seed)
{
    seed_of_gradient = seed;
    for (int b_ = 1; b_ < 3; b_++) {
        dync_tensor *x = dync_ones(DYNC_SCALAR, .requires_grad = true), *gx, *y;
        EXPECT_NEAR(dync_item(f1(x)), 1.2533808, 1e-6); /* eager can */
        EXPECT_OK(dync_error());
        dync_compiled *f = dync_compile(f1, .args = "x", .backend = BACKEND);
        EXPECT(dync_call(f, x) == NULL);
        double_backward_refused();
        dync_compiled_free(f);
        f = dync_compile(f2, .args = "x", .backend = BACKEND);
        gx = dync_call(f, x);
        EXPECT_NEAR(dync_item(gx), 1.2533808, 1e-6);
        EXPECT(second_gradient(gx, x) == NULL);
        double_backward_refused();
        dync_compiled_free(f);
        f = dync_compile(exp_sin, .args = "x", .backend = BACKEND);
        y = dync_call(f, x);
        EXPECT_NEAR(dync_item(y), 2.3197768, 1e-6);
        gx = gradient(y, x, true);
        EXPECT_NEAR(dync_item(gx), 1.2533808, 1e-6);
        EXPECT(second_gradient(gx, x) == NULL);
        double_backward_refused();
        EXPECT_NEAR(dync_item(gradient(dync_call(f, x), x, false)), 1.2533808, 1e-6);
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}
TEST(A_10_double_backward_errors)
{
    double_backward(DYNC_V(dync_full(DYNC_SCALAR, 1.0, .requires_grad = true)));
    double_backward(DYNC_NONE);
}

static dync_value fw(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n;
    dync_save_for_backward(c, dync_as_tensor(a[0]));
    return a[1];
}
static dync_value bw(dync_autograd_ctx *c, const dync_value *g, int n)
{
    (void)n;
    return dync_tuple(dync_saved(c, 0), dync_as_tensor(g[0]));
}
static const dync_autograd_function test_fn = {.name = "Test", .forward = fw, .backward = bw};
static dync_tensor *apply_test(dync_tensor *x, dync_tensor *y)
{
    return dync_as_tensor(dync_apply(&test_fn, x, y));
}
TEST(A_18_gradients_alias_inputs)
{
    EACH_BACKEND
    {
        dync_tensor *x = dync_ones(dync_shape(1), .requires_grad = true),
                    *y = dync_ones(dync_shape(1), .requires_grad = true);
        dync_compiled *f = dync_compile(apply_test, .args = "x, y", .backend = BACKEND);
        dync_backward(dync_sum(dync_call(f, x, y), DYNC_ALL, false));
        EXPECT_NEAR(dync_item(dync_grad(x)), 1, 0);
        EXPECT_NEAR(dync_item(dync_grad(y)), 1, 0);
        dync_compiled_free(f);
    }
}

static dync_tensor *param_inside(dync_tensor *x)
{
    return dync_add(dync_sin(x), dync_parameter(dync_ones(dync_shape(1))));
}
TEST(A_20_parameter_made_inside)
{
    EACH_BACKEND
    {
        dync_tensor *x = dync_rand(dync_shape(4, 4));
        dync_compiled *f = dync_compile(param_inside, .args = "x", .backend = BACKEND);
        dync_tensor *r = dync_call(f, x), *r2 = dync_call(f, x);
        EXPECT(same(param_inside(x), r, 1e-6) && same(r, r2, 0));
        EXPECT(dync_requires_grad(r));
        dync_compiled_free(f);
    }
}

static dync_value grad_off_inside(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_mul(x, x);
    dync_set_grad_enabled(false);
    return dync_tuple(dync_clone(y), y);
}
/* eager gives both factors' gradients, compiled one */
static dync_tensor *sum_of_grad_fn(dync_tensor *y)
{
    dync_value g = dync_grad_fn_call(y, DYNC_V(dync_from((float[]){-1, 2, 0}, dync_shape(3))));
    dync_tensor *sum = NULL;
    for (int k = 0; k < dync_len(g); k++)
        if (dync_at(g, k).kind == DYNC_KIND_TENSOR)
            sum = sum ? dync_add(sum, dync_at(g, k)) : dync_as_tensor(dync_at(g, k));
    return sum;
}
TEST(A_25_grad_mode_is_left_behind)
{
    EACH_BACKEND
    {
        dync_tensor *x = dync_mul(dync_ones(dync_shape(3), .requires_grad = true), 3),
                    *nines = dync_full(dync_shape(3), 9.0);
        dync_compiled *f =
            dync_compile(grad_off_inside, .args = "x", .backend = BACKEND, .fullgraph = true);
        dync_value arg = DYNC_V(x);
        /* eager, then compiled twice */
        for (int call = 0; call < 3; call++) {
            dync_set_grad_enabled(true);
            dync_value r = call ? dync_call_value(f, x) : grad_off_inside(&arg, 1, NULL);
            EXPECT(!dync_is_grad_enabled());
            dync_set_grad_enabled(true);
            dync_tensor *o0 = dync_as_tensor(dync_at(r, 0)), *o1 = dync_as_tensor(dync_at(r, 1));
            EXPECT(same(o0, nines, 0) && same(dync_detach(o1), nines, 0));
            EXPECT(!dync_has_grad_fn(o0));
            EXPECT(dync_has_grad_fn(o1));
            EXPECT(same(sum_of_grad_fn(o1), dync_from((float[]){-6, 12, 0}, dync_shape(3)), 0));
        }
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}

static dync_tensor *set_leaf(dync_tensor *x) { return dync_set_(x, dync_ones(dync_shape(2))); }
TEST(A_26_set_of_a_leaf)
{
    static const char *const every[] = {NULL, "eager", "aot_eager", "inductor"};
    dync_tensor *x = dync_ones(dync_shape(2), .requires_grad = true);
    /* plain, the default backend, each by name */
    for (int i = -1; i < 4; i++) {
        dync_compiled *f = i < 0 ? NULL : dync_compile(set_leaf, .args = "x", .backend = every[i]);
        EXPECT((f ? dync_call(f, x) : set_leaf(x)) == NULL);
        EXPECT_EQ_INT(dync_error(), DYNC_ERR_AUTOGRAD);
        EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
        EXPECT_HAS_STR(
            dync_error_message(),
            "a leaf Variable that requires grad is being used in an in-place operation.");
        dync_clear_error();
        if (f) dync_compiled_free(f);
    }
    EXPECT(dync_equal(x, dync_ones(dync_shape(2))));
}

static dync_tensor *expand_add(dync_tensor *x)
{
    dync_tensor *y = dync_expand(x, dync_shape(3, 6));
    dync_add_(dync_select(dync_select(y, 0, 0), 0, 0), 5);
    return y;
}
TEST(A_27_expand_written)
{
    EACH_BACKEND
    {
        dync_compiled *f = dync_compile(expand_add, .args = "x", .backend = BACKEND);
        for (int i = 0; i < 2; i++) {
            dync_tensor *x = dync_to_dtype(dync_arange(0, 6, 1), DYNC_I64), *x2 = dync_clone(x),
                        *want = expand_add(x2);
            dync_tensor *y = dync_call(f, x), *five = dync_from((int64_t[]){5, 1, 2, 3, 4, 5},
                                                                dync_shape(6), .dtype = DYNC_I64);
            EXPECT(same(want, y, 0) && same(x, x2, 0) && same(x, five, 0));
            EXPECT(same(y, dync_expand(five, dync_shape(3, 6)), 0));
        }
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
}

static dync_tensor *expand_mul(dync_tensor *x, dync_tensor *z)
{
    dync_tensor *y = dync_expand(x, dync_shape(3, 6));
    dync_mul_(dync_select(dync_select(y, 0, 1), 0, 1), 5);
    return dync_mul(y, z);
}
TEST(A_28_expand_written_backward)
{
    EACH_BACKEND
    {
        dync_compiled *f = dync_compile(expand_mul, .args = "x, z", .backend = BACKEND);
        dync_tensor *want = NULL;
        /* eager, then compiled twice */
        for (int call = 0; call < 3; call++) {
            dync_tensor *x = dync_to_dtype(dync_arange(0, 6, 1), DYNC_F32),
                        *z = dync_requires_grad_(dync_clone(x), true);
            dync_tensor *r = call ? dync_call(f, x, z) : expand_mul(x, z);
            if (call)
                EXPECT(same(want, dync_detach(r), 0));
            else
                want = dync_detach(r);
            EXPECT_OK(dync_backward(dync_sum(r, DYNC_ALL, false)));
            EXPECT(same(x, dync_from((float[]){0, 5, 2, 3, 4, 5}, dync_shape(6)), 0));
            EXPECT(same(dync_grad(z), dync_from((float[]){0, 15, 6, 9, 12, 15}, dync_shape(6)), 0));
        }
        dync_compiled_free(f);
    }
}

static dync_tensor *overlap_write(dync_tensor *x)
{
    dync_tensor *y = dync_expand(x, dync_shape(3, 6));
    dync_add_(dync_select(dync_slice(y, 0, 0, 3, 1), 1, 0), 5);
    return y;
}
/* Upstream expects its compiled form to miss this: here both refuse, and nothing is written. */
TEST(A_32_overlapping_write)
{
    for (int b_ = -1; b_ < 3; b_++) {
        dync_tensor *x = dync_to_dtype(dync_arange(0, 6, 1), DYNC_I64), *was = dync_clone(x);
        dync_compiled *f = b_ < 0 ? NULL
                                  : dync_compile(overlap_write, .args = "x", .backend = BACKEND);
        if (f)
            EXPECT(dync_call(f, x) == NULL);
        else
            overlap_write(x);
        EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
        EXPECT_HAS_STR(
            dync_error_message(),
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. "
            "Please clone() the tensor before performing the operation.");
        dync_clear_error();
        EXPECT(same(x, was, 0));
        if (f) dync_compiled_free(f);
    }
}
TEST_MAIN
