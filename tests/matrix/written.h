/* tests/matrix/written.h: functions that write into their inputs. */
FUNCTION(scaled_then_product)
{
    dync_mul_(ARG(0), 2);
    return dync_tuple(dync_mul(ARG(0), ARG(1)));
}
FUNCTION(scaled_returned)
{
    dync_mul_(ARG(0), 2);
    return dync_tuple(ARG(0));
}
FUNCTION(row_added_to)
{
    dync_add_(row(ARG(0), 1), ARG(2));
    return dync_tuple(dync_mul(ARG(0), ARG(1)));
}
FUNCTION(scaled_through_transpose)
{
    dync_tensor *v = dync_transpose(ARG(0), 0, 1);
    dync_mul_(v, 3);
    return dync_tuple(v, dync_add(ARG(0), 1));
}
FUNCTION(view_sees_write)
{
    dync_tensor *v = dync_view(ARG(0), dync_shape(-1));
    dync_add_(ARG(0), 1);
    return dync_tuple(dync_mul(v, 2));
}
FUNCTION(copied_then_source_scaled)
{
    dync_copy_(ARG(0), ARG(1));
    dync_mul_(ARG(1), 2);
    return dync_tuple(dync_sub(ARG(0), ARG(1)));
}
FUNCTION(copied_returned)
{
    dync_copy_(ARG(0), ARG(1));
    return dync_tuple(ARG(0), dync_mul(ARG(1), ARG(0)));
}
FUNCTION(overlapping_slices_written)
{
    dync_tensor *y = dync_slice(ARG(0), 1, 1, 3, 1);
    dync_tensor *z = dync_slice(ARG(0), 1, 2, 4, 1);
    dync_add_(y, 1);
    return dync_tuple(dync_mul(z, 2), z, y);
}
FUNCTION(zeroed_then_added)
{
    dync_zero_(ARG(0));
    dync_add_(ARG(0), ARG(1));
    return dync_tuple(dync_sin(ARG(0)));
}
FUNCTION(unsqueezed_scaled)
{
    dync_tensor *y = dync_unsqueeze(ARG(2), 0);
    dync_mul_(y, 2);
    return dync_tuple(dync_mul(ARG(0), ARG(2)), y);
}
FUNCTION(reshaped_transpose_scaled)
{
    dync_tensor *y = dync_reshape(dync_transpose(ARG(0), 0, 1), dync_shape(12));
    dync_mul_(y, 2);
    return dync_tuple(y, dync_add(ARG(0), 1));
}
FUNCTION(contiguous_twice_used)
{
    dync_tensor *y = dync_contiguous(ARG(0));
    return dync_tuple(y, dync_mul(y, 2));
}
FUNCTION(cast_to_same)
{
    dync_tensor *y = dync_to_dtype(ARG(0), DYNC_F32);
    return dync_tuple(y);
}
FUNCTION(cast_scaled)
{
    dync_tensor *y = dync_to_dtype(ARG(0), DYNC_F64);
    dync_mul_(y, 2);
    return dync_tuple(y, ARG(0));
}
FUNCTION(squared_and_doubled)
{
    dync_mul_(ARG(0), ARG(0));
    dync_add_(ARG(0), ARG(0));
    return dync_tuple(ARG(0), ARG(1));
}
FUNCTION(index_added)
{
    dync_tensor *i = dync_to_dtype(dync_arange(0, 4, 1), DYNC_I64);
    (void)i;
    dync_index_add_(ARG(0), 1, i, dync_mul(ARG(1), 2));
    return dync_tuple(dync_exp(ARG(0)));
}
FUNCTION(masked_filled)
{
    dync_masked_fill_(ARG(0), dync_gt(ARG(1), 0), 0.5);
    return dync_tuple(dync_mul(ARG(0), ARG(0)));
}
FUNCTION(permuted_same_added)
{
    dync_tensor *y = dync_permute(ARG(0), dync_shape(0, 1));
    dync_add_(y, 1);
    return dync_tuple(y);
}
FUNCTION(expanded_same_added)
{
    dync_tensor *y = dync_expand(ARG(0), dync_shape(3, 4));
    dync_add_(y, 1);
    return dync_tuple(y);
}
FUNCTION(factor_written_after_use)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(2));
    dync_add_(ARG(2), 1);
    return dync_tuple(dync_mul(y, ARG(2)));
}
FUNCTION(lerped)
{
    dync_lerp_(ARG(0), ARG(1), DYNC_V(0.25));
    return dync_tuple(dync_clone(ARG(0)));
}
FUNCTION(rows_written_in_turn)
{
    dync_tensor *y = row(ARG(0), 0);
    dync_tensor *z = row(ARG(1), 0);
    dync_add_(y, z);
    dync_mul_(z, y);
    return dync_tuple(dync_mul(ARG(0), ARG(1)));
}
FUNCTION(swapped_by_stack)
{
    dync_tensor *c = dync_stack(dync_tuple(ARG(0), ARG(1)), 0);
    dync_copy_(ARG(0), dync_select(c, 0, 1));
    dync_copy_(ARG(1), dync_select(c, 0, 0));
    return dync_tuple(c);
}
FUNCTION(view_scaled_other_view)
{
    dync_tensor *y = dync_view(ARG(0), dync_shape(-1));
    dync_mul_(y, 2);
    return dync_tuple(y, dync_view(ARG(0), dync_shape(2, 6)));
}
FUNCTION(copied_from_expanded)
{
    dync_copy_(ARG(0), dync_expand(dync_unsqueeze(ARG(2), 0), dync_shape(3, 4)));
    return dync_tuple(dync_sum(ARG(0), dync_shape(0), false));
}
FUNCTION(overlapping_rows_written)
{
    dync_tensor *v = dync_slice(ARG(0), 0, 0, 2, 1);
    dync_tensor *w = dync_slice(ARG(0), 0, 1, 3, 1);
    dync_mul_(v, 2);
    dync_add_(w, 1);
    return dync_tuple(v, w);
}
FUNCTION(written_nothing_returned)
{
    dync_add_(ARG(0), 1);
    return DYNC_NONE;
}
FUNCTION(square_of_input_then_written)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(0));
    dync_add_(ARG(0), 1);
    return dync_tuple(y);
}
FUNCTION(flipped_scaled)
{
    dync_tensor *y = dync_flip(ARG(0), dync_shape(1));
    dync_mul_(y, 2);
    return dync_tuple(y, ARG(0));
}
FUNCTION(narrowed_scaled)
{
    dync_tensor *y = dync_narrow(ARG(0), 1, 1, 2);
    dync_mul_(y, 3);
    return dync_tuple(y, ARG(0));
}
FUNCTION(moved_dims_scaled)
{
    dync_tensor *y = dync_movedim(ARG(0), dync_shape(0), dync_shape(1));
    dync_mul_(y, 3);
    return dync_tuple(y);
}
FUNCTION(flattened_scaled)
{
    dync_tensor *y = dync_flatten(ARG(0), 0, 1);
    dync_mul_(y, 3);
    return dync_tuple(y);
}
FUNCTION(expanded_then_written)
{
    dync_tensor *y = dync_expand(dync_unsqueeze(ARG(2), 0), dync_shape(3, 4));
    dync_tensor *z = dync_add(ARG(0), y);
    dync_add_(ARG(2), 1);
    return dync_tuple(y, z);
}
FUNCTION(centred_detached)
{
    dync_tensor *y = dync_mean(ARG(0), dync_shape(1), true);
    dync_sub_(ARG(0), dync_detach(y));
    return dync_tuple(ARG(0), y);
}
FUNCTION(centred)
{
    dync_sub_(ARG(0), dync_mean(ARG(0), dync_shape(1), true));
    return dync_tuple(dync_mul(ARG(0), ARG(0)));
}
FUNCTION(written_from_each_other)
{
    dync_mul_(ARG(0), ARG(1));
    dync_mul_(ARG(1), ARG(0));
    dync_mul_(ARG(0), ARG(1));
    return dync_tuple(dync_add(ARG(0), ARG(1)));
}
FUNCTION(column_copied)
{
    dync_tensor *v = dync_transpose(ARG(0), 0, 1);
    dync_tensor *w = row(v, 1);
    dync_copy_(w, dync_slice(ARG(2), 0, 0, 3, 1));
    return dync_tuple(w, v);
}
FUNCTION(element_added_to)
{
    dync_tensor *s = dync_select(dync_select(ARG(0), 0, 1), 0, 2);
    dync_add_(s, 1);
    return dync_tuple(s, dync_mul(ARG(0), 1));
}
FUNCTION(masked_by_itself)
{
    dync_tensor *m = dync_gt(ARG(0), 0);
    dync_masked_fill_(ARG(0), m, 0);
    return dync_tuple(m, ARG(0));
}
FUNCTION(copied_onto_itself_and_input)
{
    dync_tensor *y = dync_add(ARG(0), 1);
    dync_copy_(y, y);
    dync_copy_(ARG(1), ARG(1));
    return dync_tuple(y, ARG(1));
}
FUNCTION(input_copied_onto_itself)
{
    dync_copy_(ARG(0), ARG(0));
    return dync_tuple(ARG(0), dync_mul(ARG(0), 1));
}
FUNCTION(copied_from_its_transpose_twice)
{
    dync_copy_(ARG(0), dync_transpose(dync_clone(dync_transpose(ARG(0), 0, 1)), 0, 1));
    return dync_tuple(dync_add(ARG(0), 0));
}
FUNCTION(column_zeroed_then_added)
{
    dync_tensor *v = dync_select(ARG(0), 1, 2);
    dync_zero_(v);
    dync_add_(v, dync_select(ARG(1), 1, 0));
    return dync_tuple(dync_matmul(ARG(0), dync_transpose(ARG(1), 0, 1)));
}
FUNCTION(strided_view_scaled)
{
    dync_tensor *v = dync_as_strided(ARG(0), dync_shape(3), dync_shape(1), 0);
    dync_mul_(v, 2);
    return dync_tuple(v, dync_mul(ARG(0), ARG(1)));
}
FUNCTION(strided_view_masked)
{
    dync_tensor *x = dync_as_strided(ARG(0), dync_shape(12), dync_shape(1), 0);
    dync_tensor *m = dync_gt(x, 0);
    dync_masked_fill_(x, m, 1);
    return dync_tuple(dync_add(x, 0));
}
FUNCTION(index_added_constant)
{
    dync_tensor *i = dync_constant(((int64_t[]){2, 0}), dync_shape(2), .dtype = DYNC_I64);
    dync_index_add_(ARG(0), 0, i, dync_slice(ARG(1), 0, 0, 2, 1));
    return dync_tuple(dync_add(ARG(0), 0));
}
FUNCTION(written_on_a_branch)
{
    if (dync_bool(dync_lt(total(dync_detach(ARG(0))), 1e9))) dync_mul_(ARG(0), 2);
    return dync_tuple(ARG(0), row(ARG(0), 1));
}
FUNCTION(filled)
{
    dync_fill_(ARG(0), 3);
    return dync_tuple(dync_mul(ARG(0), ARG(1)));
}
FUNCTION(written_through_two_views)
{
    dync_mul_(dync_view(ARG(0), dync_shape(2, 6)), dync_view(ARG(1), dync_shape(2, 6)));
    dync_add_(dync_select(ARG(0), 0, 0), ARG(2));
    return dync_tuple(dync_sum(ARG(0), dync_shape(1), false), ARG(0));
}
FUNCTION(sum_added_then_shifted)
{
    dync_tensor *y = dync_sum(ARG(0), dync_shape(0), true);
    dync_add_(ARG(0), y);
    dync_sub_(y, 1);
    return dync_tuple(y, ARG(0));
}
