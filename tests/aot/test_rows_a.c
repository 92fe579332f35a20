/* Rows A of the conformance list: programs that write, alias and differentiate, through eager graphs and AOT. */
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
    EACH_BACKEND {
        dync_tensor *x = dync_parameter(dync_randn(dync_shape(4))), *y = dync_randn(dync_shape(4)), *was = dync_clone(dync_detach(x));
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
    dync_tensor *g = dync_slice(dync_slice(d, 2, 0, 8, 1), 3, 0, 9, 1);
    dync_copy_(dync_slice(dync_slice(s, 1, 0, -1, 1), 3, 8, DYNC_END, 1), g);
    return dync_view(s, dync_shape(1, 12, 16, 17));
}
static dync_tensor *mutation_fresh(dync_tensor *s, dync_tensor *d) { return mutation1(dync_sin(s), d); }
TEST(A_03_A_04_slices_written)
{
    EACH_BACKEND {
        dync_tensor *s = dync_randn(dync_shape(6, 4, 8, 17)), *d = dync_randn(dync_shape(6, 3, 16, 17)), *s2 = dync_clone(s), *s3 = dync_clone(s);
        dync_compiled *f = dync_compile(mutation1, .args = "s, d", .backend = BACKEND);
        EXPECT(same(mutation1(s2, d), dync_call(f, s, d), 0));
        EXPECT(same(s, s2, 0));
        dync_tensor *r = dync_call(f, s, d);
        dync_fill_(s, 1.5);                                            /* the result is a view of the argument */
        EXPECT_NEAR(dync_item(dync_select(dync_view(r, dync_shape(-1)), 0, 5)), 1.5, 0);
        dync_compiled_free(f);
        f = dync_compile(mutation_fresh, .args = "s, d", .backend = BACKEND);
        dync_tensor *before = dync_clone(s3);
        EXPECT(same(mutation_fresh(s3, d), dync_call(f, s3, d), 1e-6));
        EXPECT(same(s3, before, 0));
        dync_compiled_free(f);
    }
}

static dync_tensor *sin_add(dync_tensor *x, dync_tensor *y) { return dync_add_(dync_sin(x), y); }
TEST(A_05_intermediate_written)
{
    EACH_BACKEND {
        dync_tensor *x = dync_randn(dync_shape(4)), *y = dync_randn(dync_shape(4)), *x0 = dync_clone(x), *y0 = dync_clone(y);
        dync_compiled *f = dync_compile(sin_add, .args = "x, y", .backend = BACKEND);
        EXPECT(same(sin_add(x, y), dync_call(f, x, y), 1e-6));
        EXPECT(same(x, x0, 0) && same(y, y0, 0));
        dync_compiled_free(f);
    }
}

static dync_tensor *exp_sin(dync_tensor *x) { return dync_exp(dync_sin(x)); }
TEST(A_10_double_backward_outside)
{
    for (int b_ = 1; b_ < 3; b_++) {
        dync_tensor *x = dync_ones(DYNC_SCALAR, .requires_grad = true);
        dync_compiled *f = dync_compile(exp_sin, .args = "x", .backend = BACKEND);
        dync_tensor *y = dync_call(f, x);
        EXPECT_NEAR(dync_item(y), 2.3197768, 1e-6);
        dync_value g = dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE, (dync_grad_options){.create_graph = true});
        dync_tensor *gx = dync_as_tensor(g.kind == DYNC_KIND_LIST ? dync_at(g, 0) : g);
        EXPECT_NEAR(dync_item(gx), 1.2533808, 1e-6);
        dync_gradients(DYNC_V(gx), DYNC_V(x), DYNC_NONE, (dync_grad_options){0});
        EXPECT_EQ_INT(dync_error(), DYNC_ERR_AUTOGRAD);
        EXPECT(strstr(dync_error_message(), "torch.compile with aot_autograd does not currently support double backward"));
        dync_clear_error();
        dync_compiled_free(f);
    }
}

static dync_value fw(dync_autograd_ctx *c, const dync_value *a, int n) { (void)n; dync_save_for_backward(c, dync_as_tensor(a[0])); return a[1]; }
static dync_value bw(dync_autograd_ctx *c, const dync_value *g, int n) { (void)n; return dync_tuple(dync_saved(c, 0), dync_as_tensor(g[0])); }
static const dync_autograd_function test_fn = {.name = "Test", .forward = fw, .backward = bw};
static dync_tensor *apply_test(dync_tensor *x, dync_tensor *y) { return dync_as_tensor(dync_apply(&test_fn, x, y)); }
TEST(A_18_gradients_alias_inputs)
{
    EACH_BACKEND {
        dync_tensor *x = dync_ones(dync_shape(1), .requires_grad = true), *y = dync_ones(dync_shape(1), .requires_grad = true);
        dync_compiled *f = dync_compile(apply_test, .args = "x, y", .backend = BACKEND);
        dync_backward(dync_sum(dync_call(f, x, y), DYNC_ALL, false));
        EXPECT_NEAR(dync_item(dync_grad(x)), 1, 0);
        EXPECT_NEAR(dync_item(dync_grad(y)), 1, 0);
        dync_compiled_free(f);
    }
}

