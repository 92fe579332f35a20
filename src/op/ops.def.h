/* op/ops.def.h: the operators, one row each. Order: by group, then alphabetical. See op.h for the columns. */
#ifndef DYNC__OPS_DEF_H
#define DYNC__OPS_DEF_H
#define dync__none NULL
#define DYNC__OPS(X)                                                                                                                      \
    /* name  class      schema                             nout infer      expr   lower  grad   decompose fx     flags inplace_of doc */  \
    X(add,   POINTWISE, "(Value self, Value other)",       1,   i_binary,  e_add, none,  g_add, none,     "+",   DYNC__OP_CHEAP, -1,      \
      "self + other; type promotion and broadcasting as PyTorch")                                                                         \
    X(add_,  INPLACE,   "(Tensor self, Value other)",      1,   i_inplace, none,  none,  none,  none,     ".add_", 0, DYNC__OP_add,       \
      "adds other into self; self keeps its dtype")                                                                                       \
    X(relu,  POINTWISE, "(Tensor self)",                   1,   i_unary,   e_relu, none, g_relu, none,    "torch.relu", DYNC__OP_CHEAP, -1, \
      "max(self, 0)")
#endif
