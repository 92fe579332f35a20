/* tests/matrix/own.h: custom functions, hooks, gradients taken inside. */
FUNCTION(gradients_of_detached)
{
    dync_value v =
        dync_gradients(DYNC_V(total(dync_mul(dync_requires_grad_(dync_detach(ARG(0)), true), 2))),
                       DYNC_V(ARG(0)), DYNC_NONE, (dync_grad_options){.allow_unused = true});
    return dync_tuple(v);
}
FUNCTION(gradients_of_leaf_inside)
{
    dync_tensor *x = dync_requires_grad_(dync_detach(ARG(0)), true);
    dync_value v = dync_gradients(DYNC_V(total(dync_mul(x, ARG(1)))), DYNC_V(x), DYNC_NONE,
                                  (dync_grad_options){0});
    return dync_tuple(dync_at(v, 0), ARG(1));
}
static dync_value five_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n;
    dync_save_for_backward(c, ARG(0));
    return dync_tuple(dync_mul(ARG(0), 2));
}
static dync_value five_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n;
    dync_tensor *x = dync_saved(c, 0);
    return dync_tuple(dync_mul(ARG(0), dync_add(dync_mul(x, 0), 5)));
}
static const dync_autograd_function five = {"Five", five_forward, five_backward};
FUNCTION(own_gradient) { return dync_tuple(dync_apply(&five, ARG(0)), dync_mul(ARG(1), 2)); }
FUNCTION(own_gradient_after_break)
{
    dync_graph_break("q");
    return dync_tuple(dync_apply(&five, ARG(0)));
}
static dync_value identity_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return dync_tuple(ARG(0));
}
static dync_value identity_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return dync_tuple(dync_mul(ARG(0), 7));
}
static const dync_autograd_function identity = {"Id", identity_forward, identity_backward};
FUNCTION(own_identity_tuple) { return dync_tuple(dync_apply(&identity, ARG(0))); }
FUNCTION(own_identity_used)
{
    dync_value v = dync_apply(&identity, ARG(0));
    return dync_tuple(dync_mul(dync_as_tensor(dync_at(v, 0)), 2), v);
}
static dync_value no_gradient_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return dync_tuple(dync_mul(ARG(0), 2), dync_mul(ARG(1), 3), DYNC_V(4));
}
static dync_value no_gradient_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return dync_tuple(a[0], DYNC_NONE);
}
static const dync_autograd_function no_gradient = {"None", no_gradient_forward,
                                                   no_gradient_backward};
