/* The kernels by number, for tests that take each in turn: the library names those it lowers to. */
#ifndef KERNEL_ROWS_H
#define KERNEL_ROWS_H
#define ROW(name, form, pieces, alone, dense) &dync__kcall_##name,
static const dync__kcall_row *kernel_row(int kind)
{
    static const dync__kcall_row *const rows[] = {NULL, DYNC__KERNELS(ROW)};
    return rows[kind];
}
#undef ROW
#endif
