/* codegen/gemm_shape.c: which forms of gemm_code.h the machine has registers for, and the lists of
 * what follows their sums. Before: the targets; after: gen_gemm.c makes them, gemm_run.c runs them.
 * */
#include "../dync.in.h"
#include "gemm_code.h"
DYNC__BESIDE_JIT

DYNC__FN bool dync__gt_can(int type)
{
    const dync__target *t = dync__target_now();
    if (!t) return false; /* by machine code alone */
    switch (type) {
    case DYNC__GT_BF16: return t->dot(t, DYNC_BF16) == DYNC__DOT_ONE;
    case DYNC__GT_U8: return t->dot(t, DYNC_U8) != DYNC__DOT_NONE;
    case DYNC__GT_AS_F16:
    case DYNC__GT_AS_BF16: return t->n_masks && t->part(t, 2);
    default: return true;
    }
}

DYNC__FN int dync__gt_lanes(int type, int flags)
{
    const dync__target *t = dync__target_now();
    int bytes = t ? t->vector_bytes : 16;
    return (flags & DYNC__GT_HALF ? DYNC__MIN(bytes, 32) : bytes) / (int)dync__gt_bytes(type);
}

/* Registers of a TILE: rows * vectors of sums, b's vectors (a single row multiplies them from
 * memory) and one more; fours of bytes by pairs need twice b's and a constant. In C: 4 rows of 2
 * vectors. */
DYNC__FN int dync__gt_most_rows(int type, int flags, int columns)
{
    const dync__target *t = dync__target_now();
    int lanes = dync__gt_lanes(type, flags), vectors = (columns + lanes - 1) / lanes;
    if (!t) return vectors <= 2 ? 4 : 0;
    bool words = type == DYNC__GT_U8 && t->dot(t, DYNC_U8) == DYNC__DOT_PAIRS;
    int regs = t->n_vectors - (t->n_masks == 0) - 1 - words;
    int most = vectors <= 8 ? (regs - (words ? 2 : 1) * vectors) / vectors : 0;
    return most > 1 ? DYNC__MIN(most, 25) : vectors <= 8 && vectors + 2 * words <= regs;
}

DYNC__FN bool dync__gt_fits(int kind, int type, int flags, int rows, int columns)
{
    const dync__target *t = dync__target_now();
    if (rows < 1 || columns < 1) return false;
    if (kind == DYNC__GT_TILE) return rows <= dync__gt_most_rows(type, flags, columns);
    if (kind != DYNC__GT_DOTS) return columns <= 8 * dync__gt_lanes(type, flags);
    bool words = t && type == DYNC__GT_U8 && t->dot(t, DYNC_U8) == DYNC__DOT_PAIRS;
    int regs = !t ? 15 : t->n_vectors - (t->n_masks == 0);
    return rows <= 4 && columns <= 4 && rows * columns + rows + 1 + 2 * words <= regs;
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* Lists are kept for ever: there are few, and who has a number keeps it. */
enum { DYNC__GT_LISTS = 60 };
static struct {
    dync__mutex lock;
    int n;
    dync__after list[DYNC__JIT ? DYNC__GT_LISTS : 1];
} dync__gt_lists;

DYNC__FN bool dync__gt_adds(int flags)
{
    return flags >> DYNC__GT_AFTER == DYNC__GT_ADD >> DYNC__GT_AFTER;
}

DYNC__FN dync__after dync__gt_after_list(int flags, int type)
{
    int number = flags >> DYNC__GT_AFTER, first = DYNC__GT_LISTED >> DYNC__GT_AFTER;
    uint8_t of = type == DYNC__GT_F64 ? DYNC_F64 : type == DYNC__GT_U8 ? DYNC_I32 : DYNC_F32;
    dync__after list = {.n = number ? 3 : 0, .n_sources = number != 0};
    if (number >= first) return dync__gt_lists.list[number - first];
    list.op[0] = list.op[1] =
        (dync__after_op){.prim = DYNC__P_load, .type = of, .arg = {-1, -1, -1}};
    list.op[1].same = number == DYNC__GT_BIAS >> DYNC__GT_AFTER;
    list.op[2] = (dync__after_op){.prim = DYNC__P_add, .type = of, .arg = {0, 1, -1}};
    return list;
}

DYNC__FN int dync__gt_list_flags(const dync__after *list)
{
    int i = 0, flags = 0;
    dync__lock(&dync__gt_lists.lock);
    while (i < dync__gt_lists.n && memcmp(&dync__gt_lists.list[i], list, sizeof *list) != 0) i++;
    if (i == dync__gt_lists.n && i < DYNC__COUNT_OF(dync__gt_lists.list))
        memcpy(&dync__gt_lists.list[dync__gt_lists.n++], list, sizeof *list);
    if (i < dync__gt_lists.n) flags = DYNC__GT_LISTED + (i << DYNC__GT_AFTER);
    dync__unlock(&dync__gt_lists.lock);
    return flags;
}
