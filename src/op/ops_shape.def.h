/* op/ops_shape.def.h: views, and what moves elements. Rows of ops.def.h. */
#ifndef DYNC__OPS_SHAPE_DEF_H
#define DYNC__OPS_SHAPE_DEF_H

/* clang-format off */
#define DYNC__OPS_VIEW(X)                                                                                             \
    X(alias,       VIEW, "(Tensor self)", 1, i_alias, none, none, g_alias, none, "A.*",                               \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "the same elements")                                                      \
    X(as_strided,  VIEW, "(Tensor self, Dims size, Dims stride, int64 storage_offset)", 1, i_as_strided, none, none,  \
      g_as_strided, none, "torch.*", DYNC__OP_STRIDED | DYNC__OP_BEYOND, -1,                                          \
      "any sizes, strides and offset over the storage, which they must not leave")                                    \
    X(_strided_view, VIEW, "(Tensor self, Dims size, Dims stride, int64 offset)", 1, i_strided_view, none, none,      \
      g_as_strided, none, "D.strided_view", DYNC__OP_PRIVATE | DYNC__OP_STRIDED, -1,                                  \
      "as_strided counted from self's first element; AOT makes it, under the tape")                                   \
    X(contiguous,  COMPOSITE, "(Tensor self)", 1, i_contiguous, none, none, none, d_contiguous, ".*", 0, -1,          \
      "self if it is row major, else a copy that is")                                                                 \
    X(detach,      VIEW, "(Tensor self)", 1, i_alias, none, none, none, none, ".*", DYNC__OP_NONDIFF |                \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CUTS_GRAD, -1, "the same elements, without history")                \
    X(diagonal,    VIEW, "(Tensor self, int offset, int dim1, int dim2)", 1, i_diagonal, none, none, g_diagonal,      \
      none, "torch.*", 0, -1, "the diagonal of two dims, as the last one")                                            \
    X(expand,      VIEW, "(Tensor self, Dims size)", 1, i_expand, none, none, g_expand, none, ".*",                   \
      DYNC__OP_SIZES, -1, "repeats dims of size 1 without copying; -1 keeps a size")                                  \
    X(expand_as,   COMPOSITE, "(Tensor self, Tensor other)", 1, i_expand_as, none, none, none, d_expand_as,           \
      ".*", DYNC__OP_SIZES, -1, "expand to the shape of other")                                                       \
    X(flatten,     COMPOSITE, "(Tensor self, int start_dim, int end_dim)", 1, i_flatten, none, none, none,            \
      d_flatten, "torch.*", 0, -1, "the dims from start to end as one")                                               \
    X(movedim, COMPOSITE, "(Tensor self, Dims source, Dims destination)", 1, i_composite, none, none, none,           \
      d_movedim, "torch.*", 0, -1, "dims of source at the places of destination, the others in their order")          \
    X(narrow,      COMPOSITE, "(Tensor self, int dim, int64 start, int64 length)", 1, i_narrow, none, none, none,     \
      d_narrow, "torch.*", 0, -1, "length places of dim, from start on")                                              \
    X(permute,     VIEW, "(Tensor self, Dims dims)", 1, i_permute, none, none, g_permute, none, ".*", 0, -1,          \
      "dims in a new order")                                                                                          \
    X(reshape,     COMPOSITE, "(Tensor self, Dims shape)", 1, i_reshape, none, none, none, d_reshape, ".*", 0,        \
      -1, "a view of another shape where strides allow, else a copy; one -1 is inferred")                             \
    X(select,      VIEW, "(Tensor self, int dim, int64 index)", 1, i_select, none, none, g_select, none,              \
      "torch.*", 0, -1, "one place of dim, which goes away")                                                          \
    X(slice,       VIEW, "(Tensor self, int dim, int64 start, int64 end, int64 step)", 1, i_slice, none, none,        \
      g_slice, none, "A.*", 0, -1, "self[start:end:step] along dim; DYNC_END leaves the end open")                    \
    X(squeeze,     VIEW, "(Tensor self, int dim)", 1, i_squeeze, none, none, g_squeeze, none, "torch.*", 0, -1,       \
      "without dim, if its size is 1")                                                                                \
    X(squeeze_all, VIEW, "(Tensor self)", 1, i_squeeze_all, none, none, g_squeeze, none, ".squeeze", 0, -1,           \
      "without every dim of size 1")                                                                                  \
    X(t,           VIEW, "(Tensor self)", 1, i_t, none, none, g_t, none, "torch.*", 0, -1,                            \
      "the transpose of a matrix")                                                                                    \
    X(transpose,   VIEW, "(Tensor self, int dim0, int dim1)", 1, i_transpose, none, none, g_transpose, none,          \
      "torch.*", 0, -1, "two dims exchanged")                                                                         \
    X(unflatten,   COMPOSITE, "(Tensor self, int dim, Dims sizes)", 1, i_unflatten, none, none, none, d_unflatten,    \
      "torch.*", 0, -1, "one dim as several; one -1 is inferred")                                                     \
    X(unfold, COMPOSITE, "(Tensor self, int dim, int64 size, int64 step)", 1, i_composite, none, none, none,          \
      d_unfold, ".*", 0, -1, "windows of dim as a new last dim, without copying")                                     \
    X(unsqueeze,   VIEW, "(Tensor self, int dim)", 1, i_unsqueeze, none, none, g_unsqueeze, none, "torch.*",          \
      0, -1, "a new dim of size 1")                                                                                   \
    X(view,        VIEW, "(Tensor self, Dims size)", 1, i_view, none, none, g_view, none, ".*", DYNC__OP_SIZES,       \
      -1, "another shape of the same elements, without copying; one -1 is inferred")                                  \
    X(view_as,     COMPOSITE, "(Tensor self, Tensor other)", 1, i_view_as, none, none, none, d_view_as, ".*",         \
      DYNC__OP_SIZES, -1, "view in the shape of other")
