/* The tape: what backward computes and refuses. Expected values are by hand; messages are
 * PyTorch's. Hooks and custom functions: test_tape_hooks.c. */
#include "tape.h"

/* ---- first order ----------------------------------------------------------------------------- */

TEST(chain_and_product)
{
    dync_tensor *x = LEAF(1, 2, 3), *w = LEAF(4, 5, 6);
    EXPECT_OK(dync_backward(total(dync_mul(dync_mul(x, x), w))));
    EXPECT_VALUES(dync_grad(x), 8, 20, 36);
    EXPECT_VALUES(dync_grad(w), 1, 4, 9);
    dync_shutdown();
}

TEST(gradients_accumulate_until_cleared)
{
    dync_tensor *x = LEAF(1, 2);
    EXPECT_OK(dync_backward(total(dync_mul(x, 3))));
    dync_tensor *held = dync_grad(x);
    EXPECT_OK(dync_backward(total(dync_mul(x, 4))));
    EXPECT_VALUES(dync_grad(x), 7, 7);
    EXPECT_EQ_PTR(dync_grad(x), held); /* added in place */
    dync_set_grad(x, NULL);
    EXPECT(dync_grad(x) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_OK);
    EXPECT_OK(dync_backward(total(x)));
    EXPECT_VALUES(dync_grad(x), 1, 1);
    dync_shutdown();
}

TEST(one_tensor_used_often)
{
    dync_tensor *x = LEAF(2), *y = dync_mul(x, x), *z = dync_add(dync_mul(y, y), dync_mul(y, x));
    EXPECT_OK(dync_backward(z)); /* x^4 + x^3 */
    EXPECT_VALUES(dync_grad(x), 44);
    dync_shutdown();
}

TEST(broadcasting_sums)
{
    dync_tensor *x = dync_ones(dync_shape(2, 3), .requires_grad = true), *b = LEAF(1, 2, 3),
                *s = dync_full(DYNC_SCALAR, 2.0, .requires_grad = true);
    EXPECT_OK(dync_backward(total(dync_mul(dync_mul(x, b), s))));
    EXPECT_VALUES(dync_grad(x), 2, 4, 6, 2, 4, 6);
    EXPECT_VALUES(dync_grad(b), 4, 4, 4);
    EXPECT_VALUES(dync_grad(s), 12);
    dync_shutdown();
}

TEST(dtypes_cast_back)
{
    dync_tensor *x = LEAF(1, 2),
                *d = dync_ones(dync_shape(2), .dtype = DYNC_F64, .requires_grad = true);
    dync_tensor *y = dync_mul(x, d);
    EXPECT_EQ_INT(dync_type(y), DYNC_F64);
    EXPECT_OK(dync_backward(total(y)));
    EXPECT_EQ_INT(dync_type(dync_grad(x)), DYNC_F32);
    EXPECT_EQ_INT(dync_type(dync_grad(d)), DYNC_F64);
    dync_tensor *h = dync_ones(dync_shape(3), .dtype = DYNC_F16, .requires_grad = true);
    EXPECT_OK(dync_backward(total(dync_mul(dync_to_dtype(h, DYNC_F32), 3))));
    EXPECT_EQ_INT(dync_type(dync_grad(h)), DYNC_F16);
    dync_shutdown();
}

TEST(backward_with_a_gradient)
{
    dync_tensor *x = LEAF(1, 2, 3);
    EXPECT_OK(
        dync_backward_with(dync_mul(x, x), dync_from(((float[]){1, 10, 100}), dync_shape(3))));
    EXPECT_VALUES(dync_grad(x), 2, 40, 600);
    QUIET;
    EXPECT_STATUS(dync_backward_with(dync_mul(x, x), dync_ones(dync_shape(2))), DYNC_ERR_SHAPE);
    expect_error(
        DYNC_ERR_SHAPE,
        "Mismatch in shape: grad_output[0] has a shape of [2] and output[0] has a shape of [3]");
    dync_shutdown();
}

TEST(several_outputs)
{
    dync_tensor *x = LEAF(2, 3), *a = total(dync_mul(x, 2)), *b = dync_mul(x, x);
    EXPECT_OK(dync_backward_opt(dync_tuple(a, b), dync_tuple(DYNC_NONE, dync_ones(dync_shape(2))),
                                (dync_grad_options){0}));
    EXPECT_VALUES(dync_grad(x), 6, 8);
    dync_shutdown();
}

TEST(backward_of_a_leaf)
{
    dync_tensor *x = LEAF(5);
    EXPECT_OK(dync_backward(x));
    EXPECT_VALUES(dync_grad(x), 1);
    dync_shutdown();
}

TEST(the_given_gradient_is_not_kept)
{
    dync_tensor *x = LEAF(5, 6), *g = dync_ones(dync_shape(2));
    EXPECT_OK(dync_backward_with(x, g));
    EXPECT_OK(dync_backward_with(x, g));
    EXPECT_VALUES(g, 1, 1);
    EXPECT_VALUES(dync_grad(x), 2, 2);
    dync_shutdown();
}

TEST(a_gradient_lies_as_its_leaf_does)
{
    dync_tensor *x = dync_ones(dync_shape(2, 3), .requires_grad = true);
    EXPECT_OK(dync_backward(total(dync_mul(dync_t(x), dync_ones(dync_shape(3, 2))))));
    EXPECT_VALUES(dync_grad(x), 1, 1, 1, 1, 1, 1);
    EXPECT_EQ_INT(dync_stride(dync_grad(x), 0), 3);
    dync_set_grad(x, NULL);
    EXPECT_OK(dync_backward(total(x))); /* an expanded scalar is copied out */
    EXPECT_EQ_INT(dync_stride(dync_grad(x), 1), 1);
    dync_shutdown();
}

