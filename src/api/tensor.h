/* ---- tensors --------------------------------------------------------------------------------- */
typedef struct {
    int n;
    int64_t d[DYNC_MAX_DIMS];
} dync_dims;
/* dync_shape(2, 3): sizes, or dimensions, as an argument. DYNC_SCALAR is the shape of a 0-dim
 * tensor. */
#if defined(__cplusplus)
template <class... dync_T> inline dync_dims dync_shape(dync_T... sizes)
{
    return dync_dims{int(sizeof...(sizes)), {int64_t(sizes)...}};
}
#else
#define dync_shape(...) \
    ((dync_dims){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#endif
#define DYNC_SCALAR (DYNC_LITERAL(dync_dims){0, {0}})

/* Making tensors: dync_zeros(dync_shape(2, 3), .dtype = DYNC_F64, .requires_grad = true), and
 * likewise dync_empty (contents undefined), dync_ones, dync_randn (normal), dync_rand (uniform in
 * [0, 1)) and dync_full(shape, value, ...).
 *
 *   shape          sizes >= 0; at most DYNC_MAX_DIMS of them
 *   dtype          default DYNC_F32, for dync_full too
 *   device         default DYNC_CPU; DYNC_META has a shape and no data: what is computed of it,
 *                  compiled or not, is META
 *   requires_grad  floating dtypes only
 *   name           in printed graphs and error messages; copied
 *   ->             a new row-major tensor, owned by the scope
 *   errors         DYNC_ERR_SHAPE (negative, too many, too large), DYNC_ERR_DTYPE, DYNC_ERR_DEVICE,
 *                  DYNC_ERR_MEMORY
 *   notes          random ones draw from this thread's generator (dync_manual_seed)
 *   thread         any */
typedef struct dync_make {
    dync_dims shape DYNC__ZERO;
    dync_dtype dtype DYNC__ZERO;
    dync_device device DYNC__ZERO;
    bool requires_grad DYNC__ZERO;
    const char *name DYNC__ZERO;
    dync_loc at_ DYNC__ZERO; /* private: the caller's place */
} dync_make;
DYNC_API dync_tensor *dync_empty_opt(dync_make options);
DYNC_API dync_tensor *dync_zeros_opt(dync_make options);
DYNC_API dync_tensor *dync_ones_opt(dync_make options);
DYNC_API dync_tensor *dync_randn_opt(dync_make options);
DYNC_API dync_tensor *dync_rand_opt(dync_make options);
DYNC_API dync_tensor *dync_full_opt(dync_value value, dync_make options);

/* Tensors over data of .dtype: dync_from((float[]){1, 2, 3}, dync_shape(3), .requires_grad = true)
 * copies; dync_wrap borrows the caller's memory for as long as any tensor uses it; dync_constant
 * copies and, inside a traced function, is baked into the graph: a new tensor in every call all the
 * same, whoever writes it.
 *
 *   data           row major, as many elements as the shape has; NULL only where that is none
 *   ->             a new tensor, owned by the scope
 *   errors         as above; DYNC_ERR_VALUE (data NULL), DYNC_ERR_DTYPE (an array of other elements
 *                  than .dtype says, as integers without .dtype; the C type is known to GCC and
 *                  Clang, and to C++ where data is the first argument; memory by void * or char *
 *                  is taken for what .dtype says, unsigned integers for bits of as many bytes)
 *   notes          inside a traced function dync_from and dync_wrap are graph breaks
 *   thread         any */
typedef struct dync_make_from {
    const void *data DYNC__ZERO;
    dync_dims shape DYNC__ZERO;
    dync_dtype dtype DYNC__ZERO;
    dync_device device DYNC__ZERO;
    bool requires_grad DYNC__ZERO;
    const char *name DYNC__ZERO;
    dync_loc at_ DYNC__ZERO; /* private */
    /* private: bytes of the object that data points into, where the compiler knows them; else 0 */
    size_t size_ DYNC__ZERO;
    int elements_ DYNC__ZERO; /* private: what they are (DYNC__OF_), or 0 */
} dync_make_from;
DYNC_API dync_tensor *dync_from_opt(dync_make_from options);
DYNC_API dync_tensor *dync_wrap_opt(dync_make_from options);
DYNC_API dync_tensor *dync_constant_opt(dync_make_from options);
/* An array that is shorter than shape and dtype say is DYNC_ERR_VALUE where the compiler knows its
 * size (GCC and Clang, optimising). */
DYNC_ALWAYS_INLINE dync_make_from dync_make_sized(dync_make_from options)
{
    options.size_ = DYNC_OBJECT_SIZE(options.data);
    return options;
}

/* The function behind a macro. In a small program it depends on .requires_grad, which the compiler
 * sees in the call: who never sets it links no gradients.
 *   thread  any */
/* X(name, normal): does it draw from the normal distribution? */
#define DYNC__MAKERS_OF_SHAPE(X) X(empty, 0) X(zeros, 0) X(ones, 0) X(randn, 1) X(rand, 0)
#if defined(DYNC_SMALL)
DYNC_API void dync__draws_wide(void); /* links normal draws of F64 */
#define DYNC__X(name, normal)                                                                    \
    DYNC_API dync_tensor *dync__plain_##name(dync_make options);                                 \
    DYNC_ALWAYS_INLINE dync_tensor *dync__chosen_##name(dync_make options)                       \
    {                                                                                            \
        if (normal && options.dtype == DYNC_F64) dync__draws_wide();                             \
        return options.requires_grad ? dync_##name##_opt(options) : dync__plain_##name(options); \
    }
DYNC__MAKERS_OF_SHAPE(DYNC__X)
#undef DYNC__X
DYNC_API dync_tensor *dync__plain_full(dync_value value, dync_make options);
DYNC_API dync_tensor *dync__plain_from(dync_make_from options);
DYNC_API dync_tensor *dync__plain_wrap(dync_make_from options);
DYNC_ALWAYS_INLINE dync_tensor *dync__chosen_full(dync_value value, dync_make options)
{
    return options.requires_grad ? dync_full_opt(value, options) : dync__plain_full(value, options);
}
DYNC_ALWAYS_INLINE dync_tensor *dync__chosen_from(dync_make_from options)
{
    return options.requires_grad ? dync_from_opt(options) : dync__plain_from(options);
}
DYNC_ALWAYS_INLINE dync_tensor *dync__chosen_wrap(dync_make_from options)
{
    return options.requires_grad ? dync_wrap_opt(options) : dync__plain_wrap(options);
}
#define DYNC__MAKER(name) dync__chosen_##name
#else
#define DYNC__MAKER(name) dync_##name##_opt
#endif

#if defined(__cplusplus)
#define DYNC_EXPECTS_dync_shape
#else
/* in front of a shape: a number there, which would be its .n, is refused */
#define DYNC_EXPECTS_dync_shape 0 ? DYNC_ALL:
#endif
#if DYNC__DESIGNATORS
#define dync_empty(...) \
    DYNC__MAKER(empty)( \
        DYNC_LITERAL(dync_make){.shape = DYNC_EXPECTS_dync_shape __VA_ARGS__, .at_ = DYNC_HERE})
#define dync_zeros(...) \
    DYNC__MAKER(zeros)( \
        DYNC_LITERAL(dync_make){.shape = DYNC_EXPECTS_dync_shape __VA_ARGS__, .at_ = DYNC_HERE})
#define dync_ones(...) \
    DYNC__MAKER(ones)( \
        DYNC_LITERAL(dync_make){.shape = DYNC_EXPECTS_dync_shape __VA_ARGS__, .at_ = DYNC_HERE})
#define dync_randn(...) \
    DYNC__MAKER(randn)( \
        DYNC_LITERAL(dync_make){.shape = DYNC_EXPECTS_dync_shape __VA_ARGS__, .at_ = DYNC_HERE})
#define dync_rand(...) \
    DYNC__MAKER(rand)( \
        DYNC_LITERAL(dync_make){.shape = DYNC_EXPECTS_dync_shape __VA_ARGS__, .at_ = DYNC_HERE})
/* (shape, value) or (shape, value, .dtype = ...) */
#define dync_full(shape_, ...) \
    DYNC_CAT(DYNC_FULL_, DYNC_ONE_OR_MORE(__VA_ARGS__))(shape_, __VA_ARGS__)
#define DYNC_FULL_1(shape_, value) \
    DYNC__MAKER(full)(DYNC_V(value), DYNC_LITERAL(dync_make){.shape = shape_, .at_ = DYNC_HERE})
#define DYNC_FULL_2(shape_, value, ...) \
    DYNC__MAKER(full)(DYNC_V(value),    \
                      DYNC_LITERAL(dync_make){.shape = shape_, __VA_ARGS__, .at_ = DYNC_HERE})
#endif
/* the data and the shape are the two first of the options by name: C++ does not mix the forms */
#if defined(__cplusplus)
#define DYNC__FROM(data_, ...)                                 \
    dync_make_from                                             \
    {                                                          \
        .data = data_, .shape = __VA_ARGS__, .at_ = DYNC_HERE, \
        .elements_ = DYNC__ELEMENTS_OF(data_)                  \
    }
#else
#define DYNC__FROM(...)                                                                       \
    (dync_make_from)                                                                          \
    {                                                                                         \
        .data = __VA_ARGS__, .at_ = DYNC_HERE, .elements_ = DYNC__ELEMENTS_OF(__VA_ARGS__, 0) \
    }
#endif
#if DYNC__DESIGNATORS
#define dync_from(...) DYNC__MAKER(from)(dync_make_sized(DYNC__FROM(__VA_ARGS__)))
#define dync_wrap(...) DYNC__MAKER(wrap)(dync_make_sized(DYNC__FROM(__VA_ARGS__)))
#define dync_constant(...) dync_constant_opt(dync_make_sized(DYNC__FROM(__VA_ARGS__)))
#else
#define DYNC__MAKERS(name)                                                             \
    inline dync_tensor *name(const dync_make &options) { return name##_opt(options); } \
    inline dync_tensor *name(const dync_dims &shape)                                   \
    {                                                                                  \
        dync_make options = dync_make();                                               \
        options.shape = shape;                                                         \
        return name##_opt(options);                                                    \
    }
#define DYNC__MAKERS_FROM(name)                                                      \
    DYNC_ALWAYS_INLINE dync_tensor *name(const dync_make_from &options)              \
    {                                                                                \
        return name##_opt(dync_make_sized(options));                                 \
    }                                                                                \
    DYNC_ALWAYS_INLINE dync_tensor *name(const void *data, const dync_dims &shape)   \
    {                                                                                \
        dync_make_from options = dync_make_from();                                   \
        options.data = data;                                                         \
        options.shape = shape;                                                       \
        return name##_opt(dync_make_sized(options));                                 \
    }                                                                                \
    template <class dync_T>                                                          \
    DYNC_ALWAYS_INLINE dync_tensor *name(const dync_T *data, const dync_dims &shape) \
    {                                                                                \
        dync_make_from options = dync_make_from();                                   \
        options.data = data;                                                         \
        options.shape = shape;                                                       \
        options.elements_ = int(dync__element<dync_T>::is);                          \
        return name##_opt(dync_make_sized(options));                                 \
    }
/* clang-format off */
DYNC__MAKERS(dync_empty) DYNC__MAKERS(dync_zeros) DYNC__MAKERS(dync_ones)
DYNC__MAKERS(dync_randn) DYNC__MAKERS(dync_rand)
DYNC__MAKERS_FROM(dync_from) DYNC__MAKERS_FROM(dync_wrap) DYNC__MAKERS_FROM(dync_constant)
    /* clang-format on */
    template <class dync_T>
    inline dync_tensor *dync_full(const dync_dims &shape, dync_T value)
{
    dync_make options = dync_make();
    options.shape = shape;
    return dync_full_opt(dync_v(value), options);
}
#undef DYNC__MAKERS
#undef DYNC__MAKERS_FROM
#endif

/* dync_parameter: marks a tensor as a parameter: a leaf that requires grad and prints as one.
 *   t       floating, no gradient history
 *   ->      t
 *   errors  DYNC_ERR_DTYPE, DYNC_ERR_AUTOGRAD
 *   thread  not while running */
DYNC_API dync_tensor *dync_parameter(dync_tensor *t);
DYNC_API dync_tensor *dync_parameter_at(dync_tensor *t, dync_loc at);
#define dync_parameter(...) DYNC_AT(dync_parameter, __VA_ARGS__)

/* dync_set_: self becomes a view of other's memory, with other's shape, strides and dtype.
 *   ->      self
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_DTYPE, DYNC_ERR_AUTOGRAD
 *   thread  not while running */
DYNC_API dync_tensor *dync_set_(dync_tensor *self, dync_tensor *other);
DYNC_API dync_tensor *dync_set__at(dync_tensor *self, dync_tensor *other, dync_loc at);
#define dync_set_(...) DYNC_AT(dync_set_, __VA_ARGS__)

/* dync_shallow_copy: another handle on the same memory, without gradient history.
 *   thread  any */
DYNC_API dync_tensor *dync_shallow_copy(dync_tensor *t);

/* dync_arange: start, start + step, … up to and without end; f32.
 *   step    not 0, and of the sign of end - start
 *   ->      1-dim, owned by the scope
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_tensor *dync_arange(dync_real start, dync_real end, dync_real step);
DYNC_API dync_tensor *dync_arange_at(dync_real start, dync_real end, dync_real step, dync_loc at);
#define dync_arange(...) DYNC_AT(dync_arange, __VA_ARGS__)

/* dync_manual_seed: restarts this thread's random numbers. Philox, counter-based: same seed, same
 * numbers, on every target.
 *   notes   inside a traced function it is part of the program and happens in every call
 *   thread  any */
DYNC_API void dync_manual_seed(uint64_t seed);

/* dync_ndim, dync_size, dync_stride, dync_numel, dync_type, dync_requires_grad: metadata. Strides
 * count elements.
 *   dim     -rank <= dim < rank
 *   ->      -1 (false, DYNC_F32) on failure
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_INDEX
 *   notes   inside a traced function each is a guard
 *   thread  any */
DYNC_API int dync_ndim(const dync_tensor *t);
DYNC_API int64_t dync_size(const dync_tensor *t, int dim);
DYNC_API int64_t dync_size_at(const dync_tensor *t, int dim, dync_loc at);
#define dync_size(...) DYNC_AT(dync_size, __VA_ARGS__)

/* dync_size_sym: the size of a dimension as a number that stays symbolic where it is dynamic: it
 * goes whole into operators (dync_mul(x, n)), through dync_sym_* into other sizes and comparisons,
 * and by dync_as_dim and dync_as_real into shapes, slices and ranges. dync_size is a C integer and
 * guards on it: where that makes a size a number, DYNC_LOG=recompiles names the line, once.
 *   dim     -rank <= dim < rank
 *   ->      an int, or of DYNC_KIND_SYM inside a traced function; none on failure
 *   errors  DYNC_ERR_INDEX
 *   notes   returned from the function, kept in a cell or read by dync_as_int it is the number of
 *           this call, which is guarded
 *   thread  any */
DYNC_API dync_value dync_size_sym(const dync_tensor *t, int dim);
DYNC_API dync_value dync_size_sym_at(const dync_tensor *t, int dim, dync_loc at);
#define dync_size_sym(...) DYNC_AT(dync_size_sym, __VA_ARGS__)
DYNC_API int64_t dync_stride(const dync_tensor *t, int dim);
DYNC_API int64_t dync_stride_at(const dync_tensor *t, int dim, dync_loc at);
#define dync_stride(...) DYNC_AT(dync_stride, __VA_ARGS__)
DYNC_API int64_t dync_numel(const dync_tensor *t);
DYNC_API dync_dtype dync_type(const dync_tensor *t);
DYNC_API bool dync_requires_grad(const dync_tensor *t);

/* dync_data: the address of the first element.
 *   ->      borrowed while a tensor uses the memory; elements are dync_stride apart. NULL for an
 *           empty tensor or on failure
 *   errors  DYNC_ERR_VALUE; DYNC_ERR_DATA_PTR under fullgraph, in dync_make_graph and in operator
 *           bodies; DYNC_ERR_DEVICE
 *   notes   inside a traced function a graph break
 *   thread  any */
DYNC_API void *dync_data(dync_tensor *t);
DYNC_API void *dync_data_at(dync_tensor *t, dync_loc at);
#define dync_data(...) DYNC_AT(dync_data, __VA_ARGS__)

/* dync_item: one element as a number.
 *   t       exactly one element
 *   ->      NaN on failure
 *   errors  DYNC_ERR_VALUE
 *   notes   inside a traced function: a branch on the value for bool and int tensors, a graph break
 *           for floating ones
 *   thread  any */
DYNC_API dync_real dync_item(dync_tensor *t);
DYNC_API dync_real dync_item_at(dync_tensor *t, dync_loc at);
#define dync_item(t) dync_item_at(t, DYNC_HERE)

/* dync_item_sym: one element as a number that stays in the graph of a function compiled with
 * .capture_scalars: it goes whole into operators, through dync_sym_* into others and, of bool and
 * int tensors, by dync_as_dim into shapes, slices and ranges (printed as u0, u1, ...). Nothing is
 * known of it while the function is traced: a comparison that dync_check does not decide is an
 * error, as is whatever needs a C number. Elsewhere it is dync_item.
 *   t       exactly one element; of integers from -2^39 to 2^39 in a graph
 *   ->      an int or a float, or of DYNC_KIND_SYM inside such a function; none on failure
 *   errors  DYNC_ERR_VALUE; DYNC_ERR_UNSUPPORTED, class UserError, where it would be decided
 * dync_check: n is from least to most. Outside of a graph, and of a size (dync_size_sym), it is
 * seen at once; of an element the graph checks it in every call, and what follows relies on it:
 * dync_check(n, 0, most) makes an element a size. As torch._check.
 *   n       a number, symbolic or not
 *   errors  DYNC_ERR_VALUE
 *   notes   sizes that data decide are compiled as if they were 2 and more, and right for 0 and 1
 *   thread  any */
DYNC_API dync_value dync_item_sym(dync_tensor *t);
DYNC_API dync_value dync_item_sym_at(dync_tensor *t, dync_loc at);
#define dync_item_sym(t) dync_item_sym_at(t, DYNC_HERE)
DYNC_API dync_status dync_check(dync_value n, int64_t least, int64_t most);
DYNC_API dync_status dync_check_at(dync_value n, int64_t least, int64_t most, dync_loc at);
#define dync_check(...) DYNC_AT(dync_check, __VA_ARGS__)

/* dync_bool: one element as a condition, for `if`.
 *   t       exactly one element
 *   ->      false on failure
 *   errors  DYNC_ERR_VALUE
 *   notes   inside a traced function a branch: each outcome is compiled when it first comes
 *   thread  any */
DYNC_API bool dync_bool(dync_tensor *t);
DYNC_API bool dync_bool_at(dync_tensor *t, dync_loc at);
#define dync_bool(t) dync_bool_at(t, DYNC_HERE)

/* dync_print, dync_str: the elements as PyTorch prints them; dync_print writes the text and a
 * newline to stdout.
 *   ->      dync_str: owned by the scope
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   notes   inside a traced function a graph break, reason "print"
 *   thread  any */
DYNC_API void dync_print(dync_tensor *t);
DYNC_API void dync_print_at(dync_tensor *t, dync_loc at);
#define dync_print(...) DYNC_AT(dync_print, __VA_ARGS__)
DYNC_API char *dync_str(dync_tensor *t);
DYNC_API char *dync_str_at(dync_tensor *t, dync_loc at);
#define dync_str(...) DYNC_AT(dync_str, __VA_ARGS__)

/* dync_equal: same shape, and equal elements. dync_allclose: |a - b| <= atol + rtol * |b|
 * everywhere; NaN is close to nothing.
 *   errors  DYNC_ERR_VALUE; dync_allclose: DYNC_ERR_SHAPE (no broadcast), DYNC_ERR_DTYPE
 *   notes   inside a traced function a branch on the outcome
 *   thread  any */
DYNC_API bool dync_equal(dync_tensor *a, dync_tensor *b);
DYNC_API bool dync_equal_at(dync_tensor *a, dync_tensor *b, dync_loc at);
#define dync_equal(...) DYNC_AT(dync_equal, __VA_ARGS__)
DYNC_API bool dync_allclose(dync_tensor *a, dync_tensor *b, dync_real rtol, dync_real atol);
DYNC_API bool dync_allclose_at(dync_tensor *a, dync_tensor *b, dync_real rtol, dync_real atol,
                               dync_loc at);
#define dync_allclose(...) DYNC_AT(dync_allclose, __VA_ARGS__)

/* dync_to_dtype, dync_to_device: t itself where nothing changes, else a converted copy, owned by
 * the scope.
 *   grad    passes through between floating dtypes
 *   notes   floats are truncated towards zero; beyond int64 and int32 they become the nearest
 *           number there is, NaN 0, on every machine (smaller integers take the low bits of that).
 *           PyTorch leaves these to the processor
 *   errors  DYNC_ERR_DTYPE, DYNC_ERR_DEVICE, DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_tensor *dync_to_dtype(dync_tensor *t, dync_dtype dtype);
DYNC_API dync_tensor *dync_to_dtype_at(dync_tensor *t, dync_dtype dtype, dync_loc at);
#define dync_to_dtype(...) DYNC_AT(dync_to_dtype, __VA_ARGS__)
DYNC_API dync_tensor *dync_to_device(dync_tensor *t, dync_device device);
DYNC_API dync_tensor *dync_to_device_at(dync_tensor *t, dync_device device, dync_loc at);
#define dync_to_device(...) DYNC_AT(dync_to_device, __VA_ARGS__)

/* dync_split: pieces of `size` along dim, the last one maybe smaller. dync_split_sizes: pieces of
 * the sizes given, which must add up to the size of dim. dync_chunk: `chunks` pieces of equal size,
 * the last one maybe smaller, fewer where dim is short. dync_unbind: one piece per place of dim,
 * without that dim.
 *   ->      a list of views, owned by the scope; none on failure
 *   errors  DYNC_ERR_INDEX, DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_value dync_split(dync_tensor *t, int64_t size, int dim);
DYNC_API dync_value dync_split_at(dync_tensor *t, int64_t size, int dim, dync_loc at);
#define dync_split(...) DYNC_VIEW(DYNC_AT(dync_split, __VA_ARGS__))
DYNC_API dync_value dync_split_sizes(dync_tensor *t, dync_dims sizes, int dim);
DYNC_API dync_value dync_split_sizes_at(dync_tensor *t, dync_dims sizes, int dim, dync_loc at);
#define dync_split_sizes(...) DYNC_VIEW(DYNC_AT(dync_split_sizes, __VA_ARGS__))
DYNC_API dync_value dync_chunk(dync_tensor *t, int chunks, int dim);
DYNC_API dync_value dync_chunk_at(dync_tensor *t, int chunks, int dim, dync_loc at);
#define dync_chunk(...) DYNC_VIEW(DYNC_AT(dync_chunk, __VA_ARGS__))
DYNC_API dync_value dync_unbind(dync_tensor *t, int dim);
DYNC_API dync_value dync_unbind_at(dync_tensor *t, int dim, dync_loc at);
#define dync_unbind(...) DYNC_VIEW(DYNC_AT(dync_unbind, __VA_ARGS__))
