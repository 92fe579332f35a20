/* What a function asks of its arguments and gives of them: is it a leaf, memory exchanged by set_,
 * arguments of exports, the strides of what a custom function gives. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

/* ---- asked whether it is a leaf -------------------------------------------------------------- */
static dync_tensor *global;
static dync_tensor *of_an_argument(dync_tensor *x) { return dync_mul(x, dync_is_leaf(x) ? 2 : 3); }
static dync_tensor *of_a_global(dync_tensor *x)
{
    dync_guard_tensor("global", &global);
    return dync_mul(x, dync_has_grad_fn(global) ? 3 : 2);
}
static dync_tensor *behind_a_break(dync_tensor *x)
{
    dync_tensor *y = dync_sin(x);
    dync_graph_break("here");
    return dync_mul(y, dync_is_leaf(x) ? 2 : 3);
}
static dync_tensor *of_a_plain_one(dync_tensor *x)
{
    return dync_mul(x, dync_is_leaf(dync_detach(x)) ? 2 : 3);
}
TEST(leaves_and_others_are_compiled_apart)
{
    dync_tensor *(*const fns[])(dync_tensor *) = {of_an_argument, of_a_global, behind_a_break,
                                                  of_a_plain_one};
    for (int k = 0; k < 4; k++)
        for (int b = 0; b < 3; b++) {
            char reason[512] = "";
            counter c = {.inner = backends[b]};
            dync_compiled *f = dync_compile(fns[k], .args = "x", .backend_object = &COUNTER(c),
                                            .guard_fail = keep_reason, .guard_fail_user = reason);
            for (int i = 0; i < 6; i++) DYNC_SCOPE {
                dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true);
                global = i & 1 ? dync_mul(x, 1) : x;
                dync_tensor *arg = global, *y = dync_call(f, arg);
                EXPECT(same(y, fns[k](arg), 0));
                if (i == 1 && k == 0)
                    EXPECT_HAS_STR(reason, "tensor 'L['x']' is_leaf mismatch. expected is_leaf=1");
                global = NULL;
            }
            EXPECT_EQ_INT(c.frame_count, k == 2 ? 3 : k == 3 ? 1 : 2);
            dync_compiled_free(f);
        }
}

/* A backward inside ends at a leaf, and goes on outside at another. */
static dync_tensor *keeps_a_gradient(dync_tensor *x)
{
    dync_backward(dync_sum(dync_mul(x, 2), DYNC_ALL, false));
    return dync_mul(dync_detach(x), dync_grad(x) ? 5 : 7);
}
static dync_tensor *written_without_gradients(dync_tensor *x)
{
    dync_tensor *y = dync_detach(x);
    dync_mul_(y, 2);
    return dync_mul(y, dync_is_leaf(y) ? 2 : 3);
}
TEST(a_backward_inside_knows_leaves_from_others)
{
    for (int full = 0; full < 2; full++)
        for (int b = 0; b < 3; b++) {
            dync_compiled *f =
                dync_compile(keeps_a_gradient, .backend = backends[b], .fullgraph = full);
            for (int i = 0; i < 6; i++) DYNC_SCOPE {
                dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true);
                dync_tensor *arg = i & 1 ? dync_mul(x, 3) : x;
                EXPECT(same(dync_call(f, arg), dync_full(dync_shape(3), i & 1 ? 21.0 : 5.0), 0));
                EXPECT(same(dync_grad(x), dync_full(dync_shape(3), i & 1 ? 6.0 : 2.0), 0));
            }
            dync_compiled_free(f);
        }
}
TEST(a_written_value_without_gradient_is_a_leaf)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(written_without_gradients, .backend = backends[b]);
        EXPECT(same(dync_call(f, dync_ones(dync_shape(2))), dync_full(dync_shape(2), 4.0), 0));
        dync_compiled_free(f);
    }
}

