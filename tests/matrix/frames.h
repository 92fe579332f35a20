/* tests/matrix/frames.h: frames inside: inlined, disabled, allowed in the graph. */
static dync_value scaled_and_view(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    dync_mul_(ARG(0), 2);
    return dync_tuple(ARG(0), dync_view(ARG(0), dync_shape(-1)));
}
FUNCTION(frame_written)
{
    dync_value v = dync_frame_values(dync_fnv(scaled_and_view), "scaled_and_view", 1, a);
    return dync_tuple(v, dync_mul(ARG(0), 1));
}
FUNCTION(frame_disabled)
{
    dync_value v = dync_frame_values(dync_disable(scaled_and_view), "scaled_and_view", 1, a);
    return dync_tuple(v, dync_mul(ARG(0), 1));
}
static dync_value broken_inside(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    dync_tensor *y = dync_sin(ARG(0));
    dync_graph_break("i");
    return dync_tuple(dync_mul(y, 2), ARG(0));
}
FUNCTION(frame_with_break)
{
    dync_tensor *p = dync_cos(ARG(1));
    dync_value v = dync_frame_values(dync_fnv(broken_inside), "broken_inside", 1, a);
    return dync_tuple(v, dync_mul(dync_as_tensor(dync_at(v, 0)), p));
}
static dync_tensor *sine_break_cosine(dync_tensor *x)
{
    dync_tensor *y = dync_sin(x);
    dync_graph_break("f");
    return dync_cos(y);
}
FUNCTION(frame_thrice)
{
    dync_tensor *y = ARG(0);
    for (int i = 0; i < 3; i++) y = dync_frame(sine_break_cosine, y);
    return dync_tuple(y, dync_mul(ARG(1), y));
}
static dync_tensor *framed_without_grad(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_NO_GRAD {
        y = dync_frame(sine_break_cosine, x);
    }
    return dync_mul(x, y);
}
FUNCTION(frames_without_grad)
{
    return dync_tuple(dync_frame(framed_without_grad, ARG(0)),
                      dync_frame(framed_without_grad, ARG(1)));
}
FUNCTION(frame_disabled_once)
{
    return dync_tuple(dync_frame(dync_disable(sine_break_cosine), ARG(0)), dync_mul(ARG(1), 2));
}
FUNCTION(allowed_with_break)
{
    dync_tensor *y = dync_frame(dync_allow_in_graph(sine_break_cosine), ARG(0));
    return dync_tuple(dync_mul(y, 2), y);
}
static dync_tensor *doubled_sine(dync_tensor *x) { return dync_mul(dync_sin(x), 2); }
FUNCTION(allowed_then_written)
{
    dync_tensor *y = dync_frame(dync_allow_in_graph(doubled_sine), ARG(0));
    dync_mul_(y, 2);
    return dync_tuple(y, ARG(0));
}
static dync_tensor *scaled_and_shifted(dync_tensor *x)
{
    dync_mul_(x, 2);
    return dync_add(x, 1);
}
FUNCTION(allowed_writes)
{
    dync_tensor *z = dync_mul(ARG(0), 1);
    dync_tensor *y = dync_frame(dync_allow_in_graph(scaled_and_shifted), z);
    return dync_tuple(y, z);
}
static dync_tensor *argument_itself(dync_tensor *x) { return x; }
FUNCTION(allowed_returns_argument)
{
    dync_tensor *z = dync_mul(ARG(0), 1);
    dync_tensor *y = dync_frame(dync_allow_in_graph(argument_itself), z);
    return dync_tuple(y, z);
}
static dync_tensor *flattened(dync_tensor *x) { return dync_view(x, dync_shape(-1)); }
FUNCTION(allowed_returns_view)
{
    dync_tensor *z = dync_mul(ARG(0), 1);
    dync_tensor *y = dync_frame(dync_allow_in_graph(flattened), z);
    return dync_tuple(y, z);
}
FUNCTION(disabled_writes)
{
    dync_tensor *y = dync_frame(dync_disable(scaled_and_shifted), ARG(0));
    return dync_tuple(y, ARG(0), dync_mul(ARG(0), 1));
}
static dync_tensor *threes(void) { return dync_full(dync_shape(4), 3); }
FUNCTION(constant_result)
{
    dync_tensor *y = dync_frame_values(dync_assume_constant_result(threes), "threes", 0, NULL).as.t;
    return dync_tuple(dync_mul(ARG(0), y));
}
