/* op/table.c: the table of operators as data. After ops.def.h, before everything in op/.
 *
 * Rows are constant and in the order of ops.def.h; DYNC__OP_name is the index of a row. Names are
 * found by a linear search: only parsers ask. */
#include "../dync.in.h"
#include "rows.h"

#define DYNC__X(name, cls, schema, nout, infer, expr, lower, grad, decompose, fx, flags, \
                inplace_of, doc)                                                         \
    {#name,        schema,        DYNC__##cls,       nout, inplace_of, dync__##infer,    \
     dync__##expr, dync__##lower, dync__##decompose, fx,   flags,      doc},
static const dync__op_row dync__op_table[] = {DYNC__OPS(DYNC__X)};
#undef DYNC__X

const dync__op_row *dync__op_info(int op)
{
    const dync__op_row *registered = op >= DYNC__N_OPS ? dync__custom_info(op) : NULL;
    if (registered) return registered;
    return &dync__op_table[op >= 0 && op < DYNC__N_OPS ? op : 0];
}

int dync__op_find(const char *name)
{
    if (!name) return -1;
    for (int i = 0; i < DYNC__N_OPS; i++)
        if (dync__op_table[i].name[0] == name[0] && strcmp(dync__op_table[i].name, name) == 0)
            return i;
    return dync__custom_find(name);
}
