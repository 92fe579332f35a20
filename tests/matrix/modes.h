/* tests/matrix/modes.h: functions of gradient modes: detach, no_grad, requires_grad_, leaves made
 * inside. */
FUNCTION(detached_and_value)
{
    dync_tensor *y = dync_add(ARG(0), 1);
    return dync_tuple(dync_detach(y), y);
}
FUNCTION(detached_input_and_product)
{
    return dync_tuple(dync_detach(ARG(0)), dync_mul(ARG(0), 3));
}
FUNCTION(detached_written)
{
    dync_tensor *d = dync_detach(ARG(0));
    dync_mul_(d, 2);
    return dync_tuple(dync_add(ARG(0), ARG(1)), d);
}
FUNCTION(input_written_without_grad)
{
    DYNC_NO_GRAD {
        dync_mul_(ARG(0), 2);
    }
    return dync_tuple(dync_mul(ARG(0), ARG(1)));
}
FUNCTION(made_without_grad)
{
    dync_tensor *y = NULL;
    DYNC_NO_GRAD {
        y = dync_mul(ARG(0), 2);
    }
    return dync_tuple(y, dync_mul(y, ARG(1)));
}
FUNCTION(value_written_without_grad)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    DYNC_NO_GRAD {
        dync_add_(y, 1);
    }
    return dync_tuple(y);
}
FUNCTION(view_without_grad)
{
    dync_tensor *y = NULL;
    DYNC_NO_GRAD {
        y = dync_view(ARG(0), dync_shape(-1));
    }
    return dync_tuple(dync_add(y, 0), y);
}
FUNCTION(relu_then_squared_in_place)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(1));
    dync_relu_(y);
    dync_mul_(y, y);
    return dync_tuple(y);
}
FUNCTION(detached_made_leaf_unused)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_requires_grad_(dync_detach(y), true);
    return dync_tuple(y);
}
FUNCTION(detached_made_leaf_used)
{
    dync_tensor *y = dync_requires_grad_(dync_detach(ARG(0)), true);
    return dync_tuple(dync_mul(y, y));
}
FUNCTION(detached_zeroed)
{
    dync_tensor *y = dync_sigmoid(ARG(0));
    dync_tensor *z = dync_detach(y);
    dync_mul_(z, 0);
    return dync_tuple(dync_mul(y, ARG(1)));
}
FUNCTION(mode_switched)
{
    dync_set_grad_enabled(false);
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_set_grad_enabled(true);
    return dync_tuple(y, dync_mul(ARG(0), ARG(1)));
}
FUNCTION(requires_grad_asked)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(1));
    return dync_tuple(dync_add(y, 1), dync_requires_grad(ARG(0)) ? dync_mul(y, 2) : y);
}
FUNCTION(input_made_leaf)
{
    dync_requires_grad_(ARG(1), true);
    return dync_tuple(dync_mul(ARG(1), ARG(0)));
}
FUNCTION(detached_made_leaf_returned)
{
    dync_tensor *d = dync_detach(ARG(0));
    dync_requires_grad_(d, true);
    return dync_tuple(d);
}
FUNCTION(mode_and_leaf_asked)
{
    return dync_tuple(dync_is_grad_enabled() ? dync_mul(ARG(0), 2) : dync_mul(ARG(0), 3),
                      dync_is_leaf(ARG(1)) ? ARG(1) : ARG(0));
}
FUNCTION(detached_value_and_product)
{
    dync_tensor *y = dync_detach(dync_sin(ARG(0)));
    return dync_tuple(y, dync_mul(ARG(0), 1));
}
FUNCTION(view_of_value_without_grad)
{
    dync_tensor *y = dync_add(ARG(0), 1);
    dync_tensor *z = NULL;
    DYNC_NO_GRAD {
        z = dync_view(y, dync_shape(-1));
    }
    return dync_tuple(z, y);
}
FUNCTION(view_written_without_grad)
{
    dync_tensor *y = dync_add(ARG(0), 1);
    DYNC_NO_GRAD {
        dync_mul_(dync_view(y, dync_shape(-1)), 2);
    }
    return dync_tuple(y);
}
FUNCTION(copied_without_grad)
{
    DYNC_NO_GRAD {
        dync_copy_(ARG(0), ARG(1));
    }
    return dync_tuple(dync_mul(ARG(0), ARG(2)));
}
FUNCTION(ones_that_require_grad)
{
    dync_tensor *z = dync_ones(dync_shape(3, 4), .requires_grad = true);
    return dync_tuple(dync_mul(z, ARG(0)));
}
FUNCTION(requires_grad_chosen)
{
    bool b = dync_requires_grad(ARG(0));
    return dync_tuple(b ? dync_mul(ARG(0), 2) : dync_mul(ARG(0), 3),
                      DYNC_V((int)dync_is_leaf(ARG(0))));
}
FUNCTION(input_grad_off)
{
    dync_requires_grad_(ARG(0), false);
    return dync_tuple(dync_mul(ARG(0), 2));
}
FUNCTION(input_grad_on)
{
    dync_requires_grad_(ARG(0), true);
    return dync_tuple(dync_mul(ARG(0), 2));
}
FUNCTION(detached_row_written)
{
    dync_tensor *d = dync_detach(ARG(0));
    dync_tensor *v = row(d, 0);
    dync_add_(v, 1);
    return dync_tuple(v, dync_mul(ARG(0), ARG(1)));
}
FUNCTION(relu_shifted)
{
    dync_tensor *y = dync_relu(ARG(0));
    dync_add_(y, 1);
    return dync_tuple(y);
}
FUNCTION(exp_shifted)
{
    dync_tensor *y = dync_exp(ARG(0));
    dync_add_(y, 1);
    return dync_tuple(y);
}
FUNCTION(floored_in_place)
{
    dync_tensor *y = dync_div(ARG(0), 2);
    dync_floor_(y);
    return dync_tuple(y);
}
FUNCTION(dropout_in_eval)
{
    dync_tensor *y = dync_dropout(ARG(0), 0.5, false);
    return dync_tuple(y);
}
FUNCTION(retained_grad)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_retain_grad(y);
    return dync_tuple(dync_mul(y, 3));
}
FUNCTION(detached_factor)
{
    dync_tensor *a0 = dync_sin(ARG(0));
    dync_tensor *b = dync_cos(a0);
    dync_tensor *c = dync_detach(b);
    return dync_tuple(dync_mul(a0, c), c, dync_mul(b, dync_requires_grad(c) ? 2 : 1));
}
FUNCTION(copied_to_input_without_grad)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    DYNC_NO_GRAD {
        dync_copy_(ARG(1), y);
    }
    return dync_tuple(dync_add(y, ARG(1)), ARG(1));
}
FUNCTION(row_copied_without_grad)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(2));
    DYNC_NO_GRAD {
        dync_tensor *v = row(ARG(1), 0);
        dync_copy_(v, row(y, 0));
    }
    return dync_tuple(y);
}
FUNCTION(detached_twice)
{
    dync_tensor *d = dync_detach(ARG(0));
    return dync_tuple(d, dync_detach(d), dync_detach(ARG(1)));
}
FUNCTION(detached_around_value)
{
    dync_tensor *y = dync_sin(ARG(0));
    return dync_tuple(dync_detach(y), y, dync_detach(y));
}
FUNCTION(zeros_written_without_grad)
{
    dync_tensor *y = dync_zeros(dync_shape(3, 4));
    DYNC_NO_GRAD {
        dync_add_(y, ARG(0));
    }
    dync_add_(y, ARG(1));
    return dync_tuple(y);
}
FUNCTION(copied_from_leaf)
{
    dync_tensor *y = dync_clone(ARG(0));
    dync_requires_grad_(dync_detach(ARG(1)), true);
    dync_copy_(y, ARG(1));
    return dync_tuple(y);
}
FUNCTION(parameter_made_inside)
{
    dync_tensor *p = dync_parameter(dync_ones(dync_shape(4)));
    return dync_tuple(dync_mul(ARG(0), p), p);
}
FUNCTION(clamped_and_threshold)
{
    dync_tensor *y = dync_clamp(ARG(0), DYNC_V(-0.5), DYNC_V(0.5));
    dync_mul_(y, 2);
    dync_tensor *z = dync_threshold(ARG(1), 0, 0);
    return dync_tuple(y, z);
}
FUNCTION(value_requires_grad_again)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_requires_grad_(y, true);
    return dync_tuple(y);
}
FUNCTION(leaf_made_inside)
{
    dync_tensor *y = dync_mul(dync_detach(ARG(0)), 2);
    dync_requires_grad_(y, true);
    return dync_tuple(dync_mul(y, 3), y);
}
