/* op/table.c: the table of operators as data. After ops.def.h, before everything in op/.
 *
 * Each row is an object of its own, so that linkers keep those that a program uses; DYNC__OP_name
 * is its number, and rows that programs register come behind them. Names are found by a linear
 * search: only parsers ask, and who asks by name links every operator. */
#include "../dync.in.h"
#include "rows.h"
DYNC__WARM

#define DYNC__X(name, cls, schema, nout, infer, expr, lower, grad, decompose, fx, flags, \
                inplace_of, doc)                                                         \
    DYNC__DATA const dync__op_row dync__columns_##name = {                               \
        DYNC__TEXT(#name), DYNC__TEXT(schema), DYNC__##cls,  nout,                       \
        inplace_of,        dync__##infer,      dync__##expr, dync__##lower,              \
        dync__##decompose, DYNC__TEXT(fx),     flags};
DYNC__OPS(DYNC__X)
#undef DYNC__X

/* Rows in use. All of them, but in a small program, which enters those that it names: threads that
 * use the same row at once write the same. */
#if defined(DYNC_SMALL)
static const dync__row *dync__op_rows[DYNC__N_OPS];
#else
#define DYNC__X(name, ...) &DYNC__OP_##name##_row,
static const dync__row *dync__op_rows[DYNC__N_OPS] = {DYNC__OPS(DYNC__X)};
#undef DYNC__X
#endif

/* What a number stands for that nobody has named: never a row of the table by mistake. */
static dync_status dync__op_missing_infer(const dync__opcall *call, dync__info *out)
{
    (void)out;
    return dync__fail(DYNC_ERR_INTERNAL, "operator %d is not linked: it was called by its number",
                      call->op);
}
static const dync__op_row dync__op_missing = {.name = DYNC__TEXT("missing"),
                                              .schema = DYNC__TEXT("()"),
                                              .cls = DYNC__KERNEL,
                                              .nout = 1,
                                              .inplace_of = -1,
                                              .infer = dync__op_missing_infer,
                                              .fx = DYNC__TEXT("missing"),
                                              .flags = DYNC__OP_PRIVATE | DYNC__OP_NONDIFF};

/* An in-place row enters its functional row too. Usually the entry is there already: one load and a
 * compare. */
DYNC__OFTEN DYNC__FN int dync__op_use(const dync__row *row)
{
    const dync__row **at = &dync__op_rows[row->number];
    if (DYNC__UNLIKELY(DYNC__ATOMIC_PEEK(at) != row)) {
        if (row->functional) dync__op_use(row->functional);
        DYNC__ATOMIC_STORE(at, row);
    }
    return row->number;
}

DYNC__MEETING(graphs)
DYNC__MEETING(inside)
DYNC__FN void dync__op_use_all(void)
{
#define DYNC__X(name, ...) &DYNC__OP_##name##_row,
    static const dync__row *const all[] = {DYNC__OPS(DYNC__X)};
#undef DYNC__X
    for (int i = 0; i < DYNC__N_OPS; i++) dync__op_use(all[i]);
    dync__expand_wide_draws();
    DYNC__MEET(graphs);
    DYNC__MEET(inside);
}

DYNC__FN const dync__row *dync__op_row_of(int op)
{
    return op >= 0 && op < DYNC__N_OPS ? DYNC__ATOMIC_PEEK(&dync__op_rows[op]) : NULL;
}

/* ---- rows that programs register (custom.c) -------------------------------------------------- */
/* Only added, under the lock of custom.c; n is stored last, so that readers need no lock. */
static struct {
    int32_t n;
    const dync__op_row *at[DYNC__MAX_CUSTOM];
} dync__op_more;

DYNC__FN const dync__op_row *dync__custom_info(int op)
{
    int i = op - DYNC__N_OPS;
    return i >= 0 && i < DYNC__ATOMIC_LOAD(&dync__op_more.n) ? dync__op_more.at[i] : NULL;
}

DYNC__FN int dync__custom_find(const char *name)
{
    int n = DYNC__ATOMIC_LOAD(&dync__op_more.n);
    for (int i = 0; i < n; i++)
        if (dync__same_text(dync__op_more.at[i]->name, name)) return DYNC__N_OPS + i;
    return -1;
}

DYNC__FN bool dync__table_add(const dync__op_row *row)
{
    if (dync__op_more.n == DYNC__MAX_CUSTOM) return false;
    dync__op_more.at[dync__op_more.n] = row;
    DYNC__ATOMIC_STORE(&dync__op_more.n, dync__op_more.n + 1);
    return true;
}

DYNC__FN const dync__op_row *dync__table_drop(void)
{
    if (dync__op_more.n == 0) return NULL;
    DYNC__ATOMIC_STORE(&dync__op_more.n, dync__op_more.n - 1);
    return dync__op_more.at[dync__op_more.n];
}

/* ---- rows by number and by name -------------------------------------------------------------- */
/* Never NULL for a number of the table; NULL for one of no custom operator. */
const dync__op_row *dync__op_info(int op)
{
    const dync__row *row = dync__op_row_of(op);
    if (row) return row->columns;
    return op >= 0 && op < DYNC__N_OPS ? &dync__op_missing : dync__custom_info(op);
}

int dync__op_find(const char *name)
{
    if (!name) return -1;
    dync__op_use_all();
    for (int i = 0; i < DYNC__N_OPS; i++)
        if (dync__op_info(i)->name[0] == name[0] && strcmp(dync__op_info(i)->name, name) == 0)
            return i;
    return dync__custom_find(name);
}