/* ---- set_ of a value ------------------------------------------------------------------------- */
static dync_tensor *set_to_another_shape(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *t = dync_mul(x, 2);
    dync_set_(t, dync_mul(dync_transpose(y, 0, 1), 3));
    return t;
}
static dync_tensor *set_twice_then_a_break(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *t = dync_mul(x, 2);
    dync_set_(t, dync_mul(y, 3));
    dync_set_(t, dync_transpose(dync_mul(x, 3), 0, 1));
    dync_graph_break("here");
    return dync_add(t, 1);
}
TEST(a_value_that_was_set_has_the_new_form)
{
    dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *) = {set_to_another_shape,
                                                                 set_twice_then_a_break};
    for (int k = 0; k < 2; k++)
        for (int b = 0; b < 3; b++) {
            dync_compiled *f = dync_compile(fns[k], .backend = backends[b]);
            for (int i = 0; i < 3; i++) DYNC_SCOPE {
                dync_tensor *x = dync_rand(dync_shape(3, 4)), *y = dync_rand(dync_shape(2, 5));
                dync_tensor *got = dync_call(f, x, y), *want = fns[k](x, y);
                EXPECT(same(got, want, 1e-6) && dync_stride(got, 0) == dync_stride(want, 0));
            }
            dync_compiled_free(f);
        }
}

/* An export runs the function: arguments are as they were when it is over. */
static dync_tensor *sets_and_writes(dync_tensor *x, dync_tensor *row)
{
    dync_set_(x, dync_mul(row, 3));
    return dync_add_(x, 1);
}
static dync_tensor *writes_the_first(dync_tensor *x, dync_tensor *row)
{
    return dync_mul(dync_add_(x, 1), row);
}
TEST(an_export_leaves_its_arguments_alone)
{
    dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *) = {sets_and_writes, writes_the_first};
    for (int k = 0; k < 2; k++) {
        dync_tensor *x = dync_full(dync_shape(2, 3), 2.0), *row = dync_ones(dync_shape(1, 3));
        void *memory = dync_data(x);
        dync_program *p = dync_export(fns[k], x, dync_expand(row, dync_shape(2, 3)));
        EXPECT(p != NULL);
        EXPECT_OK(dync_error());
        EXPECT_EQ_PTR(dync_data(x), memory);
        EXPECT(same(x, dync_full(dync_shape(2, 3), 2.0), 0));
        EXPECT(same(row, dync_ones(dync_shape(1, 3)), 0));
        dync_program_free(p);
    }
}

/* ---- custom functions that give a list of one ------------------------------------------------ */
static dync_value double_forward(dync_autograd_ctx *ctx, const dync_value *a, int n)
{
    dync_tensor *x = dync_as_tensor(a[0]);
    (void)n;
    dync_save_for_backward(ctx, x);
    return dync_tuple(dync_gt(x, 0), dync_mul(x, 2));
}
static dync_value double_backward(dync_autograd_ctx *ctx, const dync_value *grads, int n)
{
    (void)n;
    return DYNC_V(dync_mul(dync_mul(grads[1], dync_saved(ctx, 0)), 7));
}
static const dync_autograd_function doubled = {"Doubled", double_forward, double_backward};
static dync_tensor *apply_doubled(dync_tensor *x)
{
    return dync_as_tensor(dync_at(dync_apply(&doubled, x), 1));
}
TEST(strides_of_what_a_custom_function_gives)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(apply_doubled, .backend = backends[b], .fullgraph = true);
        for (int i = 0; i < 2; i++) DYNC_SCOPE {
            dync_tensor *x = dync_rand(dync_shape(3, 4), .requires_grad = true);
            dync_tensor *y = dync_call(f, dync_transpose(x, 0, 1));
            EXPECT_EQ_INT(dync_stride(y, 0), 1);
            EXPECT_OK(dync_backward(dync_sum(y, DYNC_ALL, false)));
            EXPECT(same(dync_grad(x), dync_mul(dync_detach(x), 7), 1e-6));
        }
        dync_compiled_free(f);
    }
}
TEST_MAIN