/* clang-format on */

/* select_backward, slice_backward, diagonal_backward: grad in a tensor of zeros of the size that
 * the view was taken of. */
/* clang-format off */
#define DYNC__OPS_MOVE(X)                                                                                             \
    X(argsort,        COMPOSITE, "(Tensor self, int dim, bool descending)", 1, i_argsort, none, none, none,           \
      d_argsort, "torch.*", DYNC__OP_NONDIFF | DYNC__OP_WORK_SORT, -1,                                                \
      "the places that sort self along dim, int64")                                                                   \
    X(as_strided_scatter, KERNEL, "(Tensor self, Tensor src, Dims size, Dims stride, int64 storage_offset)", 1,       \
      i_as_strided_scatter, none, l_as_strided_scatter, g_as_strided_scatter, none, "torch.*",                        \
      DYNC__OP_PRIVATE, -1, "self with src written to as_strided of it; AOT makes it, under the tape")                \
    X(cat,            KERNEL, "(Tensor[] tensors, int dim)", 1, i_cat, none, l_cat, g_cat, none, "torch.*", 0, -1,    \
      "tensors one after another along dim")                                                                          \
    X(clone,          POINTWISE, "(Tensor self)", 1, i_clone, e_clone, none, g_alias, none, "torch.*",                \
      DYNC__OP_CHEAP, -1, "a copy")                                                                                   \
    X(_clone_contiguous, POINTWISE, "(Tensor self)", 1, i_contiguous, e_clone, none, g_alias, none,                   \
      "torch.clone({0}, memory_format=torch.contiguous_format)", DYNC__OP_CHEAP | DYNC__OP_PRIVATE | DYNC__OP_FILE,   \
      -1, "a row-major copy")                                                                                         \
    X(diagonal_backward, KERNEL, "(Tensor grad_output, Dims input_sizes, int offset, int dim1, int dim2)", 1,         \
      i_view_backward, none, l_view_backward, g_diagonal_backward, none, "A.*",                                       \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradient of diagonal")                                                   \
    X(flip,           KERNEL, "(Tensor self, Dims dims)", 1, i_flip, none, l_flip, g_flip, none, "torch.*", 0, -1,    \
      "elements in reverse order along dims")                                                                         \
    X(gather,         KERNEL, "(Tensor self, int dim, Tensor index)", 1, i_gather, none, l_gather, g_gather, none,    \
      "torch.*", DYNC__OP_GATHERS | DYNC__OP_FUSES, -1, "out[i][j] = self[index[i][j]][j] for dim 0")                 \
    X(index_add,      KERNEL, "(Tensor self, int dim, Tensor index, Tensor source)", 1, i_index_add, none,            \
      l_index_add, g_index_add, none, "torch.*", DYNC__OP_SCATTERS, -1,                                               \
      "self with rows of source added to the rows that index names")                                                  \
    X(index_select,   KERNEL, "(Tensor self, int dim, Tensor index)", 1, i_index_select, none, l_index_select,        \
      g_index_select, none, "torch.*", DYNC__OP_GATHERS | DYNC__OP_FUSES, -1,                                         \
      "the places of dim that the vector index names")                                                                \
    X(masked_select,  KERNEL, "(Tensor self, Tensor mask)", 1, none, none, none, none, d_masked_select,               \
      "torch.*", DYNC__OP_DATA_SHAPE, -1, "the elements whose mask is set, as a vector")                              \
    X(nonzero,        KERNEL, "(Tensor self)", 1, none, none, none, none, d_nonzero, "torch.*",                       \
      DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF, -1, "the places of elements that are not zero, [count, rank], int64")   \
    X(_one_hot_all, COMPOSITE, "(Tensor self)", 1, none, none, none, none, d_one_hot_all,                             \
      "F.one_hot", DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF | DYNC__OP_OPAQUE | DYNC__OP_PRIVATE,                       \
      -1, "one_hot of as many classes as there are")                                                                  \
    X(pad, COMPOSITE, "(Tensor self, Dims pad, Value? value)", 1, i_composite, none, l_pad, none, d_pad,              \
      "torch.nn.functional.pad({0}, {1}, value={2})", 0, -1,                                                          \
      "value (none: 0) around self: before and after the last dim, then the one before it; "                          \
      "negative numbers cut off")                                                                                     \
    X(repeat,         COMPOSITE, "(Tensor self, Dims repeats)", 1, i_repeat, none, none, none, d_repeat, ".*",        \
      0, -1, "self tiled along each dim")                                                                             \
    X(roll,           COMPOSITE, "(Tensor self, Dims shifts, Dims dims)", 1, i_roll, none, none, g_roll, d_roll,      \
      "torch.*", 0, -1, "elements moved along dims, around the end; without dims over the flattened tensor")          \
    X(scatter,        KERNEL, "(Tensor self, int dim, Tensor index, Value src)", 1, i_scatter, none, l_scatter,       \
      g_scatter, none, "torch.*", DYNC__OP_SCATTERS | DYNC__OP_FITS, -1,                                              \
      "self with src written to the places that index names")                                                         \
    X(scatter_add,    KERNEL, "(Tensor self, int dim, Tensor index, Tensor src)", 1, i_scatter, none, l_scatter_add,  \
      g_scatter_add, none, "torch.*", DYNC__OP_SCATTERS, -1,                                                          \
      "self with src added at the places that index names")                                                           \
    X(select_backward, KERNEL, "(Tensor grad_output, Dims input_sizes, int dim, int64 index)", 1, i_view_backward,    \
      none, l_view_backward, g_select_backward, none, "A.*",                                                          \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradient of select")                                                     \
    X(slice_backward, KERNEL, "(Tensor grad_output, Dims input_sizes, int dim, int64 start, int64 end, int64 step)",  \
      1, i_view_backward, none, l_view_backward, g_slice_backward, none, "A.*",                                       \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradient of slice")                                                      \
    X(sort,           KERNEL, "(Tensor self, int dim, bool descending)", 2, i_sort, none, l_sort, g_sort, none,       \
      "torch.*", DYNC__OP_WORK_SORT, -1,                                                                              \
      "sorted along dim, equal elements in their order, and the places they came from")                               \
    X(stack,          COMPOSITE, "(Tensor[] tensors, int dim)", 1, i_stack, none, none, none, d_stack,                \
      "torch.*", 0, -1, "tensors of one shape along a new dim")                                                       \
    X(take_along_dim, COMPOSITE, "(Tensor self, Tensor indices, int dim)", 1, i_take_along_dim, none, none, none,     \
      d_take_along_dim, "torch.*", 0, -1, "gather with self and indices broadcast outside dim")                       \
    X(to_device,      KERNEL, "(Tensor self, Device device)", 1, i_to_device, none, l_clone, g_to_device, none,       \
      ".to", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_FUSES, -1, "a copy on another device")                       \
    X(to_dtype,       POINTWISE, "(Tensor self, Dtype dtype)", 1, i_to_dtype, e_clone, none, g_to_dtype, none, ".to", \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP | DYNC__OP_MAY_ALIAS, -1, "the elements cast")                \
    X(topk,           KERNEL, "(Tensor self, int64 k, int dim, bool largest, bool sorted)", 2, i_topk, none, l_topk,  \
      g_topk, none, "torch.*", DYNC__OP_WORK_SORT, -1,                                                                \
      "the k largest or smallest along dim, in order, and their places")                                              \
    X(tril,           KERNEL, "(Tensor self, int diagonal)", 1, i_tril, none, l_tril, g_tril, none, "torch.*",        \
      DYNC__OP_FUSES, -1, "zero above the diagonal of the last two dims")                                             \
    X(triu,           KERNEL, "(Tensor self, int diagonal)", 1, i_tril, none, l_triu, g_triu, none, "torch.*",        \
      DYNC__OP_FUSES, -1, "zero below the diagonal of the last two dims")                                             \
    X(unique, COMPOSITE, "(Tensor self)", 1, none, none, none, none, d_unique, "torch.*",                             \
      DYNC__OP_DATA_SHAPE, -1, "the elements in order, each once, as a vector")
/* clang-format on */
#endif
