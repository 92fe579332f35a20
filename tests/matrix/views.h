/* tests/matrix/views.h: functions that return views, of inputs and of what they compute; set_. */
FUNCTION(input_twice) { return dync_tuple(ARG(0), ARG(0)); }
FUNCTION(second_and_view) { return dync_tuple(ARG(1), dync_view(ARG(0), dync_shape(4, 3))); }
FUNCTION(two_views_of_input)
{
    return dync_tuple(dync_view(ARG(0), dync_shape(-1)), dync_view(ARG(0), dync_shape(-1)));
}
FUNCTION(value_and_its_view)
{
    dync_tensor *y = dync_add(ARG(0), 1);
    return dync_tuple(y, dync_view(y, dync_shape(-1)));
}
FUNCTION(two_views_of_value)
{
    dync_tensor *y = dync_add(ARG(0), 1);
    return dync_tuple(dync_view(y, dync_shape(-1)), dync_view(y, dync_shape(4, 3)));
}
FUNCTION(set_to_input)
{
    dync_tensor *y = dync_clone(ARG(0));
    dync_set_(y, ARG(1));
    return dync_tuple(dync_mul(y, 2));
}
FUNCTION(input_set_to_copy)
{
    dync_set_(ARG(0), dync_clone(ARG(1)));
    return dync_tuple(dync_mul(ARG(0), 2));
}
FUNCTION(input_set_to_value)
{
    dync_set_(ARG(0), dync_mul(ARG(1), 3));
    dync_add_(ARG(0), 1);
    return dync_tuple(ARG(0));
}
FUNCTION(product_row_filled)
{
    dync_tensor *y = dync_mul(ARG(0), ARG(1));
    dync_tensor *z = row(y, 0);
    dync_fill_(z, 0);
    return dync_tuple(y, z);
}
FUNCTION(expanded_and_product)
{
    dync_tensor *y = dync_expand(ARG(2), dync_shape(3, 4));
    return dync_tuple(y, dync_mul(y, ARG(0)));
}
FUNCTION(strided_square)
{
    dync_tensor *y = dync_as_strided(ARG(0), dync_shape(2, 2), dync_shape(1, 1), 0);
    return dync_tuple(dync_mul(y, 2), y);
}
FUNCTION(rows_and_transpose_written)
{
    dync_tensor *p = dync_add(ARG(0), 1);
    dync_add_(row(p, 0), row(ARG(1), 2));
    dync_mul_(dync_transpose(p, 0, 1), 2);
    return dync_tuple(total(p), row(p, 1));
}
FUNCTION(rows_exchanged)
{
    dync_tensor *y = dync_mul(ARG(0), 2), *z = dync_mul(ARG(1), 3);
    dync_copy_(row(y, 0), row(z, 1));
    dync_copy_(row(z, 0), row(y, 1));
    return dync_tuple(y, z);
}
FUNCTION(squeezed_back)
{
    dync_tensor *y = dync_squeeze(dync_unsqueeze(ARG(0), 0), 0);
    return dync_tuple(y, ARG(0));
}
FUNCTION(inputs_themselves) { return dync_tuple(ARG(0), ARG(1), ARG(2)); }
FUNCTION(shallow_copy_written)
{
    dync_tensor *y = dync_shallow_copy(ARG(0));
    dync_add_(y, 1);
    return dync_tuple(y, dync_mul(ARG(0), 2));
}
FUNCTION(joined_and_row)
{
    dync_value o = dync_tuple(ARG(0), ARG(1));
    dync_tensor *c = dync_cat(o, 0);
    dync_mul_(c, 2);
    return dync_tuple(c, row(c, 2));
}
FUNCTION(rows_from_next_rows)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    for (int i = 0; i < 3; i++) dync_add_(row(y, i), dync_mul(row(y, (i + 1) % 3), 0.5));
    return dync_tuple(y);
}
FUNCTION(input_set_to_input)
{
    dync_set_(ARG(0), ARG(1));
    dync_mul_(ARG(0), 2);
    return dync_tuple(dync_add(ARG(1), 1));
}
FUNCTION(inputs_exchanged_by_set)
{
    dync_tensor *t = dync_clone(ARG(0));
    dync_set_(ARG(0), ARG(1));
    dync_set_(ARG(1), t);
    return dync_tuple(dync_sub(ARG(0), ARG(1)));
}
FUNCTION(diagonals)
{
    return dync_tuple(dync_diagonal(dync_mul(ARG(0), 2), 0, 0, 1), dync_diagonal(ARG(0), 0, 0, 1));
}
FUNCTION(diagonal_filled)
{
    dync_tensor *y = dync_clone(ARG(0));
    dync_fill_(dync_diagonal(y, 0, 0, 1), 0);
    return dync_tuple(dync_mul(y, ARG(1)));
}
FUNCTION(transpose_twice)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    return dync_tuple(dync_transpose(y, 0, 1), dync_transpose(y, 0, 1));
}
FUNCTION(view_and_view_of_view)
{
    dync_tensor *y = dync_view(ARG(0), dync_shape(-1));
    return dync_tuple(dync_unsqueeze(y, 0), dync_mul(y, 2));
}
FUNCTION(value_twice_and_view)
{
    dync_tensor *y = dync_sin(ARG(0));
    return dync_tuple(y, y, dync_view(y, dync_shape(-1)));
}
FUNCTION(view_of_value_scaled)
{
    dync_tensor *y = dync_sin(ARG(0));
    dync_tensor *v = dync_view(y, dync_shape(-1));
    dync_mul_(v, 2);
    return dync_tuple(v);
}
FUNCTION(split_parts)
{
    dync_value v = dync_split(ARG(0), 1, 0);
    return dync_tuple(dync_at(v, 0), dync_at(v, 2));
}
FUNCTION(unbound)
{
    dync_value v = dync_unbind(dync_mul(ARG(0), 2), 0);
    return dync_tuple(v);
}
FUNCTION(chunk_scaled)
{
    dync_value v = dync_chunk(ARG(0), 2, 1);
    dync_tensor *a0 = dync_as_tensor(dync_at(v, 0));
    return dync_tuple(dync_mul(a0, 2), dync_at(v, 1));
}
FUNCTION(zeros_copied_to)
{
    dync_tensor *z = dync_zeros(dync_shape(3, 4));
    dync_copy_(z, ARG(0));
    return dync_tuple(z, dync_add(z, 1));
}
FUNCTION(zeros_row_copied_to)
{
    dync_tensor *z = dync_zeros(dync_shape(3, 4));
    dync_copy_(row(z, 1), ARG(2));
    return dync_tuple(z);
}
FUNCTION(set_to_value)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_set_(y, dync_mul(ARG(1), 3));
    return dync_tuple(y);
}
FUNCTION(view_written_after_set)
{
    dync_tensor *v = dync_view(ARG(0), dync_shape(-1));
    dync_set_(ARG(0), ARG(1));
    dync_mul_(v, 2);
    return dync_tuple(v, ARG(0));
}
FUNCTION(where_row_filled)
{
    dync_tensor *y = dync_where(dync_gt(ARG(0), 0), ARG(0), ARG(1));
    dync_fill_(row(y, 0), 7);
    return dync_tuple(y);
}
FUNCTION(running_sums_row_copied)
{
    dync_tensor *y = dync_cumsum(ARG(0), 0);
    dync_copy_(row(y, 2), row(y, 0));
    return dync_tuple(y);
}
FUNCTION(windows)
{
    dync_tensor *y = dync_unfold(ARG(2), 0, 2, 1);
    return dync_tuple(y, dync_mul(y, 2));
}
FUNCTION(views_of_views_written)
{
    dync_tensor *x = dync_clone(ARG(0));
    dync_tensor *v = dync_view(x, dync_shape(2, 6));
    dync_tensor *w = dync_view(v, dync_shape(12));
    dync_add_(x, 1);
    dync_mul_(w, 2);
    dync_sub_(v, 3);
    return dync_tuple(x, v, w);
}
FUNCTION(contiguous_and_transposed)
{
    return dync_tuple(dync_contiguous(ARG(0)), dync_contiguous(dync_transpose(ARG(0), 0, 1)));
}
FUNCTION(the_same_by_views)
{
    return dync_tuple(dync_expand(ARG(0), dync_shape(3, 4)), dync_reshape(ARG(0), dync_shape(3, 4)),
                      dync_view(ARG(1), dync_shape(3, 4)), dync_slice(ARG(1), 0, 0, DYNC_END, 1));
}
FUNCTION(scalar_view_written)
{
    dync_tensor *s = total(ARG(0));
    dync_tensor *v = dync_view(s, dync_shape(1));
    dync_add_(v, 1);
    return dync_tuple(s, v);
}
FUNCTION(greatest_and_places)
{
    dync_value v = dync_max_dim(ARG(0), 1, false);
    return dync_tuple(v);
}
FUNCTION(sorted)
{
    dync_value v = dync_sort(ARG(0), 1, false);
    return dync_tuple(dync_at(v, 0), dync_at(v, 1));
}
FUNCTION(gathered_at_greatest)
{
    dync_tensor *y = dync_argmax(ARG(0), 1, false);
    return dync_tuple(dync_gather(ARG(0), 1, dync_unsqueeze(y, 1)), y);
}
FUNCTION(mask_negated)
{
    dync_tensor *m = dync_gt(ARG(0), 0);
    m = dync_logical_not(m);
    return dync_tuple(m);
}
FUNCTION(ones_written_after_use)
{
    dync_tensor *o = dync_ones(dync_shape(3, 4));
    dync_tensor *y = dync_mul(o, ARG(0));
    dync_add_(o, 1);
    return dync_tuple(dync_mul(o, y), o);
}
FUNCTION(shallow_copy_of_value_written)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_tensor *z = dync_shallow_copy(y);
    dync_add_(z, 1);
    return dync_tuple(y, z);
}
FUNCTION(joined_with_itself)
{
    dync_value ts = dync_tuple(ARG(0), ARG(0), ARG(1));
    return dync_tuple(dync_cat(ts, 1));
}
FUNCTION(strided_part_written)
{
    dync_tensor *y = dync_as_strided(dync_mul(ARG(0), 2), dync_shape(3, 2), dync_shape(4, 2), 1);
    dync_add_(y, 1);
    return dync_tuple(y);
}
FUNCTION(triangle_product_diagonal)
{
    dync_tensor *y = dync_tril(ARG(0), 0);
    dync_tensor *w = dync_matmul(y, dync_transpose(y, 0, 1));
    dync_add_(dync_diagonal(w, 0, 0, 1), 1);
    return dync_tuple(w);
}
FUNCTION(repeated)
{
    dync_tensor *y = dync_repeat(ARG(0), dync_shape(2, 1));
    return dync_tuple(y, dync_repeat(ARG(2), dync_shape(2)));
}
FUNCTION(rows_by_index)
{
    dync_tensor *i = dync_from(((int64_t[]){2, 0, 2}), dync_shape(3), .dtype = DYNC_I64);
    return dync_tuple(dync_index_select(ARG(0), 0, i), dync_embedding(ARG(0), i));
}
FUNCTION(expanded_columns)
{
    return dync_tuple(dync_squeeze(dync_unsqueeze(ARG(2), 1), 1),
                      dync_expand(dync_unsqueeze(ARG(2), 1), dync_shape(4, 2)));
}
FUNCTION(first_input) { return dync_tuple(ARG(0)); }
FUNCTION(second_input) { return a[1]; }
FUNCTION(row_thrice)
{
    dync_tensor *v = row(ARG(0), 0);
    return dync_tuple(v, v, row(ARG(0), 0));
}
FUNCTION(set_to_smaller)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_set_(y, dync_mul(ARG(2), 3));
    return dync_tuple(y, dync_mul(y, 2));
}
FUNCTION(set_to_transpose)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_tensor *v = row(y, 0);
    dync_set_(y, dync_transpose(dync_mul(ARG(1), 3), 0, 1));
    return dync_tuple(v, y);
}
FUNCTION(input_set_to_smaller)
{
    dync_set_(ARG(0), dync_mul(ARG(2), 3));
    return dync_tuple(ARG(0));
}
FUNCTION(shallow_copy_set)
{
    dync_tensor *y = dync_shallow_copy(ARG(0));
    dync_set_(y, ARG(2));
    return dync_tuple(y, ARG(0));
}
FUNCTION(set_then_written)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    dync_set_(y, ARG(2));
    dync_mul_(y, 2);
    return dync_tuple(y, dync_mul(ARG(2), 1));
}
FUNCTION(empty_sums)
{
    dync_tensor *e = dync_zeros(dync_shape(0, 4));
    return dync_tuple(dync_sum(e, dync_shape(0), false), dync_cat(dync_tuple(e, ARG(0)), 0),
                      dync_mul(e, 2));
}
FUNCTION(total_doubled)
{
    dync_tensor *y = total(ARG(0));
    dync_mul_(y, 2);
    return dync_tuple(y, dync_mul(y, y));
}
FUNCTION(total_expanded)
{
    dync_tensor *y = dync_view(total(ARG(0)), dync_shape(1, 1));
    return dync_tuple(dync_expand(y, dync_shape(3, 4)), y);
}
FUNCTION(empty_slices)
{
    dync_tensor *y = dync_mul(ARG(0), 2);
    return dync_tuple(dync_slice(y, 0, 0, 0, 1), dync_slice(ARG(0), 1, 4, 4, 1), y);
}
FUNCTION(flattened_one_dim)
{
    dync_tensor *y = dync_flatten(dync_mul(ARG(0), 2), 1, -1);
    return dync_tuple(dync_flatten(ARG(0), 1, 1), dync_flatten(ARG(2), 0, -1), y,
                      dync_flatten(y, -2, 0));
}
