/* op/arith.c: how arithmetic of symbolic numbers is written: a row for each operator that has it.
 * Before: infer.c; after: capture/symbol.c and graph/print_c.c. What it computes stands in
 * capture/arithmetic.c, sizes and plain numbers together. */
#include "../dync.in.h"
#include "op.h"
DYNC__WARM

DYNC__FN const dync__arith *dync__op_arith(int op)
{
    static const struct {
        int op;
        dync__arith is;
    } rows[] = {
        {DYNC__OP_add, {.name = "add", .sign = " + ", .sum = true}},
        {DYNC__OP_sub, {.name = "sub", .sign = " - ", .sum = true, .tight_right = true}},
        {DYNC__OP_mul,
         {.name = "mul", .sign = "*", .tight = true, .tight_right = true, .swaps = true}},
        {DYNC__OP_floor_divide,
         {.name = "floordiv", .sign = "//", .tight = true, .tight_right = true, .closed = true}},
    };
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++)
        if (rows[i].op == op) return &rows[i].is;
    return NULL;
}