FUNCTION(own_none_gradient) { return dync_tuple(dync_apply(&no_gradient, ARG(0), ARG(1))); }
static dync_tensor *twice(dync_tensor *g, void *u)
{
    (void)u;
    return dync_mul(g, 2);
}
FUNCTION(hook_on_value)
{
    dync_tensor *y = dync_mul(ARG(0), 3);
    if (dync_requires_grad(y)) dync_register_hook(y, twice, NULL);
    return dync_tuple(dync_mul(y, ARG(1)), y);
}
FUNCTION(hook_on_input)
{
    if (dync_requires_grad(ARG(0))) dync_register_hook(ARG(0), twice, NULL);
    return dync_tuple(dync_mul(ARG(0), ARG(1)));
}
FUNCTION(hooks_around_break)
{
    dync_tensor *y = dync_mul(ARG(0), 3);
    if (dync_requires_grad(y)) {
        dync_register_hook(y, twice, NULL);
        dync_graph_break("h");
        dync_register_hook(y, twice, NULL);
    }
    return dync_tuple(dync_mul(y, ARG(1)), y);
}
static dync_value two_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n;
    dync_save_for_backward(c, ARG(0));
    return dync_tuple(dync_mul(ARG(0), 2), dync_mul(ARG(0), ARG(1)));
}
static dync_value two_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return dync_tuple(dync_add(dync_mul(ARG(0), 2), ARG(1)), DYNC_NONE);
}
static const dync_autograd_function two = {"M2", two_forward, two_backward};
FUNCTION(own_two_results) { return dync_apply(&two, ARG(0), ARG(1)); }
FUNCTION(own_two_results_one_written)
{
    dync_value v = dync_apply(&two, ARG(0), ARG(1));
    dync_tensor *p = dync_as_tensor(dync_at(v, 0));
    dync_mul_(p, 3);
    return v;
}
FUNCTION(own_two_results_viewed)
{
    dync_value v = dync_apply(&two, ARG(0), ARG(1));
    dync_tensor *p = dync_as_tensor(dync_at(v, 0));
    return dync_tuple(dync_view(dync_contiguous(p), dync_shape(-1)), v);
}
FUNCTION(own_two_results_of_transposes)
{
    dync_value v = dync_apply(&two, dync_transpose(ARG(0), 0, 1), dync_transpose(ARG(1), 0, 1));
    return dync_tuple(v, dync_mul(ARG(0), 1));
}
static dync_value one_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n;
    dync_save_for_backward(c, ARG(0));
    return DYNC_V(dync_mul(ARG(0), 2));
}
static dync_value one_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return DYNC_V(dync_mul(ARG(0), dync_add(dync_mul(dync_saved(c, 0), 0), 2)));
}
static const dync_autograd_function one = {"S1", one_forward, one_backward};
FUNCTION(own_one_result) { return dync_apply(&one, ARG(0)); }
FUNCTION(own_one_result_written)
{
    dync_value v = dync_apply(&one, ARG(0));
    dync_mul_(dync_as_tensor(v), 3);
    return v;
}
static dync_value itself_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return a[0];
}
static dync_value itself_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return DYNC_V(dync_mul(ARG(0), -1));
}
static const dync_autograd_function itself = {"Id1", itself_forward, itself_backward};
FUNCTION(own_identity) { return dync_apply(&itself, ARG(0)); }
FUNCTION(own_identity_of_value)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_value z = dync_apply(&itself, y);
    return dync_tuple(z, y);
}
FUNCTION(own_identity_written)
{
    dync_tensor *y = dync_as_tensor(dync_apply(&itself, dync_mul(ARG(0), 2)));
    dync_mul_(y, 2);
    return dync_tuple(y);
}
static dync_value view_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return DYNC_V(dync_view(ARG(0), dync_shape(2, 6)));
}
static dync_value view_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return DYNC_V(dync_mul(dync_view(ARG(0), dync_shape(3, 4)), 5));
}
static const dync_autograd_function viewed = {"Vw", view_forward, view_backward};
FUNCTION(own_view) { return dync_apply(&viewed, ARG(0)); }
FUNCTION(own_view_of_value)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    return dync_tuple(dync_apply(&viewed, y), y);
}
static dync_value in_place_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    dync_mul_(ARG(0), 2);
    return a[0];
}
static dync_value in_place_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return DYNC_V(dync_mul(ARG(0), 2));
}
static const dync_autograd_function in_place = {"Ip", in_place_forward, in_place_backward};
FUNCTION(own_write_of_value)
{
    dync_tensor *y = dync_mul(ARG(0), 3);
    return dync_tuple(dync_apply(&in_place, y), y);
}
FUNCTION(own_write_of_input) { return dync_tuple(dync_apply(&in_place, ARG(0))); }
static dync_value saved_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n;
    dync_tensor *y = dync_exp(ARG(0));
    dync_save_for_backward(c, y);
    return DYNC_V(y);
}
static dync_value saved_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n;
    return DYNC_V(dync_mul(ARG(0), dync_saved(c, 0)));
}
static const dync_autograd_function saved = {"Sv", saved_forward, saved_backward};
FUNCTION(own_saved_result)
{
    dync_tensor *y = dync_as_tensor(dync_apply(&saved, ARG(0)));
    return dync_tuple(y, dync_mul(y, ARG(1)));
}
FUNCTION(own_saved_result_over_break)
{
    dync_tensor *y = dync_as_tensor(dync_apply(&saved, ARG(0)));
    dync_graph_break("x");
    return dync_tuple(dync_mul(y, ARG(1)), dync_view(y, dync_shape(-1)));
}
static dync_value mixed_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return dync_tuple(dync_mul(ARG(0), 2), dync_to_dtype(ARG(0), DYNC_I64), dync_gt(ARG(0), 0));
}
static dync_value mixed_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return DYNC_V(dync_mul(ARG(0), 2));
}
static const dync_autograd_function mixed = {"In", mixed_forward, mixed_backward};
FUNCTION(own_mixed_dtypes) { return dync_apply(&mixed, ARG(0)); }
static dync_value detached_forward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return dync_tuple(dync_detach(ARG(0)), dync_view(dync_detach(ARG(1)), dync_shape(-1)));
}
static dync_value detached_backward(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)n, (void)c;
    return dync_tuple(ARG(0), dync_view(ARG(1), dync_shape(3, 4)));
}
static const dync_autograd_function detached_function = {"Df", detached_forward, detached_backward};
FUNCTION(own_detached) { return dync_apply(&detached_function, ARG(0), ARG(1)); }
FUNCTION(backward_inside)
{
    dync_tensor *y = dync_mul(dync_detach(ARG(0)), 2);
    dync_requires_grad_(y, true);
    dync_tensor *z = total(dync_mul(y, y));
    dync_backward(z);
    return dync_tuple(dync_grad(y));
}
FUNCTION(gradients_with_graph)
{
    if (!dync_requires_grad(ARG(0))) return dync_tuple(ARG(0));
    dync_tensor *z = total(dync_mul(ARG(0), ARG(0)));
    dync_value g = dync_gradients(DYNC_V(z), DYNC_V(ARG(0)), DYNC_NONE,
                                  (dync_grad_options){.create_graph = true});
    return dync_tuple(g);
}
FUNCTION(gradients_inside)
{
    if (!dync_requires_grad(ARG(0))) return dync_tuple(ARG(0));
    dync_tensor *z = total(dync_mul(ARG(0), ARG(0)));
    dync_value g = dync_gradients(DYNC_V(z), DYNC_V(ARG(0)), DYNC_NONE, (dync_grad_options){0});
    return dync_tuple(g, dync_mul(ARG(0), 3));
}
FUNCTION(backward_then_grad_taken)
{
    if (!(dync_requires_grad(ARG(0)) && dync_is_leaf(ARG(0)))) return dync_tuple(ARG(0));
    dync_backward(total(dync_mul(ARG(0), ARG(1))));
    dync_tensor *g = dync_grad(ARG(0));
    dync_tensor *y = dync_mul(g, 2);
    dync_set_grad(ARG(0), NULL);
    return dync_tuple(y);
}
FUNCTION(step_inside)
{
    if (!(dync_requires_grad(ARG(0)) && dync_is_leaf(ARG(0)))) return dync_tuple(ARG(0));
    dync_backward(total(dync_mul(ARG(0), ARG(1))));
    DYNC_NO_GRAD {
        dync_sub_(ARG(0), dync_mul(dync_grad(ARG(0)), 0.1));
    }
    return dync_tuple(dync_mul(ARG(0), 1));
}