static dync_tensor *param_inside(dync_tensor *x) { return dync_add(dync_sin(x), dync_parameter(dync_ones(dync_shape(1)))); }
TEST(A_20_parameter_made_inside)
{
    EACH_BACKEND {
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
TEST(A_25_grad_mode_is_left_behind)
{
    for (int b_ = 0; b_ < 3; b_++) {
        dync_set_grad_enabled(true);
        dync_tensor *x = dync_mul(dync_ones(dync_shape(3), .requires_grad = true), 3);
        dync_compiled *f = dync_compile(grad_off_inside, .args = "x", .backend = BACKEND, .fullgraph = true);
        for (int i = 0; i < 2; i++) {
            dync_set_grad_enabled(true);
            dync_value r = dync_call_value(f, x);
            EXPECT(!dync_is_grad_enabled());
            dync_tensor *o0 = dync_as_tensor(dync_at(r, 0)), *o1 = dync_as_tensor(dync_at(r, 1));
            EXPECT_NEAR(dync_item(dync_select(o0, 0, 0)), 9, 1e-6);
            EXPECT(!dync_has_grad_fn(o0));
            EXPECT(dync_has_grad_fn(o1));
            dync_set_grad_enabled(true);
            dync_value g = dync_grad_fn_call(o1, DYNC_V(dync_from((float[]){-1, 2, 0}, dync_shape(3))));
            dync_tensor *sum = NULL;                                   /* eager gives both factors' gradients, compiled one */
            for (int k = 0; k < dync_len(g); k++)
                if (dync_at(g, k).kind == DYNC_KIND_TENSOR) sum = sum ? dync_add(sum, dync_at(g, k)) : dync_as_tensor(dync_at(g, k));
            EXPECT(same(sum, dync_from((float[]){-6, 12, 0}, dync_shape(3)), 1e-6));
        }
        dync_compiled_free(f);
    }
    dync_set_grad_enabled(true);
}

static dync_tensor *set_leaf(dync_tensor *x) { return dync_set_(x, dync_ones(dync_shape(2))); }
TEST(A_26_set_of_a_leaf)
{
    dync_tensor *x = dync_ones(dync_shape(2), .requires_grad = true);
    dync_compiled *f = dync_compile(set_leaf, .args = "x");
    dync_call(f, x);
    EXPECT(strstr(dync_error_message(), "is being used in an in-place operation"));
    dync_clear_error();
    dync_compiled_free(f);
}

static dync_tensor *expand_add(dync_tensor *x)
{
    dync_tensor *y = dync_expand(x, dync_shape(3, 6));
    dync_add_(dync_select(dync_select(y, 0, 0), 0, 0), 5);
    return y;
}
TEST(A_27_expand_written)
{
    EACH_BACKEND {
        dync_compiled *f = dync_compile(expand_add, .args = "x", .backend = BACKEND);
        for (int i = 0; i < 2; i++) {
            dync_tensor *x = dync_to_dtype(dync_arange(0, 6, 1), DYNC_I64), *x2 = dync_clone(x);
            dync_tensor *y = dync_call(f, x);
            EXPECT(same(expand_add(x2), y, 0) && same(x, x2, 0));
            EXPECT(dync_item(dync_select(x, 0, 0)) == 5);
        }
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
    EACH_BACKEND {
        dync_compiled *f = dync_compile(expand_mul, .args = "x, z", .backend = BACKEND);
        for (int i = 0; i < 2; i++) {
            dync_tensor *x = dync_to_dtype(dync_arange(0, 6, 1), DYNC_F32), *z = dync_requires_grad_(dync_clone(x), true);
            dync_tensor *r = dync_call(f, x, z);
            dync_backward(dync_sum(r, DYNC_ALL, false));
            EXPECT(same(x, dync_from((float[]){0, 5, 2, 3, 4, 5}, dync_shape(6)), 0));
            EXPECT(same(dync_grad(z), dync_from((float[]){0, 15, 6, 9, 12, 15}, dync_shape(6)), 0));
        }
        dync_compiled_free(f);
    }
}

static dync_tensor *overlap_write(dync_tensor *x)
{
    dync_tensor *y = dync_expand(x, dync_shape(3, 6));
    dync_add_(dync_select(y, 1, 0), 5);
    return y;
}
TEST(A_32_overlapping_write)
{
    dync_tensor *x = dync_to_dtype(dync_arange(0, 6, 1), DYNC_F32);
    EXPECT(overlap_write(x) != NULL || 1);
    EXPECT(strstr(dync_error_message(), "unsupported operation: more than one element of the written-to tensor refers to a single memory location."));
    dync_clear_error();
    EACH_BACKEND {
        dync_compiled *f = dync_compile(overlap_write, .args = "x", .backend = BACKEND);
        dync_call(f, x);
        EXPECT(strstr(dync_error_message(), "more than one element of the written-to tensor"));
        dync_clear_error();
        dync_compiled_free(f);
    }
}
TEST_MAIN
