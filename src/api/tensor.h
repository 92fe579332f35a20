/* ---- tensors ------------------------------------------------------------------ */
typedef struct { int n; int64_t d[DYNC_MAX_DIMS]; } dync_dims;
#define dync_shape(...) ((dync_dims){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define DYNC_SCALAR ((dync_dims){0, {0}})                       /* the shape of a 0-dim tensor */
/* dync_zeros(dync_shape(2, 3), .dtype = DYNC_F64, .requires_grad = true) */
typedef struct { dync_dims shape; dync_dtype dtype; dync_device device; bool requires_grad; const char *name; } dync_make;
/* dync_from((float[]){1, 2, 3}, dync_shape(3), .requires_grad = true): the data are of .dtype */
typedef struct { const void *data; dync_dims shape; dync_dtype dtype; dync_device device; bool requires_grad; const char *name; } dync_make_from;
#define dync_empty(...) dync_empty_opt((dync_make){.shape = __VA_ARGS__})
#define dync_zeros(...) dync_zeros_opt((dync_make){.shape = __VA_ARGS__})
#define dync_ones(...)  dync_ones_opt((dync_make){.shape = __VA_ARGS__})
#define dync_randn(...) dync_randn_opt((dync_make){.shape = __VA_ARGS__})
#define dync_rand(...)  dync_rand_opt((dync_make){.shape = __VA_ARGS__})
#define dync_from(...)  dync_from_opt((dync_make_from){.data = __VA_ARGS__})   /* copies */
#define dync_wrap(...)  dync_wrap_opt((dync_make_from){.data = __VA_ARGS__})   /* borrows the caller's memory */
#define dync_constant(...) dync_constant_opt((dync_make_from){.data = __VA_ARGS__}) /* inside a traced function: baked into the graph */
#define dync_full(shape_, ...) DYNC_CAT(DYNC_FULL_, DYNC_ONE_OR_MORE(__VA_ARGS__))(shape_, __VA_ARGS__)   /* (shape, value) or (shape, value, .dtype = ...) */
#define DYNC_FULL_1(shape_, value) dync_full_opt(DYNC_V(value), (dync_make){.shape = shape_})
#define DYNC_FULL_N(shape_, value, ...) dync_full_opt(DYNC_V(value), (dync_make){.shape = shape_, __VA_ARGS__})
dync_tensor *dync_empty_opt(dync_make), *dync_zeros_opt(dync_make), *dync_ones_opt(dync_make), *dync_randn_opt(dync_make),
    *dync_rand_opt(dync_make), *dync_full_opt(dync_value, dync_make), *dync_from_opt(dync_make_from), *dync_wrap_opt(dync_make_from),
    *dync_constant_opt(dync_make_from);
dync_tensor *dync_parameter(dync_tensor *), *dync_set_(dync_tensor *, dync_tensor *), *dync_shallow_copy(dync_tensor *);
dync_tensor *dync_arange(double start, double end, double step);
void         dync_manual_seed(uint64_t);
int          dync_ndim(const dync_tensor *);
int64_t      dync_size(const dync_tensor *, int dim), dync_stride(const dync_tensor *, int dim), dync_numel(const dync_tensor *);
dync_dtype   dync_type(const dync_tensor *);
bool         dync_requires_grad(const dync_tensor *);
void        *dync_data(dync_tensor *);     /* raw pointer; design.md 5 says what reads do inside a traced function */
double       dync_item(dync_tensor *);     /* one element as a number (NaN and an error if there are more); traced: design.md 5 */
bool         dync_bool(dync_tensor *);     /* for `if`; traced: a branch on its value */
void         dync_print(dync_tensor *);    /* NumPy-like; inside a traced function a graph break, reason "print" */
char        *dync_str(dync_tensor *);      /* owned by the scope */
bool         dync_equal(dync_tensor *, dync_tensor *), dync_allclose(dync_tensor *, dync_tensor *, double rtol, double atol);
dync_tensor *dync_to_dtype(dync_tensor *, dync_dtype), *dync_to_device(dync_tensor *, dync_device);