/* ---- what is refused ------------------------------------------------------------------------- */

TEST(errors_of_backward)
{
    QUIET;
    dync_tensor *x = LEAF(1, 2);
    EXPECT_STATUS(dync_backward(dync_mul(x, 2)), DYNC_ERR_AUTOGRAD);
    expect_error(DYNC_ERR_AUTOGRAD, "grad can be implicitly created only for scalar outputs");
    EXPECT_STATUS(dync_backward(dync_ones(dync_shape(1))), DYNC_ERR_AUTOGRAD);
    expect_error(DYNC_ERR_AUTOGRAD,
                 "element 0 of tensors does not require grad and does not have a grad_fn");
    EXPECT_STATUS(dync_backward(NULL), DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT_STATUS(dync_backward_with(total(x), NULL), DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT_STATUS(dync_backward_opt(dync_v_int(3), DYNC_NONE, (dync_grad_options){0}),
                  DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "expected a tensor or a list of tensors");
    EXPECT_STATUS(dync_backward_opt(dync_tuple(total(x), 3), DYNC_NONE, (dync_grad_options){0}),
                  DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "element 1 is not a tensor");
    EXPECT_STATUS(dync_backward_opt(dync_tuple(total(x)), dync_tuple(DYNC_NONE, DYNC_NONE),
                                    (dync_grad_options){0}),
                  DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "expected 1, got 2");
    EXPECT(dync_grad(x) == NULL);
    dync_shutdown();
}

TEST(a_second_backward)
{
    QUIET;
    dync_tensor *x = LEAF(3), *y = dync_mul(x, x);
    EXPECT_OK(dync_backward(y));
    EXPECT_STATUS(dync_backward(y), DYNC_ERR_AUTOGRAD);
    expect_error(DYNC_ERR_AUTOGRAD, "Trying to backward through the graph a second time");
    dync_tensor *z = dync_mul(x, 2); /* nothing saved: nothing was lost */
    EXPECT_OK(dync_backward(z));
    EXPECT_OK(dync_backward(z));
    dync_set_grad(x, NULL);
    y = dync_mul(x, x);
    EXPECT_OK(
        dync_backward_opt(dync_v_tensor(y), DYNC_NONE, (dync_grad_options){.retain_graph = true}));
    EXPECT_OK(dync_backward(y));
    EXPECT_VALUES(dync_grad(x), 12);
    dync_shutdown();
}

TEST(a_saved_tensor_was_written)
{
    QUIET;
    dync_tensor *x = LEAF(3, 4), *a = dync_mul(x, 2), *y = dync_mul(a, a);
    dync_add_(a, 1);
    EXPECT_STATUS(dync_backward(total(y)), DYNC_ERR_AUTOGRAD);
    expect_error(
        DYNC_ERR_AUTOGRAD,
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: ");
    dync_tensor *w = LEAF(1, 1), *data = dync_ones(dync_shape(2)), *z = dync_mul(w, data);
    DYNC_NO_GRAD {
        dync_mul_(data, 5);
    }
    EXPECT_STATUS(dync_backward(total(z)), DYNC_ERR_AUTOGRAD);
    expect_error(DYNC_ERR_AUTOGRAD, "modified by an inplace operation");
    /* add keeps nothing: writing is legal */
    dync_tensor *b = dync_ones(dync_shape(2)), *s = dync_add(w, b);
    dync_mul_(b, 5);
    EXPECT_OK(dync_backward(total(s)));
    dync_shutdown();
}

TEST(leaf_written)
{
    QUIET;
    dync_tensor *x = LEAF(1, 2), *v = dync_select(x, 0, 0);
    EXPECT(dync_add_(x, 1) == NULL);
    expect_error(DYNC_ERR_AUTOGRAD,
                 "a leaf Variable that requires grad is being used in an in-place operation.");
    EXPECT(dync_mul_(v, 2) == NULL);
    expect_error(
        DYNC_ERR_AUTOGRAD,
        "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    EXPECT(dync_set_(x, dync_ones(dync_shape(2))) == NULL);
    expect_error(DYNC_ERR_AUTOGRAD, "is being used in an in-place operation");
    EXPECT_VALUES(x, 1, 2);
    DYNC_NO_GRAD {
        dync_add_(x, 1);
        dync_mul_(dync_select(x, 0, 1), 10);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    EXPECT_VALUES(x, 2, 30);
    EXPECT(dync_is_leaf(x) && dync_requires_grad(x));
    dync_shutdown();
}

TEST(requires_grad_switch)
{
    QUIET;
    dync_tensor *x = dync_ones(dync_shape(2)), *y,
                *i = dync_zeros(dync_shape(2), .dtype = DYNC_I64);
    EXPECT(!dync_requires_grad(x) && dync_is_leaf(x));
    EXPECT_EQ_PTR(dync_requires_grad_(x, true), x);
    EXPECT(dync_requires_grad(x) && dync_is_leaf(x) && !dync_has_grad_fn(x));
    y = dync_mul(x, 2);
    EXPECT(dync_requires_grad(y) && !dync_is_leaf(y) && dync_has_grad_fn(y));
    EXPECT(dync_requires_grad_(y, false) == NULL);
    expect_error(DYNC_ERR_AUTOGRAD, "you can only change requires_grad flags of leaf variables");
    EXPECT_EQ_PTR(dync_requires_grad_(y, true), y);
    EXPECT(dync_requires_grad_(i, true) == NULL);
    expect_error(DYNC_ERR_DTYPE, "only Tensors of floating point dtype can require gradients");
    EXPECT_EQ_PTR(dync_requires_grad_(x, false), x);
    EXPECT(!dync_requires_grad(dync_mul(x, 2)));
    EXPECT(dync_requires_grad_(NULL, true) == NULL);
    expect_error(DYNC_ERR_VALUE, "");
    dync_shutdown();
}

TEST(set_grad_is_checked)
{
    QUIET;
    dync_tensor *x = LEAF(1, 2), *g = dync_ones(dync_shape(2));
    dync_set_grad(x, dync_ones(dync_shape(3)));
    expect_error(DYNC_ERR_SHAPE, "assigned grad has data of a different size");
    dync_set_grad(x, dync_ones(dync_shape(2), .dtype = DYNC_F64));
    expect_error(DYNC_ERR_DTYPE, "assigned grad has data of a different type");
    dync_set_grad(x, x);
    expect_error(DYNC_ERR_VALUE, "can't assign Variable as its own grad");
    dync_set_grad(NULL, g);
    expect_error(DYNC_ERR_VALUE, "");
    dync_set_grad(x, g);
    EXPECT_EQ_PTR(dync_grad(x), g);
    EXPECT(dync_grad(NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "");
    dync_shutdown();
}

/* ---- grad mode ------------------------------------------------------------------------------- */

TEST(no_grad_records_nothing)
{
    dync_tensor *x = LEAF(1, 2), *y = NULL;
    EXPECT(dync_is_grad_enabled());
    DYNC_NO_GRAD {
        EXPECT(!dync_is_grad_enabled());
        y = dync_mul(x, 2);
    }
    EXPECT(dync_is_grad_enabled());
    EXPECT(!dync_requires_grad(y) && dync_is_leaf(y));
    for (int i = 0; i < 3; i++) DYNC_NO_GRAD {
        if (i == 1) break;
    }
    EXPECT(dync_is_grad_enabled());
    dync_set_grad_enabled(false);
    EXPECT(!dync_requires_grad(dync_mul(x, 2)));
    dync_set_grad_enabled(true);
    EXPECT(dync_requires_grad(dync_mul(x, 2)));
    EXPECT(!dync_requires_grad(dync_detach(x)) && !dync_requires_grad(dync_lt(x, 3)));
    dync_shutdown();
}

TEST(detach_shares_memory)
{
    dync_tensor *x = LEAF(1, 2), *y = dync_mul(x, 1), *d = dync_detach(y);
    dync_add_(d, 1);
    EXPECT_VALUES(y, 2, 3);
    EXPECT_OK(dync_backward(total(dync_mul(y, d)))); /* d is a constant */
    EXPECT_VALUES(dync_grad(x), 2, 3);
    EXPECT(dync_detach(NULL) == NULL);
    dync_clear_error();
    dync_shutdown();
}

/* ---- writing in place ------------------------------------------------------------------------ */

TEST(in_place_on_a_value)
{
    dync_tensor *x = LEAF(1, 2), *y = dync_mul(x, 3);
    dync_mul_(y, y); /* 9 x^2 */
    dync_add_(y, x);
    dync_exp_(dync_mul_(y, 0.125));
    EXPECT_OK(dync_backward(total(y)));
    for (int i = 0; i < 2; i++) {
        double v = i + 1, want = exp((9 * v * v + v) / 8) * (18 * v + 1) / 8;
        EXPECT_NEAR(values(dync_grad(x))[i], want, TOL_F32_CHAIN * want);
    }
    dync_shutdown();
}

TEST(in_place_on_a_plain_tensor_starts_a_history)
{
    dync_tensor *x = LEAF(1, 2), *acc = dync_zeros(dync_shape(2));
    for (int i = 0; i < 3; i++) dync_add_(acc, dync_mul(x, i + 1));
    EXPECT(dync_requires_grad(acc) && dync_has_grad_fn(acc));
    EXPECT_OK(dync_backward(total(acc)));
    EXPECT_VALUES(dync_grad(x), 6, 6);
    dync_shutdown();
}

TEST(in_place_keeps_the_dtype)
{
    dync_tensor *x = LEAF(1, 2),
                *d = dync_ones(dync_shape(2), .dtype = DYNC_F64, .requires_grad = true),
                *y = dync_cos(x);
    dync_add_(y, dync_mul(d, 2));
    EXPECT_EQ_INT(dync_type(y), DYNC_F32);
    EXPECT_OK(dync_backward(total(y)));
    EXPECT_NEAR(((double *)dync_data(dync_grad(d)))[0], 2, TOL_F64_CHAIN);
    dync_shutdown();
}

TEST(copy_zero_and_fill)
{
    dync_tensor *x = LEAF(1, 2), *w = LEAF(3, 4), *y = dync_mul(x, 2);
    dync_copy_(y, w);
    EXPECT_OK(dync_backward(total(dync_mul(y, y))));
    EXPECT_VALUES(dync_grad(w), 6, 8);
    EXPECT_VALUES(dync_grad(x), 0, 0);
    dync_set_grad(x, NULL);
    y = dync_mul(x, 2);
    dync_zero_(y);
    dync_add_(y, x);
    EXPECT_OK(dync_backward(total(y)));
    EXPECT_VALUES(dync_grad(x), 1, 1);
    dync_shutdown();
}

TEST(in_place_on_a_view_reaches_the_base)
{
    dync_tensor *x = LEAF(1, 2, 3), *y = dync_mul(x, 1);
    dync_mul_(dync_slice(y, 0, 1, 3, 1), 10);
    EXPECT_VALUES(y, 1, 20, 30);
    EXPECT_OK(dync_backward(total(dync_mul(y, y))));
    EXPECT_VALUES(dync_grad(x), 2, 400, 600);
    dync_shutdown();
}

TEST(a_view_sees_what_another_view_wrote)
{
    dync_tensor *x = LEAF(1, 2), *w = LEAF(5, 7), *y = dync_mul(x, 1),
                *a = dync_view(y, dync_shape(2, 1)), *b = dync_select(y, 0, 0);
    dync_mul_(b, dync_select(w, 0, 0)); /* y = [5, 2] */
    EXPECT_OK(dync_backward(total(dync_mul(a, a))));
    EXPECT_VALUES(dync_grad(x), 50, 4);
    EXPECT_VALUES(dync_grad(w), 10, 0);
    dync_shutdown();
}

TEST(writing_into_a_view_of_a_plain_base)
{
    dync_tensor *x = LEAF(1, 2), *base = dync_zeros(dync_shape(2, 2)),
                *row0 = dync_select(base, 0, 0), *row1 = dync_select(base, 0, 1);
    EXPECT(!dync_requires_grad(base));
    dync_copy_(row1, x);
    EXPECT(dync_requires_grad(base) && dync_requires_grad(row1) && dync_requires_grad(row0));
    EXPECT(dync_has_grad_fn(row0) && !dync_is_leaf(row0));
    dync_copy_(row0, dync_mul(row1, 3));
    EXPECT_OK(dync_backward(total(dync_mul(base, base))));
    EXPECT_VALUES(dync_grad(x), 20, 40);
    dync_shutdown();
}

TEST(writing_into_a_transposed_base)
{
    dync_tensor *x =
        dync_from(((float[]){1, 2, 3, 4, 5, 6}), dync_shape(2, 3), .requires_grad = true);
    dync_tensor *y = dync_mul(dync_t(x), 1); /* dense, column by column */
    dync_mul_(dync_select(y, 0, 1), 10);
    EXPECT_OK(dync_backward(total(dync_mul(y, y))));
    EXPECT_VALUES(dync_grad(x), 2, 400, 6, 8, 1000, 12);
    dync_shutdown();
}

TEST(views_and_no_grad)
{
    QUIET;
    dync_tensor *x = LEAF(1, 2), *y = dync_mul(x, 1), *v = NULL, *w = LEAF(1);
    DYNC_NO_GRAD {
        v = dync_select(y, 0, 0);
    }
    EXPECT(!dync_requires_grad(v));
    EXPECT(dync_mul_(v, dync_select(w, 0, 0)) == NULL);
    expect_error(
        DYNC_ERR_AUTOGRAD,
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled");
    DYNC_NO_GRAD {
        dync_mul_(v, 3);
    }
    EXPECT_VALUES(y, 3, 2);
    dync_shutdown();
}

TEST(expanded_base) /* */
{
    dync_tensor *x = dync_from(((float[]){0, 1, 2, 3, 4, 5}), dync_shape(6)),
                *z = LEAF(0, 1, 2, 3, 4, 5), *y = dync_expand(x, dync_shape(3, 6));
    dync_mul_(dync_select(dync_select(y, 0, 1), 0, 1), 5);
    EXPECT_OK(dync_backward(total(dync_mul(y, z))));
    EXPECT_VALUES(x, 0, 5, 2, 3, 4, 5);
    EXPECT_VALUES(dync_grad(z), 0, 15, 6, 9, 12, 15);
    dync_shutdown();
}

TEST(expanded_view_of_a_written_base)
{
    dync_tensor *x = LEAF(1, 2), *y = dync_mul(x, 1), *e = dync_expand(y, dync_shape(3, 2));
    dync_mul_(dync_select(y, 0, 0), 4);
    EXPECT_OK(dync_backward(total(e)));
    EXPECT_VALUES(dync_grad(x), 12, 3);
    dync_shutdown();
}

TEST(grad_of_saved_output_written)
{
    QUIET;
    dync_tensor *x = LEAF(0.5f), *y = dync_tanh(x);
    dync_add_(y, 1);
    EXPECT_STATUS(dync_backward(y), DYNC_ERR_AUTOGRAD);
    expect_error(DYNC_ERR_AUTOGRAD,
                 "which is output 0 of TanhBackward0, is at version 1; expected version 0 instead");
    dync_shutdown();
}

/* ---- gradients as values --------------------------------------------------------------------- */

TEST(gradients_of_chosen_inputs)
{
    QUIET;
    dync_tensor *x = LEAF(2), *w = LEAF(3), *unused = LEAF(1), *mid = dync_mul(x, w),
                *y = dync_mul(mid, mid);
    dync_value g = dync_gradients(dync_v_tensor(y), dync_tuple(x, mid), DYNC_NONE,
                                  (dync_grad_options){.retain_graph = true});
    EXPECT_STATUS(dync_error(), DYNC_OK);
    EXPECT_EQ_STR(dync_error_message(), "");
    EXPECT_EQ_INT(dync_len(g), 2);
    EXPECT_VALUES(dync_as_tensor(dync_at(g, 0)), 36);
    EXPECT_VALUES(dync_as_tensor(dync_at(g, 1)), 12);
    EXPECT(dync_grad(x) == NULL && dync_grad(w) == NULL);
    g = dync_gradients(dync_v_tensor(y), dync_tuple(w, unused), DYNC_NONE,
                       (dync_grad_options){.retain_graph = true, .allow_unused = true});
    EXPECT_VALUES(dync_as_tensor(dync_at(g, 0)), 24);
    EXPECT_EQ_INT(dync_at(g, 1).kind, DYNC_KIND_NONE);
    g = dync_gradients(dync_v_tensor(y), dync_v_tensor(unused), DYNC_NONE,
                       (dync_grad_options){.retain_graph = true});
    EXPECT_EQ_INT(g.kind, DYNC_KIND_NONE);
    expect_error(DYNC_ERR_AUTOGRAD,
                 "One of the differentiated Tensors appears to not have been used in the graph");
    g = dync_gradients(dync_v_tensor(y), dync_v_tensor(dync_ones(dync_shape(1))), DYNC_NONE,
                       (dync_grad_options){.retain_graph = true});
    expect_error(DYNC_ERR_AUTOGRAD, "One of the differentiated Tensors does not require grad");
    g = dync_gradients(dync_v_tensor(y), dync_v_tensor(y), DYNC_NONE, (dync_grad_options){0});
    EXPECT_VALUES(dync_as_tensor(dync_at(g, 0)), 1);
    dync_shutdown();
}

/* PyTorch 2.15's numbers: a bound that is a number takes the gradient of what meets it, one that is
 * a tensor half of it. */
TEST(clamp_at_its_bounds)
{
    float at[] = {0, 1, 0.5f, -1, 2, 0.3f}, low[] = {0, 0, 0, 0, 0, 0.5f},
          high[] = {1, 1, 1, 1, 1, 0.2f};
    DYNC_SCOPE {
        dync_tensor *x = dync_from(at, dync_shape(6), .requires_grad = true),
                    *a = dync_from(low, dync_shape(6), .requires_grad = true),
                    *b = dync_from(high, dync_shape(6), .requires_grad = true);
        dync_backward(dync_sum(dync_clamp(x, 0.0, 1.0), DYNC_ALL, false));
        EXPECT_VALUES(dync_grad(x), 0, 0, 1, 0, 0, 1);
        dync_set_grad(x, NULL);
        dync_backward(dync_sum(dync_clamp(x, DYNC_NONE, 1.0), DYNC_ALL, false));
        EXPECT_VALUES(dync_grad(x), 1, 0, 1, 1, 0, 1);
        dync_set_grad(x, NULL);
        dync_backward(dync_sum(dync_clamp(x, a, b), DYNC_ALL, false));
        EXPECT_VALUES(dync_grad(x), 0.5, 0.5, 1, 0, 0, 0);
        EXPECT_VALUES(dync_grad(a), 0.5, 0, 0, 1, 0, 0);
        EXPECT_VALUES(dync_grad(b), 0, 0.5, 0, 0, 1, 1);
        dync_set_grad(x, NULL);
        dync_backward(dync_sum(dync_clamp(x, DYNC_NONE, b), DYNC_ALL, false));
        EXPECT_VALUES(dync_grad(x), 1, 0.5, 1, 1, 0, 0);
        float ends[] = {-3, 3, 0, -4, 4};
        dync_tensor *h = dync_from(ends, dync_shape(5), .requires_grad = true);
        dync_backward(dync_sum(dync_hardswish(h), DYNC_ALL, false));
        EXPECT_VALUES(dync_grad(h), 0, 1, 0.5, 0, 1);
    }
}

TEST(double_backward)
{
    dync_tensor *x = LEAF(2), *y = dync_mul(dync_mul(x, x), x);
    dync_tensor *g =
        dync_as_tensor(dync_at(dync_gradients(dync_v_tensor(y), dync_v_tensor(x), DYNC_NONE,
                                              (dync_grad_options){.create_graph = true}),
                               0));
    EXPECT_VALUES(g, 12);
    EXPECT(dync_requires_grad(g));
    dync_tensor *h =
        dync_as_tensor(dync_at(dync_gradients(dync_v_tensor(g), dync_v_tensor(x), DYNC_NONE,
                                              (dync_grad_options){.create_graph = true}),
                               0));
    EXPECT_VALUES(h, 12);
    EXPECT_OK(dync_backward(h));
    EXPECT_VALUES(dync_grad(x), 6);
    dync_set_grad(x, NULL);
    EXPECT_OK(dync_backward_opt(dync_v_tensor(dync_exp(dync_sin(x))), DYNC_NONE,
                                (dync_grad_options){.create_graph = true}));
    EXPECT(dync_requires_grad(dync_grad(x)));
    /* the gradient's history holds x, which held the gradient */
    dync_set_grad(x, NULL);
    dync_shutdown();
}

/* The gradient of sum(w * gradient of sum(fn(x))), w = 1, 2, ... */
static dync_tensor *second_gradient(dync_tensor *(*fn)(dync_tensor *), dync_tensor *x)
{
    dync_tensor *g = dync_as_tensor(
        dync_at(dync_gradients(dync_v_tensor(dync_sum(fn(x), DYNC_ALL, false)), dync_v_tensor(x),
                               DYNC_NONE, (dync_grad_options){.create_graph = true}),
                0));
    dync_tensor *w = dync_view_as(dync_arange(1, (double)dync_numel(x) + 1, 1), x);
    return dync_as_tensor(
        dync_at(dync_gradients(dync_v_tensor(dync_sum(dync_mul(g, w), DYNC_ALL, false)),
                               dync_v_tensor(x), DYNC_NONE, (dync_grad_options){0}),
                0));
}
static dync_tensor *prod_all(dync_tensor *x) { return dync_prod(x, DYNC_ALL, false); }
static dync_tensor *prod_rows(dync_tensor *x) { return dync_prod(x, dync_shape(-1), true); }

/* d2/dx_i dx_j is the product of the others: where two are zero that is what counts. */
TEST(second_gradient_of_a_product_with_zeros)
{
    EXPECT_VALUES(second_gradient(prod_all, LEAF(0, 2, 0, 3)), 18, 0, 6, 0);
    EXPECT_VALUES(second_gradient(prod_all, LEAF(1, 2, 3)), 12, 6, 4);
    EXPECT_VALUES(second_gradient(prod_all, LEAF(0, 0, 0)), 0, 0, 0);
    dync_tensor *x =
        dync_from(((float[]){0, 2, 0, 5, 0, 7}), dync_shape(2, 3), .requires_grad = true);
    EXPECT_VALUES(second_gradient(prod_rows, x), 6, 0, 2, 35, 58, 25);
    EXPECT_VALUES(second_gradient(prod_all, x), 0, 0, 0, 0, 0, 0);
    x = dync_from(((float[]){0, 2, 1, 5, 0, 7}), dync_shape(2, 3), .requires_grad = true);
    EXPECT_VALUES(second_gradient(prod_all, x), 350, 0, 0, 0, 70, 0);
}

/* Whole quotients are flat: 1 / 0 has the gradient -inf, whose own is 0. */
TEST(second_gradients_of_remainders_by_zero)
{
    for (int k = 0; k < 2; k++) {
        dync_tensor *x = LEAF(1, 5), *y = LEAF(0, 2),
                    *r = k ? dync_remainder(x, y) : dync_fmod(x, y);
        dync_value both = dync_tuple(x, y),
                   g = dync_gradients(DYNC_V(total(r)), both, DYNC_NONE,
                                      (dync_grad_options){.create_graph = true});
        EXPECT_VALUES(dync_as_tensor(dync_at(g, 1)), -(float)INFINITY, -2);
        dync_tensor *scaled = dync_mul(dync_as_tensor(dync_at(g, 1)), dync_mul(y, 1));
        dync_value h = dync_gradients(DYNC_V(total(scaled)), both, DYNC_NONE,
                                      (dync_grad_options){.allow_unused = true});
        EXPECT_EQ_INT(dync_at(h, 0).kind, DYNC_KIND_NONE);
        EXPECT_VALUES(dync_as_tensor(dync_at(h, 1)), -(float)INFINITY, -2);
    }
}

/* y = 3 x; y[0] = exp(y[0]); loss = sum(y * y): second derivatives by hand. The written part's
 * saved result runs within its base's node. */
TEST(double_backward_through_a_written_view)
{
    dync_tensor *x = LEAF(0.5f, 2), *y = dync_mul(x, 3);
    dync_exp_(dync_select(y, 0, 0));
    dync_tensor *loss = dync_sum(dync_mul(y, y), DYNC_ALL, false);
    dync_tensor *g =
        dync_as_tensor(dync_at(dync_gradients(dync_v_tensor(loss), dync_v_tensor(x), DYNC_NONE,
                                              (dync_grad_options){.create_graph = true}),
                               0));
    EXPECT_NEAR(dync_item(dync_select(g, 0, 0)), 6 * exp(3), 1e-3);
    EXPECT_NEAR(dync_item(dync_select(g, 0, 1)), 36, 1e-4);
    dync_tensor *h =
        dync_as_tensor(dync_at(dync_gradients(dync_v_tensor(dync_sum(g, DYNC_ALL, false)),
                                              dync_v_tensor(x), DYNC_NONE, (dync_grad_options){0}),
                               0));
    EXPECT_NEAR(dync_item(dync_select(h, 0, 0)), 36 * exp(3), 1e-2);
    EXPECT_NEAR(dync_item(dync_select(h, 0, 1)), 18, 1e-4);
    EXPECT_OK(dync_error());
    dync_shutdown();
}

TEST(a_10_values)
{
    dync_tensor *x = dync_full(DYNC_SCALAR, 1.0, .requires_grad = true), *y = dync_exp(dync_sin(x));
    dync_value g = dync_gradients(dync_v_tensor(y), dync_v_tensor(x), DYNC_NONE,
                                  (dync_grad_options){.create_graph = true});
    EXPECT_NEAR(dync_item(y), 2.3197768, 1e-6);
    EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(g, 0))), 1.2533808, 1e-6);
    dync_shutdown();
}

static dync_tensor *copied(dync_tensor *x, dync_tensor *y) { return dync_copy_(x, y); }
static dync_tensor *filled(dync_tensor *x, dync_tensor *y)
{
    return dync_masked_fill_(x, dync_ge(x, 0), y);
}
TEST(integers_written_with_what_has_history)
{
    static const char *const on[] = {NULL, "eager", "aot_eager", "inductor"};
    for (int i = 0; i < 8; i++) {
        dync_tensor *(*fn)(dync_tensor *, dync_tensor *) = i < 4 ? copied : filled;
        dync_tensor *x = dync_zeros(dync_shape(3), .dtype = DYNC_I8),
                    *y = dync_mul(dync_full(DYNC_SCALAR, 2.0, .requires_grad = true), 2), *z;
        dync_compiled *f = on[i % 4] ? dync_compile(fn, .backend = on[i % 4]) : NULL;
        z = f ? dync_call(f, x, y) : fn(x, y);
        EXPECT(z && !dync_requires_grad(z) && dync_is_leaf(z) && !dync_requires_grad(x));
        dync_compiled_free(f);
    }
    EXPECT_OK(dync_error());
}
/* Any of the three operands may be the only one that wants a gradient: what is saved for the others
 * is not there then. */
TEST(lerp_for_each_set_of_operands)
{
    for (int want = 1; want < 8; want++) {
        dync_tensor *x[3];
        for (int i = 0; i < 3; i++)
            x[i] = dync_full(dync_shape(2), 0.25 * (i + 1), .requires_grad = (want >> i & 1) != 0);
        dync_tensor *y = dync_lerp(x[0], x[1], x[2]);
        EXPECT_OK(dync_backward_with(y, dync_full(dync_shape(2), 2.0)));
        const double gradient[3] = {2 * 0.25, 2 * 0.75, 2 * 0.25}; /* 1 - w, w, b - a */
        for (int i = 0; i < 3; i++) {
            dync_tensor *g = dync_grad(x[i]);
            EXPECT((g != NULL) == ((want >> i & 1) != 0));
            if (g) EXPECT_NEAR(dync_item(dync_select(g, 0, 0)), gradient[i], 1e-6);
        }
    }
}

/* The gradients of attention that come from its products: of a key that is the value too, and of a
 * value made from the key, each argument counts once. */
TEST(attention_of_one_tensor_twice)
{
    double found[2][2];
    for (int made = 0; made < 2; made++)
        for (int apart = 0; apart < 2; apart++) {
            dync_manual_seed(3);
            dync_tensor *q = dync_randn(dync_shape(1, 1, 6, 8), .dtype = DYNC_F64),
                        *leaf = dync_randn(dync_shape(1, 1, 2, 8), .dtype = DYNC_F64,
                                           .requires_grad = true),
                        *m = dync_randn(dync_shape(6, 1), .dtype = DYNC_F64, .requires_grad = true);
            dync_tensor *k = dync_clone(leaf), *v = made ? dync_mul(k, 2) : k;
            dync_tensor *y;
            if (apart) { /* the same by products and a softmax */
                dync_tensor *s = dync_mul(dync_matmul(q, dync_transpose(k, -2, -1)), 0.5);
                y = dync_matmul(dync_softmax(dync_add(s, m), -1), v);
            } else {
                y = dync_scaled_dot_product_attention(q, k, v, m, 0.0, false, 0.5);
            }
            dync_value g = dync_gradients(DYNC_V(dync_sum(dync_mul(y, y), DYNC_ALL, false)),
                                          DYNC_V(leaf), DYNC_NONE,
                                          (dync_grad_options){.create_graph = true});
            dync_tensor *of = dync_as_tensor(g.kind == DYNC_KIND_LIST ? dync_at(g, 0) : g);
            found[made][apart] = dync_item(dync_sum(dync_mul(of, of), DYNC_ALL, false));
        }
    for (int made = 0; made < 2; made++)
        EXPECT_NEAR(found[made][0], found[made][1], 1e-9 * found[made][1]);
    EXPECT_OK(dync_error());
}

/* Of all elements the NaN ones share the gradient, as equal ones do; amax's is NaN everywhere. The
 * norms of infinite order give NaN elements nothing. Values: PyTorch 2.15. */
TEST(extremes_of_nan)
{
    dync_tensor *x = LEAF(NAN, NAN, 2), *y = LEAF(1, NAN, 2), *z = LEAF(1, NAN, 2),
                *w = LEAF(3, -3, 1), *v = LEAF(1, NAN, 2), *u = LEAF(3, NAN, 1);
    EXPECT_OK(dync_backward(dync_max(x)));
    EXPECT_OK(dync_backward(dync_min(y)));
    EXPECT_OK(dync_backward(dync_amax(z, DYNC_ALL, false)));
    EXPECT_VALUES(dync_grad(x), 0.5f, 0.5f, 0);
    EXPECT_VALUES(dync_grad(y), 0, 1, 0);
    EXPECT_VALUES(dync_grad(z), NAN, NAN, NAN);
    EXPECT_OK(dync_backward(dync_norm(w, INFINITY, DYNC_ALL, false)));
    EXPECT_OK(dync_backward(dync_norm(v, INFINITY, DYNC_ALL, false)));
    dync_tensor *least = dync_norm(u, -INFINITY, DYNC_ALL, false);
    EXPECT(isnan(dync_item(dync_detach(least))));
    EXPECT_OK(dync_backward(least));
    EXPECT_VALUES(dync_grad(w), 0.5f, -0.5f, 0);
    EXPECT_VALUES(dync_grad(v), 0, 0, 0);
    EXPECT_VALUES(dync_grad(u), 0, 0, 0);
}

/* PyTorch fills a row-major copy, whatever order its operand has. */
TEST(masked_fill_is_row_major)
{
    dync_tensor *x = dync_permute(dync_randn(dync_shape(2, 3, 4)), dync_shape(2, 0, 1)),
                *mask = dync_gt(x, 0), *y = dync_masked_fill(x, mask, 0);
    EXPECT(dync_stride(y, 0) == 6 && dync_stride(y, 1) == 3 && dync_stride(y, 2) == 1);
    EXPECT(dync_equal(y, dync_where(mask, 0, x)));
}

/* floor_divide has a history that cannot be gone back through; remainder, whose gradient is made of
 * quotients, has gradients of any order. Values: PyTorch 2.15. */
TEST(quotients_of_floats)
{
    dync_tensor *x = LEAF(5, -7, 3), *by = LEAF(2, 2, 4), *y = dync_floor_divide(x, 2);
    EXPECT_VALUES(dync_detach(y), 2, -4, 1);
    EXPECT(dync_requires_grad(y));
    EXPECT_EQ_INT(dync_backward(total(y)), DYNC_ERR_AUTOGRAD);
    EXPECT(strstr(dync_error_message(), "derivative for floor_divide is not implemented"));
    dync_clear_error();
    dync_tensor *rest = total(dync_mul(dync_remainder(x, by), by));
    dync_value g = dync_gradients(dync_v_tensor(rest), dync_v_tensor(by), DYNC_NONE,
                                  (dync_grad_options){.create_graph = true});
    EXPECT_VALUES(dync_detach(dync_at(g, 0).as.t), -3, 9, 3);
    EXPECT_OK(dync_backward(total(dync_at(g, 0).as.t)));
    EXPECT_VALUES(dync_grad(by), -4, 8, 0);
    EXPECT_VALUES(dync_grad(x), 1, 1, 1);
}

static bool strides_are(dync_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t want[4] = {a, b, c, d};
    for (int i = 0; i < dync_ndim(t); i++)
        if (dync_stride(t, i) != want[i]) return false;
    return dync_ndim(t) <= 4;
}

/* Attention's result and gradients lie as query, key and value do; row major where the value's
 * width is another. Values: PyTorch 2.15. */
TEST(attention_lies_as_its_query)
{
    for (int heads = 0; heads < 2; heads++) {
        dync_tensor *q = dync_randn(heads ? dync_shape(2, 8, 3, 4) : dync_shape(2, 3, 8, 4)),
                    *k = dync_randn(dync_shape(2, 3, 6, 4)),
                    *v = dync_randn(dync_shape(2, 3, 6, 5));
        if (heads) q = dync_transpose(q, 1, 2);
        dync_tensor *y = dync_scaled_dot_product_attention(q, k, k, NULL, 0, false, DYNC_NONE),
                    *z = dync_scaled_dot_product_attention(q, k, v, NULL, 0, false, DYNC_NONE);
        EXPECT(heads ? strides_are(y, 96, 4, 12, 1) : strides_are(y, 96, 32, 4, 1));
        EXPECT(strides_are(z, 120, 40, 5, 1));
    }
}

/* A sum of one operand is taken behind the dims of the output. */
TEST(einsum_of_one_is_row_major)
{
    dync_tensor *x = dync_randn(dync_shape(3, 5, 2)), *y = dync_einsum("abc->cb", dync_tuple(x));
    EXPECT(strides_are(y, 5, 1, 0, 0));
    dync_tensor *off = dync_sub(y, dync_t(dync_sum(x, dync_shape(0), false)));
    EXPECT(dync_item(dync_max(dync_abs(off))) < 1e-5);
}

/* What is summed over one element is a product of elements, and lies as one. */
TEST(einsum_over_one_is_a_product)
{
    dync_tensor *x = dync_randn(dync_shape(9, 8, 1)), *w = dync_randn(dync_shape(1, 8));
    EXPECT(strides_are(dync_einsum("abc,cb->ab", dync_tuple(x, w)), 8, 1, 0, 0));
    EXPECT(strides_are(dync_einsum("abc,cb->ba", dync_tuple(x, w)), 1, 8, 0, 0));
    dync_tensor *y = dync_mul(dync_select(x, 2, 0), w);
    EXPECT(dync_equal(dync_einsum("abc,cb->ab", dync_tuple(x, w)), y));
}

/* Padding may leave nothing: no elements, gradients of zeros. */
TEST(transposed_convolution_without_result)
{
    dync_tensor *x = dync_randn(dync_shape(2, 4, 3, 3)), *w = dync_randn(dync_shape(4, 1, 1, 3)),
                *bias = LEAF(1, 2);
    x = dync_requires_grad_(x, true), w = dync_requires_grad_(w, true);
    dync_tensor *y = dync_conv_transpose2d(x, w, bias, dync_shape(3, 1), dync_shape(4, 0),
                                           dync_shape(1, 0), 2, dync_shape(1, 1));
    EXPECT(y && dync_ndim(y) == 4 && dync_size(y, 2) == 0 && dync_size(y, 1) == 2);
    EXPECT_OK(dync_backward(total(y)));
    EXPECT(dync_grad(w) && dync_item(dync_sum(dync_abs(dync_grad(w)), DYNC_ALL, false)) == 0);
    EXPECT_VALUES(dync_grad(bias), 0, 0);
}

TEST_MAIN
