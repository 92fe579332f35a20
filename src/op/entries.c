/* op/entries.c: the public functions of the operators. After api/, before dispatch.c, which opens the handles packed here.
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`. */
#include "../dync.in.h"
#include "op.h"

DYNC_API dync_tensor *dync_add_at(dync_value self, dync_value other, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_value(self);
    args[1] = dync__arg_value(other);
    return dync__op_call(DYNC__OP_add, 2, args, at);
}
DYNC_API dync_tensor *(dync_add)(dync_value self, dync_value other) { return dync_add_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_add__at(dync_tensor *self, dync_value other, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_value(other);
    return dync__op_call(DYNC__OP_add_, 2, args, at);
}
DYNC_API dync_tensor *(dync_add_)(dync_tensor *self, dync_value other) { return dync_add__at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_relu_at(dync_tensor *self, dync_loc at)
{
    dync__arg args[1];
    args[0] = dync__arg_h(self);
    return dync__op_call(DYNC__OP_relu, 1, args, at);
}
DYNC_API dync_tensor *(dync_relu)(dync_tensor *self) { return dync_relu_at(self, DYNC_NOWHERE); }
