/* tests/matrix/values.h: results of every kind: tuples, numbers, text, nothing; dtypes. */
FUNCTION(none_number_tensors)
{
    return dync_tuple(DYNC_V(DYNC_NONE), DYNC_V(3), ARG(1), dync_add(ARG(1), 0));
}
FUNCTION(nested_and_empty)
{
    return dync_tuple(dync_tuple(ARG(0), dync_tuple(dync_mul(ARG(0), ARG(1)))),
                      dync_tuple_of(0, NULL));
}
FUNCTION(nested_and_text)
{
    return dync_tuple(dync_tuple(dync_tuple(dync_tuple(ARG(0)))),
                      dync_tuple(dync_tuple_of(0, NULL)), DYNC_V(2.5), DYNC_V("abc"), DYNC_TRUE);
}
FUNCTION(nothing) { return DYNC_NONE; }
FUNCTION(empty_tuple) { return dync_tuple_of(0, NULL); }
FUNCTION(constant_made) { return DYNC_V(dync_ones(dync_shape(2, 2))); }
FUNCTION(full_and_product)
{
    dync_tensor *z = dync_full(dync_shape(3, 4), 2);
    return dync_tuple(dync_mul(z, ARG(0)), z);
}
FUNCTION(arange_and_product)
{
    dync_tensor *z = dync_arange(0, 4, 1);
    return dync_tuple(dync_mul(z, ARG(0)), z);
}
FUNCTION(random_after_seed)
{
    dync_manual_seed(3);
    return dync_tuple(dync_add(dync_randn(dync_shape(3, 4)), ARG(0)));
}
FUNCTION(two_casts)
{
    return dync_tuple(dync_to_dtype(ARG(0), DYNC_F32), dync_to_dtype(ARG(0), DYNC_F64));
}
FUNCTION(joined_with_empty)
{
    dync_tensor *z = dync_empty(dync_shape(0, 4));
    return dync_tuple(dync_cat(dync_tuple(ARG(0), z), 0), z);
}
FUNCTION(the_same_list_twice)
{
    dync_value l = dync_tuple(ARG(0), dync_mul(ARG(1), 2));
    return dync_tuple(l, l, dync_at(l, 0));
}
FUNCTION(integers_divided)
{
    dync_tensor *y = dync_div(dync_to_dtype(dync_mul(ARG(0), 4), DYNC_I64), 2);
    return dync_tuple(y);
}
FUNCTION(numbers_promoted)
{
    return dync_tuple(dync_add(ARG(0), DYNC_V(1.5)), dync_add(ARG(0), DYNC_V(true)),
                      dync_mul(ARG(0), DYNC_V(3)));
}
