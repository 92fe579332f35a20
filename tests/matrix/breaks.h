/* tests/matrix/breaks.h: functions with graph breaks: explicit, branches, items; scopes. */
FUNCTION(break_before_write)
{
    dync_graph_break("x");
    dync_mul_(ARG(0), 2);
    return dync_tuple(dync_view(ARG(0), dync_shape(-1)));
}
FUNCTION(view_written_between_breaks)
{
    dync_tensor *v = dync_view(ARG(0), dync_shape(-1));
    dync_graph_break("x");
    dync_mul_(v, 2);
    dync_graph_break("y");
    return dync_tuple(dync_mul(ARG(0), ARG(1)), v);
}
FUNCTION(view_of_value_over_break)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(1));
    dync_tensor *v = dync_view(y, dync_shape(-1));
    dync_graph_break("x");
    dync_mul_(v, 2);
    return dync_tuple(y, v);
}
FUNCTION(detached_over_break)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(1));
    dync_graph_break("x");
    return dync_tuple(dync_detach(y), dync_view(y, dync_shape(-1)));
}
FUNCTION(branch_on_sum)
{
    if (dync_bool(dync_gt(total(ARG(1)), 0))) return dync_tuple(dync_mul(ARG(0), 2));
    return dync_tuple(dync_view(ARG(0), dync_shape(-1)));
}
FUNCTION(returns_early_or_item)
{
    dync_tensor *y = dync_tanh(ARG(0));
    if (dync_bool(dync_gt(total(y), 100))) return DYNC_V(y);
    dync_mul_(y, 2);
    return dync_tuple(y,
                      dync_item(total(dync_detach(ARG(1)))) > 0 ? dync_add(y, 1) : dync_sub(y, 1));
}
FUNCTION(break_without_grad)
{
    DYNC_NO_GRAD {
        dync_graph_break("in");
        dync_add_(ARG(0), 1);
    }
    return dync_tuple(dync_mul(ARG(0), ARG(1)));
}
FUNCTION(softmax_break_product)
{
    dync_tensor *y = dync_softmax(ARG(0), 1);
    dync_graph_break("b");
    dync_tensor *z = dync_matmul(y, dync_transpose(ARG(1), 0, 1));
    dync_mul_(ARG(1), 2);
    return dync_tuple(total(z), ARG(1));
}
FUNCTION(written_around_break)
{
    dync_add_(ARG(2), 1);
    dync_graph_break("a");
    dync_add_(ARG(2), 1);
    return dync_tuple(dync_mul(ARG(2), ARG(0)), ARG(2));
}
FUNCTION(row_seen_over_breaks)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_tensor *v = row(y, 1);
    dync_graph_break("a");
    dync_mul_(y, 2);
    dync_graph_break("b");
    return dync_tuple(v, y);
}
FUNCTION(random_around_break)
{
    dync_tensor *r = dync_rand(dync_shape(3, 4));
    dync_graph_break("r");
    return dync_tuple(dync_add(r, dync_rand(dync_shape(3, 4))), ARG(0));
}
FUNCTION(view_after_break_written)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(1));
    dync_graph_break("a");
    dync_tensor *z = dync_view(y, dync_shape(-1));
    dync_graph_break("b");
    dync_add_(z, 1);
    return dync_tuple(y, z, ARG(1));
}
FUNCTION(breaks_in_loop)
{
    dync_tensor *acc = ARG(0);
    for (int i = 0; i < 4; i++) {
        acc = dync_add(acc, ARG(1));
        if (i % 2) dync_graph_break("loop");
    }
    return dync_tuple(acc);
}
FUNCTION(branches_in_loop)
{
    dync_tensor *acc = ARG(0);
    for (int i = 0; i < 3; i++)
        if (dync_bool(dync_gt(total(dync_detach(acc)), 0)))
            acc = dync_sub(acc, 1);
        else
            acc = dync_add(acc, 2);
    return dync_tuple(acc);
}
FUNCTION(scaled_by_greatest)
{
    double s = dync_item(dync_max(dync_detach(ARG(0))));
    return dync_tuple(dync_mul(ARG(0), s), DYNC_V(s));
}
FUNCTION(written_after_item)
{
    dync_tensor *y = dync_exp(ARG(0));
    double s = dync_item(total(dync_detach(y)));
    dync_mul_(y, s > 1 ? 2.0 : 3.0);
    return dync_tuple(y);
}
FUNCTION(returned_without_grad)
{
    DYNC_NO_GRAD {
        dync_tensor *y = dync_mul(ARG(0), 2);
        dync_graph_break("in");
        return dync_tuple(y, dync_view(ARG(0), dync_shape(-1)));
    }
    return DYNC_NONE;
}
FUNCTION(mode_pushed_over_break)
{
    bool g = dync_grad_mode_push(false);
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_graph_break("x");
    dync_grad_mode_pop(g);
    return dync_tuple(y, dync_mul(ARG(1), y));
}
FUNCTION(mode_switched_over_break)
{
    dync_set_grad_enabled(false);
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_graph_break("x");
    dync_tensor *z = dync_mul(ARG(1), 2);
    dync_set_grad_enabled(true);
    return dync_tuple(y, z, dync_mul(y, ARG(1)));
}
FUNCTION(rows_written_over_breaks)
{
    dync_tensor *y = dync_add(ARG(0), 1);
    for (int i = 0; i < 3; i++) {
        dync_add_(row(y, i), i);
        dync_graph_break("w");
    }
    return dync_tuple(y, row(y, 1));
}
FUNCTION(view_over_break)
{
    dync_tensor *v = dync_view(dync_mul(ARG(0), 2), dync_shape(-1));
    dync_graph_break("x");
    return dync_tuple(v, dync_view(v, dync_shape(3, 4)));
}
FUNCTION(detached_written_over_break)
{
    dync_tensor *y = dync_sin(ARG(0));
    dync_tensor *z = dync_detach(y);
    dync_graph_break("k");
    dync_mul_(z, 2);
    return dync_tuple(y, z);
}
FUNCTION(branch_not_taken)
{
    dync_tensor *y = dync_add(ARG(0), ARG(1));
    if (dync_bool(dync_gt(total(dync_detach(y)), 1e9))) dync_mul_(ARG(0), 2);
    return dync_tuple(dync_view(y, dync_shape(-1)), y);
}
FUNCTION(printed_as_text)
{
    char *s = dync_str(dync_detach(ARG(2)));
    return dync_tuple(dync_mul(ARG(0), s ? 2 : 1));
}
FUNCTION(data_asked)
{
    float *d = dync_data(dync_detach(ARG(2)));
    return dync_tuple(dync_mul(ARG(0), d ? 2 : 1));
}
FUNCTION(equality_asked)
{
    bool e = dync_equal(ARG(0), ARG(1));
    return dync_tuple(dync_mul(ARG(0), e ? 2 : 3), DYNC_V(e));
}
FUNCTION(set_twice_then_break)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_set_(y, dync_mul(ARG(2), 3));
    dync_set_(y, ARG(1));
    dync_graph_break("z");
    return dync_tuple(dync_mul(y, 2), y);
}
FUNCTION(set_to_view_then_break)
{
    dync_set_(ARG(0), dync_view(ARG(1), dync_shape(2, 6)));
    dync_graph_break("z");
    return dync_tuple(dync_mul(ARG(0), 2), ARG(0));
}
FUNCTION(rows_copied_over_breaks)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_tensor *a0 = row(y, 0), *b0 = row(y, 1);
    dync_graph_break("p");
    dync_copy_(a0, b0);
    dync_graph_break("q");
    dync_add_(b0, a0);
    return dync_tuple(y, a0, b0);
}
FUNCTION(input_view_over_breaks)
{
    dync_tensor *v = dync_view(ARG(0), dync_shape(12));
    dync_graph_break("p");
    dync_mul_(ARG(0), 2);
    dync_graph_break("q");
    return dync_tuple(dync_add(v, 0), v);
}
FUNCTION(view_written_over_break_without_grad)
{
    dync_tensor *v = dync_view(ARG(0), dync_shape(12));
    DYNC_NO_GRAD {
        dync_graph_break("p");
        dync_mul_(v, 2);
    }
    return dync_tuple(dync_mul(v, ARG(0) == NULL ? 1 : 2));
}
FUNCTION(number_from_branches)
{
    dync_tensor *s = total(dync_detach(ARG(0)));
    for (int i = 0; i < 3; i++) {
        if (dync_bool(dync_gt(s, i)))
            s = dync_add(s, 1);
        else
            s = dync_sub(s, 1);
    }
    return dync_tuple(dync_mul(ARG(0), s));
}
FUNCTION(list_written_over_breaks)
{
    dync_value l = dync_tuple(ARG(0), ARG(1));
    for (int i = 0; i < dync_len(l); i++) {
        dync_graph_break("it");
        dync_add_(dync_as_tensor(dync_at(l, i)), 1);
    }
    return dync_tuple(l);
}
static dync_tensor *sine_deep(dync_tensor *x, int d)
{
    if (d == 0) return x;
    dync_tensor *y = dync_sin(x);
    if (d == 2) dync_graph_break("deep");
    return dync_mul(sine_deep(y, d - 1), 2);
}
FUNCTION(break_deep_inside) { return dync_tuple(sine_deep(ARG(0), 4)); }
FUNCTION(places_of_positive)
{
    dync_tensor *i = dync_nonzero(dync_gt(dync_detach(ARG(2)), 0));
    return dync_tuple(i, dync_mul(ARG(0), 2));
}
FUNCTION(positive_selected)
{
    dync_tensor *i = dync_masked_select(ARG(0), dync_gt(dync_detach(ARG(0)), 0));
    return dync_tuple(total(dync_mul(i, 2)), i);
}
FUNCTION(selected_then_written)
{
    dync_tensor *i = dync_masked_select(ARG(0), dync_gt(dync_detach(ARG(0)), 0));
    dync_add_(ARG(0), 1);
    return dync_tuple(dync_mul(i, 2), ARG(0));
}
FUNCTION(printed_around)
{
    dync_host_print("");
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_host_print("");
    return dync_tuple(y, dync_mul(y, 3));
}
FUNCTION(error_cleared_inside)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_clear_error();
    return dync_tuple(y);
}
FUNCTION(scope_inside)
{
    DYNC_SCOPE {
        dync_tensor *y = dync_mul(ARG(0), 2);
        dync_add_(ARG(0), y);
    }
    return dync_tuple(ARG(0), dync_mul(ARG(0), 1));
}
FUNCTION(escaped_over_break)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE {
        y = dync_escape(dync_mul(ARG(0), 2));
        dync_graph_break("s");
    }
    return dync_tuple(y);
}
FUNCTION(escaped_twice)
{
    dync_tensor *y = NULL;
    DYNC_SCOPE {
        dync_tensor *q = dync_mul(ARG(0), 2);
        DYNC_SCOPE {
            dync_graph_break("s");
            y = dync_escape(dync_escape(dync_add(q, 1)));
        }
    }
    return dync_tuple(y, ARG(1));
}
FUNCTION(retained_over_break)
{
    dync_tensor *y = dync_retain(dync_mul(ARG(0), 2));
    dync_graph_break("s");
    dync_tensor *z = dync_add(y, 1);
    dync_release(y);
    return dync_tuple(z);
}
FUNCTION(tuple_over_break)
{
    dync_value l[2] = {DYNC_V(dync_mul(ARG(0), 2)), DYNC_V(ARG(1))};
    dync_value t = dync_tuple_of(2, l);
    dync_graph_break("s");
    dync_add_(dync_as_tensor(dync_at(t, 0)), 1);
    return dync_tuple(t, t);
}
FUNCTION(expanded_over_break)
{
    dync_tensor *y = dync_expand(dync_mul(ARG(2), 2), dync_shape(3, 4));
    dync_graph_break("e");
    return dync_tuple(dync_add(y, ARG(0)), y);
}
FUNCTION(transpose_over_breaks)
{
    dync_tensor *y = dync_transpose(dync_mul(ARG(0), 2), 0, 1);
    dync_graph_break("e");
    dync_tensor *z = dync_mul(y, 2);
    dync_graph_break("f");
    return dync_tuple(z, y);
}
FUNCTION(empty_zeroed_over_break)
{
    dync_tensor *e = dync_empty(dync_shape(3, 4));
    dync_zero_(e);
    dync_graph_break("e");
    dync_add_(e, ARG(0));
    return dync_tuple(e);
}
