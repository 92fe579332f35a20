/* ---- operators: PyTorch's names, semantics, type promotion and broadcasting; trailing _ works in place ---------
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`.
 *
 * Each operator is a function, dync_add, and a macro of that name that hands its place in the source to dync_add_at, so
 * that an error says file and line. (dync_add)(a, b) is the function. What holds for all of them:
 *
 *   dync_value  any C expression: a tensor, a number, a bool (DYNC_V): dync_add(x, 2), dync_sub(1.0, x)
 *   dims        a shape literal of dimensions, dync_shape(0, -1); DYNC_ALL is all of them
 *   dim         -rank <= dim < rank; negative counts from the end
 *   ->          a new tensor, owned by the scope; NULL on failure
 *   errors      DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE, DYNC_ERR_INDEX, DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   notes       NULL operands give NULL; a failed call leaves its operands as they were
 *   thread      any */
#define DYNC_ALL ((dync_dims)DYNC_BRACES(0, {0}))               /* every dimension */
#define DYNC_END INT64_MAX                                       /* open slice end */
/* dync_add: self + other; type promotion and broadcasting as PyTorch. */
DYNC_API dync_tensor *(dync_add)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_add_at(dync_value self, dync_value other, dync_loc at);
#define dync_add(self, other) dync_add_at(DYNC_V(self), DYNC_V(other), DYNC_HERE)
/* dync_add_: adds other into self; self keeps its dtype. In place; returns self. */
DYNC_API dync_tensor *(dync_add_)(dync_tensor *self, dync_value other);
DYNC_API dync_tensor *dync_add__at(dync_tensor *self, dync_value other, dync_loc at);
#define dync_add_(self, other) dync_add__at(self, DYNC_V(other), DYNC_HERE)
/* dync_relu: max(self, 0). */
DYNC_API dync_tensor *(dync_relu)(dync_tensor *self);
DYNC_API dync_tensor *dync_relu_at(dync_tensor *self, dync_loc at);
#define dync_relu(self) dync_relu_at(self, DYNC_HERE)
