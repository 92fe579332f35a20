/* op/ops.def.h: the table of operators: one row each, in files by kind. Order: by group, then
 * alphabetical. See op.h for the columns:
 *
 *   name  class  schema  nout  infer  expr  lower  grad  decompose  fx  flags  inplace_of  doc
 *
 * fx: "torch.*" a function, ".*" a method, * the row's name; "F.*" torch.nn.functional's, "A.*"
 * torch.ops.aten's, "D.*" torch.ops.dync's; "+" an infix operator, "getattr.T" never; a text with
 * {i} is a pattern whose holes are the arguments by number:
 * "torch.nn.functional.batch_norm({0}, {3}, {4}, {1}, {2}, {5}, {6}, {7})". {#}: nothing for the
 * graph's first node of the operator, _1 for the second. grad none and decompose given: the
 * gradient is that of the decomposition. Both none: not differentiable. A class with a loop form
 * (POINTWISE) and a decomposition runs the loop; the decomposition is for gradients and for AOT. */
#ifndef DYNC__OPS_DEF_H
#define DYNC__OPS_DEF_H
#define dync__none NULL
#include "ops_pointwise.def.h"
#include "ops_unary.def.h"
#include "ops_write.def.h"
#include "ops_reduce.def.h"
#include "ops_nn.def.h"
#include "ops_image.def.h"
#include "ops_shape.def.h"
#include "ops_control.def.h"

/* K(kind, rows, what they are): each is a file of this folder, and one of api/ that tools/genops
 * writes of it. */
/* clang-format off */
#define DYNC__OPS_KINDS(K)                                                                     \
    K(pointwise, DYNC__OPS_OF_POINTWISE, "of two tensors and more, element by element")        \
    K(unary,     DYNC__OPS_OF_UNARY,     "of one tensor, element by element")                  \
    K(write,     DYNC__OPS_OF_WRITE,     "what makes tensors or writes into them")             \
    K(reduce,    DYNC__OPS_OF_REDUCE,    "reductions and linear algebra")                      \
    K(nn,        DYNC__OPS_OF_NN,        "layers and losses")                                  \
    K(image,     DYNC__OPS_OF_IMAGE,     "images, windows, regions, transforms")               \
    K(shape,     DYNC__OPS_OF_SHAPE,     "views, and what moves elements")                     \
    K(control,   DYNC__OPS_OF_CONTROL,   "functions inside, and what acts beside its results")
#define DYNC__OPS_OF_POINTWISE(X) DYNC__OPS_BINARY(X) DYNC__OPS_TERNARY(X)
#define DYNC__OPS_OF_UNARY(X) DYNC__OPS_UNARY(X) DYNC__OPS_ACTIVATION(X)
#define DYNC__OPS_OF_WRITE(X) DYNC__OPS_FACTORY(X) DYNC__OPS_INPLACE(X)
#define DYNC__OPS_OF_REDUCE(X) DYNC__OPS_REDUCE(X) DYNC__OPS_LINALG(X)
#define DYNC__OPS_OF_NN(X) DYNC__OPS_NN(X) DYNC__OPS_LOSS(X)
#define DYNC__OPS_OF_IMAGE(X) DYNC__OPS_IMAGE(X)
#define DYNC__OPS_OF_SHAPE(X) DYNC__OPS_VIEW(X) DYNC__OPS_MOVE(X)
#define DYNC__OPS_OF_CONTROL(X) DYNC__OPS_EFFECT(X) DYNC__OPS_CONTROL(X)
#define DYNC__OPS(X) \
    DYNC__OPS_OF_POINTWISE(X) DYNC__OPS_OF_UNARY(X) DYNC__OPS_OF_WRITE(X) \
    DYNC__OPS_OF_REDUCE(X) DYNC__OPS_OF_NN(X) DYNC__OPS_OF_IMAGE(X) \
    DYNC__OPS_OF_SHAPE(X) DYNC__OPS_OF_CONTROL(X)
/* clang-format on */
#endif
