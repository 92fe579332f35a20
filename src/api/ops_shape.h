/* ---- operators: views, and what moves elements (op/ops_shape.def.h) ----
 *   errors, notes  as of all operators (api/ops.h)
 *   thread         any */
/* dync_as_strided: any sizes, strides and offset over the storage, which they must not leave. A
 * view: shares self's memory. */
DYNC_API dync_tensor *(dync_as_strided)(dync_tensor *self, dync_dims size, dync_dims stride,
    int64_t storage_offset);
#define dync_as_strided(...) \
    DYNC_TAKES_4(DYNC_as_strided, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_as_strided takes 4 arguments: self, size, stride, storage_offset", \
    __VA_ARGS__)
#define DYNC_as_strided(text_, self, size, stride, storage_offset) \
    DYNC_VIEW(DYNC_OP_DIMS(dync_as_strided, dync__op_1Tddl, DYNC__OP_as_strided, DYNC_T(self, \
    "dync_as_strided: self"), DYNC_D_OF(size, "dync_as_strided: size"), DYNC_D_OF(stride, \
    "dync_as_strided: stride"), storage_offset))
/* dync_contiguous: self if it is row major, else a copy that is. */
DYNC_API dync_tensor *(dync_contiguous)(dync_tensor *self);
#define dync_contiguous(...) \
    DYNC_TAKES_1(DYNC_contiguous, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_contiguous takes 1 argument: self", __VA_ARGS__)
#define DYNC_contiguous(text_, self) \
    DYNC_VIEW(DYNC_OP(dync_contiguous, dync__op_1T, DYNC__OP_contiguous, DYNC_T(self, \
    "dync_contiguous: self")))
/* dync_diagonal: the diagonal of two dims, as the last one. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_diagonal)(dync_tensor *self, int offset, int dim1, int dim2);
#define dync_diagonal(...) \
    DYNC_TAKES_4(DYNC_diagonal, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_diagonal takes 4 arguments: self, offset, dim1, dim2", __VA_ARGS__)
#define DYNC_diagonal(text_, self, offset, dim1, dim2) \
    DYNC_VIEW(DYNC_OP(dync_diagonal, dync__op_1Tiii, DYNC__OP_diagonal, DYNC_T(self, \
    "dync_diagonal: self"), offset, dim1, dim2))
/* dync_expand: repeats dims of size 1 without copying; -1 keeps a size. A view: shares self's
 * memory. */
DYNC_API dync_tensor *(dync_expand)(dync_tensor *self, dync_dims size);
#define dync_expand(...) \
    DYNC_TAKES_2(DYNC_expand, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_expand takes 2 arguments: self, size", __VA_ARGS__)
#define DYNC_expand(text_, self, size) \
    DYNC_VIEW(DYNC_OP_DIMS(dync_expand, dync__op_1Td, DYNC__OP_expand, DYNC_T(self, \
    "dync_expand: self"), DYNC_D_OF(size, "dync_expand: size")))
/* dync_expand_as: expand to the shape of other. */
DYNC_API dync_tensor *(dync_expand_as)(dync_tensor *self, dync_tensor *other);
#define dync_expand_as(...) \
    DYNC_TAKES_2(DYNC_expand_as, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_expand_as takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_expand_as(text_, self, other) \
    DYNC_VIEW(DYNC_SEQ2(dync_expand_as, dync__op_1TT, DYNC__OP_expand_as, DYNC_T(self, \
    "dync_expand_as: self"), DYNC_T(other, "dync_expand_as: other")))
/* dync_flatten: the dims from start to end as one. */
DYNC_API dync_tensor *(dync_flatten)(dync_tensor *self, int start_dim, int end_dim);
#define dync_flatten(...) \
    DYNC_TAKES_3(DYNC_flatten, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_flatten takes 3 arguments: self, start_dim, end_dim", __VA_ARGS__)
#define DYNC_flatten(text_, self, start_dim, end_dim) \
    DYNC_VIEW(DYNC_OP(dync_flatten, dync__op_1Tii, DYNC__OP_flatten, DYNC_T(self, \
    "dync_flatten: self"), start_dim, end_dim))
/* dync_movedim: dims of source at the places of destination, the others in their order. */
DYNC_API dync_tensor *(dync_movedim)(dync_tensor *self, dync_dims source, dync_dims destination);
#define dync_movedim(...) \
    DYNC_TAKES_3(DYNC_movedim, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_movedim takes 3 arguments: self, source, destination", __VA_ARGS__)
#define DYNC_movedim(text_, self, source, destination) \
    DYNC_VIEW(DYNC_OP_DIMS(dync_movedim, dync__op_1Tdd, DYNC__OP_movedim, DYNC_T(self, \
    "dync_movedim: self"), DYNC_D_OF(source, "dync_movedim: source"), DYNC_D_OF(destination, \
    "dync_movedim: destination")))
/* dync_narrow: length places of dim, from start on. */
DYNC_API dync_tensor *(dync_narrow)(dync_tensor *self, int dim, int64_t start, int64_t length);
#define dync_narrow(...) \
    DYNC_TAKES_4(DYNC_narrow, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_narrow takes 4 arguments: self, dim, start, length", __VA_ARGS__)
#define DYNC_narrow(text_, self, dim, start, length) \
    DYNC_VIEW(DYNC_OP(dync_narrow, dync__op_1Till, DYNC__OP_narrow, DYNC_T(self, \
    "dync_narrow: self"), dim, start, length))
/* dync_permute: dims in a new order. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_permute)(dync_tensor *self, dync_dims dims);
#define dync_permute(...) \
    DYNC_TAKES_2(DYNC_permute, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_permute takes 2 arguments: self, dims", __VA_ARGS__)
#define DYNC_permute(text_, self, dims) \
    DYNC_VIEW(DYNC_OP_DIMS(dync_permute, dync__op_1Td, DYNC__OP_permute, DYNC_T(self, \
    "dync_permute: self"), DYNC_D_OF(dims, "dync_permute: dims")))
/* dync_reshape: a view of another shape where strides allow, else a copy; one -1 is inferred. */
DYNC_API dync_tensor *(dync_reshape)(dync_tensor *self, dync_dims shape);
#define dync_reshape(...) \
    DYNC_TAKES_2(DYNC_reshape, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_reshape takes 2 arguments: self, shape", __VA_ARGS__)
#define DYNC_reshape(text_, self, shape) \
    DYNC_VIEW(DYNC_OP_DIMS(dync_reshape, dync__op_1Td, DYNC__OP_reshape, DYNC_T(self, \
    "dync_reshape: self"), DYNC_D_OF(shape, "dync_reshape: shape")))
/* dync_select: one place of dim, which goes away. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_select)(dync_tensor *self, int dim, int64_t index);
#define dync_select(...) \
    DYNC_TAKES_3(DYNC_select, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_select takes 3 arguments: self, dim, index", __VA_ARGS__)
#define DYNC_select(text_, self, dim, index) \
    DYNC_VIEW(DYNC_OP(dync_select, dync__op_1Til, DYNC__OP_select, DYNC_T(self, \
    "dync_select: self"), dim, index))
/* dync_slice: self[start:end:step] along dim; DYNC_END leaves the end open. A view: shares self's
 * memory. */
DYNC_API dync_tensor *(dync_slice)(dync_tensor *self, int dim, int64_t start, int64_t end,
    int64_t step);
#define dync_slice(...) \
    DYNC_TAKES_5(DYNC_slice, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_slice takes 5 arguments: self, dim, start, end, step", __VA_ARGS__)
#define DYNC_slice(text_, self, dim, start, end, step) \
    DYNC_VIEW(DYNC_OP(dync_slice, dync__op_1Tilll, DYNC__OP_slice, DYNC_T(self, \
    "dync_slice: self"), dim, start, end, step))
/* dync_squeeze: without dim, if its size is 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_squeeze)(dync_tensor *self, int dim);
#define dync_squeeze(...) \
    DYNC_TAKES_2(DYNC_squeeze, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_squeeze takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_squeeze(text_, self, dim) \
    DYNC_VIEW(DYNC_OP(dync_squeeze, dync__op_1Ti, DYNC__OP_squeeze, DYNC_T(self, \
    "dync_squeeze: self"), dim))
/* dync_squeeze_all: without every dim of size 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_squeeze_all)(dync_tensor *self);
#define dync_squeeze_all(...) \
    DYNC_TAKES_1(DYNC_squeeze_all, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_squeeze_all takes 1 argument: self", __VA_ARGS__)
#define DYNC_squeeze_all(text_, self) \
    DYNC_VIEW(DYNC_OP(dync_squeeze_all, dync__op_1T, DYNC__OP_squeeze_all, DYNC_T(self, \
    "dync_squeeze_all: self")))
/* dync_t: the transpose of a matrix. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_t)(dync_tensor *self);
#define dync_t(...) \
    DYNC_TAKES_1(DYNC_t, DYNC_OTHER_T, __VA_ARGS__)("dync_t takes 1 argument: self", __VA_ARGS__)
#define DYNC_t(text_, self) \
    DYNC_VIEW(DYNC_OP(dync_t, dync__op_1T, DYNC__OP_t, DYNC_T(self, "dync_t: self")))
/* dync_transpose: two dims exchanged. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_transpose)(dync_tensor *self, int dim0, int dim1);
#define dync_transpose(...) \
    DYNC_TAKES_3(DYNC_transpose, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_transpose takes 3 arguments: self, dim0, dim1", __VA_ARGS__)
#define DYNC_transpose(text_, self, dim0, dim1) \
    DYNC_VIEW(DYNC_OP(dync_transpose, dync__op_1Tii, DYNC__OP_transpose, DYNC_T(self, \
    "dync_transpose: self"), dim0, dim1))
/* dync_unflatten: one dim as several; one -1 is inferred. */
DYNC_API dync_tensor *(dync_unflatten)(dync_tensor *self, int dim, dync_dims sizes);
#define dync_unflatten(...) \
    DYNC_TAKES_3(DYNC_unflatten, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_unflatten takes 3 arguments: self, dim, sizes", __VA_ARGS__)
#define DYNC_unflatten(text_, self, dim, sizes) \
    DYNC_VIEW(DYNC_OP_DIMS(dync_unflatten, dync__op_1Tid, DYNC__OP_unflatten, DYNC_T(self, \
    "dync_unflatten: self"), dim, DYNC_D_OF(sizes, "dync_unflatten: sizes")))
/* dync_unfold: windows of dim as a new last dim, without copying. */
DYNC_API dync_tensor *(dync_unfold)(dync_tensor *self, int dim, int64_t size, int64_t step);
#define dync_unfold(...) \
    DYNC_TAKES_4(DYNC_unfold, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_unfold takes 4 arguments: self, dim, size, step", __VA_ARGS__)
#define DYNC_unfold(text_, self, dim, size, step) \
    DYNC_VIEW(DYNC_OP(dync_unfold, dync__op_1Till, DYNC__OP_unfold, DYNC_T(self, \
    "dync_unfold: self"), dim, size, step))
/* dync_unsqueeze: a new dim of size 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_unsqueeze)(dync_tensor *self, int dim);
#define dync_unsqueeze(...) \
    DYNC_TAKES_2(DYNC_unsqueeze, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_unsqueeze takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_unsqueeze(text_, self, dim) \
    DYNC_VIEW(DYNC_OP(dync_unsqueeze, dync__op_1Ti, DYNC__OP_unsqueeze, DYNC_T(self, \
    "dync_unsqueeze: self"), dim))
/* dync_view: another shape of the same elements, without copying; one -1 is inferred. A view:
 * shares self's memory. */
DYNC_API dync_tensor *(dync_view)(dync_tensor *self, dync_dims size);
#define dync_view(...) \
    DYNC_TAKES_2(DYNC_view, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_view takes 2 arguments: self, size", __VA_ARGS__)
#define DYNC_view(text_, self, size) \
    DYNC_VIEW(DYNC_OP_DIMS(dync_view, dync__op_1Td, DYNC__OP_view, DYNC_T(self, \
    "dync_view: self"), DYNC_D_OF(size, "dync_view: size")))
/* dync_view_as: view in the shape of other. */
DYNC_API dync_tensor *(dync_view_as)(dync_tensor *self, dync_tensor *other);
#define dync_view_as(...) \
    DYNC_TAKES_2(DYNC_view_as, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_view_as takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_view_as(text_, self, other) \
    DYNC_VIEW(DYNC_SEQ2(dync_view_as, dync__op_1TT, DYNC__OP_view_as, DYNC_T(self, \
    "dync_view_as: self"), DYNC_T(other, "dync_view_as: other")))
/* dync_argsort: the places that sort self along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argsort)(dync_tensor *self, int dim, bool descending);
#define dync_argsort(...) \
    DYNC_TAKES_3(DYNC_argsort, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_argsort takes 3 arguments: self, dim, descending", __VA_ARGS__)
#define DYNC_argsort(text_, self, dim, descending) \
    DYNC_OP(dync_argsort, dync__op_1Tib, DYNC__OP_argsort, DYNC_T(self, "dync_argsort: self"), \
    dim, descending)
/* dync_cat: tensors one after another along dim. */
DYNC_API dync_tensor *(dync_cat)(dync_value tensors, int dim);
#define dync_cat(...) \
    DYNC_TAKES_2(DYNC_cat, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_cat takes 2 arguments: tensors, dim", __VA_ARGS__)
#define DYNC_cat(text_, tensors, dim) \
    DYNC_OP(dync_cat, dync__op_1Li, DYNC__OP_cat, DYNC_V(tensors), dim)
/* dync_clone: a copy. */
DYNC_API dync_tensor *(dync_clone)(dync_tensor *self);
#define dync_clone(...) \
    DYNC_TAKES_1(DYNC_clone, DYNC_OTHER_T, __VA_ARGS__)("dync_clone takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_clone(text_, self) \
    DYNC_OP(dync_clone, dync__op_1T, DYNC__OP_clone, DYNC_T(self, "dync_clone: self"))
/* dync_flip: elements in reverse order along dims. */
DYNC_API dync_tensor *(dync_flip)(dync_tensor *self, dync_dims dims);
#define dync_flip(...) \
    DYNC_TAKES_2(DYNC_flip, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_flip takes 2 arguments: self, dims", __VA_ARGS__)
#define DYNC_flip(text_, self, dims) \
    DYNC_OP_DIMS(dync_flip, dync__op_1Td, DYNC__OP_flip, DYNC_T(self, "dync_flip: self"), \
    DYNC_D_OF(dims, "dync_flip: dims"))
/* dync_gather: out[i][j] = self[index[i][j]][j] for dim 0. */
DYNC_API dync_tensor *(dync_gather)(dync_tensor *self, int dim, dync_tensor *index);
#define dync_gather(...) \
    DYNC_TAKES_3(DYNC_gather, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_gather takes 3 arguments: self, dim, index", __VA_ARGS__)
#define DYNC_gather(text_, self, dim, index) \
    DYNC_OP(dync_gather, dync__op_1TiT, DYNC__OP_gather, DYNC_T(self, "dync_gather: self"), dim, \
    DYNC_T(index, "dync_gather: index"))
/* dync_index_add: self with rows of source added to the rows that index names. */
DYNC_API dync_tensor *(dync_index_add)(dync_tensor *self, int dim, dync_tensor *index,
    dync_tensor *source);
#define dync_index_add(...) \
    DYNC_TAKES_4(DYNC_index_add, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_index_add takes 4 arguments: self, dim, index, source", __VA_ARGS__)
#define DYNC_index_add(text_, self, dim, index, source) \
    DYNC_OP(dync_index_add, dync__op_1TiTT, DYNC__OP_index_add, DYNC_T(self, \
    "dync_index_add: self"), dim, DYNC_T(index, "dync_index_add: index"), DYNC_T(source, \
    "dync_index_add: source"))
/* dync_index_select: the places of dim that the vector index names. */
DYNC_API dync_tensor *(dync_index_select)(dync_tensor *self, int dim, dync_tensor *index);
#define dync_index_select(...) \
    DYNC_TAKES_3(DYNC_index_select, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_index_select takes 3 arguments: self, dim, index", __VA_ARGS__)
#define DYNC_index_select(text_, self, dim, index) \
    DYNC_OP(dync_index_select, dync__op_1TiT, DYNC__OP_index_select, DYNC_T(self, \
    "dync_index_select: self"), dim, DYNC_T(index, "dync_index_select: index"))
/* dync_masked_select: the elements whose mask is set, as a vector. The shape depends on data: a
 * graph break. */
DYNC_API dync_tensor *(dync_masked_select)(dync_tensor *self, dync_tensor *mask);
#define dync_masked_select(...) \
    DYNC_TAKES_2(DYNC_masked_select, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_masked_select takes 2 arguments: self, mask", __VA_ARGS__)
#define DYNC_masked_select(text_, self, mask) \
    DYNC_SEQ2(dync_masked_select, dync__op_1TT, DYNC__OP_masked_select, DYNC_T(self, \
    "dync_masked_select: self"), DYNC_T(mask, "dync_masked_select: mask"))
/* dync_nonzero: the places of elements that are not zero, [count, rank], int64. No gradient. The
 * shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_nonzero)(dync_tensor *self);
#define dync_nonzero(...) \
    DYNC_TAKES_1(DYNC_nonzero, DYNC_OTHER_T, __VA_ARGS__)("dync_nonzero takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_nonzero(text_, self) \
    DYNC_OP(dync_nonzero, dync__op_1T, DYNC__OP_nonzero, DYNC_T(self, "dync_nonzero: self"))
/* dync_pad: value (none: 0) around self: before and after the last dim, then the one before it;
 * negative numbers cut off. */
DYNC_API dync_tensor *(dync_pad)(dync_tensor *self, dync_dims pad, dync_value value);
#define dync_pad(...) \
    DYNC_TAKES_3(DYNC_pad, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_pad takes 3 arguments: self, pad, value", __VA_ARGS__)
#define DYNC_pad(text_, self, pad, value) \
    DYNC_OP_DIMS(dync_pad, dync__op_1TdV, DYNC__OP_pad, DYNC_T(self, "dync_pad: self"), \
    DYNC_D_OF(pad, "dync_pad: pad"), DYNC_V(value))
/* dync_repeat: self tiled along each dim. */
DYNC_API dync_tensor *(dync_repeat)(dync_tensor *self, dync_dims repeats);
#define dync_repeat(...) \
    DYNC_TAKES_2(DYNC_repeat, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_repeat takes 2 arguments: self, repeats", __VA_ARGS__)
#define DYNC_repeat(text_, self, repeats) \
    DYNC_OP_DIMS(dync_repeat, dync__op_1Td, DYNC__OP_repeat, DYNC_T(self, "dync_repeat: self"), \
    DYNC_D_OF(repeats, "dync_repeat: repeats"))
/* dync_roll: elements moved along dims, around the end; without dims over the flattened tensor. */
DYNC_API dync_tensor *(dync_roll)(dync_tensor *self, dync_dims shifts, dync_dims dims);
#define dync_roll(...) \
    DYNC_TAKES_3(DYNC_roll, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_roll takes 3 arguments: self, shifts, dims", __VA_ARGS__)
#define DYNC_roll(text_, self, shifts, dims) \
    DYNC_OP_DIMS(dync_roll, dync__op_1Tdd, DYNC__OP_roll, DYNC_T(self, "dync_roll: self"), \
    DYNC_D_OF(shifts, "dync_roll: shifts"), DYNC_D_OF(dims, "dync_roll: dims"))
/* dync_scatter: self with src written to the places that index names. */
DYNC_API dync_tensor *(dync_scatter)(dync_tensor *self, int dim, dync_tensor *index,
    dync_value src);
#define dync_scatter(...) \
    DYNC_TAKES_4(DYNC_scatter, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scatter takes 4 arguments: self, dim, index, src", __VA_ARGS__)
#define DYNC_scatter(text_, self, dim, index, src) \
    DYNC_OP(dync_scatter, dync__op_1TiTV, DYNC__OP_scatter, DYNC_T(self, "dync_scatter: self"), \
    dim, DYNC_T(index, "dync_scatter: index"), DYNC_V(src))
/* dync_scatter_add: self with src added at the places that index names. */
DYNC_API dync_tensor *(dync_scatter_add)(dync_tensor *self, int dim, dync_tensor *index,
    dync_tensor *src);
#define dync_scatter_add(...) \
    DYNC_TAKES_4(DYNC_scatter_add, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scatter_add takes 4 arguments: self, dim, index, src", __VA_ARGS__)
#define DYNC_scatter_add(text_, self, dim, index, src) \
    DYNC_OP(dync_scatter_add, dync__op_1TiTT, DYNC__OP_scatter_add, DYNC_T(self, \
    "dync_scatter_add: self"), dim, DYNC_T(index, "dync_scatter_add: index"), DYNC_T(src, \
    "dync_scatter_add: src"))
/* dync_sort: sorted along dim, equal elements in their order, and the places they came from. A
 * list of 2 tensors. */
DYNC_API dync_value (dync_sort)(dync_tensor *self, int dim, bool descending);
#define dync_sort(...) \
    DYNC_TAKES_3(DYNC_sort, DYNC_OTHER_V, \
    __VA_ARGS__)("dync_sort takes 3 arguments: self, dim, descending", __VA_ARGS__)
#define DYNC_sort(text_, self, dim, descending) \
    DYNC_OP(dync_sort, dync__op_nTib, DYNC__OP_sort, DYNC_T(self, "dync_sort: self"), dim, \
    descending)
/* dync_stack: tensors of one shape along a new dim. */
DYNC_API dync_tensor *(dync_stack)(dync_value tensors, int dim);
#define dync_stack(...) \
    DYNC_TAKES_2(DYNC_stack, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_stack takes 2 arguments: tensors, dim", __VA_ARGS__)
#define DYNC_stack(text_, tensors, dim) \
    DYNC_OP(dync_stack, dync__op_1Li, DYNC__OP_stack, DYNC_V(tensors), dim)
/* dync_take_along_dim: gather with self and indices broadcast outside dim. */
DYNC_API dync_tensor *(dync_take_along_dim)(dync_tensor *self, dync_tensor *indices, int dim);
#define dync_take_along_dim(...) \
    DYNC_TAKES_3(DYNC_take_along_dim, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_take_along_dim takes 3 arguments: self, indices, dim", __VA_ARGS__)
#define DYNC_take_along_dim(text_, self, indices, dim) \
    DYNC_SEQ2_AND(dync_take_along_dim, dync__op_1TTi, DYNC__OP_take_along_dim, DYNC_T(self, \
    "dync_take_along_dim: self"), DYNC_T(indices, "dync_take_along_dim: indices"), dim)
/* dync_topk: the k largest or smallest along dim, in order, and their places. A list of 2
 * tensors. */
DYNC_API dync_value (dync_topk)(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted);
#define dync_topk(...) \
    DYNC_TAKES_5(DYNC_topk, DYNC_OTHER_V, \
    __VA_ARGS__)("dync_topk takes 5 arguments: self, k, dim, largest, sorted", __VA_ARGS__)
#define DYNC_topk(text_, self, k, dim, largest, sorted) \
    DYNC_OP(dync_topk, dync__op_nTlibb, DYNC__OP_topk, DYNC_T(self, "dync_topk: self"), k, dim, \
    largest, sorted)
/* dync_tril: zero above the diagonal of the last two dims. */
DYNC_API dync_tensor *(dync_tril)(dync_tensor *self, int diagonal);
#define dync_tril(...) \
    DYNC_TAKES_2(DYNC_tril, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_tril takes 2 arguments: self, diagonal", __VA_ARGS__)
#define DYNC_tril(text_, self, diagonal) \
    DYNC_OP(dync_tril, dync__op_1Ti, DYNC__OP_tril, DYNC_T(self, "dync_tril: self"), diagonal)
/* dync_triu: zero below the diagonal of the last two dims. */
DYNC_API dync_tensor *(dync_triu)(dync_tensor *self, int diagonal);
#define dync_triu(...) \
    DYNC_TAKES_2(DYNC_triu, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_triu takes 2 arguments: self, diagonal", __VA_ARGS__)
#define DYNC_triu(text_, self, diagonal) \
    DYNC_OP(dync_triu, dync__op_1Ti, DYNC__OP_triu, DYNC_T(self, "dync_triu: self"), diagonal)
/* dync_unique: the elements in order, each once, as a vector. The shape depends on data: a graph
 * break. */
DYNC_API dync_tensor *(dync_unique)(dync_tensor *self);
#define dync_unique(...) \
    DYNC_TAKES_1(DYNC_unique, DYNC_OTHER_T, __VA_ARGS__)("dync_unique takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_unique(text_, self) \
    DYNC_OP(dync_unique, dync__op_1T, DYNC__OP_unique, DYNC_T(self, "dync_unique: self"))
